"""Slips that need nothing but the arguments of a case to be recognised, by exercise.

Each is what a student's function returns if it has the slip, and the sentence that is said then.
It is said only where all that came back agrees with it, so it tells what was computed and is no
guess. `made.by_name` gives them to the exercises; the larger mistakes stand with the exercises.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..grading.exercise import Misconception
from ..grading.misconceptions import summed_to
from . import wrong_adam
from .students_side import of_numbers

Slip = tuple[str, str, Callable[..., Any]]


def softmax(s: np.ndarray) -> np.ndarray:
    """The softmax of each row."""
    e = np.exp(s - s.max(axis=1, keepdims=True))
    return np.asarray(e / e.sum(axis=1, keepdims=True))


def _pooled(x: np.ndarray, g: np.ndarray, choose: Callable[[np.ndarray], Any]) -> np.ndarray:
    """What 2 × 2 pooling sends back, if choose(window) is the share of each element."""
    found = np.zeros(x.shape)
    for i in range(g.shape[0]):
        for j in range(g.shape[1]):
            window = (slice(2 * i, 2 * i + 2), slice(2 * j, 2 * j + 2))
            found[window] += g[i, j] * choose(x[window])
    return found


def _momentum(parameter: Any, gradient: Any, state: dict[str, Any]) -> Any:
    state["v"] = 0.9 * state.get("v", 0.0) + gradient
    return parameter - 0.05 * state["v"]


def _ends(count: int, launch: float, run: float) -> float:
    """When the device is done, without waiting in each step."""
    return count * max(launch, run) + min(launch, run)


SLIPS: dict[str, tuple[Slip, ...]] = {
    "difference_quotient": (
        ("divided by x", "you divide by x; the run from x to x + h is h.",
            lambda f, x, h: (of_numbers(f)(x + h) - of_numbers(f)(x)) / x),
    ),
    "pull_exp": (
        ("added", "you add g and the derivative; they are multiplied.",
            lambda x, g: g + np.exp(x)),
    ),
    "pull_t": (
        ("upside down", "the rows of g come back in the opposite order; a transpose exchanges rows"
            " and columns, and turns nothing round.", lambda x, g: g[::-1].T),
    ),
    "unbroadcast": (
        ("sizes", "you sum absolute values; parts of opposite signs cancel.",
            lambda g, shape: summed_to(np.abs(g), tuple(shape))),
    ),
    "exp_reducer_vjp": (
        ("along the rows", "g is spread along the wrong axis: g[i] belongs to row i.",
            lambda x, g: g[None, : x.shape[1]] * np.exp(x)),
    ),
    "sgd": (
        ("momentum", "earlier gradients take part in the step, with the weight 0.9: that is"
            " momentum. Here each step takes the gradient of that step alone.",
            wrong_adam.path(_momentum)),
    ),
    "pull_relu": (
        ("the wrong half", "g passes where x is negative. It passes where x is positive.",
            lambda x, g: g * (x < 0)),
        ("leaky", "a tenth of g passes where x is negative; for relu it is nothing.",
            lambda x, g: g * np.where(x > 0, 1.0, 0.1)),
    ),
    "pull_cross_entropy": (
        ("the right class only", "only the score of the right class gets something; through the"
            " sum in the softmax the others count as well.",
            lambda scores, target, g: g * target * (softmax(scores) - target) / len(scores)),
    ),
    "adjoint_cat": (
        ("the last first", "the parts come in the opposite order: the first channels of g belong to"
            " the first branch.", lambda g, channels: np.split(
                g, np.cumsum(channels)[:-1], axis=1)[::-1]),
    ),
    "adjoint_max_pool": (
        ("shared among equals", "equal winners share the adjoint; here the first of them gets all"
            " of it.", lambda x, g: _pooled(x, g, lambda w: (w == w.max()) / (w == w.max()).sum())),
        ("one winner for all", "only the largest element of the whole array gets something; each"
            " window has a winner.", lambda x, g: np.kron(g, np.ones((2, 2))) * (x == x.max())),
        ("the smallest", "the smallest element of each window gets the adjoint; it is the"
            " largest.", lambda x, g: _pooled(
                x, g, lambda w: np.arange(w.size).reshape(w.shape) == w.argmin())),
    ),
    "adjoint_centred": (
        ("unbiased", "you divide by n − 1; a mean of n numbers divides by n.",
            lambda g: g - g.sum(0) / max(len(g) - 1, 1)),
    ),
    "bands": (
        ("the range", "the second is the range, from the smallest to the largest; the standard"
            " deviation is asked for.",
            lambda curves: [np.median(curves, axis=0), np.ptp(curves, axis=0)]),
    ),
    "most_kept": (
        ("the product", "you multiply; the values in the last piece and the checkpoints of the"
            " others are there at one time, so they are added.", lambda n, k: n * k),
        ("two roots, rounded", "that is right for the best k alone; here k is given.",
            lambda n, k: round(2 * n**0.5)),
        ("one less", "The count is one too small: is the input of the whole chain in it?",
            lambda n, k: n // k + k - 2),
    ),
    "best_segments": (
        ("one piece", "one piece keeps everything, for nothing is cut.", lambda n: 1),
        ("the smallest divisor", "you take the smallest divisor; with few pieces each of them is"
            " long.", lambda n: next((k for k in range(2, n + 1) if n % k == 0), 1)),
        ("the largest divisor", "you take the largest divisor below n; with many pieces there are"
            " many checkpoints.",
            lambda n: next((k for k in range(n - 1, 0, -1) if n % k == 0), 1)),
    ),
    "adjoint_swish": (
        ("product", "you multiply the two derivatives; the product rule adds two terms.",
            lambda x, g: g * _sigmoid(x) * x * _sigmoid(x) * (1 - _sigmoid(x))),
        ("sum without x", "the second term lacks the factor x.",
            lambda x, g: g * (_sigmoid(x) + _sigmoid(x) * (1 - _sigmoid(x)))),
        ("minus", "the two terms of the product rule are added, not subtracted.",
            lambda x, g: g * (_sigmoid(x) - x * _sigmoid(x) * (1 - _sigmoid(x)))),
    ),
    "bytes_moved": (
        ("bits", "The result is eight times too large: bytes are asked for, not bits.",
            lambda shape, itemsize, parameters, steps, stays: 8 * _bytes(
                shape, itemsize, parameters, steps, stays)),
    ),
    "finished": (
        ("no waiting", "you leave out that the host waits in each step where it is asked to.",
            lambda count, launch, run, wait_each: _ends(count, launch, run)),
        ("one job", "you count one job; there are `count` of them.",
            lambda count, launch, run, wait_each: launch + run),
    ),
}  # fmt: skip


def _sigmoid(x: np.ndarray) -> np.ndarray:
    return np.asarray(1 / (1 + np.exp(-x)))


def _bytes(shape: Any, itemsize: int, parameters: int, steps: int, stays: bool) -> float:
    batches = steps * (float(np.prod(shape)) + 1) * itemsize
    return batches + 2 * parameters * itemsize * (1 if stays else steps)


def slips_of(name: str) -> tuple[Misconception, ...]:
    """The slips of an exercise."""
    return tuple(Misconception.of(*slip) for slip in SLIPS.get(name, ()))
