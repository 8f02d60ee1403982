"""The student's edition: what must be gone is gone, what must stay stays."""

import copy
import json
import re
from pathlib import Path

import nbformat
import pytest
from minigrad.lessons.edition import (
    STUB,
    EditionError,
    student_edition,
    student_file,
    without_solutions,
)

LESSONS = Path(__file__).resolve().parents[2] / "lessons"
NOTEBOOKS = sorted(LESSONS.glob("*.ipynb"))

FUNCTION = """def rule(a, g):
    \"\"\"What it does.\"\"\"
    ### BEGIN SOLUTION
    # secret: the chain rule

    return secret(a) * g  # and this
    ### END SOLUTION


after = 1"""

MARGIN = """guess = ...
### BEGIN SOLUTION
guess = 5.5
### END SOLUTION"""


def test_a_solution_in_a_function_becomes_a_stub():
    assert (
        without_solutions(FUNCTION, "c")
        == f'def rule(a, g):\n    """What it does."""\n    {STUB}\n\n\nafter = 1'
    )


def test_a_solution_at_the_margin_goes_away():
    assert without_solutions(MARGIN, "c") == "guess = ..."


def test_hidden_tests_go_away_without_a_stub():
    source = (
        "def t():\n    a()\n    ### BEGIN HIDDEN TESTS\n    b()\n    ### END HIDDEN TESTS\n    c()"
    )
    assert without_solutions(source, "c") == "def t():\n    a()\n    c()"


@pytest.mark.parametrize(
    "source",
    [
        "### BEGIN SOLUTION\nx = 1",
        "x = 1\n### END SOLUTION",
        "### BEGIN SOLUTION\n### BEGIN SOLUTION\n### END SOLUTION",
        "### BEGIN SOLUTION\nx = 1\n### END HIDDEN TESTS",
        "### BEGIN HIDDEN TESTS\nx = 1\n### BEGIN SOLUTION\n### END SOLUTION\n### END HIDDEN TESTS",
    ],
)
def test_a_marker_without_its_partner_is_an_error_and_not_a_leak(source):
    with pytest.raises(EditionError, match="cell 'c'"):
        without_solutions(source, "c")


@pytest.mark.parametrize(
    "marker", ["  ###BEGIN SOLUTION", "# BEGIN SOLUTION  ", "    ### BEGIN SOLUTION"]
)
def test_spacing_of_a_marker_does_not_matter(marker):
    indent = re.match(r" *", marker)[0]
    assert "secret" not in without_solutions(
        f"{marker}\n{indent}secret()\n{indent}### END SOLUTION", "c"
    )


def notebook() -> dict:
    locked = {
        "nbgrader": {
            "locked": True,
            "grade": True,
            "grade_id": "t",
            "points": 1,
            "schema_version": 3,
            "solution": False,
            "task": False,
        }
    }
    cells = [
        nbformat.v4.new_code_cell(
            FUNCTION,
            id="rule",
            execution_count=3,
            outputs=[nbformat.v4.new_output("stream", text="5.5")],
        ),
        nbformat.v4.new_code_cell("check('rule', rule)", id="check", metadata=locked),
        nbformat.v4.new_markdown_cell(
            "The answer is secret.", id="worked", metadata={"tags": ["instructor"]}
        ),
        nbformat.v4.new_markdown_cell("Read me.", id="text"),
    ]
    return nbformat.v4.new_notebook(cells=cells)


@pytest.mark.parametrize("lines", [False, True])
def test_the_edition_of_a_notebook(lines):
    given = json.loads(json.dumps(notebook()))
    if lines:
        for cell in given["cells"]:
            cell["source"] = cell["source"].splitlines(keepends=True)
    before = copy.deepcopy(given)
    edition = student_edition(given)
    assert given == before
    assert "secret" not in json.dumps(edition)
    assert [cell["id"] for cell in edition["cells"]] == ["rule", "check", "text"]
    assert isinstance(edition["cells"][0]["source"], list) is lines
    assert (edition["cells"][0]["outputs"], edition["cells"][0]["execution_count"]) == ([], None)
    assert edition["cells"][1]["metadata"]["editable"] is False
    assert "editable" not in edition["cells"][0]["metadata"]
    assert student_edition(edition) == edition


def test_the_edition_of_nbformats_own_object_is_valid():
    nbformat.validate(student_edition(notebook()))


def test_a_file_that_is_no_notebook_is_given_as_it_is(tmp_path):
    path = tmp_path / "points.csv"
    path.write_bytes(b"1,2\r\n### BEGIN SOLUTION\xff")
    assert student_file(path) == path.read_bytes()


# --------------------------------------------------------------------------------------- the course


def solutions(path: Path) -> tuple[list[list[str]], str]:
    """The lines of each solution, without indentation, and all that stands outside of solutions."""
    regions, outside = [], []
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        before = 0
        source = "".join(cell["source"])
        for found in re.finditer(r"### BEGIN SOLUTION\n(.*?)### END SOLUTION", source, re.DOTALL):
            regions.append([line.strip() for line in found[1].splitlines() if line.strip()])
            outside.append(source[before : found.start()])
            before = found.end()
        outside.append(source[before:])
    return regions, "\n".join(outside)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_no_solution_is_left_in_a_lesson(path):
    regions, outside = solutions(path)
    assert regions, "the lesson has no solutions to hide, so this test would prove nothing"
    edition = json.loads(student_file(path))
    text = "\n".join("".join(cell["source"]) for cell in edition["cells"])
    for lines in regions:
        secret = [
            line for line in lines if line not in outside
        ]  # a lesson may show a line that a solution needs, but not a whole solution
        assert secret, f"the lesson gives this solution away itself: {lines}"
        assert [line for line in secret if line in text] == []
    assert not re.search(r"(BEGIN|END) (SOLUTION|HIDDEN)", json.dumps(edition))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_each_cell_to_be_filled_in_says_so_and_is_python(path):
    edition = json.loads(student_file(path))
    nbformat.validate(nbformat.from_dict(edition))
    cells = [c for c in edition["cells"] if c["metadata"].get("nbgrader", {}).get("solution")]
    assert cells
    for cell in cells:
        source = "".join(cell["source"])
        assert "..." in source or source.startswith("unpack("), cell[
            "id"
        ]  # a cell that fills itself from the student's own file
        if cell["cell_type"] == "code":  # a text that a person grades is a cell of Markdown
            compile(source, cell["id"], "exec")
