"""The view of one element: what meets in it, in products, convolutions, poolings and sums, in each
mode; by pointer and by keys."""

import numpy as np
import pytest
from minigrad.viz.numbers import short

import minigrad as mg
import minigrad.nn.functional as F
from minigrad import viz
from minigrad.watch import trace_function
from tests.browser.conftest import step_at, to

pytestmark = pytest.mark.browser


def numbers(*shape):
    return np.random.default_rng([7, *shape]).integers(-3, 4, shape) / 2


def product(A, B):
    return (A @ B).square().sum()


def images(x, w, b):
    y = F.conv2d(x, w, b, stride=(1, 2), padding=1)
    return F.max_pool2d(y.relu(), 2, stride=1).square().sum()


def grouped(x, w):
    return F.avg_pool2d(F.conv2d(x, w, groups=2, dilation=(2, 1)), 2).square().sum()


def back_up(x, w):
    return F.conv_transpose2d(x, w, stride=2, padding=1).square().sum()


def layer(x, w, b):
    return F.linear(x, w, b).square().sum(0).sum()


def batch(a, b):
    return (a @ b).square().sum()


def means(x):
    return F.avg_pool2d(x, 3, stride=2, padding=1, count_include_pad=False).square().sum()


PROGRAMS = {
    "product": (product, [numbers(3, 4), numbers(4, 2)]),
    "vector": (batch, [numbers(3, 2), numbers(2)]),
    "batch": (batch, [numbers(2, 3, 2), numbers(2, 4)]),
    "images": (images, [numbers(2, 2, 5, 6), numbers(3, 2, 3, 3), numbers(3)]),
    "means": (means, [numbers(1, 2, 5, 6)]),
    "groups": (grouped, [numbers(1, 2, 6, 5), numbers(2, 1, 2, 2)]),
    "transposed": (back_up, [numbers(1, 2, 3, 3), numbers(2, 1, 3, 3)]),
    "layer": (layer, [numbers(3, 2), numbers(4, 2), numbers(4)]),
}


EACH_MEETING = """(trace, visit) => {
    const { meetingOf, arraysOf, folder } = parts, at = folder(trace);
    const byId = new Map(trace.nodes.map((node) => [node.id, node])),
        edges = new Map(trace.edges.map((e) => [e.id, e]));
    trace.steps.forEach((step, i) => {
        const meeting = meetingOf(step, byId, edges);
        if (!meeting) return;
        const operands = meeting.node.terms.operands.map((_, slot) =>
            byId.get(trace.edges.find((e) => e.dst === meeting.node.id && e.slot === slot).src));
        visit(meeting, arraysOf(meeting, at(i + 1), operands), i);
    });
}"""
EVERY = f"""(trace) => {{
    const {{ meetAt }} = parts, found = [];
    ({EACH_MEETING})(trace, (meeting, arrays, i) => {{
        const {{ shape, elements }} = arrays.get(meeting.target)[meeting.column];
        const totals = elements.map((_, flat) => {{
            let rest = flat;
            const place = [...shape].reverse().map((n) => {{
                const index = rest % n;
                rest = Math.floor(rest / n);
                return index;
            }}).reverse();
            return meetAt(meeting, arrays, place).reduce((sum, one) => sum + one.total, 0);
        }});
        found.push([i, meeting.node.op, meeting.column, totals, elements]);
    }});
    return found;
}}"""


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_meets_in_each_element_is_what_the_engine_computed(parts, name):
    """Every element of every step, in all three columns: the products that the view writes down
    add up to the number of the Trace. No operand is used twice here, so that no adjoint has other
    parts."""
    f, inputs = PROGRAMS[name]
    trace = trace_function(f, *inputs, tangents=[numbers(*x.shape) for x in inputs])
    found = parts.evaluate(EVERY, trace)
    columns = {(op, column) for _, op, column, _, _ in found}
    made = {node["op"] for node in trace["nodes"] if "terms" in node}
    assert columns >= {(op, column) for op in made for column in "vdg"}
    for i, op, column, totals, elements in found:
        np.testing.assert_allclose(
            totals, elements, atol=1e-9, err_msg=f"step {i + 1}, {op}, {column}"
        )


IN_PARTS = f"""(trace) => {{
    const {{ meetAt, elementAt }} = parts, found = [];
    const placesOf = ({{ from, shape }}) => from.reduce((all, first, axis) => all.flatMap((one) =>
        Array.from({{ length: shape[axis] }}, (_, i) => [...one, first + i])), [[]]);
    ({EACH_MEETING})(trace, (meeting, arrays) => {{
        const array = arrays?.get(meeting.target)[meeting.column];
        if (!array?.parts) return;
        for (const place of placesOf(array.parts[0])) {{
            const sums = meetAt(meeting, arrays, place),
                total = sums.reduce((sum, one) => sum + one.total, 0);
            found.push([meeting.node.op, meeting.column, total, elementAt(array, place)]);
        }}
    }});
    return found;
}}"""


def dense(x, w, b):
    return F.linear(x, w, b).square().sum()


def windows(x, w):
    return F.max_pool2d(F.conv2d(x, w, stride=2, padding=1), 2).square().sum()


def down(x):
    return F.max_pool1d(x, 3, stride=2, padding=1).square().sum()


@pytest.mark.parametrize(
    ("f", "inputs", "met"),
    [
        (product, [numbers(70, 90), numbers(90, 60)], {("matmul", c) for c in "vdg"}),
        (product, [numbers(5, 1500), numbers(1500, 5)], {("matmul", c) for c in "g"}),
        (
            dense,
            [numbers(64, 784), numbers(128, 784), numbers(128)],
            {("affine", c) for c in "vdg"},
        ),
        (windows, [numbers(2, 3, 40, 40), numbers(8, 3, 3, 3)], {("convolve", c) for c in "dg"}),
        (down, [numbers(2, 1, 9000)], {("max_pool", c) for c in "vdg"}),
    ],
    ids=["product", "long", "layer", "images", "pooling"],
)
def test_of_large_arrays_what_meets_in_a_block_is_held(parts, f, inputs, met):
    trace = trace_function(f, *inputs, tangents=[numbers(*x.shape) for x in inputs])
    found = parts.evaluate(IN_PARTS, trace)
    assert met <= {(op, column) for op, column, _, _ in found}
    for op, column, total, element in found:
        assert total == pytest.approx(element, rel=1e-6, abs=1e-6), (op, column)


def lit(viewer, node, column):
    figure = viewer.locator(f".mg-element figure[data-node='{node}'][data-column='{column}']")
    return figure.locator("td.mg-met").evaluate_all("all => all.map((e) => e.dataset.at)")


def test_a_row_and_a_column_meet_in_the_element_that_is_pointed_at(show, visit, axe):
    trace = trace_function(product, numbers(3, 4), numbers(4, 2), mode="reverse")
    viewer = show(trace, views=["element"])
    to(viewer, step_at(trace, "primal", "v1"))
    written = viewer.locator(".mg-element figure[data-node='v1'] .mg-board")
    written.locator("td[data-at='2,1']").hover()
    assert lit(viewer, "A", "v") == ["2,0", "2,1", "2,2", "2,3"]
    assert lit(viewer, "B", "v") == ["0,1", "1,1", "2,1", "3,1"]
    A, B = numbers(3, 4), numbers(4, 2)
    said = viewer.locator(".mg-element .mg-meet").inner_text()
    assert said.startswith("v1[2, 1] = ") and said.endswith(f" = {short(A[2] @ B[:, 1])}")
    assert viewer.locator(".mg-solid .mg-met").count() == 4 + 4 + 1
    assert viewer.locator(".mg-solid circle").count() == 4, "a product for each layer"
    # the right factor stands above the result, the left one beside it
    box = lambda node: viewer.locator(f".mg-element figure[data-node='{node}']").bounding_box()
    a, b, v = box("A"), box("B"), box("v1")
    assert b["y"] + b["height"] <= v["y"] + 1 and a["x"] + a["width"] <= v["x"] + 1
    viewer.locator(".mg-solid path[data-at='0,0']").hover()
    assert viewer.locator(".mg-element .mg-meet").inner_text().startswith("v1[0, 0] = ")
    axe(visit.page, "html")
    visit.assert_clean()


def test_backward_the_same_arrays_meet_in_the_two_gradients(show):
    trace = trace_function(product, numbers(3, 4), numbers(4, 2), mode="reverse")
    viewer = show(trace, views=["element"])
    to(viewer, step_at(trace, "adjoint", "A"))
    viewer.locator("figure[data-node='A'] td[data-at='1,2']").hover()
    assert lit(viewer, "v1", "g") == ["1,0", "1,1"] and lit(viewer, "B", "v") == ["2,0", "2,1"]
    heads = viewer.locator(".mg-arrayhead").all_inner_texts()
    said = [head.replace("\u00a0", " ") for head in heads]
    assert "Bᵀ · value · read · (2, 4)" in said, "the shape of the transpose"
    solid = viewer.locator(".mg-solid")
    places = "all => all.map((e) => e.dataset.at).filter(Boolean)"
    assert solid.locator("path").evaluate_all(places) and solid.locator("circle").count() == 2
    to(viewer, step_at(trace, "adjoint", "B"))
    assert solid.locator("circle").count() == 3, "another side of the same solid"
    viewer.locator("figure[data-node='B'] td[data-at='3,0']").hover()
    assert solid.locator(".mg-met").count() == 3 + 3 + 1
    assert sorted(lit(viewer, "A", "v")) == ["0,3", "1,3", "2,3"]
    assert lit(viewer, "v1", "g") == ["0,0", "1,0", "2,0"]


def test_the_arrow_keys_move_the_element_and_not_the_step(show):
    trace = trace_function(product, numbers(3, 4), numbers(4, 2), mode="reverse")
    viewer = show(trace, views=["element"])
    k = step_at(trace, "primal", "v1")
    to(viewer, k)
    board = viewer.locator(".mg-board")
    board.focus()
    said = viewer.locator(".mg-element .mg-meet")
    assert said.inner_text().startswith("v1[1, 0] = ")
    for key, place in [("ArrowRight", "1, 1"), ("ArrowRight", "1, 1"), ("ArrowDown", "2, 1")]:
        viewer.page.keyboard.press(key)
        assert said.inner_text().startswith(f"v1[{place}] = ")
    assert viewer.locator(".mg-counter").first.inner_text().startswith(f"{k} /")
    inside = "root => root.contains(document.activeElement)"
    viewer.page.keyboard.press("PageDown")  # other keys are the viewer's
    assert viewer.locator(".mg-counter").first.inner_text() != f"{k} / {len(trace['steps'])}"
    assert viewer.evaluate(inside), "the focus is not lost with what was drawn before"
    viewer.page.keyboard.press("Home")
    assert viewer.locator(".mg-counter").first.inner_text().startswith("0 /")
    assert viewer.evaluate(inside)


def test_a_window_its_kernel_and_what_flows_back(show, visit, axe):
    x, w, b = PROGRAMS["images"][1]
    trace = trace_function(images, x, w, b, mode="reverse")
    viewer = show(trace, views=["element"])
    found = viewer.locator(".mg-found").all_inner_texts()
    assert " to " in found[1] and found[-1] == "and 1 more", "of the gradients"
    to(viewer, step_at(trace, "primal", "v1"))
    viewer.locator(".mg-thumb").nth(4).press("Enter")  # sample 1, output 1
    assert viewer.evaluate("root => document.activeElement.title") == "[1, 1]"
    viewer.locator("figure[data-node='v1'] td[data-at='1,1,0,0']").hover()
    assert viewer.locator(".mg-solid").count() == 0
    window = lit(viewer, "x", "v")
    assert window == [f"1,{c},{i},{j}" for c in (0, 1) for i in (0, 1) for j in (0, 1)]
    assert len(lit(viewer, "w", "v")) == 8
    assert "10 positions lie in the padding." in viewer.locator(".mg-element").inner_text()
    to(viewer, step_at(trace, "adjoint", "w"))
    viewer.locator("figure[data-node='w'] td[data-at='1,0,1,1']").hover()
    assert len(lit(viewer, "v1", "g")) == 2 * 5 * 3, "all windows of an output use each weight"
    axe(visit.page, "html")
    visit.assert_clean()


def test_a_pooling_says_which_element_it_chose(show):
    directions = ([[[4.0, 7.0, 0.0, 0.0, 0.0, 0.0]]],)
    trace = trace_function(
        lambda x: F.max_pool1d(x, 2).sum(),
        [[[3.0, 1.0, 2.0, 2.0, 0.0, 5.0]]],
        tangents=directions,
    )
    viewer = show(trace, views=["element"])
    to(viewer, step_at(trace, "primal", "v1"))
    said, cells = viewer.locator(".mg-element .mg-meet"), viewer.locator(".mg-board td")
    cells.nth(0).hover()
    assert said.inner_text() == "v1[0, 0, 0] = max(3, 1) = 3"
    to(viewer, step_at(trace, "tangent", "v1"))
    assert said.inner_text() == "v̇1[0, 0, 0] = 4", "of the largest value, not the largest tangent"
    to(viewer, step_at(trace, "adjoint", "x"))
    cells.nth(2).hover()
    assert said.inner_text() == "x\u0304[0, 0, 2] = 1", "a value stands once"
    cells.nth(3).hover()  # of two equal ones the first was chosen
    assert said.inner_text() == "x\u0304[0, 0, 3] = 0 (no terms)"


def test_the_first_element_has_terms_where_one_has(show):
    """The middle of this pooling's adjoint had none (November 2026)."""
    rows = [[1.0, 5.0, 2.0, 0.0], [3.0, 4.0, 9.0, 1.0], [0.0, 2.0, 7.0, 7.0], [8.0, 6.0, 7.0, 7.0]]
    trace = trace_function(lambda x: F.max_pool2d(x, 2).sum(), [[rows]], mode="reverse")
    viewer = show(trace, views=["element"], step=step_at(trace, "adjoint", "x"))
    said, cells = viewer.locator(".mg-element .mg-meet"), viewer.locator(".mg-board td")
    assert said.inner_text() == "x\u0304[0, 0, 0, 1] = 1"
    cells.nth(5).hover()
    assert said.inner_text() == "x\u0304[0, 0, 1, 1] = 0 (no terms)"
    to(viewer, step_at(trace, "adjoint", "x") - 1)
    to(viewer, step_at(trace, "adjoint", "x"))
    assert "[0, 0, 1, 1]" in said.inner_text(), "what the reader chose stays"


def test_a_mean_of_a_window_is_divided_by_what_it_counts(show):
    x = [[[[3.0, 1.0, 2.0], [2.0, 0.0, 5.0]]]]
    mean = lambda x: F.avg_pool2d(x, 2, ceil_mode=True).sum()
    trace = trace_function(mean, x, mode="reverse")
    viewer = show(trace, views=["element"])
    to(viewer, step_at(trace, "primal", "v1"))
    said, cells = viewer.locator(".mg-element .mg-meet"), viewer.locator(".mg-board td")
    cells.nth(0).hover()
    assert said.inner_text() == "v1[0, 0, 0, 0] = (3 + 1 + 2 + 0) / 4 = 1.5"
    cells.nth(1).hover()  # the window that hangs over has two elements
    assert said.inner_text() == "v1[0, 0, 0, 1] = (2 + 5) / 2 = 3.5"
    to(viewer, step_at(trace, "adjoint", "x"))
    cells.nth(5).hover()
    assert said.inner_text() == "x\u0304[0, 0, 1, 2] = 1 / 2 = 0.5"


def test_terms_that_are_0_are_left_out_of_a_long_sum(show):
    A = np.array([[1.0, 0, 2, 0, 3, 0], [0, 1, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0]])
    B = np.array([[4.0, 5, 6, 7, 0, 0], [np.nan, 1, 1, 1, 1, 1]]).T
    viewer = show(trace_function(lambda A, B: A @ B, A, B, mode="primal"), views=["element"])
    to(viewer, 3)
    said, cells = viewer.locator(".mg-element .mg-meet"), viewer.locator(".mg-board td")
    for cell, sentence in {
        0: "[0, 0] = 1 · 4 + 2 · 6 = 16 (4 of 6 terms are 0)",
        1: "[0, 1] = 1 · NaN + 2 · 1 + 3 · 1 = NaN (3 of 6 terms are 0)",
        2: "[1, 0] = 1 · 5 = 5 (5 of 6 terms are 0)",
        3: "[1, 1] = 0 · NaN + 1 · 1 = NaN (4 of 6 terms are 0)",
        4: "[2, 0] = 0 (6 of 6 terms are 0)",
    }.items():
        cells.nth(cell).hover()
        assert said.inner_text() == f"v1{sentence}"


def test_other_steps_name_those_in_which_elements_meet(show):
    trace = trace_function(product, numbers(3, 4), numbers(4, 2), mode="reverse")
    viewer = show(trace, views=["element"])
    to(viewer, 1)
    links = viewer.locator(".mg-element .mg-fold")
    k = step_at(trace, "primal", "v1")
    assert links.first.inner_text() == f"{k}: v1"
    links.first.click()
    assert viewer.locator(".mg-counter").first.inner_text().startswith(f"{k} /")


def test_a_block_of_a_large_product(show, visit, axe):
    """Of 70 × 90 elements a block can be pointed at; its row and its column are lit."""
    A, B = numbers(70, 90), numbers(90, 60)
    trace = trace_function(product, A, B, mode="reverse")
    viewer = show(trace, views=["element"])
    to(viewer, step_at(trace, "primal", "v1"))
    text = viewer.locator(".mg-element").inner_text()
    assert "Rows 30 to 37, columns 25 to 32 of (70, 60)." in text
    assert "Rows 30 to 37, columns 0 to 23 of (70, 90)." in text
    viewer.locator("figure[data-node='v1'] td[data-at='31,26']").hover()
    assert lit(viewer, "A", "v") == [f"31,{k}" for k in range(24)]
    assert lit(viewer, "B", "v") == [f"{k},26" for k in range(24)]
    said = viewer.locator(".mg-element .mg-meet").inner_text()
    total = f" = {short(A[31] @ B[:, 26])} (17 of 90 terms are 0)"
    assert said.startswith("v1[31, 26] = ") and said.endswith(total)
    axe(visit.page, "html")
    to(viewer, step_at(trace, "adjoint", "B"))
    viewer.locator("figure[data-node='B'] td[data-at='44,30']").hover()
    assert lit(viewer, "A", "v") == [f"{k},44" for k in range(24)]
    visit.page.set_viewport_size({"width": 390, "height": 844})
    page = viewer.locator(".mg-element").bounding_box()
    board = viewer.locator(".mg-element .mg-board").bounding_box()
    assert page["x"] <= board["x"] < page["x"] + page["width"] / 2, "the block is in sight"
    visit.assert_clean()


def test_arrays_that_the_trace_does_not_hold_are_not_guessed(show):
    trace = trace_function(lambda x: x.sum(), np.ones((70, 70)), mode="primal")
    viewer = show(trace, views=["element"])
    to(viewer, step_at(trace, "primal", "v1"))
    assert "too large" in viewer.locator(".mg-element").inner_text()
    assert viewer.locator(".mg-element table").count() == 0


def test_complex_arrays_have_no_picture_of_an_element(show):
    trace = trace_function(lambda a: (a @ a).abs().sum(), numbers(2, 2) + 1j, mode="reverse")
    viewer = show(trace, views=["element", "arrays"])
    for phase, node in [("primal", "v1"), ("adjoint", "a")]:
        to(viewer, step_at(trace, phase, node))
        assert "are complex" in viewer.locator(".mg-element").inner_text()
        assert "NaN" not in viewer.inner_text()
    picks = viewer.locator(".mg-element .mg-picks button").all_text_contents()
    assert len(picks) == 2 and not any(name in str(picks) for name in (": v1", "a\u0304")), (
        "the steps of real sums are offered, and no others"
    )


def test_scalar_functions_have_no_such_view():
    trace = trace_function(lambda x: x * x, 2.0)
    assert not any("terms" in node for node in trace["nodes"])
    assert "element" in viz.page.VIEWS


@pytest.mark.parametrize(
    ("f", "inputs"),
    [
        (
            lambda x, w: F.conv2d(x, w, padding=1).square().sum(),
            [2 * numbers(1, 1, 4, 4), 2 * numbers(1, 1, 3, 3)],
        ),
        (lambda x, W: (x @ W).tanh().sum(), [numbers(2, 3), numbers(3, 2) / 5]),
    ],
    ids=["convolution", "product"],
)
def test_all_of_an_element_is_seen_in_the_window_of_a_laptop(show, visit, f, inputs):
    """Beside a graph of two lines the products were cut above their sum (November 2026)."""
    trace = trace_function(f, *inputs, mode="reverse")
    visit.page.set_viewport_size({"width": 1280, "height": 800})
    viewer = show(trace, views=["element"])
    inside = viewer.locator(".mg-view-element .mg-inside")
    for phase, node in [("primal", "v1"), *(("adjoint", n["id"]) for n in trace["nodes"][:2])]:
        to(viewer, step_at(trace, phase, node))
        tall, space = inside.evaluate("e => [e.scrollHeight, e.clientHeight]")
        assert tall <= space, (phase, node)
        tops = "all => new Set(all.map((e) => e.getBoundingClientRect().top)).size"
        assert inside.locator(".mg-arrays > .mg-array").evaluate_all(tops) <= 1, "in one row"


def test_the_view_speaks_chinese_and_fits_a_phone(show, visit):
    trace = trace_function(images, *PROGRAMS["images"][1], mode="reverse")
    visit.page.set_viewport_size({"width": 390, "height": 844})
    viewer = show(trace, views=["element"], lang="zh")
    to(viewer, step_at(trace, "primal", "v1"))
    assert "指向一个元素" in viewer.locator(".mg-element").inner_text()
    wide = visit.page.evaluate("() => document.documentElement.scrollWidth")
    assert wide <= 390


def test_of_a_nan_no_number_is_larger(parts):
    trace = trace_function(
        lambda x: F.max_pool1d(x, 3).sum(), [[[1.0, float("nan"), 2.0]]], mode="reverse"
    )
    steps = parts.evaluate(EVERY, trace)
    assert steps[0][3] == [pytest.approx(float("nan"), nan_ok=True)]
    assert mg.tensor([1.0, float("nan"), 2.0]).max().isnan()


def test_factors_stand_in_the_order_of_the_formula_and_ten_terms_are_written(show):
    trace = trace_function(
        lambda x, w: mg.sum(x @ w), np.ones((10, 2)), numbers(2, 3), mode="reverse"
    )
    viewer = show(trace, views=["element"])
    to(viewer, step_at(trace, "adjoint", "w"))
    assert viewer.locator(".mg-worked .mg-note").all_inner_texts() == ["x", "v̄1", "x · v̄1"]
    said = viewer.locator(".mg-element .mg-meet").inner_text()
    assert said.count(" + ") == 9 and "…" not in said
