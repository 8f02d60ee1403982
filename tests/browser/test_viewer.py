"""The viewer as its readers meet it: the lesson on both modes in JupyterLab, and the page that
`minigrad trace` writes.
"""

from typing import Any

import pytest

pytestmark = pytest.mark.browser

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


def in_the_dark(page: Any) -> None:
    """JupyterLab's dark theme, which the viewer follows."""
    theme = "JupyterLab Dark"
    change = "theme => window.jupyterapp.commands.execute('apputils:change-theme', { theme })"
    page.evaluate(change, theme)
    page.wait_for_selector("body[data-jp-theme-light='false']", state="attached")
    page.wait_for_function(
        "() => document.getAnimations().every(one => one.playState !== 'running')"
    )  # transitions of colour end


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
        if found:
            viewer.focus()
            page.keyboard.press("End")
        else:
            step_to_the_end(page, viewer)
        last = viewer.locator(".mg-counter").inner_text().split(" / ")[1]
        viewer.locator(".mg-counter").get_by_text(f"{last} / {last}", exact=True).wait_for()
        found.append(adjoints(viewer))
    assert ADJOINTS in found and len(found) >= 4
    in_the_dark(page)
    axe(page, f".jp-Cell[data-windowed-list-index='{number}'] .mg-root")
    visit.assert_clean()


def test_a_page_that_the_command_writes_needs_no_server(visit, axe, tmp_path):
    from minigrad import cli

    path = tmp_path / "steps.html"
    assert cli.main(["trace", "log(x1) + x1*x2 - sin(x2)", "x1=2", "x2=5", "-o", str(path)]) == 0
    page = visit.page
    page.goto(path.as_uri())
    viewer = page.locator(".mg-root")
    viewer.wait_for()
    step_to_the_end(page, viewer)
    assert adjoints(viewer) == ADJOINTS
    axe(page, "html")
    visit.assert_clean()
