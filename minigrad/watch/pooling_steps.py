"""A pooling of several stages as one operation of a Trace. The engine pools one axis after another,
and divides sums into means; a reader sees `max_pool2d` or `avg_pool2d`, its window, and which
element of the window it chose.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from operator import is_
from typing import Any

from ..backend import to_numpy
from ..core.primitive import Primitive, Rule
from ..core.tensor import Tensor
from ..observers import Pooling, Stage, calls
from ..ops.elementwise import cast
from ..ops.pooling import max_pool, max_pool_jvp, placed


def in_one(pooling: Pooling) -> Primitive:
    """The operation of the engine, described as one with all stages. It is no operation that the
    engine runs."""
    own, axes, divisors = pooling.operation, len(pooling.windows), pooling.divisors
    found = object.__new__(Primitive)
    vars(found).update(vars(own))
    found.kind, found.keywords = "general", ("stages",)
    found.notation, found.forward = None, _pooled
    kind = own.name.removesuffix("_pool")
    sent, place, push = "g", "every_element_of_each_window", f"{kind}_pool{axes}d(t)"
    if kind == "max":
        place, push = "window_argmax(x)", "t[window_argmax(x)]"
    elif divisors:
        kind = "avg"
        counted = isinstance(divisors[-1], Tensor) or len(divisors) > 1
        sent = f"g / {'counts' if counted else divisors[-1]}"
        push = f"{'adaptive_' if pooling.parts else ''}avg_pool{axes}d(t)"
    pull = placed(sent, place, pooling.windows, overlap=bool(pooling.parts))
    found.name = f"{'adaptive_' if pooling.parts else ''}{kind}_pool{axes}d"
    found.symbol, found.pull_notation, found.push_notation = found.name, (pull,), (push,)
    rounded = any(stage is cast for stage, _, _ in pooling.stages)
    found.terms = None if pooling.parts or rounded else own.terms
    rule = Rule(_push, found.name, ("x",), dict.fromkeys(found.keywords, _REQUIRED))
    found.pull_rules = found.push_rules = (rule,)  # the pull rule is only written, by its notation
    return found


_REQUIRED = inspect.Parameter.empty


def _pooled(xp: Any, x: Any, *, stages: Sequence[Stage], **_: Any) -> Any:
    for operation, others, params in stages:
        arrays = [d.array if isinstance(d, Tensor) else d for d in others]
        x = operation.forward(xp, x, *arrays, **params)
    return x


def _push(t: Any, x: Any, *, stages: Sequence[Stage]) -> Any:
    """The tangent, one stage after another."""
    for operation, others, params in stages:
        y = operation(x, *others, **params)
        largest = operation is max_pool
        t = max_pool_jvp(t, x, y, **params) if largest else operation(t, *others, **params)
        x = y
    return t


def position(args: Any, params: dict[str, Any]) -> tuple[Pooling, int] | None:
    """Which pooling is under way, and which of its stages an operation is."""
    pooling = calls.pooling
    if pooling is None:
        return None
    held = [*args[1:], *params.values()]
    for at, (_, others, given) in enumerate(pooling.stages):
        own = [*others, *given.values()]
        if [*given] == [*params] and len(own) == len(held) and all(map(is_, own, held)):
            return pooling, at
    return None


def written_parameters(pooling: Pooling, shape: Sequence[int]) -> dict[str, Any]:
    """The parameters of all axes, the first axis first. shape: of the result; counted: by what the
    sums along an axis are divided, one number or one for each place."""
    windows = sorted(pooling.windows, key=lambda window: window["axis"])
    axes, counts = windows[-1]["axis"] + 1, {}  # the last axis is pooled
    for divisor in pooling.divisors:
        if isinstance(divisor, Tensor):
            counts[axes - divisor.ndim] = to_numpy(divisor.array).ravel().tolist()
        else:
            counts[axes - 1] = [divisor * count for count in counts.get(axes - 1, [1])]
    listed = {
        key: tuple(window[key] for window in windows)
        for key in ("size", "stride", "dilation", "padding")
    }
    if pooling.parts:
        listed = {"parts": tuple(shape[window["axis"]] for window in windows)}
    own = {"windows": pooling.windows, "stages": pooling.stages, "counted": counts}
    return {**listed, **own}
