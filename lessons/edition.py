"""Two editions of a notebook: the instructor's, which the repository holds, and the student's,
which is made from it.

A student does not get the solutions. Lines between `### BEGIN SOLUTION` and `### END SOLUTION`
become a stub (inside a function) or go away (at a cell's left margin, where a line such as `answer
= ...` stands before them). Lines between `### BEGIN HIDDEN TESTS` and `### END HIDDEN TESTS` go
away, and so do cells with the tag "instructor" and all outputs. Cells that nbgrader calls locked
cannot be edited. The markers and the metadata are nbgrader's (schema version 3): its own tools work
on the instructor's edition, and take the student's as if they had made it, for each cell that
nbgrader knows has its checksum.

Of a `sheet.py`, the exercises of an instructor's own, the student's edition keeps the cases and
loses what says which answers are right. So does that of every other module of exercises. What the
rest needs of the files beside it (modules that it imports, drives, FILES) belongs to the edition.
"""

from __future__ import annotations

import ast
import copy
import hashlib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

STUB = "...  # your code here"
MARKER = re.compile(r"^(\s*)#+\s*(BEGIN|END) (SOLUTION|HIDDEN TESTS)\s*$")

Notebook = dict[str, Any]


class EditionError(ValueError):
    """A notebook whose solution markers do not pair up, or a file that is none; the message names
    the cell or the file.
    """


def student_edition(notebook: Notebook) -> Notebook:
    """The student's edition of a notebook (a dict as in its JSON, or nbformat's); the argument
    stays as it is.

    Raises EditionError where a marker has no partner: a solution must not get out because of a
    typing slip.
    """
    edition = copy.deepcopy(notebook)
    edition["cells"] = [
        cell for cell in edition["cells"] if "instructor" not in cell["metadata"].get("tags", [])
    ]
    for cell in edition["cells"]:
        lines = isinstance(cell["source"], list)
        source = without_solutions(
            "".join(cell["source"]) if lines else cell["source"], cell.get("id", "?")
        )
        cell["source"] = source.splitlines(keepends=True) if lines else source
        if cell["cell_type"] == "code":
            cell["outputs"], cell["execution_count"] = [], None
        if cell["metadata"].get("nbgrader", {}).get("locked"):
            cell["metadata"] |= {"editable": False, "deletable": False}
        if cell["metadata"].get("nbgrader"):
            cell["metadata"]["nbgrader"] |= {
                "checksum": checksum(cell),
                "cell_type": cell["cell_type"],
            }
    return edition


def checksum(cell: dict[str, Any]) -> str:
    """nbgrader's checksum of a cell: MD5 of its source, type, role, grade_id and points. By it
    nbgrader tells that a cell was changed.
    """
    meta = cell["metadata"]["nbgrader"]
    grade, solution = bool(meta.get("grade")), bool(meta.get("solution"))
    locked = False if solution else True if grade else bool(meta.get("locked"))
    source = cell["source"] if isinstance(cell["source"], str) else "".join(cell["source"])
    parts = [
        source,
        cell["cell_type"],
        str(grade),
        str(solution),
        str(locked),
        str(meta["grade_id"]),
    ]
    if grade:
        parts.append(str(float(meta["points"])))
    return hashlib.md5("".join(parts).encode(), usedforsecurity=False).hexdigest()


def student_file(path: Path) -> bytes:
    """What a student gets of a file of the course: of a notebook and of a module of exercises the
    student's edition, of any other module its text without what is between markers, of any other
    file its content.
    """
    content = path.read_bytes()
    if path.suffix == ".py":
        return _public_module(content, path.name)
    if path.suffix != ".ipynb":
        return content
    edition = student_edition(notebook(path))
    return (json.dumps(edition, ensure_ascii=False, indent=1, sort_keys=True) + "\n").encode()


def notebook(path: Path) -> Notebook:
    """What a notebook's file holds. Raises EditionError where that is no notebook."""
    try:
        found = json.loads(path.read_bytes())
    except ValueError:  # no JSON, or no UTF-8
        found = None
    if not isinstance(found, dict) or not isinstance(found.get("cells"), list):
        raise EditionError(f"{path.name} is no notebook. Does it open in Jupyter?")
    return found


def without_solutions(source: str, where: str) -> str:
    """A cell's source with each solution replaced by a stub of the same indentation, and without
    hidden tests.
    """
    kept: list[str] = []
    open_: str | None = None
    for line in source.split("\n"):
        marker = MARKER.match(line)
        if marker is None:
            if open_ is None:
                kept.append(line)
            continue
        indent, end, kind = marker[1], marker[2] == "END", marker[3]
        if end != (open_ is not None) or (end and kind != open_):
            raise EditionError(
                f"cell {where!r}: {line.strip()!r} has no partner; each BEGIN needs its END."
            )
        open_ = None if end else kind
        if not end and kind == "SOLUTION" and indent:
            kept.append(indent + STUB)
    if open_ is not None:
        raise EditionError(f"cell {where!r}: BEGIN {open_} has no END.")
    return "\n".join(kept).rstrip("\n")


def _public_module(content: bytes, name: str) -> bytes:
    source = content.decode()
    if name == "sheet.py" or GRADING.search(source):
        return public_sheet(source, name).encode()
    if any(MARKER.match(line) for line in source.split("\n")):
        return (without_solutions(source, name) + "\n").encode()
    return content


GRADING = re.compile(r"^\s*(?:from|import)\s+minigrad\.lessons\.grading\b", re.MULTILINE)
"""A module that imports the grader declares exercises, or what they are made of."""


def public_sheet(source: str, name: str = "sheet.py") -> str:
    """A sheet.py without what says which answers are right: functions decorated with `.answer`,
    `.accept` or `.accept_all`, marked regions, and imports that nothing else used.

    What else they used stays, unless it stands between the markers of a solution or of hidden
    tests. Raises EditionError for a source that is not Python, or that calls `.answer(…)`,
    `.accept(…)` or `.accept_all(…)` otherwise than as a decorator: then it cannot be told what
    would remain.
    """
    tree, kept = _parsed(source, name), without_solutions(source, name)
    used = _names_in(tree)
    tree = _parsed(kept, name)
    lines, gone = kept.split("\n"), set[int]()
    decorators: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and any(
            _says_what_is_right(d) for d in node.decorator_list
        ):
            decorators.update(id(inner) for d in node.decorator_list for inner in ast.walk(d))
            start = min(d.lineno for d in node.decorator_list)
            assert node.end_lineno is not None
            gone.update(range(start, node.end_lineno + 1))
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Attribute)
            and node.attr in SAY_WHAT_IS_RIGHT
            and id(node) not in decorators
        ):
            raise EditionError(
                f"{name}, line {node.lineno}: use .{node.attr} as a decorator, so that it can be"
                " taken out for students."
            )
    text = "\n".join(line for number, line in enumerate(lines, 1) if number not in gone)
    return _without_imports(text, used, name).rstrip("\n") + "\n"


SAY_WHAT_IS_RIGHT = ("answer", "accept", "accept_all")


def _says_what_is_right(decorator: ast.expr) -> bool:
    called = decorator.func if isinstance(decorator, ast.Call) else decorator
    return isinstance(called, ast.Attribute) and called.attr in SAY_WHAT_IS_RIGHT


def _parsed(source: str, name: str) -> ast.Module:
    try:
        return ast.parse(source)
    except SyntaxError as error:
        raise EditionError(f"{name}, line {error.lineno}: {error.msg}.") from None


def _names_in(tree: ast.AST) -> set[str]:
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}


def _without_imports(source: str, used: set[str], name: str) -> str:
    """A module without the imports whose names it does not use, though the whole one did (used)."""
    tree = _parsed(source, name)
    lines, gone = source.split("\n"), used - _names_in(tree)
    for node in reversed(tree.body):
        if isinstance(node, ast.Import | ast.ImportFrom) and all(
            (alias.asname or alias.name.partition(".")[0]) in gone for alias in node.names
        ):
            del lines[node.lineno - 1 : node.end_lineno]
    return "\n".join(lines)


def needed_beside(sheet: Path) -> list[Path]:
    """What the student's edition of a module of exercises needs of the files that lie beside it:
    the modules that it imports and those of drives, directly or not, and its FILES. As paths
    relative to its folder.

    Only the text is read. Raises EditionError where a FILES is no plain list of names, or names
    what is not there.
    """
    home, modules, todo = sheet.parent, dict[Path, None](), [sheet]
    while todo:
        path = todo.pop(0)
        tree = _parsed(student_file(path).decode(), path.name)
        package = path.relative_to(home).with_suffix("").parts[:-1]
        for name in _modules_named(tree, package):
            for file in _files_of(home, name):
                if file != sheet and file not in modules:
                    modules[file] = None
                    todo.append(file)
    given = _given(_parsed(sheet.read_text(encoding="utf-8"), sheet.name), sheet)
    found = [*modules, *(file for file in given if file not in modules)]
    return [file.relative_to(home) for file in found]


DRIVE = re.compile(r"([A-Za-z_][\w.]*):\w+")


def _modules_named(tree: ast.Module, package: tuple[str, ...]) -> Iterator[str]:
    """Dotted names that may be modules: of imports (package: where relative ones begin), and of
    texts that look like a drive.
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) + 1 - node.level] if node.level else ()
            base = ".".join([*above, *([node.module] if node.module else [])])
            yield from ([base] if base else [])
            yield from (f"{base}.{alias.name}".lstrip(".") for alias in node.names)
        elif (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and (match := DRIVE.fullmatch(node.value))
        ):
            yield match[1]


def _files_of(home: Path, module: str) -> Iterator[Path]:
    """The files in a folder that importing a dotted name reads."""
    parts = module.split(".")
    for count in range(1, len(parts) + 1):
        path = home.joinpath(*parts[:count])
        yield from (f for f in (path / "__init__.py", path.with_suffix(".py")) if f.is_file())


def _given(tree: ast.Module, sheet: Path) -> list[Path]:
    for node in tree.body:
        if isinstance(node, ast.Assign) and any(
            isinstance(target, ast.Name) and target.id == "FILES" for target in node.targets
        ):
            try:
                names = [str(name) for name in ast.literal_eval(node.value)]
            except (ValueError, TypeError):
                raise EditionError(
                    f"{sheet.name}, line {node.lineno}: write FILES as a list of names, so that it"
                    " is known what students get."
                ) from None
            inner = [file for name in names for file in _ordinary(sheet, name)]
            return [file for file in inner if file != sheet]
    return []


def _ordinary(sheet: Path, name: str) -> list[Path]:
    path = sheet.parent / name
    if not path.exists() or not path.resolve().is_relative_to(sheet.parent.resolve()):
        raise EditionError(
            f"{sheet.name}: FILES names {name!r}, but no such file or folder lies beside it."
        )
    return [path] if path.is_file() else sorted(p for p in path.rglob("*") if p.is_file())
