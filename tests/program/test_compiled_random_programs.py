"""Random programs, eager beside compiled: what can be seen of each call is equal (results, graphs,
gradients, versions, states, errors).

More of them, from a seed on (10,000 if none is given):
python -m tests.program.test_compiled_random_programs 3000 20000
"""

import collections
import random
import sys
import warnings
from typing import Any

import pytest

import minigrad as mg
from tests.helpers import random_compiled_programs as programs
from tests.helpers.random_compiled_programs import DEFAULT, difference


@pytest.fixture(autouse=True)
def _quiet() -> Any:
    """Without warnings. An error that is raised where a `with` block ends leaves its mode on."""
    with warnings.catch_warnings(), mg.inference_mode(False):
        warnings.simplefilter("ignore")
        yield


@pytest.mark.parametrize("block", range(3))
def test_compiled_random_programs_agree_with_plain_calls(block: int) -> None:
    """A third of the default programs, eight calls each; of each kind of call there are enough."""
    tally: Any = collections.Counter()
    for seed in range(block, DEFAULT, 3):
        found = difference(seed, injections=seed % 2 == 0, tally=tally)
        assert found is None, found
    assert tally["recorded"] > 60 and tally["replayed"] > 50 and tally["raised"] > 40, tally
    assert tally["raised in the second run"] > 1, tally


@pytest.mark.whole
@pytest.mark.parametrize("block", range(4))
def test_a_thousand_compiled_random_programs_agree_with_plain_calls(block: int) -> None:
    """250 of them in each block."""
    for seed in range(1000 + block * 250, 1250 + block * 250):
        assert (found := difference(seed, injections=seed % 2 == 0)) is None, found


def test_the_default_programs_contain_each_line_that_can_be_chosen() -> None:
    text = "".join(programs.source_of(random.Random(seed)) for seed in range(DEFAULT))
    fixed = lambda line: line.replace("{a}", "{b}").replace("{t}", "{b}").split("{b}")
    for line in (
        *programs.EXPRESSIONS,
        *programs.IN_PLACE,
        *programs.PASSES,
        *programs.BLOCKS,
        *programs.RESULTS,
    ):
        assert all(piece in text for piece in fixed(line)), line


def test_a_difference_is_found_and_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a compiled side that shows too little, in replays only."""
    original = programs.Side.call

    def call(side: Any, *args: Any) -> Any:
        replays = getattr(side.step, "statistics", {}).get("replayed")
        shown = original(side, *args)
        return (
            shown[:-1] if replays != getattr(side.step, "statistics", {}).get("replayed") else shown
        )

    monkeypatch.setattr(programs.Side, "call", call)
    found = [difference(seed) for seed in range(12)]
    assert any(found) and all("differs in" in text for text in found if text)


def main() -> None:
    """As many programs as the command says, from the seed that it says, and what became of their
    calls."""
    count, first = (int(n) for n in (*sys.argv[1:], "10000")[:2])
    tally: Any = collections.Counter()
    warnings.simplefilter("ignore")
    for seed in range(first, first + count):
        found = difference(seed, injections=seed % 2 == 0, tally=tally)
        if found is not None:
            tally["different"] += 1
            print(found)
    print(f"{count} programs, {tally['different']} different; calls: {dict(tally)}")


if __name__ == "__main__":
    main()
