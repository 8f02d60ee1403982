"""An optimiser's update as part of a program: the arrays of its state are values that each run
reads and writes, and the numbers of the step are asked for again in each.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from .. import backend
from ..core.tensor import Tensor
from ..errors import ProgramError
from .bindings import NumberBinding, StateBinding, UpdateNumbers
from .instructions import Type
from .payload import Recorded, RunTimeNumber

if TYPE_CHECKING:
    from .recorder import Recorder


@contextmanager
def record_update(
    recorder: Recorder, optimizer: Any, param: Tensor, group: dict[str, Any]
) -> Iterator[dict[str, Any]]:
    """An optimiser's rule runs inside, with the settings that this gives: the arrays of its
    state are captured, so that each replay goes on from where the last one left, and the
    numbers of the step (`Optimizer.numbers`) are read again in each.

    Raises ProgramError if the rule itself changes numbers in the state, which would be frozen,
    or makes its state only now: then the first step differs from all later ones.
    """
    if recorder.known_optimizers is not None and id(optimizer) not in recorder.known_optimizers:
        raise ProgramError(
            f"it uses a {type(optimizer).__name__} that it makes in each call, or finds in a"
            " way that cannot be followed"
        )
    optimiser, state = type(optimizer).__name__, optimizer.state[id(param)]
    numbers = UpdateNumbers(optimizer, param, group)
    recorder.update_numbers.append(numbers)
    numbers.count()
    numbers.commit()
    settings = dict(group)
    for name, value in numbers.values.items():
        place = NumberBinding(name, numbers)
        number = recorder.value_of_type(Type((), backend.float64, number=True))
        recorder.outside[number], recorder.bindings[number] = value, place
        settings[name] = RunTimeNumber(value, number)
    counts = {name: value for name, value in state.items() if not hasattr(value, "dtype")}
    for name, value in state.items():
        if name not in counts and type(value) is not Recorded:
            state[name] = recorder.capture(StateBinding(optimizer, param, name))
            recorder.states.append((state, name, state[name]))
    known = set(state)
    with recorder.phases.named("update"):
        yield settings
    if set(state) != known:
        raise ProgramError(
            f"{optimiser} made its state ({', '.join(sorted(set(state) - known))}) while it was"
            " recorded: this is not like later steps. Take one step first, then record."
        )
    changed = [name for name, value in counts.items() if state[name] is not value]
    if changed:
        raise ProgramError(
            f"{optimiser}.rule changes the number {changed[0]!r} in its state; in a program it"
            " would be frozen. Change it in numbers(), which each run calls."
        )
