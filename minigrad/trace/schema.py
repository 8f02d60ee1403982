"""What a well-formed `minigrad.trace/1` document is, and a validator whose complaints name the
place.

The checks go beyond shape: ids are unique, edges lead from older to younger nodes, a contribution
travels along an edge of the node that it is for, a step reads only what an earlier step wrote, a
column exists exactly if some step wrote into it. (value_schema.py checks values.)
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from .fields import (
    TraceError,
    field_of,
    is_count,
    is_length,
    is_list,
    is_object,
    is_text,
    is_truth,
    list_of,
    need,
    one_of,
    shown,
)
from .value_schema import check_value

SCHEMA = "minigrad.trace/1"
PHASES = ("seed", "primal", "tangent", "adjoint", "accumulate", "free", "update")
KINDS = ("input", "const", "param", "op", "output", "seed")
STAGES = (
    "primal",
    "backward",
    "jvp",
    "original",
    "first backward",
    "second backward",
    "third backward",
)
COLUMN_NAMES = {"v": "value", "d": "tangent", "g": "adjoint"}
COLUMNS = tuple(COLUMN_NAMES)
COLUMN_PHASES = {"v": "primal", "d": "tangent", "g": "adjoint"}

Trace = dict[str, Any]


def validate(trace: Any) -> Trace:
    """Return `trace` if it is well-formed; raise TraceError, with the place in the document,
    otherwise.
    """
    need(isinstance(trace, dict), "trace", "must be an object")
    need(
        trace.get("schema") == SCHEMA, "schema", f'must be "{SCHEMA}", got {trace.get("schema")!r}'
    )
    for key, kind, name in (
        ("title", str, "a text"),
        ("seed", dict, "an object"),
        *((k, list, "a list") for k in _LISTS),
    ):
        need(isinstance(trace.get(key), kind), key, f"must be present and be {name}")
    if "source" in trace:
        field_of(trace["source"], "code", is_text, "source", "the source text")
    nodes = _nodes(trace)
    edges = _edges(trace, nodes)
    columns = _columns(trace)
    for key in ("inputs", "outputs"):
        for i, node in enumerate(trace[key]):
            need(one_of(nodes)(node), f"{key}[{i}]", f"names no node: {node!r}")
    for key, values in trace["seed"].items():
        need(key in ("tangents", "adjoints"), f"seed.{key}", "must be tangents or adjoints")
        need(isinstance(values, dict), f"seed.{key}", "must be an object of node ids")
        for node, value in values.items():
            need(node in nodes, f"seed.{key}", f"names no node: {node!r}")
            check_value(value, f"seed.{key}.{node}")
    _passes(trace, nodes)
    _program(trace, nodes)
    _steps(trace, nodes, edges, columns)
    if "layout" in trace:
        _layout(trace["layout"], nodes, edges)
    document: Trace = trace
    return document


_LISTS = ("inputs", "outputs", "nodes", "edges", "columns", "steps")


def _nodes(trace: Trace) -> dict[str, int]:
    born: dict[str, int] = {}
    for i, node in enumerate(trace["nodes"]):
        where = f"nodes[{i}]"
        name = field_of(node, "id", lambda v: is_text(v) and v != "", where, "a non-empty text")
        need(name not in born, f"{where}.id", f"is used twice: {name!r}")
        label = field_of(
            node,
            "label",
            lambda v: isinstance(v, dict) and is_text(v.get("base")),
            where,
            'an object with a text "base"',
        )
        field_of(node, "kind", one_of(KINDS), where, f"one of {KINDS}")
        field_of(node, "stage", one_of(STAGES), where, f"one of {STAGES}")
        field_of(node, "shape", list_of(is_count), where, "a list of sizes")
        field_of(node, "dtype", is_text, where, "a text")
        _tokens(field_of(node, "expr", is_list, where, "a list of tokens"), f"{where}.expr")
        if node["kind"] in ("op", "output"):
            field_of(node, "op", is_text, where, "a text for op and output nodes")
        for key in ("name", "group", "op"):
            field_of(node, key, is_text, where, "a text", "")
        for key in ("sub", "sup"):
            field_of(label, key, is_text, f"{where}.label", "a text", "")
        if "span" in node:
            _span(node["span"], f"{where}.span", trace)
        field_of(node, "dangling", is_truth, where, "true or false", False)
        field_of(node, "saved", list_of(is_text), where, "a list of names", [])
        if "terms" in node:
            _terms(node["terms"], node["shape"], f"{where}.terms")
        born[name] = i
    for i, node in enumerate(trace["nodes"]):
        _memory(node, f"nodes[{i}].memory", born)
        _reference(node, "of", born, f"nodes[{i}].of", "node")
    return born


COMBINED = ("sum", "largest")


def _terms(terms: Any, shape: list[int], where: str) -> None:
    """A loop and the indices of the arrays in it: of the result one along each axis."""
    sizes = field_of(terms, "sizes", list_of(is_count), where, "sizes")
    field_of(terms, "combine", one_of(COMBINED), where, f"one of {COMBINED}")
    operands = field_of(terms, "operands", is_list, where, "a list of indices")
    anything = list_of(lambda v: True, len(shape))
    result = field_of(terms, "result", anything, where, "an index of each axis")
    positions = list_of(lambda n: is_count(n) and n < len(operands))
    field_of(terms, "added", positions, where, "positions of operands", [])
    divisors = terms.get("divisors", [[1]] * len(shape))
    good = list_of(is_list, len(shape))(divisors)
    fits = good and all(len(one) in (1, n) for one, n in zip(divisors, shape, strict=True))
    numbers = [number for one in divisors for number in one] if fits else [None]
    good = all(isinstance(number, int | float) and number for number in numbers)
    need(good, f"{where}.divisors", "must be numbers along each axis")
    for index in (result, *operands):
        for along in index if is_list(index) else [index]:
            good = (
                is_list(along)
                and along
                and isinstance(along[0], int)
                and all(
                    is_list(pair)
                    and len(pair) == 2
                    and is_count(pair[0])
                    and pair[0] < len(sizes)
                    and isinstance(pair[1], int)
                    for pair in along[1:]
                )
            )
            need(good, where, f"must hold [offset, [variable, factor], …], got {shown(along)}")


def _reference(item: dict[str, Any], key: str, known: Any, where: str, what: str) -> None:
    """A field that may be absent names one of those that are known."""
    good = key not in item or one_of(known)(item[key])
    need(good, where, f"names no {what}: {item.get(key)!r}")


def _memory(node: dict[str, Any], where: str, born: dict[str, int]) -> None:
    """Where a value lies: bytes of its own, at a place in the program's buffers or not, or those
    of another value.
    """
    given = node.get("memory", {"bytes": 0})
    need(
        isinstance(given, dict) and given.keys() in ({"of"}, {"bytes"}, {"bytes", "at"}),
        where,
        "must hold bytes, bytes and at, or of",
    )
    need(
        all(is_count(given[key]) for key in ("bytes", "at") if key in given),
        where,
        "must count bytes in whole numbers",
    )
    _reference(given, "of", born, where, "node")


def _span(span: Any, where: str, trace: Trace) -> None:
    numbers = list_of(is_count, 4)(span)
    need(numbers, where, "must be four numbers: line, column, end line, end column")
    need(
        1 <= span[0] <= span[2] and (span[0], span[1]) <= (span[2], span[3]),
        where,
        f"must end after it begins, got {span}",
    )
    if "source" in trace:
        lines = trace["source"]["code"].split("\n")
        inside = (
            span[2] <= len(lines)
            and span[1] <= len(lines[span[0] - 1])
            and span[3] <= len(lines[span[2] - 1])
        )
        need(inside, where, f"leaves the source text: {span}")


def _edges(trace: Trace, nodes: dict[str, int]) -> dict[str, Any]:
    edges: dict[str, Any] = {}
    for i, edge in enumerate(trace["edges"]):
        where = f"edges[{i}]"
        name = field_of(edge, "id", lambda v: is_text(v) and v != "", where, "a non-empty text")
        need(name not in edges, f"{where}.id", f"is used twice: {name!r}")
        for end in ("src", "dst"):
            field_of(edge, end, one_of(nodes), where, "a node's id")
        need(
            nodes[edge["src"]] < nodes[edge["dst"]],
            where,
            f"leads from {edge['src']} to the older {edge['dst']}",
        )
        field_of(edge, "slot", is_count, where, "an operand position")
        field_of(edge, "stage", one_of(STAGES), where, f"one of {STAGES}")
        edges[name] = edge
    return edges


def _columns(trace: Trace) -> list[str]:
    keys: list[str] = []
    for i, column in enumerate(trace["columns"]):
        where = f"columns[{i}]"
        key = field_of(column, "key", one_of(COLUMNS), where, f"one of {COLUMNS}")
        need(key not in keys, f"{where}.key", f"is used twice: {key!r}")
        field_of(column, "label", is_text, where, "a text")
        phase = COLUMN_PHASES[key]
        field_of(column, "phase", phase.__eq__, where, phase)
        keys.append(key)
    return keys


def _steps(trace: Trace, nodes: dict[str, int], edges: dict[str, Any], columns: list[str]) -> None:
    written: set[tuple[str, str]] = set()
    ever: set[str] = set()
    for i, step in enumerate(trace["steps"]):
        where = f"steps[{i}]"
        field_of(step, "phase", one_of(PHASES), where, f"one of {PHASES}")
        field_of(step, "node", one_of(nodes), where, "a node's id")
        field_of(step, "say", is_text, where, "a sentence")
        _tokens(field_of(step, "formula", is_list, where, "a list of tokens"), f"{where}.formula")
        for e in field_of(step, "edges", is_list, where, "a list of edge ids"):
            need(one_of(edges)(e), f"{where}.edges", f"names no edge: {e!r}")
        for cell in field_of(step, "reads", is_list, where, "a list of [node, column]"):
            if not _IS_CELL(cell):
                raise TraceError(f"{where}.reads must hold [node, column], got {shown(cell)}.")
            if tuple(cell) not in written:
                raise TraceError(
                    f"{where}.reads reads {cell[0]} ({cell[1]}) before it was written."
                )
        for cell in field_of(step, "writes", is_list, where, "a list of [node, column, value]"):
            if not (is_list(cell) and len(cell) == 3):
                raise TraceError(
                    f"{where}.writes must hold [node, column, value], got {shown(cell)}."
                )
            need(
                one_of(nodes)(cell[0]) and one_of(columns)(cell[1]),
                f"{where}.writes",
                f"names no node or column: {cell[:2]!r}",
            )
            check_value(cell[2], f"{where}.writes")
        for key in field_of(step, "clear", is_list, where, "a list of columns", []):
            need(one_of(columns)(key), f"{where}.clear", f"names no column: {key!r}")
            written = {cell for cell in written if cell[1] != key}
        written.update((cell[0], cell[1]) for cell in step["writes"])
        ever.update(cell[1] for cell in step["writes"])
        _entries(step, where, trace)
        for key in ("add", "drops", "free", "holds", "keep", "uses"):
            field_of(step, key, list_of(one_of(nodes)), where, "a list of node ids", [])
        is_line = lambda v: is_count(v) and v >= 1
        field_of(step, "line", is_line, where, "a line number from 1", 1)
        for tokens in field_of(step, "state", list_of(is_list), where, "a list of formulas", []):
            _tokens(tokens, f"{where}.state")
        field_of(step, "partial", is_truth, where, "true or false", False)
        _contributions(step, where, edges)
        _decisions(step, where, trace)
        _reference(step, "despite", nodes, f"{where}.despite", "node")
        _not_finite(step, where)
    for key in columns:
        need(
            key in ever, "columns", f"has {key!r}, but no step writes it: absent means not computed"
        )


BLOCKS = ("function", "library", "loop", "module", "round")


def _program(trace: Trace, nodes: dict[str, int]) -> None:
    """The blocks of the program, each after the one around it, which of them a node belongs to, and
    what the function raised.
    """
    known: set[str] = set()
    for i, block in enumerate(trace.get("blocks", [])):
        where = f"blocks[{i}]"
        name = field_of(block, "id", lambda v: is_text(v) and v not in known, where, "a new text")
        field_of(block, "kind", one_of(BLOCKS), where, f"one of {BLOCKS}")
        field_of(block, "label", is_text, where, "a text")
        _reference(block, "parent", known, f"{where}.parent", "earlier block")
        for key in ("line", "round", "rounds"):
            field_of(block, key, is_count, where, "a number", 0)
        known.add(name)
    for i, node in enumerate(trace["nodes"]):
        _reference(node, "block", known, f"nodes[{i}].block", "block")
    if "error" in trace:
        for key in ("type", "message"):
            field_of(trace["error"], key, is_text, "error", "a text")
        field_of(trace["error"], "node", one_of(nodes), "error", "a node's id")


REASONS = ("domain", "from", "large", "slope", "undefined")


def _not_finite(step: dict[str, Any], where: str) -> None:
    """Why a result is NaN or infinite."""
    if "nonfinite" in step:
        where = f"{where}.nonfinite"
        told = field_of(step, "nonfinite", is_object, where, "an object")
        why = field_of(told, "why", one_of(REASONS), where, f"one of {REASONS}")
        field_of(told, "kind", one_of(("nan", "inf", "-inf")), where, "nan, inf or -inf")
        for key in ("what", "where") if why == "domain" else ("what",):
            _tokens(field_of(told, key, is_list, where, "a list of tokens"), f"{where}.{key}")


def _decisions(step: dict[str, Any], where: str, trace: Trace) -> None:
    for one in field_of(step, "decides", is_list, where, "a list", []):
        for key in ("answer", "loop"):
            field_of(one, key, is_truth, f"{where}.decides", "true or false")
        field_of(one, "computes", list_of(is_text, 2), f"{where}.decides", "two texts", ["", ""])
        for key in ("part", "read"):
            field_of(one, key, is_truth, f"{where}.decides", "true or false", False)
        field_of(one, "asks", is_text, f"{where}.decides", "text", "")
        for key in ("runs", "skips"):
            if key in one:
                _span(one[key], f"{where}.decides.{key}", trace)


def _passes(trace: Trace, nodes: dict[str, int]) -> None:
    """Several passes in one Trace: each has a mode and a seed of its own; a matrix may name its
    rows and columns by nodes.
    """
    for i, one in enumerate(
        field_of(trace, "passes", is_list, "trace", "a list of passes") if "passes" in trace else []
    ):
        field_of(
            one,
            "mode",
            one_of(("forward", "reverse")),
            f"passes[{i}]",
            "forward or reverse",
        )
        field_of(one, "seed", is_object, f"passes[{i}]", "an object")
    if "jacobian" in trace:
        for key in ("rows", "columns"):
            field_of(trace["jacobian"], key, list_of(is_text), "jacobian", "a list of names")


def _entries(step: dict[str, Any], where: str, trace: Trace) -> None:
    is_pass = lambda v: is_count(v) and v < len(trace.get("passes", []))
    field_of(step, "pass", is_pass, where, "the number of a pass", 0)
    for cell in field_of(step, "entries", is_list, where, "a list of [row, column, value]", []):
        need(
            is_list(cell) and len(cell) == 3 and "jacobian" in trace,
            f"{where}.entries",
            "must hold [row, column, value] of the jacobian",
        )
        rows, columns = len(trace["jacobian"]["rows"]), len(trace["jacobian"]["columns"])
        inside = is_count(cell[0]) and is_count(cell[1]) and cell[0] < rows and cell[1] < columns
        need(inside, f"{where}.entries", f"lies outside the matrix: {cell[:2]}")
        check_value(cell[2], f"{where}.entries")


def _contributions(step: dict[str, Any], where: str, edges: dict[str, Any]) -> None:
    parts = field_of(step, "contribs", is_list, where, "a list of contributions", [])
    for j, part in enumerate(parts):
        place = f"{where}.contribs[{j}]"
        edge = edges[field_of(part, "edge", one_of(edges), place, "an edge's id")]
        end = "dst" if step["phase"] == "tangent" else "src"
        need(
            edge[end] == step["node"],
            f"{place}.edge",
            f"{edge['id']} does not lead {'to' if end == 'dst' else 'back to'} {step['node']}",
        )
        for key in ("upstream", "product"):
            need(key in part, f"{place}.{key}", "must be present")
        field_of(part, "pointwise", is_truth, place, "true or false", False)
        for key in ("local", "upstream", "product", "before", "after"):
            if key in part:
                check_value(part[key], f"{place}.{key}")


NESTED = {"frac": ("num", "den"), "sup": ("base", "exp"), "sqrt": ("of",)}
"""The keys of a token that hold formulas themselves: of a fraction, a power, a root."""
_PLAIN = {"sym": "base", "num": "value", "op": "text", "fn": "text", "text": "text"}
_TOKENS = (*_PLAIN, *NESTED)
# made once: a Trace has many tokens
_IS_TOKEN, _A_TOKEN = one_of(_TOKENS), f"one of {_TOKENS}"
_IS_COLUMN, _A_COLUMN = one_of(COLUMNS), f"one of {COLUMNS}"
_IS_ACCENT, _IS_CELL = one_of(("dot", "bar")), list_of(is_text, 2)


def inner_formulas(token: Mapping[str, Any]) -> list[list[Any]]:
    """The formulas inside a token."""
    return [token[key] for key in NESTED.get(token["t"], ())]


def _tokens(tokens: list[Any], where: str) -> None:
    for i, token in enumerate(tokens):
        place = f"{where}[{i}]"
        kind = field_of(token, "t", _IS_TOKEN, place, _A_TOKEN)
        for key in NESTED.get(kind, ()):
            _tokens(field_of(token, key, is_list, place, "a list of tokens"), f"{place}.{key}")
        if kind == "num":
            need("value" in token, f"{place}.value", "must be present")
            check_value(token["value"], f"{place}.value")
        elif kind in _PLAIN:
            field_of(token, _PLAIN[kind], is_text, place, "a text")
        field_of(token, "col", _IS_COLUMN, place, _A_COLUMN, "v")
        field_of(token, "accent", _IS_ACCENT, place, "dot or bar", "")


def _layout(layout: Any, nodes: dict[str, int], edges: dict[str, Any]) -> None:
    for key in ("width", "height"):
        field_of(layout, key, is_length, "layout", "a length")
    for name, box in field_of(
        layout, "nodes", is_object, "layout", "an object of node ids"
    ).items():
        need(name in nodes, "layout.nodes", f"names no node: {name!r}")
        for key in "xywh":
            field_of(box, key, is_length, f"layout.nodes.{name}", "a number")
    for name, line in field_of(
        layout, "edges", is_object, "layout", "an object of edge ids"
    ).items():
        need(name in edges, "layout.edges", f"names no edge: {name!r}")
        points = field_of(line, "points", is_list, f"layout.edges.{name}", "a list of points")
        good = all(is_list(p) and len(p) == 2 and all(map(is_length, p)) for p in points)
        need(good, f"layout.edges.{name}.points", "must hold [x, y] pairs of numbers")


def to_json(trace: Trace) -> str:
    """The document as one line of JSON: the same Trace gives the same bytes, on every machine."""
    return json.dumps(trace, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
