"""SINGA's convolutional network, with the document's layers and calls, on scikit-learn's 8 x 8
digits instead of MNIST's 28 x 28.

The document's `linear` has 32 · 28 · 28 inputs; here 32 · 8 · 8. One fifth of the digits, drawn by
seed, is kept for testing.
"""

from collections.abc import Callable
from pathlib import Path
from time import perf_counter

import numpy as np

import minigrad as mg
from minigrad import autograd, opt
from minigrad.data import DataLoader, digits, random_split
from minigrad.training import epochs

TEST = 360
BATCH = 32
RATE, MOMENTUM = 0.02, 0.9

Forward = Callable[[mg.Tensor, mg.Tensor], tuple[mg.Tensor, mg.Tensor]]


def network() -> tuple[Forward, dict[str, mg.nn.Module]]:
    """The document's forward function, (images, labels) -> (loss, scores), and by name the
    layers that have parameters.
    """
    conv1 = autograd.Conv2d(1, 32, 3, padding=1, bias=False)
    bn1 = autograd.BatchNorm2d(32)
    pooling1 = autograd.MaxPool2d(3, 1, padding=1)
    conv21 = autograd.Conv2d(32, 16, 3, padding=1)
    conv22 = autograd.Conv2d(32, 16, 3, padding=1)
    bn2 = autograd.BatchNorm2d(32)
    linear = autograd.Linear(32 * 8 * 8, 10)
    pooling2 = autograd.AvgPool2d(3, 1, padding=1)

    def forward(x: mg.Tensor, t: mg.Tensor) -> tuple[mg.Tensor, mg.Tensor]:
        y = pooling1(bn1(autograd.relu(conv1(x))))
        y1 = conv21(y)
        y2 = conv22(y)
        y = autograd.cat((y1, y2), 1)
        y = pooling2(bn2(autograd.relu(y)))
        y = linear(autograd.flatten(y))
        return autograd.softmax_cross_entropy(y, t), y

    return forward, {
        "conv1": conv1,
        "bn1": bn1,
        "conv21": conv21,
        "conv22": conv22,
        "bn2": bn2,
        "linear": linear,
    }


def train(
    count: int, seed: int = 0, tell: Callable[[str], None] | None = None, save: Path | None = None
) -> float:
    """Train for `count` epochs, telling loss and test accuracy after each; returns the last test
    accuracy, a share of 1.

    tell: what is called with a line after each epoch (default: print it). save: the file that an
    interrupted training goes on from.
    """
    mg.manual_seed(seed)
    data = digits()
    training, testing = random_split(data, [len(data) - TEST, TEST], seed)
    (forward, layers), sgd = network(), opt.SGD(RATE, momentum=MOMENTUM)
    batches, history = DataLoader(training, BATCH, shuffle=True, seed=seed), {"accuracy": []}
    parts = {**layers, "sgd": sgd, "loader": batches, "history": history}
    before = autograd.training
    try:
        run = epochs(count, save=save, **(parts if save else {}))
        for epoch in run:
            start, losses = perf_counter(), []
            autograd.training = True
            for x, t in batches:
                loss, _ = forward(x, t)
                for p, gp in autograd.backward(loss):
                    sgd.update(p, gp)
                losses.append(loss.item())
            seconds = perf_counter() - start
            autograd.training = False
            with mg.no_grad():
                x, t = testing.batch(range(TEST))
                _, y = forward(x, t)
            accuracy = float((y.numpy().argmax(1) == t.numpy()).mean())
            history["accuracy"].append(accuracy)
            line = (
                f"epoch {epoch + 1:2}: mean training loss {np.mean(losses):.4f}, test accuracy"
                f" {accuracy:.2%}, {seconds:.1f} s"
            )
            (tell or run.tell)(line)
    finally:
        autograd.training = before
    return history["accuracy"][-1]


def report(epochs: int, accuracy: float, seconds: float) -> str:
    """The figure in words, in Markdown."""
    return (
        "The document's CNN (two parallel convolutions, 8 x 8 input) on scikit-learn's digits,"
        f" {epochs} epochs of SGD (rate {RATE}, momentum {MOMENTUM}, batches of {BATCH}),"
        f" float32.\n\n**Test accuracy {accuracy:.2%}** on {TEST} digits that were not trained on;"
        f" {seconds:.0f} s in all.\n"
    )
