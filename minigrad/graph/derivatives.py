"""gradients and jvp: a derivative is more graph.

Reverse mode, as in the document: each node has a list of partial adjoints, one for each use of its
value. The nodes are visited in reverse topological order, so that when a node's turn comes the list
is complete; its sum is the node's adjoint, and the operation's `gradient` turns that into a partial
adjoint of each input.

    v̄ᵢ = Σⱼ v̄ⱼ ∂vⱼ/∂vᵢ          over all nodes j that read node i

The sum starts with the first partial adjoint and the rules multiply by nothing that is 1, so the
graph holds what a person would write. As derivatives are ordinary nodes, they can be differentiated
again.

Source: the document on static graphs (dlsys course, lecture 4); Griewank & Walther, Evaluating
Derivatives, for both modes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..core.tensor import Tensor
from ..errors import DTypeError, NotDifferentiableError, ShapeError
from .broadcast_like import fitted
from .inference import is_differentiable
from .node import Node, building, check_node, making
from .ops import PickOp, oneslike_op, results_of, zeroslike_op
from .topological_order import find_topo_sort
from .variables import constant


def gradients(output_node: Node, node_list: Sequence[Node], output_grad: Any = None) -> list[Node]:
    """The gradients of a node with respect to others, as new nodes of the graph: one for each of
    `node_list`, of its shape and dtype.

    output_grad: the output's own adjoint (a node, or an array of the output's shape); by default
    ones, so that for an output with several elements it is their sum that is differentiated. An
    output that does not depend on a node has zeros for its gradient. Raises TypeError for anything
    but nodes, DTypeError where integers or booleans would have to be differentiated.
    """
    check_node(output_node, "gradients: the output")
    if isinstance(node_list, Tensor):
        raise TypeError(
            "gradients: the second argument is a list of nodes, as in gradients(y, [x])."
        )
    wanted = [check_node(n, f"gradients: entry {i} of the list") for i, n in enumerate(node_list)]
    for node in (output_node, *wanted):
        _check_differentiable(node, "gradients")
    order = find_topo_sort([output_node])
    with making("gradient", 1 + max(n.order for n in order)) as place:
        place.of = output_node
        seed = (
            oneslike_op(output_node)
            if output_grad is None
            else _beside(output_grad, output_node, "gradients: output_grad")
        )
        found = _reverse(order, {output_node: [seed]}, set(wanted))
        place.of = None
        return [found[n] if n in found else zeroslike_op(n) for n in wanted]


def _reverse(
    order: list[Node], partial_adjoints: dict[Node, list[Any]], wanted: set[Node]
) -> dict[Node, Node]:
    """The adjoints of the wanted nodes. Only paths that lead to them are followed."""
    needed = _leading_to(order, wanted)
    adjoints: dict[Node, Node] = {}
    for node in reversed(order):
        partials = partial_adjoints.pop(node, None)
        if partials is None or node not in needed:
            continue
        building.of = node
        adjoint = _several(node, partials) if type(partials[0]) is tuple else sum_nodes(partials)
        if node in wanted:
            adjoints[node] = adjoint
        inputs = node.inputs
        follow = [n in needed and is_differentiable(n.dtype_fact) for n in inputs]
        if not any(follow) or node.op is None:
            continue
        if type(node.op) is PickOp:  # its place among the results
            partial_adjoints.setdefault(inputs[0], []).append((node.op.index, adjoint))
            continue
        contributions = node.op.pull(node, adjoint, follow)
        if len(contributions) != len(inputs):
            raise NotDifferentiableError(
                f"gradient of {type(node.op).__name__} returned {len(contributions)} contributions"
                f" for the {len(inputs)} inputs of {node.name}."
            )
        for operand, asked, contribution in zip(inputs, follow, contributions, strict=True):
            if asked and contribution is not None:
                partial_adjoints.setdefault(operand, []).append(
                    _checked(contribution, operand, node)
                )
    return adjoints


def _leading_to(order: list[Node], wanted: set[Node]) -> set[Node]:
    """The nodes of `order` that depend on a wanted one, themselves included."""
    needed: set[Node] = set()
    for node in order:
        if node in wanted or any(n in needed for n in node.inputs):
            needed.add(node)
    return needed


def sum_nodes(nodes: Sequence[Node]) -> Node:
    """((a + b) + c) + …, and the node itself where there is only one."""
    total: Any = nodes[0]
    for node in nodes[1:]:
        total = total + node
    out: Node = total
    return out


def _several(node: Node, partials: list[tuple[int, Node]]) -> Any:
    """The adjoints of an operation's several results as a tuple, zeros for those that were not
    used."""
    results = results_of(node)
    filled = []
    for i, result in enumerate(results):
        own = [adjoint for index, adjoint in partials if index == i]
        filled.append(sum_nodes(own) if own else zeroslike_op(result))
    return tuple(filled)


def _checked(contribution: Any, operand: Node, node: Node) -> Node:
    """What an operation's `gradient` returned for one input, of that input's shape."""
    made = contribution if isinstance(contribution, Node) else constant(contribution)
    if made.known_shape is None:
        return made
    if operand.known_shape is not None and made.known_shape != operand.known_shape:
        raise ShapeError(
            f"gradient of {type(node.op).__name__} returned a contribution of shape {made.shape}"
            f" for {operand.name}, whose shape is {operand.shape}; they must be equal."
        )
    return made


def jvp(output: Any, inputs: Sequence[Node], tangents: Sequence[Any]) -> Any:
    """The derivative of a node (or of each of a list) along given directions, as new nodes of the
    graph: forward mode, J · tangents.

    tangents: a node or an array for each input, of its shape. The result has the output's shape;
    zeros where the output does not depend on the inputs. Raises TypeError for anything but nodes,
    ValueError if there are not as many tangents as inputs.
    """
    single = isinstance(output, Tensor)
    outputs = [check_node(n, "jvp: the output") for n in ([output] if single else output)]
    if isinstance(inputs, Tensor) or isinstance(tangents, Tensor):
        raise TypeError("jvp: inputs and tangents are lists, as in jvp(y, [x], [v]).")
    points = [check_node(n, f"jvp: input {i}") for i, n in enumerate(inputs)]
    if len(points) != len(tangents):
        raise ValueError(
            f"jvp: {len(points)} inputs and {len(tangents)} tangents; each input needs one."
        )
    for node in (*outputs, *points):
        _check_differentiable(node, "jvp")
    order = find_topo_sort(outputs)
    found: dict[Node, Any] = {}
    for i, (x, v) in enumerate(zip(points, tangents, strict=True)):
        if x in found:
            raise ValueError(f"jvp: input {i} ({x.name}) is named twice.")
        found[x] = _beside(v, x, f"jvp: tangent {i}")
    given = set(points)
    with making("tangent", 1 + max((n.order for n in order), default=0)) as place:
        for node in order:
            if node in given or node.op is None:
                continue
            own = [found.get(n) for n in node.inputs]
            if all(t is None for t in own):
                continue
            place.of = node
            if type(node.op) is PickOp:
                t = own[0][node.op.index] if own[0] is not None else None
            else:
                t = (
                    node.op.tangent(node, own)
                    if hasattr(node.op, "tangent")
                    else _transposed(node, own)
                )
            if t is not None and (isinstance(t, tuple) or is_differentiable(node.dtype_fact)):
                found[node] = t
        place.of = None
        results = [found[n] if n in found else zeroslike_op(n) for n in outputs]
    return results[0] if single else results


def _transposed(node: Node, tangents: Sequence[Node | None]) -> Node | None:
    """Forward mode for an operation that has only a `gradient`: that is Jᵀu, linear in u, and its
    own transpose is J.

    u is a node in the shape of the result; its values do not matter.
    """
    assert node.op is not None
    u = zeroslike_op(node)
    pulls = node.op.pull(node, u, [t is not None for t in tangents])
    parts = []
    for pulled, t in zip(pulls, tangents, strict=True):
        if pulled is not None and t is not None:
            order = find_topo_sort([pulled])
            with making("tangent", building.order):
                reached = _reverse(order, {pulled: [t]}, {u})
            if u in reached:
                parts.append(reached[u])
    return fitted(sum_nodes(parts), node) if parts else None


def _check_differentiable(node: Node, caller: str) -> None:
    if not is_differentiable(node.dtype_fact):
        raise DTypeError(
            f"{caller}: {node.name} has dtype {node.dtype}; only floating and complex values have"
            " derivatives."
        )


def _beside(value: Any, node: Node, what: str) -> Node:
    """A given adjoint or tangent as a node of the shape and dtype of the node that it belongs
    to.
    """
    made = value if isinstance(value, Node) else constant(value)
    if made.known_shape is not None and node.known_shape is not None and made.shape != node.shape:
        raise ShapeError(
            f"{what} has shape {made.shape}, {node.name} has {node.shape}; they must be equal."
        )
    return fitted(made, node, broadcast=True) if made.known_dtype != node.known_dtype else made
