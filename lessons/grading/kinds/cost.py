"""`Cost`: the same work on 20,000 operations. The only way to tell a right result from one that is
found in the wrong spirit.

Three ways get right gradients that no user would wait for, and each is found out by its graph:
going down every path (a ladder, where the number of paths doubles with each operation), one forward
pass for each node (any large graph: 20,000 times 20,000 products), and recursion (a chain, deeper
than Python's stack). A sweep that passes each node once needs a fraction of a second for each of
them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ..comparison import same
from ..exercise import (
    DERIVATIVES,
    Case,
    Exercise,
    Misconception,
    SheetError,
    once_for_each_case,
)
from ..harness import large

SHAPES = {
    "chain": "a chain of operations: recursion goes too deep here",
    "ladder": (
        "operations that use the one before twice: there are too many paths to go down each of them"
    ),
    "tree": "as many inputs as operations: one pass for each of them takes too long",
}
HINTS = (
    "How often does your code look at one node, if there are 20,000 of them? Once is enough.",
    "A function that calls itself for each operand cannot go 20,000 deep; a loop over a list can.",
    (
        "Put the nodes into one list in which operands stand before those who use them, then go"
        " through it once, from the end."
    ),
)


def Cost(
    name: str,
    *,
    form: str = "tape",
    n: int = 20_000,
    shapes: Mapping[str, float] | None = None,
    limit_s: float = 10.0,
    **options: Any,
) -> Exercise:
    """name(tape, adjoint), a class `name`, or name(parents, output) must do n operations in time.

    form: "tape", "class" or "order", as of `Backward` and `Order`; shapes: points of "chain",
    "ladder" and "tree" (1 each by default);
    limit_s: CPU seconds of a call; a linear sweep needs well under one for n = 20,000. Raises
    SheetError for an unknown form or shape.
    """
    worth = dict(shapes or dict.fromkeys(SHAPES, 1.0))
    if form not in ("tape", "class", "order") or set(worth) - set(SHAPES):
        raise SheetError(
            f'exercise {name!r}: form must be "tape", "class" or "order", and shapes be among'
            f" {', '.join(SHAPES)}."
        )

    def cases(rng: np.random.Generator, n: int = n) -> Iterator[Case]:
        # How many exactly is drawn, so that no two submissions are asked the same.
        for shape in worth:
            yield Case.of(shape, {"shape": shape, "n": n + int(rng.integers(0, max(n // 100, 1)))})

    @once_for_each_case
    def right(case: Case) -> np.ndarray:
        return adjoints(case.args["shape"], case.args["n"], form)

    def accept(case: Case, got: Any) -> str:
        if form == "order":
            rows = large(case.args["shape"], case.args["n"])
            return ordered_problem({row: [o for o, _ in operands] for row, operands in rows}, got)
        return same(right(case), got, name="the list of all adjoints")

    if form == "tape":
        options["misconceptions"] = (*options.get("misconceptions", ()), *_mistakes())
    module = "minigrad.lessons.grading.harness"
    drive = {
        "tape": f"{module}:cost_of_sweep",
        "class": f"{module}:cost_of_class",
        "order": f"{module}:cost_of_order",
    }[form]
    return Exercise(
        name,
        worth,
        cases,
        drive=drive,
        limit_s=limit_s,
        told_by=accept,
        small=lambda rng: cases(rng, 10),
        **{"forbid": (DERIVATIVES,), "hints": HINTS, "title": f"Exercise {name}", **options},
    )


Rows = Sequence[tuple[str, Sequence[tuple[str, float]]]]


def _swept(
    rows: Rows, order: Callable[[Rows], Iterable[Any]], put: Callable[[float, float], float]
) -> list[float]:
    """What a sweep gives that takes the rows in another order, or puts contributions away
    otherwise; in the order of `adjoints`.
    """
    adjoint = {o: 0.0 for name, operands in rows for o in (*(o for o, _ in operands), name)}
    adjoint[rows[-1][0]] = 1.0
    for name, operands in order(rows):
        for operand, local in operands:
            adjoint[operand] = put(adjoint[operand], adjoint[name] * local)
    return list(adjoint.values())


def _mistakes() -> Iterator[Misconception]:
    """Wrong sweeps that are fast enough."""
    add, backward = (lambda old, part: old + part), (lambda rows: reversed(rows))
    for name, say, order, put in (
        (
            "overwrites",
            "a new contribution replaces the old one. Where a node is used twice, both are added.",
            backward,
            lambda old, part: part,
        ),
        (
            "keeps the first",
            "only the first contribution to a node is kept; all of them are added.",
            backward,
            lambda old, part: old or part,
        ),
        (
            "first to last",
            "the rows are processed from the first to the last. The sweep starts at the result.",
            lambda rows: rows,
            add,
        ),
        (
            "sorted by name",
            "the rows are sorted by their names as texts, and v10 stands before v9. Take them in"
            " the order of the tape, from its end.",
            lambda rows: sorted(rows, reverse=True),
            add,
        ),
    ):

        def wrong(case: Case, order: Any = order, put: Any = put) -> np.ndarray:
            return np.array(_swept(large(case.args["shape"], case.args["n"]), order, put))

        yield Misconception(name, say, wrong)


def adjoints(shape: str, n: int, form: str = "tape") -> np.ndarray:
    """The adjoints of `harness.large(shape, n)`, in the order in which the names first occur in the
    tape.

    These graphs have a formula: the adjoint of a node is the product of the local derivatives on
    its way to the output, and on a ladder the two ways of each step have the weights 3/4 and 1/4,
    which add up to 1. A test holds it against the engine.
    """
    rows = large(shape, n)
    step = [1.0 if shape != "chain" else operands[0][1] for _, operands in rows]
    behind = np.concatenate(
        [np.cumprod(np.array(step[::-1]))[::-1], [1.0]]
    )  # of x1 and each v: the product of the steps after it
    found, seen = [], set()
    for i, (name, operands) in enumerate(rows):
        for operand, local in operands:
            if operand not in seen:
                seen.add(operand)
                found.append(behind[i] if operand in ("x1", f"v{i}") else behind[i + 1] * local)
        seen.add(name)
        found.append(behind[i + 1])
    return np.array(found)


def ordered_problem(parents: Mapping[str, list[str]], got: Any) -> str:
    """Why a list of names is no topological order of a graph (operands before those who use
    them), as a sentence; "" if it is one.
    """
    if type(got) not in (list, tuple) or not all(type(n) is str for n in got):
        return "the order should be a list of the nodes' names."
    every = {*parents, *(o for operands in parents.values() for o in operands)}
    place = {n: i for i, n in enumerate(got)}
    if strange := [n for n in got if n not in every]:
        return f"{strange[0][:40]!r} is in the order, but is not a node of the graph."
    if missing := [n for n in every if n not in place]:
        return f"{min(missing)} is missing in the order."
    if len(got) != len(place):
        return (
            f"{next(n for i, n in enumerate(got) if place[n] != i)} stands in the order more than"
            " once."
        )
    early = [(n, o) for n in got for o in parents.get(n, ()) if place[o] > place[n]]
    return f"{early[0][0]} stands before {early[0][1]}, which it uses." if early else ""
