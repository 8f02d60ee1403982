"""The document's own interface (Node, Op, Executor, gradients), its graph, and the figures that
it gives.
"""

import math
import re

import numpy as np
import pytest

from minigrad import graph as ad


def run(nodes, feeds):
    return ad.Executor(nodes).run(feed_dict=feeds)


def same(got, want):
    assert isinstance(got, np.ndarray)
    np.testing.assert_array_equal(got, want)


# ---------------------------------------------------------------------- the article's graph x1 … x4


def article():
    x1 = ad.Variable(name="x1")
    x2 = ad.exp(x1)
    x3 = x2 + 1
    x4 = x2 * x3
    return x1, x2, x3, x4


def by_hand(x1, x2, x3, x4):
    """The right half of the article's picture, one line an adjoint."""
    x4_bar = ad.ones_like(x4)
    x3_bar = x4_bar * x2
    x2_bar = x4_bar * x3 + x3_bar
    return x2_bar * x2


def test_gradients_of_the_article_are_the_graph_drawn_by_hand():
    nodes = article()
    (x1_bar,) = ad.gradients(nodes[3], [nodes[0]])
    drawn = by_hand(*nodes)
    assert ad.difference(x1_bar, drawn) is None
    assert ad.same_graph([nodes[3], x1_bar], [nodes[3], drawn])
    assert len(ad.find_topo_sort([x1_bar])) == len(ad.find_topo_sort([drawn])) == 9


def test_value_at_one():
    x1, _, _, x4 = article()
    (x1_bar,) = ad.gradients(x4, [x1])
    value, slope = run([x4, x1_bar], {x1: np.float64(1.0)})
    assert math.isclose(slope, math.e * (2 * math.e + 1), rel_tol=1e-15)
    assert math.isclose(value, math.e * (math.e + 1), rel_tol=1e-15)
    assert f"{slope:.3f}" == "17.496"
    (tangent,) = run([ad.jvp(x4, [x1], [np.float64(1.0)])], {x1: np.float64(1.0)})
    assert math.isclose(tangent, slope, rel_tol=1e-15)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            lambda x1, x2, x3, x4: (ad.ones_like(x4) * x3 + ad.ones_like(x4) * x2) * x2,
            "one node in one graph and several",
        ),
        (
            lambda x1, x2, x3, x4: by_hand(x1, x2, x3, x4) * 1,
            "one node in one graph and several|has the operand|made by",
        ),
        (
            lambda x1, x2, x3, x4: x2 * by_hand(x1, x2, x3, x4).inputs[0],
            "made by",
        ),  # the factors in the other order
        (
            lambda x1, x2, x3, x4: by_hand(x1, x2, x2 + 2, x4),
            r"\(exp\(x1\)\+2\) is one node in one graph and several",
        ),
    ],
    ids=["nothing shared", "times one", "factors exchanged", "another number"],
)
def test_other_graphs_differ(change, words):
    nodes = article()
    (x1_bar,) = ad.gradients(nodes[3], [nodes[0]])
    found = ad.difference(change(*nodes), x1_bar)
    assert found is not None and re.search(words, found), found


def test_same_graph_looks_at_variables_numbers_parameters_and_constants():
    x, y = ad.Variable("x", (3,)), ad.Variable("y", (3,))
    assert ad.same_graph(x + 1, x + 1)
    assert not ad.same_graph(x + 1, y + 1)
    assert ad.same_graph(x + 1, y + 1, variables={x: y})
    assert not ad.same_graph(x + 1, x + 1.0)
    assert not ad.same_graph(x + 1, 1 + x)
    assert not ad.same_graph(x[0], x[1])
    assert not ad.same_graph(x.sum(0), x.sum(0, keepdim=True))
    assert ad.same_graph(x + np.ones(3), x + np.ones(3))
    assert not ad.same_graph(x + np.ones(3), x + np.zeros(3))
    assert not ad.same_graph(x + np.ones(3), x + np.ones(3, "float32"))
    assert not ad.same_graph([x, x], [x])
    z = x + 1
    assert not ad.same_graph(z * z, (x + 1) * (x + 1))


# ---------------------------------------------- the course's exercise: identities of each operation

A, B, C = 2 * np.ones(3), 3 * np.ones(3), np.arange(3.0)


@pytest.mark.parametrize(
    ("make", "values", "value", "slopes"),
    [
        (lambda x: x, [A], A, [np.ones(3)]),
        (lambda x: 5 + x, [A], A + 5, [np.ones(3)]),
        (lambda x: x + 5, [A], A + 5, [np.ones(3)]),
        (lambda x: 5 * x, [A], A * 5, [5 * np.ones(3)]),
        (lambda x: 5 - x, [A], 5 - A, [-np.ones(3)]),
        (lambda x: x / 4, [A], A / 4, [np.ones(3) / 4]),
        (lambda x: 4 / x, [A], 4 / A, [-np.ones(3)]),
        (lambda x, y: x + y, [A, B], A + B, [np.ones(3), np.ones(3)]),
        (lambda x, y: x * y, [A, B], A * B, [B, A]),
        (lambda x, y, z: x + y * z * x, [A, B, C], A + B * C * A, [1 + B * C, C * A, B * A]),
        (
            lambda x, y: (x * x + y + 3) * (x * x + y + 3),
            [A, B],
            (A * A + B + 3) ** 2,
            [4 * A * (A * A + B + 3), 2 * (A * A + B + 3)],
        ),
        (lambda x: ad.add_op(x, x), [A], 2 * A, [2 * np.ones(3)]),
        (lambda x: ad.mul_op(x, x), [A], A * A, [2 * A]),
        (lambda x: ad.add_byconst_op(x, 7), [A], A + 7, [np.ones(3)]),
        (lambda x: ad.mul_byconst_op(x, 7), [A], A * 7, [7 * np.ones(3)]),
        (lambda x: ad.oneslike_op(x) * x, [A], A, [np.ones(3)]),
        (lambda x: ad.zeroslike_op(x) + x, [A], A, [np.ones(3)]),
    ],
)
def test_values_and_gradients(make, values, value, slopes):
    xs = [ad.Variable(name=f"x{i}") for i in range(len(values))]
    y = make(*xs)
    gradients = ad.gradients(y, xs)
    assert isinstance(y, ad.Node) and all(isinstance(g, ad.Node) for g in gradients)
    got, *found = run([y, *gradients], dict(zip(xs, values, strict=True)))
    same(got, value)
    for g, want in zip(found, slopes, strict=True):
        same(g, want)


@pytest.mark.parametrize("ta", [False, True])
@pytest.mark.parametrize("tb", [False, True])
@pytest.mark.parametrize("declared", [False, True])
@pytest.mark.parametrize("matmul", [ad.matmul_op, ad.matmul], ids=["matmul_op", "matmul"])
def test_product_of_matrices(ta, tb, declared, matmul):
    """Integers, as in the course's test; all four ways of transposing; second derivatives and
    forward mode.
    """
    a, b = np.array([[1, 2], [3, 4], [5, 6]]), np.array([[7, 8, 9, 1], [10, 11, 12, 2]])
    given = (a.T if ta else a), (b.T if tb else b)
    x, y = (ad.Variable(n, v.shape if declared else None) for n, v in zip("xy", given, strict=True))
    z = matmul(x, y, trans_A=ta, trans_B=tb)
    u = np.arange(12.0).reshape(3, 4)
    seed = ad.constant(u)
    dx, dy = ad.gradients(z, [x, y], seed)
    value, gx, gy = run([z, dx, dy], {x: given[0], y: given[1]})
    same(value, a @ b)
    same(gx, (u @ b.T).T if ta else u @ b.T)
    same(gy, (a.T @ u).T if tb else a.T @ u)
    if declared:
        assert z.shape == (3, 4) and dx.shape == gx.shape and dy.shape == gy.shape
    v = np.arange(6.0).reshape(given[0].shape)
    (mixed,) = ad.gradients((dx * ad.constant(v)).sum(), [y])
    along, second = run([ad.jvp(z, [x], [v]), mixed], {x: given[0], y: given[1]})
    w = v.T if ta else v
    same(along, w @ b)
    same(second, (w.T @ u).T if tb else w.T @ u)


def test_gradient_of_gradient():
    x, y = ad.Variable("x"), ad.Variable("y")
    z = x * x * x + x * y
    gx, gy = ad.gradients(z, [x, y])
    gxx, gxy = ad.gradients(gx, [x, y])
    (gxxx,) = ad.gradients(gxx, [x])
    values = run([gx, gy, gxx, gxy, gxxx], {x: A, y: B})
    for got, want in zip(
        values, [3 * A * A + B, A, 6 * A, np.ones(3), 6 * np.ones(3)], strict=True
    ):
        same(got, want)


# ------------------------------------------------------------------------------- a user's operation


class CubeOp(ad.Op):
    """Written as the document writes its operations."""

    def __call__(self, x):
        node = ad.Op.__call__(self)
        node.inputs = [x]
        node.name = f"Cube({x.name})"
        return node

    def compute(self, node, input_vals):
        assert len(input_vals) == 1 and type(input_vals[0]) is np.ndarray
        return input_vals[0] ** 3

    def gradient(self, node, output_grad):
        return [output_grad * 3 * node.inputs[0] * node.inputs[0]]


class ScaledProductOp(ad.Op):
    """Two inputs and an attribute of its own."""

    def __call__(self, a, b, scale):
        node = super().__call__()
        node.inputs, node.const_attr, node.name = [a, b], scale, f"({a.name}·{b.name})"
        return node

    def compute(self, node, input_vals):
        return input_vals[0] * input_vals[1] * node.const_attr

    def gradient(self, node, output_grad):
        a, b = node.inputs
        return [output_grad * b * node.const_attr, output_grad * a * node.const_attr]


cube_op, scaled_op = CubeOp(), ScaledProductOp()


def test_a_users_operation():
    x = ad.Variable("x")
    y = cube_op(x) * 2
    assert y.name == "(Cube(x)*2)" and y.inputs[0].op is cube_op and y.const_attr == 2
    (g,) = ad.gradients(y, [x])
    (h,) = ad.gradients(g, [x])
    for _ in range(
        3
    ):  # never becomes a Program: its compute is Python that the engine does not see
        value, first, second = run([y, g, h], {x: C})
        same(value, 2 * C**3)
        same(first, 6 * C**2)
        same(second, 12 * C)


def test_forward_mode_of_an_operation_with_only_a_gradient():
    """The transpose of its gradient, which is linear in the output's adjoint."""
    x, y, t = ad.Variable("x"), ad.Variable("y"), ad.Variable("t")
    z = cube_op(x) + scaled_op(x, y, 5)
    same(run([ad.jvp(z, [x], [t])], {x: C, y: B, t: A})[0], 3 * C**2 * A + 5 * A * B)
    same(
        run([ad.jvp(z, [x, y], [t, x])], {x: C, y: B, t: A})[0],
        3 * C**2 * A + 5 * A * B + 5 * C * C,
    )
    (g,) = ad.gradients(z, [x])
    same(run([ad.jvp(g, [x], [t])], {x: C, y: B, t: A})[0], 6 * C * A)


def test_what_users_operations_get_wrong():
    x = ad.Variable("x", (3,), "float64")

    class Silent(ad.Op):
        def compute(self, node, input_vals):
            return None

    class Wrong(CubeOp):
        def gradient(self, node, output_grad):
            return [output_grad, output_grad]

    class Misshapen(CubeOp):
        def gradient(self, node, output_grad):
            return [np.ones((2, 2))]

    class Writes(CubeOp):
        def compute(self, node, input_vals):
            input_vals[0] += 1
            return input_vals[0]

    with pytest.raises(RuntimeError, match="returned None"):
        run([Silent()(x)], {x: C})
    with pytest.raises(NotImplementedError, match="gradient"):
        ad.gradients(Silent()(x), [x])
    with pytest.raises(RuntimeError, match="2 contributions for the 1 inputs"):
        ad.gradients(Wrong()(x), [x])
    with pytest.raises(ValueError, match=r"shape \(2, 2\) for x"):
        ad.gradients(Misshapen()(x), [x])
    with pytest.raises(ValueError, match="read-only"):
        run([Writes()(x)], {x: C})


def test_the_documents_attributes():
    x, y = ad.Variable("x1"), ad.Variable("x2")
    z = x + y
    assert z.name == str(z) == repr(z) == "(x1+x2)"
    assert z.inputs[0] is x and z.inputs[1] is y
    assert isinstance(x.op, ad.PlaceholderOp) and x.op is ad.placeholder_op and x.inputs == []
    assert (x + 5).const_attr == 5 and str(x * 2.5) == "(x1*2.5)" and z.const_attr is None
    assert str(ad.matmul_op(x, y, trans_B=True)) == "MatMul(x1,x2,False,True)"
    assert ad.matmul_op(x, y, trans_B=True).matmul_attr_trans_B is True
    z.name = "total"
    assert str(z * 2) == "(total*2)"
    same(z.op.compute(z, [A, B]), A + B)
    partials = z.op.gradient(z, ad.ones_like(z))
    assert len(partials) == 2
    bare = ad.placeholder()
    bare.name = "made by hand"
    same(run([bare * 1.0], {bare: A})[0], A)


def test_topological_order_is_the_documents():
    """Depth first, inputs from left to right, each node once and after its inputs."""
    x, y = ad.Variable("x"), ad.Variable("y")
    a, b = x * y, y + 1
    c = b * a
    assert [n.name for n in ad.find_topo_sort([c])] == ["y", "(y+1)", "x", "(x*y)", "((y+1)*(x*y))"]
