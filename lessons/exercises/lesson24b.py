"""The exercises of lesson 24b, as data: a recurrent network that writes names of villages.

Right answers are not written here. The network is compared with what its formula gives in NumPy,
and its slopes with what complex numbers give; a loss must be minus the logarithm of probabilities
that add up to one; draws must come as often as their chances say; and a trained network is measured
on names that it has never seen, between two losses that are known: that of pairs of letters, and
that of the rules that made the names.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np

from minigrad.data.village_names import LETTERS, SOUNDS, surprise_of, villages

from ..engine_suite import gradients_of
from ..grading.comparison import same
from ..grading.exercise import DERIVATIVES, Case, Exercise, Misconception
from ..grading.kinds import Number
from .drive24b import even
from .lesson11b import ENGINE
from .made import by_name, told_by

DRIVE = "minigrad.lessons.exercises.drive24b"
NAMES = ("E", "W", "b", "U", "c")
"""The parameters: letters in, memory, bias, letters out, bias."""
Arrays = list[np.ndarray]

# ----------------------------------------------------------------------------------- the network


def unrolled(
    letters: Arrays,
    parameters: Arrays,
    state: Callable[..., Any] = lambda x, h, E, W, b: np.tanh(x @ E + h @ W + b),
    score: Callable[..., Any] = lambda new, old, U, c: new @ U + c,
    first: float = 0.0,
    turned: bool = False,
    as_read: bool = False,
) -> Arrays:
    """The scores of each step, of real or of complex arrays; the other arguments make other
    networks of it.
    """
    E, W, b, U, c = parameters
    h = np.full((letters[0].shape[0], len(W)), first)
    scores = []
    for x in letters[::-1] if turned else letters:
        old, h = h, state(x, h, E, W, b)
        scores.append(score(h, old, U, c))
    return scores[::-1] if turned and not as_read else scores


def _slopes(letters: Arrays, parameters: Arrays, weights: Arrays, **other: Any) -> Arrays:
    total = lambda given: sum(
        np.sum(s * w)
        for s, w in zip(unrolled(letters, list(given.values()), **other), weights, strict=True)
    )
    return list(gradients_of(total, dict(zip(NAMES, parameters, strict=True))).values())


def _one_hot(rng: np.random.Generator, n: int, kinds: int) -> np.ndarray:
    return np.eye(kinds)[rng.integers(0, kinds, n)]


def _unroll_cases(rng: np.random.Generator) -> Iterator[Case]:
    for group, steps, n in (
        ("one letter", 1, 1),
        ("one letter", 1, 3),
        ("memory", 2, 2),
        ("memory", 4, 3),
        ("its slopes", 1, 2),
        ("its slopes", 3, 2),
    ):
        kinds, hidden = 4, 3
        shapes = ((kinds, hidden), (hidden, hidden), (hidden,), (hidden, kinds), (kinds,))
        yield Case(
            group,
            letters=[_one_hot(rng, n, kinds) for _ in range(steps)],
            parameters=[np.asarray(rng.normal(0, 0.7, shape)) for shape in shapes],
            weights=[np.asarray(rng.normal(size=(n, kinds))) for _ in range(steps)],
        )


def _is_unrolled(case: Case, got: Any) -> str:
    letters, parameters, weights = case.args.values()
    if type(got) is not dict:
        return "`unroll` should return a list of Tensors."
    right = unrolled(letters, parameters)
    if len(got["scores"]) != len(right):
        return f"there should be scores for {len(right)} step(s); there are {len(got['scores'])}."
    for t, (wanted, found) in enumerate(zip(right, got["scores"], strict=True)):
        if said := same(wanted, found, 1e-9, 1e-9, f"what step {t} scores"):
            return said
    if case.group != "its slopes":
        return ""
    for name, wanted, found in zip(
        NAMES, _slopes(letters, parameters, weights), got["slopes"], strict=True
    ):
        if said := same(wanted, found, 1e-7, 1e-8, f"the slope by {name}"):
            return f"the scores are right, and {said} Is every step made of Tensors?"
    return ""


def _networks(*rows: tuple[str, str, dict[str, Any]]) -> tuple[Misconception, ...]:
    """Mistakes: (name, what to say, how the network differs)."""

    def made(other: dict[str, Any]) -> Callable[[Case], Any]:
        def wrong(case: Case) -> Any:
            letters, parameters, weights = case.args.values()
            return {
                "scores": unrolled(letters, parameters, **other),
                "slopes": _slopes(letters, parameters, weights, **other),
            }

        return wrong

    return tuple(Misconception(name, say, made(other)) for name, say, other in rows)


UNROLL = told_by(
    _is_unrolled,
    "unroll",
    {"one letter": 1, "memory": 1, "its slopes": 1},
    _unroll_cases,
    drive=f"{ENGINE}:unrolled",
    forbid=(DERIVATIVES, "minigrad.nn"),
    present=lambda case: (
        f"{len(case.args['letters'])} step(s), {len(case.args['letters'][0])} name(s)"
    ),
    checked=(
        "The scores are those of the formula in the box, and the slopes by all five parameters,"
        " which every step shares, are exact."
    ),
    hints=(
        "A loop over the letters. What is carried from one step to the next?",
        "h begins as Tensor(np.zeros(…)), with a row for each name and a column for each hidden"
        " unit. Each x is an array: Tensor(x).",
        "h = tanh(Tensor(x) @ E + h @ W + b); scores.append(h @ U + c)",
    ),
    misconceptions=_networks(
        (
            "no memory",
            "h is not handed on: each step sees its own letter alone.",
            {"state": lambda x, h, E, W, b: np.tanh(x @ E + b)},
        ),
        (
            "no tanh",
            "tanh is missing; without it the whole network is one linear map.",
            {"state": lambda x, h, E, W, b: x @ E + h @ W + b},
        ),
        (
            "tanh of the letter alone",
            "the memory is added behind tanh; it belongs inside.",
            {"state": lambda x, h, E, W, b: np.tanh(x @ E + b) + h @ W},
        ),
        (
            "the state before",
            "the scores are made of the state before the letter was read.",
            {"score": lambda new, old, U, c: old @ U + c},
        ),
        (
            "W turned",
            "W is transposed: h is a row, so it is h @ W.",
            {"state": lambda x, h, E, W, b: np.tanh(x @ E + h @ W.T + b)},
        ),
        (
            "no first bias",
            "the bias b is left out.",
            {"state": lambda x, h, E, W, b: np.tanh(x @ E + h @ W)},
        ),
        (
            "no second bias",
            "the bias c of the scores is left out.",
            {"score": lambda new, old, U, c: new @ U},
        ),
        (
            "begins with ones",
            "the first state holds ones; nothing has been read yet, so it holds zeros.",
            {"first": 1.0},
        ),
        (
            "from the last letter",
            "you read from the last letter to the first.",
            {"turned": True},
        ),
        (
            "from the last letter, as read",
            "you read from the last letter to the first.",
            {"turned": True, "as_read": True},
        ),
        (
            "scores through tanh",
            "the scores go through tanh as well; they may be of any size.",
            {"score": lambda new, old, U, c: np.tanh(new @ U + c)},
        ),
        (
            "the memory is added up",
            "the states are added up. The new one takes the place of the old one.",
            {"state": lambda x, h, E, W, b: h + np.tanh(x @ E + h @ W + b)},
        ),
    ),
)

# ------------------------------------------------------------------------------------- the loss


def surprise(
    scores: Arrays,
    targets: Arrays,
    weights: Arrays,
    each: Callable[[Any, Any], Any] | None = None,
    divide: Callable[[Any, int], Any] = lambda w, rows: w,
    weighted: bool = True,
) -> Any:
    """The mean surprise of a letter, of real or of complex scores; the other arguments make other
    losses of it.
    """
    each = each or (lambda s, t: _log_sum(s) - np.sum(s * t, axis=1))
    parts = [
        np.sum(each(s, t) * (w if weighted else 1.0))
        for s, t, w in zip(scores, targets, weights, strict=True)
    ]
    count = sum(np.sum(w) for w in weights)
    return sum(parts) / divide(count, sum(map(len, weights)))


def _log_sum(s: Any) -> Any:
    top = np.real(s).max(axis=1, keepdims=True)
    return np.log(np.sum(np.exp(s - top), axis=1)) + top[:, 0]


def _loss_cases(rng: np.random.Generator) -> Iterator[Case]:
    for group, steps, n, size, ends in (
        ("probabilities", 1, 1, 1.0, False),
        ("probabilities", 2, 3, 1.0, False),
        ("ends of names", 3, 4, 1.0, True),
        ("ends of names", 4, 2, 1.0, True),
        ("large scores", 2, 2, 900.0, True),
    ):
        lengths = rng.permutation(np.arange(n) % steps + 1) if ends else np.full(n, steps)
        scores = [np.asarray(size * rng.normal(size=(n, 4))) for _ in range(steps)]
        if size > 1:  # the largest scores of two rows are so far apart that exp of one would be 0
            tops = size * (-1.0) ** np.arange(n)[:, None]
            scores = [s - s.max(axis=1, keepdims=True) + tops for s in scores]
        yield Case(
            group,
            scores=scores,
            targets=[_one_hot(rng, n, 4) for _ in range(steps)],
            weights=[1.0 * (t < lengths) for t in range(steps)],
        )


def _loss_slopes(scores: Arrays, targets: Arrays, weights: Arrays, **other: Any) -> Arrays:
    named = {f"s{t}": s for t, s in enumerate(scores)}
    f = lambda given: surprise(list(given.values()), targets, weights, **other)
    return list(gradients_of(f, named).values())


def _is_loss(case: Case, got: Any) -> str:
    if type(got) is not dict:
        return "`name_loss` should return a Tensor of one number."
    if not np.isfinite(got["value"]):
        return _not_finite(got.get("raised", []))
    if said := same(surprise(**case.args), got["value"], 1e-9, 1e-9, "the loss"):
        return said
    for t, (wanted, found) in enumerate(zip(_loss_slopes(**case.args), got["slopes"], strict=True)):
        if said := same(wanted, found, 1e-7, 1e-8, f"the slope by the scores of step {t}"):
            return f"the loss is right, and {said} Does every step work on Tensors?"
    return ""


def _not_finite(raised: list[str]) -> str:
    """Why a loss is not finite, by what NumPy noticed while it was computed."""
    if "overflow" in raised:
        return (
            "the loss is not finite: exp of a large score overflows. Subtract the largest score of"
            " each row before, as a constant; that changes no probability."
        )
    if "divide by zero" in raised:
        return (
            "the loss is not finite: the logarithm of 0 was taken, or something was divided by 0,"
            " for exp of a very negative score is 0. Does each row lose its own largest score? And"
            " write ln p as a difference, the score minus ln of the sum, without p itself."
        )
    return "the loss is not finite."


def _losses(*rows: tuple[str, str, dict[str, Any]]) -> tuple[Misconception, ...]:
    """Mistakes: (name, what to say, how the loss differs)."""

    def made(other: dict[str, Any]) -> Callable[[Case], Any]:
        def wrong(case: Case) -> Any:
            with np.errstate(all="ignore"):
                value = float(surprise(**case.args, **other))
                return {"value": value, "slopes": _loss_slopes(**case.args, **other)}

        return wrong

    return tuple(Misconception(name, say, made(other)) for name, say, other in rows)


def _share(s: Any, t: Any) -> Any:
    return np.exp(np.sum(s * t, axis=1) - _log_sum(s))


LOSS = told_by(
    _is_loss,
    "name_loss",
    {"probabilities": 1, "ends of names": 1, "large scores": 1},
    _loss_cases,
    drive=f"{ENGINE}:surprised",
    forbid=(DERIVATIVES, "minigrad.nn"),
    present=lambda case: (
        f"{len(case.args['scores'])} step(s), {len(case.args['scores'][0])} name(s)"
    ),
    checked=(
        "The loss is minus the mean logarithm of the probability of the right letter; steps of"
        " weight 0 count nowhere; scores of any size are fine; the slopes are exact."
    ),
    hints=(
        "The probability of a letter is exp(its score) over the sum of exp(all scores). Take the"
        " logarithm before you write it down.",
        "z = s - Tensor(s.value.max(1, keepdims=True)). Surprise: z.exp().sum(1).log() minus the"
        " score of the right letter, (z * Tensor(target)).sum(1).",
        "total = total + ((z.exp().sum(1).log() - (z * Tensor(target)).sum(1)) *"
        " Tensor(weight)).sum(), and at the end total / Tensor(the sum of all weights).",
    ),
    misconceptions=_losses(
        (
            "the sum",
            "you return the sum over all letters; it should be the mean.",
            {"divide": lambda w, rows: 1.0},
        ),
        (
            "mean over the blanks too",
            "you divide by the number of all rows. What lies behind the end of a name does not"
            " count: divide by the sum of the weights.",
            {"divide": lambda w, rows: rows},
        ),
        (
            "no weights",
            "the weights are left out: what lies behind the end of a name is counted.",
            {"weighted": False},
        ),
        (
            "the sign",
            "the sign is reversed: a surprise is never negative.",
            {"each": lambda s, t: np.sum(s * t, axis=1) - _log_sum(s)},
        ),
        (
            "no logarithm",
            "you average probabilities; the surprise is minus their logarithm.",
            {"each": _share},
        ),
        (
            "one minus",
            "you average 1 minus the probability; the surprise is minus its logarithm.",
            {"each": lambda s, t: 1 - _share(s, t)},
        ),
        (
            "bits",
            "these are logarithms to the base 2; here they are natural ones.",
            {"each": lambda s, t: -np.log(_share(s, t)) / np.log(2)},
        ),
        (
            "the score alone",
            "you take minus the score of the right letter; the sum over all letters is missing.",
            {"each": lambda s, t: -np.sum(s * t, axis=1)},
        ),
        (
            "squares",
            "you take squared differences of probability and target; the surprise is minus the"
            " logarithm of the right letter's probability.",
            {"each": lambda s, t: np.sum((np.exp(s - _log_sum(s)[:, None]) - t) ** 2, axis=1)},
        ),
    ),
)

# --------------------------------------------------------------------------------------- the draws

DRAWS = 2_000


def _pick_cases(rng: np.random.Generator) -> Iterator[Case]:
    yield Case("shares", chances=np.array([0.5, 0.25, 0.25]), draws=DRAWS)
    yield Case("shares", chances=rng.dirichlet(np.ones(5)), draws=DRAWS)
    yield Case("shares", chances=rng.dirichlet(np.ones(22)), draws=DRAWS)
    some = np.insert(rng.dirichlet(np.ones(3)), [0, 1, 3], 0.0)
    yield Case("never the impossible", chances=some, draws=DRAWS)
    yield Case("never the impossible", chances=np.array([0.0, 0.0, 1.0, 0.0]), draws=DRAWS)


def _is_pick(case: Case, got: Any) -> str:
    chances, draws = case.args.values()
    if type(got) is not list or len(got) != len(chances):
        return "`pick` should return the number of a letter."
    for letter, (count, chance) in enumerate(zip(got, chances, strict=True)):
        if chance == 0 and count:
            once = "once, for u = 0 or a number very near to it" if count == 1 else f"{count} times"
            return f"letter {letter} has the chance 0, and it came {once}, in {draws} draws."
        if abs(count - draws * chance) > 2:
            return (
                f"letter {letter} has the chance {chance:.3f}, and it came {count} times in"
                f" {draws} even draws of u; {draws * chance:.0f} would be right."
            )
    return ""


def _picks(*rows: tuple[str, str, Callable[[Any, Any], Any]]) -> tuple[Misconception, ...]:
    """Mistakes: (name, what to say, the letters of all u as a function of chances and u)."""

    def made(wrong: Callable[[Any, Any], Any]) -> Callable[[Case], Any]:
        def counted(case: Case) -> Any:
            chances, draws = case.args.values()
            found = np.clip(wrong(np.asarray(chances), even(draws)), 0, len(chances) - 1).astype(
                int
            )
            return np.bincount(found, minlength=len(chances)).tolist()

        return counted

    return tuple(Misconception(name, say, made(wrong)) for name, say, wrong in rows)


PICK = told_by(
    _is_pick,
    "pick",
    {"shares": 1, "never the impossible": 1},
    _pick_cases,
    drive=f"{DRIVE}:picks",
    present=lambda case: f"pick for {len(case.args['chances'])} letters",
    checked=f"{DRAWS:,} numbers u at equal distances gave each letter as often as its chance says.",
    hints=(
        "Lay the chances side by side on a line from 0 to 1. Into whose piece does u fall?",
        "np.cumsum gives the ends of the pieces. Count the ends that are not beyond u.",
        "return min(int(np.sum(np.cumsum(chances) <= u)), len(chances) - 1)",
    ),
    misconceptions=_picks(
        (
            "the likeliest",
            "you always take the likeliest letter: then all names are the same.",
            lambda p, u: np.full(u.shape, p.argmax()),
        ),
        (
            "all alike",
            "all letters come equally often; the chances are not used.",
            lambda p, u: u * len(p),
        ),
        (
            "one too far",
            "you take the letter behind the right one.",
            lambda p, u: np.searchsorted(np.cumsum(p), u, side="right") + 1,
        ),
        (
            "one too early",
            "you take the letter before the right one.",
            lambda p, u: np.searchsorted(np.cumsum(p), u, side="right") - 1,
        ),
        (
            "the first that is large enough",
            "you compare u with the chances themselves; it is their sums that divide the line.",
            lambda p, u: np.argmax(p[None] >= u[:, None], axis=1),
        ),
        (
            "squared",
            "the chances are squared before: likely letters come too often.",
            lambda p, u: np.searchsorted(np.cumsum(p**2) / np.sum(p**2), u, side="right"),
        ),
        (
            "the nearest",
            "you take the letter whose chance is nearest to u.",
            lambda p, u: np.argmin(np.abs(p[None] - u[:, None]), axis=1),
        ),
    ),
)

# ------------------------------------------------------------------------------ a trained network

FRESH = 2_000
FLOOR_GAP, PAIRS_GAP = 0.06, 0.1
WRITTEN, LONGEST = 400, 30


def encoded(names: list[str]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The letters that are read and those that are to be predicted, as numbers, and 1 where a
    letter counts: (steps, names). Each name begins and ends with a full stop, number 0.
    """
    steps = max(map(len, names)) + 1
    read, wanted, counts = (np.zeros((steps, len(names)), dtype=int) for _ in range(3))
    for column, name in enumerate(names):
        ids = [LETTERS.index(letter) for letter in name]
        read[1 : len(ids) + 1, column] = wanted[: len(ids), column] = ids
        counts[: len(ids) + 1, column] = 1
    return read, wanted, counts


def loss_on(parameters: Arrays, names: list[str]) -> float:
    """The mean surprise of a letter of these names, for a network with these parameters."""
    read, wanted, counts = encoded(names)
    eye = np.eye(len(LETTERS))
    scores = unrolled([eye[row] for row in read], parameters)
    return float(surprise(scores, [eye[row] for row in wanted], list(1.0 * counts)))


def floor_of(names: list[str]) -> float:
    """The mean surprise of a letter of these names under the rules that made them."""
    return sum(map(surprise_of, names)) / sum(len(name) + 1 for name in names)


@cache
def counted_loss(before: int) -> float:
    """The mean surprise of a letter for who knows so many letters before it, and nothing else:
    counted on 20,000 names, measured on 5,000 others.
    """
    chances: dict[str, Counter[str]] = {}
    for name in villages(20_000, seed=101):
        for at, letter in enumerate(name + "."):
            chances.setdefault(_behind(name, at, before), Counter())[letter] += 1
    total, letters = 0.0, 0
    for name in villages(5_000, seed=102):
        for at, letter in enumerate(name + "."):
            seen = chances.get(_behind(name, at, before), Counter())
            share = (seen[letter] + 1e-3) / (seen.total() + 1e-3 * len(LETTERS))
            total, letters = total - math.log(share), letters + 1
    return total / letters


def _behind(name: str, at: int, count: int) -> str:
    return ("." * count + name)[at : at + count]


def written(parameters: Arrays, count: int, rng: np.random.Generator) -> list[str]:
    """Names that a network writes; one that has not ended after 30 letters stays without an end."""
    E, W, b, U, c = parameters
    h, letter = np.zeros((count, len(W))), np.zeros(count, dtype=int)
    names, ended = [""] * count, np.zeros(count, dtype=bool)
    for _ in range(LONGEST):
        h = np.tanh(E[letter] + h @ W + b)
        scores = h @ U + c
        chances = np.exp(scores - scores.max(axis=1, keepdims=True))
        ends = np.cumsum(chances / chances.sum(axis=1, keepdims=True), axis=1)
        letter = np.minimum((ends <= rng.random(count)[:, None]).sum(axis=1), len(LETTERS) - 1)
        ended |= letter == 0
        names = [n if e else n + LETTERS[k] for n, e, k in zip(names, ended, letter, strict=True)]
    return [name if e else name + "…" for name, e in zip(names, ended, strict=True)]


def of_one_kind(names: list[str]) -> float:
    """The share of names whose vowels are all dark or all bright, and which have ended."""
    dark, bright = (set(vowels) for vowels, _ in SOUNDS)
    fits = [
        not name.endswith("…") and not (set(name) & dark and set(name) & bright) for name in names
    ]
    return sum(fits) / len(fits)


def problem_of(trained: Any) -> str:
    """Why these are no parameters of a network; "" if they are."""
    if type(trained) not in (list, tuple) or len(trained) != len(NAMES):
        return f"`trained` should be a list of the five arrays {', '.join(NAMES)}."
    kinds = len(LETTERS)
    if not all(isinstance(p, np.ndarray) for p in trained):
        return "`trained` should hold arrays, not Tensors: take their values."
    hidden = np.shape(trained[1])[0] if np.ndim(trained[1]) else 0
    if not 0 < hidden <= 256:
        return "W should be a square matrix, with 1 to 256 hidden units."
    shapes = ((kinds, hidden), (hidden, hidden), (hidden,), (hidden, kinds), (kinds,))
    for name, array, shape in zip(NAMES, trained, shapes, strict=True):
        if array.shape != shape:
            return f"{name} has the shape {array.shape}; it should have {shape}."
        if array.dtype.kind not in "fiu" or not np.all(np.isfinite(array)):
            return f"{name} holds something that is no finite number."
    return ""


def _trained_cases(rng: np.random.Generator) -> Iterator[Case]:
    for group in ("more than pairs of letters", "vowels that fit", "near the floor"):
        yield Case(group, seed=int(rng.integers(1_000, 1_000_000)))


def _is_trained(case: Case, got: Any) -> str:
    if problem := problem_of(got):
        return problem
    parameters = [np.asarray(p, dtype=float) for p in got]
    with np.errstate(all="ignore"):
        if case.group == "vowels that fit":
            names = written(parameters, WRITTEN, np.random.default_rng(case.args["seed"]))
            share = of_one_kind(names)
            if share < 0.9:
                return (
                    f"of {WRITTEN} names that your network writes, {share:.0%} end and have vowels"
                    " of one kind; 90% should."
                )
            return ""
        fresh = villages(FRESH, seed=case.args["seed"])
        loss, floor = loss_on(parameters, fresh), floor_of(fresh)
    if case.group == "near the floor":
        if not loss <= floor + FLOOR_GAP:
            return (
                f"on names that it has never seen, your network loses {loss:.3f} a letter. The"
                f" rules themselves lose {floor:.3f}; come nearer than {FLOOR_GAP:g} to that."
            )
    elif not loss < counted_loss(1) - PAIRS_GAP:
        return (
            f"on names that it has never seen, your network loses {loss:.3f} a letter. Who knows"
            f" the letter before, and nothing else, loses {counted_loss(1):.3f}; be better by"
            f" {PAIRS_GAP:g}."
        )
    return ""


TRAINED = told_by(
    _is_trained,
    "trained",
    {"more than pairs of letters": 1, "vowels that fit": 1, "near the floor": 2},
    _trained_cases,
    is_value=True,
    checked=(
        f"Your network was measured on {FRESH:,} names that were made for this check, and wrote"
        f" {WRITTEN} of its own."
    ),
    hints=(
        "Do the three checks above pass? Then `train` with the settings of the cell is enough.",
        "A loss that stays near 1.9: the network uses one letter. Is h handed on? Above 1.2: more"
        " steps, or a smaller rate towards the end.",
        "trained = train(800), with 48 hidden units.",
    ),
)

# ------------------------------------------------------------------------------------- predictions

EXAMPLE = "boladal"


def chances_against(name: str = EXAMPLE) -> float:
    """One over the probability of a name under the rules."""
    return float(np.exp(surprise_of(name)))


PREDICTIONS = (
    Number(
        "untrained-loss",
        "Prediction: the loss of a network that knows nothing",
        variable="loss",
        answer=lambda: float(np.log(len(LETTERS))),
        because="All 22 letters have the same chance 1/22, and −ln(1/22) = ln 22.",
        slips=(
            ("That is 1/22, the probability. The surprise is minus its logarithm.",
             lambda: 1 / len(LETTERS)),
            ("That is the logarithm to the base 2; here it is the natural one.",
             lambda: float(np.log2(len(LETTERS)))),
            ("The sign: a surprise is minus the logarithm of a probability.",
             lambda: -float(np.log(len(LETTERS)))),
            ("The full stop is a letter, too: there are 22.", lambda: float(np.log(21))),
        ),
        hints=(
            "Which probability does it give to each of the 22 letters?",
            "1/22. And the surprise is −ln of that.",
        ),
        tolerance=5e-3,  # 3.1 as well: two digits
    ),
    Number(
        "surprise-of-a-name",
        f"Prediction: one name in how many is {EXAMPLE}",
        variable="one_in",
        answer=chances_against,
        because="2 · 12 · 3 · 2 · 10 · 3 · 4: each choice divides the chance.",
        slips=(
            ("The choice between one syllable and two halves the chance, too.",
             lambda: chances_against() / 2),
            ("Vowels are dark or bright: that choice halves the chance, too.",
             lambda: chances_against() / 2),
            ("That is with two syllables in the middle; boladal has one.",
             lambda: chances_against() * 30),
            ("The ending is one of 4: that divides the chance, too.",
             lambda: chances_against() / 4),
        ),
        hints=(
            "Dark or bright, beginning, vowel, one or two syllables, consonant, vowel, ending.",
            "2 · 12 · 3 · 2 · 10 · 3 · 4",
        ),
        tolerance=1e-6,
    ),
)  # fmt: skip

TITLES = {
    "unroll": "Exercise 1 · Read letter by letter",
    "name_loss": "Exercise 2 · The surprise of a letter",
    "trained": "Exercise 3 · Train it",
    "pick": "Exercise 4 · Draw a letter",
}

EXERCISES: dict[str, Exercise] = by_name(vars(), TITLES)
