"""The exercises of lesson 4, as data: Jacobians by columns and by rows, their cost, and sweeps that
must not be slow.

Right answers are not written here: Jacobians come from the engine in the mode that was not asked
for, costs from the engine's own count of what it multiplied.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np

import minigrad as mg

from ..grading.comparison import same
from ..grading.exercise import Case, Exercise, Misconception
from ..grading.kinds import Cost, Number
from ..grading.words import shown
from .made import Exact, by_name, told_by
from .students_side import MAPS

DRIVE = "minigrad.lessons.exercises.students_side:jacobian"
POINTS: dict[str, int] = {
    "polar coordinates": 2,
    "a matrix times x": 4,
    "one result": 3,
    "one input": 1,
    "each by itself": 3,
}
"""How many inputs each map has."""


def lessons_f(a: Any, b: Any) -> tuple[Any, ...]:
    """The lesson's F."""
    t = mg.sin(a * b) * a + b
    return mg.exp(t), mg.sin(t), mg.cos(t)


# ------------------------------------------------------------------------------------- the Jacobian


def _maps(rng: np.random.Generator) -> Iterator[Case]:
    for group in ("values", "one pass each"):
        for name, n in POINTS.items():
            yield Case(group, f=name, x=np.asarray(rng.uniform(0.3, 1.2, size=n)))


def _matrix(case: Case, by: Callable[..., Any]) -> np.ndarray:
    return np.asarray(by(MAPS[case.args["f"]])(mg.tensor(case.args["x"])).detach().numpy())


def _accept(by: Callable[..., Any], one_for_each: str) -> Callable[[Case, Any], str]:
    def accept(case: Case, got: Any) -> str:
        if (
            type(got) is not dict
            or set(got) != {"jacobian", "runs"}
            or type(got["runs"]) is not int
        ):
            return "what was returned is not a matrix."
        right = _matrix(case, by)
        if case.group == "values":
            return same(right, got["jacobian"], name="the matrix")
        most = 1 + right.shape[one_for_each == "column"]
        if same(right, got["jacobian"]):
            return "as long as the matrix is wrong, its passes are not counted."
        return (
            ""
            if got["runs"] <= most
            else f"f ran {got['runs']} times; one pass for each {one_for_each} is enough."
        )

    return accept


def _jacobian(
    name: str,
    one_for_each: str,
    by: Callable[..., Any],
    forbid: tuple[str, ...],
    hints: tuple[str, ...],
) -> Exercise:
    """The student writes name(f, x); by: the engine's function of the other mode, which says
    what is right. (Long: most of it is the list of mistakes.)
    """

    def mistake(title: str, say: str, wrong: Callable[[np.ndarray], Any]) -> Misconception:
        def of(case: Case) -> Any:
            return {"jacobian": np.array(wrong(_matrix(case, by))), "runs": 1}

        def explains(case: Case, got: Any) -> bool:  # whatever the number of runs
            return not same(of(case)["jacobian"], got["jacobian"])

        return Misconception(title, say, of, explains=explains)

    return told_by(
        _accept(by, one_for_each),
        name,
        {"values": 2, "one pass each": 1},
        _maps,
        drive=DRIVE,
        forbid=forbid,
        present=lambda case: (
            f"{name}(f, x) with {case.args['f']}, x ="
            f" {np.array2string(case.args['x'], precision=3)}"
        ),
        checked=(
            "Your matrix is compared with the engine's, made"
            f" {'by rows' if one_for_each == 'column' else 'by columns'}."
        ),
        hints=hints,
        misconceptions=(
            mistake(
                "transposed",
                "rows and columns are swapped: a row belongs to a result, a column to an input.",
                lambda J: J.T,
            ),
            mistake(
                "one seed of ones",
                "you used one seed of ones for everything: that adds up all columns, or all rows.",
                lambda J: J.sum(axis=1) if one_for_each == "column" else J.sum(axis=0),
            ),
            mistake(
                "the first only",
                f"that is the first {one_for_each} alone; each {one_for_each} needs a pass of its"
                " own.",
                lambda J: J[:, 0] if one_for_each == "column" else J[0],
            ),
            Misconception(
                "another seed",
                "every entry has the same factor: a seed holds a single 1, and no other number.",
                lambda case: {"jacobian": 2 * _matrix(case, by), "runs": 1},
                fitted=lambda pairs: _one_factor([(_matrix(case, by), got) for case, got in pairs]),
            ),
            mistake(
                "the last first",
                f"the {one_for_each}s stand in the wrong order.",
                lambda J: J[:, ::-1] if one_for_each == "column" else J[::-1],
            ),
        ),
    )


def _one_factor(pairs: list[tuple[np.ndarray, Any]]) -> tuple[str, None] | None:
    """Whether all matrices are the right ones times one number."""
    right = np.concatenate([matrix.ravel() for matrix, _ in pairs])
    got = np.concatenate([np.asarray(got["jacobian"], dtype=float).ravel() for _, got in pairs])
    factor = float(got @ right / (right @ right))
    return (
        (f" It is {shown(factor)}.", None)
        if np.allclose(got, factor * right, rtol=1e-9, atol=1e-9)
        else None
    )


WHOLE = ("minigrad.func.jacrev", "minigrad.func.jacfwd", "minigrad.autograd.functional.jacobian")

by_columns = _jacobian(
    "by_columns",
    "column",
    mg.func.jacrev,
    (*WHOLE, "minigrad.func.vjp", "minigrad.func.grad"),
    (
        "The seed (1, 0, …, 0) gives the first column. Which seeds give the others?",
        (
            "`mg.eye(len(x), dtype=x.dtype)` holds all seeds, one in each row. Collect the tangents"
            " in a list."
        ),
        "Put the list together with `mg.stack(columns, dim=1)`: each tangent becomes a column.",
    ),
)
by_rows = _jacobian(
    "by_rows",
    "row",
    mg.func.jacfwd,
    (*WHOLE, "minigrad.func.jvp"),
    (
        "Here the seeds belong to the results. How many results are there?",
        (
            "`y, pull = mg.func.vjp(f, x)` runs f once; `pull(seed)` can be called again and again,"
            " and returns a tuple with one entry."
        ),
        "Put the rows together with `mg.stack(rows)`: each becomes a row.",
    ),
)


# ----------------------------------------------------------------------------------------- the cost


def _chain(sizes: tuple[int, ...]) -> Callable[[Any], Any]:
    matrices = [mg.ones(b, a, dtype=mg.float64) for a, b in pairwise(sizes)]

    def f(x: Any) -> Any:
        for matrix in matrices:
            x = matrix @ x
        return x

    return f


@cache
def multiplications(sizes: tuple[int, ...], mode: str) -> int:
    """What the engine multiplies in all passes of a mode for the Jacobian of a chain of
    matrices: its own count, "jvp" or "vjp".
    """
    one = mg.count_operations(
        _chain(sizes), mg.ones(sizes[0], dtype=mg.float64), mode=mode
    ).derivative.mul
    return one * (sizes[0] if mode == "jvp" else sizes[-1])


def _sizes(rng: np.random.Generator) -> Iterator[Case]:
    for call, group in (("cost_by_columns", "by columns"), ("cost_by_rows", "by rows")):
        yield Case.of(group, {"sizes": [2, 3]}, call=call)
        for length in (3, 4, 6):
            sizes = [
                int(k) for k in rng.permutation(np.arange(2, 13))[:length]
            ]  # all different, so that none can stand for another
            yield Case.of(group, {"sizes": sizes}, call=call)


def _mode(case: Case) -> str:
    return "jvp" if case.call == "cost_by_columns" else "vjp"


def _is_cost(case: Case, got: Any) -> str:
    return same(
        multiplications(tuple(case.args["sizes"]), _mode(case)),
        got,
        name=f"what `{case.call}` returned",
    )


def _wrong_cost(
    title: str, say: str, columns: Callable[[list[int]], Any], rows: Callable[[list[int]], Any]
) -> Misconception:
    return Misconception(
        title, say, lambda case: (columns if _mode(case) == "jvp" else rows)(case.args["sizes"])
    )


def _pass(sizes: list[int]) -> int:
    return sum(a * b for a, b in pairwise(sizes))


cost_of_chain = told_by(
    _is_cost,
    "cost_of_chain",
    {"by columns": 1, "by rows": 1},
    _sizes,
    answers=("cost_by_columns", "cost_by_rows"),
    checked="Your numbers are compared with what the engine counted while it ran the passes.",
    hints=(
        (
            "First one pass: how many multiplications does a matrix of b rows and a columns times a"
            " vector take? Add up over all matrices."
        ),
        "A backward pass multiplies by the same matrices, transposed: the same number.",
        "Now multiply by the number of passes: sizes[0] for columns, sizes[-1] for rows.",
    ),
    misconceptions=(
        _wrong_cost("one pass", "that is a single pass.", _pass, _pass),
        _wrong_cost(
            "the other mode",
            "columns and rows are swapped: there is a column for each input, and a row for each"
            " result.",
            lambda s: s[-1] * _pass(s),
            lambda s: s[0] * _pass(s),
        ),
        _wrong_cost(
            "only the ends",
            "only the first and the last size are in it; the matrices in between are multiplied"
            " too.",
            lambda s: s[0] * s[0] * s[-1],
            lambda s: s[-1] * s[0] * s[-1],
        ),
        _wrong_cost(
            "all sizes multiplied",
            "you multiplied all sizes. The matrices follow one another: the products a·b of"
            " neighbours are added.",
            math.prod,
            math.prod,
        ),
        _wrong_cost(
            "sizes added",
            "you added the sizes. A matrix of b rows and a columns takes a·b multiplications.",
            lambda s: s[0] * sum(s),
            lambda s: s[-1] * sum(s),
        ),
        _wrong_cost(
            "the size beside the end",
            "you took the size beside the end: the passes are as many as the chain has inputs,"
            " sizes[0], or results, sizes[-1].",
            lambda s: s[1] * _pass(s),
            lambda s: s[-2] * _pass(s),
        ),
        _wrong_cost(
            "a matrix left out",
            "one matrix is left out: each pass goes through all of them.",
            lambda s: s[0] * _pass(s[1:]),
            lambda s: s[-1] * _pass(s[:-1]),
        ),
        _wrong_cost(
            "each twice",
            "every multiplication is counted twice.",
            lambda s: 2 * s[0] * _pass(s),
            lambda s: 2 * s[-1] * _pass(s),
        ),
        _wrong_cost(
            "the function too",
            "you counted the function itself as well. Only the derivative counts here.",
            lambda s: (s[0] + 1) * _pass(s),
            lambda s: (s[-1] + 1) * _pass(s),
        ),
    ),
)


# --------------------------------------------------------------------------------------- the choice

QUESTIONS: dict[str, tuple[str, int, int]] = {
    "robot": ("whole Jacobians", 3, 1000),
    "loss": ("whole Jacobians", 1_000_000, 1),
    "measurements": ("whole Jacobians", 50, 3),
    "constant": ("whole Jacobians", 1, 200),
    "one_direction": (
        "products with a vector",
        1,
        1000,
    ),  # J·u: the point moves along a line, so there is one input
    "one_combination": ("products with a vector", 1000, 1),  # wᵀ·J: there is one result
}
"""For each of the lesson's questions its group, and how many inputs and results there are, in
effect.
"""


def _questions(rng: np.random.Generator) -> Iterator[Case]:
    for name, (group, _, _) in QUESTIONS.items():
        yield Case.of(group, {}, call=name)


def _fewer_passes(name: str) -> str:
    _, inputs, results = QUESTIONS[name]
    return "forward" if inputs < results else "reverse"


def _is_choice(case: Case, got: Any) -> str:
    if got not in ("forward", "reverse"):
        return f'`{case.call}` should be "forward" or "reverse".'
    return (
        ""
        if got == _fewer_passes(case.call)
        else f"for `{case.call}` the other mode needs fewer passes."
    )


choice = told_by(
    _is_choice,
    "choice",
    {"whole Jacobians": 1, "products with a vector": 1},
    _questions,
    answers=tuple(QUESTIONS),
    is_value=True,
    checked="For each question the passes of both modes are counted.",
    hints=(
        (
            "Count the passes of both modes: one for each input that has to move by itself, or one"
            " for each result that has to be asked."
        ),
        (
            "A product J·u is what one forward pass computes, with the seed u. What does one"
            " reverse pass compute?"
        ),
    ),
    misconceptions=(
        Misconception(
            "mixed up",
            "the two modes are mixed up: forward mode has a pass for each input, reverse mode one"
            " for each result.",
            lambda case: "reverse" if _fewer_passes(case.call) == "forward" else "forward",
        ),
    ),
)


# ---------------------------------------------------------------------------------- the predictions


@cache
def ratio_of_gradient(n: int = 1000) -> float:
    """The arithmetic of the lesson's function together with its gradient in reverse mode, over
    that of the function alone.
    """
    weights = mg.tensor(np.random.default_rng(0).normal(size=(10, n)) / np.sqrt(n))
    counts = mg.count_operations(
        lambda x: mg.tanh(weights @ x).sum(), mg.zeros(n, dtype=mg.float64), mode="vjp"
    )
    return work(counts.total) / work(counts.forward)


def work(cost: Any) -> float:
    """Multiplications, additions and other functions together."""
    return float(cost.mul + cost.add + cost.other)


ASKED = (
    Exact(
        "row-passes",
        "Prediction: the reverse passes for the Jacobian of F",
        variable="reverse_passes_of_F",
        answer=lambda: float(len(lessons_f(mg.tensor(1.0), mg.tensor(0.5)))),
        because=(
            "One for each result, and each gives a row. Forward mode needs two passes, one for each"
            " input."
        ),
        slips=(
            ("That is what forward mode needs: one pass for each input.", lambda: 2.0),
            ("One pass would do for one result; F has more.", lambda: 1.0),
            (
                "That is the number of entries of the Jacobian. A pass gives a whole row of them.",
                lambda: 6.0,
            ),
        ),
        hints=("In reverse mode a pass begins at a result. How many results has F?",),
    ),
    Number(
        "gradient-ratio",
        "Prediction: the work of the function and its gradient together, over that of the function",
        variable="times_the_work",
        answer=ratio_of_gradient,
        because=(
            "The backward pass multiplies by the same matrix, transposed: about as much work again."
            " The number of inputs is not in it."
        ),
        slips=(
            (
                (
                    "That is what forward mode takes, one pass for each input. In reverse mode one"
                    " pass gives all derivatives."
                ),
                lambda: 1000.0,
            ),
            ("That is what differences take.", lambda: 1001.0),
            ("The backward pass is not free: it multiplies by the matrix too.", lambda: 1.0),
            (
                (
                    "3 is what training costs: there the weights are differentiated as well, which"
                    " is a third product. Here they are fixed."
                ),
                lambda: 3.0,
            ),
        ),
        hints=(
            "How many passes does reverse mode need for the gradient of one number?",
            (
                "Each operation of the forward pass has one in the backward pass. How much work is"
                " it, compared with it?"
            ),
        ),
        tolerance=0.32,
    ),
    Cost(
        "fast_adjoints",
        form="tape",
        # to copy the tape in each round, which is quadratic, takes far longer than the limit
        n=200_000,
        limit_s=12.0,
        checked="Each graph has about 200,000 operations.",
    ),
)

TITLES = {
    "by_columns": "Exercise 1 · By columns",
    "by_rows": "Exercise 2 · By rows",
    "choice": "Exercise 3 · Choose",
    "cost_of_chain": "Exercise 4 · Two formulas",
    "fast_adjoints": "Exercise 5 · In time",
}

EXERCISES: dict[str, Exercise] = by_name(vars(), TITLES)
