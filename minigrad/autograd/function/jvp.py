"""A Function in forward mode: the user's `jvp`, once for each open level, from the outermost
inwards.

A jvp for one level sees only values and tangents of the levels around it, so nested derivatives
cannot be confused with one another.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ...backend import is_complex, is_differentiable, zeros
from ...core import observe, primitive
from ...core.forward import with_outer_tangents
from ...core.graph import state
from ...core.tensor import Tensor, wrap
from ...errors import AutogradError, DTypeError, InPlaceError, ShapeError
from .context import FunctionCtx, contains

if TYPE_CHECKING:
    from .function import Function

Tangents = dict[int, Tensor] | None


def push_through(
    cls: type[Function],
    ctx: FunctionCtx,
    args: Sequence[Any],
    tangents: Sequence[Tangents],
    outs: Sequence[Any],
    same: Any,
    levels: list[int],
) -> None:
    """The user's jvp, once per open level, from the outermost inwards."""
    if not any(may_have_history(ctx, r) for r, _ in same):
        return
    rule = cls._forward_rule()
    if any(t.view_of is not None for t in ctx._dirty):
        raise InPlaceError(
            f"{cls.__name__}: in forward mode, a Function cannot modify a view in place. Give it a"
            " .clone()."
        )
    for level in levels:
        given = [_tangent(a, t, level, ctx) for a, t in zip(args, tangents, strict=True)]
        push: Callable[..., Any] = lambda given=given, level=level: _pushed(
            rule, ctx, given, outs, level
        )
        pushed = (
            observe.run_observed(
                "tangent",
                cls._declaration,
                (*args, tuple(outs) if len(outs) > 1 else outs[0], level),
                {},
                push,
            )
            if observe.observers
            else push()
        )
        for (result, out), tangent in zip(
            same,
            (p for p, o in zip(pushed, outs, strict=True) if isinstance(o, Tensor)),
            strict=True,
        ):
            if tangent is not None and may_have_history(ctx, result):
                out.tangents = {**(out.tangents or {}), level: tangent}


def _tangent(argument: Any, tangents: Tangents, level: int, ctx: FunctionCtx) -> Tensor | None:
    if not isinstance(argument, Tensor):
        return None
    found = tangents.get(level) if tangents else None
    if found is None and ctx._materialize and is_differentiable(argument.dtype):
        return wrap(zeros(argument.shape, argument.dtype, argument.array))
    return found


def _pushed(
    rule: Callable[..., Any],
    ctx: FunctionCtx,
    given: Sequence[Any],
    outs: Sequence[Any],
    level: int,
) -> tuple[Tensor | None, ...]:
    outer = state.levels
    state.levels = tuple(k for k in outer if k < level)
    ctx._pushing = True
    try:
        pushed = rule(ctx, *given)
        answers = pushed if isinstance(pushed, tuple) else (pushed,)
        if len(answers) != len(outs):
            raise AutogradError(
                f"{ctx._name}.jvp returned {len(answers)} tangents for {len(outs)} outputs; return"
                " one (or None) for each."
            )
        return tuple(
            None if t is None else _checked_tangent(ctx._name, i, t, o, level)
            for i, (t, o) in enumerate(zip(answers, outs, strict=True))
        )
    finally:
        state.levels, ctx._pushing = outer, False


def _checked_tangent(name: str, index: int, tangent: Any, out: Any, level: int) -> Tensor | None:
    if not isinstance(out, Tensor):
        return None
    if not isinstance(tangent, Tensor):
        raise TypeError(
            f"{name}.jvp returned {type(tangent).__name__} as tangent {index}; return a Tensor or"
            " None."
        )
    if tangent.shape != out.shape:
        raise ShapeError(
            f"{name}.jvp returned a tangent of shape {tangent.shape} for output {index} of shape"
            f" {out.shape}; they must be equal."
        )
    if tangent.dtype != out.dtype:
        if is_complex(tangent.dtype) and not is_complex(out.dtype):
            raise DTypeError(
                f"{name}.jvp returned a {tangent.dtype} tangent for output {index} of dtype"
                f" {out.dtype}; the tangent of a real tensor is real."
            )
        tangent = primitive.registry["cast"](tangent, dtype=out.dtype)
    found: Tensor | None = with_outer_tangents(tangent, level)
    return found


def may_have_history(ctx: FunctionCtx, result: Tensor) -> bool:
    return is_differentiable(result.dtype) and not contains(ctx._constant, result)
