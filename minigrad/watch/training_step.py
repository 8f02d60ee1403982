"""One step of a training as a Trace: the loss, its gradients, and what the optimiser makes of each
parameter.

The Trace of the loss in reverse mode is continued by one node for each parameter, its value after
the step: w′ beside w, with w and its adjoint as what it is made from. The optimiser is not read: it
runs, and the values before and after are compared.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .. import backend
from ..core.tensor import Tensor, wrap
from ..trace.schema import Trace
from ..trace.text import number, text_of
from .notation import Token, Tokens, called, in_parentheses, is_signed, label_of, num, op, symbol
from .trace import record
from .trace_recorder import TraceRecorder
from .values import payload_value, pictured, value

CLOSE = 1e-5
"""A change is the learning rate times the gradient where they differ by no more than this share."""


def trace_training_step(
    f: Callable[..., Any],
    optimizer: Any,
    *args: Any,
    names: Sequence[str] | None = None,
    source: str | None = None,
    title: str | None = None,
    most: int | None = None,
) -> Trace:
    """Run the loss `f(*args)`, its reverse pass and one step of the optimiser, and return what
    happened as a `minigrad.trace/1` document. The parameters are changed, and hold the gradients
    in `.grad`, as after `optimizer.zero_grad(); f(*args).backward(); optimizer.step()`.

    names, source, title, most: as for `trace_function`. Raises TypeError for what is no optimiser
    or needs the loss more than once, ValueError where f uses none of its parameters, and what
    `trace_function` raises; nothing is changed then.
    """
    __tracebackhide__ = True
    owner = type(optimizer).__name__
    if not hasattr(optimizer, "param_groups") or not callable(getattr(optimizer, "step", None)):
        raise TypeError(f"training step: expected an optimiser after the loss, got {owner}.")
    recorder = record(f, args, "reverse", names, source, most, by_inputs=False)
    rates = {p: group.get("lr") for group in optimizer.param_groups for p in group["params"]}
    used = [(p, name) for p in rates if (name := recorder.found(p)) is not None]
    if not used:
        raise ValueError(
            f"training step: the loss uses none of the {len(rates)} parameters of the"
            f" {owner}. Does the optimiser hold the parameters of the model that the loss calls?"
        )
    earlier = [(p, p.grad) for p in rates]
    for p in rates:
        p.grad = None
    before = []
    for p, name in used:
        g = recorder.adjoints.of(name)
        if g is not None:
            p.grad = wrap(g.copy())
            before.append((p, name, p.array.copy(), g.copy()))
    try:
        optimizer.step()
    except TypeError as error:
        for p, held in earlier:
            p.grad = held
        raise TypeError(
            f"training step: {owner}.step() needs more than the gradients: {error} One picture"
            " shows one evaluation of the loss, as SGD and Adam need it."
        ) from error
    for p, name, array, g in before:
        made, spelled = _rule(name, array, g, p.array, rates[p])
        _update(recorder, owner, name, array, p, made, spelled)
    return recorder.document(title)


def _update(
    recorder: TraceRecorder,
    owner: str,
    name: str,
    before: Any,
    after: Tensor,
    made: Tokens,
    spelled: Tokens,
) -> None:
    """The node and the step of a parameter's new value."""
    label = label_of(f"{name}′" if name[:1].isdigit() else name)
    label["base"] += "′" * (not name[:1].isdigit())  # it stands inside of quotes
    shown_as = label["base"] + label.get("sub", "")
    new = shown_as.replace("“", "").replace("”", "")
    node = recorder.add(new, wrap(after.array), "output", made)
    node |= {"op": owner, "label": label}
    if "name" in (old := recorder.by_id[name]):
        node["name"] = old["name"]
    if "group" in old:
        node["group"] = old["group"]
    if after.shape:
        node["expr"] = _shortened(name, owner, made)
    recorder.outputs.append(new)
    shown = payload_value(after.array)
    told = [_in_words(token) for token in made]
    formula: Tokens = [{"t": "sym", **label, "node": new, "col": "v"}, op("=")]
    formula += [*made, *spelled]
    recorder.step(
        "update",
        new,
        recorder.connect(node, [name], False),
        [[name, "v"], [name, "g"]],
        [[new, "v", pictured(shown, after.array)]],
        [*formula, op("="), num(shown, "v")],
        f"{owner} changes {called(name)} from {number(value(before))} to {shown_as} ="
        f" {text_of(told)} = {number(shown)}.",
    )


def _in_words(token: Token) -> Token:
    """The adjoint of a longer name in words: a line of text has bars for single letters only."""
    if token.get("accent") == "bar" and len(token["base"]) > 1:
        return {"t": "text", "text": "its gradient"}
    return token


def _shortened(name: str, owner: str, made: Tokens) -> Tokens:
    """The rule of an array as it stands in a card, which has no room for the change's elements: of
    a path such as 0.weight a letter, w − 0.1 · w̄."""
    if made[-1].get("col") != "g":
        made = [*made[:2], {"t": "text", "text": f"Δ({owner})"}]
    letter = {"base": name.split(".")[-1][:1]} if "." in name else {}
    return [token | letter if token["t"] == "sym" else token for token in made]


def _rule(name: str, before: Any, g: Any, after: Any, lr: Any) -> tuple[Tokens, Tokens]:
    """How the new value is made, w − 0.1 · w̄ where the change is the learning rate times the
    gradient, w + Δw elsewhere; and for a number "=" and the same with numbers."""
    rate = next((r for r in (lr, -lr) if _is_rate(r, before, g, after)), None) if lr else None
    if rate is None:
        change = num(value(backend.to_numpy(after) - backend.to_numpy(before)), "v")
        made: Tokens = [symbol(name), op("+"), *in_parentheses(change)]
        return made, [op("="), num(value(before), "v"), *made[1:]] if before.shape == () else []
    factor, sign = num(abs(rate)), op("−" if rate >= 0 else "+")
    made = [symbol(name), sign, factor, op("·"), symbol(name, "bar", "g")]
    if before.shape != ():
        return made, []
    slope = num(value(g), "g")
    last = in_parentheses(slope) if is_signed(slope) else [slope]
    return made, [op("="), num(value(before), "v"), sign, factor, op("·"), *last]


def _is_rate(rate: float, before: Any, g: Any, after: Any) -> bool:
    """Whether after = before − rate · g, within rounding."""
    if backend.to_numpy(before).dtype.kind != "f":
        return False
    old, slope, new = (
        backend.to_numpy(a).astype(backend.float64).reshape(-1) for a in (before, g, after)
    )
    step = rate * slope
    rounding = 4 * float(backend.finfo(before.dtype).eps) * abs(old).max(initial=0.0)
    return bool((abs(new - old + step) <= CLOSE * abs(step) + rounding).all() and step.any())
