"""Operations whose result depends, element by element, on the inputs' elements: y[i] = f(a[i], b[i]).

Read each row as: name, forward, and for each input the rule that turns an incoming derivative `g` into the contribution g · ∂y/∂input. The Jacobian is
diagonal, so the same rule serves reverse and forward mode. At kinks the rules give what PyTorch gives: relu, abs and sign take 0 at 0, `maximum` and
`minimum` share ties evenly, `clamp` passes the gradient at its bounds.
"""

from __future__ import annotations

import math
from typing import Any

from ..backend import erf_function
from ..primitive import constant, elementwise, linear, primitive

# ------------------------------------------------------------------------------------------------- the four operations of arithmetic

add = elementwise("add", lambda xp, a, b: a + b, lambda g: g, lambda g: g, symbol="+")
sub = elementwise("sub", lambda xp, a, b: a - b, lambda g: g, lambda g: -g, symbol="−")
mul = elementwise("mul", lambda xp, a, b: a * b, lambda g, b: g * b, lambda g, a: g * a, symbol="·")
div = elementwise("div", lambda xp, a, b: xp.true_divide(a, b), lambda g, b: g / b, lambda g, b, y: -g * y / b, promote="float", symbol="/")
neg = elementwise("neg", lambda xp, x: -x, lambda g: -g, symbol="−")
reciprocal = elementwise("reciprocal", lambda xp, x: 1 / x, lambda g, y: -g * y * y, promote="float")
floor_divide = elementwise("floor_divide", lambda xp, a, b: xp.floor_divide(a, b), lambda g: zeros_like(g), lambda g: zeros_like(g))
remainder = elementwise("remainder", lambda xp, a, b: xp.remainder(a, b), lambda g: g, lambda g, a, b: -g * floor_divide(a, b))
fmod = elementwise("fmod", lambda xp, a, b: xp.fmod(a, b), lambda g: g, lambda g, a, b: -g * trunc(a / b))

# ------------------------------------------------------------------------------------------------------------------------- powers


def _power(xp: Any, x: Any, *, n: float) -> Any:
    if n == 2:
        return x * x
    if n == 3:
        return x * x * x  # a hundred times faster than the general power on float32
    return x**n


power = elementwise(
    "power", _power, lambda g, x, *, n: zeros_like(g) if n == 0 else g * (n * power(x, n=n - 1)), promote="same", symbol="^"
)
"""x to a constant real power n."""

pow_ = elementwise(
    "pow",
    lambda xp, a, b: a**b,
    lambda g, a, b: where(b == 0, 0.0, g * (b * a ** (b - 1))),
    lambda g, a, b, y: where((a == 0) & (b >= 0), 0.0, g * (y * log(a))),
    symbol="^",
)
"""a to a varying power b."""

sqrt = elementwise("sqrt", lambda xp, x: xp.sqrt(x), lambda g, y: g / (2 * y), promote="float")
rsqrt = elementwise("rsqrt", lambda xp, x: 1 / xp.sqrt(x), lambda g, y: -0.5 * g * power(y, n=3), promote="float")
square = elementwise("square", lambda xp, x: x * x, lambda g, x: g * (2 * x))

# ---------------------------------------------------------------------------------------------------- exponentials and logarithms

exp = elementwise("exp", lambda xp, x: xp.exp(x), lambda g, y: g * y, promote="float")
exp2 = elementwise("exp2", lambda xp, x: xp.exp2(x), lambda g, y: g * (math.log(2) * y), promote="float")
expm1 = elementwise("expm1", lambda xp, x: xp.expm1(x), lambda g, y: g * (y + 1), promote="float")
log = elementwise("log", lambda xp, x: xp.log(x), lambda g, x: g / x, promote="float", symbol="ln")
log2 = elementwise("log2", lambda xp, x: xp.log2(x), lambda g, x: g / (math.log(2) * x), promote="float")
log10 = elementwise("log10", lambda xp, x: xp.log10(x), lambda g, x: g / (math.log(10) * x), promote="float")
log1p = elementwise("log1p", lambda xp, x: xp.log1p(x), lambda g, x: g / (x + 1), promote="float")
logaddexp = elementwise(
    "logaddexp",
    lambda xp, a, b: xp.logaddexp(a, b),
    lambda g, a, b: g * sigmoid(a - b),
    lambda g, a, b: g * sigmoid(b - a),
    promote="float",
)

# ------------------------------------------------------------------------------------------- circular and hyperbolic functions

sin = elementwise("sin", lambda xp, x: xp.sin(x), lambda g, x: g * cos(x), promote="float")
cos = elementwise("cos", lambda xp, x: xp.cos(x), lambda g, x: g * -sin(x), promote="float")
tan = elementwise("tan", lambda xp, x: xp.tan(x), lambda g, y: g * (1 + y * y), promote="float")
asin = elementwise("asin", lambda xp, x: xp.arcsin(x), lambda g, x: g * rsqrt(1 - x * x), promote="float", symbol="arcsin")
acos = elementwise("acos", lambda xp, x: xp.arccos(x), lambda g, x: -g * rsqrt(1 - x * x), promote="float", symbol="arccos")
atan = elementwise("atan", lambda xp, x: xp.arctan(x), lambda g, x: g / (1 + x * x), promote="float", symbol="arctan")
atan2 = elementwise(
    "atan2",
    lambda xp, a, b: xp.arctan2(a, b),
    lambda g, a, b: g * _over_square_sum(b, a, b),
    lambda g, a, b: -g * _over_square_sum(a, a, b),
    promote="float",
)
sinh = elementwise("sinh", lambda xp, x: xp.sinh(x), lambda g, x: g * cosh(x), promote="float")
cosh = elementwise("cosh", lambda xp, x: xp.cosh(x), lambda g, x: g * sinh(x), promote="float")
tanh = elementwise("tanh", lambda xp, x: xp.tanh(x), lambda g, y: g * (1 - y * y), promote="float")
asinh = elementwise("asinh", lambda xp, x: xp.arcsinh(x), lambda g, x: g * rsqrt(x * x + 1), promote="float", symbol="arsinh")
acosh = elementwise("acosh", lambda xp, x: xp.arccosh(x), lambda g, x: g * rsqrt(x - 1) * rsqrt(x + 1), promote="float", symbol="arcosh")
atanh = elementwise("atanh", lambda xp, x: xp.arctanh(x), lambda g, x: g / (1 - x * x), promote="float", symbol="artanh")
erf = elementwise("erf", lambda xp, x: erf_function(xp)(x), lambda g, x: g * (2 / math.sqrt(math.pi) * exp(-x * x)), promote="float")


def _over_square_sum(part: Any, a: Any, b: Any) -> Any:
    """part / (a² + b²), and 0 where both are 0."""
    total = a * a + b * b
    return where(total == 0, 0.0, part / where(total == 0, 1.0, total))


# --------------------------------------------------------------------------------------------------- kinks, steps and selection


def _sigmoid(xp: Any, x: Any) -> Any:
    if getattr(x, "dtype", None) is not None and x.dtype.kind == "c":
        return 1 / (1 + xp.exp(-x))
    return 0.5 * (xp.tanh(0.5 * x) + 1)  # cannot overflow


sigmoid = elementwise("sigmoid", _sigmoid, lambda g, y: g * (y * (1 - y)), promote="float", symbol="σ")
softplus = elementwise("softplus", lambda xp, x: xp.logaddexp(x, 0 * x), lambda g, x: g * sigmoid(x), promote="float")
relu = elementwise("relu", lambda xp, x: xp.maximum(x, 0), lambda g, y: where(y <= 0, 0.0, g))
maximum = elementwise(
    "maximum",
    lambda xp, a, b: xp.maximum(a, b),
    lambda g, a, b: where(a < b, 0.0, where(a == b, g / 2, g)),
    lambda g, a, b: where(b < a, 0.0, where(a == b, g / 2, g)),
    symbol="max",
)
minimum = elementwise(
    "minimum",
    lambda xp, a, b: xp.minimum(a, b),
    lambda g, a, b: where(a > b, 0.0, where(a == b, g / 2, g)),
    lambda g, a, b: where(b > a, 0.0, where(a == b, g / 2, g)),
    symbol="min",
)
clamp = elementwise(
    "clamp",
    lambda xp, x, *, low, high: xp.clip(x, low, high),
    lambda g, x, *, low, high: where(_between(x, low, high), g, 0.0),
    symbol="clamp",
)
where = elementwise(
    "where",
    lambda xp, condition, a, b: xp.where(condition, a, b),
    None,
    lambda g, condition: where(condition, g, 0.0),
    lambda g, condition: where(condition, 0.0, g),
    promote="branches",
)
"""Elements of a where the condition holds, of b elsewhere; a derivative of the branch not taken is 0, even where that branch is NaN."""


def _between(x: Any, low: Any, high: Any) -> Any:
    """Whether low <= x <= high; None means no bound."""
    if low is None or high is None:
        return x <= high if low is None else x >= low
    return (x >= low) & (x <= high)


sign = elementwise("sign", lambda xp, x: xp.sign(x), lambda g: zeros_like(g))
floor = elementwise("floor", lambda xp, x: xp.floor(x) if x.dtype.kind == "f" else x, lambda g: zeros_like(g))
ceil = elementwise("ceil", lambda xp, x: xp.ceil(x) if x.dtype.kind == "f" else x, lambda g: zeros_like(g))
trunc = elementwise("trunc", lambda xp, x: xp.trunc(x) if x.dtype.kind == "f" else x, lambda g: zeros_like(g))
round_ = elementwise("round", lambda xp, x, *, decimals: xp.round(x, decimals), lambda g: zeros_like(g))

# -------------------------------------------------------------------------------------------------------------- complex numbers
# Not holomorphic: the rules are written out for z = a + bi, with g in PyTorch's convention ∂L/∂a + i ∂L/∂b.


def _abs_pull(g: Any, x: Any) -> Any:
    return g * sgn(x)


def _abs_push(t: Any, x: Any) -> Any:
    return real(conj(sgn(x)) * t)


def _sgn(xp: Any, x: Any) -> Any:
    if x.dtype.kind != "c":
        return xp.sign(x)
    size = xp.abs(x)
    return xp.where(size == 0, 0, x / xp.where(size == 0, 1, size))


sgn = primitive(
    "sgn",
    _sgn,
    [lambda g, x, y: _sgn_derivative(g, x, y)],
    [lambda t, x, y: _sgn_derivative(t, x, y)],
    conjugates=True,
)
"""x / |x|, and 0 at 0 (the sign of real numbers). Its Jacobian, as a real 2x2 matrix, is symmetric: one rule for both modes."""


def _sgn_derivative(g: Any, x: Any, y: Any) -> Any:
    size = where(abs_(x) == 0, 1.0, abs_(x))
    return where(abs_(x) == 0, 0.0, (g - real(conj(y) * g) * y) / size) if x.dtype.kind == "c" else zeros_like(g)


abs_ = primitive("abs", lambda xp, x: xp.abs(x), [_abs_pull], [_abs_push], conjugates=True, symbol="abs")
conj = primitive("conj", lambda xp, x: xp.conj(x) if x.dtype.kind == "c" else x, [lambda g: conj(g)], [lambda t: conj(t)], conjugates=True)
real = primitive("real", lambda xp, x: x.real, [lambda g, x: real_to(g, x)], [lambda t: real(t)], conjugates=True, view=True)
imag = primitive("imag", lambda xp, x: x.imag, [lambda g, x: times_i(g, x)], [lambda t: imag(t)], conjugates=True, view=True)
angle = primitive(
    "angle",
    lambda xp, x: xp.angle(x) if x.dtype.kind == "c" else xp.where(x < 0, math.pi, 0 * x).astype(x.dtype),
    [lambda g, x: _angle_pull(g, x)],
    [lambda t, x: _angle_push(t, x)],
    conjugates=True,
    promote="float",
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


make_complex = primitive(
    "complex",
    lambda xp, a, b: a + b * (1j if a.dtype.itemsize == 8 else xp.complex64(1j)),
    [lambda g: real(g), lambda g: imag(g)],
    [lambda t: make_complex(t, zeros_like(t)), lambda t: make_complex(zeros_like(t), t)],
    conjugates=True,
    promote="same",
)
"""The complex tensor a + ib from its real and imaginary parts."""


def real_to(g: Any, x: Any) -> Any:
    """A real cotangent g as one of x's dtype."""
    return make_complex(g, zeros_like(g)) if x.dtype.kind == "c" else g


def times_i(g: Any, x: Any) -> Any:
    """i·g as a cotangent of x (0 for real x, whose imaginary part is constant)."""
    return make_complex(zeros_like(g), g) if x.dtype.kind == "c" else zeros_like(g)


# ------------------------------------------------------------------------------------------------------- copies, casts, constants

clone = linear("clone", lambda xp, x: x.copy(), lambda g: g)
identity = linear("identity", lambda xp, x: x, lambda g: g)
cast = linear("cast", lambda xp, x, *, dtype: _cast(x, dtype), lambda g: g)
"""x in another dtype. The engine casts each gradient to its leaf's dtype, so the transpose has nothing left to do."""
overwrite = elementwise(
    "overwrite", lambda xp, old, new: xp.broadcast_to(new, old.shape).astype(old.dtype), lambda g: zeros_like(g), lambda g: g, promote=None
)
"""The values `new` in the shape and dtype of `old`: what `copy_`, `fill_` and `x[…] = …` write."""
zeros_like = linear("zeros_like", lambda xp, x: xp.zeros(x.shape, x.dtype), lambda g: zeros_like(g))
ones_like = constant("ones_like", lambda xp, x: xp.ones(x.shape, x.dtype))


def _cast(x: Any, dtype: Any) -> Any:
    return x.real.astype(dtype) if x.dtype.kind == "c" and dtype.kind != "c" and dtype.kind != "b" else x.astype(dtype)


# ------------------------------------------------------------------------------------------------------- questions and logic

eq = constant("eq", lambda xp, a, b: a == b, promote="same", symbol="=")
ne = constant("ne", lambda xp, a, b: a != b, promote="same", symbol="≠")
lt = constant("lt", lambda xp, a, b: a < b, promote="same", symbol="<")
le = constant("le", lambda xp, a, b: a <= b, promote="same", symbol="≤")
gt = constant("gt", lambda xp, a, b: a > b, promote="same", symbol=">")
ge = constant("ge", lambda xp, a, b: a >= b, promote="same", symbol="≥")
isnan = constant("isnan", lambda xp, x: xp.isnan(x))
isinf = constant("isinf", lambda xp, x: xp.isinf(x))
isfinite = constant("isfinite", lambda xp, x: xp.isfinite(x))
logical_and = constant("logical_and", lambda xp, a, b: xp.logical_and(a, b))
logical_or = constant("logical_or", lambda xp, a, b: xp.logical_or(a, b))
logical_xor = constant("logical_xor", lambda xp, a, b: xp.logical_xor(a, b))
logical_not = constant("logical_not", lambda xp, x: xp.logical_not(x))
bitwise_and = constant("bitwise_and", lambda xp, a, b: a & b, promote="same", symbol="&")
bitwise_or = constant("bitwise_or", lambda xp, a, b: a | b, promote="same", symbol="|")
bitwise_xor = constant("bitwise_xor", lambda xp, a, b: a ^ b, promote="same", symbol="^")
bitwise_not = constant("bitwise_not", lambda xp, x: ~x, symbol="~")
