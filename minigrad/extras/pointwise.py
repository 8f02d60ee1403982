"""Element-wise functions beyond those of `minigrad.functions`: most are short combinations of
them, exact and differentiable at once.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from .. import backend
from .. import functions as fn
from ..arrays.operands import floating
from ..core.tensor import Tensor, as_tensor
from ..errors import DTypeError
from ..functions.arguments import check_factor, in_one_dtype, tensor_for_cast
from ..functions.elementwise import attach_operator, binary, unary
from ..names import TensorLike, public, publish
from ..ops.elementwise import in_float32
from . import operations
from .operands import real_numbers, two_tensors


class Frexp(NamedTuple):
    """x = mantissa · 2 to the exponent."""

    mantissa: Tensor
    exponent: Tensor


hypot = binary(
    operations.hypot,
    "The square root of a² + b² without overflow; its derivative at the origin is NaN.",
    theirs="input other",
)


def frexp(x: TensorLike) -> Frexp:
    """m and e with x = m · 2ᵉ, where ½ ≤ |m| < 1 (both 0 for 0; e is int32). Differentiable: dm =
    dx / 2ᵉ. Raises DTypeError for others than floating numbers.
    """
    x = floating(x, "frexp")
    if backend.is_complex(x.dtype):
        raise DTypeError(f"frexp: needs real numbers, got {x.dtype}.")
    exponent = operations.exponent(x)
    half = exponent // 2  # 2 to the whole exponent may overflow
    return Frexp(
        x * fn.exp2((-half).to(x.dtype)) * fn.exp2((half - exponent).to(x.dtype)), exponent
    )


@public(in_place=True)
def heaviside(x: TensorLike, values: TensorLike) -> Tensor:
    """0 for negative x, 1 for positive x, `values` where x is 0. No derivative."""
    return operations.heaviside(as_tensor(x), as_tensor(values))


@public(in_place=True)
def nan_to_num(
    x: TensorLike, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None
) -> Tensor:
    """x with NaN and the infinities replaced by numbers (by default 0 and the largest and
    smallest of the dtype); derivative 0 there.
    """
    x = as_tensor(x)
    if not backend.is_differentiable(x.dtype):
        return fn.clone(x)
    if backend.is_complex(x.dtype):
        return fn.complex(
            nan_to_num(fn.real(x), nan, posinf, neginf), nan_to_num(fn.imag(x), nan, posinf, neginf)
        )
    largest = backend.largest(x.dtype)
    x = fn.where(fn.isnan(x), nan, x)
    x = fn.where(x == math.inf, largest if posinf is None else posinf, x)
    return fn.where(x == -math.inf, -largest if neginf is None else neginf, x)


@public(in_place=True, theirs="input")
@in_float32
def lerp(start: Any, end: Any, weight: Any) -> Tensor:
    """start + weight (end - start), computed from the nearer of the two: exactly start at weight
    0 and end at weight 1.
    """
    start, end = two_tensors(start, end)
    near = fn.abs(weight) < 0.5 if isinstance(weight, Tensor) else abs(weight) < 0.5
    if isinstance(near, Tensor):
        out: Tensor = fn.where(near, start, end) + fn.where(near, weight, weight - 1) * (
            end - start
        )
        return out
    out = start + weight * (end - start) if near else end + (weight - 1) * (end - start)
    return out


@public(in_place=True, theirs="input tensor1 tensor2")
@in_float32
def addcmul(x: TensorLike, a: TensorLike, b: TensorLike, *, value: Any = 1) -> Tensor:
    """x + value · a · b. Raises DTypeError for a value of a higher kind than x, a and b."""
    if type(value) is not int:
        check_factor("addcmul", "value", value, x, a, b)
    x, a, b = in_one_dtype(as_tensor(x), as_tensor(a), as_tensor(b))
    product = a * b
    result: Tensor = x + (product if type(value) is int and value == 1 else product * value)
    return result


@public(in_place=True, theirs="input tensor1 tensor2")
@in_float32
def addcdiv(x: TensorLike, a: TensorLike, b: TensorLike, *, value: Any = 1) -> Tensor:
    """x + value · a / b."""
    x, a, b = in_one_dtype(as_tensor(x), as_tensor(a), as_tensor(b))
    quotient = a / b
    result: Tensor = x + (quotient if type(value) is int and value == 1 else quotient * value)
    return result


@public(in_place=True)
def deg2rad(x: TensorLike) -> Tensor:
    """Degrees as radians."""
    return as_tensor(x) * (math.pi / 180)


@public(in_place=True)
def rad2deg(x: TensorLike) -> Tensor:
    """Radians as degrees."""
    return as_tensor(x) * (180 / math.pi)


@public(in_place=True)
def frac(x: TensorLike) -> Tensor:
    """x without its integer part; derivative 1."""
    x = floating(x, "frac")
    return x - fn.trunc(x)


def isclose(
    a: TensorLike, b: TensorLike, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> Tensor:
    """Where |a - b| <= atol + rtol |b|, or both are the same infinity (or NaN, if that shall
    count). No derivative.
    """
    fn.not_below("isclose", "rtol", rtol, 0)
    fn.not_below("isclose", "atol", atol, 0)
    a, b = (
        t.to(backend.int64) if t.dtype == backend.bool_ else t
        for t in (as_tensor(a).detach(), as_tensor(b).detach())
    )
    with backend.ignore_float_errors():
        near = fn.logical_and(fn.abs(a - b) <= atol + rtol * fn.abs(b), fn.isfinite(b))
    near = fn.logical_or(near, a == b)
    return fn.logical_or(near, fn.logical_and(fn.isnan(a), fn.isnan(b))) if equal_nan else near


def isposinf(x: TensorLike) -> Tensor:
    """Where x is +∞. No derivative."""
    return as_tensor(x) == math.inf


def isneginf(x: TensorLike) -> Tensor:
    """Where x is -∞. No derivative."""
    return as_tensor(x) == -math.inf


# ---------------------------------------------------------- the larger, the nearer, the sign of two


@public(in_place=True)
def fmax(a: TensorLike, b: TensorLike) -> Tensor:
    """The larger of a and b; a number wins against NaN; of equals a."""
    a, b = two_tensors(a, b)
    return fn.where(fn.logical_or(a >= b, fn.isnan(b)), a, b)


@public(in_place=True)
def fmin(a: TensorLike, b: TensorLike) -> Tensor:
    """The smaller of a and b; a number wins against NaN; of equals a."""
    a, b = two_tensors(a, b)
    return fn.where(fn.logical_or(a <= b, fn.isnan(b)), a, b)


signbit = unary(
    operations.signbit,
    "Where x is negative, or -0.0; no derivative.",
    in_place=False,
    theirs="input",
)


@public(in_place=True)
def copysign(a: TensorLike, b: TensorLike) -> Tensor:
    """|a| with the sign of b, also that of -0.0; derivative 0 where a is 0. Its derivative by b
    is 0.
    """
    a, b = two_tensors(a, b)
    if backend.is_floating(b.dtype):
        a, b = in_one_dtype(a, b)
    return operations.copysign(real_numbers(a), b)


@public(in_place=True)
def nextafter(a: TensorLike, b: TensorLike) -> Tensor:
    """The next number of the dtype after a on the way to b. Its derivative by a is 1, and 0
    where a is b; that by b is 0.
    """
    return operations.nextafter(*two_tensors(a, b))


def isreal(x: TensorLike) -> Tensor:
    """Where the imaginary part is 0. No derivative."""
    x = as_tensor(x)
    return fn.imag(x) == 0 if backend.is_complex(x.dtype) else fn.ones_like(x, dtype=backend.bool_)


# ---------------------------------------------------------------------------- powers and logarithms


@public(in_place=True)
@in_float32
def logaddexp2(a: TensorLike, b: TensorLike) -> Tensor:
    """The logarithm to base 2 of 2ᵃ + 2ᵇ, without overflow."""
    return fn.logaddexp(as_tensor(a) * math.log(2), as_tensor(b) * math.log(2)) / math.log(2)


@public(in_place=True, theirs="input other")
@in_float32
def ldexp(x: TensorLike, exponent: Any) -> Tensor:
    """x · 2 to the exponent."""
    x, exponent = in_one_dtype(as_tensor(x), as_tensor(exponent))
    return fn.mul(x, fn.exp2(real_numbers(exponent)))


@public(in_place=True, theirs="input")
def float_power(base: Any, exponent: Any) -> Tensor:
    """base to the exponent in double precision (float64, or complex128 if one of them is
    complex).
    """
    operands = [tensor_for_cast(v, backend.float64) for v in (base, exponent)]
    wide = (
        backend.complex128
        if any(backend.is_complex(v.dtype) for v in operands)
        else backend.float64
    )
    first = operands[0].to(wide)
    return fn.pow(first, operands[1].to(wide) if isinstance(exponent, Tensor) else exponent)


# ------------------------------------------------------------------------------------ whole numbers


@public(in_place=True)
def gcd(a: TensorLike, b: TensorLike) -> Tensor:
    """The greatest common divisor of integers, not negative. No derivative."""
    return operations.gcd(*two_tensors(a, b))


@public(in_place=True)
def lcm(a: TensorLike, b: TensorLike) -> Tensor:
    """The least common multiple of integers, not negative. No derivative."""
    return operations.lcm(*two_tensors(a, b))


def _bits(function: str, a: TensorLike, b: TensorLike) -> tuple[Tensor, Tensor]:
    for x in (pair := two_tensors(a, b)):
        if x.dtype.kind not in "iu":
            raise DTypeError(
                f"{function}: moves the bits of integers, got {x.dtype}. For a · 2ᵇ of other"
                " numbers there is ldexp(a, b)."
            )
    return pair


@public(in_place=True)
def bitwise_left_shift(a: TensorLike, b: TensorLike) -> Tensor:
    """a · 2ᵇ of integers: the bits of a moved up, also written a << b. No derivative. Raises
    DTypeError for other numbers.
    """
    return operations.left_shift(*_bits("bitwise_left_shift", a, b))


@public(in_place=True)
def bitwise_right_shift(a: TensorLike, b: TensorLike) -> Tensor:
    """⌊a / 2ᵇ⌋ of integers: the bits of a moved down, also written a >> b. No derivative. Raises
    DTypeError for other numbers.
    """
    return operations.right_shift(*_bits("bitwise_right_shift", a, b))


attach_operator("lshift", "<<", bitwise_left_shift)
attach_operator("rshift", ">>", bitwise_right_shift)


publish(__name__)
