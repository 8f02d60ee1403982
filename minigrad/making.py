"""Names that PyTorch programs expect beside the functions: more ways to make tensors, questions about them, and their methods.

Nothing here has a derivative of its own: what is computed is computed by `functions`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from . import backend, functions
from .engine.inplace import check_target
from .engine.modes import state
from .errors import DTypeError, InPlaceError
from .methods import _in_place, _outside, attach
from .ops import elementwise as ew
from .tensor import Tensor, alias, as_tensor

Size = tuple  # type: ignore[type-arg]
"""What a shape is. `Size([2, 3])` equals `x.shape`."""
newaxis = None
"""In an index: a new axis of size 1."""

# ------------------------------------------------------------------------------------------------------------ making tensors


def empty(*size: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """A tensor of the given sizes whose values do not matter. Here they are zeros: programs that read them by mistake stay repeatable."""
    return functions.zeros(*size, dtype=dtype, device=device, requires_grad=requires_grad)


def empty_like(x: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """`empty` in the shape and (unless given) dtype of x."""
    return functions.zeros_like(x, dtype=dtype, device=device, requires_grad=requires_grad)


def logspace(
    start: Any, end: Any, steps: int, base: float = 10.0, *, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """base to the power of each of `steps` evenly spaced numbers from start to end. dtype: as of `linspace`."""
    wanted = backend.as_dtype(dtype) or functions.spaced_dtype(start, end)
    wide = backend.complex128 if backend.is_complex(wanted) else backend.float64
    exponents = functions.linspace(start, end, steps, dtype=wanted if wanted.kind in "iu" else wide)
    out = functions.pow(float(base), exponents.to(wide)).to(wanted, device=device)
    return out.requires_grad_() if requires_grad else out  # type: ignore[no-any-return]


def randint_like(x: Any, low: int | None = None, high: int | None = None, *, dtype: Any = None, device: Any = None) -> Tensor:
    """Random integers in [low, high), or [0, low), in the shape and (unless given) dtype of x."""
    x = as_tensor(x)
    return functions.randint(low, high, x.shape, dtype=dtype or x.dtype, device=device or backend.device_of(x.array))


def randperm(n: int, *, dtype: Any = None, device: Any = None) -> Tensor:
    """0 … n-1 in random order (int64)."""
    order = functions.rand(n, dtype=backend.float64).argsort()
    return order.to(dtype or backend.int64, device=device or "cpu")  # type: ignore[no-any-return]


def normal(mean: Any, std: Any = 1.0, size: Any = None, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """Normal random numbers with the given means and standard deviations: tensors that broadcast, or numbers and a size. No history."""
    mean, std = (v.detach() if isinstance(v, Tensor) else v for v in (mean, std))
    if size is None:
        size = functions.add(mean, std).shape
    out = (functions.randn(size, dtype=dtype) * std + mean).to(device=device or "cpu")
    return out.requires_grad_() if requires_grad else out  # type: ignore[no-any-return]


def bernoulli(p: Any) -> Tensor:
    """1 with probability p, else 0, for each element of the floating tensor p. No derivative. ValueError unless 0 <= p <= 1."""
    p = alias(as_tensor(p))
    if not backend.is_floating(p.dtype):
        raise DTypeError(f"bernoulli: needs probabilities of a floating dtype, got {p.dtype}.")
    if not bool(((p >= 0) & (p <= 1)).all()):
        raise ValueError("bernoulli: probabilities must lie between 0 and 1.")
    return (functions.rand_like(p, dtype=backend.float64) < p).to(p.dtype)  # type: ignore[no-any-return]


# ---------------------------------------------------------------------------------------------------------------- questions


def is_floating_point(x: Any) -> bool:
    """Whether x, a tensor or a dtype, is of a real floating dtype (half, bfloat16, float or double).

    Dtypes are NumPy's, which lack PyTorch's attributes: write `is_floating_point(dtype)` for `dtype.is_floating_point`.
    """
    return backend.is_floating(_dtype_of(x))


def is_complex(x: Any) -> bool:
    """Whether x, a tensor or a dtype, is of a complex dtype."""
    return backend.is_complex(_dtype_of(x))


def _dtype_of(x: Any) -> backend.DType:
    """The dtype of a tensor, or the dtype itself, which may be given as its scalar type."""
    if isinstance(x, Tensor):
        return x.dtype
    found = backend.as_dtype(x) if isinstance(x, backend.numpy.dtype | type) else None
    if found is None:
        raise TypeError(f"a Tensor or a dtype is needed, got {type(x).__name__}.")
    return found


def is_nonzero(x: Tensor) -> bool:
    """Whether the one element of x is not 0. Raises RuntimeError for several elements."""
    return bool(x)


def can_cast(source: Any, target: Any) -> bool:
    """Whether a result of the first dtype may be written in place into a tensor of the second."""
    from .engine.inplace import _fits

    first, second = backend.as_dtype(source), backend.as_dtype(target)
    return _fits(first, second)


def is_inference(x: Tensor) -> bool:
    """Always False: what `inference_mode` makes are ordinary tensors, of which changes in place are counted and which may be used for
    gradients later. So there is nothing that a script would have to avoid.
    """
    return False


def is_inference_mode_enabled() -> bool:
    """Whether this thread is inside `inference_mode`."""
    return state.inference


def detach(x: Tensor) -> Tensor:
    """A constant tensor on the same memory."""
    return alias(x)


# ------------------------------------------------------------------------------------------------------------ bits and orders


def _of_integers(operation: Any, name: str, text: str) -> Callable[..., Tensor]:
    def function(input: Any, other: Any) -> Tensor:
        return operation(as_tensor(input), other)  # type: ignore[no-any-return]

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{text} Of integers and booleans; no derivative."
    return function


bitwise_and = _of_integers(ew.bitwise_and, "bitwise_and", "The bits that both have.")
bitwise_or = _of_integers(ew.bitwise_or, "bitwise_or", "The bits that one of them has.")
bitwise_xor = _of_integers(ew.bitwise_xor, "bitwise_xor", "The bits that exactly one of them has.")


def bitwise_not(input: Any) -> Tensor:
    """The bits that it has not. Of integers and booleans; no derivative."""
    return ew.bitwise_not(as_tensor(input))  # type: ignore[no-any-return]


def clamp_min(x: Any, min: Any) -> Tensor:
    """x, but at least min."""
    return functions.clamp(x, min=min)


def clamp_max(x: Any, max: Any) -> Tensor:
    """x, but at most max."""
    return functions.clamp(x, max=max)


def polar(abs: Any, angle: Any) -> Tensor:
    """The complex numbers of the given lengths and angles (radians)."""
    return functions.complex(functions.mul(abs, functions.cos(angle)), functions.mul(abs, functions.sin(angle)))


def positive(x: Tensor) -> Tensor:
    """x itself."""
    return x


dtype = backend.numpy.dtype
"""The type of dtypes."""
get_rng_state, set_rng_state = functions.random_state, functions.set_random_state
fix, moveaxis = functions.trunc, functions.movedim


def ravel(x: Any) -> Tensor:
    """The elements in one dimension. A view where the memory layout allows."""
    return functions.reshape(x, -1)


greater_equal, not_equal = functions.ge, functions.ne

resolve_conj = resolve_neg = positive
"""x itself: conjugates and signs are computed at once here, so there is nothing left to resolve."""
conj_physical = functions.conj


def rsub(x: Any, other: Any, *, alpha: Any = 1) -> Tensor:
    """other - alpha · x."""
    return functions.sub(other, as_tensor(x), alpha=alpha)


def scalar_tensor(value: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """A 0-d tensor of one number, in the default dtype unless another is given."""
    return functions.full((), value, dtype=dtype or backend.default_dtype(), device=device, requires_grad=requires_grad)


__all__ = """
    Size bernoulli bitwise_and bitwise_not bitwise_or bitwise_xor can_cast clamp_max clamp_min conj_physical detach dtype empty empty_like
    fix get_rng_state greater_equal is_complex is_floating_point is_inference
    is_inference_mode_enabled is_nonzero logspace moveaxis newaxis normal not_equal polar positive
    randint_like randperm ravel resolve_conj resolve_neg rsub scalar_tensor set_rng_state
""".split()

# ---------------------------------------------------------------------------------------------------------------- as methods

for (
    _name
) in "bernoulli bitwise_and bitwise_not bitwise_or bitwise_xor clamp_max clamp_min fix is_nonzero moveaxis not_equal positive".split():
    attach(Tensor, _name, (lambda f: lambda self, *args, **kwargs: f(self, *args, **kwargs))(globals()[_name]))
    getattr(Tensor, _name).__doc__, getattr(Tensor, _name).__name__ = globals()[_name].__doc__, _name
for _name in """
    eq ne lt le gt ge not_equal less less_equal greater greater_equal logical_and logical_or logical_xor logical_not bitwise_and bitwise_or
    bitwise_xor bitwise_not clamp_min clamp_max arcsin arccos arctan arcsinh arccosh arctanh arctan2 absolute negative subtract
    multiply divide true_divide sgn fix
""".split():
    attach(Tensor, _name + "_", _in_place(globals().get(_name) or getattr(functions, _name), _name + "_", _name + "_"))

attach(Tensor, "arcsinh", lambda self: functions.arcsinh(self))
attach(Tensor, "arccosh", lambda self: functions.arccosh(self))
attach(Tensor, "arctanh", lambda self: functions.arctanh(self))
for _name in ("resolve_conj", "resolve_neg", "conj_physical"):
    attach(Tensor, _name, (lambda f: lambda self: f(self))(globals()[_name]))
attach(Tensor, "conj_physical_", _in_place(conj_physical, "conj_physical_", "conj_physical_"))
attach(
    Tensor, "mH", property(lambda self: functions.conj(self.mT), doc="The conjugate transpose of matrices: a copy if complex, else a view.")
)
attach(Tensor, "nbytes", property(lambda self: self.numel() * self.dtype.itemsize, doc="Bytes of all elements."))
attach(Tensor, "where", lambda self, condition, other: functions.where(condition, self, other))
attach(Tensor, "split_with_sizes", lambda self, sizes, dim=0: self.split(list(sizes), dim))
attach(Tensor, "element_size", lambda self: self.dtype.itemsize)
attach(Tensor, "ndimension", lambda self: self.ndim)
attach(Tensor, "is_inference", lambda self: is_inference(self))
attach(Tensor, "view_as", lambda self, other: self.view(other.shape))
attach(Tensor, "sum_to_size", lambda self, *size: functions.sum_to(self, *size))
attach(Tensor, "is_signed", lambda self: self.dtype.kind in "ifcV")
attach(Tensor, "is_same_size", lambda self, other: self.shape == other.shape)
attach(Tensor, "is_cpu", property(lambda self: self.device == "cpu", doc="Whether the tensor is in host memory."))
attach(Tensor, "get_device", lambda self: -1 if self.device == "cpu" else self.device.index)
attach(Tensor, "output_nr", property(lambda self: getattr(self.node, "index", 0), doc="Which result of its operation this tensor is."))
attach(Tensor, "bfloat16", lambda self: self.to(backend.bfloat16_dtype()))
for _name, _dtype in {"short": backend.int16, "char": backend.int8, "byte": backend.uint8}.items():
    attach(Tensor, _name, (lambda d: lambda self: self.to(d))(_dtype))


def _type(self: Tensor, dtype: Any = None) -> Any:
    """The dtype's name, or this tensor converted to `dtype`."""
    return str(self.dtype) if dtype is None else self.to(backend.as_dtype(dtype))


attach(Tensor, "type", _type)


def _like(make: Callable[..., Tensor], name: str, text: str) -> None:
    def method(self: Tensor, *args: Any, **options: Any) -> Tensor:
        options.setdefault("dtype", self.dtype)
        options.setdefault("device", backend.device_of(self.array))
        return make(*args, **options)

    method.__name__, method.__doc__ = name, f"{text} The dtype and device are this tensor's unless given; no history."
    attach(Tensor, name, method)


_like(functions.tensor, "new_tensor", "A new leaf holding a copy of `data`.")
_like(functions.zeros, "new_zeros", "Zeros of the given sizes.")
_like(functions.ones, "new_ones", "Ones of the given sizes.")
_like(functions.full, "new_full", "One value in the given size.")
_like(empty, "new_empty", "`empty` of the given sizes.")


def _bernoulli_(self: Tensor, p: Any = 0.5) -> Tensor:
    """Overwrite with 1 (with probability p) and 0, outside the graph."""
    check_target(self, "bernoulli_")
    return _outside(self, bernoulli(functions.full(self.shape, p, dtype=backend.float64) if not isinstance(p, Tensor) else p))


def _random_(self: Tensor, low: int = 0, high: int | None = None) -> Tensor:
    """Overwrite with random integers in [low, high) ([0, low) if one bound is given), outside the graph."""
    check_target(self, "random_")
    if high is None:
        low, high = (0, low) if low else (0, 2**24 if backend.is_floating(self.dtype) else int(backend.iinfo(self.dtype).max))
    return _outside(self, functions.randint(low, high, self.shape))


def _exponential_(self: Tensor, lambd: float = 1.0) -> Tensor:
    """Overwrite with exponentially distributed random numbers of rate `lambd`, outside the graph."""
    check_target(self, "exponential_")
    return _outside(self, -functions.log1p(-functions.rand(self.shape, dtype=backend.float64)) / lambd)


def _uniform(self: Tensor, name: str) -> Tensor:
    """Numbers between 0 and 1, both excluded, in float64 and this tensor's shape."""
    check_target(self, name)
    return functions.rand(self.shape, dtype=backend.float64) * (1 - 2.0**-53) + 2.0**-54


def _cauchy_(self: Tensor, median: float = 0.0, sigma: float = 1.0) -> Tensor:
    """Overwrite with random numbers of Cauchy's distribution around `median`, `sigma` wide, outside the graph."""
    return _outside(self, functions.tan(math.pi * (_uniform(self, "cauchy_") - 0.5)) * sigma + median)


def _geometric_(self: Tensor, p: float) -> Tensor:
    """Overwrite with how many trials (1, 2, …) it takes until one succeeds, each with probability p; outside the graph. ValueError unless
    0 < p < 1.
    """
    if not 0 < p < 1:
        raise ValueError(f"geometric_: p must be between 0 and 1, got {p!r}.")
    return _outside(self, functions.ceil(functions.log(_uniform(self, "geometric_")) / math.log1p(-p)))


def _log_normal_(self: Tensor, mean: float = 1.0, std: float = 2.0) -> Tensor:
    """Overwrite with e to the power of normal random numbers with that mean and standard deviation, outside the graph."""
    check_target(self, "log_normal_")
    return _outside(self, functions.exp(functions.randn(self.shape, dtype=backend.float64) * std + mean))


attach(Tensor, "bernoulli_", _bernoulli_)
attach(Tensor, "random_", _random_)
attach(Tensor, "exponential_", _exponential_)
attach(Tensor, "cauchy_", _cauchy_)
attach(Tensor, "geometric_", _geometric_)
attach(Tensor, "log_normal_", _log_normal_)


def _no_change_of_shape(name: str) -> Callable[..., Tensor]:
    def method(self: Tensor, *_: Any) -> Tensor:
        raise InPlaceError(
            f"{name}: a tensor keeps its shape and memory for life. Make another: y = x.reshape(…), x.transpose(…), x.squeeze(…)."
        )

    method.__name__, method.__doc__ = name, "Not offered: raises InPlaceError with advice."
    return method


for _name in "resize_ resize_as_ set_ squeeze_ swapaxes_ swapdims_ t_ transpose_ unsqueeze_".split():
    attach(Tensor, _name, _no_change_of_shape(_name))


# ------------------------------------------------------------------------------------------- in-place methods as functions


def _as_function(name: str) -> Callable[..., Tensor]:
    method = getattr(Tensor, name)

    def function(input: Tensor, *args: Any, **options: Any) -> Tensor:
        if not isinstance(input, Tensor):
            raise TypeError(f"{name}: writes into a tensor, got {type(input).__name__}.")
        return method(input, *args, **options)  # type: ignore[no-any-return]

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"`Tensor.{name}` as a function: writes the result into `input` and returns it."
    return function


_IN_PLACE = """
    abs_ acos_ acosh_ arccos_ arccosh_ arcsin_ arcsinh_ arctan_ arctanh_ asin_ asinh_ atan_ atanh_ ceil_ clamp_ clamp_max_ clamp_min_
    clip_ conj_physical_ cos_ cosh_ detach_ erf_ exp2_ exp_ expm1_ fill_ fix_ floor_ index_put_ log10_ log1p_ log2_ log_ neg_ negative_
    reciprocal_ relu_ round_ rsqrt_ sigmoid_ sin_ sinh_ sqrt_ square_ tan_ tanh_ trunc_ zero_
""".split()
for _name in _IN_PLACE:
    globals()[_name] = _as_function(_name)
__all__ += _IN_PLACE
