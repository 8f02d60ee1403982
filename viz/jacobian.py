"""The Jacobian of a function, column by column in forward mode and row by row in reverse mode, as
one Trace.

Both modes fill the same matrix, in different order: a pass of forward mode is seeded with one input
and gives one column (how all outputs change with that input), a pass of reverse mode is seeded with
one output and gives one row. Every pass is run by the engine and observed
(:func:`minigrad.watch.trace_function`); here the passes are only put one after another, or, for a
race of the two modes, one beside the other on the same clock. Values are computed once in the
picture; each pass begins by forgetting the one before.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator, Sequence
from itertools import zip_longest
from typing import Any

from minigrad.viz.texts import words

from minigrad.trace import state_at
from minigrad.trace.value_schema import SAMPLE
from minigrad.watch import trace_function
from minigrad.watch.values import more_elements

WAYS = ("columns", "rows", "both")
MOST = 200  # rows plus columns: each is a pass of its own

Trace = dict[str, Any]
Entry = tuple[str, int]
"""One number of an input or output: its node, and its place in that node's value."""


def jacobian_trace(
    f: Callable[..., Any],
    *args: Any,
    by: str = "both",
    names: Sequence[str] | None = None,
    title: str | None = None,
    lang: str = "en",
) -> Trace:
    """A Trace that fills the Jacobian of ``f`` at ``args``.

    Args:
        f: a function of tensors that returns one tensor, or a tuple or list of them.
        args: the point: numbers, arrays, tensors. Rows are the numbers of the results, columns
        those of the arguments.
        by: ``"columns"`` (forward mode), ``"rows"`` (reverse mode), or ``"both"``, side by side on
        one clock.
        names: of the arguments; title: of the Trace; lang: the language of the title where none is
        given, "en" or "zh".

    Returns:
        A ``minigrad.trace/1`` document of several passes (``"passes"``) whose steps fill
        (``"entries"``) a matrix (``"jacobian"``).

    Raises:
        ValueError: an unknown ``by`` or language; a Jacobian too large to watch; a function whose
        operations differ from run to run. What :func:`minigrad.watch.trace_function` raises.
    """
    if by not in WAYS:
        raise ValueError(f"jacobian: by must be one of {', '.join(WAYS)}, got {by!r}")
    t = words(lang)
    with more_elements(MOST):
        found = _shortened(_filled(f, args, by, names))
    return {**found, "title": f"{t('view_jacobian')}: {found['title']}" if title is None else title}


def _shortened(part: Any) -> Any:
    """Every array's sample cut to the 16 elements that a Trace holds; the matrix has the others
    by then.
    """
    if isinstance(part, dict):
        return {
            key: value[:SAMPLE] if key == "sample" else _shortened(value)
            for key, value in part.items()
        }
    return [_shortened(one) for one in part] if isinstance(part, list) else part


def _filled(
    f: Callable[..., Any], args: tuple[Any, ...], by: str, names: Sequence[str] | None
) -> Trace:
    results = _count(f, args)
    run = functools.partial(_run, f, args, names)
    base = [run(i, mode="primal") for i in range(results)]
    trace = {**base[0], "outputs": list(dict.fromkeys(o for one in base for o in one["outputs"]))}
    inputs = [(node, k) for node in trace["inputs"] for k in range(_size(trace, node))]
    outputs = [(one["outputs"][0], k) for one in base for k in range(_size(one, one["outputs"][0]))]
    if len(inputs) + len(outputs) > MOST:
        raise ValueError(
            f"jacobian: {len(outputs)} rows and {len(inputs)} columns are too many to watch; at"
            f" most {MOST} together"
        )
    columns = (
        [_forward(run, trace, inputs, outputs, j) for j in range(len(inputs))]
        if by != "rows"
        else []
    )
    rows = (
        [_reverse(run, base, inputs, outputs, i) for i in range(len(outputs))]
        if by != "columns"
        else []
    )
    for one, *_ in (*columns, *rows):
        _same_graph(trace, one)
    passes = [{"mode": "forward", "seed": one["seed"]} for one, _ in columns] + [
        {"mode": "reverse", "seed": one["seed"]} for one, _ in rows
    ]
    for k, (_, steps) in enumerate([*columns, *rows]):
        for step in steps:
            step["pass"] = k
            step.pop("free", None)  # each pass has run the function again
    first, second = ([step for _, steps in part for step in steps] for part in (columns, rows))
    together = [step for pair in zip_longest(first, second) for step in pair if step is not None]
    used = {cell[1] for step in [*trace["steps"], *together] for cell in step["writes"]}
    found = [c for one, *_ in (*columns, *rows) for c in one["columns"] if c["key"] in used]
    for node in trace["nodes"]:
        if node["id"] in trace["outputs"] and node["kind"] == "op":
            node["kind"] = "output"
        if not all(
            n.get("dangling") for one in base for n in one["nodes"] if n["id"] == node["id"]
        ):
            node.pop("dangling", None)  # it leads to one of the outputs
    return {
        **trace,
        "seed": {},
        "columns": sorted(
            {c["key"]: c for c in [*trace["columns"], *found]}.values(),
            key=lambda c: "vdg".index(c["key"]),
        ),
        "passes": passes,
        "jacobian": {
            "rows": [_name(trace, o) for o in outputs],
            "columns": [_name(trace, x) for x in inputs],
        },
        "steps": [*trace["steps"], *together],
    }


def _count(f: Callable[..., Any], args: tuple[Any, ...]) -> int:
    counted: list[int] = []

    @functools.wraps(f)
    def first(*xs: Any) -> Any:
        out = f(*xs)
        several = isinstance(out, tuple | list)
        counted.append(len(out) if several else 1)
        return out[0] if several else out

    trace_function(first, *args, mode="primal")
    return counted[0]


def _run(
    f: Callable[..., Any],
    args: tuple[Any, ...],
    names: Sequence[str] | None,
    index: int,
    **options: Any,
) -> Trace:
    """Run f under observation, its result number ``index`` being the output."""

    @functools.wraps(f)
    def chosen(*xs: Any) -> Any:
        out = f(*xs)
        return out[index] if isinstance(out, tuple | list) else out

    return trace_function(chosen, *args, names=names, **options)


def _forward(
    run: Any, trace: Trace, inputs: list[Entry], outputs: list[Entry], j: int
) -> tuple[Trace, list[Any]]:
    """One column: the tangents of all outputs, the seed being 1 at one number of one input."""
    node, place = inputs[j]
    seeds = {x: _unit(trace, x, place if x == node else None) for x in trace["inputs"]}
    one = run(0, mode="forward", tangents=seeds)
    steps = [
        dict(s)
        for s in one["steps"]
        if s["phase"] == "tangent" or (s["phase"] == "seed" and s["writes"][0][1] == "d")
    ]
    state = state_at(one, len(one["steps"])).cells
    for step in steps:
        filled = [
            [i, j, _element(state[o, "d"], k)]
            for i, (o, k) in enumerate(outputs)
            if step["writes"][0][:2] == [o, "d"]
        ]
        if filled:
            step["entries"] = filled
    steps[0]["clear"] = ["d"]
    return one, steps


def _reverse(
    run: Any, base: list[Trace], inputs: list[Entry], outputs: list[Entry], i: int
) -> tuple[Trace, list[Any]]:
    """One row: the adjoints of all inputs, the seed being 1 at one number of one output."""
    node, place = outputs[i]
    index = next(n for n, one in enumerate(base) if one["outputs"][0] == node)
    one = run(index, mode="reverse", cotangent=_unit(base[index], node, place))
    steps = [dict(s) for s in one["steps"] if s["writes"] and s["writes"][0][1] == "g"]
    last = {s["writes"][0][0]: k for k, s in enumerate(steps)}
    for k, step in enumerate(steps):
        name, _, value = step["writes"][0]
        filled = [
            [i, j, _element(value, at)]
            for j, (x, at) in enumerate(inputs)
            if x == name and last[name] == k
        ]
        if filled:
            step["entries"] = filled
    missing = [j for j, (x, _) in enumerate(inputs) if x not in last]
    # an output that does not depend on an input at all: nothing is sent to it, and that entry is
    # zero
    if missing:
        steps[-1]["entries"] = [*steps[-1].get("entries", []), *([i, j, 0.0] for j in missing)]
    steps[0]["clear"] = ["g"]
    return one, steps


def _size(trace: Trace, node: str) -> int:
    return math.prod(next(n["shape"] for n in trace["nodes"] if n["id"] == node))


def _unit(trace: Trace, node: str, place: int | None) -> Any:
    """Zeros of the node's shape with a 1 at one place, as nested lists."""
    shape = next(n["shape"] for n in trace["nodes"] if n["id"] == node)
    flat: Iterator[float] = iter([1.0 if k == place else 0.0 for k in range(math.prod(shape))])

    def nested(sizes: list[int]) -> Any:
        return next(flat) if not sizes else [nested(sizes[1:]) for _ in range(sizes[0])]

    return nested(list(shape))


def _element(value: Any, k: int) -> Any:
    """A number of a value."""
    return value if not isinstance(value, dict) or "re" in value else value["sample"][k]


def _name(trace: Trace, entry: Entry) -> str:
    node, k = entry
    shape = next(n["shape"] for n in trace["nodes"] if n["id"] == node)
    if not shape:
        return node
    index: list[str] = []
    for size in reversed(shape):
        index.insert(0, str(k % size))
        k //= size
    return f"{node}[{', '.join(index)}]"


def _same_graph(a: Trace, b: Trace) -> None:
    """All passes must have seen the same operations, or their steps do not belong to one
    picture.
    """
    if [(n["id"], n.get("op")) for n in a["nodes"]] != [
        (n["id"], n.get("op")) for n in b["nodes"]
    ] or a["edges"] != b["edges"]:
        raise ValueError(
            "jacobian: the function ran other operations in another pass (randomness, or state);"
            " make it deterministic"
        )
