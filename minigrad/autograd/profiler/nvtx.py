"""Names for the time lines of NVIDIA's profilers: every operation of the engine emits an NVTX
range, through CuPy.
"""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

from ... import backend, observers
from ...core.graph import Node
from ...core.observe import Event
from ...core.tensor import Tensor
from ...errors import DeviceError
from .names import event_name, place_of


class emit_nvtx:
    """Emit an NVTX range for each operation inside a `with` block: run the program under nsys or
    nvprof to see them.

    enabled: False makes the block an ordinary one; record_shapes: add the inputs' shapes to the
    ranges' names, [] for what is no tensor. Names are `mul, seq = 5` for a forward operation (5 is
    the number that the node it makes, if any, will have) and `MulBackward0, stashed seq = 5` for
    the backward pull of that node. Raises DeviceError where CuPy or a CUDA device is missing.
    """

    def __init__(self, enabled: bool = True, record_shapes: bool = False) -> None:
        self.enabled, self.record_shapes = enabled, record_shapes
        self._emitter: _Emitter | None = None

    def __enter__(self) -> emit_nvtx:
        if not self.enabled:
            return self
        if self._emitter is not None:
            raise RuntimeError(
                "this emit_nvtx is in use already; make a new one for a nested block."
            )
        if not backend.cuda_is_available():
            raise DeviceError(
                "emit_nvtx: NVTX ranges go to NVIDIA's profilers through CuPy, and there is no CUDA"
                " device with CuPy here. Use autograd.profiler.profile() to time the CPU."
            )
        self._emitter = _Emitter(backend.load_cupy().cuda.nvtx, self.record_shapes)
        observers.add_observer(self._emitter)
        return self

    def __exit__(self, *_: object) -> None:
        if self._emitter is not None:
            observers.remove_observer(self._emitter)
            self._emitter = None


class _Emitter:
    def __init__(self, nvtx: Any, record_shapes: bool) -> None:
        self._nvtx, self._record_shapes = nvtx, record_shapes
        self._next = 0
        self._numbers: WeakKeyDictionary[Node, int] = WeakKeyDictionary()

    def begin(self, event: Event) -> None:
        self._nvtx.RangePush(self._label(event))

    def end(self, event: Event) -> None:
        self._nvtx.RangePop()
        node = place_of(event)
        if event.phase == "forward" and node is not None:
            self._numbers[node] = self._next
            self._next += 1

    def _label(self, event: Event) -> str:
        label = event_name(event)
        if event.phase == "backward":
            number = self._numbers.get(event.node)
            label += "" if number is None else f", stashed seq = {number}"
        elif event.phase == "forward":
            label += f", seq = {self._next}"
        if self._record_shapes:
            sizes = [
                list(a.shape) if isinstance(a, Tensor) or hasattr(a, "shape") else []
                for a in event.args
            ]
            label += f", sizes = {sizes}"
        return label
