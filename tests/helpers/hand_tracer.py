"""A hand tracer for functions of numbers, written without minigrad: any engine can emit the Trace.
It makes the viewer's data.

Each operation appends one entry to a tape; passes over the tape write the steps. Everything that
the viewer shows comes from here.
"""

from __future__ import annotations

import math


def plain(x):
    """A number as the document writes it."""
    return x if math.isfinite(x) else "nan" if math.isnan(x) else "inf" if x > 0 else "-inf"


def num(value, col=None):
    return {"t": "num", "value": plain(value)} | ({"col": col} if col else {})


def op(text):
    return {"t": "op", "text": text}


class Var:
    """A value on the tape: how it was made, from which parents, and the local derivative with
    respect to each.
    """

    def __init__(self, tape, kind, value, expr=(), parents=(), partials=(), op=None):
        self.base, self.sub = (
            {"input": "x", "const": "c", "op": "v"}[kind],
            str(1 + sum(v.kind == kind for v in tape)),
        )
        self.tape, self.kind, self.value, self.expr, self.op = tape, kind, value, list(expr), op
        self.parents, self.partials, self.name = parents, partials, self.base + self.sub
        tape.append(self)

    def sym(self, accent=None):
        return {"t": "sym", "base": self.base, "sub": self.sub, "node": self.name} | (
            {"accent": accent} if accent else {}
        )

    def unary(self, name, value, partial):
        return Var(
            self.tape,
            "op",
            value,
            [{"t": "fn", "text": name}, self.sym()],
            (self,),
            (partial,),
            name,
        )

    def binary(self, other, sign, name, rule):
        b = other if isinstance(other, Var) else Var(self.tape, "const", float(other))
        value, *partials = rule(self.value, b.value)
        return Var(
            self.tape, "op", value, [self.sym(), op(sign), b.sym()], (self, b), partials, name
        )

    def __add__(self, other):
        return self.binary(other, "+", "add", lambda a, b: (a + b, 1.0, 1.0))

    def __sub__(self, other):
        return self.binary(other, "−", "sub", lambda a, b: (a - b, 1.0, -1.0))

    def __mul__(self, other):
        return self.binary(other, "·", "mul", lambda a, b: (a * b, b, a))


def ln(x):
    value = math.log(x.value) if x.value > 0 else -math.inf if x.value == 0 else math.nan
    return x.unary("ln", value, 1 / x.value if x.value else math.inf)


def sin(x):
    return x.unary("sin", math.sin(x.value), math.cos(x.value))


# Long: a document is written, part after part.
def trace(f, *args, tangents=None, adjoint=True, title="", code=None, spans=None):
    """Run ``f`` on numbers and write what happened as a ``minigrad.trace/1`` document."""
    tape, edges, steps, dot, bar = [], [], [], {}, {}
    inputs = [Var(tape, "input", float(a)) for a in args]
    out = f(*inputs)
    into = {v: [] for v in tape}  # node -> [(edge, parent, local derivative)]
    for v in tape:
        for slot, (u, partial) in enumerate(zip(v.parents, v.partials, strict=True)):
            edges.append(
                {
                    "id": f"e{len(edges) + 1}",
                    "src": u.name,
                    "dst": v.name,
                    "slot": slot,
                    "stage": "primal",
                }
            )
            into[v].append((edges[-1]["id"], u, partial))

    def step(phase, v, column, value, formula, say, used=(), lit=(), **more):
        reads, writes = [[u.name, column] for u in used], [[v.name, column, plain(value)]]
        cells = {"edges": list(lit), "reads": reads, "writes": writes}
        steps.append(
            {"phase": phase, "node": v.name, **cells, "formula": formula, "say": say, **more}
        )

    def primal(v):
        numbers = {u.name: num(u.value, "v") for u in v.parents}
        spelled = (
            [*v.expr, op("="), *(numbers.get(t.get("node"), t) for t in v.expr), op("=")]
            if v.expr
            else []
        )
        lit = [e for e, _, _ in into[v]]
        step(
            "primal",
            v,
            "v",
            v.value,
            [v.sym(), op("="), *spelled, num(v.value, "v")],
            f"{v.name} gets its value.",
            v.parents,
            lit,
        )

    def tangent(v):
        parts = [(e, u, partial) for e, u, partial in into[v] if u in dot]
        if v in inputs:
            dot[v] = float(tangents[inputs.index(v)])
            return step(
                "seed",
                v,
                "d",
                dot[v],
                [v.sym("dot"), op("="), num(dot[v], "d")],
                f"The tangent of {v.name} is seeded.",
            )
        if not parts:
            return None
        dot[v] = sum(partial * dot[u] for _, u, partial in parts)
        symbols = [
            t for _, u, partial in parts for t in (op("+"), num(partial), op("·"), u.sym("dot"))
        ][1:]
        numbers = [
            t for _, u, partial in parts for t in (op("+"), num(partial), op("·"), num(dot[u], "d"))
        ][1:]
        formula = [v.sym("dot"), op("="), *symbols, op("="), *numbers, op("="), num(dot[v], "d")]
        contribs = [
            {"edge": e, "local": plain(p), "upstream": plain(dot[u]), "product": plain(p * dot[u])}
            for e, u, p in parts
        ]
        say = f"The tangent of {v.name} is the sum of what its inputs send."
        return step(
            "tangent",
            v,
            "d",
            dot[v],
            formula,
            say,
            [u for _, u, _ in parts],
            [e for e, _, _ in parts],
            contribs=contribs,
        )

    def send(v, edge, u, partial):
        product, before = bar[v] * partial, bar.get(u)
        bar[u] = product if before is None else before + product
        contrib = {
            "edge": edge,
            "local": plain(partial),
            "upstream": plain(bar[v]),
            "product": plain(product),
        }
        if before is not None:
            contrib |= {"before": plain(before), "after": plain(bar[u])}
        local = {"t": "frac", "num": [op("∂"), v.sym()], "den": [op("∂"), u.sym()]}
        formula = [u.sym("bar"), op("=" if before is None else "+="), v.sym("bar"), op("·"), local]
        formula += [op("="), num(bar[v], "g"), op("·"), num(partial), op("="), num(product)]
        phase = "adjoint" if before is None else "accumulate"
        step(
            phase,
            u,
            "g",
            bar[u],
            formula,
            f"{v.name} sends its part back to {u.name}.",
            [v],
            [edge],
            contribs=[contrib],
        )

    for v in tape:
        primal(v)
        if tangents is not None:
            tangent(v)
    if adjoint:
        bar[out] = 1.0
        step(
            "seed",
            out,
            "g",
            1.0,
            [out.sym("bar"), op("="), num(1.0, "g")],
            f"The adjoint of the result {out.name} is seeded with 1.",
        )
        for v in reversed(tape):
            for edge, u, partial in into[v] if v in bar else ():
                if u.kind != "const":
                    send(v, edge, u, partial)

    nodes = []
    for v in tape:
        node = {
            "id": v.name,
            "label": {"base": v.base, "sub": v.sub},
            "kind": "output" if v is out and v.parents else v.kind,
            "expr": v.expr,
        }
        node |= {"shape": [], "dtype": "float64", "stage": "primal"} | (
            {"op": v.op} if v.op else {}
        )
        nodes.append(node | ({"span": spans[v.name]} if spans and v.name in spans else {}))
    used = {cell[1] for s in steps for cell in s["writes"]}
    columns = [
        {"key": "v", "label": "value", "phase": "primal"},
        {"key": "d", "label": "tangent", "phase": "tangent"},
    ]
    columns = [
        c
        for c in [*columns, {"key": "g", "label": "adjoint", "phase": "adjoint"}]
        if c["key"] in used
    ]
    document = {
        "schema": "minigrad.trace/1",
        "title": title,
        "inputs": [v.name for v in inputs],
        "outputs": [out.name],
        "seed": {},
    }
    document |= {"nodes": nodes, "edges": edges, "columns": columns, "steps": steps}
    return document | ({"source": {"code": code}} if code else {})
