"""The check in the notebook: at once, kind, never a traceback, never the answer to a question."""

import io
import math
import os
import re
import subprocess
import sys
import time
from contextlib import redirect_stdout
from pathlib import Path

import numpy as np
import pytest
from minigrad.lessons import grading
from minigrad.lessons.grading import check, hint, protocol
from minigrad.lessons.grading.checking import check_exercise
from minigrad.lessons.grading.exercise import Case, Exercise, Returned
from minigrad.lessons.grading.judge import judge
from minigrad.lessons.grading.kinds import Backward, Trains, Vjp
from minigrad.lessons.grading.local import run_cases
from minigrad.lessons.grading.words import in_four_digits

import minigrad as mg
from minigrad.trace import validate

VJP = Vjp("vjp_sin", mg.sin)
BACKWARD = Backward("gradients")


def right(x, g):
    return g * np.cos(x)


def test_right_work_is_told_what_was_checked_and_that_other_cases_count():
    feedback = check_exercise(VJP, [right])
    assert feedback.passed
    assert (feedback.points, feedback.possible) == (4.0, 4.0)
    text = str(feedback)
    assert "All 10 cases of this run agree" in text
    assert "Your submission is graded on other cases" in text
    assert "all tests passed" not in text.lower()
    assert "hint(" not in text


def test_points_for_each_group():
    feedback = check_exercise(VJP, [lambda x, g: g * np.cos(x) if x.ndim == 1 else g])
    assert feedback.points == 3.0
    assert "✗ shapes (0 of 1)" in str(feedback)
    assert "✓ values (2 of 2)" in str(feedback)


def test_the_likely_misconception_and_the_smallest_case():
    text = str(check_exercise(VJP, [lambda x, g: np.cos(x)]))
    assert "you left out `g`" in text
    assert re.search(r"smallest case that failed: `vjp_sin\(x=-?[\d.]+, g=-?[\d.]+\)` gave", text)


def test_no_two_runs_draw_the_same_cases():
    seen = []
    check_exercise(VJP, [lambda x, g: seen.append(x.tobytes()) or right(x, g)])
    first, seen = list(seen), []
    check_exercise(VJP, [lambda x, g: seen.append(x.tobytes()) or right(x, g)])
    assert len(set(first) & set(seen)) <= 1, "the empty array is always the same"


def asked(rows, *, practice=None, **options):
    """An exercise about a dictionary, of which each case asks for one row."""
    made = Exercise(
        "table",
        {"rows": 1},
        rows,
        is_value=True,
        practice=practice,
        verify=lambda case, got: got == 1,
        **options,
    )
    made.accept(made.verify)
    return made


def fixed(rng):
    yield from (Case("rows", row=row) for row in "ab")


def drawn(rng):
    yield from (Case("rows", row=float(rng.normal())) for _ in range(2))


def one(rng):
    yield Case("rows", row="a")


@pytest.mark.parametrize(
    ("exercise", "right", "wrong", "end"),
    [
        (
            asked(fixed),
            "All 2 cases agree.",
            "Checked here: 2 cases, the same on each run.",
            "graded on the same.",
        ),
        (
            asked(one),
            "It agrees.",
            "Checked here: 1 case, the same on each run.",
            "graded on the same.",
        ),
        (
            asked(drawn),
            "All 2 cases of this run agree.",
            "2 cases, redrawn on each run.",
            "graded on other cases of the same kinds.",
        ),
        (
            asked(drawn, practice=fixed),
            "All 2 cases agree.",
            "2 cases, the same on each run.",
            "graded on other cases of the same kinds.",
        ),
    ],
)
def test_it_says_that_cases_are_redrawn_only_where_they_are(exercise, right, wrong, end):
    for answer, say in ((1, right), (2, wrong)):
        text = str(check_exercise(exercise, [answer]))
        assert say in text
        assert text.endswith(f"Your submission is {end}")


def test_a_check_that_fails_on_an_odd_value_is_no_fault_of_the_course():
    exercise = asked(fixed)
    exercise.verify = lambda case, got: got["a"] > 0
    for odd in (3, {"a": "x"}, {}, [1]):
        text = str(check_exercise(exercise, [odd]))
        assert "cannot be judged (" in text
        assert "The check itself failed" not in text


def test_nbgrader_pays_nothing_for_a_check_that_could_not_be_made(monkeypatch):
    """For a cell whose output is no number it gives all points."""
    monkeypatch.setenv("NBGRADER_EXECUTION", "autograde")
    unverified = Exercise("secret", {"all": 1}, one, is_value=True)
    broken = asked(fixed, notebook=lambda *answers: 1 / 0)
    monkeypatch.setattr(grading, "known", lambda: {"broken": broken, "table": asked(fixed)})
    for feedback in (
        check_exercise(unverified, [1]),
        check("broken", 1),
        check("no such exercise", 1),
        check("table", ...),
    ):
        assert float(repr(feedback)) == 0.0
    assert float(repr(check("table", 1))) == 1.0
    assert "hint" in repr(hint("table")).lower()


def test_what_came_back_stands_beside_what_is_right_for_the_smallest_case():
    feedback = check_exercise(VJP, [lambda x, g: g], seed=5)
    diagnosis, head = feedback.lines[:2]
    assert diagnosis.kind == "note" and head.kind == "wrong"
    x, g, got, right_ = re.search(
        r"failed: `vjp_sin\(x=(\S+), g=(\S+)\)` gave (\S+); it should give (\S+)\.$", head.text
    ).groups()
    assert float(got) == float(g)
    assert float(right_) == pytest.approx(float(g) * math.cos(float(x)), rel=2e-3)
    shapes = next(line.text for line in feedback.lines if line.text.startswith("shapes"))
    assert (
        f"is {got}; it should be {right_}" in shapes
    )  # the group of that case speaks of the same case


@pytest.mark.parametrize(
    ("text", "brief"),
    [
        ("`f(x=0.0231198, y=2.22045e-16)` gave 12.3456", "`f(x=0.02312, y=2.22e-16)` gave 12.35"),
        ("-0.1234567 of 123456.7, 0.5 and 3.0", "-0.1235 of 123457, 0.5 and 3"),
        ("gave 1.00001; it should give 1.00002.", "gave 1.00001; it should give 1.00002."),
        ("version 1.23456.7 of v1.23456 at 123456", "version 1.23456.7 of v1.23456 at 123456"),
    ],
)
def test_a_check_writes_four_digits_where_they_tell_its_numbers_apart(text, brief):
    assert in_four_digits(text) == brief


def test_the_answer_to_a_question_is_not_in_the_feedback():
    asked = Exercise("n", {"n": 1}, lambda rng: [Case("n")], is_value=True)
    asked.answer(lambda: 123.5)
    assert "123.5" not in str(judge(asked, asked.cases(0), [Returned(7.25)]))
    hidden = Exercise(
        "f", {"a": 1, "b": 1}, lambda rng: [Case("a", x=1.0), Case("b", x=1.0)], hidden=("b",)
    )
    hidden.answer(lambda x: 123.5)
    told = judge(hidden, hidden.cases(0), [Returned(7.25)] * 2)
    assert ["123.5" in group.say for group in told.groups] == [True, False]


def test_no_answer_is_asked_for():
    """The answer's function may be missing altogether: that is how a sheet reaches a student."""
    exercise = Vjp("vjp_sin", mg.sin)
    exercise._answers.clear()
    assert not exercise.has_answer
    assert check_exercise(exercise, [right]).passed
    assert not check_exercise(exercise, [lambda x, g: g]).passed


@pytest.mark.parametrize("answers", [[], [None], [...], [lambda x, g: None], [lambda x, g: ...]])
def test_a_stub_is_not_started(answers):
    feedback = check_exercise(VJP, answers)
    assert feedback.status == "unfinished"
    assert "○ not started" in feedback.head
    assert "hint('vjp_sin'" in str(feedback)
    assert "Traceback" not in str(feedback)


class Loud:
    def __repr__(self):
        raise RuntimeError("no")

    __array__ = None


def raises(x, g):
    raise ValueError("<img src=x onerror=alert(1)>")


ODD = [
    raises,
    lambda x: x,
    lambda x, g: Loud(),
    lambda x, g: "text",
    lambda x, g: [x, g],
    lambda x, g: np.ma.array(x),
    lambda x, g: x.astype(object),
    lambda x, g: x * 1j,
    lambda x, g: np.full(x.shape, np.nan),
    lambda x, g: x.resize(9) or x,
    lambda x, g: sys.exit(),
    lambda x, g: x.__setitem__(slice(None), 0) or g,
    3.0,
    "vjp_sin",
    int,
    type,
]


@pytest.mark.parametrize("answer", ODD, ids=range(len(ODD)))
def test_every_answer_gets_a_sentence(answer):
    feedback = check_exercise(VJP, [answer])
    assert not feedback.passed
    assert feedback.lines
    html = feedback._repr_html_()
    assert "<img" not in html
    assert "Traceback" not in html


def test_a_function_that_changes_its_arguments_is_not_right_and_does_not_change_the_cases():
    def spoils(x, g):
        result = g * np.cos(x)
        x *= 0
        g *= 0
        return result

    cases = VJP.cases(1)
    before = [case.sent for case in VJP.cases(1)]
    returned = run_cases(VJP, cases, {VJP.name: spoils}, 60)
    assert {"changed"} <= {back.kind for back in returned} <= {"", "changed"}  # "": empty arrays
    assert [protocol.text(protocol.encode_all(case.args.values())) for case in cases] == before
    assert "changed its argument `x` in place" in str(check_exercise(VJP, [spoils]))


def test_a_loop_is_stopped_with_a_message(monkeypatch):
    monkeypatch.setattr("minigrad.lessons.grading.checking.SECONDS", 0.4)

    def loops(x, g):
        while True:
            pass

    start = time.monotonic()
    feedback = check_exercise(VJP, [loops])
    assert time.monotonic() - start < 30
    assert "took too long, so it was stopped" in str(feedback)
    assert feedback.status == "trouble"


def test_what_it_prints_is_kept_apart(capsys):
    feedback = check_exercise(VJP, [lambda x, g: print("hello <b>") or right(x, g)])
    assert capsys.readouterr().out == ""
    assert "hello" in feedback.printed
    assert "<b>" not in feedback._repr_html_()


# ------------------------------------------------------------------------------------------- graphs


def gradients(inputs, rows, add=True):
    ops = {
        "add": lambda a, b: a + b,
        "sub": lambda a, b: a - b,
        "mul": lambda a, b: a * b,
        "div": lambda a, b: a / b,
        "neg": lambda a: -a,
    }
    ops |= {"square": lambda a: a * a} | {
        n: getattr(math, n) for n in ("sin", "cos", "exp", "log", "tanh")
    }
    partials = {
        "add": lambda a, b: (1, 1), "sub": lambda a, b: (1, -1), "mul": lambda a, b: (b, a),
        "div": lambda a, b: (1 / b, -a / b**2),
        "neg": lambda a: (-1,), "square": lambda a: (2 * a,), "sin": lambda a: (math.cos(a),),
        "cos": lambda a: (-math.sin(a),),
        "exp": lambda a: (math.exp(a),), "log": lambda a: (1 / a,),
        "tanh": lambda a: (1 - math.tanh(a) ** 2,),
    }  # fmt: skip
    value = dict(inputs)
    for name, op, operands in rows:
        value[name] = ops[op](*(value[o] for o in operands))
    bar = dict.fromkeys(value, 0.0) | {rows[-1][0]: 1.0}
    for name, op, operands in reversed(rows):
        for o, p in zip(operands, partials[op](*(value[o] for o in operands)), strict=True):
            bar[o] = bar[name] * p + (bar[o] if add else 0)
    return bar


def test_three_hundred_random_graphs_at_once():
    start = time.monotonic()
    feedback = check_exercise(BACKWARD, [gradients])
    assert time.monotonic() - start < 10, (
        "instant, on a machine that is not busy: a fifth of a second"
    )
    assert feedback.passed
    assert "random graphs (2 of 2): all 300 cases agree" in str(feedback)


def test_the_smallest_failing_graph_the_first_wrong_node_and_the_mistake():
    feedback = check_exercise(BACKWARD, [lambda inputs, rows: gradients(inputs, rows, add=False)])
    text = str(feedback)
    assert "The smallest case that failed: `v1 = x1 + x1" in text
    assert "The first wrong node is x1." in text
    assert "only one of several contributions" in text
    validate(feedback.trace)
    step = feedback.trace["steps"][feedback.step - 1]
    assert (step["node"], step["writes"][0][1]) == ("x1", "g")
    html = feedback._repr_html_()
    assert html.count("<iframe") == 1
    assert html.count("<details") >= 3, "a ladder of hints, opened by hand"
    assert "<details open><summary>Hint" not in html


def test_under_nbgrader_the_text_is_the_points(monkeypatch):
    feedback = check_exercise(BACKWARD, [lambda inputs, rows: gradients(inputs, rows, add=False)])
    monkeypatch.setenv("NBGRADER_EXECUTION", "autograde")
    assert float(repr(feedback)) == 1.0


def test_a_training_gets_the_time_that_its_exercise_gives(monkeypatch):
    monkeypatch.setattr("minigrad.lessons.grading.checking.SECONDS", 0.2)
    exercise = Trains(
        "train",
        lambda rng: {"x": rng.normal(size=3)},
        lambda w, x: float(((w - x) ** 2).sum()),
        bar=1e-6,
        limit_s=20,
    )
    feedback = check_exercise(exercise, [lambda x: time.sleep(0.15) or x])
    assert feedback.passed, "two runs of 0.15 seconds: more than what other checks have here"


def test_a_notebook_gives_twice_the_processor_time_of_grading(monkeypatch):
    """Its clock runs on while a busy machine does something else."""
    given = []
    monkeypatch.setattr("minigrad.lessons.grading.checking.SECONDS", 3.0)
    monkeypatch.setattr(
        "minigrad.lessons.grading.checking.run_cases", lambda *a: given.append(a[-1]) or []
    )
    monkeypatch.setattr("minigrad.lessons.grading.checking.judge_here", lambda *a: None)
    monkeypatch.setattr("minigrad.lessons.grading.checking.feedback_of", lambda *a: None)
    for limit in (12.0, 1.0):
        exercise = Exercise("slow", {"a": 1}, lambda rng: iter([Case("a", x=1)]), limit_s=limit)
        exercise.verify = lambda case, got: None
        check_exercise(exercise, [lambda x: x])
    assert given == [24.0, 3.0]


# ------------------------------------------------------------------------------------ verification


def test_an_exercise_that_cannot_verify_itself_says_so():
    exercise = Exercise("secret", {"a": 1}, lambda rng: iter([Case("a", x=1)]))
    exercise.answer(lambda x: 42)
    feedback = check_exercise(exercise, [lambda x: 41])
    assert "cannot be checked without its answers" in str(feedback)
    assert "42" not in str(feedback) + feedback._repr_html_()


SHEET = """
import minigrad as mg
from minigrad.lessons.grading.kinds import Vjp
vjp_cos = Vjp("vjp_cos", mg.cos, hints=("Look at the sign.",))
"""


def test_a_sheet_beside_the_notebook_is_found_by_name_and_reread_when_it_changes(
    tmp_path, monkeypatch
):
    (tmp_path / "sheet.py").write_text(SHEET)
    monkeypatch.chdir(tmp_path)
    assert check("vjp_cos", lambda x, g: -g * np.sin(x)).passed
    assert not check("vjp_cos", right).passed
    assert "Look at the sign." in str(hint("vjp_cos", 1))
    assert "Did you mean `vjp_cos`?" in str(check("vjp_coss", right))
    (tmp_path / "sheet.py").write_text(SHEET.replace("vjp_cos", "vjp_kos"))
    os.utime(tmp_path / "sheet.py", (1, 1))
    assert check("vjp_kos", lambda x, g: -g * np.sin(x)).passed


def test_a_sheet_that_cannot_be_read_is_not_the_students_fault(tmp_path, monkeypatch):
    (tmp_path / "sheet.py").write_text("import nowhere_to_be_found")
    monkeypatch.chdir(tmp_path)
    assert "That is not your fault" in str(check("vjp_cos", right))


def test_check_is_a_function_whatever_was_imported_before():
    program = (
        "import minigrad.lessons.grading.checking, minigrad.lessons.grading.sheet\n"
        "from minigrad.lessons import grading\n"
        "assert callable(grading.check) and callable(grading.predict)"
    )
    subprocess.run(
        [sys.executable, "-c", program],
        check=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert callable(grading.check)


def test_nothing_is_printed_by_a_check():
    out = io.StringIO()
    with redirect_stdout(out):
        check_exercise(BACKWARD, [gradients])
    assert out.getvalue() == ""


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: check("Softplus"), '`check("Softplus", Softplus)`'),
        (lambda: check("sin", math.sin), '`check("sin", tangent_sin, adjoint_sin)`'),
        (
            lambda: check("best_step", math.sqrt),
            '`check("best_step", best_step, best_central_step)`',
        ),
        (lambda: grading.predict("digits"), '`predict("digits", digits_at_best)`'),
    ],
)
def test_who_gives_a_name_without_the_answer_is_told_how_to_give_it(call, said):
    feedback = call()
    assert (
        feedback.status == "unfinished"
        and "The answer is to be given too" in str(feedback)
        and said in str(feedback)
    )
    assert not feedback.points and "No such exercise" not in str(feedback)


CELLS = """
from IPython.core.interactiveshell import InteractiveShell

shell = InteractiveShell.instance()
run = lambda cell: shell.run_cell(cell, store_history=True).result
run("from minigrad.lessons.grading import check")
for cell in CHANGES:
    run(cell)
    print(str(run('check("vjp_cos", vjp_cos)')).replace("\\n", " ")[:400])
    print("-----")
"""
CHANGES = [
    "def vjp_cos(x, g):\n    return g",
    "def vjp_cos(x, g):\n    return g * (1",
    "# something else (",
    "%time y = 1\nawait_ = 3",
    "vjp_cos = lambda x, g: g *",
    "def vjp_cos(x, g):\n    return 2 * g",
]


def test_after_a_syntax_error_the_former_function_is_not_checked(tmp_path):
    """The student read that an answer is wrong which was no longer in the notebook."""
    (tmp_path / "sheet.py").write_text(SHEET, encoding="utf-8")
    (tmp_path / "cells.py").write_text(f"CHANGES = {CHANGES!r}\n{CELLS}", encoding="utf-8")
    root = str(Path(grading.__file__).parents[2])
    env = {**os.environ, "IPYTHONDIR": str(tmp_path), "PYTHONPATH": root}
    run = subprocess.run(
        [sys.executable, "cells.py"], capture_output=True, text=True, env=env, cwd=tmp_path
    )
    assert run.returncode == 0, run.stderr
    said = [one for one in run.stdout.split("-----\n") if "vjp_cos" in one]
    wrong = ["did not run" in one for one in said]
    assert wrong == [False, True, True, True, True, False], run.stdout
    assert "`vjp_cos` did not run: SyntaxError in line 2, '(' was never closed." in said[1]
    assert "earlier run" in said[1] and "SyntaxError in line 1" in said[4]
