"""A pooling of several stages as one operation of a Trace. The engine pools one axis after another,
and divides sums into means; a reader sees `max_pool2d` or `avg_pool2d`, its window, and which
element of the window it chose.
"""

from __future__ import annotations

import inspect
from operator import is_
from typing import Any

from ..backend import to_numpy
from ..core.primitive import Primitive, Rule, registry
from ..core.tensor import Tensor
from ..observers import Pooling, calls
from ..ops.elementwise import div
from ..ops.pooling import max_pool_jvp

NAMES = {"max_pool": "max_pool{}d", "sum_pool": "sum_pool{}d"}
PULLS = {"max_pool": "max_unpool{}d(g, argmax(x))", "sum_pool": "sum_unpool{}d(g)"}
PUSHES = {"max_pool": "t[argmax(x)]", "sum_pool": "sum_pool{}d(t)"}


def in_one(name: str, pooling: Pooling) -> Primitive:
    """The operation of the engine, described as one with all stages, whose parameter `windows`
    holds those of each axis. It is no operation that the engine runs."""
    own, axes = registry[name], len(pooling.windows)
    found = object.__new__(Primitive)
    vars(found).update(vars(own))
    found.kind, found.keywords = "general", ("windows", "divisors")
    found.notation, found.forward = None, _pooled(own)
    if pooling.divisors:
        found.name, push = f"avg_pool{axes}d", f"avg_pool{axes}d(t)"
        last = pooling.divisors[-1]
        counted = isinstance(last, Tensor) or len(pooling.divisors) > 1
        pull = f"sum_unpool{axes}d(g / {'counts' if counted else last})"
    else:
        found.name = NAMES[name].format(axes)
        pull, push = (texts[name].format(axes) for texts in (PULLS, PUSHES))
    found.symbol, found.pull_notation, found.push_notation = found.name, (pull,), (push,)
    rule = Rule(_pushed(own), found.name, ("x",), dict.fromkeys(found.keywords, _REQUIRED))
    found.pull_rules = found.push_rules = (rule,)  # the pull rule is only written, by its notation
    return found


_REQUIRED = inspect.Parameter.empty


def _pooled(own: Primitive) -> Any:
    def forward(xp: Any, x: Any, *, windows: Any, divisors: Any, **_: Any) -> Any:
        for window in windows:
            x = own.forward(xp, x, **window)
        for divisor in divisors:
            x = x / (divisor.array if isinstance(divisor, Tensor) else divisor)
        return x

    return forward


def _pushed(own: Primitive) -> Any:
    """The tangent, one stage after another."""

    def push(t: Any, x: Any, *, windows: Any, divisors: Any) -> Any:
        for window in windows:
            y = own(x, **window)
            t = own(t, **window) if own.kind == "linear" else max_pool_jvp(t, x, y, **window)
            x = y
        for divisor in divisors:
            t = div(t, divisor)
        return t

    return push


def position(args: Any, params: dict[str, Any]) -> tuple[Pooling, int] | None:
    """Which pooling is under way, and which of its stages an operation is."""
    pooling = calls.pooling
    if pooling is None:
        return None
    stages = (*(([], window) for window in pooling.windows), *(([d], {}) for d in pooling.divisors))
    own = list(args[1:])
    for at, (others, given) in enumerate(stages):
        if given == params and len(own) == len(others) and all(map(is_, own, others)):
            return pooling, at
    return None


def written_parameters(pooling: Pooling) -> dict[str, Any]:
    """The parameters of all axes, the first axis first; counted: by what the sums along an axis are
    divided, one number or one for each place."""
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
    stages = {"windows": pooling.windows, "divisors": pooling.divisors}
    return {**listed, **stages, "counted": counts}
