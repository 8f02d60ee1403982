"""Where the reader's system sets the colours (Windows' contrast themes), what colours and
backgrounds say is still said.
"""

import pytest
from minigrad.viz import training

import minigrad as mg
from minigrad import viz
from minigrad.watch import trace_function
from tests.browser.conftest import open_text

pytestmark = [pytest.mark.browser, pytest.mark.whole]


def f(x1, x2):
    return mg.log(x1) + x1 * x2 - mg.sin(x2)


@pytest.fixture
def forced(visit, tmp_path):
    """A function that opens a document in a window of forced colours and waits for a part of it."""

    def go(document, part):
        visit.page.emulate_media(forced_colors="active")
        open_text(visit, tmp_path, document, part)
        return visit.page

    yield go
    visit.assert_clean()


def test_the_line_at_work_and_the_step_told_last_differ_from_the_others(forced):
    page = forced(
        viz.to_html(trace_function(f, 2.0, 5.0), step=18, views=["algorithm", "story"]), ".mg-line"
    )
    style = "(e, name) => getComputedStyle(e)[name]"
    now, other = (
        page.locator(".mg-line.mg-current").last,
        page.locator(".mg-line:not(.mg-current)").first,
    )
    assert (
        now.evaluate(style, "borderLeftColor")
        != other.evaluate(style, "borderLeftColor")
        == "rgb(255, 255, 255)"
    )
    assert (
        page.locator(".mg-story li[aria-current] .mg-told").evaluate(style, "outlineStyle")
        == "solid"
    )
    assert page.locator("tr.mg-active th").first.evaluate(style, "borderLeftStyle") == "solid"


def test_the_decision_surface_keeps_its_colours(forced, history):
    page = forced(training.to_html(history), ".mt-root image")
    colours = page.locator(".mt-root image").evaluate("""async e => {
            const image = new Image();
            image.src = e.getAttribute("href");
            await image.decode();
            const canvas = document.createElement("canvas"), pen = canvas.getContext("2d");
            [canvas.width, canvas.height] = [image.width, image.height];
            pen.drawImage(image, 0, 0);
            const { data } = pen.getImageData(0, 0, image.width, image.height);
            return new Set(Array.from({ length: data.length / 4 },
                (_, i) => data.slice(4 * i, 4 * i + 3).join())).size;
        }""")
    assert colours > 10


@pytest.mark.parametrize("width", [1280, 700, 390])
def test_the_letters_of_a_training_are_of_one_legible_size(visit, tmp_path, history, width):
    page = visit.page
    page.set_viewport_size({"width": 1000, "height": 900})
    open_text(visit, tmp_path, training.to_html(history), ".mt-root .mt-axis")
    page.set_viewport_size({"width": width, "height": 900})
    page.wait_for_timeout(300)  # the drawing follows the window
    sizes = page.locator(".mt-axis").evaluate_all(
        "all => all.map(e => parseFloat(getComputedStyle(e).fontSize) * e.getScreenCTM().a)"
    )
    assert sizes and all(10 <= size <= 12.5 for size in sizes), sorted(set(map(round, sizes)))
    cut = page.locator(".mt-body svg").evaluate_all(
        """all => all.flatMap(svg => [...svg.querySelectorAll("text")]
            .filter(e => (b => b.x < 0 || b.x + b.width > svg.viewBox.baseVal.width)(e.getBBox()))
                .map(e => e.textContent))"""
    )
    assert cut == [], "letters beyond the edge"
    visit.assert_clean()
