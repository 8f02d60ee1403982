"""Reverse mode: the same gradients twice, in the right dtypes, equal to the numerical ones, linear
in the cotangent, and right where an output was not used.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from ... import backend
from ...backend import DType
from ...core import primitive
from ...core.graph import OpNode
from ...core.observe import Event
from ...core.tensor import Tensor, current_node, wrap
from ...errors import DTypeError
from ...observers import observing
from ..backward import grad
from ..function.node import strictness
from .comparison import (
    GradcheckError,
    GradientCheck,
    compare,
    host,
    label,
    pull,
    random_like,
    real_product,
    seeded,
    unit,
    units,
    wide,
    wide_dtype,
)
from .numerical import central_differences, gradient_of, projections_agree


def pulled_rows(
    inputs: Sequence[Tensor], outputs: Sequence[Tensor], chosen: int, v: complex
) -> list[Any]:
    """For each input the matrix whose rows are the gradients that reverse mode gives for
    cotangent v at each element of the output.
    """
    out = outputs[chosen]
    rows: list[list[Any]] = [[] for _ in inputs]
    for row in range(out.numel()):
        grads = pull(outputs, inputs, seeded(outputs, chosen, unit(out, row, v)))
        for x, g, collected in zip(inputs, grads, rows, strict=True):
            if g is not None and g.dtype != x.dtype:
                raise GradcheckError(
                    f"gradcheck: a gradient has dtype {g.dtype}, but its input has dtype {x.dtype}."
                )
            collected.append(wide(g, x))
    return [
        host.array(r, wide_dtype(x)).reshape(out.numel(), x.numel())
        for r, x in zip(rows, inputs, strict=True)
    ]


def check_reverse(check: GradientCheck, places: Sequence[int], fast: bool, dtypes: bool) -> None:
    """Reverse mode: the same twice, in the right dtypes, and equal to the numerical derivative."""
    outputs = check.outputs()
    inputs = check.tensors
    differentiable = [outputs[p] for p in places]
    if dtypes:
        _check_dtypes(inputs, differentiable)
    if fast and _projections_agree(check, outputs, places, inputs):
        return
    analytical = {}
    for chosen, place in enumerate(places):
        for v in units(outputs[place]):
            first, second = (pulled_rows(inputs, differentiable, chosen, v) for _ in range(2))
            for (i, _), a, b in zip(check.checked, first, second, strict=True):
                _check_reentrant(check, a, b, place, i)
                analytical[place, i, v] = a
    for i, x in check.checked:
        numerical = central_differences(check, x, outputs)
        for place in places:
            for v in units(outputs[place]):
                expected, how = gradient_of(numerical[place], v), f"for cotangent {label(v)}"
                compare(check, expected, analytical[place, i, v], place, i, outputs[place], how)


def _check_reentrant(check: GradientCheck, a: Any, b: Any, place: int, i: int) -> None:
    difference = host.abs(a - b)
    same = (a == b) | ((a != a) & (b != b)) | (difference <= check.nondet_tol)
    if not same.all():
        raise GradcheckError(
            "Backward is not reentrant: running it twice with the same input and grad_output gives"
            f" different gradients of output {place} with respect to input {i} (they differ by up"
            f" to {float(host.nanmax(difference)):.3g}; the tolerance nondet_tol is"
            f" {check.nondet_tol}). Look for randomness or for state that a backward changes."
        )


def _projections_agree(
    check: GradientCheck, outputs: Sequence[Tensor], places: Sequence[int], inputs: Sequence[Tensor]
) -> bool:
    """Whether reverse mode gives the products Re(ūᵀ J v) of finite differences, and the same ones
    twice."""
    us = random_like([outputs[place] for place in places], 2)
    gradients = []
    for place, u in zip(places, us, strict=True):
        first, second = (pull(outputs[place], inputs, u) for _ in range(2))
        gradients.append([wide(g, x) for g, x in zip(first, inputs, strict=True)])
        for (i, x), a, again in zip(check.checked, gradients[-1], second, strict=True):
            _check_reentrant(check, a, wide(again, x), place, i)

    def products(k: int, v: Tensor) -> list[float]:
        return [real_product(of_each[k], wide(v, v)) for of_each in gradients]

    return projections_agree(check, places, us, products)


class _DTypeWatch:
    """An observer that notes where the engine had to cast what a backward rule returned."""

    def __init__(self) -> None:
        self.casts: list[Event] = []
        self.found: list[str] = []

    def begin(self, event: Event) -> None:
        """Nothing to do."""

    def end(self, event: Event) -> None:
        """A cast within a pull is the engine's if its result is what the pull gave."""
        cast = primitive.registry["cast"]
        if (
            event.phase == "forward"
            and event.primitive is cast
            and event.parent is not None
            and event.parent.phase == "backward"
        ):
            self.casts.append(event)
        elif (
            event.phase == "backward"
            and isinstance(event.node, OpNode)
            and event.primitive is not cast
            and event.result is not None
        ):
            for made in self.casts:
                given, wanted = made.args[0].dtype, made.params["dtype"]
                if (
                    made.parent is event
                    and any(c is made.result for _, c in event.result)
                    and not _is_real_part(given, wanted)
                ):
                    self.found.append(
                        f"the backward rule of {event.primitive.name} returned {given} where its"
                        f" input is {wanted}"
                    )
            self.casts = [made for made in self.casts if made.parent is not event]


def _is_real_part(given: DType, wanted: DType) -> bool:
    """A real gradient of a complex input is one whose imaginary part is zero: nothing is lost."""
    return (
        backend.is_complex(wanted)
        and backend.is_floating(given)
        and 2 * given.itemsize == wanted.itemsize
    )


def _check_dtypes(inputs: Sequence[Tensor], outputs: Sequence[Tensor]) -> None:
    watch = _DTypeWatch()
    strictness.dtypes = True
    try:
        with observing(watch):
            for i, out in enumerate(outputs):
                pull(outputs, inputs, seeded(outputs, i, unit(out, 0, 1) if out.numel() else out))
    except DTypeError as error:
        raise GradcheckError(f"gradcheck: a gradient has the wrong dtype: {error}") from error
    finally:
        strictness.dtypes = False
    if watch.found:
        raise GradcheckError(f"gradcheck: a gradient has the wrong dtype: {watch.found[0]}.")


def check_zero_cotangents(check: GradientCheck, places: Sequence[int]) -> None:
    """A gradient is linear in the incoming one, so it is zero where that is zero."""
    outputs = [o for k, o in enumerate(check.outputs()) if k in places]
    zero = [wrap(backend.zeros(o.shape, o.dtype, o.array)) for o in outputs]
    grads = pull(outputs, check.tensors, zero)
    for (i, x), g in zip(check.checked, grads, strict=True):
        if g is not None and host.nan_to_num(wide(g, x)).any():
            raise GradcheckError(
                f"backward not multiplied by grad_output: the gradient of input {i} is not zero"
                f" where all incoming gradients are:\n{wide(g, x).reshape(x.shape)}"
            )


def check_undefined(check: GradientCheck, places: Sequence[int]) -> None:
    """An output that was not used must count as one with a zero gradient."""
    if len(places) < 2:
        return
    outputs = [o for k, o in enumerate(check.outputs()) if k in places]
    inputs = check.tensors
    seeds = random_like(outputs, 3)
    for chosen, (place, out, v) in enumerate(zip(places, outputs, seeds, strict=True)):
        expected = pull(outputs, inputs, seeded(outputs, chosen, v))
        try:
            alone = pull(out, inputs, v)
        except Exception as error:
            raise GradcheckError(
                f"backward failed where only output {place} was used ({type(error).__name__}:"
                f" {error}). A Function that calls ctx.set_materialize_grads(False) gets None for"
                " the incoming gradients of unused outputs and must treat them as zeros."
            ) from error
        for (i, x), a, b in zip(check.checked, alone, expected, strict=True):
            got, wanted = wide(a, x), wide(b, x)
            if not host.allclose(got, wanted, rtol=check.rtol, atol=check.atol, equal_nan=True):
                raise GradcheckError(
                    "undefined incoming gradients are not treated as zeros: the gradient of input"
                    f" {i} is\n{got.reshape(x.shape)}\nwhere only output {place} was used,"
                    f" but\n{wanted.reshape(x.shape)}\nwhere the other outputs got zeros."
                )


def pulled_backward(check: GradientCheck) -> Callable[..., tuple[Tensor, ...]]:
    """(inputs, cotangents) ↦ vector-Jacobian products."""
    count = len(check.inputs)

    def pulled(*arguments: Any) -> tuple[Tensor, ...]:
        at = replace(check, inputs=arguments[:count])
        outs = [o for o in at.outputs() if current_node(o) is not None]
        grads = grad(outs, at.tensors, arguments[count:], create_graph=True, allow_unused=True)
        return tuple(g for g in grads if g is not None)

    return pulled
