"""The Tensor: an array, its place in the graph, and its memory. No mathematics here; methods.py
adds that.

A tensor is a thin handle with six attributes. `array` is the payload; `node` its place in the graph
(a Leaf if the user asked for a gradient, the node of the operation that made it otherwise, None for
a constant); `tangents` its forward-mode derivatives by level; `version` counts how often the memory
was overwritten and is shared with every alias; `view_of` says of which tensor this one is a view
(views.py); `stored_grad` is what users see as `.grad`.

A payload is an array of NumPy or CuPy, one of NumPy's immutable scalars, or an instance of
`Payload`: a value that runs operations itself. That class is the protocol by which vmap and the
recorder of programs take part in everything.
"""

from __future__ import annotations

import math
import weakref
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from .. import backend, explain
from ..backend import IMMUTABLE, Array, DType, Shape, as_payload, is_differentiable, is_immutable
from ..errors import DTypeError
from . import observe
from .graph import Node, OpNode, Parents, Pick, Version, next_sequence_number
from .primitive import OUTPUT, SHAPES, Args, Params, Primitive

if TYPE_CHECKING:
    from ..tensor_methods import Methods  # what minigrad/names.py attaches
else:
    Methods = object


def _as_number(kind: type) -> Any:
    """The method behind `float(x)`, and so behind `math.sin(x)`; observers hear of it."""

    def method(self: Tensor) -> Any:
        if observe.observers:
            observe.tell("read", self, kind.__name__)
        return kind(self.item())

    return method


class Tensor(Methods):
    """An n-dimensional array that remembers how it was computed.

    Tensor(data) takes numbers, nested lists, NumPy or CuPy arrays (copied) or another tensor
    (copied, detached); Tensor(shape=(2, 3)) gives zeros. dtype: lists become float32, whatever
    numbers they hold (see `set_default_dtype`; `tensor(data)` keeps integers), arrays keep theirs.
    device: "cpu", "cuda", "cuda:1".
    requires_grad: ask for gradients; stores_grad: whether a backward pass also keeps this tensor's
    gradient in `.grad` and reports it (default: as requires_grad). Raises DTypeError if a gradient
    is asked of integers or booleans.
    """

    __slots__ = ("__weakref__", "array", "node", "stored_grad", "tangents", "version", "view_of")

    array: Array
    node: Node | None
    version: Version | None
    view_of: Any  # a views.View or None
    tangents: dict[int, Any] | None
    stored_grad: Tensor | None

    __array_priority__ = 1000
    __array_ufunc__ = None  # `numpy_array * tensor` must come to us

    def __init__(
        self,
        data: Any = None,
        *more: Any,
        shape: Shape | None = None,
        dtype: Any = None,
        device: Any = None,
        requires_grad: bool = False,
        stores_grad: bool | None = None,
    ) -> None:
        explain.check_data(data, more, shape)
        if data is None:
            data = backend.zeros(tuple(shape or ()), dtype or backend.default_dtype(), 0.0)
        array = as_payload(data.array if isinstance(data, Tensor) else data, dtype)
        if dtype is None and isinstance(data, list | tuple) and array.dtype.kind in "biu":
            array = as_payload(data, backend.default_dtype())
        self.array = array if device is None else backend.to_device(array, str(device))
        self.node = self.version = self.view_of = self.tangents = self.stored_grad = None
        if requires_grad or stores_grad:
            make_leaf(self)
            if stores_grad is not None and isinstance(self.node, Leaf):
                self.node.stores_grad = stores_grad
        made_of_data(self)

    def __init_subclass__(cls, **options: Any) -> None:
        """Refuse a subclass that does not say how operations treat it, as a node of a static graph
        does. Raises TypeError."""
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

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return int(self.array.ndim)

    @property
    def _version(self) -> int:
        """How often this tensor's memory was modified in place. (PyTorch's name.)"""
        return 0 if self.version is None else self.version.count

    def item(self) -> Any:
        """The one element as a Python number. Raises RuntimeError for several elements."""
        if math.prod(self.array.shape) != 1:
            raise explain.not_one_element(self)
        return backend.to_numpy(self.array).item()

    __float__, __int__, __complex__ = map(_as_number, (float, int, complex))


class Payload:
    """The protocol for payloads that are not arrays: a value that stands for many (batching), or
    that writes down what is done with it (program).

    A payload looks like an array as far as operations do not run on it: `shape`, `ndim`, `dtype`,
    `size`, `strides`, `flags`, `base`, `copy()`, `astype(dtype)` and `payload[...] = values` are
    those of the value that the user sees; `array` is the array inside. Below are the questions that
    the engine asks; only the first one needs an answer. A node of a static graph, which is a Tensor
    without values, answers the first one too, as a static method of its class.
    """

    __slots__ = ()

    @staticmethod
    def __minigrad_apply__(prim: Primitive, operands: Sequence[Any], params: Params) -> Any:
        """Run the operation on payloads of which at least one is of this class. Returns a payload,
        or a tuple of them for an operation with several results."""
        raise NotImplementedError

    @staticmethod
    def __minigrad_rewrite__(prim: Primitive, args: Args, params: Params) -> Any:
        """Asked before an operation on these tensors is recorded: its result computed in another
        way, or None."""
        return None

    def __minigrad_constant__(self, array: Array) -> Any:
        """`array`, a constant that the engine makes beside this value (zeros, the seed of a
        backward pass), as a payload."""
        return array

    def __minigrad_write__(self, tensor: Tensor) -> None:
        """This value is about to be written into the memory of `tensor`."""

    __minigrad_update__: Any = None
    """`(optimizer, param, group)`: a context in which an optimiser updates `param`, whose values
    these are. It gives the settings for the step. None: updated as an array is."""

    def check_fits(self, target: Any, operation: str) -> None:
        """Raise BatchingError unless memory laid out as the payload `target` can hold this
        value."""


class Leaf(Node):
    """The place of a tensor that the user made and whose gradient is wanted. It refers to the
    tensor weakly; the tensor owns it.

    stores_grad: whether a backward pass puts the gradient into `.grad`; array, version: the
    tensor's memory and its counter (None for a bare number), should the tensor have to be made
    again. Subclasses bring their own `store`; else `backward.store_grad` adds to `.grad`.
    """

    __slots__ = ("array", "stores_grad", "tensor", "version")

    def __init__(self, tensor: Tensor, stores_grad: bool = True) -> None:
        self.sequence_number, self.parents = next_sequence_number(), ()
        self.hooks = self.retained = None
        self.array, self.shape, self.dtype = tensor.array, tensor.array.shape, tensor.array.dtype
        self.tensor: weakref.ref[Tensor] = weakref.ref(tensor)
        self.version: Version | None = tensor.version
        self.stores_grad = stores_grad

    def name(self) -> str:
        return "AccumulateGrad"

    @property
    def variable(self) -> Tensor:
        """The leaf tensor (made again if the program dropped it)."""
        tensor = self.tensor()
        if tensor is None:
            tensor = wrap(self.array, self)
            tensor.version = self.version
            self.tensor = weakref.ref(tensor)
        return tensor

    def __repr__(self) -> str:
        return f"<AccumulateGrad object at {id(self):#x}>"


_new: Callable[[type[Tensor]], Tensor] = Tensor.__new__


def wrap(array: Array, node: Node | None = None, tangents: dict[int, Any] | None = None) -> Tensor:
    """A tensor that holds a payload, without copying."""
    out = _new(Tensor)
    out.array, out.node, out.tangents = array, node, tangents
    out.version = out.view_of = out.stored_grad = None
    return out


def tensor(
    data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """A new leaf tensor holding a copy of `data` (numbers, nested lists, arrays, a tensor). Python
    floats become float32, arrays keep their dtype. Raises DTypeError for anything else."""
    array = as_payload(data.array if isinstance(data, Tensor) else data, dtype)
    return new_tensor(array, requires_grad, device)


def new_tensor(array: Any, requires_grad: bool = False, device: Any = None) -> Tensor:
    """A tensor that the user makes, with this payload, moved to a device."""
    if device is not None:
        array = backend.to_device(array, str(device))
    out = wrap(backend.canonical(array))
    if requires_grad:
        make_leaf(out)
    return made_of_data(out)


def made_of_data(tensor: Tensor) -> Tensor:
    """Tell observers of a tensor that was made of data, not by an operation, and return it."""
    if observe.observers:
        observe.tell("tensor_made", tensor)
    return tensor


def as_tensor(value: Any) -> Tensor:
    """`value` itself if it is a tensor, else a new constant tensor holding a copy."""
    return value if isinstance(value, Tensor) else wrap(as_payload(value))


def make_leaf(tensor: Tensor) -> None:
    """Give a constant tensor a Leaf. Raises DTypeError for integers and booleans."""
    if not is_differentiable(tensor.array.dtype):
        raise DTypeError(
            "only tensors of floating or complex dtype can require gradients, got "
            f"{tensor.array.dtype}. Convert first: x.float(), or write 1.0 instead of 1."
        )
    tensor.node = Leaf(tensor)
    if not is_immutable(tensor.array):
        tensor.node.version = memory_version(tensor)


def memory_version(tensor: Tensor) -> Version:
    """The counter of the tensor's memory, made on first use; afterwards the payload is an array
    that can be shared and overwritten."""
    if tensor.version is None:
        made, array = Version(), backend.materialise(tensor.array)
        made.count = 0
        if tensor.version is None:  # no call follows, so CPython switches to no other thread
            tensor.version, tensor.array = made, array
        if isinstance(tensor.node, Leaf):
            tensor.node.array, tensor.node.version = tensor.array, tensor.version
    return tensor.version


def grad_node(tensor: Tensor) -> Node | None:
    """The node that stands for the tensor's present values."""
    if tensor.view_of is not None:
        tensor.view_of.refresh(tensor)
    return tensor.node


def alias(tensor: Tensor) -> Tensor:
    """A constant tensor on the same memory with the same version counter (what `detach`
    returns)."""
    version = memory_version(tensor)
    out = wrap(tensor.array)
    out.version = version
    return out


def overwrite_payload(tensor: Tensor, values: Array) -> None:
    """Put `values` (broadcastable, castable) into the tensor's memory and count it."""
    if isinstance(values, Payload):
        values.__minigrad_write__(tensor)
    version = memory_version(tensor)
    tensor.array[...] = values
    version.count += 1


def make_node(
    prim: Primitive, args: Args, parents: Parents, params: Params, outs: tuple[Tensor, ...]
) -> OpNode:
    """The node of an operation's results: edges to the inputs that need a gradient (`parents`, one
    for each of `args`), and the values that their rules name."""
    mask = 1  # and then one bit per input: does it need a gradient?
    for parent in parents:
        mask = mask << 1 | (parent is not None)
    plan = prim.plans.get(mask) or prim.plan(mask)
    node = OpNode()
    node.sequence_number = next_sequence_number()
    node.parents, node.primitive, node.params, node.plan = tuple(parents), prim, params, plan
    node.unbroadcast = node.hooks = node.retained = node.tangents = None
    out = outs[0].array
    if prim.outputs == 1:
        node.shape, node.dtype = out.shape, out.dtype
        if prim.elementwise and out.shape and len(args) > 1:
            node.unbroadcast = _shapes_to_sum_to(args, parents, out.shape)
    else:
        node.shape = tuple([o.array.shape for o in outs])
        node.dtype = tuple([o.array.dtype for o in outs])  # type: ignore[assignment]
    saved: list[Any] = []
    versions: list[tuple[int, Version, int]] = []
    for source in plan.sources:
        owners: Sequence[Any] = ()
        if source >= 0:
            owners = (args[source],)
            value = args[source].array if type(args[source]) is Tensor else args[source]
        elif source == OUTPUT:
            owners = outs
            value = out if prim.outputs == 1 else tuple([o.array for o in outs])
        else:
            value = args[SHAPES - source].array.shape
        for owner in owners:  # their memory may be overwritten later
            if type(owner) is Tensor and type(owner.array) not in IMMUTABLE:
                version = owner.version or memory_version(owner)
                versions.append((len(saved), version, version.count))
        saved.append(value)
    node.saved, node.versions = tuple(saved), tuple(versions)
    return node


def _shapes_to_sum_to(
    args: Args, parents: Parents, shape: Shape
) -> tuple[Shape | None, ...] | None:
    """For each input that needs a gradient and was broadcast to `shape`, its own shape: its
    contribution will be summed to it. None if no input was."""
    shapes = [
        None if parent is None or a.array.shape == shape else a.array.shape
        for a, parent in zip(args, parents, strict=True)
    ]
    return tuple(shapes) if any([s is not None for s in shapes]) else None


def make_pick(node: Node, index: int) -> Pick:
    """The node of result number `index` of an operation with several, whose node is `node`: the
    one that is in use, or a new one if none is."""
    picks = getattr(node, "picks", None)
    if picks is None:
        picks = node.picks = {}
    made = picks[index]() if index in picks else None
    if made is not None:
        return made  # type: ignore[no-any-return]
    made = Pick()
    picks[index] = weakref.ref(made)
    made.sequence_number, made.parents, made.index = next_sequence_number(), (node,), index
    made.hooks = made.retained = None
    made.shape, made.dtype = node.shape[index], node.dtype[index]  # type: ignore[assignment]
    return made
