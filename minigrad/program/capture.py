"""A program as a CUDA graph: all kernel launches of a run recorded once, and started by one call
from then on, without Python in between.

A graph repeats the same kernels on the same addresses. So before each launch inputs are copied into
fixed arrays, and the Python numbers that each run reads again (an optimiser's rate, Adam's
corrections) into one array of the device, all in one copy: nothing that may change is frozen. What
the program writes (parameters, states) the graph writes in place; where one of them has moved to
other memory (`p.data = …`, a loaded state), the graph is recorded again. Results and gradients are
copied out: nothing that a caller holds is overwritten.

What asks the device for values cannot be in a graph: shapes that depend on values, moves between
devices. Random draws are refused too.

Products of matrices are given to cuBLAS itself (graph_products.py), because CuPy's cannot be
captured. What needs cuSOLVER (inverses, determinants) cannot be in a graph.

Source: CuPy's documentation of `cupy.cuda.Stream.begin_capture` and
`cupy.cuda.Graph.launch`; memory of its own for each graph, which others neither get nor free, as
PyTorch's CUDA graphs have it.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from .. import backend
from ..errors import ProgramError
from ..ops.elementwise import cast
from .bindings import Binding
from .fused import Fused, cuda_device
from .graph_products import GraphLibrary
from .instructions import Instruction, Operand, Type
from .lower import shaped_by_values
from .memory import fresh
from .run import Replayer, interpret

if TYPE_CHECKING:
    from .program import Program

AT_MOST = 8
"""Times that a graph is recorded again because memory has moved; if it moves in each call, no graph
is faster."""


class CaptureError(ProgramError):
    """A program cannot be a CUDA graph, and why. Nothing has been computed or written."""


class DeviceNumber(Binding):
    """A Python number that each run reads again (`source`, a NumberBinding), as a number in the
    device's memory: `array`, of shape ()."""

    array: Any = None

    def __init__(self, source: Any) -> None:
        self.source, self.name, self.owner = source, source.name, source.owner
        self.update = source.update


class CapturedProgram(Replayer):
    """Calls like the program that it was made of. Inputs must be on the device of the graph."""

    writes_places = True

    def __init__(self, program: Program) -> None:
        """Raises DeviceError unless all values are on one CUDA device, CaptureError (a
        ProgramError) for what no graph can do again.
        """
        self.device = cuda_device(program, "capture")
        problem = obstacle(program)
        if problem is not None:
            raise CaptureError(f"capture: {problem}.")
        backend.need_cuda("capture")
        self.own = numbers_on_device(program, self.device)
        super().__init__(self.own)
        self.copied, self.copied_updates = (
            [True] * len(program.outputs),
            set(),
        )  # of results; updates are written by the graph
        self.graph: Any = None
        # what the graph reads and writes: inputs and numbers that are copied in, captured arrays,
        # results
        self.inputs: list[Any] = []
        self.vector: Any = None
        self.arrays: list[Any] = []
        self.values: dict[int, Any] = {}
        self.done: Any = (
            None  # an event: the latest launch has ended, and its results are copied out
        )
        self.recordings = 0
        self.lock = threading.Lock()

    def checked(self, tensors: Sequence[Any]) -> tuple[list[Any], Any]:
        """As for every program; and there is a graph afterwards for the memory that the
        program's places have now.
        """
        payloads, _ = super().checked(tensors)
        for number, payload in zip(self.own.inputs, payloads, strict=True):
            if backend.device_of(payload) != self.device:
                where = backend.device_of(payload)
                raise ProgramError(
                    f"{self.own.name}: {self.own.name_of(number)} is on {where}, and the graph on"
                    f" {self.device}."
                )
        arrays = [place.array for _, place in self.places]
        with self.lock:
            if self.graph is None or any(
                a is not b for a, b in zip(arrays, self.arrays, strict=True)
            ):
                if self.recordings > AT_MOST:
                    raise CaptureError(
                        "capture: parameters, states or gradients are in other memory in each call."
                        " Overwrite them in place."
                    )
                self._capture(payloads, arrays)
        return payloads, None

    def run(
        self, tensors: Sequence[Any], payloads: list[Any], where: Any, filled: Any = None
    ) -> Any:
        """One launch, on the current stream, on what `checked` found in order."""
        counted: dict[Any, dict[str, Any]] = {}
        for update in self.updates:
            update.count(counted)
        with self.lock, backend.on_device(self.device):
            stream = backend.load_cupy().cuda.get_current_stream()
            stream.wait_event(
                self.done
            )  # the last launch may be running on another stream, and the copies out of its memory
            for fixed, given in zip(self.inputs, payloads, strict=True):
                fixed[...] = given
            if self.numbers:
                self.vector.set(
                    backend.numpy.asarray([float(place.source.array) for _, place in self.numbers])
                )
            self.graph.launch()
            outcome, commit = self.effects
            results, made = outcome(self.values, tensors)
            try:
                commit(tensors, made)
            except BaseException:
                commit(tensors, made)
                raise
            self.done = stream.record()
        return self.finish(results, tensors)

    def _capture(self, payloads: list[Any], arrays: list[Any]) -> None:
        """Record the graph, in memory of its own. Nothing is written but that memory. Raises
        CaptureError where CUDA or CuPy refuse.
        """
        cupy = backend.load_cupy()
        with backend.on_device(self.device):
            now, stream, pool = (
                cupy.cuda.get_current_stream(),
                cupy.cuda.Stream(non_blocking=True),
                cupy.cuda.MemoryPool(),
            )
            with stream, cupy.cuda.using_allocator(pool.malloc):
                stream.wait_event(now.record())
                inputs, vector = [fresh(p) for p in payloads], cupy.ones(len(self.numbers))
                for k, (_, place) in enumerate(self.numbers):
                    place.array = vector[k, ...]
                try:
                    library = GraphLibrary(stream)
                    # once without capture: kernels are compiled, tables made, memory pooled
                    interpret(self.own, inputs, library=library)
                    stream.begin_capture()
                    values = self._in_place(
                        interpret(self.own, inputs, library=library),
                        [*inputs, *arrays, *self.own.constants.values()],
                    )
                    graph = stream.end_capture()
                except Exception as error:
                    with suppress(
                        Exception
                    ):  # to end a recording that was refused is itself an error
                        if stream.is_capturing():
                            stream.end_capture()
                    reason = f"{type(error).__name__}: {error}".rstrip(".")
                    raise CaptureError(
                        f"capture: {reason}. A graph cannot hold what waits for the device or moves"
                        " data."
                    ) from error
            stream.synchronize()
            self.done = now.record()
        self.inputs, self.vector, self.arrays, self.values, self.graph = (
            inputs,
            vector,
            arrays,
            values,
            graph,
        )
        # whose memory the graph reads and writes: kept as long as the graph
        self.pool, self.stream, self.library = pool, stream, library
        self.recordings += 1

    def _in_place(self, values: dict[int, Any], given: list[Any]) -> dict[int, Any]:
        """A part of the graph: what lives on, out of all memory that is about to be overwritten,
        and then the updates.
        """
        known = {id(array) for array in given}
        kept = {
            n: a if backend.owns_fresh_memory(a) and id(a) not in known else fresh(a)
            for n, a in values.items()
        }
        for number, value in self.own.updates.items():
            if number in self.own.captured:
                self.own.captured[number].array[...] = kept[value]
        return kept


def obstacle(program: Program) -> str | None:
    """Why a program cannot be a CUDA graph, in words, as far as it can be told without recording
    one.
    """
    shaped = shaped_by_values(program.instructions, program.types)
    if shaped is not None:
        return f"{shaped}, so the device must be asked for them"
    for instruction in program.instructions:
        name = instruction.primitive.name
        if instruction.primitive.random:
            return (
                f"{name} draws random numbers, and that a graph draws new ones each time was never"
                " tried. Pass the numbers as an input"
            )
        known = [program.types[n] for n in (*instruction.reads(), *instruction.outputs)]
        if len({found.device for found in known if not found.number}) > 1:
            return f"{name} copies data between devices"
    return None


def numbers_on_device(program: Program, device: str) -> Program:
    """The program with its Python numbers in the device's memory, as float64. An array of another
    dtype meets each in its own dtype, as it
    would meet a Python number: a cast comes before. Fused kernels cast by themselves.
    """
    types, instructions = list(program.types), []
    casts: dict[Any, int] = {}
    for i in program.instructions:
        operands: list[Operand] = list(i.operands)
        for position, o in enumerate(operands):
            if type(o) is not int or not types[o].number or isinstance(i.primitive, Fused):
                continue
            met = next(
                (types[n].dtype for n in i.reads() if not types[n].number),
                types[i.outputs[0]].dtype,
            )
            dtype = {"complex64": backend.float32, "complex128": backend.float64}.get(met.name, met)
            if (o, dtype) not in casts:
                casts[o, dtype] = len(types)
                types.append(Type((), dtype, device))
                instructions.append(
                    Instruction(cast, (o,), {"dtype": dtype}, (casts[o, dtype],), i.phase)
                )
            operands[position] = casts[o, dtype]
        instructions.append(i.like(tuple(operands), i.params, i.outputs))
    captured = {
        n: DeviceNumber(place) if types[n].number else place
        for n, place in program.captured.items()
    }
    return replace(program, instructions=instructions, types=types, captured=captured)
