"""Optimisers: what to do with gradients. PyTorch's names and update rules; `update(parameter,
gradient)` as SINGA calls them, and SINGA's own rules under its names RMSProp and AdaGrad.
"""

from typing import TYPE_CHECKING

from ..errors import no_such_name
from . import lr_scheduler
from .clip import clip_grad_norm_, clip_grad_value_
from .lbfgs import LBFGS
from .optimizer import Optimizer
from .rules import SGD, Adagrad, Adam, AdamW, RMSprop
from .singa import AdaGrad, RMSProp
from .variants import ASGD, Adadelta, Adamax, NAdam, RAdam, Rprop

__all__ = [
    "ASGD", "LBFGS", "SGD", "AdaGrad", "Adadelta", "Adagrad", "Adam", "AdamW", "Adamax", "NAdam",
    "Optimizer", "RAdam", "RMSProp",
    "RMSprop", "Rprop", "clip_grad_norm_", "clip_grad_value_", "lr_scheduler",
]  # fmt: skip

if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        """Names that are nowhere else."""
        raise no_such_name(__name__, name, globals())
