"""The stepper as a live widget: JupyterLab, Notebook 7, and every host that speaks the anywidget protocol.

After reading this file you know how little a widget adds: the Trace and the current step are shared with Python, so a cell can set
``stepper.step = 12`` or link two steppers, and read where the reader stands. Everything else happens in the stepper's module, which steps
on without a kernel too.
"""

from __future__ import annotations

from typing import Any

from viz.layout import with_layout
from viz.page import STATIC, Frame, text_table

try:
    import anywidget
    import traitlets
except ImportError as problem:
    raise ModuleNotFoundError(
        f'the stepper widget needs the package {problem.name or "anywidget"!r}, which is not installed; run: pip install "minigrad[viz]" '
        "(without it, viz.page.iframe(trace) shows the same stepper)"
    ) from problem


class Stepper(anywidget.AnyWidget):
    """A Trace, step by step.

    Args:
        trace: a ``minigrad.trace/1`` document; a layout is added if it has none.
        step: where to start, 0 (nothing computed yet) to the number of steps.

    Attributes:
        trace: the document shown. Assigning another one shows that, from its start.
        step: the number of steps done; changes when the reader moves, and moves the reader when assigned.

    Raises:
        viz.reading.TraceError: the document is not a Trace.
        traitlets.TraitError: a step that does not exist.
    """

    _esm = STATIC / "stepper.js"
    _css = STATIC / "stepper.css"

    trace = traitlets.Dict().tag(sync=True)
    step = traitlets.Int(0).tag(sync=True)

    def __init__(self, trace: Any, step: int = 0, **options: Any):
        super().__init__(trace=with_layout(trace), **options)
        self.step = step

    @traitlets.validate("trace")
    def _with_layout(self, proposal: Any) -> dict[str, Any]:
        return with_layout(proposal["value"])

    @traitlets.observe("trace")
    def _from_the_start(self, change: Any) -> None:
        if change["old"] is not traitlets.Undefined:
            self.step = 0

    @traitlets.validate("step")
    def _exists(self, proposal: Any) -> int:
        step, last = proposal["value"], len(self.trace.get("steps", []))
        if not 0 <= step <= last:
            raise traitlets.TraitError(f"step {step} does not exist: this Trace has the states 0 to {last}")
        return int(step)

    def __repr__(self) -> str:
        return text_table(self.trace)

    def _repr_mimebundle_(self, **options: Any) -> Any:
        """The widget, with the text table and the iframe page as static forms for readers and tools that show no widgets."""
        bundle = super()._repr_mimebundle_(**options)
        data, metadata = bundle if isinstance(bundle, tuple) else (bundle, {})
        if not data:
            return bundle
        return {**data, "text/plain": repr(self), "text/html": Frame(self.trace, self.step)._repr_html_()}, metadata
