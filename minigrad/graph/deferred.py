"""What has to wait: functions of tensors that are called when the graph runs.

A method or a derivative rule may need to look into a shape that is decided by what is fed. It then
becomes a `LaterOp`: a node whose value is the function's, called on tensors. The eager engine
differentiates it when the graph runs, so its gradient is a LaterOp too (`Pulled`), and so is its
tangent (`Pushed`), to any order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ..core.tensor import Tensor
from ..errors import GraphError
from ..func import jvp as function_jvp
from ..func import vjp as function_vjp
from .equality import same_value
from .inference import SomeFloat, is_differentiable, promoted, unknown_dtype, unknown_shape
from .node import Node, Op, new_node


class LaterOp(Op):
    """A function of tensors that is called when the graph runs. It returns one tensor.

    blind: the positions of inputs of which it looks at shape and dtype only, so that it has no
    derivative by them; recordable: whether it does the same for all values of one shape, so that a
    recording of it is as good as itself.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        label: str,
        blind: frozenset[int] = frozenset(),
        recordable: bool = True,
    ) -> None:
        self.function, self.label, self.blind, self.recordable = function, label, blind, recordable

    def run(self, node: Node, tensors: list[Any]) -> Any:
        result = self.function(*tensors)
        if not isinstance(result, Tensor):
            raise GraphError(
                f"{self.label}: a function in a graph must return one tensor, got"
                f" {type(result).__name__}. Declare the shapes of the Variables to use functions"
                " with several results."
            )
        return result

    def gradient(self, node: Node, output_grad: Any) -> list[Node | None]:
        return self.pull(node, output_grad, [True] * len(node.inputs))

    def pull(self, node: Node, output_grad: Any, wanted: Sequence[bool]) -> list[Node | None]:
        inputs = node.inputs
        out: list[Node | None] = []
        for i, (x, asked) in enumerate(zip(inputs, wanted, strict=True)):
            if not asked or i in self.blind or not is_differentiable(x.dtype_fact):
                out.append(None)
                continue
            made = deferred(
                Pulled(self.function, i), f"pull of {self.label}", *inputs, output_grad, like=self
            )
            made.shape_fact, made.dtype_fact = x.shape_fact, x.dtype_fact
            out.append(made)
        return out

    def tangent(self, node: Node, tangents: Sequence[Node | None]) -> Node | None:
        """The engine's forward mode through the function, when the graph runs."""
        moving = tuple(t is not None and i not in self.blind for i, t in enumerate(tangents))
        if not any(moving):
            return None
        given = [t for t, moves in zip(tangents, moving, strict=True) if t is not None and moves]
        made = deferred(
            Pushed(self.function, moving), f"push of {self.label}", *node.inputs, *given, like=self
        )
        made.shape_fact, made.dtype_fact = node.shape_fact, node.dtype_fact
        return made

    def key(self) -> Any:
        return LaterOp, self.function


def deferred(
    function: Callable[..., Any],
    label: str,
    *nodes: Node,
    blind: frozenset[int] = frozenset(),
    recordable: bool = True,
    like: LaterOp | None = None,
) -> Node:
    """A node that calls `function` on the values of `nodes` when the graph runs. like: take
    `blind` and `recordable` from there.
    """
    if like is not None:
        blind, recordable = like.blind, like.recordable
    found = [n.dtype_fact for n in nodes if is_differentiable(n.dtype_fact)]
    same = bool(found) and all(f == found[0] for f in found)
    dtype = (
        found[0]
        if same
        else promoted(found)
        if any(type(f) is SomeFloat for f in found)
        else unknown_dtype()
    )
    return new_node(
        LaterOp(function, label, blind, recordable), tuple(nodes), {}, unknown_shape(), dtype
    )


def call(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Node:
    """A node whose value is `function(*args, **kwargs)`, called when the graph runs, with tensors
    in the place of the nodes.

    function: any function of tensors that returns one tensor; it is differentiated by the eager
    engine, to any order, when the graph runs. Nodes may stand anywhere in nested lists, tuples and
    dicts. Raises TypeError if there is no node among the arguments.
    """
    nodes = nodes_in((args, kwargs))
    label = getattr(function, "__name__", type(function).__name__)
    if not nodes:
        raise TypeError(f"call({label}, …): no argument is a Node. Call the function itself.")
    return deferred(Arranged(function, args, kwargs), label, *nodes, recordable=False)


class Arranged:
    """A function of some tensors, which it puts into the places that nodes had among the
    arguments of another function.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        args: Sequence[Any],
        kwargs: dict[str, Any] | None = None,
    ) -> None:
        found: list[Node] = []
        self.function = function
        self.args = _with_places(tuple(args), found)
        self.kwargs = _with_places(dict(kwargs or {}), found)

    def __call__(self, *tensors: Any) -> Any:
        return self.function(*_filled(self.args, tensors), **_filled(self.kwargs, tensors))

    def others(self) -> dict[str, Any]:
        """The arguments that are no nodes, by position or name, for a printed graph."""
        given = {**{str(i): a for i, a in enumerate(self.args)}, **self.kwargs}
        return {k: v for k, v in given.items() if not _holds_place(v)}

    def __eq__(self, other: object) -> bool:
        return (
            type(other) is type(self)
            and self.function == other.function
            and same_value((self.args, self.kwargs), (other.args, other.kwargs))
        )

    def __hash__(self) -> int:
        return hash((Arranged, self.function))


class WithParams(Arranged):
    """A primitive whose parameters hold nodes: an index computed by the graph. The tensors'
    arrays take their places.
    """

    def __call__(self, *tensors: Any) -> Any:
        return self.function(
            *_filled(self.args, tensors), **_filled(self.kwargs, [t.array for t in tensors])
        )


@dataclass(frozen=True)
class _ArgumentNumber:
    """Where a node was among the arguments: its number among `nodes_in`."""

    number: int


def _with_places(value: Any, found: list[Node]) -> Any:
    if isinstance(value, Node):
        for place, node in enumerate(found):
            if node is value:
                return _ArgumentNumber(place)
        found.append(value)
        return _ArgumentNumber(len(found) - 1)
    if isinstance(value, dict):
        return {k: _with_places(v, found) for k, v in value.items()}
    if isinstance(value, slice):
        return slice(*(_with_places(v, found) for v in (value.start, value.stop, value.step)))
    if type(value) in (list, tuple):
        return type(value)(_with_places(v, found) for v in value)
    return value


def _holds_place(value: Any) -> bool:
    if isinstance(value, dict):
        value = list(value.values())
    return type(value) is _ArgumentNumber or (
        isinstance(value, list | tuple) and any(_holds_place(v) for v in value)
    )


def _filled(value: Any, tensors: Sequence[Any]) -> Any:
    if type(value) is _ArgumentNumber:
        return tensors[value.number]
    if isinstance(value, dict):
        return {k: _filled(v, tensors) for k, v in value.items()}
    if type(value) in (list, tuple):
        return type(value)(_filled(v, tensors) for v in value)
    return value


def nodes_in(value: Any) -> list[Node]:
    """The nodes in nested lists, tuples and dicts, each once, in order."""
    found: list[Node] = []
    _with_places(value, found)
    return found


def holds_node(value: Any) -> bool:
    return isinstance(value, Node) or (
        isinstance(value, tuple | list) and any(holds_node(v) for v in value)
    )


@dataclass(frozen=True)
class Pulled:
    """The vector-Jacobian product of `function` by its argument `index`: a function of the same
    arguments and a cotangent.
    """

    function: Callable[..., Any]
    index: int

    def __call__(self, *values: Any) -> Any:
        *inputs, g = values
        partial = lambda x: self.function(*inputs[: self.index], x, *inputs[self.index + 1 :])
        _, pull = function_vjp(partial, inputs[self.index])
        return pull(g)[0]


@dataclass(frozen=True)
class Pushed:
    """The Jacobian-vector product of `function`: a function of its arguments and of a tangent
    for each that is `moving`.
    """

    function: Callable[..., Any]
    moving: tuple[bool, ...]

    def __call__(self, *values: Any) -> Any:
        inputs, tangents = values[: len(self.moving)], values[len(self.moving) :]

        def partial(*moved: Any) -> Any:
            given = iter(moved)
            return self.function(
                *(next(given) if moves else x for x, moves in zip(inputs, self.moving, strict=True))
            )

        points = tuple(x for x, moves in zip(inputs, self.moving, strict=True) if moves)
        return function_jvp(partial, points, tuple(tangents))[1]
