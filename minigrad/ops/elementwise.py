"""Operations whose result depends, element by element, on the inputs' elements: y[i] = f(a[i],
b[i]).

Read each row as: name, forward, and for each input the rule that turns an incoming derivative `g`
into the contribution g · ∂y/∂input. The Jacobian is diagonal, so the same rule serves reverse and
forward mode. At kinks the rules give what PyTorch gives: relu, abs and sign take 0 at 0, `maximum`
and `minimum` share ties evenly, `clamp` passes the gradient at its bounds.

Poles and overflow give infinity or NaN without NumPy's warnings, as in PyTorch
(`ignore_float_errors`). Only + − · on numbers that overflow, or on opposite infinities, still make
NumPy warn: to silence the shortest operations would make them 5% slower. A backward pass is always
silent.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable
from typing import Any

from ..backend import (
    FAST_DTYPES,
    NumpyArray,
    copy_with_strides_of,
    divide_integers,
    float32,
    ignore_float_errors,
    numpy,
)
from ..core.primitive import Primitive, constant, elementwise, linear, predicate, primitive
from ..errors import DTypeError
from .batch import axes_from_the_right, overwrite_all
from .costs import EACH, MOVES
from .error_function import error_function
from .kernels import Line, row_major
from .shape import sum_to

_LOGARITHM = "a logarithm is defined for numbers greater than 0"
_DIVISION = "a division by zero has no value"
_POWER = (
    "a negative number has whole powers only, zero has none below 0, and float64 ends at about"
    " 1.8e308"
)
_MINUS_ONE_TO_ONE = "it is defined for numbers from -1 to 1"


def real_function(name: str, forward: Callable[..., Any], *rules: Any, **options: Any) -> Primitive:
    """Declare an element-wise function of real numbers whose results are floating."""
    return elementwise(name, forward, *rules, promote="float", real_only=True, **options)


def function(name: str, *rules: Any, called: str = "", **options: Any) -> Primitive:
    """Declare an element-wise function that array libraries have (as `called`, if that is another
    name), without their warnings."""
    called, run = called or name, ignore_float_errors.run
    on_host = getattr(numpy, called)
    of_one = lambda xp, x: run(on_host if xp is numpy else getattr(xp, called), x)
    of_two = lambda xp, a, b: run(on_host if xp is numpy else getattr(xp, called), a, b)
    return elementwise(
        name, of_one if len(rules) == 1 else of_two, *rules, promote="float", **options
    )


# ---------------------------------------------------------------- the four operations of arithmetic

add = elementwise("add", lambda xp, a, b: a + b, lambda g: g, lambda g: g, scalar="a + b")


def _minus(xp: Any, a: Any, b: Any) -> Any:
    try:
        return a - b
    except TypeError:  # NumPy does not subtract booleans
        raise DTypeError(
            "sub: booleans have no difference. Use a ^ b (where they differ), a & ~b, or convert"
            " one with .int()."
        ) from None


def _opposite(xp: Any, x: Any) -> Any:
    try:
        return -x
    except TypeError:
        raise DTypeError(
            "neg: a boolean has no negative. Use ~x to invert a mask, or convert it with .int()."
        ) from None


sub = elementwise("sub", _minus, lambda g: g, lambda g: -g, scalar="a - b")
mul = elementwise(
    "mul", lambda xp, a, b: a * b, lambda g, b: g * b, lambda g, a: g * a, scalar="a * b"
)
div = function(
    "div",
    lambda g, b: g / b,
    lambda g, b, y: -g * y / b,
    called="true_divide",
    scalar="a / b",
    domain=_DIVISION,
)
neg = elementwise("neg", _opposite, lambda g: -g, scalar="-x")
reciprocal = elementwise(
    "reciprocal",
    lambda xp, x: ignore_float_errors.run(xp.true_divide, 1, x),
    lambda g, y: -g * y * y,
    promote="float",
    scalar="1 / x",
    domain=_DIVISION,
)
floor_divide = elementwise(
    "floor_divide",
    lambda xp, a, b: _whole(xp.floor_divide, a, b),
    lambda g: zeros_like(g),
    lambda g: zeros_like(g),
    real_only=True,
    cost=(1, 0, 1),
    notation="a // b",
)
remainder = elementwise(
    "remainder",
    lambda xp, a, b: _whole(xp.remainder, a, b),
    lambda g: g,
    lambda g, a, b: -g * floor_divide(a, b),
    real_only=True,
    cost=(2, 1, 1),
    notation="a % b",
)
fmod = elementwise(
    "fmod",
    lambda xp, a, b: _whole(xp.fmod, a, b),
    lambda g: g,
    lambda g, a, b: -g * trunc_divide(a, b),
    real_only=True,
    cost=(2, 1, 1),
)
trunc_divide = elementwise(
    "trunc_divide",
    lambda xp, a, b: _whole_quotient(xp, a, b),
    lambda g: zeros_like(g),
    lambda g: zeros_like(g),
    real_only=True,
    scalar="trunc(a / b)",
)
"""a / b without its fraction; of integers an integer, exactly."""


def _whole(divide: Any, a: Any, b: Any) -> Any:
    """A division with remainder. Integers have no infinity to answer with: dividing them by zero
    raises ZeroDivisionError.
    """
    floating = any(
        getattr(v, "dtype", None) is not None and v.dtype.kind not in "iub" for v in (a, b)
    )
    return ignore_float_errors.run(divide, a, b) if floating else divide_integers(divide, a, b)


def _whole_quotient(xp: Any, a: Any, b: Any) -> Any:
    rest = _whole(xp.fmod, a, b)
    return (
        xp.floor_divide(a - rest, b)
        if rest.dtype.kind in "iub"
        else xp.trunc(ignore_float_errors.run(xp.true_divide, a, b))
    )


# ------------------------------------------------------------------------------------------- powers


def _power(xp: Any, x: Any, *, n: float) -> Any:
    if n == 2:
        return ignore_float_errors.run(xp.multiply, x, x)
    if n == 3:
        return ignore_float_errors.run(
            xp.multiply, ignore_float_errors.run(xp.multiply, x, x), x
        )  # a hundred times faster than the general power on float32
    return _like(x, ignore_float_errors.run(operator.pow, x, n))


def _like(x: Any, y: Any) -> Any:
    """y in the dtype of x: in bfloat16, which NumPy knows only as an extension, arithmetic with a
    Python float comes out as float32.
    """
    return y if y.dtype == x.dtype else y.astype(x.dtype)


def _pull_power(g: Any, x: Any, *, n: float) -> Any:
    """n · x^(n - 1), and 0 for n = 0. Where n - 1, rounded, is as even as n is (in float32 from
    2^24 on), n · sign(x) · |x|^(n - 1).
    """
    if n == 0:
        return zeros_like(g)
    if -256 <= n <= 256 or not _stays_even(x.dtype, n):
        return g * (n * power(x, n=n - 1))
    below = (x < 0) | (reciprocal(x) < 0)  # -0 too
    return where(below, -g, g) * (n * power(where(below, -x, x), n=n - 1))


def _stays_even(dtype: Any, n: float) -> bool:
    """Whether n and n - 1 are both even when they are rounded to the dtype in which a power of such
    numbers is computed.
    """
    if dtype.kind not in "fV":  # "V" is bfloat16's kind, of which powers are computed in float32
        return False
    rounded = float32.type if dtype.kind == "V" else dtype.type
    return (
        float(ignore_float_errors.run(rounded, n)) % 2
        == 0
        == float(ignore_float_errors.run(rounded, n - 1)) % 2
    )


power = elementwise("pow", _power, _pull_power, promote="same", scalar="x ** n", domain=_POWER)
"""x to a constant real power n."""


def _pull_exponent(g: Any, a: Any, b: Any, y: Any) -> Any:
    """y ln a, and 0 where 0 to the b is flat: there ln 1 stands in, for a second derivative
    multiplies the unused branch by 0, and 0 · ln 0 is NaN.
    """
    flat = (a == 0) & _tames_logarithm(b)
    return where(flat, 0.0, g * (y * log(where(flat, 1.0, a))))


def _pow_tensor(xp: Any, a: Any, b: Any) -> Any:
    like = a if hasattr(a, "dtype") else b
    if like.dtype.kind == "i" and xp.any(
        xp.asarray(b) < 0
    ):  # of integers only 1 and -1 have an inverse; the others give 0, as in PyTorch
        base, even = xp.asarray(a, like.dtype), xp.asarray(b) % 2 == 0
        inverse = xp.where(xp.abs(base) == 1, xp.where(even, 1, base), 0)
        return _like(like, xp.where(xp.asarray(b) < 0, inverse, base ** xp.maximum(b, 0)))
    return _like(like, ignore_float_errors.run(operator.pow, a, b))


pow_ = elementwise(
    "pow_tensor",
    _pow_tensor,
    lambda g, a, b: where(b == 0, 0.0, g * (b * a ** (b - 1))),
    _pull_exponent,
    scalar="a ** b",
    domain=_POWER,
)
"""a to a varying power b."""


def _tames_logarithm(b: Any) -> Any:
    """Whether 0 to the b times ln 0 counts as 0: for b >= 0, and for complex b with a positive real
    part (or b = 0).
    """
    if getattr(b, "dtype", None) is not None and b.dtype.kind == "c":
        return (b == 0) | (real(b) > 0)
    return (b == 0) | (b.real > 0) if type(b) is complex else b >= 0


sqrt = function(
    "sqrt",
    lambda g, y: g / (2 * y),
    notation="sqrt(x)",
    domain="a square root is defined for numbers from 0 on",
)
rsqrt = elementwise(
    "rsqrt",
    lambda xp, x: ignore_float_errors.run(xp.true_divide, 1, ignore_float_errors.run(xp.sqrt, x)),
    lambda g, y: -0.5 * g * power(y, n=3),
    promote="float",
    scalar="1 / sqrt(x)",
    notation="1 / sqrt(x)",
)
square = elementwise(
    "square",
    lambda xp, x: ignore_float_errors.run(xp.multiply, x, x),
    lambda g, x: g * (2 * x),
    scalar="x * x",
    notation="x ** 2",
)

# ---------------------------------------------------------------------- exponentials and logarithms

exp = function(
    "exp",
    lambda g, y: g * y,
    notation="e ** x",
    domain="the result is too large; float64 ends at about 1.8e308",
)
exp2 = function("exp2", lambda g, y: g * (math.log(2) * y))
expm1 = function("expm1", lambda g, x: g * exp(x))
log = function("log", lambda g, x: g / x, symbol="ln", domain=_LOGARITHM)
log2 = function("log2", lambda g, x: g / (math.log(2) * x), domain=_LOGARITHM)
log10 = function("log10", lambda g, x: g / (math.log(10) * x), domain=_LOGARITHM)
log1p = function(
    "log1p",
    lambda g, x: g / (x + 1),
    domain="log1p(x) is the logarithm of 1 + x, defined for x greater than -1",
)
logaddexp = function(
    "logaddexp",
    lambda g, a, b: g * sigmoid(a - b),
    lambda g, a, b: g * sigmoid(b - a),
    real_only=True,
    cost=(0, 2, 3),
)

# ---------------------------------------------------------------- circular and hyperbolic functions

sin = function("sin", lambda g, x: g * cos(x))
cos = function("cos", lambda g, x: g * -sin(x))
tan = function("tan", lambda g, y: g * (1 + y * y))
asin = function(
    "asin",
    lambda g, x: g * rsqrt(1 - x * x),
    called="arcsin",
    symbol="arcsin",
    domain=_MINUS_ONE_TO_ONE,
)
acos = function(
    "acos",
    lambda g, x: -g * rsqrt(1 - x * x),
    called="arccos",
    symbol="arccos",
    domain=_MINUS_ONE_TO_ONE,
)
atan = function("atan", lambda g, x: g / (1 + x * x), called="arctan", symbol="arctan")
atan2 = real_function(
    "atan2",
    lambda xp, a, b: xp.arctan2(a, b),
    lambda g, a, b: g * _over_square_sum(b, a, b),
    lambda g, a, b: -g * _over_square_sum(a, a, b),
)
sinh = function("sinh", lambda g, x: g * cosh(x))
cosh = function("cosh", lambda g, x: g * sinh(x))
tanh = elementwise("tanh", lambda xp, x: xp.tanh(x), lambda g, y: g * (1 - y * y), promote="float")
asinh = elementwise(
    "asinh",
    lambda xp, x: xp.arcsinh(x),
    lambda g, x: g * rsqrt(x * x + 1),
    promote="float",
    symbol="arsinh",
)
acosh = function(
    "acosh",
    lambda g, x: g * rsqrt(x - 1) * rsqrt(x - -1),
    called="arccosh",
    symbol="arcosh",
    domain="it is defined for numbers from 1 on",
)
atanh = function(
    "atanh",
    lambda g, x: g / (1 - x * x),
    called="arctanh",
    symbol="artanh",
    domain="it is defined for numbers between -1 and 1",
)
erf = real_function("erf", error_function, lambda g, x: g * (2 / math.sqrt(math.pi) * exp(-x * x)))


def _over_square_sum(part: Any, a: Any, b: Any) -> Any:
    """part / (a² + b²), and 0 where both are 0."""
    total = a * a + b * b
    return where(total == 0, 0.0, part / where(total == 0, 1.0, total))


# ----------------------------------------------------------------------- kinks, steps and selection


def _sigmoid(xp: Any, x: Any) -> Any:
    if x.dtype.itemsize == 2:  # half precision would round three times
        return _sigmoid(xp, x.astype("float32")).astype(x.dtype)
    y = ignore_float_errors.run(
        xp.exp, -x
    )  # infinite where x is very negative, and 1 / (1 + ∞) = 0 is right
    y += 1
    return 1 / y


def _softplus(xp: Any, x: Any) -> Any:
    return xp.maximum(x, 0) + xp.log1p(
        xp.exp(-abs(x))
    )  # no exponential of a large number; fifteen times faster than logaddexp(x, 0)


sigmoid = elementwise(
    "sigmoid",
    _sigmoid,
    lambda g, y: g * (y * (1 - y)),
    promote="float",
    symbol="σ",
    scalar="1 / (exp(-x) + 1)",
)
softplus = real_function(
    "softplus", _softplus, lambda g, x: g * sigmoid(x), scalar="maximum(x, 0) + log1p(exp(-abs(x)))"
)


def long_rows(size: int) -> tuple[int, int] | None:
    """`size` elements as rows of at most 4,096: (count, length) with the longest that there are,
    None where all are short.
    """
    length = next((n for n in range(min(size, 4096), 0, -1) if size % n == 0), 0)
    return (size // length, length) if length >= 64 or (length == size > 0) else None


_rows: Callable[[int], tuple[int, int] | None] = functools.lru_cache(1024)(long_rows)

ZEROS = 32_768
"""So many zeros are kept to compare with; of longer arrays, rows."""


@functools.lru_cache(2)
def host_zeros(dtype: Any) -> Any:
    """Read-only zeros."""
    zeros = numpy.zeros(ZEROS, dtype)
    zeros.flags.writeable = False
    return zeros


def _relu(xp: Any, x: Any) -> Any:
    """The larger of x and zeros. NumPy compares an array with an array five times faster than with
    a number, most of all with one of its own shape; for large ones a row of zeros will do.
    """
    if type(x) is NumpyArray and x.dtype in FAST_DTYPES and x.size >= 256 and x.flags.c_contiguous:
        if x.size <= ZEROS:
            return xp.maximum(x, host_zeros(x.dtype)[: x.size].reshape(x.shape))
        rows = _rows(x.size)
        if rows is not None:
            return xp.maximum(x.reshape(rows), host_zeros(x.dtype)[: rows[1]]).reshape(x.shape)
    return xp.maximum(x, 0)


def relu_kernel(k: Line) -> list[str] | None:
    """The larger of x and an array of zeros: NumPy compares arrays four times faster than an array
    and a number. Of a large array the elements are seen as a few long rows, and a row of zeros does
    for all.
    """
    if not k.all_of("f"):
        return None
    k.in_place = True
    rows = _long_rows_of(k)
    if rows is None:
        return [f"maximum({k.operands[0]}, 0, out={k.out})"]
    if k.xp is numpy and rows[0] * rows[1] <= ZEROS:
        zeros = k.static(
            "zeros", host_zeros(k.made.dtype)[: rows[0] * rows[1]].reshape(k.made.shape)
        )
        return [f"maximum({k.operands[0]}, {zeros}, out={k.out})"]
    zeros = k.static("zeros", k.xp.zeros(rows[1], k.made.dtype))
    x, out = (k.view(text, f".reshape{rows}") for text in (k.operands[0], k.out))
    return [f"maximum({x}, {zeros}, out={out})"]


def _long_rows_of(k: Line) -> tuple[int, int] | None:
    """The elements of a row-major operand and result as long rows, None if there are none."""
    source, size = k.array(0), k.made.nbytes // k.made.dtype.itemsize
    if (
        source is None
        or not all(row_major(s, k.made.shape, k.made.dtype) for s in (k.strides[0], k.out_strides))
        or source.shape != k.made.shape
    ):
        return None
    return long_rows(size)


relu = elementwise(
    "relu",
    _relu,
    lambda g, y: where(y <= 0, 0.0, g),
    real_only=True,
    scalar="maximum(x, 0)",
    kernel=relu_kernel,
)
maximum = elementwise(
    "maximum",
    lambda xp, a, b: xp.maximum(a, b),
    lambda g, a, b: where(a < b, 0.0, where(a == b, g / 2, g)),
    lambda g, a, b: where(b < a, 0.0, where(a == b, g / 2, g)),
    symbol="max",
    real_only=True,
)
minimum = elementwise(
    "minimum",
    lambda xp, a, b: xp.minimum(a, b),
    lambda g, a, b: where(a > b, 0.0, where(a == b, g / 2, g)),
    lambda g, a, b: where(b > a, 0.0, where(a == b, g / 2, g)),
    symbol="min",
    real_only=True,
)


def _clamp_text(*, low: Any, high: Any) -> str:
    text = "x" if low is None else "maximum(x, low)"
    return text if high is None else f"minimum({text}, high)"


clamp = elementwise(
    "clamp",
    lambda xp, x, *, low, high: _like(x, x.clip(low, high)),
    lambda g, x, *, low, high: where(_between(x, low, high), g, 0.0),
    symbol="clamp",
    real_only=True,
    scalar=_clamp_text,
    kernel=None,
)


def _where(xp: Any, condition: Any, a: Any, b: Any) -> Any:
    """Large choices against 0 (the derivative of relu, say) are made on the bits: 2 to 30 times
    faster, NaN and infinity included.
    """
    for zero, kept in ((a, b), (b, a)):
        if (
            type(zero) is float
            and zero == 0
            and getattr(kept, "size", 0) > 4000
            and kept.shape == condition.shape
        ):
            if kept.dtype not in FAST_DTYPES:
                break
            integer = f"int{8 * kept.dtype.itemsize}"
            mask = condition.view("int8")
            bits = (mask - 1 if zero is a else -mask).astype(
                integer
            )  # -1, which is all ones, where `kept` stays
            bits &= kept.view(integer)
            return bits.view(kept.dtype)
    return xp.where(condition, a, b)


def where_kernel(k: Line) -> list[str] | None:
    """A choice against 0.0 (the derivative of relu): the bits of the other branch times 1 or 0,
    exact for NaN and infinity too.
    """
    condition = k.array(0)
    zero = next((i for i in (1, 2) if type(k.number(i)) is float and repr(k.number(i)) == "0.0"), 0)
    other = k.array(3 - zero) if zero else None
    if other is None or condition is None or condition.dtype.kind != "b":
        return None
    dtype = k.made.dtype
    if (
        dtype not in FAST_DTYPES
        or other != k.made
        or condition.shape != other.shape
        or k.strides[0] is None
        or k.strides[3 - zero] is None
    ):
        return None
    integer = f".view('int{8 * dtype.itemsize}')"
    bits, kept = k.view(k.out, integer), k.view(k.operands[3 - zero], integer)
    factors = k.scratch(
        k.made.shape, k.xp.dtype(f"int{8 * dtype.itemsize}")
    )  # NumPy multiplies numbers of two widths at half the speed
    stays, lines = k.operands[0], []
    if zero != 2:
        stays = k.scratch(k.made.shape, k.xp.dtype("bool"))
        lines.append(f"logical_not({k.operands[0]}, out={stays})")
    flags = k.view(stays, ".view('int8')")
    k.in_place = True
    return [*lines, f"copyto({factors}, {flags})", f"multiply({kept}, {factors}, out={bits})"]


where = elementwise(
    "where",
    _where,
    None,
    lambda g, condition: where(condition, g, 0.0),
    lambda g, condition: where(condition, 0.0, g),
    promote="branches",
    kernel=where_kernel,
)
"""Elements of a where the condition holds, of b elsewhere; a derivative of the branch not taken is
0, even where that branch is NaN.
"""
_SIGNS = {"lt": "<", "le": "<=", "gt": ">", "ge": ">="}
_TESTS = {"lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge}
select = elementwise(
    "select",
    lambda xp, x, a, b, *, test, level: _where(xp, _TESTS[test](x, level), a, b),
    None,
    lambda g, x, *, test, level: where(_TESTS[test](x, level), g, 0.0),
    lambda g, x, *, test, level: where(_TESTS[test](x, level), 0.0, g),
    promote="branches",
    real_only=True,
    scalar=lambda *, test, level: f"where(x {_SIGNS[test]} level, a, b)",
)
"""Elements of a where x compares with `level` as `test` says ("lt", "le", "gt", "ge"), of b
elsewhere: NaN, which compares with nothing, takes b. Unlike `where`, it keeps x: a gradient that is
itself recorded depends on x, with derivative 0.
"""


def _sign(x: Any) -> Any:
    """-1, 0 or 1, and (unlike NumPy) 0 for NaN."""
    return x.copy() if x.dtype.kind == "b" else (x > 0).astype(x.dtype) - (x < 0)


def _between(x: Any, low: Any, high: Any) -> Any:
    """Whether low <= x <= high; None means no bound."""
    if low is None or high is None:
        return x <= high if low is None else x >= low
    return (x >= low) & (x <= high)


sign = elementwise(
    "sign",
    lambda xp, x: _sign(x),
    lambda g: zeros_like(g),
    real_only=True,
    scalar="where(x > 0, 1, where(x < 0, -1, 0))",
    cost=EACH,
)
floor = elementwise(
    "floor",
    lambda xp, x: x.copy() if x.dtype.kind in "biu" else xp.floor(x),
    lambda g: zeros_like(g),
    real_only=True,
)
ceil = elementwise(
    "ceil",
    lambda xp, x: x.copy() if x.dtype.kind in "biu" else xp.ceil(x),
    lambda g: zeros_like(g),
    real_only=True,
)
trunc = elementwise(
    "trunc",
    lambda xp, x: x.copy() if x.dtype.kind in "biu" else xp.trunc(x),
    lambda g: zeros_like(g),
    real_only=True,
)
round_ = elementwise(
    "round",
    lambda xp, x, *, decimals: _round(x, decimals),
    lambda g: zeros_like(g),
    real_only=True,
    scalar=lambda *, decimals: "round(x)" if decimals == 0 else None,
)


def _round(x: Any, decimals: int) -> Any:
    """NumPy multiplies by a power of ten first, which overflows soon in half precision."""
    half = decimals and x.dtype.itemsize == 2 and x.dtype.kind not in "biu"
    return x.astype("float32").round(decimals).astype(x.dtype) if half else x.round(decimals)


# ---------------------------------------------------------------------------------- complex numbers
# Not holomorphic: the rules are written out for z = a + bi, with g in PyTorch's convention ∂L/∂a +
# i ∂L/∂b. Where a real cotangent belongs
# to a complex input, or a complex one to a real input, the engine's cast to the input's dtype is
# the transpose that is wanted.


def _abs_pull(g: Any, x: Any) -> Any:
    return g * sgn(x)


def _abs_push(t: Any, x: Any) -> Any:
    return real(conj(sgn(x)) * t)


def _sgn(xp: Any, x: Any) -> Any:
    if x.dtype.kind != "c":
        return _sign(x)
    size = xp.abs(x)
    return xp.where(size == 0, 0, x / xp.where(size == 0, 1, size))


sgn = primitive(
    "sgn",
    _sgn,
    [lambda g, x, y: _sgn_derivative(g, x, y)],
    [lambda t, x, y: _sgn_derivative(t, x, y)],
    conjugates=True,
    pointwise=True,
    scalar="where(x > 0, 1, where(x < 0, -1, 0))",
    cost=EACH,
)
"""x / |x|, and 0 at 0 (the sign of real numbers). Its Jacobian, as a real 2x2 matrix, is symmetric:
one rule for both modes.
"""


def _sgn_derivative(g: Any, x: Any, y: Any) -> Any:
    size = where(abs_(x) == 0, 1.0, abs_(x))
    return (
        where(abs_(x) == 0, 0.0, (g - real(conj(y) * g) * y) / size)
        if x.dtype.kind == "c"
        else zeros_like(g)
    )


abs_ = primitive(
    "abs",
    lambda xp, x: xp.abs(x),
    [_abs_pull],
    [_abs_push],
    conjugates=True,
    symbol="abs",
    pointwise=True,
    dtype="real",
)
conj = primitive(
    "conj",
    lambda xp, x: xp.conj(x) if x.dtype.kind == "c" else x,
    [lambda g: conj(g)],
    [lambda t: conj(t)],
    conjugates=True,
    view=True,
    pointwise=True,
    cost=EACH,
)
real = primitive(
    "real",
    lambda xp, x: x.real,
    [lambda g: g],
    [lambda t: real(t)],
    conjugates=True,
    view=True,
    pointwise=True,
    dtype="real",
)
imag = primitive(
    "imag",
    lambda xp, x: x.imag if x.dtype.kind == "c" else xp.zeros(x.shape, x.dtype),
    [lambda g: make_complex(zeros_like(g), g)],
    [lambda t: imag(t)],
    conjugates=True,
    view=True,
    pointwise=True,
    dtype="real",
)
angle = primitive(
    "angle",
    lambda xp, x: (
        xp.angle(x)
        if x.dtype.kind == "c"
        else _like(x, xp.where(x < 0, math.pi, xp.where(x == x, 0.0, x)))
    ),
    [lambda g, x: _angle_pull(g, x)],
    [lambda t, x: _angle_push(t, x)],
    conjugates=True,
    promote="float",
    pointwise=True,
    dtype="real",
)


def _angle_pull(g: Any, x: Any) -> Any:
    if x.dtype.kind != "c":
        return zeros_like(g)
    a, b = real(x), imag(x)
    return make_complex(g * -_over_square_sum(b, a, b), g * _over_square_sum(a, a, b))


def _angle_push(t: Any, x: Any) -> Any:
    if x.dtype.kind != "c":
        return zeros_like(t)
    a, b = real(x), imag(x)
    return imag(t) * _over_square_sum(a, a, b) - real(t) * _over_square_sum(b, a, b)


def _make_complex(xp: Any, a: Any, b: Any) -> Any:
    out = xp.zeros(xp.broadcast(a, b).shape, "complex128" if a.dtype.itemsize == 8 else "complex64")
    out.real = a
    out.imag = b  # not a + 1j * b: an infinite b would make the real part NaN
    return out


make_complex = primitive(
    "complex",
    _make_complex,
    [
        lambda g, a_shape: sum_to(real(g), shape=a_shape),
        lambda g, b_shape: sum_to(imag(g), shape=b_shape),
    ],
    [lambda t: make_complex(t, zeros_like(t)), lambda t: make_complex(zeros_like(t), t)],
    conjugates=True,
    promote="float",
    pointwise=True,
    dtype="complex",
    cost=MOVES,
)
"""The complex tensor a + ib from its real and imaginary parts."""


def _view_as_real(xp: Any, x: Any) -> Any:
    return x[..., None].view("float64" if x.dtype.itemsize == 16 else "float32")


def _view_as_complex(xp: Any, x: Any) -> Any:
    x = (
        x if x.strides[-1] == x.dtype.itemsize else xp.ascontiguousarray(x)
    )  # a cotangent may lie in memory in any way
    return x.view("complex128" if x.dtype.itemsize == 8 else "complex64")[..., 0]


view_as_real = primitive(
    "view_as_real",
    _view_as_real,
    [lambda g: view_as_complex(g)],
    [lambda t: view_as_real(t)],
    conjugates=True,
    view=True,
    batch=axes_from_the_right,
    dtype="real",
)
"""Complex numbers as pairs (real, imaginary) along a new last axis, in the same memory."""
view_as_complex = primitive(
    "view_as_complex",
    _view_as_complex,
    [lambda g: view_as_real(g)],
    [lambda t: view_as_complex(t)],
    conjugates=True,
    view=True,
    batch=axes_from_the_right,
    dtype="complex",
)
"""Pairs along the last axis as complex numbers, in the same memory. Each of the two views is the
other's transpose.
"""

# ------------------------------------------------------------------------- copies, casts, constants

clone = linear(
    "clone", lambda xp, x: copy_with_strides_of(x, x), lambda g: g, pointwise=True, scalar="x"
)
identity = linear("identity", lambda xp, x: x, lambda g: g, view=True, pointwise=True)
cast = linear(
    "cast",
    lambda xp, x, *, dtype: _cast(x, dtype),
    lambda g: g,
    pointwise=True,
    dtype="given",
    scalar="x",
)
"""x in another dtype. The engine casts each gradient to its leaf's dtype, so the transpose has
nothing left to do.
"""
overwrite = elementwise(
    "overwrite",
    lambda xp, old, new: xp.broadcast_to(new, old.shape).astype(old.dtype),
    lambda g: zeros_like(g),
    lambda g: g,
    promote=None,
    batch=overwrite_all,
    shape="first",
    dtype="first",
    scalar="new",
    kernel=None,
)
"""The values `new` in the shape and dtype of `old`: what `copy_`, `fill_` and `x[…] = …` write."""
zeros_like = linear(
    "zeros_like",
    lambda xp, x: xp.zeros(x.shape, x.dtype),
    lambda g: zeros_like(g),
    pointwise=True,
    scalar="0",
)
ones_like = constant(
    "ones_like", lambda xp, x: xp.ones(x.shape, x.dtype), pointwise=True, scalar="1"
)


def _cast(x: Any, dtype: Any) -> Any:
    part = x.real if x.dtype.kind == "c" and dtype.kind not in "cb" else x
    return ignore_float_errors.run(part.astype, dtype)


# ------------------------------------------------------------------------------ questions and logic


def _of_bits(operation: Any, symbol: str, *operands: Any) -> Any:
    try:
        return operation(*operands)
    except TypeError:
        dtypes = " and ".join(str(getattr(x, "dtype", type(x).__name__)) for x in operands)
        raise DTypeError(
            f"{symbol}: is for booleans and integers, got {dtypes}. Compare first, as in (x > 0) &"
            " (y > 0)."
        ) from None


eq = predicate("eq", lambda xp, a, b: a == b, promote="same", scalar="a == b")
ne = predicate("ne", lambda xp, a, b: a != b, promote="same", scalar="a != b")
lt = predicate("lt", lambda xp, a, b: a < b, promote="same", real_only=True, scalar="a < b")
le = predicate("le", lambda xp, a, b: a <= b, promote="same", real_only=True, scalar="a <= b")
gt = predicate("gt", lambda xp, a, b: a > b, promote="same", real_only=True, scalar="a > b")
ge = predicate("ge", lambda xp, a, b: a >= b, promote="same", real_only=True, scalar="a >= b")
isnan = predicate("isnan", lambda xp, x: xp.isnan(x))
isinf = predicate("isinf", lambda xp, x: xp.isinf(x))
isfinite = predicate("isfinite", lambda xp, x: xp.isfinite(x))
logical_and = predicate("logical_and", lambda xp, a, b: xp.logical_and(a, b), scalar="a and b")
logical_or = predicate("logical_or", lambda xp, a, b: xp.logical_or(a, b), scalar="a or b")
logical_xor = predicate("logical_xor", lambda xp, a, b: xp.logical_xor(a, b), scalar="xor(a, b)")
logical_not = predicate("logical_not", lambda xp, x: xp.logical_not(x), scalar="not x")
bitwise_and = constant(
    "bitwise_and",
    lambda xp, a, b: _of_bits(operator.and_, "&", a, b),
    promote="same",
    pointwise=True,
    scalar="a & b",
)
bitwise_or = constant(
    "bitwise_or",
    lambda xp, a, b: _of_bits(operator.or_, "|", a, b),
    promote="same",
    pointwise=True,
    scalar="a | b",
)
bitwise_xor = constant(
    "bitwise_xor",
    lambda xp, a, b: _of_bits(operator.xor, "^", a, b),
    promote="same",
    pointwise=True,
    scalar="a ^ b",
)
bitwise_not = constant(
    "bitwise_not", lambda xp, x: _of_bits(operator.invert, "~", x), pointwise=True, scalar="~x"
)
