"""A class of 200 comes out of Moodle, Canvas and Gradescope and goes back: each student's points
and feedback to that student alone.
"""

import csv
import io
import json
import unicodedata
import zipfile
from pathlib import Path

import pytest
from minigrad.lessons.grading import (
    grades,
    journal,
    one_submission,
    run,
    sandbox,
    supervisor,
)

from minigrad.cli import main
from tests.helpers.small_class import MAX, notebook, write_sheet

pytestmark = pytest.mark.whole

OPTIONS = run.Options(
    least="confined" if {"landlock", "seccomp"} <= set(sandbox.probe()["obtained"]) else "process",
    jobs=1,
    wrap=False,
)
GIVEN = "Ada Bob Cem Dörte Éva Fu Gül Hana Ivo Jörg".split()
SURNAMES = "Lovelace Bell O'Neill Yılmaz García-Márquez Müller Nguyễn Öz Świątek Zhang".split()
WHEN = (2026, 11, 20, 12, 0, 0)
KINDS = (
    ({}, MAX),
    ({"g": "def g(x):\n    return x"}, MAX - 2),
    ({"f": "f = ..."}, MAX - 3),
    ({"Counter": "1 / 0"}, MAX - 2),
    ({"f": "f = 1", "g": "g = 2"}, 2.0),
    ({"f": "f = ...", "g": "g = ...", "Counter": "Counter = ..."}, 0.0),
    None,
)
"""What a student hands in, and the points that it deserves; the last hands nothing in."""


class Student:
    """Number n of the class. Two and two have the same name."""

    def __init__(self, n: int) -> None:
        self.n, self.kind = n, KINDS[n % len(KINDS)]
        self.given, self.surname = GIVEN[n % 10], SURNAMES[n // 20]
        self.name = f"{self.given} {self.surname}"
        self.number, self.mail = 5000 + n, f"s{n:03}@example.org"

    @property
    def points(self) -> float | None:
        return None if self.kind is None else self.kind[1]

    def book(self) -> bytes:
        assert self.kind is not None
        return json.dumps(notebook(self.kind[0]) | {"metadata": {"by": self.n}}).encode()


CLASS = [Student(n) for n in range(200)]
HANDED_IN = [student for student in CLASS if student.kind]


def write_zip(path: Path, names) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for student in HANDED_IN:
            name = names(student)
            content = student.book()
            if name.endswith(".zip"):
                packed = io.BytesIO()
                with zipfile.ZipFile(packed, "w") as inner:
                    inner.writestr("work/small.ipynb", content)
                content = packed.getvalue()
            archive.writestr(zipfile.ZipInfo(name, WHEN), content)
    return path


def table(path: Path, head: str, rows) -> Path:
    with path.open("w", encoding="utf-8-sig", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(head.split("|"))
        writer.writerows(rows)
    return path


def read(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


OUTCOMES: dict[str, supervisor.SubmissionResult] = {}


@pytest.fixture
def graded(tmp_path, shared_servers, monkeypatch):
    """Grades a container; returns the sheet and the results folder. What the cells of a notebook
    give is found out once, for equal cases.
    """
    run_cells = one_submission.run_cells

    def known(cells, *more):
        if repr(cells) not in OUTCOMES:
            OUTCOMES[repr(cells)] = run_cells(cells, *more)
        return OUTCOMES[repr(cells)]

    monkeypatch.setattr(one_submission, "run_cells", known)
    for module in (one_submission, grades):
        monkeypatch.setattr(module, "seed_for", lambda secret, digest: "5a" * 32)

    def grade(submitted: Path) -> tuple[str, str]:
        sheet = write_sheet(tmp_path / "sheet")
        report = run.grade(sheet, submitted, tmp_path / "out", OPTIONS)
        assert not report.failed and len(report.results) == len(HANDED_IN)
        return str(sheet), str(tmp_path / "out")

    return grade


def right(rows, points, mine) -> None:
    """That each student's row has the points, and the others none."""
    found = {mine(row): row[points] for row in rows}
    for student in CLASS:
        said = found[str(student.n)]
        assert (float(said) if said else None) == student.points, student.name


def pages_of(path: Path) -> dict[str, str]:
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name).decode() for name in archive.namelist()}


def test_through_moodle(graded, tmp_path):
    def name(student):
        ending = "zip" if student.n % 9 == 0 else "ipynb"
        folder = "/" if student.n % 2 else ""
        return f"{student.name}_{student.number}_assignsubmission_file_{folder}small.{ending}"

    sheet, out = graded(write_zip(tmp_path / "all.zip", name))
    worksheet = table(
        tmp_path / "w.csv",
        "Identifier|Full name|Email address|Status|Grade|Maximum Grade|Grade can be changed"
        "|Feedback comments",
        [
            [f"Participant {s.number}", s.name, s.mail, "Submitted", "", f"{MAX:.2f}", "Yes", ""]
            for s in reversed(CLASS)
        ],
    )
    back = tmp_path / "feedback.zip"
    wanted = ["--moodle", str(worksheet), "--moodle-feedback", str(back)]
    assert main(["grade", "export", sheet, "--out", out, *wanted]) == 1, "some handed nothing in"
    rows = read(Path(out) / "w-filled.csv")
    right(rows, "Grade", lambda row: str(int(row["Identifier"].split()[1]) - 5000))
    assert [row["Email address"] for row in rows] == [s.mail for s in reversed(CLASS)]
    pages = pages_of(back)
    assert len(pages) == len(HANDED_IN)
    for s in HANDED_IN:
        page = pages[f"{s.name}_{s.number}_assignsubmission_file_small-feedback.html"]
        assert f"<strong>{s.points:g}</strong> of {MAX:g}" in page
        assert f"_{s.number}" in page


def test_through_canvas(graded, tmp_path):
    def name(student):
        letters = unicodedata.normalize("NFKD", f"{student.surname}{student.given}").casefold()
        plain = "".join(c for c in letters if c.isascii() and c.isalpha())
        late, copy = "LATE_" * (student.n % 8 == 1), "-1" * (student.n % 3 == 1)
        ending = "zip" if student.n % 9 == 0 else "ipynb"
        return f"{plain}_{late}{student.number}_{90_000 + student.n}_small{copy}.{ending}"

    sheet, out = graded(write_zip(tmp_path / "all.zip", name))
    gradebook = table(
        tmp_path / "g.csv",
        "Student|ID|SIS User ID|SIS Login ID|Section|small (77)|other (78)",
        [
            ["    Points Possible", "", "", "", "", f"{MAX:.1f}", "10.0"],
            *(
                [f"{s.surname}, {s.given}", s.number, "", s.mail, "A", "", f"{s.n}"]
                for s in reversed(CLASS)
            ),
        ],
    )
    back = tmp_path / "feedback.zip"
    wanted = ["--canvas", str(gradebook), "--canvas-feedback", str(back)]
    assert main(["grade", "export", sheet, "--out", out, *wanted]) == 1, "some handed nothing in"
    rows = read(Path(out) / "g-filled.csv")
    assert [row["other (78)"] for row in rows[1:]] == [f"{s.n}" for s in reversed(CLASS)]
    right(rows[1:], "small (77)", lambda row: str(int(row["ID"]) - 5000))
    pages = pages_of(back)
    assert len(pages) == len(HANDED_IN)
    for s in HANDED_IN:
        late = "_LATE" * (s.n % 8 == 1)
        (page,) = [
            page for name, page in pages.items() if f"{late}_{s.number}_{90_000 + s.n}" in name
        ]
        assert f"<strong>{s.points:g}</strong> of {MAX:g}" in page


def test_through_gradescope(graded, tmp_path):
    submitted, lines = tmp_path / "assignment_1_export", []
    for s in HANDED_IN:
        folder = submitted / f"submission_{880_000 + s.n}"
        folder.mkdir(parents=True)
        (folder / "small.ipynb").write_bytes(s.book())
        lines += [
            f"{folder.name}:", "  :submitters:", f"  - :name: {s.name}", f"    :sid: '{s.number}'",
            f"    :email: {s.mail}", "  :created_at: 2026-11-20 12:00:00.000000000 Z",
            "  :score: 0.0",
        ]  # fmt: skip
    (submitted / "submission_metadata.yml").write_text("---\n" + "\n".join(lines) + "\n")
    sheet, out = graded(submitted)
    back = tmp_path / "results"
    assert main(["grade", "export", sheet, "--out", out, "--gradescope", str(back)]) == 0
    records = journal.last_submissions(Path(out) / "journal.jsonl")
    numbers = {record["student"]: int(record["lms"]["sid"]) - 5000 for record in records.values()}
    assert sorted(numbers.values()) == [s.n for s in HANDED_IN]
    scores = [json.loads(path.read_text())["score"] for path in back.rglob("*results.json")]
    assert sorted(scores) == sorted(s.points for s in HANDED_IN)
    points = {r.student: r.points for r in grades.graded(Path(out), Path(sheet))}
    assert {numbers[student]: p for student, p in points.items()} == {
        s.n: s.points for s in HANDED_IN
    }
