"""Methods that convert: to Python's numbers, NumPy's arrays, text and pickles, to other dtypes
and devices.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from .. import backend, functions, observers
from ..core import observe
from ..core.graph import state
from ..core.tensor import (
    Leaf,
    Tensor,
    alias,
    current_node,
    ensure_version,
    make_leaf,
    wrap,
)
from ..entry_points import as_number, item, made_of_data
from ..errors import AutogradError, InPlaceError
from ..names import attach, attribute, method
from ..ops import elementwise as ew
from ..roles import role_of, set_role
from ..storage import Place, Storage, storage_of

method(item)
for _kind in (float, int, complex):
    attach(f"__{_kind.__name__}__", as_number(_kind))


@method
def __bool__(self: Tensor) -> bool:
    if observe.observers:
        observers.notify("decided", self)
    return bool(_truth(self))


def _truth(self: Tensor) -> Any:
    if self.numel() != 1:
        raise RuntimeError(
            f"the truth value of a tensor with {self.numel()} elements is ambiguous. Use .any() or"
            " .all()."
        )
    return backend.to_numpy(self.array).item()


attach("__format__", lambda self, spec: format(self.item(), spec) if spec else repr(self))


@method
def __index__(self: Tensor) -> int:
    if self.dtype.kind not in "iub" or self.numel() != 1:
        observers.notify("indexed", self)
        raise TypeError(
            "only integer tensors of a single element can be used as an index or in range(), not"
            f" one of {self.dtype} and shape {self.shape}."
        )
    return int(self.item())


@method
def tolist(self: Tensor) -> Any:
    """The elements as nested lists of Python numbers."""
    return backend.to_numpy(self.array).tolist()


@method
def numpy(self: Tensor, *, force: bool = False) -> Any:
    """The values as a NumPy array that shares this tensor's memory. Raises for tensors that require
    grad; `force` detaches and copies from a device.
    """
    if not force:
        if state.recording and current_node(self) is not None:
            raise AutogradError(
                "this tensor requires grad, and a NumPy array cannot record operations. Use"
                " x.detach().numpy()."
            )
        if type(self.array) is not backend.NumpyArray and backend.device_of(self.array) != "cpu":
            raise AutogradError(
                f"this tensor is on {backend.device_of(self.array)}. Use x.cpu().numpy() to copy it"
                " to the host."
            )
    if self.version is None:
        ensure_version(self)
    array = self.array
    return array if type(array) is backend.NumpyArray else backend.to_numpy(array)


@method
def __array__(self: Tensor, dtype: Any = None, copy: bool | None = None) -> Any:
    array = numpy(self)
    return array if dtype is None and not copy else array.astype(dtype or array.dtype)


@method
def __dlpack__(self: Tensor, **options: Any) -> Any:
    """This tensor's memory for another library, as the DLPack protocol has it:
    `torch.from_dlpack(x)`, `jax.dlpack.from_dlpack(x)`.

    options: of the protocol (stream, max_version, dl_device, copy). Raises AutogradError for
    tensors that require grad.
    """
    if current_node(self) is not None:
        raise AutogradError(
            "this tensor requires grad, and another library cannot record its operations. Hand over"
            " x.detach()."
        )
    ensure_version(self)
    return self.array.__dlpack__(**options)


@method
def __dlpack_device__(self: Tensor) -> Any:
    """DLPack's kind of memory (1 the CPU, 2 CUDA) and the number of the device."""
    ensure_version(self)
    return self.array.__dlpack_device__()


@method
def __repr__(self: Tensor) -> str:
    text = "tensor(" + backend.format_array(self.array, "tensor(")
    empty = functions.numel(self) == 0
    parts = []
    if empty and self.shape != (0,):
        parts.append(f"size={self.shape}")
    if self.dtype != backend.default_dtype() and (
        empty or self.dtype not in (backend.int64, backend.bool_, backend.complex64)
    ):
        parts.append(f"dtype={self.dtype}")
    device = backend.device_of(self.array)
    if device != "cpu":
        parts.append(f"device='{device}'")
    try:
        node = current_node(self)
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


@method
def __copy__(self: Tensor) -> Tensor:
    return alias(self) if current_node(self) is None else _leaf_copy(self, alias(self))


@method
def __deepcopy__(self: Tensor, memo: dict[int, Any]) -> Tensor:
    # tensors that share memory share that of their copies
    if type(self.array) is backend.NumpyArray:
        storage, place = storage_of(self.array)
        out = _leaf_copy(self, copy.deepcopy(storage, memo).tensor(place))
    else:
        out = _leaf_copy(self, wrap(backend.as_payload(self.array)))
    memo[id(self)] = out
    if role_of(self) != "parameter":  # PyTorch's copies of parameters begin without a gradient
        out.stored_grad = copy.deepcopy(self.stored_grad, memo)
    return out


def _leaf_copy(self: Tensor, out: Tensor) -> Tensor:
    node = current_node(self)
    if node is not None and not isinstance(node, Leaf):
        raise AutogradError(
            "only leaf tensors can be copied or pickled. Use x.detach().clone() for the values, or"
            " x.clone() to stay in the graph."
        )
    if isinstance(node, Leaf):
        make_leaf(out)
        assert isinstance(out.node, Leaf)
        out.node.stores_grad = node.stores_grad
    set_role(out, role_of(self))
    return out


@method
def __reduce__(self: Tensor) -> Any:
    node = current_node(self)
    if node is not None and not isinstance(node, Leaf):
        raise AutogradError("only leaf tensors can be pickled. Use x.detach().")
    storage = storage_of(backend.materialise(backend.to_numpy(self.array)))
    return _rebuild, (*storage, node is not None, role_of(self))


def _rebuild(
    storage: Storage, place: Place, requires_grad: bool, role: str | None = None
) -> Tensor:
    out = storage.tensor(place)
    if requires_grad:
        make_leaf(out)
    set_role(out, role)
    return made_of_data(out)


@method
def to(
    self: Tensor,
    *args: Any,
    dtype: Any = None,
    device: Any = None,
    non_blocking: bool = False,
    copy: bool = False,
) -> Tensor:
    """Another dtype, another device, or those of another tensor; the tensor itself where nothing
    changes, unless `copy` is true. Gradients flow back converted. non_blocking changes nothing:
    copies are in order.
    """
    flags = [a for a in args if isinstance(a, bool)]  # in this order: non_blocking, copy
    copy = flags[1] if len(flags) > 1 else copy
    for a in args:
        if isinstance(a, Tensor):
            dtype, device = a.dtype, backend.device_of(a.array)
        elif isinstance(a, str) and (a == "cpu" or a.startswith("cuda")):
            device = a
        elif isinstance(a, bool):
            continue
        elif hasattr(a, "type") and hasattr(a, "index") and not hasattr(a, "itemsize"):
            device = str(a)
        else:
            dtype = a
    out = self
    wanted = backend.as_dtype(dtype)
    if wanted is not None and wanted != self.dtype:
        out = ew.cast(out, dtype=wanted)
    if device is not None and str(device) not in (
        backend.device_of(self.array),
        backend.device_of(self.array).partition(":")[0],
    ):
        from ..ops.device import move

        out = move(out, device=str(device), back=backend.device_of(self.array))
    return functions.clone(out) if copy and out is self else out


def _converting(name: str, dtype: backend.DType) -> Callable[[Tensor], Tensor]:
    def method(self: Tensor) -> Tensor:
        return to(self, dtype=dtype)

    method.__name__ = name
    method.__doc__ = f"This tensor in {dtype}; the tensor itself where it has that dtype."
    return method


_DTYPES = (
    "double float half long int bool cfloat cdouble short char byte",
    "float64 float32 float16 int64 int32 bool_ complex64 complex128 int16 int8 uint8",
)
for _name, _dtype in zip(*map(str.split, _DTYPES), strict=True):
    attach(_name, _converting(_name, getattr(backend, _dtype)))


@method
def bfloat16(self: Tensor) -> Tensor:
    """This tensor in bfloat16. Raises DTypeError where the package ml_dtypes is not installed."""
    return to(self, dtype=backend.bfloat16_dtype())


def _type(self: Tensor, dtype: Any = None) -> Any:
    """The dtype's name, or this tensor converted to `dtype`."""
    return str(self.dtype) if dtype is None else to(self, dtype=backend.as_dtype(dtype))


attach("type", _type)


@method
def type_as(self: Tensor, other: Tensor) -> Tensor:
    """This tensor in the dtype of another."""
    return to(self, dtype=other.dtype)


@method
def is_signed(self: Tensor) -> bool:
    """Whether the dtype has negative numbers."""
    return self.dtype.kind in "ifcV"


@method
def cpu(self: Tensor) -> Tensor:
    """This tensor in the CPU's memory; the tensor itself where it is there."""
    return to(self, device="cpu")


@method
def cuda(self: Tensor, device: Any = "cuda", non_blocking: bool = False) -> Tensor:
    """This tensor on a CUDA device (its number or name). non_blocking: as of `to`."""
    return to(self, device=f"cuda:{device}" if isinstance(device, int) else str(device))


@attribute
def device(self: Tensor) -> backend.Device:
    """Where the memory is: "cpu", "cuda:0"."""
    return backend.Device(backend.device_of(self.array))


@method
def get_device(self: Tensor) -> int:
    """The number of the CUDA device, -1 for the CPU."""
    return -1 if self.device == "cpu" else self.device.index


attach(
    "is_cpu",
    property(lambda self: self.device == "cpu", doc="Whether the tensor is in the CPU's memory."),
)
attach(
    "is_cuda",
    property(
        lambda self: self.device.startswith("cuda"), doc="Whether the tensor is on a CUDA device."
    ),
)


def _like(make: Callable[..., Tensor], name: str, text: str) -> None:
    def method(self: Tensor, *args: Any, **options: Any) -> Tensor:
        options.setdefault("dtype", self.dtype)
        options.setdefault("device", backend.device_of(self.array))
        return make(*args, **options)

    method.__name__ = name
    method.__doc__ = f"{text} The dtype and device are this tensor's unless given; no history."
    attach(name, method)


_like(functions.tensor, "new_tensor", "A new leaf holding a copy of `data`.")
_like(functions.zeros, "new_zeros", "Zeros of the given sizes.")
_like(functions.ones, "new_ones", "Ones of the given sizes.")
_like(functions.full, "new_full", "One value in the given size.")
_like(functions.empty, "new_empty", "`empty` of the given sizes.")
