"""Recurrent layers as one operation: the same as their cells step by step; what rules share is
never taken for another node's.
"""

import gc
import weakref

import numpy as np
import pytest

import minigrad as mg
from minigrad import nn
from minigrad.ops import recurrent
from tests.helpers.tables import in_one_test

PAIRS = {
    "rnn": (nn.RNN, nn.RNNCell, {}),
    "relu": (nn.RNN, nn.RNNCell, {"nonlinearity": "relu"}),
    "lstm": (nn.LSTM, nn.LSTMCell, {}),
    "gru": (nn.GRU, nn.GRUCell, {}),
}


def stepped(cell, x):
    """The outputs of all steps and the last state, cell by cell."""
    state, outputs = None, []
    for t in range(x.shape[0]):
        state = cell(x[t], state)
        outputs.append(state[0] if isinstance(state, tuple) else state)
    return mg.stack(outputs), state if isinstance(state, tuple) else (state,)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("name", PAIRS)
def test_a_layer_is_its_cell_step_by_step(name: str, bias: bool) -> None:
    layer_type, cell_type, options = PAIRS[name]
    mg.manual_seed(0)
    layer = layer_type(3, 4, bias=bias, dtype=mg.float64, **options)
    cell = cell_type(3, 4, bias, dtype=mg.float64, **options)
    cell.load_state_dict(
        {key.removesuffix("_l0"): value for key, value in layer.state_dict().items()}
    )
    data = np.random.default_rng(0).normal(size=(5, 2, 3))
    found = []
    for run, parameters in (
        (lambda x: layer(x), list(layer.parameters())),
        (lambda x: stepped(cell, x), list(cell.parameters())),
    ):
        x = mg.tensor(data, requires_grad=True)
        outputs, state = run(x)
        states = [s.reshape(2, 4) for s in (state if isinstance(state, tuple) else (state,))]
        total = (outputs * outputs).sum() + sum((s**3).sum() for s in states)
        first = mg.autograd.grad(total, [x, *parameters], create_graph=True)
        second = mg.autograd.grad(sum((g * g).sum() for g in first), [x, *parameters])
        found.append([outputs, *states, *first, *second])
    assert len(found[0]) == len(found[1]) >= 8
    for ours, want in zip(*found, strict=True):
        np.testing.assert_allclose(
            ours.numpy(force=True), want.numpy(force=True), rtol=1e-10, atol=1e-11
        )


def lstm_inputs(seed: int = 0) -> list[mg.Tensor]:
    rng = np.random.default_rng(seed)
    return [
        mg.tensor(rng.normal(size=s), requires_grad=True)
        for s in ((4, 2, 12), (2, 3), (2, 3), (12, 3))
    ]


def test_the_rules_of_a_node_share_one_walk_through_the_steps(monkeypatch) -> None:
    walks, real = [], recurrent._lstm_slopes
    monkeypatch.setattr(recurrent, "_lstm_slopes", lambda *values: walks.append(1) or real(*values))
    inputs = lstm_inputs()
    h, c = recurrent.lstm(*inputs)
    mg.autograd.grad((h.sum() + c.sum()), inputs)
    assert len(walks) == 1


def test_what_rules_share_belongs_to_one_node_and_one_pass() -> None:
    """One seed serves two nodes, and again one of them after it was overwritten."""
    first, second = lstm_inputs(0), lstm_inputs(1)
    seed = mg.tensor(np.ones((4, 2, 3)))
    both = [
        mg.autograd.grad(recurrent.lstm(*inputs)[0], inputs, seed) for inputs in (first, second)
    ]
    together = mg.autograd.grad(
        [recurrent.lstm(*first)[0], recurrent.lstm(*second)[0]], [*first, *second], [seed, seed]
    )
    for got, want in zip(together, [*both[0], *both[1]], strict=True):
        assert got.tolist() == want.tolist()
    h = recurrent.lstm(*first)[0]
    before = mg.autograd.grad(h, [first[0]], seed, retain_graph=True)[0]
    expected = (before * 2).tolist()
    before.fill_(7.0)
    seed.fill_(2.0)
    gradient, matrix = mg.autograd.grad(h, [first[0], first[3]], seed)
    np.testing.assert_allclose(gradient.numpy(), expected, rtol=1e-13)
    np.testing.assert_allclose(matrix.numpy(), 2 * both[0][3].numpy(), rtol=1e-13)


def test_one_tuple_of_cotangents_may_serve_two_nodes() -> None:
    """What rules share is told apart by the results too, so that no new tuple is needed for
    each node.
    """
    seed = (np.ones((4, 2, 3)), np.ones((4, 2, 3)))
    rule = recurrent.lstm.pull_rules[0].function
    nodes = []
    for number in (0, 1):
        values = [x.detach().array for x in lstm_inputs(number)]
        nodes.append((*values, recurrent.lstm.forward(np, *values)))
    expected = [rule((seed[0].copy(), seed[1].copy()), *values) for values in nodes]
    for number in (0, 1, 0):
        assert (rule(seed, *nodes[number]) == expected[number]).all()


def test_what_rules_share_is_forgotten() -> None:
    inputs = lstm_inputs()
    h, _ = recurrent.lstm(*inputs)
    seed = mg.tensor(np.ones((4, 2, 3)))
    gone = weakref.ref(seed.array)
    gc.disable()
    try:
        mg.autograd.grad(h, inputs, seed)
        del h, seed
        assert gone() is None
    finally:
        gc.enable()


def test_an_empty_batch() -> None:
    layer = nn.GRU(3, 4)
    x = mg.zeros(5, 0, 3, requires_grad=True)
    outputs, last = layer(x)
    assert (outputs.shape, last.shape) == ((5, 0, 4), (1, 0, 4))
    outputs.sum().backward()
    assert x.grad.shape == (5, 0, 3) and all((p.grad == 0).all() for p in layer.parameters())


def test_gradients_of_each_example() -> None:
    layer = nn.LSTM(3, 4, dtype=mg.float64)
    x = mg.tensor(np.random.default_rng(0).normal(size=(6, 5, 3)))
    parameters = dict(layer.named_parameters())
    loss = lambda p, one: (mg.func.functional_call(layer, p, (one,))[0] ** 2).sum()
    batched = mg.func.vmap(mg.func.grad(loss), in_dims=(None, 0))(parameters, x)
    for k in range(6):
        alone = mg.func.grad(loss)(parameters, x[k])
        for name, gradient in alone.items():
            np.testing.assert_allclose(
                batched[name][k].numpy(force=True),
                gradient.numpy(force=True),
                rtol=1e-10,
                atol=1e-12,
            )


def plain_states(name: str, a, h, u, extra):
    """The states after each step, as the operation's lines say it, with new arrays in each."""
    sigmoid = lambda x: 1 / (np.exp(-x) + 1)
    states, width = [], h.shape[-1]
    for given in a:
        z = h @ u.swapaxes(-1, -2)
        if name == "rnn":
            h = np.tanh(given + z)
        elif name == "lstm":
            i, f, n, o = np.split(given + z, 4, axis=-1)
            extra = sigmoid(f) * extra + sigmoid(i) * np.tanh(n)
            h = sigmoid(o) * np.tanh(extra)
        else:
            z = z + extra
            r = sigmoid(given[..., :width] + z[..., :width])
            y = sigmoid(given[..., width : 2 * width] + z[..., width : 2 * width])
            n = np.tanh(given[..., 2 * width :] + r * z[..., 2 * width :])
            h = n + y * (h - n)
        states.append(h)
    return np.stack(states)


@in_one_test
@pytest.mark.parametrize("sizes", [(4, 2, 3), (1, 1, 1), (3, 0, 2), (20, 16, 32)], ids=str)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("name", "gates"), [("rnn", 1), ("lstm", 4), ("gru", 3)])
def test_states_are_those_of_the_written_steps(name: str, gates: int, dtype: str, sizes) -> None:
    """With NaN and infinities in some sequences, operands that do not lie row after row, and under
    vmap with operands that have no batch."""
    length, count, width = sizes
    random = np.random.default_rng(0)
    a, h, u, b = (
        random.normal(size=shape).astype(dtype)
        for shape in (
            (3, length, count, gates * width), (count, width), (gates * width, width),
            (gates * width,),
        )
    )  # fmt: skip
    a[:, 1:2, :1, :1] = np.array([np.nan, np.inf, -np.inf]).reshape(3, 1, 1, 1)
    u /= 2 * width**0.5  # so that steps do not enlarge rounding errors
    extra = {"rnn": [], "lstm": [h[::-1].copy()], "gru": [b]}[name]
    options = {"rectified": False} if name == "rnn" else {}
    operands = [h, u, *extra] if name != "lstm" else [h, *extra, u]
    others = [mg.tensor(np.asfortranarray(x)) for x in operands]
    run = lambda a: getattr(recurrent, name)(a, *others, **options)[0]
    found = [run(mg.tensor(np.asfortranarray(one))).numpy() for one in a]
    batched = mg.vmap(run)(mg.tensor(a)).numpy()
    bound = {"float32": 2e-6, "float64": 1e-14}[dtype]
    with np.errstate(all="ignore"):
        for one, ours, together in zip(a, found, batched, strict=True):
            want = plain_states(name, one, h, u, extra[0] if extra else None)
            assert ours.dtype == together.dtype == dtype
            np.testing.assert_allclose(ours, want, rtol=bound, atol=bound)
            np.testing.assert_allclose(together, want, rtol=bound, atol=bound)
