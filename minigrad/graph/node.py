"""Node and Op: a computation as data, before anything is computed.

A Node says "the result of this operation on those nodes". It has no value; an Executor computes
one, for values fed to the Variables. The vocabulary is that of the document on static graphs:
`node.inputs`, `node.op`, `node.const_attr`, `node.name`, and an Op with `compute` and `gradient`.

A Node is a Tensor to whoever computes with it: operators, methods and functions all end in a
primitive, and a primitive that meets a node makes another node (`__minigrad_apply__`, the engine's
seam) instead of a value. So the one set of primitives, and every function and derivative rule that
is made of them, serves graphs too. What a Tensor does with its *values* is an error here that says
so (methods.py).
"""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from typing import Any

from ..backend import DType, Shape, float32, materialise, to_numpy, zeros
from ..core.primitive import Primitive
from ..core.tensor import Payload, Tensor, as_tensor
from ..errors import GraphError
from .inference import DTypeFact, ShapeFact, SomeFloat, UnknownFact, unknown_dtype, unknown_shape
from .text import expression

next_birth = count(1).__next__


class _Building(threading.local):
    role: str = "given"
    order: int = 0
    of: Node | None = None


building = _Building()
"""What the nodes that this thread makes are for (`Node.role`)."""


@contextmanager
def making(role: str, order: int) -> Iterator[_Building]:
    """Nodes made inside are part of a derivative: role "gradient" or "tangent", of the given
    order. Set `of` to say of which node.
    """
    before = building.role, building.order, building.of
    building.role, building.order, building.of = role, order, None
    try:
        yield building
    finally:
        building.role, building.order, building.of = before


class Node(Tensor):
    """A value in a static graph: an operation and what it is applied to.
    (`minigrad.core.graph.Node` is an eager tensor's place in the graph of a backward pass.)

    op: the operation; inputs: the nodes that it reads; args: the same with the Python numbers among
    the operands; params: its keyword parameters; const_attr: the Python number among the operands,
    or None; name: as in "(x1+x2)", shortened where that is long (assign to it to give a name);
    shape, dtype: if known before anything is fed, else asking raises GraphError (`shape_fact` and
    `dtype_fact` hold what is known); role: "given", or "gradient" or "tangent" for what `gradients`
    and `jvp` added; order: 0 for given nodes, 1 for a derivative of these, 2 for a derivative of
    nodes of order 1, …; of: the node whose derivative this one is a part of, or None.

    Further attributes may be set freely, as the document's operations do.
    """

    __slots__ = (
        "__dict__",
        "born",
        "dtype_fact",
        "given_name",
        "of",
        "op",
        "operands",
        "order",
        "params",
        "role",
        "shape_fact",
    )

    operands: Sequence[Any]
    op: Op | None
    params: dict[str, Any]
    shape_fact: ShapeFact
    dtype_fact: DTypeFact

    __hash__ = object.__hash__  # == makes a node, so nodes are told apart by identity

    __minigrad_apply__: Any = None
    """The engine's question to a value without elements, answered by `ops.recorded` (methods.py
    puts the methods on this class)."""

    # What the engine looks for in a Tensor: no value, no history, no tangents.
    node = tangents = version = view_of = stored_grad = None

    def __init__(self) -> None:
        """A bare node, as the document's `Op.__call__` makes it: the operation sets `op`,
        `inputs` and `name`.
        """
        self.operands, self.given_name, self.op, self.params = [], "", None, {}
        self.shape_fact, self.dtype_fact = unknown_shape(), unknown_dtype()
        self.role, self.order, self.of, self.born = (
            building.role,
            building.order,
            building.of,
            next_birth(),
        )

    @property
    def args(self) -> tuple[Any, ...]:
        """The operands in order: nodes and Python numbers."""
        return tuple(self.operands)

    @property
    def inputs(self) -> list[Node]:
        """The nodes that this one is computed from, in order (one that is used twice appears
        twice).
        """
        held = self.operands
        return held if type(held) is list else [a for a in held if isinstance(a, Node)]

    @inputs.setter
    def inputs(self, nodes: list[Node]) -> None:
        self.operands = nodes if type(nodes) is list else list(nodes)

    @property
    def const_attr(self) -> Any:
        """The Python number among the operands (5 in x + 5), None if there is none."""
        found = self.__dict__.get("const_attr")
        return (
            next((a for a in self.operands if not isinstance(a, Node)), None)
            if found is None
            else found
        )

    @const_attr.setter
    def const_attr(self, value: Any) -> None:
        self.__dict__["const_attr"] = value

    @property
    def primitive(self) -> Primitive | None:
        """The primitive that this node applies; None for Variables, constants and operations of
        other kinds.
        """
        return getattr(self.op, "primitive", None)

    @property
    def name(self) -> str:
        """How the value is made, as in "(x1+x2)"; long expressions are shortened with "…".
        Assign to it to give the node a name.
        """
        return self.given_name or expression(self)

    @name.setter
    def name(self, text: str) -> None:
        self.given_name = text

    # --------------------------------------------------------------------- what is known beforehand

    @property
    def array(self) -> Any:
        """What stands in the place of an array: it can be asked for shape, dtype and device, not
        for elements.
        """
        return Shadow(self)

    @property
    def shape(self) -> Shape:
        """Sizes of the axes. Raises GraphError if they are decided by what is fed."""
        if type(self.shape_fact) is not tuple:
            raise UnknownFact(
                f"the shape of {self.name} is decided by what is fed, but an operation needs it"
                ' now. Declare it, as in Variable("x", shape=(3, 4)), or let the operation wait:'
                " call the node's own method, mg.graph.<function>(…), or mg.graph.call(f, x)."
            )
        return self.shape_fact

    @property
    def ndim(self) -> int:
        """Number of axes. Raises GraphError if that is decided by what is fed."""
        return len(self.shape)

    @property
    def dtype(self) -> DType:
        """The elements' type; a placeholder of kind "f" for a floating dtype that is decided by
        what is fed.
        """
        return self.dtype_fact  # type: ignore[return-value]

    @property
    def known_shape(self) -> Shape | None:
        """The shape, None if it is decided by what is fed."""
        return self.shape_fact if type(self.shape_fact) is tuple else None

    @property
    def known_dtype(self) -> DType | None:
        """The dtype, None if it is decided by what is fed."""
        return None if isinstance(self.dtype_fact, SomeFloat) else self.dtype_fact

    def __repr__(self) -> str:
        return self.name

    __str__ = __repr__


class Shadow(Payload):
    """The payload of a node: an array of which only shape, dtype and (host) memory layout are
    known.
    """

    __slots__ = ("node",)
    array = zeros((), float32, 0.0)
    """What tells the device: a number in host memory."""

    def __init__(self, node: Node) -> None:
        self.node = node

    shape = property(lambda self: self.node.shape)
    ndim = property(lambda self: self.node.ndim)
    dtype = property(lambda self: self.node.dtype)
    size = property(lambda self: math.prod(self.node.shape))
    nbytes = property(lambda self: self.size * self.dtype.itemsize)

    @property
    def strides(self) -> tuple[int, ...]:
        """Byte steps along the axes, as in a row-major array."""
        shape, step = self.node.shape, int(self.dtype.itemsize)
        return tuple(step * math.prod(shape[i + 1 :]) for i in range(len(shape)))

    def copy(self) -> Node:
        """The node, which is immutable (an index is copied before it is kept)."""
        return self.node

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise no_value(self.node, f"the array's {name}")

    def _refuse(self, *_: Any) -> Any:
        raise no_value(self.node, "the elements of an array")

    __bool__ = __int__ = __float__ = __complex__ = __index__ = __array__ = __iter__ = (
        __getitem__
    ) = __setitem__ = _refuse

    @staticmethod
    def __minigrad_apply__(
        primitive: Primitive, operands: Sequence[Any], params: dict[str, Any]
    ) -> Any:
        """The engine's seam."""
        return Node.__minigrad_apply__(
            primitive, [o.node if type(o) is Shadow else o for o in operands], params
        )


def new_node(
    op: Op,
    args: Sequence[Any],
    params: dict[str, Any],
    shape: ShapeFact,
    dtype: DTypeFact,
    name: str = "",
) -> Node:
    """A node all of whose fields are given."""
    node = Node.__new__(Node)
    node.operands, node.given_name, node.op, node.params = args, name, op, params
    node.shape_fact, node.dtype_fact = shape, dtype
    node.role, node.order, node.of, node.born = (
        building.role,
        building.order,
        building.of,
        next_birth(),
    )
    return node


class Op:
    """An operation on nodes. To make your own: `__call__` builds the node, `compute` and `gradient`
    say what it does.

        class Cube(mg.graph.Op):
            def __call__(self, x):
                node = super().__call__()
                node.inputs, node.name = [x], f"cube({x.name})"
                return node

            def compute(self, node, input_vals):
                return input_vals[0] ** 3

            def gradient(self, node, output_grad):
                return [output_grad * 3 * node.inputs[0] ** 2]

    An operation may also have `tangent(node, tangents)` for forward mode; without it `jvp`
    transposes `gradient`.
    """

    def __call__(self, *args: Any, **params: Any) -> Any:
        """A new node of this operation. The document's form takes no arguments; with nodes as
        arguments, they become the inputs.
        """
        node = Node()
        node.op, node.params = self, params
        if args:
            node.inputs = [
                check_node(a, f"{type(self).__name__}: argument {i}") for i, a in enumerate(args)
            ]
        return node

    def compute(self, node: Node, input_vals: list[Any]) -> Any:
        """The value of the node, given those of `node.inputs`: NumPy arrays in, a NumPy array
        out.
        """
        raise NotImplementedError(f"{type(self).__name__} has no compute(self, node, input_vals).")

    def gradient(self, node: Node, output_grad: Any) -> Sequence[Node | None]:
        """One node for each input: its contribution to that input's gradient, of the input's
        shape; None where there is none.
        """
        raise NotImplementedError(
            f"{type(self).__name__} has no gradient(self, node, output_grad)."
        )

    def pull(self, node: Node, output_grad: Any, wanted: Sequence[bool]) -> Sequence[Node | None]:
        """As `gradient`; what is not wanted may be None."""
        return self.gradient(node, output_grad)

    def run(self, node: Node, tensors: list[Any]) -> Any:
        """As `compute`, on tensors. A user's `compute` gets read-only arrays: others may need
        the same values.
        """
        arrays = []
        for tensor in tensors:
            array = to_numpy(materialise(tensor.array)).view()
            array.flags.writeable = False
            arrays.append(array)
        value = self.compute(node, arrays)
        if value is None:
            raise GraphError(
                f"{type(self).__name__}.compute returned None for {node.name}; it must return the"
                " value."
            )
        return as_tensor(value)

    def key(self) -> Any:
        """What equal operations have in common: two nodes of a graph are the same if this, the
        inputs and the parameters are.
        """
        return self

    label = ""
    """What the operation is called in a printed graph."""


def check_node(value: Any, what: str) -> Node:
    """`value`, if it is a Node. Raises TypeError."""
    if not isinstance(value, Node):
        hint = (
            " A tensor becomes a node by mg.graph.constant(x)." if isinstance(value, Tensor) else ""
        )
        raise TypeError(f"{what} must be a Node of a graph, got {type(value).__name__}.{hint}")
    return value


def no_value(node: Node, what: str) -> GraphError:
    """The error for asking a node for its value."""
    return GraphError(
        f"{what}: {node.name} is a node of a graph, which has no value until it runs. Get it by"
        " mg.graph.Executor([node]).run(feed_dict), or write the function with tensors and record"
        " it with mg.graph.trace."
    )
