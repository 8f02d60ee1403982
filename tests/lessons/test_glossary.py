"""The glossary: each entry is whole, stands once, and is taught in the lesson that it names."""

import json
import re
from pathlib import Path

import pytest

from tests.helpers.tables import in_one_test

LESSONS = Path(__file__).resolve().parents[2] / "lessons"
TEXT = (LESSONS / "glossary.md").read_text(encoding="utf-8")
ENTRIES = re.findall(r"^\*\*(.+?)\*\*(.*)$", TEXT, re.MULTILINE)
OTHER_WORDS = {
    "primal": "value",
    "leaf": "leaves",
    "numerical differentiation": "difference",
    "operation": "operation",
    "operand": "operand",
    "step": "step",
    "accumulation": "add up|accumulat",
    "bprop": "bprop",
    "pooling": "pooling",
    "contribution": "contribution",
    "anomaly detection": "anomaly",
    "in-place operation": "in.place|overwrit",
    "checkpointing": "checkpoint",
    "unbroadcast": "unbroadcast",
    "profiler": "profil",
    "machine epsilon": r"\\varepsilon",
    "freezing": "frozen|freez",
    "optimiser": "optimiser|optimizer",
    "score": "scores",
    "filter": "filters",
    "seed of random numbers": "seed",
}
"""How a lesson says it, where it does not use the very word."""


def words_of(number: str) -> str | None:
    """All text and code of a lesson, or None where it is not there."""
    found = list(LESSONS.glob(f"{number.zfill(2 + number.endswith('b'))}_*.ipynb"))
    if not found:
        return None
    return "\n".join(
        "".join(cell["source"])
        for cell in json.loads(found[0].read_text(encoding="utf-8"))["cells"]
    ).lower()


def test_there_are_entries_and_each_stands_once():
    names = [name for name, _ in ENTRIES]
    assert len(names) > 50
    assert len(set(names)) == len(names)


@in_one_test
@pytest.mark.parametrize("name, rest", ENTRIES, ids=[name for name, _ in ENTRIES])
def test_an_entry_is_one_or_two_sentences_and_taught_where_it_says(name, rest):
    said = re.fullmatch(r"(?: \((?:.+?)\))?: (.+) \*Lesson (\d+[bc]?)\.\*", rest)
    assert said, "the form is **term** (symbol; other names): what it is. *Lesson N.*"
    lesson = words_of(said[2])
    if lesson is None:
        pytest.skip(f"lesson {said[2]} is not there")
    assert re.search(OTHER_WORDS.get(name, re.escape(name.lower())), lesson), (
        f"lesson {said[2]} does not speak of it"
    )
    assert len(re.findall(r"\.(?: |$)", said[1])) <= 2


def test_no_entry_is_outside_of_a_line_of_its_own():
    assert len(re.findall(r"\*Lesson \d+[bc]?\.\*", TEXT)) == len(ENTRIES)


# ----------------------------------------------------------------------------------------- notation


def rows_of_notation() -> list[list[str]]:
    part = TEXT.partition("## Notation")[2].partition("\n## ")[0]
    table = [line.strip("|").split("|") for line in part.splitlines() if line.startswith("| $")]
    return [[cell.strip() for cell in row] for row in table]


def formulas(path: Path) -> list[str]:
    """All formulas in the text of a notebook, and its text."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    text = "\n".join("".join(c["source"]) for c in cells if c["cell_type"] == "markdown")
    return re.findall(r"\$\$.+?\$\$|\$[^$\n]+\$", text, re.DOTALL)


def test_each_symbol_stands_once_and_is_used_in_the_lesson_that_it_names():
    rows = rows_of_notation()
    assert len(rows) > 12
    assert len({row[0] for row in rows}) == len(rows)
    for symbol, meaning, *_, lesson in rows:
        assert meaning
        used = "".join(
            "".join(formulas(path)) for path in LESSONS.glob(f"{lesson.zfill(2)}_*.ipynb")
        ).replace(" ", "")
        for one in re.findall(r"\$(.+?)\$", symbol):
            first = one.partition(",")[0].replace(" ", "")
            assert first in used, f"lesson {lesson} does not use {one}"


BANNED = {
    r"J(\\,|\s)*[uvw]\b": "a product with the Jacobian is J ẋ",
    r"\b[gwv]\s*\^\s*(T|\{?\\top)": "a product from the left is ȳᵀ J",
    r"H(\\,|\s)*v\b": "a product with the Hessian is H ẋ",
    r"v\s*\\leftarrow|\\sqrt\{v": "Adam's mean of squares is s",
}
"""Letters that the lessons once used for what has a symbol in the table."""


@pytest.mark.parametrize("path", sorted(LESSONS.glob("*.ipynb")), ids=lambda path: path.stem)
def test_no_formula_uses_another_letter_for_what_has_a_symbol(path):
    found = [
        (f, why) for f in formulas(path) for pattern, why in BANNED.items() if re.search(pattern, f)
    ]
    assert found == []


def test_letters_that_drifted_are_noticed():
    for formula in ("$J u$", r"$J\,v$", "$w^T J$", r"$g^\top J$", "$Hv$", r"$v \leftarrow 0.9 v$"):
        assert [p for p in BANNED if re.search(p, formula)], formula
    for formula in (
        r"$J\dot x$",
        r"$J \dot v$",
        r"$\bar y^\top J$",
        r"$J^\top \bar y$",
        "$v_1$",
        r"$\partial v$",
    ):
        assert not [p for p in BANNED if re.search(p, formula)], formula
