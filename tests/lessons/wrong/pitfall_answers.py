"""Wrong answers to the exercises of lesson 17, each with a phrase that the check must say."""

import math

import numpy as np

import minigrad as mg

from .answers import one

# -------------------------------------------------------------------------------------- (e^x − 1)/x


def quotient(x):
    return (mg.exp(x) - 1) / x


def branched(at_zero, width=0.01, beside=quotient):
    """`at_zero(x)` for |x| below the width, or at 0 alone; the quotient elsewhere."""

    def average_exp(x):
        value = abs(x.item())
        return at_zero(x) if value < width or value == 0 else beside(x)

    return one(average_exp)


def series(x, terms=5):
    total, power, factor = 0.0, 1.0, 1.0
    for k in range(terms):
        factor /= k + 1
        total, power = total + power * factor, power * x
    return total


def by_where(x):
    return mg.where(x.abs() < 0.01, series(x), quotient(x))


AVERAGES = {
    "a float": (branched(lambda x: 1.0, 0.0), "nothing depends on x"),
    "a line": (branched(lambda x: 1 + x / 2, 0.0), "is a straight line"),
    "e^x": (branched(lambda x: mg.exp(x)), "series of e^x itself"),
    "x²/3": (branched(lambda x: 1 + x / 2 + x * x / 3), "coefficient of x²"),
    "no branch": (one(quotient), "divide 0 by 0"),
    "a small number": (
        one(lambda x: (mg.exp(x) - 1) / (x + 1e-12)),
        "a small number to the denominator",
    ),
    "where": (one(by_where), "the derivative is NaN"),
    "0 at 0": (branched(lambda x: x * 0, 0.0), "is not 1"),
    "a narrow branch": (branched(series, 1e-6), "too narrow"),
    "expm1 with a narrow branch": (
        branched(series, 1e-8, lambda x: mg.expm1(x) / x),
        "too narrow",
    ),
    "a wide branch": (branched(series, 1.0), "reaches too far"),
}

# -------------------------------------------------------------------------- what slopes do not tell


def middle(a, b, n):
    return a + (b - a) * (np.arange(n) + 0.5) / n


def told(slope, a, b, n):
    return np.sum(slope(middle(a, b, n))) * (b - a) / n


RISES = {
    "the rise": (one(lambda f, slope, a, b, n: f(b) - f(a)), "alone; subtract"),
    "the sum": (one(lambda f, slope, a, b, n: told(slope, a, b, n)), "subtracted from the rise"),
    "a sign": (
        one(lambda f, slope, a, b, n: told(slope, a, b, n) - f(b) + f(a)),
        "sign is reversed",
    ),
    "no length": (
        one(lambda f, slope, a, b, n: f(b) - f(a) - np.sum(slope(middle(a, b, n)))),
        "length of a piece",
    ),
    "the mean": (
        one(lambda f, slope, a, b, n: f(b) - f(a) - np.mean(slope(middle(a, b, n)))),
        "multiplied by b − a",
    ),
    "the whole length": (
        one(lambda f, slope, a, b, n: f(b) - f(a) - n * told(slope, a, b, n)),
        "n times shorter",
    ),
    "added": (one(lambda f, slope, a, b, n: f(b) - f(a) + told(slope, a, b, n)), "subtract"),
    "no sign": (
        one(lambda f, slope, a, b, n: abs(f(b) - f(a) - told(slope, a, b, n))),
        "absolute value",
    ),
    "n + 1 points": (
        one(
            lambda f, slope, a, b, n: (
                f(b) - f(a) - np.sum(slope(np.linspace(a, b, n + 1))) * (b - a) / n
            )
        ),
        "n + 1 points",
    ),
    "n + 1 pieces": (
        one(lambda f, slope, a, b, n: f(b) - f(a) - told(slope, a, b, n) * n / (n + 1)),
        "not (b − a)/(n + 1)",
    ),
    "an array": (
        one(lambda f, slope, a, b, n: f(b) - f(a) - slope(middle(a, b, n)) * (b - a) / n),
        "shape",
    ),
}

# ---------------------------------------------------------------------------------- loops that stop


def loop(stops, start=(1.0, 0.0)):
    def settle_both(step, tol):
        y, dy = start
        while True:
            new_y, new_dy = step(y, dy)
            move, dmove = new_y - y, new_dy - dy
            y, dy = new_y, new_dy
            if stops(move, dmove, tol):
                return y, dy

    return one(settle_both)


def times(n):
    def settle_both(step, tol):
        y, dy = 1.0, 0.0
        for _ in range(n):
            y, dy = step(y, dy)
        return y, dy

    return one(settle_both)


LOOPS = {
    "the value": (loop(lambda m, d, tol: abs(m) <= tol), "dy is still on its way"),
    "the derivative": (loop(lambda m, d, tol: abs(d) <= tol), "y is still on its way"),
    "or": (loop(lambda m, d, tol: abs(m) <= tol or abs(d) <= tol), "both must"),
    "signed": (loop(lambda m, d, tol: m <= tol and d <= tol), "Take absolute values"),
    "the sum": (loop(lambda m, d, tol: abs(m + d) <= tol), "they can cancel"),
    "the product": (loop(lambda m, d, tol: abs(m * d) <= tol), "multiply the two changes"),
    "no round": (one(lambda step, tol: (1.0, 0.0)), "you return the start"),
    "one round": (one(lambda step, tol: step(1.0, 0.0)), "one round only"),
    "ten rounds": (times(10), "ten rounds"),
    "twenty rounds": (times(20), "twenty rounds"),
    "a hundred rounds": (times(100), "a hundred rounds"),
    "for ever": (loop(lambda m, d, tol: False), "has not stopped"),
    "y alone": (
        one(lambda step, tol: loop(lambda m, d, t: max(abs(m), abs(d)) <= t)[0](step, tol)[0]),
        "a pair",
    ),
    "swapped": (
        one(lambda step, tol: loop(lambda m, d, t: max(abs(m), abs(d)) <= t)[0](step, tol)[::-1]),
        "y comes first",
    ),
}

# -------------------------------------------------------------------------------------------- chaos


def along(r, x, n):
    found = []
    for _ in range(n):
        found.append(x)
        x = r * x * (1 - x)
    return np.array(found)


def slopes(r, x, n):
    return r * (1 - 2 * along(r, x, n))


def by_difference(r, x, n):
    ends = [along(r, start, n + 1)[-1] for start in (x, x + 1e-7)]
    return math.log(abs(ends[1] - ends[0]) / 1e-7) / n


EXPONENTS = {
    "the sum": (one(lambda r, x, n: sum(np.log(abs(slopes(r, x, n))))), "divide by n"),
    "late": (
        one(lambda r, x, n: np.mean(np.log(abs(slopes(r, x, n + 1)[1:])))),
        "move x on first",
    ),
    "log of the mean": (
        one(lambda r, x, n: math.log(np.mean(abs(slopes(r, x, n))))),
        "their logarithms are averaged",
    ),
    "base 2": (one(lambda r, x, n: np.mean(np.log2(abs(slopes(r, x, n))))), "another base"),
    "values": (one(lambda r, x, n: np.mean(np.log(along(r, x, n)))), "those of the slopes"),
    "r(1 − x)": (
        one(lambda r, x, n: np.mean(np.log(r * (1 - along(r, x, n))))),
        "is r(1 − 2x)",
    ),
    "no r": (
        one(lambda r, x, n: np.mean(np.log(abs(1 - 2 * along(r, x, n))))),
        "factor r",
    ),
    "the last": (one(lambda r, x, n: math.log(abs(slopes(r, x, n)[-1]))), "last slope alone"),
    "the first": (one(lambda r, x, n: math.log(abs(slopes(r, x, 1)[0]))), "does not move on"),
    "no absolute value": (
        one(lambda r, x, n: sum(math.log(s) for s in slopes(r, x, n)) / n),
        "math domain error",
    ),
    "the product": (
        one(lambda r, x, n: float(np.log(abs(np.prod(slopes(r, x, n)))) / n)),
        "multiply 3000 slopes",
    ),
    "a difference": (one(by_difference), "two starts close together"),
}

# ------------------------------------------------------------------------------------- loss scaling


def stepped(
    move=lambda w, g, s, lr: w - lr * g.astype(float) / s,
    finite=lambda g: np.all(np.isfinite(g)),
    lost=lambda w, g, s, n, lr: (w, s / 2, 0),
    counted=lambda s, n: (2 * s, 0) if n == 10 else (s, n),
):
    def scaled_step(w, g, scale, good, lr):
        if not finite(g):
            return lost(w, g, scale, good, lr)
        return (move(w, g, scale, lr), *counted(scale, good + 1))

    return one(scaled_step)


def those_finite(w, g, s, n, lr):
    w = w.copy()
    w[np.isfinite(g)] -= lr * g[np.isfinite(g)].astype(float) / s
    return w, s / 2, 0


def doubled_first(w, g, scale, good, lr):
    if not np.isfinite(g).all():
        return w, scale / 2, 0
    scale, good = (2 * scale, 0) if good == 9 else (scale, good + 1)
    return w - lr * g.astype(float) / scale, scale, good


STEPS = {
    "in place": (
        stepped(lambda w, g, s, lr: w.__isub__(lr * g.astype(float) / s)),
        "`scaled_step` changed its argument `w` in place",
    ),
    "in float16": (stepped(lambda w, g, s, lr: w - lr * (g / s)), "compute in float16"),
    "not divided": (stepped(lambda w, g, s, lr: w - lr * g.astype(float)), "not divided by scale"),
    "multiplied": (
        stepped(lambda w, g, s, lr: w - lr * g.astype(float) * s),
        "contains it already",
    ),
    "uphill": (stepped(lambda w, g, s, lr: w + lr * g.astype(float) / s), "goes against it"),
    "no rate": (stepped(lambda w, g, s, lr: w - g.astype(float) / s), "lr is missing"),
    "moved all the same": (
        stepped(lost=lambda w, g, s, n, lr: (w - lr * g.astype(float) / s, s / 2, 0)),
        "now they are lost",
    ),
    "the finite ones": (stepped(lost=those_finite), "skip the whole step"),
    "infinity alone": (stepped(finite=lambda g: not np.isinf(g).any()), "NaN is not finite"),
    "NaN alone": (stepped(finite=lambda g: not np.isnan(g).any()), "Infinity is not finite"),
    "any": (stepped(finite=lambda g: np.isfinite(g).any()), "all of them must be"),
    "the scale stays": (stepped(lost=lambda w, g, s, n, lr: (w, s, 0)), "halve it, or the next"),
    "doubled after overflow": (stepped(lost=lambda w, g, s, n, lr: (w, 2 * s, 0)), "halve it"),
    "the count goes on": (stepped(lost=lambda w, g, s, n, lr: (w, s / 2, n)), "again at 0"),
    "never grows": (stepped(counted=lambda s, n: (s, n)), "before which good is 9"),
    "always doubled": (stepped(counted=lambda s, n: (2 * s, n)), "wait for ten"),
    "no new count": (
        stepped(counted=lambda s, n: (2 * s, n) if n == 10 else (s, n)),
        "begins again at 0",
    ),
    "doubled first": (one(doubled_first), "divide by the new one"),
    "the weights alone": (
        one(lambda w, g, s, n, lr: w - lr * g.astype(float) / s),
        "three things",
    ),
}

WRONG = {
    "average_exp": AVERAGES,
    "hidden_rise": RISES,
    "settle_both": LOOPS,
    "exponent": EXPONENTS,
    "scaled_step": STEPS,
}
