"""Operations that slide a window over an image: convolution and pooling. Images are (N, C, *S), one
to many spatial axes S.

Convolution (as everywhere in machine learning, the kernel is not flipped) is bilinear:

    out[n, o, p] = Σ_c Σ_k  x[n, c, p·stride + k·dilation − before] · w[o, c, k]

Pair it with a cotangent g and the number T(x, w, g) = ⟨g, out⟩ is linear in each of the three. The
gradients of T by its arguments are the three operations below, and so each one's transposes are the
other two: nothing else is needed, for derivatives of any order.

Pooling works along one axis at a time (`functional` composes axes, the last one first): the maximum
of a window is the maximum of its rows' maxima, its sum the sum of their sums. Among equal maxima
the first in row-major order gets the derivative, because the first of the rows wins and in it the
first of the columns.

Sources: "A guide to convolution arithmetic" (Dumoulin & Visin 2016) for the sizes; the flat,
shifted-product form of convolution follows Anderson et al. 2017 (kn2row).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import product, zip_longest
from typing import Any

from ..backend import FAST_DTYPES, ignore_float_errors, numpy
from ..core.primitive import bilinear, linear, primitive
from .batch import join_images, shift_axes
from .costs import (
    convolution_cost,
    convolution_weight_cost,
    each_input,
    in_windows,
    scattered_products,
)
from .elementwise import zeros_like
from .reduce import sum_forward
from .sums import accumulator

Sizes = tuple[int, ...]
Pairs = tuple[tuple[int, int], ...]
TILE = 1 << 18
"""Elements of a block of images in a convolution: enough for products at full speed, few enough
for the cache.
"""
POOL_TILE = 1 << 16
"""Elements of a tile of images in pooling, which has five arrays of that size at once."""


def _product(xp: Any, a: Any, b: Any, out: Any = None) -> Any:
    return ignore_float_errors.run(xp.matmul, a, b, out)


def window_count(
    size: int, kernel: int, stride: int, padding: tuple[int, int], dilation: int
) -> int:
    """How many windows fit along an axis of `size` elements with zeros before and after it."""
    return (size + padding[0] + padding[1] - dilation * (kernel - 1) - 1) // stride + 1


# ----------------------------------------------------------- convolution by columns: the definition


def _counts(size: Sizes, kernel: Sizes, stride: Sizes, padding: Pairs, dilation: Sizes) -> Sizes:
    return tuple(
        window_count(*along) for along in zip(size, kernel, stride, padding, dilation, strict=True)
    )


def _padded_size(size: Sizes, padding: Pairs) -> Sizes:
    return tuple(n + before + after for n, (before, after) in zip(size, padding, strict=True))


def _inner(size: Sizes, padding: Pairs) -> tuple[Any, ...]:
    """The index of an image in its padded form."""
    return tuple(slice(before, before + n) for n, (before, _) in zip(size, padding, strict=True))


def kernel_positions(
    kernel: Sizes, stride: Sizes, dilation: Sizes, counts: Sizes
) -> Iterator[tuple[Sizes, tuple[Any, ...]]]:
    """Each position k in the kernel, with the index of what lies there under all windows."""
    for at in product(*map(range, kernel)):
        yield (
            at,
            tuple(
                slice(k * d, k * d + (n - 1) * s + 1, s)
                for k, d, s, n in zip(at, dilation, stride, counts, strict=True)
            ),
        )


def _columns(
    xp: Any,
    x: Any,
    kernel: Sizes,
    counts: Sizes,
    stride: Sizes,
    padding: Pairs,
    dilation: Sizes,
    groups: int,
) -> Any:
    """Every window as a column: (N, G, C/G · K, windows)."""
    n, channels, *size = x.shape
    if any(map(any, padding)):
        padded = xp.zeros((n, channels, *_padded_size(tuple(size), padding)), x.dtype)
        padded[(..., *_inner(tuple(size), padding))] = x
        x = padded
    columns = xp.zeros((n, channels, *kernel, *counts), x.dtype)
    for at, under in kernel_positions(kernel, stride, dilation, counts):
        columns[(slice(None), slice(None), *at)] = x[(..., *under)]
    return columns.reshape((n, groups, channels // groups * math.prod(kernel), math.prod(counts)))


def _convolve(
    xp: Any,
    x: Any,
    w: Any,
    *,
    stride: Sizes,
    padding: Pairs,
    dilation: Sizes,
    groups: int,
    out: Any = None,
) -> Any:
    kernel = tuple(w.shape[2:])
    counts = _counts(tuple(x.shape[2:]), kernel, stride, padding, dilation)
    y = xp.empty((x.shape[0], w.shape[0], *counts), x.dtype) if out is None else out
    if _is_flat(stride, groups):
        return _flat_convolve(xp, x, w, padding, dilation, y)
    columns = _columns(xp, x, kernel, counts, stride, padding, dilation, groups)
    matrices = w.reshape((groups, w.shape[0] // groups, math.prod(w.shape[1:])))
    _product(
        xp, matrices, columns, y.reshape((x.shape[0], groups, matrices.shape[1], math.prod(counts)))
    )
    return y


def _convolve_input(
    xp: Any,
    g: Any,
    w: Any,
    *,
    stride: Sizes,
    padding: Pairs,
    dilation: Sizes,
    groups: int,
    size: Sizes,
    out: Any = None,
) -> Any:
    kernel, counts = tuple(w.shape[2:]), tuple(g.shape[2:])
    x = xp.empty((g.shape[0], w.shape[1] * groups, *size), g.dtype) if out is None else out
    if _is_flat(stride, groups):
        return _flat_convolve_input(xp, g, w, padding, dilation, x)
    n, outs, ins = g.shape[0], w.shape[0] // groups, w.shape[1]
    rows = w.reshape((groups, outs, ins * math.prod(kernel))).transpose(0, 2, 1)
    columns = _product(xp, rows, g.reshape((n, groups, outs, math.prod(counts)))).reshape(
        (n, groups * ins, *kernel, *counts)
    )
    padded = xp.zeros((n, groups * ins, *_padded_size(size, padding)), columns.dtype)
    for at, under in kernel_positions(kernel, stride, dilation, counts):
        padded[(..., *under)] += columns[(slice(None), slice(None), *at)]
    x[...] = padded[(..., *_inner(size, padding))]
    return x


def _convolve_weight(
    xp: Any,
    x: Any,
    g: Any,
    *,
    stride: Sizes,
    padding: Pairs,
    dilation: Sizes,
    groups: int,
    size: Sizes,
) -> Any:
    if _is_flat(stride, groups):
        return _flat_convolve_weight(xp, x, g, padding, dilation, size)
    counts, outs = tuple(g.shape[2:]), g.shape[1]
    columns = _columns(xp, x, size, counts, stride, padding, dilation, groups)
    rows = g.reshape((g.shape[0], groups, outs // groups, math.prod(counts)))
    total = sum_forward(
        xp, _product(xp, rows, columns.transpose(0, 1, 3, 2)), axes=(0,), keepdims=False
    )
    return total.reshape((outs, x.shape[1] // groups, *size))


# --------------------------------------------- the same for stride 1, on the flattened padded image
# Laid out flat, moving a window by one position is moving a pointer by one element. So a position
# of the kernel contributes the product of
# a matrix w[:, :, position] with the whole image shifted by a fixed distance, and no window is ever
# copied. At the ends of rows the
# products compute numbers that are never read.
#
# Few large products are faster than many small ones, so positions are stacked: those along the
# kernel's last axis as further rows of the image (shifted before the product), those along the
# other axes as further rows of w (shifted when the results are added up). Where the image has few
# channels, all positions become rows of the image. Blocks of samples go together as far as the
# cache allows.


def _is_flat(stride: Sizes, groups: int) -> bool:
    return groups == 1 and all(s == 1 for s in stride)


class _Flat:
    """Images (N, channels, *size) as blocks of flat ones, for a kernel (outs, channels, *kernel) of
    stride 1.

    Zeros after a row or an image are also those before the next one. before: the distances by which
    the stacked rows of an image are shifted; after: those by which results are shifted that are
    added up; samples: images in a block; length: elements of a channel in a block. `rows(start)`
    gives the block that begins with sample `start`: (len(before) * channels, length).
    """

    def __init__(
        self,
        xp: Any,
        x: Any,
        outs: int,
        kernel: Sizes,
        dilation: Sizes,
        padding: Pairs,
        counts: Sizes,
    ) -> None:
        if any(p < 0 for pair in padding for p in pair):  # cut off what lies outside
            x = x[
                (
                    ...,
                    *(
                        slice(max(0, -a), s - max(0, -b))
                        for s, (a, b) in zip(x.shape[2:], padding, strict=True)
                    ),
                )
            ]
            padding = tuple((max(0, a), max(0, b)) for a, b in padding)
        self.count, channels, *size = x.shape
        self.padded = tuple(
            max(n + max(pair), c) for n, pair, c in zip(size, padding, counts, strict=True)
        )
        steps = [math.prod(self.padded[axis + 1 :]) for axis in range(len(size))]
        ways = [
            range(0, k * d * step, d * step)
            for k, d, step in zip(kernel, dilation, steps, strict=True)
        ]
        split = 0 if kernel[-1] * channels <= outs else len(ways) - 1
        self.after, self.before = (
            [sum(way) for way in product(*ways[:split])],
            [sum(way) for way in product(*ways[split:])],
        )
        image = math.prod(self.padded)
        most = (
            self.count
            if xp is not numpy
            else TILE // max(1, image * max(len(self.before) * channels, len(self.after) * outs))
        )
        blocks = -(-self.count // max(1, most))
        self.samples = -(-self.count // max(1, blocks))  # blocks of about equal size
        first = sum(before * step for (before, _), step in zip(padding, steps, strict=True))
        self.length = first + self.samples * image
        self._rows = xp.zeros((len(self.before), channels, self.length), x.dtype)
        self._inside = self.images(self._rows[0][:, first:], tuple(size))
        self._source = x.transpose((1, 0, *range(2, x.ndim)))

    def images(self, flat: Any, size: Sizes) -> Any:
        """The first elements of flat images as images of this size: (channels, samples, *size)."""
        whole = flat[:, : self.samples * math.prod(self.padded)].reshape(
            (flat.shape[0], self.samples, *self.padded)
        )
        return whole[(slice(None), slice(None), *(slice(0, n) for n in size))]

    def starts(self) -> range:
        """The first sample of each block."""
        return range(0, self.count, max(1, self.samples))

    def rows(self, start: int) -> Any:
        """A block; the last one may end with images of the one before."""
        stop = min(start + self.samples, self.count)
        self._inside[:, : stop - start] = self._source[:, start:stop]
        for k, far in enumerate(self.before[1:], 1):
            self._rows[k][:, : self.length - far] = self._rows[0][:, far:]
        return self._rows.reshape((len(self.before) * self._rows.shape[1], self.length))


def _flat_convolve(xp: Any, x: Any, w: Any, padding: Pairs, dilation: Sizes, y: Any) -> Any:
    outs, ins, *kernel = w.shape
    counts = tuple(y.shape[2:])
    flat = _Flat(xp, x, outs, tuple(kernel), dilation, padding, counts)
    positions = len(flat.after), len(flat.before)
    matrix = (
        w.reshape((outs, ins, *positions))
        .transpose(2, 0, 3, 1)
        .reshape((positions[0] * outs, positions[1] * ins))
    )
    products = xp.empty((positions[0] * outs, flat.length), x.dtype)
    total, *further = (products[i : i + outs] for i in range(0, positions[0] * outs, outs))
    count = flat.length - flat.after[-1]
    for start in flat.starts():
        _product(xp, matrix, flat.rows(start), products)
        for part, far in zip(further, flat.after[1:], strict=True):
            total[:, :count] += part[:, far : far + count]
        block = y[start : start + flat.samples]
        block[...] = flat.images(total, counts)[:, : len(block)].transpose(
            (1, 0, *range(2, y.ndim))
        )
    return y


def _flat_convolve_input(xp: Any, g: Any, w: Any, padding: Pairs, dilation: Sizes, x: Any) -> Any:
    """The transpose of a convolution with stride 1 is the convolution with the kernel turned round,
    and with the channels' roles exchanged.
    """
    size = tuple(x.shape[2:])
    turned = w.transpose((1, 0, *range(2, w.ndim)))[(..., *(slice(None, None, -1),) * len(size))]
    reach = [d * (k - 1) for d, k in zip(dilation, w.shape[2:], strict=True)]
    around = tuple(
        (r - before, n - c + before)
        for r, (before, _), n, c in zip(reach, padding, size, g.shape[2:], strict=True)
    )
    return _flat_convolve(xp, g, turned, around, dilation, x)


def _flat_convolve_weight(
    xp: Any, x: Any, g: Any, padding: Pairs, dilation: Sizes, size: Sizes
) -> Any:
    """Here the stacked rows that `_flat_convolve` shifts when it adds them up are copies of g,
    shifted the other way.
    """
    ins, outs, counts = x.shape[1], g.shape[1], tuple(g.shape[2:])
    flat = _Flat(xp, x, outs, size, dilation, padding, counts)
    positions = len(flat.after), len(flat.before)
    copies = xp.zeros((positions[0], outs, flat.length), g.dtype)
    inside = flat.images(copies[0], counts)
    sums = xp.zeros((positions[0] * outs, positions[1] * ins), x.dtype)
    turned = g.transpose((1, 0, *range(2, g.ndim)))
    for start in flat.starts():
        block = turned[:, start : start + flat.samples]
        inside[:, : block.shape[1]] = block
        inside[:, block.shape[1] :] = 0
        for k, far in enumerate(flat.after[1:], 1):
            copies[k][:, far:] = copies[0][:, : flat.length - far]
        sums += _product(xp, copies.reshape((len(sums), flat.length)), flat.rows(start).transpose())
    return (
        sums.reshape((positions[0], outs, positions[1], ins))
        .transpose(1, 3, 0, 2)
        .reshape((outs, ins, *size))
    )


convolve = bilinear(
    "convolve",
    _convolve,
    lambda g, w, x_shape, *, stride, padding, dilation, groups: convolve_input(
        g,
        w,
        stride=stride,
        padding=padding,
        dilation=dilation,
        groups=groups,
        size=tuple(x_shape[2:]),
    ),
    lambda g, x, w_shape, *, stride, padding, dilation, groups: convolve_weight(
        x,
        g,
        stride=stride,
        padding=padding,
        dilation=dilation,
        groups=groups,
        size=tuple(w_shape[2:]),
    ),
    symbol="∗",
    accumulates=True,
    batch=join_images,
    cost=convolution_cost,
    graph_name="ConvolutionBackward0",
)
"""x (N, C, *S) with w (O, C/groups, *K): (N, O, *windows). `padding` has a pair (before, after)
for each spatial axis.
"""
convolve_input = bilinear(
    "convolve_input",
    _convolve_input,
    lambda c, w, *, stride, padding, dilation, groups: convolve(
        c, w, stride=stride, padding=padding, dilation=dilation, groups=groups
    ),
    lambda c, g, w_shape, *, stride, padding, dilation, groups: convolve_weight(
        c,
        g,
        stride=stride,
        padding=padding,
        dilation=dilation,
        groups=groups,
        size=tuple(w_shape[2:]),
    ),
    symbol="∗ᵀ",
    accumulates=True,
    batch=join_images,
    cost=scattered_products,
)
"""g (N, O, *windows) with w: an image of `size`. The transpose of `convolve` in x, known as
transposed convolution.
"""
convolve_weight = bilinear(
    "convolve_weight",
    _convolve_weight,
    lambda c, g, x_shape, *, stride, padding, dilation, groups: convolve_input(
        g,
        c,
        stride=stride,
        padding=padding,
        dilation=dilation,
        groups=groups,
        size=tuple(x_shape[2:]),
    ),
    lambda c, x, *, stride, padding, dilation, groups: convolve(
        x, c, stride=stride, padding=padding, dilation=dilation, groups=groups
    ),
    accumulates=True,
    cost=convolution_weight_cost,
)
"""x with g: a kernel of `size`. The transpose of `convolve` in w."""

# --------------------------------------------------------------------------- pooling along one axis


class _Lines:
    """An array (outer, n, inner) whose middle axis is pooled, as lines of `inner` elements.

    Each image gets a row of lines that begins and ends with the padding and has `stride` lines for
    each window. Then, over a whole tile of images, window number r begins at line r * stride, and
    `elements` can show element k of all windows as one slice: NumPy's loops are long ones, even
    where the axis is the last one and short. A row may have more windows than there are; what they
    hold is never read.
    """

    def __init__(
        self,
        xp: Any,
        n: int,
        shape: Sizes,
        axis: int,
        size: int,
        stride: int,
        dilation: int,
        padding: tuple[int, int],
    ) -> None:
        self.xp, self.size, self.stride, self.dilation = xp, size, stride, dilation
        self.n, self.outer, self.inner = n, math.prod(shape[:axis]), math.prod(shape[axis + 1 :])
        self.before, self.count = padding[0], window_count(n, size, stride, padding, dilation)
        reach = (size - 1) * dilation + 1
        self.windows = max(
            1, self.count, -(-max(self.before + n, (self.count - 1) * stride + reach) // stride)
        )
        self.row = self.windows * stride
        self.beyond = max(
            0, reach - stride
        )  # lines that the last window of a tile may touch after its row
        most = self.outer if xp is not numpy else POOL_TILE // max(1, self.row * self.inner)
        self.images = max(1, min(self.outer, most))

    def tiles(self) -> Iterator[slice]:
        """The images of each tile."""
        return (
            slice(i, min(i + self.images, self.outer)) for i in range(0, self.outer, self.images)
        )

    def of_image(self, array: Any, fill: Any = 0) -> _Part:
        """The lines of an array of images, to be read or written; `fill` stands in the padding."""
        return _Part(self, array, (self.n, self.row, self.before, self.beyond), fill)

    def of_windows(self, array: Any) -> _Part:
        """The lines of an array that has one for each window."""
        return _Part(self, array, (self.count, self.windows, 0, 0), 0)

    def inside(self) -> Any:
        """Which lines of a tile are an image's own, and not padding: (lines, 1)."""
        mask = self.xp.zeros((self.images * self.row + self.beyond, 1), "bool")
        mask[: self.images * self.row].reshape(self.images, self.row, 1)[
            :, self.before : self.before + self.n
        ] = True
        return mask

    def elements(self, lines: Any, windows: int) -> list[Any]:
        """For each position in the window, the lines that lie there under so many windows."""
        last = (windows - 1) * self.stride + 1
        return [
            lines[k : k + last : self.stride]
            for k in range(0, self.size * self.dilation, self.dilation)
        ]


class _Part:
    """A tile's lines of an array. `load(tile)` reads it, `store(tile)` writes it; without
    padding the lines are the array's own.
    """

    def __init__(
        self, lines: _Lines, array: Any, sizes: tuple[int, int, int, int], fill: Any
    ) -> None:
        length, row, before, beyond = sizes
        self.array = array.reshape(lines.outer, length, lines.inner)
        self.inner, self.row, self.own = lines.inner, row, row == length and not beyond
        if not self.own:
            self.memory = lines.xp.empty(
                (lines.images * row + beyond, lines.inner), self.array.dtype
            )
            self.memory[...] = fill
            self.inside = self.memory[: lines.images * row].reshape(lines.images, row, lines.inner)[
                :, before : before + length
            ]

    def lines(self, tile: slice) -> Any:
        """The tile's lines, whatever they hold."""
        return (
            self.array[tile].reshape((tile.stop - tile.start) * self.row, self.inner)
            if self.own
            else self.memory
        )

    def load(self, tile: slice) -> Any:
        """The tile's lines."""
        if not self.own:
            self.inside[: tile.stop - tile.start] = self.array[tile]
        return self.lines(tile)

    def store(self, tile: slice) -> None:
        """Lines that were written become part of the array."""
        if not self.own:
            self.array[tile] = self.inside[: tile.stop - tile.start]


def _pooled_shape(
    x: Any, axis: int, size: int, stride: int, dilation: int, padding: tuple[int, int]
) -> Sizes:
    return (
        *x.shape[:axis],
        window_count(x.shape[axis], size, stride, padding, dilation),
        *x.shape[axis + 1 :],
    )


def _lowest(dtype: Any) -> Any:
    return (
        0
        if dtype.kind in "ub"
        else -(2 ** (8 * dtype.itemsize - 1))
        if dtype.kind == "i"
        else -math.inf
    )


def _nowhere(dtype: Any) -> Any:
    return 0 if dtype.kind in "biu" else math.nan


def _combined(xp: Any, combine: Any, fill: Any, out: Any, x: Any, axis: int, *how: Any) -> Any:
    """All elements of each window combined by a function of two arrays."""
    y = xp.empty(_pooled_shape(x, axis, *how), x.dtype) if out is None else out
    flat = _Lines(xp, x.shape[axis], x.shape, axis, *how)
    source, result = flat.of_image(x, fill), flat.of_windows(y)
    for tile in flat.tiles():
        windows = (tile.stop - tile.start) * flat.windows
        first, *others = flat.elements(source.load(tile), windows)
        total = result.lines(tile)[:windows]
        if not others:
            total[...] = first
        for other in others:
            combine(first, other, out=total)
            first = total
        result.store(tile)
    return y


def _window_max(
    xp: Any,
    x: Any,
    *,
    axis: int,
    size: int,
    stride: int,
    dilation: int,
    padding: tuple[int, int],
    out: Any = None,
) -> Any:
    return _combined(
        xp, xp.maximum, _lowest(x.dtype), out, x, axis, size, stride, dilation, padding
    )


def _first_hits(flat: _Lines, lines: Any, best: Any) -> Iterator[Any]:
    """For each position in the window: in which windows that element is the first that equals the
    maximum (NaN counts as equal to NaN).

    The padding must never win, be the maximum -∞ or NaN: it is NaN itself, which no number equals.
    Where there may be NaN elsewhere, a mask says what is padding.
    """
    windows, free = len(best), flat.xp.ones(best.shape, "bool")
    asks = (
        flat.xp is numpy and best.dtype in FAST_DTYPES
    )  # a device is not asked for a number: the program would wait for it
    inside = (
        ()
        if asks and not math.isnan(best.max(initial=0))
        else flat.elements(flat.inside(), windows)
    )
    for here, within in zip_longest(flat.elements(lines, windows), inside):
        hit = here == best
        if within is not None:
            hit |= here != here  # only NaN differs from itself
            hit &= within
        hit &= free
        free ^= hit
        yield hit


def _chosen(xp: Any, hit: Any, g: Any) -> Any:
    """g where there was a hit, 0 elsewhere; in host memory on the bits, as in `where`, which is
    exact for NaN and infinity too.
    """
    if xp is not numpy or g.dtype not in FAST_DTYPES:
        return xp.where(hit, g, 0)
    return xp.multiply(g.view(f"int{8 * g.dtype.itemsize}"), hit.view("int8")).view(g.dtype)


def _added(function: Any, count: int, out: Any, xp: Any, g: Any, *others: Any, **how: Any) -> Any:
    """A function that adds `count` numbers one after another to each element of its result, in
    the accumulator's dtype.
    """
    wide = accumulator(g.dtype, count)
    if wide == g.dtype:
        return function(xp, g, *others, **how, out=out)
    result = function(xp, g.astype(wide), *others, **how, out=None)
    if out is None:
        return ignore_float_errors.run(result.astype, g.dtype)
    out[...] = result
    return out


def _max_pull(
    xp: Any,
    g: Any,
    x: Any,
    m: Any,
    *,
    axis: int,
    size: int,
    stride: int,
    dilation: int,
    padding: tuple[int, int],
    out: Any = None,
) -> Any:
    how = {"axis": axis, "size": size, "stride": stride, "dilation": dilation, "padding": padding}
    return _added(_max_pull_in, -(-size // stride), out, xp, g, x, m, **how)


def _max_pull_in(
    xp: Any,
    g: Any,
    x: Any,
    m: Any,
    *,
    axis: int,
    size: int,
    stride: int,
    dilation: int,
    padding: tuple[int, int],
    out: Any,
) -> Any:
    pulled = xp.empty(x.shape, g.dtype) if out is None else out
    flat = _Lines(xp, x.shape[axis], x.shape, axis, size, stride, dilation, padding)
    source, best, given, result = (
        flat.of_image(x, _nowhere(x.dtype)),
        flat.of_windows(m),
        flat.of_windows(g),
        flat.of_image(pulled),
    )
    for tile in flat.tiles():
        windows = (tile.stop - tile.start) * flat.windows
        cotangents, lines = given.load(tile)[:windows], result.lines(tile)
        lines[...] = 0
        hits = _first_hits(flat, source.load(tile), best.load(tile)[:windows])
        for part, hit in zip(flat.elements(lines, windows), hits, strict=True):
            part += _chosen(xp, hit, cotangents)
        result.store(tile)
    return pulled


def _max_push(
    xp: Any,
    t: Any,
    x: Any,
    m: Any,
    *,
    axis: int,
    size: int,
    stride: int,
    dilation: int,
    padding: tuple[int, int],
    out: Any = None,
) -> Any:
    pushed = xp.empty(m.shape, t.dtype) if out is None else out
    flat = _Lines(xp, x.shape[axis], x.shape, axis, size, stride, dilation, padding)
    source, best, given, result = (
        flat.of_image(x, _nowhere(x.dtype)),
        flat.of_windows(m),
        flat.of_image(t),
        flat.of_windows(pushed),
    )
    for tile in flat.tiles():
        windows = (tile.stop - tile.start) * flat.windows
        lines = result.lines(tile)[:windows]
        lines[...] = 0
        hits = _first_hits(flat, source.load(tile), best.load(tile)[:windows])
        for tangents, hit in zip(flat.elements(given.load(tile), windows), hits, strict=True):
            lines += _chosen(xp, hit, tangents)
        result.store(tile)
    return pushed


def _no_change(g: Any, x: Any) -> Any:
    """Which element is the largest does not change with x. Zeros instead of no rule: as in PyTorch,
    the second derivative exists and is 0."""
    return zeros_like(x)


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
    batch=shift_axes,
    cost=in_windows(other=1),
)
"""Largest element of each window along an axis. Padding never wins."""
window_max_pull = primitive(
    "window_max_pull",
    _max_pull,
    [
        lambda c, x, m, *, axis, size, stride, dilation, padding: window_max_push(
            c, x, m, axis=axis, size=size, stride=stride, dilation=dilation, padding=padding
        ),
        _no_change,
        None,
    ],
    [
        lambda t, x, m, *, axis, size, stride, dilation, padding: window_max_pull(
            t, x, m, axis=axis, size=size, stride=stride, dilation=dilation, padding=padding
        ),
        None,
        None,
    ],
    accumulates=True,
    batch=shift_axes,
    cost=each_input(add=1, other=1, operand=2, per="size"),
)
"""Each window's g added where the window found its maximum m in x: linear in g, and which
element won does not change with x.
"""
window_max_push = primitive(
    "window_max_push",
    _max_push,
    [
        lambda c, x, m, *, axis, size, stride, dilation, padding: window_max_pull(
            c, x, m, axis=axis, size=size, stride=stride, dilation=dilation, padding=padding
        ),
        _no_change,
        None,
    ],
    [
        lambda t, x, m, *, axis, size, stride, dilation, padding: window_max_push(
            t, x, m, axis=axis, size=size, stride=stride, dilation=dilation, padding=padding
        ),
        None,
        None,
    ],
    batch=shift_axes,
    cost=each_input(add=1, other=1, operand=2, per="size"),
)
"""What t has where each window of x found its maximum m. The transpose of `window_max_pull`."""


def _window_sum(
    xp: Any,
    x: Any,
    *,
    axis: int,
    size: int,
    stride: int,
    dilation: int,
    padding: tuple[int, int],
    out: Any = None,
) -> Any:
    return _added(
        _window_sum_in, size, out, xp, x, axis=axis, how=(size, stride, dilation, padding)
    )


def _window_sum_in(xp: Any, x: Any, *, axis: int, how: Any, out: Any) -> Any:
    return _combined(xp, xp.add, 0, out, x, axis, *how)


def _window_spread(
    xp: Any,
    g: Any,
    *,
    axis: int,
    size: int,
    stride: int,
    dilation: int,
    padding: tuple[int, int],
    length: int,
    out: Any = None,
) -> Any:
    how = {
        "axis": axis,
        "size": size,
        "stride": stride,
        "dilation": dilation,
        "padding": padding,
        "length": length,
    }
    return _added(_window_spread_in, -(-size // stride), out, xp, g, **how)


def _window_spread_in(
    xp: Any,
    g: Any,
    *,
    axis: int,
    size: int,
    stride: int,
    dilation: int,
    padding: tuple[int, int],
    length: int,
    out: Any,
) -> Any:
    x = xp.empty((*g.shape[:axis], length, *g.shape[axis + 1 :]), g.dtype) if out is None else out
    flat = _Lines(xp, length, g.shape, axis, size, stride, dilation, padding)
    given, result = flat.of_windows(g), flat.of_image(x)
    for tile in flat.tiles():
        windows = (tile.stop - tile.start) * flat.windows
        cotangents, lines = given.load(tile)[:windows], result.lines(tile)
        lines[...] = 0
        for part in flat.elements(lines, windows):
            part += cotangents
        result.store(tile)
    return x


window_sum = linear(
    "window_sum",
    _window_sum,
    lambda g, x_shape, *, axis, size, stride, dilation, padding: window_spread(
        g,
        axis=axis,
        size=size,
        stride=stride,
        dilation=dilation,
        padding=padding,
        length=x_shape[axis],
    ),
    accumulates=True,
    batch=shift_axes,
    cost=in_windows(add=1),
)
"""Sum of each window along an axis."""
window_spread = linear(
    "window_spread",
    _window_spread,
    lambda c, *, axis, size, stride, dilation, padding: window_sum(
        c, axis=axis, size=size, stride=stride, dilation=dilation, padding=padding
    ),
    accumulates=True,
    batch=shift_axes,
    cost=each_input(add=1, per="size"),
)
"""Each window's g added to all elements of the window, on an axis of `length` elements. The
transpose of `window_sum`.
"""
