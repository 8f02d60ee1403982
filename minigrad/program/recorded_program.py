"""The program of what a recorder has collected: which values from outside each run reads again,
which are constants, what memory and which gradients a run writes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..autograd.backward import grad as _gradients
from ..core.tensor import Leaf, Tensor
from ..errors import NoGradientError, ProgramError
from .bindings import GradientBinding, TensorBinding
from .memory import fresh
from .program import Program

if TYPE_CHECKING:
    from .recorder import Recorder


def gradients_of(recorder: Recorder, result: Any, inputs: dict[str, Tensor]) -> dict[str, Tensor]:
    """The gradients of the result by all inputs and captured leaves that require them, by
    name.
    """
    if not isinstance(result, Tensor):
        raise ProgramError(
            "trace(…, backward=True): the function must return one tensor, got"
            f" {type(result).__name__}."
        )
    wanted = {name: t for name, t in inputs.items() if isinstance(t.node, Leaf)}
    for tensor, number, _ in recorder.grads.values():  # leaves: trace has no environment
        wanted[_captured_name(recorder, number, wanted)] = tensor
    if not wanted:
        raise NoGradientError(
            "trace(…, backward=True): nothing requires grad. Say so of an example"
            " (requires_grad=True)."
        )
    found = _gradients(result, list(wanted.values()), materialize_grads=True)
    return dict(zip(wanted, found, strict=True))


def _captured_name(recorder: Recorder, number: int, taken: Any) -> str:
    if number not in recorder.names:
        place = recorder.bindings[number]
        name, count = f"{place.name}", 1
        while name in taken or name in recorder.names.values():
            count += 1
            name = f"{place.name}{count}"
        recorder.names[number] = name
    return recorder.names[number]


def program_of(
    recorder: Recorder,
    outputs: Sequence[Tensor],
    signature: Any,
    name: str,
    also: Sequence[int] = (),
) -> Program:
    """The program whose results are `outputs`, and after them the values `also`, by number."""
    for t in outputs:
        recorder.lift(t)
    results = [*[t.array.number for t in outputs], *also]
    gradients: dict[int, int | None] = {}
    _check_gradients(recorder)
    for tensor, number, before in recorder.grads.values():
        after = tensor.stored_grad
        if after is None:
            if before is not None:
                gradients[number] = None
        elif after is not before:
            recorder.lift(after)
            gradients[number] = after.array.number
    updates = {
        n: m.number
        for n, m in recorder.memories
        if m.number != n and (n in recorder.inputs or _is_written(recorder, n))
    }
    read = {n for i in recorder.instructions for n in i.reads()} | {
        *results,
        *updates.values(),
        *gradients.values(),
    }
    captured, constants = {}, {}
    for number, array in recorder.outside.items():
        place = recorder.bindings.get(number)
        if place is not None and (
            number in updates or (place.always and (number in read or number in gradients))
        ):
            _captured_name(recorder, number, ())
            captured[number] = place
        elif number in read:
            if isinstance(place, TensorBinding):
                recorder.frozen.append(place.owner)
            constants[number] = fresh(array)
            if place is not None and place.name not in ("p", "state"):
                recorder.names[number] = place.name
    decisions = [
        text if count == 1 else f"{text} ({count} times)"
        for text, count in recorder.decisions.items()
    ]
    return Program(
        recorder.inputs, constants, recorder.instructions, results, recorder.types, recorder.names,
        captured=captured,
        updates=updates, gradients=gradients, decisions=decisions, signature=signature,
        name=name,
    )  # fmt: skip


def _check_gradients(recorder: Recorder) -> None:
    """Raises ProgramError if the function has set or deleted a `.grad` that a program cannot
    set: it identifies the tensor by the captured array, which must be that tensor's alone."""
    for tensor, before in (recorder.known or {}).values():
        if tensor.stored_grad is before.stored_grad:
            continue
        number = recorder.grads[id(tensor)][1] if id(tensor) in recorder.grads else None
        place = None if number is None else recorder.bindings.get(number)
        if number not in recorder.inputs and (place is None or place.owner is not tensor):
            raise ProgramError(
                f"it sets or deletes the .grad of a tensor of shape {tuple(tensor.shape)} that"
                " is an argument, a view or a .grad, or has its memory in common with another"
                " tensor"
            )


def _is_written(recorder: Recorder, number: int) -> bool:
    """Whether what a captured value's memory holds at the end matters: a gradient's does
    while it is the leaf's gradient.
    """
    place = recorder.bindings.get(number)
    if isinstance(place, GradientBinding):
        now = place.owner.stored_grad
        return now is not None and now is recorder.grads_before.get(id(place.owner), now)
    return place is not None
