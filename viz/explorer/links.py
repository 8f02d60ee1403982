"""A Trace as an address of the page that differentiates: the link under a picture that leads to
where its inputs can be changed.

The page reads formulas and programs. So the nodes of a Trace of numbers are written as one: as a
single formula where each result is used once, else with an assignment for each result that is used
more often. A Trace that the page would compute in another way has no address: one with arrays, with
an operation that the grammar lacks, with a comparison (the branch was chosen by the inputs), or
with a rule of its own.
"""

from __future__ import annotations

import keyword
import math
import warnings
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any
from urllib.parse import quote

from minigrad.viz.explorer.symbols import OPERATORS, Value, called, observed

from minigrad import expression
from minigrad.expression.grammar import BINARY
from minigrad.trace.replay import state_at
from minigrad.watch import trace_function

Trace = Mapping[str, Any]
MODES = {"v": "primal", "vd": "forward", "vg": "reverse", "vdg": "both"}
ELSEWHERE = frozenset(("jacobian", "arrays", "buffers"))
"""Views that the page does not have."""
LONGEST = 100
"""Characters of the longest formula that is written as one."""
COMPARING = frozenset(set(OPERATORS) - set(BINARY.values()))
PRECEDENCE = {
    **dict.fromkeys(COMPARING, 0),
    "+": 1,
    "-": 1,
    "*": 2,
    "/": 2,
    "neg": 3,
    "**": 4,
    "atom": 5,
}
AS_TYPED = "~()*!'+/,=;:"
"""Characters that an address holds as they are, as static/address.js writes them."""


def address(trace: Trace, step: int = 0, views: Sequence[str] = ()) -> str | None:
    """The part of the page's address after its file, `#f=…`, with which it shows this Trace; None
    where it cannot.

    step: where the page stands at first. views: those that are open.
    """
    mode = MODES.get("".join(column["key"] for column in trace["columns"]))
    written = program(trace)
    if written is None or mode is None:
        return None
    text, values, directions = written
    again = _differentiated(text, values, directions, mode)
    if _computed(again) != _computed(trace):
        return None
    parts = [f"f={_escaped(text)}"]
    own = ("f", "mode", "step", "views")
    parts += [
        f"{'.' if name in own else ''}{_escaped(name)}={_number(value)}"
        for name, value in values.items()
    ]
    parts += [f"mode={mode}"] * (mode != "both")
    usual = [float(not place) for place in range(len(values))]
    if "d" in mode_columns(mode) and list(directions.values()) != usual:
        parts += [f"d.{_escaped(name)}={_number(value)}" for name, value in directions.items()]
    shown = [view for view in views if view not in ELSEWHERE]
    parts += [f"views={','.join(shown)}"] * bool(shown)
    if step and len(again["steps"]) == len(trace["steps"]):
        parts.append(f"step={step}")
    return "#" + "&".join(parts)


def function(traces: Sequence[Trace]) -> dict[str, Any] | None:
    """What the engine of the page needs to write these Traces of one function at several points:
    its text, mode, forward seeds, and the values at the first point, by name. None where the text
    is another one at some of them, or gives other steps at the first or the last.
    """
    written = [program(trace) for trace in traces]
    first = written[0]
    mode = MODES.get("".join(column["key"] for column in traces[0]["columns"]))
    inputs = traces[0]["inputs"]
    if first is None or mode is None or set(first[1]) != set(inputs):
        return None
    text = first[0]
    seeds = {name: first[2][name] for name in inputs}
    if any(one is None or (one[0], one[2]) != (text, first[2]) for one in written):
        return None
    for trace, found in ((traces[0], first), (traces[-1], written[-1] or first)):
        values = {name: found[1][name] for name in inputs}
        again = _differentiated(text, values, seeds, mode)
        if _steps(again) != _steps(trace) or again["edges"] != trace["edges"]:
            return None
    return {
        "text": text,
        "mode": mode,
        "seeds": seeds,
        "values": {name: first[1][name] for name in inputs},
    }


def _steps(trace: Trace) -> list[dict[str, Any]]:
    """The steps without their places in the source."""
    return [{k: v for k, v in step.items() if k != "line"} for step in trace["steps"]]


def mode_columns(mode: str) -> str:
    """The keys of the columns of a mode."""
    return next(keys for keys, name in MODES.items() if name == mode)


def program(trace: Trace) -> tuple[str, dict[str, float], dict[str, float]] | None:
    """A Trace as a text that the page reads, and by name the values and the forward seeds of its
    variables, in the order in which they appear; None where there is none.
    """
    nodes = {node["id"]: node for node in trace["nodes"]}
    plain = all(not node["shape"] and node["stage"] == "primal" for node in nodes.values())
    if not plain or len(trace["outputs"]) != 1 or trace.get("passes") or trace.get("error"):
        return None
    if any(seed != 1 for seed in trace["seed"].get("adjoints", {}).values()):
        return None  # the page's own is 1
    made, values = _made(trace, nodes), _values(trace)
    given = [float(values.get(name, math.nan)) for name in nodes if name not in (made or ())]
    if made is None or not all(map(math.isfinite, given)):
        return None
    leaves = _leaves(nodes, values)
    text = _text(made, leaves, trace["outputs"][0])
    try:
        names = expression.compile(text).names
    except expression.ExpressionError:
        return None  # too long for the page
    variables = {leaf: node for node, leaf in leaves.items() if nodes[node]["kind"] != "const"}
    tangents = trace["seed"].get("tangents", {})
    return (
        text,
        {name: float(values[variables[name]]) for name in names},
        {name: float(tangents.get(variables[name], 0.0)) for name in names},
    )


def _values(trace: Trace) -> dict[str, Any]:
    """The value of each node."""
    state = state_at(dict(trace), len(trace["steps"])).cells
    return {node: value for (node, column), value in state.items() if column == "v"}


Made = dict[str, tuple[str, list[Any]]]
"""By node how it is made: the sign or the function of the grammar, and its operands, nodes (texts)
and numbers."""


def _made(trace: Trace, nodes: Mapping[str, Any]) -> Made | None:
    """None where an operation, or the way it is called, is none of the grammar's."""
    operands: dict[str, dict[int, str]] = {node: {} for node in nodes}
    for edge in trace["edges"]:
        operands[edge["dst"]][edge["slot"]] = edge["src"]
    made: Made = {}
    for name, node in nodes.items():
        if "op" not in node:
            continue
        word, count = words().get(node["op"], ("", 0))
        given: dict[int, Any] = dict(operands[name])
        free = [slot for slot in range(count) if slot not in given]
        # without a free slot the numbers belong to the notation, as in x² for the square
        numbers = list(_numbers(node["expr"])) if free else []
        if not all(map(math.isfinite, map(float, numbers))):
            return None  # the grammar has no word for them
        if not count or len(numbers) != len(free) or len(given) + len(free) != count:
            return None
        given |= dict(zip(free, numbers, strict=True))
        made[name] = (word, [given[slot] for slot in range(count)])
    return made if _comparisons_choose(made) else None


def _comparisons_choose(made: Made) -> bool:
    """Whether each comparison is the first operand of a function that chooses, and of nothing else:
    others have chosen what the program went on with.
    """
    choosing = {
        operands[0]
        for word, operands in made.values()
        if word in expression.FUNCTIONS and expression.FUNCTIONS[word].chooses
    }
    used = [one for _, operands in made.values() for one in operands if isinstance(one, str)]
    tests = {name for name, (word, _) in made.items() if word in COMPARING}
    return tests == choosing & set(made) and all(used.count(name) == 1 for name in tests)


def _numbers(tokens: Iterable[Any]) -> Iterable[Any]:
    """The numbers that stand in a notation, from left to right."""
    for token in tokens:
        if token.get("t") == "num":
            yield token["value"]
        for inner in token.values():
            if isinstance(inner, list):
                yield from _numbers(inner)


@cache
def words() -> dict[str, tuple[str, int]]:
    """By operation the sign or the function of the grammar that calls it, and its operands'
    count.
    """
    found: dict[str, tuple[str, int]] = {}
    for name, function in expression.FUNCTIONS.items():
        made = called(function).made
        if [one.made for one in made[1] if isinstance(one, Value)] == list("xyz"[: function.arity]):
            own = made[0].name
            found.setdefault(own, (own if own in expression.FUNCTIONS else name, function.arity))
    for sign in OPERATORS:
        for pair in ((Value("a"), Value("b")), (Value("a"), 0.5)):
            found[observed(OPERATORS[sign], *pair).made[0].name] = (sign, 2)
    found[observed(lambda x: -x, Value("x")).made[0].name] = ("neg", 1)
    return found


def _leaves(nodes: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, str]:
    """What is written for inputs, parameters and constants: names that the grammar does not give
    another meaning, and numbers.
    """
    taken = {*expression.FUNCTIONS, *expression.CONSTANTS}
    leaves: dict[str, str] = {}
    for name, node in nodes.items():
        if "op" in node:
            continue
        if node["kind"] == "const":
            leaves[name] = _number(values[name])
            continue
        word = node.get("name", name)
        if not word.isidentifier():
            word = name
        while word in taken or keyword.iskeyword(word) or not word.isidentifier():
            word = f"{word}_" if word.isidentifier() else "x"
        taken.add(word)
        leaves[name] = word
    return leaves


def _text(made: Made, leaves: Mapping[str, str], result: str) -> str:
    """One formula if that computes the nodes in their order and is not long; else a program."""
    uses = dict.fromkeys([*made, *leaves], 0)
    for _, operands in made.values():
        for operand in operands:
            if isinstance(operand, str):
                uses[operand] += 1
    shared = {name for name in made if uses[name] != 1 and name != result}
    for named in (shared, {name for name, (word, _) in made.items() if word not in COMPARING}):
        lines, order = _lines(made, leaves, named, result)
        if order == list(made) and all(len(line) <= LONGEST for line in lines):
            break
    return "\n".join(lines)


def _lines(
    made: Made, leaves: Mapping[str, str], named: set[str], result: str
) -> tuple[list[str], list[str]]:
    """The lines of a program that gives these nodes names, and the order in which it computes."""
    words = dict(leaves)
    lines, order = [], []
    for name in named:
        while (word := words.get(name, name)) in leaves.values():
            words[name] = f"{word}_"
        words.setdefault(name, name)

    def written(node: Any) -> tuple[str, int]:
        """An operand, and how tightly it is bound."""
        if not isinstance(node, str):
            number = _number(node)
            return number, PRECEDENCE["neg" if number.startswith("-") else "atom"]
        if node in words:
            word = words[node]
            return word, PRECEDENCE["neg" if word.startswith("-") else "atom"]
        return computed(node)

    def computed(node: str) -> tuple[str, int]:
        """The operation of a node."""
        word, operands = made[node]
        parts = [written(operand) for operand in operands]
        order.append(node)
        if word not in PRECEDENCE:
            return f"{word}({', '.join(text for text, _ in parts)})", PRECEDENCE["atom"]
        own = PRECEDENCE[word]
        if word == "neg":
            return f"-{_within(parts[0], own + 1)}", own
        left, right = (own + 1, own) if word == "**" else (own, own + 1)
        space = "" if own > 1 else " "  # around + and - and comparisons
        return f"{_within(parts[0], left)}{space}{word}{space}{_within(parts[1], right)}", own

    for node in made:
        if node in named and node != result:
            lines.append(f"{words[node]} = {computed(node)[0]}")
    lines.append(computed(result)[0] if result in made else words[result])
    return lines, order


def _within(part: tuple[str, int], least: int) -> str:
    text, bound = part
    return text if bound >= least else f"({text})"


def _number(value: Any) -> str:
    """A number as it is typed."""
    number = float(value)
    return repr(int(number)) if number.is_integer() and abs(number) < 1e15 else repr(number)


def _escaped(text: str) -> str:
    return quote(text, safe=AS_TYPED)


def _differentiated(
    text: str, values: Mapping[str, float], directions: Mapping[str, float], mode: str
) -> Trace:
    """What the page makes of a text, computed here."""
    forward = "d" in mode_columns(mode) and values
    compiled = expression.compile(text)

    def run(*given: Any) -> Any:
        at = dict(zip(values, given, strict=True))
        return compiled(*(at[name] for name in compiled.names))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the first run has warned
        return trace_function(
            run,
            *values.values(),
            mode=mode,
            names=list(values),
            source=text,
            tangents=dict(directions) if forward else None,
        )


def _computed(trace: Trace) -> list[dict[str, Any]]:
    """By column, what was written into the nodes of operations, in their order."""
    state = state_at(dict(trace), len(trace["steps"])).cells
    return [
        {
            column["key"]: state[node["id"], column["key"]]
            for column in trace["columns"]
            if (node["id"], column["key"]) in state
        }
        for node in trace["nodes"]
        if "op" in node
    ]
