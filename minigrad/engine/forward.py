"""Forward mode: push tangents through an operation while it is computed.

A tensor carries a dictionary level -> tangent. Levels are numbered from the outermost derivative inwards, and a rule that computes the
tangent of a level sees only values and tangents of lower (outer) levels. So a derivative nested in another one can never confuse its own
infinitesimal with the outer one ("perturbation confusion").
"""

from __future__ import annotations

from typing import Any

from .. import observe, primitive
from ..observe import observers
from ..primitive import OUTPUT, SHAPES, Primitive, Rule
from ..tensor import Tensor, wrap
from .modes import state


class GivenTangents(dict[int, Tensor]):
    """Tangents of which one, at level `given`, is a tensor of the user's (`make_dual`): in-place
    operations on the dual tensor write into it, as they write into the primal."""

    given = 0


def push_all(prim: Primitive, args: tuple[Any, ...], params: dict[str, Any], out: Tensor) -> dict[int, Tensor] | None:
    """The result's tangents at all open levels at which some input has one; None if there is none."""
    for level in _levels(args):
        run: Any = lambda p, a, q, level=level: _push(p, a, q, out, level)
        tangent = observe.run("tangent", prim, (*args, out, level), params, _unpack(run)) if observers else run(prim, args, params)
        if tangent is not None:
            out.tangents = {**(out.tangents or {}), level: tangent}
    return out.tangents


def _unpack(run: Any) -> Any:
    return lambda p, a, q: run(p, a[:-2], q)


def push_several(
    prim: Primitive, args: tuple[Any, ...], params: dict[str, Any], outs: tuple[Tensor, ...]
) -> list[dict[int, Tensor] | None]:
    """The same for an operation with several results, whose push rules return one tangent (or None) per result."""
    for level in _levels(args):
        run: Any = lambda p, a, q, level=level: _push_several(p, a, q, outs, level)
        totals = observe.run("tangent", prim, (*args, outs, level), params, _unpack(run)) if observers else run(prim, args, params)
        for out, tangent in zip(outs, totals, strict=True):
            if tangent is not None and out.array.dtype.kind in "fcV":
                out.tangents = {**(out.tangents or {}), level: tangent}
    return [out.tangents for out in outs]


def _push_several(prim: Primitive, args: tuple[Any, ...], params: dict[str, Any], outs: tuple[Tensor, ...], level: int) -> list[Any]:
    totals: list[Any] = [None] * len(outs)
    for contribution in contributions(prim, args, params, outs, level):
        if contribution is not None:
            totals = [c if t is None else t if c is None else t + c for t, c in zip(totals, contribution, strict=True)]
    return totals


def _levels(args: tuple[Any, ...]) -> list[int]:
    found: set[int] = set()
    for a in args:
        if type(a) is Tensor and a.tangents:
            found.update(a.tangents)
    return sorted(found.intersection(state.levels))


def contributions(prim: Primitive, args: tuple[Any, ...], params: dict[str, Any], out: Any, level: int) -> list[Any]:
    """What each input's tangent adds to the output's tangent at `level`; None for inputs without a tangent."""
    below = [lowered(a, level) for a in args]
    out_below = tuple(lowered(o, level) for o in out) if isinstance(out, tuple) else lowered(out, level)
    parts = []
    for index, a in enumerate(args):
        tangent = a.tangents.get(level) if type(a) is Tensor and a.tangents else None
        rule = prim.push_rule(index)
        parts.append(
            None
            if tangent is None or rule is None
            else call_rule(rule, tangent, below, out_below, params, index if prim.variadic else None)
        )
    return parts


def _push(prim: Primitive, args: tuple[Any, ...], params: dict[str, Any], out: Tensor, level: int) -> Tensor | None:
    total: Any = None
    for part in contributions(prim, args, params, out, level):
        if part is not None:
            total = part if total is None else total + part
    if total is None:
        return None
    if not isinstance(total, Tensor):
        total = wrap(total)
    if total.array.shape != out.array.shape:
        total = primitive.registry["broadcast_to"](total, shape=tuple(out.array.shape))
    if total.array.dtype != out.array.dtype:
        total = primitive.registry["cast"](total, dtype=out.array.dtype)
    return total  # type: ignore[no-any-return]


def call_rule(rule: Rule, g: Any, inputs: list[Any], out: Any, params: dict[str, Any], index: int | None) -> Any:
    """Call a rule with the values it names, taken from the operation's inputs and output."""
    values = []
    for source in rule.sources:
        if source >= 0:
            values.append(inputs[source])
        elif source == OUTPUT:
            values.append(out)
        else:
            values.append(tuple(inputs[SHAPES - source].shape))
    keywords = {k: params.get(k, index) for k in rule.keywords if k in params or k == "index"}
    return rule.function(g, *values, **keywords)


def lowered(value: Any, level: int) -> Any:
    """A tensor as the levels below `level` see it: without the tangents of `level` and above."""
    if type(value) is not Tensor or not value.tangents:
        return value
    lower = {k: t for k, t in value.tangents.items() if k < level}
    out = wrap(value.array, value.node, lower or None)
    if value.version is not None:
        out.version = value.version
    return out
