"""How an operation is written as lines of Python that allocate nothing (`kernel=` in a
declaration).

The engine's forward functions return new arrays. For most of what networks do all the time there is
a NumPy call that writes the same bits into memory that exists (`out=`). A kernel is a function of a
`KernelCall`: it returns the lines to run, or None where it does not apply (then the forward
function runs). A test runs every kernel on every sample of every operation and compares bit by bit.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ..backend import SINGLE_OR_DOUBLE, Array, DType, Shape, is_narrow
from .sums import AT_ONCE, PLAIN, ROWS, is_plain, split


class KernelCall:
    """One instruction, ready to be written: the texts of its operands and of the buffer for its
    result, and what is known of them.

    types: of each operand its shape and dtype, or the `value` of a Python number;
    strides: of each operand, None for a number; made: shape and dtype of the result;
    static(what, array), scratch(shape, dtype), view(text, how): names of a constant, of further
    memory, and of another view of a value;
    in_place: set by a kernel whose lines may write over an operand of the same shape, dtype and
    layout.
    """

    def __init__(
        self,
        operands: list[str],
        types: list[Any],
        strides: list[tuple[int, ...] | None],
        params: dict[str, Any],
        out: str,
        made: Any,
        static: Callable[[str, Array], str],
        scratch: Callable[[Shape, DType], str],
        view: Callable[[str, str], str],
        xp: Any,
        out_strides: tuple[int, ...],
    ) -> None:
        self.operands, self.types, self.strides, self.params = operands, types, strides, params
        self.out = out
        self.made = made
        self.static = static
        self.scratch = scratch
        self.view = view
        self.xp = xp
        self.out_strides = out_strides

        self.in_place = False

    def array(self, i: int) -> Any:
        """What is known of operand i, None for a Python number."""
        kind = self.types[i]
        return kind if hasattr(kind, "dtype") else None

    def number(self, i: int) -> Any:
        """The value of operand i where it is a Python number, else None."""
        return getattr(self.types[i], "value", None)

    def all_of(self, kinds: str) -> bool:
        """Whether all operands that are arrays, and the result, have a dtype of these kinds."""
        return self.made.dtype.kind in kinds and all(
            t.dtype.kind in kinds for t in self.types if hasattr(t, "dtype")
        )


def _column_sums(k: KernelCall, source: Any, out: str) -> list[str] | None:
    """As `ops.sums.column_sums`; None for long columns, and for a layout that it leaves to
    `ops.sums.total`."""
    n, columns = source.shape
    x, ordered = k.operands[0], row_major(k.strides[0], source.shape, source.dtype)
    if n <= AT_ONCE or not ordered:
        by_columns = row_major(
            k.strides[0] and k.strides[0][::-1], source.shape[::-1], source.dtype
        )
        if n <= AT_ONCE or (by_columns and n <= ROWS):
            return [f"{_ones(k, n, source)}.dot({x}, out={out})"]
        return None
    if n > PLAIN * PLAIN:
        return None
    rows, count, rest = split(n)
    folded, body = k.scratch((count, columns), source.dtype), f"[:{n - rest}]" if rest else ""
    lines = [
        (
            f"{_ones(k, rows, source)}.dot("
            f"{k.view(x, f'{body}.reshape({rows}, {count * columns})')},"
            f" out={k.view(folded, '.reshape(-1)')})"
        ),
        f"{_ones(k, count, source)}.dot({folded}, out={out})",
    ]
    if rest:
        left = k.scratch((columns,), source.dtype)
        lines += [
            f"{_ones(k, rest, source)}.dot({k.view(x, f'[{n - rest}:]')}, out={left})",
            f"add({out}, {left}, out={out})",
        ]
    return lines


def _ones(k: KernelCall, count: int, source: Any) -> str:
    return k.static("ones", k.xp.ones(count, source.dtype))


def sum_kernel(k: KernelCall) -> list[str] | None:
    source, axes, keepdims = k.array(0), k.params["axes"], k.params["keepdims"]
    if source is None or source.dtype != k.made.dtype or not k.made.shape:
        return None
    ordered = row_major(k.strides[0], source.shape, source.dtype)
    if source.dtype in SINGLE_OR_DOUBLE:
        if (
            axes == (0,)
            and len(source.shape) == 2
            and (lines := _column_sums(k, source, k.view(k.out, "[0]") if keepdims else k.out))
        ):
            return lines
        if _is_short(source, axes):
            return _slices(k, source, axes[0], keepdims)
        if (
            axes == (len(source.shape) - 1,)
            and len(source.shape) > 1
            and 0 < source.shape[-1] <= ROWS
            and ordered
        ):
            rows = f".reshape(-1, {source.shape[-1]})"
            ones = _ones(k, source.shape[-1], source)
            return [
                f"{k.view(k.operands[0], rows)}.dot({ones}, out={k.view(k.out, '.reshape(-1)')})"
            ]
    return _plain(k, source, axes, keepdims)


def _plain(k: KernelCall, source: Any, axes: tuple[int, ...], keepdims: bool) -> list[str] | None:
    """NumPy's reduction, where the operation leaves it to that."""
    in_rows = row_major(k.strides[0], source.shape, source.dtype)
    small = math.prod(source.shape) <= AT_ONCE
    if is_narrow(source.dtype) or not (
        small or is_plain(source.shape, axes, source.dtype, in_rows)
    ):
        return None
    return [f"add.reduce({k.operands[0]}, axis={axes}, out={k.out}, keepdims={keepdims})"]


def _is_short(source: Any, axes: tuple[int, ...]) -> bool:
    """As `ops.sums.is_short`."""
    return (
        len(axes) == 1
        and 2 <= source.shape[axes[0]] <= 4
        and len(source.shape) > 1
        and source.dtype in SINGLE_OR_DOUBLE
    )


def _slices(k: KernelCall, source: Any, axis: int, keepdims: bool) -> list[str]:
    """The sum over a short axis slice by slice, as in the operation (`ops.sums.slice_sums`)."""
    before = ":, " * axis
    names = [
        f"[{before}{i}:{i + 1}]" if keepdims else f"[{before}{i}]"
        for i in range(source.shape[axis])
    ]
    first, *others = (k.view(k.operands[0], name) for name in names)
    return [
        f"add({first if i == 0 else k.out}, {part}, out={k.out})" for i, part in enumerate(others)
    ]


def mean_kernel(k: KernelCall) -> list[str] | None:
    source = k.array(0)
    lines = sum_kernel(k) if source is not None and source.dtype in SINGLE_OR_DOUBLE else None
    if lines is None or source is None:
        return None
    count = 1
    for axis in k.params["axes"]:
        count *= source.shape[axis]
    return [*lines, f"true_divide({k.out}, {count}, out={k.out})"] if count else None


def sum_to_kernel(k: KernelCall) -> list[str] | None:
    """Leading axes summed away are left to the engine, but for a matrix's columns."""
    source, shape = k.array(0), k.made.shape
    if source is None or source.dtype not in SINGLE_OR_DOUBLE:
        return None
    columns = (
        len(source.shape) == 2
        and shape in ((source.shape[1],), (1, source.shape[1]))
        and source.shape[0] != 1
    )
    if columns and (
        lines := _column_sums(k, source, k.out if len(shape) == 1 else k.view(k.out, "[0]"))
    ):
        return lines
    if len(shape) != len(source.shape) or shape == source.shape:
        return None
    axes = tuple(i for i, n in enumerate(shape) if n == 1 and source.shape[i] != 1)
    if _is_short(source, axes):
        return _slices(k, source, axes[0], True)
    return _plain(k, source, axes, True)


def row_major(strides: tuple[int, ...] | None, shape: Shape, dtype: DType) -> bool:
    """Whether an array of this shape and dtype with these strides lies in memory row after row."""
    expected = dtype.itemsize
    for stride, n in zip(reversed(strides or ()), reversed(shape), strict=False):
        if n > 1 and stride != expected:
            return False
        expected *= n
    return strides is not None


def cat_kernel(k: KernelCall) -> list[str] | None:
    if any(t.dtype != k.made.dtype for t in map(k.array, range(len(k.operands))) if t is not None):
        return None
    axis = k.params["axis"]
    new = "" if "sizes" in k.params else f"[{':, ' * axis}None]"  # in a stack
    parts = "".join(f"{operand}{new}, " for operand in k.operands)
    return [f"concatenate(({parts}), axis={axis}, out={k.out})"]
