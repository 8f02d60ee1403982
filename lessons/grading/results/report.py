"""The class: where it went wrong, for how many, and what a person should look at.

The report says what an instructor needs between grading and the next lecture: for each exercise how
many have it, which classic mistake was made by how many, and which group of cases was lost most.
Then what changes no grade but asks for a look: submissions that could not be read, things noticed
while they ran, the slowest, and pairs whose code has the same structure.
"""

from __future__ import annotations

import html
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from minigrad.lessons.edition import EditionError, student_edition

from .. import pages, submitted_notebooks
from ..grades import Graded
from ..journal import JOURNAL, Record, last_submissions
from ..sheet import Sheet
from .similarity import Passage, SimilarPair, evidence, similar

SLOWEST = 10
SHOWN = 50
"""Of so many pairs the parts that are alike are shown."""
NAMES = 12
"""So many students are named for a mistake; the rest is counted."""


@dataclass
class ExerciseReport:
    """An exercise in the class. full, some, none: how many have all points, a part of them, no
    points though they have begun; waiting: who has not begun; groups: (name, how many have it);
    mistakes: (name of the misconception, students).
    """

    name: str
    title: str
    max: float
    mean: float
    full: int
    some: int
    none: int
    waiting: list[str]
    groups: list[tuple[str, int]] = field(default_factory=list)
    mistakes: list[tuple[str, list[str]]] = field(default_factory=list)


@dataclass
class ClassReport:
    """All of it. waiting: who has begun no exercise; looks: (student, why a person should look);
    slowest: (student, CPU seconds, the exercise with the longest call); copies: students who
    handed in one and the same file.
    """

    sheet: str
    max: float
    points: list[float]
    exercises: list[ExerciseReport]
    waiting: list[str]
    looks: list[tuple[str, str]]
    slowest: list[tuple[str, float, str]]
    pairs: list[SimilarPair]
    unread: list[str]
    passages: dict[tuple[str, str], list[Passage]] = field(default_factory=dict)
    copies: list[list[str]] = field(default_factory=list)


def class_report(
    found: Sequence[Graded], sheet: Sheet, earlier: Sequence[Path] = ()
) -> ClassReport:
    """The report on a class. It reads the submissions' files for their structure, where they are
    still there, and runs none of them. earlier: results folders of other years, whose submissions
    this year's are compared with.
    """
    programs, unread = _programs([r.record for r in found], sheet)
    older: dict[str, str] = {}
    digests = {r.student: r.record["sha256"] for r in found if r.points > 0}
    for folder in earlier:
        records = last_submissions(folder / JOURNAL)
        its, missing = _programs(records.values(), sheet)
        older |= {f"{folder}: {student}": source for student, source in its.items()}
        digests |= {f"{folder}: {student}": r["sha256"] for student, r in records.items()}
        unread += [f"{folder}: {student}" for student in missing]
    everybody, starter = programs | older, _starter(sheet)
    pairs = similar(everybody, starter, earlier=older)
    return ClassReport(
        sheet.title,
        sheet.max_points,
        [result.points for result in found],
        [
            _exercise(name, found)
            for name in (e.name for e in sheet.exercises)
            if any(r.judgements for r in found)
        ],
        [r.student for r in found if r.waiting],
        [(r.student, why) for r in found for why in r.noticed],
        _slowest(found),
        pairs,
        unread,
        {
            (p.first, p.second): evidence(everybody[p.first], everybody[p.second], starter)
            for p in pairs[:SHOWN]
        },
        _copies(digests, {r.student for r in found}),
    )


def _copies(digests: Mapping[str, str], these: set[str]) -> list[list[str]]:
    """Who handed in one and the same file, as far as one of `these` did."""
    of_digest: dict[str, list[str]] = {}
    for student, digest in digests.items():
        of_digest.setdefault(digest, []).append(student)
    return [
        names
        for digest, names in of_digest.items()
        if digest and len(names) > 1 and these & {*names}
    ]


def _exercise(name: str, found: Sequence[Graded]) -> ExerciseReport:
    judged = [
        (r.student, next(j for j in r.judgements if j.exercise == name))
        for r in found
        if r.judgements
    ]
    first = judged[0][1]
    mistakes: dict[str, list[str]] = {}
    for student, j in judged:
        if j.misconception:
            mistakes.setdefault(j.misconception["name"], []).append(student)
    groups = Counter(g.name for _, j in judged for g in j.groups if g.total and g.right == g.total)
    return ExerciseReport(
        name,
        first.title,
        first.max,
        sum(j.points for _, j in judged) / len(judged),
        sum(j.full for _, j in judged),
        sum(not j.full and j.points > 0 for _, j in judged),
        sum(j.started and j.points == 0 and not j.full for _, j in judged),
        [student for student, j in judged if not (j.started or j.full or j.points > 0)],
        [(g.name, groups[g.name]) for g in first.groups],
        sorted(mistakes.items(), key=lambda item: (-len(item[1]), item[0])),
    )


def _slowest(found: Sequence[Graded]) -> list[tuple[str, float, str]]:
    timed = sorted(
        (r for r in found if r.judgements), key=lambda r: (-r.record["cpu_s"], r.student)
    )[:SLOWEST]
    return [
        (r.student, r.record["cpu_s"], max(r.judgements, key=lambda j: j.slowest_s).exercise)
        for r in timed
    ]


def _programs(records: Iterable[Record], sheet: Sheet) -> tuple[dict[str, str], list[str]]:
    """Each student's code, without magics; and who has none here any more."""
    programs, unread = {}, []
    for record in records:
        path = Path(record["file"]) if record["file"] else None
        if path is None or record["problem"]:
            continue
        try:
            cells = submitted_notebooks.code_cells(submitted_notebooks.load(path), sheet)
            programs[record["student"]] = _joined(cells)
        except (submitted_notebooks.SubmissionError, OSError):
            unread.append(record["student"])
    return programs, unread


def _starter(sheet: Sheet) -> str:
    """What all students were given: the students' edition of the notebook."""
    if sheet.notebook is None:
        return ""
    try:
        given = student_edition(json.loads(json.dumps(sheet.notebook)))
    except EditionError:
        given = sheet.notebook
    return _joined(submitted_notebooks.code_cells(given, sheet))


def _joined(cells: Sequence[tuple[str, str]]) -> str:
    lines = [
        line if not line.lstrip().startswith(("%", "!")) else ""
        for _, source in cells
        for line in [*source.splitlines(), ""]
    ]
    return "\n".join(lines)


# --------------------------------------------------------------------------------------------- HTML

STYLE = """
.bar { display: flex; height: 1rem; border: 1px solid var(--line); border-radius: .2rem;
  overflow: hidden; margin: .4rem 0; }
.bar span { display: block; } .bar .f { background: var(--right); }
.bar .n { background: var(--wrong); }
.bar .s { background: repeating-linear-gradient(45deg, var(--right) 0 3px, var(--paper) 3px 7px); }
td.points, th.points { text-align: right; padding-right: 1.5rem; }
table { width: auto; min-width: min(20rem, 100%); }
@media (max-width: 40rem) { thead th, thead th.points { white-space: normal; }
  tbody th { min-width: 4rem; }
  td.points, th.points { padding-right: .8rem; } }
section { border-left-color: var(--line); } section > p, section > h2 { margin: 0; }
h2 { margin-top: 1.6rem; }
.tables { display: flex; flex-wrap: wrap; gap: 0 3rem; align-items: start; }
.tables > * { min-width: 0; } td { overflow-wrap: break-word; }
svg { max-width: 100%; height: auto; }
.both { display: grid; grid-template-columns: 1fr 1fr; gap: 1rem; }
.both pre { background: var(--tint); margin: 0; padding: .5rem; overflow-x: auto; }
.column { fill: var(--right); } .axis { stroke: var(--line); }
.label { fill: var(--soft); font: 12px system-ui, "DejaVu Sans", sans-serif; }
"""


def report_html(report: ClassReport) -> str:
    """The report as one page that needs nothing beside it. It names students: it is for the
    instructor.
    """
    parts = [
        f"<style>{STYLE}{_widths()}</style>",
        f"<h1>{html.escape(report.sheet)}: the class</h1>",
        _summary(report),
    ]
    parts += [_look_html(report), _pairs_html(report), "<h2>The exercises</h2>"]
    parts += [_exercise_html(e) for e in report.exercises]
    parts.append(_slowest_html(report))
    return pages.document(f"{report.sheet}: the class", f"<main>{''.join(parts)}</main>")


def _widths() -> str:
    """A class for each per cent: the pages' policy forbids styles that stand in an element."""
    return "".join(f".w{n} {{ width: {n}%; }}\n" for n in range(101))


def _summary(report: ClassReport) -> str:
    points = sorted(report.points)
    if not points:
        return "<p>No submission has been graded yet.</p>"
    median = (points[(len(points) - 1) // 2] + points[len(points) // 2]) / 2
    said = (
        f"{_people(len(points))}, {sum(points) / len(points):.3g} of {report.max:g} points on"
        f" average, half of them at least {median:.3g}."
    )
    if report.waiting:
        said += f"</p><p>○ {len(report.waiting)} have not begun: {_named(report.waiting)}."
    return f"<p>{said}</p>{_histogram(points, report.max)}"


def _histogram(points: Sequence[float], most: float) -> str:
    """How many have how many points, in ten columns."""
    bins = Counter(min(int(10 * p / most), 9) if most else 0 for p in points)
    highest = max(bins.values())
    parts = []
    for i in range(10):
        height = 90 * bins[i] / highest
        x = 30 + 52 * i
        if bins[i]:
            parts.append(
                f'<rect class="column" x="{x + 3}" y="{100 - height:.1f}" width="46"'
                f' height="{height:.1f}" rx="2"/>'
            )
            parts.append(
                f'<text class="label" x="{x + 26}" y="{95 - height:.1f}"'
                f' text-anchor="middle">{bins[i]}</text>'
            )
        parts.append(
            f'<text class="label" x="{x}" y="118" text-anchor="middle">{most * i / 10:.3g}</text>'
        )
    parts.append(
        f'<text class="label" x="550" y="118" text-anchor="middle">{most:g}</text><path'
        ' class="axis" d="M30 100.5H550"/>'
    )
    return (
        '<svg viewBox="0 -12 580 136" width="580" role="img" aria-label="How many have how many'
        f' points">{"".join(parts)}</svg>'
    )


def _exercise_html(e: ExerciseReport) -> str:
    count = e.full + e.some + e.none + len(e.waiting)
    bar = "".join(
        f'<span class="{kind} w{round(100 * n / count)}"></span>'
        for kind, n in zip("fsn", (e.full, e.some, e.none), strict=True)
    )
    counts = (
        f"✓ {e.full} have everything, ◐ {e.some} a part of it, ✗ {e.none} nothing right, ○"
        f" {len(e.waiting)} have not begun; {e.mean:.3g} of {e.max:g} points on average"
    )
    if e.waiting:
        counts += f"<br>○ not begun: {_named(e.waiting)}"
    groups = [(html.escape(name), f"{n} of {count}") for name, n in e.groups]
    parts = [
        f'<section><h2>{html.escape(e.title)}</h2><p class="soft">{counts}</p><div class="bar"'
        f' aria-hidden="true">{bar}</div>'
        f'<div class="tables">{pages.table(("group of cases", "right"), groups)}'
    ]
    if e.mistakes:
        rows = [(pages.rich(name), str(len(who)), _named(who)) for name, who in e.mistakes]
        table = pages.table(("likely mistake", "how many", "who"), rows)
        parts.append(pages.wide("likely mistakes", table))
    return "".join([*parts, "</div></section>"])


def _look_html(report: ClassReport) -> str:
    intro = (
        "<h2>To be looked at by a person</h2><p class='soft'>Nothing of this has changed a"
        " grade.</p>".replace("'", '"')
    )
    if not report.looks:
        return intro + "<p>Nothing.</p>"
    rows = [(html.escape(student), html.escape(why)) for student, why in report.looks]
    return intro + pages.table(("student", "what was noticed"), rows, points=())


def _pairs_html(report: ClassReport) -> str:
    intro = (
        '<h2>Submissions of the same structure</h2><p class="soft">Names, comments and the starter'
        " code do not count, nor does what most of the class wrote. Two who are alike may have"
        " worked together, or have had the same idea: ask them. No grade depends on it.</p>"
    )
    if report.unread:
        intro += (
            "<p>Not compared, because their files are not there any more:"
            f" {_named(report.unread)}.</p>"
        )
    if report.copies:
        groups = "; ".join(_named(names) for names in report.copies)
        intro += f"<p>One and the same file, byte for byte, was handed in by: {groups}.</p>"
    if not report.pairs:
        return intro + ("" if report.copies else "<p>None.</p>")
    rows = [
        (html.escape(p.first), html.escape(p.second), f"{100 * p.share:.0f} %", str(p.hashes))
        for p in report.pairs
    ]
    heads = ("one", "the other", "alike", "pieces compared")
    shown = "".join(_passages_html(report, pair) for pair in report.pairs)
    table = pages.table(heads, rows, points=(2, 3), names=2)
    return intro + pages.wide("submissions that are alike", table) + shown


def _passages_html(report: ClassReport, pair: SimilarPair) -> str:
    """What is alike in two submissions, side by side."""
    parts = [
        f'<p class="soft">{100 * p.share:.0f} % the same; lines {p.lines[0]} and {p.lines[1]} of'
        ' the code</p><div class="both">'
        f"<pre>{html.escape(p.first)}</pre><pre>{html.escape(p.second)}</pre></div>"
        for p in report.passages.get((pair.first, pair.second), ())
    ]
    if not parts:
        return ""
    names = f"{html.escape(pair.first)} and {html.escape(pair.second)}"
    return f"<details><summary>{names}: what is alike</summary>{''.join(parts)}</details>"


def _slowest_html(report: ClassReport) -> str:
    rows = [(html.escape(who), f"{s:.2f}", html.escape(name)) for who, s, name in report.slowest]
    table = pages.table(("student", "CPU seconds", "longest in"), rows)
    return "<h2>The slowest</h2>" + pages.wide("the slowest", table)


def _named(students: Sequence[str]) -> str:
    more = f" and {len(students) - NAMES} more" if len(students) > NAMES else ""
    return html.escape(", ".join(students[:NAMES])) + more


def _people(count: int) -> str:
    return "1 submission" if count == 1 else f"{count} submissions"
