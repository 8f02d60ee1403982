"""The rarer functions of `nn.functional`, and the rarer arguments of the common ones, against PyTorch: values, gradients, their gradients."""

# ruff: noqa: E501  # tables: one case a line

import math

import numpy as np
import pytest
from torch_pairs import agree, classes, normal, ranks

import minigrad as mg
from minigrad.errors import DTypeError, InPlaceError, ShapeError
from minigrad.nn import functional as F

SIGN = np.sign(normal(4, 5, seed=9))
SHARE = np.abs(normal(4, 5, seed=8)) % 1
VOLUME = normal(2, 3, 4, 5, 6)
LABELS = np.array([[3, 0, -1, 1, 2], [-1, 0, 1, 2, 3], [4, 3, 2, 1, 0], [1, -1, -1, -1, -1]])

CASES = {
    # losses
    "soft margin": (lambda F, x, t: F.soft_margin_loss(x, t.detach()), normal(4, 5), SIGN),
    "multi margin": (lambda F, x, t: [F.multi_margin_loss(x, t, p=2, margin=0.5), F.multi_margin_loss(x, t, reduction="none")], normal(4, 5), classes(5, 4)),
    "multi margin weights": (lambda F, x, t, w: F.multi_margin_loss(x, t, weight=w.detach(), reduction="sum"), normal(4, 5), classes(5, 4), np.abs(normal(5))),
    "multi margin one": (lambda F, x, t: F.multi_margin_loss(x, t), normal(5), np.array(2)),
    "multilabel margin": (lambda F, x, t: [F.multilabel_margin_loss(x, t), F.multilabel_margin_loss(x, t, reduction="none")], normal(4, 5), LABELS),
    "multilabel margin one": (lambda F, x, t: F.multilabel_margin_loss(x, t), normal(5), LABELS[0]),
    "multilabel soft margin": (lambda F, x, t, w: F.multilabel_soft_margin_loss(x, t, w.detach()), normal(4, 5), SHARE, np.abs(normal(5))),
    "cosine embedding": (lambda F, x, y, t: F.cosine_embedding_loss(x, y, t.detach(), margin=0.1), normal(4, 5), normal(4, 5, seed=1), np.array([1.0, -1, 1, -1])),
    "triplet": (lambda F, x, y, z: F.triplet_margin_loss(x, y, z), normal(4, 5), normal(4, 5, seed=1), normal(4, 5, seed=2)),
    "triplet swapped": (lambda F, x, y, z: F.triplet_margin_loss(x, y, z, 2.0, 3.0, swap=True, reduction="none"), normal(4, 5), normal(4, 5, seed=1), normal(4, 5, seed=2)),
    "triplet distance": (
        lambda F, x, y, z: F.triplet_margin_with_distance_loss(x, y, z, distance_function=lambda a, b: (a - b).abs().sum(-1), margin=3.0),
        normal(4, 5), normal(4, 5, seed=1), normal(4, 5, seed=2),
    ),
    "poisson": (lambda F, x, t: [F.poisson_nll_loss(x, t.detach(), full=f) for f in (False, True)], normal(4, 5), ranks(4, 5)),
    "poisson rates": (lambda F, x, t: F.poisson_nll_loss(x * x + 0.1, t.detach(), log_input=False, reduction="sum"), normal(4, 5), ranks(4, 5)),
    "hinge of zero": (lambda F, x, t: F.hinge_embedding_loss(x, t, reduction="none"), normal(4, 5), classes(3, 4, 5) - 1),
    # distances
    "cosine spread": (lambda F, x, y: F.cosine_similarity(x, y, dim=-2), normal(1, 2, 3), normal(2, 1, 3)),
    "normalize counted": (lambda F, x: F.normalize(x, p=0.0, dim=1).detach(), ranks(4, 5)),
    "pdist": (lambda F, x: [F.pdist(x), F.pdist(x, 1.0), F.pdist(x, math.inf)], normal(4, 3)),
    # activations, dropout
    "prelu of a number": (lambda F, x, w: F.prelu(x, w), np.array(-0.5), np.array([0.3])),
    "rrelu": (lambda F, x: F.rrelu(x, 0.1, 0.4), normal(4, 5)),
    "softmin dtype": (lambda F, x: F.softmin(x.float(), 1), normal(4, 5)),
    "hardtanh of integers": (lambda F, x: [F.hardtanh(x, -2, 1), F.relu6(x)], classes(20, 5) - 10),
    "no dropout": (lambda F, x: [F.alpha_dropout(x, 0.5), F.feature_alpha_dropout(x, 0.5, False), F.dropout3d(x, 0.5, False)], VOLUME),
    # normalisation
    "instance norm": (lambda F, x, w, b: F.instance_norm(x, weight=w, bias=b, eps=0.1), normal(2, 3, 4), normal(3), normal(3, seed=1)),
    "instance norm running": (lambda F, x, m, v: F.instance_norm(x, m.detach(), v.detach(), use_input_stats=False), normal(2, 3, 4), normal(3), np.abs(normal(3))),
    # pooling
    "max pool 3d": (lambda F, x: F.max_pool3d(x, (2, 3, 2), 2, (1, 1, 0), ceil_mode=True, return_indices=True), VOLUME),
    "avg pool 3d": (lambda F, x: [F.avg_pool3d(x, 2, 1, 1, count_include_pad=False), F.avg_pool3d(x, 3, (1, 2, 1), divisor_override=5)], VOLUME),
    "adaptive 3d": (lambda F, x: [F.adaptive_avg_pool3d(x, (3, None, 4)), F.adaptive_max_pool3d(x, 2)], VOLUME),
    "adaptive places": (lambda F, x: F.adaptive_max_pool2d(x, (3, 4), return_indices=True), normal(2, 7, 6)),
    "adaptive places 1d": (lambda F, x: F.adaptive_max_pool1d(x, 3, True), ranks(2, 3, 8)),
    "adaptive places 3d": (lambda F, x: F.adaptive_max_pool3d(x, (2, 3, 4), True), VOLUME),
    "unpool": (lambda F, x: F.max_unpool2d(*F.max_pool2d(x, 2, return_indices=True), 2, output_size=(5, 7)), normal(2, 3, 5, 7)),
    "unpool 1d": (lambda F, x: F.max_unpool1d(*F.max_pool1d(x, 3, 2, 1, return_indices=True), 3, 2, 1), normal(3, 7)),
    "unpool 3d": (lambda F, x: F.max_unpool3d(*F.max_pool3d(x, 2, return_indices=True), 2), normal(1, 2, 4, 4, 4)),
    "norm pool": (lambda F, x: [F.lp_pool1d(x[:, 0], 2, 3, 2), F.lp_pool2d(x, 3.0, (2, 3), ceil_mode=True)], np.abs(normal(2, 3, 5, 6))),
    "avg pool of integers": (lambda F, x: F.avg_pool1d(x, 3), classes(90, 2, 9)),
    "avg pool empty stride": (lambda F, x: F.avg_pool2d(x, 2, []), normal(1, 2, 4, 4)),
    # images
    "transposed 3d": (lambda F, x, w, b: F.conv_transpose3d(x, w, b, 2, 1, 1, 1, (1, 2, 1)), normal(1, 2, 3, 2, 3), normal(2, 3, 2, 3, 2), normal(3)),
    "pixels": (lambda F, x: [F.pixel_unshuffle(x, 2), F.pixel_shuffle(F.pixel_unshuffle(x[0], 2), 2)], normal(2, 3, 4, 6)),
    "channels": (lambda F, x: F.channel_shuffle(x, 3), normal(2, 6, 2, 2)),
    "upsample": (lambda F, x: [F.interpolate(x, scale_factor=2), F.interpolate(x, (5, 7), mode="area")], normal(1, 2, 3, 4)),
    "area 3d": (lambda F, x: F.interpolate(x, (2, 3, 3), mode="area"), VOLUME),
    "circular cut": (lambda F, x: [F.pad(x, (-1, 1, -2, 1), "circular"), F.pad(x[0], (2, -1), "circular")], normal(1, 3, 4, 4)),
    **{
        f"sampled {mode} {padding} {corners}": (
            lambda F, x, p, mode=mode, padding=padding, corners=corners: F.grid_sample(x, p, mode, padding, corners),
            normal(2, 3, 4, 5), normal(2, 3, 2, 2) * 1.5,
        )
        for mode in ("bilinear", "nearest") for padding in ("zeros", "border", "reflection") for corners in (True, False)
    },
    "affine places": (lambda F, t: [F.affine_grid(t, (2, 1, 3, 4), False), F.affine_grid(t, (2, 1, 3, 4), True)], normal(2, 2, 3)),
    # embedding
    "embedding by frequency": (lambda F, w, i: F.embedding(i, w, scale_grad_by_freq=True, padding_idx=1), normal(5, 3), classes(4, 6)),
}  # fmt: skip


ONCE = {"multi margin", "multi margin weights", "multi margin one", "pdist", "embedding by frequency"}
"""PyTorch has no second derivative of these; nor (as a zero is one) of values at the nearest pixel."""


@pytest.mark.oracle
@pytest.mark.parametrize("name", CASES)
def test_against_pytorch(torch, name):
    run, *arrays = CASES[name]
    agree(torch, run, *arrays, order=1 if name in ONCE or "nearest" in name else 2, tolerance=1e-6 if name == "softmin dtype" else 1e-9)


@pytest.mark.oracle
@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_connectionist_temporal_classification(torch, reduction):
    """From logits: PyTorch's gradient by log-probabilities is right only behind a log_softmax."""
    targets, times, sizes = classes(4, 3, 4) + 1, np.array([7, 6, 3]), np.array([4, 0, 3])
    for labels in (targets, np.concatenate([t[:n] for t, n in zip(targets, sizes, strict=True)])):
        agree(torch, lambda F, x, t, a, b: F.ctc_loss(F.log_softmax(x, -1), t, a, b, reduction=reduction, zero_infinity=True), normal(7, 3, 5), labels, times, sizes, order=1)  # fmt: skip
    one = lambda F, x, t, a, b: F.ctc_loss(F.log_softmax(x, -1), t, a, b, blank=2, reduction="sum")
    agree(torch, one, normal(7, 5), np.array([1, 1, 0]), np.array(7), np.array(3), order=1)
    impossible = mg.nn.functional.ctc_loss(mg.zeros(2, 1, 3).log_softmax(-1), mg.tensor([[1, 1]]), mg.tensor([2]), mg.tensor([2]))
    assert impossible.item() == math.inf  # two equal labels need a blank between them


@pytest.mark.oracle
def test_running_statistics_of_instances(torch):
    x = normal(4, 3, 5)
    ours, theirs = [mg.zeros(3).double(), mg.ones(3).double()], [torch.zeros(3).double(), torch.ones(3).double()]
    F.instance_norm(mg.tensor(x), *ours, momentum=0.3)
    torch.nn.functional.instance_norm(torch.tensor(x), *theirs, momentum=0.3)
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-12)


@pytest.mark.oracle
def test_embedding_with_a_longest_norm(torch):
    table, index = normal(5, 3) * 2, classes(4, 6)
    ours, theirs = mg.tensor(table), torch.tensor(table)
    y = F.embedding(mg.tensor(index), ours, max_norm=1.0)
    z = torch.nn.functional.embedding(torch.tensor(index), theirs, max_norm=1.0)
    np.testing.assert_allclose(y.numpy(), z.numpy(), rtol=1e-6)
    np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-6)  # the table itself has changed


@pytest.mark.oracle
def test_images_of_bytes(torch):
    """PyTorch rounds, and cuts to the range of a byte, after each axis: a step or (where bicubic overshoots) a few of brightness."""
    image = classes(256, 1, 2, 9, 8).astype("uint8")
    for mode, steps in (("bilinear", 1), ("bicubic", 4)):
        ours = F.interpolate(mg.tensor(image), (5, 13), mode=mode)
        theirs = torch.nn.functional.interpolate(torch.tensor(image), (5, 13), mode=mode)
        assert ours.dtype == mg.uint8 and abs(ours.numpy().astype(int) - theirs.numpy().astype(int)).max() <= steps
    with pytest.raises(DTypeError, match="floating dtype or uint8"):
        F.interpolate(mg.tensor(image).long(), (5, 13), mode="bilinear")


INPLACE = "relu relu6 leaky_relu elu selu celu silu mish hardtanh hardsigmoid hardswish rrelu".split()


@pytest.mark.parametrize("name", INPLACE)
def test_in_place(name):
    leaf = mg.tensor(normal(3, 4), requires_grad=True)
    want = getattr(F, name)(leaf)
    (grad,) = mg.autograd.grad(want.sum(), leaf)
    x = leaf * 1.0
    y = getattr(F, name)(x, inplace=True)
    assert y is x
    np.testing.assert_array_equal(x.detach().numpy(), want.detach().numpy())
    np.testing.assert_array_equal(mg.autograd.grad(x.sum(), leaf)[0].numpy(), grad.numpy())
    with pytest.raises(InPlaceError, match="leaf"):
        getattr(F, name)(leaf, inplace=True)


def test_dropout_in_place_and_by_parts():
    x = mg.ones(40, 50)
    assert F.dropout(x, 0.5, inplace=True) is x and 0 < (x == 0).sum().item() < 2000
    whole = F.dropout3d(mg.ones(8, 20, 2, 3, 4), 0.5)
    assert {0.0, 48.0} == set(whole.sum((2, 3, 4)).reshape(-1).tolist())
    x = mg.randn(200, 300, dtype=mg.float64)
    y = F.alpha_dropout(x, 0.3, training=True)
    assert abs(y.mean().item()) < 0.02 and abs(y.std().item() - 1) < 0.02
    rows = F.feature_alpha_dropout(mg.zeros(50, 40, 6), 0.3, training=True)
    assert all(len(set(row)) == 1 for row in rows.reshape(-1, 6).tolist()) and rows.unique().numel() == 2
    assert not F.alpha_dropout(x, 1.0, True).any()


def test_drawing_a_class():
    mg.manual_seed(1)
    logits = mg.tensor([[0.0, 1.0, 2.0]] * 6000, requires_grad=True)
    hard = F.gumbel_softmax(logits, tau=0.5, hard=True)
    assert (hard.sum(1) == 1).all() and ((hard == 0) | (hard == 1)).all()
    np.testing.assert_allclose(hard.mean(0).detach().numpy(), mg.softmax(logits[0], -1).detach().numpy(), atol=0.03)
    (hard * mg.tensor([1.0, 2.0, 3.0])).sum().backward()
    assert logits.grad.abs().sum().item() > 0
    assert F.gumbel_softmax(logits, dim=0).sum(0).allclose(mg.ones(3), atol=1e-4)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda x: F.instance_norm(x), ShapeError, "one more axis"),
        (lambda x: F.instance_norm(x.reshape(4, 5, 1)), ValueError, "more than one spatial"),
        (lambda x: F.multi_margin_loss(x, mg.tensor([1, 2])), ShapeError, r"integers \(N,\)"),
        (lambda x: F.soft_margin_loss(x, x[0]), ShapeError, "same shape"),
        (lambda x: F.pdist(x[0]), ShapeError, "needs a matrix"),
        (lambda x: F.pixel_shuffle(x.reshape(5, 2, 2), 2), ShapeError, "channels"),
        (lambda x: F.pixel_unshuffle(x.unsqueeze(0), 3), ShapeError, "squares of 3"),
        (lambda x: F.channel_shuffle(x.unsqueeze(2), 2), ShapeError, "2 groups"),
        (lambda x: F.max_unpool1d(x, mg.zeros(4, 5).long() + 99, 2), IndexError, "out of range"),
        (lambda x: F.ctc_loss(x.unsqueeze(1), mg.tensor([[1]]), mg.tensor([9]), mg.tensor([1])), ShapeError, "at most 4"),
    ],
)
def test_mistakes(call, error, words):
    with pytest.raises(error, match=words):
        call(mg.tensor(normal(4, 5)))
