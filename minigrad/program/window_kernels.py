"""Pooling along an axis as a loop, for programs with kernels on the CPU.

    for first in range(uint64(0), outer, uint64(136)):
        ...
        for j in range(images * uint64(30)):
            y[j] = larger(larger(x[j], x[j + uint64(1)]), x[j + uint64(2)])

An array is seen as (outer, n, inner), with windows along its middle axis, and copied in tiles into
scratch lines that hold the padding too (as in ops/pooling.py, which says how). Then all windows of
a tile are one long loop without edges, which LLVM turns into vector instructions. A maximum's
derivative goes to the first element that equals it: its place in the window is found first, and
then one loop for each place adds what it gets. All results have the bits of the operations.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from ..ops.convolution import window_count
from ..ops.sums import accumulator
from .generated_kernel import Generated
from .instructions import Instruction
from .kernel_files import compiled
from .row_groups import Sources

if TYPE_CHECKING:
    from .program import Program

TILE = 4096
"""Elements of a scratch array: few enough for the first cache."""
LARGEST = 16
"""Elements of a window that is written out."""
TYPES = {"float32": "f32", "float64": "f64"}
HEAD = """from numba import njit, float32 as f32, float64 as f64, int32, uint64
from numpy import empty, full, inf, nan
from minigrad.program.numba_functions import larger
"""


def is_window(program: Program, instruction: Instruction) -> bool:
    """Whether a loop can be written for an instruction."""
    if instruction.primitive.windows is None:
        return False
    kinds = [program.types[n] for n in (*instruction.reads(), *instruction.outputs)]
    size, stride = instruction.params["size"], instruction.params["stride"]
    dtype = kinds[0].dtype
    return (
        {kind.dtype.name for kind in kinds} in ({"float32"}, {"float64"})
        and all(0 not in kind.shape for kind in kinds)
        and size <= LARGEST
        and min(instruction.params["padding"]) >= 0
        and accumulator(dtype, max(size, -(-size // stride))) == dtype
    )


class WindowKernel(Generated):
    """One pooling operation as a function."""

    def __init__(self, program: Program, instruction: Instruction) -> None:
        super().__init__(program, Sources(program, False), [instruction], {*instruction.outputs})
        self.name = f"fused_{instruction.primitive.name}"
        self._lines = _WindowWriter(program, instruction, self.arrays).written()

    def source(self) -> str:
        """The function's text."""
        count = len(self.reads) + self.outputs
        heads = [f"a{k} = p{k}.ravel()" for k in range(count)]
        body = "\n    ".join([*heads, *self._lines])
        return f"def kernel({', '.join(f'p{k}' for k in range(count))}):\n    {body}\n"

    @property
    def text(self) -> str:
        return f"# {self.name}\n{self.source()}"

    def function(self, scalars: frozenset[int], held: frozenset[int] = frozenset()) -> Any:
        return compiled(HEAD, self.source(), self.name)


class _WindowWriter:
    """Writes the body. Sizes that LLVM should not know, for short loops are slower when it unrolls
    them, are read from the arrays."""

    def __init__(self, program: Program, instruction: Instruction, arrays: dict[int, str]) -> None:
        self.form, how = instruction.primitive.windows, instruction.params
        reads, out = instruction.reads(), instruction.outputs[0]
        self.back = self.form in ("first largest", "spread")
        image, windows = (out, reads[0]) if self.back else (reads[0], out)
        shape, axis = program.types[image].shape, how["axis"]
        self.type = TYPES[program.types[image].dtype.name]
        self.size, self.stride, self.before = how["size"], how["stride"], how["padding"][0]
        self.shape, self.axis = shape, axis
        n = shape[axis]
        self.outer, self.inner = math.prod(shape[:axis]), math.prod(shape[axis + 1 :])
        count = window_count(n, self.size, self.stride, how["padding"], how["dilation"])
        assert count == program.types[windows].shape[axis]
        reach = (self.size - 1) * how["dilation"] + 1
        needed = max(self.before + n, (count - 1) * self.stride + reach)
        self.windows = max(count, -(-needed // self.stride))
        self.row = self.windows * self.stride
        self.beyond = max(0, reach - self.stride)
        self.images = max(1, min(self.outer, TILE // (self.row * self.inner)))
        self.shifts = [k * how["dilation"] * self.inner for k in range(self.size)]
        self.arrays = [arrays[n] for n in (*reads, out)]

    def written(self) -> list[str]:
        """The body: sizes, scratch arrays, and the loop over tiles of images."""
        image, windows = (-1, 0) if self.back else (0, -1)
        before, inside = {
            "largest": self._largest,
            "sum": self._sum,
            "spread": self._spread,
            "first largest": self._first_largest,
        }[str(self.form)]()
        return [
            f"# {self.shape}, axis {self.axis}, {self.windows} windows of {self.size}",
            f"outer = uint64({self.outer})",
            f"length = uint64({self.arrays[image]}.size // {self.outer})",
            f"count = uint64({self.arrays[windows]}.size // {self.outer})",
            *before,
            f"for first in range(uint64(0), outer, uint64({self.images})):",
            f"    images = min(uint64({self.images}), outer - first)",
            *(f"    {line}" for line in inside),
        ]

    def _scratch(self, name: str, windows: bool, fill: str | None = None, kind: str = "") -> str:
        """A scratch array for the lines of images or of windows."""
        lines = self.images * (self.windows if windows else self.row)
        size = (lines + (0 if windows else self.beyond)) * self.inner
        kind = kind or self.type
        return f"{name} = " + (
            f"empty({size}, {kind})" if fill is None else f"full({size}, {kind}({fill}))"
        )

    def _moved(self, to: str, array: str, windows: bool, store: bool = False) -> list[str]:
        """Copy the tile's part of an array into scratch lines, or back."""
        length = "count" if windows else "length"
        row = self.windows if windows else self.row
        start = 0 if windows else self.before * self.inner
        lines, part = f"{to}[b + j]", f"{array}[a + j]"
        return [
            "for i in range(images):",
            f"    a = (first + i) * {length}",
            f"    b = i * uint64({row * self.inner}) + uint64({start})",
            f"    for j in range({length}):",
            f"        {part} = {lines}" if store else f"        {lines} = {part}",
        ]

    def _each(self, lines: list[str]) -> list[str]:
        """A loop over the windows of a tile: j is the place of a window, c that of its first
        element."""
        if self.stride == 1:
            head = [f"for j in range(images * uint64({self.windows * self.inner})):", "    c = j"]
            return [*head, *(f"    {line}" for line in lines)]
        inner = [
            f"    j = w * uint64({self.inner}) + i",
            f"    c = w * uint64({self.stride * self.inner}) + i",
        ]
        loops = [
            f"for w in range(images * uint64({self.windows})):",
            f"    for i in range(uint64({self.inner})):",
        ]
        return [*loops, *(f"    {line}" for line in inner), *(f"        {line}" for line in lines)]

    def _places(self, name: str) -> list[str]:
        """The elements of a window."""
        return [f"{name}[c + uint64({shift})]" for shift in self.shifts]

    def _combined(self, template: str, fill: str) -> tuple[list[str], list[str]]:
        first, *others = self._places("x")
        for other in others:
            first = template.format(first, other)
        before = [self._scratch("x", False, fill), self._scratch("y", True)]
        return before, [
            *self._moved("x", self.arrays[0], False),
            *self._each([f"y[j] = {first}"]),
            *self._moved("y", self.arrays[-1], True, store=True),
        ]

    def _largest(self) -> tuple[list[str], list[str]]:
        return self._combined("larger({}, {})", "-inf")

    def _sum(self) -> tuple[list[str], list[str]]:
        return self._combined("({} + {})", "0.0")

    def _added(self, term: str) -> list[str]:
        """One loop for each place in a window, which adds a term to the element there. {}: the
        place."""
        lines = ["y[:] = 0.0"]
        for k, place in enumerate(self._places("y")):
            lines += self._each([f"{place} += {term.format(k)}"])
        return [*lines, *self._moved("y", self.arrays[-1], False, store=True)]

    def _spread(self) -> tuple[list[str], list[str]]:
        before = [self._scratch("g", True, "0.0"), self._scratch("y", False)]
        return before, [*self._moved("g", self.arrays[0], True), *self._added("g[j]")]

    def _first_largest(self) -> tuple[list[str], list[str]]:
        """NaN equals NaN, but for that in the padding, which never wins."""
        before = [
            self._scratch("g", True, "0.0"),
            self._scratch("x", False, "nan"),
            self._scratch("real", False, "0.0"),  # 1 where no padding is
            self._scratch("m", True, "0.0"),
            self._scratch("won", True, None, "int32"),
            self._scratch("y", False),
            f"for i in range(uint64({self.images})):",
            f"    b = i * uint64({self.row * self.inner}) + uint64({self.before * self.inner})",
            "    for j in range(length):",
            "        real[b + j] = 1.0",
        ]
        lines = ["best = m[j]", f"k = int32({self.size})"]
        for k in reversed(range(self.size)):
            x, real = self._places("x")[k], self._places("real")[k]
            lines += [f"v = {x}", f"hit = (v == best) | ((v != v) & ({real} != 0.0))"]
            lines.append(f"k = int32({k}) if hit else k")
        lines.append("won[j] = k")
        return before, [
            *self._moved("g", self.arrays[0], True),
            *self._moved("x", self.arrays[1], False),
            *self._moved("m", self.arrays[2], True),
            *self._each(lines),
            *self._added(f"g[j] if won[j] == int32({{}}) else {self.type}(0.0)"),
        ]
