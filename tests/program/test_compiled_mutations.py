"""The random compiled programs notice mistakes of the compiler: each of these, made on purpose, is
found by one of the programs of the default run.

Which program finds which: python -m tests.program.test_compiled_mutations
"""

import sys
import warnings
from typing import Any

import pytest

from minigrad.program import (
    arguments,
    compiled,
    environment,
    guards,
    outcome,
    payload,
    recorded_program,
    recorder,
    replayed_node,
    run,
    snapshot,
    variant,
)
from tests.helpers.mutated_code import mutate
from tests.helpers.random_compiled_programs import DEFAULT, difference

MUTATIONS: dict[str, list[tuple[Any, str, str, str]]] = {
    # what a recording must put back
    "optimisers keep the states of the second run": [
        (snapshot._Rest, "put_back", "optimizer.state = entries", "pass")
    ],
    "random numbers go on from the second run": [
        (snapshot._Rest, "put_back", "functions.set_random_state(self.random)", "pass")
    ],
    "the second run starts from the new states": [
        (snapshot.Snapshot, "_enter", "optimizer.state = states", "pass")
    ],
    "the second run writes into the tensors": [
        (snapshot.Snapshot, "_enter", "tensor.array = self._copies[id(slots.array)]", "pass")
    ],
    # what cannot be recorded
    "the two recordings are not compared": [
        (variant.Variant, "_other_than_first", "self._first is None", "True")
    ],
    # what a replay takes for granted
    "settings of optimisers are not guarded": [
        (environment.Environment, "_optimizer", "if key not in optimizer.scheduled", "if False")
    ],
    "grad modes are no part of the key": [
        (arguments.Arguments, "__init__", "= (state.recording, ", "= (")
    ],
    "gradients are not guarded": [
        (environment.Environment, "difference", "gradients and self.reads_gradients", "False"),
        (variant.Variant, "_learn", "layout is None", "True"),
    ],
    "numbers and other variables are not guarded": [
        (guards.Guard, "difference", "not _equal(old, new)", "False"),
        (variant.Variant, "_learn", "layout is None", "True"),
    ],
    "an argument may be a tensor outside": [
        (variant.Variant, "difference", "not self.outside.isdisjoint(map(id, arguments.tensors))",
         "False"),
        (variant.Variant, "_learn", "layout is None", "True"),
        (compiled.Compiled, "_record", "before.identical or (before", "(before"),
    ],
    # what a replay does
    "versions of results are not counted": [
        (outcome.RecordedResult, "finish", "ensure_version(results[i]).count = count", "pass")
    ],
    "saved values of results are not watched": [
        (replayed_node.ReplayedNode, "pull", "version.count != number", "False")
    ],
    "second derivatives are those of the program": [
        (replayed_node.ReplayedNode, "pull", "or on_tensors", "")
    ],
    "views of overwritten memory are not read again": [
        (payload.Recorded, "write", "memory.writes += 1", "pass")
    ],
    "a gradient that is set to None stays": [
        (recorded_program, "program_of", "gradients[number] = None", "pass")
    ],
    "draws of a failed replay count": [(run.Replayer, "run", "random is not None", "False")],
    "overwritten memory is not counted": [
        (variant, "_extra_counts", "if count]", "if False]")
    ],
    "a checkpoint draws again": [
        (recorder.Recorder, "apply", "draw in self.draws.numbers", "False")
    ],
    "a detached result is not detached": [
        (outcome.Derivation, "apply", "if self.after", "if False")
    ],
}  # fmt: skip
"""By the mistake: owner, function, what it holds and what it holds instead."""
RARE = {
    "an argument may be a tensor outside": 1476,
}
"""Mistakes that no program of the default run finds, each with one of the whole run that does."""


def finder(name: str) -> int | None:
    """The number of the first program that finds a mistake; None if none does."""
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for place in MUTATIONS[name]:
            mutate(patch, *place)
        for seed in [RARE[name]] if name in RARE else range(DEFAULT):
            try:
                if difference(seed, injections=seed % 2 == 0) is not None:
                    return seed
            except Exception:  # the compiler itself fails
                return seed
    return None


@pytest.mark.parametrize("name", MUTATIONS)
def test_the_code_holds_what_a_mistake_replaces(name: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        for place in MUTATIONS[name]:
            mutate(patch, *place)


@pytest.mark.whole
@pytest.mark.parametrize("name", MUTATIONS)
def test_a_mistake_of_the_compiler_is_found_by_random_programs(name: str) -> None:
    assert finder(name) is not None


def main() -> None:
    """Each mistake (whose name holds the text given), and the program that finds it."""
    for name in (name for name in MUTATIONS if sys.argv[-1] in name or not sys.argv[1:]):
        print(f"{finder(name)!s:>6}  {name}", flush=True)


if __name__ == "__main__":
    main()
