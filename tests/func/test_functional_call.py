"""A module as a function of its parameters: the results, the derivatives, and the module left as
it was.
"""

import numpy as np
import pytest

import minigrad as mg
from minigrad import func, nn

X = np.random.default_rng(0).standard_normal((5, 3)).astype("float32")


class Tied(nn.Module):
    """Parameters in a list of parameters, one of them twice; a buffer; a module inside."""

    def __init__(self):
        self.first = nn.Parameter(mg.full((3,), 2.0))
        self.more = nn.ParameterList([self.first, nn.Parameter(mg.ones(3))])
        self.last = nn.Parameter(mg.zeros(3))
        self.inner = nn.Linear(3, 2)
        self.register_buffer("seen", mg.zeros(()))

    def forward(self, x, *, factor=1.0):
        self.seen.add_(1.0)
        return self.inner(x * self.first * self.more[0] + self.more[1] + self.last) * factor


def test_other_parameters_give_the_result_of_another_module():
    module, other = Tied(), Tied()
    for p in other.parameters():
        p.data.add_(0.5)
    own, list_before = [p.tolist() for p in module.parameters()], module.more
    x = mg.tensor(X)
    result = func.functional_call(module, other.state_dict(), (x,), {"factor": 3.0})
    assert np.allclose(result.numpy(force=True), other(x, factor=3.0).numpy(force=True))
    assert [p.tolist() for p in module.parameters()] == own
    assert module.more is list_before
    assert module.more[0] is module.first
    assert module.seen.item() == 0 and module.last.requires_grad


def test_what_is_not_named_is_the_modules_own():
    module = Tied()
    zeros = {"inner.weight": mg.zeros(2, 3)}
    result = func.functional_call(module, zeros, mg.tensor(X))
    assert np.allclose(
        result.numpy(force=True), np.broadcast_to(module.inner.bias.numpy(force=True), (5, 2))
    )
    assert np.allclose(
        func.functional_call(module, (zeros, {"inner.bias": mg.ones(2)}), mg.tensor(X)).numpy(
            force=True
        ),
        1,
    )


def test_derivatives_agree_in_both_modes():
    module = Tied()
    own = {name: p.detach() for name, p in module.named_parameters()}
    loss = lambda parameters, x: func.functional_call(module, parameters, (x,)).square().sum()
    gradients = func.grad(loss)(own, mg.tensor(X))
    module(mg.tensor(X)).square().sum().backward()
    assert all(
        np.allclose(gradients[name].numpy(), p.grad.numpy(), rtol=1e-5)
        for name, p in module.named_parameters()
    )
    each = func.vmap(func.grad(loss), in_dims=(None, 0))(own, mg.tensor(X).unsqueeze(1))
    assert all(
        np.allclose(each[name].numpy().sum(0), gradients[name].numpy(), rtol=1e-4, atol=1e-4)
        for name in own
    )
    direction = {name: mg.ones_like(p) for name, p in own.items()}
    _, slope = func.jvp(lambda p: loss(p, mg.tensor(X)), (own,), (direction,))
    assert np.isclose(slope.item(), sum(g.sum().item() for g in gradients.values()), rtol=1e-4)


def test_the_module_is_left_as_it_was_after_an_error():
    module = Tied()
    before = [id(p) for p in module.parameters()]
    with pytest.raises(ValueError):
        func.functional_call(module, {"first": mg.ones(3)}, (mg.ones(5, 4),))
    assert [id(p) for p in module.parameters()] == before


def test_names_that_are_wrong_are_named():
    module = nn.Linear(3, 2)
    with pytest.raises(
        KeyError, match="Linear has no parameter or buffer weights; its names are weight, bias"
    ):
        func.functional_call(module, {"weights": 0}, mg.ones(3))
    with pytest.raises(KeyError, match="Linear needs bias too"):
        func.functional_call(module, {"weight": mg.ones(2, 3)}, mg.ones(3), strict=True)


class Counting(nn.Module):
    """One buffer is replaced in each call, another one is written to."""

    def __init__(self):
        self.register_buffer("calls", mg.zeros(()))
        self.register_buffer("total", mg.zeros(()))

    def forward(self, x):
        self.calls = self.calls + 1
        self.total.add_(x)
        return self.calls * x


def test_buffers_that_the_module_changes_are_changed_where_they_were_given():
    module = Counting()
    state = {"calls": mg.tensor(5.0), "total": mg.tensor(1.0)}
    for k in (1, 2):
        assert func.functional_call(module, state, mg.tensor(2.0)).item() == 2 * (5 + k)
        assert [v.item() for v in state.values()] == [5 + k, 1 + 2 * k]
    func.functional_call(module, (state,), mg.tensor(2.0))
    assert [v.item() for v in state.values()] == [7, 7]
    assert [b.item() for b in module.buffers()] == [0, 0]


def test_a_tensor_is_given_once():
    module, x = Tied(), mg.tensor(X)
    with pytest.raises(ValueError, match="last is in several of the dicts"):
        func.functional_call(module, ({"last": mg.ones(3)}, {"last": mg.ones(3)}), x)
    two, one = {"first": mg.ones(3), "more.0": mg.zeros(3)}, mg.ones(3)
    with pytest.raises(ValueError, match=r"first and more\.0 are one tensor of the module"):
        func.functional_call(module, two, x)
    results = [
        func.functional_call(module, d, x) for d in ({"first": one}, dict.fromkeys(two, one))
    ]
    assert results[0].tolist() == results[1].tolist()


@pytest.mark.oracle
def test_it_is_called_as_pytorchs_is(torch):
    results = []
    for m, functional_call in ((mg, func.functional_call), (torch, torch.func.functional_call)):
        module = m.nn.Sequential(m.nn.Linear(3, 2), m.nn.ReLU())
        weights = {"0.weight": m.ones(2, 3), "0.bias": m.zeros(2)}
        results.append(
            [
                functional_call(module, weights, (m.tensor(X),)).tolist(),
                functional_call(module, weights, m.tensor(X)).tolist(),
            ]
        )
    assert np.allclose(results[0], results[1])


def ensemble(lib, members=3):
    models = [lib.nn.Sequential(lib.nn.Linear(3, 4), lib.nn.BatchNorm1d(4)) for _ in range(members)]
    for k, model in enumerate(models):
        for i, p in enumerate(model.parameters()):
            p.data = lib.tensor(np.sin(np.arange(p.numel()) + i + k).astype("float32")).reshape(
                p.shape
            )
    return [model.eval() for model in models]


@pytest.mark.oracle
def test_an_ensemble_is_computed_at_once_from_stacked_states(torch):
    found = []
    for lib in (mg, torch):
        models = ensemble(lib)
        parameters, buffers = lib.func.stack_module_state(models)
        one = lambda p, b, x, lib=lib, m=models[0]: lib.func.functional_call(m, (p, b), (x,))
        out = lib.func.vmap(one, in_dims=(0, 0, None))(parameters, buffers, lib.tensor(X))
        (out * out).sum().backward()
        each = lib.stack([model(lib.tensor(X)) for model in models])
        np.testing.assert_allclose(out.detach().numpy(), each.detach().numpy(), rtol=1e-5)
        assert all(p.is_leaf and p.requires_grad for p in parameters.values())
        assert models[0][0].weight.grad is None
        assert not any(b.requires_grad for b in buffers.values())
        found.append(
            (
                {n: p.grad.numpy() for n, p in parameters.items()},
                {n: b.shape for n, b in buffers.items()},
            )
        )
    (ours, shapes), (theirs, their_shapes) = found
    assert list(ours) == list(theirs) and shapes == {n: tuple(s) for n, s in their_shapes.items()}
    for name, gradient in ours.items():
        np.testing.assert_allclose(gradient, theirs[name], rtol=1e-4, atol=1e-6)


def test_an_ensemble_needs_modules_that_are_alike():
    models = ensemble(mg)
    models[0][0].weight.requires_grad_(False)
    with pytest.raises(ValueError, match=r"0\.weight requires grad in some of the modules only"):
        func.stack_module_state(models)
    for model in models:
        model[0].weight.requires_grad_(False)
    stacked = func.stack_module_state(models)[0]
    assert [n for n, p in stacked.items() if not p.requires_grad] == ["0.weight"]
    for wrong, words in (
        ([], "at least one"),
        ([nn.ReLU(), nn.Tanh()], "of one class"),
        ([models[0], ensemble(mg)[0].train()], "training or all in evaluation"),
    ):
        with pytest.raises(ValueError, match=words):
            func.stack_module_state(wrong)
