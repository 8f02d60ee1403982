"""A device without hardware: an array type that is as strict as CuPy's where CuPy is stricter than
NumPy.

A program that runs on this device keeps its arrays where they are: nothing is converted to NumPy
behind the scenes, no host array is mixed in, no list is taken for an array, a sum is a 0-d array
and not a number, and no function is used that CuPy does not have. In three places the fake is
stricter than CuPy itself, because CuPy would copy from or to the host without a word: NumPy scalars
as operands, host arrays as indices, and `if array:` (counted in `synchronised`).

`minigrad.backend.register_array_type` takes it in, as it does CuPy; its device is called "fake:0".
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np

from minigrad.ops.error_function import error_function

_NAMES = """
abs absolute add all allclose amax amin angle any arange arccos arccosh arcsin arcsinh arctan
arctan2 arctanh argmax argmin argpartition argsort argwhere array asarray ascontiguousarray bincount
bitwise_and bitwise_or bitwise_xor broadcast broadcast_to cbrt ceil clip concatenate conj copysign
copyto cos cosh count_nonzero cross cumprod cumsum diag diagonal divide dot einsum empty empty_like
equal exp exp2 expand_dims expm1 eye flip floor floor_divide fmod frexp full full_like gcd greater
greater_equal heaviside hypot indices invert isclose isfinite isinf isnan kron lcm left_shift less
less_equal lib linalg linspace log log10 log1p log2 logaddexp logical_and logical_not logical_or
logical_xor matmul max maximum mean min minimum moveaxis multiply nan_to_num negative nextafter
nonzero not_equal ones ones_like outer pad partition positive power prod put_along_axis ravel
remainder repeat reshape right_shift rint roll searchsorted sign signbit sin sinc sinh sort split
sqrt square squeeze stack std subtract sum swapaxes take take_along_axis tan tanh tensordot tile
trace transpose tril triu true_divide trunc unique var where zeros zeros_like
"""
NAMES = frozenset(_NAMES.split())
"""Functions of CuPy that minigrad uses or may: each was found in CuPy 14.2 (its package can be
imported without a GPU).
"""

_LINALG = "cholesky det eig eigh eigvalsh inv lstsq matrix_rank norm pinv qr slogdet solve svd"
LINALG = frozenset(_LINALG.split())
"""Of its linear algebra, likewise."""

_METHODS = (
    "all any argmax argmin astype clip conj copy dot get max min ravel reshape round sum tolist"
    " transpose view"
)
METHODS = frozenset(_METHODS.split())
"""The array methods, likewise."""

ATOMIC_CHOICES = frozenset("int32 uint32 uint64".split())
ATOMIC_SUMS = ATOMIC_CHOICES | frozenset("int64 float16 float32 float64".split())
"""The dtypes of `maximum.at` and `minimum.at`, and of `add.at`."""
PRODUCTS = frozenset("matmul dot tensordot einsum inner outer vdot".split())
"""Functions for which CuPy calls cuBLAS, which it does not while a stream is captured."""

PYTHON_NUMBERS = (bool, int, float, complex)
synchronised: list[str] = []
"""Every time that a value had to travel to the host, what asked for it."""
uploaded: list[tuple[int, ...]] = []
"""The shape of everything that travelled from the host to the device."""


class Tape:
    """What a stream under capture records: calls without arguments that compute into memory that
    exists. While one is `Tape.current`, nothing is computed (results hold NaN where they can), and
    whoever waits for the device, or sends it data, is refused, as CUDA does.
    """

    current: ClassVar[Tape | None] = None

    def __init__(self) -> None:
        self.steps: list[Callable[[], None]] = []
        self.broken = False  # something was refused: no graph comes of this recording

    def result(self, compute: Callable[[], Any], found: Any) -> None:
        """A computation whose result has memory of its own."""
        memories = [
            f._memory if isinstance(f, FakeArray) and f.size else None
            for f in (found if isinstance(found, tuple) else (found,))
        ]
        for memory in memories:
            if memory is not None and memory.dtype.kind in "fc":
                memory[...] = np.nan

        def step() -> None:
            results = compute()
            for memory, values in zip(
                memories, results if isinstance(results, tuple) else (results,), strict=True
            ):
                if memory is not None:
                    memory[...] = values

        self.steps.append(step)

    def replay(self) -> None:
        """Compute all again."""
        for step in self.steps:
            step()


def _refuse_in_capture(what: str) -> None:
    if Tape.current is not None:
        Tape.current.broken = True
        raise RuntimeError(
            "cudaErrorStreamCaptureUnsupported: operation not permitted when stream is capturing"
            f" ({what})"
        )


def _refuse_products_in_capture() -> None:
    if Tape.current is not None:
        Tape.current.broken = True
        raise NotImplementedError(
            "calling cuBLAS API during stream capture is currently unsupported"
        )


def _write(change: Callable[[], None]) -> None:
    """Change memory: now, or when the graph that is being captured is launched."""
    if Tape.current is None:
        change()
    else:
        Tape.current.steps.append(change)


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
        raise TypeError(
            "Implicit conversion to a NumPy array is not allowed. Please use `.get()` to construct"
            " a NumPy array explicitly."
        )

    def get(self) -> np.ndarray:
        """A copy in the host's memory; nothing else copies there."""
        _refuse_in_capture("get")
        return self._memory.copy()

    def set(self, array: np.ndarray) -> None:
        """Take over the values of an array of the host, of the same shape and dtype."""
        _refuse_in_capture("set")
        assert type(array) is np.ndarray and (array.shape, array.dtype) == (self.shape, self.dtype)
        uploaded.append(array.shape)
        self._memory[...] = array

    shape = property(lambda self: self._memory.shape)
    dtype = property(lambda self: self._memory.dtype)
    ndim = property(lambda self: self._memory.ndim)
    size = property(lambda self: self._memory.size)
    nbytes = property(lambda self: self._memory.nbytes)
    itemsize = property(lambda self: self._memory.itemsize)
    strides = property(lambda self: self._memory.strides)
    flags = property(
        lambda self: SimpleNamespace(
            c_contiguous=self._memory.flags.c_contiguous,
            f_contiguous=self._memory.flags.f_contiguous,
        )
    )
    device = property(lambda self: Device(id=0))
    data = property(lambda self: SimpleNamespace(ptr=self._memory.ctypes.data))
    T = property(lambda self: self.transpose())
    real = property(
        lambda self: _made(lambda: self._memory.real, self),
        lambda self, value: self._set_part("real", _operand(value)),
    )
    imag = property(
        lambda self: _made(lambda: self._memory.imag, self),
        lambda self, value: self._set_part("imag", _operand(value)),
    )

    def __getattr__(self, name: str) -> Any:
        if name not in METHODS:
            raise AttributeError(
                f"the fake device's arrays have no {name!r} (add it to METHODS if CuPy's have)"
            )
        method = getattr(self._memory, name)

        def call(*args: Any, **kwargs: Any) -> Any:
            if name in PRODUCTS:
                _refuse_products_in_capture()
            own, named = [*map(_parameter, args)], {k: _parameter(v) for k, v in kwargs.items()}
            return _made(lambda: method(*own, **named), self)

        return call

    def _set_part(self, name: str, values: Any) -> None:
        _write(lambda: setattr(self._memory, name, values))

    def diagonal(self, *args: int) -> FakeArray:
        """CuPy's may be written to, NumPy's only read."""
        memory = self._memory.diagonal(*args)
        memory.flags.writeable = self._memory.flags.writeable
        return _made(lambda: memory, self)

    def __getitem__(self, index: Any) -> FakeArray:
        own = _index(index)
        return _made(lambda: self._memory[own], self)

    def __setitem__(self, index: Any, value: Any) -> None:
        own, values = _index(index), _operand(value)
        _write(lambda: self._memory.__setitem__(own, values))

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
        _refuse_in_capture(why)
        synchronised.append(why)
        return self._memory

    def __repr__(self) -> str:
        return f"FakeArray({self._memory!r})"

    __hash__ = None  # type: ignore[assignment]  # as arrays are


def _made(compute: Callable[[], Any], source: FakeArray | None = None) -> Any:
    """What `compute()` gives, on the device. It has a base if it looks into the source's memory."""
    result = compute()
    found = _on_device(result, source)
    if Tape.current is not None and not (isinstance(found, FakeArray) and found.base is not None):
        Tape.current.result(compute, found)
    return found


def _on_device(result: Any, source: FakeArray | None) -> Any:
    if isinstance(result, np.generic):
        result = np.asarray(result)
    if isinstance(result, tuple):
        return tuple(_on_device(r, source) for r in result)
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
    """An operand, or a parameter such as a shape, an axis, a dtype; arrays of the host are
    refused.
    """
    if isinstance(value, np.ndarray | np.generic):
        raise TypeError(f"Unsupported type {type(value)}")
    return value._memory if isinstance(value, FakeArray) else value


def _argument(value: Any) -> Any:
    """An operand of a function, checked as a parameter is; a list is refused as well."""
    if isinstance(value, list):
        raise TypeError(f"Unsupported type {type(value)}")
    return _parameter(value)


def _index(index: Any) -> Any:
    """An index for the memory; with the Ellipsis one element is a 0-d array (a window, as in
    CuPy) and not a number.
    """
    parts = index if isinstance(index, tuple) else (index,)
    own = tuple(p._memory if isinstance(p, FakeArray) else p for p in parts)
    for p in (
        own
        if not any(isinstance(p, FakeArray) for p in parts)
        else [q for q in parts if not isinstance(q, FakeArray)]
    ):
        if not (p is None or p is Ellipsis or isinstance(p, slice | int)):
            raise TypeError(f"Unsupported type {type(p)} as an index")
    return (
        own
        if any(p is Ellipsis for p in own) or any(isinstance(p, np.ndarray) for p in own)
        else (*own, Ellipsis)
    )


def _binary(function: Any) -> Any:
    def forward(self: FakeArray, other: Any) -> Any:
        if getattr(type(other), "__array_ufunc__", 0) is None and not isinstance(other, FakeArray):
            return NotImplemented
        if function is operator.matmul:
            _refuse_products_in_capture()
        own = _operand(other)
        return _made(lambda: function(self._memory, own))

    return forward


def _reflected(function: Any) -> Any:
    def forward(self: FakeArray, other: Any) -> Any:
        own = _operand(other)
        return _made(lambda: function(own, self._memory))

    return forward


def _in_place(function: Any) -> Any:
    def forward(self: FakeArray, other: Any) -> FakeArray:
        own = _operand(other)
        _write(lambda: function(self._memory, own, out=self._memory, casting="same_kind"))
        return self

    return forward


_UFUNCS = dict(
    add="add",
    sub="subtract",
    mul="multiply",
    truediv="true_divide",
    floordiv="floor_divide",
    mod="remainder",
    matmul="matmul",
)
_UFUNCS |= {"lshift": "left_shift", "rshift": "right_shift"}
_UFUNCS |= {"and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor", "pow": "power"}
for _name, _ufunc in _UFUNCS.items():
    _function = getattr(operator, f"__{_name}__")
    setattr(FakeArray, f"__{_name}__", _binary(_function))
    setattr(FakeArray, f"__r{_name}__", _reflected(_function))
    setattr(FakeArray, f"__i{_name}__", _in_place(getattr(np, _ufunc)))
for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    setattr(FakeArray, f"__{_name}__", _binary(getattr(operator, f"__{_name}__")))
for _name in ("neg", "abs", "invert", "pos"):
    setattr(
        FakeArray,
        f"__{_name}__",
        (lambda f: lambda self: _made(lambda: f(self._memory)))(getattr(operator, f"__{_name}__")),
    )


class _Function:
    """A function of the fake library."""

    def __init__(self, function: Any) -> None:
        self._function = function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if getattr(self._function, "__name__", "") in PRODUCTS:
            _refuse_products_in_capture()
            assert len(args) == 2, "CuPy's matmul takes its `out` by name only"
        source = next((a for a in args if isinstance(a, FakeArray)), None)
        unpacked, named = [_sequence(a) for a in args], {k: _argument(v) for k, v in kwargs.items()}
        if kwargs.get("out") is not None:
            _write(lambda: self._function(*unpacked, **named))
            return kwargs["out"]
        return _made(lambda: self._function(*unpacked, **named), source)

    def reduce(self, array: Any, **kwargs: Any) -> Any:
        """As NumPy's `ufunc.reduce`, with a 0-d array where NumPy has a number."""
        own = _operand(array)
        return _made(lambda: self._function.reduce(own, **kwargs))

    def at(self, target: Any, index: Any, values: Any) -> None:
        """As NumPy's `ufunc.at`, for the dtypes that CuPy's takes. It takes floating numbers for a
        maximum too, but compares them in single precision and passes over NaN.
        """
        known = ATOMIC_SUMS if self._function is np.add else ATOMIC_CHOICES
        if target.dtype.name not in known:
            raise TypeError(f"cupy.ufunc.at only supports {', '.join(sorted(known))} as data type")
        own = tuple(
            p._memory if isinstance(p, FakeArray) else p
            for p in (index if isinstance(index, tuple) else (index,))
        )
        given = _operand(target), own, _operand(values)
        _write(lambda: self._function.at(*given))


def _sequence(value: Any) -> Any:
    """A tuple or list of device arrays (concatenate, stack) is taken apart; one of host data is
    a parameter or a mistake.
    """
    if isinstance(value, tuple | list) and any(isinstance(v, FakeArray) for v in value):
        return [_operand(v) for v in value]
    return _argument(value)


def _asarray(value: Any, dtype: Any = None) -> FakeArray:
    """Copies a value to the device; nothing else does."""
    if not isinstance(value, FakeArray):
        _refuse_in_capture("asarray")
        uploaded.append(np.shape(value))
    elif dtype in (None, value.dtype):
        return value
    return _made(lambda: np.array(getattr(value, "_memory", value), dtype=dtype))


class FakeGenerator:
    """`xp.random.default_rng(seed)`: the three draws that CuPy's generator shares with NumPy's."""

    def __init__(self, seed: int | None = None) -> None:
        # the same seed gives other numbers than on the host
        source = np.random.default_rng(None if seed is None else (seed, 1))
        self.random, self.standard_normal, self.integers = (
            _Function(getattr(source, n)) for n in ("random", "standard_normal", "integers")
        )


class FakeLinearAlgebra:
    """`xp.linalg`."""

    def __getattr__(self, name: str) -> Any:
        if name not in LINALG:
            raise AttributeError(
                f"module 'cupy.linalg' has no attribute {name!r} (or was not looked up: see LINALG)"
            )
        return _Function(getattr(np.linalg, name))


class FakeLibrary:
    """What `xp` is for arrays of the fake device: NumPy's functions, but only those that CuPy
    has too.
    """

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
    lib = SimpleNamespace(
        stride_tricks=SimpleNamespace(as_strided=_Function(np.lib.stride_tricks.as_strided))
    )

    def __getattr__(self, name: str) -> Any:
        if name not in NAMES:
            raise AttributeError(
                f"module 'cupy' has no attribute {name!r} (or was not looked up: see NAMES)"
            )
        return {
            "asarray": _asarray,
            "array": lambda value, **options: _made(lambda: np.array(value._memory, **options)),
        }.get(name) or _Function(getattr(np, name))


fake = FakeLibrary()
