"""Functions of `nn.functional` and their arguments, a case a line, against PyTorch: values,
gradients, their gradients, tangents. Then what a table cannot say of the rarer ones.
"""

# tables: one case a line

import math
import re

import numpy as np
import pytest

import minigrad as mg
from minigrad.errors import BatchingError, InPlaceError
from minigrad.nn import functional as F
from tests.helpers.tables import in_one_test
from tests.helpers.torch_comparison import classes, normal, ranks
from tests.helpers.torch_comparison import functionals_agree as agree

SIGN = np.sign(normal(4, 5, seed=9))
SHARE = np.abs(normal(4, 5, seed=8)) % 1
VOLUME = normal(2, 3, 4, 5, 6)
LABELS = np.array([[3, 0, -1, 1, 2], [-1, 0, 1, 2, 3], [4, 3, 2, 1, 0], [1, -1, -1, -1, -1]])

CORNERS = np.array(
    [-1e4, -200.0, -7, -6, -3, -2.9, -1, -0.5, -0.0, 0, 0.5, 1, 2.5, 3, 6, 7, 200, 1e4]
)
SOFTMAXES = ("softmax", "log_softmax", "softmin")
WILD = np.array(
    [[1e4, -1e4, 0.0], [-math.inf, 0, 1], [-math.inf] * 3, [math.inf, 0, 1], [math.nan, 0, 1]]
)
POOLS = [
    (3, 1, 1, 1, False), (2, None, 0, 1, False), (3, 2, 1, 1, True), (3, 2, 1, 2, True),
    ((3, 2), (2, 1), (1, 0), 1, False), (2, 3, 0, 1, True),
]  # fmt: skip
ACTIVATIONS = {
    "relu": {}, "relu6": {}, "leaky_relu": {"negative_slope": 0.2}, "elu": {"alpha": 1.5},
    "selu": {}, "celu": {"alpha": 0.7}, "gelu": {}, "silu": {},
    "mish": {}, "softplus": {"beta": 2.0, "threshold": 5.0}, "logsigmoid": {}, "softsign": {},
    "tanhshrink": {}, "hardtanh": {"min_val": -2.5, "max_val": 1.0},
    "hardsigmoid": {}, "hardswish": {}, "softshrink": {"lambd": 0.5}, "hardshrink": {"lambd": 0.5},
    "sigmoid": {}, "tanh": {},
}  # fmt: skip
INDEX = np.array([[0, 2, 2], [4, 1, 2]])
SHIFTED = normal(4, 6, 3) + 2
TIED = ranks(4, 5), ranks(4, 5, seed=1)
BINARY, INSIDE = np.array([0.0, 1.0, 0.0, 1.0, 0.6, 1.0]), 1 / (1 + np.exp(-normal(6)))
SHARES = np.array([[0.0, 0.25, 0.75], [0.5, 0.5, 0.0]])
WEIGHED = normal(2, 3), normal(2, 3, seed=1), abs(normal(2, 3, seed=2))
QKV = normal(2, 3, 4, 5), normal(2, 3, 6, 5, seed=1), normal(2, 3, 6, 2, seed=2)
SEEN = np.random.default_rng(0).random((4, 6)) < 0.5
SEEN[2] = False

CASES = {
    # activations at kinks and at sizes at which an exponential overflows
    **{
        f"{name} at corners": (lambda F, x, name=name, o=options: getattr(F, name)(x, **o), CORNERS)
        for name, options in ACTIVATIONS.items()
    },
    **{
        f"{name} of float32": (lambda F, x, name=name, o=options: getattr(F, name)(x, **o),
            normal(5, dtype="float32"))
        for name, options in ACTIVATIONS.items()
    },
    **{
        f"{name} {shape}": (lambda F, x, name=name, dim=dim: getattr(F, name)(x, dim),
            normal(*shape))
        for name in SOFTMAXES
        for shape, dim in (((3, 4), 1), ((2, 9, 3), 1), ((2, 2, 3), -2), ((5,), 0), ((), 0),
            ((0, 3), 1), ((3, 0), 0), ((2, 3, 4), None), ((2, 1, 2, 3), None), ((4, 3), None))
    },
    **{f"wild {name}": (lambda F, x, name=name: getattr(F, name)(x, 1), WILD[:2])
        for name in SOFTMAXES},
    "wild values": (lambda F, x: [getattr(F, name)(x.detach(), 1) for name in SOFTMAXES], WILD),
    # linear maps, embedding
    "gelu tanh": (lambda F, x: F.gelu(x, approximate="tanh"), normal(5, 7)),
    "threshold at corners": (lambda F, x: F.threshold(x, 0.5, -2.0), CORNERS),
    "prelu at corners": (lambda F, x, w: F.prelu(x, w), CORNERS, normal(1)),
    **{
        f"linear {shape}": (lambda F, x, w, b: [F.linear(x, w, b), F.linear(x, w)], normal(*shape),
            normal(4, 3), normal(4)) for shape in ((5, 3), (2, 5, 3), (3,), (0, 3))
    },
    "linear float32": (lambda F, x, w, b: F.linear(x, w, b), normal(5, 3, dtype="float32"),
        normal(4, 3, dtype="float32"), normal(4, dtype="float32")),
    "embedding padded": (lambda F, i, w: [F.embedding(i, w, padding_idx=p) for p in (2, -1)],
        INDEX, normal(5, 3)),
    "one_hot": (lambda F, i: [F.one_hot(i, 6), F.one_hot(i)], INDEX),
    # normalisation
    "layer norm": (lambda F, x, w, b: F.layer_norm(x, (6, 3), w, b), SHIFTED, normal(6, 3),
        normal(6, 3)),
    "norms alone": (lambda F, x: [F.layer_norm(x, (3,)), F.instance_norm(x),
        F.local_response_norm(x, 3)], SHIFTED),
    "normalize": (lambda F, x: [F.normalize(x, p, 1) for p in (1.0, 2.0, 3.0, math.inf)], SHIFTED),
    "normalize zeros": (lambda F, x: F.normalize(x), np.zeros((2, 3))),
    # convolution
    **{
        f"conv{d}d {settings}": (
            lambda F, x, w, b, d=d, s=settings: getattr(F, f"conv{d}d")(x, w, b, *s),
            normal(3, 4, *size), normal(8, 4 // settings[3], *kernel), normal(8))
        for d, size, kernel in ((1, (11,), (3,)), (2, (9, 10), (3, 2)))
        for settings in ((1, 0, 1, 1), (1, 1, 1, 1), (1, 1, 1, 2), (2, 1, 1, 1), (2, 3, 2, 1),
            (1, 2, 2, 1), (2, 0, 3, 2), (3, 2, 1, 4), (1, "same", 1, 1), (1, "same", 3, 1),
            (1, "valid", 2, 4))
    },
    **{
        f"conv_transpose{d}d {settings}": (
            lambda F, x, w, b, d=d, s=settings: getattr(F, f"conv_transpose{d}d")(x, w, b, *s),
            normal(3, 4, *size), normal(4, 6 // settings[3], *kernel), normal(6))
        for d, size, kernel in ((1, (8,), (4,)), (2, (5, 6), (3, 4)))
        for settings in ((1, 0, 0, 1, 1), (2, 1, 1, 1, 1), (2, 0, 1, 2, 1), (1, 1, 1, 1, 2),
            (3, 2, 2, 1, 2), (1, 3, 0, 1, 1), (2, 1, 0, 2, 2))
    },
    # pooling: the first of equals gets the gradient, and overlapping windows add
    **{
        f"max pool {settings} {what}": (lambda F, x, s=settings: F.max_pool2d(x, *s), x)
        for settings in POOLS for what, x in (("ties", ranks(2, 3, 9, 8)),
            ("image", normal(3, 7, 9)), ("below zero", -ranks(2, 1, 6, 7) - 1),
            ("nothing", np.full((1, 1, 5, 5), -math.inf)))
    },
    **{
        f"max pool places {settings}": (lambda F, x, s=settings: F.max_pool2d(x, *s,
            return_indices=True), ranks(2, 3, 9, 8)) for settings in POOLS
    },
    **{
        f"pools 1d {settings}": (lambda F, x, s=settings: [F.max_pool1d(x, *s),
            *(F.avg_pool1d(x, *s[:3], s[4], i) for i in (True, False))], ranks(2, 3, 11))
        for settings in POOLS if isinstance(settings[0], int)
    },
    **{
        f"avg pool {settings} {include}": (lambda F, x, s=settings,
            i=include: [F.avg_pool2d(x, *s[:3], s[4], i),
                F.avg_pool2d(x, *s[:3], s[4], i, divisor_override=5)], normal(2, 3, 9, 8))
        for settings in POOLS for include in (True, False)
    },
    **{
        f"adaptive pools {size} {shape}": (lambda F, x, size=size: [F.adaptive_avg_pool2d(x, size),
            F.adaptive_max_pool2d(x, size)], ranks(*shape))
        for size in (1, 3, 9, (2, 5), (None, 4), (12, 1)) for shape in ((2, 3, 9, 8), (3, 9, 8))
    },
    "adaptive pools 1d": (lambda F, x: [f(x, size) for f in (F.adaptive_avg_pool1d,
        F.adaptive_max_pool1d) for size in (1, 3, 9)], ranks(2, 3, 10)),
    "conv2d apart": (lambda F, x, w: F.conv2d(x, w, stride=(1, 2), padding=(1, 0)),
        normal(2, 3, 5, 7), normal(4, 3, 3, 2)),
    "conv2d of one image": (lambda F, x, w: F.conv2d(x, w), normal(3, 5, 7), normal(4, 3, 3, 2)),
    "conv2d of no image": (lambda F, x, w: F.conv2d(x, w), normal(0, 3, 5, 7),
        normal(4, 3, 3, 2)),
    "conv3d padded": (lambda F, x, w: F.conv3d(x, w, padding=1), normal(2, 2, 4, 3, 4),
        normal(3, 2, 2, 2, 3)),
    "conv2d of many images": (lambda F, x, w: F.conv2d(x, w, padding=1), normal(70, 16, 20, 20),
        normal(8, 16, 3, 3)),
    "conv2d float32": (lambda F, x, w: F.conv2d(x, w, padding=1),
        normal(2, 3, 8, 8, dtype="float32"), normal(4, 3, 3, 3, dtype="float32")),
    **{
        f"columns {settings}": (
            lambda F, x, y, s=settings: [F.unfold(x, *s), F.fold(y, (9, 8), *s)],
            normal(2, 3, 9, 8), normal(2, 3 * size, count))
        for settings, size, count in (((3, 1, 0, 1), 9, 42), (((3, 2), 1, 1, 2), 6, 25),
            ((2, 2, (1, 0), (1, 2)), 4, 27))
    },
    # padding and resizing
    "pad": (lambda F, x: [F.pad(x, p, value=v) for p in ((1, 2), (1, 0, 0, 3), (-1, 2, 3, -2),
        (0, 0), (1, 1, 1, 1, 1, 1)) for v in (0, 2.5)], normal(2, 3, 5, 6)),
    "pad with infinity": (lambda F, x: F.pad(x, (1, 2), value=-math.inf), normal(2, 3, 5, 6)),
    "pad with elements": (lambda F, x: [F.pad(x, (1, 2, 4, 3), m) for m in ("reflect",
        "replicate", "circular")], normal(2, 3, 5, 6)),
    "nearest": (lambda F, x: [F.interpolate(x, mode=m, **s) for m in ("nearest", "nearest-exact")
        for s in ({"size": (10, 3)}, {"size": 7}, {"scale_factor": 2},
            {"scale_factor": (0.5, 1.7)})], normal(2, 3, 5, 6)),
    **{
        f"{mode} {settings} {corners}": (
            lambda F, x, m=mode, s=settings,
            c=corners: F.interpolate(x, mode=m, align_corners=c, **s), normal(*shape))
        for settings in ({"size": 9}, {"size": 1}, {"scale_factor": 2}, {"scale_factor": 0.6},
            {"scale_factor": 1.7, "recompute_scale_factor": True})
        for corners in (None, False, True)[: 2 if "recompute_scale_factor" in settings else 3]
        for mode, shape in (("linear", (2, 3, 5)), ("bilinear", (2, 3, 5, 6)),
            ("bicubic", (2, 3, 5, 6)), ("trilinear", (1, 2, 3, 4, 5)))
    },
    **{
        f"resized {settings}": (
            lambda F, x, s=settings: [F.interpolate(x, mode="bilinear", align_corners=True, **s),
                F.interpolate(x, mode="bicubic", **s), F.interpolate(x, mode="area", **s)],
            normal(2, 3, 5, 6))
        for settings in ({"size": (10, 3)}, {"scale_factor": (0.5, 1.7)})
    },
    "area of a line": (lambda F, x: F.interpolate(x, size=3, mode="area"), normal(2, 3, 5)),
    # losses by reduction
    **{
        f"{name} {reduction}": (lambda F, *x, f=f, r=reduction: f(F, *x, reduction=r), *arrays)
        for reduction in ("mean", "sum", "none") for name, f, *arrays in (
            ("mse", lambda F, x, t, **r: F.mse_loss(x, t, **r), *TIED),
            ("l1", lambda F, x, t, **r: F.l1_loss(x, t, **r), *TIED),
            ("smooth l1", lambda F, x, t, **r: F.smooth_l1_loss(x, t, beta=2.0, **r), *TIED),
            ("sharp l1", lambda F, x, t, **r: F.smooth_l1_loss(x, t, beta=0.0, **r), *TIED),
            ("huber", lambda F, x, t, **r: F.huber_loss(x, t, delta=2.0, **r), *TIED),
            ("gaussian nll", lambda F, x, t, v, **r: F.gaussian_nll_loss(x, t, v, **r), *TIED,
                abs(normal(4, 5)) + 0.1),
            ("hinge", lambda F, x, t, **r: F.hinge_embedding_loss(x, t.detach(), **r), TIED[0],
                np.sign(TIED[1] - 1.5)),
            ("ranking", lambda F, x, y, t, **r: F.margin_ranking_loss(x, y, t.detach(), margin=0.3,
                **r), TIED[0], TIED[1] + 0.1, np.sign(TIED[1] - 1.5)),
            ("bce at ends", lambda F, p, t, **r: F.binary_cross_entropy(p, t, **r),
                np.array([0.0, 0.0, 1.0, 1.0, 0.3, 1e-50]), BINARY),
            ("bce weighed", lambda F, p, t, w, **r: F.binary_cross_entropy(p, t, w.detach(), **r),
                INSIDE, BINARY, abs(normal(6))),
            ("bce", lambda F, p, t, **r: F.binary_cross_entropy(p, t.detach(), **r), INSIDE,
                BINARY),
            ("bce of logits far out", lambda F, x, t,
                **r: F.binary_cross_entropy_with_logits(x, t, **r),
                np.array([-1e4, -2.0, 0.0, 3.0, 1e4, 5.0]), BINARY),
            ("bce of logits", lambda F, x, t, w, **r: F.binary_cross_entropy_with_logits(x, t,
                pos_weight=w.detach(), **r), normal(4, 3), abs(normal(4, 3)), abs(normal(3))),
            ("weighed mse", lambda F, x, t, w, **r: F.mse_loss(x, t, weight=w, **r), *WEIGHED),
            ("weighed l1", lambda F, x, t, w, **r: F.l1_loss(x, t, weight=w, **r), *WEIGHED),
            ("weighed huber", lambda F, x, t, w, **r: F.huber_loss(x, t, weight=w, **r), *WEIGHED),
        )
    },
    **{
        f"kl_div {what} {reduction}": (
            lambda F, x, t, r=reduction, log=what == "of logarithms",
            known=what == "at zeros": F.kl_div(x, t.detach() if known else t, reduction=r,
                log_target=log), normal(2, 3), t)
        for reduction in ("mean", "sum", "none", "batchmean")
        for what, t in (("at zeros", SHARES), ("of both", SHARES + 0.1),
            ("of logarithms", normal(2, 3, seed=1)))
    },
    "cross entropy of nothing": (lambda F, x, t: F.cross_entropy(x, t), normal(3, 4),
        np.full(3, -100)),
    "cross entropy far out": (lambda F, x, t: F.cross_entropy(x, t),
        np.array([[1e4, -1e4], [-1e4, 1e4]]), np.array([1, 1])),
    "cross entropy float32": (lambda F, x, t: F.cross_entropy(x, t), normal(3, 4, dtype="float32"),
        classes(4, 3)),
    # attention
    "attention": (lambda F, q, k, v: [F.scaled_dot_product_attention(q, k, v, **o) for o in ({},
        {"is_causal": True}, {"scale": 0.3})], *QKV),
    "attention with numbers": (lambda F, q, k, v, m: F.scaled_dot_product_attention(q, k, v, m),
        *QKV, normal(4, 6, seed=3)),
    "attention with a mask": (lambda F, q, k, v, m: F.scaled_dot_product_attention(q, k, v, m),
        *QKV, SEEN),
    # six heads of the query share two of the key and three of the value
    "grouped heads": (lambda F, q, k, v: [F.scaled_dot_product_attention(q, k, v, enable_gqa=True),
        F.scaled_dot_product_attention(q, k, k, is_causal=True, enable_gqa=True)],
        normal(2, 6, 4, 5), normal(2, 2, 3, 5, seed=1), normal(2, 3, 3, 2, seed=2)),
    # pooling of volumes by norms, and with given samples
    **{
        f"norm pools {p}": (lambda F, x, p=p: [F.lp_pool3d(x, p, 2),
            F.lp_pool3d(x[0], p, (2, 1, 3), 2, ceil_mode=True), F.lp_pool1d(x[:, 0, 0], p, 2),
            F.lp_pool2d(x[0], p, 2)], abs(normal(2, 3, 5, 4, 6)))
        for p in (2.0, 3.0, math.inf, -math.inf)
    },
    "fractional of one volume": (lambda F, x,
        u: F.fractional_max_pool3d(x, 2, 3, _random_samples=u.detach()), normal(2, 8, 9, 7),
        np.random.default_rng(0).random((3, 2, 3))),
    # rarer losses
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


ONCE = re.compile(
    ".*nearest|.* (at corners|of float32)|wild|max pool places|multi margin|multilabel margin"
    "|pdist|embedding by frequency|heads, one example|bags"
    "|embedding padded|normalize|(hinge|ranking) (mean|sum|none)|kl_div at"
    "|bce (at|weighed|of logits far)|cross entropy|weighed|norm pools.*inf|conv2d of (no|many)"
    "|grouped heads|fractional of|attention with a mask|pad with infinity"
)
"""Names of those that PyTorch does not differentiate twice, or differentiates at kinks or infinity
to another choice or to NaN.
"""
TOLERANCE = {
    "softmin dtype": 1e-6, "linear float32": 1e-5, "conv2d float32": 1e-3,
    "cross entropy float32": 1e-6,
    # PyTorch keeps the constants of these in single precision
    **dict.fromkeys((f"{n} at corners" for n in ("hardsigmoid", "hardswish", "celu")), 1e-7),
    **{f"{name} of float32": 1e-6 for name in ACTIVATIONS},
    **{f"bce at ends {r}": 1e-8 for r in ("mean", "sum", "none")},  # its bound there is a float32
}  # fmt: skip
OTHER_TANGENTS = {"softmin dtype", "unpool 1d", "cross entropy of nothing"}
"""Where two windows put one element to one place PyTorch's gradient counts it twice; of no targets
the loss is NaN, and the gradient 0.
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
        order=1 if ONCE.match(name) else 2,
        tolerance=TOLERANCE.get(name, 1e-9),
        forward=name not in OTHER_TANGENTS,
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
    ours = [mg.zeros(3).double(), mg.ones(3).double()]
    theirs = [torch.zeros(3).double(), torch.ones(3).double()]
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
    # the table itself has changed
    np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-6)


@pytest.mark.oracle
@pytest.mark.parametrize("mode", ["sum", "mean"])
def test_bags_by_frequency(torch, mode):
    """A row's gradient is divided by how often it was chosen, as PyTorch's `embedding` does (its
    `embedding_bag` divides some rows by the
    count of another: 3 times row 3 beside 2 times row 1 gives 3/2).
    """
    ours = mg.tensor(np.ones((5, 2)), requires_grad=True)
    theirs = torch.ones(5, 2).double().requires_grad_()
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
    # the table itself has changed
    np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-6)


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
        assert ours.dtype == mg.uint8
        assert abs(ours.numpy().astype(int) - theirs.numpy().astype(int)).max() <= steps


INPLACE = (
    "relu relu6 leaky_relu elu selu celu silu mish hardtanh hardsigmoid hardswish rrelu".split()
)


@in_one_test
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
    assert all(len(set(row)) == 1 for row in rows.reshape(-1, 6).tolist())
    assert rows.unique().numel() == 2
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
