"""Weight and spectral normalisation, and orthogonal matrices, as parametrizations.

Sources: Salimans & Kingma 2016; Miyato et al. 2018; Lezcano-Casado 2019; interface: PyTorch's
torch.nn.utils.parametrizations.
"""

from __future__ import annotations

import sys
from functools import partial
from typing import Any, TypeVar

from ... import functions, linalg
from ...core.tensor import Tensor
from ...errors import ShapeError, with_hints
from ...grad_mode import no_grad
from ...linalg.top_level import geqrf
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
        functions.not_below("spectral_norm", "n_power_iterations", n_power_iterations, 1)
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


MAPS = ("matrix_exp", "cayley", "householder")


class _Orthogonal(Module):
    """Q(X) with orthonormal columns (rows, if they are fewer); with a base B, B Q(X)."""

    def __init__(
        self, shape: tuple[int, ...], orthogonal_map: str, use_trivialization: bool
    ) -> None:
        self.shape, self.orthogonal_map = shape, orthogonal_map
        if use_trivialization:
            self.register_buffer("base", None)

    def forward(self, x: Tensor) -> Tensor:
        wide = x.shape[-2] < x.shape[-1]
        x = x.mT if wide else x
        q = self._reflections(x) if self.orthogonal_map == "householder" else self._rotation(x)
        if "base" in self._buffers:
            q = self.base @ q
        return q.mT if wide else q

    def _rotation(self, x: Tensor) -> Tensor:
        """The exponential, or Cayley's map, of a skew-symmetric matrix."""
        rows, columns = x.shape[-2:]
        x = x.tril()
        if rows > columns:
            x = functions.cat([x, x.new_zeros(*x.shape[:-1], rows - columns)], -1)
        skew = x - x.mH
        if self.orthogonal_map == "matrix_exp":
            q: Tensor = linalg.matrix_exp(skew)
        else:
            one = functions.eye(rows, dtype=x.dtype, device=x.device)
            q = linalg.solve(one - 0.5 * skew, one + 0.5 * skew)
        return q[..., :columns]

    def _reflections(self, x: Tensor) -> Tensor:
        """A product of Householder reflections, whose vectors are the columns below the diagonal;
        the diagonal holds a sign for each column."""
        vectors = x.tril(-1)
        q = linalg.householder_product(vectors, 2.0 / (1.0 + (vectors * vectors).sum(-2)))
        signs: Tensor = x.diagonal(dim1=-2, dim2=-1).detach().sign()
        return q * signs.unsqueeze(-2)

    def right_inverse(self, weight: Tensor) -> Tensor:
        """What gives the weight, if that is orthogonal already; else the nearest that is at hand,
        the Q of its QR factorisation. Raises NotImplementedError where the map has no inverse,
        ShapeError for a weight of another shape."""
        if weight.shape != self.shape:
            raise ShapeError(
                f"orthogonal: the weight has shape {self.shape}, got one of {weight.shape}."
            )
        rows, columns = sorted(weight.shape[-2:], reverse=True)
        wide = weight.shape[-2] < weight.shape[-1]
        q = weight.detach().mT if wide else weight.detach()
        if "base" not in self._buffers:
            if self.orthogonal_map != "householder":
                raise NotImplementedError(
                    "orthogonal: a matrix can be assigned with use_trivialization or householder."
                )
            vectors, sizes = geqrf(q)
            signs = vectors.diagonal(dim1=-2, dim2=-1)
            # a column that needed no reflection (size 0) is reflected here all the same
            signs.copy_(functions.where((signs < 0) ^ (sizes == 0), -1.0, 1.0))
            return vectors.mT.contiguous() if wide else vectors
        if rows > columns:
            q = functions.cat(
                [q, functions.randn(*q.shape[:-1], rows - columns, dtype=q.dtype)], -1
            )
        q, r = linalg.qr(q)
        self.base = q * r.diagonal(dim1=-2, dim2=-1).sgn().unsqueeze(-2)
        start = functions.zeros_like(weight)
        start.diagonal(dim1=-2, dim2=-1).fill_(-1.0)
        return start


def orthogonal(
    module: M,
    name: str = "weight",
    orthogonal_map: str | None = None,
    *,
    use_trivialization: bool = True,
) -> M:
    """Keep a parameter (…, m, n) orthogonal: its columns, or its rows if they are fewer, are
    orthonormal whatever the optimiser does; returns the module.

    orthogonal_map: "matrix_exp", "cayley" or "householder", by default the first for square and
    complex matrices, else the last. use_trivialization: multiply by a base, which holds what is
    assigned; without it only householder can be assigned to, and with the others `original` begins
    as the parameter was. Raises ValueError for other maps, for fewer than two dimensions, and for
    what does not go together.
    """
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor) or weight.ndim < 2:
        raise ValueError(
            f"orthogonal: {type(module).__name__} has no matrix {name!r} (of 2 or more dimensions)."
        )
    if orthogonal_map is None:
        square = weight.shape[-2] == weight.shape[-1] or weight.is_complex()
        orthogonal_map = "matrix_exp" if square else "householder"
    if orthogonal_map not in MAPS:
        raise ValueError(f"orthogonal: orthogonal_map is one of {MAPS}, got {orthogonal_map!r}.")
    if orthogonal_map == "householder" and weight.is_complex():
        raise ValueError("orthogonal: householder is for real matrices; use matrix_exp or cayley.")
    made = _Orthogonal(weight.shape, orthogonal_map, use_trivialization)
    register_parametrization(module, name, made, unsafe=True)
    return module


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


with_hints(sys.modules[__name__])
