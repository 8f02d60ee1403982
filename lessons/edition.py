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
loses what says which answers are right.
"""

from __future__ import annotations

import ast
import copy
import hashlib
import json
import re
from pathlib import Path
from typing import Any

STUB = "...  # your code here"
MARKER = re.compile(r"^(\s*)#+\s*(BEGIN|END) (SOLUTION|HIDDEN TESTS)\s*$")

Notebook = dict[str, Any]


class EditionError(ValueError):
    """A notebook whose solution markers do not pair up; the message names the cell."""


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
    """What a student gets of a file of the course: of a notebook and of a sheet.py the student's
    edition, of any other file its content.
    """
    content = path.read_bytes()
    if path.name == "sheet.py":
        return public_sheet(content.decode()).encode()
    if path.suffix != ".ipynb":
        return content
    edition = student_edition(json.loads(content))
    return (json.dumps(edition, ensure_ascii=False, indent=1, sort_keys=True) + "\n").encode()


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


def public_sheet(source: str) -> str:
    """A sheet.py without what says which answers are right: functions decorated with `.answer` or
    `.accept`, and marked regions.

    What they alone used stays, unless it stands between the markers of a solution or of hidden
    tests. Raises EditionError for a source that is not Python, or that calls `.answer(…)` or
    `.accept(…)` otherwise than as a decorator: then it cannot be told what would remain.
    """
    kept = without_solutions(source, "sheet.py")
    try:
        tree = ast.parse(kept)
    except SyntaxError as error:
        raise EditionError(f"sheet.py, line {error.lineno}: {error.msg}.") from None
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
            and node.attr in ("answer", "accept")
            and id(node) not in decorators
        ):
            raise EditionError(
                f"sheet.py, line {node.lineno}: use .{node.attr} as a decorator, so that it can be"
                " taken out for students."
            )
    return (
        "\n".join(line for number, line in enumerate(lines, 1) if number not in gone).rstrip("\n")
        + "\n"
    )


def _says_what_is_right(decorator: ast.expr) -> bool:
    called = decorator.func if isinstance(decorator, ast.Call) else decorator
    return isinstance(called, ast.Attribute) and called.attr in ("answer", "accept")
