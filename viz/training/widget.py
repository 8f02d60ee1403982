"""The training view as a live widget (needs anywidget)."""

from __future__ import annotations

from typing import Any

from viz.page import options_of
from viz.training.assets import script, stylesheet
from viz.training.history import History

try:
    import anywidget
    import traitlets
except ImportError as problem:
    raise ModuleNotFoundError(
        f'the training view needs the package {problem.name or "anywidget"!r}, which is not installed; run: pip install "minigrad[viz]" '
        "(without it, viz.training.iframe(history) shows the same view)"
    ) from problem


class TrainingView(anywidget.AnyWidget):
    """A history's curves, decision surface, histograms and network.

    Attributes:
        history: the document shown (``History.to_dict()``). running: whether more is to come.
        lang: the interface's language, "en" or "zh".
        at: the number of the snapshot that is shown; moves the reader's scrubber, and moves with it. -1: the newest.
    """

    _esm = script()
    _css = stylesheet()

    history = traitlets.Dict().tag(sync=True)
    running = traitlets.Bool(False).tag(sync=True)
    at = traitlets.Int(-1).tag(sync=True)
    lang = traitlets.Unicode("en").tag(sync=True)

    def __init__(self, history: History, **options: Any):
        options_of(lang=options.get("lang", "en"))
        super().__init__(history=history.to_dict(), **options)
        self._text = repr(history)

    def send_history(self, document: dict[str, Any], running: bool) -> None:
        """Show another state of the history."""
        with self.hold_sync():
            self.history, self.running = document, running

    def __repr__(self) -> str:
        return self._text
