"""PyTorch's `torch.autograd.profiler`: where the time goes.

recording.py: `profile` and `record_function`; events.py: what a profile consists of; table.py and
timeline.py: how it is shown; nvtx.py and nvprof.py: ranges for NVIDIA's profilers.
"""

from .events import EventList, FunctionEvent, FunctionEventAvg, Interval, Kernel
from .nvprof import load_nvprof
from .nvtx import emit_nvtx
from .recording import profile, record_function

__all__ = [
    "EventList",
    "FunctionEvent",
    "FunctionEventAvg",
    "Interval",
    "Kernel",
    "emit_nvtx",
    "load_nvprof",
    "profile",
    "record_function",
]
