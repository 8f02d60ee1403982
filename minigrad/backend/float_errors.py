"""Numerical errors: which are ignored, as in PyTorch, and which raise."""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from ..errors import LinAlgError
from .dtypes import Array


class _IgnoreFloatErrors(threading.local):
    """Compute without NumPy's warnings of division by zero, overflow and invalid values.

    `ignore_float_errors.run(function, *arrays)` calls one function, `with ignore_float_errors():`
    is for a block, such as a backward pass.

    log(0) = -∞ and exp(1000) = ∞ are answers, and PyTorch gives them without a warning. NumPy keeps
    its error mode in a context variable, so `run` calls the function in a context in which that
    variable is set. This costs 0.05 µs, `with np.errstate(...)` about 1 µs: half of a small
    operation. Each thread has its own context, because a context runs in one thread at a time.
    """

    def __init__(self) -> None:
        context = contextvars.Context()
        context.run(np.seterr, all="ignore")
        self.run = context.run

    def __call__(self) -> np.errstate:
        return np.errstate(all="ignore")


ignore_float_errors = _IgnoreFloatErrors()


def divide_integers(divide: Callable[[Any, Any], Array], a: Array, b: Array) -> Array:
    """`divide(a, b)` for integers. Raises ZeroDivisionError where NumPy would warn and answer 0
    (CuPy does not say).
    """
    try:
        with np.errstate(divide="raise"):
            return divide(a, b)
    except FloatingPointError:
        raise ZeroDivisionError(
            "an integer was divided by zero. Convert to floating point first (x.float()) to get inf"
            " or nan instead."
        ) from None


def call_linalg(operation: str, routine: Callable[..., Any], *args: Any) -> Any:
    """A routine of `xp.linalg`. Raises LinAlgError with advice where it finds no answer."""
    try:
        return ignore_float_errors.run(routine, *args)
    except np.linalg.LinAlgError as error:
        shapes = " and ".join(str(tuple(a.shape)) for a in args if hasattr(a, "shape"))
        advice = {
            "cholesky": (
                "the matrix (or one of them) is not positive definite. Add a small multiple of the"
                " identity, or use linalg.eigh."
            ),
            "svd": "the algorithm did not converge: look for NaN or infinity in the matrix.",
            "eigh": "the algorithm did not converge: look for NaN or infinity in the matrix.",
            "eig": "the algorithm did not converge, or met NaN or infinity in the matrix.",
        }.get(
            operation,
            "the matrix (or one of them) is singular. Use linalg.pinv, or add a small multiple of"
            " the identity.",
        )
        raise LinAlgError(f"linalg.{operation} of shape {shapes}: {error}: {advice}") from None
