"""`trace_of`: a scalar engine in the manner of micrograd, seen from outside.

    y = a * b + b.tanh()
    viz.show(viz.trace_of(y, names={"a": a, "b": b}))

Such an engine needs no tracer. Its values know what they were made from, and each can carry its
adjoint one step back. So the steps are made to happen one by one, in the order that the engine
itself uses (a node after all its users), and the operands' gradients are read before and after
each. What the engine really did is shown: where it overwrites instead of adding, the picture
overwrites.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterable, Mapping, Set
from functools import partial
from numbers import Real
from typing import Any, NamedTuple

from minigrad.viz.adapters.recorded import from_tensor
from minigrad.viz.adapters.writer import Writer
from minigrad.viz.tensor_names import variables
from minigrad.viz.traversal import operands_first

from minigrad.core.tensor import Tensor

NUMBER = ("data", "value", "primal", "val")
GRADIENT = ("grad", "adjoint", "gradient")
OPERANDS = ("_prev", "_children", "children", "parents", "inputs", "operands")
STEP = ("_backward", "backward_step")
PARTIALS = ("_local_grads", "local_grads", "partials", "local_derivatives")
NEEDED = {
    "value": NUMBER,
    "gradient": GRADIENT,
    "operands": OPERANDS,
    "step back": STEP,
    "local derivatives": PARTIALS,
}
OPERATION = ("_op", "op")
NAME = ("label", "name")
MOST = 20_000


class Form(NamedTuple):
    """The attributes in which an engine's values have number, gradient and operands."""

    number: str
    gradient: str
    operands: str


def trace_of(
    value: Any,
    *arguments: Any,
    names: Mapping[str, Any] | None = None,
    title: str = "",
    seed: float = 1.0,
) -> dict[str, Any]:
    """The Trace of a value of a scalar engine and of its reverse pass.

    What each value must have, under any of these names:
        its number         data, value, primal, val
        its gradient       grad, adjoint, gradient
        its operands       _prev, _children, children, parents, inputs, operands: a list of values,
                           or of pairs (value, local derivative); of a leaf empty or None
        its step back      _backward, backward_step: called without arguments, adds to the operands'
                           gradients
        or the partials    _local_grads, local_grads, partials, local_derivatives: one for each
                           operand, where no pairs have them; then ``backward()`` must exist, which
                           computes the gradients
    and may have: its operation's name (_op, op), its own name (label, name).

    Args:
        value: the result. Or a minigrad Tensor, of which the recorded graph is read, as `viz.show`
            does.
        arguments: none; a function with its arguments is what `viz.show` traces.
        names: names of values, such as ``{"a": a}``; by default their own label, or the caller's
        variables.
        title: of the Trace.
        seed: the adjoint to start from.

    Gradients stand as they were before when this returns.

    Raises:
        TypeError: the value has no number, gradient or operands under a known name, operands of
        another form, or no way to carry an adjoint back.
        ValueError: the graph has more than 20,000 values.
    """
    if arguments or (callable(value) and not any(hasattr(value, name) for name in NUMBER)):
        raise TypeError(_of_a_function(value, len(arguments)))
    if isinstance(value, Tensor):
        spaces = [{}, *variables(sys._getframe(1))] if names is None else [names]
        return from_tensor(value, *spaces, title=title, cotangent=None if seed == 1.0 else seed)
    __tracebackhide__ = True  # a notebook then shows the caller's line and the message
    form = Form(*(_attribute(value, what) for what in ("value", "gradient", "operands")))
    number, gradient, _ = form
    complaint = f"trace_of: the graph has more than {MOST:,} values; trace a smaller computation"
    order = operands_first([value], partial(_operands, form=form), MOST, complaint)
    called = _names(names, inspect.currentframe().f_back if names is None else None)  # type: ignore[union-attr]
    writer, ids = Writer(title), {}
    for node in order:
        parents = _operands(node, form)
        name = called.get(id(node)) or _first(node, NAME) or ""
        if parents:
            ids[id(node)] = writer.op(
                _operation(node),
                [ids[id(p)] for p in parents],
                getattr(node, number),
                name=str(name) or None,
            )
        else:
            kind = "input" if name or not _is_plain_constant(node) else "const"
            ids[id(node)] = writer.input(str(name), getattr(node, number), kind=kind)
    before = [getattr(node, gradient) for node in order]
    try:
        for node in order:
            setattr(node, gradient, 0.0)
        setattr(value, gradient, seed)
        writer.seed(ids[id(value)], seed)
        step = next((name for name in STEP if callable(getattr(value, name, None))), None)
        if step is not None:
            _one_by_one(writer, ids, order, step, form)
        else:
            _by_partials(writer, ids, order, value, form)
    finally:
        for node, old in zip(order, before, strict=True):
            setattr(node, gradient, old)
    return writer.document()


def _of_a_function(value: Any, count: int) -> str:
    """What is said where a function or further arguments are given."""
    if not callable(value):
        return (
            f"trace_of: one value is read, and {count} more are given. Names are given as"
            ' names={"a": a}.'
        )
    name = getattr(value, "__name__", "f")
    call = f"({name if name.isidentifier() else 'f'}, …)"
    return (
        "trace_of: a value that has been computed is read, not a function and its arguments."
        f" viz.show{call} shows a function; minigrad.watch.trace_function{call} gives its Trace."
    )


def _one_by_one(
    writer: Writer, ids: dict[int, str], order: list[Any], step: str, form: Form
) -> None:
    """Let each value carry its adjoint back, the youngest first, and read what arrives at its
    operands and what they have then.
    """
    gradient = form.gradient
    for node in reversed(order):
        parents = _operands(node, form)
        if not parents or ids[id(node)] not in writer.adjoints:
            continue
        unique = list(
            {id(p): (slot, p) for slot, p in reversed(list(enumerate(parents)))}.values()
        )[::-1]  # x*x adds twice in one step
        old = [float(getattr(p, gradient)) for _, p in unique]
        for _, parent in unique:
            setattr(parent, gradient, 0.0)
        getattr(node, step)()  # once from zero, to see what is sent …
        sent = [float(getattr(p, gradient)) for _, p in unique]
        for (_, parent), before in zip(unique, old, strict=True):
            setattr(parent, gradient, before)
        getattr(node, step)()  # … and once as it is, to see what becomes of the sum
        for (slot, parent), product in zip(unique, sent, strict=True):
            writer.send(ids[id(node)], slot, product, after=float(getattr(parent, gradient)))


def _by_partials(
    writer: Writer, ids: dict[int, str], order: list[Any], value: Any, form: Form
) -> None:
    """The engine runs its whole reverse pass; each contribution is its adjoint times its partial,
    and the sums are compared with what it has.
    """
    __tracebackhide__ = True
    gradient = form.gradient
    given = [node for node in order if node is value or _operands(node, form)]
    derivatives = {id(node): _local_derivatives(node, form) for node in given}
    if not callable(getattr(value, "backward", None)):
        raise TypeError(
            f"trace_of: {type(value).__name__} has local derivatives but no backward(), which would"
            " compute the gradients"
        )
    value.backward()
    for node in reversed(order):
        for slot, local in enumerate(derivatives.get(id(node), ())):
            if ids[id(node)] in writer.adjoints:
                writer.send(
                    ids[id(node)],
                    slot,
                    float(local) * float(getattr(node, gradient)),
                    local=float(local),
                )
    for node in order:
        found, own = writer.adjoints.get(ids[id(node)]), float(getattr(node, gradient))
        if found is not None and abs(found - own) > 1e-9 * max(1.0, abs(own)):
            writer.correct(ids[id(node)], own)


def _operands(node: Any, form: Form) -> list[Any]:
    """The operands in their order."""
    __tracebackhide__ = True
    found = getattr(node, form.operands)
    if isinstance(found, set | frozenset):
        _entries(node, form)
        return _in_order(node, found)
    return [operand for operand, _ in _entries(node, form)]


def _entries(node: Any, form: Form) -> list[tuple[Any, Any]]:
    """The operands that a value lists, each with the local derivative beside it or None."""
    __tracebackhide__ = True
    found = getattr(node, form.operands)
    listed = [found] if not isinstance(found, Iterable) else list(found)
    entries: list[tuple[Any, Any]] = []
    for one in [] if found is None else listed:
        pair = one if isinstance(one, tuple | list) and len(one) == 2 else (one, None)
        pair = pair if _has(pair[0], form) else pair[::-1]
        if not _has(pair[0], form) or not (pair[1] is None or isinstance(pair[1], Real)):
            raise TypeError(
                f"trace_of: {type(node).__name__}.{form.operands} holds {_described(one)}, but must"
                f" list values with {', '.join(form[:-1])} and {form.operands}, or pairs (value,"
                f" local derivative as a number); give the class a property {OPERANDS[0]} with such"
                " a list, or write the Trace with viz.adapters.Writer."
            )
        entries.append((pair[0], pair[1]))
    return entries


def _has(value: Any, form: Form) -> bool:
    return all(hasattr(value, name) for name in form)


def _described(one: Any) -> str:
    """What stands among the operands, by its types: "(Value, function)"."""
    if isinstance(one, tuple | list):
        return f"({', '.join(type(part).__name__ for part in one)})"
    return f"an object of type {type(one).__name__}"


def _local_derivatives(node: Any, form: Form) -> list[Any]:
    """One for each operand, from beside it or from a list of their own."""
    __tracebackhide__ = True
    entries = _entries(node, form)
    if entries and all(local is not None for _, local in entries):
        return [local for _, local in entries]
    return list(getattr(node, _attribute(node, "local derivatives")))


def _in_order(node: Any, found: Set[Any]) -> list[Any]:
    """The operands of a set (micrograd's), which has no order and holds x once for x*x: the
    variables of the step back tell both, ``self`` before the others.
    """
    step = next((getattr(node, name) for name in STEP if hasattr(node, name)), None)
    names = getattr(getattr(step, "__code__", None), "co_freevars", ())
    variables = dict(zip(names, getattr(step, "__closure__", None) or (), strict=False))
    told = [variables[name].cell_contents for name in sorted(names, key=lambda one: one != "self")]
    told = [one for one in told if any(one is operand for operand in found)]
    return told if {id(one) for one in told} == {id(one) for one in found} else list(found)


def _attribute(value: Any, what: str) -> str:
    """The name under which a value has what is needed."""
    __tracebackhide__ = True
    found = next((name for name in NEEDED[what] if hasattr(value, name)), None)
    if found is None:
        back = what == "local derivatives"
        lacking = ["step back", what] if back else [what]
        looked = "; or ".join(f"{part}: {', '.join(NEEDED[part])}" for part in lacking)
        advice = (
            f"Call the function that adds to the operands' gradients {STEP[0]}"
            if back
            else f"Call it {NEEDED[what][0]}"
        )
        raise TypeError(
            f"trace_of: {type(value).__name__} has no {' and no '.join(lacking)} under a known name"
            f" (looked for {looked}). {advice}, or write the Trace with viz.adapters.Writer."
        )
    return found


def _first(value: Any, names: Iterable[str]) -> Any:
    return next(
        (found for name in names if isinstance(found := getattr(value, name, None), str) and found),
        None,
    )


def _operation(node: Any) -> str:
    return str(_first(node, OPERATION) or type(node).__name__).strip()


def _is_plain_constant(node: Any) -> bool:
    """A leaf without a name: a number that met a value."""
    return not _first(node, NAME)


def _names(given: Mapping[str, Any] | None, frame: Any) -> dict[int, str]:
    if given is not None:
        return {id(value): str(name) for name, value in given.items()}
    found: dict[int, str] = {}
    for space in (frame.f_globals, frame.f_locals) if frame is not None else ():
        found |= {
            id(v): k
            for k, v in list(space.items())
            if not k.startswith("_") and any(hasattr(v, n) for n in OPERANDS)
        }
    return found
