"""nn.utils: normalised weights, parametrizations, packed sequences, vectors of parameters;
values and derivatives are PyTorch's.
"""

import copy
import itertools
import pickle

import numpy as np
import pytest

import minigrad as mg
from minigrad import nn
from tests.helpers.tables import in_one_test

LAYERS = {
    "Linear": (lambda lib: lib.nn.Linear(4, 3), (5, 4)),
    "Conv2d": (lambda lib: lib.nn.Conv2d(2, 3, 3), (2, 2, 5, 5)),
    "ConvTranspose1d": (lambda lib: lib.nn.ConvTranspose1d(2, 3, 3), (2, 2, 5)),
}
KINDS = {
    "weight_norm": (lambda u: u.weight_norm, lambda u, m: u.remove_weight_norm(m)),
    "spectral_norm": (lambda u: u.spectral_norm, lambda u, m: u.remove_spectral_norm(m)),
    "parametrizations.weight_norm": (
        lambda u: u.parametrizations.weight_norm,
        lambda u, m: u.parametrize.remove_parametrizations(m, "weight"),
    ),
    "parametrizations.spectral_norm": (
        lambda u: u.parametrizations.spectral_norm,
        lambda u, m: u.parametrize.remove_parametrizations(m, "weight"),
    ),
}


def close(ours, theirs):
    assert len(ours) == len(theirs)
    for i, (a, b) in enumerate(zip(ours, theirs, strict=True)):
        np.testing.assert_allclose(
            a.detach().numpy(), b.detach().numpy(), rtol=1e-7, atol=1e-8, err_msg=str(i)
        )


@in_one_test
@pytest.mark.oracle
@pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::UserWarning:torch.*")
@pytest.mark.parametrize(("layer", "kind"), list(itertools.product(LAYERS, KINDS)))
def test_normalised_weights_are_pytorchs(torch, layer, kind):
    make, shape = LAYERS[layer]
    x0 = np.random.default_rng(0).standard_normal(shape)
    for options, training in itertools.product(({}, {"dim": 1}, {"dim": None}), (True, False)):
        mine, other = (
            KINDS[kind][0](lib.nn.utils)(make(lib).double(), **options) for lib in (mg, torch)
        )
        assert list(mine.state_dict()) == list(other.state_dict())
        assert [n for n, _ in mine.named_parameters()] == [n for n, _ in other.named_parameters()]
        mine.load_state_dict({name: value.numpy() for name, value in other.state_dict().items()})
        seen = []
        for lib, module in ((mg, mine), (torch, other)):
            module.train(training)
            x, found = lib.tensor(x0, requires_grad=True), []
            for _ in range(2):  # a power iteration in each call
                y = module(x)
                inputs = [x, *module.parameters()]
                grads = lib.autograd.grad((y**3).sum(), inputs, create_graph=True)
                second = lib.autograd.grad(
                    sum((g**2).sum() for g in grads), inputs, allow_unused=True
                )
                # PyTorch's second derivative of weight normalisation is wrong by its own
                # gradgradcheck; see the next test
                found += [
                    y,
                    *grads,
                    *module.buffers(),
                    *(g for g in second if g is not None and "weight" not in kind),
                ]
            KINDS[kind][1](lib.nn.utils, module)
            seen.append([*found, module(x), *module.parameters()])
            assert type(module) is type(make(lib))
        close(*seen)
        assert list(mine.state_dict()) == list(other.state_dict())


@in_one_test
@pytest.mark.oracle
@pytest.mark.parametrize("shape", [(3, 3), (5, 3), (3, 5)])
@pytest.mark.parametrize("kind", [None, "matrix_exp", "cayley", "householder"])
@pytest.mark.parametrize("trivial", [True, False])
def test_orthogonal_weights_are_pytorchs(torch, shape, kind, trivial):
    """An orthogonal weight stays as it is; values and gradients for other originals."""
    r, (m, n) = np.random.default_rng(0), shape
    start = np.linalg.qr(r.standard_normal((5, 5)))[0][:m, :n]
    start = np.linalg.qr(start)[0] if m >= n else np.linalg.qr(start.T)[0].T
    original, weights = r.standard_normal(shape), r.standard_normal(shape)
    np.fill_diagonal(original, [1, -1, 1])
    seen = []
    for lib in (mg, torch):
        layer = lib.nn.Linear(n, m).double()
        with lib.no_grad():
            layer.weight.copy_(lib.tensor(start))
        made = lib.nn.utils.parametrizations.orthogonal(
            layer, orthogonal_map=kind, use_trivialization=trivial
        )
        assert made is layer
        found, parameter = [layer.weight], layer.parametrizations.weight.original
        if trivial:
            found[0] = lib.tensor(layer.weight.detach().numpy() - start)  # nothing
            layer.parametrizations.weight[0].base = lib.tensor(np.eye(max(m, n)))
        with lib.no_grad():
            parameter.copy_(lib.tensor(original))
        (layer.weight * lib.tensor(weights)).sum().backward()
        seen.append([*found, layer.weight, parameter.grad])
        square = layer.weight.mT @ layer.weight if m > n else layer.weight @ layer.weight.mT
        np.testing.assert_allclose(square.detach().numpy(), np.eye(min(m, n)), atol=1e-12)
        keys = ["parametrizations.weight.0.base"] * trivial + ["parametrizations.weight.original"]
        assert sorted(layer.state_dict()) == ["bias", *keys]
    close(*seen)


def test_orthogonal_weights_stay_so_and_can_be_assigned():
    layer = nn.utils.parametrizations.orthogonal(nn.Linear(4, 4, dtype=mg.float64))
    optimizer = mg.optim.SGD(layer.parameters(), lr=0.5)
    for _ in range(5):
        optimizer.zero_grad()
        (layer(mg.ones(2, 4, dtype=mg.float64)) ** 2).sum().backward()
        optimizer.step()
    np.testing.assert_allclose(
        (layer.weight @ layer.weight.mT).detach().numpy(), np.eye(4), atol=1e-12
    )
    layer.weight = 2 * mg.eye(4, dtype=mg.float64)
    np.testing.assert_allclose(layer.weight.detach().numpy(), np.eye(4), atol=1e-12)


def test_second_derivatives_of_weight_normalisation():
    layer = nn.utils.parametrizations.weight_norm(nn.Linear(3, 2).double())
    v, g = layer.parametrizations.weight.original1, layer.parametrizations.weight.original0
    apply = layer.parametrizations.weight[0]
    inputs = (g.detach().requires_grad_(), v.detach().requires_grad_())
    assert mg.autograd.gradcheck(apply, inputs) and mg.autograd.gradgradcheck(apply, inputs)


class Symmetric(nn.Module):
    def forward(self, x):
        return x.triu() + x.triu(1).T

    def right_inverse(self, x):
        return x.triu()


@pytest.mark.parametrize("change", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
def test_a_parametrized_module_is_copied_pickled_and_assigned_to(change):
    layer = nn.utils.parametrize.register_parametrization(nn.Linear(3, 3), "weight", Symmetric())
    layer.weight = mg.tensor([[1.0, 2, 3], [2, 4, 5], [3, 5, 6]])
    other = change(layer)
    assert other.weight.tolist() == layer.weight.tolist() == [[1, 2, 3], [2, 4, 5], [3, 5, 6]]
    assert type(other) is type(layer)
    nn.utils.parametrize.remove_parametrizations(other, "weight")
    assert type(other) is nn.Linear and list(other.state_dict()) == ["bias", "weight"]
    assert nn.utils.parametrize.is_parametrized(layer, "weight")
    assert layer.weight.grad_fn is not None
    with pytest.raises(ValueError, match="no parameter, buffer or parametrized tensor 'wieght'"):
        nn.utils.parametrize.register_parametrization(nn.Linear(1, 1), "wieght", Symmetric())


def packed_results(lib, module, x0, states, lengths, given, sort):
    rnn = lib.nn.utils.rnn
    x = lib.tensor(x0, requires_grad=True)
    hx = [lib.tensor(s, requires_grad=True) for s in states]
    packed = rnn.pack_padded_sequence(x, lengths, enforce_sorted=not sort)
    out, last = module(packed, (tuple(hx) if len(hx) > 1 else hx[0]) if given else None)
    padded, sizes = rnn.pad_packed_sequence(out, padding_value=0.5)
    last = last if isinstance(last, tuple) else (last,)
    loss = (padded**3).sum() + sum((s**2).sum() for s in last)
    inputs = [x, *module.parameters(), *(hx if given else [])]
    first = lib.autograd.grad(loss, inputs, create_graph=True)
    return [
        padded,
        sizes,
        out.batch_sizes,
        *last,
        *first,
        *lib.autograd.grad(sum((g**2).sum() for g in first), inputs),
    ]


@in_one_test
@pytest.mark.oracle
@pytest.mark.parametrize("kind", ["RNN", "LSTM", "GRU"])
@pytest.mark.parametrize(
    "options",
    [{}, {"num_layers": 2, "bidirectional": True}, {"bidirectional": True, "bias": False}],
)
@pytest.mark.parametrize("lengths", [[5, 3, 3, 1], [2, 5, 1, 4], [4, 4, 4, 4]])
@pytest.mark.parametrize("given", [False, True])
def test_packed_sequences_go_through_recurrent_layers_as_in_pytorch(
    torch, kind, options, lengths, given
):
    mine, other = (getattr(lib.nn, kind)(3, 4, **options).double() for lib in (mg, torch))
    mine.load_state_dict({name: value.numpy() for name, value in other.state_dict().items()})
    rng = np.random.default_rng(0)
    lead = options.get("num_layers", 1) * (1 + options.get("bidirectional", False))
    states = [rng.standard_normal((lead, 4, 4)) for _ in range(2 if kind == "LSTM" else 1)]
    x0, sort = rng.standard_normal((5, 4, 3)), lengths != sorted(lengths, reverse=True)
    close(
        *(
            packed_results(lib, module, x0, states, lengths, given, sort)
            for lib, module in ((mg, mine), (torch, other))
        )
    )


@pytest.mark.oracle
def test_sequences_are_padded_and_packed_as_by_pytorch(torch):
    seen = []
    for lib in (mg, torch):
        rnn = lib.nn.utils.rnn
        given = [lib.tensor(np.arange(2.0 * n).reshape(n, 2)) for n in (2, 4, 1)]
        packed = rnn.pack_sequence(given, enforce_sorted=False)
        made = [
            rnn.pad_sequence(given, batch_first=b, padding_value=-1.0, padding_side=s)
            for b in (False, True)
            for s in ("left", "right")
        ]
        made += [packed.data, packed.batch_sizes, packed.sorted_indices, packed.unsorted_indices]
        made += [
            *rnn.pad_packed_sequence(packed, batch_first=True, total_length=6),
            *rnn.unpack_sequence(packed),
        ]
        seen.append(made)
    close(*seen)


@pytest.mark.oracle
def test_parameters_as_a_vector_and_the_norm_of_all(torch):
    seen = []
    for lib in (mg, torch):
        layer, u = lib.nn.Linear(2, 3).double(), lib.nn.utils
        u.vector_to_parameters(lib.arange(9.0, dtype=lib.float64), layer.parameters())
        vector = u.parameters_to_vector(layer.parameters())
        (gradient,) = lib.autograd.grad((vector**2).sum(), layer.weight)
        norms = [u.get_total_norm(list(layer.parameters()), p) for p in (1, 2.0, 3, float("inf"))]
        layer(lib.ones(1, 2, dtype=lib.float64)).sum().backward()
        u.clip_grads_with_norm_(
            layer.parameters(), 0.5, u.get_total_norm([p.grad for p in layer.parameters()])
        )
        seen.append([layer.weight, layer.bias, vector, gradient, *norms, layer.weight.grad])
    close(*seen)
