"""Autogradlib's experiment: 2-25-25-25-2, relu, softmax, 500 epochs, 20 repeats; is a point inside
a disc of half the square's area?

Its description leaves the optimiser, the batch and the loss open. Here: Adam with rate 0.01 on the
full batch of 1,000 points, and the mean squared error between the softmax and the one-hot labels;
1,000 other points for testing. Each repeat draws new points and new parameters (Xavier-uniform
weights, biases zero). The same lines train both engines, from the same parameters; they take turns,
and where they do not agree on the first epochs, nothing is reported. Timed is the training step
alone, not the evaluation behind the curves.
"""

import statistics
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

import minigrad as mg
from benchmarks.harness import DisagreementError

SIZES = (2, 25, 25, 25, 2)
POINTS = 1_000
RATE = 0.01
MEASURES = ("train loss", "test loss", "train accuracy", "test accuracy")


@dataclass(frozen=True)
class Repeat:
    """One training: the four measures after each epoch (epochs, 4), in the order of MEASURES,
    and the seconds of all training steps.
    """

    measures: np.ndarray
    seconds: float


def network(engine: Any) -> Any:
    """The network as the engine's modules; the calls are the same in both."""
    nn = engine.nn
    stages = []
    for before, after in pairwise(SIZES):
        stages += [nn.Linear(before, after), nn.ReLU()]
    return nn.Sequential(*stages[:-1], nn.Softmax(dim=1))


def initial(seed: int) -> dict[str, np.ndarray]:
    """Parameters by name: Xavier-uniform weights (Glorot and Bengio 2010, equation 16), biases
    zero.
    """
    random, state = np.random.default_rng((seed, 1)), {}
    for i, (before, after) in enumerate(pairwise(SIZES)):
        bound = np.sqrt(6 / (before + after))
        state[f"{2 * i}.weight"] = random.uniform(-bound, bound, (after, before)).astype(np.float32)
        state[f"{2 * i}.bias"] = np.zeros(after, np.float32)
    return state


def train(engine: Any, seed: int, epochs: int) -> Repeat:
    """One training from `seed`."""
    sets = []
    for part in (0, 1):
        x, label = mg.data.disc(POINTS, seed=2 * seed + part).tensors
        sets.append(
            (
                engine.tensor(x.numpy()),
                engine.tensor(np.eye(2, dtype=np.float32)[label.numpy()]),
                label.numpy(),
            )
        )
    (x, target, label), (x_test, target_test, label_test) = sets
    model, mse = network(engine), engine.nn.functional.mse_loss
    model.load_state_dict({name: engine.tensor(value) for name, value in initial(seed).items()})
    optimiser = engine.optim.Adam(model.parameters(), lr=RATE)
    measures, seconds = np.empty((epochs, 4)), 0.0
    for epoch in range(epochs):
        start = perf_counter()
        optimiser.zero_grad()
        loss = mse(model(x), target)
        loss.backward()
        optimiser.step()
        seconds += perf_counter() - start
        with engine.no_grad():
            guess, guess_test = model(x), model(x_test)
            losses = mse(guess, target).item(), mse(guess_test, target_test).item()
        right = [
            (g.numpy().argmax(1) == truth).mean()
            for g, truth in ((guess, label), (guess_test, label_test))
        ]
        measures[epoch] = *losses, *right
    return Repeat(measures, seconds)


def run(
    engines: dict[str, Any], repeats: int, epochs: int, show: Any = iter
) -> dict[str, list[Repeat]]:
    """All repeats of all engines, in turns. Raises DisagreementError if two engines part within the
    first ten epochs.

    show: wraps the numbers of the repeats, to tell how far it is (such as
    minigrad.training.progress).
    """
    results: dict[str, list[Repeat]] = {name: [] for name in engines}
    numbers: Iterable[int] = show(range(repeats))
    for seed in numbers:
        for name, engine in engines.items():
            results[name].append(train(engine, seed, epochs))
        first, *others = (found[-1].measures[:10, :2] for found in results.values())
        for other in others:
            if not np.allclose(first, other, rtol=1e-3):
                raise DisagreementError(
                    f"disc, repeat {seed}: the engines' losses differ within the first"
                    f" epochs:\n{first}\n{other}"
                )
    return results


def report(results: dict[str, list[Repeat]], epochs: int) -> str:
    """The document's two tables, in Markdown."""
    last = np.array([repeat.measures[-1] for repeat in results["minigrad"]])
    middle, spread = np.median(last, 0), last.std(0)
    lines = [
        (
            f"{'-'.join(map(str, SIZES))} network, {epochs} epochs of Adam (rate {RATE}) on the"
            f" full batch of {POINTS:,} points, mean squared error, float32; {len(last)} repeats,"
            " each with new points and parameters."
        ),
        "",
        "| | Loss (median ± std.) | Accuracy (median ± std.) |",
        "|:-:|:-:|:-:|",
    ]
    for row, (loss, accuracy) in {"Train dataset": (0, 2), "Test dataset": (1, 3)}.items():
        lines.append(
            f"| {row} | {middle[loss]:.4f} ± {spread[loss]:.4f} | {middle[accuracy]:.3f} ±"
            f" {spread[accuracy]:.4f} |"
        )
    lines += ["", "| Library | Mean time | Median time |", "|:-:|:-:|:-:|"]
    for name, repeats in results.items():
        seconds = [repeat.seconds for repeat in repeats]
        lines.append(
            f"| {name} | {statistics.mean(seconds):.3f} s | {statistics.median(seconds):.3f} s |"
        )
    if "torch" in results:
        ratios = [
            ours.seconds / theirs.seconds
            for ours, theirs in zip(results["minigrad"], results["torch"], strict=True)
        ]
        lines += [
            "",
            (
                f"minigrad takes {statistics.median(ratios):.2f} times torch's time (median of the"
                " repeats' ratios)."
            ),
        ]
    else:
        lines += ["", "PyTorch is not installed here, so there is no time to compare with."]
    return "\n".join(lines) + "\n"


def draw_curves(repeats: list[Repeat], path: Path) -> None:
    """The learning curves, median and quartiles of the repeats, as a picture in the format of
    the path's ending.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 3.4), layout="constrained")
    FigureCanvasAgg(figure)
    low, middle, high = np.quantile(
        [repeat.measures for repeat in repeats], [0.25, 0.5, 0.75], axis=0
    )
    epochs = np.arange(1, len(middle) + 1)
    for axes, title, columns in zip(
        figure.subplots(1, 2), ("Mean squared error", "Accuracy"), ((0, 1), (2, 3)), strict=True
    ):
        for column, name, colour, dash in zip(
            columns, ("train", "test"), ("#0072b2", "#b34700"), ("-", "--"), strict=True
        ):
            axes.fill_between(
                epochs, low[:, column], high[:, column], color=colour, alpha=0.2, linewidth=0
            )
            axes.plot(epochs, middle[:, column], dash, color=colour, label=name)
        axes.set(title=title, xlabel="epoch")
        axes.grid(alpha=0.25)
        axes.legend(title=f"median and quartiles of {len(repeats)}", frameon=False)
    figure.axes[0].set_yscale("log")
    figure.savefig(path, dpi=120)
