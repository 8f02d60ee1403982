"""A Trace while it is written: its nodes, edges and steps, whoever computes them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..trace.schema import COLUMN_NAMES, COLUMN_PHASES, SCHEMA, Trace
from ..trace.text import text_of
from .notation import differentiated, forget_tokens, label_of
from .sentences import Making, without_so_far


class TraceDocument:
    """The lists of a Trace. by_id: the nodes by name."""

    def __init__(self) -> None:
        forget_tokens()
        self.nodes: list[dict[str, Any]] = []
        self.edges: list[dict[str, Any]] = []
        self.steps: list[dict[str, Any]] = []
        self.by_id: dict[str, dict[str, Any]] = {}
        self._texts: dict[str, str] = {}  # how nodes are made
        self._told: dict[str, tuple[Any, dict[str, str]]] = {}  # their derivatives, once written

    def add_node(
        self,
        name: str,
        kind: str,
        expr: list[Any],
        shape: Sequence[int] = (),
        dtype: str = "",
        stage: str = "primal",
        **more: Any,
    ) -> dict[str, Any]:
        """A value, and how it is made."""
        node: dict[str, Any] = {"id": name, "label": label_of(name), "kind": kind, "expr": expr}
        node |= {"shape": list(shape), "dtype": dtype, "stage": stage, **more}
        self.nodes.append(node)
        self.by_id[name] = node
        return node

    def add_edge(
        self, source: str, target: str, slot: int, stage: str = "primal"
    ) -> dict[str, Any]:
        """From an operand to the result of its operation; slot: the operand's position."""
        edge: dict[str, Any] = {"id": f"e{len(self.edges) + 1}", "src": source, "dst": target}
        edge |= {"slot": slot, "stage": stage}
        self.edges.append(edge)
        return edge

    def text_of(self, name: str) -> str:
        """How a node is made, as text."""
        text = self._texts.get(name)
        if text is None:
            text = self._texts[name] = text_of(self.by_id[name]["expr"])
        return text

    def making(
        self, name: str, value: Callable[[str], Any], operands: int, pointwise: bool = False
    ) -> Making:
        """How a node is made. value: that of a node; operands: how many the node has."""
        text = self.text_of(name)
        known = self._told.get(name)
        if known is None:
            known = self._told[name] = differentiated(self.by_id[name]["expr"]), {}
        above, slopes = known
        return Making(text, above, slopes, value, operands == 1, pointwise)

    def step(
        self,
        phase: str,
        node: str,
        edges: list[str],
        reads: list[Any],
        writes: list[Any],
        formula: list[Any],
        say: str,
        **more: Any,
    ) -> None:
        """What happens next, and to which node."""
        self.before_step(phase, writes)
        self.steps.append(
            {
                "phase": phase,
                "node": node,
                "edges": edges,
                "reads": reads,
                "writes": writes,
                "formula": formula,
                "say": say,
                **more,
            }
        )

    def before_step(self, phase: str, writes: list[Any]) -> None:
        """Note what is needed of a step that is about to be written."""

    def finished(
        self,
        title: str,
        inputs: Sequence[str],
        outputs: Sequence[str],
        seed: dict[str, Any] | None = None,
        **more: Any,
    ) -> Trace:
        """The document, with the columns that the steps have written."""
        without_so_far(self.steps)
        used = {column for step in self.steps for _, column, _ in step["writes"]}
        columns = [
            {"key": key, "label": label, "phase": COLUMN_PHASES[key]}
            for key, label in COLUMN_NAMES.items()
            if key in used
        ]
        return {
            "schema": SCHEMA,
            "title": title,
            **more,
            "inputs": list(inputs),
            "outputs": list(outputs),
            "seed": seed or {},
            "nodes": self.nodes,
            "edges": self.edges,
            "columns": columns,
            "steps": self.steps,
        }
