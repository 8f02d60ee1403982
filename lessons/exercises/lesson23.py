"""The exercises of lesson 23, as data: a program by a tape, by its trace and by its source.

Right answers are not written here. A program that was recorded or read from text is right if it
gives what the function gives at other inputs; an adjoint, if it gives what a small imaginary part
of the inputs becomes in the result.
"""

from __future__ import annotations

import ast
import operator
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

import minigrad as mg

from ..grading.comparison import same
from ..grading.exercise import DERIVATIVES, Case, Exercise
from ..grading.kinds import Number
from .made import Exact, by_name, mistakes, told_by

DRIVE = "minigrad.lessons.exercises.drive23"
OPERATIONS: dict[str, Callable[..., Any]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "div": operator.truediv,
    "neg": operator.neg,
}
Row = tuple[str, str, tuple[str, ...]]
TINY = 1e-30
"""An imaginary part so small that its square vanishes: rational functions take it along as they do
a tangent, exactly. (W. Squire, G. Trapp: Using complex variables to estimate derivatives of real
functions, SIAM Review 40, 1998.)
"""


# ----------------------------------------------------------------------------------------- programs


def replayed(program: Sequence[Any], inputs: dict[str, Any]) -> dict[str, Any]:
    """The values of the inputs and of all rows."""
    values = dict(inputs)
    for name, op, operands in program:
        values[name] = OPERATIONS[op](*(values[o] for o in operands))
    return values


def drawn(
    rng: np.random.Generator, count: int, unused: bool = False
) -> tuple[dict[str, float], list[list[Any]]]:
    """Inputs and a program of so many rows, each of which uses the one before; unused: and then a
    row in the middle that no other uses. No value is large, or near 0.
    """
    while True:
        inputs = {name: float(v) for name, v in zip("xyz", rng.uniform(0.6, 1.9, 3), strict=True)}
        rows, names, before = list[list[Any]](), list(inputs), "x"
        for i in range(1, count + 1):
            op = str(rng.choice(["sub", "mul", "div", "mul", "add", "neg"]))
            other = str(rng.choice(names))
            operands = [other, before] if op != "neg" and rng.random() < 0.5 else [before, other]
            aside = unused and i == count // 2 + 1
            operands = ["y", "z"] if aside else operands
            rows.append([f"a{i}", op, operands[:1] if op == "neg" else operands])
            if aside:
                continue
            names.append(f"a{i}")
            before = f"a{i}"
        try:
            values = np.abs(list(replayed(rows, inputs).values()))
        except ZeroDivisionError:  # x / (y - y)
            continue
        if rows[-1][0] == before and np.all((values > 0.1) & (values < 30)):
            return inputs, rows


def _unreadable(program: Any, inputs: Sequence[str]) -> str:
    """Why something is no program of these inputs; "" if it is one."""
    if type(program) not in (list, tuple):
        return "a program is a list of rows."
    known = set(inputs)
    for i, row in enumerate(program, 1):
        if type(row) not in (list, tuple) or len(row) != 3:
            return f"row {i} of the program should be (name, operation, names of operands)."
        name, op, operands = row
        if type(operands) not in (list, tuple):
            return f"the third part of row {i} should be a tuple of names."
        if type(op) is not str or op not in OPERATIONS:
            return f"the operation of row {i} is {op!r}; there are {', '.join(OPERATIONS)}."
        if len(operands) != (1 if op == "neg" else 2):
            return f"row {i}, {op}, has the wrong number of operands: {len(operands)}."
        for o in operands:
            if type(o) is not str:
                return f"row {i} has the operand {o!r}; a row holds names of operands, not values."
            if o not in known:
                return f"row {i} uses {o!r}, which neither is an input nor has a row before it."
        if type(name) is not str:
            return f"the name of row {i} is {name!r}, which is no text."
        if name in known:
            return f"row {i} is called {name!r}, and so is something before it."
        known.add(name)
    return ""


# ----------------------------------------------------------------------- operations that record


def _recording_cases(rng: np.random.Generator) -> Iterator[Case]:
    for group, count in (
        ("a single operation", 1),
        ("a single operation", 1),
        ("several", 2),
        ("several", 4),
        ("several", 6),
    ):
        inputs, rows = drawn(rng, count)
        yield Case(group, inputs=inputs, rows=rows)


def _is_recorded(case: Case, got: Any) -> str:
    inputs, rows = case.args.values()
    if type(got) is not dict or set(got) != {"program", "name", "value"}:
        return "`traced` should return a function that gives a Traced."
    program = got["program"]
    if program == []:
        return "the program of the operands is empty afterwards: no row was appended to it."
    if said := _unreadable(program, list(inputs)):
        return said
    if len(program) != len(rows):
        return f"{len(rows)} operations left {len(program)} rows."
    if got["name"] != program[-1][0]:
        return f"the last row is called {program[-1][0]!r}, and the Traced {got['name']!r}."
    last = rows[-1][0]
    right = replayed(rows, inputs)[last]
    if said := same(right, got["value"], 1e-9, 1e-9, "the value of the last Traced"):
        return said
    others = {name: 1.5 - 0.3 * v for name, v in inputs.items()}
    found = replayed(program, others)[program[-1][0]]
    return same(replayed(rows, others)[last], found, 1e-9, 1e-9, "replayed at other inputs, it")


def _recorded(
    row: Callable[[str, str, tuple[str, ...]], Any] = lambda name, op, operands: [
        name,
        op,
        list(operands),
    ],
    value: Callable[..., float] = lambda forward, *x: forward(*x),
) -> Callable[..., Any]:
    """traced with another row, or another value."""

    def wrong(inputs: Any, rows: Any) -> dict[str, Any]:
        program, names, values = list[Any](), {name: name for name in inputs}, dict(inputs)
        for made, op, operands in rows:
            names[made] = f"v{len(program) + 1}"
            values[made] = value(OPERATIONS[op], *(values[o] for o in operands))
            program.append(row(names[made], op, tuple(names[o] for o in operands)))
        last = rows[-1][0]
        return {"program": program, "name": names[last], "value": values[last]}

    return wrong


TRACED = told_by(
    _is_recorded,
    "traced",
    {"a single operation": 1, "several": 1},
    _recording_cases,
    drive=f"{DRIVE}:recorded",
    present=lambda case: "; ".join(
        f"{name} = {op} {' '.join(operands)}" for name, op, operands in case.args["rows"]
    ),
    checked=(
        "The program that was recorded was replayed with other inputs, and compared with the"
        " operations themselves."
    ),
    hints=(
        "All operands share one program, so operands[0].program is the list to append to.",
        "The row holds the operands' names, and `forward` needs their values.",
        "program.append((name, op, tuple(o.name for o in operands)));"
        " return Traced(name, forward(*(o.value for o in operands)), program)",
    ),
    misconceptions=mistakes(
        (
            "turned round",
            "your rows name the operands in the wrong order.",
            _recorded(lambda name, op, operands: [name, op, list(operands[::-1])]),
        ),
        (
            "the first operand twice",
            "your rows name the first operand twice.",
            _recorded(lambda name, op, operands: [name, op, [operands[0]] * len(operands)]),
        ),
        (
            "always the same operation",
            "each row says `add`. The operation's name is the argument `op`.",
            _recorded(lambda name, op, operands: [name, "add", list(operands)]),
        ),
        (
            "the operand's value",
            "a result carries the value of its first operand. It should be computed by `forward`:"
            " a comparison will ask for it.",
            _recorded(value=lambda forward, *x: x[0]),
        ),
    ),
)

# ---------------------------------------------------------------------------- backward over rows


def _pull_cases(rng: np.random.Generator) -> Iterator[Case]:
    for group, count, unused, sealed in (
        ("numbers", 2, False, False),
        ("numbers", 4, False, False),
        ("numbers", 6, True, False),
        ("traced values", 3, False, True),
        ("traced values", 5, False, True),
    ):
        while True:
            inputs, rows = drawn(rng, count, unused)
            used = [o for _, _, operands in rows for o in operands]
            twice = any(len(operands) > len(set(operands)) for _, _, operands in rows)
            if twice and max(map(used.count, used)) > 1:
                break
        g = float(rng.uniform(1.2, 2.5))
        yield Case(group, program=rows, values=replayed(rows, inputs), g=g, sealed=sealed)


def _inputs_of(program: Any, values: dict[str, float]) -> dict[str, float]:
    made = {name for name, _, _ in program}
    return {name: value for name, value in values.items() if name not in made}


def _is_pulled(case: Case, got: Any) -> str:
    program, values, g, _ = case.args.values()
    if type(got) is not dict:
        return "`pull_rows` should return a dictionary: an adjoint for each name."
    inputs = _inputs_of(program, values)
    for name in inputs:
        moved = inputs | {name: inputs[name] + TINY * 1j}
        right = g * replayed(program, moved)[program[-1][0]].imag / TINY
        if said := same(right, got.get(name), 1e-7, 1e-8, f"the adjoint of {name}"):
            return said
    return ""


def _pulled(
    order: Callable[[list[Any]], list[Any]] = lambda rows: rows[::-1],
    add: Callable[[float, float], float] = operator.add,
    parts: Callable[..., list[tuple[str, float]]] = lambda pairs, value: pairs,
    seed: Callable[[float], float] = lambda g: g,
) -> Callable[..., Any]:
    """pull_rows with another order, sum, choice of parts, or seed."""

    def sent(op: str, g: float, x: list[float]) -> list[float]:
        """g times the derivative by each operand, by imaginary parts."""
        slopes = []
        for i in range(len(x)):
            moved: list[complex] = [v + TINY * 1j * (i == j) for j, v in enumerate(x)]
            slopes.append(g * OPERATIONS[op](*moved).imag / TINY)
        return slopes

    def wrong(program: Any, values: Any, g: float, sealed: bool) -> dict[str, float]:
        adjoint = {program[-1][0]: seed(g)}
        for name, op, operands in order(list(program)):
            if name in adjoint:
                slopes = sent(op, adjoint[name], [values[o] for o in operands])
                for o, part in parts(list(zip(operands, slopes, strict=True)), values[name]):
                    adjoint[o] = add(adjoint[o], part) if o in adjoint else part
        return {name: adjoint.get(name, 0.0) for name in _inputs_of(program, values)}

    return wrong


PULL_ROWS = told_by(
    _is_pulled,
    "pull_rows",
    {"numbers": 2, "traced values": 1},
    _pull_cases,
    drive=f"{DRIVE}:pulled",
    forbid=(DERIVATIVES,),
    present=lambda case: "; ".join(
        f"{name} = {op} {' '.join(operands)}" for name, op, operands in case.args["program"]
    ),
    checked=(
        "Each input got a tiny imaginary part, and the program was replayed. What arrives in the"
        " result is the derivative; g times that was compared with your adjoint."
    ),
    hints=(
        "It is the sweep of lesson 3: rows from the last to the first, contributions are added.",
        "A row that nothing uses has no adjoint: skip it. The first contribution to a name is"
        " stored, later ones are added.",
        "for o, part in zip(operands, pulls[op](adjoint[name], *(values[o] for o in operands))):"
        " adjoint[o] = adjoint[o] + part if o in adjoint else part",
    ),
    misconceptions=mistakes(
        (
            "from the first row",
            "you go through the rows from the first to the last. Backward is the other direction.",
            _pulled(order=lambda rows: rows),
        ),
        (
            "overwritten",
            "a second contribution overwrites the first; they are added.",
            _pulled(add=lambda a, b: b),
        ),
        (
            "one for each operand",
            "of an operand that a row uses twice only one contribution arrives.",
            _pulled(parts=lambda pairs, value: list(dict(pairs).items())),
        ),
        (
            "no g",
            "you begin with 1. The adjoint of the last row is `g`.",
            _pulled(seed=lambda g: 1.0),
        ),
        (
            "the first operand alone",
            "only the first operand of each row gets a contribution.",
            _pulled(parts=lambda pairs, value: pairs[:1]),
        ),
        (
            "subtracted",
            "contributions are subtracted where they should be added.",
            _pulled(add=operator.sub),
        ),
    ),
)

# --------------------------------------------------------------------------------- rows from text

NAMED = {"Add": "add", "Sub": "sub", "Mult": "mul", "Div": "div", "USub": "neg"}
"""What Python's ast calls the operators, and what they are called in a row."""


def _text_cases(rng: np.random.Generator) -> Iterator[Case]:
    x, y, z = (str(name) for name in rng.permutation(["x", "y", "z"]))
    for group, text in (
        ("one operation", f"{x} - {y}"),
        ("one operation", f"-{z}"),
        ("one operation", f"{y} / {x}"),
        ("nested", f"{x} - {y} - {z}"),
        ("nested", f"{x} * ({y} + {z})"),
        ("nested", f"-({x} / {y}) + {z} * {x}"),
        ("nested", f"({x} + {y}) * ({x} - {z}) / (-{y} - {x} / {z} / {x})"),
    ):
        yield Case(group, text=text, named=NAMED)


def _is_text(case: Case, got: Any) -> str:
    text = case.args["text"]
    variables = [name for name in "xyz" if name in text]
    if type(got) not in (list, tuple):
        return "`rows_of` should return a list of rows."
    if said := _unreadable(got, variables):
        return said
    count = sum(text.count(operator) for operator in "+-*/")
    if len(got) != count:
        return f"there are {count} operations in the text, and {len(got)} rows."
    at = {"x": 1.37, "y": 0.82, "z": 1.91}
    found = replayed(got, at)[got[-1][0]]
    return same(float(eval(text, {}, at)), found, 1e-9, 1e-9, "replayed, the program")


def _read(
    before: Callable[[list[Any]], list[Any]] = lambda parts: parts,
    after: Callable[[list[str]], list[str]] = lambda found: found,
    made: Callable[[str, dict[str, str]], str] = lambda kind, named: named[kind],
    flat: bool = False,
) -> Callable[..., Any]:
    """rows_of with operands in another order, other operations, or as if the text were computed
    from left to right.
    """

    def wrong(text: str, named: dict[str, str]) -> list[Any]:
        program = list[Any]()

        def place(node: Any) -> str:
            if isinstance(node, ast.Name):
                return node.id
            parts = [node.operand] if isinstance(node, ast.UnaryOp) else [node.left, node.right]
            found = after([place(part) for part in before(parts)])
            program.append([f"v{len(program) + 1}", made(type(node.op).__name__, named), found])
            return str(program[-1][0])

        plain = text.replace("(", "").replace(")", "") if flat else text
        place(ast.parse(plain, mode="eval").body)
        return program

    return wrong


ROWS_OF = told_by(
    _is_text,
    "rows_of",
    {"one operation": 1, "nested": 2},
    _text_cases,
    checked=(
        "Your rows were replayed, and compared with what Python says of the text. There must be"
        " one row for each operation."
    ),
    hints=(
        "Write an inner function place(node) that appends what is needed for a node, and returns"
        " the name under which its value is found.",
        "A Name has its name already: node.id. Everything else first places its operands, and only"
        " then appends its own row.",
        "parts = [node.operand] if isinstance(node, ast.UnaryOp) else [node.left, node.right];"
        " operands = tuple(place(part) for part in parts)",
    ),
    misconceptions=mistakes(
        (
            "turned round",
            "the operands are in the wrong order: the left one comes first.",
            _read(lambda parts: parts[::-1]),
        ),
        (
            "turned round in the row",
            "a row names its operands in the wrong order: the left one comes first.",
            _read(after=lambda found: found[::-1]),
        ),
        (
            "the left operand twice",
            "both operands are the left one.",
            _read(lambda parts: parts[:1] * len(parts)),
        ),
        (
            "products for quotients",
            "quotients became products.",
            _read(made=lambda kind, named: named["Mult" if kind == "Div" else kind]),
        ),
        (
            "sums for differences",
            "differences became sums.",
            _read(made=lambda kind, named: named["Add" if kind == "Sub" else kind]),
        ),
        ("no parentheses", "the parentheses are ignored.", _read(flat=True)),
    ),
)

# ------------------------------------------------------------------------------------ the oven


def oven(power: Any, loss: Any, limit: float, steps: int = 4) -> tuple[Any, list[bool]]:
    """The lesson's program: the temperature at the end, and what was decided. A number may have an
    imaginary part; its real part decides.
    """
    t, decisions = power, []
    for _ in range(steps):
        t = t - loss * t
        decisions.append(bool(np.real(t) < limit))
        if decisions[-1]:
            t = t + power
    return t, decisions


def frozen(decisions: Sequence[bool], power: float, loss: float) -> float:
    """The temperature at the end if the decisions are given."""
    t = power
    for heated in decisions:
        t = t - loss * t + (power if heated else 0.0)
    return t


def _oven_cases(rng: np.random.Generator) -> Iterator[Case]:
    for group, least, most, first, cold in (
        ("one step", 1, 1, True, False),
        ("one step", 1, 1, False, False),
        ("many steps", 3, 4, True, False),
        ("many steps", 5, 6, True, False),
        ("many steps", 3, 5, True, True),
    ):
        while True:
            power, loss = float(rng.uniform(1.5, 4)), float(rng.uniform(0.05, 0.35))
            limit, steps = float(rng.uniform(2, 9)), int(rng.integers(least, most + 1))
            t, decisions = oven(power, loss, limit, steps)
            if steps == 1:
                if decisions[0] is first:
                    break
            elif t < limit and all(decisions) if cold else decisions != decisions[::-1]:
                break
        yield Case(group, power=power, loss=loss, limit=limit, steps=steps)


def _is_reverse(case: Case, got: Any) -> str:
    power, loss, limit, steps = case.args.values()
    if type(got) not in (list, tuple) or len(got) != 3:
        return "there should be 3 numbers: t, power_bar and loss_bar."
    if said := same(oven(power, loss, limit, steps)[0], got[0], 1e-9, 1e-9, "the temperature"):
        return said
    for name, found, dp, dl in (("power_bar", got[1], 1, 0), ("loss_bar", got[2], 0, 1)):
        moved = oven(power + TINY * 1j * dp, loss + TINY * 1j * dl, limit, steps)[0]
        if said := same(moved.imag / TINY, found, 1e-7, 1e-8, name):
            return said
    return ""


def _reversed(
    decided: Callable[[list[bool], float, float], Sequence[bool]] = lambda d, t, limit: d[::-1],
    at_start: Callable[[float, float], float] = operator.add,
    step: str = "",
) -> Callable[..., Any]:
    """oven_reverse with other decisions, another end of the sweep, or another step of it."""

    def wrong(power: float, loss: float, limit: float, steps: int) -> list[float]:
        t, states = power, []
        decisions = oven(power, loss, limit, steps)[1]
        for heated in decisions:
            states.append(t)
            t = t - loss * t + (power if heated else 0.0)
        t_bar, power_bar, loss_bar = 1.0, 0.0, 0.0
        chosen, kept_states = decided(decisions, t, limit), states[::-1]
        if step == "popped":
            kept_states = [float(heated) for heated in decisions[::-1]]
        for heated, state in zip(chosen, kept_states, strict=True):
            if heated:
                power_bar = t_bar if step == "overwritten" else power_bar + t_bar
            kept = t_bar * (loss if step == "loss" else 1 - loss)
            if step == "no loss":
                kept = t_bar
            sent = kept if step == "late" else t_bar
            loss_bar = loss_bar + (sent if step == "sign" else -sent) * state
            t_bar = kept
        return [t, at_start(power_bar, t_bar), loss_bar]

    return wrong


REVERSE = told_by(
    _is_reverse,
    "oven_reverse",
    {"one step": 1, "many steps": 2},
    _oven_cases,
    forbid=(DERIVATIVES,),
    checked=(
        "A tiny imaginary part went through the program with `power`, and then with `loss`. What"
        " arrives is the derivative."
    ),
    hints=(
        "Turn each step round: the last statement first. `stack.pop()` gives what was pushed last.",
        "The adjoint of `t = t + power`: power_bar += t_bar. That of `t = t - loss * t`:"
        " loss_bar -= t_bar * before, and then t_bar -= loss * t_bar.",
        "At the very start stands `t = power`, so at the very end power_bar += t_bar.",
    ),
    misconceptions=mistakes(
        (
            "decided again",
            "you decide again, by the temperature at the end. Each step has a decision of its own,"
            " which lies on the stack.",
            _reversed(lambda d, t, limit: [t < limit] * len(d)),
        ),
        (
            "in the wrong order",
            "the decisions come back in the order in which they were taken. The last one comes"
            " first.",
            _reversed(lambda d, t, limit: d),
        ),
        (
            "always heated",
            "the adjoint of the branch runs in every step, also where there was no heating.",
            _reversed(lambda d, t, limit: [True] * len(d)),
        ),
        (
            "the start",
            "the adjoint of the very first statement, `t = power`, is missing.",
            _reversed(at_start=lambda p, t: p),
        ),
        (
            "the start alone",
            "`power` gets nothing from the steps that heated.",
            _reversed(at_start=lambda p, t: t),
        ),
        (
            "too late",
            "what goes to loss_bar in a step is too small by the factor 1 − loss. It needs the"
            " t_bar that came in, before you change it, and the temperature before the loss.",
            _reversed(step="late"),
        ),
        (
            "overwritten",
            "power_bar is overwritten; each step that heated adds to it.",
            _reversed(step="overwritten"),
        ),
        (
            "a loss",
            "t_bar is multiplied by `loss`. In t − loss · t, the first t counts, too: the factor is"
            " 1 − loss.",
            _reversed(step="loss"),
        ),
        (
            "no loss",
            "t_bar passes the statement t − loss · t as if nothing were lost.",
            _reversed(step="no loss"),
        ),
        ("a sign", "loss_bar has the wrong sign: more loss, less heat.", _reversed(step="sign")),
        (
            "popped in the order of pushing",
            "you pop in the order of pushing, so what you take for a decision is a temperature."
            " What was pushed last comes first.",
            _reversed(lambda d, t, limit: [True] * len(d), step="popped"),
        ),
    ),
)

# -------------------------------------------------------------------------------------- predictions


def programs_after(counts: Sequence[int] = (2, 3, 4)) -> int:
    """How many programs `mg.compile` has of a power, after calls with these whole numbers."""

    def power(x: mg.Tensor, n: int) -> mg.Tensor:
        y = x
        for _ in range(n - 1):
            y = y * x
        return y

    compiled = mg.compile(power)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for n in counts:
            for _ in range(4):
                compiled(mg.tensor(1.5, dtype=mg.float64), n)
    return len(compiled.programs)


AT = (3.0, 0.1, 5.0)
"""Power, loss and limit at which the lesson records."""

PREDICTIONS = (
    Exact(
        "trace-rows",
        "Prediction: the rows of a trace",
        variable="rows",
        answer=lambda: 2.0 * 4 + sum(oven(*AT)[1]),
        because="Two rows for each of the 4 steps, and one more for each of the 2 that heated.",
        slips=(
            ("That is a row for each statement, whether it ran or not.", lambda: 12.0),
            ("That leaves out the steps that heated.", lambda: 8.0),
            ("A comparison gives no number, and leaves no row.", lambda: 14.0),
            ("`t - loss * t` is two operations.", lambda: 6.0),
        ),
        hints=(
            "Go through the four temperatures that were printed. In which steps did it heat?",
            "`t - loss * t` makes two rows, `t + power` makes one, and `if` makes none.",
        ),
    ),
    Number(
        "frozen-value",
        "Prediction: a trace at another power",
        variable="frozen",
        answer=lambda: frozen(oven(*AT)[1], 2.0, AT[1]),
        because=(
            "The decisions are those of power 3. Without them, all is proportional to the power."
        ),
        slips=(
            ("That is what the program gives. The trace has no `if`.",
             lambda: oven(2.0, 0.1, 5)[0]),
            ("That is the value at power 3. The trace computes with the new power.",
             lambda: oven(*AT)[0]),
        ),
        hints=(
            "The trace heats in the first step and in the third, whatever the temperature is.",
            "Each row is then proportional to the power. At 3 the result was 6.8553.",
        ),
        tolerance=2e-3,
    ),
    Exact(
        "compiled-programs",
        "Prediction: programs after three whole numbers",
        variable="programs",
        answer=lambda: float(programs_after()),
        because="n is a guard, for the loop runs by it: another n is another program.",
        slips=(
            ("One program cannot serve all: the trace of n = 2 has one product.", lambda: 1.0),
            ("That is the number of calls.", lambda: 12.0),
            ("That is the last n.", lambda: 4.0),
        ),
        hints=("How many products are there for n = 2, and for n = 4? May they share a trace?",),
    ),
)  # fmt: skip

TITLES = {
    "traced": "Exercise 1 · An operation that records",
    "pull_rows": "Exercise 2 · Backward over the rows",
    "rows_of": "Exercise 3 · From text to rows",
    "oven_reverse": "Exercise 4 · The oven, backward",
}

EXERCISES: dict[str, Exercise] = by_name(vars(), TITLES)
