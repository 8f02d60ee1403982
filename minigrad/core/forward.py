"""Forward mode: push tangents through an operation while it is computed.

A tensor carries a dictionary level -> tangent. Levels are numbered from the outermost derivative
inwards, and a rule that computes the tangent of a level sees only values and tangents of lower
(outer) levels. So a derivative nested in another one can never confuse its own infinitesimal with
the outer one ("perturbation confusion").
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from typing import Any

from ..backend import IMMUTABLE, is_differentiable
from . import observe, primitive
from .graph import state
from .primitive import Args, Params, Primitive, named_value
from .tensor import Tensor, memory_version, wrap

_level_numbers = count(1)


@contextmanager
def forward_level() -> Iterator[int]:
    """Open a new, innermost level of forward mode. Its number is larger than those of all levels
    that are open already."""
    level = next(_level_numbers)
    outer = state.levels
    state.levels = (*outer, level)
    try:
        yield level
    finally:
        state.levels = outer


def push(prim: Primitive, args: Args, params: Params, outs: tuple[Tensor, ...]) -> None:
    """Give the results their tangents at all open levels at which some input has one. A node that
    was recorded keeps the tangents of the values that it saved: a later backward pass may push
    through them."""
    single = prim.outputs == 1
    shown = outs[0] if single else outs
    levels = {level for a in args if type(a) is Tensor for level in a.tangents or ()}
    for level in sorted(levels.intersection(state.levels)):  # results get outer tangents first
        run: Any = lambda *_, k=level: _push(prim, args, params, shown, k)
        if observe.observers:
            tangents = observe.run_observed("tangent", prim, (*args, shown, level), params, run)
        else:
            tangents = run()
        for out, tangent in zip(outs, (tangents,) if single else tangents, strict=True):
            if tangent is not None and is_differentiable(out.array.dtype):
                out.tangents = {**(out.tangents or {}), level: tangent}
    nodes = [out.node for out in outs if out.node is not None]
    if nodes:
        node = nodes[0] if single else nodes[0].parents[0]
        of_args = [a.tangents if type(a) is Tensor else None for a in args]
        of_outs = tuple([o.tangents for o in outs])
        node.tangents = (*of_args, of_outs[0] if single else of_outs)  # type: ignore[union-attr]


def _push(prim: Primitive, args: Args, params: Params, out: Any, level: int) -> Any:
    """The sum of what the inputs' tangents at a level contribute: a tangent or None, or of several
    results a list of them."""
    parts = [p for p in contributions(prim, args, params, out, level) if p is not None]
    if prim.outputs == 1:
        return _fitted(_total(parts), out)
    each = zip(*parts, strict=True) if parts else [()] * prim.outputs
    return [_total([p for p in of_one if p is not None]) for of_one in each]


def contributions(prim: Primitive, args: Args, params: Params, out: Any, level: int) -> list[Any]:
    """What each input's tangent adds to the output's tangent at `level`; None for inputs without a
    tangent. `out`: the result, or the tuple of several."""
    below, several = [lowered(a, level) for a in args], isinstance(out, tuple)
    out_below = tuple([lowered(o, level) for o in out]) if several else lowered(out, level)
    parts: list[Any] = [None] * len(args)
    for index, a in enumerate(args):
        tangent = a.tangents.get(level) if type(a) is Tensor and a.tangents else None
        rule = None if tangent is None else prim.push_rule(index)
        if rule is not None:
            read = [named_value(source, below, out_below) for source in rule.sources]
            parts[index] = rule.function(tangent, *read, **rule.named(params, index))
    return parts


def _total(parts: Sequence[Any]) -> Any:
    return sum(parts[1:], parts[0]) if parts else None


def _fitted(tangent: Any, out: Tensor) -> Tensor | None:
    """A tangent as a tensor of the shape and dtype of its value."""
    if tangent is None:
        return None
    if not isinstance(tangent, Tensor):
        tangent = wrap(tangent)
    if tangent.array.shape != out.array.shape:
        tangent = primitive.registry["broadcast_to"](tangent, shape=tuple(out.array.shape))
    if tangent.array.dtype != out.array.dtype:
        tangent = primitive.registry["cast"](tangent, dtype=out.array.dtype)
    return tangent  # type: ignore[no-any-return]


def lowered(value: Any, level: int) -> Any:
    """A tensor without its tangents of `level` and of the levels inside it."""
    if type(value) is not Tensor or not value.tangents:
        return value
    lower = {k: t for k, t in value.tangents.items() if k < level}
    out = wrap(value.array, value.node, lower or None)
    if type(value.array) not in IMMUTABLE:  # what is kept for a backward pass may be overwritten
        out.version = memory_version(value)
    return out
