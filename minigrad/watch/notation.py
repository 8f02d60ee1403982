"""Formulas as tokens: symbols, numbers and operators, written by the notation that operations
declare.

Tokens are rendered by the readers (MathML in a page, TeX in a figure, text in a terminal), from
this one source.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache, lru_cache
from numbers import Real
from typing import Any

from .. import backend
from ..core.primitive import Primitive
from ..scalar import Term, formula
from ..trace.schema import NESTED, inner_formulas
from ..trace.text import number
from .values import value

Token = dict[str, Any]
Tokens = list[Token]

SIGNS = {
    "+": "+", "-": "−", "*": "·", "/": "/", "@": "@", "//": "//", "%": "mod", "neg": "−", "==": "=",
    "!=": "≠", "<": "<", "<=": "≤",
    ">": ">", ">=": "≥", "and": "∧", "or": "∨", "not": "¬", "&": "&", "|": "|", "^": "xor",
    "~": "~",
}  # fmt: skip
"""How mathematics writes the operators of formulas."""
_RANKS = [
    ["or"],
    ["and"],
    ["not"],
    "== != < <= > >=".split(),
    ["|"],
    ["^"],
    ["&"],
    ["+", "-"],
    "// % @".split(),  # below the product of elements: a · (b @ c) is not (a · b) @ c
    "* /".split(),
    ["neg", "~"],
]
RANK = {word: rank for rank, words in enumerate(_RANKS) for word in words}
ATOM, NEGATIVE = 99, -1
"""The rank of what never needs parentheses, and of a negative or complex number, which does as any
operand."""
Ranked = tuple[Tokens, int]
"""Tokens, and how closely they hold together."""
WRITTEN: dict[str, Any] = {
    "axes": None, "axis": None, "shape": None, "shifts": None, "inverse": False, "scale": 1,
    "before": 0, "after": 0, "offset": 0, "size": None, "stride": 1, "dilation": 1, "padding": 0,
    "step": None, "axis1": 0, "axis2": 1, "decimals": 0, "descending": False, "p": None,
    "parts": None,
}  # fmt: skip
"""The parameters that stand after the operands of a function, each with the number at which it is
left out; empty tuples are too, and a stride that is the size of a pooling's window."""
SINGULAR = {"axes": "axis", "shifts": "shift"}
"""What parameters that list numbers are called where they list one."""
PHRASES = {
    "window_argmax": "argmax of each window of",
    "every_element_of_each_window": "every element of each window",
    "the_view": "the view",
}
"""Words of notations that are several words for readers."""
MOST_MADE, LETTERS = 3, 6
"""Tokens, and letters of a name, up to which an expression stands in a derivative."""
ARITHMETIC = frozenset("+−·/()")
ORDINALS = "first", "second", "third"
SHOWN = 8
"""Elements up to which an array of indices is written out."""


def label_of(name: str) -> dict[str, str]:
    """x1 is an x with the subscript 1; other names stay whole."""
    return {**_label(name)}


@lru_cache(maxsize=16_384)
def _label(name: str) -> dict[str, str]:
    letters = name.rstrip("0123456789")
    if len(letters) != 1 or letters == name:
        return {"base": name}
    return {"base": letters, "sub": name[1:]}


@lru_cache(maxsize=16_384)
def called(name: str) -> str:
    """What a sentence calls a node."""
    return "".join(_label(name).values())


@lru_cache(maxsize=16_384)
def symbol(name: str, accent: str | None = None, column: str = "v") -> Token:
    """A node's symbol, plain for its value, with a dot for its tangent, with a bar for its adjoint:
    one token for all its places in a Trace.
    """
    token: Token = {"t": "sym", **_label(name), "node": name, "col": column}
    return token | {"accent": accent} if accent else token


def num(shown: Any, column: str | None = None) -> Token:
    """A number, or an array, as a Trace's value; coloured by the column it comes from."""
    return {"t": "num", "value": shown, "col": column} if column else {"t": "num", "value": shown}


def plain(argument: Any) -> Token:
    """An argument that is no tensor: a number, or the kind of thing that was given to a user's
    Function.
    """
    if isinstance(argument, bool | int | float | complex) or hasattr(argument, "dtype"):
        return num(value(argument))
    return {"t": "text", "text": "None" if argument is None else type(argument).__name__}


def result_number(expr: Tokens, index: int) -> Tokens:
    """One of an operation's several results, counted from 0: svd(a)[0], since svd a[0] reads as
    that of a[0]."""
    if len(expr) == 2:
        expr = [expr[0], op("("), expr[1], op(")")]
    return [*expr, op("["), num(index), op("]")]


def broadcast_axes(whole: Sequence[int], shape: Sequence[int]) -> tuple[int, ...]:
    """The axes of a whole over which an array of this shape was broadcast."""
    more = len(whole) - len(shape)
    return tuple(i for i, n in enumerate(whole) if i < more or (shape[i - more] == 1 and n != 1))


def summed(tokens: Tokens, whole: Sequence[int], shape: Sequence[int]) -> Tokens:
    """The sum that undoes a broadcast from a shape to that of a whole."""
    axes = broadcast_axes(whole, shape)
    more: list[tuple[str, Any]] = [("axes", axes)]
    if any(i >= len(whole) - len(shape) for i in axes):  # which keep the size 1
        more += [("keepdims", True) if len(whole) == len(shape) else ("shape", tuple(shape))]
    said = [t for one in more for t in (op(","), {"t": "text", "text": _told(*one)})]
    return [{"t": "fn", "text": "sum"}, op("("), *tokens, *said, op(")")]


def unsqueezed(tokens: Tokens, axes: Sequence[int]) -> Tokens:
    """A value with axes of size 1 more, at these places of the result's shape."""
    told: Token = {"t": "text", "text": _told("axes", tuple(axes))}
    return [{"t": "fn", "text": "unsqueeze"}, op("("), *tokens, op(","), told, op(")")]


@cache
def op(text: str) -> Token:
    """An operator sign: one token for all its places in a Trace."""
    return {"t": "op", "text": text}


def forget_tokens() -> None:
    """A Trace begins: what is changed in it later is not changed in others."""
    symbol.cache_clear()
    op.cache_clear()


def expression(prim: Primitive, operands: Tokens, params: dict[str, Any]) -> Tokens:
    """How a value is made, from its operands' tokens (symbols, or numbers for the arithmetic
    spelled out); a comparison in parentheses, since v1 = a < b and v1 = a = b read like two.
    """
    made = applied(prim, [([t], NEGATIVE if is_signed(t) else ATOM) for t in operands], params)
    return within(made, ATOM) if made[1] == RANK["<"] else made[0]


def applied(prim: Primitive, operands: list[Ranked], params: dict[str, Any]) -> Ranked:
    """An operation on operands that may be formulas themselves, by its notation."""
    notation = getattr(prim, "notation", None)
    if notation is not None:
        text = notation(**params) if callable(notation) else notation
        return declared(text, dict(zip(prim.inputs, operands, strict=True)), params)
    if len(operands) == 2 and not any(map(str.isalpha, prim.symbol)):
        left, right = (within(operand, ATOM) for operand in operands)
        return [*left, op(prim.symbol), *right], RANK["@"]
    inner: Tokens = []
    for i, (tokens, _) in enumerate(operands):
        inner += [*([op(",")] if i else []), *tokens]
    for key, given in params.items():
        if _is_told(key, given, params):
            inner += [op(","), {"t": "text", "text": _told(key, given)}]
    return _called(prim.symbol, inner), ATOM


def _is_told(key: str, given: Any, params: dict[str, Any]) -> bool:
    """Whether a parameter is written; arrays are not, and a size only where it is a window's."""
    if key not in WRITTEN or (key == "size" and not {"axis", "windows"} & {*params}):
        return False
    if not (given if isinstance(given, tuple) else isinstance(given, Real)):
        return False
    if key == "stride" and ("axis" in params or "windows" in params):  # of a pooling
        return bool(given != params["size"])
    if key in ("stride", "dilation", "padding"):
        return set(_flat(given)) != {WRITTEN[key]}
    return bool(given != WRITTEN[key])


def _flat(given: Any) -> list[Any]:
    return [v for one in given for v in _flat(one)] if isinstance(given, tuple) else [given]


def declared(
    text: str,
    given: dict[str, Ranked],
    params: dict[str, Any],
    conjugated: Collection[str] = (),
    part: bool = False,
) -> Ranked:
    """A notation as tokens. given: what stands for each name; params: the operation's; conjugated:
    of a rule in a backward pass, the names of complex numbers; part: only its real part is
    wanted."""

    def leaf(part: Any) -> Ranked:
        if isinstance(part, str) and part in given:
            return given[part]
        if isinstance(part, str) and part not in params:
            return [{"t": "fn", "text": PHRASES.get(part, part)}], ATOM  # e
        if part == "keepdims":
            return [{"t": "text", "text": part}], ATOM
        held = params[part] if isinstance(part, str) else part
        if part in WRITTEN:
            told = not isinstance(held, tuple) or held or part == "shape"
            return [{"t": "text", "text": _told(part, held)}] if told else [], ATOM
        if part == "index" or not isinstance(held, int | float) or isinstance(held, bool):
            return [{"t": "text", "text": written_index(held)}], ATOM
        return [num(value(held))], NEGATIVE if held < 0 else ATOM

    term = formula(text)
    term = _conjugate(term, conjugated) if conjugated else term
    return ranked(("real", term) if part else term, leaf)


def _conjugate(term: Term, names: Collection[str]) -> Term:
    """conj(R(conj(g))) of a rule R(g): g itself, and what it is multiplied by conjugate."""
    if not isinstance(term, tuple):
        return ("conj", term) if term in names else term
    word, *parts = term
    complex_parts = [part for part in parts if _names(part) & {*names}]
    through = "g" in _names(term) or (
        word in ("+", "-", "*", "/", "neg") and len(complex_parts) == 1
    )
    if word == "T" and complex_parts and not through:
        return "H", *parts
    if through:
        return word, *(_conjugate(part, names) for part in parts)
    return ("conj", term) if complex_parts else term


def _names(term: Term) -> set[str]:
    """The names in a term."""
    if isinstance(term, tuple):
        return {name for part in term[1:] for name in _names(part)}
    return {term} if isinstance(term, str) else set()


def _called(name: str, inner: Tokens) -> Tokens:
    """A function of operands: ln x, max(a, b)."""
    if len(inner) == 1 and inner[0]["t"] == "sym":
        return [{"t": "fn", "text": name}, *inner]
    return [{"t": "fn", "text": name}, op("("), *inner, op(")")]


def ranked(term: Term, leaf: Callable[[Any], Ranked]) -> Ranked:
    """A formula as tokens, with parentheses where they are needed."""
    if not isinstance(term, tuple):
        return leaf(term)
    word, *parts = term
    inside = [ranked(part, leaf) for part in parts]
    if word == "**":
        return [{"t": "sup", "base": base(inside[0]), "exp": inside[1][0]}], ATOM
    if word in ("T", "H"):  # the transpose, and its conjugate
        return [{"t": "sup", "base": base(inside[0]), "exp": [{"t": "fn", "text": word}]}], ATOM
    if word == "sqrt":
        return [{"t": "sqrt", "of": inside[0][0]}], ATOM
    if word == "[]":
        return [*within(inside[0], ATOM), op("["), *inside[1][0], op("]")], ATOM
    if word in (".set", ".add"):  # x.at[index].set(part)
        whole, index, part = inside
        return _scattered(word, whole, index, part, parts[0] == "zeros", parts[1] == "index")
    rank = RANK.get(word)
    if rank is None:
        given = [tokens for tokens, _ in inside if tokens]  # sums over no axis name none
        inner = [t for i, tokens in enumerate(given) for t in [*([op(",")] if i else []), *tokens]]
        return _called(PHRASES.get(word) or word, inner), ATOM
    if len(inside) == 1:
        return [op(SIGNS[word]), *within(inside[0], rank + 1)], rank
    associative = word in ("+", "*", "and", "or", "&", "|", "^")
    signed = inside[1][1] == RANK["neg"]  # a · (−b)
    left, right = (
        within(inside[0], rank),
        within(inside[1], ATOM if signed else rank if associative else rank + 1),
    )
    return [*left, op(SIGNS[word]), *right], rank


def _scattered(
    word: str, whole: Ranked, index: Ranked, part: Ranked, onto_zeros: bool, indexed: bool
) -> Ranked:
    """scatter(part at [index], 0 elsewhere), or scatter_add where places that are named twice
    receive both parts."""
    held: Tokens = [num(0)] if onto_zeros or word == ".add" else whole[0]
    place = [op("["), *index[0], op("]")] if indexed else index[0]
    name = "scatter" if word == ".set" else "scatter_add"
    said = [*part[0], _between("at"), *place, op(","), *held, _between("elsewhere")]
    made = [{"t": "fn", "text": name}, op("("), *said, op(")")]
    if word == ".set" or onto_zeros:
        return made, ATOM
    return [*within(whole, RANK["+"]), op("+"), *made], RANK["+"]


def _between(word: str) -> Token:
    """A word between parts of a formula, with its spaces."""
    return {"t": "text", "text": f"\u00a0{word}" + "\u00a0" * (word == "at")}


def within(part: Ranked, rank: int) -> Tokens:
    """Tokens in parentheses, unless they hold together at least as closely as `rank`."""
    return part[0] if part[1] >= rank else [op("("), *part[0], op(")")]


def base(part: Ranked) -> Tokens:
    """The base of a power: (sin x)^2, since sin x^2 reads as the sine of a square."""
    tokens, rank = part
    return within((tokens, NEGATIVE if len(tokens) == 2 and tokens[0]["t"] == "fn" else rank), ATOM)


def written_index(part: Any) -> str:
    """What stood between the brackets; large arrays by their shape."""
    if isinstance(part, tuple):
        return ", ".join(written_index(p) for p in part) or "()"
    if isinstance(part, slice):
        ends = [str(v) if v is not None else "" for v in (part.start, part.stop, part.step)]
        return ":".join(ends[: 2 if part.step is None else 3])
    if part is None or part is Ellipsis:
        return "None" if part is None else "…"
    shape = tuple(getattr(part, "shape", ()))
    if not shape:
        return str(part)
    if math.prod(shape) <= SHOWN:
        return str(backend.to_numpy(part).tolist())
    return f"{'mask' if part.dtype.kind == 'b' else 'indices'} of shape {shape}"


def _told(key: str, given: Any) -> str:
    """A parameter with its name: axis 1; axes 0, 1; size 2×3; one number where padding is even."""
    if given is True:
        return key
    if key == "shape":
        return f"{key} {given}"
    values = _flat(given)
    if key in ("stride", "dilation", "padding"):
        values = values[:1] if len(set(values)) == 1 else values
    name = key if len(values) != 1 else SINGULAR.get(key, key)
    return f"{name} {('×' if key in ('size', 'parts') else ', ').join(map(number, values))}"


def is_signed(token: Token) -> bool:
    """Whether a token is a number that is written with a sign: a negative or a complex one."""
    if token["t"] != "num":
        return False
    v = token["value"]
    if type(v) is not float and isinstance(v, dict | str):
        return v == "-inf" or "re" in v
    return bool(v < 0)  # −0.0 is written 0


def in_parentheses(token: Token) -> Tokens:
    """A negative or complex number in parentheses, any other token alone."""
    return [op("("), token, op(")")] if is_signed(token) else [token]


def derivative(of: str, by: str, which: str = "", above: Tokens | None = None) -> Token:
    """The fraction ∂of/∂by; which: of an operand that occurs more than once, ∂of/∂(first by);
    above: another numerator, as `differentiated` writes it."""
    partial = op("∂")
    below: Tokens = [symbol(by)]
    if which:
        below = [op("("), {"t": "text", "text": f"{which}\u00a0"}, *below, op(")")]
    return {"t": "frac", "num": above or [partial, symbol(of)], "den": [partial, *below]}


def differentiated(made: Tokens) -> Tokens | None:
    """∂ sin x and ∂(v1 · v2), of an expression; None of one that is not short."""
    if not made or not is_short(made):
        return None
    kind, alone = made[0]["t"], len(made) == 1
    if kind == "fn" and len(made) == 2:
        return [op("∂\u2009"), *made]
    return [op("∂"), *(made if kind == "sqrt" and alone else [op("("), *made, op(")")])]


def is_short(made: Tokens) -> bool:
    """Whether an expression has one operation and names of few letters: sin x, v1 · v2, x^2."""
    return len(made) <= MOST_MADE and all(
        len(t.get("base", "")) <= LETTERS and (t["t"] not in NESTED or _is_flat(t)) for t in made
    )


def _is_flat(token: Token) -> bool:
    """Whether a power or a root has symbols and numbers alone in it."""
    parts = inner_formulas(token)
    return all(len(p) == 1 and is_short(p) and p[0]["t"] in ("sym", "num", "fn") for p in parts)


def with_numbers(tokens: Tokens, cell: Callable[[Token], Any]) -> Tokens | None:
    """A formula of arithmetic with numbers in the place of its symbols; None for one that names
    functions. cell: the value of a symbol; None where it is no single number."""
    out: Tokens = []
    for token in tokens:
        kind = token["t"]
        if kind == "op":
            if token["text"] not in ARITHMETIC:
                return None
            out.append(token)
        elif kind == "sym":
            found = cell(token)
            if type(found) not in (float, str):  # a text is NaN or infinite
                return None
            out += in_parentheses(num(found, token["col"]))
        elif kind == "num":
            out.append(token)
        elif kind in NESTED:
            inner = {key: with_numbers(token[key], cell) for key in NESTED[kind]}
            if None in inner.values():
                return None
            out.append({"t": kind, **inner})
        else:
            return None
    return out


def slope(rule: Tokens) -> Tokens:
    """The derivative that a rule multiplies an adjoint or a tangent by: cos x of v̄ · cos x, and 1
    of v̄ alone."""
    out: Tokens = []
    rest = [*rule]
    while rest:
        token = rest.pop(0)
        if "accent" not in token:
            out.append(token)
        elif rest and rest[0].get("text") == "·":
            rest.pop(0)
        elif out and out[-1].get("text") == "·":
            out.pop()
        else:
            out.append(num(1))
    whole = len(out) > 2 and out[0].get("text") == "(" and _closes(out) == len(out) - 1
    return out[1:-1] if whole else out


def _closes(tokens: Tokens) -> int:
    """Where the parenthesis closes that a formula begins with."""
    depth = 0
    for i, token in enumerate(tokens):
        depth += {"(": 1, ")": -1}.get(token.get("text", ""), 0)
        if not depth:
            return i
    return -1


def occurrence(slot: int, edges: Collection[Mapping[str, Any]]) -> str:
    """Which one an operand is where its node occurs more than once in an operation: "first" and
    "second" for x · x; "" where it occurs once. edges: those that lead to the operation."""
    if len(edges) == 1:
        return ""
    sources = {edge["slot"]: edge["src"] for edge in edges}
    if len({*sources.values()}) == len(sources):
        return ""
    same = [s for s in sorted(sources) if sources[s] == sources[slot]]
    if len(same) == 1:
        return ""
    n = same.index(slot) + 1
    ending = {1: "st", 2: "nd", 3: "rd"}.get(0 if n % 100 in (11, 12, 13) else n % 10, "th")
    return ORDINALS[n - 1] if n <= len(ORDINALS) else f"{n}{ending}"
