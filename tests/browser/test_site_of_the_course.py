"""The site of the course itself, built once from the executed notebooks that other tests use too:
every page opens from the disk and from a plain web server, and every picture on it steps.
tests/lessons/test_site.py has a site whose build executes the cells.
"""

import functools
import http.server
import json
import re
import threading

import pytest
from minigrad.lessons import site
from minigrad.lessons.edition import student_file

from tests.helpers import lesson_runs

pytestmark = [
    pytest.mark.whole,
    pytest.mark.skipif(bool(site.missing()), reason=f"pip install {' '.join(site.missing())}"),
]

NOTEBOOKS = sorted(path.stem for path in site.LESSONS.glob("*.ipynb"))
OTHERS = sorted(path.stem for path in site.LESSONS.glob("*.md"))
REFERENCE = [f"reference/{name}" for name in ("index", "operations", "functions", "nn")]
PICTURE = re.compile(r"^(viz\.(show|jacobian|compare|sliders)\(|with viz\.Live\()", re.MULTILINE)
"""How a cell shows a picture, whatever the student has written."""
FROM_THE_DISK = ("03_the_algorithm", "04_cost_of_the_two_modes", "11_training")
"""Pages that together have a stepper, two traces side by side, a Jacobian matrix and a training."""
ROOTS = ":is(.mg-root, .mt-root)"
"""The stepper, and the view of a training."""


@pytest.fixture(scope="module")
def course_site(tmp_path_factory):
    place = tmp_path_factory.mktemp("site")

    def page_source(path):
        if path.suffix == ".ipynb":
            return (lesson_runs.run(path, "students") / lesson_runs.EXECUTED).read_bytes()
        return student_file(path)

    settings = site.settings
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(site, "student_file", page_source)
        patch.setattr(
            site, "settings", lambda *given: {**settings(*given), "nb_execution_mode": "off"}
        )
        # the other cores run other tests, and what processes hand to each other takes 7 s
        patch.setattr(site, "JOBS", "1")
        site.build(place / "out")
    assert [path.name for path in place.iterdir()] == ["out"], (
        "nothing is written beside the folder that was asked for"
    )
    return place / "out"


def cells_with_pictures(name: str) -> int:
    """How many cells of a lesson show one."""
    cells = json.loads((site.LESSONS / f"{name}.ipynb").read_text(encoding="utf-8"))["cells"]
    sources = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    return sum(bool(PICTURE.search(source)) for source in sources)


def test_no_link_is_dead_and_no_page_names_another_server(course_site):
    assert site.dead_links(course_site) == []
    pages = {path.stem: path.read_text(encoding="utf-8") for path in course_site.glob("*.html")}
    assert set(pages) >= {"index", *NOTEBOOKS, *OTHERS}
    for name, page in pages.items():
        assert not re.findall(
            r'<(?:script|link|img|iframe)\b[^>]*\b(?:src|href)="(?:https?:)?//', page
        ), name


def test_the_reference_has_what_the_docstrings_say(course_site):
    pages = {
        path.stem: path.read_text(encoding="utf-8")
        for path in (course_site / "reference").glob("*.html")
    }
    assert set(pages) >= {"index", "operations", "functions", "tensor", "nn_functional", "viz"}
    assert 'id="minigrad.softmax"' in pages["functions"] and 'id="sin"' in pages["operations"]
    for name, page in pages.items():
        assert "system-message" not in page, name
        assert not re.search(r" at 0x[0-9a-f]{6}", page), "the address of an object in memory"


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_each_lesson_shows_its_pictures_and_nothing_that_only_a_kernel_could_show(
    course_site, name
):
    page = (course_site / f"{name}.html").read_text(encoding="utf-8")
    assert page.count('class="minigrad-frame"') >= max(1, cells_with_pictures(name))
    assert "application/vnd.jupyter.widget" not in page, "a widget is dead without a kernel"
    assert 'class="output stderr' not in page and 'class="output traceback' not in page
    assert "not started" in page, "the students' edition"


@pytest.fixture(scope="module")
def served(course_site):
    """The address of a plain web server with the site."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), functools.partial(Quiet, directory=course_site)
    )
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.mark.browser
@pytest.mark.parametrize("name", FROM_THE_DISK)
def test_each_picture_of_a_page_from_the_disk_steps(course_site, visit, name):
    visit.page.goto((course_site / f"{name}.html").as_uri())
    frames = visit.page.locator("iframe.minigrad-frame")
    assert frames.count() >= 1
    for k in range(frames.count()):
        step(frames.nth(k))
    visit.assert_clean()


STEP = """async () => {
    const frame = () => new Promise(requestAnimationFrame);
    await frame();  // what is laid out is drawn
    const names = /^(Back|Next|Previous snapshot|Next snapshot)/,
        // forward, or back where it stands at its end: the last of the buttons that are enabled
        button = [...document.querySelectorAll("button:not(:disabled)")]
            .filter((b) => b.ariaDisabled !== "true" && b.checkVisibility()
                && names.test(b.ariaLabel ?? b.textContent)).at(-1),
        // no slider of an input
        place = document.querySelector(".mg-timeline input, .mt-scrub input"),
        before = Number(place.value), box = button.getBoundingClientRect();
    if (!button.contains(document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2)))
        return `${button.ariaLabel} is covered`;
    button.click();
    await frame();
    return Math.abs(Number(place.value) - before);
}"""
"""Moves a picture by one, as a click does, in one message instead of six."""


def step(frame) -> None:
    """Brings a picture into view, waits for it, and moves it by one."""
    frame.scroll_into_view_if_needed()
    assert frame.content_frame.locator(ROOTS).first.evaluate(STEP, timeout=20_000) == 1


@pytest.mark.browser
@pytest.mark.parametrize("name", ["index", *NOTEBOOKS[::2], *OTHERS, *REFERENCE])
def test_each_page_of_a_web_server_fits_a_phone_and_its_first_and_last_picture_step(
    served, visit, name
):
    page = visit.page
    page.set_viewport_size({"width": 390, "height": 844})
    page.emulate_media(color_scheme="dark")
    page.goto(f"{served}/{name}.html")
    if name in NOTEBOOKS:
        frames = page.locator("iframe.minigrad-frame")
        step(frames.first)
        step(frames.last)
    shown = {
        "page": page.evaluate("getComputedStyle(document.body).backgroundColor"),
        "wide": page.evaluate("document.body.scrollWidth"),
    }
    assert brightness(shown["page"]) < 100
    assert shown["wide"] <= 390, "the page need not be pushed from side to side"
    cut = page.evaluate(
        "[...document.querySelectorAll('pre')].filter(p => p.scrollWidth > p.clientWidth + 1)"
        ".filter(p => !p.closest('.course-columns'))"  # columns stay columns, and are scrolled
        ".map(p => p.textContent)"
    )
    assert cut == [], "nothing of a cell or of its output is cut"
    pushed = page.evaluate(
        "[...document.querySelectorAll('.course-columns pre')].flatMap(pre => {"
        " const lines = pre.innerText.split('\\n');"
        " const rows = lines.filter(line => /\\S {2,}\\S/.test(line));"
        " const widest = Math.max(...rows.map(line => line.length));"
        " return lines.filter(line => line.length > widest && ![...pre.children].some("
        "  e => e.textContent === line && e.getBoundingClientRect().width <= pre.clientWidth)); })"
    )
    assert pushed == [], "a sentence among printed columns is broken"
    visit.assert_clean()


def brightness(colour: str) -> float:
    return sum(map(float, re.findall(r"[\d.]+", colour)[:3])) / 3


@pytest.mark.browser
@pytest.mark.parametrize(
    "term, lesson", [("adjoint", "Lesson 2 ·"), ("chain rule", "Lesson 2 ·"), ("bprop", "Lesson 7")]
)
def test_a_term_is_found_in_the_glossary_and_then_in_its_lesson(served, visit, term, lesson):
    visit.page.goto(f"{served}/search.html?q={term}")
    visit.page.locator("#search-results li .context").nth(1).wait_for()
    found = visit.page.locator("#search-results li > a").all_inner_texts()
    assert found[0] == "Glossary" and found[1].startswith(lesson)
    visit.assert_clean()


@pytest.mark.browser
def test_the_pictures_follow_the_switch_for_light_and_dark(course_site, visit):
    page = visit.page
    page.emulate_media(color_scheme="light")
    page.goto((course_site / "02_forward_and_reverse_mode.html").as_uri())
    frame = page.locator("iframe.minigrad-frame").first
    frame.scroll_into_view_if_needed()
    root = frame.content_frame.locator(".mg-root")
    root.wait_for(timeout=20_000)
    for theme in ("dark", "light"):
        page.evaluate(
            "theme => { document.body.dataset.theme = theme; }", theme
        )  # what the theme's button does
        frame.content_frame.locator(f".mg-root[data-theme={theme}]").wait_for(timeout=5_000)
    visit.assert_clean()
