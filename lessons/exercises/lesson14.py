"""The exercises of lesson 14, as data: rules that a check finds wrong, functions to mend, and a
profile to read.

Right answers are not written here: which rules are wrong says gradcheck, values and gradients come
from the engine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

import minigrad as mg

from ..grading.comparison import same
from ..grading.exercise import Case, Exercise, Misconception
from ..grading.kinds import Number, Vjp
from ..grading.words import shown
from .engine_in_use import AGREES as AGREES
from .made import Exact, by_name, told_by

# ------------------------------------------------------------------------------ a colleague's rules


def _with_rule(value: Callable[..., Any], pull: Callable[..., Any]) -> Callable[..., Any]:
    class Operation(mg.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return value(x)

        @staticmethod
        def backward(ctx, g):
            return pull(*ctx.saved_tensors, g)

    return Operation.apply


COLLEAGUES: dict[str, Callable[..., Any]] = {
    "swish": _with_rule(
        lambda x: x * mg.sigmoid(x), lambda x, g: g * mg.sigmoid(x) * (1 - mg.sigmoid(x))
    ),
    "softsign": _with_rule(lambda x: x / (1 + mg.abs(x)), lambda x, g: g / (1 + mg.abs(x)) ** 2),
    "leaky": _with_rule(lambda x: mg.where(x > 0, x, 0.1 * x), lambda x, g: mg.where(x > 0, g, g)),
}
"""The three operations of the lesson, whose rules a colleague wrote; a submission is graded without
this module.
"""


@cache
def _wrong() -> frozenset[str]:
    """Those that gradcheck refuses somewhere."""
    points = mg.tensor([-1.5, -0.4, 0.3, 2.0], dtype=mg.float64, requires_grad=True)
    return frozenset(
        name
        for name, f in COLLEAGUES.items()
        if not mg.autograd.gradcheck(f, (points,), raise_exception=False)
    )


def _names(case: Case, got: Any) -> str:
    if type(got) not in (list, tuple) or not all(type(name) is str for name in got):
        return '`wrong_rules` should be a list of names, such as ["swish", "softsign"].'
    if unknown := [name for name in got if name not in COLLEAGUES]:
        return f"there is no operation {unknown[0][:30]!r}; there are {', '.join(COLLEAGUES)}."
    if extra := set(got) - _wrong():
        return f"`{min(extra)}` passes gradcheck wherever its derivative exists."
    if _wrong() - set(got):
        return "one more of them is wrong, at points that you have not tried."
    return ""


def _one_case(rng: np.random.Generator) -> Iterator[Case]:
    yield Case("names")


wrong_rules = told_by(
    _names,
    "wrong-rules",
    {"names": 2},
    _one_case,
    answers=("wrong_rules",),
    is_value=True,
    checked="gradcheck was asked at positive and at negative points.",
    hints=(
        "A check tells you about the points that it tried, and about no others.",
        (
            "Give gradcheck a vector with positive and negative numbers. Where does each of the"
            " three functions change its formula?"
        ),
        "Take mg.tensor([-1.5, 0.3], dtype=mg.float64, requires_grad=True).",
    ),
    misconceptions=(
        Misconception(
            "positive points only", "you tried positive points only.", lambda case: ["swish"]
        ),
        Misconception("all of them", "One of the three is right.", lambda case: list(COLLEAGUES)),
        Misconception(
            "none",
            "Look at what gradcheck says: it raises an error where a rule is wrong.",
            lambda case: [],
        ),
    ),
)


def _sigmoid(x: np.ndarray) -> np.ndarray:
    return np.asarray(1 / (1 + np.exp(-x)))


adjoint_swish = Vjp(
    "adjoint_swish",
    lambda x: x * mg.sigmoid(x),
    hints=(
        (
            "swish is a product of x and sigmoid(x), and x occurs in both factors. What does the"
            " product rule say?"
        ),
        "The derivative of the sigmoid s(x) = 1/(1 + exp(−x)) is s · (1 − s).",
        "The derivative of x · s(x) is s + x · s · (1 − s).",
    ),
).telling(
    Misconception.of("the first term only",
        "x occurs in both factors: the derivative of the sigmoid is missing.",
                     lambda x, g: g * _sigmoid(x)),
    Misconception.of("the second term only",
        "x occurs in both factors: the derivative of the first one is missing.",
                     lambda x, g: g * x * _sigmoid(x) * (1 - _sigmoid(x))),
    Misconception.of("x in both terms",
        "both terms have the factor x. Where the first factor is differentiated, x becomes 1.",
                     lambda x, g: g * x * (_sigmoid(x) + _sigmoid(x) * (1 - _sigmoid(x)))),
    Misconception.of("the square of s",
        "the derivative of the sigmoid is s · (1 − s), not s².",
                     lambda x, g: g * (_sigmoid(x) + x * _sigmoid(x) ** 2)),
    Misconception.of("the colleague's rule",
        "that is the derivative of the sigmoid alone, as in the colleague's rule.",
                     lambda x, g: g * _sigmoid(x) * (1 - _sigmoid(x))),
)  # fmt: skip


# -------------------------------------------------------------------------------- functions to mend


def Mended(
    name: str, groups: dict[str, Callable[..., Any]], reference: Callable[..., Any], **options: Any
) -> Exercise:
    """The student mends a function of a tensor; its value and its gradient must be those of
    `reference`.

    groups: name -> a draw of inputs from rng. reference: x -> (value, gradient), arrays.
    """

    def cases(rng: np.random.Generator) -> Iterator[Case]:
        for group, draw in groups.items():
            for x in draw(rng):
                yield Case(group, x=x)

    def accept(case: Case, got: Any) -> str:
        if type(got) is not dict or set(got) != {"value", "gradient"}:
            return f"`{name}` should return a tensor."
        for part, right in zip(("value", "gradient"), reference(case.args["x"]), strict=True):
            if (
                part == "gradient"
                and isinstance(got[part], np.ndarray)
                and np.isnan(got[part]).any()
            ):
                return "the value is right, but the gradient holds NaN."
            if said := same(np.asarray(right), got[part], name=f"the {part}"):
                return said
        return ""

    return told_by(
        accept,
        name,
        dict.fromkeys(groups, 1.0),
        cases,
        drive="minigrad.lessons.exercises.drive14:value_and_gradient",
        checked="Your function is called, and then differentiated by the engine.",
        present=lambda case: f"{name}(mg.tensor({shown(case.args['x'])}))",
        **options,
    )


def by_engine(f: Callable[..., Any]) -> Callable[[np.ndarray], tuple[Any, Any]]:
    """x -> (f(x), the gradient of the sum of f(x))."""

    def both(x: np.ndarray) -> tuple[Any, Any]:
        leaf = mg.tensor(np.array(x), dtype=mg.float64, requires_grad=True)
        out = f(leaf)
        (gradient,) = mg.autograd.grad(out.sum(), [leaf], allow_unused=True)
        return out.detach().numpy(), np.zeros(np.shape(x)) if gradient is None else gradient.numpy()

    return both


def _mistake(name: str, say: str, f: Callable[..., Any]) -> Misconception:
    return Misconception(
        name,
        say,
        lambda case: dict(zip(("value", "gradient"), by_engine(f)(case.args["x"]), strict=True)),
    )


def _vectors(rng: np.random.Generator) -> Iterator[np.ndarray]:
    for n in (1, 3, 5):
        yield rng.uniform(-2, 2, size=n)


def _raised_exp(x: Any) -> Any:
    return mg.exp(x) * 2.0 + 1.0


raised_exp = Mended(
    "raised_exp",
    {
        "vectors": _vectors,
        "other shapes": lambda rng: [
            rng.uniform(-1, 1, size=shape) for shape in ((), (2, 2), (0,))
        ],
    },
    by_engine(_raised_exp),
    hints=(
        (
            "Which of the three lines changes an array that is still needed? The error says"
            " whose rule needs what."
        ),
        "Let the line make a new tensor, and leave the old one alone.",
        "y = y * 2.0",
    ),
    misconceptions=(
        _mistake(
            "detached",
            "you detached y: the error is gone, and so is the gradient.",
            lambda x: mg.exp(x).detach() * 2.0 + 1.0 + 0.0 * x,
        ),
        _mistake("left out", "the factor 2 is missing.", lambda x: mg.exp(x) + 1.0),
        _mistake("the one left out", "the 1 is missing.", lambda x: mg.exp(x) * 2.0),
        _mistake("added first", "you add 1 before you double.", lambda x: (mg.exp(x) + 1.0) * 2.0),
        _mistake("exp alone", "neither the factor 2 nor the 1 is there.", mg.exp),
        _mistake(
            "factor on the input",
            "you moved the factor inside exp.",
            lambda x: mg.exp(2.0 * x) + 1.0,
        ),
    ),
)


def _length(x: np.ndarray) -> tuple[Any, Any]:
    size = np.sqrt((x * x).sum())
    return size, x / size if size else np.zeros_like(x)


def _root_with(eps: float) -> Callable[[Any], Any]:
    return lambda x: mg.sqrt((x * x).sum() + eps)


def _is_length(case: Case, got: Any) -> str:
    return same(np.asarray(_length(case.args["x"])[0]), got["value"])


def _a_little_long(case: Case, got: Any) -> bool:
    """Whether the squares of all lengths are too large by a number that is small beside them;
    for the zero vector it is all there is.
    """
    more = float(got["value"] ** 2 - (case.args["x"] ** 2).sum())
    return -1e-15 < more < 1e-3 and bool(np.isfinite(got["gradient"]).all())


def _where_outside(x: Any) -> Any:
    s = (x * x).sum()
    return mg.where(s > 0, mg.sqrt(s), 0.0)


length = Mended(
    "length",
    {
        "vectors": lambda rng: [
            *_vectors(rng),
            *(size * rng.uniform(1, 2, size=2) for size in (1e-4, 1e-8, 1e-20)),
        ],
        "the zero vector": lambda rng: [np.zeros(3), np.zeros(1)],
    },
    _length,
    forbid=tuple(
        f"minigrad.{name}"
        for name in ("norm", "Tensor.norm", "linalg.norm", "linalg.vector_norm", "dist", "cdist")
    ),
    hints=(
        (
            "At zero the square root has an infinite slope. Whatever comes after it, 0 · ∞ is "
            "NaN: so never take the root of zero."
        ),
        (
            "Choose before the root, not after it: where s is 0, take the root of something "
            "harmless. Then choose once more after it."
        ),
        "safe = mg.where(s > 0, s, 1.0), and then mg.where(s > 0, mg.sqrt(safe), 0.0)",
    ),
    misconceptions=(
        replace(
            _mistake("the root of zero",
                "you still take the root of zero; choosing after that is too late.",
                _where_outside),
            explains=lambda case, got: bool(np.isnan(got["gradient"]).all())
            if not case.args["x"].any()
            else not _is_length(case, got),
        ),
        replace(
            _mistake("a small number",
                (
                    "you add a small number under the root: NaN is gone, but every length is a "
                    "little wrong."
                ),
                     _root_with(1e-6)),
            explains=_a_little_long,
        ),
        _mistake("cut off",
            "the value is right, but nothing comes back to x: it was cut off from its history.",
            lambda x: mg.sqrt((x * x).sum().detach()) + 0 * x.sum()),
        _mistake("the square", "the root is missing: that is the sum of squares.",
            lambda x: (x * x).sum()),
        _mistake("the sum of sizes",
            "you add absolute values; the length is the root of the sum of squares.",
            lambda x: mg.abs(x).sum()),
        _mistake("the largest",
            "you take the largest absolute value; the length is the root of the sum of squares.",
            lambda x: mg.abs(x).max()),
    ),
)  # fmt: skip


def reference_skew(x: Any) -> Any:
    """Skewness without its root: the mean of the cubed deviations, over the variance."""
    m = x.mean()
    d = x - m
    v = (d * d).mean()
    return (d * d * d).mean() / v


def _skew_of(mean: Callable[..., Any], variance: Callable[..., Any]) -> Callable[..., Any]:
    def skew(x: Any) -> Any:
        d = x - mean(x.mean())
        return (d * d * d).mean() / variance((d * d).mean())

    return skew


def _kept(t: Any) -> Any:
    return t


def _cut(t: Any) -> Any:
    return t.detach()


skew = Mended(
    "skew",
    {"vectors": lambda rng: [rng.uniform(-2, 2, size=n) for n in (3, 4, 7)]},
    by_engine(reference_skew),
    hints=(
        (
            "The two agree in all values. Which adjoint is missing in the colleague's Trace, and"
            " which line of the source makes that node?"
        ),
        "What does a `with mg.no_grad():` mean for the graph?",
        "Compute v outside of no_grad.",
    ),
    misconceptions=(
        _mistake("unchanged", "the adjoint of v is still missing.", _skew_of(_kept, _cut)),
        _mistake("cut at the mean", "now the mean is cut off instead.", _skew_of(_cut, _kept)),
        _mistake(
            "no division", "you do not divide by the variance.", _skew_of(_kept, lambda v: 1.0)
        ),
        _mistake("both cut", "the mean and the variance are both cut off.", _skew_of(_cut, _cut)),
        _mistake(
            "the root",
            "you divide by the root of the variance; divide by the variance itself.",
            _skew_of(_kept, mg.sqrt),
        ),
        _mistake(
            "the usual skewness",
            "you divide by the variance to the power 3/2, as the usual skewness does; this program"
            " divides by the variance itself.",
            lambda x: ((x - x.mean()) ** 3).mean() / ((x - x.mean()) ** 2).mean() ** 1.5,
        ),
        _mistake(
            "a sum for a mean",
            "the cubes are summed; their mean is wanted.",
            lambda x: ((x - x.mean()) ** 3).sum() / ((x - x.mean()) ** 2).mean(),
        ),
        _mistake(
            "not centred",
            "you do not subtract the mean.",
            lambda x: (x * x * x).mean() / (x * x).mean(),
        ),
        _mistake(
            "the square",
            "you square the deviations in the numerator; they should be cubed.",
            lambda x: ((x - x.mean()) ** 2).mean() / ((x - x.mean()) ** 2).mean(),
        ),
    ),
)


# -------------------------------------------------------------------------------------- the profile


def _profiles(rng: np.random.Generator) -> Iterator[Case]:
    yield Case("small", rows=[("exp", 2, 60.0, 60.0), ("sum", 1, 40.0, 40.0)])
    yield Case(
        "small", rows=[("step", 1, 5.0, 100.0), ("exp", 50, 75.0, 75.0), ("matmul", 1, 20.0, 20.0)]
    )
    names = ["matmul", "exp", "sum", "getitem", "add", "reshape", "tanh"]
    for _ in range(4):
        rows, order = [], [str(name) for name in rng.permutation(names)[: int(rng.integers(3, 7))]]
        for name in order:
            own = float(round(rng.uniform(5, 500), 1))
            rows.append((name, int(rng.integers(1, 40)), own, own))
        rows.insert(
            int(rng.integers(len(rows))), ("forward", 1, 3.0, 3.0 + sum(row[3] for row in rows))
        )
        yield Case("with a region", rows=rows)


def _busiest(rows: Any) -> tuple[str, float]:
    name, _, own, _ = max(rows, key=lambda row: row[2])
    return name, own / sum(row[2] for row in rows)


def _is_busiest(case: Case, got: Any) -> str:
    if type(got) not in (tuple, list) or len(got) != 2:
        return "what `busiest` returned should be a pair: a name and a share."
    name, share = _busiest(case.args["rows"])
    if got[0] != name:
        return f"{shown(got[0])} is not the row that takes most of the time by itself."
    return same(share, got[1], 1e-6, 1e-9, "the share")


def _misread(name: str, say: str, wrong: Callable[[Any], Any]) -> Misconception:
    return Misconception(name, say, lambda case: wrong(case.args["rows"]))


def _most(
    rows: Any, key: Callable[[Any], float], whole: Callable[[Any], float]
) -> tuple[str, float]:
    row = max(rows, key=key)
    return row[0], key(row) / sum(whole(r) for r in rows)


busiest = told_by(
    _is_busiest,
    "busiest",
    {"small": 1, "with a region": 2},
    _profiles,
    checked=(
        "The check uses made-up rows; in the lesson you apply your function to a real profile."
    ),
    hints=(
        (
            "A region's total holds the time of everything inside it. Which column counts every "
            "microsecond once?"
        ),
        "Find the row with the largest own time, and divide that time by the sum of all own times.",
        "max(rows, key=lambda row: row[2])",
    ),
    misconceptions=(
        _misread("total time",
            "you went by the total; a region's total is that of everything inside it.",
                 lambda r: _most(r, lambda x: x[3], lambda x: x[3])),
        _misread("total as the whole",
            "The share is relative to the sum of all own times; totals count nested time twice.",
                 lambda r: (_busiest(r)[0], max(x[2] for x in r) / sum(x[3] for x in r))),
        _misread("most calls", "Many calls need not take much time.",
            lambda r: _most(r, lambda x: x[1], lambda x: x[1])),
        _misread("time per call",
            (
                "you went by the time of one call; a cheap operation that is called often can "
                "cost more."
            ),
                 lambda r: _most(r, lambda x: x[2] / x[1], lambda x: x[2])),
        _misread("the largest total as the whole",
            "you divide by the largest total; the share is relative to the sum of all own times.",
                 lambda r: (_busiest(r)[0], max(x[2] for x in r) / max(x[3] for x in r))),
        _misread("the time itself",
            "that is the time itself; its share is that time over the sum of all own times.",
                 lambda r: (_busiest(r)[0], max(x[2] for x in r))),
        _misread("percent", "The share is a number from 0 to 1, not percent.",
            lambda r: (_busiest(r)[0], 100 * _busiest(r)[1])),
    ),
)  # fmt: skip


# -------------------------------------------------------------------------------------- predictions


def _hooked() -> float:
    x = mg.tensor(3.0, dtype=mg.float64, requires_grad=True)
    y = x * x
    y.register_hook(lambda g: 0.1 * g)
    (5.0 * y).backward()
    return float(x.grad.item())


def _nans() -> float:
    x = mg.tensor([4.0, 0.0, -1.0], dtype=mg.float64, requires_grad=True)
    mg.where(x > 0, mg.sqrt(x), 0.0).sum().backward()
    return float(np.isnan(x.grad.numpy()).sum())


PREDICTIONS = (
    Number(
        "hooked",
        "Prediction: the gradient of x after a hook on y",
        variable="gradient_of_x",
        answer=_hooked,
        because="The hook turns the adjoint 5 into 0.5, and x gets that times 2x = 6.",
        slips=(
            (
                "That is the gradient without the hook. The hook changes the adjoint of y before x"
                " gets its share.",
                lambda: 30.0,
            ),
            (
                (
                    "That is the adjoint of y after the hook. To get that of x, multiply by the"
                    " derivative of x²."
                ),
                lambda: 0.5,
            ),
            ("The hook works on the adjoint, not on y's value.", lambda: 4.5),
        ),
        hints=(
            "Without the hook: the adjoint of y is 5, and x gets 5 · 2x.",
            "What the hook returns replaces the adjoint of y.",
        ),
    ),
    Exact(
        "nans",
        "Prediction: how many of the three gradients are NaN",
        variable="how_many_nan",
        answer=_nans,
        because=(
            "`where` chooses between two finished results, so the roots of 0 and of −1 were"
            " computed as well. In the backward pass `where` sends 0 to them: 0 · ∞ is NaN, and 0"
            " times the NaN at −1 is NaN too."
        ),
        slips=(
            (
                (
                    "The values are fine, because `where` chooses 0. But which roots were computed"
                    " before it chose?"
                ),
                lambda: 0.0,
            ),
            (
                "The root of −1 was computed too. And what is the slope of the root at 0?",
                lambda: 1.0,
            ),
            ("4 is a harmless number: its gradient is 1/4.", lambda: 3.0),
        ),
        hints=(
            "`where` gets both alternatives as finished tensors. Which roots were computed?",
            (
                "In the backward pass, `where` sends 0 to the alternative that was not chosen. The"
                " root"
                " multiplies that by 1/(2√x)."
            ),
        ),
    ),
)

TITLES = {
    "wrong-rules": "Exercise 1 · Which rules are wrong?",
    "adjoint_swish": "Exercise 2 · Mend one",
    "raised_exp": "Exercise 3 · Mend it",
    "length": "Exercise 4 · A careful length",
    "skew": "Exercise 5 · Mend the colleague's function",
    "busiest": "Exercise 6 · Read a profile",
    "agrees": "Exercise 7 · A test for engines",
}

EXERCISES: dict[str, Exercise] = by_name(vars(), TITLES)
