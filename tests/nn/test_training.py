"""Whole trainings from the same beginning as PyTorch's: after the last step every parameter
agrees to rounding.
"""

import numpy as np
import pytest

import minigrad as mg
from minigrad import nn, optim
from tests.helpers.torch_comparison import classes, normal

pytestmark = pytest.mark.oracle


def train(torch, make, inputs, targets, optimizer, steps: int, tolerance: float) -> list[float]:
    """Train both, compare losses and parameters, return minigrad's losses."""
    torch.manual_seed(0)  # what other tests drew must not decide where the training begins
    ours, theirs = make(nn), make(torch.nn)
    ours.load_state_dict({k: v.numpy().copy() for k, v in theirs.state_dict().items()})
    mine, other = optimizer(optim, ours.parameters()), optimizer(torch.optim, theirs.parameters())
    losses = []
    for _ in range(steps):
        a = nn.functional.cross_entropy(ours(mg.tensor(inputs)), mg.tensor(targets))
        b = torch.nn.functional.cross_entropy(theirs(torch.tensor(inputs)), torch.tensor(targets))
        for opt, loss in ((mine, a), (other, b)):
            opt.zero_grad()
            loss.backward()
            opt.step()
        np.testing.assert_allclose(float(a), b.item(), rtol=tolerance, atol=tolerance)
        losses.append(float(a))
    for key, value in theirs.state_dict().items():
        np.testing.assert_allclose(
            ours.state_dict()[key].numpy(),
            value.numpy(),
            rtol=tolerance,
            atol=tolerance,
            err_msg=key,
        )
    return losses


class Last:
    """A recurrent layer's output at the last step, and a linear layer: the same class for both
    libraries.
    """

    @staticmethod
    def of(library):
        class Model(library.Module):
            def __init__(self) -> None:
                super().__init__()
                self.recurrent = library.LSTM(4, 16, batch_first=True)
                self.head = library.Linear(16, 3)

            def forward(self, x):
                return self.head(self.recurrent(x)[0][:, -1])

        return Model()


class SmallTransformer:
    @staticmethod
    def of(library):
        class Model(library.Module):
            def __init__(self) -> None:
                super().__init__()
                self.inside = library.Linear(4, 16)
                self.first = library.TransformerEncoderLayer(16, 2, 32, 0.0, batch_first=True)
                self.second = library.TransformerEncoderLayer(16, 4, 32, 0.0, batch_first=True)
                self.head = library.Linear(16, 3)

            def forward(self, x):
                return self.head(self.second(self.first(self.inside(x))).mean(1))

        return Model()


def test_a_multilayer_perceptron_learns(torch) -> None:
    make = lambda nn: nn.Sequential(
        nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 3)
    )
    losses = train(
        torch,
        make,
        normal(60, 4, dtype="float32"),
        classes(3, 60),
        lambda o, p: o.Adam(p, lr=1e-2),
        20,
        2e-5,
    )
    assert losses[-1] < losses[0]


def test_a_convolutional_network_learns(torch) -> None:
    make = lambda nn: nn.Sequential(
        nn.Conv2d(1, 8, 3, padding=1, bias=False), nn.ReLU(), nn.BatchNorm2d(8),
        nn.MaxPool2d(3, 1, padding=1), nn.Conv2d(8, 8, 3,
        stride=2, padding=1),
        nn.ReLU(), nn.AvgPool2d(3, 1, padding=1), nn.Flatten(), nn.Linear(8 * 5 * 5, 3),
    )  # fmt: skip
    losses = train(
        torch,
        make,
        normal(16, 1, 10, 10, dtype="float32"),
        classes(3, 16),
        lambda o, p: o.SGD(p, lr=0.05, momentum=0.9),
        20,
        2e-4,
    )
    assert losses[-1] < losses[0]


def test_an_lstm_learns(torch) -> None:
    losses = train(
        torch,
        Last.of,
        normal(20, 7, 4, dtype="float32"),
        classes(3, 20),
        lambda o, p: o.SGD(p, lr=0.5, momentum=0.9, nesterov=True),
        20,
        1e-4,
    )
    assert losses[-1] < losses[0]


def test_a_small_transformer_learns(torch) -> None:
    losses = train(
        torch,
        SmallTransformer.of,
        normal(20, 7, 4, dtype="float32"),
        classes(3, 20),
        lambda o, p: o.AdamW(p, lr=1e-3),
        20,
        5e-4,
    )
    assert losses[-1] < losses[0]
