"""``viz.show``: a function or a Trace, shown in whatever way the place allows.

After reading this file you know which form you get where: the widget in a running notebook, the iframe page elsewhere; both print as the
text table in a terminal.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from viz.page import Frame, iframe


def show(f_or_trace: Any, *args: Any, mode: str = "both", step: int = 0, **options: Any) -> Any:
    """Show a Trace; or run a function on ``args`` under observation and show what happened.

    Args:
        f_or_trace: a ``minigrad.trace/1`` document, or a function of tensors.
        args: the function's arguments: numbers, arrays or tensors.
        mode: ``"primal"`` (values only), ``"forward"``, ``"reverse"`` or ``"both"``; for a function.
        step: where the stepper stands at first.
        options: passed on to :func:`minigrad.watch.trace_function`, such as ``tangents`` and ``title``.

    Returns:
        A :class:`viz.widget.Stepper` in a notebook with a running kernel where anywidget is installed, else a :class:`viz.page.Frame`.

    Raises:
        TypeError: the first argument is neither; or arguments were given for a Trace, which has its own.
        viz.reading.TraceError: the document is not a Trace.
    """
    if isinstance(f_or_trace, Mapping):
        if args or options:
            raise TypeError("show: a Trace was given, which holds its own inputs; give arguments only with a function")
        return _best(f_or_trace, step)
    if not callable(f_or_trace):
        raise TypeError(
            f"show: expected a function or a Trace, but got {type(f_or_trace).__name__}; for a Tensor, show the function that made it"
        )
    from minigrad.watch import trace_function

    return _best(trace_function(f_or_trace, *args, mode=mode, **options), step)


def _best(trace: Mapping[str, Any], step: int) -> Any:
    if _kernel_runs():
        try:
            from viz.widget import Stepper
        except ModuleNotFoundError:
            return iframe(trace, step)
        return Stepper(trace, step)
    return Frame(trace, step)


def _kernel_runs() -> bool:
    """Whether this process is a notebook's kernel. IPython is asked only if it is already at work, never imported for it."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None and hasattr(ipython, "get_ipython") else None
    return getattr(shell, "kernel", None) is not None
