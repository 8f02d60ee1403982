"""PyTorch's `torch.autograd`, on minigrad's engine: backward, grad, grad modes, forward mode, and what is built on them."""

from ..engine.modes import enable_grad, inference_mode, is_grad_enabled, no_grad, set_grad_enabled
from . import forward_ad
from .backward import backward, grad

__all__ = ["backward", "enable_grad", "forward_ad", "grad", "inference_mode", "is_grad_enabled", "no_grad", "set_grad_enabled"]
