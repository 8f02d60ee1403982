"""`tensor.draw_graph()`: the graph that the engine recorded behind a tensor, as a
`graphviz.Digraph`.

    from minigrad import viz
    z = (x.T - x.exp()).pow(2).sum()
    z.draw_graph()                         shown by a notebook; .render("model.gv") writes model.gv
                                           and model.gv.svg

The drawing shows what the engine keeps between forward and backward: one node per operation, the
values that its rules will need, and pointers to the nodes of its inputs. Its cards, formulas and
edges are those of the viewer, with the values saved for backward; arrows point in the direction of
the forward pass, and backward walks against them. Unlike the other pictures, which
read a Trace, this one reads the engine's nodes: it works after the fact, for a graph that was not
observed.

The name `draw_graph` is Autogradlib's, and so is the result, for which the package graphviz must be
installed: a DOT text, in which operations have their names instead of formulas.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from textwrap import wrap
from typing import Any

from minigrad.viz.draw_module import WIDE, ModuleCall, about, draw_module
from minigrad.viz.draw_program import draw_program, draw_symbols
from minigrad.viz.drawing import digraph, require_graphviz, setting, to_svg, write
from minigrad.viz.drawn_graph import DrawnBox, DrawnGraph
from minigrad.viz.layers import layers
from minigrad.viz.numbers import short
from minigrad.viz.recorded_nodes import (
    Symbols,
    called,
    formula,
    is_number,
    result_of,
    settings,
    stages_of,
    views_of,
)
from minigrad.viz.tensor_names import TensorNames, variables
from minigrad.viz.texts import Words, words
from minigrad.viz.traversal import oldest_first

from minigrad.backend import to_numpy
from minigrad.core.graph import Node, OpNode, Pick
from minigrad.core.primitive import OUTPUT
from minigrad.core.tensor import Leaf, Tensor
from minigrad.errors import NoGradientError
from minigrad.graph import Node as Symbol
from minigrad.nn import Module, Parameter
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
        kind = f"{type(thing).__module__}.{type(thing).__name__}".removeprefix("builtins.")
        of_torch = "; viz.show draws what is PyTorch's" if kind.startswith("torch.") else ""
        raise TypeError(
            "draw_graph: expected a Tensor, a Module, a Program or nodes of a static graph of"
            f" minigrad, got {kind}{of_torch}"
        )
    if fold is not None and not isinstance(fold, Module):
        raise TypeError(
            f"draw_graph: fold= takes the model whose layers become boxes, not a"
            f" {type(fold).__name__}"
        )
    return _history(thing, TensorNames([names or {}, *variables(sys._getframe(1))]), limit, fold, t)


def _history(tensor: Tensor, known: TensorNames, limit: int, fold: Module | None, t: Words) -> Any:
    """The graph behind a tensor."""
    require_graphviz()  # before any work: without the package there is nothing to draw with
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
    drawn, stages, views = DrawnGraph(t), stages_of(nodes), views_of(nodes)
    number = {id(node): f"n{i}" for i, node in enumerate(nodes)}
    hidden = _fold(drawn, nodes, number, fold, t) if fold is not None else set()
    for last, run in stages.items():
        hidden |= {id(node) for node in run[:-1]}
        number |= dict.fromkeys(map(id, run), number[last])
    for view, leaf in views.items():
        if id(leaf) in number and id(leaf) not in hidden:
            hidden.add(view)
            number[view] = number[id(leaf)]
    shown = [node for node in nodes if id(node) not in hidden]
    symbols = Symbols(nodes, views, t, known.of_node, known.of_array)
    for node in shown:
        run = stages.get(id(node), [node])
        read_as = [one.shape for one in nodes if views.get(id(one)) is node and id(one) in hidden]
        box = drawn.boxes[number[id(node)]] = DrawnBox(_head(node, run, known, t))
        box.shape, box.result = _of_one(node), node is root
        single = node is root and tensor.array.size == 1 and not isinstance(node, Leaf)
        value = _value(tensor.array) if single else ""
        more = [f"→ {tuple(shape)}" for shape in dict.fromkeys(read_as)]
        facts = _facts(node)
        box.lines = [*box.lines, *filter(None, [", ".join(filter(None, (value, facts)))]), *more]
        facts, own = facts if box.shape else "", ""
        if isinstance(node, Leaf):
            box.kind = "param" if isinstance(node.variable, Parameter) else "input"
            value = _value(node.variable.array) if not node.shape else value
        else:
            box.formula, own = formula(node, run, symbols.token), known.of_node(node) or ""
        box.name = symbols.name(node)
        box.small = [*filter(None, [" · ".join(filter(None, (own, value, facts)))]), *more]
    for node in nodes:
        box = drawn.boxes[number[id(node)]] if id(node) in number else None
        if box is not None and box.kind == "group" and id(node) in symbols.names:
            box.small = result_of(box.lines[1:], symbols.names[id(node)])
    runs = [(drawn.boxes[number[id(node)]], stages.get(id(node), [node])) for node in shown]
    _add_saved(runs, drawn.boxes[number[id(root)]], symbols, t)
    drawn.edges = [
        (number[id(parent)], number[id(node)])
        for node in nodes
        for parent, _ in (node.next_functions if id(node) not in views else ())
        if id(parent) in number and number[id(parent)] != number[id(node)]
    ]
    return digraph(drawn)


def _fold(
    drawn: DrawnGraph, nodes: list[Any], number: dict[int, str], model: Module, t: Words
) -> set[int]:
    """Adds a box for each layer of the model in the graph, and gives its operations the layer's
    number; a parameter that layers alone read loses its own. Returns the nodes that are not drawn.
    """
    inside: set[int] = set()
    for layer in layers(nodes, model):
        last = layer.nodes[-1]
        inside |= {id(node) for node in layer.nodes}
        number |= dict.fromkeys(map(id, layer.nodes), number[id(last)])
        call = ModuleCall(layer.path, layer.module, 0, shape=str(tuple(last.shape)))
        drawn.boxes[number[id(last)]] = DrawnBox(about(call, t), kind="group", shape=last.shape)
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


def _head(node: Node, stages: Sequence[Any], known: TensorNames, t: Words) -> list[str]:
    """The first lines of a node's label: a leaf's name; an operation with its settings."""
    name = known.of_node(node)
    if isinstance(node, Leaf):
        return [name or t("drawLeaf")]
    head = called(node)
    if isinstance(node, OpNode):
        said = ", ".join(
            f"{key}={setting(key, value, 4 * WIDE)}"
            for key, value in settings(stages)
            if value is not False and value is not None
        )
        head += f"({said})" if said else ""
    return wrap(f"{name} = {head}" if name else head, WIDE)


def _facts(node: Any) -> str:
    """The shape and the dtype of a node's value."""
    return _shape(node.shape, node.dtype) if hasattr(node, "shape") else ""


def _of_one(node: Any) -> Any:
    """The shape of a node's value, none of several."""
    return getattr(node, "shape", ()) if not isinstance(getattr(node, "dtype", ()), tuple) else ()


def _add_saved(
    runs: Sequence[tuple[DrawnBox, Sequence[Any]]], root: DrawnBox, symbols: Symbols, t: Words
) -> None:
    """What operations save, in their labels and on their cards: there by the names of the formula.
    Where all of it is freed, the result says so. runs: the boxes, each with its stages."""
    stages = [stage for _, run in runs for stage in run if isinstance(stage, OpNode)]
    keepers = [stage for stage in stages if stage.plan.keeps_values]
    if keepers and all(stage.saved is None for stage in keepers):
        return _add(root, [t("drawAllFreed")])
    for box, run in runs:
        in_label = _saved(run, lambda parent, array: symbols.array(array), None, t)
        of_card = lambda parent, array: symbols.operand(parent or array)
        _add(box, in_label, _saved(run, of_card, box.name, t))


def _add(box: DrawnBox, lines: list[str], small: list[str] | None = None) -> None:
    """Lines more, in the label and on the card."""
    box.lines = [*box.lines, *lines]
    if box.small is not None:
        box.small = [*box.small, *(lines if small is None else small)]


def _saved(
    stages: Sequence[Any],
    name: Callable[[Any, Any], str | None],
    result: str | None,
    t: Words,
) -> list[str]:
    """A line for each array that the stages of an operation keep for backward, "saves y = 5".
    name: that of an operand by its node and by what is kept of it; result: that of the result.
    """
    lines = []
    for stage in stages:
        if not isinstance(stage, OpNode) or not stage.plan.keeps_values:
            continue
        if stage.saved is None:
            lines.append(t("drawFreed"))
            continue
        kept = dict(zip(stage.plan.sources, stage.saved, strict=True))
        inputs = sorted(source for source in kept if source > OUTPUT)
        for source in inputs:
            parent, array = stage.parents[source], kept[source]
            place = t("drawInput" if len(stage.parents) == 1 else "drawInputOf", n=source + 1)
            # what a stage reads of the one before has no name
            called = name(parent, array) if stage is stages[0] else place
            unnamed = place if parent is not None else "" if is_number(array) else t("drawData")
            lines.append(t("drawSaves", what=_with_value(called or unnamed, array)))
        if OUTPUT in kept:
            called = (result if stage is stages[-1] else None) or t("drawResult")
            lines.append(t("drawSaves", what=_with_value(called, kept[OUTPUT])))
    return list(dict.fromkeys(lines))


def _with_value(name: str, array: Any) -> str:
    """y = 5, or y: (3, 3) float32; of a number without a name, the number."""
    few = 0 < getattr(array, "size", 1) <= FEW
    return f"{name}{' = ' if few else ': '}{_value(array)}" if name else _value(array)


def _value(array: Any) -> str:
    """A number as itself, a few numbers as a list, anything larger by its shape and dtype."""
    if isinstance(array, tuple) and any(hasattr(one, "dtype") for one in array):
        return ", ".join(map(_value, array))
    if not hasattr(array, "dtype"):
        if is_number(array):
            return _number(array)
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
