"""`Cell`: MindSpore's name for a module, whose `construct` is its forward, and which may bring
its own derivative as `bprop`.
"""

from __future__ import annotations

from typing import Any

from ..autograd.function.bprop import run_with_rule
from ..core.tensor import Tensor
from ..errors import AutogradError
from ..grad_mode import is_grad_enabled
from .module import Module


class Cell(Module):
    """A Module that defines `construct` instead of `forward`.

    If it also defines `bprop(self, *inputs, out, dout)`, then `construct` is one operation, and
    bprop its rule: a tuple with one gradient for each input, in the input's shape and dtype; `out`
    and `dout` are tuples if construct returns one. Such a Cell has no parameters
    that require grad: bprop has no place for their gradients. Raises AutogradError where it has
    some.
    """

    bprop: Any = None

    def construct(self, *inputs: Any, **options: Any) -> Any:
        """What the cell computes; to be defined by each subclass."""
        raise NotImplementedError(f"{type(self).__name__} does not define construct().")

    def forward(self, *inputs: Any, **options: Any) -> Any:
        """construct(*inputs), with the cell's own derivative rule if it has one."""
        if self.bprop is None:
            return self.construct(*inputs, **options)
        if options:
            raise TypeError(
                f"{type(self).__name__}: a cell with a bprop takes its inputs by position, got"
                f" {', '.join(options)} by keyword."
            )
        learned = self.trainable_params()
        if learned and is_grad_enabled():
            raise AutogradError(
                f"{type(self).__name__} defines bprop and holds {len(learned)} parameters that"
                f" require grad (the first of shape {learned[0].shape}), but bprop returns"
                " gradients of the inputs only: theirs would be lost. Pass them to construct as"
                " inputs, or freeze them with requires_grad_(False)."
            )
        return run_with_rule(type(self).__name__, self.construct, self.bprop, inputs)

    def trainable_params(self) -> list[Tensor]:
        """The parameters that require grad (MindSpore's name)."""
        return [p for p in self.parameters() if p.node is not None]
