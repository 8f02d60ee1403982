"""The site of the course itself: no link of any page is dead, and lessons that together have every
kind of picture are whole and step, from the disk and from a plain web server.

Those lessons stand on it as other tests have executed them, the others without outputs; the
reference describes a few names on each page. tests/lessons/test_notebooks.py has the outputs of
all lessons, tests/lessons/test_site.py a site whose build executes the cells.
"""

import re

import pytest
from minigrad.lessons import reference, site
from minigrad.lessons.edition import student_file

from tests.browser.conftest import web_server
from tests.helpers import lesson_runs
from tests.helpers.site_links import dead_links

pytestmark = [
    pytest.mark.whole,
    pytest.mark.skipif(bool(site.missing()), reason=f"pip install {' '.join(site.missing())}"),
]

NOTEBOOKS = sorted(site.LESSONS.glob("*.ipynb"))
OTHERS = sorted(path.stem for path in site.LESSONS.glob("*.md"))
REFERENCE = [f"reference/{name}" for name in ("index", "operations", "functions", "nn")]
FEW = 8
"""How many names a page of the reference describes here: all take 27 seconds of processor time."""
FROM_THE_DISK = "04_cost_of_the_two_modes"
"""A page with two traces side by side."""
ROOTS = ":is(.mg-root, .mt-root)"
"""The stepper, and the view of a training."""


def lessons_with_each_kind_of_picture() -> list[str]:
    """Lessons that together use every function of viz and every mode that any lesson uses."""
    used = re.compile(r'\bviz\.\w+|\bmode=\\"(?:forward|reverse|both|primal)')
    kinds = {path.stem: set(used.findall(path.read_text(encoding="utf-8"))) for path in NOTEBOOKS}
    chosen, left = [FROM_THE_DISK], set.union(*kinds.values()) - kinds[FROM_THE_DISK]
    while left:
        chosen.append(max(kinds, key=lambda name: len(kinds[name] & left)))
        left -= kinds[chosen[-1]]
    return sorted(chosen)


SHOWN = lessons_with_each_kind_of_picture()


@pytest.fixture(scope="module")
def course_site(tmp_path_factory):
    place = tmp_path_factory.mktemp("site")

    def page_source(path):
        if path.stem in SHOWN:
            return (lesson_runs.run(path, "students") / lesson_runs.EXECUTED).read_bytes()
        return student_file(path)

    settings, block, known = site.settings, reference._block, reference.known()[:FEW]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(site, "student_file", page_source)
        patch.setattr(
            site, "settings", lambda *given: {**settings(*given), "nb_execution_mode": "off"}
        )
        # the other cores run other tests, and what processes hand to each other takes 7 s
        patch.setattr(site, "JOBS", "1")
        patch.setattr(reference, "_block", lambda lines: block(list(lines)[:FEW]))
        patch.setattr(reference, "known", lambda: known)
        site.build(place / "out")
    assert [path.name for path in place.iterdir()] == ["out"], (
        "nothing is written beside the folder that was asked for"
    )
    return place / "out"


def test_no_link_is_dead_and_no_page_names_another_server(course_site):
    assert dead_links(course_site) == []
    pages = {path.stem: path.read_text(encoding="utf-8") for path in course_site.glob("*.html")}
    assert set(pages) >= {"index", *(path.stem for path in NOTEBOOKS), *OTHERS}
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
    for name, page in pages.items():
        assert name == "index" or re.search(r'<dt class="sig|<h3>', page), name
        assert "system-message" not in page, name
        assert not re.search(r" at 0x[0-9a-f]{6}", page), "the address of an object in memory"


@pytest.fixture(scope="module")
def served(course_site):
    with web_server(course_site) as address:
        yield address


@pytest.mark.browser
def test_each_picture_of_a_page_from_the_disk_steps(course_site, visit):
    visit.page.goto((course_site / f"{FROM_THE_DISK}.html").as_uri())
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
@pytest.mark.parametrize("name", ["index", *SHOWN, *OTHERS, *REFERENCE])
def test_each_page_of_a_web_server_fits_a_phone_and_its_first_and_last_picture_step(
    served, visit, name
):
    page = visit.page
    page.set_viewport_size({"width": 390, "height": 844})
    page.emulate_media(color_scheme="dark")
    page.goto(f"{served}/{name}.html")
    if name in SHOWN:
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
def test_a_term_is_found_in_the_glossary_and_then_in_its_lesson(served, visit):
    for term, lesson in (("chain rule", "Lesson 2 ·"), ("bprop", "Lesson 7")):
        visit.page.goto(f"{served}/search.html?q={term}")
        visit.page.locator("#search-results li .context").nth(1).wait_for()
        found = visit.page.locator("#search-results li > a").all_inner_texts()
        assert found[0] == "Glossary" and found[1].startswith(lesson)
    visit.assert_clean()


@pytest.mark.browser
def test_the_pictures_follow_the_switch_for_light_and_dark(course_site, visit):
    page = visit.page
    page.emulate_media(color_scheme="light")
    page.goto((course_site / f"{FROM_THE_DISK}.html").as_uri())
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
