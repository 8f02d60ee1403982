"""Why a result is not finite: at the step that made it so, the operation's domain, and after that
the value that it comes from.

A step says so as data ("nonfinite") and in its sentence. An operation declares its domain
(facets.py) as a condition, `x > 0`, which is asked of the operands at hand.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from typing import Any

from .. import backend
from ..backend import numpy
from ..scalar import Term, parsed
from ..trace.text import reason
from .notation import ATOM, NEGATIVE, Tokens, is_signed, num, op, ranked, symbol
from .values import is_array

_QUESTIONS: dict[str, Any] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": operator.eq,
    "!=": operator.ne, "and": numpy.logical_and, "or": numpy.logical_or, "neg": operator.neg,
    "floor": numpy.floor,
}  # fmt: skip
_ACCENTS = {"v": None, "d": "dot", "g": "bar"}


def kind(shown: Any) -> str | None:
    """What a value has that is not finite: "nan", "inf" or "-inf"; None if it is finite."""
    if isinstance(shown, str):
        return shown
    if not isinstance(shown, dict):
        return None
    if is_array(shown):
        ends = (shown["min"], shown["max"]) if "min" in shown else shown["sample"]
        found = [one for one in map(kind, ends) if one]
    else:
        found = [one for one in (kind(shown["re"]), kind(shown["im"])) if one]
    return "nan" if "nan" in found else next(iter(found), None)


def made_here(
    prim: Any, args: Sequence[Any], params: dict[str, Any], result: Any, symbols: Tokens
) -> dict[str, Any] | None:
    """Of a result that is not finite where the operands are: what says why, the operation's domain
    with the operands' symbols, where they lie outside of it. None if it came with an operand."""
    result = backend.to_numpy(result)
    operands = [backend.to_numpy(getattr(a, "array", a)) for a in args]
    operands = [a if hasattr(a, "dtype") else numpy.asarray(a) for a in operands]
    if any(a.dtype.kind not in "biufc" for a in (*operands, result)):
        return None
    bad = ~numpy.isfinite(result)
    if not getattr(prim, "elementwise", False):
        return {} if all(numpy.isfinite(a).all() for a in operands) else None
    for a in operands:
        bad = bad & numpy.isfinite(a)
    if not bad.any():
        return None
    domain = getattr(prim, "domain", None)
    if domain is None or any(a.dtype.kind == "c" for a in operands):
        return {}
    given = dict(zip(prim.inputs, operands, strict=True))
    numbers = {n: a for n, a in zip(prim.inputs, args, strict=True) if isinstance(a, int | float)}
    term = folded(parsed(domain), {**params, **numbers})
    if (asked(term, given) | ~bad).all():
        return {}
    if not isinstance(term, tuple):  # the numbers in the program decide: x / 0
        return {"where": []}
    ranks = [([t], NEGATIVE if is_signed(t) else ATOM) for t in symbols]
    named = dict(zip(prim.inputs, ranks, strict=True))
    leaf = lambda part: named[part] if isinstance(part, str) else ([num(part)], ATOM)
    return {"where": ranked(term, leaf)[0]}


def asked(term: Term, values: dict[str, Any]) -> Any:
    """Where a condition holds."""
    if isinstance(term, tuple):
        return _QUESTIONS[term[0]](*(asked(part, values) for part in term[1:]))
    return values[term] if isinstance(term, str) else term


def folded(term: Term, params: dict[str, Any]) -> Term:
    """A condition with numbers in the place of parameters, and without the parts that these
    decide."""
    if not isinstance(term, tuple):
        return params.get(term, term) if isinstance(term, str) else term
    word, *parts = term
    inside = [folded(part, params) for part in parts]
    known = [part for part in inside if not isinstance(part, str | tuple)]
    if len(known) == len(inside):
        found: Term = _QUESTIONS[word](*known)
        return found
    if known and word in ("and", "or"):
        (rest,) = (part for part in inside if isinstance(part, str | tuple))
        return rest if bool(known[0]) == (word == "and") else known[0]
    return word, *inside


def explain(
    steps: list[dict[str, Any]],
    nodes: Mapping[str, dict[str, Any]],
    edges: list[dict[str, Any]],
    made: Mapping[str, dict[str, Any] | None],
) -> None:
    """Say at each step whose result is not finite what made it so, or from where it comes. made:
    of each such value `made_here`."""
    ends = {edge["id"]: (edge["src"], edge["dst"]) for edge in edges}
    origins: dict[tuple[str, str], tuple[Any, str]] = {}  # the cell that was first, and its kind
    no_values: set[str] = set()  # nodes whose value is NaN
    for step in steps:
        for node, column, shown in step["writes"]:
            found = None if type(shown) is float else kind(shown)  # as most are
            if found is None:
                origins.pop((node, column), None)
                if column != "v" and no_values:
                    _of_no_value(step, node, no_values, ends)
                continue
            if column == "v" and shown == "nan":  # of an array other elements may have values
                no_values.add(node)
            cell = node, column
            read = [tuple(one) for one in step["reads"]]
            if column == "g" and "uses" not in step:  # a rule that may read anything
                read += [(end, "v") for edge in step["edges"] for end in ends[edge]]
            known = [origins[one] for one in read if one in origins]
            own = made.get(node) if column == "v" else None
            told: dict[str, Any] | None = None
            if own is None and known:
                same = (one for one in known if one[1] == found)
                origins[cell] = (first, was) = next(same, known[0])
                what = [symbol(first[0], _ACCENTS[first[1]], first[1])]
                told = {"why": "from", "what": what if was == found else [*what, op("="), num(was)]}
            else:
                origins[cell] = cell, found
                operation = nodes[ends[step["edges"][0]][1]] if step["edges"] else nodes[node]
                if column != "v" and step["edges"]:
                    told = {"why": "slope", "what": operation["expr"]}
                elif own is not None:
                    told = _reason(own, found, nodes[node])
            if told is not None and "nonfinite" not in step:
                step["nonfinite"] = {**told, "kind": found}
                step["say"] += " " + reason(step["nonfinite"])


def _of_no_value(
    step: dict[str, Any], node: str, no_values: set[str], ends: Mapping[str, tuple[str, str]]
) -> None:
    """Say at a finite derivative that the value is NaN that it is of, or that it comes from."""
    about = [node, *(end for edge in step["edges"] for end in ends[edge])]
    of = next((one for one in about if one in no_values), None)
    if of is not None:
        step["despite"] = of
        what = [symbol(of, None, "v")]
        step["say"] += " " + reason({"why": "despite", "what": what, "kind": "nan"})


def _reason(own: dict[str, Any], found: str, node: dict[str, Any]) -> dict[str, Any]:
    """Why an operation gives this value for finite operands."""
    if own.get("where"):
        return {"why": "domain", "what": node["expr"], **own}
    if found == "nan" or "where" in own:
        return {"why": "undefined", "what": node["expr"]}
    return {"why": "large", "what": [{"t": "text", "text": node["dtype"]}]}
