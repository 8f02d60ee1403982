"""What a step says: its formula as tokens, and a sentence in plain English. Values are those of a
Trace (values.py)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ..trace.text import number, text_of
from .notation import Tokens, broadcast_axes, called, derivative, in_parentheses, num, op, symbol
from .notation import summed as sum_over
from .values import is_array

SO_FAR = " so far."
"""The end of the sentence of a node's first contribution."""


def without_so_far(steps: Iterable[dict[str, Any]]) -> None:
    """Take "so far" from the sentences of contributions that no other one follows."""
    said: set[Any] = set()
    for step in reversed(list(steps)):
        place = step.get("pass"), step["node"]
        if step["phase"] in ("adjoint", "accumulate", "update") and place not in said:
            said.add(place)
            step["say"] = step["say"].replace(SO_FAR, ".")


def given(name: str, role: str, value: Any) -> tuple[Tokens, str]:
    """An input, parameter or constant."""
    return [
        symbol(name),
        op("="),
        num(value, "v"),
    ], f"The {role} {called(name)} is {number(value)}."


def seeded(name: str, accent: str, value: Any) -> tuple[Tokens, str]:
    """A seed."""
    column, what = ("d", "tangent") if accent == "dot" else ("g", "adjoint")
    if accent == "dot":
        meant = ", its rate of change,"
    else:  # another seed than 1 weights the result
        meant = f", the result's derivative ∂{name}/∂{name}," if value == 1 else ""
    formula = [symbol(name, accent, column), op("="), num(value, column)]
    return formula, f"The {what} of {name}{meant} starts at {number(value)} (the seed)."


def computed(name: str, expr: Tokens, arithmetic: Tokens | None, result: Any) -> tuple[Tokens, str]:
    """An operation's value; arithmetic: the expression with its operands' numbers, where all
    operands are single numbers."""
    spelled = [] if arithmetic is None else [op("="), *arithmetic]
    formula = [symbol(name), op("="), *expr, *spelled, op("="), num(result, "v")]
    return formula, f"{name} = {text_of(expr)} = {number(result)}."


def pushed(
    name: str, terms: list[tuple[str, Any, Tokens | None, Any, str]], result: Any
) -> tuple[Tokens, str]:
    """A tangent: the sum over the inputs of local derivative times tangent.

    terms: of each input its name, ∂y/∂x where that is a number for each element, the operation's
    rule with the tangent, the tangent, and which of several occurrences it is.
    """
    symbols: Tokens = []
    rules: Tokens = []
    numbers: Tokens = []
    pointwise = all(local is not None for _, local, *_ in terms)
    spelled = pointwise and not any(is_array(local) or is_array(t) for _, local, _, t, _ in terms)
    known = all(rule is not None for _, _, rule, *_ in terms)
    for i, (source, local, rule, tangent, which) in enumerate(terms):
        plus = [op("+")] if i else []
        symbols += [*plus, derivative(name, source, which), op("·"), symbol(source, "dot", "d")]
        rules += [*([] if rule and rule[0] == op("−") else plus), *(rule or [])]
        if spelled:
            factors = [in_parentheses(num(local)), in_parentheses(num(tangent, "d"))]
            left, right = reversed(factors) if known else factors  # ẋ · cos x, but ∂y/∂x · ẋ
            numbers += [*plus, *left, op("·"), *right]
    formula = [symbol(name, "dot", "d"), op("="), *(symbols if pointwise or not known else rules)]
    if known and pointwise:
        formula += [op("="), *rules]
    if spelled:
        formula += [op("="), *numbers]
    formula += [op("="), num(result, "d")]
    shown, made = number(result), text_of(rules) if known else ""
    made = f"{made} = " if made not in ("", shown) else ""
    return formula, f"The tangent of {name} is {made}{shown}."


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
    return formula, f"The tangent of {name} is {number(result)}, by the Function's own rule."


def pulled(
    upstream: list[tuple[str, Any]],
    target: str,
    local: Any,
    c: Any,
    before: Any,
    after: Any,
    summed: tuple[Sequence[int], Sequence[int]] | None,
    rule: Tokens | None = None,
    conjugate: bool | None = False,
    which: str = "",
) -> tuple[Tokens, str]:
    """A contribution carried back to an operand, and the sum so far.

    upstream: the results that send, with their adjoints; local: ∂y/∂x, where that is a number for
    each element; rule: the operation's rule as a formula; summed: the shape to which the operand
    was broadcast and its own, where contributions are added up; conjugate: the derivatives are of
    complex numbers, or (None) between real and complex ones, where the rule alone is written;
    which: of an operand that occurs more than once, which of them receives.
    """

    def total(tokens: Tokens) -> Tokens:
        return sum_over(tokens, *summed) if summed else tokens

    formula: Tokens = [symbol(target, "bar", "g"), op("=" if before is None else "+=")]
    if rule is None or local is not None or (summed and conjugate is not None):
        names = [name for name, _ in upstream]
        formula += [*total(_chain_rule(names, target, bool(conjugate), which)), op("=")]
    made = [] if rule is None else total(rule)
    shown, sent = text_of(made), number(c)
    if shown not in ("", sent):
        formula += [*made, op("=")]
    if len(upstream) == 1 and local is not None and not is_array(local):
        adjoint = in_parentheses(num(upstream[0][1], "g"))
        formula += [*adjoint, op("·"), *in_parentheses(num(local)), op("=")]
    formula.append(num(c, "g"))
    sender = " and ".join(name for name, _ in upstream)
    what = sent if shown in ("", sent) else f"{shown} = {sent}"
    target = called(target)
    receiver = f"the {which} {target}" if which else target
    say = f"{sender} {'sends' if len(upstream) == 1 else 'send'} {what} back to {receiver}"
    if summed:
        axes = broadcast_axes(*summed)
        along = "axis" if len(axes) == 1 else "axes"
        say += f" (summed over {along} {', '.join(map(str, axes))}, where it was broadcast)"
    if before is None:
        return formula, f"{say}; the adjoint of {target} is {number(after)}{SO_FAR}"
    added = in_parentheses(num(c, "g"))
    formula += [op("→"), num(before, "g"), op("+"), *added, op("="), num(after, "g")]
    say += f"; added to {number(before)}, the adjoint of {target} is now {number(after)}."
    return formula, say


def _chain_rule(names: list[str], target: str, conjugate: bool, which: str) -> Tokens:
    """ȳ · ∂y/∂x, summed over the results that send; of complex numbers ȳ · conj(∂y/∂x)."""
    terms: Tokens = []
    for i, name in enumerate(names):
        slope: Tokens = [derivative(name, target, which)]
        if conjugate:
            slope = [{"t": "fn", "text": "conj"}, op("("), *slope, op(")")]
        terms += [*([op("+")] if i else []), symbol(name, "bar", "g"), op("·"), *slope]
    return terms


def replaced(name: str, g: Any) -> tuple[Tokens, str]:
    """A hook put another adjoint in the place of the computed one."""
    formula = [symbol(name, "bar", "g"), op("="), num(g, "g")]
    return formula, f"A hook replaced the adjoint of {name}; it is now {number(g)}."


def from_outside(target: str, c: Any, after: Any) -> tuple[Tokens, str]:
    """A contribution along a path that was computed before the traced function ran."""
    say = f"{target} also receives {number(c)} along what was computed before the function ran"
    say += f"; its adjoint is now {number(after)}."
    return [symbol(target, "bar", "g"), op("+="), num(c, "g")], say
