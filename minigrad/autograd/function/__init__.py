"""Operations of a user's own: `Function`, and how one runs, one step a file.

function.py: the class that users inherit from; context.py: what it keeps; forward.py: its forward;
node.py: its place in the graph and its backward; jvp.py: forward mode; vmap.py: batches; bprop.py:
rules in MindSpore's form.
"""

from .context import FunctionCtx
from .function import Function, once_differentiable

_ContextMethodMixin = FunctionCtx
"""PyTorch's documented name for the methods of ctx."""

__all__ = ["Function", "FunctionCtx", "_ContextMethodMixin", "once_differentiable"]
