"""Losses as modules: `CrossEntropyLoss(label_smoothing=0.1)(logits, targets)` is
`functional.cross_entropy(logits, targets, label_smoothing=0.1)`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from ..core.tensor import Tensor, as_tensor
from . import functional as F
from .functional.reduction import check_real
from .module import Module


class _Loss(Module):
    """Keeps the settings of a loss function. `settings`: its keyword arguments with their default
    values; tensors among them belong to the state.
    """

    function: Callable[..., Tensor]
    settings: dict[str, Any]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        unknown = set(kwargs) - set(self.settings)
        if unknown or len(args) > len(self.settings):
            name = type(self).__name__
            called = (
                f" To apply it: {name}()(input, target)."
                if any(isinstance(a, Tensor) for a in args)
                else ""
            )
            got = ", ".join([*(type(a).__name__ for a in args), *(f"{k}=" for k in kwargs)])
            raise TypeError(f"{name} takes {', '.join(self.settings)}; got {got}.{called}")
        given = {**self.settings, **dict(zip(self.settings, args, strict=False)), **kwargs}
        if given["reduction"] not in ("mean", "sum", "none", "batchmean"):
            raise ValueError(
                f'{type(self).__name__}: reduction must be "mean", "sum" or "none", got'
                f" {given['reduction']!r}."
            )
        for name, value in given.items():
            if name in ("weight", "pos_weight") or isinstance(value, Tensor):
                self.register_buffer(name, None if value is None else as_tensor(value))
            else:
                setattr(self, name, value)

    def forward(self, *inputs: Any, **named: Any) -> Tensor:
        function = type(self).function
        plain = inspect.unwrap(function)
        code = plain.__code__
        operands = code.co_varnames[: code.co_argcount - len(plain.__defaults__ or ())]
        if len(inputs) + len(named) != len(operands) or not named.keys() <= set(operands):
            got = (
                ", ".join([*(type(x).__name__ for x in inputs), *(f"{name}=" for name in named)])
                or "nothing"
            )
            raise TypeError(
                f"{type(self).__name__} is called with ({', '.join(operands)}); got {got}."
            )
        return function(*inputs, **named, **{name: getattr(self, name) for name in self.settings})


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

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        check_real(vars(self)["delta"], "HuberLoss", "delta")


class BCELoss(_Loss):
    """Cross entropy of probabilities of one event."""

    function, settings = staticmethod(F.binary_cross_entropy), {"weight": None, "reduction": "mean"}


class BCEWithLogitsLoss(_Loss):
    """Cross entropy of logits of one event."""

    function, settings = (
        staticmethod(F.binary_cross_entropy_with_logits),
        {"weight": None, "reduction": "mean", "pos_weight": None},
    )


class NLLLoss(_Loss):
    """Minus the log-probability of the target class."""

    function, settings = (
        staticmethod(F.nll_loss),
        {"weight": None, "ignore_index": -100, "reduction": "mean"},
    )


class CrossEntropyLoss(_Loss):
    """Cross entropy of logits and target classes or probabilities."""

    function = staticmethod(F.cross_entropy)
    settings = {  # noqa: RUF012
        "weight": None,
        "ignore_index": -100,
        "reduction": "mean",
        "label_smoothing": 0.0,
    }


class KLDivLoss(_Loss):
    """t (ln t − x) for log-probabilities x."""

    function, settings = staticmethod(F.kl_div), {"reduction": "mean", "log_target": False}


class HingeEmbeddingLoss(_Loss):
    """x where t = 1, max(0, margin − x) where t = −1."""

    function, settings = staticmethod(F.hinge_embedding_loss), {"margin": 1.0, "reduction": "mean"}


class SoftMarginLoss(_Loss):
    """ln(1 + e^(−t x))."""

    function, settings = staticmethod(F.soft_margin_loss), {"reduction": "mean"}


class MultiMarginLoss(_Loss):
    """A margin between the target class and all others."""

    function, settings = (
        staticmethod(F.multi_margin_loss),
        {"p": 1, "margin": 1.0, "weight": None, "reduction": "mean"},
    )


class MultiLabelMarginLoss(_Loss):
    """A margin between each target class and all others."""

    function, settings = staticmethod(F.multilabel_margin_loss), {"reduction": "mean"}


class MultiLabelSoftMarginLoss(_Loss):
    """Cross entropies of σ(x) and t, one for each class."""

    function, settings = (
        staticmethod(F.multilabel_soft_margin_loss),
        {"weight": None, "reduction": "mean"},
    )


class PoissonNLLLoss(_Loss):
    """Minus the log-probability of a count at a rate."""

    function = staticmethod(F.poisson_nll_loss)
    settings = {"log_input": True, "full": False, "eps": 1e-8, "reduction": "mean"}  # noqa: RUF012


class GaussianNLLLoss(_Loss):
    """Minus the log-density of a normal distribution: called with (input, target, var)."""

    function, settings = (
        staticmethod(F.gaussian_nll_loss),
        {"full": False, "eps": 1e-6, "reduction": "mean"},
    )


class MarginRankingLoss(_Loss):
    """A margin between two scores: called with (input1, input2, target)."""

    function, settings = staticmethod(F.margin_ranking_loss), {"margin": 0.0, "reduction": "mean"}


class CosineEmbeddingLoss(_Loss):
    """Angles between vectors that should or should not agree: called with (input1, input2,
    target).
    """

    function, settings = staticmethod(F.cosine_embedding_loss), {"margin": 0.0, "reduction": "mean"}


class TripletMarginLoss(_Loss):
    """Nearer to the positive than to the negative by a margin: called with (anchor, positive,
    negative).
    """

    function = staticmethod(F.triplet_margin_loss)
    settings = {  # noqa: RUF012
        "margin": 1.0,
        "p": 2.0,
        "eps": 1e-6,
        "swap": False,
        "reduction": "mean",
    }


class TripletMarginWithDistanceLoss(_Loss):
    """As `TripletMarginLoss`, with any distance."""

    function = staticmethod(F.triplet_margin_with_distance_loss)
    settings = {  # noqa: RUF012
        "distance_function": None,
        "margin": 1.0,
        "swap": False,
        "reduction": "mean",
    }


class CTCLoss(_Loss):
    """Minus the log-probability of an unaligned sequence: called with (log_probs, targets,
    input_lengths, target_lengths).
    """

    function, settings = (
        staticmethod(F.ctc_loss),
        {"blank": 0, "reduction": "mean", "zero_infinity": False},
    )


__all__ = [
    name
    for name, value in list(globals().items())
    if isinstance(value, type) and name.endswith("Loss") and name != "_Loss"
]
