"""An exercise whose classic mistakes remember what they give for a case: the tests judge dozens of
wrong answers on the same cases, and each diagnosis asks every mistake for its values.
"""

import copy
from dataclasses import replace

from minigrad.lessons.grading.exercise import Exercise, once_for_each_case


def remembering(exercise: Exercise) -> Exercise:
    """A copy of an exercise with such mistakes."""
    twin = copy.copy(exercise)
    twin.misconceptions = tuple(
        replace(
            mistake,
            wrong=once_for_each_case(mistake.wrong),
            variants=tuple((say, once_for_each_case(wrong)) for say, wrong in mistake.variants),
        )
        for mistake in exercise.misconceptions
    )
    return twin
