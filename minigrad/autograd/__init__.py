"""PyTorch's `torch.autograd`, on minigrad's engine: backward, grad, grad modes, forward mode, and what is built on them."""

from ..engine.modes import enable_grad, inference_mode, is_grad_enabled, no_grad, set_grad_enabled
from . import forward_ad, functional, profiler
from .anomaly import detect_anomaly, is_anomaly_enabled, set_detect_anomaly
from .backward import backward, grad
from .function import Function
from .gradcheck import gradcheck, gradgradcheck
from .variable import Variable

__all__ = [
    "Function",
    "Variable",
    "backward",
    "detect_anomaly",
    "enable_grad",
    "forward_ad",
    "functional",
    "grad",
    "gradcheck",
    "gradgradcheck",
    "inference_mode",
    "is_anomaly_enabled",
    "is_grad_enabled",
    "no_grad",
    "profiler",
    "set_detect_anomaly",
    "set_grad_enabled",
]
