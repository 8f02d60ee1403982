"""The operations of formulas in JavaScript, written from their declarations.

Each operation gets its forward function, from its scalar expression, and its derivative rules, as
they run on symbols (symbols.py). A rule takes the operations that it calls as its first argument:
the engine in the page calls one rule with functions of numbers, to differentiate, and with
functions that write formulas, to show it.

No operation is named here. The grammar names the first ones; their rules name the others.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from typing import Any

from minigrad.viz.explorer.symbols import (
    OPERATORS,
    Fork,
    Value,
    arguments_of,
    called,
    forward_text,
    literal,
    observed,
    of_rule,
)

from minigrad import expression, scalar
from minigrad.core.primitive import OUTPUT, Primitive, Rule
from minigrad.expression import refusals
from minigrad.trace.text import REASONS

OF_TWO = frozenset("logaddexp atan2 hypot fmod copysign maximum minimum".split())
"""Functions of scalar expressions that take two numbers."""
SPELT = {
    "neg": "-{}", "**": "F.power({}, {})", "where": "{} ? {} : {}", "==": "{} === {}",
    "!=": "{} !== {}", "and": "{} && {}", "or": "{} || {}", "&": "{} && {}", "|": "{} || {}",
    "not": "!{}", "~": "!{}", "xor": "{} !== {}", "^": "{} !== {}",
    **{word: f"F.{word}({{}})" for word in scalar.FUNCTIONS - {"where", "xor"}},
    **{word: f"F.{word}({{}}, {{}})" for word in OF_TWO},
}  # fmt: skip
"""The words of scalar expressions that JavaScript spells in another way; bits are booleans here."""


@cache
def rules() -> str:
    """The module `rules.js`: `OPERATIONS` by name, and `GRAMMAR`, what the functions and operators
    of a formula call."""
    calls, operators = _calls(), _operators()
    said, words = _once("\n".join(f"  {name}: {_json(table)}," for name, table in _words().items()))
    found = _reached([*calls.values(), *(v for row in operators.values() for v in row)])
    lines = [
        "// Written from the declarations of the operations by viz/explorer/javascript.py.",
        "",
        'import { F } from "./functions.js";',
        "",
        "export const OPERATIONS = {",
        *(_operation(primitive) for primitive in found),
        "};",
        'for (const one of Object.values(OPERATIONS)) one.inputs ??= ["x"];',
        "",
        said,
        "export const GRAMMAR = {",
        f"  constants: {json.dumps(expression.CONSTANTS)},",
        "  functions: {",
        *(
            f"    {name}: {_call(call, list('xyz'[: expression.FUNCTIONS[name].arity]))},"
            for name, call in calls.items()
        ),
        "  },",
        f"  choosing: {_json([n for n, f in expression.FUNCTIONS.items() if f.chooses])},",
        "  // of two values, of a value and a number, and of a number and a value",
        "  operators: {",
        *(
            f"    {json.dumps(sign)}: [{', '.join(_call(one, ['a', 'b']) for one in row)}],"
            for sign, row in operators.items()
        ),
        "  },",
        f"  negative: {_arrow(observed(lambda x: -x, Value('x')), ['x'])},",
        "  // what a comparison with a number on its left becomes",
        f"  reflected: {_json(_reflected(operators))},",
        "  // what is said of a text that is no formula",
        words,
        "};",
        CALLED,
        "",
    ]
    return "\n".join(lines)


def _calls() -> dict[str, Any]:
    """What each function of the grammar computes of symbols x, y, z."""
    return {name: called(function) for name, function in expression.FUNCTIONS.items()}


def _reflected(operators: dict[str, list[Any]]) -> dict[str, str]:
    """The operations of two values that the operators call with their operands turned around where
    the left one is a number."""
    pairs = [(row[0].made, row[2].made) for row in operators.values()]
    return {both[0].name: left[0].name for both, left in pairs if left[1][1] is LEFT}


def _words() -> dict[str, Any]:
    """The limits and the messages of the grammar, as the command line has them."""
    return {
        "limits": {
            "characters": expression.MAX_CHARACTERS,
            "operations": expression.MAX_OPERATIONS,
            "run": expression.MAX_RUN,
        },
        "messages": refusals.MESSAGES,
        "reasons": REASONS,
        "anythingElse": refusals.ANYTHING_ELSE,
        "numbers": refusals.NUMBERS,
        "nodes": refusals.NODES,
        "refusedOperators": refusals.OPERATORS,
        "typography": refusals.TYPOGRAPHY,
    }


def _once(text: str) -> tuple[str, str]:
    """A text in which a list stands in place of each string that it holds several times, and the
    declaration of that list."""
    found = re.findall(r'(?<=[ \[])"[^"\\]{16,}"(?=[,}\]])', text)
    said = [one for one, times in Counter(found).items() if times > 1]
    for place, one in enumerate(said):
        text = re.sub(rf"(?<=[ \[]){re.escape(one)}(?=[,}}\]])", f"REPEATS[{place}]", text)
    return f"const REPEATS = [{', '.join(said)}];", text


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


LEFT, RIGHT = 0.1234567, 0.7654321
"""Numbers that stand for the operand a or b which is a number."""
LETTERS = {LEFT: "a", RIGHT: "b"}


def _operators() -> dict[str, list[Any]]:
    pairs = [(Value("a"), Value("b")), (Value("a"), RIGHT), (LEFT, Value("b"))]
    return {sign: [observed(run, *pair) for pair in pairs] for sign, run in OPERATORS.items()}


def _reached(values: list[Any]) -> list[Primitive]:
    """The operations that these values are made by, and those that their rules call, and theirs."""
    found: dict[str, Primitive] = {}
    waiting = [primitive for value in values for primitive in _called(value)]
    while waiting:
        primitive = waiting.pop(0)
        if primitive.name in found:
            continue
        found[primitive.name] = primitive
        for rule in (*primitive.pull_rules, *primitive.push_rules):
            if rule is not None:
                waiting += _called(of_rule(primitive, rule))
    return sorted(found.values(), key=lambda one: one.name)


def _called(value: Any) -> Iterator[Primitive]:
    if isinstance(value, Fork):
        yield from _called(value.yes)
        yield from _called(value.no)
    elif isinstance(value, Value) and isinstance(value.made, tuple):
        yield value.made[0]
        for part in value.made[1]:
            yield from _called(part)


# ------------------------------------------------------------------------------------- operations


def _operation(primitive: Primitive) -> str:
    """An entry of `OPERATIONS`. One without a kind is element-wise; one without a symbol has its
    name for that, and one without inputs has x."""
    notation = None if primitive.notation is None else scalar.formula(str(primitive.notation))
    facts = {
        **({"inputs": list(primitive.inputs)} if primitive.inputs != ("x",) else {}),
        **({"kind": primitive.kind} if primitive.kind != "elementwise" else {}),
        **({"symbol": primitive.symbol} if primitive.symbol != primitive.name else {}),
        **({"notation": notation} if notation is not None else {}),
        **({"domain": scalar.parsed(primitive.domain)} if primitive.domain else {}),
        **_own_texts("pulled", primitive.pull_notation),
        **_own_texts("pushed", primitive.push_notation),
    }
    lines = [f"  {primitive.name}: {{"]
    lines += [
        f"    {key}: {json.dumps(value, ensure_ascii=False)}," for key, value in facts.items()
    ]
    body = _forward(primitive)
    read = [name for name in primitive.keywords if re.search(rf"\b{name}\b", body)]
    arguments = [*primitive.inputs, *([f"{{ {', '.join(read)} }}"] if read else [])]
    given = ", ".join(arguments)
    whole = re.fullmatch(rf"(F\.\w+)\({given}\)", body)
    lines.append(f"    forward: {whole[1] if whole else f'({given}) => {body}'},")
    if any(primitive.pull_rules):
        pulls, pushes = (
            [*_rules(primitive, r)] for r in (primitive.pull_rules, primitive.push_rules)
        )
        lines += ["    pulls: [", *pulls, "    ],"]
        lines += ["    pushes: [", *pushes, "    ],"] if pushes != pulls else []
    return "\n".join([*lines, "  },"])


def _own_texts(key: str, texts: Any) -> dict[str, Any]:
    """The rules that a declaration writes itself, for each operand."""
    assert not callable(texts), "the page has no operations whose rules depend on shapes"
    return {key: [text and scalar.formula(text) for text in texts]} if texts else {}


def _forward(primitive: Primitive) -> str:
    """What the operation does to single numbers."""
    declared = primitive.scalar
    if not isinstance(declared, str):
        return forward_text(primitive)
    return scalar.written(
        scalar.parsed(declared),
        SPELT,
        lambda leaf: leaf if isinstance(leaf, str) else literal(leaf),
    )


def _rules(primitive: Primitive, rules: tuple[Rule | None, ...]) -> list[str]:
    return [f"      {'null' if rule is None else _rule(primitive, rule)}," for rule in rules]


def _rule(primitive: Primitive, rule: Rule) -> str:
    reads = [source for source in rule.sources if source >= OUTPUT]
    arguments = ["g", *arguments_of(primitive, rule)]
    used = [name for name in rule.keywords if name not in ("axes", "keepdims", "shape")]
    arguments += [f"{{ {', '.join(used)} }}"] if used else []
    return f"[{reads}, {_arrow(of_rule(primitive, rule), arguments)}]"


def _arrow(result: Any, arguments: list[str]) -> str:
    """A function of operations and of values, which returns what the symbols say."""
    tree = _simpler(_texts(result, set(arguments)))
    called = dict.fromkeys(primitive.name for primitive in _called(result))
    head = (
        f"({{ {', '.join(called)} }}, {', '.join(arguments)}) =>"
        if called
        else (f"(_, {', '.join(arguments)}) =>")
    )
    lines = list(_statements(tree))
    if len(lines) == 1:
        return f"{head} {lines[0].removeprefix('return ').removesuffix(';')}"
    return "\n".join([f"{head} {{", *(f"        {line}" for line in lines), "      }"])


CALLED = """
// what a function or an operator calls, where it is an operation as it stands
const calling = (name) =>
  [
    (F, x) => F[name](x),
    (F, x, y) => F[name](x, y),
    (F, x, y, z) => F[name](x, y, z),
  ][OPERATIONS[name]?.inputs.length - 1] ?? name;
for (const [name, one] of Object.entries(GRAMMAR.functions)) GRAMMAR.functions[name] = calling(one);
for (const row of Object.values(GRAMMAR.operators)) row.splice(0, 3, ...row.map(calling));"""


def _call(result: Any, arguments: list[str]) -> str:
    """A function of operations and of values; the operation's name where it gets these values."""
    if isinstance(result, Value) and isinstance(result.made, tuple):
        primitive, operands, params = result.made
        texts = [LETTERS.get(one) if isinstance(one, float) else one.made for one in operands]
        if texts == arguments and not params:
            return json.dumps(primitive.name)
    return _arrow(result, arguments)


Written = tuple[tuple[str, ...], str]
"""A result as text: the declarations before it, and its expression."""


def _texts(result: Any, taken: set[str]) -> Any:
    """The tree of a result with texts in the place of symbols."""
    if isinstance(result, Fork):
        return Fork(result.question, _texts(result.yes, taken), _texts(result.no, taken))
    uses: dict[int, int] = {}
    _count(result, uses)
    names: dict[int, str] = {}
    free = (name for name in ("t", "u", "w", "t2", "u2", "w2", "t3", "u3") if name not in taken)
    declared: list[str] = []

    def text(value: Any) -> str:
        if not isinstance(value, Value):
            return LETTERS.get(value) or literal(value)
        if isinstance(value.made, str):
            return value.made
        if id(value) in names:
            return names[id(value)]
        primitive, operands, params = value.made
        parts = [text(operand) for operand in operands]
        if params:
            pairs = ", ".join(f"{key}: {_bare(text(given))}" for key, given in params.items())
            parts.append(f"{{ {pairs} }}")
        written = f"{primitive.name}({', '.join(parts)})"
        if uses[id(value)] == 1:
            return written
        names[id(value)] = next(free)
        declared.append(f"const {names[id(value)]} = {written};")
        return names[id(value)]

    expression_text = text(result)
    return tuple(declared), expression_text


def _bare(text: str) -> str:
    """Without parentheses around the whole, where there is one pair."""
    return text[1:-1] if text.startswith("(") and text.count("(") == 1 else text


def _count(value: Any, uses: dict[int, int]) -> None:
    if isinstance(value, Value) and isinstance(value.made, tuple):
        uses[id(value)] = uses.get(id(value), 0) + 1
        if uses[id(value)] == 1:
            for part in value.made[1]:
                _count(part, uses)


def _simpler(tree: Any) -> Any:
    """Questions with equal answers put together."""
    if not isinstance(tree, Fork):
        return tree
    question, yes, no = tree
    if isinstance(yes, Fork) and yes.no == no:
        return _simpler(Fork(f"{question} && {yes.question}", yes.yes, no))
    yes, no = _simpler(yes), _simpler(no)
    if yes == no:
        return yes
    if isinstance(no, Fork) and no.no == yes:
        return _simpler(Fork(f"!({question}) && {no.question}", no.yes, yes))
    return Fork(question, yes, no)


def _statements(tree: Any) -> Iterator[str]:
    if not isinstance(tree, Fork):
        yield from tree[0]
        yield f"return {tree[1]};"
        return
    inside = list(_statements(tree.yes))
    if len(inside) == 1:
        yield f"if ({tree.question}) {inside[0]}"
    else:
        yield f"if ({tree.question}) {{"
        yield from (f"  {line}" for line in inside)
        yield "}"
    yield from _statements(tree.no)
