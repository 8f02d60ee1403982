"""What a command is about: a formula such as "log(x1) + x1*x2", or a function in a Python file of
the user's, FILE.py:NAME.

A name may stand for a function of tensors or a module, which get values. Where a graph is drawn it
may also stand for a tensor, a node of a static graph or a Program, which have their own. A name
that fits nothing is answered with those that would.
"""

import difflib
import functools
import importlib.util
import inspect
import re
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

from minigrad import expression
from minigrad.core.tensor import Tensor
from minigrad.nn import Module
from minigrad.trace.text import number
from minigrad.watch.blocks import where_raised


class UsageError(Exception):
    """The command was given something that it cannot use; exit status 2."""


class ComputationError(Exception):
    """What the command was given is fine, but it fails with these values; exit status 1."""


class PythonFunction:
    """A function of tensors from a file, with the two things that a formula has too: the names
    of its variables, and what it is called.
    """

    def __init__(
        self, function: Callable[..., Any], names: tuple[str, ...], source: str, path: Path
    ) -> None:
        self.function, self.names, self.source, self.path = function, names, source, path

    def __call__(self, *inputs: Any) -> Any:
        return self.function(*inputs)

    def stopped(self, error: Exception) -> str:
        """What is said where the function raises something that is neither a matter of the
        values nor of the engine.
        """
        lines = [
            f.lineno
            for f in traceback.extract_tb(error.__traceback__)
            if Path(f.filename) == self.path.resolve()
        ]
        place = f" in line {lines[-1]} of {self.path}" if lines else ""
        return f"{self.source} cannot be run: {type(error).__name__}{place}: {error}"


def with_place(error: Exception) -> str:
    """What an error says, behind the piece of the user's code that raised it with its numbers."""
    piece, held = where_raised(error)
    given = {
        name: value.item() if isinstance(value, Tensor) and value.numel() == 1 else value
        for name, value in held.items()
    }
    told = [f"{n} = {number(v)}" for n, v in given.items() if isinstance(v, int | float)]
    return f"{piece}{' with ' * bool(told)}{', '.join(told)}: {error}" if piece else str(error)


class Drawable:
    """What stands in a file and has a graph as it is, without arguments: a tensor, a node of a
    static graph, a Program.
    """

    def __init__(self, thing: Any, variables: dict[str, Any], source: str) -> None:
        self.thing, self.variables, self.source = thing, variables, source


Formula: TypeAlias = expression.Expression | PythonFunction

MOST_OFFERED = 12
"""Names of a kind that an error lists."""

_IN_A_FILE = re.compile(r"(?P<path>.+\.py)(?::(?P<name>.*))?\Z")


class _File:
    """A file that has been run, and the name that is looked for in it. Raises UsageError where
    there is none, or where it cannot be run.
    """

    def __init__(self, match: re.Match[str]) -> None:
        self.path, self.name = Path(match["path"]), match["name"] or ""
        if not self.path.is_file():
            raise UsageError(f"there is no file {self.path}")
        module = _module(self.path)
        self.module, self.variables = module.__name__, vars(module)

    def named(self, graphs: bool) -> Any:
        """What the name stands for. Raises UsageError, with an offer, where the file does not
        have it. graphs: as for `offer`.
        """
        if not self.name:
            raise UsageError(
                f"name what is meant in {self.path}: {self.path}:NAME; {self.offer(graphs)}"
            )
        if self.name not in self.variables:
            raise UsageError(f"{self.path} defines no {self.name}; {self.offer(graphs)}")
        return self.variables[self.name]

    def kind(self, value: Any) -> str:
        """What a value is to the commands: "functions" (the file's own, no imported ones),
        "modules", "tensors", "programs" or "".
        """
        # where that is not loaded, nothing of it exists
        program = sys.modules.get("minigrad.program")
        if isinstance(value, Module):
            return "modules"
        if isinstance(value, Tensor):
            return "tensors"
        if program is not None and isinstance(value, program.Program):
            return "programs"
        compiled = program is not None and isinstance(value, program.Compiled)
        own = (inspect.isfunction(value) or compiled) and getattr(
            value, "__module__", None
        ) == self.module
        return "functions" if own or isinstance(value, functools.partial) else ""

    def offer(self, graphs: bool) -> str:
        """What the file has that would do, the name nearest to the wrong one first. graphs: what
        has a graph uncalled will do too.
        """
        kinds: dict[str, list[str]] = {}
        for name, value in self.variables.items():
            kind = "" if name.startswith("_") else self.kind(value)
            if kind and (graphs or kind in ("functions", "modules")):
                kinds.setdefault(kind, []).append(name)
        if not kinds:
            return f"it defines no function or module{', tensor or Program' if graphs else ''}"

        def likeness(name: str) -> float:
            return difflib.SequenceMatcher(None, self.name.lower(), name.lower()).ratio()

        kinds = {kind: sorted(names, key=likeness, reverse=True) for kind, names in kinds.items()}
        kinds = dict(sorted(kinds.items(), key=lambda item: likeness(item[1][0]), reverse=True))
        nearest = next(iter(kinds.values()))[0]
        return (f"did you mean {nearest}? " if likeness(nearest) >= 0.6 else "") + "; ".join(
            map(_listed, kinds, kinds.values())
        )


def _listed(kind: str, names: list[str]) -> str:
    more = f" and {len(names) - MOST_OFFERED} more" if len(names) > MOST_OFFERED else ""
    listed = f"{', '.join(names[:MOST_OFFERED])}{more}"
    return f"its only {kind[:-1]} is {listed}" if len(names) == 1 else f"its {kind} are {listed}"


def target(word: str) -> Formula:
    """The formula that a word spells, or the function that it names. A file named so is run: it is
    the user's own.

    Raises UsageError (no such file, no such function, a function with arguments that no value can
    be given for) and expression.ExpressionError.
    """
    match = _IN_A_FILE.match(word.strip())
    return _function(_File(match), graphs=False) if match else expression.compile(word)


def drawing_target(word: str) -> Formula | Drawable:
    """As :func:`target`, but what has a graph without being called will do too."""
    match = _IN_A_FILE.match(word.strip())
    if not match:
        return expression.compile(word)
    file = _File(match)
    found = file.named(graphs=True)
    return (
        Drawable(found, file.variables, file.name)
        if file.kind(found) in ("tensors", "programs")
        else _function(file, graphs=True)
    )


def _function(file: _File, graphs: bool) -> PythonFunction:
    found, path, name = file.named(graphs), file.path, file.name
    if (
        isinstance(found, type)
        or not callable(found)
        or file.kind(found) in ("tensors", "programs")
    ):
        kind = "class" if isinstance(found, type) else type(found).__name__
        raise UsageError(
            f"{name} in {path} is a {kind}, not a function of tensors; {file.offer(graphs)}"
        )
    call = getattr(found, "forward", found)  # a module's own arguments stand at its forward
    parameters = inspect.signature(call).parameters.values()
    names = tuple(
        p.name
        for p in parameters
        if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) and p.default is p.empty
    )
    if any(p.kind is p.KEYWORD_ONLY and p.default is p.empty for p in parameters):
        raise UsageError(
            f"{name} in {path} has arguments that can be given by name only, for which there is no"
            " way here"
        )
    return PythonFunction(found, names, name, path)


def _module(path: Path) -> Any:
    name = f"_minigrad_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None  # the name ends in .py
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    # it may import what lies beside it, as when it is run itself
    sys.path.insert(0, str(path.resolve().parent))
    try:
        spec.loader.exec_module(module)
    except Exception as error:  # whatever the user's file raises is theirs to correct
        lines = [
            f.lineno
            for f in traceback.extract_tb(error.__traceback__)
            if Path(f.filename).resolve() == path.resolve()
        ]
        # a SyntaxError, whose text says it, has no frame in the file
        line = f", line {lines[-1]}" if lines else ""
        raise UsageError(f"{path} cannot be run: {type(error).__name__}: {error}{line}") from error
    finally:
        sys.path.pop(0)
    return module
