"""Keeping gradients within bounds before an update."""

from __future__ import annotations

import functools
import math
import warnings
from types import GeneratorType
from typing import Any

from ..backend import float64, ignore_float_errors, promote_types
from ..core.tensor import Tensor, as_tensor
from ..functions import add, maximum, minimum, tensor
from ..grad_mode import no_grad


def _gradients(parameters: Any) -> list[Tensor]:
    tensors = [parameters] if isinstance(parameters, Tensor) else list(parameters)
    return [p.grad for p in tensors if p.grad is not None]


def clip_grad_norm_(
    parameters: Any,
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Scale all gradients together, in place, so that their joint norm is at most `max_norm`;
    returns the norm before, in the dtype to which theirs promote.

    norm_type: 2 (Euclidean), another p, inf (largest element), -inf (smallest), or 0 (the number of
    gradients that are not all zero). Raises RuntimeError for a NaN or infinite norm if
    `error_if_nonfinite`; warns of a generator without parameters.
    Norms are summed in float64. foreach: PyTorch's choice between two ways, which changes nothing
    here.
    """
    if isinstance(parameters, GeneratorType):
        parameters = list(parameters)
        if not parameters:
            warnings.warn(
                "clip_grad_norm_: `parameters` is an empty generator, so nothing is clipped. If it"
                " was used up before, call model.parameters() again.",
                UserWarning,
                stacklevel=2,
            )
    gradients = _gradients(parameters)
    if not gradients:
        return tensor(0.0)
    total = _total(gradients, norm_type, error_if_nonfinite, "clip_grad_norm_")
    _scale(gradients, max_norm, total)
    return total.to(_common_dtype(gradients))


def clip_grads_with_norm_(
    parameters: Any, max_norm: float, total_norm: Any, foreach: bool | None = None
) -> None:
    """Scale all gradients together, in place, by max_norm / total_norm where that is below 1."""
    _scale(_gradients(parameters), max_norm, as_tensor(total_norm))


def get_total_norm(
    tensors: Any,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """The joint norm of tensors, as of one vector with all their elements; arguments as of
    `clip_grad_norm_`.
    """
    given = [tensors] if isinstance(tensors, Tensor) else list(tensors)
    if not given:
        return tensor(0.0)
    total = _total(given, norm_type, error_if_nonfinite, "get_total_norm")
    return total.to(_common_dtype(given))


def _common_dtype(tensors: list[Tensor]) -> Any:
    """The real dtype to which all tensors promote."""
    return functools.reduce(promote_types, [t.array.real.dtype for t in tensors])


def _total(tensors: list[Tensor], norm_type: float, error_if_nonfinite: bool, name: str) -> Tensor:
    with no_grad(), ignore_float_errors():
        total = _joint_norm(tensors, float(norm_type))
        if error_if_nonfinite and not math.isfinite(total):
            raise RuntimeError(
                f"{name}: the norm of the gradients is {total.item()}; look for the operation that"
                " overflowed (autograd.detect_anomaly)."
            )
    return total


def _scale(gradients: list[Tensor], max_norm: float, total: Tensor) -> None:
    with no_grad(), ignore_float_errors():
        # An operation, not a branch in Python: a recorded step recomputes it.
        scale = (float(max_norm) / (total + 1e-6)).clamp(max=1.0)
        for g in gradients:
            g.mul_(scale)


def _joint_norm(gradients: list[Tensor], norm_type: float) -> Tensor:
    """The norm of all elements together, a float64 number; of order 0 the number of tensors that
    have an element other than 0, as in PyTorch.
    """

    def measure(g: Tensor) -> Tensor:
        sizes = abs(g.detach()).double()
        if norm_type == 0:
            part: Tensor = (sizes != 0).any().double()
        elif math.isinf(norm_type):
            part = sizes.max() if norm_type > 0 else sizes.min()
        else:
            part = (sizes**norm_type).sum()
        return part

    parts = [measure(g) for g in gradients if g.numel()]
    if not parts:
        return tensor(0.0, dtype=float64, device=gradients[0].device)
    if math.isinf(norm_type):
        extreme: Tensor = functools.reduce(maximum if norm_type > 0 else minimum, parts)
        return extreme
    total: Tensor = functools.reduce(add, parts)
    return total ** (1.0 / norm_type) if norm_type else total


def clip_grad_value_(parameters: Any, clip_value: float, foreach: bool | None = None) -> None:
    """Limit every gradient element to [-clip_value, clip_value], in place."""
    for g in _gradients(parameters):
        g.clamp_(-float(clip_value), float(clip_value))
