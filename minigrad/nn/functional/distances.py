"""Lengths, distances and angles of vectors along one axis. Where a length is 0 its derivative is
0.
"""

# mypy: disable-error-code="no-any-return, no-untyped-call"

from __future__ import annotations

from typing import Any

from ...core.tensor import Tensor, as_tensor
from ...errors import ShapeError
from ...functions import arange, clamp, in_own_memory, result_type
from ...ops.elementwise import in_float32

__all__ = ["cosine_similarity", "normalize", "pairwise_distance", "pdist"]


def length(x: Tensor, p: float, dim: int) -> Tensor:
    """‖x‖ₚ along `dim`, which is kept; p = 0 counts the elements that are not 0; derivative 0
    where the length is 0.
    """
    return x.norm(p, dim, True)


@in_float32
def normalize(input: Any, p: float = 2.0, dim: int = 1, eps: float = 1e-12) -> Tensor:
    """x / max(‖x‖ₚ, ε) along `dim`."""
    x = as_tensor(input)
    return x / clamp(length(x, p, dim), min=eps)


@in_float32
def cosine_similarity(x1: Any, x2: Any, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """x1 · x2 / (max(‖x1‖, ε) max(‖x2‖, ε)) along `dim` of the shape to which both broadcast."""
    x1, x2 = as_tensor(x1), as_tensor(x2)
    if x1.dtype != x2.dtype:
        dtype = result_type(x1, x2)
        x1, x2 = x1.to(dtype), x2.to(dtype)
    if x1.shape != x2.shape:
        shape = (x1.detach() + x2.detach()).shape
        x1, x2 = x1.broadcast_to(shape), x2.broadcast_to(shape)
    return (normalize(x1, 2.0, dim, eps) * normalize(x2, 2.0, dim, eps)).sum(dim)


@in_own_memory
@in_float32
def pairwise_distance(
    x1: Any, x2: Any, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False
) -> Tensor:
    """‖x1 − x2 + ε‖ₚ along the last axis."""
    distance = length(as_tensor(x1) - x2 + eps, p, -1)
    return distance if keepdim else distance.squeeze(-1)


@in_own_memory
@in_float32
def pdist(input: Any, p: float = 2.0) -> Tensor:
    """The p-norms of the differences of each two rows i < j of a matrix: (0, 1), (0, 2), … (n −
    2, n − 1).
    """
    x = as_tensor(input)
    if x.ndim != 2:
        raise ShapeError(f"pdist: needs a matrix, got shape {x.shape}.")
    places = arange(x.shape[0], device=x.device)
    first, second = (places.reshape(-1, 1) < places).nonzero().t()
    return length(x[first] - x[second], p, -1).squeeze(-1)
