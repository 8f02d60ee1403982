"""Modules that hold others: what is in them is found, named, saved and printed as in PyTorch."""

import collections

import numpy as np
import pytest

import minigrad as mg
from minigrad import nn


def made(nn, tensor):
    """A module with every kind of container in it, in either library."""

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.ModuleDict(
                {"first": nn.Linear(2, 3), "second": nn.ModuleList([nn.ReLU(), nn.Linear(3, 1)])}
            )
            self.scales = nn.ParameterList(
                [nn.Parameter(tensor([1.0, 2.0])), nn.Parameter(tensor(3.0))]
            )
            self.shifts = nn.ParameterDict(
                {"left": nn.Parameter(tensor([0.5])), "right": nn.Parameter(tensor([1.5, 1.0]))}
            )
            self.layers["third"] = nn.Linear(1, 1)
            del self.layers["third"]
            self.layers["second"].extend([nn.Linear(1, 1)])
            self.layers["second"].insert(0, nn.Tanh())
            self.scales.append(nn.Parameter(tensor([4.0])))

    return Net()


@pytest.mark.oracle
def test_names_and_shapes_are_pytorchs(torch):
    ours, theirs = made(nn, mg.tensor), made(torch.nn, torch.tensor)
    shapes = {name: tuple(p.shape) for name, p in theirs.named_parameters()}
    assert {name: p.shape for name, p in ours.named_parameters()} == shapes
    assert list(ours.state_dict()) == list(theirs.state_dict())
    assert [name for name, _ in ours.named_modules()] == [
        name for name, _ in theirs.named_modules()
    ]


def test_they_behave_as_dictionaries_and_lists():
    layers = nn.ModuleDict({"a": nn.ReLU(), "b": nn.Linear(1, 1)})
    assert list(layers) == list(layers.keys()) == ["a", "b"] and "a" in layers and len(layers) == 2
    assert layers.pop("a") is not None and [name for name, _ in layers.items()] == ["b"]
    layers.update({"c": nn.Tanh()})
    assert isinstance(layers["c"], nn.Tanh)
    assert "c" in repr(layers)
    assert len(list(layers.values())) == 2
    parameters = nn.ParameterDict({"w": np.ones(2), "v": mg.ones(3, requires_grad=True)})
    assert parameters["w"].requires_grad
    assert parameters["w"].is_leaf
    assert "w: (2,)" in repr(parameters)
    weights = nn.ParameterList([mg.ones(2)])
    weights[0] = mg.zeros(3)
    weights.extend([mg.ones(1)])
    assert [p.shape for p in weights] == [(3,), (1,)] == [weights[0].shape, weights[1].shape]
    assert len(weights) == 2
    assert all(p.requires_grad for p in weights) and "(3,), (1,)" in repr(weights)


def test_a_state_goes_from_one_to_another(tmp_path):
    first, second = made(nn, mg.tensor), made(nn, mg.tensor)
    first.save(tmp_path / "state.npz")
    second.load(tmp_path / "state.npz")
    assert all(
        a.tolist() == b.tolist()
        for a, b in zip(first.parameters(), second.parameters(), strict=True)
    )


def test_hooks_of_parameters_outlive_a_conversion():
    layer, seen = mg.nn.Linear(2, 1), []
    layer.weight.register_hook(lambda g: seen.append(g.dtype))
    layer.weight.register_post_accumulate_grad_hook(lambda p: seen.append(p.grad.dtype))
    layer.double()
    layer(mg.ones(1, 2, dtype=mg.float64)).sum().backward()
    assert seen == [mg.float64, mg.float64] and layer.weight.grad.dtype == mg.float64


def test_a_dict_of_parameters_is_taken_in_the_order_of_its_names():
    """So that optimisers number parameters as in PyTorch; other mappings keep their order."""
    one = lambda: nn.Parameter(mg.ones(1))
    parameters = nn.ParameterDict({"b": one(), "a": one()})
    parameters.update({"d": one(), "c": one()})
    parameters.update(collections.OrderedDict(f=one(), e=one()))
    assert list(parameters) == list("abcdfe") == list(parameters.copy())


@pytest.mark.oracle
def test_joined_parameter_dictionaries_keep_their_order(torch):
    for lib in (mg, torch):
        make = lambda *names, lib=lib: lib.nn.ParameterDict([(n, lib.ones(1)) for n in names])
        joined = make("p10", "p2") | make("p9", "p2", "p1")
        assert [name for name, _ in joined.named_parameters()] == ["p10", "p2", "p9", "p1"]
