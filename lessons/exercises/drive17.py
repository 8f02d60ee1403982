"""What lesson 17 hands to the student's side: functions with kinks and jumps, the rounds of a loop,
and the derivatives of what the student wrote. It knows no answers.

A drive gets (answers, call, *arguments), as told in lessons/grading/harness.py, and returns plain
values.
"""

import math

import numpy as np

import minigrad as mg

ROUNDS = 5_000
"""So many rounds a loop may take; the slowest that is asked for needs about 300."""


def derivatives(answers, call, x):
    """function(tensor) -> tensor: value, slope and curvature at a number. Where nothing reaches x,
    slope and curvature are 0.
    """
    leaf = mg.tensor(x, dtype=mg.float64, requires_grad=True)
    out = answers[call](leaf)
    if out is None:
        return None
    found = {"value": number(out), "slope": 0.0, "curvature": 0.0}
    for name in ("slope", "curvature"):
        if not getattr(out, "requires_grad", False):
            break
        (out,) = mg.autograd.grad(out.sum(), [leaf], create_graph=True, allow_unused=True)
        if out is None:
            break
        found[name] = number(out)
    return found


def number(value):
    """A tensor, an array or a number without dimensions as a float; what is none of them raises
    what `float` raises.
    """
    return float(value.detach().numpy() if hasattr(value, "detach") else value)


def piecewise(coefficients, kinks, jumps):
    """A function and its slope, both of an array: a polynomial, size · |x − at| for each kink
    (at, size), and a step up by a height for each jump (at, height).
    """

    def f(x):
        x = np.asarray(x, dtype=float)
        bends = sum(size * np.abs(x - at) for at, size in kinks)
        return np.polyval(coefficients, x) + bends + sum(up * (x >= at) for at, up in jumps)

    def slope(x):
        x = np.asarray(x, dtype=float)
        bends = sum(size * np.sign(x - at) for at, size in kinks)
        return np.polyval(np.polyder(coefficients), x) + bends

    return f, slope


def risen(answers, call, coefficients, kinks, jumps, a, b, n):
    """function(f, slope, a, b, n) for a piecewise function."""
    found = answers[call](*piecewise(coefficients, kinks, jumps), a, b, n)
    return float(found) if np.ndim(found) == 0 and isinstance(found, np.generic) else found


def round_of(kind, x, dx, rate):
    """One round of a loop whose solution depends on x, in forward mode: (y, dy) -> (y, dy)."""
    if kind == "Newton":  # y² = x
        return lambda y, dy: ((y + x / y) / 2, (dy + dx / y - x * dy / y**2) / 2)
    if kind == "Kepler":  # y = x + rate · sin y
        return lambda y, dy: (x + rate * math.sin(y), dx + rate * math.cos(y) * dy)
    return lambda y, dy: (rate * y + (1 - rate) * x, rate * dy + (1 - rate) * dx)  # y = x, slowly


def settled(answers, call, kind, x, dx, rate, tol):
    """function(step, tol) -> (y, dy), where step is a round of a loop."""
    step, rounds = round_of(kind, x, dx, rate), 0

    def counted(y, dy):
        nonlocal rounds
        rounds += 1
        if rounds > ROUNDS:
            raise RuntimeError(f"the loop has not stopped after {ROUNDS} rounds")
        return step(float(y), float(dy))

    return answers[call](counted, tol)
