"""Weight and spectral normalisation by a hook before `forward`, PyTorch's older form. The newer one
is in parametrizations.py.

The module keeps `weight_g` and `weight_v` (or `weight_orig`) as parameters; `weight` is computed
from them before each call.

Sources: Salimans & Kingma 2016; Miyato et al. 2018.
"""

from __future__ import annotations

from typing import Any, TypeVar

from ... import functions
from ...core.tensor import Tensor
from ...grad_mode import no_grad
from .. import functional as F
from ..module import Module
from ..parameter import Parameter
from .matrices import default_axis, matrix_of, norm_except, random_direction

M = TypeVar("M", bound=Module)


class _WeightNormHook:
    """The hook that computes g · v / ‖v‖."""

    kind = "weight_norm"
    parts: tuple[str, ...] = ("_g", "_v")

    def __init__(self, name: str, dim: int) -> None:
        self.name, self.dim = name, dim

    def weight(self, module: Module, training: bool) -> Tensor:
        """The weight as it is now."""
        g, v = getattr(module, f"{self.name}_g"), getattr(module, f"{self.name}_v")
        weight: Tensor = v * (g / norm_except(v, self.dim))
        return weight

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self.name, self.weight(module, module.training))


class _SpectralNormHook(_WeightNormHook):
    """The hook that computes W / σ(W), and improves its estimate of the singular vectors while
    training.
    """

    kind, parts = "spectral_norm", ("_u", "_v", "_orig")

    def __init__(self, name: str, dim: int, iterations: int, eps: float) -> None:
        super().__init__(name, dim)
        self.iterations, self.eps = iterations, eps

    def weight(self, module: Module, training: bool) -> Tensor:
        weight: Tensor = getattr(module, f"{self.name}_orig")
        u, v = getattr(module, f"{self.name}_u"), getattr(module, f"{self.name}_v")
        matrix = matrix_of(weight, self.dim)
        if training:
            with no_grad():
                for _ in range(self.iterations):
                    v.copy_(F.normalize(matrix.t().mv(u), dim=0, eps=self.eps))
                    u.copy_(F.normalize(matrix.mv(v), dim=0, eps=self.eps))
            u, v = u.clone(), v.clone()
        out: Tensor = weight / u.dot(matrix.mv(v))
        return out


def _hooks_of(module: Module, kind: str, name: str) -> list[tuple[int, Any]]:
    hooks = {} if module._call_hooks is None else module._call_hooks.before
    found = [(number, hook.function) for number, hook in hooks.items()]
    return [
        (number, h) for number, h in found if getattr(h, "kind", None) == kind and h.name == name
    ]


def _parameter(module: Module, kind: str, name: str) -> Tensor:
    """The parameter that is to be normalised. Raises RuntimeError where it is already,
    ValueError where there is none.
    """
    if _hooks_of(module, kind, name):
        raise RuntimeError(f"{kind}: {name!r} of this {type(module).__name__} has it already.")
    found = module._parameters.get(name)
    if not isinstance(found, Tensor):
        raise ValueError(f"{kind}: {type(module).__name__} has no parameter {name!r}.")
    return found


def weight_norm(module: M, name: str = "weight", dim: int | None = 0) -> M:
    """Write a parameter as size times direction, `name_g` · `name_v` / ‖`name_v`‖; returns the
    module.

    dim: the axis whose slices have a size each; None, one size for all.
    """
    weight, dim = _parameter(module, "weight_norm", name), -1 if dim is None else dim
    hook = _WeightNormHook(name, dim)
    delattr(module, name)
    module.register_parameter(f"{name}_g", Parameter(norm_except(weight.detach(), dim)))
    module.register_parameter(f"{name}_v", Parameter(weight.data))
    hook(module, ())
    module.register_forward_pre_hook(hook)
    return module


def remove_weight_norm(module: M, name: str = "weight") -> M:
    """Make the weight an ordinary parameter again, of its present value; returns the module.
    Raises ValueError where it is one.
    """
    return _removed(module, "weight_norm", name)


def spectral_norm(
    module: M,
    name: str = "weight",
    n_power_iterations: int = 1,
    eps: float = 1e-12,
    dim: int | None = None,
) -> M:
    """Divide a parameter by its largest singular value, as estimated by power iteration at each
    call in training; returns the module.

    dim: the axis that becomes the matrix's rows; None: 1 for transposed convolutions, else 0.
    """
    functions.not_below("spectral_norm", "n_power_iterations", n_power_iterations, 1)
    weight = _parameter(module, "spectral_norm", name)
    hook = _SpectralNormHook(
        name, default_axis(module) if dim is None else dim, n_power_iterations, eps
    )
    rows, columns = matrix_of(weight.detach(), hook.dim).shape
    delattr(module, name)
    module.register_parameter(f"{name}_orig", weight)
    setattr(module, name, weight.data)
    for part, size in (("_u", rows), ("_v", columns)):
        module.register_buffer(name + part, random_direction(weight, size, eps))
    module.register_forward_pre_hook(hook)
    return module


def remove_spectral_norm(module: M, name: str = "weight") -> M:
    """Make the weight an ordinary parameter again, of its present value; returns the module.
    Raises ValueError where it is one.
    """
    return _removed(module, "spectral_norm", name)


def _removed(module: M, kind: str, name: str) -> M:
    found = _hooks_of(module, kind, name)
    if not found:
        raise ValueError(f"{kind} of {name!r} not found in {type(module).__name__}.")
    assert module._call_hooks is not None
    for number, hook in found:
        with no_grad():
            weight = hook.weight(module, False)
        del module._call_hooks.before[number]
        for part in ("", *hook.parts):
            delattr(module, name + part)
        module.register_parameter(name, Parameter(weight))
    return module
