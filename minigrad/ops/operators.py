"""Python's operators as operations: the one table for tensors, and for the payloads that stand
where an array would (batched, recorded).

Derivative rules compute with payloads; `attach_operators` is what makes `g * y` of a rule an
operation there too.
"""

from __future__ import annotations

from typing import Any

from . import elementwise as ew
from .linalg import matmul

BINARY: dict[str, Any] = {
    "add": ew.add,
    "sub": ew.sub,
    "mul": ew.mul,
    "truediv": ew.div,
    "floordiv": ew.floor_divide,
    "mod": ew.remainder,
    "pow": ew.pow_,
    "matmul": matmul,
    "and": ew.bitwise_and,
    "or": ew.bitwise_or,
    "xor": ew.bitwise_xor,
}
"""By the names of Python's methods, without underscores."""
COMPARISONS: dict[str, Any] = {
    name: getattr(ew, name) for name in ("eq", "ne", "lt", "le", "gt", "ge")
}


def attach_operators(kind: type) -> None:
    """Give a kind of payload all operators that rules use, and its identity as hash."""
    for name, operation in BINARY.items():
        setattr(kind, f"__{name}__", (lambda do: lambda self, other: do(self, other))(operation))
        setattr(kind, f"__r{name}__", (lambda do: lambda self, other: do(other, self))(operation))
    for name, operation in COMPARISONS.items():
        setattr(kind, f"__{name}__", (lambda do: lambda self, other: do(self, other))(operation))
    for name, operation in (("neg", ew.neg), ("abs", ew.abs_), ("invert", ew.bitwise_not)):
        setattr(kind, f"__{name}__", (lambda do: lambda self: do(self))(operation))
    # a class that compares element by element loses its own
    setattr(kind, "__hash__", object.__hash__)  # noqa: B010
