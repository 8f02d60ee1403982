"""One step of a training as a Trace: the loss, its gradients, and what the optimiser makes of each
parameter.

The Trace of the loss in reverse mode is continued by one node for each parameter, its value after
the step: w′ beside w, with w and its adjoint as what it is made from. The optimiser's code is not
read: it runs, and the values before and after are compared with three rules: the rate times the
gradient, the rate times the momentum that the optimiser keeps, Adam's with the moments that it
keeps.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any
from unicodedata import combining

from .. import backend
from ..core.tensor import Tensor, wrap
from ..trace.schema import Trace
from ..trace.text import number, text_of
from .notation import Token, Tokens, called, in_parentheses, label_of, num, op, symbol
from .trace import record
from .trace_recorder import TraceRecorder
from .values import payload_value, pictured, value

Kept = dict[str, Any]

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

    names, source, title, most: as for `trace_function`. Plain numbers have the dtype of the
    optimiser's parameters, where that is one. Raises TypeError for what is no optimiser
    or needs the loss more than once, ValueError where f uses none of its parameters, and what
    `trace_function` raises; nothing is changed then.
    """
    __tracebackhide__ = True
    if not callable(f):
        raise TypeError(
            "training step: expected the function that computes the loss, which is called with the"
            f" arguments after the optimiser, got a {type(f).__name__}. Write a function, def"
            " loss(x, y): return …, and pass that."
        )
    owner = type(optimizer).__name__
    if not hasattr(optimizer, "param_groups") or not callable(getattr(optimizer, "step", None)):
        raise TypeError(f"training step: expected an optimiser after the loss, got {owner}.")
    groups = {p: group for group in optimizer.param_groups for p in group["params"]}
    recorder = record(f, args, "reverse", names, source, most, by_inputs=False, parameters=groups)
    used = [(p, name) for p in groups if (name := recorder.found(p)) is not None]
    if not used:
        raise ValueError(
            f"training step: the loss uses none of the {len(groups)} parameters of the"
            f" {owner}. Does the optimiser hold the parameters of the model that the loss calls?"
        )
    earlier = [(p, p.grad) for p in groups]
    for p in groups:
        p.grad = None
    before = []
    for p, name in used:
        g = recorder.adjoints.of(name)
        if g is not None:
            p.grad = wrap(g.copy())
            before.append((p, name, p.array.copy(), g.copy(), _kept(optimizer, p)))
    try:
        optimizer.step()
    except TypeError as error:
        for p, held in earlier:
            p.grad = held
        raise TypeError(
            f"training step: {owner}.step() needs more than the gradients: {error} One picture"
            " shows one evaluation of the loss, as SGD and Adam need it."
        ) from error
    rules = [
        (name, array, p, *_rule(name, array, g, p.array, groups[p], held, _kept(optimizer, p)))
        for p, name, array, g, held in before
    ]
    heads = _heads(owner, [(name, made, bool(p.shape)) for name, _, p, made, *_ in rules])
    for head, rule in zip(heads, rules, strict=True):
        _update(recorder, owner, head, *rule)
    return recorder.document(title)


def _update(
    recorder: TraceRecorder,
    owner: str,
    head: Tokens,
    name: str,
    before: Any,
    after: Tensor,
    made: Tokens,
    spelled: Tokens,
    kept: list[Tokens],
) -> None:
    """The node and the step of a parameter's new value. head: how it is made, as its card says it;
    kept: the formulas of what the optimiser keeps."""
    label = label_of(name)
    label["base"] += "′"
    new = label["base"] + label.get("sub", "")
    node = recorder.add(new, wrap(after.array), "output", made)
    node |= {"op": owner, "label": label}
    if "name" in (old := recorder.by_id[name]):
        node["name"] = old["name"]
    if "group" in old:
        node["group"] = old["group"]
    node["expr"] = head
    recorder.outputs.append(new)
    shown = payload_value(after.array)
    told = text_of([_in_words(token) for token in made])
    # of arrays the numbers of a sentence would be too many
    states = [text_of(list(map(_in_words, one))) for one in kept if after.shape == ()]
    where = f", with {', '.join(states)}" if states else ""
    formula: Tokens = [{"t": "sym", **label, "node": new, "col": "v"}, op("=")]
    formula += [*made, *spelled]
    recorder.step(
        "update",
        new,
        recorder.connect(node, [name], False),
        [[name, "v"], [name, "g"]],
        [[new, "v", pictured(shown, after.array)]],
        [*formula, op("="), num(shown, "v")],
        f"{owner} changes {called(name)} from {number(value(before))} to {new} ="
        f" {told} = {number(shown)}{where}.",
    )
    if kept:
        recorder.steps[-1]["state"] = kept


def _in_words(token: Token) -> Token:
    """The adjoint of a longer name in words: a line of text has bars for single letters only."""
    if token.get("accent") == "bar" and len(token["base"]) > 1:
        return {"t": "text", "text": "its gradient"}
    return token


def _heads(owner: str, rules: Sequence[tuple[str, Tokens, bool]]) -> list[Tokens]:
    """How new values are made, as the heads of their cards say it: w − 0.1 · w̄. In its place stands
    0.weight + Δ(SGD) where there is a path, a fraction or an array's change; SGD(…) where that,
    too, is long. All have the form that each has space for. rules: names, rules, and whether the
    parameter is an array."""
    forms = []
    for name, made, array in rules:
        change: Tokens = [symbol(name), op("+"), _words(f"Δ({owner})")]
        kind = made[-1]["t"]
        plain = kind == "sym" and "." not in name if array else kind != "frac"
        forms.append([made if plain else change, change, [_words(f"{owner}(…)")]])
    names = [name for name, *_ in rules]
    fit = lambda form: all(_fits(*one) for one in zip(names, form, strict=True))
    found = [*zip(*forms, strict=True)]
    return list(next(filter(fit, found), found[-1]))


def _words(text: str) -> Token:
    return {"t": "fn", "text": text}


HEAD = 30
"""The most letters of a card's head."""


def _fits(name: str, made: Tokens) -> bool:
    letters = [c for c in f"{name}′ = {text_of(made)}" if not combining(c)]
    return len(letters) <= HEAD


def _kept(optimizer: Any, p: Tensor) -> dict[str, Any]:
    """What the optimiser keeps for a parameter: numbers, and copies of its arrays."""
    states = getattr(optimizer, "state", None)
    found = states.get(id(p), {}) if isinstance(states, dict) else {}
    return {k: backend.to_numpy(v).copy() if hasattr(v, "dtype") else v for k, v in found.items()}


def _rule(
    name: str, before: Any, g: Any, after: Any, group: dict[str, Any], held: Kept, kept: Kept
) -> tuple[Tokens, Tokens, list[Tokens]]:
    """How the new value is made: w − 0.1 · w̄ where the change is the learning rate times the
    gradient; w − 0.1 · m with the momentum m; Adam's rule; w + Δw elsewhere. Then, for a number,
    "=" and the same with numbers, and the formulas of what the optimiser keeps. held, kept: that,
    before and after the step."""
    lr = group.get("lr")
    old, slope = backend.to_numpy(before), backend.to_numpy(g)
    rates = (lr, -lr) if lr else ()
    rate = next((r for r in rates if _is_rate(r, before, g, after)), None)
    by, numbers = [symbol(name, "bar", "g")], in_parentheses(num(value(g), "g"))
    states: list[Tokens] = []
    for rule in (_momentum, _adam):
        if rate is not None or not lr or old.dtype.kind != "f":
            break
        with backend.ignore_float_errors():
            found = rule(name, slope.astype(backend.float64), group, held, kept)
            if found and _is_rate(lr, before, found[3], after):
                rate, (by, numbers, states, _) = lr, found
    if rate is None:
        change = num(value(backend.to_numpy(after) - old), "v")
        made: Tokens = [symbol(name), op("+"), *in_parentheses(change)]
        return made, [op("="), num(value(before), "v"), *made[1:]] if old.shape == () else [], []
    factor, sign = num(abs(rate)), op("−" if rate >= 0 else "+")
    made = [symbol(name), sign, factor, op("·"), *by]
    if old.shape != ():
        return made, [], states
    return made, [op("="), num(value(before), "v"), sign, factor, op("·"), *numbers], states


Found = tuple[Tokens, Tokens, list[Tokens], Any]
"""What the rate is multiplied by, as a factor and with numbers; the formulas of what the optimiser
keeps; and that factor's value."""


def _moment(letter: str, share: float, old: Any, part: float, by: Tokens, new: Any) -> Tokens:
    """The formula m = 0.9 · 20 + 0.1 · w̄ = 48 of a mean that moves."""
    tokens: Tokens = []
    if old is not None:
        tokens += [num(share), op("·"), *in_parentheses(num(value(old))), op("+")]
    if part != 1:
        tokens += [num(part), op("·")]
    return [_letter(letter), op("="), *tokens, *by, op("="), num(value(new))]


def _letter(letter: str) -> Token:
    return {"t": "sym", "base": letter}


def _momentum(name: str, g: Any, group: dict[str, Any], held: Kept, kept: Kept) -> Found | None:
    """The momentum m of SGD; None where the buffer that the optimiser keeps is not made of the
    gradient alone."""
    new, old = (one.get("momentum_buffer") for one in (kept, held))
    if new is None or "momentum" not in group:
        return None
    share, part = group["momentum"], 1 - group.get("dampening", 0.0)
    if old is None:
        part = 1.0  # the first is the gradient itself
    if not _same(new, g * part + (0 if old is None else share * old)):
        return None
    formula = _moment("m", share, old, part, [symbol(name, "bar", "g")], new)
    return [_letter("m")], in_parentheses(num(value(new))), [formula], new


def _adam(name: str, g: Any, group: dict[str, Any], held: Kept, kept: Kept) -> Found | None:
    """Adam's quotient m̂ / (√v̂ + ε); None where the moments that the optimiser keeps are not made
    of the gradient alone."""
    keys = ("exp_avg", "exp_avg_sq")
    if not all(key in kept for key in (*keys, "step")) or "betas" not in group:
        return None
    bar = symbol(name, "bar", "g")
    squared: Token = {"t": "sup", "base": [bar], "exp": [num(2)]}
    t, eps, formulas, means = int(kept["step"]), group["eps"], [], []
    rows = zip("mv", keys, group["betas"], ([bar], [squared]), (g, g * g), strict=True)
    for letter, key, beta, by, fed in rows:
        old = held.get(key)
        if not _same(kept[key], (1 - beta) * fed + (0 if old is None else beta * old)):
            return None
        formulas.append(_moment(letter, beta, old, 1 - beta, by, kept[key]))
        means.append(kept[key].astype(float) / (1 - beta**t))
        power: Token = {"t": "sup", "base": [num(beta)], "exp": [num(t)]}
        shrunk: Token = {"t": "frac", "num": [_letter(letter)], "den": [num(1), op("−"), power]}
        formulas.append([_letter(letter + HAT), op("="), shrunk, op("="), num(value(means[-1]))])

    def quotient(above: Token, below: Token) -> Token:
        root: Token = {"t": "sqrt", "of": [below]}
        return {"t": "frac", "num": [above], "den": [root, op("+"), num(eps)]}

    by = [quotient(_letter("m" + HAT), _letter("v" + HAT))]
    numbers = [quotient(*(num(value(mean)) for mean in means))]
    return by, numbers, formulas, means[0] / (means[1] ** 0.5 + eps)


HAT = "\u0302"


def _same(found: Any, expected: Any) -> bool:
    """Whether two arrays agree within the rounding of the first."""
    close = 16 * float(backend.finfo(found.dtype).eps)
    return bool((abs(found - expected) <= close * abs(expected).max(initial=0.0)).all())


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
