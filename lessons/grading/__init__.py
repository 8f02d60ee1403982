"""What the notebooks call: `check` for an exercise, `predict` for a question, `hint` for the next
hint.

    check("sin", tangent_sin, adjoint_sin)      right or not, and if not: where it first goes wrong
    predict("forward-v4", my_prediction)        at once, before the next cell reveals it
    hint("sin", 2)                              the second hint
    check_hand_in()                             the saved notebook as the grader would run it

Each returns a `Feedback`, which shows itself in a notebook and in a terminal, and none of them
raises: a red traceback in a check cell teaches nothing. An exercise is data and two small
functions, and the same one is checked here and graded in batch:

    exercise.py        what an exercise is: cases, and a way to tell a right answer
    kinds/             constructors of exercises; misconceptions.py: classic mistakes; graphs.py:
                       small computations as data
    checking.py        the check in the notebook; calls.py: time limit and exceptions; last_cell.py:
                       whether the answer's cell ran; feedback.py: what the student sees
    local.py           runs cases in this process; harness.py: what a plain call cannot ask;
                       stubs.py: what is not written yet; arguments.py: whether a function
                       changed its arguments; orders.py: what is wrong with the order of nodes
    judge.py           the trusted side: points and reasons; comparison.py: whether values agree;
                       likely_misconception.py: which classic mistake it shows
    sheet.py           a notebook with exercises, and whether it is fit to grade with
    dry_run.py         a student's whole notebook, run as the grader would run it
    pages.py           feedback for a student as one HTML file and one Markdown file
    student_trace.py   the engine's Trace recomputed with the student's code, and the first step
                       where the two part

The check in the notebook runs beside the student's code, in one process: it helps the student and
proves nothing to an instructor. The other side, which runs submissions and trusts none, is run.py
for a class, submissions.py for finding notebooks and submitted_notebooks.py for reading them,
one_submission.py for what a student's process answers, and grades.py and grade_tables.py for what
that is worth. The exercises themselves are in lessons/exercises/.
"""

import contextlib
import difflib
import importlib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from .feedback import Feedback, Line, trouble

if TYPE_CHECKING:
    from .exercise import Exercise

__all__ = ["Feedback", "check", "check_hand_in", "hint", "known", "predict"]


def known() -> "dict[str, Exercise]":
    """The exercises that a check can name: those of a `sheet.py` in the current folder, or else
    those of the lessons.
    """
    modules = importlib.import_module("minigrad.lessons.grading.sheet_modules")
    own = Path("sheet.py")
    if own.is_file():
        return dict(modules.public_exercises(own.resolve()))
    found: dict[str, Exercise] = {}
    for name in importlib.import_module("minigrad.lessons.exercises").modules():
        with contextlib.suppress(
            ModuleNotFoundError
        ):  # what another lesson needs is no reason to fail in this one
            module = importlib.import_module(f"minigrad.lessons.exercises.{name}")
            found |= modules.exercises_of(module)
    return found


def check(name: str, *answer: object) -> Feedback:
    """Check the answer to an exercise: the function or functions that it asks for, or a table.
    Never raises.
    """
    return _guarded(name, lambda e: _check(e, answer, "check"))


def predict(name: str, *value: object) -> Feedback:
    """Check a prediction: the number that you expect, before it is revealed. Never raises."""
    return _guarded(name, lambda e: _check(e, value, "predict"))


def check_hand_in(path: str = "") -> None:
    """Runs the saved notebook as the grader would and prints what would be lost. Never raises.

    path: of the notebook, if it is not the one that this cell is in, or the only one of its folder.
    """
    dry_run = importlib.import_module("minigrad.lessons.grading.dry_run")
    found = [Path(path)] if path else list(dry_run.notebooks_here(Path.cwd()))
    if len(found) != 1 or not found[0].is_file():
        print(
            'Say which notebook is meant: check_hand_in("NAME.ipynb").'
            + (f" There are {', '.join(file.name for file in found)}." if found else "")
        )
        return
    try:
        print(dry_run.dry_run(found[0]))
    except Exception as error:
        print(f"{found[0].name} could not be checked: {error}")


OUR_FAULT = "The check itself failed"
"""By these words `minigrad lab --check` finds a check that does not work."""


def hint(name: str, number: int = 1) -> Feedback:
    """The hints of an exercise up to this number: where to look, then what to use, then the
    formula. Never raises.
    """
    return _guarded(
        name, lambda e: Feedback(f"Hints for {name}", name=name, hints=e.hints, hints_open=number)
    )


def _check(exercise: "Exercise", answers: tuple[object, ...], called: str) -> Feedback:
    if len(answers) < len(exercise.answers):
        call = f'{called}("{exercise.name}", {", ".join(exercise.answers)})'
        say = f"The answer is to be given too, behind the exercise's name: `{call}`"
        return Feedback(
            exercise.title or exercise.name,
            "unfinished",
            exercise.name,
            [Line("unfinished", say)],
            hints=exercise.hints,
        )
    feedback: Feedback = importlib.import_module(
        "minigrad.lessons.grading.checking"
    ).check_exercise(exercise, answers)
    return feedback


def _guarded(name: object, run: "Callable[[Exercise], Feedback]") -> Feedback:
    try:
        exercises = known()
        if not isinstance(name, str) or name not in exercises:
            near = difflib.get_close_matches(str(name), exercises, n=1)
            hint_ = (
                f"Did you mean `{near[0]}`?"
                if near
                else "The right name stands in the check cell as it came with the lesson."
            )
            return trouble("No such exercise", f"There is no exercise {name!r}. {hint_}")
        return run(exercises[name])
    except Exception as error:  # our fault, not the student's
        what = f"{type(error).__name__}: {error}"
        return trouble(
            f"Exercise {name}",
            f"{OUR_FAULT} ({what}). That is not your fault: please tell your instructor what you"
            " wrote.",
        )
