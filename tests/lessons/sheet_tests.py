"""What the tests of a lesson ask of its sheet."""

from pathlib import Path

import pytest
from minigrad.lessons.grading.exercise import Exercise
from minigrad.lessons.grading.sheet import load_sheet
from minigrad.lessons.grading.sheet_report import missed_mistakes


class SheetTests:
    """A lesson's notebook and its exercises fit, and each classic mistake costs points. A subclass
    names both; the fixture `examined` reads LESSON of its module.
    """

    lesson: Path
    exercises: dict[str, Exercise]

    def test_every_exercise_is_asked_in_the_lesson(self):
        assert {e.name for e in load_sheet(self.lesson).exercises} == set(self.exercises)

    @pytest.mark.whole
    def test_the_sheet_is_fit_to_grade_with(self, examined):
        assert examined.ok, str(examined)
        assert not any(examined.missed.values()), examined.missed

    def test_every_classic_mistake_is_caught(self):
        assert {name: missed_mistakes(e)[0] for name, e in self.exercises.items()} == {
            name: [] for name in self.exercises
        }
