"""Forward mode as steps: the tangent of a result, the sum of ∂y/∂x · ẋ over its operands."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .. import backend
from ..core import forward, primitive
from ..core.observe import unobserved
from ..core.primitive import Primitive
from ..core.tensor import Tensor, wrap
from ..grad_mode import no_grad
from . import sentences
from .derivatives import is_factor, values_in
from .trace_writer import TraceWriter
from .values import array_of, payload_value, pictured

if TYPE_CHECKING:
    from .trace_recorder import OperationCall


def tangent_step(
    trace: TraceWriter, call: OperationCall, result: Any, out: Tensor, index: int | None, level: int
) -> None:
    """The step for the tangent of a result; index: its position among several results."""
    assert out.tangents is not None
    name = trace.found(out)
    assert name is not None
    tangent = out.tangents[level]
    # The recorder's tangents are never differentiated. Their history would tie an operation
    # that keeps its result (exp) to itself, in a cycle that only the cycle collector frees, at
    # an arbitrary time: what is dropped must be freed at once, in every run.
    out.tangents[level] = wrap(tangent.array, None, tangent.tangents)
    sources = [
        (slot, a, a.tangents[level], call.operands[slot])
        for slot, a in enumerate(call.args)
        if isinstance(a, Tensor) and a.tangents and level in a.tangents
    ]
    tangents = [[s, "d"] for s in dict.fromkeys(str(source) for _, _, _, source in sources)]
    reads = [[name, "v"], *tangents]
    shown = payload_value(tangent.array)
    if not isinstance(call.primitive, Primitive):  # a user's Function has one rule for all inputs
        edges = [trace.into[name][slot]["id"] for slot, *_ in sources]
        names = [str(source) for *_, source in sources]
        words = sentences.pushed_together(name, names, shown)
        trace.step("tangent", name, edges, reads, [[name, "d", shown]], *words)
        return
    with unobserved(), no_grad():
        parts = call.pushed or forward.contributions(
            call.primitive, call.args, call.params, result, level
        )
        locals_ = _local_tangents(call, out, level) if index is None else [None] * len(parts)
    contribs, terms = [], []
    for slot, _, upstream, source in sources:
        part = _share(parts[slot], index, out)
        if part is None:
            continue
        local = locals_[slot]
        given = payload_value(upstream.array)
        entry = {
            "edge": trace.into[name][slot]["id"],
            "upstream": given,
            "product": payload_value(part.array),
        }
        if local is not None:
            local = entry["local"] = payload_value(local)
        contribs.append(entry)
        rule = trace.rules.pushed(name, slot, str(source)) if index is None else None
        terms.append((str(source), local, rule, given))
    rules = [rule for _, _, rule, _ in terms]
    if None not in rules:  # the values that the rules name
        reads = [[s, "v"] for s in values_in([t for rule in rules for t in rule or []])] + tangents
    edges = [c["edge"] for c in contribs]
    words = sentences.pushed(name, terms, shown)
    writes = [[name, "d", pictured(shown, tangent.array)]]
    trace.step("tangent", name, edges, reads, writes, *words, contribs=contribs)
    arrays = {str(source): upstream.array for _, _, upstream, source in sources}
    trace.hold(name, "d", {name: tangent.array, **arrays})


def _share(part: Any, index: int | None, out: Tensor) -> Any:
    """What one operand gives to the tangent of a result, in that one's shape; None for nothing."""
    part = part if index is None or part is None else part[index]
    if part is None or tuple(part.shape) == out.shape:
        return part
    with unobserved():  # one tangent for many elements
        return primitive.registry["broadcast_to"](part, shape=out.shape)


def _local_tangents(call: OperationCall, out: Tensor, level: int) -> list[Any]:
    """∂y/∂x for each operand with a tangent, where it is one number or one number an element:
    the operation's own rule with ẋ = 1.
    """
    shapes = [a.shape for a in call.args if isinstance(a, Tensor)]
    if not (call.primitive.elementwise or (out.shape == () and not any(shapes))):
        return [None] * len(call.args)
    unit = []
    for a in call.args:
        if isinstance(a, Tensor):
            carried = a.tangents is not None and level in a.tangents
            a = wrap(
                a.array,
                None,
                {level: wrap(backend.ones(a.shape, a.dtype, a.array))} if carried else None,
            )
        unit.append(a)
    parts = forward.contributions(call.primitive, tuple(unit), call.params, wrap(out.array), level)
    return [
        array_of(part) if part is not None and is_factor(call.primitive, a, out) else None
        for part, a in zip(parts, call.args, strict=True)
    ]
