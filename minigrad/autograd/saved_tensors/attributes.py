"""The values that one node keeps, as PyTorch shows them: `grad_fn._saved_self`, and
`grad_fn._raw_saved_self`, which takes hooks.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

from ...backend import PYTHON_SCALARS
from ...core.graph import Node, OpNode, Version
from ...core.primitive import OUTPUT, SHAPES, Primitive, on_declaration, registry
from ...core.tensor import Leaf, make_pick, wrap
from ...errors import AutogradError, GraphFreedError
from ...names import attach
from ..function.node import FunctionNode
from .packing import ElsewhereNode, Pack, Packed, PackedNode, Unpack, pack_node, tensor_of


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
            saved: Any = (node.ctx._saved or ())[i]
            tensor = tensor_of(saved.array, -1, (), saved.version)
            saved.packed = Packed(tensor, hooks, saved.version, saved.number)
            saved.array = None
        elif isinstance(node, OpNode):
            pack_node(node, (), hooks, only=i)

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
        return tuple(wrap(v, make_pick(node, i)) for i, v in enumerate(value))
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
                saved = property(partial(_saved_attribute, wanted=name, raw=raw))
                attach(prefix + name, saved, OpNode)


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
on_declaration.append(_offer_operation)


def _raw_saved_tensors(self: FunctionNode) -> tuple[SavedTensor, ...]:
    """The saved tensors of a Function as things that take hooks (`register_hooks`). Raises
    GraphFreedError when they are gone.
    """
    if self.ctx._saved is None:
        raise freed(self)
    return tuple(SavedTensor(self, i) for i in range(len(self.ctx._saved)))


attach("_raw_saved_tensors", property(_raw_saved_tensors), FunctionNode)
