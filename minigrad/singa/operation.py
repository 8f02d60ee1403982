"""An operation of one's own in SINGA's form: a class with `forward` and `backward`, of which an
object is called with tensors.

    class Cube(Operation):
        def forward(self, x):
            self.x = x
            return x * x * x

        def backward(self, dy):        # dy = ∂L/∂y, returns ∂L/∂x
            return 3 * self.x * self.x * dy

    y = Cube()(x)[0]

What `backward` needs is kept as attributes. It is a `Function` underneath, which says more: rules
for forward mode and for second derivatives, and values that are watched for being overwritten.
Source: SINGA's documentation of `singa.autograd`.
"""

from __future__ import annotations

import copy
from typing import Any, ClassVar

from ..autograd.backward import backward
from ..autograd.function import Function, once_differentiable
from ..core.tensor import Tensor, as_tensor
from ..errors import AutogradError
from ..functions import full_like


class Operation:
    """Base class. Subclasses have forward(*xs), which gets tensors without history and returns a
    tensor or a tuple of them, and backward(*dys), which gets one cotangent per output and returns
    one gradient (or None) per input.

    Calling the object gives a tuple of results, also where there is one, as in SINGA. Each call has
    attributes of its own, so that an object may be called again before the first call's backward
    pass; the object itself shows those of the last call. There is no second
    derivative and no forward mode: NotDifferentiableError.
    """

    _function: ClassVar[type[Function]]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls._function = type(cls.__name__, (_Called,), {"__doc__": cls.__doc__})

    def __init__(self, name: str | None = None) -> None:
        self.name = type(self).__name__ if name is None else name

    def __call__(self, *xs: Any) -> tuple[Tensor, ...]:
        """The results of `forward`, recorded as one operation."""
        call, inputs = copy.copy(self), [as_tensor(x) for x in xs]
        vars(call)["requires_grad"] = any(x.requires_grad for x in inputs)
        made = self._function.apply(*inputs, call)
        vars(self).update(vars(call))
        return made if isinstance(made, tuple) else (made,)

    def forward(self, *xs: Tensor) -> Any:
        """The computation. To be overridden."""
        raise NotImplementedError(f"{type(self).__name__} must implement forward(self, *xs).")

    def backward(self, *dys: Tensor) -> Any:
        """The gradients of the inputs from those of the outputs. To be overridden."""
        raise NotImplementedError(
            f"{type(self).__name__} must implement backward(self, *dys) to be differentiated."
        )


class _Called(Function):
    """A call of an operation."""

    @staticmethod
    def forward(ctx: Any, *arguments: Any) -> Any:
        """The call gets and keeps handles of its own, without history: what it keeps does not
        keep the graph alive.
        """
        *xs, ctx.call = arguments
        inputs = [x.detach() for x in xs]
        ctx.count = len(inputs)
        made = ctx.call.forward(*inputs)

        def own(y: Any) -> Any:
            if not isinstance(y, Tensor):
                return y
            if any(y is x for x in inputs):
                return y.clone()
            return y.detach()

        return tuple(own(y) for y in made) if isinstance(made, list | tuple) else own(made)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *dys: Tensor) -> Any:
        found = ctx.call.backward(*dys)
        found = tuple(found) if isinstance(found, list | tuple) else (found,)
        if len(found) != ctx.count:
            name = type(ctx.call).__name__
            raise AutogradError(
                f"{name}.backward returned {len(found)} gradients; {name} has {ctx.count} inputs."
            )
        return (*found, None)


Operator = Operation
"""SINGA's other name for it."""


def gradients(y: Any, dy: Any = None) -> dict[int, Tensor]:
    """The gradients of y by the `id` of the tensors that they belong to: those whose `stores_grad`
    is set.

    dy: a number that scales them, or a cotangent of y's shape; 1 by default.
    """
    seed = full_like(as_tensor(y).detach(), dy) if isinstance(dy, int | float) else dy
    return {id(p): g for p, g in backward(y, seed)}
