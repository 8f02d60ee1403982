"""A 0-d parameter is trained as the one element of a vector: NumPy's scalars hold no memory."""

import numpy as np
import pytest

import minigrad as mg
from tests.helpers.tables import in_one_test

SETTINGS = [
    ("SGD", {"momentum": 0.9, "weight_decay": 0.1}),
    ("SGD", {"momentum": 0.9, "weight_decay": 0.1, "nesterov": True}),
    ("SGD", {"momentum": 0.9, "maximize": True}),
    ("Adam", {"weight_decay": 0.1, "amsgrad": True}),
    ("AdamW", {"maximize": True}),
    ("RMSprop", {"weight_decay": 0.1, "centered": True, "momentum": 0.5}),
    ("Adagrad", {"weight_decay": 0.1}),
    ("Adadelta", {"weight_decay": 0.1}),
    ("Adamax", {"weight_decay": 0.1}),
    ("NAdam", {"weight_decay": 0.1}),
    ("RAdam", {"weight_decay": 0.1}),
    ("ASGD", {"weight_decay": 0.1}),
    ("Rprop", {"maximize": True}),
]


@in_one_test
@pytest.mark.parametrize("dtype", [mg.float32, mg.float64, mg.complex64], ids=str)
@pytest.mark.parametrize(("name", "settings"), SETTINGS)
def test_a_0d_parameter_is_trained_as_a_vector_of_one(name, settings, dtype):
    results = []
    for shape in ((), (1,)):
        p = mg.full(shape, 0.7, dtype=dtype).requires_grad_()
        optimizer = getattr(mg.optim, name)([p], lr=0.05, **settings)
        for _ in range(5):
            optimizer.zero_grad()
            (p * p.conj() * 3 + p).abs().sum().backward()
            optimizer.step()
        results.append(p.detach().numpy().reshape(()))
    np.testing.assert_allclose(*results, rtol=1e-6)
