"""Fractional max pooling: the largest element of windows of one size whose places are drawn, so
that sizes shrink by any ratio.

Along an axis of n elements, m windows of k begin at ⌊(i + u) α⌋ − ⌊u α⌋ with α = (n − k) / (m − 1)
and one random u in [0, 1) for each channel of each example; the last one ends where the axis ends.
Windows may overlap, and small ones leave elements out.

Source: Graham, Fractional max-pooling (2014), section 2; the pseudo-random overlapping variant, as
PyTorch has it.
"""

# mypy: disable-error-code="no-any-return, no-untyped-call"

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from .. import backend, functions
from ..core.tensor import Tensor, as_tensor
from ..errors import DTypeError, ShapeError
from ..functions import arange, cat, trunc
from ..nn.functional.arguments import each
from ..nn.functional.numbered import numbered
from ..nn.functional.pooling import check_images


def _fractional_max_pool(axes: int) -> Callable[..., Any]:
    @functions.in_own_memory
    def fractional_max_pool(
        input: Any,
        kernel_size: Any,
        output_size: Any = None,
        output_ratio: Any = None,
        return_indices: bool = False,
        _random_samples: Any = None,
    ) -> Any:
        """Largest elements of windows that are drawn, of {images}. Floating dtypes.

        kernel_size, output_size: of the window and of the result, one number or {axes}.
        output_ratio: instead of output_size, the share of each axis, between 0 and 1 (sizes are
        rounded down). return_indices: the places in the flattened image too (int64).
        _random_samples: the numbers in [0, 1) that place the windows, (N, C, {axes}) with N = 1 for
        one image: in two dimensions for columns and for rows, in three for the axes in order; of
        more examples the first count. Drawn in each call if there are none.

        The first of equal elements in row-major order gets the derivative. Raises ShapeError where
        kernel and result are larger than the image allows (k + m − 1 ≤ n), ValueError unless
        exactly one of output_size and output_ratio is given.
        """
        return _pooled(
            input, kernel_size, output_size, output_ratio, return_indices, _random_samples, axes
        )

    return fractional_max_pool


fractional_max_pool2d, fractional_max_pool3d = numbered(_fractional_max_pool, (2, 3))


def _pooled(
    x: Any,
    kernel_size: Any,
    output_size: Any,
    output_ratio: Any,
    return_indices: bool,
    samples: Any,
    axes: int,
) -> Any:
    function, x = f"fractional_max_pool{axes}d", as_tensor(x)
    check_images(x, axes, function)
    if x.dtype.kind not in "fV":
        raise DTypeError(f"{function}: input must be of a floating dtype, got {x.dtype}.")
    lead, sizes = x.shape[:-axes], x.shape[-axes:]
    kernel = each(kernel_size, axes, function, "kernel_size", 1)
    wanted = each(
        _wanted(sizes, output_size, output_ratio, axes, function), axes, function, "output_size", 1
    )
    if any(k + m - 1 > n for k, m, n in zip(kernel, wanted, sizes, strict=True)):
        raise ShapeError(
            f"{function}: windows of {kernel} do not give a result of {wanted} in an input of shape"
            f" {x.shape}: along each axis their sum may be at most the axis plus 1."
        )
    chances = (*((1, *lead) if len(lead) == 1 else lead), axes)
    u = (
        functions.rand(chances, dtype=x.dtype, device=x.device)
        if samples is None
        else as_tensor(samples).detach().to(x.dtype)
    )
    if u.ndim != 3 or u.shape[1:] != chances[1:] or u.shape[0] < chances[0]:
        raise ShapeError(
            f"{function}: _random_samples must have the shape {chances}, (N, C, {axes}), got"
            f" {u.shape}."
        )
    u = u[: chances[0]]
    # The place of each element of each window in its flattened image: channels, then the axes of
    # the result, then those of the window.
    place: Any = 0
    for i, (n, k, m) in enumerate(zip(sizes, kernel, wanted, strict=True)):
        column = i if axes == 3 else 1 - i
        at = _starts(u[..., column].reshape(-1, 1), n, k, m).reshape(-1, m, 1) + arange(
            k, device=x.device
        )
        shape = [1] * (2 * axes)
        shape[i], shape[axes + i] = m, k
        place = place + at.reshape(-1, *shape) * math.prod(sizes[i + 1 :])
    images = math.prod(lead)
    place = place.reshape(images, math.prod(wanted), math.prod(kernel))
    channel = arange(images, device=x.device).reshape(-1, 1)
    elements = x.reshape(images, math.prod(sizes))
    best = elements.detach()[channel.unsqueeze(-1), place].argmax(-1)
    place = place[channel, arange(math.prod(wanted), device=x.device), best]
    y = elements[channel, place].reshape(*lead, *wanted)
    return (y, place.reshape(*lead, *wanted)) if return_indices else y


def _wanted(
    sizes: tuple[int, ...], output_size: Any, output_ratio: Any, axes: int, function: str
) -> Any:
    """The sizes of the result. Raises ValueError unless they are told in one of the two ways."""
    if (output_size is None) == (output_ratio is None):
        raise ValueError(f"{function}: give output_size or output_ratio, one of the two.")
    if output_ratio is None:
        return output_size
    ratios = (
        (output_ratio,) * axes if isinstance(output_ratio, int | float) else tuple(output_ratio)
    )
    if len(ratios) != axes or not all(0 < r < 1 for r in ratios):
        raise ValueError(
            f"{function}: output_ratio must be one number or {axes}, between 0 and 1, got"
            f" {output_ratio!r}."
        )
    return tuple(int(n * r) for n, r in zip(sizes, ratios, strict=True))


def _starts(u: Tensor, n: int, k: int, m: int) -> Tensor:
    """Where m windows of k begin among n elements: (channels, m) for the samples u (channels,
    1).
    """
    last = functions.full_like(u, n - k, dtype=backend.int64)
    if m == 1:
        return last
    step = (n - k) / (m - 1)
    inner = trunc((arange(m - 1, device=u.device) + u) * step) - trunc(u * step)
    return cat([inner.to(backend.int64), last], 1)
