"""The rarer functions of `nn.functional`, and the rarer arguments of the common ones, against
PyTorch: values, gradients, their gradients.
"""

# tables: one case a line

import math

import numpy as np
import pytest

import minigrad as mg
from minigrad.errors import BatchingError, DTypeError, InPlaceError, ShapeError
from minigrad.nn import functional as F
from tests.helpers.tables import in_one_test
from tests.helpers.torch_comparison import classes, normal, ranks
from tests.helpers.torch_comparison import functionals_agree as agree

SIGN = np.sign(normal(4, 5, seed=9))
SHARE = np.abs(normal(4, 5, seed=8)) % 1
VOLUME = normal(2, 3, 4, 5, 6)
LABELS = np.array([[3, 0, -1, 1, 2], [-1, 0, 1, 2, 3], [4, 3, 2, 1, 0], [1, -1, -1, -1, -1]])

CASES = {
    # losses
    "soft margin": (lambda F, x, t: F.soft_margin_loss(x, t.detach()), normal(4, 5), SIGN),
    "multi margin": (lambda F, x,
        t: [F.multi_margin_loss(x, t, p=2, margin=0.5),
            F.multi_margin_loss(x, t, reduction="none")], normal(4, 5), classes(5, 4)),
    "multi margin weights": (lambda F, x, t,
        w: F.multi_margin_loss(x, t, weight=w.detach(), reduction="sum"), normal(4, 5),
        classes(5, 4), np.abs(normal(5))),
    "multi margin one": (lambda F, x,
        t: [F.multi_margin_loss(x, t), F.multi_margin_loss(x, t.reshape(1), reduction="none")],
        normal(5), np.array(2)),
    "multilabel margin": (lambda F, x,
        t: [F.multilabel_margin_loss(x, t), F.multilabel_margin_loss(x, t, reduction="none")],
        normal(4, 5), LABELS),
    "multilabel margin one": (lambda F, x, t: F.multilabel_margin_loss(x, t), normal(5), LABELS[0]),
    "multilabel soft margin": (lambda F, x, t, w: F.multilabel_soft_margin_loss(x, t, w.detach()),
        normal(4, 5), SHARE, np.abs(normal(5))),
    "cosine embedding": (lambda F, x, y, t: F.cosine_embedding_loss(x, y, t.detach(), margin=0.1),
        normal(4, 5), normal(4, 5, seed=1), np.array([1.0, -1, 1, -1])),
    "triplet": (lambda F, x, y, z: F.triplet_margin_loss(x, y, z), normal(4, 5),
        normal(4, 5, seed=1), normal(4, 5, seed=2)),
    "triplet swapped": (lambda F, x, y,
        z: F.triplet_margin_loss(x, y, z, 2.0, 3.0, swap=True, reduction="none"), normal(4, 5),
        normal(4, 5, seed=1), normal(4, 5, seed=2)),
    "triplet distance": (
        lambda F, x, y, z: F.triplet_margin_with_distance_loss(x, y, z, distance_function=lambda a,
            b: (a - b).abs().sum(-1), margin=3.0),
        normal(4, 5), normal(4, 5, seed=1), normal(4, 5, seed=2),
    ),
    "poisson": (lambda F, x, t: [F.poisson_nll_loss(x, t.detach(), full=f) for f in (False, True)],
        normal(4, 5), ranks(4, 5)),
    "poisson rates": (lambda F, x,
        t: F.poisson_nll_loss(x * x + 0.1, t.detach(), log_input=False, reduction="sum"),
        normal(4, 5), ranks(4, 5)),
    "hinge of zero": (lambda F, x, t: F.hinge_embedding_loss(x, t, reduction="none"), normal(4, 5),
        classes(3, 4, 5) - 1),
    "linear and cross entropy": (
        lambda F, x, w, b, t,
        c: [F.linear_cross_entropy(x, w, t, linear_bias=b, weight=c.detach(), label_smoothing=0.1,
            reduction=r) for r in ("none", "sum", "mean")],
        normal(4, 3), normal(5, 3), normal(5), classes(5, 4), np.abs(normal(5)),
    ),
    "linear and cross entropy at places": (
        lambda F, x, w, b, t: F.linear_cross_entropy(x, w, t, linear_bias=b, ignore_index=1),
        normal(4, 3), normal(5, 2, 6, 3), normal(5, 2, 6), classes(5, 4, 2, 6),
    ),
    "linear and cross entropy of shares": (lambda F, x, w,
        t: F.linear_cross_entropy(x, w, t.detach()), normal(3), normal(5, 3), np.abs(normal(5))),
    # attention
    "heads": (
        lambda F, q, k, w, b, o,
        c: F.multi_head_attention_forward(q, k, k, 6, 2, w, b, None, None, False, 0.0, o, c),
        normal(3, 2, 6), normal(4, 2, 6), normal(18, 6), normal(18), normal(6, 6), normal(6),
    ),
    "heads with all": (
        lambda F, q, k, v, b, m, n, o, f, p, wq, wk, wv: F.multi_head_attention_forward(
            q, k, v, 6, 2, None, b, m, n, True, 0.9, o, None, False, p > 3, True,
            f.to(q.dtype) * -0.5, True, wq, wk, wv, average_attn_weights=False),
        normal(3, 2, 6), normal(4, 2, 5), normal(4, 2, 7), normal(18), normal(1, 1, 6),
        normal(1, 1, 6, seed=1), normal(6, 6), classes(3, 3, 4), classes(5, 2, 4),
        normal(6, 6, seed=1), normal(6, 5), normal(6, 7),
    ),
    "heads, one example": (
        lambda F, q, w, o: F.multi_head_attention_forward(q, q, q, 6, 3, w, None, None, None, False,
            0.0, o, None, need_weights=False), normal(3, 6), normal(18, 6), normal(6, 6),
    ),
    "heads that are given": (
        lambda F, q, w, o, k,
        v: F.multi_head_attention_forward(q, q, q, 6, 3, w, None, None, None, False, 0.0, o, None,
            static_k=k, static_v=v),
        normal(3, 2, 6), normal(18, 6), normal(6, 6), normal(6, 5, 2), normal(6, 5, 2, seed=1),
    ),
    # distances
    "cosine spread": (lambda F, x, y: F.cosine_similarity(x, y, dim=-2), normal(1, 2, 3),
        normal(2, 1, 3)),
    "normalize counted": (lambda F, x: F.normalize(x, p=0.0, dim=1).detach(), ranks(4, 5)),
    "pdist": (lambda F, x: [F.pdist(x), F.pdist(x, 1.0), F.pdist(x, math.inf)], normal(4, 3)),
    # activations, dropout
    "prelu of a number": (lambda F, x, w: F.prelu(x, w), np.array(-0.5), np.array([0.3])),
    "rrelu": (lambda F, x: F.rrelu(x, 0.1, 0.4), normal(4, 5)),
    "softmin dtype": (lambda F, x: F.softmin(x.float(), 1), normal(4, 5)),
    "hardtanh of integers": (lambda F, x: [F.hardtanh(x, -2, 1), F.relu6(x)], classes(20, 5) - 10),
    "no dropout": (lambda F,
        x: [F.alpha_dropout(x, 0.5), F.feature_alpha_dropout(x, 0.5, False),
            F.dropout3d(x, 0.5, False)], VOLUME),
    # normalisation
    "instance norm": (lambda F, x, w, b: F.instance_norm(x, weight=w, bias=b, eps=0.1),
        normal(2, 3, 4), normal(3), normal(3, seed=1)),
    "instance norm running": (lambda F, x, m,
        v: F.instance_norm(x, m.detach(), v.detach(), use_input_stats=False), normal(2, 3, 4),
        normal(3), np.abs(normal(3))),
    # pooling
    "max pool 3d": (lambda F,
        x: F.max_pool3d(x, (2, 3, 2), 2, (1, 1, 0), ceil_mode=True, return_indices=True), VOLUME),
    "avg pool 3d": (lambda F,
        x: [F.avg_pool3d(x, 2, 1, 1, count_include_pad=False),
            F.avg_pool3d(x, 3, (1, 2, 1), divisor_override=5)], VOLUME),
    "adaptive 3d": (lambda F,
        x: [F.adaptive_avg_pool3d(x, (3, None, 4)), F.adaptive_max_pool3d(x, 2)], VOLUME),
    "adaptive places": (lambda F, x: F.adaptive_max_pool2d(x, (3, 4), return_indices=True),
        normal(2, 7, 6)),
    "adaptive places 1d": (lambda F, x: F.adaptive_max_pool1d(x, 3, True), ranks(2, 3, 8)),
    "adaptive places 3d": (lambda F, x: F.adaptive_max_pool3d(x, (2, 3, 4), True), VOLUME),
    "unpool": (lambda F,
        x: F.max_unpool2d(*F.max_pool2d(x, 2, return_indices=True), 2, output_size=(5, 7)),
        normal(2, 3, 5, 7)),
    "unpool 1d": (lambda F,
        x: F.max_unpool1d(*F.max_pool1d(x, 3, 2, 1, return_indices=True), 3, 2, 1), normal(3, 7)),
    "unpool 3d": (lambda F, x: F.max_unpool3d(*F.max_pool3d(x, 2, return_indices=True), 2),
        normal(1, 2, 4, 4, 4)),
    "norm pool": (lambda F,
        x: [F.lp_pool1d(x[:, 0], 2, 3, 2), F.lp_pool2d(x, 3.0, (2, 3), ceil_mode=True)],
        np.abs(normal(2, 3, 5, 6))),
    "avg pool of integers": (lambda F, x: F.avg_pool1d(x, 3), classes(90, 2, 9)),
    "avg pool empty stride": (lambda F, x: F.avg_pool2d(x, 2, []), normal(1, 2, 4, 4)),
    # images
    "transposed 3d": (lambda F, x, w, b: F.conv_transpose3d(x, w, b, 2, 1, 1, 1, (1, 2, 1)),
        normal(1, 2, 3, 2, 3), normal(2, 3, 2, 3, 2), normal(3)),
    "pixels": (lambda F,
        x: [F.pixel_unshuffle(x, 2), F.pixel_shuffle(F.pixel_unshuffle(x[0], 2), 2)],
        normal(2, 3, 4, 6)),
    "channels": (lambda F, x: F.channel_shuffle(x, 3), normal(2, 6, 2, 2)),
    "channels of no image": (lambda F, x: F.channel_shuffle(x, 3), normal(0, 6, 2, 2)),
    "cosine with integers": (lambda F, x: F.cosine_similarity((x.detach() * 5).int(), x),
        normal(4, 3)),
    "upsample": (lambda F,
        x: [F.interpolate(x, scale_factor=2), F.interpolate(x, (5, 7), mode="area")],
        normal(1, 2, 3, 4)),
    "area 3d": (lambda F, x: F.interpolate(x, (2, 3, 3), mode="area"), VOLUME),
    "circular cut": (lambda F,
        x: [F.pad(x, (-1, 1, -2, 1), "circular"), F.pad(x[0], (2, -1), "circular")],
        normal(1, 3, 4, 4)),
    **{
        f"sampled {mode} {padding} {corners}": (
            lambda F, x, p, mode=mode, padding=padding,
            corners=corners: F.grid_sample(x, p, mode, padding, corners),
            normal(2, 3, 4, 5), normal(2, 3, 2, 2) * 1.5,
        )
        for mode in ("bilinear", "nearest", "bicubic") for padding in ("zeros", "border",
            "reflection") for corners in (True, False)
    },
    **{
        f"sampled volume {mode} {padding} {corners}": (
            lambda F, x, p, mode=mode, padding=padding,
            corners=corners: F.grid_sample(x, p, mode, padding, corners),
            normal(2, 2, 3, 4, 5), normal(2, 2, 3, 2, 3) * 1.5,
        )
        for mode in ("bilinear", "nearest") for padding in ("zeros", "border",
            "reflection") for corners in (True, False)
    },
    "affine places": (lambda F,
        t: [F.affine_grid(t, (2, 1, 3, 4), False), F.affine_grid(t, (2, 1, 3, 4), True)],
        normal(2, 2, 3)),
    "affine places in volumes": (lambda F,
        t: [F.affine_grid(t, (2, 1, 3, 4, 1), False), F.affine_grid(t, (2, 1, 3, 4, 1), True)],
        normal(2, 3, 4)),
    # embedding
    "embedding by frequency": (lambda F, w,
        i: F.embedding(i, w, scale_grad_by_freq=True, padding_idx=1), normal(5, 3), classes(4, 6)),
    **{
        f"bags {mode} {padding} {shape}": (
            lambda F, w, i, mode=mode, padding=padding,
            offsets=offsets: F.embedding_bag(i, w,
                offsets if offsets is None else w.new_tensor(offsets).long(), mode=mode,
                padding_idx=padding),
            ranks(5, 3), indices,
        )
        for mode in ("sum", "mean", "max") for padding in (None, 1, -2)
        for shape, offsets, indices in (("equal", None, classes(5, 4, 6)), ("none", None, classes(5,
            0, 6)), ("offsets", [0, 3, 3, 8], classes(5, 9)), ("one", [0], classes(5, 4)),
            ("empty", [0, 0], classes(5, 0)))
    },
    "bags weighed": (lambda F, w, i,
        s: F.embedding_bag(i, w, mode="sum", per_sample_weights=s, padding_idx=1), normal(5, 3),
        classes(5, 4, 6), normal(4, 6)),
    "bags weighed offsets": (lambda F, w, i, s,
        o: F.embedding_bag(i, w, o, mode="sum", per_sample_weights=s, padding_idx=0), normal(5, 3),
        classes(5, 9), normal(9), np.array([0, 0, 4])),
    "bags to the last": (lambda F, w, i,
        o: [F.embedding_bag(i, w, o, include_last_offset=True, mode=m) for m in ("sum", "mean",
            "max")], normal(5, 3), classes(5, 9), np.array([0, 2, 2, 9])),
    **{
        f"fractional {axes} {name} {dtype}": (
            lambda F, x, u, axes=axes,
            settings=settings: getattr(F, f"fractional_max_pool{axes}d")(x, **settings,
                return_indices=True, _random_samples=u.detach()),
            ranks(2, 3, *(9, 8, 7)[:axes]).astype(dtype),
            np.abs(normal(2, 3, axes)).astype(dtype) % 1,
        )
        for dtype in ("float64", "float32")
        for axes, name, settings in (
            (2, "size", {"kernel_size": 3, "output_size": 4}),
            (2, "sizes", {"kernel_size": (2, 3), "output_size": (7, 1)}),
            (2, "ratio", {"kernel_size": 2, "output_ratio": (0.5, 0.7)}),
            (3, "sizes", {"kernel_size": (2, 1, 3), "output_size": (4, 7, 4)}),
            (3, "ratio", {"kernel_size": 2, "output_ratio": 0.5}),
        )
    },
    "fractional single": (lambda F, x,
        u: F.fractional_max_pool2d(x, 2, 3, _random_samples=u.detach()), ranks(3, 6, 7),
        np.abs(normal(1, 3, 2)) % 1),
}  # fmt: skip


ONCE = {
    "multi margin", "multi margin weights", "multi margin one", "multilabel margin",
    "multilabel margin one", "pdist",
    "embedding by frequency", "heads, one example",
}  # fmt: skip
"""PyTorch has no second derivative of these; nor (as a zero is one) of values at the nearest
pixel.
"""


@in_one_test
@pytest.mark.oracle
@pytest.mark.parametrize("name", CASES)
def test_each_function_agrees_with_pytorch(torch, name):
    run, *arrays = CASES[name]
    agree(
        torch,
        run,
        *arrays,
        order=1 if name in ONCE or "nearest" in name or name.startswith("bags") else 2,
        tolerance=1e-6 if name == "softmin dtype" else 1e-9,
        # two windows put one element to one place: PyTorch's gradient counts it twice
        forward=name not in ("softmin dtype", "unpool 1d"),
    )


@pytest.mark.oracle
@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_connectionist_temporal_classification(torch, reduction):
    """From logits: PyTorch's gradient by log-probabilities is right only behind a log_softmax."""
    targets, times, sizes = classes(4, 3, 4) + 1, np.array([7, 6, 3]), np.array([4, 0, 3])
    for labels in (targets, np.concatenate([t[:n] for t, n in zip(targets, sizes, strict=True)])):
        agree(torch, lambda F, x, t, a,
            b: F.ctc_loss(F.log_softmax(x, -1), t, a, b, reduction=reduction, zero_infinity=True),
            normal(7, 3, 5), labels, times, sizes, order=1)  # fmt: skip
    one = lambda F, x, t, a, b: F.ctc_loss(F.log_softmax(x, -1), t, a, b, blank=2, reduction="sum")
    agree(torch, one, normal(7, 5), np.array([1, 1, 0]), np.array(7), np.array(3), order=1)
    impossible = mg.nn.functional.ctc_loss(
        mg.zeros(2, 1, 3).log_softmax(-1), mg.tensor([[1, 1]]), mg.tensor([2]), mg.tensor([2])
    )
    assert impossible.item() == math.inf  # two equal labels need a blank between them


@pytest.mark.oracle
@pytest.mark.parametrize("times, sizes", [([0, 0, 0], [0, 0, 0]), ([0, 2, 0], [1, 1, 0])])
def test_no_draws_give_the_empty_target_alone(torch, times, sizes):
    """ln 1 for the empty target, ln 0 for any other one."""
    labels = classes(4, 3, 2) + 1
    run = lambda F, x, t, a, b: F.ctc_loss(
        F.log_softmax(x, -1), t, a, b, reduction="none", zero_infinity=True
    )
    agree(torch, run, normal(2, 3, 5), labels, np.array(times), np.array(sizes), order=1)
    one = [mg.tensor(v) for v in (labels, times, sizes)]
    loss = F.ctc_loss(mg.zeros(2, 3, 5).log_softmax(-1), *one, reduction="none")
    expected = [math.inf if n and not t else 0 for t, n in zip(times, sizes, strict=True)]
    assert [v if v in (0, math.inf) else 0 for v in loss.tolist()] == expected


@pytest.mark.oracle
def test_running_statistics_of_instances(torch):
    x = normal(4, 3, 5)
    ours, theirs = (
        [mg.zeros(3).double(), mg.ones(3).double()],
        [torch.zeros(3).double(), torch.ones(3).double()],
    )
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
    np.testing.assert_allclose(
        ours.numpy(), theirs.numpy(), rtol=1e-6
    )  # the table itself has changed


@pytest.mark.oracle
@pytest.mark.parametrize("mode", ["sum", "mean"])
def test_bags_by_frequency(torch, mode):
    """A row's gradient is divided by how often it was chosen, as PyTorch's `embedding` does (its
    `embedding_bag` divides some rows by the
    count of another: 3 times row 3 beside 2 times row 1 gives 3/2).
    """
    ours, theirs = (
        mg.tensor(np.ones((5, 2)), requires_grad=True),
        torch.ones(5, 2).double().requires_grad_(),
    )
    index = [[0, 1, 2, 1], [2, 3, 3, 3]]
    F.embedding_bag(
        mg.tensor(index), ours, mode=mode, scale_grad_by_freq=True, padding_idx=0
    ).sum().backward()
    rows = torch.nn.functional.embedding(
        torch.tensor(index), theirs, scale_grad_by_freq=True, padding_idx=0
    )
    (rows.sum() if mode == "sum" else rows[0].sum() / 3 + rows[1].sum() / 4).backward()
    np.testing.assert_allclose(ours.grad.numpy(), theirs.grad.numpy(), rtol=1e-12)


@pytest.mark.oracle
def test_bags_with_a_longest_norm(torch):
    table, index = normal(5, 3) * 2, classes(4, 6)
    ours, theirs = mg.tensor(table), torch.tensor(table)
    y = F.embedding_bag(mg.tensor(index), ours, mg.tensor([0, 2]), max_norm=1.0, norm_type=1.0)
    z = torch.nn.functional.embedding_bag(
        torch.tensor(index), theirs, torch.tensor([0, 2]), max_norm=1.0, norm_type=1.0
    )
    np.testing.assert_allclose(y.numpy(), z.numpy(), rtol=1e-6)
    np.testing.assert_allclose(
        ours.numpy(), theirs.numpy(), rtol=1e-6
    )  # the table itself has changed


BAGS = {
    "equal": ({}, lambda: (normal(7, 3), classes(7, 3, 4, seed=2), None)),
    "offsets": ({}, lambda: (normal(7, 3), classes(7, 8, seed=2), np.array([0, 3, 3]))),
    "padding": (
        {"padding_idx": 2},
        lambda: (normal(7, 3), classes(7, 8, seed=2), np.array([0, 3, 3])),
    ),
}


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
@pytest.mark.parametrize("name", BAGS)
def test_bags_of_embeddings_work_in_every_mode_and_batch(name, mode):
    """Forward mode, second derivatives, batches of weights and of indices, recorded and static:
    all agree with one call.
    """
    settings, make = BAGS[name]
    w, index, offsets = (None if a is None else mg.tensor(a) for a in make())
    bags = lambda w, i=index, o=offsets: F.embedding_bag(i, w, o, mode=mode, **settings)
    loss = lambda w, *more: (bags(w, *more) ** 3).sum()
    gradient = mg.func.grad(loss)(w)
    direction = mg.tensor(normal(7, 3, seed=5))
    assert mg.func.jvp(loss, (w,), (direction,))[1].item() == pytest.approx(
        (gradient * direction).sum().item()
    )
    second = mg.func.jvp(mg.func.grad(loss), (w,), (direction,))[1]
    step = 1e-6 * direction
    np.testing.assert_allclose(
        second.numpy(),
        ((mg.func.grad(loss)(w + step) - mg.func.grad(loss)(w - step)) / 2e-6).numpy(),
        rtol=1e-6,
        atol=1e-6,
    )
    weights = mg.stack([w, -w])
    assert np.array_equal(
        mg.func.vmap(bags)(weights).numpy(), mg.stack([bags(w), bags(-w)]).numpy()
    )
    other = mg.tensor(classes(7, *index.shape, seed=9))
    each = mg.func.vmap(lambda i: bags(w, i))(mg.stack([index, other]))
    assert np.array_equal(each.numpy(), mg.stack([bags(w), bags(w, other)]).numpy())
    if offsets is not None:
        with pytest.raises(BatchingError, match="the same offsets"):
            mg.func.vmap(lambda o: bags(w, index, o))(mg.stack([offsets, offsets]))
    program = mg.graph.trace(mg.func.grad(loss), w)
    np.testing.assert_array_equal(program(-w).numpy(), mg.func.grad(loss)(-w).numpy())
    assert not program.decisions
    x = mg.graph.Variable("w", shape=(7, 3), dtype="float64")
    (slope,) = mg.graph.gradients(loss(x), [x])
    np.testing.assert_allclose(
        mg.graph.Executor([slope]).run({x: w.numpy()})[0], gradient.numpy(), rtol=1e-12
    )


def test_the_largest_of_a_bag_is_nan_where_one_is():
    w = mg.tensor([[math.nan, 1.0], [2.0, 3.0]], requires_grad=True)
    for y in (
        F.embedding_bag(mg.tensor([[1, 0]]), w, mode="max"),
        F.embedding_bag(mg.tensor([1, 0]), w, mg.tensor([0]), mode="max"),
    ):
        np.testing.assert_array_equal(y.detach().numpy(), [[math.nan, 3.0]])
        np.testing.assert_array_equal(
            mg.autograd.grad(y.sum(), w)[0].numpy(), [[1.0, 0.0], [0.0, 1.0]]
        )


def test_fractional_pooling_composes():
    """Each run of a recorded program draws its own windows too; batches, forward mode and
    second derivatives as one call.
    """
    x, u = mg.tensor(normal(2, 3, 6, 7)), mg.tensor(np.abs(normal(2, 3, 2)) % 1)
    pooled = lambda x, u=u: F.fractional_max_pool2d(x, 2, (3, 4), _random_samples=u)
    loss = lambda x, u=u: (pooled(x, u) ** 3).sum()
    gradient, direction = mg.func.grad(loss)(x), mg.tensor(normal(2, 3, 6, 7, seed=1))
    assert mg.func.jvp(loss, (x,), (direction,))[1].item() == pytest.approx(
        (gradient * direction).sum().item()
    )
    second = mg.func.jvp(mg.func.grad(loss), (x,), (direction,))[1]
    chosen = pooled(x)
    np.testing.assert_allclose(second.numpy(), (2 * gradient / x * direction).numpy(), rtol=1e-12)
    assert chosen.shape == (2, 3, 3, 4)
    batch, chances = mg.stack([x, -x]), mg.stack([u, 1 - u])
    each = mg.func.vmap(mg.func.grad(loss))(batch, chances)
    np.testing.assert_array_equal(
        each.numpy(), mg.stack([gradient, mg.func.grad(loss)(-x, 1 - u)]).numpy()
    )
    mg.manual_seed(0)
    program = mg.graph.trace(
        lambda x: F.fractional_max_pool2d(x, 2, (3, 4), return_indices=True), x
    )
    places = [program(x)[1] for _ in range(8)]
    assert not program.decisions and any((a != places[0]).any().item() for a in places)
    for y, place in (program(x) for _ in range(4)):
        assert np.array_equal(
            y.numpy(),
            x.reshape(2, 3, 42)[
                mg.arange(2)[:, None, None], mg.arange(3)[:, None], place.reshape(2, 3, 12)
            ]
            .reshape(2, 3, 3, 4)
            .numpy(),
        )
    drawn = F.fractional_max_pool3d(mg.tensor(normal(2, 3, 5, 6, 7)), 2, output_ratio=0.5)
    assert drawn.shape == (2, 3, 2, 3, 3) and drawn.dtype == mg.float64


@pytest.mark.oracle
def test_images_of_bytes(torch):
    """PyTorch rounds, and cuts to the range of a byte, after each axis: a step or (where bicubic
    overshoots) a few of brightness.
    """
    image = classes(256, 1, 2, 9, 8).astype("uint8")
    for mode, steps in (("bilinear", 1), ("bicubic", 4)):
        ours = F.interpolate(mg.tensor(image), (5, 13), mode=mode)
        theirs = torch.nn.functional.interpolate(torch.tensor(image), (5, 13), mode=mode)
        assert (
            ours.dtype == mg.uint8
            and abs(ours.numpy().astype(int) - theirs.numpy().astype(int)).max() <= steps
        )
    with pytest.raises(DTypeError, match="floating dtype or uint8"):
        F.interpolate(mg.tensor(image).long(), (5, 13), mode="bilinear")


INPLACE = (
    "relu relu6 leaky_relu elu selu celu silu mish hardtanh hardsigmoid hardswish rrelu".split()
)


@pytest.mark.parametrize("name", INPLACE)
def test_an_in_place_activation_writes_into_its_operand(name):
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
    assert (
        all(len(set(row)) == 1 for row in rows.reshape(-1, 6).tolist())
        and rows.unique().numel() == 2
    )
    assert not F.alpha_dropout(x, 1.0, True).any()


def test_drawing_a_class():
    mg.manual_seed(1)
    logits = mg.tensor([[0.0, 1.0, 2.0]] * 6000, requires_grad=True)
    hard = F.gumbel_softmax(logits, tau=0.5, hard=True)
    assert (hard.sum(1) == 1).all() and ((hard == 0) | (hard == 1)).all()
    np.testing.assert_allclose(
        hard.mean(0).detach().numpy(), mg.softmax(logits[0], -1).detach().numpy(), atol=0.03
    )
    (hard * mg.tensor([1.0, 2.0, 3.0])).sum().backward()
    assert logits.grad.abs().sum().item() > 0
    assert F.gumbel_softmax(logits, dim=0).sum(0).allclose(mg.ones(3), atol=1e-4)


@in_one_test
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
        (
            lambda x: F.max_unpool1d(x, mg.zeros(4, 5).long(), 2, output_size=(12,)),
            ShapeError,
            "by less than the stride",
        ),
        (lambda x: F.affine_grid(x, (4, 1, 2, 2)), ShapeError, "affine_grid: needs theta"),
        (
            lambda x: F.grid_sample(x[None, None], x[None, :, :, None]),
            ShapeError,
            "grid_sample: needs images",
        ),
        (
            lambda x: F.grid_sample(x[None, None], x[None, :, :2, None].transpose(2, 3), "area"),
            ValueError,
            "mode must be",
        ),
        (
            lambda x: F.grid_sample(x[None, None, None], x[None, None, :, None, :3], "bicubic"),
            ValueError,
            "not for volumes",
        ),
        (
            lambda x: F.grid_sample(
                x[None, None], x[None, :, :2, None].transpose(2, 3), "bicubic", "mirror"
            ),
            ValueError,
            "padding_mode",
        ),
        (
            lambda x: F.linear_cross_entropy(x, x[:, :3], mg.zeros(4).long()),
            ShapeError,
            "linear_weight",
        ),
        (
            lambda x: F.linear_cross_entropy(x, x, mg.zeros(4).long(), linear_bias=x),
            ShapeError,
            "linear_bias must have",
        ),
        (
            lambda x: F.linear_cross_entropy(x, x, x[:, :4], ignore_index=2),
            ValueError,
            "probabilities",
        ),
        (
            lambda x: F.multi_head_attention_forward(
                x, x, x, 4, 2, mg.zeros(12, 4).double(), None, None, None, False, 0.0, x, None
            ),
            ShapeError,
            "widths",
        ),
        (
            lambda x: F.multi_head_attention_forward(
                x, x, x, 5, 2, mg.zeros(15, 5).double(), None, None, None, False, 0.0, x, None
            ),
            ShapeError,
            "num_heads=2",
        ),
        (
            lambda x: F.multi_head_attention_forward(
                x,
                x,
                x,
                5,
                1,
                mg.zeros(15, 5).double(),
                None,
                None,
                None,
                False,
                0.0,
                x,
                None,
                is_causal=True,
            ),
            ValueError,
            "attn_mask",
        ),
        (
            lambda x: F.embedding_bag(mg.tensor([0, 9]), x, mg.tensor([0])),
            IndexError,
            "embedding_bag: index 9",
        ),
        (
            lambda x: F.embedding_bag(mg.tensor([0.0]), x, mg.tensor([0])),
            DTypeError,
            "embedding_bag: indices",
        ),
        (
            lambda x: F.embedding_bag(mg.tensor([0]), x, mg.tensor([0.0])),
            DTypeError,
            "embedding_bag: offsets",
        ),
        (lambda x: F.embedding_bag(mg.tensor([0]), x), ValueError, "need offsets"),
        (lambda x: F.embedding_bag(mg.tensor([[0]]), x, mg.tensor([0])), ValueError, "take none"),
        (
            lambda x: F.embedding_bag(mg.tensor([0, 1]), x, mg.tensor([1])),
            ValueError,
            "must begin with 0",
        ),
        (
            lambda x: F.embedding_bag(mg.tensor([0, 1]), x, mg.tensor([0, 2, 1])),
            ValueError,
            "ascend",
        ),
        (
            lambda x: F.embedding_bag(mg.tensor([0, 1]), x, mg.tensor([0, 3])),
            ValueError,
            "at most 2",
        ),
        (
            lambda x: F.embedding_bag(
                mg.tensor([0]), x, mg.tensor([]).long(), include_last_offset=True
            ),
            ShapeError,
            "bags",
        ),
        (lambda x: F.embedding_bag(mg.tensor(0), x), ShapeError, "needs indices"),
        (lambda x: F.embedding_bag(mg.tensor([[0]]), x[0]), ShapeError, "needs indices"),
        (lambda x: F.embedding_bag(mg.tensor([[0]]), x, mode="amax"), ValueError, "mode must be"),
        (
            lambda x: F.embedding_bag(mg.tensor([[0]]), x, mode="max", scale_grad_by_freq=True),
            ValueError,
            "scale_grad_by_freq",
        ),
        (lambda x: F.embedding_bag(mg.tensor([[0]]), x, sparse=True), NotImplementedError, "dense"),
        (
            lambda x: F.embedding_bag(mg.tensor([[0]]), x, padding_idx=4),
            IndexError,
            "padding_idx 4",
        ),
        (
            lambda x: F.embedding_bag(mg.tensor([[0]]), x, per_sample_weights=x[:1, :1]),
            NotImplementedError,
            "per_sample_weights",
        ),
        (
            lambda x: F.embedding_bag(mg.tensor([[0]]), x, mode="sum", per_sample_weights=x[0]),
            ShapeError,
            "shape of the indices",
        ),
        (
            lambda x: F.embedding_bag(
                mg.tensor([[0]]), x, mode="sum", per_sample_weights=x[:1, :1].float()
            ),
            DTypeError,
            "dtype of weight",
        ),
        (
            lambda x: F.fractional_max_pool2d(x, 2, 2),
            ShapeError,
            "fractional_max_pool2d: input must have 4",
        ),
        (lambda x: F.fractional_max_pool2d(x[None], 2), ValueError, "one of the two"),
        (lambda x: F.fractional_max_pool2d(x[None], 2, 2, 0.5), ValueError, "one of the two"),
        (
            lambda x: F.fractional_max_pool2d(x[None], 2, output_ratio=1.5),
            ValueError,
            "between 0 and 1",
        ),
        (
            lambda x: F.fractional_max_pool2d(x[None], 0, 2),
            ValueError,
            "kernel_size must be at least 1",
        ),
        (
            lambda x: F.fractional_max_pool2d(x[None], 2, output_ratio=0.1),
            ValueError,
            "output_size must be at least 1",
        ),
        (lambda x: F.fractional_max_pool2d(x[None], 3, 3), ShapeError, "at most the axis plus 1"),
        (lambda x: F.fractional_max_pool2d(x[None].long(), 2, 2), DTypeError, "floating"),
        (
            lambda x: F.fractional_max_pool2d(x[None], 2, 2, _random_samples=x),
            ShapeError,
            r"must have the shape \(1, 1, 2\)",
        ),
        (
            lambda x: F.ctc_loss(x.unsqueeze(1), mg.tensor([[1]]), mg.tensor([9]), mg.tensor([1])),
            ShapeError,
            "input_lengths must be 1 lengths from 0 to 4",
        ),
        (
            lambda x: F.ctc_loss(x.unsqueeze(1), mg.tensor([[1]]), [4.0], [1]),
            DTypeError,
            "input_lengths must be integers",
        ),
        (
            lambda x: F.ctc_loss(x.unsqueeze(1), mg.tensor([[1]]), [4], [-1]),
            ShapeError,
            "target_lengths must be 1 lengths from 0 to 1",
        ),
        (
            lambda x: F.ctc_loss(x.unsqueeze(1), mg.tensor([1, 2]), [4], [1]),
            ShapeError,
            "2 targets one after the other do not fit",
        ),
    ],
)
def test_bad_arguments_of_distances_and_unpooling_are_named(call, error, words):
    with pytest.raises(error, match=words):
        call(mg.tensor(normal(4, 5)))


@pytest.mark.parametrize("axes", [1, 2, 3])
def test_unpooling_of_an_empty_batch(axes):
    x = mg.zeros((0, 2, *[4] * axes), requires_grad=True)
    pooled, indices = getattr(F, f"max_pool{axes}d")(x, 2, return_indices=True)
    whole = getattr(F, f"max_unpool{axes}d")(pooled, indices, 2)
    whole.sum().backward()
    assert whole.shape == x.grad.shape == x.shape


@pytest.mark.oracle
@pytest.mark.parametrize("axes", [1, 2, 3])
def test_unpooling_layers_take_the_size_as_the_third_argument(torch, axes):
    x, size = normal(2, 3, *[5] * axes), (2, 3, *[5] * axes)
    found = []
    for lib in (mg, torch):
        pooled = getattr(lib.nn, f"MaxPool{axes}d")(2, return_indices=True)(lib.tensor(x))
        layer = getattr(lib.nn, f"MaxUnpool{axes}d")(2)
        found.append([layer(*pooled, size), layer(*pooled, output_size=size)])
    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_array_equal(ours.numpy(), theirs.numpy())
