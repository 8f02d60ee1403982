"""Tables of wrong calls: a statement and the error that answers it, one after the other in a text.

A line is `statement  # Error: words of its message`; a line that begins with blanks continues it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minigrad as mg
from tests.helpers.tables import in_one_test


def wrong_calls(table: str) -> list[tuple[str, str]]:
    """The statements of a table, and the error of each."""
    lines = re.sub(r"\n +", " ", table.strip()).splitlines()
    return [tuple(re.split(r" +# ", line, maxsplit=1)) for line in lines]  # type: ignore[misc]


def refuse(statement: str, answer: str, **names: Any) -> Exception:
    """Execute the statement, which must raise the answer: a class or a base class, and a regular
    expression that the message holds.
    """
    kind, _, words = answer.partition(": ")
    names = {"mg": mg, "nn": mg.nn, "F": mg.nn.functional, "np": np, "math": math, **names}
    with pytest.raises(Exception, match=words or None) as caught:
        exec(statement, names)
    assert kind in {c.__name__ for c in type(caught.value).__mro__}, repr(caught.value)
    return caught.value


def refusals(table: str, fresh: Callable[[], dict[str, Any]] = dict, **names: Any) -> Any:
    """A test of all rows of a table, in which the statements know these names too, and those that
    `fresh` makes for each row.
    """

    @in_one_test
    @pytest.mark.parametrize(("statement", "answer"), wrong_calls(table))
    def test(statement: str, answer: str) -> None:
        refuse(statement, answer, **names, **fresh())

    return test
