"""Finding and reading submissions: every layout, and files that are anything but notebooks."""

import json
import os
import stat
import time
import unicodedata
import zipfile
from pathlib import Path

import pytest
from minigrad.lessons.grading import chinese, submissions, submitted_notebooks, submitted_zips
from minigrad.lessons.grading.sheet import load_sheet

from tests.helpers.small_class import F, hand_in, notebook, write_sheet


@pytest.fixture
def sheet(tmp_path):
    return load_sheet(write_sheet(tmp_path / "sheet"))


@pytest.fixture
def find(sheet, tmp_path):
    def run(submitted: Path | list[Path]) -> dict[str, submissions.Submission]:
        unpacked = tmp_path / f"unpacked{len(os.listdir(tmp_path))}"
        unpacked.mkdir()
        return {h.student: h for h in submissions.find(submitted, sheet, unpacked)}

    return run


def write(path: Path, content: dict | str | bytes, age: float = 0) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    data = json.dumps(content) if isinstance(content, dict) else content
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    if age:
        os.utime(path, (1.6e9 - age, 1.6e9 - age))
    return path


def test_nbgrader_s_folders(find, tmp_path):
    hand_in(tmp_path / "submitted", "ada", notebook({}))
    hand_in(tmp_path / "submitted", "bob", notebook({}))
    write(tmp_path / "submitted" / "ada" / "small" / "timestamp.txt", "2026-01-31")
    write(
        tmp_path / "submitted" / "ada" / "small" / ".ipynb_checkpoints" / "small-checkpoint.ipynb",
        notebook({}),
    )
    found = find(tmp_path / "submitted")
    assert list(found) == ["ada", "bob"]
    assert found["ada"].path == tmp_path / "submitted" / "ada" / "small" / "small.ipynb"
    assert [path.name for path in found["ada"].beside] == ["timestamp.txt"]
    assert not found["ada"].note


def test_a_flat_folder(find, tmp_path):
    for name in (
        "ada.ipynb",
        "bob_small.ipynb",
        "small-cem (1).ipynb",
        "notes.txt",
        ".hidden.ipynb",
    ):
        write(tmp_path / "s" / name, notebook({}))
    assert list(find(tmp_path / "s")) == ["ada", "bob", "cem"]


@pytest.mark.parametrize(
    "name",
    ["small (1).ipynb", "small-copy1.ipynb", "small.IPYNB", "my answer.ipynb", "Small Copy.ipynb"],
)
def test_a_renamed_notebook_counts(find, tmp_path, name):
    path = hand_in(tmp_path / "s", "ada", notebook({}), name)
    assert find(tmp_path / "s")["ada"].path == path


def test_of_two_candidates_the_newest_counts_and_it_says_so(find, tmp_path):
    write(tmp_path / "s" / "ada" / "small.ipynb", notebook({}), age=100)
    newest = write(tmp_path / "s" / "ada" / "small (1).ipynb", notebook({}), age=50)
    write(
        tmp_path / "s" / "ada" / "other.ipynb",
        {"cells": [{"cell_type": "code", "metadata": {}, "source": "import numpy"}]},
    )
    found = find(tmp_path / "s")["ada"]
    assert found.path == newest
    assert "small (1).ipynb, the newest, counts" in found.note and "other" not in found.note


@pytest.fixture
def with_stubs(tmp_path):
    """The sheet with its answers between markers, and the notebook that students get."""
    folder = tmp_path / "with stubs"
    write_sheet(folder)
    book = notebook({"f": f"f = ...\n### BEGIN SOLUTION\n{F}\n### END SOLUTION"})
    (folder / "small.ipynb").write_text(json.dumps(book))
    return load_sheet(folder / "sheet.py"), notebook({"f": "f = ..."})


@pytest.mark.parametrize(
    ("worked", "as_handed_out", "say"),
    [
        ("small.ipynb", "small (1).ipynb", "small.ipynb, the newest with work in it, counts"),
        ("my work.ipynb", "small.ipynb", ""),
        ("Copy of small.ipynb", "my work.ipynb", ""),
        ("small - Kopie.ipynb", "small.ipynb", "small - Kopie.ipynb, the newest with work in it"),
        ("small - 副本.ipynb", "small.ipynb", "small - 副本.ipynb, the newest with work in it"),
    ],
)
def test_the_sheet_as_it_was_handed_out_replaces_no_work(
    with_stubs, tmp_path, worked, as_handed_out, say
):
    sheet, students = with_stubs
    write(tmp_path / "s" / "ada" / worked, notebook({}), age=100)
    write(tmp_path / "s" / "ada" / as_handed_out, students, age=50)
    write(tmp_path / "s" / "bob" / "small.ipynb", students, age=50)
    (tmp_path / "unpacked").mkdir()
    ada, bob = submissions.find(tmp_path / "s", sheet, tmp_path / "unpacked")
    assert ada.path == tmp_path / "s" / "ada" / worked
    assert ada.note.startswith("2 notebooks were handed in; " + say) if say else not ada.note
    assert bob.path and not bob.note


def _cells_of_another_sheet() -> dict:
    metadata = {
        "nbgrader": {
            "schema_version": 3,
            "grade_id": "mul",
            "solution": True,
            "grade": False,
            "locked": False,
            "task": False,
        }
    }
    return {"cells": [{"cell_type": "code", "id": "mul", "metadata": metadata, "source": F}]}


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (notebook({}), True),
        (
            {
                "cells": [
                    {"cell_type": "code", "metadata": {}, "source": "import numpy as np\n" + F}
                ]
            },
            True,
        ),
        ({"cells": [{"cell_type": "code", "metadata": {}, "source": "  f = 3\nprint(f)"}]}, False),
        (_cells_of_another_sheet(), False),
        ("no notebook", False),
    ],
    ids=["the sheet's cells", "an answer without ids", "another f", "another sheet", "no notebook"],
)
def test_work_in_a_notebook_with_another_name_is_not_looked_at_and_that_is_reported(
    find, tmp_path, content, told
):
    own = write(tmp_path / "s" / "ada" / "small.ipynb", notebook({}), age=100)
    write(tmp_path / "s" / "ada" / "final.ipynb", content)
    found = find(tmp_path / "s")["ada"]
    assert found.path == own
    assert found.note == (
        "final.ipynb was not looked at: small.ipynb counts, because it has the sheet's own name."
        if told
        else ""
    )


def test_names_that_differ_only_in_what_cannot_be_written_are_two_students(find, tmp_path):
    for name in ("ada\u200b", "ada ", "x" * 120 + "a", "x" * 120 + "b"):
        hand_in(tmp_path / "s", name, notebook({}))
    found = find(tmp_path / "s")
    assert len(found) == 4 and len({h.path for h in found.values()}) == 4


@pytest.mark.parametrize(
    "kind", ["a link to what never ends", pytest.param("a pipe", marks=pytest.mark.unix)]
)
def test_what_is_no_ordinary_file_is_not_waited_for(sheet, find, tmp_path, kind):
    path = tmp_path / "s" / "ada.ipynb"
    path.parent.mkdir()
    if kind == "a pipe":
        os.mkfifo(path)
    else:
        path.symlink_to("/dev/zero")
    with pytest.raises(submitted_notebooks.SubmissionError, match="no ordinary file"):
        submitted_notebooks.load(find(tmp_path / "s")["ada"].path)
    assert submissions.digest(path, [path]) != submissions.digest(tmp_path / "s" / "none", [])


def test_of_a_file_with_a_hole_no_more_is_read_than_can_matter(tmp_path, monkeypatch):
    monkeypatch.setattr(submitted_notebooks, "FILE_BYTES", 1 << 20)
    monkeypatch.setattr(submissions, "BESIDE_BYTES", 1 << 20)
    path = tmp_path / "large.ipynb"
    with path.open("wb") as file:
        file.truncate(1 << 40)
    assert len(submissions.digest(path, [path])) == 64
    with pytest.raises(submitted_notebooks.SubmissionError, match="more than"):
        submitted_notebooks.load(path)


def test_a_file_that_would_take_much_more_memory_than_it_is_long_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(submitted_notebooks, "LISTS", 1000)
    monkeypatch.setattr(submitted_notebooks, "VALUES", 1000)
    for text in (
        '{"cells": [' + "[]" * 1001 + "]}",
        '{"cells": [' + "0," * 1001 + "0]}",
        "{" * 1001,
    ):
        with pytest.raises(submitted_notebooks.SubmissionError, match="too many values"):
            submitted_notebooks.load(write(tmp_path / "bomb.ipynb", text))


def test_other_notebooks_are_distinguished_by_their_cells(find, tmp_path):
    mine = write(tmp_path / "s" / "ada" / "homework.ipynb", notebook({}))
    write(tmp_path / "s" / "ada" / "scratch.ipynb", {"cells": [], "metadata": {}})
    assert find(tmp_path / "s")["ada"].path == mine
    write(tmp_path / "s" / "bob" / "a.ipynb", {"cells": []})
    write(tmp_path / "s" / "bob" / "b.ipynb", "broken")
    assert "None of the 2 notebooks" in find(tmp_path / "s")["bob"].problem


def test_nothing_handed_in(find, tmp_path):
    write(tmp_path / "s" / "ada" / "small.pdf", b"%PDF")
    (tmp_path / "s" / "bob").mkdir()
    found = find(tmp_path / "s")
    assert all(
        found[name].path is None and "No notebook" in found[name].problem for name in ("ada", "bob")
    )


@pytest.mark.parametrize("flag", [True, False], ids=["O_NOFOLLOW", "as on Windows"])
def test_links_are_no_hand_ins(find, tmp_path, monkeypatch, flag):
    if not flag:
        monkeypatch.delattr(submitted_notebooks.os, "O_NOFOLLOW", raising=False)
    secret = write(tmp_path / "secret.ipynb", notebook({}))
    (tmp_path / "s" / "ada").mkdir(parents=True)
    (tmp_path / "s" / "ada" / "small.ipynb").symlink_to(secret)
    (tmp_path / "s" / "bob").symlink_to(tmp_path)
    (tmp_path / "s" / "cem.ipynb").symlink_to(secret)
    found = find(tmp_path / "s")
    assert found["ada"].path is None
    with pytest.raises(submitted_notebooks.SubmissionError, match="no ordinary file"):
        submitted_notebooks.load(found["cem"].path)


def test_linked_zips_and_folders_are_not_followed_and_their_students_are_told(find, tmp_path):
    secret = packed(tmp_path / "secret.zip", {"small.ipynb": notebook({})})
    write(tmp_path / "elsewhere" / "small.ipynb", notebook({}))
    folder = tmp_path / "s"
    write(folder / "ada.ipynb", notebook({}))
    (folder / "fay").mkdir()
    for link, leads_to in {
        "bob": tmp_path / "elsewhere", "cem": tmp_path / "nowhere", "dan.zip": tmp_path / "nowhere",
        "eve.zip": secret, "fay/hw.zip": secret, "gil.ipynb": tmp_path / "nowhere",
        "hal_1_2_a.ipynb": tmp_path / "nowhere", "hal_1_3_b.ipynb": tmp_path / "nowhere",
    }.items():  # fmt: skip
        (folder / link).symlink_to(leads_to)
    found = find(folder)
    assert list(found) == ["ada", "bob", "cem", "dan", "eve", "fay", "gil", "hal_1"]
    assert [name for name, h in found.items() if h.path] == ["ada", "gil"]
    assert all("no ordinary file" in found[name].problem for name in ("bob", "cem", "dan", "eve"))
    with pytest.raises(submitted_notebooks.SubmissionError):
        submitted_notebooks.load(found["gil"].path)


def test_canvas_and_moodle_zips(find, tmp_path):
    def zipped(path: Path, names: dict[str, dict]) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        with zipfile.ZipFile(path, "w") as archive:
            for name, content in names.items():
                archive.writestr(name, json.dumps(content))
        return path

    canvas = zipped(
        tmp_path / "canvas.zip",
        {
            "leejune_12345_678_small.ipynb": notebook({}),
            "leejune_LATE_99_679_small-1.ipynb": notebook({}),
            "o_7_8_small.ipynb": notebook({}),
        },
    )
    found = find(canvas)
    assert {name: h.lms for name, h in found.items()} == {
        "leejune_12345": {"canvas": "12345", "prefix": "leejune_12345_678"},
        "leejune_99": {"canvas": "99", "prefix": "leejune_LATE_99_679"},
        "o_7": {"canvas": "7", "prefix": "o_7_8"},
    }
    assert all(h.path and not h.problem for h in found.values())
    moodle = zipped(
        tmp_path / "m" / "moodle.zip",
        {
            "Ada Lovelace_41_assignsubmission_file_/small.ipynb": notebook({}),
            "Bob_42_assignsubmission_file_small.ipynb": notebook({}),
        },
    )
    assert {h.lms["moodle"] for h in find(moodle).values()} == {"41", "42"}
    assert {h.lms["prefix"] for h in find(moodle).values()} == {
        "Ada Lovelace_41_assignsubmission_file", "Bob_42_assignsubmission_file"
    }  # fmt: skip
    zipped(tmp_path / "z" / "ada.zip", {"work/small.ipynb": notebook({})})
    zipped(tmp_path / "z" / "bob" / "small" / "mine.zip", {"small.ipynb": notebook({})})
    found = find(tmp_path / "z")
    assert found["ada"].path.name == found["bob"].path.name == "small.ipynb"


@pytest.mark.parametrize("layout", ["the system's zip", "files in a folder"])
@pytest.mark.parametrize(
    "beginning",
    ["ada_5003_{}_", "ada_LATE_5003_{}_", "van_dyke_5003_{}_", "anon_aB12c_{}_",
     "Ada L_77_assignsubmission_file_"],
)  # fmt: skip
def test_all_files_that_a_student_sent_one_by_one_are_there(find, tmp_path, beginning, layout):
    """Under the names that the student gave them, also where Canvas has numbered a second copy."""
    sent = ["small.ipynb", "helper.py", "data-1.csv", "rows-1.csv", "rows-2.csv", "more.zip"]
    more = packed(tmp_path / "more.zip", {"tables/t.csv": b"1"})
    content = {"small.ipynb": json.dumps(notebook({})).encode(), "more.zip": more.read_bytes()}
    names = {
        beginning.format(70_000 + number) + name: content.get(name, name.encode())
        for number, name in reversed(list(enumerate(sent)))
    }
    names |= {"bob_5004_1_small.ipynb": content["small.ipynb"], "bob_5004_2_helper.py": b"bob"}
    if layout == "files in a folder":
        for name, data in names.items():
            write(tmp_path / "s" / name, data)
    (ada,) = [
        h
        for h in find(
            tmp_path / "s" if layout != "the system's zip" else packed(tmp_path / "all.zip", names)
        ).values()
        if h.student != "bob_5004"
    ]
    files = submissions.named(ada.path, ada.beside)
    for name, data in {"helper.py": b"helper.py", "rows-1.csv": b"rows-1.csv",
                       "rows-2.csv": b"rows-2.csv", "tables/t.csv": b"1",
                       "more.zip": content["more.zip"]}.items():  # fmt: skip
        assert files[name].read_bytes() == data, name
    assert files["data-1.csv"] == files["data.csv"], "the first copy that Canvas has"
    assert "rows.csv" not in files, "of two it is not known which"
    assert ada.lms["prefix"] == beginning.format(70_000).rstrip("_"), "the notebook's"


def test_who_sent_no_notebook_is_in_the_list_and_told_why(find, tmp_path):
    names = {
        "ada_1_2_small.ipynb": notebook({}), "bob_2_3_small.rar": b"x", "cem_3_4_small.pdf": b"x",
        "dan_4_text.html": b"x", "eve_LATE_5_link.html": b"x",
    }  # fmt: skip
    found = find(packed(tmp_path / "all.zip", names))
    assert set(found) == {"ada_1", "bob_2", "cem_3", "dan_4", "eve_5"}
    assert found["cem_3"].problem == (
        "No notebook (a file that ends in .ipynb) was handed in. What was handed in: small.pdf."
    )
    assert found["bob_2"].problem.endswith("small.rar. Of archives, only zips are unpacked.")
    assert found["bob_2"].handed_in and found["eve_5"].lms["canvas"] == "5"
    moodle = {
        "Ada L_1_assignsubmission_file_small.docx": b"x",
        "Bob B_2_assignsubmission_onlinetext_onlinetext.html": b"x",
    }
    assert set(find(packed(tmp_path / "moodle.zip", moodle))) == {"Ada L_1", "Bob B_2"}


def test_names_with_line_breaks_and_of_any_length_take_no_time(find, tmp_path):
    eve = packed(tmp_path / "s" / "eve.zip", {"1_" * 30_000 + "\nx": b"", "a_1_2_b\nc": b""})
    write(tmp_path / "s" / "ada_1_2_small\n.ipynb", notebook({}))
    start = time.process_time()
    found = find(eve.parent)
    assert time.process_time() - start < 5
    assert set(found) == {"ada_1", "eve"} and found["ada_1"].path


def test_names_of_nothing_that_is_drawn_can_be_seen_and_differ(find, tmp_path):
    """The instructor's index had a link that could be neither seen nor clicked."""
    for name in (" ", "\u3164", "\u2800\u2800"):
        hand_in(tmp_path / "submitted", name, notebook({}))
    found = find(tmp_path / "submitted")
    assert len(found) == 3
    assert all(name.startswith("unnamed~") for name in found)


def test_a_zip_in_a_zip_is_named(find, tmp_path):
    with zipfile.ZipFile(tmp_path / "inner.zip", "w") as inner:
        inner.writestr("small.ipynb", json.dumps(notebook({})))
    (tmp_path / "submitted").mkdir()
    with zipfile.ZipFile(tmp_path / "submitted" / "ada.zip", "w") as outer:
        outer.write(tmp_path / "inner.zip", "inner.zip")
    said = find(tmp_path / "submitted")["ada"].problem
    assert said.endswith("A zip in a zip is not unpacked.")
    assert chinese.said(said).endswith("zip 里的 zip 不会被解压。")


def test_files_of_no_student_are_named(sheet, tmp_path):
    for name in ("ada.ipynb", "yan.pdf", "notes\x1b.txt", ".hidden", "submission_metadata.yml"):
        write(tmp_path / "s" / name, notebook({}))
    left_out: list[str] = []
    (tmp_path / "unpacked").mkdir()
    (found,) = submissions.find(tmp_path / "s", sheet, tmp_path / "unpacked", left_out)
    assert found.student == "ada" and left_out == ["notes .txt", "yan.pdf"]


@pytest.mark.parametrize(
    "names",
    [
        ["group-1.ipynb", "group-2.ipynb", "group-11.ipynb"],
        ["small.ipynb", "small (1).ipynb", "small-2.ipynb", "small - Copy.ipynb"],
        ["x.copy.ipynb", "photocopy.ipynb", "photo.ipynb"],
        ["team_small-1.ipynb", "team-1.ipynb"],
    ],
)
def test_names_that_differ_in_more_than_a_copy_s_number_are_different_students(
    find, tmp_path, names
):
    for name in names:
        write(tmp_path / "s" / name, notebook({}))
    found = find(tmp_path / "s")
    assert {h.path.name for h in found.values()} == set(names)


def test_a_sheet_whose_name_ends_in_a_number(tmp_path):
    write_sheet(tmp_path / "sheet")
    (tmp_path / "sheet" / "small.ipynb").rename(tmp_path / "sheet" / "homework-1.ipynb")
    sheet = load_sheet(tmp_path / "sheet")
    other = notebook({}, "other = 1")
    for name in ("ada_homework-1.ipynb", "homework-1-bob.ipynb", "homework-1_cem-1 (1).ipynb"):
        write(tmp_path / "s" / name, notebook({}))
    write(tmp_path / "s" / "dan" / "homework-1.ipynb", notebook({}), age=100)
    write(tmp_path / "s" / "dan" / "homework-2.ipynb", other)
    (tmp_path / "u").mkdir()
    found = {h.student: h for h in submissions.find(tmp_path / "s", sheet, tmp_path / "u")}
    assert set(found) == {"ada", "bob", "cem-1", "dan"}
    assert found["dan"].path.name == "homework-1.ipynb"


def test_long_names_stay_different_and_keep_their_endings(find, tmp_path):
    """Of letters of three bytes, 85 are as many as a file system takes."""
    names = [f"Ada L_1_assignsubmission_file_{'梯度' * 60}{i}.ipynb" for i in (1, 2)]
    names += ["Bob B_2_assignsubmission_file_" + "x" * 140 + ".ipynb"]
    found = find(packed(tmp_path / "all.zip", dict.fromkeys(names, notebook({}))))
    assert set(found) == {"Ada L_1", "Bob B_2"} and all(h.path for h in found.values())
    assert found["Ada L_1"].note.startswith("2 notebooks were handed in")
    names = [f"{name}/small.ipynb" for name in ("ada\u200b", "ada\u200c", "ada", "x" * 300)]
    names += ["x" * 301 + "/small.ipynb"]
    found = find(packed(tmp_path / "folders.zip", dict.fromkeys(names, notebook({}))))
    assert len(found) == 5 and "ada" in found
    alone = find(packed(tmp_path / "one.zip", {names[0]: notebook({})}))
    assert set(alone) < set(found), "a name does not depend on who else has handed in"


def test_what_other_programs_pack_is_found_under_its_own_name(find, tmp_path):
    name = "données/été.csv"
    path = packed(
        tmp_path / "s" / "ada.zip",
        {"lesson 10:30/small.ipynb": notebook({}), "__MACOSX/._small.ipynb": b"x"},
    )
    with zipfile.ZipFile(path, "a") as archive:
        entry = zipfile.ZipInfo("lesson 10:30/" + unicodedata.normalize("NFD", name))
        archive.writestr(entry, "1")
    data = path.read_bytes()  # without the flag that says UTF-8, as macOS writes it
    for mark, at in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        start = data.rindex(mark)
        flags = int.from_bytes(data[start + at : start + at + 2], "little") & ~0x800
        data = data[: start + at] + flags.to_bytes(2, "little") + data[start + at + 2 :]
    path.write_bytes(data)
    found = find(tmp_path / "s")["ada"]
    assert found.path.name == "small.ipynb"
    assert submissions.named(found.path, found.beside)[name].read_text() == "1"


def test_a_zip_that_makes_its_reader_fail_in_any_way_costs_only_itself(find, tmp_path, monkeypatch):
    folder = tmp_path / "s"
    write(folder / "ada.ipynb", notebook({}))
    with zipfile.ZipFile(folder / "bob.zip", "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr("small.ipynb", json.dumps(notebook({})))
    data = bytearray((folder / "bob.zip").read_bytes())
    data[50:60] = b"\xff" * 10
    (folder / "bob.zip").write_bytes(data)
    packed(folder / "cem.zip", {f"{n}.txt": b"" for n in range(50)})
    packed(folder / "dan.zip", {"a": b"", "a/small.ipynb": b"x", "b/c": b"", "b": b""})
    monkeypatch.setattr(submitted_zips, "LIST_BYTES", 1000)
    found = find(folder)
    assert found["ada"].path and "cannot be unpacked" in found["bob"].problem
    assert "more than 50,000 files" in found["cem"].problem
    assert "No notebook" in found["dan"].problem, "a file that has the name of a folder"


@pytest.mark.parametrize(
    ("folder", "counts"),
    [
        ("submitted/ada", True), ("submitted/Ada L_1_assignsubmission_file_", False),
        ("small-submissions/small-ada", False), ("submitted/ada/inner", False),
    ],
)  # fmt: skip
def test_only_nbgrader_s_own_timestamp_says_when(find, tmp_path, folder, counts):
    """In a folder that another system made, all that lies in it is the student's."""
    path = tmp_path / folder / "small" / "small.ipynb"
    write(path, notebook({}))
    os.utime(path, (1.7e9, 1.7e9))
    write(path.with_name("timestamp.txt"), "2020-01-31 12:00:00 UTC")
    (found,) = find(tmp_path / folder.partition("/")[0]).values()
    assert found.handed_in == f"{'2020-01-31T12:00:00' if counts else '2023-11-14T22:13:20'}+00:00"


def test_gradescope_s_zip_as_it_came(find, tmp_path):
    metadata = b"submission_7:\n  :submitters:\n  - :name: Ada Lovelace\n    :sid: '41'\n"
    names = {"submission_metadata.yml": metadata, "submission_7/small.ipynb": notebook({})}
    export = {f"assignment_12_export/{name}": content for name, content in names.items()}
    assert set(find(packed(tmp_path / "export.zip", export))) == {"Ada Lovelace"}
    imitation = {f"eve/{name}": content for name, content in names.items()}
    assert set(find(packed(tmp_path / "class.zip", imitation))) == {"eve"}


def test_of_what_was_unpacked_only_what_counts_stays(find, tmp_path):
    packed(tmp_path / "hw.zip", {"work/small.ipynb": notebook({}), "work/a.csv": b"1", "b": b"2"})
    data = (tmp_path / "hw.zip").read_bytes()
    path = packed(
        tmp_path / "all.zip",
        {"ada_1_2_hw.zip": data, "bob_2_3_small.pdf": data, ".x/y": data, "cem/small.ipynb": data},
    )
    found = find(path)
    (unpacked,) = tmp_path.glob("unpacked*")
    left = {file.name for file in unpacked.rglob("*") if file.is_file()}
    assert left == {"small.ipynb", "a.csv"} and found["cem"].path


def test_hostile_zips(find, tmp_path, monkeypatch):
    (tmp_path / "z").mkdir()
    with zipfile.ZipFile(tmp_path / "z" / "slip.zip", "w") as archive:
        for name in (
            "../../slipped.ipynb",
            "/slipped.ipynb",
            "..\\slipped.ipynb",
            "C:\\slipped.ipynb",
            "a/../../../slipped.ipynb",
        ):
            archive.writestr(name, "{}")
        link = zipfile.ZipInfo("link.ipynb")
        link.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(link, "/etc/hostname")
        archive.writestr("small.ipynb", json.dumps(notebook({})))
    with zipfile.ZipFile(tmp_path / "z" / "bomb.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("small.ipynb", bytes(3 << 20))
    (tmp_path / "z" / "broken.zip").write_bytes(b"PK\x03\x04 nothing")
    (tmp_path / "z" / "text.zip").write_bytes(b"hello")
    monkeypatch.setattr(submissions, "ZIP_BYTES", 1 << 20)
    found = find(tmp_path / "z")
    assert found["slip"].path.name == "small.ipynb" and not found["slip"].path.is_symlink()
    assert "MB" in found["bomb"].problem
    assert all("cannot be unpacked" in found[name].problem for name in ("broken", "text"))
    assert (
        not list(tmp_path.rglob("slipped*"))
        and not list(tmp_path.rglob("link.ipynb"))
        and not Path("/slipped.ipynb").exists()
    )


def test_a_zip_that_lies_about_sizes(find, tmp_path):
    path = tmp_path / "z" / "liar.zip"
    path.parent.mkdir()
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("small.ipynb", b" " * 100_000)
    data = path.read_bytes()
    path.write_bytes(data.replace((100_000).to_bytes(4, "little"), (10).to_bytes(4, "little")))
    assert find(path.parent)["liar"].problem


def packed(path: Path, names: dict[str, bytes | dict], when=(2026, 3, 1, 12, 0, 0)) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in names.items():
            data = json.dumps(content).encode() if isinstance(content, dict) else content
            archive.writestr(zipfile.ZipInfo(name, when), data, zipfile.ZIP_DEFLATED)
    return path


@pytest.mark.parametrize(
    ("bob", "imitation", "eve"),
    [
        ("bob_5001_70001_small.ipynb", "bob_5001_70009_small.ipynb", "eve_5002_70002_hw.zip"),
        (
            "Bob B_77_assignsubmission_file_small.ipynb",
            "Bob B_77_assignsubmission_file_small.ipynb",
            "Eve E_78_assignsubmission_file_hw.zip",
        ),
    ],
)
@pytest.mark.parametrize("layout", ["the system's zip", "files in a folder"])
def test_a_student_s_zip_never_makes_a_submission_of_another_student(
    find, tmp_path, bob, imitation, eve, layout
):
    wrong = packed(
        tmp_path / "hw.zip",
        {imitation: notebook({"f": "def f(x, y):\n    return 0"})},
        (2090, 1, 1, 0, 0, 0),
    )
    right = notebook({})
    if layout == "files in a folder":
        write(tmp_path / "s" / bob, right)
        write(tmp_path / "s" / eve, wrong.read_bytes())
        found = find(tmp_path / "s")
    else:
        found = find(packed(tmp_path / "all.zip", {bob: right, eve: wrong.read_bytes()}))
    assert len(found) == 2
    (mine,), (hers,) = (
        [h for name, h in found.items() if name.lower().startswith(who)] for who in ("bob", "eve")
    )
    assert json.loads(mine.path.read_text()) == right and not mine.note
    assert "return 0" in hers.path.read_text(), "and it is graded as Eve's own"


@pytest.mark.parametrize("others", [[], ["cem.zip"], ["cem.ipynb"]])
def test_a_zip_in_a_folder_is_a_student_s_whatever_it_holds(find, tmp_path, others):
    imitation = packed(
        tmp_path / "late" / "eve.zip",
        {
            "bob_5001_70001_small.ipynb": notebook({}),
            "fay_5002_70002_small.ipynb": notebook({}, "x = 1"),
        },
        (2090, 1, 1, 0, 0, 0),
    )
    os.utime(imitation, (1.7e9, 1.7e9))
    for name in others:
        (tmp_path / "late" / name).write_bytes(imitation.read_bytes())
    found = find(tmp_path / "late")
    assert set(found) == {"eve", *(name.partition(".")[0] for name in others)}
    assert found["eve"].handed_in == "2023-11-14T22:13:20+00:00"
    assert "eve.zip was taken for the zip of one student, although" in found["eve"].flags[0]
    assert "was taken" not in found["eve"].note, "which the student reads"


def test_several_folders_and_zips_are_one_class(find, tmp_path):
    monday = packed(tmp_path / "monday.zip", {"ada_1_70001_small.ipynb": notebook({})})
    friday = packed(
        tmp_path / "friday.zip",
        {"ada_1_70009_small-1.ipynb": notebook({}, "newer = 1"), "bob_2_70002_small.ipynb": F},
        (2026, 3, 5, 12, 0, 0),
    )
    write(tmp_path / "mail" / "cem.ipynb", notebook({}))
    found = find([monday, friday, tmp_path / "mail"])
    assert set(found) == {"ada_1", "bob_2", "cem"}
    assert "newer = 1" in found["ada_1"].path.read_text() and "2 notebooks" in found["ada_1"].note
    assert found["ada_1"].lms == {"canvas": "1", "prefix": "ada_1_70009"}


def test_no_file_of_a_class_s_zip_was_handed_in_after_the_zip_was_made(find, tmp_path):
    path = packed(
        tmp_path / "all.zip", {"ada_1_2_small.ipynb": notebook({})}, (2090, 1, 1, 0, 0, 0)
    )
    os.utime(path, (1.7e9, 1.7e9))
    assert find(path)["ada_1"].handed_in == "2023-11-14T22:13:20+00:00"


def test_a_date_within_a_zip_does_not_make_a_notebook_newer_than_the_zip(find, tmp_path):
    path = packed(
        tmp_path / "s" / "ada" / "old.zip",
        {"small.ipynb": notebook({}, "old = 1")},
        (2090, 1, 1, 0, 0, 0),
    )
    os.utime(path, (1.6e9, 1.6e9))
    write(tmp_path / "s" / "ada" / "small (1).ipynb", notebook({}, "new = 1"))
    assert "new = 1" in find(tmp_path / "s")["ada"].path.read_text()


def test_the_zips_of_one_student_share_one_limit_and_leave_only_what_counts(
    find, tmp_path, monkeypatch
):
    monkeypatch.setattr(submissions, "ZIP_BYTES", 3 << 20)
    for number in range(4):
        packed(tmp_path / "s" / "eve" / f"{number}.zip", {f"{number}.bin": bytes(1 << 20)})
    write(tmp_path / "s" / "eve" / "small.ipynb", notebook({}))
    assert find(tmp_path / "s")["eve"].path.name == "small.ipynb"
    assert sum(path.stat().st_size for path in tmp_path.rglob("*.bin")) == 0
    monkeypatch.setattr(submissions, "ZIPS", 2)
    packed(tmp_path / "t" / "eve" / "9.zip", {"small.ipynb": notebook({})})
    for number in range(3):
        packed(tmp_path / "t" / "eve" / f"{number}.zip", {"a.txt": b"a"})
    assert "More than 2 zips" in find(tmp_path / "t")["eve"].problem


def test_of_an_enormous_file_in_the_class_s_zip_no_more_is_written_than_is_read(
    find, tmp_path, monkeypatch
):
    monkeypatch.setattr(submitted_notebooks, "FILE_BYTES", 1 << 20)
    found = find(
        packed(
            tmp_path / "all.zip",
            {"ada_1_2_small.ipynb": bytes(9 << 20), "bob_2_3_small.ipynb": notebook({})},
        )
    )
    assert found["ada_1"].path.stat().st_size <= 3 << 20
    assert found["bob_2"].path


def test_file_names_that_are_no_text_can_be_written(find, tmp_path):
    folder = tmp_path / "s" / "ada"
    write(folder / "small.ipynb", notebook({}))
    for name in (b"small (\xff1).ipynb", b"\x1b[31msmall (2).ipynb", b"x\xff.zip"):
        Path(os.fsdecode(os.fsencode(folder) + b"/" + name)).write_bytes(
            json.dumps(notebook({})).encode()
        )
    alone = b"/Bob\xff_4_assignsubmission_file_small.ipynb"
    Path(os.fsdecode(os.fsencode(tmp_path / "s") + alone)).write_bytes(
        json.dumps(notebook({})).encode()
    )
    bob, ada = find(tmp_path / "s").values()
    (ada.note + ada.problem + bob.student + "".join(bob.lms.values())).encode()
    assert ada.note and ada.note.isprintable() and bob.lms["moodle"] == "4"


def test_of_many_notebooks_with_other_names_few_are_read(find, tmp_path, monkeypatch):
    for number in range(50):
        write(tmp_path / "s" / "ada" / f"{number}.ipynb", {"cells": []}, age=100 - number)
    mine = write(tmp_path / "s" / "ada" / "mine.ipynb", notebook({}), age=99)
    reads, load = [], submitted_notebooks.load
    monkeypatch.setattr(submissions, "load", lambda path: reads.append(path) or load(path))
    assert find(tmp_path / "s")["ada"].path is None and len(reads) == submissions.LOOKED_AT
    os.utime(mine)
    assert find(tmp_path / "s")["ada"].path == mine


def test_the_notebook_of_another_sheet_is_named(find, tmp_path):
    other = {
        "cells": [{"cell_type": "code", "id": "x", "metadata": {}, "source": "y = 1"}],
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    write(tmp_path / "s" / "ada.ipynb", other)
    write(tmp_path / "s" / "bob.ipynb", {**other, "cells": [{**other["cells"][0], "source": F}]})
    found = find(tmp_path / "s")
    assert (
        found["ada"].path is None
        and "ada.ipynb holds no cell of small.ipynb" in found["ada"].problem
    )
    assert found["bob"].path, "work on the sheet in a notebook of one's own"


# ------------------------------------------------------------------------------------------ reading

UNREADABLE = {
    "empty": (b"", "empty"),
    "blank": (b" \n ", "empty"),
    "words": (b"hello", "not valid JSON"),
    "half": (json.dumps(notebook({})).encode()[:500], "not valid JSON"),
    "bytes": (bytes(range(256)) * 10, "not valid JSON"),
    "deep": (b"[" * 300_000, "nested too deep"),
    "deep and closed": (b'{"cells": ' + b"[" * 300_000 + b"]" * 300_000 + b"}", "nested too deep"),
    "a list": (b"[1, 2]", "no list of cells"),
    "a number": (b"3", "no list of cells"),
    "null": (b"null", "no list of cells"),
    "no cells": (b"{}", "no list of cells"),
    "cells that are no list": (b'{"cells": {"a": 1}}', "no list of cells"),
    "conflict": (
        b'{\n<<<<<<< HEAD\n "cells": []\n=======\n "cells": [1]\n>>>>>>> other\n}',
        "conflict",
    ),
    "many cells": (
        b'{"cells": [' + b'{"cell_type": "code", "source": "1"},' * 6000 + b"{}]}",
        "cells",
    ),
    "much code": (
        json.dumps({"cells": [{"cell_type": "code", "source": "#" * 2_100_000}]}).encode(),
        "characters",
    ),
}


@pytest.mark.parametrize("name", UNREADABLE)
def test_what_is_no_notebook_ends_in_a_sentence(sheet, tmp_path, name):
    data, say = UNREADABLE[name]
    path = write(tmp_path / "x.ipynb", data)
    with pytest.raises(submitted_notebooks.SubmissionError, match=say) as error:
        submitted_notebooks.code_cells(submitted_notebooks.load(path), sheet)
    assert str(error.value)[0].isupper() and "Traceback" not in str(error.value)


@pytest.mark.unix
def test_a_file_that_is_too_large_or_not_there(tmp_path, monkeypatch):
    monkeypatch.setattr(submitted_notebooks, "FILE_BYTES", 1000)
    with pytest.raises(submitted_notebooks.SubmissionError, match="Clear the outputs"):
        submitted_notebooks.load(write(tmp_path / "x.ipynb", b" " * 2000))
    with pytest.raises(submitted_notebooks.SubmissionError, match="cannot be read"):
        submitted_notebooks.load(tmp_path / "none.ipynb")
    os.mkfifo(tmp_path / "pipe.ipynb")
    with pytest.raises(submitted_notebooks.SubmissionError, match="no ordinary file"):
        submitted_notebooks.load(tmp_path / "pipe.ipynb")


def test_large_outputs_cost_nothing(sheet, tmp_path):
    book = notebook({})
    book["cells"][1]["outputs"] = [{"output_type": "stream", "text": "x" * 30_000_000}]
    cells = submitted_notebooks.code_cells(
        submitted_notebooks.load(write(tmp_path / "x.ipynb", book)), sheet
    )
    assert any(F in source for _, source in cells)


def cells_with(sheet, *cells) -> list[str]:
    return [source for _, source in submitted_notebooks.code_cells({"cells": list(cells)}, sheet)]


def test_which_cells_are_run(sheet):
    code = {"cell_type": "code", "id": "x", "metadata": {}}
    assert cells_with(sheet, {**code, "source": ["a = 1\n", "b = 2"]}) == ["a = 1\nb = 2"]
    assert cells_with(sheet, {**code, "cell_type": "markdown", "source": "# x"}) == []
    assert cells_with(sheet, {"cell_type": "markdown", "id": "f", "source": F}) == [F], (
        "a solution cell that became text"
    )
    meta = {"nbgrader": {"grade_id": "f"}}
    assert cells_with(sheet, {"cell_type": "raw", "metadata": meta, "source": F}) == [F]
    assert cells_with(sheet, {**code, "id": "f-check", "source": 'check("f", f)'}) == []
    assert cells_with(sheet, {**code, "id": "f-check", "source": F}) == [F], (
        "the answer was written into the check cell"
    )
    assert cells_with(sheet, {**code, "source": " \n"}) == []


def test_cells_of_the_wrong_types_are_nothing(sheet):
    odd = [
        1, None, "code", [], {}, {"cell_type": "code"}, {"cell_type": "code", "source": 3},
        {"cell_type": "code", "source": {"a": 1}},
        {"cell_type": ["code"], "source": "x"}, {"cell_type": "code", "source": [1, None, ["x"]]},
    ]  # fmt: skip
    assert cells_with(sheet, *odd) == []
    good = [
        {"cell_type": "code", "source": "1", "metadata": 3, "id": 4},
        {"cell_type": "code", "source": "2", "metadata": {"nbgrader": [1]}},
        {"cell_type": "code", "source": "3", "metadata": {"nbgrader": {"grade_id": ["f"]}},
            "id": {"a": 1}},
        {"cell_type": "code", "source": ["4", None]},
    ]  # fmt: skip
    assert cells_with(sheet, *good) == ["1", "2", "3", "4"]


def test_encodings_and_old_formats(sheet, tmp_path):
    text = json.dumps(notebook({"f": F + "  # \u00e9"}), ensure_ascii=False, indent=1)
    for name, data in {
        "bom": b"\xef\xbb\xbf" + text.encode(),
        "utf16": text.encode("utf-16"),
        "crlf": text.replace("\n", "\r\n").encode(),
    }.items():
        cells = submitted_notebooks.code_cells(
            submitted_notebooks.load(write(tmp_path / f"{name}.ipynb", data)), sheet
        )
        assert len(cells) == 4, name
    old = {
        "worksheets": [{"cells": [{"cell_type": "code", "input": ["f = 1"]}]}, 3, {"cells": None}],
        "nbformat": 3,
    }
    assert [source for _, source in submitted_notebooks.code_cells(old, sheet)] == ["f = 1"]
    lone = write(tmp_path / "lone.ipynb", json.dumps(notebook({"f": F + "  # \ud800"})))
    assert any(
        "# ?" in source
        for _, source in submitted_notebooks.code_cells(submitted_notebooks.load(lone), sheet)
    )


def test_the_digest_is_of_everything_that_is_run(tmp_path):
    one, two = write(tmp_path / "a.ipynb", "1"), write(tmp_path / "b.py", "2")
    digests = {submissions.digest(one, []), submissions.digest(one, [two])}
    write(two, "3")
    digests.add(submissions.digest(one, [two]))
    write(one, "2")
    digests.add(submissions.digest(one, [two]))
    assert len(digests) == 4


def test_nbgraders_exchange_and_gradescopes_export_name_students(find, sheet, tmp_path):
    """One student for several submissions of the exchange; the time is the system's."""
    inbound = tmp_path / "inbound"
    for name, minutes in (("ada", 10), ("ada", 50), ("bob", 20)):
        folder = f"{name}+small+2026-11-20 10:{minutes}:00.123456 UTC+0a{minutes}"
        write(inbound / folder / "small.ipynb", notebook({}), age=minutes)
    write(inbound / "ada+other+2026-11-21 10:00:00 UTC+0b" / "small.ipynb", notebook({}))
    found = find(inbound)
    assert {name: h.handed_in for name, h in found.items()} == {
        "ada": "2026-11-20T10:50:00+00:00", "bob": "2026-11-20T10:20:00+00:00",
    }  # fmt: skip
    assert "10:50" in found["ada"].path.parent.name and not found["ada"].note

    export = tmp_path / "export"
    for number in (1, 2, 3):
        write(export / f"submission_{number}" / "small.ipynb", notebook({}))
    write(export / "submission_3" / "submission_metadata.yml", "submission_1:\n  :name: Eve\n")
    write(
        export / "submission_metadata.yml",
        """---
submission_1:
  :submitters:
  - :name: Ada Lovelace
    :sid: '41'
    :email: ada@example.org
  - :name: Bob B
    :sid: '42'
    :email: bob@example.org
  :created_at: 2026-11-20 10:00:00.123456789 Z
  :results:
    :tests:
    - :name: a test
submission_2:
  :submitters:
  - :name: Cem
    :email: cem@example.org
  :created_at: 2026-11-20 10:00:00 +0100
""",
    )
    found = find(export)
    assert set(found) == {"Ada Lovelace", "Cem", "submission_3"}
    ada = found["Ada Lovelace"]
    assert ada.lms == {"sid": "41", "email": "ada@example.org", "gradescope": "1"}
    assert ada.handed_in == "2026-11-20T10:00:00+00:00"
    assert ada.note == "Handed in together with Bob B."
    assert found["Cem"].handed_in == "2026-11-20T09:00:00+00:00"


def test_two_people_of_one_name_in_gradescope_are_two_students(find, tmp_path):
    export, metadata = tmp_path / "export", ""
    for number, name in ((1, "Ada Lovelace"), (2, "Ada Lovelace"), (3, "Cem")):
        write(export / f"submission_{number}" / "small.ipynb", notebook({}))
        metadata += (
            f"submission_{number}:\n  :submitters:\n  - :name: {name}\n    :sid: '{number}'\n"
        )
    write(export / "submission_metadata.yml", metadata)
    found = find(export)
    assert {name: h.path.parent.name for name, h in found.items()} == {
        "Ada Lovelace_1": "submission_1", "Ada Lovelace_2": "submission_2", "Cem": "submission_3",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("folder", "prefix", "expected"),
    [
        ("lesson-2-submissions", "lesson-2-", ["anna-a", "anna-b", "other"]),
        ("clones", "small-", ["anna-a", "anna-b", "other"]),
        ("clones", "lesson-2-", ["lesson-2-anna-a", "lesson-2-anna-b", "lesson-2-other"]),
        ("small-submissions", "", ["anna-a", "anna-b", "other"]),
    ],
)
def test_github_classroom_s_prefixes_are_not_part_of_a_name(
    find, tmp_path, folder, prefix, expected
):
    for account in ("anna-a", "anna-b", "other"):
        write(tmp_path / folder / f"{prefix}{account}" / "small.ipynb", notebook({}))
        write(tmp_path / folder / f"{prefix}{account}" / ".git" / "x.ipynb", notebook({}))
    found = find(tmp_path / folder)
    assert sorted(found) == expected
    assert all(h.path.name == "small.ipynb" for h in found.values())
    if expected[0] == "anna-a" and prefix:
        assert found["other"].lms == {"github": "other"}
