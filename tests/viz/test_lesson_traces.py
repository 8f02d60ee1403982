"""The laws hold for every Trace of every lesson, and every state of every Trace that a lesson
shows can be drawn.
"""

import pytest
from minigrad.viz.grouping import grouped
from minigrad.viz.layout import with_layout
from minigrad.viz.reading import check

from minigrad.trace import check_laws, state_at, validate
from tests.helpers.lesson_traces import NOTEBOOKS, collect

pytestmark = pytest.mark.whole


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_what_the_engine_wrote_is_valid_and_obeys_the_laws(notebook):
    for trace in collect(notebook)["made"]:
        validate(trace)
        assert check_laws(trace) == [], trace["title"]


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_every_state_of_what_is_shown_can_be_told(notebook):
    """Wrong engines are shown too, so laws are not asked here: only that each state is the one
    before and the step.
    """
    for trace in collect(notebook)["shown"]:
        assert "error" not in trace, f"{trace['title']}: {trace['error']['message']}"
        for document in (trace, grouped(trace)):
            check(document)
            known, cells = {n["id"] for n in document["nodes"]}, {}
            stride = max(
                7, len(document["steps"]) // 12
            )  # each state_at begins with the first step
            for k, step in enumerate(document["steps"], 1):
                if "clear" in step:
                    cells = {cell: v for cell, v in cells.items() if cell[1] not in step["clear"]}
                cells |= {(node, column): value for node, column, value in step["writes"]}
                if k % stride == 0 or k == len(document["steps"]):
                    state = state_at(document, k)
                    assert state.cells == cells and state.born <= known and state.freed <= known
            place = with_layout(document)["layout"]
            assert set(place["nodes"]) == known and set(place["edges"]) == {
                e["id"] for e in document["edges"]
            }


def test_the_lessons_show_something():
    shown = {path.stem: len(collect(path)["shown"]) for path in NOTEBOOKS}
    assert shown["02_forward_and_reverse_mode"] >= 4 and sum(shown.values()) >= 20, shown
