"""A formula or a small program typed as text, made into a function: read this to see how to accept
formulas without accepting any code.

A formula such as ``log(x1) + x1*x2 - sin(x2)`` is parsed by Python's own parser into a syntax tree.
Every node of the tree must then be on a short list: numbers, names, ``+ - * / **``, a sign,
parentheses, and calls to the functions of `FUNCTIONS`, of which ``where(x > 0, a, b)`` chooses by a
comparison. Whatever else the text holds, be it an
attribute, a subscript, a lambda or a string, is refused with its column marked. Only after that is
the tree compiled, as the body of a function whose global names are those functions and nothing
more: what is not on the list cannot be reached.

A text of several statements is a program: assignments, ``for i in range(n)`` and ``if`` with
comparisons. Newton's iteration for the square root of a is ::

    x = 1
    for i in range(5):
        x = x - (x*x - a)/(2*x)

Its variables are the names that are read before they are assigned, here a; its result is the last
line. Arithmetic on numbers alone, such as ``2*i + 1``, gives a number and is no step of a Trace.

The compiled code keeps the columns of the text, so a Trace of the function lights the very
characters that each step comes from.
"""

import re
from typing import Any

from . import building
from .checking import FormulaChecker, parsed
from .grammar import CONSTANTS, FUNCTIONS, MAX_CHARACTERS, MAX_OPERATIONS, MAX_RUN, FormulaFunction
from .refusals import ExpressionError, mark, refusal

__all__ = [
    "CONSTANTS",
    "FUNCTIONS",
    "MAX_CHARACTERS",
    "MAX_OPERATIONS",
    "MAX_RUN",
    "Expression",
    "ExpressionError",
    "FormulaFunction",
    "compile",
    "mark",
]


class Expression:
    """A formula or a program as a function of tensors.

    Attributes:
        source: the text, without the blanks around it. Columns of source spans count in it.
        names: its variables in order of appearance. Calling takes one argument for each, in that
        order.
        assignments: of a program, by the range of a value in the text, the name that it is given.

        __name__: "f"; an `Expression` looks like any other Python function to those who ask for its
        name or its code.

    Constants have full double precision; where an operation of a formula has constants alone as
    operands, as in ``log(2)``, it runs in float64.
    """

    __name__ = "f"

    def __init__(self, text: str) -> None:
        self.source = text.replace("\r\n", "\n").strip()
        tree = parsed(self.source)
        check = FormulaChecker(self.source)
        self._budget = building.Budget()
        self.assignments: dict[tuple[int, int, int, int], str] = {}
        if isinstance(tree, list):
            check.program(tree)
            self.names = tuple(check.names)
            self.assignments = building.assignments(tree)
            assigned = set(check.assigned)
            self._function = building.of_program(
                tree, self.names, assigned, self.source, self._budget
            )
        else:
            check.formula(tree)
            self.names = tuple(check.names)
            self._function = building.of_formula(tree, self.names, self.source)
        self.__code__ = self._function.__code__  # where a tracer looks for the columns

    def __call__(self, *values: Any) -> Any:
        """The formula's value; `values` are tensors or numbers in the order of `names`."""
        if len(values) != len(self.names):
            wanted = ", ".join(self.names) or "none"
            raise TypeError(
                f"{self.source!r} takes {len(self.names)} value(s) ({wanted}), but {len(values)}"
                " were given"
            )
        self._budget.left = MAX_RUN
        try:
            return self._function(*values)
        except UnboundLocalError as error:
            raise self._stopped(error, "unset") from None
        except ExpressionError as error:
            raise self._stopped(error, "") from None

    def _stopped(self, error: Exception, message: str) -> ExpressionError:
        """The error of a program that stopped, with the place where it did."""
        traceback = error.__traceback__
        while traceback is not None and traceback.tb_frame.f_code is not self.__code__:
            traceback = traceback.tb_next
        assert traceback is not None  # the error comes from the program
        places = list(self.__code__.co_positions())[traceback.tb_lasti // 2]
        row, _, first, last = (place or 0 for place in places)
        line = self.source.split("\n")[row - 1]
        start, end = (len(line.encode()[:byte].decode(errors="ignore")) for byte in (first, last))
        width = max(1, end - start)
        if isinstance(error, ExpressionError):
            return ExpressionError(error.problem, line, start, error.hint, width)
        name = re.search("'(.+?)'", str(error))
        return refusal(message, line, start, width, name=name[1] if name else "this name")

    def __repr__(self) -> str:
        return f"Expression({self.source!r})"


def compile(text: str) -> Expression:
    """The formula or program `text` as a callable `Expression`; raises `ExpressionError` where the
    text is anything else.
    """
    return Expression(text)
