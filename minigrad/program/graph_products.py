"""Matrix products that a CUDA graph can record.

While a stream is captured, CuPy refuses every call of cuBLAS. cuBLAS itself can be recorded if its
workspace is given to it. So products of float32 and float64 call cuBLAS directly here, without
CuPy. cuBLAS's matrices are in column-major order, so what is computed is outᵀ = bᵀ aᵀ; a matrix
that is transposed in memory is not copied.

Source: NVIDIA, cuBLAS, "cublas<t>gemmStridedBatched" and "CUDA Graphs support".
"""

from __future__ import annotations

import ctypes
import functools
import sys
from typing import Any

from .. import backend

WORKSPACE = 32 << 20
"""Bytes of cuBLAS's workspace: what NVIDIA recommends for the newest devices."""
GEMM: dict[str, tuple[str, Any]] = {
    "float32": ("cublasSgemmStridedBatched", ctypes.c_float),
    "float64": ("cublasDgemmStridedBatched", ctypes.c_double),
}
"""cuBLAS's product for a dtype, and the C type of its factors."""
_PLAIN, _TRANSPOSED = 0, 1


class GraphLibrary:
    """CuPy for a stream that is captured, on the current device: its `matmul` is recorded.

    workspace: memory that is to be kept as long as the graph.
    """

    def __init__(self, stream: Any) -> None:
        """Raises OSError where cuBLAS is not found, RuntimeError where it refuses."""
        self._cupy = backend.load_cupy()
        self._cublas, self._handle = _cublas(self._cupy.cuda.get_device_id())
        self.workspace = self._cupy.empty(WORKSPACE, "uint8")
        self._call("cublasSetStream_v2", ctypes.c_void_p(stream.ptr))
        memory = ctypes.c_void_p(self.workspace.data.ptr)
        self._call("cublasSetWorkspace_v2", memory, ctypes.c_size_t(WORKSPACE))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cupy, name)

    def _call(self, name: str, *arguments: Any) -> None:
        _checked(name, getattr(self._cublas, name)(self._handle, *arguments))

    def matmul(self, a: Any, b: Any, out: Any = None) -> Any:
        """As NumPy's, of arrays with at least one axis. Dtypes other than float32 and float64 are
        CuPy's, which refuses them while a stream is captured."""
        if a.dtype != b.dtype or a.dtype.name not in GEMM:
            return self._cupy.matmul(a, b, out=out)
        left, right = a[None] if a.ndim == 1 else a, b[:, None] if b.ndim == 1 else b
        batch = backend.numpy.broadcast_shapes(left.shape[:-2], right.shape[:-2])
        shape = (*batch, left.shape[-2], right.shape[-1])
        made = self._cupy.zeros(shape, a.dtype)
        if a.size and b.size:
            self._multiply(_stack(left, batch), _stack(right, batch), made.reshape(-1, *shape[-2:]))
        kept = (*batch, *shape[-2:][: a.ndim > 1], *shape[-1:][: b.ndim > 1])
        if out is None:
            return made.reshape(kept)
        out[...] = made.reshape(kept)
        return out

    def _multiply(self, a: Any, b: Any, out: Any) -> None:
        """Of (count, rows, inner) and (count, inner, columns), into (count, rows, columns)."""
        (a, a_order, a_step), (b, b_order, b_step) = _layout(a), _layout(b)
        count, rows, columns = out.shape
        name, number = GEMM[out.dtype.name]
        pointer, step = ctypes.c_void_p, ctypes.c_longlong
        one, zero = ctypes.byref(number(1)), ctypes.byref(number(0))
        self._call(
            name, b_order, a_order, columns, rows, a.shape[2],
            one, pointer(b.data.ptr), b_step, step(_between(b)),
            pointer(a.data.ptr), a_step, step(_between(a)),
            zero, pointer(out.data.ptr), columns, step(rows * columns), count,
        )  # fmt: skip


def _stack(x: Any, batch: tuple[int, ...]) -> Any:
    """Matrices with these axes before theirs as (count, rows, columns)."""
    matrix = x.shape[-2:]
    return backend.load_cupy().broadcast_to(x, (*batch, *matrix)).reshape(-1, *matrix)


def _layout(x: Any) -> tuple[Any, int, int]:
    """(count, rows, columns) in a layout that cuBLAS reads, whether it is transposed, and the
    elements from one row (or, transposed, one column) to the next.
    """
    for order, (inner, outer) in ((_PLAIN, (2, 1)), (_TRANSPOSED, (1, 2))):
        step = x.strides[outer] // x.itemsize
        if x.strides[inner] == x.itemsize and step >= x.shape[inner]:
            return x, order, step
    x = backend.load_cupy().ascontiguousarray(x)
    return x, _PLAIN, x.shape[2]


def _between(x: Any) -> int:
    """Elements from one matrix to the next."""
    return x.strides[0] // x.itemsize if len(x) > 1 else 0


@functools.cache
def _cublas(device: int) -> tuple[Any, Any]:
    """The library that CuPy uses, and a handle of it for a device."""
    version = backend.load_cupy().cuda.runtime.runtimeGetVersion() // 1000
    windows = sys.platform == "win32"
    library = ctypes.CDLL(f"cublas64_{version}.dll" if windows else f"libcublas.so.{version}")
    handle = ctypes.c_void_p()
    _checked("cublasCreate_v2", library.cublasCreate_v2(ctypes.byref(handle)))
    return library, handle


def _checked(name: str, status: int) -> None:
    if status:
        raise RuntimeError(f"{name}: cuBLAS answers with status {status}.")
