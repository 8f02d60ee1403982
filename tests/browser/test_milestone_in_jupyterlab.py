"""Lessons as a student opens them: in JupyterLab, all cells run, no error is shown, and no other
server is asked for anything.

And the course's milestone: the engine that a student kept from lesson 3 on comes into lesson 11's
notebook, and trains the network there.
"""

import json
import re
from pathlib import Path

import pytest
from minigrad.lessons.edition import MARKER
from minigrad.lessons.workshop import FILE, HEAD, MILESTONE

pytestmark = [pytest.mark.browser, pytest.mark.whole]

LESSONS = sorted((Path(__file__).resolve().parents[2] / "lessons").glob("*.ipynb"))


def lessons_with_each_kind_of_picture() -> list[str]:
    """Lessons that together use every function of viz and every mode that any lesson uses. All
    lessons are executed by tests/lessons/test_notebooks.py, and pictures of each are stepped on the
    pages of test_site_of_the_course.py. The lesson on both modes is run by test_viewer.py, which
    steps all that it shows.
    """
    used = re.compile(r'\bviz\.\w+|\bmode=\\"(?:forward|reverse|both|primal)')
    kinds = {path.name: set(used.findall(path.read_text(encoding="utf-8"))) for path in LESSONS}
    (run_there,) = (name for name in kinds if name.endswith("_forward_and_reverse_mode.ipynb"))
    chosen, left = [], set.union(*kinds.values()) - kinds[run_there]
    while left:
        chosen.append(max(kinds, key=lambda name: len(kinds[name] & left)))
        left -= kinds[chosen[-1]]
    return chosen


@pytest.mark.parametrize(
    "lesson", lessons_with_each_kind_of_picture(), ids=lambda name: name.removesuffix(".ipynb")
)
def test_a_lesson_opens_and_runs_without_an_error(lab, visit, lesson):
    lab.open(visit.page, lesson)
    lab.run_all(visit.page)  # fails with the error of the first cell that has one
    for number in lab.cells_with_widgets(visit.page)[:2]:  # and what it shows is alive
        lab.scroll_to(visit.page, number)
        visit.page.locator(".jp-OutputArea-output :is(.mg-root, .mt-root)").first.wait_for(
            timeout=20_000
        )
    visit.assert_clean()


# ------------------------------------------------------------------------------------ the milestone


def solutions() -> dict[str, str]:
    """What a student writes in the lessons that build the engine, by the cells' ids; the cells
    that are given with it too.
    """
    books = [
        json.loads(
            next(p for p in LESSONS if p.name.startswith(number)).read_text(encoding="utf-8")
        )
        for number in ("03", "05", "09", "11")
    ]
    cells = {
        c["id"]: "".join(c["source"])
        for book in books
        for c in book["cells"]
        if c["cell_type"] == "code"
    }
    return {
        name: "\n".join(line for line in source.splitlines() if not MARKER.match(line))
        for name, source in cells.items()
    }


class Student:
    """Works in the open notebook with the mouse and the keyboard; cells are known by their ids."""

    def __init__(self, page, lab):
        self.page, self.lab = page, lab

    def go_to(self, name: str):
        """Brings a cell before the eyes and the cursor into it."""
        ids = self.page.evaluate(
            "() => window.jupyterapp.shell.currentWidget.content.widgets.map(cell => cell.model.id)"
        )
        self.lab.scroll_to(self.page, ids.index(name))
        cell = self.page.locator(
            f".jp-Notebook .jp-Cell[data-windowed-list-index='{ids.index(name)}']"
        )
        cell.locator(".cm-content").click()
        return cell

    def text_of(self, name: str) -> str:
        return self.page.evaluate(
            "name => window.jupyterapp.shell.currentWidget.content.widgets.find(cell =>"
            " cell.model.id === name).model.sharedModel.source",
            name,
        )

    def writes(self, name: str, source: str) -> None:
        self.go_to(name)
        self.page.keyboard.press("Control+a")
        self.page.keyboard.insert_text(source)
        assert self.text_of(name) == source

    def runs(self, *names: str) -> str:
        """Runs cells with the keyboard, one after the other; what the last of them shows as
        text.
        """
        for name in names:
            before = self._runs_of(name)
            self.go_to(name)
            self.page.keyboard.press("Control+Enter")
            self.page.wait_for_function(
                """([name, before]) => {
                    const { content, sessionContext } = window.jupyterapp.shell.currentWidget;
                    const cell = content.widgets.find(cell => cell.model.id === name);
                    return cell.model.executionCount > before
                        && sessionContext.session.kernel.status === "idle";
                }""",
                arg=[name, before],
                timeout=120_000,
            )
        outputs = self.page.evaluate(
            "name => window.jupyterapp.shell.currentWidget.content.widgets.find(cell =>"
            " cell.model.id === name).model.outputs.toJSON()",
            names[-1],
        )
        assert [o for o in outputs if o["output_type"] == "error"] == []
        return "\n".join(
            o.get("text", "") or "".join(o.get("data", {}).get("text/plain", "")) for o in outputs
        )

    def _runs_of(self, name: str) -> int:
        found = (
            "name => window.jupyterapp.shell.currentWidget.content.widgets.find(cell =>"
            " cell.model.id === name).model.executionCount ?? 0"
        )
        return self.page.evaluate(found, name)


def test_a_students_own_engine_comes_into_lesson_11_and_trains_the_network(lab, visit):
    written = solutions()
    student = Student(visit.page, lab)
    (lab.folder / FILE).unlink(
        missing_ok=True
    )  # what the lessons before have kept, run without a solution
    lab.open(visit.page, "11_training.ipynb")
    student.runs("setup")
    said = student.runs("my-engine")
    assert f"There is no {FILE}" in said and student.text_of("my-engine").startswith("unpack()"), (
        "who kept nothing is told so"
    )

    kept = [written[name] for name in [*MILESTONE, "tensor", "operations"] if name in written]
    text = HEAD + "\n\n" + "\n\n\n".join(kept) + "\n"
    (lab.folder / FILE).write_text(text, encoding="utf-8")
    assert "This cell is now the text of" in student.runs("my-engine")
    assert student.text_of("my-engine") == text.rstrip("\n")
    student.runs("my-engine", "budget", "network", "measures", "own-network")

    assert "not written yet" in student.runs("own_step", "own-training"), (
        "the loop waits for the student's step"
    )
    student.writes("own_step", written["own_step"])
    assert ": ✓ right · 5 of 5 points" in student.runs("own_step", "own_step-check")
    said = student.runs("own-training")
    assert float(re.search(r"your network is right (\d+\.\d) % of the time", said)[1]) > 90
    student.go_to("own-training")
    visit.page.locator(".jp-OutputArea-output .mt-root .mt-status").get_by_text(
        "epoch 300", exact=True
    ).wait_for(timeout=20_000)
    visit.assert_clean()
