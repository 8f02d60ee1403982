"""``viz.show``: a function, a Trace, a Program or a static graph, shown in whatever way the place
allows.

The result is the widget in a running notebook and the iframe page elsewhere; both print as the text
table in a terminal.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import FrameType
from typing import Any

from minigrad.viz.hosts import kernel_runs
from minigrad.viz.jacobian import jacobian_trace
from minigrad.viz.page import VIEWS
from minigrad.viz.printed_layers import printed_layers
from minigrad.viz.reading import check
from minigrad.viz.scale import too_large
from minigrad.viz.script_page import tell
from minigrad.viz.tensor_names import variables
from minigrad.viz.trace_frame import TraceFrame, iframe

from minigrad.core.tensor import Tensor
from minigrad.errors import NonScalarError
from minigrad.nn import Module

TRACED = ("tangents", "cotangent", "names", "source", "title", "most", "partial")
"""The options of `minigrad.watch.trace_function`, beside `mode`."""


def show(
    f_or_trace: Any,
    *args: Any,
    mode: str | None = None,
    step: int = 0,
    lang: str = "en",
    views: Sequence[str] = (),
    browser: bool = False,
    **options: Any,
) -> Any:
    """Show a Trace; or run a function on ``args`` under observation and show what happened.

    Args:
        f_or_trace: a ``minigrad.trace/1`` document, or a function of tensors; or a
            :class:`minigrad.program.Program`, or nodes of a static graph (one, or a list); or a
            tensor, module or function of PyTorch, whose reverse pass is shown (with
            ``mode="primal"`` the values alone); or a tensor that has been computed, of whose
            recorded graph the reverse pass is shown (``names=`` maps names to tensors; the caller's
            variables are known by theirs).
        args: the function's arguments: numbers, arrays or tensors; a Program's inputs; for nodes
        what is fed, ``{variable: value}``.
        mode: for a function, ``"primal"`` (values only), ``"forward"``, ``"reverse"`` or
        ``"both"``; by default ``"both"`` of single numbers and with ``tangents``, else
        ``"reverse"``; without adjoints, and with a warning, of a function whose result is no single
        number, unless ``cotangent`` is given.
        step: where the stepper stands at first.
        lang: language of the interface, "en" or "zh".
        views: further views that are open at first: "predict", "story", "algorithm", "orders",
        "jacobian", "cut", "memory", "arrays", "element". A view for which a Trace has nothing says
        so. With "predict" each number is hidden until the reader has answered; a Stepper keeps the
        answers: ``shown = viz.show(...)``, later ``shown.answers``. With "jacobian" a function is
        run once for each column or row, as :func:`minigrad.viz.jacobian` does.
        browser: outside of notebooks, write the page to a temporary file and open it in a web
        browser.
        options: passed on to :func:`minigrad.watch.trace_function`, such as ``tangents`` and
        ``title``.

    Returns:
        A function that raises is shown up to the operation that failed, with what it raised.
        A :class:`minigrad.viz.widget.Stepper` in a notebook with a running kernel where anywidget
        is installed, else a :class:`minigrad.viz.trace_frame.TraceFrame`; both have ``save``. In a
        script run by itself the page is also written to a temporary file, whose place is printed,
        unless the script saves what it got.

    Raises:
        TypeError: the first argument is none of these; there is no such option; arguments were
        given for a Trace, which has its own. What a Program or a static graph raises for inputs
        that do not fit.
        minigrad.viz.reading.TraceError: the document is not a Trace.
    """
    __tracebackhide__ = True  # a notebook then shows the caller's line and the message
    if isinstance(f_or_trace, Mapping):
        if args or options:
            raise TypeError(
                "show: a Trace was given, which holds its own inputs; give arguments only with a"
                " function"
            )
        return tell(_best(f_or_trace, step, lang, views), sys._getframe(1).f_globals, browser)
    known = _of_torch(f_or_trace, args, mode, options, sys._getframe(1))
    if known is None:
        known = _traced(f_or_trace, args, options)
    if known is not None:
        return tell(_best(known, step, lang, views), sys._getframe(1).f_globals, browser)
    if isinstance(f_or_trace, Tensor):
        found = _recorded(f_or_trace, args, mode, options, sys._getframe(1))
        return tell(_best(found, step, lang, views), sys._getframe(1).f_globals, browser)
    if not callable(f_or_trace):
        raise TypeError(
            "show: expected a function, a Tensor, a Trace, a Program or nodes of a static graph,"
            f" but got {type(f_or_trace).__name__}"
        )
    from minigrad.watch import trace_function

    if unknown := [name for name in options if name not in TRACED]:
        if unknown[0] in VIEWS:
            raise TypeError(
                f"show: {unknown[0]} is a view, so write viz.show(f, …, views=[{unknown[0]!r}])"
            )
        raise TypeError(
            f"show: there is no option {unknown[0]}=; the options are mode, step, lang, views,"
            f" browser, {', '.join(TRACED)}. The function's arguments are given without their"
            " names, as in viz.show(f, 2.0, 5.0)"
        )
    if "jacobian" in views and (mode is None or mode in PASSES):
        trace = _with_jacobian(f_or_trace, args, mode, lang, options)
    else:
        trace = trace_function(f_or_trace, *args, mode=mode, **{"partial": True, **options})
        if isinstance(f_or_trace, Module) and "source" not in {**trace, **options}:
            _print_layers(trace, f_or_trace)
    if "error" in trace:
        step = step or len(trace["steps"])  # where it failed
    shown = _best(trace, step, lang, views)
    return tell(shown, sys._getframe(1).f_globals, browser)


def _print_layers(trace: dict[str, Any], module: Module) -> None:
    """The layers of a module of minigrad's own in the place of its source."""
    text, lines = printed_layers(module, "minigrad")
    trace["source"] = {"code": text}
    for node in trace["nodes"]:
        if "op" in node and node.get("group") in lines:
            node["span"] = lines[node["group"]]


def jacobian(
    f: Callable[..., Any],
    *args: Any,
    by: str = "both",
    step: int = 0,
    lang: str = "en",
    views: Sequence[str] = (),
    **options: Any,
) -> Any:
    """Show how the Jacobian of ``f`` at ``args`` fills. See
    :func:`minigrad.viz.jacobian.jacobian_trace` for ``by``, :func:`show` for the rest.
    """
    trace = jacobian_trace(f, *args, by=by, lang=lang, **options)
    return show(trace, step=step, lang=lang, views=views)


PASSES = {"forward": "columns", "reverse": "rows", "both": "both"}
"""By what the passes of each mode fill a Jacobian; by default both do."""


def _with_jacobian(
    f: Callable[..., Any],
    args: Sequence[Any],
    mode: str | None,
    lang: str,
    options: Mapping[str, Any],
) -> Any:
    """The Trace of a function for which the Jacobian is asked as a view: with a pass for each of
    its columns or rows, for one result of single numbers too."""
    if others := [name for name in options if name not in ("names", "title")]:
        raise TypeError(
            f"show: {others[0]}= cannot be given with views=['jacobian'], whose passes have seeds"
            " of their own; leave one of them out"
        )
    return jacobian_trace(f, *args, by=PASSES[mode or "both"], lang=lang, **options)


def training_step(
    loss: Callable[..., Any],
    optimizer: Any,
    *args: Any,
    step: int = 0,
    lang: str = "en",
    views: Sequence[str] = (),
    browser: bool = False,
    **options: Any,
) -> Any:
    """Make one step of a training, and show it as one picture: data, forward pass, loss, reverse
    pass and update, with each parameter before and after.

    Args:
        loss: a function that returns the loss, of parameters that the optimiser has.
        optimizer: an optimiser whose ``step()`` takes nothing. It makes one step: the parameters
        are changed, and hold the gradients in ``.grad``.
        args: the function's arguments, such as examples and targets.
        step, lang, views, browser: as for :func:`show`.
        options: ``names``, ``source``, ``title`` and ``most``, as for
        :func:`minigrad.watch.trace_function`.

    Returns:
        As :func:`show`.

    Raises:
        TypeError: there is no such option; the optimiser is none, or needs the loss several times.
        ValueError: the loss uses none of the optimiser's parameters.
    """
    __tracebackhide__ = True
    from minigrad.watch import trace_training_step

    known = ("names", "source", "title", "most")
    if unknown := [name for name in options if name not in known]:
        raise TypeError(
            f"training_step: there is no option {unknown[0]}=; the options are step, lang, views,"
            f" browser, {', '.join(known)}. The loss's arguments are given without their names, as"
            " in viz.training_step(loss, optimizer, x, y)"
        )
    trace = trace_training_step(loss, optimizer, *args, **options)
    return tell(_best(trace, step, lang, views), sys._getframe(1).f_globals, browser)


def traced_in_reverse(f: Callable[..., Any], inputs: Sequence[Any]) -> Mapping[str, Any]:
    """The Trace of a function's reverse pass, by minigrad or, of a function of PyTorch, by that.
    Plain numbers are float64 but for a Module: sums in float32 differ with their order.
    """
    from minigrad.watch.trace import record

    if (found := _of_torch(f, inputs, None, {}, sys._getframe(1))) is not None:
        return found
    held = f.parameters() if isinstance(f, Module) else ()
    return record(f, inputs, "reverse", parameters=held).document(None)


def _of_torch(
    thing: Any, args: Sequence[Any], mode: str | None, options: Mapping[str, Any], caller: FrameType
) -> Mapping[str, Any] | None:
    """The Trace of PyTorch's own reverse pass; None for anything that is not PyTorch's."""
    torch = sys.modules.get("torch")
    if torch is None or not (
        _names_only(thing, torch)
        or isinstance(thing, torch.Tensor | torch.nn.Module)
        or any(isinstance(a, torch.Tensor) for a in args)
    ):
        return None
    if any(_is_a("minigrad.core.tensor", "Tensor", a) for a in args):
        return None
    if mode not in (None, "both", "reverse", "primal"):
        raise TypeError(
            f"show: of PyTorch's work there are mode='primal' and 'reverse', not {mode!r}; for"
            " tangents write the function with minigrad's operations"
        )
    given = {"seed" if name == "cotangent" else name: value for name, value in options.items()}
    if unknown := [name for name in given if name not in ("names", "title", "seed")]:
        raise TypeError(
            f"show: {unknown[0]}= is for a function of minigrad; for PyTorch's there are names=,"
            " title= and cotangent="
        )
    from minigrad.viz.adapters import from_torch

    run = partial(from_torch, thing, *args, spaces=variables(caller), **given)
    try:
        return run(mode="primal" if mode == "primal" else "reverse")
    except NonScalarError as error:
        if mode is not None or isinstance(thing, torch.Tensor):
            raise
        warnings.warn(f"no adjoints are shown. {error}", stacklevel=3)
        return run(mode="primal")


def _recorded(
    tensor: Tensor,
    args: Sequence[Any],
    mode: str | None,
    options: Mapping[str, Any],
    caller: FrameType,
) -> Mapping[str, Any]:
    """The Trace of the reverse pass through the graph behind a tensor."""
    if mode not in (None, "both", "reverse"):
        raise TypeError(
            f"show: the graph behind a tensor is shown in reverse mode, not in mode={mode!r}; show"
            " the function that made it"
        )
    if unknown := [name for name in options if name not in ("names", "title", "cotangent")]:
        raise TypeError(f"show: {unknown[0]}= is for a function, not for a Tensor")
    if args:
        raise TypeError("show: a Tensor takes no arguments; its graph holds the values it needs")
    from minigrad.viz.adapters.recorded import from_tensor

    given = dict(options)
    spaces = [given.pop("names", {}), *variables(caller)]
    return from_tensor(tensor, *spaces, **given)


def _names_only(function: Any, module: Any) -> bool:
    """Whether a function's code names this module, and not minigrad."""
    code, space = getattr(function, "__code__", None), getattr(function, "__globals__", {})
    named = {id(space.get(name)) for name in code.co_names} if code is not None else set()
    return id(module) in named and id(sys.modules["minigrad"]) not in named


def _traced(
    thing: Any, args: Sequence[Any], options: Mapping[str, Any]
) -> Mapping[str, Any] | None:
    """The Trace of one run of a Program, or of one evaluation of a static graph's nodes; None
    for anything else.
    """
    nodes = thing if isinstance(thing, list | tuple) else [thing]
    symbols = bool(nodes) and all(_is_a("minigrad.graph", "Node", node) for node in nodes)
    if not symbols and not _is_a("minigrad.program", "Program", thing):
        return None
    if unknown := [name for name in options if name != "title"]:
        raise TypeError(
            f"show: {unknown[0]}= is for a function, not for a"
            f" {'static graph' if symbols else 'Program'}"
        )
    if not symbols:
        return thing.as_trace(*args) | options
    if len(args) > 1 or (args and not isinstance(args[0], Mapping)):
        raise TypeError(
            "show: nodes of a static graph take what is fed as one dict: viz.show(y, {x: 1.0})"
        )
    from minigrad.viz.adapters import from_graph

    return from_graph(nodes, *args, **options)


def _is_a(module: str, name: str, thing: Any) -> bool:
    """Whether a thing is of this class, without loading its module: where that is not loaded,
    nothing of it exists.
    """
    return module in sys.modules and isinstance(thing, getattr(sys.modules[module], name))


def _best(trace: Mapping[str, Any], step: int, lang: str = "en", views: Sequence[str] = ()) -> Any:
    check(trace)
    if kernel_runs() and not too_large(trace):
        try:
            from minigrad.viz.widget import Stepper
        except ModuleNotFoundError:
            return iframe(trace, step, lang, views)
        return Stepper(trace, step, lang=lang, views=views)
    return TraceFrame(trace, step, lang, views)
