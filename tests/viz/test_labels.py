"""The numbers on the wires of stills and films: the laws of their places, in columns and in
lines.
"""

import pytest
from minigrad.viz.edges import waypoints
from minigrad.viz.labels import Rectangle, labels_of
from minigrad.viz.layout import layout, with_lines
from minigrad.viz.layout.lines import turn_of
from minigrad.viz.shape_labels import shape_labels
from minigrad.viz.texts import words

import minigrad as mg
from minigrad.watch import trace_function
from tests.helpers.trace_samples import all_samples
from tests.helpers.work_count import work


def long_chain(x):
    for i in range(19):
        x = mg.sin(x) if i % 2 else x + x
    return x


TRACES = {
    **{name: (lambda name=name: all_samples()[name]) for name in ("seed", "deep")},
    "lines": lambda: trace_function(long_chain, 0.7, source=""),
    "matrices": lambda: trace_function(
        lambda x, w: (x @ w).tanh().sum(),
        [[0.5, -1.25, 2.5], [1.5, 0.25, -0.75]],
        [[0.123, -0.456], [0.789, 1.234], [-2.345, 3.456]],
        mode="both",
    ),
}


def uses(x, b):
    return (x * x + x * b + mg.exp(x) * b + x).sum()


def attention(q, k, v):
    return (mg.softmax(q @ k.T / 2.0, dim=1) @ v + q).sum()


def layers(x, w1, b1, w2, b2):
    return ((mg.tanh(x @ w1 + b1) @ w2 + b2) ** 2).mean()


SHAPED = {
    "uses": (uses, (2, 3), (3,)),
    "attention": (attention, *[(4, 3)] * 3),
    "layers": (layers, (4, 3), (3, 5), (5,), (5, 2), (2,)),
}
"""Functions, and the shapes of their inputs."""


@pytest.mark.parametrize("name", SHAPED)
def test_a_note_of_a_shape_touches_no_wire_no_card_and_no_other_note(name):
    f, *shapes = SHAPED[name]
    trace = with_lines(trace_function(f, *map(mg.ones, shapes), source=""))
    layout, notes = trace["layout"], shape_labels(trace)
    cards = [
        Rectangle(
            b["x"] - b["w"] / 2, b["y"] - b["h"] / 2, b["x"] + b["w"] / 2, b["y"] + b["h"] / 2
        )
        for b in layout["nodes"].values()
    ]
    along = [point for wire in layout["edges"].values() for point in waypoints(wire["points"])]
    said = {
        (edge["src"], len(note.text))
        for note in notes
        for edge in trace["edges"]
        if edge["src"] == note.node
    }
    assert len(notes) == len(said) > 5
    for i, note in enumerate(notes):
        letters = note.box._replace(
            y0=note.y - 8, y1=note.y + 2
        )  # between two parts that run left there is space for them, and for no more
        assert not any(letters.holds(point) for point in along), (
            f"{note.text} of {note.node} stands on a wire"
        )
        assert not any(note.box.meets(other) for other in [*cards, *(one.box for one in notes[:i])])


def test_where_wires_run_everywhere_a_note_stands_where_it_covers_the_least_of_them():
    nodes = [{"id": "x", "shape": [3]}, *({"id": f"y{i}", "shape": []} for i in range(9))]
    edges = [{"id": str(i), "src": "x", "dst": f"y{i}"} for i in range(9)]
    layout = {
        "nodes": {},
        "edges": {
            str(i): {"points": [(0, 10 * i), (90, 10 * i + (120 if i < 8 else -200))]}
            for i in range(9)
        },
    }
    (note,) = shape_labels({"nodes": nodes, "edges": edges, "layout": layout})
    along = [point for wire in layout["edges"].values() for point in waypoints(wire["points"])]
    covered = lambda y: sum(note._replace(y=y).box.holds(point) for point in along)
    assert note.y == 0 - 7 and covered(note.y) < min(covered(10 * i + 8.5) for i in range(8)), (
        "above them all but the last, which rises"
    )


@pytest.mark.parametrize("name", TRACES)
def test_a_number_covers_no_card_no_other_number_and_little_of_its_wire(name):
    trace = with_lines(TRACES[name]())
    notes, layout = shape_labels(trace), trace["layout"]
    cards = [
        Rectangle(
            b["x"] - b["w"] / 2, b["y"] - b["h"] / 2, b["x"] + b["w"] / 2, b["y"] + b["h"] / 2
        )
        for b in layout["nodes"].values()
    ]
    seen = turning = 0
    for step in trace["steps"]:
        found = labels_of(trace, step, notes, words())
        boxes = [label.box for label in found]
        for i, box in enumerate(boxes):
            assert not any(
                box.meets(other) for other in [*(card.grown(-2) for card in cards), *boxes[:i]]
            )
            assert (
                box.x0 >= 0
                and box.y0 >= 0
                and box.x1 <= layout["width"]
                and box.y1 <= layout["height"]
            )
        for edge in step["edges"] if found else ():
            points = layout["edges"][edge]["points"]
            along = waypoints(points)
            assert sum(not any(box.holds(p) for box in boxes) for p in along) > 0.25 * len(along)
            turning += turn_of(points) >= 0
        seen += len(found)
    assert seen >= 2 and bool(turning) == (name == "lines")


def test_a_number_stands_on_its_wire_where_there_is_space():
    trace = with_lines(trace_function(lambda x: (x * 3.0) * -0.12345678, 2.0, source=""))
    covered = {}
    for step in trace["steps"]:
        for label in labels_of(trace, step, shape_labels(trace), words()):
            covered[label.text] = any(
                label.box.holds(p)
                for p in waypoints(trace["layout"]["edges"][step["contribs"][0]["edge"]]["points"])
            )
    assert covered == {"× 3": True, "× −0.1235": False}


def test_a_broadcast_says_that_its_contributions_are_summed_in_either_language():
    trace = with_lines(
        trace_function(lambda x, b: (x + b).sum(), [[1.0, 2.0], [3.0, 4.0]], 0.5, mode="reverse")
    )
    said = {
        lang: {
            label.text
            for step in trace["steps"]
            for label in labels_of(trace, step, (), words(lang))
        }
        for lang in ("en", "zh")
    }
    assert "summed" in said["en"] and "求和" in said["zh"]


def test_a_step_without_numbers_and_the_beginning_have_no_labels():
    trace = with_lines(all_samples()["seed"])
    assert (
        labels_of(trace, None, (), words()) == []
        and labels_of(trace, trace["steps"][0], (), words()) == []
    )


def test_the_work_for_the_shapes_of_a_value_that_many_operations_use_grows_with_what_is_drawn():
    """Not with the third power of the number of operations: each label looks at the points near
    it, and not at all those of all edges."""

    def many(n):
        f = lambda x: mg.stack([mg.tanh(x * i) for i in range(n)]).sum()
        trace = trace_function(f, mg.ones(3, 3), mode="primal", source="")
        trace["layout"] = layout(trace)
        return work(shape_labels, trace)

    assert many(40) < 5 * many(20)
