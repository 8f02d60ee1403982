"""A student's page: complete, still, and harmless whatever the student wrote."""

import base64
import hashlib
import html
import json
import re
from html.parser import HTMLParser
from importlib import import_module
from xml.etree import ElementTree

import numpy as np
import pytest
from minigrad.lessons.exercises import lesson02
from minigrad.lessons.grading import chinese
from minigrad.lessons.grading.comparison import as_plain, same
from minigrad.lessons.grading.exercise import Case, Exercise, Returned
from minigrad.lessons.grading.graphs import by_engine, first_wrong
from minigrad.lessons.grading.judge import Judgement, judge
from minigrad.lessons.grading.kinds import Backward, Number, Vjp
from minigrad.lessons.grading.kinds.backward import graph_of
from minigrad.lessons.grading.misconceptions import BY_NAME
from minigrad.lessons.grading.pages import compared, student_html, student_markdown
from minigrad.lessons.grading.words import sentence
from minigrad.viz.layout import with_lines

import minigrad as mg

BACKWARD = Backward("gradients")
HOSTILE = (
    "<script>window.PWNED=1</script><img src=x onerror=alert(1)> `<b>` | [a](javascript:alert(1))"
    " ![i](http://a.example/x) # h"
)


def judged(mistake=None, exercise=BACKWARD, seed=3):
    cases = exercise.cases(seed)
    run = (lambda graph, before: by_engine(graph)) if mistake is None else BY_NAME[mistake].run
    return judge(exercise, cases, [Returned(as_plain(run(graph_of(c), None))) for c in cases])


def failed(text=HOSTILE, kind="raised"):
    exercise = Vjp("vjp_sin", mg.sin)
    cases = exercise.cases(1)
    return judge(exercise, cases, [Returned(error=text, kind=kind) for _ in cases])


class Reader(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes, self.text = [], [], ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, *a) for a in attrs]

    def handle_data(self, data):
        self.text += data


def page(*judgements, **options):
    return student_html("Ada", "Lab 1", judgements, **options)


def test_a_page_is_a_pure_function_of_judgements_and_survives_json():
    js = [judged(), judged("overwrites at fan-out"), failed()]
    again = [Judgement.from_dict(json.loads(json.dumps(j.as_dict()))) for j in js]
    assert page(*js) == page(*js) == page(*again)
    assert student_markdown("Ada", "Lab 1", js) == student_markdown("Ada", "Lab 1", again)


def test_points_sentences_the_mistake_and_the_node_are_there():
    text = Reader(page(judged("overwrites at fan-out"))).text
    for part in (
        "Ada",
        "Lab 1",
        "1 of 5 points",
        "shared nodes",
        "The first wrong node is x1.",
        "It looks as if only one of several contributions",
        "Hint 1 of 3",
    ):
        assert part in text
    assert "It looks as if" not in Reader(page(judged())).text
    assert "Hint" not in Reader(page(judged("sign"), hints=False)).text


def test_notes_stand_above():
    text = Reader(
        page(judged(), notes=["Two files were handed in; `lab (1).ipynb` is newer."])
    ).text
    assert text.index("Two files") < text.index("Exercise gradients")


EVERYTHING = [
    judged(),
    judged("overwrites at fan-out"),
    judged("visit order"),
    failed(),
    failed(kind="unfinished"),
]


@pytest.mark.parametrize("where", ["student", "sheet", "note", "error"])
def test_no_text_becomes_an_element(where):
    given = {"student": "Ada", "sheet": "Lab 1", "note": "", "error": "x"} | {where: HOSTILE}
    html = student_html(
        given["student"], given["sheet"], [failed(given["error"])], notes=[given["note"]]
    )
    reader = Reader(html)
    assert set(reader.tags) <= {
        "html", "head", "meta", "title", "link", "style", "body", "main", "header", "h1", "h2", "p",
        "strong", "section", "div", "span",
        "table", "thead", "tbody", "tr", "th", "td", "code", "details", "summary",
    }  # fmt: skip
    assert "PWNED" in reader.text


def test_no_script_no_event_no_request_and_no_style_but_the_pages_own():
    html = page(*EVERYTHING)
    reader = Reader(html)
    assert "script" not in reader.tags
    assert {"img", "iframe", "object", "embed", "form", "a", "base", "foreignObject"} & set(
        reader.tags
    ) == set()
    assert [a for a in reader.attributes if a[1].startswith("on") or a[1] == "style"] == []
    assert [a for a in reader.attributes if a[1] in ("src", "href", "xlink:href", "action")] == [
        ("link", "href", "data:,")
    ]
    assert "url(" not in html
    assert "@import" not in html
    policy = next(a[2] for a in reader.attributes if a[1] == "content" and "default-src" in a[2])
    assert policy.startswith("default-src 'none';")
    assert "unsafe" not in policy
    allowed = set(re.findall(r"'sha256-([^']+)'", policy))
    styles = re.findall(r"<style>(.*?)</style>", html, re.DOTALL)
    assert len(styles) >= 2
    assert {
        base64.b64encode(hashlib.sha256(s.encode()).digest()).decode() for s in styles
    } == allowed


def test_a_page_is_small():
    assert len(page(judged("overwrites at fan-out"))) < 40_000


def test_the_picture_is_well_formed_and_marks_nodes_in_the_order_of_the_sweep():
    j = judged("sign")
    root = ElementTree.fromstring(compared(j.reference, j.trace, j.step, j.where["wrong"]))
    marks = [e for e in root.iter() if (e.get("class") or "").startswith("verdict")]
    assert [m.get("class") for m in marks] == [f"verdict a{i}" for i in range(len(marks))]
    signs = [next(t.text for t in m.iter() if t.tag.endswith("text")) for m in marks]
    assert signs[0] == "✓", "the output is right"
    assert signs[-1] == "✗", "the last mark is that of the first wrong node"


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_picture_is_one_graph_with_the_right_number_beside_the_students(language):
    html = page(judged("overwrites at fan-out"), language=language)
    assert re.findall(r">([^<>]*≠[^<>]*)</t", html) == ["2\u00a0≠\u00a01"], "x1 alone"
    assert html.count("<svg") == 1 and ("伴随" in html) == (language == "zh")
    words = " ".join(text for text in ElementTree.fromstring(
        re.search(r"<svg.*?</svg>", html, re.DOTALL)[0]).itertext())  # fmt: skip
    assert "sends 1 back to the second x1; added to 1" in words or language == "zh"


def test_in_forward_mode_too_the_rows_of_dual_numbers_are_compared():
    dual = lesson02.EXERCISES["dual"]
    cases, broken = dual.cases(3), dual.misconceptions[1]
    j = judge(dual, cases, [Returned(as_plain(broken.wrong(case))) for case in cases])
    root = ElementTree.fromstring(compared(j.reference, j.trace, j.step, j.where["wrong"]))
    signs = [e.text for e in root.iter() if e.get("class") == "sign"]
    assert signs[-1] == "✗" and set(signs[:-1]) == {"✓"}
    unlike = [e.text for e in root.iter() if "≠" in (e.text or "") and e.tag.endswith("text")]
    assert len(unlike) == 1


ON_GRAPHS = {
    **{f"mend-{letter}": ("bug_zoo", 0) for letter in "ABCDEF"},
    "checkpoint": ("lesson12", 5),
    "dual_tensor": ("lesson11b", 0),
    "products": ("lesson11b", 1),
    "own_step": ("lesson11", 8),
    "gradients": ("lesson03", 0),
}
"""Exercises about an engine, each with its module and the number of a mistake."""


@pytest.mark.parametrize("name", ON_GRAPHS)
def test_a_wrong_engine_stands_beside_the_right_one(name):
    module, number = ON_GRAPHS[name]
    exercise = import_module(f"minigrad.lessons.exercises.{module}").EXERCISES[name]
    cases, mistake = exercise.cases(3), exercise.misconceptions[number]
    j = judge(exercise, cases, [Returned(as_plain(mistake.wrong(case))) for case in cases])
    j = Judgement.from_dict(json.loads(json.dumps(j.as_dict())))  # as it is kept
    root = ElementTree.fromstring(compared(j.reference, j.trace, j.step, j.where["wrong"]))
    texts = [e for e in root.iter() if e.tag.endswith("text")]
    assert any("unlike-value" in (e.get("class") or "") for e in texts)
    assert not any("operands[" in (e.text or "") for e in texts), "a name of the grader's own"
    signs = [e.text for e in texts if e.get("class") == "sign"]
    assert signs[-1] == "✗" and set(signs[:-1]) <= {"✓"}
    assert_rings_go_round_cards(root)


def test_marks_stay_with_their_nodes_where_a_graph_has_lines():
    rows = [[f"v{i}", "sin", [f"v{i - 1}" if i > 1 else "x1"]] for i in range(1, 15)]
    graph = {"inputs": {"x1": 0.5}, "rows": rows}
    found = first_wrong(graph, by_engine(graph) | {"v1": 7.0})
    assert len(with_lines(found.reference)["layout"]["lines"]) > 1
    picture = compared(found.reference, found.trace, found.step, found.wrong)
    assert_rings_go_round_cards(ElementTree.fromstring(picture))


def test_the_style_of_one_picture_is_not_that_of_another():
    dual = lesson02.EXERCISES["dual"]
    wrong = [Returned(as_plain(dual.misconceptions[1].wrong(c))) for c in dual.cases(3)]
    html = page(judged("sign"), judge(dual, dual.cases(3), wrong), judged("sign"))
    reverse, forward, again = re.findall(r'<svg [^>]*class="([^"]+)"', html)
    assert reverse == again != forward
    for name in (reverse, forward):
        assert f"<style>.{name} path" in html
    assert "mg-frame " not in html and '"mg-frame"' not in html


def numbers(rect):
    return [round(float(rect.get(name)), 2) for name in ("x", "y", "width", "height")]


def test_each_mark_is_drawn_round_its_node():
    """Marks and cards are in the same group, so they have the same coordinates, and each ring
    goes round a card.
    """
    j = judged("sign")
    assert_rings_go_round_cards(
        ElementTree.fromstring(compared(j.reference, j.trace, j.step, j.where["wrong"]))
    )


def assert_rings_go_round_cards(root):
    parent_of = {child: parent for parent in root.iter() for child in parent}
    marks = [e for e in root.iter() if (e.get("class") or "").startswith("verdict")]
    (graph,) = {parent_of[mark] for mark in marks}
    cards = [
        numbers(e)
        for e in graph.iter()
        if e.tag.endswith("rect") and "card" in (e.get("class") or "").split()
    ]
    for mark in marks:
        x, y, width, height = next(numbers(e) for e in mark if "ring" in e.get("class"))
        assert [x + 4, y + 4, width - 8, height - 8] in cards


def test_a_graph_that_is_too_large_to_draw_has_no_picture(monkeypatch):
    j = judged("sign")
    monkeypatch.setattr("minigrad.viz.scale.too_large", lambda trace: True)
    html = page(j)
    assert "verdict a0" not in html and "The first wrong node is" in html


def test_a_value_that_is_wrong_is_shown_as_it_was_written():
    asked = Number("n", "What is cos 5?", lambda: float(np.cos(5.0)), "so.", variable="mine")
    j = judge(asked, asked.cases(1), [Returned(0.5)])
    assert "You have <code>mine</code> = <code>0.5</code>." in page(j)
    assert "You have mine = 0.5." in student_markdown("Ada", "Lab 1", [j])
    assert "The smallest case that failed: <code>" in page(wrong_rule())


def wrong_rule():
    exercise = Vjp("vjp_sin", mg.sin)
    cases = exercise.cases(1)
    return judge(exercise, cases, [Returned(case.args["g"]) for case in cases])


def ordered(answer, got, **options):
    """The page of an exercise whose answer is this collection."""
    exercise = Exercise("order", {"all": 1}, lambda rng: [Case("all", n=1)], **options)
    exercise.answer(lambda n: answer)
    cases = exercise.cases(1)
    return judge(exercise, cases, [Returned(got) for _ in cases])


@pytest.mark.parametrize(
    ("answer", "got", "marked"),
    [
        (["a", "b", "c", "d"], ["a", "c", "b", "d"], ("'b'", "'c'")),
        ((1.0, 2.0, 3.0), (1.0 + 1e-12, 2.0, -3.0), ("3", "-3")),
        ({"x": 1.0, "y": [1.0, 2.0]}, {"x": 1.0, "y": [1.0, 5.0]}, ("[1, 2]", "[1, 5]")),
        (np.arange(40.0), np.where(np.arange(40) == 20, 0.0, np.arange(40.0)), ("20", "0")),
        ([1, 2, 3], [1, 2], ("3", None)),
    ],
)
def test_a_collection_stands_beside_the_right_one_with_the_first_difference_marked(
    answer, got, marked
):
    j = ordered(answer, got)
    marks = re.findall(r"<mark>(.*?)</mark>", page(j))
    text = lambda one: "–" if one is None else f"<code>{html.escape(one)}</code>"
    assert marks == [*map(text, marked)]
    assert page(j).count("<tr>") <= 12, "eight entries, the heads and the group"
    assert json.loads(json.dumps(j.smallest)) == j.smallest


def test_an_exercise_that_judges_by_itself_tells_the_first_difference_too():
    exercise = Exercise("pair", {"all": 1}, lambda rng: [Case("all", n=1)])
    exercise.accept(lambda case, got: same((1.0, 2.0), got))
    marks = re.findall(r"<mark>", page(judge(exercise, exercise.cases(1), [Returned((1.0, 3.0))])))
    assert len(marks) == 2


def test_what_may_not_be_told_does_not_stand_beside_what_came_back():
    hidden = ordered([1, 2, 3], [1, 3, 2], hidden=("all",))
    right = ordered([1, 2, 3], [1, 2, 3])
    assert "<mark>" not in page(hidden) + page(right) + page(ordered(2.0, 3.0))


def test_no_mark_rests_on_colour_alone():
    html = page(*EVERYTHING)
    assert html.count("✗") >= 6
    assert html.count("✓") >= 6
    assert "○ not started" in html


def test_hidden_cases_stay_hidden_and_numbers_to_predict_are_not_told():
    hidden = Backward("gradients", hidden=("single operations", "shared nodes", "random graphs"))
    html = page(judged("overwrites at fan-out", hidden))
    assert "first wrong node" not in html
    assert "<svg" not in html
    asked = Number("n", "What is cos 5?", lambda: float(np.cos(5.0)), "so.")
    html = page(judge(asked, asked.cases(0), [Returned(0.5)])) + student_markdown(
        "a", "b", [judge(asked, asked.cases(0), [Returned(0.5)])]
    )
    assert "0.28" not in html


def test_markdown_means_nothing_but_what_we_mean():
    text = student_markdown(
        "Ada\n# x", HOSTILE, [failed(), judged("overwrites at fan-out")], notes=[HOSTILE]
    )
    assert "<script" not in text
    assert "<img" not in text
    assert not re.search(r"(?<!\\)\]\(", text), "no link"
    assert not re.search(r"(?<!\\)!\[", text), "no picture"
    assert [line for line in text.splitlines() if line.startswith("#")] == [
        line for line in text.splitlines() if re.match(r"# |## Exercise", line)
    ]
    assert "one two \\| three" in student_markdown("a", "b", [failed("one\n\ntwo | three")]), (
        "nor a new line its row"
    )
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert all(len(re.findall(r"(?<!\\)\|", row)) == 4 for row in rows), (
        "no text of a student's ends a cell"
    )
    assert "The first wrong node is x1" in text


@pytest.mark.browser
def test_in_a_browser_nothing_runs_and_the_marks_appear(tmp_path, chromium):
    path = tmp_path / "page.html"
    path.write_text(student_html(HOSTILE, "Lab", EVERYTHING), encoding="utf-8")
    tab, requests, complaints = chromium.new_page(reduced_motion="no-preference"), [], []
    tab.on("request", lambda r: requests.append(r.url))
    tab.on("console", lambda m: complaints.append(m.text))
    tab.goto(path.as_uri())
    first = tab.evaluate(
        "[...document.querySelectorAll('.verdict')].map(e => +getComputedStyle(e).opacity)"
    )
    tab.wait_for_timeout(4500)
    last = tab.evaluate(
        "[...document.querySelectorAll('.verdict')].map(e => +getComputedStyle(e).opacity)"
    )
    assert min(first) < 0.5
    assert set(last) == {1}
    assert tab.evaluate("window.PWNED") is None
    assert complaints == [], "the policy forbids nothing that the page needs"
    assert [r for r in requests if not r.startswith(("file:", "data:"))] == []
    still = chromium.new_page(reduced_motion="reduce")
    still.goto(path.as_uri())
    assert set(
        still.evaluate(
            "[...document.querySelectorAll('.verdict')].map(e => +getComputedStyle(e).opacity)"
        )
    ) == {1}
    rings = still.evaluate("""[...document.querySelectorAll('.ring')].map(e => {
        const [a, b] = [e, e.ownerSVGElement].map(e => e.getBoundingClientRect());
        return [a.left - b.left, a.top - b.top, b.right - a.right, b.bottom - a.bottom]; })""")
    assert rings and all(min(space) >= 0 for space in rings), "no mark is drawn outside its picture"
    heads = still.evaluate(
        "[...document.querySelectorAll('th')].map(e => [e.textContent,"
        " e.getClientRects()[0].height, e.offsetWidth])"
    )
    assert all(
        height < 40 for text, height, _ in heads if text in ("what", "points", "what was seen")
    ), heads
    narrow = chromium.new_page(viewport={"width": 360, "height": 700})
    narrow.goto(path.as_uri())
    assert narrow.evaluate("document.documentElement.scrollWidth") <= 360
    for page in (tab, still, narrow):
        page.close()


@pytest.mark.browser
def test_on_a_phone_a_small_graph_is_seen_whole(tmp_path, chromium):
    """Its sentence made the picture twice as wide as the phone."""
    path = tmp_path / "page.html"
    path.write_text(student_html("Ada", "Lab", [judged("overwrites at fan-out")]), encoding="utf-8")
    phone = chromium.new_page(viewport={"width": 390, "height": 844})
    phone.goto(path.as_uri())
    phone.evaluate("document.querySelectorAll('details').forEach((e) => e.open = true)")
    hidden, width, scale = phone.locator(".picture").evaluate("""picture => {
        const svg = picture.firstElementChild;
        return [picture.scrollWidth - picture.clientWidth, picture.clientWidth,
            svg.clientWidth / svg.viewBox.baseVal.width]; }""")
    assert hidden == 0 and width > 300 and scale > 0.6
    phone.close()


# ------------------------------------------------------------------------------------------ Chinese

SAID = {
    "All cases are right.": "全部用例正确。",
    "`f` and `g`: Every number is twice what it should be. `h`: It looks as if you guessed.":
        "`f`、`g`：所有数都是正确值的两倍。`h`：It looks as if you guessed.",
    "1 of 3 cases are right. What `f` returned has the shape (3,), but should have the shape (2,).":
        "3 个用例中 1 个正确。`f` 返回的值的形状是 (3,)，应为 (2,)。",
    "What `f` returned is 0.5 at [1, 2]; it should be 0.25.":
        "`f` 返回的值在 [1, 2] 处是 0.5，应为 0.25。",
    "The second entry of what `f` returned is the number 3, but should be an array of shape (2,).":
        "`f` 返回的值的第 2 项是数 3，应为形状为 (2,) 的数组。",
    "`f` is not defined. In cell 3: NameError: name 'x' is not defined":
        "`f` 未定义。cell 3：NameError: name 'x' is not defined",
    "It did not come back: the process ended with status 3.":
        "它没有返回：the process ended with status 3。",
    "X1 is 2, which is not right.": "X1 是 2，不正确。",
    "`f` changed its argument `g` in place. Other code may still need it: make a new array, or"
    " change a copy of it.":
        "`f` 原地修改了参数 `g`，其他代码可能还要用它：请新建一个对象，或修改它的副本。",
    "a sentence of the sheet's own": "a sentence of the sheet's own",
}  # fmt: skip


@pytest.mark.parametrize("english", SAID)
def test_the_grader_s_own_sentences_are_there_in_chinese(english):
    assert chinese.said(english) == SAID[english]


def test_what_the_judge_says_of_common_failures_is_translated():
    """So that a sentence that is worded in another way is missed here."""
    right = {"a": np.ones((2, 3)), "b": 1.5, "c": True, "d": [1, 2], "e": 3}
    wrong = [
        np.ones(2), np.full((2, 3), np.nan), np.ones((2, 3), bool), np.zeros((2, 3)), None, "x",
        2.5, [1], (1, 3), {"k": 1}, 10**400, float("inf"), False, 7,
    ]  # fmt: skip
    told = {
        sentence(same(r, w, name="what `f` returned", reveal=reveal))
        for r in right.values() for w in wrong for reveal in (True, False)
    } - {""}  # fmt: skip
    assert len(told) > 25
    assert not [text for text in told if not re.search("[\u4e00-\u9fff]", chinese.said(text))]


def test_a_page_in_chinese_has_no_words_of_its_own_in_english():
    html_page = student_html(
        "Ada", "Lab", [judged("overwrites at fan-out"), failed()], language="zh"
    )
    assert (
        '<html lang="zh">' in html_page
        and "得分" in html_page
        and "第一个出错的节点是" in html_page
    )
    text = student_markdown("Ada", "Lab", [judged("overwrites at fan-out")], language="zh")
    for words in (Reader(html_page.partition("<body>")[2]).text, text):
        for word in ("what was seen", "points", "not yet", "cases are right", "Hint 1", "smallest"):
            assert word not in words, word
    with pytest.raises(ValueError, match="only in en, zh"):
        student_html("Ada", "Lab", [], language="fr")
