"""Every function of `nn.functional` against PyTorch: values, gradients, gradients of gradients,
and their corner cases.
"""

# tables: one case a line

import contextlib
import math
import pickle
import types

import numpy as np
import pytest

import minigrad as mg
from minigrad.errors import DTypeError, ShapeError
from minigrad.nn import functional as F
from minigrad.observers import observing
from tests.helpers.tables import in_one_test
from tests.helpers.torch_comparison import classes, normal, ranks
from tests.helpers.torch_comparison import functionals_agree as agree

# -------------------------------------------------------------------------------------- activations

CORNERS = np.array(
    [
        -1e4,
        -200.0,
        -7.0,
        -6.0,
        -3.0,
        -2.9,
        -1.0,
        -0.5,
        -0.0,
        0.0,
        0.5,
        1.0,
        2.5,
        3.0,
        6.0,
        7.0,
        200.0,
        1e4,
    ]
)
ACTIVATIONS = {
    "relu": {}, "relu6": {}, "leaky_relu": {"negative_slope": 0.2}, "elu": {"alpha": 1.5},
    "selu": {}, "celu": {"alpha": 0.7}, "gelu": {}, "silu": {},
    "mish": {}, "softplus": {"beta": 2.0, "threshold": 5.0}, "logsigmoid": {}, "softsign": {},
    "tanhshrink": {}, "hardtanh": {"min_val": -2.5, "max_val": 1.0},
    "hardsigmoid": {}, "hardswish": {}, "softshrink": {"lambd": 0.5}, "hardshrink": {"lambd": 0.5},
    "sigmoid": {}, "tanh": {},
}  # fmt: skip


@pytest.mark.oracle
@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activations_agree_with_pytorch(torch, name: str) -> None:
    """At kinks and at sizes at which an exponential overflows. (PyTorch keeps the constants of
    some in single precision.)
    """
    tolerance = 1e-7 if name in ("hardsigmoid", "hardswish", "celu") else 1e-10
    agree(
        torch,
        lambda F, x: getattr(F, name)(x, **ACTIVATIONS[name]),
        CORNERS,
        order=1,
        tolerance=tolerance,
    )
    order = 1 if name == "hardsigmoid" else 2  # PyTorch has no second derivative of it
    agree(
        torch,
        lambda F, x: getattr(F, name)(x, **ACTIVATIONS[name]),
        normal(5, 7),
        order=order,
        tolerance=tolerance,
    )
    agree(
        torch,
        lambda F, x: getattr(F, name)(x, **ACTIVATIONS[name]),
        normal(5, dtype="float32"),
        order=1,
        tolerance=1e-6,
    )


@pytest.mark.oracle
def test_activations_with_settings_agree_with_pytorch(torch) -> None:
    agree(torch, lambda F, x: F.gelu(x, approximate="tanh"), normal(5, 7))
    agree(torch, lambda F, x: F.glu(x, 1), normal(5, 6))
    agree(torch, lambda F, x: F.threshold(x, 0.5, -2.0), CORNERS)
    agree(torch, lambda F, x, w: F.prelu(x, w), normal(2, 3, 4), normal(3))
    agree(torch, lambda F, x, w: F.prelu(x, w), CORNERS, normal(1), order=1)


@pytest.mark.oracle
@pytest.mark.parametrize("name", ["softmax", "log_softmax", "softmin"])
def test_softmax_agrees_with_pytorch(torch, name: str) -> None:
    for shape, dim in [
        ((3, 4), 1),
        ((2, 9, 3), 1),
        ((2, 2, 3), -2),
        ((5,), 0),
        ((), 0),
        ((0, 3), 1),
        ((3, 0), 0),
    ]:
        agree(torch, lambda F, x, dim=dim: getattr(F, name)(x, dim), normal(*shape))
    wild = np.array(
        [
            [1e4, -1e4, 0.0],
            [-math.inf, 0.0, 1.0],
            [-math.inf] * 3,
            [math.inf, 0.0, 1.0],
            [math.nan, 0.0, 1.0],
        ]
    )
    agree(torch, lambda F, x: getattr(F, name)(x, 1), wild, order=0)
    agree(torch, lambda F, x: getattr(F, name)(x, 1), wild[:2], order=1)


@pytest.mark.oracle
def test_logsumexp_of_infinities_agrees_with_pytorch(torch) -> None:
    for array in (
        normal(3, 4),
        np.array([[1e4, 1e4], [-1e4, -1e4]]),
        np.array([[-math.inf, -math.inf], [-math.inf, 0.0], [math.inf, 0.0]]),
    ):
        ours, theirs = mg.tensor(array, requires_grad=True), torch.tensor(array, requires_grad=True)
        y, z = F.logsumexp(ours, 1), torch.logsumexp(theirs, 1)
        np.testing.assert_allclose(y.detach().numpy(), z.detach().numpy())
        y.sum().backward()
        z.sum().backward()
        np.testing.assert_allclose(ours.grad.numpy(), theirs.grad.numpy(), atol=1e-15)


# ----------------------------------------------------------------------------- linear and embedding


@pytest.mark.oracle
def test_linear_maps_agree_with_pytorch(torch) -> None:
    for shape in ((5, 3), (2, 5, 3), (3,), (0, 3)):
        agree(torch, lambda F, x, w, b: F.linear(x, w, b), normal(*shape), normal(4, 3), normal(4))
        agree(torch, lambda F, x, w: F.linear(x, w), normal(*shape), normal(4, 3))
    agree(
        torch,
        lambda F, x, w, b: F.linear(x, w, b),
        normal(5, 3, dtype="float32"),
        normal(4, 3, dtype="float32"),
        normal(4, dtype="float32"),
        tolerance=1e-5,
    )
    agree(
        torch,
        lambda F, a, b, w, c: F.bilinear(a, b, w, c),
        normal(5, 3),
        normal(5, 2),
        normal(4, 3, 2),
        normal(4),
    )


@pytest.mark.oracle
def test_embeddings_agree_with_pytorch(torch) -> None:
    index = np.array([[0, 2, 2], [4, 1, 2]])
    agree(torch, lambda F, i, w: F.embedding(i, w), index, normal(5, 3))
    agree(torch, lambda F, i, w: F.embedding(i, w, padding_idx=2), index, normal(5, 3), order=1)
    agree(torch, lambda F, i, w: F.embedding(i, w, padding_idx=-1), index, normal(5, 3), order=1)
    agree(torch, lambda F, i: F.one_hot(i, 6), index)
    agree(torch, lambda F, i: F.one_hot(i), index)


def test_a_wrong_embedding_is_refused() -> None:
    weight = mg.zeros(5, 3)
    for index in ([5], [-1]):
        with pytest.raises(IndexError, match="embedding"):
            F.embedding(mg.tensor(index), weight)
    with pytest.raises(DTypeError, match="embedding"):
        F.embedding(mg.tensor([0.0]), weight)
    with pytest.raises(IndexError, match="padding_idx"):
        F.embedding(mg.tensor([0]), weight, padding_idx=5)
    with pytest.raises(ShapeError, match="linear"):
        F.linear(mg.zeros(2, 3), mg.zeros(4, 2))


# ------------------------------------------------------------------------------------ normalisation


@pytest.mark.oracle
def test_normalisations_agree_with_pytorch(torch) -> None:
    x = normal(4, 6, 3) + 2
    agree(torch, lambda F, x, w, b: F.layer_norm(x, (6, 3), w, b), x, normal(6, 3), normal(6, 3))
    agree(torch, lambda F, x: F.layer_norm(x, (3,)), x)
    agree(torch, lambda F, x, w, b: F.group_norm(x, 3, w, b), x, normal(6), normal(6))
    agree(torch, lambda F, x: F.instance_norm(x), x)
    agree(torch, lambda F, x, w: F.rms_norm(x, (3,), w), x, normal(3))
    agree(torch, lambda F, x: F.local_response_norm(x, 3), x)
    for p in (1.0, 2.0, 3.0, math.inf):
        agree(torch, lambda F, x, p=p: F.normalize(x, p, 1), x, order=1)
    agree(torch, lambda F, x: F.normalize(x), np.zeros((2, 3)), order=1)
    agree(torch, lambda F, a, b: F.cosine_similarity(a, b), normal(5, 3), normal(5, 3, seed=1))
    agree(torch, lambda F, a, b: F.pairwise_distance(a, b), normal(5, 3), normal(5, 3, seed=1))


@pytest.mark.oracle
@pytest.mark.parametrize("shape", [(4, 3), (4, 3, 5), (2, 3, 4, 5)])
@pytest.mark.parametrize("training", [True, False])
def test_batch_norm_and_its_statistics_agree_with_pytorch(
    torch, shape: tuple[int, ...], training: bool
) -> None:
    """Biased variance in the normalisation, unbiased in the running one; the running ones are
    constants to the derivative.
    """
    x = normal(*shape) * 3 + 1
    stats = [(mg.tensor(m), torch.tensor(m)) for m in (normal(3), abs(normal(3, seed=1)) + 0.5)]
    choose = lambda library: [pair[library is not mg.nn.functional] for pair in stats]
    agree(
        torch,
        lambda F, x, w, b: F.batch_norm(x, *choose(F), w, b, training=training, momentum=0.3),
        x,
        normal(3),
        normal(3),
        forward=False,  # a further call would move the statistics again
    )
    for ours, theirs in stats:
        np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-12)
    agree(torch, lambda F, x: F.batch_norm(x, None, None, training=True), x)


def test_batch_norm_of_one_value_has_no_variance() -> None:
    with pytest.raises(ValueError, match="more than one value"):
        F.batch_norm(mg.zeros(1, 3), training=True)


# -------------------------------------------------------------------------- convolution and pooling

CONVOLUTIONS = [
    (1, 0, 1, 1), (1, 1, 1, 1), (1, 1, 1, 2), (2, 1, 1, 1), (2, 3, 2, 1), (1, 2, 2, 1),
    (2, 0, 3, 2), (3, 2, 1, 4), (1, "same", 1, 1), (1, "same", 3, 1),
    (1, "valid", 2, 4),
]  # fmt: skip


@pytest.mark.oracle
@pytest.mark.parametrize(("stride", "padding", "dilation", "groups"), CONVOLUTIONS)
def test_convolutions_agree_with_pytorch(torch, stride, padding, dilation, groups) -> None:
    for axes, size, kernel in ((1, (11,), (3,)), (2, (9, 10), (3, 2))):
        agree(
            torch,
            lambda F, x, w, b, axes=axes: getattr(F, f"conv{axes}d")(
                x, w, b, stride, padding, dilation, groups
            ),
            normal(3, 4, *size),
            normal(8, 4 // groups, *kernel),
            normal(8),
        )


@pytest.mark.oracle
def test_convolution_of_other_shapes(torch) -> None:
    agree(
        torch,
        lambda F, x, w: F.conv2d(x, w, stride=(1, 2), padding=(1, 0)),
        normal(2, 3, 5, 7),
        normal(4, 3, 3, 2),
    )
    agree(torch, lambda F, x, w: F.conv2d(x, w), normal(3, 5, 7), normal(4, 3, 3, 2))
    agree(torch, lambda F, x, w: F.conv2d(x, w), normal(0, 3, 5, 7), normal(4, 3, 3, 2), order=1)
    agree(
        torch,
        lambda F, x, w: F.conv3d(x, w, padding=1),
        normal(2, 2, 4, 3, 4),
        normal(3, 2, 2, 2, 3),
    )
    agree(
        torch,
        lambda F, x, w: F.conv2d(x, w, padding=1),
        normal(70, 16, 20, 20),
        normal(8, 16, 3, 3),
        order=1,
        tolerance=1e-9,
    )
    x, w = normal(2, 3, 8, 8, dtype="float32"), normal(4, 3, 3, 3, dtype="float32")
    agree(torch, lambda F, x, w: F.conv2d(x, w, padding=1), x, w, tolerance=1e-3)


@pytest.mark.oracle
@pytest.mark.parametrize(
    ("stride", "padding", "extra", "dilation", "groups"),
    [
        (1, 0, 0, 1, 1),
        (2, 1, 1, 1, 1),
        (2, 0, 1, 1, 2),
        (1, 1, 1, 2, 1),
        (3, 2, 2, 2, 1),
        (1, 3, 0, 1, 1),
        (2, 1, 0, 2, 2),
    ],
)
def test_transposed_convolution_agrees_with_pytorch(
    torch, stride, padding, extra, dilation, groups
) -> None:
    for axes, size, kernel in ((1, (8,), (4,)), (2, (5, 6), (3, 4))):
        agree(
            torch,
            lambda F, x, w, b, axes=axes: getattr(F, f"conv_transpose{axes}d")(
                x, w, b, stride, padding, extra, groups, dilation
            ),
            normal(3, 4, *size),
            normal(4, 6 // groups, *kernel),
            normal(6),
        )


@pytest.mark.parametrize("seed", range(20))
def test_both_forms_of_convolution_agree(seed: int, monkeypatch) -> None:
    """The flat form is a faster way to the numbers of the form by columns, for any sizes, also
    when the samples are worked on in blocks.
    """
    from minigrad.ops import convolution

    rng = np.random.default_rng(seed)
    axes = int(rng.integers(1, 4))
    kernel, dilation = rng.integers(1, 4, axes), rng.integers(1, 3, axes)
    size = rng.integers(1, 4, axes) + dilation * (kernel - 1)
    settings = {
        "stride": (1,) * axes,
        "padding": tuple((int(a), int(b)) for a, b in rng.integers(0, 4, (axes, 2))),
        "dilation": tuple(map(int, dilation)), "groups": 1,
    }  # fmt: skip
    x, w = rng.standard_normal((3, 2, *size)), rng.standard_normal((4, 2, *kernel))
    g = rng.standard_normal(convolution.convolve(x, w, **settings).shape)
    calls = [
        lambda: convolution.convolve(x, w, **settings),
        lambda: convolution.convolve_input(g, w, **settings, size=tuple(map(int, size))),
        lambda: convolution.convolve_weight(x, g, **settings, size=tuple(map(int, kernel))),
    ]
    monkeypatch.setattr(convolution, "TILE", int(rng.integers(1, 200)))
    flat = [call() for call in calls]
    monkeypatch.setattr(convolution, "_is_flat", lambda stride, groups: False)
    for fast, plain in zip(flat, [call() for call in calls], strict=True):
        np.testing.assert_allclose(fast, plain, atol=1e-12)


def test_a_wrong_convolution_is_refused() -> None:
    x = mg.zeros(1, 3, 5, 5)
    with pytest.raises(ShapeError, match=r"conv2d.*channels"):
        F.conv2d(x, mg.zeros(4, 2, 3, 3))
    with pytest.raises(ShapeError, match="larger than"):
        F.conv2d(x, mg.zeros(4, 3, 7, 7))
    with pytest.raises(ShapeError, match="dimensions"):
        F.conv2d(mg.zeros(5, 5), mg.zeros(4, 3, 7, 7))
    with pytest.raises(ShapeError, match="bias"):
        F.conv2d(x, mg.zeros(4, 3, 3, 3), mg.zeros(3))
    with pytest.raises(ValueError, match="same"):
        F.conv2d(x, mg.zeros(4, 3, 3, 3), stride=2, padding="same")
    with pytest.raises(ValueError, match="stride"):
        F.conv2d(x, mg.zeros(4, 3, 3, 3), stride=0)
    with pytest.raises(ValueError, match="output_padding"):
        F.conv_transpose2d(x, mg.zeros(3, 3, 3, 3), output_padding=1)


POOLS = [
    (3, 1, 1, 1, False),
    (2, None, 0, 1, False),
    (3, 2, 1, 1, True),
    (3, 2, 1, 2, True),
    ((3, 2), (2, 1), (1, 0), 1, False),
    (2, 3, 0, 1, True),
]


@pytest.mark.oracle
@pytest.mark.parametrize(("kernel", "stride", "padding", "dilation", "ceil"), POOLS)
def test_max_pooling_agrees_with_pytorch_also_at_ties(
    torch, kernel, stride, padding, dilation, ceil
) -> None:
    """The first of equals gets the gradient; overlapping windows add; the index is the place in
    the image.
    """
    settings = (kernel, stride, padding, dilation, ceil)
    for x in (
        ranks(2, 3, 9, 8),
        normal(3, 7, 9),
        -ranks(2, 1, 6, 7) - 1,
        np.full((1, 1, 5, 5), -math.inf),
    ):
        agree(torch, lambda F, x: F.max_pool2d(x, *settings), x)
        agree(torch, lambda F, x: F.max_pool2d(x, *settings, return_indices=True), x, order=1)
    if isinstance(kernel, int):
        agree(torch, lambda F, x: F.max_pool1d(x, *settings), ranks(2, 3, 11))
    whole = mg.tensor(ranks(2, 3, 9, 8).astype("int64"))
    assert F.max_pool2d(whole, *settings).dtype == mg.int64


@pytest.mark.oracle
@pytest.mark.parametrize(("kernel", "stride", "padding", "dilation", "ceil"), POOLS)
@pytest.mark.parametrize("include", [True, False])
def test_average_pooling_agrees_with_pytorch(
    torch, kernel, stride, padding, dilation, ceil, include
) -> None:
    agree(
        torch,
        lambda F, x: F.avg_pool2d(x, kernel, stride, padding, ceil, include),
        normal(2, 3, 9, 8),
    )
    agree(
        torch,
        lambda F, x: F.avg_pool2d(x, kernel, stride, padding, ceil, include, divisor_override=5),
        normal(2, 3, 9, 8),
    )
    if isinstance(kernel, int):
        agree(
            torch,
            lambda F, x: F.avg_pool1d(x, kernel, stride, padding, ceil, include),
            normal(2, 3, 11),
        )


@pytest.mark.oracle
@pytest.mark.parametrize("size", [1, 3, 9, (2, 5), (None, 4), (12, 1)])
def test_adaptive_pooling_agrees_with_pytorch(torch, size) -> None:
    for x in (ranks(2, 3, 9, 8), normal(3, 9, 8)):
        agree(torch, lambda F, x: F.adaptive_avg_pool2d(x, size), x)
        agree(torch, lambda F, x: F.adaptive_max_pool2d(x, size), x)
    if isinstance(size, int):
        agree(torch, lambda F, x: F.adaptive_avg_pool1d(x, size), ranks(2, 3, 10))
        agree(torch, lambda F, x: F.adaptive_max_pool1d(x, size), ranks(2, 3, 10))


def test_a_wrong_pooling_is_refused() -> None:
    with pytest.raises(ValueError, match="half"):
        F.max_pool2d(mg.zeros(1, 1, 5, 5), 2, padding=2)
    with pytest.raises(ShapeError, match="larger than"):
        F.avg_pool2d(mg.zeros(1, 1, 2, 2), 3)
    with pytest.raises(ShapeError, match="dimensions"):
        F.max_pool2d(mg.zeros(2, 2), 1)


@pytest.mark.oracle
def test_windows_as_columns(torch) -> None:
    for settings in ((3, 1, 0, 1), ((3, 2), 1, 1, 2), (2, 2, (1, 0), (1, 2))):
        agree(torch, lambda F, x, s=settings: F.unfold(x, *s), normal(2, 3, 9, 8))
        count = torch.nn.functional.unfold(torch.zeros(1, 1, 9, 8), *settings).shape
        agree(
            torch, lambda F, x, s=settings: F.fold(x, (9, 8), *s), normal(2, 3 * count[1], count[2])
        )


# ----------------------------------------------------------------------------- padding and resizing


@pytest.mark.oracle
def test_padding_agrees_with_pytorch(torch) -> None:
    x = normal(2, 3, 5, 6)
    for pad in ((1, 2), (1, 0, 0, 3), (-1, 2, 3, -2), (0, 0), (1, 1, 1, 1, 1, 1)):
        agree(torch, lambda F, x, pad=pad: F.pad(x, pad), x)
        agree(torch, lambda F, x, pad=pad: F.pad(x, pad, value=2.5), x)
    agree(torch, lambda F, x: F.pad(x, (1, 2), value=-math.inf), x, order=1)
    for mode in ("reflect", "replicate", "circular"):
        agree(torch, lambda F, x, mode=mode: F.pad(x, (1, 2, 4, 3), mode), x)
    with pytest.raises(ValueError, match="reflect"):
        F.pad(mg.zeros(1, 1, 3), (3, 0), "reflect")


@pytest.mark.oracle
def test_resizing_agrees_with_pytorch(torch) -> None:
    x = normal(2, 3, 5, 6)
    for settings in (
        {"size": (10, 3)},
        {"size": 7},
        {"scale_factor": 2},
        {"scale_factor": (0.5, 1.7)},
    ):
        for mode in ("nearest", "nearest-exact"):
            agree(torch, lambda F, x, s=settings, m=mode: F.interpolate(x, mode=m, **s), x)
    agree(torch, lambda F, x: F.pixel_shuffle(x, 2), normal(2, 8, 3, 4))


@pytest.mark.oracle
def test_resizing_by_weighing_neighbours(torch) -> None:
    flat, image, volume = normal(2, 3, 5), normal(2, 3, 5, 6), normal(1, 2, 3, 4, 5)
    sizes = (
        {"size": 9},
        {"size": 1},
        {"scale_factor": 2},
        {"scale_factor": 0.6},
        {"scale_factor": 1.7, "recompute_scale_factor": True},
    )
    for settings in sizes:
        for corners in (None, False, True):
            if corners and settings == {"scale_factor": 1.7, "recompute_scale_factor": True}:
                continue
            for mode, x in (
                ("linear", flat),
                ("bilinear", image),
                ("bicubic", image),
                ("trilinear", volume),
            ):
                agree(
                    torch,
                    lambda F, x, s=settings, m=mode, c=corners: F.interpolate(
                        x, mode=m, align_corners=c, **s
                    ),
                    x,
                )
    for settings in ({"size": (10, 3)}, {"scale_factor": (0.5, 1.7)}):
        agree(
            torch,
            lambda F, x, s=settings: F.interpolate(x, mode="bilinear", align_corners=True, **s),
            image,
        )
        agree(torch, lambda F, x, s=settings: F.interpolate(x, mode="bicubic", **s), image)
        agree(torch, lambda F, x, s=settings: F.interpolate(x, mode="area", **s), image)
    agree(torch, lambda F, x: F.interpolate(x, size=3, mode="area"), flat)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (
            {"size": 3, "mode": "linear"},
            r'mode "linear" needs an input of 3 dimensions .* got shape \(1, 1, 4, 4\)',
        ),
        ({"size": 3, "mode": "cubic"}, "mode must be one of nearest, .* got 'cubic'"),
        ({"size": 3, "align_corners": True}, 'align_corners means nothing for mode "nearest"'),
        ({"size": 3, "scale_factor": 2}, "give either size or scale_factor"),
        ({}, "give either size or scale_factor"),
        ({"scale_factor": (1, 2, 3)}, "scale_factor must be one number or 2"),
        ({"scale_factor": 0.1}, r"nothing is left of \(4, 4\) times 0.1"),
    ],
)
def test_resizing_that_makes_no_sense(settings, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        F.interpolate(mg.ones(1, 1, 4, 4), **settings)


# ------------------------------------------------------------------------------------------- losses

REDUCTIONS = ["mean", "sum", "none"]


@pytest.mark.oracle
@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_regression_losses_agree_with_pytorch(torch, reduction: str) -> None:
    x, t = ranks(4, 5), ranks(4, 5, seed=1)
    for name, settings in [
        ("mse_loss", {}), ("l1_loss", {}), ("smooth_l1_loss", {"beta": 2.0}),
        ("smooth_l1_loss", {"beta": 0.0}), ("huber_loss", {"delta": 2.0}),
    ]:  # fmt: skip
        agree(
            torch,
            lambda F, x, t, n=name, s=settings: getattr(F, n)(x, t, reduction=reduction, **s),
            x,
            t,
        )
    positive = abs(normal(4, 5)) + 0.1
    agree(
        torch, lambda F, x, t, v: F.gaussian_nll_loss(x, t, v, reduction=reduction), x, t, positive
    )
    agree(
        torch,
        lambda F, x, t: F.hinge_embedding_loss(x, t.detach(), reduction=reduction),
        x,
        np.sign(t - 1.5),
        order=1,
    )
    agree(
        torch,
        lambda F, x, y, t: F.margin_ranking_loss(x, y, t.detach(), margin=0.3, reduction=reduction),
        x,
        t + 0.1,
        np.sign(t - 1.5),
        order=1,
    )


@pytest.mark.oracle
@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_binary_cross_entropy(torch, reduction: str) -> None:
    p, t = np.array([0.0, 0.0, 1.0, 1.0, 0.3, 1e-50]), np.array([0.0, 1.0, 0.0, 1.0, 0.6, 1.0])
    agree(
        torch,
        lambda F, p, t: F.binary_cross_entropy(p, t, reduction=reduction),
        p,
        t,
        order=1,
        tolerance=1e-8,
    )  # the bound 1e-12 is a float32 in PyTorch
    inside = 1 / (1 + np.exp(-normal(6)))
    agree(
        torch,
        lambda F, p, t, w: F.binary_cross_entropy(p, t, w.detach(), reduction=reduction),
        inside,
        t,
        abs(normal(6)),
        order=1,
    )
    agree(
        torch, lambda F, p, t: F.binary_cross_entropy(p, t.detach(), reduction=reduction), inside, t
    )
    x = np.array([-1e4, -2.0, 0.0, 3.0, 1e4, 5.0])
    agree(
        torch,
        lambda F, x, t: F.binary_cross_entropy_with_logits(x, t, reduction=reduction),
        x,
        t,
        order=1,
    )
    agree(
        torch,
        lambda F, x, t, w: F.binary_cross_entropy_with_logits(
            x, t, pos_weight=w.detach(), reduction=reduction
        ),
        normal(4, 3),
        abs(normal(4, 3)),
        abs(normal(3)),
    )
    with pytest.raises(RuntimeError, match="with_logits"):
        F.binary_cross_entropy(mg.tensor([1.5]), mg.tensor([1.0]))


@pytest.mark.oracle
@pytest.mark.parametrize("reduction", [*REDUCTIONS, "batchmean"])
def test_kl_div_agrees_with_pytorch_also_at_zeros(torch, reduction: str) -> None:
    t = np.array([[0.0, 0.25, 0.75], [0.5, 0.5, 0.0]])
    agree(
        torch,
        lambda F, x, t: F.kl_div(x, t.detach(), reduction=reduction),
        normal(2, 3),
        t,
        order=1,
    )
    agree(torch, lambda F, x, t: F.kl_div(x, t, reduction=reduction), normal(2, 3), t + 0.1)
    agree(
        torch,
        lambda F, x, t: F.kl_div(x, t, reduction=reduction, log_target=True),
        normal(2, 3),
        normal(2, 3, seed=1),
    )


@pytest.mark.oracle
@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("weighted", [False, True])
def test_cross_entropy_agrees_with_pytorch(
    torch, reduction: str, smoothing: float, weighted: bool
) -> None:
    w = abs(normal(5)) + 0.1
    weight = lambda F: (
        None if not weighted else (mg.tensor if F is mg.nn.functional else torch.tensor)(w)
    )
    settings = lambda F: {"weight": weight(F), "reduction": reduction, "label_smoothing": smoothing}
    for shape in ((6, 5), (5,), (3, 5, 2), (2, 5, 3, 2)):
        rest = shape[:1] + shape[2:] if len(shape) > 1 else ()
        t = classes(5, *rest)
        agree(torch, lambda F, x, t: F.cross_entropy(x, t, **settings(F)), normal(*shape), t)
        if t.size > 1:
            t.flat[1] = -100
            agree(torch, lambda F, x, t: F.cross_entropy(x, t, **settings(F)), normal(*shape), t)
            agree(
                torch,
                lambda F, x, t: F.cross_entropy(x, t, ignore_index=2, **settings(F)),
                normal(*shape),
                np.maximum(t, 0),
            )
        p = abs(normal(*shape, seed=3))
        agree(torch, lambda F, x, p: F.cross_entropy(x, p, **settings(F)), normal(*shape), p)
        if not smoothing:
            agree(
                torch,
                lambda F, x, t: F.nll_loss(x, t, weight=weight(F), reduction=reduction),
                normal(*shape),
                t,
            )


@pytest.mark.oracle
def test_cross_entropy_at_the_edge(torch) -> None:
    ignored = np.full(3, -100)
    none = lambda F, x, t: F.cross_entropy(x, t)  # NaN, with a gradient of 0 as in PyTorch
    agree(torch, none, normal(3, 4), ignored, order=1, forward=False)
    agree(
        torch,
        lambda F, x, t: F.cross_entropy(x, t),
        np.array([[1e4, -1e4], [-1e4, 1e4]]),
        np.array([1, 1]),
        order=1,
    )
    agree(
        torch,
        lambda F, x, t: F.cross_entropy(x, t),
        normal(3, 4, dtype="float32"),
        classes(4, 3),
        order=1,
        tolerance=1e-6,
    )


@pytest.mark.parametrize("function", [F.cross_entropy, F.nll_loss])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_targets_are_counted_as_by_operations(function, dtype: str) -> None:
    """An observer is shown operations that count them; without one, and with the same bits, NumPy
    does. Among the cases are none that counts, none at all, and unsigned classes."""
    names = []
    noting = lambda event: names.append(getattr(event.primitive, "name", None))
    observer = types.SimpleNamespace(begin=noting, end=noting)
    x = mg.tensor(np.random.default_rng(0).normal(size=(6, 4, 2)).astype(dtype), requires_grad=True)
    classes = np.random.default_rng(1).integers(0, 4, (6, 2))
    ignored = np.where(classes == 1, -100, classes)
    cases = [
        (x, classes, -100),
        (x, classes, 2),
        (x, ignored, -100),
        (x, np.full((6, 2), -100), -100),
        (x, classes.astype("uint8"), -100),
        (x[:0], classes[:0], -100),
        (x[0, :, 0], classes[0, 0], -100),
        (x[0, :, 0], classes[0, 0], int(classes[0, 0])),
    ]
    for logits, target, index in cases:
        found = []
        for around in (contextlib.nullcontext(), observing(observer)):
            with around:
                loss = function(logits, mg.tensor(target), ignore_index=index)
            (gradient,) = mg.autograd.grad(loss, x)
            found.append([loss.dtype, loss.detach().numpy().tobytes(), gradient.numpy().tobytes()])
        assert found[0] == found[1], (target, index)
    assert "ne" in names


def test_cross_entropy_mistakes() -> None:
    for bad in ([0, 4], [-1, 0]):
        with pytest.raises(IndexError, match="cross_entropy"):
            F.cross_entropy(mg.zeros(2, 4), mg.tensor(bad))
    with pytest.raises(ShapeError, match="cross_entropy"):
        F.cross_entropy(mg.zeros(2, 4), mg.tensor([0, 1, 2]))
    with pytest.raises(DTypeError, match="integers"):
        F.cross_entropy(mg.zeros(2, 4), mg.tensor([0.0, 1.0]))
    with pytest.raises(ValueError, match="reduction"):
        F.mse_loss(mg.zeros(2), mg.zeros(2), "average")
    with pytest.raises(ShapeError, match="mse_loss"):
        F.mse_loss(mg.zeros(2, 1), mg.zeros(2))


# ---------------------------------------------------------------------------------------- attention


@pytest.mark.oracle
def test_attention_agrees_with_pytorch(torch) -> None:
    q, k, v = normal(2, 3, 4, 5), normal(2, 3, 6, 5, seed=1), normal(2, 3, 6, 2, seed=2)
    agree(torch, lambda F, q, k, v: F.scaled_dot_product_attention(q, k, v), q, k, v)
    agree(
        torch, lambda F, q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True), q, k, v
    )
    agree(torch, lambda F, q, k, v: F.scaled_dot_product_attention(q, k, v, scale=0.3), q, k, v)
    agree(
        torch,
        lambda F, q, k, v, m: F.scaled_dot_product_attention(q, k, v, m),
        q,
        k,
        v,
        normal(4, 6, seed=3),
    )
    seen = np.random.default_rng(0).random((4, 6)) < 0.5
    seen[2] = False
    agree(
        torch,
        lambda F, q, k, v, m: F.scaled_dot_product_attention(q, k, v, m),
        q,
        k,
        v,
        seen,
        order=1,
    )


@pytest.mark.oracle
def test_attention_of_grouped_heads(torch) -> None:
    """Six heads of the query share two of the key and three of the value: each of those serves a
    run of neighbours.
    """
    q, k, v = normal(2, 6, 4, 5), normal(2, 2, 3, 5, seed=1), normal(2, 3, 3, 2, seed=2)
    agree(
        torch,
        lambda F, q, k, v: F.scaled_dot_product_attention(q, k, v, enable_gqa=True),
        q,
        k,
        v,
        order=1,
    )
    agree(
        torch,
        lambda F, q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True),
        q,
        k,
        k,
        order=1,
    )


def test_heads_that_do_not_divide_are_refused() -> None:
    x = mg.ones(1, 3, 2, 2)
    with pytest.raises(ShapeError, match="multiple"):
        F.scaled_dot_product_attention(x, x[:, :2], x, enable_gqa=True)
    with pytest.raises(ShapeError, match="third axis"):
        F.scaled_dot_product_attention(x[0, 0], x[0, 0], x[0, 0], enable_gqa=True)


# ------------------------------------------------------------------------------------------ dropout


def test_dropout_uses_one_mask_for_value_and_gradient() -> None:
    mg.manual_seed(0)
    x = mg.ones(200, 50, requires_grad=True)
    y = F.dropout(x, 0.3)
    y.sum().backward()
    np.testing.assert_array_equal(y.detach().numpy(), x.grad.numpy())
    assert set(np.unique(x.grad.numpy())) == {np.float32(0), np.float32(1 / 0.7)}
    assert abs(float((x.grad == 0).float().mean()) - 0.3) < 0.02
    assert not np.array_equal(F.dropout(x, 0.3).detach().numpy(), y.detach().numpy()), (
        "each call draws new numbers"
    )


def test_dropout_repeats_with_the_seed_and_rests_in_evaluation() -> None:
    x = mg.ones(50)
    mg.manual_seed(1)
    first = F.dropout(x, 0.5).numpy()
    mg.manual_seed(1)
    np.testing.assert_array_equal(F.dropout(x, 0.5).numpy(), first)
    assert F.dropout(x, 0.5, training=False) is x
    assert float(F.dropout(x, 1.0).sum()) == 0
    with pytest.raises(ValueError, match="probability"):
        F.dropout(x, 1.5)


def test_dropout_of_whole_channels() -> None:
    mg.manual_seed(0)
    y = F.dropout2d(mg.ones(20, 10, 3, 4), 0.5).numpy()
    assert np.all((y == 0).all(axis=(2, 3)) | (y == 2).all(axis=(2, 3)))
    assert 0.3 < (y == 0).mean() < 0.7


@in_one_test
@pytest.mark.parametrize(
    ("name", "shape", "axes"),
    [
        ("dropout1d", (20, 3), 1), ("dropout1d", (9, 9, 4), 2), ("dropout1d", (9,), None),
        ("dropout1d", (2, 3, 4, 5), None), ("dropout2d", (9, 9), 2), ("dropout2d", (9, 9, 4), 2),
        ("dropout2d", (9, 9, 4, 2, 2), 2), ("dropout2d", (9,), None), ("dropout3d", (20, 3), 1),
        ("dropout3d", (20, 2, 3, 4), 1), ("dropout3d", (9, 9, 2, 3, 4), 2),
        ("dropout3d", (), None), ("feature_alpha_dropout", (9, 9), 2),
        ("feature_alpha_dropout", (9, 9, 3), 2), ("feature_alpha_dropout", (9,), None),
    ],
)  # fmt: skip
def test_which_axes_of_an_input_are_channels(
    name: str, shape: tuple[int, ...], axes: int | None
) -> None:
    """All elements of a channel are kept or none, and channels are drawn apart; as in PyTorch."""
    function, x = getattr(F, name), mg.ones(*shape)
    if axes is None:
        with pytest.raises(mg.errors.ShapeError, match=rf"^{name}: input must .*got shape"):
            function(x, 0.5, True)
        return
    mg.manual_seed(0)
    y = function(x, 0.5, True)
    rows = [y.reshape(*shape[:n], -1) for n in (axes - 1, axes)]
    assert [bool((row == row[..., :1]).all()) for row in rows] == [False, True]


def test_no_function_of_float32_computes_in_double_precision() -> None:
    """No function of a float32 tensor, and no gradient of it, is in double precision."""
    x = mg.tensor(normal(4, 6, dtype="float32"), requires_grad=True)
    t = mg.tensor(classes(6, 4))
    results = [getattr(F, name)(x, **settings) for name, settings in ACTIVATIONS.items()]
    results += [
        F.softmax(x, 1),
        F.layer_norm(x, 6),
        F.cross_entropy(x, t, label_smoothing=0.1),
        F.dropout(x),
        F.normalize(x),
        F.avg_pool1d(x, 3, 2, 1, True, False),
    ]
    results += [
        F.mse_loss(x, x.detach() + 1),
        F.huber_loss(x, x.detach() + 1),
        F.binary_cross_entropy_with_logits(x, x.detach()),
        F.kl_div(x, abs(x.detach())),
    ]
    results += [
        F.scaled_dot_product_attention(x, x, x),
        F.pad(x, (1, 1), value=2.0),
        F.batch_norm(x, training=True),
        F.logsumexp(x, 1),
        F.gelu(x, "tanh"),
    ]
    for y in results:
        assert y.dtype == mg.float32
        (g,) = mg.autograd.grad(y.sum(), x, create_graph=True)
        assert g.dtype == mg.float32


# ---------------------------------------------------------------------------------------- the names


def test_each_function_is_found_again_by_its_name() -> None:
    """Wherever its file is: pickles, hooks and help pages name a function by module and name."""
    assert len(set(F.__all__)) == len(F.__all__)
    for name in F.__all__:
        function = getattr(F, name)
        assert function.__name__ == name and pickle.loads(pickle.dumps(function)) is function


def test_an_unknown_name_is_told_what_functions_are_called() -> None:
    """And not what the files are called that they come from."""
    with pytest.raises(
        AttributeError,
        match=r"^module 'minigrad\.nn\.functional' has no attribute 'embeding'\. Did you mean embedding or embedding_bag\?$",  # noqa: E501
    ):
        F.embeding  # noqa: B018


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        (
            lambda: F.adaptive_avg_pool2d(mg.zeros(1, 1, 4, 4), (2,)),
            ValueError,
            "adaptive_avg_pool2d: output_size must be one number or 2",
        ),
        (
            lambda: F.channel_shuffle(mg.zeros(1, 4, 2), 0),
            ShapeError,
            "channel_shuffle: .* 0 groups",
        ),
        (lambda: F.group_norm(mg.zeros(1, 4, 2), 0), ShapeError, "group_norm: .* 0 groups"),
        (
            lambda: F.conv_transpose2d(mg.zeros(1, 1, 2, 2), mg.zeros(1, 1, 2, 2), groups=0),
            ShapeError,
            "conv_transpose2d: .* 0 groups",
        ),
        (
            lambda: F.pixel_shuffle(mg.zeros(4, 4), 2),
            ShapeError,
            "pixel_shuffle: input must have at least 3 dimensions",
        ),
        (
            lambda: F.pixel_unshuffle(mg.zeros(1, 4, 4), 0),
            ValueError,
            "pixel_unshuffle: the factor must be at least 1, got 0",
        ),
        (lambda: F.unfold(mg.zeros(4, 4), 2), ShapeError, "unfold: input must have 4 dimensions"),
        (lambda: F.glu(mg.tensor(1.0)), ShapeError, "glu: input must have at least 1 dimension"),
        (
            lambda: F.local_response_norm(mg.zeros(3), 2),
            ShapeError,
            "local_response_norm: input must have at least 2 dimensions",
        ),
        (
            lambda: F.local_response_norm(mg.zeros(2, 3), 0),
            ValueError,
            "local_response_norm: size must be at least 1",
        ),
        (
            lambda: F.scaled_dot_product_attention(*[mg.zeros(3)] * 3),
            ShapeError,
            "scaled_dot_product_attention: query",
        ),
        (
            lambda: F.bilinear(mg.zeros(2, 3), mg.zeros(2, 4), mg.zeros(5, 3, 3)),
            ShapeError,
            "bilinear: inputs of shapes",
        ),
        (
            lambda: F.multilabel_margin_loss(mg.zeros(2, 3), mg.zeros(2, 3)),
            DTypeError,
            "multilabel_margin_loss: .* must be integers",
        ),
        (
            lambda: F.multilabel_margin_loss(mg.zeros(1, 2), mg.tensor([[2, -1]])),
            IndexError,
            "multilabel_margin_loss: class 2 is out of",
        ),
        (
            lambda: F.multi_margin_loss(mg.zeros(2, 3), mg.tensor([0, 5])),
            IndexError,
            "multi_margin_loss: class 5 is out of range",
        ),
        (
            lambda: F.max_unpool1d(mg.zeros(1, 1, 2), mg.zeros(1, 1, 2), 2),
            DTypeError,
            "max_unpool1d: indices must be integers",
        ),
        (
            lambda: F.rms_norm(mg.tensor([1, 2]), (2,)),
            DTypeError,
            "rms_norm: needs a floating dtype, got int64",
        ),
        (
            lambda: F.layer_norm(mg.zeros(2, 3), 3, mg.zeros(2)),
            ShapeError,
            r"layer_norm: weight must have shape \(3,\), got \(2,\)",
        ),
        (
            lambda: F.batch_norm(mg.zeros(2, 3), mg.zeros(2), mg.ones(3)),
            ShapeError,
            "batch_norm: running_mean must have shape",
        ),
        (
            lambda: F.instance_norm(mg.zeros(2, 3, 4), weight=mg.zeros(4)),
            ShapeError,
            "instance_norm: weight must have shape",
        ),
        (
            lambda: F.group_norm(mg.zeros(2, 4), 2, bias=mg.zeros(2)),
            ShapeError,
            "group_norm: bias must have shape",
        ),
        (
            lambda: F.pad(mg.zeros(2, 3), (0, 0), mode="edge"),
            ValueError,
            "pad: mode must be .* got 'edge'",
        ),
        (lambda: F.lp_pool2d(mg.zeros(2, 2), 2, 2), ShapeError, "lp_pool2d: input must have"),
        (
            lambda: F.alpha_dropout(mg.zeros(2), 2.0),
            ValueError,
            "alpha_dropout: p is a probability, got 2.0",
        ),
        (
            lambda: F.dropout2d(mg.zeros(2, 2, 2), -1),
            ValueError,
            "dropout2d: p is a probability, got -1",
        ),
    ],
)
def test_a_bad_argument_is_answered_in_the_words_of_the_function(call, error, says):
    with pytest.raises(error, match=f"^{says}"):
        call()


def test_nothing_to_compute_is_no_mistake():
    assert F.adaptive_max_pool2d(mg.zeros(1, 1, 4, 4), (0, 2)).shape == (1, 1, 0, 2)
    assert float(F.cross_entropy(mg.zeros(2, 0), mg.zeros(2, 0))) == 0.0
    image = mg.tensor(np.arange(16, dtype=np.uint8).reshape(1, 1, 4, 4))
    small = F.interpolate(image, size=2, mode="area")
    assert small.dtype == mg.uint8 and small.tolist() == [[[[3, 5], [11, 13]]]]


@pytest.mark.parametrize("dtype", [mg.float16, mg.bfloat16], ids=str)
@pytest.mark.parametrize("name", ["silu", "mish", "hardsigmoid", "hardswish", "softsign"])
def test_activations_in_half_precision_are_rounded_once(name, dtype):
    """Values and gradients are those in float32, rounded: no step between is."""
    function = getattr(mg.nn.functional, name)
    x = (mg.tensor(normal(40, 40)) * 3).to(dtype).requires_grad_()
    wide = x.detach().float().requires_grad_()
    y, z = function(x), function(wide)
    y.backward(mg.ones_like(y))
    z.backward(mg.ones_like(z))
    assert y.dtype == x.grad.dtype == dtype
    assert y.detach().equal(z.detach().to(dtype)) and x.grad.equal(wide.grad.to(dtype))


EMPTY = {
    "convolution without channels": ((1, 0, 3, 3), lambda x: F.conv2d(x, mg.ones(2, 0, 2, 2))),
    "convolution to no channels": ((2, 1, 3), lambda x: F.conv1d(x, mg.ones(0, 1, 2))),
    "convolution of no images": ((0, 2, 3), lambda x: F.conv1d(x, mg.ones(1, 2, 2))),
    "attention without features": (
        (2, 3, 0),
        lambda x: F.scaled_dot_product_attention(x, x, mg.zeros(2, 3, 4)),
    ),
}


@pytest.mark.parametrize("name", EMPTY)
def test_layers_of_nothing_have_zeros_as_gradients(name):
    shape, function = EMPTY[name]
    x = mg.ones(shape).requires_grad_()
    y = function(x)
    y.sum().backward()
    assert not y.any() and x.grad.shape == shape and not x.grad.any()


@pytest.mark.parametrize("target", ["float16", "bfloat16", "float32", "float64", "int64"])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_a_target_that_is_a_sign_does_not_change_the_dtype_of_a_loss(torch, dtype, target):
    for name in ("hinge_embedding_loss", "cosine_embedding_loss"):
        losses = []
        for m in (torch, mg):
            x = m.tensor([[1.0, 2.0], [3.0, -1.0]], dtype=getattr(m, dtype)).requires_grad_()
            sign = m.tensor([1, -1], dtype=getattr(m, target))
            inputs = (x, x.flip(0)) if name.startswith("cosine") else (x,)
            loss = getattr(m.nn.functional, name)(*inputs, sign)
            loss.backward()
            losses.append((str(loss.dtype).removeprefix("torch."), x.grad.dtype == x.dtype))
            losses[-1] += (loss.item(),)
        assert losses[0][:2] == losses[1][:2] == (dtype, True)
        assert abs(losses[0][2] - losses[1][2]) <= 0.01
