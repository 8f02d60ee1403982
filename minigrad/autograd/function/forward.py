"""A Function's way forward: run the user's `forward` unrecorded, then give each of its results the
right place in the graph.

Besides a new tensor, a result may be an argument returned as it is, an argument that was
overwritten, a view, or a tensor without derivative. The graph is built for each of them so that
later gradients are right or raise an error.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...backend import Array
from ...core.forward import nodes_with_tangents
from ...core.graph import Node, state
from ...core.tensor import Leaf, Tensor, alias, current_node, ensure_version, wrap
from ...core.views import View, assign
from ...errors import AutogradError, InPlaceError
from .context import FunctionCtx, Saved, contains
from .jvp import Tangents, may_have_history, push_through
from .node import FunctionNode

if TYPE_CHECKING:
    from .function import Function


def bound(
    cls: type[Function], args: tuple[Any, ...], kwargs: dict[str, Any], split: bool
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Arguments by position; what remains by keyword are forward's keyword-only parameters,
    which have no gradient.
    """
    signature = inspect.signature(cls.forward)
    bound = signature.bind(*args, **kwargs) if split else signature.bind(None, *args, **kwargs)
    if split:
        bound.apply_defaults()
    for name, value in bound.kwargs.items():
        if isinstance(value, Tensor) and current_node(value) is not None:
            raise AutogradError(
                f"{cls.__name__}.apply: the keyword-only argument {name!r} requires grad, but only"
                " positional ones get gradients."
            )
    if split and bound.kwargs:
        raise AutogradError(
            f"{cls.__name__}: setup_context sees positional arguments only; let forward take"
            f" {sorted(bound.kwargs)} by position."
        )
    return (bound.args if split else bound.args[1:]), bound.kwargs


def run(cls: type[Function], args: tuple[Any, ...], options: dict[str, Any], split: bool) -> Any:
    """Run `forward` (and, if `split`, `setup_context`) and put the results into the graph.
    Returns what the user gets.
    """
    name, recording = cls.__name__, state.recording
    parents = tuple(current_node(a) if isinstance(a, Tensor) else None for a in args)
    tangents: list[Tangents] = [a.tangents if isinstance(a, Tensor) else None for a in args]
    ctx = FunctionCtx(name, args)
    ctx.needs_input_grad = tuple(p is not None for p in parents)
    versions = [a._version if isinstance(a, Tensor) else 0 for a in args]
    raw = _computed(cls, ctx, args, options, split)
    several = isinstance(raw, tuple)
    results: tuple[Any, ...] = raw if several else (raw,)
    _check_results(name, ctx, results)
    if recording:
        _check_unmarked_changes(name, ctx, args, versions)
    node = (
        FunctionNode(cls, ctx, args, parents) if recording and any(ctx.needs_input_grad) else None
    )
    if node is not None:
        node.settle(results, several)
    outs: list[Any] = []
    for index, result in enumerate(results):
        if not isinstance(result, Tensor):
            outs.append(result)
            continue
        alike = [i for i, r in enumerate(results) if r is result]
        if contains(args, result) and not contains(
            ctx._dirty, result
        ):  # each return of an argument is an alias of its own
            alike = [index]
        if (
            alike[0] < index
        ):  # a tensor returned twice is one result, whose uses share the last place: PyTorch's rule
            outs.append(outs[alike[0]])
        else:
            outs.append(_output(name, ctx, args, node, alike[-1], result))
    same = [(r, o) for r, o in zip(results, outs, strict=True) if isinstance(r, Tensor)]
    levels = sorted({k for t in tangents if t for k in t}.intersection(state.levels))
    if levels:
        push_through(cls, ctx, args, tangents, outs, same, levels)
    for result, out in same:
        base = _base_of(result, out)
        if base is not None and not contains(ctx._dirty, result) and may_have_history(ctx, result):
            as_function_view(name, out, base)
    if node is not None:
        ctx._saved = tuple(
            None if t is None else _save(t, ctx, args, parents, outs, same) for t in ctx._kept
        )
        if levels:
            node.saved_tangents = tuple(
                _saved_tangents(t, ctx, args, tangents, same) for t in ctx._kept
            )
            nodes_with_tangents[levels[0]].add(node)
    ctx._inputs = ctx._kept = ctx._dirty = ctx._constant = ()
    ctx._pushed = None
    return tuple(outs) if several else outs[0]


def _computed(
    cls: type[Function],
    ctx: FunctionCtx,
    args: tuple[Any, ...],
    options: dict[str, Any],
    split: bool,
) -> Any:
    """What the user's forward returns, computed with recording off and all levels of forward
    mode hidden.
    """
    before = state.recording, state.levels
    state.recording, state.levels = False, ()
    try:
        if not split:
            return cls.forward(ctx, *args, **options)
        raw = cls.forward(*args, **options)
        cls.setup_context(ctx, args, raw)
        return raw
    finally:
        state.recording, state.levels = before


def _check_unmarked_changes(
    name: str, ctx: FunctionCtx, args: Sequence[Any], versions: Sequence[int]
) -> None:
    for position, (a, version) in enumerate(zip(args, versions, strict=True)):
        if ctx.needs_input_grad[position] and a._version != version and not contains(ctx._dirty, a):
            raise InPlaceError(
                f"{name}.forward modified argument {position} in place without saying so. Call"
                " ctx.mark_dirty with it and return it."
            )


def _check_results(name: str, ctx: FunctionCtx, results: Sequence[Any]) -> None:
    for result in results:
        if isinstance(result, list) and any(isinstance(r, Tensor) for r in result):
            raise AutogradError(
                f"{name}.forward returned a list of tensors; return a tuple, or their gradients"
                " would be lost."
            )
    for tensor in ctx._dirty:
        if not contains(results, tensor):
            raise InPlaceError(
                f"{name}: an input was marked dirty but not returned. Every input that forward"
                " modifies in place must be an output too."
            )


def _output(
    name: str,
    ctx: FunctionCtx,
    args: Sequence[Any],
    node: FunctionNode | None,
    index: int,
    result: Tensor,
) -> Tensor:
    """A result in its place in the graph: the tensor itself, or an alias of it where the tensor has
    a history of its own."""
    place = node.place(index) if node is not None and may_have_history(ctx, result) else None
    if contains(ctx._dirty, result):
        assign(result, wrap(result.array, place), f"{name} (mark_dirty)")
        return result
    foreign = contains(args, result) or result.node is not None or result.tangents is not None
    out = alias(result) if foreign else result
    out.node = place
    return out


def _base_of(result: Tensor, out: Tensor) -> Tensor | None:
    """The tensor whose memory an output looks into: the result's base if that is a view, the result
    if the output is an alias of it, else None.
    """
    if result.view_of is not None and not isinstance(current_node(result), Leaf):
        base: Tensor = result.view_of.base
        return base
    return None if out is result else result


def _save(
    tensor: Tensor,
    ctx: FunctionCtx,
    args: Sequence[Any],
    parents: Sequence[Node | None],
    outs: Sequence[Any],
    same: Any,
) -> Saved:
    """A saved tensor's record. An argument that was returned as it is counts as the argument,
    one that was overwritten as the output.
    """
    if not contains(args, tensor) or contains(ctx._dirty, tensor):
        for result, out in same:
            if tensor is result:
                index = next(i for i, o in enumerate(outs) if o is out)
                return Saved(out, None, index if out.node is not None else None)
    for argument, parent in zip(args, parents, strict=True):
        if tensor is argument:
            return Saved(tensor, parent, None)
    return Saved(tensor, current_node(tensor), None)


def _saved_tangents(
    tensor: Tensor | None,
    ctx: FunctionCtx,
    args: Sequence[Any],
    tangents: Sequence[Tangents],
    same: Any,
) -> Tangents:
    if tensor is None:
        return None
    if not contains(args, tensor) or contains(ctx._dirty, tensor):
        for result, out in same:
            if tensor is result:
                found: Tangents = out.tangents
                return found
    return next((t for a, t in zip(args, tangents, strict=True) if a is tensor), tensor.tangents)


# --------------------------------------------------------------------------- outputs that are views


class FunctionView:
    """The only step from a base to a view that a Function returned: the Function's own result, as
    long as the base's history is what it was then.

    Views of ordinary operations rebuild their history after an in-place change by replaying their
    steps; that would bypass the user's backward.
    """

    __slots__ = ("array", "base_place", "function_name", "place", "tangents")

    def __init__(self, function_name: str, base: Tensor, out: Tensor) -> None:
        self.function_name, self.base_place = function_name, base.node
        self.array, self.place, self.tangents = out.array, out.node, out.tangents

    def __call__(self, base: Tensor) -> Tensor:
        if base.node is not self.base_place:
            raise InPlaceError(
                f"an output of {self.function_name} is a view (an argument was returned as it is,"
                " or forward returned a view), and the memory that it looks into was modified in"
                " place since. Its history would go around the Function's own backward. Return a"
                " .clone() from forward, or use the out-of-place form."
            )
        return wrap(self.array, self.place, self.tangents)

    def forward(self, xp: Any, base: Array) -> Array:
        """Replacing a region of the base through this view is not possible."""
        raise InPlaceError(
            f"an output of {self.function_name} is a view and cannot be modified in place. Modify a"
            " .clone()."
        )


def as_function_view(name: str, out: Tensor, base: Tensor) -> None:
    version = ensure_version(out)
    out.view_of = View(base, None, (FunctionView(name, base, out), {}), version.count, "function")  # type: ignore[arg-type]
