"""The exercises of lesson 12, as data: which values are kept for the reverse pass, which must not
be overwritten, and checkpoints.

Right answers are not written here: they are computed by the engine when a check runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import minigrad as mg
from minigrad.watch import trace_function

from ..grading.comparison import as_plain, same
from ..grading.exercise import Case, Exercise, Misconception, exercise
from .drive12 import Stage, plain, sample
from .engine_in_use import CHECKPOINT as CHECKPOINT
from .made import Exact, by_name

# Not annotated, because students see them in the notebook like this.


def f(x1, x2):
    return mg.log(x1) + x1 * x2 - mg.sin(x2)


def chain(x):
    for _ in range(8):
        x = mg.sin(x)
    return x.sum()


def _kept_names(function: Callable[..., Any], *point: Any) -> set[str]:
    return {
        name
        for node in trace_function(function, *point, mode="reverse")["nodes"]
        for name in node.get("saved") or ()
    }


# ------------------------------------------------------------------------------------- what is kept

OPERATIONS: dict[str, Callable[[Any], Any]] = {
    "sin": mg.sin,
    "exp": mg.exp,
    "log": mg.log,
    "tanh": mg.tanh,
    "square": mg.square,
    "sqrt": mg.sqrt,
    "triple": lambda x: 3 * x,
}


def keeps(operation: str) -> str:
    """What the engine keeps of y = operation(x): "x", "y" or "nothing"."""
    trace = trace_function(OPERATIONS[operation], 0.7, mode="reverse")
    found = {
        "x" if name in trace["inputs"] else "y"
        for node in trace["nodes"]
        for name in node.get("saved") or ()
    }
    return " and ".join(sorted(found)) or "nothing"


SLOPES = {
    "sin": "its derivative is cos x",
    "exp": "its derivative is eˣ, which is y itself",
    "log": "its derivative is 1/x",
    "tanh": "its derivative is 1 − tanh² x = 1 − y²",
    "square": "its derivative is 2x",
    "sqrt": "its derivative is 1/(2√x) = 1/(2y)",
    "triple": "its derivative is 3 for every x",
}
"""What a wrong entry is answered with: what the rule has to compute."""


def _about_kept(case: Case, got: Any) -> str:
    operation = case.args["operation"]
    if type(got) is not dict:
        return '`kept` should be a dictionary such as {"sin": "x", …}.'
    if operation not in got:
        return f"`{operation}` has no entry yet."
    if got[operation] not in ("x", "y", "nothing"):
        return f'the entry of `{operation}` should be "x", "y" or "nothing".'
    return (
        ""
        if got[operation] == keeps(operation)
        else f"the entry of `{operation}` is not right: {SLOPES[operation]}."
    )


@exercise(
    "kept",
    points={"operations": 3},
    is_value=True,
    told_by=_about_kept,
    hints=(
        (
            "Write down the derivative of each operation. What occurs in it: x, or the result y, or"
            " neither?"
        ),
        (
            "Some derivatives can be written with y alone: that of e^x is y itself, that of √x is 1"
            " / (2y). Then x need not be kept."
        ),
        "tanh: 1 − y². log: 1 / x. square: 2x. triple: 3, whatever x is.",
    ),
    checked="Each entry is compared with what the engine keeps.",
    misconceptions=(
        Misconception(
            "always the input",
            "you let every operation keep its input. Where the derivative can be written with the"
            " result, that is what is kept.",
            lambda case: {
                name: "nothing" if keeps(name) == "nothing" else "x" for name in OPERATIONS
            },
        ),
        Misconception(
            "always something",
            "you let every operation keep something. The derivative of 3x is 3, whatever x is.",
            lambda case: {
                name: "x" if keeps(name) == "nothing" else keeps(name) for name in OPERATIONS
            },
        ),
    ),
)
def kept(rng: np.random.Generator) -> Iterator[Case]:
    for operation in OPERATIONS:
        yield Case("operations", operation=operation)


# -------------------------------------------------------------------------------------- overwriting


def _exp_then_add(a, b):
    y = a.exp()
    y.add_(1.0)
    return y


def _sin_then_triple_its_input(a, b):
    y = a.sin()
    a.mul_(3.0)
    return y


def _tanh_then_triple_its_input(a, b):
    y = a.tanh()
    a.mul_(3.0)
    return y


def _sum_then_clear_an_input(a, b):
    y = a + b
    b.zero_()
    return y


def _product_then_clear_an_input(a, b):
    y = a * b
    b.zero_()
    return y


PROGRAMS: dict[str, Callable[[Any, Any], Any]] = {
    "a": _exp_then_add,
    "b": _sin_then_triple_its_input,
    "c": _tanh_then_triple_its_input,
    "d": _sum_then_clear_an_input,
    "e": _product_then_clear_an_input,
}


def fate(row: str) -> str:
    """What becomes of a program when backward() is called: "fine" or "error"."""
    x = mg.tensor([0.5, 1.0], requires_grad=True)
    y = PROGRAMS[row](2 * x, 3 * x)
    try:
        y.sum().backward()
    except mg.AutogradError:
        return "error"
    return "fine"


READS = {
    "a": "the rule of exp reads its result, and `add_` overwrites it.",
    "b": "the rule of sin reads its input, and `mul_` overwrites it.",
    "c": "the rule of tanh reads its result, and `mul_` overwrites its input.",
    "d": "the rule of a sum reads neither operand.",
    "e": "the rule of a product reads both operands, and `zero_` overwrites one of them.",
}
"""What a wrong word is answered with: what is read, and what is overwritten."""


def _about_fate(case: Case, got: Any) -> str:
    row = case.args["row"]
    if type(got) is not dict:
        return "`fates` should be a dictionary from the letters a to e to words."
    if row not in got:
        return f"row {row} has no word yet."
    if got[row] not in ("fine", "error"):
        return f'row {row} should be "fine" or "error".'
    return "" if got[row] == fate(row) else f"row {row} is not {got[row]!r}: {READS[row]}"


@exercise(
    "fates",
    points={row: 0.4 for row in "abcde"},
    is_value=True,
    told_by=_about_fate,
    hints=(
        (
            "Exercise 1 again: what does the rule of the operation read? And is it this that is"
            " overwritten?"
        ),
        "exp and tanh keep their result, sin its input, a product both operands, a sum nothing.",
        (
            "Only a value that is kept *and* overwritten is an error: rows a, b and e ask for just"
            " that."
        ),
    ),
    checked="Each row is compared with what the engine does.",
    misconceptions=(
        Misconception(
            "every overwriting",
            "you call every overwriting an error. It matters only for values that are kept.",
            lambda case: dict.fromkeys("abcde", "error"),
        ),
        Misconception(
            "inputs always",
            "you take every operation for one that needs its inputs. exp and tanh need their"
            " result, and a sum needs nothing.",
            lambda case: {row: "fine" if row == "a" else "error" for row in PROGRAMS},
        ),
        Misconception(
            "results never",
            "you take results for safe. The rule of exp reads its result.",
            lambda case: {row: fate(row) for row in "abcde"} | {"a": "fine"},
        ),
    ),
)
def fates(rng: np.random.Generator) -> Iterator[Case]:
    for row in PROGRAMS:
        yield Case(row, row=row)


# ----------------------------------------------------------------------------------------- segments


def kept_at_most(n: int, k: int) -> int:
    """The most arrays that are kept at once for n stages in k equal pieces, the last one not
    checkpointed: gone through, and counted.

    A stage keeps its input; a checkpointed piece keeps the input of its first stage, and those of
    the others while it is gone back through. A test holds this against the bytes that Python
    measures.
    """
    piece = n // k
    held = {number * piece for number in range(k - 1)} | set(range((k - 1) * piece, n))
    most = len(held)
    for number in reversed(range(k)):
        held |= set(range(number * piece, (number + 1) * piece))  # computed again
        most = max(most, len(held))
        held -= set(range(number * piece, (number + 1) * piece))
    return most


def _is_most(case: Case, got: Any) -> str:
    return same(kept_at_most(**case.args), _whole(got), 1e-9, 1e-9, "what `most_kept` returned")


@exercise(
    "most_kept",
    points={"one or two": 1, "several": 2},
    told_by=_is_most,
    hints=(
        (
            "Take 16 stages in 4 pieces. At which moment is most kept: which inputs of pieces, and"
            " which values inside a piece?"
        ),
        (
            "Inside the piece that is gone through backward: n / k values. Of every other piece:"
            " the value it starts from."
        ),
        "n / k of the one piece, and k − 1 of the others.",
    ),
    checked="They are compared with a count along the chain.",
    misconceptions=(
        Misconception(
            "one piece only",
            "you count one piece's values. The other pieces keep their inputs.",
            lambda case: case.args["n"] // case.args["k"],
        ),
        Misconception(
            "inputs only",
            "you count the pieces' inputs. Inside a piece that is gone through, all its values are"
            " there.",
            lambda case: case.args["k"],
        ),
        Misconception(
            "as without", "you count as if nothing were checkpointed.", lambda case: case.args["n"]
        ),
        Misconception(
            "one input twice",
            "you count one value twice: the input of the piece that is gone through is one of its n"
            " / k values.",
            lambda case: case.args["n"] // case.args["k"] + case.args["k"],
        ),
    ),
)
def most_kept(rng: np.random.Generator) -> Iterator[Case]:
    for n in (1, 8, 30):
        yield Case.of("one or two", {"n": n, "k": 1}, size=n)
    for n in (8, 12):
        yield Case.of("one or two", {"n": n, "k": 2}, size=n)
    for n, k in ((12, 3), (12, 4), (16, 4), (64, 8), (64, 64), (100, 10)):
        yield Case.of("several", {"n": n, "k": k}, size=n)
    piece, k = (int(i) for i in rng.integers(2, 9, size=2))
    yield Case.of("several", {"n": piece * k, "k": k}, size=piece * k)


most_kept.answer(lambda n, k: kept_at_most(n, k))


def _whole(got: Any) -> Any:
    """8.0 is as good as 8."""
    return int(got) if type(got) is float and got.is_integer() else got


def _divisors(n: int) -> list[int]:
    return [k for k in range(1, n + 1) if n % k == 0]


def _about_segments(case: Case, got: Any) -> str:
    n, got = case.args["n"], _whole(got)
    if type(got) is not int or got not in _divisors(n):
        return f"the number of pieces should divide {n} without a remainder."
    return (
        ""
        if kept_at_most(n, got) == min(kept_at_most(n, k) for k in _divisors(n))
        else f"for {n} stages less can be kept than with {got} pieces."
    )


@exercise(
    "best_segments",
    points={"square numbers": 1, "others": 2},
    told_by=_about_segments,
    hints=(
        (
            "Few pieces are long; many pieces have many inputs. Try all numbers of pieces that"
            " divide n."
        ),
        "Use what you found in exercise 3: which k makes `most_kept(n, k)` smallest?",
        "`min((k for k in range(1, n + 1) if n % k == 0), key=lambda k: n // k + k)`",
    ),
    checked="They are compared with the best of all divisors.",
    misconceptions=(
        Misconception(
            "half",
            "you cut the chain in two. More pieces keep less.",
            lambda case: 2 if case.args["n"] % 2 == 0 else 1,
        ),
        Misconception(
            "every stage",
            "you checkpoint every stage by itself. Then all of their inputs are kept.",
            lambda case: case.args["n"],
        ),
        Misconception(
            "rounded root",
            "you round the square root; it need not divide n.",
            lambda case: round(case.args["n"] ** 0.5),
        ),
    ),
)
def best_segments(rng: np.random.Generator) -> Iterator[Case]:
    for n in (4, 16, 36, 64, 100, 144):
        yield Case.of("square numbers", {"n": n}, size=n)
    for n in (2, 6, 7, 12, 20, 24, 50, 54, 96, int(rng.integers(100, 200))):
        yield Case.of("others", {"n": n}, size=n)


best_segments.answer(lambda n: min(_divisors(n), key=lambda k: kept_at_most(n, k)))


# ------------------------------------------------------------------------------------------- frugal

OTHER_BYTES = 32 << 20
"""What the rest of a notebook may hold while the memory of its process is measured."""
SHARE = 1 / 3
"""The share of the plain peak that is asked for. With √n pieces a chain of 64 stages needs about
a quarter.
"""


def _about_run(case: Case, got: Any) -> str:
    n, x = (
        case.args["n"],
        np.random.default_rng(case.args["seed"]).uniform(-1, 1, case.args["length"]),
    )
    if type(got) is not dict or not {"result", "gradient", "peak", "runs"} <= set(got):
        return "`frugal` should return the result of the last stage, a tensor."
    if case.group == "work":
        runs = got["runs"]
        return (
            ""
            if type(runs) is int and 1 <= runs <= 2
            else f"a stage ran {runs} times; it should run at most 2 times, once forward and once"
            " in the reverse pass."
        )
    point = mg.tensor(sample(x), requires_grad=True)
    result = plain([Stage([0] * n, i) for i in range(n)], point)
    result.sum().backward()
    right = as_plain({"result": result, "gradient": point.grad})
    problem = same(right["result"], got["result"], name="the result") or same(
        right["gradient"], got["gradient"], name="the gradient"
    )
    ran = got.get("ran")
    if problem and type(ran) is int and ran < n:
        return f"{ran} of the {n} stages ran; it should be all {n}."
    if problem or case.group != "memory":
        return problem
    return _about_memory(got, n * case.args["length"] * 8)


def _about_memory(got: dict[str, Any], usual: int) -> str:
    """What is wrong with the memory that was taken; usual: the bytes that the plain chain keeps, an
    array of float64 numbers for each stage.
    """
    process = got.get("process")
    peak = got["peak"] if process is None else max(process - OTHER_BYTES, 0)
    if type(peak) is not int:
        return "the memory was not measured."
    if peak <= SHARE * usual:
        return ""
    found = (
        f"at the peak {peak / 1e6:.0f} MB were kept, {peak / usual:.0%} of the {usual / 1e6:.0f} MB"
        f" of the plain chain; it should be at most a third, {SHARE * usual / 1e6:.0f} MB."
    )
    if peak > 0.9 * usual:
        return (
            f"{found} Nothing is gained without a checkpoint, with one around everything, or"
            " with one around each stage."
        )
    return f"{found} How many pieces are best?"


def _chains(rng: np.random.Generator, memory: int = 400_000, work: int = 5_000) -> Iterator[Case]:
    for group in ("result and gradient", "memory", "work"):
        for n in (36, 64) if group == "result and gradient" else (64,):
            length = {"memory": memory, "work": work}.get(group, 40)
            yield Case.of(
                group, {"n": n, "length": length, "seed": int(rng.integers(0, 10**6))}, size=n
            )


@exercise(
    "frugal",
    points={"result and gradient": 1, "memory": 2, "work": 1},
    drive="minigrad.lessons.exercises.drive12:frugal",
    measured="process",
    small=lambda rng: _chains(rng, memory=4_000, work=50),
    told_by=_about_run,
    present=lambda case: f"frugal({case.args['n']} stages, x)",
    hints=(
        "`mg.checkpoint_sequential(stages, segments, x)` runs the stages, cut into so many pieces.",
        "Exercise 4 says how many pieces are best: about as many as each piece has stages.",
        "`return mg.checkpoint_sequential(stages, round(len(stages) ** 0.5), x)`",
    ),
    checked="Result and gradient are compared with the plain chain; memory and runs are measured.",
)
def frugal(rng: np.random.Generator) -> Iterator[Case]:
    yield from _chains(rng)


# -------------------------------------------------------------------------------------- predictions

PREDICTIONS = (
    Exact(
        "kept-f",
        "Prediction: how many different values are kept for f",
        variable="different_values",
        answer=lambda: float(len(_kept_names(f, 2.0, 5.0))),
        because=(
            "x1 (by the logarithm and the product) and x2 (by the product and the sine). The sum"
            " and the difference keep nothing."
        ),
        slips=(
            (
                (
                    "That is one for each of the five operations. Two of them need nothing for"
                    " their rules, and the others share."
                ),
                lambda: 5.0,
            ),
            (
                (
                    "You count x1 and x2 twice: they are kept by two operations each, but they are"
                    " the same values."
                ),
                lambda: 4.0,
            ),
            (
                "You count a value for each operation that keeps one. Are they all different?",
                lambda: 3.0,
            ),
        ),
        hints=(
            "Write down the derivative of each operation. Which values occur in it?",
            "ln: 1/x1. Product: x2 and x1. Sine: cos x2. Sum: 1.",
        ),
    ),
    Exact(
        "kept-chain",
        "Prediction: the bytes kept for eight sines",
        variable="bytes_at_peak",
        answer=lambda: float(sum(_bytes_kept())),
        because=(
            "Each of the eight sines keeps its input: eight arrays of three numbers, 8 bytes each."
        ),
        slips=(
            ("That is the number of arrays. How many bytes has each?", lambda: 8.0),
            ("You left out x, which the first sine keeps.", lambda: 168.0),
            (
                (
                    "You count the result of the last sine as well. No rule reads it: the sum keeps"
                    " nothing."
                ),
                lambda: 216.0,
            ),
            ("A number of the dtype float64 takes 8 bytes, not 4.", lambda: 96.0),
            ("That is one number for each sine; the arrays have three.", lambda: 64.0),
        ),
        hints=(
            "What does a sine keep? How many of them are there?",
            "An array of three float64 numbers takes 3 · 8 = 24 bytes.",
        ),
    ),
    Exact(
        "leak",
        "Prediction: the arrays that a list of losses holds",
        variable="arrays_held",
        answer=lambda: float(10 * (len(_kept_names(_five, [1.0, 2.0, 3.0])) - 1)),
        because=(
            "Each loss holds its graph, and the graph four arrays: the inputs of the second to"
            " fifth sine. The first one keeps x."
        ),
        slips=(
            ("Each loss is a single number. But what does its history hold?", lambda: 10.0),
            (
                (
                    "Nearly: the input of the first sine is x, which is there anyway, and the same"
                    " for all ten."
                ),
                lambda: 50.0,
            ),
            ("That is one round. Does the next round free it?", lambda: 4.0),
            ("Losses are small, but they have a history.", lambda: 0.0),
        ),
        hints=(
            "What does a graph of five sines hold? And is x counted?",
            "Ten rounds, none of them freed.",
        ),
    ),
)


def _five(x):
    for _ in range(5):
        x = mg.sin(x)
    return x.sum()


def _bytes_kept() -> list[int]:
    trace = trace_function(chain, [0.1, 0.2, 0.3], mode="reverse")
    kept = _kept_names(chain, [0.1, 0.2, 0.3])
    return [
        int(np.prod(node["shape"])) * np.dtype(node["dtype"]).itemsize
        for node in trace["nodes"]
        if node["id"] in kept
    ]


TITLES = {
    "kept": "Exercise 1 · What does each operation keep?",
    "fates": "Exercise 2 · Overwritten",
    "most_kept": "Exercise 3 · How much is kept?",
    "best_segments": "Exercise 4 · How many pieces?",
    "frugal": "Exercise 5 · A frugal chain",
    "checkpoint": "Exercise 6 · A checkpoint for your own engine",
}

EXERCISES: dict[str, Exercise] = by_name(vars(), TITLES)
