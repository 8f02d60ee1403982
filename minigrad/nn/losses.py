"""Losses as modules: `CrossEntropyLoss(label_smoothing=0.1)(logits, targets)` is
`functional.cross_entropy(logits, targets, label_smoothing=0.1)`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..core.tensor import Tensor
from . import functional as F
from .function_layer import FunctionLayer, function_layer
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


def _declared(name: str, function: Callable[..., Any], **options: Any) -> type[FunctionLayer]:
    return function_layer(name, function, base=_Loss, **options)


MSELoss = _declared("MSELoss", F.mse_loss, settings="reduction")
L1Loss = _declared("L1Loss", F.l1_loss, settings="reduction")
SmoothL1Loss = _declared("SmoothL1Loss", F.smooth_l1_loss)
HuberLoss = _declared("HuberLoss", F.huber_loss, settings="reduction delta", prepare=_check_delta)
BCELoss = _declared("BCELoss", F.binary_cross_entropy)
BCEWithLogitsLoss = _declared("BCEWithLogitsLoss", F.binary_cross_entropy_with_logits)
NLLLoss = _declared("NLLLoss", F.nll_loss)
CrossEntropyLoss = _declared("CrossEntropyLoss", F.cross_entropy)
KLDivLoss = _declared("KLDivLoss", F.kl_div)
HingeEmbeddingLoss = _declared("HingeEmbeddingLoss", F.hinge_embedding_loss)
SoftMarginLoss = _declared("SoftMarginLoss", F.soft_margin_loss)
MultiMarginLoss = _declared("MultiMarginLoss", F.multi_margin_loss)
MultiLabelMarginLoss = _declared("MultiLabelMarginLoss", F.multilabel_margin_loss)
MultiLabelSoftMarginLoss = _declared("MultiLabelSoftMarginLoss", F.multilabel_soft_margin_loss)
PoissonNLLLoss = _declared("PoissonNLLLoss", F.poisson_nll_loss)
GaussianNLLLoss = _declared("GaussianNLLLoss", F.gaussian_nll_loss)
MarginRankingLoss = _declared("MarginRankingLoss", F.margin_ranking_loss)
CosineEmbeddingLoss = _declared("CosineEmbeddingLoss", F.cosine_embedding_loss)
TripletMarginLoss = _declared("TripletMarginLoss", F.triplet_margin_loss)
TripletMarginWithDistanceLoss = _declared(
    "TripletMarginWithDistanceLoss", F.triplet_margin_with_distance_loss
)


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
