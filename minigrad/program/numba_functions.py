"""Functions that generated kernels call (numba_kernels.py).

LLVM turns loops over simple arithmetic into vector instructions, and leaves calls as they are. So
`exp` is written out here. No flag allows other arithmetic than the text says, but for the one
addition of a sum, whose order is free: sums in float64 of numbers in float32 are exact enough in
any order.
"""

from __future__ import annotations

from typing import Any

import numba
from llvmlite import binding, ir
from numba.core import types
from numba.extending import intrinsic

binding.set_option("minigrad", "-runtime-memory-check-threshold=128")  # of a loop with many arrays

LOG2_E, LN2_HIGH, LN2_LOW = 1.4426950408889634, 0.693359375, -2.12194440e-4
ROUNDING = 12582912.0  # 1.5 · 2²³: adding it rounds a small float32 to an integer


def _float_of_bits(typingctx: Any, bits: Any) -> Any:
    """The float32 that 32 bits are."""

    def generated(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
        return builder.bitcast(args[0], ir.FloatType())

    return types.float32(types.int32), generated


float_of_bits: Any = intrinsic(_float_of_bits)


def _memory_at(typingctx: Any, address: Any) -> Any:
    """The pointer to an address."""

    def generated(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
        return builder.inttoptr(args[0], ir.IntType(8).as_pointer())

    return types.voidptr(types.int64), generated


memory_at: Any = intrinsic(_memory_at)


carray: Any = numba.carray  # type: ignore[attr-defined]


@numba.njit
def array_at(table: Any, k: Any, kind: Any) -> Any:
    """Array number k of a table, which holds an address and a size for each. A call is told where
    the table is, because each array among its arguments takes a tenth of a microsecond or more."""
    entry = carray(memory_at(table + 16 * k), (2,), numba.int64)
    return carray(memory_at(entry[0]), (entry[1],), kind)


@numba.njit(error_model="numpy")
def power_of_two(k: Any) -> Any:
    """2 to the power of an integer from -126 to 127, by its bits."""
    return float_of_bits(numba.int32((k + numba.int32(127)) << numba.int32(23)))


@numba.njit(error_model="numpy")
def exp32(x: Any) -> Any:
    """exp(x) of a float32, with an error of at most 1.5 units of the last place: x is k · ln 2 + r,
    and exp(r) a polynomial of degree 7. NaN stays NaN, and denormal results are right.
    """
    f = numba.float32
    t = min(max(x, f(-104.0)), f(89.0))
    k = (t * f(LOG2_E) + f(ROUNDING)) - f(ROUNDING)
    r = (t - k * f(LN2_HIGH)) - k * f(LN2_LOW)
    p = f(1.9875691500e-4)
    p = p * r + f(1.3981999507e-3)
    p = p * r + f(8.3334519073e-3)
    p = p * r + f(4.1665795894e-2)
    p = p * r + f(1.6666665459e-1)
    p = p * r + f(5.0000001201e-1)
    p = p * r * r + r + f(1.0)
    n = numba.int32(k)
    half = n >> numba.int32(1)
    y = p * power_of_two(half) * power_of_two(n - half)
    return y if x == x else x


@numba.njit(error_model="numpy")
def erf32(x: Any) -> Any:
    """The error function of a float32, with an error of at most 2 units of the last place. Up to 1
    it is x + x · P(x²), from there on 1 - exp(-Q(|x|)), which rounds to 1 from 4 on. P and Q
    interpolate (erf(√u)/√u - 1) on [0, 1] and -ln(1 - erf(t)) on [1, 4] at Chebyshev points.
    """
    f = numba.float32
    t = min(abs(x), f(4.0))
    u = t * t
    p = f(-9.667043741501402e-06)
    p = p * u + f(1.1265958892181516e-04)
    p = p * u + f(-8.484080317430198e-04)
    p = p * u + f(5.221031606197357e-03)
    p = p * u + f(-2.6865430176258087e-02)
    p = p * u + f(1.1283782124519348e-01)
    p = p * u + f(-3.7612637877464294e-01)
    p = p * u + f(1.2837916612625122e-01)
    q = f(-1.6371513993362896e-06)
    q = q * t + f(4.605804497259669e-05)
    q = q * t + f(-5.968056502752006e-04)
    q = q * t + f(4.759596195071936e-03)
    q = q * t + f(-2.6421135291457176e-02)
    q = q * t + f(1.1008008569478989e-01)
    q = q * t + f(6.318260431289673e-01)
    q = q * t + f(1.1302334070205688e00)
    q = q * t + f(-3.201380604878068e-04)
    # both are computed before one is chosen: LLVM makes no vectors of branches that it must take
    far = f(1.0) - exp32(-q)
    far = far if x > f(0.0) else -far
    near = x + x * p
    y = near if t < f(1.0) else far
    return y if x == x else x


def _any_order(typingctx: Any, total: Any, term: Any) -> Any:
    """total + term, in a sum whose terms may be added in any order."""
    if total != types.float64 or term != types.float64:
        return None

    def generated(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
        return builder.fadd(*args, flags=("reassoc",))

    return types.float64(types.float64, types.float64), generated


any_order: Any = intrinsic(_any_order)


# The largest float32 of many is found among integers that are ordered as the numbers are, because
# LLVM makes vector instructions of that maximum whatever it is told of NaN.

LEAST = numba.int32(-(2**31))
"""Less than what `order32` gives of any number."""
A_NAN = 0x7FC00000


def _in_order(builder: ir.IRBuilder, bits: Any) -> Any:
    """The bits of a float32 as an integer that is ordered as the numbers are; and back."""
    sign = builder.ashr(bits, ir.Constant(bits.type, 31))
    return builder.xor(bits, builder.lshr(sign, ir.Constant(bits.type, 1)))


def _order32(typingctx: Any, x: Any) -> Any:
    """The place of a float32 in the order of all: -inf, …, -0, 0, …, inf, NaN."""
    if x != types.float32:
        return None

    def generated(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
        place = _in_order(builder, builder.bitcast(args[0], ir.IntType(32)))
        is_nan = builder.fcmp_unordered("uno", args[0], args[0])
        return builder.select(is_nan, ir.Constant(place.type, A_NAN), place)

    return types.int32(types.float32), generated


def _number32(typingctx: Any, place: Any) -> Any:
    """The float32 with this place in the order."""

    def generated(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
        return builder.bitcast(_in_order(builder, args[0]), ir.FloatType())

    return types.float32(types.int32), generated


order32: Any = intrinsic(_order32)
number32: Any = intrinsic(_number32)


@numba.njit
def most(a: Any, b: Any) -> Any:
    """The larger one of two integers."""
    return a if a > b else b


@numba.njit
def larger(a: Any, b: Any) -> Any:
    """NumPy's maximum: of equal numbers the second, NaN where one is NaN."""
    return a if a > b or a != a else b


@numba.njit
def smaller(a: Any, b: Any) -> Any:
    """NumPy's minimum."""
    return a if a < b or a != a else b


@numba.njit
def truth(x: Any) -> Any:
    """A number as a boolean: NaN is true."""
    return x != 0
