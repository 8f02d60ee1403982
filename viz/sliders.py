"""Inputs that can be dragged: with a kernel the function is traced again at once. In a static page
the engine in JavaScript differentiates a function that it can read; of others the Traces of a grid
are held ready.

This is how a grid of Traces fits into a page: the Traces of one program differ only in their
numbers and sentences, so one of them is kept whole (the template), with the places that ever differ
(the holes), and each point of the grid as the list of what stands there.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from minigrad.viz.hosts import StepperDocument, kernel_runs
from minigrad.viz.layout import with_layout
from minigrad.viz.page import FUNCTION, link

from minigrad.watch import trace_function

POINTS = 11  # places of a slider in a static page
MOST = 2_000  # Traces in one page

Path = tuple[str | int, ...]


def sliders(
    f: Callable[..., Any], *, mode: str | None = None, points: int = POINTS,
    live: bool | None = None, step: int = 0, lang: str = "en",
    views: Sequence[str] = (), title: str | None = None, tangents: Any = None, **ranges: Any
) -> Any:  # fmt: skip
    """Show ``f`` with a slider for each input.

    Args:
        f: a function of numbers.
        ranges: for each argument by name ``(low, high)`` or ``(low, high, start)``; a single number
        stays fixed.
        mode, tangents, title: as for :func:`minigrad.watch.trace_function`.
        points: places of each slider in a static page, or, of a function that the page itself
        differentiates, those at which that was compared.
        live: trace again at every move (a widget, needs a kernel) or in the page; by default live
        where a kernel runs. step, lang, views: as for :func:`minigrad.viz.show`.

    Returns:
        A :class:`minigrad.viz.widget.Sliders`; in a static page a :class:`Function` or a
        :class:`Grid`.

    Raises:
        ValueError: no range; a range whose ends are no two different finite numbers in order; more
        than 2,000 points in a static page.
    """
    spans = {name: _span(name, given) for name, given in ranges.items()}
    if not any(isinstance(s, tuple) for s in spans.values()):
        raise ValueError("sliders: give a range for at least one argument, such as x1=(0.1, 5)")

    def trace(values: Mapping[str, float]) -> dict[str, Any]:
        at = {
            name: values.get(name, span[2] if isinstance(span, tuple) else span)
            for name, span in spans.items()
        }
        return trace_function(
            f, *at.values(), mode=mode, names=list(at), title=title, tangents=tangents
        )

    moving = {name: span for name, span in spans.items() if isinstance(span, tuple)}
    if kernel_runs() if live is None else live:
        from minigrad.viz.widget import Sliders

        return Sliders(trace, moving, step=step, lang=lang, views=views)
    traces = _traces(trace, moving, points)
    known = _known(traces)
    options: dict[str, Any] = {"step": step, "lang": lang, "views": views}
    if known is None:
        return Grid(traces, moving, points, **options)
    start = trace({name: span[2] for name, span in moving.items()})
    return SliderFunction(known, start, moving, title, **options)


def _axes(moving: Mapping[str, Any], points: int) -> dict[str, list[float]]:
    return {
        name: [low + (high - low) * k / (points - 1) for k in range(points)]
        for name, (low, high, _) in moving.items()
    }


def _traces(trace: Any, moving: Mapping[str, Any], points: int) -> list[dict[str, Any]]:
    """The Traces at the points of a grid."""
    if points < 2 or points ** len(moving) > MOST:
        raise ValueError(
            f"sliders: {points} places for each of {len(moving)} inputs are"
            f" {points ** len(moving):,} Traces; a page holds at most {MOST:,} (and needs two"
            " places); give fewer points"
        )
    axes = _axes(moving, points)
    return [
        trace(dict(zip(axes, values, strict=True))) for values in itertools.product(*axes.values())
    ]


def _known(traces: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """The function as the page's engine reads it, if that writes these Traces."""
    from minigrad.viz.explorer.links import function

    return function(traces)


class SliderFunction(StepperDocument):
    """A function behind sliders that the page differentiates at each of their places.

    document: that of the schema minigrad.function/1, with the Trace at the start, of which the page
    replaces the values.
    """

    def __init__(
        self, known: Mapping[str, Any], start: Mapping[str, Any], moving: Mapping[str, Any],
        title: str | None, **options: Any,
    ):  # fmt: skip
        inputs = [{"name": name, "values": [low, high]} for name, (low, high, _) in moving.items()]
        at = {name: span[2] for name, span in moving.items()}
        document = {
            "schema": FUNCTION,
            **known,
            "values": {**known["values"], **at},
            "inputs": inputs,
            "title": title,
            "trace": with_layout(start),
        }
        super().__init__(document, start, str(start["title"]), **options)

    def _link(self) -> str:
        return link(self.still, self.options)


def _span(name: str, given: Any) -> tuple[float, float, float] | float:
    if isinstance(given, int | float):
        return float(given)
    ends = (
        [float(v) for v in given]
        if isinstance(given, tuple | list) and len(given) in (2, 3)
        else []
    )
    if not ends or not -1e300 < ends[0] < ends[1] < 1e300 or not ends[0] <= ends[-1] <= ends[1]:
        raise ValueError(
            f"sliders: the range of {name} must be (low, high) or (low, high, start) with low <"
            f" high and the start between them, got {given!r}"
        )
    return ends[0], ends[1], ends[2] if len(ends) == 3 else (ends[0] + ends[1]) / 2


class Grid(StepperDocument):
    """The Traces of a grid of inputs behind sliders, in one page that needs no kernel."""

    def __init__(
        self,
        traces: Sequence[dict[str, Any]],
        moving: Mapping[str, Any],
        points: int,
        **options: Any,
    ):
        axes = _axes(moving, points)
        start = [
            min(range(points), key=lambda k, n=n: abs(axes[n][k] - moving[n][2])) for n in axes
        ]  # type: ignore[misc]
        templates, packed = pack([with_layout(one) for one in traces])
        document = {
            "schema": "minigrad.grid/1",
            "inputs": [{"name": name, "values": values} for name, values in axes.items()],
            "start": start,
            "templates": templates,
            "points": packed,
        }
        index = 0
        for k in start:
            index = index * points + k
        super().__init__(document, traces[index], str(traces[index]["title"]), **options)

    def _link(self) -> str:
        return link(self.still, self.options)


def pack(traces: Sequence[Mapping[str, Any]]) -> tuple[list[dict[str, Any]], list[list[Any]]]:
    """Documents as templates with holes, and for each document its template's number followed by
    what fills the holes.

    Documents of the same form (the same keys and lengths everywhere) share a template; ``unpack``
    undoes it exactly.
    """
    families: dict[Any, list[int]] = {}
    leaves = [dict(_leaves(one)) for one in traces]
    for i, found in enumerate(leaves):
        families.setdefault(tuple(found), []).append(i)
    templates, points = [], [[] for _ in traces]  # type: list[dict[str, Any]], list[list[Any]]
    for paths, members in families.items():
        first = leaves[members[0]]
        holes = [
            p
            for p in paths
            if any(
                type(leaves[i][p]) is not type(first[p]) or leaves[i][p] != first[p]
                for i in members
            )
        ]
        for i in members:
            points[i] = [len(templates), *(leaves[i][p] for p in holes)]
        templates.append({"trace": traces[members[0]], "holes": [list(p) for p in holes]})
    return templates, points


def _leaves(value: Any, at: Path = ()) -> Any:
    """``(path, value)`` of every number, text and empty part of a document."""
    if isinstance(value, dict) and value:
        for key, inner in value.items():
            yield from _leaves(inner, (*at, key))
    elif isinstance(value, list | tuple) and value:
        for i, inner in enumerate(value):
            yield from _leaves(inner, (*at, i))
    else:
        yield at, value
