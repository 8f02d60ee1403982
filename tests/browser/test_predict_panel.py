"""The panel of predict mode: what is said of an answer belongs to one question, where the questions
begin is said, and neither moves what is below.
"""

import numpy as np
import pytest
from minigrad.viz import page
from minigrad.viz.layout import with_layout

import minigrad as mg
from minigrad import viz
from minigrad.watch import trace_function
from tests.browser.conftest import step_at, step_of
from tests.browser.test_page_widths import LOW_NOTEBOOK, NOTEBOOK, two_layers

pytestmark = pytest.mark.browser


def f(x1, x2):
    return mg.log(x1) + x1 * x2 - mg.sin(x2)


@pytest.fixture(scope="module")
def trace():
    return trace_function(f, 2.0, 5.0, mode="reverse")


def test_a_verdict_names_the_previous_question_and_stays_until_something_is_typed(
    show, visit, trace
):
    viewer, tab = show(trace, views=["predict"], step=2), visit.page
    told, field = viewer.locator(".mg-asking .mg-sumup"), viewer.get_by_label("Your answer")
    verdict = "Previous question, value of v1: 0.6931 is right."
    field.fill("ln 2")
    tab.keyboard.press("Enter")
    assert told.inner_text() == verdict
    assert "value of v2" in viewer.locator(".mg-question").inner_text()
    tab.keyboard.press("Enter")
    viewer.get_by_role("button", name="Check").click()
    assert told.inner_text() == verdict and step_of(viewer) == 3, "an Enter more than needed"
    field.fill("7")
    tab.keyboard.press("Enter")
    assert told.inner_text().startswith("7 is not right; one more try."), (
        "of the question that stands there"
    )
    tab.keyboard.press("ArrowLeft")
    viewer.get_by_role("button", name="Back", exact=True).click()
    assert step_of(viewer) == 2 and told.inner_text() == "", "a hint goes with its question"
    viewer.get_by_role("button", name="Go there").click()
    field.fill("")
    tab.keyboard.press("Enter")
    assert told.inner_text() == "Answer first, or press Show me."
    viewer = show(trace, views=["predict"], step=2, lang="zh")
    viewer.locator(".mg-answer").fill("3")
    tab.keyboard.press("Enter")
    tab.keyboard.press("Enter")
    assert viewer.locator(".mg-asking .mg-sumup").inner_text() == (
        "上一题（v1 的值）：正确的是 0.6931，你写的是 3。"
    )


def answered(viewer, text):
    """What is said of an answer."""
    viewer.get_by_label("Your answer").fill(text)
    viewer.page.keyboard.press("Enter")
    return viewer.locator(".mg-asking .mg-sumup").inner_text()


def test_a_phone_brings_the_keys_of_every_answer_and_changes_no_letter(show):
    """A keyboard for decimals has no minus, no slash and no letters on some phones."""
    found = trace_function(lambda a: mg.sin((a @ a.T).sum()), np.ones((2, 3)))
    for step in (2, 3):  # a shape, a number
        field = show(found, 390, 844, views=["predict"], step=step).get_by_label("Your answer")
        told = {name: field.get_attribute(name) for name in ("type", "inputmode")}
        assert told == {"type": "text", "inputmode": None}
        kept = [field.get_attribute(f"auto{what}") for what in ("capitalize", "correct")]
        assert kept == ["off", "off"] and field.get_attribute("spellcheck") == "false"


def test_of_the_first_of_several_contributions_the_question_says_so(show, trace):
    """The adjoint at the end is no mere mistake there, but an answer to another question."""
    parts = [k for k, s in enumerate(trace["steps"]) if s["node"] == "x2" and s.get("contribs")]
    first, final = (trace["steps"][k]["writes"][0][2] for k in (parts[0], parts[-1]))
    viewer = show(trace, views=["predict"], step=parts[0])
    question = viewer.locator(".mg-question").inner_text()
    assert question.startswith("The first of several contributions arrives. What will the adjoint")
    assert "That is the final sum" in answered(viewer, str(final))
    said = answered(viewer, str(first))
    assert said.startswith("Previous question, adjoint of x2 so far: "), said
    assert viewer.locator(".mg-question").inner_text().count("contribution") == (
        1 if parts[1] == parts[0] + 1 else 0
    )
    only = next(k for k, s in enumerate(trace["steps"]) if s["node"] == "v1" and s.get("contribs"))
    viewer = show(trace, views=["predict"], step=only)
    assert "contribution" not in viewer.locator(".mg-question").inner_text()
    viewer = show(trace, views=["predict"], step=parts[0], lang="zh")
    assert viewer.locator(".mg-question").inner_text().startswith("几项贡献中的第一项到了。")


def test_a_second_wrong_answer_is_explained_too(show, trace):
    k = step_at(trace, "primal", "v1") - 1
    viewer = show(trace, views=["predict"], step=k)
    sign = "The size is right, the sign is not."
    assert answered(viewer, "-0.6931") == f"−0.6931 is not right; one more try. {sign}"
    verdict = "Previous question, value of v1: it is 0.6931; you wrote −0.6931."
    assert answered(viewer, "-0.6931") == f"{verdict} {sign}"


def test_an_answer_may_name_values_that_are_known(show, trace):
    viewer = show(trace, views=["predict"], step=step_at(trace, "primal", "v1") - 1)
    assert answered(viewer, "ln x1").endswith("0.6931 is right.")
    assert answered(viewer, "x1*x2").endswith("10 is right.")
    assert answered(viewer, "v9 + 1").startswith("“v9 + 1” is not a number; write it like 1.5,")
    assert answered(viewer, "v3 + 1").startswith("“v3 + 1” is not a number"), "not yet known"
    assert answered(viewer, "v1 + v2").endswith("10.69 is right.")
    assert answered(viewer, "2e").startswith("5.437 is not right"), "e stays the number"


def test_an_answer_may_name_adjoints_and_tangents(show, trace):
    """As the hint writes them, and as a keyboard does."""
    k = step_at(trace, "adjoint", "v1") - 1
    for given in ("v3bar*1", "1·v̄3"):
        viewer = show(trace, views=["predict"], step=k)
        assert answered(viewer, given).endswith(": 1 is right."), given
    both = trace_function(f, 2.0, 5.0)
    k = step_at(both, "tangent", "v1") - 1
    for given in ("x1dot/x1", "ẋ1/2"):
        viewer = show(both, views=["predict"], step=k)
        assert answered(viewer, given).endswith("0.5 is right."), given
    assert answered(viewer, "v5bar").startswith("“v5bar” is not a number"), "not yet known"


def test_who_answers_goes_on_typing_where_the_next_pass_begins(show, visit, trace):
    """The seed asks nothing; the field stays with its focus, and no key is a command."""
    k = step_at(trace, "primal", "v5") - 1
    viewer = show(trace, views=["predict"], step=k)
    before = viewer.locator(".mg-svg").bounding_box()
    assert " is right." in answered(viewer, str(trace["steps"][k]["writes"][0][2]))
    visit.page.keyboard.type("-1")
    assert viewer.get_by_label("Your answer").input_value() == "-1"
    assert viewer.locator(".mg-svg").bounding_box()["width"] == before["width"]
    assert "adjoint" in viewer.locator(".mg-question").inner_text()


def test_where_the_questions_begin_is_said_and_all_can_be_asked(show, visit, trace):
    k = step_at(trace, "primal", "v4") - 1
    for lang, said, button in (
        ("en", f"Questions start at step {k + 1}; earlier ones skipped: 3.", "Ask all 13"),
        ("zh", f"提问从第 {k + 1} 步开始；跳过前面的 3 题。", "全部 13 题都问"),
    ):
        viewer = show(trace, views=["predict"], step=k, lang=lang)
        told = viewer.locator(".mg-asking .mg-sumup")
        assert told.inner_text() == f"{said} {button}"
        told.get_by_role("button").click()
        assert step_of(viewer) == 2 and told.inner_text() == ""
        assert viewer.locator(".mg-answer").evaluate("e => e === document.activeElement")
        visit.page.keyboard.type("ln 2")
        visit.page.keyboard.press("Enter")
        assert step_of(viewer) == 3, "and none of them is left out"
    for step in (0, 2, len(trace["steps"])):
        viewer = show(trace, views=["predict"], step=step)
        assert viewer.locator(".mg-asking .mg-sumup").inner_text() == "", "all are asked"
    given = [
        {"step": s, "node": "", "column": "v", "answer": 0, "correct": True} for s in (2, 3, 4)
    ]
    options = {"views": ["predict"], "step": k, "answers": given}
    text = page.embed(with_layout(trace))
    visit.page.evaluate("([text, options]) => show(text, options)", [text, options])
    assert viewer.locator(".mg-asking .mg-sumup").inner_text() == "", "all before are answered"


def test_on_a_page_just_opened_who_comes_to_a_question_by_key_types_its_answer(
    visit, tmp_path, trace
):
    path, page_ = tmp_path / "page.html", visit.page
    path.write_text(viz.to_html(trace, views=["predict"]), encoding="utf-8")
    page_.goto(path.as_uri())
    viewer = page_.locator("section.mg-root")
    viewer.wait_for()
    assert page_.evaluate("document.activeElement === document.body"), "it takes no focus itself"
    for _ in range(5):
        page_.keyboard.press("ArrowRight")
    assert step_of(viewer) == 2
    page_.keyboard.type("ln 2")
    page_.keyboard.press("Enter")
    assert step_of(viewer) == 3
    assert "0.6931 is right" in viewer.locator(".mg-asking .mg-sumup").inner_text()
    visit.assert_clean()


@pytest.mark.parametrize("address", ["", "#step=2", "#step=2&stage"])
def test_on_a_page_that_opens_at_a_question_a_number_is_typed_into_its_field(
    visit, tmp_path, trace, address
):
    path, page = tmp_path / "page.html", visit.page
    path.write_text(viz.to_html(trace, views=["predict"], step=2), encoding="utf-8")
    page.goto(path.as_uri() + address)
    viewer = page.locator("section.mg-root")
    viewer.wait_for()
    assert step_of(viewer) == 2
    page.keyboard.type("-0.5")
    field = viewer.get_by_label("Your answer")
    assert field.input_value() == "-0.5", "neither 0 nor - is a key of the graph"
    field.fill("")
    page.keyboard.type("0.6931")
    page.keyboard.press("Enter")
    assert "0.6931 is right" in viewer.locator(".mg-asking .mg-sumup").inner_text()
    visit.assert_clean()


def test_before_an_answer_begins_the_keys_are_those_of_the_viewer(visit, tmp_path, trace):
    path, page = tmp_path / "page.html", visit.page
    path.write_text(viz.to_html(trace, views=["predict"], step=2), encoding="utf-8")
    page.goto(path.as_uri())
    viewer = page.locator("section.mg-root")
    viewer.wait_for()
    page.keyboard.press("?")
    assert viewer.locator(".mg-help").is_visible()
    page.keyboard.press("Escape")
    page.keyboard.press("f")
    page.locator("section.mg-stage:fullscreen").wait_for()
    page.keyboard.press("f")  # the next test has a window of its own size
    page.locator("section.mg-root:not(.mg-stage, :fullscreen)").wait_for()
    visit.assert_clean()


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_the_score_stands_whole_beside_the_question(show, trace, lang):
    asked = [k for k, step in enumerate(trace["steps"]) if step["edges"]]
    given = [
        {"step": k, "node": "v1", "column": "v", "answer": 1, "correct": True, "tries": 1}
        for k in asked
    ]
    n = len(trace["steps"])
    viewer = show(trace, 1280, 800, views=["predict"], step=n, lang=lang)
    text = page.embed(with_layout(trace))
    options = {"views": ["predict"], "step": n, "answers": given, "lang": lang}
    viewer.page.evaluate("([text, options]) => show(text, options)", [text, options])
    head = viewer.locator(".mg-view-predict figcaption")
    edges = head.evaluate("""e => {
        const [outer, ...inner] = [e, ...e.querySelectorAll("span, summary")].map((one) =>
            one.getBoundingClientRect());
        return [Math.min(...inner.map((r) => r.top)) - outer.top,
            outer.bottom - Math.max(...inner.map((r) => r.bottom))];
    }""")
    assert str(len(given)) in head.inner_text() and min(edges) >= 4


ANSWERED = """async (root, parts) => {
    const slider = root.querySelector(".mg-bar .mg-slider"),
        field = root.querySelector(".mg-answer"),
        inside = root.querySelector(".mg-beside-controls .mg-inside"), seen = [];
    const look = () => seen.push([
        ...[".mg-beside-controls .mg-panel", ".mg-now", ".mg-left", ".mg-graph"].flatMap((part) => {
            const { top, height } = root.querySelector(part).getBoundingClientRect();
            return [top, height].map((px) => Math.round(px * 10));
        }),
        inside.scrollHeight <= inside.clientHeight, // all of it is seen
    ]);
    look();
    for (const _ of parts) {
        slider.value = parts.length;
        slider.dispatchEvent(new Event("input", { bubbles: true }));
        await null;
        if (field.parentElement.hidden) break;
        look();
        const at = () => Number(root.querySelector(".mg-counter").textContent.split("/")[0]),
            k = at();
        for (const text of ["no answer at all", parts[k], "(17, 19)", parts[k]]) {
            if (at() > k) break;
            field.value = text;
            field.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", bubbles: true }));
            await null;
            look();
        }
    }
    return seen;
}"""


@pytest.mark.parametrize("size", [LOW_NOTEBOOK, NOTEBOOK, (1280, 800), (1440, 900), (390, 844)])
def test_no_question_and_nothing_that_is_said_of_an_answer_moves_what_is_below(
    show, visit, trace, size
):
    """A message of two lines made the panel 20 pixels higher, and cut the graph (November 2026)."""
    rng = np.random.default_rng(0)
    arrays = [rng.normal(size=s) for s in [(4, 3), (3, 5), (5,), (5, 2), (2,)]]
    for one in (trace, trace_function(two_layers, *arrays, mode="reverse")):
        viewer = show(one, *size, views=["predict"], step=len(one["steps"]))
        products = [step.get("contribs", [{}]) for step in one["steps"]]
        texts = [str((first or [{}])[0].get("product", "123.456")) for first in products]
        seen = viewer.evaluate(ANSWERED, texts)
        assert len(seen) > 20 and all(places == seen[0] for places in seen)
        assert seen[0][-1], "all of it is seen"
        assert visit.page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_the_answers_open_over_the_graph_and_move_nothing(show, visit, trace):
    viewer = show(trace, 1280, 800, views=["predict"], step=len(trace["steps"]))
    graph, given = viewer.locator(".mg-graph"), viewer.locator(".mg-answers")
    before = graph.bounding_box()
    viewer.locator(".mg-score-of summary").click()
    assert graph.bounding_box() == before
    assert given.is_visible() and given.bounding_box()["width"] >= 220
    link = given.get_by_role("link", name="Download the answers")
    place = link.bounding_box()
    hit = "([x, y]) => document.elementFromPoint(x, y).textContent"
    middle = [place["x"] + place["width"] / 2, place["y"] + place["height"] / 2]
    assert visit.page.evaluate(hit, middle) == "Download the answers", "nothing lies over it"


SEEN = """(root, id) => {
    const places = [".mg-graph", `.mg-node[data-node="${id}"] .mg-card`].map((part) =>
        root.querySelector(part).getBoundingClientRect());
    return places[0].left - 1 <= places[1].left && places[1].right <= places[0].right + 1
        && places[0].top - 1 <= places[1].top && places[1].bottom <= places[0].bottom + 1;
}"""


def test_on_a_phone_the_graph_shows_what_the_question_is_about(show, trace):
    """It showed the step before: v4 and v5, while the adjoint of x2 was asked."""
    for k, step in enumerate(trace["steps"]):
        if step["phase"] != "adjoint":
            continue
        viewer = show(trace, 390, 844, views=["predict"], step=k)
        viewer.evaluate("() => new Promise(requestAnimationFrame)")
        assert viewer.evaluate(SEEN, step["node"]), k


@pytest.mark.parametrize(("phase", "node"), [("primal", "v1"), ("adjoint", "x2")])
def test_on_a_phone_the_node_of_the_step_is_whole_beside_what_is_asked_for(
    show, trace, phase, node
):
    """Its card was cut at the edge of the graph, though both fit (November 2026)."""
    done = [(step["phase"], step["node"]) for step in trace["steps"]].index((phase, node)) + 1
    viewer = show(trace, 390, 800, views=["predict"], step=done)
    viewer.evaluate("() => new Promise(requestAnimationFrame)")
    assert viewer.evaluate(SEEN, node) and viewer.evaluate(SEEN, trace["steps"][done]["node"])
