"""What is not written yet, and what returns nothing by mistake: told apart, in the notebook and
in the batch grader alike.
"""

import functools
import linecache

import pytest
from minigrad.lessons.grading import run, sandbox
from minigrad.lessons.grading.calls import Caller, StudentProblem
from minigrad.lessons.grading.checking import check_exercise, judge_here
from minigrad.lessons.grading.exercise import Case, Exercise
from minigrad.lessons.grading.judge import judge
from minigrad.lessons.grading.local import run_cases
from minigrad.lessons.grading.sheet import load_sheet
from minigrad.lessons.grading.stubs import (
    Unwritten,
    attempt,
    has_stub,
    is_stub,
    unwritten,
    without_gaps,
)

from tests.helpers.small_class import hand_in, notebook, write_sheet

LEAST = "confined" if {"landlock", "seccomp"} <= set(sandbox.probe()["obtained"]) else "process"
YET = "`g` returns nothing yet: put your code in place of `...`."
MISSING = "`g` returned nothing (None). Is a `return` missing?"
CHANGED = (
    "`g` changed its argument `x` in place. Other code may still need it: make a new array, or"
    " change a copy of it."
)

ANSWERS = {
    "an ellipsis": ("def g(x):\n    ...  # your code here", YET),
    "a docstring": ('def g(x):\n    """Twice x."""\n    ...', YET),
    "pass": ("def g(x):\n    pass", YET),
    "a lambda": ("g = lambda x: ...", YET),
    "a line that was given": ("def g(x):\n    n = len(x)\n    ...  # your code here", YET),
    "not implemented": (
        "def g(x):\n    raise NotImplementedError",
        "`g` raises NotImplementedError: put your code in its place.",
    ),
    "nothing": ("g = ...", "`g` has no value yet: write your code in place of `...`."),
    "no return": ("def g(x):\n    y = 2 * x", MISSING),
    "no return, and the stub above it": ("def g(x):\n    ...\n    y = 2 * x", MISSING),
    "a return in one branch only": (
        "def g(x):\n    if x.size > 100:\n        return 2 * x",
        MISSING,
    ),
    "in place": ("def g(x):\n    x *= 2", CHANGED),
    "right, and the stub still there": (
        "def g(x):\n    ...  # your code here\n    return 2 * x",
        "",
    ),
}


def defined(source: str) -> dict:
    """The names of a cell, whose source is known as in Jupyter."""
    linecache.cache["<a cell>"] = (len(source), None, source.splitlines(keepends=True), "<a cell>")
    names: dict = {}
    exec(compile(source, "<a cell>", "exec"), names)
    return names


def told(say: str, expected: str) -> bool:
    """Whether a sentence ends with one of those that are expected."""
    return any(part in say for part in expected.split("|"))


@pytest.mark.unix
def test_in_the_batch(tmp_path, shared_servers):
    sheet = write_sheet(tmp_path / "sheet")
    for student, (source, _) in ANSWERS.items():
        hand_in(tmp_path / "submitted", student, notebook({"g": source}))
    report = run.grade(
        sheet,
        tmp_path / "submitted",
        tmp_path / "out",
        run.Options(least=LEAST, jobs=1, wrap=False),
    )
    assert len(report.results) == len(ANSWERS)
    for result in report.results:
        g = next(j for j in result.judgements if j.exercise == "g")
        expected = ANSWERS[result.student][1]
        assert g.points == (0 if expected else 2)
        assert g.started == (expected in ("", MISSING, CHANGED)), result.student
        assert not expected or told(g.items[0].say, expected), (result.student, g.items[0].say)


@pytest.mark.parametrize("name", ANSWERS)
def test_in_the_notebook(name, tmp_path):
    source, expected = ANSWERS[name]
    exercise = load_sheet(write_sheet(tmp_path))["g"]
    exercise.verify = lambda case, got: bool(
        (got == 2 * case.args["x"]).all()
    )  # fails on None, as a check may
    judgement = judge(
        exercise, exercise.cases(1), run_cases(exercise, exercise.cases(1), defined(source), 5)
    )
    assert judgement.started == (expected in ("", MISSING, CHANGED))
    feedback = check_exercise(exercise, [defined(source)["g"]])
    assert feedback.passed == (not expected)
    assert (feedback.status == "unfinished") == (expected not in ("", MISSING, CHANGED))
    assert not expected or told(str(feedback), expected), str(feedback)


CLASSES = {
    "nothing in it": (
        "class K:\n    def value(self): ...\n    def grad(self): ...",
        "unfinished",
        "unfinished",
    ),
    "half of it": (
        "class K:\n    def value(self): return 1\n    def grad(self): ...",
        "",
        "unfinished",
    ),
    "no return": (
        "class K:\n    def value(self): self.x = 1\n    def grad(self): return 1",
        "none",
        "",
    ),
    "static": (
        "class K:\n    @staticmethod\n    def value(): ...\n    @staticmethod\n    def grad(): ...",
        "raised",
        "raised",
    ),
    "raises": (
        "class K:\n    def value(self): return 1 / 0\n    def grad(self): ...",
        "raised",
        "unfinished",
    ),
}


@pytest.mark.parametrize("name", CLASSES)
def test_a_class_may_be_half_written(name, tmp_path):
    source, *expected = CLASSES[name]
    (tmp_path / "class_drive.py").write_text(
        "def use(answers, call, what):\n    return getattr(answers[call](), what)()\n"
    )
    exercise = Exercise(
        "K", {"all": 1}, lambda rng: iter([]), drive="class_drive:use", home=str(tmp_path)
    )
    cases = [Case.of("all", {"what": what}) for what in ("value", "grad")]
    found = [
        back.kind or ("none" if back.value is None else "")
        for back in run_cases(exercise, cases, defined(source), 5)
    ]
    assert found == (["unfinished", "unfinished"] if name == "static" else expected)


GAPS = "put your code in place of `...`."
SAID = {
    "a value": ("k = ...", True, "`k` has no value yet: write your answer in place of `...`."),
    "no value": (
        "k = None",
        True,
        "`k` has no value yet: write your answer in place of `...`.",
    ),
    "no function": (
        "k = ...",
        False,
        "`k` has no value yet: write your code in place of `...`.",
    ),
    "a function": ("def k(x): ...", False, f"`k` returns nothing yet: {GAPS}"),
    "a class": (
        (
            "class k:\n    def one(self): ...\n    @staticmethod\n    def two(x): ...\n    def"
            " three(self):\n        self.x = 1\n        ..."
        ),
        False,
        f"`one`, `two` and `three` of the class `k` return nothing yet: {GAPS}",
    ),
    "half a class": (
        "class k:\n    def one(self): return 1\n    def two(self): ...",
        False,
        f"`two` of the class `k` returns nothing yet: {GAPS}",
    ),
    "a method with two names": (
        (
            "class k:\n    def __add__(self, other): return 1\n    def __mul__(self, other): ...\n "
            "   __rmul__ = __mul__"
        ),
        False,
        f"`__mul__` of the class `k` returns nothing yet: {GAPS}",
    ),
    "a class that gives the dots back": (
        "class k:\n    def one(self):\n        self.x = 1\n        return ...",
        False,
        f"a method of the class `k` returns nothing yet: {GAPS}",
    ),
}


@pytest.mark.parametrize("name", SAID)
def test_what_is_not_written_is_named_by_its_kind(name):
    source, is_value, said = SAID[name]
    assert unwritten("k", defined(source)["k"], is_value=is_value) == said


def test_the_answer_that_is_missing_is_named_and_not_the_one_that_uses_it(tmp_path):
    (tmp_path / "pair_drive.py").write_text("def use(answers, call):\n    return answers['g']()\n")
    exercise = Exercise(
        "pair",
        {"all": 1},
        lambda rng: iter([]),
        ("f", "g"),
        drive="pair_drive:use",
        home=str(tmp_path),
    )
    (back,) = run_cases(
        exercise, [Case.of("all", {}, call="f")], defined("def f(): return 1\ndef g(): ..."), 5
    )
    assert (back.kind, back.error) == ("unfinished", f"`g` returns nothing yet: {GAPS}")


def test_a_class_of_which_a_method_returns_nothing_is_reported(tmp_path):
    (tmp_path / "none_drive.py").write_text(
        "def use(answers, call):\n    return answers[call]().value()\n"
    )
    exercise = Exercise(
        "K", {"all": 1}, lambda rng: iter([]), drive="none_drive:use", home=str(tmp_path)
    )
    exercise.verify = lambda case, got: got == 1
    cases = [Case("all")]
    back = run_cases(exercise, cases, defined("class K:\n    def value(self): self.x = 1"), 5)
    assert (
        judge_here(exercise, cases, back).items[0].say
        == "`K` gave nothing (None). Is a `return` missing in it?"
    )


def test_what_is_a_stub():
    names = defined(
        "def empty(x): ...\ndef given(x):\n    y = x\n    ...\ndef one(x): return 1\nasync def"
        " later(x): ...\ndef many(x): yield"
    )
    assert [is_stub(names[n]) for n in ("empty", "given", "one", "later", "many")] == [
        True,
        False,
        False,
        False,
        False,
    ]
    assert [has_stub(names[n]) for n in ("empty", "given", "one", "later", "many")] == [
        True,
        True,
        False,
        False,
        False,
    ]
    for odd in (print, functools.partial(print), 3, None, type("Empty", (), {}), {"a": ...}):
        assert not is_stub(odd) and not has_stub(odd)
    assert not is_stub(
        defined("def outer():\n    def inner(x): ...\n    return inner\nf = outer()")["outer"]
    )
    assert (
        is_stub(
            defined(
                "def outer():\n    n = 1\n    def inner(x):\n        n\n        ...\n    return"
                " inner\nf = outer()"
            )["f"]
        )
        is False
    )


def test_none_is_as_good_as_any_value_where_no_stub_is_to_blame():
    names = defined("def nothing(x):\n    if x:\n        return 1")
    assert attempt(lambda: names["nothing"](0), names["nothing"]) is None
    with pytest.raises(Unwritten):
        attempt(lambda: None, print, [defined("def other(): ...")["other"]])


def test_the_places_of_a_table_that_still_say_dots():
    assert without_gaps({"a": 1, "b": ..., "c": [..., (2, ...)]}) == {
        "a": 1,
        "b": None,
        "c": [None, (2, None)],
    }
    exercise = Exercise(
        "t",
        {"a": 1, "b": 1},
        lambda rng: iter([Case("a", row="a"), Case("b", row="b")]),
        is_value=True,
    )
    exercise.accept(lambda case, got: got.get(case.args["row"]) == 1)
    judgement = judge(
        exercise,
        exercise.cases(0),
        run_cases(exercise, exercise.cases(0), {"t": {"a": 1, "b": ...}}, 5),
    )
    assert [group.points for group in judgement.groups] == [1, 0]


@pytest.mark.parametrize(
    ("source", "kind", "say"),
    [
        ("def f(a): ...", "unfinished", "Not finished: `f(1)` returns nothing"),
        (
            "def f(a):\n    b = 2 * a",
            "type",
            "`f(1)` returned nothing (None). Is a `return` missing?",
        ),
        ("def f(a): return ...", "unfinished", "Not finished"),
    ],
)
def test_a_rule_that_returns_nothing(source, kind, say):
    for call in (
        lambda f: Caller().number(f, (1,), "f(1)"),
        lambda f: Caller().numbers(f, (1,), "f(1)", 2),
    ):
        with pytest.raises(StudentProblem) as caught:
            call(defined(source)["f"])
        assert caught.value.kind == kind
        assert caught.value.say.startswith(say)
