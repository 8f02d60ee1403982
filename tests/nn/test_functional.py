"""Functions of `nn.functional`: running statistics and cross entropy against PyTorch, then what
they promise without it: masks, dtypes, names, empty inputs.
"""

import contextlib
import pickle
import types

import numpy as np
import pytest

import minigrad as mg
from minigrad.nn import functional as F
from minigrad.observers import observing
from minigrad.ops import network
from tests.helpers.tables import in_one_test
from tests.helpers.torch_comparison import classes, normal
from tests.helpers.torch_comparison import functionals_agree as agree

# ------------------------------------------------------------------------------------ normalisation


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


# -------------------------------------------------------------------------- convolution and pooling


@in_one_test
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


# ------------------------------------------------------------------------------------------- losses

REDUCTIONS = ["mean", "sum", "none"]


@in_one_test
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


ACTIVATIONS = """relu relu6 leaky_relu elu selu celu gelu silu mish softplus logsigmoid softsign
tanhshrink hardtanh hardsigmoid hardswish softshrink hardshrink sigmoid tanh"""


def test_no_function_of_float32_computes_in_double_precision() -> None:
    """No function of a float32 tensor, and no gradient of it, is in double precision."""
    x = mg.tensor(normal(4, 6, dtype="float32"), requires_grad=True)
    t = mg.tensor(classes(6, 4))
    results = [getattr(F, name)(x) for name in ACTIVATIONS.split()]
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


@in_one_test
@pytest.mark.parametrize("target", ["float16", "bfloat16", "float32", "float64", "int64"])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_a_target_that_is_a_sign_does_not_change_the_dtype_of_a_loss(torch, dtype, target):
    for name in ("hinge_embedding_loss", "cosine_embedding_loss"):
        losses = []
        for m in (torch, mg):
            x = m.tensor([[1.0, 2.0], [3.0, -1.0]], dtype=getattr(m, dtype)).requires_grad_()
            sign = m.tensor([1, -1], dtype=getattr(m, target))
            inputs = (x, x.flip(0)) if name.startswith("cosine") else (x[0],)
            loss = getattr(m.nn.functional, name)(*inputs, sign)
            loss.backward()
            losses.append((str(loss.dtype).removeprefix("torch."), x.grad.dtype == x.dtype))
            losses[-1] += (loss.item(),)
        assert losses[0][:2] == losses[1][:2] == (dtype, True)
        assert abs(losses[0][2] - losses[1][2]) <= 0.01


@pytest.mark.parametrize("shape", [(4, 1), (2, 2), (2,)])
def test_the_operation_of_class_losses_broadcasts_no_targets(shape):
    with pytest.raises(mg.errors.ShapeError, match=r"nll: .* do not fit values of shape \(4, 3\)"):
        network.nll(mg.ones(4, 3), mg.zeros(shape, dtype=mg.int64), axis=1, ignored=-100)


@pytest.mark.parametrize(("change", "x"), [((4, 1), (4,)), ((4,), (4, 1))])
def test_the_derivative_of_standardising_broadcasts_no_change(change, x):
    with pytest.raises(mg.errors.ShapeError, match="standardize: a change of shape"):
        network.standardize_jvp(mg.ones(change), mg.ones(x), axes=(0,), eps=1e-5)
