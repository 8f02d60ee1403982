"""What a well-formed `minigrad.trace/1` document is, and a validator whose complaints name the place.

The checks go beyond shape: ids are unique, edges lead from older to younger nodes, a step reads only what an earlier step wrote, columns exist only if used.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

SCHEMA = "minigrad.trace/1"
PHASES = ("seed", "primal", "tangent", "adjoint", "accumulate", "free", "update")
KINDS = ("input", "const", "param", "op", "output", "seed")
STAGES = ("primal", "backward", "jvp")
COLUMNS = ("v", "d", "g")
COLUMN_PHASES = {"v": "primal", "d": "tangent", "g": "adjoint"}

Trace = dict[str, Any]


class TraceError(ValueError):
    """A document is not a well-formed Trace; the message says where and why."""


def validate(trace: Any) -> Trace:
    """Return `trace` if it is well-formed; raise TraceError otherwise."""
    _need(isinstance(trace, dict), "trace", "must be an object")
    _need(trace.get("schema") == SCHEMA, "schema", f'must be "{SCHEMA}", got {trace.get("schema")!r}')
    for key, kind in (
        ("title", str),
        ("inputs", list),
        ("outputs", list),
        ("seed", dict),
        ("nodes", list),
        ("edges", list),
        ("columns", list),
        ("steps", list),
    ):
        _need(isinstance(trace.get(key), kind), key, f"must be present and be a {kind.__name__}")
    nodes = _nodes(trace)
    edges = _edges(trace, nodes)
    columns = [_field(c, "key", lambda k: k in COLUMNS, f"columns[{i}]", f"one of {COLUMNS}") for i, c in enumerate(trace["columns"])]
    for key in ("inputs", "outputs"):
        for i, node in enumerate(trace[key]):
            _need(node in nodes, f"{key}[{i}]", f"names no node: {node!r}")
    for key, values in trace["seed"].items():
        _need(key in ("tangents", "adjoints"), f"seed.{key}", "must be tangents or adjoints")
        for node, value in values.items():
            _need(node in nodes, f"seed.{key}", f"names no node: {node!r}")
            _value(value, f"seed.{key}.{node}")
    _steps(trace, nodes, edges, columns)
    return trace  # type: ignore[no-any-return]


def _need(condition: bool, where: str, why: str) -> None:
    if not condition:
        raise TraceError(f"{where} {why}.")


def _field(item: Any, key: str, test: Callable[[Any], bool], where: str, what: str) -> Any:
    _need(isinstance(item, dict), where, "must be an object")
    _need(key in item and test(item[key]), f"{where}.{key}", f"must be {what}, got {item.get(key)!r}")
    return item[key]


def _text(value: Any) -> bool:
    return isinstance(value, str)


def _nodes(trace: Trace) -> dict[str, int]:
    born: dict[str, int] = {}
    for i, node in enumerate(trace["nodes"]):
        where = f"nodes[{i}]"
        name = _field(node, "id", lambda v: isinstance(v, str) and v != "", where, "a non-empty text")
        _need(name not in born, f"{where}.id", f"is used twice: {name!r}")
        _field(node, "label", lambda v: isinstance(v, dict) and _text(v.get("base")), where, 'an object with a text "base"')
        _field(node, "kind", lambda v: v in KINDS, where, f"one of {KINDS}")
        _field(node, "stage", lambda v: v in STAGES, where, f"one of {STAGES}")
        _field(node, "shape", lambda v: isinstance(v, list) and all(isinstance(n, int) and n >= 0 for n in v), where, "a list of sizes")
        _field(node, "dtype", _text, where, "a text")
        _tokens(_field(node, "expr", lambda v: isinstance(v, list), where, "a list of tokens"), f"{where}.expr")
        if node["kind"] in ("op", "output"):
            _field(node, "op", _text, where, "a text for op and output nodes")
        if "span" in node:
            _field(
                node, "span", lambda v: isinstance(v, list) and len(v) == 4 and all(isinstance(n, int) for n in v), where, "four integers"
            )
        born[name] = i
    return born


def _edges(trace: Trace, nodes: dict[str, int]) -> set[str]:
    names: set[str] = set()
    for i, edge in enumerate(trace["edges"]):
        where = f"edges[{i}]"
        name = _field(edge, "id", _text, where, "a text")
        _need(name not in names, f"{where}.id", f"is used twice: {name!r}")
        for end in ("src", "dst"):
            _field(edge, end, lambda v: v in nodes, where, "a node's id")
        _need(nodes[edge["src"]] < nodes[edge["dst"]], where, f"leads from {edge['src']} to the older {edge['dst']}")
        _field(edge, "slot", lambda v: isinstance(v, int) and v >= 0, where, "an operand position")
        _field(edge, "stage", lambda v: v in STAGES, where, f"one of {STAGES}")
        names.add(name)
    return names


def _steps(trace: Trace, nodes: dict[str, int], edges: set[str], columns: list[str]) -> None:
    written: set[tuple[str, str]] = set()
    for i, step in enumerate(trace["steps"]):
        where = f"steps[{i}]"
        _field(step, "phase", lambda v: v in PHASES, where, f"one of {PHASES}")
        _field(step, "node", lambda v: v in nodes, where, "a node's id")
        _field(step, "say", _text, where, "a sentence")
        _tokens(_field(step, "formula", lambda v: isinstance(v, list), where, "a list of tokens"), f"{where}.formula")
        for e in _field(step, "edges", lambda v: isinstance(v, list), where, "a list of edge ids"):
            _need(e in edges, f"{where}.edges", f"names no edge: {e!r}")
        for cell in _field(step, "reads", lambda v: isinstance(v, list), where, "a list of [node, column]"):
            _need(isinstance(cell, list) and len(cell) == 2, f"{where}.reads", f"must hold [node, column], got {cell!r}")
            _need(tuple(cell) in written, f"{where}.reads", f"reads {cell[0]} ({cell[1]}) before it was written")
        for cell in _field(step, "writes", lambda v: isinstance(v, list), where, "a list of [node, column, value]"):
            _need(isinstance(cell, list) and len(cell) == 3, f"{where}.writes", f"must hold [node, column, value], got {cell!r}")
            _need(cell[0] in nodes and cell[1] in columns, f"{where}.writes", f"names no node or column: {cell[:2]!r}")
            _value(cell[2], f"{where}.writes")
            written.add((cell[0], cell[1]))
        for j, part in enumerate(step.get("contribs", [])):
            _field(part, "edge", lambda v: v in edges, f"{where}.contribs[{j}]", "an edge's id")
            for key in ("upstream", "product"):
                _field(part, key, lambda v: v is not None, f"{where}.contribs[{j}]", "a value")
            for key in ("local", "upstream", "product", "before", "after"):
                if key in part:
                    _value(part[key], f"{where}.contribs[{j}].{key}")


def _value(value: Any, where: str) -> None:
    if isinstance(value, dict):
        if "shape" in value:
            _need(isinstance(value.get("sample"), list), where, "an array's value needs a sample")
            for v in value["sample"]:
                _value(v, where)
            return
        _need(set(value) == {"re", "im"}, where, f"must be a number or a value object, got {value!r}")
        _value(value["re"], where)
        _value(value["im"], where)
        return
    if isinstance(value, str):
        _need(value in ("nan", "inf", "-inf"), where, f"must be a number, got {value!r}")
        return
    _need(isinstance(value, bool | int | float), where, f"must be a number, got {type(value).__name__}")
    _need(value == value and abs(value) != float("inf"), where, 'writes NaN and infinity as the texts "nan", "inf", "-inf"')


def _tokens(tokens: list[Any], where: str) -> None:
    nested = {"frac": ("num", "den"), "sup": ("base", "exp"), "sqrt": ("of",)}
    plain = {"sym": "base", "num": "value", "op": "text", "fn": "text", "text": "text"}
    for i, token in enumerate(tokens):
        kind = _field(token, "t", lambda v: v in nested or v in plain, f"{where}[{i}]", f"one of {(*plain, *nested)}")
        for key in nested.get(kind, ()):
            _tokens(_field(token, key, lambda v: isinstance(v, list), f"{where}[{i}]", "a list of tokens"), f"{where}[{i}].{key}")
        if kind in plain:
            _need(plain[kind] in token, f"{where}[{i}].{plain[kind]}", "must be present")
