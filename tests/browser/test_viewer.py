"""The viewer as its readers meet it: the lesson on both modes in JupyterLab, beside the notebook's own keys, and a page from a file."""

from pathlib import Path
from typing import Any

import nbformat
import pytest

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("browser")]

FUNCTION = "import minigrad as mg\ndef f(x1, x2):\n    return mg.log(x1) + x1 * x2 - mg.sin(x2)"
ADJOINTS = {"x1": "5.5", "x2": "1.716"}


def step_to_the_end(page: Any, viewer: Any) -> None:
    """Walks a viewer (a locator) from its first state to its last by the right arrow key alone, seeing the counter move at every press."""
    viewer.scroll_into_view_if_needed()
    viewer.focus()
    page.keyboard.press("Home")
    counter = viewer.locator(".mg-counter")
    last = int(counter.inner_text().split("/")[1])
    assert last > 1
    for step in range(1, last + 1):
        page.keyboard.press("ArrowRight")
        counter.get_by_text(f"{step} / {last}", exact=True).wait_for(timeout=10_000)


def adjoints(viewer: Any) -> dict[str, str]:
    """What the viewer's table shows as the adjoints of the inputs; empty where a viewer shows none."""
    cells = {name: viewer.locator(f"tr[data-node='{name}'] td[data-col='g']") for name in ADJOINTS}
    return {name: cell.inner_text() for name, cell in cells.items() if cell.count()}


@pytest.fixture(scope="module")
def course(start_lab):
    """`minigrad lab` on the course itself."""
    return start_lab()


@pytest.fixture(scope="module")
def small_lab(start_lab, tmp_path_factory):
    """`minigrad lab` on a notebook that shows one viewer."""
    lessons = tmp_path_factory.mktemp("lessons")
    cells = [f"{FUNCTION}\nimport viz\nstepper = viz.show(f, 2.0, 5.0)\nstepper", "print('last cell')"]
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c, id=f"cell-{i}") for i, c in enumerate(cells)], metadata=kernel)
    nbformat.write(notebook, lessons / "01_viewer.ipynb")
    return start_lab(lessons)


def in_each_theme(page: Any):
    """JupyterLab's light theme, then its dark one; the viewer follows."""
    for theme, light in (("JupyterLab Light", "true"), ("JupyterLab Dark", "false")):
        page.evaluate("theme => window.jupyterapp.commands.execute('apputils:change-theme', { theme })", theme)
        page.wait_for_selector(f"body[data-jp-theme-light='{light}']", state="attached")
        page.wait_for_timeout(500)  # transitions of colour end
        yield


def test_the_lesson_on_both_modes_can_be_stepped_through_by_keyboard_in_jupyterlab(course, visit, axe):
    page = visit.page
    (lesson,) = (path.name for path in course.folder.glob("*_forward_and_reverse_mode.ipynb"))
    course.open(page, lesson)
    course.run_all(page)
    found = []
    for number in course.cells_with_widgets(page):
        course.scroll_to(page, number)
        viewer = page.locator(f".jp-Notebook .jp-Cell[data-windowed-list-index='{number}'] .mg-root")
        viewer.wait_for()
        step_to_the_end(page, viewer)
        found.append(adjoints(viewer))
        for _ in in_each_theme(page):
            axe(page, f".jp-Cell[data-windowed-list-index='{number}'] .mg-root")
    assert ADJOINTS in found
    visit.assert_clean()


def test_the_keys_belong_to_the_viewer_while_it_has_the_focus(small_lab, visit):
    page = visit.page
    small_lab.open(page, "01_viewer.ipynb")
    small_lab.run_all(page)
    viewer = page.locator(".jp-OutputArea-output .mg-root")
    viewer.wait_for()
    step_to_the_end(page, viewer)
    assert adjoints(viewer) == ADJOINTS
    cells = page.locator(".jp-Notebook .jp-Cell").count()
    for key in ("a", "b", "d", "d", "x", "z", "y", "m"):  # JupyterLab's keys for inserting, deleting, cutting and changing cells
        page.keyboard.press(key)
    page.wait_for_timeout(300)
    assert page.locator(".jp-Notebook .jp-Cell").count() == cells
    assert page.evaluate("() => window.jupyterapp.shell.currentWidget.content.widgets.map(cell => cell.model.type)") == ["code", "code"]
    visit.assert_clean()


def test_python_and_the_reader_move_each_other(small_lab, visit):
    page = visit.page
    small_lab.open(page, "01_viewer.ipynb")
    small_lab.run_all(page)
    viewer = page.locator(".jp-OutputArea-output .mg-root")
    viewer.wait_for()
    assert small_lab.compute(page, "stepper.step = 3") == ""
    viewer.locator(".mg-counter").get_by_text("3 /").wait_for()
    viewer.focus()
    page.keyboard.press("ArrowRight")
    viewer.locator(".mg-counter").get_by_text("4 /").wait_for()
    page.wait_for_timeout(500)  # the message to the kernel
    assert small_lab.compute(page, "print(stepper.step)") == "4\n"
    visit.assert_clean()


@pytest.fixture(scope="module")
def page_file(tmp_path_factory) -> Path:
    """The page that `minigrad trace -o steps.html` writes."""
    from minigrad import cli

    path = tmp_path_factory.mktemp("page") / "steps.html"
    assert cli.main(["trace", "log(x1) + x1*x2 - sin(x2)", "x1=2", "x2=5", "-o", str(path)]) == 0
    return path


@pytest.mark.parametrize("scheme", ["light", "dark"])
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
