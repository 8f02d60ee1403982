"""Random programs leave the same bits with and without the fast paths.

With them, the tests of the core compare these programs with PyTorch; so what they prove holds for
the core without the fast paths too.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minigrad as mg
from minigrad import fast
from tests.helpers import random_expressions as graphs
from tests.helpers import random_inplace_programs as programs

GRAPHS, PROGRAMS = range(1000, 1100), range(5000, 5100)
"""The seeds of the comparison with PyTorch (tests/core/test_random_programs.py)."""


@pytest.fixture
def every(request: pytest.FixtureRequest) -> int:
    """The default run takes every fourth seed."""
    return 1 if request.config.getoption("whole") else 4


def bits(array: np.ndarray | None) -> Any:
    return array if array is None else (array.dtype, array.shape, array.tobytes())


def bits_of_graph(seed: int) -> Any:
    """The loss of a graph, its gradients, and the gradients of a slope of it."""
    found = graphs.derivatives(mg, graphs.generate(seed))
    return {k: list(map(bits, v)) if isinstance(v, list) else bits(v) for k, v in found.items()}


def bits_of_program(seed: int, length: int) -> Any:
    """Values, gradients and refusals of a program. What is refused is left out, and the rest is run
    again.
    """
    program, skip, runs = programs.generate(seed, length), frozenset[int](), []
    while True:
        skip = programs.closed(program, skip)
        outcome = programs.Library(mg).run(program, skip)
        at, error = outcome.stopped or (None, None)
        values, gradients = list(map(bits, outcome.values)), list(map(bits, outcome.gradients))
        refused = at, type(error), str(error)
        runs.append([values, gradients, outcome.loss.hex(), outcome.windows, refused])
        if at is None:
            return runs
        skip |= {at}


def assert_same_bits(compute: Callable[..., Any], seeds: range, *more: int) -> None:
    """All seeds are computed one way and then the other: to switch takes longer than a program."""
    assert fast.is_enabled()
    with np.errstate(all="ignore"):
        short = [compute(seed, *more) for seed in seeds]
        with fast.disabled():
            long = [compute(seed, *more) for seed in seeds]
    differ = [seed for seed, a, b in zip(seeds, short, long, strict=True) if a != b]
    assert not differ, f"{compute.__name__}{(differ[0], *more)} gives other bits"


def test_random_graphs_and_their_derivatives(every: int) -> None:
    assert_same_bits(bits_of_graph, GRAPHS[::every])


@pytest.mark.parametrize("length", [8, 14, 24])
def test_random_programs_with_views_and_writes(every: int, length: int) -> None:
    assert_same_bits(bits_of_program, PROGRAMS[::every], length)
