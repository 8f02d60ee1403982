"""The bug zoo: each engine has the bug that is told of it, and no other; its Trace shows it; the
exercises judge as they should.
"""

import json
from pathlib import Path

import numpy as np
import pytest
from minigrad.lessons.exercises import bug_zoo, zoo
from minigrad.lessons.exercises.bug_zoo import (
    BUGS,
    EXERCISES,
    NAMES,
    broken_part,
    f,
    reference,
    trace_of,
    watched,
)
from minigrad.lessons.grading import check
from minigrad.lessons.grading.sheet import load_sheet
from minigrad.lessons.grading.sheet_report import examine

from minigrad.trace import first_divergence, validate
from minigrad.watch import trace_function

ZOO = Path(__file__).resolve().parents[2] / "lessons" / "bug_zoo.ipynb"
LETTERS = sorted(zoo.ANIMALS)


def test_the_sheet_is_fit_to_grade_with():
    report = examine(load_sheet(ZOO))
    assert report.ok, str(report)
    assert not any(report.missed.values()), report.missed


def test_the_sound_engine_does_what_minigrad_does():
    assert first_divergence(reference(), trace_of(zoo.Engine(), "sound")) is None
    assert reference() == trace_function(f, *bug_zoo.INPUTS.values(), mode="reverse")


def test_there_is_one_engine_for_each_bug():
    assert sorted(part.__name__ for part in zoo.ANIMALS.values()) == sorted(BUGS)


@pytest.mark.parametrize("letter, node, says", [
    ("A", "v1", "v3 should send"), ("B", "v1", "must be added"), ("C", "b", "should send 2"),
    ("D", "x", "when it is complete"),
    ("E", "x", "The sign is wrong"), ("F", "b", "should be 2, but is 4"),
])  # fmt: skip
def test_the_first_difference_of_each_trace_is_where_its_bug_is(letter, node, says):
    parting = first_divergence(reference(), validate(watched(letter)))
    assert parting.node == node and parting.column == "g" and says in parting.say


@pytest.mark.parametrize("letter", LETTERS)
def test_each_trace_is_what_the_engine_left_behind(letter):
    nodes = zoo.build(bug_zoo.INPUTS, bug_zoo.ROWS)
    for _ in range(2):
        zoo.backward(nodes["v5"], zoo.engine(letter))
    last = {
        step["node"]: step["writes"][0][2]
        for step in watched(letter)["steps"]
        if step["writes"][0][1] == "g"
    }
    for name, node in nodes.items():
        told = last[name]["sample"] if isinstance(last[name], dict) else last[name]
        assert np.allclose(told, node.grad), name


@pytest.mark.parametrize("letter", LETTERS)
def test_the_right_diagnosis_passes_and_every_other_gets_a_reason(letter):
    right = BUGS[zoo.ANIMALS[letter].__name__][0]
    assert check(f"bug-{letter}", right).passed
    for name in NAMES:
        if name != right:
            assert f"It is not {name!r}: " in str(check(f"bug-{letter}", name))
    assert "rite one of the names" in str(check(f"bug-{letter}", "no idea"))
    assert zoo.source(letter).startswith("def ") and broken_part(letter, right) == zoo.source(
        letter
    )
    assert "Find the bug first" in broken_part(letter, ...) and "def" not in broken_part(
        letter, ...
    )


@pytest.mark.parametrize("letter", LETTERS)
def test_the_broken_part_itself_is_refused_and_the_sound_one_taken(letter):
    part = zoo.ANIMALS[letter]
    unchanged = check(f"mend-{letter}", part)
    assert not unchanged.passed and "the broken part as it was" in str(unchanged)
    assert check(f"mend-{letter}", getattr(zoo, part.__name__)).passed


def test_a_mend_for_numbers_only_gets_one_of_two_points():
    feedback = check("mend-C", lambda g, a, b: (g, np.asarray(g.sum())))
    assert (feedback.points, feedback.possible) == (1, 2)


def test_the_students_edition_does_not_name_the_parts():
    from minigrad.lessons.edition import student_edition

    edition = student_edition(json.loads(ZOO.read_text(encoding="utf-8")))
    mends = [c for c in edition["cells"] if c["id"].startswith("mend-")]
    assert len(mends) == 12
    for cell in mends:
        assert not any(part in "".join(cell["source"]) for part in BUGS), cell["id"]
    assert len(EXERCISES) == 12


def test_each_engine_is_watched_beside_its_table():
    """A view of arrays said at step 0, in half of the width, that nothing is touched."""
    cells = ["".join(cell["source"]) for cell in json.loads(ZOO.read_text("utf-8"))["cells"]]
    shown = [text for text in cells if text.startswith("viz.show(")]
    assert len(shown) == 7 and not any("views=" in text for text in shown)
