"""A page for each student, as HTML and as Markdown, and an index for the instructor.

The pages of a class are named by the student's name as far as a file system takes it, and never two
alike. Every file needs nothing beside it, so it can be sent to the one whom it concerns; the index
is for the instructor alone.
"""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Sequence
from pathlib import Path

from .. import pages
from ..grades import Graded
from ..judge import Judgement
from ..sheet import Sheet


def write(
    folder: Path, found: Sequence[Graded], sheet: Sheet, hints: bool = True, language: str = "en"
) -> list[Path]:
    """<student>.html and <student>.md for each, index.html and index.md. language: of the students'
    pages, as in `pages.student_html`.
    """
    folder.mkdir(parents=True, exist_ok=True)
    written, names = [], slugs([result.student for result in found])
    for result, name in zip(found, names, strict=True):
        for ending, make in (("html", pages.student_html), ("md", pages.student_markdown)):
            path = folder / f"{name}.{ending}"
            path.write_text(
                make(
                    result.student,
                    sheet.title,
                    result.judgements,
                    notes=notes(result),
                    hints=hints,
                    language=language,
                ),
                encoding="utf-8",
            )
            written.append(path)
    for ending, text in (
        ("html", index_html(found, names, sheet)),
        ("md", index_markdown(found, names, sheet)),
    ):
        path = folder / f"index.{ending}"
        path.write_text(text, encoding="utf-8")
        written.append(path)
    return written


NOT_THERE = "is not there when"
"""In what is said of a cell that used what is taken away for grading: the lessons' own cells do,
and no student is to blame for it.
"""


def notes(result: Graded) -> list[str]:
    """What stands above everything on a student's page: why nothing was run, which file counts,
    cells that did not come through.
    """
    record = result.record
    told = [record["problem"], record["note"]]
    if not all(j.full for j in result.judgements):  # no failed cells if all is right
        told += [
            f"In {cell}: {error[:200]}"
            for cell, error in record.get("cells", {}).items()
            if NOT_THERE not in error
        ][:3]
    told += [
        f"{item}, graded by a person: {mark.points:g} points. {mark.comment}".strip()
        for item, mark in result.marks.items()
    ]
    if result.marks:
        told.append(f"With what a person graded: {result.points:g} points in all.")
    told += [result.whose, result.late]
    return [text for text in told if text]


def slugs(students: Sequence[str]) -> list[str]:
    """A file's name for each student: letters, digits, dots and hyphens; no two alike, not even
    where capitals do not count. A name that can be a file's stays with the student who has it.
    """
    plain = [re.sub(r"[^\w.-]+", "-", unicodedata.normalize("NFKC", s)) for s in students]
    bases = [name.strip("-.")[:60] or "student" for name in plain]
    found = [""] * len(bases)
    taken = {"index"}
    for place in sorted(range(len(bases)), key=lambda place: bases[place] != students[place]):
        name, number = bases[place], 2
        while name.casefold() in taken:
            name, number = f"{bases[place]}-{number}", number + 1
        taken.add(name.casefold())
        found[place] = name
    return found


INDEX_STYLE = """
td.points, th.points { text-align: right; white-space: nowrap; padding-right: 1.5rem; }
tbody th { font-weight: 400; white-space: nowrap; }
thead th.points { vertical-align: bottom; white-space: normal; }
main { width: fit-content; min-width: min(20rem, 100%); box-sizing: border-box;
  max-width: 100%; }
tr th:first-child { position: sticky; left: 0; background: var(--paper); }
tr .points:last-child { padding-right: 0; }
@media (max-width: 40rem) { td.points, th.points { padding-right: .8rem; } }
"""


def _by_name(student: str) -> list[str | int]:
    """What students are sorted by: É stands at E, and student 2 before student 10."""
    parts = re.split(r"(\d+)", unicodedata.normalize("NFKD", student).casefold())
    return [int(part) if i % 2 else part for i, part in enumerate(parts)]


def _sorted(found: Sequence[Graded], names: Sequence[str]) -> list[tuple[Graded, str]]:
    """The results, each with the name of its files, by the students' names."""
    return sorted(zip(found, names, strict=True), key=lambda both: _by_name(both[0].student))


def index_html(found: Sequence[Graded], names: Sequence[str], sheet: Sheet) -> str:
    """A table of the class with a link to each page. Only for the instructor: all points
    are on it.
    """
    worth = [("points", sheet.max_points), *((e.name, e.max_points) for e in sheet.exercises)]
    heads = ["student", *(f"{name} (of\N{NO-BREAK SPACE}{most:g})" for name, most in worth)]
    rows = []
    for result, name in _sorted(found, names):
        judged = {j.exercise: j for j in result.judgements}
        cells = [_points_cell(judged.get(e.name)) for e in sheet.exercises]
        link = f'<a href="{html.escape(name)}.html">{html.escape(result.student)}</a>'
        rows.append((link, f"<strong>{result.points:g}</strong>", *cells))
    told = _waiting([result for result, _ in _sorted(found, names)])
    body = (
        f"<style>{INDEX_STYLE}</style><main><h1>{html.escape(sheet.title)}</h1>{told}"
        '<p class="soft">○ not begun, ✗ not yet right, – not read</p>'
        f"{pages.wide('points', pages.table(heads, rows, points=range(1, len(heads))))}</main>"
    )
    return pages.document(f"{sheet.title}: all students", body)


def _points_cell(j: Judgement | None) -> str:
    """The points of an exercise, and whether it is not begun or not right yet."""
    if j is None:
        return "–"
    if j.full or j.points >= j.max:
        return f"{j.points:g}"
    return f"✗ {j.points:g}" if j.started or j.points else "○"


def _waiting(found: Sequence[Graded]) -> str:
    """Who has begun nothing, or has handed in nothing that could be read."""
    waiting = [r.student for r in found if r.waiting]
    unread = [r.student for r in found if not r.judgements]
    return "".join(
        f"<p>{sign} {len(who)} of {len(found)} {what}: {html.escape(', '.join(who))}</p>"
        for sign, who, what in (
            ("○", waiting, "have not begun"),
            ("–", unread, "could not be read"),
        )
        if who
    )


def index_markdown(found: Sequence[Graded], names: Sequence[str], sheet: Sheet) -> str:
    """The feedback as a table in Markdown."""
    lines = [f"# {markdown_text(sheet.title)}", "", "| student | points | page |", "|---|---|---|"]
    for result, name in _sorted(found, names):
        lines.append(
            f"| {markdown_text(result.student)} | {result.points:g} of {sheet.max_points:g} |"
            f" [{name}.md](<{name}.md>) |"
        )
    return "\n".join(lines) + "\n"


def markdown_text(text: str) -> str:
    """Text that means nothing in Markdown."""
    return pages.plain_markdown(text)
