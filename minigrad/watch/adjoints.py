"""The reverse pass as steps: each contribution ∂y/∂x · ȳ that an operation sends to an operand, and
the sum of them, the operand's adjoint.

The contributions are those that the engine computed. Only the local derivative ∂y/∂x, which it
never needs by itself, is obtained by applying the operation's own rule once more to g = 1. At the
end the adjoints in the Trace are compared with those that the engine gives the leaves.
"""

from __future__ import annotations

from typing import Any

from .. import backend
from ..core import primitive
from ..core.backward import pull_operation
from ..core.graph import Node, OpNode
from ..core.observe import Event, unobserved
from ..core.tensor import Tensor
from ..errors import AutogradError
from . import sentences
from .derivatives import is_complex, is_factor
from .trace_writer import TraceWriter
from .values import (
    array_of,
    changed_places,
    payload_value,
    pictured,
    same_numbers,
    with_places,
)


class Adjoints:
    """The adjoints of one Trace. birth: the sequence number from which nodes are the traced
    function's own."""

    def __init__(self, trace: TraceWriter, birth: int) -> None:
        self._trace, self._birth = trace, birth
        self._values: dict[str, Any] = {}
        self._shown: dict[str, Any] = {}  # the same as values of the Trace

    def seed(self, seed: Any) -> None:
        """The output's own adjoint, where reverse mode begins."""
        trace = self._trace
        name = trace.outputs[0]
        shown = self._receive(name, seed)
        trace.seeds["adjoints"] = {name: shown}
        words = sentences.seeded(name, "bar", shown)
        trace.step("seed", name, [], [], [[name, "g", shown]], *words)

    def _receive(self, name: str, g: Any) -> Any:
        """From now on this is the adjoint of a node; it as a value of the Trace."""
        self._values[name] = g
        self._shown[name] = shown = payload_value(g)
        return shown

    def backward(self, event: Event) -> None:
        trace = self._trace
        node, g = event.node, event.args[0]
        several = trace.results_of.get(node)
        if several is None:
            name = trace.by_node.get(node)
            inside = trace.within.get(node)
            if inside is not None:
                name, g = inside, self._values[inside]
            if name is None and node.sequence_number > self._birth:
                raise AutogradError(
                    f"trace: the reverse pass met {node!r}, which was made by the traced function"
                    " in a way that is hidden from the Trace."
                )
            if name is None or trace.by_id[name]["kind"] == "param":
                self._outside(event.result)
                return
            upstream = [(name, array_of(g))]
        else:
            upstream = [
                (several[i], array_of(part))
                for i, part in enumerate(g)
                if part is not None and i in several
            ]
        for name, part in upstream:
            self._check(name, part)
        # the first axis of a pooling sends what all of them do
        pairs = zip(_slots(node, event.result), event.result, strict=True)
        known = [(slot, part) for slot, part in pairs if part[0] not in trace.within]
        if not known:
            return
        slots, sent = [slot for slot, _ in known], [part for _, part in known]
        locals_ = [trace.slopes.get((upstream[0][0], slot)) for slot in slots]
        shares = [[array_of(c)] for _, c in sent]
        if None in locals_ or len(upstream) > 1:
            with trace.saved.restored(node):
                if None in locals_ and several is None and isinstance(node, OpNode):
                    locals_ = _local_adjoints(node, upstream[0][1], sent)
                if len(upstream) > 1:
                    shares = _separated(node, g, sent)
        for slot, (parent, c), local, share in zip(slots, sent, locals_, shares, strict=True):
            target = trace.by_node.get(parent)
            if target is None:
                raise AutogradError(
                    f"trace: {node!r} sends a contribution to {parent!r}, which is hidden from the"
                    " Trace."
                )
            self._contribution(target, slot, upstream, share, array_of(c), local)
            used = _used(node, slot, upstream[0][0], trace.into[upstream[0][0]])
            if used is not None:
                step = trace.steps[-1]
                step["uses"] = used
                step["reads"] += [[one, "v"] for one in used]
        trace.saved.release(node, [name for name, _ in upstream])

    def _contribution(
        self,
        target: str,
        slot: int,
        upstream: list[tuple[str, Any]],
        share: list[Any],
        c: Any,
        local: Any,
    ) -> None:
        """One step: what an operation sends back to one of its operands (through each of its
        results that has an adjoint).
        """
        trace = self._trace
        sender, g0 = upstream[0]
        into, alone = trace.into[sender], len(upstream) == 1
        before, earlier = self._values.get(target), self._shown.get(target)
        after = c if before is None else before + c
        shown = self._receive(target, after)
        sent = shown if before is None else payload_value(c)
        senders = [(name, self._shown[name]) for name, _ in upstream]
        edges = [trace.into[name][slot]["id"] for name, _ in upstream]
        contribs = []
        for edge, (_, g), product in zip(edges, senders, share, strict=False):
            part = sent if product is c else payload_value(product)
            entry = {"edge": edge, "upstream": g, "product": part, "after": shown}
            if local is not None:
                entry["local"] = local
            if before is not None:
                entry["before"] = earlier
            contribs.append(entry)
        summed = (g0.shape, c.shape) if alone and "broadcast" in into[slot] else None
        rule = trace.rules.pulled(sender, slot) if alone else None
        which = trace.which(sender, slot)
        conjugate = complex_ if (complex_ := is_complex(c)) == is_complex(g0) else None
        part, old, new = sent, earlier, shown
        if places := changed_places(c, before):
            part, old, new = (
                with_places(one, array, places)
                for one, array in ((sent, c), (earlier, before), (shown, after))
            )
        making = trace.making_of(sender, conjugate is False) if alone else None
        formula, say = sentences.pulled(
            senders, target, local, part, old, new, summed, rule, conjugate, which, making
        )
        reads = [[name, "g"] for name, _ in upstream]
        if before is not None:
            reads.append([target, "g"])
        if local is None and rule and making and making.pointwise:
            contribs[0]["pointwise"] = True
        more = {"contribs": contribs} if contribs else {}
        trace.step(
            "adjoint" if before is None else "accumulate",
            target,
            edges,
            reads,
            [[target, "g", pictured(shown, after)]],
            formula,
            say,
            **more,
        )
        if "terms" in trace.by_id[sender]:
            trace.hold(sender, "g", {**dict(upstream), target: after}, targets=[slot])

    def _check(self, name: str, g: Any) -> None:
        """The adjoint that the engine uses is the one that stands in the Trace, unless a hook
        replaced it.
        """
        trace = self._trace
        if not same_numbers(self._values.get(name), g):
            reads = [[name, "g"]] if name in self._values else []
            shown = self._receive(name, g)
            words = sentences.replaced(name, shown)
            trace.step("update", name, [], reads, [[name, "g", shown]], *words)

    def _outside(self, parts: list[tuple[Node, Any]]) -> None:
        """Contributions along what was computed before the traced function ran: only what
        reaches a node of the Trace is noted.
        """
        trace = self._trace
        for parent, c in parts:
            target = trace.by_node.get(parent)
            if target is not None:
                before = self._values.get(target)
                after = array_of(c) if before is None else before + array_of(c)
                shown = self._receive(target, after)
                reads = [[target, "g"]] if before is not None else []
                words = sentences.from_outside(target, payload_value(array_of(c)), shown)
                trace.step("update", target, [], reads, [[target, "g", shown]], *words)

    def of(self, name: str) -> Any:
        """The adjoint of a node as it is now; None where it has received none."""
        return self._values.get(name)

    def compare(self, final: dict[Node, Tensor]) -> None:
        """The engine's final adjoints of the leaves against those in the Trace."""
        trace = self._trace
        for leaf, g in final.items():
            name = trace.by_node.get(leaf)
            if name is not None:
                self._check(name, g.array)


# ------------------------------------------------------------------------------------------ helpers


def _used(node: Node, slot: int, name: str, into: dict[int, dict[str, Any]]) -> list[str] | None:
    """The kept values that the rule for one operand reads; None where the operation is a user's
    Function, whose rule is one for all.
    """
    if not isinstance(node, OpNode) or node.primitive.outputs != 1:
        return None
    found: dict[str, None] = {}
    for index, _, where in node.plan.rule_calls:
        for source in [node.plan.sources[k] for k in where] if index == slot else ():
            if source in into:
                found[into[source]["src"]] = None
            elif source == primitive.OUTPUT:
                found[name] = None
    return [*found]


def _slots(node: Node, parts: list[tuple[Node, Any]]) -> list[int]:
    """The operand position of each contribution; they come in the order of the operands, some of
    which have none.
    """
    positions: Any = range(len(node.parents))
    if isinstance(node, OpNode):
        positions = [index for index, _, _ in node.plan.rule_calls]
    slots: list[int] = []
    for position in positions:
        if len(slots) < len(parts) and node.parents[position] is parts[len(slots)][0]:
            slots.append(position)
    return slots


def _local_adjoints(node: OpNode, g: Any, parts: list[tuple[Node, Any]]) -> list[Any]:
    """∂y/∂x for each contribution where it is one number or one number an element (of complex
    numbers its conjugate): the operation's own rule with g = 1.
    """
    single = node.shape == () and all(p is None or p.shape == () for p in node.parents)
    if not single and not (node.primitive.elementwise and node.unbroadcast is None):
        return [None] * len(parts)
    ones = backend.ones(g.shape, g.dtype, g)
    with unobserved():
        pulled = pull_operation(node, ones, {parent for parent, _ in parts}, False)
    return [
        payload_value(array_of(c)) if is_factor(node.primitive, g, c) else None for _, c in pulled
    ]


def _separated(node: Node, g: Any, parts: list[tuple[Node, Any]]) -> list[list[Any]]:
    """For an operation with several results, what each of them sends to each operand: the rule
    is linear in the cotangents.
    """
    if not isinstance(node, OpNode):  # a user's Function is not called twice
        return [[] for _ in parts]
    needed = {parent for parent, _ in parts}
    alone = [
        [array_of(part) if i == k else None for i in range(len(g))]
        for k, part in enumerate(g)
        if part is not None
    ]
    with unobserved():
        columns = [
            [array_of(c) for _, c in pull_operation(node, cotangents, needed, False)]
            for cotangents in alone
        ]
    return [list(row) for row in zip(*columns, strict=True)]
