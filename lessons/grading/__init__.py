"""What the notebooks call: `check` for an exercise, `predict` for a question, `hint` for the next hint.

    check("sin", tangent_sin, adjoint_sin)      right or not, and if not: where it first goes wrong
    predict("forward-v4", my_prediction)        at once, before the next cell reveals it
    hint("sin", 2)                              the second hint

Each returns a `Feedback`, which shows itself in a notebook and in a terminal, and none of them raises: a red traceback in a check
cell teaches nothing. How it is done, file by file:

    calls.py           runs a student's function: time limit, exceptions, what it returned
    numeric.py         derivatives by central differences: the judge that needs no answer key
    rules.py           the kind of exercise that asks for the tangent and the adjoint rule of an operation
    sweep.py           the kind that asks for the reverse sweep
    answers.py         the kinds that ask for a number, or for a table of them
    student_trace.py   the engine's Trace computed anew with the student's code, and the first step where the two part
    feedback.py        what the student sees
    lesson01.py        the exercises of lesson 1, as data

The check in the notebook runs beside the student's code, in one process: it helps the student and proves nothing to an instructor.
"""

import difflib
from collections.abc import Callable

from .feedback import Feedback, trouble
from .lesson01 import EXERCISES

__all__ = ["Feedback", "check", "hint", "predict"]


def check(name: str, *answer: object) -> Feedback:
    """Check the answer to an exercise: the function or functions that it asks for, or a table. Never raises."""
    return _guarded(name, lambda: EXERCISES[name].check(*answer))


def predict(name: str, value: object) -> Feedback:
    """Check a prediction: the number that you expect, before it is revealed. Never raises."""
    return _guarded(name, lambda: EXERCISES[name].check(value))


def hint(name: str, number: int = 1) -> Feedback:
    """The hints of an exercise up to this number: where to look, then what to use, then the formula. Never raises."""
    return _guarded(name, lambda: Feedback(f"Hints for {name}", name=name, hints=EXERCISES[name].hints, hints_open=number))


def _guarded(name: object, run: Callable[[], Feedback]) -> Feedback:
    if not isinstance(name, str) or name not in EXERCISES:
        near = difflib.get_close_matches(str(name), EXERCISES, n=1)
        return trouble(
            "No such exercise",
            f"There is no exercise {name!r}. " + (f"Did you mean `{near[0]}`?" if near else f"There are: {', '.join(EXERCISES)}."),
        )
    try:
        return run()
    except Exception as error:  # our fault, not the student's
        what = f"{type(error).__name__}: {error}"
        return trouble(
            f"Exercise {name}", f"The check itself failed ({what}). That is not your fault: please tell your instructor what you wrote."
        )
