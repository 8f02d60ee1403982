"""The backward loop for the usual node: one real result, arrays, no hooks, no observers.

A small operation costs less than the questions that the general loop asks about it, so here each is
asked once, and all work is done without a call. A cotangent whose buffer belongs to the pass alone
("owned") is added to in place, and becomes a leaf's `.grad` without a copy. Everything else goes to
`Pass.visit`.
"""

from __future__ import annotations

from typing import Any

from ..backend import NumpyArray, float32, float64, numpy
from ..core import primitive
from ..core.backward import Pass, check_contribution
from ..core.graph import Node, OpNode, Pick
from ..core.observe import observers
from ..core.tensor import Leaf


def run_pass(graph_pass: Pass) -> None:
    """What `core.backward.run_pass` does. (Long: a call for each node is what it saves.)"""
    cotangents, needed, targets = graph_pass.cotangents, graph_pass.needed, graph_pass.targets
    owned: set[Node] = set()
    general = graph_pass.on_tensors
    sum_to = primitive.registry["sum_to"]
    node: Any
    for node in graph_pass.order:
        g = cotangents.pop(node, None)
        if g is None:
            continue
        if (
            general
            or node.hooks
            or node.retained is not None
            or observers
            or (targets is not None and node in targets)
        ):
            graph_pass.visit(node, g)
            continue
        if type(node) is not OpNode or (node.dtype is not float32 and node.dtype is not float64):
            if type(node) is Leaf:
                if graph_pass.accumulate and node.stores_grad:
                    node.store(g, False, graph_pass.stored, node in owned)
            elif type(node) is Pick or isinstance(node, Leaf):
                graph_pass.visit(node, g)
            else:
                _pull(graph_pass, node, g, owned)
            continue
        values = node.saved
        if values is None:
            values = node.values()
        for _, version, number in node.versions:
            if version.count != number:
                node.values()  # raises
        parents, unbroadcast = node.parents, node.unbroadcast
        rules: Any = node.primitive.pull_rules
        for index, number, where in node.plan.rule_calls:
            parent = parents[index]
            if parent not in needed:
                continue
            rule = rules[number]
            if rule.keywords:
                named = rule.keyword_arguments(node.params, index)
                c = rule.function(g, *[values[k] for k in where], **named)
            elif not where:  # most rules ask for nothing, or for one value
                c = rule.function(g)
            elif len(where) == 1:
                c = rule.function(g, values[where[0]])
            else:
                c = rule.function(g, *[values[k] for k in where])
            if unbroadcast is not None and unbroadcast[index] is not None:
                shape = unbroadcast[index]
                if type(c) is NumpyArray:
                    c = sum_to.forward(numpy, c, shape=shape)
                else:
                    c = sum_to(c, shape=shape)
            try:
                fits = c.dtype is parent.dtype and c.shape == parent.shape
            except AttributeError:  # None, or a number
                fits = False
            if not fits:
                c = check_contribution(node, index, parent, c)
            if parent not in cotangents:  # the first contribution is kept as it is
                cotangents[parent] = c
                if type(c) is NumpyArray and c is not g and c.base is None:
                    owned.add(parent)
            elif parent in owned and type(c) is NumpyArray:
                cotangents[parent] += c
            else:
                total = cotangents[parent] = cotangents[parent] + c
                if type(total) is NumpyArray:
                    owned.add(parent)
        if not graph_pass.retain_graph and node.plan.keeps_values:
            node.saved, node.versions = None, ()
        values = c = g = None  # nothing but the graph keeps memory while the next node runs


def _pull(graph_pass: Pass, node: Any, g: Any, owned: set[Node]) -> None:
    """Carry the cotangent of an unusual node to its inputs."""
    cotangents = graph_pass.cotangents
    fresh = (
        node.primitive.outputs == 1 if type(node) is OpNode else getattr(node, "gives_fresh", False)
    )
    parts = graph_pass.pull_node(node, g)
    if not graph_pass.retain_graph:
        node.release()
    for parent, part in parts:
        if parent in owned and type(part) is NumpyArray:
            cotangents[parent] += part
            continue
        first = parent not in cotangents
        graph_pass.add(parent, part)
        own = cotangents[parent]
        if type(own) is NumpyArray and (not first or (fresh and own is not g and own.base is None)):
            owned.add(parent)
