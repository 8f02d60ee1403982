"""Convolution over images (N, C, *S) with one to many spatial axes S.

Convolution (as everywhere in machine learning, the kernel is not flipped) is bilinear:

    out[n, o, p] = Σ_c Σ_k  x[n, c, p·stride + k·dilation − before] · w[o, c, k]

Pair it with a cotangent g and the number T(x, w, g) = ⟨g, out⟩ is linear in each of the three. The
gradients of T by its arguments are the three operations below, and so each one's transposes are the
other two: nothing else is needed, for derivatives of any order.

Sources: "A guide to convolution arithmetic" (Dumoulin & Visin 2016) for the sizes; the flat,
shifted-product form of convolution follows Anderson et al. 2017 (kn2row).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import product
from typing import Any

from ..backend import ignore_float_errors, numpy
from ..core.primitive import bilinear
from .batch import join_images
from .costs import convolution_cost, convolution_weight_cost, scattered_products
from .reduce import sum_forward
from .terms import convolution_terms, kernel_terms, transposed_terms

Sizes = tuple[int, ...]
Pairs = tuple[tuple[int, int], ...]
TILE = 1 << 18
"""Elements of a block of images: enough for products at full speed, few enough for the cache."""


def _product(xp: Any, a: Any, b: Any, out: Any = None) -> Any:
    return ignore_float_errors.run(xp.matmul, a, b, out=out)


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
        self.after = [sum(way) for way in product(*ways[:split])]
        self.before = [sum(way) for way in product(*ways[split:])]
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
    total, *further = (products[i * outs : (i + 1) * outs] for i in range(positions[0]))
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
    lambda g, w, x_shape, **how: convolve_input(g, w, **how, size=tuple(x_shape[2:])),
    lambda g, x, w_shape, **how: convolve_weight(x, g, **how, size=tuple(w_shape[2:])),
    symbol="∗",
    accumulates=True,
    batch=join_images,
    cost=convolution_cost,
    terms=convolution_terms,
    graph_name="ConvolutionBackward0",
)
"""x (N, C, *S) with w (O, C/groups, *K): (N, O, *windows). `padding` has a pair (before, after)
for each spatial axis.
"""
convolve_input = bilinear(
    "convolve_input",
    _convolve_input,
    lambda c, w, *, size, **how: convolve(c, w, **how),
    lambda c, g, w_shape, *, size, **how: convolve_weight(c, g, **how, size=tuple(w_shape[2:])),
    symbol="conv_transpose",
    accumulates=True,
    batch=join_images,
    cost=scattered_products,
    terms=transposed_terms,
)
"""g (N, O, *windows) with w: an image of `size`. The transpose of `convolve` in x, known as
transposed convolution.
"""
convolve_weight = bilinear(
    "convolve_weight",
    _convolve_weight,
    lambda c, g, x_shape, *, size, **how: convolve_input(g, c, **how, size=tuple(x_shape[2:])),
    lambda c, x, *, size, **how: convolve(x, c, **how),
    symbol="∗",
    accumulates=True,
    cost=convolution_weight_cost,
    terms=kernel_terms,
)
"""x with g: a kernel of `size`. The transpose of `convolve` in w."""
