"""The check in the notebook: instant, kind, and on the student's side.

`check("name", answer)` is not grading. Where an exercise has cases to draw, it draws fresh ones on
every run, and asks not for an answer key but for something that every right answer obeys: the
dot-product identity, central differences. It stops a loop, never raises, and says what it looked
at; a submission is graded in another process, by the grader.
"""

from __future__ import annotations

import contextlib
import io
import secrets
from collections.abc import Sequence
from functools import cache
from typing import Any

from .calls import KEPT_OUTPUT, SECONDS
from .exercise import Case, Exercise, Returned, SheetError
from .feedback import Feedback, Line, trouble
from .forbidden import watching
from .judge import Judgement, smallest_case, unfit, weigh
from .last_cell import not_run
from .local import run_cases
from .words import in_four_digits, sentence


def check_exercise(exercise: Exercise, answers: Sequence[Any], seed: int | None = None) -> Feedback:
    """What the student sees for an exercise; answers: the functions or values that it asks for,
    in its order; seed: of the cases.
    """
    if said := not_run(exercise.answers):
        return trouble(exercise.title or exercise.name, said)
    with watching(exercise.forbid):
        if exercise.notebook is None:
            return check_by_cases(exercise, answers, seed)
        shown: Feedback = exercise.notebook(*answers)
        shown.title = exercise.title or shown.title
        return shown


def check_by_cases(exercise: Exercise, answers: Sequence[Any], seed: int | None = None) -> Feedback:
    """The common check, for kinds whose check in the notebook does more."""
    if exercise.verify is None:
        say = (
            "This exercise cannot be checked without its answers, which are not here. It is graded"
            " when you hand it in."
        )
        return Feedback(
            exercise.title or exercise.name,
            "",
            exercise.name,
            [Line("note", say)],
            hints=exercise.hints,
        )
    cases = exercise.cases(secrets.randbits(63) if seed is None else seed, practice=True)
    printed = io.StringIO()
    given = dict(zip(exercise.answers, answers, strict=False))
    with contextlib.redirect_stdout(printed):
        # grading counts processor time, a notebook the clock's, and its machine may be busy
        seconds = max(SECONDS, 2 * exercise.limit_s if exercise.limit_s > 10 else 0)
        returned = run_cases(exercise, cases, given, seconds)
    judgement = judge_here(exercise, cases, returned)
    return feedback_of(exercise, judgement, len(cases), printed.getvalue()[:KEPT_OUTPUT])


def judge_here(
    exercise: Exercise, cases: Sequence[Case], returned: Sequence[Returned]
) -> Judgement:
    """The judgement by what every right answer obeys, without an answer key."""
    verify = exercise.verify
    if verify is None:
        raise SheetError(f"exercise {exercise.name!r}: it cannot verify itself.")

    def verdict(case: Case, got: Any) -> Any:
        try:
            return verify(case, got)
        except SheetError:
            raise
        except Exception as error:
            # as in `judge`: a value may be of any type and shape, and the check was not made for
            # this one
            return unfit(exercise, case, error)

    return weigh(exercise, cases, returned, verdict)


def feedback_of(
    exercise: Exercise, judgement: Judgement, count: int, printed: str = ""
) -> Feedback:
    """A judgement as the student sees it in the notebook."""
    feedback = Feedback(
        judgement.title,
        "wrong",
        exercise.name,
        possible=judgement.max,
        points=judgement.points,
        hints=exercise.hints,
    )
    feedback.printed = printed
    kinds = {item.kind for item in judgement.items}
    if not judgement.started:
        feedback.status, feedback.points = "unfinished", 0.0
        feedback.lines.append(Line("unfinished", sentence(judgement.items[0].say)))
        return feedback
    if judgement.full:
        feedback.status, feedback.hints = "right", ()
    elif (
        kinds <= {"", "time", "raised", "type", "memory", "forbidden"}
        and not any(i.right for i in judgement.items)
        and "" not in kinds
    ):
        feedback.status = "trouble"
    if judgement.misconception:  # what helps most comes first
        feedback.lines.append(Line("note", judgement.misconception["say"]))
    if judgement.smallest and not exercise.is_value:
        mark = "trouble" if feedback.status == "trouble" else "wrong"
        feedback.lines.append(Line(mark, smallest_case(judgement.smallest, "`{}`".format)))
    for group in judgement.groups:
        worth = f"{group.points:g} of {group.max:g}"
        right = group.right == group.total
        mark = "right" if right else "trouble" if group.kind not in ("", "changed") else "wrong"
        say = (
            (f"all {group.total} cases agree." if group.total > 1 else "right.")
            if right
            else group.say
        )
        feedback.lines.append(Line(mark, f"{group.name} ({worth}): {say}"))
    if judgement.where:
        feedback.lines.append(
            Line(
                "note",
                f"The first wrong node is {judgement.where['node']}. {judgement.where['say']}",
            )
        )
    feedback.lines = [Line(kind, in_four_digits(text)) for kind, text in feedback.lines]
    feedback.trace, feedback.step = judgement.trace, judgement.step
    feedback.reference = judgement.reference
    how = exercise.checked or "No answers are kept here."
    feedback.checked = f"{_extent(exercise, judgement.full, count)} {how} {_hand_in(exercise)}"
    return feedback


def _extent(exercise: Exercise, full: bool, count: int) -> str:
    """How much was looked at, and whether it is the same the next time."""
    cases = f"{count} case{'s' * (count != 1)}"
    if full:
        return (
            f"All {cases}{' of this run' * varies(exercise, True)} agree."
            if count > 1
            else "It agrees."
        )
    return (
        f"Checked here: {cases}, {'redrawn' if varies(exercise, True) else 'the same'} on each run."
    )


def _hand_in(exercise: Exercise) -> str:
    return (
        "Your submission is graded on"
        f" {'other cases of the same kinds' if varies(exercise, False) else 'the same'}."
    )


@cache
def varies(exercise: Exercise, practice: bool) -> bool:
    """Whether another seed gives other cases. practice: those of the notebook's check, else
    those of the grader.
    """

    def drawn(seed: int) -> str:
        return repr([(exercise.called(case), case.sent) for case in exercise.cases(seed, practice)])

    return drawn(0) != drawn(1)
