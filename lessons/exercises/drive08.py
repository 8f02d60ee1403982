"""What lesson 8 hands to the student's side: maps that may be linear, and functions to push
tangents through. It knows no answers.
"""

import numpy as np

import minigrad as mg

MATRIX = np.array([[1.0, -2.0, 0.5], [0.0, 1.5, -1.0], [2.0, 1.0, 1.0]])

MAPS = {
    "the pullback of sin": lambda v: v * np.cos([0.3, 1.0, -2.0]),
    "the pullback of a matrix product": lambda v: MATRIX.T @ v,
    "the pullback of a sum": lambda v: v.sum() * np.ones(3),
    "v times a third": lambda v: v / 3 + v / 3 + v / 3,
    "nothing": lambda v: 0 * v,
    "a constant": lambda v: 0 * v + 2.0,
    "a step aside": lambda v: v + 1.0,
    "the square": lambda v: v * v,
    "the absolute value": np.abs,
    "the length": lambda v: np.array([np.sqrt(np.sum(v * v))]),
    "the third power": lambda v: v**3,
    "the cube root of the sum of cubes": lambda v: np.cbrt([np.sum(v**3)]),
}


def linear(answers, call, which, u, w):
    """looks_linear(g, u, w) for one of the maps."""
    answer = answers[call](MAPS[which], u, w)
    return bool(answer) if isinstance(answer, np.bool_) else answer


WEIGHTS = [[0.5, -1.0, 2.0], [1.5, 0.25, -0.75]]

LONG = 100_000

# Of a tensor of three numbers; the results have several shapes.
FUNCTIONS = {
    "sin and cos": lambda x: x.sin().cos(),
    "a layer": lambda x: (mg.tensor(WEIGHTS, dtype=x.dtype) @ x).tanh(),
    "the sum of squares": lambda x: (x * x).sum(),
    "all products": lambda x: x.reshape(3, 1) * x,
    "a product": lambda x: x[:2] * x[2].exp(),
    # No step of a difference comes near enough to the first, and none through complex numbers gives
    # the second.
    "a quick wave": lambda x: (20000.0 * x).sin(),
    "a square with a sign": lambda x: x * x.abs(),
    # Whoever takes one pass for each number of the result is not done in time.
    "a long result": lambda x: (
        (mg.linspace(0.0, 3.0, LONG, dtype=x.dtype) * x[1]).sin() * x[0] * x[2]
    ),
}


def pushed(answers, call, which, x, u):
    """jvp_from_vjp(f, x, u) for one of the functions; x requires grad."""
    answer = answers[call](FUNCTIONS[which], mg.tensor(x, requires_grad=True), mg.tensor(u))
    return compared(answer)


def compared(found):
    """What is compared of a result: of a long one a weighted sum."""
    long = isinstance(found, mg.Tensor | np.ndarray) and found.shape == (LONG,)
    return (found * np.linspace(0.5, 1.0, LONG)).sum() if long else found
