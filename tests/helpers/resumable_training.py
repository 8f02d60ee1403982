"""A training with all that can be lost: dropout, batch norm, shuffling, momentum, a schedule,
gradients summed over several batches, random numbers of three libraries, a history.

Also a program: `python resumable_training.py FILE BATCHES` trains and prints each step.
"""

import random
import sys

import numpy as np

import minigrad as mg
from minigrad.data import DataLoader, TensorDataset

nn = mg.nn
EPOCHS, EXAMPLES, BATCH = 4, 22, 4
BREAK = 15
"""After so many batches, in the middle of the third epoch, a loop over the loader is left early."""
STEPS = 4 * (6 + 1) - 3
"""How often `step` is called in all: once a batch, of which there are six in a whole epoch, and
once an epoch.
"""


def parts(optimizer="Adam"):
    """The parts of the run as they are before it."""
    model = nn.Sequential(
        nn.Linear(3, 8), nn.BatchNorm1d(8), nn.Tanh(), nn.Dropout(0.4), nn.Linear(8, 2)
    )
    rule = {
        "Adam": lambda p: mg.optim.Adam(p, lr=0.02, amsgrad=True),
        "SGD": lambda p: mg.optim.SGD(p, lr=0.1, momentum=0.9),
    }[optimizer]
    optimizer = rule(model.parameters())
    return {
        "model": model,
        "optimizer": optimizer,
        "scheduler": mg.optim.lr_scheduler.StepLR(optimizer, 2, gamma=0.3),
        "loader": DataLoader(data(), BATCH, shuffle=True),
        "history": {"loss": [], "rate": [], "noise": []},
    }


def data():
    """Points and labels."""
    x = np.random.default_rng(7).standard_normal((EXAMPLES, 3)).astype(np.float32)
    return TensorDataset(x, (x.sum(1) > 0).astype(np.int64))


def train(save, run, batches=None, step=lambda: None):
    """Train to the end; `step` is called after each batch and may raise."""
    model, optimizer, scheduler, loader, history = run.values()
    for epoch in mg.training.epochs(EPOCHS, save=save, batches=batches, show=False, **run):
        for x, t in loader:
            loss = nn.functional.cross_entropy(model(x + 0.01 * mg.randn(*x.shape)), t)
            loss.backward()
            if random.random() < 0.6:  # sometimes gradients of several batches are summed
                optimizer.step()
                optimizer.zero_grad()
            history["loss"].append(loss.item())
            history["noise"].append(np.random.random())
            step()
            if len(history["loss"]) == BREAK:
                break
        if epoch == 1:
            model[0].requires_grad_(False)
        scheduler.step()
        optimizer.param_groups[0]["lr"] *= 0.9  # behind the schedule's back
        history["rate"].append(scheduler.get_last_lr()[0])
        model.train(epoch != 0)  # one epoch without dropout
        step()


def seed(number):
    """Seed everything that draws."""
    mg.manual_seed(number)
    np.random.seed(number)
    random.seed(number)


if __name__ == "__main__":
    seed(int(sys.argv[3]))
    train(sys.argv[1], parts(), int(sys.argv[2]) or None, step=lambda: print("step", flush=True))
