"""The context of a Function: what its `forward` leaves for its `backward` and `jvp`.

It saves values for later without keeping the graph alive in a reference cycle, and the engine
notices when a saved value was overwritten in between.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ...backend import is_immutable
from ...core.graph import Node, Version
from ...core.tensor import Leaf, Tensor, ensure_version, wrap
from ...errors import GraphFreedError, InPlaceError

if TYPE_CHECKING:
    from .node import FunctionNode


class Saved:
    """One saved tensor: its array at its version, and where it stands in the graph (`place`: of an
    input; `output`: the number of an output). `packed`: what keeps the array in its stead, where
    hooks on saved tensors took it (see ../saved_tensors/).
    """

    __slots__ = ("array", "number", "output", "packed", "place", "version")

    def __init__(self, tensor: Tensor, place: Node | None, output: int | None) -> None:
        self.version: Version | None = (
            None if is_immutable(tensor.array) else ensure_version(tensor)
        )
        self.number = 0 if self.version is None else self.version.count
        self.array, self.place, self.output = tensor.array, place, output
        self.packed: Any = None


class FunctionCtx:
    """What `forward` leaves for `backward` and `jvp`. Any other attribute may be set for values
    that are not tensors.

    needs_input_grad: for each argument of `forward` whether its gradient is wanted.
    """

    needs_input_grad: tuple[bool, ...] = ()

    def __init__(self, name: str, inputs: Sequence[Any]) -> None:
        self._name = name
        self._inputs: Sequence[Any] = inputs  # until forward has ended
        self._kept: tuple[
            Tensor | None, ...
        ] = ()  # the tensors themselves, until forward has ended
        self._pushed: tuple[Tensor | None, ...] | None = None
        self._dirty: tuple[Tensor, ...] = ()
        self._constant: tuple[Tensor, ...] = ()
        self._materialize = True
        self._pushing = False  # whether `jvp` runs
        self._saved: tuple[Saved | None, ...] | None = ()
        self._node: Callable[[], FunctionNode | None] = lambda: None

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Keep tensors (inputs, outputs, or made in between; None is allowed) for `backward`, which
        finds them in `saved_tensors`.

        Call it once, in `forward` or `setup_context`. Only inputs and outputs keep their history: a
        value made inside `forward` is a constant for a second derivative, so return it as a further
        output if it depends on an input. Raises TypeError for anything that is not a tensor (use
        ctx attributes for those).
        """
        self._kept = self._tensors("save_for_backward", tensors)

    def save_for_forward(self, *tensors: Tensor | None) -> None:
        """Keep tensors for `jvp`, which finds them in `saved_tensors` (where this is not called,
        those of `save_for_backward`).
        """
        self._pushed = self._tensors("save_for_forward", tensors)

    def mark_dirty(self, *tensors: Tensor) -> None:
        """Say which inputs `forward` overwrote. They must be returned as outputs; their old values
        are lost.

        Raises TypeError for anything but a tensor, InPlaceError for a tensor that is no input.
        """
        for position, tensor in enumerate(self._tensors("mark_dirty", tensors)):
            if tensor is None or not contains(self._inputs, tensor):
                raise InPlaceError(
                    f"{self._name}: mark_dirty got as argument {position} something that is not an"
                    " input of forward; only inputs can have been modified in place. Leave new"
                    " tensors out."
                )
        self._dirty = tensors

    def mark_non_differentiable(self, *tensors: Tensor) -> None:
        """Say which outputs have no derivative (indices, masks): they do not require grad, and
        `backward` gets zeros for them.
        """
        self._constant = tuple(
            t for t in self._tensors("mark_non_differentiable", tensors) if t is not None
        )

    def set_materialize_grads(self, value: bool) -> None:
        """Whether `backward` (and `jvp`) get zeros (True, the default) or None for an output
        (input) without a cotangent (tangent).
        """
        self._materialize = bool(value)

    def _tensors(self, method: str, tensors: Sequence[Any]) -> tuple[Tensor | None, ...]:
        for position, tensor in enumerate(tensors):
            if tensor is not None and not isinstance(tensor, Tensor):
                raise TypeError(
                    f"{self._name}: {method} takes tensors and None, but argument {position} is of"
                    f" type {type(tensor).__name__}. Keep other values as attributes: ctx.size ="
                    " size."
                )
        return tuple(tensors)

    @property
    def saved_tensors(self) -> tuple[Tensor | None, ...]:
        """The tensors given to `save_for_backward`, with their history.

        Raises GraphFreedError after a backward pass without retain_graph, InPlaceError if one was
        modified in place since it was saved.
        """
        if self._pushing and self._pushed is not None:
            return self._pushed
        if self._kept:
            return self._kept
        if self._saved is None:
            raise GraphFreedError(
                f"{self._name}: the tensors saved for backward were freed after the first backward"
                " pass through this graph. Call that pass with retain_graph=True to walk the graph"
                " again; in a loop, make sure that each round builds its own graph."
            )
        node = self._node()
        return tuple(
            None if saved is None else self._unpacked(k, saved, node)
            for k, saved in enumerate(self._saved)
        )

    def _unpacked(self, position: int, saved: Saved, node: FunctionNode | None) -> Tensor:
        if (
            saved.packed is None
            and saved.version is not None
            and saved.version.count != saved.number
        ):
            what = (
                "an argument of forward or an outer tensor"
                if saved.output is None
                else f"output {saved.output}"
            )
            raise InPlaceError(
                f"{self._name}.backward needs saved tensor {position} ({what}, shape"
                f" {tuple(saved.array.shape)}, dtype {saved.array.dtype}) as it was at version"
                f" {saved.number}, but it was modified in place since and is at version"
                f" {saved.version.count}. Use the out-of-place form of the operation that modified"
                " it (x = x * 2 instead of x.mul_(2) or x *= 2), or save a .clone()."
            )
        tangents = (
            node.saved_tangents[position]
            if node is not None and node.saved_tangents is not None
            else None
        )
        place = (
            saved.place
            if saved.output is None
            else None
            if node is None
            else node.place(saved.output)
        )
        if saved.packed is not None:
            return wrap(saved.packed.array(), place, tangents)
        if type(place) is Leaf and tangents is None:
            tensor = place.tensor()
            if tensor is not None and tensor.array is saved.array:
                found: Tensor = tensor  # the user's own leaf, as it was given
                return found
        out = wrap(saved.array, place, tangents)
        out.version = saved.version
        return out


def contains(items: Sequence[Any], wanted: Any) -> bool:
    return any(item is wanted for item in items)
