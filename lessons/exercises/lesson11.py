"""The exercises of lesson 11, as data: the 2-25-25-25-2 network, a run that is interrupted, bands over seeds, early stopping, Adam, and
the milestone of the course: the student's own engine trains that network.

Right answers are not written here: they are computed by the engine, or by NumPy, when a check runs.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

import minigrad as mg
from minigrad import nn
from minigrad.trace import first_divergence
from minigrad.watch import trace_function

from ..grading.calls import Caller, StudentProblem
from ..grading.checking import check_exercise
from ..grading.exercise import DERIVATIVES, Case, Exercise, Misconception
from ..grading.feedback import Feedback, Line
from ..grading.judge import same
from ..grading.kinds import Number, Optimiser
from ..workshop import recorded
from .made import by_name, equal_to, told_by

SIZES = (2, 25, 25, 25, 2)
WEIGHTS = sum(a * b for a, b in pairwise(SIZES))
RATE = 0.01
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
        for epoch in mg.training.epochs(BROKEN + EVERY, save=Path(folder) / "run.npz", every=EVERY, show=False, seen=[]):
            if epoch == BROKEN:
                break
        return float(next(iter(mg.training.epochs(BROKEN + EVERY, save=Path(folder) / "run.npz", every=EVERY, show=False, seen=[]))))


PREDICTIONS = (
    Number(
        "parameters",
        "Prediction: the numbers that training may change",
        variable="number_of_parameters",
        answer=lambda: float(sum(p.numel() for p in network().parameters())),
        because="75 + 650 + 650 + 52: in each layer a weight for each pair of neurons, and a bias for each neuron of its result.",
        slips=(
            ("The biases are missing: each layer has one for each neuron of its result.", lambda: float(WEIGHTS)),
            ("Those are the neurons. Each layer has a weight for each pair of neurons.", lambda: float(sum(SIZES))),
            ("The inputs have no bias; only results of layers have.", lambda: float(WEIGHTS + sum(SIZES))),
        ),
        hints=(
            "Go layer by layer: a layer from n to m neurons has a matrix of n · m weights.",
            "And m biases, one for each neuron of its result.",
            "2 · 25 + 25, twice 25 · 25 + 25, and 25 · 2 + 2.",
        ),
        tolerance=1e-9,
    ),
    Number(
        "resumes",
        "Prediction: the epoch with which the second run begins",
        variable="first_epoch",
        answer=_resumed_at,
        because="The last file was written after epoch 199, when 200 epochs were done; 200 to 216 are computed a second time.",
        slips=(
            ("What happened after the last file was written is lost.", lambda: float(BROKEN)),
            ("Epochs count from 0: after epoch 199 exactly 200 are done, and the file is written.", lambda: BROKEN // EVERY * EVERY - 1.0),
            ("Then the file would be of no use.", lambda: 0.0),
            ("Look at the multiples of 50 again: which was the last before 217?", lambda: float((BROKEN // EVERY + 1) * EVERY)),
        ),
        hints=("After how many finished epochs was the file written for the last time?", "The first epoch that is not in it comes next."),
        tolerance=1e-9,
    ),
)  # fmt: skip

# ------------------------------------------------------------------------------------------------------------------- bands


def _curves(rng: np.random.Generator) -> Iterator[Case]:
    for group, shapes in (("one curve each", [(3, 1), (1, 4)]), ("many curves", [(5, 3), (4, 6), (20, 2)]), ("an outlier", [(5, 3)])):
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
        "`curves[s, e]` is seed s at epoch e. You want one number for each epoch: which axis goes away?",
        "`np.median(curves, axis=…)` and `np.std(curves, axis=…)`.",
        "The seeds are axis 0. Return the pair (median, std).",
    ),
    checked="Compared with NumPy.",
    misconceptions=(
        Misconception.of("mean instead of median", "you take the mean; the median does not feel a single bad run.",
                         lambda curves: [curves.mean(axis=0), curves.std(axis=0)]),
        Misconception.of("the other axis", "you summarise over the epochs; the seeds are axis 0.",
                         lambda curves: [np.median(curves, axis=1), curves.std(axis=1)]),
        Misconception.of("variance", "you return the variance; the standard deviation is its root.",
                         lambda curves: [np.median(curves, axis=0), curves.var(axis=0)]),
        Misconception.of("everything together", "one number for all comes out; one for each epoch is wanted.",
                         lambda curves: [np.median(curves), curves.std()]),
    ),
)  # fmt: skip

# ---------------------------------------------------------------------------------------------------------- early stopping


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


def _loss_curves(rng: np.random.Generator) -> Iterator[Case]:
    yield Case("falling", losses=[0.9, 0.7, 0.4], patience=2)
    yield Case("falling", losses=[0.5], patience=1)
    yield Case("patience", losses=[0.9, 0.5, 0.6, 0.7, 0.1], patience=2)
    yield Case("patience", losses=[0.9, 0.5, 0.6, 0.4, 0.6, 0.7, 0.8], patience=3)
    yield Case("patience", losses=[0.9, 0.5, 0.8, 0.7, 0.6, 0.1], patience=3)
    yield Case("ties", losses=[0.5, 0.5, 0.5, 0.3], patience=2)
    yield Case("ties", losses=[0.5, 0.4, 0.4, 0.3, 0.6], patience=2)
    for _ in range(20):
        n = int(rng.integers(5, 30))
        losses = [float(x) for x in np.round(1 / (1 + np.arange(n)) + np.arange(n) * 0.02 + rng.uniform(0, 0.3, n), 2)]
        yield Case("random curves", losses=losses, patience=int(rng.integers(1, 5)))


EARLY_STOP = equal_to(
    _stopped,
    "early_stop",
    {"falling": 1, "patience": 1, "ties": 1, "random curves": 1},
    _loss_curves,
    hints=(
        "Keep two things while you go through the losses: where the best one was, and for how many epochs there was no better one.",
        "A loss that is better than the best so far: remember it and start counting anew. Else count one more.",
        "When the count reaches `patience`, leave the loop. Return the index of the best, not the place where you stopped.",
    ),
    checked="Compared with a loop of our own.",
    misconceptions=(
        Misconception.of("no patience", "you return the smallest loss of all; the training has stopped before it is reached.",
                         lambda losses, patience: int(np.argmin(losses))),
        Misconception.of("where it stopped", "you return the epoch at which it stops; the best one came before it.", _when_stopped),
        Misconception.of("never begins anew", "The count must start again at 0 when a better loss is found.", _never_reset),
        Misconception.of("neighbours", "you compare with the epoch before; compare with the best so far.", _rises),
        Misconception.of("one too many", "you wait one epoch too long.", lambda losses, patience: _stopped(losses, patience + 1)),
    ),
)  # fmt: skip


def _adam_but(
    mean: float = 0.9,
    square: float = 0.999,
    *,
    first: float = 1.0,
    correct_m: bool = True,
    correct_v: bool = True,
    of_square: Callable[[Any], Any] = np.square,
    quotient: Callable[[Any, Any], Any] = lambda m, v: m / (np.sqrt(v) + 1e-8),
    new_mean: float | None = None,
    new_square: float | None = None,
    one_memory: bool = False,
    rate: float = RATE,
) -> Callable[..., list[list[np.ndarray]]]:
    """All parameters after each step of an Adam that is broken in one place.

    mean, square: the two decays; first: what the count of steps is at the first step; new_mean, new_square: the weight of what is new,
    where it is not one minus the decay; one_memory: all parameters share one `state`.
    """

    def path(parameters: Any, gradients: Any) -> list[list[np.ndarray]]:
        now, found = [np.array(p) for p in parameters], []
        states: list[Any] = [{"t": first - 1, "m": 0.0, "v": 0.0} for _ in now]
        states = [states[0] for _ in now] if one_memory else states
        for step in gradients:
            made = []
            for p, g, s in zip(now, step, states, strict=True):
                s["t"] += 1
                s["m"] = mean * s["m"] + (1 - mean if new_mean is None else new_mean) * g
                s["v"] = square * s["v"] + (1 - square if new_square is None else new_square) * of_square(g)
                with np.errstate(all="ignore"):
                    m = s["m"] / (1 - mean ** s["t"]) if correct_m else s["m"]
                    v = s["v"] / (1 - square ** s["t"]) if correct_v else s["v"]
                    made.append(p - rate * quotient(m, v))
            now = made
            found.append(now)
        return found

    return path


def _in_adam(name: str, say: str, **change: Any) -> Misconception:
    return Misconception.of(name, say, _adam_but(**change))


_ADAM = Optimiser(
    "adam",
    lambda p: mg.optim.Adam(p, lr=RATE),
    hints=(
        "Three things are kept in `state`: the number of steps, the mean m of the gradients, and the mean v of their squares.",
        "`state.get('m', 0.0)` is 0 at the first step. Count the steps before you correct: the first step is t = 1.",
        "m = 0.9 m + 0.1 g; v = 0.999 v + 0.001 g²; parameter − 0.01 · (m / (1 − 0.9ᵗ)) / (√(v / (1 − 0.999ᵗ)) + 1e-8).",
    ),
    checked="The parameters after each step are held against those of minigrad's own optimiser.",
)

ADAM = replace(
    _ADAM,
    misconceptions=(
        *_ADAM.misconceptions,
        _in_adam("no bias correction", "the bias correction is missing: m and v start at 0, so both are too small at first. Divide m by "
                 "1 − 0.9ᵗ and v by 1 − 0.999ᵗ.", correct_m=False, correct_v=False),
        _in_adam("m not corrected", "m lacks its bias correction: it starts at 0. Divide it by 1 − 0.9ᵗ.", correct_m=False),
        _in_adam("v not corrected", "v lacks its bias correction: it starts at 0, so the first steps come out far too long. Divide it by "
                 "1 − 0.999ᵗ.", correct_v=False),
        _in_adam("epsilon under the root", "the 1e-8 stands under the root. Added there it counts as 1e-4; it belongs beside the root.",
                 quotient=lambda m, v: m / np.sqrt(v + 1e-8)),
        _in_adam("no epsilon", "the 1e-8 in the denominator is missing: small gradients feel it, and a gradient of 0 makes 0/0.",
                 quotient=lambda m, v: m / np.sqrt(v)),
        _in_adam("count from 0", "the steps are counted from 0. The first step is t = 1: with t = 0 the correction divides by 1 − 1 = 0.",
                 first=0.0),
        _in_adam("count one ahead", "the count is one ahead: the first step is t = 1, and you corrected with t = 2.", first=2.0),
        _in_adam("betas exchanged", "the two decays are exchanged: 0.9 belongs to m, the mean of the gradients, and 0.999 to v, that of "
                 "their squares.", mean=0.999, square=0.9),
        _in_adam("absolute value for square", "v is a mean of |g|. It is a mean of g²: the root that follows undoes the square.",
                 of_square=np.abs),
        _in_adam("gradient not squared", "the gradient is not squared in v: its mean may be negative, and has no root.",
                 of_square=lambda g: g),
        _in_adam("no root", "the root is missing: m is divided by √v, not by v.", quotient=lambda m, v: m / (v + 1e-8)),
        _in_adam("no division", "the division by √v is missing: this is descent with momentum.", quotient=lambda m, v: m),
        _in_adam("multiplied by the root", "m is multiplied by √v; it is divided by it.", quotient=lambda m, v: m * (np.sqrt(v) + 1e-8)),
        _in_adam("weights of m exchanged", "the weights in m are exchanged: 0.9 for the old mean, 0.1 for the new gradient.",
                 mean=0.1, new_mean=0.9, correct_m=True),
        _in_adam("weights of v exchanged", "the weights in v are exchanged: 0.999 for the old mean, 0.001 for the new square.",
                 square=0.001, new_square=0.999),
        _in_adam("gradient in full", "m gets the whole gradient: the new one counts a tenth, 0.1 · g.", new_mean=1.0),
        _in_adam("square in full", "v gets the whole square: the new one counts a thousandth, 0.001 · g².", new_square=1.0),
        _in_adam("another rate", "your rate is ten times as large: it is to be 0.01.", rate=0.1),
        _in_adam("a small rate", "your rate is a tenth of what it should be: it is to be 0.01.", rate=0.001),
        _in_adam("descent", "the gradient itself is subtracted, times the rate: that is plain gradient descent, without m and v.",
                 mean=0.0, correct_m=False, quotient=lambda m, v: m),
        Misconception.of("no step", "the parameter comes back as it was.",
                         lambda parameters, gradients: [parameters for _ in gradients]),
        Misconception.of("the step alone", "you return the step; subtract it from the parameter.", lambda parameters, gradients:
                         _steps_alone(parameters, gradients)),
    ),
)  # fmt: skip


def _steps_alone(parameters: Any, gradients: Any) -> list[list[np.ndarray]]:
    """What comes of returning the step in the place of the parameter: the steps do not depend on it."""
    before = [np.array(p) for p in parameters]
    found = []
    for after in _adam_but()(parameters, gradients):
        found.append([b - a for b, a in zip(before, after, strict=True)])
        before = after
    return found


# ----------------------------------------------------------------------------------------- the milestone: one's own engine trains


def _one_operation(target: Any) -> Callable[[Any], Any]:
    """The mean cross-entropy as one operation, as the student's engine has it; so the two Traces have the same nodes."""

    class cross_entropy(mg.autograd.Function):  # a Trace calls an operation by the name of its class
        @staticmethod
        def forward(ctx: Any, scores: Any) -> Any:
            ctx.save_for_backward(scores)
            return nn.functional.cross_entropy(scores, target)

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (scores,) = ctx.saved_tensors
            return g * (mg.softmax(scores, 1) - target) / len(scores)

    return cross_entropy.apply


def scores_of(x: Any, parameters: Sequence[Any], last: Callable[[Any], Any] = lambda scores: scores) -> Any:
    """The lesson's network of weights and biases in turn; last: what is done to the scores."""
    for i in range(0, len(parameters), 2):
        x = x @ parameters[i].t() + parameters[i + 1]
        x = mg.relu(x) if i + 2 < len(parameters) else last(x)
    return x


def _names(count: int) -> list[str]:
    """W1, b1, W2, b2, …"""
    return [f"{'Wb'[i % 2]}{i // 2 + 1}" for i in range(count)]


def reference(values: Sequence[Any], x: Any, target: Any) -> dict[str, Any]:
    """minigrad's Trace of the network's loss and its gradients, node for node as the student's engine computes them."""
    points, cross_entropy = mg.tensor(np.array(x, dtype=float)), _one_operation(mg.tensor(np.array(target, dtype=float)))
    return trace_function(
        lambda *parameters: cross_entropy(scores_of(points, parameters)),
        *(mg.tensor(np.array(v, dtype=float)) for v in values),
        mode="reverse",
        names=_names(len(values)),
        title="the network by minigrad",
    )


def _loss_of(parameters: Sequence[Any], x: Any, target: Any, last: Any = None, reduction: str = "mean") -> Any:
    scores = scores_of(mg.tensor(np.array(x)), parameters, *([last] if last else []))
    return nn.functional.cross_entropy(scores, mg.tensor(np.array(target)), reduction=reduction)


def _differentiated(values: Any, x: Any, target: Any, **options: Any) -> Any:
    """The loss and its gradients by minigrad."""
    parameters = [mg.tensor(np.array(v)).requires_grad_() for v in values]
    loss = _loss_of(parameters, x, target, **options)
    return {"loss": loss.item(), "gradients": [np.array(g.numpy()) for g in mg.autograd.grad(loss, parameters)]}


def _trained(values: Any, x: Any, target: Any, count: int, make: Any = None, **options: Any) -> Any:
    """The losses of so many epochs by minigrad, each before its step, and the last values."""
    parameters = [mg.tensor(np.array(v)).requires_grad_() for v in values]
    optimizer = (make or (lambda p: mg.optim.Adam(p, lr=RATE)))(parameters)
    losses = []
    for _ in range(count):
        optimizer.zero_grad()
        loss = _loss_of(parameters, x, target, **options)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return {"losses": losses, "values": [np.array(p.detach().numpy()) for p in parameters]}


def _networks(rng: np.random.Generator) -> Iterator[Case]:
    for group, sizes, points, count in (
        ("the gradients", (2, 2), 1, 0),
        ("the gradients", (2, 3, 2), 5, 0),
        ("the gradients", (3, 4, 4, 3), 6, 0),
        ("the gradients", SIZES, 20, 0),
        ("some epochs", (2, 4, 2), 6, 5),
        ("some epochs", (2, 3, 3, 3), 8, 8),
        ("the network 2-25-25-25-2", SIZES, 30, 20),
    ):
        values = []
        for before, after in pairwise(sizes):
            bound = (6 / before) ** 0.5
            values += [np.asarray(rng.uniform(-bound, bound, size=(after, before))), np.asarray(rng.uniform(-0.5, 0.5, size=after))]
        x = np.asarray(rng.uniform(-1, 1, size=(points, sizes[0])))
        given = {"values": values, "x": x, "target": np.eye(sizes[-1])[rng.integers(0, sizes[-1], size=points)]}
        call = "own_step" if count else "loss_and_gradients"
        yield Case.of(group, given | ({"count": count} if count else {}), call=call)


def _is_trained(case: Case, got: Any) -> str:
    parts = ("losses", "values") if case.call == "own_step" else ("loss", "gradients")
    if type(got) is not dict or set(got) != set(parts):
        pair = "the list of the new values, and the loss" if case.call == "own_step" else "the loss, and the list of the gradients"
        return f"`{case.call}` should return a pair: {pair}."
    if case.call != "own_step":
        right = _differentiated(**case.args)
        said = same(right["loss"], got["loss"], 1e-6, 1e-9, "the loss")
        return said or same(right["gradients"], got["gradients"], 1e-6, 1e-9, "the list of the gradients")
    right = _trained(**case.args)
    if said := same(right["losses"], got["losses"], 1e-8, 1e-10, "the list of the losses"):
        first = same(right["losses"][0], got["losses"][0], 1e-6, 1e-9, "the first loss")
        return f"{first[:-1]}; it is that before any step." if first else f"the first loss is right, but {said}"
    # Adam hardly feels a factor in the gradients: it is seen in the seventh digit and later.
    return same(right["values"], got["values"], 1e-8, 1e-10, "the list of the new values")


def _late(values: Any, x: Any, target: Any, count: int) -> Any:
    right, more = _trained(values, x, target, count), _trained(values, x, target, count + 1)
    return {"losses": more["losses"][1:], "values": right["values"]}


def _forgetful(values: Any, x: Any, target: Any, count: int) -> Any:
    losses = []
    for _ in range(count):
        found = _trained(values, x, target, 1)
        losses, values = losses + found["losses"], found["values"]
    return {"losses": losses, "values": values}


def _standing(values: Any, x: Any, target: Any, count: int) -> Any:
    return {"losses": _trained(values, x, target, 1)["losses"] * count, "values": [np.array(v) for v in values]}


def _in_gradients(name: str, say: str, **options: Any) -> Misconception:
    return Misconception(name, say, lambda case: _differentiated(**case.args, **options) if case.call == "loss_and_gradients" else None)


def _in_steps(name: str, say: str, wrong: Callable[..., Any]) -> Misconception:
    return Misconception(name, say, lambda case: wrong(**case.args) if case.call == "own_step" else None)


OWN_STEP = told_by(
    _is_trained,
    "own_step",
    {"the gradients": 2, "some epochs": 1, "the network 2-25-25-25-2": 2},
    _networks,
    answers=("loss_and_gradients", "own_step"),
    drive="minigrad.lessons.exercises.drive11:by_own_engine",
    forbid=(DERIVATIVES, "minigrad.optim"),
    checked="Losses, gradients and trained parameters are held against those of minigrad, from the same first numbers.",
    present=lambda case: (
        f"{case.call}, with {len(case.args['values']) // 2} layer(s), {len(case.args['x'])} point(s)"
        + (f", {case.args['count']} epochs" if case.call == "own_step" else "")
    ),
    hints=(
        "A NameError? Run the cell with unpack() twice: it brings your engine. Then: nodes, loss, order, gradients; and the step.",
        "parameters = [Tensor(v) for v in values], and x becomes a Tensor too. `gradients` wants an order, and the list of parameters.",
        "loss = cross_entropy(scores_of(Tensor(x), parameters), target), and gradients(topological_order(loss), parameters). "
        "The step: [adam(v, g, s) for v, g, s in zip(values, found, states)].",
    ),
    misconceptions=(
        _in_gradients("sum over the points", "the loss is the sum over the points; it should be their mean.", reduction="sum"),
        _in_gradients("relu on the scores", "there is a relu after the last layer too; scores may be negative.", last=mg.relu),
        _in_steps("gradient descent", "you take the step of plain gradient descent; here it is `adam`'s.",
                  lambda **a: _trained(**a, make=lambda p: mg.optim.SGD(p, lr=0.05))),
        _in_steps("no memory", "`adam` forgets between the epochs: give it the dictionaries from `states`, not new ones.", _forgetful),
        _in_steps("no step", "the values come back as they were: return what `adam` returns.", _standing),
        _in_steps("loss after the step", "you return the loss after the step; the loss of this epoch is the one before it.", _late),
        _in_steps("uphill", "the step goes uphill.", lambda **a: _trained(**a, make=lambda p: mg.optim.Adam(p, lr=-RATE))),
    ),
)  # fmt: skip


def _check_own_step(*answers: Any) -> Feedback:
    """As the common check; where the student's rules or loop are to blame, with the first wrong step of them in the viewer."""
    feedback = check_exercise(replace(OWN_STEP, notebook=None), answers)
    if feedback.status == "wrong":
        with suppress(StudentProblem, KeyError, TypeError, AttributeError, ValueError):  # nothing to be shown: the verdict stands alone
            _show_on_trace(getattr(answers[0], "__globals__", {}), feedback)
    return feedback


def _show_on_trace(written: dict[str, Any], feedback: Feedback) -> None:
    case = list(_networks(np.random.default_rng(0)))[1].args
    parameters = [written["Tensor"](v) for v in case["values"]]
    names = dict(zip(_names(len(parameters)), parameters, strict=True))

    def loss_of() -> Any:
        return written["cross_entropy"](written["scores_of"](written["Tensor"](case["x"]), parameters), case["target"])

    loss = Caller().call(loss_of, (), "your engine")
    run = lambda: written["gradients"](written["topological_order"](loss), parameters)
    trace = recorded(loss, parameters, run, names=names, title="a network 2-3-2 by your engine")
    parting = first_divergence(reference(case["values"], case["x"], case["target"]), trace)
    if parting is not None and parting.node is not None:
        own = [i for i, step in enumerate(trace["steps"]) if [parting.node, parting.column] in [[n, c] for n, c, _ in step["writes"]]]
        feedback.trace, feedback.step = trace, own[-1] + 1 if own else len(trace["steps"])
        feedback.lines.append(Line("note", f"In your engine the first wrong node is {parting.node}: {parting.say}"))


OWN_STEP.notebook = _check_own_step

TITLES = {
    "bands": "Exercise 1 · Bands",
    "early_stop": "Exercise 2 · Stop in time",
    "adam": "Exercise 3 · Adam",
    "own_step": "Exercise 4 · The gradients and an epoch, by your engine",
}

EXERCISES: dict[str, Exercise] = by_name((*PREDICTIONS, BANDS, EARLY_STOP, ADAM, OWN_STEP), TITLES)
