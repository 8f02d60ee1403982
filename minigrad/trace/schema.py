"""What a well-formed `minigrad.trace/1` document is, and a validator whose complaints name the
place.

The checks go beyond shape: ids are unique, edges lead from older to younger nodes, a contribution
travels along an edge of the node that it is for, a step reads only what an earlier step wrote, a
column exists exactly if some step wrote into it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

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
COLUMNS = ("v", "d", "g")
COLUMN_PHASES = {"v": "primal", "d": "tangent", "g": "adjoint"}
SAMPLE = 16
"""So many elements of an array stand in the document; of larger ones these are the first, in
row-major order.
"""

Trace = dict[str, Any]


class TraceError(ValueError):
    """A document is not a well-formed Trace; the message says where and why."""


def validate(trace: Any) -> Trace:
    """Return `trace` if it is well-formed; raise TraceError, with the place in the document,
    otherwise.
    """
    _need(isinstance(trace, dict), "trace", "must be an object")
    _need(
        trace.get("schema") == SCHEMA, "schema", f'must be "{SCHEMA}", got {trace.get("schema")!r}'
    )
    for key, kind, name in (
        ("title", str, "a text"),
        ("seed", dict, "an object"),
        *((k, list, "a list") for k in _LISTS),
    ):
        _need(isinstance(trace.get(key), kind), key, f"must be present and be {name}")
    if "source" in trace:
        _field(trace["source"], "code", _text, "source", "the source text")
    nodes = _nodes(trace)
    edges = _edges(trace, nodes)
    columns = _columns(trace)
    for key in ("inputs", "outputs"):
        for i, node in enumerate(trace[key]):
            _need(_in(node, nodes), f"{key}[{i}]", f"names no node: {node!r}")
    for key, values in trace["seed"].items():
        _need(key in ("tangents", "adjoints"), f"seed.{key}", "must be tangents or adjoints")
        _need(isinstance(values, dict), f"seed.{key}", "must be an object of node ids")
        for node, value in values.items():
            _need(node in nodes, f"seed.{key}", f"names no node: {node!r}")
            _value(value, f"seed.{key}.{node}")
    _passes(trace, nodes)
    _program(trace, nodes)
    _steps(trace, nodes, edges, columns)
    if "layout" in trace:
        _layout(trace["layout"], nodes, edges)
    document: Trace = trace
    return document


_LISTS = ("inputs", "outputs", "nodes", "edges", "columns", "steps")


def _need(condition: bool, where: str, why: str) -> None:
    if not condition:
        raise TraceError(f"{where} {why}.")


def _field(item: Any, key: str, test: Callable[[Any], bool], where: str, what: str) -> Any:
    _need(isinstance(item, dict), where, "must be an object")
    _need(
        key in item and test(item[key]),
        f"{where}.{key}",
        f"must be {what}, got {_shown(item.get(key))}",
    )
    return item[key]


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _text(value: Any) -> bool:
    return isinstance(value, str)


def _count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _list(value: Any) -> bool:
    return isinstance(value, list)


def _in(value: Any, names: Any) -> bool:
    """Whether a value of whatever kind is one of some texts."""
    return isinstance(value, str) and value in names


def _nodes(trace: Trace) -> dict[str, int]:
    born: dict[str, int] = {}
    for i, node in enumerate(trace["nodes"]):
        where = f"nodes[{i}]"
        name = _field(node, "id", lambda v: _text(v) and v != "", where, "a non-empty text")
        _need(name not in born, f"{where}.id", f"is used twice: {name!r}")
        label = _field(
            node,
            "label",
            lambda v: isinstance(v, dict) and _text(v.get("base")),
            where,
            'an object with a text "base"',
        )
        _field(node, "kind", lambda v: _in(v, KINDS), where, f"one of {KINDS}")
        _field(node, "stage", lambda v: _in(v, STAGES), where, f"one of {STAGES}")
        _field(node, "shape", lambda v: _list(v) and all(map(_count, v)), where, "a list of sizes")
        _field(node, "dtype", _text, where, "a text")
        _tokens(_field(node, "expr", _list, where, "a list of tokens"), f"{where}.expr")
        if node["kind"] in ("op", "output"):
            _field(node, "op", _text, where, "a text for op and output nodes")
        for key in ("name", "group", "op"):
            _need(key not in node or _text(node[key]), f"{where}.{key}", "must be a text")
        for key in ("sub", "sup"):
            _need(key not in label or _text(label[key]), f"{where}.label.{key}", "must be a text")
        if "span" in node:
            _span(node["span"], f"{where}.span", trace)
        _need(
            isinstance(node.get("dangling", False), bool),
            f"{where}.dangling",
            "must be true or false",
        )
        if "saved" in node:
            _need(
                _list(node["saved"]) and all(map(_text, node["saved"])),
                f"{where}.saved",
                "must be a list of names",
            )
        if "terms" in node:
            _terms(node["terms"], node["shape"], f"{where}.terms")
        born[name] = i
    for i, node in enumerate(trace["nodes"]):
        _memory(node, f"nodes[{i}].memory", born)
        _need(
            "of" not in node or _in(node["of"], born),
            f"nodes[{i}].of",
            f"names no node: {node.get('of')!r}",
        )
    return born


COMBINED = ("sum", "largest")


def _terms(terms: Any, shape: list[int], where: str) -> None:
    """A loop and the indices of the arrays in it: of the result one along each axis."""
    sizes = _field(terms, "sizes", lambda v: _list(v) and all(map(_count, v)), where, "sizes")
    _field(terms, "combine", lambda v: _in(v, COMBINED), where, f"one of {COMBINED}")
    operands = _field(terms, "operands", _list, where, "a list of indices")
    result = _field(
        terms, "result", lambda v: _list(v) and len(v) == len(shape), where, "an index of each axis"
    )
    added = terms.get("added", [])
    good = _list(added) and all(_count(n) and n < len(operands) for n in added)
    _need(good, f"{where}.added", "must be positions of operands")
    for index in (result, *operands):
        for along in index if _list(index) else [index]:
            good = (
                _list(along)
                and along
                and isinstance(along[0], int)
                and all(
                    _list(pair)
                    and len(pair) == 2
                    and _count(pair[0])
                    and pair[0] < len(sizes)
                    and isinstance(pair[1], int)
                    for pair in along[1:]
                )
            )
            _need(good, where, f"must hold [offset, [variable, factor], …], got {_shown(along)}")


def _memory(node: dict[str, Any], where: str, born: dict[str, int]) -> None:
    """Where a value lies: bytes of its own, at a place in the program's buffers or not, or those
    of another value.
    """
    given = node.get("memory", {"bytes": 0})
    _need(
        isinstance(given, dict) and given.keys() in ({"of"}, {"bytes"}, {"bytes", "at"}),
        where,
        "must hold bytes, bytes and at, or of",
    )
    _need(
        all(_count(given[key]) for key in ("bytes", "at") if key in given),
        where,
        "must count bytes in whole numbers",
    )
    _need("of" not in given or _in(given["of"], born), where, f"names no node: {given.get('of')!r}")


def _span(span: Any, where: str, trace: Trace) -> None:
    _need(
        _list(span) and len(span) == 4 and all(map(_count, span)),
        where,
        "must be four numbers: line, column, end line, end column",
    )
    _need(
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
        _need(inside, where, f"leaves the source text: {span}")


def _edges(trace: Trace, nodes: dict[str, int]) -> dict[str, Any]:
    edges: dict[str, Any] = {}
    for i, edge in enumerate(trace["edges"]):
        where = f"edges[{i}]"
        name = _field(edge, "id", lambda v: _text(v) and v != "", where, "a non-empty text")
        _need(name not in edges, f"{where}.id", f"is used twice: {name!r}")
        for end in ("src", "dst"):
            _field(edge, end, lambda v: _in(v, nodes), where, "a node's id")
        _need(
            nodes[edge["src"]] < nodes[edge["dst"]],
            where,
            f"leads from {edge['src']} to the older {edge['dst']}",
        )
        _field(edge, "slot", _count, where, "an operand position")
        _field(edge, "stage", lambda v: _in(v, STAGES), where, f"one of {STAGES}")
        edges[name] = edge
    return edges


def _columns(trace: Trace) -> list[str]:
    keys: list[str] = []
    for i, column in enumerate(trace["columns"]):
        where = f"columns[{i}]"
        key = _field(column, "key", lambda v: _in(v, COLUMNS), where, f"one of {COLUMNS}")
        _need(key not in keys, f"{where}.key", f"is used twice: {key!r}")
        _field(column, "label", _text, where, "a text")
        phase = COLUMN_PHASES[key]
        _field(column, "phase", phase.__eq__, where, phase)
        keys.append(key)
    return keys


def _steps(trace: Trace, nodes: dict[str, int], edges: dict[str, Any], columns: list[str]) -> None:
    written: set[tuple[str, str]] = set()
    ever: set[str] = set()
    for i, step in enumerate(trace["steps"]):
        where = f"steps[{i}]"
        _field(step, "phase", lambda v: _in(v, PHASES), where, f"one of {PHASES}")
        _field(step, "node", lambda v: _in(v, nodes), where, "a node's id")
        _field(step, "say", _text, where, "a sentence")
        _tokens(_field(step, "formula", _list, where, "a list of tokens"), f"{where}.formula")
        for e in _field(step, "edges", _list, where, "a list of edge ids"):
            _need(_in(e, edges), f"{where}.edges", f"names no edge: {e!r}")
        for cell in _field(step, "reads", _list, where, "a list of [node, column]"):
            _need(
                _list(cell) and len(cell) == 2 and all(map(_text, cell)),
                f"{where}.reads",
                f"must hold [node, column], got {_shown(cell)}",
            )
            _need(
                tuple(cell) in written,
                f"{where}.reads",
                f"reads {cell[0]} ({cell[1]}) before it was written",
            )
        for cell in _field(step, "writes", _list, where, "a list of [node, column, value]"):
            _need(
                _list(cell) and len(cell) == 3,
                f"{where}.writes",
                f"must hold [node, column, value], got {_shown(cell)}",
            )
            _need(
                _in(cell[0], nodes) and _in(cell[1], columns),
                f"{where}.writes",
                f"names no node or column: {cell[:2]!r}",
            )
            _value(cell[2], f"{where}.writes")
        for key in (
            _field(step, "clear", _list, where, "a list of columns") if "clear" in step else []
        ):
            _need(_in(key, columns), f"{where}.clear", f"names no column: {key!r}")
            written = {cell for cell in written if cell[1] != key}
        written.update((cell[0], cell[1]) for cell in step["writes"])
        ever.update(cell[1] for cell in step["writes"])
        _entries(step, where, trace)
        for key in ("add", "drops", "free", "holds", "keep", "uses"):
            _need(
                _list(step.get(key, [])) and all(_in(n, nodes) for n in step.get(key, [])),
                f"{where}.{key}",
                "must be a list of node ids",
            )
        _need(
            "line" not in step or (_count(step["line"]) and step["line"] >= 1),
            f"{where}.line",
            "must be a line number from 1",
        )
        _contributions(step, where, edges)
        _decisions(step, where, trace)
    for key in columns:
        _need(
            key in ever, "columns", f"has {key!r}, but no step writes it: absent means not computed"
        )


BLOCKS = ("function", "loop", "module", "round")


def _program(trace: Trace, nodes: dict[str, int]) -> None:
    """The blocks of the program, each after the one around it, which of them a node belongs to, and
    what the function raised.
    """
    known: set[str] = set()
    for i, block in enumerate(trace.get("blocks", [])):
        where = f"blocks[{i}]"
        name = _field(block, "id", lambda v: _text(v) and v not in known, where, "a new text")
        _field(block, "kind", lambda v: _in(v, BLOCKS), where, f"one of {BLOCKS}")
        _field(block, "label", _text, where, "a text")
        _need(
            "parent" not in block or _in(block["parent"], known),
            f"{where}.parent",
            f"names no earlier block: {block.get('parent')!r}",
        )
        for key in ("line", "round", "rounds"):
            _need(key not in block or _count(block[key]), f"{where}.{key}", "must be a number")
        known.add(name)
    for i, node in enumerate(trace["nodes"]):
        _need(
            "block" not in node or _in(node["block"], known),
            f"nodes[{i}].block",
            f"names no block: {node.get('block')!r}",
        )
    if "error" in trace:
        for key in ("type", "message"):
            _field(trace["error"], key, _text, "error", "a text")
        _field(trace["error"], "node", lambda v: _in(v, nodes), "error", "a node's id")


def _decisions(step: dict[str, Any], where: str, trace: Trace) -> None:
    for one in _field(step, "decides", _list, where, "a list") if "decides" in step else []:
        for key in ("answer", "loop"):
            _field(one, key, lambda v: isinstance(v, bool), f"{where}.decides", "true or false")
        for key in ("runs", "skips"):
            if key in one:
                _span(one[key], f"{where}.decides.{key}", trace)


def _passes(trace: Trace, nodes: dict[str, int]) -> None:
    """Several passes in one Trace: each has a mode and a seed of its own; a matrix may name its
    rows and columns by nodes.
    """
    for i, one in enumerate(
        _field(trace, "passes", _list, "trace", "a list of passes") if "passes" in trace else []
    ):
        _field(
            one,
            "mode",
            lambda v: _in(v, ("forward", "reverse")),
            f"passes[{i}]",
            "forward or reverse",
        )
        _field(one, "seed", lambda v: isinstance(v, dict), f"passes[{i}]", "an object")
    if "jacobian" in trace:
        for key in ("rows", "columns"):
            _field(
                trace["jacobian"],
                key,
                lambda v: _list(v) and all(map(_text, v)),
                "jacobian",
                "a list of names",
            )


def _entries(step: dict[str, Any], where: str, trace: Trace) -> None:
    if "pass" in step:
        _need(
            _count(step["pass"]) and step["pass"] < len(trace.get("passes", [])),
            f"{where}.pass",
            "must be the number of a pass",
        )
    for cell in (
        _field(step, "entries", _list, where, "a list of [row, column, value]")
        if "entries" in step
        else []
    ):
        _need(
            _list(cell) and len(cell) == 3 and "jacobian" in trace,
            f"{where}.entries",
            "must hold [row, column, value] of the jacobian",
        )
        rows, columns = len(trace["jacobian"]["rows"]), len(trace["jacobian"]["columns"])
        inside = _count(cell[0]) and _count(cell[1]) and cell[0] < rows and cell[1] < columns
        _need(inside, f"{where}.entries", f"lies outside the matrix: {cell[:2]}")
        _value(cell[2], f"{where}.entries")


def _contributions(step: dict[str, Any], where: str, edges: dict[str, Any]) -> None:
    for j, part in enumerate(
        _field(step, "contribs", _list, where, "a list of contributions")
        if "contribs" in step
        else []
    ):
        place = f"{where}.contribs[{j}]"
        edge = edges[_field(part, "edge", lambda v: _in(v, edges), place, "an edge's id")]
        end = "dst" if step["phase"] == "tangent" else "src"
        _need(
            edge[end] == step["node"],
            f"{place}.edge",
            f"{edge['id']} does not lead {'to' if end == 'dst' else 'back to'} {step['node']}",
        )
        for key in ("upstream", "product"):
            _need(key in part, f"{place}.{key}", "must be present")
        for key in ("local", "upstream", "product", "before", "after"):
            if key in part:
                _value(part[key], f"{place}.{key}")


def _value(value: Any, where: str) -> None:
    if isinstance(value, dict):
        if "shape" in value:
            _need(
                _list(value["shape"]) and all(map(_count, value["shape"])),
                where,
                "an array's shape must be a list of sizes",
            )
            _field(value, "dtype", _text, where, "a text")
            size = math.prod(value["shape"])
            sample = _field(value, "sample", _list, where, "a list of the first elements")
            _need(
                len(sample) == min(size, SAMPLE),
                f"{where}.sample",
                f"must hold {min(size, SAMPLE)} of the {size} elements, got {len(sample)}",
            )
            if "elements" in value:
                _elements(value, size, where)
            if "heat" in value:
                _heat(value["heat"], f"{where}.heat")
            for v in (*sample, *(value[k] for k in ("min", "max", "norm") if k in value)):
                _need(
                    not (isinstance(v, dict) and "shape" in v),
                    where,
                    "an array's elements must be numbers",
                )
                _value(v, where)
            return
        _need(
            value.keys() == {"re", "im"},
            where,
            f"must be a number or a value object, got {_shown(value)}",
        )
        for v in (value["re"], value["im"]):
            _need(
                not isinstance(v, dict), where, "the parts of a complex number must be real numbers"
            )
            _value(v, where)
        return
    if isinstance(value, str):
        _need(value in ("nan", "inf", "-inf"), where, f"must be a number, got {value!r}")
        return
    _need(
        isinstance(value, bool | int | float),
        where,
        f"must be a number, got {type(value).__name__}",
    )
    _need(
        isinstance(value, int) or math.isfinite(value),
        where,
        'must write NaN and infinity as the texts "nan", "inf", "-inf"',
    )


def _elements(value: dict[str, Any], size: int, where: str) -> None:
    """Every element of a large array, of which the sample holds the first."""
    found = _field(value, "elements", _list, where, "a list of all elements")
    _need(len(found) == size, f"{where}.elements", f"must hold {size} numbers, got {len(found)}")
    _need(
        found[: len(value["sample"])] == value["sample"],
        f"{where}.elements",
        "must begin as sample",
    )
    for v in found:
        _need(not (isinstance(v, dict) and "shape" in v), where, "elements must be numbers")
        _value(v, where)


LEVELS = "0123456789abcdefg"
"""The colours of a heat map: 8 stands for zero, 0 and g for minus and plus the scale; "n" is not
a number.
"""


def _heat(heat: Any, where: str) -> None:
    shape = _field(
        heat,
        "shape",
        lambda v: _list(v) and len(v) == 2 and all(map(_count, v)),
        where,
        "two sizes",
    )
    _field(heat, "scale", _length, where, "a number")
    good = _field(heat, "levels", _text, where, "a text of levels")
    _need(
        len(good) == math.prod(shape) and set(good) <= {*LEVELS, "n"},
        f"{where}.levels",
        "must hold one level for each cell",
    )


_NESTED = {"frac": ("num", "den"), "sup": ("base", "exp"), "sqrt": ("of",)}
_PLAIN = {"sym": "base", "num": "value", "op": "text", "fn": "text", "text": "text"}


def _tokens(tokens: list[Any], where: str) -> None:
    for i, token in enumerate(tokens):
        place = f"{where}[{i}]"
        kind = _field(
            token,
            "t",
            lambda v: _in(v, _NESTED) or _in(v, _PLAIN),
            place,
            f"one of {(*_PLAIN, *_NESTED)}",
        )
        for key in _NESTED.get(kind, ()):
            _tokens(_field(token, key, _list, place, "a list of tokens"), f"{place}.{key}")
        if kind == "num":
            _need("value" in token, f"{place}.value", "must be present")
            _value(token["value"], f"{place}.value")
        elif kind in _PLAIN:
            _field(token, _PLAIN[kind], _text, place, "a text")
        _need(
            "col" not in token or _in(token["col"], COLUMNS),
            f"{place}.col",
            f"must be one of {COLUMNS}",
        )
        _need(
            "accent" not in token or _in(token["accent"], ("dot", "bar")),
            f"{place}.accent",
            "must be dot or bar",
        )


def _layout(layout: Any, nodes: dict[str, int], edges: dict[str, Any]) -> None:
    for key in ("width", "height"):
        _field(layout, key, _length, "layout", "a length")
    for name, box in _field(
        layout, "nodes", lambda v: isinstance(v, dict), "layout", "an object of node ids"
    ).items():
        _need(name in nodes, "layout.nodes", f"names no node: {name!r}")
        for key in "xywh":
            _field(box, key, _length, f"layout.nodes.{name}", "a number")
    for name, line in _field(
        layout, "edges", lambda v: isinstance(v, dict), "layout", "an object of edge ids"
    ).items():
        _need(name in edges, "layout.edges", f"names no edge: {name!r}")
        points = _field(line, "points", _list, f"layout.edges.{name}", "a list of points")
        good = all(_list(p) and len(p) == 2 and all(map(_length, p)) for p in points)
        _need(good, f"layout.edges.{name}.points", "must hold [x, y] pairs of numbers")


def _length(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def to_json(trace: Trace) -> str:
    """The document as one line of JSON: the same Trace gives the same bytes, on every machine."""
    return json.dumps(trace, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
