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
from .derivatives import is_complex, is_factor, values_in
from .trace_writer import TraceWriter
from .values import array_of, changed_places, payload_value, pictured, with_places

if TYPE_CHECKING:
    from .trace_recorder import OperationCall

_PLAIN = Tensor, float, int


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
        (slot, a.tangents[level], str(call.operands[slot]))
        for slot, a in enumerate(call.args)
        if isinstance(a, Tensor) and a.tangents and level in a.tangents
    ]
    tangents = [[s, "d"] for s in dict.fromkeys([source for *_, source in sources])]
    reads = [[name, "v"], *tangents]
    into = trace.into[name]
    shown = payload_value(tangent.array)
    if not isinstance(call.primitive, Primitive):  # a user's Function has one rule for all inputs
        edges = [into[slot]["id"] for slot, *_ in sources]
        words = sentences.pushed_together(name, [source for *_, source in sources], shown)
        trace.step("tangent", name, edges, reads, [[name, "d", shown]], *words)
        return
    with unobserved(), backend.ignore_float_errors():
        parts = call.pushed or _pushed(call, result, level)
        locals_ = _local_tangents(call, out, level) if index is None else [None] * len(parts)
    contribs, terms = [], []
    alike = call.primitive.elementwise and _alike(call.args, out)
    for slot, upstream, source in sources:
        part = _share(parts[slot], index, out)
        if part is None:
            continue
        local = locals_[slot]
        given = payload_value(upstream.array)
        entry = {
            "edge": into[slot]["id"],
            "upstream": given,
            "product": payload_value(part.array),
        }
        if local is not None:
            local = entry["local"] = payload_value(local)
            if alike:
                trace.slopes[name, slot] = local
        contribs.append(entry)
        rule = trace.rules.pushed(name, slot, source) if index is None else None
        terms.append((source, local, rule, given, trace.which(name, slot)))
    rules = [rule for _, _, rule, *_ in terms]
    if None not in rules:  # the values that the rules name
        reads = [[s, "v"] for s in values_in([t for rule in rules for t in rule or []])] + tangents
    edges = [c["edge"] for c in contribs]
    places = changed_places(tangent.array)
    making = trace.making_of(name, not is_complex(out)) if index is None else None
    words = sentences.pushed(name, terms, with_places(shown, tangent.array, places), making)
    writes = [[name, "d", pictured(shown, tangent.array)]]
    trace.step("tangent", name, edges, reads, writes, *words, contribs=contribs)
    if "terms" in trace.by_id[name]:
        arrays = {source: upstream.array for _, upstream, source in sources}
        trace.hold(name, "d", {name: tangent.array, **arrays})


@no_grad()
def _pushed(call: OperationCall, result: Any, level: int) -> list[Any]:
    """What each operand contributes to the tangent of a result, where that was not observed."""
    return forward.contributions(call.primitive, call.args, call.params, result, level)


def _alike(args: Any, out: Tensor) -> bool:
    """Whether all operands have the result's shape and dtype, float32 or float64."""
    shape, dtype = out.shape, out.dtype
    arrays = [a.array for a in args if isinstance(a, Tensor)]
    return dtype in backend.SINGLE_OR_DOUBLE and all(
        [array.shape == shape and array.dtype == dtype for array in arrays]
    )


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
    found: list[Any] = [None] * len(call.args)
    if not call.primitive.elementwise and any(
        [out.shape, *[a.shape for a in call.args if isinstance(a, Tensor)]]
    ):
        return found
    # the rule of an elementwise operation serves both modes, so that it takes arrays
    on_arrays = call.primitive.elementwise and all([isinstance(a, _PLAIN) for a in call.args])
    plain: Any = array_of if on_arrays else _without_history
    for index, a in enumerate(call.args):
        carried = isinstance(a, Tensor) and a.tangents is not None and level in a.tangents
        rule = call.primitive.push_rule(index) if carried else None
        if rule is not None and is_factor(call.primitive, a, out):
            one = backend.ones(a.shape, a.dtype, a.array)
            one = one if on_arrays else wrap(one)
            sources = rule.sources
            read = [plain(primitive.read_source(source, call.args, out)) for source in sources]
            keywords = rule.keyword_arguments(call.params, index)
            function = rule.function if a.dtype in backend.SINGLE_OR_DOUBLE else rule.upcasting
            found[index] = array_of(function(one, *read, **keywords))
    return found


def _without_history(value: Any) -> Any:
    return wrap(value.array) if isinstance(value, Tensor) else value
