"""Programs as text: what they compute, which names are inputs, what is refused and where."""

import math

import pytest

import minigrad as mg
from minigrad import expression
from minigrad.expression import ExpressionError
from tests.helpers.tables import in_one_test

NEWTON = "x = 1\nfor i in range(6):\n    x = x - (x*x - a)/(2*x)\nx"
SINE = (
    "s = 0; k = 1\nfor i in range(9):\n    s += (-1)**i * x**(2*i + 1)/k\n"
    "    k = k*(2*i + 2)*(2*i + 3)\ns"
)


def derivative(text, **values):
    f = expression.compile(text)
    inputs = [mg.tensor(values[name], dtype=mg.float64, requires_grad=True) for name in f.names]
    y = f(*inputs)
    y.backward()
    return y.item(), [x.grad.item() for x in inputs]


def test_newtons_iteration_has_the_value_and_the_derivative_of_the_root():
    value, (slope,) = derivative(NEWTON, a=2.0)
    assert value == pytest.approx(math.sqrt(2), rel=1e-15)
    assert slope == pytest.approx(1 / (2 * math.sqrt(2)), rel=1e-12)


def test_arithmetic_on_numbers_alone_gives_numbers():
    value, (slope,) = derivative(SINE, x=1.0)
    assert value == pytest.approx(math.sin(1), rel=1e-15)
    assert slope == pytest.approx(math.cos(1), rel=1e-14)
    assert derivative("r = (-1)**0.5\nx + maximum(r, 0)", x=1.0)[0] != 1.0


@in_one_test
@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("y = x*w\ny + b", ("x", "w", "b")),
        ("x = x*x\nx", ("x",)),
        ("for i in range(n): x = x + i\nx*n", ("n", "x")),
        ("s += x\ns", ("s", "x")),
        ("t = 2*pi*e\nt*x", ("x",)),
    ],
)
def test_inputs_are_the_names_that_are_read_before_they_are_assigned(text, names):
    assert expression.compile(text).names == names


@pytest.mark.parametrize(("x", "y", "slope"), [(3.0, 9.0, 6.0), (-2.0, 2.0, -1.0), (0.0, 0.0, 0.0)])
def test_a_branch_has_the_derivative_of_what_ran(x, y, slope):
    text = "if x > 0 and not x > 100: y = x*x\nelif x == 0: y = 0*x\nelse: y = -x\ny"
    assert derivative(text, x=x) == (y, [slope])


# (text, the problem, the line, where the caret stands)
REFUSED = [
    ("y = x*x\ny +", "invalid syntax", "y +", 3),
    ("y = x*x\nz = y^2", "^ cannot", "z = y^2", 5),
    ("y = x\nwhile y > 0: y = y - 1\ny", "while cannot", "while y > 0: y = y - 1", 0),
    ("y = x\nimport os\ny", "import cannot", "import os", 0),
    ("def f(): y\ny = 2", "def cannot", "def f(): y", 0),
    ("x*x\nx", "not used", "x*x", 0),
    ("for i in range(3): x = x*x", "ends without", "for i in range(3): x = x*x", 0),
    ("a, b = x, x\na", "a comma", "a, b = x, x", 7),
    ("a = b = x\na", "only a name", "a = b = x", 4),
    ("x[0] = y\nx", "only a name", "x[0] = y", 0),
    ("sin = x\nsin", "sin cannot be assigned", "sin = x", 0),
    ("e = x\ne", "e cannot be assigned", "e = x", 0),
    ("_y = x\n_y", "begin with a letter", "_y = x", 0),
    ("y = x\nfor i in y: y = y\ny", "over range", "for i in y: y = y", 9),
    ("y = x\nfor i in range(2*3): y = y\ny", "over range", "for i in range(2*3): y = y", 15),
    ("if x: y = 2\ny = x", "compares two", "if x: y = 2", 3),
    ("if x in y: y = 2\ny = x", "compares two", "if x in y: y = 2", 3),
    ("y = x\n  y", "unexpected indent", "  y", 1),
    ("for i in range(2)\n  x = x\nx", "expected ':'", "for i in range(2)", 17),
    ("x //= 2\nx", "//= cannot", "x //= 2", 0),
    ("y: float = x\ny", "y cannot", "y: float = x", 0),
]


@in_one_test
@pytest.mark.parametrize(("text", "problem", "line", "column"), REFUSED)
def test_what_is_no_program_is_refused_with_its_line_and_place(text, problem, line, column):
    with pytest.raises(ExpressionError) as caught:
        expression.compile(text)
    error = caught.value
    assert problem in f"{error.problem} {error.hint}"
    assert (error.text, error.column) == (line, column)


@pytest.mark.parametrize(
    ("text", "problem", "column"),
    [
        ("for i in range(x): x = x\nx", "not a value that was computed", 9),
        ("for i in range(0.5): x = x\nx", "not 0.5", 9),
        ("for i in range(1, 2, 0): x = x\nx", "a step of 0", 9),
        ("for i in range(99999): x = x*x\nx", "more than 5,000", 9),
        ("if x > 5: y = x\nx*y", "y has no value", 2),
    ],
)
def test_a_program_that_cannot_go_on_says_where(text, problem, column):
    with pytest.raises(ExpressionError, match=problem) as caught:
        derivative(text, x=1.0)
    assert caught.value.column == column


def test_a_value_has_the_name_of_its_variable_in_the_trace():
    from minigrad.watch import trace_function

    f = expression.compile("y = x*x\ny += sin(y)\nz = y\nz*y")
    trace = trace_function(f, 2.0, names=f.names)
    assert [node.get("name") for node in trace["nodes"]] == [None, "y", None, "y", None]
    assert trace["nodes"][3]["span"] == [2, 0, 2, 11]
