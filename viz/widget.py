"""The stepper as a live widget: JupyterLab, Notebook 7, and every host that speaks the anywidget
protocol.

A widget adds little: the current step is shared with Python, so a cell can set ``stepper.step =
12`` or link two steppers, and read where the reader stands. The Trace goes to the page once,
compressed as large pages hold it: the tenth part or less. Everything else happens in the stepper's
module, which steps on without a kernel too.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from minigrad.viz.bundle import script, stylesheet
from minigrad.viz.layout import placed
from minigrad.viz.packed_widget import PackedWidget, program_trait, traitlets
from minigrad.viz.page import options_of, packed, text_table
from minigrad.viz.prepared import prepared
from minigrad.viz.reading import check
from minigrad.viz.scale import TooLarge, as_text, overview, too_large
from minigrad.viz.squeeze import squeezed_style
from minigrad.viz.trace_frame import TraceFrame


@prepared
def _program() -> str:
    from minigrad.viz.renaming import short_program

    return short_program(script())


class Stepper(PackedWidget):
    """A Trace, step by step.

    Args:
        trace: a ``minigrad.trace/1`` document; a layout is added if it has none.
        step: where to start, 0 (nothing computed yet) to the number of steps.

    Attributes:
        trace: the document shown. Assigning another one shows that, from its start.
        packed: the same in the form in which the page gets it; rebuilt with it.
        step: the number of steps done; changes when the reader moves, and moves the reader when
        assigned.
        answers: what the reader answered in predict mode, a list of ``{"step", "node", "column",
            "answer", "correct"}`` (step: index of the Trace's step, from 0; of an array also
            ``"asked"``: ``"shape"``, or an element's index; of several passes also ``"pass"``). The
            grader reads it.
        views: the further views that are open at first. lang: the interface's language.
        reader: what the reader has opened and chosen (views, groups, columns and more), so that it
            is there when the notebook redraws the output.

    Raises:
        minigrad.viz.reading.TraceError: the document is not a Trace.
        traitlets.TraitError: a step that does not exist.
        ValueError: an unknown view or language; :class:`minigrad.viz.scale.TooLarge` for a graph
        beyond full detail.
    """

    program = program_trait(_program())
    _css = squeezed_style(stylesheet())

    trace = traitlets.Dict()
    packed = traitlets.Bytes(read_only=True).tag(sync=True)
    step = traitlets.Int(0).tag(sync=True)
    lang = traitlets.Unicode("en").tag(sync=True)
    views = traitlets.List(traitlets.Unicode()).tag(sync=True)
    answers = traitlets.List(traitlets.Dict()).tag(sync=True)
    ranges = traitlets.List(traitlets.Dict()).tag(sync=True)
    inputs = traitlets.Dict().tag(sync=True)
    reader = traitlets.Dict().tag(sync=True)

    def __init__(
        self, trace: Any, step: int = 0, lang: str = "en", views: Any = (), **options: Any
    ):
        options_of(step, lang, views)
        super().__init__(trace=self._shown(trace, lang), lang=lang, views=list(views), **options)
        self.step = step

    def _shown(self, trace: Any, lang: str) -> dict[str, Any]:
        if too_large(check(trace)):
            raise TooLarge("Stepper: " + as_text(overview(trace), lang))
        return placed(trace)

    def _length(self) -> int:
        return len(self.trace.get("steps", []))

    @traitlets.validate("trace")
    def _with_layout(self, proposal: Any) -> dict[str, Any]:
        return self._shown(proposal["value"], self.lang)

    @traitlets.observe("trace")
    def _changed(self, change: Any) -> None:
        self.set_trait("packed", packed(change["new"]))
        self._from_the_start(change)

    def _from_the_start(self, change: Any) -> None:
        if change["old"] is not traitlets.Undefined:
            self.step = 0

    @traitlets.validate("step")
    def _exists(self, proposal: Any) -> int:
        step, last = proposal["value"], self._length()
        if not 0 <= step <= last:
            raise traitlets.TraitError(
                f"step {step} does not exist: this Trace has the states 0 to {last}"
            )
        return int(step)

    def __repr__(self) -> str:
        return text_table(self.trace, self.lang)

    def _repr_mimebundle_(self, **options: Any) -> Any:
        """The widget, with the text table and the iframe page as static forms for readers and
        tools that show no widgets.
        """
        bundle = super()._repr_mimebundle_(**options)
        data, metadata = bundle if isinstance(bundle, tuple) else (bundle, {})
        if not data:
            return bundle
        return {**data, "text/plain": repr(self), "text/html": self._static()}, metadata

    def save(self, path: str | os.PathLike[str], **options: Any) -> Path:
        """Write what is shown to a file, by its ending and with the options of
        :func:`minigrad.viz.save`; a page opens at the present step. Returns its path.
        """
        return self._frame().save(path, **options)

    def _frame(self) -> TraceFrame:
        return TraceFrame(self.trace, self.step, self.lang, self.views)

    def _static(self) -> str:
        return self._frame()._repr_html_()


class Sliders(Stepper):
    """A stepper whose function is traced again whenever an input is dragged. Made by
    :func:`minigrad.viz.sliders`.

    Attributes:
        inputs: the values at present; assigning others traces again.
        ranges: name, least, greatest and first value of each.
    """

    def __init__(self, trace_at: Any, moving: Any, **options: Any):
        self._trace_at = trace_at
        start = {name: span[2] for name, span in moving.items()}
        ranges = [
            {"name": name, "min": low, "max": high, "value": value}
            for name, (low, high, value) in moving.items()
        ]
        super().__init__(trace_at(start), ranges=ranges, inputs=start, **options)
        self.observe(self._again, "inputs")

    def _again(self, change: Any) -> None:
        self.trace = self._trace_at(change["new"])

    def _from_the_start(self, change: Any) -> None:
        """The reader stays at the same step of the new Trace, as far as it has one."""
        if change["old"] is not traitlets.Undefined:
            self.step = min(self.step, self._length())


class ComparisonWidget(Stepper):
    """Two Traces on one clock, as a widget. Made by :func:`minigrad.viz.compare` in a notebook."""

    def __init__(self, comparison: Any):
        self._comparison = comparison
        options = comparison.options
        super().__init__(
            comparison.document,
            options["step"],
            options.get("lang", "en"),
            options.get("views", []),
        )

    @property
    def divergence(self) -> Any:
        """The first difference, or None."""
        return self._comparison.divergence

    def to_html(self) -> str:
        """The self-contained page."""
        return str(self._comparison.to_html())

    def save(self, path: str | os.PathLike[str], **options: Any) -> Path:
        """Write the page to a file; returns its path."""
        return Path(self._comparison.save(path, **options))

    def _shown(self, trace: Any, lang: str) -> dict[str, Any]:
        return dict(trace)

    def _length(self) -> int:
        return len(self.trace["union"]["steps"])

    def __repr__(self) -> str:
        return repr(self._comparison)

    def _static(self) -> str:
        return str(self._comparison._repr_html_())
