"""What is still as it was handed out: a place that says `...`, a function whose body is empty, a
class with such methods.

So the check in the notebook and the batch grader tell "not written yet" from "returns nothing,
because a `return` is missing". A stub has nothing in it that could return anything, and that can be
read off its code without calling it. An exercise whose right answer is a function that does nothing
cannot be set: it looks like its own stub, and the sheet's own solution says so. Both sides use this
file, so it needs the standard library only.
"""

from __future__ import annotations

import ast
import dis
import linecache
import numbers
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from types import CodeType, FunctionType, ModuleType
from typing import Any

NOTHING_IS_DONE = frozenset(
    "RESUME NOP CACHE COPY_FREE_VARS MAKE_CELL LOAD_CONST RETURN_VALUE RETURN_CONST".split()
)
"""The instructions of a function of which only a docstring, `...`, `pass` or `return None` is
the body.
"""
SHORT = 40
"""Bytes of code: no stub is longer, and a long function need not be looked through at every
call.
"""
SAYS_SO = "raises NotImplementedError: put your code in its place."
"""What is said, after its name, of an answer that tells by an exception that it is not written
yet.
"""


class Unwritten(NotImplementedError):
    """The answer is still a stub."""


def is_blank(value: Any) -> bool:
    """Whether a value stands for one that is still to be written."""
    return value is None or value is ... or value is NotImplemented


def is_stub(answer: Any) -> bool:
    """Whether an answer has nothing in it yet: a function with an empty body, or a class that
    has methods, all of them such functions.
    """
    if isinstance(answer, type):
        functions = methods(answer)
        return bool(functions) and all(map(_is_empty, functions))
    return _is_empty(answer)


def has_stub(answer: Any) -> bool:
    """Whether there is something in an answer that is not written yet: a class may be half done,
    a function may still end in `...`.
    """
    functions = methods(answer) if isinstance(answer, type) else [answer]
    return any(_is_empty(function) or _ends_in_a_gap(function) for function in functions)


def unwritten(
    name: str, answer: Any, others: Mapping[str, Any] | None = None, *, is_value: bool = False
) -> str:
    """What is said of an answer that is not written yet: a value, a function, or those methods of a
    class that are missing.

    others: further answers of the exercise, by their names; where `answer` is finished, the first
    of them that is not is named instead.
    is_value: a number or a table is asked for, no code.
    """
    if is_blank(answer):
        return (
            f"`{name}` has no value yet: write {'your answer' if is_value else 'your code'} in"
            " place of `...`."
        )
    unfinished = ((other, value) for other, value in (others or {}).items() if has_stub(value))
    name, answer = (name, answer) if has_stub(answer) else next(unfinished, (name, answer))
    if not isinstance(answer, type):
        return f"`{name}` returns nothing yet: put your code in place of `...`."
    gaps = [
        f"`{method.__name__}`"
        for method in methods(answer)
        if _is_empty(method) or _ends_in_a_gap(method)
    ]
    missing = list(
        dict.fromkeys(gaps)
    )  # a method may have two names in its class, as in `__rmul__ = __mul__`
    of = f"the class `{name}`"
    if not missing:  # a method gives back the `...` itself
        return f"a method of {of} returns nothing yet: put your code in place of `...`."
    listed = " and ".join([*filter(None, [", ".join(missing[:-1])]), missing[-1]])
    return (
        f"{listed} of {of} return{'s' * (len(missing) == 1)} nothing yet: put your code in"
        " place of `...`."
    )


def is_no_code(answer: Any) -> bool:
    """Whether an answer is a number, a text or a module: nothing that could be called or made
    into objects, where that is asked for.
    """
    return isinstance(answer, numbers.Number | str | bytes | ModuleType)


def attempt(call: Callable[[], Any], asked: Any, others: Iterable[Any] = ()) -> Any:
    """What `call` returns, which uses the answer `asked` and perhaps the others. Raises Unwritten
    where that is still a stub.

    None comes back as it is if no stub is to blame for it.
    """
    if _is_empty(asked):
        raise Unwritten
    try:
        value = call()
    except Exception:
        if is_stub(asked):
            raise Unwritten from None
        raise
    if is_blank(value) and (value is not None or any(map(has_stub, (asked, *others)))):
        raise Unwritten
    return value


def without_gaps(value: Any) -> Any:
    """A table with None in the places that still say `...`: they are wrong, and the others may
    be right.
    """
    if value is ...:
        return None
    if type(value) in (list, tuple):
        return type(value)(map(without_gaps, value))
    return (
        {key: without_gaps(item) for key, item in value.items()} if type(value) is dict else value
    )


def methods(kind: type) -> list[Any]:
    """The functions that a class defines itself."""
    found = [getattr(item, "__func__", item) for item in vars(kind).values()]
    return [item for item in found if isinstance(item, FunctionType)]


def _is_empty(function: Any) -> bool:
    if not isinstance(function, FunctionType) or len(function.__code__.co_code) > SHORT:
        return False
    return _does_nothing(function.__code__)


@lru_cache(maxsize=256)
def _does_nothing(code: CodeType) -> bool:
    instructions = list(dis.get_instructions(code))
    returned = [i.argval for i in instructions if i.opname in ("LOAD_CONST", "RETURN_CONST")]
    return all(i.opname in NOTHING_IS_DONE for i in instructions) and all(
        value is None or value is ... for value in returned
    )


def _ends_in_a_gap(function: Any) -> bool:
    """Whether the last statement of a function is `...`, by its source, where that is known."""
    if not isinstance(function, FunctionType):
        return False
    code = function.__code__
    try:
        tree = ast.parse("".join(linecache.getlines(code.co_filename)))
    except (SyntaxError, ValueError):
        return False
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name == code.co_name:
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            if first == code.co_firstlineno:
                return _is_gap(node.body[-1])
    return False


def _is_gap(node: ast.stmt) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and node.value.value is ...
    )
