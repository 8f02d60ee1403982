"""The exercises of lessons 12 to 14 in which the student's own engine is put to use."""

import re

import numpy as np
import pytest
from minigrad.lessons.exercises import own_engine
from minigrad.lessons.exercises.engine_in_use import AGREES, CHECKPOINT, OPERATION
from minigrad.lessons.grading import check
from minigrad.lessons.grading.sheet_report import missed_mistakes

from .test_milestone import OTHER, engine_of
from .wrong import own_engine_answers as answers

SOURCES = {
    "checkpoint": answers.CHECKPOINT,
    "operation": answers.OPERATION,
    "agrees": answers.AGREES,
}


@pytest.mark.parametrize("name", SOURCES)
def test_a_right_answer_passes_in_a_students_own_engine_and_in_the_lent_one(name):
    own = dict[str, object]()
    exec(compile(engine_of(OTHER), "<cell>", "exec"), own)
    exec(compile(SOURCES[name], "<cell>", "exec"), own)
    assert check(name, own[name]).passed
    assert check(name, answers.names_of(SOURCES[name])[name]).passed


@pytest.mark.parametrize("exercise", [CHECKPOINT, OPERATION, AGREES], ids=lambda e: e.name)
def test_every_classic_mistake_is_caught(exercise):
    assert missed_mistakes(exercise)[0] == []


def test_checkpoints_within_checkpoints_change_no_gradient():
    scope = answers.names_of(answers.CHECKPOINT)
    checkpoint, tensor = scope["checkpoint"], own_engine.Tensor
    inner = lambda x: checkpoint(lambda y: (y * y).exp(), x) - x
    x = tensor(np.array([0.3, -0.2]))
    found = [
        own_engine.gradients(own_engine.topological_order(y.sum()), [x])[0]
        for y in (checkpoint(inner, x), (x * x).exp() - x)
    ]
    assert found[0] == pytest.approx(found[1], rel=1e-12)


def test_the_test_for_engines_meets_many_broken_engines():
    """Of each case it is known which answer is right, and both answers occur."""
    cases = AGREES.cases(0)
    assert sum(case.group == "broken engines" for case in cases) > 60
    accept = AGREES.acceptor(cases)
    for group, one_right_in in (("broken engines", 10), ("right and negative", 1.4)):
        right = [not accept(case, True) for case in cases if case.group == group]
        wrong = [not accept(case, False) for case in cases if case.group == group]
        assert right == [not word for word in wrong] and any(right)
        assert sum(right) < len(right) / one_right_in


def test_of_a_wrong_gradient_that_passes_the_check_says_what_is_wrong_with_it():
    assert re.search(
        r"element \[[\d, ]+\] is \S+, where \S+ is right\.",
        str(check("agrees", lambda f, x, found: bool(np.isfinite(found).all()))),
    )

    def whatever_the_shape(f, x, found):
        slopes = [(f(x + h) - f(x - h)) / 2e-6 for h in 1e-6 * np.eye(x.size).reshape(-1, *x.shape)]
        wanted = np.reshape(slopes, x.shape)
        shape = np.broadcast_shapes(np.shape(found), x.shape)
        return shape == x.shape and bool(
            np.allclose(found, wanted, rtol=1e-4, atol=1e-4 * np.max(np.abs(wanted)))
        )

    assert re.search(
        r"its shape is \(1?,?\), that of x is \(3,\)\.", str(check("agrees", whatever_the_shape))
    )
