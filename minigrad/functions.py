"""The functions that users call: PyTorch's names and conventions around the bare operations.

Each takes tensors, arrays, nested lists or numbers and returns a Tensor. Axes may be given as `dim=` or `axis=`, kept as `keepdim=` or
`keepdims=`; negative axes count from the end; a wrong axis raises IndexError naming the range.
"""

from __future__ import annotations

import builtins
import functools
import math
import operator
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from . import backend, observe, ops
from .backend import DType, Shape
from .batching import drawn as _drawn
from .batching import getitem as _batched_getitem
from .batching import is_batched_index as _is_batched_index
from .engine.direct import on_one as _on_one
from .errors import DTypeError, ShapeError
from .keywords import into
from .ops import chance as ch
from .ops import elementwise as ew
from .ops import index as ix
from .ops import linalg as la
from .ops import network as nw
from .ops import reduce as rd
from .ops import shape as sh
from .ops import sorting as so
from .primitive import Primitive
from .tensor import Tensor, as_tensor, make_leaf, memory_version, wrap

_into: Callable[..., Tensor] = into  # `out=`

Copying = TypeVar("Copying", bound=Callable[..., Any])


def in_own_memory(function: Copying) -> Copying:
    """Declare that the results of a function are copies, though it may end with a view of something that it computed, or, where there is
    nothing to compute, with its input.

    A view of an intermediate result, to which only the result refers, is then no view: it may be modified in place as any other tensor.
    """
    return _ending(function, clone)


def in_own_memory_or_view(function: Copying) -> Copying:
    """As `in_own_memory`, for functions that give a view of their input where there is nothing to compute."""
    return _ending(function, lambda x: x)


def _ending(function: Copying, of_input: Callable[[Tensor], Tensor]) -> Copying:
    def ended(made: Any, given: list[Tensor]) -> Any:
        if not isinstance(made, Tensor):
            return made
        base = made if made.window is None else made.window.base
        if any_true(base is x or (x.window is not None and x.window.base is base) for x in given):
            return of_input(made)
        made.window = None
        return made

    @functools.wraps(function)
    def run(*args: Any, **options: Any) -> Any:
        made = function(*args, **options)
        given = [x for a in (*args, *options.values()) for x in (a if isinstance(a, list | tuple) else (a,)) if isinstance(x, Tensor)]
        if not isinstance(made, tuple):
            return ended(made, given)
        parts = [ended(part, given) for part in made]
        return type(made)(*parts) if hasattr(made, "_fields") else tuple(parts)

    return run  # type: ignore[return-value]


# ------------------------------------------------------------------------------------------------------------- making tensors


def _made(array: Any, requires_grad: bool, device: Any = None) -> Tensor:
    out = wrap(backend.canonical(array) if device is None else backend.to_device(array, str(device)))
    if requires_grad:
        make_leaf(out)
    return observe.made(out) if observe.observers else out


def _not_negative(sizes: Shape) -> Shape:
    """`sizes`, if a tensor can have them."""
    if any_true(n < 0 for n in sizes):
        raise ShapeError(f"sizes must be at least 0, got {sizes}.")
    return sizes


def _sizes(sizes: Sequence[Any]) -> Shape:
    """`f(2, 3)` and `f((2, 3))` alike."""
    if len(sizes) == 1 and isinstance(sizes[0], list | tuple):
        sizes = sizes[0]
    try:
        return tuple(operator.index(n) for n in sizes)
    except TypeError:
        raise TypeError(f"sizes must be whole numbers, got {', '.join(repr(n) for n in sizes)}.") from None


def tensor(data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """A new leaf tensor holding a copy of `data` (numbers, nested lists, arrays, a tensor). Python floats become float32, arrays keep
    their dtype. Raises DTypeError for anything else."""
    if data is None:  # Tensor(shape=…) without data means zeros; here it is a mistake, often a .grad that was never filled
        raise DTypeError("cannot make a tensor of None: use numbers, nested lists of equal length, or arrays.")
    return _made(backend.as_payload(data.array if isinstance(data, Tensor) else data, dtype), requires_grad, device)


def as_tensor_(data: Any, dtype: Any = None, device: Any = None) -> Tensor:
    """`data` as a tensor, sharing memory where possible."""
    if isinstance(data, Tensor):
        return data if dtype is None else data.to(dtype)
    array = backend.as_payload(data, dtype, copy=False)
    return observe.made(wrap(array if device is None else backend.to_device(array, str(device))))  # type: ignore[no-any-return]


def from_numpy(array: Any) -> Tensor:
    """A tensor on the memory of a NumPy array: changes of either are seen in the other (but only the tensor's own in-place operations are
    counted)."""
    if not hasattr(array, "dtype") or not hasattr(array, "strides"):
        raise TypeError(f"from_numpy needs a NumPy array, got {type(array).__name__}. Use tensor(data) for other data.")
    out = wrap(backend.materialise(array))
    memory_version(out)
    return observe.made(out) if observe.observers else out


def from_dlpack(source: Any) -> Tensor:
    """A tensor on the memory of another library's array (PyTorch, JAX, CuPy, …), on the CPU or a GPU, without copying.

    Raises TypeError for what cannot be shared (a dtype that NumPy has not, a tensor that requires grad), DeviceError for memory elsewhere.
    Source: the DLPack protocol of the array API standard.
    """
    out = wrap(backend.materialise(backend.from_dlpack(source)))
    memory_version(out)
    return observe.made(out) if observe.observers else out


def zeros(*size: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """Zeros of the given sizes."""
    return full(_sizes(size), 0, dtype=dtype or backend.default_dtype(), device=device, requires_grad=requires_grad)


def ones(*size: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """Ones of the given sizes."""
    return full(_sizes(size), 1, dtype=dtype or backend.default_dtype(), device=device, requires_grad=requires_grad)


def full(size: Any, fill_value: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """A tensor of the given size filled with one value, whose kind (boolean, integer, floating, complex) gives the dtype."""
    value = fill_value.array if isinstance(fill_value, Tensor) else fill_value
    if dtype is None and hasattr(value, "dtype") and not value.ndim:
        dtype = backend.dtype_of_kind(value.dtype)
    made, sizes = backend.as_payload(value, dtype), _not_negative(_sizes([size] if isinstance(size, int) else size))
    if device is not None and backend.device_of(made) != str(device) and made.ndim == 0:
        return _made(backend.full(sizes, made, str(device)), requires_grad)
    out = backend.zeros(sizes, made.dtype, made)
    out = backend.materialise(out)
    out[...] = made
    return _made(out, requires_grad, device)


def zeros_like(x: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """Zeros in the shape and (unless given) dtype of x, without history."""
    x = as_tensor(x)
    return _made(backend.zeros(x.shape, backend.as_dtype(dtype) or x.dtype, x.array), requires_grad, device)


def ones_like(x: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """Ones in the shape and (unless given) dtype of x, without history."""
    x = as_tensor(x)
    return _made(backend.ones(x.shape, backend.as_dtype(dtype) or x.dtype, x.array), requires_grad, device)


def full_like(x: Any, fill_value: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """One value in the shape and (unless given) dtype of x, without history."""
    x = as_tensor(x)
    return full(x.shape, fill_value, dtype=dtype or x.dtype, device=device or backend.device_of(x.array), requires_grad=requires_grad)


def _number(value: Any) -> Any:
    """A 0-d tensor or a scalar of NumPy as a Python number, which says of what kind it is."""
    return value.item() if isinstance(value, Tensor | backend.numpy.generic) else value


def arange(
    start: float, end: float | None = None, step: float = 1, *, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """Numbers from start (default 0) up to, not including, end. int64 for integers, the default dtype for floats."""
    start, end, step = _number(start), None if end is None else _number(end), _number(step)
    if end is None:
        start, end = 0, start
    if step == 0 or (end - start) / step < 0:
        raise ValueError(f"arange({start}, {end}, {step}): the step does not lead from start to end.")
    if dtype is None:
        dtype = backend.int64 if builtins.all(isinstance(v, int) for v in (start, end, step)) else backend.default_dtype()
    if backend.as_dtype(dtype) == backend.int64:  # whole numbers count from whole numbers
        start, end, step = int(start), int(end), int(step)
    return _made(backend.arange(start, end, step, dtype, str(device or "cpu")), requires_grad)


def linspace(start: Any, end: Any, steps: int, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """`steps` evenly spaced numbers from start to end, both included; integers are cut off, not rounded. dtype: the default one,
    or the complex one of its precision if an end is complex."""
    (steps,) = _not_negative(_sizes((steps,)))
    wanted = backend.as_dtype(dtype) or spaced_dtype(start, end)
    if not backend.is_differentiable(wanted):
        start, end, i = int(start), int(end), arange(steps, dtype=backend.float64, device=device)
        step = (end - start) / builtins.max(steps - 1, 1)
        values = where(i < steps // 2, start + step * i, end - step * (steps - 1 - i)) if steps > 1 else start + i
        return _made(values.to(wanted).array, requires_grad)
    return _made(backend.linspace(start, end, steps, wanted, str(device or "cpu")), requires_grad)


def spaced_dtype(start: Any, end: Any) -> DType:
    """The dtype of numbers between two ends: the default one, or the complex one of its precision."""
    complexes = [v for v in (start, end) if isinstance(v, builtins.complex) or getattr(getattr(v, "dtype", None), "kind", "") == "c"]
    return backend.result_type([1j]) if complexes else backend.default_dtype()


def eye(n: int, m: int | None = None, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """The n by m matrix with ones on its diagonal."""
    n, m = _not_negative(_sizes((n, n if m is None else m)))
    return _made(backend.eye(n, m, dtype or backend.default_dtype(), str(device or "cpu")), requires_grad)


def manual_seed(seed: int) -> None:
    """Make the random functions below repeat the same numbers, on every device (each kind of device has numbers of its own)."""
    ch.seed(seed)


def random_state() -> Any:
    """The state of the CPU's random numbers, to be set again with `set_random_state`. CuPy's generators do not tell theirs."""
    return ch.generator().bit_generator.state


def set_random_state(state: Any) -> None:
    """Continue the CPU's random numbers from a state that `random_state` gave."""
    ch.generator().bit_generator.state = state


def _drawn_on(device: Any) -> dict[str, str]:
    """The parameter that says where to draw; none for the CPU."""
    return {} if device is None or str(device) == "cpu" else {"device": str(device)}


def rand(*size: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """Uniform random numbers in [0, 1)."""
    wanted = backend.as_dtype(dtype) or backend.default_dtype()
    return _made(_drawn(lambda s: ch.uniform(shape=s, dtype=wanted, **_drawn_on(device)), _not_negative(_sizes(size))), requires_grad)


def randn(*size: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """Normal random numbers, mean 0, variance 1. A complex dtype gives variance 1 in total."""
    wanted = backend.as_dtype(dtype) or backend.default_dtype()
    return _made(_drawn(lambda s: ch.normal(shape=s, dtype=wanted, **_drawn_on(device)), _not_negative(_sizes(size))), requires_grad)


def randint(
    low: Any = None, high: Any = None, size: Any = None, *, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """Random integers in [low, high), or [0, low) if one bound is given: `randint(10, (2, 3))`, `randint(5, 10, (2, 3))` or
    `randint(high=10, size=(2, 3))`. Raises ValueError where there is no integer between the bounds."""
    if isinstance(high, list | tuple):
        low, high, size = None, low, high
    elif high is None:
        low, high = None, low
    if high is None:
        raise TypeError("randint: give a bound and a size, as in randint(10, (2, 3)).")
    low, high = (operator.index(v) for v in (0 if low is None else low, high))
    if low >= high:
        raise ValueError(f"randint: low must be smaller than high, got low={low} and high={high}.")
    kind = backend.as_dtype(dtype) or backend.int64
    sizes = _not_negative(_sizes([size or ()]))
    return _made(_drawn(lambda s: ch.integers(low=low, high=high, shape=s, dtype=kind, **_drawn_on(device)), sizes), requires_grad)


def rand_like(x: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """Uniform random numbers in the shape and dtype of x."""
    x = as_tensor(x)
    return rand(x.shape, dtype=dtype or x.dtype, device=device or backend.device_of(x.array), requires_grad=requires_grad)


def randn_like(x: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """Normal random numbers in the shape and dtype of x."""
    x = as_tensor(x)
    return randn(x.shape, dtype=dtype or x.dtype, device=device or backend.device_of(x.array), requires_grad=requires_grad)


# ------------------------------------------------------------------------------------------------------ element by element


def _unary(operation: Primitive, text: str) -> Callable[..., Tensor]:
    def function(input: Any, *, out: Any = None) -> Tensor:
        if out is not None:
            return _into(out, function(input), operation.name, (input,))
        return run(input if type(input) is Tensor else as_tensor(input))  # type: ignore[no-any-return]

    run = _on_one(operation)
    function.__name__ = function.__qualname__ = operation.name
    function.__doc__ = (
        f"{text} Element by element; same shape; integers give the default floating dtype where the result is not an integer."
    )
    return function


def _binary(operation: Primitive, text: str) -> Callable[..., Tensor]:
    def function(input: Any, other: Any, *, out: Any = None) -> Tensor:
        if out is not None:
            return _into(out, function(input, other), operation.name, (input, other))
        if not isinstance(input, Tensor) and not isinstance(other, Tensor):
            input = as_tensor(input)
        return operation(input, other)  # type: ignore[no-any-return]

    function.__name__ = function.__qualname__ = operation.name
    function.__doc__ = f"{text} Operands broadcast; dtypes are promoted."
    return function


exp = _unary(ew.exp, "e to the x.")
exp2 = _unary(ew.exp2, "2 to the x.")
expm1 = _unary(ew.expm1, "e to the x, minus 1, accurate near 0.")
log = _unary(ew.log, "Natural logarithm.")
log2 = _unary(ew.log2, "Logarithm to base 2.")
log10 = _unary(ew.log10, "Logarithm to base 10.")
log1p = _unary(ew.log1p, "Natural logarithm of 1 + x, accurate near 0.")
sin = _unary(ew.sin, "Sine.")
cos = _unary(ew.cos, "Cosine.")
tan = _unary(ew.tan, "Tangent.")
asin = arcsin = _unary(ew.asin, "Inverse sine.")
acos = arccos = _unary(ew.acos, "Inverse cosine.")
atan = arctan = _unary(ew.atan, "Inverse tangent.")
sinh = _unary(ew.sinh, "Hyperbolic sine.")
cosh = _unary(ew.cosh, "Hyperbolic cosine.")
tanh = _unary(ew.tanh, "Hyperbolic tangent.")
asinh = arcsinh = _unary(ew.asinh, "Inverse hyperbolic sine.")
acosh = arccosh = _unary(ew.acosh, "Inverse hyperbolic cosine.")
atanh = arctanh = _unary(ew.atanh, "Inverse hyperbolic tangent.")
sqrt = _unary(ew.sqrt, "Square root.")
rsqrt = _unary(ew.rsqrt, "1 over the square root.")
reciprocal = _unary(ew.reciprocal, "1 over x.")
neg = negative = _unary(ew.neg, "Minus x.")
abs = absolute = _unary(ew.abs_, "Absolute value; derivative 0 at 0.")
sign = _unary(ew.sign, "-1, 0 or 1; derivative 0.")
sgn = _unary(ew.sgn, "x / |x|, and 0 at 0.")
floor = _unary(ew.floor, "Largest integer not above x; derivative 0.")
ceil = _unary(ew.ceil, "Smallest integer not below x; derivative 0.")
trunc = _unary(ew.trunc, "The integer part; derivative 0.")
erf = _unary(ew.erf, "The error function.")
sigmoid = _unary(ew.sigmoid, "1 / (1 + e to the -x), without overflow.")
softplus = _unary(ew.softplus, "ln(1 + e to the x), without overflow.")
relu = _unary(ew.relu, "max(x, 0); derivative 0 at 0.")
_conj, _real = _unary(ew.conj, "Complex conjugate."), _unary(ew.real, "Real part.")
_imag = _unary(ew.imag, "Imaginary part.")
angle = _unary(ew.angle, "Argument in radians.")
isnan = _unary(ew.isnan, "Whether x is NaN; no derivative.")
isinf = _unary(ew.isinf, "Whether x is infinite; no derivative.")
isfinite = _unary(ew.isfinite, "Whether x is finite; no derivative.")
logical_not = _unary(ew.logical_not, "Whether x is 0; no derivative.")
clone = _unary(ew.clone, "A copy that passes gradients through.")


def conj(x: Any) -> Tensor:
    """Complex conjugate, a copy (in PyTorch a view that is conjugated when it is read); a real x itself. So `x.H`, `x.mH` and
    `x.adjoint()` of complex tensors are copies too."""
    x = as_tensor(x)
    return _conj(x) if x.dtype.kind == "c" else x


def real(x: Any) -> Tensor:
    """Real part (a view); a real x itself."""
    x = as_tensor(x)
    return _real(x) if x.dtype.kind == "c" else x


_plus = _binary(ew.add, "a + b.")
_minus = _binary(ew.sub, "a - b.")
mul = multiply = _binary(ew.mul, "a times b.")
atan2 = arctan2 = _binary(ew.atan2, "The angle of the point (b, a) in radians.")
logaddexp = _binary(ew.logaddexp, "ln(e to the a + e to the b), without overflow.")
fmod = _binary(ew.fmod, "Remainder with the sign of a.")
remainder = _binary(ew.remainder, "Remainder with the sign of b.")
floor_divide = _binary(ew.floor_divide, "The largest integer not above a / b.")
eq = _binary(ew.eq, "Whether a = b.")
ne = _binary(ew.ne, "Whether a and b differ.")
lt = less = _binary(ew.lt, "Whether a < b.")
le = less_equal = _binary(ew.le, "Whether a <= b.")
gt = greater = _binary(ew.gt, "Whether a > b.")
ge = greater_equal = _binary(ew.ge, "Whether a >= b.")
logical_and = _binary(ew.logical_and, "Whether both are non-zero.")
logical_or = _binary(ew.logical_or, "Whether one is non-zero.")
logical_xor = _binary(ew.logical_xor, "Whether exactly one is non-zero.")


_RANK_OF_KIND = {"b": 0, "u": 1, "i": 1, "f": 2, "V": 2, "c": 3}


def _check_factor(function: str, name: str, factor: Any, *operands: Any) -> None:
    """Raise DTypeError for a factor that would change the kind of the result: a floating one beside
    integers, a complex one beside real numbers, a boolean beside numbers.

    PyTorch refuses these too, or cuts the factor off.
    """
    values = [a.array if isinstance(a, Tensor) else a for a in (factor, *operands)]
    kind, dtype = backend.result_type(values[:1]).kind, backend.result_type(values[1:])
    rank, room = _RANK_OF_KIND[kind], _RANK_OF_KIND[dtype.kind]
    if rank > max(room, 1) or (kind == "b" and dtype.kind != "b"):
        what = ("a boolean", "an integer", "a floating-point number", "a complex number")[rank]
        raise DTypeError(
            f"{function}: {name} is {what} ({factor!r}), but the operands are {dtype}. "
            f"Convert them first, or write the product out: {name} * y promotes."
        )


def add(input: Any, other: Any, *, alpha: Any = 1, out: Any = None) -> Tensor:
    """input + alpha · other. Operands broadcast; dtypes are promoted.

    Raises DTypeError for an alpha of a higher kind than the operands: 0.5 beside integers.
    """
    if out is not None:
        return _into(out, add(input, other, alpha=alpha), "add", (input, other))
    if type(alpha) is int and alpha == 1:
        return _plus(input, other)
    _check_factor("add", "alpha", alpha, input, other)
    return _plus(input, mul(other, alpha))


def sub(input: Any, other: Any, *, alpha: Any = 1, out: Any = None) -> Tensor:
    """input - alpha · other. Operands broadcast; dtypes are promoted.

    Raises DTypeError for an alpha of a higher kind than the operands: 0.5 beside integers.
    """
    if out is not None:
        return _into(out, sub(input, other, alpha=alpha), "sub", (input, other))
    if type(alpha) is int and alpha == 1:
        return _minus(input, other)
    _check_factor("sub", "alpha", alpha, input, other)
    return _minus(input, mul(other, alpha))


subtract = sub


def div(a: Any, b: Any, *, rounding_mode: str | None = None) -> Tensor:
    """a / b; rounding_mode "floor" or "trunc" rounds the quotient (derivative 0)."""
    if rounding_mode == "floor":
        return floor_divide(a, b)
    if rounding_mode == "trunc":
        return _binary(ew.trunc_divide, "")(a, b)
    if rounding_mode is not None:
        raise ValueError(f'div: rounding_mode must be None, "trunc" or "floor", got {rounding_mode!r}.')
    return ew.div(a if isinstance(a, Tensor) or isinstance(b, Tensor) else as_tensor(a), b)  # type: ignore[no-any-return]


divide = true_divide = div


def pow(base: Any, exponent: Any) -> Tensor:
    """base to the exponent. A constant real exponent has its own, cheaper rule; at base 0 the derivatives are those of PyTorch."""
    if isinstance(base, Tensor) and type(exponent) in (int, float):
        if base.dtype.kind == "b" and type(exponent) is int:
            base = base.to(backend.int64)
        if base.dtype.kind != "f" and (type(exponent) is float or (exponent < 0 and base.dtype.kind != "c")):
            if base.dtype.kind in "iub" and type(exponent) is int:
                raise RuntimeError("pow: integers to negative integer powers are not allowed; convert the base with .float() first.")
            base = base.to(backend.result_type([base.array, exponent]))
        return ew.power(base, n=exponent)  # type: ignore[no-any-return]
    if not isinstance(base, Tensor) and not isinstance(exponent, Tensor):
        return pow(as_tensor(base), exponent)
    if type(base) in (int, float) and exponent.dtype.kind == "c":
        base = builtins.complex(base)  # its logarithm, which the rule needs, is complex where the base is negative
    return ew.pow_(base, exponent)  # type: ignore[no-any-return]


def square(x: Any) -> Tensor:
    """x times x (int64 for booleans). Element by element; same shape."""
    x = as_tensor(x)
    return ew.square(x.to(backend.int64) if x.dtype == backend.bool_ else x)  # type: ignore[no-any-return]


def maximum(a: Any, b: Any) -> Tensor:
    """The larger of a and b; ties share the derivative evenly; NaN wins."""
    return ew.maximum(a if isinstance(b, Tensor) else as_tensor(a), b)  # type: ignore[no-any-return]


def minimum(a: Any, b: Any) -> Tensor:
    """The smaller of a and b; ties share the derivative evenly; NaN wins."""
    return ew.minimum(a if isinstance(b, Tensor) else as_tensor(a), b)  # type: ignore[no-any-return]


def where(condition: Any, a: Any = None, b: Any = None) -> Any:
    """a where the condition holds, b elsewhere; NaN in the branch not taken does not reach the gradient. `where(condition)` alone gives the
    indices at which it holds, a tensor for each axis.
    """
    condition = as_tensor(condition)
    if a is None and b is None:
        return nonzero(condition, as_tuple=True)
    if condition.dtype == backend.uint8:
        condition = condition != 0
    if condition.dtype != backend.bool_:
        raise DTypeError(f"where: the condition must be boolean, got {condition.dtype}. Compare first, as in where(x > 0, a, b).")
    if not isinstance(a, Tensor) and not isinstance(b, Tensor):  # two numbers: one of them becomes a tensor beside the condition
        a = as_tensor(a) if isinstance(condition.array, backend.NumpyArray) else full_like(condition, a, dtype=as_tensor(a).dtype)
    return ew.where(condition, a, b)


@in_own_memory
def nonzero(x: Any, *, as_tuple: bool = False) -> Any:
    """The indices (int64) of the elements that are not 0: one row each, or a tensor for each axis if `as_tuple`. No derivative."""
    x = as_tensor(x)
    found = so.argwhere(x if x.ndim or not as_tuple else x.reshape(1))
    return tuple(found[:, axis] for axis in range(found.shape[1])) if as_tuple else found


def clamp(x: Any, min: Any = None, max: Any = None) -> Tensor:
    """x limited to [min, max]; the derivative is 1 inside and at the bounds, 0 outside and where x is NaN. Bounds are numbers or tensors;
    a bound that is NaN gives NaN."""
    x = as_tensor(x)
    if min is None and max is None:
        raise ValueError("clamp: give min, max or both.")
    if isinstance(min, Tensor) or isinstance(max, Tensor):
        bounds = [as_tensor(b).array if isinstance(b, Tensor) else b for b in (min, max) if b is not None]
        dtype = backend.result_type([x.array, *bounds])
        x = x if min is None else _limited(x, min, ge, lt)
        return (x if max is None else _limited(x, max, le, gt)).to(dtype)  # type: ignore[no-any-return]
    if x.dtype.kind in "biu":
        x = x.to(backend.result_type([x.array, *(bound for bound in (min, max) if bound is not None)]))
    return ew.clamp(x, low=min, high=max)  # type: ignore[no-any-return]


clip = clamp


def _limited(x: Tensor, bound: Any, within: Callable[..., Tensor], beyond: Callable[..., Tensor]) -> Tensor:
    """x within the bound, the bound beyond it, NaN (without a derivative) where one of them is."""
    nothing = (x.detach() + bound).detach()
    return where(within(x, bound), x, where(beyond(x, bound), bound, nothing))  # type: ignore[no-any-return]


def round(x: Any, decimals: int = 0) -> Tensor:
    """x rounded to `decimals`, halves to even; derivative 0."""
    return ew.round_(as_tensor(x), decimals=decimals)  # type: ignore[no-any-return]


def complex(real: Any, imag: Any) -> Tensor:
    """real + i·imag."""
    return ew.make_complex(as_tensor(real), as_tensor(imag))  # type: ignore[no-any-return]


def imag(x: Any) -> Tensor:
    """Imaginary part (a view). Raises DTypeError for a real tensor, whose imaginary part has no
    memory to view."""
    x = as_tensor(x)
    if x.dtype.kind != "c":
        raise DTypeError(f"imag: needs a complex tensor, got {x.dtype}. For zeros, call zeros_like(x).")
    return _imag(x)


def view_as_real(x: Any) -> Tensor:
    """A complex tensor of shape (…) as a real one of shape (…, 2) on the same memory: real and imaginary parts. Raises DTypeError for real
    tensors."""
    x = as_tensor(x)
    if not backend.is_complex(x.dtype):
        raise DTypeError(f"view_as_real: needs a complex tensor, got {x.dtype}.")
    return ew.view_as_real(x)  # type: ignore[no-any-return]


def view_as_complex(x: Any) -> Tensor:
    """A real tensor of shape (…, 2) as a complex one of shape (…) on the same memory.

    Raises DTypeError unless x is float32 or float64, ShapeError unless its last axis has two elements that lie side by side in memory.
    """
    x = as_tensor(x)
    if x.dtype not in (backend.float32, backend.float64):
        raise DTypeError(f"view_as_complex: needs float32 or float64, got {x.dtype}.")
    if x.ndim == 0 or x.shape[-1] != 2:
        raise ShapeError(f"view_as_complex: needs a last axis of size 2 (real and imaginary part), got shape {x.shape}.")
    if any_true(s % (2 * x.dtype.itemsize) for s in x.array.strides[:-1]) or x.array.strides[-1] != x.dtype.itemsize:
        raise ShapeError(
            "view_as_complex: the two parts do not lie side by side in memory, so they cannot be seen as one number. Call "
            ".contiguous() first."
        )
    return ew.view_as_complex(x)  # type: ignore[no-any-return]


# ------------------------------------------------------------------------------------------------------------- reductions


def axes_of(x: Tensor, dim: Any, function: str) -> tuple[int, ...]:
    """`dim` (None, an int, a sequence) as sorted non-negative axes. Raises IndexError for one out of range, RuntimeError for one named
    twice."""
    if dim is None or (isinstance(dim, list | tuple) and len(dim) == 0):
        return tuple(range(x.ndim))
    dims = [dim] if not isinstance(dim, list | tuple) else dim
    axes = tuple(axis_of(x.ndim, d, function) for d in dims)
    if len(set(axes)) != len(axes):
        raise RuntimeError(f"{function}: dimension named more than once in dim={tuple(dims)}.")
    return tuple(sorted(axes))


def axis_of(ndim: int, dim: Any, function: str) -> int:
    """One axis as a non-negative int."""
    if isinstance(dim, bool) or not hasattr(dim, "__index__"):
        raise TypeError(f"{function}: a dimension must be an int, got {type(dim).__name__}.")
    dim = dim.__index__()
    span = builtins.max(ndim, 1)
    if not -span <= dim < span:
        raise IndexError(f"{function}: dimension {dim} is out of range; a tensor with {ndim} dimensions takes {-span} to {span - 1}.")
    return int(dim % span)


def _reduced(x: Tensor, axes: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(a for a in axes if a < x.ndim)


def _axes_of(x: Tensor, dim: Any, function: str) -> tuple[int, ...]:
    """The axes that there are to reduce: a 0-d tensor has none, though -1 and 0 are allowed to be named."""
    ndim = x.array.ndim
    if type(dim) is int and -ndim <= dim < ndim:  # by far most often
        return (dim % ndim,)
    return tuple(range(ndim)) if dim is None else _reduced(x, axes_of(x, dim, function))


def _pick(first: Any, second: Any) -> Any:
    return second if first is None else first


_sum, _mean = _on_one(rd.sum_), _on_one(rd.mean)


def sum(
    input: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None, axis: Any = None, keepdims: bool = False, out: Any = None
) -> Tensor:
    """Sum over `dim` (all axes by default). Integers and booleans are summed as int64.

    float16 and bfloat16 accumulate in float32. The error of float32 is a few units in the last place for any number of elements along
    any axes: at most 128 · 2⁻²⁴ · Σ|x|.
    """
    if out is not None:
        return _into(out, sum(input, dim, keepdim, dtype=dtype, axis=axis, keepdims=keepdims), "sum", (input,))
    x = as_tensor(input)
    if dtype is not None:
        x = x.to(dtype)
    elif x.array.dtype.kind in "bui":
        x = x.to(backend.int64)
    total = _sum(x, {"axes": _axes_of(x, dim if axis is None else axis, "sum"), "keepdims": keepdim or keepdims})
    return total if dtype is None else total.to(dtype)  # type: ignore[no-any-return]


def mean(
    input: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None, axis: Any = None, keepdims: bool = False, out: Any = None
) -> Tensor:
    """Mean over `dim` (all axes by default). NaN over no elements; DTypeError for integers, whose mean is not an integer."""
    if out is not None:
        return _into(out, mean(input, dim, keepdim, dtype=dtype, axis=axis, keepdims=keepdims), "mean", (input,))
    x = as_tensor(input)
    if dtype is not None:
        x = x.to(dtype)
    if not backend.is_differentiable(x.dtype):
        raise DTypeError(f"mean: needs a floating or complex dtype, got {x.dtype}. Convert first: x.float().mean().")
    return _mean(x, {"axes": _axes_of(x, dim if axis is None else axis, "mean"), "keepdims": keepdim or keepdims})  # type: ignore[no-any-return]


def amax(x: Any, dim: Any = None, keepdim: bool = False, *, axis: Any = None, keepdims: bool = False) -> Tensor:
    """Largest element over `dim`; equal ones share the derivative evenly. NaN wins, and the NaN elements
    share the derivative (PyTorch gives NaN to all elements)."""
    return _extreme(rd.amax, as_tensor(x), _pick(dim, axis), keepdim or keepdims)


def amin(x: Any, dim: Any = None, keepdim: bool = False, *, axis: Any = None, keepdims: bool = False) -> Tensor:
    """Smallest element over `dim`; equal ones share the derivative evenly. NaN as in `amax`."""
    return _extreme(rd.amin, as_tensor(x), _pick(dim, axis), keepdim or keepdims)


def _extreme(operation: Primitive, x: Tensor, dim: Any, keepdim: bool) -> Tensor:
    axes = _reduced(x, axes_of(x, dim, operation.name))
    if builtins.any(x.shape[a] == 0 for a in axes):
        raise IndexError(
            f"{operation.name}: dimension {next(a for a in axes if x.shape[a] == 0)} is empty, so there is no element to choose."
        )
    return operation(x, axes=axes, keepdims=keepdim)  # type: ignore[no-any-return]


def argmax(x: Any, dim: int | None = None, keepdim: bool = False, *, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """Index (int64) of the largest element, the first of equals; of the flattened tensor without `dim`. Raises IndexError where there is
    none."""
    return _place(rd.argmax, as_tensor(x), _pick(dim, axis), keepdim or keepdims)


def argmin(x: Any, dim: int | None = None, keepdim: bool = False, *, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """Index (int64) of the smallest element, the first of equals; of the flattened tensor without `dim`. Raises IndexError where there is
    none."""
    return _place(rd.argmin, as_tensor(x), _pick(dim, axis), keepdim or keepdims)


def _place(operation: Primitive, x: Tensor, dim: int | None, keepdim: bool) -> Tensor:
    axis = None if dim is None else axis_of(x.ndim, dim, operation.name)
    if (x.shape[axis] if axis is not None and x.ndim else numel(x)) == 0:
        raise IndexError(
            f"{operation.name}: there is no element to choose in a tensor of shape {x.shape}"
            f"{'' if dim is None else f' along dimension {dim}'}."
        )
    return operation(x, axis=axis, keepdims=keepdim)  # type: ignore[no-any-return]


def all(x: Any, dim: Any = None, keepdim: bool = False, *, axis: Any = None, keepdims: bool = False) -> Tensor:
    """Whether all elements (over `dim`) are non-zero: boolean, uint8 for uint8."""
    x = as_tensor(x)
    found = rd.all_(x, axes=_reduced(x, axes_of(x, _pick(dim, axis), "all")), keepdims=keepdim or keepdims)
    return found.to(backend.uint8) if x.dtype == backend.uint8 else found  # type: ignore[no-any-return]


def any(x: Any, dim: Any = None, keepdim: bool = False, *, axis: Any = None, keepdims: bool = False) -> Tensor:
    """Whether some element (over `dim`) is non-zero: boolean, uint8 for uint8."""
    x = as_tensor(x)
    found = rd.any_(x, axes=_reduced(x, axes_of(x, _pick(dim, axis), "any")), keepdims=keepdim or keepdims)
    return found.to(backend.uint8) if x.dtype == backend.uint8 else found  # type: ignore[no-any-return]


# ------------------------------------------------------------------------------------------------------------------ shapes


def reshape(x: Any, *shape: Any) -> Tensor:
    """The same elements in another shape; one size may be -1. A view where the memory layout allows."""
    x = as_tensor(x)
    sizes = _sizes(shape)
    total, known = math.prod(x.shape), math.prod(n for n in sizes if n != -1)
    if sizes.count(-1) > 1:
        raise ShapeError(f"reshape: only one size can be -1, got {sizes}.")
    if -1 in sizes:
        if known == 0 or total % known:
            raise ShapeError(f"reshape: shape {sizes} does not fit {total} elements of shape {x.shape}.")
        sizes = tuple(total // known if n == -1 else n for n in sizes)
    elif known != total:
        raise ShapeError(f"reshape: shape {sizes} has {known} elements, the tensor of shape {x.shape} has {total}.")
    return sh.reshape(x, shape=sizes)  # type: ignore[no-any-return]


def flatten(x: Any, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    """The axes from start_dim to end_dim merged into one."""
    x = as_tensor(x)
    first, last = axis_of(x.ndim, start_dim, "flatten"), axis_of(x.ndim, end_dim, "flatten")
    if first > last:
        raise RuntimeError(f"flatten: start_dim {start_dim} comes after end_dim {end_dim}.")
    if first == last and x.ndim:
        return as_tensor(x)
    return reshape(x, *x.shape[:first], math.prod(x.shape[first : last + 1]), *x.shape[last + 1 :])


def squeeze(x: Any, dim: Any = None, *, axis: Any = None) -> Tensor:
    """Without the axes of size 1 (all of them, or those among `dim`)."""
    x, dim = as_tensor(x), _pick(dim, axis)
    axes = range(x.ndim) if dim is None else axes_of(x, dim, "squeeze") if dim != () else ()
    return reshape(x, [n for i, n in enumerate(x.shape) if not (n == 1 and i in axes)])


def unsqueeze(x: Any, dim: int | None = None, *, axis: int | None = None) -> Tensor:
    """With a new axis of size 1 at `dim`."""
    x = as_tensor(x)
    place = axis_of(x.ndim + 1, _pick(dim, axis), "unsqueeze")
    return reshape(x, *x.shape[:place], 1, *x.shape[place:])


def permute(x: Any, *dims: Any) -> Tensor:
    """The axes in another order (a view)."""
    x = as_tensor(x)
    axes = tuple(axis_of(x.ndim, d, "permute") for d in _sizes(dims))
    if sorted(axes) != list(range(x.ndim)):
        raise RuntimeError(f"permute: {_sizes(dims)} is not an order of the {x.ndim} dimensions.")
    return sh.permute(x, axes=axes)  # type: ignore[no-any-return]


def transpose(x: Any, dim0: Any = None, dim1: Any = None) -> Tensor:
    """Two axes exchanged (a view). Without dimensions all axes are reversed, as in NumPy."""
    x = as_tensor(x)
    if dim0 is None:
        return sh.permute(x, axes=tuple(reversed(range(x.ndim))))  # type: ignore[no-any-return]
    if dim1 is None:
        return permute(x, dim0)
    axes = list(range(x.ndim))
    a, b = axis_of(x.ndim, dim0, "transpose"), axis_of(x.ndim, dim1, "transpose")
    if axes:
        axes[a], axes[b] = axes[b], axes[a]
    return sh.permute(x, axes=tuple(axes))  # type: ignore[no-any-return]


swapdims = transpose


def swapaxes(x: Any, axis0: int, axis1: int) -> Tensor:
    """Two axes exchanged (a view), under NumPy's name."""
    return transpose(x, axis0, axis1)


def t(x: Any) -> Tensor:
    """The transpose of a matrix; tensors of 0 or 1 dimension stay as they are."""
    x = as_tensor(x)
    if x.ndim > 2:
        raise RuntimeError(f"t: expects at most 2 dimensions, got {x.ndim}. Use transpose(dim0, dim1) or permute.")
    return transpose(x)


def movedim(x: Any, source: Any, destination: Any) -> Tensor:
    """One axis (or a sequence of them) moved to another place (or places); the others keep their order."""
    x = as_tensor(x)
    come, go = ([axis_of(x.ndim, d, "movedim") for d in (v if isinstance(v, list | tuple) else (v,))] for v in (source, destination))
    if len(come) != len(go) or len(set(come)) != len(come) or len(set(go)) != len(go):
        raise RuntimeError(f"movedim: source {source} and destination {destination} must name equally many axes, each once.")
    rest = iter(a for a in range(x.ndim) if a not in come)
    there = dict(zip(go, come, strict=True))
    return permute(x, [there[i] if i in there else next(rest) for i in range(x.ndim)]) if x.ndim else permute(x, [])


def broadcast_to(x: Any, *shape: Any) -> Tensor:
    """x seen in a larger shape without copying (a view); -1 keeps a size.

    Where a dimension grows, several elements of the result share one memory location, and it cannot be changed in place.
    Raises ShapeError where sizes other than 1 differ.
    """
    x = as_tensor(x)
    sizes = _sizes(shape)
    lead = len(sizes) - x.ndim
    if lead < 0:
        raise ShapeError(f"expand: the tensor has {x.ndim} dimensions, which do not fit into the {len(sizes)} of shape {sizes}.")
    full_shape = []
    for i, n in enumerate(sizes):
        own = x.shape[i - lead] if i >= lead else None
        if n == -1:
            if own is None:
                raise ShapeError(f"expand: -1 in {sizes} at a new leading dimension {i}, which has no size to keep.")
            n = own
        elif own not in (None, 1, n):
            raise ShapeError(
                f"expand: size {own} of dimension {i - lead} cannot become {n} (shapes {x.shape} and {sizes}); only size 1 can be expanded."
            )
        full_shape.append(n)
    return sh.broadcast_to(x, shape=tuple(full_shape))  # type: ignore[no-any-return]


def sum_to(x: Any, *shape: Any) -> Tensor:
    """x summed down to a shape that broadcasts to its own: the transpose of `broadcast_to`. Integers and booleans are summed as int64."""
    x, sizes = as_tensor(x), _sizes(shape)
    if x.shape == sizes:
        return x if sizes else clone(x)  # PyTorch copies a 0-d tensor
    return sh.sum_to(x.to(backend.int64) if x.dtype.kind in "bui" else x, shape=sizes)  # type: ignore[no-any-return]


def flip(x: Any, *axes: Any, dims: Any = None) -> Tensor:
    """The elements in reverse order along the axes: `flip(x, 0, 1)`, `flip(x, (0, 1))` or `flip(x, dims=(0, 1))`."""
    x = as_tensor(x)
    if dims is None and not axes:
        raise TypeError("flip: name the dimensions to turn around, as in flip(x, 0) or flip(x, (0, 1)).")
    named = _sizes(axes if dims is None else (dims,))
    turned = axes_of(x, named, "flip") if named else ()
    return sh.flip(x, axes=turned if x.ndim else ())  # type: ignore[no-any-return]


def cat(tensors: Sequence[Any], dim: int = 0, *, axis: int | None = None) -> Tensor:
    """Tensors joined along an existing axis; their other sizes must agree. A tensor of shape (0,) adds nothing and fits everywhere."""
    parts = _listed(tensors, dim, "cat")
    dtype = backend.result_type([p.array for p in parts])  # tensors of shape (0,) decide too
    parts = [p for p in parts if p.shape != (0,)] or parts[:1]
    parts[0] = parts[0].to(dtype)
    place = axis_of(parts[0].ndim, dim if axis is None else axis, "cat")
    for i, part in enumerate(parts):
        if part.ndim == 0:
            raise ShapeError(f"cat: tensor {i} has no dimension to join along; use stack for 0-d tensors.")
        if part.ndim != parts[0].ndim or any_differs(part.shape, parts[0].shape, place):
            raise ShapeError(
                f"cat: tensor {i} has shape {part.shape}, tensor 0 {parts[0].shape}; all sizes but that of dimension {place} must agree."
            )
    return sh.cat(*parts, axis=place, sizes=tuple(p.shape[place] for p in parts))  # type: ignore[no-any-return]


def _listed(tensors: Sequence[Any], dim: Any, function: str) -> list[Tensor]:
    if isinstance(dim, Tensor):
        raise TypeError(f"{function}: the tensors come in one list, as in {function}([a, b], dim=0); got them one by one.")
    parts = [as_tensor(x) for x in tensors]
    if not parts:
        raise ValueError(f"{function}: expected a non-empty list of tensors.")
    return parts


def any_differs(a: Shape, b: Shape, besides: int) -> bool:
    """Whether two shapes differ in another dimension than `besides`."""
    return any_true(m != n for i, (m, n) in enumerate(zip(a, b, strict=True)) if i != besides)


any_true = builtins.any
concat = concatenate = cat


def stack(tensors: Sequence[Any], dim: int = 0) -> Tensor:
    """Tensors of one shape joined along a new axis."""
    parts = _listed(tensors, dim, "stack")
    for i, part in enumerate(parts):
        if part.shape != parts[0].shape:
            raise ShapeError(f"stack: tensor {i} has shape {part.shape}, tensor 0 {parts[0].shape}; all shapes must agree.")
    return cat([unsqueeze(p, dim) for p in parts], axis_of(parts[0].ndim + 1, dim, "stack"))


# ------------------------------------------------------------------------------------------------- products and indexing


def matmul(input: Any, other: Any, *, out: Any = None) -> Tensor:
    """The matrix product input @ other; one-dimensional operands count as row and column, leading axes broadcast. Dtypes are
    promoted (PyTorch refuses different ones). Raises ShapeError, which names the sizes, where they
    do not fit."""
    if out is not None:
        return _into(out, matmul(input, other), "matmul", (input, other))
    a, b = as_tensor(input), as_tensor(other)
    if a.ndim == 0 or b.ndim == 0:
        raise ShapeError(f"matmul: both operands need at least one dimension, got shapes {a.shape} and {b.shape}. Use * for numbers.")
    inner = b.shape[-2] if b.ndim > 1 else b.shape[0]
    if a.shape[-1] != inner:
        raise ShapeError(f"matmul: shapes {a.shape} and {b.shape} do not fit: the inner sizes {a.shape[-1]} and {inner} differ.")
    for m, n in zip(a.shape[-3::-1], b.shape[-3::-1], strict=False):
        if m != n and 1 not in (m, n):
            raise ShapeError(f"matmul: shapes {a.shape} and {b.shape} do not fit: the batch sizes {m} and {n} differ, and neither is 1.")
    return la.matmul(a, b)  # type: ignore[no-any-return]


def getitem(x: Tensor, index: Any) -> Tensor:
    """x[index]: a view for integers, slices, None and Ellipsis, a copy where the index holds arrays."""
    index = _plain_index(index, x.array)
    try:
        if ix.is_basic(index):
            return ix.window(x, index=index)  # type: ignore[no-any-return]
        numbers, rest = ix.numbers_first(index)
        source = x if numbers is None else ix.window(x, index=numbers)
        return _batched_getitem(source, rest) if _is_batched_index(rest) else ix.gather(source, index=rest)
    except IndexError as error:
        raise IndexError(f"index {index!r} does not fit a tensor of shape {x.shape}: {error}.") from None


def _plain_index(index: Any, like: Any, whole: bool = True) -> Any:
    """The index with tensors and sequences replaced by arrays, on the device of the payload `like`; bytes are a mask, as in PyTorch.
    A copy: nobody shall change it before the backward pass. whole: this is all of the index, not the part for one axis."""
    if whole and isinstance(index, list) and _stands_for_tuple(index):
        index = tuple(index)
    if isinstance(index, tuple):
        parts = tuple(_plain_index(list(part) if isinstance(part, tuple | range) else part, like, False) for part in index)
        return _with_fitting_masks(parts, like)
    if isinstance(index, Tensor | list | range):
        kind = "tensors" if isinstance(index, Tensor) else "lists"
        array = backend.materialise(index.array) if isinstance(index, Tensor) else backend.index_array(list(index))
        if array.dtype.kind not in "iub":
            raise IndexError(f"{kind} used as indices must hold integers or booleans, got {array.dtype}.")
        index = array
    if hasattr(type(index), "__minigrad_apply__"):  # a batched or recorded index
        return index.copy()
    if hasattr(index, "dtype") and hasattr(index, "ndim"):
        if index.dtype == backend.uint8 and not isinstance(index, backend.numpy.generic):
            index = index != 0
        index = int(index) if index.ndim == 0 and index.dtype.kind in "iu" else backend.to_device_of(index.copy(), like)
        return _with_fitting_masks((index,), like)[0] if whole else index
    if index is None or index is Ellipsis or isinstance(index, slice | int):
        return _plain_slice(index)
    if hasattr(index, "__index__"):
        return index.__index__()
    raise IndexError(f"an index is made of integers, slices, None, Ellipsis and arrays, got {type(index).__name__}.")


def _with_fitting_masks(parts: tuple[Any, ...], like: Any) -> tuple[Any, ...]:
    """The parts of an index. Raises IndexError for an empty mask on an axis that is not empty, which NumPy lets pass."""
    is_mask = [getattr(getattr(part, "dtype", None), "kind", "") == "b" for part in parts]
    if not any_true(mask and part.ndim and not part.size for part, mask in zip(parts, is_mask, strict=True)):
        return parts
    read = [
        part.ndim if mask else 0 if part is None or part is Ellipsis or isinstance(part, bool) else 1
        for part, mask in zip(parts, is_mask, strict=True)
    ]
    axis = 0
    for part, mask, count in zip(parts, is_mask, read, strict=True):
        if mask and part.shape != tuple(like.shape[axis : axis + count]):
            raise IndexError(f"a mask of shape {part.shape} does not fit axis {axis} of a tensor of shape {tuple(like.shape)}.")
        axis += like.ndim - builtins.sum(read) if part is Ellipsis else count
    return parts


def _stands_for_tuple(index: list[Any]) -> bool:
    """Whether a list is an index for each axis and not the indices of one: where it holds anything but numbers (PyTorch's rule)."""
    parts = (Tensor, list, tuple, range, slice, backend.NumpyArray)
    return len(index) < 32 and any_true(p is None or p is Ellipsis or isinstance(p, parts) for p in index)


def _plain_slice(index: Any) -> Any:
    if not isinstance(index, slice):
        return index
    number: Callable[[Any], Any] = lambda v: v if v is None else v.__index__() if not isinstance(v, Tensor) else int(v.array)
    return slice(number(index.start), number(index.stop), number(index.step))


def softmax(x: Any, dim: int = -1, *, dtype: Any = None, axis: int | None = None) -> Tensor:
    """e^x / Σ e^x along `dim`; same shape; no overflow."""
    x = as_tensor(x) if dtype is None else as_tensor(x).to(dtype)
    return nw.softmax(x, axis=axis_of(x.ndim, dim if axis is None else axis, "softmax"))  # type: ignore[no-any-return]


def log_softmax(x: Any, dim: int = -1, *, dtype: Any = None, axis: int | None = None) -> Tensor:
    """ln softmax(x) along `dim`, accurate where softmax rounds to 0."""
    x = as_tensor(x) if dtype is None else as_tensor(x).to(dtype)
    return nw.log_softmax(x, axis=axis_of(x.ndim, dim if axis is None else axis, "log_softmax"))  # type: ignore[no-any-return]


def logsumexp(x: Any, dim: Any = None, keepdim: bool = False, *, axis: Any = None, keepdims: bool = False) -> Tensor:
    """ln Σ e^x over `dim` (all axes by default), without overflow; −∞ over no elements."""
    x, keepdim = as_tensor(x), keepdim or keepdims
    axes = _reduced(x, axes_of(x, _pick(dim, axis), "logsumexp"))
    if backend.is_complex(x.dtype):
        return _complex_logsumexp(x, axes, keepdim)
    return ops.scans.logsumexp(x, axes=axes, keepdims=keepdim)  # type: ignore[no-any-return]


def _complex_logsumexp(x: Tensor, axes: tuple[int, ...], keepdim: bool) -> Tensor:
    """`logsumexp` of complex numbers, its imaginary part between -π and π: the largest real part is taken out before the sum, and put back
    after it.
    """
    shift: Any = 0.0
    if math.prod(x.shape[axis] for axis in axes):
        largest = amax(real(x).detach(), axes, True)
        shift = where(isfinite(largest), largest, 0.0)
    y = log(sum(exp(x - shift), axes, True)) + shift
    return y if keepdim or not axes else squeeze(y, axes)


def numel(x: Any) -> int:
    """How many elements x has."""
    return math.prod(as_tensor(x).shape)


def is_tensor(x: Any) -> bool:
    """Whether x is a minigrad Tensor."""
    return isinstance(x, Tensor)


def allclose(a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> bool:
    """Whether |a - b| <= atol + rtol |b| everywhere."""
    return backend.allclose(as_tensor(a).array, as_tensor(b).array, rtol, atol, equal_nan)


def equal(a: Tensor, b: Tensor) -> bool:
    """Whether a and b have the same shape and elements."""
    return a.shape == b.shape and bool(all(eq(a, b)))


def result_type(a: Any, b: Any) -> DType:
    """The dtype of a + b."""
    return backend.result_type([x.array if isinstance(x, Tensor) else x for x in (a, b)])


__all__ = [name for name in dir() if not name.startswith("_")]
for _name in (
    "annotations",
    "builtins",
    "math",
    "Callable",
    "Sequence",
    "Any",
    "backend",
    "observe",
    "ops",
    "DType",
    "Shape",
    "DTypeError",
    "ShapeError",
    "ew",
    "ix",
    "la",
    "nw",
    "rd",
    "sh",
    "so",
    "Primitive",
    "Tensor",
    "as_tensor",
    "make_leaf",
    "memory_version",
    "wrap",
    "axes_of",
    "axis_of",
    "ch",
    "any_differs",
    "any_true",
    "operator",
    "as_tensor_",
    "spaced_dtype",
    "into",
    "in_own_memory",
    "in_own_memory_or_view",
    "Copying",
    "functools",
    "TypeVar",
):
    __all__.remove(_name)
