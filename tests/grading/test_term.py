"""A term: what a person grades, feedback in bulk, and totals over all sheets."""

import csv
import json
import os
import zipfile

import pytest
from minigrad.lessons.grading import grades, run, sandbox, term
from minigrad.lessons.grading.journal import Journal, read
from minigrad.lessons.grading.results import lms
from minigrad.lessons.grading.sheet import load_sheet

from minigrad.cli import main
from tests.helpers.grader_libraries import made_once, servers_kept
from tests.helpers.small_class import MAX, notebook, write_sheet

LEAST = "confined" if {"landlock", "seccomp"} <= set(sandbox.probe()["obtained"]) else "process"
PROOF = {
    "cell_type": "markdown",
    "id": "proof",
    "metadata": {
        "nbgrader": {
            "schema_version": 3, "grade_id": "proof", "grade": True, "solution": True,
            "locked": False, "task": False, "points": 5,
        }
    },
    "source": "Write your proof here.",
}  # fmt: skip
MOODLE = {
    "Ada Lovelace_11": ({}, "=2+3 is a proof", (2026, 11, 20, 12, 0, 0)),
    "Bob B_12": ({"f": "def f(x, y):\n    return 0"}, "None <script>", (2026, 11, 23, 13, 0, 0)),
}


def with_proof(sources, text):
    book = notebook(sources)
    book["cells"].append({**PROOF, "source": text})
    return book


@pytest.fixture(scope="module")
def graded(tmp_path_factory, libraries_folder):
    """A sheet with a proof, handed in by two students through Moodle: (its folder, its results)."""
    top = tmp_path_factory.mktemp("term")
    sheet = write_sheet(top / "sheet")
    with sheet.open("a") as file:
        file.write('\nRUBRIC = {"proof": {"idea": 2, "details": 3}}\n')
    (top / "sheet" / "small.ipynb").write_text(json.dumps(with_proof({}, "…")))
    with zipfile.ZipFile(top / "all.zip", "w") as archive:
        for student, (sources, text, when) in MOODLE.items():
            name = f"{student}_assignsubmission_file_small.ipynb"
            book = json.dumps(with_proof(sources, text))
            archive.writestr(zipfile.ZipInfo(name, when), book)
    os.utime(top / "all.zip", (1.9e9, 1.9e9))  # no file of it counts as handed in after it was made
    with made_once(libraries_folder), servers_kept(libraries_folder):
        report = run.grade(
            sheet, top / "all.zip", top / "out", run.Options(LEAST, jobs=1, wrap=False)
        )
    assert [r.points for r in report.results] == [MAX, MAX - 3]
    return sheet, top / "out"


@pytest.fixture
def course(graded, tmp_path):
    """A copy of the results, and a course file beside them."""
    sheet, out = graded
    (tmp_path / "out").mkdir()
    for name in ("journal.jsonl", "secret.key"):
        (tmp_path / "out" / name).write_bytes((out / name).read_bytes())
    (tmp_path / "roster.csv").write_text(
        "student,name,email,group\nada,Ada Lovelace,al@example.org,1\nbob,B Bob,b@example.org,1\n"
        "cem,Cem C,c@example.org,2\n"
    )
    (tmp_path / "course.toml").write_text(f"""
title = "Autumn"
[[sheet]]
name = "{sheet}"
title = "first"
results = "out"
due = 2026-11-21T00:00:00Z
[late]
percent_a_day = 10
[mark]
pass = 50
good = 55
""")
    return sheet, tmp_path / "out", tmp_path / "course.toml"


def marks(out, sheet, change) -> int:
    """Writes the table, changes its rows, reads it."""
    assert main(["grade", "marks", str(sheet), "--out", str(out)]) == 0
    with (out / "marks.csv").open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        row.update(change.get((row["student"], row["item"]), {}))
    with (out / "filled.csv").open("w", newline="") as file:
        table = csv.DictWriter(file, rows[0])
        table.writeheader()
        table.writerows(rows)
    return main(
        ["grade", "marks", str(sheet), "--out", str(out), "--read", str(out / "filled.csv")]
    )


def points(sheet, out):
    return {r.student: r.points for r in grades.graded(out, sheet)}


ADA, BOB = MOODLE


def test_a_proof_is_no_code(course):
    """Each student with a text was told of a SyntaxError in it."""
    _, out, _ = course
    records = [r for r in read(out / "journal.jsonl") if r["kind"] == "hand-in"]
    assert [record["cells"] for record in records] == [{}, {}]
    assert [record["answers"]["proof"] for record in records] == [
        "=2+3 is a proof", "None <script>"
    ]  # fmt: skip


def test_marks_of_a_person_count_and_stay(course, capsys):
    sheet, out, _ = course
    assert load_sheet(sheet).max_points == MAX + 5
    given = {
        (ADA, "proof: idea"): {"points": "2", "comment": "=well done"},
        (ADA, "proof: details"): {"points": "1,5"},
        (BOB, "f"): {"points": "2.5", "comment": "a good start <script>alert(1)</script>"},
    }
    assert marks(out, sheet, given) == 0
    assert points(sheet, out) == {ADA: MAX + 3.5, BOB: MAX - 3 + 2.5}
    text = (out / "marks.csv").read_text(encoding="utf-8-sig")
    assert "'=2+3 is a proof" in text, "a spreadsheet computes nothing that a student wrote"
    before = list(read(out / "journal.jsonl"))
    assert marks(out, sheet, {}) == 0
    assert list(read(out / "journal.jsonl")) == before, "what did not change is not entered again"
    assert main(["grade", "regrade", str(sheet), "--out", str(out)]) == 1 - 1
    with (out / "items.csv").open(newline="") as file:
        items = [r for r in csv.DictReader(file) if r["group"] == "by hand"]
    assert {(r["student_id"], r["exercise"], r["points"]) for r in items} == {
        (ADA, "proof: idea", "2.0"), (ADA, "proof: details", "1.5"), (BOB, "f", "2.5"),
    }  # fmt: skip
    pages = out / "pages"
    assert main(["grade", "export", str(sheet), "--out", str(out), "--pages", str(pages)]) == 0
    page = next(p for p in pages.glob("Bob*.html")).read_text()
    assert "a good start &lt;script&gt;" in page and "<script>" not in page
    assert marks(out, sheet, {(BOB, "f"): {"points": ""}}) == 0
    assert points(sheet, out)[BOB] == MAX - 3, "an empty cell gives the grader's points back"


@pytest.mark.parametrize(
    ("change", "say"),
    [
        ({"points": "9"}, "line 2: '9' is not a number from 0 to 2"),
        ({"points": "-1"}, "line 2: '-1' is not a number"),
        ({"points": "nan"}, "line 2: 'nan' is not a number"),
        ({"points": "much"}, "line 2: 'much' is not a number"),
        ({"item": "other"}, "line 2: there is no item 'other'"),
        ({"student": "Eve"}, "line 2: 'Eve' has handed nothing in"),
    ],
)
def test_a_table_with_a_mistake_enters_nothing(course, capsys, change, say):
    sheet, out, _ = course
    before = (out / "journal.jsonl").read_bytes()
    right = {(ADA, "proof: details"): {"points": "3"}, (ADA, "proof: idea"): change}
    assert marks(out, sheet, right) == 2
    assert say in capsys.readouterr().err
    assert (out / "journal.jsonl").read_bytes() == before


def test_feedback_goes_back_in_the_systems_own_forms(course, tmp_path, capsys):
    sheet, out, _ = course
    wanted = ["--moodle-feedback", str(tmp_path / "m.zip"), "--canvas-feedback"]
    wanted += [str(tmp_path / "c.zip"), "--nbgrader-feedback", str(tmp_path / "feedback")]
    assert main(["grade", "export", str(sheet), "--out", str(out), *wanted]) == 1
    said = capsys.readouterr().out
    assert "2 pages for Moodle" in said and "sent no file through Canvas" in said
    names = zipfile.ZipFile(tmp_path / "m.zip").namelist()
    assert names == [f"{s}_assignsubmission_file_small-feedback.html" for s in MOODLE]
    found = sorted(p.relative_to(tmp_path / "feedback").as_posix()
                   for p in (tmp_path / "feedback").rglob("*.html"))  # fmt: skip
    assert found == ["Ada-Lovelace_11/small/small.html", "Bob-B_12/small/small.html"]


WORKSHEET = (
    "Identifier,Full name,Email address,Grade,Maximum grade,Feedback comments\n"
    "Participant 11,Ada Lovelace,al@example.org,,{most},\n"
    "Participant 12,Bob B,b@example.org,,{most},\n"
    "Participant 13,Cem C,c@example.org,,{most},\n"
)
GRADEBOOK = (
    "Student,ID,SIS Login ID,Section,small (7),Autumn (8)\n    Points Possible,,,,{most},100\n"
    '"Lovelace, Ada",901,al@example.org,A,,\n"B, Bob",902,b@example.org,A,,\n'
    '"C, Cem",903,c@example.org,A,,\n'
)


@pytest.fixture
def forms(tmp_path):
    """A worksheet of Moodle's and a gradebook of Canvas's for the three students."""
    for name, text in (("w.csv", WORKSHEET), ("g.csv", GRADEBOOK)):
        (tmp_path / name).write_text(text.format(most=MAX + 5))
    return ["--moodle", str(tmp_path / "w.csv"), "--canvas", str(tmp_path / "g.csv")]


def rows_of(path, key, value):
    with path.open(newline="") as file:
        return {row[key]: row[value] for row in csv.DictReader(file)}


def test_learning_systems_get_what_counts_by_the_course_file(course, forms, tmp_path, capsys):
    """Lateness, a person's marks; and points as they were graded without the course file."""
    sheet, out, path = course
    assert marks(out, sheet, {(BOB, "f"): {"points": "2"}}) == 0
    export = ["grade", "export", str(sheet), "--out", str(out), *forms]
    assert main(export) == 1, "Cem has a row and handed nothing in"
    raw = rows_of(out / "w-filled.csv", "Full name", "Grade")
    assert raw == {"Ada Lovelace": "7", "Bob B": "6", "Cem C": ""}
    pages = tmp_path / "pages"
    assert main([*export, "--term", str(path), "--pages", str(pages), "--language", "zh"]) == 1
    counts = rows_of(out / "w-filled.csv", "Full name", "Grade")
    assert counts == {"Ada Lovelace": "7", "Bob B": "4.2", "Cem C": ""}
    said = rows_of(out / "w-filled.csv", "Full name", "Feedback comments")
    assert said["Bob B"].startswith("3 days late: 4.2 of 6 count; f: 2 of 3; g: 2 of 2")
    assert rows_of(out / "g-filled.csv", "ID", "small (7)") == {
        "": "12.0", "901": "7", "902": "4.2", "903": ""
    }  # fmt: skip
    assert "迟交 3 天：6 分中计入 4.2 分。" in (pages / "Bob-B_12.html").read_text()
    assert "迟交" not in (pages / "Ada-Lovelace_11.html").read_text()


def test_each_student_of_a_group_gets_the_points_of_its_submission(course, forms):
    sheet, out, path = course
    text = path.read_text().replace('results = "out"', 'results = "out"\ngroups = true')
    path.write_text('attempts = "best"\n' + text)
    export = ["grade", "export", str(sheet), "--out", str(out), *forms, "--term", str(path)]
    assert main(export) == 1
    for name, key, column in (("w", "Full name", "Grade"), ("g", "SIS Login ID", "small (7)")):
        found = rows_of(out / f"{name}-filled.csv", key, column)
        assert list(found.values())[-3:] == ["7", "7", ""], "Ada's, on time; Bob's was late"


def test_each_student_of_a_group_gets_the_page_of_its_submission(course, tmp_path, capsys):
    sheet, out, path = course
    path.write_text(
        'attempts = "best"\n'
        + path.read_text().replace('results = "out"', 'results = "out"\ngroups = true')
    )
    roster = path.with_name("roster.csv")
    roster.write_text(roster.read_text().rstrip() + "\ndan,Dan D,,1\n")
    pages, feedback = tmp_path / "pages", tmp_path / "feedback"
    export = ["grade", "export", str(sheet), "--out", str(out), "--pages", str(pages)]
    export += ["--nbgrader-feedback", str(feedback), "--term", str(path)]
    main(export)
    assert "3 pages for nbgrader" in capsys.readouterr().out, "Ada's, Bob's and Dan's"
    said = "The submission of Ada Lovelace_11 counts for your group: 7 points."
    ada, bob, dan = (
        (pages / f"{name}.html").read_text() for name in ("Ada-Lovelace_11", "Bob-B_12", "dan")
    )
    assert said not in ada and said in bob and said in dan
    assert dan.count("Right.") == ada.count("Right.") > 0
    assert (feedback / "dan").is_dir() and not (feedback / "cem").exists()
    main([*export, "--language", "zh"])
    assert "你所在小组以 Ada Lovelace_11 的提交计分：7 分。" in (pages / "dan.html").read_text()


def test_a_term_s_percentages_go_into_a_column(course, forms, tmp_path, capsys):
    _, _, path = course
    term_ = ["grade", "term", str(path), "--out", str(tmp_path / "totals.csv")]
    assert main([*term_, *forms[2:]]) == 0
    assert "3 of 3 students' points" in capsys.readouterr().out
    found = rows_of(tmp_path / "g-filled.csv", "ID", "Autumn (8)")
    percent = {row["student"]: row["percent"] for row in table(tmp_path / "totals.csv").values()}
    for number, student in (("901", "ada"), ("902", "bob"), ("903", "cem")):
        assert float(found[number]) == pytest.approx(float(percent[student]), abs=0.01)
    assert main([*term_, *forms[2:], "--column", "none"]) == 2
    assert "no column is called 'none'" in capsys.readouterr().err


def test_a_name_in_the_roster_is_no_other_student_s_account(course, tmp_path):
    """Bob is called as Ada's login is."""
    _, _, path = course
    path.with_name("roster.csv").write_text(
        "student,name,email\nada,Ada L,al@x.org\nbob,Al,b@x.org\n"
    )
    (tmp_path / "g.csv").write_text(
        "Student,ID,SIS Login ID,Section,Autumn\nAda L,1,al,A,\nAl,2,b,A,\n"
    )
    found = term.totals(term.load_term(path))
    filled = lms.fill(lms.CANVAS, tmp_path / "g.csv", lms.of_term(lms.CANVAS, found), "Autumn", 100)
    assert filled.complete and filled.matched == ["ada", "bob"]


def test_a_sheet_that_the_course_file_does_not_name_is_not_exported_by_it(course, forms, capsys):
    sheet, out, path = course
    path.write_text(path.read_text().replace(str(sheet), "02").replace('"out"', '"other"'))
    export = ["grade", "export", str(sheet), "--out", str(out), *forms, "--term", str(path)]
    assert main(export) == 2
    assert "the course file has no sheet with the results folder" in capsys.readouterr().err
    assert not (out / "w-filled.csv").exists()


def test_canvas_takes_no_feedback_on_what_was_typed_into_it(course, tmp_path, capsys):
    """It knows a file that comes back by the number of the one that was handed in."""
    sheet, out, _ = course
    lines = [r for r in read(out / "journal.jsonl") if r["kind"] == "hand-in"]
    with Journal(out / "journal.jsonl") as journal:
        journal.append(lines[0] | {"lms": {"canvas": "11", "prefix": "ada_LATE_11_9001"}})
        journal.append(lines[1] | {"lms": {"canvas": "12", "prefix": "bob_12"}})
    wanted = ["--canvas-feedback", str(tmp_path / "c.zip")]
    assert main(["grade", "export", str(sheet), "--out", str(out), *wanted]) == 1
    assert (
        f"sent no file through Canvas, so they are not in c.zip: {BOB}" in capsys.readouterr().out
    )
    names = zipfile.ZipFile(tmp_path / "c.zip").namelist()
    assert names == ["ada_LATE_11_9001_small-feedback.html"]


def test_a_submission_that_was_withdrawn_is_exported_no_more(course):
    sheet, out, _ = course
    with Journal(out / "journal.jsonl") as journal:
        journal.append({"kind": "grades", "sheet": {}, "when": "", "points": {ADA: {"f": 3.0}}})
    assert list(points(sheet, out)) == [ADA]
    assert main(["grade", "regrade", str(sheet), "--out", str(out)]) == 0
    with (out / "grades.csv").open(newline="") as file:
        assert [row["student_id"] for row in csv.DictReader(file)] == [ADA]


def test_a_number_that_another_student_has_in_some_column_takes_no_points_away(course):
    """Ada's number in Moodle is Cem's seat."""
    _, _, path = course
    roster = path.with_name("roster.csv")
    text = roster.read_text().replace("student,", "seat,student,").replace("\ncem", "\n11,cem")
    roster.write_text(text.replace("\nada", "\n1,ada").replace("\nbob", "\n2,bob"))
    found = term.totals(term.load_term(path))
    assert found.strangers == {"first": [ADA]}
    assert [found.credits[s]["first"].attempts for s in ("ada", "bob", "cem")] == [0, 1, 0]
    roster.write_text(roster.read_text().replace("\n1,ada", "\n11,ada"))
    found = term.totals(term.load_term(path))
    assert found.credits["ada"]["first"].points == MAX, "of two with that number, the one so called"


def test_who_has_withdrawn_has_nothing_in_the_term_until_something_is_handed_in_again(course):
    _, out, path = course
    (bob,) = [r for r in read(out / "journal.jsonl") if r.get("student") == BOB]
    with Journal(out / "journal.jsonl") as journal:
        journal.append({"kind": "grades", "sheet": {}, "when": "", "points": {ADA: {"f": 3.0}}})
    found = term.totals(term.load_term(path)).credits
    assert found["ada"]["first"].points == MAX
    assert found["bob"]["first"] == term.Credit(), "nothing handed in"
    with Journal(out / "journal.jsonl") as journal:
        journal.append(bob)
    assert term.totals(term.load_term(path)).credits["bob"]["first"].attempts == 1


def table(path):
    with path.open(newline="") as file:
        return {row["student"]: row for row in csv.DictReader(file)}


def test_a_term_knows_who_is_missing_what_is_late_and_what_counts(course, tmp_path, capsys):
    _, _, path = course
    assert main(["grade", "term", str(path), "--out", str(tmp_path / "totals.csv")]) == 0
    said = capsys.readouterr().out
    assert "first: 2 of 3 handed in" in said
    assert "missing: cem" in said and "late: bob (3 days late)" in said
    rows = table(tmp_path / "totals.csv")
    assert float(rows["ada"]["first"]) == MAX
    assert float(rows["bob"]["first"]) == pytest.approx((MAX - 3) * 0.7)
    assert rows["ada"]["mark"] == "good" and rows["cem"]["mark"] == ""
    assert float(rows["ada"]["percent"]) == pytest.approx(100 * MAX / (MAX + 5), abs=0.01)


@pytest.mark.parametrize(
    ("lms", "note"),
    [
        ({"canvas": "12", "prefix": "bbob_12_7001"}, ""),
        ({"canvas": "12", "prefix": "bbob_LATE_12_7001"}, "at most 3 days late"),
        ({"canvas": "aB12c", "prefix": "LATE_anon_aB12c_7001"}, "at most 3 days late"),
        ({"canvas": "12"}, "at most 3 days late"),
        ({"moodle": "12", "prefix": "Bob B_12_assignsubmission_file"}, "3 days late"),
    ],
)
def test_canvas_says_who_is_late_since_its_zip_has_no_times(course, lms, note):
    _, out, path = course
    (bob,) = [r for r in read(out / "journal.jsonl") if r.get("student") == BOB]
    with Journal(out / "journal.jsonl") as journal:
        journal.append(bob | {"lms": lms})
    credit = term.totals(term.load_term(path)).credits["bob"]["first"]
    assert (credit.note, credit.points) == (note, pytest.approx((MAX - 3) * (0.7 if note else 1)))


@pytest.mark.parametrize(
    ("more", "points_of_bob"),
    [
        ('[extension.bob]\nfirst = 2026-11-24', 4.0),
        ('[extension.bob]\nfirst = 2026-11-22T13:00:00Z', 3.6),
        ("free_days = 2", 3.6),
        ("free_days = 3", 4.0),
        ("most_days = 2", 0.0),
        ("grace_minutes = 4000", 4.0),
    ],
)  # fmt: skip
def test_extensions_and_free_days(course, more, points_of_bob):
    _, _, path = course
    text = path.read_text()
    path.write_text(
        text.replace("percent_a_day = 10", f"percent_a_day = 10\n{more}")
        if "=" in more.split("\n")[0]
        else text + more
    )
    found = term.totals(term.load_term(path))
    assert found.credits["bob"]["first"].points == pytest.approx(points_of_bob)


def test_groups_attempts_categories_and_strangers(course):
    """One submission for a group; the best of several attempts; the lowest sheet dropped."""
    sheet, out, path = course
    records = [line for line in read(out / "journal.jsonl") if line["kind"] == "hand-in"]
    bob = next(line for line in records if line["student"] == BOB)
    ada = next(line for line in records if line["student"] == ADA)
    with Journal(out / "journal.jsonl") as journal:  # a worse attempt, later, and a stranger
        journal.append(ada | {"exercises": bob["exercises"], "seed": bob["seed"], "sha256": "x",
                              "handed_in": "2026-11-20T20:00:00+00:00"})  # fmt: skip
        journal.append(bob | {"student": "Eve E_99", "lms": {"moodle": "99"}})
    text = path.read_text()
    assert term.totals(term.load_term(path)).credits["ada"]["first"].points == MAX - 3
    path.write_text('attempts = "best"\n' + text)
    found = term.totals(term.load_term(path))
    assert found.credits["ada"]["first"].points == MAX
    assert found.credits["ada"]["first"].attempts == 2
    assert found.strangers == {"first": ["Eve E_99"]}
    assert main(["grade", "term", str(path), "--out", str(out / "t.csv")]) == 1

    second = f"""
[[sheet]]
name = "{sheet}"
title = "second"
results = "later"
category = "exercises"
"""
    with Journal(path.with_name("later") / "journal.jsonl") as journal:
        journal.append(bob | {"student": "Eve E_99", "lms": {"moodle": "99"}})
    text = text.replace('results = "out"', 'results = "out"\ngroups = true\ncategory = "exercises"')
    path.write_text(
        'attempts = "best"\n' + text + "[category.exercises]\ndrop_lowest = 1\n" + second
    )
    found = term.totals(term.load_term(path))
    assert found.credits["bob"]["first"].points == MAX, "the group's best submission"
    assert found.counted["bob"] == ["first"] and found.percent["bob"] > 50


def test_a_sheet_that_is_not_graded_yet_does_not_count(course, capsys):
    sheet, out, path = course
    before = term.totals(term.load_term(path)).percent
    path.write_text(
        path.read_text() + f'[[sheet]]\nname = "{sheet}"\ntitle = "second"\nresults = "later"\n'
    )
    assert term.totals(term.load_term(path)).percent == before
    assert main(["grade", "term", str(path), "--out", str(out / "t.csv")]) == 0
    said = capsys.readouterr().out
    assert "second: not graded yet, so it does not count" in said and "3 students" in said
    assert table(out / "t.csv")["ada"]["second note"] == "not graded yet"
    assert table(out / "t.csv")["ada"]["dropped"] == ""


def test_lateness_that_costs_everything_is_called_so(course):
    _, _, path = course
    path.write_text(path.read_text().replace("[late]", "[late]\nmost_days = 2"))
    note = term.totals(term.load_term(path)).credits["bob"]["first"].note
    assert note == "3 days late, counts nothing"


@pytest.mark.parametrize(
    ("change", "say"),
    [
        (("title", "titel"), "the file has no 'titel'; there are title, roster"),
        (('title = "Autumn"', "title = 3"), "'title' of the file should be a text, not 3"),
        (("[late]", "[sheets]\n[late]"), "the file has no 'sheets'"),
        (("due = 2026-11-21T00:00:00Z", 'due = "tomorrow"'), "'tomorrow' is no date"),
        (("percent_a_day", "percent_per_day"), r"\[late\] has no 'percent_per_day'"),
        (("results = ", "result = "), r"\[\[sheet\]\] '.*sheet.py' has no 'result'"),
        (('results = "out"', "results = 3"), "'results' of .* should be a text, not 3"),
        (("results", 'groups = "no"\nresults'), "'groups' of .* should be true or false, not 'no'"),
        (("results", 'weight = "x"\nresults'), "the weight of .* should be a number from 0 on"),
        (("results", "weight = -1\nresults"), "the weight of .* should be a number from 0 on"),
        (("results", "weight = inf\nresults"), "the weight of .* a number from 0 on, not inf"),
        (("= 10", '= "10"'), r"'percent_a_day' of \[late\] should be .* from 0 to 100, not '10'"),
        (("= 10", "= -10"), "'percent_a_day' .* from 0 to 100, not -10"),
        (("= 10", "= nan"), "'percent_a_day' .* from 0 to 100, not nan"),
        (("= 10", "= true"), "'percent_a_day' .* from 0 to 100, not True"),
        (("[late]", "[late]\nfree_days = 1.5"), "'free_days' .* a whole number from 0 on, not 1.5"),
        (("[late]", "[late]\nfree_days = -3"), "'free_days' .* a whole number from 0 on, not -3"),
        (("good = 55", 'good = "gut"'), r"\[mark\] 'good' should be a number from 0 on, not 'gut'"),
        (("[late]", "[category]\ne = 3\n[late]"), "the category 'e' should be a table, not 3"),
        (
            ("[late]", '[category.e]\ndrop_lowest = "x"\n[late]'),
            "'drop_lowest' of the category 'e' should be a whole number from 0 on, not 'x'",
        ),
        (("[late]", "[extension]\nbob = 3\n[late]"), "extension of 'bob' should be a table of"),
        (("[late]", "[extension.bob]\nfirst = 3\n[late]"), "extension of 'bob': 3 is no date"),
        (("[late]", '[extension.eve]\nfirst = 2026-11-21\n[late]'), "'eve', who is not in the"),
        (("[late]", '[extension.bob]\nother = 2026-11-21\n[late]'), "names 'other', which is no"),
        (("sheet.py", "other.py"), "there is no sheet"),
        (("[[sheet]]", 'attempts = "first"\n[[sheet]]'), 'should be "last" or "best"'),
        (("[mark]", "[mark"), "course.toml: "),
    ],
)  # fmt: skip
def test_what_is_wrong_in_a_course_file_is_named(course, change, say):
    _, _, path = course
    path.write_text(path.read_text().replace(*change, 1))
    with pytest.raises(term.TermError, match=say):
        term.load_term(path)


@pytest.mark.parametrize(
    ("roster", "say"),
    [
        ("student,name\nada,Dörte\n".encode("cp1252"), "roster.csv: it is not in UTF-8; save it"),
        ("student,name\nada,Ada\n".encode("utf-16"), "roster.csv: it is not in UTF-8; save it"),
        (b"student,name\nada," + 200_000 * b"x", "roster.csv: it is no CSV file"),
        (b"name\nAda\n", "roster.csv: it has no column 'student'"),
        (b"", "roster.csv: it has no column 'student'"),
        (b"student\nada\nada\n", "roster.csv: 'ada' is there twice"),
        (None, "roster.csv: No such file"),
    ],
)
def test_what_is_wrong_in_a_roster_is_named(course, tmp_path, capsys, roster, say):
    _, _, path = course
    path.with_name("roster.csv").unlink()
    if roster is not None:
        path.with_name("roster.csv").write_bytes(roster)
    assert main(["grade", "term", str(path), "--out", str(tmp_path / "totals.csv")]) == 2
    assert say in capsys.readouterr().err
    assert not (tmp_path / "totals.csv").exists()


def test_files_that_windows_programs_save_are_read(course):
    """A byte order mark, semicolons, and lines that end in two characters."""
    _, _, path = course
    roster = path.with_name("roster.csv")
    roster.write_bytes(
        b"\xef\xbb\xbf" + roster.read_bytes().replace(b",", b";").replace(b"\n", b"\r\n")
    )
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\r\n"))
    found = term.totals(term.load_term(path))
    assert found.credits["ada"]["first"].points == MAX
