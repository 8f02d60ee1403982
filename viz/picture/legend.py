"""The legend of a graph: what its colours, dashes, hatching and squares mean."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from minigrad.viz.constants import STAGES
from minigrad.viz.picture.marks import Box, Mark, PathMark, TextLine
from minigrad.viz.reading import keeps
from minigrad.viz.texts import Words, words

SPACE = 46.0
"""The width of an entry without its words: its sample, and the gaps."""


class LegendEntry(NamedTuple):
    """A line of the legend: its words, the generation that it explains, whether it explains the
    hatching or a square."""

    words: str
    stage: int
    hatched: bool = False
    square: str = ""
    """"kept" for the filled square of an operation that keeps values, "gone" for the hollow one."""


def legend_of(trace: Mapping[str, Any], t: Words | None = None) -> list[LegendEntry]:
    """The entries that a Trace's graph needs; none where there is nothing but the function. t:
    English if None."""
    t = t or words()
    found = {STAGES[n["stage"]]: n["stage"] for n in trace["nodes"] if n.get("stage") in STAGES}
    entries = [
        LegendEntry(t("stageJvp" if found[stage] == "jvp" else f"stage{stage}"), stage)
        for stage in sorted(found)
    ]
    if entries:
        entries.insert(0, LegendEntry(t("stage0"), 0))
    if any(node.get("dangling") for node in trace["nodes"]):
        entries.append(LegendEntry(t("danglingShort"), 0, hatched=True))
    if keeps(trace):
        entries.append(LegendEntry(t("keptMark"), 0, square="kept"))
        if any(step.get("free") for step in trace["steps"]):
            entries.append(LegendEntry(t("freedMark"), 0, square="gone"))
    return entries


def drawn_entry(entry: LegendEntry, x: float, y: float) -> list[Mark]:
    """The sample of an entry, and its words on the baseline y."""
    role = "card sample" + (f" sample-{entry.stage}" if entry.stage else "")
    marks: list[Mark] = [Box(x, y - 10, 22, 12, 3, role)]
    if entry.square:
        marks = [Box(x + 7, y - 8, 8, 8, 0, f"sample {entry.square}")]
    elif entry.hatched:
        marks.append(PathMark(f"M{x + 2:g} {y + 2:g}l10 -12M{x + 10:g} {y + 2:g}l10 -12", "hatch"))
    return [*marks, TextLine(x + 28, y, entry.words, "words")]
