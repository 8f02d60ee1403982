"""Methods about shapes, memory layout and views."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from numbers import Integral
from typing import Any

from .. import backend, functions
from ..batching import Batched
from ..core import observe
from ..core.tensor import Tensor, alias, ensure_version
from ..errors import BatchingError, DTypeError, InPlaceError, ProgramError, ShapeError
from ..names import attach, attribute, method
from ..ops.shape import permute


@method
def size(self: Tensor, dim: int | None = None) -> Any:
    """The shape, or the size of one dimension."""
    return self.shape if dim is None else self.shape[functions.axis_of(self.ndim, dim, "size")]


@attribute
def ndim(self: Tensor) -> int:
    """Number of axes."""
    return int(self.array.ndim)


@method
def dim(self: Tensor) -> int:
    """Number of dimensions."""
    return self.ndim


attach("ndimension", dim)
attach("nelement", functions.numel)


@method
def element_size(self: Tensor) -> int:
    """Bytes of one element."""
    return self.dtype.itemsize


attach("itemsize", property(element_size))
attach(
    "nbytes",
    property(lambda self: self.numel() * self.dtype.itemsize, doc="Bytes of all elements."),
)
attach("T", property(lambda self: functions.transpose(self), doc="The axes reversed (a view)."))
attach(
    "mT",
    property(
        lambda self: functions.transpose(self, -2, -1), doc="The last two axes exchanged (a view)."
    ),
)
attach(
    "mH",
    property(
        lambda self: functions.conj(self.mT),
        doc="The conjugate transpose of matrices: a copy if complex, else a view.",
    ),
)
attach(
    "real",
    property(
        lambda self: functions.real(self),
        lambda self, value: functions.real(self).__setitem__(..., value),
        doc="Real part (a view); what is assigned is written into it.",
    ),
)
attach(
    "imag",
    property(
        lambda self: functions.imag(self),
        lambda self, value: functions.imag(self).__setitem__(..., value),
        doc="Imaginary part (a view); what is assigned is written into it.",
    ),
)


@attribute
def H(self: Tensor) -> Tensor:
    """The conjugate transpose of a matrix: a copy if complex, else a view. Raises ShapeError for
    other tensors.
    """
    if self.ndim not in (0, 2):
        raise ShapeError(
            f"H: needs a matrix, got shape {self.shape}. For the last two axes, use mH."
        )
    return functions.conj(functions.transpose(self, -2, -1) if self.ndim else self)


@method
def adjoint(self: Tensor) -> Tensor:
    """The conjugate transpose of matrices, as `mH`."""
    return functions.conj(functions.transpose(self, -2, -1))


@method
def reshape_as(self: Tensor, other: Tensor) -> Tensor:
    """The elements in the shape of another tensor."""
    return functions.reshape(self, other.shape)


@method
def expand(self: Tensor, *shape: Any) -> Tensor:
    """A view in a larger shape, as `broadcast_to`."""
    return functions.broadcast_to(self, *shape)


@method
def expand_as(self: Tensor, other: Tensor) -> Tensor:
    """A view in the shape of another tensor, as `broadcast_to`."""
    return functions.broadcast_to(self, other.shape)


@method
def sum_to_size(self: Tensor, *size: Any) -> Tensor:
    """The sum down to a shape that broadcasts to this one, as `sum_to`."""
    return functions.sum_to(self, *size)


@method
def split_with_sizes(self: Tensor, sizes: Any, dim: int = 0) -> Any:
    """Parts of the given sizes along a dimension (views)."""
    return self.split(list(sizes), dim)


@method
def is_same_size(self: Tensor, other: Tensor) -> bool:
    """Whether another tensor has this one's shape."""
    return self.shape == other.shape


@method
def view(self: Tensor, *shape: Any, dtype: Any = None) -> Tensor:
    """A view of the memory in another shape, or its bytes read as another dtype (`view(dtype)`;
    `.to(dtype)` converts the numbers).

    A dtype of another size divides or joins the elements of the last axis. The result has no
    history; changes of either are seen in the other, and counted for both. Raises ShapeError where
    the layout needs a copy (then use `reshape`) or the bytes cannot be read so.
    """
    if dtype is not None or (len(shape) == 1 and not isinstance(shape[0], Integral | list | tuple)):
        if dtype is not None and shape:
            raise TypeError("view: give a shape or a dtype, not both.")
        return _reinterpreted(self, dtype if dtype is not None else shape[0])
    out = functions.reshape(self, *shape)
    if out.numel() and out.view_of is None and out.array is not self.array:
        raise ShapeError(
            f"view: shape {out.shape} cannot look into the memory of this tensor of shape"
            f" {self.shape} (its elements are not laid out in that order). Use .reshape(...) which"
            " copies, or .contiguous() first."
        )
    return out


@method
def view_as(self: Tensor, other: Tensor) -> Tensor:
    """A view of the memory in the shape of another tensor, as `view`."""
    return view(self, other.shape)


def _reinterpreted(x: Tensor, dtype: Any) -> Tensor:
    """The bytes of x as another dtype, in the same memory."""
    wanted = backend.as_dtype(dtype)
    if wanted is None or wanted.kind not in "biufcV" or wanted.itemsize == 0:
        raise DTypeError(f"view: a dtype of numbers is needed, got {dtype!r}.")
    if isinstance(x.array, Batched):
        raise BatchingError(
            "view(dtype): inside vmap bytes are not read as another dtype. Do it before, or after."
        )
    if observe.observers:  # nothing in a record could say that these are the same bytes
        raise ProgramError(
            "view(dtype): while operations are recorded, bytes are not read as another dtype. Do it"
            " before, or after."
        )
    out = alias(x)
    array, own, new = x.array, x.dtype.itemsize, wanted.itemsize
    if own != new:
        if x.ndim == 0:
            raise ShapeError(
                f"view: a single number of {x.dtype} cannot be read as {wanted}, whose size is"
                " another one."
            )
        if array.strides[-1] != own and array.size:
            raise ShapeError(
                f"view: to read {x.dtype} as {wanted}, the last axis must be contiguous. Use"
                " .contiguous() first."
            )
        if x.shape[-1] * own % new:
            raise ShapeError(
                f"view: the last axis of {x.shape} holds {x.shape[-1] * own} bytes, which {wanted}"
                f" of {new} bytes does not divide."
            )
    if array.size:
        out.array = array.view(wanted)
    else:
        out.array = (
            array.reshape(-1).view(wanted).reshape(*x.shape[:-1], x.shape[-1] * own // new)
            if x.ndim
            else array.view(wanted)
        )
    return out


@method
def contiguous(self: Tensor) -> Tensor:
    """This tensor if its memory is row-major, else a row-major copy."""
    if backend.is_immutable(self.array) or self.array.flags.c_contiguous:
        return self
    return _row_major_copy(self)


@functions.in_own_memory
def _row_major_copy(x: Tensor) -> Tensor:
    return functions.reshape(functions.clone(functions.reshape(x, -1)), x.shape)


@method
def is_contiguous(self: Tensor) -> bool:
    """Whether the memory is row-major."""
    return backend.is_immutable(self.array) or bool(self.array.flags.c_contiguous)


@method
def stride(self: Tensor, dim: int | None = None) -> Any:
    """Steps, in elements, from one index to the next along each axis (or along one)."""
    array = self.array
    strides = tuple(s // array.dtype.itemsize for s in array.strides)
    if not array.size and not any(strides):
        strides = _strides_of_empty(self)
    return strides if dim is None else strides[dim]


def _strides_of_empty(x: Tensor) -> tuple[int, ...]:
    """Those that a row-major tensor with at least one element along each axis would have;
    NumPy's are 0.
    """
    steps = () if x.view_of is None else x.view_of.steps
    if steps and steps[-1][0] is permute:
        axes = steps[-1][1]["axes"]
        own = _row_major([x.shape[axes.index(i)] for i in range(x.ndim)])
        return tuple(own[axis] for axis in axes)
    return _row_major(x.shape)


def _row_major(shape: Sequence[int]) -> tuple[int, ...]:
    return tuple(math.prod(max(n, 1) for n in shape[i + 1 :]) for i in range(len(shape)))


@attribute
def _base(self: Tensor) -> Tensor | None:
    """The tensor that this one is a view of, or None."""
    return None if self.view_of is None else self.view_of.base


@method
def _is_view(self: Tensor) -> bool:
    """Whether this tensor looks into another one's memory."""
    return self.view_of is not None


@method
def data_ptr(self: Tensor) -> int:
    """The address of the first element, to tell whether two tensors share memory."""
    ensure_version(self)
    array = self.array
    return int(array.data.ptr if hasattr(array.data, "ptr") else array.ctypes.data)


def _no_change_of_shape(name: str) -> Callable[..., Tensor]:
    def method(self: Tensor, *_: Any) -> Tensor:
        raise InPlaceError(
            f"{name}: a tensor keeps its shape and memory for life. Make another: y = x.reshape(…),"
            " x.transpose(…), x.squeeze(…)."
        )

    method.__name__, method.__doc__ = name, "Not offered: raises InPlaceError with advice."
    return method


for (
    _name
) in "resize_ resize_as_ set_ squeeze_ swapaxes_ swapdims_ t_ transpose_ unsqueeze_".split():
    attach(_name, _no_change_of_shape(_name))
