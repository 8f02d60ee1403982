"""Views as copies: the functions of PyTorch that end in `_copy` give what the view gives, in
memory of its own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from .. import backend
from .. import functions as fn
from ..arrays.operands import written
from ..arrays.splitting import narrow, split, unbind
from ..arrays.triangles import diagonal
from ..core.tensor import Tensor, as_tensor
from ..errors import ShapeError
from ..names import TensorLike, publish


def _copied(name: str, view: Callable[..., Any], text: str) -> Callable[..., Any]:
    def function(x: Any, *args: Any, **options: Any) -> Any:
        made = view(as_tensor(x), *args, **options)
        return tuple(fn.clone(part) for part in made) if isinstance(made, tuple) else fn.clone(made)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = (
        f"{text}, in memory of its own. Takes and raises what `{name.removesuffix('_copy')}` does."
    )
    return function


alias_copy = _copied("alias_copy", lambda x: x, "x")
diagonal_copy = _copied("diagonal_copy", diagonal, "A diagonal")
expand_copy = _copied(
    "expand_copy",
    lambda x, *size, implicit=False: fn.broadcast_to(x, *size),
    "x broadcast to a shape",
)
narrow_copy = _copied("narrow_copy", narrow, "A stretch of one dimension")
permute_copy = _copied("permute_copy", fn.permute, "x with its dimensions in another order")
squeeze_copy = _copied("squeeze_copy", fn.squeeze, "x without dimensions of length 1")
t_copy = _copied("t_copy", fn.t, "The transposed matrix")
transpose_copy = _copied("transpose_copy", fn.transpose, "x with two dimensions exchanged")
unbind_copy = _copied("unbind_copy", unbind, "The parts at each index of a dimension")
unfold_copy = _copied(
    "unfold_copy",
    lambda x, *args, **options: x.unfold(*args, **options),
    "All windows along a dimension",
)
unsqueeze_copy = _copied("unsqueeze_copy", fn.unsqueeze, "x with a further dimension of length 1")
view_copy = _copied("view_copy", fn.reshape, "x in another shape")
split_with_sizes_copy = _copied(
    "split_with_sizes_copy",
    lambda x, split_sizes, dim=0: split(x, list(split_sizes), dim),
    "Parts of given sizes",
)


# ------------------------------------------------------------------------------- by steps in memory


def _places(
    x: Tensor, size: Sequence[int], stride: Sequence[int], offset: int | None, function: str
) -> Any:
    """Which elements of x, counted row by row, a window with these steps shows."""
    shape, steps, start = tuple(size), tuple(stride), int(offset or 0)
    if len(shape) != len(steps) or any(n < 0 for n in (*shape, *steps, start)):
        raise ShapeError(
            f"{function}: needs a size and a stride, not negative, for each dimension, got {shape},"
            f" {steps} and offset {start}."
        )
    last = start + sum((n - 1) * step for n, step in zip(shape, steps, strict=True))
    if math.prod(shape) and last >= x.numel():
        raise ShapeError(
            f"{function}: size {shape}, stride {steps} and offset {start} reach element {last} of"
            f" the {x.numel()} of shape {x.shape}."
        )
    places = fn.full((), start, dtype=backend.int64, device=x.device)
    for axis, (n, step) in enumerate(zip(shape, steps, strict=True)):
        places = places + (fn.arange(n, device=x.device) * step).reshape(
            (n, *(1,) * (len(shape) - 1 - axis))
        )
    return places


def as_strided_copy(
    x: TensorLike, size: Sequence[int], stride: Sequence[int], storage_offset: int | None = None
) -> Tensor:
    """y[i, j, …] = the element number offset + i · stride[0] + j · stride[1] + … of x, counted row
    by row: overlapping windows, say.

    A copy, and of x as it is indexed, however it lies in memory. (PyTorch's `as_strided`, a view of
    the memory, is not offered.)
    """
    x = as_tensor(x)
    return fn.getitem(x.reshape(-1), _places(x, size, stride, storage_offset, "as_strided_copy"))


@fn.in_own_memory
def as_strided_scatter(
    x: TensorLike,
    src: TensorLike,
    size: Sequence[int],
    stride: Sequence[int],
    storage_offset: int | None = None,
) -> Tensor:
    """x with `src` where `as_strided_copy` reads. The places must be different ones."""
    x, src = as_tensor(x), as_tensor(src)
    places = _places(x, size, stride, storage_offset, "as_strided_scatter")
    if src.shape != places.shape:
        raise ShapeError(
            f"as_strided_scatter: src must have the shape {places.shape} of what it replaces, got"
            f" {src.shape}."
        )
    return written(
        x.reshape(-1),
        src.to(x.dtype).reshape(-1),
        (places.reshape(-1),),
        False,
        "as_strided_scatter",
    ).reshape(x.shape)


publish(__name__, method=False)
