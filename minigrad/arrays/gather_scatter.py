"""Reading and writing by index or mask, under PyTorch's names.

Reading an element twice adds its cotangents up. Writing replaces: what was overwritten gets no
gradient, and where an index occurs twice in a write that does not accumulate, the result (as in
PyTorch) depends on the order of writing: keep such indices apart.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .. import backend
from .. import functions as fn
from ..core.tensor import Tensor, as_tensor, wrap
from ..errors import DTypeError, ShapeError, one_of
from ..functions.arguments import check_factor
from ..names import TensorLike, public, publish
from ..ops import index as ix
from .broadcasting import broadcast_shapes, broadcast_tensors
from .operands import (
    along,
    as_index,
    fits_within,
    grid,
    in_dtype_of,
    read_along,
    same_ndim,
    written,
)

# ------------------------------------------------------------------------------------------ reading


def index_select(x: TensorLike, dim: int, index: TensorLike) -> Tensor:
    """The parts at the indices (a vector of integers) of one dimension, as a copy."""
    x = as_tensor(x)
    axis = fn.axis_of(x.ndim, dim, "index_select")
    index = as_index(index, x.shape[axis] if x.ndim else 1, "index_select")
    if index.ndim > 1:
        raise ShapeError(f"index_select: the index must be a vector, got shape {index.shape}.")
    _check_one_place("index_select", x, index)
    if x.ndim == 0:
        return fn.clone(x)
    return fn.getitem(x, along(axis, index.reshape(-1)))


@fn.in_own_memory
def gather(x: TensorLike, dim: int, index: TensorLike) -> Tensor:
    """y[i, j, …] = x[index[i, j, …], j, …] for dim 0, and so on: elements picked along one
    dimension. The index has as many dimensions as x and is in the others no larger. Raises
    IndexError for an index out of range, ShapeError and DTypeError for one that does not fit.
    """
    x, index = as_tensor(x), as_tensor(index)
    axis = fn.axis_of(x.ndim, dim, "gather")
    if index.numel():  # an index of nothing may have any shape
        same_ndim("gather", ("x", x), ("index", index))
        if x.ndim and index.ndim:
            fits_within("gather", "x", index.shape, x.shape, axis)
    index = as_index(index, x.shape[axis] if x.ndim else 1, "gather")
    if index.numel() == 0:
        return x.reshape(-1)[:0].reshape(index.shape)
    if x.ndim and index.ndim:
        return read_along(x, index, axis)
    return read_along(x.reshape(-1), index.reshape(-1), 0).reshape(index.shape)


@fn.in_own_memory
def take(x: TensorLike, index: TensorLike) -> Tensor:
    """The elements of the flattened tensor at the indices (negative ones count from the end), in
    the index's shape.
    """
    x = as_tensor(x)
    return fn.getitem(
        x.reshape(-1), as_index(index, x.numel(), "take", negative=True).reshape(-1)
    ).reshape(as_tensor(index).shape)


@fn.in_own_memory
def take_along_dim(x: TensorLike, indices: Any, dim: int | None = None) -> Tensor:
    """As `gather`, but x and the indices broadcast against each other; without `dim` elements of
    the flattened tensor.
    """
    x, indices = as_tensor(x), as_tensor(indices)
    if dim is None:
        return take(x, indices.reshape(-1))
    same_ndim("take_along_dim", ("x", x), ("indices", indices))
    axis = fn.axis_of(x.ndim, dim, "take_along_dim")
    rest: Callable[..., tuple[int, ...]] = lambda shape: tuple(
        1 if i == axis else n for i, n in enumerate(shape)
    )
    common = broadcast_shapes(rest(x.shape), rest(indices.shape))
    wide: Callable[[Tensor], Tensor] = lambda t: fn.broadcast_to(
        t, tuple(t.shape[axis] if i == axis else n for i, n in enumerate(common))
    )
    index = as_index(indices, x.shape[axis], "take_along_dim", negative=True)
    return read_along(wide(x), wide(index), axis)


def masked_select(x: TensorLike, mask: TensorLike) -> Tensor:
    """The elements where the mask is true, as a vector; x and the mask broadcast."""
    x, mask = broadcast_tensors(x, _mask(mask, "masked_select"))
    return fn.getitem(x, mask)


def argwhere(x: TensorLike) -> Tensor:
    """The indices of the elements that are not 0, one row each."""
    return fn.nonzero(x)


def _mask(mask: TensorLike, function: str) -> Tensor:
    mask = as_tensor(mask)
    if mask.dtype.kind != "b":
        raise DTypeError(
            f"{function}: the mask must be boolean, got {mask.dtype}. Compare first, as in x > 0."
        )
    return mask


# ---------------------------------------------------------------------------------- writing by mask


@public(in_place=True)
def masked_fill(x: TensorLike, mask: TensorLike, value: Any) -> Tensor:
    """x with one value (a number or a 0-d tensor) where the mask is true; the dtype of x. NaN that
    is overwritten does not reach the gradient.
    """
    x = as_tensor(x)
    if isinstance(value, Tensor) and value.ndim:
        raise ShapeError(
            f"masked_fill: the value must be a number or a 0-d tensor, got shape {value.shape}. Use"
            " where(mask, value, x)."
        )
    if backend.is_complex(as_tensor(value).dtype) and not backend.is_complex(x.dtype):
        raise DTypeError(
            f"masked_fill: a complex value cannot be written into {x.dtype}; take .real first."
        )
    return fn.where(_mask(mask, "masked_fill"), in_dtype_of(x, value), x)


@public(in_place=True)
def masked_scatter(x: TensorLike, mask: TensorLike, source: TensorLike) -> Tensor:
    """x with the elements of `source`, in order, where the mask is true."""
    x, mask = broadcast_tensors(x, _mask(mask, "masked_scatter"))
    count = int(fn.sum(mask).item())
    source = as_tensor(source)
    _check_dtype("masked_scatter", x, source)
    if source.numel() < count:
        raise ShapeError(
            f"masked_scatter: the mask is true {count} times, the source has only {source.numel()}"
            " elements."
        )
    return written(x, source.reshape(-1)[:count], (mask,), False, "masked_scatter")


# --------------------------------------------------------------------------------- writing by index


def _check_dtype(function: str, x: Tensor, given: Tensor, what: str = "the source") -> None:
    if given.dtype != x.dtype:
        raise DTypeError(
            f"{function}: {what} must have the dtype of x, {x.dtype}, got {given.dtype}."
        )


def _place(x: Tensor, dim: int, index: TensorLike, function: str) -> tuple[int, Tensor]:
    axis = fn.axis_of(x.ndim, dim, function)
    index = as_index(index, x.shape[axis] if x.ndim else 1, function)
    if index.ndim > 1:
        raise ShapeError(f"{function}: the index must be a vector, got shape {index.shape}.")
    return axis, index.reshape(-1)


def _check_one_place(function: str, x: Tensor, index: Tensor) -> None:
    """Raise ShapeError unless a 0-d x, which has one place, is given one index."""
    if x.ndim == 0 and index.numel() != 1:
        raise ShapeError(
            f"{function}: x has no dimensions, so it takes one index, got {index.numel()}."
        )


def _parts(
    x: Tensor, dim: int, index: TensorLike, source: TensorLike, function: str
) -> tuple[Tensor, int, Tensor, Tensor]:
    """x with one dimension at least, the axis, a vector of indices, and as many parts of `source`.

    A 0-d source is one part of a 0-d x; `index_copy` takes it for a vector of one element too, and
    vectors for a 0-d x, as in PyTorch.
    """
    axis, index = _place(x, dim, index, function)
    source, copies = as_tensor(source), function == "index_copy"
    _check_dtype(function, x, source)
    if not copies:
        _check_one_place(function, x, index)
    parts = (*x.shape[:axis], index.shape[0], *x.shape[axis + 1 :])
    wanted = parts if copies or x.ndim else ()
    if source.shape != wanted and not (copies and source.ndim == 0 and parts == (1,)):
        raise ShapeError(
            f"{function}: with x of shape {x.shape} and {index.shape[0]} indices in dimension {dim}"
            f" the source must have shape {wanted}, got {source.shape}."
        )
    return x if x.ndim else x.reshape(1), axis, index, source.reshape(parts)


def _whole(
    x: Tensor, dim: int, index: TensorLike, source: TensorLike, accumulate: bool, function: str
) -> Tensor:
    """Parts of `source` written to (or added at) the indices of one dimension."""
    wide, axis, index, source = _parts(x, dim, index, source, function)
    result = written(wide, source, along(axis, index), accumulate, function)
    return result if x.ndim else result.reshape(())


@public(in_place=True)
def index_add(
    x: TensorLike, dim: int, index: TensorLike, source: TensorLike, *, alpha: Any = 1
) -> Tensor:
    """x with alpha times the parts of `source` added at the indices of one dimension; repeated
    indices accumulate.
    """
    x, source = as_tensor(x), as_tensor(source)
    if type(alpha) is not int or alpha != 1:
        check_factor("index_add", "alpha", alpha, x, source)
        source = source * alpha
    return _whole(x, dim, index, source, True, "index_add")


@public(in_place=True)
def index_copy(x: TensorLike, dim: int, index: TensorLike, source: TensorLike) -> Tensor:
    """x with the parts at the indices of one dimension replaced by those of `source`."""
    return _whole(as_tensor(x), dim, index, source, False, "index_copy")


@public(in_place=True)
def index_fill(x: TensorLike, dim: int, index: TensorLike, value: Any) -> Tensor:
    """x with one value (a number or a 0-d tensor) at the indices of one dimension."""
    x = as_tensor(x)
    axis, index = _place(x, dim, index, "index_fill")
    value = in_dtype_of(x, value)
    if value.ndim:
        raise ShapeError(
            f"index_fill: the value must be a number or a 0-d tensor, got shape {value.shape}."
        )
    # By a mask and not by writing: an index that occurs twice fills its place once, and its
    # cotangent must count once.
    no, yes = (
        f(x.shape[axis] if x.ndim else 1, dtype=backend.bool_, device=x.device)
        for f in (fn.zeros, fn.ones)
    )
    filled = written(no, yes[:1], (index,), False, "index_fill")
    return fn.where(
        filled.reshape((-1, *(1,) * (x.ndim - axis - 1))) if x.ndim else filled.reshape(()),
        value,
        x,
    )


@public(in_place=True)
def scatter(
    x: TensorLike,
    dim: int,
    index: TensorLike,
    src: Any = None,
    *,
    value: Any = None,
    reduce: str | None = None,
) -> Tensor:
    """x with x[index[i, j, …], j, …] = src[i, j, …] for dim 0, and so on. src: a tensor at least as
    large as the index (a 0-d tensor counts as one of one element), or one number for all (also as
    `value=`, there also a 0-d tensor); reduce="add" adds and "multiply" multiplies instead of
    replacing.
    """
    x, index = as_tensor(x), as_tensor(index)
    one_of("scatter", "reduce", reduce, None, "add", "multiply")
    axis = fn.axis_of(x.ndim, dim, "scatter")
    index = as_index(index, x.shape[axis] if x.ndim else 1, "scatter")
    if index.numel() == 0:
        return fn.clone(x)
    if src is None and value is None:
        raise TypeError("scatter: give src (a tensor) or value (a number).")
    if src is None and isinstance(value, Tensor) and value.ndim:
        raise ShapeError(f"scatter: value must be one number, got shape {value.shape}. Use src.")
    operands = [x, index, src] if isinstance(src, Tensor) else [x, index]
    same_ndim("scatter", *zip(("x", "index", "src"), operands, strict=False))
    if 0 in [t.ndim for t in operands]:
        row = src.reshape(-1) if isinstance(src, Tensor) else src
        flat = scatter(x.reshape(-1), 0, index.reshape(-1), row, value=value, reduce=reduce)
        return flat.reshape(x.shape)
    fits_within("scatter", "x", index.shape, x.shape, axis)
    if isinstance(src, Tensor):
        _check_dtype("scatter", x, src, "src")
        fits_within("scatter", "src", index.shape, src.shape)
        source = src[tuple(slice(0, n) for n in index.shape)]
    else:
        source = in_dtype_of(x, value if src is None else src)
    if reduce == "multiply":
        return _scatter_product(x, fn.broadcast_to(source, index.shape), grid(index, axis))
    return written(x, source, grid(index, axis), reduce == "add", "scatter")


@public(in_place=True)
def scatter_add(x: TensorLike, dim: int, index: TensorLike, src: TensorLike) -> Tensor:
    """x with src[i, j, …] added to x[index[i, j, …], j, …] for dim 0, and so on; repeated
    indices accumulate.
    """
    return scatter(x, dim, index, as_tensor(src), reduce="add")


@public(in_place=True)
def scatter_reduce(
    x: TensorLike,
    dim: int,
    index: TensorLike,
    src: TensorLike,
    reduce: str,
    *,
    include_self: bool = True,
) -> Tensor:
    """x with x[index[i, j, …], j, …] reduced with all src[i, j, …] of that index for dim 0, and so
    on.

    reduce: "sum", "prod", "mean", "amax", "amin"; include_self: whether the element of x counts
    among what is reduced. Elements that no index names stay. The derivative of products is right
    where factors are 0. Raises as `scatter` does.

    Equal largest (smallest) ones share the derivative in equal parts. The element of x is one of
    them only if `include_self`; PyTorch counts an equal element of x without it too, so that its
    parts of the derivative then add up to less than 1.
    """
    x, index, src = as_tensor(x), as_tensor(index), as_tensor(src)
    one_of("scatter_reduce", "reduce", reduce, "sum", "prod", "mean", "amax", "amin")
    axis = fn.axis_of(x.ndim, dim, "scatter_reduce")
    index = as_index(index, x.shape[axis] if x.ndim else 1, "scatter_reduce")
    _check_dtype("scatter_reduce", x, src, "src")
    if index.numel() == 0:
        return fn.clone(x)
    same_ndim("scatter_reduce", ("x", x), ("index", index), ("src", src))
    if reduce in ("mean", "prod") and backend.is_narrow(x.dtype):  # rounded once, at the end
        x, src, narrow = x.to(backend.float32), src.to(backend.float32), x.dtype
        return scatter_reduce(x, dim, index, src, reduce, include_self=include_self).to(narrow)
    if x.ndim == 0 or index.ndim == 0 or src.ndim == 0:
        flat = scatter_reduce(
            x.reshape(-1), 0, index.reshape(-1), src.reshape(-1), reduce, include_self=include_self
        )
        return flat.reshape(x.shape)
    fits_within("scatter_reduce", "x", index.shape, x.shape, axis)
    fits_within("scatter_reduce", "src", index.shape, src.shape)
    src, place = src[tuple(slice(0, n) for n in index.shape)], grid(index, axis)
    if not include_self:
        neutral = in_dtype_of(x, _neutral(reduce, x.dtype))
        x = written(x, neutral, place, False, "scatter_reduce")
    if reduce in ("amax", "amin"):
        return ix.scatter_extreme(
            x, src, index=fn.plain_index(place, x.array), largest=reduce == "amax"
        )
    if reduce == "prod":
        return _scatter_product(x, src, place)
    total = written(x, src, place, True, "scatter_reduce")
    if reduce == "sum":
        return total
    count = fn.full_like(x, int(include_self), dtype=backend.int64)
    count = fn.clamp(
        written(count, fn.ones_like(src, dtype=backend.int64), place, True, "scatter_reduce"), 1
    )
    if backend.is_differentiable(x.dtype):
        return total / count
    return fn.floor_divide(total, count.to(x.dtype))


def _neutral(reduce: str, dtype: backend.DType) -> Any:
    """The number that changes no result of a reduction."""
    if reduce in ("amax", "amin"):
        return backend.lowest(dtype) if reduce == "amax" else backend.highest(dtype)
    return {"sum": 0, "mean": 0, "prod": 1}[reduce]


def nonzero_static(x: TensorLike, *, size: int, fill_value: int = -1) -> Tensor:
    """The first `size` rows of `nonzero`, completed with rows of `fill_value`: a result whose shape
    does not depend on the values. No derivative.
    """
    if size < 0:
        raise ValueError(f"nonzero_static: size must not be negative, got {size}.")
    found = argwhere(x)[:size]
    missing = fn.full(
        (size - found.shape[0], found.shape[1]),
        fill_value,
        dtype=backend.int64,
        device=found.device,
    )
    return fn.cat([found, missing], 0)


@public(in_place=True)
def index_reduce(
    x: TensorLike,
    dim: int,
    index: TensorLike,
    source: TensorLike,
    reduce: str,
    *,
    include_self: bool = True,
) -> Tensor:
    """x with x[index[k], j, …] reduced with all source[k, j, …] of that index for dim 0, and so on:
    `scatter_reduce` by whole slices.

    reduce: "prod", "mean", "amax", "amin"; include_self as there.
    """
    x = as_tensor(x)
    if reduce not in ("prod", "mean", "amax", "amin"):
        raise ValueError(
            f'index_reduce: reduce must be "prod", "mean", "amax" or "amin", got {reduce!r}. To add'
            " there is index_add."
        )
    wide, axis, index, source = _parts(x, dim, index, source, "index_reduce")
    everywhere = fn.broadcast_to(index.reshape((-1, *(1,) * (wide.ndim - axis - 1))), source.shape)
    result = scatter_reduce(wide, axis, everywhere, source, reduce, include_self=include_self)
    return result if x.ndim else result.reshape(())


@fn.in_own_memory
def _scatter_product(x: Tensor, src: Tensor, place: tuple[Tensor, ...]) -> Tensor:
    """x times all src of each place, in rounds: the first of each place, then the second, … No
    round has a place twice, so each is a reading, a product and a writing, which have derivatives.
    """
    width, flat = 1, None
    for part, size in zip(reversed(place), reversed(x.shape), strict=True):
        flat = part * width if flat is None else flat + part * width
        width *= size
    targets = backend.to_numpy(fn.broadcast_to(flat, src.shape).array).reshape(-1)
    order = targets.argsort(kind="stable")
    ordered = targets[order]
    first = backend.numpy.searchsorted(ordered, ordered)
    rank = backend.numpy.arange(len(ordered)) - first  # how many before it go to the same place
    product, factors = x.reshape(-1), src.reshape(-1)
    for turn in range(int(rank.max(initial=-1)) + 1):
        chosen = order[rank == turn]
        there = (wrap(backend.to_device_of(targets[chosen], x.array)),)
        factor = factors[wrap(backend.to_device_of(chosen, x.array))]
        product = written(product, product[there] * factor, there, False, "scatter_reduce")
    return product.reshape(x.shape)


@public(in_place=True)
@fn.in_own_memory
def put(x: TensorLike, index: TensorLike, source: TensorLike, accumulate: bool = False) -> Tensor:
    """x with the elements of `source` at the indices of the flattened tensor (negative ones
    count from the end), or added there.
    """
    x, source = as_tensor(x), as_tensor(source)
    index = as_index(index, x.numel(), "put", negative=True)
    _check_dtype("put", x, source)
    if source.numel() != index.numel():
        raise ShapeError(f"put: {index.numel()} indices for {source.numel()} elements.")
    return written(
        x.reshape(-1), source.reshape(-1), (index.reshape(-1),), accumulate, "put"
    ).reshape(x.shape)


@public(method=False)
def unravel_index(indices: Any, shape: int | Sequence[int]) -> tuple[Tensor, ...]:
    """Places in a flattened tensor of the given shape as one index for each dimension."""
    given, sizes = as_tensor(indices), (shape,) if isinstance(shape, int) else tuple(shape)
    if given.dtype.kind not in "iu":
        raise DTypeError(f"unravel_index: indices must be integers, got {given.dtype}.")
    if any(n < 0 for n in sizes):
        raise ShapeError(f"unravel_index: sizes cannot be negative, got {sizes}.")
    rest = given.to(backend.int64)
    places = []
    for n in reversed(sizes):
        places.append(rest % n)
        rest = fn.floor_divide(rest, n)
    return tuple(reversed(places))


publish(__name__)
