"""Lesson 2's dual numbers: what the text says is so, and the exercise judges as it should. The
other exercises are in test_grading.py.
"""

import math
import re
from pathlib import Path

import numpy as np
import pytest
from minigrad.lessons.exercises.lesson02 import EXERCISES
from minigrad.lessons.grading import check
from minigrad.lessons.grading.checking import check_exercise
from minigrad.lessons.grading.dry_run import Found, _tell_of
from minigrad.lessons.grading.exercise import Returned
from minigrad.lessons.grading.judge import judge
from minigrad.lessons.grading.pages import Tongue, _state

from minigrad.trace import validate

LESSON = Path(__file__).resolve().parents[2] / "lessons" / "02_forward_and_reverse_mode.ipynb"


def test_the_sheet_is_fit_to_grade_with(examined):
    assert examined.ok, str(examined)
    assert not any(examined.missed.values()), examined.missed


def test_the_articles_twin_and_its_two_derivatives(scope):
    dual = scope["Dual"]
    by_x1 = scope["twin"](dual(2.0, 1.0), dual(5.0, 0.0), scope["log"], scope["sin"])
    by_x2 = scope["twin"](dual(2.0, 0.0), dual(5.0, 1.0), scope["log"], scope["sin"])
    assert (by_x1.value, by_x1.tangent, by_x2.tangent) == pytest.approx(
        (9.734, 5.5, 2.284), abs=5e-4
    )


def work(product=None, sine=None, logarithm=None, constant=0.0):
    """What a student defines, with some of it wrong; each is a function of values and tangents
    that gives the pair of the result.
    """
    product = product or (lambda a, b, da, db: (a * b, da * b + a * db))
    sine = sine or (lambda a, da: (math.sin(a), math.cos(a) * da))
    logarithm = logarithm or (lambda a, da: (math.log(a), da / a))

    class Dual:
        def __init__(self, value, tangent=constant):
            self.value, self.tangent = value, tangent

        def __add__(self, other):
            other = as_dual(other)
            return Dual(self.value + other.value, self.tangent + other.tangent)

        def __sub__(self, other):
            other = as_dual(other)
            return Dual(self.value - other.value, self.tangent - other.tangent)

        def __mul__(self, other):
            other = as_dual(other)
            return Dual(*product(self.value, other.value, self.tangent, other.tangent))

        __radd__, __rmul__ = __add__, __mul__

    def as_dual(x):
        return x if isinstance(x, Dual) else Dual(x)

    return (
        Dual,
        lambda a: Dual(*sine(a.value, a.tangent)),
        lambda a: Dual(*logarithm(a.value, a.tangent)),
    )


def test_right_work_is_right():
    said = check("dual", *work())
    assert said.passed and said.points == 3, str(said)


@pytest.mark.parametrize("wrong, points, word", [
    ({"product": lambda a, b, da, db: (a * b, da * db)}, 1, "multiplied. Each factor moves"),
    ({"product": lambda a, b, da, db: (a * b, da * b)}, 1, "in which the second factor moves"),
    ({"product": lambda a, b, da, db: (a * b, a * db)}, 1, "in which the first factor moves"),
    ({"product": lambda a, b, da, db: (a * b, a * da + b * db)}, 1, "factors are swapped"),
    ({"product": lambda a, b, da, db: (a * b, da + db)}, 1, "as in a sum"),
    ({"product": lambda a, b, da, db: (da * b + a * db, a * b)}, 1, "changed places"),
    ({"sine": lambda a, da: (math.sin(a), math.cos(a))}, 1, "own tangent is forgotten"),
    ({"sine": lambda a, da: (math.sin(a), -math.cos(a) * da)}, 1, "sign is reversed"),
    ({"sine": lambda a, da: (math.sin(a), math.sin(da))}, 1, "applied to the tangent"),
    ({"sine": lambda a, da: (math.sin(a), math.cos(da) * da)}, 1, "taken at the value"),
    ({"logarithm": lambda a, da: (math.log(a), a * da)}, 1, "divide by it"),
    ({"logarithm": lambda a, da: (math.log(a), 1 / a)}, 1, "own tangent is forgotten"),
    ({"constant": 1.0}, 1, "It stands still"),
])  # fmt: skip
@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.whole)])
def test_classic_mistakes_are_named_and_shown(wrong, points, word, seed):
    said = check_exercise(EXERCISES["dual"], work(**wrong), seed)
    assert said.points == points, str(said)
    assert word in str(said)
    assert said.trace is not None
    validate(said.trace)
    assert "By your class" in said.trace["steps"][said.step - 1]["say"]  # where the viewer stands


def test_a_value_that_is_wrong_is_told_from_a_tangent(scope):
    said = check("dual", *work(product=lambda a, b, da, db: (a + b, da * b + a * db)))
    assert re.search(r"The value of v1 = x1 · \S+ should be [\d.]+, but is [\d.]+\.", str(said))


def test_what_is_no_dual_number_is_reported():
    dual, sine, logarithm = work()
    assert "`sin(x1)` is no dual number (it is of the type float)" in str(
        check("dual", dual, lambda a: math.sin(a.value), logarithm)
    )
    assert "no dual number (it is of the type tuple)" in str(
        check("dual", dual, sine, lambda a: (a.value, a.tangent))
    )


def test_what_is_half_done_is_worth_its_half(scope):
    def log(a):
        """The natural logarithm of a dual number, as a dual number."""
        ...

    dual, sine, _ = work()
    said = check("dual", dual, sine, log)
    assert said.points == 1
    assert "`log` returns nothing yet" in str(said)


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_numbers_that_are_none_are_wrong(value):
    said = check("dual", *work(product=lambda a, b, da, db: (a * b, value)))
    assert said.points == 1
    validate(said.trace)


def test_values_of_numpy_are_as_good_as_pythons():
    assert check("dual", *work(sine=lambda a, da: (np.sin(a), np.cos(a) * da))).passed


def test_formulas_without_the_students_part_are_not_asked():
    """They would be right before anything is written."""
    for seed in range(20):
        for case in EXERCISES["dual"].cases(seed):
            assert {op for _, op, _ in case.args["rows"]} & {"mul", "sin", "log"}


def test_the_table_as_it_is_handed_out_is_not_started_in_the_notebook_before_handing_in_and_after():
    table = EXERCISES["trace"]
    handed_out = {"x1": 2.0, "x2": 5.0, **dict.fromkeys(("v1", "v2", "v3", "v4", "v5"))}
    for filled, signs in ((handed_out, "○·○"), (handed_out | {"v1": math.log(2.0)}, "✗✓✗")):
        cases, returned = table.cases(0), [Returned(filled)]
        found = Found("lesson")
        _tell_of(table, cases, returned, found)
        judged = judge(table, cases, returned)
        said = check("trace", filled).head, found.lines[0][0], _state(judged, Tongue("en"))[1]
        assert all(sign in text for sign, text in zip(signs, said, strict=True)), said
        assert ("not started" in str(found)) == (filled is handed_out)
