"""Lesson 23: its exercises judge as they should, and its three ways agree where it says so."""

import ast
from pathlib import Path

import pytest
from minigrad.lessons.exercises.drive23 import Traced
from minigrad.lessons.exercises.lesson23 import AT, EXERCISES, frozen, oven, programs_after
from minigrad.lessons.grading import check

from .sheet_tests import SheetTests
from .wrong import program_answers

LESSON = Path(__file__).resolve().parents[2] / "lessons" / "23_how_the_others_do_it.ipynb"


class TestSheet(SheetTests):
    lesson, exercises = LESSON, EXERCISES


FORMS = {
    "traced": """
def traced(op, forward):
    def apply(a, *more):
        result = Traced(f"row {len(a.program)}", forward(a.value, *[b.value for b in more]), 0)
        result.program = a.program
        a.program += [[result.name, op, [a.name, *[b.name for b in more]]]]
        return result
    return apply
""",
    "pull_rows": """
def pull_rows(program, values, g, pulls):
    sent = {program[-1][0]: [g]}
    adjoint = {}
    for name, op, operands in program[::-1]:
        if name not in sent:
            continue
        for o, part in zip(operands, pulls[op](total(sent[name]), *[values[o] for o in operands])):
            sent.setdefault(o, []).append(part)
    return {name: total(parts) for name, parts in sent.items()}

def total(parts):
    first, *more = parts
    for part in more:
        first = first + part
    return first
""",
    "rows_of": """
class Reader(ast.NodeVisitor):
    def __init__(self, named):
        self.named, self.rows = named, []
    def visit_Name(self, node):
        return node.id
    def row(self, node, *operands):
        self.rows.append([f"t{len(self.rows)}", self.named[type(node.op).__name__], operands])
        return self.rows[-1][0]
    def visit_BinOp(self, node):
        right, left = self.visit(node.right), self.visit(node.left)
        return self.row(node, left, right)
    def visit_UnaryOp(self, node):
        return self.row(node, self.visit(node.operand))

def rows_of(text, named):
    reader = Reader(named)
    reader.visit(ast.parse(text, mode="eval").body)
    return reader.rows
""",
    "oven_reverse": """
def oven_reverse(power, loss, limit, steps):
    if steps == 0:
        return power, 1.0, 0.0
    states, hot = [power], []
    for _ in range(steps):
        t = states[-1] * (1 - loss)
        hot.append(t < limit)
        states.append(t + hot[-1] * power)
    p = l = 0.0
    a = 1.0
    for before, heated in zip(states[-2::-1], hot[::-1]):
        p, l, a = p + heated * a, l - a * before, a * (1 - loss)
    return states[-1], p + a, l
""",
}


@pytest.mark.parametrize("name", FORMS)
def test_answers_in_the_lessons_form_and_in_another_pass(name):
    own = {"oven_reverse": program_answers.REVERSE}.get(name) or getattr(
        program_answers, name.upper()
    )
    for source in (own, FORMS[name]):
        scope = {"ast": ast, "Traced": Traced}
        exec(source, scope)
        feedback = check(name, scope[name])
        assert feedback.passed, str(feedback)


def test_a_frozen_program_agrees_where_it_was_recorded_and_not_at_power_two():
    decisions = oven(*AT)[1]
    assert frozen(decisions, *AT[:2]) == pytest.approx(oven(*AT)[0])
    assert abs(frozen(decisions, 2.0, 0.1) - oven(2.0, 0.1, 5.0)[0]) > 1


def test_each_whole_number_gets_a_program_of_its_own():
    assert programs_after((2, 3)) == 2
    assert programs_after((2, 2, 2)) == 1


@pytest.mark.whole
def test_tape_and_source_agree_everywhere_and_the_trace_where_it_was_recorded(scope):
    tape, trace, source = (scope[f"by_{way}"] for way in ("tape", "trace", "source"))
    assert tape(*AT) == pytest.approx(list(trace(*AT)))
    assert tape(*AT) == pytest.approx(list(source(*AT)))
    elsewhere = (2.0, *AT[1:])
    assert tape(*elsewhere) == pytest.approx(list(source(*elsewhere)))
    assert all(abs(a - b) > 0.5 for a, b in zip(tape(*elsewhere), trace(*elsewhere), strict=True))
    assert len(scope["program"]) == 10
