"""Programs: what a function did, as a straight line of instructions that can be read, tested,
simplified, saved, drawn and run again.

Read in this order: `instructions` and `program` (the data), `payload`, `recorder`,
`recorded_updates`, `recorded_program` and `tracing` (how a program comes from a function), `passes`
(how it is made smaller), `memory`, `lower` and `run` (how it is run without waste), `environment`,
`attributes`, `guards` and `ready_code` (what a function can find, and whether that is still so),
`snapshot`, `outcome`, `variant` and `compiled` (a training step that is replayed only where that is
right), `fused`, `row_groups`, `numba_kernels` and `capture` (kernels for CUDA devices and for the
CPU, graphs), `files`, `as_trace`.
"""

from .compiled import Compiled, EagerWarning, compile
from .files import save
from .instructions import Instruction, Literal, Ref, Type
from .program import Program, load
from .recorder import Recorder
from .tracing import recorded, trace

__all__ = [
    "Compiled", "EagerWarning", "Instruction", "Literal", "Program", "Recorder", "Ref", "Type",
    "compile", "load", "recorded", "save",
    "trace",
]  # fmt: skip
