"""The further views in a real browser, from files without a server: what each shows at every
step, and what the reader does with it.
"""

import copy
import itertools
import math
import re
import unicodedata

import numpy as np
import pytest
from minigrad.viz.jacobian import jacobian_trace
from minigrad.viz.numbers import short

import minigrad as mg
from minigrad import viz
from minigrad.program import trace as record
from minigrad.trace.replay import cut_sums, state_at
from minigrad.trace.text import seeds
from minigrad.watch import trace_function
from tests.browser.conftest import at_each, layouts_of, step_at, step_of, to
from tests.helpers.trace_samples import all_samples, chain

pytestmark = pytest.mark.browser


def f(x1, x2):
    return mg.log(x1) + x1 * x2 - mg.sin(x2)


class Block(mg.nn.Module):
    def __init__(self):
        self.linear = mg.nn.Linear(3, 3)

    def forward(self, x):
        return self.linear(x).tanh()


class Tower(mg.nn.Module):
    def __init__(self):
        self.blocks = mg.nn.ModuleList([Block() for _ in range(3)])
        self.head = mg.nn.Linear(3, 1)

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return self.head(x)


@pytest.fixture(scope="session")
def tower():
    mg.manual_seed(3)
    model = Tower()
    return trace_function(
        lambda x: model(x).square().sum(), [[0.5, -1.0, 2.0], [1.0, 0.0, -0.5]], mode="reverse"
    )


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_a_page_offers_the_views_of_the_whole_viewer_though_it_holds_no_others(show, tower, lang):
    samples = all_samples()
    traces = [samples["seed"], samples["arrays"], tower, jacobian_trace(f, 2.0, 5.0)]
    ones = mg.tensor(np.ones(3))
    traces.append(record(lambda x: (x * 2).sum().sin(), ones).as_trace(ones))
    offered = "e => [...e.querySelectorAll('.mg-menu label')].map(label => label.textContent)"
    for trace in traces:
        whole = show(trace, lang=lang).evaluate(offered)
        assert show(viz.to_html(trace, lang=lang)).evaluate(offered) == whole and len(whole) > 3


def view(viewer, name):
    return viewer.locator(f"[data-view='{name}']")


# ---- the shelf


def test_views_open_and_close_from_the_menu_and_by_name(show, visit):
    viewer = show(trace_function(f, 2.0, 5.0), views=["cut", "jacobian"])
    assert viewer.locator(".mg-beside-controls > p").all_inner_texts() == [
        "This trace has nothing for the view “jacobian”."
    ]
    assert viewer.locator("[data-view]").evaluate_all("all => all.map(e => e.dataset.view)") == [
        "cut"
    ]
    viewer.get_by_label("View", exact=True).click()
    names = viewer.locator(".mg-popup label").all_inner_texts()
    assert (
        "Memory lens" in names
        and "Jacobian matrix" not in names
        and "Arrays of this step" not in names
    ), "only what the Trace can show"
    viewer.get_by_role("checkbox", name="The reverse-mode algorithm").check()
    viewer.get_by_label("View", exact=True).click()
    viewer.get_by_role("checkbox", name="Every step so far").check()
    viewer.get_by_label("View", exact=True).click()
    opened = viewer.locator("[data-view]").evaluate_all("all => all.map(e => e.dataset.view)")
    assert opened == ["story", "algorithm", "cut"], "always in the same order"
    viewer.locator(".mg-say").click()
    assert viewer.locator(".mg-popup").is_hidden(), "a press elsewhere closes the menu"
    viewer.get_by_role("button", name="Close: Cut lens").click()
    assert visit.page.evaluate("document.activeElement.tagName") == "SECTION", (
        "the focus is not lost"
    )
    viewer.get_by_label("View", exact=True).click()
    assert (
        not viewer.get_by_role("checkbox", name="Cut lens").is_checked()
        and view(viewer, "cut").count() == 0
    )


def test_a_view_chosen_closes_the_menu_and_escape_leads_to_the_keys_of_the_viewer(show, visit):
    """The menu closed for predict mode alone, and Esc then left the viewer (November 2026)."""
    viewer, page = show(trace_function(f, 2.0, 5.0, mode="reverse")), visit.page
    menu = viewer.get_by_label("View", exact=True)
    for name in ("Predict the next value", "The reverse-mode algorithm", "Choose the order"):
        for on in (True, False):
            viewer.focus()
            page.keyboard.press("Home")
            menu.click()
            viewer.get_by_role("checkbox", name=name).set_checked(on)
            assert viewer.locator(".mg-popup").is_hidden(), (name, on)
            page.keyboard.press("Escape")
            assert viewer.evaluate("e => e === document.activeElement"), (name, on)
            page.keyboard.press("ArrowRight")
            assert step_of(viewer) == 1
    page.keyboard.press("Escape")
    assert page.evaluate("document.activeElement === document.body"), "once more leaves it"


@pytest.mark.parametrize("size", [(390, 844), (1280, 400)])
def test_the_menu_of_views_is_whole_inside_the_window(show, visit, size):
    viewer = show(trace_function(f, 2.0, 5.0), *size)
    viewer.get_by_label("View", exact=True).click()
    visit.page.wait_for_function(
        """() => {
            const box = document.querySelector(".mg-popup").getBoundingClientRect();
            return box.left >= 0 && box.right <= innerWidth && box.bottom <= innerHeight;
        }""",
        timeout=3000,
    )


@pytest.mark.parametrize(
    ("name", "scheme"),
    [
        ("numbers", "dark"),
        pytest.param("layers", "light", marks=pytest.mark.whole),
        pytest.param("jacobian", "light", marks=pytest.mark.whole),
    ],
)
def test_axe_finds_nothing_in_any_view(show, visit, axe, tower, name, scheme):
    visit.page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
    trace, views = {
        "numbers": (
            trace_function(f, 2.0, 5.0),
            ["predict", "story", "algorithm", "orders", "cut", "memory"],
        ),
        "layers": (tower, ["arrays", "memory", "algorithm"]),
        "jacobian": (jacobian_trace(lambda a, b: (a * b, mg.sin(a)), 2.0, 3.0), []),
    }[name]
    show(trace, views=views, step=len(trace["steps"]) - 2)
    axe(visit.page, "html")


def test_a_narrow_page_does_not_scroll_sideways_with_all_views_open(show, tower):
    for trace, width in ((trace_function(f, 2.0, 5.0), 320), (tower, 320), (tower, 700)):
        viewer = show(
            trace,
            width,
            views=["predict", "story", "algorithm", "orders", "cut", "memory", "arrays"],
        )
        over = at_each(
            viewer,
            (0, 20, len(trace["steps"])),
            "() => document.documentElement.scrollWidth - innerWidth",
        )
        assert max(over) <= 0


WALK = """async (root, [last, slow, between]) => {
    const slider = root.querySelector(".mg-bar .mg-slider"),
        list = root.querySelector(".mg-svg").classList;
    list.toggle = (...what) => { // a part of each step's drawing
        for (const until = performance.now() + slow; performance.now() < until; );
        return DOMTokenList.prototype.toggle.apply(list, what);
    };
    const timers = [], later = window.setTimeout;
    window.setTimeout = (...given) => (timers.push(later(...given)), timers.at(-1));
    for (let k = 0; k <= last; k++) {
        slider.value = k;
        slider.dispatchEvent(new Event("input"));
        if (between) await new Promise((f) => later(f));
    }
    window.setTimeout = later;
    timers.forEach(clearTimeout); // the slider does not rest before the layouts are counted
}"""


def test_a_step_lays_the_page_out_once_whatever_views_are_open(show, visit, tower):
    """And several steps in one task lay it out once together, and steps that take long on a loaded
    machine are no more. Before, each step had 3 layouts (November 2026).
    """
    views = ["story", "algorithm", "orders", "cut", "memory", "arrays"]
    viewer, steps = show(tower, views=views), len(tower["steps"])
    since = layouts_of(visit.page)

    def layouts(last, slow=0, between=True):
        since()
        viewer.evaluate(WALK, [last, slow, between])
        return since()

    assert layouts(steps, between=False) <= 3
    assert layouts(steps) <= 1.1 * steps
    assert step_of(viewer) == steps
    assert layouts(12, slow=160) <= 1.1 * 13, "no pause: the slider is still dragged"


# ---- explain, algorithm, cut, orders


def test_the_story_has_the_last_200_steps_wherever_the_clock_goes(show):
    def chain(x):
        for _ in range(130):
            x = x * 1.01
        return x

    trace = trace_function(chain, 2.0, mode="reverse")
    count = len(trace["steps"])
    assert count > 250
    to = [0, 3, count, 7, 5, 230, 229, 231, 20, 240, 240, count, 0, 4]
    told = at_each(
        show(trace, views=["story"]),
        to,
        """(root) => { const items = [...root.querySelectorAll(".mg-story li")];
            return [items.map((item) => item.value), items.filter((item) =>
                item.getAttribute("aria-current") === "step").map((item) => item.value)]; }""",
    )
    for k, (numbers, current) in zip(to, told, strict=True):
        assert numbers == list(range(max(0, k - 200) + 1, k + 1)), k
        assert current == ([k] if k else []), k


def test_the_story_tells_every_step_and_leads_back_to_it(show):
    trace = trace_function(f, 2.0, 5.0)
    viewer = show(trace, views=["story"], step=23)
    assert view(viewer, "story").locator(".mg-saying").all_inner_texts() == [
        s["say"] for s in trace["steps"]
    ]
    assert view(viewer, "story").locator("math").count() >= 23
    view(viewer, "story").locator("li").nth(6).get_by_role("button").click()
    assert step_of(viewer) == 7 and view(viewer, "story").locator("li").count() == 7


def test_the_space_of_a_part_is_no_style_of_what_is_inside_it(show):
    """Else each element in it gets a new style when groups open; the dictionary alone needs it."""
    viewer = show(trace_function(f, 2.0, 5.0, mode="reverse"), 1280, 800, views=["algorithm"])
    graph, inside_it, shelf, dictionary, row = viewer.evaluate("""root => [".mg-graph", ".mg-svg",
        ".mg-views", ".mg-held-by", ".mg-held-by tr"].map(part =>
            getComputedStyle(root.querySelector(part)).getPropertyValue("--mg-space"))""")
    assert graph.endswith("px") and shelf.endswith("px") and dictionary == shelf
    assert inside_it == row == ""


def test_the_heights_of_a_table_are_no_style_of_its_rows(show):
    """Else each cell gets a new style when groups open; the tightest table alone needs them."""
    viewer = show(trace_function(f, 2.0, 5.0), 1280, 800)
    heights = """root => [".mg-tablebox", ".mg-tablebox tr", ".mg-tablebox td"].map(part =>
        ["--mg-head", "--mg-row"].map(name =>
            getComputedStyle(root.querySelector(part)).getPropertyValue(name)))"""
    box, *inside = viewer.evaluate(heights)
    assert all(size.endswith("px") for size in box) and inside == [["", ""], ["", ""]]


def test_the_algorithm_shows_line_dictionary_and_graph_of_the_same_step(show, visit):
    trace = trace_function(f, 2.0, 5.0, mode="reverse")
    viewer = show(trace, views=["algorithm"])
    panel = view(viewer, "algorithm")
    assert (
        "has not begun" in panel.inner_text()
        and panel.locator(".mg-bnode:not(.mg-off)").count() == 0
    )
    edges = {e["id"]: e for e in trace["edges"]}
    expected = {}
    look = """root => { const panel = root.querySelector("[data-view='algorithm']"),
        all = part => [...panel.querySelectorAll(part)];
        return {
            found: Object.fromEntries(all(".mg-dictionary tbody tr").map(row =>
                [row.dataset.node, [...row.querySelectorAll(".mg-part")]
                    .map(part => part.textContent)])),
            graph: all(".mg-bnode:not(.mg-off)").length,
            lit: all(".mg-line.mg-current code").map(e => e.textContent),
            edges: all(".mg-edge.mg-lit").length,
            told: panel.querySelector(".mg-sumup").textContent,
        }; }"""
    for step, seen in zip(
        trace["steps"], at_each(viewer, range(1, len(trace["steps"]) + 1), look), strict=True
    ):
        if step["writes"][0][1] != "g":
            continue
        products = [c["product"] for c in step.get("contribs", [])] or [step["writes"][0][2]]
        expected.setdefault(step["node"], []).extend(products)
        assert seen["found"] == {
            node: [short(p) for p in parts] for node, parts in expected.items()
        }
        assert seen["graph"] == len(expected), "the backward graph grows with the dictionary"
        assert (
            seen["lit"][0].startswith("grad ←")
            if step["phase"] == "seed"
            else any("append part" in line for line in seen["lit"])
        )
        if step["edges"]:
            assert seen["edges"] == 1
            assert edges[step["edges"][0]]["dst"] in seen["told"]
    assert "return" in panel.locator(".mg-line.mg-current code").last.inner_text()


def test_the_algorithm_names_the_output_and_no_variable_of_it_is_an_input(show):
    """y was the result there, and an input of the function (November 2026)."""
    trace = trace_function(lambda y, v: y * mg.exp(v), 2.0, 0.5, mode="reverse")
    lines = view(show(trace, views=["algorithm"]), "algorithm").locator(".mg-pseudo code")
    assert lines.all_inner_texts() == [
        "grad ← { v2 : [ seed ] }",
        "for each node u, from the last to the first:",
        "    u\u0304 ← the sum of the list grad[u]",
        "    for each input n of u:",
        "        part ← u\u0304 · ∂u/∂n",
        "        append part to the list grad[n]",
        "return n\u0304 ← the sum of grad[n], for each input n",
    ]


def test_the_nodes_to_pick_stay_where_they_are_while_they_are_picked(show):
    """What a pick sent has more lines than one, or fewer (November 2026)."""
    trace = trace_function(lambda x, y: (x * y + mg.exp(x)) ** 2, 1.0, 0.5, mode="reverse")
    panel = view(show(trace, 1280, 720, views=["algorithm", "orders"]), "orders")
    places = []
    for node in ("v2", "v4", "v3", "v1", "v2"):
        pick = panel.locator(f".mg-pick[data-node='{node}']")
        places.append(pick.evaluate("e => e.offsetTop - e.closest('.mg-inside').offsetTop"))
        pick.click()
        places.append(pick.evaluate("e => e.offsetTop - e.closest('.mg-inside').offsetTop"))
    assert len({*places}) == 1


def test_the_cut_carries_the_same_sum_wherever_it_is(show, visit):
    trace = trace_function(f, 2.0, 5.0)
    viewer = show(trace, views=["cut"], step=23)
    panel, sums = view(viewer, "cut"), cut_sums(trace)
    slider = panel.get_by_role("slider")
    assert int(slider.get_attribute("max")) - int(slider.get_attribute("min")) + 1 == len(sums) == 6
    for i, expected in enumerate(sums):
        slider.fill(str(int(slider.get_attribute("min")) + i))
        assert (
            f"the sum is {short(expected)}, as at every cut"
            in panel.locator(".mg-sumup").inner_text()
        )
    slider.fill("4")
    crossing = viewer.locator(".mg-graph .mg-cut").count()
    order = [n["id"] for n in trace["nodes"]]
    assert crossing == sum(
        order.index(e["src"]) < 4 <= order.index(e["dst"]) for e in trace["edges"]
    )
    slider.focus()
    visit.page.keyboard.press("ArrowRight")
    assert slider.input_value() == "5" and step_of(viewer) == 23, (
        "its keys move the cut, not the clock"
    )
    to(viewer, 10)
    assert "Not everything" in panel.locator(".mg-sumup").inner_text()
    view(viewer, "cut").get_by_role("button", name="Close").click()
    assert viewer.locator(".mg-cut, .mg-before").count() == 0


@pytest.mark.whole
def test_a_broken_engine_is_seen_at_the_cut(show):
    trace = copy.deepcopy(trace_function(f, 2.0, 5.0))
    for step in trace["steps"]:
        for c in step.get("contribs", []):
            if step["phase"] == "adjoint" and c["edge"] == "e5":
                c["product"] *= -1
    viewer = show(trace, views=["cut"], step=23)
    panel = view(viewer, "cut")
    told = []
    for at in range(2, 8):
        panel.get_by_role("slider").fill(str(at))
        told.append("disagree" in panel.locator(".mg-sumup").inner_text())
    assert any(told) and not told[-1]


def test_any_legal_order_gives_the_adjoints_and_an_illegal_pick_is_refused_with_what_it_lacks(
    show, visit
):
    trace = trace_function(f, 2.0, 5.0, mode="reverse")
    viewer = show(trace, views=["orders"])
    panel = view(viewer, "orders")
    pick = lambda name: panel.locator(f".mg-pick[data-node='{name}']").click()
    pick("v2")
    assert (
        "lacks a contribution, v3 → v2" in panel.locator(".mg-sumup").inner_text()
        and panel.locator(".mg-done").count() == 0
    )
    for name in ("v5", "v4", "v3", "v2", "v1"):  # not the engine's own order
        pick(name)
    assert "the engine's adjoints" in panel.locator(".mg-sumup").inner_text()
    sums = {
        r.get_attribute("data-node"): r.locator("td.mg-num").inner_text()
        for r in panel.locator("tbody tr").all()
    }
    end = state_at(trace, len(trace["steps"])).cells
    assert sums == {node: short(end[node, "g"]) for node in sums} and {"x1", "x2"} <= set(sums)
    pick("v5")
    assert "already" in panel.locator(".mg-sumup").inner_text()
    panel.get_by_role("button", name="Start over").click()
    assert panel.locator(".mg-done").count() == 0
    panel.locator(".mg-pick[data-node='v5']").focus()
    visit.page.keyboard.press("Enter")
    assert panel.locator(".mg-done").count() == 1, "by keyboard too"


def test_a_player_is_not_read_aloud(show, visit):
    viewer = show(trace_function(f, 2.0, 5.0), views=["algorithm", "cut", "memory"])
    speaking = lambda: viewer.locator("[role='status']:not([hidden])").evaluate_all(
        "all => all.map(e => e.getAttribute('aria-live'))"
    )
    viewer.get_by_role("button", name="Play").click()
    assert set(speaking()) == {"off"} and len(speaking()) == 4, (
        "a step a second, in four places, is too much"
    )
    viewer.get_by_role("button", name="Pause").click()
    assert set(speaking()) == {"polite"}


def test_what_the_algorithm_works_at_does_not_scroll_away(show):
    trace = trace_function(f, 2.0, 5.0, mode="reverse")
    viewer = show(trace, 1440, 900, views=["algorithm"], step=len(trace["steps"]))
    held = viewer.locator(".mg-held-by")
    held.evaluate("box => { box.scrollTop = box.scrollHeight; }")
    said = viewer.get_by_text("Current node: v = v1.").bounding_box()
    assert said["y"] + said["height"] <= held.bounding_box()["y"]


def test_an_entry_of_the_jacobian_is_said_when_it_is_found(show):
    trace = jacobian_trace(lambda a, b: (a * b, mg.sin(a)), 2.0, 3.0)
    viewer = show(trace)
    look = "root => root.querySelector(\"[data-view='jacobian'] [role='status']\").textContent"
    for step, said in zip(
        trace["steps"], at_each(viewer, range(1, len(trace["steps"]) + 1), look), strict=True
    ):
        names = [
            (trace["jacobian"]["rows"][i], trace["jacobian"]["columns"][j], short(v))
            for i, j, v in step.get("entries", [])
        ]
        assert said == " ".join(
            f"Found: ∂{row}/∂{column} = {value}." for row, column, value in names
        )


# ---- predict


def test_the_next_value_is_hidden_until_it_is_answered(show, visit):
    trace = trace_function(f, 2.0, 5.0, mode="reverse")
    viewer = show(trace, views=["predict"], step=len(trace["steps"]))
    panel, page = view(viewer, "predict"), visit.page  # at the end all questions are asked
    panel.get_by_role("button", name="Go there").click()
    assert step_of(viewer) == 2, "the inputs are given; the first computed value is asked"
    assert panel.get_by_label("Your answer").evaluate("e => e === document.activeElement")
    assert (
        "value of v1" in panel.inner_text()
        and viewer.locator("tr[data-node='v1'] td[data-col='v']").inner_text() == ""
    )
    assert "0.6931" not in viewer.inner_text()
    field = panel.get_by_label("Your answer")
    for text, told in (("nonsense", "is not a number"), ("ln 2", "value of v1: 0.6931 is right.")):
        field.fill(text)
        page.keyboard.press("Enter")
        assert told in panel.locator(".mg-sumup").inner_text()
    assert step_of(viewer) == 3
    field.fill("20/2")
    panel.get_by_role("button", name="Check").click()
    assert "value of v2: 10 is right." in panel.locator(".mg-sumup").inner_text()
    field.fill("7")
    page.keyboard.press("Enter")
    told = panel.locator(".mg-sumup")
    assert (
        told.inner_text().startswith("7 is not right; one more try. Look again at")
        and step_of(viewer) == 4
    )
    assert "10.69" not in viewer.inner_text(), "a hint does not give the value away"
    page.keyboard.press("Enter")
    said = "Previous question, value of v3: it is 10.69; you wrote 7."
    assert told.inner_text() == said and step_of(viewer) == 5
    panel.get_by_role("button", name="Show me").click()
    assert "2 of 3 right, 2 on the first try. 1 shown." in panel.inner_text()
    panel.locator("summary").click()
    kept = panel.locator(".mg-log li").all_inner_texts()
    assert len(kept) == 4 and kept[0].endswith("v1 (value): 0.6931 ✓"), "as the viewer writes it"
    assert kept[2].endswith("v3 (value): 7 ✗✗"), "wrong at both tries"
    saved = panel.get_by_role("link", name="Download").get_attribute("href")
    assert "%22correct%22%3Afalse" in saved and saved.startswith("data:application/json,")
    viewer.get_by_role("button", name="First").click()
    viewer.get_by_role("button", name="Last").click()
    assert step_of(viewer) == 6, "what was answered is not asked again"
    viewer.get_by_role("button", name="Next", exact=True).click()
    assert panel.locator(".mg-sumup").inner_text() == "Answer first, or press Show me."
    field.focus()
    page.keyboard.type("1e-3 ?")
    assert step_of(viewer) == 6 and viewer.locator(".mg-help").is_hidden(), (
        "keys typed into the answer are no commands"
    )


def test_an_answer_that_forgets_to_accumulate_is_named(show, visit):
    trace = trace_function(f, 2.0, 5.0, mode="reverse")
    first, *_ = [k for k, s in enumerate(trace["steps"], 1) if s["phase"] == "accumulate"]
    viewer = show(trace, views=["predict"], step=first - 1)
    panel = view(viewer, "predict")
    assert "A further contribution arrives" in panel.inner_text()
    panel.get_by_label("Your answer").fill(str(trace["steps"][first - 1]["contribs"][0]["product"]))
    visit.page.keyboard.press("Enter")
    told = panel.locator(".mg-sumup")
    assert "That is the new contribution alone" in told.inner_text() and step_of(viewer) < first
    visit.page.keyboard.press("Enter")
    assert "is the new contribution alone." in told.inner_text() and step_of(viewer) == first


def test_the_question_stands_beside_the_next_button_and_the_table_stays(show, visit):
    for size in ((1280, 800), (1440, 900), (390, 844)):
        viewer = show(trace_function(f, 2.0, 5.0, mode="reverse"), *size, views=["predict"], step=2)
        field = viewer.get_by_label("Your answer").bounding_box()
        button = viewer.get_by_role("button", name="Next", exact=True).bounding_box()
        assert 0 < field["y"] - button["y"] < 190 and field["y"] + field["height"] < size[1]
        assert viewer.locator(".mg-tablebox").is_visible()


def test_answers_are_expressions(show, visit, parts):
    numbers = (
        "0,6931; ln 2; log(2); ln(6)-ln 3; −1·−0.6931; 2 ln √2; 3/2 − 0.8069; 0，6931; ２－1.3069;"
        " 6931·10⁻⁴; log10(2) / log10(e); log2(2) ln 2; 2² arctan(0.1751) ÷ 1; arcsin(0.6389)"
    ).split("; ")
    lists = ["12, -2", "12,-2", "3, −2", "12，-2", "-2, (-2)", "12, 2", "1,5,2", "12,"]
    texts = [*numbers, "(1+2", "ln", "2 3", "0/0", "toString", " ", "3½", *lists]
    finite = "all => all.map(parts.readNumber).map((v) => Number.isFinite(v) ? v : null)"
    read = parts.evaluate(finite, texts)
    assert read == [pytest.approx(0.6931, abs=1e-3)] * len(numbers) + [None] * 15
    viewer = show(trace_function(f, 2.0, 5.0, mode="reverse"), views=["predict"], step=2)
    for text, told, step in (("(1+2", "lacks a bracket", 2), ("ln 2", "0.6931 is right", 3)):
        viewer.get_by_label("Your answer").fill(text)
        visit.page.keyboard.press("Enter")
        assert told in view(viewer, "predict").locator(".mg-sumup").inner_text()
        assert step_of(viewer) == step
    half = trace_function(lambda x: -x / 2, 1.0)
    viewer = show(half, views=["predict"], step=len(half["steps"]) - 1)
    for text, told in (
        *[(one, "not a number; write it like") for one in ("3, -2", "log(-1)", "1/0", "-e^999")],
        ("∞", "∞ is not right; one more try."),
        ("-0,5", "−0.5 is right"),
    ):
        viewer.get_by_label("Your answer").fill(text)
        visit.page.keyboard.press("Enter")
        assert told in view(viewer, "predict").locator(".mg-sumup").inner_text()
    endless = trace_function(lambda x: 1 / x, 0.0, mode="reverse")
    for text in ("1/0", "inf"):
        viewer = show(endless, views=["predict"], step=1)
        viewer.get_by_label("Your answer").fill(text)
        visit.page.keyboard.press("Enter")
        assert "∞ is right" in view(viewer, "predict").locator(".mg-sumup").inner_text()


def test_a_first_wrong_answer_gets_a_hint_by_misconception(show, visit):
    square = trace_function(lambda x: x**2, 3.0, mode="reverse")
    factor = (square, "adjoint", "x", "3", "A constant factor is missing.")
    trace = trace_function(f, 2.0, 5.0)
    for trace, phase, node, answer, hint in (factor, *((trace, *row) for row in HINTS)):
        k = step_at(trace, phase, node) - 1
        viewer = show(trace, views=["predict"], step=k)
        viewer.get_by_label("Your answer").fill(answer)
        visit.page.keyboard.press("Enter")
        panel = view(viewer, "predict")
        assert letters(hint) in letters(panel.locator(".mg-sumup").inner_text())
        assert step_of(viewer) == k
        viewer.get_by_label("Your answer").fill(str(trace["steps"][k]["writes"][0][2]))
        visit.page.keyboard.press("Enter")
        assert "1 of 1 right, 0 on the first try" in panel.inner_text()
        after = (i for i, s in enumerate(trace["steps"]) if i > k and s["phase"] != "seed")
        assert step_of(viewer) == next(after, len(trace["steps"]))


def letters(text):
    """A text as it is in formulas, too, whose letters and accents are marks of their own."""
    return re.sub(r"\s", "", unicodedata.normalize("NFKD", text))


HINTS = [
    ("adjoint", "x2", "0.2837", "The size is right, the sign is not."),
    ("adjoint", "x1", "1", "That is what arrives"),
    ("accumulate", "x2", "2", "That is the new contribution alone"),
    ("accumulate", "x2", "-0.2837", "That was there already"),
    ("primal", "v4", "sin(5·π/180)", "The angle is in radians."),
    ("primal", "v1", "lg 2", "ln is the logarithm to the base e."),
    ("primal", "v2", "5", "That is an operand itself."),
    ("primal", "v2", "2 + 5", "That is another operation on these operands."),
    ("primal", "v3", "10 ln 2", "That is another operation on these operands."),
    ("adjoint", "x1", "2", "That multiplies by the wrong value."),
    ("adjoint", "x2", "-sin 5", "That multiplies by the function's value, not its derivative."),
    ("primal", "v3", "11", "Close: use more digits."),
    ("tangent", "v5", "5", "Look again at v3 − v4: v̇3 − v̇4"),
    ("tangent", "v2", "0", "That is one of the contributions"),
    ("adjoint", "x2", "17", "Look again at sin x2: v̄4 · cos x2"),
    ("accumulate", "x2", "17", "Look again at x1 · x2: x̄2 + v̄2 · x1"),
    ("primal", "v1", "17", "Look again at ln x1"),
]


FOCUS = "e => e.contains(document.activeElement) && document.activeElement.className"


def test_who_asks_for_questions_types_the_answers_at_once(show, visit):
    """From the menu to the end by keys alone; Escape aside, no key is lost."""
    trace = trace_function(f, 2.0, 5.0, mode="reverse")
    viewer, page = show(trace), visit.page
    has = lambda: viewer.evaluate(FOCUS)
    viewer.get_by_label("View", exact=True).click()
    viewer.get_by_text("Predict the next value").click()
    panel = view(viewer, "predict")
    assert has() == "mg-fold", "the button that goes to the first question"
    assert viewer.locator(".mg-menu").get_attribute("open") is None
    page.keyboard.press("Enter")
    assert step_of(viewer) == 2 and has() == "mg-answer"
    page.keyboard.type("ln 2")
    page.keyboard.press("Enter")
    assert step_of(viewer) == 3 and has() == "mg-answer", "the next question"
    page.keyboard.type("7")
    panel.get_by_role("button", name="Check").click()
    assert step_of(viewer) == 3 and has() == "mg-answer", "a hint: type again"
    page.keyboard.type("10")
    page.keyboard.press("Enter")
    assert step_of(viewer) == 4
    page.keyboard.press("ArrowLeft")
    assert step_of(viewer) == 3 and has() == "mg-fold", "an empty field leaves the arrow keys"
    page.keyboard.press("Enter")
    assert step_of(viewer) == 4 and has() == "mg-answer"
    page.keyboard.type("1")
    page.keyboard.press("ArrowLeft")
    assert step_of(viewer) == 4, "in a text the arrow moves within it"
    field = panel.get_by_label("Your answer")
    for _ in range(2 * len(trace["steps"])):
        if has() == "mg-answer":
            assert field.is_visible()
            value = trace["steps"][step_of(viewer)]["writes"][0][2]
            page.keyboard.press("Control+A")
            page.keyboard.type(str(value))
        page.keyboard.press("Enter")
        if "Go there" not in panel.inner_text() and field.is_hidden():
            break
    assert "mg-root" in has(), "the last answer gives the focus to the viewer"


def test_a_question_takes_the_focus_from_no_one_elsewhere(show, visit):
    trace = trace_function(f, 2.0, 5.0, mode="reverse")
    viewer, page = show(trace, views=["predict"]), visit.page
    assert not viewer.evaluate(FOCUS), "a page just opened"
    page.evaluate(
        """() => { const field = document.createElement("input");
        document.body.prepend(field); field.focus(); }"""
    )
    viewer.locator(".mg-slider").evaluate(
        "e => { e.value = 2; e.dispatchEvent(new Event('input')); }"
    )
    assert step_of(viewer) == 2 and view(viewer, "predict").locator(".mg-answer").is_visible()
    page.keyboard.type("note")
    assert page.evaluate("document.activeElement.value") == "note"
    viewer.get_by_role("button", name="Back", exact=True).focus()
    page.keyboard.press("Enter")
    assert viewer.evaluate(FOCUS) == "mg-btn mg-btn-back", "a button keeps the focus"
    viewer.get_by_role("button", name="Next", exact=True).focus()
    page.keyboard.press("Enter")
    assert viewer.evaluate(FOCUS) == "mg-answer", "until there is a question"
    page.keyboard.type("0")
    viewer.get_by_role("button", name="Next", exact=True).click()
    assert step_of(viewer) == 2 and viewer.evaluate(FOCUS) == "mg-answer", "or it is there yet"
    page.keyboard.type(".6931")
    page.keyboard.press("Enter")
    assert step_of(viewer) == 3, "what had been typed stays"
    viewer.locator(".mg-graph .mg-node[data-node='v5']").click()
    assert step_of(viewer) == 3 and viewer.evaluate(FOCUS) == "mg-answer"


def test_on_a_phone_no_keyboard_opens_by_itself(show, visit):
    trace = trace_function(f, 2.0, 5.0, mode="reverse")
    viewer, page = show(trace, 390, 844, step=1), visit.page
    page.evaluate(
        """() => { const real = window.matchMedia.bind(window); window.matchMedia = (query) =>
        query.includes("coarse") ? { matches: true } : real(query); }"""
    )
    viewer.get_by_label("View", exact=True).click()
    viewer.get_by_text("Predict the next value").click()
    viewer.get_by_role("button", name="Next", exact=True).click()
    panel = view(viewer, "predict")
    assert panel.locator(".mg-answer").is_visible() and viewer.evaluate(FOCUS) != "mg-answer"
    panel.locator(".mg-answer").click()
    page.keyboard.type("ln 2")
    page.keyboard.press("Enter")
    assert viewer.evaluate(FOCUS) == "mg-answer", "the keyboard is there already"


def no_number(x):
    return (mg.log(x) * x).sum()


def nothing(x):
    return (x[0:0] * 2.0).sum()


def without_axes(x):
    return x.sum() * x.max()


@pytest.mark.parametrize(
    ("made", "given"),
    [(no_number, [-1.0, 2.0, 0.0]), (nothing, [1.0, 2.0]), (without_axes, [1.0, -2.0])],
    ids=["nan", "empty", "0-d"],
)
def test_questions_about_arrays_without_numbers_have_answers(show, visit, made, given):
    """Of each question the true answer is right; another one of the same kind is not."""
    with np.errstate(all="ignore"):
        trace = trace_function(made, given, mode="reverse")
    viewer, page = show(trace), visit.page
    viewer.get_by_label("View", exact=True).click()
    viewer.get_by_text("Predict the next value").click()
    panel, asked = view(viewer, "predict"), []
    go = panel.get_by_role("button", name="Go there")
    for _ in range(2 * len(trace["steps"])):
        if go.is_visible():
            go.click()
        if panel.locator(".mg-answer").is_hidden():
            break
        value, question = (
            trace["steps"][step_of(viewer)]["writes"][0][2],
            panel.locator(".mg-question").inner_text(),
        )
        array = isinstance(value, dict)
        if array and "shape" in question:
            right, wrong = str(tuple(value["shape"])), "(7, 7)"
        else:
            index = re.findall(r"\[([\d, ]+)\]", question) if array else []
            at = [tuple(map(int, one.split(","))) for one in index]
            right = value["sample"][np.ravel_multi_index(at[0], value["shape"])] if at else value
            right, wrong = str(right), "1234.5"
        asked.append(right)
        for text, told in ((wrong, "is not right"), (right, " is right.")):
            page.keyboard.type(text)
            page.keyboard.press("Enter")
            assert told in panel.locator(".mg-sumup").inner_text(), (question, text)
    assert asked
    if made is no_number:
        assert {"nan", "inf", "-inf"} & {*asked}
    visit.assert_clean()


@pytest.mark.whole
def test_of_several_passes_each_question_names_its_pass_and_its_entry(show, visit):
    trace = jacobian_trace(lambda a, b: (a * b, mg.sin(a)), 2.0, 3.0)
    viewer = show(trace, views=["predict"])
    panel, steps, field = view(viewer, "predict"), trace["steps"], None
    viewer.get_by_role("button", name="Last").click()
    names = {"forward": "Forward mode", "reverse": "Reverse mode"}
    while panel.locator(".mg-predict").is_visible():
        step, told = (
            steps[step_of(viewer)],
            panel.locator("[aria-live='polite']").first.inner_text(),
        )
        field = panel.get_by_label("Your answer")
        if "pass" in step:
            one = trace["passes"][step["pass"]]
            same = [i for i, p in enumerate(trace["passes"]) if p["mode"] == one["mode"]]
            seeds = trace["jacobian"]["columns" if one["mode"] == "forward" else "rows"]
            k = same.index(step["pass"])
            assert f"{names[one['mode']]}, pass {k + 1} of 2, seeded with 1 at {seeds[k]}" in told
        for i, j, _ in step.get("entries", [])[:1]:
            assert (
                f"the entry ∂{trace['jacobian']['rows'][i]}/∂{trace['jacobian']['columns'][j]} of"
                " the Jacobian" in told
            )
        field.fill(str(step["writes"][0][2]))
        visit.page.keyboard.press("Enter")
        to(viewer, len(steps))
    assert step_of(viewer) == len(steps), "every question was answered right, so the clock is free"
    assert re.search(r"(\d+) of \1 right", panel.inner_text())
    assert (
        panel.locator(".mg-log li").count()
        == sum("pass" in s and s["phase"] != "seed" for s in steps) + 2
    ), "two values, then each pass"


@pytest.mark.whole
def test_predict_asks_for_shapes_and_elements_that_are_not_on_the_screen(show, visit):
    small = trace_function(lambda x: (x * x).sum(), [[1.0, 2.0], [3.0, 4.0]], mode="reverse")
    large = np.ones((5, 6))
    product = trace_function(lambda x: (x @ x.T).tanh().sum(0).sum(), large, mode="reverse")
    for trace, asked in (
        (small, ["will element [", "v2 be", "[", "[", "["]),
        (product, [*["What shape"] * 3, "v5 be", "["]),
    ):
        viewer = show(trace, views=["predict"])
        panel = view(viewer, "predict")
        shape = viewer.locator(".mg-node[data-node='v1'] .mg-caption")
        for place, words in enumerate(asked):
            viewer.get_by_role("button", name="Last").click()
            assert shape.is_visible() == (place > 0)
            for shown in (".mg-shape", ".mg-table th > small"):
                assert not viewer.locator(shown).first.is_visible()
            assert words in panel.locator(".mg-question").text_content(), trace["steps"][
                step_of(viewer)
            ]["say"]
            panel.get_by_role("button", name="Show me").click()
        to(viewer, len(trace["steps"]))
        assert step_of(viewer) == len(trace["steps"]), "no shape that stands on a card is asked"


# ---- growing graphs, memory


def test_a_graph_grows_without_moving_and_marks_its_generations(show, visit):
    def second(x):
        y = mg.sin(x) * x
        (g,) = mg.autograd.grad(y, x, create_graph=True)
        return g

    trace = trace_function(second, 0.5)
    viewer = show(trace)
    later = {n["id"] for n in trace["nodes"] if n["stage"] == "backward"}
    ghosts = lambda: set(
        viewer.locator(".mg-node.mg-unborn").evaluate_all("all => all.map(e => e.dataset.node)")
    )
    places = lambda: viewer.locator(".mg-node").evaluate_all(
        "all => all.map(e => [e.dataset.node, e.getBBox().x, e.getBBox().y])"
    )
    assert later and ghosts() == later
    before, count = places(), []
    unborn = "root => [...root.querySelectorAll('.mg-node.mg-unborn')].map(e => e.dataset.node)"
    for k, seen in enumerate(at_each(viewer, range(len(trace["steps"]) + 1), unborn)):
        count.append(len(seen))
        born = {n for s in trace["steps"][:k] for n in s.get("add", [])}
        assert set(seen) == later - born
    assert places() == before and sorted(count, reverse=True) == count and count[-1] == 0
    style = lambda s, n: visit.page.evaluate(
        "([s, n]) => getComputedStyle(document.querySelector(s))[n]", [s, n]
    )
    assert style(".mg-edge.mg-stage-1:not(.mg-lit) .mg-wire", "strokeDasharray") != style(
        ".mg-edge.mg-stage-0:not(.mg-lit) .mg-wire", "strokeDasharray"
    )
    assert viewer.locator(".mg-node.mg-stage-1 .mg-stripe").count() == len(later)
    dangling = [n["id"] for n in trace["nodes"] if n.get("dangling")]
    assert dangling == ["v2"], "the function's own result is not used by its derivative"
    assert viewer.locator(".mg-node.mg-dangling .mg-hatch").count() == 1
    assert "dangling" in viewer.locator(".mg-node[data-node='v2']").get_attribute("aria-label")


@pytest.mark.whole
def test_the_legend_names_the_function_its_derivatives_and_the_dangling(show, visit):
    """Document 002's Jvp: black, blue and yellow networks, and the nodes that no output needs."""

    def jvp(x, v):
        u = mg.tensor(1.0, dtype=mg.float64, requires_grad=True)
        (g,) = mg.autograd.grad(mg.sin(x), x, u, create_graph=True)
        return mg.autograd.grad(g, u, v, create_graph=True)[0]

    trace = trace_function(jvp, 0.5, 1.0, mode="primal")
    for width in (1280, 390):
        visit.page.set_viewport_size({"width": width, "height": 900})
        viewer = show(trace)
        words = viewer.locator("figcaption .mg-legend[class*='mg-stage-']")
        assert words.all_inner_texts() == [
            "the function itself",
            "first backward",
            "second backward",
            "dangling",
        ]
        assert all(words.nth(i).is_visible() for i in range(4)), f"at {width} px"
        looks = words.evaluate_all(
            "all => all.map(e => getComputedStyle(e.querySelector('svg')).strokeDasharray)"
        )
        assert len(set(looks[:3])) == 3, "told apart without colour"
        assert (
            words.last.locator(".mg-slant").count() == 1
            and words.first.locator(".mg-slant").count() == 0
        )
    assert [n["id"] for n in trace["nodes"] if n.get("dangling")], (
        "as in the document: some nodes lead nowhere"
    )
    assert (
        show(trace_function(f, 2.0, 5.0))
        .locator("figcaption .mg-legend[class*='mg-stage-']")
        .count()
        == 0
    )


@pytest.mark.whole
def test_a_bar_spans_a_name_of_several_letters(show):
    trace = trace_function(lambda phi: mg.sin(phi) * phi, 0.5, mode="reverse")
    viewer = show(trace, views=["algorithm"], step=len(trace["steps"]))
    over = viewer.locator(".mg-formula .mg-overline").first
    assert over.text_content() == "phi"
    line = over.evaluate("e => getComputedStyle(e).borderTopStyle")
    assert line == "solid", "Firefox draws no text-decoration in MathML"
    assert (
        "phi"
        in view(viewer, "algorithm").locator(".mg-bnode tspan.mg-overline").all_text_contents()
    )
    assert viewer.locator(".mg-formula mover").count() > 0, "one letter has its bar as before"


@pytest.mark.whole
def test_the_backward_graph_is_as_large_as_its_own_names_need(show):
    values = [[1.0, -2.0, 3.0], [4.0, 5.0, -6.0]]
    trace = trace_function(
        lambda x, b: ((x + b) * x).sum(), values, [0.1, 0.2, -0.3], mode="reverse"
    )
    viewer = show(trace, views=["algorithm"], step=len(trace["steps"]))
    panel = view(viewer, "algorithm")
    scale = panel.locator(".mg-backward").evaluate(
        "svg => svg.clientWidth / svg.viewBox.baseVal.width"
    )
    assert scale >= 0.66 and panel.locator(".mg-bnode").count() == 5
    boxes = panel.locator(".mg-bnode rect").evaluate_all(
        "all => all.map(e => e.getBBox()).map(b => [b.x, b.y, b.x + b.width, b.y + b.height])"
    )
    assert all(
        a[2] <= b[0] or b[2] <= a[0] or a[3] <= b[1] or b[3] <= a[1]
        for a, b in itertools.combinations(boxes, 2)
    ), "none on another"
    columns = {node: box[0] for node, box in zip(["x", "b", "v1", "v2", "v3"], boxes, strict=True)}
    assert columns["v3"] < columns["v2"] < columns["v1"] < min(columns["x"], columns["b"]), (
        "from the output to the inputs"
    )


@pytest.mark.whole
def test_the_mark_of_a_cut_does_not_hide_the_number_on_its_edge(show):
    trace = trace_function(f, 2.0, 5.0)
    viewer = show(trace, views=["cut"], step=16)
    look = """root => { const slider = root.querySelector("[data-view='cut'] input");
        const boxes = part => [...root.querySelectorAll(part)]
            .map(e => e.getBBox()).map(b => [b.x, b.y, b.x + b.width, b.y + b.height]);
        const mark = () => root.querySelector(".mg-cutmark").getAttribute("d");
        return [2, 3, 4, 5, 6].map(place => {
            slider.value = place; slider.dispatchEvent(new Event("input", { bubbles: true }));
            return [mark(), boxes(".mg-label rect")];
        }); }"""
    met = 0
    for k, cuts in enumerate(at_each(viewer, range(15, 24), look), 15):
        for place, (path, pills) in enumerate(cuts, 2):
            marks = []  # where the line crosses an edge: "x yv26"
            for x, y, tall in re.findall(r"([\d.]+) ([\d.]+)v(\d+)", path or ""):
                marks.append((float(x) - 1.5, float(y), float(x) + 1.5, float(y) + float(tall)))
            for mark, pill in itertools.product(marks, pills):
                met += 1
                assert (
                    mark[2] < pill[0] or pill[2] < mark[0] or mark[3] < pill[1] or pill[3] < mark[1]
                ), f"step {k}, cut {place}"
    assert met > 40


def test_the_memory_lens_shows_what_is_kept_read_and_freed(show):
    trace = trace_function(f, 2.0, 5.0, mode="reverse")
    viewer = show(trace, views=["memory"])
    held, reads = [], {}
    told = at_each(
        viewer,
        range(len(trace["steps"]) + 1),
        "root => root.querySelector(\"[data-view='memory'] .mg-sumup\").textContent",
    )
    for k, (step, text) in enumerate(zip([None, *trace["steps"]], told, strict=True)):
        held.append(int(re.search(r"adjoints: (\d+) B", text)[1]))
        if step and step.get("uses"):
            assert f"This step reads {', '.join(step['uses'])}" in text
            reads[k] = step["uses"]
        if step and step.get("free"):
            assert f"Freed: the values kept by {', '.join(step['free'])}." in text
    lanes, names = (viewer.locator(part).bounding_box() for part in (".mg-lanes", ".mg-lanenames"))
    assert lanes["height"] == names["height"] > 120, "a picture of two values is no smaller"
    legend = viewer.locator(".mg-lanekey span").all_inner_texts()
    assert legend == ["bytes held", "kept", "read"]
    assert held[0] == held[-1] == 0 and max(held) == 16, (
        "ln keeps x1, the product both, sin x2: two numbers of 8 bytes"
    )
    assert sorted(map(tuple, reads.values())) == [("x1",), ("x1",), ("x2",), ("x2",)]
    kept = viewer.locator(".mg-graph .mg-kept").count()
    assert (
        kept == sum(bool(n.get("saved")) for n in trace["nodes"])
        and viewer.locator(".mg-node.mg-freed").count() == kept
    )


@pytest.mark.whole
def test_the_square_of_kept_values_is_explained_and_stands_only_where_something_is_kept(show):
    viewer = show(trace_function(f, 2.0, 5.0, mode="reverse"))
    square, words = (
        viewer.locator(".mg-node .mg-kept:visible"),
        viewer.locator(".mg-left figcaption"),
    )
    assert "keeps values for the adjoints" in words.inner_text() and "freed" in words.inner_text()
    assert square.count() == 0, "nothing is computed yet"
    to(viewer, 3)
    assert square.count() == 1
    to(viewer, 7)
    assert square.count() == 3
    for mode in ("primal", "forward"):
        viewer = show(trace_function(f, 2.0, 5.0, mode=mode), step=7)
        assert (
            viewer.locator(".mg-kept").count() == 0
            and "keeps values" not in viewer.locator(".mg-left figcaption").inner_text()
        )


@pytest.mark.parametrize(
    ("lang", "forward", "reverse"),
    [
        ("en", "Forward mode, seed", "Reverse mode, seed"),
        pytest.param("zh", "前向模式，种子", "反向模式，种子", marks=pytest.mark.whole),
    ],
)
def test_the_seeds_of_the_passes_stand_under_the_title(show, lang, forward, reverse):
    said = lambda viewer: [
        re.sub(r"\s", "", text) for text in viewer.locator(".mg-seed").all_text_contents()
    ]
    tight = lambda text: text.replace(" ", "")
    assert said(show(trace_function(f, 2.0, 5.0, mode="primal"), lang=lang)) == []
    both = show(trace_function(f, 2.0, 5.0, tangents=(0.0, 1.0)), lang=lang)
    assert said(both) == [f"{tight(forward)}x˙1=0,x˙2=1", f"{tight(reverse)}v¯5=1"]
    arrays = trace_function(lambda a, b: (a * b).sum(), [1.0, 2.0], [3.0, 4.0], mode="forward")
    assert said(show(arrays, lang=lang)) == [f"{tight(forward)}a˙=[1,1],b˙=0"]
    [(_, tokens)] = seeds(arrays)
    assert [token["node"] for token in tokens if "node" in token] == ["a", "b"]
    assert tokens[-1]["value"] == 0
    many = trace_function(
        lambda *xs: sum(xs), *[1.0] * 6, mode="forward", tangents=(0.0,) * 5 + (2.0,)
    )
    (words,) = said(show(many, lang=lang))
    assert "=2" in words and words.endswith(",…") and words.count("=") == 4, (
        "of many, those that are not zero"
    )
    assert said(show(jacobian_trace(lambda a, b: a * b, 2.0, 3.0), lang=lang)) == [], (
        "each pass says its own"
    )


@pytest.mark.whole
def test_no_click_on_a_node_shuts_the_panel_of_orders(show):
    trace = trace_function(f, 2.0, 5.0, mode="reverse")
    viewer = show(trace, views=["orders"], step=7)
    panel = view(viewer, "orders")
    for node in ("v1", "v5", "v3", "v5"):  # not yet, legal, legal, already done
        panel.locator(f".mg-pick[data-node='{node}']").click()
        assert (
            panel.is_visible()
            and viewer.locator(".mg-counter").inner_text() == f"7 / {len(trace['steps'])}"
        )
    for node in ("v4", "x1"):  # in the graph: the clock moves, the order stays
        viewer.locator(f".mg-graph .mg-node[data-node='{node}']").click()
        assert panel.is_visible() and panel.locator(".mg-pick.mg-done").count() == 2
    assert "v5, v3" in panel.locator(".mg-note").inner_text()


def test_the_mark_of_a_column_is_no_letter(show):
    viewer = show(trace_function(lambda v, o: v * o, 2.0, 3.0))
    assert viewer.locator(".mg-node .mg-mark").count() == 9
    assert (
        viewer.locator(".mg-mark").all_text_contents() == [""] * viewer.locator(".mg-mark").count()
    ), "a node may have any letter's name"


# ---- arrays, groups, scale


def test_arrays_stand_in_cards_and_their_shapes_on_edges(show):
    trace = trace_function(
        lambda x, b: ((x + b) * x).sum(),
        [[1.0, -2.0, 3.0], [4.0, 5.0, -6.0]],
        [0.1, 0.2, -0.3],
        mode="reverse",
    )
    viewer = show(trace, views=["arrays"], step=len(trace["steps"]))
    card = viewer.locator(".mg-node[data-node='x']")
    assert card.locator(".mg-caption").text_content() == "(2, 3) float64", (
        "not a number followed by a word"
    )
    assert [
        t.replace("\u00a0", " ").split()
        for t in card.locator(".mg-value").first.locator("tspan").all_text_contents()
    ] == [
        ["1", "−2", "3"],
        ["4", "5", "−6"],
    ]
    notes = viewer.locator(".mg-shape").all_text_contents()
    assert "(3,) ⇒ (2, 3)" in notes and "(2, 3)" in notes
    k = next(k for k, s in enumerate(trace["steps"], 1) if s["writes"][0][:2] == ["b", "g"])
    to(viewer, k)
    assert "summed" in viewer.locator(".mg-label").all_text_contents()
    assert "(2, 3) ⇒ (3,)" in view(viewer, "arrays").inner_text()
    assert view(viewer, "arrays").locator(".mg-elements td").count() == 3 + 6


@pytest.mark.parametrize(
    "lang, start, freed",
    [
        (
            "en",
            "Nothing has been computed yet; 6 steps follow.",
            "This step only frees memory of v1.",
        ),
        (
            "zh",
            "尚未计算任何值；接下来有 6 步。",
            "这一步只释放 v1 的内存。",
        ),
    ],
)
def test_the_view_of_arrays_says_why_a_step_has_none(show, lang, start, freed):
    x = mg.ones(3)
    trace = record(lambda x: (x * 2).sum().sin(), x).as_trace(x)
    assert not all(step["reads"] or step["writes"] for step in trace["steps"])
    viewer = show(trace, views=["arrays"], step=0, lang=lang)
    arrays = view(viewer, "arrays")
    assert start in arrays.inner_text()
    to(viewer, step_at(trace, "free", "v1"))
    assert freed in arrays.inner_text()


def test_a_large_array_is_a_heat_map_of_its_elements(show, visit):
    values = [[math.sin(i * 40 + j) for j in range(40)] for i in range(30)]
    values[0][0] = math.nan
    trace = trace_function(lambda x: (x * 2.0).sum(), values, mode="primal")
    heat = trace["steps"][0]["writes"][0][2]["heat"]
    assert heat["shape"] == [10, 20] and heat["levels"][0] == "n"
    viewer = show(trace, views=["arrays"], step=1)
    assert viewer.locator(".mg-node[data-node='x'] .mg-heat path").count() > 8
    assert "200 of 1200 elements" in view(viewer, "arrays").inner_text()
    sizes = visit.page.evaluate(
        "() => ['.mg-h1', '.mg-h15'].map(s => Number(document.querySelector('.mg-inside ' +"
        " s).getAttribute('d').match(/h([\\d.]+)/)[1]))"
    )
    assert sizes[0] < sizes[1], "negative cells are smaller: the sign shows without colour"


def test_modules_are_boxes_that_open_and_close_and_repeated_blocks_are_folded(show, visit, tower):
    viewer, page = show(tower), visit.page
    labels = lambda: viewer.locator(".mg-group .mg-group-name").all_text_contents()
    assert labels() == [
        "▸ blocks.0 … blocks.2",
        "▸ head",
    ], "the model itself is open, its three blocks are one box"
    box = viewer.locator(".mg-group").first
    assert (
        "3 × ·" in box.locator(".mg-caption").text_content()
        and box.get_attribute("aria-expanded") == "false"
    )
    last = len(tower["steps"])
    viewer.get_by_role("button", name="Follow the step").click()
    to(viewer, last)
    box.click()
    assert labels() == ["▸ blocks.0", "▸ blocks.1", "▸ blocks.2", "▸ head"]
    viewer.locator(".mg-group").first.focus()
    page.keyboard.press("Enter")
    assert "▸ linear" in labels()
    assert page.evaluate("document.activeElement.closest('.mg-graph') !== null"), (
        "the focus stays in the graph"
    )
    assert step_of(viewer) == last, "opening does not move the clock"
    viewer.get_by_role("button", name="Open all").click()
    assert labels() == [] and viewer.locator(".mg-node").count() == len(tower["nodes"])
    state = state_at(tower, last).cells
    for node in tower["nodes"]:
        cell = viewer.locator(f"tr[data-node='{node['id']}'] td[data-col='v']")
        assert cell.inner_text() and cell.count() == ((node["id"], "v") in state)
    viewer.get_by_role("button", name="Close all").click()
    assert labels() == ["▸ Tower"]
    viewer.locator("tr.mg-grouprow button").click()
    assert "▸ head" in labels(), "from the table as well"


@pytest.mark.whole
def test_branches_side_by_side_are_no_repetition(show):
    class Fork(mg.nn.Module):
        def __init__(self):
            self.left, self.right = mg.nn.Linear(2, 2), mg.nn.Linear(2, 2)

        def forward(self, x):
            y = x.exp()
            return mg.cat((self.left(y), self.right(y))).sum()

    viewer = show(trace_function(Fork(), [1.0, 2.0], mode="primal"))
    labels = viewer.locator(".mg-group .mg-group-name").all_text_contents()
    assert labels == ["▸ left", "▸ right"], "one box for both would hide the fork"


def test_every_step_lights_the_box_that_holds_it(show, tower):
    viewer = show(tower)
    look = (
        "root => ['.mg-graph .mg-node.mg-write', 'tr.mg-active'].map(part =>"
        " root.querySelectorAll(part).length)"
    )
    assert {
        tuple(counts) for counts in at_each(viewer, range(1, len(tower["steps"]) + 1, 4), look)
    } == {(1, 1)}


@pytest.mark.whole
def test_opened_boxes_never_overlap_and_all_edges_run_on(show, visit, tower):
    viewer = show(tower)
    for _ in range(4):
        boxes = visit.page.evaluate(
            """() => [...document.querySelectorAll(".mg-graph .mg-node")].map(n => {
                const c = n.querySelector(".mg-card:not(.mg-pile)");
                return ["x", "y", "width", "height"].map(a => Number(c.getAttribute(a))); })"""
        )
        for i, (x, y, w, h) in enumerate(boxes):
            for x2, y2, w2, h2 in boxes[:i]:
                assert x + w < x2 or x2 + w2 < x or y + h < y2 or y2 + h2 < y
        groups = viewer.locator(".mg-group")
        if not groups.count():
            break
        groups.first.click()


@pytest.mark.whole
def test_two_thousand_nodes_open_grouped_and_stay_usable(show, visit):
    viewer = show(viz.to_html(chain(2000)))  # a page that holds its document compressed
    assert viewer.locator(".mg-node").count() < 25 and viewer.locator(".mg-group").count() > 8
    viewer.locator(".mg-group").nth(3).click()
    assert viewer.locator(".mg-node").count() < 50
    to(viewer, 4321)
    lanes = viewer.locator(".mg-score path").evaluate_all("all => all.map(e => e.outerHTML)")
    assert all(lane.count("z") == 1 for lane in lanes), "gaps too narrow to be seen are not drawn"
    changes = visit.page.evaluate(
        """() => { const seen = new MutationObserver(() => {}),
            root = document.querySelector(".mg-root");
            seen.observe(root, { subtree: true, childList: true, attributes: true,
                characterData: true });
            for (let i = 0; i < 10; i++) document.querySelector(".mg-btn-next").click();
            return seen.takeRecords().length / 10; }"""
    )
    assert step_of(viewer) == 4331 and 0 < changes < 300, (
        "no more than a few for each of the boxes on view"
    )


@pytest.mark.whole
def test_zoom_by_keys_and_by_two_fingers(show, visit):
    viewer, page = show(all_samples()["seed"]), visit.page
    width = lambda: viewer.locator(".mg-svg").bounding_box()["width"]
    viewer.locator(".mg-bar .mg-slider").focus()
    before = width()
    page.keyboard.press("+")
    assert width() > before
    page.keyboard.press("0")
    assert width() == pytest.approx(before, abs=1)
    pinch = """() => { const g = document.querySelector(".mg-graph");
        const at = (id, x) => ({ pointerId: id, pointerType: "touch",
            clientX: x, clientY: 300, bubbles: true });
        const send = (type, id, x) => g.dispatchEvent(new PointerEvent(type, at(id, x)));
        send("pointerdown", 1, 200); send("pointerdown", 2, 300); send("pointermove", 2, 350);
        send("pointerup", 1, 200); send("pointerup", 2, 350); }"""
    page.evaluate(pinch)
    assert width() == pytest.approx(before * 1.5, rel=0.02)


# ---- the Jacobian, two Traces, sliders, languages


def test_the_jacobian_fills_by_columns_and_by_rows_on_one_clock(show):
    trace = jacobian_trace(lambda a, b, c: (mg.log(a) + a * b, mg.sin(b) * c), 2.0, 5.0, 0.5)
    truth = [[0.5 + 5.0, 2.0, 0.0], [0.0, 0.5 * math.cos(5.0), math.sin(5.0)]]
    viewer = show(trace)
    panel = view(viewer, "jacobian")
    filled = []
    read = """root => [...root.querySelectorAll("[data-view='jacobian'] table")].map(table =>
        [...table.querySelectorAll("tbody tr")].map(
        row => [...row.querySelectorAll("td.mg-entry")].map(cell => cell.textContent)))"""
    for k, tables in enumerate(at_each(viewer, range(len(trace["steps"]) + 1), read)):
        filled.append([sum(c != "" for row in t for c in row) for t in tables])
        for t in tables:
            assert all(
                c in ("", short(truth[i][j])) for i, row in enumerate(t) for j, c in enumerate(row)
            ), f"step {k}"
    assert (
        filled[0] == [0, 0]
        and filled[-1] == [6, 6]
        and all(a <= b for p, q in itertools.pairwise(filled) for a, b in zip(p, q, strict=True))
    )
    sent = lambda steps, mode: sum(
        len(s.get("contribs", []))
        for s in steps
        if "pass" in s and trace["passes"][s["pass"]]["mode"] == mode
    )
    total = {mode: sent(trace["steps"], mode) for mode in ("forward", "reverse")}
    said = panel.locator(".mg-sumup")
    for k in (0, 8, 12):
        to(viewer, k)
        here = [
            re.fullmatch(r"Pass \d of \d; products so far: (\d+)\.", text)
            for text in said.all_inner_texts()
        ]
        assert all(here), "who has to guess first is not told the totals"
        assert [int(found[1]) for found in here] == [
            sent(trace["steps"][:k], mode) for mode in total
        ]
    to(viewer, len(trace["steps"]))
    counts = said.all_inner_texts()
    assert counts[0].startswith("Pass 3 of 3") and counts[1].startswith("Pass 2 of 2")
    products = [int(re.search(r"products in all: (\d+)", c)[1]) for c in counts]
    assert products == list(total.values())
    assert products[1] < products[0], (
        "two outputs and three inputs: reverse mode needs fewer products"
    )


def test_traces_that_agree_say_so(show, visit):
    trace = trace_function(f, 2.0, 5.0)
    show(viz.compare(trace, trace).to_html())
    assert "agree in every value" in visit.page.locator(".mg-strip").inner_text()


def test_sliders_in_a_page_ask_the_engine_in_javascript(show, visit):
    """The picture stays and its values are minigrad's own at the place of the slider."""
    shown = viz.sliders(f, x1=(0.5, 4, 2), x2=(-5, 5, 5), live=False, step=23)
    viewer = show(shown.to_html())
    page = visit.page
    page.evaluate("() => { window.picture = document.querySelector('.mg-now'); }")
    code = viewer.locator(".mg-source code").inner_text()
    for name, value in (("x1", "3.25"), ("x2", "-1.5"), ("x1", "0.75")):
        page.get_by_role("slider", name=name).fill(value)
        at = [float(page.get_by_role("slider", name=one).input_value()) for one in ("x1", "x2")]
        trace = trace_function(f, *at)
        assert viewer.locator(".mg-title").inner_text() == trace["title"]
        final = {(n, c): v for s in trace["steps"] for n, c, v in s["writes"]}
        for node in ("x1", "x2", "v3", "v5"):
            for column in "vdg":
                cell = viewer.locator(f"tr[data-node='{node}'] td[data-col='{column}']")
                assert cell.inner_text() == short(final.get((node, column)))
        assert viewer.locator(".mg-say").inner_text() == trace["steps"][-1]["say"]
    assert page.evaluate("() => window.picture.isConnected")
    assert viewer.locator(".mg-source code").inner_text() == code and "return" in code
    assert step_of(viewer) == 23


def test_a_place_without_a_value_says_why_and_is_left_again(show, visit):
    shown = viz.sliders(lambda x: mg.log(x - 1), x=(1.125, 3), points=2, live=False, step=5)
    show(shown.to_html())
    slider = visit.page.get_by_role("slider", name="x")
    slider.evaluate("(e) => { e.min = -2; e.step = 'any'; }")
    slider.fill("-1")
    viewer = visit.page.locator("section.mg-root").last
    said = viewer.locator(".mg-say").inner_text()
    assert said.endswith("ln v1 is defined only where v1 > 0; this gives NaN.")
    slider.fill("2")
    assert step_of(viewer) == 5
    assert viewer.locator("tr[data-node='x'] td[data-col='v']").inner_text() == "2"


@pytest.mark.parametrize(
    ("lang", "said"),
    [
        (
            "en",
            "At step 3: v1 = ln x = NaN. ln x is defined only where x > 0; this gives NaN.",
        ),
        (
            "zh",
            "第 3 步：v1 的值是 ln x = NaN。 ln x 只在 x > 0 时有定义，这里得到 NaN。",
        ),
    ],
)
def test_before_the_first_step_the_first_result_that_is_not_finite_is_told(show, lang, said):
    with np.errstate(all="ignore"):
        trace = trace_function(lambda x: mg.log(x) * x, -2.0)
    viewer = show(viz.to_html(trace, lang=lang))
    assert viewer.locator(".mg-say").inner_text().endswith(said)
    assert viewer.locator(".mg-now").evaluate("(e) => e.scrollHeight <= e.clientHeight")
    finite = show(viz.to_html(trace_function(mg.sin, 0.5), lang=lang))
    assert said[:3] not in finite.locator(".mg-say").inner_text()


def test_a_number_that_is_not_finite_and_its_box_are_marked(show):
    with np.errstate(all="ignore"):
        trace = trace_function(lambda x: mg.sqrt(mg.log(x - 2.0)) + x, 1.5, mode="reverse")
    viewer = show(viz.to_html(trace, step=4))
    colour = "(all) => all.map((e) => [e.closest('[data-node]').dataset.node, getComputedStyle(e)])"
    of = lambda part, what: dict(
        viewer.locator(f".mg-node {part}").evaluate_all(f"{colour}.map(([n, s]) => [n, s.{what}])")
    )
    bad = "rgb(179, 38, 30)"
    rims, values = of(".mg-card", "stroke"), of(".mg-row:first-of-type .mg-value", "fill")
    assert [n for n, c in values.items() if c == bad] == ["v2", "v3"]
    assert [n for n, c in rims.items() if c == bad] == []
    viewer.get_by_role("button", name="Next").click()
    assert [n for n, c in of(".mg-card", "stroke").items() if c == bad] == ["v2"]


@pytest.mark.whole
def test_a_slider_crosses_the_place_at_which_a_function_chooses(show, visit):
    shown = viz.sliders(lambda x: mg.where(x > 0, x * x, -x), x=(-1, 1, -0.5), live=False)
    viewer = show(shown.to_html())
    viewer.get_by_role("button", name="Last").click()
    slider = visit.page.get_by_role("slider", name="x")
    for at, test, slope in (("0.25", "True", "0.5"), ("0", "False", "−1"), ("-1", "False", "−1")):
        slider.fill(at)
        viewer = visit.page.locator("section.mg-root").last
        assert viewer.locator("tr[data-node='v1'] td[data-col='v']").inner_text() == test
        assert viewer.locator("tr[data-node='x'] td[data-col='g']").inner_text() == slope


@pytest.mark.whole
def test_sliders_move_through_a_grid_held_in_the_page(show, visit):
    grid = viz.sliders(
        lambda x1, x2: mg.fmod(f(x1, x2), 1e6),
        **{"x1": (1, 3), "x2": (0, 5, 5), "points": 3, "live": False},
    )
    viewer = show(grid.to_html())
    page = visit.page
    viewer.get_by_role("button", name="Last").click()
    assert viewer.locator("tr[data-node='x1'] td[data-col='g']").inner_text() == "5.5"
    page.get_by_role("slider", name="x1").fill("0")
    viewer = page.locator("section.mg-root").first
    assert (
        viewer.locator("tr[data-node='x1'] td[data-col='g']").inner_text() == "6"
        and step_of(viewer) == 26
    )
    assert page.locator(".mg-slid").first.inner_text() == "1"
    page.get_by_role("slider", name="x2").focus()
    page.keyboard.press("ArrowLeft")
    viewer = page.locator("section.mg-root").first
    assert viewer.locator("tr[data-node='x2'] td[data-col='v']").inner_text() == "2.5"
    assert page.evaluate("document.activeElement.getAttribute('aria-label')") == "x2", (
        "the slider keeps the focus"
    )
    assert viewer.locator("tr[data-node='x2'] td[data-col='g']").inner_text() == short(
        1 - math.cos(2.5)
    )


@pytest.mark.whole
def test_the_interface_speaks_chinese(show, visit, axe):
    trace = trace_function(f, 2.0, 5.0)
    viewer = show(trace, lang="zh", step=22, views=["predict", "algorithm", "cut"])
    text = viewer.inner_text()
    assert (
        "求值轨迹" in viewer.get_attribute("aria-label")
        and "切割透镜" in text
        and "反向模式算法" in text
    )
    assert viewer.get_attribute("lang") == visit.page.locator("html").get_attribute("lang") == "zh"
    assert (
        viewer.locator(".mg-say").inner_text() == "x1 · x2 对 x2 的导数是 x1 = 2：v2 向 x2 传回 2；"
        "与原有的 −0.2837 相加，x2 的伴随现在是 1.716。"
    )
    left = re.findall(r"(?:Graph|Explanation|Step|adjoint|tangent|value)\b", text)
    assert left == [], "no English word of the interface is left"
    axe(visit.page, "html")


def test_every_text_has_a_chinese_counterpart(parts):
    texts = parts.evaluate("parts.TEXTS")
    blanks = lambda text: set(re.findall(r"\{\w+\}", text))
    assert set(texts["en"]) - set(texts["zh"]) <= {"counter", "columns"}
    for name, text in texts["zh"].items():
        if name in texts["en"] and name != "ordersTaken":
            assert blanks(text) == blanks(texts["en"][name]), name


# ---- the row and the column that meet in a product of matrices


@pytest.mark.parametrize(
    ("phase", "node", "rows"),
    [
        ("primal", "v1", lambda x, w, g: (x, w.T)),
        ("adjoint", "x", lambda x, w, g: (g, w)),
        ("adjoint", "w", lambda x, w, g: (x.T, g.T)),
    ],
)
def test_the_row_and_the_column_of_a_product_are_lit(show, visit, phase, node, rows):
    """In the product and in both of its rules; the arithmetic of the element is written out."""
    values = {"x": np.arange(6.0).reshape(2, 3) - 2.5, "w": np.arange(12.0).reshape(3, 4) / 3 + 0.1}
    values["g"] = np.cos(values["x"] @ values["w"])
    trace = trace_function(lambda x, w: mg.sin(x @ w).sum(), values["x"], values["w"])
    k = step_at(trace, phase, node)
    viewer = show(trace, 1280, step=k, views=["arrays"])
    panel = view(viewer, "arrays")
    left, right = rows(**values)
    written = panel.locator(".mg-written")
    wide = written.locator("tr").first.locator("td").count()
    for i, j in ((0, 0), (1, 1), (left.shape[0] - 1, right.shape[0] - 1)):
        written.locator("td").nth(wide * i + j).hover()
        lit = [short(v) for part in (left[i], right[j]) for v in part]
        found = panel.locator(".mg-read .mg-met").all_inner_texts()
        assert sorted(found) == sorted(lit)
        said = panel.locator(".mg-meet").inner_text()
        assert said.startswith(f"[{i}, {j}]: ") and said.count(" · ") == len(left[i])
        assert said.endswith(f" = {written.locator('.mg-met').inner_text()}")
        assert said.endswith(f" = {short(float(left[i] @ right[j]))}")
    written.locator("td").first.focus()
    visit.page.keyboard.press("Tab")
    assert panel.locator(".mg-meet").inner_text().startswith("[0, 1]: ")


def test_where_not_every_element_is_at_hand_no_row_is_lit(show):
    trace = trace_function(
        lambda x, w: (x @ w).sum(), np.ones((5, 4)), np.ones((4, 5)), mode="reverse"
    )
    viewer = show(trace, 1280, step=3, views=["arrays"])
    assert view(viewer, "arrays").locator(".mg-meet").count() == 0
    assert view(viewer, "arrays").locator(".mg-array").count() == 3


@pytest.fixture(scope="module")
def channels():
    """A small CNN with four channels of 10 rows and 10 columns."""
    mg.manual_seed(0)
    nn = mg.nn
    model = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(400, 1))
    image = np.random.default_rng(0).normal(size=(1, 1, 12, 12))
    return trace_function(lambda x: model(x).sum(), image, mode="reverse")


CELLS_OF = """(root, part) => [...root.querySelectorAll(part)].map((svg) => {
    const map = svg.querySelector(".mg-heat"), all = [...map.querySelectorAll("path")];
    const cells = all.flatMap((path) => path.getAttribute("d").match(/M/g) ?? []).length;
    const { width, height } = map.querySelector("rect").getBBox();
    return [cells, Math.sqrt((width * height) / cells)];
})"""


def test_each_channel_of_a_layer_is_a_map_whose_cells_can_be_seen(show, channels):
    """They were drawn as one map of every fourth element, small ones with cells of 3 pixels
    (November 2026)."""
    k = next(i for i, step in enumerate(channels["steps"], 1) if step["node"] == "v2")
    viewer = show(channels, 1280, 800, step=k, views=["arrays"])
    maps = viewer.evaluate(CELLS_OF, "[data-view='arrays'] .mg-written svg:has(.mg-heat)")
    assert [cells for cells, _ in maps] == 4 * [100] and min(side for _, side in maps) >= 12
    assert viewer.evaluate("() => document.documentElement.scrollWidth - innerWidth") <= 0
    viewer = show(channels, 1280, 800, step=k, views=["element"])
    maps = viewer.evaluate(CELLS_OF, ".mg-thumb svg")
    assert [cells for cells, _ in maps] == 4 * [100] and min(side for _, side in maps) >= 5


@pytest.mark.parametrize("number", [".mg-node{} [data-col='v'] .mg-value", "tr{} [data-col='v']"])
@pytest.mark.parametrize("matrix", [True, False])
def test_a_click_on_a_number_of_an_array_opens_the_arrays_of_its_step(show, number, matrix):
    x = [[1.0, 2.0], [3.0, 4.0]] if matrix else 2.0
    trace = trace_function(lambda x: mg.sum(x * x), x, mode="reverse")
    viewer = show(trace, 1280, 800, step=len(trace["steps"]))
    viewer.locator(".mg-node[data-node='v1'] .mg-heading").click()
    assert view(viewer, "arrays").count() == 0, "the card itself goes to its step"
    viewer.locator(number.format("[data-node='v1']")).click()
    assert step_of(viewer) == 2 and view(viewer, "arrays").count() == matrix
    assert not matrix or "v1 · value · written" in view(viewer, "arrays").inner_text()


def test_a_click_on_the_map_of_a_card_opens_the_arrays_of_the_step_that_wrote_it(show, channels):
    viewer = show(channels, 1280, 800, step=8)
    card = viewer.locator(".mg-graph [data-node='v2'] [data-col='v']")
    card.locator(".mg-heat-ground").click(force=True)  # its cells lie over it
    assert view(viewer, "arrays").is_visible()
    assert step_of(viewer) == next(
        i for i, step in enumerate(channels["steps"], 1) if step["node"] == "v2"
    )
    assert "v2 · value · written" in view(viewer, "arrays").inner_text()
