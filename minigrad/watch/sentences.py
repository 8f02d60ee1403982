"""What a step says: its formula as tokens, and a sentence in plain English."""

from __future__ import annotations

from typing import Any

from ..trace.text import number, text_of
from .notation import Tokens, derivative, in_parentheses, num, op, symbol
from .values import value


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
        symbols += [*plus, derivative(name, source), op("·"), symbol(source, "dot", "d")]
        if spelled:
            numbers += [
                *plus,
                *in_parentheses(num(local)),
                op("·"),
                *in_parentheses(num(tangent, "d")),
            ]
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
            derivative(name, target),
        ]
    if summed:
        terms = [{"t": "fn", "text": "sum"}, op("("), *terms, op(")")]
    formula: Tokens = [symbol(target, "bar", "g"), op("=" if before is None else "+="), *terms]
    if len(upstream) == 1 and local is not None and getattr(local, "ndim", 0) == 0:
        formula += [
            op("="),
            *in_parentheses(num(upstream[0][1], "g")),
            op("·"),
            *in_parentheses(num(local)),
        ]
    formula += [op("="), num(c, "g")]
    sender = " and ".join(name for name, _ in upstream)
    say = (
        f"{sender} {'sends' if len(upstream) == 1 else 'send'} {number(value(c))} back to {target}"
    )
    if summed:
        say += " (summed over the elements that used it)"
    if before is None:
        return formula, f"{say}; the adjoint of {target} is {number(value(after))} so far."
    formula += [
        op("→"),
        num(before, "g"),
        op("+"),
        *in_parentheses(num(c, "g")),
        op("="),
        num(after, "g"),
    ]
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
