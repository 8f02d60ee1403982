"""Weight and spectral normalisation as parametrizations.

Sources: Salimans & Kingma 2016; Miyato et al. 2018; interface: PyTorch's
torch.nn.utils.parametrizations.
"""

from __future__ import annotations

from functools import partial
from typing import Any, TypeVar

from ...core.tensor import Tensor
from ...grad_mode import no_grad
from .. import functional as F
from ..module import Module
from .matrices import default_axis, matrix_of, norm_except, random_direction
from .parametrize import register_parametrization

M = TypeVar("M", bound=Module)


class _WeightNorm(Module):
    def __init__(self, dim: int | None = 0) -> None:
        self.dim = -1 if dim is None else dim

    def forward(self, g: Tensor, v: Tensor) -> Tensor:
        return v * (g / norm_except(v, self.dim))

    def right_inverse(self, weight: Tensor) -> tuple[Tensor, Tensor]:
        """Sizes and directions of a weight."""
        return norm_except(weight, self.dim), weight


class _SpectralNorm(Module):
    def __init__(
        self, weight: Tensor, n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12
    ) -> None:
        if not -weight.ndim <= dim < weight.ndim:
            raise IndexError(
                f"spectral_norm: dim {dim} is not an axis of a weight of shape {weight.shape}."
            )
        if n_power_iterations < 1:
            raise ValueError(
                f"spectral_norm: n_power_iterations must be at least 1, got {n_power_iterations}."
            )
        self.dim, self.eps = dim % weight.ndim, eps
        if weight.ndim > 1:
            self.n_power_iterations = n_power_iterations
            matrix = matrix_of(weight.detach(), self.dim)
            for name, size in zip(("_u", "_v"), matrix.shape, strict=True):
                self.register_buffer(name, random_direction(weight, size, eps))
            self._iterate(matrix, 15)

    def _iterate(self, matrix: Tensor, times: int) -> None:
        with no_grad():
            for _ in range(times):
                self._u.copy_(F.normalize(matrix.mv(self._v), dim=0, eps=self.eps))
                self._v.copy_(F.normalize(matrix.t().conj().mv(self._u), dim=0, eps=self.eps))

    def forward(self, weight: Tensor) -> Tensor:
        if weight.ndim == 1:
            return F.normalize(weight, dim=0, eps=self.eps)
        matrix = matrix_of(weight, self.dim)
        if self.training:
            self._iterate(matrix, self.n_power_iterations)
        u, v = self._u.clone(), self._v.clone()
        out: Tensor = weight / u.vdot(matrix.mv(v))
        return out

    def right_inverse(self, value: Tensor) -> Tensor:
        """The value itself: what is assigned is taken as the weight before its normalisation."""
        return value


def _of_the_older_form(name: str, state: dict[str, Any], prefix: str, *_: Any) -> None:
    """Rename what the older form of weight normalisation has saved."""
    keys = [f"{prefix}{name}_g", f"{prefix}{name}_v"]
    if all(key in state for key in keys):
        for i, key in enumerate(keys):
            state[f"{prefix}parametrizations.{name}.original{i}"] = state.pop(key)


def weight_norm(module: M, name: str = "weight", dim: int | None = 0) -> M:
    """Write a parameter as size times direction; returns the module. dim: the axis whose slices
    have a size each; None, one for all.

    The parameters are `parametrizations.weight.original0` (sizes) and `original1` (directions).
    States of the older form are read too.
    """
    register_parametrization(module, name, _WeightNorm(dim), unsafe=True)

    module._register_load_state_dict_pre_hook(partial(_of_the_older_form, name))
    return module


def spectral_norm(
    module: M,
    name: str = "weight",
    n_power_iterations: int = 1,
    eps: float = 1e-12,
    dim: int | None = None,
) -> M:
    """Divide a parameter by its largest singular value, as estimated by power iteration at each
    access in training; returns the module.

    dim: the axis that becomes the matrix's rows; None: 1 for transposed convolutions, else 0.
    """
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ValueError(
            f"spectral_norm: {type(module).__name__} has no parameter or buffer {name!r}."
        )
    dim = default_axis(module) if dim is None else dim
    register_parametrization(module, name, _SpectralNorm(weight, n_power_iterations, dim, eps))
    return module
