"""What a Tensor can do: one visible table that attaches operators, methods and autograd attributes to the class.

The data model (tensor.py) knows no mathematics and the operations know no classes; here the two meet. Methods ending in an underscore work
in place.
"""

from __future__ import annotations

import copy
import math
import operator
import warnings
import weakref
from collections.abc import Callable, Iterator, Sequence
from numbers import Integral
from typing import Any

from . import backend, functions, observe
from .batching import Batched
from .engine.direct import on_itself, on_one, on_two
from .engine.inplace import assign, check_target
from .engine.modes import state
from .engine.record import history
from .errors import (
    AutogradError,
    BatchingError,
    DTypeError,
    InPlaceError,
    NoGradientError,
    ProgramError,
    ShapeError,
    did_you_mean,
)
from .nodes import HookHandle, Leaf, Node, OpNode, Pick
from .ops import elementwise as ew
from .ops import index as ix
from .ops import linalg as la
from .ops.operators import BINARY, COMPARISONS
from .primitive import Primitive
from .storage import Place, Storage, storage_of
from .tensor import (
    Tensor,
    alias,
    as_tensor,
    check_gradient,
    make_leaf,
    memory_version,
    overwrite_payload,
    role_of,
    set_role,
    wrap,
)

attach = setattr

# ------------------------------------------------------------------------------------------------------------- operators


_COMMON = frozenset((Tensor, float, int))


def _operator(operation: Any) -> Callable[..., Any]:
    """The method for `self op other`: the short way for what is plain, else the operation itself, or word that `other` is none of ours."""

    def long(self: Any, other: Any, params: Any = None) -> Any:
        return operation(self, other) if type(other) in _COMMON or _accepts(other) else NotImplemented

    prim = la.matmul if operation is functions.matmul else operation  # the function looks at shapes first; so does the kernel
    return on_two(prim, long) if isinstance(prim, Primitive) else long


def _reflected(operation: Any) -> Callable[[Any, Any], Any]:
    """The same for `other op self`."""

    def long(other: Any, self: Any, params: Any = None) -> Any:
        return operation(other, self) if type(other) in _COMMON or _accepts(other) else NotImplemented

    run = on_two(operation, long) if isinstance(operation, Primitive) else long
    return lambda self, other: run(other, self)


def _accepts(other: Any) -> bool:
    kind = type(other)
    return (
        kind in backend.MODULES
        or isinstance(other, Tensor | list | tuple)
        or hasattr(other, "__array__")
        or hasattr(kind, "__minigrad_apply__")
    )


def _in_place(operation: Any, name: str, shown: str) -> Callable[..., Tensor]:
    """A method that computes out of place and writes the result into its tensor; `shown` is what error messages call it."""

    def method(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        check_target(self, shown)
        return assign(self, operation(self, *args, **kwargs), shown)

    method.__name__ = name
    method.__doc__ = f"As `{name.rstrip('_')}`, but writes the result into this tensor and returns it."
    return method


def _augmented(operation: Any, name: str, shown: str) -> Callable[[Tensor, Any], Any]:
    write = _in_place(operation, name, shown)
    long: Callable[[Any, Any], Any] = lambda self, other: write(self, other) if _accepts(other) else NotImplemented
    kernel = _KERNELS.get(operation)
    return long if kernel is None else on_itself(kernel, long)


_KERNELS = {
    ew.add: operator.iadd,
    ew.sub: operator.isub,
    ew.mul: operator.imul,
    ew.div: lambda x, y: backend.ignore_float_errors.run(operator.itruediv, x, y),
}
"""What changes an array in place as the operation computes anew."""


_OPERATORS = BINARY | {"pow": functions.pow, "matmul": functions.matmul}  # which look at their operands first
_SYMBOLS = dict(zip(_OPERATORS, "+ - * / // % ** @ & | ^".split(), strict=True))
for _name, _operation in _OPERATORS.items():
    attach(Tensor, f"__{_name}__", _operator(_operation))
    attach(Tensor, f"__r{_name}__", _reflected(_operation))
    attach(Tensor, f"__i{_name}__", _augmented(_operation, f"__i{_name}__", f"x {_SYMBOLS[_name]}= …"))
for _name, _operation in COMPARISONS.items():
    attach(Tensor, f"__{_name}__", _operator(_operation))
attach(Tensor, "__hash__", lambda self: id(self))
attach(Tensor, "__neg__", on_one(ew.neg))
attach(Tensor, "__pos__", lambda self: self)
attach(Tensor, "__abs__", lambda self: ew.abs_(self))
attach(Tensor, "__invert__", lambda self: ew.bitwise_not(self))

# --------------------------------------------------------------------------------------------------- methods from functions

_METHODS = """
    exp exp2 expm1 log log2 log10 log1p sin cos tan asin arcsin acos arccos atan arctan sinh cosh tanh asinh acosh atanh sqrt rsqrt square
    reciprocal neg negative abs absolute sign sgn floor ceil trunc round erf sigmoid relu conj angle isnan isinf isfinite logical_not clone
    add sub subtract mul multiply div divide true_divide pow atan2 arctan2 logaddexp fmod remainder floor_divide maximum minimum
    eq ne lt less le less_equal gt greater ge greater_equal logical_and logical_or logical_xor clamp clip
    sum mean amax amin argmax argmin all any reshape flatten squeeze unsqueeze permute transpose swapaxes swapdims t movedim broadcast_to
    sum_to flip matmul allclose equal numel softmax log_softmax logsumexp
""".split()
for _name in _METHODS:
    attach(Tensor, _name, getattr(functions, _name))

_IN_PLACE = """
    exp exp2 expm1 log log2 log10 log1p sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh sqrt rsqrt square reciprocal neg abs
    sign floor ceil trunc round erf sigmoid relu add sub mul div pow fmod remainder floor_divide atan2 clamp clip
""".split()
for _name in _IN_PLACE:
    attach(Tensor, _name + "_", _in_place(getattr(functions, _name), _name + "_", _name + "_"))


def _method(function: Callable[..., Any]) -> Callable[..., Any]:
    attach(Tensor, function.__name__, function)
    return function


def _attribute(function: Callable[[Tensor], Any]) -> property:
    made = property(function, doc=function.__doc__)
    attach(Tensor, function.__name__, made)
    return made


# ------------------------------------------------------------------------------------------------------ shapes and elements

attach(Tensor, "T", property(lambda self: functions.transpose(self), doc="The axes reversed (a view)."))
attach(Tensor, "mT", property(lambda self: functions.transpose(self, -2, -1), doc="The last two axes exchanged (a view)."))


def _conjugate_transpose(x: Tensor) -> Tensor:
    if x.ndim not in (0, 2):
        raise ShapeError(f"H: needs a matrix, got shape {x.shape}. For the last two axes, use mH.")
    return functions.conj(functions.transpose(x, -2, -1) if x.ndim else x)


attach(Tensor, "H", property(_conjugate_transpose, doc="The conjugate transpose of a matrix: a copy if complex, else a view."))
attach(Tensor, "real", property(lambda self: functions.real(self) if self.dtype.kind == "c" else self, doc="Real part (a view)."))
attach(Tensor, "imag", property(lambda self: functions.imag(self), doc="Imaginary part (a view)."))
attach(Tensor, "dim", lambda self: self.ndim)
attach(Tensor, "nelement", lambda self: functions.numel(self))
attach(Tensor, "itemsize", property(lambda self: self.dtype.itemsize, doc="Bytes of one element."))


@_method
def size(self: Tensor, dim: int | None = None) -> Any:
    """The shape, or the size of one dimension."""
    return self.shape if dim is None else self.shape[functions.axis_of(self.ndim, dim, "size")]


@_method
def view(self: Tensor, *shape: Any, dtype: Any = None) -> Tensor:
    """The same memory in another shape, or its bytes read as another dtype (`view(dtype)`; `.to(dtype)` converts the numbers).

    A dtype of another size divides or joins the elements of the last axis. The result has no history; changes of either are seen in the
    other, and counted for both. Raises ShapeError where the layout needs a copy (then use `reshape`) or the bytes cannot be read so.
    """
    if dtype is not None or (len(shape) == 1 and not isinstance(shape[0], Integral | list | tuple)):
        if dtype is not None and shape:
            raise TypeError("view: give a shape or a dtype, not both.")
        return _reinterpreted(self, dtype if dtype is not None else shape[0])
    out = functions.reshape(self, *shape)
    if out.numel() and out.window is None and out.array is not self.array:
        raise ShapeError(
            f"view: shape {out.shape} cannot look into the memory of this tensor of shape {self.shape} (its elements are not laid out "
            "in that order). "
            "Use .reshape(...) which copies, or .contiguous() first."
        )
    return out


del view


def _reinterpreted(x: Tensor, dtype: Any) -> Tensor:
    """The bytes of x as another dtype, in the same memory."""
    wanted = backend.as_dtype(dtype)
    if wanted is None or wanted.kind not in "biufcV" or wanted.itemsize == 0:
        raise DTypeError(f"view: a dtype of numbers is needed, got {dtype!r}.")
    if isinstance(x.array, Batched):
        raise BatchingError("view(dtype): inside vmap bytes are not read as another dtype. Do it before, or after.")
    if observe.observers:  # nothing in a record could say that these are the same bytes
        raise ProgramError("view(dtype): while operations are recorded, bytes are not read as another dtype. Do it before, or after.")
    out = alias(x)
    array, own, new = x.array, x.dtype.itemsize, wanted.itemsize
    if own != new:
        if x.ndim == 0:
            raise ShapeError(f"view: a single number of {x.dtype} cannot be read as {wanted}, whose size is another one.")
        if array.strides[-1] != own and array.size:
            raise ShapeError(f"view: to read {x.dtype} as {wanted}, the last axis must be contiguous. Use .contiguous() first.")
        if x.shape[-1] * own % new:
            raise ShapeError(
                f"view: the last axis of {x.shape} holds {x.shape[-1] * own} bytes, which {wanted} of {new} bytes does not divide."
            )
    if array.size:
        out.array = array.view(wanted)
    else:
        out.array = array.reshape(-1).view(wanted).reshape(*x.shape[:-1], x.shape[-1] * own // new) if x.ndim else array.view(wanted)
    return out


attach(Tensor, "reshape_as", lambda self, other: functions.reshape(self, other.shape))
attach(Tensor, "expand", lambda self, *shape: functions.broadcast_to(self, *shape))
attach(Tensor, "expand_as", lambda self, other: functions.broadcast_to(self, other.shape))
attach(Tensor, "ravel", lambda self: functions.reshape(self, -1))


@_method
def contiguous(self: Tensor) -> Tensor:
    """This tensor if its memory is row-major, else a row-major copy."""
    return self if backend.is_immutable(self.array) or self.array.flags.c_contiguous else _row_major_copy(self)


@functions.in_own_memory
def _row_major_copy(x: Tensor) -> Tensor:
    return functions.reshape(functions.clone(functions.reshape(x, -1)), x.shape)


@_method
def is_contiguous(self: Tensor) -> bool:
    """Whether the memory is row-major."""
    return backend.is_immutable(self.array) or bool(self.array.flags.c_contiguous)


@_method
def stride(self: Tensor, dim: int | None = None) -> Any:
    """Steps, in elements, from one index to the next along each axis (or along one)."""
    array = self.array
    strides = tuple(s // array.dtype.itemsize for s in array.strides)
    if not array.size and not any(strides):
        strides = _strides_of_empty(self)
    return strides if dim is None else strides[dim]


def _strides_of_empty(x: Tensor) -> tuple[int, ...]:
    """Those that a row-major tensor with at least one element along each axis would have; NumPy's are 0."""
    steps = () if x.window is None else x.window.steps
    if steps and steps[-1][0].name == "permute":
        axes = steps[-1][1]["axes"]
        own = _row_major([x.shape[axes.index(i)] for i in range(x.ndim)])
        return tuple(own[axis] for axis in axes)
    return _row_major(x.shape)


def _row_major(shape: Sequence[int]) -> tuple[int, ...]:
    return tuple(math.prod(max(n, 1) for n in shape[i + 1 :]) for i in range(len(shape)))


@_method
def __getitem__(self: Tensor, index: Any) -> Tensor:
    return functions.getitem(self, index)


@_method
def __setitem__(self: Tensor, index: Any, value: Any) -> None:
    value = _beside(value, self)
    plain = functions._plain_index(index, self.array)
    if ix.is_basic(plain):
        region = functions.getitem(self, index)
        lead = value.ndim - region.ndim
        if lead > 0 and set(value.shape[:lead]) <= {1}:
            value = functions.reshape(value, value.shape[lead:])
        if region.window is None:  # the whole of a tensor that is one number
            region = self
        _write(region, value, "x[index] = value")
        return
    check_target(self, "x[index] = value", differentiable=value.node is not None)
    numbers, rest = ix.numbers_first(plain)
    if numbers is not None:
        functions.getitem(self, numbers)[rest] = value
        return
    if value.dtype.kind == "c" and self.dtype.kind != "c":
        raise InPlaceError(f"x[index] = value: complex values cannot be written into a {self.dtype} tensor; take .real first.")
    if value.dtype != self.dtype:
        value = value.to(self.dtype)
    while value.ndim and value.shape[0] == 1:  # more dimensions than the region has: leading ones say nothing
        value = functions.reshape(value, value.shape[1:])
    try:
        replaced = ix.index_put(self, value, index=plain, accumulate=False)
    except IndexError as error:
        raise IndexError(f"x[index] = value with x of shape {self.shape}: {error}.") from None
    except (TypeError, ValueError):
        indexed = functions.getitem(self.detach(), plain).shape
        raise ShapeError(
            f"x[index] = value with x of shape {self.shape}: a value of shape {value.shape} does not broadcast to the indexed region "
            f"of shape {indexed}."
        ) from None
    assign(self, replaced, "x[index] = value")


def _beside(value: Any, target: Tensor) -> Tensor:
    """`value` as a tensor on the device of `target`, ready to be written there."""
    value = as_tensor(value)
    return value if backend.same_device(value.array, target.array) else to(value, device=backend.device_of(target.array))  # type: ignore[no-any-return]


def _write(target: Tensor, value: Tensor, operation: str) -> Tensor:
    """Overwrite a tensor or view with a value that broadcasts to it, with history."""
    uniform = value.node is None and value.numel() == 1
    check_target(target, operation, value.node is not None, uniform)
    if value.dtype.kind == "c" and target.dtype.kind != "c":
        raise InPlaceError(f"{operation}: complex values cannot be written into a {target.dtype} tensor; take .real first.")
    padded = (1,) * (target.ndim - value.ndim) + value.shape
    if len(padded) != target.ndim or any(a not in (1, b) for a, b in zip(padded, target.shape, strict=True)):
        raise ShapeError(f"{operation}: a value of shape {value.shape} does not broadcast to the target of shape {target.shape}.")
    return assign(target, ew.overwrite(target, value), operation, uniform)


@_method
def index_put_(self: Tensor, indices: tuple[Any, ...], values: Any, accumulate: bool = False) -> Tensor:
    """Write `values` at the indices, in place; `accumulate` adds them, repeated indices several times."""
    check_target(self, "index_put_")
    plain = functions._plain_index(tuple(indices), self.array)
    return assign(self, ix.index_put(self, _beside(values, self).to(self.dtype), index=plain, accumulate=accumulate), "index_put_")


@_method
def copy_(self: Tensor, source: Any) -> Tensor:
    """Overwrite with `source`, which broadcasts and is converted; gradients flow to the source."""
    return _write(self, _beside(source, self), "copy_")


@_method
def fill_(self: Tensor, value: Any) -> Tensor:
    """Overwrite every element with one value; gradients to the old values are zero."""
    return _write(self, _beside(value, self), "fill_")


@_method
def zero_(self: Tensor) -> Tensor:
    """Overwrite with zeros."""
    return _write(self, _beside(0, self), "zero_")


@_method
def gaussian(self: Tensor, mean: float = 0.0, std: float = 1.0) -> Tensor:
    """Overwrite with normal random numbers (SINGA's name), outside the graph."""
    return _outside(self, functions.randn(*self.shape, dtype=self.dtype) * std + mean)


@_method
def uniform(self: Tensor, low: float = 0.0, high: float = 1.0) -> Tensor:
    """Overwrite with uniform random numbers (SINGA's name), outside the graph."""
    return _outside(self, functions.rand(*self.shape, dtype=self.dtype) * (high - low) + low)


@_method
def set_value(self: Tensor, value: float) -> Tensor:
    """Overwrite every element with one number (SINGA's name), outside the graph."""
    return _outside(self, wrap(backend.as_payload(value, self.dtype)))


attach(Tensor, "normal_", gaussian)
attach(Tensor, "uniform_", uniform)


def _outside(self: Tensor, values: Tensor) -> Tensor:
    if isinstance(history(self), OpNode):
        raise InPlaceError("this tensor is the result of an operation; fill a tensor of its own instead.")
    overwrite_payload(self, backend.to_device_of(values.array, self.array))
    return self


@_method
def __len__(self: Tensor) -> int:
    if self.ndim == 0:
        raise TypeError("len() of a 0-d tensor")
    return self.shape[0]


@_method
def __iter__(self: Tensor) -> Iterator[Tensor]:
    if self.ndim == 0:
        raise TypeError("iteration over a 0-d tensor")
    return (self[i] for i in range(self.shape[0]))


@_method
def __reversed__(self: Tensor) -> Tensor:
    """The rows in reverse order, as a tensor; a 0-d tensor itself."""
    return functions.flip(self, 0) if self.ndim else self


@_method
def __contains__(self: Tensor, value: Any) -> bool:
    return bool(functions.any(ew.eq(self, value)))


# ---------------------------------------------------------------------------------------------------- leaving the library


@_method
def item(self: Tensor) -> Any:
    """The one element as a Python number."""
    if self.numel() != 1:
        raise RuntimeError(
            f"a tensor with {self.numel()} elements (shape {self.shape}) cannot be converted to a number. Index or reduce it first."
        )
    return backend.to_numpy(self.array).item()


attach(Tensor, "__bool__", lambda self: bool(_truth(self)))


def _as_number(kind: type) -> Callable[[Tensor], Any]:
    """The method behind `float(x)`, and behind `math.sin(x)`."""

    def method(self: Tensor) -> Any:
        if observe.observers:
            observe.read(self, kind.__name__)
        return kind(self.item())

    return method


for _kind in (float, int, complex):
    attach(Tensor, f"__{_kind.__name__}__", _as_number(_kind))
attach(Tensor, "__format__", lambda self, spec: format(self.item(), spec) if spec else repr(self))


def _truth(self: Tensor) -> Any:
    if self.numel() != 1:
        raise RuntimeError(f"the truth value of a tensor with {self.numel()} elements is ambiguous. Use .any() or .all().")
    return self.item()


@_method
def __index__(self: Tensor) -> int:
    if self.dtype.kind not in "iub" or self.numel() != 1:
        raise TypeError("only integer tensors of a single element can be used as an index.")
    return int(self.item())


@_method
def tolist(self: Tensor) -> Any:
    """The elements as nested lists of Python numbers."""
    return backend.to_numpy(self.array).tolist()


@_method
def numpy(self: Tensor, *, force: bool = False) -> Any:
    """The values as a NumPy array that shares this tensor's memory. Raises for tensors that require grad; `force` detaches and copies from
    a device."""
    if not force:
        if state.recording and history(self) is not None:
            raise AutogradError("this tensor requires grad, and a NumPy array cannot record operations. Use x.detach().numpy().")
        if backend.device_of(self.array) != "cpu":
            raise AutogradError(f"this tensor is on {backend.device_of(self.array)}. Use x.cpu().numpy() to copy it to the host.")
    memory_version(self)
    return backend.to_numpy(self.array)


@_method
def __array__(self: Tensor, dtype: Any = None, copy: bool | None = None) -> Any:
    array = numpy(self)
    return array if dtype is None and not copy else array.astype(dtype or array.dtype)


@_method
def __dlpack__(self: Tensor, **options: Any) -> Any:
    """This tensor's memory for another library, as the DLPack protocol has it: `torch.from_dlpack(x)`, `jax.dlpack.from_dlpack(x)`.

    options: of the protocol (stream, max_version, dl_device, copy). Raises AutogradError for tensors that require grad.
    """
    if history(self) is not None:
        raise AutogradError("this tensor requires grad, and another library cannot record its operations. Hand over x.detach().")
    memory_version(self)
    return self.array.__dlpack__(**options)


@_method
def __dlpack_device__(self: Tensor) -> Any:
    """DLPack's kind of memory (1 the CPU, 2 CUDA) and the number of the device."""
    memory_version(self)
    return self.array.__dlpack_device__()


@_method
def __repr__(self: Tensor) -> str:
    text, empty = "tensor(" + backend.format_array(self.array, "tensor("), functions.numel(self) == 0
    parts = []
    if empty and self.shape != (0,):
        parts.append(f"size={self.shape}")
    if self.dtype != backend.default_dtype() and (empty or self.dtype not in (backend.int64, backend.bool_, backend.complex64)):
        parts.append(f"dtype={self.dtype}")
    device = backend.device_of(self.array)
    if device != "cpu":
        parts.append(f"device='{device}'")
    try:
        node = history(self)
    except InPlaceError:  # printing must not fail; using the tensor will, and says why
        node = None
        parts.append("grad_fn=<Invalid>")
    if isinstance(node, Leaf):
        parts.append("requires_grad=True")
    elif node is not None:
        parts.append(f"grad_fn=<{node.name()}>")
    if self.tangents and state.levels and state.levels[-1] in self.tangents:
        parts.append(f"tangent={self.tangents[state.levels[-1]]!r}")
    for part in parts:
        fits = len(text) - text.rfind("\n") + len(part) + 3 <= 80
        text += f", {part}" if fits else ",\n" + " " * len("tensor(") + part
    return text + ")"


@_method
def __copy__(self: Tensor) -> Tensor:
    return alias(self) if history(self) is None else _leaf_copy(self, alias(self))


@_method
def __deepcopy__(self: Tensor, memo: dict[int, Any]) -> Tensor:
    if type(self.array) is backend.NumpyArray:  # tensors that share memory share that of their copies
        storage, place = storage_of(self.array)
        out = _leaf_copy(self, copy.deepcopy(storage, memo).tensor(place))
    else:
        out = _leaf_copy(self, wrap(backend.as_payload(self.array)))
    memo[id(self)] = out
    out._grad = copy.deepcopy(self._grad, memo)
    return out


def _leaf_copy(self: Tensor, out: Tensor) -> Tensor:
    node = history(self)
    if node is not None and not isinstance(node, Leaf):
        raise AutogradError(
            "only leaf tensors can be copied or pickled. Use x.detach().clone() for the values, or x.clone() to stay in the graph."
        )
    if isinstance(node, Leaf):
        make_leaf(out)
        assert isinstance(out.node, Leaf)
        out.node.stores_grad = node.stores_grad
    set_role(out, role_of(self))
    return out


@_method
def __reduce__(self: Tensor) -> Any:
    node = history(self)
    if node is not None and not isinstance(node, Leaf):
        raise AutogradError("only leaf tensors can be pickled. Use x.detach().")
    storage = storage_of(backend.materialise(backend.to_numpy(self.array)))
    return _rebuild, (*storage, node is not None, role_of(self))


def _rebuild(storage: Storage, place: Place, requires_grad: bool, role: str | None = None) -> Tensor:
    out = storage.tensor(place)
    if requires_grad:
        make_leaf(out)
    set_role(out, role)
    return observe.made(out) if observe.observers else out


# ------------------------------------------------------------------------------------------------------ dtypes and devices


@_method
def to(self: Tensor, *args: Any, dtype: Any = None, device: Any = None, copy: bool = False) -> Tensor:
    """Another dtype, another device, or those of another tensor; the tensor itself where nothing changes. Gradients flow back converted."""
    for a in args:
        if isinstance(a, Tensor):
            dtype, device = a.dtype, backend.device_of(a.array)
        elif isinstance(a, str) and (a == "cpu" or a.startswith("cuda")):
            device = a
        elif isinstance(a, bool):
            continue  # PyTorch's non_blocking: copies are in order here
        elif hasattr(a, "type") and hasattr(a, "index") and not hasattr(a, "itemsize"):
            device = str(a)
        else:
            dtype = a
    out = self
    wanted = backend.as_dtype(dtype)
    if wanted is not None and wanted != self.dtype:
        out = ew.cast(out, dtype=wanted)
    if device is not None and str(device) not in (backend.device_of(self.array), backend.device_of(self.array).partition(":")[0]):
        from .ops.device import move

        out = move(out, device=str(device), back=backend.device_of(self.array))
    return functions.clone(out) if copy and out is self else out


attach(Tensor, "type_as", lambda self, other: to(self, dtype=other.dtype))
attach(Tensor, "cpu", lambda self: to(self, "cpu"))
attach(Tensor, "cuda", lambda self, device="cuda": to(self, f"cuda:{device}" if isinstance(device, int) else str(device)))
attach(
    Tensor,
    "is_cuda",
    property(lambda self: backend.device_of(self.array).startswith("cuda"), doc="Whether the tensor is on a CUDA device."),
)
attach(Tensor, "device", property(lambda self: backend.Device(backend.device_of(self.array)), doc='Where the memory is: "cpu", "cuda:0".'))
for _name, _dtype in {
    "double": backend.float64,
    "float": backend.float32,
    "half": backend.float16,
    "long": backend.int64,
    "int": backend.int32,
    "bool": backend.bool_,
    "cfloat": backend.complex64,
    "cdouble": backend.complex128,
}.items():
    attach(Tensor, _name, (lambda d: lambda self: to(self, dtype=d))(_dtype))
attach(Tensor, "is_floating_point", lambda self: backend.is_floating(self.dtype))
attach(Tensor, "is_complex", lambda self: backend.is_complex(self.dtype))

# -------------------------------------------------------------------------------------------------------- autograd attributes


def _get_requires_grad(self: Tensor) -> bool:
    """Whether gradients are computed for this tensor. Can be set on leaves."""
    return history(self) is not None


@_method
def requires_grad_(self: Tensor, requires_grad: bool = True) -> Tensor:
    """Ask for gradients of this leaf (or stop asking), and return it. Raises for results of operations and for integers."""
    node = history(self)
    if requires_grad:
        if node is None:
            make_leaf(self)
    elif isinstance(node, Leaf):
        self.node = None
    elif node is not None:
        raise AutogradError(
            "requires_grad can be switched off for leaf tensors only; this one is the result of an operation. Use x.detach()."
        )
    return self


def _set_requires_grad(self: Tensor, value: bool) -> None:
    requires_grad_(self, value)


attach(
    Tensor,
    "requires_grad",
    property(_get_requires_grad, _set_requires_grad, doc=_get_requires_grad.__doc__),
)


@_attribute
def is_leaf(self: Tensor) -> bool:
    """Whether the user made this tensor (or it needs no gradient): it was not computed from anything that requires grad."""
    node = history(self)
    return node is None or isinstance(node, Leaf)


@_attribute
def grad_fn(self: Tensor) -> Node | None:
    """The graph node of the operation that made this tensor (one node for all of its results); None for leaves."""
    node = history(self)
    return None if isinstance(node, Leaf) else node.parents[0] if isinstance(node, Pick) else node


def _draw_graph(self: Tensor, *more: Any, **options: Any) -> Any:
    """The graph behind this tensor as a `graphviz.Digraph`; `from minigrad import viz` brings it."""
    raise AutogradError(
        "draw_graph: the pictures are in the package viz, which is not imported. Write `from minigrad import viz`, then call it again."
    )


attach(Tensor, "draw_graph", _draw_graph)
attach(Tensor, "creator", property(lambda self: self.grad_fn, doc="SINGA's name for grad_fn."))


def _set_grad(self: Tensor, value: Any) -> None:
    check_gradient(self, value)
    self._grad = value


def _get_grad(self: Tensor) -> Tensor | None:
    if self._grad is None and isinstance(self.node, OpNode) and self.node.retained is None:
        warnings.warn(
            "the .grad of a tensor that is the result of an operation was asked for. It stays None: backward passes keep those of leaves "
            "only. Call x.retain_grad() before the backward pass to keep this one. If it shall be a parameter, as in w = w - lr * w.grad, "
            "change the leaf itself instead: with mg.no_grad(): w -= lr * w.grad.",
            stacklevel=2,
        )
    return self._grad


attach(
    Tensor,
    "grad",
    property(
        _get_grad,
        _set_grad,
        lambda self: _set_grad(self, None),
        doc="The gradient that backward passes have added up here, or None.",
    ),
)


def _get_stores_grad(self: Tensor) -> bool:
    """Whether a backward pass keeps this tensor's gradient and reports it (SINGA). Setting it implies requires_grad."""
    node = history(self)
    return node.stores_grad if isinstance(node, Leaf) else node is not None and node.retained is not None


def _set_stores_grad(self: Tensor, value: bool) -> None:
    node = history(self)
    if node is None:
        if not value:
            return
        make_leaf(self)
        node = self.node
    if isinstance(node, Leaf):
        node.stores_grad = bool(value)
    elif value:
        retain_grad(self)
    elif node is not None:
        node.retained = None


attach(Tensor, "stores_grad", property(_get_stores_grad, _set_stores_grad, doc=_get_stores_grad.__doc__))


@_method
def retain_grad(self: Tensor) -> None:
    """Keep the gradient of this non-leaf tensor in `.grad` too. No effect on leaves; an error where no gradient is computed."""
    node = history(self)
    if node is None:
        raise NoGradientError(
            "retain_grad: this tensor does not require grad, so it will have no gradient. Set requires_grad=True on an input first."
        )
    if not isinstance(node, Leaf):
        node.retained = weakref.ref(self)


attach(
    Tensor,
    "retains_grad",
    property(
        lambda self: (n := history(self)) is not None and n.retained is not None,
        doc="Whether `retain_grad` was called on this non-leaf tensor.",
    ),
)


@_method
def register_hook(self: Tensor, hook: Callable[[Any], Any]) -> HookHandle:
    """Call `hook(gradient)` whenever this tensor's complete gradient is computed; a returned tensor replaces it. Returns a handle with
    `.remove()`."""
    node = history(self)
    if node is None:
        raise NoGradientError("register_hook: this tensor does not require grad, so no gradient will ever reach the hook.")
    return node.register_tensor_hook(hook)


@_method
def register_post_accumulate_grad_hook(self: Tensor, hook: Callable[[Any], Any]) -> HookHandle:
    """Call `hook(tensor)` after a backward pass has added to this leaf's `.grad`."""
    node = history(self)
    if not isinstance(node, Leaf):
        raise AutogradError("register_post_accumulate_grad_hook: only leaf tensors that require grad accumulate gradients.")
    if node.after is None:
        node.after = {}
    return HookHandle(node.after, hook)


@_method
def detach(self: Tensor) -> Tensor:
    """A constant tensor on the same memory: changes of either are seen in the other, and counted for both."""
    return alias(self)


@_method
def detach_(self: Tensor) -> Tensor:
    """Forget the history, in place. Raises for views, whose history is their base's.

    What was computed from the tensor before keeps its graph, and its gradient: PyTorch raises in
    such a backward pass.
    """
    if self.window is not None:
        raise InPlaceError("detach_: a view's history belongs to its base. Use .detach().")
    self.node = self.tangents = None
    return self


def _set_data(self: Tensor, value: Any) -> None:
    if value is None:
        raise TypeError(".data must be a Tensor, got None.")
    value = as_tensor(value)
    if backend.is_differentiable(self.dtype) != backend.is_differentiable(value.dtype):
        raise DTypeError(f".data of a {self.dtype} tensor cannot become {value.dtype}.")
    memory_version(value)  # a bare number gets memory, which the two then share
    self.array = value.array
    if self.version is not None:
        self.version.count += 1
    leaf = self.node
    if isinstance(leaf, Leaf):  # gradients will have the new shape and dtype
        leaf.array, leaf.shape, leaf.dtype = self.array, self.array.shape, self.array.dtype


attach(
    Tensor,
    "data",
    property(
        lambda self: _unversioned(self),
        _set_data,
        doc="The values without history. Writing to them is not noticed by the engine (an escape hatch). "
        "A new value counts as an in-place change: a graph that needs the old values raises InPlaceError, where PyTorch computes "
        "a wrong gradient with the new ones.",
    ),
)


def _unversioned(self: Tensor) -> Tensor:
    memory_version(self)
    return wrap(self.array)


@_attribute
def _base(self: Tensor) -> Tensor | None:
    """The tensor that this one is a view of, or None."""
    return None if self.window is None else self.window.base


@_method
def _is_view(self: Tensor) -> bool:
    """Whether this tensor looks into another one's memory."""
    return self.window is not None


@_method
def data_ptr(self: Tensor) -> int:
    """The address of the first element, to tell whether two tensors share memory."""
    memory_version(self)
    array = self.array
    return int(array.data.ptr if hasattr(array.data, "ptr") else array.ctypes.data)


@_method
def backward(self: Tensor, gradient: Any = None, retain_graph: bool | None = None, create_graph: bool = False, inputs: Any = None) -> None:
    """Add the gradient of this tensor with respect to each leaf to the leaf's `.grad`. See `minigrad.autograd.backward`."""
    from .autograd.backward import run_backward

    run_backward(self, gradient, retain_graph, create_graph, inputs, None)


# ----------------------------------------------------------------------------------------------------------------- other words


def _no_such_attribute(self: Tensor, name: str) -> Any:
    """Python asks this for names that are nowhere else."""
    hint = "" if name.startswith("__") else did_you_mean(name, [n for n in dir(Tensor) if n not in _NEARLY], "Tensor")
    raise AttributeError(f"a Tensor has no attribute {name!r}.{hint}", name=name)


attach(Tensor, "__getattr__", _no_such_attribute)

_NEARLY = "grads label name req_grad require_grad require_gradient required_grad requiregrad requires_gradient requiresgrad".split()


class _Nearly:
    """An attribute that tensors do not have and that cannot be set: a slip in `requires_grad`, or micrograd's label."""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, tensor: Tensor | None, owner: type | None = None) -> Any:
        if tensor is None:
            return self
        raise AttributeError(self.name)  # `__getattr__` says the rest

    def __set__(self, tensor: Tensor, value: Any) -> None:
        _no_such_attribute(tensor, self.name)


for _name in _NEARLY:
    _slip = _Nearly()
    _slip.__set_name__(Tensor, _name)
    setattr(Tensor, _name, _slip)
