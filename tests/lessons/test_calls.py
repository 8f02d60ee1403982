"""Whatever a student's function does, the check answers with a sentence and the notebook goes
on.
"""

import math
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from minigrad.lessons.exercises import lesson02
from minigrad.lessons.grading import Feedback, calls, check, hint, predict
from minigrad.lessons.grading.feedback import Line

RIGHT = (lambda a, da: math.cos(a) * da, lambda a, g: g * math.cos(a))


@pytest.fixture
def quick(monkeypatch):
    monkeypatch.setattr(calls, "SECONDS", 0.1)


class Lying:
    def __float__(self):
        return 1.0

    def __repr__(self):
        raise RuntimeError("no repr")


class Bad(Exception):
    def __str__(self):
        raise RuntimeError("no str")


def raises(error):
    def rule(a, da):
        raise error

    return rule


def deep(a, da):
    return deep(a, da)


ODD = {
    "ellipsis": (lambda a, da: ..., "○ tangent rule: Not finished"),
    "none": (lambda a, da: None, "○ tangent rule: Not finished"),
    "not implemented": (raises(NotImplementedError()), "○ tangent rule: Not finished"),
    "text": (
        lambda a, da: "1.0",
        "returned the text '1.0'; it should be a plain number (leave out the quotes)",
    ),
    "complex": (lambda a, da: 1j, "returned the complex number 1j"),
    "true": (lambda a, da: True, "returned the truth value True"),
    "pair": (lambda a, da: (1.0, 2.0), "returned the tuple (1, 2)"),
    "array": (lambda a, da: __import__("numpy").array(1.0), "take `.item()` of it"),
    "tensor": (
        lambda a, da: __import__("minigrad").tensor(1.0),
        "returned a tensor of shape (); it should be a plain number (take `.item()` of it)",
    ),
    "tensor of two": (
        lambda a, da: __import__("minigrad").ones(2),
        "returned a tensor of shape (2,); it should be a plain number.",
    ),
    "huge integer": (lambda a, da: 10**400, "does not become a float (OverflowError)"),
    "liar": (lambda a, da: Lying(), "returned an object of the type Lying"),
    "function": (lambda a, da: math.cos, "returned the function "),
    "generator": (lambda a, da: (x for x in [1.0]), "returned an object of the type generator"),
    "division by zero": (
        lambda a, da: 1 / 0,
        "raised ZeroDivisionError: division by zero, in line",
    ),
    "unknown name": (
        lambda a, da: cosine(a) * da,  # noqa: F821
        "raised NameError: name 'cosine' is not defined, in line",
    ),
    "in the library": (lambda a, da: math.sqrt(-1.0), "raised ValueError"),
    "without words": (raises(Bad()), "raised Bad"),
    "exit": (lambda a, da: sys.exit(3), "raised SystemExit: 3"),
    "recursion": (deep, "raised RecursionError"),
    "too few parameters": (lambda a: 1.0, "raised TypeError"),
    "memory": (lambda a, da: [0] * 10**15, "raised MemoryError"),
    "number instead of a function": (3.0, "should be a function, but it is the number 3"),
    "class": (int, "tangent rule"),
}


@pytest.mark.parametrize("name", ODD)
def test_an_odd_rule_gets_a_sentence_and_the_other_rule_its_point(name):
    rule, say = ODD[name]
    feedback = check("sin", rule, RIGHT[1])
    assert say in str(feedback)
    assert (feedback.points, feedback.passed) == (1, False)
    assert "check itself failed" not in str(feedback)
    assert "<div" in feedback._repr_html_()


@pytest.mark.parametrize(
    ("result", "say"),
    [
        (1.0, "should return 2 numbers, one for each input, but returned the number 1"),
        ((1.0,), "should return 2 numbers, one for each input, but returned 1"),
        ((1.0, 2.0, 3.0), "but returned 3"),
        ((1.0, "b"), "as number 2, the text"),
        ((1.0, ...), "Not finished"),
        ({"a": 1.0, "b": 2.0}, "but returned the dictionary {'a': 1, 'b': 2}"),
    ],
)
def test_an_adjoint_rule_must_return_a_pair(result, say):
    feedback = check("mul", lambda a, b, da, db: da * b + a * db, lambda a, b, g: result)
    assert say in str(feedback)
    assert feedback.points == 1


def test_the_students_own_line_is_shown_and_none_of_ours():
    code = compile(
        "def rule(a, da):\n    b = a - a\n    return da / b  # here\n", "<a cell>", "exec"
    )
    scope = {}
    exec(code, scope)
    import linecache

    linecache.cache["<a cell>"] = (
        1,
        None,
        ["def rule(a, da):\n", "    b = a - a\n", "    return da / b  # here\n"],
        "<a cell>",
    )
    text = str(check("sin", scope["rule"], RIGHT[1]))
    assert "in line 3 of its cell: `return da / b  # here`" in text
    assert "calls.py" not in text
    assert "Traceback" not in text


def test_a_rule_that_fails_in_one_case_only_is_shown_that_case():
    assert "`adjoint_sin(a=2, g=" in str(
        check("sin", RIGHT[0], lambda a, g: g * math.cos(a) / (0.0 if a == 2.0 else 1.0))
    )


ODD_SWEEPS = {
    "nothing": (lambda tape, adjoint: None, "○ Not started"),
    "a placeholder": (lambda tape, adjoint: adjoint.update(x1=...), "○ Not finished"),
    "text": (lambda tape, adjoint: adjoint.update(x1="1"), "the text '1'"),
    "another node": (lambda tape, adjoint: adjoint.update(y=1.0), "'y', which is not a node"),
    "a node that is no name": (
        lambda tape, adjoint: adjoint.update({("a", 1): 1.0}),
        "which is not a node",
    ),
    "unhashable": (lambda tape, adjoint: adjoint.__setitem__([], 1.0), "raised TypeError"),
    "unknown node": (lambda tape, adjoint: adjoint["z9"], "raised KeyError: 'z9'"),
    "not a function": ({}, "should be a function"),
    "nan": (lambda tape, adjoint: adjoint.update(x1=math.nan), "but is NaN"),
    "empties its arguments": (
        lambda tape, adjoint: tape.clear() or adjoint.clear(),
        "`reverse_sweep` changed its argument `tape` in place",
    ),
}


@pytest.mark.parametrize("name", ODD_SWEEPS)
def test_an_odd_sweep_gets_a_sentence(name):
    sweep, say = ODD_SWEEPS[name]
    feedback = check("reverse_sweep", sweep)
    assert say in str(feedback)
    assert not feedback.passed
    assert "check itself failed" not in str(feedback)


def test_a_sweep_must_not_change_the_tape_and_cannot_change_that_of_the_next_one():
    def sweep(tape, adjoint):
        for name, operands in reversed(tape):
            for operand, local in operands:
                adjoint[operand] += adjoint[name] * local

    def destroys(tape, adjoint):
        sweep(tape, adjoint)
        for _, operands in tape:
            operands.clear()

    assert "changed its argument `tape` in place" in str(check("reverse_sweep", destroys))
    assert check("reverse_sweep", sweep).passed


# --------------------------------------------------------------------------------------- time limit


def spins(a, da):
    while True:
        pass


def spins_and_catches(a, da):
    while True:
        try:  # noqa: SIM105
            a = a + 1
        except Exception:
            pass


def swallowing(seconds):
    def loop(a, da):
        while True:
            try:  # noqa: SIM105
                time.sleep(seconds)
            except:  # noqa: E722
                pass

    loop.__name__ = f"swallows_{seconds}"  # names its tests
    return loop


swallows, swallows_soon = swallowing(10), swallowing(0.2)


def swallows_in_a_helper(a, da):
    def nap():
        try:
            time.sleep(10)
        except BaseException:
            return 1

    while True:
        nap()


def sleeps(a, da):
    time.sleep(60)


def writes_for_ever(tape, adjoint):
    while True:
        adjoint["x1"] += 1.0


class Slow:
    """An object whose destructor takes longer than a check may."""

    def __del__(self):
        end = time.monotonic() + 0.6
        while time.monotonic() < end:
            pass


def spins_in_a_destructor(a, da):
    while True:
        Slow()


NO_ALARM = [spins, spins_and_catches, swallows_soon, spins_in_a_destructor]
LONG_SLEEPS = [swallows, swallows_in_a_helper, sleeps]
"""Only a signal to the thread that sleeps ends these: an alarm, or SIGINT on Windows."""


@pytest.mark.parametrize(
    "loop", NO_ALARM + [pytest.param(loop, marks=pytest.mark.unix) for loop in LONG_SLEEPS]
)
def test_a_loop_is_stopped_with_a_message(quick, loop):
    start = time.monotonic()
    feedback = check("sin", loop, RIGHT[1])
    assert time.monotonic() - start < 30
    assert "`tangent_sin(a=0, da=1)` took too long, so it was stopped" in str(feedback)
    assert feedback.points == 1, "the other rule is judged all the same"


@pytest.mark.parametrize("loop", NO_ALARM)
def test_a_loop_is_stopped_where_there_is_no_alarm(quick, loop, monkeypatch):
    monkeypatch.delattr(signal, "setitimer", raising=False)
    before = signal.getsignal(signal.SIGINT)
    test_a_loop_is_stopped_with_a_message(None, loop)
    assert signal.getsignal(signal.SIGINT) is before


def test_where_there_is_no_alarm_an_interrupt_of_the_user_s_stays_one(monkeypatch):
    monkeypatch.delattr(signal, "setitimer", raising=False)
    of_the_run = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            calls.run_limited(signal.raise_signal, (signal.SIGINT,), 5.0)
        assert calls.run_limited(lambda: 3, (), 5.0) == 3
    finally:
        signal.signal(signal.SIGINT, of_the_run)


@pytest.mark.parametrize("loop", [spins, spins_and_catches, spins_in_a_destructor])
def test_a_loop_is_stopped_outside_the_main_thread(quick, loop):
    found = []
    start = time.monotonic()
    thread = threading.Thread(target=lambda: found.append(check("sin", loop, RIGHT[1])))
    thread.start()
    thread.join(20)
    assert time.monotonic() - start < 30
    assert "took too long" in str(found[0])
    assert found[0].points == 1


def test_functions_can_be_traced_afterwards():
    """An interruption that is cleared in the wrong way leaves CPython's signal up, and then
    debuggers and coverage hang.
    """
    program = (
        "import sys, threading\nfrom minigrad.lessons.grading import calls\ndef loop():\n    while"
        " True:\n        try: 1\n        except Exception: pass\ndef run():\n    try:"
        " calls.run_limited(loop, (), 0.2)\n    except calls.TimeUp: print('stopped')\nthread ="
        " threading.Thread(target=run); thread.start(); thread.join()\ndef outer(a):\n    return"
        " [lambda: a for _ in range(3)]\nsys.settrace(lambda *event: None); outer(1);"
        " sys.settrace(None); print('traced')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        timeout=60,
        cwd=Path(__file__).resolve().parents[2],
    )
    assert done.stdout.split() == ["stopped", "traced"], done.stderr


def test_right_work_is_right_outside_the_main_thread():
    found = []
    thread = threading.Thread(target=lambda: found.append(check("sin", *RIGHT)))
    thread.start()
    thread.join(20)
    assert found[0].passed


def test_slow_calls_share_one_allowance(quick):
    def slow(a, da):
        time.sleep(0.5)
        return math.cos(a) * da

    start = time.monotonic()
    assert "took too long" in str(check("sin", slow, RIGHT[1]))
    assert time.monotonic() - start < 9, "36 calls would take 18 seconds"


def test_a_sweep_that_writes_for_ever_is_stopped_before_memory_is_full():
    start = time.monotonic()
    feedback = check("reverse_sweep", writes_for_ever)
    assert "took too long" in str(feedback)
    assert time.monotonic() - start < calls.SECONDS


@pytest.mark.unix
def test_nothing_of_the_time_limit_stays_behind(quick):
    handler, trace = signal.getsignal(signal.SIGALRM), sys.gettrace()
    unraisable = sys.unraisablehook
    for loop in (swallows, spins, spins_in_a_destructor):
        check("sin", loop, RIGHT[1])
    assert signal.getsignal(signal.SIGALRM) is handler
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
    assert sys.gettrace() is trace
    assert sys.unraisablehook is unraisable
    time.sleep(0.25)  # an alarm that was left behind would end the test here


def test_an_interrupt_by_the_student_is_theirs():
    def interrupted(a, da):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        check("sin", interrupted, RIGHT[1])


# -------------------------------------------------------------------------------------------- faces


def test_what_a_rule_prints_is_kept_short_and_apart(capsys):
    def talks(a, da):
        print("<script>alert(1)</script>", a)
        return math.cos(a) * da

    feedback = check("sin", talks, RIGHT[1])
    assert feedback.passed
    assert capsys.readouterr().out == ""
    assert "Your code printed" in str(feedback)
    assert len(feedback.printed) <= calls.KEPT_OUTPUT
    assert "<script>alert" not in feedback._repr_html_()
    assert "&lt;script&gt;alert" in feedback._repr_html_()


def test_the_students_text_is_escaped_everywhere():
    feedback = check(
        "sin", raises(ValueError("<img src=x onerror=alert(1)>")), lambda a, g: "<b>x</b>"
    )
    html = feedback._repr_html_()
    assert "<img" not in html
    assert "<b>x" not in html


def test_under_nbgrader_the_text_is_the_points(monkeypatch):
    right, half, question = (
        check("sin", *RIGHT),
        check("sin", RIGHT[0], None),
        predict("reverse-v4", -1),
    )
    assert str(right) == repr(right)
    monkeypatch.setenv("NBGRADER_EXECUTION", "autograde")
    assert [float(repr(x)) for x in (right, half, question)] == [2.0, 1.0, 1.0]
    assert "Exercise 1 · The sine" in str(right)
    assert "Hints for sin" in repr(hint("sin"))


def test_without_the_viewer_the_feedback_is_still_there():
    program = (
        "import sys, math; sys.modules['minigrad.viz'] = None\nfrom minigrad.lessons.grading import"
        " check\nfeedback = check('sin', lambda a, da: -math.cos(a) * da, None)\nhtml ="
        " feedback._repr_html_()\nassert feedback.trace is not None and 'sign is reversed' in"
        " html and 'iframe' not in html"
    )
    subprocess.run(
        [sys.executable, "-c", program],
        check=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )


def test_with_the_viewer_the_frame_stands_at_the_first_wrong_step():
    feedback = check("sin", lambda a, da: -math.cos(a) * da, RIGHT[1])
    html = feedback._repr_html_()
    assert html.count("<iframe") == 1
    assert f"&quot;step&quot;:{feedback.step}" in html


@pytest.mark.parametrize(
    ("name", "say"),
    [
        ("sine", "Did you mean `sin`?"),
        ("xyz", "name stands in the check cell"),
        (None, "no exercise None"),
        (["sin"], "no exercise"),
    ],
)
def test_an_unknown_exercise(name, say):
    for function in (check, predict, hint):
        assert say in str(function(name, 1))


def test_a_fault_of_the_check_itself_is_not_blamed_on_the_student(monkeypatch):
    monkeypatch.setattr(lesson02.EXERCISES["sin"], "notebook", lambda *answer: 1 / 0)
    feedback = check("sin", 1, 2)
    assert (
        "The check itself failed (ZeroDivisionError: division by zero). That is not your fault"
        in str(feedback)
    )


def test_too_many_or_too_few_answers_do_not_raise():
    for name in lesson02.EXERCISES:
        assert isinstance(check(name), Feedback)
        assert isinstance(check(name, 1, 2, 3, 4), Feedback)


def test_marks_do_not_rest_on_colour_alone():
    for status, sign in (("right", "✓"), ("wrong", "✗"), ("unfinished", "○"), ("trouble", "!")):
        html = Feedback("t", status, lines=[Line(status, "x")])._repr_html_()
        assert html.count(sign) == 2


def test_what_other_programs_take_does_not_count():
    """A clock that runs four times as slowly as time passes stands for a busy machine."""
    used = calls.spending(lambda: time.monotonic() / 4)
    time.sleep(0.2)
    assert 0.2 * calls.WAITING <= used() < 0.2
    used = calls.spending()
    end = time.thread_time() + 0.2
    while time.thread_time() < end:
        pass
    assert used() >= 0.2
