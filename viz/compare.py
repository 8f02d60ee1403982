"""Two Traces as one graph, and the first step at which they part.

Two Traces agree if they have the same values in all that both tell, whatever their text and names
(:func:`minigrad.trace.first_divergence`). So a student's engine may be laid beside the reference,
and a right answer in another legal order is no difference.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from minigrad.viz.hosts import StepperDocument, kernel_runs
from minigrad.viz.layout import with_layout
from minigrad.viz.reading import check, column_of
from minigrad.viz.script_page import tell
from minigrad.viz.speech import beside, difference
from minigrad.viz.svg import to_svg
from minigrad.viz.texts import Words, words
from minigrad.viz.union import union

from minigrad.trace import Divergence, first_divergence
from minigrad.trace.diff import agree

TOLERANCES = {"rtol": 1e-6, "atol": 1e-9}
TOLD = ("kind", "step", "node", "column", "expected", "got", "edge")
"""What of a difference the viewer is told."""


class Comparison(StepperDocument):
    """Two Traces as one graph. ``divergence`` is the first difference, or None."""

    ENDINGS = ".html or .svg"

    def __init__(
        self,
        first: Mapping[str, Any],
        second: Mapping[str, Any],
        names: Sequence[str] | None = None,
        reference: bool = True,
        **options: Any,
    ):
        check(first)
        check(second)
        t = words(options.get("lang", "en"))
        names = [t("pairFirst"), t("pairSecond")] if names is None else names
        if len(names) != 2:
            raise ValueError(f"compare: names must be two texts, got {list(names)}")
        within = {k: options.pop(k, default) for k, default in TOLERANCES.items()}
        self.divergence = first_divergence(*_of_shared_columns(first, second), **within)
        self._reference, self._names = reference, [str(name) for name in names]
        both = with_layout(union(first, second, partial(agree, **within), str(names[1])))
        found = self.divergence
        parted = None
        if found is not None:
            parted = {key: getattr(found, key) for key in TOLD} | {
                "say": self._said(found, words()),
                "reference": reference,
            }
        document = {
            "schema": "minigrad.pair/1",
            "union": both,
            "difference": parted,
            "names": self._names,
        }
        self.first = first
        super().__init__(document, both, f"{names[0]} · {names[1]}", **options)

    def _said(self, found: Divergence, t: Words) -> str:
        """The difference as a sentence; where neither Trace is the right one, without a verdict."""
        return found.say if self._reference else beside(found, self._names, t)

    def save(self, path: str | Path) -> Path:
        """Write the page to a file, or with the ending .svg a picture of the step; returns its
        path.
        """
        target = Path(path)
        if target.suffix.lower() != ".svg":
            return super().save(target)
        step = self.options["step"] or None
        told = {**self.still, "difference": repr(self)}
        target.write_text(to_svg(told, step, lang=self._lang), encoding="utf-8")
        return target

    def __repr__(self) -> str:
        t, found = words(self._lang), self.divergence
        within = self.document["union"]["beside"].get("within", {})
        a, b = self._names
        steps = [
            t("pairSteps", node=node, first=first, second=second, a=a, b=b)
            for node, (first, second) in islice(within.items(), 3)
        ]
        return " ".join([self._parted(found, t), *steps])

    def _parted(self, found: Divergence | None, t: Words) -> str:
        if found is None or self._reference:
            return difference(self.first, found, t, self._names)
        said = self._said(found, t)
        return (
            t("pairIs", say=said)
            if found.step is None
            else t("pairAt", step=found.step + 1, say=said)
        )


def compare(
    first: Mapping[str, Any],
    second: Mapping[str, Any],
    names: Sequence[str] | None = None,
    reference: bool = True,
    browser: bool = False,
    **options: Any,
) -> Any:
    """Show two Traces as one graph on the first one's clock: what agrees is quiet, what differs has
    both values, and the first difference stands above, with a sentence.

    Args:
        first: the reference. second: the Trace that is compared with it.
        reference: whether the first is right (a student's engine beside it). If False, the
        difference is told without a verdict: before and after a step of training.
        names: how the two are called; "first" and "second" if not given, in the stepper's language.
        browser: as for :func:`minigrad.viz.show`, outside of notebooks.
        options: ``rtol`` and ``atol`` of the comparison; ``step``, ``lang`` and ``views`` of the
        stepper.

    Returns:
        A :class:`minigrad.viz.widget.ComparisonWidget` where a kernel runs and anywidget is
        installed, else a :class:`Comparison`; both have ``divergence``, ``to_html()`` and
        ``save(path)``.

    Raises:
        minigrad.viz.reading.TraceError: one of them is not a Trace.
        ValueError: not two names; an unknown view or language.
    """
    found = Comparison(first, second, names, reference, **options)
    if kernel_runs():
        try:
            from minigrad.viz.widget import ComparisonWidget
        except ModuleNotFoundError:
            return found
        return ComparisonWidget(found)
    return tell(found, sys._getframe(1).f_globals, browser)


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
