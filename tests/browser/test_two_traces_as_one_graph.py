"""Two Traces as one graph: what agrees is quiet, the first difference stands above it with both
values."""

import copy

import numpy as np
import pytest
from minigrad.lessons.exercises import bug_zoo
from minigrad.viz.reading import plain, runs

import minigrad as mg
from minigrad import viz
from minigrad.trace import validate
from minigrad.watch import trace_function
from tests.browser.conftest import step_of, to


def f(x1, x2):
    return mg.log(x1) + x1 * x2 - mg.sin(x2)


@pytest.fixture(scope="module")
def reference():
    return trace_function(f, 2.0, 5.0, mode="reverse")


def overwriting(trace):
    """An engine that puts the newest contribution in the place of the sum."""
    wrong = copy.deepcopy(trace)
    for step in wrong["steps"]:
        if step["phase"] == "accumulate":
            step["writes"][0][2] = step["contribs"][0]["product"]
    return wrong


def of_class(viewer, name):
    return viewer.locator(f".mg-node.{name}").evaluate_all("all => all.map(e => e.dataset.node)")


@pytest.mark.parametrize(("size", "scheme"), [((1280, 800), "light"), ((390, 844), "dark")])
def test_what_differs_has_both_values_and_the_first_difference_is_large(
    show, visit, axe, reference, size, scheme
):
    page = visit.page
    page.emulate_media(color_scheme=scheme)
    pair = viz.compare(reference, overwriting(reference), names=("minigrad", "yours"))
    viewer = show(pair.to_html(), *size)
    assert page.locator("section.mg-root").count() == 1, "one graph"
    parted = page.locator(".mg-strip .mg-parted")
    assert parted.locator("dt").all_inner_texts() == ["minigrad", "yours"]
    assert parted.locator("dd").all_inner_texts() == ["1.716", "2"]
    page.keyboard.press("ArrowRight")
    assert step_of(viewer) == 1, "the first key on a page just opened moves a step"
    big = parted.locator("dd").first.evaluate("e => parseFloat(getComputedStyle(e).fontSize)")
    assert big >= (24 if size[0] > 560 else 15)
    assert "they must be added" in page.locator(".mg-sumup").inner_text()
    if size[0] < 560:  # the sentence, then one row: nodes are on the first screen
        sentence, row = (
            page.locator(one).bounding_box() for one in (".mg-sumup", ".mg-strip .mg-parted")
        )
        assert sentence["y"] + sentence["height"] <= row["y"]
        assert page.locator(".mg-strip").bounding_box()["height"] <= 120
    page.get_by_role("button", name="Go to the first difference").click()
    page.keyboard.press("ArrowRight")
    assert step_of(viewer) == pair.divergence.step + 2, "the keys go on from there"
    page.keyboard.press("ArrowLeft")
    assert viewer.locator(".mg-counter").inner_text().startswith(f"{pair.divergence.step + 1} /")
    assert of_class(viewer, "mg-differs") == ["x2"]
    to(viewer, len(reference["steps"]))
    assert of_class(viewer, "mg-unlike") == ["x1", "x2"]
    assert of_class(viewer, "mg-agrees") == ["v1", "v2", "v3", "v4", "v5"]
    cells = viewer.locator("td.mg-unlike-value").all_inner_texts()
    assert cells == ["5.5 ≠ 0.5", "1.716 ≠ 2"]
    card = viewer.locator(".mg-node[data-node='x1'] .mg-unlike-value .mg-value")
    assert card.all_text_contents() == ["5.5 ≠ 0.5"]
    axe(page, "html")
    to(viewer, 3)
    assert of_class(viewer, "mg-unlike") == [], "nothing is known yet of what differs"
    to(viewer, 9)  # v5 sends to v3, and both agree
    look = """e => { const s = getComputedStyle(e); return [s.stroke, s.strokeDasharray]; }"""
    card = lambda node: viewer.locator(f".mg-node[data-node='{node}'] .mg-card").evaluate(look)
    written, read, quiet = card("v3"), card("v5"), card("v1")
    assert written[0] == read[0] != quiet[0]
    assert (written[1], read[1]) == ("none", "6px, 4px")


def test_a_sum_that_grows_is_not_compared_with_the_final_one(show, reference):
    """x1 and x2 get two contributions each: after the first both engines have the same."""
    pair = viz.compare(reference, overwriting(reference), names=("minigrad", "yours"))
    viewer = show(pair.to_html())
    parts = pair.divergence.step
    for k in range(1, parts + 1):
        to(viewer, k)
        assert of_class(viewer, "mg-unlike") == [] and viewer.get_by_text("≠ 2").count() == 0, k
        still = viz.to_svg(pair.document["union"], k)
        assert "≠" not in still and ("quiet" in still) == (k > 1), k
    to(viewer, parts + 1)
    assert of_class(viewer, "mg-unlike") == ["x2"]
    assert "1.716\N{NO-BREAK SPACE}≠" in viz.to_svg(pair.document["union"], parts + 1)


@pytest.mark.parametrize(("lang", "name"), [("en", "contribution to x¯"), ("zh", "对 x¯ 的贡献")])
@pytest.mark.parametrize("width", [1280, 390])
def test_a_wrong_contribution_is_red_at_its_own_step_and_named_as_one(
    show, visit, axe, lang, name, width
):
    """The middle one of three: on the card and in the table with the sums so far, above the graph
    with what is multiplied."""

    def f(x):
        return mg.exp(x) * 0.3 + mg.sin(x) * x

    right = trace_function(f, 2.0, mode="reverse")
    wrong = copy.deepcopy(right)
    at = next(i for i, step in enumerate(wrong["steps"]) if step["phase"] == "accumulate")
    for step in wrong["steps"][at:]:
        for part in step["contribs"] if step["node"] == "x" else ():
            if step is wrong["steps"][at]:
                part |= {"product": -part["product"], "local": -part["local"]}
                change = 2 * part["product"]
            else:
                part["before"] += change
            part["after"] += change
            step["writes"][0][2] = part["after"]
    pair = viz.compare(right, wrong, names=("right", "student"), lang=lang)
    assert pair.divergence.step == at < len(right["steps"]) - 1
    viewer = show(pair.to_html(), width, 800)
    parted = visit.page.locator(".mg-strip .mg-parted")
    assert parted.locator(".mg-contribution").text_content() == name
    assert parted.locator("dd").all_inner_texts() == [
        *("−0.8323", "= 2 · (−0.4161)", "0.8323", "= 2 · 0.4161")
    ]
    unlike = [
        one.evaluate("e => getComputedStyle(e, '::before').content")
        for one in parted.locator("dt + dd").all()
    ]
    assert unlike == ["none", '"≠ "']
    card = viewer.locator(".mg-node[data-node='x'] .mg-unlike-value .mg-value")
    row = viewer.locator("tr[data-node='x'] td.mg-unlike-value")
    for k, told in ((at, []), (at + 1, ["0.077 ≠ 1.742"]), (at + 2, ["0.077 ≠ 1.742"])):
        to(viewer, k)
        assert card.all_text_contents() == row.all_inner_texts() == told, k
        assert of_class(viewer, "mg-unlike") == ["x"] * len(told)
    axe(visit.page, "html")
    lines = parted.locator("div").evaluate_all("all => all.map(e => e.getBoundingClientRect())")
    assert width > 390 or all(line["height"] < 30 for line in lines), "each in one line"
    to(viewer, len(right["steps"]))
    assert card.all_text_contents() == ["2.294 ≠ 3.958"]


def test_before_the_first_step_the_picture_is_that_of_the_first_trace_alone(show, visit, reference):
    """The difference stands above it; the card is marked when its step is done."""
    shown = ".mg-value, td.mg-num"
    alone = show(viz.to_html(reference)).locator(shown).all_text_contents()
    pair = viz.compare(reference, overwriting(reference), names=("minigrad", "yours"))
    viewer = show(pair.to_html())
    assert "must be added" in visit.page.locator(".mg-strip .mg-sumup").inner_text()
    assert len(set(alone)) > 7 and viewer.locator(shown).all_text_contents() == alone
    loud = viewer.locator(".mg-differs, .mg-unlike, .mg-unlike-value")
    for k, marked in ((0, False), (pair.divergence.step, False), (pair.divergence.step + 1, True)):
        to(viewer, k)
        assert bool(loud.count()) == marked, k


def test_forward_beside_reverse_is_one_graph_with_both(show, reference):
    forward = trace_function(f, 2.0, 5.0, mode="forward")
    pair = viz.compare(forward, reference, names=("forward", "reverse"))
    assert pair.divergence is None
    both = validate(pair.document["union"])
    assert [c["key"] for c in both["columns"]] == ["v", "d", "g"]
    viewer = show(pair.to_html())
    to(viewer, len(both["steps"]))
    row = viewer.locator("tr[data-node='x1'] td.mg-num").all_inner_texts()
    assert row == ["2", "1", "5.5"] and len(of_class(viewer, "mg-agrees")) == 7


def test_before_and_after_a_step_is_told_without_a_verdict(show, visit):
    def loss(w):
        return (w * 2.0 - 1.0) ** 2

    before = trace_function(loss, 0.75, mode="reverse")
    after = trace_function(loss, 0.55, mode="reverse")
    for lang, said in (("en", "is 0.75 in before and 0.55 in after"), ("zh", "before 为 0.75")):
        pair = viz.compare(before, after, names=("before", "after"), reference=False, lang=lang)
        viewer = show(pair.to_html())
        text = visit.page.locator(".mg-sumup").inner_text()
        assert said in text and "should" not in text
        assert said in repr(pair)
    to(viewer, len(before["steps"]))
    assert "w" in of_class(viewer, "mg-unlike")


@pytest.mark.parametrize(
    ("lang", "count"), [("en", "({}\u00a0of\u00a0{})"), ("zh", "({1} 个中 {0} 个)")]
)
@pytest.mark.parametrize("shape", [(3,), (2, 3), (4, 25)])
def test_of_arrays_the_first_entry_that_differs_has_both_values_everywhere(
    show, visit, shape, lang, count
):
    """Above the graph, on a card, in the table: its index, both values, and how many differ."""

    def f(w):
        return (w * w).sum()

    w = np.arange(1.0, 1 + np.prod(shape)).reshape(shape)
    other = w.copy()
    other.flat[[1, 2]] = 7.0, 0.5
    traces = [trace_function(f, one, mode="reverse") for one in (w, other)]
    pair = viz.compare(*traces, names=("before", "after"), reference=False, lang=lang)
    viewer = show(pair.to_html(), 1280, 800)
    index = str([0] * (len(shape) - 1) + [1])
    large = visit.page.locator(".mg-strip .mg-parted dd").all_inner_texts()
    assert large == [f"{index}: 2", f"{index}: 7"]
    said = visit.page.locator(".mg-strip .mg-sumup").inner_text()
    assert said == repr(pair) and index in said
    to(viewer, len(traces[0]["steps"]))
    known = count.format(2 if w.size <= 16 else "≥ 2", w.size)
    row = viewer.locator("tr[data-node='w'] td.mg-unlike-value").all_inner_texts()
    assert row == [f"{index}: 2 ≠ 7 {known}", f"{index}: 4 ≠ 14 {known}"]
    card = viewer.locator(".mg-node[data-node='w']")
    shown = card.locator(".mg-unlike-value .mg-value")
    assert shown.all_text_contents() == [f"{index}: 2 ≠ 7", f"{index}: 4 ≠ 14"]
    rim = card.locator(".mg-card").bounding_box()
    for one in shown.all():
        box = one.bounding_box()
        assert rim["x"] < box["x"] and box["x"] + box["width"] < rim["x"] + rim["width"]


def test_a_comparison_fits_the_screen_with_what_stands_above_its_graph(show, visit, reference):
    def network(x, w1, b1, w2, b2):
        h = mg.tanh(x @ w1 + b1)
        y = h @ w2 + b2
        return (y * y).mean()

    def longer(x1, x2):
        return mg.log(x1) + x1 * x2 - mg.cos(x2) * 2.0

    inputs = [np.linspace(-1, 1, n * m).reshape(n, m) for n, m in ((4, 3), (3, 5), (5, 2))]
    x, w1, w2 = inputs
    first = trace_function(network, x, w1, np.ones(5), w2, np.ones(2), mode="reverse")
    second = trace_function(network, x, w1, np.ones(5), 2 * w2, np.ones(2), mode="reverse")
    for pair in (
        (first, second),
        (reference, trace_function(longer, 2.0, 5.0, mode="reverse")),
        (bug_zoo.reference(), bug_zoo.watched("A")),
    ):
        viewer = show(viz.compare(*pair, names=("minigrad", "yours"), step=6).to_html(), 1280, 800)
        assert visit.page.evaluate("document.documentElement.scrollHeight") <= 800
        graph = viewer.locator(".mg-graph").bounding_box()
        assert graph["height"] >= 160, "and the graph is no strip"


def test_other_programs_share_what_they_share(show, visit, reference):
    def g(x1, x2):
        return mg.log(x1) + x1 * x2 - mg.cos(x2) * 2.0

    pair = viz.compare(reference, trace_function(g, 2.0, 5.0, mode="reverse"), names=("f", "g"))
    both = validate(pair.document["union"])
    assert pair.divergence.node == "v4"
    viewer = show(pair.to_html())
    to(viewer, len(both["steps"]))
    assert of_class(viewer, "mg-only-first") == ["v4"]
    assert of_class(viewer, "mg-only-second") == ["v4′", "v5′"]
    assert "v5" in of_class(viewer, "mg-unlike"), "both subtract, and from other values"
    legend = visit.page.locator(".mg-strip .mg-pairname").inner_text()
    assert "double outline: only in f" in legend and "dotted: only in g" in legend
    formula = next(s["formula"] for s in both["steps"] if s["node"] == "v5′")
    assert formula[0]["node"] == "v5′" and formula[0]["sup"] == "′"
    assert visit.page.locator(".mg-badge").inner_text() == "adjoint · g"
    assert (
        visit.page.locator(".mg-say")
        .inner_text()
        .startswith("v4′ · 2 has the derivative 2: v5′ sends −2 back to v4′")
    )
    told = visit.page.locator(".mg-strip .mg-parted dd").all_inner_texts()
    made = ["2\u2002mg.sin(x2)", "2\u2002mg.cos(x2)"]
    assert told == ["sin x2 = −0.9589", made[0], "cos x2 = 0.2837", made[1]]
    visit.page.get_by_role("button", name="Go to the first difference").click()
    assert viewer.locator(".mg-counter").inner_text().startswith("6 /")


@pytest.mark.parametrize(
    ("lang", "extra", "lacks"),
    [
        ("en", "yours has an extra mul of v1.", "yours lacks v2, the mul of v1."),
        ("zh", "yours 多一个 mul，作用于 v1。", "yours 缺少 v2，即作用于 v1 的 mul。"),
    ],
)
def test_an_operation_that_one_of_the_two_has_alone_is_named_and_marked(
    show, visit, lang, extra, lacks
):
    def short(x):
        return mg.cos(mg.sin(mg.exp(x)))

    def longer(x):
        return mg.cos(mg.sin(mg.exp(x) * 2))

    nothing = {"en": "nothing", "zh": "无"}[lang]
    made = ["v1 · 2 = 3.297", "2\u2002mg.exp(x) * 2"]
    for pair, said, marked, told in (
        ((short, longer), extra, "v2′", [nothing, *made]),
        ((longer, short), lacks, "v2", [*made, nothing]),
    ):
        found = viz.compare(*pair, 0.5, names=("minigrad", "yours"), lang=lang)
        viewer = show(found.to_html(), 1280, 800)
        assert said in visit.page.locator(".mg-strip .mg-sumup").inner_text() == repr(found)
        assert visit.page.locator(".mg-strip .mg-parted dd").all_inner_texts() == told
        visit.page.locator(".mg-strip button").click()
        assert step_of(viewer) == 3 and of_class(viewer, "mg-differs") == [marked]


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize("second", [lambda a, b: f(a, b) + 0 * a, {"x2": 2.0}, {"x1": 5.5}])
def test_the_page_says_of_results_and_what_is_not_compared_as_python_does(
    show, visit, second, lang
):
    pair = viz.compare(f, second, 2.0, 5.0, lang=lang)
    show(pair.to_html(), 1280, 720)
    assert visit.page.locator(".mg-strip .mg-sumup").inner_text() == repr(pair)


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize(
    ("by_hand", "marked"), [(lambda a, b: 1 / a + b, 0), (lambda a, b: a + 1 / a, 2)]
)
def test_a_derivative_by_hand_is_compared_by_its_values(show, visit, by_hand, marked, lang):
    """Its graph is another one than the engine's: of a right one nothing is red."""
    pair = viz.compare(mg.func.grad(f), by_hand, 2.0, 5.0, lang=lang)
    viewer = show(pair.to_html(), 1280, 800)
    to(viewer, len(pair.document["union"]["steps"]))
    page = visit.page
    assert page.locator(".mg-strip .mg-sumup").inner_text() == repr(pair)
    assert viewer.locator(".mg-verdict").text_content() == repr(pair)
    assert page.locator(".mg-strip button, .mg-parted, .mg-differs").count() == 0
    assert viewer.locator(".mg-node.mg-unlike").count() == marked
    legend = page.locator(".mg-strip .mg-pairname").inner_text()
    assert ("≠" in legend) == bool(marked) and "grad(f)" in legend


def test_the_jump_to_the_first_difference_is_in_the_address(visit, tmp_path, reference):
    pair, path, page = (
        viz.compare(reference, overwriting(reference)),
        tmp_path / "p.html",
        visit.page,
    )
    path.write_text(pair.to_html(), encoding="utf-8")
    page.goto(path.as_uri())
    page.get_by_role("button", name="Go to the first difference").click()
    assert page.url.endswith(f"#step={pair.divergence.step + 1}")
    page.goto("about:blank")
    page.goto(f"{path.as_uri()}#step={pair.divergence.step + 1}")
    viewer = page.locator("section.mg-pair section.mg-root")
    viewer.wait_for()
    assert step_of(viewer) == pair.divergence.step + 1
    visit.assert_clean()


def test_predict_mode_and_the_stage_ask_before_the_difference_is_told(show, visit, reference):
    """In English and in Chinese; afterwards the sentence, the values and the mark are there."""
    page = visit.page
    pair = viz.compare(reference, overwriting(reference), names=("minigrad", "yours"))
    parts = pair.divergence.step
    viewer = show(pair.to_html(), 1280, 720)
    said, marked = page.locator(".mg-strip .mg-sumup"), viewer.locator(".mg-node.mg-differs")
    assert "must be added" in said.inner_text()
    viewer.get_by_label("View", exact=True).click()
    viewer.get_by_text("Predict the next value").click()
    assert said.inner_text() == "The first difference is shown when its step is done."
    assert page.locator(".mg-strip .mg-parted").is_hidden() and marked.count() == 0
    for _ in range(parts + 1):
        page.get_by_role("button", name="Go there").or_(
            page.get_by_role("button", name="Show me")
        ).click()
        if step_of(viewer) > parts:
            break
        assert page.locator(".mg-strip .mg-parted").is_hidden() and marked.count() == 0
    assert step_of(viewer) == parts + 1 and "must be added" in said.inner_text()
    assert page.locator(".mg-strip .mg-parted").is_visible() and marked.count() == 1
    pair = viz.compare(reference, overwriting(reference), names=("minigrad", "yours"), step=parts)
    viewer = show(pair.to_html(), 1280, 720)
    page.keyboard.press("f")
    marked = viewer.locator(".mg-node.mg-differs")
    assert "mg-stage" in viewer.get_attribute("class") and marked.count() == 0
    page.keyboard.press("PageDown")
    assert marked.count() == 0 and viewer.get_by_text("≠ 2").count() == 0
    page.keyboard.press("PageDown")
    assert marked.count() == 1 and viewer.get_by_text("1.716 ≠ 2").count() > 0
    verdict = viewer.locator(".mg-verdict")
    assert verdict.locator("dt").all_inner_texts() == ["minigrad", "yours"], "whose they are"
    page.keyboard.press("Escape")
    page.evaluate("document.fullscreenElement && document.exitFullscreen()")
    assert verdict.is_hidden()
    chinese = viz.compare(reference, overwriting(reference), lang="zh", views=["predict"])
    show(chinese.to_html())
    assert page.locator(".mg-strip .mg-sumup").inner_text() == "做完那一步才说明第一处差异。"


def sines(x1, x2):
    a = mg.log(x1)
    return a * x2 - mg.sin(x2)


def cosines(x1, x2):
    a = mg.log(x1)
    b = a * x2

    return b - mg.cos(x2)


@pytest.mark.parametrize("size", [(1280, 800), (1440, 900)])
@pytest.mark.parametrize(
    ("lang", "said"),
    [
        (
            "en",
            "should be 4.425, but is 3.182. The graphs differ, first at step 5. v3 should be made",
        ),
        ("zh", "结果应为 4.425，却是 3.182。 计算图不同，首先在第 5 步：v3 在 reference 中"),
    ],
)
def test_the_stage_tells_the_difference_at_its_step_with_the_lines_of_both_functions(
    show, visit, axe, size, lang, said
):
    page, names = visit.page, ("reference", "yours")
    pair = viz.compare(sines, cosines, 2.0, 5.0, names=names, lang=lang, step=4)
    assert pair.divergence.step == 4
    viewer = show(pair.to_html(), *size)
    verdict = viewer.locator(".mg-verdict")
    assert verdict.is_hidden(), "off the stage it stands above the graph"
    page.keyboard.press("f")
    page.locator(".mg-stage:fullscreen").wait_for()
    graph = viewer.locator(".mg-graph").bounding_box()
    assert verdict.is_hidden() and "reference ≠ yours" in viewer.locator(".mg-whose").inner_text()
    page.keyboard.press("PageDown")
    assert step_of(viewer) == 4 and verdict.is_hidden(), "the question"
    page.keyboard.press("PageDown")
    assert step_of(viewer) == 5 and said in verdict.locator("p").inner_text()
    assert verdict.locator("dt").all_inner_texts() == list(names)
    assert verdict.locator("dd").all_inner_texts() == [
        *("sin x2 = −0.9589", "3\u2002return a * x2 - mg.sin(x2)"),
        *("cos x2 = 0.2837", "5\u2002return b - mg.cos(x2)"),
    ]
    assert verdict.locator("mark").all_inner_texts() == ["mg.sin(x2)", "mg.cos(x2)"]
    assert viewer.locator(".mg-graph").bounding_box() == graph, "its space was free"
    box, bar = verdict.bounding_box(), viewer.locator(".mg-bar").bounding_box()
    assert graph["y"] + graph["height"] <= box["y"] and box["y"] + box["height"] <= bar["y"] + 1
    letters = verdict.locator("dt, dd, p").evaluate_all(
        "all => all.map(e => parseFloat(getComputedStyle(e).fontSize))"
    )
    assert min(letters) >= size[1] / 70
    axe(page, ".mg-root")
    page.keyboard.press("PageUp")
    assert verdict.is_hidden()
    page.keyboard.press("q")
    assert verdict.is_visible(), "without questions there is nothing to give away"
    page.keyboard.press("f")
    page.locator(".mg-root:not(.mg-stage) .mg-counter").wait_for()
    page.evaluate("document.fullscreenElement && document.exitFullscreen()")


@pytest.mark.parametrize("size", [(1280, 800), (1440, 900), (390, 844)])
def test_the_sources_of_both_functions_are_lit_at_each_step(show, visit, axe, size):
    """The second's where it makes the node, or what stands in its place; above the end of the first
    screen, and with the graph no lower than beside one source."""
    pair = viz.compare(sines, cosines, 2.0, 5.0, names=("reference", "yours"), step=4)
    viewer = show(pair.to_html(), *size)
    boxes = viewer.locator(".mg-source .mg-box")
    told = lambda: boxes.evaluate_all(
        "all => all.map(e => [...e.querySelectorAll('mark')].map(m => m.textContent).join())"
    )
    heads = boxes.locator("figcaption > span").all_inner_texts()
    assert heads == ["Source code · reference", "Source code · yours"]
    assert told() == ["a * x2"] * 2
    steps = pair.document["union"]["steps"]
    own = next(i for i, step in enumerate(steps) if step.get("by"))
    for k in (5, own + 1):
        to(viewer, k)
        assert told() == ["mg.sin(x2)", "mg.cos(x2)"]
        lit = boxes.evaluate_all(
            """all => all.every(e => {
              const box = (q) => e.querySelector(q).getBoundingClientRect();
              const m = box("mark"), s = box(".mg-scroll");
              return m.top >= s.top && m.bottom <= s.bottom + 1; })"""
        )
        assert lit, "into view"
    to(viewer, 6)
    assert told() == ["a * x2 - mg.sin(x2)", "b - mg.cos(x2)"]
    axe(visit.page, "html")
    graph = viewer.locator(".mg-graph").bounding_box()
    if size[0] > 560:
        ends = boxes.evaluate_all("all => all.map(e => e.getBoundingClientRect().bottom)")
        assert max(ends) <= size[1]
        assert visit.page.evaluate("document.documentElement.scrollHeight") <= size[1]
    boxes.nth(1).get_by_role("button", name="5").click()
    assert told()[1] in ("mg.cos(x2)", "b - mg.cos(x2)"), "a number of a line runs to it"
    one = viz.compare(sines, sines, 2.0, 5.0, step=6)
    viewer = show(one.to_html(), *size)
    assert viewer.locator(".mg-source").count() == 1 and viewer.locator(".mg-both").count() == 0
    beside = viewer.locator(".mg-graph").bounding_box()
    assert size[0] < 560 or graph["height"] >= 0.8 * beside["height"]


def loss(w, b, x, y):
    z = w * x
    z = z + b
    h = mg.tanh(z)
    e = h - y
    squared = e**2
    penalty = w**2 + b**2
    penalty = 0.1 * penalty
    half = squared / 2
    return half + penalty


def other_loss(w, b, x, y):
    z = w * x
    z = z + b
    h = mg.sin(z)
    e = h - y
    squared = e**2
    penalty = w**2 + b**2
    penalty = 0.1 * penalty
    half = squared / 2
    return half + penalty


@pytest.mark.parametrize("size", [(1280, 800), (1440, 900), (1280, 720)])
def test_beside_two_long_sources_the_table_keeps_its_rows(show, visit, size):
    pair = viz.compare(loss, other_loss, 0.5, 0.1, 2.0, 1.0, step=7)
    viewer = show(pair.to_html(), *size)
    assert visit.page.evaluate("document.documentElement.scrollHeight") <= size[1]
    assert viewer.locator(".mg-tablebox").bounding_box()["height"] >= 105
    lit = viewer.locator(".mg-source mark").all_inner_texts()
    assert lit == ["mg.tanh(z)", "mg.sin(z)"]
    scrolls = viewer.locator(".mg-source .mg-scroll")
    first, second = scrolls.evaluate_all("all => all.map(one => one.clientHeight)")
    assert first == second, "both show as many lines"


def test_on_a_stage_upright_the_sentence_about_the_difference_has_the_width(show, reference):
    pairs = (
        viz.compare(reference, overwriting(reference)),
        viz.compare(sines, cosines, 2.0, 5.0),
    )
    for pair in pairs:
        viewer = show(pair.to_html(), 390, 844)
        viewer.page.keyboard.press("f")
        viewer.page.locator(".mg-stage:fullscreen").wait_for()
        to(viewer, 99)
        said = viewer.locator(".mg-verdict > :last-child").bounding_box()
        assert said["width"] > 0.9 * 390 and said["height"] < 844 / 5
        assert said["y"] + said["height"] < viewer.locator(".mg-bar").bounding_box()["y"]
        assert viewer.locator(".mg-graph").bounding_box()["height"] > 844 / 4
        viewer.page.keyboard.press("f")
        viewer.page.locator(".mg-root:not(.mg-stage) .mg-counter").wait_for()
        viewer.page.evaluate("document.fullscreenElement && document.exitFullscreen()")


class Swapped(mg.autograd.Function):
    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(x, y)
        return x * y

    @staticmethod
    def backward(ctx, grad):
        x, y = ctx.saved_tensors
        return grad * x, grad * y


def right(a, b, c):
    return (a * b + mg.sin(c)) * mg.exp(a)


def wrong(a, b, c):
    return (Swapped.apply(a, b) + mg.sin(c)) * mg.exp(a)


LETTERS = """e => parseFloat(getComputedStyle(e).fontSize)"""


@pytest.mark.parametrize("size", [(1280, 720), (1920, 1080)])
def test_the_stage_has_a_large_graph_and_the_difference_in_one_large_line(show, visit, size):
    tall = []
    point = 1.0, 2.0, 0.5
    alone = trace_function(right, *point, mode="reverse")
    for what in (alone, viz.compare(right, wrong, *point)):
        viewer = show(what if isinstance(what, dict) else what.to_html(), *size)
        visit.page.keyboard.press("f")
        visit.page.locator(".mg-stage:fullscreen").wait_for()
        tall.append(viewer.locator(".mg-node[data-node=a] .mg-card").bounding_box()["height"])
        to(viewer, 99)
        if isinstance(what, dict):
            visit.page.evaluate("document.exitFullscreen()")
    assert tall[1] > 0.75 * tall[0], tall
    names, values = (viewer.locator(f".mg-verdict {part}") for part in ("dt", "dd"))
    assert names.all_inner_texts() == ["right", "wrong"]
    assert [text for text in values.all_inner_texts() if "return" not in text] == [
        "5.437",
        "= 2.718 · 2",
        "2.718",
    ]
    assert names.first.evaluate(LETTERS) == values.first.evaluate(LETTERS) >= size[1] / 25
    lines = {round(one.bounding_box()["y"]) for one in (*names.all(), values.first)}
    assert max(lines) - min(lines) < 12, "one line"
    assert viewer.locator(".mg-verdict").bounding_box()["height"] < size[1] / 7
    visit.page.evaluate("document.exitFullscreen()")


def test_on_the_stage_the_card_that_is_asked_about_looks_as_on_a_stage_of_one_trace(
    show, visit, reference
):
    """Where the two agree, where they differ, and of an operation that the second has alone."""
    page = visit.page

    def looks(shown):
        viewer, found = show(shown, 1280, 800), {}
        viewer.focus()
        page.keyboard.press("f")
        page.locator(".mg-stage:fullscreen").wait_for()
        for _ in range(60):
            page.keyboard.press("PageDown")
            card = viewer.locator(".mg-asked-for")
            if not card.count():
                continue
            style = "(e, names) => names.map((name) => getComputedStyle(e)[name])"
            lines = ["stroke", "strokeWidth", "strokeDasharray"]
            seen = card.locator(".mg-card").evaluate(style, lines)
            ink = card.locator(".mg-heading").evaluate(style, ["fill"])
            marks = [c for c in card.get_attribute("class").split() if c.startswith("mg-")]
            found[(*seen, *ink)] = found.get((*seen, *ink), set()) | set(marks)
        page.keyboard.press("Escape")
        page.locator(".mg-root:not(.mg-stage) .mg-counter").wait_for()
        return found

    ((plain_look, _),) = looks(reference).items()
    marked = set()
    others = trace_function(f, 2.0, 4.0), trace_function(lambda x, y: x * y + mg.exp(x), 2.0, 5.0)
    for other in others:
        shown = looks(viz.compare(reference, other, names=("a", "b")).to_html())
        assert shown.keys() == {plain_look}
        marked |= shown[plain_look]
    assert marked >= {"mg-agrees", "mg-unlike", "mg-only-first", "mg-only-second"}
    visit.assert_clean()


def test_the_stage_tells_that_two_traces_agree_at_the_last_step(show, visit, reference):
    n = len(reference["steps"])
    viewer = show(viz.compare(reference, reference, step=n - 1).to_html(), 1280, 720)
    assert "agree in every value" in visit.page.locator(".mg-strip .mg-sumup").inner_text()
    visit.page.keyboard.press("f")
    visit.page.locator(".mg-stage:fullscreen").wait_for()
    assert viewer.locator(".mg-verdict").is_hidden()
    to(viewer, n)
    assert "agree in every value" in viewer.locator(".mg-verdict").inner_text()
    visit.page.keyboard.press("f")
    visit.page.locator(".mg-root:not(.mg-stage) .mg-counter").wait_for()
    visit.page.evaluate("document.fullscreenElement && document.exitFullscreen()")


@pytest.mark.parametrize(
    ("right", "value"), [(lambda x: 3 - x, -1.0), (lambda x: 3 / x, 2 / 3)], ids=["minus", "over"]
)
def test_the_page_tells_exchanged_operands_as_python_does(right, value, show, visit):
    first = trace_function(right, 2.0, mode="primal")
    second = copy.deepcopy(first)
    second["steps"][-1]["writes"][0][2] = value
    for lang, told in (("en", "the operands are swapped."), ("zh", "两个操作数的位置反了。")):
        pair = viz.compare(first, second, lang=lang)
        show(pair.to_html())
        said = visit.page.locator(".mg-strip .mg-sumup").inner_text()
        assert said == repr(pair) and said.endswith(told)


def test_a_node_of_both_has_the_first_ones_name_where_the_second_counts_otherwise(reference):
    """In g the logarithm is v2 and the product v1."""

    def g(x1, x2):
        return x1 * x2 - mg.log(x1) * x2

    pair = viz.compare(
        reference, trace_function(g, 2.0, 5.0, mode="reverse"), names=("f", "g"), reference=False
    )
    own = [s for s in pair.document["union"]["steps"] if s.get("by") == "g"]
    told = {plain(runs(s["formula"])).partition(" = ")[2].partition(" = ")[0]: s for s in own}
    assert told["v1 · x2"]["say"] == "v3′ = v1 · x2 = 3.466."
    assert told["v2 − v3′"]["say"] == "v4′ = v2 − v3′ = 6.534."
    assert "The two are computed in different ways." in repr(pair)


def test_torch_beside_minigrad(reference):
    torch = pytest.importorskip("torch", reason="compares with PyTorch's own reverse pass")

    def ours(x1, x2):
        return torch.log(x1) + x1 * x2 - torch.sin(x2)

    inputs = [torch.tensor(v, dtype=torch.float64) for v in (2.0, 5.0)]
    pair = viz.compare(reference, viz.from_torch(ours, *inputs), names=("minigrad", "torch"))
    beside = pair.document["union"]["beside"]
    assert pair.divergence is None and beside["cells"] == [] and beside["only"] == {}
    assert "torch.sin" in beside["source"]["code"] and {*beside["spans"]} >= {"v1", "v5"}


def test_a_large_pair_opens_grouped_and_its_boxes_show_where_it_differs(show):
    def program(x):
        for _ in range(60):
            x = mg.sin(x) * 2.0 + x
        return x

    trace = trace_function(program, 0.5, mode="primal")
    other = copy.deepcopy(trace)
    at = [n["id"] for n in trace["nodes"]].index("v100")
    for step in other["steps"][at:]:
        step["writes"][0][2] += 1.0
    viewer = show(viz.compare(trace, other).to_html())
    to(viewer, len(trace["steps"]))
    names = viewer.locator(".mg-group.mg-unlike .mg-group-name").all_text_contents()
    quiet = viewer.locator(".mg-group.mg-agrees .mg-group-name").all_text_contents()
    assert quiet == ["▸ rounds 1 … 12 of 60", "▸ rounds 13 … 24 of 60"]
    assert names[0] == "▸ rounds 25 … 36 of 60"
