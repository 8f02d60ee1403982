"""What came back is compared in type, shape, finiteness and numbers, in that order; a group's
points are given or not.
"""

import json
import math

import numpy as np
import pytest
from minigrad.lessons.grading.comparison import same
from minigrad.lessons.grading.exercise import (
    Case,
    Exercise,
    Misconception,
    Returned,
    SheetError,
    Where,
)
from minigrad.lessons.grading.judge import Judgement, judge
from minigrad.lessons.grading.words import shown

import minigrad as mg

A = np.array([1.0, 2.0, 3.0])

RIGHT = {
    "list for array": (A, [1.0, 2.0, 3.0]),
    "nested list for array": (np.eye(2), [[1, 0], (0, 1)]),
    "array for tuple": ((1.0, 2.0), np.array([1.0, 2.0])),
    "rows for tuple": ((A, 2 * A), np.stack([A, 2 * A])),
    "floats for whole numbers": (np.array([1, 2]), np.array([1.0, 2.0])),
    "array": (A, A.copy()),
    "float32": (A, A.astype(np.float32)),
    "whole numbers for floats": (A, np.array([1, 2, 3])),
    "rounded": (A, A * (1 + 1e-7)),
    "a number for an array of no dimensions": (np.array(2.0), 2.0),
    "and the other way round": (2.0, np.array(2.0)),
    "int for float": (2.0, 2),
    "whole float for int": (2, 2.0),
    "tuple for list": ([1.0, A], (1.0, A)),
    "dictionary": ({"a": 1.0, "b": A}, {"b": A, "a": 1.0}),
    "tensor on our side": (mg.tensor([1.0, 2.0]), np.array([1.0, 2.0])),
    "numpy's scalar on our side": (np.float64(0.5), 0.5),
    "empty": (np.zeros((0, 3)), np.zeros((0, 3))),
    "text": ("add", "add"),
    "none": (None, None),
    "truth": (True, True),
    "large whole number": (10**30, 10**30),
}


@pytest.mark.parametrize("name", RIGHT)
def test_equal_answers_are_recognised(name):
    expected, got = RIGHT[name]
    assert same(expected, got) == ""


WRONG = {
    "shape that would broadcast": (A, np.array([[1.0, 2.0, 3.0]]), "has the shape (1, 3)"),
    "one number for many": (np.ones(3), 1.0, "has the shape ()"),
    "empty": (A, np.zeros(0), "has the shape (0,)"),
    "empty list": ([1.0], [], "has 0 entries"),
    "nan": (A, np.array([1.0, np.nan, 3.0]), "not finite"),
    "infinity": (1.0, math.inf, "not finite"),
    "object": (A, np.array([1.0, 2.0, 3.0], dtype=object), "object"),
    "complex": (A, A + 0j, "complex"),
    "complex number": (1.0, 1 + 0j, "complex"),
    "masked": (A, np.ma.array(A, mask=True), "MaskedArray"),
    "text": (1.0, "1.0", "the text '1.0'"),
    "number for text": ("a", 1, "is 1; it should be 'a'"),
    "nothing": (1.0, None, "nothing (None)"),
    "truth for number": (1.0, True, "truth values"),
    "number for truth": (True, 1, "whole numbers"),
    "half for a whole number": (
        np.array([1, 2]),
        np.array([1.0, 2.5]),
        "is 2.5 at [1]; it should be 2",
    ),
    "another list for an array": (A, [1.0, 2.0, 4.0], "is 4 at [2]; it should be 3"),
    "list of texts for array": (A, ["1", "2", "3"], "the list"),
    "ragged list for array": (A, [[1.0], [2.0, 3.0]], "the list"),
    "nested list for array": (A, [[1.0, 2.0, 3.0]], "the list"),
    "array for tuple": (
        (1.0, 2.0),
        np.array([1.0, 2.5]),
        "the second entry of it is 2.5; it should be 2",
    ),
    "dictionary": (A, {"a": 1}, "the dictionary {'a': 1}"),
    "missing key": ({"a": 1.0, "b": 2.0}, {"a": 1.0}, "no entry for 'b'"),
    "extra key": ({"a": 1.0}, {"a": 1.0, "z": 2}, "entry for 'z'"),
    "value": (A, np.array([1.0, 2.5, 3.0]), "is 2.5 at [1]"),
    "place in a matrix": (np.ones((2, 2)), np.array([[1.0, 1.0], [1.0, 0.0]]), "at [1, 1]"),
    "too large": (1.0, 10**400, "too large"),
    "large": (1.0, 10**15, "it should be 1"),
    "another whole number": (10**30, 10**30 + 1, f"is {10**30 + 1}; it should be {10**30}"),
    "digits": (1.0, 1.001, "is 1.001; it should be 1."),
    "late digits": (1.0, 1.00001, "is 1.00001; it should be 1."),
    "the last digits": (0.1 + 1e-3, 0.1 + 1e-3 + 2e-6, "0.101002"),
    "tuple too long": ((1.0, 2.0), (1.0, 2.0, 3.0), "has 3 entries"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_not_the_same_is_shown_beside_what_is_expected(name):
    expected, got, say = WRONG[name]
    problem = same(expected, got)
    assert say in problem
    assert problem.endswith(".")


def test_coarser_dtypes_have_wider_tolerances():
    off = A * (1 + 3e-5)
    assert same(A, off) != ""
    assert same(A, off.astype(np.float32)) == ""
    assert same(A.astype(np.float32), off) == ""
    assert same(A, A * 1.01, rtol=0.02) == ""
    assert same(0.0, 1e-6, atol=1e-5) == ""


def test_what_is_expected_is_not_told_where_it_is_the_answer():
    for expected, got, _ in WRONG.values():
        said = same(expected, got, reveal=False)
        assert said
        assert "it should be" not in said
        assert not hasattr(said, "expected")
    assert same(A, A + 1.0).expected == "[1, 2, 3]"


@pytest.mark.parametrize("expected", [math.nan, np.array([np.inf]), 1j, object()])
def test_what_no_student_could_match_is_the_sheets_fault(expected):
    with pytest.raises(SheetError):
        same(expected, 1.0)


def test_text_of_odd_values_is_short_and_never_fails():
    for value in (
        10**5000,
        "x" * 10**6,
        np.zeros((100, 100)),
        [[1] * 1000] * 1000,
        {"k" * 500: 1},
        -0.0,
        None,
        [{"a": np.ones(3)}],
    ):
        assert len(shown(value)) <= 200


# -------------------------------------------------------------------------------------------- judge


def doubled(groups=("small", "large"), **options):
    def cases(rng):
        for group in groups:
            for n in (1, 2, 3):
                yield Case(group, x=np.full(n if group == "small" else 10 * n, 1.0 + rng.random()))

    e = Exercise("double", {"small": 1, "large": 2}, cases, **options)
    e.answer(lambda x: 2 * x)
    return e


def run(e, f, seed=1):
    cases = e.cases(seed)
    return judge(e, cases, [Returned(f(c.args["x"])) for c in cases])


def test_right_answers_get_all_points():
    j = run(doubled(), lambda x: 2 * x)
    assert (j.points, j.max, j.full, j.started) == (3.0, 3.0, True, True)
    assert (j.misconception, j.where, j.smallest) == (None, None, None)


def test_a_group_is_worth_all_or_nothing_and_the_other_one_its_points():
    j = run(doubled(), lambda x: 2 * x if x.size < 10 else x)
    assert [(g.name, g.points, g.right, g.total) for g in j.groups] == [
        ("small", 1.0, 3, 3),
        ("large", 0.0, 0, 3),
    ]
    j = run(doubled(), lambda x: 2 * x if x.size != 2 else x)
    assert j.points == 2.0
    assert "2 of 3 cases are right" in j.groups[0].say


def test_the_smallest_failing_case_is_told_unless_it_is_hidden():
    assert run(doubled(), lambda x: x).smallest["size"] == 1
    j = run(doubled(hidden=("small",)), lambda x: x)
    assert j.smallest["size"] == 10
    assert run(doubled(hidden=("small", "large")), lambda x: x).smallest is None
    e = doubled(present=lambda case: "the case of size " + str(case.size))
    assert run(e, lambda x: x).smallest["call"] == "the case of size 1"


def test_a_failure_costs_its_group_and_is_reported():
    e = doubled()
    cases = e.cases(1)
    returned = [Returned(2 * c.args["x"]) for c in cases]
    returned[4] = Returned(error="`double` took too long.", kind="time", cpu_s=10.0)
    j = judge(e, cases, returned)
    assert j.points == 1.0
    assert j.groups[1].kind == "time"
    assert "took too long" in j.groups[1].say
    assert j.slowest_s == 10.0


def test_a_stub_is_not_started():
    e = doubled()
    cases = e.cases(1)
    j = judge(e, cases, [Returned(error="not written yet.", kind="unfinished")] * len(cases))
    assert not j.started
    assert (j.points, j.misconception, j.smallest) == (0.0, None, None)
    assert j.groups[0].say == "Not written yet."


def test_values_of_any_kind_are_judged_without_harm():
    for value in (
        None,
        [],
        {},
        "x",
        10**400,
        math.nan,
        np.zeros((0,)),
        np.zeros((1, 1, 1)),
        [[[]]],
        {"a": {}},
        True,
    ):
        assert run(doubled(), lambda x, value=value: value).points == 0


def test_a_judge_of_the_instructors_that_fails_on_odd_values_fails_the_student_and_not_the_batch():
    e = Exercise("a", {"g": 1}, lambda rng: iter([Case("g")]))
    e.accept(lambda case, got: got["x"] > 0)
    assert judge(e, e.cases(0), [Returned({"x": 1})]).points == 1
    for value in (3, {"y": 1}, {"x": "a"}):
        j = judge(e, e.cases(0), [Returned(value)])
        assert j.points == 0
        assert "cannot be judged" in j.items[0].say
    assert (
        judge(e, e.cases(0), [Returned(None)]).items[0].say
        == "`a` returned nothing (None). Is a `return` missing?"
    )


def test_accept_says_true_or_nothing_for_right_and_false_or_a_reason_for_wrong():
    e = Exercise("a", {"g": 1}, lambda rng: iter([Case("g")]))
    e.accept(lambda case, got: got)
    said = {True: 1, "": 1, False: 0, "too small.": 0}
    assert {v: judge(e, e.cases(0), [Returned(v)]).points for v in said} == said
    assert judge(e, e.cases(0), [Returned("too small.")]).groups[0].say == "Too small."
    assert judge(e, e.cases(0), [Returned(1)]).points == 0, "1 equals True, but is not True"


def test_an_answer_that_fails_is_the_sheets_fault():
    e = doubled()
    e.answer(lambda x: 1 / 0)
    with pytest.raises(SheetError, match="its own answer raised ZeroDivisionError"):
        run(e, lambda x: x)


def test_results_must_be_as_many_as_cases():
    with pytest.raises(SheetError, match="6 cases, but 0 results"):
        judge(doubled(), doubled().cases(1), [])


def test_the_likely_mistake_must_explain_every_case():
    mistakes = (
        Misconception("same", "you return x.", lambda c: c.args["x"]),
        Misconception("triple", "three.", lambda c: 3 * c.args["x"]),
    )
    e = doubled(misconceptions=mistakes)
    assert run(e, lambda x: 3 * x).misconception == {
        "name": "triple",
        "say": "It looks as if three.",
    }
    assert run(e, lambda x: 3 * x if x.size < 2 else 5 * x).misconception is None
    assert run(e, lambda x: 2 * x).misconception is None


def test_a_mistake_in_all_cases_of_one_group_is_named_with_the_group():
    mistakes = (
        Misconception("same", "you return x.", lambda c: c.args["x"]),
        Misconception("triple", "three.", lambda c: 3 * c.args["x"]),
    )
    e = doubled(misconceptions=mistakes)
    assert run(e, lambda x: 3 * x if x.size < 10 else 7 * x).misconception == {
        "name": "triple",
        "say": "It looks as if three. That explains the cases of “small”, but not all others.",
    }
    found = run(e, lambda x: 2 * x if x.size < 10 else x).misconception
    assert found["say"].endswith("That explains the cases of “large”, but not all others.")
    assert run(e, lambda x: 3 * x if x.size in (1, 10) else 5 * x).misconception is None
    few = doubled(misconceptions=(Misconception("no", "no.", lambda c: c.args["x"].size > 0),))
    assert run(few, lambda x: x.size < 10 or 5 * x).misconception is None, "True tells little"


def test_a_variant_comes_after_all_full_mistakes_and_adds_its_sentence():
    half = Misconception(
        "a",
        "first.",
        lambda c: 7 * c.args["x"],
        variants=((" It is half.", lambda c: c.args["x"] / 2),),
    )
    full = Misconception("b", "second.", lambda c: c.args["x"] / 2)
    assert run(doubled(misconceptions=(half, full)), lambda x: x / 2).misconception["name"] == "b"
    assert run(doubled(misconceptions=(half,)), lambda x: x / 2).misconception == {
        "name": "a",
        "say": "It looks as if first. It is half.",
    }


def test_a_mistake_that_fails_itself_is_passed_over():
    bad = Misconception("bad", "no.", lambda c: 1 / 0)
    assert run(doubled(misconceptions=(bad,)), lambda x: x + 7.0).misconception is None


def test_where_it_goes_wrong_comes_from_the_exercise_and_may_fail():
    e = doubled(where=lambda case, got: Where("v1", "there.", None, 0, ("v1",)))
    assert run(e, lambda x: x).where == {"node": "v1", "say": "there.", "wrong": ["v1"]}
    assert run(doubled(where=lambda case, got: 1 / 0), lambda x: x).where is None


def test_a_judgement_is_json_and_comes_back():
    j = run(doubled(), lambda x: x)
    assert Judgement.from_dict(json.loads(json.dumps(j.as_dict()))) == j


@pytest.mark.parametrize(
    "wrong, says",
    [
        (lambda x: -2 * x, "the wrong sign"),
        (lambda x: 4 * x, "twice what it should be"),
        (lambda x: x, "half of what it should be"),
        (lambda x: 2.0001 * x, "not to the last ones"),
    ],
)
def test_a_factor_that_is_in_every_number_is_named(wrong, says):
    assert says in run(doubled(), wrong).misconception["say"]


def test_a_mistake_that_gives_no_numbers_is_named_where_the_same_ones_are_missing():
    bad = Misconception("a hole", "it has a hole.", lambda c: c.args["x"] * np.nan)
    found = run(doubled(misconceptions=(bad,)), lambda x: x * np.nan)
    assert found.misconception["name"] == "a hole"
