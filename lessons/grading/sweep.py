"""The kind of exercise that asks for the reverse sweep: a loop over the operations, from the last to the first, that adds up the adjoints.

After reading this file you know how a whole sweep is judged without an answer key. The adjoint of a node says how much the output
moves when the node moves, and forward mode computes just that, one node at a time: the slow way round is the judge of the fast one.
The student's sweep gets a dictionary that notes every write, so a wrong one can be shown write by write; and it is compared with wrong
sweeps of the classic kinds.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from minigrad.trace import first_divergence
from minigrad.trace.text import number

from .calls import Caller, StudentProblem, as_number, need_function
from .feedback import Feedback, Line
from .numeric import close
from .student_trace import Adjoints, Example, Tape, Trace, plain, tape_of, with_sweep


@dataclass(frozen=True)
class SweepExercise:
    """A function sweep(tape, adjoint) that fills `adjoint`. examples: the lesson's first; points: what it is worth."""

    name: str
    examples: tuple[Example, ...]
    hints: tuple[str, ...]
    points: float = 4.0

    def check(self, sweep: Any = None, *rest: Any, rng: random.Random | None = None) -> Feedback:
        """Judge a sweep on small graphs, random graphs and the examples; rng: where the random graphs come from (fresh by default)."""
        title, caller = f"Exercise {self.name}", Caller()
        feedback = Feedback(title, "wrong", self.name, possible=self.points, hints=self.hints)
        references = [example.trace(mode="reverse") for example in self.examples]
        tapes = sorted(
            [tape_of(r) for r in references] + small_tapes() + [random_tape(rng or random.Random()) for _ in range(40)], key=_size
        )
        try:
            need_function(sweep, self.name)
            runs = [self._run(caller, sweep, tape) for tape in tapes]
            feedback.printed = caller.printed
            if not any(r.writes for r in runs):
                raise StudentProblem("unfinished", f"Not started yet: `{self.name}` writes nothing into `adjoint`.")
            first = next((i for i, t in enumerate(tapes) if not _agree(runs[i], by_forward_mode(t))), None)
            if first is None:
                feedback.status, feedback.points, feedback.hints = "right", self.points, ()
                feedback.lines.append(Line("right", f"all adjoints are right, in all {len(tapes)} graphs."))
            else:
                feedback.lines += _smallest(tapes[first], runs[first])
                mistake = next(
                    (say for say, wrong in MISTAKES.items() if all(_agree(r, wrong(t)) for r, t in zip(runs, tapes, strict=True))), None
                )
                if mistake:
                    feedback.lines.append(Line("note", f"It looks as if {mistake}"))
                self._show_on_trace(caller, sweep, references, feedback)
            feedback.checked = (
                f"Checked here: {len(tapes)} graphs, some small and some random, against forward mode, one pass for each node. "
                "Work that you hand in is graded on other graphs."
            )
        except StudentProblem as problem:
            feedback.status, feedback.printed = "unfinished" if problem.kind == "unfinished" else "trouble", caller.printed
            feedback.lines.append(Line(feedback.status, problem.say))
        return feedback

    def _run(self, caller: Caller, sweep: Any, tape: Tape) -> Adjoints:
        adjoint = Adjoints(tape, tape[-1][0])
        shown = f"{self.name}(tape, adjoint)"
        caller.call(sweep, ([(name, list(parents)) for name, parents in tape], adjoint), shown)
        strange = {name for name, _, _ in adjoint.writes} - set(by_forward_mode(tape))
        if strange:
            raise StudentProblem("type", f"Your sweep wrote an adjoint for {min(map(repr, strange))}, which is not a node of this graph.")
        if any(value is None or value is ... for _, value, _ in adjoint.writes):
            raise StudentProblem("unfinished", f"Not finished: `{self.name}` writes something that is not a number yet.")
        adjoint.writes = [(n, as_number(v, f"Your sweep wrote, for the adjoint of {n},"), s) for n, v, s in adjoint.writes]
        return adjoint

    def _show_on_trace(self, caller: Caller, sweep: Any, references: list[Trace], feedback: Feedback) -> None:
        for reference in references:
            run = self._run(caller, sweep, tape_of(reference))
            theirs = with_sweep(reference, run.writes)
            parting = first_divergence(reference, theirs)
            if parting is None:
                continue
            feedback.trace = theirs
            own = [i for i, s in enumerate(theirs["steps"]) if ["g", parting.node] == [s["writes"][0][1], s["node"]]]
            feedback.step = own[-1] + 1 if own else len(theirs["steps"])
            say = parting.say.partition(". ")[0].rstrip(".")
            where = f"step {feedback.step} of yours" if own else "the end: nothing was written there"
            feedback.lines.append(
                Line("note", f"On the Trace of {reference['title']} the first wrong node is {parting.node} ({where}): {say}.")
            )
            return


# ------------------------------------------------------------------------------------------------------------------ graphs


def small_tapes() -> list[Tape]:
    """The smallest graphs that tell the classic mistakes apart; the local derivatives are made up, as any numbers will do."""
    return [
        [("v1", [("x1", 3.0)])],
        [("v1", [("x1", 1.0), ("x1", 1.0)])],
        [("v1", [("x1", 3.0)]), ("v2", [("v1", 2.0)])],
        [("v1", [("x1", 5.0), ("x2", 2.0)])],
        [("v1", [("x1", 3.0)]), ("v2", [("v1", 2.0), ("x1", 5.0)])],
    ]


def random_tape(rng: random.Random) -> Tape:
    """A graph of 2 to 8 operations on two inputs, each with one or two operands, and an output that reads whatever nobody else does."""
    rows: Tape = []
    unused = ["x1", "x2"]
    for i in range(rng.randint(2, 8)):
        known = ["x1", "x2", *(name for name, _ in rows)]
        parents = [rng.choice(known) for _ in range(rng.randint(1, 2))]
        rows.append((f"v{i + 1}", [(p, round(rng.uniform(-2, 2), 1)) for p in parents]))
        unused = [u for u in [*unused, f"v{i + 1}"] if u not in parents]
    rows.append((f"v{len(rows) + 1}", [(u, round(rng.uniform(-2, 2), 1)) for u in unused]))
    return rows


def by_forward_mode(tape: Tape) -> dict[str, float]:
    """Each node's adjoint as the output's tangent when that node alone is moved."""
    names = list(dict.fromkeys(name for row, parents in tape for name in (*(p for p, _ in parents), row)))
    found = {}
    for moved in names:
        dot = {name: 1.0 if name == moved else 0.0 for name in names}
        for row, parents in tape:
            if row != moved:
                dot[row] = sum(local * dot[p] for p, local in parents)
        found[moved] = dot[tape[-1][0]]
    return found


def _size(tape: Tape) -> tuple[int, int]:
    return len(tape), sum(len(parents) for _, parents in tape)


def _agree(got: Mapping[str, Any], right: dict[str, float]) -> bool:
    return all(isinstance(got.get(n), int | float) and (close(got[n], x) or got[n] == x) for n, x in right.items())


def _smallest(tape: Tape, got: Mapping[str, Any]) -> Iterator[Line]:
    right = by_forward_mode(tape)
    node = next(n for n in reversed(right) if not _agree(got, {n: right[n]}))
    yield Line("wrong", f"the smallest graph that fails has {len(tape)} operation{'s' * (len(tape) > 1)}: `tape = {tape}`.")
    yield Line("wrong", f"There the adjoint of {node} should be {number(plain(right[node]))}, but is {number(plain(float(got[node])))}.")


# ------------------------------------------------------------------------------------------------------- classic mistakes


def _sweep(
    tape: Tape, add: Callable[[float, float, float], float], rows: Callable[[Tape], Any] = reversed, seed: float = 1.0
) -> dict[str, float]:
    bar = dict.fromkeys((name for row, parents in tape for name in (*(p for p, _ in parents), row)), 0.0) | {tape[-1][0]: seed}
    for row, parents in rows(tape):
        for parent, local in parents:
            bar[parent] = add(bar[parent], bar[row], local)
    return bar


def _last_inputs_forgotten(tape: Tape) -> Tape:
    return [(row, parents[:1] + [(p, 0.0) for p, _ in parents[1:]]) for row, parents in tape]


Mistake = Callable[[Tape], dict[str, float]]
MISTAKES: dict[str, Mistake] = {
    "your sweep overwrites where it should accumulate: a node that is used twice gets two contributions, and they are added (`+=`).": (
        lambda t: _sweep(t, lambda old, g, local: g * local)
    ),
    "you go through the tape from first to last. An adjoint must be complete before it is passed on: start at the output.": (
        lambda t: _sweep(t, lambda old, g, local: old + g * local, iter)
    ),
    "you leave out the operation's own adjoint: a contribution is that adjoint times the local derivative.": (
        lambda t: _sweep(t, lambda old, g, local: old + local)
    ),
    "you leave out the local derivative: a contribution is the operation's adjoint times the local derivative.": (
        lambda t: _sweep(t, lambda old, g, local: old + g)
    ),
    "you add the adjoint and the local derivative; they are multiplied.": lambda t: _sweep(t, lambda old, g, local: old + g + local),
    "the sign is turned round: contributions are added, not subtracted.": lambda t: _sweep(t, lambda old, g, local: old - g * local),
    "you keep the larger contribution; they are added.": lambda t: _sweep(t, lambda old, g, local: max(old, g * local, key=abs)),
    "you divide by the local derivative; multiply by it.": lambda t: _sweep(
        t, lambda old, g, local: old + (g / local if local else math.nan)
    ),
    "each contribution is counted twice.": lambda t: _sweep(t, lambda old, g, local: old + 2 * g * local),
    "you set the output's adjoint to 0. It starts at 1, because the output changes with itself one to one.": (
        lambda t: _sweep(t, lambda old, g, local: old + g * local, seed=0.0)
    ),
    "only the first input of each operation gets its contribution.": (
        lambda t: _sweep(_last_inputs_forgotten(t), lambda old, g, local: old + g * local)
    ),
}
