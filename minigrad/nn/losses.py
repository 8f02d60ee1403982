"""Losses as modules: `CrossEntropyLoss(label_smoothing=0.1)(logits, targets)` is `functional.cross_entropy(logits, targets,
label_smoothing=0.1)`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..tensor import Tensor
from . import functional as F
from .module import Module


class _Loss(Module):
    """Keeps the settings of a loss function. `settings`: its keyword arguments with their default values; tensors among them belong to
    the state.
    """

    function: Callable[..., Tensor]
    settings: dict[str, Any]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        unknown = set(kwargs) - set(self.settings)
        if unknown or len(args) > len(self.settings):
            raise TypeError(
                f"{type(self).__name__} takes {', '.join(self.settings)}; got {len(args)} positional arguments and {sorted(kwargs)}."
            )
        given = {**self.settings, **dict(zip(self.settings, args, strict=False)), **kwargs}
        if given["reduction"] not in ("mean", "sum", "none", "batchmean"):
            raise ValueError(f'{type(self).__name__}: reduction must be "mean", "sum" or "none", got {given["reduction"]!r}.')
        for name, value in given.items():
            if isinstance(value, Tensor):
                self.register_buffer(name, value)
            else:
                setattr(self, name, value)

    def forward(self, input: Any, target: Any) -> Tensor:
        return type(self).function(input, target, **{name: getattr(self, name) for name in self.settings})

    def extra_repr(self) -> str:
        changed = {
            k: getattr(self, k) for k, usual in self.settings.items() if isinstance(getattr(self, k), Tensor) or getattr(self, k) != usual
        }
        return ", ".join(f"{k}={'…' if isinstance(v, Tensor) else repr(v)}" for k, v in changed.items())


class MSELoss(_Loss):
    """(x − t)²."""

    function, settings = staticmethod(F.mse_loss), {"reduction": "mean"}


class L1Loss(_Loss):
    """|x − t|."""

    function, settings = staticmethod(F.l1_loss), {"reduction": "mean"}


class SmoothL1Loss(_Loss):
    """Quadratic near 0, linear beyond beta."""

    function, settings = staticmethod(F.smooth_l1_loss), {"reduction": "mean", "beta": 1.0}


class HuberLoss(_Loss):
    """Quadratic near 0, linear beyond delta."""

    function, settings = staticmethod(F.huber_loss), {"reduction": "mean", "delta": 1.0}


class BCELoss(_Loss):
    """Cross entropy of probabilities of one event."""

    function, settings = staticmethod(F.binary_cross_entropy), {"weight": None, "reduction": "mean"}


class BCEWithLogitsLoss(_Loss):
    """The same of logits."""

    function, settings = staticmethod(F.binary_cross_entropy_with_logits), {"weight": None, "reduction": "mean", "pos_weight": None}


class NLLLoss(_Loss):
    """Minus the log-probability of the target class."""

    function, settings = staticmethod(F.nll_loss), {"weight": None, "ignore_index": -100, "reduction": "mean"}


class CrossEntropyLoss(_Loss):
    """Cross entropy of logits and target classes or probabilities."""

    function = staticmethod(F.cross_entropy)
    settings = {"weight": None, "ignore_index": -100, "reduction": "mean", "label_smoothing": 0.0}  # noqa: RUF012


class KLDivLoss(_Loss):
    """t (ln t − x) for log-probabilities x."""

    function, settings = staticmethod(F.kl_div), {"reduction": "mean", "log_target": False}
