"""The exercises of lesson 6, as data: a tour of minigrad.autograd, with the example functions of
PyTorch's page on torch.autograd.

Right answers are not written here: they are computed by the engine when a check runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import minigrad as mg
from minigrad.autograd.functional import hessian, jacobian, jvp, vhp

from ..grading.comparison import as_plain, same
from ..grading.exercise import Case, Exercise, Misconception, exercise
from ..grading.kinds import Jvp, Vjp
from .drive06 import FUNCTIONS, times
from .made import FORWARD_MODE, Exact, by_name

# Not annotated, because students see them in the notebook like this.


def exp_reducer(x):
    return x.exp().sum(dim=1)


def adder(x, y):
    return 2 * x + 3 * y


def pow_adder_reducer(x, y):
    return (2 * x.pow(2) + 3 * y.pow(2)).sum()


def pair() -> tuple[Any, Any]:
    """Any two vectors of two numbers."""
    return mg.tensor([0.3, 0.8]), mg.tensor([0.5, 0.1])


def _rows(rng: np.random.Generator, *shape: int) -> list[np.ndarray]:
    return [np.asarray(rng.uniform(-1.5, 1.5, size=shape))]


ROWS: dict[str, list[Any]] = {
    "values": [
        lambda rng: _rows(rng, 2, 2),
        lambda rng: _rows(rng, 2, 3),
        lambda rng: _rows(rng, 3, 2),
    ],
    "shapes": [
        lambda rng: _rows(rng, 1, 4),
        lambda rng: _rows(rng, 4, 1),
        lambda rng: _rows(rng, 0, 3),
    ],
}


# ----------------------------------------------------------------------------- zeros, None or error


def first(x, y):
    return 2 * x


def _verdict(run: Callable[[], Any]) -> str:
    try:
        answer = run()
    except mg.AutogradError:
        return "error"
    return "None" if answer is None else "zeros" if not answer.any() else "other"


def verdicts() -> dict[str, str]:
    """What the engine does in each of the five calls, about y (or, for the Hessian, about x)."""
    x, y = (t.requires_grad_() for t in pair())
    calls: dict[str, Callable[[], Any]] = {
        "a": lambda: jacobian(first, (x, y))[1],
        "b": lambda: jacobian(first, (x, y), strict=True)[1],
        "c": lambda: mg.autograd.grad(first(x, y).sum(), (x, y))[1],
        "d": lambda: mg.autograd.grad(first(x, y).sum(), (x, y), allow_unused=True)[1],
        "e": lambda: hessian(lambda x: (3 * x).sum(), x),
    }
    return {name: _verdict(call) for name, call in calls.items()}


WORDS = ("zeros", "None", "error")


WHY_NOT = {
    (
        "a",
        "None",
    ): (
        "`jacobian` gives a matrix in any case. Which numbers stand in it where nothing depends"
        " on y?"
    ),
    (
        "a",
        "error",
    ): "nothing is wrong here: the derivative of 2x with respect to y exists, and is a number.",
    ("b", "zeros"): "`strict=True` asks to be told where an input has no influence.",
    ("b", "None"): "`strict=True` asks to be told, and None is easy to overlook.",
    (
        "c",
        "zeros",
    ): "`grad` takes an input without influence for a slip, unless you say that there may be one.",
    ("c", "None"): "that takes `allow_unused=True`.",
    (
        "d",
        "zeros",
    ): "`allow_unused=True` keeps “no influence at all” apart from a zero that was computed.",
    ("d", "error"): "`allow_unused=True` allows just this.",
    (
        "e",
        "None",
    ): "`hessian` gives a matrix in any case. How does a constant gradient change when x does?",
    ("e", "error"): "nothing is wrong with a constant gradient. How does it change when x does?",
}


def _about_verdict(case: Case, got: Any) -> str:
    row = case.args["row"]
    if type(got) is not dict:
        return "`verdicts` should be a dictionary from the letters a to e to words."
    if row not in got:
        return f"row {row} has no word yet."
    if got[row] not in WORDS:
        return f"row {row} should be one of {', '.join(WORDS)}."
    return (
        ""
        if got[row] == verdicts()[row]
        else f"row {row} is not {got[row]!r}: {WHY_NOT[row, got[row]]}"
    )


@exercise(
    "verdicts",
    points={"a": 0.5, "b": 0.5, "c": 0.5, "d": 0.5, "e": 1},
    is_value=True,
    told_by=_about_verdict,
    hints=(
        (
            "What is the derivative of 2x with respect to y, mathematically? And which of the five"
            " calls return just that?"
        ),
        (
            "`strict=True` asks to be told. `grad` assumes that an input without influence is a"
            " slip, unless you say that it may be unused."
        ),
        (
            "The gradient of a sum of 3x is 3 everywhere, whatever x is. How does that change when"
            " x changes?"
        ),
    ),
    checked="Each row is compared with what the engine does.",
    misconceptions=(
        Misconception(
            "None for a matrix",
            "`jacobian` and `hessian` return None where nothing depends on an input. They return"
            " zeros, the right number.",
            lambda case: verdicts() | {"a": "None", "e": "None"},
        ),
        Misconception(
            "allow_unused gives zeros",
            "`allow_unused=True` makes zeros. It gives None, so that you can tell “no influence at"
            " all” from a zero.",
            lambda case: verdicts() | {"d": "zeros"},
        ),
        Misconception(
            "grad is forgiving",
            "`grad` overlooks an input that is not used. Without `allow_unused` it raises an"
            " error.",
            lambda case: verdicts() | {"c": "None"},
        ),
    ),
)
def told(rng: np.random.Generator) -> Iterator[Case]:
    for row in "abcde":
        yield Case(row, row=row)


# ---------------------------------------------------------------------------------- Hessian times v


def _forward_over_reverse(which: str, x: np.ndarray, v: np.ndarray) -> np.ndarray:
    """How the gradient changes along v: a tangent pushed through one backward pass, so that no
    second one is trusted.
    """
    gradient = mg.func.grad(FUNCTIONS[which])
    return np.asarray(
        as_plain(times(which, x, v, lambda x, v: mg.func.jvp(gradient, (x,), (v,))[1]))
    )


EXACT = 1e-9
"""So near must a product be: with differences of gradients no step comes so near for a quick
wave and for a slow form at once.
"""


def _wrong(product: Callable[[Any, mg.Tensor, mg.Tensor], mg.Tensor]) -> Callable[[Case], Any]:
    """What another product than the right one gives: product(f, x, v)."""

    def of(case: Case) -> Any:
        f = FUNCTIONS[case.args["which"]]
        return np.asarray(as_plain(times(**case.args, product=lambda x, v: product(f, x, v))))

    return of


def _slope(f: Any, x: mg.Tensor) -> mg.Tensor:
    return mg.func.grad(f)(x.detach())  # type: ignore[no-any-return]


def _sums_of_rows(f: Any, x: mg.Tensor) -> mg.Tensor:
    return vhp(f, x, mg.ones_like(x))[1]  # type: ignore[no-any-return]


def _diagonal(f: Any, x: mg.Tensor) -> mg.Tensor:
    """The Hessian's diagonal. No two numbers of one colour share an entry, in three colours."""
    colours = np.arange(x.numel()) % 3
    masks = [mg.tensor((colours == colour).astype(float)) for colour in range(3)]
    return sum(vhp(f, x, mask)[1] * mask for mask in masks)  # type: ignore[return-value]


@exercise(
    "hessian_times",
    points={"functions": 2, "linear in v": 1},
    drive="minigrad.lessons.exercises.drive06:hessian_times",
    forbid=(
        *FORWARD_MODE,
        *(f"minigrad.func.{name}" for name in ("hessian", "jacrev", "vjp")),
        *(
            f"minigrad.autograd.functional.{name}"
            for name in ("hessian", "hvp", "vhp", "jacobian", "vjp")
        ),
    ),
    limit_s=2.0,
    rtol=EXACT,
    atol=EXACT,
    verify=lambda case, got: same(
        _forward_over_reverse(**case.args), got, EXACT, EXACT, "what `hessian_times` returned"
    ),
    hints=(
        (
            "The Hessian is the Jacobian of the gradient. So you need the gradient, in such a form"
            " that it can be differentiated once more."
        ),
        (
            "The first `grad` gets `create_graph=True`. The second one differentiates its result"
            " with respect to x; what does `grad_outputs` do there?"
        ),
        (
            "`(slope,) = mg.autograd.grad(f(x), x, create_graph=True)`, and then"
            " `mg.autograd.grad(slope, x, grad_outputs=v)`."
        ),
    ),
    checked=(
        "They are compared with a tangent that is pushed through the gradient: forward mode over"
        " reverse mode."
    ),
    misconceptions=(
        Misconception(
            "differences of gradients",
            "you take the difference of two gradients: only some digits are right, and for the"
            " quick wave fewer or none. Differentiate the gradient instead.",
            _wrong(lambda f, x, v: (_slope(f, x + 1e-5 * v) - _slope(f, x - 1e-5 * v)) / 2e-5),
            explains=lambda case, got: (
                case.args["which"] == "a quick wave"
                or not same(_forward_over_reverse(**case.args), got, 1e-3, 1e-6)
            ),
        ),
        Misconception(
            "forgets v",
            "v is left out: you have the Hessian times ones.",
            _wrong(lambda f, x, v: _sums_of_rows(f, x)),
        ),
        Misconception(
            "the sums of rows times v",
            "you have the Hessian times ones, and multiply that by v afterwards. v belongs in"
            " `grad_outputs`.",
            _wrong(lambda f, x, v: _sums_of_rows(f, x) * v),
        ),
        Misconception(
            "gradient times v",
            "you return the gradient times v; it must be differentiated once more.",
            _wrong(lambda f, x, v: _slope(f, x) * v),
        ),
        Misconception(
            "gradient only",
            "you return the gradient, the first derivative.",
            _wrong(lambda f, x, v: _slope(f, x)),
        ),
        Misconception(
            "diagonal only",
            "you use the Hessian's diagonal alone, as if no number had an influence on another"
            " one's slope.",
            _wrong(lambda f, x, v: _diagonal(f, x) * v),
        ),
    ),
)
def hessian_times(rng: np.random.Generator) -> Iterator[Case]:
    for which in FUNCTIONS:
        yield Case(
            "functions",
            which=which,
            x=np.asarray(rng.uniform(0.5, 1.5, size=3)),
            v=np.asarray(rng.uniform(-2, 2, size=3)),
        )
    x, v = np.asarray(rng.uniform(0.5, 1.5, size=3)), np.asarray(rng.uniform(0.5, 2, size=3))
    for factor in (0.0, 1.0, -3.0):
        yield Case("linear in v", which="x.prod()", x=x, v=factor * v)
        yield Case("linear in v", which="a quick wave", x=x, v=factor * v)
    yield Case("linear in v", which="a long vector", x=x, v=v)


@hessian_times.answer
def _(which: str, x: np.ndarray, v: np.ndarray) -> Any:
    return times(which, x, v, lambda x, v: vhp(FUNCTIONS[which], x, v)[1])


# ------------------------------------------------------------------------------------------ Sigmoid


def _sigmoid_parts(part: str, x: np.ndarray, g: np.ndarray) -> Any:
    point = mg.tensor(x, requires_grad=True)
    y = mg.sigmoid(point)
    if part == "value":
        return y.detach()
    (gradient,) = mg.autograd.grad(y, point, mg.tensor(g), create_graph=True)
    return gradient.detach() if part == "gradient" else mg.autograd.grad(gradient.sum(), point)[0]


def _sigmoid_by_differences(part: str, x: np.ndarray, g: np.ndarray) -> np.ndarray:
    def s(x: np.ndarray) -> np.ndarray:
        return np.asarray(1 / (1 + np.exp(-x)))

    h = {"value": 0.0, "gradient": 1e-5, "again": 1e-3}[part]
    if part == "value":
        return s(x)
    return (
        g * (s(x + h) - s(x - h)) / (2 * h)
        if part == "gradient"
        else g * (s(x + h) - 2 * s(x) + s(x - h)) / h**2
    )


def _slip(name: str, say: str, rule: Callable[[Any, Any], Any]) -> Misconception:
    """A wrong rule: rule(s, g), s being the sigmoid's value. Differentiated again, it serves for
    its own s as well.
    """

    def value(case: Case) -> Any:
        s = mg.sigmoid(mg.tensor(case.args["x"])).requires_grad_()
        g = mg.tensor(case.args["g"])
        found = rule(s, g)
        if case.args["part"] == "again":
            (by_s,) = (
                mg.autograd.grad(found.sum(), s, allow_unused=True)
                if found.requires_grad
                else (None,)
            )
            return None if by_s is None else rule(s.detach(), by_s)
        return (s if case.args["part"] == "value" else found).detach()

    return Misconception(name, say, value)


PARTS = {"value": "the value", "gradient": "the gradient", "again": "the gradient of the gradient"}


def _slipped(case: Case) -> Any:
    """The sigmoid of −x."""
    return 1 / (1 + np.exp(case.args["x"]))


def _all_values(pairs: Any, value: Callable[[Case], Any]) -> Any:
    """Whether all values, whatever the gradients are, come from `value`."""
    found = [(case, got) for case, got in pairs if case.args["part"] == "value"]
    agree = found and all(not same(value(case), got) for case, got in found)
    return ("", None) if agree else None


@exercise(
    "sigmoid_function",
    points={"value": 1, "gradient": 2, "differentiated again": 1},
    answers=("Sigmoid",),
    drive="minigrad.lessons.exercises.drive06:own_function",
    forbid=("minigrad.sigmoid", "minigrad.functions.sigmoid", "minigrad.Tensor.sigmoid"),
    verify=lambda case, got: same(
        _sigmoid_by_differences(**case.args),
        got,
        1e-5,
        1e-5,
        PARTS[case.args["part"]] + " of `Sigmoid`",
    ),
    hints=(
        (
            "`forward` computes 1 / (1 + e^(−x)) with `x`, a tensor, and keeps what `backward` will"
            " want."
        ),
        (
            "With s for the result, the derivative of the sigmoid is s · (1 − s). So it is the"
            " result that is worth keeping."
        ),
        (
            "`backward` gets the adjoint `g` of the result: `(s,) = ctx.saved_tensors`, then"
            " `return g * s * (1 - s)`."
        ),
    ),
    misconceptions=(
        _slip(
            "forgets the incoming adjoint",
            "`backward` leaves out `g`: multiply by it.",
            lambda s, g: s * (1 - s),
        ),
        _slip(
            "forgets the local derivative", "`backward` passes `g` on unchanged.", lambda s, g: g
        ),
        Misconception(
            "sign of x",
            "The value has the wrong sign of x in it: it is 1/(1 + exp(−x)).",
            lambda case: _slipped(case) if case.args["part"] == "value" else None,
            fitted=lambda pairs: _all_values(pairs, _slipped),
        ),
        _slip(
            "as for exp",
            "`backward` multiplies by s, as the rule of exp does; here it is s · (1 − s).",
            lambda s, g: g * s,
        ),
        _slip(
            "as for tanh",
            "1 − s² is the rule of tanh; here it is s · (1 − s).",
            lambda s, g: g * (1 - s * s),
        ),
        _slip(
            "half of the rule",
            "one factor is missing: the derivative is s · (1 − s).",
            lambda s, g: g * (1 - s),
        ),
        _slip(
            "square",
            "`backward` multiplies by s²; the derivative is s · (1 − s).",
            lambda s, g: g * s * s,
        ),
        _slip("sign", "the sign of the gradient is reversed.", lambda s, g: -g * s * (1 - s)),
    ),
)
def sigmoid_function(rng: np.random.Generator) -> Iterator[Case]:
    for group, part in (
        ("value", "value"),
        ("gradient", "gradient"),
        ("differentiated again", "again"),
    ):
        for shape in ((4,), (2, 3), ()):
            yield Case(
                group,
                part=part,
                x=np.asarray(rng.uniform(-3, 3, size=shape)),
                g=np.asarray(rng.uniform(0.5, 2, size=shape)),
            )


sigmoid_function.answer(_sigmoid_parts, call="Sigmoid")


# -------------------------------------------------------------------------------------- predictions


def _squared_twice() -> float:
    x = mg.tensor(3.0, requires_grad=True)
    y = x * x
    y.backward(retain_graph=True)
    y.backward()
    return float(x.grad)


def _hooked() -> float:
    x = mg.tensor(2.0, requires_grad=True)
    a = 3 * x
    a.register_hook(lambda g: g / 2)
    (a * a).backward()
    return float(x.grad)


ASKED = (
    Exact(
        "jacobian-zeros",
        "Prediction: the zeros in the Jacobian of exp_reducer",
        variable="zeros",
        answer=lambda: float((jacobian(exp_reducer, mg.ones(2, 2)) == 0).sum()),
        because=(
            "Each of the two results depends on one row of x and not on the other: 2 times 2"
            " entries are zero."
        ),
        slips=(
            ("That is how many entries there are in all. Half of them are not zero.", lambda: 8.0),
            ("That is the number of zeros of one result. There are two results.", lambda: 2.0),
            (
                (
                    "Result 0 is made of row 0 of x alone. So what is its derivative with respect"
                    " to a number in row 1?"
                ),
                lambda: 0.0,
            ),
        ),
        hints=(
            "How many numbers has the Jacobian in all?",
            "With respect to which numbers of x is the derivative of row 0's sum not 0?",
        ),
    ),
    Exact(
        "adder-sum",
        "Prediction: the sum of all entries of adder's two Jacobians",
        variable="sum_of_entries",
        answer=lambda: float(sum(j.sum() for j in jacobian(adder, pair()))),
        because="Two times the identity has 2 + 2 on its diagonal, three times the identity 3 + 3.",
        slips=(
            (
                "Each Jacobian is a 2 × 2 matrix. Which of its four entries are not zero?",
                lambda: 5.0,
            ),
            (
                (
                    "Result 0 is 2 · x[0] + 3 · y[0]; it knows nothing of x[1]. So not all entries"
                    " are 2 (or 3)."
                ),
                lambda: 20.0,
            ),
            ("That is the Jacobian with respect to x alone.", lambda: 4.0),
            ("That is the Jacobian with respect to y alone.", lambda: 6.0),
        ),
        hints=(
            "Write down result 0 and result 1 as formulas.",
            "The Jacobian with respect to x is 2 on the diagonal and 0 elsewhere.",
        ),
    ),
    Exact(
        "jvp-adder",
        "Prediction: the first number of adder's Jacobian-vector product",
        variable="first_number",
        answer=lambda: float(jvp(adder, pair(), (mg.ones(2), mg.ones(2)))[1][0]),
        because="x[0] and y[0] both move with speed one: 2 · 1 + 3 · 1.",
        slips=(
            ("y moves too: the vector has ones for both inputs.", lambda: 2.0),
            ("x moves too: the vector has ones for both inputs.", lambda: 3.0),
            ("That is the sum over both results; only the first one is asked for.", lambda: 10.0),
        ),
        hints=(
            (
                "Forward mode: how fast does 2 · x[0] + 3 · y[0] move when x[0] and y[0] both move"
                " with speed one?"
            ),
        ),
    ),
    Vjp(
        "exp_reducer_vjp",
        exp_reducer,
        draws=ROWS,
        points={"values": 1, "shapes": 1},
        hints=(
            "g has one number for each row of x, and the result has the shape of x.",
            (
                "The adjoint of row i of x is g[i] times the derivative of each entry: spread g"
                " over the columns."
            ),
            (
                "`g[:, None] * np.exp(x)`: the None makes a column out of g, which broadcasting"
                " spreads."
            ),
        ),
    ),
    Jvp(
        "exp_reducer_jvp",
        exp_reducer,
        draws=ROWS,
        points={"values": 1, "shapes": 1},
        hints=(
            "dx has the shape of x, and the result has one number for each row.",
            (
                "Each entry of x moves its own exponential; the sum of a row moves by the sum of"
                " these."
            ),
            "`(np.exp(x) * dx).sum(axis=1)`",
        ),
    ),
    Exact(
        "vhp-second",
        "Prediction: the product of (0, 1) with the Hessian of pow_adder_reducer",
        variable="number_for_y",
        answer=lambda: float(vhp(pow_adder_reducer, pair(), (mg.zeros(2), mg.ones(2)))[1][1][0]),
        because=(
            "The second derivative of 3y² is 6. For x we get 0: x has no part in v, and no second"
            " derivative mixes x with y."
        ),
        slips=(
            (
                "That is the second derivative with respect to x. In v only y's part is not zero.",
                lambda: 4.0,
            ),
            ("The derivative of 3y² is 6y. Now differentiate that.", lambda: 3.0),
            ("x has no part in v, so its 4 does not count.", lambda: 10.0),
        ),
        hints=("Which blocks of the Hessian does v = (0, 1) pick out?", "Differentiate 3y² twice."),
    ),
    Exact(
        "twice",
        "Prediction: x.grad after the second backward()",
        variable="grad_after_two",
        answer=_squared_twice,
        because="The second call has added another 6 to the 6 of the first.",
        slips=(
            ("That is what one call leaves. The second one adds to it.", lambda: 6.0),
            (
                (
                    "backward() does not differentiate the gradient. It computes the same 6 again,"
                    " and then?"
                ),
                lambda: 2.0,
            ),
            ("Nothing is multiplied by the old gradient: contributions are added.", lambda: 36.0),
        ),
        hints=(
            "What does one call leave in x.grad?",
            "`.grad` is accumulated: what does the second call do with what it finds there?",
        ),
    ),
    Exact(
        "halving-hook",
        "Prediction: x.grad with a hook on the way",
        variable="grad_with_hook",
        answer=_hooked,
        because="∂y/∂a = 2a = 12 arrives at a, the hook turns it into 6, and ∂a/∂x = 3 makes 18.",
        slips=(
            (
                "That is without the hook. What a hook returns replaces the adjoint.",
                lambda: 36.0,
            ),
            ("That is the adjoint of a after the hook. It still has to pass a = 3x.", lambda: 6.0),
            ("That is the adjoint of a before the hook.", lambda: 12.0),
            ("The hook halves the adjoint once, not twice.", lambda: 9.0),
        ),
        hints=(
            "First without the hook: which adjoint arrives at a?",
            "The hook halves it. Then go on from a to x.",
        ),
    ),
)

TITLES = {
    "exp_reducer_vjp": "Exercise 1 · Both products by hand · vjp",
    "exp_reducer_jvp": "Exercise 1 · Both products by hand · jvp",
    "verdicts": "Exercise 2 · Zeros, None or an error",
    "hessian_times": "Exercise 3 · Hessian times v",
    "sigmoid_function": "Exercise 1 · The sigmoid",
}

LATER = ("twice", "halving-hook", "sigmoid_function")
"""What is asked in the second half of the lesson: lesson06b.py."""
EVERY: dict[str, Exercise] = by_name(vars(), TITLES)
EXERCISES = {name: exercise for name, exercise in EVERY.items() if name not in LATER}

EXERCISES["exp_reducer_vjp"].misconceptions += (
    Misconception(
        "spread along the wrong axis",
        "g is spread over the rows, as NumPy does by itself. It has a number for each row: make a"
        " column of it.",
        lambda case: case.args["g"] * np.exp(case.args["x"]),
    ),
    Misconception.of(
        "the mean's rule",
        "you divide by the number of columns: that is the rule of a mean. exp_reducer takes the sum"
        " of each row.",
        lambda x, g: g[:, None] * np.exp(x) / max(x.shape[1], 1),
    ),
    Misconception.of(
        "no exponential",
        "g is spread over the row as it is: the derivative eˣ is missing.",
        lambda x, g: g[:, None] + 0 * x,
    ),
)
EXERCISES["exp_reducer_jvp"].misconceptions += (
    Misconception.of(
        "product of sums",
        "you multiply two sums. Each entry's derivative is multiplied by its own tangent first;"
        " then the row is summed.",
        lambda x, dx: np.exp(x).sum(axis=1) * dx.sum(axis=1),
    ),
    Misconception.of(
        "not summed", "the sum over each row is missing.", lambda x, dx: np.exp(x) * dx
    ),
    Misconception.of(
        "the difference of two values",
        "that is f(x + dx) − f(x). A tangent is no step: each derivative is multiplied by it.",
        lambda x, dx: np.exp(x + dx).sum(axis=1) - np.exp(x).sum(axis=1),
    ),
    Misconception.of(
        "the mean's rule",
        "you divide by the number of columns: that is the rule of a mean. exp_reducer takes the sum"
        " of each row.",
        lambda x, dx: (np.exp(x) * dx).mean(axis=1),
    ),
    Misconception.of(
        "the function at x + dx",
        "that is the value at x + dx. A tangent is no step: each derivative is multiplied by it.",
        lambda x, dx: np.exp(x + dx).sum(axis=1),
    ),
    Misconception.of(
        "the other axis",
        "you sum over the columns' entries, axis 0; each row has its sum: axis 1.",
        lambda x, dx: (np.exp(x) * dx).sum(axis=0),
    ),
    Misconception.of(
        "tangents alone",
        "the tangents are summed as they are: the derivative eˣ is missing.",
        lambda x, dx: dx.sum(axis=1),
    ),
    Misconception.of(
        "exponential of the tangents",
        "you took the exponential of the tangents. It belongs to x; a tangent is only ever"
        " multiplied.",
        lambda x, dx: np.exp(dx).sum(axis=1),
    ),
)
