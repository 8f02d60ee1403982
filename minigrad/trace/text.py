"""A Trace as plain text: the tables that a terminal, a screen reader, or a diff can read.

The forward table goes from the inputs to the output, a row a node; the reverse table lists the
contributions in the order in which the engine made them. Above them stands what each pass begins
with, its seed.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import ROUND_HALF_UP, Context
from functools import lru_cache
from itertools import chain, islice
from typing import Any

from .replay import state_at
from .schema import inner_formulas

Trace = dict[str, Any]
_DOT, _BAR, _LINE = "\u0307", "\u0304", "\u0305"
_ACCENTS = _DOT + _BAR + _LINE
_SET = {sign: f" {sign} " for sign in (*"+−·/=×@∗→≈<>≤≥≠∧∨&|", "+=", "//", "mod", "xor")}
_SET[","] = ", "
"""Operators with the spaces that they are set with."""
_BEFORE_SIGN = frozenset("=(,·/×@→←+−") | {"+="}

LISTED = 8
"""Arrays of up to so many elements are shown with all of them."""
CHOSEN = 3
"""Elements of a large array that are shown where they are chosen."""
_RAISED = {"T": "ᵀ", "H": "ᴴ", "′": "′"}
_DIGITS = str.maketrans("−0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
MOST_SEEDS = 4
"""Of a pass with more seeds than that, so many are named: first those that are not zero."""

WORDS = {
    "node": "node", "is": "is", "v": "value", "d": "tangent", "g": "adjoint", "step": "step",
    "tangent is": "tangent is", "jacobian": "Jacobian",
    "values": "evaluation trace", "both": "evaluation trace and forward mode",
    "forward": "forward mode", "reverse": "reverse mode",
    "seeded": "{mode}, seed", "pass": "{mode}, pass {k} of {n}",
    "pass at": "{mode}, pass {k} of {n}, seeded with 1 at {at}",
}  # fmt: skip
"""The words of the tables; what they do not name, such as a node's kind, is said as the Trace
says it.
"""


REASONS = {
    "domain": "{what} is defined only where {where}; this gives {kind}.",
    "large": "The result is too large for {what}: {kind}.",
    "undefined": "{what} has no value at these numbers: {kind}.",
    "slope": "The derivative of {what} is not finite at these numbers: {kind}.",
    "from": "The {kind} comes from {what}.",
    "despite": "But the value of {what} is {kind}.",
}
"""What is said of a result that is NaN or infinite, by the Trace's "why"; and of a finite
derivative of such a value."""


EXPLAINED = {
    "outer": "outer(a, b) is the table of all products of an entry of a and an entry of b.",
    "sum": "sum(a, axis k) adds the entries along axis k.",
    "expand": "expand(a, shape s) repeats a until it has the shape s: a broadcast.",
    "unsqueeze": "unsqueeze(a, axis k) adds an axis of size 1 to a.",
    "reshape": "reshape(a, shape s) arranges the same entries in the shape s.",
    "scatter": "scatter(a at i) puts the entries of a at the positions i of zeros.",
    "cast": (
        "cast(a, t) converts a to the dtype t; a plain number as input is float64, unless all"
        " tensors of the function have another dtype."
    ),
    "where": "where(c, a, b) takes a where c holds, and b elsewhere.",
    "one_hot": "one_hot k is 1 at position k, and 0 elsewhere.",
    "conv_transpose": "conv_transpose(a, w) adds w, times each entry of a, to its window.",
    "permute": "permute(a, axes 1, 0) puts the axes of a into this order.",
    "standardize": "standardize(a, axis k) gives a the mean 0 and the variance 1 along axis k.",
    "product_of_others": "product_of_others(a, axis k) multiplies the other entries along axis k.",
    "reverse_cumsum": "reverse_cumsum(a, axis k) adds to each entry those after it.",
    "nll": "nll(a, k) is minus the entry of a at position k.",
    "sgn": "sgn a is the sign of a: −1, 0 or 1.",
}
"""What the functions of arrays in formulas do, a sentence each."""


def number(value: Any) -> str:
    """A value as every picture, table and sentence writes it: 4 significant digits, 6 from 1,000
    to a million, an exponent below 1e-4 and from a million on (1.234e−7). An array of up to
    :data:`LISTED` elements has the brackets of its shape, [[1, 2], [3, 4]]; a larger one is its
    first elements and its shape.
    """
    if type(value) is float and math.isfinite(value):  # as most are
        return _rounded(value)
    if isinstance(value, dict):
        if "re" in value:
            imaginary = number(value["im"])
            return f"{number(value['re'])}{'' if imaginary.startswith('−') else '+'}{imaginary}i"
        shape, sample = value.get("shape", []), value.get("sample", [])
        size = math.prod(shape)
        if 0 < size <= LISTED and size == len(sample):
            return _nested(sample, shape)
        return f"{elided(value, CHOSEN, size, number)} {tuple(shape)}"
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value)
    if isinstance(value, str):
        return {"nan": "NaN", "inf": "∞", "-inf": "−∞"}.get(value, value)
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else "∞" if value > 0 else "−∞"
    return _rounded(float(value))


def _nested(sample: Sequence[Any], shape: Sequence[int]) -> str:
    """Row-major numbers with the brackets of their shape."""
    if not shape:
        return number(sample[0])
    stride = math.prod(shape[1:])
    rows = (sample[i : i + stride] for i in range(0, len(sample), stride))
    return f"[{', '.join(_nested(row, shape[1:]) for row in rows)}]"


def elided(value: Any, most: int, size: int, text: Callable[[Any], str]) -> str:
    """An array by its first elements, or by those that it names as `chosen`; … stands for what is
    left out."""
    chosen = {"at": range(min(most, size)), "sample": value["sample"]}
    chosen = value.get("chosen", chosen) if size > most else chosen
    parts, following = [], 0
    for i, v in zip(chosen["at"], chosen["sample"], strict=False):
        parts += [*(["…"] if i > following else []), text(v)]
        following = i + 1
    return f"[{', '.join([*parts, *(['…'] if following < size else [])])}]"


def chosen_places(*wanted: Iterable[int]) -> list[int]:
    """Which elements of a large array to show so that some of those that are wanted are among
    them, the first kind before the others; empty where the first elements will do."""
    places = sorted(islice(dict.fromkeys(chain(*wanted, range(CHOSEN))), CHOSEN))
    return places if places[-1] >= CHOSEN else []


@lru_cache(maxsize=16_384)
def _rounded(value: float) -> str:
    """A finite number with its significant digits. A tie is rounded away from zero, as JavaScript's
    `toExponential` does, so that pages and sentences agree."""
    if value == 0:
        return "0"
    sign, size = "−" if value < 0 else "", abs(value)
    digits = 6 if 1e3 <= size < 1e6 else 4
    if f"{size:.16e}"[digits + 1 : 18].rstrip("0") == "5":  # `format` rounds a tie to even
        size = float(Context(digits, ROUND_HALF_UP).create_decimal(size))
    text, _, exponent = f"{size:.{digits}g}".partition("e")
    return sign + text + (f"e{int(exponent)}".replace("-", "−") if exponent else "")


def accented(base: str, accent: str | None) -> str:
    """A symbol with the accent of a tangent ("dot") or an adjoint ("bar"): ẋ, x̄. In a longer name
    the bar spans all letters, and the dot stands at the middle.
    """
    if accent == "bar":
        return base + _BAR if len(base) == 1 else "".join(letter + _LINE for letter in base)
    middle = (len(base) + 1) // 2
    return base[:middle] + _DOT + base[middle:] if accent == "dot" and base else base


def is_sign(tokens: list[dict[str, Any]], i: int) -> bool:
    """Whether token number ``i`` is a minus before a single operand, −x, and not one between
    two.
    """
    before = tokens[i - 1] if i else None
    alone = before is None or (before["t"] == "op" and before["text"] in _BEFORE_SIGN)
    return tokens[i]["t"] == "op" and tokens[i]["text"] == "−" and alone


def reason(told: Mapping[str, Any], reasons: Mapping[str, str] = REASONS) -> str:
    """Why a result is NaN or infinite: a step's "nonfinite" as a sentence."""
    what, where = (text_of(told.get(key, [])) for key in ("what", "where"))
    return reasons[told["why"]].format(what=what, where=where, kind=number(told["kind"]))


def honest(tokens: Iterable[Any]) -> list[Any]:
    """A formula with ≈ in place of = where numbers are computed with, and what is shown of them
    does not give what is shown of the result: 3.718 + 2.718 ≈ 6.437."""
    out = [*tokens]
    ends = [i for i, t in enumerate(out) if t["t"] == "op" and t["text"] in _RELATIONS]
    for before, i, after in zip([-1, *ends], ends, [*ends[1:], len(out)], strict=False):
        left, right = out[before + 1 : i], out[i + 1 : after]
        if out[i]["text"] == "=" and len(left) > 1 and len(right) == 1:
            pieces = [*map(_calculable, [*left, *right])]
            if None in pieces:
                continue
            found = _calculated("".join(map(str, pieces[:-1])))
            if math.isfinite(found) and number(found) != number(right[0]["value"]):
                out[i] = {**out[i], "text": "≈"}
    return out


_RELATIONS = frozenset(("=", "+=", "→", "≈", "←"))
_SIGNS = {"+": "+", "−": "-", "·": "*", "×": "*", "/": "/", "(": "(", ")": ")"}


def _calculable(token: Mapping[str, Any]) -> str | None:
    """A number as it is shown, or a sign of arithmetic, as Python writes them."""
    if token["t"] == "op":
        return _SIGNS.get(token["text"])
    if token["t"] == "sup":
        base, power = ([*map(_calculable, token[key])] for key in ("base", "exp"))
        known = None not in base and None not in power
        return f"({''.join(map(str, base))})**({''.join(map(str, power))})" if known else None
    value = token.get("value")
    if token["t"] != "num" or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return number(value).replace("−", "-") if not isinstance(value, bool) else None


@lru_cache(maxsize=4096)
def _calculated(text: str) -> float:
    """What numbers and signs of arithmetic give; NaN where that is nothing."""
    try:
        return float(eval(text, {"__builtins__": {}}))
    except (ArithmeticError, SyntaxError, TypeError):
        return math.nan


def _of_fraction(tokens: list[Any]) -> str:
    """Above or below the line of a fraction: a sum in parentheses."""
    text = text_of(tokens)
    signs = [token["text"] for token in tokens if token["t"] == "op"]
    is_sum = {*signs} & {"+", "−"} and signs[0][0] != "∂"
    return f"({text})" if is_sum and len(tokens) > 2 else text


_E = [{"t": "fn", "text": "e"}]


def raised(power: str, bare: bool) -> str:
    """An exponent as text: x², xᵀ, and a^(b − 1). bare: it has no operator."""
    if power.lstrip("−").isdecimal():
        return power.translate(_DIGITS)
    return _RAISED.get(power) or f"^{power if bare else f'({power})'}"


def text_of(tokens: list[dict[str, Any]]) -> str:
    """Formula tokens as a line of text; accents as ẋ (tangent) and x̄ (adjoint)."""
    out = ""
    for i, token in enumerate(tokens):
        kind = token["t"]
        if kind == "op":
            piece = token["text"]
            sign = piece == "−" and is_sign(tokens, i)  # as in −x
            out += piece if sign else _SET.get(piece, piece)
            continue
        if kind == "sym":
            base, accent = token["base"], token.get("accent")
            piece = accented(base, accent) if accent else base
            if "sub" in token:
                piece += str(token["sub"])
        elif kind == "num":
            piece = number(token["value"])
        elif kind == "frac":
            piece = "/".join(_of_fraction(token[part]) for part in ("num", "den"))
        elif kind == "sup":
            exponent = text_of(token["exp"])
            bare = len(token["exp"]) == 1 and token["exp"][0]["t"] != "sup"
            if token["base"] == _E:
                piece = f"exp({exponent})"
            else:
                piece = text_of(token["base"]) + raised(exponent, bare)
        elif kind == "sqrt":
            piece = f"√({text_of(token['of'])})"
        else:
            piece = token["text"]
        if kind != "sup" and out and (out[-1].isalnum() or out[-1] in _ACCENTS):
            piece = " " + piece
        out += piece
    return " ".join(out.split())


def label(node: dict[str, Any]) -> str:
    """A node's label as text."""
    return f"{node['label']['base']}{node['label'].get('sub', '')}{node['label'].get('sup', '')}"


def _is_zero_array(value: Any) -> bool:
    return isinstance(value, Mapping) and value.get("min") == value.get("max") == 0


def seeds(trace: Mapping[str, Any]) -> list[tuple[str, list[dict[str, Any]]]]:
    """What the passes begin with: for each mode, its seeds as tokens, ẋ1 = 1, ẋ2 = 0, for an
    array of 0, too. Empty where each of several passes has its own.
    """
    if trace.get("passes"):
        return []
    labels = {node["id"]: node["label"] for node in trace["nodes"]}
    out = []
    for mode, part, accent, column in (
        ("forward", "tangents", "dot", "d"),
        ("reverse", "adjoints", "bar", "g"),
    ):
        found = [
            (name, value)
            for name, value in (trace.get("seed") or {}).get(part, {}).items()
            if name in labels
        ]
        shown = [(name, 0.0 if _is_zero_array(value) else value) for name, value in found]
        if len(shown) > MOST_SEEDS:
            shown = sorted(shown, key=lambda one: number(one[1]) == "0")[:MOST_SEEDS]
        tokens: list[dict[str, Any]] = []
        for name, value in shown:
            symbol = {"t": "sym", **labels[name], "accent": accent, "node": name, "col": column}
            comma = [{"t": "op", "text": ","}] if tokens else []
            tokens += [
                *comma,
                symbol,
                {"t": "op", "text": "="},
                {"t": "num", "value": value, "col": column},
            ]
        if len(found) > len(shown):
            tokens += [{"t": "op", "text": ","}, {"t": "text", "text": "…"}]
        if tokens:
            out.append((mode, tokens))
    return out


def pass_place(trace: Mapping[str, Any], index: int | None) -> dict[str, Any] | None:
    """Where a pass stands among those of its mode: ``{"mode", "k", "n", "at"}``; None where the
    Trace has no such pass.

    at is the name of what is seeded with 1; empty where that is not known.
    """
    passes = trace.get("passes") or []
    if index is None or not 0 <= index < len(passes):
        return None
    mode = passes[index]["mode"]
    same = [k for k, one in enumerate(passes) if one["mode"] == mode]
    names = trace.get("jacobian", {}).get("columns" if mode == "forward" else "rows", [])
    k = same.index(index)
    return {
        "mode": mode,
        "k": k + 1,
        "n": len(same),
        "at": names[k] if len(names) == len(same) else "",
    }


def table(trace: Trace, step: int | None = None, words: Mapping[str, str] | None = None) -> str:
    """The forward and the reverse table after `step` steps (all of them by default).

    A Trace of several passes (a Jacobian) has the values once, then a table for each pass, and the
    matrix as far as it is filled.
    words: those of another language in the place of :data:`WORDS`, by the same names.
    """
    said = {**WORDS, **(words or {})}
    last = len(trace["steps"]) if step is None else step
    cells = state_at(trace, last).cells
    passes = trace.get("passes") or []
    keys = [
        c["key"] for c in trace["columns"] if c["key"] == "v" or (c["key"] == "d" and not passes)
    ]
    lines = [trace["title"]] if trace["title"] else []
    lines += [
        f"{said['seeded'].format(mode=said[mode])} {text_of(tokens)}"
        for mode, tokens in seeds(trace)
    ]
    if keys:
        rules = _tangent_rules(trace["steps"][:last]) if "d" in keys else {}
        heads = [said["node"], said["is"], *([said["tangent is"]] if rules else [])]
        rows = [[*heads, *(said[k] for k in keys)]]
        for node in trace["nodes"]:
            made = [text_of(node["expr"]) or said.get(node["kind"], node["kind"])]
            made += [rules.get(node["id"], "")] if rules else []
            rows.append([label(node), *made, *(_cell(cells, node["id"], k) for k in keys)])
        title = said["both" if "d" in keys else "values"]
        lines += ["", title, *_aligned(rows, left=len(heads))]
    done = trace["steps"][:last]
    for k, one in enumerate(passes):
        rows = _derivatives(
            trace,
            [s for s in done if s.get("pass") == k],
            "d" if one["mode"] == "forward" else "g",
            said,
        )
        place = pass_place(trace, k)
        if len(rows) > 1 and place is not None:
            lines += [
                "",
                said["pass at" if place["at"] else "pass"].format(
                    **{**place, "mode": said[one["mode"]]}
                ),
                *_aligned(rows),
            ]
    rows = _derivatives(trace, done, "g", said)
    if not passes and len(rows) > 1:
        lines += ["", said["reverse"], *_aligned(rows)]
    lines += _reasons(done, said) + _explained(trace, done, said)
    return "\n".join([*lines, *_matrix(trace, last, said)]).strip("\n") + "\n"


def _reasons(steps: list[dict[str, Any]], said: Mapping[str, str]) -> list[str]:
    """Where values first became NaN or infinite, and why."""
    reasons = {why: said.get(f"say_{why}", words) for why, words in REASONS.items()}
    told = dict.fromkeys(
        f"  {text_of(step['formula'][:1])}: {reason(step['nonfinite'], reasons)}"
        for step in steps
        if step.get("nonfinite", {"why": "from"})["why"] != "from"
    )
    return ["", *told] if told else []


def _explained(trace: Trace, steps: list[dict[str, Any]], said: Mapping[str, str]) -> list[str]:
    """What the functions in the formulas do."""
    formulas = [*(n["expr"] for n in trace["nodes"]), *(step["formula"] for step in steps)]
    used = dict.fromkeys(name for tokens in formulas for name in _functions(tokens))
    told = [f"  {said.get(f'fn_{n}', EXPLAINED[n])}" for n in used if n in EXPLAINED]
    return ["", *told] if told else []


def _functions(tokens: list[dict[str, Any]]) -> Iterable[str]:
    for token in tokens:
        if token["t"] == "fn":
            yield token["text"]
        for part in inner_formulas(token):
            yield from _functions(part)


def _tangent_rules(steps: list[dict[str, Any]]) -> dict[str, str]:
    """How the tangent of each node is made: of its formula v̇ = ∂v/∂x · ẋ = ẋ · cos x = 0.5 · 1,
    the last part that names a tangent."""
    found = {}
    for step in steps:
        if step["phase"] != "tangent":
            continue
        parts: list[list[dict[str, Any]]] = [[]]
        depth = 0
        for token in step["formula"]:
            sign = token["text"] if token["t"] == "op" else ""
            depth += (sign in ("(", "[")) - (sign in (")", "]"))
            if sign == "=" and not depth:
                parts.append([])
            else:
                parts[-1].append(token)
        named = [p for p in parts[1:] if any(token.get("col") == "d" for token in _symbols(p))]
        if named:
            found[step["node"]] = text_of(named[-1])
    return found


def _symbols(tokens: list[dict[str, Any]]) -> Iterable[dict[str, Any]]:
    """All symbols of a formula, those in fractions, powers and roots too."""
    for token in tokens:
        if token["t"] == "sym":
            yield token
        for part in inner_formulas(token):
            yield from _symbols(part)


def _derivatives(
    trace: Trace, steps: list[dict[str, Any]], column: str, said: Mapping[str, str]
) -> list[list[str]]:
    """A row for each tangent or adjoint that the steps wrote, below the heads of the columns."""
    rows = [[said[column], said["step"], said["v"]]]
    labels = {n["id"]: n["label"] for n in trace["nodes"]}
    for s in steps:
        for node, written, value in s["writes"]:
            if written == column:
                mark = labels[node]
                name = accented(mark["base"], "dot" if column == "d" else "bar") + str(
                    mark.get("sub", "")
                )
                rows.append([name, text_of(honest(s["formula"])), number(value)])
    return rows


def _matrix(trace: Trace, last: int, said: Mapping[str, str]) -> list[str]:
    """The Jacobian as a table; an entry that is not computed yet is left empty."""
    found = trace.get("jacobian")
    if not found:
        return []
    entries = state_at(trace, last).entries
    rows = [[said["jacobian"], *(f"∂/∂{name}" for name in found["columns"])]]
    for i, name in enumerate(found["rows"]):
        rows.append(
            [
                f"∂{name}",
                *(
                    number(entries[i, j]) if (i, j) in entries else ""
                    for j in range(len(found["columns"]))
                ),
            ]
        )
    return ["", *_aligned(rows, left=1)]


def _cell(cells: dict[tuple[str, str], Any], node: str, column: str) -> str:
    return number(cells[node, column]) if (node, column) in cells else ""


def _width(text: str) -> int:
    """Places that a text takes in a terminal: two for a letter of East Asia, none for an accent."""
    return sum(
        0 if ch in _DOT + _BAR + _LINE else 2 if unicodedata.east_asian_width(ch) in "WF" else 1
        for ch in text
    )


def _aligned(rows: list[list[str]], left: int = 2) -> list[str]:
    """Lines with a rule under the first; the first ``left`` columns begin where they begin, the
    others end together.
    """
    widths = [max(_width(row[i]) for row in rows) for i in range(len(rows[0]))]
    out = []
    for n, row in enumerate(rows):
        cells = [
            c + " " * (w - _width(c)) if i < left else " " * (w - _width(c)) + c
            for i, (c, w) in enumerate(zip(row, widths, strict=True))
        ]
        out.append(("  " + "  ".join(cells)).rstrip())
        if n == 0:
            out.append("  " + "  ".join("─" * w for w in widths))
    return out
