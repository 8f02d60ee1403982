"""Every operation of the registry in a static graph: values, gradients, forward mode and second
derivatives are those of the eager engine.

One table (helpers/op_cases.py) serves eager and static. Each case runs twice: with all shapes
declared, so that the graph is static, and with none declared, so that whatever needs a shape has to
wait for it.
"""

import numpy as np
import pytest

import minigrad as mg
from minigrad import graph
from minigrad.core.primitive import registry
from tests.helpers import (
    case_checks as checking,
)  # the eager engine's own checks stand beside its tests
from tests.helpers.op_cases import CASES, Case
from tests.helpers.tables import in_one_test

INSIDE_A_VMAP = {"batch_enter", "batch_leave", "batch_share", "batch_total"}
"""They have a meaning only while a vmap runs."""
OF_NOTHING = {c.primitive for c in CASES if not c.domains}
"""Without inputs (random numbers) there is no node for them to meet: they give a tensor, which
is a constant in a graph.
"""
RUNNABLE = [c for c in CASES if c.primitive not in INSIDE_A_VMAP | OF_NOTHING]
SMOOTH = [c for c in RUNNABLE if registry[c.primitive].kind != "constant"]
DRAWS = {"dropout_mask"}
KNOWN = pytest.mark.parametrize("known", [True, False], ids=["declared", "undeclared"])


def each(cases):
    return pytest.mark.parametrize("case", cases, ids=lambda c: c.id)


def variables(case: Case, arrays, known: bool) -> list[graph.Node]:
    """A Variable for each input. Without a declaration a dtype is a floating one, so others are
    declared all the same.
    """
    return [
        graph.Variable(
            f"x{i}",
            shape=a.shape if known else None,
            dtype=a.dtype if known or a.dtype.kind != "f" else None,
        )
        for i, a in enumerate(arrays)
    ]


def built(case: Case, arrays, known: bool):
    """The Variables and the case's result. What reaches its operation by way of a function that
    looks into shapes waits as a whole.
    """
    xs = variables(case, arrays, known)
    if case.route is not None and (
        not known or case.primitive in ("max_pool_jvp", "max_pool_backward")
    ):
        return xs, graph.call(lambda *a: case.run(a), *xs)
    return xs, case.run(xs)


def dtype_of(case: Case) -> str:
    return "float64" if case.real else "complex128"


def close(case: Case, got, want, what: str) -> None:
    assert isinstance(got, np.ndarray)
    assert got.dtype == want.dtype, f"{case.id}: {what} has dtype {got.dtype}, eager {want.dtype}"
    checking.close(got, want, max(1e-13, case.precision), f"{case.id}: {what}")


def test_no_case_is_left_out() -> None:
    assert {c.primitive for c in RUNNABLE} == {
        c.primitive for c in CASES
    } - INSIDE_A_VMAP - OF_NOTHING


@in_one_test
@KNOWN
@each(RUNNABLE)
def test_the_graph_computes_the_value(case: Case, known: bool) -> None:
    """The value, and what the graph said of its shape and dtype beforehand."""
    arrays = case.inputs(dtype_of(case))
    xs, y = built(case, arrays, known)
    assert isinstance(y, graph.Node)
    (got,) = graph.Executor([y]).run(dict(zip(xs, arrays, strict=True)))
    if case.primitive in DRAWS:
        assert got.shape == arrays[0].shape and got.dtype == arrays[0].dtype
    else:
        close(case, got, checking.host(case.run(checking.tensors(case, arrays, ()))), "value")
    assert y.known_shape in (None, got.shape)
    assert y.known_dtype in (None, got.dtype)
    if known and case.primitive not in (
        "argwhere",
        "bincount",
        "max_pool_jvp",
        "max_pool_backward",
    ):
        assert (y.known_shape, y.known_dtype) == (got.shape, got.dtype)


@in_one_test
@KNOWN
@each([c for c in SMOOTH if c.complex and c.real])
def test_complex_gradients_of_the_graph_agree_with_eager(case: Case, known: bool) -> None:
    compare_gradients(case, known, "complex128")


@in_one_test
@KNOWN
@each(SMOOTH)
def test_the_graph_of_the_gradient_agrees_with_eager(case: Case, known: bool) -> None:
    compare_gradients(case, known, dtype_of(case))


def compare_gradients(case: Case, known: bool, dtype: str) -> None:
    arrays = case.inputs(dtype)
    wanted = case.differentiable()
    u = checking.direction(checking.host(case.run(checking.tensors(case, arrays, ()))), 1)
    xs, y = built(case, arrays, known)
    seed = graph.Variable("u", shape=u.shape, dtype=u.dtype)
    gradients = graph.gradients(y, [xs[i] for i in wanted], seed)
    feeds = {**dict(zip(xs, arrays, strict=True)), seed: u}
    depends = {v: feeds[v] for v in graph.find_topo_sort(gradients) if v in feeds}
    for got, want, i in zip(
        graph.Executor(gradients).run(depends),
        checking.reverse(case, arrays, u),
        wanted,
        strict=True,
    ):
        close(case, got, want, f"gradient by input {i}")
    for node, i in zip(gradients, wanted, strict=True):
        assert node.known_shape == (arrays[i].shape if known else None)


@in_one_test
@KNOWN
@each(SMOOTH)
def test_the_graph_of_the_tangent_agrees_with_eager(case: Case, known: bool) -> None:
    arrays = case.inputs(dtype_of(case))
    wanted = case.differentiable()
    vs = {i: checking.direction(arrays[i], 2 + i) for i in wanted}
    xs, y = built(case, arrays, known)
    directions = [
        graph.Variable(f"v{i}", shape=vs[i].shape if known else None, dtype=vs[i].dtype)
        for i in wanted
    ]
    tangent = graph.jvp(y, [xs[i] for i in wanted], directions)
    feeds = {
        **dict(zip(xs, arrays, strict=True)),
        **{d: vs[i] for d, i in zip(directions, wanted, strict=True)},
    }
    depends = {v: feeds[v] for v in graph.find_topo_sort([tangent]) if v in feeds}
    (got,) = graph.Executor([tangent]).run(depends)
    close(case, got, checking.forward(case, arrays, vs), "tangent")


@in_one_test
@KNOWN
@each([c for c in SMOOTH if c.real])
def test_second_derivatives_of_the_graph_agree_with_eager(case: Case, known: bool) -> None:
    """Gradients of gradients: H·w, and forward mode through the gradient."""
    arrays = case.inputs("float64")
    wanted = case.differentiable()
    u = checking.direction(checking.host(case.run(checking.tensors(case, arrays, ()))), 1)
    ws = {i: checking.direction(arrays[i], 5 + i) for i in wanted}
    xs, y = built(case, arrays, known)
    seed = graph.Variable("u", shape=u.shape, dtype=u.dtype)
    first = graph.gradients(y, [xs[i] for i in wanted], seed)
    products = [g * graph.constant(ws[i]) for g, i in zip(first, wanted, strict=True)]
    total = graph.sum_nodes([p.sum() for p in products])
    points = [xs[i] for i in wanted]
    second = graph.gradients(total, points)
    through = graph.jvp(first, points, [ws[i] for i in wanted])
    feeds = {**dict(zip(xs, arrays, strict=True)), seed: u}
    nodes = [*second, *through]
    depends = {v: feeds[v] for v in graph.find_topo_sort(nodes) if v in feeds}
    values = graph.Executor(nodes).run(depends)
    if registry[case.primitive].outputs == 1 or case.route is not None:
        want, _ = checking.reverse_over_reverse(case, arrays, u, ws)
        for got, w in zip(values[: len(second)], want, strict=True):
            checking.close(got, w, max(1e-11, case.precision), f"{case.id}: second derivative")
        for got, w in zip(values[len(second) :], want, strict=True):
            checking.close(got, w, max(1e-11, case.precision), f"{case.id}: forward over reverse")


@in_one_test
@each([c for c in SMOOTH if c.real and c.any_shape])
@pytest.mark.parametrize(
    "shapes", [((), ()), ((0,), (0,)), ((2, 1, 3), (4, 1)), ((3,), ()), ((1,), (2, 3))], ids=str
)
@pytest.mark.parametrize("dtype", ["float32", pytest.param("float64", marks=[pytest.mark.whole])])
@KNOWN
def test_broadcast_empty_and_0d_operands_in_a_graph(
    case: Case, shapes, dtype: str, known: bool
) -> None:
    """0-d, empty and broadcast operands: the value, and gradients summed back, of the right
    dtype.
    """
    shapes = (shapes * 2)[: len(case.domains)]
    if case.primitive == "overwrite" and np.broadcast_shapes(*shapes) != shapes[0]:
        shapes = (
            np.broadcast_shapes(*shapes),
            shapes[1],
        )  # what is written must fit into what is there
    arrays = case.inputs(dtype, shapes)
    leaves = checking.tensors(case, arrays)
    want = case.run(leaves)
    xs, y = built(case, arrays, known)
    wanted = case.differentiable()
    nodes = [y, *graph.gradients(y, [xs[i] for i in wanted])]
    value, *gradients = graph.Executor(nodes).run(dict(zip(xs, arrays, strict=True)))
    assert value.dtype == want.dtype and value.shape == want.shape
    checking.close(value, checking.host(want), 1e-13 if dtype == "float64" else 1e-6, case.id)
    eager = mg.autograd.grad(want, [leaves[i] for i in wanted], mg.ones_like(want))
    for got, g in zip(gradients, eager, strict=True):
        assert got.dtype == g.dtype and got.shape == g.shape
        checking.close(got, checking.host(g), 1e-12 if dtype == "float64" else 1e-5, case.id)
    if known:
        for node, got in zip(nodes, [value, *gradients], strict=True):
            assert (node.shape, node.dtype) == (got.shape, got.dtype)
