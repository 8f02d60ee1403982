"""Wrong arguments of `minigrad grade`: the message names what is wrong, the status is 2, and no
result changes.
"""

import json
import zipfile

import pytest
from minigrad.lessons.grading import run, sandbox

from minigrad.cli import main
from tests.helpers.grader_libraries import made_once, servers_kept
from tests.helpers.small_class import hand_in, notebook, write_sheet

pytestmark = [pytest.mark.unix, pytest.mark.whole]
TRUST = [] if {"landlock", "seccomp"} <= set(sandbox.probe()["obtained"]) else ["--trust-students"]


@pytest.fixture(scope="module")
def place(tmp_path_factory, libraries_folder):
    """A sheet, graded submissions, and what could be given in their place by mistake."""
    top = tmp_path_factory.mktemp("course")
    write_sheet(top / "sheet")
    hand_in(top / "submitted", "ada", notebook({}))
    hand_in(top / "submitted", "bob", "{]")
    (top / "empty").mkdir()
    (top / "empty" / "readme.txt").write_text("x")
    (top / "one.ipynb").write_text(json.dumps(notebook({})))
    with zipfile.ZipFile(top / "all.zip", "w") as archive:
        archive.writestr("ada_1_2_small.ipynb", json.dumps(notebook({})))
    (top / "cut.zip").write_bytes((top / "all.zip").read_bytes()[:-30])
    write_sheet(top / "another")
    (top / "another" / "small.ipynb").rename(top / "another" / "other.ipynb")
    (top / "no-sheet").mkdir()
    (top / "listless.ipynb").write_text("[]")
    with (
        made_once(libraries_folder),
        servers_kept(libraries_folder),
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setattr(run, "bubblewrap_works", lambda work: False)
        patch.chdir(top)
        status = main(["grade", "run", "sheet", "submitted", "--out", "results", *TRUST])
        assert status == 1, "bob's is no notebook"
        yield top


RUN, OUT = ["run", "sheet", "submitted"], ["--out", "results"]


@pytest.mark.parametrize(
    ("words", "say"),
    [
        (
            ["run", "nothing.ipynb", "submitted", *OUT],
            "there is no sheet nothing.ipynb. Give an instructor's notebook, a sheet.py",
        ),
        (["run", "99", "submitted", *OUT], "there is no sheet 99."),
        (
            ["run", "no-sheet", "submitted", "--out", "new"],
            "no-sheet: expected a sheet.py or one notebook, found 0 notebooks",
        ),
        (
            ["run", "all.zip", "submitted", "--out", "new"],
            "all.zip: not a notebook: it is not valid JSON",
        ),
        (
            ["run", "listless.ipynb", "submitted", "--out", "new"],
            "listless.ipynb: not a notebook: it has no list of cells",
        ),
        (["run", "sheet", "nothing", *OUT], "there is nothing at nothing"),
        (
            ["run", "sheet", "empty", *OUT],
            "there are no submissions in empty: neither folders of students nor notebooks nor"
            " zips.",
        ),
        (
            ["run", "sheet", "one.ipynb", *OUT],
            "one.ipynb is one file. Give the folder (or the zip) of all submissions",
        ),
        (
            ["run", "sheet", "cut.zip", *OUT],
            "cut.zip cannot be read as a zip. Was it downloaded to its end?",
        ),
        ([*RUN, "--out", "one.ipynb"], "one.ipynb is a file. Give --out a folder"),
        ([*RUN, "--out", "one.ipynb/results"], "one.ipynb/results: Not a directory"),
        (
            ["run", "another", "submitted", *OUT],
            (
                "results holds the results of small, not of other. Give each sheet a folder of its"
                " own."
            ),
        ),
        (["regrade", "another", *OUT], "results holds the results of small, not of other."),
        (
            ["regrade", "sheet", "--out", "new"],
            "there is no journal in new: `minigrad grade run SHEET SUBMITTED --out new` writes it.",
        ),
        (["appeal", "sheet", "ada", "--out", "new"], "there is no journal in new"),
        (
            ["appeal", "sheet", "adda", *OUT],
            "there is no 'adda' in the journal of results; did you mean 'ada'?",
        ),
        (["appeal", "sheet", "zzz", *OUT], "there is no 'zzz' in the journal of results"),
        (["export", "sheet", "--out", "new", "--pages", "pages"], "there is no journal in new"),
        (
            ["export", "sheet", *OUT],
            "say what to write: --canvas, --moodle, --gradescope, --nbgrader, --pages",
        ),
        (
            ["export", "sheet", *OUT, "--canvas", "nothing.csv"],
            "nothing.csv: No such file or directory",
        ),
        (["export", "sheet", *OUT, "--report", "empty"], "empty: Is a directory"),
        (["export", "sheet", *OUT, "--pages", "one.ipynb"], "one.ipynb: File exists"),
        (["sheet", "no-sheet"], "found 0 notebooks"),
    ],
    ids=lambda given: " ".join(given) if isinstance(given, list) else "",
)
def test_the_message_names_what_is_wrong(place, capsys, words, say):
    before = {path: path.read_bytes() for path in (place / "results").glob("*.csv")}
    assert len(before) == 2
    status = main(["grade", *words, *(TRUST if words[0] == "run" else [])])
    told = capsys.readouterr()
    assert status == 2
    assert told.out == ""
    message = told.err.splitlines()[0]
    assert message.startswith("minigrad: ")
    assert (
        say.replace("one.ipynb/", str(place) + "/one.ipynb/") in message
        if "/results" in say
        else say in message
    )
    assert "Errno" not in told.err and "Traceback" not in told.err
    assert {path: path.read_bytes() for path in (place / "results").glob("*.csv")} == before
    assert not (place / "new" / "journal.jsonl").exists()


@pytest.mark.parametrize("number", ["0", "-1", "two", "1.5"])
def test_a_number_of_jobs_below_one_is_refused(place, capsys, number):
    assert main(["grade", *RUN, *OUT, f"--jobs={number}"]) == 2
    assert f"argument --jobs: {number!r} is not a whole number from 1 on" in capsys.readouterr().err


def test_help_lists_the_exit_statuses(capsys):
    assert main(["grade", "--help"]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "exit status of run and regrade: 0 all graded; 1 some need a person" in told
    assert "2 no submission was graded" in told


def test_the_instructor_is_told_of_a_student_with_two_notebooks(tmp_path, capsys):
    write_sheet(tmp_path / "sheet")
    hand_in(tmp_path / "submitted", "ada", notebook({}))
    hand_in(tmp_path / "submitted", "ada", notebook({}), "small (1).ipynb")
    assert (
        main(
            [
                "grade",
                "run",
                str(tmp_path / "sheet"),
                str(tmp_path / "submitted"),
                "--out",
                str(tmp_path / "out"),
                *TRUST,
            ]
        )
        == 0
    )
    assert "  ada: 2 notebooks were handed in; " in capsys.readouterr().out
