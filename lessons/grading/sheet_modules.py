"""The module of a sheet's exercises: where it is, and what it holds."""

from __future__ import annotations

import ast
import hashlib
import importlib
import importlib.util
import json
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from . import packages
from .exercise import Exercise, SheetError

OWN = "minigrad_sheet_"
"""With this begin the names of the modules that were made of a sheet.py."""


def given_by(module: ModuleType) -> tuple[tuple[str, ...], dict[str, Path]]:
    """What a sheet.py gives to submissions: its PACKAGES, and its FILES by their names.

    A name in FILES is a file beside the sheet, or a folder, which stands for all files in it.
    Raises SheetError.
    """
    allowed, listed = getattr(module, "PACKAGES", ()), getattr(module, "FILES", ())
    home = Path(str(module.__file__)).parent
    for what, names in (("PACKAGES", allowed), ("FILES", listed)):
        if isinstance(names, str) or not all(isinstance(name, str) for name in names):
            raise SheetError(f"{module.__file__}: {what} must be a list of names, not {names!r}.")
    packages.files_of(allowed)
    found: dict[str, Path] = {}
    for name in listed:
        path = home / name
        if not path.exists() or not path.resolve().is_relative_to(home.resolve()):
            raise SheetError(
                f"{module.__file__}: FILES names {name!r}, but no such file or folder lies beside"
                " the sheet."
            )
        inner = [path] if path.is_file() else sorted(p for p in path.rglob("*") if p.is_file())
        found |= {file.relative_to(home).as_posix(): file for file in inner}
    if hidden := {"sheet.py", Path(str(module.__file__)).name} & set(found):
        raise SheetError(
            f"{module.__file__}: FILES must not give {hidden.pop()} to students: it holds the"
            " answers."
        )
    return tuple(sorted(set(allowed))), found


def exercises_of(module: ModuleType) -> dict[str, Exercise]:
    """The exercises of a module by name: its EXERCISES if it has them, else every Exercise among
    its names, in their order.
    """
    listed = getattr(module, "EXERCISES", None)
    listed = (
        listed.values()
        if isinstance(listed, dict)
        else vars(module).values()
        if listed is None
        else listed
    )
    found: dict[str, Exercise] = {}
    where = module.__file__ if module.__name__.startswith(OWN) else module.__name__
    for e in listed:
        if isinstance(e, Exercise) and found.setdefault(e.name, e) is not e:
            raise SheetError(f"{where}: two exercises are called {e.name!r}.")
        if isinstance(e, Exercise) and module.__name__.startswith(OWN):
            e.home = str(Path(str(module.__file__)).parent)
    if not found:
        raise SheetError(f"{where}: there is no exercise in it.")
    return found


def module_for(path: Path, notebook: dict[str, Any]) -> tuple[dict[str, Exercise], ModuleType]:
    """The exercises of a student's notebook, by name, and their module: the one that its metadata
    name, or the sheet.py beside it. Raises SheetError.
    """
    metadata = notebook.get("metadata")
    own = metadata.get("minigrad") if isinstance(metadata, dict) else None
    named = own.get("exercises") if isinstance(own, dict) else None
    if isinstance(named, str) and named.startswith("minigrad.lessons.exercises."):
        module = imported(named, path)
    elif (path.parent / "sheet.py").is_file():
        module = module_of(path.parent / "sheet.py")
    else:
        raise SheetError(
            "no sheet is known for it: it is no notebook of the course, and no sheet.py lies"
            " beside it. Put it into the folder in which you got it."
        )
    return exercises_of(module), module


def imported(name: str, path: Path) -> ModuleType:
    """The module that a lesson's notebook names. Raises SheetError."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise SheetError(
            f"{path}: its metadata name the module of exercises {name!r}, which cannot be imported:"
            f" {error}."
        ) from error


def check_harness_file(exercise: Exercise, path: Path) -> None:
    """Raise SheetError unless the harness file can be run: its faults must not look like those
    of students.
    """
    code = exercise.drive_code()
    if code is None:
        return
    what = f"{path}: exercise {exercise.name!r}: the drive {exercise.drive!r}"
    try:
        tree = ast.parse(code[0])
    except SyntaxError as error:
        raise SheetError(f"{what} is no Python (line {error.lineno}: {error.msg}).") from None
    if code[1] not in {name for node in tree.body for name in _defined(node)}:
        raise SheetError(f"{what} is not found: its module defines no {code[1]}.")


def _defined(node: ast.stmt) -> Iterator[str]:
    if isinstance(node, ast.FunctionDef):
        yield node.name
    elif isinstance(node, ast.Assign | ast.ImportFrom | ast.Import):
        yield from (n.id for n in ast.walk(node) if isinstance(n, ast.Name))
        yield from (n.asname or n.name for n in ast.walk(node) if isinstance(n, ast.alias))


def public_exercises(path: Path) -> dict[str, Exercise]:
    """The exercises of a sheet.py, in the student's edition too, which has no answers; read again
    when the file changes."""
    return exercises_of(_read_module(path, path.stat().st_mtime_ns))


@cache
def _read_module(path: Path, changed: int) -> ModuleType:
    return module_of(path)


def module_of(path: Path) -> ModuleType:
    """The module made of a sheet.py. Raises SheetError."""
    name = OWN + hashlib.sha256(str(path.resolve()).encode()).hexdigest()[:12]
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    home = path.resolve().parent
    sys.path.insert(0, str(home))  # it may import what lies beside it
    for other in [m for m, where in _beside.items() if where != home and _lies_in(home, m)]:
        # a sheet of another folder has a module of that name too
        sys.modules.pop(other, None)
        del _beside[other]
    before = set(sys.modules)
    try:
        spec.loader.exec_module(module)
    except SheetError:
        raise
    except Exception as error:
        raise SheetError(f"{path}: importing it raised {type(error).__name__}: {error}") from error
    finally:
        sys.path.remove(str(home))
        new = [m for m in set(sys.modules) - before if _lies_in(home, m)]
        _beside.update(dict.fromkeys(new, home))
    return module


_beside: dict[str, Path] = {}
"""Modules that a sheet.py imported from its own folder, and that folder."""


def _lies_in(home: Path, module: str) -> bool:
    first = home / module.partition(".")[0]
    return first.with_suffix(".py").is_file() or (first / "__init__.py").is_file()


def notebook_beside(path: Path, module: ModuleType) -> Path | None:
    """The notebook of a sheet.py: the one that it names, or the only one beside it."""
    named = getattr(module, "NOTEBOOK", None)
    if named is not None:
        if not (path.parent / named).is_file():
            raise SheetError(f"{path}: NOTEBOOK names {named!r}, which does not lie beside it.")
        return path.parent / str(named)
    if path.with_suffix(".ipynb").is_file():
        return path.with_suffix(".ipynb")
    candidates = sorted(path.parent.glob("*.ipynb"))
    if len(candidates) > 1:
        raise SheetError(
            f"{path}: {len(candidates)} notebooks lie beside it; say which one with NOTEBOOK = …"
        )
    return candidates[0] if candidates else None


def read_notebook(path: Path) -> dict[str, Any]:
    """A notebook as data. Raises SheetError."""
    try:
        notebook = json.loads(path.read_text(encoding="utf-8"))
        assert isinstance(notebook["cells"], list)
    except ValueError:
        raise SheetError(f"{path}: not a notebook: it is not valid JSON.") from None
    except (KeyError, TypeError, AssertionError):
        raise SheetError(f"{path}: not a notebook: it has no list of cells.") from None
    return dict(notebook)
