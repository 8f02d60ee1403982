"""The text tables: numbers, symbols, alignment."""

# ruff: noqa: E501  (tables stand one row a line)

import unicodedata

import numpy as np
import pytest

import minigrad as mg
from minigrad.trace import table
from minigrad.trace.text import label, number, text_of
from minigrad.watch import trace_function


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"), (0.0, "0"), (-0.0, "0"), (1.0, "1"), (-2.5, "−2.5"), (0.123456, "0.1235"), (123456.7, "123457"), (1234567.0, "1.235e+06"), (1e-9, "1e−09"),
        (True, "True"), (False, "False"), ("nan", "NaN"), ("inf", "∞"), ("-inf", "−∞"),
        ({"re": 1.0, "im": 2.0}, "1+2i"), ({"re": 1.0, "im": -2.0}, "1−2i"), ({"re": 0.0, "im": -0.0}, "0+0i"), ({"re": "nan", "im": "-inf"}, "NaN−∞i"),
        ({"shape": [3], "dtype": "float64", "sample": [1.0, "nan", -3.0]}, "[1, NaN, −3]"),
        ({"shape": [2, 3], "dtype": "float64", "sample": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]}, "[1, 2, 3, 4, …] 2×3"),
        ({"shape": [0, 3], "dtype": "float64", "sample": []}, "[] 0×3"),
        ({"shape": [1], "dtype": "complex128", "sample": [{"re": 0.5, "im": 0.25}]}, "[0.5+0.25i]"),
    ],
)  # fmt: skip
def test_numbers(value, text):
    assert number(value) == text


def test_formulas():
    sym = lambda base, sub=None, accent=None: (
        {"t": "sym", "base": base} | ({"sub": sub} if sub else {}) | ({"accent": accent} if accent else {})
    )
    op = lambda text: {"t": "op", "text": text}
    assert text_of([sym("x", "1", "dot"), op("="), {"t": "num", "value": -1.5}]) == "x\u0307" + "1 = −1.5"
    assert text_of([{"t": "fn", "text": "ln"}, sym("x")]) == "ln x"
    assert text_of([{"t": "frac", "num": [op("∂"), sym("v", "2")], "den": [op("∂"), sym("v", "1")]}]) == "∂v2/∂v1"
    assert text_of([{"t": "sup", "base": [sym("x")], "exp": [{"t": "num", "value": 2}]}]) == "x^2"
    assert text_of([{"t": "sqrt", "of": [sym("x"), op("+"), sym("y")]}]) == "√(x + y)"
    assert text_of([{"t": "fn", "text": "sum"}, op("("), sym("x"), op(","), {"t": "text", "text": "axes 0"}, op(")")]) == "sum(x, axes 0)"
    assert text_of([sym("x", "1", "bar"), op("+="), sym("v", "1", "bar")]) == "x\u03041 += v\u03041"


def width(text):
    return sum(not unicodedata.combining(c) for c in text)


@pytest.mark.parametrize(
    ("f", "args"),
    [
        (lambda x1, x2: mg.log(x1) + x1 * x2 - mg.sin(x2), (2.0, 5.0)),
        (lambda a_very_long_argument_name, b: a_very_long_argument_name * b, (2.0, -5.0)),
        (lambda x: (x * x).sum(), (np.arange(30.0).reshape(5, 6),)),
        (lambda z: (z * z.conj()).real.sum(), (np.array([1 + 2j, -1 - 1e-5j]),)),
    ],
)
def test_columns_stand_under_one_another(f, args):
    text = table(trace_function(f, *args))
    blocks = [b.splitlines() for b in text.split("\n\n")]
    assert [b[0] for b in blocks][1:] == ["evaluation trace and forward mode", "reverse mode"]
    for block in blocks[1:]:
        rule = block[2]
        ends = [i for i in range(1, len(rule) + 1) if rule[i - 1] == "─" and (i == len(rule) or rule[i] == " ")]
        for line in block[3:]:
            assert width(line) <= len(rule)
            plain = "".join(c for c in line if not unicodedata.combining(c)).ljust(len(rule))
            for end in ends[:-1]:
                assert plain[end : end + 2] == "  ", f"a cell crosses its column: {line!r}"


def test_what_was_not_computed_is_blank():
    text = table(trace_function(lambda x, y: mg.log(x) * 2 + mg.tensor([3.0]), 1.0, 5.0, mode="forward"))
    constant = next(line for line in text.splitlines() if line.split()[:2] == ["c1", "const"])
    assert constant.split() == ["c1", "const", "[3]"]
    assert "reverse mode" not in text


def test_the_table_at_a_step():
    trace = trace_function(lambda x: mg.sin(x) * x, 1.0)
    assert "0.8415" not in table(trace, 2) and "0.8415" in table(trace, 3)
    assert table(trace, 0).count("input") == 1
    with pytest.raises(IndexError, match=rf"steps 0 to {len(trace['steps'])}"):
        table(trace, len(trace["steps"]) + 1)
    with pytest.raises(IndexError):
        table(trace, -1)


def test_labels_and_indices():
    assert label({"label": {"base": "v", "sub": "3", "sup": "'"}}) == "v3'"
    trace = trace_function(lambda x: x[1] * x[-1] + x[0:2].sum() + x[mg.tensor([0, 0])].sum() + x[..., None][2, 0], [1.0, 2.0, 3.0])
    text = table(trace)
    for shown in ("x[1]", "x[-1]", "x[0:2]", "x[indices 2]", "x[…, None]"):
        assert shown in text
