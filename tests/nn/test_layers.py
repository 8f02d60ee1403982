"""Every layer against PyTorch's, from the same state: results, gradients of inputs and
parameters, buffers afterwards. And the modules' own manners.
"""

# tables: one case a line

import copy
import functools
import inspect
import io
import itertools
import pickle
from typing import Any

import numpy as np
import pytest

import minigrad as mg
from minigrad import nn
from tests.helpers.tables import in_one_test
from tests.helpers.torch_comparison import classes, equal, flat, normal

single = lambda *shape, seed=0: normal(*shape, seed=seed, dtype="float32")


def masked(attention):
    """With the last key forbidden to all, and the second to the first query."""
    forbidden = np.zeros((3, 4), dtype=bool)
    forbidden[:, 3] = forbidden[0, 1] = True
    tensor = mg.tensor if isinstance(attention, nn.Module) else __import__("torch").tensor
    plain = attention.forward
    mask = functools.cache(lambda device: tensor(forbidden, device=device))
    attention.forward = lambda q, k, v: plain(q, k, v, attn_mask=mask(q.device))
    return attention


LAYERS = {
    "linear": (lambda nn: nn.Linear(4, 3), [single(5, 4)]),
    "linear without bias": (lambda nn: nn.Linear(4, 3, bias=False), [single(2, 5, 4)]),
    "upsample weighed": (lambda nn: nn.Upsample(scale_factor=2, mode="bilinear",
        align_corners=True), [single(2, 2, 3, 4)]),
    "module dict": (
        lambda nn: nn.Sequential(*nn.ModuleDict({"a": nn.Linear(4, 3),
            "b": nn.ModuleDict([("c", nn.Linear(3, 2))])["c"]}).values()),
        [single(5, 4)],
    ),
    "bilinear": (lambda nn: nn.Bilinear(3, 4, 2), [single(5, 3), single(5, 4)]),
    "embedding": (lambda nn: nn.Embedding(7, 3, padding_idx=2), [classes(7, 4, 5)]),
    "bags": (lambda nn: nn.EmbeddingBag(7, 3, padding_idx=2), [classes(7, 4, 5)]),
    "bags, the largest": (lambda nn: nn.EmbeddingBag(7, 3, mode="max", include_last_offset=True),
        [classes(7, 9), np.array([0, 4, 4, 9])]),
    "bags, a weighed sum": (lambda nn: nn.EmbeddingBag(7, 3, 2.0, mode="sum"),
        [classes(7, 9), np.array([0, 4, 4]), single(9)]),
    "fractional": (
        lambda nn: nn.FractionalMaxPool2d(2, output_size=(3, 4),
            _random_samples=(mg if nn is mg.nn else __import__("torch")).full((2, 2, 2), 0.3)),
        [single(2, 2, 6, 7)],
    ),
    "fractional 3d": (
        lambda nn: nn.FractionalMaxPool3d(2, output_ratio=0.5, return_indices=True,
            _random_samples=(mg if nn is mg.nn else __import__("torch")).full((2, 2, 3), 0.6)),
        [single(2, 2, 6, 7, 5)],
    ),
    "conv1d": (lambda nn: nn.Conv1d(2, 4, 3, stride=2, padding=1), [single(2, 2, 9)]),
    "conv2d": (lambda nn: nn.Conv2d(2, 4, 3, padding=1), [single(2, 2, 6, 6)]),
    "conv2d groups": (lambda nn: nn.Conv2d(4, 6, (3, 2), 2, 1, 1, 2, False), [single(2, 4, 7, 6)]),
    "conv2d same": (lambda nn: nn.Conv2d(2, 4, 3, padding="same", dilation=2),
        [single(2, 2, 6, 6)]),
    "conv2d reflect": (lambda nn: nn.Conv2d(2, 4, 3, padding=(1, 2), padding_mode="reflect"),
        [single(2, 2, 6, 5)]),
    "conv2d circular": (lambda nn: nn.Conv2d(2, 4, 3, padding=1, padding_mode="circular"),
        [single(2, 2, 6, 5)]),
    "transposed 1d": (lambda nn: nn.ConvTranspose1d(4, 6, 3, 2, 1, 1, groups=2), [single(2, 4, 5)]),
    "transposed 2d": (lambda nn: nn.ConvTranspose2d(4, 6, 3, 2, 1, 1, groups=2),
        [single(2, 4, 5, 4)]),
    "max pool": (lambda nn: nn.MaxPool2d(3, 1, padding=1), [single(2, 2, 6, 5)]),
    "max pool 1d": (lambda nn: nn.MaxPool1d(3, return_indices=True), [single(2, 2, 7)]),
    "avg pool": (lambda nn: nn.AvgPool2d(3, 1, padding=1), [single(2, 2, 6, 5)]),
    "avg pool 1d": (lambda nn: nn.AvgPool1d(2, ceil_mode=True), [single(2, 2, 7)]),
    "adaptive": (lambda nn: nn.Sequential(nn.AdaptiveAvgPool2d(4), nn.AdaptiveMaxPool2d((2, 1))),
        [single(2, 3, 7, 5)]),
    "batch norm": (lambda nn: nn.BatchNorm2d(3), [single(4, 3, 5, 5)]),
    "batch norm 1d": (lambda nn: nn.BatchNorm1d(3), [single(4, 3)]),
    "batch norm eval": (lambda nn: nn.BatchNorm1d(3).eval(), [single(4, 3, 2)]),
    "batch norm average": (lambda nn: nn.BatchNorm2d(3, momentum=None), [single(4, 3, 5, 5)]),
    "batch norm untracked": (lambda nn: nn.BatchNorm2d(3, affine=False,
        track_running_stats=False).eval(), [single(4, 3, 5, 5)]),
    "layer norm": (lambda nn: nn.LayerNorm((3, 4)), [single(5, 3, 4)]),
    "group norm": (lambda nn: nn.GroupNorm(2, 4), [single(5, 4, 3)]),
    "prelu": (lambda nn: nn.PReLU(3), [single(2, 3, 4)]),
    "shapes": (lambda nn: nn.Sequential(nn.Flatten(), nn.Unflatten(1, (3, 2)), nn.Identity()),
        [single(4, 2, 3)]),
    "upsample by the sizes' ratio": (
        lambda nn: nn.Upsample(scale_factor=2.5, mode="linear", recompute_scale_factor=True),
        [single(2, 2, 3)],
    ),
    "upsample": (lambda nn: nn.Upsample(scale_factor=2), [single(2, 2, 3, 3)]),
    "dropout eval": (lambda nn: nn.Dropout(0.5).eval(), [single(4, 3)]),
    "rnn": (lambda nn: nn.RNN(3, 4), [single(5, 2, 3)]),
    "rnn relu": (lambda nn: nn.RNN(3, 4, nonlinearity="relu"), [single(5, 2, 3), single(1, 2, 4)]),
    "lstm": (lambda nn: nn.LSTM(3, 4, num_layers=2, bidirectional=True), [single(5, 2, 3)]),
    "lstm batch first": (lambda nn: nn.LSTM(3, 4, bias=False, batch_first=True), [single(5, 2, 3)]),
    "lstm unbatched": (lambda nn: nn.LSTM(3, 4), [single(5, 3)]),
    "gru": (lambda nn: nn.GRU(3, 4, num_layers=2, bidirectional=True),
        [single(5, 2, 3), single(4, 2, 4)]),
    "rnn cell": (lambda nn: nn.RNNCell(3, 4), [single(5, 3)]),
    "lstm cell": (lambda nn: nn.LSTMCell(3, 4), [single(5, 3)]),
    "gru cell": (lambda nn: nn.GRUCell(3, 4), [single(5, 3), single(5, 4)]),
    "lstm projected": (lambda nn: nn.LSTM(3, 5, num_layers=2, bidirectional=True, proj_size=2),
        [single(4, 2, 3)]),
    "rnn cell relu": (lambda nn: nn.RNNCell(3, 4, nonlinearity="relu"), [single(5, 3)]),
    "attention more": (lambda nn: nn.MultiheadAttention(8, 2, add_bias_kv=True, add_zero_attn=True,
        kdim=3, vdim=5, batch_first=True), [single(2, 5, 8), single(2, 4, 3), single(2, 4, 5)]),
    "attention masked more": (lambda nn: masked(nn.MultiheadAttention(8, 2, add_bias_kv=True,
        add_zero_attn=True)), [single(3, 2, 8), single(4, 2, 8), single(4, 2, 8)]),
    "transformer without bias": (lambda nn: nn.TransformerEncoderLayer(8, 2, 16, 0.0,
        lambda x: x * x, bias=False), [single(5, 3, 8)]),
    "avg pool divided": (lambda nn: nn.Sequential(nn.AvgPool2d(2, 1, divisor_override=3),
        nn.BatchNorm2d(2, bias=False), nn.GroupNorm(1, 2, bias=False)), [single(2, 2, 5, 4)]),
    "attention": (lambda nn: nn.MultiheadAttention(8, 2),
        [single(5, 3, 8), single(4, 3, 8), single(4, 3, 8)]),
    "attention batch first": (lambda nn: nn.MultiheadAttention(8, 4, bias=False, batch_first=True),
        [single(5, 3, 8), single(5, 4, 8), single(5, 4, 8)]),
    "transformer": (lambda nn: nn.TransformerEncoderLayer(8, 2, 16, 0.0), [single(5, 3, 8)]),
    "transformer norm first": (lambda nn: nn.TransformerEncoderLayer(8, 2, 16, 0.0, "gelu",
        batch_first=True, norm_first=True), [single(5, 3, 8)]),
    "transformer stack": (lambda nn: nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, 0.0,
        batch_first=True), 2, nn.LayerNorm(8)), [single(2, 5, 8)]),
    "transformer decoder": (lambda nn: nn.TransformerDecoder(nn.TransformerDecoderLayer(8, 2, 16,
        0.0), 2), [single(3, 2, 8), single(5, 2, 8, seed=1)]),
    "decoder norm first": (lambda nn: nn.TransformerDecoderLayer(8, 2, 16, 0.0, "gelu",
        batch_first=True, norm_first=True, bias=False), [single(2, 3, 8), single(2, 5, 8, seed=1)]),
    "transformer whole": (lambda nn: nn.Transformer(8, 2, 2, 1, 16, 0.0),
        [single(5, 2, 8), single(3, 2, 8, seed=1)]),
    "transformer of one": (lambda nn: nn.Transformer(8, 4, 1, 2, 16, 0.0, "gelu", batch_first=True,
        norm_first=True), [single(5, 8), single(3, 8, seed=1)]),
    "activations": (lambda nn: nn.Sequential(nn.ReLU(), nn.LeakyReLU(0.2), nn.ELU(alpha=0.5),
        nn.GELU(approximate="tanh"), nn.Softplus(2.0), nn.Tanh()), [single(4, 5)]),
    "more activations": (lambda nn: nn.Sequential(nn.SiLU(), nn.Mish(), nn.Hardswish(),
        nn.Sigmoid(), nn.LogSoftmax(dim=1), nn.Softmax(dim=0)), [single(4, 5)]),
    "mse": (lambda nn: nn.MSELoss(), [single(4, 5), single(4, 5, seed=1)]),
    "cross entropy": (lambda nn: nn.CrossEntropyLoss(label_smoothing=0.1, reduction="sum"),
        [single(4, 5), classes(5, 4)]),
    "nll": (lambda nn: nn.NLLLoss(ignore_index=1), [single(4, 5), classes(5, 4)]),
    "bce logits": (lambda nn: nn.BCEWithLogitsLoss(), [single(4, 5), abs(single(4, 5, seed=1))]),
    "transposed 3d": (lambda nn: nn.ConvTranspose3d(2, 4, 2, 2, 1, 1), [single(1, 2, 3, 3, 3)]),
    "pools 3d": (lambda nn: nn.Sequential(nn.MaxPool3d(2, 1), nn.AvgPool3d(2, 1),
        nn.AdaptiveAvgPool3d((2, 3, 2)), nn.AdaptiveMaxPool3d(1)), [single(2, 2, 5, 6, 5)]),
    "adaptive places": (lambda nn: nn.AdaptiveMaxPool2d((3, 2), return_indices=True),
        [single(2, 3, 7, 5)]),
    "batch norm 3d": (lambda nn: nn.BatchNorm3d(3), [single(4, 3, 2, 3, 2)]),
    "instance norm 1d": (lambda nn: nn.InstanceNorm1d(3), [single(3, 5)]),
    "instance norm 2d": (lambda nn: nn.InstanceNorm2d(3, affine=True, track_running_stats=True),
        [single(2, 3, 5, 4)]),
    "instance norm eval": (lambda nn: nn.InstanceNorm3d(3, track_running_stats=True).eval(),
        [single(2, 3, 2, 3, 2)]),
    "rms norm": (lambda nn: nn.RMSNorm((3, 4), eps=0.01), [single(5, 3, 4)]),
    "rrelu": (lambda nn: nn.RReLU().eval(), [single(4, 5)]),
    "paddings": (lambda nn: nn.Sequential(nn.ZeroPad2d(1), nn.ReflectionPad2d((1, 0, 2, 1)),
        nn.ReplicationPad2d(1), nn.CircularPad2d(1), nn.ConstantPad2d((0, 1, 0, 0), 3.5)),
        [single(1, 2, 4, 4)]),
    "paddings 1d": (lambda nn: nn.Sequential(nn.ReflectionPad1d(2), nn.ConstantPad1d(1, 0.5),
        nn.ZeroPad1d((1, 0))), [single(2, 3, 5)]),
    "paddings 3d": (lambda nn: nn.Sequential(nn.ReplicationPad3d(1), nn.ReflectionPad3d(1),
        nn.ZeroPad3d(1), nn.CircularPad3d((0, 1, 0, 0, 1, 0))), [single(1, 2, 3, 3, 3)]),
    "pixels": (lambda nn: nn.Sequential(nn.PixelShuffle(2), nn.ChannelShuffle(2),
        nn.PixelUnshuffle(downscale_factor=2)), [single(1, 8, 2, 3)]),
    "resized": (lambda nn: nn.Sequential(nn.UpsamplingNearest2d(scale_factor=2),
        nn.UpsamplingBilinear2d(size=(3, 5))), [single(1, 2, 3, 4)]),
    "responses": (lambda nn: nn.LocalResponseNorm(3, alpha=0.1), [single(2, 5, 4)]),
    "distances": (lambda nn: nn.PairwiseDistance(p=1.0, keepdim=True),
        [single(4, 5), single(4, 5, seed=1)]),
    "cosines": (lambda nn: nn.CosineSimilarity(dim=-1), [single(4, 5), single(4, 5, seed=1)]),
    "norm pools": (lambda nn: nn.Sequential(nn.LPPool2d(2, 2, 1), nn.Flatten(2),
        nn.LPPool1d(2.0, 3)), [abs(single(1, 2, 4, 4))]),
    "in place": (lambda nn: nn.Sequential(nn.Linear(5, 4), nn.ReLU(inplace=True), nn.Linear(4, 3),
        nn.LeakyReLU(0.1, True), nn.Threshold(0.1, 2.0), nn.Softmax2d()), [single(2, 2, 4, 5)]),
    "hinge": (lambda nn: nn.HingeEmbeddingLoss(margin=0.5),
        [single(4, 5), 2 * classes(2, 4, 5) - 1]),
    "multi margin": (lambda nn: nn.MultiMarginLoss(p=2), [single(4, 5), classes(5, 4)]),
    "multilabel soft margin": (lambda nn: nn.MultiLabelSoftMarginLoss(),
        [single(4, 5), abs(single(4, 5, seed=1))]),
    "poisson": (lambda nn: nn.PoissonNLLLoss(full=True), [single(4, 5), abs(single(4, 5, seed=1))]),
    "gaussian": (lambda nn: nn.GaussianNLLLoss(),
        [single(4, 5), single(4, 5, seed=1), abs(single(4, 5, seed=2))]),
    "ranking": (lambda nn: nn.MarginRankingLoss(0.2),
        [single(4, 5), single(4, 5, seed=1), np.sign(single(4, 5, seed=2))]),
    "cosine embedding": (lambda nn: nn.CosineEmbeddingLoss(),
        [single(4, 5), single(4, 5, seed=1), 2 * classes(2, 4) - 1]),
    "triplet": (lambda nn: nn.TripletMarginLoss(swap=True),
        [single(4, 5), single(4, 5, seed=1), single(4, 5, seed=2)]),
    "huber": (lambda nn: nn.Sequential(nn.Identity(), nn.Linear(5, 2)), [single(4, 5)]),
}  # fmt: skip


@in_one_test
@pytest.mark.oracle
@pytest.mark.filterwarnings("ignore::UserWarning:torch.*")
@pytest.mark.parametrize("name", LAYERS)
def test_each_layer_agrees_with_pytorch(torch, name: str) -> None:
    make, arrays = LAYERS[name]
    ours, theirs = make(nn), make(torch.nn)
    state = {key: value.numpy().copy() for key, value in theirs.state_dict().items()}
    assert {k: v.shape for k, v in ours.state_dict().items()} == {
        k: v.shape for k, v in state.items()
    }
    ours.load_state_dict(state)
    mine = [mg.tensor(a, requires_grad=a.dtype.kind == "f") for a in arrays]
    other = [torch.tensor(a, requires_grad=a.dtype.kind == "f") for a in arrays]
    y, z = flat(ours(*mine)), flat(theirs(*other))
    assert len(y) == len(z)
    total, sum_ = mg.tensor(0.0), torch.tensor(0.0)
    for i, (a, b) in enumerate(zip(y, z, strict=True)):
        equal(a, b, f"result {i}", 2e-5)
        if b.is_floating_point():
            seed = single(*a.shape, seed=i)
            total, sum_ = total + (a * mg.tensor(seed)).sum(), sum_ + (b * torch.tensor(seed)).sum()
    total.backward()
    sum_.backward()
    for (key, p), q in zip(ours.named_parameters(), theirs.parameters(), strict=True):
        equal(p.grad, q.grad, f"gradient of {key}", 5e-5)
    for i, (a, b) in enumerate(zip(mine, other, strict=True)):
        if b.requires_grad:
            equal(a.grad, b.grad, f"gradient of input {i}", 5e-5)
    for key, value in theirs.state_dict().items():
        np.testing.assert_allclose(
            ours.state_dict()[key].numpy(), value.numpy(), rtol=2e-5, atol=2e-5, err_msg=key
        )


@pytest.mark.oracle
def test_attention_with_masks_agrees_with_pytorch(torch) -> None:
    ours = nn.MultiheadAttention(8, 2, batch_first=True)
    theirs = torch.nn.MultiheadAttention(8, 2, batch_first=True)
    ours.load_state_dict({k: v.numpy() for k, v in theirs.state_dict().items()})
    q, k = single(3, 4, 8), single(3, 5, 8, seed=1)
    forbidden = np.triu(np.ones((4, 5), bool), 2)
    padding = np.zeros((3, 5), bool)
    padding[1, 3:] = True
    numbers = single(3 * 2, 4, 5)
    for mask, keys in (
        (forbidden, None),
        (None, padding),
        (forbidden, padding),
        (numbers, None),
        (numbers[0], None),
    ):
        both = [
            lib(
                make(q),
                make(k),
                make(k),
                None if keys is None else make(keys),
                attn_mask=None if mask is None else make(mask),
            )
            for lib, make in ((ours, mg.tensor), (theirs, torch.tensor))
        ]
        for a, b in zip(*both, strict=True):
            equal(a, b, "masked attention", 1e-5)


@pytest.mark.oracle
def test_initial_parameters_have_pytorchs_spread(torch) -> None:
    mg.manual_seed(0)
    torch.manual_seed(0)
    for make in (
        lambda nn: nn.Linear(300, 200),
        lambda nn: nn.Conv2d(30, 40, 3),
        lambda nn: nn.Embedding(300, 50),
        lambda nn: nn.LSTM(60, 80),
    ):
        for (key, p), q in zip(
            make(nn).named_parameters(), make(torch.nn).parameters(), strict=True
        ):
            a, b = p.detach().numpy(), q.detach().numpy()
            assert abs(a.std() / b.std() - 1) < 0.15, key
            assert abs(a.max() / b.max() - 1) < 0.25, key


@pytest.mark.oracle
@pytest.mark.parametrize(
    "name",
    [
        "xavier_uniform_",
        "xavier_normal_",
        "kaiming_uniform_",
        "kaiming_normal_",
        "trunc_normal_",
        "orthogonal_",
        "eye_",
        "ones_",
        "normal_",
        "uniform_",
    ],
)
def test_initial_values_are_spread_as_in_pytorch(torch, name: str) -> None:
    mg.manual_seed(0)
    torch.manual_seed(0)
    for shape in ((80, 60), (60, 80), (30, 20, 3, 3))[: 2 if name == "eye_" else 3]:
        ours, theirs = mg.zeros(*shape, requires_grad=True), torch.zeros(*shape)
        assert getattr(nn.init, name)(ours) is ours
        assert ours.is_leaf and ours.dtype == mg.float32
        getattr(torch.nn.init, name)(theirs)
        a, b = ours.detach().numpy(), theirs.numpy()
        assert abs(a.std() - b.std()) < 0.05 * (b.std() + 1e-06)
        assert abs(a.mean() - b.mean()) < 0.05 * (b.std() + 1e-06)
        assert np.quantile(a, 0.95) == pytest.approx(np.quantile(b, 0.95), rel=0.15, abs=1e-6)
    if name == "orthogonal_":
        matrix = nn.init.orthogonal_(mg.zeros(5, 3), gain=2.0).numpy()
        np.testing.assert_allclose(matrix.T @ matrix, 4 * np.eye(3), atol=1e-5)
    for kind in ("relu", "tanh", "leaky_relu", "sigmoid", "linear", "selu"):
        assert nn.init.calculate_gain(kind) == pytest.approx(torch.nn.init.calculate_gain(kind))


@in_one_test
@pytest.mark.oracle
@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("shape", [(4, 3, 3), (6, 2, 3, 4), (2, 5, 1, 2, 3)])
def test_dirac_weights_are_pytorchs(torch, shape: tuple[int, ...], groups: int) -> None:
    ours = nn.init.dirac_(mg.ones(*shape), groups)
    assert ours.tolist() == torch.nn.init.dirac_(torch.ones(*shape), groups).tolist()


def test_sparse_weights_have_zeros_in_each_column() -> None:
    mg.manual_seed(0)
    w = nn.init.sparse_(mg.ones(50, 40), 0.31, std=2.0)
    assert ((w == 0).sum(0) == 16).all() and 1.8 < w[w != 0].std() < 2.2
    assert len({tuple(column) for column in (w == 0).T.tolist()}) > 30


# ------------------------------------------------------------------------------------------ modules


def network() -> nn.Sequential:
    sizes = [2, 25, 25, 25, 2]
    stages: list = []
    for a, b in itertools.pairwise(sizes):
        stages += [nn.Linear(in_dim=a, out_dim=b), nn.ReLU()]
    return nn.Sequential(*stages[:-1], nn.Softmax(dim=1))


def test_repr_is_a_readable_tree() -> None:
    assert repr(network()) == (
        "Sequential(\n  (0): Linear(in_features=2, out_features=25, bias=True)\n  (1): ReLU()\n  (2): Linear(in_features=25, out_features=25, bias=True)\n  (3): ReLU()\n  (4): Linear(in_features=25, out_features=25, bias=True)\n"  # noqa: E501
        "  (5): ReLU()\n  (6): Linear(in_features=25, out_features=2, bias=True)\n  (7): Softmax(dim=1)\n)"  # noqa: E501
    )
    assert "\n  (1): Sequential(\n    (0): ReLU()\n  )" in repr(
        nn.Sequential(nn.Tanh(), nn.Sequential(nn.ReLU()))
    )
    assert (
        repr(nn.Conv2d(1, 32, 3, padding=1, bias=False))
        == "Conv2d(1, 32, kernel_size=(3, 3), stride=(1, 1), padding=(1, 1), bias=False)"
    )


class Nested(nn.Module):
    """Parameters in attributes and containers; one of them twice."""

    def __init__(self) -> None:
        self.first = nn.Linear(2, 3)
        self.others = nn.ModuleList([nn.Linear(3, 3), nn.ModuleDict({"deep": nn.Linear(3, 1)})])
        self.scale = nn.Parameter(mg.ones(3))
        self.again = self.scale
        self.constant = mg.ones(3)
        self.register_buffer("count", mg.zeros(1))

    def forward(self, x):
        return self.others[1]["deep"](self.others[0](self.first(x) * self.scale))


def test_parameters_are_found_by_attribute() -> None:
    model = Nested()
    names = [name for name, _ in model.named_parameters()]
    assert sorted(names) == sorted(
        [
            "scale",
            *(
                f"{m}.{p}"
                for m in ("first", "others.0", "others.1.deep")
                for p in ("weight", "bias")
            ),
        ]
    )
    assert len(model.params()) == len(names) == len({id(p) for p in model.parameters()})
    assert [name for name, _ in model.named_buffers()] == ["count"]
    assert {"count", "scale"} < set(model.state_dict())
    model(mg.ones(4, 2)).sum().backward()
    assert all(p.grad is not None for p in model.parameters())
    model.zero_grad()
    assert all(p.grad is None for p in model.parameters())


def test_freezing_and_thawing() -> None:
    model = Nested().requires_grad_(False)
    assert not any(p.requires_grad for p in model.parameters()) and len(model.params()) == 7
    model.requires_grad_()
    assert all(p.requires_grad for p in model.parameters())


def test_training_switch_reaches_all_inside() -> None:
    model = nn.Sequential(nn.Dropout(0.5), nn.Sequential(nn.BatchNorm1d(3)))
    assert all(m.training for m in model.modules())
    model.eval()
    assert not any(m.training for m in model.modules())
    x = mg.rand(4, 3)
    np.testing.assert_array_equal(model(x).detach().numpy(), model(x).detach().numpy())


def test_state_goes_through_a_file(tmp_path) -> None:
    model, other = Nested(), Nested()
    model.save(tmp_path / "state.npz")
    other.load(tmp_path / "state.npz")
    for a, b in zip(model.parameters(), other.parameters(), strict=True):
        np.testing.assert_array_equal(a.detach().numpy(), b.detach().numpy())
    memory = io.BytesIO()
    model.save(memory)
    memory.seek(0)
    other.load(memory)


def test_a_file_with_pickled_objects_is_refused(tmp_path) -> None:
    np.savez(tmp_path / "evil.npz", weight=np.array([{"a": 1}], dtype=object))
    with pytest.raises(ValueError, match="plain arrays"):
        nn.Linear(1, 1).load(tmp_path / "evil.npz")


def test_wrong_states_are_listed_and_change_nothing() -> None:
    model = nn.Linear(2, 3)
    before = model.weight.detach().clone().numpy()
    with pytest.raises(
        nn.StateError,
        match=r"missing: bias(.|\n)*unknown: extra(.|\n)*weight: shape \(3, 3\) does not fit \(3, 2\)",  # noqa: E501
    ):
        model.load_state_dict({"weight": np.zeros((3, 3)), "extra": np.zeros(1)})
    np.testing.assert_array_equal(model.weight.detach().numpy(), before)
    model.load_state_dict({"bias": np.ones(3)}, strict=False)
    np.testing.assert_array_equal(model.bias.detach().numpy(), np.ones(3))


def test_dtype_conversion_keeps_gradients_working() -> None:
    model = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3)).double()
    assert {p.dtype for p in model.parameters()} == {mg.float64}
    assert model[1].num_batches_tracked.dtype == mg.int64
    model(mg.rand(4, 2, dtype="float64")).sum().backward()
    assert all(p.grad.dtype == mg.float64 for p in model.parameters())


def test_copies_and_pickles_are_independent() -> None:
    model = network()
    for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert repr(other) == repr(model)
        other[0].weight.set_value(0.0)
        assert float(abs(model[0].weight).sum()) > 0
        assert not {id(p) for p in other.parameters()} & {id(p) for p in model.parameters()}


class Doubled(nn.LeakyReLU):
    """A class of one's own, made of an activation."""

    def forward(self, x):
        return 2 * super().forward(x)


def test_a_copy_of_an_activation_is_of_its_own_class() -> None:
    model = Doubled(negative_slope=0.5)
    for other in (copy.copy(model), copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert type(other) is Doubled and other.negative_slope == 0.5
        assert other(mg.tensor([-1.0, 2.0])).tolist() == [-1.0, 4.0]


def test_hooks_change_arguments_and_results() -> None:
    seen: list = []
    model = nn.ReLU()
    first = model.register_forward_pre_hook(
        lambda module, args: seen.append("before") or (args[0] + 1,)
    )
    second = model.register_forward_hook(
        lambda module, args, result: seen.append("after") or result * 2
    )
    assert float(model(mg.tensor(1.0))) == 4
    first.remove()
    second.remove()
    assert float(model(mg.tensor(1.0))) == 1 and seen == ["before", "after"]


def test_sequential_is_a_sequence() -> None:
    model = network()
    assert len(model) == 8
    assert isinstance(model[-1], nn.Softmax)
    assert len(model[:3]) == 3
    assert len(list(model)) == 8
    assert model[0] is model[:3][0]


def test_a_parameter_of_one_number_is_converted() -> None:
    """Its memory is known to others by then, so it must stay memory that can be written to."""

    class Scaled(nn.Module):
        def __init__(self):
            self.scale = nn.Parameter(2.0)

        def forward(self, x):
            return self.scale * x

    layer = Scaled()
    layer.load_state_dict({"scale": mg.tensor(3.0)})
    layer = layer.double()
    layer.load_state_dict({"scale": mg.tensor(4.0)})
    assert layer.scale.dtype == mg.float64 and layer.scale.item() == 4.0
    layer(mg.tensor([1.0, 2.0], dtype=mg.float64)).sum().backward()
    mg.optim.SGD(layer.parameters(), lr=0.5).step()
    assert layer.scale.item() == 2.5


@pytest.mark.oracle
@pytest.mark.filterwarnings("ignore::UserWarning:torch.*")
def test_transformer_sees_what_its_masks_allow(torch):
    """Causal masks on both sides, padded keys in both sequences; and a later position changes
    nothing before it.
    """
    ours, theirs = (
        library.nn.Transformer(8, 2, 1, 2, 16, 0.0, batch_first=True) for library in (mg, torch)
    )
    ours.load_state_dict({key: value.numpy().copy() for key, value in theirs.state_dict().items()})
    src, tgt = single(2, 5, 8), single(2, 3, 8, seed=1)
    padded = np.array([[False] * 5, [False, False, False, True, True]])
    results = []
    for library, model in ((mg, ours), (torch, theirs)):
        mask = library.nn.Transformer.generate_square_subsequent_mask
        made = library.tensor
        results.append(
            model(
                made(src), made(tgt), mask(5), mask(3), made(np.zeros((3, 5), dtype="float32")),
                src_key_padding_mask=made(np.where(padded, -np.inf, 0).astype("float32")),
                memory_key_padding_mask=made(np.where(padded, -np.inf, 0).astype("float32")),
                tgt_is_causal=True,
            )
        )  # fmt: skip
        assert mask(3).tolist() == [[0, -np.inf, -np.inf], [0, 0, -np.inf], [0, 0, 0]]
    np.testing.assert_allclose(
        results[0].detach().numpy(), results[1].detach().numpy(), rtol=1e-4, atol=1e-5
    )
    changed = tgt.copy()
    changed[:, 2] = 7
    mask = nn.Transformer.generate_square_subsequent_mask(3)
    first, second = (
        ours(mg.tensor(src), mg.tensor(t), tgt_mask=mask).detach().numpy() for t in (tgt, changed)
    )
    np.testing.assert_array_equal(first[:, :2], second[:, :2])
    assert not np.allclose(first[:, 2], second[:, 2])


def test_which_tensors_are_parameters() -> None:
    weight = nn.Parameter(mg.ones(2))
    assert isinstance(weight, nn.Parameter)
    assert all(isinstance(p, nn.Parameter) for p in nn.Linear(2, 3).parameters())
    assert not any(
        isinstance(t, nn.Parameter)
        for t in (mg.ones(2), mg.ones(2, requires_grad=True), weight * 2, weight.detach(), 3.0)
    )
    assert isinstance(nn.Parameter(mg.ones(2), requires_grad=False), nn.Parameter)
    assert type(weight) is mg.Tensor and weight.is_leaf and weight.requires_grad


LOSSES = [n for n in dir(nn) if n.endswith("Loss") and not n.startswith("_")]


@in_one_test
@pytest.mark.parametrize("name", LOSSES)
def test_a_loss_is_called_as_its_function(name):
    """As many operands as the function has, which are its arguments without a default value."""
    loss = getattr(nn, name)()
    function = type(loss).function
    defaults = inspect.Parameter.empty
    wanted = [p for p in inspect.signature(function).parameters.values() if p.default is defaults]
    x = mg.linspace(0.1, 0.9, 6).reshape(2, 3)
    operands = {
        "CTCLoss": lambda: (mg.zeros(4, 1, 3), mg.tensor([[1]]), mg.tensor([4]), mg.tensor([1])),
        "CosineEmbeddingLoss": lambda: (x, x * 2, mg.ones(2)),
        "CrossEntropyLoss": lambda: (x, mg.tensor([0, 2])),
        "MultiLabelMarginLoss": lambda: (x, mg.tensor([[0, -1, 0], [2, 1, -1]])),
        "MultiMarginLoss": lambda: (x, mg.tensor([0, 2])),
        "NLLLoss": lambda: (x, mg.tensor([0, 2])),
    }.get(name, lambda: (x, x * 0.5, x * 0.25)[: len(wanted)])()
    assert loss(*operands).tolist() == function(*operands).tolist()
    with pytest.raises(TypeError, match=f"{name} is called with"):
        loss(*operands, x)


@pytest.mark.parametrize("dtype", [mg.float16, mg.bfloat16], ids=str)
def test_normalisation_keeps_half_precision_beside_float32_parameters(dtype):
    x, w, v = mg.linspace(-1, 2, 24).reshape(2, 3, 4).to(dtype), mg.ones(3), mg.ones(4)
    F = nn.functional
    for function, arguments in (
        (F.batch_norm, (None, None, w, w, True)),
        (F.batch_norm, (w, w, w, w)),
        (F.instance_norm, (None, None, w, w)),
        (F.group_norm, (1, w, w)),
        (F.layer_norm, ((4,), v, v)),
        (F.rms_norm, ((4,), v)),
    ):
        wide = function(x.float(), *arguments)
        assert wide.dtype == mg.float32
        assert function(x, *arguments).dtype == dtype
        assert function(x, *arguments).tolist() == wide.to(dtype).tolist(), function


@pytest.mark.parametrize("momentum", [0.1, None])
def test_statistics_that_are_no_longer_tracked_stay(momentum):
    x = mg.linspace(-1, 2, 24).reshape(2, 3, 4)
    layer = nn.BatchNorm1d(3, momentum=momentum)
    layer(x)
    layer.track_running_stats = False
    before = {name: value.clone() for name, value in layer.named_buffers()}
    y = layer(x)
    assert all(value.equal(before[name]) for name, value in layer.named_buffers())
    assert abs(float(y.mean())) < 1e-6, "by the batch's statistics"
    layer.eval()
    centre, scale = (before[n].reshape(3, 1) for n in ("running_mean", "running_var"))
    assert np.allclose(layer(x).detach(), (x - centre) / (scale + layer.eps).sqrt(), atol=1e-6)


RESET: dict[str, Any] = {
    "Linear": lambda m: m.nn.Linear(3, 2),
    "Bilinear": lambda m: m.nn.Bilinear(3, 2, 2),
    "Conv2d": lambda m: m.nn.Conv2d(2, 3, 2),
    "ConvTranspose1d": lambda m: m.nn.ConvTranspose1d(2, 3, 2),
    "BatchNorm1d": lambda m: m.nn.BatchNorm1d(3),
    "BatchNorm2d": lambda m: m.nn.BatchNorm2d(3, affine=False),
    "InstanceNorm1d": lambda m: m.nn.InstanceNorm1d(3, affine=True, track_running_stats=True),
    "LayerNorm": lambda m: m.nn.LayerNorm(3, bias=False),
    "GroupNorm": lambda m: m.nn.GroupNorm(1, 3),
    "RMSNorm": lambda m: m.nn.RMSNorm(3),
    "PReLU": lambda m: m.nn.PReLU(2, 0.5),
    "Embedding": lambda m: m.nn.Embedding(4, 2, padding_idx=1),
    "EmbeddingBag": lambda m: m.nn.EmbeddingBag(4, 2),
    "RNN": lambda m: m.nn.RNN(2, 3, 2, bidirectional=True),
    "LSTM": lambda m: m.nn.LSTM(2, 3, proj_size=1),
    "GRU": lambda m: m.nn.GRU(2, 3, bias=False),
    "RNNCell": lambda m: m.nn.RNNCell(2, 3),
    "LSTMCell": lambda m: m.nn.LSTMCell(2, 3),
    "GRUCell": lambda m: m.nn.GRUCell(2, 3, bias=False),
}


@in_one_test
@pytest.mark.parametrize("name", RESET)
def test_reset_parameters_gives_what_a_new_layer_has(name: str) -> None:
    """Where a layer had no such method, a loop over `model.modules()` left it as it was."""
    layer = RESET[name](mg)
    for tensor in [*layer.parameters(), *layer.buffers()]:
        tensor.data = mg.full_like(tensor, 7)
    mg.manual_seed(3)
    layer.reset_parameters()
    mg.manual_seed(3)
    for key, value in RESET[name](mg).state_dict().items():
        assert layer.state_dict()[key].tolist() == value.tolist(), key


def test_layers_can_be_reset_where_pytorchs_can(torch) -> None:
    for name in dir(torch.nn):
        theirs, ours = getattr(torch.nn, name), getattr(mg.nn, name, None)
        if isinstance(theirs, type) and issubclass(theirs, torch.nn.Module) and ours is not None:
            for method in ("reset_parameters", "reset_running_stats"):
                assert hasattr(ours, method) or not hasattr(theirs, method), (name, method)
