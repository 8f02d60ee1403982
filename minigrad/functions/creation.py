"""Tensors made from data, from sizes, and like another tensor."""

from __future__ import annotations

from typing import Any

from .. import backend, explain
from ..backend import DType, Shape
from ..core.tensor import (
    Leaf,
    Tensor,
    as_tensor,
    ensure_version,
    make_leaf,
    wrap,
)
from ..entry_points import made_of_data, new_tensor
from ..errors import ShapeError
from ..names import TensorLike, attach, public, publish, unlisted
from ..ops import elementwise as ew
from .arguments import like, not_negative, sizes_of, without_graph


def __init__(
    self: Tensor,
    data: Any = None,
    *more: Any,
    shape: Shape | None = None,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    stores_grad: bool | None = None,
) -> None:
    """Tensor(data) takes numbers, nested lists, NumPy or CuPy arrays (copied) or another tensor
    (copied, detached); Tensor(shape=(2, 3)) gives zeros.

    dtype: lists become float32, whatever numbers they hold (see `set_default_dtype`; `tensor(data)`
    keeps integers), arrays keep theirs. device: "cpu", "cuda", "cuda:1".
    requires_grad: ask for gradients; stores_grad: whether a backward pass also keeps this tensor's
    gradient in `.grad` and reports it (default: as requires_grad). Raises DTypeError if a gradient
    is asked of integers or booleans.
    """
    explain.check_data(data, more, shape)
    if data is None:
        data = backend.zeros(tuple(shape or ()), dtype or backend.default_dtype(), 0.0)
    array = backend.as_payload(data.array if isinstance(data, Tensor) else data, dtype)
    if dtype is None and isinstance(data, list | tuple) and array.dtype.kind in "biu":
        array = backend.as_payload(data, backend.default_dtype())
    self.array = array if device is None else backend.to_device(array, str(device))
    self.node = self.version = self.view_of = self.tangents = self.stored_grad = None
    if requires_grad or stores_grad:
        make_leaf(self)
        if stores_grad is not None and isinstance(self.node, Leaf):
            self.node.stores_grad = stores_grad
    made_of_data(self)


attach("__init__", __init__)


@unlisted  # mg.as_tensor
def as_tensor_(data: Any, dtype: Any = None, device: Any = None) -> Tensor:
    """`data` as a tensor, sharing memory where possible."""
    if isinstance(data, Tensor):
        return data if dtype is None else data.to(dtype)
    array = backend.as_payload(data, dtype, copy=False)
    return made_of_data(wrap(array if device is None else backend.to_device(array, str(device))))


def from_numpy(array: Any) -> Tensor:
    """A tensor on the memory of a NumPy array: changes of either are seen in the other (but only
    the tensor's own in-place operations are counted).
    """
    if not hasattr(array, "dtype") or not hasattr(array, "strides"):
        raise TypeError(
            f"from_numpy needs a NumPy array, got {type(array).__name__}. Use tensor(data) for"
            " other data."
        )
    out = wrap(backend.materialise(array))
    ensure_version(out)
    return made_of_data(out)


def from_dlpack(source: TensorLike) -> Tensor:
    """A tensor on the memory of another library's array (PyTorch, JAX, CuPy, …), on the CPU or a
    GPU, without copying.

    Raises TypeError for what cannot be shared (a dtype that NumPy has not, a tensor that requires
    grad), DeviceError for memory elsewhere.
    Source: the DLPack protocol of the array API standard.
    """
    out = wrap(backend.materialise(backend.from_dlpack(source)))
    ensure_version(out)
    return made_of_data(out)


@public(method=False, out=True)
def full(
    size: Any,
    fill_value: Any,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """A tensor of the given size filled with one value, whose kind (boolean, integer, floating,
    complex) gives the dtype.
    """
    value = without_graph(fill_value, "full", "fill_value")
    value = value.array if isinstance(value, Tensor) else value
    if dtype is None and hasattr(value, "dtype") and not value.ndim:
        dtype = backend.dtype_of_kind(value.dtype)
    made = backend.as_payload(value, dtype)
    sizes = not_negative(sizes_of([size] if isinstance(size, int) else size))
    if device is not None and backend.device_of(made) != str(device) and made.ndim == 0:
        return new_tensor(backend.full(sizes, made, str(device)), requires_grad)
    out = backend.zeros(sizes, made.dtype, made)
    out = backend.materialise(out)
    out[...] = made
    return new_tensor(out, requires_grad, device)


@public(method=False, out=True)
def zeros(*size: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """Zeros of the given sizes."""
    dtype = dtype or backend.default_dtype()
    return full(sizes_of(size), 0, dtype=dtype, device=device, requires_grad=requires_grad)


@public(method=False, out=True)
def ones(*size: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """Ones of the given sizes."""
    dtype = dtype or backend.default_dtype()
    return full(sizes_of(size), 1, dtype=dtype, device=device, requires_grad=requires_grad)


@public(method=False, out=True)
def empty(*size: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """A tensor of the given sizes whose values do not matter. Here they are zeros: programs that
    read them by mistake stay repeatable.
    """
    return zeros(*size, dtype=dtype, device=device, requires_grad=requires_grad)


def scalar_tensor(
    value: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """A 0-d tensor of one number, in the default dtype unless another is given."""
    dtype = dtype or backend.default_dtype()
    return full((), value, dtype=dtype, device=device, requires_grad=requires_grad)


def full_like(
    x: TensorLike,
    fill_value: Any,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """One value in the shape and (unless given) dtype of x, without history."""
    where = like(as_tensor(x), dtype, device)
    return full(as_tensor(x).shape, fill_value, requires_grad=requires_grad, **where)


def zeros_like(
    x: TensorLike, *, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """Zeros in the shape and (unless given) dtype of x, without history."""
    x = as_tensor(x)
    return new_tensor(
        backend.zeros(x.shape, backend.as_dtype(dtype) or x.dtype, x.array), requires_grad, device
    )


def ones_like(
    x: TensorLike, *, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """Ones in the shape and (unless given) dtype of x, without history."""
    x = as_tensor(x)
    return new_tensor(
        backend.ones(x.shape, backend.as_dtype(dtype) or x.dtype, x.array), requires_grad, device
    )


def empty_like(
    x: TensorLike, *, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """`empty` in the shape and (unless given) dtype of x."""
    return zeros_like(x, dtype=dtype, device=device, requires_grad=requires_grad)


@public(method=False, out=True)
def arange(
    start: float,
    end: float | None = None,
    step: float = 1,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """Numbers from start (default 0) up to, not including, end. int64 for integers, the default
    dtype for floats.
    """
    start, step = _number(start, "arange", "start"), _number(step, "arange", "step")
    end = None if end is None else _number(end, "arange", "end")
    if end is None:
        start, end = 0, start
    if step == 0 or (end - start) / step < 0:
        raise ValueError(
            f"arange({start}, {end}, {step}): the step does not lead from start to end."
        )
    if dtype is None:
        dtype = (
            backend.int64
            if all(isinstance(v, int) for v in (start, end, step))
            else backend.default_dtype()
        )
    if backend.as_dtype(dtype) == backend.int64:  # whole numbers count from whole numbers
        start, end, step = int(start), int(end), int(step)
    return new_tensor(backend.arange(start, end, step, dtype, str(device or "cpu")), requires_grad)


def _number(value: Any, function: str, name: str) -> Any:
    """A 0-d tensor or a scalar of NumPy as a Python number, which says of what kind it is."""
    value = without_graph(value, function, name)
    return value.item() if isinstance(value, Tensor | backend.numpy.generic) else value


@public(method=False, out=True)
def linspace(
    start: Any,
    end: Any,
    steps: int,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """`steps` evenly spaced numbers from start to end, both included; integers are cut off, not
    rounded. dtype: the default one, or the complex one of its precision if an end is complex.
    """
    (steps,) = not_negative(sizes_of((steps,)))
    wanted = backend.as_dtype(dtype) or _spaced_dtype(start, end)
    start, end = _end("linspace", start), _end("linspace", end)
    if not backend.is_differentiable(wanted):
        start, end, i = int(start), int(end), arange(steps, dtype=backend.float64, device=device)
        step = (end - start) / max(steps - 1, 1)
        values = (
            ew.where(i < steps // 2, start + step * i, end - step * (steps - 1 - i))
            if steps > 1
            else start + i
        )
        return new_tensor(values.to(wanted).array, requires_grad)
    return new_tensor(
        backend.linspace(start, end, steps, wanted, str(device or "cpu")), requires_grad
    )


@public(method=False, out=True)
def logspace(
    start: Any,
    end: Any,
    steps: int,
    base: float = 10.0,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """base to the power of each of `steps` evenly spaced numbers from start to end, both of which
    are cut off for integers. dtype: as of `linspace`.
    """
    wanted = backend.as_dtype(dtype) or _spaced_dtype(start, end)
    start, end = _end("logspace", start), _end("logspace", end)
    if wanted.kind in "iu":
        start, end = int(start), int(end)
    wide = backend.complex128 if backend.is_complex(wanted) else backend.float64
    exponents = linspace(start, end, steps, dtype=wide)
    out = (float(base) ** exponents).to(wanted, device=device)
    return out.requires_grad_() if requires_grad else out


def _end(function: str, value: Any) -> Any:
    """An end as a Python number. Raises ShapeError for several elements."""
    if getattr(value, "ndim", 0):
        raise ShapeError(
            f"{function}: start and end must be numbers or tensors of one element without axes, got"
            f" shape {tuple(value.shape)}."
        )
    return _number(value, function, "an end")


def _spaced_dtype(start: Any, end: Any) -> DType:
    """The dtype of numbers between two ends: the default one, or the complex one of its
    precision.
    """
    complexes = [
        v
        for v in (start, end)
        if isinstance(v, complex) or getattr(getattr(v, "dtype", None), "kind", "") == "c"
    ]
    return backend.result_type([1j]) if complexes else backend.default_dtype()


@public(method=False, out=True)
def eye(
    n: int,
    m: int | None = None,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """The n by m matrix with ones on its diagonal."""
    n, m = not_negative(sizes_of((n, n if m is None else m)))
    return new_tensor(
        backend.eye(n, m, dtype or backend.default_dtype(), str(device or "cpu")), requires_grad
    )


publish(__name__, method=False)
