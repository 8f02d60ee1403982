"""SINGA's update rules that differ from PyTorch's of nearly the same name: ε stands inside of the
root, and the defaults are others.

Notation as in `rules`: θ parameter, g gradient, η learning rate, λ weight decay, which adds λ θ to
g. Source: SINGA's `singa.opt`.
"""

from __future__ import annotations

from typing import Any

from ..backend import Array
from .optimizer import Group, buffer
from .rules import UpdateRule, decayed


class RMSProp(UpdateRule, rate=0.1, rho=0.9, epsilon=1e-8, weight_decay=0.0):
    """v ← ρ v + (1 − ρ) g², θ ← θ − η g / √(v + ε). `RMSprop` is PyTorch's."""

    def rule(self, array: Array, grad: Array, state: dict[str, Any], group: Group) -> None:
        grad = decayed(array, grad, group)
        v = buffer(state, "square_avg", array)
        v *= group["rho"]
        v += (1 - group["rho"]) * (grad * grad)
        array -= group["lr"] * (grad / (v + group["epsilon"]) ** 0.5)


class AdaGrad(UpdateRule, rate=0.1, epsilon=1e-8, weight_decay=0.0):
    """v ← v + g², θ ← θ − η g / √(v + ε). `Adagrad` is PyTorch's."""

    def rule(self, array: Array, grad: Array, state: dict[str, Any], group: Group) -> None:
        grad = decayed(array, grad, group)
        v = buffer(state, "sum", array)
        v += grad * grad
        array -= group["lr"] * (grad / (v + group["epsilon"]) ** 0.5)
