"""Every lesson, as a student opens it: in JupyterLab, all cells run, no error shown, nothing asked of another server."""

from pathlib import Path

import pytest

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("lessons in the browser")]

LESSONS = sorted((Path(__file__).resolve().parents[2] / "lessons").glob("*.ipynb"))


@pytest.fixture(scope="module")
def course(start_lab):
    """`minigrad lab` on the course itself."""
    return start_lab()


@pytest.mark.parametrize("lesson", [path.name for path in LESSONS], ids=lambda name: name.removesuffix(".ipynb"))
def test_a_lesson_opens_and_runs_without_an_error(course, visit, lesson):
    course.open(visit.page, lesson)
    course.run_all(visit.page)  # fails with the error of the first cell that has one
    for number in course.cells_with_widgets(visit.page)[:2]:  # and what it shows is alive
        course.scroll_to(visit.page, number)
        visit.page.locator(".jp-OutputArea-output :is(.mg-root, .mt-root)").first.wait_for(timeout=20_000)
    visit.assert_clean()
