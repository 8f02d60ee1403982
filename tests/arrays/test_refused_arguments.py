"""Arguments without meaning are refused, where a result would hide the mistake."""

import pytest

import minigrad as mg

REFUSED = {
    "imag of a real tensor": (lambda: mg.ones(2).imag, "imag: needs a complex tensor"),
    "imag of integers": (lambda: mg.imag(mg.tensor([1])), "imag: needs a complex tensor"),
    "unravel_index of fractions": (lambda: mg.unravel_index(mg.tensor([1.5]), (3, 2)), "integers"),
    "unravel_index, negative size": (lambda: mg.unravel_index(mg.tensor([1]), (3, -2)), "negative"),
    "flip without dimensions": (lambda: mg.ones(2).flip(), "name the dimensions"),
    "flipud of a number": (lambda: mg.flipud(mg.tensor(1.0)), "at least 1"),
    "fliplr of a vector": (lambda: mg.fliplr(mg.ones(3)), "at least 2"),
    "broadcast_shapes, negative": (lambda: mg.broadcast_shapes((2, -1), (1,)), "negative"),
    "H of a batch": (lambda: mg.ones(2, 3, 4).H, "H: needs a matrix"),
    "H of a vector": (lambda: mg.ones(2).H, "H: needs a matrix"),
    "gain of a boolean slope": (lambda: mg.nn.init.calculate_gain("leaky_relu", True), "slope"),
    "embedding in a vector": (
        lambda: mg.nn.functional.embedding(mg.tensor([0]), mg.ones(3)),
        "weight",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name):
    call, words = REFUSED[name]
    with pytest.raises((mg.AutogradError, ValueError, TypeError), match=words):
        call()


def test_the_accepted_neighbours():
    x = mg.ones(2, 3)
    assert x.flip(()).shape == (2, 3) and mg.fliplr(x).shape == (2, 3)
    assert mg.tensor(1 + 2j).H.item() == 1 - 2j and x.H.shape == (3, 2)
    assert mg.nn.init.calculate_gain("conv_transpose2d") == 1
