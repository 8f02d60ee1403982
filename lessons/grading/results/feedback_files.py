"""Feedback handed back in bulk: the zips that Moodle and Canvas take, and nbgrader's folder.

Moodle ("Upload multiple feedback files in a zip") and Canvas ("Upload submissions") know whose a
file is by the beginning of its name, which is that of the file they gave out. nbgrader keeps a
folder for each student and sheet.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from .. import pages
from ..grades import Graded
from ..sheet import Sheet
from .site import notes, slugs

TAKEN_BACK = {
    "moodle": re.compile(r".+_\d+_assignsubmission_[a-z]+"),
    "canvas": re.compile(r".*_\d+"),
}
"""What a file's name must begin with. Canvas asks for the number of a file that was handed in: what
was typed into it has none.
"""


def page(result: Graded, sheet: Sheet, language: str = "en") -> str:
    """A student's page of feedback."""
    return pages.student_html(
        result.student, sheet.title, result.judgements, notes=notes(result), language=language
    )


def write_zip(
    path: Path, system: str, found: Sequence[Graded], sheet: Sheet, language: str = "en"
) -> list[str]:
    """A zip with a page for each student of one learning system; returns those who sent no file
    through it and are not in it.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    left_out = []
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for result in found:
            lms = result.record["lms"]
            if system not in lms or not _taken_back(system, lms):
                left_out.append(result.student)
                continue
            name = f"{lms['prefix']}_{slugs([sheet.name])[0]}-feedback.html"
            archive.writestr(name, page(result, sheet, language))
    return left_out


def _taken_back(system: str, lms: Mapping[str, str]) -> bool:
    prefix, number = lms.get("prefix", ""), lms[system]
    return bool(TAKEN_BACK[system].fullmatch(prefix)) and not prefix.endswith(f"_{number}")


def write_folders(
    folder: Path, found: Sequence[Graded], sheet: Sheet, language: str = "en"
) -> list[Path]:
    """nbgrader's feedback folder: STUDENT/SHEET/SHEET.html."""
    written = []
    for result, slug in zip(found, slugs([r.student for r in found]), strict=True):
        path = folder / slug / sheet.name / f"{sheet.name}.html"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(page(result, sheet, language), encoding="utf-8")
        written.append(path)
    return written
