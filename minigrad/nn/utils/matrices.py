"""Norms and singular vectors of weights, for both forms of weight and spectral normalisation."""

from __future__ import annotations

from ... import linalg
from ...core.tensor import Tensor
from ...functions import randn
from .. import functional as F
from ..layers import ConvTranspose1d, ConvTranspose2d, ConvTranspose3d
from ..module import Module


def norm_except(v: Tensor, dim: int) -> Tensor:
    """The Euclidean norm of each slice along an axis, with that axis kept; of all elements for
    -1, as PyTorch has it.
    """
    if dim == -1:
        return linalg.vector_norm(v)
    return linalg.vector_norm(
        v, dim=tuple(d for d in range(v.ndim) if d != dim % v.ndim), keepdim=True
    )


def default_axis(module: Module) -> int:
    """The axis of a weight that counts its outputs."""
    return 1 if isinstance(module, ConvTranspose1d | ConvTranspose2d | ConvTranspose3d) else 0


def matrix_of(weight: Tensor, dim: int) -> Tensor:
    """The weight as a matrix whose rows are its slices along an axis."""
    first = (
        weight if dim == 0 else weight.permute(dim, *(d for d in range(weight.ndim) if d != dim))
    )
    return first.reshape(first.shape[0], -1)


def random_direction(like: Tensor, size: int, eps: float) -> Tensor:
    """A random vector of length 1."""
    return F.normalize(randn(size, dtype=like.dtype, device=like.device), dim=0, eps=eps)
