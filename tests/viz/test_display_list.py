"""One display list, two writers: both know every mark and every role, and say the same."""

import io
import re
import xml.etree.ElementTree as ET

import pytest
from minigrad.viz.layout import with_lines
from minigrad.viz.picture import xdot
from minigrad.viz.picture.graph import GraphPicture
from minigrad.viz.picture.marks import (
    STYLES,
    Box,
    Disc,
    MarkGroup,
    PathMark,
    TextLine,
    colours,
    style_of,
)
from minigrad.viz.picture.write_svg import roles_of, svg
from minigrad.viz.reading import TextRun
from minigrad.viz.speech import spoken
from minigrad.viz.texts import words

from tests.helpers.trace_samples import all_samples

SVG = "{http://www.w3.org/2000/svg}"


def flat(marks):
    """All marks in the order of painting, groups opened."""
    for mark in marks:
        if isinstance(mark, MarkGroup):
            yield from flat(mark.marks)
        else:
            yield mark


@pytest.fixture(scope="module")
def axes():
    pytest.importorskip(
        "matplotlib", reason='matplotlib is not installed: pip install "minigrad[viz]"'
    )
    from matplotlib.figure import Figure
    from minigrad.viz.picture.write_matplotlib import axes_of

    return lambda: axes_of(Figure(figsize=(4, 4), dpi=72), (0, 0, 1, 1), (0, 288), (288, 0))


def test_every_name_in_a_style_is_a_colour_of_both_sides():
    for name, style in STYLES.items():
        for key in ("fill", "stroke", "halo"):
            if key in style:
                assert style[key] in colours(False) and style[key] in colours(True), name


def test_later_names_of_a_role_replace_what_earlier_ones_say():
    assert style_of("card written-g")["fill"] == "g-tint" and style_of("card")["fill"] == "raised"
    order = list(STYLES)
    before = [
        ("card", "output"),
        ("output", "card-1"),
        ("card-1", "written-v"),
        ("number", "small"),
        ("value", "v"),
    ]
    assert all(order.index(a) < order.index(b) for a, b in before), (
        "or a stylesheet would say otherwise"
    )


@pytest.mark.parametrize("name", ["seed", "arrays", "naninf"])
def test_both_writers_write_every_mark_once_and_in_order(name, axes):
    from minigrad.viz.picture.write_matplotlib import Canvas

    t = words("en")
    trace = with_lines(spoken(all_samples()[name], t))
    marks = GraphPicture(trace, t).at(len(trace["steps"]))
    assert roles_of(marks) <= set(STYLES)
    kinds = {Box: "rect", PathMark: "path", Disc: "circle", TextLine: "text"}
    expected = [kinds[type(mark)] for mark in flat(marks)]
    picture = ET.fromstring(svg(marks, 100, 100))
    written = [e.tag.removeprefix(SVG) for e in picture.iter()]
    assert [tag for tag in written if tag in kinds.values()] == expected
    place = axes()
    Canvas(place, colours()).draw(marks)
    drawn = sorted([*place.patches, *place.texts], key=lambda artist: artist.get_zorder())
    names = ["text" if type(a).__name__ == "Text" else "shape" for a in drawn]
    assert names == ["text" if kind == "text" else "shape" for kind in expected]


def test_relative_path_data_has_the_points_that_svg_gives_it(axes):
    from minigrad.viz.picture.write_matplotlib import path_of

    path = path_of("M10 20l10 -4.5v9z", 1, 2)
    assert path.vertices.tolist() == [[11, 22], [21, 17.5], [21, 26.5], [21, 26.5]]
    curved = path_of("M0 0C1.5 2 3 4 5e-1 6h2L-1 -2")
    assert curved.vertices.tolist() == [[0, 0], [1.5, 2], [3, 4], [0.5, 6], [2.5, 6], [-1, -2]]


def test_text_wider_than_its_space_is_squeezed_by_both(axes):
    from minigrad.viz.picture.write_matplotlib import Canvas

    long = TextLine(0, 20, "(1000, 1000)", "shape", space=30)
    assert 'textLength="30"' in svg([long], 50, 50)
    assert "textLength" not in svg([long._replace(space=300)], 50, 50)
    place = axes()
    Canvas(place, colours()).draw(
        [long, long._replace(space=300), TextLine(0, 9, [TextRun("x" * 80)], "name", space=40)]
    )
    small, plain, heading = (text.get_fontsize() for text in place.texts)
    assert small < 0.5 * plain and heading < 8


def test_groups_move_and_fade_what_they_hold(axes):
    from minigrad.viz.picture.write_matplotlib import Canvas

    marks = [
        MarkGroup(
            [MarkGroup([Box(0, 0, 5, 5, 0, "card")], opacity=0.5)],
            title="a < b",
            opacity=0.5,
            shift=(7, 9),
        )
    ]
    text = svg(marks, 20, 20)
    assert 'opacity="0.5" transform="translate(7 9)"><title>a &lt; b</title>' in text
    place = axes()
    Canvas(place, colours()).draw(marks)
    (box,) = place.patches
    assert box.get_xy() == (7, 9) and box.get_alpha() == 0.25


def test_what_graphviz_draws_becomes_the_same_marks(axes):
    line = (
        'graph [bb="0,0,100,50"]; a [_draw_="S 6 -dotted c 7 -#ff0000 C 7 -#00ff00 E 50 25 20 10 P'
        ' 3 0 0 10 0 10 10 ", _ldraw_="F 14 11 -Helvetica,sans c 7 -#0000ff T 50 20 0 30 3 -a$b "];'
    )
    marks, styles, wide, high = xdot.read(line)
    ellipse, polygon, text = marks
    assert (wide, high) == (112, 62) and (text.text, text.anchor, text.x, text.y) == (
        "a$b",
        "middle",
        56,
        36,
    )
    assert styles[ellipse.role] == {
        "stroke": "#ff0000",
        "fill": "#00ff00",
        "width": 1.0,
        "dash": (1.0, 1.65),
    }
    assert polygon.path == "M6 56L16 56L16 46z" and ellipse.path.startswith("M76 31C")
    numbers = [float(v) for v in re.findall(r"-?\d+(?:\.\d+)?", ellipse.path)]
    assert (min(numbers[::2]), max(numbers[::2]), min(numbers[1::2]), max(numbers[1::2])) == (
        36,
        76,
        21,
        41,
    )
    from minigrad.viz.picture.write_matplotlib import picture
    from PIL import Image

    found = Image.open(io.BytesIO(picture(marks, styles, (wide, high), "png", 72))).convert("RGB")
    assert found.size == (112, 62) and found.getpixel((56, 24)) == (0, 255, 0)
