"""Derivative rules and public functions that compute float16 and bfloat16 in float32."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

from ..backend import float32, is_differentiable, is_narrow
from ..core.primitive import registry

Function = TypeVar("Function", bound=Callable[..., Any])


def in_float32(function: Function) -> Function:
    """A derivative rule or a public function that computes float16 and bfloat16 in float32, and
    rounds its results to the dtype that the operands promote to. For what squares or multiplies
    before it adds, so that only the result can overflow.
    """

    @functools.wraps(function)
    def run(*args: Any, **params: Any) -> Any:
        for a in args:
            if is_narrow(getattr(a, "dtype", None)):
                break
        else:
            return function(*args, **params)
        arrays = [a for a in args if hasattr(a, "dtype")]
        dtypes = {a.dtype for a in arrays if is_differentiable(a.dtype) and a.ndim}
        dtypes = dtypes or {a.dtype for a in arrays if is_narrow(a.dtype)}
        cast = registry["cast"]
        narrow = [is_narrow(getattr(a, "dtype", None)) for a in args]
        wide = (cast(a, dtype=float32) if n else a for a, n in zip(args, narrow, strict=True))
        result = function(*wide, **params)
        dtype = dtypes.pop()
        if dtypes or not is_narrow(dtype):
            return result
        if isinstance(result, tuple):
            return tuple(cast(r, dtype=dtype) for r in result)
        return cast(result, dtype=dtype)

    return run  # type: ignore[return-value]
