"""What is said of a text that is no formula: every problem and every hint, as data.

The command line and the page that differentiates (viz/explorer) parse in two languages and say the
words of this one table.
"""

from __future__ import annotations

from typing import Any

MESSAGES: dict[str, tuple[str, str]] = {
    "empty": ("the formula is empty", "for example: log(x1) + x1*x2 - sin(x2)"),
    "long": ("the formula has {count} characters; at most {most} are read", ""),
    "character": (
        "unexpected character {character}",
        "write the formula on one line, with nothing after it",
    ),
    "deep": (
        "the formula is nested too deeply to be read",
        "give parts of it as values of their own",
    ),
    "sign": ("'{character}' cannot be used in a formula", "{hint}"),
    "glued": ("a number and a name with nothing between them", "write {number}*{name}"),
    "argument": ("the argument of {name} stands in parentheses", "write {name}({argument})"),
    "spaced": ("an operation is missing here", "multiplication is written out: a*b"),
    "digits": ("a number with too many digits", "write large numbers as 1e300"),
    "early": ("the formula ends too early", "{anything_else}"),
    "syntax": ("this is not a formula: {message}", "{anything_else}"),
    "used": ("{what} cannot be used in a formula", "{hint}"),
    "function": ("{name} is a function and needs its argument", "write {name}(...)"),
    "underscore": ("{name} cannot be used in a formula", "names begin with a letter"),
    "many": (
        "the formula has more than {most} operations",
        "its trace would be too long to follow; write a Python function",
    ),
    "boolean": ("{name} cannot be used in a formula", "write the number 1 or 0"),
    "complex": ("complex numbers cannot be used in a formula", "write real numbers"),
    "large": ("the number is too large", "float64 ends at about 1.8e308"),
    "call": (
        "only a function's name can stand before ( )",
        "multiplication is written out: 2*(x + 1)",
    ),
    "product": ("{name} is not a function", "multiplication is written out: {name}*(...)"),
    "unknown": ("there is no function {name}", "{hint}"),
    "keyword": ("{name} takes its arguments by position", "write {example}"),
    "arity": ("{name} takes {arity} argument{s}, not {count}", "write {example}"),
    "statement": (
        "{what} cannot be used in a program",
        "a program holds assignments, for i in range(n), if, and formulas",
    ),
    "result": (
        "the program ends without a result",
        "write it alone on the last line: its name, or a formula",
    ),
    "unused": (
        "this value is not used",
        "give it a name, as in y = x*x; the result stands alone on the last line",
    ),
    "target": ("only a name can stand before =", "write one name in each assignment: y = x*x"),
    "chooses": ("the first argument of {name} compares two values", "write {example}"),
    "assigned": ("{name} cannot be assigned", "it is a {kind}; choose another name"),
    "counter": ("a loop counts in a name", "write for i in range(5):"),
    "range": ("a loop runs over range(n)", "write for i in range(5):"),
    "whole": ("range takes whole numbers, not {value}", "write for i in range(5):"),
    "condition": (
        "a condition compares two values",
        "write x > 0, and join conditions with and, or, not",
    ),
    "unset": ("{name} has no value here", "give it one before the if or the loop"),
    "endless": (
        "the program runs more than {most} operations",
        "its trace would be too long to follow; write a Python function",
    ),
}
"""Problem and hint by name, with {blanks}."""

ANYTHING_ELSE = "a formula holds numbers, names, + - * / **, parentheses and functions"
_ONLY_THESE = "the operations are + - * / **"
OPERATORS = {
    "^": "write a power as **, for example x**2",
    "//": "it has no useful derivative; divide with /",
    "%": _ONLY_THESE,
    "@": _ONLY_THESE,
    "&": _ONLY_THESE,
    "|": "write an absolute value as abs(x)",
    "<<": _ONLY_THESE,
    ">>": _ONLY_THESE,
    "~": _ONLY_THESE,
    "not": _ONLY_THESE,
}
"""What to do instead of an operator that formulas do not have."""

_SUM = "write the terms out, or give an array and use sum(x)"
NUMBERS = "a formula holds numbers and names only"
_PARENTHESES = "group with parentheses ( )"
NODES: dict[str, tuple[str, str]] = {
    "Attribute": (
        "a dot after a name",
        "call the functions by their bare names: log(x), not np.log(x)",
    ),
    "Subscript": ("an index in brackets", "give each number a name of its own, such as x1 and x2"),
    "Lambda": ("a lambda", "write the formula itself, without lambda"),
    "ListComp": ("a comprehension", _SUM),
    "SetComp": ("a comprehension", _SUM),
    "DictComp": ("a comprehension", _SUM),
    "GeneratorExp": ("a comprehension", _SUM),
    "Compare": (
        "a comparison",
        "a comparison chooses between two values in where(x > 0, x, -x)",
    ),
    "BoolOp": ("and / or", "a formula computes a number"),
    "IfExp": (
        "an if",
        "write where(condition, value, other value), for example where(x > 0, x, -x)",
    ),
    "JoinedStr": ("a string", NUMBERS),
    "List": ("a list", "give the array as a value: x=[1,2,3]"),
    "Tuple": ("a comma", "a formula has one result; write decimals with a point, 0.5"),
    "Set": ("braces", _PARENTHESES),
    "Dict": ("braces", _PARENTHESES),
    "Starred": ("a star before a name", "write the arguments one by one"),
    "NamedExpr": (":=", "write the formula alone; names get their values after it, as x=2"),
    "Await": ("await", ANYTHING_ELSE),
    "Yield": ("yield", ANYTHING_ELSE),
    "YieldFrom": ("yield", ANYTHING_ELSE),
}
"""Parts of Python's expressions that formulas do not have, by the names of the syntax tree."""

IN_PYTHON = frozenset({
    "many", "endless", "statement", "unknown", "@", "%",
    *(NODES[name][0] for name in "Attribute Subscript ListComp Compare BoolOp IfExp List".split()),
})  # fmt: skip
"""What a function in Python may have: keys of :data:`MESSAGES`, and what is "used"."""

TYPOGRAPHY = {
    "·": "write multiplication as *",
    "×": "write multiplication as *",
    "⋅": "write multiplication as *",
    "÷": "write division as /",
    "−": "write minus as the - of the keyboard",
    "–": "write minus as the - of the keyboard",
    "√": "write a square root as sqrt(x)",
    "²": "write a power as x**2",
    "³": "write a power as x**3",
    "|": "write an absolute value as abs(x)",
    "=": "write only the right-hand side; names get their values after it, as x=2",
}
"""What people type from the page of a book, and what to type instead."""


class ExpressionError(ValueError):
    """A text that is not a formula, or not one that is allowed here.

    `str(error)` is three or four lines: what is wrong, the text, a caret under the place, and what
    to do. `text` is the line of a program, or the formula; `column` counts its characters from 0.
    `in_python`: whether a function in Python may have it.
    """

    in_python = False

    def __init__(
        self, problem: str, text: str, column: int, hint: str = "", width: int = 1
    ) -> None:
        self.problem, self.text, self.column, self.hint, self.width = (
            problem,
            text,
            column,
            hint,
            width,
        )
        super().__init__(problem + mark(text, column, width) + (f"\nhint: {hint}" if hint else ""))


def refusal(key: str, text: str, column: int, width: int = 1, /, **blanks: Any) -> ExpressionError:
    """The error of a key of :data:`MESSAGES`, its blanks filled in."""
    given = {"anything_else": ANYTHING_ELSE, **blanks}
    problem, hint = (part.format(**given) for part in MESSAGES[key])
    error = ExpressionError(problem, text, column, hint, width)
    error.in_python = (blanks["what"] if key == "used" else key) in IN_PYTHON
    return error


def mark(text: str, column: int, width: int = 1) -> str:
    """The text on a line of its own and carets under `width` characters from `column`; a long
    text is cut around that place.
    """
    first = max(0, column - 60) if len(text) > 100 else 0
    shown = "".join(c if c.isprintable() else "?" for c in text[first : first + 100])
    carets = max(1, min(width, first + 100 - column))
    return f"\n  {shown}\n  {' ' * (column - first)}{'^' * carets}"
