"""What the inputs must be: floating, in double precision, and each element alone in its place in
memory, so that it can be moved.
"""

from __future__ import annotations

import itertools
import warnings

from ... import backend
from ...backend import Array
from ...core.tensor import ensure_version
from .comparison import GradcheckError, GradientCheck
from .numerical import indices


def check_inputs(check: GradientCheck) -> None:
    if not check.checked:
        raise ValueError(
            "gradcheck expects at least one input tensor to require gradient, but none of them has"
            " requires_grad=True."
        )
    for i, x in check.checked:
        if x.dtype not in (backend.float64, backend.complex128):
            warnings.warn(
                f"gradcheck: input {i} requires gradient and is {x.dtype}, not of double precision."
                " Its rounding errors are larger than the default tolerances, so the check will"
                " likely fail; use float64 or complex128, or a larger eps, atol and rtol.",
                UserWarning,
                stacklevel=4,
            )
        ensure_version(x)
        if _overlaps(x.array):
            raise GradcheckError(
                f"gradcheck: input {i} (shape {x.shape}, strides {x.array.strides} bytes) has"
                " overlapping memory: several of its elements are one place in memory, so moving"
                " one moves the others and the numerical gradient would be wrong. Give it memory"
                " of its own: .clone() (or .contiguous())."
            )
        if not backend.is_writable(x.array):
            raise GradcheckError(
                f"gradcheck: the memory of input {i} may only be read, so its elements cannot be"
                " moved. Give a .clone()."
            )


def _overlaps(array: Array) -> bool:
    """Whether two indices name the same place."""
    if backend.is_dense(array):
        return False
    offsets = [
        sum(i * s for i, s in zip(index, array.strides, strict=True))
        for index in indices(array.shape)
    ]
    places = sorted(offsets)
    return any(
        later - earlier < array.dtype.itemsize for earlier, later in itertools.pairwise(places)
    )
