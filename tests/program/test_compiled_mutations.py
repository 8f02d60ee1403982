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

MUTATIONS: dict[str, tuple[int, list[tuple[Any, str, str, str]]]] = {
    # what a recording must put back
    "optimisers keep the states of the second run": (42, [
        (snapshot._Rest, "put_back", "optimizer.state = entries", "pass")
    ]),
    "random numbers go on from the second run": (17, [
        (snapshot._Rest, "put_back", "functions.set_random_state(self.random)", "pass")
    ]),
    "the second run starts from the new states": (42, [
        (snapshot.Snapshot, "_enter", "optimizer.state = states", "pass")
    ]),
    "the second run writes into the tensors": (0, [
        (snapshot.Snapshot, "_enter", "tensor.array = self._copies[id(slots.array)]", "pass")
    ]),
    # what cannot be recorded
    "the two recordings are not compared": (187, [
        (variant.Variant, "_other_than_first", "self._first is None", "True")
    ]),
    # what a replay takes for granted
    "settings of optimisers are not guarded": (143, [
        (environment.Environment, "_optimizer", "if key not in optimizer.scheduled", "if False")
    ]),
    "grad modes are no part of the key": (63, [
        (arguments.Arguments, "__init__", "= (state.recording, ", "= (")
    ]),
    "gradients are not guarded": (101, [
        (environment.Environment, "difference", "gradients and self.reads_gradients", "False"),
        (variant.Variant, "_learn", "layout is None", "True"),
    ]),
    "numbers and other variables are not guarded": (142, [
        (guards.Guard, "difference", "not _equal(old, new)", "False"),
        (variant.Variant, "_learn", "layout is None", "True"),
    ]),
    "an argument may be a tensor outside": (1476, [
        (variant.Variant, "difference", "not self.outside.isdisjoint(map(id, arguments.tensors))",
         "False"),
        (variant.Variant, "_learn", "layout is None", "True"),
        (compiled.Compiled, "_record", "before.identical or (before", "(before"),
    ]),
    # what a replay does
    "versions of results are not counted": (41, [
        (outcome.RecordedResult, "finish", "ensure_version(results[i]).count = count", "pass")
    ]),
    "saved values of results are not watched": (143, [
        (replayed_node.ReplayedNode, "pull", "version.count != number", "False")
    ]),
    "second derivatives are those of the program": (41, [
        (replayed_node.ReplayedNode, "pull", "or on_tensors", "")
    ]),
    "views of overwritten memory are not read again": (0, [
        (payload.Recorded, "write", "memory.writes += 1", "pass")
    ]),
    "a gradient that is set to None stays": (9, [
        (recorded_program, "program_of", "gradients[number] = None", "pass")
    ]),
    "draws of a failed replay count": (5, [
        (run.Replayer, "run", "random is not None", "False")
    ]),
    "overwritten memory is not counted": (3, [
        (variant, "_extra_counts", "if count]", "if False]")
    ]),
    "a checkpoint draws again": (63, [
        (recorder.Recorder, "apply", "draw in self.draws.numbers", "False")
    ]),
    "a detached result is not detached": (3, [
        (outcome.Derivation, "apply", "if self.after", "if False")
    ]),
}  # fmt: skip
"""By the mistake: a program that finds it; owner, function, what it holds and what it holds
instead."""
RARE = {"an argument may be a tensor outside"}
"""Mistakes that no program of the default run finds, but one of the whole run."""


def finder(name: str) -> int | None:
    """A program that finds a mistake: the one in the table, else the first of the default run;
    None if none does."""
    known, places = MUTATIONS[name]
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for place in places:
            mutate(patch, *place)
        for seed in (known, *range(DEFAULT)):
            try:
                if difference(seed, injections=seed % 2 == 0) is not None:
                    return seed
            except Exception:  # the compiler itself fails
                return seed
    return None


@pytest.mark.parametrize("name", MUTATIONS)
def test_the_code_holds_what_a_mistake_replaces(name: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        for place in MUTATIONS[name][1]:
            mutate(patch, *place)


@pytest.mark.whole
@pytest.mark.parametrize("name", MUTATIONS)
def test_a_mistake_of_the_compiler_is_found_by_random_programs(name: str) -> None:
    found = finder(name)
    assert found is not None and (found < DEFAULT or name in RARE)


def main() -> None:
    """Each mistake (whose name holds the text given), and the program that finds it."""
    for name in (name for name in MUTATIONS if sys.argv[-1] in name or not sys.argv[1:]):
        print(f"{finder(name)!s:>6}  {name}", flush=True)


if __name__ == "__main__":
    main()
