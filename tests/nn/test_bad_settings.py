"""Layers and losses refuse the settings and inputs that PyTorch refuses, with an exception of
the same kind and words of their own.
"""

import re

import numpy as np
import pytest

import minigrad as mg
from minigrad import nn
from minigrad.errors import ShapeError
from minigrad.nn import functional as F
from tests.helpers.torch_comparison import equal, normal
from tests.helpers.torch_comparison import functionals_agree as agree


def both(torch, expression: str) -> tuple[Exception | None, Exception | None]:
    """What an expression raises here and in PyTorch."""
    raised: list[Exception | None] = []
    for library in (mg, torch):
        try:
            eval(
                expression,
                {"nn": library.nn, "F": library.nn.functional, "z": library.zeros, "m": library},
            )
            raised.append(None)
        except Exception as error:
            raised.append(error)
    return raised[0], raised[1]


REFUSED = {
    "nn.RNN(3, 4, bias=1)": "RNN: bias must be True or False",
    "nn.GRU(3, 4, batch_first=1)": "GRU: batch_first must be True or False",
    "nn.LSTM(0, 4)": "LSTM: sizes must be positive, got input_size=0",
    "nn.RNN(3, 0)": "RNN: sizes must be positive",
    "nn.GRU(3, 4, 0)": "num_layers=0",
    "nn.GRU(3, 1.5)": "GRU: hidden_size must be a whole number",
    "nn.LSTM(3., 2)": "LSTM: input_size must be a whole number",
    "nn.RNN(3, 2, 2, dropout=2)": "RNN: dropout is a probability",
    "nn.RNN(3, 2, 2, dropout=True)": "RNN: dropout is a probability",
    "nn.RNN(4, 2)(z(2, 3, 4, dtype=m.float64))": "RNN: the input's dtype float64",
    "nn.GRU(4, 2)(z(2, 3, 4, dtype=m.int64))": "GRU: the input's dtype int64",
    "nn.RNN(4, 2)(z(2, 3, 4), z(1, 2))": "RNN: the state must be",
    "nn.RNN(4, 2)(z(2, 4), z(1, 1, 2))": "RNN: the state must be",
    "nn.GRU(4, 2)(z(2, 3, 4), z(1, 2, 2))": "GRU: the state must be",
    "nn.LSTM(4, 2)(z(2, 3, 4), (z(1, 2), z(1, 2)))": "LSTM: the state must be",
    "nn.RNN(4, 2)(z(2, 3, 4), z(1, 3, 2, dtype=m.float64))": (
        "RNN: inputs and states must have the dtype of the weights, float32"
    ),
    "nn.RNNCell(4, 2)(z(2, 3, 4))": "RNNCell: input must be",
    "nn.GRUCell(4, 2)(z(2, 3))": r"GRUCell: input must be \(N, 4\) or \(4,\), got shape \(2, 3\)",
    "nn.RNNCell(4, 2)(m.tensor(1.0))": "RNNCell: input must be",
    "nn.RNNCell(4, 2)(z(3, 4), z(2, 2))": "each state must have shape",
    "nn.GRUCell(4, 2)(z(3, 4), z(3, 3))": "each state must have shape",
    "nn.RNNCell(4, 2)(z(3, 4), z(3, 1, 2))": "each state must have shape",
    "nn.RNNCell(4, 2)(z(3, 4), z(2))": "each state must have shape",
    "nn.RNNCell(4, 2)(z(4), z(1, 2))": "each state must have shape",
    "nn.RNNCell(4, 2)(z(3, 4, dtype=m.float64))": "RNNCell: inputs and states must have the dtype",
    "nn.LSTMCell(4, 2)(z(3, 4), (z(3, 2), z(3, 3)))": "LSTMCell: for input",
    "nn.LSTMCell(4, 2)(z(3, 4), z(3, 2))": "LSTMCell: the state is a pair",
    "nn.BatchNorm1d(3, eps=0.0)(z(2, 3, 4))": "batch_norm: eps must be positive in training",
    "F.batch_norm(z(2, 3), None, None, training=True, eps=-1.0)": (
        "batch_norm: eps must be positive in training"
    ),
    "F.cross_entropy(z(2, 3), z(2, 3), ignore_index=1)": (
        "cross_entropy: ignore_index=1 names a class"
    ),
    "nn.HuberLoss(delta=1j)": "HuberLoss: delta must be a real number",
    "F.huber_loss(z(2), z(2), delta=1j)": "huber_loss: delta must be a real number",
    "F.smooth_l1_loss(z(2), z(2), beta=1j)": "smooth_l1_loss: beta must be a real number",
    "nn.CircularPad1d(1)(z(2, 3, 4, 5))": (
        "circular padding of 1d layers: input must have 2 or 3 dimensions"
    ),
    "nn.ReflectionPad2d(1)(z(4, 5))": (
        "reflect padding of 2d layers: input must have 3 or 4 dimensions"
    ),
    "nn.ReplicationPad1d(1)(z(5))": "replicate padding",
    "nn.ConvTranspose1d(2, 2, 3, padding_mode='circular')": (
        'ConvTranspose1d: padding_mode must be "zeros"'
    ),
    "nn.ConvTranspose1d(2, 2, 3, stride=2)(z(1, 2, 4), output_size=[8])": (
        r"output_size must lie from \[9\] to \[10\], got \[8\]"
    ),
    "nn.ConvTranspose1d(2, 2, 3, stride=2)(z(1, 2, 4), output_size=[11])": "output_size must lie",
    "nn.ConvTranspose1d(2, 2, 3, stride=2)(z(1, 2, 4), output_size=[2, 9])": (
        "output_size must have 1 numbers"
    ),
    "nn.ConvTranspose1d(2, 2, 3, stride=2)(z(1, 2, 4), output_size=9)": "",
    "F.mse_loss(z(2, 3), z(2, 3), weight=z(3))": "mse_loss: weight must have the shape of input",
    "F.l1_loss(z(2, 3), z(2, 3), weight=z(3))": "l1_loss: weight",
    "F.huber_loss(z(2, 3), z(2, 3), weight=z(3))": "huber_loss: weight",
    "F.margin_ranking_loss(z(3), z(3, 1), z(3))": "input1 \\(3,\\), input2 \\(3, 1\\)",
    "F.triplet_margin_loss(z(3, 4), z(3, 4), z(4))": "triplet_margin_loss: all must have the same",
    "F.pad(z(1, 2), (1.5, 1))": "pad: the numbers of elements must be whole numbers",
    "F.cosine_embedding_loss(z(5, 3), z(5, 3), z(5, 1))": "got inputs of shape",
    "F.cosine_embedding_loss(z(3), z(3), z(3))": "got inputs of shape",
    "F.cosine_embedding_loss(z(5, 3), z(5, 3), z(()))": "got inputs of shape",
    "F.interpolate(z(1, 1, 4), size=(2.5,))": "interpolate: size must be whole numbers",
    "F.max_pool1d(z(1, 1, 4), (2.5,))": "max_pool1d: kernel_size must be whole numbers",
    "nn.utils.parametrizations.orthogonal(nn.Linear(3, 4)).__setattr__('weight', z(5, 5))": (
        r"orthogonal: the weight has shape \(4, 3\)"
    ),
    "F.fractional_max_pool3d(z(2, 6, 6, 6), 2, 3, _random_samples=z(2, 3))": (
        "_random_samples must have the shape"
    ),
    "F.fractional_max_pool3d(z(3, 2, 6, 6, 6), 2, 3, _random_samples=z(1, 2, 3))": (
        "_random_samples must have the shape"
    ),
}


@pytest.mark.oracle
@pytest.mark.parametrize("expression", REFUSED)
def test_it_is_refused_as_in_pytorch(torch, expression: str) -> None:
    ours, theirs = both(torch, expression)
    assert theirs is not None and ours is not None
    assert isinstance(ours, type(theirs)) or (
        type(theirs) is NotImplementedError and isinstance(ours, RuntimeError)
    )
    assert re.search(REFUSED[expression], str(ours))


@pytest.mark.oracle
@pytest.mark.parametrize(
    "expression",
    [
        "nn.RNN(3, 4, bidirectional=1)",
        "nn.BatchNorm1d(3, eps=0.0).eval()(z(2, 3, 4))",
        "nn.InstanceNorm1d(3, eps=0.0)(m.rand(2, 3, 4))",
        "F.cross_entropy(z(2, 3), z(2, 3), ignore_index=-1)",
        "nn.ZeroPad1d(1)(z(2, 3, 4, 5))",
        "nn.ConstantPad2d(1, 2)(z(4, 5))",
        "F.fractional_max_pool3d(z(2, 6, 6, 6), 2, 3, _random_samples=z(2, 2, 3))",
    ],
)  # fmt: skip
def test_what_pytorch_allows_is_allowed(torch, expression: str) -> None:
    assert both(torch, expression) == (None, None)


def test_embeddings_without_being_in_range() -> None:
    for layer in (nn.Embedding, nn.EmbeddingBag):
        for row in (3, -4):
            with pytest.raises(
                IndexError, match=f"{layer.__name__}: padding_idx {row} is not one of 3 rows"
            ):
                layer(3, 2, padding_idx=row)
        with pytest.raises(ShapeError, match="from_pretrained: embeddings must be a matrix"):
            layer.from_pretrained(mg.zeros(3))
    with pytest.raises(NotImplementedError, match="dense"):
        nn.Embedding(3, 2, sparse=True)


@pytest.mark.oracle
@pytest.mark.parametrize("shape", [(0, 3, 4), (0, 3), (2, 3, 0)])
def test_an_empty_batch_moves_no_running_statistics(torch, shape: tuple[int, ...]) -> None:
    ours, theirs = nn.BatchNorm1d(3), torch.nn.BatchNorm1d(3)
    x, y = mg.zeros(*shape, requires_grad=True), torch.zeros(*shape, requires_grad=True)
    for layer, v in ((ours, x), (theirs, y)):
        layer(v).sum().backward()
    assert ours(x).shape == shape and x.grad.shape == shape
    for name, value in theirs.named_buffers():
        np.testing.assert_array_equal(
            dict(ours.named_buffers())[name].numpy() - (name == "num_batches_tracked"),
            value.numpy(),
            name,
        )
    for name, value in theirs.named_parameters():
        np.testing.assert_array_equal(
            dict(ours.named_parameters())[name].grad.numpy(), value.grad.numpy(), name
        )


@pytest.mark.oracle
@pytest.mark.parametrize("loss", ["mse_loss", "l1_loss", "huber_loss"])
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_weighted_losses_agree_with_pytorch(torch, loss: str, reduction: str) -> None:
    x, t, w = normal(2, 3), normal(2, 3, seed=1), abs(normal(2, 3, seed=2))
    agree(
        torch,
        lambda F, x, t, w: getattr(F, loss)(x, t, reduction=reduction, weight=w),
        x,
        t,
        w,
        order=1,
    )


@pytest.mark.oracle
@pytest.mark.parametrize("p", [2.0, 3.0, float("inf"), -float("inf")])
def test_p_norms_of_volumes(torch, p: float) -> None:
    x = abs(normal(2, 3, 5, 4, 6))
    order = 2 if np.isfinite(p) else 1
    agree(
        torch,
        lambda F, x: [F.lp_pool3d(x, p, 2), F.lp_pool3d(x[0], p, (2, 1, 3), 2, ceil_mode=True)],
        x,
        order=order,
    )
    agree(
        torch, lambda F, x: [F.lp_pool1d(x[:, 0, 0], p, 2), F.lp_pool2d(x[0], p, 2)], x, order=order
    )
    assert nn.LPPool3d(2, 2)(mg.tensor(x)).shape == (2, 3, 2, 2, 3)


@pytest.mark.oracle
def test_samples_of_one_volume_are_the_first(torch) -> None:
    x, u = normal(2, 8, 9, 7), np.random.default_rng(0).random((3, 2, 3))
    agree(
        torch,
        lambda F, x: F.fractional_max_pool3d(
            x, 2, 3, _random_samples=(mg if F is mg.nn.functional else torch).tensor(u)
        ),
        x,
        order=1,
    )


@pytest.mark.oracle
@pytest.mark.parametrize("sizes", [(9, 7), (10, 8), (1, 2, 10, 7)])
def test_the_output_size_of_transposed_convolutions(torch, sizes: tuple[int, ...]) -> None:
    settings = {"stride": 2, "padding": (0, 1), "dilation": (1, 2)}
    ours, theirs = (
        nn.ConvTranspose2d(2, 3, 3, **settings).double(),
        torch.nn.ConvTranspose2d(2, 3, 3, **settings).double(),
    )
    ours.load_state_dict({name: value.numpy() for name, value in theirs.state_dict().items()})
    x = normal(1, 2, 4, 3)
    equal(
        ours(mg.tensor(x), output_size=sizes),
        theirs(torch.tensor(x), output_size=sizes),
        "batch",
        1e-10,
    )
    equal(
        ours(mg.tensor(x[0]), sizes[-2:]),
        theirs(torch.tensor(x[0]), sizes[-2:]),
        "one image",
        1e-10,
    )


@pytest.mark.oracle
@pytest.mark.parametrize("layer", ["Embedding", "EmbeddingBag"])
@pytest.mark.parametrize("freeze", [True, False])
def test_given_rows_are_the_weight_itself(torch, layer: str, freeze: bool) -> None:
    numbers = normal(4, 3)
    rows, theirs = (
        mg.tensor(numbers),
        getattr(torch.nn, layer).from_pretrained(torch.tensor(numbers), freeze, padding_idx=-1),
    )
    ours = getattr(nn, layer).from_pretrained(rows, freeze, padding_idx=-1)
    assert ours.extra_repr() == theirs.extra_repr() and list(ours.state_dict()) == ["weight"]
    assert [(n, p.requires_grad) for n, p in ours.named_parameters()] == [
        (n, p.requires_grad) for n, p in theirs.named_parameters()
    ]
    index = np.array([[0, 3, 0], [1, 2, 3]])
    y, z = ours(mg.tensor(index)), theirs(torch.tensor(index))
    equal(y, z, "rows", 1e-12)
    assert y.requires_grad == z.requires_grad == (not freeze) and not rows.requires_grad
    if not freeze:
        y.sum().backward()
        z.sum().backward()
        equal(ours.weight.grad, theirs.weight.grad, "gradient", 1e-12)
        with mg.no_grad():
            ours.weight.zero_()
        assert float(abs(rows).sum()) == 0  # one memory
    assert F.embedding(mg.tensor([1]), rows).shape == (1, 3)


@pytest.mark.oracle
def test_the_settings_of_an_embedding_count(torch) -> None:
    numbers, index = normal(4, 3), np.array([0, 2, 0])
    settings = {"freeze": False, "max_norm": 0.5, "norm_type": 1.0, "scale_grad_by_freq": True}
    ours, theirs = (
        nn.Embedding.from_pretrained(mg.tensor(numbers), **settings),
        torch.nn.Embedding.from_pretrained(torch.tensor(numbers), **settings),
    )
    y, z = ours(mg.tensor(index)), theirs(torch.tensor(index))
    y.sum().backward()
    z.sum().backward()
    equal(y, z, "rows", 1e-6)
    equal(ours.weight.grad, theirs.weight.grad, "gradient", 1e-12)
    equal(ours.weight, theirs.weight, "shortened rows", 1e-6)
