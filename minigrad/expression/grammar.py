"""What formulas and programs are made of: functions, constants, and how much of them is read."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Sequence
from typing import NamedTuple

MAX_CHARACTERS = 10_000
MAX_OPERATIONS = 500
MAX_RUN = 5_000
"""Operations that a program runs at most, loops included."""


class FormulaFunction(NamedTuple):
    """A function that a formula may call."""

    target: str
    """Its name in `minigrad.functions`."""
    arity: int
    """How many arguments it takes."""
    chooses: bool = False
    """Whether its first argument is a comparison, which chooses between the others."""

    def call(self, name: str, operands: Sequence[str]) -> str:
        """A call of it by a name, with as many of the operands as it takes."""
        first, *others = operands[: self.arity]
        return f"{name}({', '.join([f'{first} > 0' if self.chooses else first, *others])})"


_OF_ONE = (
    "abs acos acosh arccos arcsin arctan asin asinh atan atanh ceil cos cosh erf exp exp2 expm1"
    " floor log log10 log1p log2 mean reciprocal relu rsqrt sigmoid sign sin sinh softplus sqrt"
    " square sum tan tanh trunc"
)
_OF_TWO = "atan2 logaddexp maximum minimum"

FUNCTIONS: dict[str, FormulaFunction] = {
    **{name: FormulaFunction(name, 1) for name in _OF_ONE.split()},
    **{name: FormulaFunction(name, 2) for name in _OF_TWO.split()},
    # as mathematicians write it; log is the natural logarithm, too
    "ln": FormulaFunction("log", 1),
    "where": FormulaFunction("where", 3, chooses=True),
}
"""What a formula may call, by the name that it uses."""

CONSTANTS: dict[str, float] = {"pi": math.pi, "e": math.e, "tau": math.tau}

BINARY: dict[type[ast.operator], str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.Pow: "**",
}  # fmt: skip
"""The operators of formulas."""
SIGNS = (ast.UAdd, ast.USub)
COMPARISONS = (ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq, ast.NotEq)
"""The comparisons of conditions, and of functions that choose."""
OTHER_OPERATORS: dict[type[ast.operator] | type[ast.unaryop], str] = {
    ast.BitXor: "^", ast.FloorDiv: "//", ast.Mod: "%", ast.MatMult: "@", ast.BitAnd: "&",
    ast.BitOr: "|", ast.LShift: "<<", ast.RShift: ">>", ast.Invert: "~", ast.Not: "not",
}  # fmt: skip
"""Operators of Python that formulas do not have."""

PROGRAM_WORDS = frozenset("for in if elif else and or not".split())
"""Words of Python that programs have."""

_PROGRAM = re.compile(r"[\n;]|^\s*(?:for|if)\s.*:|^\s*[^\W\d]\w*\s*(?:[-+/]|\*\*?)?=(?!=)")


def is_program(text: str) -> bool:
    """Whether a text has several statements, or an assignment: then it is no single formula."""
    return _PROGRAM.search(text) is not None
