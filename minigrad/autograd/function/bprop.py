"""A function with a rule in MindSpore's form: `bprop(x, …, out, dout)` gives one gradient for each
input.

Such a pullback serves forward mode too: the rule is linear in `dout`, so its own transpose is the
pushforward (the "double-backward trick", here for one operation).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from ...backend import is_differentiable
from ...core.tensor import Tensor
from ...errors import AutogradError, DTypeError, NotDifferentiableError, ShapeError
from ...func.gradients import fresh, pulled
from ...functions import zeros_like
from ...grad_mode import enable_grad
from .function import Function


class _OwnRule(Function):
    """apply(compute, rule, *inputs). The context holds the rule, the inputs that are no tensors,
    and saves the others and the outputs.
    """

    @staticmethod
    def forward(
        ctx: Any, compute: Callable[..., Any], rule: Callable[..., Any], *inputs: Any
    ) -> Any:
        """The computation, as one operation."""
        out = compute(*inputs)
        outs = out if isinstance(out, tuple) else (out,)
        for i, o in enumerate(outs):
            if not isinstance(o, Tensor):
                raise TypeError(
                    f"{ctx._name}: an operation with a bprop returns tensors (or a tuple of them);"
                    f" result {i} is {type(o).__name__}."
                )
        ctx.rule, ctx.several = rule, isinstance(out, tuple)
        ctx.inputs = tuple(None if isinstance(x, Tensor) else x for x in inputs)
        ctx.is_tensor = tuple(isinstance(x, Tensor) for x in inputs)
        ctx.save_for_backward(*(x for x in inputs if isinstance(x, Tensor)), *outs)
        return out

    @staticmethod
    def backward(ctx: Any, *dout: Any) -> Any:
        """The user's rule, its results checked."""
        inputs, out = _saved(ctx)
        grads = _checked(
            ctx._name,
            ctx.rule(*inputs, out, dout if ctx.several else dout[0]),
            inputs,
            ctx.needs_input_grad[2:],
        )
        return (None, None, *grads)

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> Any:
        """J·t as the transpose of the rule: differentiate ⟨rule(v), t⟩ by v. The value of v does
        not matter: the rule is linear in it.
        """
        inputs, out = _saved(ctx)
        seeds = [
            fresh(zeros_like(o), f"{ctx._name}: a result") for o in (out if ctx.several else (out,))
        ]
        wanted = [isinstance(x, Tensor) and is_differentiable(x.dtype) for x in inputs]
        with enable_grad():
            grads = _checked(
                ctx._name,
                ctx.rule(*inputs, out, tuple(seeds) if ctx.several else seeds[0]),
                inputs,
                wanted,
            )
        pairs = [(g, t) for g, t in zip(grads, tangents[2:], strict=True) if g is not None]
        pushed = pulled([g for g, _ in pairs], [t for _, t in pairs], seeds)
        return tuple(pushed) if ctx.several else pushed[0]


def _saved(ctx: Any) -> tuple[list[Any], Any]:
    """The inputs in their order, and the output or the tuple of outputs."""
    saved = iter(ctx.saved_tensors)
    inputs = [
        next(saved) if tensor else other
        for tensor, other in zip(ctx.is_tensor, ctx.inputs, strict=True)
    ]
    outs = tuple(saved)
    return inputs, outs if ctx.several else outs[0]


def _checked(
    name: str, grads: Any, inputs: Sequence[Any], wanted: Sequence[bool]
) -> list[Tensor | None]:
    """One gradient for each input; what the rule gave for inputs that need none (numbers,
    integers) is not looked at.
    """
    if not isinstance(grads, tuple):
        raise AutogradError(
            f"the bprop of {name} returned {type(grads).__name__}; it must return a tuple with one"
            " gradient for each input, as in `return (dx,)`."
        )
    if len(grads) != len(inputs):
        raise AutogradError(
            f"the bprop of {name} returned {len(grads)} gradients for {len(inputs)} inputs; it must"
            " return one for each."
        )
    checked: list[Tensor | None] = []
    for i, (g, x, needed) in enumerate(zip(grads, inputs, wanted, strict=True)):
        if not needed:
            checked.append(None)
            continue
        if not isinstance(g, Tensor):
            raise NotDifferentiableError(
                f"the bprop of {name} returned {type(g).__name__} for input {i}, whose gradient is"
                f" wanted; it must be a Tensor of shape {x.shape} (zeros_like(x) where the input"
                " has no influence)."
            )
        if g.shape != x.shape:
            raise ShapeError(
                f"the bprop of {name} returned a gradient of shape {g.shape} for input {i} of shape"
                f" {x.shape}; they must be equal. Sum over the axes along which the input was"
                " broadcast."
            )
        if g.dtype != x.dtype:
            raise DTypeError(
                f"the bprop of {name} returned a gradient of dtype {g.dtype} for input {i} of dtype"
                f" {x.dtype}; they must be equal. Convert it: dx.to(x.dtype)."
            )
        checked.append(g)
    return checked


@functools.cache
def _named(name: str) -> type[Function]:
    """The Function under the name that the graph, the Trace and the error messages show."""
    return type(
        name,
        (_OwnRule,),
        {"__doc__": f"{name}, an operation whose rule was given as bprop(inputs, out, dout)."},
    )


def run_with_rule(
    name: str, compute: Callable[..., Any], rule: Callable[..., Any], args: tuple[Any, ...]
) -> Any:
    """compute(*args) as one operation called `name`, whose derivative is rule(*args, out, dout): a
    tuple of one gradient for each input.

    compute: tensors (and other values) to a tensor or a tuple of tensors; nothing inside it is
    recorded. rule: gets the inputs, the output (a tuple if there are several) and the cotangent of
    its shape and dtype. Works in reverse and forward mode, and to any order if the rule is written
    in tensor operations. Raises, when differentiated, AutogradError for a wrong number of
    gradients, ShapeError and DTypeError for gradients that do not fit their inputs.
    """
    return _named(name).apply(compute, rule, *args)
