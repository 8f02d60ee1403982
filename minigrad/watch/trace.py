"""From a function to its Trace: run it once under observation, differentiate it, and return what
the engine did as plain data.

`trace_function(f, 2.0, 5.0)` runs f (forward mode alongside if asked), then the reverse pass, and
returns a `minigrad.trace/1` document. Nothing is differentiated here: values, tangents and
cotangents are those that the engine computed (trace_recorder.py notes them).
"""

from __future__ import annotations

import inspect
import numbers
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from .. import backend
from ..core.backward import differentiate
from ..core.forward import forward_level
from ..core.graph import Node, OpNode, youngest_first
from ..core.tensor import Leaf, Tensor, as_tensor, current_node, make_leaf, wrap
from ..errors import AutogradError, NonScalarError, TraceTooLargeError
from ..func.tree import flatten
from ..grad_mode import enable_grad, no_grad
from ..trace.schema import Trace
from .cycle_collector import fewer_collections
from .held_arrays import dtype_of_numbers
from .source_map import written_by_user
from .trace_recorder import TraceRecorder

MODES = ("primal", "forward", "reverse", "both")


def trace_function(
    f: Callable[..., Any],
    *args: Any,
    mode: str | None = None,
    tangents: Any = None,
    cotangent: Any = None,
    names: Sequence[str] | None = None,
    source: str | None = None,
    title: str | None = None,
    most: int | None = None,
    partial: bool = False,
) -> Trace:
    """Run `f(*args)` and its derivative, and return what happened as a `minigrad.trace/1` document.

    args: numbers and lists of numbers (traced in double precision, or in the one floating dtype of
    the tensors and arrays that f names, among them parameters, and is given), arrays or tensors
    (keep their dtype; f gets fresh tensors), and dicts of these, which may be nested: each value is
    an input with a name of its own, "p.W" for p["W"], in `tangents`, too.
    mode: "primal" (values only), "forward" (values and tangents), "reverse" (values and adjoints)
    or "both" (default: "both" of single numbers and where tangents are given, else "reverse", as
    an array has no direction that is better than another; without adjoints, and with a warning,
    where the result is no single real number and no cotangent is given).
    tangents: the forward seed, one value per argument or a mapping from argument names (default: 1
    for the first, 0 for the others).
    cotangent: the reverse seed, of the result's shape (default: 1, for a result that is one
    number).
    names: of the arguments (default: f's parameter names); source: the text to show (default: f's
    own, where Python can find it).
    most: the largest number of nodes (default: any). Beyond it nothing more is recorded, and when f
    has ended TraceTooLargeError is raised.

    partial: where f raises, return the Trace up to there, whose "error" says what was raised.

    f must return one tensor (or number), which must be a single real number if a mode with adjoints
    is asked for without a cotangent. Raises TypeError for an argument without a value, ValueError
    for an unknown mode, and for names or a seed that do not fit; NonScalarError; TypeError for
    another kind of result; AutogradError where f does something that a Trace cannot show (vmap;
    in-place changes hidden from the graph). What f itself raises passes through untouched.
    """
    __tracebackhide__ = True  # a notebook then shows the caller's line and the message
    given: dict[str, Any] = {"tangents": tangents, "cotangent": cotangent, "partial": partial}
    return record(f, args, mode, names, source, most, **given).document(title)


def record(
    f: Callable[..., Any],
    args: Sequence[Any],
    mode: str | None = None,
    names: Sequence[str] | None = None,
    source: str | None = None,
    most: int | None = None,
    *,
    tangents: Any = None,
    cotangent: Any = None,
    partial: bool = False,
    by_inputs: bool = True,
    parameters: Iterable[Tensor] | None = None,
) -> TraceRecorder:
    """As `trace_function`; what has been recorded, to which more may be added.

    by_inputs: whether the arguments are differentiated by, not only parameters. parameters: those
    whose dtype plain numbers have (default: what f holds).
    """
    __tracebackhide__ = True
    if mode is not None and mode not in MODES:
        raise ValueError(f"trace: mode must be one of {', '.join(MODES)}, got {mode!r}.")
    given = dict(zip(argument_names(f, len(args), names), args, strict=True))
    values, rebuild = flatten(given, (dict,))
    dtype = dtype_of_numbers(f, values, parameters)
    labels, inputs = [*_named(given)], [as_input(value, dtype) for value in values]
    if len(set(labels)) < len(labels):
        raise ValueError(f"trace: two inputs have one name among {', '.join(labels)}.")
    asked = mode is not None or cotangent is not None
    mode = mode or default_mode(inputs, tangents)
    directions = _directions(inputs, labels, tangents) if mode in ("forward", "both") else None
    with enable_grad(), forward_level() as level, fewer_collections():
        recorder = TraceRecorder(f, labels, source, level, most)
        for i, x in enumerate(inputs):
            if by_inputs and backend.is_differentiable(x.dtype):
                make_leaf(x)
                if directions is not None:
                    x.tangents = {level: directions[i]}
            recorder.input(
                x, labels[i], directions[i] if x.tangents and directions is not None else None
            )
        try:
            returned = recorder.run(f, [*rebuild(inputs).values()])
        except Exception as error:
            if not partial or isinstance(error, TraceTooLargeError):
                raise
            recorder.fail(error)
            return recorder
        # another kind of result is the caller's mistake, not a step of f
        recorder.result = out = _result(returned)
        recorder.output(out)
        if mode in ("reverse", "both") and _has_adjoints(out, cotangent, asked):
            try:
                _reverse(recorder, out, cotangent)
            except Exception as error:
                if not partial or not recorder.fail_back(error):
                    raise
    return recorder


def default_mode(inputs: Iterable[Tensor], tangents: Any, backward: bool = True) -> str:
    """The mode where none is asked for. backward: whether the result allows a reverse pass."""
    if tangents is not None or all(x.array.size == 1 for x in inputs):
        return "both" if backward else "forward"
    return "reverse" if backward else "primal"


def _has_adjoints(out: Tensor, cotangent: Any, asked: bool) -> bool:
    """Whether a reverse pass can start from a result. Where it cannot this raises, or, unless it
    was asked for, warns."""
    __tracebackhide__ = True
    error: type[AutogradError] = NonScalarError
    if cotangent is None and out.array.size != 1:
        why = f"reverse mode starts from one number, but the function returned shape {out.shape}"
        cure = "Reduce the result, for instance with .sum(), or give cotangent="
    elif not backend.is_differentiable(out.dtype):
        error = AutogradError
        why = f"the function returned {out.dtype}, which has no derivative"
        cure = "Return a floating dtype"
    elif out.dtype.kind == "c":
        why = "the function returned a complex number; a gradient is defined for real results only"
        cure = "Return .real or .abs()"
    else:
        return True
    if asked:
        raise error(f"trace: {why}. {cure}; or trace with mode='primal'.")
    warnings.warn(f"no adjoints are shown: {why}. {cure}.", stacklevel=_levels_to_user())
    return False


def _levels_to_user() -> int:
    """The level, counted from the caller, of the first function that is not minigrad's."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back and frame.f_globals.get("__name__", "").partition(".")[0] == "minigrad":
        level, frame = level + 1, frame.f_back
    return level


def _result(out: Any) -> Tensor:
    __tracebackhide__ = True
    if isinstance(out, Tensor):
        return out
    if isinstance(out, numbers.Number):
        return as_input(out)
    must = "trace: the function must return one tensor, but returned"
    if out is None:
        raise TypeError(f"{must} nothing. Does it end with return, and what it computed?")
    if isinstance(out, list | tuple):
        raise TypeError(
            f"{must} a {type(out).__name__} of {len(out)}. Trace one result at a time, for instance"
            " lambda *x: f(*x)[0]; viz.jacobian(f, …) shows them all."
        )
    if isinstance(out, dict) and out:
        raise TypeError(
            f"{must} a dict of {len(out)}. Trace one result at a time, for instance"
            f" lambda *x: f(*x)[{next(iter(out))!r}]."
        )
    raise TypeError(f"{must} {type(out).__name__}. Return the tensor that is to be shown.")


def _reverse(recorder: TraceRecorder, out: Tensor, cotangent: Any) -> None:
    __tracebackhide__ = True
    node = current_node(out)
    seed = (
        wrap(backend.ones(out.shape, out.dtype, out.array))
        if cotangent is None
        else _seed(out, cotangent)
    )
    if node is None:
        recorder.reverse(seed.array, None)
        return
    reached = youngest_first([node])[1]
    for n in reached:
        if recorder.knows(n) and isinstance(n, OpNode):
            # an ordinary pass on arrays: the same numbers as forward over reverse would give,
            # sooner
            n.saved_tangents = None
    ends: list[Node] = [n for n in reached if isinstance(n, Leaf)]
    with no_grad():
        recorder.reverse(
            seed.array,
            lambda: differentiate(
                [node], [seed], targets=ends, accumulate=False, retain_graph=True
            ),
        )


def _seed(out: Tensor, cotangent: Any) -> Tensor:
    given = as_tensor(cotangent).array
    if given.shape != out.shape or given.dtype.kind == "c":
        raise ValueError(
            f"trace: a cotangent of shape {given.shape} and dtype {given.dtype} does not fit a"
            f" result of shape {out.shape}."
        )
    return wrap(backend.as_payload(given, out.dtype))


def argument_names(f: Callable[..., Any], count: int, names: Sequence[str] | None) -> list[str]:
    """The names of a function's arguments: those given, else its parameters', else x1, x2, …"""
    if names is None:
        try:
            own: Any = f
            method = getattr(type(f), "forward", None)
            if method is not None and written_by_user(f) is method:
                own = own.forward
            parameters = list(inspect.signature(own).parameters.values())
        except (TypeError, ValueError):
            parameters = []
        positional = [
            p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
        ]
        if missing := [p.name for p in positional[count:] if p.default is p.empty]:
            raise TypeError(
                f"trace: no value for {', '.join(missing)}. Give one for each argument after the"
                " function, as in viz.show(f, 2.0, 5.0)."
            )
        found = [p.name for p in positional][:count]
    else:
        found = list(names)
        if len(found) > count:
            raise ValueError(f"trace: got {len(found)} names for {count} arguments.")
    if len(set(found)) != len(found) or not all(isinstance(n, str) and n for n in found):
        raise ValueError(f"trace: argument names must be texts and differ, got {found}.")
    for i in range(len(found), count):
        name, n = f"x{i + 1}", i + 1
        while name in found:
            n += 1
            name = f"x{n}"
        found.append(name)
    return found


def _named(structure: Mapping[Any, Any], path: str = "") -> Iterator[str]:
    """The names of the inputs that nested dicts hold: p.W of p["W"]."""
    for key, part in structure.items():
        if isinstance(part, dict):
            yield from _named(part, f"{path}{key}.")
        else:
            yield f"{path}{key}"


def as_input(value: Any, dtype: Any = backend.float64) -> Tensor:
    """A fresh tensor for an argument; dtype: of Python's real numbers."""
    if isinstance(value, Tensor):
        return wrap(backend.as_payload(value.array))
    if isinstance(value, bool | int | float):
        return wrap(backend.as_payload(float(value), dtype))
    if isinstance(value, complex):
        return wrap(backend.as_payload(value, backend.complex128))
    if isinstance(value, list | tuple):
        array = backend.as_payload(value)
        wide = backend.complex128 if array.dtype.kind == "c" else dtype
        return wrap(backend.as_payload(value, wide) if array.dtype.kind in "fiubc" else array)
    return wrap(backend.as_payload(value))


def _directions(inputs: list[Tensor], labels: list[str], tangents: Any) -> list[Tensor]:
    if tangents is None:
        values: list[Any] = [1.0 if i == 0 else 0.0 for i in range(len(inputs))]
    elif isinstance(tangents, Mapping):
        unknown = [k for k in tangents if k not in labels]
        if unknown:
            raise ValueError(
                f"trace: a tangent is given for {unknown[0]!r}, but the arguments are"
                f" {', '.join(labels)}."
            )
        values = [tangents.get(name, 0.0) for name in labels]
    else:
        values = list(tangents) if isinstance(tangents, list | tuple) else [tangents]
        if len(values) != len(inputs):
            raise ValueError(
                f"trace: got {len(values)} tangents for {len(inputs)} arguments; give one for each."
            )
    out = []
    for x, v in zip(inputs, values, strict=True):
        array = backend.materialise(backend.zeros(x.shape, x.dtype, x.array)).copy()
        given = as_tensor(v).array
        if given.shape not in ((), x.shape):
            raise ValueError(
                f"trace: a tangent of shape {given.shape} does not fit an argument of shape"
                f" {x.shape}."
            )
        if given.dtype.kind == "c" and x.dtype.kind != "c":
            raise ValueError(
                f"trace: a complex tangent does not fit an argument of dtype {x.dtype}."
            )
        array[...] = given
        out.append(wrap(backend.canonical(array)))
    return out
