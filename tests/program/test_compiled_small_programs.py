"""Short programs give the same results compiled; with the mistake of the compiler that each stands
for, they do not."""

import warnings
from typing import Any

import pytest

from minigrad.program import EagerWarning
from tests.helpers.mutated_code import mutate
from tests.helpers.small_compiled_programs import PROGRAMS, REPLAYED, differs


@pytest.fixture(autouse=True)
def _quiet() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EagerWarning)
        yield


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_small_program_notices_the_mistake_of_the_compiler(name: str, monkeypatch: Any) -> None:
    make, places = PROGRAMS[name]
    assert not differs(make)
    for place in places:
        mutate(monkeypatch, *place)
    assert differs(make)


@pytest.mark.parametrize("name", REPLAYED)
def test_a_function_is_replayed_that_would_not_be(name: str, monkeypatch: Any) -> None:
    make, place = REPLAYED[name]
    assert make().statistics["replayed"] > 1
    mutate(monkeypatch, *place)
    assert make().statistics["replayed"] == 0
