"""The exercises of lesson 24, as data: a derivative by one complex number, the suite for the
student's engine, and one program that shows six bugs.

Right answers are not written here. Slopes are compared with minigrad's forward mode, an engine with
what NumPy computes from complex numbers, and a program is run by the six engines of the bug zoo.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import minigrad as mg

from .. import engine_suite
from ..grading.exercise import DERIVATIVES, Case, Exercise, Misconception
from . import zoo
from .drive24 import FUNCTIONS
from .made import Exact, by_name, told_by

DRIVE = "minigrad.lessons.exercises.drive24"

# ------------------------------------------------------------------------ slopes, to the last digit


def _slope_cases(rng: np.random.Generator) -> Iterator[Case]:
    for group, name, shape in (
        ("one number", "x³", ()),
        ("one number", "exp(x) / (1 + x²)", ()),
        ("one number", "sin(x²)", ()),
        ("arrays", "x³", (4,)),
        ("arrays", "sin(x²)", (2, 3)),
        ("arrays", "the logarithm of a sum", (5,)),
        ("arrays", "a product of neighbours", (4,)),
    ):
        yield Case(group, name=name, x=rng.uniform(0.5, 2, shape), d=rng.uniform(-2, 2, shape))


def _right_slope(case: Case) -> np.ndarray:
    name, x, d = case.args.values()
    _, slope = mg.func.jvp(
        lambda v: FUNCTIONS[name](v, mg), (mg.tensor(np.array(x)),), (mg.tensor(np.array(d)),)
    )
    return np.asarray(slope.numpy())


EXACT = 1e-13
"""So exact a slope must be, relative to the larger of 1 and its size. Differences give about
eleven digits at best.
"""


def _is_slope(case: Case, got: Any) -> str:
    if isinstance(got, bool) or not isinstance(got, int | float | np.ndarray):
        return "`slope` should return a real number, or a real array."
    right = _right_slope(case)
    if said := engine_suite.difference("the slope", np.asarray(got), right, EXACT):
        found = np.asarray(got)
        if found.shape == right.shape and engine_suite.near(found, right, 1e-4):
            return (
                f"{said} That is nearly right; with complex numbers all digits are, if the step is"
                " tiny."
            )
        return said
    return ""


def _slopes(
    *rows: tuple[str, str, Callable[[Callable[[Any], Any], Any, Any], Any]],
) -> tuple[Misconception, ...]:
    """Mistakes: (name, what to say, the wrong answer as a function of f, x, d)."""

    def on(wrong: Callable[..., Any]) -> Callable[[Case], Any]:
        def made(case: Case) -> Any:
            name, x, d = case.args.values()
            return np.asarray(wrong(lambda v: FUNCTIONS[name](v, np), np.array(x), np.array(d)))

        return made

    return tuple(Misconception(name, say, on(wrong)) for name, say, wrong in rows)


H = 1e-30
SLOPE = told_by(
    _is_slope,
    "slope",
    {"one number": 1, "arrays": 1},
    _slope_cases,
    drive=f"{DRIVE}:complex_slope",
    forbid=(DERIVATIVES,),
    checked=(
        "Your slopes are compared with minigrad's forward mode, in 13 digits. No difference is so"
        " exact."
    ),
    hints=(
        "f(x + i·h·d) ≈ f(x) + i·h·f′(x)·d. Which part of it is the slope?",
        "The imaginary part (`np.imag`), divided by h. h may be 1e-30, for nothing is subtracted.",
        "return np.imag(f(x + 1e-30j * d)) / 1e-30",
    ),
    misconceptions=_slopes(
        (
            "the real part",
            "you take the real part; that is the value of the function.",
            lambda f, x, d: np.real(f(x + 1j * H * d)),
        ),
        (
            "the real part, divided",
            "you divide the real part; that is the value of the function, not the slope.",
            lambda f, x, d: np.real(f(x + 1j * H * d)) / H,
        ),
        (
            "not divided",
            "you do not divide by the step.",
            lambda f, x, d: np.imag(f(x + 1j * H * d)),
        ),
        (
            "no direction",
            "d is left out: every element moves by the same amount.",
            lambda f, x, d: np.imag(f(x + 1j * H)) / H,
        ),
        (
            "a slope times d",
            "you multiply by d at the end. d says how x moves, so it belongs to the step.",
            lambda f, x, d: np.imag(f(x + 1j * H)) / H * (d if np.ndim(d) else d**2),
        ),
        (
            "the sign",
            "the sign is reversed.",
            lambda f, x, d: -np.imag(f(x + 1j * H * d)) / H,
        ),
        (
            "central differences",
            "this is a difference of f, or the imaginary step is far too large. Differences lose"
            " digits; the imaginary part of a tiny step loses none.",
            lambda f, x, d: (f(x + 1e-5 * d) - f(x - 1e-5 * d)) / 2e-5,
        ),
        (
            "a large step",
            "the step is too large: the error is its square.",
            lambda f, x, d: np.imag(f(x + 1e-3j * d)) / 1e-3,
        ),
    ),
)

# --------------------------------------------------------------------------------------- the engine


def _suite_cases(rng: np.random.Generator) -> Iterator[Case]:
    for trial in engine_suite.TRIALS:
        data = trial.draw(rng)
        size = 1e5 if trial.group == engine_suite.LONG else 10.0
        given = {"trial": f"{trial.group}: {trial.name}", "data": data}
        yield Case.of(trial.group, given, size=size + engine_suite.GROUPS.index(trial.group))


def _is_sound(case: Case, got: Any) -> str:
    trial = engine_suite.NUMBERED[case.args["trial"]]
    if type(got) is not dict:
        return "`pieces` should return the six pieces of your engine."
    try:
        said = trial.judge(case.args["data"], got)
    except (KeyError, TypeError, ValueError, IndexError):
        said = "what the engine gave has another form than it should."
    return f"{trial.blame}, {trial.name}: {said}" if said else ""


SUITE = told_by(
    _is_sound,
    "engine_suite",
    dict.fromkeys(engine_suite.GROUPS, 1.0),
    _suite_cases,
    answers=("pieces",),
    drive="minigrad.lessons.engine_suite:measured",
    forbid=(DERIVATIVES,),
    limit_s=20.0,
    present=lambda case: str(case.args["trial"]),
    checked=(
        f"{len(engine_suite.TRIALS)} trials in {len(engine_suite.GROUPS)} groups, a point for each"
        " group. `minigrad/lessons/engine_suite.py` has them all."
    ),
    hints=(
        "A NameError? Run the cell with unpack() twice: it brings your engine.",
        "Mend the first group that fails (order and loop: lesson 3; rules: 5, 9 and 11b; Dual and"
        " hvp: 11b), and `keep` what you changed. If you did so in its lesson, empty the cell of"
        " the engine here and unpack again.",
        "return Tensor, topological_order, gradients, relu, Dual, hvp. The report below the check"
        " says of each trial what came and what is right.",
    ),
)

# --------------------------------------------------------------------------------------- few trials


def _fewest_cases(rng: np.random.Generator) -> Iterator[Case]:
    for group, engines, trials, share in (
        ("all are caught", 4, 3, 0.5),
        ("all are caught", 20, 8, 0.3),
        ("few trials", 30, 12, 0.25),
        ("few trials", 60, 25, 0.12),
        ("few trials", 80, 40, 0.08),
    ):
        caught = rng.random((engines, trials)) < share
        caught[rng.integers(engines)] = False  # an engine that no trial catches
        yield Case(group, caught=caught)


def greedy(caught: np.ndarray) -> list[int]:
    """Trials that catch every engine that any trial catches: always the one that catches most of
    those that are left.
    """
    chosen, left = list[int](), caught.any(axis=1)
    while left.any():
        chosen.append(int(np.argmax(caught[left].sum(axis=0))))
        left = left & ~caught[:, chosen[-1]]
    return chosen


def _is_fewest(case: Case, got: Any) -> str:
    caught = np.asarray(case.args["caught"])
    try:  # a NumPy integer in a list arrives as an array without dimensions
        columns = np.asarray(got if type(got) in (list, tuple, np.ndarray) else None)
    except ValueError:
        columns = np.asarray(None)
    if columns.ndim != 1 or (columns.size and not np.issubdtype(columns.dtype, np.integer)):
        return "`fewest` should return a list of whole numbers, the columns that are chosen."
    got = [int(i) for i in columns]
    if any(not 0 <= i < caught.shape[1] for i in got):
        return f"there are trials 0 to {caught.shape[1] - 1}; you chose {got}."
    if len(set(got)) < len(got):
        return "a trial is chosen more than once."
    missed = int(np.sum(caught.any(axis=1) & ~caught[:, got].any(axis=1)))
    if missed:
        return f"your {len(got)} trial(s) let {missed} engine(s) pass that others catch."
    if case.group == "few trials" and len(got) > len(greedy(caught)) + 1:
        return (
            f"you chose {len(got)} trials of {caught.shape[1]}; {len(greedy(caught))} are enough."
        )
    return ""


def _choices(
    *rows: tuple[str, str, Callable[[np.ndarray], Any]],
) -> tuple[Misconception, ...]:
    return tuple(
        Misconception(name, say, lambda case, wrong=wrong: wrong(np.asarray(case.args["caught"])))
        for name, say, wrong in rows
    )


def _by_counts(caught: np.ndarray) -> list[int]:
    """The trials that catch most come first, whatever has been caught already."""
    order, chosen = [int(i) for i in np.argsort(-caught.sum(axis=0), kind="stable")], list[int]()
    while not np.array_equal(caught[:, chosen].any(axis=1), caught.any(axis=1)):
        chosen.append(order[len(chosen)])
    return chosen


def _first_that_helps(caught: np.ndarray) -> list[int]:
    """In their order, each trial that catches something new."""
    chosen, left = list[int](), caught.any(axis=1)
    for i in range(caught.shape[1]):
        if (left & caught[:, i]).any():
            chosen.append(i)
            left = left & ~caught[:, i]
    return chosen


FEWEST_TRIALS = told_by(
    _is_fewest,
    "fewest",
    {"all are caught": 1, "few trials": 2},
    _fewest_cases,
    present=lambda case: "{} engines and {} trials".format(*case.args["caught"].shape),
    checked=(
        "Your trials catch every engine that any trial catches, and they are at most one more than"
        " a greedy choice needs."
    ),
    hints=(
        "Which trial would you take first? And once it has been taken, which engines still count?",
        "Keep an array `left` of the engines that are not caught yet. Take the column that catches"
        " most of them, and take out what it catches.",
        "best = int(np.argmax(caught[left].sum(axis=0))); chosen.append(best);"
        " left = left & ~caught[:, best]",
    ),
    misconceptions=_choices(
        ("all of them", "you take all trials.", lambda c: list(range(c.shape[1]))),
        (
            "by what they catch in all",
            "you take the trials in the order of what they catch in all. What has been caught"
            " already should not count again.",
            _by_counts,
        ),
        (
            "the first that helps",
            "you take each trial that catches something new, in the order of their numbers. Take"
            " the one that catches most.",
            _first_that_helps,
        ),
        (
            "one",
            "you take the trial that catches most, and stop.",
            lambda c: [int(np.argmax(c.sum(axis=0)))],
        ),
        (
            "one too few",
            "your last trial is missing: go on until nothing is left.",
            lambda c: greedy(c)[:-1],
        ),
        (
            "rows",
            "you choose engines; trials are the columns.",
            lambda c: greedy(c.T),
        ),
        ("none", "you choose nothing.", lambda c: []),
    ),
)

# ------------------------------------------------------------------------------------- the six bugs


def _bait_cases(rng: np.random.Generator) -> Iterator[Case]:
    shapes = {"x": (2, 3), "y": (3,)}
    for group in ("all six bugs", "all six bugs", "few operations"):
        yield Case(group, **{name: _apart(rng, shape) for name, shape in shapes.items()})


def _apart(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Numbers of which no two are near each other, or near 0 or 1."""
    n = int(np.prod(shape))
    return np.asarray((0.3 + 0.4 * np.arange(n) / n + rng.uniform(0, 0.05, n)).reshape(shape))


def _gradients(case: Case, rows: Any, engine: zoo.Engine, passes: int = 2) -> list[np.ndarray]:
    """The gradients by x and y after so many passes by an engine of the zoo."""
    nodes = zoo.build(case.args, rows)
    for _ in range(passes):
        zoo.backward(nodes[rows[-1][0]], engine)
    return [
        np.zeros(1) if nodes[name].grad is None else np.asarray(nodes[name].grad)
        for name in case.args
    ]


FEWEST = 5
"""So many operations pass as few. (Four are enough.)"""
BUGS = {
    "A": "a product whose parts are exchanged",
    "B": "a part that overwrites the one before",
    "C": "a sum (`+` alone) that does not add up copies",
    "D": "an order that takes a node too early",
    "E": "a difference with the wrong sign",
    "F": "gradients that are left from the first pass",
}


def _is_bait(case: Case, got: Any) -> str:
    if type(got) is not dict or "rows" not in got:
        return "`bait` should return the last node, made of x and y by + − * exp and sum."
    if got["problem"]:
        return str(got["problem"])
    rows, shape = got["rows"], got["shape"]
    if shape != []:
        return f"the result has the shape {tuple(shape)}; it should be one number: end with sum()."
    if case.group == "few operations" and len(rows) > FEWEST:
        return f"there are {len(rows)} operations; {FEWEST} are enough."
    missed = _missed(case, rows)
    if not missed:
        return ""
    names = "; ".join(f"{letter}, {BUGS[letter]}" for letter in missed)
    return f"this program shows nothing of {len(missed)} of the six bugs: {names}."


def _missed(case: Case, rows: Any) -> list[str]:
    """The engines of the zoo that differentiate a program as a sound one does."""
    right = _gradients(case, rows, zoo.Engine(), 1)
    missed = []
    for letter in zoo.ANIMALS:
        found = _gradients(case, rows, zoo.engine(letter))
        if all(a.shape == b.shape and np.allclose(a, b, 1e-6, 1e-8) for a, b in
               zip(found, right, strict=True)):  # fmt: skip
            missed.append(letter)
    return missed


def _programs() -> tuple[Misconception, ...]:
    """Programs that show some of the bugs, as students write them first."""
    rows = {
        "a product alone": ("mul x y", "sum v1"),
        "no difference": ("mul x y", "exp v1", "add v2 y", "sum v3"),
        "no sum": ("mul x y", "exp v1", "sub v1 v2", "sum v3"),
        "no product": ("exp x", "add v1 y", "sub v1 v2", "sum v3"),
        "no fork": ("mul x y", "add v1 y", "sub v2 y", "sum v3"),
        "a difference that cancels": ("mul x y", "add v1 y", "sub v1 v2", "sum v3"),
        "the long path first": ("add x y", "mul v1 y", "sub v2 v1", "sum v3"),
    }
    return tuple(
        Misconception(
            name,
            "Look at the list of the bugs: each needs something of its own to show.",
            lambda case, lines=lines: {"rows": _rows(lines), "shape": [], "problem": ""},
        )
        for name, lines in rows.items()
    )


def _rows(lines: tuple[str, ...]) -> list[Any]:
    parts = [line.split() for line in lines]
    return [[f"v{i}", op, operands] for i, (op, *operands) in enumerate(parts, 1)]


BAIT = told_by(
    _is_bait,
    "bait",
    {"all six bugs": 2, "few operations": 1},
    _bait_cases,
    drive=f"{DRIVE}:recorded",
    forbid=(DERIVATIVES,),
    present=lambda case: "your program with x of the shape (2, 3) and y of the shape (3,)",
    checked=(
        "Your program was differentiated twice by a sound engine and by the six of the zoo. Each of"
        " the six gave something else."
    ),
    hints=(
        "Which operations must occur? And what must the graph look like, so that D's order fails?",
        "A product, a `+` with a stretched operand, a difference. D fails where an inner node is"
        " used by the last operation directly, and by one before it as well.",
        "p = x + y; return (p - p * y).sum()",
    ),
    misconceptions=_programs(),
)

# -------------------------------------------------------------------------------------- predictions


def caught_by_rules() -> float:
    """How many bugs of the zoo sit in a rule, so that trials of one operation can find them."""
    return float(sum(part.__name__.startswith("pull_") for part in zoo.ANIMALS.values()))


PREDICTIONS = (
    Exact(
        "rules-alone",
        "Prediction: a suite of rules alone",
        variable="found",
        answer=caught_by_rules,
        because="A, C and E are wrong rules. B, D and F are wrong in the order and in the loop.",
        slips=(
            ("Look again: not each of the six lines speaks of a single operation.", lambda: 6.0),
            ("Look again: which of the six lines speak of a single operation?", lambda: 2.0),
            ("Look again: with one operation and no two paths, what can each line change?",
             lambda: 4.0),
        ),
        hints=(
            "Each trial of the first group has one operation, and no two paths.",
            "Which of the bugs are about one operation: product, sum, difference?",
        ),
    ),
)  # fmt: skip

TITLES = {
    "slope": "Exercise 1 · A slope without a difference",
    "engine_suite": "Exercise 2 · Your engine on trial",
    "fewest": "Exercise 3 · Few trials",
    "bait": "Exercise 4 · Six bugs, one program",
}

EXERCISES: dict[str, Exercise] = by_name(vars(), TITLES)
