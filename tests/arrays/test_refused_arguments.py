"""Arguments without meaning are refused, where a result would hide the mistake."""

import numpy as np
import pytest

import minigrad as mg


def attend(**masks):
    """Attention of 3 queries and 6 keys in a batch of 5, with 2 heads."""
    keys = mg.ones(6, 5, 4)
    return mg.nn.MultiheadAttention(4, 2)(mg.ones(3, 5, 4), keys, keys, **masks)


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
    "narrow from a fraction": (
        lambda: mg.ones(4).narrow(0, 0.5, 1),
        "start and length must be whole",
    ),
    "narrow from a floating tensor": (
        lambda: mg.ones(4).narrow(0, mg.tensor(1.0), 1),
        "start and length must be whole",
    ),
    "a slice from a letter": (lambda: mg.ones(4)["a":], "slice is made of whole numbers or None"),
    "a slice with a fraction written": (
        lambda: mg.ones(4).__setitem__(slice(0.5), 1),
        "slice is made of whole numbers or None",
    ),
    "split into fractions": (lambda: mg.ones(4).split([1.5, 2.5]), "split: sizes must be whole"),
    "split by a letter": (lambda: mg.ones(4).split("a"), "split: sizes must be whole"),
    "chunk by a fraction": (lambda: mg.ones(4).chunk(1.5), "chunk: chunks must be whole"),
    "tensor_split at letters": (lambda: mg.ones(4).tensor_split([1, "a"]), "must be whole numbers"),
    "tensor_split at a table": (
        lambda: mg.ones(4).tensor_split(mg.tensor([[1]])),
        "must be whole numbers",
    ),
    "tensor_split by a fraction": (lambda: mg.ones(4).tensor_split(1.5), "must be whole numbers"),
    "a mask for one query": (lambda: attend(attn_mask=mg.ones(6)), r"attn_mask .* \(3, 6\) or"),
    "a mask of another batch": (
        lambda: attend(attn_mask=mg.ones(5, 3, 6)),
        r"attn_mask must have shape \(3, 6\) or \(10, 3, 6\), got \(5, 3, 6\)",
    ),
    "one padding for the batch": (
        lambda: attend(key_padding_mask=mg.ones(1, 6)),
        r"key_padding_mask must have shape \(5, 6\), got \(1, 6\)",
    ),
    "one_hot of -2 classes": (
        lambda: mg.nn.functional.one_hot(mg.tensor([0]), -2),
        "num_classes must be -1 or at least 0",
    ),
    "normal_, negative std": (lambda: mg.ones(2).normal_(0, -1), "std must be at least 0"),
    "normal, negative std": (lambda: mg.normal(0.0, -1.0, (2,)), "std must be at least 0"),
    "normal, a negative std of several": (
        lambda: mg.normal(0.0, mg.tensor([1.0, -1.0])),
        "no element of std may be negative",
    ),
    "uniform_ from above": (lambda: mg.ones(2).uniform_(3, 1), "high must be at least 3, got 1"),
    "exponential_": (lambda: mg.ones(2).exponential_(-1), "lambd must be larger than 0"),
    "cauchy_": (lambda: mg.ones(2).cauchy_(0, 0), "sigma must be larger than 0"),
    "log_normal_": (lambda: mg.ones(2).log_normal_(0, -1), "std must be larger than 0"),
    "isclose": (lambda: mg.isclose(mg.ones(1), mg.ones(1), rtol=-1), "rtol must be at least 0"),
    "allclose": (lambda: mg.allclose(mg.ones(1), mg.ones(1), atol=-1), "atol must be at least 0"),
    "cov, frequencies": (
        lambda: mg.cov(mg.ones(2), fweights=mg.tensor([1, -1])),
        "no element of fweights may be negative",
    ),
    "cov, weights": (
        lambda: mg.cov(mg.ones(2), aweights=mg.tensor([1.0, -1.0])),
        "no element of aweights may be negative",
    ),
    "gradient twice along one dimension": (
        lambda: mg.gradient(mg.ones(3, 3), dim=[1, -1]),
        "each dimension may be named once",
    ),
    "histc of NaN": (lambda: mg.histc(mg.tensor([1.0, float("nan")])), "the range must be finite"),
    "histc to infinity": (lambda: mg.histc(mg.tensor([1.0, float("inf")])), "must be finite"),
    "renorm of a vector": (lambda: mg.renorm(mg.ones(3), 2, 0, 1.0), "at least 2 dimensions"),
    "diff, negative order": (lambda: mg.diff(mg.ones(3), n=-1), "n must be at least 0"),
    "meshgrid of nothing": (lambda: mg.meshgrid(), "at least one tensor"),
    "a negative number of repeats": (
        lambda: mg.repeat_interleave(mg.ones(2), mg.tensor([1, -1])),
        "no number of repeats may be negative",
    ),
    "negative repeats of all": (lambda: mg.repeat_interleave(mg.ones(2), -1), "repeats must be"),
    "masked_fill with a complex number": (
        lambda: mg.ones(1).masked_fill(mg.tensor([True]), 1j),
        "a complex value cannot be written into float32",
    ),
    "linspace between vectors": (lambda: mg.linspace(mg.ones(2), 3, 4), "without axes"),
    "logspace between vectors": (lambda: mg.logspace(0, mg.ones(2), 4), "without axes"),
    "rrelu, slopes exchanged": (
        lambda: mg.nn.functional.rrelu(mg.ones(1), 0.3, 0.1),
        "upper must be at least 0.3",
    ),
    "hardtanh, ends exchanged": (
        lambda: mg.nn.functional.hardtanh(mg.ones(1), 2.0, 1.0),
        "max_val must be at least 2.0",
    ),
    "triplet loss without a margin": (
        lambda: mg.nn.functional.triplet_margin_loss(*[mg.ones(1, 2)] * 3, margin=-1.0),
        "margin must be larger than 0",
    ),
}

INTEGERS, SQUARE = mg.tensor([1, 2]), mg.tensor([[1, 2], [3, 4]])
FACTORS = {
    "add": lambda **k: mg.add(INTEGERS, INTEGERS, alpha=k["factor"]),
    "add_": lambda **k: INTEGERS.clone().add_(INTEGERS, alpha=k["factor"]),
    "sub": lambda **k: mg.sub(INTEGERS, 3, alpha=k["factor"]),
    "rsub": lambda **k: mg.rsub(INTEGERS, INTEGERS, alpha=k["factor"]),
    "addmm alpha": lambda **k: mg.addmm(SQUARE, SQUARE, SQUARE, alpha=k["factor"]),
    "addmm beta": lambda **k: mg.addmm(SQUARE, SQUARE, SQUARE, beta=k["factor"]),
    "addmv": lambda **k: mg.addmv(INTEGERS, SQUARE, INTEGERS, alpha=k["factor"]),
    "addr": lambda **k: mg.addr(SQUARE, INTEGERS, INTEGERS, alpha=k["factor"]),
    "addbmm": lambda **k: mg.addbmm(SQUARE, SQUARE[None], SQUARE[None], alpha=k["factor"]),
    "baddbmm": lambda **k: mg.baddbmm(SQUARE[None], SQUARE[None], SQUARE[None], beta=k["factor"]),
    "addcmul": lambda **k: mg.addcmul(INTEGERS, INTEGERS, INTEGERS, value=k["factor"]),
    "index_add": lambda **k: mg.index_add(INTEGERS, 0, INTEGERS - 1, INTEGERS, alpha=k["factor"]),
}


@pytest.mark.parametrize("name", FACTORS)
def test_factors_of_a_higher_kind_are_refused_and_integers_are_not(name):
    """PyTorch refuses 1.5 beside integers too, or counts it as 1 (addmm)."""
    for factor in (1.5, 1j, True, mg.tensor(1.5)):
        with pytest.raises(mg.errors.DTypeError, match="the operands are int64"):
            FACTORS[name](factor=factor)
    assert FACTORS[name](factor=2).dtype == mg.int64


def test_factors_of_floating_and_boolean_operands():
    ones, yes = mg.ones(2), mg.tensor([True, False])
    for factor in (1j, True):
        with pytest.raises(mg.errors.DTypeError, match="the operands are float32"):
            mg.add(ones, ones, alpha=factor)
    assert mg.add(INTEGERS, ones, alpha=0.5).tolist() == [1.5, 2.5]
    assert mg.add(INTEGERS, 2.5, alpha=0.5).tolist() == [2.25, 3.25]
    assert mg.add(ones + 0j, ones, alpha=1j).tolist() == [1 + 1j, 1 + 1j]
    assert mg.add(yes, yes, alpha=True).tolist() == [True, False]


def test_booleans_times_an_integer_stay_booleans(torch):
    for factor, other in ((0, [True, True]), (2, [True, False]), (2, True)):
        results = []
        for m in (torch, mg):
            yes, more = m.tensor([True, False]), other if other is True else m.tensor(other)
            sums = m.add(yes, more, alpha=factor), yes.clone().add_(more, alpha=factor)
            results += [(str(y.dtype).removeprefix("torch."), y.tolist()) for y in sums]
        assert results[0] == results[1] == results[2] == results[3] and results[0][0] == "bool"


ONES, WIDE, WHOLE = mg.ones(2, 2), mg.ones(2, 2, dtype=mg.float64), mg.ones(2, 2, dtype=mg.int64)
PRODUCTS = {
    "matmul": lambda a, b: a @ b,
    "mm": mg.mm,
    "mv": lambda a, b: mg.mv(a, b[0]),
    "dot": lambda a, b: mg.dot(a[0], b[0]),
    "bmm": lambda a, b: mg.bmm(a[None], b[None]),
    "addmm": lambda a, b: mg.addmm(a, a, b),
    "einsum": lambda a, b: mg.einsum("ij,jk->ik", a, b),
    "tensordot": lambda a, b: mg.tensordot(a, b, 1),
    "linear": mg.nn.functional.linear,
    "the bias of linear": lambda a, b: mg.nn.functional.linear(a, a, b[0]),
    "conv1d": lambda a, b: mg.nn.functional.conv1d(a[None], b[None]),
    "the bias of conv1d": lambda a, b: mg.nn.functional.conv1d(a[None], a[None], b[0, :1]),
    "conv_transpose1d": lambda a, b: mg.nn.functional.conv_transpose1d(a[None], b[:, None]),
    "prelu": lambda a, b: mg.nn.functional.prelu(a, b[0, :1]),
}


@pytest.mark.parametrize("name", PRODUCTS)
def test_products_of_mixed_dtypes_are_promoted(name):
    """Operands of different dtypes, which PyTorch refuses, are promoted as in a sum: nothing is
    lost, and a gradient has the dtype of its own tensor."""
    call = PRODUCTS[name]
    assert call(ONES, WIDE).dtype == call(WIDE, ONES).dtype == mg.float64
    assert call(ONES, WHOLE).dtype == mg.float32
    leaf = mg.ones(2, 2, requires_grad=True)
    call(leaf, WIDE * (1 / 3)).sum().backward()
    assert leaf.grad.dtype == mg.float32
    np.testing.assert_allclose(
        call(ONES, WIDE / 3).numpy(), call(WIDE, WIDE / 3).numpy(), rtol=1e-15, atol=0
    )


@pytest.mark.parametrize("name", REFUSED)
def test_what_pytorch_refuses_is_refused(name):
    call, words = REFUSED[name]
    with pytest.raises((mg.AutogradError, ValueError, TypeError), match=words):
        call()


def test_the_accepted_neighbours():
    x = mg.ones(2, 3)
    assert x.flip(()).shape == (2, 3) and mg.fliplr(x).shape == (2, 3)
    assert mg.tensor(1 + 2j).H.item() == 1 - 2j and x.H.shape == (3, 2)
    assert mg.nn.init.calculate_gain("conv_transpose2d") == 1
