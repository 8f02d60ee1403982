"""Results in the form that Gradescope reads, and a zip with which Gradescope grades by itself.

Gradescope expects of an autograder a zip with `setup.sh` (run once, to build the machine) and
`run_autograder` (run for each submission), which writes /autograder/results/results.json (the
"Autograder specifications" of its documentation). The same function writes that file here for
submissions that were graded on a machine of yours.
"""

from __future__ import annotations

import importlib
import io
import json
import os
import shutil
import sys
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from .. import submissions, submitted_notebooks
from ..grade_tables import worth_of
from ..grades import Graded
from ..journal import Record
from ..one_submission import sheet_at
from ..run import Options, grade, sheet_file
from ..sandbox import SandboxError
from ..sheet import Sheet
from .site import markdown_text, slugs

PACKAGES = ("minigrad", "minigrad.lessons", "minigrad.viz")
"""What the zip carries of this project, laid out as an installed wheel: it need not be installed
there.
"""
LEFT_OUT = {"__pycache__", "node_modules", "viz", "lessons"}
"""Folders that are not a package's own part of the zip; an installed `minigrad` holds the other
two packages.
"""

SETUP = """\
#!/usr/bin/env bash
# Builds the machine on which submissions are graded: Python 3.11 or later, and NumPy.
set -e
apt-get update
apt-get install -y --no-install-recommends python3 python3-venv bubblewrap
python3 -m venv /autograder/environment
/autograder/environment/bin/pip install "numpy>=2.0"
"""
RUN = """\
#!/usr/bin/env bash
# Grades what lies in /autograder/submission. Students' code runs locked in; \
where the machine cannot do that, no submission is graded
# (or set MINIGRAD_TRUST_STUDENTS=1 here: \
then nothing keeps a submission from reading the sheet's solutions).
cd /autograder/source
exec /autograder/environment/bin/python -m minigrad.lessons.grading.results.gradescope \
sheet/SHEET_NAME \
 /autograder/submission /autograder/results/results.json
"""


def results(result: Graded, sheet: Sheet) -> dict[str, Any]:
    """A student's results.json: one test for each group of points and for each item that a person
    graded. What hidden groups say is shown after the due date.
    """
    told = [
        markdown_text(note) for note in (result.record["problem"], result.record["note"]) if note
    ]
    return {
        "score": result.points,
        "max_score": sheet.max_points,
        "output": "\n\n".join(told),
        "output_format": "md",
        "visibility": "visible",
        "stdout_visibility": "hidden",
        "tests": list(_tests(result, sheet)),
        "extra_data": extra(result.record, result),
    }


def _tests(result: Graded, sheet: Sheet) -> Iterator[dict[str, Any]]:
    """The tests, whose points add up to the student's: those of a person stand for the grader's."""
    for item, mark in result.marks.items():
        yield {
            "name": f"{item}, graded by a person",
            "number": item,
            "score": mark.points,
            "max_score": worth_of(sheet)[item],
            "output": markdown_text(mark.comment),
            "output_format": "md",
            "visibility": "visible",
        }
    for j in result.judgements:
        hidden = sheet[j.exercise].hidden
        lost = next((group.name for group in j.groups if group.right < group.total), "")
        for group in j.groups:
            text = [markdown_text(group.say)]
            if group.name == lost and j.misconception:
                text.append(markdown_text(j.misconception["say"]))
            points = {"score": group.points, "max_score": group.max}
            yield {
                "name": f"{j.title}: {group.name}",
                "number": j.exercise,
                **(points if j.exercise not in result.marks else {}),
                "status": "passed" if group.right == group.total else "failed",
                "output": "\n\n".join(text),
                "output_format": "md",
                "visibility": "after_due_date" if group.name in hidden else "visible",
            }
    if not result.judgements:
        for exercise in sheet.exercises:
            yield {
                "name": exercise.title or exercise.name,
                "score": 0.0,
                "max_score": exercise.max_points,
                "status": "failed",
            }


def extra(record: Record, result: Graded) -> dict[str, Any]:
    """For the instructor, whom alone Gradescope shows it: nothing by which a submission's cases
    could be found out.
    """
    named = {j.exercise: j.misconception["name"] for j in result.judgements if j.misconception}
    return {
        "isolation": record.get("level", ""),
        "sha256": record["sha256"],
        "misconceptions": named,
        "flags": record.get("flags", []),
        "cpu_seconds": record.get("cpu_s", 0.0),
    }


def write(folder: Path, found: Sequence[Graded], sheet: Sheet, sheet_path: Path) -> list[Path]:
    """results.json for each student, in a folder of their own, and autograder.zip beside them."""
    written = []
    for result, slug in zip(found, slugs([r.student for r in found]), strict=True):
        path = folder / slug / "results.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(results(result, sheet), indent=1) + "\n", encoding="utf-8")
        written.append(path)
    path = folder / "autograder.zip"
    path.write_bytes(autograder(sheet, sheet_path))
    return [*written, path]


def autograder(sheet: Sheet, sheet_path: Path) -> bytes:
    """The zip for Gradescope: the two scripts, the sheet with what lies beside it, and this
    project's packages.
    """
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        _add(archive, "setup.sh", SETUP.encode(), 0o755)
        _add(archive, "run_autograder", RUN.replace("SHEET_NAME", sheet_path.name).encode(), 0o755)
        home = sheet_path.parent
        needed = {sheet_path, home / "sheet.py", *_drives(sheet)}
        if sheet_path.suffix == ".py":
            needed |= {
                p
                for p in home.iterdir()
                if p.suffix in (".py", ".ipynb", ".csv", ".json", ".txt", ".npz")
            }
        for path in sorted(path for path in needed if path.is_file()):
            _add(archive, f"sheet/{path.relative_to(home).as_posix()}", path.read_bytes(), 0o644)
        for package in PACKAGES:
            folder = Path(str(importlib.import_module(package).__file__)).parent
            for path in sorted(folder.rglob("*")):
                if (
                    path.is_file()
                    and not LEFT_OUT.intersection(path.relative_to(folder).parts)
                    and path.suffix != ".so"
                ):
                    _add(
                        archive,
                        f"{package.replace('.', '/')}/{path.relative_to(folder).as_posix()}",
                        path.read_bytes(),
                        0o644,
                    )
    return file.getvalue()


def _drives(sheet: Sheet) -> set[Path]:
    """The modules beside a sheet.py in which its drives are."""
    named = ((e.home, e.drive.partition(":")[0]) for e in sheet.exercises if e.home and e.drive)
    return {Path(home, *module.split(".")).with_suffix(".py") for home, module in named}


def _add(archive: zipfile.ZipFile, name: str, data: bytes, mode: int) -> None:
    """An entry that is the same whenever it is made."""
    entry = zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0))
    entry.external_attr = (0o100000 | mode) << 16
    entry.compress_type = zipfile.ZIP_DEFLATED
    archive.writestr(entry, data)


def main(sheet_path: str, submission: str, out: str, trust: str = "") -> int:
    """What run_autograder does. A machine on which nothing can be locked in gives no points and
    says so to the instructor.
    """
    with tempfile.TemporaryDirectory() as work:
        submitted = Path(work) / "submitted"
        _copy(Path(submission), submitted / "student")
        try:
            least = "process" if trust == "1" else "confined"
            report = grade(
                Path(sheet_path), submitted, Path(work) / "out", Options(least=least, jobs=1)
            )
            said = results(report.results[0], sheet_at(str(sheet_file(Path(sheet_path)))))
        except SandboxError as error:
            said = {
                "output": (
                    f"No submission was graded: this machine cannot lock submissions in ({error})."
                    " Please tell your instructor."
                ),
                "score": 0.0,
            }
    Path(out).parent.mkdir(parents=True, exist_ok=True)
    Path(out).write_text(json.dumps(said, indent=1) + "\n", encoding="utf-8")
    return 0


def _copy(submission: Path, folder: Path) -> None:
    """Copies what the grader looks at; of a file that is too large, its name and its size."""
    folder.mkdir(parents=True)
    for file in submissions.ordinary_files(submission):
        target = folder / file.relative_to(submission)
        target.parent.mkdir(parents=True, exist_ok=True)
        if (size := file.lstat().st_size) <= submitted_notebooks.FILE_BYTES:
            shutil.copy2(file, target)
        else:
            target.touch()
            os.truncate(target, size)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:4], os.environ.get("MINIGRAD_TRUST_STUDENTS", "")))
