"""The numbers on the wires of stills and films: the laws of their places, in columns and in lines."""

import pytest
from trace_samples import all_samples

import minigrad as mg
from minigrad.watch import trace_function
from viz.labels import Box, labels_of
from viz.layout import with_lines
from viz.layout.lines import turn_of
from viz.texts import words
from viz.wires import notes_of, waypoints


def long_chain(x):
    for i in range(19):
        x = mg.sin(x) if i % 2 else x + x
    return x


TRACES = {
    **{name: (lambda name=name: all_samples()[name]) for name in ("seed", "deep")},
    "lines": lambda: trace_function(long_chain, 0.7, source=""),
    "matrices": lambda: trace_function(
        lambda x, w: (x @ w).tanh().sum(), [[0.5, -1.25, 2.5], [1.5, 0.25, -0.75]], [[0.123, -0.456], [0.789, 1.234], [-2.345, 3.456]]
    ),
}


@pytest.mark.parametrize("name", TRACES)
def test_a_number_covers_no_card_no_other_number_and_little_of_its_wire(name):
    trace = with_lines(TRACES[name]())
    notes, layout = notes_of(trace), trace["layout"]
    cards = [Box(b["x"] - b["w"] / 2, b["y"] - b["h"] / 2, b["x"] + b["w"] / 2, b["y"] + b["h"] / 2) for b in layout["nodes"].values()]
    seen = turning = 0
    for step in trace["steps"]:
        found = labels_of(trace, step, notes, words())
        boxes = [label.box for label in found]
        for i, box in enumerate(boxes):
            assert not any(box.meets(other) for other in [*(card.grown(-2) for card in cards), *boxes[:i]])
            assert box.x0 >= 0 and box.y0 >= 0 and box.x1 <= layout["width"] and box.y1 <= layout["height"]
        for edge in step["edges"] if found else ():
            points = layout["edges"][edge]["points"]
            along = waypoints(points)
            assert sum(not any(box.holds(p) for box in boxes) for p in along) > 0.25 * len(along)
            turning += turn_of(points) >= 0
        seen += len(found)
    assert seen >= 2 and bool(turning) == (name == "lines")


def test_a_number_stands_on_its_wire_where_there_is_room():
    trace = with_lines(trace_function(lambda x: (x * 3.0) * -0.12345678, 2.0, source=""))
    covered = {}
    for step in trace["steps"]:
        for label in labels_of(trace, step, notes_of(trace), words()):
            covered[label.text] = any(
                label.box.holds(p) for p in waypoints(trace["layout"]["edges"][step["contribs"][0]["edge"]]["points"])
            )
    assert covered == {"× 3": True, "× −0.1235": False}


def test_a_broadcast_says_that_its_contributions_are_summed_in_either_language():
    trace = with_lines(trace_function(lambda x, b: (x + b).sum(), [[1.0, 2.0], [3.0, 4.0]], 0.5, mode="reverse"))
    said = {lang: {label.text for step in trace["steps"] for label in labels_of(trace, step, (), words(lang))} for lang in ("en", "zh")}
    assert "summed" in said["en"] and "求和" in said["zh"]


def test_a_step_without_numbers_and_the_beginning_have_no_labels():
    trace = with_lines(all_samples()["seed"])
    assert labels_of(trace, None, (), words()) == [] and labels_of(trace, trace["steps"][0], (), words()) == []
