"""Forward mode: each column of the Jacobian against the central difference along it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...core.tensor import Tensor
from .. import forward_ad
from .comparison import (
    GradientCheck,
    compare,
    host,
    label,
    random_like,
    real_product,
    unit,
    units,
    wide,
)
from .numerical import central_differences, projections_agree


def check_forward(check: GradientCheck, places: Sequence[int], fast: bool) -> None:
    """Forward mode: each column of the Jacobian against the central difference along it, or one
    projection of it (fast)."""
    outputs = check.outputs()
    us = random_like([outputs[place] for place in places], 2)

    def products(k: int, v: Tensor) -> list[float]:
        tangents = _tangents(check, check.checked[k][0], v)
        return [real_product(wide(u, u), tangents[p]) for p, u in zip(places, us, strict=True)]

    if fast and projections_agree(check, places, us, products):
        return
    for i, x in check.checked:
        numerical = central_differences(check, x, outputs)
        for d in units(x):
            columns: list[list[Any]] = [[] for _ in outputs]
            for column in range(x.numel()):
                tangents = _tangents(check, i, unit(x, column, d))
                for tangent, collected in zip(tangents, columns, strict=True):
                    collected.append(tangent)
            for place in places:
                o = outputs[place]
                pushed = host.array(columns[place]).reshape(x.numel(), o.numel()).T
                how = f"by forward mode, for tangent {label(d)}"
                compare(check, numerical[place][d], pushed, place, i, o, how)


def _tangents(check: GradientCheck, i: int, tangent: Tensor) -> list[Any]:
    """The tangents of all outputs for one of input i."""
    with forward_ad.dual_level():
        duals = list(check.inputs)
        duals[i] = forward_ad.make_dual(duals[i], tangent)
        return [wide(forward_ad.unpack_dual(o).tangent, o) for o in check.outputs(*duals)]


def pushed_forward(check: GradientCheck) -> Callable[..., Any]:
    """(inputs, tangents) ↦ Jacobian-vector products."""
    count = len(check.inputs)
    places = [i for i, _ in check.checked]

    def pushed(*arguments: Any) -> tuple[Tensor, ...]:
        with forward_ad.dual_level():
            duals = list(arguments[:count])
            for place, tangent in zip(places, arguments[count:], strict=True):
                duals[place] = forward_ad.make_dual(duals[place], tangent)
            found = [forward_ad.unpack_dual(o).tangent for o in check.outputs(*duals)]
        return tuple(t for t in found if t is not None)

    return pushed
