"""A static graph (``minigrad.graph``), computed once for what is fed, as a Trace.

    x = mg.graph.Variable(name="x")
    y = mg.graph.exp(x) * x
    (slope,) = mg.graph.gradients(y, [x])
    viz.from_graph([y, slope], {x: 1.0})            or shown at once: viz.show([y, slope], {x: 1.0})

These Traces differ from the others. A static graph is differentiated before anything is computed,
into more graph: so there is no adjoint column, the gradient's nodes are values like all others, and
what tells them apart is their stage (who made them) and of whose derivative they are a part
(``of``). The values are those of the graph's own evaluation, node after node; a
:class:`minigrad.graph.Executor` runs a Program from its third run on;
``viz.show(executor.program(feeds), …)`` shows its buffers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import count
from typing import Any

from minigrad.core.primitive import Primitive
from minigrad.graph import ConstantOp, Executor, Node
from minigrad.graph.evaluation import evaluate
from minigrad.graph.executor import feeds_and_order
from minigrad.trace.schema import validate
from minigrad.watch import notation, sentences
from minigrad.watch.trace_document import TraceDocument
from minigrad.watch.values import pictured
from minigrad.watch.values import value as document_value

BACKWARD = ("primal", "first backward", "second backward", "third backward")


def from_graph(
    outputs: Node | Sequence[Node],
    feed_dict: Mapping[Node, Any] | None = None,
    *,
    title: str | None = None,
) -> dict[str, Any]:
    """A ``minigrad.trace/1`` document of one evaluation of some nodes.

    Args:
        outputs: a node or a list of them. feed_dict: values for the Variables (and for other nodes,
            which are then not computed), as :meth:`minigrad.graph.Executor.run` takes them.
        title: by default the outputs' own names.

    Raises:
        TypeError: something else than nodes. What the Executor raises for feeds that are missing or
        do not fit.
    """
    wanted = list(outputs) if isinstance(outputs, list | tuple) else [outputs]
    feeds, order = feeds_and_order(Executor(wanted), feed_dict)
    values = dict(zip(order, evaluate(order, feeds, order), strict=True))
    written = _StaticGraphWriter(wanted, feeds, values)
    for node in order:
        written.node(node)
    return written.document(
        ", ".join(_short(node.name) for node in wanted) if title is None else title
    )


class _StaticGraphWriter(TraceDocument):
    def __init__(self, wanted: list[Node], feeds: Mapping[Node, Any], values: Mapping[Node, Any]):
        super().__init__()
        self.wanted, self.feeds, self.values = wanted, feeds, values
        self.ids: dict[Node, str] = {}
        self.results = {node for node in wanted}

    def node(self, node: Node) -> None:
        """A node, its edges, and the step that computes it.

        Long: the stages of one algorithm, each used once.
        """
        value = self.values[node]
        # an operation with several results; its picks hold them
        known = value if not isinstance(value, tuple) else None
        given = node in self.feeds or type(node.op) is ConstantOp
        name = self.ids[node] = self._fresh(node, given)
        kind = (
            "input"
            if node in self.feeds
            else "const"
            if given
            else "output"
            if node in self.results
            else "op"
        )
        expr = [] if given else self._expression(node)
        stage = "jvp" if node.role == "tangent" else BACKWARD[min(node.order, 3)]
        form = ((), "") if known is None else (known.shape, str(known.dtype))
        entry = self.add_node(name, kind, expr, *form, stage)
        if not given:
            entry["op"] = operation(node)
        if node.given_name and node.given_name != name:
            entry["name"] = str(node.given_name)
        if node.of is not None and node.of in self.ids:
            entry["of"] = self.ids[node.of]
        operands = [] if given else node.inputs
        lit = [
            self.add_edge(self.ids[parent], name, slot, stage)["id"]
            for slot, parent in enumerate(operands)
        ]
        reads = [
            [self.ids[p], "v"]
            for p in dict.fromkeys(operands)
            if not isinstance(self.values[p], tuple)
        ]
        shown = None if known is None else document_value(known.array)
        if known is None:
            formula, say = (
                [notation.symbol(name), notation.op("="), *expr],
                f"{name} is computed: several results together.",
            )
        elif given:
            formula, say = sentences.given(name, "input" if kind == "input" else "constant", shown)
        else:
            formula, say = sentences.computed(name, expr, self._arithmetic(node), shown)
        if node.of is not None and node.of in self.ids:
            say += f" It is part of the derivative of {self.ids[node.of]}."
        writes = [[name, "v", pictured(shown, known.array)]] if known is not None else []
        self.step("primal", name, lit, reads, writes, formula, say)

    def document(self, title: str) -> dict[str, Any]:
        """The Trace."""
        outputs = dict.fromkeys(self.ids[n] for n in self.wanted)
        return validate(self.finished(title, [self.ids[n] for n in self.feeds], list(outputs)))

    def _fresh(self, node: Node, given: bool) -> str:
        taken = self.by_id
        if (
            node in self.feeds
            and node.given_name
            and str(node.given_name).isidentifier()
            and node.given_name not in taken
        ):
            return str(node.given_name)
        prefix = "x" if node in self.feeds else "c" if given else "v"
        return next(name for n in count(1) if (name := f"{prefix}{n}") not in taken)

    def _expression(self, node: Node) -> list[Any]:
        """How the node is made, of the names of its operands and the numbers among them."""
        symbols = (
            notation.symbol(self.ids[a]) if isinstance(a, Node) else notation.plain(a)
            for a in node.args
        )
        return written(node, [*symbols])

    def _arithmetic(self, node: Node) -> list[Any] | None:
        """How the node is made, of numbers; None where an operand is an array."""
        if any(isinstance(a, Node) and isinstance(self.values[a], tuple) for a in node.args):
            return None
        held = [self.values[a].array if isinstance(a, Node) else a for a in node.args]
        if not held or any(getattr(h, "ndim", 0) for h in held):
            return None
        numbers = (
            notation.num(document_value(h), "v") if isinstance(a, Node) else notation.plain(h)
            for a, h in zip(node.args, held, strict=True)
        )
        return written(node, [*numbers])


def operation(node: Node) -> str:
    """What the operation of a node is called."""
    primitive = getattr(node.op, "primitive", None)
    return str(
        getattr(primitive, "name", None)
        or getattr(node.op, "label", None)
        or type(node.op).__name__.removesuffix("Op").lower()
    )


def written(node: Node, operands: list[Any]) -> list[Any]:
    """How a node is made, of the tokens of its operands."""
    primitive = getattr(node.op, "primitive", None)
    if isinstance(primitive, Primitive) and len(operands) == len(node.args):
        return notation.expression(primitive, operands, node.params)
    inner = [token for one in operands for token in (notation.op(","), one)][1:]
    return [{"t": "fn", "text": operation(node)}, notation.op("("), *inner, notation.op(")")]


def _short(name: str) -> str:
    return name if len(name) <= 60 else name[:59] + "…"
