"""What a Trace says is what the engine did: values, tangents and adjoints, for many programs and
in every mode.
"""

import functools
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import minigrad as mg
from minigrad.trace import check_laws, state_at, to_json, validate
from minigrad.trace.replay import cut_sums, numbers
from minigrad.watch import trace_function
from tests.helpers.tables import in_one_test
from tests.helpers.trace_programs import PROGRAMS

ROOT = Path(__file__).resolve().parents[2]
EACH = pytest.mark.parametrize("name", PROGRAMS)


def arguments(name):
    _, *args = PROGRAMS[name]
    return [a if isinstance(a, np.ndarray) else np.asarray(a, np.float64) for a in args]


def direction(shape, seed):
    return np.random.default_rng(seed).standard_normal(shape)


def directions(name):
    return [direction(a.shape, i) for i, a in enumerate(arguments(name))]


@functools.cache
def traced(name, mode="both", seeded=False):
    """The Trace of a program, made once; `traced.__wrapped__` makes another. seeded: with tangents
    in a random direction.
    """
    f, *args = PROGRAMS[name]
    tangents = directions(name) if seeded else None
    return validate(trace_function(f, *args, mode=mode, tangents=tangents))


def final(trace):
    return state_at(trace, len(trace["steps"])).cells


def held(value):
    found = numbers(value)
    assert found is not None
    return np.array(found)


@in_one_test
@EACH
def test_values_tangents_and_adjoints_are_those_of_the_engine_bit_for_bit(name):
    f = PROGRAMS[name][0]
    args = arguments(name)
    tangents = directions(name)
    trace = traced(name, seeded=True)
    leaves = [mg.tensor(a, requires_grad=True) for a in args]
    out = f(*leaves)
    out.backward()
    seeds = [mg.tensor(t.astype(a.dtype)) for a, t in zip(args, tangents, strict=True)]
    _, pushed = mg.func.jvp(f, tuple(mg.tensor(a) for a in args), tuple(seeds))
    cells = final(trace)
    (result,) = trace["outputs"]
    np.testing.assert_array_equal(held(cells[result, "v"]), out.detach().numpy().reshape(-1))
    np.testing.assert_array_equal(held(cells[result, "d"]), pushed.detach().numpy().reshape(-1))
    for node, leaf in zip(trace["inputs"], leaves, strict=True):
        np.testing.assert_array_equal(held(cells[node, "g"]), leaf.grad.numpy().reshape(-1))


@in_one_test
@EACH
def test_the_laws_hold(name):
    assert check_laws(traced(name, seeded=True)) == []


@in_one_test
@pytest.mark.parametrize(
    "name",
    [n for n in PROGRAMS if n not in ("a Function", "several results", "one of several results")],
)
def test_every_cut_carries_the_same(name):
    trace = traced(name, seeded=True)
    sums = cut_sums(trace)
    (result,) = trace["outputs"]
    assert len(sums) >= 1
    np.testing.assert_allclose(
        sums, held(final(trace)[result, "d"]).sum(), rtol=1e-5 if name == "mixed dtypes" else 1e-12
    )


@in_one_test
@EACH
def test_the_tangent_is_a_central_difference(name):
    f = PROGRAMS[name][0]
    args = [a.astype(np.float64) for a in arguments(name)]
    tangents = [direction(a.shape, i) for i, a in enumerate(args)]
    trace = validate(trace_function(f, *args, mode="forward", tangents=tangents))
    h = 1e-6
    ahead, behind = (
        f(*[mg.tensor(a + s * h * t) for a, t in zip(args, tangents, strict=True)]).item()
        for s in (1, -1)
    )
    (result,) = trace["outputs"]
    np.testing.assert_allclose(
        held(final(trace)[result, "d"])[0], (ahead - behind) / (2 * h), rtol=1e-5, atol=1e-8
    )


@in_one_test
@EACH
@pytest.mark.parametrize("mode", ["primal", "forward", "reverse", "both"])
def test_only_what_was_computed_is_there(name, mode):
    trace = traced(name, mode)
    columns = {c["key"] for c in trace["columns"]}
    assert (
        columns
        == {"primal": {"v"}, "forward": {"v", "d"}, "reverse": {"v", "g"}, "both": {"v", "d", "g"}}[
            mode
        ]
    )
    assert ("tangents" in trace["seed"]) == (mode in ("forward", "both"))
    assert ("adjoints" in trace["seed"]) == (mode in ("reverse", "both"))


@in_one_test
@EACH
def test_two_runs_give_the_same_bytes(name):
    assert to_json(traced(name)) == to_json(traced.__wrapped__(name))


def test_another_process_gives_the_same_bytes():
    script = (
        "from tests.helpers.trace_programs import PROGRAMS; from minigrad.trace import to_json\n"
    )
    script += "from minigrad.watch import trace_function\n"
    script += "for f, *args in PROGRAMS.values():\n"
    script += "    print(ascii(to_json(trace_function(f, *args, mode='both'))))"
    told = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "PYTHONHASHSEED": "15"},
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
    ).stdout
    assert told == "".join(ascii(to_json(traced(n))) + "\n" for n in PROGRAMS)


@in_one_test
@EACH
def test_a_trace_is_plain_json(name):
    trace = traced(name)
    assert json.loads(to_json(trace)) == trace


@in_one_test
@EACH
def test_each_step_reads_only_what_was_written_and_values_can_be_recomputed_from_the_cells(name):
    trace = traced(name)
    cells = {}
    for step in trace["steps"]:
        for node, column in step["reads"]:
            assert (node, column) in cells
        for node, column, value in step["writes"]:
            cells[node, column] = value
    assert cells == final(trace)


def test_a_law_is_noticed_when_it_is_broken():
    trace = traced("article")
    broken = json.loads(to_json(trace))
    step = next(s for s in broken["steps"] if s["phase"] == "accumulate")
    step["writes"][0][2] += 0.5
    assert any("adjoint" in p for p in check_laws(broken))
    broken = json.loads(to_json(trace))
    step = next(s for s in broken["steps"] if s["phase"] == "tangent" and s["node"] == "v3")
    step["writes"][0][2] += 0.5
    problems = check_laws(broken)
    assert any("tangent of v3" in p for p in problems) and any(
        "cut after node" in p for p in problems
    )


def test_a_push_rule_that_disagrees_with_the_pull_rule_breaks_the_cut():
    f, *args = PROGRAMS["article"]
    trace = validate(trace_function(f, *args, tangents=(0.0, 1.0)))
    for step in trace["steps"]:
        for part in step.get("contribs", []):
            if step["phase"] == "adjoint" and step["node"] == "v4":
                part["product"] *= 1.5
                step["writes"][0][2] *= 1.5
    problems = check_laws(trace)
    assert len(problems) == 1 and "forward and reverse mode disagree there" in problems[0]


def test_float32_is_held_to_its_own_precision():
    trace = validate(
        trace_function(
            lambda x: (x * 0.1).sum() * 3, np.linspace(0, 1, 7, dtype=np.float32), mode="both"
        )
    )
    assert {n["dtype"] for n in trace["nodes"]} == {"float32"}
    assert check_laws(trace) == []
    tangent = next(
        s for s in trace["steps"] if s["phase"] == "tangent" and s["node"] == trace["outputs"][0]
    )
    tangent["writes"][0][2] *= (
        1 + 1e-6
    )  # within the precision of float32, far outside that of float64
    assert check_laws(trace) == []
    assert check_laws(trace, tolerance=1e-9) != []


@pytest.mark.oracle
def test_the_programs_have_pytorchs_gradients(torch):
    for name in (
        "article",
        "broadcasting",
        "in place on a view",
        "in place on a block",
        "mixed dtypes",
    ):
        from tests.helpers import trace_programs as programs

        f = PROGRAMS[name][0]
        before, programs.mg = programs.mg, torch
        try:
            leaves = [torch.tensor(a, requires_grad=True) for a in arguments(name)]
            f(*leaves).backward()
        finally:
            programs.mg = before
        trace = traced(name)
        for node, leaf in zip(trace["inputs"], leaves, strict=True):
            np.testing.assert_allclose(
                held(final(trace)[node, "g"]), leaf.grad.numpy().reshape(-1), rtol=1e-6
            )
