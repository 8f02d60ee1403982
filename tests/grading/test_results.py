"""What is made of the journal: a learning system's own file, Gradescope's, the pages, the report
on the class.
"""

import csv
import html
import io
import json
import os
import subprocess
import sys
import zipfile
from dataclasses import replace
from functools import reduce
from types import SimpleNamespace

import pytest
from minigrad.lessons.grading import grades, run, sandbox
from minigrad.lessons.grading.marks import Mark
from minigrad.lessons.grading.results import gradescope, lms, report, similarity, site, tables
from minigrad.lessons.grading.sheet import load_sheet

from minigrad.cli import main
from minigrad.cli.folders import remove
from tests.helpers.grader_libraries import made_once, servers_kept
from tests.helpers.small_class import notebook, write_sheet

LEAST = "confined" if {"landlock", "seccomp"} <= set(sandbox.probe()["obtained"]) else "process"
CLASS = {
    "ada": notebook({}),
    "bob": notebook({"g": "def g(x):\n    return x"}),
    "Eve <script>alert(1)</script>_77": notebook(
        {"f": "import sys\nsys._getframe(0)\nraise ValueError('<script>')"}
    ),
    "index": notebook({"f": "f = ..."}),
    "=cmd": "{}",
}


@pytest.fixture(scope="module")
def graded(tmp_path_factory, libraries_folder):
    """(sheet's path, results folder, everybody's results)."""
    top = tmp_path_factory.mktemp("results")
    path = write_sheet(top / "sheet")
    for student, content in CLASS.items():
        folder = top / "submitted" / student.replace("/", "∕")
        folder.mkdir(parents=True)
        (folder / "small.ipynb").write_text(
            json.dumps(content) if isinstance(content, dict) else content
        )
    with made_once(libraries_folder), servers_kept(libraries_folder):
        found = run.grade(
            path, top / "submitted", top / "out", run.Options(least=LEAST, jobs=1, wrap=False)
        ).results
    return path, top / "out", found


def of(graded, *students):
    return [next(r for r in graded[2] if r.student.startswith(s)) for s in students]


# ------------------------------------------------------------------------------------------- tables

CSV_FILES = [
    b'a,b\r\n1,"x ""y"", z"\r\n',
    b"\xef\xbb\xbfa;b\n1;2,5\n\n3;\n",
    b'a,b\n"1\n2",\xe9\n last , "q" ',
    b"a\tb\r1\t2\r",
    b'a,b\n00.50,"007"\n',
]


@pytest.mark.parametrize("data", CSV_FILES)
def test_what_is_not_written_to_stays_byte_for_byte(data):
    assert tables.Table(data).bytes() == data


@pytest.mark.parametrize("data", CSV_FILES[:2] + CSV_FILES[4:])
def test_cells_are_read_as_the_csv_module_reads_them(data):
    table = tables.Table(data)
    text = data.decode("utf-8-sig")
    rows = [row for row in csv.reader(io.StringIO(text, newline=""), delimiter=table.delimiter)]
    assert [[row[i] for i in range(len(row.raw))] for row in (table.first, *table.rows)] == [
        row or [""] for row in rows
    ]


def test_one_cell_is_replaced_and_quoted_where_it_must_be():
    table = tables.Table(b'a,b,c\n1,"2",3\n')
    table.rows[0][0], table.rows[0][1], table.rows[0][2] = 'x,"y"', "7", "8"
    assert table.bytes() == b'a,b,c\n"x,""y""","7",8\n'


@pytest.mark.parametrize(
    ("data", "say"), [(b"", "empty"), (b" \n", "empty"), ("a,b".encode("utf-16"), "UTF-16")]
)
def test_files_that_are_no_tables_are_refused(data, say, tmp_path):
    (tmp_path / "x.csv").write_bytes(data)
    with pytest.raises(tables.TableError, match=say):
        tables.read_table(tmp_path / "x.csv")


# ----------------------------------------------------------------------------------- Canvas, Moodle


def fill(system, path, results, column=""):
    return lms.fill(system, path, lms.of_sheet(system, results), "small", 7.0, column)


CANVAS = (
    b"\xef\xbb\xbfStudent,ID,SIS User ID,SIS Login ID,Section,small (123),Other (9),Final Score\r\n"
    b",,,,,Manual Posting,,\r\n"
    b"    Points Possible,,,,,7.00,5.00,(read only)\r\n"
    b'"Lovelace, Ada",11,u1,ADA,A,,3.50,"50,0"\r\n'
    b'"Bob",12,u2,bob@uni.edu,A,1.00,,\r\n'
    b'"Noname, N",13,u3,noname,A,2.00,,0\r\n'
    b'"Eve",77,u4,eve,"A, B",,,\r\n'
)


def test_canvas_gets_its_file_back_with_the_points(graded, tmp_path):
    (tmp_path / "canvas.csv").write_bytes(CANVAS)
    results = of(graded, "ada", "bob", "Eve", "index")
    results[2] = replace(results[2], record={**results[2].record, "lms": {"canvas": "77"}})
    filled = fill(lms.CANVAS, tmp_path / "canvas.csv", results)
    expected = (
        CANVAS.replace(b"ADA,A,,", b"ADA,A,7,")
        .replace(b"edu,A,1.00,", b"edu,A,5,")
        .replace(b'"A, B",,', b'"A, B",4,')
    )
    assert filled.data == expected
    assert sorted(filled.matched) == sorted(r.student for r in results[:3])
    assert (filled.missing, filled.rows, filled.notes, filled.complete) == (
        ["index"],
        ["Noname, N"],
        [],
        False,
    )


MOODLE = (
    "Identifier;Full name;Email address;Status;Grade;Maximum Grade;Grade can be changed;Feedback"
    " comments\nParticipant 1;Ada Lovelace;ada@uni.edu;Submitted;;7.00;Yes;\nParticipant"
    " 77;Eve;e@uni.edu;Submitted;;7.00;Yes;old\nParticipant"
    " 3;Bob;bob@uni.edu;Submitted;3;7.00;No;\n"
)


def test_moodle_gets_points_and_comments_where_it_lets_them_in(graded, tmp_path):
    (tmp_path / "m.csv").write_text(MOODLE)
    results = of(graded, "ada", "bob", "Eve", "=cmd")
    results[2] = replace(results[2], record={**results[2].record, "lms": {"moodle": "77"}})
    filled = fill(lms.MOODLE, tmp_path / "m.csv", results)
    rows = list(csv.DictReader(io.StringIO(filled.data.decode()), delimiter=";"))
    assert [row["Grade"] for row in rows] == ["7", "4", "3"]
    assert rows[0]["Feedback comments"] == "f: 3 of 3; g: 2 of 2; Counter: 2 of 2"
    assert filled.missing == ["=cmd"]
    assert len(filled.notes) == 1 and filled.notes[0].startswith("bob: Moodle says")


def test_no_student_is_matched_by_a_guess(graded, tmp_path):
    (tmp_path / "m.csv").write_text(
        "Full name,Email address,Grade\nAda,ada@a.edu,\nAda,ada@b.edu,\n"
    )
    filled = fill(lms.MOODLE, tmp_path / "m.csv", of(graded, "ada"))
    assert filled.data == (tmp_path / "m.csv").read_bytes()
    assert filled.missing == ["ada"] and "fits more than one row" in filled.notes[0]


def test_a_full_name_is_taken_only_where_nothing_else_fits(graded, tmp_path):
    (ada,) = of(graded, "ada")
    results = [
        replace(ada, record={**ada.record, "student": name}) for name in ("ada lovelace", "bob")
    ]
    (tmp_path / "c.csv").write_text(
        'Student,ID,SIS Login ID,Section,small\n"Lovelace, Ada",5,x,A,\n"Lovelace, Bob",6,bob,A,\n'
    )
    filled = fill(lms.CANVAS, tmp_path / "c.csv", results)
    assert filled.data.count(b",7\n") == 2 and filled.complete


def test_other_maximum_points_are_reported(graded, tmp_path):
    (tmp_path / "m.csv").write_text(
        "Identifier,Email address,Grade,Maximum Grade\nParticipant 1,ada@a.edu,,100\n"
    )
    filled = fill(lms.MOODLE, tmp_path / "m.csv", of(graded, "ada"))
    assert filled.notes == [
        "the column is worth 100 points there, but the sheet 7; nothing was converted"
    ]


@pytest.mark.parametrize(
    ("system", "text", "say"),
    [
        (lms.CANVAS, "Name,small\nada,\n", "no column 'ID'"),
        (lms.CANVAS, "Student,ID,Section,other\nada,1,A,\n", "no column is called 'small'"),
        (
            lms.CANVAS,
            "Student,ID,Section,small (1),small (2)\nada,1,A,,\n",
            "2 columns are called 'small'",
        ),
        (
            lms.CANVAS,
            "Student,ID,Section,small\n    Points Possible,,,(read only)\nada,1,A,\n",
            "Canvas computes 'small' itself",
        ),
        (lms.MOODLE, "a,b\n1,2\n", "no column tells whose row"),
    ],
)
def test_unknown_files_are_refused_with_a_cure(graded, tmp_path, system, text, say):
    (tmp_path / "x.csv").write_text(text)
    with pytest.raises(tables.TableError, match=say):
        fill(system, tmp_path / "x.csv", of(graded, "ada"))


def test_a_column_may_be_named(graded, tmp_path):
    (tmp_path / "c.csv").write_text("Student,ID,Section,Lab one (5)\nAda,1,A,\n")
    filled = fill(lms.CANVAS, tmp_path / "c.csv", of(graded, "ada"), "lab one")
    assert filled.data == b"Student,ID,Section,Lab one (5)\nAda,1,A,7\n"


def test_canvas_may_be_set_to_two_columns_of_names_and_to_commas(graded, tmp_path):
    """Its export for a European account: semicolons, decimal commas, a byte order mark."""
    head = "\ufeffLastName;FirstName;ID;SIS Login ID;Section;small (1);Final Score\r\n"
    points = "    Points Possible;;;;;7,00;(read only)\r\n"
    (tmp_path / "c.csv").write_text(
        head + points + "Lovelace;Ada;5;al;A;;0,0\r\nStudent;Test;9;xyz;A;;\r\n", newline=""
    )
    (ada,) = of(graded, "ada")
    result = replace(ada, record={**ada.record, "student": "ada lovelace"})
    filled = fill(lms.CANVAS, tmp_path / "c.csv", [result])
    expected = (tmp_path / "c.csv").read_bytes().replace(b"al;A;;0,0", b"al;A;7;0,0")
    assert filled.data == expected
    assert filled.notes == [] and filled.rows == [], "the view as a student is no student"


def test_canvas_s_own_words_for_who_gets_no_points_stay(graded, tmp_path):
    (tmp_path / "c.csv").write_text(
        "Student,ID,SIS Login ID,Section,small\nAda,1,ada,A,EX\nBob,2,bob,A,N/A\n"
    )
    filled = fill(lms.CANVAS, tmp_path / "c.csv", of(graded, "ada", "bob"))
    assert filled.data == (tmp_path / "c.csv").read_bytes()
    assert filled.notes == [
        "ada is excused there (EX), which stays",
        "bob is not assigned the work there (N/A), which stays",
    ]


def test_a_worksheet_of_moodle_in_another_language_is_filled(graded, tmp_path):
    (tmp_path / "m.csv").write_text(
        "ID,Vollständiger Name,E-Mail-Adresse,Status,Bewertung,Bestwertung\n"
        "Teilnehmer/in77,Ada L,a@b.de,Abgegeben,,100.00\nTeilnehmer/in78,Bob B,b@b.de,,,100.00\n"
    )
    (ada,) = of(graded, "ada")
    result = replace(ada, record={**ada.record, "lms": {"moodle": "77"}})
    filled = fill(lms.MOODLE, tmp_path / "m.csv", [result], "Bewertung")
    assert filled.data.count(b"Abgegeben,7,100.00") == 1 and filled.matched == ["ada"]


# --------------------------------------------------------------------------------------- Gradescope


def test_gradescope_results_are_what_its_specification_says(graded):
    sheet = load_sheet(graded[0])
    sheet["f"].hidden = ("numbers",)
    try:
        ada, eve, nothing = (gradescope.results(r, sheet) for r in of(graded, "ada", "Eve", "=cmd"))
    finally:
        sheet["f"].hidden = ()
    assert (ada["score"], ada["max_score"]) == (7.0, 7.0)
    assert (
        sum(t["score"] for t in ada["tests"]) == ada["score"]
        and sum(t["max_score"] for t in ada["tests"]) == 7.0
    )
    assert {t["name"]: t["visibility"] for t in ada["tests"]} == {
        "f: vectors": "visible", "f: numbers": "after_due_date", "g: all": "visible",
        "Counter: all": "visible",
    }  # fmt: skip
    assert all(
        t["output_format"] == "md" and t["status"] in ("passed", "failed") for t in ada["tests"]
    )
    assert eve["score"] == 4.0 and "<script>" not in json.dumps([t["output"] for t in eve["tests"]])
    assert eve["extra_data"]["flags"] == [
        "looked at its callers' frames"
    ] and "seed" not in json.dumps(eve)
    assert (
        nothing["score"] == 0.0
        and "not a notebook" in nothing["output"]
        and len(nothing["tests"]) == 3
    )


def test_what_a_person_graded_is_a_test_of_gradescope_s_too(graded):
    (ada,) = of(graded, "ada")
    marked = replace(ada, marks={"f": Mark("f", 1.5, "*why* so?")})
    said = gradescope.results(marked, load_sheet(graded[0]))
    by_hand, *others = said["tests"]
    assert by_hand["name"] == "f, graded by a person" and by_hand["output"] == r"\*why\* so?"
    assert (by_hand["score"], by_hand["max_score"]) == (1.5, 3.0)
    assert sum(test.get("score", 0.0) for test in said["tests"]) == said["score"] == 5.5
    assert [test["number"] for test in others if "score" not in test] == ["f", "f"]


@pytest.mark.whole
def test_the_zip_grades_a_hand_in_by_itself(graded, tmp_path):
    """As on Gradescope: only the zip's own files, a Python with NumPy, the two scripts' command."""
    sheet = load_sheet(graded[0])
    data = gradescope.autograder(sheet, graded[0])
    assert data == gradescope.autograder(sheet, graded[0]), "the same zip each time"
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        assert {
            archive.getinfo(n).external_attr >> 16 & 0o111 for n in ("setup.sh", "run_autograder")
        } == {0o111}
        assert "sheet/sheet.py" in archive.namelist() and not any(
            n.startswith("/") or ".." in n for n in archive.namelist()
        )
        script = archive.read("run_autograder").decode()
        archive.extractall(tmp_path / "source")
    notebook_path = graded[0].with_name("small.ipynb")
    with zipfile.ZipFile(
        io.BytesIO(gradescope.autograder(load_sheet(notebook_path), notebook_path))
    ) as archive:
        beside = [name for name in archive.namelist() if name.startswith("sheet/")]
    assert beside == [
        "sheet/sheet.py",
        "sheet/small.ipynb",
        "sheet/small_drive.py",
    ], "the drive's module goes with its sheet"
    assert "minigrad.lessons.grading.results.gradescope sheet/sheet.py" in script
    submission = tmp_path / "submission"
    submission.mkdir()
    (submission / "small (1).ipynb").write_text(
        json.dumps(notebook({"g": "def g(x):\n    return x"}))
    )
    out = tmp_path / "results" / "results.json"
    code = (
        "import sys, runpy; sys.argv[0] = 'x';"
        " runpy.run_module('minigrad.lessons.grading.results.gradescope', run_name='__main__')"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "sheet/sheet.py", str(submission), str(out)],
        cwd=tmp_path / "source",
        env={"PATH": "/usr/bin:/bin",
            "MINIGRAD_TRUST_STUDENTS": "" if LEAST == "confined" else "1"},
        capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert json.loads(out.read_text())["score"] == 5.0


def test_gradescope_s_autograder_reads_no_more_of_a_submission_than_the_grader(
    tmp_path, libraries_folder, monkeypatch
):
    submission, out = tmp_path / "submission", tmp_path / "results.json"
    submission.mkdir()
    (submission / "small.ipynb").write_text(json.dumps(notebook({})))
    os.mkfifo(submission / "pipe.csv")
    (submission / "link.ipynb").symlink_to("/dev/zero")
    monkeypatch.chdir(submission)
    for _ in range(1500):
        os.mkdir("a" * 9)
        os.chdir("a" * 9)
    os.chdir(submission)
    try:
        with made_once(libraries_folder):
            gradescope.main(str(write_sheet(tmp_path / "sheet")), str(submission), str(out), "1")
        assert json.loads(out.read_text())["score"] == 7.0
        os.truncate(submission / "small.ipynb", 1 << 40)
        with made_once(libraries_folder):
            gradescope.main(str(tmp_path / "sheet" / "sheet.py"), str(submission), str(out), "1")
        assert "more than 200 MB" in json.loads(out.read_text())["output"]
    finally:
        remove(submission / ("a" * 9))


# --------------------------------------------------------------------------------- pages and report


def test_everybody_gets_two_pages_and_the_instructor_an_index(graded, tmp_path):
    written = site.write(tmp_path, graded[2], load_sheet(graded[0]))
    assert len(written) == 2 * len(CLASS) + 2 == len(set(written))
    names = {p.name for p in tmp_path.iterdir()}
    assert {"ada.html", "ada.md", "index.html", "index-2.html", "cmd.html"} <= names
    for path in written:
        text = path.read_text()
        assert "<script" not in text and "alert(1)" not in path.name
        if path.suffix == ".html":
            assert "default-src 'none'" in text
    assert "<strong>5</strong> of 7 points" in (tmp_path / "bob.html").read_text()
    index = (tmp_path / "index.html").read_text()
    assert index.count("<tr>") == len(CLASS) + 1 and 'href="index-2.html"' in index


def test_the_index_sorts_students_by_name_and_number():
    wanted = ["Éva 2", "Éva 10", "Fu", "student_1", "student_2", "student_10", "Zoë"]
    given = {"points": 1.0, "judgements": [], "waiting": False}
    found = [SimpleNamespace(student=s, **given) for s in sorted(wanted)]
    sheet = SimpleNamespace(title="Lab 1", exercises=[], max_points=1.0)
    for make in (site.index_html, site.index_markdown):
        text = make(found, sorted(wanted), sheet).replace("\\", "")
        assert sorted(wanted, key=text.index) == wanted


def test_names_of_files_are_harmless_and_differ():
    found = site.slugs(
        [
            "Ada",
            "ada",
            "../../etc/passwd",
            "",
            "日本",
            "a/b",
            "a\\b",
            "x" * 200,
            "index",
            "con.html",
        ]
    )
    assert len({f.casefold() for f in found}) == len(found)
    own = ["a-b", "a-b-2", "ADA"]
    assert site.slugs(["a b", *own, "a.b ", "ada"])[1:4] == own, (
        "a page has no other student's name"
    )
    assert all(
        "/" not in f and "\\" not in f and 0 < len(f) <= 63 and not f.startswith((".", "-"))
        for f in found
    )


def test_a_page_tells_of_the_cells_that_failed_but_for_those_that_cannot_run_here(graded):
    (result,) = of(graded, "Eve")
    assert not all(j.full for j in result.judgements)
    cells = {
        "cell 3": (
            "minigrad.core.backward is what you are asked to write, so it is not there when your"
            " submission is graded."
        ),
        "cell 4": (
            "ModuleNotFoundError: sympy is not there when a submission is graded, so `sympy.Symbol`"
            " cannot be used; NumPy is."
        ),
        "cell 5": "NameError: name 'q' is not defined (line 1 of cell 5: `q`)",
    }
    told = site.notes(grades.Graded({**result.record, "cells": cells}, result.judgements))
    assert told == ["In cell 5: NameError: name 'q' is not defined (line 1 of cell 5: `q`)"]


def test_a_sheet_is_called_by_its_first_heading_on_every_page(graded, tmp_path):
    path = graded[0].with_name("small.ipynb")
    sheet = load_sheet(path)
    assert sheet.title == "small"
    heading = {
        "cell_type": "markdown",
        "metadata": {},
        "source": ["Welcome\n", "# Lesson 0 · <Small>\n"],
    }
    titled = replace(
        sheet, notebook={**sheet.notebook, "cells": [heading, *sheet.notebook["cells"]]}
    )
    assert titled.title == "Lesson 0 · <Small>"
    site.write(tmp_path, graded[2], titled)
    pages = [*tmp_path.glob("*.html")]
    assert len(pages) == len(graded[2]) + 1
    assert all(
        "<h1>Lesson 0 · &lt;Small&gt;</h1>" in page.read_text(encoding="utf-8") for page in pages
    )
    assert "Lesson 0" in report.report_html(report.class_report(graded[2], titled))


def test_the_report_says_what_was_seen(graded):
    found = report.class_report(graded[2], load_sheet(graded[0]))
    assert sorted(found.points) == [0.0, 4.0, 4.0, 5.0, 7.0]
    g = next(e for e in found.exercises if e.name == "g")
    assert (g.full, g.some, g.none, g.max, g.mean) == (3, 0, 1, 2.0, 1.5)
    f = next(e for e in found.exercises if e.name == "f")
    assert [who for who in f.waiting if who.startswith(("index", "Eve"))] and not found.waiting
    assert {student.split()[0]: why for student, why in found.looks}.keys() == {"Eve", "=cmd"}
    assert found.slowest[0][1] >= found.slowest[-1][1] > 0
    page = report.report_html(found)
    assert (
        "&lt;script&gt;" in page
        and "<script" not in page
        and "default-src 'none'" in page
        and 'style="' not in page
    )


def test_who_has_not_begun_is_told_from_who_is_wrong(graded):
    sheet, (first, read) = load_sheet(graded[0]), of(graded, "bob", "ada")
    nothing = lambda groups: [replace(g, right=0) for g in groups]
    lines = [replace(j, points=0.0, items=[], groups=nothing(j.groups)) for j in read.judgements]
    waiting = replace(read, record=read.record | {"student": "<late>"}, judgements=lines)
    found = report.class_report([first, waiting], sheet)
    assert found.waiting == ["<late>"]
    assert [e.waiting for e in found.exercises] == [["<late>"]] * len(found.exercises)
    page = report.report_html(found)
    assert "○ 1 have not begun: &lt;late&gt;." in page
    assert page.count("○ not begun: &lt;late&gt;") == len(found.exercises)
    table = site.index_html([first, waiting], ["a", "b"], sheet)
    assert "○ 1 of 2 have not begun: &lt;late&gt;" in table
    assert table.count(">○</td>") == len(sheet.exercises)
    unread = of(graded, "=cmd")
    assert "– 1 of 1 could not be read: =cmd" in site.index_html(unread, ["a"], sheet)


def test_files_that_are_the_same_byte_for_byte_are_named(graded, tmp_path):
    sheet, (first, second) = load_sheet(graded[0]), of(graded, "ada", "bob")
    assert not report.class_report(graded[2], sheet).copies, "who has no points copied nothing"
    twin = replace(
        second, record=second.record | {"sha256": first.record["sha256"], "student": "<twin>"}
    )
    found = report.class_report([*graded[2], twin], sheet)
    assert found.copies == [[first.student, "<twin>"]]
    page = report.report_html(found)
    assert f"was handed in by: {html.escape(first.student)}, &lt;twin&gt;." in page
    last_year = report.class_report([first], sheet, [graded[1]])
    assert last_year.copies == [[first.student, f"{graded[1]}: {first.student}"]]


def test_the_report_of_a_class_without_hand_ins():
    page = report.report_html(report.ClassReport("x", 7.0, [], [], [], [], [], [], []))
    assert "No submission has been graded yet." in page


# --------------------------------------------------------------------------------------- similarity

ENGINE = """
class Value:
    def __init__(self, data, children=()):
        self.data, self.grad, self._back, self._prev = data, 0, lambda: None, set(children)
    def __add__(self, other):
        out = Value(self.data + other.data, (self, other))
        def back():
            self.grad += out.grad
            other.grad += out.grad
        out._back = back
        return out
    def backward(self):
        topo, seen = [], set()
        def build(v):
            if v not in seen:
                seen.add(v)
                for c in v._prev: build(c)
                topo.append(v)
        build(self)
        self.grad = 1
        for v in reversed(topo): v._back()
"""
RENAMED = {"topo": "ordering", "build": "visit", "data": "number", "out": "res"}
COPY = '"""My own."""\nimport math\n' + reduce(
    lambda text, name: text.replace(name, RENAMED[name]), RENAMED, ENGINE
)
OTHER = """
class Value:
    def __init__(self, data, parents=()):
        self.data, self.parents, self.grad = data, parents, 0.0
    def __add__(self, other):
        return Value(self.data + other.data, ((self, 1.0), (other, 1.0)))
    def backward(self):
        self.grad = 1.0
        for v in sorted(self.everyone(), key=lambda v: -v.born):
            for parent, local in v.parents:
                parent.grad = parent.grad + v.grad * local
    def everyone(self):
        found, todo = set(), [self]
        while todo:
            v = todo.pop()
            found.add(v)
            todo.extend(p for p, _ in v.parents if p not in found)
        return found
"""


def test_renamed_copies_are_alike_and_others_are_not():
    pairs = similarity.similar({"a": ENGINE, "b": COPY, "c": OTHER}, "")
    assert [(p.first, p.second) for p in pairs] == [("a", "b")] and pairs[0].share > 0.95


def test_functions_in_another_order_are_a_copy_all_the_same():
    body = (
        "def f(x):\n    y = x {op} 3\n    for k in range(y):\n        x {op}= k\n    return [x,"
        " y][3:]"
    )
    parts = [body.format(op=op) for op in "+-*/%"]
    (pair,) = similarity.similar({"a": "\n".join(parts), "b": "\n\n".join(reversed(parts))}, "")
    assert pair.share > 0.6


def test_the_starter_code_and_what_all_have_do_not_count():
    assert similarity.similar({"a": ENGINE, "b": ENGINE}, ENGINE) == []
    for count in (3, 4, 12):
        everybody = {f"s{i}": ENGINE for i in range(count)}
        assert similarity.similar(everybody, "") == []
    assert len(similarity.similar({"a": ENGINE, "b": COPY}, "")) == 1, "of two all is not most"
    assert similarity.similar({"a": "f = lambda x: x", "b": "f = lambda y: y"}, "") == [], (
        "too small to tell"
    )


def test_the_evidence_is_the_parts_that_are_alike():
    shown = similarity.evidence(ENGINE + "x = 1\n", COPY, "")
    names = sorted(p.first.split("(")[0].split()[1] for p in shown)
    assert names == ["__add__", "__init__", "backward"]
    backward = next(p for p in shown if "def backward" in p.first)
    assert "ordering" in backward.second and backward.share > 0.95
    assert ENGINE.split("\n")[backward.lines[0] - 1].strip() == "def backward(self):"
    assert COPY.split("\n")[backward.lines[1] - 1].strip() == "def backward(self):"
    assert similarity.evidence(ENGINE, COPY, ENGINE) == [] and not similarity.evidence("", "(", "")
    assert not [p for p in similarity.evidence(ENGINE, OTHER) if p.share < similarity.ALIKE]


def test_the_report_shows_both_parts_of_a_pair_as_text():
    passage = similarity.Passage("if x < 1: '<script>'", "def g(): ...", 0.9, (3, 7))
    made = report.ClassReport(
        "x", 7.0, [1.0], [], [], [], [], [similarity.SimilarPair("<a>", "b", 0.8, 12)], []
    )
    made.passages["<a>", "b"] = [passage]
    page = report.report_html(made)
    assert "<pre>if x &lt; 1: &#x27;&lt;script&gt;&#x27;</pre><pre>def g(): ...</pre>" in page
    assert "&lt;a&gt; and b: what is alike" in page and "lines 3 and 7" in page


def test_submissions_of_earlier_years_are_compared_with_this_year_s():
    programs = {"a": ENGINE, "2025: b": COPY, "2025: c": ENGINE}
    pairs = similarity.similar(programs, "", earlier={"2025: b", "2025: c"})
    assert {(p.first, p.second) for p in pairs} == {("2025: b", "a"), ("2025: c", "a")}


@pytest.mark.parametrize(
    "source", ["", "def (:", "(" * 3000, "\0", "x = 1\n\ndef (:\n\ny = 2", "é" * 10]
)
def test_whatever_does_not_parse_is_compared_by_what_does(source):
    assert isinstance(similarity.fingerprints(source), set)


def test_syntax_errors_do_not_hide_a_copy():
    (pair,) = similarity.similar({"a": ENGINE, "b": ENGINE + "\n\ndef broken(:\n"}, "")
    assert pair.share > 0.9


# ------------------------------------------------------------------------------------- command line


def test_everything_at_once(graded, tmp_path, capsys):
    path, out, _ = graded
    (tmp_path / "canvas.csv").write_bytes(CANVAS)
    words = [
        "grade",
        "export",
        str(path),
        "--out",
        str(out),
        "--canvas",
        str(tmp_path / "canvas.csv"),
        "--pages",
        str(tmp_path / "pages"),
    ]
    words += ["--report", str(tmp_path / "class.html"), "--gradescope", str(tmp_path / "gs")]
    words += ["--earlier", str(out), "--language", "zh"]
    assert main(words) == 1, "a student is in no row"
    said = capsys.readouterr().out
    assert "canvas-filled.csv" in said and "Noname, N" in said
    assert (tmp_path / "class.html").is_file() and (
        tmp_path / "gs" / "ada" / "results.json"
    ).is_file()
    assert '<html lang="zh">' in (tmp_path / "pages" / "ada.html").read_text(encoding="utf-8")
    (tmp_path / "one.csv").write_text("Full name,Email address,Grade\nAda,ada@uni.edu,\n")
    assert (
        main(["grade", "export", str(path), "--out", str(out), "--pages", str(tmp_path / "again")])
        == 0
    )


@pytest.mark.parametrize(
    ("words", "say"),
    [
        ([], "say what to write"),
        (["--canvas", "{none}"], "No such file"),
        (["--moodle", "{sheet}"], "no column tells"),
        (["--nbgrader", "{none}"], "nbgrader"),
    ],
)
def test_wrong_input_ends_with_2(graded, tmp_path, capsys, words, say):
    words = [w.format(none=tmp_path / "none", sheet=graded[0]) for w in words]
    assert main(["grade", "export", str(graded[0]), "--out", str(graded[1]), *words]) == 2
    assert say in capsys.readouterr().err


def test_no_journal_no_export(graded, tmp_path, capsys):
    assert (
        main(
            [
                "grade",
                "export",
                str(graded[0]),
                "--out",
                str(tmp_path),
                "--pages",
                str(tmp_path / "p"),
            ]
        )
        == 2
    )
    assert "no journal" in capsys.readouterr().err
