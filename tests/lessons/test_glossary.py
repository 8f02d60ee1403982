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
    return "\n".join("".join(cell["source"]) for cell in json.loads(found[0].read_text(encoding="utf-8"))["cells"]).lower()


def test_there_are_entries_and_each_stands_once():
    names = [name for name, _ in ENTRIES]
    assert len(names) > 50
    assert len(set(names)) == len(names)


@in_one_test
@pytest.mark.parametrize("name, rest", ENTRIES, ids=[name for name, _ in ENTRIES])
def test_an_entry_is_one_or_two_sentences_and_taught_where_it_says(name, rest):
    said = re.fullmatch(r"(?: \((?:.+?)\))?: (.+) \*Lesson (\d+b?)\.\*", rest)
    assert said, "the form is **term** (symbol; other names): what it is. *Lesson N.*"
    lesson = words_of(said[2])
    if lesson is None:
        pytest.skip(f"lesson {said[2]} is not there")
    assert re.search(OTHER_WORDS.get(name, re.escape(name.lower())), lesson), f"lesson {said[2]} does not speak of it"
    assert len(re.findall(r"\.(?: |$)", said[1])) <= 2


def test_no_entry_is_outside_of_a_line_of_its_own():
    assert len(re.findall(r"\*Lesson \d+b?\.\*", TEXT)) == len(ENTRIES)
