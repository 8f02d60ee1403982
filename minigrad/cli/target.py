"""What a command is about: a formula such as "log(x1) + x1*x2", or a function in a Python file of the user's, FILE.py:NAME."""

import importlib.util
import inspect
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

from minigrad import expression


class UsageError(Exception):
    """The command was given something that it cannot use; exit status 2."""


class PythonFunction:
    """A function of tensors from a file, with the two things that a formula has too: the names of its variables, and what it is called."""

    def __init__(self, function: Callable[..., Any], names: tuple[str, ...], source: str) -> None:
        self.function, self.names, self.source = function, names, source

    def __call__(self, *inputs: Any) -> Any:
        return self.function(*inputs)


Formula: TypeAlias = expression.Expression | PythonFunction

_IN_A_FILE = re.compile(r"(?P<path>.+\.py)(?::(?P<name>.*))?\Z")


def target(word: str) -> Formula:
    """The formula that a word spells, or the function that it names. A file named so is run: it is the user's own.

    Raises UsageError (no such file, no such function, a function with arguments that no value can be given for) and
    expression.ExpressionError.
    """
    match = _IN_A_FILE.match(word.strip())
    if not match:
        return expression.compile(word)
    path, name = Path(match["path"]), match["name"]
    if not path.is_file():
        raise UsageError(f"there is no file {path}")
    if not name:
        raise UsageError(f"name the function in {path}: {path}:NAME")
    found = getattr(_module(path), name, None)
    if found is None:
        raise UsageError(f"{path} defines no {name}; {_offer(path)}")
    if isinstance(found, type) or not callable(found):
        raise UsageError(f"{name} in {path} is a {'class' if isinstance(found, type) else type(found).__name__}, not a function of tensors")
    call = getattr(found, "forward", found)  # a module's own arguments stand at its forward
    parameters = inspect.signature(call).parameters.values()
    names = tuple(p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) and p.default is p.empty)
    if any(p.kind is p.KEYWORD_ONLY and p.default is p.empty for p in parameters):
        raise UsageError(f"{name} in {path} has arguments that can be given by name only, for which there is no way here")
    return PythonFunction(found, names, name)


def _module(path: Path) -> Any:
    name = f"_minigrad_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None  # the name ends in .py
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(path.resolve().parent))  # it may import what lies beside it, as when it is run itself
    try:
        spec.loader.exec_module(module)
    except Exception as error:  # whatever the user's file raises is theirs to correct
        place = error.__traceback__
        while place is not None and place.tb_next is not None:
            place = place.tb_next
        line = f", line {place.tb_lineno}" if place is not None else ""
        raise UsageError(f"{path} cannot be run: {type(error).__name__}: {error}{line}") from error
    finally:
        sys.path.pop(0)
    return module


def _offer(path: Path) -> str:
    module = sys.modules[f"_minigrad_{path.stem}"]
    names = [name for name, value in vars(module).items() if inspect.isfunction(value) and value.__module__ == module.__name__]
    return f"its functions are {', '.join(names)}" if names else "it defines no function"
