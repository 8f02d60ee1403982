"""Float16 and bfloat16 are computed in float32 and rounded once: in operations that accumulate, in
those that multiply an array by a number, in derivative rules, and in public functions that multiply
before they add."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from .backend import as_dtype, float32, ignore_float_errors, is_differentiable, is_narrow

Function = TypeVar("Function", bound=Callable[..., Any])


def accumulating(forward: Callable[..., Any]) -> Callable[..., Any]:
    """A forward function that computes float16 and bfloat16 in float32, and rounds its results to
    the inputs' dtype."""

    @functools.wraps(forward)
    def run(xp: Any, *arrays: Any, out: Any = None, **params: Any) -> Any:
        narrow = _narrow(arrays)
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


def scaling(forward: Callable[..., Any]) -> Callable[..., Any]:
    """A forward function of two operands that computes in float32, and rounds its result once,
    where an array of float16 or bfloat16 meets a number or a single element of another dtype.
    Float16 has neither 3e5 nor 1e-8."""

    @functools.wraps(forward)
    def run(xp: Any, a: Any, b: Any) -> Any:
        dtypes = [getattr(operand, "dtype", None) for operand in (a, b)]
        narrow = next(filter(is_narrow, dtypes), None)
        if narrow is None or dtypes[0] == dtypes[1]:
            return forward(xp, a, b)
        wide = [v if d is None else v.astype(float32) for v, d in zip((a, b), dtypes, strict=True)]
        with ignore_float_errors():
            return forward(xp, *wide).astype(narrow)

    return run


def is_factor(operand: Any, dtype: Any) -> bool:
    """Whether an operand beside arrays of float16 or bfloat16 (`dtype`) is a number, or a tensor of
    one element and no axes and of another dtype."""
    number = getattr(operand, "array", operand)
    return not hasattr(number, "dtype") or (number.ndim == 0 and number.dtype != dtype)


def multiplying(rule: Callable[..., Any], registry: Mapping[str, Any]) -> Callable[..., Any]:
    """A derivative rule that multiplies by values, in float32 for float16 and bfloat16. The engine
    rounds what it gives, after the sum over broadcast axes. registry: of the operations."""

    @functools.wraps(rule)
    def run(g: Any, *read: Any, **params: Any) -> Any:
        if not is_narrow(getattr(g, "dtype", None)):
            return rule(g, *read, **params)
        cast = registry["cast"]
        wide = [
            cast(v, dtype=float32) if n else v for v, n in zip(read, _narrow(read), strict=True)
        ]
        return rule(cast(g, dtype=float32), *wide, **params)

    return run


def in_float32(cast: Callable[..., Any]) -> Callable[[Function], Function]:
    """Declare that a derivative rule or a public function computes float16 and bfloat16 in float32,
    and rounds its results to the dtype that the operands promote to, or to the keyword `dtype`. For
    what squares or multiplies before it adds, so that only the result can overflow.

    cast: the operation that converts, for arrays, tensors and graphs alike.
    """

    def declare(function: Function) -> Function:
        @functools.wraps(function)
        def run(*args: Any, **params: Any) -> Any:
            operands = (*args, *params.values())
            wanted = as_dtype(params.get("dtype"))
            if is_narrow(wanted):
                params["dtype"] = float32
            elif wanted is not None or True not in _narrow(operands):
                return function(*args, **params)
            arrays = [a for a in operands if hasattr(a, "dtype")]
            dtypes = {a.dtype for a in arrays if is_differentiable(a.dtype) and a.ndim}
            dtypes = dtypes or {a.dtype for a in arrays if is_narrow(a.dtype)}
            wide: Any = lambda a: (
                cast(a, dtype=float32) if is_narrow(getattr(a, "dtype", None)) else a
            )
            with ignore_float_errors():
                result = function(*map(wide, args), **{k: wide(a) for k, a in params.items()})
            dtype = wanted or dtypes.pop()
            is_complex = any(a.dtype.kind == "c" for a in arrays)
            if not is_narrow(dtype) or (wanted is None and (dtypes or is_complex)):
                return result
            if isinstance(result, tuple):
                return tuple(cast(r, dtype=dtype) for r in result)
            return cast(result, dtype=dtype)

        return run  # type: ignore[return-value]

    return declare


def _narrow(operands: tuple[Any, ...]) -> list[bool]:
    """Which operands are arrays of float16 or bfloat16."""
    return [is_narrow(getattr(a, "dtype", None)) for a in operands]
