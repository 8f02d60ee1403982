"""The course's milestone as a student meets it in JupyterLab: the engine that was kept from lesson
3 on comes into lesson 11's notebook, and trains the network there. Lesson 2 runs there in
test_viewer.py, every kind of picture in test_views_in_notebooks.py.
"""

import json
import re
from pathlib import Path

import pytest
from minigrad.lessons.edition import MARKER
from minigrad.lessons.workshop import FILE, HEAD, MILESTONE

pytestmark = [pytest.mark.browser, pytest.mark.whole]

LESSONS = sorted((Path(__file__).resolve().parents[2] / "lessons").glob("*.ipynb"))


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
        "trained up to epoch 300", exact=True
    ).wait_for(timeout=20_000)
    visit.assert_clean()
