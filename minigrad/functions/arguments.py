"""Checked arguments: sizes, axes, indices and values as operations take them."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

from .. import backend
from ..backend import DType, Shape, as_payload
from ..core.graph import state
from ..core.tensor import Tensor, as_tensor, current_node, wrap
from ..errors import DTypeError, ShapeError
from ..names import TensorLike


def sizes_of(sizes: Sequence[Any]) -> Shape:
    """The sizes in `f(2, 3)` or `f((2, 3))`. Raises TypeError for what is no whole number."""
    if len(sizes) == 1 and isinstance(sizes[0], list | tuple):
        sizes = sizes[0]
    try:
        return tuple(operator.index(n) for n in sizes)
    except TypeError:
        raise TypeError(
            f"sizes must be whole numbers, got {', '.join(repr(n) for n in sizes)}."
        ) from None


def whole_numbers(value: Any, function: str, name: str) -> Any:
    """A number as an int, a sequence as a list of ints. Raises TypeError for what is no whole
    number, and for a tensor of several axes.
    """
    try:
        if hasattr(value, "__iter__") and getattr(value, "ndim", None) != 0:
            parts = list(value)
            if any(getattr(n, "ndim", 0) for n in parts):
                raise TypeError
            return [operator.index(n) for n in parts]
        return operator.index(value)
    except TypeError:
        raise TypeError(f"{function}: {name} must be whole numbers, got {value!r}.") from None


def without_graph(value: Any, function: str, name: str) -> Any:
    """`value` itself. Raises TypeError for a tensor that carries a graph while operations are
    recorded, or tangents: no derivative by this argument is computed.
    """
    if type(value) is Tensor:
        graph = state.recording and current_node(value) is not None
        if graph or (value.tangents and state.levels):
            raise TypeError(
                f"{function}: {name} carries {'a graph' if graph else 'tangents'}, and {function}"
                f" has no derivative with respect to it. Give a number, {name}.item(), or multiply"
                " and add tensors instead."
            )
    return value


def like(x: Tensor, dtype: Any, device: Any) -> dict[str, Any]:
    """The dtype and the device, those of x unless given."""
    return {"dtype": dtype or x.dtype, "device": device or backend.device_of(x.array)}


def not_negative(sizes: Shape) -> Shape:
    """`sizes` themselves. Raises ShapeError for a negative one."""
    if any(n < 0 for n in sizes):
        raise ShapeError(f"sizes must be at least 0, got {sizes}.")
    return sizes


def tensor_for_cast(data: Any, dtype: DType) -> Tensor:
    """`data` as a tensor that is cast to `dtype` next. Python's floats keep their double precision,
    whatever the default dtype is; integers must be in the range of `dtype`.
    """
    if isinstance(data, Tensor):
        return data
    array = as_payload(data, dtype if type(data) is int else None)
    if isinstance(data, float | complex | list | tuple) and array.dtype.kind in "fc":
        array = as_payload(data, backend.promote_types(array.dtype, backend.float64))
    elif isinstance(data, list | tuple) and dtype.kind in "iu":
        array = as_payload(data, dtype)
    return wrap(array)


def axis_of(ndim: int, dim: Any, function: str) -> int:
    """One axis as a non-negative int."""
    if isinstance(dim, bool) or not hasattr(dim, "__index__"):
        raise TypeError(f"{function}: a dimension must be an int, got {type(dim).__name__}.")
    dim = dim.__index__()
    span = max(ndim, 1)
    if not -span <= dim < span:
        raise IndexError(
            f"{function}: dimension {dim} is out of range; a tensor with {ndim} dimensions takes"
            f" {-span} to {span - 1}."
        )
    return int(dim % span)


def axes_of(x: Tensor, dim: Any, function: str) -> tuple[int, ...]:
    """`dim` (None, an int, a sequence) as sorted non-negative axes. Raises IndexError for one out
    of range, RuntimeError for one named twice.
    """
    if dim is None or (isinstance(dim, list | tuple) and len(dim) == 0):
        return tuple(range(x.ndim))
    dims = [dim] if not isinstance(dim, list | tuple) else dim
    axes = tuple(axis_of(x.ndim, d, function) for d in dims)
    if len(set(axes)) != len(axes):
        raise RuntimeError(f"{function}: dimension named more than once in dim={tuple(dims)}.")
    return tuple(sorted(axes))


def reduced_axes(x: Tensor, axes: tuple[int, ...]) -> tuple[int, ...]:
    """The axes that x has: a 0-d tensor has none, though -1 and 0 are allowed to be named."""
    return tuple(a for a in axes if a < x.ndim)


def axes_to_reduce(x: Tensor, dim: Any, function: str) -> tuple[int, ...]:
    """`dim` of a reduction (None, an int, a sequence) as axes that x has."""
    ndim = x.array.ndim
    if type(dim) is int and -ndim <= dim < ndim:  # the usual case
        return (dim % ndim,)
    return tuple(range(ndim)) if dim is None else reduced_axes(x, axes_of(x, dim, function))


_RANK_OF_KIND = {"b": 0, "u": 1, "i": 1, "f": 2, "V": 2, "c": 3}


def check_factor(function: str, name: str, factor: Any, *operands: Any) -> None:
    """Raise DTypeError for a factor that would change the kind of the result: a floating one beside
    integers, a complex one beside real numbers, a boolean beside numbers.

    PyTorch refuses these too, or cuts the factor off.
    """
    values = [a.array if isinstance(a, Tensor) else a for a in (factor, *operands)]
    kind, dtype = backend.result_type(values[:1]).kind, backend.result_type(values[1:])
    rank, most = _RANK_OF_KIND[kind], _RANK_OF_KIND[dtype.kind]
    if rank > max(most, 1) or (kind == "b" and dtype.kind != "b"):
        what = ("a boolean", "an integer", "a floating-point number", "a complex number")[rank]
        raise DTypeError(
            f"{function}: {name} is {what} ({factor!r}), but the operands are {dtype}. "
            f"Convert them first, or write the product out: {name} * y promotes."
        )


def in_one_dtype(*operands: Any) -> list[Any]:
    """Operands in the dtype of their sum, where tensors differ in it: before one of them is
    multiplied by a number, of which float32 has fewer digits than a float64 sum. Of a static graph
    they are left as they are."""
    tensors = [v for v in operands if isinstance(v, Tensor)]
    if any(type(v) is not Tensor for v in tensors) or len({v.dtype for v in tensors}) < 2:
        return list(operands)
    dtype = backend.result_type([getattr(v, "array", v) for v in operands])
    return [v.to(dtype) if isinstance(v, Tensor) else v for v in operands]


def not_below(function: str, name: str, value: Any, least: Any) -> None:
    """Raise ValueError for a number below the least one that has a meaning."""
    if value < least:
        raise ValueError(f"{function}: {name} must be at least {least!r}, got {value!r}.")


def either(first: Any, second: Any) -> Any:
    """`dim=`, or `axis=` where that is None."""
    return second if first is None else first


def listed(tensors: Sequence[Any], dim: Any, function: str) -> list[Tensor]:
    """A sequence of tensors. Raises TypeError for tensors one by one, ValueError for none."""
    if isinstance(dim, Tensor):
        raise TypeError(
            f"{function}: the tensors come in one list, as in {function}([a, b], dim=0); got them"
            " one by one."
        )
    parts = [as_tensor(x) for x in tensors]
    if not parts:
        raise ValueError(f"{function}: expected a non-empty list of tensors.")
    return parts


def plain_index(index: TensorLike, like: Any, whole: bool = True) -> Any:
    """The index with tensors and sequences replaced by arrays, on the device of the payload `like`;
    bytes are a mask, as in PyTorch. A copy, so that no change of the index reaches the backward
    pass. whole: whether this is all of the index, or the part for one axis.
    """
    if type(index) is tuple and all(
        [type(part) in _PLAIN_PARTS or _is_plain_slice(part) for part in index]
    ):
        return index
    if whole and isinstance(index, list) and _stands_for_tuple(index):
        index = tuple(index)
    if isinstance(index, tuple):
        parts = tuple(
            plain_index(list(part) if isinstance(part, tuple | range) else part, like, False)
            for part in index
        )
        return _with_fitting_masks(parts, like)
    if isinstance(index, Tensor | list | range):
        kind = "tensors" if isinstance(index, Tensor) else "lists"
        array = (
            backend.materialise(index.array)
            if isinstance(index, Tensor)
            else backend.index_array(list(index))
        )
        if array.dtype.kind not in "iub":
            raise IndexError(
                f"{kind} used as indices must hold integers or booleans, got {array.dtype}."
            )
        index = array
    if hasattr(type(index), "__minigrad_apply__"):  # a batched or recorded index
        return index.copy()
    if hasattr(index, "dtype") and hasattr(index, "ndim"):
        if index.dtype == backend.uint8 and not isinstance(index, backend.numpy.generic):
            index = index != 0
        index = (
            int(index)
            if index.ndim == 0 and index.dtype.kind in "iu"
            else backend.to_device_of(index.copy(), like)
        )
        return _with_fitting_masks((index,), like)[0] if whole else index
    if index is None or index is Ellipsis or isinstance(index, slice | int):
        return _plain_slice(index)
    if hasattr(index, "__index__"):
        return index.__index__()
    raise IndexError(
        "an index is made of integers, slices, None, Ellipsis and arrays, got"
        f" {type(index).__name__}."
    )


_PLAIN_PARTS = (int, type(None), type(Ellipsis))


def _is_plain_slice(part: Any) -> bool:
    """Whether a part of an index is a slice between Python integers: the usual one, left as it
    is.
    """
    return (
        type(part) is slice
        and (part.start is None or type(part.start) is int)
        and (part.stop is None or type(part.stop) is int)
        and (part.step is None or type(part.step) is int)
    )


def _with_fitting_masks(parts: tuple[Any, ...], like: Any) -> tuple[Any, ...]:
    """The parts of an index. Raises IndexError for an empty mask on an axis that is not empty,
    which NumPy lets pass.
    """
    is_mask = [getattr(getattr(part, "dtype", None), "kind", "") == "b" for part in parts]
    if not any(
        mask and part.ndim and not part.size for part, mask in zip(parts, is_mask, strict=True)
    ):
        return parts
    read = [
        (
            part.ndim
            if mask
            else 0
            if part is None or part is Ellipsis or isinstance(part, bool)
            else 1
        )
        for part, mask in zip(parts, is_mask, strict=True)
    ]
    axis = 0
    for part, mask, count in zip(parts, is_mask, read, strict=True):
        if mask and part.shape != tuple(like.shape[axis : axis + count]):
            raise IndexError(
                f"a mask of shape {part.shape} does not fit axis {axis} of a tensor of shape"
                f" {tuple(like.shape)}."
            )
        axis += like.ndim - sum(read) if part is Ellipsis else count
    return parts


def _stands_for_tuple(index: list[Any]) -> bool:
    """Whether a list is an index for each axis and not the indices of one: where it holds
    anything but numbers (PyTorch's rule).
    """
    parts = (Tensor, list, tuple, range, slice, backend.NumpyArray)
    return len(index) < 32 and any(
        p is None or p is Ellipsis or isinstance(p, parts) for p in index
    )


def _plain_slice(index: TensorLike) -> Any:
    if not isinstance(index, slice):
        return index
    number: Callable[[Any], Any] = lambda v: v if v is None else operator.index(v)
    try:
        return slice(number(index.start), number(index.stop), number(index.step))
    except TypeError:
        raise TypeError(f"a slice is made of whole numbers or None, got {index!r}.") from None
