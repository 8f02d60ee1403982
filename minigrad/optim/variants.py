"""Update rules less often used than those of rules.py: variants of Adam, Adagrad and gradient
descent.

Conventions and notation are the same.

Where a rule changes its formula with the number of steps, `numbers` gives factors that make one
formula of all: so the rule stays arithmetic with arrays, as a compiled step needs it.
"""

from __future__ import annotations

import math
from typing import Any

from ..backend import Array, materialise, ones
from ..ops.elementwise import abs_, clamp, maximum, sign, where
from .optimizer import Group, buffer
from .rules import UpdateRule, decayed, moments


class Adadelta(UpdateRule, rate=1.0, rho=0.9, eps=1e-6, weight_decay=0.0):
    """v ← ρ v + (1 − ρ) g², Δ = √(u + ε) / √(v + ε) · g, u ← ρ u + (1 − ρ) Δ², θ ← θ − η Δ.
    Source: Zeiler 2012.
    """

    def rule(self, array: Array, grad: Array, state: dict[str, Any], group: Group) -> None:
        grad, rho, eps = decayed(array, grad, group), group["rho"], group["eps"]
        v, u = buffer(state, "square_avg", array), buffer(state, "acc_delta", array)
        v *= rho
        v += (1 - rho) * (grad * grad)
        step = (u + eps) ** 0.5 / (v + eps) ** 0.5 * grad
        u *= rho
        u += (1 - rho) * (step * step)
        array -= group["lr"] * step


class Adamax(UpdateRule, rate=2e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0):
    """m ← β₁ m + (1 − β₁) g, u ← max(β₂ u, |g| + ε), θ ← θ − η m / ((1 − β₁ᵗ) u). Source: Kingma
    & Ba 2015, section 7.1.
    """

    def numbers(self, state: dict[str, Any], group: Group) -> dict[str, float]:
        """The learning rate with the correction for a moment that began at 0."""
        t = state["step"] = state.get("step", 0) + 1
        return {"lr": group["lr"] / (1 - group["betas"][0] ** t)}

    def rule(self, array: Array, grad: Array, state: dict[str, Any], group: Group) -> None:
        grad, (beta1, beta2) = decayed(array, grad, group), group["betas"]
        m, u = buffer(state, "exp_avg", array), buffer(state, "exp_inf", array)
        m += (1 - beta1) * (grad - m)
        u[...] = maximum(beta2 * u, abs_(grad) + group["eps"])
        array -= group["lr"] * (m / u)


class NAdam(
    UpdateRule,
    rate=2e-3,
    betas=(0.9, 0.999),
    eps=1e-8,
    weight_decay=0.0,
    momentum_decay=4e-3,
    decoupled_weight_decay=False,
):
    """Adam that looks ahead: with μₜ = β₁ (1 − 0.96^(t ψ) / 2), ψ the momentum_decay,
    θ ← θ − η ((1 − μₜ) / (1 − Π μ) · g + μₜ₊₁ / (1 − μₜ₊₁ Π μ) · m) / (√v̂ + ε).

    decoupled_weight_decay: as in AdamW. Source: Dozat 2016.
    """

    def numbers(self, state: dict[str, Any], group: Group) -> dict[str, float]:
        """The rates of the gradient and of the moment; the root's divisor; by what θ shrinks."""
        lr, (beta1, beta2), decay = group["lr"], group["betas"], group["momentum_decay"]
        t = state["step"] = state.get("step", 0) + 1
        now, next_ = (beta1 * (1 - 0.5 * 0.96 ** (k * decay)) for k in (t, t + 1))
        product = state["mu_product"] = state.get("mu_product", 1.0) * now
        return {
            "of_gradient": lr * (1 - now) / (1 - product),
            "of_moment": lr * next_ / (1 - product * next_),
            "correction": math.sqrt(1 - beta2**t),
            "shrinking": 1 - lr * group["weight_decay"],
        }

    def rule(self, array: Array, grad: Array, state: dict[str, Any], group: Group) -> None:
        if group["decoupled_weight_decay"]:
            array *= group["shrinking"]
        else:
            grad = decayed(array, grad, group)
        m, v = moments(array, grad, state, group["betas"])
        root = v**0.5 / group["correction"] + group["eps"]
        array -= group["of_gradient"] * (grad / root)
        array -= group["of_moment"] * (m / root)


class RAdam(
    UpdateRule, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0, decoupled_weight_decay=False
):
    """Adam that warms up by itself: with ρ∞ = 2 / (1 − β₂) − 1 and ρ = ρ∞ − 2 t β₂ᵗ / (1 − β₂ᵗ),
    the variance is used only where ρ > 5, θ ← θ − η r m̂ / (√v̂ + ε) with r² = (ρ − 4)(ρ − 2) ρ∞ /
    ((ρ∞ − 4)(ρ∞ − 2) ρ); before that θ ← θ − η m̂.

    decoupled_weight_decay: as in AdamW. Source: Liu et al. 2020.
    """

    def numbers(self, state: dict[str, Any], group: Group) -> dict[str, float]:
        """`plain` is the rate of m, `adaptive` that of m / (√v + ε): one of the two is 0."""
        lr, (beta1, beta2) = group["lr"], group["betas"]
        t = state["step"] = state.get("step", 0) + 1
        left = 1 - beta2**t
        most = 2 / (1 - beta2) - 1
        length = most - 2 * t * beta2**t / left
        rate, adaptive = lr / (1 - beta1**t), 0.0
        if length > 5:
            certain = (length - 4) * (length - 2) * most / ((most - 4) * (most - 2) * length)
            rate, adaptive = 0.0, rate * math.sqrt(certain * left)
        return {"plain": rate, "adaptive": adaptive, "shrinking": 1 - lr * group["weight_decay"]}

    def rule(self, array: Array, grad: Array, state: dict[str, Any], group: Group) -> None:
        if group["decoupled_weight_decay"]:
            array *= group["shrinking"]
        else:
            grad = decayed(array, grad, group)
        m, v = moments(array, grad, state, group["betas"])
        array -= group["plain"] * m
        array -= group["adaptive"] * (m / (v**0.5 + group["eps"]))


class Rprop(UpdateRule, rate=1e-2, etas=(0.5, 1.2), step_sizes=(1e-6, 50.0)):
    """Only signs count: a step size of each element grows by η₊ while its gradient keeps its sign,
    shrinks by η₋ where that changed (and the element waits for one step), and θ ← θ − size ·
    sign(g).

    etas: (η₋, η₊); step_sizes: the least and the largest; lr: the first. Source: Riedmiller & Braun
    1993.
    """

    def rule(self, array: Array, grad: Array, state: dict[str, Any], group: Group) -> None:
        (shrink, grow), (least, most) = group["etas"], group["step_sizes"]
        before = buffer(state, "prev", array)
        size = state.get("step_size")
        if size is None:
            size = state["step_size"] = materialise(
                ones(array.shape, array.dtype, array) * group["lr"]
            )
        agreement = grad * before
        size[...] = clamp(
            size * where(agreement > 0, grow, where(agreement < 0, shrink, 1.0)),
            low=least,
            high=most,
        )
        before[...] = where(agreement < 0, 0.0, grad)
        array -= sign(before) * size


class ASGD(UpdateRule, rate=1e-2, lambd=1e-4, alpha=0.75, t0=1e6, weight_decay=0.0):
    """Gradient descent with weight decay λ (lambd) and a falling rate η / (1 + λ η t)^α, and beside
    it, in state["ax"], the mean of the parameters since step t0 (until then the parameters).
    Source: Polyak & Juditsky 1992.
    """

    def numbers(self, state: dict[str, Any], group: Group) -> dict[str, float]:
        """The rate, what of θ stays after the decay, and the newest values' share in the mean."""
        t = state.get("step", 0)
        state["step"] = t + 1
        eta = group["lr"] / (1 + group["lambd"] * group["lr"] * t) ** group["alpha"]
        newest = 1 / max(1, t - group["t0"])
        return {
            "lr": eta,
            "staying": 1 - group["lambd"] * eta,
            "newest": newest,
            "others": 1 - newest,
        }

    def rule(self, array: Array, grad: Array, state: dict[str, Any], group: Group) -> None:
        grad = decayed(array, grad, group)
        array *= group["staying"]
        array -= group["lr"] * grad
        mean = buffer(state, "ax", array)
        mean *= group["others"]
        mean += group["newest"] * array
