"""Operations that slide a window over an image: convolution and pooling. Images are (N, C, *S), one to many spatial axes S.

Convolution (as everywhere in machine learning, the kernel is not flipped) is bilinear:

    out[n, o, p] = Σ_c Σ_k  x[n, c, p·stride + k·dilation − before] · w[o, c, k]

Pair it with a cotangent g and the number T(x, w, g) = ⟨g, out⟩ is linear in each of the three. The gradients of T by its arguments are the
three operations below, and so
each one's transposes are the other two: nothing else is needed, for derivatives of any order.

Pooling works along one axis at a time (`functional` composes axes, the last one first): the maximum of a window is the maximum of its
rows' maxima, its sum the sum of
their sums. Among equal maxima the first in row-major order gets the derivative, because the first of the rows wins and in it the first of
the columns.

Sources: "A guide to convolution arithmetic" (Dumoulin & Visin 2016) for the sizes; the flat, shifted-product form of convolution follows
Anderson et al. 2017 (kn2row).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import product
from typing import Any

from ..backend import silently
from ..primitive import bilinear, linear, primitive

Sizes = tuple[int, ...]
Pairs = tuple[tuple[int, int], ...]
TILE = 1 << 17
"""Elements of one block of work in the flat form: half a megabyte of float32 stays in the cache."""


def _product(xp: Any, a: Any, b: Any) -> Any:
    return silently.run(xp.matmul, a, b)


def window_count(size: int, kernel: int, stride: int, padding: tuple[int, int], dilation: int) -> int:
    """How many windows fit along an axis of `size` elements with zeros before and after it."""
    return (size + padding[0] + padding[1] - dilation * (kernel - 1) - 1) // stride + 1


# ----------------------------------------------------------------------------------------- convolution by columns: the definition


def _counts(size: Sizes, kernel: Sizes, stride: Sizes, padding: Pairs, dilation: Sizes) -> Sizes:
    return tuple(window_count(*along) for along in zip(size, kernel, stride, padding, dilation, strict=True))


def _padded_size(size: Sizes, padding: Pairs) -> Sizes:
    return tuple(n + before + after for n, (before, after) in zip(size, padding, strict=True))


def _inner(size: Sizes, padding: Pairs) -> tuple[Any, ...]:
    """The index of an image in its padded form."""
    return tuple(slice(before, before + n) for n, (before, _) in zip(size, padding, strict=True))


def _shifts(kernel: Sizes, stride: Sizes, dilation: Sizes, counts: Sizes) -> Iterator[tuple[Sizes, tuple[Any, ...]]]:
    """Each position k in the kernel, with the index of what lies there under all windows."""
    for at in product(*map(range, kernel)):
        yield at, tuple(slice(k * d, k * d + (n - 1) * s + 1, s) for k, d, s, n in zip(at, dilation, stride, counts, strict=True))


def _columns(xp: Any, x: Any, kernel: Sizes, counts: Sizes, stride: Sizes, padding: Pairs, dilation: Sizes, groups: int) -> Any:
    """Every window as a column: (N, G, C/G · K, windows)."""
    n, channels, *size = x.shape
    if any(map(any, padding)):
        padded = xp.zeros((n, channels, *_padded_size(tuple(size), padding)), x.dtype)
        padded[(..., *_inner(tuple(size), padding))] = x
        x = padded
    columns = xp.zeros((n, channels, *kernel, *counts), x.dtype)
    for at, under in _shifts(kernel, stride, dilation, counts):
        columns[(slice(None), slice(None), *at)] = x[(..., *under)]
    return columns.reshape((n, groups, channels // groups * math.prod(kernel), math.prod(counts)))


def _convolve(xp: Any, x: Any, w: Any, *, stride: Sizes, padding: Pairs, dilation: Sizes, groups: int) -> Any:
    kernel = tuple(w.shape[2:])
    counts = _counts(tuple(x.shape[2:]), kernel, stride, padding, dilation)
    if _is_flat(stride, groups):
        return _flat_convolve(xp, x, w, padding, dilation, counts)
    columns = _columns(xp, x, kernel, counts, stride, padding, dilation, groups)
    out = _product(xp, w.reshape((groups, w.shape[0] // groups, math.prod(w.shape[1:]))), columns)
    return out.reshape((x.shape[0], w.shape[0], *counts))


def _convolve_input(xp: Any, g: Any, w: Any, *, stride: Sizes, padding: Pairs, dilation: Sizes, groups: int, size: Sizes) -> Any:
    kernel, counts = tuple(w.shape[2:]), tuple(g.shape[2:])
    if _is_flat(stride, groups):
        return _flat_convolve_input(xp, g, w, padding, dilation, size)
    n, outs, ins = g.shape[0], w.shape[0] // groups, w.shape[1]
    rows = w.reshape((groups, outs, ins * math.prod(kernel))).transpose(0, 2, 1)
    columns = _product(xp, rows, g.reshape((n, groups, outs, math.prod(counts)))).reshape((n, groups * ins, *kernel, *counts))
    padded = xp.zeros((n, groups * ins, *_padded_size(size, padding)), columns.dtype)
    for at, under in _shifts(kernel, stride, dilation, counts):
        padded[(..., *under)] += columns[(slice(None), slice(None), *at)]
    return padded[(..., *_inner(size, padding))]


def _convolve_weight(xp: Any, x: Any, g: Any, *, stride: Sizes, padding: Pairs, dilation: Sizes, groups: int, size: Sizes) -> Any:
    if _is_flat(stride, groups):
        return _flat_convolve_weight(xp, x, g, padding, dilation, size)
    counts, outs = tuple(g.shape[2:]), g.shape[1]
    columns = _columns(xp, x, size, counts, stride, padding, dilation, groups)
    rows = g.reshape((g.shape[0], groups, outs // groups, math.prod(counts)))
    total = xp.add.reduce(_product(xp, rows, columns.transpose(0, 1, 3, 2)), axis=0)
    return total.reshape((outs, x.shape[1] // groups, *size))


# ----------------------------------------------------------------------------- the same for stride 1, on the flattened padded image
# Laid out flat, moving a window by one position is moving a pointer by one element. So a position k of the kernel contributes the product
# of the matrix w[:, :, k] with
# the whole image shifted by a fixed distance, and no window is ever copied. At the ends of rows the products compute numbers that nobody
# reads. The positions along
# the last axis are stacked once, which makes fewer and larger products. Blocks of samples go together as far as the cache allows.


def _is_flat(stride: Sizes, groups: int) -> bool:
    return groups == 1 and all(s == 1 for s in stride)


def _distances(padded: Sizes, kernel: Sizes, dilation: Sizes) -> list[int]:
    """How far the flat image is shifted for each position in the kernel but for the last axis."""
    steps = [math.prod(padded[axis + 1 :]) for axis in range(len(padded))]
    ways = zip(kernel[:-1], dilation[:-1], steps[:-1], strict=True)
    return [sum(way) for way in product(*([k * d * step for k in range(count)] for count, d, step in ways))]


def _blocks(count: int, elements: int) -> Iterator[slice]:
    step = max(1, TILE // max(1, elements))
    return (slice(i, min(i + step, count)) for i in range(0, count, step))


def _flat_rows(xp: Any, x: Any, kernel: int, dilation: int, padding: Pairs) -> Any:
    """A block of samples, flat and channel by channel, once for each position along the kernel's last axis: (kernel · C, samples ·
    padded size).
    """
    n, channels, *size = x.shape
    if any(p < 0 for pair in padding for p in pair):  # cut off what lies outside
        x = x[(..., *(slice(max(0, -a), s - max(0, -b)) for s, (a, b) in zip(size, padding, strict=True)))]
        padding = tuple((max(0, a), max(0, b)) for a, b in padding)
        size = list(x.shape[2:])
    padded = _padded_size(tuple(size), padding)
    total = n * math.prod(padded)
    flat = xp.zeros((channels, total + (kernel - 1) * dilation), x.dtype)
    flat[:, :total].reshape((channels, n, *padded))[(..., *_inner(tuple(size), padding))] = x.transpose((1, 0, *range(2, x.ndim)))
    if kernel == 1:
        return flat
    rows = xp.zeros((kernel * channels, total), x.dtype)
    for k in range(kernel):
        rows[k * channels : (k + 1) * channels] = flat[:, k * dilation : k * dilation + total]
    return rows


def _flat_convolve(xp: Any, x: Any, w: Any, padding: Pairs, dilation: Sizes, counts: Sizes) -> Any:
    n, (outs, ins, *kernel) = x.shape[0], w.shape
    padded = _padded_size(tuple(x.shape[2:]), padding)
    distances = _distances(padded, tuple(kernel), dilation)
    matrices = w.reshape((outs, ins, len(distances), kernel[-1])).transpose(2, 0, 3, 1).reshape((len(distances), outs, kernel[-1] * ins))
    y = xp.zeros((n, outs, *counts), x.dtype)
    read = tuple(slice(0, c) for c in counts)
    for block in _blocks(n, math.prod(padded) * max(ins * kernel[-1], outs)):
        rows = _flat_rows(xp, x[block], kernel[-1], dilation[-1], padding)
        count = rows.shape[1] - distances[-1]
        total = xp.zeros((outs, rows.shape[1]), x.dtype)
        total[:, :count] = _product(xp, matrices[0], rows[:, :count])
        for k, far in enumerate(distances[1:], 1):
            total[:, :count] += _product(xp, matrices[k], rows[:, far : far + count])
        image = total.reshape((outs, block.stop - block.start, *padded))
        y[block] = image[(..., *read)].transpose((1, 0, *range(2, y.ndim)))
    return y


def _flat_convolve_input(xp: Any, g: Any, w: Any, padding: Pairs, dilation: Sizes, size: Sizes) -> Any:
    """The transpose of a convolution with stride 1 is the convolution with the kernel turned round, and with the channels' roles
    exchanged.
    """
    turned = w.transpose((1, 0, *range(2, w.ndim)))[(..., *(slice(None, None, -1),) * len(size))]
    reach = [d * (k - 1) for d, k in zip(dilation, w.shape[2:], strict=True)]
    around = tuple((r - before, n - c + before) for r, (before, _), n, c in zip(reach, padding, size, g.shape[2:], strict=True))
    return _flat_convolve(xp, g, turned, around, dilation, size)


def _flat_convolve_weight(xp: Any, x: Any, g: Any, padding: Pairs, dilation: Sizes, size: Sizes) -> Any:
    n, ins, outs = x.shape[0], x.shape[1], g.shape[1]
    padded = _padded_size(tuple(x.shape[2:]), padding)
    distances = _distances(padded, size, dilation)
    sums = xp.zeros((len(distances), outs, size[-1] * ins), x.dtype)
    place = tuple(slice(0, c) for c in g.shape[2:])
    for block in _blocks(n, math.prod(padded) * max(ins * size[-1], outs)):
        rows = _flat_rows(xp, x[block], size[-1], dilation[-1], padding)
        count = rows.shape[1] - distances[-1]
        spread = xp.zeros((outs, block.stop - block.start, *padded), g.dtype)
        spread[(..., *place)] = g[block].transpose((1, 0, *range(2, g.ndim)))
        flat = spread.reshape((outs, math.prod(spread.shape[1:])))[:, :count]
        for k, far in enumerate(distances):
            sums[k] += _product(xp, flat, rows[:, far : far + count].transpose())
    return sums.reshape((len(distances), outs, size[-1], ins)).transpose(1, 3, 0, 2).reshape((outs, ins, *size))


convolve = bilinear(
    "convolve",
    _convolve,
    lambda g, w, x_shape, *, stride, padding, dilation, groups: convolve_input(
        g, w, stride=stride, padding=padding, dilation=dilation, groups=groups, size=tuple(x_shape[2:])
    ),
    lambda g, x, w_shape, *, stride, padding, dilation, groups: convolve_weight(
        x, g, stride=stride, padding=padding, dilation=dilation, groups=groups, size=tuple(w_shape[2:])
    ),
    symbol="∗",
)
"""x (N, C, *S) with w (O, C/groups, *K): (N, O, *windows). `padding` has a pair (before, after) for each spatial axis."""
convolve_input = bilinear(
    "convolve_input",
    _convolve_input,
    lambda c, w, *, stride, padding, dilation, groups: convolve(c, w, stride=stride, padding=padding, dilation=dilation, groups=groups),
    lambda c, g, w_shape, *, stride, padding, dilation, groups: convolve_weight(
        c, g, stride=stride, padding=padding, dilation=dilation, groups=groups, size=tuple(w_shape[2:])
    ),
    symbol="∗ᵀ",
)
"""g (N, O, *windows) with w: an image of `size`. The transpose of `convolve` in x, known as transposed convolution."""
convolve_weight = bilinear(
    "convolve_weight",
    _convolve_weight,
    lambda c, g, x_shape, *, stride, padding, dilation, groups: convolve_input(
        g, c, stride=stride, padding=padding, dilation=dilation, groups=groups, size=tuple(x_shape[2:])
    ),
    lambda c, x, *, stride, padding, dilation, groups: convolve(x, c, stride=stride, padding=padding, dilation=dilation, groups=groups),
)
"""x with g: a kernel of `size`. The transpose of `convolve` in w."""

# -------------------------------------------------------------------------------------------------- pooling along one axis


def _overlaps(n: int, axis: int, size: int, stride: int, dilation: int, padding: tuple[int, int]) -> Iterator[tuple[Any, Any]]:
    """For each position in the window: the index of the windows in which it lies inside the image, and the index of the elements there."""
    count = window_count(n, size, stride, padding, dilation)
    whole = (slice(None),) * axis
    for i in range(size):
        shift = i * dilation - padding[0]
        first = max(0, -(shift // stride))
        last = min(count, (n - 1 - shift) // stride + 1)
        if first < last:
            start = first * stride + shift
            yield (*whole, slice(first, last)), (*whole, slice(start, start + (last - first - 1) * stride + 1, stride))


def _tiles(shape: Sizes, axis: int) -> Iterator[slice]:
    """Parts of the first axis that fit the cache together with what is made of them; one part where that axis itself is pooled."""
    return iter((slice(None),)) if axis == 0 else _blocks(shape[0], 4 * math.prod(shape[1:]))


def _pooled_shape(x: Any, axis: int, size: int, stride: int, dilation: int, padding: tuple[int, int]) -> Sizes:
    return (*x.shape[:axis], window_count(x.shape[axis], size, stride, padding, dilation), *x.shape[axis + 1 :])


def _lowest(dtype: Any) -> Any:
    return 0 if dtype.kind in "ub" else -(2 ** (8 * dtype.itemsize - 1)) if dtype.kind == "i" else -math.inf


def _window_max(xp: Any, x: Any, *, axis: int, size: int, stride: int, dilation: int, padding: tuple[int, int]) -> Any:
    y = xp.zeros(_pooled_shape(x, axis, size, stride, dilation, padding), x.dtype)
    y[...] = _lowest(x.dtype)
    for tile in _tiles(x.shape, axis):
        for windows, elements in _overlaps(x.shape[axis], axis, size, stride, dilation, padding):
            part = y[tile][windows]
            xp.maximum(part, x[tile][elements], out=part)
    return y


def _first_hits(
    xp: Any, x: Any, m: Any, axis: int, size: int, stride: int, dilation: int, padding: tuple[int, int]
) -> Iterator[tuple[Any, Any, Any]]:
    """As `_overlaps`, with a third item: in which windows that element is the first that equals the maximum (NaN counts as equal to
    NaN).
    """
    free = xp.ones(m.shape, "bool")
    for windows, elements in _overlaps(x.shape[axis], axis, size, stride, dilation, padding):
        here, best, open_ = x[elements], m[windows], free[windows]
        hit = (
            (here >= best) | (here != here)
        ) & open_  # nothing in the window is larger than its maximum, and only NaN differs from itself
        open_ ^= hit
        yield windows, elements, hit


def _max_pull(xp: Any, g: Any, x: Any, m: Any, *, axis: int, size: int, stride: int, dilation: int, padding: tuple[int, int]) -> Any:
    out = xp.zeros(x.shape, g.dtype)
    for tile in _tiles(x.shape, axis):
        for windows, elements, hit in _first_hits(xp, x[tile], m[tile], axis, size, stride, dilation, padding):
            part = out[tile][elements]
            part += xp.where(hit, g[tile][windows], 0)
    return out


def _max_push(xp: Any, t: Any, x: Any, m: Any, *, axis: int, size: int, stride: int, dilation: int, padding: tuple[int, int]) -> Any:
    out = xp.zeros(m.shape, t.dtype)
    for tile in _tiles(x.shape, axis):
        for windows, elements, hit in _first_hits(xp, x[tile], m[tile], axis, size, stride, dilation, padding):
            part = out[tile][windows]
            part += xp.where(hit, t[tile][elements], 0)
    return out


window_max = primitive(
    "window_max",
    _window_max,
    [
        lambda g, x, y, *, axis, size, stride, dilation, padding: window_max_pull(
            g, x, y, axis=axis, size=size, stride=stride, dilation=dilation, padding=padding
        )
    ],
    [
        lambda t, x, y, *, axis, size, stride, dilation, padding: window_max_push(
            t, x, y, axis=axis, size=size, stride=stride, dilation=dilation, padding=padding
        )
    ],
    symbol="maxpool",
    real_only=True,
)
"""Largest element of each window along an axis. Padding never wins."""
window_max_pull = primitive(
    "window_max_pull",
    _max_pull,
    [
        lambda c, x, m, *, axis, size, stride, dilation, padding: window_max_push(
            c, x, m, axis=axis, size=size, stride=stride, dilation=dilation, padding=padding
        ),
        None,
        None,
    ],
    [
        lambda t, x, m, *, axis, size, stride, dilation, padding: window_max_pull(
            t, x, m, axis=axis, size=size, stride=stride, dilation=dilation, padding=padding
        ),
        None,
        None,
    ],
)
"""Each window's g added where the window found its maximum m in x: linear in g, and which element won does not change with x."""
window_max_push = primitive(
    "window_max_push",
    _max_push,
    [
        lambda c, x, m, *, axis, size, stride, dilation, padding: window_max_pull(
            c, x, m, axis=axis, size=size, stride=stride, dilation=dilation, padding=padding
        ),
        None,
        None,
    ],
    [
        lambda t, x, m, *, axis, size, stride, dilation, padding: window_max_push(
            t, x, m, axis=axis, size=size, stride=stride, dilation=dilation, padding=padding
        ),
        None,
        None,
    ],
)
"""What t has where each window of x found its maximum m. The transpose of `window_max_pull`."""


def _window_sum(xp: Any, x: Any, *, axis: int, size: int, stride: int, dilation: int, padding: tuple[int, int]) -> Any:
    y = xp.zeros(_pooled_shape(x, axis, size, stride, dilation, padding), x.dtype)
    for tile in _tiles(x.shape, axis):
        for windows, elements in _overlaps(x.shape[axis], axis, size, stride, dilation, padding):
            part = y[tile][windows]
            part += x[tile][elements]
    return y


def _window_spread(xp: Any, g: Any, *, axis: int, size: int, stride: int, dilation: int, padding: tuple[int, int], length: int) -> Any:
    out = xp.zeros((*g.shape[:axis], length, *g.shape[axis + 1 :]), g.dtype)
    for tile in _tiles(out.shape, axis):
        for windows, elements in _overlaps(length, axis, size, stride, dilation, padding):
            part = out[tile][elements]
            part += g[tile][windows]
    return out


window_sum = linear(
    "window_sum",
    _window_sum,
    lambda g, x_shape, *, axis, size, stride, dilation, padding: window_spread(
        g, axis=axis, size=size, stride=stride, dilation=dilation, padding=padding, length=x_shape[axis]
    ),
)
"""Sum of each window along an axis."""
window_spread = linear(
    "window_spread",
    _window_spread,
    lambda c, *, axis, size, stride, dilation, padding: window_sum(
        c, axis=axis, size=size, stride=stride, dilation=dilation, padding=padding
    ),
)
"""Each window's g added to all elements of the window, on an axis of `length` elements. The transpose of `window_sum`."""
