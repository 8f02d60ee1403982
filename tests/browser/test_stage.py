"""Stage mode, links to a step, and pictures of the present step."""

import io
import json
import re
from xml.etree import ElementTree

import numpy as np
import pytest

import minigrad as mg
from minigrad import viz
from minigrad.watch.trace import trace_function
from tests.browser.conftest import step_at, step_of, to


def f(x1, x2):
    return mg.log(x1) + x1 * x2 - mg.sin(x2)


@pytest.fixture(scope="module")
def trace():
    return trace_function(f, 2.0, 5.0, mode="reverse")


def until(page, look):
    """Waits until a JavaScript expression holds (`wait_for_function` would need a policy with
    eval)."""
    for _ in range(500):
        if page.evaluate(look):
            return
        page.wait_for_timeout(20)
    pytest.fail(f"never true: {look}")


@pytest.fixture(autouse=True)
def not_left_on_the_stage(visit):
    """A tab that fills the screen cannot be resized by the next test."""
    yield
    visit.page.evaluate("document.fullscreenElement && document.exitFullscreen()")
    until(visit.page, "!document.fullscreenElement")


@pytest.mark.parametrize("size", [(1280, 720), (1920, 1080)])
def test_one_key_fills_the_screen_and_the_last_row_can_read_it(show, visit, axe, trace, size):
    k = step_at(trace, "adjoint", "x2") - 1
    viewer, page = show(trace, *size, step=k + 1), visit.page
    before = viewer.locator(".mg-formula").evaluate("e => parseFloat(getComputedStyle(e).fontSize)")
    viewer.locator(".mg-chip").first.focus()  # which the stage hides
    page.keyboard.press("f")
    until(page, "document.fullscreenElement?.classList.contains('mg-stage')")
    assert viewer.evaluate("e => e === document.activeElement"), "a notebook gets no key"
    after = viewer.locator(".mg-formula").evaluate("e => parseFloat(getComputedStyle(e).fontSize)")
    assert after >= 2 * before and after >= 38 * size[0] / 1280
    screen = {"x": 0, "y": 0, "width": size[0], "height": size[1]}
    until(
        page,
        """(() => {
            const scroll = document.querySelector('.mg-graph').getBoundingClientRect(),
                svg = document.querySelector('.mg-svg').getBoundingClientRect();
            return svg.bottom <= scroll.bottom + 1 && svg.right <= scroll.right + 1
                && Math.max(svg.width / scroll.width, svg.height / scroll.height) > 0.95;
        })()""",
    )
    shown = [
        ".mg-formula",
        ".mg-source mark",
        *(f".mg-node[data-node='{n}']" for n in ("x2", "v5")),
    ]
    for part in shown:
        box = viewer.locator(part).bounding_box()
        assert box["x"] >= 0 and box["x"] + box["width"] <= screen["width"]
        assert box["y"] >= 0 and box["y"] + box["height"] <= screen["height"]
    assert viewer.locator(".mg-source mark").inner_text() == "mg.sin(x2)"
    assert viewer.locator(".mg-tablebox").is_hidden()
    axe(page, ".mg-root")
    page.keyboard.press("Escape")
    until(page, "!document.querySelector('.mg-stage')")
    assert viewer.locator(".mg-tablebox").is_visible() and step_of(viewer) == k + 1


def test_a_clicker_asks_before_each_answer(show, visit, trace):
    k = step_at(trace, "adjoint", "x2") - 1
    viewer, page = show(trace, 1280, 720, step=k), visit.page
    viewer.get_by_role("button", name="Stage mode").click()
    said = viewer.locator(".mg-formula")
    page.keyboard.press("PageDown")
    assert step_of(viewer) == k
    assert viewer.locator(".mg-say").inner_text() == "What is the adjoint of x2 so far?"
    assert said.text_content().endswith("=?") and "0.2837" not in said.text_content()
    assert viewer.locator(".mg-asked-for").get_attribute("data-node") == "x2"
    page.keyboard.press("PageDown")
    assert step_of(viewer) == k + 1 and "cosx2" in said.text_content().replace(" ", "")
    assert viewer.locator(".mg-asked-for").count() == 0
    page.keyboard.press("PageUp")
    assert step_of(viewer) == k
    page.keyboard.press("q")
    page.keyboard.press("PageDown")
    assert step_of(viewer) == k + 1, "without questions a key is a step"
    page.keyboard.press("f")
    until(page, "!document.querySelector('.mg-stage')")
    page.keyboard.press("Home")
    page.keyboard.press("PageDown")
    page.keyboard.press("PageDown")
    seed = next(i for i, s in enumerate(trace["steps"], 1) if s["phase"] == "seed")
    assert step_of(viewer) == seed, "outside the stage Page Down goes to the next phase"


@pytest.mark.parametrize(
    ("lang", "asked", "added"),
    [
        ("en", "What is the tangent of v1?", "What is added to the adjoint of x1?"),
        ("zh", "v1 的切向量是多少？", "x1 的伴随要加上多少？"),
    ],
)
def test_a_question_has_the_colour_of_its_own_pass_and_names_what_is_asked(
    show, visit, lang, asked, added
):
    found = trace_function(f, 2.0, 5.0, mode="both")
    k = step_at(found, "tangent", "v1") - 1
    viewer, page = show(found, 1280, 720, step=k, lang=lang), visit.page
    viewer.focus()
    page.keyboard.press("f")
    colour = lambda: viewer.locator(".mg-badge").evaluate("e => getComputedStyle(e).color")
    value = colour()
    page.keyboard.press("PageDown")
    tangent = colour()
    assert step_of(viewer) == k and viewer.locator(".mg-say").inner_text() == asked
    marks = viewer.locator(".mg-graph :is(.mg-lit, .mg-write, .mg-label)")
    assert marks.count() == 0, "they are those of the step before"
    page.keyboard.press("PageDown")
    assert value != tangent == colour()
    to(viewer, step_at(found, "accumulate", "x1") - 1)
    page.keyboard.press("PageDown")
    assert viewer.locator(".mg-say").inner_text() == added


def layer(x, w, b):
    return (mg.tanh(x @ w + b) * 0.5).sum()


@pytest.mark.parametrize(
    ("lang", "shape", "element"),
    [
        ("en", "What shape will the value of v1 have?", "What is the {} of {}?"),
        ("zh", "v1 的值的形状将是什么？", "{1} 的{0}是多少？"),
    ],
)
def test_of_an_array_the_stage_asks_for_its_shape_or_one_entry(show, visit, lang, shape, element):
    """No shape is told before its question: not by the card, nor by its wire or one that is
    broadcast to it."""
    given = np.ones((4, 2)), np.ones((2, 3)), np.ones(3)
    found = trace_function(layer, *given, mode="reverse")
    value, adjoint = {"en": ("value", "adjoint"), "zh": ("值", "伴随")}[lang]
    viewer, page = show(found, 1280, 720, step=3, lang=lang), visit.page
    viewer.focus()
    page.keyboard.press("f")
    told = viewer.locator(".mg-caption:visible, .mg-shape:visible")
    formula = lambda: re.sub(r"\s", "", viewer.locator(".mg-formula").text_content())
    page.keyboard.press("PageDown")
    assert viewer.locator(".mg-say").inner_text() == shape and formula().endswith("=?")
    assert not any("(4, 3)" in text for text in told.all_text_contents())
    assert "(4, 2)" in " ".join(told.all_text_contents()), "that of an input is known"
    page.keyboard.press("PageDown")
    assert "(4, 3)" in " ".join(told.all_text_contents())
    page.keyboard.press("q")
    to(viewer, 0)
    assert " ".join(told.all_text_contents()).count("(4, 3)") > 3, "nothing is asked"
    page.keyboard.press("q")
    for phase, node, what in (("primal", "v3", value), ("adjoint", "w", adjoint)):
        k = step_at(found, phase, node) - 1
        to(viewer, k)
        page.keyboard.press("PageDown")
        row, column = re.search(r"\[(\d),(\d)\]", formula()).groups()
        asked = element.format(what, f"{node}[{row}, {column}]")
        assert viewer.locator(".mg-say").inner_text() == asked
    visit.assert_clean()


def test_where_predict_mode_asks_the_stage_does_not(show, visit, trace):
    k = step_at(trace, "adjoint", "x2") - 1
    viewer = show(trace, 1280, 720, step=k, views=["predict"])
    viewer.get_by_role("button", name="Stage mode").click()
    viewer.get_by_label("Your answer").fill("-cos 5")
    visit.page.keyboard.press("Enter")
    assert step_of(viewer) == k + 1
    visit.page.keyboard.press("PageDown")
    assert step_of(viewer) == k + 2 and "?" not in viewer.locator(".mg-formula").inner_text()


def two_paths(a, b, c):
    return (a * b + mg.sin(c)) * mg.exp(a)


WHOLE = """root => {
    const [svg, bar] = [".mg-svg", ".mg-bar"].map((part) =>
        root.querySelector(part).getBoundingClientRect());
    const cards = [...root.querySelectorAll(".mg-node .mg-card")].map((card) =>
        card.getBoundingClientRect().bottom);
    const question = root.querySelector(".mg-question"),
        lines = question.offsetHeight / parseFloat(getComputedStyle(question).fontSize);
    return [svg.y, svg.height, Math.max(...cards) < bar.y, lines < 2];
}"""


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize("size", [(1280, 720), (1920, 1080)])
def test_in_predict_mode_no_question_of_the_stage_cuts_the_graph_or_moves_it(
    show, visit, size, lang
):
    found = trace_function(two_paths, 1.0, 2.0, 0.5, mode="reverse")
    viewer = show(found, *size, step=2, views=["predict"], lang=lang)
    viewer.focus()
    visit.page.keyboard.press("f")
    until(visit.page, "document.querySelector('.mg-stage')")
    seen = []
    for _ in found["steps"][2:]:
        visit.page.keyboard.press("PageDown")
        seen.append(viewer.evaluate(WHOLE))
    assert all(whole and one_line for *_, whole, one_line in seen)
    assert len({(round(y), round(height)) for y, height, *_ in seen}) == 1


@pytest.mark.parametrize("stage", [False, True])
def test_predict_mode_marks_the_node_that_it_asks_about_and_its_code(show, visit, trace, stage):
    k = step_at(trace, "adjoint", "v4") - 1
    viewer = show(trace, 1280, 800, step=k, views=["predict"])
    viewer.focus()
    if stage:
        visit.page.keyboard.press("f")
        until(visit.page, "document.querySelector('.mg-stage')")
    asked = viewer.locator(".mg-node.mg-asked-for")
    assert asked.evaluate_all("all => all.map(e => e.dataset.node)") == ["v4"]
    marked = viewer.locator(".mg-graph :is(.mg-read, .mg-write, .mg-lit)")
    assert marked.count() == 0, "nothing of the step before"
    assert viewer.locator(".mg-source mark").inner_text() == "mg.log(x1) + x1 * x2 - mg.sin(x2)"
    viewer.locator(".mg-answer").fill("-1")
    visit.page.keyboard.press("Enter")
    assert asked.evaluate_all("all => all.map(e => e.dataset.node)") == ["x2"]
    assert viewer.locator(".mg-source mark").inner_text() == "mg.sin(x2)"
    visit.page.keyboard.press("PageUp")
    assert asked.count() == 0 and marked.count() > 0, "a step that is done"


def test_what_is_said_in_predict_mode_can_be_read_on_the_stage(show, visit, trace):
    viewer = show(trace, 1920, 1080, step=step_at(trace, "primal", "v4"), views=["predict"])
    viewer.focus()
    visit.page.keyboard.press("f")
    until(visit.page, "document.querySelector('.mg-stage')")
    size = "e => parseFloat(getComputedStyle(e).fontSize)"
    said = viewer.locator(".mg-asking .mg-sumup")
    assert said.evaluate(size) == said.locator("button").evaluate(size) == 32
    edge = "e => parseFloat(getComputedStyle(e).borderLeftWidth)"
    visit.page.keyboard.press("PageDown")
    assert "it is" in said.inner_text() and said.evaluate(edge) == 0, "a shown value is no error"
    for _ in range(2):
        viewer.locator(".mg-answer").fill("7")
        visit.page.keyboard.press("Enter")
    assert "you wrote 7" in said.inner_text() and said.evaluate(edge) == 4


def test_in_predict_mode_a_clicker_alone_shows_each_value_and_checks_what_is_typed(
    show, visit, trace
):
    k = step_at(trace, "primal", "v1") - 1
    viewer, page = show(trace, 1280, 720, step=k, views=["predict"]), visit.page
    field = viewer.get_by_label("Your answer")
    field.focus()
    page.keyboard.press("PageDown")
    said = viewer.locator(".mg-asking .mg-sumup")
    assert step_of(viewer) == k and said.inner_text() == "Answer first, or press Show me."
    viewer.get_by_role("button", name="Stage mode").click()
    page.keyboard.press("PageDown")
    assert step_of(viewer) == k + 1 and "0.6931" in said.inner_text()
    field.fill(".")
    page.keyboard.press("PageDown")
    assert step_of(viewer) == k + 2, "a clicker's key for a dark screen is no answer"
    field.fill("3")
    page.keyboard.press("PageDown")
    assert step_of(viewer) == k + 2 and "3 is not right" in said.inner_text(), "a hint"
    page.keyboard.press("PageDown")
    assert step_of(viewer) == k + 3 and "10.69" in said.inner_text()
    field.fill("what?")
    page.keyboard.press("PageDown")
    assert step_of(viewer) == k + 3 and "is not a number" in said.inner_text()
    page.keyboard.press("PageDown")
    assert step_of(viewer) == k + 4, "nothing that is typed stops a clicker"
    page.keyboard.press("PageUp")
    page.keyboard.press("PageUp")
    page.keyboard.press("PageUp")
    page.keyboard.press("PageUp")
    assert step_of(viewer) == k
    for _ in range(len(trace["steps"]) - k):
        page.keyboard.press("PageDown")
    assert step_of(viewer) == len(trace["steps"]), "with questions that are answered and others"
    visit.assert_clean()


@pytest.mark.parametrize(
    ("lang", "both", "alone"),
    [
        ("en", "1 of 2 right, 1 on the first try. 2 shown.", "1 shown."),
        ("zh", "2 题中答对 1 题，其中 1 题一次答对。 2 题直接看了答案。", "1 题直接看了答案。"),
    ],
)
def test_a_value_that_is_only_shown_is_no_wrong_answer(show, visit, trace, lang, both, alone):
    """That of a clicker and that of the button; after a wrong answer it is one."""
    k = step_at(trace, "primal", "v1") - 1
    viewer, page = show(trace, 1280, 800, step=k, views=["predict"], lang=lang), visit.page
    score, field = viewer.locator(".mg-score-of .mg-note"), viewer.locator(".mg-answer")
    viewer.focus()
    page.keyboard.press("f")
    page.keyboard.press("PageDown")
    assert step_of(viewer) == k + 1 and score.inner_text() == alone
    field.fill("10")
    page.keyboard.press("PageDown")
    field.fill("7")
    page.keyboard.press("PageDown")
    page.keyboard.press("PageDown")  # the hint, then the value
    viewer.locator(".mg-predict button").last.click()
    assert step_of(viewer) == k + 4 and score.inner_text() == both
    page.keyboard.press("Escape")  # the answers are read off the stage
    viewer.locator(".mg-score-of summary").click()
    marks = [line[-1] for line in viewer.locator(".mg-log li").all_inner_texts()]
    assert [mark in "✓✗" for mark in marks] == [False, True, True, False]
    assert marks[1:3] == ["✓", "✗"]


def test_the_keys_of_the_stage_are_no_answer_of_predict_mode(show, visit, trace):
    k = step_at(trace, "primal", "v1") - 1
    viewer, page = show(trace, 1280, 720, step=k, views=["predict"]), visit.page
    viewer.get_by_role("button", name="Stage mode").click()
    field = viewer.get_by_label("Your answer")
    field.focus()
    page.keyboard.press("q")
    page.keyboard.press(" ")
    assert step_of(viewer) == k + 1 and field.input_value() == ""


def test_a_clickers_keys_make_one_step_wherever_the_focus_is_on_the_stage(show, visit, trace):
    """The list of speeds took them as its own, and played at another speed from then on."""
    k = step_at(trace, "primal", "v1") - 1
    viewer, page = show(trace, 1280, 720, step=k, views=["predict", "cut"]), visit.page
    viewer.get_by_role("button", name="Stage mode").click()
    places = "button, input, select, summary, a[href], [tabindex]"
    found = viewer.evaluate_handle(
        "(root, places) => [root, ...root.querySelectorAll(places)].filter((e) => {"
        " e.focus(); return document.activeElement === e; })",
        places,
    )
    kinds = found.evaluate("all => all.map((e) => e.tagName)")
    assert {"BUTTON", "INPUT", "SELECT", "SUMMARY"} <= set(kinds)
    for i, kind in enumerate(kinds):
        found.evaluate("(all, i) => all[i].focus()", i)
        page.keyboard.press("PageDown")
        assert step_of(viewer) == k + 1, kind
        page.keyboard.press("PageUp")
        assert step_of(viewer) == k, kind
    assert viewer.get_by_label("Speed").input_value() == "1"


def test_a_phone_has_one_line_of_buttons_and_all_results(show, trace):
    viewer = show(trace, 390, 844)
    results = viewer.locator(".mg-found")
    assert results.count() == 3
    seen = viewer.locator(".mg-now").bounding_box()
    for chip in results.all():
        box = chip.bounding_box()
        assert box["x"] >= seen["x"] and box["x"] + box["width"] <= seen["x"] + seen["width"]
    tops = viewer.locator(".mg-bar :is(.mg-btn, .mg-speed):visible").evaluate_all(
        "all => all.map((e) => e.getBoundingClientRect()).map((b) => (b.top + b.bottom) / 2)"
    )
    assert len(tops) == 8 and max(tops) - min(tops) < 4


def test_before_the_first_step_no_answer_is_shown_and_inputs_and_seeds_are_not_asked(
    show, visit, trace
):
    viewer = show(trace, 1280, 720)
    values = lambda: set(viewer.locator(".mg-value").all_text_contents()) - {""}
    assert "11.65" in values(), "off the stage the result stands there"
    viewer.get_by_role("button", name="Stage mode").click()
    assert not values()
    assert "Press Page Down or Space to take a step" in viewer.locator(".mg-say").inner_text()
    visit.page.keyboard.press("q")
    assert "11.65" in values(), "without questions there is nothing to give away"
    visit.page.keyboard.press("q")
    assert not values()
    for k in (1, 2):
        visit.page.keyboard.press("PageDown")
        assert step_of(viewer) == k and trace["steps"][k - 1]["phase"] == "primal"
    visit.page.keyboard.press("PageDown")
    assert step_of(viewer) == 2, "the third step computes something"


def test_a_pointer_at_rest_lights_nothing_after_a_key_and_is_hidden(show, visit, trace):
    viewer, page = show(trace, 1280, 720, step=5), visit.page
    soon = "globalThis.setTimeout = (set => (act, ms) => set(act, ms / 30))(globalThis.setTimeout)"
    page.evaluate(f"() => {{ globalThis.before = setTimeout; {soon}; }}")
    viewer.focus()
    page.keyboard.press("f")
    until(page, "document.fullscreenElement?.classList.contains('mg-stage')")
    box = viewer.locator(".mg-node[data-node='v4']")
    box.hover()
    assert viewer.locator(".mg-node.mg-hover").get_attribute("data-node") == "v4"
    assert viewer.locator(".mg-source mark").inner_text() == "mg.sin(x2)"
    page.keyboard.press("ArrowLeft")
    assert viewer.locator(".mg-hover").count() == 0
    assert viewer.locator(".mg-source mark").all_inner_texts() != ["mg.sin(x2)"]
    until(page, "getComputedStyle(document.querySelector('.mg-node')).cursor === 'none'")
    page.evaluate("() => { globalThis.setTimeout = before; }")
    page.mouse.move(3, 3)
    assert viewer.evaluate("e => getComputedStyle(e).cursor") != "none"


def test_the_address_leads_to_a_step(visit, tmp_path, trace):
    path = tmp_path / "page.html"
    path.write_text(viz.to_html(trace, step=2), encoding="utf-8")
    page = visit.page
    page.goto(f"{path.as_uri()}#step=11")
    viewer = page.locator("section.mg-root")
    viewer.wait_for()
    assert step_of(viewer) == 11
    viewer.focus()
    page.keyboard.press("ArrowRight")
    assert page.url.endswith("#step=12")
    page.evaluate(
        "() => { window.told = 0; const set = history.replaceState.bind(history);"
        " history.replaceState = (...parts) => { window.told += 1; set(...parts); }; }"
    )
    for _ in range(5):
        page.keyboard.press("ArrowLeft")
    until(page, "location.hash === '#step=7'")
    assert page.evaluate("() => window.told") < 5, "each takes long, and Safari refuses many"
    page.keyboard.press("ArrowLeft")
    page.goto(f"{path.as_uri()}#step=3")
    until(page, "document.querySelector('.mg-counter').textContent.startsWith('3 ')")
    assert page.url.endswith("#step=3"), "what the reader has opened stays in the address"
    for other in ("", "#nothing", "#step=x"):
        page.goto("about:blank")
        page.goto(path.as_uri() + other)
        viewer.wait_for()
        assert step_of(viewer) == 2
    page.goto("about:blank")
    page.goto(f"{path.as_uri()}#step=999")
    viewer.wait_for()
    assert step_of(viewer) == len(trace["steps"])
    visit.assert_clean()


def test_on_the_stage_a_button_copies_the_link_of_the_step(visit, tmp_path, trace):
    path = tmp_path / "page.html"
    path.write_text(viz.to_html(trace), encoding="utf-8")
    page = visit.page
    page.set_viewport_size({"width": 1280, "height": 720})
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto(f"{path.as_uri()}#step=5")
    viewer = page.locator("section.mg-root")
    viewer.wait_for()
    button = viewer.locator("button.mg-link")
    assert button.is_hidden()
    page.keyboard.press("f")
    until(page, "document.querySelector('.mg-stage')")
    button.click()
    viewer.get_by_role("button", name="Copied").wait_for()
    link = f"{path.as_uri()}#step=5&stage"
    assert page.evaluate("navigator.clipboard.readText()") == link
    page.keyboard.press("q")
    page.keyboard.press("Space")
    assert step_of(viewer) == 6, "the next key is a step again"
    page.goto("about:blank")
    page.goto(link)
    viewer.wait_for()
    assert step_of(viewer) == 5 and viewer.evaluate("e => e.classList.contains('mg-stage')")
    # where the clipboard is not to be had
    page.evaluate("() => Object.defineProperty(navigator, 'clipboard', { value: undefined })")
    button.click()
    field = viewer.get_by_role("textbox", name="Copy link")
    assert field.input_value() == link
    assert page.evaluate("getSelection().toString()") == link
    page.keyboard.press("Tab")
    assert field.is_hidden()
    button.click()
    page.keyboard.press("b")
    assert black(page), "the keys of the stage act"
    page.keyboard.press("b")
    page.keyboard.press("PageDown")
    assert field.is_hidden() and viewer.locator(".mg-asked-for").count() == 1
    button.click()
    page.keyboard.press("PageDown")
    assert step_of(viewer) == 6 and field.is_hidden(), "the link would be that of another step"
    button.click()
    page.keyboard.press("Escape")
    assert field.is_hidden() and viewer.evaluate("e => e === document.activeElement")
    assert viewer.evaluate("e => e.matches('.mg-stage')")
    page.goto(f"{path.as_uri()}#step=999&stage")
    until(page, "!document.querySelector('.mg-counter').textContent.startsWith('6')")
    button.click()
    assert field.input_value().endswith(f"#step={len(trace['steps'])}&stage")
    page.goto("about:blank")
    page.goto(f"{path.as_uri()}#stage")
    viewer.wait_for()
    assert step_of(viewer) == 0 and viewer.evaluate("e => e.classList.contains('mg-stage')")
    visit.assert_clean()


def test_f_on_a_slider_above_the_viewer_opens_the_stage(visit, tmp_path):
    path = viz.sliders(mg.sin, x=(-1.0, 1.0), points=5, live=False).save(tmp_path / "page.html")
    page = visit.page
    page.goto(path.as_uri())
    slider = page.locator(".mg-strip .mg-slider")
    slider.focus()
    page.keyboard.press("PageUp")
    assert step_of(page) == 0, "its other keys are its own"
    page.keyboard.press("f")
    page.locator(".mg-stage:fullscreen").wait_for()
    page.keyboard.press("PageDown")
    assert step_of(page) == 1
    page.keyboard.press("Escape")
    page.locator(".mg-root:not(.mg-stage) .mg-counter").wait_for()
    visit.assert_clean()


def test_in_a_notebook_the_stage_has_no_link(show, trace):
    assert show(trace).locator(".mg-link").count() == 0


def test_the_present_step_is_saved_as_a_picture(show, visit, trace, tmp_path):
    visit.page.emulate_media(color_scheme="dark")
    k = step_at(trace, "adjoint", "x2")
    viewer = show(trace, 1280, 800, step=k)
    for kind in ("svg", "png"):
        viewer.get_by_label("View", exact=True).click()
        with visit.page.expect_download() as download:
            viewer.get_by_role("button", name=kind.upper()).click()
        viewer.get_by_label("View", exact=True).click()
        assert download.value.suggested_filename == f"step-{k}.{kind}"
        download.value.save_as(tmp_path / f"saved.{kind}")
    root = ElementTree.parse(tmp_path / "saved.svg").getroot()
    texts = ["".join(e.itertext()) for e in root.iter("{http://www.w3.org/2000/svg}text")]
    last = next(i for i, t in enumerate(texts) if t == trace["title"])
    assert any("−0.2837" in t for t in texts[:last])
    assert "cos" in texts[last + 1] and "x2" in texts[last + 1]
    assert " ".join(texts[last + 2 :]) == viewer.locator(".mg-say").inner_text()
    text = (tmp_path / "saved.svg").read_text(encoding="utf-8")
    assert "var(--" not in text and "class=" not in text, "it needs no stylesheet"
    ground = viewer.evaluate("e => getComputedStyle(e).backgroundColor")
    assert f'fill="{ground}"' in text
    image = pytest.importorskip("PIL.Image", reason="Pillow is not installed")
    picture = image.open(tmp_path / "saved.png").convert("RGB")
    assert picture.width >= 1500
    colour = tuple(map(int, re.findall(r"\d+", ground)[:3]))
    assert picture.getpixel((2, 2)) == colour
    assert len(set(picture.get_flattened_data())) > 50, "not an empty page"


def test_in_a_frame_of_a_notebook_the_present_step_is_copied_and_saved(visit, trace, tmp_path):
    """The frame is sandboxed: what it may do must be said, or the buttons would do nothing."""
    page, path = visit.page, tmp_path / "output.html"
    path.write_text(f"<!DOCTYPE html><body>{viz.iframe(trace, 4)._repr_html_()}", encoding="utf-8")
    # a browser with a window allows writing after a click
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto(path.as_uri())
    viewer = page.frame_locator("iframe.minigrad-frame").locator(".mg-root")
    viewer.get_by_label("View", exact=True).click()
    with page.expect_download() as download:
        viewer.get_by_role("button", name="SVG").click()
    assert download.value.suggested_filename == "step-4.svg"
    viewer.get_by_role("button", name="Copy").click()
    viewer.get_by_role("button", name="Copied").wait_for()
    kinds = page.evaluate(
        "navigator.clipboard.read().then(([item]) => item.getType('image/png')).then(b => b.size)"
    )
    assert kinds > 5000
    visit.assert_clean()


def three_lines(x1, x2):
    a = mg.log(x1) + x1 * x2
    return a - mg.sin(x2)


@pytest.mark.parametrize("size", [(1280, 720), (1440, 900)])
def test_the_graph_has_half_of_the_stage_beside_three_lines_of_code(show, visit, size):
    """The formula has no sentence below it; before the first step its space has the function."""
    found = trace_function(three_lines, 2.0, 5.0, mode="reverse")
    viewer = show(found, *size)
    viewer.focus()
    visit.page.keyboard.press("f")
    until(visit.page, "document.fullscreenElement?.classList.contains('mg-stage')")
    height = lambda part: viewer.locator(part).bounding_box()["height"]
    assert viewer.locator(".mg-opening").inner_text() == "three_lines(x1, x2), x1 = 2, x2 = 5"
    assert height(".mg-graph") >= 0.53 * size[1]
    lines = viewer.locator(".mg-source .mg-scroll").evaluate("e => e.scrollHeight - e.clientHeight")
    assert lines <= 0
    longest = next(k for k, s in enumerate(found["steps"], 1) if s["phase"] == "accumulate")
    visit.page.keyboard.press("q")
    tall = height(".mg-now")
    to(viewer, longest)
    assert height(".mg-now") == tall and viewer.locator(".mg-opening").is_hidden()
    assert height(".mg-equation") < tall <= 0.2 * size[1], "its letters are smaller"
    say = viewer.locator(".mg-say")
    assert say.bounding_box()["height"] == 1, "the formula says it in letters that can be read"
    assert say.inner_text() == found["steps"][longest - 1]["say"]


LOOKS = """root => [...root.querySelectorAll("text, path, rect, circle")].map((e) => {
    const look = getComputedStyle(e);
    return ["fill", "stroke", "stroke-width", "stroke-linejoin", "paint-order", "opacity",
        "fill-opacity", "font-size", "letter-spacing", "text-anchor", "dominant-baseline",
        "visibility"].map((name) => look.getPropertyValue(name)).join();
})"""


def test_a_saved_picture_looks_as_the_graph_does(show, visit, tmp_path):
    """The shapes on the wires too, which a stroke in the colour of the ground goes round."""
    found = trace_function(lambda W, x: mg.tanh(W @ x).sum(), [[1.0, 2.0], [3.0, 4.0]], [5.0, 6.0])
    viewer = show(found, 1280, 800, step=4)
    seen = viewer.locator(".mg-svg").evaluate(LOOKS)
    assert viewer.locator(".mg-svg .mg-shape").count() > 2
    viewer.get_by_label("View", exact=True).click()
    with visit.page.expect_download() as download:
        viewer.get_by_role("button", name="SVG").click()
    download.value.save_as(tmp_path / "saved.svg")
    visit.page.goto((tmp_path / "saved.svg").as_uri())
    saved = visit.page.locator("svg").evaluate(LOOKS)
    assert saved[1 : 1 + len(seen)] == seen, "the first is the ground, the last are the caption"


def two_layers(x, W1, b1, W2, b2):
    h = mg.tanh(x @ W1 + b1)
    return mg.mean((h @ W2 + b2) ** 2)


def layers():
    shapes = [(4, 3), (3, 5), (5,), (5, 2), (2,)]
    return [np.random.default_rng(0).normal(size=shape).round(2) for shape in shapes]


def test_of_a_wide_network_the_nodes_at_work_are_in_view_and_can_be_read_from_the_last_row(
    show, visit
):
    found = trace_function(two_layers, *layers())
    viewer = show(found, 1280, 800)
    viewer.focus()
    visit.page.keyboard.press("f")
    until(visit.page, "document.fullscreenElement?.classList.contains('mg-stage')")
    visit.page.keyboard.press("q")
    hidden = """root => {
        const seen = root.querySelector(".mg-graph").getBoundingClientRect(),
            code = root.querySelector(".mg-source .mg-scroll").getBoundingClientRect(),
            lit = root.querySelector(".mg-source mark")?.getBoundingClientRect() ?? code;
        return [...root.querySelectorAll(":is(.mg-read, .mg-write) > .mg-card")]
            .map((e) => e.getBoundingClientRect())
            .filter((e) => e.top < seen.top || e.bottom > seen.bottom || e.left < seen.left
                || e.right > seen.right).length
            + (lit.top < code.top - 1 || lit.bottom > code.bottom + 3);
    }"""
    for k in (step_at(found, "adjoint", "W1"), 1, step_at(found, "primal", "v7")):
        to(viewer, k)
        until(visit.page, f"!({hidden})(document.querySelector('.mg-stage'))")
        assert scale(viewer) * 10.5 > 800 / 71, "all letters have a 70th of the screen's height"
    assert viewer.locator(".mg-strip-of").is_visible(), "and the whole is there in small"


def scale(viewer):
    return viewer.locator(".mg-svg").evaluate(
        "e => e.getBoundingClientRect().width / e.viewBox.baseVal.width"
    )


def rounds(x):
    for _ in range(60):
        x = mg.tanh(x) * 1.01 + 0.1
    return x


class Convolutional(mg.nn.Module):
    def __init__(self):
        super().__init__()
        self.c1 = mg.nn.Conv2d(1, 2, 3)
        self.fc = mg.nn.Linear(8, 3)

    def forward(self, x):
        x = mg.nn.functional.max_pool2d(mg.relu(self.c1(x)), 2)
        return self.fc(x.reshape(len(x), -1))


def under_a_loss(x):
    return mg.nn.functional.cross_entropy(Convolutional()(x), mg.tensor([0, 2]))


PICTURE = """root => [
    [...root.querySelectorAll(".mg-node")].map((e) => {
        const { x, y, width } = e.querySelector(".mg-card").getBoundingClientRect();
        return [e.dataset.node, x, y, width];
    }),
    [...root.querySelectorAll(".mg-source mark")].map((e) => e.textContent),
    root.dataset.now]"""


@pytest.mark.parametrize(
    "found",
    [trace_function(rounds, 0.5), trace_function(under_a_loss, mg.ones(2, 1, 6, 6))],
    ids=["loop", "network"],
)
def test_the_picture_at_a_question_is_that_of_its_answer(show, visit, found):
    steps = found["steps"]
    asking = [k for k, s in enumerate(steps) if s["edges"] and s["phase"] != "seed"]
    viewer, page = show(found, 1280, 720, step=asking[0]), visit.page
    viewer.focus()
    page.keyboard.press("f")
    until(page, "document.fullscreenElement?.classList.contains('mg-stage')")
    for k in asking[len(asking) // 3 :: len(asking) // 4]:
        to(viewer, k)
        page.keyboard.press("PageDown")
        assert step_of(viewer) == k and viewer.locator(".mg-formula").inner_text().endswith("?")
        page.wait_for_timeout(500)  # a smooth scroll
        asked = viewer.evaluate(PICTURE)
        node = viewer.locator(".mg-asked-for").get_attribute("data-node")
        assert node == steps[k]["node"]
        for height in ("90%", ""):  # it is arranged again
            viewer.evaluate("(e, height) => { e.style.height = height; }", height)
            page.wait_for_timeout(50)
        assert viewer.locator(".mg-asked-for").count() == 1, "the question stays"
        page.keyboard.press("PageDown")
        page.wait_for_timeout(500)
        assert step_of(viewer) == k + 1
        answered = viewer.evaluate(PICTURE)
        assert answered[-2:] == asked[-2:]
        assert [name for name, *_ in answered[0]] == [name for name, *_ in asked[0]]
        for (_, *now), (_, *before) in zip(answered[0], asked[0], strict=True):
            assert now == pytest.approx(before, abs=2)  # pixels
        page.keyboard.press("PageUp")
        assert viewer.locator(".mg-asked-for").count() == 0, "back is the step before"


CUT = """root => {
    const seen = root.querySelector(".mg-graph").getBoundingClientRect(),
        strip = root.querySelector(".mg-strip-of:not(.mg-gone)")?.getBoundingClientRect(),
        cut = [...root.querySelectorAll(".mg-node")].filter((e) => {
            const box = e.querySelector(".mg-card").getBoundingClientRect();
            return box.left < seen.left - 3 || box.right > seen.right + 3
                || box.top < seen.top - 3 || box.bottom > seen.bottom + 3;
        });
    return [
        strip && strip.top < seen.bottom - 1 ? "the strip covers the graph" : "",
        ...cut.filter((e) => getComputedStyle(e).opacity > 0.3).map((e) => e.dataset.node)
    ].filter(Boolean);
}"""
SMALLEST = """root => {
    const svg = root.querySelector(".mg-svg");
    return Math.min(...[...svg.querySelectorAll("text")].filter((e) => e.textContent)
        .map((e) => parseFloat(getComputedStyle(e).fontSize))) *
        svg.getBoundingClientRect().width / svg.viewBox.baseVal.width;
}"""


@pytest.mark.parametrize("size", [(1280, 800), (1920, 1080)])
@pytest.mark.parametrize(
    "make",
    [
        lambda: trace_function(rounds, 0.5),
        lambda: trace_function(under_a_loss, mg.ones(2, 1, 6, 6)),
        lambda: trace_function(two_layers, *layers()),
    ],
    ids=["loop", "convolution", "layers"],
)
def test_on_the_stage_each_step_is_whole_in_letters_that_can_be_read(show, visit, make, size):
    found = make()
    n = len(found["steps"])
    viewer = show(found, *size)
    viewer.focus()
    visit.page.keyboard.press("f")
    until(visit.page, "document.fullscreenElement?.classList.contains('mg-stage')")
    visit.page.keyboard.press("q")
    for k in range(0, n, max(1, n // 7)):
        to(viewer, k)
        until(visit.page, f"!({CUT})(document.querySelector('.mg-stage')).length")
        whole = viewer.locator(".mg-cut").count() == 0  # a graph that nearly fits is smaller
        assert viewer.evaluate(SMALLEST) > size[1] / 71 * (0.8 if whole else 1)
    visit.assert_clean()


def squares(x, w, b):
    return mg.mean((mg.sigmoid(x @ w + b) - mg.tensor([1.0, 0.0, 1.0])) ** 2)


def squares_at():
    return mg.tensor([[1.0, 2.0], [3.0, 4.0], [0.0, 1.0]]), mg.tensor([0.5, -0.25]), 0.5


@pytest.mark.parametrize("size", [(1280, 720), (1920, 1080)])
def test_on_the_stage_every_formula_and_question_begins_at_the_same_place(show, visit, size):
    """Short or long: the name of the pass stands on a line of its own above it."""
    viewer, page = show(trace_function(f, 2.0, 5.0, mode="both"), *size), visit.page
    viewer.focus()
    page.keyboard.press("f")
    until(page, "document.fullscreenElement?.classList.contains('mg-stage')")
    tops = set()
    for _ in range(30):
        page.keyboard.press("PageDown")
        boxes = [viewer.locator(part).bounding_box() for part in (".mg-badge", ".mg-formula")]
        if viewer.locator(".mg-formula").inner_text().endswith("?"):
            assert viewer.locator(".mg-say").bounding_box()["width"] > 100, "its sentence, too"
        tops.add(tuple(round(box["y"]) for box in boxes))
    ((badge, formula),) = tops
    assert formula - badge > 20
    visit.assert_clean()


def test_a_graph_that_nearly_fits_the_stage_is_whole(show, visit):
    viewer = show(trace_function(squares, *squares_at()), 1920, 1080, step=14)
    viewer.focus()
    visit.page.keyboard.press("f")
    until(visit.page, "document.fullscreenElement?.classList.contains('mg-stage')")
    until(visit.page, "document.querySelector('.mg-cut') === null")
    assert 0.8 / 735 <= scale(viewer) / 1080 < 1 / 735
    visit.page.keyboard.press("+")
    until(visit.page, "document.querySelector('.mg-cut')")
    visit.page.keyboard.press("0")
    until(visit.page, "document.querySelector('.mg-cut') === null")
    visit.assert_clean()


def test_a_key_shows_the_whole_graph_on_the_stage_and_back(show, visit):
    viewer, page = show(trace_function(two_layers, *layers()), 1280, 800, step=7), visit.page
    viewer.focus()
    page.keyboard.press("f")
    until(page, "document.fullscreenElement?.classList.contains('mg-stage')")
    until(page, "document.querySelector('.mg-cut')")
    before = scale(viewer)
    page.keyboard.press("0")
    until(page, "document.querySelector('.mg-cut') === null")
    assert scale(viewer) < before
    page.keyboard.press("0")
    assert scale(viewer) == before and viewer.locator(".mg-cut").count()
    page.keyboard.press("0")
    page.keyboard.press("f")
    until(page, "!document.querySelector('.mg-stage') && !document.fullscreenElement")
    page.keyboard.press("f")
    until(page, "document.fullscreenElement?.classList.contains('mg-stage')")
    until(page, "document.querySelector('.mg-cut')")
    assert scale(viewer) == before, "it opens with what can be read"
    visit.assert_clean()


def test_a_picture_that_is_saved_on_the_stage_has_all_cards_whole(show, visit, tmp_path):
    viewer = show(trace_function(two_layers, *layers()), 1280, 800, step=7)
    viewer.focus()
    visit.page.keyboard.press("f")
    until(visit.page, "document.fullscreenElement?.classList.contains('mg-stage')")
    cut = viewer.locator(".mg-cut")
    faint = cut.count()
    viewer.get_by_label("View", exact=True).click()
    with visit.page.expect_download() as download:
        viewer.get_by_role("button", name="SVG").click()
    download.value.save_as(tmp_path / "saved.svg")
    assert cut.count() == faint > 0
    text = (tmp_path / "saved.svg").read_text(encoding="utf-8")
    assert 'opacity="0.3"' not in text
    visit.assert_clean()


def six_lines(x1, x2):
    a = mg.log(x1)
    b = x1 * x2
    c = mg.sin(x2)
    d = a + b
    return d - c


def test_the_stage_has_four_whole_lines_of_code(show, visit):
    found = trace_function(six_lines, 2.0, 5.0, mode="primal")
    viewer, page = show(found, 1280, 720), visit.page
    viewer.focus()
    page.keyboard.press("f")
    until(page, "document.fullscreenElement?.classList.contains('mg-stage')")
    lines = """root => {
        const box = root.querySelector(".mg-source .mg-scroll"), { top, bottom } =
            box.getBoundingClientRect(), text = box.querySelector(".mg-gutter"),
            height = parseFloat(getComputedStyle(text).lineHeight);
        const from = (top - text.getBoundingClientRect().top) / height;
        return [from + 1, from + (bottom - top) / height];
    }"""
    for k, first, last in [
        (0, 1, 4),
        (step_at(found, "primal", "v5"), 3, 6),
        (step_at(found, "primal", "v4"), 3, 6),
        (step_at(found, "primal", "v1"), 1, 4),
    ]:
        to(viewer, k)
        page.wait_for_timeout(50)
        assert viewer.evaluate(lines) == pytest.approx([first, last], abs=0.15)


def test_the_help_names_the_keys_that_act_on_the_stage_and_off_it(show, visit, trace):
    viewer, page = show(trace, 1280, 900), visit.page
    viewer.focus()
    page.keyboard.press("?")
    rows = lambda: [
        row.split("\n")
        for row in viewer.locator(".mg-help dl").first.evaluate(
            """e => [...e.querySelectorAll("dt")].filter((dt) => dt.checkVisibility()).map((dt) =>
                [[...dt.childNodes].map((key) => key.textContent).join(" ").trim(),
                    dt.nextSibling.textContent].join("\\n"))"""
        )
    ]
    told = dict(rows())
    assert told["PgUp PgDn"] == "previous, next phase" and told["Space"] == "play, pause"
    assert "Q" not in told and "F" in told
    assert told["View"].startswith("Predict the next value, "), "the menu with further views"
    page.keyboard.press("f")
    until(page, "document.fullscreenElement?.classList.contains('mg-stage')")
    told = dict(rows())
    assert "PgUp PgDn" not in told and "Space" not in told
    (keys,) = [keys for keys, what in told.items() if what.startswith("back; the question")]
    k = step_at(trace, "primal", "v1") - 1
    for key in keys.replace("←", "").replace("PgUp", "").split():
        key = {"→": "ArrowRight", "PgDn": "PageDown"}.get(key, key)
        to(viewer, k)
        page.keyboard.press(key)
        assert step_of(viewer) == k and viewer.locator(".mg-asked-for").count() == 1, key
        page.keyboard.press(key)
        assert step_of(viewer) == k + 1, key
    assert told["Q"] == "questions on, off" and "F Esc" in told


@pytest.mark.parametrize("opened", ["help", "menu"])
def test_esc_closes_the_help_or_the_menu_and_only_then_ends_the_stage(show, visit, trace, opened):
    viewer, page = show(trace, 1280, 800, step=5), visit.page
    part = viewer.locator(".mg-help" if opened == "help" else ".mg-popup")
    name = "Help" if opened == "help" else "View"
    viewer.focus()
    page.keyboard.press("f")
    until(page, "document.fullscreenElement?.classList.contains('mg-stage')")
    for end in (lambda: page.keyboard.press("Escape"), lambda: page.evaluate(BROWSERS_ESC)):
        viewer.get_by_label(name, exact=True).click()
        assert part.is_visible()
        end()
        part.wait_for(state="hidden")
        page.wait_for_timeout(100)
        assert viewer.evaluate("e => e.matches('.mg-stage')")
        assert viewer.evaluate("e => e === document.activeElement"), "the next key is the stage's"
    page.keyboard.press("Escape")
    until(page, "!document.querySelector('.mg-stage')")
    page.keyboard.press("f")
    until(page, "document.fullscreenElement?.classList.contains('mg-stage')")
    page.evaluate(BROWSERS_ESC)
    until(page, "!document.querySelector('.mg-stage')")
    visit.assert_clean()


BROWSERS_ESC = "document.exitFullscreen()"
"""What a browser with a window does at Esc: the page is told of the end alone, of no key."""


def test_esc_closes_the_text_about_a_formula_and_only_then_leaves_the_viewer(show, visit):
    found = trace_function(lambda x: mg.where(x > 0, x, -x), 2.0, mode="reverse")
    viewer, page = show(found, 1280, 800), visit.page
    k = next(k for k, s in enumerate(found["steps"], 1) if '"where"' in json.dumps(s["formula"]))
    to(viewer, k)
    viewer.locator(".mg-means").click()
    assert viewer.locator(".mg-meaning").is_visible()
    page.keyboard.press("Escape")
    assert viewer.locator(".mg-meaning").is_hidden()
    for place in (".mg-means", "section.mg-root"):  # from the button to the viewer, then out of it
        assert page.evaluate("p => document.activeElement.matches(p)", place)
        page.keyboard.press("Escape")
    assert not viewer.evaluate("e => e.contains(document.activeElement)")


def test_a_step_on_the_stage_closes_the_help(show, visit, trace):
    k = step_at(trace, "adjoint", "x2") - 1
    viewer, page = show(trace, 1280, 800, step=k), visit.page
    help_, button = viewer.locator(".mg-help"), viewer.get_by_label("Help", exact=True)
    viewer.focus()
    page.keyboard.press("?")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowRight")
    assert step_of(viewer) == k and help_.is_visible(), "off the stage it hides nothing"
    page.keyboard.press("f")
    until(page, "document.fullscreenElement?.classList.contains('mg-stage')")
    page.keyboard.press("PageDown")
    assert viewer.locator(".mg-asked-for").count() == 1 and help_.is_hidden()
    button.click()
    page.keyboard.press("PageDown")
    assert step_of(viewer) == k + 1 and help_.is_hidden()
    page.keyboard.press("Space")
    page.keyboard.press("Space")
    assert step_of(viewer) == k + 2 and help_.is_hidden(), "the button has the focus no longer"
    button.click()
    viewer.get_by_role("button", name="Back", exact=True).click()
    assert step_of(viewer) == k + 1 and help_.is_hidden()


def black(page):
    image = pytest.importorskip("PIL.Image", reason="Pillow is not installed")
    picture = image.open(io.BytesIO(page.screenshot())).convert("RGB")
    return picture.getextrema() == ((0, 0),) * 3


@pytest.mark.parametrize("key", ["b", "."])
def test_on_the_stage_a_key_makes_the_screen_black_and_back(show, visit, trace, key):
    k = step_at(trace, "adjoint", "x2") - 1
    viewer, page = show(trace, 1280, 720, step=k), visit.page
    viewer.focus()
    page.keyboard.press(key)
    assert not black(page), "off the stage it does nothing"
    page.keyboard.press("f")
    until(page, "document.fullscreenElement?.classList.contains('mg-stage')")
    for back in (key, "PageDown", "ArrowLeft", "Space", "Escape", "f", "?"):
        page.keyboard.press(key)
        assert black(page), back
        page.keyboard.press(back)
        assert not black(page), back
        assert viewer.evaluate("e => e.matches('.mg-stage')") and step_of(viewer) == k
        assert viewer.locator(".mg-help").is_hidden()
    assert viewer.locator(".mg-asked-for").count() == 0, "no step was made in the dark"
    page.keyboard.press(key)
    page.evaluate(BROWSERS_ESC)
    until(page, "!document.fullscreenElement")
    page.wait_for_timeout(100)
    assert not black(page) and viewer.evaluate("e => e.matches('.mg-stage')")
    visit.assert_clean()


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_the_key_for_a_black_screen_is_in_the_help_of_the_stage_alone(show, visit, trace, lang):
    viewer, page = show(trace, 1280, 900, lang=lang), visit.page
    viewer.focus()
    page.keyboard.press("?")
    said = viewer.locator(".mg-help dd").get_by_text(
        {"en": "black screen on, off", "zh": "开关黑屏"}[lang], exact=True
    )
    keys = said.locator("xpath=preceding-sibling::dt[1]/kbd")
    assert keys.all_text_contents() == ["B", "."] and said.is_hidden()
    page.keyboard.press("f")
    until(page, "document.fullscreenElement?.classList.contains('mg-stage')")
    assert said.is_visible()


def test_in_the_answer_of_predict_mode_b_makes_the_screen_black_on_the_stage_alone(
    show, visit, trace
):
    k = step_at(trace, "primal", "v1") - 1
    viewer, page = show(trace, 1280, 720, step=k, views=["predict"]), visit.page
    field = viewer.get_by_label("Your answer")
    field.focus()
    page.keyboard.press("b")
    assert field.input_value() == "b", "off the stage it is typed"
    field.fill("")
    viewer.get_by_role("button", name="Stage mode").click()
    field.focus()
    page.keyboard.press("b")
    assert black(page) and field.input_value() == ""
    page.keyboard.press("PageDown")
    assert not black(page) and step_of(viewer) == k, "the value was not shown in the dark"
    field.focus()
    page.keyboard.type(".5")
    assert not black(page) and field.input_value() == ".5", "an answer may begin with a point"
    visit.assert_clean()


@pytest.mark.parametrize("questions", [True, False])
def test_after_the_last_step_the_stage_states_the_results(show, visit, trace, questions):
    n = len(trace["steps"])
    viewer, page = show(trace, 1280, 800, step=n), visit.page
    last = viewer.locator(".mg-formula").text_content()
    results = lambda: [one.replace(" ", "") for one in viewer.locator(RESULT).all_inner_texts()]
    viewer.focus()
    page.keyboard.press("PageDown")
    assert viewer.locator(".mg-formula").text_content() == last, "off the stage it stays"
    page.keyboard.press("f")
    until(page, "document.fullscreenElement?.classList.contains('mg-stage')")
    if not questions:
        page.keyboard.press("q")
    for _ in range(2):
        page.keyboard.press("PageDown")
        assert step_of(viewer) == n and viewer.locator(".mg-formula").text_content() == ""
        numbers = [one.split("=")[1].strip() for one in results()]
        assert numbers == ["11.65", "5.5", "1.716"]
        assert viewer.locator(".mg-say").inner_text() == ""
    assert viewer.locator(RESULT).first.evaluate(SIZE) >= 24, "letters for the last row"
    assert "mg-found" not in viewer.locator(".mg-sum").first.get_attribute("class")
    page.keyboard.press("PageUp")
    assert step_of(viewer) == n and viewer.locator(".mg-formula").text_content() == last
    page.keyboard.press("PageUp")
    assert step_of(viewer) == n - 1
    page.keyboard.press("End")
    page.keyboard.press("PageDown")
    page.keyboard.press("f")
    until(page, "!document.querySelector('.mg-stage')")
    assert viewer.locator(".mg-formula").text_content() == last
    visit.assert_clean()


RESULT = ".mg-sums .mg-sum"
SIZE = "e => parseFloat(getComputedStyle(e).fontSize)"


def test_a_pass_that_ends_without_results_keeps_its_last_step_on_the_stage(show, visit):
    found = {**trace_function(f, 2.0, 5.0, mode="reverse")}
    found["steps"] = found["steps"][:3]
    viewer, page = show(found, 1280, 800, step=3), visit.page
    last = viewer.locator(".mg-formula").text_content()
    viewer.focus()
    page.keyboard.press("f")
    page.keyboard.press("PageDown")
    assert step_of(viewer) == 3 and viewer.locator(".mg-formula").text_content() == last != ""
    visit.assert_clean()


def test_the_size_of_a_long_formula_is_found_with_few_measures(show, visit):
    given = [np.random.default_rng(0).normal(size=shape).round(2) for shape in [(3, 3)] * 2]
    found = trace_function(
        lambda a, b: (mg.tanh(a @ b) * mg.sigmoid(a) + b / (a + 9)).sum(), *given
    )
    viewer, page = show(found, 1280, 720), visit.page
    viewer.focus()
    page.keyboard.press("f")
    page.keyboard.press("q")
    until(page, "document.fullscreenElement?.classList.contains('mg-stage')")
    page.evaluate(
        """() => { window.sizes = []; const set = CSSStyleDeclaration.prototype.setProperty;
        CSSStyleDeclaration.prototype.setProperty = function (name, value) {
            if (name === "--mg-fit") window.sizes.push(Number(value));
            set.call(this, name, value); }; }"""
    )
    smaller = 0
    for k in range(len(found["steps"])):
        page.evaluate("() => { window.sizes = []; }")
        page.keyboard.press("PageDown")
        sizes = page.evaluate("() => window.sizes")
        assert sizes[0] == 1 and len(sizes) <= 7
        smaller += sizes[-1] < 1
        tall = viewer.locator(".mg-equation").bounding_box()["height"]
        assert tall <= 0.18 * 720 or sizes[-1] == min(sizes) < 0.66, k
    assert smaller


def nested(x, w):
    for _ in range(2):
        for _ in range(2):
            x = x * w
        x = mg.sin(x)
    return x + w


ROUNDS = [3, 4, 6, 7, 13, 14, 16, 18, 19, 21]
"""The steps of nested() with which a round begins, or the reverse pass comes to one: w gets its
contributions outside of all rounds, and sin is in a round of the outer loop alone."""


def test_a_key_goes_to_the_next_round_of_a_loop_and_with_shift_to_the_previous_one(show, visit):
    found = trace_function(nested, 0.5, 1.2, mode="reverse")
    viewer, page = show(found, 1280, 720), visit.page
    viewer.focus()
    page.keyboard.press("?")
    help_ = viewer.locator(".mg-help dd").get_by_text("next, previous round of a loop")

    def visited(key):
        seen = []
        while page.keyboard.press(key) or step_of(viewer) not in seen[-1:]:
            seen.append(step_of(viewer))
        return seen

    assert help_.is_visible() and visited("j") == ROUNDS
    to(viewer, 5)
    assert visited("Shift+J") == [4, 3]
    page.keyboard.press("f")
    until(page, "document.fullscreenElement?.classList.contains('mg-stage')")
    assert help_.is_visible()
    assert visited("j") == [k - 1 for k in ROUNDS[1:]], "from question to question"
    assert viewer.locator(".mg-asked-for").count() == 1
    page.keyboard.press("PageDown")
    assert step_of(viewer) == ROUNDS[-1] and viewer.locator(".mg-asked-for").count() == 0
    page.keyboard.press("q")
    assert visited("Shift+J") == ROUNDS[-2::-1] and visited("J") == ROUNDS[1:]
    viewer = show(found, 1280, 720, step=2, views=["predict"])
    viewer.get_by_role("button", name="Stage mode").click()
    field = viewer.get_by_label("Your answer")
    field.focus()
    page.keyboard.press("j")
    assert step_of(viewer) == 2 and field.input_value() == "", "predict mode has asked already"
    page.keyboard.press("PageDown")
    page.keyboard.press("j")
    assert step_of(viewer) == 3
    page.keyboard.press("Shift+J")
    assert step_of(viewer) == 3
    field.fill("1")
    page.keyboard.press("j")
    assert step_of(viewer) == 3 and field.input_value() == "1j", "a letter of what is typed"
    visit.assert_clean()


def one_in_each(x):
    for _ in range(4):
        x = mg.sin(x)
    return x


def three_in_each(x):
    for _ in range(4):
        x = x * 2 + mg.sin(x)
    return x


@pytest.mark.parametrize(("make", "inside"), [(one_in_each, 1), (three_in_each, 3)])
def test_on_the_stage_one_press_leads_from_a_rounds_question_to_the_next_rounds(
    show, visit, make, inside
):
    """In both directions; from an answer too, and over the seed, which asks nothing."""
    found = trace_function(make, 0.5, mode="reverse")
    viewer, page = show(found, 1280, 720), visit.page
    viewer.focus()
    page.keyboard.press("f")
    until(page, "document.fullscreenElement?.classList.contains('mg-stage')")

    def asked(key):
        page.keyboard.press(key)
        assert viewer.locator(".mg-asked-for").count() == 1
        return step_of(viewer)

    first = [1 + inside * i for i in range(4)]
    assert [asked("j") for _ in first] == first
    assert [asked("Shift+J") for _ in first[1:]] == first[-2::-1]
    page.keyboard.press("PageDown")
    assert asked("j") == first[1]
    page.keyboard.press("PageDown")
    assert asked("Shift+J") == first[0]
    seed = 1 + inside * 4
    sent = len([s for s in found["steps"][seed + 1 :] if s["node"] != "x"]) // 3
    back = [seed + 1 + sent * i for i in range(3)]
    assert [asked("j") for _ in range(6)] == [*first[1:], *back]
    assert asked("Shift+J") == back[-2]
    visit.assert_clean()


def test_where_there_is_no_loop_the_key_of_rounds_does_nothing(show, visit, tmp_path, trace):
    viewer, page = show(viz.to_html(trace, step=5), 1280, 720), visit.page
    for key in ("j", "Shift+J", "f", "j", "Shift+J"):
        page.keyboard.press(key)
        assert step_of(viewer) == 5 and viewer.locator(".mg-asked-for").count() == 0
    assert viewer.locator(".mg-help").get_by_text("round").count() == 0, "nor is it in the help"
    visit.assert_clean()


def test_a_link_opens_the_stage_at_its_step(visit, tmp_path, trace):
    path = tmp_path / "page.html"
    path.write_text(viz.to_html(trace), encoding="utf-8")
    page = visit.page
    page.set_viewport_size({"width": 1280, "height": 720})
    page.goto(f"{path.as_uri()}#step=11&stage")
    viewer = page.locator("section.mg-root.mg-stage")
    viewer.wait_for()
    assert step_of(viewer) == 11 and page.url.endswith("#step=11&stage")
    box = viewer.bounding_box()
    assert box == {"x": 0, "y": 0, "width": 1280, "height": 720}, "it fills the window"
    page.keyboard.press("PageDown")
    page.keyboard.press("PageDown")
    until(page, "location.hash === '#step=12&stage'")
    page.keyboard.press("Escape")
    until(page, "location.hash === '#step=12' && !document.querySelector('.mg-stage')")
    page.keyboard.press("f")
    until(page, "location.hash === '#step=12&stage'")
    page.evaluate("() => { location.hash = '#step=3'; }")
    until(page, "!document.querySelector('.mg-stage')")
    assert step_of(page.locator("section.mg-root")) == 3
    visit.assert_clean()


def test_after_a_stage_of_one_line_of_code_the_table_fits_its_place(visit, tmp_path):
    path, page = tmp_path / "page.html", visit.page
    found = trace_function(two_layers, *layers())
    path.write_text(viz.to_html(found), encoding="utf-8")
    page.set_viewport_size({"width": 1280, "height": 800})
    table = page.locator(".mg-tablebox")
    look = "e => [e.scrollLeft, e.scrollWidth, e.clientWidth, e.querySelector('table').className]"
    page.goto(f"{path.as_uri()}#step=13")
    table.wait_for()
    page.wait_for_timeout(100)
    before = table.evaluate(look)
    page.goto("about:blank")
    page.goto(f"{path.as_uri()}#step=13&stage")
    page.locator(".mg-stage.mg-tight").wait_for()
    page.keyboard.press("Escape")
    table.wait_for()
    page.wait_for_timeout(100)  # it follows with the next picture
    assert table.evaluate(look) == before


def test_the_line_at_work_is_in_view_in_a_long_source(show, visit):
    code = "\n".join(["def long(x):", *(f"    x = x + {k}" for k in range(20)), "    return x"])
    space = {}
    exec(code, space)
    viewer = show(trace_function(space["long"], 2.0, mode="primal", source=code))
    beside = """root => {
        const code = root.querySelector(".mg-source .mg-scroll").getBoundingClientRect(),
            lit = root.querySelector(".mg-source mark").getBoundingClientRect();
        return lit.top < code.top || lit.bottom > code.bottom;
    }"""
    for k in (21, 2):
        to(viewer, k)
        visit.page.wait_for_timeout(50)  # the source follows with the next picture
        assert not viewer.evaluate(beside)


def wide_line(x1, x2):
    return mg.log(x1) + x1 * x2 - mg.sin(x2) + mg.exp(x1 * 0.1) * mg.tanh(x2 - 3.0) + mg.sqrt(x1)


@pytest.mark.parametrize("size", [(1280, 800), (1920, 1080)])
def test_the_stage_shows_the_whole_of_a_long_line_of_code(show, visit, size):
    found = trace_function(wide_line, 2.0, 5.0, mode="primal")
    viewer = show(found, *size, step=len(found["steps"]) - 1)
    viewer.focus()
    visit.page.keyboard.press("f")
    until(visit.page, "document.fullscreenElement?.classList.contains('mg-stage')")
    code = viewer.locator(".mg-source .mg-scroll")
    assert code.evaluate("e => e.scrollWidth - e.clientWidth") <= 0
    letters = viewer.locator(".mg-source code").evaluate(
        "e => parseFloat(getComputedStyle(e).fontSize)"
    )
    assert letters > size[1] / 70


def product(a, b):
    return mg.sum(mg.relu(a @ b))


@pytest.mark.parametrize("size", [(1280, 800), (1920, 1080)])
def test_the_stage_shows_one_element_and_the_arrays_beside_the_graph(show, visit, axe, size):
    found = trace_function(product, np.arange(6.0).reshape(2, 3), np.ones((3, 2)))
    k = step_at(found, "primal", "v1")
    viewer = show(found, *size, step=k, views=["element", "arrays", "story"])
    viewer.focus()
    visit.page.keyboard.press("f")
    until(visit.page, "document.fullscreenElement?.classList.contains('mg-stage')")
    graph = viewer.locator(".mg-graph").bounding_box()
    for view in ("element", "arrays"):
        panel = viewer.locator(f".mg-view-{view}")
        box = panel.bounding_box()
        assert box["x"] >= graph["x"] + graph["width"] > 400 and box["width"] > size[0] / 2
        assert box["y"] + box["height"] <= viewer.locator(".mg-bar").bounding_box()["y"] + 1
        letters = panel.locator("td, .mg-arrayhead, .mg-meet, .mg-note, text").evaluate_all(
            "all => all.map(e => parseFloat(getComputedStyle(e).fontSize))"
        )
        assert min(letters) >= size[1] / 70
    assert "v1[0, 0] = 0 · 1 + 1 · 1 + 2 · 1 = 3" in viewer.locator(".mg-view-element").inner_text()
    assert viewer.locator(".mg-view-story").is_hidden()
    inside = """root => {
        const seen = root.querySelector(".mg-graph").getBoundingClientRect();
        return [...root.querySelectorAll(":is(.mg-read, .mg-write) > .mg-card")]
            .map((e) => e.getBoundingClientRect())
            .every((e) => e.left >= seen.left && e.right <= seen.right && e.bottom <= seen.bottom);
    }"""
    until(visit.page, f"({inside})(document.querySelector('.mg-stage'))")
    axe(visit.page, ".mg-root")
    to(viewer, step_at(found, "primal", "v2"))
    assert viewer.locator(".mg-view-element").is_hidden(), "no elements meet in relu"
    assert "v2 · value · written" in viewer.locator(".mg-view-arrays").inner_text()
    visit.assert_clean()


LARGE = """root => parseFloat(getComputedStyle(root.querySelector(".mg-arrayhead")).fontSize)
    * root.currentCSSZoom"""


@pytest.mark.parametrize("size", [(1280, 800), (1920, 1080)])
def test_one_element_fills_its_part_of_the_stage_at_each_step_and_question(show, visit, size):
    found = trace_function(two_layers, *layers())
    viewer = show(found, *size, step=step_at(found, "primal", "v1"), views=["element"])
    box = viewer.locator(".mg-element")
    off = box.evaluate(LARGE)
    viewer.focus()
    visit.page.keyboard.press("f")
    until(visit.page, "document.fullscreenElement?.classList.contains('mg-stage')")
    inside = """() => {
        const box = document.querySelector(".mg-view-element .mg-inside"),
            { scrollHeight, clientHeight, scrollWidth, clientWidth } = box;
        return scrollHeight <= clientHeight && scrollWidth <= clientWidth;
    }"""
    for node in ("v1", "v4", "v3"):  # tanh has no products: its arrays stand there
        k = step_at(found, "primal", node)
        to(viewer, k - 1)
        visit.page.keyboard.press("PageDown")
        until(visit.page, f"({inside})()")
        assert step_of(viewer) == k - 1
        said = box.inner_text().replace("\xa0", " ")
        assert f"{node} · value · written" in said and "?" in said, "nothing of the step before"
        visit.page.keyboard.press("PageDown")
        until(visit.page, f"({inside})()")
        said = box.inner_text().replace("\xa0", " ")
        assert f"{node} · value · written" in said and "?" not in said
        seen = box.bounding_box()
        space = viewer.locator(".mg-view-element .mg-inside").bounding_box()
        assert max(seen["width"] / space["width"], seen["height"] / space["height"]) > 0.8
    before = box.evaluate(LARGE)
    assert before > size[1] / 70
    visit.page.keyboard.press("+")
    assert box.evaluate(LARGE) == pytest.approx(1.25 * before, rel=0.01)
    visit.page.keyboard.press("0")
    assert box.evaluate(LARGE) == before
    visit.page.keyboard.press("f")
    until(visit.page, "!document.querySelector('.mg-stage')")
    to(viewer, step_at(found, "primal", "v1"))
    until(visit.page, f"({LARGE})(document.querySelector('.mg-element')) === {off}")
    visit.assert_clean()


def test_of_a_first_contribution_the_stage_says_that_another_one_follows(show, visit):
    found = trace_function(lambda x, y: mg.exp(x * y) * y + x * y, 0.5, 1.2, mode="reverse")
    k = next(i for i, s in enumerate(found["steps"], 1) if s["say"].endswith("so far."))
    viewer = show(found, 1280, 800, step=k)
    viewer.focus()
    visit.page.keyboard.press("f")
    until(visit.page, "document.querySelector('.mg-stage')")
    badge = viewer.locator(".mg-badge")
    assert badge.inner_text() == "adjoint so far"
    assert badge.evaluate("e => parseFloat(getComputedStyle(e).fontSize)") >= 800 / 50
    to(viewer, next(i for i, s in enumerate(found["steps"], 1) if s["phase"] == "accumulate"))
    assert "so far" not in badge.inner_text()
    visit.page.keyboard.press("f")
    until(visit.page, "!document.querySelector('.mg-stage')")
    to(viewer, k)
    assert badge.inner_text() == "adjoint", "off the stage the sentence says so"
    visit.assert_clean()


@pytest.mark.parametrize("size", [(1280, 800), (1920, 1080)])
def test_in_predict_mode_the_stage_has_the_question_large_and_the_last_answer_small(
    show, visit, axe, trace, size
):
    large = "e => parseFloat(getComputedStyle(e).fontSize)"
    viewer = show(trace, *size, step=step_at(trace, "primal", "v2"), views=["predict"])
    viewer.focus()
    visit.page.keyboard.press("f")
    until(visit.page, "document.querySelector('.mg-stage')")
    question, formula = (
        viewer.locator(one).evaluate(large) for one in (".mg-question", ".mg-formula")
    )
    assert question >= min(64, 0.034 * size[0]) - 1, "as a formula elsewhere"
    assert formula <= question / 1.9
    assert formula >= size[1] / 50
    for part in viewer.locator(".mg-view-predict :is(.mg-answer, .mg-predict button)").all():
        assert part.evaluate(large) >= size[1] / 50
    box, bar = (viewer.locator(one).bounding_box() for one in (".mg-graph", ".mg-bar"))
    assert box["y"] + box["height"] <= bar["y"] + 1 and box["height"] > size[1] * 0.4
    axe(visit.page, ".mg-root")
    visit.assert_clean()


def test_of_a_convolution_the_stage_shows_the_element_the_window_and_the_sum(show, visit):
    found = trace_function(lambda x: mg.sum(Convolutional().c1(x)), mg.ones(1, 1, 8, 8))
    k = next(i for i, s in enumerate(found["steps"], 1) if "∗" in s["say"])
    viewer = show(found, 1280, 800, step=k, views=["element"])
    viewer.focus()
    visit.page.keyboard.press("f")
    until(visit.page, "document.fullscreenElement?.classList.contains('mg-stage')")
    sum_ = viewer.locator(".mg-meet")
    until(visit.page, "document.querySelector('.mg-element td.mg-at')")
    for met in viewer.locator(".mg-element .mg-array td.mg-met").all():
        box = met.bounding_box()
        assert box["y"] + box["height"] <= sum_.bounding_box()["y"] + 1
    visit.assert_clean()


OVERFLOW = """root => {
    const inside = root.querySelector(".mg-view-element .mg-inside"),
        letters = [...inside.querySelectorAll("td, .mg-note, .mg-arrayhead, .mg-meet")]
            .filter((e) => e.textContent && e.checkVisibility())
            .map((e) => parseFloat(getComputedStyle(e).fontSize) * e.currentCSSZoom);
    return [
        inside.scrollHeight > inside.clientHeight && "it scrolls down",
        inside.scrollWidth > inside.clientWidth && "it scrolls across",
        Math.min(...letters) < innerHeight / 70 && "letters are small",
    ].filter(Boolean);
}"""


@pytest.mark.parametrize(
    ("size", "channels", "side"),
    [((1280, 800), 2, 10), ((1440, 900), 2, 10), ((1280, 800), 32, 12)],
    ids=["few maps", "large screen", "many maps"],
)
def test_one_element_of_a_convolution_fits_on_the_stage_and_no_operand_is_cut(
    show, visit, size, channels, side
):
    mg.manual_seed(0)
    conv = mg.nn.Conv2d(1, channels, 3)
    found = trace_function(
        lambda x: mg.sum(mg.nn.functional.max_pool2d(mg.relu(conv(x)), 2)),
        np.random.default_rng(0).normal(size=(2, 1, side, side)).round(2),
    )
    viewer, page = show(found, *size, views=["element"]), visit.page
    viewer.focus()
    page.keyboard.press("f")
    until(page, "document.fullscreenElement?.classList.contains('mg-stage')")
    page.keyboard.press("q")
    large = ("v2", "v5", "v7", "v1", "x")
    for k, step in enumerate(found["steps"], 1):
        if step["edges"] and step["node"] in large:
            to(viewer, k)
            until(page, f"!({CUT})(document.querySelector('.mg-stage')).length")
            assert viewer.evaluate(OVERFLOW) == [], step["say"]
            factors = viewer.locator(".mg-view-element .mg-sumrows")
            assert not any(one.is_visible() for one in factors.all()), "the sum says them"
    visit.assert_clean()


@pytest.mark.parametrize("repeats, cut", [(1, ""), (2, "x")])
def test_of_operands_too_far_apart_those_that_fit_beside_the_result_are_whole(
    show, visit, repeats, cut
):
    """The shorter graph fits as a whole, in the lines of the page, but closer together."""

    def inner(x):
        return mg.tanh(mg.sin(mg.exp(mg.cos(mg.sin(mg.tanh(mg.sin(mg.cos(x))))))))

    def product(x):
        found = inner(x)
        return x * (inner(found) if repeats > 1 else found)

    found = trace_function(product, np.ones(3), mode="primal")
    viewer = show(found, 1280, 800, step=len(found["steps"]), views=["arrays"])
    viewer.focus()
    visit.page.keyboard.press("f")
    until(visit.page, "document.fullscreenElement?.classList.contains('mg-stage')")
    assert [node for node, _ in found["steps"][-1]["reads"]] == ["x", f"v{8 * repeats}"]
    until(visit.page, f"({CUT})(document.querySelector('.mg-stage')).join() === '{cut}'")
    visit.assert_clean()


def test_on_a_stage_upright_the_formula_has_the_width(show, trace):
    """No button leads to the stage on a phone, but a link may."""
    k = step_at(trace, "adjoint", "x2")
    viewer = show(trace, 390, 844, step=k)
    viewer.focus()
    viewer.page.keyboard.press("f")
    assert viewer.locator(".mg-curve").is_hidden()
    now, formula = (viewer.locator(c).bounding_box() for c in (".mg-now", ".mg-formula"))
    assert formula["width"] > 0.8 * now["width"]


@pytest.mark.parametrize("size", [(390, 844), (820, 1180)])
def test_a_stage_upright_shows_each_step_whole_and_lines_below_one_another(show, visit, size):
    """Its scale was that of its height: a node was cut at its side, and below one line of the graph
    most of the stage was empty (November 2026)."""
    found = trace_function(rounds, 0.5, mode="reverse")
    viewer = show(found, *size)
    viewer.focus()
    visit.page.keyboard.press("f")
    until(visit.page, "document.fullscreenElement?.classList.contains('mg-stage')")
    visit.page.keyboard.press("q")
    for k in range(1, len(found["steps"]), 41):
        to(viewer, k)
        until(visit.page, f"!({CUT})(document.querySelector('.mg-stage')).length")
    assert scale(viewer) >= 0.68
    tops = "all => new Set(all.map((e) => Math.round(e.getBoundingClientRect().top / 30))).size"
    assert size[0] < 500 or viewer.locator(".mg-node").evaluate_all(tops) > 5
    visit.assert_clean()


def test_on_a_stage_upright_a_formula_whose_names_are_wider_than_it_is_whole(show):
    def product(the_first_argument_of_the_function, the_second_argument_of_the_function):
        return the_first_argument_of_the_function * the_second_argument_of_the_function

    found = trace_function(product, 2.0, 5.0, mode="reverse")
    viewer = show(found, 390, 844)
    viewer.focus()
    viewer.page.keyboard.press("f")
    viewer.page.keyboard.press("q")
    smallest = 28.0  # what a stage of this width begins with
    for k in range(1, len(found["steps"]) + 1):
        to(viewer, k)
        for part in (".mg-formula", ".mg-equation"):
            assert viewer.locator(part).evaluate("e => e.scrollWidth - e.clientWidth") <= 1, k
        look = "e => parseFloat(getComputedStyle(e).fontSize)"
        smallest = min(smallest, viewer.locator(".mg-formula").evaluate(look))
    assert 12 < smallest < 28


@pytest.mark.parametrize(
    ("lang", "round_2"), [("en", "round 2 of 12"), ("zh", "第 2 轮，共 12 轮")]
)
def test_where_the_stage_has_one_line_of_code_the_line_of_its_loop_stands_above(
    show, visit, axe, lang, round_2
):
    def iterated(x):
        for _ in range(12):
            y = mg.sin(x)
            x = y * 0.5
        return x + 1

    found = trace_function(iterated, 0.7, mode="reverse")
    k = step_at(found, "primal", "v4")
    viewer = show(found, 1280, 720, step=k, lang=lang)
    loop = viewer.locator(".mg-loop")
    assert loop.is_hidden()
    viewer.focus()
    visit.page.keyboard.press("f")
    until(visit.page, "document.querySelector('.mg-stage.mg-tight')")
    assert viewer.locator(".mg-source mark").inner_text() == "y * 0.5"
    assert [part.strip() for part in loop.locator("pre").all_text_contents()] == [
        "2",
        f"for _ in range(12):  # {round_2}",
    ]
    above, lit = loop.bounding_box(), viewer.locator(".mg-source mark").bounding_box()
    assert above["y"] + above["height"] <= lit["y"] + 2 and above["height"] < 2 * lit["height"]
    axe(visit.page, ".mg-root")
    source = viewer.locator(".mg-source")
    box, last = source.bounding_box(), step_at(found, "primal", found["outputs"][0])
    to(viewer, last)
    assert viewer.locator(".mg-source mark").inner_text() == "x + 1"
    assert loop.is_hidden() and source.bounding_box() == box, "a line more of code, none is blank"
    assert viewer.locator(".mg-source .mg-scroll").evaluate("e => e.scrollTop") > 0
    to(viewer, 0)
    assert loop.is_hidden() and source.bounding_box() == box
    assert viewer.locator(".mg-source .mg-scroll").evaluate("e => e.scrollTop") == 0


def test_where_the_stage_has_four_lines_of_code_the_round_stands_above(show, visit):
    found = trace_function(nested, 2.0, 3.0, mode="primal")
    viewer = show(found, 1280, 720, step=step_at(found, "primal", "v5"))
    viewer.focus()
    visit.page.keyboard.press("f")
    until(visit.page, "document.fullscreenElement?.classList.contains('mg-stage')")
    assert not visit.page.evaluate("document.querySelector('.mg-tight') !== null")
    assert viewer.locator(".mg-loop").inner_text().strip() == "# round 2 of 2, round 2 of 2"
    plain = trace_function(six_lines, 2.0, 5.0, mode="primal")
    assert not show(plain, 1280, 720).locator(".mg-loop").count()


def named(first_hidden_representation, threshold):
    the_sum_of_all_squares = mg.sum(first_hidden_representation * first_hidden_representation)
    if the_sum_of_all_squares > threshold:
        scaled_representation = first_hidden_representation / the_sum_of_all_squares
        return mg.sum(mg.tanh(scaled_representation.reshape(2, 3, 1)))
    return the_sum_of_all_squares


@pytest.mark.parametrize("size", [(1280, 800), (1920, 1080)])
def test_the_shapes_and_names_on_cards_can_be_read_from_the_last_row_and_fit_them(
    show, visit, size
):
    found = trace_function(named, np.arange(6.0).reshape(2, 3), 2.0)
    viewer = show(found, *size, step=len(found["steps"]))
    viewer.focus()
    visit.page.keyboard.press("f")
    until(visit.page, "document.fullscreenElement?.classList.contains('mg-stage')")
    captions = viewer.locator(".mg-caption").evaluate_all(
        """all => all.map((e) => {
            const card = e.parentNode.querySelector(".mg-card").getBoundingClientRect(),
                { left, right, top, bottom } = e.getBoundingClientRect(),
                head = e.parentNode.querySelector(".mg-heading").getBoundingClientRect(),
                letters = parseFloat(getComputedStyle(e).fontSize) * e.getScreenCTM().a;
            return [e.textContent, letters, left > card.left && right < card.right
                && top > head.top && bottom < card.bottom];
        })"""
    )
    assert {"(2, 3) float64", "the_sum_of_all_squares"} <= {text for text, *_ in captions}
    whole = viewer.locator(".mg-cut").count() == 0  # a graph that nearly fits is smaller
    assert min(letters for _, letters, _ in captions) > size[1] / 58 * (0.8 if whole else 1)
    assert all(inside for *_, inside in captions), captions
    assert viewer.locator(".mg-means").is_hidden(), "what it shows has small letters"
    visit.assert_clean()


def test_after_the_last_step_the_stage_states_all_results_of_many_inputs(show, visit):
    def chained(a, b, c, d, e, *more):
        result = a * b + mg.sin(c) * d * e
        for one in more:
            result = result * one
        return result

    size = "() => parseFloat(getComputedStyle(document.querySelector('.mg-sums')).fontSize)"
    graph = "() => document.querySelector('.mg-graph').clientHeight"
    for inputs, told in ((5, 6), (14, 12)):
        found = trace_function(chained, *np.linspace(0.5, 1.5, inputs).round(2), mode="reverse")
        viewer, page = show(found, 1280, 800, step=len(found["steps"])), visit.page
        viewer.focus()
        page.keyboard.press("f")
        until(page, "document.fullscreenElement?.classList.contains('mg-stage')")
        before = page.evaluate(graph)
        page.keyboard.press("PageDown")
        results = [one for one in viewer.locator(RESULT).all_inner_texts() if "=" in one]
        assert len(results) == told
        more = viewer.locator(RESULT).get_by_text(f"and {inputs + 1 - told} more")
        assert more.count() == (told <= inputs)
        assert page.evaluate(size) > 800 / 40
        assert page.evaluate(graph) > 0.95 * before
        page.keyboard.press("f")
        until(page, "!document.fullscreenElement")
    visit.assert_clean()
