"""The instructors' guide, apart from grading: its blocks run, its pictures are what it says they
are, its figures are the lessons'.

That its way of grading can be gone is proved in tests/grading/test_instructors_guide.py.
"""

import ast
import importlib.util
import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from minigrad.lessons.grading.sheet_modules import exercises_of

from minigrad import cli

for needed in ("anywidget", "matplotlib", "graphviz"):
    pytest.importorskip(needed, reason='pip install -e ".[viz]"')

LESSONS = Path(__file__).resolve().parents[2] / "lessons"
GUIDE = (
    (LESSONS / "instructors_guide.md")
    .read_text(encoding="utf-8")
    .partition("## Assign, collect, grade")[0]
)
BLOCKS = re.findall(r"```python\n(.*?)```\n(?:\nStep (\d+) says: “(.*?)”)?", GUIDE, re.DOTALL)
COMMANDS = [
    line
    for block in re.findall(r"```sh\n(.*?)```", GUIDE, re.DOTALL)
    for line in block.splitlines()
]
SAYS = "  # → "
NOTEBOOKS = {
    path.stem: json.loads(path.read_text(encoding="utf-8"))["cells"]
    for path in sorted(LESSONS.glob("*.ipynb"))
}


def last_value(source: str, scope: dict[str, Any]) -> Any:
    """Runs a block; the value of its last line, as a notebook would show it."""
    *before, last = ast.parse(source).body
    exec(compile(ast.Module(before, []), "<guide>", "exec"), scope)
    if isinstance(last, ast.Expr):
        return eval(compile(ast.Expression(last.value), "<guide>", "eval"), scope)
    exec(compile(ast.Module([last], []), "<guide>", "exec"), scope)
    return None


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """What each block of Python gives, run one after the other: (source, value, the step that is
    told of, what it says).
    """
    from minigrad.networks import bprop_getters

    rules, scope = dict(bprop_getters), {"__name__": "guide"}
    found = []
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("guide"))
        patch.setenv("MPLBACKEND", "agg")
        for source, step, says in BLOCKS:
            if "sheet.py:" not in source:
                found.append((source, last_value(source, scope), step, says))
        assert (
            Path("second-contribution.svg").stat().st_size > 1000
            and Path("steps.html").stat().st_size > 10_000
        )
    assert dict(bprop_getters) == rules
    return found


def test_every_block_that_ends_in_a_picture_shows_one(run):
    pictures = 0
    for source, value, _, _ in run:
        if source.splitlines()[-1].startswith("viz.") and not source.splitlines()[-1].startswith(
            "viz.save"
        ):
            assert "<iframe" in value._repr_html_(), source
            pictures += 1
    assert pictures >= 28
    assert len(run) == len(BLOCKS) - 1


def test_what_comes_out_is_what_stands_behind_the_arrow(run):
    told = [
        (source.rstrip().rpartition(SAYS)[2], str(value))
        for source, value, _, _ in run
        if SAYS in source
    ]
    assert len(told) >= 6
    assert [(says, came) for says, came in told if says != came] == []


def test_at_the_step_that_is_told_of_the_viewer_says_what_the_guide_says(run):
    told = 0
    for source, value, step, says in run:
        if step:
            told += 1
            assert f"step={step}" in source
            assert value.step == int(step) and value.trace["steps"][int(step) - 1]["say"] == says, (
                source
            )
    assert told >= 10
    assert told == GUIDE.count(" says: “")


def test_the_numbers_beside_the_pictures(run):
    by_text = {source: value for source, value, _, _ in run}
    shown = next(value for source, value in by_text.items() if "data @ frozen" in source).trace
    reached = {
        node for step in shown["steps"] for node, column, _ in step["writes"] if column == "g"
    }
    constants = {n["id"] for n in shown["nodes"] if n["kind"] == "const"}
    assert len(constants) >= 2 and not constants & reached, "the cells of what is frozen stay empty"
    kept = next(
        value for source, value in by_text.items() if "mg.sin(mg.exp(mg.sin(x)))" in source
    ).trace
    saved = [name for n in kept["nodes"] for name in n.get("saved", [])]
    assert sorted(saved) == ["v2", "v2", "x"], "the result of exp serves two operations"


def test_the_training_that_is_shown_memorises(run):
    (value,) = (value for source, value, _, _ in run if "viz.Live" in source)
    measures = value.history.measures
    loss, test = measures["loss"][1], measures["test_loss"][1]
    assert loss[-1] < 0.01 < min(test) < 0.6 * test[-1]


# -------------------------------------------------------------------------------------- the lessons


def rows(heading: str) -> list[list[str]]:
    """The rows of the first table after a heading, without its head."""
    part = GUIDE.partition(heading)[2]
    table = re.search(r"(?:^\|.*\n)+", part, re.MULTILINE)
    return [
        [cell.strip() for cell in line.strip("|").split("|")] for line in table[0].splitlines()[2:]
    ]


def test_the_table_has_each_lesson():
    labels = [
        re.match(r" ?(\d+[bc]?|[a-z ]+)", row[0])[1].strip()
        for row in rows("## The lessons at a glance")
    ]
    assert labels == [label(name) for name in NOTEBOOKS]  # its minutes: test_minutes.py


def label(name: str) -> str:
    """What the guide's table calls a notebook: "6", "6b", "bug zoo"."""
    number = re.match(r"0*(\d+[bc]?)_", name)
    return number[1] if number else name.replace("_", " ")


def notebook_of(row: list[str]) -> list[dict[str, Any]]:
    """The cells of the lesson of a row of the first table."""
    return NOTEBOOKS[next(name for name in NOTEBOOKS if re.match(rf"{label(name)}( |$)", row[0]))]


def test_a_lesson_needs_only_lessons_before_it():
    for row in rows("## The lessons at a glance"):
        number = int(re.match(r"\d+", row[0])[0]) if row[0][0].isdigit() else 99
        needed = [int(n) for n in re.findall(r"\d+", row[4])]
        later = re.match(r"\d+[bc]", row[0])
        assert all(n < number or (n == number and later) for n in needed), row


def test_sections_and_exercises_that_may_be_left_out_exist():
    for row in rows("## The lessons at a glance"):
        text = "\n".join(
            "".join(c["source"]) for c in notebook_of(row) if c["cell_type"] == "markdown"
        )
        sections, exercises = (
            set(re.findall(r"^## (\d+) ·", text, re.MULTILINE)),
            set(re.findall(r"^### Exercise (\d+) ·", text, re.MULTILINE)),
        )
        for kind, numbers in re.findall(r"(sections?|exercises?) ((?:\d+(?:, | and )?)+)", row[6]):
            assert set(re.findall(r"\d+", numbers)) <= (
                sections if kind.startswith("section") else exercises
            ), row


def test_each_lesson_has_its_part_with_a_picture():
    parts = dict(
        re.findall(
            r"^### (Lesson \d+[bc]?|The bug zoo|The documents)\n(.*?)(?=^##)",
            GUIDE,
            re.MULTILINE | re.DOTALL,
        )
    )
    lessons = [f"Lesson {label(name)}" for name in NOTEBOOKS if name[0].isdigit()]
    assert list(parts) == [*lessons, "The bug zoo", "The documents"]
    assert [
        name
        for name, part in parts.items()
        if "```python" not in part or not re.search(r"[Aa]sk|vote|\?", part)
    ] == []


# ------------------------------------------------------------------------------------- the commands


@pytest.mark.whole
@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_is_done(command, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    words = shlex.split(command)
    assert words[0] == "minigrad"
    if words[1] == "lab":
        monkeypatch.setattr(
            "minigrad.cli.lab.check", lambda: 0
        )  # that it works is proved in test_cli.py
    assert cli.main(words[1:]) == 0, capsys.readouterr().err
    if "-o" in words:
        assert (tmp_path / words[words.index("-o") + 1]).stat().st_size > 500
    elif words[1] == "release":
        assert len(list((tmp_path / words[2]).glob("*.ipynb"))) == len(NOTEBOOKS)


def test_the_commands_are_there():
    assert len(COMMANDS) == 7


# --------------------------------------------------------------------------- exercises of one's own


def own_lesson(folder: Path) -> Path:
    """The lesson that the guide writes: its sheet.py, its two cells for "newton", and such cells
    for the other two exercises.
    """
    folder.mkdir()
    (sheet,) = (source for source, _, _ in BLOCKS if "sheet.py:" in source)
    (folder / "sheet.py").write_text(sheet, encoding="utf-8")
    cells = [
        cell("from minigrad.lessons.grading import check, hint, predict\nimport numpy as np", {})
    ]
    shown = [
        block.partition('\n\n{"nbgrader"')
        for block in re.findall(r"```text\n(.*?)```", GUIDE, re.DOTALL)
    ]
    (asked, asks), (checked, checks) = (
        (source, json.loads(found + rest)) for source, found, rest in shown if found
    )
    cells += [cell(asked, asks), cell(checked, checks)]
    more = {
        "pull_tanh": (
            (
                "def pull_tanh(x, g):\n    ### BEGIN SOLUTION\n    return g * (1 - np.tanh(x) **"
                " 2)\n    ### END SOLUTION"
            ),
            "check",
        ),
        "slope": ("slope = ...\n### BEGIN SOLUTION\nslope = 1.0\n### END SOLUTION", "predict"),
    }
    for name, (asked, call) in more.items():
        points = exercises_of(module_of(folder / "sheet.py"))[name].max_points
        cells.append(cell(asked, {"nbgrader": asks["nbgrader"] | {"grade_id": name}}))
        cells.append(
            cell(
                f"{call}({name!r}, {name})",
                {"nbgrader": checks["nbgrader"] | {"grade_id": f"{name}-check", "points": points}},
            )
        )
    book = {
        "cells": cells,
        "metadata": {"kernelspec": {"name": "python3", "display_name": "Python 3"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    (folder / "gradients.ipynb").write_text(json.dumps(book), encoding="utf-8")
    return folder / "gradients.ipynb"


def cell(source: str, metadata: dict[str, Any]) -> dict[str, Any]:
    name = metadata.get("nbgrader", {}).get("grade_id", "setup")
    return {
        "cell_type": "code",
        "outputs": [],
        "execution_count": None,
        "id": name,
        "source": source,
        "metadata": metadata,
    }


def module_of(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location("guide_sheet", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_guides_own_lesson_is_fit_to_grade_with_and_its_students_edition_tells_nothing(
    tmp_path, capsys, monkeypatch
):
    book = own_lesson(tmp_path / "my-course")
    monkeypatch.chdir(tmp_path)
    assert (
        "minigrad grade sheet my-course/gradients.ipynb\nminigrad release handout/"
        " my-course/gradients.ipynb\n" in GUIDE
    )
    assert cli.main(["grade", "sheet", str(book)]) == 0, capsys.readouterr()
    assert "ready to grade with" in capsys.readouterr().out
    assert cli.main(["release", "handout/", "my-course/gradients.ipynb"]) == 0
    given = "".join(path.read_text() for path in (tmp_path / "handout").iterdir())
    assert (
        "newton" in given
        and "def right" not in given
        and "return x - y / slope" not in given
        and "slope = 1.0" not in given
    )
