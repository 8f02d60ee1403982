"""Lesson 13: what it shows is so, and its exercises judge operations of one's own as they
should.
"""

import math
from pathlib import Path

import pytest
from minigrad.lessons.exercises.lesson13 import EXERCISES
from minigrad.lessons.grading import check, predict
from minigrad.lessons.grading.judge import judge
from minigrad.lessons.grading.local import run_cases

import minigrad as mg
from minigrad.autograd import Function, gradcheck, gradgradcheck
from minigrad.autograd.gradcheck import GradcheckError
from minigrad.errors import NotDifferentiableError

LESSON = Path(__file__).resolve().parents[2] / "lessons" / "13_own_operation.ipynb"


@pytest.fixture
def points():
    return mg.tensor([0.5, -1.0, 2.0], dtype=mg.float64, requires_grad=True)


# ----------------------------------------------------------------------------- what the lesson says


def test_the_formula_overflows_and_the_solution_does_not():
    x = mg.tensor(800.0, dtype=mg.float64, requires_grad=True)
    y = mg.log(1 + mg.exp(x))
    y.backward()
    assert math.isinf(y.item())
    assert math.isnan(x.grad.item())


def test_the_solution_of_exercise_1_is_right_for_large_inputs(scope):
    x = mg.tensor([800.0, -800.0], dtype=mg.float64, requires_grad=True)
    y = scope["Softplus"].apply(x)
    y.sum().backward()
    assert y.tolist() == [800.0, 0.0]
    assert x.grad.tolist() == [1.0, 0.0]


@pytest.mark.parametrize("name", ["ForgetsG", "WrongSign", "WrongShape"])
def test_the_broken_operations_are_found_and_the_right_one_is_not(scope, points, name):
    assert gradcheck(scope["Logistic"].apply, (points,))
    with pytest.raises(mg.AutogradError):
        gradcheck(scope[name].apply, (points,))


def test_forward_mode_needs_its_own_rule(scope, points):
    assert gradcheck(scope["LogisticBoth"].apply, (points,), check_forward_ad=True)
    with pytest.raises(NotDifferentiableError):
        gradcheck(scope["Logistic"].apply, (points,), check_forward_ad=True)


def test_a_slope_that_is_computed_in_forward_is_lost_for_the_second_derivative(scope, points):
    assert gradcheck(scope["ConstantSlope"].apply, (points,))
    with pytest.raises(GradcheckError):
        gradgradcheck(scope["ConstantSlope"].apply, (points,))
    assert gradgradcheck(scope["Cube"].apply, (points,))
    with pytest.raises(NotDifferentiableError):
        mg.func.grad(mg.func.grad(scope["Honest"].apply))(scope["two"])


def test_the_operation_with_a_bprop_works_in_both_modes_and_twice(scope, points):
    assert gradcheck(scope["logistic"], (points,), check_forward_ad=True)
    assert gradgradcheck(scope["logistic"], (points,))


def test_the_length_has_a_hole_and_the_solution_of_exercise_2_has_none(scope):
    assert all(map(math.isnan, scope["zero"].grad.tolist()))
    zero = mg.zeros(3, dtype=mg.float64, requires_grad=True)
    length = scope["Norm"].apply(zero)
    length.backward()
    assert (length.item(), zero.grad.tolist()) == (0.0, [0.0, 0.0, 0.0])


# ------------------------------------------------------------------------------------ the exercises


def test_the_sheet_is_fit_to_grade_with_and_finds_each_classic_mistake(examined):
    assert examined.ok, str(examined)
    assert not any(examined.missed.values()), examined.missed


@pytest.mark.parametrize("seed", range(4))
def test_the_solutions_are_right_for_random_cases(scope, seed):
    for exercise in EXERCISES.values():
        cases = exercise.cases(seed)
        assert judge(exercise, cases, run_cases(exercise, cases, scope, 30.0)).full, exercise.name


def softplus(forward, backward, base=Function):
    """A student's Softplus of two functions of x."""

    def saved(ctx, x):
        ctx.save_for_backward(x)
        return forward(x)

    body = {
        "forward": staticmethod(saved),
        "backward": staticmethod(lambda ctx, g: backward(ctx.saved_tensors[0], g)),
    }
    return type("Softplus", (base,), body)


STABLE = lambda x: mg.maximum(x, 0 * x) + mg.log1p(mg.exp(-mg.abs(x)))
NAIVE = lambda x: mg.log(1 + mg.exp(x))


def test_another_stable_formula_is_right():
    assert check(
        "Softplus",
        softplus(
            lambda x: mg.logaddexp(x, mg.zeros_like(x)),
            lambda x, g: g * mg.exp(-mg.logaddexp(-x, 0 * x)),
        ),
    ).passed


def test_the_formula_as_it_stands_on_paper_loses_the_point_for_large_inputs_only():
    feedback = check("Softplus", softplus(NAIVE, lambda x, g: g * mg.sigmoid(x)))
    assert feedback.points == 3
    assert "not finite" in str(feedback)
    assert "the exponential of a large number" in str(feedback)
    quotient = check("Softplus", softplus(STABLE, lambda x, g: g * mg.exp(x) / (1 + mg.exp(x))))
    assert "the exponential of a large number" in str(quotient)


def test_a_method_that_is_not_written_is_not_started_or_the_points_of_the_other():
    class Softplus(Function):
        """As it is handed out."""

        @staticmethod
        def forward(ctx, x): ...

        @staticmethod
        def backward(ctx, g): ...

    assert "not started" in str(check("Softplus", Softplus))
    Softplus.forward = staticmethod(softplus(STABLE, None).forward)
    half = check("Softplus", Softplus)
    assert half.points == 1
    assert "`backward` of the class `Softplus` returns nothing yet" in str(half)


def test_a_method_without_a_return_is_told_as_that_and_on_a_case_with_numbers():
    def no_return(x, g):
        g * mg.sigmoid(x)

    feedback = str(check("Softplus", softplus(STABLE, no_return)))
    assert "`Softplus` gave nothing (None). Is a `return` missing in it?" in feedback
    assert "the gradient of Softplus at" in feedback
    assert "at []" not in feedback


@pytest.mark.parametrize(
    "bad", [lambda x: mg.log(1 + mg.exp(x)), type("Softplus", (), {"forward": lambda ctx, x: x})]
)
def test_what_is_not_derived_from_function_is_reported(bad):
    assert (
        "should be a class derived from `Function`, which begins with `class Softplus(Function):`"
        in str(check("Softplus", bad))
    )


@pytest.mark.parametrize("bad", [5, None, ..., mg.softplus, Function])
def test_what_is_no_operation_does_not_stop_the_check(bad):
    feedback = check("Softplus", bad)
    assert feedback.points == 0
    assert "check itself failed" not in str(feedback)


NORMS = {
    "0/0": (lambda x, y, g: g * x / y, 1, "0 is still divided by 0"),
    "chosen after the division": (
        lambda x, y, g: mg.where(y > 0, g * x / y, 0.0),
        1,
        "only hides the NaN",
    ),
    "chosen before it": (lambda x, y, g: g * x / mg.where(y > 0, y, 1.0), 3, "right"),
    "a small number": (lambda x, y, g: g * x / (y + 1e-8), 2, "a small number"),
    "a small number under the root": (
        lambda x, y, g: g * x / mg.sqrt(y * y + 1e-12),
        2,
        "a small number",
    ),
    "forgets g": (lambda x, y, g: x / mg.where(y > 0, y, 1.0), 0, "left out `g`"),
    "exchanged": (lambda x, y, g: g * y / mg.where(x > 0, x, 1.0), 0, "x and y are swapped"),
    "not divided": (lambda x, y, g: g * x, 0, "divide by the length"),
    "of the square": (lambda x, y, g: 2 * g * x, 0, "sum of squares"),
    "something at zero": (
        lambda x, y, g: g * x / y if y.item() else g + 0 * x,
        1,
        "the gradient should be 0",
    ),
    "an exception": (lambda x, y, g: 1 / 0, 0, "ZeroDivisionError"),
}


@pytest.mark.parametrize("name", NORMS)
def test_rules_of_the_length_get_what_they_deserve_and_get_the_reason(scope, name):
    rule, points, says = NORMS[name]
    backward = staticmethod(lambda ctx, g: rule(*ctx.saved_tensors, g))
    feedback = check("Norm", type("Norm", (scope["Norm"],), {"backward": backward}))
    assert feedback.points == points
    assert says in str(feedback)


@pytest.mark.parametrize(
    "name, guess, says",
    [
        ("own-operations", 5, "It is not recorded"),
        ("own-operations", 4, "happens inside"),
        ("lost-derivative", 12, "what it should be"),
    ],
)
def test_usual_slips_are_reported(name, guess, says):
    feedback = predict(name, guess)
    assert not feedback.passed
    assert says in str(feedback)
