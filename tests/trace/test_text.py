"""The text tables: numbers, symbols, alignment."""

import unicodedata

import numpy as np
import pytest

import minigrad as mg
from minigrad.trace import table
from minigrad.trace.text import accented, honest, label, number, text_of
from minigrad.watch import trace_function


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"), (0.0, "0"), (-0.0, "0"), (1.0, "1"), (-2.5, "−2.5"), (0.123456, "0.1235"),
        (123456.7, "123457"), (1234567.0, "1.235e6"), (1e-9, "1e−9"),
        (1000.5, "1000.5"), (0.03125, "0.03125"), (1234.625, "1234.63"), (10.125, "10.13"),
        (-20005e5, "−2.001e9"), (9999.995, "10000"), (999999.5, "1e6"), (9.99996e-5, "0.0001"),
        (np.float64(0.1), "0.1"),
        (True, "True"), (False, "False"), ("nan", "NaN"), ("inf", "∞"), ("-inf", "−∞"),
        ({"re": 1.0, "im": 2.0}, "1+2i"), ({"re": 1.0, "im": -2.0}, "1−2i"),
        ({"re": 0.0, "im": -0.0}, "0+0i"), ({"re": "nan", "im": "-inf"}, "NaN−∞i"),
        ({"shape": [3], "dtype": "float64", "sample": [1.0, "nan", -3.0]}, "[1, NaN, −3]"),
        ({"shape": [2, 3], "dtype": "float64", "sample": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]},
            "[[1, 2, 3], [4, 5, 6]]"),
        ({"shape": [9], "dtype": "float64", "sample": [*range(9)]}, "[0, 1, 2, …] (9,)"),
        ({"shape": [9], "sample": [0] * 9, "chosen": {"at": [1, 2, 7], "sample": [1, 2, 3]}},
            "[…, 1, 2, …, 3, …] (9,)"),
        ({"shape": [0, 3], "dtype": "float64", "sample": []}, "[] (0, 3)"),
        ({"shape": [1], "dtype": "complex128", "sample": [{"re": 0.5, "im": 0.25}]}, "[0.5+0.25i]"),
    ],
)  # fmt: skip
def test_numbers_are_written_in_a_few_digits(value, text):
    assert number(value) == text


E = float(np.e)
SUMS = [
    ([E + 1, "+", E, "=", 2 * E + 1], "3.718 + 2.718 ≈ 6.437"),
    ([2, "·", E, "=", 2 * E, "→", E, "+", 2 * E, "=", 3 * E],
        "2 · 2.718 ≈ 5.437 → 2.718 + 5.437 = 8.155"),
    ([0.1, "+", 0.2, "=", 0.1 + 0.2], "0.1 + 0.2 = 0.3"),
    ([10.0, "+", float(np.log(2)), "=", 10 + float(np.log(2))], "10 + 0.6931 = 10.69"),
    (["(", "−", 1.0, ")", "·", 1 / 3, "=", -1 / 3], "(−1) · 0.3333 = −0.3333"),
    ([2.0, "·", 1 / 3, "=", 2 / 3, "=", 2 / 3], "2 · 0.3333 ≈ 0.6667 = 0.6667"),
    ([1 / 3e5, "·", "(", -2.0, ")", "=", -2 / 3e5], "3.333e−6 · (−2) ≈ −6.667e−6"),
    ([1.0, "/", 0.0, "=", 1.0], "1 / 0 = 1"),
    ([1e300, "·", 1e300, "=", 1.0], "1e300 · 1e300 = 1"),
    ([E, "+", "nan", "=", 1.0], "2.718 + NaN = 1"),
    ([True, "+", 1.0, "=", 5.0], "True + 1 = 5"),
    ([{"shape": [1], "dtype": "float64", "sample": [1.0]}, "+", 1.0, "=", 5.0], "[1] + 1 = 5"),
    ([E, "=", 2.0], "2.718 = 2"),
]  # fmt: skip
"""Sides of formulas and what is shown of them."""


def tokens_of(side):
    return [
        {"t": "op", "text": one}
        if isinstance(one, str) and one != "nan"
        else {"t": "num", "value": one}
        for one in side
    ]


@pytest.mark.parametrize(("side", "text"), SUMS)
def test_where_rounded_numbers_do_not_give_the_result_shown_they_are_about_equal(side, text):
    made = text_of(honest(tokens_of(side)))
    assert made.replace(" / ", "/") == text.replace(" / ", "/")


def test_the_table_has_no_false_sums():
    found = table(trace_function(lambda x: mg.exp(x) * (x + 1), 1.0, mode="reverse"))
    assert "2 · 2.718 ≈ 5.437 → 2.718 + 5.437 = 8.155" in found


def test_formulas_are_written_as_plain_text():
    sym = lambda base, sub=None, accent=None: (
        {"t": "sym", "base": base}
        | ({"sub": sub} if sub else {})
        | ({"accent": accent} if accent else {})
    )
    op = lambda text: {"t": "op", "text": text}
    assert (
        text_of([sym("x", "1", "dot"), op("="), {"t": "num", "value": -1.5}])
        == "x\u0307" + "1 = −1.5"
    )
    assert text_of([{"t": "fn", "text": "ln"}, sym("x")]) == "ln x"
    assert (
        text_of([{"t": "frac", "num": [op("∂"), sym("v", "2")], "den": [op("∂"), sym("v", "1")]}])
        == "∂v2/∂v1"
    )
    assert text_of([{"t": "sup", "base": [sym("x")], "exp": [{"t": "num", "value": 2}]}]) == "x²"
    assert text_of([{"t": "sqrt", "of": [sym("x"), op("+"), sym("y")]}]) == "√(x + y)"
    assert (
        text_of(
            [
                {"t": "fn", "text": "sum"},
                op("("),
                sym("x"),
                op(","),
                {"t": "text", "text": "axis 0"},
                op(")"),
            ]
        )
        == "sum(x, axis 0)"
    )
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
    text = table(trace_function(f, *args, mode="both"))
    blocks = [b.splitlines() for b in text.split("\n\n")]
    heads = [b[0] for b in blocks[1:3]]
    assert heads == ["evaluation trace and forward mode", "reverse mode"]
    for block in blocks[1:3]:
        rule = block[2]
        ends = [
            i
            for i in range(1, len(rule) + 1)
            if rule[i - 1] == "─" and (i == len(rule) or rule[i] == " ")
        ]
        for line in block[3:]:
            assert width(line) <= len(rule)
            plain = "".join(c for c in line if not unicodedata.combining(c)).ljust(len(rule))
            for end in ends[:-1]:
                assert plain[end : end + 2] == "  ", f"a cell crosses its column: {line!r}"


def test_a_cast_of_a_plain_number_is_explained():
    weight = mg.tensor([0.5, 2.0])
    wide = mg.tensor(2.0, dtype=mg.float64)
    made = table(trace_function(lambda x: weight * x + wide, 2.0, mode="forward"))
    assert "cast(x, float32)" in made and "a plain number as input is float64, unless all" in made


def test_what_was_not_computed_is_blank():
    text = table(
        trace_function(lambda x, y: mg.log(x) * 2 + mg.tensor([3.0]), 1.0, 5.0, mode="forward")
    )
    constant = next(line for line in text.splitlines() if line.split()[:2] == ["c1", "const"])
    assert constant.split() == ["c1", "const", "[3]"]
    assert "reverse mode" not in text


def test_each_tangent_stands_beside_its_rule():
    def f(x, y):
        return (mg.sin(x) ** 2 * y).amax(1).sum()

    trace = trace_function(f, np.ones((2, 3)), 2.0, mode="forward")
    rows = [line.split("  ") for line in table(trace).splitlines()]
    said = {row[1]: [cell.strip() for cell in row if cell] for row in rows if len(row) > 3}
    assert said["node"][:3] == ["node", "is", "tangent is"]
    shown = {name: cells[2] for name, cells in said.items() if name in ("v1", "v2", "v3", "v4")}
    hit = "v3 = unsqueeze(v4, axis 1)"
    assert shown == {
        "v1": "x\u0307 · cos x",
        "v2": "v\u03071 · 2 · v1",
        "v3": "v\u03072 · y + y\u0307 · v2",
        "v4": f"sum(v\u03073 · ({hit}), axis 1) / sum({hit}, axis 1)",
    }
    assert "tangent is" not in table(trace, 2), "no tangent is computed yet"


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
    trace = trace_function(
        lambda x: x[1] * x[-1] + x[0:2].sum() + x[mg.tensor([0, 0])].sum() + x[..., None][2, 0],
        [1.0, 2.0, 3.0],
    )
    text = table(trace)
    for shown in ("x[1]", "x[-1]", "x[0:2]", "x[[0, 0]]", "x[…, None]"):
        assert shown in text


def test_a_bar_spans_a_name_of_several_letters():
    assert accented("x", "bar") == "x\u0304" and accented("phi", "bar") == "p\u0305h\u0305i\u0305"
    assert (
        accented("x", "dot") == "x\u0307"
        and accented("phi", "dot") == "ph\u0307i"
        and accented("phi", None) == "phi"
        and accented("", "dot") == ""
    )
    text = table(trace_function(lambda phi: mg.sin(phi) * phi, 1.0, mode="reverse"))
    rows = [line for line in text.splitlines() if "p\u0305h\u0305i\u0305" in line]
    assert len(rows) == 2 and "\u0304h" not in text
    plain = [
        line.replace("\u0305", "").replace("\u0304", "")
        for line in text.split("reverse mode\n")[1].splitlines()
    ]
    assert {line.index("= ") > 0 for line in plain[2:]} == {True} and len(
        {len(line) for line in plain[1:]}
    ) == 1, "the columns are aligned"


def test_a_sign_stands_close_to_its_operand():
    op, x = lambda text: {"t": "op", "text": text}, {"t": "sym", "base": "x"}
    assert text_of([x, op("="), op("−"), x]) == "x = −x" and text_of([op("−"), x]) == "−x"
    assert (
        text_of([x, op("−"), x]) == "x − x"
        and text_of([op("("), x, op(")"), op("−"), x]) == "(x) − x"
    )


def test_powers_of_ten_have_no_idle_zeros():
    assert [number(v) for v in (6.4e-6, 1e20, -3e7, 1e100, 10.0)] == [
        "6.4e−6",
        "1e20",
        "−3e7",
        "1e100",
        "10",
    ]


def test_a_jacobian_is_told_pass_by_pass():
    from minigrad.viz.jacobian import jacobian_trace

    f = lambda a, b: (a * b, mg.sin(a))
    trace = jacobian_trace(f, 2.0, 3.0)
    text = table(trace)
    heads = [line for line in text.splitlines() if " mode, pass " in line]
    assert heads == [
        "forward mode, pass 1 of 2, seeded with 1 at a",
        "forward mode, pass 2 of 2, seeded with 1 at b",
        "reverse mode, pass 1 of 2, seeded with 1 at v1",
        "reverse mode, pass 2 of 2, seeded with 1 at v2",
    ]
    first = text.split(heads[0])[1].split(heads[1])[0]
    assert (
        "v\u03071 = ∂v1/∂a · a\u0307 + ∂v1/∂b · b\u0307 = a\u0307 · b + b\u0307 · a"
        " = 1 · 3 + 0 · 2 = 3"
        in first
        and first.count("\n  ") == 6
    )
    matrix = [line.split() for line in text.split("Jacobian  ")[1].splitlines()]
    assert matrix[0] == ["∂/∂a", "∂/∂b"] and matrix[2:] == [
        ["∂v1", "3", "2"],
        ["∂v2", "−0.4161", "0"],
    ]
    begun = table(trace, 9)
    assert begun.count(" mode, pass ") == 2 and "∂v2" in begun and "−0.4161" not in begun
    assert "reverse" not in table(
        jacobian_trace(f, 2.0, 3.0, by="columns")
    ) and "forward" not in table(jacobian_trace(f, 2.0, 3.0, by="rows"))
