"""Pooling: the largest element, or the sum, of each window along one axis of an image.

`functional` composes axes, the last one first: the maximum of a window is the maximum of its rows'
maxima, its sum the sum of their sums. Among equal maxima the first in row-major order gets the
derivative, because the first of the rows wins and in it the first of the columns.

The parameters of a window are `size`, `stride`, `dilation` and `padding`, a pair (before, after).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from itertools import zip_longest
from typing import Any

from ..backend import SINGLE_OR_DOUBLE, ignore_float_errors, numpy
from ..core.primitive import general, linear
from .batch import shift_axes
from .convolution import Sizes, window_count
from .costs import each_input, in_windows
from .elementwise import zeros_like
from .sums import accumulator
from .terms import pooling_terms

TILE = 1 << 16
"""Elements of a tile of images: there are five arrays of that size at once."""


class _PaddedLines:
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
        # lines that the last window of a tile may touch after its row
        self.beyond = max(0, reach - stride)
        most = self.outer if xp is not numpy else TILE // max(1, self.row * self.inner)
        self.images = max(1, min(self.outer, most))

    def tiles(self) -> Iterator[slice]:
        """The images of each tile."""
        return (
            slice(i, min(i + self.images, self.outer)) for i in range(0, self.outer, self.images)
        )

    def of_image(self, array: Any, fill: Any = 0) -> _TileLines:
        """The lines of an array of images, to be read or written; `fill` stands in the padding."""
        return _TileLines(self, array, (self.n, self.row, self.before, self.beyond), fill)

    def of_windows(self, array: Any) -> _TileLines:
        """The lines of an array that has one for each window."""
        return _TileLines(self, array, (self.count, self.windows, 0, 0), 0)

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


class _TileLines:
    """A tile's lines of an array. `load(tile)` reads it, `store(tile)` writes it; without
    padding the lines are the array's own.
    """

    def __init__(
        self, lines: _PaddedLines, array: Any, sizes: tuple[int, int, int, int], fill: Any
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
        if self.own:
            return self.array[tile].reshape((tile.stop - tile.start) * self.row, self.inner)
        return self.memory

    def load(self, tile: slice) -> Any:
        """The tile's lines."""
        if not self.own:
            self.inside[: tile.stop - tile.start] = self.array[tile]
        return self.lines(tile)

    def store(self, tile: slice) -> None:
        """Lines that were written become part of the array."""
        if not self.own:
            self.array[tile] = self.inside[: tile.stop - tile.start]


def _lowest(dtype: Any) -> Any:
    if dtype.kind in "ub":
        return 0
    if dtype.kind == "i":
        return -(2 ** (8 * dtype.itemsize - 1))
    return -math.inf


def _nowhere(dtype: Any) -> Any:
    return 0 if dtype.kind in "biu" else math.nan


def _combined(
    xp: Any, combine: Any, fill: Any, x: Any, axis: int, window: tuple[Any, ...], out: Any
) -> Any:
    """All elements of each window (its size, stride, dilation, padding) combined by a function of
    two arrays.
    """
    flat = _PaddedLines(xp, x.shape[axis], x.shape, axis, *window)
    shape = (*x.shape[:axis], flat.count, *x.shape[axis + 1 :])
    y = xp.empty(shape, x.dtype) if out is None else out
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


def _first_hits(flat: _PaddedLines, lines: Any, best: Any) -> Iterator[Any]:
    """For each position in the window: in which windows that element is the first that equals the
    maximum (NaN counts as equal to NaN).

    The padding must never win, be the maximum -∞ or NaN: it is NaN itself, which no number equals.
    Where there may be NaN elsewhere, a mask says what is padding.
    """
    windows, free = len(best), flat.xp.ones(best.shape, "bool")
    # a device is not asked for a number: the program would wait for it
    asks = flat.xp is numpy and best.dtype in SINGLE_OR_DOUBLE
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
    if xp is not numpy or g.dtype not in SINGLE_OR_DOUBLE:
        return xp.where(hit, g, 0)
    return xp.multiply(g.view(f"int{8 * g.dtype.itemsize}"), hit.view("int8")).view(g.dtype)


def _added(add: Callable[[Any, Any], Any], g: Any, count: int, out: Any) -> Any:
    """`add(g, out)`, which adds `count` elements of g one after another to each element of its
    result, in the accumulator's dtype.
    """
    wide = accumulator(g.dtype, count)
    if wide == g.dtype:
        return add(g, out)
    result = add(g.astype(wide), None)
    if out is None:
        return ignore_float_errors.run(result.astype, g.dtype)
    out[...] = result
    return out


def _max_pool(
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
        xp, xp.maximum, _lowest(x.dtype), x, axis, (size, stride, dilation, padding), out
    )


def _max_pool_backward(
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
    flat = _PaddedLines(xp, x.shape[axis], x.shape, axis, size, stride, dilation, padding)
    source, best = flat.of_image(x, _nowhere(x.dtype)), flat.of_windows(m)

    def add(g: Any, out: Any) -> Any:
        pulled = xp.empty(x.shape, g.dtype) if out is None else out
        given, result = flat.of_windows(g), flat.of_image(pulled)
        for tile in flat.tiles():
            windows = (tile.stop - tile.start) * flat.windows
            cotangents, lines = given.load(tile)[:windows], result.lines(tile)
            lines[...] = 0
            hits = _first_hits(flat, source.load(tile), best.load(tile)[:windows])
            for part, hit in zip(flat.elements(lines, windows), hits, strict=True):
                part += _chosen(xp, hit, cotangents)
            result.store(tile)
        return pulled

    return _added(add, g, -(-size // stride), out)


def _max_pool_jvp(
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
    flat = _PaddedLines(xp, x.shape[axis], x.shape, axis, size, stride, dilation, padding)
    source, best = flat.of_image(x, _nowhere(x.dtype)), flat.of_windows(m)
    given, result = flat.of_image(t), flat.of_windows(pushed)
    for tile in flat.tiles():
        windows = (tile.stop - tile.start) * flat.windows
        lines = result.lines(tile)[:windows]
        lines[...] = 0
        hits = _first_hits(flat, source.load(tile), best.load(tile)[:windows])
        for tangents, hit in zip(flat.elements(given.load(tile), windows), hits, strict=True):
            lines += _chosen(xp, hit, tangents)
        result.store(tile)
    return pushed


def _sum_pool(
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
    window = size, stride, dilation, padding
    add: Any = lambda x, out: _combined(xp, xp.add, 0, x, axis, window, out)
    return _added(add, x, size, out)


def _sum_pool_backward(
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
    flat = _PaddedLines(xp, length, g.shape, axis, size, stride, dilation, padding)

    def add(g: Any, out: Any) -> Any:
        shape = (*g.shape[:axis], length, *g.shape[axis + 1 :])
        x = xp.empty(shape, g.dtype) if out is None else out
        given, result = flat.of_windows(g), flat.of_image(x)
        for tile in flat.tiles():
            windows = (tile.stop - tile.start) * flat.windows
            cotangents, lines = given.load(tile)[:windows], result.lines(tile)
            lines[...] = 0
            for part in flat.elements(lines, windows):
                part += cotangents
            result.store(tile)
        return x

    return _added(add, g, -(-size // stride), out)


def _no_change(g: Any, x: Any) -> Any:
    """Which element is the largest does not change with x. Zeros instead of no rule: as in PyTorch,
    the second derivative exists and is 0."""
    return zeros_like(x)


def placed(part: str, place: str, windows: Iterable[Any], overlap: bool = False) -> str:
    """The notation of a part that is put into windows of zeros, and added where windows overlap."""
    overlap = overlap or any(w["stride"] <= (w["size"] - 1) * w["dilation"] for w in windows)
    return f"zeros.at[{place}].{'add' if overlap else 'set'}({part})"


max_pool = general(
    "max_pool",
    _max_pool,
    [lambda g, x, y, **window: max_pool_backward(g, x, y, **window)],
    [lambda t, x, y, **window: max_pool_jvp(t, x, y, **window)],
    symbol="max_pool",
    windows="largest",
    real_only=True,
    batch=shift_axes,
    cost=in_windows(other=1),
    terms=pooling_terms("largest"),
)
"""Largest element of each window along an axis. Padding never wins."""
max_pool_backward = general(
    "max_pool_backward",
    _max_pool_backward,
    [lambda c, x, m, **window: max_pool_jvp(c, x, m, **window), _no_change, None],
    [lambda t, x, m, **window: max_pool_backward(t, x, m, **window), None, None],
    notation=lambda **window: placed("g", "window_argmax(x)", [window]),
    accumulates=True,
    windows="first largest",
    batch=shift_axes,
    cost=each_input(add=1, other=1, operand=2, per="size"),
)
"""Each window's g added where the window found its maximum m in x: linear in g, and which
element won does not change with x.
"""
max_pool_jvp = general(
    "max_pool_jvp",
    _max_pool_jvp,
    [lambda c, x, m, **window: max_pool_backward(c, x, m, **window), _no_change, None],
    [lambda t, x, m, **window: max_pool_jvp(t, x, m, **window), None, None],
    notation="t[window_argmax(x)]",
    batch=shift_axes,
    cost=each_input(add=1, other=1, operand=2, per="size"),
)
"""What t has where each window of x found its maximum m. The transpose of `max_pool_backward`."""
sum_pool = linear(
    "sum_pool",
    _sum_pool,
    lambda g, x_shape, *, axis, **window: sum_pool_backward(
        g, axis=axis, **window, length=x_shape[axis]
    ),
    accumulates=True,
    windows="sum",
    batch=shift_axes,
    cost=in_windows(add=1),
    terms=pooling_terms("sum"),
)
"""Sum of each window along an axis."""
sum_pool_backward = linear(
    "sum_pool_backward",
    _sum_pool_backward,
    lambda c, *, length, **window: sum_pool(c, **window),
    notation=lambda **window: placed("g", "every_element_of_each_window", [window]),
    accumulates=True,
    windows="spread",
    batch=shift_axes,
    cost=each_input(add=1, per="size"),
)
"""Each window's g added to all elements of the window, on an axis of `length` elements. The
transpose of `sum_pool`.
"""
