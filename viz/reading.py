"""Reading a Trace: the few questions that every picture asks of it.

A picture needs more than the state at a step (that is ``minigrad.trace.state_at``): whether a
document can be drawn at all, which column a step belongs to, and how a formula's tokens become a
line of text. Nothing here differentiates: a picture shows what the document says. The document is
described in ``minigrad/design/0002-trace.md``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any, NamedTuple

from minigrad.viz.constants import PHASES, SPACED
from minigrad.viz.numbers import short

from minigrad.trace import SCHEMA, TraceError
from minigrad.trace.schema import inner_formulas
from minigrad.trace.text import accented, is_sign, raised


def check(trace: Any) -> Mapping[str, Any]:
    """Return ``trace`` if a picture can be drawn of it.

    This asks less than :func:`minigrad.trace.validate`: a wrong engine's Trace, such as a student's
    with a bug in it, is to be seen too.

    Raises:
        TraceError: another schema, a missing part, or a reference to a node or edge that does not
        exist; the message names the place.
    """
    if not isinstance(trace, Mapping):
        raise TraceError(
            f"a Trace is a dict (the JSON object {SCHEMA}), but got {type(trace).__name__};"
            " minigrad.watch.trace_function(f, ...) makes one, and viz.trace_of(result) one of an"
            " engine of your own"
        )
    if trace.get("schema") != SCHEMA:
        raise TraceError(
            f"this viewer reads {SCHEMA}, but the document says schema = {trace.get('schema')!r}"
        )
    for part in ("nodes", "edges", "columns", "steps"):
        if not isinstance(trace.get(part), list):
            raise TraceError(
                f"the Trace has no list {part!r}; see minigrad/design/0002-trace.md for the"
                " document's form"
            )
    try:
        nodes = {n["id"] for n in trace["nodes"] if isinstance(n["label"]["base"], str)}
        edges = {e["id"] for e in trace["edges"]}
        columns = {c["key"] for c in trace["columns"]}
        for edge in trace["edges"]:
            _known(edge["src"], nodes, f"edge {edge['id']!r}: src")
            _known(edge["dst"], nodes, f"edge {edge['id']!r}: dst")
        for k, step in enumerate(trace["steps"], 1):
            _known(step["node"], nodes, f"step {k}: node")
            for edge in step["edges"]:
                _known(edge, edges, f"step {k}: edge")
            for node, column, *_ in [*step["reads"], *step["writes"]]:
                _known(node, nodes, f"step {k}: node")
                _known(column, columns, f"step {k}: column")
    except (KeyError, TypeError, ValueError) as problem:
        if isinstance(problem, TraceError):
            raise
        raise TraceError(f"the Trace is malformed: {type(problem).__name__} {problem}") from problem
    return trace


def _known(name: Any, known: Iterable[Any], where: str) -> None:
    if name not in known:
        raise TraceError(f"{where} {name!r} does not exist in this Trace")


def keeps(trace: Mapping[str, Any]) -> bool:
    """Whether values are kept for a pass backward: one runs in this Trace, or lets something go."""
    saved = any(node.get("saved") for node in trace["nodes"])
    return saved and (
        any(column["key"] == "g" for column in trace["columns"])
        or any(step.get("free") for step in trace["steps"])
    )


def rows(trace: Mapping[str, Any]) -> dict[str, list[Mapping[str, Any]]]:
    """The columns that each node's card has a row for: all, but not for a value that an engine's
    graph does not keep."""
    computed = [step for step in trace["steps"] if step["phase"] == "primal"]
    unkept = {s["node"] for s in computed if not s["writes"] and "fails" not in s}
    unkept -= {s["node"] for s in computed if s["writes"]}  # a group has the value of its last node
    columns = trace["columns"]
    fewer = [column for column in columns if column["key"] != "v"]
    return {n["id"]: fewer if n["id"] in unkept else columns for n in trace["nodes"]}


def column_of(step: Mapping[str, Any]) -> str:
    """The column (v, d or g) that gives a step its colour and dash: that of its first write,
    else that of its phase.
    """
    writes = step.get("writes") or []
    return writes[0][1] if writes else PHASES.get(step.get("phase", ""), "v")


def shown_column(trace: Mapping[str, Any], step: Mapping[str, Any] | None) -> str:
    """The column that colours a step in its picture, "" before the first; without adjoints
    nothing is purple.
    """
    if step is None:
        return ""
    column, known = column_of(step), [c["key"] for c in trace["columns"]]
    return column if column in known or not known else str(known[0])


class TextRun(NamedTuple):
    """A piece of a line of mathematics: its text, whether it is slanted, and its level (0
    baseline, -1 subscript, 1 superscript).
    """

    text: str
    italic: bool = False
    level: int = 0


def symbol_runs(label: Mapping[str, Any]) -> list[TextRun]:
    """A symbol such as v̇₃ as runs; a bar spans a name of several letters."""
    base = str(label.get("base", ""))
    runs = [TextRun(accented(base, label.get("accent")), italic=True)]
    if label.get("sub"):
        runs.append(TextRun(str(label["sub"]), level=-1))
    if label.get("sup"):
        runs.append(TextRun(str(label["sup"]), level=1))
    return runs


def runs(tokens: Iterable[Mapping[str, Any]]) -> list[TextRun]:
    """A formula's tokens on one line: fractions become a/b, roots √(…)."""
    out: list[TextRun] = []
    line = list(tokens)
    for i, token in enumerate(line):
        kind = token.get("t")
        if kind == "sym":
            out += symbol_runs(token)
        elif kind == "num":
            out.append(TextRun(short(token["value"])))
        elif kind == "op":
            text = str(token.get("text", ""))
            out.append(
                TextRun(
                    f" {text} "
                    if text in SPACED and not is_sign(line, i)
                    else ", "
                    if text == ","
                    else text
                )
            )
        elif kind == "fn":
            out.append(
                TextRun(
                    str(token.get("text", ""))
                    + ("" if i + 1 == len(line) or line[i + 1].get("text") == "(" else "\u2009")
                )
            )
        elif kind == "frac":
            out += [*_grouped(token["num"]), TextRun("/"), *_grouped(token["den"])]
        elif kind == "sup":
            power = runs(token["exp"])
            if any(run.level > 0 for run in power):  # a power in an exponent
                power = [TextRun(plain(power))]
            out += _grouped(token["base"]) + [TextRun(r.text, r.italic, 1) for r in power]
        elif kind == "sqrt":
            out += [TextRun("√"), *_grouped(token["of"])]
        else:
            out.append(TextRun(str(token.get("text", ""))))
    return out


def _grouped(tokens: list[Mapping[str, Any]]) -> list[TextRun]:
    inner = runs(tokens)
    single = len(tokens) == 1 or tokens[0].get("text", "").startswith("∂")
    return inner if single else [TextRun("("), *inner, TextRun(")")]


def plain(pieces: Iterable[TextRun]) -> str:
    """Runs as plain text, v1 for v₁, x², exp(x) for e to the power x, and a^(b − 1)."""
    out, last, is_e = "", 0, False
    for level, found in groupby(pieces, lambda run: run.level):
        line = [*found]
        whole = "".join(run.text for run in line)
        if level > max(last, 0):
            out = f"{out[:-1]}exp({whole})" if is_e else out + raised(whole, " " not in whole)
        else:
            out += whole
        last, is_e = level, line[-1] == TextRun("e")
    return out.replace("\u2009", " ").strip()


def rule_of(step: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The rule of a step: the last side of its formula that holds symbols, x̄2 = … = v̄4 · cos x2 =
    …. Empty where there is none.
    """

    def symbolic(tokens: Iterable[Mapping[str, Any]]) -> bool:
        return any(t["t"] == "sym" or any(map(symbolic, inner_formulas(t))) for t in tokens)

    sides: list[list[Mapping[str, Any]]] = [[]]
    depth = 0
    for token in step.get("formula") or ():
        text = token.get("text") if token["t"] == "op" else None
        depth += {"(": 1, ")": -1}.get(text or "", 0)
        relation = not depth and text in ("=", "+=", "→", "≈", "←")
        if relation and text == "→":
            break
        if relation:
            sides.append([])
        else:
            sides[-1].append(token)
    return next((side for side in reversed(sides[1:]) if symbolic(side)), [])


def heading_runs(node: Mapping[str, Any]) -> list[TextRun]:
    """What stands at the head of a node's card: "v1 = ln x1", or the label alone for an input. At
    most 30 letters: of a parameter's path all but the layer is left out first, then what stands in
    words behind the operands, then the ends of long names, then that of the expression. Which
    layer's weight it is stays.
    """
    head = symbol_runs(node["label"])
    expression = runs(node.get("expr") or [])
    if not expression:
        return head
    full = [*head, TextRun(" = "), *expression]
    if "lines" in node:  # a drawn box is as wide as it must be
        return full if node["label"]["base"] else expression
    if sum(len(r.text) for r in full) <= 30:  # most are so short
        return full
    near = lambda tokens: (
        r._replace(text=_of_its_layer(r.text)) if r.italic else r for r in runs(tokens)
    )
    brief = [*head, TextRun(" = "), *near(node["expr"])]
    less = [*head, TextRun(" = "), *near(_without_words(node["expr"]))]
    shorter = ([_with_names(r, most) for r in less] for most in (14, 10, 8))
    for line in (full, brief, less, *shorter):
        if sum(len(r.text.replace("\u0305", "")) for r in line) <= 30:
            return line
    cut, space = [], 30
    for r in less:
        letters = _LETTER.findall(r.text)
        whole = len(letters) < space
        cut.append(r if whole else r._replace(text="".join(letters[: space - 1]) + "…"))
        space -= len(letters)
        if not whole:
            break
    return cut


def _without_words(tokens: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    at = next((i for i, token in enumerate(tokens) if token["t"] == "text"), None)
    return [*tokens] if at is None else [*tokens[:at], {"t": "op", "text": "…"}, tokens[-1]]


def _with_names(run: TextRun, most: int) -> TextRun:
    """A run of which a name has at most so many letters."""
    letters = _LETTER.findall(run.text)
    whole = not run.italic or len(letters) <= most
    return run if whole else run._replace(text="".join(letters[: most - 1]) + "…")


_LETTER = re.compile(".\u0305?")


def _of_its_layer(name: str) -> str:
    """net.0.weight as 0.weight; a bar spans the rest."""
    last = ".".join(name.replace("\u0305", "").split(".")[-2:])
    return accented(last, "bar") if "\u0305" in name else last


def caption(node: Mapping[str, Any]) -> str:
    """The small second line of a card: the user's own name for the value, and the shape and
    dtype of an array.
    """
    label = plain(symbol_runs(node["label"]))
    name = str(node.get("name") or "")
    parts = [name if len(name) <= 22 else name[:21] + "…"] if name and name != label else []
    if node.get("shape"):
        parts.append(f"{tuple(node['shape'])} {node.get('dtype', '')}".strip())
    return " · ".join(parts)
