"""Payloads as values of a Trace: a number, or a summary of an array with its first elements and a
map of colours.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from .. import backend
from ..core.tensor import Tensor
from ..errors import AutogradError
from ..trace.text import CHOSEN, chosen_places
from ..trace.value_schema import LEVELS, SAMPLE

_NUMBERS = (bool, int, float, complex)
_KINDS = "biufc"
"""The kinds of dtypes that NumPy itself has."""
_elements: ContextVar[int] = ContextVar("elements", default=SAMPLE)


@contextmanager
def more_elements(count: int) -> Iterator[None]:
    """Values hold so many elements inside. The document is then no valid Trace until its samples
    are cut to 16 again.
    """
    token = _elements.set(max(SAMPLE, count))
    try:
        yield
    finally:
        _elements.reset(token)


def value(array: Any, picture: bool = False) -> Any:
    """A payload (or Python number) as a Trace value: a number, or a summary with the first 16
    elements (and a heat map, if wanted).
    """
    if isinstance(array, _NUMBERS):
        return _number(array)
    host = _host(array)
    if host.ndim == 0:
        return _number(host.item())
    flat = host.reshape(-1)
    summary: dict[str, Any] = {
        "shape": list(host.shape),
        "dtype": str(array.dtype),
        "sample": [_number(v) for v in flat[: _elements.get()].tolist()],
    }
    if flat.size and host.dtype.kind in "iuf":
        wide = flat.astype(backend.float64)
        summary |= {
            "min": _number(float(wide.min())),
            "max": _number(float(wide.max())),
            "norm": _number(math.sqrt(float(wide @ wide))),
        }
    return pictured(summary, array) if picture else summary


def pictured(shown: Any, array: Any) -> Any:
    """The value of a payload with a heat map, where that is a large array of real numbers."""
    if not is_array(shown) or "min" not in shown or array.size <= SAMPLE:
        return shown
    return {**shown, "heat": heat(_host(array))}


def changed_places(change: Any, before: Any = None) -> list[int]:
    """Which elements of a large array to show so that what a change adds to it, and to what, is
    visible."""
    if getattr(change, "size", 1) <= CHOSEN or _host(change).reshape(-1)[:CHOSEN].all():
        return []
    arrays = (_host(a).reshape(-1) for a in (change, before) if a is not None)
    return chosen_places(*(backend.numpy.flatnonzero(a)[:CHOSEN].tolist() for a in arrays))


def with_places(shown: Any, array: Any, places: list[int]) -> Any:
    """The value of a payload that names which of its elements are to be shown."""
    if not places or not is_array(shown):
        return shown
    found = [_number(v) for v in _host(array).reshape(-1)[places].tolist()]
    return {**shown, "chosen": {"at": places, "sample": found}}


def is_array(shown: Any) -> bool:
    """Whether a Trace value is that of an array, and not of one number."""
    return isinstance(shown, dict) and "sample" in shown


def _host(array: Any) -> Any:
    """A payload as a NumPy array of a dtype that NumPy itself has."""
    host = backend.to_numpy(array)
    return host if host.dtype.kind in _KINDS else host.astype(backend.float64)


def elements(array: Any, digits: int | None = None) -> list[Any]:
    """All elements of a payload, in row-major order; rounded to so many significant digits."""
    host = _host(array)
    found = host.reshape(-1).tolist()
    if digits is not None and host.dtype.kind == "f":
        found = [float(f"{v:.{digits}g}") for v in found]
    return [_number(v) for v in found]


def same_numbers(a: Any, b: Any) -> bool:
    """Whether two payloads hold the same numbers, NaN being the same as NaN."""
    if a is b:
        return True
    if a is None or a.shape != b.shape:
        return False
    if type(a) in backend.IMMUTABLE and type(b) in backend.IMMUTABLE:  # sooner than on arrays
        return bool(a == b or (a != a and b != b))
    x, y = backend.to_numpy(a), backend.to_numpy(b)
    return bool(((x == y) | ((x != x) & (y != y))).all())


def array_of(value: Any) -> Any:
    """The payload of a tensor; anything else itself."""
    return value.array if isinstance(value, Tensor) else value


def payload_value(array: Any) -> Any:
    """A payload as a Trace value. Raises AutogradError for what stands for many values at once,
    as inside vmap.
    """
    if isinstance(array, float) and math.isfinite(array):  # as most are
        return float(array)
    if isinstance(array, _NUMBERS):
        return _number(array)
    if type(array) is backend.numpy.ndarray and array.ndim == 0 and array.dtype.kind in _KINDS:
        return _number(array.item())  # as `value` does: most are single numbers
    if hasattr(type(array), "__minigrad_apply__"):
        raise AutogradError(
            "trace: the function computes with batched or symbolic values (vmap, for instance),"
            " which a Trace cannot show. Trace the inner function on one example."
        )
    return value(array)


ROWS, COLUMNS = 12, 24


def heat(host: Any) -> dict[str, Any]:
    """A large array as a small map of colours: evenly spaced elements (never more than 12 × 24),
    each as one of 17 levels around zero.

    An array of more than two axes is read as the matrix of its last axis; a vector as one row. The
    scale is the largest magnitude among all finite elements.
    """
    matrix = host.reshape(1, -1) if host.ndim == 1 else host.reshape(-1, host.shape[-1])
    steps = [max(1, -(-n // most)) for n, most in zip(matrix.shape, (ROWS, COLUMNS), strict=True)]
    np, half = backend.numpy, (len(LEVELS) - 1) // 2
    cells = matrix[:: steps[0], :: steps[1]].astype(backend.float64)
    finite = [abs(v) for v in (float(host.min()), float(host.max())) if math.isfinite(v)]
    flat = cells.reshape(-1)
    scale = max([*finite, float(abs(flat[np.isfinite(flat)]).max(initial=0.0))])
    with backend.ignore_float_errors():
        shares = (flat / scale).clip(-1.0, 1.0) if scale else flat * 0
        places = np.floor(half * shares + (half + 0.5))
    places = np.where(np.isnan(flat), len(LEVELS), np.where(np.isnan(places), half, places))
    levels = "".join(map((LEVELS + "n").__getitem__, places.astype(int).tolist()))
    return {"shape": list(cells.shape), "scale": scale, "levels": levels}


def _number(v: Any) -> Any:
    if isinstance(v, float):
        if math.isfinite(v):
            return float(v)  # of NumPy's own, too, which are slow
        return "nan" if math.isnan(v) else "inf" if v > 0 else "-inf"
    return {"re": _number(v.real), "im": _number(v.imag)} if isinstance(v, complex) else v
