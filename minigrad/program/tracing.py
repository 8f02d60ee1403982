"""`trace`: the program of a function that runs once.

program = trace(f, x)     # f(x) ran once
program(x2)               # the same instructions on new values, without Python, engine or graph
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from ..core.tensor import Tensor, wrap
from ..grad_mode import enable_grad
from .environment import Environment
from .naming import name_of
from .passes import simplified
from .payload import Recorded
from .program import Program
from .recorded_program import gradients_of
from .recorder import Recorder
from .structure import describe, rebuild


def trace(
    function: Callable[..., Any],
    *examples: Any,
    backward: bool = False,
    simplify: bool = True,
    name: str | None = None,
) -> Program:
    """The Program of `function(*examples)`, which runs once.

    examples: tensors, nested in tuples, lists and dicts; other plain values (numbers, strings,
    None) become part of the program. Tensors that the function finds elsewhere are constants of the
    program, or captured inputs (read again in each run) if they require grad or are written to.
    backward: differentiate the result (one number) too; the program then returns `(result,
    gradients)`, a dict by the names of the inputs that require grad and of the captured leaves.
    simplify: remove dead code and repeated computations (bit-identical). name: of the program, else
    the function's.

    Raises ProgramError for what cannot be recorded: vmap inside the function, a trace within a
    trace, arguments that are no tensors.
    """
    return recorded(function, *examples, backward=backward, simplify=simplify, name=name)[0]


def recorded(
    function: Callable[..., Any],
    *examples: Any,
    backward: bool = False,
    simplify: bool = True,
    name: str | None = None,
) -> tuple[Program, Any]:
    """As `trace`, and the result of the run that was recorded: `(program, result)`. What the
    function writes is really written.
    """
    title = name_of(function) if name is None else name
    leaves: list[tuple[str, Tensor]] = []
    template = describe(tuple(examples), leaves, "")
    inputs = _named_inputs(function, leaves, len(examples))
    recorder = Recorder()
    recorder.name_tensors(function)
    outside = Environment([(title, function)]).tensors
    with recorder.recording():
        recorder.lift_constants(outside)
        tensors = [recorder.input(tensor, label) for label, tensor in inputs]
        arguments = rebuild(template, tensors)
        if backward:
            with enable_grad():
                result = function(*arguments)
                result = (
                    result,
                    gradients_of(
                        recorder,
                        result,
                        dict(zip((label for label, _ in inputs), tensors, strict=True)),
                    ),
                )
        else:
            result = function(*arguments)
        found: list[tuple[str, Tensor]] = []
        signature = (template, describe(result, found, "result"))
        program = recorder.finish([t for _, t in found], signature, title)
    concrete = [wrap(t.array.array if type(t.array) is Recorded else t.array) for _, t in found]
    return (simplified(program) if simplify else program), rebuild(signature[1], concrete)


def _named_inputs(
    function: Any, leaves: list[tuple[str, Tensor]], count: int
) -> list[tuple[str, Tensor]]:
    """Inputs by the function's own names for its arguments: "x", "batch.0"."""
    try:
        names = [
            p.name
            for p in inspect.signature(function).parameters.values()
            if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
        ]
    except (TypeError, ValueError):
        names = []
    named = []
    for path, tensor in leaves:
        first, dot, rest = path.partition(".")
        at = int(first)
        named.append(((names[at] if at < len(names) else f"x{at}") + dot + rest, tensor))
    return named
