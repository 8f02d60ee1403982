"""All that a replay takes for granted, asked in one straight-line function.

Before each replay a compiled function makes sure that Python would do the same again (guards.py)
and that the arrays that it reads are of the recorded types, lie in memory as they did, and share
none of it (run.py). Those modules say what has changed, in words. In nearly all calls nothing has.
This module writes the same questions as one expression, in which each is a comparison of
identities, and the reading of the arrays as one line each. What one question implies is not asked a
second time: shape, dtype and strides of an argument are part of the key by which the program was
found.

    def ready(tensors):
        try:
            if not (k1.__code__ is k2 and k3.cell_contents is k4 and ...):
                return None
            a1 = k9.array
            if not (a1 is k10 and a1.shape == k11 and ...):
                return None
            ...

The function gives the values that the program starts from. It gives None where an answer is no, and
where a question cannot be asked; then the long way decides.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ..core.tensor import Tensor
from .bindings import Binding, GradientBinding, StateBinding, TensorBinding
from .guards import MISSING, array_text
from .memory import overlap_key

if TYPE_CHECKING:
    from .environment import Environment
    from .run import Replayer

Ready = Callable[[Sequence[Tensor]], list[Any] | None]
"""The values of a program's inputs and captured arrays, by number; None if something changed."""


class ObjectNames:
    """Names for the objects that generated code reads."""

    def __init__(self) -> None:
        self.space: dict[str, Any] = {"MISSING": MISSING, "overlap_key": overlap_key}
        self._known: dict[int, str] = {}

    def __call__(self, thing: Any) -> str:
        if thing is None or thing is True or thing is False:
            return repr(thing)
        name = self._known.get(id(thing))
        if name is None:
            name = self._known[id(thing)] = f"k{len(self._known)}"
            self.space[name] = thing
        return name


def ready_code(
    environment: Environment, outside: set[int], runner: Replayer, payloads: Sequence[Any]
) -> Ready | None:
    """The function, for what is found now; None where an array's owner is unknown. To be called
    when a replay was found to be right by the long way, with `payloads` as inputs.

    outside: identities of the tensors that no argument may be.
    """
    if runner.alone and payloads and 0 in runner.apart[1]:
        return None
    named = ObjectNames()
    gradients = environment.reads_gradients
    guards = [guard.text(named) for guard in environment.guards]
    # a leaf's array is asked about where the program reads it
    leaves = [leaf.text(named, gradients) for leaf in environment.leaves]
    arrays: list[str] = []
    for number, place in runner.places:
        arrays += _array_lines(named, number, place, runner)
    body = [
        *_refused([*guards, *leaves]),
        *arrays,
        *_inputs(named, outside, runner, payloads),
        f"v = [None] * {len(runner.program.types)}",
        *[f"v[{n}] = a{n}" for n in (*runner.program.inputs, *(n for n, _ in runner.places))],
        "return v",
    ]
    lines = ["def ready(tensors):", "    try:", *(f"        {line}" for line in body)]
    lines += ["    except Exception:", "        return None"]
    exec(compile("\n".join(lines), f"<what {runner.program.name} finds>", "exec"), named.space)
    ready: Ready = named.space.pop("ready")
    return ready


def _refused(tests: Sequence[str]) -> list[str]:
    tests = [test for test in dict.fromkeys(tests) if test != "True"]
    return [f"if not ({' and '.join(tests)}):", "    return None"] if tests else []


def _array_lines(named: ObjectNames, number: int, place: Binding, runner: Replayer) -> list[str]:
    """Read a captured array, and ask whether it is what it was."""
    array = place.array
    if isinstance(place, TensorBinding):
        where = f"{named(place.tensor)}.array"
    elif isinstance(place, GradientBinding):
        where = f"{named(place.owner)}.stored_grad.array"
    elif isinstance(place, StateBinding):
        where = f"{named(place.optimizer)}.state[{named(id(place.owner))}][{place.name!r}]"
    else:
        where = f"{named(place)}.array"
    tests = [f"type(a{number}) is {named(type(array))}"]
    if runner.alone:  # arrays that shared no memory do not begin to
        tests = [f"a{number} is {named(array)}"]
    tests.append(array_text(named, f"a{number}", array.shape, array.dtype, array.strides))
    return [f"a{number} = {where}", *_refused(tests)]


def _inputs(
    named: ObjectNames, outside: set[int], runner: Replayer, payloads: Sequence[Any]
) -> list[str]:
    """Read the inputs, whose types the program's key has, and ask whether they share memory."""
    numbers = runner.program.inputs
    lines = [f"a{n} = tensors[{i}].array" for i, n in enumerate(numbers)]
    if numbers:
        lines += _refused([f"{named(outside)}.isdisjoint(map(id, tensors))"])
    if not (runner.alone and numbers):
        return lines
    keys = [f"id(a{n}) if a{n}.base is None else overlap_key(a{n})" for n in numbers]
    owners = named(runner.apart[1] | {0})
    lines.append(f"keys = {{{', '.join(keys)}}}")
    return [*lines, *_refused([f"len(keys) == {len(payloads)}", f"{owners}.isdisjoint(keys)"])]
