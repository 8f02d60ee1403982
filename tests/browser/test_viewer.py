"""The viewer as its readers meet it: the lesson on both modes in JupyterLab, beside the
notebook's own keys, and a page from a file.
"""

from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.browser

FUNCTION = "import minigrad as mg\ndef f(x1, x2):\n    return mg.log(x1) + x1 * x2 - mg.sin(x2)"
ADJOINTS = {"x1": "5.5", "x2": "1.716"}


def step_to_the_end(page: Any, viewer: Any) -> None:
    """Walks a viewer (a locator) from its first state to its last by the right arrow key alone,
    seeing the counter move at every press.
    """
    viewer.scroll_into_view_if_needed()
    viewer.focus()
    page.keyboard.press("Home")
    counter = viewer.locator(".mg-counter")
    last = int(counter.inner_text().split("/")[1])
    assert last > 1
    counter.evaluate(
        """counter => { counter.seen = [];
            new MutationObserver(() => counter.seen.push(counter.textContent)).observe(counter,
                { childList: true, characterData: true, subtree: true }); }"""
    )
    for _ in range(last):
        page.keyboard.press("ArrowRight")
    counter.get_by_text(f"{last} / {last}", exact=True).wait_for(timeout=10_000)
    assert counter.evaluate("counter => counter.seen") == [
        f"{step} / {last}" for step in range(1, last + 1)
    ]


def adjoints(viewer: Any) -> dict[str, str]:
    """What the viewer's table shows as the adjoints of the inputs; empty where a viewer shows
    none.
    """
    cells = {name: viewer.locator(f"tr[data-node='{name}'] td[data-col='g']") for name in ADJOINTS}
    return {name: cell.inner_text() for name, cell in cells.items() if cell.count()}


@pytest.fixture
def opened(lab, visit):
    """The viewer of a notebook that shows one."""
    lab.write(
        "viewer.ipynb",
        [
            f"{FUNCTION}\nfrom minigrad import viz\nstepper = viz.show(f, 2.0, 5.0)\nstepper",
            "print('last cell')",
        ],
    )
    lab.open(visit.page, "viewer.ipynb")
    lab.run_all(visit.page)
    viewer = visit.page.locator(".jp-OutputArea-output .mg-root")
    viewer.wait_for()
    return viewer


def in_each_theme(page: Any):
    """JupyterLab's light theme, then its dark one; the viewer follows."""
    for theme, light in (("JupyterLab Light", "true"), ("JupyterLab Dark", "false")):
        page.evaluate(
            "theme => window.jupyterapp.commands.execute('apputils:change-theme', { theme })", theme
        )
        page.wait_for_selector(f"body[data-jp-theme-light='{light}']", state="attached")
        page.wait_for_function(
            "() => document.getAnimations().every(one => one.playState !== 'running')"
        )  # transitions of colour end
        yield


@pytest.mark.whole
def test_the_lesson_on_both_modes_can_be_stepped_through_by_keyboard_in_jupyterlab(lab, visit, axe):
    page = visit.page
    (lesson,) = (path.name for path in lab.folder.glob("*_forward_and_reverse_mode.ipynb"))
    lab.open(page, lesson)
    lab.run_all(page)
    found = []
    for number in lab.cells_with_widgets(page):
        lab.scroll_to(page, number)
        viewer = page.locator(
            f".jp-Notebook .jp-Cell[data-windowed-list-index='{number}'] .mg-root"
        )
        viewer.wait_for()
        step_to_the_end(page, viewer)
        found.append(adjoints(viewer))
    assert ADJOINTS in found
    for _ in in_each_theme(page):
        axe(page, f".jp-Cell[data-windowed-list-index='{number}'] .mg-root")
    visit.assert_clean()


@pytest.mark.whole
def test_the_keys_belong_to_the_viewer_while_it_has_the_focus_and_python_moves_it_too(
    lab, opened, visit
):
    page, viewer = visit.page, opened
    step_to_the_end(page, viewer)
    assert adjoints(viewer) == ADJOINTS
    cells = page.locator(".jp-Notebook .jp-Cell").count()
    for key in (
        "a",
        "b",
        "d",
        "d",
        "x",
        "z",
        "y",
        "m",
    ):  # JupyterLab's keys for inserting, deleting, cutting and changing cells
        page.keyboard.press(key)
    assert lab.compute(page, "stepper.step = 3") == ""
    viewer.locator(".mg-counter").get_by_text("3 /").wait_for()
    viewer.focus()
    page.keyboard.press("ArrowRight")
    viewer.locator(".mg-counter").get_by_text("4 /").wait_for()
    lab.wait_for(page, "print(stepper.step)", "4")
    assert page.locator(".jp-Notebook .jp-Cell").count() == cells, (
        "by now a command would have been carried out"
    )
    assert page.evaluate(
        "() => window.jupyterapp.shell.currentWidget.content.widgets.map(cell => cell.model.type)"
    ) == ["code", "code"]
    visit.assert_clean()


@pytest.fixture(scope="session")
def page_file(tmp_path_factory) -> Path:
    """The page that `minigrad trace -o steps.html` writes."""
    from minigrad import cli

    path = tmp_path_factory.mktemp("page") / "steps.html"
    assert cli.main(["trace", "log(x1) + x1*x2 - sin(x2)", "x1=2", "x2=5", "-o", str(path)]) == 0
    return path


@pytest.mark.parametrize("scheme", ["light", pytest.param("dark", marks=pytest.mark.whole)])
def test_a_page_from_a_file_needs_no_server(page_file, visit, axe, scheme):
    page = visit.page
    page.emulate_media(color_scheme=scheme)
    page.goto(page_file.as_uri())
    viewer = page.locator(".mg-root")
    viewer.wait_for()
    axe(page, ".mg-root")
    step_to_the_end(page, viewer)
    assert adjoints(viewer) == ADJOINTS
    axe(page, "html")
    visit.assert_clean()
