"""Functions that write at indices, recorded: they are no batches, though a recorded index
answers the engine's questions as one does.
"""

import numpy as np
import pytest

import minigrad as mg
from minigrad.program import trace

INDEX = {
    "scatter": lambda x, i: mg.scatter(x, 1, i, x.sin()),
    "scatter_add": lambda x, i: mg.scatter_add(x, 1, i, x.sin()),
    "scatter_reduce": lambda x, i: mg.scatter_reduce(x, 0, i % 2, x.sin(), "amax"),
    "scatter_reduce mean": lambda x, i: mg.scatter_reduce(
        x, 1, i, x.sin(), "mean", include_self=False
    ),
    "index_add": lambda x, i: mg.index_add(x, 1, i[0], x.cos()),
    "index_copy": lambda x, i: mg.index_copy(x, 1, i[0], x.cos()),
    "index_put": lambda x, i: mg.index_put(x, (i[:, 0] % 2, i[:, 1]), x[:, 2], accumulate=True),
    "put": lambda x, i: mg.put(x, i, x.exp(), True),
    "setitem": lambda x, i: _set(x.clone(), i),
}


def _set(x: mg.Tensor, index: mg.Tensor) -> mg.Tensor:
    x[:, index[1]] = 2.0
    return x


@pytest.mark.parametrize("made_inside", [False, True], ids=["given", "made inside"])
@pytest.mark.parametrize("name", INDEX)
def test_writing_at_an_index(name: str, made_inside: bool) -> None:
    """Values and gradients of the recording on other values are those of the call."""
    numbers = [[2, 0, 1], [1, 2, 0]]
    given = mg.tensor(numbers)

    def whole(x: mg.Tensor) -> list[mg.Tensor]:
        y = INDEX[name](x, mg.tensor(numbers) * 1 if made_inside else given)
        return [y, *mg.autograd.grad((y**2).sum(), [x])]

    def point(seed: int) -> mg.Tensor:
        return mg.tensor(np.random.default_rng(seed).standard_normal((2, 3)), requires_grad=True)

    program = trace(whole, point(1))
    for got, want in zip(program(point(2)), whole(point(2)), strict=True):
        assert np.array_equal(got.detach().numpy(), want.detach().numpy()), str(program)
