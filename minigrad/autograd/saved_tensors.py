"""Values that wait for the way back: looking at them, and keeping them in another form or another
place.

A node keeps the values that its backward rule names. That is most of the memory of a training step.
With

    with saved_tensors_hooks(pack, unpack):
        loss = model(x)

each of them goes through `pack` when it would be kept, and what `pack` returns is kept instead: a
file's name, a half-precision copy, a copy on the host. The reverse pass calls `unpack` on it when
the rule runs.

Nothing of this lies on the way of an ordinary computation. Inside the block an observer looks at
each new node and changes its class, as checkpointing does: the node then asks for its values
instead of having them.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import count
from typing import Any, NamedTuple

from .. import backend, explain
from ..backend import PYTHON_SCALARS
from ..core import modes
from ..core.backward import pull_operation
from ..core.graph import Node, OpNode, Pick, Version
from ..core.modes import Event
from ..core.primitive import OUTPUT, SHAPES, Primitive, declared, registry
from ..core.tensor import Leaf, Tensor, alias, make_pick, wrap
from ..errors import AutogradError, GraphFreedError, InPlaceError, ShapeError
from ..grad_mode import no_grad
from .custom.node import FunctionNode
from .node_hooks import become

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

    def pull(self, g: Any, needed: Any, live: bool) -> list[tuple[Node, Any]]:
        """The operation's own pull, which asks for the values."""
        return pull_operation(self, g, needed, live)


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
        self.shape, self.dtype, self.version, self.count = (
            tensor.shape,
            tensor.dtype,
            version,
            count,
        )
        before = tensor._version
        with no_grad(), modes.unobserved():
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
    return (
        tuple(_unpacked(v) for v in value)
        if type(value) is tuple
        else value.array()
        if type(value) is Packed
        else value
    )


def _pack_node(
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
                Packed(_tensor_of(v, source, (), version), hooks, version, number)
                for v, (version, number) in zip(
                    value, _counters(position, value, versions), strict=True
                )
            )
        else:
            version, number = known.get(position, (None, 0))
            kept[position] = Packed(
                _tensor_of(value, source, args, version), hooks, version, number
            )
        changed = True
    if changed:
        rest = tuple(entry for entry in versions if kept[entry[0]] is saved[entry[0]])
        become(node, PackedNode)
        node.saved, node.versions = None, (_Hands(tuple(kept), rest),)  # type: ignore[assignment]


def _counters(
    position: int, results: tuple[Any, ...], versions: tuple[Any, ...]
) -> list[tuple[Version | None, int]]:
    """For each of several results kept in one position its version counter and number; bare
    numbers, which are never overwritten, have none."""
    known = iter([(version, number) for at, version, number in versions if at == position])
    return [(None, 0) if backend.is_immutable(v) else next(known) for v in results]


def _tensor_of(value: Any, source: int, args: tuple[Any, ...], version: Version | None) -> Tensor:
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
                given if given is not None else _tensor_of(saved.array, -1, (), saved.version),
                hooks,
                saved.version,
                saved.number,
            )
            saved.array = None


# ------------------------------------------------------------------- hooks for all that is recorded


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
            node.versions = (_Hands(tuple(again), rest),)  # type: ignore[assignment]
        self.latest = None

    def end(self, event: Event) -> None:
        """An operation was recorded."""
        if event.phase != "forward" or event.error is not None:
            return
        node = event.node.parents[0] if type(event.node) is Pick else event.node
        if type(node) is OpNode and node.plan.keeps_values and node.saved is not None:
            saved, versions = node.saved, node.versions
            _pack_node(node, event.args, self.hooks[-1])
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
            modes.add_observer(_packing)

    def __exit__(self, *_: object) -> None:
        _packing.hooks.pop()
        _packing.latest = None
        if not _packing.hooks:
            modes.remove_observer(_packing)


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


# ------------------------------------------------------------------------- saved values of one node


class SavedTensor:
    """One saved value of a node, for `register_hooks`: `y.grad_fn._raw_saved_self`."""

    def __init__(self, node: Node, position: int) -> None:
        self._node, self._position = node, position

    def register_hooks(self, pack_hook: Pack, unpack_hook: Unpack) -> None:
        """Keep what `pack_hook(tensor)` returns instead of the value; `unpack_hook` makes a tensor
        of it again. Once for each value.

        Raises GraphFreedError if the value is gone, AutogradError if it has hooks or is None,
        TypeError for what cannot be called.
        """
        for hook in (pack_hook, unpack_hook):
            if not callable(hook):
                raise TypeError(f"register_hooks: needs two functions, got {type(hook).__name__}.")
        node, i, hooks = self._node, self._position, (pack_hook, unpack_hook)
        value = self._value()
        if value is None:
            raise AutogradError(
                f"{node.name()}: saved tensor {i} is None; registering hooks on None is forbidden."
            )
        if isinstance(value, Packed | tuple) or (
            isinstance(node, ElsewhereNode) and not isinstance(node, PackedNode)
        ):
            raise AutogradError(
                f"the hooks of this saved tensor of {node.name()} have already been set (or it is"
                " in the hands of a checkpoint); there can be one pair of them."
            )
        if isinstance(node, FunctionNode):
            saved: Any = node.ctx._saved[i]  # type: ignore[index]
            tensor = _tensor_of(saved.array, -1, (), saved.version)
            saved.packed = Packed(tensor, hooks, saved.version, saved.number)
            saved.array = None
        elif isinstance(node, OpNode):
            _pack_node(node, (), hooks, only=i)

    def _value(self) -> Any:
        """What the node holds: an array, a Packed, None. Raises GraphFreedError."""
        node, i = self._node, self._position
        if isinstance(node, FunctionNode):
            if node.ctx._saved is None:
                raise freed(node)
            saved = node.ctx._saved[i]
            return None if saved is None else saved.array if saved.packed is None else saved.packed
        assert isinstance(node, OpNode)
        if node.saved is not None:
            return node.saved[i]
        if not node.versions:
            raise freed(node)
        holder: Any = node.versions[0]
        return holder.values[i] if isinstance(node, PackedNode) else None

    @property
    def data(self) -> Any:
        """What is kept: the tensor, or what a pack hook made of it."""
        value = self._value()
        return value.held if isinstance(value, Packed) else None if value is None else wrap(value)

    @property
    def unpack_hook(self) -> Any:
        """The hook that turns `data` into a tensor again, or None."""
        value = self._value()
        return value.unpack if isinstance(value, Packed) else None


def freed(node: Node) -> GraphFreedError:
    return GraphFreedError(
        f"the saved tensors of {node.name()} cannot be had after they have already been freed: a"
        " reverse pass went through this graph. Look at them before, or keep them by calling that"
        " pass with retain_graph=True."
    )


_SECOND = ("other", "exponent", "mat2", "vec2", "tensor2", "batch2", "weight")
"""PyTorch's names for an operation's second operand; the first is `self` or `input`, the result
`result` or `output`.
"""
_SHAPES = ("_sym_sizes", "_sizes", "_shape")
_PARAMETERS = {"dim": "axis", "dims": "axis", "keepdim": "keepdims", "exponent": "n"}


def _saved_attribute(node: OpNode, wanted: str, raw: bool) -> Any:
    """`grad_fn._saved_x`: a value that the node keeps, under PyTorch's name for it or under the
    operation's own.
    """
    source = _source(node, wanted)
    if source is None:
        parameter = wanted if wanted in node.params else _PARAMETERS.get(wanted)
        if raw or parameter not in node.params:
            kept = ", ".join(f"_saved_{n}" for n in _names(node)) or "nothing"
            raise AttributeError(
                f"{node.name()} has no {'_raw' * raw}_saved_{wanted}; it keeps {kept}."
            )
        return node.params[parameter]
    if source not in node.plan.sources:
        return None  # the rules of this node do not need it
    position = node.plan.sources.index(source)
    if node.saved is None and not node.versions:
        raise freed(node)
    if raw:
        return SavedTensor(node, position)
    value = node.values()[position]
    if source < OUTPUT or type(value) in PYTHON_SCALARS:
        return value
    if isinstance(value, tuple):
        return tuple(
            wrap(v, make_pick(node, i, wrap(v)) if d else None)
            for i, (v, d) in enumerate(zip(value, node.primitive.differentiable, strict=True))
        )
    place = node if source == OUTPUT else node.parents[source]
    if isinstance(place, Leaf):
        tensor = place.tensor()
        if tensor is not None and tensor.array is value:
            return tensor
    out = wrap(value, place)
    out.version = (
        next(
            (
                version
                for at, version, _ in node.versions
                if at == position and isinstance(version, Version)
            ),
            None,
        )
        if node.saved
        else None
    )
    return out


def _source(node: OpNode, wanted: str) -> int | None:
    names = node.primitive.inputs
    for suffix in _SHAPES:
        if wanted.endswith(suffix):
            inner = _source(node, wanted.removesuffix(suffix))
            return None if inner is None or inner < 0 else SHAPES - inner
    if wanted in names and not node.primitive.variadic:
        return names.index(wanted)
    if wanted in ("result", "output", "y"):
        return OUTPUT
    if wanted in ("self", "input"):
        return 0
    return 1 if wanted in _SECOND and len(node.parents) > 1 else None


def _names(node: OpNode) -> list[str]:
    """The names under which a node's saved values are found."""
    names = node.primitive.inputs if not node.primitive.variadic else ("self", "other")
    kept = [
        ("result" if s == OUTPUT else names[s] if s >= 0 else names[SHAPES - s] + "_shape")
        for s in node.plan.sources
        if max(s, SHAPES - s) < len(names)
    ]
    return kept + list(node.params)


def _offer(names: Iterable[str]) -> None:
    """Make `_saved_<name>` and `_raw_saved_<name>` attributes of nodes.

    One `__getattr__` would serve all names, but CPython reads the slots of a class that has one by
    a slower way: 0.35 µs a node.
    """
    for name in names:
        for prefix, raw in (("_saved_", False), ("_raw_saved_", True)):
            if not hasattr(OpNode, prefix + name):
                setattr(
                    OpNode, prefix + name, property(partial(_saved_attribute, wanted=name, raw=raw))
                )


def _offer_operation(operation: Primitive) -> None:
    _offer(
        [
            *operation.inputs,
            *(f"{x}{shape}" for x in operation.inputs for shape in _SHAPES),
            *operation.keywords,
        ]
    )


_OTHER = ("self", "input", *_SECOND, "result", "output", "y", *_PARAMETERS)
_offer([*_OTHER, *(f"{x}{shape}" for x in ("self", "input", *_SECOND) for shape in _SHAPES)])
for _operation in registry.values():
    _offer_operation(_operation)
declared.append(_offer_operation)


# --------------------------------------------------------------------------------- writing in place


_copies = count()


class _Mutation:
    """The observer behind `allow_mutation_on_saved_tensors`: it knows which nodes keep which
    memory, and saves the old values of memory that is about to be overwritten.

    cloned: the copies that are still in use, by running number.
    """

    def __init__(self) -> None:
        self.cloned: weakref.WeakValueDictionary[int, Any] = weakref.WeakValueDictionary()
        self._users: dict[
            int, set[weakref.ref[Node]]
        ] = {}  # by the identity of a version counter, which the user holds
        self._keys: dict[weakref.ref[Node], tuple[int, ...]] = {}

    def clear(self) -> None:
        """Forget all nodes: from now on their values are checked as usual."""
        self._users.clear()
        self._keys.clear()
        self.cloned.clear()

    def end(self, event: Event) -> None:
        """A node that keeps memory was made."""
        node = event.node.parents[0] if type(event.node) is Pick else event.node
        if event.phase != "forward" or event.error is not None or node is None:
            return
        keys = tuple({id(version) for version in _memories(node)})
        if keys:
            ref = weakref.ref(node, self._gone)
            if ref in self._keys:
                return
            self._keys[ref] = keys
            for key in keys:
                self._users.setdefault(key, set()).add(ref)

    def _gone(self, ref: weakref.ref[Node]) -> None:
        for key in self._keys.pop(ref, ()):
            users = self._users.get(key, set())
            users.discard(ref)
            if not users:
                self._users.pop(key, None)

    def begin(self, event: Event) -> None:
        """Memory is about to be overwritten."""
        if event.phase != "assign" or event.args[0].version is None:
            return
        version: Any = event.args[0].version
        count, copies = version.count, dict[int, Any]()
        for ref in list(self._users.get(id(version), ())):
            node = ref()
            if isinstance(node, FunctionNode):
                for saved in node.ctx._saved or ():
                    if (
                        saved is not None
                        and saved.version is version
                        and saved.number == count
                        and saved.array is not None
                    ):
                        saved.array, saved.version = self._copy(saved.array, copies), None
            elif isinstance(node, OpNode) and node.saved is not None:
                kept, rest = list(node.saved), []
                for entry in node.versions:
                    position, v, number = entry
                    if v is version and number == count:
                        value = kept[position]
                        kept[position] = (
                            tuple(self._copy(x, copies) for x in value)
                            if isinstance(value, tuple)
                            else self._copy(value, copies)
                        )
                    else:
                        rest.append(entry)
                node.saved, node.versions = tuple(kept), tuple(rest)

    def _copy(self, array: Any, copies: dict[int, Any]) -> Any:
        found = copies.get(id(array))
        if found is None:
            found = copies[id(array)] = array.copy()
            self.cloned[next(_copies)] = found
        return found


def _memories(node: Node) -> list[Version]:
    if isinstance(node, FunctionNode):
        return [
            saved.version
            for saved in node.ctx._saved or ()
            if saved is not None and saved.version is not None
        ]
    return (
        [version for _, version, _ in node.versions]
        if isinstance(node, OpNode) and node.saved is not None
        else []
    )


class _Allowing(threading.local):
    now = False


_allowing = _Allowing()


@contextmanager
def allow_mutation_on_saved_tensors() -> Iterator[_Mutation]:
    """Inside the block, in-place operations may overwrite what is kept for a reverse pass: the old
    values are copied first.

    Outside, the reverse pass would refuse. The copies stay as long as their nodes do, so the pass
    may run later. Writes through `.data` and those of optimisers are not seen, and still refused.
    Yields an object with `cloned` (the copies in use) and `clear()`. Raises RuntimeError inside
    another such block.
    """
    if _allowing.now:
        raise RuntimeError(
            "allow_mutation_on_saved_tensors: there is such a block around this one already; one is"
            " enough."
        )
    state = _Mutation()
    _allowing.now = True
    try:
        with modes.observing(state):
            yield state
    finally:
        _allowing.now = False
        state.clear()
