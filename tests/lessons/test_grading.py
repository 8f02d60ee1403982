"""The checks of the exercises: right work is right in every style, and each classic mistake is
found, placed and named.
"""

import math
import random
from collections import defaultdict

import pytest
from minigrad.lessons.exercises.lesson02 import EXERCISES, PRODUCT, QUOTIENT, F, f
from minigrad.lessons.grading import check, hint, predict
from minigrad.lessons.grading.graphs import linear_right, of_tape
from minigrad.lessons.grading.kinds.answers import Prediction
from minigrad.lessons.grading.kinds.sweep import random_tape
from minigrad.lessons.grading.student_trace import (
    Example,
    first_wrong_step,
    tape_of,
    with_rules,
    with_sweep,
)

from minigrad.trace import check_laws, first_divergence, state_at, validate

cos, sin = math.cos, math.sin

RIGHT = {
    "sin": (lambda a, da: cos(a) * da, lambda a, g: g * cos(a)),
    "mul": (lambda a, b, da, db: da * b + a * db, lambda a, b, g: (g * b, g * a)),
    "div": (lambda a, b, da, db: da / b - a * db / b**2, lambda a, b, g: (g / b, -g * a / b**2)),
}


def judged(name, *rules):
    return EXERCISES[name].notebook(*rules, rng=random.Random(1))


# --------------------------------------------------------------------------------------- right work


@pytest.mark.parametrize("name", RIGHT)
def test_right_rules_get_all_points(name):
    feedback = check(name, *RIGHT[name])
    assert feedback.passed
    assert feedback.points == feedback.possible == 2
    assert feedback.trace is None
    assert "hint" not in str(feedback)


STYLES = {
    "numpy": (
        lambda a, da: __import__("numpy").cos(a) * da,
        lambda a, g: __import__("numpy").float32(cos(a)) * g,
    ),
    "a pair of one": (lambda a, da: cos(a) * da, lambda a, g: (g * cos(a),)),
    "another formula": (
        lambda a, da: sin(a + math.pi / 2) * da,
        lambda a, g: [(1 - 2 * sin(a / 2) ** 2) * g],
    ),
}


@pytest.mark.parametrize("style", STYLES)
def test_right_rules_in_another_style(style):
    assert check("sin", *STYLES[style]).passed


def test_a_list_is_as_good_as_a_tuple():
    assert check("mul", RIGHT["mul"][0], lambda a, b, g: [b * g, a * g]).passed


def test_random_cases_differ_from_run_to_run_and_contain_the_small_ones():
    exercise = EXERCISES["mul"].notebook.__self__
    one, two = exercise.trials(random.Random(1), 20), exercise.trials(random.Random(2), 20)
    assert one != two
    assert one == exercise.trials(random.Random(1), 20)
    assert set(one) & set(two)


# --------------------------------------------------------------------------------- classic mistakes

TANGENT = {
    "sin": {
        "forgot the chain rule's factor": lambda a, da: cos(a),
        "sign is reversed": lambda a, da: -cos(a) * da,
        "value instead of its derivative": lambda a, da: sin(a) * da,
        "applied the operation to `da`": lambda a, da: sin(da),
        "passes unchanged": lambda a, da: da,
        "derivative at the result": lambda a, da: cos(sin(a)) * da,
        "derivative at the tangent": lambda a, da: cos(da) * da,
        "added the tangent": lambda a, da: cos(a) + da,
    },
    "mul": {
        "forgot the chain rule's factor": lambda a, b, da, db: a + b,
        "sign is reversed": lambda a, b, da, db: -(da * b + a * db),
        "operands are swapped": lambda a, b, da, db: da * a + b * db,
        "applied the operation to": lambda a, b, da, db: da * db,
        "term with `db` is missing": lambda a, b, da, db: da * b,
        "term with `da` is missing": lambda a, b, da, db: a * db,
        "sign of the term with `db`": lambda a, b, da, db: da * b - a * db,
        "value instead of its derivative": lambda a, b, da, db: a * b * (da + db),
        "multiplied the two contributions": lambda a, b, da, db: da * b * a * db,
        "passes unchanged": lambda a, b, da, db: da + db,
    },
    "div": {
        "sign of the term with `db`": lambda a, b, da, db: da / b + a * db / b**2,
        "the part of `b` has a factor `b` too many": lambda a, b, da, db: da / b - a * db / b,
        "the part of `b` has the wrong sign and a factor `b`": lambda a, b, da, db: (
            da / b + a * db / b
        ),
        "term with `db` is missing": lambda a, b, da, db: da / b,
    },
}

ADJOINT = {
    "sin": {
        "left out the adjoint `g`": lambda a, g: cos(a),
        "sign is reversed": lambda a, g: -g * cos(a),
        "value instead of its derivative": lambda a, g: g * sin(a),
        "`g` passes unchanged": lambda a, g: g,
        "added `g`": lambda a, g: g + cos(a),
        "applied the operation to `g`": lambda a, g: sin(g),
        "derivative at the result": lambda a, g: g * cos(sin(a)),
        "derivative at `g`": lambda a, g: cos(g),
    },
    "mul": {
        "left out the adjoint `g`": lambda a, b, g: (b, a),
        "operands are swapped": lambda a, b, g: (g * a, g * b),
        "value instead of its derivative": lambda a, b, g: (g * a * b, g * a * b),
        "`b` gets nothing": lambda a, b, g: (g * b, 0),
        "`a` gets nothing": lambda a, b, g: (0, g * a),
        "both inputs the same sum": lambda a, b, g: (g * (a + b), g * (a + b)),
        "sign of the part of `b`": lambda a, b, g: (g * b, -g * a),
        "left out `g` in the second part": lambda a, b, g: (g * b, a),
        "left out `g` in the first part": lambda a, b, g: (b, g * a),
        "`g` passes unchanged": lambda a, b, g: (g, g),
    },
    "div": {
        "sign of the part of `b`": lambda a, b, g: (g / b, g * a / b**2),
        "the part of `b` has a factor `b` too many": lambda a, b, g: (g / b, -g * a / b),
        "the part of `b` lacks a factor `a`": lambda a, b, g: (g / b, -g / b**2),
        "operands are swapped": lambda a, b, g: (-g * a / b**2, g / b),
        "left out the adjoint `g`": lambda a, b, g: (1 / b, -a / b**2),
    },
}


def classic(table):
    """Three mistakes of each operation are tried in every run, the others in the whole suite."""
    return [
        pytest.param(
            *(name, say, rule),
            id=f"{name}: {say}",
            marks=[pytest.mark.whole] if number > 2 else [],
        )
        for name, mistakes in table.items()
        for number, (say, rule) in enumerate(mistakes.items())
    ]


def assert_first_wrong_step(feedback, op):
    """The Trace shown is the student's, valid; the step shown is wrong and made by the
    operation; all steps before it are right.
    """
    trace, step = validate(feedback.trace), feedback.trace["steps"][feedback.step - 1]
    example = next(
        e for e in (F, PRODUCT, QUOTIENT) if trace["title"].startswith(e.formula + " at")
    )
    reference = example.trace(tangents=[trace["seed"]["tangents"][x] for x in ("x1", "x2")])
    assert first_divergence(reference, trace) is not None
    assert state_at(reference, feedback.step - 1).cells == state_at(trace, feedback.step - 1).cells
    assert state_at(reference, feedback.step).cells != state_at(trace, feedback.step).cells
    ops = {n["id"]: n.get("op") for n in trace["nodes"]}
    edges = {e["id"]: e for e in trace["edges"]}
    at_fault = step["node"] if step["phase"] == "tangent" else edges[step["edges"][0]]["dst"]
    assert ops[at_fault] == op
    assert f"The operation at fault is {at_fault} = " in str(feedback)


@pytest.mark.parametrize(("name", "say", "rule"), classic(TANGENT))
def test_a_wrong_tangent_rule_is_found_placed_and_named(name, say, rule):
    feedback = judged(name, rule, RIGHT[name][1])
    assert (feedback.status, feedback.points) == ("wrong", 1)
    assert say in str(feedback)
    assert "✓ adjoint rule" in str(feedback)
    assert_first_wrong_step(feedback, name)
    assert feedback.trace["steps"][feedback.step - 1]["phase"] == "tangent"


@pytest.mark.parametrize(("name", "say", "rule"), classic(ADJOINT))
def test_a_wrong_adjoint_rule_is_found_placed_and_named(name, say, rule):
    feedback = judged(name, RIGHT[name][0], rule)
    assert (feedback.status, feedback.points) == ("wrong", 1)
    assert say in str(feedback)
    assert "✓ tangent rule" in str(feedback)
    assert_first_wrong_step(feedback, name)
    assert feedback.trace["steps"][feedback.step - 1]["phase"] in ("adjoint", "accumulate")


def test_one_percent_is_a_mistake():
    feedback = judged(
        "mul",
        *(lambda r: (lambda *a: 1.01 * r[0](*a), lambda *a: tuple(1.01 * x for x in r[1](*a))))(
            RIGHT["mul"]
        ),
    )
    assert feedback.points == 0
    assert "share one mistake" in str(feedback), "the identity holds, and is not taken for a proof"


def test_an_unknown_mistake_is_not_given_a_name():
    feedback = judged("sin", lambda a, da: cos(a) * da + 0.125, RIGHT["sin"][1])
    assert not feedback.passed
    assert "It looks as if" not in str(feedback)
    assert feedback.trace is not None


def test_the_smallest_failing_case_is_shown():
    assert (
        "`tangent_mul(a=1, b=2, da=1, db=0)` returned 1, but a central difference says 2."
        in str(judged("mul", lambda a, b, da, db: a * da + b * db, RIGHT["mul"][1]))
    )


def test_a_rule_that_is_wrong_only_where_f_does_not_go_is_placed_on_another_example():
    """In f the product's adjoint is 1, so a rule that forgets it goes unnoticed there."""
    feedback = judged("mul", RIGHT["mul"][0], lambda a, b, g: (b, a))
    assert feedback.trace["title"].startswith(PRODUCT.formula)


def test_a_rule_that_knows_the_lessons_numbers_by_heart_fails():
    feedback = judged(
        "sin", lambda a, da: 0.28366218546322625 * da, lambda a, g: 0.28366218546322625 * g
    )
    assert feedback.points == 0


@pytest.mark.parametrize("wrong", [math.nan, math.inf, -math.inf])
def test_nan_and_infinity_are_wrong_and_can_be_shown(wrong):
    feedback = judged("sin", lambda a, da: wrong, lambda a, g: wrong)
    assert feedback.points == 0
    assert_first_wrong_step(feedback, "sin")
    assert "minigrad.pair/1" in feedback._repr_html_(), "beside the right Trace, as one graph"


def test_one_rule_done_is_worth_its_half():
    feedback = judged("sin", RIGHT["sin"][0], lambda a, g: ...)
    assert (feedback.points, feedback.status) == (1, "wrong")
    assert "○ adjoint rule: Not finished" in str(feedback)


# ---------------------------------------------------------------------------------- student's Trace


@pytest.mark.parametrize(
    "example",
    [F, PRODUCT, QUOTIENT, Example("x1 · x1", lambda x1: x1 * x1, (3.0,))],
    ids=lambda e: e.formula,
)
@pytest.mark.parametrize("name", RIGHT)
def test_right_rules_reproduce_the_engines_trace(example, name):
    reference = example.trace()
    tangent, adjoint = RIGHT[name]
    theirs = with_rules(
        reference, name, tangent, (lambda a, g: (adjoint(a, g),)) if name == "sin" else adjoint
    )
    assert theirs["steps"] == reference["steps"]
    assert check_laws(theirs) == []


def test_each_operand_of_a_square_gets_its_own_part():
    reference = Example("x1 · x1", lambda x1: x1 * x1, (3.0,)).trace()
    theirs = with_rules(reference, "mul", None, lambda a, b, g: (g * b, (0.0)))
    assert state_at(theirs, len(theirs["steps"])).cells["x1", "g"] == 3.0
    step = theirs["steps"][first_wrong_step(reference, theirs)]
    assert step["phase"] == "accumulate"
    assert step["contribs"][0]["product"] == 0.0


def test_a_wrong_rule_spoils_all_that_comes_after_it():
    reference = F.trace()
    theirs = with_rules(reference, "mul", lambda a, b, da, db: 7.0, None)
    cells = state_at(theirs, len(theirs["steps"])).cells
    assert (cells["v2", "d"], cells["v3", "d"], cells["v5", "d"]) == (7.0, 7.5, 7.5)
    assert cells["v4", "d"] == 0.0
    assert check_laws(theirs) != []


# ------------------------------------------------------------------------------------------- sweeps


def sweep(tape, adjoint):
    for name, operands in reversed(tape):
        for operand, local in operands:
            adjoint[operand] += adjoint[name] * local


def sweep_with_get(tape, adjoint):
    for name, operands in tape[::-1]:
        g = adjoint.get(name, 0.0)
        for operand, local in operands:
            adjoint.update({operand: adjoint.setdefault(operand, 0.0) + g * local})
    return adjoint


def sweep_by_recursion(tape, adjoint):
    users = defaultdict(list)
    for name, operands in tape:
        for operand, local in operands:
            users[operand].append((name, local))

    def bar(name):
        return sum(bar(user) * local for user, local in users[name]) if users[name] else 1.0

    for name in list(adjoint):
        adjoint[name] = bar(name)


@pytest.mark.parametrize("right", [sweep, sweep_with_get, sweep_by_recursion])
def test_right_sweeps_get_all_points(right):
    feedback = check("reverse_sweep", right)
    assert feedback.passed, str(feedback)
    assert feedback.points == 4


def overwrites(tape, adjoint):
    for name, operands in reversed(tape):
        for operand, local in operands:
            adjoint[operand] = adjoint[name] * local


def wrong_order(tape, adjoint):
    for name, operands in tape:
        for operand, local in operands:
            adjoint[operand] += adjoint[name] * local


def forgets_upstream(tape, adjoint):
    for _, operands in reversed(tape):
        for operand, local in operands:
            adjoint[operand] += local


def forgets_local(tape, adjoint):
    for name, operands in reversed(tape):
        for operand, _ in operands:
            adjoint[operand] += adjoint[name]


def wrong_sign(tape, adjoint):
    for name, operands in reversed(tape):
        for operand, local in operands:
            adjoint[operand] -= adjoint[name] * local


def counts_twice(tape, adjoint):
    for name, operands in reversed(tape):
        for operand, local in operands:
            adjoint[operand] += adjoint[name] * local
            adjoint[operand] += adjoint[name] * local


def loses_the_seed(tape, adjoint):
    adjoint[tape[-1][0]] = 0.0
    sweep(tape, adjoint)


def first_operand_only(tape, adjoint):
    for name, operands in reversed(tape):
        operand, local = operands[0]
        adjoint[operand] += adjoint[name] * local


def adds(tape, adjoint):
    for name, operands in reversed(tape):
        for operand, local in operands:
            adjoint[operand] += adjoint[name] + local


SWEEPS = {
    overwrites: ("only one of several contributions", "x2"),
    wrong_order: ("goes from first to last", "x2"),
    forgets_upstream: ("the operation's own adjoint is left out", "x2"),
    forgets_local: ("leave out the local derivative", "v4"),
    wrong_sign: ("all signs are reversed", "v3"),
    counts_twice: ("counted twice", "v3"),
    loses_the_seed: ("the output's adjoint is 0 at the start", "v5"),
    first_operand_only: ("only the first operand", "v4"),
    adds: ("they are multiplied", "v3"),
}


@pytest.mark.parametrize(
    "wrong",
    [
        pytest.param(wrong, id=wrong.__name__, marks=[pytest.mark.whole] if number > 2 else [])
        for number, wrong in enumerate(SWEEPS)
    ],
)
def test_a_wrong_sweep_is_found_placed_and_named(wrong):
    say, node = SWEEPS[wrong]
    feedback = EXERCISES["reverse_sweep"].notebook(wrong, rng=random.Random(3))
    assert feedback.status == "wrong"
    assert feedback.points <= 2, "what the graph does not show costs nothing, but the rest does"
    assert say in str(feedback)
    trace = validate(feedback.trace)
    reference = F.trace(mode="reverse")
    assert first_divergence(reference, trace).node in str(feedback)
    if wrong not in (wrong_order, forgets_upstream):
        assert f"the first wrong node is {node} " in str(feedback)
    shown = state_at(trace, feedback.step).cells
    right = state_at(reference, len(reference["steps"])).cells
    where = first_divergence(reference, trace).node
    assert shown.get((where, "g")) != pytest.approx(right[where, "g"])
    assert "minigrad.pair/1" in feedback._repr_html_(), "beside the right Trace, as one graph"


def test_the_smallest_failing_graph_of_an_overwriting_sweep_is_x_plus_x():
    feedback = EXERCISES["reverse_sweep"].notebook(overwrites, rng=random.Random(3))
    assert "`tape = [('v1', [('x1', 1.0), ('x1', 1.0)])]`" in str(feedback)
    assert "the adjoint of x1 should be 2, but is 1." in str(feedback)


def test_the_sweeps_writes_light_the_edges_they_came_along():
    feedback = EXERCISES["reverse_sweep"].notebook(overwrites, rng=random.Random(3))
    steps = [s for s in feedback.trace["steps"] if s["phase"] in ("adjoint", "accumulate")]
    assert sorted(e for s in steps for e in s["edges"]) == sorted(
        e["id"] for e in feedback.trace["edges"]
    )


def test_forward_mode_judges_as_the_engine_does():
    for example in (F, PRODUCT, QUOTIENT):
        reference = example.trace(mode="reverse")
        cells = state_at(reference, len(reference["steps"])).cells
        judged_ = linear_right(of_tape(tape_of(reference)))
        assert judged_ == pytest.approx({n["id"]: cells[n["id"], "g"] for n in reference["nodes"]})


def test_random_tapes_are_in_order_and_their_output_feels_every_node():
    for seed in range(100):
        tape = random_tape(random.Random(seed))
        known = {"x1", "x2"}
        used = set()
        for name, operands in tape:
            assert {o for o, _ in operands} <= known
            used |= {o for o, _ in operands}
            known.add(name)
        assert known - used == {tape[-1][0]}


def test_writes_that_end_right_show_no_divergence():
    reference = F.trace(mode="reverse")
    right = linear_right(of_tape(tape_of(reference)))
    theirs = with_sweep(reference, [(n, x, None) for n, x in right.items()])
    assert first_divergence(reference, theirs) is None


# ------------------------------------------------------------------------------------------ answers


TABLE = {
    "x1": 2.0,
    "x2": 5.0,
    "v1": math.log(2),
    "v2": 10,
    "v3": 10 + math.log(2),
    "v4": sin(5),
    "v5": 10 + math.log(2) - sin(5),
}


def test_a_right_table():
    assert check("trace", TABLE).passed
    assert check("trace", {k: float(f"{v:.4g}") for k, v in TABLE.items()}).passed, (
        "four digits are enough"
    )


@pytest.mark.parametrize("row", ["v1", "v2", "v3", "v4", "v5"])
def test_the_first_wrong_row_is_named_and_shown(row):
    feedback = check("trace", TABLE | {row: 0.25, "v5": 0.125})
    assert f"the first wrong row is {row} = " in str(feedback)
    assert feedback.trace["steps"][feedback.step - 1]["node"] == row
    validate(feedback.trace)


@pytest.mark.parametrize(("row", "secret"), [("v1", "0.6931"), ("v4", "0.9589"), ("v5", "11.65")])
def test_a_wrong_table_does_not_give_the_right_value_away(row, secret):
    table = {
        "x1": 2.0,
        "x2": 5.0,
        "v1": 0.6931,
        "v2": 10.0,
        "v3": 10.6931,
        "v4": -0.9589,
        "v5": 11.652,
    }
    html = check("trace", table | {row: 0.25})._repr_html_()
    assert "0.25" in html
    assert secret not in html.replace("10.6931", "")


@pytest.mark.parametrize("row", ["v1", "v3", "v5"])
def test_the_next_row_to_fill_in_is_named(row):
    feedback = check("trace", TABLE | {row: ...})
    assert not feedback.passed
    assert f"the next row to fill in is {row} = " in str(feedback)


@pytest.mark.parametrize(
    ("table", "say"),
    [
        ({}, "Not started"),
        ([1, 2], "dictionary"),
        (TABLE | {"v6": 1}, "'v6'"),
        (TABLE | {"v1": "a"}, "Row v1 is the text 'a'"),
    ],
)
def test_tables_of_another_kind(table, say):
    feedback = check("trace", table)
    assert not feedback.passed
    assert say in str(feedback)


QUESTIONS = [e.notebook.__self__ for e in EXERCISES.values() if e.notebook]
PREDICTIONS = [q for q in QUESTIONS if isinstance(q, Prediction)]


@pytest.mark.parametrize("question", PREDICTIONS, ids=lambda q: q.name)
class TestPredictions:
    def test_the_answer_is_right(self, question):
        feedback = predict(question.name, question.answer())
        assert feedback.passed
        assert question.because in str(feedback)
        assert predict(question.name, round(question.answer(), 3)).passed

    def test_each_slip_is_recognised(self, question):
        for say, value in question.slips:
            feedback = predict(question.name, value())
            assert not feedback.passed
            assert say in str(feedback)

    def test_another_number_is_wrong_without_a_diagnosis_and_without_the_answer(self, question):
        feedback = predict(question.name, 123.456)
        assert not feedback.passed
        assert f"Begin here: {question.hints[0]}" in str(feedback)
        assert question.because not in str(feedback)
        assert question.because not in feedback._repr_html_()

    @pytest.mark.parametrize(
        ("value", "say"),
        [
            (..., "in place of `...`"),
            (None, "in place"),
            ("5.5", "is the text '5.5'"),
            (1 + 2j, "is the complex number (1+2j)"),
            (True, "is the truth value True"),
            (10**400, "float"),
        ],
    )
    def test_what_is_no_number(self, question, value, say):
        feedback = predict(question.name, value)
        assert not feedback.passed
        assert say in str(feedback)


def test_the_answers_are_the_documents_numbers():
    answers = {q.name: q.answer() for q in PREDICTIONS}
    assert answers == pytest.approx(
        {"forward-v4": 0, "forward-y": 1.7163378, "reverse-v4": -1, "reverse-count": 2, "passes": 1}
    )


def test_the_lessons_function_is_the_one_in_the_notebook():
    import minigrad as mg

    assert f(
        mg.tensor(2.0, dtype=mg.float64), mg.tensor(5.0, dtype=mg.float64)
    ).item() == pytest.approx(11.652071455223084)


# -------------------------------------------------------------------------------------------- hints


@pytest.mark.parametrize("name", EXERCISES)
def test_hints_come_one_at_a_time(name):
    hints = EXERCISES[name].hints
    assert hints
    assert all(h not in str(hint(name, 0)) for h in hints)
    for n in range(1, len(hints) + 1):
        shown = str(hint(name, n))
        assert [h in shown for h in hints] == [i < n for i in range(len(hints))]
        assert hint(name, n)._repr_html_().count("<details open>") == n
    assert str(hint(name, 99)).count("hint ") == len(hints)


@pytest.mark.parametrize("name", EXERCISES)
def test_unfinished_work_gives_no_hint_unasked(name):
    feedback = check(name)
    assert feedback.status == "unfinished"
    assert all(h not in str(feedback) for h in EXERCISES[name].hints)
    assert "<details open>" not in feedback._repr_html_()
