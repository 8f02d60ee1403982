"""The engine of the page writes the documents that minigrad writes: for random formulas and
programs, at kinks, ties and poles, in long chains; and it refuses what minigrad refuses, in the
same words.
"""

import math
import random

import numpy as np
import pytest
from minigrad.viz.explorer import bundle

import minigrad as mg
from minigrad import func
from minigrad.expression import FUNCTIONS, ExpressionError, compile
from tests.cli.test_formulas import REFUSED, WORDS
from tests.explorer.conftest import in_each
from tests.helpers.page_engine import EDGE, ULPS, by_minigrad, differences, ulps
from tests.helpers.random_formulas import cases


def compared(answers, given):
    """The answers to cases, each compared with minigrad's; how many of them are Traces."""
    found = answers(given)
    edges, wrong = 0, []
    for case, answer in zip(given, found, strict=True):
        different = differences(case, answer)
        edges += different == EDGE
        if different not in (None, EDGE):
            wrong.append(f"{case['text']!r} at {case['values']}, {case['mode']}: {different}")
    assert not wrong, f"{len(wrong)} of {len(given)} differ: {wrong[:3]}"
    assert edges <= len(given) // 250
    return sum("trace" in answer for answer in found)


@in_each
def test_random_formulas_and_programs_give_equal_traces(answers):
    assert compared(answers, cases(20, 100)) > 30


@pytest.mark.whole
def test_hundreds_of_random_formulas_and_programs_give_equal_traces(answers):
    assert compared(answers, cases(1, 300)) > 120


def at(text, mode="both", seeds=None, **values):
    return {"text": text, "values": values, "mode": mode, "seeds": seeds}


SPECIAL = [
    at("abs(x) + relu(x) + maximum(x, y) + minimum(x, y)", x=0.0, y=0.0),
    at("maximum(x, 0.5) - minimum(0.5, x)", x=0.5),
    at("x**y", x=0.0, y=2.0),
    at("x**0 + x**1 + x**2", x=0.0),
    at("x**1e17", x=-1.0),
    at("x**-300", x=-1.5),
    at("1/x", x=0.0),
    at("log(x)", x=-1.0),
    at("sqrt(x)", x=0.0),
    at("sqrt(x)", x=-4.0),
    at("(x - 1)**-0.5 + 2/(x - x)", "reverse", x=1.0),
    at("log(x) - log(x)", x=0.0),
    at("x**y", x=-2.0, y=0.5),
    at("asin(x) * sqrt(log(x))", x=2.0),
    at("x*y + exp(x)", x=1e300, y=1e300),
    at("acos(x)", x=1.0),
    at("exp(x)", x=1e4),
    at("tanh(x)*sigmoid(x) + softplus(x)", x=700.0),
    at("atan2(x, y)", x=0.0, y=0.0),
    at("x*1e308*10", x=1.0),
    at("(x - x)*1e-300*1e-20", x=3.0),
    at("-x + -0.0", x=0.0),
    at("x", x=2.0),
    at("x*x*x*x + x", x=2.0625),
    at("y = 3\nz = x\nz*y", x=2.0),
    at("x = 5\nfor i in range(3): x = x\nx + 0*y", y=1.0),
    at("t = x*x\nt = sin(x)\nt", x=2.0),
    at("for i in range(3):\n    for j in range(i):\n        x = x*y + j\nx", x=2.0, y=3.0),
    at(
        "if 0 < x <= 2 and not x == 1: y = x\nelif x > 5 or x < -5: y = 2*x\nelse: y = -x\ny*y",
        x=1.0,
    ),
    at("where(x > y, x, -x)*where(x <= 1, 2, y) + where(1 > 2, x, log(2))", x=1.0, y=1.0),
    at(
        "for i in range(3): x = where(i > 1, x, 2*x)\nwhere(x == 4, where(x > y, x*y, y), 1)",
        x=1.0,
        y=1.0,
    ),
    at("t = where(1 > 0, x, x*x)\nu = +(t*2)\nu*t", x=3.0),
    at("for i in range(2.5): x = x\nx", x=1.0),
    at("for i in range(10000): x = sin(x)\nx", x=1.0),
    at("if x > 3: t = x\nt", x=1.0),
    at("𝑥 + αβ*x", x=1.0, αβ=2.0),
    at("exp(x) + x*y", x=math.nan, y=2.0),
    at("exp(-x)*y + y/x", x=math.inf, y=-math.inf),
]


@in_each
def test_kinks_ties_poles_and_statements_give_equal_answers(answers):
    assert compared(answers, SPECIAL) == 35


@pytest.mark.whole
def test_long_chains_and_deep_formulas_give_equal_traces(answers):
    chain = at("for i in range(250): x = sin(x)*y + 0.1\nx", x=0.5, y=0.9)
    deep = at("sin(" * 150 + "x" + ")" * 150, x=0.5)
    assert compared(answers, [chain, deep]) == 2


@in_each
def test_each_function_agrees_within_the_stated_units_in_the_last_place(answers):
    """At sizes from 1e-8 to 300, of both signs, where the function has a finite value."""
    random_numbers = random.Random(11)

    def point():
        size = random_numbers.choice((1.0, 3.0, 10 ** random_numbers.uniform(-8, 2.5)))
        return random_numbers.uniform(-size, size)

    asked = []
    for name, function in FUNCTIONS.items():
        of = ["x", "y", "z"][: function.arity]
        points = [{one: point() for one in of} for _ in range(400)]
        asked.append({"text": function.call(name, of), "points": points})
    wrong = {}
    for function, case, numbers in zip(FUNCTIONS.values(), asked, answers(asked), strict=True):
        call, worst, compared = getattr(mg.functions, function.target), 0.0, 0
        for at, number in zip(case["points"], numbers, strict=True):
            first, *others = (mg.tensor(v, dtype=mg.float64) for v in at.values())
            with np.errstate(all="ignore"):
                wanted = float(call(first > 0 if function.chooses else first, *others))
            if number is not None and math.isfinite(wanted):  # JSON has null for what is not finite
                compared += 1
                worst = max(worst, ulps(number, wanted))
            else:
                assert number is None and not math.isfinite(wanted)
        assert compared > 40, case["text"]
        if worst > ULPS.get(function.target, 1):
            wrong[case["text"]] = worst
    assert not wrong


def test_the_derivative_as_a_program_has_the_value_and_the_slope_of_the_derivative(answers_of):
    """What the page makes its function when it differentiates again, run by minigrad."""
    r, asked = random.Random(3), []
    for case in cases(5, 150):
        case["values"] = {name: r.uniform(0.3, 1.8) for name in case["values"]}  # little cancels
        if "trace" in by_minigrad(case):
            asked.append({**case, "again": compile(case["text"]).names[0]})
    held = 0
    for case, answer in zip(asked, answers_of(bundle.joined("ways.js"), asked), strict=True):
        if answer["program"] is None:  # it has a number that is not finite
            continue
        f, again = compile(case["text"]), compile(answer["program"])
        slope = lambda g, at: func.grad(
            lambda *inputs: (0 * inputs[0] + g(*inputs)).sum(),
            argnums=g.names.index(at) if at in g.names else 0,
        )
        tensors = lambda g, case=case: [
            mg.tensor(float(case["values"][name]), dtype=mg.float64) for name in g.names
        ]
        name = case["again"]
        first = slope(f, name)
        second = func.grad(first, argnums=f.names.index(name))
        with np.errstate(all="ignore"):
            wanted = float(first(*tensors(f))), float(second(*tensors(f)))
            value = float(again(*tensors(again)))
            curve = float(slope(again, name)(*tensors(again))) if name in again.names else 0.0
        if not all(map(math.isfinite, wanted)) or max(map(abs, wanted)) > 1e8:
            continue
        held += 1
        assert math.isclose(value, wanted[0], rel_tol=1e-6, abs_tol=1e-9), (case, answer)
        assert math.isclose(curve, wanted[1], rel_tol=1e-5, abs_tol=1e-6), (case, answer)
    assert held > 60


def texts(seed, count):
    r = random.Random(seed)
    parts = ["x", "y", "=", "2", "+", "\n", "\n    ", "for i in range(3):", "if x > 1:", "else:"]
    parts += ["y = x", "; ", "(", ")", " ", "and", "<", "sin(", "+=", "range"]
    lists = [WORDS, parts]
    return [
        "".join(r.choice(r.choice(lists)) for _ in range(r.randint(1, 9))) for _ in range(count)
    ]


def refused_by_minigrad(text):
    try:
        compile(text)
    except ExpressionError as error:
        parts = error.problem, error.hint, error.text, error.column, error.width
        return dict(zip(("problem", "hint", "line", "column", "width"), parts, strict=True))
    return None


def test_texts_are_refused_in_the_words_of_the_command_line(answers):
    given = [row[0] for row in REFUSED if "\udc80" not in row[0]]
    found = answers([at(text, "primal", x=1.5, y=1.5) for text in given])
    assert [refused_by_minigrad(text) for text in given] == [one["refused"] for one in found]


@pytest.mark.whole
def test_nonsense_is_refused_where_minigrad_refuses_it_and_nearly_always_in_its_words(answers):
    given = texts(3, 2000)
    found = answers([at(text, "primal", x=1.5, y=1.5) for text in given])
    pairs = [
        (wanted, one["refused"])
        for text, one in zip(given, found, strict=True)
        if (wanted := refused_by_minigrad(text))
    ]
    assert len(pairs) > 1500
    # Python's parser has words of its own for some mistakes in brackets over several lines
    assert sum(a["problem"] == b["problem"] for a, b in pairs) > 0.98 * len(pairs)


def test_a_wrong_rule_is_seen(answers, monkeypatch):
    whole = bundle.engine()
    right = "({ mul, cos }, g, x) => mul(g, cos(x))"
    assert whole.count(right) == 1
    monkeypatch.setattr(bundle, "engine", lambda: whole.replace(right, right.replace("cos", "sin")))
    (answer,) = answers([at("sin(x)*y", x=2.0, y=3.0)])
    assert "'cos' and 'sin'" in (differences(at("sin(x)*y", x=2.0, y=3.0), answer) or "")


def test_a_wrong_number_is_seen(answers, monkeypatch):
    whole = bundle.engine()
    right = "forward: F.cosh,"
    assert whole.count(right) == 1
    wrong = whole.replace(right, "forward: (x) => F.cosh(x) * (1 + 1e-5),")
    monkeypatch.setattr(bundle, "engine", lambda: wrong)
    case = at("sinh(x)*y", x=2.0, y=3.0)
    (answer,) = answers([case])
    assert "should send" in (differences(case, answer) or "")
