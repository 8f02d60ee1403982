"""Every Trace that a lesson shows, at every step, in every view that it has, in a real browser; once for each notebook."""

import pytest

import viz
from minigrad.trace import state_at
from tests.helpers.lesson_traces import NOTEBOOKS, collect
from viz.numbers import short
from viz.page import VIEWS
from viz.scale import too_large

pytestmark = [pytest.mark.browser, pytest.mark.whole, pytest.mark.xdist_group("browser")]

# Goes to every step; gives the first step at which something is wrong, and the table's texts at some steps.
WALK = """(wanted) => {
  const slider = document.querySelector(".mg-slider"), last = Number(slider.max), seen = {};
  for (let k = 0; k <= last; k++) {
    slider.value = k;
    slider.dispatchEvent(new Event("input"));
    if (document.querySelector(".mg-failed")) return { k, said: document.querySelector(".mg-failed").textContent };
    const counter = document.querySelector(".mg-counter").textContent;
    if (counter !== `${k} / ${last}`) return { k, said: counter };
    if (wanted.includes(k))
      seen[k] = [...document.querySelectorAll(".mg-right .mg-table tr[data-node]:not(.mg-grouprow)")].map((row) =>
        [row.dataset.node, [...row.querySelectorAll("td[data-col]")].map((cell) => [cell.dataset.col, cell.textContent, cell.title])]);
  }
  return { last, seen, open: [...document.querySelectorAll("[data-view]")].map((e) => e.dataset.view) };
}"""


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_every_step_of_every_view_folds(notebook, visit, tmp_path):
    page = tmp_path / "page.html"
    for trace in collect(notebook)["shown"]:
        if too_large(trace):
            continue
        last = len(trace["steps"])
        wanted = sorted({0, 1, last // 3, last // 2, last})
        page.write_text(viz.to_html(trace, views=[v for v in VIEWS if v != "predict"]), encoding="utf-8")
        visit.page.goto(page.as_uri())
        visit.page.locator("section.mg-root").first.wait_for()
        found = visit.page.evaluate(WALK, wanted)
        assert found.get("last") == last, f"{trace['title']}: step {found.get('k')}: {found.get('said')}"
        assert "story" in found["open"] or not last
        for k in wanted:
            cells = state_at(trace, k).cells
            for node, row in found["seen"][str(k)]:
                for column, text, title in row:
                    value = cells.get((node, column))
                    single = not isinstance(value, dict)
                    assert (text == "") == (value is None), f"{trace['title']}: {node} {column} at step {k}"
                    assert not single or value is None or text == short(value)
                    assert value is None or title
    visit.assert_clean()
