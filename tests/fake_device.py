"""A device without hardware: an array type that is as strict as CuPy's where CuPy is stricter than NumPy.

A program that runs on this device keeps its arrays where they are: nothing is converted to NumPy behind the scenes, no host array is mixed
in, no list is taken for an array, a sum is a 0-d array and not a number, and no function is used that CuPy does not have. In three places
the fake is stricter than CuPy itself, because CuPy would copy from or to the host without a word: NumPy scalars as operands, host arrays as
indices, and `if array:` (counted in `synchronised`).

`minigrad.backend.register_array_type` takes it in, as it does CuPy; its device is called "fake:0".
"""

from __future__ import annotations

import math
import operator
from types import SimpleNamespace
from typing import Any

import numpy as np

from minigrad.ops.error_function import error_function

_NAMES = """
abs absolute add all allclose amax amin angle any arange arccos arccosh arcsin arcsinh arctan arctan2 arctanh argmax argmin argpartition
argsort argwhere array asarray ascontiguousarray bincount bitwise_and bitwise_or bitwise_xor broadcast broadcast_to cbrt ceil clip
concatenate conj copysign copyto cos cosh count_nonzero cross cumprod cumsum diag diagonal divide dot einsum empty empty_like equal exp
exp2 expand_dims expm1 eye flip floor floor_divide fmod frexp full full_like gcd greater greater_equal heaviside hypot indices invert
isclose isfinite isinf isnan kron lcm left_shift less less_equal lib linalg linspace log log10 log1p log2 logaddexp logical_and logical_not
logical_or logical_xor matmul max maximum mean min minimum moveaxis multiply nan_to_num negative nextafter nonzero not_equal ones
ones_like outer pad partition positive power prod put_along_axis ravel remainder repeat reshape right_shift rint roll searchsorted sign
signbit sin sinc sinh sort split sqrt square squeeze stack std subtract sum swapaxes take take_along_axis tan tanh tensordot tile trace
transpose tril triu true_divide trunc unique var where zeros zeros_like
"""
NAMES = frozenset(_NAMES.split())
"""Functions of CuPy that minigrad uses or may: each was found in CuPy 14.2 (its package can be imported without a GPU)."""

_LINALG = "cholesky det eig eigh eigvalsh inv lstsq matrix_rank norm pinv qr slogdet solve svd"
LINALG = frozenset(_LINALG.split())
"""Of its linear algebra, likewise."""

_METHODS = "all any argmax argmin astype clip conj copy dot get max min ravel reshape round sum tolist transpose view"
METHODS = frozenset(_METHODS.split())
"""The array methods, likewise."""

PYTHON_NUMBERS = (bool, int, float, complex)
synchronised: list[str] = []
"""Every time that a value had to travel to the host, what asked for it."""
uploaded: list[tuple[int, ...]] = []
"""The shape of everything that travelled from the host to the device."""


class Device(SimpleNamespace):
    """What CuPy's arrays have as `.device`."""

    id: int


class FakeArray:
    """An array in the memory of the fake device."""

    __slots__ = ("_memory", "base")
    __array_ufunc__ = None
    __array_priority__ = 100

    def __init__(self, memory: np.ndarray, base: FakeArray | None = None) -> None:
        assert type(memory) is np.ndarray
        self._memory, self.base = memory, base

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise TypeError("Implicit conversion to a NumPy array is not allowed. Please use `.get()` to construct a NumPy array explicitly.")

    def get(self) -> np.ndarray:
        """A copy in the host's memory: the one way out."""
        return self._memory.copy()

    shape = property(lambda self: self._memory.shape)
    dtype = property(lambda self: self._memory.dtype)
    ndim = property(lambda self: self._memory.ndim)
    size = property(lambda self: self._memory.size)
    nbytes = property(lambda self: self._memory.nbytes)
    itemsize = property(lambda self: self._memory.itemsize)
    strides = property(lambda self: self._memory.strides)
    flags = property(
        lambda self: SimpleNamespace(c_contiguous=self._memory.flags.c_contiguous, f_contiguous=self._memory.flags.f_contiguous)
    )
    device = property(lambda self: Device(id=0))
    data = property(lambda self: SimpleNamespace(ptr=self._memory.ctypes.data))
    T = property(lambda self: self.transpose())
    real = property(lambda self: _made(self._memory.real, self), lambda self, value: setattr(self._memory, "real", _operand(value)))
    imag = property(lambda self: _made(self._memory.imag, self), lambda self, value: setattr(self._memory, "imag", _operand(value)))

    def __getattr__(self, name: str) -> Any:
        if name not in METHODS:
            raise AttributeError(f"the fake device's arrays have no {name!r} (add it to METHODS if CuPy's have)")
        method = getattr(self._memory, name)
        return lambda *args, **kwargs: _made(method(*map(_parameter, args), **{k: _parameter(v) for k, v in kwargs.items()}), self)

    def diagonal(self, *args: int) -> FakeArray:
        """CuPy's may be written to, NumPy's only read."""
        memory = self._memory.diagonal(*args)
        memory.flags.writeable = self._memory.flags.writeable
        return _made(memory, self)

    def __getitem__(self, index: Any) -> FakeArray:
        return _made(self._memory[_index(index)], self)

    def __setitem__(self, index: Any, value: Any) -> None:
        self._memory[_index(index)] = _operand(value)

    def __len__(self) -> int:
        return len(self._memory)

    def __iter__(self) -> Any:
        raise TypeError("iterating over a device array copies it element by element")

    def __bool__(self) -> bool:
        return bool(self._to_host("bool"))

    def __int__(self) -> int:
        return int(self._to_host("int"))

    def __index__(self) -> int:
        return operator.index(self._to_host("index").item())

    def __float__(self) -> float:
        return float(self._to_host("float"))

    def _to_host(self, why: str) -> Any:
        synchronised.append(why)
        return self._memory

    def __repr__(self) -> str:
        return f"FakeArray({self._memory!r})"

    __hash__ = None  # type: ignore[assignment]  # as arrays are


def _made(result: Any, source: FakeArray | None = None) -> Any:
    """A result on the device. It has a base if it looks into the source's memory."""
    if isinstance(result, np.generic):
        result = np.asarray(result)
    if isinstance(result, tuple):
        return tuple(_made(r, source) for r in result)
    if not isinstance(result, np.ndarray):
        return result
    shares = source is not None and result.size > 0 and np.may_share_memory(result, source._memory)
    owner = None if not shares else source if source.base is None else source.base
    return FakeArray(result, owner)


def _operand(value: Any) -> Any:
    """The memory of an operand; TypeError for anything that is not on the device."""
    if isinstance(value, FakeArray):
        return value._memory
    if type(value) in PYTHON_NUMBERS:
        return value
    raise TypeError(f"Unsupported type {type(value)}")


def _parameter(value: Any) -> Any:
    """An operand, or a parameter such as a shape, an axis, a dtype; arrays of the host are refused."""
    if isinstance(value, np.ndarray | np.generic):
        raise TypeError(f"Unsupported type {type(value)}")
    return value._memory if isinstance(value, FakeArray) else value


def _argument(value: Any) -> Any:
    """The same for functions, which take no list for an array either."""
    if isinstance(value, list):
        raise TypeError(f"Unsupported type {type(value)}")
    return _parameter(value)


def _index(index: Any) -> Any:
    """An index for the memory; with the Ellipsis one element is a 0-d array (a window, as in CuPy) and not a number."""
    parts = index if isinstance(index, tuple) else (index,)
    own = tuple(p._memory if isinstance(p, FakeArray) else p for p in parts)
    for p in own if not any(isinstance(p, FakeArray) for p in parts) else [q for q in parts if not isinstance(q, FakeArray)]:
        if not (p is None or p is Ellipsis or isinstance(p, slice | int)):
            raise TypeError(f"Unsupported type {type(p)} as an index")
    return own if any(p is Ellipsis for p in own) or any(isinstance(p, np.ndarray) for p in own) else (*own, Ellipsis)


def _binary(function: Any) -> Any:
    def forward(self: FakeArray, other: Any) -> Any:
        if getattr(type(other), "__array_ufunc__", 0) is None and not isinstance(other, FakeArray):
            return NotImplemented
        return _made(function(self._memory, _operand(other)))

    return forward


def _reflected(function: Any) -> Any:
    return lambda self, other: _made(function(_operand(other), self._memory))


def _in_place(function: Any) -> Any:
    def forward(self: FakeArray, other: Any) -> FakeArray:
        function(self._memory, _operand(other), out=self._memory, casting="same_kind")
        return self

    return forward


_UFUNCS = dict(add="add", sub="subtract", mul="multiply", truediv="true_divide", floordiv="floor_divide", mod="remainder", matmul="matmul")
_UFUNCS |= {"and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor", "pow": "power"}
for _name, _ufunc in _UFUNCS.items():
    _function = getattr(operator, f"__{_name}__")
    setattr(FakeArray, f"__{_name}__", _binary(_function))
    setattr(FakeArray, f"__r{_name}__", _reflected(_function))
    setattr(FakeArray, f"__i{_name}__", _in_place(getattr(np, _ufunc)))
for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    setattr(FakeArray, f"__{_name}__", _binary(getattr(operator, f"__{_name}__")))
for _name in ("neg", "abs", "invert", "pos"):
    setattr(FakeArray, f"__{_name}__", (lambda f: lambda self: _made(f(self._memory)))(getattr(operator, f"__{_name}__")))


class _Function:
    """A function of the fake library."""

    def __init__(self, function: Any) -> None:
        self._function = function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        source = next((a for a in args if isinstance(a, FakeArray)), None)
        unpacked = [_sequence(a) for a in args]
        result = self._function(*unpacked, **{k: _argument(v) for k, v in kwargs.items()})
        return _made(result, source)

    def reduce(self, array: Any, **kwargs: Any) -> Any:
        """As NumPy's `ufunc.reduce`, with a 0-d array where NumPy has a number."""
        return _made(self._function.reduce(_operand(array), **kwargs))

    def at(self, target: Any, index: Any, values: Any) -> None:
        """As NumPy's `ufunc.at`."""
        own = tuple(p._memory if isinstance(p, FakeArray) else p for p in (index if isinstance(index, tuple) else (index,)))
        self._function.at(_operand(target), own, _operand(values))


def _sequence(value: Any) -> Any:
    """A tuple or list of device arrays (concatenate, stack) is taken apart; one of host data is a parameter or a mistake."""
    if isinstance(value, tuple | list) and any(isinstance(v, FakeArray) for v in value):
        return [_operand(v) for v in value]
    return _argument(value)


def _asarray(value: Any, dtype: Any = None) -> FakeArray:
    """Onto the device: the one way in."""
    if not isinstance(value, FakeArray):
        uploaded.append(np.shape(value))
    elif dtype in (None, value.dtype):
        return value
    return FakeArray(np.array(getattr(value, "_memory", value), dtype=dtype))


class FakeGenerator:
    """`xp.random.default_rng(seed)`: the three draws that CuPy's generator shares with NumPy's."""

    def __init__(self, seed: int | None = None) -> None:
        source = np.random.default_rng(None if seed is None else (seed, 1))  # the same seed gives other numbers than on the host
        self.random, self.standard_normal, self.integers = (
            _Function(getattr(source, n)) for n in ("random", "standard_normal", "integers")
        )


class FakeLinearAlgebra:
    """`xp.linalg`."""

    def __getattr__(self, name: str) -> Any:
        if name not in LINALG:
            raise AttributeError(f"module 'cupy.linalg' has no attribute {name!r} (or nobody looked: see LINALG)")
        return _Function(getattr(np.linalg, name))


class FakeLibrary:
    """What `xp` is for arrays of the fake device: NumPy's functions, but only those that CuPy has too."""

    __name__ = "fake"
    special = SimpleNamespace(
        erf=_Function(lambda x: error_function(np, x)),
        erfc=_Function(lambda x: np.vectorize(math.erfc, otypes=[float])(x).astype(x.dtype)),
        gammaln=_Function(lambda x: np.vectorize(math.lgamma, otypes=[float])(x).astype(x.dtype)),
    )
    fft = SimpleNamespace(fftn=_Function(np.fft.fftn), ifftn=_Function(np.fft.ifftn))
    random = SimpleNamespace(default_rng=FakeGenerator)
    ndarray = FakeArray
    linalg = FakeLinearAlgebra()

    def __getattr__(self, name: str) -> Any:
        if name not in NAMES:
            raise AttributeError(f"module 'cupy' has no attribute {name!r} (or nobody looked: see NAMES)")
        return {"asarray": _asarray, "array": lambda value, **options: FakeArray(np.array(value._memory, **options))}.get(
            name
        ) or _Function(getattr(np, name))


fake = FakeLibrary()
