"""What operations cost: formulas from the shapes alone, which declarations name
(`cost=running_sum`).

A formula gets the operands' shapes, the results' shapes and the parameters, and returns how many
multiplications, additions and other operations on single elements there are. They count what the
mathematics asks for, done in the plain way: a product of an m×k and a k×n matrix is m·n·k
multiplications and m·n·(k−1) additions. A kernel may do it with other instructions, and padding is
counted as if it were multiplied.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

Shape = tuple[int, ...]
Counts = tuple[int, int, int]
Shapes = Sequence[Shape]
Params = dict[str, Any]
Formula = Callable[[Shapes, Shapes, Params], Counts]

MOVES = (0, 0, 0)
"""The cost of moving elements without computing anything, for each element."""
EACH = (0, 0, 1)
"""One operation that is no arithmetic, for each element of the result."""


def estimate(formula: Formula) -> Formula:
    """Mark a formula that is only a leading term: of factorisations and other iterations."""
    formula.estimated = True  # type: ignore[attr-defined]
    return formula


# ----------------------------------------------------------------------------- reductions and scans


def _fewer(ins: Shapes, outs: Shapes) -> int:
    """Adding n numbers up takes n − 1 additions, for each result."""
    return max(0, math.prod(ins[0]) - math.prod(outs[0]))


def additions(ins: Shapes, outs: Shapes, params: Params) -> Counts:
    """All elements are added up to the results."""
    return 0, _fewer(ins, outs), 0


def mean_cost(ins: Shapes, outs: Shapes, params: Params) -> Counts:
    """Sums and one division each."""
    return math.prod(outs[0]), _fewer(ins, outs), 0


def multiplications(ins: Shapes, outs: Shapes, params: Params) -> Counts:
    """All elements are multiplied to the results."""
    return _fewer(ins, outs), 0, 0


def comparisons(ins: Shapes, outs: Shapes, params: Params) -> Counts:
    """All elements are compared, or combined by and or or."""
    return 0, 0, _fewer(ins, outs)


def logsumexp_cost(ins: Shapes, outs: Shapes, params: Params) -> Counts:
    """Subtract the largest, add up; exponentials, comparisons, logarithms."""
    n, results = math.prod(ins[0]), math.prod(outs[0])
    return 0, 2 * n - results, n + _fewer(ins, outs) + results


def _along(shape: Shape, axes: Any) -> int:
    """How many rows lie along the axes."""
    if not shape:
        return 1
    return math.prod(shape) // max(
        1, math.prod(shape[a] for a in ((axes,) if isinstance(axes, int) else axes))
    )


def steps(mul: int = 0, add: int = 0, other: int = 0) -> Formula:
    """So much for each step along the axis, from the second element on."""

    def formula(ins: Shapes, outs: Shapes, params: Params) -> Counts:
        n = math.prod(ins[0]) - _along(ins[0], params["axis"])
        return mul * n, add * n, other * n

    return formula


def each_input(
    mul: int = 0, add: int = 0, other: int = 0, operand: int = 0, per: str | None = None
) -> Formula:
    """So much for each element of an operand; `per`: times this parameter."""

    def formula(ins: Shapes, outs: Shapes, params: Params) -> Counts:
        n = math.prod(ins[operand]) * (params[per] if per else 1)
        return mul * n, add * n, other * n

    return formula


def put_cost(ins: Shapes, outs: Shapes, params: Params) -> Counts:
    """Values are added where they accumulate."""
    return 0, math.prod(ins[1]) if params.get("accumulate") else 0, 0


def in_windows(add: int = 0, other: int = 0) -> Formula:
    """Each window's elements are combined to one."""

    def formula(ins: Shapes, outs: Shapes, params: Params) -> Counts:
        n = math.prod(outs[0]) * (params["size"] - 1)
        return 0, add * n, other * n

    return formula


def softmax_cost(ins: Shapes, outs: Shapes, params: Params) -> Counts:
    n, rows = math.prod(ins[0]), _along(ins[0], params["axis"])
    return (
        n,
        n + (n - rows),
        n + (n - rows),
    )  # divide; subtract the largest, add up; exponentials, comparisons


def log_softmax_cost(ins: Shapes, outs: Shapes, params: Params) -> Counts:
    n, rows = math.prod(ins[0]), _along(ins[0], params["axis"])
    return 0, 2 * n + (n - rows), n + (n - rows) + rows


def standardize_cost(ins: Shapes, outs: Shapes, params: Params) -> Counts:
    n, rows = math.prod(ins[0]), _along(ins[0], params["axes"])
    return (
        2 * n + 3 * rows,
        n + 2 * (n - rows) + rows,
        rows,
    )  # squares and scaling; centring and two sums; roots


def standardize_jvp_cost(ins: Shapes, outs: Shapes, params: Params) -> Counts:
    n, rows = math.prod(ins[0]), _along(ins[0], params["axes"])
    return (
        4 * n + 7 * rows,
        3 * n + 4 * (n - rows) + rows,
        2 * rows,
    )  # two products, two scalings; four sums; roots and a sign


# ----------------------------------------------------------------------------------------- products


def _sums_of(count: int, length: int) -> Counts:
    """`count` sums of `length` products each."""
    return count * length, count * max(0, length - 1), 0


def matmul_cost(ins: Shapes, outs: Shapes, params: Params) -> Counts:
    """Each element of the product is a sum over the inner size."""
    return _sums_of(math.prod(outs[0]), ins[0][-1])


def convolution_cost(ins: Shapes, outs: Shapes, params: Params) -> Counts:
    """Each element of the result is a sum over one kernel."""
    return _sums_of(math.prod(outs[0]), math.prod(ins[1][1:]))


def convolution_weight_cost(ins: Shapes, outs: Shapes, params: Params) -> Counts:
    """Each element of the kernel is a sum over all images and windows."""
    return _sums_of(math.prod(outs[0]), ins[1][0] * math.prod(ins[1][2:]))


def layer_cost(ins: Shapes, outs: Shapes, params: Params) -> Counts:
    mul, add, _ = _sums_of(math.prod(outs[0]), ins[0][-1])
    return mul, add + math.prod(outs[0]), 0


def scattered_products(ins: Shapes, outs: Shapes, params: Params) -> Counts:
    """Every element of g is multiplied by its part of the kernel, and the products meet in the
    image."""
    products = math.prod(ins[0]) * math.prod(ins[1][1:])
    return products, max(0, products - math.prod(outs[0])), 0


def gated(gates: int, mul: int, add: int, other: int) -> Formula:
    """So many products of the state with a matrix, and so much for each element of the states of
    all steps."""

    def formula(ins: Shapes, outs: Shapes, params: Params) -> Counts:
        n, width = math.prod(outs[0]), outs[0][-1]
        products, sums, _ = _sums_of(gates * n, width)
        return products + mul * n, sums + add * n, other * n

    return formula


def cubic(share: float) -> Formula:
    """So many times n³ multiplications and as many additions, for each n×n matrix."""

    @estimate
    def formula(ins: Shapes, outs: Shapes, params: Params) -> Counts:
        rows, columns = ins[0][-2:]
        count = int(share * max(1, math.prod(ins[0][:-2])) * rows * columns * min(rows, columns))
        return count, count, 0

    return formula


@estimate
def solve_cost(ins: Shapes, outs: Shapes, params: Params) -> Counts:
    mul, add, _ = cubic(1 / 3)(ins, outs, params)
    return mul + ins[0][-1] * math.prod(outs[0]), add + ins[0][-1] * math.prod(outs[0]), 0


@estimate
def sorting(ins: Shapes, outs: Shapes, params: Params) -> Counts:
    return (
        0,
        0,
        int(
            math.prod(outs[0])
            * math.log2(
                max(2, ins[0][params["axis"]] if "axis" in params and ins[0] else math.prod(ins[0]))
            )
        ),
    )


@estimate
def fourier_cost(ins: Shapes, outs: Shapes, params: Params) -> Counts:
    """n/2 · log₂ n butterflies along each axis, each a complex product (4 multiplications, 2
    additions) and two complex additions."""
    butterflies = sum(
        math.prod(ins[0]) / 2 * math.log2(max(1, ins[0][axis])) for axis in params["axes"]
    )
    return int(4 * butterflies), int(6 * butterflies), 0
