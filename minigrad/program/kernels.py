"""How an instruction is written as lines of Python that allocate nothing: by the kernel that its
operation declares, or by NumPy's functions from its scalar expression.

Such lines write the same bits as the operation's forward function; a test compares them on every
sample of every operation. What has no kernel is run as the engine runs it.
"""

from __future__ import annotations

import math

from .. import scalar
from ..backend import SINGLE_OR_DOUBLE, DType, numpy
from ..core.primitive import Primitive
from ..ops.kernels import KernelCall, row_major
from ..scalar import Term
from .instructions import Literal, Type

UFUNCS: dict[str, tuple[str, str]] = {
    "+": ("add", "fciu"), "-": ("subtract", "fciu"), "*": ("multiply", "fciu"),
    "/": ("true_divide", "fc"), "neg": ("negative", "fci"),
    "sqrt": ("sqrt", "fc"), "exp": ("exp", "fc"), "exp2": ("exp2", "f"), "expm1": ("expm1", "fc"),
    "log": ("log", "fc"),
    "log2": ("log2", "fc"), "log10": ("log10", "fc"), "log1p": ("log1p", "f"),
    "logaddexp": ("logaddexp", "f"), "sin": ("sin", "fc"),
    "cos": ("cos", "fc"), "tan": ("tan", "fc"), "asin": ("arcsin", "fc"), "acos": ("arccos", "fc"),
    "atan": ("arctan", "fc"),
    "atan2": ("arctan2", "f"), "sinh": ("sinh", "fc"), "cosh": ("cosh", "fc"),
    "tanh": ("tanh", "fc"), "asinh": ("arcsinh", "fc"),
    "acosh": ("arccosh", "fc"), "atanh": ("arctanh", "fc"), "maximum": ("maximum", "fiu"),
    "minimum": ("minimum", "fiu"),
    "abs": ("absolute", "f"), "floor": ("floor", "f"), "ceil": ("ceil", "f"),
    "trunc": ("trunc", "f"), "round": ("rint", "f"),
    "hypot": ("hypot", "f"), "&": ("bitwise_and", "biu"), "|": ("bitwise_or", "biu"),
    "^": ("bitwise_xor", "biu"), "~": ("invert", "biu"),
    "==": ("equal", ""), "!=": ("not_equal", ""), "<": ("less", ""), "<=": ("less_equal", ""),
    ">": ("greater", ""),
    ">=": ("greater_equal", ""), "and": ("logical_and", ""), "or": ("logical_or", ""),
    "xor": ("logical_xor", ""),
    "not": ("logical_not", ""), "isnan": ("isnan", ""), "isinf": ("isinf", ""),
    "isfinite": ("isfinite", ""), "**": ("power", "f"),
}  # fmt: skip
"""The words of scalar expressions as NumPy's functions, and the kinds of dtypes for which these
give the operation's bits; questions are asked of all dtypes."""
FUNCTIONS = (*(function for function, _ in UFUNCS.values()), "matmul", "concatenate", "copyto")
"""What the lines call, by the names that the array library gives them."""


def lines_of(prim: Primitive, k: KernelCall) -> list[str] | None:
    """The lines that write the result of an operation into `k.out`, None where there are none."""
    if callable(prim.kernel):
        out: list[str] | None = prim.kernel(k)
        return out
    term = scalar.term_of(prim.scalar, k.params) if prim.kernel == "scalar" else None
    if term is None:
        return None
    if isinstance(term, tuple) and term == ("/", 1, prim.inputs[0]) and not k.all_of("f"):
        # it may be x ** -1, which NumPy rounds otherwise than 1 / x where x is complex
        return None
    if isinstance(term, tuple):
        return _calls(term, dict(zip(prim.inputs, range(len(k.operands)), strict=True)), k)
    if not isinstance(term, str):
        return [f"{k.out}.fill({term})"]
    at = prim.inputs.index(term)
    source = k.array(at)
    if source is None or not (
        source.dtype == k.made.dtype or {source.dtype.kind, k.made.dtype.kind} <= set("biuf")
    ):
        return None
    return [f"copyto({k.out}, {k.operands[at]}, 'unsafe')"]


def _calls(term: Term, place: dict[str, int], k: KernelCall) -> list[str] | None:
    """A chain of calls, each of which writes into `k.out` what the next one reads there.

    None where a call has two operands to be computed first, where NumPy has no function for a word,
    or where that would round in another way than the operation does.
    """
    chain: list[tuple[Term, ...]] = []
    while isinstance(term, tuple):
        chain.append(term)
        inner = [part for part in term[1:] if isinstance(part, tuple)]
        if len(inner) > 1 or term[0] not in UFUNCS or (term[0] == "**" and not _is_finite(term[2])):
            return None
        term = inner[0] if inner else 0
    asked = scalar.is_question(chain[0])
    kinds = [UFUNCS[str(word)][1] for word, *_ in chain if UFUNCS[str(word)][1]]
    if (
        not all(map(k.all_of, kinds))
        or (asked and len(chain) > 1)
        or (len(chain) > 1 and k.made.dtype.itemsize == 2)
    ):
        return None
    texts = _with_numbers(k, _common(k) if asked else k.made.dtype)
    lines: list[str] = []
    for word, *parts in reversed(chain):
        function = UFUNCS[str(word)][0]
        if (
            not lines
            and tuple(parts) == tuple(place)
            and not asked
            and (special := _by_columns(k, function) or _by_tiles(k, function))
        ):
            lines += special
            continue
        operands = [
            k.out if isinstance(p, tuple) else texts[place[p]] if isinstance(p, str) else repr(p)
            for p in parts
        ]
        lines.append(f"{function}({', '.join(operands)}, out={k.out})")
    k.in_place = not asked and not any(isinstance(p, str) for step in chain[:-1] for p in step[1:])
    return lines


def _is_finite(term: Term) -> bool:
    return isinstance(term, int | float) and math.isfinite(term)


def on_numbers(prim: Primitive, operands: list[str]) -> str | None:
    """How bare numbers are added, subtracted, multiplied or negated: with Python's operators, as
    the engine's forward functions do. None for all else."""
    term = scalar.parsed(prim.scalar) if isinstance(prim.scalar, str) else None
    if (
        not isinstance(term, tuple)
        or term[0] not in ("+", "-", "*", "neg")
        or term[1:] != prim.inputs
    ):
        return None
    texts = dict(zip(prim.inputs, operands, strict=True))
    return scalar.written(term, {}, lambda part: texts[str(part)])


def _common(k: KernelCall) -> DType:
    """The dtype of the first operand that is an array."""
    return next((t.dtype for t in k.types if type(t) is Type), k.made.dtype)


def _with_numbers(k: KernelCall, dtype: DType) -> list[str]:
    """The operands, Python's numbers as arrays without axes, which NumPy meets in half a
    microsecond less."""
    if (
        dtype not in SINGLE_OR_DOUBLE
        or k.xp is not numpy
        or any(t.dtype != dtype for t in k.types if type(t) is Type)
    ):
        return k.operands
    texts = list(k.operands)
    for i, kind in enumerate(k.types):
        if (
            type(kind) is Literal
            and type(kind.value) in (int, float)
            and abs(kind.value) < 1e30
            and k.strides.count(None) < len(texts)
        ):
            texts[i] = k.static(name_of_number(kind.value), k.xp.asarray(kind.value, dtype))
    return texts


def name_of_number(value: complex) -> str:
    """A variable's name for a Python number."""
    text = repr(value).strip("()").replace("-", "minus_").replace("+", "_").replace(".", "_")
    return f"number_{text}"


def _by_columns(k: KernelCall, name: str) -> list[str] | None:
    """A table of 2 to 4 columns and a column (perhaps one that is seen as a table) or a row: column
    by column. 1000 x 2 by 1000 x 1 takes half the time."""
    shape = k.made.shape
    if len(shape) != 2 or not 2 <= shape[1] <= 4 or shape[0] < 64:
        return None
    ways = {
        shape: "[:, {i}]",
        (shape[0], 1): "[:, 0]",
        (1, shape[1]): "[0, {i}:{j}]",
        (shape[1],): "[{i}:{j}]",
    }
    kinds = [k.array(n) for n in range(len(k.operands))]
    if any(t is not None and t.shape not in ways for t in kinds):
        return None
    stretched = any(
        strides is not None and len(strides) == 2 and strides[1] == 0 != strides[0]
        for strides in k.strides
    )
    if all(t is None or t.shape == shape for t in kinds) and not stretched:
        return None
    lines = []
    for i in range(shape[1]):
        pairs = zip(k.operands, kinds, strict=True)
        parts = [
            text if t is None else k.view(text, ways[t.shape].format(i=i, j=i + 1))
            for text, t in pairs
        ]
        lines.append(f"{name}({', '.join(parts)}, out={k.view(k.out, f'[:, {i}]')})")
    return lines


def _by_tiles(k: KernelCall, name: str) -> list[str] | None:
    """A table with short rows and a row (a bias): the row is repeated until it is a long one, and
    meets several rows of the table at once. 1000 x 25 and 25 take two thirds of the time."""
    shape = k.made.shape
    if (
        len(shape) != 2
        or not 4 < shape[1] < 64
        or len(k.operands) != 2
        or not row_major(k.out_strides, k.made.shape, k.made.dtype)
    ):
        return None
    kinds = [k.array(0), k.array(1)]
    at = next(
        (
            n
            for n, t in enumerate(kinds)
            if t is not None and t.shape == (shape[1],) and t.dtype == k.made.dtype
        ),
        None,
    )
    if (
        at is None
        or kinds[1 - at] != k.made
        or not row_major(k.strides[1 - at], k.made.shape, k.made.dtype)
    ):
        return None
    count = next(n for n in range(4096 // shape[1], 0, -1) if shape[0] % n == 0)
    if count < 16 or shape[0] < 4 * count:
        return None
    long = f".reshape({shape[0] // count}, {count * shape[1]})"
    tile = k.scratch((count, shape[1]), k.made.dtype)
    operands = [k.view(k.operands[1 - at], long), k.view(tile, ".reshape(-1)")]
    return [
        f"copyto({tile}, {k.operands[at]})",
        f"{name}({', '.join(operands if at else operands[::-1])}, out={k.view(k.out, long)})",
    ]
