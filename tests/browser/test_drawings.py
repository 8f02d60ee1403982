"""`draw_graph` in a browser: it follows the page's theme, and no text is wider than its box."""

import re

import pytest
from minigrad.viz.picture.marks import palette

import minigrad as mg
from minigrad import nn, viz
from minigrad.watch import trace_function

from .conftest import open_text

pytest.importorskip("graphviz", reason='graphviz is not installed: pip install "minigrad[viz]"')


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.convolution = nn.Conv2d(1, 3, (3, 3), padding=(1, 1))
        self.linear = nn.Linear(48, 2)

    def forward(self, x):
        return self.linear(self.convolution(x).relu().reshape(x.shape[0], -1))


def drawing():
    return Net().draw_graph(mg.ones(2, 1, 4, 4), depth=None)


LOOK = """svg => {
    const look = (of) => [...svg.querySelectorAll(of)].map((e) => getComputedStyle(e));
    return { inks: look("text").map((s) => s.fill), fills: look("path, rect").map((s) => s.fill) };
}"""


def rgb(name, dark):
    colour = palette()[name][dark]
    return "rgb({}, {}, {})".format(*(int(colour[i : i + 2], 16) for i in (1, 3, 5)))


def relative_luminance(colour):
    channels = [int(v) / 255 for v in re.findall(r"\d+", colour)[:3]]
    linear = [v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize(
    ("theme", "preferred"), [("true", "dark"), ("false", "light"), (None, "dark")]
)
def test_a_drawing_in_a_notebook_has_the_notebooks_colours(visit, tmp_path, theme, preferred):
    """The notebook's theme counts; without one, as on a plain page, the reader's preference."""
    inside = drawing()._repr_mimebundle_()["text/html"]
    visit.page.emulate_media(color_scheme=preferred)
    attribute = f' data-jp-theme-light="{theme}"' if theme else ""
    open_text(visit, tmp_path, f"<body{attribute}>{inside}</body>", "svg")
    dark = theme == "false" or (theme is None and preferred == "dark")
    found = visit.page.locator("svg:visible").evaluate(LOOK)
    assert rgb("ink", dark) in found["inks"]
    assert rgb("raised", dark) in found["fills"]
    assert rgb("surface", not dark) not in found["fills"] or rgb("surface", not dark) == rgb(
        "raised", dark
    )
    for ink in set(found["inks"]):
        contrast = [relative_luminance(ink), relative_luminance(rgb("raised", dark))]
        assert (max(contrast) + 0.05) / (min(contrast) + 0.05) > 4.5


def chain():
    given = x = mg.tensor(0.5, requires_grad=True)
    for _ in range(8):
        x = x.sin() * x
    return x.draw_graph(names={"x": given})


def many_inputs():
    given = [mg.ones(2, requires_grad=True) for _ in range(9)]
    return mg.stack(given).sum().draw_graph()


ON_A_PHONE = "<style>svg { max-width: 100%; height: auto }</style>"
SHOWN = """() => [...document.querySelectorAll("svg")].filter((e) => e.clientWidth).map((svg) => {
    const box = svg.closest("[tabindex]");
    const heads = [...svg.querySelectorAll(".name")].map((e) => e.getBoundingClientRect());
    return { scale: svg.clientWidth / svg.viewBox.baseVal.width,
        hidden: box.scrollWidth - box.clientWidth,
        down: heads.at(-1).top - heads[0].bottom, right: heads.at(-1).left - heads[0].right }; })"""


def test_on_a_phone_a_drawing_stands_upright_and_fits(visit, tmp_path):
    """It was cut after two cards, and scrolled sideways (29 November 2026)."""
    inside = chain()._repr_mimebundle_()["text/html"]
    open_text(visit, tmp_path, ON_A_PHONE + inside, "svg")
    (across,) = visit.page.evaluate(SHOWN)
    visit.page.set_viewport_size({"width": 390, "height": 844})
    (upright,) = visit.page.evaluate(SHOWN)
    assert across["right"] > 0 and across["hidden"] <= 0
    assert upright["down"] > 800 and upright["hidden"] <= 0 and upright["scale"] > 0.7
    arrows = visit.page.locator(".mg-upright .tip").evaluate_all(
        "tips => tips.map((tip) => tip.getBBox()).map(({ width, height }) => height > width)"
    )
    assert len(arrows) == 24 and all(arrows)


def test_on_a_phone_an_upright_drawing_that_is_a_little_too_wide_is_seen_whole(visit, tmp_path):
    model = nn.Sequential(nn.Linear(3, 5), nn.Tanh(), nn.Linear(5, 2))
    loss = nn.functional.cross_entropy(model(mg.ones(4, 3)), mg.tensor([0, 1, 1, 0]))
    visit.page.set_viewport_size({"width": 390, "height": 844})
    inside = loss.draw_graph(names=dict(model.named_parameters()))._repr_mimebundle_()["text/html"]
    open_text(visit, tmp_path, ON_A_PHONE + inside, "svg:visible")
    (shown,) = visit.page.evaluate(SHOWN)
    assert shown["hidden"] <= 0 and 0.62 <= shown["scale"] < 0.7


def test_a_small_drawing_is_there_once():
    small = (mg.tensor(0.5, requires_grad=True) * 2).draw_graph()
    assert small._repr_mimebundle_()["text/html"].count("<svg") == 1


def test_on_a_phone_a_wide_drawing_stays_readable_and_scrolls_inside_its_output(visit, tmp_path):
    """It was as wide as the phone, at a third of its size (November 2026)."""
    visit.page.set_viewport_size({"width": 390, "height": 844})
    inside = many_inputs()._repr_mimebundle_()["text/html"]
    open_text(visit, tmp_path, ON_A_PHONE + inside, "svg:visible")
    (shown,) = visit.page.evaluate(SHOWN)
    assert shown["scale"] == pytest.approx(0.62, abs=0.01) and shown["hidden"] > 30
    assert visit.page.evaluate("document.documentElement.scrollWidth") <= 390


def test_a_saved_picture_has_the_same_colours_for_every_reader(visit, tmp_path):
    """On a white slide the picture of a reader who prefers dark colours was dark."""
    path, trace = tmp_path / "graph.svg", trace_function(lambda x: x * x, 3.0)
    files = {"drawing": drawing().save, "still": lambda path: viz.save(trace, path)}
    files["dark"] = lambda path: viz.save(trace, path, dark=True)
    for name, save in files.items():
        save(path)
        for preferred in ("light", "dark"):
            visit.page.emulate_media(color_scheme=preferred)
            visit.page.goto(path.as_uri())
            found = visit.page.locator("svg").evaluate(LOOK)
            assert rgb("ink", name == "dark") in found["inks"], (name, preferred)
            assert rgb("surface", name == "dark") in found["fills"], (name, preferred)
    path.write_text(viz.to_svg(trace), encoding="utf-8")
    visit.page.goto(path.as_uri())
    assert rgb("ink", True) in visit.page.locator("svg").evaluate(LOOK)["inks"], "text for a page"


def test_a_drawing_has_a_name_for_screen_readers(visit, tmp_path, axe):
    inside = drawing()._repr_mimebundle_()["text/html"]
    open_text(visit, tmp_path, f"<title>a</title><main><h1>a</h1>{inside}</main>", "svg")
    axe(visit.page, "svg")
    assert visit.page.locator("svg:visible > title").text_content() == "Graph"


def test_no_text_is_wider_than_its_box(visit, tmp_path):
    """Whatever the font: here those of the stylesheet's that are widest."""
    inside = drawing()._repr_mimebundle_()["text/html"]
    wide = (
        "<style>svg .name { font-family: 'DejaVu Serif', serif !important }"
        "svg .caption { font-family: 'DejaVu Sans', sans-serif !important }</style>"
    )
    open_text(visit, tmp_path, inside + wide, "svg")
    found = visit.page.locator("svg:visible").evaluate("""svg => {
        const boxes = [...svg.querySelectorAll(".card")].map((e) => e.getBBox());
        return [...svg.querySelectorAll("text:not(.shape)")].map((text) => {
            const { x, y, width, height } = text.getBBox();
            const middle = y + height / 2, inside = (b) =>
                b.x <= x && x + width <= b.x + b.width && b.y <= middle
                && middle <= b.y + b.height;
            return boxes.some(inside) ? "" : text.textContent;
        }).filter(Boolean); }""")
    assert found == []
