"""Batches: a pass over two incoming gradients, or two tangents, at once gives what two passes give.

This is what Jacobians by vmap rely on; an operation's rules, or a Function's own backward, may fail
in it, or mix the examples.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

from ... import func, functions
from ...core.tensor import Tensor
from .. import forward_ad
from ..backward import grad
from .comparison import GradcheckError, GradientCheck, host, random_like, wide


def check_batched_reverse(check: GradientCheck, places: Sequence[int]) -> None:
    """The gradients of each output, for two cotangents."""
    outputs, inputs = check.outputs(), check.tensors
    numbers = [i for i, _ in check.checked]
    for place in places:
        out = outputs[place]
        pull = functools.partial(
            grad, out, inputs, retain_graph=True, allow_unused=True, materialize_grads=True
        )
        _compare(
            check,
            random_like([out, out], 4),
            pull,
            functools.partial(pull, is_grads_batched=True),
            "incoming gradients",
            [f"the gradient of output {place} with respect to input {i}" for i in numbers],
        )


def check_batched_forward(check: GradientCheck, places: Sequence[int]) -> None:
    """The tangents of all outputs, for two tangents of each input."""
    for i, x in check.checked:

        def push(tangent: Tensor, i: int = i, x: Tensor = x) -> list[Tensor]:
            with forward_ad.dual_level():
                given = list(check.inputs)
                given[i] = forward_ad.make_dual(x, tangent)
                outputs = check.outputs(*given)
                duals = [forward_ad.unpack_dual(outputs[place]) for place in places]
            return [functions.zeros_like(p) if t is None else t for p, t in duals]

        _compare(
            check,
            random_like([x, x], 5),
            push,
            func.vmap(push),
            "tangents",
            [f"the tangent of output {place} along input {i}" for place in places],
        )


def _compare(
    check: GradientCheck,
    seeds: list[Tensor],
    one: Callable[[Tensor], Sequence[Tensor]],
    all_at_once: Callable[[Tensor], Sequence[Tensor]],
    what: str,
    names: list[str],
) -> None:
    """Raise GradcheckError unless a batch of seeds gives what the seeds give one by one."""
    singles = [one(seed) for seed in seeds]
    try:
        batched = all_at_once(functions.stack(seeds))
    except Exception as error:
        raise GradcheckError(
            f"gradcheck: a batch of {what} failed ({type(error).__name__}: {error}). Compute with"
            " operations of minigrad alone, or call gradcheck without check_batched_grad and"
            " check_batched_forward_grad."
        ) from error
    for name, got, *wanted in zip(names, batched, *singles, strict=True):
        found, expected = wide(got, got), host.concatenate([wide(w, w) for w in wanted])
        if not host.allclose(found, expected, rtol=check.rtol, atol=check.atol, equal_nan=True):
            raise GradcheckError(
                f"gradcheck: for a batch of {what} {name} is\n{found.reshape(got.shape)}\nwhere"
                f" one after the other give\n{expected.reshape(got.shape)}"
            )
