"""The exercises of lesson 11, as data: the 2-25-25-25-2 network, a run that is interrupted, bands
over seeds, early stopping, Adam, and the milestone of the course: the student's own engine trains
that network.

Right answers are not written here: they are computed by the engine, or by NumPy, when a check runs.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

import minigrad as mg
from minigrad import nn

from ..grading.exercise import Case, Exercise, Misconception
from ..grading.kinds import Optimiser
from . import wrong_adam
from .made import Exact, by_name, equal_to
from .milestone import OWN_STEP, SIZES, reference

WEIGHTS = sum(a * b for a, b in pairwise(SIZES))
RATE = wrong_adam.RATE
EVERY, BROKEN = 50, 217
"""The run is saved after each so many epochs, and interrupted in this one."""


def network() -> Any:
    """Four linear layers with relu between them."""
    stages: list[Any] = []
    for before, after in pairwise(SIZES):
        stages += [nn.Linear(before, after), nn.ReLU()]
    return nn.Sequential(*stages[:-1])


@cache
def _resumed_at() -> float:
    """Interrupt a run of the engine's own loop, and look where a second one begins."""
    with tempfile.TemporaryDirectory() as folder:
        for epoch in mg.training.epochs(
            BROKEN + EVERY, save=Path(folder) / "run.npz", every=EVERY, show=False, seen=[]
        ):
            if epoch == BROKEN:
                break
        return float(
            next(
                iter(
                    mg.training.epochs(
                        BROKEN + EVERY,
                        save=Path(folder) / "run.npz",
                        every=EVERY,
                        show=False,
                        seen=[],
                    )
                )
            )
        )


PREDICTIONS = (
    Exact(
        "parameters",
        "Prediction: the numbers that training may change",
        variable="number_of_parameters",
        answer=lambda: float(sum(p.numel() for p in network().parameters())),
        because=(
            "75 + 650 + 650 + 52: in each layer a weight for each pair of neurons, and a bias "
            "for each neuron of its result."
        ),
        slips=(
            ("The biases are missing: each layer has one for each neuron of its result.",
                lambda: float(WEIGHTS)),
            ("Those are the neurons. Each layer has a weight for each pair of neurons.",
                lambda: float(sum(SIZES))),
            ("The inputs have no bias; only results of layers have.",
                lambda: float(WEIGHTS + sum(SIZES))),
        ),
        hints=(
            "Go layer by layer: a layer from n to m neurons has a matrix of n · m weights.",
            "And m biases, one for each neuron of its result.",
            "2 · 25 + 25, twice 25 · 25 + 25, and 25 · 2 + 2.",
        ),
    ),
    Exact(
        "resumes",
        "Prediction: the epoch with which the second run begins",
        variable="first_epoch",
        answer=_resumed_at,
        because=(
            "The last file was written after epoch 199, when 200 epochs were done; 200 to 216 "
            "are computed a second time."
        ),
        slips=(
            ("What happened after the last file was written is lost.", lambda: float(BROKEN)),
            ("Epochs count from 0: after epoch 199 exactly 200 are done, and the file is written.",
                lambda: BROKEN // EVERY * EVERY - 1.0),
            ("Then the file would be of no use.", lambda: 0.0),
            ("Look at the multiples of 50 again: which was the last before 217?",
                lambda: float((BROKEN // EVERY + 1) * EVERY)),
        ),
        hints=("After how many finished epochs was the file written for the last time?",
            "The first epoch that is not in it comes next."),
    ),
)  # fmt: skip

# -------------------------------------------------------------------------------------------- bands


def _curves(rng: np.random.Generator) -> Iterator[Case]:
    for group, shapes in (
        ("one curve each", [(3, 1), (1, 4)]),
        ("many curves", [(5, 3), (4, 6), (20, 2)]),
        ("an outlier", [(5, 3)]),
    ):
        for shape in shapes:
            curves = rng.uniform(0.1, 1.0, size=shape)
            if group == "an outlier":
                curves[int(rng.integers(shape[0]))] = 50.0
            yield Case(group, curves=curves)


def _middle_and_spread(curves: np.ndarray) -> list[np.ndarray]:
    return [np.median(curves, axis=0), np.std(curves, axis=0)]


BANDS = equal_to(
    _middle_and_spread,
    "bands",
    {"one curve each": 1, "many curves": 1, "an outlier": 1},
    _curves,
    hints=(
        (
            "`curves[s, e]` is seed s at epoch e. You want one number for each epoch: which axis "
            "goes away?"
        ),
        "`np.median(curves, axis=…)` and `np.std(curves, axis=…)`.",
        "The seeds are axis 0. Return the pair (median, std).",
    ),
    checked="Compared with NumPy.",
    misconceptions=(
        Misconception.of("mean instead of median",
            "you take the mean; the median does not feel a single bad run.",
                         lambda curves: [curves.mean(axis=0), curves.std(axis=0)]),
        Misconception.of("the other axis", "you summarise over the epochs; the seeds are axis 0.",
                         lambda curves: [np.median(curves, axis=1), curves.std(axis=1)]),
        Misconception.of("variance", "you return the variance; the standard deviation is its root.",
                         lambda curves: [np.median(curves, axis=0), curves.var(axis=0)]),
        Misconception.of("exchanged", "the two are swapped: the median comes first.",
                         lambda curves: [np.std(curves, axis=0), np.median(curves, axis=0)]),
        Misconception.of("divided by n − 1",
            (
                "you divide by n − 1 (`ddof=1`); here the standard deviation is that of these "
                "runs, `np.std`."
            ),
                         lambda curves: [np.median(curves, axis=0),
                             curves.std(axis=0, ddof=1) if len(curves) > 1
                             else curves.std(axis=0)]),
        Misconception.of("the edges of the band",
            (
                "you return the edges of the band, median ± standard deviation; asked for are the "
                "two by themselves."
            ),
                         lambda curves: [np.median(curves, axis=0) - curves.std(axis=0),
                             np.median(curves, axis=0) + curves.std(axis=0)]),
        Misconception.of("everything together",
            "one number for all comes out; one for each epoch is wanted.",
                         lambda curves: [np.median(curves), curves.std()]),
    ),
)  # fmt: skip

# ----------------------------------------------------------------------------------- early stopping


def _search(losses: list[float], patience: int) -> tuple[int, int]:
    """The best epoch that early stopping sees, and the epoch at which it ends."""
    best, waited = 0, 0
    for epoch, loss in enumerate(losses):
        if epoch == 0 or loss < losses[best]:
            best, waited = epoch, 0
        else:
            waited += 1
            if waited == patience:
                return best, epoch
    return best, len(losses) - 1


def _stopped(losses: list[float], patience: int) -> int:
    return _search(losses, patience)[0]


def _when_stopped(losses: list[float], patience: int) -> int:
    """The epoch at which the search ends, in the place of the best one."""
    return _search(losses, patience)[1]


def _never_reset(losses: list[float], patience: int) -> int:
    best, waited = 0, 0
    for epoch, loss in enumerate(losses[1:], 1):
        if loss < losses[best]:
            best = epoch
        else:
            waited += 1
            if waited == patience:
                break
    return best


def _rises(losses: list[float], patience: int) -> int:
    """Counts rises from one epoch to the next instead of comparing with the best."""
    best, waited = 0, 0
    for epoch in range(1, len(losses)):
        best = epoch if losses[epoch] < losses[best] else best
        waited = waited + 1 if losses[epoch] >= losses[epoch - 1] else 0
        if waited == patience:
            break
    return best


def _first_rise(losses: list[float]) -> int:
    """With no patience at all the search ends at the first loss that is no better."""
    return next(
        (epoch - 1 for epoch in range(1, len(losses)) if losses[epoch] >= losses[epoch - 1]),
        len(losses) - 1,
    )


def _ties_count(losses: list[float], patience: int) -> int:
    best, waited = 0, 0
    for epoch in range(1, len(losses)):
        if losses[epoch] <= losses[best]:
            best, waited = epoch, 0
        else:
            waited += 1
            if waited == patience:
                break
    return best


def _loss_curves(rng: np.random.Generator) -> Iterator[Case]:
    yield Case("falling", losses=[0.9, 0.7, 0.4], patience=2)
    yield Case("falling", losses=[0.5], patience=1)
    yield Case("patience", losses=[0.9, 0.5, 0.6, 0.7, 0.1], patience=2)
    yield Case("patience", losses=[0.9, 0.5, 0.6, 0.4, 0.6, 0.7, 0.8], patience=3)
    yield Case("patience", losses=[0.9, 0.5, 0.8, 0.7, 0.6, 0.1], patience=3)
    yield Case("patience", losses=[0.9, 0.8, 0.85, 0.7, 0.75, 0.6, 0.5], patience=2)
    yield Case("ties", losses=[0.5, 0.5, 0.5, 0.3], patience=2)
    yield Case("ties", losses=[0.5, 0.4, 0.4, 0.3, 0.6], patience=2)
    for _ in range(20):
        n = int(rng.integers(5, 30))
        losses = [
            float(x)
            for x in np.round(
                1 / (1 + np.arange(n)) + np.arange(n) * 0.02 + rng.uniform(0, 0.3, n), 2
            )
        ]
        yield Case("random curves", losses=losses, patience=int(rng.integers(1, 5)))


EARLY_STOP = equal_to(
    _stopped,
    "early_stop",
    {"falling": 1, "patience": 1, "ties": 1, "random curves": 1},
    _loss_curves,
    hints=(
        (
            "Keep two things while you go through the losses: where the best one was, and for "
            "how many epochs there was no better one."
        ),
        (
            "A loss that is better than the best so far: remember it and start counting again. "
            "Else count one more."
        ),
        (
            "When the count reaches `patience`, leave the loop. Return the index of the best, "
            "not the place where you stopped."
        ),
    ),
    checked="Compared with the result of a plain loop.",
    misconceptions=(
        Misconception.of("no patience",
            "you return the smallest loss of all; the training has stopped before it is reached.",
                         lambda losses, patience: int(np.argmin(losses))),
        Misconception.of("where it stopped",
            "you return the epoch at which it stops; the best one came before it.", _when_stopped),
        Misconception.of("never begins again",
            "The count must start again at 0 when a better loss is found.", _never_reset),
        Misconception.of("the first rise",
            "you stop at the first loss that is larger than the one before. Wait until `patience`"
            " losses in a row are no better than the best.",
                         lambda losses, patience: next((i for i in range(len(losses) - 1)
                             if losses[i + 1] > losses[i]), len(losses) - 1)),
        Misconception.of("neighbours",
            "you compare with the epoch before; compare with the best so far.", _rises),
        Misconception.of("one too few",
            "you stop one epoch too early: `patience` losses in a row must be no better.",
                         lambda losses, patience: _stopped(losses,
                             patience - 1) if patience > 1 else _first_rise(losses)),
        Misconception.of("ties count",
            "an equal loss counts as better for you. Only a smaller one is: a tie is no better.",
                         _ties_count),
        Misconception.of("the loss", "you return the best loss; its epoch is asked for.",
                         lambda losses, patience: losses[_stopped(losses, patience)]),
        Misconception.of("one further",
            "you return the epoch after the best one: epochs count from 0.",
                         lambda losses, patience: _stopped(losses, patience) + 1),
        Misconception.of("one too many", "you wait one epoch too long.", lambda losses,
            patience: _stopped(losses, patience + 1)),
    ),
)  # fmt: skip


ADAM = Optimiser(
    "adam",
    lambda p: mg.optim.Adam(p, lr=RATE),
    hints=(
        (
            "Three things are kept in `state`: the number of steps, the mean m of the gradients,"
            " and the mean v of their squares."
        ),
        (
            "`state.get('m', 0.0)` is 0 at the first step. Count the steps before you correct: the"
            " first step is t = 1."
        ),
        (
            "m = 0.9 m + 0.1 g; v = 0.999 v + 0.001 g²; parameter − 0.01 · (m / (1 − 0.9ᵗ)) / (√(v"
            " / (1 − 0.999ᵗ)) + 1e-8)."
        ),
    ),
    checked="The parameters after each step are compared with those of minigrad's own optimiser.",
).telling(
    *(
        Misconception.of(name, say, wrong_adam.path(step))
        for name, (say, step) in wrong_adam.WRONG.items()
        if name != "no memory"
    ),
    Misconception.of(
        "the step alone",
        "you return the step; subtract it from the parameter.",
        wrong_adam.steps_alone,
    ),
)

TITLES = {
    "bands": "Exercise 1 · Bands",
    "early_stop": "Exercise 2 · Stop in time",
    "adam": "Exercise 3 · Adam",
    "own_step": "Exercise 4 · The gradients and an epoch, by your engine",
}

EXERCISES: dict[str, Exercise] = by_name(vars(), TITLES)

__all__ = ["EXERCISES", "OWN_STEP", "SIZES", "network", "reference"]
