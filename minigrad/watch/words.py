"""How the Trace says things: formulas as tokens, sentences in plain English, values as JSON.

Tokens are rendered by the readers (MathML in a page, TeX in a figure, text in a terminal), from
this one source.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from .. import backend
from ..core.primitive import Primitive
from ..scalar import Term, formula
from ..trace.schema import LEVELS, SAMPLE
from ..trace.text import number, text_of

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
    "* / // % @".split(),
    ["neg", "~"],
]
RANK = {word: rank for rank, words in enumerate(_RANKS) for word in words}
ATOM, NEGATIVE = 99, -1
"""The rank of what never needs parentheses, and of a negative number, which does as any operand."""
Ranked = tuple[Tokens, int]
"""Tokens, and how closely they hold together."""


# ------------------------------------------------------------------------------------------- values


_elements: ContextVar[int] = ContextVar("elements", default=SAMPLE)


@contextmanager
def more_elements(count: int) -> Iterator[None]:
    """Values hold so many elements inside. The document is then no valid Trace until its samples
    are cut to 16 again.
    """
    token = _elements.set(max(SAMPLE, count))
    try:
        yield
    finally:
        _elements.reset(token)


def value(array: Any, picture: bool = False) -> Any:
    """A payload (or Python number) as a Trace value: a number, or a summary with the first 16
    elements (and a heat map, if wanted).
    """
    if isinstance(array, bool | int | float | complex):
        return _number(array)
    host = backend.to_numpy(array)
    if host.dtype.kind not in "biufc":
        host = host.astype(backend.float64)
    if host.ndim == 0:
        return _number(host.item())
    flat = host.reshape(-1)
    sample = [_number(v.item()) for v in flat[: _elements.get()]]
    summary: dict[str, Any] = {
        "shape": list(host.shape),
        "dtype": str(array.dtype),
        "sample": sample,
    }
    if flat.size and host.dtype.kind in "iuf":
        wide = flat.astype(backend.float64)
        summary |= {
            "min": _number(float(wide.min())),
            "max": _number(float(wide.max())),
            "norm": _number(math.sqrt(float(wide @ wide))),
        }
        if picture and flat.size > SAMPLE:
            summary["heat"] = heat(host)
    return summary


ROWS, COLUMNS = 12, 24


def heat(host: Any) -> dict[str, Any]:
    """A large array as a small map of colours: evenly spaced elements (never more than 12 × 24),
    each as one of 17 levels around zero.

    An array of more than two axes is read as the matrix of its last axis; a vector as one row. The
    scale is the largest magnitude among all finite elements.
    """
    matrix = host.reshape(1, -1) if host.ndim == 1 else host.reshape(-1, host.shape[-1])
    steps = [max(1, -(-n // most)) for n, most in zip(matrix.shape, (ROWS, COLUMNS), strict=True)]
    cells = matrix[:: steps[0], :: steps[1]].astype(backend.float64)
    finite = [abs(v) for v in (float(host.min()), float(host.max())) if math.isfinite(v)]
    seen = [v for row in cells.tolist() for v in row]
    scale = max([*finite, *(abs(v) for v in seen if math.isfinite(v))], default=0.0)
    half = (len(LEVELS) - 1) // 2

    def level(v: float) -> str:
        if math.isnan(v):
            return "n"
        share = max(-1.0, min(1.0, v / scale)) if scale else 0.0
        return LEVELS[half + math.floor(half * share + 0.5)]

    return {"shape": list(cells.shape), "scale": scale, "levels": "".join(map(level, seen))}


def _number(v: Any) -> Any:
    if isinstance(v, complex):
        return {"re": _number(v.real), "im": _number(v.imag)}
    if isinstance(v, float) and not math.isfinite(v):
        return "nan" if math.isnan(v) else "inf" if v > 0 else "-inf"
    return v


# ------------------------------------------------------------------------------------------- tokens


def label_of(name: str) -> dict[str, str]:
    """x1 is an x with the subscript 1; other names stay whole."""
    base = name.rstrip("0123456789")
    return (
        {"base": base, "sub": name[len(base) :]}
        if base and base != name and len(base) == 1
        else {"base": name}
    )


def symbol(name: str, accent: str | None = None, column: str = "v") -> Token:
    """A node's symbol, plain for its value, with a dot for its tangent, with a bar for its
    adjoint.
    """
    token: Token = {"t": "sym", **label_of(name), "node": name, "col": column}
    return token | {"accent": accent} if accent else token


def num(array: Any, column: str | None = None) -> Token:
    """A number, coloured by the column it comes from."""
    token: Token = {"t": "num", "value": value(array)}
    return token | {"col": column} if column else token


def plain(argument: Any) -> Token:
    """An argument that is no tensor: a number, or the kind of thing that was given to a user's
    Function.
    """
    if isinstance(argument, bool | int | float | complex) or hasattr(argument, "dtype"):
        return num(argument)
    return {"t": "text", "text": "None" if argument is None else type(argument).__name__}


def result_number(index: int) -> Tokens:
    """Which of an operation's several results, counted from 0."""
    return [op("["), num(index), op("]")]


def op(text: str) -> Token:
    """An operator sign."""
    return {"t": "op", "text": text}


def expression(prim: Primitive, operands: Tokens, params: dict[str, Any]) -> Tokens:
    """How a value is made, from its operands' tokens (symbols, or numbers for the arithmetic
    spelled out).
    """
    return applied(prim, [([t], NEGATIVE if is_negative(t) else ATOM) for t in operands], params)[0]


def applied(prim: Primitive, operands: list[Ranked], params: dict[str, Any]) -> Ranked:
    """An operation on operands that may be formulas themselves, by its notation."""
    if getattr(prim, "notation", None) is not None:
        given = dict(zip(prim.inputs, operands, strict=True))

        def leaf(part: Any) -> Ranked:
            if isinstance(part, str) and part in given:
                return given[part]
            if isinstance(part, str) and part not in params:
                return [{"t": "fn", "text": part}], ATOM  # e
            value = params[part] if isinstance(part, str) else part
            if part == "index" or not isinstance(value, int | float) or isinstance(value, bool):
                return [{"t": "text", "text": _index(value)}], ATOM
            return [num(value)], NEGATIVE if value < 0 else ATOM

        return ranked(formula(str(prim.notation)), leaf)
    inner: Tokens = []
    for i, (tokens, _) in enumerate(operands):
        inner += [*([op(",")] if i else []), *tokens]
    for key, given_value in params.items():
        if key in ("axes", "axis", "shape") and given_value not in (None, ()):
            inner += [
                op(","),
                {
                    "t": "text",
                    "text": (
                        f"{key} {_plain(given_value) if key == 'shape' else _listed(given_value)}"
                    ),
                },
            ]
    return _called(prim.symbol, inner), ATOM


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
        return [{"t": "sup", "base": within(inside[0], ATOM), "exp": inside[1][0]}], ATOM
    if word == "sqrt":
        return [{"t": "sqrt", "of": inside[0][0]}], ATOM
    if word == "[]":
        return [*within(inside[0], ATOM), op("["), *inside[1][0], op("]")], ATOM
    rank = RANK.get(word)
    if rank is None:
        inner = [
            t for i, (tokens, _) in enumerate(inside) for t in [*([op(",")] if i else []), *tokens]
        ]
        return _called(word, inner), ATOM
    if len(inside) == 1:
        return [op(SIGNS[word]), *within(inside[0], rank + 1)], rank
    associative = word in ("+", "*", "and", "or", "&", "|", "^")
    signed = inside[1][1] == RANK["neg"]  # a · (−b)
    left, right = (
        within(inside[0], rank),
        within(inside[1], ATOM if signed else rank if associative else rank + 1),
    )
    return [*left, op(SIGNS[word]), *right], rank


def within(part: Ranked, rank: int) -> Tokens:
    """Tokens in parentheses, unless they hold together at least as closely as `rank`."""
    return part[0] if part[1] >= rank else [op("("), *part[0], op(")")]


def _index(part: Any) -> str:
    """What stood between the brackets; arrays by their shape."""
    if isinstance(part, tuple):
        return ", ".join(_index(p) for p in part)
    if isinstance(part, slice):
        ends = [str(v) if v is not None else "" for v in (part.start, part.stop, part.step)]
        return ":".join(ends[: 2 if part.step is None else 3])
    if part is None or part is Ellipsis:
        return "None" if part is None else "…"
    shape = getattr(part, "shape", ())
    return (
        f"{'mask' if part.dtype.kind == 'b' else 'indices'} {_plain(tuple(shape))}"
        if shape
        else str(part)
    )


def _plain(given: Any) -> str:
    return "×".join(map(str, given)) if isinstance(given, tuple) else str(given)


def _listed(given: Any) -> str:
    return ", ".join(map(str, given)) if isinstance(given, tuple) else str(given)


def is_negative(token: Token) -> bool:
    """Whether a token is a number that is written with a minus."""
    v = token.get("value")
    negative = (
        isinstance(v, int | float)
        and not isinstance(v, bool)
        and (v < 0 or (v == 0 and math.copysign(1, v) < 0))
    )
    return token["t"] == "num" and (negative or v == "-inf")


def _held(token: Token) -> Tokens:
    """A negative number in parentheses, anything else as it is."""
    return [op("("), token, op(")")] if is_negative(token) else [token]


def _partial(of: str, by: str) -> Token:
    return {"t": "frac", "num": [op("∂"), symbol(of)], "den": [op("∂"), symbol(by)]}


# --------------------------------------------------------------------------- formulas and sentences


def given(name: str, role: str, array: Any) -> tuple[Tokens, str]:
    """An input, parameter or constant."""
    return [symbol(name), op("="), num(array, "v")], f"The {role} {name} is {number(value(array))}."


def seeded(name: str, accent: str, array: Any) -> tuple[Tokens, str]:
    """A seed."""
    column, what = ("d", "tangent") if accent == "dot" else ("g", "adjoint")
    why = (
        "we differentiate in its direction"
        if accent == "dot"
        else "the output changes with itself one to one"
    )
    note = f" ({why})" if value(array) == 1 else ""
    return [
        symbol(name, accent, column),
        op("="),
        num(array, column),
    ], f"Seed: the {what} of {name} is {number(value(array))}{note}."


def computed(
    name: str, expr: Tokens, arithmetic: Tokens | None, result: Any, operands: list[Any]
) -> tuple[Tokens, str]:
    """An operation's value; the arithmetic is spelled out where all operands are single numbers."""
    formula = [symbol(name), op("="), *expr]
    if arithmetic is not None and operands and all(getattr(o, "ndim", 0) == 0 for o in operands):
        formula += [op("="), *arithmetic]
    formula += [op("="), num(result, "v")]
    return formula, f"{name} = {text_of(expr)} = {number(value(result))}."


def pushed(name: str, terms: list[tuple[str, Any, Any]], result: Any) -> tuple[Tokens, str]:
    """A tangent: the sum over the inputs of local derivative times tangent."""
    symbols: Tokens = []
    numbers: Tokens = []
    spelled = all(
        local is not None and getattr(local, "ndim", 0) == 0 and getattr(t, "ndim", 0) == 0
        for _, local, t in terms
    )
    for i, (source, local, tangent) in enumerate(terms):
        plus = [op("+")] if i else []
        symbols += [*plus, _partial(name, source), op("·"), symbol(source, "dot", "d")]
        if spelled:
            numbers += [*plus, *_held(num(local)), op("·"), *_held(num(tangent, "d"))]
    formula = [symbol(name, "dot", "d"), op("="), *symbols]
    if spelled:
        formula += [op("="), *numbers]
    formula += [op("="), num(result, "d")]
    return formula, f"The tangent of {name} is {number(value(result))}."


def pushed_together(name: str, sources: list[str], result: Any) -> tuple[Tokens, str]:
    """A tangent that a user's Function computed from those of all its inputs at once."""
    inner: Tokens = []
    for i, source in enumerate(sources):
        inner += [*([op(",")] if i else []), symbol(source, "dot", "d")]
    formula = [
        symbol(name, "dot", "d"),
        op("="),
        {"t": "fn", "text": "jvp"},
        op("("),
        *inner,
        op(")"),
        op("="),
        num(result, "d"),
    ]
    return formula, f"The tangent of {name} is {number(value(result))}, by the Function's own rule."


def pulled(
    upstream: list[tuple[str, Any]],
    target: str,
    local: Any,
    c: Any,
    before: Any,
    after: Any,
    summed: bool,
) -> tuple[Tokens, str]:
    """A contribution carried back to an operand, and the sum so far.

    upstream: the results that send, with their adjoints; summed: the operand was used for many
    elements, whose contributions are added up.
    """
    terms: Tokens = []
    for i, (name, _) in enumerate(upstream):
        terms += [
            *([op("+")] if i else []),
            symbol(name, "bar", "g"),
            op("·"),
            _partial(name, target),
        ]
    if summed:
        terms = [{"t": "fn", "text": "sum"}, op("("), *terms, op(")")]
    formula: Tokens = [symbol(target, "bar", "g"), op("=" if before is None else "+="), *terms]
    if len(upstream) == 1 and local is not None and getattr(local, "ndim", 0) == 0:
        formula += [op("="), *_held(num(upstream[0][1], "g")), op("·"), *_held(num(local))]
    formula += [op("="), num(c, "g")]
    sender = " and ".join(name for name, _ in upstream)
    say = (
        f"{sender} {'sends' if len(upstream) == 1 else 'send'} {number(value(c))} back to {target}"
    )
    if summed:
        say += " (summed over the elements that used it)"
    if before is None:
        return formula, f"{say}; the adjoint of {target} is {number(value(after))} so far."
    formula += [op("→"), num(before, "g"), op("+"), *_held(num(c, "g")), op("="), num(after, "g")]
    return (
        formula,
        (
            f"{say}; added to {number(value(before))} the adjoint of {target} is now"
            f" {number(value(after))}."
        ),
    )


def replaced(name: str, g: Any) -> tuple[Tokens, str]:
    """A hook put another adjoint in the place of the computed one."""
    return [
        symbol(name, "bar", "g"),
        op("="),
        num(g, "g"),
    ], f"A hook replaced the adjoint of {name}; it is now {number(value(g))}."


def from_outside(target: str, c: Any, after: Any) -> tuple[Tokens, str]:
    """A contribution along a path that was computed before the traced function ran."""
    say = (
        f"{target} also receives {number(value(c))} along what was computed before the function ran"
    )
    say += f"; its adjoint is now {number(value(after))}."
    return [symbol(target, "bar", "g"), op("+="), num(c, "g")], say
