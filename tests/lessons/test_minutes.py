"""How long the lessons take: at most ninety minutes each, as lessons/minutes.py estimates, and
said in the lesson and the guide.
"""

import json
import re
from pathlib import Path

import pytest
from minigrad.lessons.minutes import (
    CELL,
    EXERCISE,
    FORMULA,
    LINE,
    PICTURE,
    POINT,
    PREDICTION,
    VIEWER,
    WORDS,
    WRITTEN,
    estimate,
    main,
    points_of,
    rounded,
    shares,
    write,
)
from minigrad.lessons.workshop import MADE_IN, MILESTONE

LESSONS = Path(__file__).resolve().parents[2] / "lessons"
NOTEBOOKS = {
    path.stem: json.loads(path.read_text(encoding="utf-8"))
    for path in sorted(LESSONS.glob("*.ipynb"))
}
COURSE = [name for name in NOTEBOOKS if name[0].isdigit()]


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_what_everybody_does_takes_at_most_ninety_minutes_and_the_lesson_says_how_many(name):
    title = "".join(NOTEBOOKS[name]["cells"][0]["source"])
    found = estimate(NOTEBOOKS[name])
    assert 20 <= found.minutes <= 90
    assert int(re.search(r"takes about (\d+) minutes", title)[1]) == rounded(found.minutes)
    further = re.search(r"marked \*further\*.* take about (\d+) minutes more", title)
    assert (int(further[1]) if further else 0) == rounded(found.further)


@pytest.mark.parametrize("name", COURSE)
def test_a_lesson_has_one_to_five_exercises_that_everybody_does(name):
    required = {share.heading for share in shares(NOTEBOOKS[name]) if not share.optional}
    checks = [
        c
        for c in NOTEBOOKS[name]["cells"]
        if c["cell_type"] == "code" and "".join(c["source"]).startswith("check(")
    ]
    further = [
        s for s in shares(NOTEBOOKS[name]) if s.optional and s.points and s.minutes != PREDICTION
    ]
    assert 1 <= len(checks) - len(further) <= 5
    assert any(heading.startswith("Exercise 1 ") for heading in required)


def test_the_guides_table_has_the_same_minutes_and_points():
    guide = (
        (LESSONS / "instructors_guide.md")
        .read_text(encoding="utf-8")
        .partition("## The lessons at a glance")[2]
    )
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in re.search(r"(?:^\|.*\n)+", guide, re.MULTILINE)[0].splitlines()
    ]
    assert rows[0][1:4] == ["minutes", "further", "points"]
    wanted = []
    for found in map(estimate, NOTEBOOKS.values()):
        wanted.append(
            [str(rounded(found.minutes)), str(rounded(found.further) or "–"), points_of(found)]
        )
    assert [row[1:4] for row in rows[2:]] == wanted


def test_the_command_writes_the_minutes_into_titles_and_guide(tmp_path):
    for path in [*LESSONS.glob("*.ipynb"), LESSONS / "instructors_guide.md"]:
        text = path.read_text(encoding="utf-8")
        (tmp_path / path.name).write_text(
            re.sub(r"(takes?) about \d+ minutes", r"\1 about 7 minutes", text), encoding="utf-8"
        )
    guide = tmp_path / "instructors_guide.md"
    guide.write_text(
        re.sub(r"^(\| \d+ .*?\|) \d+ \|", r"\1 7 |", guide.read_text(), flags=re.MULTILINE),
        encoding="utf-8",
    )
    write(tmp_path)
    for path in tmp_path.iterdir():
        assert path.read_text(encoding="utf-8") == (LESSONS / path.name).read_text(
            encoding="utf-8"
        ), path.name


def test_no_later_lesson_needs_what_is_marked_as_further():
    """The pieces of the student's own engine that the milestone needs, or that a later lesson
    asks for by name, are made in sections that are not marked.
    """
    asked = set(MILESTONE)
    for notebook in NOTEBOOKS.values():
        for cell in notebook["cells"]:
            for call in re.findall(r"\bmine\(([^)]*)\)", "".join(cell["source"])):
                asked |= set(re.findall(r'"(\w+)"', call))
    assert {"Tensor", "gradients"} < asked < set(MADE_IN)
    for name in COURSE:
        optional = [h for h in (s.heading for s in shares(NOTEBOOKS[name]) if s.optional)]
        for piece in asked:
            lesson, kind, number = re.fullmatch(
                r"lesson (\d+[bc]?), (exercise|section) (\d+)", MADE_IN[piece]
            ).groups()
            if lesson == name.partition("_")[0].lstrip("0"):
                start = f"Exercise {number} " if kind == "exercise" else f"{number} "
                assert not [heading for heading in optional if heading.startswith(start)], piece


def test_who_reads_a_mark_is_told_what_it_means():
    for name, notebook in NOTEBOOKS.items():
        optional = any(share.optional for share in shares(notebook))
        assert optional == ("*further*" in "".join(notebook["cells"][0]["source"])), name


# ------------------------------------------------------------------------------------- the counting


def markdown(text: str, **metadata) -> dict:
    return {
        "cell_type": "markdown",
        "id": "m",
        "metadata": metadata,
        "source": text.splitlines(keepends=True),
    }


def code(text: str, grade_id: str = "", points: float = 0, **metadata) -> dict:
    if grade_id:
        solution = "### BEGIN SOLUTION" in text
        metadata["nbgrader"] = {
            "grade_id": grade_id,
            "solution": solution,
            "grade": not solution,
        } | ({"points": points} if points else {})
    return {
        "cell_type": "code",
        "id": "c",
        "metadata": metadata,
        "source": text.splitlines(keepends=True),
    }


def minutes(*cells: dict) -> float:
    return estimate({"cells": cells}).minutes


SOLVED = "def f(x):\n    ### BEGIN SOLUTION\n    y = x\n\n    return y\n    ### END SOLUTION\n"


@pytest.mark.parametrize("cells, wanted", [
    ([markdown("four plain **words** here")], 4 * WORDS),
    ([markdown("a formula $a + b = c$ is one word")], 6 * WORDS),
    ([markdown("before\n\n$$a + b\n= c$$\n\nafter")], 2 * WORDS + FORMULA),
    ([markdown("[two words](https://example.org/and/its/address)")], 2 * WORDS),
    ([markdown("| a | b |\n|---|---|\n| c | d |")], 4 * WORDS),
    ([code("import math\nfrom a import b\n\nx = 1\nprint(x)\n")], CELL + 2 * LINE),
    ([code("viz.show(f, 1.0)")], CELL + VIEWER + LINE),
    ([code("plt.show()")], CELL + PICTURE + LINE),
    ([code("net.draw_graph(x)")], CELL + PICTURE + LINE),
    ([code("a = ...\n### BEGIN SOLUTION\na = 1\n### END SOLUTION\n", "a"),
        code('predict("a", a)', "a-check", 1)], LINE + PREDICTION),
    ([code(SOLVED, "f"), code('check("f", f)', "f-check", 3)],
        LINE + EXERCISE + 3 * POINT + 2 * WRITTEN),
    ([code(SOLVED, "f"), code('check("g", g)', "g-check", 3)], LINE + EXERCISE + 3 * POINT),
    ([markdown("My story:", nbgrader={"points": 3})],
        2 * WORDS + EXERCISE + 3 * (POINT + WRITTEN)),
    ([markdown("for the teacher", tags=["instructor"])], 0.0),
    ([markdown("## Further reading\n\n- a book")], 0.0),
    ([], 0.0),
])  # fmt: skip
def test_each_thing_is_counted_at_its_rate(cells, wanted):
    assert minutes(*cells) == pytest.approx(wanted)


def test_further_ends_with_the_next_heading_of_its_own_or_a_higher_level():
    found = [
        (share.heading, share.optional)
        for share in shares({"cells": [
            markdown("## 1 · a\n\ntext\n\n### b (further)\n\ntext\n\n#### deeper\n"), code("x"),
            markdown("### c"), code("x"),
            markdown("## d (further)"), markdown("### e"), markdown("## f"), markdown("# g"),
            markdown("(further)"),
        ]})
    ]  # fmt: skip
    assert found == [
        ("1 · a", False), ("b (further)", True), ("b (further)", True), ("c", False), ("c", False),
        ("d (further)", True), ("e", True),
        ("f", False), ("g", False), ("g", False),
    ]  # fmt: skip


def test_the_command_prints_the_course_and_a_notebook_by_its_headings(capsys):
    main([])
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 1 + len(NOTEBOOKS)
    assert lines[0].split() == ["minutes", "further", "points", "lesson"]
    main([str(LESSONS / f"{COURSE[1]}.ipynb")])
    said = capsys.readouterr().out.splitlines()
    assert sum(float(line.split()[0]) for line in said if "further  " not in line) == pytest.approx(
        estimate(NOTEBOOKS[COURSE[1]]).minutes, abs=1
    )
    assert any(line.endswith("Exercise 1 · The sine") for line in said)


@pytest.mark.parametrize("content", [None, "no JSON", "[]", "{}", "3"])
def test_what_is_no_notebook_is_reported(content, tmp_path):
    path = tmp_path / "a.ipynb"
    if content is not None:
        path.write_text(content)
    with pytest.raises(SystemExit, match=r"a\.ipynb cannot be read as a notebook"):
        main([str(path)])
