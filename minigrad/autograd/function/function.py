"""Your own differentiable operations: a `Function` says how to compute a result, and how a
cotangent (or a tangent) passes through it.

    class Exp(Function):
        @staticmethod
        def forward(ctx, x):
            y = x.exp()
            ctx.save_for_backward(y)
            return y

        @staticmethod
        def backward(ctx, g):          # g = ∂L/∂y, returns ∂L/∂x
            (y,) = ctx.saved_tensors
            return g * y

    y = Exp.apply(x)

A Function declares what the engine cannot guess: which values the rule saves (and that they were
not overwritten since), which arguments were overwritten, which results have no derivative. The
engine treats the whole of `forward` as one operation: nothing inside it is recorded, and one node
stands for it in the graph. `backward` runs on tensors, recorded exactly if `create_graph` was asked
for, so a Function differentiates as often as its `backward` does.

Ownership: the node owns the ctx, the ctx owns the saved arrays and the places of saved *inputs*; a
saved *output* is kept as an array and a number. Nothing points from a node to a tensor or to
itself, so memory returns by reference counting alone.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ...backend import is_differentiable
from ...core import observe
from ...core.graph import state
from ...core.tensor import Tensor, current_node, wrap
from ...errors import AutogradError, NotDifferentiableError
from ...grad_mode import no_grad
from .context import FunctionCtx
from .forward import bound, run
from .node import FunctionDeclaration, SecondTimeNode
from .vmap import is_batched, joined, run_rule


class Function:
    """Base class of operations with derivative rules of your own. Subclasses have static methods,
    and are called by `MyFunction.apply(...)`.

    forward(ctx, *args): the computation, on tensors that record nothing; or forward(*args) together
    with setup_context(ctx, inputs, output). backward(ctx, *grad_outputs) (or vjp): one cotangent
    per output to one gradient (or None) per argument. jvp(ctx, *tangents): one tangent per argument
    (None for arguments that are not tensors) to one tangent per output, for forward mode. Arguments
    and outputs that are not tensors pass through; only a tuple counts as several outputs. An
    argument returned as it is comes out as a view of it.
    Source of the interface: PyTorch's torch.autograd.Function.
    """

    _declaration = FunctionDeclaration("Function", None)

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls._declaration = FunctionDeclaration(cls.__name__, cls.__doc__)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise TypeError(
            f"{type(self).__name__} is not instantiated: its methods are static. Call"
            f" {type(self).__name__}.apply(...)."
        )

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """The computation. To be overridden."""
        raise NotImplementedError(
            "a Function must implement the static method forward(ctx, *args), or forward(*args) and"
            " setup_context(ctx, inputs, output)."
        )

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        """With it, forward takes no ctx, and this method saves what the rules need from
        forward's arguments and result.
        """
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        """The vector-Jacobian product. To be overridden for reverse mode."""
        raise NotImplementedError(
            "to use this Function in reverse mode, implement its static method backward(ctx,"
            " *grad_outputs) (or vjp)."
        )

    vjp = backward
    """Another name for `backward`; implement one of them."""

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> Any:
        """The Jacobian-vector product. To be overridden for forward mode."""
        raise NotImplementedError(
            "to use this Function in forward mode, implement its static method jvp(ctx, *tangents)."
        )

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], *args: Any) -> Any:
        """The rule for a whole batch at once, inside `func.vmap`; only needed where forward leaves
        the tensors.

        Returns (output, out_dims).
        """
        raise NotImplementedError(
            "vmap is not implemented; the Function's forward runs on batched tensors."
        )

    @classmethod
    def _backward_rule(cls) -> Callable[..., Any]:
        if cls.vjp is Function.vjp:
            if cls.backward is Function.backward:
                raise NotDifferentiableError(
                    f"{cls.__name__} has no rule for reverse mode. Implement the static method"
                    f" {cls.__name__}.backward(ctx, *grad_outputs)."
                )
            return cls.backward
        if cls.backward is not Function.backward:
            raise AutogradError(
                f"{cls.__name__} has both backward and vjp, which are two names of one rule. Keep"
                " one."
            )
        return cls.vjp

    @classmethod
    def _forward_rule(cls) -> Callable[..., Any]:
        if cls.jvp is Function.jvp:
            raise NotDifferentiableError(
                f"{cls.__name__} was called with a tangent, but has no rule for forward mode."
                f" Implement the static method {cls.__name__}.jvp(ctx, *tangents), which returns"
                " one tangent per output."
            )
        return cls.jvp

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Run the Function and record it as one operation. Keyword arguments are put in their
        place by forward's signature.
        """
        split = cls.setup_context is not Function.setup_context
        if kwargs or split:
            args, kwargs = bound(cls, args, kwargs, split)
        if state.batches and is_batched(args):
            if cls.vmap is not Function.vmap:
                return run_rule(cls, args)
            args = joined(args)
        if observe.observers:
            return observe.run_observed(
                "forward", cls._declaration, args, kwargs, lambda: run(cls, args, kwargs, split)
            )
        return run(cls, args, kwargs, split)


def once_differentiable(backward: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate a `backward` that cannot itself be differentiated (it computes with NumPy, say): a
    second derivative through it is an error.

    Put it under `@staticmethod`. PyTorch notices only incoming gradients that require grad; here
    every use of the result in a higher derivative is noticed.
    """

    @functools.wraps(backward)
    def once(ctx: FunctionCtx, *grad_outputs: Any) -> Any:
        node = ctx._node()
        carried = [g.tangents for g in grad_outputs if isinstance(g, Tensor)] + list(
            (node.saved_tangents if node is not None else None) or ()
        )
        if any(k in state.levels for tangents in carried if tangents for k in tangents):
            raise NotDifferentiableError(
                f"forward mode cannot pass through {ctx._name}.backward, which was marked with"
                " @once_differentiable."
            )
        with no_grad():
            results = backward(ctx, *grad_outputs)
        if not state.recording:
            return results
        places = tuple(current_node(g) for g in grad_outputs if isinstance(g, Tensor)) + (
            () if node is None else node.parents
        )
        guard: Callable[[Any], Any] = lambda r: (
            wrap(r.array, SecondTimeNode(ctx._name, places, r))
            if isinstance(r, Tensor) and is_differentiable(r.dtype)
            else r
        )
        return tuple(guard(r) for r in results) if isinstance(results, tuple) else guard(results)

    return once
