"""What lesson 7 hands to the student's side: operations with their pullbacks, and how rules and
options are called. It knows no answers.
"""

import numpy as np

import minigrad as mg
from minigrad import nn

RULES = {
    "sin": (np.sin, lambda x, d: d * np.cos(x)),
    "cos": (np.cos, lambda x, d: -d * np.sin(x)),
    "square": (np.square, lambda x, d: 2 * x * d),
    "add up": (
        np.cumsum,
        lambda x, d: np.cumsum(d[::-1])[::-1],
    ),  # the sums of the first one, two, three … numbers
    "double": (lambda x: 2 * x, lambda x, d: 2 * d),
}


def k(name):
    """K of an operation: x to (result, bprop)."""
    compute, rule = RULES[name]
    return lambda x: (compute(x), lambda dout: rule(x, dout))


def chained(answers, call, names, points, dout):
    """chain([K(f), K(g), …]), run at all points before the first pullback is called: [[result,
    pulled, what the pullback gives of twice the cotangent when it is called again], …].
    """
    chain = answers[call]([k(name) for name in names])
    if chain is None:
        return None
    runs = [chain(x) if callable(chain) else None for x in points]
    if not all(isinstance(run, tuple) and len(run) == 2 and callable(run[1]) for run in runs):
        raise ValueError(
            "it should return a function of x that returns a pair: the result, and the pullback,"
            " which is a function."
        )
    once = [(y, bprop(dout), bprop) for y, bprop in runs]
    return [[y, pulled, bprop(2 * dout)] for y, pulled, bprop in once]


def rule(answers, call, x, out, dout):
    """bprop(x, out, dout) on tensors: the tuple that it returns."""
    return answers[call](mg.tensor(x), mg.tensor(out), mg.tensor(dout))


class Scaled(nn.Cell):
    """w · x + b · y."""

    def __init__(self, w, b):
        super().__init__()
        self.w, self.b = nn.Parameter(mg.tensor(w)), nn.Parameter(mg.tensor(b))

    def construct(self, x, y):
        """Of vectors as long as w."""
        return self.w * x + self.b * y


def chosen(answers, call, row, w, b, x, y, g):
    """The GradOperation of a row, used on a network at (x, y), with g where it takes one: what
    it returns.
    """
    if not isinstance(answers[call], dict):
        raise ValueError("it should be a dictionary from the letters a to e to GradOperations.")
    choice = answers[call].get(row, ...)
    if choice is None or choice is ...:
        raise ValueError(f"row {row} has no GradOperation yet.")
    if not isinstance(choice, mg.GradOperation):
        raise ValueError(f"row {row} should be a GradOperation(…).")
    inputs = [mg.tensor(x), mg.tensor(y)] + ([mg.tensor(g)] if choice.sens_param else [])
    return choice(Scaled(w, b))(*inputs)
