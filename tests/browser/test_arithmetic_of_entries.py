"""In "Arrays of this step" the computation of one entry is written out: of elementwise operations,
sums, means and broadcasts, forward and backward.
"""

import numpy as np
import pytest

import minigrad as mg
from minigrad.watch import trace_function
from tests.browser.conftest import step_at, to

X = np.array([[0.3, 0.5], [-0.2, 0.7]])
B = np.array([0.5, -0.1])


def layer(x, b):
    hidden = mg.tanh(x + b) * b / x  # v1 to v4
    squares = (hidden**2).mean(dim=0)  # v5, v6
    return squares.sum() + mg.relu(b - 0.1).sum()  # v7 to v10


def others(x, b):
    """The sum of each row keeps its axis; entries of a cumulated sum depend on one another."""
    shares = x / x.sum(dim=1, keepdim=True)  # v1, v2
    return (mg.cumsum(shares, 0) - mg.abs(x) * mg.softmax(b, 0)).mean()


def line_of(viewer, row=1, column=0):
    """After a click on an entry of what the step writes; None where there is no line."""
    panel = viewer.locator(".mg-view-arrays")
    rows = panel.locator(".mg-written tr")
    if rows.count():
        rows.nth(min(row, rows.count() - 1)).locator("td").nth(column).click()
    said = panel.locator(".mg-meet")
    return said.inner_text() if said.count() else None


FORWARD = {
    "v1": "[1, 0]: −0.2 + 0.5 = 0.3",
    "v2": "[1, 0]: tanh(0.3) = 0.2913",
    "v3": "[1, 0]: 0.2913 · 0.5 = 0.1457",
    "v4": "[1, 0]: 0.1457 / (−0.2) = −0.7283",
    "v5": "[1, 0]: (−0.7283)² = 0.5304",
    "v6": "[0]: (1.225 + 0.5304) / 2 = 0.8776",
    "v7": "0.8776 + 0.00583 = 0.8835",
    "v8": "[0]: 0.5 − 0.1 = 0.4",
    "v9": "[0]: relu(0.4) = 0.4",
}
BACKWARD = {
    ("adjoint", "v6"): "[0]: v̄7 = 1",
    ("adjoint", "v5"): "[1, 0]: 1 / 2 = 0.5",
    ("adjoint", "v4"): "[1, 0]: 0.5 · (−1.457) = −0.7283",
    ("adjoint", "v3"): "[1, 0]: −0.7283 · (−5) = 3.641",
    ("adjoint", "v2"): "[1, 0]: 3.641 · 0.5 = 1.821",
    ("adjoint", "v1"): "[1, 0]: 1.821 · 0.9151 = 1.666",
    ("accumulate", "x"): "[1, 0]: 2.652 + 1.666 = 4.318",
}


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_the_computation_of_an_entry_is_written_out(show, lang):
    trace = trace_function(layer, X, B, mode="reverse")
    viewer = show(trace, 1280, views=["arrays"], lang=lang)
    expected = {("primal", node): line for node, line in FORWARD.items()} | BACKWARD
    found = {}
    for phase, node in expected:
        to(viewer, step_at(trace, phase, node))
        found[phase, node] = line_of(viewer)
    assert found == expected


def test_of_a_broadcast_operand_the_rows_are_added(show):
    trace = trace_function(lambda x, b: (mg.exp(x) * b).sum(), X, B, mode="reverse")
    viewer = show(trace, 1280, step=step_at(trace, "adjoint", "b"), views=["arrays"])
    assert line_of(viewer) == "[0]: 1 · 1.35 + 1 · 0.8187 = 2.169"
    lit = viewer.locator(".mg-view-arrays .mg-read .mg-met").all_inner_texts()
    assert sorted(lit) == ["0.8187", "1", "1", "1.35"]


def test_forward_mode_adds_a_product_for_each_operand(show):
    trace = trace_function(lambda x, b: (mg.exp(x) * b).sum(), X, B, mode="forward")
    viewer = show(trace, 1280, step=step_at(trace, "tangent", "v2"), views=["arrays"])
    assert line_of(viewer) == "[1, 0]: 0.5 · 0.8187 + 0.8187 · 0 = 0.4094"


def test_the_keyboard_goes_from_entry_to_entry(show, visit):
    trace = trace_function(layer, X, B, mode="reverse")
    viewer = show(trace, 1280, step=step_at(trace, "primal", "v1"), views=["arrays"])
    viewer.locator(".mg-view-arrays .mg-written td").first.focus()
    visit.page.keyboard.press("Tab")
    assert viewer.locator(".mg-meet").inner_text() == "[0, 1]: 0.5 + (−0.1) = 0.4"


@pytest.mark.parametrize("mode", ["reverse", "forward"])
def test_a_line_ends_with_its_entry_and_only_where_others_do_not_matter(show, mode):
    trace = trace_function(others, X, B, mode=mode)
    viewer = show(trace, 1280, views=["arrays"])
    without = {"cumsum", "softmax"}
    for k, step in enumerate(trace["steps"]):
        to(viewer, k + 1)
        written = viewer.locator(".mg-view-arrays .mg-written td")
        line = line_of(viewer)
        if line is None:
            continue
        assert not any(f"= {name}" in step["say"] for name in without), step["say"]
        assert not written.count() or line.endswith(
            f" = {viewer.locator('.mg-written .mg-met').inner_text()}"
        )


@pytest.mark.parametrize(
    ("f", "x"),
    [
        (lambda x: mg.tanh(x).sum(), np.ones((5, 4))),
        (lambda x: mg.cumsum(x, 0).sum(), X),
        (lambda x: (x.T * 1).sum(), X),
    ],
    ids=["large", "cumulated", "transposed"],
)
def test_without_the_entries_or_where_others_matter_there_is_no_line(show, f, x):
    trace = trace_function(f, x, mode="reverse")
    viewer = show(trace, 1280, step=step_at(trace, "primal", "v1"), views=["arrays"])
    assert viewer.locator(".mg-view-arrays .mg-array").count() == 2
    assert viewer.locator(".mg-view-arrays .mg-meet").count() == 0


# ---- a click on an entry in the graph or the table

MIDDLE_OF = """(part, word) => {
    const texts = document.createTreeWalker(part, NodeFilter.SHOW_TEXT), range = new Range();
    while (texts.nextNode()) {
        const words = [...texts.currentNode.data.matchAll(/[^\\s,[\\]]+/g)];
        const found = words.find(([text]) => text === word);
        if (!found) continue;
        range.setStart(texts.currentNode, found.index);
        range.setEnd(texts.currentNode, found.index + word.length);
        const { x, y, width, height } = range.getBoundingClientRect();
        return [x + width / 2, y + height / 2];
    }
}"""


def press(visit, part, word):
    """Clicks on a number that is written in a part of the page."""
    visit.page.mouse.click(*part.evaluate(MIDDLE_OF, word))


def cell_in(viewer, where, node, column):
    return viewer.locator(f"{where} [data-node='{node}'] [data-col='{column}']")


def trace_of_product():
    x, w = [[1.0, 2.0], [3.0, 4.0]], [[0.5, -1.0, 2.0], [-0.5, 1.0, 0.0]]
    return trace_function(lambda x, w: mg.tanh(x @ w).sum(), x, w, mode="reverse")


@pytest.mark.parametrize("opened", [[], ["arrays"], ["element"]], ids=["closed", "open", "element"])
def test_the_entry_that_is_clicked_in_a_card_is_the_one_that_is_worked_out(show, visit, opened):
    trace = trace_of_product()
    viewer = show(trace, 1280, step=len(trace["steps"]), views=opened)
    arrays = viewer.locator(".mg-view-arrays .mg-meet")
    rows = viewer.locator("g[data-node='w'] [data-col='g'] tspan").all_text_contents()
    shown = [row.replace("\u00a0", " ").split() for row in rows]
    assert [len(row) for row in shown] == [3, 3]
    for i, j in ((1, 0), (1, 2), (0, 1)):
        press(visit, cell_in(viewer, "svg", "w", "g"), shown[i][j])
        said = arrays.inner_text()
        assert said.startswith(f"[{i}, {j}]: ") and said.endswith(f" = {shown[i][j]}")
        if opened == ["element"]:
            told = viewer.locator(".mg-view-element .mg-meet").inner_text()
            assert told.startswith(f"w̄[{i}, {j}] = ")
    # the mark beside the numbers names no entry
    cell_in(viewer, "svg", "w", "g").locator(".mg-mark").click(force=True)
    assert arrays.inner_text().startswith("[0, 1]: ")
    # another step, and back
    press(visit, cell_in(viewer, "svg", "v1", "v"), "6")
    assert arrays.inner_text() == "[1, 2]: 3 · 2 + 4 · 0 = 6"
    to(viewer, len(trace["steps"]))
    assert arrays.inner_text().startswith("[0, 1]: ")


def test_the_entry_that_is_clicked_in_the_table_is_the_one_that_is_worked_out(show, visit):
    trace = trace_function(lambda x, b: (x * b).sum(), [1.0, 2.0, 4.0], [0.5, 3.0, 5.0])
    viewer = show(trace, 1400, step=len(trace["steps"]))
    press(visit, cell_in(viewer, "table", "v1", "v"), "6")
    assert viewer.locator(".mg-view-arrays .mg-meet").inner_text() == "[1]: 2 · 3 = 6"


def test_the_entry_of_a_heat_map_that_is_clicked_is_the_one_that_is_worked_out(show, visit):
    x = np.arange(15.0).reshape(5, 3)
    trace = trace_function(lambda x: (x * x).sum(), x, mode="reverse")
    viewer = show(trace, 1280, step=len(trace["steps"]))
    ground = cell_in(viewer, "svg", "v1", "v").locator(".mg-heat-ground")
    box = ground.bounding_box()
    x, y = box["x"] + box["width"] * 1.5 / 3, box["y"] + box["height"] * 3.5 / 5
    visit.page.mouse.click(x, y)
    assert viewer.locator(".mg-view-arrays .mg-meet").inner_text() == "[3, 1]: 10 · 10 = 100"


def test_the_entry_that_the_reader_was_on_is_kept_where_the_view_is_drawn_again(show, visit):
    trace = trace_function(layer, X, B, mode="reverse")
    k = step_at(trace, "primal", "v3")
    viewer = show(trace, 1280, step=k, views=["arrays"])
    assert line_of(viewer) == FORWARD["v3"]
    visit.page.mouse.move(1, 1)
    to(viewer, k + 1)
    assert viewer.locator(".mg-view-arrays .mg-meet").inner_text().startswith("[0, 0]: ")
    to(viewer, k)
    assert viewer.locator(".mg-view-arrays .mg-meet").inner_text() == FORWARD["v3"]


# ---- beside the formula of a step


def product_with_a_vector():
    W, x = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], [1.0, 0.0, -1.0]
    return trace_function(lambda W, x: (W @ x).sum(), W, x, mode="reverse", source="")


def sums_of(viewer):
    """What stands beside the formula, as plain text."""
    mathematics = (
        "all => all.map((e) => e.textContent.replace(/[\\s\u00a0\u0304¯]/g, '')).join(';')"
    )
    return viewer.locator(".mg-sums .mg-sum").evaluate_all(mathematics)


BESIDE = {
    ("primal", "v1"): "v1[0]=1·1+2·0+3·(−1)=−2",
    ("primal", "v2"): "v2=(−2)+(−2)=−4",
    ("adjoint", "v1"): "v1[0]=v2=1",
    ("adjoint", "W"): "W[0,0]=1·1=1",
    ("adjoint", "x"): "x[0]=1·1+4·1=5",
}


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_a_step_of_arrays_tells_how_its_first_entry_is_made(show, lang):
    """Of numbers the arithmetic stood there, of arrays nothing (November 2026)."""
    trace = product_with_a_vector()
    viewer = show(trace, 1280, lang=lang)
    found = {}
    for phase, node in BESIDE:
        to(viewer, step_at(trace, phase, node))
        found[phase, node] = sums_of(viewer)
    assert found == BESIDE


def test_the_sum_beside_a_formula_is_cut_in_its_middle_and_shorter_on_a_phone(show, visit):
    x, w = np.arange(1.0, 7.0).reshape(1, 6), np.ones((6, 2))
    trace = trace_function(lambda x, w: (x @ w).sum(), x, w, mode="reverse", source="")
    k = step_at(trace, "primal", "v1")
    visit.page.set_viewport_size({"width": 1280, "height": 800})
    assert sums_of(show(trace, 1280, step=k)) == "v1[0,0]=1·1+2·1+…+6·1=21"
    visit.page.set_viewport_size({"width": 390, "height": 844})
    assert sums_of(show(trace, 390, step=k)) == "v1[0,0]=1·1+…+6·1=21"


def test_of_single_numbers_and_of_entries_that_are_not_held_nothing_more_is_told(show):
    trace = trace_function(lambda x: mg.cumsum(x, 0).sum() * 2, X, mode="reverse", source="")
    viewer = show(trace, 1280, step=step_at(trace, "primal", "v1"))
    assert sums_of(viewer) == "", "an entry is no such function of others"
    to(viewer, step_at(trace, "primal", "v3"))
    assert sums_of(viewer) == "", "the formula of a number has its numbers"


def test_the_entry_that_the_reader_is_on_is_told_beside_the_formula_too(show, visit):
    trace = product_with_a_vector()
    k = step_at(trace, "primal", "v1")
    viewer = show(trace, 1280, step=k, views=["arrays"])
    arrays = viewer.locator(".mg-view-arrays")
    arrays.locator(".mg-written td").nth(1).click()
    told = "4 · 1 + 5 · 0 + 6 · (−1) = −2"
    assert arrays.locator(".mg-meet").inner_text() == f"[1]: {told}"
    lit = arrays.locator(".mg-read .mg-met").all_inner_texts()
    assert lit == ["4", "5", "6", "1", "0", "−1"], "the row and the vector that meet"
    assert sums_of(viewer) == f"v1[1]={told}".replace(" ", "")
    # from there to the view of that entry alone, in its place
    viewer.get_by_role("button", name="Show how this entry is made").click()
    element = viewer.locator(".mg-view-element")
    assert element.locator("figcaption").first.inner_text().startswith("How one entry is made")
    assert element.locator(".mg-meet").inner_text() == f"v1[1] = {told}"
    assert arrays.count() == 0
    element.locator(".mg-board td").first.hover()
    assert sums_of(viewer) == BESIDE["primal", "v1"]
    assert "Green: positive" in element.inner_text()


def test_no_panel_of_arrays_is_too_low_for_what_a_step_tells(show, visit):
    """It gets the height of the tallest step before any is shown."""
    scrolls = (
        "e => { const b = e.querySelector('.mg-now'); return b.scrollHeight - b.clientHeight > 3; }"
    )
    visit.page.set_viewport_size({"width": 1280, "height": 800})
    for trace in (trace_of_product(), product_with_a_vector()):
        viewer = show(trace, 1280)
        heights = set()
        for k in range(1, len(trace["steps"]) + 1):
            to(viewer, k)
            assert not viewer.evaluate(scrolls), k
            heights.add(viewer.locator(".mg-now").bounding_box()["height"])
        assert len(heights) == 1, "what is below does not move"


@pytest.mark.parametrize("columns", [2, 4])
def test_a_formula_lists_few_numbers_beside_the_line_of_an_entry(show, columns):
    """All eight of them pushed the line below the formula, and the graph out of its height."""
    trace = trace_function(lambda x: (mg.tanh(x) ** 2).sum(), np.full((2, columns), 0.5))
    viewer = show(trace, 1280, step=step_at(trace, "adjoint", "v1"))
    formula = viewer.locator(".mg-now .mg-formula")
    assert formula.inner_text().count("0.9242") == (4 if columns == 2 else 3)
    assert ("(2, 4)" in formula.inner_text()) == (columns == 4)
    top, line = (viewer.locator(part).bounding_box() for part in (".mg-now .mg-formula", ".mg-sum"))
    assert abs(top["y"] + top["height"] / 2 - line["y"] - line["height"] / 2) < 8
