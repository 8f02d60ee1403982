"""The table of arrays in less space than it would take: nothing is lost, what is at work is in
sight, and it does not move as it fills.
"""

from functools import reduce
from types import SimpleNamespace

import numpy as np
import pytest
from minigrad.lessons.grading.results.report import ClassReport, ExerciseReport, report_html
from minigrad.lessons.grading.results.similarity import SimilarPair
from minigrad.lessons.grading.results.site import index_html

import minigrad as mg
from minigrad import nn, viz
from minigrad.watch import trace_function
from tests.browser.conftest import at_each, open_text, to

pytestmark = [pytest.mark.browser, pytest.mark.whole]

X, W = [[0.5, -1.25, 2.5], [1.5, 0.25, -0.75]], [[0.123, -0.456], [0.789, 1.234], [-2.345, 3.456]]
TABLE = """() => {
    const box = document.querySelector(".mg-tablebox"), place = box.getBoundingClientRect();
    const names = box.querySelector("thead th").getBoundingClientRect().right;
    const inside = e =>
        (b => b.left >= names - 1 && b.right <= place.right + 1)(e.getBoundingClientRect());
    return {
        more: box.scrollWidth - box.clientWidth, tall: box.querySelector("table").offsetHeight,
        columns: [...box.querySelectorAll("thead th[data-col]")].filter(inside)
            .map(e => e.dataset.col),
        written: [...box.querySelectorAll("td.mg-write")].map(inside),
        cut: [...box.querySelectorAll("td.mg-num")].filter(e => e.scrollWidth > e.clientWidth + 1)
            .map(e => e.textContent),
    };
}"""


@pytest.mark.parametrize("width", [1280, 700, 350])
def test_a_table_of_arrays_shows_its_columns_or_the_one_at_work(show, visit, width):
    trace, page = (
        trace_function(lambda x, w: (x @ w).tanh().sum(), X, W, mode="both", source=""),
        visit.page,
    )
    page.emulate_media(reduced_motion="reduce")
    viewer = show(trace, width)
    heights = set()
    for k, found in enumerate(at_each(viewer, range(1, len(trace["steps"]) + 1), TABLE), 1):
        heights.add(found["tall"])
        assert all(found["written"]) and found["written"], (
            f"step {k}: what is written is out of sight"
        )
        assert found["cut"] == [], f"step {k}"
        if width >= 700:
            assert found["more"] <= 0 and found["columns"] == ["v", "d", "g"], f"step {k}"
    assert len(heights) == 1, "the table moves while it fills"
    if width < 700:
        shadow = page.locator(".mg-tablebox").evaluate(
            "e => getComputedStyle(e).backgroundAttachment"
        )
        assert found["more"] > 0 and "local" in shadow and "scroll" in shadow, (
            "that there is more to the side is seen"
        )


@pytest.mark.parametrize("size", [(1440, 900), (1280, 800), (390, 844)])
def test_a_shape_stands_in_one_line_where_the_table_has_the_width_for_it(show, size):
    def f(x, w):
        for _ in range(3):
            x = mg.relu(nn.functional.conv2d(x, w, padding=1))
        return (nn.functional.max_pool2d(x, 2) ** 2).sum()

    image = np.linspace(-2.75, 3.25, 128).reshape(2, 1, 8, 8)
    kernel = np.linspace(-0.345, 0.456, 9).reshape(1, 1, 3, 3)
    viewer = show(trace_function(f, image, kernel, mode="reverse", source=""), *size)
    found = viewer.locator(".mg-tablebox").evaluate("""box => {
        const all = [...box.querySelectorAll("th small")];
        const tall = all.filter(e => e.offsetHeight > 18).length;
        for (const one of all) one.style.whiteSpace = "nowrap", one.style.width = "auto";
        return [all.length > 2, tall, box.scrollWidth > box.clientWidth];
    }""")
    assert found[0] and (found[1] == 0 or found[2]), found


@pytest.mark.parametrize("width", [700, 660])
def test_no_button_of_the_controls_stands_alone_in_a_line(show, visit, width):
    page = visit.page
    show(trace_function(lambda x: x * x, 2.0, source=""), width)
    tops = page.locator(".mg-bar > *").evaluate_all(
        "all => all.map(e => e.getBoundingClientRect()).map(b => Math.round((b.top + b.bottom) /"
        " 40))"
    )
    assert min(tops.count(top) for top in tops) > 1 or len(set(tops)) == 1


@pytest.mark.parametrize("exercises", [3, 12])
def test_the_table_of_a_class_keeps_its_students_in_sight_on_a_phone(visit, tmp_path, exercises):
    names = [f"exercise_{i}" for i in range(exercises)] if exercises > 3 else ["f", "g", "Counter"]
    given = [SimpleNamespace(exercise=name, points=2.0, max=2.0, full=True) for name in names]
    students = ["Zoë_Müller", "Éva_Öz", *(f"Fu_no_{n}" for n in range(28))]
    more = {"judgements": given, "waiting": False}
    found = [SimpleNamespace(student=s, points=6.0, **more) for s in students]
    named = [SimpleNamespace(name=name, max_points=2.0) for name in names]
    sheet = SimpleNamespace(title="Lab 1", exercises=named, max_points=6.0)
    visit.page.set_viewport_size({"width": 390, "height": 844})
    text = index_html(found, students, sheet)
    link = open_text(visit, tmp_path, text, "tbody a")
    assert visit.page.evaluate("document.documentElement.scrollWidth") <= 390
    table = visit.page.locator(".wide")
    wider = table.evaluate("e => e.scrollWidth - e.clientWidth")
    assert (wider > 0) == (exercises == 12)
    table.evaluate("e => { e.scrollLeft = 10_000; }")
    assert link.bounding_box()["x"] >= 0
    shown = visit.page.locator("tbody a").all_inner_texts()
    assert shown == ["Éva_Öz", *students[2:], "Zoë_Müller"]
    assert "(of\N{NO-BREAK SPACE}2)" in visit.page.locator("thead th").last.inner_text()
    slowest = [(student, 0.01, "Counter") for student in students[:10]]
    pairs = [SimilarPair(*students[k : k + 2], 0.8, 14) for k in range(15)]
    mistakes = [("Only nodes that use x2 send it something", students)]
    exercise = ExerciseReport("f", "f", 2.0, 1.0, 9, 9, 6, students[:6], [("answer", 9)], mistakes)
    report = ClassReport("x", 7.0, [1.0], [exercise], students[:6], [], slowest, pairs, [])
    open_text(visit, tmp_path, report_html(report), "h1")
    assert visit.page.evaluate("document.documentElement.scrollWidth") <= 390
    visit.assert_clean()


PARTS = """(root) => [".mg-graph", ".mg-source", ".mg-tablebox"].map((part) => {
    const { left, top, width, height } = root.querySelector(part).getBoundingClientRect();
    return [left, top, width, height].map(Math.round);
})"""


@pytest.mark.parametrize("size", [(1280, 800), (878, 715)])
def test_the_parts_stand_where_they_do_at_each_step_at_which_a_page_opens(show, size):
    """A folded table was as wide as the arrays that it held: beside the graph at the first step,
    below it at the last (November 2026)."""
    trace = trace_function(lambda x, w: (x @ w).tanh().sum(), X, W, mode="reverse")
    steps = range(len(trace["steps"]) + 1)
    found = [show(trace, *size, step=k).evaluate(PARTS) for k in steps]
    assert found == [found[0]] * len(found)


def test_shapes_go_below_the_names_before_arrays_are_folded(show):
    trace = trace_function(lambda a, b: (a * b).sin().sum(), [1.25] * 4, [-0.75] * 4, source="")
    viewer = show(trace, 1280)
    classes, names = viewer.locator(".mg-table").evaluate(
        """table => ["mg-named", "mg-cramped"].map((level) => {
            table.className = `mg-table mg-tight mg-compact mg-named ${level}`;
            const name = table.querySelector("th[scope=row]"), small = name.querySelector("small");
            return [small.offsetTop > name.querySelector("button").offsetTop, small.offsetHeight];
        })"""
    )
    assert classes[0] and names[0] and classes[1] < names[1], "a shape and its type on one line"


def test_a_narrow_table_tells_arrays_by_their_ranges(show, visit):
    """A row of a matrix was broken into lines."""
    trace = trace_function(lambda x, w: (x @ w).tanh().sum(), X, W, mode="reverse")
    visit.page.set_viewport_size({"width": 1280, "height": 800})
    viewer = show(trace, 1280, 800, step=len(trace["steps"]))
    cell = viewer.locator("tr[data-node=v1] td.mg-c-v")
    texts = lambda: viewer.locator("td.mg-num:visible").all_inner_texts()
    look = """root => [...root.querySelectorAll("tbody tr")].map((row) => row.offsetHeight)"""
    assert any(" to " in text for text in texts()) and not any("], [" in text for text in texts())
    assert max(viewer.evaluate(look)) < 43 and "2.141" in cell.get_attribute("title")
    listed = trace_function(lambda x: (x * x).sum(), [[1.0, 2.0]], mode="reverse")
    assert "[[1, 4]]" in show(listed, 1280).locator("td.mg-num").all_inner_texts(), "elsewhere not"


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_the_head_of_a_column_reserves_the_width_of_its_widest_value(show, lang):
    """A Chinese letter is wider than a digit: 5 pixels were lacking for "−0.9436 至 0.9373"."""
    x = [[0.13, -0.9436, 0.64, 0.1234], [1.3, 0.95, -0.7021, 0.5678], [-0.27, -0.62, 0.9373, 2]]
    trace = trace_function(lambda x: (mg.tanh(x) * x).sum(), x, mode="reverse")
    viewer = show(trace, 1280, 800, step=len(trace["steps"]), lang=lang)
    widths = viewer.evaluate("""root => ["v", "g"].map((column) => {
        const wide = (cell) => {
            const range = document.createRange();
            range.selectNodeContents(cell);
            return Math.max(...[...range.getClientRects()].map((one) => one.width), 0);
        };
        const head = root.querySelector(`thead [data-col=${column}] .mg-reserve`);
        return [wide(head), ...[...root.querySelectorAll(`td[data-col=${column}]`)].map(wide)];
    })""")
    assert all(head >= max(cells) > 100 for head, *cells in widths), widths


def test_the_title_of_a_cell_gives_all_digits_with_minus_signs(show, visit):
    viewer = show(trace_function(lambda x: -x * 1e-9, 1.2345678, mode="reverse"))
    visit.page.keyboard.press("End")
    titles = viewer.locator("td.mg-num").evaluate_all("all => all.map((one) => one.title)")
    assert {"−1.2345678", "−1e−9"} <= {*titles}, titles


@pytest.mark.parametrize(("lang", "said"), [("en", "all 0.1667"), ("zh", "全为 0.1667")])
def test_an_array_of_one_number_is_told_by_it(show, lang, said):
    trace = trace_function(lambda x: (x * np.ones((2, 3))).mean(), np.ones((2, 3)), mode="reverse")
    viewer = show(trace, 1280, lang=lang)
    assert said in viewer.locator("tr[data-node=x] td.mg-c-g").inner_text()
    wide = trace_function(lambda x: (x * 1.0).mean(), np.ones((2, 3, 1)), mode="reverse")
    viewer = show(wide, 1280, lang=lang)
    assert viewer.locator(".mg-node[data-node=x] .mg-value.mg-c-g").text_content() == said
    assert said in viewer.locator(".mg-found", has_text="x").first.inner_text()
    assert f">{said.replace(chr(32), chr(160))}<" in viz.to_svg(wide, lang=lang)
    to(viewer, len(wide["steps"]))
    assert viewer.locator(".mg-label").all_text_contents() == ["× 1"]


CUT_ROWS = """(root) => {
    const box = root.querySelector(".mg-tablebox"), { bottom } = box.getBoundingClientRect();
    const rect = (row) => row.getBoundingClientRect(), all = [...box.querySelectorAll("tbody tr")];
    let top = rect(box.querySelector("thead")).bottom, end = bottom - 1;
    for (const row of all.filter((row) => row.matches(".mg-near")))
        if (rect(row).top <= top + 1) top = rect(row).bottom;
    for (const row of all.filter((row) => row.matches(".mg-near")).reverse())
        if (rect(row).bottom >= end - 1) end = rect(row).top;
    const cut = (row) =>
        [top, end].some((at) => rect(row).top < at - 1 && rect(row).bottom > at + 1);
    return [box.scrollTop, ...all.filter((row) => !row.matches(".mg-near") && cut(row))
        .map((row) => row.dataset.node)];
}"""


@pytest.mark.parametrize("size", [(1280, 800), (390, 844)])
def test_a_table_that_follows_the_steps_cuts_no_row(show, visit, size):
    visit.page.emulate_media(reduced_motion="reduce")
    repeated = lambda x: reduce(lambda y, _: mg.sin(y) * 0.5 + x, range(20), x)
    trace = trace_function(repeated, 0.7, mode="reverse")
    found = at_each(show(trace, *size), range(1, len(trace["steps"]) + 1, 3), CUT_ROWS)
    assert len({top for top, *_ in found}) > 3, "it scrolls"
    assert [cut for _, *cut in found if cut] == []


def product_of_long_names(first_argument_of_the_function, second_argument_of_the_function):
    intermediate_result = first_argument_of_the_function * second_argument_of_the_function
    return mg.sin(intermediate_result) + first_argument_of_the_function


def test_long_names_leave_the_columns_of_a_phones_table_in_sight_and_its_rows_whole(show, visit):
    """The names took 273 of 356 pixels: the value was behind them, and half a row more was seen
    below that of the step (November 2026)."""
    visit.page.emulate_media(reduced_motion="reduce")
    trace = trace_function(product_of_long_names, 2.0, 5.0, mode="reverse")
    viewer, steps = show(trace, 390, 844), range(1, len(trace["steps"]) + 1)
    for k, found in enumerate(at_each(viewer, steps, TABLE), 1):
        assert found["columns"] == ["v", "g"] and found["more"] <= 0, f"step {k}"
    assert {len(cut) for cut in at_each(viewer, steps, CUT_ROWS)} == {1}
    both = trace_function(lambda x, w: (x @ w).tanh().sum(), X, W, mode="both")
    steps = range(1, len(both["steps"]) + 1)
    assert {len(cut) for cut in at_each(show(both, 390, 844), steps, CUT_ROWS)} == {1}


def test_two_values_of_an_array_that_differ_stand_whole_in_their_row_on_a_phone(show, visit):
    """Of four lines the box of one row showed two and a half (November 2026)."""
    visit.page.emulate_media(reduced_motion="reduce")
    right, wrong = (lambda x, w, by=by: ((x @ w).tanh() * by).sum() for by in (1.25, 1.375))
    first, second = (trace_function(f, X, W, mode="reverse") for f in (right, wrong))
    pair = viz.compare(first, second, names=("right", "wrong"), step=len(first["steps"]))
    visit.page.set_viewport_size({"width": 390, "height": 844})
    viewer = show(pair.to_html())
    rows = viewer.locator("tbody tr:has(.mg-unlike-value)")
    assert rows.count() and viewer.locator(".mg-tighter .mg-unlike-value", has_text="[").count()
    space = viewer.locator(".mg-tablebox").evaluate(
        "e => e.clientHeight - e.querySelector('thead').offsetHeight"
    )
    assert max(rows.evaluate_all("all => all.map(e => e.offsetHeight)")) <= space


def test_long_names_of_rounds_are_broken_on_a_phone(show):
    def repeated(x):
        for _ in range(160):
            for _ in range(3):
                x = mg.sin(x) * 0.5 + 1.0
        return x

    trace = trace_function(repeated, 0.5, mode="reverse")
    viewer = show(trace, 390, 844, step=len(trace["steps"]) // 2)
    found = viewer.evaluate(f"({TABLE})()")
    assert found["columns"] == ["v", "g"] and found["more"] <= 0


def test_a_table_without_a_source_takes_the_whole_width_below_a_long_graph(show):
    def repeated(x):
        for _ in range(12):
            x = mg.tanh(x + mg.sin(x))
        return x

    trace = trace_function(repeated, 0.5, source="")
    viewer = show(trace, 1280)
    graph, table = (viewer.locator(f".mg-{p}").bounding_box() for p in ("graph", "tablebox"))
    assert graph["y"] + graph["height"] < table["y"] and table["width"] > graph["width"] - 4


def test_the_table_of_a_recorded_graph_says_which_values_were_not_kept(show):
    w = mg.tensor([1.0, 2.0], requires_grad=True)
    loss = ((w * mg.tensor([3.0, 4.0]) - mg.tensor([1.0, 0.0])) ** 2).mean()
    trace = viz.trace_of(loss, names={"w": w})
    viewer = show(trace, step=len(trace["steps"]))
    cells = viewer.locator("td.mg-c-v").all_inner_texts()
    constants = [n["id"] for n in trace["nodes"] if n["kind"] == "const"]
    assert constants == ["c1", "c2"]
    assert cells == ["[1, 2]", "[3, 4]", "not kept", "not kept", "[2, 8]", "not kept", "34"]
    drawn = [
        viewer.locator(f".mg-node[data-node='{node['id']}'] .mg-row[data-col='v']").count()
        for node in trace["nodes"]
    ]
    assert drawn == [cell != "not kept" for cell in cells], "no empty row in a card"


def test_rows_on_a_phone_have_the_compact_padding_of_their_table(show):
    """The phone's rule for the sides undid it above and below: rows of 41 pixels."""
    trace = trace_function(lambda x, w: (x @ w).tanh().sum(), X, W, mode="reverse")
    rows = show(trace, 360, 740, step=len(trace["steps"])).locator(".mg-compact tbody tr")
    look = "all => all.map(e => getComputedStyle(e).paddingTop)"
    paddings = rows.locator("td.mg-num").evaluate_all(look)
    assert rows.count() == len(trace["nodes"]) and set(paddings) == {"2px"}
