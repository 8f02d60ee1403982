"""Jvp and Vjp: products with the Jacobian, both made of reverse mode.

Reverse mode computes g(v) = Jᵀ v, and g is linear in v. A linear map is its own derivative, and
reverse mode through g computes the transpose of that: (Jᵀ)ᵀ u = J u. So two reverse passes give
what forward mode gives in one, without a single forward rule. Which v the first pass starts from
does not matter, since the derivative of a linear map is the same everywhere; here it is ones, as in
MindSpore.

This is how MindSpore's Jvp works. Most of the first pass's network is then left dangling
(graphs.py): what depends on v only leads to g(v), whose value is not needed.

Sources: MindSpore's nn.Jvp and nn.Vjp. The trick: J. Townsend, "A new trick for calculating
Jacobian vector products", 2017.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..core.tensor import Tensor
from ..func.gradients import fitting
from ..func.tree import matching
from ..functions import ones_like
from .fprop import Recording


class _Product:
    """What Jvp and Vjp have in common: a function, called with its inputs and, last, a vector."""

    def __init__(self, function: Callable[..., Any]) -> None:
        if not callable(function):
            raise TypeError(
                f"{type(self).__name__}: needs a function or a Module, got"
                f" {type(function).__name__}."
            )
        self.function = function

    def __repr__(self) -> str:
        name = getattr(self.function, "__name__", type(self.function).__name__)
        return f"{type(self).__name__}({name})"

    def _recorded(self, args: tuple[Any, ...]) -> tuple[Recording, Any]:
        name = type(self).__name__
        if len(args) < 2 or not any(isinstance(a, Tensor) for a in args[:-1]):
            raise TypeError(
                f"{name}: call it with the inputs (at least one tensor) and, as last argument, the"
                f" vector: {name}(f)(x, v)."
            )
        return Recording(self.function, args[:-1], None, name), args[-1]


class Jvp(_Product):
    """Jvp(f)(x, …, v) is (f(x, …), J v), by two reverse passes.

    v: of the input's shape; for several inputs a tuple with one for each input that is a tensor. J
    v is nested like the outputs. Raises ShapeError or ValueError where v does not fit, DTypeError
    for inputs of integers. Compare `func.jvp`, which is forward mode proper.
    """

    def __call__(self, *args: Any) -> tuple[Any, Any]:
        """(output, J v)."""
        run, v = self._recorded(args)
        places = run.places
        given = matching(
            places[0] if len(places) == 1 else tuple(places), v, "Jvp: inputs and vector"
        )
        directions = [
            fitting(t, x, f"Jvp: vector {i}", f"input {i}")
            for i, (t, x) in enumerate(zip(given, places, strict=True))
        ]
        pullback = lambda *seeds: tuple(run.pull(seeds)[1])
        again = Recording(pullback, [ones_like(out) for out in run.flat], None, "Jvp: a result")
        _, pushed = again.pull(directions, hidden=places)
        return run.value, run.rebuild(pushed)


class Vjp(_Product):
    """Vjp(f)(x, …, v) is (f(x, …), vᵀ J), by one reverse pass.

    v: nested like the outputs, each of its output's shape. vᵀ J is one tensor, or for several
    inputs that are tensors a tuple. Raises ShapeError or ValueError where v does not fit,
    DTypeError for inputs of integers.
    """

    def __call__(self, *args: Any) -> tuple[Any, Any]:
        """(output, vᵀ J)."""
        run, v = self._recorded(args)
        _, pulled = run.pull(run.cotangents((v,)))
        return run.value, pulled[0] if len(pulled) == 1 else tuple(pulled)
