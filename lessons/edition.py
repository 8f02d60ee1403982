"""Two editions of a notebook: the instructor's, which the repository holds, and the student's, which is made from it.

After reading this file you know what a student does not get. Lines between `### BEGIN SOLUTION` and `### END SOLUTION` become a stub
(inside a function) or go away (at a cell's left margin, where a line such as `answer = ...` stands before them). Lines between
`### BEGIN HIDDEN TESTS` and `### END HIDDEN TESTS` go away, and so do cells with the tag "instructor" and all outputs. Cells that
nbgrader calls locked cannot be edited. The markers and the metadata are nbgrader's: its own tools work on the instructor's edition too.
"""

from __future__ import annotations

import copy
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
    """The student's edition of a notebook (a dict as in its JSON, or nbformat's); the argument stays as it is.

    Raises EditionError where a marker has no partner: a solution must not get out because of a typing slip.
    """
    edition = copy.deepcopy(notebook)
    edition["cells"] = [cell for cell in edition["cells"] if "instructor" not in cell["metadata"].get("tags", [])]
    for cell in edition["cells"]:
        lines = isinstance(cell["source"], list)
        source = without_solutions("".join(cell["source"]) if lines else cell["source"], cell.get("id", "?"))
        cell["source"] = source.splitlines(keepends=True) if lines else source
        if cell["cell_type"] == "code":
            cell["outputs"], cell["execution_count"] = [], None
        if cell["metadata"].get("nbgrader", {}).get("locked"):
            cell["metadata"] |= {"editable": False, "deletable": False}
    return edition


def student_file(path: Path) -> bytes:
    """What a student gets of a file of the course: of a notebook the student's edition, of any other file its content."""
    content = path.read_bytes()
    if path.suffix != ".ipynb":
        return content
    edition = student_edition(json.loads(content))
    return (json.dumps(edition, ensure_ascii=False, indent=1, sort_keys=True) + "\n").encode()


def without_solutions(source: str, where: str) -> str:
    """A cell's source with each solution replaced by a stub of the same indentation, and without hidden tests."""
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
            raise EditionError(f"cell {where!r}: {line.strip()!r} has no partner; each BEGIN needs its END.")
        open_ = None if end else kind
        if not end and kind == "SOLUTION" and indent:
            kept.append(indent + STUB)
    if open_ is not None:
        raise EditionError(f"cell {where!r}: BEGIN {open_} has no END.")
    return "\n".join(kept).rstrip("\n")
