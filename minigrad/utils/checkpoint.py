"""PyTorch's place (`torch.utils.checkpoint`) of the functions of autograd/checkpoint.py."""

from ..autograd.checkpoint import checkpoint, checkpoint_sequential

__all__ = ["checkpoint", "checkpoint_sequential"]
