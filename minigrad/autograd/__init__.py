"""PyTorch's `torch.autograd`, on minigrad's engine: backward, grad, grad modes, forward mode,
and what is built on them.
"""

from importlib import import_module
from typing import Any

from .. import grad_mode
from ..errors import no_such_name
from ..grad_mode import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_multithreading_enabled,
    no_grad,
    set_grad_enabled,
    set_multithreading_enabled,
)
from . import anomaly as anomaly_mode
from . import forward_ad, functional, graph, profiler
from . import node_hooks as _node_hooks  # attaches PyTorch's methods to nodes  # noqa: F401
from .anomaly import detect_anomaly, is_anomaly_enabled, set_detect_anomaly
from .backward import backward, grad
from .function import Function
from .gradcheck import gradcheck, gradgradcheck
from .variable import Variable

training = False
"""SINGA's switch, set as `autograd.training = True`: whether `dropout`, `batchnorm_2d` and the
layers train.
"""


def __getattr__(name: str) -> Any:
    """SINGA's operators and layers (`autograd.matmul`, `autograd.Conv2d`, …), loaded when the
    first of them is used.
    """
    singa = import_module("..singa", __name__)
    if name in singa.__all__:
        return getattr(singa, name)
    raise no_such_name(__name__, name, globals())


__all__ = [
    "Function",
    "Operation",
    "Operator",
    "Variable",
    "anomaly_mode",
    "backward",
    "detect_anomaly",
    "enable_grad",
    "forward_ad",
    "functional",
    "grad",
    "grad_mode",
    "gradcheck",
    "gradgradcheck",
    "graph",
    "inference_mode",
    "is_anomaly_enabled",
    "is_grad_enabled",
    "is_multithreading_enabled",
    "no_grad",
    "profiler",
    "set_detect_anomaly",
    "set_grad_enabled",
    "set_multithreading_enabled",
]
