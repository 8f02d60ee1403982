"""Random computations, built as a graph and run eagerly: values, gradients, forward mode and second
derivatives agree.

A program is a list of steps on a growing pool of values; the same steps run on tensors, on
PyTorch's tensors and on nodes, whose shapes and dtypes are declared or not, for each.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import minigrad as mg
from minigrad import graph

SHAPES = [(), (3,), (1,), (2, 3), (2, 1), (0, 3)]
UNARY = {
    "sin": lambda a: a.sin(),
    "tanh": lambda a: a.tanh(),
    "exp": lambda a: (a * 0.1).exp(),
    "square": lambda a: a * a,
    "neg": lambda a: -a,
    "cube": lambda a: a**3 * 0.1,
    "shift": lambda a: 2.5 - a,
    "inverse": lambda a: 1 / (a * a + 1),
    "sum": lambda a: a.sum(),
    "mean": lambda a: (a * a).tanh().sum(),
    "abs": lambda a: a.abs(),
    "flat": lambda a: a.reshape(-1),
    "sigmoid": lambda a: a.sigmoid(),
}
BINARY = {
    "add": lambda a, b: a + b,
    "mul": lambda a, b: a * b,
    "sub": lambda a, b: a - b,
    "div": lambda a, b: a / (b * b + 1),
    "arctan": lambda a, b: (a * b).atan(),
}
STEP = st.tuples(st.sampled_from([*UNARY, *BINARY]), st.integers(0, 30), st.integers(0, 30))
PROGRAM = st.lists(STEP, min_size=1, max_size=9)


def fits(a, b) -> bool:
    try:
        np.broadcast_shapes(a, b)
    except ValueError:
        return False
    return True


def plan(steps, shapes):
    """The steps that fit, and the index of the last value: worked out once, on arrays, so that
    all libraries do the same.
    """
    pool, kept = [np.zeros(s) for s in shapes], []
    values = [mg.tensor(p) for p in pool]
    for name, i, j in steps:
        a, b = values[i % len(values)], values[j % len(values)]
        if name in UNARY:
            if name == "flat" and 0 in a.shape:
                continue
            values.append(UNARY[name](a))
        elif fits(a.shape, b.shape):
            values.append(BINARY[name](a, b))
        else:
            continue
        kept.append((name, i % (len(values) - 1), j % (len(values) - 1)))
    return kept


def follow(steps, inputs):
    values = list(inputs)
    for name, i, j in steps:
        values.append(
            UNARY[name](values[i]) if name in UNARY else BINARY[name](values[i], values[j])
        )
    return values[-1]


def arrays_of(shapes, dtypes, seed=0):
    rng = np.random.default_rng(seed)
    return [rng.uniform(-1.5, 1.5, s).astype(d) for s, d in zip(shapes, dtypes, strict=True)]


@given(
    PROGRAM,
    st.lists(st.sampled_from(SHAPES), min_size=1, max_size=3),
    st.lists(st.sampled_from(["float64", "float64", "float32"]), min_size=3, max_size=3),
    st.one_of(st.just((True,) * 6), st.lists(st.booleans(), min_size=6, max_size=6)),
)
def test_random_graphs_agree_with_eager(steps, shapes, dtypes, declared):
    steps, arrays = plan(steps, shapes), arrays_of(shapes, dtypes[: len(shapes)])
    directions = [graph.constant(v) for v in arrays_of(shapes, dtypes[: len(shapes)], 1)]
    xs = [
        graph.Variable(
            f"x{i}", a.shape if declared[i] else None, a.dtype if declared[i + 3] else None
        )
        for i, a in enumerate(arrays)
    ]
    y = follow(steps, xs)
    first = graph.gradients(y, xs)
    weighted = graph.sum_nodes([(g * d).sum() for g, d in zip(first, directions, strict=True)])
    second = graph.gradients(weighted, xs)
    tangent = graph.jvp(y, xs, directions)
    nodes = [y, *first, weighted, *second, tangent]

    leaves = [mg.tensor(a, requires_grad=True) for a in arrays]
    vs = [d.op.value for d in directions]
    want = follow(steps, leaves)
    grads = mg.autograd.grad(
        want, leaves, mg.ones_like(want), create_graph=True, materialize_grads=True
    )
    total = graph.sum_nodes([(g * v).sum() for g, v in zip(grads, vs, strict=True)])
    constant = not total.requires_grad
    again = (
        [mg.zeros_like(x) for x in leaves]
        if constant
        else mg.autograd.grad(total, leaves, materialize_grads=True)
    )
    _, pushed = mg.func.jvp(
        lambda *a: follow(steps, a), tuple(mg.tensor(a) for a in arrays), tuple(vs)
    )
    expected = [v.detach().numpy() for v in (want, *grads, total, *again, pushed)]

    loose = 1e-4 if any(a.dtype == np.float32 for a in arrays) else 1e-11
    executor = graph.Executor(nodes)
    for _ in range(3):  # plain, recorded, replayed
        for node, got, value in zip(
            nodes, executor.run(dict(zip(xs, arrays, strict=True))), expected, strict=True
        ):
            assert (got.shape, got.dtype) == (value.shape, value.dtype), str(node)
            np.testing.assert_allclose(got, value, rtol=loose, atol=loose, err_msg=str(node))
            if all(declared):
                assert (node.shape, node.dtype) == (value.shape, value.dtype)
            assert node.known_shape in (None, value.shape) and node.known_dtype in (
                None,
                value.dtype,
            )


@pytest.mark.oracle
@settings(max_examples=30)
@given(PROGRAM, st.lists(st.sampled_from(SHAPES), min_size=1, max_size=3), st.booleans())
def test_random_graphs_agree_with_pytorch(steps, shapes, declared):
    import torch

    steps, arrays = plan(steps, shapes), arrays_of(shapes, ["float64"] * len(shapes))
    xs = [graph.Variable(f"x{i}", a.shape if declared else None) for i, a in enumerate(arrays)]
    y = follow(steps, xs)
    got = graph.Executor([y, *graph.gradients(y, xs)]).run(dict(zip(xs, arrays, strict=True)))
    leaves = [torch.tensor(a, requires_grad=True) for a in arrays]
    want = follow(steps, leaves)
    grads = torch.autograd.grad(want, leaves, torch.ones_like(want), allow_unused=True)
    expected = [
        want,
        *(
            torch.zeros_like(leaf) if g is None else g
            for g, leaf in zip(grads, leaves, strict=True)
        ),
    ]
    for value, w in zip(got, expected, strict=True):
        assert value.shape == tuple(w.shape)
        np.testing.assert_allclose(value, w.detach().numpy(), rtol=1e-11, atol=1e-12)


def test_a_network_as_a_graph():
    """Layers and losses of minigrad.nn on nodes: the same numbers, and the gradients of its
    inputs.
    """
    functional = mg.nn.functional
    mg.manual_seed(0)
    net = mg.nn.Sequential(mg.nn.Linear(4, 5), mg.nn.ReLU(), mg.nn.LayerNorm(5), mg.nn.Linear(5, 3))
    x, labels = graph.Variable("x", (6, 4), "float32"), graph.Variable("labels", (6,), "int64")
    loss = functional.cross_entropy(net(x), labels)
    executor = graph.Executor([loss, *graph.gradients(loss, [x])])
    rng = np.random.default_rng(0)
    for _ in range(4):
        data, chosen = rng.standard_normal((6, 4)).astype("float32"), rng.integers(0, 3, 6)
        leaf = mg.tensor(data, requires_grad=True)
        want = functional.cross_entropy(net(leaf), mg.tensor(chosen))
        (g,) = mg.autograd.grad(want, [leaf])
        value, slope = executor.run({x: data, labels: chosen})
        np.testing.assert_array_equal(value, want.detach().numpy())
        np.testing.assert_array_equal(slope, g.numpy())
    waiting = graph.Variable("x")
    later = graph.call(lambda a, t: functional.cross_entropy(net(a), t), waiting, labels)
    value, slope = graph.Executor([later, *graph.gradients(later, [waiting])]).run(
        {waiting: data, labels: chosen}
    )
    np.testing.assert_array_equal(value, want.detach().numpy())
    np.testing.assert_allclose(slope, g.numpy(), rtol=1e-6)
