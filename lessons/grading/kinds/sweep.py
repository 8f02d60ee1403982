"""`Sweep`: the reverse sweep over a tape, a loop over the operations, from the last to the first,
that adds up the adjoints.

It is the exercise `Backward(form="tape")`, on tapes whose local derivatives are drawn. The check in
the notebook shows more: the student's sweep gets a dictionary that notes every write, so a wrong
one is shown write by write, on the Trace of an example.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from minigrad.trace import first_divergence
from minigrad.trace.text import number
from minigrad.watch.values import value as plain

from ..calls import Caller, StudentProblem, as_number, need_function
from ..exercise import Case, Exercise, Returned
from ..feedback import Feedback, Line
from ..graphs import close, linear_right, of_tape
from ..judge import Judgement, weigh
from ..student_trace import Example, RecordedAdjoints, Tape, Trace, tape_of, with_sweep
from .backward import graph_of, of_graphs, verdict

GRADED = 15
"""Random tapes of a submission; the notebook tries more."""
PRACTICE = 40
GROUPS = {"each node used once": 1.0, "shared nodes": 2.0, "random graphs": 1.0}


def Sweep(name: str, examples: tuple[Example, ...], hints: tuple[str, ...]) -> Exercise:
    """name(tape, adjoint) fills the dictionary `adjoint`; worth 4 points. examples: on whose Traces
    a wrong sweep is shown.
    """

    def cases(rng: np.random.Generator) -> Iterator[Case]:
        drawn = random.Random(int(rng.integers(2**62)))
        for tape in tapes(drawn, GRADED):
            yield case_of(
                [
                    (
                        row,
                        [
                            (p, float(drawn.choice((-1, 1)) * round(drawn.uniform(0.5, 3), 1)))
                            for p, _ in operands
                        ],
                    )
                    for row, operands in tape
                ]
            )

    options = {
        "hints": tuple(hints),
        "verify": None,
        "present": lambda case: (
            "tape ="
            f" {[(row, [(o, c) for o, c in operands]) for row, operands in case.args['tape']]}"
        ),
    }
    exercise = of_graphs(name, "tape", GROUPS, cases, set(), options)
    exercise.notebook = _Check(exercise, examples).run
    return exercise


def case_of(tape: Tape) -> Case:
    """A tape as a case; small ones count by whether a node is used twice, the others are the random
    ones.
    """
    used = [p for _, parents in tape for p, _ in parents]
    group = (
        "random graphs"
        if len(tape) > 2
        else "shared nodes"
        if len(set(used)) < len(used)
        else "each node used once"
    )
    return Case.of(group, {"tape": tape, "output": tape[-1][0]}, size=10 * len(tape) + len(used))


@dataclass(frozen=True)
class _Check:
    """The check of a sweep in the notebook."""

    exercise: Exercise
    examples: tuple[Example, ...]

    def run(self, sweep: Any = None, *rest: Any, rng: random.Random | None = None) -> Feedback:
        """Judge a sweep on small graphs, random graphs and the examples; rng: where the random
        graphs come from (fresh by default).
        """
        asked, caller = self.exercise, Caller()
        feedback = Feedback(
            asked.title, "wrong", asked.name, possible=asked.max_points, hints=asked.hints
        )
        references = [example.trace(mode="reverse") for example in self.examples]
        given = [*map(tape_of, references), *tapes(rng or random.Random(), PRACTICE)]
        cases = sorted(map(case_of, given), key=lambda case: case.size)
        try:
            need_function(sweep, asked.name)
            runs = [self.adjoints(caller, sweep, case.args["tape"]) for case in cases]
            feedback.printed = caller.printed
            if not any(r.writes for r in runs):
                raise StudentProblem(
                    "unfinished", f"Not started yet: `{asked.name}` writes nothing into `adjoint`."
                )
            returned = [Returned(dict(run)) for run in runs]
            judgement = weigh(asked, cases, returned, self.accept)
            feedback.points = judgement.points
            if judgement.full:
                feedback.status, feedback.hints = "right", ()
                feedback.lines.append(
                    Line("right", f"all adjoints are right, in all {len(cases)} graphs.")
                )
            else:
                feedback.lines += _lines(judgement, cases, runs)
                self.show_on_trace(caller, sweep, references, feedback)
            feedback.checked = (
                f"Checked here: {len(cases)} graphs, some small and some random, against forward"
                " mode, one pass for each node. Work that you hand in is graded on other graphs."
            )
        except StudentProblem as problem:
            status = {"unfinished": "unfinished", "changed": "wrong"}
            feedback.status = status.get(problem.kind, "trouble")
            feedback.printed = caller.printed
            feedback.lines.append(Line(feedback.status, problem.say))
        return feedback

    def accept(self, case: Case, got: Any) -> str:
        """The verdict, by forward mode: the adjoint of a node says how much the output moves when
        the node moves.
        """
        return verdict(self.exercise.name, graph_of(case), linear_right(graph_of(case)), got)

    def adjoints(self, caller: Caller, sweep: Any, tape: Tape) -> RecordedAdjoints:
        adjoint = RecordedAdjoints(tape, tape[-1][0])
        shown = f"{self.exercise.name}(tape, adjoint)"
        found = caller.call(
            sweep, ([(name, list(parents)) for name, parents in tape], adjoint), shown
        )
        if not adjoint.writes and isinstance(
            found, Mapping
        ):  # as good, though another dictionary than was given
            for name, value in found.items():
                adjoint[name] = value
        strange = {name for name, _, _ in adjoint.writes} - set(linear_right(of_tape(tape)))
        if strange:
            raise StudentProblem(
                "type",
                f"Your sweep wrote an adjoint for {min(map(repr, strange))}, which is not a node of"
                " this graph.",
            )
        if any(value is None or value is ... for _, value, _ in adjoint.writes):
            raise StudentProblem(
                "unfinished",
                f"Not finished: `{self.exercise.name}` writes something that is not a number yet.",
            )
        adjoint.writes = [
            (n, as_number(v, f"Your sweep wrote, for the adjoint of {n},"), s)
            for n, v, s in adjoint.writes
        ]
        return adjoint

    def show_on_trace(
        self, caller: Caller, sweep: Any, references: list[Trace], feedback: Feedback
    ) -> None:
        for reference in references:
            run = self.adjoints(caller, sweep, tape_of(reference))
            theirs = with_sweep(reference, run.writes)
            parting = first_divergence(reference, theirs)
            if parting is None:
                continue
            feedback.trace = theirs
            own = [
                i
                for i, s in enumerate(theirs["steps"])
                if ["g", parting.node] == [s["writes"][0][1], s["node"]]
            ]
            feedback.step = own[-1] + 1 if own else len(theirs["steps"])
            feedback.reference = reference
            say = parting.say.partition(". ")[0].rstrip(".")
            where = (
                f"step {feedback.step} of yours" if own else "the end: nothing was written there"
            )
            feedback.lines.append(
                Line(
                    "note",
                    f"On the Trace of {reference['title']} the first wrong node is {parting.node}"
                    f" ({where}). {say}.",
                )
            )
            return


def _lines(judgement: Judgement, cases: list[Case], runs: list[RecordedAdjoints]) -> Iterator[Line]:
    """How many graphs of each group are right, the smallest that fails, and the likely mistake."""
    for group in judgement.groups:
        kind = "right" if group.right == group.total else "wrong"
        yield Line(kind, f"{group.name}: {group.right} of {group.total} graphs are right.")
    first = next(i for i, item in enumerate(judgement.items) if not item.right)
    yield from _smallest(cases[first].args["tape"], runs[first])
    if judgement.misconception:
        yield Line("note", judgement.misconception["say"])


def _smallest(tape: Tape, got: Mapping[str, Any]) -> Iterator[Line]:
    right = linear_right(of_tape(tape))
    node = next(n for n in reversed(right) if not close(got.get(n), right[n]))
    yield Line(
        "wrong",
        f"the smallest graph that fails has {len(tape)} operation{'s' * (len(tape) > 1)}: `tape ="
        f" {tape}`.",
    )
    yield Line(
        "wrong",
        f"There the adjoint of {node} should be {number(plain(right[node]))}, but is"
        f" {number(plain(float(got[node])))}.",
    )


# ------------------------------------------------------------------------------------------- graphs


def tapes(rng: random.Random, count: int) -> list[Tape]:
    """Small graphs, long ones, and so many random ones."""
    return [*small_tapes(), *long_tapes(rng), *(random_tape(rng) for _ in range(count))]


def small_tapes() -> list[Tape]:
    """The smallest graphs that tell the classic mistakes apart; the local derivatives are made
    up, as any numbers will do.
    """
    return [
        [("v1", [("x1", 3.0)])],
        [("v1", [("x1", 1.0), ("x1", 1.0)])],
        [("v1", [("x1", 3.0)]), ("v2", [("v1", 2.0)])],
        [("v1", [("x1", 5.0), ("x2", 2.0)])],
        [("v1", [("x1", 3.0)]), ("v2", [("v1", 2.0), ("x1", 5.0)])],
    ]


def long_tapes(rng: random.Random) -> list[Tape]:
    """Graphs of ten operations and more: v10 comes before v2 in the order of texts, and in one
    of them names tell no order at all.
    """
    plain_names, other_names = random_tape(rng, 11), random_tape(rng, 11)
    return [plain_names, shuffled(other_names, rng)]


def shuffled(tape: Tape, rng: random.Random) -> Tape:
    """A tape whose nodes have each other's names; its rows stay in their order."""
    made = [name for name, _ in tape]
    twin = dict(zip(made, rng.sample(made, len(made)), strict=True))
    return [
        (twin[name], [(twin.get(p, p), local) for p, local in parents]) for name, parents in tape
    ]


def random_tape(rng: random.Random, count: int = 0) -> Tape:
    """A graph of 2 to 8 operations (or so many) on two inputs, each with one or two operands, and
    an output that reads whatever no operation else does."""
    rows: Tape = []
    unused = ["x1", "x2"]
    for i in range(count or rng.randint(2, 8)):
        known = ["x1", "x2", *(name for name, _ in rows)]
        parents = [rng.choice(known) for _ in range(rng.randint(1, 2))]
        rows.append((f"v{i + 1}", [(p, round(rng.uniform(-2, 2), 1)) for p in parents]))
        unused = [u for u in [*unused, f"v{i + 1}"] if u not in parents]
    rows.append((f"v{len(rows) + 1}", [(u, round(rng.uniform(-2, 2), 1)) for u in unused]))
    return rows
