"""Adam with one fault each: what first versions of it get wrong, as steps that can be run.

Each fault shows what one part of Adam is for. Lesson 11 runs the steps on given gradients, the
milestone on those of a network. `RIGHT` is here only so that it can be broken; a test holds it
against minigrad.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

RATE = 0.01

Step = Callable[[Any, Any, dict[str, Any]], Any]
"""step(parameter, gradient, state) -> the new parameter."""


def adam(
    mean: float = 0.9,
    square: float = 0.999,
    *,
    first: int = 1,
    correct_m: bool = True,
    correct_v: bool = True,
    of_square: Callable[[Any], Any] = np.square,
    quotient: Callable[[Any, Any], Any] = lambda m, v: m / (np.sqrt(v) + 1e-8),
    new_mean: float | None = None,
    new_square: float | None = None,
    remembers: bool = True,
    rate: float = RATE,
) -> Step:
    """A step of Adam, with the arguments left out the right one.

    mean, square: the decays of m and v; first: what the count of steps is at the first one;
    new_mean, new_square: the weight of what is new, where it is not one minus the decay; remembers:
    whether anything is kept from step to step.
    """

    def step(parameter: Any, gradient: Any, state: dict[str, Any]) -> Any:
        state = state if remembers else {}
        state["t"] = t = state.get("t", first - 1) + 1
        state["m"] = m = (
            mean * state.get("m", 0.0) + (1 - mean if new_mean is None else new_mean) * gradient
        )
        state["v"] = v = square * state.get("v", 0.0) + (
            1 - square if new_square is None else new_square
        ) * of_square(gradient)
        with np.errstate(all="ignore"):
            m = m / np.float64(1 - mean**t) if correct_m else m
            v = v / np.float64(1 - square**t) if correct_v else v
            return parameter - rate * quotient(m, v)

    return step


RIGHT = adam()


def _with_square_of_mean(parameter: Any, gradient: Any, state: dict[str, Any]) -> Any:
    state["t"] = t = state.get("t", 0) + 1
    state["m"] = m = 0.9 * state.get("m", 0.0) + 0.1 * gradient
    state["v"] = v = 0.999 * state.get("v", 0.0) + 0.001 * m * m
    return parameter - RATE * (m / (1 - 0.9**t)) / (np.sqrt(v / (1 - 0.999**t)) + 1e-8)


def _with_products_of_t(parameter: Any, gradient: Any, state: dict[str, Any]) -> Any:
    state["t"] = t = state.get("t", 0) + 1
    state["m"] = m = 0.9 * state.get("m", 0.0) + 0.1 * gradient
    state["v"] = v = 0.999 * state.get("v", 0.0) + 0.001 * np.square(gradient)
    with np.errstate(all="ignore"):
        return parameter - RATE * (m / (1 - 0.9 * t)) / (np.sqrt(v / (1 - 0.999 * t)) + 1e-8)


WRONG: dict[str, tuple[str, Step]] = {
    "no bias correction": (
        (
            "the bias correction is missing: m and v start at 0, so both are too small at first."
            " Divide m by 1 − 0.9ᵗ and v by 1 − 0.999ᵗ."
        ),
        adam(correct_m=False, correct_v=False),
    ),
    "m not corrected": (
        "m lacks its bias correction: it starts at 0. Divide it by 1 − 0.9ᵗ.",
        adam(correct_m=False),
    ),
    "v not corrected": (
        (
            "v lacks its bias correction: it starts at 0, so the first steps come out far too long."
            " Divide it by 1 − 0.999ᵗ."
        ),
        adam(correct_v=False),
    ),
    "epsilon under the root": (
        (
            "the 1e-8 stands under the root. Added there it counts as 1e-4; it belongs beside the"
            " root."
        ),
        adam(quotient=lambda m, v: m / np.sqrt(v + 1e-8)),
    ),
    "no epsilon": (
        (
            "the 1e-8 in the denominator is missing: small gradients feel it, and a gradient of 0"
            " makes 0/0."
        ),
        adam(quotient=lambda m, v: m / np.sqrt(v)),
    ),
    "count from 0": (
        (
            "the steps are counted from 0. The first step is t = 1: with t = 0 the correction"
            " divides by 1 − 1 = 0."
        ),
        adam(first=0),
    ),
    "count one ahead": (
        "the count is one ahead: the first step is t = 1, and you corrected with t = 2.",
        adam(first=2),
    ),
    "decays exchanged": (
        (
            "the two decays are swapped: 0.9 belongs to m, the mean of the gradients, and 0.999"
            " to v, that of their squares."
        ),
        adam(mean=0.999, square=0.9),
    ),
    "absolute value for square": (
        "v is a mean of |g|. It is a mean of g²: the root that follows undoes the square.",
        adam(of_square=np.abs),
    ),
    "gradient not squared": (
        "the gradient is not squared in v: its mean may be negative, and has no root.",
        adam(of_square=lambda g: g),
    ),
    "no root": (
        "the root is missing: m is divided by √v, not by v.",
        adam(quotient=lambda m, v: m / (v + 1e-8)),
    ),
    "no division": (
        "the division by √v is missing: this is descent with momentum.",
        adam(quotient=lambda m, v: m),
    ),
    "multiplied by the root": (
        "m is multiplied by √v; it is divided by it.",
        adam(quotient=lambda m, v: m * (np.sqrt(v) + 1e-8)),
    ),
    "weights of m exchanged": (
        "the weights in m are swapped: 0.9 for the old mean, 0.1 for the new gradient.",
        adam(mean=0.1, new_mean=0.9),
    ),
    "weights of v exchanged": (
        "the weights in v are swapped: 0.999 for the old mean, 0.001 for the new square.",
        adam(square=0.001, new_square=0.999),
    ),
    "gradient in full": (
        "m gets the whole gradient: the new one counts a tenth, 0.1 · g.",
        adam(new_mean=1.0),
    ),
    "square in full": (
        "v gets the whole square: the new one counts a thousandth, 0.001 · g².",
        adam(new_square=1.0),
    ),
    "square of the mean": (
        "v is a mean of m². It is a mean of the squared gradients, g².",
        _with_square_of_mean,
    ),
    "t times the decay": (
        "the corrections have 0.9 · t and 0.999 · t; the decays are raised to the power t.",
        _with_products_of_t,
    ),
    "no memory": ("nothing is kept from step to step: put it into `state`.", adam(remembers=False)),
    "another rate": ("your rate is ten times as large: it is to be 0.01.", adam(rate=10 * RATE)),
    "a small rate": (
        "your rate is a tenth of what it should be: it is to be 0.01.",
        adam(rate=RATE / 10),
    ),
    "uphill": ("the step goes uphill: it is subtracted.", adam(rate=-RATE)),
    "plain descent": (
        (
            "the gradient itself is subtracted, times the rate: that is plain gradient descent,"
            " without m and v."
        ),
        lambda parameter, gradient, state: parameter - RATE * gradient,
    ),
    "no step": (
        "the parameter comes back as it was.",
        lambda parameter, gradient, state: parameter,
    ),
}
"""name -> (what to tell the student, the step)."""


def path(step: Step) -> Callable[..., list[list[Any]]]:
    """All parameters after each step, as a function of (parameters, gradients of each step)."""

    def run(parameters: Any, gradients: Any) -> list[list[Any]]:
        now, states, found = list(parameters), [dict[str, Any]() for _ in parameters], []
        for given in gradients:
            now = [step(p, g, state) for p, g, state in zip(now, given, states, strict=True)]
            found.append(now)
        return found

    return run


def steps_alone(parameters: Any, gradients: Any) -> list[list[Any]]:
    """What comes of a right step that is returned in the place of the new parameter."""
    found, before = [], list(parameters)
    for after in path(RIGHT)(parameters, gradients):
        found.append([b - a for b, a in zip(before, after, strict=True)])
        before = after
    return found
