"""NaN, infinity and sizes of zero where PyTorch has an answer: known results, in every dtype."""

import math

import numpy as np
import pytest

import minigrad as mg
from minigrad.nn import functional as F

nan, inf = math.nan, math.inf


def same(found, wanted):
    np.testing.assert_array_equal(np.asarray(found.tolist()), np.asarray(wanted))


@pytest.fixture(params=["float16", "float32", "float64", "bfloat16"])
def dtype(request):
    if request.param == "bfloat16":
        pytest.importorskip("ml_dtypes")
    return getattr(mg, request.param)


def test_nan_is_the_largest_in_every_order(dtype):
    x = mg.tensor([nan, inf, 1.0, 0.0, -1.0, -inf], dtype=dtype)
    same(mg.sort(x)[0], [-inf, -1, 0, 1, inf, nan])
    same(mg.sort(x, descending=True)[0], [nan, inf, 1, 0, -1, -inf])
    same(mg.argsort(x), [5, 4, 3, 2, 1, 0])
    same(mg.topk(x, 2, largest=False)[0], [-inf, -1])
    same(mg.topk(x, 2)[0], [nan, inf])
    same(mg.kthvalue(x, 6)[0], nan)
    same(mg.median(mg.tensor([nan, 1.0, 2.0], dtype=dtype)), nan)
    same(mg.unique(mg.tensor([nan, 1.0, nan], dtype=dtype)), [1.0, nan, nan])
    edges = mg.tensor([0.0, 1.0, inf], dtype=dtype)
    same(mg.searchsorted(edges, mg.tensor([0.5, nan, -inf], dtype=dtype)), [1, 3, 0])


def test_nansum_has_the_requested_dtype():
    x = mg.full((1000,), 100, dtype=mg.int8)
    for wanted, value in ((mg.int8, -96), (mg.uint8, 160), (mg.int32, 100000)):
        found = mg.nansum(x, dtype=wanted)
        assert found.dtype == wanted and found.item() == value
    assert mg.nansum(x).dtype == mg.int64
    found = mg.nansum(mg.tensor([nan, 1.0]), dtype=mg.float64)
    assert found.dtype == mg.float64 and found.item() == 1.0


def test_a_central_difference_does_not_read_its_middle():
    (found,) = mg.gradient(mg.tensor([nan, 1.0, inf, 2.0, 4.0]))
    same(found, [nan, nan, 0.5, -inf, 2.0])
    (found,) = mg.gradient(mg.tensor([1.0, 4.0, 9.0]), spacing=0.5)
    same(found, [6.0, 8.0, 10.0])


def test_the_nearest_pixel_of_no_place_is_padding():
    grid = mg.tensor([[[[nan, 0.0], [0.0, inf], [0.0, 0.0]]]], requires_grad=True)
    found = F.grid_sample(mg.ones(1, 1, 3, 3), grid, mode="nearest", align_corners=False)
    same(found.detach().flatten(), [0.0, 0.0, 1.0])
    found.sum().backward()
    same(grid.grad.flatten(), [0.0] * 6)


def test_reversed_gives_a_tensor():
    same(reversed(mg.arange(6).reshape(2, 3)), [[3, 4, 5], [0, 1, 2]])
    x = mg.tensor(3.0)
    assert reversed(x) is x


@pytest.mark.parametrize("cell", ["RNNCell", "GRUCell", "LSTMCell"])
def test_cells_without_hidden_values(cell):
    layer = getattr(mg.nn, cell)(10, 0)
    found = layer(mg.ones(3, 10))
    assert (found[0] if isinstance(found, tuple) else found).shape == (3, 0)


def test_no_rows_to_draw_from():
    assert mg.multinomial(mg.ones(0, 4), 2).shape == (0, 2)
