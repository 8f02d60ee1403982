"""Executor: values for the nodes of a graph, given values for its Variables.

The nodes are put in topological order once. The first run with feeds of some shapes walks that list
(evaluation.py). The second one does too, and is recorded as a Program; all later ones run that,
with buffers that are used again and without Python between the operations.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .. import backend
from ..core.tensor import Tensor
from ..errors import GraphError, ProgramError
from ..program import Program
from .evaluation import evaluate, fed_value
from .lowering import reason_against, recorded
from .node import Node, check_node
from .text import text
from .topological_order import find_topo_sort
from .variables import ConstantOp, PlaceholderOp


class Executor:
    """Computes the values of some nodes of a graph.

    Executor([y, grad]).run(feed_dict={x: array}) returns one NumPy array for each node, in order.
    Raises TypeError for anything but nodes.
    """

    def __init__(self, eval_node_list: Sequence[Node]) -> None:
        if isinstance(eval_node_list, Tensor):
            eval_node_list = [eval_node_list]
        self.eval_node_list = [
            check_node(n, f"Executor: entry {i} of the list") for i, n in enumerate(eval_node_list)
        ]
        self._orders: dict[frozenset[Node], list[Node]] = {}
        self._programs: dict[Any, Any] = {}

    def run(self, feed_dict: Mapping[Node, Any] | None = None) -> list[Any]:
        """The values of the nodes, as NumPy arrays, for the values of the Variables in `feed_dict`
        (arrays, tensors, numbers, lists).

        A number or list has the Variable's dtype, or the default dtype; an array keeps its own,
        which must be the Variable's. Integers fed to a Variable without a dtype become float64. Any
        other node may be fed too: its value is then not computed. Variables that the nodes do not
        depend on may be fed as well (a derivative may depend on fewer than the function). Raises
        GraphError for a Variable that is needed and not fed, ShapeError and DTypeError for values
        that do not fit.
        """
        feeds, order = self._checked(feed_dict)
        results = self._values(feeds, order)
        given = [*feeds.values(), *(n.op.value for n in order if type(n.op) is ConstantOp)]
        return _own_arrays(results, given)

    def _values(self, feeds: dict[Node, Tensor], order: list[Node]) -> list[Tensor]:
        """The first run with feeds of some shapes is plain; the second is recorded as a Program,
        which all later ones run.
        """
        signature = self._signature(feeds)
        program = self._programs.get(signature, 0)
        if program == 0:
            self._programs[signature] = None if reason_against(order) else 1
        elif program == 1:
            self._programs[signature], results = recorded(order, feeds, self.eval_node_list)
            if not self._programs[signature].decisions:
                return results
            self._programs[signature] = (
                None  # some step decided by values: a recording would be wrong for others
            )
        elif program is not None:
            try:
                found = program(*feeds.values())
                return list(found) if isinstance(found, tuple) else [found]
            except ProgramError:  # the feeds fit, so some shape depends on values
                self._programs[signature] = None
        return evaluate(order, feeds, self.eval_node_list)

    def program(self, feed_dict: Mapping[Node, Any]) -> Program:
        """The Program that computes the nodes for feeds of these shapes and dtypes: printable, and
        what `run` uses from its third call with such feeds on. Raises GraphError if the graph
        cannot become one, saying why.
        """
        feeds, order = self._checked(feed_dict)
        reason = reason_against(order)
        if reason is not None:
            raise GraphError(f"this graph cannot become a Program: {reason}. It runs node by node.")
        found = self._programs.get(self._signature(feeds))
        if not isinstance(found, Program):
            found, _ = recorded(order, feeds, self.eval_node_list)
            if found.decisions:
                raise GraphError(
                    "this graph cannot become a Program, since it decides by values:"
                    f" {'; '.join(found.decisions)}."
                )
            self._programs[self._signature(feeds)] = found
        return found

    def _signature(self, feeds: dict[Node, Tensor]) -> Any:
        return tuple((node, t.array.shape, t.array.dtype) for node, t in feeds.items())

    def _checked(
        self, feed_dict: Mapping[Node, Any] | None
    ) -> tuple[dict[Node, Tensor], list[Node]]:
        """The feeds as tensors, and the nodes to compute. Raises for what is missing or too
        much.
        """
        feeds = self._fed({} if feed_dict is None else feed_dict)
        order = self._order(frozenset(feeds))
        taking_part = set(order)
        for node in feeds:
            if node not in taking_part and type(node.op) is not PlaceholderOp:
                raise GraphError(
                    f"{node.name} is fed, but none of the nodes {_listed(self.eval_node_list)}"
                    " needs its value."
                )
        missing = [n for n in order if type(n.op) is PlaceholderOp and n not in feeds]
        if missing:
            which, verb = ("variables", "are") if len(missing) > 1 else ("variable", "is")
            namesake = next((n.name for n in missing for fed in feeds if fed.name == n.name), None)
            raise GraphError(
                f"the {which} {_listed(missing)} {verb} not fed. Give values for all that the nodes"
                " depend on: run(feed_dict={x: value, …})."
                + (
                    f" Another variable named {namesake} is fed: was it created again after the"
                    " graph was built?"
                    if namesake
                    else ""
                )
            )
        return {node: feeds[node] for node in order if node in feeds}, order

    def _order(self, fed: frozenset[Node]) -> list[Node]:
        """The nodes to compute, and those that are fed, in topological order."""
        order = self._orders.get(fed)
        if order is None:
            order = self._orders[fed] = find_topo_sort(self.eval_node_list, fed)
        return order

    def _fed(self, feed_dict: Mapping[Node, Any]) -> dict[Node, Tensor]:
        if not isinstance(feed_dict, Mapping):
            raise TypeError(
                f"run: feed_dict is a dict of node: value, got {type(feed_dict).__name__}."
            )
        return {
            check_node(node, "run: a key of feed_dict"): fed_value(node, value)
            for node, value in feed_dict.items()
        }

    def __repr__(self) -> str:
        return text(self.eval_node_list)


def feeds_and_order(
    executor: Executor, feed_dict: Mapping[Node, Any] | None
) -> tuple[dict[Node, Tensor], list[Node]]:
    """The feeds as tensors, and the nodes that the executor computes, in order. Raises what `run`
    raises for feeds that are missing or too many."""
    return executor._checked(feed_dict)


def _listed(nodes: Sequence[Node]) -> str:
    names = [n.name for n in nodes]
    if not names:
        return "no variables"
    return (
        ", ".join(names) if len(names) <= 6 else f"{', '.join(names[:6])} and {len(names) - 6} more"
    )


def _own_arrays(tensors: Sequence[Tensor], given: Sequence[Tensor]) -> list[Any]:
    """Results as NumPy arrays, none of which shares memory with another, nor with what was
    given.
    """
    taken = {id(t.array) for t in given}
    arrays = []
    for tensor in tensors:
        array = backend.to_numpy(backend.materialise(tensor.array))
        if id(array) in taken or not backend.owns_fresh_memory(array):
            array = array.copy()
        taken.add(id(array))
        arrays.append(array)
    return arrays
