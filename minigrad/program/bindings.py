"""Bindings of captured inputs: objects with an `.array` to read before a run and to write after
it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..backend import Array
from ..core.tensor import Tensor, ensure_version, write_payload
from ..errors import ProgramError
from .guards import MISSING, Guard

if TYPE_CHECKING:
    from ..optim.optimizer import Optimizer


class Binding:
    """Where the array of a captured input lies.

    name: what the program calls it; owner: the tensor to which it belongs (None: to no tensor);
    always: captured even if the program does not write it.
    """

    name: str
    owner: Tensor | None
    always = True

    @property
    def tensor(self) -> Tensor | None:
        """The tensor whose memory it is; None for other memory."""
        return None

    @property
    def array(self) -> Any:
        """What lies there now."""
        assert self.tensor is not None
        return self.tensor.array

    def write(self, values: Array) -> None:
        """Overwrite it, and count that."""
        assert self.tensor is not None
        write_payload(self.tensor, values)

    def written(self) -> None:
        """Count that a CUDA graph has overwritten it."""
        if self.tensor is not None:
            ensure_version(self.tensor).count += 1


class TensorBinding(Binding):
    """A tensor's own values. A leaf (a parameter) is always captured, any other tensor only if
    the program writes to it.
    """

    def __init__(self, tensor: Tensor, name: str | None = None) -> None:
        self.owner: Tensor = tensor
        self.name = name or ("p" if tensor.node is not None else "state")
        self.always = tensor.node is not None

    @property
    def tensor(self) -> Tensor:
        return self.owner


class GradientBinding(Binding):
    """The `.grad` of a leaf, where the program adds to one that was there."""

    def __init__(self, leaf: Tensor) -> None:
        self.owner: Tensor = leaf
        self.name = "grad"

    @property
    def tensor(self) -> Tensor:
        if self.owner.stored_grad is None:
            raise ProgramError(
                "the program adds to the .grad of a captured leaf, which is None now. Run a"
                " backward pass first."
            )
        return self.owner.stored_grad


class StateBinding(Binding):
    """An array of an optimiser's state for one parameter."""

    def __init__(self, optimizer: Optimizer, param: Tensor, name: str) -> None:
        self.optimizer, self.owner, self.name = optimizer, param, name

    @property
    def array(self) -> Any:
        state = self.optimizer.state.get(id(self.owner), {})
        if self.name not in state:
            raise ProgramError(
                f"{type(self.optimizer).__name__} has no {self.name!r} for a captured parameter"
                " now. Take one step first."
            )
        return state[self.name]

    def write(self, values: Array) -> None:
        self.array[...] = values


class UpdateNumbers:
    """The Python numbers of one parameter's update (`Optimizer.numbers`): computed again before
    each run, and counted once it has run.

    fixed: asks whether what the parameter's state held besides arrays, and `numbers` did not
    change, is what it was: the rule may read it. None where there is no such thing.
    """

    def __init__(self, optimizer: Optimizer, param: Tensor, group: dict[str, Any]) -> None:
        self.optimizer, self.param, self.group = optimizer, param, group
        self.values: dict[str, float] = {}
        self.counted: dict[str, Any] = {}
        self.fixed: Guard | None = None
        state: Any = lambda: optimizer.state.get(id(param), {})
        plain = {name: value for name, value in state().items() if not hasattr(value, "dtype")}
        self.count()
        names = [name for name, value in plain.items() if self.counted.get(name) is value]
        if names:
            kind = type(optimizer).__name__
            labels = [f"{name!r} in a state of {kind}" for name in names]
            self.fixed = Guard(kind, labels, lambda: [state().get(n, MISSING) for n in names])

    def count(self, counted: dict[Any, dict[str, Any]] | None = None) -> None:
        """The numbers of the next step. counted: the states after earlier steps of the same run,
        which this one adds to."""
        key = (id(self.optimizer), id(self.param))
        now = None if counted is None else counted.get(key)
        if now is None:
            state = self.optimizer.state.get(key[1])
            now = {} if state is None else dict(state)
            if counted is not None:
                counted[key] = now
        self.counted, self.values = now, self.optimizer.numbers(now, self.group)

    def commit(self) -> None:
        """The step is made."""
        if self.counted:
            self.optimizer.state.setdefault(id(self.param), {}).update(self.counted)


class NumberBinding(Binding):
    """A Python number that each run reads again: one of an update's. In a program that was loaded
    from a file it is `value`."""

    def __init__(self, name: str, update: UpdateNumbers | None = None, value: float = 0.0) -> None:
        self.name, self.update, self.value = name, update, value
        self.owner = None if update is None else update.param

    @property
    def array(self) -> float:
        return self.value if self.update is None else self.update.values[self.name]

    def write(self, values: Array) -> None:
        raise ProgramError(f"{self.name} is a Python number, which a program only reads.")


def leaf_at(what: Tensor | int, inputs: Sequence[Tensor]) -> Any:
    """A leaf: from outside the call, or input number `what`."""
    return inputs[what] if type(what) is int else what
