"""Forward mode: push tangents through an operation while it is computed.

A tensor has a dictionary of tangents by level. Levels are numbered from the outermost derivative
inwards, and a rule that computes the tangent of level k gets operands without their tangents of
level k and above. Hence **a tangent of level k has only tangents of outer levels, numbered below
k**, and an inner derivative can never confuse its own infinitesimal with that of an outer one
("perturbation confusion").

Example: d/dx (x · d/dy (x + y)) opens level 1 for x and level 2 for y. x + y has tangent 1 at level
1 and tangent 1 at level 2. The inner derivative returns the tangent of level 2, a constant 1; the
product x · 1 has at level 1 the tangent 1, not 2.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import count
from typing import Any
from weakref import WeakSet

from ..backend import is_differentiable, is_immutable
from . import observe, primitive
from .graph import Pick, state
from .primitive import Args, Params, Primitive, is_value, read_source
from .tensor import Tensor, as_tensor, ensure_version, wrap

_level_numbers = count(1)
nodes_with_tangents: dict[int, WeakSet[Any]] = {}
"""The nodes with saved tangents, by the outermost of their operands' levels: its end frees them."""


@contextmanager
def forward_level() -> Iterator[int]:
    """Open a new, innermost level. At its end nodes free its tangents; tensors keep them unread."""
    level = next(_level_numbers)
    nodes_with_tangents[level] = WeakSet()
    state.levels = (*state.levels, level)
    try:
        yield level
    finally:
        state.levels = tuple([number for number in state.levels if number != level])
        for node in nodes_with_tangents.pop(level):
            node.saved_tangents = None


def push_tangents(prim: Primitive, args: Args, params: Params, outs: tuple[Tensor, ...]) -> None:
    """Compute the results' tangents at all open levels at which some input has one. Outer levels
    are computed first: the rule of an inner level may read a result with its outer tangents."""
    result: Any = outs[0] if prim.outputs == 1 else outs
    known = {level for a in args if type(a) is Tensor for level in a.tangents or ()}
    levels = sorted(known.intersection(state.levels))
    for level in levels:
        action = partial(_tangent_at, level, prim, args, params, result)
        if observe.observers:
            shown = (*args, result, level)
            action = partial(observe.run_observed, "tangent", prim, shown, params, action)
        made = action()[0]
        for out, tangent in zip(outs, (made,) if prim.outputs == 1 else made, strict=True):
            if tangent is not None and is_differentiable(out.array.dtype):
                out.tangents = {**(out.tangents or {}), level: tangent}
    node = next((out.node for out in outs if out.node is not None), None)
    if node is not None and levels:
        _keep_tangents(node.operation if isinstance(node, Pick) else node, args, result, levels[0])


def _keep_tangents(node: Any, args: Args, result: Any, level: int) -> None:
    """Keep the tangents of the values that a node has saved. A backward pass whose rules read these
    values then computes the tangents of the gradient: forward mode over reverse mode."""
    kept = [read_source(s, args, result) if is_value(s) else None for s in node.plan.sources]
    tangents = tuple(map(_tangents_of, kept))
    if any(tangents):
        node.saved_tangents = tangents
        nodes_with_tangents[level].add(node)


def _tangents_of(value: Any) -> Any:
    """A value's tangents by level, or None; for the tuple of several results, a tuple of these."""
    if isinstance(value, tuple):
        found = tuple(map(_tangents_of, value))
        return found if any(found) else None
    return value.tangents if type(value) is Tensor else None


def _tangent_at(level: int, prim: Primitive, args: Args, params: Params, result: Any) -> Any:
    """The result's tangent at a level (of several results a list), and the contributions to it."""
    parts = contributions(prim, args, params, result, level)
    if prim.outputs == 1:
        return _sum_of(parts, result), parts
    each = zip(*filter(None, parts), strict=True) if any(parts) else [()] * prim.outputs
    return [_sum_of(terms, out) for terms, out in zip(each, result, strict=True)], parts


def contributions(prim: Primitive, args: Args, params: Params, out: Any, level: int) -> list[Any]:
    """What each input's tangent at `level` contributes to that of the result `out`, or None."""
    parts: list[Any] = [None] * len(args)
    for index, a in enumerate(args):
        tangent = a.tangents.get(level) if type(a) is Tensor and a.tangents else None
        rule = None if tangent is None else prim.push_rule(index)
        if rule is not None:
            read = tuple([read_source(source, args, out) for source in rule.sources])
            read = with_outer_tangents(read, level)
            parts[index] = rule.upcasting(tangent, *read, **rule.keyword_arguments(params, index))
    return parts


def _sum_of(terms: Iterable[Any], out: Tensor) -> Tensor | None:
    """The sum of contributions, in the shape and dtype of `out`; None if there are none."""
    present = [term for term in terms if term is not None]
    if not present:
        return None
    tangent = as_tensor(sum(present[1:], present[0]))
    if tangent.array.shape != out.array.shape:
        tangent = primitive.registry["broadcast_to"](tangent, shape=tuple(out.array.shape))
    if tangent.array.dtype != out.array.dtype:
        tangent = primitive.registry["cast"](tangent, dtype=out.array.dtype)
    return tangent


def with_outer_tangents(value: Any, level: int) -> Any:
    """A tensor, or several, with only those tangents that belong to levels outside of `level`."""
    if isinstance(value, tuple):
        return tuple([with_outer_tangents(part, level) for part in value])
    if type(value) is not Tensor or not value.tangents:
        return value
    lower = {k: t for k, t in value.tangents.items() if k < level}
    out = wrap(value.array, value.node, lower or None)
    if not is_immutable(value.array):  # so that a pass notices if saved values are overwritten
        out.version = ensure_version(value)
    return out
