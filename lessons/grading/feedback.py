"""What a student sees after a check: text in a terminal, a card with the animated Trace in a
notebook, a number for nbgrader.

One object has three forms. Its rich form is for the student; its plain form says the same in words;
and where nbgrader runs the notebook (it says so in the environment variable NBGRADER_EXECUTION),
the plain form is the points alone, which nbgrader reads as partial credit. Everything that came
from the student's code is escaped. Marks differ by word and sign, never by colour alone.
"""

from __future__ import annotations

import html
import os
import re
from dataclasses import dataclass, field
from typing import Any, NamedTuple

HEADS = {
    "right": "✓ right",
    "wrong": "✗ not yet",
    "unfinished": "○ not started",
    "trouble": "! stopped",
    "": "",
}
SIGNS = {"right": "✓", "wrong": "✗", "unfinished": "○", "trouble": "!", "note": "·"}
COLOURS = {"right": "#0072B2", "wrong": "#B34700", "trouble": "#B34700"}


class Line(NamedTuple):
    """A sentence for the student; kind: a key of SIGNS. Text between backticks is code."""

    kind: str
    text: str


@dataclass
class Feedback:
    """The result of a check. points of possible: what it is worth; trace and step: what to show,
    and where the viewer should stand; reference: the right Trace to show beside it as one graph.
    """

    title: str
    status: str = ""
    name: str = ""
    lines: list[Line] = field(default_factory=list)
    points: float = 0.0
    possible: float = 0.0
    hints: tuple[str, ...] = ()
    hints_open: int = 0
    checked: str = ""
    printed: str = ""
    trace: dict[str, Any] | None = None
    step: int = 0
    reference: dict[str, Any] | None = None

    @property
    def passed(self) -> bool:
        """Whether everything asked for is right."""
        return self.status == "right"

    @property
    def head(self) -> str:
        """The title, the verdict, and the points where there are any."""
        verdict = HEADS[self.status]
        worth = (
            f" · {self.points:g} of {self.possible:g} point{'s' * (self.possible != 1)}"
            if self.possible
            else ""
        )
        return self.title + (f": {verdict}{worth}" if verdict else "")

    def __repr__(self) -> str:
        if os.environ.get("NBGRADER_EXECUTION") and not self.hints_open:
            return repr(
                float(self.points)
            )  # of a check that could not be made too: nbgrader pays in full for what is no number
        return str(self)

    def __str__(self) -> str:
        out = [self.head, *(f"  {SIGNS[line.kind]} {line.text}" for line in self.lines)]
        if self.printed:
            out += [
                "  · Your code printed:",
                *(f"      {line}" for line in self.printed.splitlines()),
            ]
        shown = self.hints[: max(self.hints_open, 0)]
        out += [f"  hint {i} of {len(self.hints)}: {text}" for i, text in enumerate(shown, 1)]
        if len(shown) < len(self.hints):
            out.append(
                f"  For {'the next' if shown else 'a'} hint run `hint({self.name!r},"
                f" {len(shown) + 1})`."
            )
        if self.checked:
            out.append(f"  {self.checked}")
        return "\n".join(out)

    def _repr_html_(self) -> str:
        colour = COLOURS.get(self.status, "#6b7280")
        parts = [f"<p style='margin:0 0 .4em'><strong>{rich(self.head)}</strong></p>"]
        if self.lines:
            items = "".join(
                f"<li style='list-style:none'>{SIGNS[line.kind]} {rich(line.text)}</li>"
                for line in self.lines
            )
            parts.append(f"<ul style='margin:0 0 .4em;padding-left:.2em'>{items}</ul>")
        if self.printed:
            parts.append(
                "<details><summary>What your code"
                f" printed</summary><pre>{html.escape(self.printed)}</pre></details>"
            )
        for i, text in enumerate(self.hints, 1):
            opened = " open" if i <= self.hints_open else ""
            parts.append(
                f"<details{opened}><summary>Hint {i} of {len(self.hints)}</summary><p"
                f" style='margin:.2em 1.2em'>{rich(text)}</p></details>"
            )
        if self.checked:
            parts.append(f"<p style='margin:.4em 0 0'><small>{rich(self.checked)}</small></p>")
        card = (
            f"<div style='border-left:4px solid {colour};padding:.3em .9em;margin:.3em"
            f" 0'>{''.join(parts)}</div>"
        )
        return card + self._viewer()

    def _viewer(self) -> str:
        """The Trace in the viewer, as a frame in the same output; nothing where there is no
        viewer.
        """
        if self.trace is None:
            return ""
        try:
            from minigrad import viz
        except ImportError:
            return ""
        if self.reference is None:
            return str(viz.iframe(self.trace, self.step)._repr_html_())
        from minigrad.viz.compare import Comparison

        right, yours = self.reference["steps"], self.trace["steps"]
        step = self.step
        if len(right) != len(yours) and step:  # on the clock of the right Trace, the same node
            node = yours[step - 1]["node"]
            at = [i for i, one in enumerate(right, 1) if one["node"] == node]
            step = at[-1] if at else len(right)
        names = ("minigrad", "yours")
        return Comparison(self.reference, self.trace, names, step=step)._repr_html_()


def trouble(title: str, say: str) -> Feedback:
    """A check that could not be made."""
    return Feedback(title, "trouble", lines=[Line("trouble", say)])


def rich(text: str) -> str:
    """Text as HTML, with `code` between backticks."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(text))
