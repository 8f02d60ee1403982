"""The exercises of lesson 9, as data: what `backward` yields, two pull rules, a step of gradient
descent, a training loop by operations.

Right answers are not written here: they are computed by the engine when a check runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

import minigrad as mg
from minigrad import autograd

from ..grading.comparison import same
from ..grading.exercise import DERIVATIVES, Case, Exercise, Misconception
from ..grading.graphs import AskedRule, where_in_rule
from ..grading.kinds import Optimiser, Trains, Vjp
from ..grading.kinds.rules_on_arrays import Draw, pulled, vjp_by_differences
from .made import Exact, by_name
from .slips import softmax

RATE = 0.05


def one_hot(labels: Any) -> np.ndarray:
    """A row for each label, with a one in the place that the label names."""
    return np.eye(2, dtype=np.float32)[labels]


def _pairs(switch: str) -> float:
    """How many pairs `backward` yields for the lesson's network after a switch was turned."""
    made = lambda *shape: mg.Tensor(
        data=np.full(shape, 0.3, dtype=np.float32), requires_grad=True, stores_grad=True
    )
    x = mg.Tensor(data=np.array([[0.5, 1.0], [-1.0, 0.25]], dtype=np.float32))
    target = mg.Tensor(data=one_hot([0, 1]))
    w0, b0, w1, b1 = made(2, 3), made(1, 3), made(3, 2), made(1, 2)
    if switch == "frozen":
        w0.requires_grad = b0.requires_grad = False
    h = autograd.relu(autograd.add_bias(autograd.matmul(x, w0), b0))
    if switch == "feature":
        h.stores_grad = True
    loss = autograd.softmax_cross_entropy(autograd.add_bias(autograd.matmul(h, w1), b1), target)
    return float(len(list(autograd.backward(loss))))


PREDICTIONS = (
    Exact(
        "pairs",
        "Prediction: the pairs that backward yields",
        variable="number_of_pairs",
        answer=lambda: _pairs(""),
        because=(
            "w0, b0, w1 and b1: they alone store a gradient. h has one too, but it is only passed"
            " through."
        ),
        slips=(
            (
                "The intermediate results have gradients as well, but they do not store them.",
                lambda: 5.0,
            ),
            (
                "The inputs and the targets are data, and need no gradients.",
                lambda: 6.0,
            ),
            ("Each layer has two parameters: a weight matrix and a bias.", lambda: 2.0),
        ),
        hints=(
            "A pair is yielded for a tensor with stores_grad. Which tensors were made with it?",
        ),
    ),
    Exact(
        "pairs-feature",
        "Prediction: the pairs after h.stores_grad = True",
        variable="pairs_with_h",
        answer=lambda: _pairs("feature"),
        because="The four parameters as before, and now h as well.",
        slips=(
            ("The parameters are still there; h comes in addition.", lambda: 1.0),
            ("One more than before: h itself.", lambda: 4.0),
            ("h alone is switched: the results before it still keep nothing.", lambda: 6.0),
        ),
        hints=("The switch adds one tensor to those that store a gradient.",),
    ),
    Exact(
        "pairs-frozen",
        "Prediction: the pairs after w0 and b0 were frozen",
        variable="pairs_when_frozen",
        answer=lambda: _pairs("frozen"),
        because=(
            "w1 and b1 are left. The sweep ends at the second layer: nothing below it requires a"
            " gradient."
        ),
        slips=(
            ("A tensor that requires no gradient cannot store one.", lambda: 4.0),
            ("Both parameters of the first layer are frozen.", lambda: 3.0),
            ("The second layer is still there, with two parameters.", lambda: 0.0),
            ("The second layer has a bias as well as weights.", lambda: 1.0),
        ),
        hints=(
            (
                "If stores_grad is True then requires_grad is True. What follows when requires_grad"
                " becomes False?"
            ),
        ),
    ),
)


# --------------------------------------------------------------------------------------- pull rules


def _apart(*shape: int) -> Draw:
    """Values away from 0, where relu has no derivative."""
    return lambda rng: [
        np.asarray(rng.uniform(0.2, 2.0, size=shape) * rng.choice((-1.0, 1.0), size=shape))
    ]


PULL_RELU = Vjp(
    "pull_relu",
    mg.relu,
    draws={
        "values": [_apart(6), _apart(6)],
        "shapes": [_apart(), _apart(2, 3), _apart(0)],
        "linear": [_apart(4)],
    },
    points={"values": 1, "shapes": 1, "linear in g": 1},
    hints=(
        (
            "Where x is positive relu lets it pass: slope 1. Where x is negative the result is 0,"
            " whatever x does: slope 0."
        ),
        "`x > 0` is an array of True and False; multiplied, they count as 1 and 0.",
        "The cotangent of x is g · (x > 0).",
    ),
).telling(
    Misconception(
        "relu of the adjoint",
        "you applied relu to `g`. Whether something passes is decided by x, not by g.",
        lambda case: np.maximum(case.args["g"], 0.0),
    ),
    Misconception.of(
        "the value",
        "you return relu(x) itself. Asked for is what goes back to x: `g` where x is positive.",
        lambda x, g: np.maximum(x, 0.0),
    ),
    Misconception.of(
        "as for abs",
        "where x is negative, −g comes back: that is the rule of |x|. relu is constant there,"
        " so nothing comes back.",
        lambda x, g: g * np.sign(x),
    ),
    # At a result of relu the slope is that at its input: to take it there is no mistake here.
    without=("derivative at the output",),
)


def _cross_entropy(target: np.ndarray) -> Any:
    return lambda scores: mg.nn.functional.cross_entropy(scores, mg.tensor(target))


def _score_cases(rng: np.random.Generator) -> Iterator[Case]:
    for group, shape, g in (
        ("one example", (1, 2), 1.0),
        ("one example", (1, 4), 1.0),
        ("batches", (5, 2), 1.0),
        ("batches", (3, 3), 1.0),
        ("any adjoint", (4, 2), -2.5),
        ("any adjoint", (4, 2), 0.0),
        ("large scores", (3, 2), 1.0),
        ("large scores", (2, 3), 1.0),
    ):
        scores = np.asarray(rng.uniform(-2, 2, size=shape))
        # in all rows; and in one of two rows, where the largest score of the batch is none of the
        # other's
        if group == "large scores":
            scores += 1000.0 if shape == (3, 2) else np.array([[1000.0], [0.0]])
        target = np.eye(shape[1])[rng.integers(0, shape[1], size=shape[0])]
        yield Case(group, scores=scores, target=target, g=g)


def _without_mean(scores: np.ndarray, target: np.ndarray, g: float) -> np.ndarray:
    return g * (softmax(scores) - target)


def _naive(scores: np.ndarray, target: np.ndarray, g: float) -> np.ndarray:
    with np.errstate(all="ignore"):
        grown = np.exp(scores)
        return np.asarray(g * (grown / grown.sum(axis=1, keepdims=True) - target) / len(scores))


def _one_maximum(scores: np.ndarray, target: np.ndarray, g: float) -> np.ndarray:
    with np.errstate(all="ignore"):
        grown = np.exp(scores - scores.max())
        return np.asarray(g * (grown / grown.sum(axis=1, keepdims=True) - target) / len(scores))


def _but_for_nan(wrong: Any, case: Case, got: Any) -> bool:
    """Whether values come from a mistake, NaN included."""
    made = wrong(**case.args)
    holes = np.isnan(made)
    return bool((np.isnan(got) == holes).all()) and np.allclose(
        got[~holes], made[~holes], rtol=1e-6, atol=1e-9
    )


def _but_for_overflow(wrong: Any, case: Case, got: Any) -> bool:
    """Whether values come from a mistake, where large scores made them NaN."""
    return (
        bool(np.isnan(got).all())
        if case.group == "large scores"
        else not same(wrong(**case.args), got)
    )


PULL_CROSS_ENTROPY = Exercise(
    "pull_cross_entropy",
    {"one example": 1, "batches": 1, "any adjoint": 1, "large scores": 1},
    _score_cases,
    forbid=(DERIVATIVES,),
    where=where_in_rule(
        lambda case: AskedRule(
            _cross_entropy(case.args["target"]),
            {"scores": case.args["scores"]},
            [case.args["g"]],
        )
    ),
    hints=(
        (
            "For one example the loss is −s_t + ln Σⱼ e^{sⱼ}, with t the right class. "
            "Differentiate that by s_t, and by another s_j."
        ),
        (
            "The derivative of ln Σ e^{sⱼ} by sⱼ is e^{sⱼ} / Σ e^{sⱼ}: the softmax. Subtract 1 "
            "at the right class: that is where target is 1."
        ),
        (
            "For a batch of n it is g · (softmax − target) / n. Subtract each row's maximum "
            "before np.exp: it cancels, and nothing overflows."
        ),
    ),
    verify=lambda case, got: same(
        vjp_by_differences(_cross_entropy(case.args["target"]), [case.args["scores"]],
            case.args["g"])[0],
        got, 1e-4, 1e-6, "what `pull_cross_entropy` returned",
    ),
    misconceptions=(
        Misconception("mean over the batch",
            "the mean over the batch is forgotten: divide by the number of examples.",
                      lambda case: _without_mean(**case.args), explains=lambda case,
                      got: _but_for_overflow(_without_mean, case, got)),
        Misconception("overflow",
            "np.exp overflows for large scores: subtract each row's largest score first.",
                      lambda case: _naive(**case.args), explains=lambda case,
                      got: _but_for_nan(_naive, case, got)),
        Misconception.of("forgets the incoming adjoint", "you left out `g`: multiply by it.",
                         lambda scores, target, g: (softmax(scores) - target) / len(scores)),
        Misconception("one maximum for all",
            "you subtract the largest score of the whole batch: where all scores of a row are far "
            "below "
                      "it, every exponential of that row is 0, and 0/0 is NaN. Each row has a "
                      "largest score of its own.",
                      lambda case: _one_maximum(**case.args), explains=lambda case,
                      got: _but_for_nan(_one_maximum, case, got)),
        Misconception.of("sign", "the sign is reversed.", lambda scores, target,
            g: g * (target - softmax(scores)) / len(scores)),
        Misconception.of("no target", "the target is missing: subtract it from the softmax.",
                         lambda scores, target, g: g * softmax(scores) / len(scores)),
        Misconception.of("mean over all elements",
            "Divide by the number of examples, not of all elements.",
                         lambda scores, target, g: g * (softmax(scores) - target) / scores.size),
        Misconception.of("logarithms",
            "the logarithm of the softmax is in your rule; the gradient has the softmax itself.",
                         lambda scores, target,
                         g: g * (np.log(softmax(scores)) - target) / len(scores)),
        Misconception.of("the wrong classes alone",
            "the right class gets nothing: its part is the softmax minus 1.",
                         lambda scores, target,
                         g: g * softmax(scores) * (1 - target) / len(scores)),
        Misconception.of("back to the probabilities",
            "that is the derivative with respect to the probabilities, −target/p. It still has to "
            "go back through the softmax, to the scores.",
                         lambda scores, target, g: -g * target / softmax(scores) / len(scores)),
        Misconception.of("no softmax",
            "the softmax is missing: the target is subtracted from the probabilities, not from "
            "the scores.",
                         lambda scores, target, g: g * (scores - target) / len(scores)),
        Misconception.of("one softmax for the batch",
            "your probabilities add up to 1 over the whole batch; each row has a softmax of its "
            "own.",
                         lambda scores, target, g: g * (np.exp(scores - scores.max())
                         / np.exp(scores - scores.max()).sum() - target) / len(scores)),
        Misconception.of("the other axis", "The softmax goes over each row, not over each column.",
                         lambda scores, target,
                         g: g * (softmax(scores.T).T - target) / len(scores)),
    ),
)  # fmt: skip


@PULL_CROSS_ENTROPY.answer
def _(scores: np.ndarray, target: np.ndarray, g: float) -> Any:
    return pulled(_cross_entropy(target), [scores], np.asarray(g))[0]


# ----------------------------------------------------------------------------------------- training


def _with_rate(rate: float) -> Any:
    """What descent with another rate returns: all parameters after each step."""

    def path(parameters: Any, gradients: Any) -> Any:
        now, found = parameters, []
        for step in gradients:
            now = [p - rate * g for p, g in zip(now, step, strict=True)]
            found.append(now)
        return found

    return path


def _stepped(step: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    """The path of an optimiser without memory."""

    def path(parameters: Any, gradients: Any) -> Any:
        now, found = parameters, []
        for given in gradients:
            now = [step(p, g) for p, g in zip(now, given, strict=True)]
            found.append(now)
        return found

    return path


_signed = _stepped(lambda p, g: p - RATE * np.sign(g))


SGD = Optimiser(
    "sgd",
    lambda p: mg.optim.SGD(p, lr=RATE),
    hints=(
        "The gradient says where the loss grows. Where do you want to go?",
        (
            "The step is the gradient times the rate. Plain gradient descent remembers nothing:"
            " `state` stays empty."
        ),
        f"The new parameter is parameter − {RATE} · gradient.",
    ),
    checked="The parameters after each step are compared with those of minigrad's own optimiser.",
).telling(
    Misconception.of(
        "the step alone",
        "you return the step; subtract it from the parameter.",
        lambda parameters, gradients: [[RATE * g for g in step] for step in gradients],
    ),
    Misconception.of(
        "the sign of the gradient",
        "you use the sign of the gradient alone; its size belongs to the step.",
        _signed,
    ),
    Misconception.of(
        "the gradient of length one",
        "you divide the gradient by its length; its size belongs to the step.",
        _stepped(lambda p, g: p - RATE * g / np.linalg.norm(g)),
    ),
    Misconception.of(
        "no gradient",
        "you subtract the rate alone; multiply it by the gradient.",
        _stepped(lambda p, g: p - RATE),
    ),
    Misconception.of(
        "a share of the parameter",
        "the parameter is multiplied by the gradient; subtract the rate times the gradient.",
        _stepped(lambda p, g: p * (1 - RATE * g)),
    ),
    Misconception.of(
        "no rate",
        f"the whole gradient is taken: multiply it by the rate {RATE}.",
        _with_rate(1.0),
    ),
    *(
        Misconception.of(
            f"the rate {rate}", f"your rate is {rate}: it is to be {RATE}.", _with_rate(rate)
        )
        for rate in (10 * RATE, 0.01, 0.001, 0.005)
    ),
)


def network_loss(returned: Sequence[Any], x: np.ndarray, labels: np.ndarray, seed: int) -> float:
    """The cross-entropy of the network with the parameters that a training returned, computed in
    NumPy.
    """
    w0, b0, w1, b1 = (np.asarray(p, dtype=np.float64) for p in returned)
    if w0.shape[0] != 2 or w1.shape[1] != 2:
        raise ValueError("not the parameters of this network")
    scores = np.maximum(x @ w0 + b0, 0.0) @ w1 + b1
    best = scores.max(axis=1, keepdims=True)
    logarithm = best[:, 0] + np.log(np.exp(scores - best).sum(axis=1))
    return float(np.mean(logarithm - scores[np.arange(len(x)), labels]))


def _draw(rng: np.random.Generator) -> dict[str, Any]:
    x, labels = mg.data.two_moons(100, seed=int(rng.integers(10_000))).tensors
    return {"x": x.numpy(), "labels": labels.numpy(), "seed": int(rng.integers(10_000))}


TRAIN = Trains(
    "train",
    _draw,
    network_loss,
    bar=0.4,
    points={"loss below the bar": 3},
    limit_s=20.0,
    hints=(
        (
            "It is the loop of section 3: the loss, then `for p, g in autograd.backward(loss):"
            " optimiser.update(p, g)`."
        ),
        (
            "Ten steps of 0.05 do not get far. Try a rate of 0.5 and a few hundred steps, and print"
            " the loss now and then."
        ),
        "Return the four parameters as arrays: `return [p.detach().numpy() for p in parameters]`.",
    ),
)

TITLES = {
    "sgd": "Exercise 1 · The step",
    "train": "Exercise 2 · Wire it up",
    "pull_relu": "Exercise 3 · relu",
    "pull_cross_entropy": "Exercise 4 · Softmax and cross-entropy, in one",
}

EXERCISES: dict[str, Exercise] = by_name(vars(), TITLES)
