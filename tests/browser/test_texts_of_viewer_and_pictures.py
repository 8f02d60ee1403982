"""Python's pictures and the viewer say the same: the table of texts, the sentences, the names of
passes.
"""

import math
import re

import pytest
from minigrad.lessons import operation_steps, reference
from minigrad.viz.jacobian import jacobian_trace
from minigrad.viz.numbers import short
from minigrad.viz.speech import names_of, pass_text, sentence
from minigrad.viz.texts import LANGUAGES, texts, words

import minigrad as mg
from minigrad import viz
from minigrad.trace import text
from minigrad.watch import trace_function
from tests.browser.conftest import step_at, to
from tests.helpers.trace_samples import all_samples
from tests.helpers.trace_sentences import POWERS, kinds_of_sentences

pytestmark = pytest.mark.browser

FILLED = {
    "k": 3,
    "n": 4,
    "say": "x",
    "phase": "p",
    "title": "t",
    "node": "v1",
    "value": "2",
    "part": "7",
    "line": 5,
}


@pytest.mark.parametrize("lang", LANGUAGES)
def test_every_text_of_the_table_is_the_same(parts, lang):
    known = [*texts()["en"], *texts()["zh"], "no such text"]
    # the titles of views are read from the views' own files, on both sides
    t, names = words(lang), [name for name in known if not name.startswith("view_")]
    assert len(names) > 250
    said = parts.evaluate(
        "([lang, names, filled]) => names.map((name) => parts.translator(lang)(name, filled))",
        [lang, names, FILLED],
    )
    assert said == [t(name, **FILLED) for name in names]


@pytest.mark.parametrize("lang", LANGUAGES)
def test_every_sentence_is_the_same(parts, lang):
    t = words(lang)
    traces = [*all_samples().values(), *kinds_of_sentences().values()]
    traces.append(
        trace_function(lambda x: (x * mg.tensor([1.0, -2.0, 3.0])).sum(), [[1.0, 2.0, 3.0]] * 2)
    )
    traces.append(jacobian_trace(lambda a, b: (a * b, mg.sin(a)), 2.0, 3.0))
    traces.append(trace_function(lambda x: mg.exp(mg.log(x)) / 0 + mg.exp(900 - x), -1.0))
    traces.append(trace_function(lambda x: mg.sqrt(x), 0.0))
    for trace in traces:
        names = names_of(trace)
        code = """([trace, lang]) => {
            const t = parts.translator(lang), names = parts.namesOf(trace);
            return trace.steps.map((step) => [parts.sentence(step, t, names),
                parts.passText(trace, t, step.pass)]);
        }"""
        said = parts.evaluate(code, [trace, lang])
        assert said == [
            [sentence(step, t, names), pass_text(trace, t, step.get("pass"))]
            for step in trace["steps"]
        ], trace["title"]


def test_a_power_is_raised_where_text_has_letters_for_its_exponent(parts):
    powers = [[{"t": "sup", "base": base, "exp": exponent}] for base, exponent, _ in POWERS]
    said = parts.evaluate("(all) => all.map((one) => parts.plain(parts.runs(one)))", powers)
    assert said == [text for *_, text in POWERS]


def test_a_small_matrix_is_written_whole_on_a_page_and_in_a_terminal(parts):
    for shape, whole in (((2, 3), True), ((2, 4), True), ((3, 3), False)):
        n = math.prod(shape)
        value = {"shape": [*shape], "dtype": "float64", "sample": [*range(n)]}
        value["chosen"] = {"at": [3, 4], "sample": [3, 4]}  # elements that a step chose to show
        line = parts.evaluate("(value) => parts.short(value)", value)
        assert line == short(value)
        assert ("…" not in line, "…" not in text.number(value)) == (whole, whole)


def test_formula_sentence_and_text_form_write_an_array_alike(show):
    trace = trace_function(lambda x: (x.exp() * 1e-9 * x).sum(), [[1.0, 2.0], [3.0, 4.0]])
    wanted, k = "[[1e−9, 2e−9], [3e−9, 4e−9]]", len(trace["steps"]) - 1
    assert text.table(trace, k).count(wanted) == 2, "in the step, and as its value"
    for lang in LANGUAGES:
        viewer = show(trace, lang=lang)
        to(viewer, k)
        for part in (".mg-formula", ".mg-say"):
            shown = viewer.locator(part).first.text_content()
            assert wanted.replace(" ", "") in shown.replace(" ", ""), (lang, part)
        cell = viewer.locator("tr[data-node='v1'] [data-col='g']")
        span = words(lang)("range", low="1e−9", high="4e−9")
        assert cell.text_content() == span, "a narrow table has the range alone"
        formula = viewer.locator(".mg-formula").inner_text()
        assert "1e−9" in formula and "×" not in formula, "a number alone is written so, too"


@pytest.mark.parametrize(("lang", "span"), [("en", "2 to 5"), ("zh", "2 至 5")])
def test_the_range_of_an_array_has_one_form_everywhere(show, lang, span):
    """On cards, on edges, in the table, among the results, and in pictures."""
    x = [2.0, 3.0, 4.0, 4.5, 5.0]
    trace = trace_function(lambda x, w: (x * w).sum(), x, [6.0, 7.0, 8.0, 9.0, 9.5])
    k = step_at(trace, "adjoint", "w")
    viewer = show(trace, lang=lang)
    assert viewer.locator(".mg-found").last.inner_text().endswith(words(lang)("colon") + span)
    to(viewer, k)
    assert viewer.locator("tr[data-node='x'] [data-col='v']").text_content() == span
    assert span in viewer.locator("g[data-node='x'] [data-col='v']").text_content()
    assert viewer.locator(".mg-label").all_text_contents() == [f"× {span}"]
    drawn = viz.to_svg(trace, step=k, lang=lang).replace("\u00a0", " ")
    picture = re.sub("<[^>]*>", "\n", drawn).split("\n")
    assert span in picture and f"× {span}" in picture


WIDEST = """(svg) => Math.max(...[...svg.querySelectorAll("text")]
    .map((text) => text.getBBox().x + text.getBBox().width))"""


def test_what_is_read_aloud_of_arrays_and_modules_is_chinese(show):
    model = mg.nn.Sequential(
        *(mg.nn.Sequential(mg.nn.Linear(3, 3), mg.nn.Tanh()) for _ in range(6))
    )
    trace = trace_function(lambda x: model(x).sum(), mg.ones(1, 3), mode="reverse")
    said = show(trace, lang="zh", step=len(trace["steps"])).evaluate(
        "e => [...e.querySelectorAll('td[title], .mg-node')].map("
        "one => one.title || one.getAttribute('aria-label'))"
    )
    assert any("范数" in text for text in said) and any("，展开；" in text for text in said)
    assert [text for text in said if re.search("min|norm|[\u4e00-\u9fff][,;]", text)] == []


def test_no_line_of_a_picture_is_cut_at_its_right_edge(visit):
    """In the fonts of this machine, for a step of each operation."""
    reference.load()
    pictures = {one.name: operation_steps.picture(one) for one in reference.known()}
    drawn = {name: picture for name, picture in pictures.items() if picture}
    visit.page.goto("about:blank")
    visit.page.set_content("".join(picture.svg for picture in drawn.values()))
    found = visit.page.locator("svg").evaluate_all(f"(all) => all.map({WIDEST})")
    assert len(found) == len(drawn) > 150
    pairs = zip(drawn.items(), found, strict=True)
    assert [(name, end) for (name, picture), end in pairs if end > picture.width] == []
