"""Keeping gradients within bounds before an update."""

from __future__ import annotations

import math
from typing import Any

from ..functions import tensor
from ..tensor import Tensor, memory_version


def _gradients(parameters: Any) -> list[Tensor]:
    tensors = [parameters] if isinstance(parameters, Tensor) else list(parameters)
    return [p.grad for p in tensors if p.grad is not None]


def clip_grad_norm_(parameters: Any, max_norm: float, norm_type: float = 2.0, error_if_nonfinite: bool = False) -> Tensor:
    """Scale all gradients together, in place, so that their joint norm is at most `max_norm`; returns the norm before.

    norm_type: 2 (Euclidean), another p, or inf (largest element). Raises RuntimeError for a NaN or infinite norm if `error_if_nonfinite`.
    """
    gradients = _gradients(parameters)
    if not gradients:
        return tensor(0.0)
    if norm_type == math.inf:
        total = max(float(abs(g.array).max()) if g.numel() else 0.0 for g in gradients)
    else:
        total = sum(float((abs(g.array) ** norm_type).sum(dtype=float)) for g in gradients) ** (1.0 / norm_type)
    if error_if_nonfinite and not math.isfinite(total):
        raise RuntimeError(
            f"clip_grad_norm_: the norm of the gradients is {total}; look for the operation that overflowed (autograd.detect_anomaly)."
        )
    scale = max_norm / (total + 1e-6)
    if not scale >= 1.0:  # NaN included, as in PyTorch
        for g in gradients:
            version = memory_version(g)
            g.array *= scale
            version.count += 1
    return tensor(total, dtype=gradients[0].dtype)


def clip_grad_value_(parameters: Any, clip_value: float) -> None:
    """Limit every gradient element to [-clip_value, clip_value], in place."""
    for g in _gradients(parameters):
        g.clamp_(-float(clip_value), float(clip_value))
