"""The Tensor: an array, its node in the graph, and its memory; how it gets a node and a gradient.

A tensor is a handle with six attributes. `array` is the payload; `node` is its place in the graph
(a Leaf if the user asked for a gradient, the node of the operation that made it otherwise, None for
a constant; for a view it may be out of date: ask `current_node`); `tangents` are its forward-mode
derivatives by level; `version` counts how often the memory was overwritten, and all tensors on that
memory share it; `view_of` says of which tensor this one is a view (views.py); `stored_grad` is what
the user reads as `.grad`. Methods are attached by names.py.

A payload is an array of NumPy or CuPy, one of NumPy's immutable scalars, or an instance of the
class `Payload`: a value that runs operations itself. That class is the protocol by which vmap and
`mg.compile` take part in every operation.

A symbolic tensor is no payload, but an instance of a subclass of Tensor, for a value of a static
graph. `apply` calls its class's `__minigrad_apply__(prim, args, params)` before promotion.
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

    __array_priority__ = 1000  # of array * tensor; NumPy's arrays call methods/numpy_calls.py

    def __init_subclass__(cls, **options: Any) -> None:
        """Raise TypeError for a subclass without `__minigrad_apply__`; symbolic tensors have it."""
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
    """The protocol for payloads that are not arrays: one value for all examples of a batch
    (batching/), or a value that records what is done with it (program/).

    Outside operations the engine handles a payload like an array. A class must therefore provide,
    for the value that the user sees, `shape`, `ndim`, `dtype`, `size`, `strides`, `flags`, `base`,
    `copy()`, `astype(dtype)`, `payload[...] = values`, and the operators of rules and of sums of
    cotangents (`a * b`, `a += b`, …); `array` is the array inside. Of the methods below it must
    define the first. (optim/optimizer.py asks for two more, where updates are recorded.)

    Example: within `vmap(f)(x)`, f gets a Tensor whose array is a batched payload, x with a hidden
    axis. `mg.sin` of it calls `apply`, then `compute`, which calls `__minigrad_apply__` of the
    payload: it computes on the whole array and returns a batched payload, which gets a Tensor and
    a node, as an array does. (`batch_enter` and `batch_leave` hide and show the axis.)

    Nesting: nodes and tangents belong to the tensor, so derivatives nest with payloads in any
    order. Nested vmaps give one payload with several hidden axes. The two kinds do not meet: a
    program refuses a batched payload, and a compiled function called within vmap runs as itself.

    Views: where a view operation returns a payload on the same memory (its `base` is the payload or
    array that owns this), both tensors share one version counter. In-place writes: an operation
    computes the new values; their `__minigrad_fits__` may refuse the write, their
    `__minigrad_write__` is called before it, and `target.array[...] = values` writes.
    """

    __slots__ = ()

    @staticmethod
    def __minigrad_apply__(prim: Primitive, operands: Sequence[Any], params: Params) -> Any:
        """The result of the operation, or a tuple of several. `compute` calls this method of the
        first `Payload` among the promoted operands: payloads, arrays and numbers."""
        raise NotImplementedError

    @staticmethod
    def __minigrad_rewrite__(prim: Primitive, args: Args, params: Params) -> Any:
        """Called with the tensors before an operation on them is recorded. May return its result
        (vmap turns it into other operations, where a gradient must be summed); None: go on."""
        return None

    def __minigrad_constant__(self, array: Array) -> Any:
        """Convert `array`, which `backend.zeros` or `backend.ones` has made for use with this value
        (as a seed or a missing cotangent), into a payload of its kind."""
        return array

    def __minigrad_write__(self, tensor: Tensor) -> None:
        """Called before this value is written into the memory of `tensor`."""

    def __minigrad_fits__(self, target: Any, operation: str) -> None:
        """Raise BatchingError unless memory laid out as `target` can hold this value."""


Gradients = list[tuple[Tensor, Tensor]]
"""Pairs (tensor, gradient), in the order in which a pass stored them."""


@dataclass(eq=False, repr=False, slots=True, kw_only=True)
class Leaf(Node):
    """The node of a tensor that the user made and whose gradient is wanted.

    tensor: a weak reference to it; stores_grad: whether a backward pass adds the gradient to
    `.grad`; array, version: the tensor's payload and counter (None if the payload is immutable),
    from which the tensor is made again if the program has dropped it.
    """

    array: Array
    tensor: weakref.ref[Tensor]
    version: Version | None = None
    stores_grad: bool = True

    def name(self) -> str:
        return "AccumulateGrad"

    @property
    def variable(self) -> Tensor:
        """The leaf tensor; if the program has dropped it, another one on its memory, for hooks."""
        tensor = self.tensor()
        if tensor is None:
            tensor = wrap(self.array, self)
            tensor.version = self.version
            self.tensor = weakref.ref(tensor)
        return tensor

    def store(
        self, g: Any, create_graph: bool, stored: Gradients | None, owned: bool = False
    ) -> None:
        """Add a complete cotangent to the tensor's `.grad`. owned: nothing else refers to the
        memory of g, so `.grad` may take it without a copy (minigrad.fast determines that)."""
        tensor = self.variable
        if tensor.node is not None:  # requires_grad was not switched off since
            add_to_grad(tensor, g, create_graph, stored, owned)


def wrap(array: Array, node: Node | None = None, tangents: dict[int, Any] | None = None) -> Tensor:
    """A tensor that holds a payload, without copying."""
    out: Tensor = object.__new__(Tensor)
    out.array, out.node, out.tangents = array, node, tangents
    out.version = out.view_of = out.stored_grad = None
    return out


def as_tensor(value: Any) -> Tensor:
    """`value` itself if it is a tensor, else a new constant tensor holding a copy."""
    return value if isinstance(value, Tensor) else wrap(as_payload(value))


def make_leaf(tensor: Tensor) -> None:
    """Give a constant tensor a Leaf. Raises DTypeError for integers and booleans."""
    array = tensor.array
    if not is_differentiable(array.dtype):
        raise explain.no_gradient_of(array.dtype)
    version = None if is_immutable(array) else ensure_version(tensor)
    fields: Any = {"shape": array.shape, "dtype": array.dtype, "version": version}
    tensor.node = Leaf(array=array, tensor=weakref.ref(tensor), **fields)


def ensure_version(tensor: Tensor) -> Version:
    """The version counter of the tensor's memory, made on first use. That also replaces a scalar
    payload by an array, which can be shared and overwritten, so read `tensor.array` afterwards.
    (Nothing between the second test and the assignment releases the GIL, so two threads make one
    counter. A free-threaded Python would need a lock.)"""
    if tensor.version is None:
        made, array = Version(), backend.materialise(tensor.array)
        if tensor.version is None:
            tensor.version, tensor.array = made, array
        if isinstance(tensor.node, Leaf):
            tensor.node.array, tensor.node.version = tensor.array, tensor.version
    return tensor.version


def current_node(tensor: Tensor) -> Node | None:
    """The node of the tensor's present values; None if they are constant. `tensor.node` may be that
    of older values, where memory was written through the base or another view: then it is derived
    again, or InPlaceError raised where that is impossible (`View.refresh`)."""
    if tensor.view_of is not None:
        tensor.view_of.refresh(tensor)
    return tensor.node


def alias(tensor: Tensor) -> Tensor:
    """A constant tensor on the tensor's memory, with its version counter; `detach` returns it."""
    version, out = tensor.version or ensure_version(tensor), wrap(tensor.array)
    out.version = version
    return out


def write_payload(tensor: Tensor, values: Array) -> None:
    """Write `values` into the tensor's memory, broadcast and cast, and increment its version."""
    if isinstance(values, Payload):
        values.__minigrad_write__(tensor)
    version = ensure_version(tensor)
    tensor.array[...] = values
    version.count += 1


def record(
    prim: Primitive, args: Args, parents: Parents, params: Params, outs: tuple[Tensor, ...]
) -> None:
    """Make the node of an operation and assign it to the results. `parents`: for each of `args` its
    node, None if it needs no gradient. The node saves the values that the rules name."""
    plan = prim.plan(tuple([parent is not None for parent in parents]))
    node = OpNode(primitive=prim, params=params, plan=plan, parents=tuple(parents))
    result: Any = outs[0] if prim.outputs == 1 else outs
    described: Any = [(out.array.shape, out.array.dtype) for out in outs]
    node.shape, node.dtype = described[0] if prim.outputs == 1 else zip(*described, strict=True)
    if prim.elementwise and node.shape:  # one result; if it is 0-d, all inputs are
        pairs = zip(args, parents, strict=True)
        shapes: Any = [None if parent is None else a.array.shape for a, parent in pairs]
        if any([shape not in (None, node.shape) for shape in shapes]):
            node.unbroadcast = tuple([None if shape == node.shape else shape for shape in shapes])
    kept = [read_source(source, args, result) for source in plan.sources]
    node.versions = tuple([(k, v, v.count) for k, x in enumerate(kept) for v in _versions_of(x)])
    node.saved = tuple(map(_payload_of, kept))
    give_node(node, outs)


def _payload_of(value: Any) -> Any:
    """What a node saves of a value: a tensor's payload (of all results, or of a shape: a tuple)."""
    if type(value) is tuple:
        return tuple(map(_payload_of, value))
    return value.array if type(value) is Tensor else value


def _versions_of(value: Any) -> list[Version]:
    """The version counters of a saved value: of a tuple, those of its tensors."""
    owners = [x for x in (value if type(value) is tuple else (value,)) if type(x) is Tensor]
    return [ensure_version(x) for x in owners if not is_immutable(x.array)]


def give_node(node: OpNode, outs: tuple[Tensor, ...]) -> None:
    """Assign `node` to the result of its operation, or a Pick of it to each of several results.
    Results of integers or booleans get none."""
    for index, out in enumerate(outs):
        if is_differentiable(out.array.dtype):
            out.node = node if len(outs) == 1 else make_pick(node, index)


def make_pick(node: Node, index: int) -> Pick:
    """The Pick of result number `index` of `node`: the one in use, or a new one."""
    if not hasattr(node, "picks"):
        node.picks = {}
    pick: Pick | None = node.picks[index]() if index in node.picks else None
    if pick is None:
        shape, dtype = node.shape[index], node.dtype[index]
        pick = Pick(index=index, parents=(node,), shape=shape, dtype=dtype)  # type: ignore[arg-type]
        node.picks[index] = weakref.ref(pick)
    return pick


_storing = threading.RLock()
"""Held for each sum into `.grad`, since two threads may run passes over graphs of the same
parameters. (Reentrant: an observer of such a sum may start a pass of its own.)"""


def add_to_grad(
    tensor: Tensor, g: Any, create_graph: bool, stored: Gradients | None, owned: bool = False
) -> None:
    """Add g to `.grad`. With `create_graph`, or tangents, the sum is a new tensor with its graph;
    otherwise a first gradient is copied, and a later one added to a leaf's `.grad` in place."""
    with _storing:
        old = tensor.stored_grad
        if old is not None and old.array.shape != g.shape:
            raise explain.old_gradient(g, old)
        if isinstance(g, Tensor) and not (create_graph or g.tangents):
            g = g.array
        tensor.stored_grad = _own(g, tensor, owned) if old is None else _sum(tensor, old, g)
        if stored is not None:
            stored.append((tensor, _own(g, tensor, False)))


def _own(g: Any, tensor: Tensor, owned: bool) -> Tensor:
    """A gradient as a new tensor; one made of an array has the strides of `tensor`."""
    if isinstance(g, Tensor):
        return registry["clone"](g)
    array = backend.canonical(g)
    if not (backend.is_immutable(array) or (owned and backend.has_strides_of(array, tensor.array))):
        array = backend.copy_with_strides_of(array, tensor.array)
    return wrap(array)


def _sum(tensor: Tensor, old: Tensor, g: Any) -> Tensor:
    """The sum of `.grad` and g. For a leaf it is made in place, if that memory is writable."""
    if isinstance(g, Tensor):
        return old + g
    if not isinstance(tensor.node, Leaf):
        return wrap(old.array + g)
    if backend.is_immutable(old.array):
        old.array = old.array + g
        return old
    version = ensure_version(old)
    try:
        old.array += g
    except ValueError:  # the user assigned memory that is read-only, such as an expanded tensor
        return wrap(old.array + g)
    version.count += 1
    return old
