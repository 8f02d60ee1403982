"""Whether a sheet is fit to grade with.

`own_solution` runs the instructor's notebook and judges it; `missed_mistakes` lets the classic
mistakes through the cases and tells which of them would get full points."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field
from typing import Any

from . import cheap_answers
from .comparison import as_plain
from .exercise import Exercise, Returned, SheetError
from .judge import Judgement, item_of, judge, verdict_on
from .local import run_cases, run_notebook
from .sheet import Sheet


@dataclass
class SheetReport:
    """What `examine` found. own: judgements of the sheet's own solution; missed: exercise -> names
    of classic mistakes that would get full points; caught: exercise -> how many are found out;
    paid: exercise -> what its best answer without any work gets; worth: exercise -> its points.
    """

    sheet: str
    own: list[Judgement]
    problems: list[str] = field(default_factory=list)
    missed: dict[str, list[str]] = field(default_factory=dict)
    caught: dict[str, int] = field(default_factory=dict)
    paid: dict[str, cheap_answers.Paid] = field(default_factory=dict)
    worth: dict[str, float] = field(default_factory=dict)

    @property
    def ok(self) -> bool:
        """Whether the sheet's own solution gets all its points."""
        return not self.problems and all(j.full for j in self.own)

    @property
    def exit_code(self) -> int:
        """0: fit; 2: the sheet itself is wrong. Mistakes that slip through are told, but do not
        forbid to grade.
        """
        return 0 if self.ok else 2

    def __str__(self) -> str:
        lines = [f"sheet {self.sheet}"]
        lines += [f"  ✗ {problem}" for problem in self.problems]
        for j in self.own:
            lines.append(
                f"  {'✓' if j.full else '✗'} {j.exercise}: its own solution gets {j.points:g} of"
                f" {j.max:g} points"
            )
            lines += [f"      {g.name}: {g.say}" for g in j.groups if g.right < g.total]
            if j.exercise in self.caught:
                missed = self.missed.get(j.exercise, [])
                total = self.caught[j.exercise] + len(missed)
                lines.append(
                    f"      {self.caught[j.exercise]} of {total} classic mistakes are caught"
                )
                lines += [f"      your tests miss: {name}" for name in missed]
            lines += self._without_work(j.exercise)
        judged = {j.exercise for j in self.own}
        for name in filter(lambda name: name not in judged, self.paid):
            lines.append(f"  · {name}: worth {self.worth[name]:g}, without a solution to judge")
            lines += self._without_work(name)
        if self.paid:
            cheap = sum(paid.points for paid in self.paid.values())
            most = sum(self.worth[name] for name in self.paid)
            lines.append(f"  answers without work get {cheap:g} of {most:g} points")
        lines.append(
            "  ready to grade with" if self.ok else "  not fit to grade with: mend the sheet first"
        )
        return "\n".join(lines)

    def _without_work(self, exercise: str) -> list[str]:
        paid = self.paid.get(exercise)
        if paid is None or not paid.points:
            return []
        points = f"{paid.points:g} of {self.worth[exercise]:g} points"
        return [f"      without work: {points} for {paid.answer} ({', '.join(paid.groups)})"]


def own_solution(sheet: Sheet, seed: int = 0, seconds: float = 120.0) -> list[Judgement]:
    """The sheet's own solution, run in this process and judged as a submission is: every exercise
    should get all its points.

    Of a sheet without a notebook the exercises' own answers are judged, where they have such.
    Raises SheetError where a cell fails.
    """
    if sheet.notebook is None:
        return [_own_answers(e, seed) for e in sheet.exercises if e.has_one_answer]
    try:
        scope = run_notebook(sheet.notebook, sheet.check_ids)
    except RuntimeError as error:
        raise SheetError(f"sheet {sheet.name}: its own notebook does not run: {error}") from error
    return [_judged(exercise, scope, seed, seconds) for exercise in sheet.exercises]


def _own_answers(exercise: Exercise, seed: int) -> Judgement:
    cases = exercise.cases(seed)
    return judge(exercise, cases, [Returned(as_plain(exercise.expected(case))) for case in cases])


def _judged(exercise: Exercise, scope: dict[str, Any], seed: int, seconds: float) -> Judgement:
    cases = exercise.cases(seed)
    return judge(
        exercise,
        cases,
        run_cases(exercise, cases, {name: scope.get(name) for name in exercise.answers}, seconds),
    )


def missed_mistakes(exercise: Exercise, seed: int = 0) -> tuple[list[str], int]:
    """(the classic mistakes that get all points on the exercise's cases, the number of those that
    do not).

    A mistake that gives the right value in every case that the exercise could ask is no mistake
    there and cannot be told apart: an exercise lists only those that concern it.
    """
    cases, missed, caught = exercise.cases(seed), [], 0
    verdict = verdict_on(exercise, cases)  # no diagnosis, no picture: only verdicts count here
    for mistake in exercise.misconceptions:
        returned, concerned = [], []
        for case in cases:
            try:
                wrong = mistake.wrong(case)
                concerned.append(wrong is not None)
                returned.append(Returned(as_plain(wrong)))
            except (ArithmeticError, ValueError, KeyError, TypeError, IndexError):
                concerned.append(True)
                returned.append(Returned(error="the mistake ends in an exception.", kind="raised"))
        if all(
            item_of(exercise, case, back, verdict).right
            for case, back, counts in zip(cases, returned, concerned, strict=True)
            if counts
        ):
            missed.append(mistake.name)
        else:
            caught += 1
    return missed, caught


def examine(sheet: Sheet, seed: int = 0) -> SheetReport:
    """The sheet's own solution first, then the classic mistakes and what takes no work."""
    report = SheetReport(sheet.name, [])
    try:
        report.own = own_solution(sheet, seed)
    except SheetError as error:
        report.problems.append(str(error))
        return report
    for exercise in sheet.exercises:
        report.worth[exercise.name] = sum(exercise.points.values())
        with contextlib.suppress(SheetError):  # it is told below, or by its own solution
            report.paid[exercise.name] = cheap_answers.best(exercise, seed)
        if exercise.misconceptions:
            try:
                report.missed[exercise.name], report.caught[exercise.name] = missed_mistakes(
                    exercise, seed
                )
            except SheetError as error:
                report.problems.append(str(error))
    return report
