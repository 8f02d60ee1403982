"""Derivative rules of the primitives, called with nodes: what the eager engine runs on arrays
becomes more graph.

Around a rule the engine conjugates complex numbers, sums over broadcast axes and casts; so does
this file. A rule that needs an unknown shape is called when the graph runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..core.primitive import OUTPUT, SHAPES, Primitive, Rule, read_source
from ..errors import NotDifferentiableError, ShapeError
from ..functions import sum_to as sum_tensor
from ..ops import elementwise as ew
from ..ops.shape import broadcast_to, sum_to
from .broadcast_like import broadcast_like_op, fitted, sum_to_like_op
from .deferred import Arranged, deferred, nodes_in
from .equality import same_value
from .inference import DTypeFact, ShapeFact, UnknownFact, is_about_dtype
from .node import Node, next_birth


@dataclass(eq=False)
class RuleCall:
    """A derivative rule as a function of tensors: the cotangent (or tangent), then what the rule
    names, then (pull) the input itself.

    It does what the engine does around a rule: the conjugations of complex numbers, the sum over
    broadcast axes, the cast.
    """

    primitive: Primitive
    rule: Rule
    index: int
    params: dict[str, Any]
    is_pull: bool

    def with_nodes(self, g: Any, args: Sequence[Any], result: Any) -> Any:
        """The rule on the graph itself. Raises UnknownFact if it needs a shape that is decided
        by what is fed.
        """
        return self._call(g, [read_source(s, args, result) for s in self.rule.sources])

    def _call(self, g: Any, values: list[Any]) -> Any:
        keywords = self.rule.keyword_arguments(self.params, self.index)
        c = self.rule.upcasting(g, *values, **keywords)
        if c is None:
            raise NotDifferentiableError(
                f"a rule of {self.primitive.name} for input {self.index} returned None; it must"
                " return a value."
            )
        return c

    def operands(self, g: Any, args: Sequence[Any], result: Any) -> list[Any]:
        """The operands (nodes, numbers, tuples of nodes) of `__call__`, in order."""
        named = [
            result if s == OUTPUT else args[s if s >= 0 else SHAPES - s] for s in self.rule.sources
        ]
        return [g, *named, args[self.index]] if self.is_pull else [g, *named]

    def __call__(self, g: Any, *values: Any) -> Any:
        named, rest = list(values[: len(self.rule.sources)]), values[len(self.rule.sources) :]
        for i, source in enumerate(self.rule.sources):
            if source < OUTPUT:
                named[i] = tuple(named[i].shape)
        flip = (
            self.is_pull
            and not self.primitive.conjugates
            and not isinstance(g, tuple)
            and g.dtype.kind == "c"
        )
        c = self._call(ew.conj(g) if flip else g, named)
        if not self.is_pull:
            return c
        c = ew.conj(c) if flip else c
        (operand,) = rest
        if c.shape != operand.shape:
            c = sum_tensor(c, operand.shape)
        return c if c.dtype == operand.dtype else ew.cast(c, dtype=operand.dtype)

    def _fields(self) -> tuple[Any, ...]:
        return self.primitive, self.rule, self.index, self.is_pull

    def __eq__(self, other: object) -> bool:
        return (
            type(other) is RuleCall
            and self._fields() == other._fields()
            and same_value(self.params, other.params)
        )

    def __hash__(self) -> int:
        return hash((self.primitive.name, self.index, self.is_pull))


def pulled(
    primitive: Primitive,
    rule: Rule,
    index: int,
    node: Node,
    operand: Node,
    g: Any,
    args: Sequence[Any],
    result: Any,
) -> Node:
    """One input's contribution: the rule on nodes, or (where it needs an unknown shape) a node
    that calls it later.
    """
    call = RuleCall(primitive, rule, index, node.params, is_pull=True)
    flip = not isinstance(g, tuple) and not primitive.conjugates and node.dtype.kind == "c"
    start = next_birth()
    try:
        c = call.with_nodes(ew.conj(g) if flip else g, args, result)
        if flip:
            c = ew.conj(c)
    except (UnknownFact, TypeError) as error:
        if not (isinstance(error, UnknownFact) or is_about_dtype(error)):
            raise
        # each is the other's transpose, whatever the shapes
        if primitive is sum_to or primitive is broadcast_to:
            return (broadcast_like_op if primitive is sum_to else sum_to_like_op)(g, operand)
        return _deferred_rule(call, g, args, result, operand.shape_fact, operand.dtype_fact)
    if not primitive.elementwise:
        if type(c.shape_fact) is not tuple and c.born > start:  # contract of a rule
            c.shape_fact = operand.shape_fact
        if (
            type(c.shape_fact) is tuple
            and type(operand.shape_fact) is tuple
            and c.shape != operand.shape
        ):
            raise ShapeError(
                f"the pull rule of {primitive.name} returned a contribution of shape {c.shape} for"
                f" input {index}, whose shape is {operand.shape}; they must be equal."
            )
    return fitted(c, operand)


def pushed(call: RuleCall, t: Any, args: Sequence[Any], result: Any) -> Any:
    """A push rule on nodes, or a node (one for each result) that calls it later."""
    try:
        return call.with_nodes(t, args, result)
    except (UnknownFact, TypeError) as error:
        if not (isinstance(error, UnknownFact) or is_about_dtype(error)):
            raise
    if isinstance(result, tuple):
        return tuple(
            _deferred_rule(ResultOf(call, i), t, args, result, r.shape_fact, r.dtype_fact)
            for i, r in enumerate(result)
        )
    return _deferred_rule(call, t, args, result, result.shape_fact, result.dtype_fact)


class ResultOf:
    """One of the results of a rule for an operation with several; zeros in the place of None."""

    def __init__(self, call: RuleCall, index: int) -> None:
        self.call, self.index, self.primitive, self.rule = call, index, call.primitive, call.rule

    def operands(self, g: Any, args: Sequence[Any], result: Any) -> list[Any]:
        """Those of the rule, and the result itself, in whose shape zeros are made."""
        return [*self.call.operands(g, args, result), result[self.index]]

    def __call__(self, g: Any, *values: Any) -> Any:
        part = self.call(g, *values[:-1])[self.index]
        return ew.zeros_like(values[-1]) if part is None else part

    def __eq__(self, other: object) -> bool:
        return type(other) is ResultOf and (self.call, self.index) == (other.call, other.index)

    def __hash__(self) -> int:
        return hash((self.call, self.index))


def _deferred_rule(
    call: Any, g: Any, args: Sequence[Any], result: Any, shape: ShapeFact, dtype: DTypeFact
) -> Node:
    operands = call.operands(g, args, result)
    nodes = nodes_in(operands)
    seen = nodes_in(
        [
            g,
            [
                o
                for o, source in zip(operands[1:], call.rule.sources, strict=False)
                if source >= OUTPUT
            ],
        ]
    )
    blind = frozenset(i for i, n in enumerate(nodes) if all(n is not other for other in seen))
    kind = "pull" if getattr(call, "is_pull", False) else "push"
    made = deferred(
        Arranged(call, operands), f"{kind} of {call.primitive.name}", *nodes, blind=blind
    )
    made.shape_fact, made.dtype_fact = shape, dtype
    return made
