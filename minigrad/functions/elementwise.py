"""Functions of each element, and Python's operators: the table of names for ops/elementwise."""

from __future__ import annotations

import builtins
import operator
import sys
from collections.abc import Callable
from typing import Any, Protocol

from .. import backend, fast
from ..core.primitive import Primitive
from ..core.tensor import Tensor, as_tensor
from ..entry_points import function_of_one, function_of_two, is_operand, operator_of
from ..names import TensorLike, attach, in_place, into, public, publish, unlisted
from ..ops import elementwise as ew
from ..ops.operators import BINARY, COMPARISONS
from .arguments import check_factor, in_one_dtype


class Unary(Protocol):
    """A function of one tensor."""

    def __call__(self, input: Any, *, out: Any = None) -> Tensor: ...


class Binary(Protocol):
    """A function of two tensors."""

    def __call__(self, input: Any, other: Any, *, out: Any = None) -> Tensor: ...


@unlisted
def unary(
    operation: Primitive,
    text: str,
    *,
    name: str = "",
    params: dict[str, Any] | None = None,
    **options: Any,
) -> Unary:
    """The function of one tensor that a primitive computes, declared with its name and
    documentation.

    name: where it is not the primitive's; params: of the primitive; options: of `names.public`,
    in_place being True by default.
    """
    function: Unary = function_of_one(operation, params or {}, into)
    ends = "integers give the default floating dtype where the result is not an integer."
    _declare(
        function, name or operation.name, f"{text} Element by element; same shape; {ends}", options
    )
    return function


@unlisted
def binary(operation: Primitive, text: str, **options: Any) -> Binary:
    """The function of two tensors that a primitive computes, as `unary`."""

    function: Binary = function_of_two(operation, into)
    _declare(function, operation.name, f"{text} Operands broadcast; dtypes are promoted.", options)
    return function


def _declare(
    function: Callable[..., Tensor], name: str, text: str, options: dict[str, Any]
) -> None:
    function.__name__ = function.__qualname__ = name.rstrip("_")
    function.__module__ = sys._getframe(2).f_globals["__name__"]
    function.__doc__ = text
    public(**{"in_place": True, **options})(function)


exp = unary(ew.exp, "e to the x.")
exp2 = unary(ew.exp2, "2 to the x.")
expm1 = unary(ew.expm1, "e to the x, minus 1, accurate near 0.")
log = unary(ew.log, "Natural logarithm.")
log2 = unary(ew.log2, "Logarithm to base 2.")
log10 = unary(ew.log10, "Logarithm to base 10.")
log1p = unary(ew.log1p, "Natural logarithm of 1 + x, accurate near 0.")
sin = unary(ew.sin, "Sine.")
cos = unary(ew.cos, "Cosine.")
tan = unary(ew.tan, "Tangent.")
asin = arcsin = unary(ew.asin, "Inverse sine.")
acos = arccos = unary(ew.acos, "Inverse cosine.")
atan = arctan = unary(ew.atan, "Inverse tangent.")
sinh = unary(ew.sinh, "Hyperbolic sine.")
cosh = unary(ew.cosh, "Hyperbolic cosine.")
tanh = unary(ew.tanh, "Hyperbolic tangent.")
asinh = arcsinh = unary(ew.asinh, "Inverse hyperbolic sine.")
acosh = arccosh = unary(ew.acosh, "Inverse hyperbolic cosine.")
atanh = arctanh = unary(ew.atanh, "Inverse hyperbolic tangent.")
sqrt = unary(ew.sqrt, "Square root.")
rsqrt = unary(ew.rsqrt, "1 over the square root.")
reciprocal = unary(ew.reciprocal, "1 over x.")
neg = negative = unary(ew.neg, "Minus x.")
abs = absolute = unary(ew.abs_, "Absolute value; derivative 0 at 0.")
sign = unary(ew.sign, "-1, 0 or 1; derivative 0.")
sgn = unary(ew.sgn, "x / |x|, and 0 at 0.")
floor = unary(ew.floor, "Largest integer not above x; derivative 0.")
ceil = unary(ew.ceil, "Smallest integer not below x; derivative 0.")
trunc = fix = unary(ew.trunc, "The integer part; derivative 0.")
erf = unary(ew.erf, "The error function.")
sigmoid = unary(ew.sigmoid, "1 / (1 + e to the -x), without overflow.")
softplus = unary(ew.softplus, "ln(1 + e to the x), without overflow.", method=False, in_place=False)
relu = unary(ew.relu, "max(x, 0); derivative 0 at 0.")
angle = unary(ew.angle, "Argument in radians.", in_place=False)
isnan = unary(ew.isnan, "Whether x is NaN; no derivative.", in_place=False)
isinf = unary(ew.isinf, "Whether x is infinite; no derivative.", in_place=False)
isfinite = unary(ew.isfinite, "Whether x is finite; no derivative.", in_place=False)
logical_not = unary(ew.logical_not, "Whether x is 0; no derivative.")
clone = unary(ew.clone, "A copy that passes gradients through.", in_place=False)
bitwise_not = unary(
    ew.bitwise_not, "The bits that x has not; of integers and booleans, no derivative."
)

mul = multiply = binary(ew.mul, "a times b.")
atan2 = arctan2 = binary(ew.atan2, "The angle of the point (b, a) in radians.")
logaddexp = binary(ew.logaddexp, "ln(e to the a + e to the b), without overflow.", in_place=False)
fmod = binary(ew.fmod, "Remainder with the sign of a.")
remainder = binary(ew.remainder, "Remainder with the sign of b.")
floor_divide = binary(ew.floor_divide, "The largest integer not above a / b.")
eq = binary(ew.eq, "Whether a = b.")
ne = not_equal = binary(ew.ne, "Whether a and b differ.")
lt = less = binary(ew.lt, "Whether a < b.")
le = less_equal = binary(ew.le, "Whether a <= b.")
gt = greater = binary(ew.gt, "Whether a > b.")
ge = greater_equal = binary(ew.ge, "Whether a >= b.")
logical_and = binary(ew.logical_and, "Whether both are non-zero.")
logical_or = binary(ew.logical_or, "Whether one is non-zero.")
logical_xor = binary(ew.logical_xor, "Whether exactly one is non-zero.")
bitwise_and = binary(
    ew.bitwise_and, "The bits that both have; of integers and booleans, no derivative."
)
bitwise_or = binary(
    ew.bitwise_or, "The bits that one of them has; of integers and booleans, no derivative."
)
bitwise_xor = binary(
    ew.bitwise_xor,
    "The bits that exactly one of them has; of integers and booleans, no derivative.",
)
_plus = binary(ew.add, "a + b.")
_minus = binary(ew.sub, "a - b.")
_div = binary(ew.div, "a / b.")
_trunc_divide = binary(ew.trunc_divide, "a / b, rounded towards 0.")
maximum = binary(
    ew.maximum,
    "The larger of a and b; ties share the derivative evenly; NaN wins.",
    in_place=False,
    theirs="input other",
)
minimum = binary(
    ew.minimum,
    "The smaller of a and b; ties share the derivative evenly; NaN wins.",
    in_place=False,
    theirs="input other",
)


@public(in_place=True)
def add(input: TensorLike, other: TensorLike, *, alpha: Any = 1, out: Any = None) -> Tensor:
    """input + alpha · other. Operands broadcast; dtypes are promoted.

    Raises DTypeError for an alpha of a higher kind than the operands: 0.5 beside integers.
    """
    if out is not None:
        return into(out, add(input, other, alpha=alpha), "add", (input, other))
    if type(alpha) is int and alpha == 1:
        return _plus(input, other)
    check_factor("add", "alpha", alpha, input, other)
    if type(alpha) is int and all(_is_boolean(v) for v in (input, other)):
        alpha = bool(alpha)  # as the operands; 2 would make integers of them
    input, other = in_one_dtype(input, other)
    return _plus(input, _multiple(other, alpha))


@public(in_place=True)
def sub(input: TensorLike, other: TensorLike, *, alpha: Any = 1, out: Any = None) -> Tensor:
    """input - alpha · other. Operands broadcast; dtypes are promoted.

    Raises DTypeError for an alpha of a higher kind than the operands: 0.5 beside integers.
    """
    if out is not None:
        return into(out, sub(input, other, alpha=alpha), "sub", (input, other))
    if type(alpha) is int and alpha == 1:
        return _minus(input, other)
    check_factor("sub", "alpha", alpha, input, other)
    input, other = in_one_dtype(input, other)
    return _minus(input, _multiple(other, alpha))


subtract = sub


def _is_boolean(operand: Any) -> bool:
    return type(operand) is bool or getattr(operand, "dtype", None) == backend.bool_


def _multiple(other: Any, alpha: Any) -> Any:
    """alpha · other. The product of two Python numbers stays one: it has no dtype of its own."""
    numbers = type(other) in (int, float, complex) and type(alpha) in (int, float, complex)
    return other * alpha if numbers else mul(other, alpha)


@public(in_place=True)
def div(
    input: TensorLike,
    other: TensorLike,
    *,
    rounding_mode: str | None = None,
    out: Any = None,
) -> Tensor:
    """input / other; rounding_mode "floor" or "trunc" rounds the quotient (derivative 0)."""
    if out is not None:
        quotient = div(input, other, rounding_mode=rounding_mode)
        return into(out, quotient, "div", (input, other))
    if rounding_mode == "floor":
        return floor_divide(input, other)
    if rounding_mode == "trunc":
        return _trunc_divide(input, other)
    if rounding_mode is not None:
        raise ValueError(
            f'div: rounding_mode must be None, "trunc" or "floor", got {rounding_mode!r}.'
        )
    return _div(input, other)


divide = true_divide = div


@public(in_place=True, theirs="input")
def pow(base: Any, exponent: Any) -> Tensor:
    """base to the exponent. A constant real exponent has its own, cheaper rule; at base 0 the
    derivatives are those of PyTorch.
    """
    if isinstance(base, Tensor) and type(exponent) in (int, float):
        if base.dtype.kind == "b" and type(exponent) is int:
            base = base.to(backend.int64)
        if base.dtype.kind != "f" and (
            type(exponent) is float or (exponent < 0 and base.dtype.kind != "c")
        ):
            if base.dtype.kind in "iub" and type(exponent) is int:
                raise RuntimeError(
                    "pow: integers to negative integer powers are not allowed; convert the base"
                    " with .float() first."
                )
            base = base.to(backend.result_type([base.array, exponent]))
        return ew.power(base, n=exponent)
    if not isinstance(base, Tensor) and not isinstance(exponent, Tensor):
        return pow(as_tensor(base), exponent)
    if type(base) in (int, float) and exponent.dtype.kind == "c":
        # its logarithm, which the rule needs, is complex where the base is negative
        base = builtins.complex(base)
    return ew.pow_(base, exponent)


@public(in_place=True)
def square(x: TensorLike) -> Tensor:
    """x times x (int64 for booleans). Element by element; same shape."""
    x = as_tensor(x)
    return ew.square(x.to(backend.int64) if x.dtype == backend.bool_ else x)


@public(in_place=True)
def round(x: TensorLike, decimals: int = 0) -> Tensor:
    """x rounded to `decimals`, halves to even; derivative 0."""
    return ew.round_(as_tensor(x), decimals=decimals)


def positive(x: Tensor) -> Tensor:
    """x itself."""
    return x


resolve_conj = resolve_neg = positive  # conjugates and signs are never left to be resolved


@public(method=False)
def rsub(x: TensorLike, other: TensorLike, *, alpha: Any = 1) -> Tensor:
    """other - alpha · x."""
    return sub(other, x, alpha=alpha)


# ------------------------------------------------------------------------------- Python's operators

_KERNELS: dict[Any, Callable[[Any, Any], Any]] = {
    ew.add: operator.iadd,
    ew.sub: operator.isub,
    ew.mul: operator.imul,
    ew.div: lambda x, y: backend.ignore_float_errors.run(operator.itruediv, x, y),
}
"""What changes an array in place to the result of an operation."""


def _augmented(operation: Any, name: str, symbol: str) -> Callable[[Any, Any], Any]:
    """`self op= other`."""
    write = in_place(operation, name, f"x {symbol}= …")
    return lambda self, other: write(self, other) if is_operand(other) else NotImplemented


@unlisted
def attach_operator(name: str, symbol: str, operation: Any, primitive: Any = None) -> None:
    """Give tensors the methods behind an operator: `self op other`, `other op self` and `self op=
    other`.

    name: of Python's method, without underscores. operation: a primitive, or a function that looks
    at its operands first; primitive: what it computes with plain operands, if it need not look.
    """
    attach(f"__{name}__", operator_of(operation))
    attach(f"__r{name}__", operator_of(operation, reflected=True))
    attach(f"__i{name}__", _augmented(operation, f"__i{name}__", symbol))
    if isinstance(primitive or operation, Primitive):
        fast.operator(Tensor, f"__{name}__", primitive or operation)
    if isinstance(operation, Primitive):
        fast.reflected_operator(Tensor, f"__r{name}__", operation)
    if operation in _KERNELS:
        fast.update_operator(Tensor, f"__i{name}__", _KERNELS[operation])


for _name, _symbol in zip(
    "add sub mul truediv floordiv mod and or xor".split(), "+ - * / // % & | ^".split(), strict=True
):
    attach_operator(_name, _symbol, BINARY[_name])
attach_operator("pow", "**", pow)
for _name, _operation in COMPARISONS.items():
    attach(f"__{_name}__", operator_of(_operation))
    fast.operator(Tensor, f"__{_name}__", _operation)
attach("__hash__", lambda self: id(self))
attach("__neg__", lambda self: ew.neg(self))
fast.unary_operator(Tensor, "__neg__", ew.neg)
attach("__pos__", lambda self: self)
attach("__abs__", lambda self: ew.abs_(self))
attach("__invert__", lambda self: ew.bitwise_not(self))


publish(__name__)
