"""The Tensor: an array, its place in the graph, and its memory; how it gets a node, and a gradient.

A tensor is a thin handle with six attributes. `array` is the payload; `node` its place in the graph
(a Leaf if the user asked for a gradient, the node of the operation that made it otherwise, None for
a constant); `tangents` its forward-mode derivatives by level; `version` counts how often the memory
was overwritten and is shared with every alias; `view_of` says of which tensor this one is a view
(views.py); `stored_grad` is what users see as `.grad`. Functions and methods of tensors are made
elsewhere (minigrad/names.py).

A payload is an array of NumPy or CuPy, one of NumPy's immutable scalars, or an instance of the
class `Payload`: a value that runs operations itself. That class is the protocol by which vmap
and the recorder of programs take part in everything. (A symbolic tensor stands for a value of a
static graph; it is an instance of a subclass of Tensor and has no values at all.)
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .. import backend, explain
from ..backend import Array, DType, Shape, as_payload, is_differentiable, is_immutable
from .graph import Node, OpNode, Parents, Pick, Version
from .primitive import Args, Params, Primitive, read_source, registry

if TYPE_CHECKING:
    from ..tensor_methods import Methods  # what minigrad/names.py attaches
else:
    Methods = object


class Tensor(Methods):
    """An n-dimensional array that remembers how it was computed."""

    __slots__ = ("__weakref__", "array", "node", "stored_grad", "tangents", "version", "view_of")

    array: Array
    node: Node | None
    version: Version | None
    view_of: Any  # a views.View or None
    tangents: dict[int, Any] | None
    stored_grad: Tensor | None

    __array_priority__ = 1000
    __array_ufunc__ = None  # `numpy_array * tensor` must come to us

    def __init_subclass__(cls, **options: Any) -> None:
        """Refuse a subclass that does not say how operations treat it, as a symbolic tensor does.
        Raises TypeError."""
        super().__init_subclass__(**options)
        if not hasattr(cls, "__minigrad_apply__"):
            raise explain.unknown_to_operations(cls)

    @property
    def shape(self) -> Shape:
        """Sizes of the axes, a tuple of int."""
        return tuple(self.array.shape)

    @property
    def dtype(self) -> DType:
        """The elements' type, a NumPy dtype."""
        return self.array.dtype  # type: ignore[no-any-return]


class Payload:
    """The protocol for payloads that are not arrays: a value that stands for many (batching), or
    that writes down what is done with it (program).

    Outside operations the engine handles a payload like an array. A class must therefore provide,
    describing the value that the user sees, `shape`, `ndim`, `dtype`, `size`, `strides`, `flags`,
    `base`, `copy()`, `astype(dtype)`, `payload[...] = values`, and `a + b` and `a += b` (sums of
    cotangents and into `.grad`); `array` is the array inside. Of the methods below only the first
    must be defined; a symbolic tensor has it too, as a static method of its class.

    Views: where a view operation returns a payload on the same memory (as `base` tells), both
    tensors share one version counter. In-place writes: an operation computes the new values; their
    `__minigrad_fits__` may refuse the write, their `__minigrad_write__` is called before it, and
    `target.array[...] = values` writes.
    """

    __slots__ = ()

    @staticmethod
    def __minigrad_apply__(prim: Primitive, operands: Sequence[Any], params: Params) -> Any:
        """Run the operation. The first symbolic tensor among the operands is asked, or else the
        first `Payload`, whatever the others are. Returns the result, or a tuple of several."""
        raise NotImplementedError

    @staticmethod
    def __minigrad_rewrite__(prim: Primitive, args: Args, params: Params) -> Any:
        """Before an operation on these tensors is recorded: its result if it is known, or None."""
        return None

    def __minigrad_constant__(self, array: Array) -> Any:
        """`array`, made by `backend.zeros` or `backend.ones` beside this value, as a payload."""
        return array

    def __minigrad_write__(self, tensor: Tensor) -> None:
        """This value is about to be written into the memory of `tensor`."""

    def __minigrad_fits__(self, target: Any, operation: str) -> None:
        """Raise BatchingError unless memory laid out as `target` can hold this value."""

    def __minigrad_told__(self, what: str) -> None:
        """Called by minigrad/optim: Python reads `what`, which may differ in another run."""

    __minigrad_update__: Any = None
    """`(optimizer, param, group)`: a context in which minigrad/optim updates `param`, whose values
    these are; it gives the settings for the step. None: updated as an array is."""


Report = list[tuple[Tensor, Tensor]]
"""Pairs (tensor, gradient), in the order in which a pass stored them."""


@dataclass(eq=False, repr=False, slots=True, kw_only=True)
class Leaf(Node):
    """The node of a tensor that the user made and whose gradient is wanted; refers to it weakly.

    stores_grad: whether a backward pass puts the gradient into `.grad`; array, version: the
    tensor's memory and its counter (None for a bare number), to make the tensor again.
    """

    array: Array
    tensor: weakref.ref[Tensor]
    version: Version | None = None
    stores_grad: bool = True

    def name(self) -> str:
        return "AccumulateGrad"

    @property
    def variable(self) -> Tensor:
        """The leaf tensor. If the program dropped it, it is made again: hooks and reports still get
        one with the same memory."""
        tensor = self.tensor()
        if tensor is None:
            tensor = wrap(self.array, self)
            tensor.version = self.version
            self.tensor = weakref.ref(tensor)
        return tensor

    def store(self, g: Any, create_graph: bool, report: Report | None, owned: bool = False) -> None:
        """Add a complete cotangent to the tensor's `.grad`, which shares memory with nothing else
        unless the user assigned it. owned: nothing else refers to g (the fast path knows)."""
        tensor = self.variable
        if tensor.node is not None:  # requires_grad was not switched off since
            add_to_grad(tensor, g, create_graph, report, owned)


def wrap(array: Array, node: Node | None = None, tangents: dict[int, Any] | None = None) -> Tensor:
    """A tensor that holds a payload, without copying."""
    out: Tensor = object.__new__(Tensor)
    out.array, out.node, out.tangents = array, node, tangents
    out.version = out.view_of = out.stored_grad = None
    return out


def as_tensor(value: Any) -> Tensor:
    """`value` itself if it is a tensor, else a new constant tensor holding a copy."""
    return value if isinstance(value, Tensor) else wrap(as_payload(value))


def as_values(data: Any, dtype: DType) -> Tensor:
    """As `as_tensor`, for values that are cast to `dtype` next. Python's floats keep their double
    precision, whatever the default dtype is; integers must be in the range of `dtype`."""
    if isinstance(data, Tensor):
        return data
    array = as_payload(data, dtype if type(data) is int else None)
    if isinstance(data, float | complex | list | tuple) and array.dtype.kind in "fc":
        array = as_payload(data, backend.promote_types(array.dtype, backend.float64))
    elif isinstance(data, list | tuple) and dtype.kind in "iu":
        array = as_payload(data, dtype)
    return wrap(array)


def make_leaf(tensor: Tensor) -> None:
    """Give a constant tensor a Leaf. Raises DTypeError for integers and booleans."""
    array = tensor.array
    if not is_differentiable(array.dtype):
        raise explain.no_gradient_of(array.dtype)
    version = None if is_immutable(array) else memory_version(tensor)
    facts = {"shape": array.shape, "dtype": array.dtype, "version": version}
    tensor.node = Leaf(array=array, tensor=weakref.ref(tensor), **facts)


def memory_version(tensor: Tensor) -> Version:
    """The counter of the tensor's memory, made on first use; afterwards the payload is an array
    that can be shared and overwritten. (Nothing between the second test and the assignment releases
    the GIL, so two threads make one counter. A free-threaded Python would need a lock.)"""
    if tensor.version is None:
        made, array = Version(), backend.materialise(tensor.array)
        if tensor.version is None:
            tensor.version, tensor.array = made, array
        if isinstance(tensor.node, Leaf):
            tensor.node.array, tensor.node.version = tensor.array, tensor.version
    return tensor.version


def grad_node(tensor: Tensor) -> Node | None:
    """The node that stands for the tensor's present values. `tensor.node` itself may be that of
    older values, if the tensor is a view and its memory was written through the base or another
    view of it."""
    if tensor.view_of is not None:
        tensor.view_of.refresh(tensor)
    return tensor.node


def alias(tensor: Tensor) -> Tensor:
    """A constant tensor on the tensor's memory, with its version counter: what `detach` returns."""
    version = memory_version(tensor)
    out = wrap(tensor.array)
    out.version = version
    return out


def overwrite_payload(tensor: Tensor, values: Array) -> None:
    """Put `values` (broadcastable, castable) into the tensor's memory; increment its version."""
    if isinstance(values, Payload):
        values.__minigrad_write__(tensor)
    version = memory_version(tensor)
    tensor.array[...] = values
    version.count += 1


def record(
    prim: Primitive, args: Args, parents: Parents, params: Params, outs: tuple[Tensor, ...]
) -> None:
    """Make the node of an operation's results and give it to them: edges to the inputs that need a
    gradient (`parents`, one for each of `args`), and the values that their rules name."""
    plan = prim.plan(tuple([parent is not None for parent in parents]))
    node = OpNode(primitive=prim, params=params, plan=plan, parents=tuple(parents))
    result: Any = outs[0] if prim.outputs == 1 else outs
    if prim.outputs == 1:
        node.shape, node.dtype = result.array.shape, result.array.dtype
    else:
        facts: Any = [(o.shape, o.dtype) for o in outs]
        node.shape, node.dtype = zip(*facts, strict=True)
    if prim.elementwise and node.shape:  # which has one result
        pairs = zip(args, parents, strict=True)
        shapes: Any = [None if parent is None else a.array.shape for a, parent in pairs]
        if any([shape not in (None, node.shape) for shape in shapes]):
            node.unbroadcast = tuple([None if shape == node.shape else shape for shape in shapes])
    kept = [read_source(source, args, result) for source in plan.sources]
    node.versions = tuple([(k, v, v.count) for k, x in enumerate(kept) for v in _versions_of(x)])
    node.saved = tuple(map(_payload_of, kept))
    give_node(node, outs)


def _payload_of(value: Any) -> Any:
    """What a node saves of a value: a tensor's payload. (A tuple: all results, or a shape.)"""
    if type(value) is tuple:
        return tuple(map(_payload_of, value))
    return value.array if type(value) is Tensor else value


def _versions_of(value: Any) -> list[Version]:
    """The counters of a saved value's memory, which may be overwritten later."""
    owners = [x for x in (value if type(value) is tuple else (value,)) if type(x) is Tensor]
    return [memory_version(x) for x in owners if not is_immutable(x.array)]


def give_node(node: OpNode, outs: tuple[Tensor, ...]) -> None:
    """Let `node` stand for the result of its operation, or a Pick of it for each of several
    results, where those have a derivative."""
    for index, (out, has_rule) in enumerate(zip(outs, node.primitive.differentiable, strict=True)):
        if has_rule and is_differentiable(out.array.dtype):
            out.node = node if len(outs) == 1 else make_pick(node, index)


def make_pick(node: Node, index: int) -> Pick:
    """The node of result number `index` of an operation with several, whose node is `node`: the
    one that is in use, or a new one if none is."""
    if not hasattr(node, "picks"):
        node.picks = {}
    pick: Pick | None = node.picks[index]() if index in node.picks else None
    if pick is None:
        shape, dtype = node.shape[index], node.dtype[index]
        pick = Pick(index=index, parents=(node,), shape=shape, dtype=dtype)  # type: ignore[arg-type]
        node.picks[index] = weakref.ref(pick)
    return pick


_storing = threading.RLock()
"""Two threads may run passes over graphs of the same parameters at once: sums into `.grad` take
turns. (Reentrant: an observer of such a sum may start a pass of its own.)"""


def add_to_grad(
    tensor: Tensor, g: Any, create_graph: bool, report: Report | None, owned: bool = False
) -> None:
    """Add g to `.grad`. If g is to be differentiated again, it stays a tensor with its graph;
    otherwise its values are stored in memory that nothing else refers to."""
    with _storing:
        old = tensor.stored_grad
        if old is not None and old.array.shape != g.shape:
            raise explain.old_gradient(g, old)
        if isinstance(g, Tensor) and not (create_graph or g.tangents):
            g = g.array
        tensor.stored_grad = _own(g, tensor, owned) if old is None else _sum(tensor, old, g)
        if report is not None:
            report.append((tensor, _own(g, tensor, False)))


def _own(g: Any, tensor: Tensor, owned: bool) -> Tensor:
    """A gradient as a new tensor, laid out as the tensor that it belongs to."""
    if isinstance(g, Tensor):
        return registry["clone"](g)
    array = backend.canonical(g)
    if not (backend.is_immutable(array) or (owned and backend.has_strides_of(array, tensor.array))):
        array = backend.copy_with_strides_of(array, tensor.array)
    return wrap(array)


def _sum(tensor: Tensor, old: Tensor, g: Any) -> Tensor:
    """The sum of `.grad` and g; for a leaf, made in place if that memory is writable."""
    if isinstance(g, Tensor):
        return old + g
    if not isinstance(tensor.node, Leaf):
        return wrap(old.array + g)
    if backend.is_immutable(old.array):
        old.array = old.array + g
        return old
    version = memory_version(old)
    try:
        old.array += g
    except ValueError:  # the user put something there that may only be read, an expanded tensor
        return wrap(old.array + g)
    version.count += 1
    return old
