"""The update rules. Each class is one formula, with PyTorch's conventions, so that training is
comparable number by number.

Notation: θ parameter, g gradient, η learning rate, λ weight decay, t number of updates so far.
`numbers` computes in Python what differs from step to step, `rule` does the arithmetic with arrays.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from inspect import Parameter, Signature
from typing import Any, ClassVar

from ..backend import Array
from ..ops.elementwise import maximum
from .optimizer import Group, Optimizer, buffer, checked

_NOT_NEGATIVE = """
    lr eps epsilon weight_decay momentum momentum_decay alpha lambd t0 lr_decay
    initial_accumulator_value tolerance_grad tolerance_change
""".split()
RANGES: dict[str, tuple[Callable[[Any], bool], str]] = {
    **dict.fromkeys(_NOT_NEGATIVE, (lambda v: v >= 0, "at least 0")),
    "rho": (lambda v: 0 <= v <= 1, "in [0, 1]"),
    "betas": (lambda b: len(b) == 2 and all(0 <= v < 1 for v in b), "two numbers in [0, 1)"),
    "etas": (lambda e: 0 < e[0] < 1 < e[1], "two numbers, one below and one above 1"),
}
"""What a setting of a name must fulfil, in every rule that has one."""


class UpdateRule(Optimizer):
    """An optimiser whose constructor follows from a table of its settings.

    A subclass gives the default values in the order of the arguments, as keywords of the class, and
    `rate`, the default learning rate. So SGD has the arguments params, lr, momentum, …, and
    maximize by name alone; `foreach` and `fused`, PyTorch's choices between implementations, change
    nothing. SINGA calls SGD(0.05): a number in the place of the parameters is the
    learning rate. Raises ValueError for a setting out of range, TypeError for one of another type
    and for unknown ones.
    """

    rate = 1e-3
    settings: ClassVar[dict[str, Any]] = {}
    scheduled = ("lr",)
    in_float32 = True
    __signature__: ClassVar[Signature]

    def __init_subclass__(cls, rate: float | None = None, **settings: Any) -> None:
        cls.rate = cls.rate if rate is None else rate
        cls.settings = {**cls.settings, **settings}
        named = {"params": None, "lr": None, **cls.settings}
        made = [
            Parameter(name, Parameter.POSITIONAL_OR_KEYWORD, default=value)
            for name, value in named.items()
        ]
        by_name = {"maximize": False, "foreach": None, "fused": None}
        made += [Parameter(n, Parameter.KEYWORD_ONLY, default=v) for n, v in by_name.items()]
        cls.__signature__ = Signature(made)

    def __init__(self, *args: Any, **named: Any) -> None:
        owner = type(self).__name__
        try:
            given = self.__signature__.bind(*args, **named)
        except TypeError as error:
            raise TypeError(f"{owner}: {error}") from None
        given.apply_defaults()
        params, settings = given.arguments.pop("params"), given.arguments
        del settings["foreach"], settings["fused"]
        if isinstance(params, int | float):
            rate = settings["lr"]
            if rate is not None:
                raise TypeError(
                    f"two learning rates, {params!r} and {rate!r}; name the other settings, as in"
                    f" {owner}({params!r}, momentum=0.9)."
                )
            settings["lr"] = float(params)
            params = None
        if settings["lr"] is None:
            settings["lr"] = self.rate
        settings.update(
            {
                name: tuple(settings[name])
                for name, usual in self.settings.items()
                if isinstance(usual, tuple)
            }
        )
        checked(owner, settings, [(name, *RANGES[name]) for name in settings if name in RANGES])
        super().__init__(params, settings)

    def numbers(self, state: dict[str, Any], group: Group) -> dict[str, float]:
        return {"lr": group["lr"]}


def decayed(array: Array, grad: Array, group: Group) -> Array:
    """g + λ θ."""
    return grad + group["weight_decay"] * array if group["weight_decay"] else grad


def moments(
    array: Array, grad: Array, state: dict[str, Any], betas: tuple[float, float]
) -> tuple[Array, Array]:
    """Adam's m ← β₁ m + (1 − β₁) g and v ← β₂ v + (1 − β₂) g²."""
    m, v = buffer(state, "exp_avg", array), buffer(state, "exp_avg_sq", array)
    m += (1 - betas[0]) * (grad - m)
    v *= betas[1]
    v += (1 - betas[1]) * (grad * grad)
    return m, v


class SGD(UpdateRule, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False):
    """Gradient descent: v ← μ v + (1 − τ)(g + λ θ), θ ← θ − η v.

    momentum μ, dampening τ, weight_decay λ; nesterov looks ahead: θ ← θ − η (g + μ v). The first v
    is g itself.
    Source: Sutskever et al. 2013, in PyTorch's form (η outside of v).
    """

    linear = True

    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        if self.defaults["nesterov"] and (
            self.defaults["momentum"] <= 0 or self.defaults["dampening"] != 0
        ):
            raise ValueError("SGD: nesterov needs momentum > 0 and dampening = 0.")

    def rule(self, array: Array, grad: Array, state: dict[str, Any], group: Group) -> None:
        grad = decayed(array, grad, group)
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


class Adam(UpdateRule, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0, amsgrad=False):
    """m ← β₁ m + (1 − β₁) g, v ← β₂ v + (1 − β₂) g², θ ← θ − η m̂ / (√v̂ + ε) with m̂ = m / (1 −
    β₁ᵗ), v̂ = v / (1 − β₂ᵗ).

    weight_decay adds λ θ to the gradient; amsgrad uses the largest v so far. Source: Kingma & Ba
    2015.
    """

    decoupled = False

    def numbers(self, state: dict[str, Any], group: Group) -> dict[str, float]:
        """The learning rate and the root's divisor with the corrections for moments that began
        at 0; for AdamW by what θ shrinks.
        """
        lr, (beta1, beta2) = group["lr"], group["betas"]
        t = state["step"] = state.get("step", 0) + 1
        return {
            "lr": lr / (1 - beta1**t),
            "correction": math.sqrt(1 - beta2**t),
            "shrinking": 1 - lr * group["weight_decay"],
        }

    def rule(self, array: Array, grad: Array, state: dict[str, Any], group: Group) -> None:
        if group["weight_decay"] and self.decoupled:
            array *= group["shrinking"]
        else:
            grad = decayed(array, grad, group)
        m, v = moments(array, grad, state, group["betas"])
        if group["amsgrad"]:
            largest = buffer(state, "max_exp_avg_sq", array)
            largest[...] = maximum(largest, v)
            v = largest
        root = v**0.5 / group["correction"] + group["eps"]
        array -= group["lr"] * (m / root)


class AdamW(Adam, weight_decay=1e-2):
    """Adam with decoupled weight decay: θ ← (1 − η λ) θ before Adam's update. Source: Loshchilov
    & Hutter 2019.
    """

    decoupled = True


class RMSprop(
    UpdateRule, rate=1e-2, alpha=0.99, eps=1e-8, weight_decay=0.0, momentum=0.0, centered=False
):
    """v ← α v + (1 − α) g², θ ← θ − η g / (√v + ε); centered subtracts the mean gradient's square
    from v; momentum as in SGD.

    Source: Hinton's lecture 6, in PyTorch's form.
    """

    def rule(self, array: Array, grad: Array, state: dict[str, Any], group: Group) -> None:
        grad = decayed(array, grad, group)
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


class Adagrad(
    UpdateRule, rate=1e-2, lr_decay=0.0, weight_decay=0.0, initial_accumulator_value=0.0, eps=1e-10
):
    """v ← v + g², θ ← θ − η g / (√v + ε), the rate falling as η / (1 + (t − 1) lr_decay).
    Source: Duchi et al. 2011.
    """

    def numbers(self, state: dict[str, Any], group: Group) -> dict[str, float]:
        t = state["step"] = state.get("step", 0) + 1
        return {"lr": group["lr"] / (1 + (t - 1) * group["lr_decay"])}

    def rule(self, array: Array, grad: Array, state: dict[str, Any], group: Group) -> None:
        grad = decayed(array, grad, group)
        first = "sum" not in state
        v = buffer(state, "sum", array)
        if first and group["initial_accumulator_value"]:
            v += group["initial_accumulator_value"]
        v += grad * grad
        array -= group["lr"] * (grad / (v**0.5 + group["eps"]))
