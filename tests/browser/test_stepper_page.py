"""The stepper in a real browser, opened from a file with no server: every control, key, mark and
message, on the hand tracer's samples.
"""

import json
import random
import re
import struct

import numpy as np
import pytest
from minigrad.viz.jacobian import jacobian_trace
from minigrad.viz.numbers import brief, short
from minigrad.viz.texts import words

import minigrad as mg
from minigrad import viz
from minigrad.watch.trace import trace_function
from tests.browser.conftest import at_each, step_at, step_of, to
from tests.helpers.hand_tracer import trace
from tests.helpers.trace_samples import SEED_CODE, all_samples

pytestmark = pytest.mark.browser


SAMPLES = all_samples()


def press(page, *keys):
    for key in keys:
        page.keyboard.press(key)


def cell(viewer, node, column):
    return viewer.locator(f"tr[data-node='{node}'] td[data-col='{column}']")


def focus(viewer):
    viewer.locator(".mg-slider").focus()


# ---- stepping


def test_from_the_first_step_to_the_last_by_keyboard(show, visit):
    viewer = show(SAMPLES["seed"])
    assert step_of(viewer) == 0
    focus(viewer)
    press(visit.page, "ArrowRight")
    assert step_of(viewer) == 1 and cell(viewer, "v1", "v").inner_text() == "", (
        "not computed is empty, not 0"
    )
    for k in range(2, 24):
        press(visit.page, "ArrowRight")
        assert step_of(viewer) == k
    press(visit.page, "ArrowRight")
    assert step_of(viewer) == 23
    assert (
        cell(viewer, "v5", "v").inner_text() == "11.65"
        and cell(viewer, "v5", "d").inner_text() == "5.5"
    )
    assert [cell(viewer, x, "g").inner_text() for x in ("x1", "x2")] == ["5.5", "1.716"]
    press(visit.page, "ArrowLeft")
    assert cell(viewer, "x1", "g").inner_text() == "5", "one contribution taken back"
    press(visit.page, "Home")
    assert step_of(viewer) == 0 and cell(viewer, "x1", "g").inner_text() == "5.5", (
        "the end, faintly"
    )


@pytest.mark.parametrize(
    "name",
    [
        "arrays",
        "seed",
        *(pytest.param(name, marks=pytest.mark.whole) for name in ("constants", "naninf")),
    ],
)
def test_every_state_of_every_sample_is_the_fold_of_its_steps(show, visit, name):
    sample = SAMPLES[name]
    viewer = show(SAMPLES[name])
    expected, state = [], {}
    for step in [None, *sample["steps"]]:
        state |= {} if step is None else {(n, c): brief(v, 30) for n, c, v in step["writes"]}
        expected.append(
            [
                [state.get((n["id"], c["key"]), "") for c in sample["columns"]]
                for n in sample["nodes"]
            ]
        )
    expected[0] = expected[-1]  # faintly
    there = random.Random(3).sample(range(len(expected)), min(40, len(expected)))
    order = [*range(len(expected)), *there]  # forward, then here and there
    found = visit.page.evaluate(
        """order => JSON.stringify(order.map(k => { // nested arrays would take seconds to send
            const slider = document.querySelector(".mg-slider");
            slider.value = k;
            slider.dispatchEvent(new Event("input"));
            return [...document.querySelectorAll("tbody tr")].map(row =>
                [...row.querySelectorAll("td.mg-num")].map(c => c.textContent));
        }))""",
        order,
    )
    assert json.loads(found) == [expected[k] for k in order]
    cards = viewer.locator(".mg-node").evaluate_all(
        "cards => cards.map(c => c.querySelectorAll('.mg-row').length)"
    )
    assert cards == [len(sample["columns"])] * len(sample["nodes"])


def test_the_help_explains_the_words_that_the_page_uses(show, visit):
    def explained(what, **options):
        viewer = show(what, **options)
        viewer.locator(".mg-btn-help").click()
        rows = viewer.locator(".mg-help > div").nth(1).locator("dl > *").all_inner_texts()
        assert all(rows) and not any("word_" in one for one in rows)
        return dict(zip(rows[::2], rows[1::2], strict=True))

    def looped(x):
        for _ in range(3):
            x = mg.sin(x)
        return x

    rows = trace_function(lambda x, w: (x + w).tanh().sum(), [[1.0, 2.0], [3.0, 4.0]], [5.0, 6.0])
    both = {"value", "tangent", "adjoint", "seed", "local derivative"}
    for page_of in (lambda trace: trace, viz.to_html):  # of a page, with its words alone
        numbers = trace_function(looped, 2.0, mode="forward")
        assert {*explained(page_of(numbers))} == both - {"adjoint"} | {"round"}
        assert explained(page_of(SAMPLES["seed"])).keys() >= both
        found = explained(page_of(rows))
        assert {*found} == both - {"tangent"} | {"freed", "broadcast", "a to b"}
        assert found["adjoint"].startswith("the result's derivative with respect to a node")
        assert "Jacobian" in explained(page_of(jacobian_trace(lambda x: x * 2, [1.0, 2.0])))
    chinese = {"值", "伴随", "种子", "局部导数", "已释放", "广播", "a 至 b"}
    assert {*explained(rows, lang="zh")} == chinese


def test_keys_for_ends_phases_play_and_help(show, visit):
    viewer, page = show(SAMPLES["seed"]), visit.page
    focus(viewer)
    seen = []
    for key in ["PageDown"] * 4 + ["PageUp"] * 2 + ["End", "Home"]:
        press(page, key)
        seen.append(step_of(viewer))
    assert seen == [1, 2, 15, 23, 15, 2, 23, 0]
    place = viewer.locator(".mg-graph").bounding_box()
    press(page, "?")
    assert viewer.locator(".mg-graph").bounding_box() == place, "it stands over the picture"
    assert (
        viewer.locator(".mg-help").is_visible()
        and "go to the step of a node or number" in viewer.locator(".mg-help").inner_text()
    )
    press(page, "Escape")
    assert (
        viewer.locator(".mg-help").is_hidden()
        and page.evaluate("document.activeElement.textContent") == "?"
    )
    press(page, "Escape")
    assert viewer.evaluate("e => e === document.activeElement"), "from a button to the viewer"
    press(page, "Escape")
    assert page.evaluate("document.activeElement === document.body"), "Esc leaves the viewer"
    press(page, "End")
    assert step_of(viewer) == 23, "keys that no element has are those of the page's one viewer"


def test_a_page_just_opened_obeys_its_first_key(show, visit):
    viewer = show(viz.to_html(SAMPLES["seed"]))
    press(visit.page, "ArrowRight", "ArrowRight", "ArrowLeft", "Control+ArrowRight")
    assert step_of(viewer) == 1


def test_a_modified_key_is_left_to_the_browser(show, visit):
    viewer = show(SAMPLES["seed"])
    viewer.get_by_role("button", name="Next").focus()
    press(visit.page, "Control+ArrowRight", "Alt+End", "Meta+ArrowRight")
    assert step_of(viewer) == 0


def test_an_explanation_that_no_longer_scrolls_keeps_the_focus_and_so_the_arrow_keys(show, visit):
    viewer = show(SAMPLES["seed"], 1280)
    for k, part in enumerate((".mg-now", ".mg-formula"), 1):  # as where they scroll
        viewer.locator(part).first.evaluate("e => { e.tabIndex = 0; e.focus(); }")
        press(visit.page, "ArrowRight")
        visit.page.wait_for_timeout(200)  # drawn
        assert viewer.evaluate("e => e.contains(document.activeElement)"), part
        press(visit.page, "ArrowRight")
        assert step_of(viewer) == 2 * k


@pytest.mark.whole
def test_play_runs_to_the_end_stops_and_starts_over(show, visit):
    viewer, page = show(SAMPLES["square"]), visit.page
    viewer.locator(".mg-speed").select_option("4")
    focus(viewer)
    press(page, " ")
    assert viewer.get_by_role("button", name="Pause").count() == 1
    viewer.locator(".mg-counter").get_by_text("7 / 7").wait_for(timeout=6000)
    viewer.get_by_role("button", name="Play").wait_for()
    press(page, " ")
    viewer.locator(".mg-counter").get_by_text("1 / 7").wait_for(timeout=3000)
    press(page, " ")
    stopped = step_of(viewer)
    page.wait_for_timeout(400)  # at this speed a step takes 250 ms
    assert step_of(viewer) == stopped
    viewer.get_by_role("button", name="Next").focus()
    press(page, " ")
    assert step_of(viewer) == stopped + 1, "a button keeps its own Space"


def test_buttons_slider_and_chips(show, visit):
    viewer = show(SAMPLES["seed"])
    click = lambda name: viewer.get_by_role("button", name=name, exact=True).click()
    seen = []
    for name in ("Next", "Next", "Back", "Last", "Back", "First", "tangent", "adjoint", "value"):
        click(name)
        seen.append(step_of(viewer))
    assert seen == [1, 2, 1, 23, 22, 0, 2, 15, 1]
    assert viewer.locator(".mg-chip[aria-current]").inner_text().strip().endswith("value")
    to(viewer, 9)
    assert step_of(viewer) == 9
    said = viewer.locator(".mg-slider").get_attribute("aria-valuetext")
    assert said == "Step 9 of 23, value", "its sentence is announced by itself, once"
    for small in (".mg-gutter button", ".mg-jump"):
        beside = "e => { const r = e.getBoundingClientRect(); return [r.left - 6, r.top + 9]; }"
        point = viewer.locator(small).first.evaluate(beside)
        found = visit.page.evaluate(
            "at => document.elementFromPoint(...at).matches(at[2])", [*point, small]
        )
        assert found, f"{small} takes a click 6 px beside it"


# ---- what a step shows


def test_each_lane_under_the_slider_is_filled_where_its_pass_is_at_work(show):
    one = all_samples()["seed"]
    steps, keys = one["steps"], [column["key"] for column in one["columns"]]
    drawn = (
        show(one)
        .locator(".mg-score path")
        .evaluate_all(
            """(all) => all.map((path) => {
            const { width } = path.ownerSVGElement.viewBox.baseVal, { y } = path.getBBox();
            const filled = (x) => path.isPointInFill(new DOMPoint(x, y + 1));
            return Array.from({ length: 3 * width }, (_, i) => filled((i + 0.5) / 3));
        })"""
        )
    )
    at_work = [[step["writes"][0][1] == key for step in steps for _ in range(3)] for key in keys]
    assert drawn == at_work and len(drawn) == 3


def test_reads_writes_edges_and_their_direction(show, visit):
    sample = SAMPLES["seed"]
    viewer = show(SAMPLES["seed"])
    for k in (9, 12, 17, 23):
        to(viewer, k)
        step = sample["steps"][k - 1]
        ids = lambda selector, attribute="data-node": viewer.locator(selector).evaluate_all(
            f"all => all.map(e => e.getAttribute('{attribute}'))"
        )
        assert set(ids(".mg-node.mg-read")) == {n for n, _ in step["reads"]}
        assert ids(".mg-node.mg-write") == [step["node"]] and ids("tr.mg-active") == [step["node"]]
        assert (
            viewer.locator("td.mg-read").count() == len(step["reads"])
            and viewer.locator("td.mg-write").count() == 1
        )
        assert viewer.locator(".mg-edge.mg-lit").count() == len(step["edges"])
    shown = viz.layout.layout(sample)
    (edge,) = sample["steps"][22]["edges"]
    x, y = shown["edges"][edge]["points"][0]
    tip = viewer.locator(".mg-lit .mg-tip").get_attribute("d")
    assert tip == f"M{x:g} {y:g}l10 -4.5v9z", (
        "an adjoint's arrow points back to where the edge began"
    )


def test_the_passes_differ_in_more_than_colour(show, visit):
    viewer = show(SAMPLES["seed"])
    looks = {}
    for k in (9, 12, 20):
        to(viewer, k)
        looks[k] = visit.page.evaluate(
            "getComputedStyle(document.querySelector('.mg-lit .mg-wire')).strokeDasharray"
        )
    assert len(set(looks.values())) == 3
    style = lambda selector, name: visit.page.evaluate(
        "([s, n]) => getComputedStyle(document.querySelector(s))[n]", [selector, name]
    )
    assert (
        style("td.mg-read", "outlineStyle") == "dashed"
        and style("td.mg-write", "outlineStyle") == "solid"
    )
    assert int(style("td.mg-write", "fontWeight")) >= 700
    assert (
        style(".mg-node.mg-read .mg-card", "strokeDasharray") != "none"
        and style(".mg-node.mg-write .mg-card", "strokeDasharray") == "none"
    )
    to(viewer, 23)
    assert style(".mg-node.mg-write .mg-halo", "stroke") != "none", (
        "an accumulation has a double outline"
    )


def test_the_formula_is_mathml_with_accents_under_the_subscript_and_the_sum_spelled_out(show):
    viewer = show(SAMPLES["seed"])
    to(viewer, 23)
    formula = viewer.locator(".mg-formula")
    assert formula.locator("msub > mover > mi").first.text_content() == "x"
    assert "+=" in formula.text_content() and formula.locator("mfrac").count() == 1
    assert "".join(viewer.locator(".mg-sums").inner_text().split()) == "5+0.5=5.5"
    assert viewer.locator(".mg-badge").inner_text() == "adjoint, accumulated"
    assert viewer.locator(".mg-say").inner_text() == SAMPLES["seed"]["steps"][22]["say"]


def test_arithmetic_is_filled_in_where_the_formula_has_symbols_only(show):
    sample = trace(lambda a, b: a * b, 3, 4, tangents=(1, 2))
    for step in sample["steps"]:
        relations = [i for i, t in enumerate(step["formula"]) if t.get("text") in ("=", "+=")]
        step["formula"] = step["formula"][: relations[1]] if len(relations) > 1 else step["formula"]
    viewer = show(sample)
    sums = []
    for k in (5, 6, 8):
        to(viewer, k)
        sums.append("".join(viewer.locator(".mg-sums").inner_text().split()))
    assert sums == ["3·4=12", "4·1+3·2=10", "1·4=4"]


def test_the_local_derivative_stands_on_its_edge(show):
    viewer = show(SAMPLES["seed"])
    to(viewer, 12)
    assert viewer.locator(".mg-label").all_text_contents() == ["× 0.2837"]
    to(viewer, 9)
    assert viewer.locator(".mg-label").count() == 0


def test_the_active_piece_of_source_is_lit(show):
    viewer = show(SAMPLES["seed"])
    lit = []
    for k in (1, 5, 7, 9, 11, 23):
        to(viewer, k)
        lit.append(viewer.locator(".mg-source mark").all_inner_texts())
        assert viewer.locator(".mg-source code").text_content() == SEED_CODE.rstrip("\n")
    assert lit == [[], ["ln(x1)"], ["x1 * x2"], ["a + x1 * x2"], ["sin(x2)"], ["ln(x1)"]]
    viewer.locator(".mg-node[data-node='v4']").hover()
    assert viewer.locator(".mg-source mark").all_inner_texts() == ["sin(x2)"]


def test_the_source_marks_the_operation_that_a_step_of_the_reverse_pass_names(show):
    """What sends, as the sentence says, and not what receives."""
    trace = trace_function(lambda x, y: mg.tanh(mg.sin(x) * y), 0.5, 2.0, mode="reverse")
    viewer, (line,) = show(trace), trace["source"]["code"].strip().split("\n")
    ends = {edge["id"]: edge["dst"] for edge in trace["edges"]}
    spans = {node["id"]: node.get("span") for node in trace["nodes"]}
    seen = []
    for k, step in enumerate(trace["steps"], 1):
        if step["phase"] == "adjoint":
            to(viewer, k)
            _, first, _, last = spans[ends[step["edges"][0]]]
            assert viewer.locator(".mg-source mark").all_inner_texts() == [line[first:last]]
            seen.append((step["node"], line[first:last]))
    assert seen[0] == ("v2", "mg.tanh(mg.sin(x) * y)") and ("x", "mg.sin(x)") in seen


def test_the_sentence_of_a_value_that_the_formula_says_whole_is_for_screen_readers(show):
    viewer = show(trace_function(lambda x, y: mg.sin(x) * y, 0.5, 2.0, mode="reverse"))
    wide = []
    for k in (1, 3, 4, 6):
        to(viewer, k)
        wide.append(viewer.locator(".mg-say").bounding_box()["width"] > 1)
    assert wide == [True, False, False, True], "of an input and of the reverse pass it says more"
    to(viewer, 3)
    assert viewer.locator(".mg-say").text_content() == "v1 = sin x = 0.4794."


def rounds(x):
    s = x
    for i in range(3):
        if i == 1:
            s = mg.sin(s)
            s = s * x
        else:
            s = s + 1
    return s


def test_each_line_of_source_has_its_number_also_where_the_source_scrolls(show):
    viewer = show(trace_function(rounds, 0.5, mode="reverse"), 1280, 720)
    scroll = viewer.locator(".mg-source .mg-scroll")
    found = scroll.evaluate(
        """scroll => {
        scroll.style.maxHeight = "90px"; // as in a notebook, beside a graph
        const letters = scroll.querySelector(".mg-gutter").getBoundingClientRect();
        const tall = parseFloat(getComputedStyle(scroll.querySelector("code")).lineHeight);
        return Array.from({ length: 9 }, (_, i) => {
            scroll.scrollTop = i * tall;
            const { top, bottom } = scroll.getBoundingClientRect();
            const gutter = scroll.querySelector(".mg-gutter").getBoundingClientRect();
            const y = gutter.top + (i + 0.5) * tall;
            return y > top && y < bottom
                && document.elementFromPoint(gutter.right - 9, y)?.closest(".mg-gutter") !== null;
        });
    }"""
    )
    assert found == [True] * 9


def test_on_a_phone_a_step_is_told_whole_or_fades_where_there_is_more_below(show):
    told = """() => { const box = document.querySelector(".mg-now");
        return [box.scrollHeight - box.clientHeight > 3, getComputedStyle(box).maskImage != "none"];
    }"""
    both = trace_function(
        lambda x1, x2: mg.log(x1) + x1 * x2 - mg.sin(x2), 2.0, 5.0, mode="both", source=""
    )
    x = [[0.13, -0.13, 0.64], [0.1, -0.54, 0.36], [1.3, 0.95, -0.7], [-1.27, -0.62, 0.04]]
    w = [[-2.33, -0.22, -1.25, -0.73, -0.54], [-0.32, 0.41, 1.04, -0.13, 1.37]]
    w.append([-0.67, 0.35, 0.9, 0.09, -0.74])
    b, u = [-1.01, 0.22, 0.35, -0.15, 0.58], [[0.54, -1.14], [0.2, 0.95]] * 2 + [[-0.7, 0.4]]
    network = trace_function(
        lambda x, W1, b1, W2: ((mg.tanh(x @ W1 + b1) @ W2) ** 2).mean(), x, w, b, u, source=""
    )
    for each in (both, network):
        steps = range(1, len(each["steps"]) + 1)
        assert at_each(show(each, 390, 844), steps, told) == [[False, False]] * len(steps)
    # its sentence has three arrays of eight numbers
    arrays = trace_function(lambda y: (y * y).mean(), np.array(x)[:, :2] / 7e6, source="")
    k = step_at(arrays, "accumulate", "y")
    viewer = show(arrays, 390, 844, step=k)
    viewer.page.wait_for_function(f"() => ({told})().every(Boolean)")
    viewer.locator(".mg-now").evaluate("box => box.scrollTop = box.scrollHeight")
    viewer.page.wait_for_function(f"() => !({told})()[1]")


def test_on_a_phone_held_across_the_sentence_of_a_step_is_told_whole(show):
    """It was cut through its letters at nearly every step (November 2026)."""
    more = "e => e.querySelector('.mg-now').matches('.mg-more')"
    traces = [
        trace_function(lambda x, y: x * y + mg.sin(x), 2.0, 3.0, mode="reverse"),
        trace_function(
            lambda A, x: (mg.sin(A @ x) ** 2).sum(), [[1.0, 2.0], [4.0, 5.0]], [1.0, 2.0]
        ),
    ]
    for each in traces:
        for views in ([], ["predict"]):
            viewer = show(each, 844, 390, views=views)
            steps = range(1, len(each["steps"]) + 1)
            assert not any(at_each(viewer, steps, more)), (each["title"], views)


def test_a_line_of_source_stays_one_line_in_a_host_that_wraps_code_and_keeps_off_the_numbers(
    show,
):
    def wide(x):
        return mg.sin(x) * mg.sin(x) * mg.sin(x) * mg.sin(x) * mg.sin(x) * mg.sin(x) + mg.cos(x)

    viewer = show(trace_function(wide, 0.5, mode="reverse"), 390, 844)
    found = viewer.locator(".mg-source .mg-scroll").evaluate("""scroll => {
        const [numbers, code] = scroll.querySelectorAll("pre");
        const host = new CSSStyleSheet(), edge = numbers.getBoundingClientRect().right;
        host.replaceSync("pre, code { white-space: pre-wrap }");
        document.adoptedStyleSheets = [host];
        const digit = document.createRange();
        digit.selectNodeContents(numbers);
        scroll.scrollLeft = 1e6;
        const free = Math.round(edge - digit.getBoundingClientRect().right);
        const apart = code.offsetHeight - numbers.offsetHeight;
        document.adoptedStyleSheets = [];
        return [apart, scroll.scrollLeft > 0, free >= 10];
    }""")
    assert found == [0, True, True]


def test_the_source_says_which_round_of_the_loops_a_step_is_in(show):
    def nested(x):
        for _ in range(2):
            for _ in range(3):
                x = mg.sin(x)
        return x

    viewer = show(trace_function(rounds, 0.5, mode="reverse"))
    forward = ["", "", *(f"round {i} of 3" for i in (1, 2, 2, 3))]
    # the seed, and what v4, v3, v3, v2 and v1 send
    backward = [f"round {i} of 3" for i in (3, 3, 2, 2, 2, 1)]
    say = "root => root.querySelector('.mg-source figcaption').lastChild.textContent"
    assert at_each(viewer, range(len(forward) + len(backward)), say) == forward + backward
    viewer = show(trace_function(nested, 0.5, mode="reverse"), lang="zh", step=6)
    assert (
        viewer.locator(".mg-source figcaption")
        .inner_text()
        .endswith("第 2 轮，共 2 轮，第 2 轮，共 3 轮")
    )


# ---- graph and table together


def test_what_is_pointed_at_is_lit_in_both_views(show):
    viewer = show(SAMPLES["seed"])
    viewer.locator(".mg-node[data-node='v2']").hover()
    assert viewer.locator("tr.mg-hover").get_attribute("data-node") == "v2"
    viewer.locator("tr[data-node='v4']").hover()
    assert viewer.locator(".mg-node.mg-hover").get_attribute("data-node") == "v4"


def test_a_click_on_a_number_goes_to_the_step_that_wrote_it_and_on_a_node_stays_in_its_pass(
    show, visit
):
    sample = SAMPLES["seed"]
    viewer = show(sample)

    def writers(node, column):
        steps = enumerate(sample["steps"], 1)
        return [k for k, s in steps if [node, column] in [w[:2] for w in s["writes"]]]

    def goes(place, at):
        to(viewer, at)
        viewer.locator(place).click()
        return step_of(viewer)

    card = ".mg-graph .mg-node[data-node='{}'] "
    number = card + ".mg-row[data-col='{}'] .mg-value"
    first, last = writers("x1", "g")
    for at, step in ((first, first), (last - 1, first), (last, last), (23, last)):
        assert goes(number.format("x1", "g"), at) == step, "the last step that has written it"
    assert goes(card.format("x1") + ".mg-row[data-col='g'] .mg-mark", first - 1) == first
    for column in "vd":
        assert [goes(number.format("v2", column), 20)] == writers("v2", column)
        assert [goes(f"tr[data-node='v2'] td[data-col='{column}']", 20)] == writers("v2", column)
    heading = card + ".mg-heading"
    for node in ("v2", "v4"):
        for at in (writers("v4", "g")[0], 22):
            assert [goes(heading.format(node), at)] == writers(node, "g"), "the reverse pass"
        assert [goes(heading.format(node), 0)] == writers(node, "v")
    assert [goes("tr[data-node='v4'] th", 22)] == writers("v4", "g"), "so does the table"
    viewer.locator(card.format("v2")).focus()
    visit.page.keyboard.press("Enter")
    assert [step_of(viewer)] == writers("v2", "g"), "and a key on a node"


def test_after_a_click_in_the_graph_the_arrow_keys_step(show, visit):
    viewer = show(SAMPLES["seed"])
    for place in (".mg-node[data-node='v4'] .mg-heading", ".mg-node[data-node='v4'] .mg-mark"):
        viewer.locator(f".mg-graph {place}").first.click()
        press(visit.page, "Home", *["ArrowRight"] * 22)
        assert step_of(viewer) == 22
        press(visit.page, "ArrowLeft")
        assert step_of(viewer) == 21
    viewer.locator(".mg-graph .mg-node[data-node='v4']").focus()
    press(visit.page, "ArrowRight")
    assert step_of(viewer) == 21, "on a node that has the focus they walk the graph"


@pytest.mark.whole
def test_walking_the_graph_with_the_arrow_keys(show, visit):
    viewer, page = show(SAMPLES["seed"]), visit.page
    viewer.locator(".mg-node[data-node='v3']").focus()
    here = lambda: page.evaluate("document.activeElement.getAttribute('data-node')")
    path = []
    for key in (
        "ArrowRight",
        "ArrowLeft",
        "ArrowLeft",
        "ArrowDown",
        "ArrowUp",
        "ArrowUp",
        "ArrowLeft",
        "ArrowLeft",
    ):
        press(page, key)
        path.append(here())
    assert path[0] == "v5" and path[1] in ("v3", "v4") and path[-1] == path[-2] == "x1", path
    assert step_of(viewer) == 0, "walking does not step"
    press(page, "Shift+ArrowRight", "Shift+ArrowRight")
    assert step_of(viewer) == 2 and here() == "x1"
    press(page, "Enter")
    assert step_of(viewer) == 2, "x1's tangent"
    to(viewer, 20)
    press(page, "Enter")
    assert step_of(viewer) == 21, "in the reverse pass its first adjoint"
    labels = viewer.locator(".mg-node").evaluate_all(
        "all => all.map(e => e.getAttribute('aria-label'))"
    )
    assert labels[0] == "x1; value 2, tangent 1, adjoint 5" and labels[2].startswith(
        "v1 = ln x1; value 0.6931"
    )


@pytest.mark.whole
def test_the_tab_key_passes_through_and_out(show, visit):
    show(SAMPLES["seed"])
    page = visit.page
    page.evaluate(
        "document.body.append(Object.assign(document.createElement('button'), { id: 'after' }))"
    )
    stops = []
    for _ in range(30):
        press(page, "Tab")
        stops.append(
            page.evaluate(
                "document.activeElement.id || document.activeElement.getAttribute('class') ||"
                " document.activeElement.tagName"
            )
        )
        if stops[-1] == "after":
            break
    assert stops[-1] == "after", f"the focus is trapped: {stops}"
    assert sum("mg-node" in s for s in stops) == 1, "one stop for the whole graph"
    assert next(i for i, s in enumerate(stops) if "mg-slider" in s) < next(
        i for i, s in enumerate(stops) if "mg-node" in s
    )


def test_columns_explanation_and_source_can_be_hidden(show):
    viewer = show(SAMPLES["seed"], step=23)
    viewer.get_by_label("View").click()
    viewer.get_by_role("checkbox", name="tangent").uncheck()
    assert cell(viewer, "x1", "d").is_hidden() and cell(viewer, "x1", "g").is_visible()
    rows = viewer.locator(".mg-node[data-node='x1'] .mg-row")
    assert [row.is_visible() for row in rows.all()] == [True, False, True]
    viewer.get_by_role("checkbox", name="Explanation").uncheck()
    assert viewer.locator(".mg-say").bounding_box()["width"] <= 1
    viewer.get_by_role("checkbox", name="Source code").uncheck()
    assert viewer.locator(".mg-source").is_hidden()
    viewer.get_by_role("checkbox", name="tangent").check()
    assert cell(viewer, "x1", "d").is_visible()


@pytest.mark.whole
def test_a_long_graph_in_one_line_follows_the_active_node_and_can_be_zoomed(show, visit):
    viewer, page = show(SAMPLES["chain"]), visit.page
    viewer.get_by_label("View", exact=True).click()
    viewer.get_by_role(
        "checkbox", name="Long graphs in lines"
    ).uncheck()  # in lines: test_long_graphs.py
    viewer.get_by_label("View", exact=True).click()
    box = viewer.locator(".mg-graph")
    inside = """() => { const b = document.querySelector(".mg-graph").getBoundingClientRect();
        const n = document.querySelector(".mg-node.mg-write").getBoundingClientRect();
        return n.left >= b.left && n.right <= b.right
            && n.top >= b.top && n.bottom <= b.bottom; }"""
    row_inside = """() => {
        const b = document.querySelector(".mg-tablebox").getBoundingClientRect();
        const r = document.querySelector("tr.mg-active").getBoundingClientRect();
        return r.top >= b.top && r.bottom <= b.bottom + 1; }"""
    focus(viewer)
    for key in ("PageDown", "PageDown", "PageDown", "End"):
        press(page, key)
        page.wait_for_function(inside, timeout=3000)
        page.wait_for_function(row_inside)
    before = viewer.locator(".mg-svg").bounding_box()["width"]
    viewer.get_by_role("button", name="Zoom out").click()
    assert viewer.locator(".mg-svg").bounding_box()["width"] < before
    fit, strip = viewer.get_by_role("button", name="Fit to window"), viewer.locator(".mg-strip-of")
    fit.click()
    assert not box.evaluate("b => b.scrollWidth > b.clientWidth") and not strip.is_visible(), (
        "all of it, and so no strip"
    )
    fit.click()
    assert viewer.locator(".mg-svg").bounding_box()["width"] == pytest.approx(before, abs=2), (
        "and back to what can be read"
    )
    assert box.evaluate("b => b.scrollWidth > b.clientWidth")
    count = viewer.locator(".mg-node").count()
    assert strip.is_visible() and strip.locator("rect").count() == count, "every box in small"
    press(page, "End")
    assert strip.locator(".mg-strip-now").count() == 1
    share = "b => 100 * b.scrollLeft / (b.scrollWidth - b.clientWidth)"
    page.wait_for_function(
        "() => document.querySelector('.mg-graph').scrollLeft < 5"
    )  # the last adjoint is the input's
    place = strip.bounding_box()
    page.mouse.click(place["x"] + place["width"] - 5, place["y"] + 5)
    page.wait_for_function(
        "() => parseFloat(document.querySelector('.mg-strip-of').style.backgroundPositionX) > 90"
    )
    seen = strip.evaluate("e => parseFloat(e.style.backgroundPositionX)")
    assert seen == pytest.approx(box.evaluate(share), abs=1)


# ---- everybody can read it


@pytest.mark.parametrize(
    ("name", "scheme"),
    [
        ("seed", "light"),
        pytest.param("arrays", "dark", marks=pytest.mark.whole),
    ],
)
def test_axe_finds_nothing(show, visit, axe, name, scheme):
    visit.page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
    viewer = show(SAMPLES[name])
    axe(visit.page, "html")
    to(viewer, len(SAMPLES[name]["steps"]))
    press(visit.page, "?")
    viewer.get_by_label("View").click()
    axe(visit.page, "html")


def test_a_narrow_page_does_not_scroll_sideways(show):
    over = "() => document.documentElement.scrollWidth - innerWidth"
    for width in (320, 700):
        viewer = show(SAMPLES["seed"], width, 800)
        assert max(at_each(viewer, (0, 12, 23), over)) <= 0
        assert viewer.get_by_role("button", name="Next").is_visible()
        assert cell(viewer, "x1", "g").is_visible()


def test_the_picture_does_not_jump_while_stepping(show):
    places = """root => [root.querySelector(".mg-graph").getBoundingClientRect().y,
        root.querySelector("th[data-col='g']").getBoundingClientRect().x].map(Math.round)"""
    for width in (420, 900, 1280):
        viewer = show(SAMPLES["seed"], width, 800)
        tops, widths = map(set, zip(*at_each(viewer, range(24), places), strict=True))
        assert len(tops) == 1, f"the graph moves: {tops}"
        assert len(widths) == 1, f"the table's columns move: {widths}"


def test_reduced_motion_stops_the_moving_dashes_but_not_the_steps(show, visit):
    name = "getComputedStyle(document.querySelector('.mg-lit .mg-wire')).animationName"
    viewer = show(SAMPLES["seed"], step=20)
    assert visit.page.evaluate(name) == "mg-back"
    visit.page.emulate_media(reduced_motion="reduce")
    viewer = show(SAMPLES["seed"], step=20)
    assert visit.page.evaluate(name) == "none"
    viewer.get_by_role("button", name="Next").click()
    assert step_of(viewer) == 21


def test_the_sentence_is_announced_politely_but_not_while_playing(show, visit):
    viewer = show(SAMPLES["seed"])
    say = viewer.locator(".mg-say")
    assert say.get_attribute("aria-live") == "polite" and say.get_attribute("role") == "status"
    viewer.get_by_role("button", name="Play").click()
    assert say.get_attribute("aria-live") == "off"
    viewer.get_by_role("button", name="Pause").click()
    assert say.get_attribute("aria-live") == "polite"


def test_print_shows_the_final_state_and_comes_back(show, visit):
    viewer = show(SAMPLES["seed"], step=3)
    visit.page.evaluate("dispatchEvent(new Event('beforeprint'))")
    visit.page.emulate_media(media="print")
    assert (
        step_of(viewer) == 23
        and viewer.locator(".mg-bar").is_hidden()
        and viewer.locator(".mg-table").is_visible()
    )
    visit.page.emulate_media(media="screen")
    visit.page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert step_of(viewer) == 3


# ---- bad and strange documents


def test_hostile_texts_stay_texts(show, visit):
    dialogs = []
    visit.page.on("dialog", lambda d: (dialogs.append(d.message), d.dismiss()))
    viewer = show(SAMPLES["hostile"])
    count = len(SAMPLES["hostile"]["steps"])
    for k in (1, 2, count):
        to(viewer, k)
    assert visit.page.locator("img, .mg-root script").count() == 0
    assert visit.page.evaluate("document.querySelectorAll('svg[onload], [onerror]').length") == 0
    assert viewer.locator(".mg-title").inner_text() == SAMPLES["hostile"]["title"]
    assert dialogs == []


MALFORMED = [
    (
        "t.schema = 'minigrad.trace/9'",
        'reads minigrad.trace/1, but the document says schema = "minigrad.trace/9"',
    ),
    ("delete t.steps", "has no list “steps”"),
    ("t.steps[3].node = 'unknown'", 'Step 4 is about the node "unknown"'),
    ("t.edges[0].dst = 'unknown'", 'Edge "e1" joins nodes that do not exist'),
    ("t.steps[2].edges = ['e77']", 'Step 3 names the edge "e77"'),
    ("t.steps[0].writes[0][1] = 'q'", 'Step 1 reads or writes ["x1","q",2]'),
    ("t.nodes[1] = null", "Node 2 has no id"),
    ("t.steps[5].formula = 7", "TypeError"),
]


def test_a_malformed_trace_gives_a_message_in_place_of_the_viewer(parts):
    made = viz.layout.with_layout(SAMPLES["seed"])
    shown = "const v = parts.mount(place(), t); v.go(6); v.go(24);"
    said = lambda: parts.get_by_role("alert").inner_text()
    for change, says in MALFORMED:
        parts.evaluate(f"t => {{ {change}; {shown} }}", made)
        assert says in said()
    for document, message in (("null", "null"), ("[]", "list"), ("undefined", "undefined")):
        parts.evaluate(f"() => {{ parts.mount(place(), {document}); }}")
        assert f"this is: {message}" in said()


def test_without_a_layout_the_table_still_works(parts):
    parts.evaluate("t => { parts.mount(place(), t, { step: 23 }); }", SAMPLES["seed"])
    viewer = parts.locator(".mg-root")
    assert cell(viewer, "x2", "g").inner_text() == "1.716"
    assert "no layout" in viewer.locator(".mg-note").inner_text()


@pytest.mark.whole
def test_numbers_look_the_same_in_python_and_in_the_browser(parts):
    rng = random.Random(11)
    numbers = [struct.unpack("<d", rng.randbytes(8))[0] for _ in range(2000)]
    numbers = [x for x in numbers if x == x and abs(x) != float("inf")]
    numbers += [rng.uniform(-1, 1) * 10.0 ** rng.randint(-8, 9) for _ in range(2000)] + [
        rng.randint(-(10**7), 10**7) for _ in range(300)
    ]
    numbers += [
        0,
        -0.0,
        0.5,
        1.0005,
        2.00050,
        1000.5,
        999.95,
        999.96,
        9999.995,
        999999.5,
        999999.4,
        1e6,
        1e-4,
        9.9996e-5,
        1e21,
        1e-7,
        5e-324,
    ]
    others = [
        True,
        False,
        None,
        "nan",
        "inf",
        "-inf",
        {"re": 1, "im": -0.5},
        {"shape": [2, 2], "sample": [1, 2.5, "nan", 4]},
    ]
    others += [
        {"shape": [3, 4], "dtype": "float32", "sample": [0.1] * 12, "min": -1 / 3, "max": 1e9},
        {"shape": [3, 4], "dtype": "float32", "sample": [0.1] * 12, "min": 0.1, "max": 0.1000001},
        {"shape": [0], "sample": []},
        *(
            {"shape": [9], "sample": [0.5] * 9, "chosen": {"at": at, "sample": [1, -2, 3]}}
            for at in ([0, 1, 5], [0, 4, 8], [2, 3, 7], [6, 7, 8])
        ),
    ]
    values = numbers + others
    found = parts.evaluate(
        """all => [all.map(parts.short),
            all.map((v) => parts.brief(v, parts.translator("en")))]""",
        values,
    )
    assert found == [[short(v) for v in values], [brief(v) for v in values]]


def test_what_the_functions_of_a_rule_do_is_told_to_a_tap_and_to_the_keyboard(show, visit, axe):
    trace = trace_function(lambda x, w: (x @ w).sum(), [1.0, 2.0], [[1.0, 2.0], [3.0, 4.0]])
    k = next(i for i, s in enumerate(trace["steps"], 1) if "outer(" in s["say"])
    for width in (1280, 390):
        viewer = show(trace, width, step=k)
        means = viewer.locator(".mg-now .mg-means")
        said = "outer(a, b) is the table of all products"
        assert said in viewer.locator(".mg-formula").get_attribute("title")
        told, sentence = viewer.get_by_text(said), viewer.locator(".mg-say")
        panel, before = viewer.locator(".mg-now"), sentence.bounding_box()
        means.click()
        assert told.is_visible() and means.get_attribute("aria-expanded") == "true"
        box, now = told.bounding_box(), panel.bounding_box()
        assert sentence.bounding_box() == before, "the sentence of the step stays"
        assert panel.evaluate("e => e.scrollHeight <= e.clientHeight")
        assert box["y"] >= now["y"] + now["height"] - 1 and box["x"] + box["width"] <= width
        axe(visit.page, ".mg-root")
        means.focus()
        visit.page.keyboard.press("Enter")
        assert told.count() == 0 and step_of(viewer) == k
        visit.page.keyboard.press("Space")
        assert told.is_visible() and step_of(viewer) == k
        visit.page.keyboard.press("Escape")
        assert told.count() == 0 and not viewer.evaluate("e => e.matches('.mg-stage')")
        means.click()
        to(viewer, k - 1)
        assert told.count() == 0, "another step has another formula"
    viewer = show(trace, 1280, step=1)
    assert viewer.locator(".mg-now .mg-means").is_hidden(), "no function, nothing to tell"


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_a_step_whose_sentence_names_a_broadcast_explains_it(show, lang):
    """Before the functions of its formula; the help has it among its words, and the ranges."""
    trace = trace_function(lambda x, b: mg.exp(x + b).sum(), np.ones((2, 3)), 0.5, mode="reverse")
    k = step_at(trace, "adjoint", "b")
    viewer = show(trace, 1280, step=k, lang=lang)
    t = words(lang)
    assert t("fn_broadcast") != "fn_broadcast"
    viewer.locator(".mg-now .mg-means").click()
    told = viewer.locator(".mg-formula").get_attribute("title").split("\n")
    assert told == [t("fn_broadcast"), t("fn_sum")]
    assert viewer.get_by_text(told[0]).is_visible()
    to(viewer, step_at(trace, "adjoint", "v1"))
    assert viewer.locator(".mg-now .mg-means").is_hidden()
    viewer.locator(".mg-btn-help").click()
    for name in ("fn_broadcast", "word_range"):
        for part in re.split(": |：", t(name)):
            assert viewer.locator(".mg-help").get_by_text(part, exact=True).is_visible()


# ---- hosts


def test_the_cell_output_sets_its_height_folds_the_table_and_takes_the_notebooks_theme(
    visit, tmp_path
):
    """The frame's HTML as a notebook page would hold it, twice."""
    frame = viz.iframe(SAMPLES["seed"], 12)._repr_html_()
    path = tmp_path / "host.html"
    path.write_text(
        f"<!DOCTYPE html><meta charset=utf-8><body data-jp-theme-light=false>{frame}{frame}</body>",
        encoding="utf-8",
    )
    page = visit.page
    page.goto(path.as_uri())
    page.wait_for_function(
        "() => [...document.querySelectorAll('iframe')].every(f => f.dataset.alive)"
    )
    assert page.evaluate("[...document.querySelectorAll('details')].map(d => d.open)") == [
        False,
        False,
    ]
    for i in range(2):
        inner = page.frame_locator("iframe").nth(i).locator("html")
        page.wait_for_function(
            f"() => document.querySelectorAll('iframe')[{i}].style.height !== ''"
        )
        page.wait_for_timeout(200)
        assert inner.evaluate("e => e.scrollHeight - e.clientHeight") <= 0, "the frame is cut"
        viewer = page.frame_locator("iframe").nth(i).locator(".mg-root")
        assert viewer.get_attribute("data-theme") == "dark" and step_of(viewer) == 12
    first = page.frame_locator("iframe").first.locator(".mg-root")
    focus(first)
    press(page, "End")
    assert cell(first, "x2", "g").inner_text() == "1.716"
    visit.assert_clean()


def test_without_scripts_the_table_remains(chromium, tmp_path):
    context = chromium.new_context(java_script_enabled=False)
    page = context.new_page()
    path = tmp_path / "page.html"
    path.write_text(viz.to_html(SAMPLES["seed"]), encoding="utf-8")
    page.goto(path.as_uri())
    assert "1.716" in page.locator("table").inner_text()
    context.close()


def test_the_start_names_the_results_and_nan_is_red_in_the_table_too(show):
    viewer = show(trace_function(mg.log, 0.0, mode="both"))
    assert viewer.locator(".mg-badge").inner_text() == "results"
    assert viewer.locator(".mg-found").count() == 3, "the value, its tangent, the input's adjoint"
    to(viewer, 4)
    marked = viewer.locator(".mg-table td.mg-nan")
    assert marked.count() and all("∞" in text or "NaN" in text for text in marked.all_inner_texts())


def test_only_numbers_reserve_the_place_of_a_curve(show):
    assert show(trace_function(mg.sin, 1.0)).locator(".mg-curved").count() == 1
    assert (
        show(trace_function(lambda x: mg.sum(x * x), [1.0, 2.0])).locator(".mg-curved").count() == 0
    )
