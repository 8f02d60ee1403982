"""Two Traces as one graph, and the first step at which they part.

Two Traces agree if they have the same values in all that both tell, whatever their text and names
(:func:`minigrad.trace.first_divergence`). So a student's engine may be laid beside the reference,
and a right answer in another legal order is no difference.
"""

from __future__ import annotations

import functools
import math
import os
import sys
import warnings
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cached_property, partial
from inspect import signature
from itertools import islice
from pathlib import Path
from typing import Any

from minigrad.viz.display import traced_in_reverse
from minigrad.viz.hosts import StepperDocument, kernel_runs, saved
from minigrad.viz.layout import with_layout
from minigrad.viz.numbers import brief
from minigrad.viz.reading import check, column_of, heading_runs, plain
from minigrad.viz.script_page import tell
from minigrad.viz.speech import beside, blanks, difference, where_they_part
from minigrad.viz.texts import Words, words
from minigrad.viz.union import union

from minigrad import backend
from minigrad.trace import Divergence
from minigrad.trace.diff import Match, agree, edge_twins, first_difference, with_entry
from minigrad.trace.replay import numbers, state_at
from minigrad.trace.text import number
from minigrad.watch.values import value

TOLERANCES = {"rtol": 1e-6, "atol": 1e-9}
OPTIONS = (*TOLERANCES, "step", "lang", "views")
TOLD = ("kind", "step", "node", "column", "expected", "got", "edge")
"""What of a difference the viewer is told."""


class Pair:
    """Two Traces whose nodes are matched. divergence: the first difference, or None."""

    def __init__(self, first: Mapping[str, Any], second: Mapping[str, Any], **within: float):
        """within: `rtol` and `atol` of the comparison."""
        self.first, self.second = first, second
        self.close = partial(agree, **within)
        self.match = Match(dict(first), dict(second))
        shared = _of_shared_columns(first, second)
        self.divergence = first_difference(*shared, self.match, **within)

    @cached_property
    def ends(self) -> list[Mapping[tuple[str, str], Any]]:
        """What each node and column holds after the last step, in either Trace."""
        both = self.first, self.second
        return [state_at(dict(trace), len(trace["steps"])).cells for trace in both]

    @property
    def another_way(self) -> bool:
        """Whether the two may compute the same in different ways: their graphs differ, or of
        functions with different texts a value on the way."""
        found = self.divergence
        if found is None:
            return False
        code = found.column == "v" and _other_code(self.first, self.second)
        return found.column is None or code

    def outcome(self, names: Sequence[str], reference: bool, t: Words) -> tuple[str, bool]:
        """Where the graphs differ, whether the results and the inputs' adjoints agree, as a
        sentence, and whether they do. Nothing where one of the two has no result."""
        first, second, (ours, theirs) = self.first, self.second, self.ends
        twin = self.match.twin
        results = [*zip(first["outputs"], second["outputs"], strict=False)]
        inputs = [(name, twin[name]) for name in first["inputs"] if name in twin]
        columns = [{c["key"] for c in trace["columns"]} for trace in (first, second)]
        adjoints = inputs if results and "g" in columns[0] & columns[1] else []
        cells = [(*pair, column) for column in "vd" for pair in results]
        cells += [(*pair, "g") for pair in adjoints]
        for m, n, column in cells:
            pair = ours.get((m, column)), theirs.get((n, column))
            if pair == (None, None) or (column == "d" and None in pair):
                continue
            # an input that the result does not depend on has no adjoint
            a, b = (_zeros(other) if one is None else one for one, other in (pair, pair[::-1]))
            if self.close(a, b):
                continue
            shown = blanks(a, with_entry(a, b, self.close), t)
            told = {**shown, "node": m, "column": t(column), "a": names[0], "b": names[1]}
            if column == "v":
                said = t("pairResult" if reference else "pairResultPlain", **told)
                return said + shown["counted"], False
            said = t("pairValue" if reference else "pairPlain", **told) + shown["counted"]
            return f"{t('pairResultsAgree')} {said}" if column == "g" else said, False
        both = "pairAdjointsAgree" if adjoints else "pairResultsAgree"
        return t(both) if results else "", bool(results)

    def agreeing(self) -> dict[str, str]:
        """The nodes that belong together and have the same value: where the results agree, others
        are on another way to them."""
        ours, theirs = self.ends
        found = {}
        for m, n in self.match.roles.items():
            a, b = ours.get((m, "v")), theirs.get((n, "v"))
            if a is b is None or (None not in (a, b) and self.close(a, b)):
                found[m] = n
        return found


class Comparison(StepperDocument):
    """Two Traces as one graph. ``divergence`` is the first difference, or None."""

    ENDINGS = ".html, .svg or .png"

    def __init__(
        self,
        first: Mapping[str, Any],
        second: Any,
        names: Sequence[str] | None = None,
        reference: bool = True,
        graphs: bool = True,
        others: str = "",
        pair: Pair | None = None,
        **options: Any,
    ):
        """graphs: whether it is told where the graphs differ; else that they do. others: what is
        told of further results. pair: the two, where they have been matched already."""
        check(first)
        second, lacking = _trace_of(first, second)
        check(second)
        t = words(options.get("lang", "en"))
        names = [t("pairFirst"), t("pairSecond")] if names is None else names
        if len(names) != 2:
            raise ValueError(f"compare: names must be two texts, got {list(names)}")
        within = {k: options.pop(k, default) for k, default in TOLERANCES.items()}
        pair = pair or Pair(first, second, **within)
        match, found = pair.match, pair.divergence
        self.divergence = found
        self._reference, self._names = reference, [str(name) for name in names]
        self._others = others
        parted: dict[str, Any] | None = None
        self._values, self._advice, self._parts, alike = "", "", True, False
        if found is not None and pair.another_way:
            said, alike = pair.outcome(self._names, reference, t)
            if alike or found.column is None:
                self._values, parted = said, None if alike else {}
                self._parts = graphs and not alike and found.node is not None
            if parted is not None and (not graphs or _of_formulas(found, match)):
                listed = ", ".join(f'"{name}": …' for name in first["inputs"])
                self._advice = t("pairByValue", given=f"{{{listed}}}")
        told = match.roles if self._parts else match.twin
        twin = pair.agreeing() if alike else told
        both, ids = union(first, second, pair.close, str(names[1]), match, twin)
        both = with_layout(both)
        if alike:  # there are several right ways to a value
            both["beside"] |= {"cells": [], "sums": []}
        self._lacking = t("pairLacking", names=", ".join(lacking)) if lacking else ""
        if found is not None and self._parts:
            parted = {key: getattr(found, key) for key in TOLD} | _made(first, second, match, found)
            if found.kind != "structure":  # of one operation alone: what the other has there
                parted |= {k: None for k in ("expected", "got") if isinstance(parted[k], list)}
            if found.edge is not None:
                parted["factors"] = _factors(first, second, match, found)
            if found.kind == "extra":
                parted["node"] = ids.get(str(found.node))
            if found.column is None and not isinstance(found.expected, int):
                parted["results"] = _results(both, ids, pair)
        self.first = first
        document = {
            "schema": "minigrad.pair/1",
            "union": both,
            "difference": parted,
            "names": self._names,
        }
        super().__init__(document, both, f"{names[0]} · {names[1]}", **options)
        self.document["told"] = " ".join(self._told())

    def save(self, path: str | os.PathLike[str], **options: Any) -> Path:
        """Write the page to a file, or with the ending .svg or .png a picture of the step, with the
        options of :func:`minigrad.viz.save`; returns its path. Raises ValueError for another
        ending.
        """
        from minigrad.viz.export import save

        if Path(path).suffix.lower() not in (".svg", ".png"):
            return super().save(Path(path), **options)
        told = {**self.still, "difference": "\n".join(self._told())}
        own = {"step": self.options["step"] or None, "lang": self._lang}
        written = save(told, path, **own | options)
        saved(self)
        return written

    def __repr__(self) -> str:
        return " ".join(self._told())

    def _told(self) -> list[str]:
        """The sentences about the two: whether the results agree, the first difference, the
        rest."""
        t = words(self._lang)
        apart = self.document["difference"] is not None
        within = self.document["union"]["beside"].get("within", {}) if apart else {}
        a, b = self._names
        steps = [
            t("pairSteps", node=node, first=first, second=second, a=a, b=b)
            for node, (first, second) in islice(within.items(), 3)
        ]
        parted = self._parted(self.divergence, t)
        said = [self._others, self._values, parted, self._advice, self._lacking, *steps]
        return [sentence for sentence in said if sentence]

    def _parted(self, found: Divergence | None, t: Words) -> str:
        if not self._parts:
            return t("pairOther")
        if found is None or self._reference:
            return difference(self.first, found, t, self._names)
        return where_they_part(found, beside(found, self._names, t), t)


def compare(
    first: Any,
    second: Any,
    *inputs: Any,
    names: Sequence[str] | None = None,
    reference: bool = True,
    output: Any = None,
    browser: bool = False,
    **options: Any,
) -> Any:
    """Show two computations as one graph on the first one's clock: what agrees is quiet, what
    differs has both values, and the first difference stands above, with a sentence.

        viz.compare(f, mine, 2.0, 5.0)                 two functions, at the same inputs
        viz.compare(trace, viz.trace_of(y))            two Traces, here one of your own engine
        viz.compare(f, [5.5, 1.716], 2.0, 5.0)         gradients by hand, in the inputs' order
        viz.compare(f, {"b": 1.716}, 2.0, 5.0)         that of one input, by its name

    Args:
        first: the reference, a Trace or a function. second: the Trace or function that is compared
        with it; or the gradients of the inputs alone, from whatever engine: a list in the inputs'
        order, a dict by their names, which may leave some out, or that of the only input; or a
        function that returns them, as a tuple, a list or a dict. A number of four digits stands
        for what the viewer writes so.
        inputs: what functions are called with; each is traced in reverse mode, one of PyTorch by
        :func:`minigrad.viz.from_torch`.
        reference: whether the first is right (a student's engine beside it). If False, the
        difference is told without a verdict: before and after a step of training.
        names: how the two are called; if not given, functions by their names, a derivative as
        ``grad(f)``, and others "first" and "second", in the stepper's language.
        output: of functions that return several results, a tuple, a list or a dict, the index or
        the key of the one that is shown; if not given, each is compared, and the first that
        differs is shown.
        browser: as for :func:`minigrad.viz.show`, outside of notebooks.
        options: ``rtol`` and ``atol`` of the comparison; ``step``, ``lang`` and ``views`` of the
        stepper.

    Returns:
        A :class:`minigrad.viz.widget.ComparisonWidget` where a kernel runs and anywidget is
        installed, else a :class:`Comparison`; both have ``divergence``, ``to_html()`` and
        ``save(path)``.

    Raises:
        minigrad.viz.reading.TraceError: one of them is not a Trace.
        ValueError: not two names; an unknown view or language; a list of gradients that are not one
        for each input, those of unknown inputs, or of a Trace without adjoints.
        TypeError: gradients that are no numbers; functions without inputs, or inputs without a
        function; an ``output`` that is no result of both; an unknown option.
    """
    __tracebackhide__ = True  # a notebook then shows the caller's line and the message
    if unknown := [name for name in options if name not in OPTIONS]:
        more = "; a Trace of another mode is compared as it is" if unknown[0] == "mode" else ""
        raise TypeError(
            f"compare: there is no option {unknown[0]!r}; there are {', '.join(OPTIONS)}, and"
            f" functions are compared in reverse mode{more}"
        )
    derived, others, pair = False, "", None
    if callable(first) or callable(second):
        t = words(options.get("lang", "en"))
        called = [_called(f) for f in (first, second)]
        if names is None and called[0] != called[1]:
            known = zip(called, (t("pairFirst"), t("pairSecond")), strict=True)
            names = [name or other for name, other in known]
        both = first, second
        derived = any(map(_maker, both))  # the graph of a derivative has steps that no code tells
        if output is None:
            try:
                first = _run(first, inputs, both)
                second = _run(second, inputs, both, gradients=True)
            except TypeError:
                if not (keys := _keys(both, inputs)):
                    raise
                within = {k: options.get(k, default) for k, default in TOLERANCES.items()}
                pair, others = _first_apart(both, inputs, keys, within, t)
                first, second = pair.first, pair.second
        elif output in (keys := _keys(both, inputs)):
            first, second = (_run(_part(f, output), inputs, both) for f in both)
        else:
            raise TypeError(
                f"compare: output={output!r} is none of the results of both functions, which are"
                f" {', '.join(map(repr, keys)) or 'not several'}"
            )
    elif inputs:
        raise TypeError(
            "compare: inputs are given with functions, as in viz.compare(f, mine, 2.0, 5.0); a"
            " Trace has its own. The names of the two are given as names=(…, …)."
        )
    found = Comparison(first, second, names, reference, not derived, others, pair, **options)
    if kernel_runs():
        try:
            from minigrad.viz.widget import ComparisonWidget
        except ModuleNotFoundError:
            return found
        return ComparisonWidget(found)
    return tell(found, sys._getframe(1).f_globals, browser)


def _maker(f: Any) -> str:
    """What of minigrad.func made a function of another one: "grad". Else nothing."""
    made = str(getattr(f, "__globals__", {}).get("__name__")).startswith("minigrad.func.")
    return f.__code__.co_qualname.partition(".")[0] if made and hasattr(f, "__wrapped__") else ""


def _called(f: Any) -> str:
    """The name of a function: "f", "grad(f)"; nothing of a lambda."""
    inner = _called(f.__wrapped__) if (maker := _maker(f)) else ""
    name = str(getattr(f, "__name__", ""))
    return f"{maker}({inner})" if inner else name if not maker and name.isidentifier() else ""


def _run(f: Any, inputs: Sequence[Any], both: Sequence[Any], gradients: bool = False) -> Any:
    """The Trace of a function at the inputs; anything else as it is. both: what is compared;
    gradients: if f returns one for each input instead of a result, these.
    """
    __tracebackhide__ = True
    if not callable(f):
        return f
    if not inputs:
        calls = ", ".join(getattr(one, "__name__", "trace") for one in both)
        raise TypeError(
            f"compare: a function is compared at its inputs; give them too, as in"
            f" viz.compare({calls}, 2.0, 5.0)"
        )
    try:
        with warnings.catch_warnings(record=True) as said:  # math.sin(x) is right in gradients
            warnings.simplefilter("always")
            trace = traced_in_reverse(f, inputs)
    except TypeError:
        found: Any = None
        with suppress(Exception):  # the first error is told
            found = f(*inputs) if gradients else None
        if isinstance(found, tuple | list) and len(found) == len(inputs):
            return list(found)
        if isinstance(found, dict) and found.keys() <= {*signature(both[0]).parameters}:
            return found
        raise
    for one in said:
        warnings.warn_explicit(one.message, one.category, one.filename, one.lineno)
    return trace


def _part(f: Any, key: Any = None, keys: list[Any] | None = None) -> Any:
    """A function with one of its several results: of the first key, or of another. keys: takes
    all keys, a dict's own or 0, 1, …; none of a function that returns one result."""

    @functools.wraps(f)
    def part(*given: Any) -> Any:
        out = f(*given)
        listed = dict(enumerate(out)) if isinstance(out, tuple | list) else {}
        found = out if isinstance(out, dict) else listed
        if keys is not None:
            keys[:] = found
        return found[next(iter(found)) if key is None else key] if found else out

    return part


def _keys(both: Sequence[Any], inputs: Sequence[Any]) -> list[Any]:
    """The keys of the several results that two functions both return."""
    found: list[list[Any]] = [[], []]
    if all(map(callable, both)):
        for f, keys in zip(both, found, strict=True):
            with suppress(Exception):  # what is wrong with a result is told when it is compared
                traced_in_reverse(_part(f, keys=keys), inputs)
    return found[0] if found[0] == found[1] else []


def _first_apart(
    both: Sequence[Any], inputs: Sequence[Any], keys: Sequence[Any], within: Any, t: Words
) -> tuple[Pair, str]:
    """Of several results the Traces of the first that differs, or of the first; and how many
    differ, as a sentence."""
    pairs = [Pair(*(_run(_part(f, key), inputs, both) for f in both), **within) for key in keys]
    # the graphs have the other results, too
    apart = [
        k
        for k, pair in enumerate(pairs)
        if pair.divergence and not (pair.another_way and pair.outcome(("", ""), True, t)[1])
    ]
    at = apart[0] if apart else 0
    return pairs[at], t("pairSeveral", n=len(apart), all=len(keys), key=f"[{keys[at]!r}]")


def _trace_of(first: Mapping[str, Any], second: Any) -> tuple[Any, list[str]]:
    """The second Trace; of gradients the first one with these as the inputs' adjoints, and the
    inputs whose gradients a dict leaves out."""
    by_name = isinstance(second, Mapping)
    if by_name and ("schema" in second or not second.keys() & {*first["inputs"]}):
        return second, []  # whatever it is
    last = {
        cell[0]: (i, j)
        for i, step in enumerate(first["steps"])
        for j, cell in enumerate(step["writes"])
        if cell[1] == "g" and cell[0] in first["inputs"]
    }
    names = [name for name in first["inputs"] if name in last]
    if not names:
        raise ValueError(
            "compare: gradients are compared with the adjoints of the inputs, and this Trace has"
            ' none; trace the function with mode="reverse"'
        )
    if isinstance(second, str):
        raise TypeError(
            f"compare: {second!r} is a text; give a function, a Trace, or the gradients as numbers"
        )
    # of one input the list may be the gradient, an array
    single = len(names) == 1 and not (isinstance(second, list | tuple) and len(second) == 1)
    listed = [second] if single or not hasattr(second, "__len__") else list(second)
    given = dict(second) if by_name else dict(zip(names, listed, strict=False))
    wanted = ", ".join(names)
    if unknown := [str(name) for name in given if name not in names]:
        raise ValueError(
            f"compare: a gradient is given for {', '.join(unknown)}, but those to compare with are"
            f" of {wanted}"
        )
    if not by_name and len(listed) != len(names):
        raise ValueError(
            f"compare: one gradient is needed for each of {wanted}, but got {len(listed)}; a dict,"
            f" {{{names[0]!r}: …}}, may leave some out"
        )
    steps = [*first["steps"]]
    for name, gradient in given.items():
        i, j = last[name]
        writes = [*steps[i]["writes"]]
        exact = writes[j][2]
        found = _number(name, gradient)
        writes[j] = [name, "g", exact if _is_rounded(exact, found) else found]
        steps[i] = {**steps[i], "writes": writes}
    return {**first, "steps": steps}, [name for name in names if name not in given]


def _is_rounded(exact: Any, given: Any) -> bool:
    """Whether a number is another one as the viewer writes it, with four digits: typed by hand."""
    if not all(type(v) is float and math.isfinite(v) for v in (exact, given)):
        return False
    digits = len(repr(abs(given)).partition("e")[0].replace(".", "").strip("0"))
    return digits == 4 and number(exact) == number(given)


def _number(name: str, gradient: Any) -> Any:
    """A gradient as a Trace holds it."""
    plain = gradient.detach() if hasattr(gradient, "detach") else gradient
    try:
        found = backend.numpy.asarray(plain)
    except (TypeError, ValueError, RuntimeError):
        found = backend.numpy.asarray(None)
    if found.dtype.kind not in "biufc":
        raise TypeError(
            f"compare: the gradient of {name} is neither number nor array: {gradient!r}"
        )
    return value(found)


def _other_code(first: Mapping[str, Any], second: Mapping[str, Any]) -> bool:
    """Whether the two Traces are of functions with different texts."""
    codes = [(trace.get("source") or {}).get("code") for trace in (first, second)]
    return all(codes) and codes[0] != codes[1]


def _of_formulas(found: Divergence, match: Match) -> bool:
    """Whether two graphs are rather two formulas than one with another operation: no few changes
    lead from one to the other, or several that change operands."""
    operands = found.kind == "structure" and isinstance(found.expected, list)
    return found.node is None or (operands and match.changes > 1)


def _zeros(value: Any) -> Any:
    """Zero in the form of a value."""
    flat = numbers(value) or [0.0]
    return {**value, "sample": [0.0] * len(flat)} if isinstance(value, dict) else 0.0


def _made(
    first: Mapping[str, Any], second: Mapping[str, Any], match: Match, found: Divergence
) -> dict[str, Any]:
    """Where the two Traces are of different functions, the code that made what differs: for each
    the number of the line and what stands in it before, at and after the piece, or None.
    """
    if not _other_code(first, second):
        return {}
    sources = [trace["source"] for trace in (first, second)]
    pieces: list[Any] = []
    places = (None, found.node) if found.kind == "extra" else (found.node, found.twin)
    sent = next((edge for edge in first["edges"] if edge["id"] == found.edge), None)
    if sent is not None:  # what is wrong is the rule of the operation that sends
        places = (sent["dst"], match.twin.get(sent["dst"]))
    for trace, source, place in zip((first, second), sources, places, strict=True):
        span = next((n.get("span") for n in trace["nodes"] if n["id"] == place), None)
        if span is None:
            pieces.append(None)
            continue
        begin, start, end, stop = span
        line = str(source["code"]).split("\n")[begin - 1]
        number = source.get("first_line", 1) + begin - 1
        cut = stop if begin == end else len(line)
        pieces.append([number, line[:start].lstrip(), line[start:cut], line[cut:]])
    return {"made": pieces}


def _factors(
    first: Mapping[str, Any], second: Mapping[str, Any], match: Match, found: Divergence
) -> list[Any]:
    """The two numbers whose product either Trace sends along the edge where the two part, in the
    order of its formula; None where they are not known, or are no numbers.
    """
    edges = found.edge, edge_twins(dict(first), dict(second), match.twin).get(str(found.edge))
    out: list[Any] = []
    for trace, edge in zip((first, second), edges, strict=True):
        sent = (
            [part.get("local"), part["upstream"]][:: -1 if found.column == "g" else 1]
            for step in trace["steps"]
            if column_of(step) == found.column
            for part in step.get("contribs", ())
            if part["edge"] == edge
        )
        pair = next(sent, [None])
        out.append(pair if all(isinstance(one, int | float) for one in pair) else None)
    return out


def _results(both: Mapping[str, Any], ids: Mapping[str, str], pair: Pair) -> list[str | None]:
    """What either Trace computes where their graphs differ, as "sin x2 = −0.9589"; None for one
    that computes nothing there. ids: what the union calls the second's nodes."""
    nodes = {node["id"]: node for node in both["nodes"]}
    found = pair.divergence
    assert found is not None  # where they part
    mine = None if found.kind == "extra" else found.node
    theirs = found.node if found.kind == "extra" else found.twin
    out: list[str | None] = []
    known_as = mine, ids.get(str(theirs))
    for cells, own, known in zip(pair.ends, (mine, theirs), known_as, strict=True):
        if known not in nodes or own is None:
            out.append(None)
            continue
        head = plain(heading_runs(nodes[known])).partition(" = ")[2]
        written = cells.get((own, "v"))
        out.append(head if written is None else f"{head} = {brief(written, 24)}")
    return out


def _of_shared_columns(first: Mapping[str, Any], second: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The two Traces as they are compared: where each has a column of its own (forward mode beside
    reverse mode), only what both compute.
    """
    keys = [{c["key"] for c in trace["columns"]} for trace in (first, second)]
    if not (keys[0] - keys[1] and keys[1] - keys[0]):
        return [dict(first), dict(second)]
    shared = keys[0] & keys[1]
    return [
        {**trace, "steps": [step for step in trace["steps"] if column_of(step) in shared]}
        for trace in (first, second)
    ]
