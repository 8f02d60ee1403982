"""Element by element: arithmetic, comparisons, logic, activations and rounding."""

# mypy: disable-error-code="no-any-return, no-untyped-call"

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from .. import backend, functions
from ..core.tensor import Tensor, as_tensor
from ..nn import functional as F
from ..ops.elementwise import identity as _same

ONE = """
    abs acos acosh asin asinh atan atanh ceil cos cosh erf exp floor log negative reciprocal relu
    sigmoid sign sin sinh softplus sqrt tan tanh
""".split()
"""Operators of one tensor that are functions of `mg` under the same name."""
TWO = "greater less mul sub".split()
"""Such operators of two tensors."""


def _operator(function: Callable[..., Tensor], name: str, operands: int) -> Callable[..., Tensor]:
    """The function, its arguments called x and y as in SINGA's documentation."""

    def of_one(x: Any) -> Tensor:
        return function(x)

    def of_two(x: Any, y: Any) -> Tensor:
        return function(x, y)

    operator: Callable[..., Tensor] = of_one if operands == 1 else of_two
    operator.__name__ = operator.__qualname__ = name
    operator.__doc__ = function.__doc__
    return operator


globals().update({name: _operator(getattr(functions, name), name, 1) for name in ONE})
globals().update({name: _operator(getattr(functions, name), name, 2) for name in TWO})
_not = _operator(functions.logical_not, "_not", 1)
_and = _operator(functions.logical_and, "_and", 2)
_or = _operator(functions.logical_or, "_or", 2)
_xor = _operator(functions.logical_xor, "_xor", 2)
equal = _operator(functions.eq, "equal", 2)
rounde = _operator(functions.round, "rounde", 1)
softsign = _operator(F.softsign, "softsign", 1)


def _list(operands: tuple[Any, ...], name: str) -> list[Any]:
    """`f(a, b, c)` and `f([a, b, c])` alike."""
    items = (
        list(operands[0])
        if len(operands) == 1 and isinstance(operands[0], list | tuple)
        else list(operands)
    )
    if not items:
        raise ValueError(f"{name}: needs at least one tensor.")
    return [as_tensor(x) for x in items]


def _folded(function: Callable[..., Tensor], operands: tuple[Any, ...], name: str) -> Tensor:
    first, *rest = _list(operands, name)
    return functools.reduce(function, rest, first) if rest else _same(first)


def sum(*l: Any) -> Tensor:
    """The tensors of a list added element by element; they broadcast."""
    return _folded(functions.add, l, "sum")


def add_all(*xs: Any) -> Tensor:
    """The sum of all tensors, element by element; they broadcast."""
    return _folded(functions.add, xs, "add_all")


def mean(*l: Any) -> Tensor:
    """The mean of a list of tensors, element by element; they broadcast."""
    return sum(*l) / len(_list(l, "mean"))


def max(*l: Any) -> Tensor:
    """The largest of a list of tensors, element by element; ties share the derivative."""
    return _folded(functions.maximum, l, "max")


def min(*l: Any) -> Tensor:
    """The smallest of a list of tensors, element by element; ties share the derivative."""
    return _folded(functions.minimum, l, "min")


def identity(x: Any) -> Tensor:
    """x."""
    return _same(as_tensor(x))


def add(x: Any, b: Any) -> Tensor:
    """x + b."""
    return functions.add(x, b)


def clip(x: Any, min: float | None = None, max: float | None = None) -> Tensor:
    """x limited to [min, max]; a bound that is not set does not limit."""
    return identity(x) if min is None and max is None else functions.clamp(x, min, max)


def div(x: Any, y: Any) -> Tensor:
    """x / y; of two tensors of integers the whole part of the quotient, as integers."""
    x, y = as_tensor(x), as_tensor(y)
    whole = x.dtype.kind in "iu" and y.dtype.kind in "iu"
    return functions.div(x, y, rounding_mode="trunc" if whole else None)


def pow(x: Any, y: Any) -> Tensor:
    """x to the y, in the dtype of x if that holds integers."""
    x = as_tensor(x)
    power = functions.pow(x, y)
    return power if x.dtype.kind not in "iu" or power.dtype == x.dtype else cast(power, x.dtype)


def prelu(x: Any, slope: Any) -> Tensor:
    """x where x >= 0, slope · x elsewhere; both broadcast."""
    x = as_tensor(x)
    return functions.where(x < 0, x * slope, x)


def leakyrelu(x: Any, a: float = 0.01) -> Tensor:
    """x where positive, a · x elsewhere."""
    return F.leaky_relu(x, a)


def elu(x: Any, alpha: float = 1.0) -> Tensor:
    """x where positive, alpha (e^x − 1) elsewhere."""
    return F.elu(x, alpha)


def selu(x: Any, alpha: float = 1.67326, gamma: float = 1.0507) -> Tensor:
    """gamma · elu(x, alpha)."""
    return gamma * F.elu(x, alpha)


def hardsigmoid(x: Any, alpha: float = 0.2, gamma: float = 0.5) -> Tensor:
    """alpha x + gamma limited to [0, 1]."""
    return F.hardtanh(as_tensor(x) * alpha + gamma, 0.0, 1.0)


def cast(x: Any, to: Any) -> Tensor:
    """x converted to the dtype `to` ("float32", "int64", …). A cast to integers or booleans has
    no derivative.
    """
    made: Tensor = as_tensor(x).to(backend.as_dtype(to))
    return made


def round(x: Any) -> Tensor:
    """x rounded to whole numbers, halves away from zero; derivative 0."""
    x = as_tensor(x)
    whole = functions.trunc(x)
    if x.dtype.kind in "iub":
        return whole
    part = functions.where(functions.isfinite(x), x, 0.0)
    return whole + functions.sign(x) * (functions.abs(part - functions.trunc(part)) >= 0.5)


def where(x: Any, y: Any, condition: Any) -> Tensor:
    """x where the condition is not zero, y elsewhere; all three broadcast. SINGA's order: the
    condition comes last.
    """
    return functions.where(as_tensor(condition) != 0, x, y)


# The names as the document's headings write them.
Equal, Mul, SoftSign = equal, globals()["mul"], softsign
SoftPlus = globals()["softplus"]
