"""A Trace as plain text: the tables that a terminal, a screen reader, or a diff can read.

The forward table goes from the inputs to the output, a row a node; the reverse table lists the contributions in the order in which the
engine made them.
"""

from __future__ import annotations

import re
from typing import Any

from .replay import state_at

Trace = dict[str, Any]
_EXPONENT = re.compile(r"e(?:\+|(-))0*")
_DOT, _BAR, _LINE = "\u0307", "\u0304", "\u0305"
_BEFORE_SIGN = frozenset("=(,·/×@→←+−") | {"+="}


def number(value: Any) -> str:
    """A value with 4 significant digits (6 before the point are kept), arrays by their first elements, and by shape where that is more."""
    if isinstance(value, dict):
        if "sample" in value:
            shown = ", ".join(number(v) for v in value["sample"][:4])
            size = 1
            for n in value["shape"]:
                size *= n
            if len(value["shape"]) == 1 and size <= 4:
                return f"[{shown}]"  # all of a vector: its shape is plain to see, and "[1, 2] 2" reads like a product
            return f"[{shown}{', …' if size > 4 else ''}] {'×'.join(map(str, value['shape']))}"
        imaginary = number(value["im"])
        return f"{number(value['re'])}{'' if imaginary.startswith('−') else '+'}{imaginary}i"
    if isinstance(value, bool):
        return str(value)
    if isinstance(value, str):
        return {"nan": "NaN", "inf": "∞", "-inf": "−∞"}.get(value, value)
    text = f"{value:.4g}" if abs(value) < 1000 or abs(value) >= 1e6 else f"{value:.6g}"
    text = _EXPONENT.sub(r"e\1", text)
    return ("0" if float(value) == 0 else text).replace("-", "−")


def accented(base: str, accent: str | None) -> str:
    """A symbol with the accent of a tangent ("dot") or an adjoint ("bar"): ẋ, x̄. In a longer name the bar spans all letters, and the dot
    stands at the middle."""
    if accent == "bar":
        return base + _BAR if len(base) == 1 else "".join(letter + _LINE for letter in base)
    middle = (len(base) + 1) // 2
    return base[:middle] + _DOT + base[middle:] if accent == "dot" and base else base


def is_sign(tokens: list[dict[str, Any]], i: int) -> bool:
    """Whether token number ``i`` is a minus before a single operand, −x, and not one between two."""
    before = tokens[i - 1] if i else None
    alone = before is None or (before["t"] == "op" and before["text"] in _BEFORE_SIGN)
    return tokens[i]["t"] == "op" and tokens[i]["text"] == "−" and alone


def text_of(tokens: list[dict[str, Any]]) -> str:
    """Formula tokens as a line of text; accents as ẋ (tangent) and x̄ (adjoint)."""
    out = ""
    for i, token in enumerate(tokens):
        kind = token["t"]
        if kind == "sym":
            piece = accented(token["base"], token.get("accent")) + str(token.get("sub", ""))
        elif kind == "num":
            piece = number(token["value"])
        elif kind == "frac":
            piece = f"{text_of(token['num'])}/{text_of(token['den'])}"
        elif kind == "sup":
            piece = f"{text_of(token['base'])}^{text_of(token['exp'])}"
        elif kind == "sqrt":
            piece = f"√({text_of(token['of'])})"
        else:
            piece = token["text"]
        if is_sign(tokens, i):
            pass  # as in −x
        elif (kind == "op" and piece in "+−·/=×@→≈<>≤≥≠") or piece == "+=":
            piece = f" {piece} "
        elif kind == "op" and piece == ",":
            piece = ", "
        elif out and (out[-1].isalnum() or out[-1] in _DOT + _BAR + _LINE) and kind in ("sym", "num", "fn", "frac", "sqrt", "text"):
            piece = " " + piece
        out += piece
    return " ".join(out.split())


def label(node: dict[str, Any]) -> str:
    """A node's label as text."""
    return f"{node['label']['base']}{node['label'].get('sub', '')}{node['label'].get('sup', '')}"


def table(trace: Trace, step: int | None = None) -> str:
    """The forward and the reverse table after `step` steps (all of them by default).

    A Trace of several passes (a Jacobian) has the values once, then a table for each pass, and the matrix as far as it is filled.
    """
    last = len(trace["steps"]) if step is None else step
    cells = state_at(trace, last).cells
    passes = trace.get("passes") or []
    keys = [c["key"] for c in trace["columns"] if c["key"] == "v" or (c["key"] == "d" and not passes)]
    heads = {"v": "value", "d": "tangent"}
    lines = [trace["title"]] if trace["title"] else []
    if keys:
        rows = [["node", "is", *(heads[k] for k in keys)]]
        for node in trace["nodes"]:
            rows.append([label(node), text_of(node["expr"]) or node["kind"], *(_cell(cells, node["id"], k) for k in keys)])
        lines += ["", "evaluation trace" + (" and forward mode" if "d" in keys else ""), *_aligned(rows)]
    done = trace["steps"][:last]
    for k, one in enumerate(passes):
        forward, same = one["mode"] == "forward", [j for j, other in enumerate(passes) if other["mode"] == one["mode"]]
        rows = _derivatives(trace, [s for s in done if s.get("pass") == k], "d" if forward else "g")
        if len(rows) > 1:
            lines += [
                "",
                f"{one['mode']} mode, pass {same.index(k) + 1} of {len(same)}{_seeded(trace, one['mode'], same, k)}",
                *_aligned(rows),
            ]
    if not passes and any(c["key"] == "g" for c in trace["columns"]):
        lines += ["", "reverse mode", *_aligned(_derivatives(trace, done, "g"))]
    return "\n".join([*lines, *_matrix(trace, last)]).strip("\n") + "\n"


def _derivatives(trace: Trace, steps: list[dict[str, Any]], column: str) -> list[list[str]]:
    """A row for each tangent or adjoint that the steps wrote, below the heads of the columns."""
    rows = [["tangent" if column == "d" else "adjoint", "step", "value"]]
    labels = {n["id"]: n["label"] for n in trace["nodes"]}
    for s in steps:
        for node, written, value in s["writes"]:
            if written == column:
                mark = labels[node]
                name = accented(mark["base"], "dot" if column == "d" else "bar") + str(mark.get("sub", ""))
                rows.append([name, text_of(s["formula"]), number(value)])
    return rows


def _seeded(trace: Trace, mode: str, same: list[int], k: int) -> str:
    """Where a pass of a Jacobian has its seed: the name of its column or row."""
    names = trace.get("jacobian", {}).get("columns" if mode == "forward" else "rows", [])
    return f", seeded with 1 at {names[same.index(k)]}" if len(names) == len(same) else ""


def _matrix(trace: Trace, last: int) -> list[str]:
    """The Jacobian as a table; an entry that is not computed yet is left empty."""
    found = trace.get("jacobian")
    if not found:
        return []
    entries = state_at(trace, last).entries
    rows = [["Jacobian", *(f"∂/∂{name}" for name in found["columns"])]]
    for i, name in enumerate(found["rows"]):
        rows.append([f"∂{name}", *(number(entries[i, j]) if (i, j) in entries else "" for j in range(len(found["columns"])))])
    return ["", *_aligned(rows, left=1)]


def _cell(cells: dict[tuple[str, str], Any], node: str, column: str) -> str:
    return number(cells[node, column]) if (node, column) in cells else ""


def _width(text: str) -> int:
    return sum(ch not in _DOT + _BAR + _LINE for ch in text)


def _aligned(rows: list[list[str]], left: int = 2) -> list[str]:
    """Lines with a rule under the first; the first ``left`` columns begin where they begin, the others end together."""
    widths = [max(_width(row[i]) for row in rows) for i in range(len(rows[0]))]
    out = []
    for n, row in enumerate(rows):
        cells = [
            c + " " * (w - _width(c)) if i < left else " " * (w - _width(c)) + c for i, (c, w) in enumerate(zip(row, widths, strict=True))
        ]
        out.append(("  " + "  ".join(cells)).rstrip())
        if n == 0:
            out.append("  " + "  ".join("─" * w for w in widths))
    return out
