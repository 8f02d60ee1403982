"""PyTorch's methods on graph nodes: hooks before and after a rule, and what is known of a node.

A node without such hooks must not pay for them, not even with a question. So the question is not
asked: a node that gets its first hook becomes a node of another class, whose `pull` runs the hooks
(the backward pass runs the `pull` of every class but `OpNode`, whose rules it knows, and the
`store` of every leaf). Everything that refers to the node stays as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ..backend import DType, Shape, canonical
from ..core.backward import pull_operation
from ..core.graph import Node, OpNode, Pick, state
from ..core.tensor import Gradients, Leaf, Tensor, alias, wrap
from ..errors import AutogradError, ShapeError
from ..hook_handle import HookHandle
from ..names import attach


class Extras:
    """What few nodes have.

    before, after: the hooks that see all cotangents of an operation before and after its rule runs;
    after_sum: of a leaf, the hooks that wait for the sum in `.grad`; metadata: the user's own.
    """

    __slots__ = ("after", "after_sum", "before", "metadata")

    def __init__(self) -> None:
        self.before: dict[int, Callable[..., Any]] = {}
        self.after: dict[int, Callable[..., Any]] = {}
        self.after_sum: dict[int, Callable[..., Any]] = {}
        self.metadata: dict[Any, Any] = {}


def extras_of(node: Node) -> Extras:
    """A node's extras, made on first use."""
    extras: Extras | None = getattr(node, "extras", None)
    if extras is None:
        extras = node.extras = Extras()
    return extras


_classes: dict[type[Node], type[Node]] = {}


def with_hooks(kind: type[Node]) -> type[Node]:
    """The class of nodes that are as `kind`, with hooks before and after their rule."""
    made = _classes.get(kind)
    if made is None:
        base: type = _HookedLeaf if issubclass(kind, Leaf) else _Hooked
        body = {"__slots__": (), "plain": kind, "__module__": kind.__module__}
        made = _classes[kind] = type(kind.__name__, (base, kind), body)
    return made


def become(node: Node, kind: type[Node]) -> None:
    """Change the class of a node and keep its hooks."""
    node.__class__ = with_hooks(kind) if node.calls_hooks else kind


def extras_with_hooks(node: Node) -> Extras:
    """The extras of a node (a Pick's operation) whose hooks are to be called from now on."""
    if isinstance(node, Pick):
        node = node.operation
    if not isinstance(node, _Hooked | _HookedLeaf):
        node.__class__ = with_hooks(type(node))
    return extras_of(node)


class _Hooked:
    """What the classes of operations' nodes with hooks have in common."""

    __slots__ = ()

    plain: type[Any]
    calls_hooks = True

    def pull(self, g: Any, needed: Any, on_tensors: bool) -> list[tuple[Node, Any]]:
        """The node's own pull between its hooks: (parent, contribution) for each parent in
        `needed`."""
        node: Any = self
        extras = extras_of(node)
        single = not isinstance(g, list)
        given = [g] if single else g
        if extras.before:
            given = _shown(node, extras.before, given, "prehook", "grad_outputs")
            g = given[0] if single else given
        pull = pull_operation if self.plain is OpNode else self.plain.pull
        parts: list[tuple[Node, Any]] = pull(node, g, needed, on_tensors)
        if not extras.after:
            return parts
        slots = _slots(node, parts)
        values: list[Any] = [None] * len(node.parents)
        for slot, (_, c) in zip(slots, parts, strict=True):
            values[slot] = c
        outputs = tuple(_tensor(x) for x in given)
        values = _shown(node, extras.after, values, "hook", "grad_inputs", outputs)
        return [(parent, values[slot]) for slot, (parent, _) in zip(slots, parts, strict=True)]


class _HookedLeaf:
    """A leaf has no rule; its hooks stand before and after the sum into `.grad`."""

    __slots__ = ()

    plain: type[Any]

    @property
    def calls_post_hooks(self) -> bool:
        """Whether hooks wait for the gradient to be stored: the tensor's or the node's."""
        leaf: Any = self
        extras = extras_of(leaf)
        return bool(extras.after_sum or extras.before or extras.after)

    def store(self, g: Any, create_graph: bool, stored: Gradients | None) -> None:
        """Run the hooks that see the complete cotangent, which they may replace; add it to `.grad`;
        then run the hooks that were waiting for that: the tensor's and those of its node, which
        have nothing to replace.

        As in PyTorch, what the latter see shares the memory of a `.grad` that this pass was the
        first to put there.
        """
        leaf: Any = self
        tensor = leaf.variable
        if tensor.node is None:
            return  # requires_grad was switched off since
        extras = extras_of(leaf)
        first = tensor.stored_grad is None
        if extras.before:
            (g,) = _shown(leaf, extras.before, [g], "prehook", "grad_outputs")
        Leaf.store(leaf, g, create_graph, stored)
        grad = tensor.stored_grad
        shown = _tensor(g)
        if first and extras.after and grad is not None and grad.node is None:
            shown = alias(grad)
        for hook in list(extras.after_sum.values()):
            if hook(tensor) is not None:
                raise AutogradError(
                    "post-accumulate gradient hooks should return None: there is nothing for their"
                    " result to replace."
                )
        for hook in list(extras.after.values()):
            hook((), (shown,))


def _slots(node: Any, parts: Sequence[tuple[Node, Any]]) -> list[int]:
    """The input position of each contribution; they come in the order of the inputs, some of which
    have none."""
    slots, position = [], 0
    for parent, _ in parts:
        while node.parents[position] is not parent or (
            isinstance(node, OpNode) and node.primitive.pull_rule(position) is None
        ):
            position += 1
        slots.append(position)
        position += 1
    return slots


def _tensor(g: Any) -> Tensor | None:
    return g if g is None or isinstance(g, Tensor) else wrap(canonical(g))


def _shown(
    node: Node,
    hooks: dict[int, Callable[..., Any]],
    values: Sequence[Any],
    kind: str,
    what: str,
    *more: Any,
) -> list[Any]:
    """The values after all hooks, each of which may have replaced them: arrays stay arrays, tensors
    tensors."""
    before = tuple(_tensor(v) for v in values)
    shown = before
    for hook in list(hooks.values()):
        replaced = hook(shown, *more)
        if replaced is not None:
            shown = _checked(f"a {kind} of {node.name()}", what, shown, replaced)
    return [
        v if new is old else new.array if new is not None and not isinstance(v, Tensor) else new
        for v, old, new in zip(values, before, shown, strict=True)
    ]


def _checked(hook: str, what: str, shown: tuple[Any, ...], replaced: Any) -> tuple[Any, ...]:
    """What a hook returned, as a tuple that can stand in the place of what it was shown. Raises
    TypeError, RuntimeError, ShapeError."""
    if isinstance(replaced, Tensor) and len(shown) == 1:
        replaced = (replaced,)
    if not isinstance(replaced, tuple):
        raise TypeError(
            f"{hook} returned {type(replaced).__name__}; return None, or a tuple in the place of"
            f" {what}."
        )
    if len(replaced) != len(shown):
        raise RuntimeError(
            f"{hook} returned {len(replaced)} values in the place of {len(shown)} {what}; return"
            " one for each."
        )
    for i, (old, new) in enumerate(zip(shown, replaced, strict=True)):
        if new is None or new is old:
            continue
        if not isinstance(new, Tensor):
            raise TypeError(
                f"{hook} returned {type(new).__name__} as number {i} of {what}; return a Tensor or"
                " None."
            )
        if old is None:
            raise RuntimeError(
                f"{hook} returned a tensor as number {i} of {what}, where there is no gradient;"
                " return None there."
            )
        if new.shape != old.shape:
            raise ShapeError(
                f"{hook} changed the shape of number {i} of {what} from {old.shape} to {new.shape};"
                " it must stay."
            )
        if new.dtype != old.dtype:
            raise RuntimeError(
                f"{hook} changed the dtype of number {i} of {what} from {old.dtype} to {new.dtype};"
                " it must stay."
            )
    return replaced


# ------------------------------------------------------------------------ methods of all nodes


def register_tensor_hook(self: Node, hook: Callable[[Any], Any]) -> HookHandle:
    """Call `hook(cotangent)` when this value's cotangent is complete; a returned tensor replaces
    it. (`Tensor.register_hook`.)"""
    if self.hooks is None:
        self.hooks = {}
    return HookHandle(self.hooks, hook)


def register_prehook(self: Node, hook: Callable[[Any], Any]) -> HookHandle:
    """Call `hook(grad_outputs)` before a reverse pass runs this node's rule.

    grad_outputs: a tuple with the cotangent of each of the operation's results (None where there is
    none). A returned tuple replaces it. Hooks of the results themselves (`Tensor.register_hook`)
    have run by then. Returns a handle with `.remove()`.
    """
    return HookHandle(extras_with_hooks(self).before, hook)


def register_hook(self: Node, hook: Callable[[Any, Any], Any]) -> HookHandle:
    """Call `hook(grad_inputs, grad_outputs)` after a reverse pass has run this node's rule.

    grad_inputs: a tuple with what the rule gave for each input, in the order of `next_functions`
    (None where nothing was wanted; empty for a leaf); grad_outputs: what it was given. A returned
    tuple replaces grad_inputs. Returns a handle with `.remove()`.
    """
    return HookHandle(extras_with_hooks(self).after, hook)


def run_alone(self: Node, *grad_outputs: Any) -> Any:
    """Run the rule of this node alone: a cotangent for each of the operation's results (or None) to
    one for each input (or None).

    One input: a Tensor, not a tuple. A leaf adds its cotangent to `.grad` and returns (). What is
    computed is recorded, if recording is on. Raises TypeError for another number of cotangents.
    """
    node: Any = self.operation if isinstance(self, Pick) else self
    several = _has_several_results(node)
    count = len(node.shape) if several else 1
    if len(grad_outputs) != count:
        raise TypeError(
            f"{node.name()}: expected {count} arguments, one cotangent for each result, got"
            f" {len(grad_outputs)} instead."
        )
    for g in grad_outputs:
        if g is not None and not isinstance(g, Tensor):
            raise TypeError(
                f"{node.name()}: a cotangent must be a Tensor or None, got {type(g).__name__}."
            )
    if isinstance(node, Leaf):
        node.store(grad_outputs[0].array, False, None)
        return ()
    on_tensors = state.recording
    given = [g if g is None or on_tensors else g.array for g in grad_outputs]
    pull = pull_operation if type(node) is OpNode else type(node).pull
    needed = {p for p in node.parents if p is not None}
    parts = pull(node, given if several else given[0], needed, on_tensors)
    results: list[Tensor | None] = [None] * len(node.parents)
    for slot, (_, c) in zip(_slots(node, parts), parts, strict=True):
        results[slot] = _tensor(c)
    return results[0] if len(results) == 1 else tuple(results)


def _has_several_results(node: Node) -> bool:
    """Whether a node stands for several results, which have a Pick each."""
    return isinstance(node.shape, tuple) and any(not isinstance(n, int) for n in node.shape)


def _next_functions(self: Node) -> tuple[tuple[Node | None, int], ...]:
    """The parents as (node, output index) pairs, as PyTorch shows them. A Pick is transparent:
    these are the parents of its operation."""
    node = self.operation if isinstance(self, Pick) else self
    return tuple((p.operation, p.index) if isinstance(p, Pick) else (p, 0) for p in node.parents)


def _metadata(self: Node) -> dict[Any, Any]:
    """A dictionary for the user's own notes about this node (a Pick's operation), which lives as
    long as the node does."""
    return extras_of(self.operation if isinstance(self, Pick) else self).metadata


class ResultMetadata(NamedTuple):
    """Shape and dtype of an operation's result (None for one without a derivative)."""

    shape: Shape
    dtype: DType


def _input_metadata(self: Any) -> tuple[ResultMetadata, ...]:
    """What is known of each of the operation's results, whose cotangents come in here."""
    if _has_several_results(self):
        return tuple(map(ResultMetadata, self.shape, self.dtype))
    return (ResultMetadata(self.shape, self.dtype),)


def _sequence_nr(self: Node) -> int:
    """The running number by which the reverse pass orders nodes: the younger, the sooner."""
    return self.sequence_number


def _refuse_copy(self: Node, memo: dict[int, Any]) -> Node:
    raise TypeError("a graph cannot be copied. Copy a detached tensor: x.detach().clone().")


def _refuse_pickling(self: Node) -> Any:
    raise TypeError("a graph cannot be pickled. Save a detached tensor instead: x.detach().")


for _name, _member in {
    "__copy__": lambda self: self,
    "__deepcopy__": _refuse_copy,
    "__reduce__": _refuse_pickling,
    "register_tensor_hook": register_tensor_hook,
    "register_prehook": register_prehook,
    "register_hook": register_hook,
    "__call__": run_alone,
    "next_functions": property(_next_functions, doc=_next_functions.__doc__),
    "metadata": property(_metadata, doc=_metadata.__doc__),
    "_input_metadata": property(_input_metadata, doc=_input_metadata.__doc__),
    "_sequence_nr": _sequence_nr,
}.items():
    attach(_name, _member, Node)
