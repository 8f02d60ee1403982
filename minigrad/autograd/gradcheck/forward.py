"""Forward mode: each column of the Jacobian against the central difference along it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...core.tensor import Tensor
from .. import forward_ad
from .comparison import GradientCheck, compare, host, label, unit, units, wide
from .numerical import central_differences


def check_forward(check: GradientCheck, places: Sequence[int]) -> None:
    """Forward mode: each column of the Jacobian against the central difference along it."""
    outputs = check.outputs()
    for i, x in check.checked:
        numerical = central_differences(check, x, outputs)
        for d in units(x):
            columns: list[list[Any]] = [[] for _ in outputs]
            for column in range(x.numel()):
                with forward_ad.dual_level():
                    duals = list(check.inputs)
                    duals[i] = forward_ad.make_dual(x, unit(x, column, d))
                    for o, collected in zip(check.outputs(*duals), columns, strict=True):
                        collected.append(wide(forward_ad.unpack_dual(o).tangent, o))
            for place in places:
                o = outputs[place]
                pushed = host.array(columns[place]).reshape(x.numel(), o.numel()).T
                how = f"by forward mode, for tangent {label(d)}"
                compare(check, numerical[place][d], pushed, place, i, o, how)


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
