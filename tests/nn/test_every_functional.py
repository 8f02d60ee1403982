"""All functions of nn.functional with ordinary inputs: derivatives of both modes and second ones
against central differences; values, gradients and second derivatives against PyTorch.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minigrad as mg
from minigrad.autograd import gradcheck, gradgradcheck
from minigrad.nn import functional
from tests.helpers.tables import in_one_test
from tests.helpers.torch_comparison import agree, cotangents, flat, tangents_fit

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


def shares(m: Any) -> Any:
    """Targets of the shape M between 0 and 1."""
    return m.tensor(np.linspace(0.1, 0.9, 12).reshape(M), dtype=m.float64)


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
    "binary_cross_entropy": case(M, low=0.1, high=0.9)(
        lambda F, m, x: F.binary_cross_entropy(x, shares(m))
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
    "poisson_nll_loss": case(M)(lambda F, m, x: F.poisson_nll_loss(x, shares(m))),
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
NOT_TWICE_IN_PYTORCH = {
    "ctc_loss",
    "embedding_bag",
    "hardsigmoid",
    "multi_head_attention_forward",
    "multi_margin_loss",
    "multilabel_margin_loss",
    "pdist",
    "scaled_dot_product_attention",
}
"""PyTorch 2.13 raises for a second derivative of these on the CPU."""
LINEAR = {
    *(f"{kind}avg_pool{d}d" for kind in ("", "adaptive_") for d in (1, 2, 3)),
    *"hinge_embedding_loss margin_ranking_loss nll_loss pad".split(),
}
"""Linear or piecewise linear ones. Their gradient is a constant here; PyTorch has zeros as its
derivatives.
"""


def run(name: str) -> tuple[Any, list[Any]]:
    """The function of (library, *tensors), and arrays for the tensors."""
    call, shapes, low, high, *more = CASES[name]
    rng = np.random.default_rng(len(name) + 7)
    arrays = [rng.uniform(low, high, s) for s in shapes]

    def function(m: Any, *inputs: Any) -> Any:
        F = m.nn.functional
        if call is not None:
            return call(F, m, *inputs)
        args, options = more
        given = inputs[0].clone() if name.endswith("_") else inputs[0]
        return getattr(F, name)(given, *args, **options)

    return function, arrays


def test_every_function_is_here() -> None:
    assert set(functional.__all__) == {*CASES, *WITHOUT}


@pytest.mark.oracle
@pytest.mark.filterwarnings("ignore")
@in_one_test
@pytest.mark.parametrize("name", CASES)
def test_each_agrees_with_pytorch_to_the_second_derivative(torch: Any, name: str) -> None:
    function, arrays = run(name)
    order = 1 if name in NOT_TWICE_IN_PYTORCH else 2
    rounded = name in ("hardsigmoid", "hardswish")  # PyTorch keeps a sixth in single precision
    agree(torch, function, *arrays, order=order, tolerance=1e-7 if rounded else 1e-9)


@in_one_test
@pytest.mark.parametrize("name", CASES)
def test_each_passes_gradcheck_in_all_modes(name: str) -> None:
    """Gradients and their gradients against differences, tangents against the gradients."""
    function, arrays = run(name)
    inputs = [mg.tensor(a, requires_grad=True) for a in arrays]
    each = lambda *x: function(mg, *x)
    assert gradcheck(each, inputs, fast_mode=True, atol=1e-6)
    results = flat(each(*inputs))
    seeds = cotangents(results, 1)
    gradients = mg.autograd.grad(results, inputs, [mg.tensor(u) for u in seeds])
    tangents_fit(function, arrays, seeds, gradients)
    assert name in LINEAR or gradgradcheck(each, inputs, fast_mode=True, atol=1e-6)
