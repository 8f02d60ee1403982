"""Bindings of captured inputs: objects with an `.array` to read before a run and to write after
it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

from ..backend import Array
from ..core.tensor import Tensor, ensure_version, write_payload
from ..errors import ProgramError
from .guards import MISSING, Guard

if TYPE_CHECKING:
    from ..optim.optimizer import Optimizer


class Binding(Protocol):
    """name: what the program calls it; array: the payload that lies there now; always: captured
    even if the program does not write it;
    owner: the tensor to which it belongs (None: to no tensor).
    """

    name: str
    always: bool

    @property
    def owner(self) -> Tensor | None: ...

    @property
    def array(self) -> Array: ...

    def write(self, values: Array) -> None: ...

    def written(self) -> None: ...


class TensorBinding:
    """A tensor's own values. A leaf (a parameter) is always captured, any other tensor only if
    the program writes to it.
    """

    def __init__(self, tensor: Tensor, name: str | None = None) -> None:
        self.tensor = tensor
        self.name = name or ("p" if tensor.node is not None else "state")
        self.always = tensor.node is not None

    @property
    def owner(self) -> Tensor:
        """The tensor to which it belongs."""
        return self.tensor

    @property
    def array(self) -> Array:
        """The tensor's payload."""
        return self.tensor.array

    def write(self, values: Array) -> None:
        """Overwrite the tensor's memory and count it."""
        write_payload(self.tensor, values)

    def written(self) -> None:
        """Count that a CUDA graph has overwritten it."""
        ensure_version(self.tensor).count += 1


class GradientBinding:
    """The `.grad` of a leaf, where the program adds to one that was there."""

    always = True

    def __init__(self, leaf: Tensor) -> None:
        self.leaf, self.name = leaf, "grad"

    @property
    def owner(self) -> Tensor:
        """The tensor to which it belongs."""
        return self.leaf

    @property
    def array(self) -> Array:
        """The payload of the leaf's gradient."""
        if self.leaf.stored_grad is None:
            raise ProgramError(
                "the program adds to the .grad of a captured leaf, which is None now. Run a"
                " backward pass first."
            )
        return self.leaf.stored_grad.array

    def write(self, values: Any) -> None:
        """Overwrite the gradient's memory, as a backward pass that adds to it does."""
        assert self.leaf.stored_grad is not None
        write_payload(self.leaf.stored_grad, values)

    def written(self) -> None:
        """Count that it was overwritten from outside."""
        assert self.leaf.stored_grad is not None
        ensure_version(self.leaf.stored_grad).count += 1


class StateBinding:
    """An array of an optimiser's state for one parameter."""

    always = True

    def __init__(self, optimizer: Optimizer, param: Tensor, name: str) -> None:
        self.optimizer, self.param, self.name = optimizer, param, name

    @property
    def owner(self) -> Tensor:
        """The tensor to which it belongs."""
        return self.param

    @property
    def state(self) -> dict[str, Any]:
        """The parameter's state as it is now."""
        return self.optimizer.state.get(id(self.param), {})

    @property
    def array(self) -> Array:
        """The array now."""
        if self.name not in self.state:
            raise ProgramError(
                f"{type(self.optimizer).__name__} has no {self.name!r} for a captured parameter"
                " now. Take one step first."
            )
        return self.state[self.name]

    def write(self, values: Array) -> None:
        """Overwrite it."""
        self.state[self.name][...] = values

    def written(self) -> None:
        """No version is counted."""


class UpdateNumbers:
    """The Python numbers of one parameter's update (`Optimizer.numbers`): computed again before
    each run, and counted once it has run.

    fixed: what the parameter's state held besides arrays when this was made and `numbers` did not
    change, which the rule may read.
    """

    def __init__(self, optimizer: Optimizer, param: Tensor, group: dict[str, Any]) -> None:
        self.optimizer, self.param, self.group = optimizer, param, group
        self.values: dict[str, float] = {}
        self.counted: dict[str, Any] = {}
        before = optimizer.state.get(id(param), {})
        plain = {name: value for name, value in before.items() if not hasattr(value, "dtype")}
        self.count()
        self.fixed = {
            name: value for name, value in plain.items() if self.counted.get(name) is value
        }

    @property
    def state(self) -> dict[str, Any]:
        """The parameter's state as it is now."""
        return self.optimizer.state.get(id(self.param), {})

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

    def guard(self) -> Guard:
        """Asks whether what is fixed is what it was."""
        names = [*self.fixed]
        labels = [f"{name!r} in a state of {type(self.optimizer).__name__}" for name in names]
        read = lambda: [self.state.get(name, MISSING) for name in names]
        return Guard(type(self.optimizer).__name__, labels, read)

    def check(self) -> None:
        """Raise ProgramError if something in the state is not what it was, and `numbers` would not
        see it."""
        if self.fixed:
            now = self.state
            for name, value in self.fixed.items():
                if name not in now or type(now[name]) is not type(value) or now[name] != value:
                    raise ProgramError(
                        f"{type(self.optimizer).__name__} has another {name!r} in the state of a"
                        " parameter than before"
                    )


class NumberBinding:
    """A Python number that each run reads again: one of an update's. In a program that was loaded
    from a file it is `value`."""

    always = True

    def __init__(self, name: str, update: UpdateNumbers | None = None, value: float = 0.0) -> None:
        self.name, self.update, self.value = name, update, value

    @property
    def owner(self) -> Tensor | None:
        """The tensor to which it belongs."""
        return None if self.update is None else self.update.param

    @property
    def array(self) -> float:
        """The number."""
        return self.value if self.update is None else self.update.values[self.name]

    def write(self, values: Any) -> None:
        """Numbers are not written by programs."""
        raise ProgramError(f"{self.name} is a Python number, which a program only reads.")

    def written(self) -> None:
        """It is never written."""


def leaf_at(what: Tensor | int, inputs: Sequence[Tensor]) -> Any:
    """A leaf: from outside the call, or input number `what`."""
    return inputs[what] if type(what) is int else what
