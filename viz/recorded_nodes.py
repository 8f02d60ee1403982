"""What is drawn of an engine's nodes: which of them are operations of their own, what they are
called, and the formulas of their results."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import count
from types import SimpleNamespace
from typing import Any, cast

from minigrad.viz.texts import Words

from minigrad.core.graph import Node, OpNode, Pick
from minigrad.core.primitive import Primitive
from minigrad.core.tensor import Leaf
from minigrad.nn import Parameter
from minigrad.watch import notation
from minigrad.watch.values import value as document_value


def called(node: Any) -> str:
    """What the operation of a node is called."""
    if isinstance(node, OpNode):
        return node.primitive.name
    return str(node.name()).removesuffix("0").removesuffix("Backward")


def is_number(array: Any) -> bool:
    """Whether what a rule keeps is one number."""
    return isinstance(array, int | float | complex) or (
        getattr(array, "shape", None) == () and hasattr(array, "dtype")
    )


def stages_of(nodes: Sequence[Any]) -> dict[int, list[OpNode]]:
    """Windows along one axis after another, as a pooling of images makes them, are the stages of
    one operation: by the last of them, oldest first. Each but the last is used by the next alone.
    """
    uses = Counter(id(parent) for node in nodes for parent, _ in node.next_functions)
    runs: dict[int, list[OpNode]] = {}
    for node in nodes:
        if not isinstance(node, OpNode) or not {"axis", "size"} <= node.params.keys():
            continue
        parent = node.next_functions[0][0]
        run = runs.get(id(parent), [])
        alike = run and run[-1].primitive is node.primitive and uses[id(parent)] == 1
        if alike and node.params["axis"] not in {stage.params["axis"] for stage in run}:
            del runs[id(parent)]
            runs[id(node)] = [*run, node]
        else:
            runs[id(node)] = [node]
    return runs


def views_of(nodes: Sequence[Any]) -> dict[int, Any]:
    """Reshapes of a parameter that only add or drop axes of one element, as a layer's bias has
    them to be added to its result: by id, the parameter's leaf and the shape."""
    found: dict[int, Any] = {}
    for node in nodes:
        if not isinstance(node, OpNode) or node.params.keys() != {"shape"}:
            continue
        parent = node.next_functions[0][0]
        leaf = found.get(id(parent), parent)
        axes = [[n for n in one.shape if n != 1] for one in (node, leaf)] if leaf else []
        if isinstance(leaf, Leaf) and isinstance(leaf.variable, Parameter) and axes[0] == axes[1]:
            found[id(node)] = leaf
    return found


def settings(stages: Sequence[Any], whole: bool = False) -> Iterator[tuple[str, Any]]:
    """The settings of an operation: where its stages have different ones, or as a whole, those of
    each axis, the first axis first."""
    inwards = sorted(stages, key=lambda stage: stage.params.get("axis", 0))
    for key, value in stages[0].params.items():
        each = tuple(stage.params[key] for stage in inwards)
        yield key, each if whole or set(map(repr, each)) != {repr(value)} else value


def formula(
    node: Any, stages: Sequence[Any], symbol: Callable[[Any, bool], dict[str, Any]]
) -> list[dict[str, Any]]:
    """The result of a node as the viewer writes it. symbol: the token of an operand, which is a
    node, or what a rule keeps of a value without one; of None, where nothing is known but whether
    it is a single number."""
    number = node.shape == () and isinstance(node, OpNode) and node.primitive.elementwise
    kept: dict[int, Any] = {}
    if isinstance(stages[0], OpNode) and stages[0].plan.keeps_values and stages[0].saved:
        kept = dict(zip(stages[0].plan.sources, stages[0].saved, strict=True))
    operands = [
        symbol(kept.get(slot) if parent is None else parent, number)
        for slot, (parent, _) in enumerate(stages[0].next_functions)
    ]
    if not isinstance(node, OpNode):
        inner = [token for one in operands for token in (notation.op(","), one)][1:]
        return [{"t": "fn", "text": called(node)}, notation.op("("), *inner, notation.op(")")]
    if len(stages) < 2:
        return notation.expression(node.primitive, operands, node.params)
    params = {key: value for key, value in settings(stages, whole=True) if key != "axis"}
    pooling = SimpleNamespace(notation=None, symbol=f"{node.primitive.name}{len(stages)}d")
    return notation.expression(cast("Primitive", pooling), operands, {**params, "windows": None})


class Symbols:
    """What nodes are called in formulas: leaves by their names, operations by numbers in the order
    in which they are asked for."""

    def __init__(
        self,
        nodes: Sequence[Any],
        views: Mapping[int, Any],
        words: Words,
        leaf: Callable[[Any], str | None],
        array: Callable[[Any], str | None] = lambda array: None,
    ) -> None:
        """nodes: all; views: as `views_of` gives them; leaf, array: the names of a leaf and of an
        array in memory, where they have one."""
        self._views, self._words, self.array = views, words, array
        own = {id(node): leaf(node) for node in nodes if isinstance(node, Leaf)}
        self.names = {key: name for key, name in own.items() if name}
        taken = set(self.names.values())
        self._fresh = {letter: _numbered(letter, taken) for letter in "vx"}

    def name(self, node: Any) -> str:
        """The name of a node."""
        if id(node) not in self.names:
            self.names[id(node)] = next(self._fresh["x" if isinstance(node, Leaf) else "v"])
        return self.names[id(node)]

    def operand(self, operand: Any) -> str | None:
        """The name of an operand: a node, or what a rule keeps of a value without one."""
        node = operand.parents[0] if isinstance(operand, Pick) else operand
        if isinstance(node, Node):
            return self.name(self._views.get(id(node), node))
        return None if operand is None else self.array(operand)

    def token(self, operand: Any, number: bool = False) -> dict[str, Any]:
        """The token of an operand. number: whether it is one, where nothing else is known."""
        name = self.operand(operand)
        if name is not None:
            return notation.symbol(name)
        if is_number(operand):
            return notation.num(document_value(operand))
        return {"t": "text", "text": self._words("drawNumber" if number else "drawData")}


def _numbered(letter: str, taken: set[str]) -> Iterator[str]:
    return (name for name in (f"{letter}{i}" for i in count(1)) if name not in taken)


def result_of(closed: Sequence[str], name: str) -> list[str]:
    """The lines of a module's box, the last with the name of its result."""
    return [*closed[:-1], closed[-1].replace("→ ", f"→ {name} ", 1)] if name else list(closed)
