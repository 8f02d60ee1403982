"""How an instruction is written as a line of Python that allocates nothing.

The engine's forward functions return new arrays. For most of what networks do all the time there is a NumPy call that writes the same bits
into memory that exists (`out=`). This table says which; what it does not name is run as the engine runs it. A test runs every entry on
every sample of every operation and compares bit by bit.

An entry is a function of a `Line`: it returns the lines to run, or None where it does not apply (then the next best way is taken).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ..backend import FAST_DTYPES, Array, DType, Shape, is_narrow, numpy
from ..ops.elementwise import ZEROS, host_zeros, long_rows
from ..ops.linalg import is_turned
from ..ops.sums import AT_ONCE, PLAIN, ROWS, is_plain, split
from .instructions import Literal, Type

FLOATS = "f"


class Line:
    """One instruction, ready to be written: the texts of its operands and of the buffer for its result, and what is known of them."""

    def __init__(
        self,
        operands: list[str],
        types: list[Type | Literal],
        strides: list[tuple[int, ...] | None],
        params: dict[str, Any],
        out: str,
        made: Type,
        static: Callable[[str, Array], str],
        scratch: Callable[[Shape, DType], str],
        view: Callable[[str, str], str],
        xp: Any,
        out_strides: tuple[int, ...],
    ) -> None:
        self.operands, self.types, self.strides, self.params = operands, types, strides, params
        self.out, self.made, self.static, self.scratch, self.view, self.xp = out, made, static, scratch, view, xp
        self.out_strides = out_strides

    def array(self, i: int) -> Type | None:
        """The type of operand i, None for a Python number."""
        kind = self.types[i]
        return kind if type(kind) is Type else None

    def all_of(self, kinds: str) -> bool:
        """Whether all operands that are arrays, and the result, have a dtype of these kinds."""
        return self.made.dtype.kind in kinds and all(t.dtype.kind in kinds for t in self.types if type(t) is Type)


PRODUCTS = frozenset(("affine", "matmul"))
"""Operations that BLAS computes. Its last digits depend on where operands lie and on the processor;
those of all others do not."""

Entry = Callable[[Line], "list[str] | None"]
TABLE: dict[str, Entry] = {}
IN_PLACE: set[str] = set()
"""Operations whose result may be written over an operand of the same shape, dtype and layout that nobody reads any more."""


def entry(*names: str, in_place: bool = False) -> Callable[[Entry], Entry]:
    """Enter a function under the names of operations."""

    def enter(function: Entry) -> Entry:
        for name in names:
            TABLE[name] = function
            if in_place:
                IN_PLACE.add(name)
        return function

    return enter


def _ufunc(name: str, kinds: str = "fc") -> Entry:
    """One call of a NumPy function of arrays; two short ways round NumPy's loop for each row where rows are short and broadcast."""

    def make(k: Line) -> list[str] | None:
        if not k.all_of(kinds):
            return None
        return _by_columns(k, name) or _by_tiles(k, name) or [f"{name}({', '.join(_with_numbers(k, k.made.dtype))}, out={k.out})"]

    return make


def _with_numbers(k: Line, dtype: DType) -> list[str]:
    """The operands, Python's numbers as arrays without axes, which NumPy meets in half a microsecond less."""
    if dtype not in FAST_DTYPES or k.xp is not numpy or any(t.dtype != dtype for t in k.types if type(t) is Type):
        return k.operands
    texts = list(k.operands)
    for i, kind in enumerate(k.types):
        if type(kind) is Literal and type(kind.value) in (int, float) and abs(kind.value) < 1e30 and k.strides.count(None) < len(texts):
            texts[i] = k.static(name_of_number(kind.value), k.xp.asarray(kind.value, dtype))
    return texts


def name_of_number(value: complex) -> str:
    """A variable's name for a Python number."""
    return f"number_{repr(value).strip('()').replace('-', 'minus_').replace('+', '_').replace('.', '_')}"


def _by_columns(k: Line, name: str) -> list[str] | None:
    """A table of 2 to 4 columns and a column (perhaps one that is seen as a table) or a row: column by column. 1000 x 2 by 1000 x 1 takes
    half the time."""
    shape = k.made.shape
    if len(shape) != 2 or not 2 <= shape[1] <= 4 or shape[0] < 64:
        return None
    ways = {shape: "[:, {i}]", (shape[0], 1): "[:, 0]", (1, shape[1]): "[0, {i}:{j}]", (shape[1],): "[{i}:{j}]"}
    kinds = [k.array(n) for n in range(len(k.operands))]
    if any(t is not None and t.shape not in ways for t in kinds):
        return None
    stretched = any(strides is not None and len(strides) == 2 and strides[1] == 0 != strides[0] for strides in k.strides)
    if all(t is None or t.shape == shape for t in kinds) and not stretched:
        return None
    lines = []
    for i in range(shape[1]):
        pairs = zip(k.operands, kinds, strict=True)
        parts = [text if t is None else k.view(text, ways[t.shape].format(i=i, j=i + 1)) for text, t in pairs]
        lines.append(f"{name}({', '.join(parts)}, out={k.view(k.out, f'[:, {i}]')})")
    return lines


def _by_tiles(k: Line, name: str) -> list[str] | None:
    """A table with short rows and a row (a bias): the row is repeated until it is a long one, and meets several rows of the table at once.
    1000 x 25 and 25 take two thirds of the time."""
    shape = k.made.shape
    if len(shape) != 2 or not 4 < shape[1] < 64 or len(k.operands) != 2 or not row_major(k.out_strides, k.made):
        return None
    kinds = [k.array(0), k.array(1)]
    at = next((n for n, t in enumerate(kinds) if t is not None and t.shape == (shape[1],) and t.dtype == k.made.dtype), None)
    if at is None or kinds[1 - at] != k.made or not row_major(k.strides[1 - at], k.made):
        return None
    count = next(n for n in range(4096 // shape[1], 0, -1) if shape[0] % n == 0)
    if count < 16 or shape[0] < 4 * count:
        return None
    long = f".reshape({shape[0] // count}, {count * shape[1]})"
    tile = k.scratch((count, shape[1]), k.made.dtype)
    operands = [k.view(k.operands[1 - at], long), k.view(tile, ".reshape(-1)")]
    return [f"copyto({tile}, {k.operands[at]})", f"{name}({', '.join(operands if at else operands[::-1])}, out={k.view(k.out, long)})"]


UFUNCS: dict[str, tuple[str, str]] = {
    "add": ("add", "fciu"), "sub": ("subtract", "fciu"), "mul": ("multiply", "fciu"), "div": ("true_divide", "fc"),
    "neg": ("negative", "fci"), "sqrt": ("sqrt", "fc"), "exp": ("exp", "fc"), "exp2": ("exp2", "f"), "expm1": ("expm1", "fc"),
    "log": ("log", "fc"), "log2": ("log2", "fc"), "log10": ("log10", "fc"), "log1p": ("log1p", "fc"), "logaddexp": ("logaddexp", "f"),
    "sin": ("sin", "fc"), "cos": ("cos", "fc"), "tan": ("tan", "fc"), "asin": ("arcsin", "fc"), "acos": ("arccos", "fc"),
    "atan": ("arctan", "fc"), "atan2": ("arctan2", "f"), "sinh": ("sinh", "fc"), "cosh": ("cosh", "fc"), "tanh": ("tanh", "fc"),
    "asinh": ("arcsinh", "fc"), "acosh": ("arccosh", "fc"), "atanh": ("arctanh", "fc"), "maximum": ("maximum", "fiu"),
    "minimum": ("minimum", "fiu"), "abs": ("absolute", "f"), "floor": ("floor", "f"), "ceil": ("ceil", "f"), "trunc": ("trunc", "f"),
    "hypot": ("hypot", "f"), "bitwise_and": ("bitwise_and", "biu"), "bitwise_or": ("bitwise_or", "biu"),
    "bitwise_xor": ("bitwise_xor", "biu"), "bitwise_not": ("invert", "biu"),
}  # fmt: skip
"""Operations that are one NumPy function of arrays, and the kinds of dtypes for which they are."""
for _name, (_function, _kinds) in UFUNCS.items():
    entry(_name, in_place=True)(_ufunc(_function, _kinds))


def _common(k: Line) -> DType:
    """The dtype of the first operand that is an array."""
    return next((t.dtype for t in k.types if type(t) is Type), k.made.dtype)


QUESTIONS = {
    "eq": "equal", "ne": "not_equal", "lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal", "isnan": "isnan",
    "isinf": "isinf", "isfinite": "isfinite", "logical_and": "logical_and", "logical_or": "logical_or", "logical_xor": "logical_xor",
    "logical_not": "logical_not",
}  # fmt: skip
"""Operations that answer yes or no."""
for _name, _function in QUESTIONS.items():
    entry(_name)((lambda f: lambda k: [f"{f}({', '.join(_with_numbers(k, _common(k)))}, out={k.out})"])(_function))

EXPRESSIONS: dict[str, str] = {"add": "{} + {}", "sub": "{} - {}", "mul": "{} * {}", "neg": "-{}"}
"""How bare numbers are computed: with Python's operators, as the engine's forward functions do."""

FUNCTIONS = (
    *dict.fromkeys(f for f, _ in UFUNCS.values()),
    *dict.fromkeys(QUESTIONS.values()),
    "matmul",
    "concatenate",
    "copyto",
    "power",
    "reciprocal",
)
"""What the lines below call, by the names that the array library gives them."""

# ------------------------------------------------------------------------------------------------------------------- by hand


@entry("square", in_place=True)
def _square(k: Line) -> list[str] | None:
    (x,) = k.operands
    return [f"multiply({x}, {x}, out={k.out})"] if k.all_of("fc") else None


@entry("pow")
def _power(k: Line) -> list[str] | None:
    """Squares and cubes are products, as in the operation; NumPy itself has short ways for the exponents 1, 0.5 and -1."""
    (x,), n, o = k.operands, k.params["n"], k.out
    if k.made.dtype not in FAST_DTYPES or n == 0:
        return None
    if n in (2, 3):
        return [f"multiply({x}, {x}, out={o})", *([f"multiply({o}, {x}, out={o})"] if n == 3 else [])]
    short = {1: f"copyto({o}, {x})", 0.5: f"sqrt({x}, out={o})", -1: f"reciprocal({x}, out={o})"}
    return [short.get(n, f"power({x}, {n!r}, out={o})")]


@entry("reciprocal", in_place=True)
def _reciprocal(k: Line) -> list[str] | None:
    return [f"true_divide(1, {k.operands[0]}, out={k.out})"] if k.all_of("fc") else None


@entry("rsqrt", in_place=True)
def _rsqrt(k: Line) -> list[str] | None:
    return [f"sqrt({k.operands[0]}, out={k.out})", f"true_divide(1, {k.out}, out={k.out})"] if k.all_of("fc") else None


@entry("sigmoid", in_place=True)
def _sigmoid(k: Line) -> list[str] | None:
    """1 / (e^-x + 1), step by step as the operation does."""
    if not k.all_of("fc"):
        return None
    o = k.out
    return [f"negative({k.operands[0]}, out={o})", f"exp({o}, out={o})", f"add({o}, 1, out={o})", f"true_divide(1, {o}, out={o})"]


@entry("relu", in_place=True)
def _relu(k: Line) -> list[str] | None:
    """The larger of x and an array of zeros: NumPy compares arrays four times faster than an array and a number. Of a large array the
    elements are seen as a few long rows, and a row of zeros does for all."""
    if not k.all_of("f"):
        return None
    rows = _long_rows(k)
    if rows is None:
        return [f"maximum({k.operands[0]}, 0, out={k.out})"]
    if k.xp is numpy and rows[0] * rows[1] <= ZEROS:
        zeros = k.static("zeros", host_zeros(k.made.dtype)[: rows[0] * rows[1]].reshape(k.made.shape))
        return [f"maximum({k.operands[0]}, {zeros}, out={k.out})"]
    zeros = k.static("zeros", k.xp.zeros(rows[1], k.made.dtype))
    x, out = (k.view(text, f".reshape{rows}") for text in (k.operands[0], k.out))
    return [f"maximum({x}, {zeros}, out={out})"]


def _long_rows(k: Line) -> tuple[int, int] | None:
    """The elements of a row-major operand and result as long rows, None if there are none."""
    source, size = k.array(0), k.made.nbytes // k.made.dtype.itemsize
    if source is None or not all(row_major(s, k.made) for s in (k.strides[0], k.out_strides)) or source.shape != k.made.shape:
        return None
    return long_rows(size)


@entry("where", in_place=True)
def _where(k: Line) -> list[str] | None:
    """A choice against 0.0 (the derivative of relu): the bits of the other branch times 1 or 0, exact for NaN and infinity too."""
    condition = k.array(0)
    zero = next((i for i in (1, 2) if type(v := k.types[i]) is Literal and type(v.value) is float and repr(v.value) == "0.0"), 0)
    other = k.array(3 - zero) if zero else None
    if other is None or condition is None or condition.dtype.kind != "b":
        return None
    dtype = k.made.dtype
    if dtype not in FAST_DTYPES or other != k.made or condition.shape != other.shape or k.strides[0] is None or k.strides[3 - zero] is None:
        return None
    integer = f".view('int{8 * dtype.itemsize}')"
    bits, kept = k.view(k.out, integer), k.view(k.operands[3 - zero], integer)
    factors = k.scratch(k.made.shape, k.xp.dtype(f"int{8 * dtype.itemsize}"))  # NumPy multiplies numbers of two widths at half the speed
    stays, lines = k.operands[0], []
    if zero != 2:
        stays = k.scratch(k.made.shape, k.xp.dtype("bool"))
        lines.append(f"logical_not({k.operands[0]}, out={stays})")
    flags = k.view(stays, ".view('int8')")
    return [*lines, f"copyto({factors}, {flags})", f"multiply({kept}, {factors}, out={bits})"]


@entry("cast")
def _cast(k: Line) -> list[str] | None:
    source = k.array(0)
    return [f"copyto({k.out}, {k.operands[0]}, 'unsafe')"] if source and {source.dtype.kind, k.made.dtype.kind} <= set("biuf") else None


@entry("clone")
def _clone(k: Line) -> list[str] | None:
    return [f"copyto({k.out}, {k.operands[0]})"]


@entry("zeros_like")
def _zeros_like(k: Line) -> list[str] | None:
    return [f"{k.out}.fill(0)"]


@entry("ones_like")
def _ones_like(k: Line) -> list[str] | None:
    return [f"{k.out}.fill(1)"]


# ------------------------------------------------------------------------------------------------------- sums and products


def _column_sums(k: Line, source: Type, out: str) -> list[str] | None:
    """As `ops.sums.column_sums`; None for long columns, and for a layout that it leaves to `ops.sums.total`."""
    n, columns = source.shape
    x, ordered = k.operands[0], row_major(k.strides[0], source)
    if n <= AT_ONCE or not ordered:
        by_columns = row_major(k.strides[0] and k.strides[0][::-1], Type(source.shape[::-1], source.dtype))
        return [f"{_ones(k, n, source)}.dot({x}, out={out})"] if n <= AT_ONCE or (by_columns and n <= ROWS) else None
    if n > PLAIN * PLAIN:
        return None
    rows, count, rest = split(n)
    folded, body = k.scratch((count, columns), source.dtype), f"[:{n - rest}]" if rest else ""
    lines = [
        f"{_ones(k, rows, source)}.dot({k.view(x, f'{body}.reshape({rows}, {count * columns})')}, out={k.view(folded, '.reshape(-1)')})",
        f"{_ones(k, count, source)}.dot({folded}, out={out})",
    ]
    if rest:
        left = k.scratch((columns,), source.dtype)
        lines += [f"{_ones(k, rest, source)}.dot({k.view(x, f'[{n - rest}:]')}, out={left})", f"add({out}, {left}, out={out})"]
    return lines


def _ones(k: Line, count: int, source: Type) -> str:
    return k.static("ones", k.xp.ones(count, source.dtype))


@entry("sum")
def _sum(k: Line) -> list[str] | None:
    source, axes, keepdims = k.array(0), k.params["axes"], k.params["keepdims"]
    if source is None or source.dtype != k.made.dtype or not k.made.shape:
        return None
    ordered = row_major(k.strides[0], source)
    if source.dtype in FAST_DTYPES:
        if axes == (0,) and len(source.shape) == 2 and (lines := _column_sums(k, source, k.view(k.out, "[0]") if keepdims else k.out)):
            return lines
        if _is_short(source, axes):
            return _slices(k, source, axes[0], keepdims)
        if axes == (len(source.shape) - 1,) and len(source.shape) > 1 and 0 < source.shape[-1] <= ROWS and ordered:
            rows = f".reshape(-1, {source.shape[-1]})"
            ones = _ones(k, source.shape[-1], source)
            return [f"{k.view(k.operands[0], rows)}.dot({ones}, out={k.view(k.out, '.reshape(-1)')})"]
    return _plain(k, source, axes, keepdims)


def _plain(k: Line, source: Type, axes: tuple[int, ...], keepdims: bool) -> list[str] | None:
    """NumPy's reduction, where the operation leaves it to that."""
    small = math.prod(source.shape) <= AT_ONCE
    if is_narrow(source.dtype) or not (small or is_plain(source.shape, axes, source.dtype, row_major(k.strides[0], source))):
        return None
    return [f"add.reduce({k.operands[0]}, axis={axes}, out={k.out}, keepdims={keepdims})"]


def _is_short(source: Type, axes: tuple[int, ...]) -> bool:
    """As `ops.sums.is_short`."""
    return len(axes) == 1 and 2 <= source.shape[axes[0]] <= 4 and len(source.shape) > 1 and source.dtype in FAST_DTYPES


def _slices(k: Line, source: Type, axis: int, keepdims: bool) -> list[str]:
    """The sum over a short axis slice by slice, as in the operation (`ops.sums.slice_sums`)."""
    before = ":, " * axis
    names = [f"[{before}{i}:{i + 1}]" if keepdims else f"[{before}{i}]" for i in range(source.shape[axis])]
    first, *others = (k.view(k.operands[0], name) for name in names)
    return [f"add({first if i == 0 else k.out}, {part}, out={k.out})" for i, part in enumerate(others)]


@entry("mean")
def _mean(k: Line) -> list[str] | None:
    source = k.array(0)
    lines = _sum(k) if source is not None and source.dtype in FAST_DTYPES else None
    if lines is None or source is None:
        return None
    count = 1
    for axis in k.params["axes"]:
        count *= source.shape[axis]
    return [*lines, f"true_divide({k.out}, {count}, out={k.out})"] if count else None


@entry("sum_to")
def _sum_to(k: Line) -> list[str] | None:
    """Leading axes summed away are left to the engine, but for a matrix's columns."""
    source, shape = k.array(0), k.made.shape
    if source is None or source.dtype not in FAST_DTYPES:
        return None
    columns = len(source.shape) == 2 and shape in ((source.shape[1],), (1, source.shape[1])) and source.shape[0] != 1
    if columns and (lines := _column_sums(k, source, k.out if len(shape) == 1 else k.view(k.out, "[0]"))):
        return lines
    if len(shape) != len(source.shape) or shape == source.shape:
        return None
    axes = tuple(i for i, n in enumerate(shape) if n == 1 and source.shape[i] != 1)
    if _is_short(source, axes):
        return _slices(k, source, axes[0], True)
    return _plain(k, source, axes, True)


def row_major(strides: tuple[int, ...] | None, kind: Type) -> bool:
    """Whether an array of this type with these strides lies in memory row after row."""
    expected = kind.dtype.itemsize
    for stride, n in zip(reversed(strides or ()), reversed(kind.shape), strict=False):
        if n > 1 and stride != expected:
            return False
        expected *= n
    return strides is not None


@entry("matmul")
def _matmul(k: Line) -> list[str] | None:
    a, b = k.array(0), k.array(1)
    if a is None or b is None or not k.all_of("fc") or not a.dtype == b.dtype == k.made.dtype:
        return None
    if len(a.shape) == 2 == len(b.shape):
        return _dot(k, a, b, k.operands[1], k.strides[1])
    return [f"matmul({k.operands[0]}, {k.operands[1]}, out={k.out})"]


@entry("affine")
def _affine(k: Line) -> list[str] | None:
    x, w, b = (k.array(i) for i in range(3))
    if x is None or w is None or b is None or len(x.shape) != 2 or not x.dtype == w.dtype == b.dtype or not k.all_of("f"):
        return None
    turned, strides = Type((w.shape[1], w.shape[0]), w.dtype), k.strides[1]
    product = _dot(k, x, turned, f"{k.operands[1]}.transpose()", strides and strides[::-1])
    return [*product, f"add({k.out}, {k.operands[2]}, out={k.out})"]


def _dot(k: Line, a: Type, b: Type, text: str, strides: tuple[int, ...] | None) -> list[str]:
    """The product of two matrices, the right one copied where the engine copies it."""
    if k.xp is not numpy or strides is None or not is_turned(a.shape, b.shape, strides):
        return [f"{k.operands[0]}.dot({text}, out={k.out})"]
    copy = k.scratch(b.shape, b.dtype)
    return [f"copyto({copy}, {text})", f"{k.operands[0]}.dot({copy}, out={k.out})"]


@entry("cat")
def _cat(k: Line) -> list[str] | None:
    if any(t.dtype != k.made.dtype for t in k.types if type(t) is Type):
        return None
    return [f"concatenate(({', '.join(k.operands)},), axis={k.params['axis']}, out={k.out})"]
