"""The Jacobian as one Trace of several passes: the right numbers, by either mode, and what
cannot be shown.
"""

import copy
import random

import numpy as np
import pytest
from minigrad.viz.jacobian import jacobian_trace

import minigrad as mg
from minigrad import viz
from minigrad.trace import TraceError, check_laws, state_at, validate
from minigrad.trace.replay import single_passes


def vector(x):
    return mg.exp(x) * x.sum()


def matrices(trace, k=None):
    """{mode: {(row, column): value}} after k steps, folded by hand."""
    found = {}
    for step in trace["steps"][:k]:
        for i, j, value in step.get("entries", []):
            found.setdefault(trace["passes"][step["pass"]]["mode"], {})[i, j] = value
    return found


@pytest.mark.parametrize(
    ("f", "args"),
    [
        (lambda a, b: (mg.log(a) + a * b, mg.sin(b)), (2.0, 5.0)),
        (lambda a: a * a, (3.0,)),
        (vector, ([0.5, -1.0, 2.0],)),
        (lambda x, y: [x * y, (x * x).sum()], ([1.0, 2.0], 3.0)),
        (lambda x: x.reshape(4) * 2.0, ([[1.0, 2.0], [3.0, 4.0]],)),
    ],
)
def test_columns_and_rows_agree_with_the_engines_own_jacobian(f, args):
    trace = validate(jacobian_trace(f, *args))
    assert check_laws(trace) == []
    tensors = [mg.tensor(a, dtype=mg.float64) for a in args]
    truth = mg.autograd.functional.jacobian(
        lambda *xs: f(*xs) if not isinstance(f(*xs), list) else tuple(f(*xs)), tuple(tensors)
    )
    rows = truth if isinstance(truth[0], tuple) else (truth,)
    expected = []
    for row in rows:
        blocks = [b.numpy().reshape(-1, t.numpy().size) for b, t in zip(row, tensors, strict=True)]
        expected += [
            [v for block in blocks for v in block[i].tolist()] for i in range(len(blocks[0]))
        ]
    found = matrices(trace)
    assert set(found) == {"forward", "reverse"}
    for mode, matrix in found.items():
        assert len(matrix) == sum(len(r) for r in expected), mode
        for (i, j), value in matrix.items():
            assert value == pytest.approx(expected[i][j], rel=1e-12, abs=1e-12), (mode, i, j)
    assert len(trace["jacobian"]["rows"]) == len(expected) and len(
        trace["jacobian"]["columns"]
    ) == len(expected[0])


def test_each_way_makes_the_passes_that_it_needs_and_no_others():
    f = lambda a, b, c: (a * b, mg.sin(c))
    modes = lambda by: [p["mode"] for p in jacobian_trace(f, 1.0, 2.0, 3.0, by=by)["passes"]]
    assert (
        modes("columns") == ["forward"] * 3
        and modes("rows") == ["reverse"] * 2
        and modes("both") == ["forward"] * 3 + ["reverse"] * 2
    )
    both = jacobian_trace(f, 1.0, 2.0, 3.0)
    first = next(k for k, s in enumerate(both["steps"]) if "pass" in s)
    assert [both["steps"][first + k]["pass"] for k in range(4)] == [0, 3, 0, 3], (
        "side by side on one clock"
    )


def test_an_entry_is_written_once_when_it_is_complete():
    trace = jacobian_trace(lambda a, b: (a * b + a * a, mg.sin(a) + b), 2.0, 3.0)
    cells = [
        (trace["passes"][s["pass"]]["mode"], i, j)
        for s in trace["steps"]
        for i, j, _ in s.get("entries", [])
    ]
    assert len(cells) == len(set(cells)) == 8, "no partial sum stands in the matrix"


def test_a_pass_forgets_the_one_before():
    trace = jacobian_trace(lambda a, b: a * b, 2.0, 3.0, by="columns")
    begin = [k for k, s in enumerate(trace["steps"]) if s.get("clear")]
    assert len(begin) == 2
    cells = state_at(trace, begin[1] + 1).cells
    assert (
        ("v1", "d") not in cells
        and ("v1", "v") in cells
        and state_at(trace, begin[1]).cells["v1", "d"] == 3.0
    )
    assert state_at(trace, len(trace["steps"])).entries == {(0, 0): 3.0, (0, 1): 2.0}


def test_a_wrong_contribution_in_one_pass_is_found():
    trace = copy.deepcopy(jacobian_trace(lambda a, b: a * b + a, 2.0, 3.0))
    parts = [c for s in trace["steps"] for c in s.get("contribs", [])]
    for c in random.Random(1).sample(parts, 3):
        before, c["product"] = c["product"], c["product"] + 1.0
        assert check_laws(trace) != []
        c["product"] = before
    assert check_laws(trace) == [] and len(single_passes(trace)) == 3


def test_the_outputs_are_no_dangling_nodes():
    trace = jacobian_trace(lambda a: (a * a, mg.sin(a), mg.exp(a))[:2], 2.0)
    assert [n["id"] for n in trace["nodes"] if n.get("dangling")] == ["v3"]
    assert [n["kind"] for n in trace["nodes"]] == ["input", "output", "output", "op"]


def test_what_cannot_be_shown_is_refused():
    with pytest.raises(ValueError, match="by must be one of columns, rows, both"):
        jacobian_trace(lambda a: a, 1.0, by="diagonal")
    with pytest.raises(ValueError, match="too many to watch"):
        jacobian_trace(lambda x: x * 2.0, [0.0] * 101)
    runs = []

    def moody(a):
        runs.append(1)
        return mg.sin(a) if len(runs) > 2 else a * a

    with pytest.raises(ValueError, match="other operations in another pass"):
        jacobian_trace(moody, 1.0)


@pytest.mark.parametrize("by", ["columns", "rows", "both"])
def test_arrays_of_more_elements_than_a_trace_holds(by):
    matrix = np.random.default_rng(0).normal(size=(18, 20))
    at = np.arange(20.0) / 20
    trace = validate(jacobian_trace(lambda x: (mg.tensor(matrix) @ x).sin(), at, by=by))
    entries = state_at(trace, len(trace["steps"])).entries
    filled = np.array([[entries[i, j] for j in range(20)] for i in range(18)])
    assert np.allclose(filled, np.cos(matrix @ at)[:, None] * matrix, rtol=1e-12, atol=0)
    assert check_laws(trace) == [] and all(
        len(n["shape"]) < 2 or n["kind"] == "const" for n in trace["nodes"]
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: t["steps"][-1].update(entries=[[9, 0, 1.0]]), "lies outside the matrix"),
        (lambda t: t["steps"][-1].update({"pass": 99}), "must be the number of a pass"),
        (lambda t: t["passes"][0].update(mode="sideways"), "forward or reverse"),
        (lambda t: t["steps"][-1].update(clear=["q"]), "names no column"),
        (lambda t: t.pop("jacobian"), "of the jacobian"),
    ],
)
def test_a_malformed_matrix_is_no_trace(change, message):
    trace = jacobian_trace(lambda a: a * a, 2.0)
    change(trace)
    with pytest.raises(TraceError, match=message):
        validate(trace)


@pytest.mark.parametrize(
    ("mode", "passes"),
    [
        ("both", ["forward"] * 2 + ["reverse"]),
        ("forward", ["forward"] * 2),
        ("reverse", ["reverse"]),
    ],
)
def test_the_view_may_be_asked_for_with_a_function_of_single_numbers(mode, passes):
    """The gradient is then the one row; seeds of one's own do not fit."""
    f = lambda x, y: x * y
    trace = viz.show(f, 2.0, 5.0, views=["jacobian"], mode=mode, title="product").trace
    assert [one["mode"] for one in trace["passes"]] == passes and trace["title"] == "product"
    assert trace["jacobian"] == {"rows": ["v1"], "columns": ["x", "y"]}
    assert state_at(trace, len(trace["steps"])).entries == {(0, 0): 5.0, (0, 1): 2.0}
    assert "jacobian" not in viz.show(f, 2.0, 5.0, views=["jacobian"], mode="primal").trace
    with pytest.raises(TypeError, match=r"cotangent= cannot be given with views=\['jacobian'\]"):
        viz.show(f, 2.0, 5.0, views=["jacobian"], cotangent=3.0)
