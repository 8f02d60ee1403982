"""Which operations of a recorded graph belong to which layer of a model, by the parameters that
they read: the graph itself does not know which module called an operation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from minigrad.core.graph import Node
from minigrad.core.tensor import Leaf
from minigrad.nn import Module


@dataclass
class Layer:
    """One call of a module: its path in the model, and the operations that read its parameters,
    oldest first.
    """

    path: str
    module: Module
    nodes: list[Node] = field(default_factory=list)


def layers(nodes: Sequence[Node], model: Module) -> list[Layer]:
    """The layers of `model` in a graph. nodes: all of its nodes, oldest first.

    An operation is a layer's if an operand is a parameter of the layer, or is made of its
    parameters alone, such as a transposed weight. Operations that read parameters of several
    layers, or of none, such as an activation, belong to no layer. A layer that was called twice is
    two.
    """
    modules = dict(model.named_modules())
    owner: dict[int, str] = {}  # of parameters, and of what is made of one layer's alone
    for name, parameter in model.named_parameters():
        owner[id(parameter.node)] = name.rpartition(".")[0]
    found: dict[int, Layer] = {}
    for node in nodes:
        parents = [parent for parent, _ in node.next_functions if parent is not None]
        read = {owner[id(parent)] for parent in parents if id(parent) in owner}
        if isinstance(node, Leaf) or len(read) != 1:
            continue
        path = read.pop()
        if all(id(parent) in owner for parent, _ in node.next_functions):  # data has no node
            owner[id(node)] = path
        joined = Layer(path, modules[path])
        for parent in parents:
            before = found.get(id(parent))
            if before is not None and before.path == path:
                joined.nodes += before.nodes
                found |= dict.fromkeys(map(id, before.nodes), joined)
        joined.nodes.append(node)
        found[id(node)] = joined
    return list({id(layer): layer for layer in found.values()}.values())
