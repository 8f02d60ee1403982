"""Sample Traces for the viewer's tests, by name. All but the last come from the hand tracer."""

from __future__ import annotations

import copy
import math
from functools import cache

import minigrad as mg
from tests.helpers.hand_tracer import ln, op, sin, trace

SEED_CODE = "def f(x1, x2):\n    a = ln(x1)\n    return a + x1 * x2 - sin(x2)\n"
SEED_SPANS = {
    "v1": [2, 8, 2, 14],
    "v2": [3, 15, 3, 22],
    "v3": [3, 11, 3, 22],
    "v4": [3, 25, 3, 32],
    "v5": [3, 11, 3, 32],
}
HOSTILE = "</script><img src=x onerror=alert(1)><svg onload=alert(2)>\"'&"


def half_sines(rounds):
    """A loop whose rounds all read x: y = sin y · 0.5 + x."""

    def f(x):
        y = x
        for _ in range(rounds):
            y = mg.sin(y) * 0.5 + x
        return y

    return f


def seed():
    """f(x1, x2) = ln x1 + x1 x2 − sin x2 at (2, 5), all three passes; y = 11.652, dy/dx1 = 5.5,
    dy/dx2 = 1.716.
    """
    title = "f(x1, x2) = ln(x1) + x1*x2 − sin(x2) at (2, 5)"
    return trace(
        lambda x1, x2: ln(x1) + x1 * x2 - sin(x2),
        2,
        5,
        tangents=(1, 0),
        title=title,
        code=SEED_CODE,
        spans=SEED_SPANS,
    )


def chain(length):
    """A chain of operations; every other one uses its input twice."""

    def f(x):
        for i in range(length):
            x = sin(x) if i % 2 else x + x
        return x

    return trace(f, 0.9, tangents=(1,), title=f"a chain of {length} operations")


def deep(a, b, c):
    return sin(a * b) * ln(c + a) + sin(b * c) * (a * a - ln(b)) + sin(sin(c) * a)


# Long: a Trace written out.
def arrays():
    """x·x and its sum for a 2×3 array, with summaries of arrays as an engine writes them;
    formulas without their numbers.
    """

    def array(values):
        norm = math.sqrt(sum(v * v for v in values))
        return {
            "shape": [2, 3],
            "dtype": "float32",
            "sample": values,
            "min": min(values),
            "max": max(values),
            "norm": norm,
        }

    def sym(base, sub, accent=None):
        return {"t": "sym", "base": base, "sub": sub, "node": base + sub} | (
            {"accent": accent} if accent else {}
        )

    x1, v1, v2, x1_bar, v1_bar, v2_bar = (
        sym(b, s, a) for a in (None, "bar") for b, s in (("x", "1"), ("v", "1"), ("v", "2"))
    )
    total = {"t": "fn", "text": "sum"}
    broadcast = {"t": "fn", "text": "broadcast"}
    one = {"t": "num", "value": 1.0, "col": "g"}
    x = [0.5, -1.25, 2.0, 3.5, -0.75, 4.0]
    square, ones, double = [v * v for v in x], [1.0] * 6, [2 * v for v in x]
    part = {"upstream": array(ones), "product": array(x)}

    def node(key, kind, expr, shape, **more):
        label = {"base": key[0], "sub": key[1]}
        return {
            "id": key,
            "label": label,
            "kind": kind,
            "expr": expr,
            "shape": shape,
            "dtype": "float32",
            "stage": "primal",
            **more,
        }

    def step(phase, name, column, value, formula, say, reads=(), edges=(), **more):
        cells = {"reads": [list(cell) for cell in reads], "writes": [[name, column, value]]}
        return {
            "phase": phase,
            "node": name,
            "edges": list(edges),
            **cells,
            "formula": formula,
            "say": say,
            **more,
        }

    again = {**part, "edge": "e2", "before": array(x), "after": array(double)}
    return {
        "schema": "minigrad.trace/1",
        "title": "f(x) = sum(x · x) for a 2×3 array",
        "inputs": ["x1"],
        "outputs": ["v2"],
        "seed": {"adjoints": {"v2": 1.0}},
        "nodes": [
            node("x1", "input", [], [2, 3], name="weights"),
            node("v1", "op", [x1, op("·"), x1], [2, 3], op="mul"),
            node("v2", "output", [total, v1], [], op="sum"),
        ],
        "edges": [
            {"id": "e1", "src": "x1", "dst": "v1", "slot": 0, "stage": "primal"},
            {"id": "e2", "src": "x1", "dst": "v1", "slot": 1, "stage": "primal"},
            {"id": "e3", "src": "v1", "dst": "v2", "slot": 0, "stage": "primal"},
        ],
        "columns": [{"key": "v", "label": "value", "phase": "primal"},
            {"key": "g", "label": "adjoint", "phase": "adjoint"}],
        "steps": [
            step("primal", "x1", "v", array(x),
                [x1, op("="), {"t": "num", "value": array(x), "col": "v"}],
                "The input is a 2×3 array."),
            step("primal", "v1", "v", array(square), [v1, op("="), x1, op("·"), x1],
                "Each is squared.", [("x1", "v")], ["e1", "e2"]),
            step("primal", "v2", "v", sum(square), [v2, op("="), total, v1],
                "The elements are summed.", [("v1", "v")], ["e3"]),
            step("seed", "v2", "g", 1.0, [v2_bar, op("="), one],
                "The adjoint of the result is seeded with 1."),
            step("adjoint", "v1", "g", array(ones), [v1_bar, op("="), broadcast, v2_bar],
                "One for each element.", [("v2", "g")], ["e3"]),
            step("adjoint", "x1", "g", array(x), [x1_bar, op("="), v1_bar, op("·"), x1],
                "The first factor's part.", [("v1", "g")], ["e1"],
                 contribs=[{**part, "edge": "e1"}]),
            step("accumulate", "x1", "g", array(double), [x1_bar, op("+="), v1_bar, op("·"), x1],
                "The second factor's part is added.",
                 [("v1", "g")], ["e2"], contribs=[again]),
        ],
    }  # fmt: skip


def hostile():
    """The seed example with markup wherever a text can stand."""
    document = copy.deepcopy(seed())
    document["title"] = HOSTILE
    document["source"] = {"code": "# " + HOSTILE + "\n", "filename": HOSTILE}
    document["nodes"][0] |= {
        "name": HOSTILE,
        "label": {"base": HOSTILE[:20], "sub": "</sub>", "sup": HOSTILE[:12]},
    }
    document["nodes"][2] |= {"op": HOSTILE, "kind": HOSTILE, "dtype": HOSTILE, "shape": [1]}
    document["columns"][0]["label"] = HOSTILE
    document["steps"][0] |= {"say": HOSTILE, "phase": HOSTILE}
    document["steps"][0]["formula"] = [
        {"t": "text", "text": HOSTILE},
        {"t": "op", "text": HOSTILE},
        {"t": "fn", "text": HOSTILE},
    ]
    return document


@cache
def all_samples():
    """``{name: trace}``."""
    return {
        "seed": seed(),
        "square": trace(lambda x: x * x, 3, tangents=(1,), title="x * x"),
        "chain": chain(60),
        "deep": trace(
            deep, 1.5, 2.5, 0.5, tangents=(0, 1, 0), title="three inputs, used many times"
        ),
        "primal": trace(lambda a, b: ln(a) + a * b, 2, 5, adjoint=False, title="values only"),
        "reverse": trace(lambda a, b: ln(a) + a * b, 2, 5, title="value and adjoint"),
        "constants": trace(
            lambda x: sin(x * 3 + 2) * x, 0.7, tangents=(1,), title="with constants"
        ),
        "naninf": trace(
            lambda a, b: ln(a) * b + ln(b),
            0,
            -2,
            tangents=(1, 0),
            title="ln 0 and ln of a negative number",
        ),
        "identity": trace(lambda x: x, 7, tangents=(1,), title="f(x) = x"),
        "arrays": arrays(),
        "hostile": hostile(),
    }
