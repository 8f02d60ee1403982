"""A program as a CUDA graph: one recording of all kernel launches, replayed by the GPU without Python in between.

Not measured: this was written against CuPy's documented interface and has not been run on a device. A CUDA graph repeats the same kernels
on the same addresses, so inputs are copied into fixed arrays first, and results are copied out. What synchronises with the host cannot be
captured (the driver says so): operations that read values back, among them indices from data, and random draws, which NumPy makes.
Source: CuPy's documentation of `cupy.cuda.Stream.begin_capture` and `cupy.cuda.Graph.launch`.
"""

from __future__ import annotations

from typing import Any

from .. import backend
from ..errors import DeviceError, ProgramError
from ..ops.chance import RANDOM
from .instructions import Program
from .run import Replayer, fresh, interpret


class CapturedProgram:
    """Calls like the program it was made of. Inputs must be on the device of the graph."""

    def __init__(self, program: Program) -> None:
        """Raises DeviceError unless all values are on one CUDA device, ProgramError if the program draws random numbers."""
        devices = {program.types[n].device for n in range(len(program.types))}
        if len(devices) != 1 or not next(iter(devices)).startswith("cuda"):
            raise DeviceError(
                f"capture: a CUDA graph needs all values on one CUDA device; this program's are on {', '.join(sorted(devices))}."
            )
        drawn = [i.primitive.name for i in program.instructions if i.primitive.name in RANDOM]
        if drawn:
            raise ProgramError(f"capture: {drawn[0]} draws on the host, which a CUDA graph cannot do again. Pass the numbers as an input.")
        backend.need_cuda("capture")
        self.program, self.checks = program, Replayer(program)
        self.inputs: list[Any] | None = None
        self.values: dict[int, Any] = {}
        self.graph: Any = None

    def __call__(self, *inputs: Any) -> Any:
        """Run on new inputs of the same shapes and dtypes; the first call records the graph."""
        tensors = self.checks.leaves(inputs)
        payloads = [self.checks.payload(i, tensor) for i, tensor in enumerate(tensors)]
        cupy = backend.load_cupy()
        if self.inputs is None:
            self.inputs = [fresh(p) for p in payloads]
            interpret(self.program, self.inputs)  # once without capture: kernels are compiled, libraries set up, memory pooled
            stream = cupy.cuda.Stream(non_blocking=True)
            with stream:
                stream.begin_capture()
                self.values = interpret(self.program, self.inputs)
                self.graph = stream.end_capture()
            stream.synchronize()
        for fixed, given in zip(self.inputs, payloads, strict=True):
            fixed[...] = given
        self.graph.launch()
        return self.checks.results({n: fresh(value) for n, value in self.values.items()}, tensors)
