"""The training view as a live widget (needs anywidget).

The history goes to the page compressed, as a Trace does (viz/widget.py): about a quarter of its
bytes, in every update.
"""

from __future__ import annotations

from typing import Any

from minigrad.viz.packed_widget import PackedWidget, program_trait, traitlets
from minigrad.viz.page import options_of, packed
from minigrad.viz.prepared import prepared
from minigrad.viz.squeeze import squeezed_style
from minigrad.viz.training.assets import script, stylesheet
from minigrad.viz.training.history import History


@prepared
def _program() -> str:
    from minigrad.viz.renaming import short_program

    return short_program(script())


class TrainingView(PackedWidget):
    """A history's curves, decision surface, histograms and network.

    Attributes:
        history: the document shown (``History.to_dict()``); packed: the same in the form in which
        the page gets it, rebuilt with it. running: whether more is to come.
        lang: the interface's language, "en" or "zh".
        at: the number of the snapshot that is shown; moves the reader's scrubber, and moves with
        it. -1: the newest.
    """

    program = program_trait(_program())
    _css = squeezed_style(stylesheet())

    history = traitlets.Dict()
    packed = traitlets.Bytes(read_only=True).tag(sync=True)
    running = traitlets.Bool(False).tag(sync=True)
    at = traitlets.Int(-1).tag(sync=True)
    lang = traitlets.Unicode("en").tag(sync=True)

    def __init__(self, history: History, **options: Any):
        options_of(lang=options.get("lang", "en"))
        super().__init__(history=history.to_dict(), **options)
        self._text = repr(history)

    @traitlets.observe("history")
    def _changed(self, change: Any) -> None:
        self.set_trait("packed", packed(change["new"]))

    def send_history(self, document: dict[str, Any], running: bool) -> None:
        """Show another state of the history."""
        with self.hold_sync():
            self.history, self.running = document, running

    def __repr__(self) -> str:
        return self._text
