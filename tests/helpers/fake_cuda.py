"""CUDA without hardware: the strict fake device under CuPy's name, with streams, graphs that record
and replay, and kernels in C.

What CuPy would launch while a stream is captured is not computed but noted, in memory that holds
NaN until the graph is launched. Kernels given as C are compiled by the host's C++ compiler; only
what CUDA names differently stands between. So the texts and the bookkeeping are really run; what a
device itself does (memory, order among streams, speed) is not.
"""

from __future__ import annotations

import ctypes
import functools
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import pytest

from minigrad import backend
from minigrad.program import graph_products
from tests.helpers.fake_device import FakeArray, FakeLibrary, Tape, _made, synchronised, uploaded

COMPILER = shutil.which("g++") or shutil.which("clang++")
needs_compiler = pytest.mark.skipif(
    COMPILER is None, reason="there is no C++ compiler for the kernels (apt-get install g++)"
)
NAMES_IN_C = {"float32": "float", "float64": "double", "bool": "bool"}
HOST = "#include <cmath>\nusing namespace std;\n#define __device__\n"
log: list[Any] = []
"""What streams were asked for, in order."""


class Context:
    """`with` makes it current, and then the one before it again."""

    current: ClassVar[list[Any]]

    def __enter__(self) -> Any:
        type(self).current.append(self)
        return self

    def __exit__(self, *error: Any) -> None:
        assert type(self).current.pop() is self


class Device(Context):
    current: ClassVar[list[Any]] = []

    def __init__(self, number: int) -> None:
        self.id = number


class Graph:
    def __init__(self, tape: Tape) -> None:
        self.tape = tape

    def launch(self) -> None:
        assert Tape.current is None
        log.append(("launch", self, Stream.current[-1]))
        self.tape.replay()


class Stream(Context):
    current: ClassVar[list[Any]] = []
    capturing: Tape | None = None

    ptr = 1

    def __init__(self, non_blocking: bool = False) -> None:
        assert non_blocking

    def begin_capture(self) -> None:
        assert Tape.current is None and Stream.current[-1] is self
        self.capturing = Tape.current = Tape()

    def end_capture(self) -> Graph:
        assert self.capturing is Tape.current is not None
        tape, self.capturing, Tape.current = self.capturing, None, None
        if tape.broken:
            raise RuntimeError("cudaErrorStreamCaptureInvalidated")
        return Graph(tape)

    def is_capturing(self) -> bool:
        return self.capturing is not None

    def record(self) -> Any:
        return SimpleNamespace(of=self)

    def wait_event(self, event: Any) -> None:
        log.append(("wait", self, event.of))

    def synchronize(self) -> None:
        assert Tape.current is None
        log.append(("synchronize", self))


class MemoryPool:
    def malloc(self, size: int) -> None:
        raise AssertionError("nothing is allocated here")


class Allocator(Context):
    current: ClassVar[list[Any]] = []

    def __init__(self, allocate: Any) -> None:
        self.allocate = allocate


class FakeCublas:
    """The functions of cuBLAS that minigrad calls, on the host's memory: pointers are addresses,
    matrices are in column-major order. What is captured is computed when the graph is launched.
    """

    def cublasSetStream_v2(self, handle: Any, stream: Any) -> int:
        return 0

    def cublasSetWorkspace_v2(self, handle: Any, memory: Any, size: Any) -> int:
        assert size.value >= 4 << 20
        return 0

    def cublasSgemmStridedBatched(self, *arguments: Any) -> int:
        return self._multiply(np.dtype("float32"), *arguments)

    def cublasDgemmStridedBatched(self, *arguments: Any) -> int:
        return self._multiply(np.dtype("float64"), *arguments)

    def _multiply(
        self, dtype: Any, handle: Any, a_turned: int, b_turned: int, m: int, n: int, k: int,
        one: Any, a: Any, a_step: int, a_between: Any, b: Any, b_step: int, b_between: Any,
        zero: Any, c: Any, c_step: int, c_between: Any, count: int,
    ) -> int:  # fmt: skip
        def matrices(at: Any, rows: int, columns: int, step: int, between: Any, turned: int) -> Any:
            rows, columns = (columns, rows) if turned else (rows, columns)
            assert step >= rows
            last = (count - 1) * between.value + (columns - 1) * step + rows
            memory = np.ctypeslib.as_array(
                ctypes.cast(at, ctypes.POINTER(np.ctypeslib.as_ctypes_type(dtype))), (last,)
            )
            strides = np.array([between.value, 1, step]) * dtype.itemsize
            found = np.lib.stride_tricks.as_strided(memory, (count, rows, columns), strides)
            return found.swapaxes(1, 2) if turned else found

        given = (
            matrices(a, m, k, a_step, a_between, a_turned),
            matrices(b, k, n, b_step, b_between, b_turned),
        )
        out = matrices(c, m, n, c_step, c_between, 0)

        def compute() -> None:
            out[...] = np.matmul(*given)

        if Tape.current is None:
            compute()
        else:
            Tape.current.steps.append(compute)
        return 0


class ElementwiseKernel:
    """A kernel given as text, compiled for the host. As strict as CuPy's: dtypes are as
    declared, or Python numbers.
    """

    made: ClassVar[list[Any]] = []

    def __init__(
        self,
        in_params: str,
        out_params: str,
        operation: str,
        name: str,
        *,
        options: tuple[str, ...],
        preamble: str,
    ) -> None:
        assert name.isidentifier() and options == ("--fmad=false",)
        self.reads, self.makes = (
            [tuple(p.split()) for p in text.split(", ")] for text in (in_params, out_params)
        )
        names = [n for _, n in (*self.reads, *self.makes)]
        assert len(set(names)) == len(names)
        self.function = compiled(host_source(self.reads, self.makes, operation, preamble)).run
        ElementwiseKernel.made.append(self)

    def __call__(self, *args: Any) -> Any:
        given = []
        for (dtype, name), a in zip(self.reads, args, strict=True):
            if isinstance(a, FakeArray):
                if a.dtype != dtype:
                    raise TypeError(f"Type is mismatched. {name} {dtype} {a.dtype}")
                given.append(a._memory)
            else:
                assert type(a) in (bool, int, float)
                given.append(np.asarray(a, dtype))

        def compute() -> Any:
            arrays = [np.array(a, order="C") for a in np.broadcast_arrays(*given)]
            results = [np.empty(arrays[0].shape, dtype) for dtype, _ in self.makes]
            pointers = [a.ctypes.data for a in (*arrays, *results)]
            self.function(
                ctypes.c_long(arrays[0].size), (ctypes.c_void_p * len(pointers))(*pointers)
            )
            return results[0] if len(results) == 1 else tuple(results)

        return _made(compute)


def host_source(reads: Any, makes: Any, operation: str, preamble: str) -> str:
    """A loop over arrays that lie row after row, around the text that CuPy would put into a
    kernel.
    """
    lines = [
        f"const {NAMES_IN_C[d]} {n} = ((const {NAMES_IN_C[d]} *)p[{i}])[i];"
        for i, (d, n) in enumerate(reads)
    ]
    lines += [
        f"{NAMES_IN_C[d]} &{n} = (({NAMES_IN_C[d]} *)p[{len(reads) + i}])[i];"
        for i, (d, n) in enumerate(makes)
    ]
    body = "\n".join([*lines, operation])
    return (
        f'{HOST}{preamble}\nextern "C" void run(long n, void **p) {{\nfor (long i = 0; i < n; i++)'
        f" {{\n{body}\n}}\n}}\n"
    )


@functools.cache
def compiled(source: str) -> Any:
    """The functions of a C++ text. Products and sums are rounded one by one."""
    with tempfile.TemporaryDirectory() as folder:
        text, library = Path(folder, "kernel.cpp"), Path(folder, "kernel.so")
        text.write_text(source, encoding="utf-8")
        command = [
            COMPILER,
            "-std=c++17",
            "-O1",
            "-ffp-contract=off",
            "-shared",
            "-fPIC",
            "-o",
            str(library),
            str(text),
        ]
        ended = subprocess.run(command, capture_output=True, text=True)
        assert ended.returncode == 0, f"{ended.stderr}\n{source}"
        return ctypes.CDLL(str(library))


class FakeCupy(FakeLibrary):
    """The fake library with what CuPy has besides NumPy's functions."""

    __name__ = "cupy"
    ndarray = FakeArray
    ElementwiseKernel = ElementwiseKernel
    cuda = SimpleNamespace(
        Device=Device,
        Stream=Stream,
        MemoryPool=MemoryPool,
        using_allocator=Allocator,
        runtime=SimpleNamespace(getDeviceCount=lambda: 1),
        get_device_id=lambda: Device.current[-1].id,
        get_current_stream=lambda: Stream.current[-1],
    )


@pytest.fixture
def cuda(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A stand-in for CuPy with one device, "cuda:0"."""
    library = FakeCupy()
    monkeypatch.setitem(backend.MODULES, FakeArray, library)
    monkeypatch.setitem(sys.modules, "cupy", library)
    monkeypatch.setattr(graph_products, "_cublas", lambda device: (FakeCublas(), None))
    Device.current[:], Stream.current[:], Allocator.current[:] = (
        [Device(0)],
        [Stream(non_blocking=True)],
        [],
    )
    log.clear()
    synchronised.clear()
    uploaded.clear()
    yield library
    assert Tape.current is None
