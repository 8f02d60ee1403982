"""A sheet: a notebook with exercises (its cells: sheet_cells.py, its module: sheet_modules.py, and
whether it is fit to grade with: sheet_report.py).

There are two ways to write one. A lesson names the module of its exercises in its notebook's
metadata ({"minigrad": {"exercises": "minigrad.lessons.exercises.lesson02"}}); an instructor puts a
`sheet.py` beside the notebook. In the notebook the cells carry nbgrader's metadata: solution cells
with markers, and locked check cells that say `check("name", …)` and are worth what the exercise is
worth.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

from .exercise import Exercise, SheetError
from .sheet_cells import answers_in, asked_in, check_cells, ids_of, nbgrader_of, source_of
from .sheet_modules import (
    check_harness_file,
    exercises_of,
    given_by,
    imported,
    module_of,
    notebook_beside,
    read_notebook,
)


@dataclass(frozen=True)
class Sheet:
    """name: the notebook's file name without its ending; exercises: in the notebook's order;
    notebook: the instructor's edition, as JSON (None where there is only a module); check_ids: ids
    and grade_ids of its check cells; solution_ids: those of its solution cells;
    hash: of everything that grades depend on; folder: where it lies; module: the dotted name or the
    path of its exercises; packages: those beyond NumPy and minigrad that submissions may import;
    files: the instructor's, which submissions find beside themselves, by their names from there;
    manual: the cells that a person grades, with the entries of each one's rubric.
    """

    name: str
    exercises: tuple[Exercise, ...]
    notebook: dict[str, Any] | None
    check_ids: frozenset[str]
    solution_ids: frozenset[str]
    hash: str
    folder: Path
    module: str
    path: Path | None = None
    packages: tuple[str, ...] = ()
    files: dict[str, Path] = field(default_factory=dict)
    manual: dict[str, dict[str, float]] = field(default_factory=dict)

    @property
    def max_points(self) -> float:
        """What the whole sheet is worth."""
        by_hand = sum(sum(entries.values()) for entries in self.manual.values())
        return sum(e.max_points for e in self.exercises) + by_hand

    @property
    def title(self) -> str:
        """What people call it: the notebook's first heading, or else its name."""
        text = next(
            (
                source_of(c)
                for c in (self.notebook or {"cells": []})["cells"]
                if c["cell_type"] == "markdown"
            ),
            "",
        )
        heading = next((line[2:].strip() for line in text.split("\n") if line.startswith("# ")), "")
        return heading or self.name

    def __getitem__(self, name: str) -> Exercise:
        return next(e for e in self.exercises if e.name == name)


def load_sheet(path: str | Path) -> Sheet:
    """The sheet of a notebook, of a `sheet.py`, or of a folder that holds one of them.

    Raises:
        SheetError: it cannot be used to grade; the message says what is wrong where.
        FileNotFoundError: there is no such file.
    """
    path = Path(path)
    if path.is_dir():
        candidates = (
            [path / "sheet.py"] if (path / "sheet.py").is_file() else sorted(path.glob("*.ipynb"))
        )
        if len(candidates) != 1:
            raise SheetError(
                f"{path}: expected a sheet.py or one notebook, found {len(candidates)} notebooks."
                " Name the file."
            )
        path = candidates[0]
    if not path.is_file():
        raise FileNotFoundError(f"there is no sheet {path}")
    module = module_of(path) if path.suffix == ".py" else None
    notebook_path = notebook_beside(path, module) if module is not None else path
    notebook = read_notebook(notebook_path) if notebook_path is not None else None
    if module is None:
        assert notebook is not None
        named = (notebook.get("metadata", {}).get("minigrad") or {}).get("exercises")
        if named:
            module = imported(str(named), path)
        elif (path.parent / "sheet.py").is_file():
            module = module_of(path.parent / "sheet.py")
        else:
            raise SheetError(
                f'{path}: its metadata name no module of exercises ("minigrad": {{"exercises":'
                " …}), and no sheet.py lies beside it."
            )
    found = exercises_of(module)
    cells = check_cells(notebook) if notebook is not None else []
    ordered = _matched(found, cells, path) if notebook is not None else list(found.values())
    for exercise in ordered:
        check_harness_file(exercise, path)
        if not exercise.has_answer:
            raise SheetError(
                f"exercise {exercise.name!r}: it has neither answer nor accept. Give one of"
                " them, so that an answer can be judged."
            )
    source = Path(str(module.__file__)).read_bytes()
    allowed, given = given_by(module)
    solutions = [c for c in (notebook or {"cells": []})["cells"] if nbgrader_of(c).get("solution")]
    return Sheet(
        (notebook_path or path).stem,
        tuple(ordered),
        notebook,
        frozenset(i for cell in cells for i in ids_of(cell)),
        frozenset(i for cell in solutions for i in ids_of(cell)),
        _hash(source + b"".join(file.read_bytes() for file in given.values()), notebook),
        path.parent,
        module.__name__ if path.suffix != ".py" else str(path),
        notebook_path,
        allowed,
        given,
        _manual_cells(notebook, module) if notebook is not None else {},
    )


def _manual_cells(notebook: dict[str, Any], module: ModuleType) -> dict[str, dict[str, float]]:
    """The cells that nbgrader calls manually graded: both solution and grade. A RUBRIC of the
    sheet.py divides their points: {"proof": {"idea": 2, "details": 3}}.
    """
    rubric, found = dict(getattr(module, "RUBRIC", {})), {}
    for cell in notebook["cells"]:
        meta = nbgrader_of(cell)
        if not (meta.get("grade") and meta.get("solution")):
            continue
        name, points = str(meta.get("grade_id")), float(meta.get("points") or 0)
        entries = {str(key): float(value) for key, value in rubric.pop(name, {"": points}).items()}
        if abs(sum(entries.values()) - points) > 1e-9:
            raise SheetError(
                f"{module.__file__}: the RUBRIC of {name!r} is worth"
                f" {sum(entries.values()):g} points, but its cell {points:g}."
            )
        found[name] = entries
    if rubric:
        raise SheetError(
            f"{module.__file__}: RUBRIC names {next(iter(rubric))!r}, which is no manually graded"
            " cell of the notebook."
        )
    return found


def _matched(found: dict[str, Exercise], cells: list[dict[str, Any]], path: Path) -> list[Exercise]:
    ordered: list[Exercise] = []
    for cell in cells:
        name = asked_in(source_of(cell))
        where = f"{path}: cell {cell.get('id')!r}"
        if name is None:
            raise SheetError(f'{where} is worth points, but calls no check("name", …).')
        if name not in found:
            raise SheetError(
                f"{where} checks {name!r}, which is no exercise of this sheet; there are"
                f" {', '.join(found)}."
            )
        if found[name] in ordered:
            raise SheetError(f"{where} checks {name!r} a second time.")
        meta = nbgrader_of(cell)
        if meta and meta.get("points") != found[name].max_points:
            raise SheetError(
                f"{where} is worth {meta.get('points')} points by its metadata, but the exercise"
                f" {found[name].max_points:g}."
            )
        handed = answers_in(source_of(cell))
        if handed != found[name].answers:
            wanted = ", ".join(found[name].answers)
            raise SheetError(
                f"{where} checks {name!r} with {', '.join(handed) or 'nothing'}, but the exercise"
                f" asks for {wanted}."
            )
        ordered.append(found[name])
    if left := [name for name in found if found[name] not in ordered]:
        raise SheetError(f"{path}: no cell checks the exercise {left[0]!r}.")
    return ordered


def _hash(source: bytes, notebook: dict[str, Any] | None) -> str:
    """Of the exercises' source and the notebook's cells; outputs do not count."""
    cells = [
        [c.get("id"), c["cell_type"], source_of(c)] for c in (notebook or {"cells": []})["cells"]
    ]
    return hashlib.sha256(
        source + b"\0" + json.dumps(cells, ensure_ascii=False).encode("utf-8", "replace")
    ).hexdigest()
