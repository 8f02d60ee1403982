"""The update rules. Each class is one formula, with PyTorch's conventions, so that training is comparable number by number.

Notation: θ parameter, g gradient, η learning rate, λ weight decay, t number of updates so far. `numbers` computes in Python what differs
from step to step, `rule` does the arithmetic with arrays.
"""

from __future__ import annotations

import math
from typing import Any

from ..backend import Array
from ..ops.elementwise import maximum
from .optimizer import Group, Optimizer, buffer, checked

not_negative = lambda v: v >= 0


def share(v: Any) -> bool:
    return bool(0 <= v < 1)


def learning_rate(params: Any, lr: float, given: float | None) -> tuple[Any, float]:
    """SINGA calls SGD(0.05): a number in the place of the parameters is the learning rate. Raises TypeError if that is given twice."""
    if isinstance(params, int | float):
        if given is not None:
            raise TypeError(f"two learning rates, {params!r} and {given!r}; name the other settings, as in SGD({params!r}, momentum=0.9).")
        return None, float(params)
    return params, lr if given is None else given


class SGD(Optimizer):
    """Gradient descent: v ← μ v + (1 − τ)(g + λ θ), θ ← θ − η v.

    momentum μ, dampening τ, weight_decay λ; nesterov looks ahead: θ ← θ − η (g + μ v). The first v is g itself.
    Source: Sutskever et al. 2013, in PyTorch's form (η outside of v).
    """

    linear = True

    def __init__(
        self,
        params: Any = None,
        lr: float | None = None,
        momentum: float = 0.0,
        dampening: float = 0.0,
        weight_decay: float = 0.0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
    ) -> None:
        params, rate = learning_rate(params, 1e-3, lr)
        settings = {
            "lr": rate,
            "momentum": momentum,
            "dampening": dampening,
            "weight_decay": weight_decay,
            "nesterov": nesterov,
            "maximize": maximize,
        }
        checked("SGD", settings, [(k, not_negative, "at least 0") for k in ("lr", "momentum", "weight_decay")])
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("SGD: nesterov needs momentum > 0 and dampening = 0.")
        super().__init__(params, settings)

    scheduled = ("lr",)

    def numbers(self, state: dict[str, Any], group: Group) -> dict[str, float]:
        return {"lr": group["lr"]}

    def rule(self, array: Array, grad: Array, state: dict[str, Any], group: Group) -> None:
        if group["weight_decay"]:
            grad = grad + group["weight_decay"] * array
        momentum = group["momentum"]
        if momentum:
            velocity = state.get("momentum_buffer")
            if velocity is None:
                velocity = buffer(state, "momentum_buffer", array)  # not a copy of grad, which may
                velocity += grad  # be a NumPy scalar without memory
            else:
                velocity *= momentum
                velocity += (1 - group["dampening"]) * grad
            grad = grad + momentum * velocity if group["nesterov"] else velocity
        array -= group["lr"] * grad


class Adam(Optimizer):
    """m ← β₁ m + (1 − β₁) g, v ← β₂ v + (1 − β₂) g², θ ← θ − η m̂ / (√v̂ + ε) with m̂ = m / (1 − β₁ᵗ), v̂ = v / (1 − β₂ᵗ).

    weight_decay adds λ θ to the gradient; amsgrad uses the largest v so far. Source: Kingma & Ba 2015.
    """

    decoupled = False
    usual_decay = 0.0

    def __init__(
        self,
        params: Any = None,
        lr: float | None = None,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float | None = None,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
    ) -> None:
        params, rate = learning_rate(params, 1e-3, lr)
        decay = self.usual_decay if weight_decay is None else weight_decay
        settings = {"lr": rate, "betas": tuple(betas), "eps": eps, "weight_decay": decay, "amsgrad": amsgrad, "maximize": maximize}
        name = type(self).__name__
        checked(name, settings, [(k, not_negative, "at least 0") for k in ("lr", "eps", "weight_decay")])
        checked(name, settings, [("betas", lambda b: len(b) == 2 and all(share(v) for v in b), "two numbers in [0, 1)")])
        super().__init__(params, settings)

    scheduled = ("lr",)

    def numbers(self, state: dict[str, Any], group: Group) -> dict[str, float]:
        """The learning rate and the root's divisor with the corrections for moments that began at 0; for AdamW by what θ shrinks."""
        lr, (beta1, beta2) = group["lr"], group["betas"]
        t = state["step"] = state.get("step", 0) + 1
        return {"lr": lr / (1 - beta1**t), "correction": math.sqrt(1 - beta2**t), "shrinking": 1 - lr * group["weight_decay"]}

    def rule(self, array: Array, grad: Array, state: dict[str, Any], group: Group) -> None:
        (beta1, beta2), decay = group["betas"], group["weight_decay"]
        if decay and self.decoupled:
            array *= group["shrinking"]
        elif decay:
            grad = grad + decay * array
        m, v = buffer(state, "exp_avg", array), buffer(state, "exp_avg_sq", array)
        m += (1 - beta1) * (grad - m)
        v *= beta2
        v += (1 - beta2) * (grad * grad.conj()).real if grad.dtype.kind == "c" else (1 - beta2) * (grad * grad)
        if group["amsgrad"]:
            largest = buffer(state, "max_exp_avg_sq", array)
            largest[...] = maximum(largest, v)
            v = largest
        root = v**0.5 / group["correction"] + group["eps"]
        array -= group["lr"] * (m / root)


class AdamW(Adam):
    """Adam with decoupled weight decay: θ ← (1 − η λ) θ before Adam's update. Source: Loshchilov & Hutter 2019."""

    decoupled = True
    usual_decay = 1e-2


class RMSprop(Optimizer):
    """v ← α v + (1 − α) g², θ ← θ − η g / (√v + ε); centered subtracts the mean gradient's square from v; momentum as in SGD.

    Source: Hinton's lecture 6, in PyTorch's form.
    """

    def __init__(
        self,
        params: Any = None,
        lr: float | None = None,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        momentum: float = 0.0,
        centered: bool = False,
        *,
        maximize: bool = False,
    ) -> None:
        params, rate = learning_rate(params, 1e-2, lr)
        settings = {
            "lr": rate,
            "alpha": alpha,
            "eps": eps,
            "weight_decay": weight_decay,
            "momentum": momentum,
            "centered": centered,
            "maximize": maximize,
        }
        checked("RMSprop", settings, [(k, not_negative, "at least 0") for k in ("lr", "alpha", "eps", "weight_decay", "momentum")])
        super().__init__(params, settings)

    scheduled = ("lr",)

    def numbers(self, state: dict[str, Any], group: Group) -> dict[str, float]:
        return {"lr": group["lr"]}

    def rule(self, array: Array, grad: Array, state: dict[str, Any], group: Group) -> None:
        if group["weight_decay"]:
            grad = grad + group["weight_decay"] * array
        alpha = group["alpha"]
        v = buffer(state, "square_avg", array)
        v *= alpha
        v += (1 - alpha) * (grad * grad)
        if group["centered"]:
            mean = buffer(state, "grad_avg", array)
            mean += (1 - alpha) * (grad - mean)
            v = v - mean * mean
        step = grad / (v**0.5 + group["eps"])
        if group["momentum"]:
            velocity = buffer(state, "momentum_buffer", array)
            velocity *= group["momentum"]
            velocity += step
            step = velocity
        array -= group["lr"] * step


class Adagrad(Optimizer):
    """v ← v + g², θ ← θ − η g / (√v + ε), the rate falling as η / (1 + (t − 1) lr_decay). Source: Duchi et al. 2011."""

    def __init__(
        self,
        params: Any = None,
        lr: float | None = None,
        lr_decay: float = 0.0,
        weight_decay: float = 0.0,
        initial_accumulator_value: float = 0.0,
        eps: float = 1e-10,
        *,
        maximize: bool = False,
    ) -> None:
        params, rate = learning_rate(params, 1e-2, lr)
        settings = {
            "lr": rate,
            "lr_decay": lr_decay,
            "weight_decay": weight_decay,
            "initial_accumulator_value": initial_accumulator_value,
            "eps": eps,
            "maximize": maximize,
        }
        checked("Adagrad", settings, [(k, not_negative, "at least 0") for k in settings if k != "maximize"])
        super().__init__(params, settings)

    scheduled = ("lr",)

    def numbers(self, state: dict[str, Any], group: Group) -> dict[str, float]:
        t = state["step"] = state.get("step", 0) + 1
        return {"lr": group["lr"] / (1 + (t - 1) * group["lr_decay"])}

    def rule(self, array: Array, grad: Array, state: dict[str, Any], group: Group) -> None:
        if group["weight_decay"]:
            grad = grad + group["weight_decay"] * array
        first = "sum" not in state
        v = buffer(state, "sum", array)
        if first and group["initial_accumulator_value"]:
            v += group["initial_accumulator_value"]
        v += grad * grad
        array -= group["lr"] * (grad / (v**0.5 + group["eps"]))
