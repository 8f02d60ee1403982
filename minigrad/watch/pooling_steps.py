"""A pooling over several axes as one operation of a Trace. The engine pools one axis after another;
a reader sees `max_pool2d`, its window, and which element of the window it chose.
"""

from __future__ import annotations

import inspect
from typing import Any

from ..core.primitive import Primitive, Rule, registry
from ..observers import Pooling, calls
from ..ops.pooling import max_pool_jvp

NAMES = {"max_pool": "max_pool{}d", "sum_pool": "sum_pool{}d"}
PULLS = {"max_pool": "max_unpool{}d(g, argmax(x))", "sum_pool": "sum_unpool{}d(g)"}
PUSHES = {"max_pool": "t[argmax(x)]", "sum_pool": "sum_pool{}d(t)"}


def over_axes(name: str, axes: int) -> Primitive:
    """The operation of the engine, described as one over so many axes, whose parameter `windows`
    holds those of each axis. It is no operation that the engine runs."""
    own = registry[name]
    found = object.__new__(Primitive)
    vars(found).update(vars(own))
    found.kind, found.keywords = "general", ("windows",)
    found.name = found.symbol = NAMES[name].format(axes)
    found.notation, found.forward = None, _pooled(own)
    found.pull_notation = (PULLS[name].format(axes),)
    found.push_notation = (PUSHES[name].format(axes),)
    push = lambda t, x, *, windows: _pushed(own, t, x, windows)
    rule = Rule(push, found.name, ("x",), {"windows": inspect.Parameter.empty})
    found.pull_rules = found.push_rules = (rule,)  # the pull rule is only written, by its notation
    return found


def _pooled(own: Primitive) -> Any:
    def forward(xp: Any, x: Any, *, windows: Any, **_: Any) -> Any:
        for window in windows:
            x = own.forward(xp, x, **window)
        return x

    return forward


def _pushed(own: Primitive, t: Any, x: Any, windows: Any) -> Any:
    """The tangent, one axis after another."""
    for window in windows:
        y = own(x, **window)
        t = own(t, **window) if own.kind == "linear" else max_pool_jvp(t, x, y, **window)
        x = y
    return t


def position(args: Any, params: dict[str, Any]) -> tuple[Pooling, int] | None:
    """Which pooling is under way, and which of its axes an operation is for."""
    pooling = calls.pooling
    if pooling is None or len(args) != 1:
        return None
    at = next((i for i, window in enumerate(pooling) if window == params), None)
    return None if at is None else (pooling, at)


def written_parameters(pooling: Pooling) -> dict[str, Any]:
    """The parameters of all axes, the first axis first."""
    windows = sorted(pooling, key=lambda window: window["axis"])
    listed = {
        key: tuple(window[key] for window in windows)
        for key in ("size", "stride", "dilation", "padding")
    }
    return {**listed, "windows": pooling}
