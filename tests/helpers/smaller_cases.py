"""The lessons' largest cases, made smaller."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import pytest


@contextlib.contextmanager
def smaller() -> Iterator[None]:
    """While it lasts, the largest cases have 1,200 operations instead of 200,000 and 20,000: still
    too deep for recursion.
    """
    from minigrad.lessons.exercises import engine_graphs
    from minigrad.lessons.grading import known
    from minigrad.lessons.grading.kinds.cost import Cost

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine_graphs, "DEEP", 1_200)
        small = Cost("fast_adjoints", n=1_200)
        patch.setattr(known()["fast_adjoints"], "make_cases", small.make_cases)
        yield
