"""SINGA's operators beyond those of its documentation: rounding, `where`, `pad`, `upsample`,
`depth_to_space`, `scatter_elements`, `embedding`, further losses, and `gradients`.

As those of `operators` they follow ONNX and are thin. Two derivatives are the mathematical ones
where SINGA's program has others: that of `erf` in x, and that of `scatter_elements` in the updates.

Sources: SINGA's `singa.autograd`; the ONNX operator specification for what that leaves open.
"""

# mypy: disable-error-code="no-any-return, no-untyped-call"

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import backend, functions
from ..core.tensor import Tensor, as_tensor
from ..errors import ShapeError
from ..functions import axis_of
from ..nn import functional as F
from ..nn.functional.common import read, span
from .backward import backward

Ints = Sequence[int]

erf = functions.erf
floor = functions.floor


def rounde(x: Any) -> Tensor:
    """x rounded to whole numbers, halves to the even one; derivative 0."""
    return functions.round(x)


def round(x: Any) -> Tensor:
    """x rounded to whole numbers, halves away from zero; derivative 0."""
    x = as_tensor(x)
    whole = functions.trunc(x)
    if x.dtype.kind in "iub":
        return whole
    part = functions.where(functions.isfinite(x), x, 0.0)
    return whole + functions.sign(x) * (functions.abs(part - functions.trunc(part)) >= 0.5)


def where(x: Any, y: Any, condition: Any) -> Tensor:
    """x where the condition is not zero, y elsewhere; all three broadcast. SINGA's order: the
    condition comes last.
    """
    return functions.where(as_tensor(condition) != 0, x, y)


def expand(x: Any, shape: Ints) -> Tensor:
    """x broadcast with `shape` in both directions: a size of 1 in either takes the other's."""
    x = as_tensor(x)
    sizes = [int(n) for n in shape]
    sizes = [1] * (x.ndim - len(sizes)) + sizes
    own = (1,) * (len(sizes) - x.ndim) + x.shape
    return functions.broadcast_to(x, [m if n == 1 else n for m, n in zip(own, sizes, strict=True)])


def add_all(*xs: Any) -> Tensor:
    """The sum of all tensors, element by element; they broadcast."""
    if not xs:
        raise ValueError("add_all: needs at least one tensor.")
    total = as_tensor(xs[0])
    for x in xs[1:]:
        total = total + x
    return total


def pad(x: Any, mode: str, pads: Ints, constant: float = 0.0) -> Tensor:
    """Elements added at the ends of axes: `pads` is (before axis 0, before axis 1, …, after axis 0,
    …); negative numbers cut off.

    mode: "constant" (of `constant`), "edge" (the edge), "reflect" (mirrored without repeating the
    edge, as often as it takes), "wrap" (the axis again).
    """
    x = as_tensor(x)
    if mode not in ("constant", "reflect", "edge", "wrap"):
        raise ValueError(
            f'pad: mode must be "constant", "reflect", "edge" or "wrap", got {mode!r}.'
        )
    around = [int(n) for n in pads]
    if len(around) != 2 * x.ndim:
        raise ShapeError(
            f"pad: {tuple(around)} must hold one number before and one after for each of the"
            f" {x.ndim} axes of x {x.shape}."
        )
    before, after = around[: x.ndim], around[x.ndim :]
    if mode == "constant":
        return F.pad(
            x,
            [n for pair in zip(before[::-1], after[::-1], strict=True) for n in pair],
            value=constant,
        )
    for axis, (low, high) in enumerate(zip(before, after, strict=True)):
        n = x.shape[axis]
        kept = n - max(0, -low) - max(0, -high)
        if kept < 0 or (kept == 0 and max(low, high) > 0):
            raise ShapeError(f"pad: ({low}, {high}) does not fit the {n} elements of axis {axis}.")
        x = span(
            x, axis, max(0, -low), n - max(0, -high)
        )  # cutting comes first: what is cut off is not mirrored
        if max(low, high) > 0:
            x = read(
                x, axis, [_inside(i, kept, mode) for i in range(-max(0, low), kept + max(0, high))]
            )
    return x


def _inside(i: int, n: int, mode: str) -> int:
    """Which of n elements stands at position i, which may lie outside."""
    if mode == "edge":
        return min(max(i, 0), n - 1)
    if mode == "wrap":
        return i % n
    if n == 1:
        return 0
    i %= 2 * (n - 1)
    return min(i, 2 * (n - 1) - i)


def upsample(x: Any, mode: str, scales: Any) -> Tensor:
    """Each element repeated along each axis as often as `scales` says: one whole number of at
    least 1 for each axis. mode: "nearest".
    """
    x = as_tensor(x)
    if mode.lower() != "nearest":
        raise ValueError(
            f'upsample: mode must be "nearest", got {mode!r}; for others see'
            " nn.functional.interpolate."
        )
    factors = [float(n) for n in (scales.tolist() if hasattr(scales, "tolist") else scales)]
    if len(factors) != x.ndim or any(n < 1 or n != int(n) for n in factors):
        raise ShapeError(
            f"upsample: scales must be one whole number of at least 1 for each axis of x {x.shape},"
            f" got {factors}."
        )
    counts = [int(n) for n in factors]
    spread = x.reshape([n for size in x.shape for n in (size, 1)]).broadcast_to(
        [n for size, count in zip(x.shape, counts, strict=True) for n in (size, count)]
    )
    return spread.reshape([size * count for size, count in zip(x.shape, counts, strict=True)])


def _blocks(x: Tensor, blocksize: int, mode: str, name: str) -> bool:
    """Whether the channels are in the order DCR, after checks."""
    if mode.upper() not in ("DCR", "CRD"):
        raise ValueError(f'{name}: mode must be "DCR" or "CRD", got {mode!r}.')
    if x.ndim != 4:
        raise ShapeError(f"{name}: x must have the axes (N, C, H, W), got shape {x.shape}.")
    if blocksize < 1:
        raise ValueError(f"{name}: blocksize must be at least 1, got {blocksize}.")
    return mode.upper() == "DCR"


def depth_to_space(x: Any, blocksize: int, mode: str = "DCR") -> Tensor:
    """(N, C b², H, W) to (N, C, H b, W b): each pixel's channels become a block of b by b pixels.

    mode: "DCR": the place in the block comes before the channel among the channels of x; "CRD":
    after it, as in `pixel_shuffle`.
    """
    x = as_tensor(x)
    first = _blocks(x, blocksize, mode, "depth_to_space")
    (n, c, h, w), b = x.shape, blocksize
    if c % b**2:
        raise ShapeError(
            f"depth_to_space: {c} channels cannot be divided into blocks of {b} by {b}."
        )
    if first:
        cut = x.reshape(n, b, b, c // b**2, h, w).permute(0, 3, 4, 1, 5, 2)
    else:
        cut = x.reshape(n, c // b**2, b, b, h, w).permute(0, 1, 4, 2, 5, 3)
    return cut.reshape(n, c // b**2, h * b, w * b)


def space_to_depth(x: Any, blocksize: int, mode: str = "DCR") -> Tensor:
    """(N, C, H b, W b) to (N, C b², H, W): the opposite of `depth_to_space`."""
    x = as_tensor(x)
    first = _blocks(x, blocksize, mode, "space_to_depth")
    (n, c, h, w), b = x.shape, blocksize
    if h % b or w % b:
        raise ShapeError(
            f"space_to_depth: an image of {h} by {w} cannot be divided into blocks of {b} by {b}."
        )
    cut = x.reshape(n, c, h // b, b, w // b, b).permute(
        *(0, 3, 5, 1, 2, 4) if first else (0, 1, 3, 5, 2, 4)
    )
    return cut.reshape(n, c * b**2, h // b, w // b)


def scatter_elements(x: Any, indices: Any, updates: Any, axis: int = 0) -> Tensor:
    """x with x[indices[i, j, …], j, …] = updates[i, j, …] for axis 0, and so on; negative
    indices count from the end.
    """
    x, index, updates = as_tensor(x), as_tensor(indices), as_tensor(updates)
    place = axis_of(x.ndim, axis, "scatter_elements")
    if index.shape != updates.shape:
        raise ShapeError(
            f"scatter_elements: indices {index.shape} and updates {updates.shape} must have the"
            " same shape."
        )
    index = index.to(backend.int64)
    return x.scatter(
        place, functions.where(index < 0, index + x.shape[place], index), updates.to(x.dtype)
    )


def embedding(x: Any, w: Any) -> Tensor:
    """The rows of w (V, D) at the indices x: shape (*x.shape, D). Indices may be whole numbers
    in a float tensor, without a derivative.
    """
    x = as_tensor(x)
    return F.embedding(x if x.dtype.kind in "iu" else x.to(backend.int64), w)


def ranking_loss(pos: Any, neg: Any, M: float = 0.2) -> Tensor:
    """The mean of max(0, M − pos + neg): pos shall exceed neg by M."""
    pos, neg = as_tensor(pos), as_tensor(neg)
    if pos.shape != neg.shape:
        raise ShapeError(
            f"ranking_loss: pos and neg must have the same shape, got {pos.shape} and {neg.shape}."
        )
    return functions.mean(functions.clamp(M - pos + neg, min=0.0))


def binary_cross_entropy(x: Any, t: Any) -> Tensor:
    """−Σ (t ln x + (1 − t) ln(1 − x)), the mean over the samples (rows): x probabilities, t
    targets of the same shape.
    """
    x, t = as_tensor(x), as_tensor(t)
    if x.shape != t.shape:
        raise ShapeError(
            f"binary_cross_entropy: x and t must have the same shape, got {x.shape} and {t.shape}."
        )
    return F.binary_cross_entropy(x, t.to(x.dtype), reduction="sum") / (x.shape[0] if x.ndim else 1)


def gradients(y: Any, dy: Any = None) -> dict[int, Tensor]:
    """The gradients of y by the `id` of the tensors that they belong to: those whose `stores_grad`
    is set.

    dy: a number that scales them, or a cotangent of y's shape; 1 by default.
    """
    seed = functions.full_like(as_tensor(y).detach(), dy) if isinstance(dy, int | float) else dy
    return {id(p): g for p, g in backward(y, seed)}


__all__ = [
    "add_all", "binary_cross_entropy", "depth_to_space", "embedding", "erf", "expand", "floor",
    "gradients", "pad", "ranking_loss",
    "round", "rounde", "scatter_elements", "space_to_depth", "upsample", "where",
]  # fmt: skip
