"""What a node is called: PyTorch's name, where one operation here is one operation there."""

# a table

import pytest

import minigrad as mg
from tests.helpers.tables import in_one_test

SAME = {
    "add": lambda m, x, y: x + y, "sub": lambda m, x, y: x - y, "mul": lambda m, x, y: x * y,
    "div": lambda m, x, y: x / y,
    "neg": lambda m, x, y: -x, "pow": lambda m, x, y: x**2, "pow of tensors": lambda m, x,
    y: x.abs() ** y, "square": lambda m, x, y: x.square(),
    "exp": lambda m, x, y: x.exp(), "log": lambda m, x, y: x.log(), "log1p": lambda m, x,
    y: x.log1p(), "sqrt": lambda m, x, y: x.sqrt(),
    "rsqrt": lambda m, x, y: x.rsqrt(), "abs": lambda m, x, y: x.abs(), "sin": lambda m, x,
    y: x.sin(), "tanh": lambda m, x, y: x.tanh(),
    "sigmoid": lambda m, x, y: x.sigmoid(), "relu": lambda m, x, y: x.relu(), "softmax": lambda m,
    x, y: x.softmax(-1),
    "log_softmax": lambda m, x, y: x.log_softmax(-1), "logsumexp": lambda m, x, y: x.logsumexp(-1),
    "clamp": lambda m, x, y: x.clamp(0, 1),
    "maximum": lambda m, x, y: m.maximum(x, y), "where": lambda m, x, y: m.where(x > 0, x, y),
    "clone": lambda m, x, y: x.clone(),
    "sum": lambda m, x, y: x.sum(), "sum of an axis": lambda m, x, y: x.sum(0), "mean": lambda m, x,
    y: x.mean(),
    "mean of an axis": lambda m, x, y: x.mean(-1, keepdim=True), "prod": lambda m, x, y: x.prod(),
    "prod of an axis": lambda m, x, y: x.prod(0),
    "sum of a number": lambda m, x, y: x[0, 0].sum(), "cumsum": lambda m, x, y: x.cumsum(0),
    "amax": lambda m, x, y: x.amax(0),
    "mm": lambda m, x, y: x @ y, "mv": lambda m, x, y: x @ y[0], "dot": lambda m, x, y: x[0] @ y[0],
    "bmm": lambda m, x, y: m.bmm(x[None], y[None]),
    "linear": lambda m, x, y: m.nn.functional.linear(x, y, y[0]), "view": lambda m, x, y: x.view(9),
    "reshape": lambda m, x, y: x.reshape(9),
    "flatten": lambda m, x, y: x.flatten(), "permute": lambda m, x, y: x.permute(1, 0),
    "expand": lambda m, x, y: x.expand(2, 3, 3),
    "cat": lambda m, x, y: m.cat([x, y]), "one row": lambda m, x, y: x[0], "rows": lambda m, x,
    y: x[1:], "column": lambda m, x, y: x[1:, 0],
    "an axis more": lambda m, x, y: x[None], "places": lambda m, x, y: x[[0, 1]], "to": lambda m, x,
    y: x.double(), "tril": lambda m, x, y: x.tril(),
    "conv2d": lambda m, x, y: m.nn.functional.conv2d(x[None, None], y[None, None]), "pad": lambda m,
    x, y: m.nn.functional.pad(x, (1, 1)),
    "inv": lambda m, x, y: m.linalg.inv(x), "det": lambda m, x, y: m.linalg.det(x),
    "in place": lambda m, x, y: x.clone().mul_(y),
}  # fmt: skip


@in_one_test
@pytest.mark.oracle
@pytest.mark.parametrize("name", SAME)
def test_names_are_pytorchs(torch, name):
    numbers = [[0.5, 1.2, 2.0], [0.3, -0.7, 0.7], [1.0, 0.2, -0.4]]
    ours, theirs = (
        SAME[name](
            m, m.tensor(numbers, requires_grad=True), m.tensor(numbers, requires_grad=True) * 1
        )
        for m in (mg, torch)
    )
    assert ours.grad_fn.name() == theirs.grad_fn.name()
