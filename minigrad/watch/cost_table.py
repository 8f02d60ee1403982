"""What each operation costs: one table, a formula for each, from the shapes alone.

A cost has four numbers: multiplications (divisions count as such), additions (and subtractions), `other` operations on single elements
(comparisons, sign changes, evaluations of sin, exp, …), and bytes moved (all operands read once and all results written once; a view moves
none). They count what the mathematics of the operation asks for, done in the plain way: a product of an m×k and a k×n matrix is m·n·k
multiplications and m·n·(k−1) additions. A kernel may do it with other instructions, and padding is counted as if it were multiplied.

Where such a formula would pretend to know more than it does (matrix factorisations, iterations), the entry is an estimate by the leading
term, and says so.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ..primitive import Primitive

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Cost:
    """mul, add, other: numbers of operations on single elements; bytes: read and written; estimated: whether any of it is an estimate."""

    mul: int = 0
    add: int = 0
    other: int = 0
    bytes: int = 0
    estimated: bool = False

    def __add__(self, more: Cost) -> Cost:
        return Cost(
            self.mul + more.mul, self.add + more.add, self.other + more.other, self.bytes + more.bytes, self.estimated or more.estimated
        )

    def __mul__(self, times: int) -> Cost:
        return Cost(self.mul * times, self.add * times, self.other * times, self.bytes * times, self.estimated)

    __rmul__ = __mul__

    @property
    def operations(self) -> int:
        """All operations on single elements."""
        return self.mul + self.add + self.other


Formula = Callable[[Sequence[Shape], Sequence[Shape], dict[str, Any]], tuple[int, int, int]]
"""(shapes of the operands, shapes of the results, parameters) to (mul, add, other)."""

COSTS: dict[str, Formula] = {}
ESTIMATED: set[str] = set()
"""The operations whose formula is an estimate."""


def _n(shape: Shape) -> int:
    return math.prod(shape)


def _each(mul: int = 0, add: int = 0, other: int = 0) -> Formula:
    """The same for each element of the (first) result."""
    return lambda ins, outs, params: (mul * _n(outs[0]), add * _n(outs[0]), other * _n(outs[0]))


def _row(formula: Formula, *names: str, estimated: bool = False) -> None:
    for name in names:
        COSTS[name] = formula
        if estimated:
            ESTIMATED.add(name)


# ------------------------------------------------------------------------------------------------ element by element

_row(_each(add=1), "add", "sub")
_row(_each(mul=1), "mul", "div", "reciprocal", "square")
_row(
    _each(other=1),
    "neg",
    "conj",
    "abs",
    "sgn",
    "sign",
    "floor",
    "ceil",
    "trunc",
    "round",
    "relu",
    "maximum",
    "minimum",
    "clamp",
    "where",
    "select",
)
_row(_each(other=1), "sqrt", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "erf", "erfc", "angle", "heaviside")
_row(_each(other=1), "lgamma", "digamma", "polygamma", "erfinv", "signbit", "copysign", "nextafter", "gcd", "lcm")
_row(_each(other=1), "left_shift", "right_shift")
_row(_each(other=1), "bessel_j", "bessel_y", "bessel_i", "bessel_k", "airy_ai", "erfcx", "zeta", "igamma", "igammac", "exponent")
_row(_each(other=1), "sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "pow_tensor")
_row(_each(other=1), "eq", "ne", "lt", "le", "gt", "ge", "isnan", "isinf", "isfinite")
_row(_each(other=1), *(f"logical_{op}" for op in ("and", "or", "xor", "not")), *(f"bitwise_{op}" for op in ("and", "or", "xor", "not")))
_row(_each(mul=1, other=1), "rsqrt", "floor_divide", "trunc_divide", "xlogy")
_row(_each(mul=2, add=1, other=1), "remainder", "fmod")
_row(_each(mul=1, add=1, other=1), "sigmoid")
_row(_each(mul=2, add=1, other=1), "hypot")
_row(_each(add=1, other=3), "softplus")
_row(_each(add=2, other=3), "logaddexp")
_row(_each(mul=2, add=2, other=3), "binary_cross_entropy")
_row(_each(mul=1, other=2), "dropout_mask")
_row(_each(other=1), "random_uniform", "random_normal", "random_integers")


def _power(ins: Sequence[Shape], outs: Sequence[Shape], params: dict[str, Any]) -> tuple[int, int, int]:
    """Squares and cubes are multiplied out."""
    factors = {2: 1, 3: 2}.get(params.get("n", 0))
    return (factors * _n(outs[0]), 0, 0) if factors else (0, 0, _n(outs[0]))


_row(_power, "pow")

# -------------------------------------------------------------------------------------------------- moving, not computing

_row(_each(), "identity", "clone", "cast", "move", "overwrite", "zeros_like", "ones_like", "real", "imag", "complex")
_row(_each(), "view_as_real", "view_as_complex", "reshape", "permute", "broadcast_to", "flip", "roll", "pad_axis", "cat", "tril", "triu")
_row(_each(), "diagonal", "undiagonal", "window", "unwindow", "getitem", "scatter_view", "argwhere", "batch_enter", "batch_leave")
_row(_each(), "batch_share", "row_order", "unfold")
_row(lambda ins, outs, params: (0, _n(ins[0]), 0), "ungather", "bincount")
_row(lambda ins, outs, params: (0, _n(ins[1]) if params.get("accumulate") else 0, 0), "index_put")
_row(lambda ins, outs, params: (0, 0, _n(ins[1])), "scatter_extreme")

# ------------------------------------------------------------------------------------------------------------ reductions


def _fewer(ins: Sequence[Shape], outs: Sequence[Shape]) -> int:
    """Adding n numbers up takes n − 1 additions, for each result."""
    return max(0, _n(ins[0]) - _n(outs[0]))


_row(lambda ins, outs, params: (0, _fewer(ins, outs), 0), "sum", "sum_to", "batch_total", "unfold_backward")
_row(lambda ins, outs, params: (_n(outs[0]), _fewer(ins, outs), 0), "mean")
_row(lambda ins, outs, params: (_fewer(ins, outs), 0, 0), "prod")
_row(lambda ins, outs, params: (0, 0, _fewer(ins, outs)), "amax", "amin", "argmax", "argmin", "all", "any")
_row(lambda ins, outs, params: (0, 2 * _n(ins[0]) - _n(outs[0]), _n(ins[0]) + _fewer(ins, outs) + _n(outs[0])), "logsumexp")


def _along(shape: Shape, axes: Any) -> int:
    """How many rows lie along the axes."""
    if not shape:
        return 1
    return _n(shape) // max(1, math.prod(shape[a] for a in ((axes,) if isinstance(axes, int) else axes)))


def _steps(ins: Sequence[Shape], params: dict[str, Any]) -> int:
    return _n(ins[0]) - _along(ins[0], params["axis"])


_row(lambda ins, outs, params: (0, _steps(ins, params), 0), "cumsum")
_row(lambda ins, outs, params: (_steps(ins, params), 0, 0), "cumprod")
_row(lambda ins, outs, params: (0, 0, _steps(ins, params)), "leader")
_row(lambda ins, outs, params: (_steps(ins, params), _steps(ins, params), 0), "recurrence")
_row(lambda ins, outs, params: (0, 2 * _steps(ins, params), 3 * _steps(ins, params)), "logcumsumexp")


def _softmax(ins: Sequence[Shape], outs: Sequence[Shape], params: dict[str, Any]) -> tuple[int, int, int]:
    n, rows = _n(ins[0]), _along(ins[0], params["axis"])
    return n, n + (n - rows), n + (n - rows)  # divide; subtract the largest, add up; exponentials, comparisons


def _log_softmax(ins: Sequence[Shape], outs: Sequence[Shape], params: dict[str, Any]) -> tuple[int, int, int]:
    n, rows = _n(ins[0]), _along(ins[0], params["axis"])
    return 0, 2 * n + (n - rows), n + (n - rows) + rows


def _standardize(ins: Sequence[Shape], outs: Sequence[Shape], params: dict[str, Any]) -> tuple[int, int, int]:
    n, rows = _n(ins[0]), _along(ins[0], params["axes"])
    return 2 * n + 3 * rows, n + 2 * (n - rows) + rows, rows  # squares and scaling; centring and two sums; roots


_row(_each(other=1), "nll")
_row(lambda ins, outs, params: (0, 0, _n(ins[0])), "nll_place")


def _standardize_push(ins: Sequence[Shape], outs: Sequence[Shape], params: dict[str, Any]) -> tuple[int, int, int]:
    n, rows = _n(ins[0]), _along(ins[0], params["axes"])
    return 4 * n + 7 * rows, 3 * n + 4 * (n - rows) + rows, 2 * rows  # two products, two scalings; four sums; roots and a sign


_row(_standardize_push, "standardize_push")
_row(_each(mul=1, add=1), "scale_shift")
_row(_softmax, "softmax")
_row(_log_softmax, "log_softmax")
_row(_standardize, "standardize")

# --------------------------------------------------------------------------------------------------------------- products


def _sums_of(count: int, length: int) -> tuple[int, int, int]:
    """`count` sums of `length` products each."""
    return count * length, count * max(0, length - 1), 0


def _affine(ins: Sequence[Shape], outs: Sequence[Shape], params: dict[str, Any]) -> tuple[int, int, int]:
    mul, add, _ = _sums_of(_n(outs[0]), ins[0][-1])
    return mul, add + _n(outs[0]), 0


def _scattered(ins: Sequence[Shape], outs: Sequence[Shape], params: dict[str, Any]) -> tuple[int, int, int]:
    """Every element of g is multiplied by its part of the kernel, and the products meet in the image."""
    products = _n(ins[0]) * _n(ins[1][1:])
    return products, max(0, products - _n(outs[0])), 0


_row(lambda ins, outs, params: _sums_of(_n(outs[0]), ins[0][-1]), "matmul")
_row(_affine, "affine")
_row(lambda ins, outs, params: _sums_of(_n(outs[0]), _n(ins[1][1:])), "convolve")
_row(_scattered, "convolve_input")
_row(lambda ins, outs, params: _sums_of(_n(outs[0]), ins[1][0] * _n(ins[1][2:])), "convolve_weight")


def _gated(gates: int, mul: int, add: int, other: int) -> Formula:
    """So many products of the state with a matrix, and so much for each element of the states of all steps."""

    def formula(ins: Sequence[Shape], outs: Sequence[Shape], params: dict[str, Any]) -> tuple[int, int, int]:
        n, width = _n(outs[0]), outs[0][-1]
        products, sums, _ = _sums_of(gates * n, width)
        return products + mul * n, sums + add * n, other * n

    return formula


_row(_gated(1, 0, 1, 1), "rnn")  # the sum with a; tanh or relu
_row(_gated(4, 6, 8, 5), "lstm")  # three sigmoids, two tanh; three products of states with gates; four sums with a, one of two parts of c
_row(_gated(3, 4, 10, 3), "gru")  # two sigmoids, a tanh; two products; six sums for the gates, a difference and a sum for the state
_row(lambda ins, outs, params: (0, 0, _n(outs[0]) * (params["size"] - 1)), "window_max")
_row(lambda ins, outs, params: (0, _n(outs[0]) * (params["size"] - 1), 0), "window_sum")
_row(lambda ins, outs, params: (0, _n(ins[0]) * params["size"], 0), "window_spread")
_row(lambda ins, outs, params: (0, _n(ins[2]) * params["size"], _n(ins[2]) * params["size"]), "window_max_pull", "window_max_push")

# --------------------------------------------------------------------------------- estimates: by the leading term, or by elements


def _cubic(share: float) -> Formula:
    """So many times n³ multiplications and as many additions, for each n×n matrix."""

    def formula(ins: Sequence[Shape], outs: Sequence[Shape], params: dict[str, Any]) -> tuple[int, int, int]:
        rows, columns = ins[0][-2:]
        count = int(share * max(1, _n(ins[0][:-2])) * rows * columns * min(rows, columns))
        return count, count, 0

    return formula


def _solve(ins: Sequence[Shape], outs: Sequence[Shape], params: dict[str, Any]) -> tuple[int, int, int]:
    mul, add, _ = _cubic(1 / 3)(ins, outs, params)
    return mul + ins[0][-1] * _n(outs[0]), add + ins[0][-1] * _n(outs[0]), 0


def _sorting(ins: Sequence[Shape], outs: Sequence[Shape], params: dict[str, Any]) -> tuple[int, int, int]:
    return 0, 0, int(_n(outs[0]) * math.log2(max(2, ins[0][params["axis"]] if "axis" in params and ins[0] else _n(ins[0]))))


def _fourier(ins: Sequence[Shape], outs: Sequence[Shape], params: dict[str, Any]) -> tuple[int, int, int]:
    """n/2 · log₂ n butterflies along each axis, each a complex product (4 multiplications, 2 additions) and two complex additions."""
    butterflies = sum(_n(ins[0]) / 2 * math.log2(max(1, ins[0][axis])) for axis in params["axes"])
    return int(4 * butterflies), int(6 * butterflies), 0


_row(_cubic(1 / 6), "cholesky", estimated=True)
_row(_cubic(1 / 3), "lu", "lu_pivots", "det", "logabsdet", "detsign", estimated=True)
_row(_cubic(1), "inv", "cofactors", "qr", "reflections", estimated=True)
_row(_cubic(4), "eigh", estimated=True)
_row(_cubic(10), "eig", estimated=True)
_row(_cubic(8), "svd", "pinv", estimated=True)
_row(_solve, "solve", estimated=True)
_row(_sorting, "argsort", "searchsorted", estimated=True)
_row(_fourier, "fft", estimated=True)


# ---------------------------------------------------------------------------------------------------------------- the question


def cost_of(prim: Any, operands: Sequence[Any], results: Sequence[Any], params: dict[str, Any]) -> Cost:
    """What one call of an operation costs.

    prim: its declaration (anything else, a user's Function say, is estimated as one operation for each element of its results);
    operands, results: whatever has `shape` and `dtype`; Python numbers count as scalars that move no bytes.
    """
    ins = [tuple(getattr(o, "shape", ())) for o in operands]
    outs = [tuple(r.shape) for r in results if hasattr(r, "shape")]
    moved = (
        0
        if isinstance(prim, Primitive) and prim.view
        else sum(_n(x.shape) * x.dtype.itemsize for x in (*operands, *results) if hasattr(x, "dtype"))
    )
    formula = COSTS.get(prim.name) if isinstance(prim, Primitive) else None
    if formula is None or not outs:
        return Cost(other=sum(map(_n, outs)), bytes=moved, estimated=True)
    return Cost(*formula(ins, outs, params), bytes=moved, estimated=prim.name in ESTIMATED)
