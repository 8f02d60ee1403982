"""Whether a computed Trace can be differentiated and shown: a scalar result, and finite numbers."""

import math
import numbers
import re
from collections.abc import Mapping
from typing import Any

from minigrad import expression, ops
from minigrad.cli.target import UsageError
from minigrad.core.tensor import Tensor
from minigrad.trace.schema import COLUMN_NAMES
from minigrad.watch import not_finite


class ComputationError(Exception):
    """The formula is fine, but at these values it has no finite result; exit status 1."""


def require_scalar(source: str, result: Any, mode: str) -> None:
    """Raises UsageError unless the result is a tensor, and for reverse mode one number."""
    if isinstance(result, numbers.Number):
        return
    if not isinstance(result, Tensor):
        found = "nothing" if result is None else f"a {type(result).__name__}"
        raise UsageError(
            f"{source} gives {found}; only a function that returns one tensor can be traced"
        )
    if mode in ("reverse", "both") and result.numel() != 1:
        problem = (
            f"the result has shape {tuple(result.shape)}, and reverse mode starts from one number"
        )
        raise UsageError(f"{problem}; reduce it with sum(...) or mean(...), or use --mode forward")


def require_finite(trace: dict[str, Any]) -> None:
    """Raises `ComputationError` that names the first step of the Trace whose result is not a
    finite number.
    """
    nodes = {node["id"]: node for node in trace["nodes"]}
    state: dict[tuple[str, str], Any] = {}
    for step in trace["steps"]:
        for node_id, column, value in step["writes"]:
            state[node_id, column] = value
            if not_finite.kind(value) is not None:
                raise ComputationError(
                    _not_finite(trace, step, nodes[node_id], column, value, state)
                )


def _not_finite(
    trace: dict[str, Any],
    step: dict[str, Any],
    node: dict[str, Any],
    column: str,
    value: Any,
    state: dict[tuple[str, str], Any],
) -> str:
    culprit = node
    kind = COLUMN_NAMES.get(column, column)
    # an adjoint is made by the operation that the edge leads to
    if column == "g" and step["edges"]:
        edge = next(edge for edge in trace["edges"] if edge["id"] == step["edges"][0])
        culprit = next(node for node in trace["nodes"] if node["id"] == edge["dst"])
    lines = trace.get("source", {}).get("code", "").splitlines()
    names = {n["id"]: n.get("name") or _written(n, lines) or _label(n) for n in trace["nodes"]}
    slots = {e["slot"]: names[e["src"]] for e in trace["edges"] if e["dst"] == culprit["id"]}
    values = {names[n]: state[n, "v"] for n in names if (n, "v") in state}
    reads = ", ".join(
        f"{name} = {_show(values[name])}"
        for name in dict.fromkeys(slots.values())
        if name in values
    )
    # of the two operations that are called pow
    operation = culprit.get("op", "the input").removesuffix("_tensor")
    message = (
        f"{operation} gives {_show(value)}"
        if column == "v"
        else f"the {kind} of {names[node['id']]} at {operation} is {_show(value)}"
    )
    message += f" where {reads}" if reads else ""
    if _written(culprit, lines):
        row, start, _, end = culprit["span"]
        message += expression.mark(lines[row - 1], start, end - start)
    return f"{message}\nhint: {_reason(culprit.get('op', ''), column, slots)}"


def _written(node: dict[str, Any], lines: list[str]) -> str:
    """The text in the source that a node comes from; empty where it has none, or over lines."""
    row, start, end_row, end = node.get("span") or (1, 0, 0, 0)
    return lines[row - 1][start:end] if row == end_row and row <= len(lines) else ""


def _label(node: dict[str, Any]) -> str:
    label = node["label"]
    return f"{label['base']}{label.get('sub', '')}"


def _show(value: Any) -> str:
    if isinstance(value, dict) and "sample" in value:
        dots = ", ..." if math.prod(value["shape"]) > len(value["sample"]) else ""
        return f"[{', '.join(map(_show, value['sample']))}{dots}]"
    return f"{value:.6g}" if isinstance(value, int | float) else str(value)


def _reason(operation: str, column: str, operands: Mapping[int, str]) -> str:
    """operands: the text of each input of the operation that is a node."""
    if column != "v":
        return (
            "the value is finite there but its derivative is not; use --mode primal for the value"
            " alone, or move away from that point"
        )
    found = ops.find(operation)
    domain = getattr(found, "domain", None)
    if found is None or not domain:
        return "the result is too large; float64 ends at about 1.8e308"
    given = {name: operands.get(i, name) for i, name in enumerate(found.inputs)}
    arguments = ", ".join((*found.inputs, *found.keywords))
    sentence = f"{operation.removesuffix('_tensor')}({arguments}) is defined where {domain}"
    return re.sub(r"\w+", lambda word: given.get(word[0], word[0]), sentence)
