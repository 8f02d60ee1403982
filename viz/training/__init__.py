"""Training, seen while it runs and afterwards: curves, decision surface, histograms, and the
network with values flowing.

    history = viz.History()
    # shows itself in a notebook
    with viz.Live(history, model=model, points=x, labels=y, every=10) as live:
        for epoch in range(500):
            ...
            live.log(loss=loss.item(), accuracy=right)
    history.save("run.json")
    viz.training.to_html(history)             one page, with an epoch scrubber
    viz.training.draw_curves(history, "curves.pdf")

`History` is plain data and draws nothing; `Live` shows one while it grows, at most four times
a second; pages and figures read it when it is complete.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from minigrad.viz.training.figure import draw_curves
from minigrad.viz.training.history import History
from minigrad.viz.training.live import Live
from minigrad.viz.training.page import iframe, to_html

if TYPE_CHECKING:
    from minigrad.viz.training.widget import TrainingView

__all__ = ["History", "Live", "TrainingView", "draw_curves", "iframe", "to_html"]


def __getattr__(name: str) -> Any:
    if name == "TrainingView":
        from minigrad.viz.training.widget import TrainingView

        return TrainingView
    raise AttributeError(f"module 'minigrad.viz.training' has no attribute {name!r}")
