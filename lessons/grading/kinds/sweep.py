"""The kind of exercise that asks for the reverse sweep: a loop over the operations, from the last
to the first, that adds up the adjoints.

A whole sweep is judged without an answer key. The adjoint of a node says how much the output moves
when the node moves, and forward mode computes just that, one node at a time: the slow way round is
the judge of the fast one. The student's sweep gets a dictionary that notes every write, so a wrong
one can be shown write by write; and it is compared with wrong sweeps of the classic kinds.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from minigrad.trace import first_divergence
from minigrad.trace.text import number

from ..calls import Caller, StudentProblem, as_number, need_function
from ..exercise import DERIVATIVES, Case, Exercise
from ..feedback import Feedback, Line
from ..graphs import first_wrong, linear_right, of_tape
from ..misconceptions import MISTAKES, Mistake
from ..numeric import close
from ..student_trace import Adjoints, Example, Tape, Trace, plain, tape_of, with_sweep
from .backward import as_misconception, concerns, verdict

GRADED = 15
"""Random tapes of a hand-in; the notebook tries more."""
GROUPS = {"each node used once": 1.0, "shared nodes": 2.0, "random graphs": 1.0}


def Sweep(name: str, examples: tuple[Example, ...], hints: tuple[str, ...]) -> Exercise:
    """name(tape, adjoint) fills the dictionary `adjoint`; worth 4 points. The arguments are those
    of `SweepExercise`.

    The same work as `Backward(form="tape")`, on tapes whose local derivatives are drawn; in the
    notebook it is shown write by write.
    """
    asked = SweepExercise(name, examples, tuple(hints))

    def cases(rng: np.random.Generator) -> Iterator[Case]:
        drawn = random.Random(int(rng.integers(2**62)))
        for tape in [
            *small_tapes(),
            *long_tapes(drawn),
            *([random_tape(drawn) for _ in range(GRADED)]),
        ]:
            varied = [
                (
                    row,
                    [
                        (p, float(drawn.choice((-1, 1)) * round(drawn.uniform(0.5, 3), 1)))
                        for p, _ in ops
                    ],
                )
                for row, ops in tape
            ]
            yield Case.of(
                group_of(tape),
                {"tape": varied, "output": tape[-1][0]},
                size=10 * _size(tape)[0] + _size(tape)[1],
            )

    def accept(case: Case, got: Any) -> str:
        graph = of_tape(case.args["tape"])
        return verdict(name, graph, linear_right(graph), got)

    made = Exercise(
        name,
        dict(GROUPS),
        cases,
        drive="minigrad.lessons.grading.drives:sweep",
        title=f"Exercise {name}",
        forbid=(DERIVATIVES,),
        hints=asked.hints,
        notebook=asked.check,
        present=lambda case: (
            "tape ="
            f" {[(row, [(o, c) for o, c in operands]) for row, operands in case.args['tape']]}"
        ),
        where=lambda case, got: first_wrong(
            of_tape(case.args["tape"]), got, linear_right(of_tape(case.args["tape"]))
        ),
        misconceptions=tuple(as_misconception(m) for m in MISTAKES if concerns(m, set(), "tape")),
    )
    made.accept(accept)
    return made


def group_of(tape: Tape) -> str:
    """Which points a tape belongs to: small ones by whether a node is used twice, the others are
    the random ones.
    """
    used = [p for _, parents in tape for p, _ in parents]
    return (
        "random graphs"
        if len(tape) > 2
        else "shared nodes"
        if len(set(used)) < len(used)
        else "each node used once"
    )


@dataclass(frozen=True)
class SweepExercise:
    """A function sweep(tape, adjoint) that fills `adjoint`. examples: the lesson's first;
    points: what it is worth.
    """

    name: str
    examples: tuple[Example, ...]
    hints: tuple[str, ...]
    points: float = 4.0

    def check(self, sweep: Any = None, *rest: Any, rng: random.Random | None = None) -> Feedback:
        """Judge a sweep on small graphs, random graphs and the examples; rng: where the random
        graphs come from (fresh by default).
        """
        title, caller = f"Exercise {self.name}", Caller()
        feedback = Feedback(title, "wrong", self.name, possible=self.points, hints=self.hints)
        references = [example.trace(mode="reverse") for example in self.examples]
        drawn = rng or random.Random()
        tapes = sorted(
            [tape_of(r) for r in references]
            + small_tapes()
            + long_tapes(drawn)
            + [random_tape(drawn) for _ in range(40)],
            key=_size,
        )
        try:
            need_function(sweep, self.name)
            runs = [self._run(caller, sweep, tape) for tape in tapes]
            feedback.printed = caller.printed
            if not any(r.writes for r in runs):
                raise StudentProblem(
                    "unfinished", f"Not started yet: `{self.name}` writes nothing into `adjoint`."
                )
            right = [
                _agree(run, by_forward_mode(tape)) for run, tape in zip(runs, tapes, strict=True)
            ]
            groups = {
                name: [ok for ok, tape in zip(right, tapes, strict=True) if group_of(tape) == name]
                for name in GROUPS
            }
            feedback.points = sum(worth for name, worth in GROUPS.items() if all(groups[name]))
            first = next((i for i, ok in enumerate(right) if not ok), None)
            if first is None:
                feedback.status, feedback.hints = "right", ()
                feedback.lines.append(
                    Line("right", f"all adjoints are right, in all {len(tapes)} graphs.")
                )
            else:
                feedback.lines += [
                    Line(
                        "right" if all(oks) else "wrong",
                        f"{name}: {sum(oks)} of {len(oks)} graphs are right.",
                    )
                    for name, oks in groups.items()
                ]
                feedback.lines += _smallest(tapes[first], runs[first])
                mistake = next(
                    (m for m in MISTAKES if concerns(m, set(), "tape") and _made(m, tapes, runs)),
                    None,
                )
                if mistake:
                    feedback.lines.append(Line("note", f"It looks as if {mistake.say}"))
                self._show_on_trace(caller, sweep, references, feedback)
            feedback.checked = (
                f"Checked here: {len(tapes)} graphs, some small and some random, against forward"
                " mode, one pass for each node. Work that you hand in is graded on other graphs."
            )
        except StudentProblem as problem:
            feedback.status, feedback.printed = (
                "unfinished" if problem.kind == "unfinished" else "trouble",
                caller.printed,
            )
            feedback.lines.append(Line(feedback.status, problem.say))
        return feedback

    def _run(self, caller: Caller, sweep: Any, tape: Tape) -> Adjoints:
        adjoint = Adjoints(tape, tape[-1][0])
        shown = f"{self.name}(tape, adjoint)"
        found = caller.call(
            sweep, ([(name, list(parents)) for name, parents in tape], adjoint), shown
        )
        if not adjoint.writes and isinstance(
            found, Mapping
        ):  # as good, though another dictionary than was given
            for name, value in found.items():
                adjoint[name] = value
        strange = {name for name, _, _ in adjoint.writes} - set(by_forward_mode(tape))
        if strange:
            raise StudentProblem(
                "type",
                f"Your sweep wrote an adjoint for {min(map(repr, strange))}, which is not a node of"
                " this graph.",
            )
        if any(value is None or value is ... for _, value, _ in adjoint.writes):
            raise StudentProblem(
                "unfinished",
                f"Not finished: `{self.name}` writes something that is not a number yet.",
            )
        adjoint.writes = [
            (n, as_number(v, f"Your sweep wrote, for the adjoint of {n},"), s)
            for n, v, s in adjoint.writes
        ]
        return adjoint

    def _show_on_trace(
        self, caller: Caller, sweep: Any, references: list[Trace], feedback: Feedback
    ) -> None:
        for reference in references:
            run = self._run(caller, sweep, tape_of(reference))
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
            say = parting.say.partition(". ")[0].rstrip(".")
            where = (
                f"step {feedback.step} of yours" if own else "the end: nothing was written there"
            )
            feedback.lines.append(
                Line(
                    "note",
                    f"On the Trace of {reference['title']} the first wrong node is {parting.node}"
                    f" ({where}): {say}.",
                )
            )
            return


# ------------------------------------------------------------------------------------------- graphs


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


def by_forward_mode(tape: Tape) -> dict[str, float]:
    """Each node's adjoint as the output's tangent when that node alone is moved."""
    names = list(
        dict.fromkeys(name for row, parents in tape for name in (*(p for p, _ in parents), row))
    )
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
    return all(
        isinstance(got.get(n), int | float) and (close(got[n], x) or got[n] == x)
        for n, x in right.items()
    )


def _made(mistake: Mistake, tapes: list[Tape], runs: list[Adjoints]) -> bool:
    """Whether these are the numbers that a classic mistake gives, in one of its forms, in every
    graph.
    """
    graphs = [of_tape(tape) for tape in tapes]
    forms = (mistake.run, *(run for _, run in mistake.variants))
    return any(
        all(
            _agree(run, {n: float(x) for n, x in form(graph, None).items()})
            for graph, run in zip(graphs, runs, strict=True)
        )
        for form in forms
    )


def _smallest(tape: Tape, got: Mapping[str, Any]) -> Iterator[Line]:
    right = by_forward_mode(tape)
    node = next(n for n in reversed(right) if not _agree(got, {n: right[n]}))
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
