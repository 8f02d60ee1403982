"""The table of arrays in less room than it would take: nothing is lost, what is at work is in sight, and it does not move as it fills."""

import pytest

import viz
from minigrad.watch import trace_function

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("browser")]

X, W = [[0.5, -1.25, 2.5], [1.5, 0.25, -0.75]], [[0.123, -0.456], [0.789, 1.234], [-2.345, 3.456]]
TABLE = """() => {
    const box = document.querySelector(".mg-tablebox"), place = box.getBoundingClientRect();
    const names = box.querySelector("thead th").getBoundingClientRect().right;
    const inside = e => (b => b.left >= names - 1 && b.right <= place.right + 1)(e.getBoundingClientRect());
    return {
        more: box.scrollWidth - box.clientWidth, tall: box.querySelector("table").offsetHeight,
        columns: [...box.querySelectorAll("thead th[data-col]")].filter(inside).map(e => e.dataset.col),
        written: [...box.querySelectorAll("td.mg-write")].map(inside),
        cut: [...box.querySelectorAll("td.mg-num")].filter(e => e.scrollWidth > e.clientWidth + 1).map(e => e.textContent),
    };
}"""


@pytest.mark.parametrize("width", [1280, 700, 390])
def test_a_table_of_arrays_shows_its_columns_or_the_one_at_work(visit, tmp_path, width):
    trace, page = trace_function(lambda x, w: (x @ w).tanh().sum(), X, W, source=""), visit.page
    page.emulate_media(reduced_motion="reduce")
    page.set_viewport_size({"width": width, "height": 900})
    (tmp_path / "page.html").write_text(viz.to_html(trace), encoding="utf-8")
    page.goto((tmp_path / "page.html").as_uri())
    slider = page.locator(".mg-bar .mg-slider")
    slider.wait_for()
    heights = set()
    for k in range(1, len(trace["steps"]) + 1):
        slider.fill(str(k))
        found = page.evaluate(TABLE)
        heights.add(found["tall"])
        assert all(found["written"]) and found["written"], f"step {k}: what is written is out of sight"
        assert found["cut"] == [], f"step {k}"
        if width >= 700:
            assert found["more"] <= 0 and found["columns"] == ["v", "d", "g"], f"step {k}"
    assert len(heights) == 1, "the table moves while it fills"
    if width < 700:
        shadow = page.locator(".mg-tablebox").evaluate("e => getComputedStyle(e).backgroundAttachment")
        assert found["more"] > 0 and "local" in shadow and "scroll" in shadow, "that there is more to the side is seen"
    visit.assert_clean()


@pytest.mark.parametrize("width", [700, 660])
def test_no_button_of_the_controls_stands_alone_in_a_line(visit, tmp_path, width):
    page = visit.page
    page.set_viewport_size({"width": width, "height": 900})
    (tmp_path / "page.html").write_text(viz.to_html(trace_function(lambda x: x * x, 2.0, source="")), encoding="utf-8")
    page.goto((tmp_path / "page.html").as_uri())
    page.locator(".mg-bar").wait_for()
    tops = page.locator(".mg-bar > *").evaluate_all(
        "all => all.map(e => e.getBoundingClientRect()).map(b => Math.round((b.top + b.bottom) / 40))"
    )
    assert min(tops.count(top) for top in tops) > 1 or len(set(tops)) == 1
    visit.assert_clean()
