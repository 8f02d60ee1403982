"""Values that wait for the reverse pass, kept in another form or place: hooks on saved tensors.

A node keeps the values that its backward rule names. That is most of the memory of a training step.
With

    with saved_tensors_hooks(pack, unpack):
        loss = model(x)

each of them goes through `pack` when it would be kept, and what `pack` returns is kept instead: a
file's name, a half-precision copy, a copy on the host. The reverse pass calls `unpack` on it when
the rule runs.

An ordinary computation does nothing of this. Inside the block an observer looks at
each new node and changes its class, as checkpointing does: the node then asks for its values
instead of having them.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from ... import backend, explain, observers
from ...backend import PYTHON_SCALARS
from ...core import observe
from ...core.backward import pull_operation
from ...core.graph import Node, OpNode, Pick, Version
from ...core.observe import Event
from ...core.primitive import OUTPUT
from ...core.tensor import Tensor, alias, wrap
from ...errors import InPlaceError, ShapeError
from ...grad_mode import no_grad
from ..function.node import FunctionNode
from ..node_hooks import become

Pack = Callable[[Tensor], Any]
Unpack = Callable[[Any], Tensor]


class ElsewhereNode(OpNode):
    """The node of an operation whose saved values are not here: `values` brings them, for as long
    as the rule runs.

    An OpNode becomes one by changing its class, so that everything that refers to it stays as it
    is. While the values are away, `saved` is None and `versions` holds, alone, what knows where
    they are; empty, it means that the graph was freed.
    """

    __slots__ = ()

    versions: Any

    def pull(self, g: Any, needed: Any, on_tensors: bool) -> list[tuple[Node, Any]]:
        """The operation's own pull, which asks for the values."""
        return pull_operation(self, g, needed, on_tensors)


def hold_elsewhere(node: Any, kind: type[ElsewhereNode], holder: Any) -> None:
    """Make a node one whose saved values `holder` brings."""
    become(node, kind)
    node.saved, node.versions = None, (holder,)


class Packed:
    """One saved value in a user's hands: what `pack` made of it, and what must come back."""

    __slots__ = ("count", "dtype", "held", "shape", "unpack", "version")

    def __init__(
        self,
        tensor: Tensor,
        hooks: tuple[Pack, Unpack],
        version: Version | None = None,
        count: int = 0,
    ) -> None:
        """version, count: of the memory that the node would have kept. Raises InPlaceError if
        `pack` writes into it.
        """
        pack, self.unpack = hooks
        self.shape = tensor.shape
        self.dtype = tensor.dtype
        self.version = version
        self.count = count
        before = tensor._version
        with no_grad(), observe.unobserved():
            self.held = pack(tensor)
        if tensor._version != before:
            raise InPlaceError(
                "a pack hook of saved tensors modified its argument in place, which others use. Use"
                " the out-of-place form, or modify a .clone() of it."
            )

    def array(self) -> Any:
        """The value again. Raises TypeError, ShapeError, InPlaceError if `unpack` returns
        something that it cannot be.
        """
        with no_grad():
            tensor = self.unpack(self.held)
        if not isinstance(tensor, Tensor):
            raise TypeError(
                f"an unpack hook of saved tensors returned {type(tensor).__name__}; it must return"
                " a Tensor."
            )
        if tensor.shape != self.shape:
            raise ShapeError(
                f"an unpack hook of saved tensors returned shape {tensor.shape} for a tensor of"
                f" shape {self.shape}; they must be equal."
            )
        if (
            self.version is not None
            and tensor.version is self.version
            and self.version.count != self.count
        ):
            raise InPlaceError(
                f"a pack hook kept a tensor (shape {self.shape}) itself, not a copy, and it was"
                f" modified in place since: it was at version {self.count} and is at"
                f" {self.version.count}. Let the pack hook return a .clone(), or use the"
                " out-of-place form of the operation that modified it."
            )
        return tensor.array


class _Hands(NamedTuple):
    """Where the saved values of a PackedNode are: a Packed for each that went through a hook,
    the others as they are.
    """

    values: tuple[Any, ...]
    versions: tuple[tuple[int, Version, int], ...]


class PackedNode(ElsewhereNode):
    """The node of an operation whose saved values went through hooks."""

    __slots__ = ()

    def values(self) -> tuple[Any, ...]:
        """The saved values, unpacked. Raises GraphFreedError, InPlaceError, and what `unpack`
        raises.
        """
        if not self.versions:
            return super().values()  # which says that the graph was freed
        hands = self.versions[0]
        for position, version, number in hands.versions:
            if version.count != number:
                raise explain.overwritten(self, position, version, number)
        return tuple(_unpacked(v) for v in hands.values)


def _unpacked(value: Any) -> Any:
    if type(value) is tuple:
        return tuple(_unpacked(v) for v in value)
    if type(value) is Packed:
        return value.array()
    return value


def pack_node(
    node: OpNode, args: tuple[Any, ...], hooks: tuple[Pack, Unpack], only: int | None = None
) -> None:
    """Send the saved values of a node (or the one in position `only`) through `hooks`. args:
    tensors that may be among them.
    """
    holder: Any = _Hands(node.saved, node.versions) if node.saved is not None else node.versions[0]
    saved, versions = holder
    known = {position: (version, number) for position, version, number in versions}
    kept, changed = list(saved), False
    for position, source in enumerate(node.plan.sources):
        value = saved[position]
        if (
            source < OUTPUT
            or type(value) in PYTHON_SCALARS
            or type(value) is Packed
            or only not in (None, position)
        ):
            continue
        if isinstance(value, tuple):  # all results of an operation with several
            kept[position] = tuple(
                Packed(tensor_of(v, source, (), version), hooks, version, number)
                for v, (version, number) in zip(
                    value, _counters(position, value, versions), strict=True
                )
            )
        else:
            version, number = known.get(position, (None, 0))
            kept[position] = Packed(tensor_of(value, source, args, version), hooks, version, number)
        changed = True
    if changed:
        rest = tuple(entry for entry in versions if kept[entry[0]] is saved[entry[0]])
        hold_elsewhere(node, PackedNode, _Hands(tuple(kept), rest))


def _counters(
    position: int, results: tuple[Any, ...], versions: tuple[Any, ...]
) -> list[tuple[Version | None, int]]:
    """For each of several results kept in one position its version counter and number; bare
    numbers, which are never overwritten, have none."""
    known = iter([(version, number) for at, version, number in versions if at == position])
    return [(None, 0) if backend.is_immutable(v) else next(known) for v in results]


def tensor_of(value: Any, source: int, args: tuple[Any, ...], version: Version | None) -> Tensor:
    """The tensor that a saved array belongs to: the operation's own argument, else a constant on
    the same memory.
    """
    if 0 <= source < len(args) and isinstance(args[source], Tensor) and args[source].array is value:
        found: Tensor = args[source]
        return found
    out = wrap(value)
    out.version = version
    return out


def _pack_function(node: FunctionNode, args: tuple[Any, ...], hooks: tuple[Pack, Unpack]) -> None:
    for saved in node.ctx._saved or ():
        if saved is not None and saved.packed is None:
            given = next(
                (a for a in args if isinstance(a, Tensor) and a.array is saved.array), None
            )
            saved.packed = Packed(
                given if given is not None else tensor_of(saved.array, -1, (), saved.version),
                hooks,
                saved.version,
                saved.number,
            )
            saved.array = None


class _Packing(threading.local):
    """This thread's hooks, the innermost last, and why there may be none."""

    def __init__(self) -> None:
        self.hooks: list[tuple[Pack, Unpack]] = []
        self.refused: str | None = None
        self.latest: tuple[OpNode, tuple[Any, ...], tuple[Any, ...]] | None = (
            None  # the latest node, with its values
        )

    def begin(self, event: Event) -> None:
        """An in-place operation is about to overwrite what its own rule may need: that value is
        packed again, from a copy.
        """
        if event.phase != "assign" or self.latest is None:
            return
        node, saved, versions = self.latest
        version = event.args[0].version
        mine = {position for position, v, number in versions if v is version and number == v.count}
        if mine and node.saved is None and node.versions:
            holder: Any = node.versions[0]
            values, rest = holder
            again = (
                (
                    Packed(wrap(saved[i].copy()), self.hooks[-1])
                    if i in mine and type(v) is Packed
                    else v
                )
                for i, v in enumerate(values)
            )
            hold_elsewhere(node, PackedNode, _Hands(tuple(again), rest))
        self.latest = None

    def end(self, event: Event) -> None:
        """An operation was recorded."""
        if event.phase != "forward" or event.error is not None:
            return
        node = event.node.parents[0] if type(event.node) is Pick else event.node
        if type(node) is OpNode and node.plan.keeps_values and node.saved is not None:
            saved, versions = node.saved, node.versions
            pack_node(node, event.args, self.hooks[-1])
            self.latest = (node, saved, versions) if versions else self.latest
        elif isinstance(node, FunctionNode):
            _pack_function(node, event.args, self.hooks[-1])


_packing = _Packing()


class saved_tensors_hooks:
    """Inside the block, every tensor that is kept for a reverse pass is replaced by what
    `pack_hook(tensor)` returns; the reverse pass calls `unpack_hook` on that and computes with the
    tensor it returns.

    pack_hook: gets the operation's argument itself (a result: a constant on its memory) and must
    not modify it. unpack_hook: must return a tensor of the same shape. Both run with recording off.
    Of nested blocks the innermost counts; threads have their own. Python numbers and shapes are
    kept as they are. Raises RuntimeError inside `disable_saved_tensors_hooks`.
    """

    def __init__(self, pack_hook: Pack, unpack_hook: Unpack) -> None:
        self.pack_hook, self.unpack_hook = pack_hook, unpack_hook

    def __enter__(self) -> None:
        if _packing.refused is not None:
            raise RuntimeError(_packing.refused)
        _packing.hooks.append((self.pack_hook, self.unpack_hook))
        if len(_packing.hooks) == 1:
            observers.add_observer(_packing)

    def __exit__(self, *_: object) -> None:
        _packing.hooks.pop()
        _packing.latest = None
        if not _packing.hooks:
            observers.remove_observer(_packing)


class save_on_cpu(saved_tensors_hooks):
    """Inside the block, what is kept for a reverse pass waits in the host's memory and returns to
    its device when it is needed.

    A tensor that is on the host already stays where it is. pin_memory, device_type: for PyTorch
    programs; copies are not pinned.
    """

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda") -> None:
        def pack(tensor: Tensor) -> tuple[str, Tensor]:
            device = backend.device_of(tensor.array)
            return device, (
                alias(tensor) if device == "cpu" else wrap(backend.to_device(tensor.array, "cpu"))
            )

        def unpack(packed: tuple[str, Tensor]) -> Tensor:
            device, tensor = packed
            return tensor if device == "cpu" else wrap(backend.to_device(tensor.array, device))

        super().__init__(pack, unpack)


@contextmanager
def disable_saved_tensors_hooks(error_message: str) -> Iterator[None]:
    """Inside the block, `saved_tensors_hooks` raises RuntimeError(error_message); so does the
    block itself where hooks are in force.
    """
    if _packing.hooks:
        raise RuntimeError(error_message)
    before, _packing.refused = _packing.refused, error_message
    try:
        yield
    finally:
        _packing.refused = before
