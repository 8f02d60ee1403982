"""Numerical derivatives, by central differences, and functions that have none."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ... import backend
from ...core.tensor import Tensor, wrap
from .comparison import (
    GradcheckError,
    GradientCheck,
    host,
    random_like,
    real_product,
    units,
    wide,
    wide_dtype,
)


def central_differences(
    check: GradientCheck, x: Tensor, outputs: Sequence[Tensor]
) -> list[dict[complex, Any]]:
    """For each output and each direction the matrix of central differences: rows are the
    output's elements, columns the input's.
    """
    found: list[dict[complex, Any]] = [
        {d: host.zeros((o.numel(), x.numel()), wide_dtype(o)) for d in units(x)} for o in outputs
    ]
    for column, index in enumerate(indices(x.shape)):
        for d in units(x):
            ahead = _moved(check, x, index, check.eps * d)
            behind = _moved(check, x, index, -check.eps * d)
            check_forms(outputs, ahead, behind)
            for matrices, a, b, o in zip(found, ahead, behind, outputs, strict=True):
                matrices[d][:, column] = (wide(a, o) - wide(b, o)) / (2 * check.eps)
    return found


def check_forms(outputs: Sequence[Tensor], *moved: Sequence[Tensor]) -> None:
    """Raise GradcheckError where outputs at moved inputs are of another form than `outputs`."""
    forms = [[(o.shape, o.dtype) for o in each] for each in (outputs, *moved)]
    if any(form != forms[0] for form in forms):
        raise GradcheckError(
            "gradcheck: func returned outputs of different number, shape or dtype when an input was"
            " moved a little."
        )


def projections_agree(
    check: GradientCheck,
    places: Sequence[int],
    us: Sequence[Tensor],
    products: Callable[[int, Tensor], list[float]],
) -> bool:
    """fast_mode: whether `products(k, v)` are Re(ūᵀ J v) by finite differences, for the k-th input
    that is checked, a random v, and the u of each output.

    Where they disagree the full comparison finds out where.
    """
    outputs = check.outputs()
    for k, (_, x) in enumerate(check.checked):
        (v,) = random_like([x], 3 + k)
        ahead, behind = (_moved(check, x, ..., step * v.array) for step in (check.eps, -check.eps))
        check_forms(outputs, ahead, behind)
        for place, u, analytical in zip(places, us, products(k, v), strict=True):
            difference = wide(ahead[place], u) - wide(behind[place], u)
            numerical = real_product(wide(u, u), difference) / (2 * check.eps)
            scale = float(host.abs(wide(u, u)).sum() * host.abs(wide(v, v)).sum())
            if not abs(numerical - analytical) <= check.atol * scale + check.rtol * abs(numerical):
                return False
    return True


def indices(shape: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """All indices, in row-major order."""
    return itertools.product(*map(range, shape))


def _moved(check: GradientCheck, x: Tensor, index: Any, step: Any) -> tuple[Tensor, ...]:
    """The outputs with one element of an input moved, or with all of them (index: an Ellipsis).

    It is moved in its own memory, so that functions that refer to the input otherwise see it too.
    """
    before = x.array[index].copy()
    x.array[index] = before + step
    try:
        return tuple(wrap(backend.materialise(o.array).copy()) for o in check.outputs())
    finally:
        x.array[index] = before


def gradient_of(matrices: dict[complex, Any], v: complex) -> Any:
    """The Jacobian whose rows are gradients of Re(v̄ · output): ∂/∂a + i ∂/∂b."""
    along = {d: (host.conj(v) * m).real for d, m in matrices.items()}
    return along[1] + 1j * along[1j] if 1j in along else along[1]


def check_constant(check: GradientCheck, outputs: Sequence[Tensor]) -> None:
    """No output requires grad: then nothing may change when the inputs do."""
    for i, x in check.checked:
        for place, matrices in enumerate(central_differences(check, x, outputs)):
            for matrix in matrices.values():
                if not (host.abs(matrix) <= check.atol).all():
                    raise GradcheckError(
                        f"gradcheck: output {place} does not require grad, so its derivative with"
                        f" respect to input {i} counts as zero, but its numerical derivative"
                        f" is\n{matrix}\nWas it detached, or computed under no_grad?"
                    )
