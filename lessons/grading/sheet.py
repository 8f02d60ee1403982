"""A sheet: a notebook with exercises, and how to tell before grading whether it is fit to grade
with.

There are two ways to write one. A lesson names the module of its exercises in its notebook's
metadata ({"minigrad": {"exercises": "minigrad.lessons.exercises.lesson02"}}); an instructor puts a
`sheet.py` beside the notebook. In the notebook the cells carry nbgrader's metadata: solution cells
with markers, and locked check cells that say `check("name", …)` and are worth what the exercise is
worth. `own_solution` runs the instructor's notebook and judges it; `missed_mistakes` lets the
classic mistakes through the cases and tells which of them would get full points.
"""

from __future__ import annotations

import ast
import contextlib
import hashlib
import importlib
import importlib.util
import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from . import cheap_answers, packages
from .comparison import as_plain
from .exercise import Exercise, Returned, SheetError
from .judge import Judgement, item_of, judge, verdict_on
from .local import run_cases, run_notebook

OWN = "minigrad_sheet_"
"""With this begin the names of the modules that were made of a sheet.py."""
CHECKS = ("check", "predict")
"""The functions that a check cell calls, with the exercise's name first."""


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
                _source(c)
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
    module = _module_of(path) if path.suffix == ".py" else None
    notebook_path = _notebook_beside(path, module) if module is not None else path
    notebook = _read(notebook_path) if notebook_path is not None else None
    if module is None:
        assert notebook is not None
        named = (notebook.get("metadata", {}).get("minigrad") or {}).get("exercises")
        if named:
            module = _imported(str(named), path)
        elif (path.parent / "sheet.py").is_file():
            module = _module_of(path.parent / "sheet.py")
        else:
            raise SheetError(
                f'{path}: its metadata name no module of exercises ("minigrad": {{"exercises":'
                " …}), and no sheet.py lies beside it."
            )
    found = exercises_of(module)
    cells = _check_cells(notebook) if notebook is not None else []
    ordered = _matched(found, cells, path) if notebook is not None else list(found.values())
    for exercise in ordered:
        _check_drive(exercise, path)
        if not exercise.has_answer:
            raise SheetError(
                f"exercise {exercise.name!r}: it has neither answer nor accept. Give one of"
                " them, so that an answer can be judged."
            )
    source = Path(str(module.__file__)).read_bytes()
    allowed, given = given_by(module)
    solutions = [c for c in (notebook or {"cells": []})["cells"] if _nbgrader(c).get("solution")]
    return Sheet(
        (notebook_path or path).stem,
        tuple(ordered),
        notebook,
        frozenset(i for cell in cells for i in _ids(cell)),
        frozenset(i for cell in solutions for i in _ids(cell)),
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
        meta = _nbgrader(cell)
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
        module = _imported(named, path)
    elif (path.parent / "sheet.py").is_file():
        module = _module_of(path.parent / "sheet.py")
    else:
        raise SheetError(
            "no sheet is known for it: it is no notebook of the course, and no sheet.py lies"
            " beside it. Put it into the folder in which you got it."
        )
    return exercises_of(module), module


def _imported(name: str, path: Path) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise SheetError(
            f"{path}: its metadata name the module of exercises {name!r}, which cannot be imported:"
            f" {error}."
        ) from error


def _check_drive(exercise: Exercise, path: Path) -> None:
    """That the drive is there and can be run: what is wrong with it must not look like a fault
    of the students'.
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
    return _module_of(path)


def _module_of(path: Path) -> ModuleType:
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


def _notebook_beside(path: Path, module: ModuleType) -> Path | None:
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


def _read(path: Path) -> dict[str, Any]:
    try:
        notebook = json.loads(path.read_text(encoding="utf-8"))
        assert isinstance(notebook["cells"], list)
    except ValueError:
        raise SheetError(f"{path}: not a notebook: it is not valid JSON.") from None
    except (KeyError, TypeError, AssertionError):
        raise SheetError(f"{path}: not a notebook: it has no list of cells.") from None
    return dict(notebook)


def _source(cell: dict[str, Any]) -> str:
    return cell["source"] if isinstance(cell["source"], str) else "".join(cell["source"])


def _nbgrader(cell: dict[str, Any]) -> dict[str, Any]:
    return dict(cell.get("metadata", {}).get("nbgrader") or {})


def _ids(cell: dict[str, Any]) -> list[str]:
    return [i for i in (cell.get("id"), _nbgrader(cell).get("grade_id")) if i]


def _call_in(source: str) -> ast.Call | None:
    """The call of check or predict in a cell, with a text as its first argument; None if there
    is none.
    """
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return None
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id in CHECKS
            and node.args
        ):
            first = node.args[0]
            if isinstance(first, ast.Constant) and isinstance(first.value, str):
                return node
    return None


def asked_in(source: str) -> str | None:
    """The exercise that a cell checks: the first argument of its call of check or predict; None
    if it checks none.
    """
    call = _call_in(source)
    return None if call is None else str(call.args[0].value)  # type: ignore[attr-defined]


def _answers_in(source: str) -> tuple[str, ...]:
    """The names that a cell hands to its check."""
    call = _call_in(source)
    return () if call is None else tuple(a.id for a in call.args[1:] if isinstance(a, ast.Name))


def _check_cells(notebook: dict[str, Any]) -> list[dict[str, Any]]:
    """Locked cells that nbgrader grades, and cells that call check all the same."""
    return [
        cell
        for cell in notebook["cells"]
        if cell["cell_type"] == "code"
        and (
            (_nbgrader(cell).get("grade") and not _nbgrader(cell).get("solution"))
            or asked_in(_source(cell))
        )
    ]


def _matched(found: dict[str, Exercise], cells: list[dict[str, Any]], path: Path) -> list[Exercise]:
    ordered: list[Exercise] = []
    for cell in cells:
        name = asked_in(_source(cell))
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
        meta = _nbgrader(cell)
        if meta and meta.get("points") != found[name].max_points:
            raise SheetError(
                f"{where} is worth {meta.get('points')} points by its metadata, but the exercise"
                f" {found[name].max_points:g}."
            )
        handed = _answers_in(_source(cell))
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
        [c.get("id"), c["cell_type"], _source(c)] for c in (notebook or {"cells": []})["cells"]
    ]
    return hashlib.sha256(
        source + b"\0" + json.dumps(cells, ensure_ascii=False).encode("utf-8", "replace")
    ).hexdigest()


# ----------------------------------------------------------------------------- fit to grade with it


@dataclass
class Report:
    """What `examine` found. own: judgements of the sheet's own solution; missed: exercise -> names
    of classic mistakes that would get full points; caught: exercise -> how many are found out;
    paid: exercise -> what its best answer without any work gets.
    """

    sheet: str
    own: list[Judgement]
    problems: list[str] = field(default_factory=list)
    missed: dict[str, list[str]] = field(default_factory=dict)
    caught: dict[str, int] = field(default_factory=dict)
    paid: dict[str, cheap_answers.Paid] = field(default_factory=dict)

    @property
    def ok(self) -> bool:
        """Whether the sheet's own solution gets all its points."""
        return not self.problems and all(j.full for j in self.own)

    @property
    def exit_code(self) -> int:
        """0: fit; 2: the sheet itself is wrong. Mistakes that slip through are told, but do not
        forbid to grade.
        """
        return 0 if self.ok else 2

    def __str__(self) -> str:
        lines = [f"sheet {self.sheet}"]
        lines += [f"  ✗ {problem}" for problem in self.problems]
        for j in self.own:
            lines.append(
                f"  {'✓' if j.full else '✗'} {j.exercise}: its own solution gets {j.points:g} of"
                f" {j.max:g} points"
            )
            lines += [f"      {g.name}: {g.say}" for g in j.groups if g.right < g.total]
            if j.exercise in self.caught:
                missed = self.missed.get(j.exercise, [])
                total = self.caught[j.exercise] + len(missed)
                lines.append(
                    f"      {self.caught[j.exercise]} of {total} classic mistakes are caught"
                )
                lines += [f"      your tests miss: {name}" for name in missed]
            if (paid := self.paid.get(j.exercise)) and paid.points:
                groups = ", ".join(paid.groups)
                lines.append(
                    f"      without work: {paid.points:g} of {j.max:g} points for {paid.answer}"
                    f" ({groups})"
                )
        if self.paid:
            cheap = sum(paid.points for paid in self.paid.values())
            most = sum(j.max for j in self.own)
            lines.append(f"  answers without work get {cheap:g} of {most:g} points")
        lines.append(
            "  ready to grade with" if self.ok else "  not fit to grade with: mend the sheet first"
        )
        return "\n".join(lines)


def own_solution(sheet: Sheet, seed: int = 0, seconds: float = 120.0) -> list[Judgement]:
    """The sheet's own solution, run in this process and judged as a submission is: every exercise
    should get all its points.

    Of a sheet without a notebook the exercises' own answers are judged, where they have such.
    Raises SheetError where a cell fails.
    """
    if sheet.notebook is None:
        return [_own_answers(e, seed) for e in sheet.exercises if e.has_one_answer]
    try:
        scope = run_notebook(sheet.notebook, sheet.check_ids)
    except RuntimeError as error:
        raise SheetError(f"sheet {sheet.name}: its own notebook does not run: {error}") from error
    return [_judged(exercise, scope, seed, seconds) for exercise in sheet.exercises]


def _own_answers(exercise: Exercise, seed: int) -> Judgement:
    cases = exercise.cases(seed)
    return judge(exercise, cases, [Returned(as_plain(exercise.expected(case))) for case in cases])


def _judged(exercise: Exercise, scope: dict[str, Any], seed: int, seconds: float) -> Judgement:
    cases = exercise.cases(seed)
    return judge(
        exercise,
        cases,
        run_cases(exercise, cases, {name: scope.get(name) for name in exercise.answers}, seconds),
    )


def missed_mistakes(exercise: Exercise, seed: int = 0) -> tuple[list[str], int]:
    """(the classic mistakes that get all points on the exercise's cases, the number of those that
    do not).

    A mistake that gives the right value in every case that the exercise could ask is no mistake
    there and cannot be told apart: an exercise lists only those that concern it.
    """
    cases, missed, caught = exercise.cases(seed), [], 0
    verdict = verdict_on(exercise, cases)  # no diagnosis, no picture: only verdicts count here
    for mistake in exercise.misconceptions:
        returned, concerned = [], []
        for case in cases:
            try:
                wrong = mistake.wrong(case)
                concerned.append(wrong is not None)
                returned.append(Returned(as_plain(wrong)))
            except (ArithmeticError, ValueError, KeyError, TypeError, IndexError):
                concerned.append(True)
                returned.append(Returned(error="the mistake ends in an exception.", kind="raised"))
        if all(
            item_of(exercise, case, back, verdict).right
            for case, back, counts in zip(cases, returned, concerned, strict=True)
            if counts
        ):
            missed.append(mistake.name)
        else:
            caught += 1
    return missed, caught


def examine(sheet: Sheet, seed: int = 0) -> Report:
    """The sheet's own solution first, then the classic mistakes and what takes no work."""
    report = Report(sheet.name, [])
    try:
        report.own = own_solution(sheet, seed)
    except SheetError as error:
        report.problems.append(str(error))
        return report
    for exercise in sheet.exercises:
        with contextlib.suppress(SheetError):  # it is told below, or by its own solution
            report.paid[exercise.name] = cheap_answers.best(exercise, seed)
        if exercise.misconceptions:
            try:
                report.missed[exercise.name], report.caught[exercise.name] = missed_mistakes(
                    exercise, seed
                )
            except SheetError as error:
                report.problems.append(str(error))
    return report
