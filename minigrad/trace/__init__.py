"""The Trace: what a differentiation did, as plain data, and what can be asked of it without an
engine.

`schema` says what a well-formed Trace is, `replay` folds it to any step and checks its laws, `diff`
finds where two Traces part, `text` prints it. The document is described in
minigrad/design/0002-trace.md. Nothing here imports the engine: a Trace from anywhere will do.

The module can also be called: `mg.trace(matrix)` is PyTorch's function, the sum of a matrix's
diagonal.
"""

import sys
from types import ModuleType
from typing import Any

from .diff import Divergence, first_divergence
from .fields import TraceError
from .replay import TableState, check_laws, state_at
from .schema import SCHEMA, to_json, validate
from .text import table

__all__ = [
    "SCHEMA",
    "Divergence",
    "TableState",
    "TraceError",
    "check_laws",
    "first_divergence",
    "state_at",
    "table",
    "to_json",
    "validate",
]


class _Callable(ModuleType):
    """`minigrad.trace` has two meanings: the package, and PyTorch's function of that name."""

    def __call__(self, input: Any) -> Any:
        """The sum of the diagonal of a matrix (a tensor)."""
        return input.trace()


sys.modules[__name__].__class__ = _Callable
