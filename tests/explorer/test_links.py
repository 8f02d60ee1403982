"""A Trace as an address of the page: what it says is the Trace's function at the Trace's point, and
what the page could not compute alike has no address.
"""

import math
import re
from urllib.parse import unquote

import numpy as np
import pytest
from minigrad.viz import iframe, sliders
from minigrad.viz.explorer.links import address, program
from minigrad.viz.page import EXPLORER

import minigrad as mg
from minigrad.expression import FUNCTIONS, ExpressionError, compile
from minigrad.trace.replay import state_at
from minigrad.watch import trace_function
from tests.helpers.page_engine import ATOL, RTOL
from tests.helpers.random_formulas import cases


def course(x1, x2):
    return mg.log(x1) + x1 * x2 - mg.sin(x2)


def newton(a):
    x = 1.0
    for _ in range(4):
        x = x - (x * x - a) / (2 * x)
    return x


WEIGHT = mg.tensor(3.0, dtype=mg.float64, requires_grad=True)
INFINITE = mg.tensor(math.inf, dtype=mg.float64)
FOUR = mg.tensor(4.0, dtype=mg.float64)
OF_EACH = {
    name: (getattr(mg.functions, function.target), [1.25, 1.5][: function.arity])
    for name, function in FUNCTIONS.items()
    if name not in ("acos", "arccos", "asin", "arcsin", "atanh") and not function.chooses
}
TRACED = {
    "course": (course, (2.0, 5.0), {}),
    "direction": (course, (2.0, 5.0), {"tangents": (0.5, -1.0)}),
    "forward": (course, (2.0, 5.0), {"mode": "forward", "tangents": (0.0, 1.0)}),
    "reverse": (course, (2.0, 5.0), {"mode": "reverse"}),
    "values": (course, (2.0, 5.0), {"mode": "primal"}),
    "loop": (newton, (2.0,), {}),
    "powers": (lambda x, y: -(x**2) + (-x) ** 2 + 2.0**y + x ** (-y) + x**y**0.5, (2.0, 1.5), {}),
    "signs": (lambda x: -mg.neg(x) - (1 - (2 - x)) / (3 / (x / 7)), (2.0,), {}),
    "negative": (lambda x: x * -2 + (-3 - x) - -x, (-1.5,), {}),
    "constants": (lambda x: x * FOUR + 1 / 3 + mg.maximum(x, 1.0), (2.0,), {}),
    "parameter": (lambda x: WEIGHT * x + WEIGHT, (2.0,), {}),
    "backwards": (lambda x, y: (lambda a: mg.cos(y) + a)(mg.sin(x)), (2.0, 5.0), {}),
    "input": (lambda x: x, (2.0,), {}),
    "a pole": (lambda x: 1 / x - x / x, (0.0,), {}),
    "dangling": (lambda x: (mg.exp(x), x * x)[1], (2.0,), {"mode": "reverse"}),
    "names": (lambda e, log, f, mode, x: e * log - f * mode + x, (1.0, 2.0, 3.0, 4.0, 5.0), {}),
    "numbers": (lambda x: x * 1e-30 * 1e30 + 123456789.123 - 1e16, (1e-7,), {}),
    "taken": (lambda v1, v2: (lambda u: u * u + v2)(mg.sin(v1) * v1), (1.0, 2.0), {}),
    "choice": (lambda x: mg.where(x > 0, x, 2 * x) + mg.where(x + 1 < x * x, 1.0, x), (2.0,), {}),
    "choice between numbers": (lambda x: mg.where(3 - x <= 0, 1.0, FOUR) * x, (2.0,), {}),
    "shared choice": (lambda x: (lambda c: c * c)(mg.where(x == 0, mg.sin(x), -x)), (2.0,), {}),
    **{f"function {name}": (f, tuple(at), {}) for name, (f, at) in OF_EACH.items()},
}


def read(found):
    """An address as the page reads it (static/address.js): text, values, mode, seeds."""
    case = {"values": {}, "seeds": None, "mode": "both"}
    for part in found.removeprefix("#").split("&"):
        name, _, text = part.partition("=")
        name, text = unquote(name), unquote(text)
        if name == "f":
            case["text"] = text
        elif name == "mode":
            case["mode"] = text
        elif name.startswith("d."):
            case["seeds"] = {**(case["seeds"] or {}), name[2:]: float(text)}
        elif name not in ("step", "views"):
            case["values"][name.removeprefix(".")] = float(text)
    return case


def numbers(trace):
    """The values, tangents and adjoints of a Trace's operations, in their order."""
    cells = state_at(trace, len(trace["steps"])).cells
    return [
        [float(cells.get((node["id"], column["key"]), 0.0)) for column in trace["columns"]]
        for node in trace["nodes"]
        if "op" in node
    ]


def test_the_page_computes_the_numbers_of_the_trace_whose_address_it_gets(answers):
    traces = {name: trace_function(f, *at, **more) for name, (f, at, more) in TRACED.items()}
    addresses = {name: address(trace) for name, trace in traces.items()}
    assert [name for name, found in addresses.items() if found is None] == []
    answered = answers([read(found) for found in addresses.values()])
    for (name, trace), answer in zip(traces.items(), answered, strict=True):
        assert "trace" in answer, (name, addresses[name], answer)
        wanted, given = numbers(trace), numbers(answer["trace"])
        assert len(wanted) == len(given), name
        for row, other in zip(wanted, given, strict=True):
            assert row == pytest.approx(other, rel=RTOL, abs=ATOL, nan_ok=True), name


@pytest.mark.browser
def test_the_page_opened_at_an_address_says_the_address_again(explorer_page, visit):
    page = visit.page
    for name in ("direction", "forward", "loop", "names", "numbers"):
        f, at, more = TRACED[name]
        trace = trace_function(f, *at, **more)
        wanted = address(trace, step=3)
        assert wanted.endswith("step=3")
        page.goto("about:blank")
        page.goto(explorer_page.as_uri() + wanted)
        page.locator(".mg-counter").get_by_text(f"3 / {len(trace['steps'])}", exact=True).wait_for()
        assert page.locator(".mgx-problem").inner_text() == ""
        page.get_by_role("button", name="Next", exact=True).click()
        page.wait_for_function(
            "wanted => location.hash === wanted", arg=wanted.replace("step=3", "step=4")
        )
    visit.assert_clean()


def test_formulas_of_one_use_stay_formulas_and_others_become_programs():
    text = lambda name: program(trace_function(TRACED[name][0], *TRACED[name][1]))[0]
    assert text("course") == "log(x1) + x1*x2 - sin(x2)"
    assert text("powers") == "-x**2 + (-x)**2 + 2**y + x**(-y) + x**y**0.5"
    assert text("signs") == "-(-x) - (1 - (2 - x))/(3/(x/7))"
    assert text("backwards") == "v1 = sin(x)\nv2 = cos(y)\nv2 + v1"
    assert text("loop").splitlines()[0] == "v3 = 1 - (1 - a)/2"
    long = program(trace_function(lambda x: sum((mg.sin(x) for _ in range(20)), 0.0), 1.0))[0]
    assert max(map(len, long.splitlines())) < 100


def test_a_random_formula_has_an_address_wherever_the_page_can_compute_it():
    counted = 0
    for case in cases(5, 60):
        try:
            compiled = compile(case["text"])
            at = [case["values"][name] for name in compiled.names]
            with np.errstate(all="ignore"):
                trace = trace_function(compiled, *at, names=list(compiled.names))
        except (ExpressionError, TypeError):
            continue
        written = [value for step in trace["steps"] for *_, value in step["writes"]]
        ops = {node["id"]: node.get("op") for node in trace["nodes"]}
        of_choices = {
            edge["src"]
            for edge in trace["edges"]
            if edge["slot"] == 0 and ops[edge["dst"]] == "where"
        }
        compares = any(
            node["dtype"] == "bool" and node["id"] not in of_choices for node in trace["nodes"]
        )
        usual = all(map(math.isfinite, map(float, written))) and not compares
        found = address(trace) is not None
        assert found == usual or (found and not compares), case["text"]
        counted += usual
    assert counted > 15


class Doubled(mg.autograd.Function):
    """The derivative is not that of the operations."""

    @staticmethod
    def forward(ctx, x):
        return mg.sin(x)

    @staticmethod
    def backward(ctx, g):
        return 2 * g


def hooked(x):
    y = x * x
    y.register_hook(lambda g: 2 * g)
    return y * 3


OTHERS = {
    "arrays": (lambda x: (x * x).sum(), ([1.0, 2.0],), {}),
    "a branch": (lambda x: x * x if x > 1 else x, (2.0,), {}),
    "another operation": (lambda x: mg.fmod(x, 2.0), (3.0,), {}),
    "a test used twice": (
        lambda x: (lambda test: mg.where(test, x, 2 * x) + mg.where(test, x, 1))(x > 0),
        (2.0,),
        {},
    ),
    "a test that is not used": (lambda x: [x > 0, x * x][1], (2.0,), {}),
    "a rule of its own": (Doubled.apply, (2.0,), {"mode": "reverse"}),
    "a hook": (hooked, (2.0,), {"mode": "reverse"}),
    "float32": (lambda x: mg.exp(x), (mg.tensor(0.3, dtype=mg.float32),), {}),
    "a word for infinity": (lambda x: mg.minimum(x, math.inf), (2.0,), {}),
    "a constant that is infinite": (lambda x: mg.minimum(x, INFINITE), (2.0,), {}),
    "another cotangent": (lambda x: x * x, (2.0,), {"mode": "reverse", "cotangent": 2.0}),
    "too many operations": (lambda x: [x := x + x * x for _ in range(300)][-1], (1e-3,), {}),
}


@pytest.mark.parametrize("name", OTHERS)
def test_what_the_page_would_compute_otherwise_has_no_address(name):
    f, at, more = OTHERS[name]
    assert address(trace_function(f, *at, **more)) is None


def shown_links(shown):
    return re.findall(r'<a href="([^"]*)">([^<]*)</a>', re.sub(r'srcdoc="[^"]*"', "", shown))


def test_a_cell_output_leads_to_the_page_only_where_there_is_one(monkeypatch):
    trace = trace_function(course, 2.0, 5.0)
    frame, moved = iframe(trace, step=5), sliders(course, live=False, x1=(1, 3), x2=5.0)
    both = [frame, moved]
    assert [shown_links(shown._repr_html_()) for shown in both] == [[], []]
    monkeypatch.setenv(EXPLORER, "explore.html")
    to = "explore.html#f=log(x1)%20+%20x1*x2%20-%20sin(x2)&amp;x1=2&amp;x2=5"
    said = "On a page of its own"
    assert shown_links(frame._repr_html_()) == [(f"{to}&amp;step=5", said)]
    assert shown_links(moved._repr_html_()) == [(to, said)]
    chinese = iframe(trace, lang="zh", views=["cut", "arrays"])
    assert shown_links(chinese._repr_html_()) == [(f"{to}&amp;views=cut", "在单独的页面中打开")]
    assert f'<iframe class="minigrad-live" data-src="{to}&amp;step=5"' in (frame._repr_html_())
    assert "<a href=" not in frame.trace["title"] and shown_links(shown_page(frame)) == []
    arrays = trace_function(lambda x: (x * x).sum(), [1.0, 2.0])
    assert shown_links(iframe(arrays)._repr_html_()) == []


def test_a_picture_of_numbers_that_the_page_cannot_show_says_so_where_there_is_one(monkeypatch):
    branch = trace_function(lambda x: mg.sin(x) if x > 0 else x * x, 2.0)
    arrays = trace_function(lambda x: (x * x).sum(), [1.0, 2.0])
    said = "A recorded run, whose inputs cannot be changed here"
    assert said not in iframe(branch)._repr_html_()
    monkeypatch.setenv(EXPLORER, "explore.html")
    assert iframe(branch)._repr_html_().count(said) == 1
    assert "这是一次记录的运行" in iframe(branch, lang="zh")._repr_html_()
    for other in (arrays, trace_function(course, 2.0, 5.0)):
        assert said not in iframe(other)._repr_html_()


def shown_page(frame):
    """The page by itself, which lies anywhere."""
    from minigrad.viz import to_html

    return to_html(frame.trace)
