"""Optimisers take a complex parameter as its real and imaginary parts, as PyTorch does."""

import itertools

import numpy as np
import pytest

import minigrad as mg
from tests.helpers.tables import in_one_test

NAMES = [
    "SGD",
    "Adam",
    "AdamW",
    "RMSprop",
    "Adagrad",
    "Adadelta",
    "Adamax",
    "NAdam",
    "RAdam",
    "ASGD",
    "Rprop",
]
SETTINGS = {
    "SGD": {"momentum": 0.9, "weight_decay": 0.1},
    "RMSprop": {"centered": True, "momentum": 0.5},
    "Adam": {"amsgrad": True},
}


def _trained(lib, name, start, parts=False, wrap=lambda f: f):
    z = lib.tensor(start, dtype=lib.complex128).requires_grad_(not parts)
    params = [p.clone().detach().requires_grad_() for p in (z.real, z.imag)] if parts else [z]
    optimizer = getattr(lib.optim, name)(params, lr=0.01, **SETTINGS.get(name, {}))

    def loss():
        optimizer.zero_grad()
        w = lib.complex(*params) if parts else z
        value = ((w * w * w - 1).abs() ** 2).sum()
        value.backward()
        return value

    def step():
        if name != "LBFGS":
            loss()
        optimizer.step(*[loss] * (name == "LBFGS"))

    step = wrap(step)
    for _ in range(8):
        step()
    return (lib.complex(*params) if parts else z).detach().numpy()


STARTS = {
    "0-d": 1.2 - 0.3j,
    "empty": np.zeros((0, 2)),
    "matrix": np.array([[1.2 - 0.3j, 0.4 + 0.7j], [1j, 2.0]]),
}


@in_one_test
@pytest.mark.oracle
@pytest.mark.parametrize(
    "name, start",
    [*itertools.product(NAMES, STARTS), ("LBFGS", "0-d"), ("LBFGS", "matrix")],
)
def test_a_complex_parameter_is_trained_as_in_pytorch(torch, name, start):
    values = STARTS[start]
    np.testing.assert_allclose(
        _trained(mg, name, values), _trained(torch, name, values), rtol=1e-6, atol=1e-12
    )


@in_one_test
@pytest.mark.parametrize("name", [*NAMES, "LBFGS"])
def test_a_complex_parameter_is_trained_as_its_two_parts(name):
    values = STARTS["matrix"]
    np.testing.assert_allclose(
        _trained(mg, name, values), _trained(mg, name, values, parts=True), rtol=1e-9
    )


@pytest.mark.filterwarnings("ignore:compiled")
@pytest.mark.parametrize("name", ["SGD", "Adam"])
def test_a_compiled_step_trains_a_complex_parameter(name):
    values = STARTS["matrix"]
    np.testing.assert_array_equal(
        _trained(mg, name, values, wrap=mg.compile), _trained(mg, name, values)
    )


def test_a_transposed_complex_parameter_is_changed_in_its_own_memory():
    memory = mg.tensor([[1 + 1j, 2], [3, 4j]])
    parameter = memory.t().detach().requires_grad_()
    parameter.grad = mg.ones(2, 2, dtype=mg.complex64) * 1j
    mg.optim.Adam([parameter], lr=0.5).step()
    expected = [[1 + 0.5j, 2 - 0.5j], [3 - 0.5j, 3.5j]]
    np.testing.assert_allclose(memory.numpy(), expected, rtol=1e-6)
