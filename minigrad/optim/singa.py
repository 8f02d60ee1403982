"""SINGA's update rules that differ from PyTorch's of nearly the same name: ε stands inside of the root, and the defaults are others.

Notation as in `rules`: θ parameter, g gradient, η learning rate, λ weight decay, which adds λ θ to g. Source: SINGA's `singa.opt`.
"""

from __future__ import annotations

from typing import Any

from ..backend import Array
from .optimizer import Group, Optimizer, buffer, checked
from .rules import learning_rate, not_negative


class RMSProp(Optimizer):
    """v ← ρ v + (1 − ρ) g², θ ← θ − η g / √(v + ε). `RMSprop` is PyTorch's."""

    def __init__(
        self,
        params: Any = None,
        lr: float | None = None,
        rho: float = 0.9,
        epsilon: float = 1e-8,
        weight_decay: float = 0.0,
        *,
        maximize: bool = False,
    ) -> None:
        params, rate = learning_rate(params, 0.1, lr)
        settings = {"lr": rate, "rho": rho, "epsilon": epsilon, "weight_decay": weight_decay, "maximize": maximize}
        checked("RMSProp", settings, [(k, not_negative, "at least 0") for k in ("lr", "epsilon", "weight_decay")])
        checked("RMSProp", settings, [("rho", lambda v: 0 <= v <= 1, "in [0, 1]")])
        super().__init__(params, settings)

    scheduled = ("lr",)

    def numbers(self, state: dict[str, Any], group: Group) -> dict[str, float]:
        return {"lr": group["lr"]}

    def rule(self, array: Array, grad: Array, state: dict[str, Any], group: Group) -> None:
        if group["weight_decay"]:
            grad = grad + group["weight_decay"] * array
        v = buffer(state, "square_avg", array)
        v *= group["rho"]
        v += (1 - group["rho"]) * (grad * grad)
        array -= group["lr"] * (grad / (v + group["epsilon"]) ** 0.5)


class AdaGrad(Optimizer):
    """v ← v + g², θ ← θ − η g / √(v + ε). `Adagrad` is PyTorch's."""

    def __init__(
        self,
        params: Any = None,
        lr: float | None = None,
        epsilon: float = 1e-8,
        weight_decay: float = 0.0,
        *,
        maximize: bool = False,
    ) -> None:
        params, rate = learning_rate(params, 0.1, lr)
        settings = {"lr": rate, "epsilon": epsilon, "weight_decay": weight_decay, "maximize": maximize}
        checked("AdaGrad", settings, [(k, not_negative, "at least 0") for k in ("lr", "epsilon", "weight_decay")])
        super().__init__(params, settings)

    scheduled = ("lr",)

    def numbers(self, state: dict[str, Any], group: Group) -> dict[str, float]:
        return {"lr": group["lr"]}

    def rule(self, array: Array, grad: Array, state: dict[str, Any], group: Group) -> None:
        if group["weight_decay"]:
            grad = grad + group["weight_decay"] * array
        v = buffer(state, "sum", array)
        v += grad * grad
        array -= group["lr"] * (grad / (v + group["epsilon"]) ** 0.5)
