"""Traces that hold every kind of sentence."""

from typing import Any

import numpy as np
from minigrad.viz.adapters import Writer

import minigrad as mg
from minigrad.autograd.checkpoint import checkpoint
from minigrad.program import trace as record
from minigrad.program.as_trace import as_trace
from minigrad.watch import trace_function, trace_training_step


class Doubled(mg.autograd.Function):
    """2x, with rules of its own."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x * 2

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * 2

    @staticmethod
    def jvp(ctx: Any, t: Any) -> Any:
        return t * 2


def _hooked(x: Any) -> Any:
    y = x * x
    y.register_hook(lambda g: g * 2)
    return mg.sin(y)


def _wrong_engine() -> dict[str, Any]:
    """An engine that writes = for +=, and has still another adjoint in the end."""
    w = Writer("wrong")
    a = w.input("a", 3.0)
    w.input("b")
    y = w.op("mul", [a, a], 9.0)
    w.seed(y, 1.0)
    w.send(y, 0, 3.0, local=3.0)
    w.send(y, 1, 3.0, local=3.0, after=3.0)
    w.correct(a, 7.0)
    return w.document([y])


def _training() -> dict[str, Any]:
    w = mg.nn.Parameter(mg.tensor(2.0))
    optimizer = mg.optim.SGD([w], lr=0.1, momentum=0.9)
    return trace_training_step(lambda x: (w * x - 1) ** 2, optimizer, mg.tensor(3.0))


def kinds_of_sentences() -> dict[str, dict[str, Any]]:
    """The Traces, by what they are about."""
    x, weights = np.arange(6.0).reshape(3, 2) - 2.5, np.ones((2, 4)) / 4
    functions: dict[str, tuple[Any, ...]] = {
        "numbers": (lambda a, b: mg.log(a) + a * b - mg.sin(b) + a * a, 2.0, 5.0),
        "powers": (lambda a, b: (a**b).exp().sqrt() + mg.floor(a), 2.0, 0.5),
        "rows": (lambda x, w, b: mg.tanh(x @ w + b).sum(), x, weights, np.ones(4)),
        "columns": (lambda x, y: mg.relu(x * y).sum(), x, np.ones((3, 1))),
        "axes": (lambda x, y: (x * y).amax(0).sum(), x[:, :1], np.ones((2, 1, 4))),
        "complex": (lambda z: (z * mg.conj(z)).real, 1 + 2j),
        "checkpoint": (lambda x: checkpoint(lambda y: mg.sin(y) * y, x) * x, 0.5),
        "hook": (_hooked, 0.5),
        "function": (lambda x: Doubled.apply(x) * 3, 0.5),
        "condition": (lambda a: a * a if a > 1 else a, 3.0),
    }
    modes = {"hook": "reverse", "checkpoint": "reverse"}
    found = {
        name: trace_function(f, *point, mode=modes.get(name, "both"))
        for name, (f, *point) in functions.items()
    }
    found["program"] = as_trace(
        record(lambda x: (x * x).sin().reshape(2, 1).sum(), mg.tensor([1.0, 2.0])),
        mg.tensor([1.0, 2.0]),
    )
    return found | {"training": _training(), "wrong engine": _wrong_engine()}


X, E = [{"t": "sym", "base": "x"}], [{"t": "fn", "text": "e"}]
MINUS, SQUARE = {"t": "op", "text": "−"}, {"t": "num", "value": 2}
POWERS = [
    (X, [SQUARE], "x²"),
    (X, [{"t": "num", "value": -10}], "x⁻¹⁰"),
    (X, [{"t": "fn", "text": "T"}], "xᵀ"),
    (X, [{"t": "num", "value": 0.5}], "x^0.5"),
    (X, [*X, MINUS, SQUARE], "x^(x − 2)"),
    (E, X, "exp(x)"),
    (E, [MINUS, {"t": "sup", "base": X, "exp": [SQUARE]}], "exp(−x²)"),
    ([{"t": "sym", "base": "e"}], [SQUARE], "e²"),
]
"""Base and exponent, and what text says of the power."""
