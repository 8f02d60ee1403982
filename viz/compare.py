"""Two Traces on one clock, and the first step at which they part.

Two Traces agree if they have the same values in all that both tell, whatever their text and names
(:func:`minigrad.trace.first_divergence`). So a student's engine may be laid beside the reference,
and a right answer in another legal order is no difference.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from minigrad.viz.hosts import Shown, kernel_runs
from minigrad.viz.layout import with_layout
from minigrad.viz.reading import check
from minigrad.viz.speech import difference
from minigrad.viz.texts import words

from minigrad.trace import first_divergence


class Comparison(Shown):
    """Two Traces, one below the other. ``divergence`` is the first difference, or None."""

    def __init__(
        self,
        first: Mapping[str, Any],
        second: Mapping[str, Any],
        names: Sequence[str] | None = None,
        **options: Any,
    ):
        check(first)
        check(second)
        t = words(options.get("lang", "en"))
        names = [t("pairFirst"), t("pairSecond")] if names is None else names
        if len(names) != 2:
            raise ValueError(f"compare: names must be two texts, got {list(names)}")
        self.divergence = first_divergence(
            dict(first),
            dict(second),
            **{k: options.pop(k) for k in ("rtol", "atol") if k in options},
        )
        found = self.divergence
        parted = None
        if found is not None:
            order = [n["id"] for n in _ordered(first)], [n["id"] for n in _ordered(second)]
            at = order[0].index(found.node) if found.node in order[0] else -1
            other = order[1][at] if 0 <= at < len(order[1]) else None
            parted = {
                "step": found.step,
                "node": found.node,
                "other": other,
                "column": found.column,
                "say": found.say,
            }
            parted |= {
                "kind": found.kind,
                "expected": found.expected,
                "got": found.got,
                "edge": found.edge,
            }
        document = {
            "schema": "minigrad.pair/1",
            "first": with_layout(first),
            "second": with_layout(second),
            "difference": parted,
            "names": [str(name) for name in names],
        }
        super().__init__(document, document["first"], f"{names[0]} · {names[1]}", **options)

    def __repr__(self) -> str:
        return difference(self.document["first"], self.divergence, words(self._lang))


def compare(
    first: Mapping[str, Any],
    second: Mapping[str, Any],
    names: Sequence[str] | None = None,
    **options: Any,
) -> Any:
    """Show two Traces on one clock, with the first difference marked in both and a way to jump to
    it.

    Args:
        first: the reference. second: the Trace that is compared with it.
        names: how the two are called; "first" and "second" if not given, in the stepper's language.
        options: ``rtol`` and ``atol`` of the comparison; ``step``, ``lang`` and ``views`` of the
        stepper.

    Returns:
        A :class:`minigrad.viz.widget.Pair` where a kernel runs and anywidget is installed, else a
        :class:`Comparison`; both have ``divergence``, ``to_html()`` and ``save(path)``.

    Raises:
        minigrad.viz.reading.TraceError: one of them is not a Trace.
        ValueError: not two names; an unknown view or language.
    """
    found = Comparison(first, second, names, **options)
    if kernel_runs():
        try:
            from minigrad.viz.widget import Pair
        except ModuleNotFoundError:
            return found
        return Pair(found)
    return found


def _ordered(trace: Mapping[str, Any]) -> list[Any]:
    """The nodes as :func:`minigrad.trace.first_divergence` matches them: by birth within their
    kind.
    """
    rank = {"input": 0, "param": 1, "const": 2}
    return sorted(trace["nodes"], key=lambda n: rank.get(n["kind"], 3))
