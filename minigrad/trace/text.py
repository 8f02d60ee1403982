"""A Trace as plain text: the tables that a terminal, a screen reader, or a diff can read.

The forward table goes from the inputs to the output, a row a node; the reverse table lists the contributions in the order in which the
engine made them.
"""

from __future__ import annotations

from typing import Any

from .replay import state_at

Trace = dict[str, Any]
_DOT, _BAR = "\u0307", "\u0304"


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
    return ("0" if float(value) == 0 else text).replace("-", "−")


def text_of(tokens: list[dict[str, Any]]) -> str:
    """Formula tokens as a line of text; accents as ẋ (tangent) and x̄ (adjoint)."""
    out = ""
    for token in tokens:
        kind = token["t"]
        if kind == "sym":
            accent = {"dot": _DOT, "bar": _BAR}.get(token.get("accent", ""), "")
            piece = token["base"][:1] + accent + token["base"][1:] + str(token.get("sub", ""))
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
        if (kind == "op" and piece in "+−·/=×@→≈<>≤≥≠") or piece == "+=":
            piece = f" {piece} "
        elif kind == "op" and piece == ",":
            piece = ", "
        elif out and (out[-1].isalnum() or out[-1] in _DOT + _BAR) and kind in ("sym", "num", "fn", "frac", "sqrt", "text"):
            piece = " " + piece
        out += piece
    return " ".join(out.split())


def label(node: dict[str, Any]) -> str:
    """A node's label as text."""
    return f"{node['label']['base']}{node['label'].get('sub', '')}{node['label'].get('sup', '')}"


def table(trace: Trace, step: int | None = None) -> str:
    """The forward and the reverse table after `step` steps (all of them by default)."""
    last = len(trace["steps"]) if step is None else step
    cells = state_at(trace, last).cells
    keys = [c["key"] for c in trace["columns"] if c["key"] != "g"]
    heads = {"v": "value", "d": "tangent"}
    lines = [trace["title"]] if trace["title"] else []
    if keys:
        rows = [["node", "is", *(heads[k] for k in keys)]]
        for node in trace["nodes"]:
            rows.append([label(node), text_of(node["expr"]) or node["kind"], *(_cell(cells, node["id"], k) for k in keys)])
        lines += ["", "evaluation trace" + (" and forward mode" if "d" in keys else ""), *_aligned(rows)]
    if any(c["key"] == "g" for c in trace["columns"]):
        rows = [["adjoint", "step", "value"]]
        labels = {n["id"]: n["label"] for n in trace["nodes"]}
        for s in trace["steps"][:last]:
            for node, column, value in s["writes"]:
                if column == "g":
                    mark = labels[node]
                    rows.append(
                        [mark["base"][:1] + _BAR + mark["base"][1:] + str(mark.get("sub", "")), text_of(s["formula"]), number(value)]
                    )
        lines += ["", "reverse mode", *_aligned(rows)]
    return "\n".join(lines).strip("\n") + "\n"


def _cell(cells: dict[tuple[str, str], Any], node: str, column: str) -> str:
    return number(cells[node, column]) if (node, column) in cells else ""


def _width(text: str) -> int:
    return len(text.replace(_DOT, "").replace(_BAR, ""))


def _aligned(rows: list[list[str]]) -> list[str]:
    widths = [max(_width(row[i]) for row in rows) for i in range(len(rows[0]))]
    out = []
    for n, row in enumerate(rows):
        cells = [
            c + " " * (w - _width(c)) if i < 2 else " " * (w - _width(c)) + c for i, (c, w) in enumerate(zip(row, widths, strict=True))
        ]
        out.append(("  " + "  ".join(cells)).rstrip())
        if n == 0:
            out.append("  " + "  ".join("─" * w for w in widths))
    return out
