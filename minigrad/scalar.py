"""Scalar expressions: what an element-wise operation does to single numbers, in a small language
from which code in other languages is written.

A declaration says, for example, `scalar="1 / (exp(-x) + 1)"`. The names are the operation's inputs
and parameters. The words are Python's operators and `FUNCTIONS`; the numbers are real and of one
dtype, or booleans. From this one form programs write NumPy calls that allocate nothing
(program/kernels.py) and CUDA kernels in C (program/fused.py), and costs are counted. A further
target is a table of the words that it spells in another way, and `written`.

A parsed expression is a term: the name of an operand, a number, or a tuple (word, term, …); the
word for a minus sign is "neg".
"""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

Term = str | int | float | tuple[Any, ...]

FUNCTIONS = frozenset(
    """
    abs sqrt exp exp2 expm1 log log2 log10 log1p logaddexp sin cos tan asin acos atan atan2 sinh
    cosh tanh asinh acosh atanh erf erfc hypot fmod copysign maximum minimum floor ceil trunc round
    where isnan isinf isfinite xor
    """.split()
)
"""Words before terms in parentheses. `maximum` and `minimum` of a NaN are NaN, `round` rounds to
even, `where(c, a, b)` is a where c holds, and `xor` asks whether one term is zero and the other is
not."""
QUESTIONS = frozenset("== != < <= > >= and or not xor isnan isinf isfinite".split())
"""Words whose result is a boolean."""
BITS = frozenset("& | ^ ~".split())
"""Words that real numbers do not have."""
LOGIC = BITS | frozenset("== != and or not xor where".split())
"""Words that booleans have."""

THREE = frozenset({"where"})
TWO = frozenset(
    """
    + - * / ** == != < <= > >= and or & | ^ maximum minimum atan2 hypot fmod copysign logaddexp xor
    """.split()
)

_BINARY: dict[type, str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.Pow: "**", ast.BitAnd: "&",
    ast.BitOr: "|", ast.BitXor: "^", ast.Eq: "==",
    ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.And: "and",
    ast.Or: "or", ast.Not: "not",
    ast.Invert: "~", ast.USub: "neg", ast.MatMult: "@", ast.FloorDiv: "//", ast.Mod: "%",
}  # fmt: skip
NOT_SCALAR = frozenset("@ // % [] .set .add".split())
"""Words of formulas that scalar expressions do not have."""


@functools.cache
def parsed(text: str) -> Term:
    """The term of a scalar expression. Raises ValueError for what the language does not have."""
    term = formula(text)
    for word in words(term):
        if word in NOT_SCALAR or (
            word.isidentifier() and word not in FUNCTIONS and word not in _BINARY.values()
        ):
            raise ValueError(f"{text!r}: {word} is no word of scalar expressions.")
    return term


@functools.cache
def formula(text: str) -> Term:
    """The term of a formula, as notation is declared: the operators @, //, %, an index,
    x.at[index].set(part), x.at[index].add(part) and functions of any name are words of it too.
    Raises ValueError for other text."""
    try:
        tree = ast.parse(text, mode="eval")
    except SyntaxError:
        raise ValueError(
            f"{text!r} is no formula: write it in Python's operators, as in x ** 2."
        ) from None
    return _term(tree.body, text)


def _term(node: ast.expr, text: str) -> Term:
    match node:
        case ast.Name(id=name):
            return name
        case ast.Constant(value=int() | float() as value):
            return value
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)):
            return -value
        case (
            ast.BinOp(left=left, op=op, right=right)
            | ast.Compare(left=left, ops=[op], comparators=[right])
        ) if type(op) in _BINARY:
            return _BINARY[type(op)], _term(left, text), _term(right, text)
        case ast.BoolOp(op=op, values=[left, right]):
            return _BINARY[type(op)], _term(left, text), _term(right, text)
        case ast.UnaryOp(op=op, operand=operand) if type(op) in _BINARY:
            return _BINARY[type(op)], _term(operand, text)
        case ast.Subscript(value=value, slice=index):
            return "[]", _term(value, text), _term(index, text)
        case ast.Call(
            func=ast.Attribute(
                value=ast.Subscript(value=ast.Attribute(value=whole, attr="at"), slice=index),
                attr="set" | "add" as how,
            ),
            args=[part],
            keywords=[],
        ):  # as JAX writes a new array: x.at[index].set(part)
            return f".{how}", _term(whole, text), _term(index, text), _term(part, text)
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]):
            return name, *(_term(a, text) for a in args)
    raise ValueError(f"{text!r}: {ast.unparse(node)} is no part of a formula.")


def term_of(
    scalar: Callable[..., str | None] | str | None,
    params: Mapping[str, Any],
    numbers: Mapping[str, Any] | None = None,
) -> Term | None:
    """The term of an operation's facet, with numbers in the place of parameters and of some inputs.
    None if there is none, or if a parameter in it is no real number."""
    text = scalar(**params) if callable(scalar) else scalar
    if text is None:
        return None
    return (
        replaced(parsed(text), {**params, **(numbers or {})}) if params or numbers else parsed(text)
    )


def replaced(term: Term, values: Mapping[str, Any]) -> Term | None:
    """The term with numbers in the place of some names; powers with a constant exponent as NumPy
    computes them."""
    if isinstance(term, str):
        value = values.get(term, term)
        return value if type(value) in (str, int, float) else None
    if not isinstance(term, tuple):
        return term
    word, *parts = term
    inside = [replaced(p, values) for p in parts]
    if any(p is None for p in inside):
        return None
    if word == "**" and not isinstance(inside[1], str | tuple):
        x, n = inside
        square = "*", x, x
        short: dict[Any, Any] = {
            0: 1,
            1: x,
            2: square,
            3: ("*", square, x),
            0.5: ("sqrt", x),
            -0.5: ("/", 1, ("sqrt", x)),
            -1: ("/", 1, x),
        }
        out: Term | None = short.get(n, (word, x, n))
        return out
    return word, *inside


def words(term: Term) -> Iterator[str]:
    """All words of a term, with repetitions."""
    if isinstance(term, tuple):
        yield term[0]
        for part in term[1:]:
            yield from words(part)


def arity(word: str) -> int:
    """How many terms a word of scalar expressions has."""
    return 3 if word in THREE else 2 if word in TWO else 1


def is_question(term: Term) -> bool:
    """Whether the result is a boolean, whatever the operands."""
    return isinstance(term, tuple) and term[0] in QUESTIONS


def written(term: Term, spelt: Mapping[str, str], leaf: Callable[[str | int | float], str]) -> str:
    """The term in another language. spelt: a template for each word that is not spelt as in Python,
    with {} for each of its terms; leaf: how that language writes a name or a number."""
    return _written(term, spelt, leaf)[0]


def _written(
    term: Term, spelt: Mapping[str, str], leaf: Callable[[str | int | float], str]
) -> tuple[str, bool]:
    """The text, and whether it is an operator's, which gets parentheses inside another operator."""
    if not isinstance(term, tuple):
        return leaf(term), False
    word, *parts = term
    template = spelt.get(word) or _template(word, len(parts))
    is_operator = not _CALL.fullmatch(template)
    inside = [_written(p, spelt, leaf) for p in parts]
    return (
        template.format(
            *(f"({text})" if nested and is_operator else text for text, nested in inside)
        ),
        is_operator,
    )


_CALL = re.compile(r"[\w.]+\(.*\)")


def _template(word: str, count: int) -> str:
    if word in FUNCTIONS:
        return f"{word}({', '.join('{}' for _ in range(count))})"
    if word not in ("neg", "not", "~"):
        return f"{{}} {word} {{}}"
    if word == "neg":
        return "-{}"
    return f"{word} {{}}"
