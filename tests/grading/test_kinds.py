"""Every kind of exercise: right work in several styles gets full points, classic mistakes get
less, and no answer is written anywhere.
"""

import math
import random
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from minigrad.lessons.exercises.lesson02 import EXERCISES
from minigrad.lessons.grading import known, protocol
from minigrad.lessons.grading.checking import judge_here
from minigrad.lessons.grading.comparison import as_plain
from minigrad.lessons.grading.exercise import Case, Returned, SheetError
from minigrad.lessons.grading.graphs import by_engine, of_tape, tape_trace
from minigrad.lessons.grading.harness import large
from minigrad.lessons.grading.judge import judge
from minigrad.lessons.grading.kinds import (
    Backward,
    Cost,
    Executor,
    Gradients,
    Jvp,
    Number,
    Optimiser,
    Order,
    Predict,
    Sweep,
    Table,
    Trains,
    Unbroadcast,
    Vjp,
    rules_on_numbers,
)
from minigrad.lessons.grading.kinds.cost import adjoints
from minigrad.lessons.grading.kinds.graph_work import gradient_rows, new_rows_problem
from minigrad.lessons.grading.local import run_cases
from minigrad.lessons.grading.sheet_report import missed_mistakes
from minigrad.lessons.grading.student_trace import Example
from minigrad.viz.jacobian import jacobian_trace

import minigrad as mg
from minigrad.trace.text import text_of
from tests.helpers.remembered_mistakes import remembering


def points(exercise, seed=1, seconds=60.0, **answers):
    cases = exercise.cases(seed)
    return judge(exercise, cases, run_cases(exercise, cases, answers, seconds))


@cache
def mistaken(name):
    """The exercise of a kind, cases of it, and what each of its mistakes returns for them."""
    exercise = remembering(KINDS[name][0])
    cases = exercise.cases(4)
    returned = [(m, [broken(m, case) for case in cases]) for m in exercise.misconceptions]
    return exercise, cases, returned


def broken(mistake, case):
    """What a mistake returns, or that it ends in an exception."""
    try:
        return Returned(as_plain(mistake.wrong(case)))
    except (ValueError, IndexError) as error:
        return Returned(error=str(error), kind="raised")


# ------------------------------------------------------------------------------ students' solutions


def sum_to(g, shape):
    g = g.sum(axis=tuple(range(g.ndim - len(shape))))
    return g.sum(
        axis=tuple(i for i, n in enumerate(shape) if n == 1 and g.shape[i] != 1), keepdims=True
    )


def vjp_mul(a, b, g):
    return sum_to(g * b, a.shape), sum_to(g * a, b.shape)


def test_a_tape_writes_a_negative_number_after_a_sign_in_parentheses():
    rows = [["v1", "linear", ["x1", "x2"], [-3.0, -1.5]]]
    trace = tape_trace({"inputs": {"x1": 2.0, "x2": 5.0}, "rows": rows})
    assert text_of(trace["nodes"][-1]["expr"]) == "−3 · x1 + (−1.5) · x2"
    formulas = [text_of(step["formula"]) for step in trace["steps"]]
    assert formulas[1:] == ["x̄1 = 1 · (−3)", "x̄2 = 1 · (−1.5)"]


def sweep(tape, adjoint):
    for name, operands in reversed(tape):
        for operand, local in operands:
            adjoint[operand] += adjoint[name] * local


VALUES = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "neg": lambda a: -a,
    "square": lambda a: a * a,
    "sin": math.sin,
    "cos": math.cos,
    "exp": math.exp,
    "log": math.log,
    "tanh": math.tanh,
}
PARTIALS = {
    "add": lambda a, b: (1, 1),
    "sub": lambda a, b: (1, -1),
    "mul": lambda a, b: (b, a),
    "div": lambda a, b: (1 / b, -a / b**2),
    "neg": lambda a: (-1,),
    "square": lambda a: (2 * a,),
    "sin": lambda a: (math.cos(a),),
    "cos": lambda a: (-math.sin(a),),
    "exp": lambda a: (math.exp(a),),
    "log": lambda a: (1 / a,),
    "tanh": lambda a: (1 - math.tanh(a) ** 2,),
}


def gradients(inputs, rows):
    value = dict(inputs)
    for name, op, operands in rows:
        value[name] = VALUES[op](*(value[o] for o in operands))
    bar = dict.fromkeys(value, 0.0)
    bar[rows[-1][0]] = 1.0
    for name, op, operands in reversed(rows):
        for operand, partial in zip(
            operands, PARTIALS[op](*(value[o] for o in operands)), strict=True
        ):
            bar[operand] += bar[name] * partial
    return bar


def order(parents, output):
    found, done, waiting = [], set(), [(output, False)]
    while waiting:
        node, ready = waiting.pop()
        if ready:
            found.append(node)
        elif node not in done:
            done.add(node)
            waiting += [(node, True), *((p, False) for p in parents[node])]
    return found


def run(rows, feeds, wanted):
    value = dict(feeds)
    for name, op, operands in rows:
        value[name] = VALUES[op](*(value[o] for o in operands))
    return [value[w] for w in wanted]


def momentum(p, g, state):
    state["v"] = 0.9 * state.get("v", 0.0) + g
    return p - 0.1 * state["v"]


def adam(p, g, state):
    t = state["t"] = state.get("t", 0) + 1
    m = state["m"] = 0.9 * state.get("m", 0.0) + 0.1 * g
    v = state["v"] = 0.999 * state.get("v", 0.0) + 0.001 * g * g
    return p - 0.1 * (m / (1 - 0.9**t)) / (np.sqrt(v / (1 - 0.999**t)) + 1e-8)


def make_momentum(parameters):
    return mg.optim.SGD(parameters, lr=0.1, momentum=0.9)


def make_adam(parameters):
    return mg.optim.Adam(parameters, lr=0.1)


KINDS = {
    "Vjp": (Vjp("f", mg.sin), lambda x, g: g * np.cos(x)),
    "Vjp in tensors": (
        Vjp("f", mg.sin),
        lambda x, g: mg.func.vjp(mg.sin, mg.tensor(x))[1](mg.tensor(g))[0],
    ),
    "Vjp of two": (Vjp("f", mg.mul, inputs=2), vjp_mul),
    "Vjp of two as a list": (Vjp("f", mg.mul, inputs=2), lambda a, b, g: list(vjp_mul(a, b, g))),
    "Jvp": (Jvp("f", mg.sin), lambda x, d: d * np.cos(x)),
    "Jvp of two": (Jvp("f", mg.div, inputs=2), lambda a, b, da, db: da / b - a * db / b**2),
    "Backward": (Backward("f"), gradients),
    "Backward on a tape": (Backward("f", form="tape"), sweep),
    "Backward again": (Backward("f", again=True), gradients),
    "Sweep": (Sweep("f", (), ()), sweep),
    "Order": (Order("f"), order),
    "Executor": (Executor("f"), run),
    "Gradients": (
        Gradients("f"),
        lambda inputs, rows, wanted: gradient_rows(
            Case("x", inputs=inputs, rows=rows, wanted=wanted)
        ),
    ),
    "Unbroadcast": (Unbroadcast("f"), sum_to),
    "Optimiser": (Optimiser("f", make_momentum), momentum),
    "Optimiser Adam": (Optimiser("f", make_adam), adam),
    "Cost": (Cost("f", n=2000), sweep),
    "Cost of an order": (Cost("f", form="order", n=2000), order),
}


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.whole)])
def test_right_work_gets_full_points_from_the_answer_and_from_the_check_without_one(name, seed):
    exercise, solution = KINDS[name]
    cases = exercise.cases(seed)
    returned = run_cases(exercise, cases, {"f": solution}, 60)
    for verdict in (judge, judge_here) if exercise.verify else (judge,):
        j = verdict(exercise, cases, returned)
        assert j.full, [(g.name, g.say) for g in j.groups]
        assert j.points == exercise.max_points


def sampled(names) -> list:
    """Of kinds that share their mistakes and cases the default run takes one."""
    twins = {
        *("Backward again", "Backward on a tape", "Vjp in tensors", "Vjp of two as a list"),
        *("Optimiser Adam", "Cost of an order"),
    }
    return [pytest.param(n, marks=pytest.mark.whole) if n in twins else n for n in names]


@pytest.mark.parametrize("name", sampled(KINDS))
def test_no_classic_mistake_slips_through(name):
    missed, caught = missed_mistakes(KINDS[name][0])
    assert missed == []
    assert caught >= 3 or name.startswith("Cost")


@pytest.mark.parametrize(
    "name", sampled(n for n in KINDS if KINDS[n][0].misconceptions and KINDS[n][0].verify)
)
def test_the_check_without_an_answer_key_sees_the_same_mistakes_as_the_answer(name):
    exercise, cases, mistakes = mistaken(name)
    for mistake, returned in mistakes:
        graded, checked = judge(exercise, cases, returned), judge_here(exercise, cases, returned)
        assert [i.right for i in graded.items] == [i.right for i in checked.items], mistake.name


@pytest.mark.parametrize(
    "name",
    sampled(n for n in KINDS if KINDS[n][0].misconceptions and not n.startswith("Gradients")),
)
def test_each_mistake_is_recognised_as_itself_or_as_one_that_gives_the_same_numbers(name):
    exercise, cases, mistakes = mistaken(name)
    for mistake, returned in mistakes:
        j = judge(exercise, cases, returned)
        assert j.misconception is not None, mistake.name
        twin = next(m for m in exercise.misconceptions if m.sentence == j.misconception["say"])
        if twin is not mistake:
            again = [as_plain(twin.wrong(c)) for c in cases]
            same_numbers = judge(exercise, cases, [Returned(v) for v in again])
            assert [i.right for i in same_numbers.items] == [i.right for i in j.items]


ODD = [
    None,
    3,
    "x",
    [],
    {},
    [1, 2],
    {"x1": "a"},
    {"x1": None},
    [[], []],
    [["a"], 3],
    np.zeros((0, 2)),
    [{"step": 1}],
    [[["d1", "sin", ["x9"]]], ["d1"]],
]


@pytest.mark.parametrize("name", sampled(KINDS))
def test_values_of_any_kind_get_no_points_and_do_no_harm(name):
    exercise = KINDS[name][0]
    cases = exercise.cases(1)
    for value in ODD:
        j = judge(exercise, cases, [Returned(value) for _ in cases])
        assert j.points < exercise.max_points
        assert all(item.right or item.say for item in j.items)


# --------------------------------------------------------------------------------------------- cost


@pytest.mark.parametrize("shape", ["chain", "ladder", "tree"])
def test_the_formula_for_large_graphs_is_what_the_engine_computes(shape):
    rows = large(shape, 40)
    engine = by_engine(of_tape(rows))
    first_met = dict.fromkeys(
        name for row, operands in rows for name in (*(o for o, _ in operands), row)
    )
    np.testing.assert_allclose(adjoints(shape, 40), [engine[n] for n in first_met], rtol=1e-12)


@pytest.mark.whole
def test_the_answer_of_the_course_s_largest_case_fits_into_a_line():
    largest = max(case.args["n"] for case in known()["fast_adjoints"].cases(1))
    assert largest >= 200_000
    most = len(adjoints("tree", 100)) / 100 * largest
    assert len(protocol.dumps(protocol.encode(np.ones(int(most))))) < protocol.LINE_BYTES


def recursive(tape, adjoint):
    rows = dict(tape)

    def back(name):
        for operand, _ in rows.get(name, ()):
            adjoint[operand] += 0.0
            back(operand)

    back(tape[-1][0])


def every_path(tape, adjoint):
    rows, output = dict(tape), tape[-1][0]
    waiting = [(output, 1.0)]
    for name in adjoint:
        adjoint[name] = 0.0
    while waiting:
        name, weight = waiting.pop()
        adjoint[name] += weight
        waiting += [(o, weight * local) for o, local in rows.get(name, ())]


def one_pass_for_each(tape, adjoint):
    output = tape[-1][0]
    for moved in list(adjoint):
        dot = dict.fromkeys(adjoint, 0.0)
        dot[moved] = 1.0
        for name, operands in tape:
            if name != moved:
                dot[name] = sum(local * dot[o] for o, local in operands)
        adjoint[moved] = dot[output]


def test_twenty_thousand_operations_take_a_linear_sweep_well_under_a_second():
    exercise = Cost("sweep")
    j = points(exercise, sweep=sweep)
    assert j.full
    assert j.slowest_s < exercise.limit_s / 5


SLOW = {
    "recursion": (recursive, "chain", "raised"),
    "every path": (every_path, "ladder", "time"),
    "a pass for each": (one_pass_for_each, "tree", "time"),
}


@pytest.mark.parametrize("name", SLOW)
def test_right_gradients_in_the_wrong_spirit_are_caught(name):
    solution, shape, kind = SLOW[name]
    exercise = Cost("sweep", shapes={shape: 1}, limit_s=0.2)
    j = points(exercise, sweep=solution, seconds=0.6)
    assert j.points == 0
    assert j.groups[0].kind == kind


def test_the_slow_ones_are_right_where_the_graph_is_small():
    for solution in (every_path, one_pass_for_each):
        assert points(Backward("f", form="tape"), f=solution).full


def test_a_class_of_linear_cost():
    class Value:
        def __init__(self, data, parents=()):
            self.data, self.grad, self.parents = data, 0.0, parents

        def __add__(self, other):
            return Value(self.data + other.data, ((self, 1.0), (other, 1.0)))

        def __mul__(self, other):
            return Value(self.data * other.data, ((self, other.data), (other, self.data)))

        def backward(self):
            found, done, waiting = [], set(), [(self, False)]
            while waiting:
                node, ready = waiting.pop()
                if ready:
                    found.append(node)
                elif id(node) not in done:
                    done.add(id(node))
                    waiting += [(node, True), *((p, False) for p, _ in node.parents)]
            self.grad = 1.0
            for node in reversed(found):
                for parent, local in node.parents:
                    parent.grad += node.grad * local

    assert points(Cost("Value", form="class", n=1500), Value=Value).full


# ------------------------------------------------------------------------------------------ several


def test_any_right_order_is_right():
    def shuffled_order(parents, output):
        left, found = dict(parents), []
        while left:
            ready = [n for n in left if all(p in found for p in left[n])]
            found.append(random.choice(ready))
            del left[found[-1]]
        return found

    assert points(Order("f"), f=shuffled_order).full


def test_another_gradient_graph_with_the_same_numbers_is_right():
    def wasteful(inputs, rows, wanted):
        made, found = gradient_rows(Case("x", inputs=inputs, rows=rows, wanted=wanted))
        extra = [[f"w{i}", "neg", [n]] for i, n in enumerate(found)] + [
            [f"u{i}", "neg", [f"w{i}"]] for i in range(len(found))
        ]
        return [*made, *extra], [f"u{i}" for i in range(len(found))]

    assert points(Gradients("f"), f=wasteful).full


@pytest.mark.parametrize(
    ("rows", "found", "say"),
    [
        ([["d1", "system", ["x1"]]], ["d1"], "no operation"),
        ([["d1", "matmul", ["x1", "x1"]]], ["d1"], "no operation"),
        ([["d1", "add", ["x1"]]], ["d1"], "takes 2"),
        ([["v1", "neg", ["x1"]]], ["v1"], "taken"),
        ([["d1", "neg", ["d2"]]], ["d1"], "does not stand before"),
        ([["d1", "neg", ["x1"]]], [], "one for each"),
        ([["d1", "neg", ["x1"]]], ["d7"], "one for each"),
        ([["d1", "neg", [["x1"]]]], ["d1"], "does not stand before"),
        ([["d1", "neg", ["x1"]]] * 500, ["d1"], "more than"),
        ([7], ["d1"], "a row is"),
    ],
)
def test_rows_that_cannot_be_evaluated_are_refused_with_a_reason(rows, found, say):
    case = Case("g", inputs=["x1"], rows=[["v1", "sin", ["x1"]]], wanted=["x1"])
    assert say in new_rows_problem(case, [rows, found])


def draw(rng):
    x = rng.uniform(-1, 1, size=(40, 2))
    return {"x": x, "y": x @ np.array([2.0, -1.0]) + 0.5}


def squared(returned, x, y):
    w, b = returned
    return float(np.mean((x @ w + b - y) ** 2))


def test_training_is_judged_by_the_loss_of_what_comes_back():
    exercise = Trains("train", draw, squared, bar=0.01, limit_s=5)

    def train(x, y, steps=500, lr=0.3):
        w, b = np.zeros(2), 0.0
        for _ in range(steps):
            e = x @ w + b - y
            w, b = w - lr * 2 * x.T @ e / len(y), b - lr * 2 * e.mean()
        return w, b

    assert points(exercise, train=train).full
    for bad, say in (
        (lambda x, y: train(x, y, 3), "should be at most 0.01"),
        (lambda x, y: train(x, y, 400, 30.0), "diverge"),
        (lambda x, y: 5, "cannot be used"),
        (lambda x, y: (np.full(2, np.nan), 0.0), "diverge"),
        (lambda x, y: {"w": 1}, "cannot be used"),
    ):
        with np.errstate(all="ignore"):
            j = points(exercise, train=bad)
        assert j.points == 0
        assert say in j.groups[0].say


def f(x1, x2):
    return mg.log(x1) + x1 * x2 - mg.sin(x2)


def test_predictions_are_read_from_the_viewers_log():
    exercise = Predict("log", f, (2.0, 5.0), [("v2", "v"), ("x1", "g")])
    log = [
        {"step": 3, "node": "v2", "column": "v", "answer": 10.0},
        {"step": 5, "node": "v9", "column": "v", "answer": "hm"},
        {"step": 18, "node": "x1", "column": "g", "answer": 5.5},
    ]
    assert points(exercise, log=log).full
    assert points(exercise, log=log[:1]).points == 1
    late = [{**log[0], "answer": 7}, *log]
    assert points(exercise, log=late).points == 1, "the first answer counts"
    for odd in (
        [1],
        [{"node": "v2"}],
        {"a": 1},
        3,
        [{**log[0], "answer": "ten"}],
        [{**log[0], "answer": math.nan}],
    ):
        assert points(exercise, log=odd).points == 0
    assert not points(exercise, log=None).started
    with pytest.raises(SheetError, match="no cell"):
        Predict("log", f, (2.0, 5.0), [("v77", "v")])
    assert points(exercise, log=[{**entry, "pass": 3} for entry in log]).full, (
        "where there is one pass, its number means nothing"
    )
    assert (
        points(
            exercise, log=[{**log[0], "step": np.array([1, 2]), "node": np.array([1, 2])}]
        ).points
        == 0
    )


def two(a, b):
    return a * b * a, mg.sin(a)


def test_predictions_of_several_passes_are_matched_by_pass():
    questions = [("v1", "v"), ("a", "g", "v2"), ("a", "g", "v3"), ("v2", "d", "b"), ("v2", "d", 0)]
    exercise = Predict("log", two, (2.0, 3.0), questions, by="both")
    assert list(exercise.points) == [
        *("value of v1", "adjoint of a with the seed at v2", "adjoint of a with the seed at v3"),
        *("tangent of v2 with the seed at b", "tangent of v2 with the seed at a"),
    ]
    trace = jacobian_trace(two, 2.0, 3.0)
    log = []
    for i, step in enumerate(
        trace["steps"]
    ):  # what the viewer logs of a reader who is always right
        for node, column, value in step["writes"] if step["phase"] != "seed" else ():
            log.append(
                {"step": i, "node": node, "column": column, "answer": value}
                | ({"pass": step["pass"]} if "pass" in step else {})
            )
    assert points(exercise, log=log).full
    final = {(e["node"], e["column"], e.get("pass")): e["answer"] for e in log}
    assert final["a", "g", 2] == 12.0 and final["a", "g", 3] == pytest.approx(math.cos(2.0)), (
        "the same cell, in two passes"
    )
    wrong = [
        e | {"answer": 99.0} if (e["node"], e["column"], e.get("pass")) == ("a", "g", 3) else e
        for e in log
    ]
    judged = points(exercise, log=wrong)
    assert [g.name for g in judged.groups if g.points == 0] == ["adjoint of a with the seed at v3"]
    without = [{k: v for k, v in e.items() if k != "pass"} for e in log]
    assert [g.name for g in points(exercise, log=without).groups if g.points] == ["value of v1"], (
        "an answer must say of which pass it is"
    )
    swapped = [
        e | {"pass": {2: 3, 3: 2}.get(e["pass"], e["pass"])} if "pass" in e else e for e in log
    ]
    assert {g.name for g in points(exercise, log=swapped).groups if g.points == 0} == {
        f"adjoint of a with the seed at v{k}" for k in (2, 3)
    }
    with pytest.raises(SheetError, match="its passes are several, so name one"):
        Predict("log", two, (2.0, 3.0), [("a", "g")], by="rows")
    for absent in (("a", "g", "v77"), ("a", "g", 9), ("a", "d", "a")):
        with pytest.raises(SheetError, match="no cell"):
            Predict("log", two, (2.0, 3.0), [absent], by="rows")


def test_numbers_and_tables():
    number = Number(
        "n",
        "What is it?",
        lambda: math.cos(5.0),
        "so.",
        (("You took the sine.", lambda: math.sin(5.0)),),
        variable="mine",
    )
    assert points(number, mine=0.2837).full
    assert points(number, mine=np.float32(0.2837)).full
    j = points(number, mine=-0.9589)
    assert j.misconception["say"] == "You took the sine."
    assert "0.28" not in str(j.as_dict()), "the answer is not told"
    table = Table("t", f, (2.0, 5.0), ())
    right = {"x1": 2, "x2": 5, "v1": 0.6931, "v2": 10, "v3": 10.6931, "v4": -0.9589, "v5": 11.652}
    assert points(table, t=right).full
    assert points(table, t=right | {"v4": 1}).points == 0
    assert points(table, t={k: v for k, v in right.items() if k != "v4"}).points == 0


ODD = [
    True,
    "5",
    1 + 2j,
    Fraction(1, 3),
    math.nan,
    math.inf,
    10**400,
    [0.2],
    {},
    None,
    ...,
    np.array([0.2]),
    np.array(0.2),
    np.float32(0.2),
]


@pytest.mark.parametrize("right", [0.2, 0.0, 5.0, -3e4])
def test_a_number_is_right_in_the_batch_where_it_is_in_the_notebook(right):
    slip = 2 * right + 7.0
    asked = Number(
        "n",
        "What is it?",
        lambda: right,
        "so.",
        (("Twice, and seven too many.", lambda: slip),),
        tolerance=1e-3,
        variable="mine",
    )
    seen = set()
    for part in (0.0, 0.4, 0.9, 1.1, 1.5, 2.1):
        for sign in (-1, 1):
            distance = sign * part * 1e-3 * max(1, abs(right))
            for made in (float, np.float64, np.asarray, lambda x: mg.tensor(x, dtype=mg.float64)):
                value = made(right + distance)
                assert (
                    points(asked, mine=value).full == asked.notebook(value).passed == (part < 1)
                ), value
                seen.add(part < 1)
        near_slip = points(asked, mine=slip + part * 1e-3 * max(1, abs(slip)))
        assert (near_slip.misconception is not None) == (part < 1)
        if part < 1:
            assert near_slip.misconception["name"] == "Twice, and seven too many"
    assert seen == {True, False}
    for value in ODD:
        assert points(asked, mine=value).full == asked.notebook(value).passed, value


def test_a_table_is_right_in_the_batch_where_it_is_in_the_notebook():
    table = Table("t", f, (2.0, 5.0), (), variable="mine")
    right = {
        "x1": 2,
        "x2": 5,
        "v1": math.log(2),
        "v2": 10,
        "v3": 10 + math.log(2),
        "v4": math.sin(5),
        "v5": 10 + math.log(2) - math.sin(5),
    }
    rows = [{"v4": right["v4"] + d} for d in (0.9e-3, -0.9e-3, 1.1e-3, 1.9e-3)] + [
        {"v3": right["v3"] + d} for d in (0.0106, 0.0108)
    ]
    rows += [{}, {"v1": ...}, {"v1": None}, {"v9": 1.0}, *({"v1": odd} for odd in ODD)]
    outcomes = []
    for row in rows:
        given = {key: value for key, value in (right | row).items()}
        outcomes.append(table.notebook(given).passed)
        assert points(table, mine=given).full == outcomes[-1], row
    assert outcomes[:7] == [True, True, False, False, True, False, True] and not any(outcomes[7:])
    say = points(table, mine=right | {"v4": 0.5}).groups[0].say
    assert "The first wrong row is v4 = sin x2: 0.5 is not its value" in say and "0.95" not in say


def test_lesson_1_is_graded_as_its_notebook_checks():
    """The check in the notebook and the grader give equal points for equal work."""
    rules = EXERCISES["mul"]
    given = {
        "tangent_mul": lambda a, b, da, db: da * b + a * db,
        "adjoint_mul": lambda a, b, g: (g * a, g * b),
    }
    j = points(rules, **given)
    assert j.points == rules.notebook(*given.values()).points == 1
    assert "swapped" in j.misconception["say"]

    def overwrites(tape, adjoint):
        for name, operands in reversed(tape):
            for operand, local in operands:
                adjoint[operand] = adjoint[name] * local

    sweeps = EXERCISES["reverse_sweep"]
    j = points(sweeps, reverse_sweep=overwrites)
    assert j.points == sweeps.notebook(overwrites).points == 1
    assert j.misconception["name"] == "overwrites at fan-out"
    assert j.trace is not None


@pytest.mark.parametrize("form", ["function", "class", "tape", "nonsense"])
def test_what_a_kind_cannot_be_is_reported(form):
    if form == "nonsense":
        with pytest.raises(SheetError, match="form must be"):
            Backward("f", form=form)
    elif form == "tape":
        with pytest.raises(SheetError, match="tape"):
            Backward("f", form=form, arrays=True)
    else:
        with pytest.raises(SheetError, match="no operation on numbers"):
            Backward("f", form=form, ops=("add", "matmul"))


def test_ops_of_one_operand_only_cannot_share():
    with pytest.raises(SheetError, match="shared"):
        Backward("f", ops=("sin",)).cases(1)
    assert Backward("f", ops=("sin",), points={"single operations": 1}).cases(1)


def test_a_lessons_examples_are_drawn_and_not_stored():
    assert isinstance(Example("f", f).trace(), dict)
    one, two = Vjp("f", mg.sin).cases(1), Vjp("f", mg.sin).cases(2)
    assert not np.array_equal(one[0].args["x"], two[0].args["x"])


def test_the_engine_is_asked_once_for_each_rule_on_numbers(monkeypatch):
    """Judging takes half of the grader's time for a submission: it must not grow with the cases."""
    asked = []
    for name in ("pushed", "pulled"):
        by_engine = getattr(rules_on_numbers, name)
        monkeypatch.setattr(
            rules_on_numbers, name, lambda *args, f=by_engine: asked.append(f) or f(*args)
        )
    mul = EXERCISES["mul"]
    cases = mul.cases(np.random.default_rng(3))
    rules = {
        "tangent_mul": lambda a, b, da, db: da * b + a * db,
        "adjoint_mul": lambda a, b, g: (g * b, g * a),
    }
    returned = [Returned(rules[case.call](*case.args.values())) for case in cases]
    assert judge(mul, cases, returned).full and len(cases) > 20
    assert len(asked) == 2
