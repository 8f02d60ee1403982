"""The exercises of lesson 17, as data: where the derivative of a program is not that of the
function that it stands for.

Right answers are not written here. (e^x − 1)/x is the average of e^(sx) over s from 0 to 1, and so
are its derivatives averages that need no branch; what slopes do not explain is the sum of the
jumps; a loop has settled where one round more changes nothing; many slopes multiply to the slope of
the whole, which a complex step measures; weights move by lr · g / scale, whatever the scale.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

import minigrad as mg

from ..grading.comparison import same
from ..grading.exercise import DERIVATIVES, Case, Exercise, Misconception
from ..grading.kinds import Number
from .drive17 import piecewise, round_of
from .made import Exact, by_name, told_by

DRIVE = "minigrad.lessons.exercises.drive17"


# ---------------------------------------------------------------------- a branch and its neighbours

PARTS = ("value", "slope", "curvature")


def averages(x: float) -> dict[str, float]:
    """The averages of e^(sx), s·e^(sx) and s²·e^(sx) over s from 0 to 1, by Gauss's rule: what
    (e^x − 1)/x and its first two derivatives are, without a branch.
    """
    nodes, weights = np.polynomial.legendre.leggauss(20)
    s = (nodes + 1) / 2
    return {part: float(np.sum(weights / 2 * s**k * np.exp(s * x))) for k, part in enumerate(PARTS)}


def _average_cases(rng: np.random.Generator) -> Iterator[Case]:
    yield Case.of("at 0", {"x": 0.0}, size=1.0)
    for low, high in ((-9, -7), (-7, -5), (-5, -3), (-3, -2)):
        for sign in (1.0, -1.0):
            x = sign * 10.0 ** rng.uniform(low, high)
            yield Case.of("beside 0", {"x": float(x)}, size=2.0)
    for low, high in ((0.02, 0.1), (0.1, 0.5), (0.5, 2.0)):
        for sign in (1.0, -1.0):
            x = sign * rng.uniform(low, high)
            yield Case.of("away from 0", {"x": float(x)}, size=3.0)


def _is_average(case: Case, got: Any) -> str:
    right = averages(case.args["x"])
    for part in PARTS:
        if said := same(right[part], got[part], 1e-6, 1e-6, f"the {part}"):
            return said
    return ""


def _is_right(x: float, got: Any) -> bool:
    return all(abs(got[part] - right) < 2e-6 for part, right in averages(x).items())


def _at_zero(
    name: str, say: str, made: Sequence[float], holds: Callable[[float, float, float], Any]
) -> Misconception:
    """A mistake that shows in the three numbers at 0, whatever is done elsewhere. made: what it
    gives there; holds(value, slope, curvature): whether numbers are of this kind.
    """
    return Misconception(
        name,
        say,
        lambda case: (
            averages(case.args["x"]) if case.args["x"] else dict(zip(PARTS, made, strict=True))
        ),
        explains=lambda case, got: (
            bool(case.args["x"]) or bool(holds(*(got[part] for part in PARTS)))
        ),
    )


def _is(a: float, b: float) -> bool:
    return abs(a - b) < 1e-6


def _off(x: float, near: float) -> dict[str, float]:
    """Right numbers, with an error in the curvature on one side of a distance from 0."""
    found = averages(x)
    return {**found, "curvature": found["curvature"] + (0.01 if abs(x) < near else 0.0)}


def _beside_alone(case: Case, got: Any) -> bool:
    x = case.args["x"]
    return 0.0 < abs(x) < 1e-2 or _is_right(x, got)


def _away_alone(case: Case, got: Any) -> bool:
    x = case.args["x"]
    return abs(x) > 1e-2 or _is_right(x, got)


AVERAGES = told_by(
    _is_average,
    "average_exp",
    {"at 0": 1, "beside 0": 1, "away from 0": 1},
    _average_cases,
    drive=f"{DRIVE}:derivatives",
    present=lambda case: f"average_exp(mg.tensor({case.args['x']:.3g}))",
    checked=(
        "Your function is called, and differentiated twice by the engine. Value, slope and"
        " curvature are compared with the averages of e^(sx), s·e^(sx) and s²·e^(sx) over s from 0"
        " to 1."
    ),
    hints=(
        "At 0 the quotient is 0/0, so you need a branch. What does the series of e^x, minus 1,"
        " divided by x, begin with?",
        "1 + x/2 + x²/6 + x³/24 + …; its terms, not its value alone, carry the derivatives.",
        "Beside 0 the quotient loses digits, and its derivatives lose more. Use the series for"
        " |x| < 0.01, with five terms: return 1 + x / 2 + x * x / 6 + x**3 / 24 + x**4 / 120.",
    ),
    misconceptions=(
        _at_zero(
            "a constant",
            "inside your branch nothing depends on x: the value 1 is right, and the slope of a"
            " constant is 0. (x * 0 + 1 is a constant as well.)",
            (1.0, 0.0, 0.0),
            lambda v, s, c: _is(v, 1) and _is(s, 0) and _is(c, 0),
        ),
        _at_zero(
            "a straight line",
            "your branch is a straight line: value and slope are right, the curvature is 0. Take"
            " the next terms of the series.",
            (1.0, 0.5, 0.0),
            lambda v, s, c: _is(v, 1) and _is(s, 0.5) and _is(c, 0),
        ),
        _at_zero(
            "the series of e^x",
            "your branch is the series of e^x itself. Subtract 1 and divide by x: each term moves"
            " down by one power.",
            (1.0, 1.0, 1.0),
            lambda v, s, c: _is(v, 1) and _is(s, 1),
        ),
        _at_zero(
            "another curvature",
            "the coefficient of x² in your branch is not right; value and slope are.",
            (1.0, 0.5, 0.5),
            lambda v, s, c: _is(v, 1) and _is(s, 0.5) and math.isfinite(c) and not _is(c, 1 / 3),
        ),
        _at_zero(
            "a small number below",
            "you add a small number to the denominator. At 0 the numerator is 0, so the value"
            " becomes 0 instead of 1.",
            (0.0, 1e12, 0.0),
            lambda v, s, c: _is(v, 0) and abs(s) > 1e3,
        ),
        _at_zero(
            "no branch",
            "at 0 you divide 0 by 0; there you need another formula.",
            (math.nan, math.nan, math.nan),
            lambda v, s, c: math.isnan(v),
        ),
        _at_zero(
            "where",
            "the value at 0 is right, and the derivative is NaN: `where` computes both formulas,"
            " and 0 times infinity comes back from the one not chosen (lesson 14). An `if` computes"
            " one.",
            (1.0, math.nan, math.nan),
            lambda v, s, c: _is(v, 1) and math.isnan(s),
        ),
        _at_zero(
            "another value",
            "the value at 0 is not 1, to which the quotient tends.",
            (0.5, 0.5, 0.0),
            lambda v, s, c: math.isfinite(v) and not _is(v, 1),
        ),
        Misconception(
            "too narrow",
            "your branch is right at 0 and too narrow: beside 0 the numerator has lost most of its"
            " digits, and each derivative loses more. Use the series for |x| < 0.01, say.",
            lambda case: _off(case.args["x"], 1e-2) if case.args["x"] else averages(0.0),
            explains=_beside_alone,
        ),
        Misconception(
            "too wide",
            "your branch reaches too far for its few terms: near 0 all is right, farther away the"
            " series is not. Make it narrower, or take more terms.",
            lambda case: (
                averages(case.args["x"]) if abs(case.args["x"]) < 1e-2 else _off(case.args["x"], 9)
            ),
            explains=_away_alone,
        ),
    ),
)

# ----------------------------------------------------------------------- what slopes do not explain


def _rise_cases(rng: np.random.Generator) -> Iterator[Case]:
    def case(kinks: Any, jumps: Any, n: int, turned: bool = False) -> Case:
        degree = 1 if n < 10 else 3  # of a straight line, any n gives all
        coefficients = [float(c) for c in rng.uniform(0.5, 1.5, degree + 1)]
        a, b = float(rng.uniform(-2, -1.2)), float(rng.uniform(1.2, 2))
        a, b = (b, a) if turned else (a, b)
        names = ("coefficients", "kinks", "jumps", "a", "b", "n")
        given = dict(zip(names, (coefficients, kinks, jumps, a, b, n), strict=True))
        group = "several jumps" if len(jumps) > 1 else "one jump or none"
        return Case.of(group, given, size=float(len(jumps) + n / 1e4))

    for n in (1, 2, 5):
        yield case([], [], n)
    yield case([], [], 2000)
    yield case([[0.3, 1.0]], [], 2000)
    yield case([[-0.4, -2.0], [0.5, 1.5]], [], 2000, turned=True)
    up = lambda: float(rng.uniform(0.8, 2.0))
    yield case([], [[0.1, up()]], 2000)
    yield case([], [[-0.6, -up()]], 2000)
    yield case([[0.0, 1.0]], [[-0.7, up()], [0.4, 0.5 * up()], [2.5, up()]], 2000)
    yield case([], [[0.2, up()], [-2.5, up()]], 2000, turned=True)


def _is_hidden_rise(case: Case, got: Any) -> str:
    a, b, jumps = (case.args[name] for name in ("a", "b", "jumps"))
    passed = sum(up for at, up in jumps if min(a, b) < at <= max(a, b))
    near = 1e-9 if case.args["n"] < 10 else 0.03
    return same(float(passed if a < b else -passed), got, 0.0, near, "what `hidden_rise` returned")


def _rise_but(of: Callable[..., float]) -> Callable[..., float]:
    """of(the rise, the slopes in the middle of n pieces, b − a, n)."""

    def wrong(coefficients: Any, kinks: Any, jumps: Any, a: float, b: float, n: int) -> float:
        f, slope = piecewise(coefficients, kinks, jumps)
        middle = a + (b - a) * (np.arange(n) + 0.5) / n
        return float(of(f(b) - f(a), slope(middle), b - a, n))

    return wrong


def _ends_in_full(coefficients: Any, kinks: Any, jumps: Any, a: float, b: float, n: int) -> float:
    f, slope = piecewise(coefficients, kinks, jumps)
    return float(f(b) - f(a) - np.sum(slope(np.linspace(a, b, n + 1))) * (b - a) / n)


RISES = told_by(
    _is_hidden_rise,
    "hidden_rise",
    {"one jump or none": 1, "several jumps": 1},
    _rise_cases,
    drive=f"{DRIVE}:risen",
    rtol=1e-2,
    atol=1e-2,
    present=lambda case: (
        f"hidden_rise from {case.args['a']:.3g} to {case.args['b']:.3g} in {case.args['n']}"
        f" piece(s), of a {'straight line' if case.args['n'] < 10 else 'curve'} with"
        f" {len(case.args['jumps'])} jump(s)"
    ),
    checked=(
        "A straight line and a curve hide nothing, with or without kinks; of the others, what is"
        " hidden is the sum of the jumps between a and b."
    ),
    hints=(
        "Two numbers: how much f rises from a to b, and how much its slopes add up to. Return the"
        " first minus the second.",
        "Cut the interval into n pieces of length (b − a)/n. Over each, f rises by about slope"
        " times length.",
        "middle = a + (b - a) * (np.arange(n) + 0.5) / n; return f(b) - f(a) -"
        " np.sum(slope(middle)) * (b - a) / n.",
    ),
    misconceptions=(
        Misconception.of(
            "the rise",
            "you return the rise f(b) − f(a) alone; subtract what the slopes explain.",
            _rise_but(lambda rise, slopes, length, n: rise),
        ),
        Misconception.of(
            "the sum",
            "you return what the slopes add up to; that is to be subtracted from the rise.",
            _rise_but(lambda rise, slopes, length, n: np.sum(slopes) * length / n),
        ),
        Misconception.of(
            "the other sign",
            "the sign is reversed: the rise minus what the slopes explain.",
            _rise_but(lambda rise, slopes, length, n: np.sum(slopes) * length / n - rise),
        ),
        Misconception.of(
            "no length",
            "you add the slopes without the length of a piece, (b − a)/n.",
            _rise_but(lambda rise, slopes, length, n: rise - np.sum(slopes)),
        ),
        Misconception.of(
            "the mean",
            "you subtract the mean slope; over the whole interval it is multiplied by b − a.",
            _rise_but(lambda rise, slopes, length, n: rise - np.mean(slopes)),
        ),
        Misconception.of(
            "not divided by n",
            "you multiply each slope by the whole length b − a; a piece is n times shorter.",
            _rise_but(lambda rise, slopes, length, n: rise - np.sum(slopes) * length),
        ),
        Misconception.of(
            "added",
            "you add the two; subtract.",
            _rise_but(lambda rise, slopes, length, n: rise + np.sum(slopes) * length / n),
        ),
        Misconception.of(
            "the absolute value",
            "you take the absolute value. A jump down counts with a minus.",
            _rise_but(lambda rise, slopes, length, n: abs(rise - np.sum(slopes) * length / n)),
        ),
        Misconception.of(
            "one point too many",
            "you take n + 1 points, and each with a full piece: n pieces have n slopes. (Or count"
            " the two ends with half a piece.)",
            _ends_in_full,
        ),
        Misconception.of(
            "the wrong length of a piece",
            "a piece has the length (b − a)/n, not (b − a)/(n + 1).",
            _rise_but(lambda rise, slopes, length, n: rise - np.sum(slopes) * length / (n + 1)),
        ),
    ),
)

# ---------------------------------------------------------------------------------- loops that stop


def _loop_cases(rng: np.random.Generator) -> Iterator[Case]:
    def case(group: str, kind: str, x: float, dx: float, rate: float, tol: float) -> Case:
        given = {"kind": kind, "x": float(x), "dx": float(dx), "rate": rate, "tol": tol}
        return Case.of(group, given, size=-math.log10(tol) + abs(x))

    draw = lambda low, high: float(rng.uniform(low, high) * rng.choice((-1.0, 1.0)))
    yield case("the value moves", "Newton", rng.uniform(2, 9), 1.0, 0.0, 1e-6)
    yield case("the value moves", "Newton", rng.uniform(0.2, 0.6), draw(0.5, 3), 0.0, 1e-8)
    yield case("the value moves", "Kepler", rng.uniform(1.5, 3.0), draw(0.5, 2), 0.6, 1e-8)
    yield case("the value moves", "slow", rng.uniform(3, 5), draw(0.5, 2), 0.9, 1e-6)
    yield case("the value moves", "slow", rng.uniform(3, 5), draw(0.5, 2), -0.8, 1e-7)
    x = float(rng.uniform(3, 5))  # the two changes are opposite numbers
    yield case("the value moves", "slow", x, 1 - x, 0.9, 1e-6)
    for kind, rate, tol in (("Newton", 0.0, 1e-6), ("slow", 0.9, 1e-6), ("slow", 0.5, 1e-9)):
        yield case("the value stands still", kind, 1.0, draw(0.5, 2), rate, tol)
    yield case("the derivative stands still", "Newton", rng.uniform(2, 9), 0.0, 0.0, 1e-6)
    yield case("the derivative stands still", "slow", rng.uniform(3, 5), 0.0, 0.9, 1e-6)


def _is_settled(case: Case, got: Any) -> str:
    if type(got) not in (list, tuple) or len(got) != 2:
        return "what `settle_both` returned should be a pair (y, dy)."
    given = dict(case.args)
    tol = given.pop("tol")
    if not all(type(v) in (int, float) and math.isfinite(v) for v in got):
        return "what `settle_both` returned should be a pair of two numbers."
    try:
        again = round_of(**given)(float(got[0]), float(got[1]))
    except ArithmeticError:
        return "from what `settle_both` returned, the loop cannot go on."
    for name, before, after in zip(("y", "dy"), got, again, strict=True):
        if abs(after - before) > 2 * tol:
            return (
                f"one round more changes {name} by {abs(after - before):.2g}, which is more than"
                f" tol = {tol:g}."
            )
    return ""


Stops = Callable[[float, float, float], Any]
ENOUGH = 2_000


def _looped(stops: Stops, rounds: int = ENOUGH) -> Callable[..., Any]:
    """settle_both with another condition: stops(change of y, change of dy, tol)."""

    def wrong(kind: str, x: float, dx: float, rate: float, tol: float) -> list[float]:
        step, y, dy = round_of(kind, x, dx, rate), 1.0, 0.0
        for _ in range(rounds):
            before, (y, dy) = (y, dy), step(y, dy)
            if stops(y - before[0], dy - before[1], tol):
                break
        return [y, dy]

    return wrong


LOOPS = told_by(
    _is_settled,
    "settle_both",
    {"the value moves": 1, "the value stands still": 1, "the derivative stands still": 1},
    _loop_cases,
    drive=f"{DRIVE}:settled",
    forbid=(DERIVATIVES,),
    rtol=1e-4,
    atol=1e-4,
    present=lambda case: (
        f"settle_both(step, {case.args['tol']:g}), where step is a round of the loop"
        f" “{case.args['kind']}” with x = {case.args['x']:.3g}, dx = {case.args['dx']:.3g}"
    ),
    checked="No solution is kept here: from what you return, one round more must change nothing.",
    hints=(
        "Keep the pair from before the round, so that you can see how far both numbers moved.",
        "Stop when the larger of |change of y| and |change of dy| is at most tol.",
        "y, dy = 1.0, 0.0; while True: new_y, new_dy = step(y, dy); moved = max(abs(new_y - y),"
        " abs(new_dy - dy)); y, dy = new_y, new_dy; if moved <= tol: return y, dy.",
    ),
    misconceptions=(
        Misconception.of(
            "the value alone",
            "you stop when y stands still, and dy is still on its way.",
            _looped(lambda move, dmove, tol: abs(move) <= tol),
        ),
        Misconception.of(
            "the derivative alone",
            "you stop when dy stands still, and y is still on its way.",
            _looped(lambda move, dmove, tol: abs(dmove) <= tol),
        ),
        Misconception.of(
            "either",
            "you stop when one of the two stands still; both must.",
            _looped(lambda move, dmove, tol: abs(move) <= tol or abs(dmove) <= tol),
        ),
        Misconception.of(
            "signed",
            "you compare the changes with their signs: one that goes down by a lot is less than"
            " tol, too. Take absolute values.",
            _looped(lambda move, dmove, tol: move <= tol and dmove <= tol),
        ),
        Misconception.of(
            "the sum of the changes",
            "you add the two changes with their signs, so they can cancel.",
            _looped(lambda move, dmove, tol: abs(move + dmove) <= tol),
        ),
        Misconception.of(
            "the product of the changes",
            "you multiply the two changes: the product is small as soon as one of them is.",
            _looped(lambda move, dmove, tol: abs(move * dmove) <= tol),
        ),
        Misconception.of(
            "no round",
            "you return the start.",
            lambda kind, x, dx, rate, tol: [1.0, 0.0],
        ),
        Misconception.of("one round", "you make one round only.", _looped(lambda *all: True, 1)),
        Misconception.of(
            "ten rounds", "you make ten rounds, always.", _looped(lambda *all: False, 10)
        ),
        Misconception.of(
            "twenty rounds", "you make twenty rounds, always.", _looped(lambda *all: False, 20)
        ),
        Misconception.of(
            "a hundred rounds",
            "you make a hundred rounds, always; slow loops need more.",
            _looped(lambda *all: False, 100),
        ),
        Misconception.of(
            "dy in the place of y",
            "the pair is in the wrong order: y comes first.",
            lambda **given: _looped(lambda m, d, tol: max(abs(m), abs(d)) <= tol)(**given)[::-1],
        ),
    ),
)

# -------------------------------------------------------------------------------------------- chaos


def _exponent_cases(rng: np.random.Generator) -> Iterator[Case]:
    for n in (1, 2, 3, 5, 8):
        given = {"r": float(rng.uniform(2.6, 3.9)), "x": float(rng.uniform(0.1, 0.4)), "n": n}
        yield Case.of("a few steps", given, size=float(n))
    for r in (4.0, float(rng.uniform(2.4, 2.7)), float(rng.uniform(1.4, 1.6)), 4.0):
        given = {"r": r, "x": float(rng.uniform(0.1, 0.4)), "n": 3000}
        yield Case.of("many steps", given, size=3000.0)


def slope_by_complex_step(r: float, x: float, n: int) -> float:
    """The slope of n steps of x → r·x·(1 − x): the imaginary part at x + ih, over h."""
    z = complex(x, 1e-30)
    for _ in range(n):
        z = r * z * (1 - z)
    return z.imag / 1e-30


def _is_exponent(case: Case, got: Any) -> str:
    r, x, n = case.args.values()
    name = "what `exponent` returned"
    if n < 100:
        return same(math.log(abs(slope_by_complex_step(r, x, n))) / n, got, 1e-7, 1e-7, name)
    # The map with r = 4 is that of an angle which doubles; smaller r lead to the point 1 − 1/r.
    return same(math.log(2.0 if r == 4.0 else abs(2 - r)), got, 0.0, 0.03, name)


def _slopes(r: float, x: float, n: int) -> list[float]:
    found = []
    for _ in range(n):
        found.append(r * (1 - 2 * x))
        x = r * x * (1 - x)
    return found


def _exponent_but(of: Callable[[list[float], int], float]) -> Callable[..., float]:
    return lambda r, x, n: float(of(_slopes(r, x, n), n))


def _mean_log(slopes: Sequence[float], log: Callable[[float], float] = math.log) -> float:
    return sum(log(abs(s)) for s in slopes) / len(slopes)


EXPONENTS = told_by(
    _is_exponent,
    "exponent",
    {"a few steps": 1, "many steps": 1},
    _exponent_cases,
    forbid=(DERIVATIVES,),
    rtol=1e-3,
    atol=1e-3,
    checked=(
        "Over a few steps, n times your number is compared with ln |slope| of the n steps as one"
        " function, measured by a complex step. Over many, with what is known of this map."
    ),
    hints=(
        "One step has the slope r(1 − 2x). Take it at each x, before you move on to the next.",
        "Add logarithms instead of multiplying slopes: a product of 3000 slopes is no float.",
        "total = 0.0; for _ in range(n): total += math.log(abs(r * (1 - 2 * x))); x = r * x * (1 -"
        " x); return total / n.",
    ),
    misconceptions=(
        Misconception.of(
            "the sum",
            "you return the sum of the logarithms; divide by n.",
            _exponent_but(lambda slopes, n: n * _mean_log(slopes)),
        ),
        Misconception.of(
            "one step late",
            "you move x on first, and then take the slope. The first slope is that at the start.",
            lambda r, x, n: _mean_log(_slopes(r, x, n + 1)[1:]),
        ),
        Misconception.of(
            "the logarithm of the mean",
            "you take the logarithm of the mean slope; the slopes are multiplied, so their"
            " logarithms are averaged.",
            _exponent_but(lambda slopes, n: math.log(sum(map(abs, slopes)) / n)),
        ),
        Misconception.of(
            "another base",
            "you use the logarithm to another base; it is the natural one.",
            _exponent_but(lambda slopes, n: _mean_log(slopes, math.log2)),
        ),
        Misconception.of(
            "base 10",
            "you use the logarithm to another base; it is the natural one.",
            _exponent_but(lambda slopes, n: _mean_log(slopes, math.log10)),
        ),
        Misconception.of(
            "the values",
            "you take logarithms of the values x; it should be those of the slopes.",
            lambda r, x, n: sum(math.log(v) for v in _orbit(r, x, n)) / n,
        ),
        Misconception.of(
            "the slope of another function",
            "you take r(1 − x) for the slope; that of r·x·(1 − x) is r(1 − 2x).",
            lambda r, x, n: sum(math.log(abs(r * (1 - v))) for v in _orbit(r, x, n)) / n,
        ),
        Misconception.of(
            "without r",
            "the factor r of the slope is missing.",
            lambda r, x, n: _mean_log(_slopes(r, x, n)) - math.log(r),
        ),
        Misconception.of(
            "the last slope",
            "you take the last slope alone.",
            _exponent_but(lambda slopes, n: _mean_log(slopes[-1:])),
        ),
        Misconception.of(
            "x stays",
            "x does not move on: you take the slope at the start n times.",
            _exponent_but(lambda slopes, n: _mean_log(slopes[:1])),
        ),
        Misconception(
            "the product",
            "you multiply 3000 slopes, which no float can hold. Add their logarithms.",
            lambda case: _by_product(**case.args),
            explains=lambda case, got: case.args["r"] < 4 or got == math.inf,
        ),
        Misconception(
            "a difference",
            "you measure by two starts close together. Over a few steps that is nearly right; over"
            " many, the two end far apart, and no step is small enough. Multiply slopes instead.",
            lambda case: _by_difference(**case.args),
            explains=lambda case, got: (
                math.isfinite(got) if case.args["n"] > 100 else _nearly_exponent(case, got)
            ),
        ),
    ),
)


def _by_product(r: float, x: float, n: int) -> float:
    product = math.prod(_slopes(r, x, n))
    return math.log(abs(product)) / n if math.isfinite(product) else math.inf


def _by_difference(r: float, x: float, n: int, step: float = 1e-6) -> float:
    first, second = (list(_orbit(r, start, n + 1))[-1] for start in (x, x + step))
    return math.log(abs(second - first) / step) / n


def _nearly_exponent(case: Case, got: Any) -> bool:
    """Whether a number is right to about three digits, over a few steps."""
    r, x, n = case.args.values()
    return abs(math.log(abs(slope_by_complex_step(r, x, n))) / n - got) < 1e-2


def _orbit(r: float, x: float, n: int) -> Iterator[float]:
    for _ in range(n):
        yield x
        x = r * x * (1 - x)


# ------------------------------------------------------------------------------------- loss scaling

PATIENCE = 10
"""After so many good steps in a row the scale doubles."""


def _step_cases(rng: np.random.Generator) -> Iterator[Case]:
    def case(group: str, n: int, scale: float, good: int, odd: Sequence[float] = ()) -> Case:
        w = rng.uniform(0.5, 1.5, n) * rng.choice((-1.0, 1.0), n)
        g = (rng.uniform(0.5, 1.5, n) * rng.choice((-1.0, 1.0), n)).astype(np.float16)
        g[: len(odd)] = odd
        rate = float(rng.uniform(0.5, 1.5)) * scale / 2**12  # a step that can be seen in w
        given = {"w": w, "g": g, "scale": scale, "good": good, "lr": rate}
        return Case.of(group, given, size=float(n))

    for n, scale in ((1, 1024.0), (3, 2.0**16), (4, 2.0**30), (2, 64.0)):
        yield case("a good step", n, scale, int(rng.integers(0, 8)))
    for odd in ((np.inf,), (-np.inf,), (np.nan,), (np.inf, np.nan)):
        yield case("inf or NaN", 3, 2.0 ** int(rng.integers(12, 24)), int(rng.integers(1, 10)), odd)
    yield case("inf or NaN", 2, 2.0**16, PATIENCE - 1, (np.nan,))
    for n, scale in ((1, 2.0**10), (3, 2.0**20)):
        yield case("the tenth good step", n, scale, PATIENCE - 1)


def _is_stepped(case: Case, got: Any) -> str:
    w, g, scale, good, lr = case.args.values()
    if type(got) not in (list, tuple) or len(got) != 3:
        return "what `scaled_step` returned should be three things: the weights, scale and good."
    finite = bool(np.isfinite(g).all())
    if finite:
        # The identity: whatever the scale, (w − new w) · scale = lr · g.
        if said := same(w, np.asarray(got[0]) * 1.0, np.inf, np.inf, "the first, the weights,"):
            return said
        moved, right = (w - got[0]) * scale, lr * g.astype(float)
        if said := same(right, moved, 1e-6, 1e-9, "(w − new w) · scale"):
            return said
    elif said := same(w, got[0], 0.0, 0.0, "the first, the weights,"):
        return f"g is not finite, so the weights should stay as they are; {said}"
    ten = finite and good + 1 == PATIENCE
    scales = scale * (2.0 if ten else 1.0 if finite else 0.5)
    if said := same(scales, got[1], 1e-12, 0.0, "the new scale"):
        return said
    return same(good + 1 if finite and not ten else 0, got[2], 0.0, 0.0, "the new count `good`")


def _stepped(
    move: Callable[[Any, Any, float, float], Any] = lambda w, g, s, lr: (
        w - lr * g.astype(float) / s
    ),
    finite: Callable[[Any], Any] = lambda g: np.isfinite(g).all(),
    after_overflow: Callable[[Any, Any, float, int, float], Any] = lambda w, g, s, n, lr: [
        w,
        s / 2,
        0,
    ],
    counted: Callable[[float, int], Any] = lambda s, n: [2 * s, 0] if n == PATIENCE else [s, n],
) -> Callable[..., Any]:
    """scaled_step with some of its parts written otherwise."""

    def wrong(w: Any, g: Any, scale: float, good: int, lr: float) -> list[Any]:
        if not finite(g):
            return list(after_overflow(w, g, scale, good, lr))
        return [move(w, g, scale, lr), *counted(scale, good + 1)]

    return wrong


def _down(w: Any, g: Any, scale: float, lr: float) -> Any:
    return w - lr * g.astype(float) / scale


def _in_float16(name: str, move: Callable[..., Any]) -> Misconception:
    return Misconception.of(
        name,
        "you compute in float16, where a quotient that small is 0 or has lost its digits. Make g a"
        " float64 array first: g.astype(float).",
        _stepped(move),
    )


STEPS = told_by(
    _is_stepped,
    "scaled_step",
    {"a good step": 1, "inf or NaN": 1, "the tenth good step": 1},
    _step_cases,
    rtol=1e-9,
    atol=1e-12,
    checked=(
        "Whatever the scale, (w − new w) · scale must be lr · g. Where g is not finite, nothing may"
        " move."
    ),
    hints=(
        "First ask whether all of g is finite: np.isfinite(g).all(). If not, return w as it is.",
        "g is a float16 array. Convert it with g.astype(float) before you divide; else the quotient"
        " underflows again.",
        "if not np.isfinite(g).all(): return w, scale / 2, 0. Then w = w - lr * g.astype(float) /"
        " scale, and (w, 2 * scale, 0) if good + 1 == 10 else (w, scale, good + 1).",
    ),
    misconceptions=(
        _in_float16("float16", lambda w, g, s, lr: w - lr * (g / s)),
        _in_float16("float16, product first", lambda w, g, s, lr: w - lr * g / s),
        _in_float16("float16, factor first", lambda w, g, s, lr: w - (lr / s) * g),
        Misconception.of(
            "not divided",
            "g belongs to the loss times scale, and you have not divided by scale.",
            _stepped(lambda w, g, s, lr: w - lr * g.astype(float)),
        ),
        Misconception.of(
            "multiplied",
            "you multiply by scale; g contains it already, so divide.",
            _stepped(lambda w, g, s, lr: w - lr * g.astype(float) * s),
        ),
        Misconception.of(
            "uphill",
            "you add the gradient; a step goes against it.",
            _stepped(lambda w, g, s, lr: w + lr * g.astype(float) / s),
        ),
        Misconception.of(
            "no learning rate",
            "lr is missing.",
            _stepped(lambda w, g, s, lr: w - g.astype(float) / s),
        ),
        Misconception.of(
            "moved all the same",
            "you move the weights although g is not finite; now they are lost. Return w as it is.",
            _stepped(
                after_overflow=lambda w, g, s, n, lr: [_down(w, g, s, lr), s / 2, 0],
            ),
        ),
        Misconception.of(
            "the finite ones",
            "you move those weights whose g is finite. If one overflowed, skip the whole step.",
            _stepped(
                after_overflow=lambda w, g, s, n, lr: [
                    np.where(np.isfinite(g), _down(w, np.where(np.isfinite(g), g, 0), s, lr), w),
                    s / 2,
                    0,
                ],
            ),
        ),
        Misconception.of(
            "infinity alone",
            "you look for infinity alone. NaN is not finite either.",
            _stepped(finite=lambda g: not np.isinf(g).any()),
        ),
        Misconception.of(
            "NaN alone",
            "you look for NaN alone. Infinity is not finite either.",
            _stepped(finite=lambda g: not np.isnan(g).any()),
        ),
        Misconception.of(
            "any",
            "you step if any number is finite; all of them must be.",
            _stepped(finite=lambda g: np.isfinite(g).any()),
        ),
        Misconception.of(
            "the scale stays",
            "after an overflow the scale stays; halve it, or the next step overflows as well.",
            _stepped(after_overflow=lambda w, g, s, n, lr: [w, s, 0]),
        ),
        Misconception.of(
            "the scale doubles",
            "after an overflow you double the scale; halve it.",
            _stepped(after_overflow=lambda w, g, s, n, lr: [w, 2 * s, 0]),
        ),
        Misconception.of(
            "the count goes on",
            "after an overflow the count goes on; it begins again at 0.",
            _stepped(after_overflow=lambda w, g, s, n, lr: [w, s / 2, n]),
        ),
        Misconception.of(
            "the count goes on and up",
            "after an overflow the count goes on; it begins again at 0.",
            _stepped(after_overflow=lambda w, g, s, n, lr: [w, s / 2, n + 1]),
        ),
        Misconception.of(
            "the scale never grows",
            "the scale does not double with the tenth good step in a row: that is the one before"
            " which good is 9.",
            _stepped(counted=lambda s, n: [s, n]),
        ),
        Misconception.of(
            "doubled each time",
            "you double the scale in every good step; wait for ten of them.",
            _stepped(counted=lambda s, n: [2 * s, n]),
        ),
        Misconception.of(
            "doubled each time, from 0",
            "you double the scale in every good step; wait for ten of them.",
            _stepped(counted=lambda s, n: [2 * s, 0]),
        ),
        Misconception.of(
            "no new count",
            "after you have doubled the scale, the count begins again at 0.",
            _stepped(counted=lambda s, n: [2 * s if n == PATIENCE else s, n]),
        ),
        Misconception.of(
            "not counted",
            "you do not count this good step: good grows by 1.",
            _stepped(counted=lambda s, n: [2 * s, 0] if n == PATIENCE else [s, n - 1]),
        ),
        Misconception.of(
            "the new scale",
            "you double the scale first and divide by the new one; g was made with the old one.",
            lambda w, g, scale, good, lr: (
                [_down(w, g, 2 * scale, lr), 2 * scale, 0]
                if good + 1 == PATIENCE and np.isfinite(g).all()
                else _stepped()(w, g, scale, good, lr)
            ),
        ),
    ),
)

# -------------------------------------------------------------------------------------- predictions


def _slope_at_kink() -> float:
    """What the engine says of x + relu(−2x), which is |x|, at 0."""
    f = lambda x: x + mg.relu(-2 * x)
    return float(mg.func.grad(f)(mg.tensor(0.0, dtype=mg.float64)).item())


def _adjoint_of_skipped_weight() -> float:
    """What the engine sends to a weight 0 that a program skips."""
    w = [mg.tensor(v, dtype=mg.float64, requires_grad=True) for v in (2.0, 0.0, -1.0)]
    total = mg.tensor(0.0, dtype=mg.float64)
    for weight, x in zip(w, (1.0, 5.0, 3.0), strict=True):
        if weight.item() != 0:
            total = total + weight * x
    (found,) = mg.autograd.grad(total, [w[1]], allow_unused=True)
    return 0.0 if found is None else float(found.item())


def _rescuing_power() -> float:
    """The smallest power of two that keeps 10⁻⁸ from becoming 0 in float16."""
    return next(float(2**k) for k in range(40) if np.float16(2**k * 1e-8) > 0)


PREDICTIONS = (
    Exact(
        "kink-slope",
        "Prediction: the fourth slope at the kink",
        variable="slope_at_kink",
        answer=_slope_at_kink,
        because="x gives 1, and relu at its kink gives 0 times −2.",
        slips=(
            (
                "x contributes a slope as well. (The engine does not take the mean of the sides.)",
                lambda: 0.0,
            ),
            ("That takes relu's slope at 0 to be 1; the engine takes 0.", lambda: -1.0),
        ),
        hints=(
            "The slope of a sum is the sum of the slopes.",
            "1 + (relu's slope at 0) · (−2), and relu's slope at 0 is 0.",
        ),
    ),
    Exact(
        "skipped-weight",
        "Prediction: what the engine sends to a weight that was skipped",
        variable="to_w2",
        answer=_adjoint_of_skipped_weight,
        because="No product with w2 was computed. The function's derivative is 5.",
        slips=(
            (
                "That is the derivative of the function. Which products has the program computed?",
                lambda: 5.0,
            ),
            ("That is what w1 gets.", lambda: 1.0),
            ("That is what w3 gets.", lambda: 3.0),
        ),
        hints=(
            "Go through the loop by hand: which products are computed?",
            "w2 is 0, so w2 * x is never computed.",
        ),
    ),
    Number(
        "horizon",
        "Prediction: how long the forecast is good",
        variable="steps",
        answer=lambda: math.log2(1e6),
        because="2 to the power of 20 is about a million.",
        slips=(
            ("The error does not grow by the same amount, but by the same factor.", lambda: 1e6),
            (
                "That is the number of digits. In each step a factor of 2 is lost, not of 10.",
                lambda: 6.0,
            ),
            ("That is ln 10⁶: the error would grow by the factor e.", lambda: math.log(1e6)),
            ("So long lasts a start with 53 bits. This one has 6 decimal digits.", lambda: 53.0),
        ),
        hints=(
            "After n steps the error is about 10⁻⁶ times 2 to the power of n.",
            "2¹⁰ is about a thousand.",
        ),
        tolerance=0.035,
    ),
    Exact(
        "rescued",
        "Prediction: the factor that rescues a gradient",
        variable="factor",
        answer=_rescuing_power,
        because="4 · 10⁻⁸ is more than half of the smallest number, 6 · 10⁻⁸, so it is rounded up.",
        slips=(
            ("2 · 10⁻⁸ is still less than half of 6 · 10⁻⁸, and is rounded to 0.", lambda: 2.0),
            ("That works, but a smaller power of two does as well.", lambda: 8.0),
            ("That works, but a smaller power of two does as well.", lambda: 16.0),
            ("That would be enough, but it is not a power of two.", lambda: 6.0),
            (
                "With that factor it would even keep all its digits. A far smaller one keeps it"
                " from being 0.",
                lambda: 8192.0,
            ),
        ),
        hints=(
            "What is rounded to 0: everything up to half of the smallest number.",
            "Half of the smallest number is 3 · 10⁻⁸. Which multiple of 10⁻⁸ is larger?",
        ),
    ),
)

TITLES = {
    "average_exp": "Exercise 1 · A branch that fits",
    "hidden_rise": "Exercise 2 · Add the slopes up",
    "settle_both": "Exercise 3 · Stop when both have settled",
    "exponent": "Exercise 4 · How fast an error grows",
    "scaled_step": "Exercise 5 · A step with a scale",
}

EXERCISES: dict[str, Exercise] = by_name(vars(), TITLES)
