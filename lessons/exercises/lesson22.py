"""The exercises of lesson 22, as data: slopes of averages from draws, and pictures with soft edges.

Right answers are not written here. Terms from draws are right if their exact average is the slope
of the average; a soft edge, if it is the average of a hard one that is moved at random; a picture,
if it is the average of all pictures with hard edges.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from math import pi
from typing import Any

import numpy as np

import minigrad as mg

from ..grading.comparison import same
from ..grading.exercise import DERIVATIVES, Case, Exercise
from ..grading.kinds import Number
from .drive22 import draws_of
from .lesson11b import ENGINE
from .made import by_name, mistakes, told_by

hermite = np.polynomial.hermite_e
DRIVE = "minigrad.lessons.exercises.drive22"


# ------------------------------------------------------------------------------- the score function

NODES = 12
"""So many draws stand for the normal distribution: averages of polynomials up to the degree 23 are
exact with the weights of Gauss and Hermite."""


def _score_cases(rng: np.random.Generator) -> Iterator[Case]:
    z, _ = hermite.hermegauss(NODES)
    for group, degree in (
        ("lines and parabolas", 1),
        ("lines and parabolas", 2),
        ("higher powers", 3),
        ("higher powers", 5),
        ("higher powers", 6),
    ):
        weights = rng.uniform(0.5, 1.5, degree + 1) * rng.choice((-1.0, 1.0), degree + 1)
        theta, sigma = float(rng.uniform(-1, 1)), float(rng.choice((0.4, 0.6, 1.5, 1.8)))
        values = np.polynomial.polynomial.polyval(theta + sigma * z, weights)
        yield Case(group, values=values, z=z, sigma=sigma)


def _is_score(case: Case, got: Any) -> str:
    values, z, sigma = case.args.values()
    if type(got) not in (list, tuple) or len(got) != 2:
        return "there should be 2 arrays of terms: for θ, and for σ."
    _, weights = hermite.hermegauss(NODES)
    weights = weights / weights.sum()
    slope = hermite.hermeval(z, hermite.hermeder(hermite.hermefit(z, values, 6))) / sigma
    for name, terms, path in (("θ", got[0], slope), ("σ", got[1], slope * z)):
        if said := same(np.ones(NODES), terms, np.inf, np.inf, f"what you return for {name}"):
            return said  # its shape alone
        right, found = float(weights @ path), float(weights @ terms)
        if said := same(right, found, 1e-6, 1e-7, f"the average of the terms for {name}"):
            return said
    return ""


def _scored(
    by_theta: Callable[..., Any] = lambda f, z, s: f * z / s,
    by_sigma: Callable[..., Any] = lambda f, z, s: f * (z * z - 1) / s,
) -> Callable[..., Any]:
    return lambda values, z, sigma: [by_theta(values, z, sigma), by_sigma(values, z, sigma)]


SCORE = told_by(
    _is_score,
    "score_terms",
    {"lines and parabolas": 1, "higher powers": 1},
    _score_cases,
    forbid=(DERIVATIVES,),
    checked=(
        "z was chosen so that weighted averages are exact. That of your terms is compared with the"
        " average of the slopes f′(x), for σ of f′(x) z."
    ),
    hints=(
        "Take the logarithm of p: it is −(x − θ)²/(2σ²) − ln σ, and a constant. Differentiate it.",
        "By θ: (x − θ)/σ² = z/σ. By σ: (x − θ)²/σ³ − 1/σ.",
        "return values * z / sigma, values * (z**2 - 1) / sigma",
    ),
    misconceptions=mistakes(
        (
            "no one",
            "the −1 is missing in the terms for σ. It comes from the factor 1/σ of the density.",
            _scored(by_sigma=lambda f, z, s: f * z * z / s),
        ),
        (
            "the one alone",
            "the −1 is not divided by σ; the derivative of −ln σ is −1/σ.",
            _scored(by_sigma=lambda f, z, s: f * (z * z / s - 1)),
        ),
        (
            "divided twice",
            "you divide by σ once too often: x − θ is σz, so (x − θ)/σ² is z/σ.",
            _scored(lambda f, z, s: f * z / s**2),
        ),
        (
            "no sigma",
            "σ is missing: (x − θ)/σ² is z/σ.",
            _scored(lambda f, z, s: f * z, lambda f, z, s: f * (z * z - 1)),
        ),
        (
            "a minus",
            "the sign is reversed: the density falls with (x − θ)², so more θ makes a draw to the"
            " right of θ more likely.",
            _scored(lambda f, z, s: -f * z / s, lambda f, z, s: -f * (z * z - 1) / s),
        ),
        (
            "no f",
            "you left out the values: these are the scores alone, whose average is 0.",
            _scored(lambda f, z, s: z / s, lambda f, z, s: (z * z - 1) / s),
        ),
        (
            "swapped",
            "the two are in the wrong order: θ comes first.",
            lambda **given: _scored()(**given)[::-1],
        ),
        (
            "density",
            "you multiply by the density as well. The draws come from it already.",
            lambda values, z, sigma: [
                part * np.exp(-z * z / 2) / (sigma * np.sqrt(2 * pi))
                for part in _scored()(values, z, sigma)
            ],
        ),
    ),
)

# ------------------------------------------------------------------------------------ the baseline


def _baseline_cases(rng: np.random.Generator) -> Iterator[Case]:
    for group, kinds, n in (
        ("two draws", 2, 2),
        ("two draws", 3, 2),
        ("more draws", 2, 3),
        ("more draws", 3, 4),
    ):
        chances = rng.dirichlet(4 * np.ones(kinds))
        scores = np.eye(kinds)[0] - chances[0]
        first, second = rng.uniform(-3, 3, (2, kinds))
        tables = [first, second, first + second, first + 10]
        yield Case(group, tables=tables, scores=scores, chances=chances, n=n)


def _is_baseline(case: Case, got: Any) -> str:
    tables, scores, chances, n = case.args.values()
    draws = np.array(draws_of(len(scores), n))
    if said := same(np.ones((4, len(draws), n)), got, np.inf, np.inf, "what you return"):
        return said
    if not np.all(np.isfinite(got)):
        return "a term is not finite."
    first, second, both, higher = np.asarray(got)
    chance = np.prod(chances[draws], axis=1)
    for table, found in ((tables[0], first), (tables[1], second)):
        right = float(chances @ (table * scores))
        mean = float(chance @ found.mean(axis=1))
        if said := same(right, mean, 1e-7, 1e-8, "the average over all that can be drawn"):
            return said
    if said := same(first, higher, 1e-7, 1e-8, "what you return for values that are larger by 10"):
        return said
    if said := same(first + second, both, 1e-7, 1e-8, "what you return for f + g"):
        return said
    order = [draws_of(len(scores), n).index(tuple(row)) for row in draws[:, ::-1].tolist()]
    return same(first[order], first[:, ::-1], 1e-7, 1e-8, "with the draws in another order, it")


def _baselined(f: Callable[..., Any]) -> Callable[..., Any]:
    def wrong(tables: Any, scores: Any, chances: Any, n: int) -> Any:
        draws = np.array(draws_of(len(scores), n))
        found = [[f(table[row], scores[row]) for row in draws] for table in tables]
        return np.array(found, dtype=float)

    return wrong


def _others(f: Any) -> Any:
    return (f.sum() - f) / (len(f) - 1)


BASELINE = told_by(
    _is_baseline,
    "with_baseline",
    {"two draws": 1, "more draws": 1},
    _baseline_cases,
    drive=f"{DRIVE}:all_draws",
    forbid=(DERIVATIVES,),
    present=lambda case: f"{case.args['n']} draws, {len(case.args['scores'])} things to draw",
    checked=(
        "Everything that can be drawn was drawn, and averaged with its probability: the exact slope"
        " must come out. If all values grow by 10, no term may change."
    ),
    hints=(
        "The sum of the others is the sum of all, minus the value itself.",
        "There are n − 1 others.",
        "others = (values.sum() - values) / (len(values) - 1); return (values - others) * scores",
    ),
    misconceptions=mistakes(
        (
            "the mean of all",
            "you subtract the mean of all values. It contains the value itself, so it depends on"
            " the draw, and the average comes out smaller by the factor (n − 1)/n.",
            _baselined(lambda f, s: (f - f.mean()) * s),
        ),
        (
            "no baseline",
            "you subtract nothing.",
            _baselined(lambda f, s: f * s),
        ),
        (
            "divided by n",
            "you divide the sum of the others by n. There are n − 1 others.",
            _baselined(lambda f, s: (f - (f.sum() - f) / len(f)) * s),
        ),
        (
            "the sum",
            "you subtract the sum of the others instead of their mean.",
            _baselined(lambda f, s: (f - (f.sum() - f)) * s),
        ),
        (
            "a minus",
            "the sign is reversed: the baseline is subtracted from the value.",
            _baselined(lambda f, s: (_others(f) - f) * s),
        ),
        (
            "no score",
            "the scores are missing.",
            _baselined(lambda f, s: f - _others(f)),
        ),
        (
            "a baseline of terms",
            "you subtract the mean of the other *terms*. The baseline belongs to the value, and is"
            " multiplied by the score with it.",
            _baselined(lambda f, s: f * s - _others(f * s)),
        ),
        (
            "the neighbour",
            "you subtract the value of one other draw. That has the right average and more noise"
            " than the mean of all others.",
            _baselined(lambda f, s: (f - np.roll(f, 1)) * s),
        ),
    ),
)

# ---------------------------------------------------------------------------------------- soft edge


def _cover_cases(rng: np.random.Generator) -> Iterator[Case]:
    for group, shape in (
        ("one pixel", ()),
        ("one pixel", ()),
        ("a picture", (5,)),
        ("a picture", (6, 1)),
        ("a picture", (3, 4)),
    ):
        yield Case(group, d=rng.uniform(-3, 3, shape), width=float(rng.choice((0.5, 0.7, 2, 3.0))))


def _is_cover(case: Case, got: Any) -> str:
    d, width = case.args.values()
    if type(got) is not dict:
        return "`cover` should return a Tensor."
    chance = (np.arange(40_000) + 0.5) / 40_000
    shaken = np.asarray(d)[..., None] + width * np.log(chance / (1 - chance))
    if said := same((shaken < 0).mean(axis=-1), got["value"], 0, 1e-4, "the coverage"):
        return said
    value = np.asarray(got["value"])
    right = -value * (1 - value) / width
    return same(right, got["slope"], 1e-6, 1e-8, "the slope of the coverage")


def _covered(
    value: Callable[..., Any], slope: Callable[..., Any] | None = None
) -> Callable[..., Any]:
    def wrong(d: Any, width: float) -> dict[str, Any]:
        d, h = np.asarray(d), 1e-6
        by_differences = (value(d + h, width) - value(d - h, width)) / (2 * h)
        return {
            "value": np.asarray(value(d, width)),
            "slope": np.asarray(by_differences if slope is None else slope(d, width)),
        }

    return wrong


def _edge(d: Any) -> Any:
    return 1 / (1 + np.exp(d))


def _no_slope(d: Any, width: float) -> Any:
    return 0.0 * d


COVER = told_by(
    _is_cover,
    "cover",
    {"one pixel": 1, "a picture": 1},
    _cover_cases,
    drive=f"{ENGINE}:covered",
    forbid=(DERIVATIVES,),
    checked=(
        "A hard edge was moved by 40,000 amounts of noise; your coverage must be the average, and"
        " its slope −c(1 − c)/w by your engine."
    ),
    hints=(
        "How likely is it that d + w·z is negative, that is, that z < −d/w?",
        "The box gives the chance: put −d/w into it.",
        "return Tensor(1.0) / (Tensor(1.0) + (d / Tensor(width)).exp())",
    ),
    misconceptions=mistakes(
        (
            "outside",
            "the sign is reversed: your disc covers what lies outside of it.",
            _covered(lambda d, w: _edge(-d / w)),
        ),
        ("no width", "the width is missing.", _covered(lambda d, w: _edge(d))),
        (
            "times the width",
            "you multiply by the width, so a wider edge becomes sharper.",
            _covered(lambda d, w: _edge(d * w)),
        ),
        (
            "half the width",
            "your edge is half as wide as it should be.",
            _covered(lambda d, w: _edge(2 * d / w)),
        ),
        (
            "hard",
            "your edge is hard: it is 0 or 1, and its slope is 0.",
            _covered(lambda d, w: 1.0 * (d < 0), _no_slope),
        ),
        (
            "detached",
            "your values are right and no adjoint gets to `d`. Compute with Tensors, not with"
            " their `.value`.",
            _covered(lambda d, w: _edge(d / w), _no_slope),
        ),
        (
            "no one",
            "the 1 in the denominator is missing.",
            _covered(lambda d, w: np.exp(-d / w)),
        ),
        (
            "a ramp",
            "your edge is a straight ramp with the right slope in the middle. The noise reaches"
            " farther: no coverage is exactly 0 or 1.",
            _covered(lambda d, w: np.clip(0.5 - d / (4 * w), 0, 1)),
        ),
        (
            "a bell",
            "you computed the density of the noise. The coverage is the chance, not the density.",
            _covered(lambda d, w: _edge(d / w) * _edge(-d / w) / w),
        ),
    ),
)

# ----------------------------------------------------------------------------------------- painting


def _paint_cases(rng: np.random.Generator) -> Iterator[Case]:
    for group, discs, pixels in (
        ("one disc", 1, 1),
        ("one disc", 1, 4),
        ("several", 2, 3),
        ("several", 3, 2),
        ("several", 4, 2),
    ):
        yield Case(
            group,
            canvas=rng.uniform(0.2, 1, (pixels, 3)),
            covers=list(rng.uniform(0.15, 0.85, (discs, pixels, 1))),
            colours=list(rng.uniform(0.2, 1, (discs, 1, 3))),
        )


def hard_painting(canvas: Any, covers: Any, colours: Any) -> Any:
    """The average of all pictures in which each disc covers each pixel wholly or not at all."""
    total = np.zeros_like(canvas)
    for chosen in product((False, True), repeat=len(covers)):
        chance, seen = np.ones_like(covers[0]), canvas
        for covering, cover, colour in zip(chosen, covers, colours, strict=True):
            chance = chance * (cover if covering else 1 - cover)
            seen = np.broadcast_to(colour, canvas.shape) if covering else seen
        total += chance * seen
    return total


def _is_painted(case: Case, got: Any) -> str:
    canvas, covers, colours = case.args.values()
    if type(got) is not dict:
        return "`paint` should return a Tensor."
    if said := same(hard_painting(*case.args.values()), got["value"], 1e-8, 1e-9, "the picture"):
        return said
    for k, found in enumerate(got["slopes"]):
        ends = []
        for end in (1.0, 0.0):
            moved = [np.full_like(c, end) if i == k else c for i, c in enumerate(covers)]
            ends.append(hard_painting(canvas, moved, colours).sum(axis=1, keepdims=True))
        said = same(ends[0] - ends[1], found, 1e-7, 1e-8, f"the slope by the coverage of disc {k}")
        if said:
            return said
    return ""


def _painted(over: Callable[..., Any], discs: slice = slice(None)) -> Callable[..., Any]:
    """paint with another rule for one disc, or with some of them; its slopes by differences."""

    def result(canvas: Any, covers: Any, colours: Any) -> Any:
        seen = canvas
        for cover, colour in list(zip(covers, colours, strict=True))[discs]:
            seen = over(seen, cover, colour, canvas)
        return np.asarray(seen)

    def wrong(canvas: Any, covers: Any, colours: Any) -> dict[str, Any]:
        slopes, h = [], 1e-6
        for k in range(len(covers)):
            ends = [
                result(canvas, [c + d * (i == k) for i, c in enumerate(covers)], colours)
                for d in (h, -h)
            ]
            slopes.append((ends[0] - ends[1]).sum(axis=1, keepdims=True) / (2 * h))
        return {"value": result(canvas, covers, colours), "slopes": slopes}

    return wrong


def _painted_without_hiding_slopes(canvas: Any, covers: Any, colours: Any) -> dict[str, Any]:
    """paint, where no adjoint passes through 1 − c."""
    slopes = []
    for k, colour in enumerate(colours):
        seen = np.broadcast_to(colour, canvas.shape)
        for cover in covers[k + 1 :]:
            seen = seen * (1 - cover)
        slopes.append(seen.sum(axis=1, keepdims=True))
    return {"value": hard_painting(canvas, covers, colours), "slopes": slopes}


PAINT = told_by(
    _is_painted,
    "paint",
    {"one disc": 1, "several": 2},
    _paint_cases,
    drive=f"{ENGINE}:painted",
    forbid=(DERIVATIVES,),
    checked=(
        "All pictures with hard edges were painted, and averaged with their chances. Along one"
        " coverage the picture is a straight line; its slope was compared, too."
    ),
    hints=(
        "One disc: where it covers a pixel (with the chance c) its colour is seen, and else what"
        " was there before.",
        "That is c · colour + (1 − c) · before. The next disc is painted over the result.",
        "for c, colour in zip(covers, colours):"
        " canvas = canvas * (Tensor(1.0) - c) + c * colour; and at the end, return canvas",
    ),
    misconceptions=mistakes(
        (
            "from the top",
            "you begin with the last disc. The first one lies at the bottom.",
            _painted(lambda seen, c, k, canvas: seen * (1 - c) + c * k, slice(None, None, -1)),
        ),
        (
            "nothing hidden",
            "your discs hide nothing: what is below must be multiplied by 1 − c.",
            _painted(lambda seen, c, k, canvas: seen + c * k),
        ),
        (
            "the whole colour",
            "you add the whole colour; it is multiplied by the coverage.",
            _painted(lambda seen, c, k, canvas: seen * (1 - c) + k),
        ),
        (
            "turned round",
            "you exchanged c and 1 − c: the disc is seen where it does not cover.",
            _painted(lambda seen, c, k, canvas: seen * c + (1 - c) * k),
        ),
        (
            "the canvas each time",
            "you paint each disc on the empty canvas, so only the last one is left.",
            _painted(lambda seen, c, k, canvas: canvas * (1 - c) + c * k),
        ),
        (
            "no colour",
            "the colours are missing.",
            _painted(lambda seen, c, k, canvas: seen * (1 - c) + c),
        ),
        (
            "one disc",
            "you return after the first disc. Is the `return` inside the loop?",
            _painted(lambda seen, c, k, canvas: seen * (1 - c) + c * k, slice(0, 1)),
        ),
        (
            "detached",
            "your picture is right and no adjoint passes through 1 − c. Compute with Tensors, not"
            " with their `.value`.",
            _painted_without_hiding_slopes,
        ),
        (
            "half and half",
            "you take the mean of a disc and what is below, wherever it lies.",
            _painted(lambda seen, c, k, canvas: (seen + c * k) / 2),
        ),
        (
            "hidden twice",
            "you multiply what is below by 1 − c twice.",
            _painted(lambda seen, c, k, canvas: seen * (1 - c) ** 2 + c * k),
        ),
    ),
)

# -------------------------------------------------------------------------------------- predictions


def covered(radius: float) -> float:
    """The number of pixels of 32 × 32 that a disc in the middle covers."""
    across = np.arange(32) + 0.5
    return float((np.hypot(across - 16, across[:, None] - 16) < radius).sum())


def slope_of_covered(radius: float = 8.0, soft: bool = False) -> float:
    """The slope of the number of covered pixels of 32 × 32, by the radius; with a hard edge, or
    with one of the width 1.
    """
    across = np.arange(32) + 0.5
    distance = mg.tensor(np.hypot(across - 16, across[:, None] - 16), dtype=mg.float64)
    if soft:
        count = lambda r: mg.sigmoid(r - distance).sum()
    else:
        count = lambda r: mg.where(distance < r, 1.0 + 0 * r, 0.0).sum()
    return float(mg.func.grad(count)(mg.tensor(radius, dtype=mg.float64)).item())


def spread_of_score(sigma: float, theta: float = 1.0) -> float:
    """The standard deviation of f(x) z/σ for f = x², exactly."""
    z, weights = hermite.hermegauss(NODES)
    weights = weights / weights.sum()
    terms = (theta + sigma * z) ** 2 * z / sigma
    return float(np.sqrt(weights @ terms**2 - (weights @ terms) ** 2))


PREDICTIONS = (
    Number(
        "hidden-pixels",
        "Prediction: the hidden rise of a count",
        variable="hidden",
        answer=lambda: covered(12) - covered(2) - 10 * slope_of_covered(),
        because="Every pixel is 0 or 1, so all slopes are 0, and the whole rise is hidden.",
        slips=(
            ("Nothing would be hidden if the slopes were those of the area.", lambda: 0.0),
            ("That is the rise of the area. The program counts pixels.", lambda: pi * 140),
            ("That is the count at 12. It was not 0 at 2.", lambda: covered(12)),
        ),
        hints=(
            "What does a pixel answer if the radius grows from 8 to 8.000001?",
            "The slopes add up to 0. So the hidden part is f(b) − f(a).",
        ),
        tolerance=1e-3,
    ),
    Number(
        "score-spread",
        "Prediction: less noise, and the spread of the score",
        variable="factor",
        answer=lambda: spread_of_score(0.001) / spread_of_score(0.01),
        because="The term is f(x) z/σ. With a small σ, f(x) is nearly f(θ), and 1/σ is left.",
        slips=(
            ("That is the variance. The spread is its root.", lambda: 100.0),
            ("It grows: look at the 1/σ.", lambda: 0.1),
            ("The factor 1/σ does not stay as it is.", lambda: 1.0),
        ),
        hints=("For a small σ, f(x) is nearly f(θ). What is left of f(x) z/σ?",),
        tolerance=0.02,
    ),
    Number(
        "soft-slope",
        "Prediction: the slope of all soft pixels",
        variable="slope",
        answer=lambda: slope_of_covered(soft=True),
        because="The sum of all pixels is an area, and an area grows by its boundary, 2πr.",
        slips=(
            ("That is the area, πr².", lambda: pi * 64),
            ("That was the hard edge.", lambda: 0.0),
            ("That is half of the boundary.", lambda: pi * 8),
        ),
        hints=("The sum of all pixels is about the area πr². How does that grow with r?",),
        tolerance=0.02,
    ),
)  # fmt: skip

TITLES = {
    "score_terms": "Exercise 1 · Slopes without slopes",
    "with_baseline": "Exercise 2 · Compared with the others",
    "cover": "Exercise 3 · A soft edge",
    "paint": "Exercise 4 · Paint",
}

EXERCISES: dict[str, Exercise] = by_name(vars(), TITLES)
