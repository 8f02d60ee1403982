"""The state that a call finds, kept on copies, so that the call can be run a second time without a
trace.

    before = Snapshot(tensors, arguments, optimizers)
    result = function(*args)                    # the call itself
    before.run(recorder, lambda: …)             # what happens in here starts from the same state,
    and changes copies only

Inside `run` each tensor has the array, the version counter, the view and the `.grad` that it had,
all of them copies, and each optimiser its state. Memory that the program owns is not written at
all, so there is nothing to undo but references: they are put back whatever ends the second run, an
interrupt at any line included.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from .. import autograd, backend, functions
from ..backend import is_immutable
from ..core import observe
from ..core.graph import Version, state
from ..core.tensor import Leaf, Tensor
from ..core.views import View
from ..observers import calls
from ..ops import random
from ..optim.optimizer import Optimizer
from .guards import has_hooks
from .memory import fresh, overlapping

TOLERANCE = 1e-3
"""Share of the largest element by which two runs of a call may differ; memory in another place can
change last digits."""


SLOTS = ("array", "node", "tangents", "version", "view_of", "stored_grad")
"""The slots of a tensor that a call can change."""


class _TensorSlots:
    """What a tensor's slots hold, those of its leaf, and the counts of its version counter and its
    view."""

    array: Any
    node: Any
    tangents: Any
    version: Any
    view_of: Any
    stored_grad: Any

    def __init__(self, tensor: Tensor) -> None:
        for name in SLOTS:
            setattr(self, name, getattr(tensor, name))
        self.count = tensor._version
        self.derived_at = None if self.view_of is None else self.view_of.derived_at
        if isinstance(self.node, Leaf):
            self.leaf_array, self.leaf_version = self.node.array, self.node.version

    def put(self, tensor: Tensor) -> None:
        """Give the tensor these slots."""
        for name in SLOTS:
            setattr(tensor, name, getattr(self, name))
        if isinstance(self.node, Leaf):
            self.node.array, self.node.version = self.leaf_array, self.leaf_version


class Snapshot:
    """Tensors, optimisers' states and random numbers as they are now.

    tensors: those that the function can find outside; arguments: those that it is given, which are
    inputs of a program and stand alone.
    problem: why the call cannot be run again on copies, or None; shared: whether an argument shares
    memory with another tensor; identical: whether one is itself a tensor outside, or a gradient.
    """

    def __init__(
        self,
        tensors: Iterable[Tensor],
        arguments: Iterable[Tensor],
        optimizers: Iterable[Optimizer],
    ) -> None:
        self.random, self.settings = functions.random_state(), _settings()
        self.problem: str | None = None
        self.tensors: dict[int, tuple[Tensor, _TensorSlots]] = {}
        self._copies: dict[int, Any] = {}  # id(array) -> its copy
        self._alone = {id(t) for t in arguments}
        self.made_leaves: set[int] = set()  # identities of arguments of which the call made leaves
        outside = list(tensors)
        gradients = [t.stored_grad for t in outside if t.stored_grad is not None]
        self.identical = any(id(t) in self._alone for t in (*outside, *gradients))
        self.shared = self.identical
        for tensor in outside:
            self._add(tensor)
        owners = self._owners()
        for tensor in arguments:
            self._add(tensor)
        self.shared |= overlapping(
            [s.array for t, s in self.tensors.values() if id(t) in self._alone], owners
        )
        self.states = [
            (
                o,
                {
                    key: {name: _copied(v) for name, v in entries.items()}
                    for key, entries in o.state.items()
                },
            )
            for o in optimizers
        ]
        self._entries = [(o.state, dict(o.state)) for o, _ in self.states]

    def _add(self, tensor: Tensor) -> None:
        if id(tensor) in self.tensors:
            return
        slots = _TensorSlots(tensor)
        self.tensors[id(tensor)] = tensor, slots
        if slots.view_of is not None and id(tensor) not in self._alone:
            self._add(slots.view_of.base)
        elif id(slots.array) not in self._copies:
            self._copies[id(slots.array)] = fresh(slots.array)
        if slots.stored_grad is not None:
            self._add(slots.stored_grad)

    def _owners(self) -> list[Any]:
        """The arrays of all tensors outside that are no known views; `problem` says if two of
        them share memory unknown to the engine."""
        arrays = {
            id(s.array): (t, s.array)
            for t, s in self.tensors.values()
            if s.view_of is None and not is_immutable(s.array)
        }
        found = [a for _, a in arrays.values()]
        if overlapping(found):
            self.problem = (
                "two tensors that it finds outside share one piece of memory that was not made by a"
                " view operation: use one tensor and its views"
            )
        return found

    # -------------------------------------------------------------------------- what a call changed

    def change(self) -> str | None:
        """What the call that has just run has changed besides values, in words: no program does
        that. None if nothing."""
        for tensor, old in self.tensors.values():
            what = f"a tensor of shape {tuple(old.array.shape)}"
            if self._is_made_leaf(tensor, old):
                self.made_leaves.add(id(tensor))
            elif tensor.node is not old.node or tensor.tangents is not old.tangents:
                return (
                    f"it gives {what} another graph (an in-place change that gradients go through,"
                    " or requires_grad_)"
                )
            if tensor.array is not old.array and not (
                is_immutable(old.array) and tensor.array.shape == old.array.shape
            ):
                return f"it gives {what} other memory"
            if tensor.view_of is not old.view_of or (
                tensor.version is not old.version and old.version is not None
            ):
                return f"it makes {what} a view of another tensor"
            gradient = tensor.stored_grad
            if (
                gradient is not None
                and gradient is not old.stored_grad
                and (gradient.node is not None or gradient.tangents is not None)
            ):
                return "it leaves a gradient that is itself part of a graph"
        if _settings() != self.settings:
            return "it leaves gradients switched on or off, or another default dtype"
        for (optimizer, states), (whole, entries) in zip(self.states, self._entries, strict=True):
            now = optimizer.state
            if now is not whole or any(
                now.get(key, own) is not own for key, own in entries.items()
            ):
                return f"it loads or replaces the state of its {type(optimizer).__name__}"
            if now.keys() != states.keys() or any(
                now[key].keys() != entries.keys() for key, entries in states.items()
            ):
                return MADE_STATE
        return None

    def _is_made_leaf(self, tensor: Tensor, old: _TensorSlots) -> bool:
        """Whether the call made a leaf of an argument that was a constant (`requires_grad_`)."""
        made = id(tensor) in self._alone and old.node is None and isinstance(tensor.node, Leaf)
        if not made or tensor.view_of is not None or tensor.tangents is not old.tangents:
            return False
        return not has_hooks(tensor.node)

    def counts(self) -> list[tuple[Tensor, int]]:
        """How often the second run has counted the memory of each tensor as overwritten, for those
        where it has. To be asked at the end of it: arguments have counters of their own there."""
        found: dict[int, tuple[Tensor, int]] = {}
        for tensor, old in self.tensors.values():
            if tensor.version is not None and tensor._version != old.count:
                found.setdefault(id(tensor.version), (tensor, tensor._version - old.count))
        return list(found.values())

    # ------------------------------------------------------------------------------- the second run

    def run(
        self, recorder: Any, function: Callable[[list[tuple[Tensor, _TensorSlots]]], Any]
    ) -> Any:
        """`function(after)` in the state that was kept, on copies; `after` are all tensors with
        what they hold in truth."""
        after = [(t, _TensorSlots(t)) for t, _ in self.tensors.values()]
        rest = _Rest(recorder, [(o, o.state) for o, _ in self.states])
        try:
            try:
                self._enter()
                return function(after)
            finally:
                _put_back(after, rest)
        finally:  # once more, in case that an interrupt came while they were put back
            _put_back(after, rest)

    def _enter(self) -> None:
        versions: dict[int, Version] = {}
        for tensor, slots in self.tensors.values():
            slots.put(tensor)
            tensor.version = (
                None
                if slots.version is None
                else versions.setdefault(id(slots.version), Version(slots.count))
            )
            if id(tensor) in self._alone:
                tensor.view_of = None
                tensor.version = None if slots.version is None else Version(slots.count)
            if tensor.view_of is None:
                tensor.array = self._copies[id(slots.array)]
        for tensor, slots in self.tensors.values():
            if tensor.view_of is not None:
                array = tensor.view_of.base.array
                for step, params in tensor.view_of.steps:
                    array = step.forward(backend.array_module([array]), array, **params)
                view = tensor.view_of
                tensor.array, tensor.view_of = (
                    array,
                    View(
                        view.base,
                        view.parent_view,
                        view.op,
                        slots.derived_at or 0,
                        view.restriction,
                    ),
                )
            if isinstance(tensor.node, Leaf):
                tensor.node.array, tensor.node.version = tensor.array, tensor.version
        for optimizer, states in self.states:
            optimizer.state = states
        functions.set_random_state(self.random)
        # whose state cannot be put back: the second run gets others
        for device in [d for d in random.generators if d != "cpu"]:
            del random.generators[device]

    def same(self, after: list[tuple[Tensor, _TensorSlots]]) -> bool:
        """Whether the second run has left what the first has left. To be asked at the end of it."""
        for tensor, first in after:
            was, now = first.stored_grad, tensor.stored_grad
            if (was is None) is not (now is None) or not alike(first.array, tensor.array):
                return False
            if was is None or now is None or id(was) in self.tensors:
                continue
            if not alike(was.array, now.array):
                return False
        return True


MADE_STATE = "an optimiser made its state in this call"


class _Rest:
    """What else a run can leave behind when it is cut short: the engine's modes, observers, random
    numbers, whose states are whose."""

    def __init__(self, recorder: Any, states: list[tuple[Optimizer, Any]]) -> None:
        here = observe.observation
        self.generators = dict(random.generators)
        self.recorder, self.states, self.random = recorder, states, functions.random_state()
        self.modes = state.recording, state.levels, state.batches, state.running_pass
        self.here = here.listening, here.added, here.event, calls.modules

    def put_back(self) -> None:
        """Everything as it was."""
        here = observe.observation
        state.recording, state.levels, state.batches, state.running_pass = self.modes
        here.listening, here.added, here.event, calls.modules = self.here
        while self.recorder in observe.observers:
            observe.observers.remove(self.recorder)
        self.recorder.open = False
        for optimizer, entries in self.states:
            optimizer.state = entries
        for device in [d for d in random.generators if d not in self.generators]:
            del random.generators[device]
        random.generators.update(self.generators)
        functions.set_random_state(self.random)


def _put_back(after: list[tuple[Tensor, _TensorSlots]], rest: _Rest) -> None:
    for tensor, slots in after:
        slots.put(tensor)
    rest.put_back()


# ------------------------------------------------------------------------------------------ helpers


def _settings() -> tuple[Any, ...]:
    """What a call may switch for the calls after it."""
    return state.recording, backend.default_dtype(), autograd.training


def _copied(value: Any) -> Any:
    """A value of an optimiser's state with memory of its own."""
    if isinstance(value, list | tuple):
        return type(value)(_copied(v) for v in value)
    return fresh(value) if hasattr(value, "dtype") else value


def alike(a: Any, b: Any) -> bool:
    """Whether two arrays are equal but for rounding."""
    a, b = (backend.to_numpy(getattr(x, "array", x)) for x in (a, b))
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    if a.dtype.kind not in "fc" or a.tobytes() == b.tobytes():
        return bool(a.tobytes() == b.tobytes())
    host = backend.numpy
    with host.errstate(all="ignore"):
        finite = host.isfinite(a)
        if not host.array_equal(a[~finite], b[~finite], equal_nan=True):
            return False
        a, b = a[finite], b[finite]
        return bool(a.size == 0 or abs(a - b).max() <= TOLERANCE * abs(a).max())
