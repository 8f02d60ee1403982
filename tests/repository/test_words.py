"""Words that comments, docstrings, messages and documents of this project do without."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.helpers.source_tree import ROOT, tracked

WORDS = {
    r"\bnobody\b": "the passive, or what is not done: 'is not read', 'no observer'",
    r"\bsomebody\b": "who it is: 'a student', 'the caller'",
    r"\banew\b": "'again', or a verb with re-: 'redraws', 'recomputes'",
    r"\blet(s|ting)?\s+go\b": "'free', 'release'",
    r"\bway(s)?\s+back\b": "'the reverse pass', 'the pullback'",
    r"\bdoors?\b": "'entry point', 'function'",
    r"\bhouses?\b": "'project', 'package'",
    r"\brooms?\b": "'space', 'width', 'height'",
    r'(?:"""|/\*\*|(?:^|\n)\s*//|(?:^|\n)\s*#)\s*The same\b': "what it is, without its neighbour",
}
"""Patterns of unwanted words, and what to write instead."""
LIKELY = re.compile(
    "|".join([r'["*/#]\s*the same', *(p.replace(r"\b", "") for p in WORDS if p.startswith(r"\b"))])
)
"""What a text in lower case holds where one of them matches: ten times as fast to look for."""

TEXT = {".py", ".pyi", ".js", ".css", ".md", ".toml", ".ipynb", ".html", ".txt"}
EMPTY_NAMES = re.compile(r"(further|common|around|parts|misc|rest|utils)(_.*)?")


def unwanted(text: str) -> Iterator[str]:
    """Each unwanted word of a text, with its line and what to write instead."""
    if not LIKELY.search(text.lower()):
        return
    for pattern, instead in WORDS.items():
        for found in re.finditer(pattern, text, re.IGNORECASE if pattern[0] == "\\" else 0):
            line = text.count("\n", 0, found.end()) + 1
            yield f"{line}: {found[0].strip()!r}; write {instead}"


def test_unwanted_words_stay_out():
    found = [
        f"{path.relative_to(ROOT)}:{word}"
        for path in tracked()
        if path.suffix in TEXT and path.name != Path(__file__).name
        for word in unwanted(path.read_text(encoding="utf-8"))
    ]
    assert found == []


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("What nobody reads.\nSomebody asks", 2),
        ("computed anew, then let\n    go, with room for it", 3),
        ('"""The same for arrays."""\n# The same\n    // The same', 3),
        (
            '"""Computes the same value."""\n# as the same\nhousing, indoors, classroom, a new one',
            0,
        ),
    ],
)
def test_an_unwanted_word_is_seen(text, count):
    assert len(list(unwanted(text))) == count


def test_a_file_is_named_by_its_content():
    found = {
        path.relative_to(ROOT).as_posix()
        for path in tracked()
        if path.suffix in {".py", ".js"} and EMPTY_NAMES.fullmatch(path.stem)
    }
    assert not found, f"name these by what is in them: {sorted(found)}"
