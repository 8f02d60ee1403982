"""The Tensor: an array, its place in the graph, and who else shares its memory. No mathematics here; methods.py adds that.

A tensor is a thin handle with seven slots. `array` is the payload; `node` its place in the graph (a Leaf if the user asked for a gradient,
the node of the operation that made it otherwise, None for a constant); `tangents` its forward-mode derivatives by level; `version` counts
how often the memory was overwritten and is shared with every alias; `window` remembers of which tensor this one is a window.
"""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

from . import nodes, observe
from .backend import Array, DType, NumpyArray, Shape, as_payload, device_of, is_differentiable, is_immutable, materialise
from .errors import DeviceError, DTypeError, NoGradientError, ShapeError
from .nodes import Leaf, Node, Version
from .primitive import Primitive

if TYPE_CHECKING:
    from .tensor_methods import Methods  # what minigrad/names.py attaches
else:
    Methods = object


class View:
    """How a tensor looks into another one's memory.

    base: the tensor that owns the memory (itself a view only if it was made a leaf); step: the view operation that made this one, with its
    parameters; before: the view of which it was made, None where that is the base; seen: the version at which this view's history was last
    derived from the base's; problem: why gradients may not flow through an in-place change of this view ("no_grad", "several"), or None.
    """

    __slots__ = ("base", "before", "problem", "seen", "step")

    def __init__(
        self, base: Tensor, before: View | None, step: tuple[Primitive, dict[str, Any]], seen: int, problem: str | None = None
    ) -> None:
        self.base, self.before, self.step, self.seen, self.problem = base, before, step, seen, problem

    @property
    def steps(self) -> tuple[tuple[Primitive, dict[str, Any]], ...]:
        """The view operations that lead from the base here."""
        way, view = [self.step], self.before
        while view is not None:
            way.append(view.step)
            view = view.before
        return tuple(reversed(way))


class Tensor(Methods):
    """An n-dimensional array that remembers how it was computed.

    Tensor(data) takes numbers, nested lists, NumPy or CuPy arrays (copied) or another tensor (copied, detached); Tensor(shape=(2, 3))
    gives zeros. dtype: lists become float32, whatever numbers they hold (see `set_default_dtype`; `tensor(data)` keeps integers), arrays
    keep theirs. device: "cpu", "cuda", "cuda:1".
    requires_grad: ask for gradients; stores_grad: whether a backward pass also keeps this tensor's gradient in `.grad` and reports it
    (default: as requires_grad). Raises DTypeError if a gradient is asked of integers or booleans.
    """

    __slots__ = ("__weakref__", "_grad", "array", "node", "tangents", "version", "window")

    array: Array
    node: Node | None
    version: Version | None
    window: View | None
    tangents: dict[int, Any] | None
    _grad: Tensor | None

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
        from . import backend

        if more:
            given = ", ".join(map(repr, (data, *more)))
            raise TypeError(
                f"Tensor({given}): the data is one argument, as in Tensor([{given}]). For a tensor of these sizes write zeros({given})."
            )
        if data is None:
            data = backend.zeros(tuple(shape or ()), dtype or backend.default_dtype(), 0.0)
        elif shape is not None and tuple(shape) != tuple(getattr(data, "shape", shape)):
            raise ValueError(f"Tensor(data, shape={tuple(shape)}): data has shape {tuple(data.shape)}. Give one of the two, or reshape.")
        array = as_payload(data.array if isinstance(data, Tensor) else data, dtype)
        if dtype is None and isinstance(data, list | tuple) and array.dtype.kind in "biu":
            array = as_payload(data, backend.default_dtype())
        self.array = array if device is None else backend.to_device(array, str(device))
        self.node = self.version = self.window = self.tangents = self._grad = None
        if requires_grad or stores_grad:
            make_leaf(self)
            if stores_grad is not None and isinstance(self.node, Leaf):
                self.node.stores_grad = stores_grad
        if observe.observers:
            observe.made(self)

    def __init_subclass__(cls, **options: Any) -> None:
        """Refuse a subclass that does not say how operations treat it; this is what a node of a static graph does.

        Raises TypeError.
        """
        super().__init_subclass__(**options)
        if not hasattr(cls, "__minigrad_apply__"):
            raise TypeError(
                f"class {cls.__name__}(Tensor): operations take tensors as they are and would not know this one. Keep a tensor as an "
                "attribute of a class of your own; parameters are attributes of a Module."
            )

    # ------------------------------------------------------------------------------------------------ facts about the payload

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
        """How often this tensor's memory was modified in place."""
        return 0 if self.version is None else self.version.count


_new = Tensor.__new__


def wrap(array: Array, node: Node | None = None, tangents: dict[int, Any] | None = None) -> Tensor:
    """A tensor around a payload, without copying: the engine's own way to make tensors."""
    out = _new(Tensor)
    out.array = array
    out.node = node
    out.tangents = tangents
    out.version = out.window = out._grad = None
    return out


def as_tensor(value: Any) -> Tensor:
    """`value` itself if it is a tensor, else a new constant tensor holding a copy."""
    return value if isinstance(value, Tensor) else wrap(as_payload(value))


def make_leaf(tensor: Tensor) -> None:
    """Give a constant tensor a Leaf. Raises DTypeError for integers and booleans."""
    if not is_differentiable(tensor.array.dtype):
        raise DTypeError(
            f"only tensors of floating or complex dtype can require gradients, got {tensor.array.dtype}. "
            "Convert first: x.float(), or write 1.0 instead of 1."
        )
    tensor.node = Leaf(tensor)
    if not is_immutable(tensor.array):
        tensor.node.version = memory_version(tensor)


def memory_version(tensor: Tensor) -> Version:
    """The counter of the tensor's memory, made on first use; afterwards the payload is an array that can be shared and overwritten."""
    version = tensor.version
    if version is None:
        version = tensor.version = Version()
        version.count = 0
        if is_immutable(tensor.array):
            tensor.array = materialise(tensor.array)
            if isinstance(tensor.node, Leaf):
                tensor.node.array, tensor.node.version = tensor.array, version
    return version


def alias(tensor: Tensor) -> Tensor:
    """A constant tensor on the same memory with the same version counter (what `detach` returns)."""
    version = memory_version(tensor)
    out = wrap(tensor.array)
    out.version = version
    return out


_roles: dict[int, tuple[weakref.ref[Tensor], str]] = {}
"""By identity, the living tensors that `nn.Parameter` and `nn.Buffer` made, and what they are for a module."""


def role_of(tensor: Any) -> str | None:
    """ "parameter", "buffer", "transient" (a buffer that is not part of the state), or None for other tensors."""
    found = _roles.get(id(tensor))
    return None if found is None else found[1]


def set_role(tensor: Tensor, role: str | None) -> None:
    """Say what a tensor is for the module whose attribute it becomes."""
    number = id(tensor)
    if role is not None:
        _roles[number] = (weakref.ref(tensor, lambda _: _roles.pop(number, None)), role)


def overwrite_payload(tensor: Tensor, values: Array) -> None:
    """Put `values` (broadcastable, castable) into the tensor's memory and count it."""
    if type(values) is not NumpyArray and hasattr(type(values), "__minigrad_write__"):
        values.__minigrad_write__(tensor)
    version = memory_version(tensor)
    tensor.array[...] = values
    version.count += 1


def check_gradient(tensor: Tensor, grad: Any) -> None:
    """Raise unless `grad` may become the `.grad` of `tensor`: None, or a tensor of the same shape, dtype and device."""
    if grad is None:
        return
    if not isinstance(grad, Tensor):
        cure = " To forget a gradient write x.grad = None." if isinstance(grad, int | float) and not grad else ""
        raise TypeError(f".grad must be a Tensor or None, got {type(grad).__name__}.{cure}")
    if grad is tensor:
        raise NoGradientError("a tensor cannot be its own .grad.")
    if grad.shape != tensor.shape:
        raise ShapeError(f".grad must have the shape of its tensor: {tensor.shape}, got {grad.shape}.")
    if grad.dtype != tensor.dtype:
        raise DTypeError(f".grad must have the dtype of its tensor: {tensor.dtype}, got {grad.dtype}.")
    if device_of(grad.array) != device_of(tensor.array):
        raise DeviceError(f".grad must be on the device of its tensor: {device_of(tensor.array)}, got {device_of(grad.array)}.")


def _revive(leaf: Leaf) -> Tensor:
    tensor = wrap(leaf.array, leaf)
    tensor.version = leaf.version
    leaf.tensor = weakref.ref(tensor)
    return tensor


nodes._revive = _revive
