"""Which elements meet in an operation: for pictures of one element of a product, a convolution or a
pooling, which declarations name (`terms=matrix_terms`).

Such an operation is a loop over some variables. At each point of the loop one element of each
operand is read, where an index has the form offset + Σ factor · variable: in a convolution
x[n, c, p · stride + k · dilation − before]. Their products are added up to an element of the
result, or the largest one is. The same loop says where a share of an adjoint goes: at each point
the result's adjoint meets the other operands, and is added to the operand's.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

Shape = tuple[int, ...]
Axis = tuple[int, tuple[tuple[int, int], ...]]
"""An index along an axis: the offset, and for each variable in it its number and its factor."""
Index = tuple[Axis, ...]


class Terms(NamedTuple):
    """sizes: how many values each variable of the loop has; result, operands: the index of each
    array; added: positions of operands that are no factors but are added to the sum; combine:
    "sum", or "largest" (the first of the largest); divisors: for each axis of the result by what
    its elements are divided, one number or one for each place. An index outside an operand reads
    its padding, which counts as 0, and is never the largest.
    """

    sizes: Shape
    result: Index
    operands: tuple[Index, ...]
    added: tuple[int, ...] = ()
    combine: str = "sum"
    divisors: tuple[Sequence[float], ...] = ()


Formula = Callable[[Sequence[Shape], Shape, dict[str, Any]], Terms | None]
"""From the operands' shapes, the result's shape and the parameters; None where it cannot say."""


def plain(*variables: int) -> Index:
    """An index of one variable along each axis."""
    return tuple((0, ((v, 1),)) for v in variables)


def matrix_terms(ins: Sequence[Shape], out: Shape, params: dict[str, Any]) -> Terms:
    """Y[…, i, j] = Σ_k A[…, i, k] · B[…, k, j]; a vector has no i, or no j."""
    a, b = ins
    batch = out[: len(out) - (len(a) > 1) - (len(b) > 1)]
    i, j, k = range(len(batch), len(batch) + 3)
    row, column = [i] * (len(a) > 1), [j] * (len(b) > 1)

    def leading(shape: Shape) -> Index:
        first = len(batch) - max(0, len(shape) - 2)
        return tuple(
            (0, ((first + axis, 1),)) if n == batch[first + axis] else (0, ())
            for axis, n in enumerate(shape[:-2])
        )

    return Terms(
        (*batch, a[-2] if row else 1, b[-1] if column else 1, a[-1]),
        (*plain(*range(len(batch))), *plain(*row, *column)),
        ((*leading(a), *plain(*row, k)), (*leading(b), *plain(k, *column))),
    )


def layer_terms(ins: Sequence[Shape], out: Shape, params: dict[str, Any]) -> Terms:
    """Y[…, j] = Σ_k X[…, k] · W[j, k] + b[j]."""
    rows = range(len(out) - 1)
    j, k = len(rows), len(rows) + 1
    index = plain(*rows, k), plain(j, k), plain(j)
    return Terms((*out, ins[0][-1]), plain(*rows, j), index, added=(2,))


def _convolution(image: Shape, kernel: Shape, windows: Shape, how: dict[str, Any]) -> Any:
    """The loop over samples, groups, outputs and inputs of a group, windows and positions in them;
    and the indices of the image, of the kernel and of the windows.
    """
    groups, axes = how["groups"], len(windows)
    outs, ins = kernel[0] // groups, kernel[1]
    n, g, o, c, p, k = 0, 1, 2, 3, 4, 4 + axes
    along = zip(how["stride"], how["dilation"], how["padding"], strict=True)
    inside = tuple(
        (-before, ((p + axis, stride), (k + axis, dilation)))
        for axis, (stride, dilation, (before, _)) in enumerate(along)
    )
    channel, output = (0, ((g, ins), (c, 1))), (0, ((g, outs), (o, 1)))
    return (
        (image[0], groups, outs, ins, *windows, *kernel[2:]),
        (*plain(n), channel, *inside),
        (output, *plain(c), *plain(*range(k, k + axes))),
        (*plain(n), output, *plain(*range(p, p + axes))),
    )


def convolution_terms(ins: Sequence[Shape], out: Shape, params: dict[str, Any]) -> Terms:
    """Y[n, o, p] = Σ_c Σ_k X[n, c, p · stride + k · dilation − before] · W[o, c, k]."""
    sizes, image, kernel, windows = _convolution(ins[0], ins[1], out[2:], params)
    return Terms(sizes, windows, (image, kernel))


def transposed_terms(ins: Sequence[Shape], out: Shape, params: dict[str, Any]) -> Terms:
    """As `convolution_terms`, with the image as the result."""
    sizes, image, kernel, windows = _convolution(out, ins[1], ins[0][2:], params)
    return Terms(sizes, image, (windows, kernel))


def kernel_terms(ins: Sequence[Shape], out: Shape, params: dict[str, Any]) -> Terms:
    """As `convolution_terms`, with the kernel as the result."""
    sizes, image, kernel, windows = _convolution(ins[0], out, ins[1][2:], params)
    return Terms(sizes, kernel, (image, windows))


def pooling_terms(combine: str) -> Formula:
    """Windows along one axis, or along those of `windows`: their sums, by `counted` their means,
    or their largest elements."""

    def terms(ins: Sequence[Shape], out: Shape, params: dict[str, Any]) -> Terms:
        windows = sorted(params.get("windows", [params]), key=lambda window: window["axis"])
        index = list(plain(*range(len(out))))
        for k, window in enumerate(windows, len(out)):
            axis = window["axis"]
            along = (axis, window["stride"]), (k, window["dilation"])
            index[axis] = -window["padding"][0], along
        sizes = (*out, *(window["size"] for window in windows))
        counts = params.get("counted")
        divisors = tuple(counts.get(axis, (1,)) for axis in range(len(out))) if counts else ()
        result = plain(*range(len(out)))
        return Terms(sizes, result, (tuple(index),), combine=combine, divisors=divisors)

    return terms


def sum_terms(ins: Sequence[Shape], out: Shape, params: dict[str, Any]) -> Terms:
    """The sum over axes, which the result keeps with length 1 or has not."""
    (shape,) = ins
    axes, kept = params["axes"], len(out) == len(shape)
    result = tuple(
        (0, ()) if i in axes else (0, ((i, 1),)) for i in range(len(shape)) if kept or i not in axes
    )
    return Terms(shape, result, (plain(*range(len(shape))),))


def as_data(found: Terms | None) -> dict[str, Any] | None:
    """The terms as a Trace holds them; None where there are none."""
    if found is None or not math.prod(found.sizes):
        return None
    result, *operands = [
        [[offset, *map(list, variables)] for offset, variables in index]
        for index in (found.result, *found.operands)
    ]
    data: dict[str, Any] = {"sizes": list(found.sizes), "result": result, "operands": operands}
    data["combine"] = found.combine
    data |= {"divisors": [list(one) for one in found.divisors]} if found.divisors else {}
    return data | ({"added": list(found.added)} if found.added else {})
