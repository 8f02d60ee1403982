"""No wrong answer of the tables passes a check, in the notebook or in the grader, and of each
something true is said.
"""

import math
import re

import numpy as np
import pytest
from minigrad.lessons.grading import check, checking, known, predict
from minigrad.lessons.grading.exercise import Returned
from minigrad.lessons.grading.judge import judge
from minigrad.lessons.grading.local import run_cases

from tests.helpers.tables import in_one_test

from .wrong import (
    answers,
    capstone_answers,
    colouring_answers,
    edge_answers,
    fixed_point_answers,
    later_answers,
    matrix_answers,
    own_engine_answers,
    pitfall_answers,
    program_answers,
    simulator_answers,
    valley_answers,
)

pytestmark = pytest.mark.usefixtures("smaller_cases")
EXERCISES = known()
WRONG = (
    answers.WRONG
    | later_answers.WRONG
    | own_engine_answers.WRONG
    | matrix_answers.WRONG
    | pitfall_answers.WRONG
    | fixed_point_answers.WRONG
    | simulator_answers.WRONG
    | colouring_answers.WRONG
    | valley_answers.WRONG
    | edge_answers.WRONG
    | program_answers.WRONG
    | capstone_answers.WRONG
)
LARGE = {"fast_adjoints": EXERCISES["fast_adjoints"].make_cases}
"""Cases for wrong answers that are right and take too long."""
TOO_LONG = "took too long"
ELSEWHERE = ("own_step", "engine_suite")
"""The milestone has a table of its own, in wrong/engines.py; the broken engines of the suite are
generated (test_lesson24.py).
"""
PREDICTIONS = sorted(
    name
    for name, e in EXERCISES.items()
    if e.is_value and e.max_points == 1 and list(e.points) == ["answer"]
)
SLOW = (
    *("fast_adjoints", "train", "frugal", "topological_order", "kept", "best_step", "products"),
    *("dual_tensor", "gradients", "agrees", "schedule", "sweep", "fixed_point"),
    *("both_products", "gauss_newton", "cg_step"),
    "colouring",
)
"""Their cases are large: their wrong answers belong to the whole suite. The tests of their lessons
try some in every run.
"""


def rows():
    """Two wrong answers of each other exercise are tried in every run, the others in the whole
    suite.
    """
    for name, table in WRONG.items():
        for number, what in enumerate(table):
            marks = [pytest.mark.whole] if number >= (0 if name in SLOW else 2) else []
            yield pytest.param(name, what, marks=marks, id=f"{name}: {what}")


PLACES = ("The first wrong node is", "In a network 2-3-2")
NUMBERS_ALONE = re.compile(
    r"( is .*; it should be (?!at ).*|, which is not right|not finite \(NaN or infinity\))\.$"
)
"""How a reason ends that tells numbers and nothing besides."""


def is_named(feedback):
    """Whether a diagnosis is made, besides the place."""
    return any(line.kind == "note" and not line.text.startswith(PLACES) for line in feedback.lines)


def tells_why(feedback):
    """Whether the first group that fails says more than two numbers: what is missing, of which
    shape it is, what was raised, or why a choice is wrong. There a second sentence would say it
    again.
    """
    reasons = [
        line.text for line in feedback.lines if line.kind != "right" and "smallest" not in line.text
    ]
    return bool(reasons) and not NUMBERS_ALONE.search(reasons[0])


def test_numbers_alone_are_no_reason():
    given = (lambda x, g: np.cos(x) * 7.0,)
    feedback = check("pull_exp", *given)
    assert not is_named(feedback)
    assert not tells_why(feedback)
    shape = check("pull_exp", lambda x, g: 1.0)
    assert tells_why(shape)
    assert is_named(check("pull_exp", lambda x, g: -g * np.exp(x)))


def test_every_exercise_has_six_wrong_answers_or_more():
    short = {
        n: len(WRONG.get(n, ()))
        for n in EXERCISES
        if n not in (*PREDICTIONS, *ELSEWHERE) and len(WRONG.get(n, ())) < 6
    }
    assert short == {}, "write wrong answers for these exercises, in tests/lessons/wrong/"
    assert set(WRONG) <= set(EXERCISES)


@in_one_test
@pytest.mark.parametrize("name, what", list(rows()))
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_wrong_answer_is_rejected_with_the_reason(name, what, monkeypatch):
    given, says = WRONG[name][what]
    exercise, seconds = EXERCISES[name], 60.0
    if says == TOO_LONG:
        seconds = 2.0
        monkeypatch.setattr(checking, "SECONDS", seconds)
        monkeypatch.setattr(exercise, "limit_s", seconds)
        monkeypatch.setattr(exercise, "make_cases", LARGE.get(name, exercise.make_cases))
    feedback = check(name, *given)
    text = str(feedback)
    assert feedback.points < exercise.max_points, text
    assert not feedback.passed
    assert says in text
    assert "check itself failed" not in text
    assert is_named(feedback) or tells_why(feedback), text
    cases = exercise.cases(5)
    assert not judge(
        exercise,
        cases,
        run_cases(exercise, cases, dict(zip(exercise.answers, given, strict=True)), seconds),
    ).full


@in_one_test
@pytest.mark.parametrize("name", PREDICTIONS)
def test_wrong_predictions_are_rejected_and_slips_are_named(name):
    exercise = EXERCISES[name]
    right = exercise.notebook.__self__.answer()
    slips = [(mistake.wrong(None), mistake.say) for mistake in exercise.misconceptions]
    tried = [(value, say) for value, say in slips if math.isfinite(value)]
    tried += [
        (value, "")
        for value in (
            right * 1.7 + 1.3,
            -right - 1.1,
            right + 1e6,
            0.5 * right - 3.3,
            math.nan,
            math.inf,
        )
    ]
    tried += [(value, "") for value in ("a lot", [right], True)]
    assert len(tried) >= 6
    assert predict(name, right).passed
    for value, say in tried:
        feedback = predict(name, value)
        assert not feedback.passed, value
        assert not say or any(other in str(feedback) for _, other in slips)
        assert "check itself failed" not in str(feedback)
        cases = exercise.cases(0)
        if not isinstance(value, str):
            assert not judge(exercise, cases, [Returned(value)] * len(cases)).full


@in_one_test
@pytest.mark.parametrize("name", PREDICTIONS)
def test_a_guess_that_no_slip_explains_is_told_where_to_begin(name):
    exercise = EXERCISES[name]
    right = exercise.notebook.__self__.answer()
    assert exercise.hints, name
    guess = right + 12_345.678
    assert str(predict(name, guess)).count(f"is not right. Begin here: {exercise.hints[0]}") == 1
    known_slips = [mistake.wrong(None) for mistake in exercise.misconceptions]
    if right and not any(math.isclose(-right, slip, rel_tol=1e-2) for slip in known_slips):
        assert "The size is right, but not the sign." in str(predict(name, -right))


# -------------------------------------------------------------------- what is right in another form


def reverse_sweep_in_a_new_dictionary(tape, adjoint):
    found = dict(adjoint)
    for name, operands in reversed(tape):
        for operand, local in operands:
            found[operand] += found[name] * local
    return found


def relu_of_a_copy(x, g):
    g = np.array(g)
    g[x <= 0] = 0
    return g


def cross_entropy_of_a_copy(scores, target, g):
    scores = scores.copy()
    scores -= scores.max(axis=1, keepdims=True)
    np.exp(scores, out=scores)
    scores /= scores.sum(axis=1, keepdims=True)
    scores -= target
    scores *= g / len(target)
    return scores


RIGHT = {
    "a new dictionary": ("reverse_sweep", (reverse_sweep_in_a_new_dictionary,)),
    "an array for a pair": (
        "bands",
        (lambda curves: np.array([np.median(curves, axis=0), np.std(curves, axis=0)]),),
    ),
    "a list for a pair": (
        "bands",
        (lambda curves: [np.median(curves, axis=0), np.std(curves, axis=0)],),
    ),
    "a list for an array": ("exp_reducer_jvp", (lambda x, dx: list((np.exp(x) * dx).sum(axis=1)),)),
    "nested lists for an array": ("adjoint_centred", (lambda g: (g - g.mean(0)).tolist(),)),
    "a list of parts": (
        "adjoint_cat",
        (lambda g, channels: tuple(np.split(g, np.cumsum(channels)[:-1], axis=1)),),
    ),
    "floats for whole numbers": (
        "cost_of_chain",
        (lambda s: float(s[0] * answers.per_pass(s)), lambda s: float(s[-1] * answers.per_pass(s))),
    ),
    "a whole number for an index": (
        "early_stop",
        (lambda losses, patience: np.int64(answers_early_stop(losses, patience)),),
    ),
    "a list of names for a set of marks": (
        "dangling",
        (lambda o, out: tuple(set(o) - answers.needed(o, out)),),
    ),
    "a copy changed in place": ("pull_relu", (relu_of_a_copy,)),
    "scores copied, then changed": ("pull_cross_entropy", (cross_entropy_of_a_copy,)),
    "the argument itself, unchanged": ("pull_t", (lambda x, g: g.T,)),
}


def answers_early_stop(losses, patience):
    best, waited = 0, 0
    for epoch in range(1, len(losses)):
        if losses[epoch] < losses[best]:
            best, waited = epoch, 0
        else:
            waited += 1
            if waited == patience:
                break
    return best


@pytest.mark.parametrize("what", RIGHT)
def test_what_is_right_passes_in_any_reasonable_form(what):
    name, given = RIGHT[what]
    feedback = check(name, *given)
    assert feedback.passed, str(feedback)
    exercise = EXERCISES[name]
    cases = exercise.cases(5)
    assert judge(
        exercise,
        cases,
        run_cases(exercise, cases, dict(zip(exercise.answers, given, strict=True)), 60.0),
    ).full
