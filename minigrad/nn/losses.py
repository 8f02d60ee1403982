"""Losses as modules: `CrossEntropyLoss(label_smoothing=0.1)(logits, targets)` is
`functional.cross_entropy(logits, targets, label_smoothing=0.1)`.
"""

from __future__ import annotations

from typing import Any

from ..core.tensor import Tensor
from . import functional as F
from .function_layer import FunctionLayer
from .functional.reduction import check_real
from .module import Module


def _check_reduction(name: str, settings: dict[str, Any]) -> None:
    if settings["reduction"] not in ("mean", "sum", "none", "batchmean"):
        raise ValueError(
            f'{name}: reduction must be "mean", "sum" or "none", got {settings["reduction"]!r}.'
        )


def _check_delta(name: str, settings: dict[str, Any]) -> None:
    _check_reduction(name, settings)
    check_real(settings["delta"], name, "delta")


class _Loss(FunctionLayer, prepare=_check_reduction):
    """Keeps the settings of a loss function; tensors among them belong to the state."""

    extra_repr = Module.extra_repr  # losses show no settings, as in PyTorch

    def forward(self, *inputs: Any, **named: Any) -> Tensor:
        known = named.keys() <= set(self.operands)
        if len(inputs) + len(named) != len(self.operands) or not known:
            got = [*(type(x).__name__ for x in inputs), *(f"{name}=" for name in named)]
            raise TypeError(
                f"{type(self).__name__} is called with ({', '.join(self.operands)}); got"
                f" {', '.join(got) or 'nothing'}."
            )
        made: Tensor = super().forward(*inputs, **named)
        return made


class MSELoss(_Loss, function=F.mse_loss, settings="reduction"):
    """(x − t)²."""


class L1Loss(_Loss, function=F.l1_loss, settings="reduction"):
    """|x − t|."""


class SmoothL1Loss(_Loss, function=F.smooth_l1_loss):
    """Quadratic near 0, linear beyond beta."""


class HuberLoss(_Loss, function=F.huber_loss, settings="reduction delta", prepare=_check_delta):
    """Quadratic near 0, linear beyond delta."""


class BCELoss(_Loss, function=F.binary_cross_entropy):
    """Cross entropy of probabilities of one event."""


class BCEWithLogitsLoss(_Loss, function=F.binary_cross_entropy_with_logits):
    """Cross entropy of logits of one event."""


class NLLLoss(_Loss, function=F.nll_loss):
    """Minus the log-probability of the target class."""


class CrossEntropyLoss(_Loss, function=F.cross_entropy):
    """Cross entropy of logits and target classes or probabilities."""


class KLDivLoss(_Loss, function=F.kl_div):
    """t (ln t − x) for log-probabilities x."""


class HingeEmbeddingLoss(_Loss, function=F.hinge_embedding_loss):
    """x where t = 1, max(0, margin − x) where t = −1."""


class SoftMarginLoss(_Loss, function=F.soft_margin_loss):
    """ln(1 + e^(−t x))."""


class MultiMarginLoss(_Loss, function=F.multi_margin_loss):
    """A margin between the target class and all others."""


class MultiLabelMarginLoss(_Loss, function=F.multilabel_margin_loss):
    """A margin between each target class and all others."""


class MultiLabelSoftMarginLoss(_Loss, function=F.multilabel_soft_margin_loss):
    """Cross entropies of σ(x) and t, one for each class."""


class PoissonNLLLoss(_Loss, function=F.poisson_nll_loss):
    """Minus the log-probability of a count at a rate."""


class GaussianNLLLoss(_Loss, function=F.gaussian_nll_loss):
    """Minus the log-density of a normal distribution: called with (input, target, var)."""


class MarginRankingLoss(_Loss, function=F.margin_ranking_loss):
    """A margin between two scores: called with (input1, input2, target)."""


class CosineEmbeddingLoss(_Loss, function=F.cosine_embedding_loss):
    """Angles between vectors that should or should not agree: called with (input1, input2,
    target).
    """


class TripletMarginLoss(_Loss, function=F.triplet_margin_loss):
    """Nearer to the positive than to the negative by a margin: called with (anchor, positive,
    negative).
    """


class TripletMarginWithDistanceLoss(_Loss, function=F.triplet_margin_with_distance_loss):
    """As `TripletMarginLoss`, with any distance."""


def _ctc_loss(
    log_probs: Any,
    targets: Any,
    input_lengths: Any,
    target_lengths: Any,
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Tensor:
    lengths = input_lengths, target_lengths
    return F.ctc_loss(log_probs, targets, *lengths, blank, reduction, zero_infinity)  # loaded now


class CTCLoss(_Loss, function=_ctc_loss):
    """Minus the log-probability of an unaligned sequence: called with (log_probs, targets,
    input_lengths, target_lengths).
    """


__all__ = [name for name in list(globals()) if name.endswith("Loss") and name != "_Loss"]
