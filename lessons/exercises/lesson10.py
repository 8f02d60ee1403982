"""The exercises of lesson 10, as data: shapes in a convolutional network, and the backward rules of
cat, max pooling and a batch's mean.

Right answers are not written here: shapes come from the network's own layers, cotangents from the
engine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np

import minigrad as mg
from minigrad.watch import trace_function

from ..grading.checking import feedback_of, judge_here
from ..grading.comparison import as_plain
from ..grading.exercise import DERIVATIVES, Case, Exercise, Misconception
from ..grading.feedback import Feedback, Line
from ..grading.graphs import AskedRule, where_in_rule
from ..grading.kinds import Number
from ..grading.kinds.rules_on_arrays import pulled, tensors
from ..grading.local import run_cases
from .made import Exact, by_name, equal_to, told_by

nn, F = mg.nn, mg.nn.functional


# ------------------------------------------------------------------------------------------- shapes

SIDE, IMAGES, CHANNELS = 8, 2, 32


@cache
def shapes() -> dict[str, tuple[int, ...]]:
    """The shape after each line of the network, for a batch of two images of 8 × 8 pixels."""
    with mg.no_grad():
        y = nn.Conv2d(1, CHANNELS, 3, padding=1, bias=False)(mg.zeros(IMAGES, 1, SIDE, SIDE))
        found = {"conv1": y.shape}
        y = nn.MaxPool2d(3, 1, padding=1)(nn.BatchNorm2d(CHANNELS)(mg.relu(y)))
        found |= {"pooling1": y.shape}
        branch = nn.Conv2d(CHANNELS, CHANNELS // 2, 3, padding=1)(y)
        found |= {"conv21": branch.shape, "cat": mg.cat((branch, branch), 1).shape}
        y = mg.flatten(nn.AvgPool2d(3, 1, padding=1)(mg.cat((branch, branch), 1)), 1)
        return {
            name: tuple(shape)
            for name, shape in {**found, "flatten": y.shape, "linear": (IMAGES, 10)}.items()
        }


GROUPS = {
    "before the branches": ("conv1", "pooling1"),
    "branches": ("conv21", "cat"),
    "after them": ("flatten", "linear"),
}


def _shape_cases(rng: np.random.Generator) -> Iterator[Case]:
    for group in GROUPS:
        yield Case(group)


def _right_shapes(case: Case, got: Any) -> str:
    if type(got) is not dict:
        return "`predicted_shapes` should be a dictionary from the layers' names to shapes."
    for name in GROUPS[case.group]:
        shape, right = got.get(name), shapes()[name]
        if type(shape) not in (tuple, list) or not all(type(n) is int for n in shape):
            return (
                f"the shape after `{name}` should be a tuple of whole numbers, such as (2, 1,"
                " 8, 8)."
            )
        if len(shape) != len(right):
            return (
                f"the shape after `{name}` should have {len(right)} numbers; yours has"
                f" {len(shape)}."
            )
        if tuple(shape) != right:
            place = next(
                i
                for i, (mine, theirs) in enumerate(zip(shape, right, strict=True))
                if mine != theirs
            )
            what = (
                ("images", "channels", "rows", "columns")
                if len(right) == 4
                else ("images", "numbers for each image")
            )
            return f"after `{name}` the number of {what[place]} is not {shape[place]}."
    return ""


def _with(**changed: tuple[int, ...]) -> Callable[[Case], Any]:
    return lambda case: {**shapes(), **changed}


predicted_shapes = told_by(
    _right_shapes,
    "shapes",
    dict.fromkeys(GROUPS, 1.0),
    _shape_cases,
    answers=("predicted_shapes",),
    is_value=True,
    checked="They are compared with what the layers give for two images of zeros.",
    hints=(
        (
            "A convolution's second setting is the number of channels that come out. What do 3 × 3"
            " windows with a border of one do to rows and columns?"
        ),
        (
            "With padding 1, each pixel has a full 3 × 3 window around it, so rows and columns"
            " stay. The same holds for pooling with stride 1."
        ),
        (
            "cat along axis 1 puts the channels of its parts one after the other; flatten makes one"
            " row of an image's numbers, 32 · 8 · 8."
        ),
    ),
    misconceptions=(
        Misconception(
            "no padding",
            "you let the convolution eat the border: padding=1 puts it back.",
            _with(
                conv1=(2, 32, 6, 6),
                pooling1=(2, 32, 4, 4),
                conv21=(2, 16, 2, 2),
                cat=(2, 32, 2, 2),
                flatten=(2, 128),
            ),
            variants=(("", _with(conv1=(2, 32, 6, 6))),),
        ),
        Misconception(
            "pooling halves",
            "you let pooling halve rows and columns. That is so with stride 2; here the stride"
            " is 1.",
            _with(
                pooling1=(2, 32, 4, 4), conv21=(2, 16, 4, 4), cat=(2, 32, 4, 4), flatten=(2, 512)
            ),
            variants=(("", _with(pooling1=(2, 32, 4, 4))),),
        ),
        Misconception(
            "cat adds a dimension",
            "you stacked the branches; cat puts their channels one after the other.",
            _with(cat=(2, 2, 16, 8, 8)),
        ),
        Misconception(
            "cat keeps the channels",
            "you kept the 16 channels of one branch; cat keeps those of both.",
            _with(cat=(2, 16, 8, 8), flatten=(2, 1024)),
            variants=(("", _with(cat=(2, 16, 8, 8))),),
        ),
        Misconception(
            "flattens the batch",
            "you flattened the two images into one row; each image keeps a row of its own.",
            _with(flatten=(4096,)),
        ),
    ),
)


def _check_shapes(table: Any = None, *rest: Any) -> Feedback:
    """As the common check, but a table that still has a `...` is not finished, rather than
    wrong.
    """
    e = predicted_shapes
    empty = [
        name for name in shapes() if not isinstance(table, dict) or table.get(name) in (None, ...)
    ]
    if table is None or table is ... or (isinstance(table, dict) and empty):
        begun = (
            "Not finished"
            if isinstance(table, dict) and len(empty) < len(shapes())
            else "Not started yet"
        )
        say = f"{begun}: `{empty[0]}` is the next one to fill in, a tuple such as (2, 1, 8, 8)."
        return Feedback(
            e.title,
            "unfinished",
            e.name,
            [Line("unfinished", say)],
            possible=e.max_points,
            hints=e.hints,
        )
    cases = e.cases(0)
    judgement = judge_here(e, cases, run_cases(e, cases, {e.answers[0]: table}, 5.0))
    shown = feedback_of(e, judgement, len(cases))
    shown.checked = e.checked
    return shown


predicted_shapes.notebook = _check_shapes


# ---------------------------------------------------------------------------------- backward of cat


def _apart(g: np.ndarray, channels: Any) -> list[np.ndarray]:
    """The cotangents of cat's parts, by the engine."""
    parts = [np.zeros((*g.shape[:1], int(n), *g.shape[2:])) for n in channels]
    return pulled(lambda *pieces: mg.cat(pieces, 1), parts, g)


def _asked_of_cat(case: Case) -> AskedRule:
    g = case.args["g"]
    parts = {
        f"x{i}": np.zeros((g.shape[0], int(n), *g.shape[2:]))
        for i, n in enumerate(case.args["channels"], 1)
    }
    return AskedRule(lambda *pieces: mg.cat(pieces, 1), parts, [g])


def _cat_cases(rng: np.random.Generator) -> Iterator[Case]:
    yield Case("two branches", g=rng.normal(size=(1, 4, 1, 1)), channels=(2, 2))
    yield Case("two branches", g=rng.normal(size=(2, 6, 2, 3)), channels=(3, 3))
    yield Case("branches of different sizes", g=rng.normal(size=(1, 3, 1, 2)), channels=(1, 2))
    yield Case("branches of different sizes", g=rng.normal(size=(2, 6, 2, 2)), channels=(1, 3, 2))
    yield Case("branches of different sizes", g=rng.normal(size=(3, 5, 1, 1)), channels=(5,))


def _sized(g: np.ndarray, channels: Any, start: Callable[[int], int]) -> list[np.ndarray]:
    return [g[:, start(i) : start(i) + n] for i, n in enumerate(channels)]


adjoint_cat = equal_to(
    _apart,
    "adjoint_cat",
    {"two branches": 1, "branches of different sizes": 1},
    _cat_cases,
    where=where_in_rule(_asked_of_cat),
    forbid=(DERIVATIVES,),
    checked="Your parts are compared with the engine's.",
    hints=(
        (
            "Which of the channels of the result came from the first branch, and which from the"
            " second?"
        ),
        "Each branch gets back the channels that are its own: a slice g[:, start : stop].",
        (
            "start is the sum of the channels of the branches before; stop is start plus the"
            " branch's own."
        ),
    ),
    misconceptions=(
        Misconception.of(
            "everyone gets all",
            "every branch gets the whole adjoint; it should get its own channels only.",
            lambda g, channels: [g for _ in channels],
        ),
        Misconception.of(
            "equal parts",
            "you cut into equal parts, but branches may differ in size.",
            lambda g, channels: list(np.array_split(g, len(channels), axis=1)),
        ),
        Misconception.of(
            "forgets to move on",
            "every branch gets the first channels: the start must move on.",
            lambda g, channels: _sized(g, channels, lambda i: 0),
        ),
        Misconception.of(
            "wrong axis",
            "you cut along the images; axis 1 holds the channels.",
            lambda g, channels: [g[: int(n)] for n in channels],
        ),
        Misconception.of(
            "reversed",
            "the branches got each other's channels.",
            lambda g, channels: _sized(g, channels, lambda i: int(sum(channels[i + 1 :]))),
        ),
        Misconception.of(
            "averages",
            "you divided among the branches; nothing is shared out here.",
            lambda g, channels: [p / len(channels) for p in _apart(g, channels)],
        ),
    ),
)


# -------------------------------------------------------------------------- backward of max pooling


def _pooled(x: np.ndarray) -> np.ndarray:
    return x.reshape(x.shape[0] // 2, 2, x.shape[1] // 2, 2).max((1, 3))


def _pool(x: Any) -> Any:
    return F.max_pool2d(x.reshape(1, 1, *x.shape), 2).reshape(x.shape[0] // 2, x.shape[1] // 2)


def _unpooled(x: np.ndarray, g: np.ndarray) -> np.ndarray:
    return pulled(_pool, [x], g)[0]


def _spread(g: np.ndarray) -> np.ndarray:
    return g.repeat(2, 0).repeat(2, 1)


def _pool_cases(rng: np.random.Generator) -> Iterator[Case]:
    for shape in ((2, 2), (2, 4), (4, 4), (6, 4)):
        yield Case(
            "no ties",
            x=rng.permutation(np.arange(float(np.prod(shape)))).reshape(shape) - 5,
            g=rng.normal(size=(shape[0] // 2, shape[1] // 2)),
        )
    yield Case("no ties", x=-rng.uniform(1, 2, size=(4, 2)), g=rng.normal(size=(2, 1)))
    yield Case("ties", x=np.ones((2, 2)), g=np.array([[3.0]]))
    yield Case(
        "ties", x=np.array([[0.0, 2.0, 1.0, 1.0], [2.0, 1.0, 1.0, 1.0]]), g=np.array([[2.0, -1.0]])
    )
    yield Case(
        "ties", x=rng.integers(0, 3, size=(4, 6)).astype(float), g=rng.uniform(1, 2, size=(2, 3))
    )


def _last_winner(x: np.ndarray, g: np.ndarray) -> np.ndarray:
    return _unpooled(x[::-1, ::-1], g[::-1, ::-1])[::-1, ::-1]


adjoint_max_pool = equal_to(
    _unpooled,
    "adjoint_max_pool",
    {"no ties": 2, "ties": 1},
    _pool_cases,
    where=where_in_rule(lambda case: AskedRule(_pool, {"x": case.args["x"]}, [case.args["g"]])),
    forbid=(DERIVATIVES,),
    checked="Your array is compared with the engine's.",
    hints=(
        (
            "In each window, which of the four numbers made it into the result? What does the"
            " result do if one of the others moves a little?"
        ),
        (
            "Start with zeros of x's shape. For each window of 2 × 2, put the window's g where the"
            " window's largest number stands."
        ),
        (
            "window.argmax() counts in reading order and takes the first of several equal ones;"
            " divmod(place, 2) turns it into row and column."
        ),
    ),
    misconceptions=(
        Misconception.of(
            "everyone gets it",
            "all four places of a window get g; three of them had no influence.",
            lambda x, g: _spread(g),
        ),
        Misconception.of(
            "shared out",
            "you gave each place a quarter. That is the rule of average pooling.",
            lambda x, g: _spread(g) / 4,
        ),
        Misconception.of(
            "times the value",
            "you multiplied by x. The winner passes through with the factor 1.",
            lambda x, g: x * _unpooled(x, g),
        ),
        Misconception.of(
            "forgets the incoming adjoint",
            "you left out g: the winner gets 1 instead.",
            lambda x, g: _unpooled(x, np.ones_like(g)),
        ),
        Misconception.of(
            "all that are equal",
            "where several are equal you gave g to each of them; then more comes back than was"
            " sent. The first one gets it.",
            lambda x, g: _spread(g) * (x == _spread(_pooled(x))),
        ),
        Misconception.of(
            "the last of several",
            "Where several are equal the first in reading order gets it, not the last.",
            _last_winner,
        ),
        Misconception.of(
            "one winner for all",
            "you looked for the largest number of the whole array; each window has a winner of its"
            " own.",
            lambda x, g: np.where(
                np.arange(x.size).reshape(x.shape) == x.argmax(), _spread(g), 0.0
            ),
        ),
        Misconception.of("sign", "the sign is reversed.", lambda x, g: -_unpooled(x, g)),
    ),
)


# ----------------------------------------------------------------------- backward of a batch's mean


def _centred(x: Any) -> Any:
    return x - x.mean(0)


def _from_centred(g: np.ndarray) -> np.ndarray:
    return pulled(_centred, [np.zeros_like(g)], g)[0]


def _mean_cases(rng: np.random.Generator) -> Iterator[Case]:
    yield Case("one column", g=np.array([[1.0], [0.0]]))
    for n in (1, 2, 3, 5):
        yield Case("one column", g=rng.normal(size=(n, 1)))
    for shape in ((2, 2), (4, 3), (1, 4), (6, 2)):
        yield Case("several columns", g=rng.normal(size=shape))


adjoint_centred = equal_to(
    _from_centred,
    "adjoint_centred",
    {"one column": 1, "several columns": 1},
    _mean_cases,
    where=where_in_rule(
        lambda case: AskedRule(_centred, {"x": np.zeros_like(case.args["g"])}, [case.args["g"]])
    ),
    forbid=(DERIVATIVES,),
    checked="Your array is compared with the engine's.",
    hints=(
        (
            "Each x influences its own y directly, with the factor 1; and through the mean it"
            " influences every y of its column. How strongly?"
        ),
        "The mean moves by 1/N when one x moves by 1, and every y of the column moves against it.",
        (
            "So x gets its own g, less 1/N times the sum of all g of the column: g minus the mean"
            " of g."
        ),
    ),
    misconceptions=(
        Misconception.of(
            "the mean as a constant",
            "you treat the mean as a constant; but it is made of the x.",
            lambda g: g,
        ),
        Misconception.of(
            "the sum",
            "The sum of all g is to be divided by their number: the mean moves by 1/N.",
            lambda g: g - g.sum(0),
        ),
        Misconception.of(
            "one mean for all",
            "you took the mean of the whole array; each column has its own.",
            lambda g: g - g.mean(),
        ),
        Misconception.of(
            "wrong axis",
            "you took the mean of each row. The batch is axis 0.",
            lambda g: g - g.mean(1, keepdims=True),
        ),
        Misconception.of(
            "sign",
            "The way through the mean has a minus: a larger mean makes every y smaller.",
            lambda g: g + g.mean(0),
        ),
        Misconception.of(
            "only through the mean",
            "the direct way from x to its own y is missing.",
            lambda g: np.broadcast_to(-g.mean(0), g.shape),
        ),
        Misconception.of(
            "factor",
            "The mean moves by 1/N when one x does: divide by N, and leave the direct way whole.",
            lambda g: g * (1 - 1 / len(g)),
        ),
    ),
)


# -------------------------------------------------------------------------------------- predictions


def _sent_back() -> float:
    """How many contributions reach a value that goes into two convolutions."""
    left, right = (nn.Conv2d(1, 1, 1) for _ in range(2))
    trace = trace_function(
        lambda y: mg.cat((left(y), right(y)), 1).sum(), mg.ones(1, 1, 2, 2), mode="reverse"
    )
    return float(
        sum(
            step["node"] == trace["inputs"][0]
            for step in trace["steps"]
            if step["phase"] in ("adjoint", "accumulate")
        )
    )


def _reached(side: int) -> float:
    """How many numbers of a side × side image get something back through max pooling by 2 × 2."""
    x = np.arange(float(side * side)).reshape(side, side)
    return float(np.count_nonzero(_unpooled(x, np.ones((side // 2, side // 2)))))


def _windows_won() -> float:
    """How many 3 × 3 windows, one around every pixel, the largest pixel in the middle of an
    image wins.
    """
    (x,) = tensors([np.zeros((1, 1, 5, 5))])
    peak = mg.zeros(1, 1, 5, 5).numpy()
    peak[0, 0, 2, 2] = 1
    return float(as_plain(F.max_pool2d(x + mg.tensor(peak), 3, 1, padding=1)).sum())


def _running_mean() -> float:
    bn = nn.BatchNorm1d(1)
    bn(mg.tensor([[4.0], [6.0]]))
    return float(bn.running_mean.item())


def _kinds_of_filters() -> float:
    """How many different filters there are after a step, if all began equal."""
    conv = nn.Conv2d(1, 4, 3)
    with mg.no_grad():
        nn.init.constant_(conv.weight, 0.1)
    head = mg.ones(4 * 4)
    (
        mg.relu(conv(mg.tensor(np.arange(16.0).reshape(1, 1, 4, 4)))).reshape(-1) * head
    ).sum().backward()
    return float(len(np.unique(conv.weight.grad.numpy().reshape(4, -1), axis=0)))


PREDICTIONS = (
    Exact(
        "conv1-parameters",
        "Prediction: the numbers that conv1 learns",
        variable="numbers_in_conv1",
        answer=lambda: float(
            sum(p.numel() for p in nn.Conv2d(1, CHANNELS, 3, padding=1, bias=False).parameters())
        ),
        because=(
            "32 filters of 3 × 3 × 1. The size of the image does not matter: every place uses the"
            " same filter."
        ),
        slips=(
            ("There is no bias here: bias=False.", lambda: 320.0),
            ("That is one filter. There is one for each of the 32 channels.", lambda: 9.0),
            (
                "The filters do not grow with the image: each of them slides over it.",
                lambda: 32.0 * 64,
            ),
            ("The filters have 3 × 3 numbers each; count those of all.", lambda: 32.0),
        ),
        hints=(
            "How many filters are there, and how many numbers has each of them?",
            "A filter has 3 × 3 numbers for each channel that it reads.",
        ),
    ),
    Exact(
        "branches",
        "Prediction: the contributions to the adjoint of pooling1's result",
        variable="contributions",
        answer=_sent_back,
        because=(
            "The value goes into conv21 and into conv22, and each of them sends one back. They are"
            " added."
        ),
        slips=(
            ("The value is used twice. How many send something back?", lambda: 1.0),
            (
                (
                    "Not one for each channel: a contribution is a whole array, of the shape of the"
                    " value."
                ),
                lambda: 32.0,
            ),
        ),
        hints=("How many arrows leave pooling1 in the drawing above?",),
    ),
    Exact(
        "winners",
        "Prediction: pixels that get something back through max pooling by 2 × 2",
        variable="winners",
        answer=lambda: _reached(4),
        because=(
            "There are four windows, and each has one winner. The other twelve pixels had no"
            " influence."
        ),
        slips=(
            (
                (
                    "Only the winner of a window has an influence on the result. How many windows"
                    " are there?"
                ),
                lambda: 16.0,
            ),
            ("That would be one winner in all. Each window has its own.", lambda: 1.0),
            ("Those are the losers.", lambda: 12.0),
        ),
        hints=("How many windows of 2 × 2 are there in 4 × 4 pixels, if they do not overlap?",),
    ),
    Exact(
        "windows",
        "Prediction: the windows that one pixel can win",
        variable="windows_won",
        answer=_windows_won,
        because=(
            "With a stride of 1 each pixel lies in nine windows. One that wins them all gets nine"
            " contributions, and they are added."
        ),
        slips=(
            (
                (
                    "That is so where windows do not overlap. Here there is a window around every"
                    " pixel."
                ),
                lambda: 1.0,
            ),
            ("Almost: its own window counts too.", lambda: 8.0),
            ("The window around a neighbour at a corner holds it as well.", lambda: 5.0),
        ),
        hints=("A window of 3 × 3 lies around every pixel. In how many windows is a given pixel?",),
    ),
    Number(
        "running-mean",
        "Prediction: the running mean after the first batch",
        variable="running_mean",
        answer=_running_mean,
        because="One tenth of the new mean, nine tenths of the old one, which was 0.",
        slips=(
            (
                "That is the mean of the batch. The running mean moves towards it by a tenth only.",
                lambda: 5.0,
            ),
            ("momentum is the weight of the new value here, not of the old one.", lambda: 4.5),
            ("In training mode it does move.", lambda: 0.0),
        ),
        hints=(
            "new running mean = (1 − momentum) · old running mean + momentum · mean of the batch",
            "The old one is 0, momentum is 0.1.",
        ),
    ),
    Exact(
        "equal-filters",
        "Prediction: different filters after a step from equal ones",
        variable="different_filters",
        answer=_kinds_of_filters,
        because=(
            "Equal filters give equal channels, these get equal adjoints, and equal adjoints give"
            " equal steps. They never part."
        ),
        slips=(
            ("For that, something would have to tell the four apart. Nothing does.", lambda: 4.0),
            ("They do change. But do they become different from each other?", lambda: 0.0),
        ),
        hints=(
            (
                "The four channels hold the same numbers. What do their adjoints look like, if the"
                " sum treats all of them alike?"
            ),
        ),
    ),
)

TITLES = {
    "shapes": "Exercise 1 · Predict the shapes",
    "adjoint_cat": "Exercise 2 · What cat sends back",
    "adjoint_max_pool": "Exercise 3 · What max pooling sends back",
    "adjoint_centred": "Exercise 1 · Through the mean",
}

LATER = ("adjoint_centred", "running-mean", "equal-filters")
"""What is asked in the second half of the lesson: lesson10b.py."""
EVERY: dict[str, Exercise] = by_name(vars(), TITLES)
EXERCISES = {name: exercise for name, exercise in EVERY.items() if name not in LATER}
