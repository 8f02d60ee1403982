"""The site in a browser, from the disk and from a plain web server: it steps, sets its formulas,
and sends no request to any other host.
"""

import functools
import http.server
import threading

import nbformat
import pytest
from minigrad.lessons import site

pytestmark = [
    pytest.mark.browser,
    pytest.mark.whole,
    pytest.mark.skipif(bool(site.missing()), reason=f"pip install {' '.join(site.missing())}"),
]

SHOW = (
    "import minigrad as mg\nfrom minigrad import viz\nviz.show(lambda x1, x2: mg.log(x1) + x1 * x2,"
    " 2.0, 5.0, mode='primal')"
)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    place = tmp_path_factory.mktemp("site")
    (place / "lessons").mkdir()
    cells = [
        nbformat.v4.new_markdown_cell(
            "# Lesson 1 · A sum\n\n$$y = \\ln x_1 + x_1 x_2$$", id="text"
        ),
        nbformat.v4.new_code_cell(SHOW, id="code"),
    ]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), place / "lessons" / "01_sum.ipynb")
    site.build(place / "out", place / "lessons")
    return place / "out"


@pytest.fixture(params=["disk", "server"])
def address(request, made):
    if request.param == "disk":
        yield (made / "01_sum.html").as_uri()
        return

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), functools.partial(Quiet, directory=made)
    )
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/01_sum.html"
    server.shutdown()
    server.server_close()


def test_a_lesson_of_the_site_steps(visit, address):
    page = visit.page
    page.goto(address)
    page.wait_for_selector("mjx-container svg")  # the formula is set
    frame = page.frame_locator("iframe.minigrad-frame")
    place = frame.locator("input[type=range]").first
    assert place.input_value() == "0"
    for number in ("1", "2", "3"):
        frame.get_by_role("button", name="Next").first.click()
        assert place.input_value() == number
    assert frame.locator("table").get_by_text("0.6931").first.is_visible()
    assert (visit.outside, visit.errors) == ([], [])


def test_a_lesson_of_the_site_is_accessible(visit, address, axe):
    visit.page.goto(address)
    visit.page.wait_for_selector("mjx-container svg")
    axe(visit.page, "article")
