"""Hooks around a node: they see what goes into an operation's backward rule and what comes out of it, and may replace both.

A node without such hooks must not pay for them, not even with a question. So the question is not asked: a node that gets its first hook
becomes a node of another class, whose `pull` runs the hooks. (The engine runs the `pull` of every class but `OpNode`, whose rule it knows.)
Everything that refers to the node stays as it is. A leaf has no rule; its hooks stand around the sum into `.grad`, see reverse.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .. import nodes
from ..backend import canonical
from ..errors import AutogradError, ShapeError
from ..nodes import Leaf, Node, Notes, OpNode, Pick, notes_of
from ..tensor import Tensor, alias, wrap
from .modes import state
from .reverse import _store, pull_operation

_classes: dict[type[Node], type[Node]] = {}


def with_hooks(kind: type[Node]) -> type[Node]:
    """The kind of node that is as `kind`, with hooks around its rule."""
    made = _classes.get(kind)
    if made is None:
        made = _classes[kind] = type(kind.__name__, (_Around, kind), {"__slots__": (), "plain": kind, "__module__": kind.__module__})
    return made


def become(node: Node, kind: type[Node]) -> None:
    """Change the kind of a node and keep the hooks around it."""
    node.__class__ = with_hooks(kind) if node.has_hooks else kind


class _Around:
    """What the classes of nodes with hooks have in common."""

    __slots__ = ()

    plain: type[Any]
    has_hooks = True

    def pull(self, g: Any, needed: Any, live: bool) -> list[tuple[Node, Any]]:
        """The node's own pull between its hooks: (parent, contribution) for each parent in `needed`."""
        node: Any = self
        notes = notes_of(node)
        single = not isinstance(g, list)
        given = [g] if single else g
        if notes.before:
            given = _shown(node, notes.before, given, "prehook", "grad_outputs")
            g = given[0] if single else given
        parts: list[tuple[Node, Any]] = (
            pull_operation(node, g, needed, live) if self.plain is OpNode else self.plain.pull(node, g, needed, live)
        )
        if not notes.after:
            return parts
        slots = _slots(node, parts)
        values: list[Any] = [None] * len(node.parents)
        for slot, (_, c) in zip(slots, parts, strict=True):
            values[slot] = c
        values = _shown(node, notes.after, values, "hook", "grad_inputs", tuple(_tensor(x) for x in given))
        return [(parent, values[slot]) for slot, (parent, _) in zip(slots, parts, strict=True)]


def _slots(node: Any, parts: Sequence[tuple[Node, Any]]) -> list[int]:
    """The input position of each contribution; they come in the order of the inputs, some of which have none."""
    slots, position = [], 0
    for parent, _ in parts:
        while node.parents[position] is not parent or (isinstance(node, OpNode) and node.primitive.pull_rule(position) is None):
            position += 1
        slots.append(position)
        position += 1
    return slots


def _tensor(g: Any) -> Tensor | None:
    return g if g is None or isinstance(g, Tensor) else wrap(canonical(g))


def _shown(node: Node, hooks: dict[int, Callable[..., Any]], values: Sequence[Any], kind: str, what: str, *more: Any) -> list[Any]:
    """The values after all hooks, each of which may have replaced them: arrays stay arrays, tensors tensors."""
    before = tuple(_tensor(v) for v in values)
    shown = before
    for hook in list(hooks.values()):
        replaced = hook(shown, *more)
        if replaced is not None:
            shown = _checked(node.name(), kind, what, shown, replaced)
    return [
        v if new is old else new.array if new is not None and not isinstance(v, Tensor) else new
        for v, old, new in zip(values, before, shown, strict=True)
    ]


def _checked(name: str, kind: str, what: str, shown: tuple[Any, ...], replaced: Any) -> tuple[Any, ...]:
    """What a hook returned, as a tuple that can stand in the place of what it was shown. Raises TypeError, RuntimeError, ShapeError."""
    if isinstance(replaced, Tensor) and len(shown) == 1:
        replaced = (replaced,)
    if not isinstance(replaced, tuple):
        raise TypeError(f"a {kind} of {name} returned {type(replaced).__name__}; return None, or a tuple in the place of {what}.")
    if len(replaced) != len(shown):
        raise RuntimeError(f"a {kind} of {name} returned {len(replaced)} values in the place of {len(shown)} {what}; return one for each.")
    for i, (old, new) in enumerate(zip(shown, replaced, strict=True)):
        if new is None or new is old:
            continue
        if not isinstance(new, Tensor):
            raise TypeError(f"a {kind} of {name} returned {type(new).__name__} as number {i} of {what}; return a Tensor or None.")
        if old is None:
            raise RuntimeError(
                f"a {kind} of {name} returned a tensor as number {i} of {what}, where there is no gradient; return None there."
            )
        if new.shape != old.shape:
            raise ShapeError(f"a {kind} of {name} changed the shape of number {i} of {what} from {old.shape} to {new.shape}; it must stay.")
        if new.dtype != old.dtype:
            raise RuntimeError(
                f"a {kind} of {name} changed the dtype of number {i} of {what} from {old.dtype} to {new.dtype}; it must stay."
            )
    return replaced


def before_leaf(leaf: Leaf, tensor: Tensor, g: Any) -> Any:
    """A leaf's complete cotangent after the hooks of its node that see it before it is added to `.grad`."""
    notes = notes_of(leaf)
    notes.first = tensor._grad is None
    return _shown(leaf, notes.before, [g], "prehook", "grad_outputs")[0] if notes.before else g


def after_leaf(leaf: Leaf, tensor: Tensor, g: Any) -> None:
    """Run the hooks that were waiting for the sum in `.grad`: the tensor's, then those of its node, which have nothing to replace.

    As in PyTorch, what the latter see shares the memory of a `.grad` that this pass was the first to put there.
    """
    notes = notes_of(leaf)
    shown = alias(tensor._grad) if notes.first and notes.after and tensor._grad is not None and tensor._grad.node is None else _tensor(g)
    for hook in list((leaf.after or {}).values()):
        if hook(tensor) is not None:
            raise AutogradError("post-accumulate gradient hooks should return None: there is nothing for their result to replace.")
    for hook in list(notes.after.values()):
        hook((), (shown,))


def _watched(node: Node) -> Notes:
    if isinstance(node, Pick):
        assert node.parents[0] is not None
        node = node.parents[0]
    if isinstance(node, Leaf):
        node.after = {} if node.after is None else node.after
    elif not node.has_hooks:
        node.__class__ = with_hooks(type(node))
    return notes_of(node)


def _run_alone(node: Any, grad_outputs: tuple[Any, ...]) -> Any:
    if isinstance(node, Pick):
        node = node.parents[0]
    several = isinstance(node.shape, tuple) and any(not isinstance(n, int) for n in node.shape)
    count = len(node.shape) if several else 1
    if len(grad_outputs) != count:
        raise TypeError(f"{node.name()}: expected {count} arguments, one cotangent for each result, got {len(grad_outputs)} instead.")
    for g in grad_outputs:
        if g is not None and not isinstance(g, Tensor):
            raise TypeError(f"{node.name()}: a cotangent must be a Tensor or None, got {type(g).__name__}.")
    if isinstance(node, Leaf):
        _store(node, grad_outputs[0].array, False, False, None)
        return ()
    live = state.recording
    given = [g if g is None or live else g.array for g in grad_outputs]
    pull = pull_operation if type(node) is OpNode else type(node).pull
    parts = pull(node, given if several else given[0], {p for p in node.parents if p is not None}, live)
    results: list[Tensor | None] = [None] * len(node.parents)
    for slot, (_, c) in zip(_slots(node, parts), parts, strict=True):
        results[slot] = _tensor(c)
    return results[0] if len(results) == 1 else tuple(results)


nodes._watched, nodes._run_alone = _watched, _run_alone
