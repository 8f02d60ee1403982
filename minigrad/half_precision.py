"""Operations that accumulate compute float16 and bfloat16 in float32 and round once."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from .backend import float32, ignore_float_errors, is_narrow


def accumulating(forward: Callable[..., Any]) -> Callable[..., Any]:
    """A forward function that computes float16 and bfloat16 in float32, and rounds its results to
    the inputs' dtype."""

    @functools.wraps(forward)
    def run(xp: Any, *arrays: Any, out: Any = None, **params: Any) -> Any:
        narrow = [hasattr(a, "dtype") and is_narrow(a.dtype) for a in arrays]
        if True not in narrow:
            if out is None:
                return forward(xp, *arrays, **params)
            return forward(xp, *arrays, out=out, **params)
        dtype = arrays[narrow.index(True)].dtype
        wide = [a.astype(float32) if n else a for a, n in zip(arrays, narrow, strict=True)]
        with ignore_float_errors():  # a number too large for the dtype becomes infinity
            result = forward(xp, *wide, **params)
            if isinstance(result, tuple):
                return tuple(r.astype(dtype) for r in result)
            if out is None:
                return result.astype(dtype)
            out[...] = result
            return out

    return run
