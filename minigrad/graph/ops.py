"""The operations of a graph: every primitive, and the few that only the document has.

- `PrimitiveOp`: a primitive; its gradient is the primitive's own pull rules (rules.py). `recorded`
is what the engine's seam calls.
- `PickOp`: one result of an operation with several. `DetachOp`: a value through which no derivative
passes.
- `MatMulOp`: the document's product of matrices with `trans_A` and `trans_B`, and its names for the
others (`add_op` …).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import backend
from ..core.primitive import Primitive
from ..core.tensor import Tensor, alias, as_tensor
from ..errors import ShapeError
from ..ops import elementwise as ew
from ..ops import linalg as la
from .broadcast_like import fitted
from .deferred import WithParams, deferred, holds_node, nodes_in
from .inference import DTypeFact, ShapeFact, facts_of_call, inferred, unknown_dtype
from .node import Node, Op, new_node
from .rules import RuleCall, pulled, pushed
from .variables import constant


def recorded(primitive: Primitive, operands: Sequence[Any], params: dict[str, Any]) -> Any:
    """The node of an operation (a tuple of nodes if it has several results). Arrays and tensors
    among the operands become constants.
    """
    if any(holds_node(p) for p in params.values()):  # an index that is computed by the graph
        nodes = nodes_in((tuple(operands), params))
        function = WithParams(primitive, tuple(operands), params)
        # how much a mask selects, only its elements tell
        masked = any(n.known_dtype == backend.bool_ for n in nodes_in(params))
        node = deferred(function, primitive.name, *nodes, recordable=not masked)
        if not masked:
            node.shape_fact, node.dtype_fact = facts_of_call(function, nodes) or (
                node.shape_fact,
                node.dtype_fact,
            )
        return node
    args = tuple(
        [
            a if isinstance(a, Node) or type(a) in backend.PYTHON_SCALARS else constant(a)
            for a in operands
        ]
    )
    facts = inferred(primitive, args, params)
    op = op_of(primitive)
    if primitive.outputs == 1:
        return new_node(op, args, params, *facts[0])
    several = new_node(op, args, params, (), unknown_dtype())
    return tuple(new_node(PickOp(i), (several,), {}, *fact) for i, fact in enumerate(facts))


class PrimitiveOp(Op):
    """A primitive as an operation of a graph."""

    def __init__(self, primitive: Primitive) -> None:
        self.primitive = primitive
        self.label = primitive.name

    def __call__(self, *args: Any, **params: Any) -> Any:
        return self.primitive(*args, **params)

    def run(self, node: Node, tensors: list[Any]) -> Any:
        values = iter(tensors)
        return self.primitive(
            *[next(values) if isinstance(a, Node) else a for a in node.args], **node.params
        )

    def compute(self, node: Node, input_vals: list[Any]) -> Any:
        result = self.run(node, [as_tensor(v) for v in input_vals])
        return tuple(map(as_array, result)) if isinstance(result, tuple) else as_array(result)

    def gradient(self, node: Node, output_grad: Any) -> list[Node | None]:
        return self.pull(node, output_grad, [True] * len(node.inputs))

    def pull(self, node: Node, output_grad: Any, wanted: Sequence[bool]) -> list[Node | None]:
        primitive, args = self.primitive, node.args
        result = results_of(node)
        out: list[Node | None] = []
        asked = iter(wanted)
        for index, operand in enumerate(args):
            if not isinstance(operand, Node):
                continue
            rule = (
                primitive.pull_rule(index) if next(asked) and primitive.kind != "constant" else None
            )
            out.append(
                None
                if rule is None
                else pulled(primitive, rule, index, node, operand, output_grad, args, result)
            )
        return out

    def tangent(self, node: Node, tangents: Sequence[Node | None]) -> Any:
        """The sum of what each input's tangent adds to the result's; a tuple of (node or None)
        for several results; None without any.
        """
        primitive, args, result = self.primitive, node.args, results_of(node)
        if primitive.kind == "constant":
            return None
        given, total = iter(tangents), None
        for index, operand in enumerate(args):
            t = next(given) if isinstance(operand, Node) else None
            rule = None if t is None else primitive.push_rule(index)
            if rule is None:
                continue
            part = pushed(
                RuleCall(primitive, rule, index, node.params, is_pull=False), t, args, result
            )
            total = part if total is None else _added(total, part)
        if total is None or isinstance(total, tuple):
            return total
        return fitted(total, node, broadcast=True)


_ops: dict[str, PrimitiveOp] = {}


def op_of(primitive: Primitive) -> PrimitiveOp:
    """The operation of a primitive, the same one every time."""
    found = _ops.get(primitive.name)
    if found is None or found.primitive is not primitive:
        found = _ops[primitive.name] = PrimitiveOp(primitive)
    return found


class PickOp(Op):
    """Result number `index` of an operation with several results."""

    def __init__(self, index: int) -> None:
        self.index, self.label = index, f"result {index}"

    def run(self, node: Node, tensors: list[Any]) -> Any:
        return tensors[0][self.index]

    def key(self) -> Any:
        return PickOp, self.index


def results_of(node: Node) -> Any:
    """What a rule calls `y`: the node itself, or one node for each result."""
    primitive = node.primitive
    if primitive is None or primitive.outputs == 1:
        return node
    facts = inferred(primitive, node.args, node.params)
    return tuple(new_node(PickOp(i), (node,), {}, *fact) for i, fact in enumerate(facts))


def _added(a: Any, b: Any) -> Any:
    if isinstance(a, tuple):
        return tuple(
            q if p is None else p if q is None else p + q for p, q in zip(a, b, strict=True)
        )
    return a + b


class DetachOp(Op):
    """The value, through which no derivative passes."""

    label = "detach"

    def __call__(self, *args: Any, **params: Any) -> Node:
        (x,) = args
        return new_node(self, (x,), {}, x.shape_fact, x.dtype_fact)

    def run(self, node: Node, tensors: list[Any]) -> Any:
        return alias(tensors[0])

    def gradient(self, node: Node, output_grad: Any) -> list[Node | None]:
        return [None]

    def tangent(self, node: Node, tangents: Sequence[Node | None]) -> None:
        """None: the result does not change with the input."""


detach_op = DetachOp()


class MatMulOp(Op):
    """The product of two matrices, each of which may be transposed first: the document's
    MatMulOp.
    """

    label = "matmul"

    def __call__(self, *args: Any, trans_A: bool = False, trans_B: bool = False, **_: Any) -> Node:
        a, b = (x if isinstance(x, Node) else constant(x) for x in args)
        if a.known_shape is not None and b.known_shape is not None:
            for x in (a, b):
                if x.ndim != 2:
                    raise ShapeError(
                        f"matmul: {x.name} has shape {x.shape}; with trans_A and trans_B both"
                        " operands are matrices."
                    )
        x, y = (
            la.swapped(m) if flag and m.known_shape else m
            for m, flag in ((a, trans_A), (b, trans_B))
        )
        facts = matmul_facts(x, y)
        node = new_node(self, [a, b], {"trans_A": trans_A, "trans_B": trans_B}, *facts)
        # as the document calls them
        node.__dict__.update(matmul_attr_trans_A=trans_A, matmul_attr_trans_B=trans_B)
        return node

    def run(self, node: Node, tensors: list[Any]) -> Any:
        flags = (node.params["trans_A"], node.params["trans_B"])
        for x, t in zip(node.inputs, tensors, strict=True):
            if t.ndim != 2:
                raise ShapeError(
                    f"{node.name}: {x.name} has shape {t.shape}, but with trans_A and trans_B both"
                    " operands are matrices."
                )
        a, b = (la.swapped(t) if flag else t for t, flag in zip(tensors, flags, strict=True))
        if a.shape[1] != b.shape[0]:
            raise ShapeError(
                f"{node.name}: shapes {a.shape} and {b.shape} (after transposing) do not fit: the"
                " inner sizes differ."
            )
        return la.matmul(a, b)

    def compute(self, node: Node, input_vals: list[Any]) -> Any:
        return as_array(self.run(node, [as_tensor(v) for v in input_vals]))

    def gradient(self, node: Node, output_grad: Any) -> list[Node | None]:
        """For Y = A' B': dA' = dY B'ᵀ and dB' = A'ᵀ dY; a transposed operand's gradient is the
        transpose of these.
        """
        (a, b), (ta, tb) = node.inputs, (node.params["trans_A"], node.params["trans_B"])
        by_a = (
            matmul_op(b, output_grad, trans_A=tb, trans_B=True)
            if ta
            else matmul_op(output_grad, b, trans_B=not tb)
        )
        by_b = (
            matmul_op(output_grad, a, trans_A=True, trans_B=ta)
            if tb
            else matmul_op(a, output_grad, trans_A=not ta)
        )
        return [_of(by_a, a), _of(by_b, b)]

    def tangent(self, node: Node, tangents: Sequence[Node | None]) -> Node | None:
        """Linear in each operand."""
        (a, b), (ta, tb) = node.inputs, tangents
        parts = [
            p
            for p in (
                ta is not None and self(ta, b, **node.params),
                tb is not None and self(a, tb, **node.params),
            )
            if p is not False
        ]
        return _added(*parts) if len(parts) == 2 else parts[0] if parts else None


def _of(contribution: Node, operand: Node) -> Node:
    """A fresh contribution, of which is known that it has its operand's shape."""
    if contribution.known_shape is None:
        contribution.shape_fact = operand.shape_fact
    return contribution


def matmul_facts(a: Node, b: Node) -> tuple[ShapeFact, DTypeFact]:
    """Shape and dtype of a product. Raises ShapeError where known shapes do not fit."""
    if (
        a.known_shape
        and b.known_shape
        and len(a.shape) > 1 < len(b.shape)
        and a.shape[-1] != b.shape[-2]
    ):
        raise ShapeError(
            f"matmul: {a.name} of shape {a.shape} and {b.name} of shape {b.shape} do not fit: the"
            f" inner sizes {a.shape[-1]} and {b.shape[-2]} differ."
        )
    return inferred(la.matmul, (a, b), {})[0]


def as_array(tensor: Tensor) -> Any:
    """A tensor's values as a NumPy array, whose memory is not shared if it is small enough to be a
    scalar."""
    return backend.to_numpy(backend.materialise(tensor.array))


add_op, mul_op = op_of(ew.add), op_of(ew.mul)
add_byconst_op, mul_byconst_op = add_op, mul_op
oneslike_op, zeroslike_op = op_of(ew.ones_like), op_of(ew.zeros_like)
matmul_op = MatMulOp()
