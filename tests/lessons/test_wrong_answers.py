"""No wrong answer of the tables passes a check, in the notebook or in the grader, and of each
something true is said.
"""

import math
from collections.abc import Sequence

import numpy as np
import pytest
from minigrad.lessons.grading import check, checking, predict
from minigrad.lessons.grading.exercise import Case, Exercise, Returned
from minigrad.lessons.grading.judge import item_of, judge, verdict_on
from minigrad.lessons.grading.local import run_cases

from tests.helpers.tables import in_one_test

from .wrong import answers
from .wrong.counts import (
    EXERCISES,
    LARGE,
    PREDICTIONS,
    TOO_LONG,
    WRONG,
    by_lesson,
    counted,
    is_named,
    tells_why,
    wrong_guesses,
)

pytestmark = pytest.mark.usefixtures("smaller_cases", "cases_drawn_once", "unwatched")
ELSEWHERE = ("own_step", "engine_suite")
"""The milestone has a table of its own, in wrong/engines.py; the broken engines of the suite are
generated (test_lesson24.py).
"""
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


def test_numbers_alone_are_no_reason():
    given = (lambda x, g: np.cos(x) * 7.0,)
    feedback = check("pull_exp", *given)
    assert not is_named(feedback)
    assert not tells_why(feedback)
    shape = check("pull_exp", lambda x, g: 1.0)
    assert tells_why(shape)
    assert is_named(check("pull_exp", lambda x, g: -g * np.exp(x)))


def test_the_table_counts_what_is_written_caught_and_named():
    given = {
        "right": lambda x, g: g * np.exp(x),
        "numbers alone": lambda x, g: np.cos(x) * 7.0,
        "the sign": lambda x, g: -g * np.exp(x),
    }
    judged = {n: check("pull_exp", f) for n, f in given.items()}
    assert counted(judged.values()) == {"written": 3, "caught": 2, "named": 1}
    table = by_lesson("pull_exp", lambda name: judged.values())
    assert [line.split() for line in table] == [
        ["lesson", "exercises", "written", "caught", "named"],
        ["lesson05", "1", "3", "2", "1"],
        ["together", "1", "3", "2", "1"],
    ]


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
        seconds = 1.0
        monkeypatch.setattr(checking, "SECONDS", seconds)
        monkeypatch.setattr(exercise, "limit_s", seconds)
        monkeypatch.setattr(exercise, "make_cases", LARGE.get(name, exercise.make_cases))
    ran: list[Ran] = []
    monkeypatch.setattr(checking, "run_cases", lambda *asked: noted(ran, *asked))
    feedback = check(name, *given)
    text = str(feedback)
    assert feedback.points < exercise.max_points, text
    assert not feedback.passed
    assert says in text
    assert "check itself failed" not in text
    assert is_named(feedback) or tells_why(feedback), text
    if exercise.practice or not ran:
        cases = exercise.cases(5)
        answered = dict(zip(exercise.answers, given, strict=True))
        ran.append((cases, run_cases(exercise, cases, answered, seconds)))
    assert not is_right(exercise, *ran[-1])


Ran = tuple[Sequence[Case], Sequence[Returned]]
"""Cases, and what an answer gave for them."""


def noted(ran: list[Ran], exercise: Exercise, cases: Sequence[Case], *more) -> Sequence[Returned]:
    ran.append((cases, run_cases(exercise, cases, *more)))
    return ran[-1][1]


def is_right(exercise: Exercise, cases: Sequence[Case], returned: Sequence[Returned]) -> bool:
    """Whether the grader gives full points: it judges by the exercise's answer, the check by what
    every right answer obeys.
    """
    verdict = verdict_on(exercise, cases)
    return all(
        item_of(exercise, case, back, verdict).right
        for case, back in zip(cases, returned, strict=True)
    )


@in_one_test
@pytest.mark.parametrize("name", PREDICTIONS)
def test_wrong_predictions_are_rejected_and_slips_are_named(name):
    exercise = EXERCISES[name]
    right = exercise.notebook.__self__.answer()
    tried = wrong_guesses(exercise)
    slips = [say for _, say in tried if say]
    assert len(tried) >= 6
    assert predict(name, right).passed
    for value, say in tried:
        feedback = predict(name, value)
        assert not feedback.passed, value
        assert not say or any(other in str(feedback) for other in slips)
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
