"""Second derivatives of all functions of nn.functional, against PyTorch in float64.

Each function is given random inputs; its result is multiplied by fixed weights and summed, the
gradient is taken with create_graph, and the gradient of the gradients' weighted sum is compared:
whether it exists, and its values.
"""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minigrad as mg
from minigrad.nn import functional
from tests.helpers.tables import in_one_test

Call = Callable[..., Any]
"""(F, module, *tensors) to a result: `module` is minigrad or torch, `F` its nn.functional."""


def case(*shapes: tuple[int, ...], low: float = -2.0, high: float = 2.0) -> Callable[[Call], Any]:
    return lambda call: (call, shapes, low, high)


V, M, C1, C2, C3 = (6,), (3, 4), (2, 3, 6), (2, 3, 6, 5), (1, 2, 4, 5, 4)


def simple(
    shape: tuple[int, ...], *args: Any, low: float = -2.0, high: float = 2.0, **kw: Any
) -> Any:
    """The function of the case's own name with further arguments."""
    return None, (shape,), low, high, args, kw


def labels(m: Any, *values: int) -> Any:
    return m.tensor(list(values))


def signs(m: Any, n: int) -> Any:
    return m.tensor([1.0 if i % 2 else -1.0 for i in range(n)], dtype=m.float64)


def found(F: Any, name: str, x: Any, size: Any) -> Any:
    """Unpooling of what a pooling found."""
    axes = name[-2]
    pooled, indices = getattr(F, f"max_pool{axes}d")(x, size, return_indices=True)
    return getattr(F, name)(pooled, indices, size)


def attention(F: Any, m: Any, q: Any, k: Any, v: Any, w: Any, o: Any) -> Any:
    return F.multi_head_attention_forward(
        q, k, v, 4, 2, w, None, None, None, False, 0.0, o, None, need_weights=False
    )[0]


CASES: dict[str, Any] = {
    **{
        name: simple(M)
        for name in """celu celu_ elu elu_ gelu hardshrink hardswish hardtanh hardtanh_ leaky_relu
        leaky_relu_ logsigmoid mish relu relu6 relu_ selu selu_ sigmoid silu softplus softshrink
        softsign tanh tanhshrink""".split()
    },
    **{name: simple(M, -1) for name in ("log_softmax", "softmax", "softmin", "glu")},
    "hardsigmoid": simple(M),
    "logsumexp": case(M)(lambda F, m, x: m.logsumexp(x, -1)),
    **{name: simple(M, training=False) for name in ("dropout", "alpha_dropout", "rrelu", "rrelu_")},
    **{
        f"adaptive_{kind}_pool{d}d": simple(shape, 2)
        for kind in ("avg", "max")
        for d, shape in ((1, C1), (2, C2), (3, C3))
    },
    **{
        f"{kind}_pool{d}d": simple(shape, 2)
        for kind in ("avg", "max")
        for d, shape in ((1, C1), (2, C2), (3, C3))
    },
    **{f"lp_pool{d}d": simple(shape, 3.0, 2, low=0.3) for d, shape in ((1, C1), (2, C2), (3, C3))},
    **{
        f"max_unpool{d}d": case(shape)(lambda F, m, x, d=d: found(F, f"max_unpool{d}d", x, 2))
        for d, shape in ((1, C1), (2, (1, 2, 4, 4)), (3, (1, 1, 4, 2, 4)))
    },
    **{
        f"conv{d}d": case(shape, (2, 3 if d < 3 else 2, *[2] * d), (2,))(
            lambda F, m, x, w, b, d=d: getattr(F, f"conv{d}d")(x, w, b)
        )
        for d, shape in ((1, C1), (2, C2), (3, C3))
    },
    **{
        f"conv_transpose{d}d": case(shape, (3 if d < 3 else 2, 2, *[2] * d), (2,))(
            lambda F, m, x, w, b, d=d: getattr(F, f"conv_transpose{d}d")(x, w, b)
        )
        for d, shape in ((1, C1), (2, C2), (3, C3))
    },
    **{f"dropout{d}d": simple(shape, training=False) for d, shape in ((1, C1), (2, C2), (3, C3))},
    "feature_alpha_dropout": simple(C2, training=False),
    "affine_grid": simple((1, 2, 3), [1, 1, 2, 3], align_corners=False),
    "batch_norm": case(C1, (3,), (3,))(
        lambda F, m, x, w, b: F.batch_norm(x, None, None, w, b, training=True)
    ),
    "bilinear": case(M, (3, 2), (5, 4, 2), (5,))(lambda F, m, a, b, w, c: F.bilinear(a, b, w, c)),
    "binary_cross_entropy": case(M, M, low=0.1, high=0.9)(
        lambda F, m, x, y: F.binary_cross_entropy(x, y.detach())
    ),
    "binary_cross_entropy_with_logits": case(M, M)(
        lambda F, m, x, y: F.binary_cross_entropy_with_logits(x, y)
    ),
    "channel_shuffle": simple((1, 4, 2, 2), 2),
    "cosine_embedding_loss": case(M, M)(
        lambda F, m, a, b: F.cosine_embedding_loss(a, b, signs(m, 3), 0.1)
    ),
    "cosine_similarity": case(M, M)(lambda F, m, a, b: F.cosine_similarity(a, b)),
    "cross_entropy": case(M)(
        lambda F, m, x: F.cross_entropy(x, labels(m, 0, 2, 3), label_smoothing=0.1)
    ),
    "ctc_loss": case((5, 2, 4))(
        lambda F, m, x: F.ctc_loss(
            F.log_softmax(x, -1), m.tensor([[1, 2], [3, 3]]), labels(m, 5, 5), labels(m, 2, 2)
        )
    ),
    "embedding": case(M)(lambda F, m, w: F.embedding(labels(m, 0, 2, 0), w)),
    "embedding_bag": case(M, (2, 2))(
        lambda F, m, w, s: F.embedding_bag(
            m.tensor([[0, 1], [2, 1]]), w, per_sample_weights=s, mode="sum"
        )
    ),
    "fold": simple((1, 8, 4), (3, 3), (2, 2)),
    "unfold": simple(C2, 2),
    "gaussian_nll_loss": case(M, M, M, low=0.3)(lambda F, m, x, y, v: F.gaussian_nll_loss(x, y, v)),
    "grid_sample": case((1, 2, 4, 4), (1, 3, 3, 2), low=-0.9, high=0.9)(
        lambda F, m, x, g: F.grid_sample(x, g, align_corners=True)
    ),
    "group_norm": case((2, 4, 3), (4,), (4,))(lambda F, m, x, w, b: F.group_norm(x, 2, w, b)),
    "hinge_embedding_loss": case(V)(lambda F, m, x: F.hinge_embedding_loss(x, signs(m, 6))),
    "huber_loss": case(M, M)(lambda F, m, a, b: F.huber_loss(a, b)),
    "smooth_l1_loss": case(M, M)(lambda F, m, a, b: F.smooth_l1_loss(a, b)),
    "instance_norm": case(C1, (3,), (3,))(
        lambda F, m, x, w, b: F.instance_norm(x, weight=w, bias=b)
    ),
    "interpolate": simple(C2, scale_factor=2, mode="bicubic", align_corners=False),
    "upsample": simple(C2, scale_factor=2, mode="bilinear", align_corners=True),
    "upsample_bilinear": simple(C2, scale_factor=2),
    "upsample_nearest": simple(C2, scale_factor=2),
    "kl_div": case(M, M, low=0.1)(lambda F, m, a, b: F.kl_div(a, b)),
    "l1_loss": case(M, M)(lambda F, m, a, b: F.l1_loss(a, b)),
    "layer_norm": case(M, (4,), (4,))(lambda F, m, x, w, b: F.layer_norm(x, (4,), w, b)),
    "linear": case(M, (2, 4), (2,))(lambda F, m, x, w, b: F.linear(x, w, b)),
    "local_response_norm": simple(C1, 2),
    "margin_ranking_loss": case(V, V)(
        lambda F, m, a, b: F.margin_ranking_loss(a, b, signs(m, 6), 0.1)
    ),
    "mse_loss": case(M, M)(lambda F, m, a, b: F.mse_loss(a, b)),
    "multi_head_attention_forward": case((3, 1, 4), (3, 1, 4), (3, 1, 4), (12, 4), (4, 4))(
        attention
    ),
    "multi_margin_loss": case(M)(lambda F, m, x: F.multi_margin_loss(x, labels(m, 0, 2, 3), p=2)),
    "multilabel_margin_loss": case(M)(
        lambda F, m, x: F.multilabel_margin_loss(
            x, m.tensor([[0, 2, -1, 0], [1, -1, 0, 0], [3, 2, 1, -1]])
        )
    ),
    "multilabel_soft_margin_loss": case(M)(
        lambda F, m, x: F.multilabel_soft_margin_loss(x, (x.detach() > 0).double())
    ),
    "nll_loss": case(M)(lambda F, m, x: F.nll_loss(x, labels(m, 0, 2, 3))),
    "normalize": simple(M),
    "pad": simple(C1, (1, 2), mode="reflect"),
    "pairwise_distance": case(M, M)(lambda F, m, a, b: F.pairwise_distance(a, b)),
    "pdist": simple(M),
    "pixel_shuffle": simple((1, 4, 2, 2), 2),
    "pixel_unshuffle": simple((1, 1, 4, 4), 2),
    "poisson_nll_loss": case(M, M)(lambda F, m, x, y: F.poisson_nll_loss(x, y.detach().abs())),
    "prelu": case(C1, (3,))(lambda F, m, x, w: F.prelu(x, w)),
    "rms_norm": case(M, (4,))(lambda F, m, x, w: F.rms_norm(x, (4,), w)),
    "scaled_dot_product_attention": case((1, 2, 3, 4), (1, 2, 3, 4), (1, 2, 3, 4))(
        lambda F, m, q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True)
    ),
    "soft_margin_loss": case(V)(lambda F, m, x: F.soft_margin_loss(x, signs(m, 6))),
    "threshold": simple(M, 0.1, 5.0),
    "threshold_": simple(M, 0.1, 5.0),
    "triplet_margin_loss": case(M, M, M)(lambda F, m, a, b, c: F.triplet_margin_loss(a, b, c)),
    "triplet_margin_with_distance_loss": case(M, M, M)(
        lambda F, m, a, b, c: F.triplet_margin_with_distance_loss(a, b, c)
    ),
}
WITHOUT = {
    "gumbel_softmax": "random",
    "fractional_max_pool2d": "random",
    "fractional_max_pool3d": "random",
    "linear_cross_entropy": "PyTorch 2.13 has it only for half precision on a GPU",
    "one_hot": "integers",
}
NOT_IN_PYTORCH = {
    "ctc_loss",
    "embedding_bag",
    "hardsigmoid",
    "multi_head_attention_forward",
    "multi_margin_loss",
    "multilabel_margin_loss",
    "pdist",
    "scaled_dot_product_attention",
}
"""PyTorch 2.13 raises for a second derivative of these on the CPU: they are compared with
differences of first derivatives."""
CONSTANT = {
    **{f"{kind}avg_pool{d}d": "x" for kind in ("", "adaptive_") for d in (1, 2, 3)},
    **{f"conv{kind}{d}d": "bias" for kind in ("", "_transpose") for d in (1, 2, 3)},
    **dict.fromkeys(("batch_norm", "instance_norm", "layer_norm"), "bias"),
    **dict.fromkeys(("nll_loss", "pad"), "x"),
    **dict.fromkeys(("hinge_embedding_loss", "margin_ranking_loss"), "all"),
}
"""Functions linear in an argument, or piecewise linear. The gradient of a linear function is
constant here and does not require grad; PyTorch says that of some, and has zeros for others."""


def plain(t: Any) -> Any:
    return None if t is None else np.array((t + t.new_zeros(t.shape)).tolist())


def seconds(m: Any, F: Any, name: str, moved: Any = None) -> tuple[list[bool], list[Any]]:
    """Which gradients require grad. Then, per input: the gradient, and what the backward pass of
    the weighted gradients leaves in .grad (None where there is none).

    moved: (input, step): step along the all-ones direction from the inputs, for differences.
    """
    call, shapes, low, high, *more = CASES[name]
    rng = np.random.default_rng(len(name) + 7)
    values = [rng.uniform(low, high, s) for s in shapes]
    if moved is not None:
        values[moved[0]] += moved[1]
    inputs = [m.tensor(v, dtype=m.float64, requires_grad=True) for v in values]
    if call is None:
        args, kw = more
        given = inputs[0].clone() if name.endswith("_") else inputs[0]
        result = getattr(F, name)(given, *args, **kw)
    else:
        result = call(F, m, *inputs)

    def weighted(t: Any) -> Any:
        weights = rng.uniform(0.5, 1.5, tuple(t.shape))
        return (t * m.tensor(weights, dtype=m.float64)).sum()

    first = m.autograd.grad(weighted(result), inputs, create_graph=True, allow_unused=True)
    parts = [weighted(g) for g in first if g is not None]
    if moved is not None:
        return [], [sum(p.item() for p in parts)]
    live = [p for p in parts if p.requires_grad]
    if live:
        sum(live).backward()
    return [p.requires_grad for p in parts], [plain(t) for t in (*first, *[x.grad for x in inputs])]


def test_every_function_is_here() -> None:
    assert set(functional.__all__) == {*CASES, *WITHOUT}


@pytest.mark.oracle
@in_one_test
@pytest.mark.parametrize("name", sorted({*CASES} - NOT_IN_PYTORCH))
def test_each_second_derivative_agrees_with_pytorch(name: str) -> None:
    torch = pytest.importorskip("torch")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        flags, ours = seconds(mg, functional, name)
        their_flags, theirs = seconds(torch, torch.nn.functional, name)
    if name in CONSTANT:
        ours, theirs = ([0.0 if t is None else t for t in found] for found in (ours, theirs))
    else:
        assert flags == their_flags, f"the gradients require grad: {flags}; PyTorch: {their_flags}"
    for mine, his in zip(ours, theirs, strict=True):
        assert (mine is None) is (his is None), f"{mine} beside PyTorch's {his}"
        if mine is not None:
            np.testing.assert_allclose(mine, his, rtol=1e-9, atol=1e-11)


@in_one_test
@pytest.mark.parametrize("name", sorted(NOT_IN_PYTORCH))
def test_second_derivative_by_differences(name: str) -> None:
    """The sum over the elements of each input's second derivative is the derivative along ones."""
    _, ours = seconds(mg, functional, name)
    h, inputs = 1e-6, len(CASES[name][1])
    for i, second in enumerate(ours[inputs:]):
        up, down = (seconds(mg, functional, name, (i, step))[1][0] for step in (h, -h))
        found = 0.0 if second is None else second.sum()
        assert found == pytest.approx((up - down) / (2 * h), rel=1e-6, abs=1e-7)
