"""Formulas as text: what is computed, what is refused, and where the caret stands."""

import math
import string
import subprocess
import sys

import hypothesis
import hypothesis.strategies as st
import pytest

import minigrad as mg
from minigrad import expression
from minigrad.expression import CONSTANTS, FUNCTIONS, ExpressionError
from tests.helpers.tables import in_one_test


def number(value: float) -> mg.Tensor:
    return mg.tensor(value, dtype=mg.float64, requires_grad=True)


def refusal(text: str) -> ExpressionError:
    with pytest.raises(ExpressionError) as caught:
        expression.compile(text)
    return caught.value


def test_a_formula_is_a_function_of_its_variables_in_order_of_appearance():
    f = expression.compile(" log(x1) + x1*x2 - sin(x2) ")
    assert f.names == ("x1", "x2")
    assert f.source == "log(x1) + x1*x2 - sin(x2)"
    x1, x2 = number(2.0), number(5.0)
    y = f(x1, x2)
    y.backward()
    assert y.item() == pytest.approx(math.log(2) + 10 - math.sin(5), rel=1e-15)
    assert x1.grad.item() == pytest.approx(1 / 2 + 5, rel=1e-15)
    assert x2.grad.item() == pytest.approx(2 - math.cos(5), rel=1e-15)


def test_a_formula_wants_one_value_for_each_variable():
    with pytest.raises(TypeError, match=r"takes 2 value\(s\) \(x, y\), but 1"):
        expression.compile("x*y")(1.0)


PYTHON = {
    "rsqrt": lambda x: 1 / math.sqrt(x),
    "sign": lambda x: (x > 0) - (x < 0),
    "abs": abs,
    "arccos": math.acos,
    "arcsin": math.asin,
    "arctan": math.atan,
    "ln": math.log,
    "logaddexp": lambda x, y: math.log(math.exp(x) + math.exp(y)),
    "maximum": max,
    "mean": lambda x: x,
    "minimum": min,
    "reciprocal": lambda x: 1 / x,
    "relu": lambda x: max(x, 0.0),
    "sigmoid": lambda x: 1 / (1 + math.exp(-x)),
    "softplus": lambda x: math.log1p(math.exp(x)),
    "square": lambda x: x * x,
    "sum": lambda x: x,
    "where": lambda x, y, z: y if x > 0 else z,
}
ARGUMENTS = {"acosh": (1.7,)}  # the others are defined at 0.7


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_function_of_the_table_computes_what_its_name_says(name):
    reference = PYTHON.get(name) or getattr(math, name)
    arguments = ARGUMENTS.get(name, (0.7, 0.4, 0.2)[: FUNCTIONS[name].arity])
    value = expression.compile(FUNCTIONS[name].call(name, "xyz"))(*map(number, arguments))
    assert value.item() == pytest.approx(reference(*arguments), rel=1e-14)


@pytest.mark.parametrize(
    "text",
    [
        "log(2)",
        "1/3",
        "2**0.5",
        "-2/3",
        "sin(pi/6)",
        "e**-1",
        "tau",
        "7",
        "-(1/3)*3",
        "maximum(1/3, 0)",
    ],
)
def test_numbers_alone_are_computed_in_double_precision(text):
    expected = eval(text, {"log": math.log, "sin": math.sin, "maximum": max, **CONSTANTS})
    value = expression.compile(text)()
    assert value.dtype == mg.float64
    assert value.item() == pytest.approx(expected, rel=1e-15)


def test_numbers_beside_a_variable_keep_its_precision():
    value = expression.compile("log(2)*x/3")(number(1.0))
    assert value.dtype == mg.float64
    assert value.item() == pytest.approx(math.log(2) / 3, rel=1e-15)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_root_of_a_negative_number_is_not_a_number_and_never_complex():
    value = expression.compile("(-8)**(1/3)")()
    assert value.dtype == mg.float64
    assert math.isnan(value.item())


def test_numbers_beyond_the_integers_of_an_array_are_numbers():
    assert expression.compile("x*100000000000000000000000")(number(2.0)).item() == 2e23


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_towers_of_powers_take_no_time():
    assert expression.compile("9**9**9**9")().item() == math.inf


# (text, the problem, where the caret stands, what the hint says)
REFUSED = [
    ("x^2", "^", 1, "x**2"),
    ("x//2", "//", 1, "divide with /"),
    ("x % 2", "%", 2, "+ - * / **"),
    ("~x", "~", 0, "+ - * / **"),
    ("not x", "not", 0, "+ - * / **"),
    ("x @ x", "@", 2, "+ - * / **"),
    ("1 + np.log(x)", "dot", 4, "bare names"),
    ("x.grad", "dot", 0, "bare names"),
    ("().__class__", "dot", 0, "bare names"),
    ("__import__(x)", "no function", 0, "the functions are"),
    ("__x", "__x", 0, "begin with a letter"),
    ("x[0]", "index", 0, "x1 and x2"),
    ("lambda x: x", "lambda", 0, "formula itself"),
    ("sum(x for x in y)", "comprehension", 3, "array"),
    ("[x for x in y]", "comprehension", 0, "array"),
    ("'x'", "string", 0, "numbers and names"),
    ("f'{x}'", "string", 0, "numbers and names"),
    ("b'x'", "string", 0, "numbers and names"),
    ("...", "...", 0, "numbers and names"),
    ("True", "True", 0, "1 or 0"),
    ("2j*x", "complex", 0, "real"),
    ("1e999", "too large", 0, "1.8e308"),
    ("x, y", "comma", 0, "one result"),
    ("0,5*x", "comma", 0, "point"),
    ("x < 2", "comparison", 0, "where(x > 0, x, -x)"),
    ("x if y else z", "if", 0, "where(x > 0, x, -x)"),
    ("where(x, 1, 2)", "first argument of where compares two values", 6, "where(x > 0, y, z)"),
    ("1 + where(0 < x < 1, 1, 2)", "compares two values", 10, "where(x > 0, y, z)"),
    ("where(x in y, 1, 2)", "compares two values", 6, "where(x > 0, y, z)"),
    ("where(x > 0 and y < 1, 1, 2)", "compares two values", 6, "where(x > 0, y, z)"),
    ("where(not x > 0, 1, 2)", "compares two values", 6, "where(x > 0, y, z)"),
    ("where(x > 0, 1)", "takes 3 arguments, not 2", 0, "where(x > 0, y, z)"),
    ("where(x > 0, x > 1, 2)", "comparison", 13, "where(x > 0, x, -x)"),
    ("x and y", "and", 0, "number"),
    ("(x := 2)", ":=", 1, "x=2"),
    ("{x}", "braces", 0, "parentheses"),
    ("log(x=2)", "by position", 4, "log(x)"),
    ("log(*x)", "star", 4, "one by one"),
    ("log(x, y)", "takes 1 argument, not 2", 0, "log(x)"),
    ("maximum(x)", "takes 2 arguments, not 1", 0, "maximum(x, y)"),
    ("log + 1", "function", 0, "log(...)"),
    ("lgo(x)", "no function lgo", 0, "did you mean log or log2?"),
    ("1 + tahn(x)", "no function tahn", 4, "did you mean tan or tanh?"),
    ("zzz(x)", "no function zzz", 0, "sigmoid"),
    ("x(y + 1)", "x is not a function", 0, "x*(...)"),
    ("2(x + 1)", "only a function's name", 0, "2*(x + 1)"),
    ("2x + 1", "nothing between", 1, "2*x"),
    ("3*x + 2.5sin(x)", "nothing between", 9, "2.5*sin"),
    ("x y", "missing", 1, "a*b"),
    ("(x) (y)", "x is not a function", 1, "multiplication"),
    ("sin x", "parentheses", 4, "sin(x)"),
    ("f(x) = log(x)", "'='", 5, "right-hand side"),
    ("x²", "²", 1, "x**2"),
    ("2·x", "·", 1, "*"),
    ("3 − x", "−", 2, "-"),
    ("|x|", "|", 0, "abs(x)"),
    ("x +", "ends too early", 3, "parentheses"),
    ("(x", "never closed", 0, "parentheses"),
    ("x)", "unmatched", 1, "parentheses"),
    ("", "empty", 0, "log(x1)"),
    ("   ", "empty", 0, "log(x1)"),
    ("x\ny", "not used", 0, "y = x*x"),
    ("x # y", "#", 2, "one line"),
    ("x; y", "not used", 0, "y = x*x"),
    ("x\0", "\\x00", 1, "one line"),
    ("x\udc80", "udc80", 1, "one line"),
    ("import os", "import", 0, "functions"),
    ("x or", "or", 2, "functions"),
    ("θ*ψ.real", "dot", 2, "bare names"),
]


@in_one_test
@pytest.mark.parametrize(("text", "problem", "column", "hint"), REFUSED)
def test_what_is_not_a_formula_is_refused_with_its_place_and_a_hint(text, problem, column, hint):
    error = refusal(text)
    assert problem in error.problem
    assert error.column == column
    assert hint in error.hint


def test_the_message_marks_the_place_with_a_caret():
    assert (
        str(refusal("log(x1) + x.grad*2")) == "a dot after a name cannot be used in a formula\n"
        "  log(x1) + x.grad*2\n"
        "            ^^^^^^\n"
        "hint: call the functions by their bare names: log(x), not np.log(x)"
    )


def test_the_mark_stays_in_sight_in_a_long_formula():
    lines = str(refusal("x + " * 400 + "y.real + 1")).splitlines()
    assert max(map(len, lines[1:3])) <= 102
    shown, caret = lines[1:3]
    assert shown[caret.index("^") :].startswith("y.real")


@pytest.mark.parametrize(
    "text",
    [
        "(" * 150 + "x" + ")" * 150,
        "(" * 1000 + "x" + ")" * 1000,
        "-" * 9_000 + "x",
        "+".join(["x"] * 3_000),
        "**".join(["x"] * 3_000),
        "sin(" * 190 + "x" + ")" * 190,
        "1" * 5_000,
        "x" * 10_001,
        "x+" * 1_000_000,
        "[" * 5_000,
        "x if " * 1_500 + "x",
    ],
    ids=[
        "150 parentheses",
        "1000 parentheses",
        "signs",
        "sum",
        "powers",
        "calls",
        "digits",
        "characters",
        "a megabyte",
        "brackets",
        "ifs",
    ],
)
def test_deep_and_huge_texts_are_computed_or_refused(text):
    try:
        formula = expression.compile(text)
    except ExpressionError as error:
        assert len(str(error)) < 500
    else:
        assert math.isfinite(formula(number(0.5)).item())


@pytest.mark.parametrize("operator", ["+", "**"])
def test_as_many_operations_as_allowed_work_and_one_more_does_not(operator):
    most = expression.MAX_OPERATIONS
    formula = expression.compile(operator.join(["x"] * (most + 1)))
    x = number(1.0)
    y = formula(x)
    y.backward()
    assert y.item() == (most + 1 if operator == "+" else 1)
    assert math.isfinite(x.grad.item())
    assert f"more than {most}" in refusal(operator.join(["x"] * (most + 2))).problem


def test_nothing_but_the_functions_can_be_reached():
    function = expression.compile("log(x)")._function
    assert function.__globals__["__builtins__"] == {}
    strangers = set(function.__globals__) - set(FUNCTIONS) - set(CONSTANTS) - {"__builtins__"}
    assert all(not name.isidentifier() for name in strangers)


def test_the_code_of_a_formula_points_into_its_text():
    text = "θ + log(x1)*x2"
    f = expression.compile(text)
    spans = {
        text.encode()[a:b].decode()
        for _, _, a, b in f._function.__code__.co_positions()
        if a is not None
    }
    assert {"log(x1)", "log(x1)*x2", text} <= spans


WORDS = [
    "x",
    "y",
    "2",
    "0.5",
    "+",
    "-",
    "*",
    "/",
    "**",
    "(",
    ")",
    ",",
    "log",
    "sin(",
    ".",
    "[",
    "]",
    "lambda",
    ":",
    "=",
    "if",
    "'",
    " ",
    "^",
    "é",
    "e",
]


LETTERS = string.printable + "é∂λΣ−×²½٣中\0\x1b\ufeff\u2028\U0001f600"
"""The strategy's own letters are all of Unicode, of which it makes a table first: a second."""


@hypothesis.given(
    st.one_of(
        st.text(LETTERS, max_size=40), st.lists(st.sampled_from(WORDS), max_size=12).map("".join)
    )
)
def test_any_text_is_a_formula_or_a_clear_refusal(text):
    try:
        formula = expression.compile(text)
    except ExpressionError as error:
        assert error.problem
        assert 0 <= error.column <= max(len(error.text), 1)
    else:
        assert all(name.isidentifier() for name in formula.names)


def test_parsing_starts_no_program():
    """The classic escape, in a process of its own: nothing may be printed."""
    attack = (
        "[c for c in"
        " ().__class__.__base__.__subclasses__()][0]"
        ".__init__.__globals__['sys'].stdout.write('escaped')"
    )
    code = f"""
from minigrad import expression
try:
    expression.compile({attack!r})()
except expression.ExpressionError:
    print("refused")
"""
    assert (
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        ).stdout
        == "refused\n"
    )
