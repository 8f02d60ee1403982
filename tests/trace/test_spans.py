"""Each operation points at the exact expression that called it, however the function was written;
where there is no source there are no spans.
"""

import functools
import linecache
import subprocess
import sys
import textwrap

import pytest

import minigrad as mg
from minigrad.trace import validate
from minigrad.watch import trace_function

helper_outside = lambda z: mg.exp(z) * z


def excerpts(trace):
    """The source text under each operation's span."""
    lines = trace["source"]["code"].split("\n") if "source" in trace else []
    found = []
    for node in trace["nodes"]:
        if node["kind"] in ("op", "output"):
            if "span" not in node:
                found.append(None)
                continue
            line, column, end_line, end_column = node["span"]
            if line == end_line:
                found.append(lines[line - 1][column:end_column])
            else:
                found.append(
                    "\n".join(
                        [
                            lines[line - 1][column:],
                            *lines[line : end_line - 1],
                            lines[end_line - 1][:end_column],
                        ]
                    )
                )
    return found


def traced(f, *args, **options):
    return validate(trace_function(f, *args, **options))


def from_text(text, name="<cell 1>", function="f", register=True):
    """A function as a notebook makes it: compiled from text, which linecache knows under a
    made-up file name.
    """
    text = textwrap.dedent(text)
    if register:
        linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    space = {"mg": mg}
    exec(compile(text, name, "exec"), space)
    return space[function]


def test_a_plain_function():
    def f(x1, x2):
        a = mg.log(x1)
        return a + x1 * x2 - mg.sin(x2)

    trace = traced(f, 2.0, 5.0)
    assert trace["source"] == {
        "code": "def f(x1, x2):\n    a = mg.log(x1)\n    return a + x1 * x2 - mg.sin(x2)"
    }
    assert excerpts(trace) == [
        "mg.log(x1)",
        "x1 * x2",
        "a + x1 * x2",
        "mg.sin(x2)",
        "a + x1 * x2 - mg.sin(x2)",
    ]
    assert [s["line"] for s in trace["steps"] if s["phase"] == "primal" and s["edges"]] == [
        2,
        3,
        3,
        3,
        3,
    ]


def test_an_expression_over_several_lines():
    def f(x):
        return (
            mg.sin(x)
            # a comment in between
            * mg.cos(
                x
            )
        )  # fmt: skip

    assert excerpts(traced(f, 1.0)) == [
        "mg.sin(x)",
        "mg.cos(\n            x\n        )",
        "mg.sin(x)\n        # a comment in between\n        * mg.cos(\n            x\n        )",
    ]


def test_the_source_of_each_step_of_a_lambda_is_found():
    assert excerpts(traced(lambda x: x * mg.sin(x), 1.0)) == ["mg.sin(x)", "x * mg.sin(x)"]
    trace = traced(
        lambda x: x
        * 2
        + mg.cos(x),
        1.0,
    )  # fmt: skip
    assert excerpts(trace) == ["x\n* 2", "mg.cos(x)", "x\n* 2\n+ mg.cos(x)"]
    first, second = (lambda x: x + 1), (lambda x: x * 2)
    assert excerpts(traced(first, 1.0)) == ["x + 1"] and excerpts(traced(second, 1.0)) == ["x * 2"]
    inner_and_outer = lambda x: (lambda x: x * 3)(x) + 1
    assert excerpts(traced(inner_and_outer, 1.0)) == ["x * 3", "(lambda x: x * 3)(x) + 1"]


class Model:
    def __init__(self):
        self.w = mg.tensor(3.0, dtype=mg.float64, requires_grad=True)

    def forward(self, x):
        return self.w * x

    def __call__(self, x):
        return self.forward(x) + 1

    @staticmethod
    def cube(x):
        return x**3


def test_a_lambda_is_shown_without_the_call_that_it_stands_in():
    code = lambda trace: trace["source"]["code"]
    one = traced(lambda x: mg.sin(x) * 2, 2.0, mode="reverse")
    assert code(one) == "lambda x: mg.sin(x) * 2"
    assert excerpts(one) == ["mg.sin(x)", "mg.sin(x) * 2"]
    # fmt: off
    long = traced(
        lambda x: (
            mg.sin(x)
            * 2), 2.0, mode="reverse")
    # fmt: on
    assert code(long) == "lambda x: (\n    mg.sin(x)\n    * 2)"
    assert excerpts(long) == ["mg.sin(x)", "mg.sin(x)\n    * 2"]
    pair = [lambda x: x * 2, lambda x: x * 3]
    assert [code(traced(f, 2.0)) for f in pair] == ["lambda x: x * 2", "lambda x: x * 3"]
    é = 3.0
    assert excerpts(traced(lambda x: é * x + 1, 2.0)) == ["é * x", "é * x + 1"]


def test_methods_callable_objects_and_partials():
    model = Model()
    assert excerpts(traced(model.forward, 2.0)) == ["self.w * x"]
    trace = traced(model, 2.0)
    assert excerpts(trace) == ["self.forward(x)", "self.forward(x) + 1"] and trace["source"][
        "code"
    ].startswith("def __call__")
    assert excerpts(traced(Model.cube, 2.0)) == ["x**3"]

    def f(a, x):
        return a * x

    assert excerpts(traced(functools.partial(f, 2.0), 3.0)) == ["a * x"]


def test_decorated_functions_show_their_own_text():
    def noisy(function):
        @functools.wraps(function)
        def wrapper(*args):
            return function(*args) * 1.0

        return wrapper

    @noisy
    @mg.enable_grad()
    def f(x):
        return mg.sin(x)

    trace = traced(f, 1.0)
    assert trace["source"]["code"].splitlines()[:3] == ["@noisy", "@mg.enable_grad()", "def f(x):"]
    assert excerpts(trace) == ["mg.sin(x)", None], "the wrapper's own operation stands elsewhere"


def test_helpers_comprehensions_generators_and_inner_functions():
    def f(x):
        def inner(z):
            return z * 10

        total = sum(x * i for i in range(1, 3))
        total = total + sum([mg.sin(x) for _ in range(2)])
        return inner(total) + helper_outside(x)

    shown = excerpts(traced(f, 1.0))
    assert shown[:4] == [
        "x * i",
        "sum(x * i for i in range(1, 3))",
        "x * i",
        "sum(x * i for i in range(1, 3))",
    ]
    assert shown.count("mg.sin(x)") == 2 and shown.count("z * 10") == 1
    assert shown.count("helper_outside(x)") == 2, (
        "operations of a function from elsewhere belong to the call"
    )


def test_text_that_is_not_ascii():
    def f(größe, b):
        π = größe * 3.14
        return "äöü😀" and π + mg.sin(b)

    trace = traced(f, 1.0, 2.0)
    assert excerpts(trace) == ["größe * 3.14", "mg.sin(b)", "π + mg.sin(b)"]
    assert [n.get("name") for n in trace["nodes"]][2] == "π"


def test_indentation_by_tabs_and_a_comment_at_the_margin():
    f = from_text(
        "class A:\n\tdef f(x):\n# at the margin\n\t\ty = x * 2\n\t\treturn y + 1\nf = A.f\n",
        "<tabs>",
    )
    trace = traced(f, 1.0)
    assert excerpts(trace) == ["x * 2", "y + 1"]
    assert trace["nodes"][1]["name"] == "y"


@pytest.mark.parametrize("head", ["@staticmethod\n    def f(\n        x,\n    ):", "def f(x):"])
def test_a_definition_ends_where_its_last_statement_ends(head):
    f = from_text(
        f"class A:\n    {head}\n"
        "        word = '''\nat the margin\n'''\n"
        "        y = (\nx * 2\n)\n"
        "        return y + \\\n1\n"
        "        pass  # never reached\n"
        "    def g(x):\n"
        "        pass\n"
        "f = A.f\n",
        "<ends>",
    )
    trace = traced(f, 1.0)
    shown = trace["source"]["code"].splitlines()
    assert shown[0].strip() == head.splitlines()[0] and shown[-1].strip() == "pass  # never reached"
    assert excerpts(trace) == ["x * 2", "y + \\\n1"]


def test_operations_in_a_notebook_cell_have_their_expressions():
    f = from_text("""
        scale = 3

        def f(u, b):
            w = u * scale
            return (u + (w)*mg.sin(b))
        """)
    trace = traced(f, 1.0, 2.0)
    assert excerpts(trace) == ["u * scale", "mg.sin(b)", "(w)*mg.sin(b)", "u + (w)*mg.sin(b)"]
    assert trace["source"]["code"].startswith("def f(u, b):") and trace["nodes"][2]["name"] == "w"


def test_code_without_source_has_no_spans():
    for name in ("<string>", "<no such cell>"):
        f = from_text("def f(x):\n    y = mg.sin(x)\n    return y * x\n", name, register=False)
        trace = traced(f, 1.0)
        assert (
            "source" not in trace
            and excerpts(trace) == [None, None]
            and trace["title"] == "f(x), x = 1"
        )
        assert all("name" not in n for n in trace["nodes"])


def test_built_in_callables():
    trace = traced(mg.sin, 1.0, names=["angle"])
    assert trace["inputs"] == ["angle"]
    assert traced(mg.Tensor.exp, 1.0)["nodes"][-1]["op"] == "exp"


def test_a_file_that_says_something_else_is_not_shown():
    f = from_text("def f(x):\n    return x * 2\n", "<changed>")
    text = "def another(y, z):\n    return y + z + 1\n"
    linecache.cache["<changed>"] = (len(text), None, text.splitlines(True), "<changed>")
    trace = traced(f, 1.0)
    assert "source" not in trace and excerpts(trace) == [None]
    linecache.cache["<changed>"] = (3, None, ["def f(x:\n"], "<changed>")
    assert "source" not in traced(f, 1.0)
    # what is wrong in another function does not matter
    lines = ["def f(x):\n", "    return x * 2\n", "def g(x:\n"]
    linecache.cache["<changed>"] = (3, None, lines, "<changed>")
    assert excerpts(traced(f, 1.0)) == ["x * 2"]
    exec_in_this_file = {}
    exec(compile("def f(x):\n    return x * 2\n", __file__, "exec"), exec_in_this_file)
    assert "source" not in traced(exec_in_this_file["f"], 1.0)


def test_given_text_is_shown_in_the_place_of_the_functions_own():
    f = lambda x: x
    trace = traced(f, 1.0, source="sin(x)")
    assert trace["source"] == {"code": "sin(x)"}
    from minigrad import expression

    formula = expression.compile("log(x1) + x1*x2 - sin(x2)")
    trace = traced(formula, 2.0, 5.0, names=formula.names, source=formula.source)
    assert excerpts(trace) == [
        "log(x1)",
        "x1*x2",
        "log(x1) + x1*x2",
        "sin(x2)",
        "log(x1) + x1*x2 - sin(x2)",
    ]


def test_without_debug_ranges_there_are_no_spans_and_no_errors():
    program = (
        "import minigrad as mg, sys\nfrom minigrad.watch import trace_function\nfrom minigrad.trace"
        " import validate\nt = validate(trace_function(lambda x: mg.sin(x) * x,"
        " 1.0))\nprint([n.get('span') for n in t['nodes']])"
    )
    run = subprocess.run(
        [sys.executable, "-X", "no_debug_ranges", "-c", program],
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stdout.strip() == "[None, None, None]"


@pytest.mark.parametrize("text", ["a = mg.sin(x)", "a: object = mg.sin(x)", "(a := mg.sin(x))"])
def test_names_by_each_kind_of_assignment(text):
    f = from_text(f"def f(x):\n    {text}\n    return a * x\n", f"<name {text}>")
    assert [n.get("name") for n in traced(f, 1.0)["nodes"]] == [None, "a", None]


@pytest.mark.parametrize(
    "text",
    [
        "a = mg.sin(x) if x > 0 else x",
        "a = [mg.sin(x)][0]",
        "a = (mg.sin(x), 1)[0]",
    ],
)
def test_no_names_where_the_value_passes_through_something_else(text):
    f = from_text(f"def f(x):\n    {text}\n    return a * x\n", f"<no name {text}>")
    sine = next(n for n in traced(f, 1.0)["nodes"] if n.get("op") == "sin")
    assert "name" not in sine
