"""A notebook that was handed in, read although anything may be in it.

Nothing here runs anything or imports a notebook library: a notebook is JSON, and JSON from a
stranger. What is wrong with it becomes one sentence, which the student gets to read.
"""

from __future__ import annotations

import errno
import io
import json
import os
import re
import stat
import threading
from pathlib import Path
from typing import Any, Protocol

from .exercise import Exercise
from .protocol import clean

FILE_BYTES = 200 << 20
"""The largest notebook that is read. Outputs make honest notebooks large: what counts is the
next limit.
"""
SOURCE_CHARACTERS = 2_000_000
"""All cells' sources together, when outputs have been dropped."""
CELLS = 5_000
NOT_ORDINARY = "What was handed in is no ordinary file."
LISTS, VALUES = 3_000_000, 30_000_000
"""So many opening brackets, and so many commas, a notebook may hold: three characters can take
sixty bytes when they are read.
"""

_one_at_a_time = threading.Lock()
"""For large files: a notebook of 200 MB needs several times as much memory while it is read."""


class SubmissionError(ValueError):
    """A submission that cannot be run; the text is for the student."""


class RecognisableSheet(Protocol):
    """What must be known of a sheet to recognise a submission (sheet.Sheet has it)."""

    name: str
    check_ids: frozenset[str]
    solution_ids: frozenset[str]
    notebook: dict[str, Any] | None
    exercises: tuple[Exercise, ...]


def open_ordinary(path: Path) -> io.BufferedReader:
    """A file, opened for reading. It is looked at when it is open, so that it cannot be replaced
    meanwhile.

    Raises SubmissionError for a link, a pipe, a device; OSError.
    """
    if path.is_symlink():  # Windows has no O_NOFOLLOW
        raise SubmissionError(NOT_ORDINARY)
    try:
        descriptor = os.open(
            path,
            os.O_RDONLY
            | getattr(os, "O_NOFOLLOW", 0)
            | getattr(os, "O_NONBLOCK", 0)
            | getattr(os, "O_BINARY", 0),
        )
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise SubmissionError(NOT_ORDINARY) from None
        raise
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise SubmissionError(NOT_ORDINARY)
    return os.fdopen(descriptor, "rb")


def load(path: Path) -> Any:
    """A notebook's JSON. Raises SubmissionError with a sentence for the student."""
    try:
        with open_ordinary(path) as file:
            data = file.read(FILE_BYTES + 1)
    except OSError as error:
        raise SubmissionError(f"The file cannot be read ({error.strerror}).") from None
    if len(data) > FILE_BYTES:
        raise SubmissionError(
            f"The file has more than {FILE_BYTES >> 20} MB. Clear the outputs (Kernel, Restart and"
            " Clear Outputs) and save."
        )
    if len(data) > 20 << 20:
        with _one_at_a_time:
            return _parse(data)
    return _parse(data)


def _parse(data: bytes) -> Any:
    if not data.strip():
        raise SubmissionError(
            "The file is empty. Save the notebook again and look whether it opens in Jupyter."
        )
    if data.count(b"[") + data.count(b"{") > LISTS or data.count(b",") > VALUES:
        raise SubmissionError(
            "The file holds too many values for a notebook. Clear the outputs (Kernel, Restart and"
            " Clear Outputs) and save."
        )
    encoding = "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    text = data.decode(encoding, "replace")
    if re.search(r"^(<{7}|>{7}) ", text, re.MULTILINE) and re.search(r"^={7}$", text, re.MULTILINE):
        raise SubmissionError(
            "The file holds the conflict markers of git (<<<<<<<). Resolve the conflict and save"
            " the notebook again."
        )
    try:
        return json.loads(text, parse_int=lambda digits: int(digits) if len(digits) < 20 else 0)
    except RecursionError:
        raise SubmissionError("The file is nested too deep to be a notebook.") from None
    except (ValueError, MemoryError):
        raise SubmissionError(
            "The file is not a notebook: it is not valid JSON. Does it open in Jupyter?"
        ) from None


def cells_of(notebook: Any) -> list[dict[str, Any]]:
    """The cells of a notebook's JSON, without those that are no cells. Raises SubmissionError."""
    cells = notebook.get("cells") if isinstance(notebook, dict) else None
    if (
        cells is None
        and isinstance(notebook, dict)
        and isinstance(notebook.get("worksheets"), list)
    ):  # Jupyter's format of 2014
        sheets = [sheet for sheet in notebook["worksheets"] if isinstance(sheet, dict)]
        cells = [
            cell
            for sheet in sheets
            if isinstance(sheet.get("cells"), list)
            for cell in sheet["cells"]
        ]
    if not isinstance(cells, list):
        raise SubmissionError(
            "The file is not a notebook: it has no list of cells. Does it open in Jupyter?"
        )
    if len(cells) > CELLS:
        raise SubmissionError(f"The notebook has more than {CELLS:,} cells.")
    return [cell for cell in cells if isinstance(cell, dict)]


def source_of(cell: dict[str, Any]) -> str:
    """A cell's text, whatever form it has; "" where it has none."""
    source = cell.get("source", cell.get("input", ""))
    if isinstance(source, list):
        source = "".join(part for part in source if isinstance(part, str))
    return clean(source) if isinstance(source, str) else ""


def ids_of(cell: dict[str, Any]) -> set[str]:
    """A cell's id and nbgrader's."""
    metadata = cell.get("metadata")
    nbgrader = metadata.get("nbgrader") if isinstance(metadata, dict) else None
    found = [cell.get("id"), nbgrader.get("grade_id") if isinstance(nbgrader, dict) else None]
    return {i for i in found if isinstance(i, str) and i}


def code_cells(notebook: Any, sheet: RecognisableSheet) -> list[tuple[str, str]]:
    """What is run of a notebook, in order: (name such as "cell 3", source).

    A solution cell counts as code even if it has become text; what is text in the sheet, such as a
    proof that a person grades, does not. The sheet's check cells are left out, unless the student
    has written something else into them. Copied and split cells simply run in their order. Raises
    SubmissionError.
    """
    own = (sheet.notebook or {}).get("cells", [])
    checks = {source_of(cell).strip() for cell in own if ids_of(cell) & sheet.check_ids}
    texts = {i for cell in own if cell["cell_type"] != "code" for i in ids_of(cell)}
    solutions = sheet.solution_ids - texts
    found = []
    for number, cell in enumerate(cells_of(notebook), 1):
        ids, source = ids_of(cell), source_of(cell)
        if (cell.get("cell_type") != "code" and not ids & solutions) or not source.strip():
            continue
        if ids & sheet.check_ids and source.strip() in checks:
            continue
        found.append((f"cell {number}", source))
    if sum(len(source) for _, source in found) > SOURCE_CHARACTERS:
        raise SubmissionError(
            f"The notebook holds more than {SOURCE_CHARACTERS:,} characters of code."
        )
    return found
