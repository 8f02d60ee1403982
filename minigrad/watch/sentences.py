"""What a step says: its formula as tokens, and a sentence in plain English. Values are those of a
Trace (values.py)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from ..trace.text import number, text_of
from .notation import (
    Tokens,
    broadcast_axes,
    called,
    derivative,
    in_parentheses,
    num,
    op,
    slope,
    symbol,
    with_numbers,
)
from .notation import summed as sum_over
from .values import is_array

SO_FAR = " so far."
"""The end of the sentence of a node's first contribution."""
LONGEST_MADE, LONGEST_SLOPE = 40, 24
"""Characters of an expression beside a rule, and of a derivative, that stand in a sentence."""


def without_so_far(steps: Iterable[dict[str, Any]]) -> None:
    """Take "so far" from the sentences of contributions that no other one follows; the steps of the
    others are partial."""
    said: set[Any] = set()
    for step in reversed(list(steps)):
        place = step.get("pass"), step["node"]
        if step["phase"] in ("adjoint", "accumulate", "update") and place not in said:
            said.add(place)
            step["say"] = step["say"].replace(SO_FAR, ".")
        elif SO_FAR in step["say"]:
            step["partial"] = True


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


def computed(
    name: str, expr: Tokens, arithmetic: Tokens | None, result: Any, text: str | None = None
) -> tuple[Tokens, str]:
    """An operation's value; arithmetic: the expression with its operands' numbers, where all
    operands are single numbers; text: the expression as text, where it is known."""
    spelled = [] if arithmetic is None else [op("="), *arithmetic]
    formula = [symbol(name), op("="), *expr, *spelled, op("="), num(result, "v")]
    return formula, f"{name} = {text or text_of(expr)} = {number(result)}."


class Making(NamedTuple):
    """How the result of an operation is made, and the values of the nodes: what its derivatives
    are told by. above: the numerator of its derivatives, where that is short; known: the
    derivatives that have been written, by the operand; single: it has one operand; pointwise: each
    element of the result is made of one element of each operand, a real number."""

    text: str
    above: Tokens | None
    known: dict[str, str]
    value: Callable[[str], Any]
    single: bool = False
    pointwise: bool = False

    def numbers(self, rule: Tokens, through: Any) -> Tokens | None:
        """A rule of arithmetic in numbers, through: the adjoint or the tangent in it; None for
        functions, and for 0 alone."""
        if len(rule) == 1 and "accent" not in rule[0]:
            return None
        return with_numbers(rule, lambda t: through if "accent" in t else self.value(t["node"]))


def pushed(
    name: str,
    terms: list[tuple[str, Any, Tokens | None, Any, str]],
    result: Any,
    making: Making | None = None,
) -> tuple[Tokens, str]:
    """A tangent: the sum over the inputs of local derivative times tangent.

    terms: of each input its name, ∂y/∂x where that is a number for each element, the operation's
    rule with the tangent, the tangent, and which of several occurrences it is.
    """
    symbols: Tokens = []
    rules: Tokens = []
    numbers: Tokens = []
    slopes = []
    equals, times = op("="), op("·")
    pointwise = all([local is not None for _, local, *_ in terms])
    spelled = pointwise and not any([is_array(local) or is_array(t) for _, local, _, t, _ in terms])
    known = all([rule is not None for _, _, rule, *_ in terms])
    for i, (source, local, rule, tangent, which) in enumerate(terms):
        plus = [op("+")] if i else []
        # of two terms the sentence says how the result is made
        above = making.above if making and len(terms) == 1 else None
        fraction = derivative(name, source, which, above)
        symbols += [*plus, fraction, times, symbol(source, "dot", "d")]
        joined = [] if rule and rule[0] == op("−") else plus
        rules += [*joined, *(rule or [])]
        if spelled:
            found = making.numbers(rule, tangent) if making and rule else None
            if found is None:
                factors = [in_parentheses(num(local)), in_parentheses(num(tangent, "d"))]
                left, right = reversed(factors) if known else factors  # ẋ · cos x, but ∂y/∂x · ẋ
                joined, found = plus, [*left, times, *right]
            numbers += [*joined, *found]
        if making and rule and pointwise:
            slopes.append(_slope(making, rule, local, source, which))
    formula = [symbol(name, "dot", "d"), equals, *(symbols if pointwise or not known else rules)]
    if known and pointwise:
        formula += [equals, *rules]
    shown = number(result)
    if spelled and not _says(numbers, shown):
        formula += [equals, *numbers]
    formula += [equals, num(result, "d")]
    if making and slopes and len(slopes) == len(terms) and _is_real(terms[0][1]):
        has = "the derivative" if len(slopes) == 1 else "the derivatives"
        told = f"{making.text} has {has} {' and '.join(slopes)}"
        return formula, f"{told}: the tangent of {name} is {shown}."
    made = text_of(rules) if known else ""
    made = f"{made} = " if made not in ("", shown) else ""
    return formula, f"The tangent of {_equal(name, making)} is {made}{shown}."


def _says(numbers: Tokens, result: str) -> bool:
    """Whether a rule in numbers is the result already, as that of v̄ alone is."""
    return text_of(numbers).strip("()") == result


def _slope(making: Making, rule: Tokens, local: Any, by: str, which: str) -> str:
    """A derivative in symbols and as a number: cos x2 = 0.2837 with respect to x2. A long formula
    is left to the step's own."""
    made = making.known.get(which + by)
    if made is None:
        made = _written_slope(rule, local)
        if not making.single:
            made = f"{made} with respect to {_called(by, which)}"
        making.known[which + by] = made
    return made


def _written_slope(rule: Tokens, local: Any) -> str:
    made = text_of(slope(rule))
    if local is not None and not is_array(local):
        found = number(local)
        made = found if made == found or len(made) > LONGEST_SLOPE else f"{made} = {found}"
    return made


def _is_real(local: Any) -> bool:
    return not isinstance(local, dict) or "re" not in local


def _called(source: str, which: str) -> str:
    return f"the {which} {called(source)}" if which else called(source)


def _equal(name: str, making: Making | None) -> str:
    """v4 = sin x2, where the expression is short enough for a sentence."""
    short = making and making.text and len(making.text) <= LONGEST_MADE
    return f"{name} = {making.text}" if making and short else name


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
    making: Making | None = None,
) -> tuple[Tokens, str]:
    """A contribution carried back to an operand, and the sum so far.

    upstream: the results that send, with their adjoints; local: ∂y/∂x, where that is a number for
    each element; rule: the operation's rule as a formula; summed: the shape to which the operand
    was broadcast and its own, where contributions are added up; conjugate: the derivatives are of
    complex numbers, or (None) between real and complex ones, where the rule alone is written;
    which: of an operand that occurs more than once, which of them receives; making: of the result,
    where there is one.
    """

    def total(tokens: Tokens) -> Tokens:
        return sum_over(tokens, *summed) if summed else tokens

    equals = op("=")
    formula: Tokens = [symbol(target, "bar", "g"), equals if before is None else op("+=")]
    if rule is None or local is not None or (summed and conjugate is not None):
        names = [name for name, _ in upstream]
        above = making and making.above
        formula += [*total(_chain_rule(names, target, bool(conjugate), which, above)), equals]
    made, sent = [] if rule is None else total(rule), number(c)
    if len(made) == 1 and made[0]["t"] == "num" and number(made[0]["value"]) == sent:
        made = []  # a rule that is 0
    if made:
        formula += [*made, equals]
    if len(upstream) == 1 and local is not None and not is_array(local):
        numbers = making.numbers(rule, upstream[0][1]) if making and rule else None
        adjoint = in_parentheses(num(upstream[0][1], "g"))
        numbers = numbers or [*adjoint, op("·"), *in_parentheses(num(local))]
        formula += [] if _says(numbers, sent) else [*numbers, equals]
    formula.append(num(c, "g"))
    sender = " and ".join(name for name, _ in upstream)
    receiver = _called(target, which)
    spread = summed or (_spread(upstream[0][1], c) if _is_sum(rule) else None)
    if spread:
        axes, made_by = broadcast_axes(*spread), _equal(sender, making)
        along = f"{'axis' if len(axes) == 1 else 'axes'} {', '.join(map(str, axes))}"
        if len(axes) == 1 and len(spread[0]) == 2:
            lines = ("rows", "columns")[axes[0]]
            say = f"{receiver} was broadcast over the {spread[0][axes[0]]} {lines} of {made_by}"
            say += f" ({along}): {sender} sends the sum over the {lines}"
        else:
            say = f"{receiver} was broadcast along {along} of {made_by}: {sender} sends the sum"
            say += " along it" if len(axes) == 1 else " along them"
        say += f", {_equation(made, sent)}, back to {receiver}"
    elif making and rule and (making.pointwise or (local is not None and not conjugate)):
        has = _slope(making, rule, local, target, which)
        say = f"{making.text} has the derivative {has}: {sender} sends {sent} back to {receiver}"
    else:
        sends = "sends" if len(upstream) == 1 else "send"
        say = f"{_equal(sender, making)} {sends} {_equation(made, sent)} back to {receiver}"
    if before is None:
        return formula, f"{say} as {called(target)}'s adjoint{SO_FAR}"
    added = in_parentheses(num(c, "g"))
    formula += [op("→"), num(before, "g"), op("+"), *added, equals, num(after, "g")]
    say += f"; added to {number(before)}, {called(target)}'s adjoint is now {number(after)}."
    return formula, say


def _is_sum(rule: Tokens | None) -> bool:
    """Whether a rule is a sum, as that of a layer's bias is: sum(v̄1, axis 0)."""
    return bool(rule and rule[0].get("text") == "sum")


def _spread(upstream: Any, c: Any) -> tuple[Sequence[int], Sequence[int]] | None:
    """The shapes of a result and of an operand that was broadcast to it; None for others."""
    whole, own = (one["shape"] if is_array(one) else [] for one in (upstream, c))
    pairs = zip(reversed(own), reversed(whole), strict=False)
    fits = len(own) <= len(whole) and all(n in (1, m) for n, m in pairs)
    return (whole, own) if fits and whole != own else None


def _equation(made: Tokens, sent: str) -> str:
    return f"{text_of(made)} = {sent}" if made else sent


def _chain_rule(
    names: list[str], target: str, conjugate: bool, which: str, above: Tokens | None
) -> Tokens:
    """ȳ · ∂y/∂x, summed over the results that send; of complex numbers ȳ · conj(∂y/∂x)."""
    terms: Tokens = []
    for i, name in enumerate(names):
        slope: Tokens = [derivative(name, target, which, above)]
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
