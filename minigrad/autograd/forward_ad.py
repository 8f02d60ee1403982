"""Forward mode by hand: dual numbers, PyTorch's `forward_ad` interface, with levels that nest.

    with dual_level():
        x = make_dual(primal, tangent)
        y = f(x)
        value, derivative = unpack_dual(y)

The derivative is the Jacobian-vector product J(primal) · tangent: one column combination of the
Jacobian a pass.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from ..core.forward import forward_level
from ..core.graph import state
from ..core.tensor import Tensor, alias, as_tensor, current_node, wrap
from ..errors import AutogradError, ShapeError
from ..functions import clone


class UnpackedDualTensor(NamedTuple):
    """A primal and its tangent (None where the tensor does not depend on the dual inputs)."""

    primal: Tensor
    tangent: Tensor | None


@contextmanager
def dual_level() -> Iterator[int]:
    """Open a level of forward mode. Levels may be opened inside one another: derivatives of
    derivatives.
    """
    with forward_level() as level:
        yield level


class _Entered(threading.local):
    """The levels of one thread that `enter_dual_level` opened, and their blocks."""

    levels: tuple[tuple[int, Any], ...] = ()


_entered = _Entered()


def enter_dual_level() -> int:
    """Open a level without a block; `exit_dual_level` closes it. Returns its number."""
    block = dual_level()
    level = block.__enter__()
    _entered.levels = (*_entered.levels, (level, block))
    return level


def exit_dual_level(*, level: int | None = None) -> None:
    """Close the innermost level that `enter_dual_level` opened in this thread. Raises AutogradError
    where there is none, or where it is not `level`.
    """
    innermost, block = _entered.levels[-1] if _entered.levels else (None, None)
    if block is None or state.levels[-1:] != (innermost,) or level not in (None, innermost):
        raise AutogradError(
            f"forward mode: exit_dual_level(level={level}) does not close the innermost open level;"
            f" open are {state.levels}."
        )
    _entered.levels = _entered.levels[:-1]
    block.__exit__(None, None, None)


def current_level(level: int | None = None) -> int:
    """The innermost open level, or `level` after checking that it is open."""
    if not state.levels:
        raise AutogradError("forward mode: open a level first, `with forward_ad.dual_level():`.")
    if level is not None and level not in state.levels:
        raise AutogradError(
            f"forward mode: level {level} is not open; open levels are {state.levels}."
        )
    return state.levels[-1] if level is None else level


def make_dual(tensor: Any, tangent: Any, *, level: int | None = None) -> Tensor:
    """`tensor` carrying `tangent` (same shape and dtype) at the innermost open level.

    A constant `tensor` shares its memory with the result, which to the graph is what `.detach()`
    is: an in-place operation on the result changes the values of `tensor`, and gives it no graph. A
    tensor with a graph or tangents is copied. `tangent` is never written to.

    Raises ShapeError or AutogradError where they do not fit, ValueError for integers, AutogradError
    where no level is open.
    """
    where = current_level(level)
    primal, tangent = as_tensor(tensor), as_tensor(tangent)
    if primal.shape != tangent.shape:
        raise ShapeError(
            f"make_dual: the tensor has shape {primal.shape}, the tangent {tangent.shape}; they"
            " must be equal."
        )
    for what, given in (("tensor", primal), ("tangent", tangent)):
        if given.dtype.kind not in "fcV":
            raise ValueError(
                f"make_dual: the {what} must have a floating or complex dtype, got {given.dtype}:"
                " integers have no tangents."
            )
    if tangent.dtype != primal.dtype:
        raise AutogradError(
            f"make_dual: the tensor has dtype {primal.dtype}, the tangent {tangent.dtype}; they"
            " must be equal."
        )
    inner = [level for level in tangent.tangents or () if level >= where]
    if inner:
        raise AutogradError(
            f"make_dual: the tangent, for level {where}, carries a tangent at level {inner[0]};"
            " it may have those of outer levels alone. Open a further level for the derivative of a"
            f" derivative, or give unpack_dual(tangent, level={inner[0]}).primal."
        )
    dual: Tensor = clone(primal) if primal.node is not None or primal.tangents else alias(primal)
    dual.tangents = {**(dual.tangents or {}), where: tangent}
    return dual


def unpack_dual(tensor: Tensor, *, level: int | None = None) -> UnpackedDualTensor:
    """The tensor without the tangent of the innermost open level (or of `level`), and a copy of
    that tangent: None where there is none, or no level is open. The first shares the tensor's
    memory if it is a constant. Both keep their tangents at the other levels.
    """
    where = current_level(level) if state.levels or level is not None else None
    node = current_node(tensor)  # this also brings a view's tangents up to date
    # A copy where there is a graph: a write to shared memory would leave the tensor's as it is.
    primal = alias(tensor) if node is None else wrap(tensor.array.copy(), node)
    if where is None:
        primal.tangents = tensor.tangents
        return UnpackedDualTensor(primal, None)
    primal.tangents = _without(tensor, where).tangents
    tangent = _tangent_at(tensor, where)
    if tangent is not None:  # x + 1 and x have one tangent: a write would change both
        tangent.array = tangent.array.copy()
    return UnpackedDualTensor(primal, tangent)


def _without(tensor: Tensor, level: int) -> Tensor:
    """The tensor without its tangent at a level, and without those of its tangents there."""
    kept = {k: _without(t, level) for k, t in (tensor.tangents or {}).items() if k != level}
    return wrap(tensor.array, tensor.node, kept or None)


def _tangent_at(tensor: Tensor, level: int) -> Tensor | None:
    """The tangent at a level, with its own at inner levels: a mixed derivative stands at the inner
    level's tangent, and the order of the two does not matter."""
    tangents = tensor.tangents or {}
    if level not in tangents:
        return None
    tangent = tangents[level]
    node = current_node(tangent)
    inner = {k: _tangent_at(t, level) for k, t in tangents.items() if k > level}
    mixed = {k: t for k, t in inner.items() if t is not None}
    return wrap(tangent.array, node, {**(tangent.tangents or {}), **mixed} or None)
