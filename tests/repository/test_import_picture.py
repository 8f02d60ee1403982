"""The picture of the imports: labels fit into their boxes, and boxes stand apart."""

import re
import xml.etree.ElementTree as ET

from tests.helpers import import_picture


def boxes(graph):
    """Of each label its box (left, top, right, bottom), in the order of the picture."""
    root = ET.fromstring(import_picture.svg(graph))
    name = "{http://www.w3.org/2000/svg}"
    found = []
    for box in root.iter(f"{name}rect"):
        left, top, wide, high = (float(box.get(k)) for k in ("x", "y", "width", "height"))
        found.append((left, top, left + wide, top + high))
    texts = [text.text for text in root.iter(f"{name}text")]
    return dict(zip(texts, found, strict=True)), float(root.get("viewBox").split()[2])


def test_labels_fit_and_boxes_stand_apart():
    long = {f"minigrad.{'long_name' * n}_{k}": set() for n in (1, 3, 6) for k in range(3)}
    for graph in (import_picture.needs(), long):
        found, width = boxes(graph)
        assert {f"minigrad.{name}" for name in found} == set(graph)
        for name, (left, _, right, _) in found.items():
            assert right - left >= 7.5 * len(name) + 8
            assert left >= 0 and right <= width
        for one, (left, top, right, bottom) in found.items():
            for other, (x0, y0, x1, y1) in found.items():
                assert one == other or x1 < left or x0 > right or y1 < top or y0 > bottom


def test_arrows_that_follow_from_others_are_left_out():
    graph = {"minigrad.a": {"minigrad.b", "minigrad.c"}, "minigrad.b": {"minigrad.c"}}
    picture = import_picture.svg({**graph, "minigrad.c": set()})
    assert len(re.findall("marker-end", picture)) == 2
