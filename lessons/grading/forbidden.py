"""In the notebook: a call of what will not be there when the submission is graded fails at once,
and says why.

The check forbids a name without removing it. In the batch the library's files themselves are
emptied (stripped_library.py); here, where other code needs the whole library, Python tells of each
function that is entered while a student's code runs (`sys.setprofile`), and one that is forbidden
raises what it will raise there. It helps an honest student in time, and is no protection.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from types import CodeType, FrameType, FunctionType
from typing import Any

import minigrad

from .exercise import DERIVATIVES
from .stripped_library import ENGINES, RULE_PARAMETERS, find
from .withheld import Withheld, said_of

EVENTS, AT_LEAST = 500_000, 5_000
"""So many functions entered, in all calls of a check together, are looked at; and so many in
each call, however many came before.
"""


class Marks:
    """How calls of some forbidden names are recognised: by their file, by their code, or by what
    their code has around it.
    """

    def __init__(self, names: tuple[str, ...]) -> None:
        self.files: dict[str, str] = {}
        self.codes: dict[CodeType, list[tuple[dict[str, Any], str]]] = {}
        self.rules = ""
        for name in names:
            for part in ENGINES if name == DERIVATIVES else (name,):
                self._add(part, find(part)[1])
        if DERIVATIVES in names:
            self.rules = str(Path(str(minigrad.__file__)).parent / "ops")

    def _add(self, name: str, found: Any) -> None:
        if inspect.ismodule(found):
            file = Path(str(found.__file__))
            self.files |= {
                str(path): name
                for path in (file.parent.rglob("*.py") if file.name == "__init__.py" else [file])
            }
            return
        functions = (
            list(vars(found).values())
            if isinstance(found, type)
            else [found.fget if isinstance(found, property) else found]
        )
        for function in functions:
            function = inspect.unwrap(getattr(function, "__func__", function))
            if isinstance(function, FunctionType):
                self.codes.setdefault(function.__code__, []).append(
                    (inspect.getclosurevars(function).nonlocals, name)
                )

    def name_of(self, frame: FrameType) -> str:
        """The forbidden name that a function which is entered stands for; "" if it may be
        called.
        """
        code = frame.f_code
        if code.co_filename in self.files and code.co_name != "<module>":
            return self.files[code.co_filename]
        if (
            self.rules
            and code.co_varnames[:1]
            and code.co_varnames[0] in RULE_PARAMETERS
            and code.co_filename.startswith(self.rules)
        ):
            return "the derivative rule" if code.co_argcount else ""
        for around, name in self.codes.get(code, ()):  # functions out of one table share their code
            if all(frame.f_locals.get(free) is value for free, value in around.items()):
                return name
        return ""


@cache
def marks_of(names: tuple[str, ...]) -> Marks:
    """The marks of some forbidden names, made once."""
    return Marks(names)


class CallMonitor:
    """Watches the calls of one check."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self.marks, self.left = marks_of(names), EVENTS

    def around(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function, in which a call of something forbidden raises Withheld."""
        cleared: set[CodeType] = set()

        def look(frame: FrameType) -> None:
            if name := self.marks.name_of(frame):
                raise Withheld(said_of(name))
            if frame.f_code not in self.marks.codes:
                cleared.add(frame.f_code)

        def run(*args: Any) -> Any:
            left = most = max(self.left, AT_LEAST)

            def told(frame: FrameType, event: str, arg: Any) -> None:
                nonlocal left
                if event == "call":
                    left -= 1
                    if left < 0:
                        sys.setprofile(before)
                    elif frame.f_code not in cleared:
                        look(frame)

            before = sys.getprofile()
            sys.setprofile(told)
            try:
                return function(*args)
            finally:
                sys.setprofile(before)
                self.left -= most - left

        return run


_watch: ContextVar[CallMonitor | None] = ContextVar("watch", default=None)


@contextmanager
def watching(names: tuple[str, ...]) -> Iterator[None]:
    """While this lasts, students' functions that are run by `calls.run_limited` cannot call
    these names.
    """
    token = _watch.set(CallMonitor(names) if names else None)
    try:
        yield
    finally:
        _watch.reset(token)


def watched(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function as it is to be run now."""
    watch = _watch.get()
    return function if watch is None else watch.around(function)
