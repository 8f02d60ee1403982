"""The site in a browser, from the disk and from a plain web server: its first page differentiates
what is typed, its lessons step and set their formulas, and it sends no request to any other host.
"""

import contextlib
import io

import nbformat
import pytest
from minigrad.lessons import site

from tests.browser.conftest import web_server

pytestmark = [
    pytest.mark.browser,
    pytest.mark.whole,
    pytest.mark.skipif(bool(site.missing()), reason=f"pip install {' '.join(site.missing())}"),
]

SHOW = (
    "import minigrad as mg\nfrom minigrad import viz\nviz.show(lambda x1, x2: mg.log(x1) + x1 * x2,"
    " 2.0, 5.0, mode='primal')"
)

BOTH = """def f(x1, x2):
    return mg.log(x1) + x1 * x2 - mg.sin(x2)
viz.show(f, 2.0, 5.0)"""

PRINTED = """for n in (4, 8, 12, 16):
    print(f"{n:10}   {2**n:22}   {n:14}   {n:14}")"""

MOVED = "viz.sliders(lambda x, y: x * x + y, x=(1.0, 2.0), y=5.0, points=3)"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    place = tmp_path_factory.mktemp("site")
    (place / "lessons").mkdir()
    cells = [
        nbformat.v4.new_markdown_cell(
            "# Lesson 1 · A sum\n\n$$y = \\ln x_1 + x_1 x_2$$\n\nThe adjoint of $y$ is 1.",
            id="text",
        ),
        nbformat.v4.new_code_cell(SHOW, id="code"),
        nbformat.v4.new_markdown_cell("## Both modes", id="more"),
        nbformat.v4.new_code_cell(BOTH, id="both"),
        nbformat.v4.new_code_cell(MOVED, id="moved"),
        nbformat.v4.new_code_cell(PRINTED, id="printed"),
        nbformat.v4.new_code_cell("print('long, ' * 99)", id="long"),
    ]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), place / "lessons" / "01_sum.ipynb")
    (place / "lessons" / "figures").mkdir()
    for name in ("02_forward_and_reverse_mode", "bug_zoo"):
        figure = site.LESSONS / "figures" / f"{name}.svg"
        (place / "lessons" / "figures" / figure.name).write_bytes(figure.read_bytes())
        text = f"# A page about {name}\n\n![A figure](figures/{figure.name})\n"
        (place / "lessons" / f"{name}.md").write_text(text)
    (place / "lessons" / "adjoint.md").write_text("# Adjoint\n\nAn adjoint is an adjoint.\n")
    (place / "lessons" / "glossary.md").write_text(
        "# Terms\n\n**adjoint** ($\\bar v$; cotangent): what comes back to a value. *Lesson 1.*\n"
    )
    site.build(place / "out", place / "lessons", documented=False)
    return place / "out"


@pytest.fixture(scope="module")
def served(made):
    with web_server(made) as address:
        yield address


@pytest.fixture(params=["disk", "server"])
def address(request, made, served):
    """Where frames, formulas and searches must work from. What else a page does is asked from the
    disk, where a browser allows less; how it looks depends on neither.
    """
    return made.as_uri() if request.param == "disk" else served


def test_a_lesson_of_the_site_steps(visit, address):
    page = visit.page
    page.goto(f"{address}/01_sum.html")
    page.wait_for_selector("mjx-container svg")  # the formula is set
    frame = page.locator("iframe.minigrad-frame").first.content_frame
    place = frame.locator("input[type=range]").first
    assert place.input_value() == "0"
    for number in ("1", "2", "3"):
        frame.get_by_role("button", name="Next").first.click()
        assert place.input_value() == number
    assert frame.locator("table").get_by_text("0.6931").first.is_visible()
    assert (visit.outside, visit.errors) == ([], [])


def test_graph_source_and_table_of_a_lesson_are_on_one_screen_in_two_columns(visit, served):
    page = visit.page
    page.goto(f"{served}/01_sum.html")
    for width, height in ((1280, 800), (1440, 900)):
        page.set_viewport_size({"width": width, "height": height})
        frame = page.locator("iframe.minigrad-frame").nth(1)
        frame.scroll_into_view_if_needed()
        frame.content_frame.locator(".mg-root .mg-counter").wait_for()
        page.wait_for_timeout(200)  # the frame follows the window
        frame.evaluate("frame => frame.scrollIntoView({ block: 'start' })")
        graph, source, table = (
            frame.content_frame.locator(part).bounding_box()
            for part in (".mg-graph", ".mg-source", ".mg-tablebox")
        )
        assert graph["x"] + graph["width"] < table["x"], "side by side"
        for box in (graph, source, table):
            assert box["y"] >= 0 and box["y"] + box["height"] <= height
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        outside = frame.bounding_box()
        for drawer in page.locator(".sidebar-drawer, .toc-drawer").all():
            other = drawer.bounding_box()
            left = max(other["x"], outside["x"])
            right = min(other["x"] + other["width"], outside["x"] + outside["width"])
            assert right - left < 1, "the frame covers neither the lessons' list nor the page's"


def test_the_first_graph_of_lesson_1_is_on_the_first_screen_of_a_laptop(visit, tmp_path):
    """In a window of 1280 by 720 its lower half was below it (November 2026)."""
    (tmp_path / "lessons").mkdir()
    lesson = nbformat.read(site.LESSONS / "01_three_ways.ipynb", as_version=4)
    lesson.cells = lesson.cells[:2]
    nbformat.write(lesson, tmp_path / "lessons" / "01_three_ways.ipynb")
    site.build(tmp_path / "out", tmp_path / "lessons", documented=False)
    visit.page.set_viewport_size({"width": 1280, "height": 720})
    visit.page.goto((tmp_path / "out" / "01_three_ways.html").as_uri())
    graph = visit.page.frame_locator("iframe.minigrad-frame").locator(".mg-graph").bounding_box()
    assert graph["y"] + graph["height"] <= 720


@pytest.mark.parametrize("size", [(390, 844), (360, 740)])
def test_on_a_phone_the_row_that_a_step_writes_is_on_the_screen_with_the_graph(
    chromium, served, size
):
    width, height = size
    touch = {"viewport": {"width": width, "height": height}, "has_touch": True, "is_mobile": True}
    with contextlib.closing(chromium.new_context(**touch)) as phone:
        page = phone.new_page()
        page.goto(f"{served}/01_sum.html")
        frame = page.locator("iframe.minigrad-frame").nth(1)
        frame.scroll_into_view_if_needed()
        viewer = frame.content_frame.locator(".mg-root")
        viewer.locator(".mg-counter").wait_for()
        head = page.locator(".mobile-header").bounding_box()
        page.wait_for_timeout(200)  # the frame takes its height
        frame.evaluate(
            "(frame, top) => scrollBy(0, frame.getBoundingClientRect().top - top)",
            head["y"] + head["height"],
        )
        before = page.evaluate("scrollY")
        for _ in range(5):
            viewer.get_by_role("button", name="Next", exact=True).tap()
        for part in (".mg-bar", ".mg-formula", ".mg-node.mg-write .mg-card", "td.mg-write"):
            box = viewer.locator(part).bounding_box()
            assert box["y"] >= head["height"] - 1 and box["y"] + box["height"] <= height, part
        assert page.evaluate("scrollY") == before


def test_on_a_phone_printed_columns_are_scrolled_and_sentences_are_broken(visit, served):
    page = visit.page
    page.set_viewport_size({"width": 390, "height": 800})
    page.goto(f"{served}/01_sum.html")
    columns = page.locator(".course-columns pre")
    assert columns.count() == 1
    inside = "e => [e.scrollWidth > e.clientWidth, getComputedStyle(e).overflowX, e.tabIndex]"
    assert columns.evaluate(inside) == [True, "auto", 0]
    long = page.locator(".cell_output pre", has_text="long, long")
    assert long.evaluate(inside)[0] is False
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    for top in (600, 400):
        page.evaluate(
            "top => new Promise((done) => { scrollTo(0, top); setTimeout(done, 200) })", top
        )
    page.locator("html.show-back-to-top").wait_for()
    assert page.locator(".back-to-top").is_hidden(), "over the buttons of a viewer"


def test_under_a_picture_its_inputs_and_its_function_can_be_changed(visit, made):
    page = visit.page
    page.goto(f"{made.as_uri()}/01_sum.html")
    places = page.locator("details.minigrad-change")
    assert places.count() == 3
    page.wait_for_function("window.minigradFrames")
    closed = [frame.url for frame in page.frames if "explore.html" in frame.url]
    assert closed == [], "what is closed is not asked for"
    places.nth(1).locator("summary").click()
    inside = places.nth(1).frame_locator("iframe")
    field = inside.get_by_role("textbox", name="function")
    assert field.input_value() == "log(x1) + x1*x2 - sin(x2)"
    inside.get_by_label("value of x1").fill("3")
    inside.get_by_text("log(x1) + x1*x2 - sin(x2),  x1 = 3, x2 = 5", exact=True).first.wait_for()
    (opened,) = (frame for frame in page.frames if "explore.html" in frame.url)
    opened.wait_for_function(
        "() => Math.abs(document.documentElement.getBoundingClientRect().height - innerHeight) < 2"
    )
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    places.last.locator("summary").click()
    places.last.get_by_role("link", name="On a page of its own").click()
    page.get_by_text("x*x + y,  x = 1.5, y = 5", exact=True).first.wait_for()
    visit.assert_clean()


def test_a_search_for_a_term_finds_the_glossary_then_its_lesson_with_excerpts(visit, address):
    page = visit.page
    for asked in ("adjoint", "Adjoints", "cotangent"):
        page.goto(f"{address}/search.html?q={asked}")
        excerpts = page.locator("#search-results li .context")
        excerpts.first.wait_for()
        found = page.locator("#search-results li > a").all_inner_texts()
        if asked == "cotangent":
            assert found == ["Terms"]
        else:
            assert found[:2] == ["Terms", "Lesson 1 · A sum"] and "Adjoint" in found[2:]
            enough = "document.querySelectorAll('#search-results .context').length >= 3"
            page.wait_for_function(enough)
            assert "The adjoint of" in excerpts.nth(1).inner_text()
        assert "adjoint" in excerpts.first.inner_text()
    visit.assert_clean()


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("01_sum.html", "mjx-container svg"),
        ("search.html", "h1"),
        ("search.html?q=adjoint", ".context"),
    ],
)
def test_a_lesson_and_the_search_of_the_site_are_accessible(visit, served, axe, name, shown):
    visit.page.goto(f"{served}/{name}")
    visit.page.wait_for_selector(shown)
    axe(visit.page, "body")
    assert visit.page.get_by_role("heading", level=1).count() == 1


@pytest.mark.parametrize("theme", ["auto", "dark"])
def test_on_a_dark_page_drawings_are_dark_and_a_painting_keeps_its_colours(visit, theme):
    """The sun of the landscape was brown (29 November 2026)."""
    page, style = visit.page, (site.STATIC / "course.css").read_text(encoding="utf-8")
    page.emulate_media(color_scheme="dark")
    images = "".join(f'<img src="figures/{name}.svg">' for name in ("a", "24c_project_renderer"))
    page.set_content(f'<style>{style}</style><body data-theme="{theme}"><article>{images}')
    looks = page.locator("img").evaluate_all("all => all.map((e) => getComputedStyle(e).filter)")
    assert "invert" in looks[0] and looks[1] == "none"


def test_on_a_phone_a_wide_figure_is_scrolled_with_the_keyboard_too(visit, made, axe):
    page = visit.page
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"{made.as_uri()}/bug_zoo.html")
    figure = page.locator("section > p:has(> img)")
    figure.locator("img").evaluate("image => image.decode()")
    assert figure.evaluate("e => [e.scrollWidth > e.clientWidth, e.tabIndex]") == [True, 0]
    axe(page, "article")
    page.set_viewport_size({"width": 1280, "height": 800})
    page.wait_for_timeout(100)
    assert figure.evaluate("e => e.tabIndex") == -1, "nothing is to be scrolled"


def live(page):
    """What is in the frame of the first page, as soon as it shows a picture."""
    frame = page.frame_locator("iframe.course-live")
    frame.locator(".mg-root .mg-counter").wait_for()
    return frame


def test_the_first_page_differentiates_what_is_typed_and_scrolls_in_one_piece(visit, made):
    page = visit.page
    page.set_viewport_size({"width": 1280, "height": 800})
    page.goto(f"{made.as_uri()}/index.html")
    frame = live(page)
    cards = frame.locator(".mg-node .mg-card")
    cards.nth(6).wait_for()
    bottoms = [card.bounding_box()["y"] + card.bounding_box()["height"] for card in cards.all()]
    assert max(bottoms) < 800, "the graph is on the first screen"
    frame.get_by_role("textbox", name="function").fill("x*y + exp(y)")
    frame.get_by_text("x*y + exp(y),  x = 2, y = 5", exact=True).first.wait_for()
    frame.get_by_role("button", name="Next", exact=True).click()
    inside = page.frames[1]
    for width in (1280, 390):
        page.set_viewport_size({"width": width, "height": 844})
        inside.wait_for_function(
            "() => Math.abs(document.documentElement.getBoundingClientRect().height - innerHeight)"
            " < 2"
        )
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert inside.evaluate("document.documentElement.scrollWidth <= innerWidth")
    visit.assert_clean()


def test_the_first_page_follows_the_switch_for_light_and_dark_and_is_accessible_in_both(
    visit, made, axe
):
    page = visit.page
    page.emulate_media(color_scheme="light")
    page.goto(f"{made.as_uri()}/index.html")
    root = live(page).locator(".mg-root").first
    for theme, bright in (("dark", False), ("light", True)):
        page.evaluate("theme => { document.body.dataset.theme = theme; }", theme)
        page.frames[1].wait_for_function(
            "bright => (Number(/\\d+/.exec(getComputedStyle(document.querySelector("
            "'.mg-root')).backgroundColor)[0]) > 128) === bright",
            arg=bright,
        )
        assert root.is_visible()
        axe(page, "article")


def test_a_card_of_the_first_page_has_its_picture_and_leads_to_its_page(visit, made):
    page = visit.page
    page.goto(f"{made.as_uri()}/index.html")
    card = page.locator(".course-cards a", has_text="A page about bug_zoo")
    picture = card.locator("img")
    picture.scroll_into_view_if_needed()
    assert picture.evaluate("image => image.decode().then(() => image.naturalWidth)") == 640
    card.click()
    assert page.get_by_role("heading", name="A page about bug_zoo").is_visible()
    visit.assert_clean()


def test_names_of_modules_in_code_do_not_look_like_links(visit, made):
    visit.page.emulate_media(color_scheme="dark")
    visit.page.goto(f"{made.as_uri()}/01_sum.html")
    module = visit.page.locator(".highlight .nn").first
    assert module.evaluate("e => getComputedStyle(e).textDecorationLine") == "none"


def test_the_drawings_of_lessons_are_dark_on_a_dark_page(visit, made):
    images = pytest.importorskip("PIL.Image", reason='pip install "minigrad[viz]"')
    page = visit.page
    page.goto(f"{made.as_uri()}/bug_zoo.html")
    for scheme, theme, dark in (
        ("light", "auto", False),
        ("dark", "auto", True),
        ("dark", "light", False),
        ("light", "dark", True),
    ):
        page.emulate_media(color_scheme=scheme)
        page.evaluate("theme => { document.body.dataset.theme = theme; }", theme)
        shown = page.locator("article img[src$='.svg']").first.screenshot()
        grey = images.open(io.BytesIO(shown)).convert("L").histogram()
        bright = sum(grey[128:]) / sum(grey)
        assert bright < 0.2 if dark else bright > 0.8, (scheme, theme)
