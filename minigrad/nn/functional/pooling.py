"""Pooling: the largest element, the mean or a norm of each window, or of as even parts of the axes
as possible.

All of it goes axis by axis, the last one first: the largest of a window is the largest of its rows'
largest, its sum the sum of their sums.
"""

# mypy: disable-error-code="no-any-return, no-untyped-call"

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from types import MappingProxyType
from typing import Any

from ... import backend, functions
from ...core.tensor import Tensor, as_tensor
from ...errors import ShapeError
from ...functions import arange, cat, in_own_memory, where
from ...observers import Parts, Pooling, Stage, calls
from ...ops import pooling as pooling_ops
from ...ops.elementwise import cast, div, in_float32
from ...ops.index import getitem, index_put
from ...ops.shape import pad_axis
from .arguments import check_integers, check_range, each, on_axis, span, table
from .numbered import numbered

__all__ = [
    "adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "adaptive_max_pool1d",
    "adaptive_max_pool2d", "adaptive_max_pool3d", "avg_pool1d", "avg_pool2d", "avg_pool3d",
    "lp_pool1d", "lp_pool2d", "lp_pool3d", "max_pool1d", "max_pool2d", "max_pool3d", "max_unpool1d",
    "max_unpool2d", "max_unpool3d",
]  # fmt: skip

# ------------------------------------------------------------------------------ the largest element


def _max_pool(axes: int) -> Callable[..., Any]:
    def max_pool(
        input: Any,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        dilation: Any = 1,
        ceil_mode: bool = False,
        return_indices: bool = False,
    ) -> Any:
        """Largest element of each window of {images}; stride is kernel_size by default; padding
        never wins.

        The first of equal elements in row-major order gets the derivative. return_indices: its
        place in the flattened image too (int64).
        """
        x, function = as_tensor(input), f"max_pool{axes}d"
        setup = _pool_setup(x, kernel_size, stride, padding, dilation, ceil_mode, axes, function)
        if not return_indices:
            return _pooled(pooling_ops.max_pool, x, setup)
        places = _places(x, axes)
        for along in setup:
            y = pooling_ops.max_pool(x, **along)
            places = pooling_ops.max_pool_jvp(places, x.detach(), y.detach(), **along)
            x = y
        return x, places

    return max_pool


max_pool1d, max_pool2d, max_pool3d = _MAX_POOLS = numbered(_max_pool)


def _pooled(
    operation: Any,
    x: Tensor,
    setup: list[dict[str, Any]],
    divisors: Sequence[Any] = (),
    parts: Mapping[int, Parts] = MappingProxyType({}),
) -> Any:
    """Pool axis by axis, then divide; who observes may ask for all of it (observers.py). parts: of
    axes whose windows have several sizes."""
    stages: list[Stage] = []
    for along in setup:
        if along["axis"] in parts:
            stages += _laid_out(operation, x, along, parts[along["axis"]])
        stages.append((operation, (), along))
    if divisors and not (x.is_floating_point() or x.is_complex()):  # integers stay integers
        inside, outside = ((cast, (), {"dtype": dtype}) for dtype in (backend.float32, x.dtype))
        stages += [inside, *((div, (d,), {}) for d in divisors), outside]
    else:
        stages += [(div, (d,), {}) for d in divisors]
    pooling = Pooling(operation, tuple(setup), tuple(divisors), tuple(stages), parts)
    calls.pooling = pooling if len(stages) > 1 else None
    try:
        for stage, others, params in stages:
            x = stage(x, *others, **params)
        return x
    finally:
        calls.pooling = None


def _laid_out(operation: Any, x: Tensor, along: dict[str, Any], parts: Parts) -> list[Stage]:
    """The stages that place parts of several sizes side by side as windows of the largest size: a
    smaller one ends with its first element once more, or with zero where elements are added up."""
    axis, size, n = along["axis"], along["size"], x.shape[along["axis"]]
    added = operation is pooling_ops.sum_pool
    places = [
        place
        for start, stop in parts
        for place in (*range(start, stop), *[n if added else start] * (size - (stop - start)))
    ]
    index = (*[slice(None)] * axis, table(places, backend.int64, x).array)
    zero: list[Stage] = [(pad_axis, (), {"axis": axis, "before": 0, "after": 1})] if added else []
    return [*zero, (getitem, (), {"index": index})]


def _places(x: Tensor, axes: int) -> Tensor:
    """The number of each element in its image, the last `axes` axes."""
    size = x.shape[x.ndim - axes :]
    return arange(math.prod(size), device=x.device).reshape(size).broadcast_to(x.shape)


def _max_unpool(axes: int) -> Callable[..., Tensor]:
    @functions.in_own_memory
    def max_unpool(
        input: Any,
        indices: Any,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        output_size: Any = None,
    ) -> Tensor:
        """Each element of {images} at the place that `max_pool{axes}d(…, return_indices=True)`
        named, zeros elsewhere. output_size: of the image, where several would have given the
        windows.
        """
        function, x, index = f"max_unpool{axes}d", as_tensor(input), as_tensor(indices)
        if x.shape != index.shape or x.ndim not in (axes + 1, axes + 2):
            raise ShapeError(
                f"{function}: input of shape {x.shape} and indices of shape {index.shape} must"
                f" agree and have {axes + 2} axes."
            )
        check_integers(index, function, "indices")
        kernel = each(kernel_size, axes, function, "kernel_size", 1)
        around = each(padding, axes, function, "padding")
        steps = kernel if stride is None else each(stride, axes, function, "stride", 1)
        size = [
            (n - 1) * s - 2 * p + k
            for n, s, p, k in zip(x.shape[-axes:], steps, around, kernel, strict=True)
        ]
        if output_size is not None:
            asked = list(output_size)[-axes:]
            if len(asked) != axes or any(
                abs(n - by) >= s for n, by, s in zip(asked, size, steps, strict=False)
            ):
                raise ShapeError(
                    f"{function}: output_size {tuple(output_size)} must differ from {tuple(size)}"
                    f" by less than the stride {tuple(steps)}: no other image has these windows."
                )
            size = asked
        images = math.prod(x.shape[:-axes])
        check_range(index, math.prod(size), function, "index")
        flat = index.reshape(images, math.prod(x.shape[-axes:])) + arange(
            images, device=x.device
        ).reshape(-1, 1) * math.prod(size)
        empty = functions.zeros(images * math.prod(size), dtype=x.dtype, device=x.device)
        place = functions.plain_index((flat.reshape(-1),), x.array)
        return index_put(empty, x.reshape(-1), index=place, accumulate=False).reshape(
            (*x.shape[:-axes], *size)
        )

    return max_unpool


max_unpool1d, max_unpool2d, max_unpool3d = numbered(_max_unpool)


# ---------------------------------------------------------------------------------- means and norms


def avg_pool1d(
    input: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Tensor:
    """Mean of each window of (N, C, L) or (C, L)."""
    return _avg_pooled(
        input, kernel_size, stride, padding, ceil_mode, count_include_pad, None, 1, "avg_pool1d"
    )


def _avg_pool(axes: int) -> Callable[..., Tensor]:
    def avg_pool(
        input: Any,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> Tensor:
        """Mean of each window of {images}. count_include_pad: whether the zeros of the padding
        count as elements.
        """
        settings = stride, padding, ceil_mode, count_include_pad, divisor_override
        return _avg_pooled(input, kernel_size, *settings, axes, f"avg_pool{axes}d")

    return avg_pool


avg_pool2d, avg_pool3d = numbered(_avg_pool, (2, 3))


@in_float32
def _avg_pooled(
    x: Any,
    kernel: Any,
    stride: Any,
    padding: Any,
    ceil_mode: bool,
    include: bool,
    override: int | None,
    axes: int,
    function: str,
) -> Tensor:
    x = as_tensor(x)
    if override == 0:
        raise ValueError(f"{function}: divisor_override must not be zero.")
    setup = _pool_setup(x, kernel, stride, padding, 1, ceil_mode, axes, function)
    return _mean_of_windows(x, setup, include, override)


def _mean_of_windows(
    x: Tensor,
    setup: list[dict[str, Any]],
    include: bool = True,
    override: int | None = None,
    parts: Mapping[int, Parts] = MappingProxyType({}),
) -> Tensor:
    """The sums of windows by how many elements each has. include: those of the padding, too."""
    real = x.is_floating_point() or x.is_complex()
    dtype = x.dtype if real else backend.float32
    divisor, divisors = override or 1, list[Any]()
    for along in setup if override is None else ():
        axis, (before, after) = along["axis"], along["padding"]
        n, size, step = x.shape[axis], along["size"], along["stride"]
        low, high = (-before, n + before) if include else (0, n)
        starts = range(-before, n + after - size + 1, step)
        windows = parts.get(axis) or [(start, start + size) for start in starts]
        counts: list[Any] = [min(stop, high) - max(start, low) for start, stop in windows]
        if len(set(counts)) == 1:
            divisor *= counts[0]
        else:
            for _ in range(axis + 1, x.ndim):
                counts = [(count,) for count in counts]
            divisors.append(table(counts, dtype, x))
    divisors += [divisor] if divisor != 1 else []
    mean: Tensor = _pooled(pooling_ops.sum_pool, x, setup, divisors, parts)
    return mean


def _lp_pool(axes: int) -> Callable[..., Tensor]:
    @in_float32
    def lp_pool(
        input: Any, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False
    ) -> Tensor:
        """(Σ xᵖ)^(1/p) of each window of {images}; derivative 0 where the sum is 0."""
        x, p, function = as_tensor(input), norm_type, f"lp_pool{axes}d"
        if math.isinf(p):  # the largest size, or the smallest
            sign = math.copysign(1, p)
            largest: Tensor = _MAX_POOLS[axes - 1](
                sign * abs(x), kernel_size, stride, ceil_mode=ceil_mode
            )
            return sign * largest
        override = None if ceil_mode else 1
        total = _avg_pooled(x**p, kernel_size, stride, 0, ceil_mode, True, override, axes, function)
        if ceil_mode:  # what hangs over counts as if the window's mean stood there, as in PyTorch
            total = total * math.prod(each(kernel_size, axes, function, "kernel_size", 1))
        zero = total == 0
        return where(zero, 0.0, where(zero, 1.0, total) ** (1 / p))

    return lp_pool


lp_pool1d, lp_pool2d, lp_pool3d = numbered(_lp_pool)


# ------------------------------------------------------------------------- the windows of all these


def _pool_setup(
    x: Tensor,
    kernel_size: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    ceil_mode: bool,
    axes: int,
    function: str,
) -> list[dict[str, Any]]:
    """For each pooled axis, the last one first, the parameters of the window operation."""
    check_images(x, axes, function)
    kernel = each(kernel_size, axes, function, "kernel_size", 1)
    steps = (
        kernel
        if stride is None or stride in ([], ())
        else each(stride, axes, function, "stride", 1)
    )
    around = each(padding, axes, function, "padding")
    holes = each(dilation, axes, function, "dilation", 1)
    setup = []
    for i in reversed(range(axes)):
        k, s, p, d, axis = kernel[i], steps[i], around[i], holes[i], x.ndim - axes + i
        if 2 * p > d * (k - 1) + 1:
            raise ValueError(
                f"{function}: padding {p} is more than half of the window of {d * (k - 1) + 1}."
            )
        n = x.shape[axis]
        rest = n + 2 * p - d * (k - 1) - 1
        count = (-(-rest // s) if ceil_mode else rest // s) + 1
        if ceil_mode and (count - 1) * s >= n + p:  # the last window must begin inside
            count -= 1
        if rest < 0 and (count <= 0 or not ceil_mode):
            raise ShapeError(
                f"{function}: the window of {d * (k - 1) + 1} is larger than the padded input of"
                f" shape {x.shape}."
            )
        setup.append(
            {
                "axis": axis,
                "size": k,
                "stride": s,
                "dilation": d,
                "padding": (p, (count - 1) * s + d * (k - 1) + 1 - n - p),
            }
        )
    return setup


def check_images(x: Tensor, axes: int, function: str) -> None:
    """Raise ShapeError unless x is a batch of images with so many spatial axes, or one of them."""
    if x.ndim not in (axes + 1, axes + 2):
        raise ShapeError(
            f"{function}: input must have {axes + 2} dimensions (N, C, …) or {axes + 1}, got shape"
            f" {x.shape}."
        )


# ------------------------------------------------------------------------ as even parts as possible


def _adaptive_avg_pool(axes: int) -> Callable[..., Tensor]:
    def adaptive_avg_pool(input: Any, output_size: Any) -> Tensor:
        """Means over as even parts of the spatial axes of {images} as possible; output_size says
        how many parts, None keeps an axis.
        """
        return adaptive_mean(input, output_size, axes, f"adaptive_avg_pool{axes}d")

    return adaptive_avg_pool


adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d = numbered(_adaptive_avg_pool)


@in_float32
def adaptive_mean(x: Any, output_size: Any, axes: int, function: str) -> Tensor:
    """The means of as even parts of the last `axes` axes as possible."""
    mean = lambda x, setup, parts: _mean_of_windows(x, setup, parts=parts)
    return _adaptive(x, output_size, axes, mean, function)


def _adaptive_max_pool(axes: int) -> Callable[..., Any]:
    def adaptive_max_pool(input: Any, output_size: Any, return_indices: bool = False) -> Any:
        """Maxima over as even parts of the spatial axes of {images} as possible; None keeps an
        axis. return_indices: their places in the flattened image too, where the derivative is 1.
        """
        largest = lambda x, setup, parts: _pooled(pooling_ops.max_pool, x, setup, (), parts)
        y = _adaptive(input, output_size, axes, largest, f"adaptive_max_pool{axes}d")
        if not return_indices:
            return y
        x = as_tensor(input).detach()
        places = _places(x, axes)
        for i in reversed(range(axes)):
            axis = x.ndim - axes + i
            parts = [
                span(x, axis, start, stop).argmax(axis, keepdim=True) + start
                for start, stop in _even_parts(x.shape[axis], y.shape[axis])
            ]
            best = cat(parts, axis)
            x, places = (v[_along_axis(best, axis)] for v in (x, places))
        return y, places

    return adaptive_max_pool


adaptive_max_pool1d, adaptive_max_pool2d, adaptive_max_pool3d = numbered(_adaptive_max_pool)


def _along_axis(index: Tensor, axis: int) -> tuple[Tensor, ...]:
    """The index that reads along one axis what `index` says, and along the others the place
    itself.
    """
    own = [
        on_axis(arange(n, device=index.device), i, index.ndim) for i, n in enumerate(index.shape)
    ]
    return (*own[:axis], index, *own[axis + 1 :])


@in_own_memory
def _adaptive(
    x: Any, output_size: Any, axes: int, pool: Callable[..., Any], function: str
) -> Tensor:
    """What `pool` makes of the even parts: of a tensor, the parameters for each axis, and the parts
    of each axis whose parts have several sizes."""
    x = as_tensor(x)
    check_images(x, axes, function)
    wanted = (
        (output_size,) * axes
        if isinstance(output_size, int) or output_size is None
        else tuple(output_size)
    )
    if len(wanted) != axes or any(m is not None and m < 0 for m in wanted):
        raise ValueError(
            f"{function}: output_size must be one number or {axes}, each at least 0 or None, got"
            f" {output_size!r}."
        )
    setup: list[dict[str, Any]] = []  # the last axis first
    uneven: dict[int, Parts] = {}
    for axis, m in reversed(list(enumerate(wanted, x.ndim - axes))):
        n = x.shape[axis]
        if m and not n:
            raise ShapeError(
                f"{function}: an input of shape {x.shape} has no elements along axis {axis}, of"
                f" which {m} parts were asked. Ask for 0 there, or give an input with elements."
            )
        if m == 0:
            x = span(x, axis, 0, 0)
        elif m is not None and m != n:
            parts = _even_parts(n, int(m))
            sizes = {stop - start for start, stop in parts}
            steps = {after[0] - before[0] for before, after in pairwise(parts)} or sizes
            even = len(sizes) == len(steps) == 1 and 0 not in steps
            size, stride = max(sizes), min(steps) if even else max(sizes)
            window = {"size": size, "stride": stride, "dilation": 1, "padding": (0, 0)}
            setup.append({"axis": axis, **window})
            uneven |= {} if even else {axis: parts}
    return pool(x, setup, uneven) if setup else x


def _even_parts(n: int, m: int) -> list[tuple[int, int]]:
    """Where each of m parts of n elements begins and ends: part i goes from ⌊i n / m⌋ to ⌈(i +
    1) n / m⌉.
    """
    return [(i * n // m, -(-(i + 1) * n // m)) for i in range(m)]
