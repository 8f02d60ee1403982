"""Python's operators as operations: the one table for tensors, and for the payloads that stand
where an array would (batched, recorded).

Derivative rules compute with payloads; `ArrayPayload` is what makes `g * y` of a rule an operation
there too.
"""

from __future__ import annotations

import math
from typing import Any

from ..core.tensor import Payload
from . import elementwise as ew
from .index import getitem, is_basic, slice_
from .linalg import matmul
from .shape import reshape

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


class ArrayPayload(Payload):
    """A payload with the operators and methods that rules use, each of which is an operation."""

    __slots__ = ()
    __array_priority__ = 1000
    __array_ufunc__ = None  # `numpy_array * payload` must come to us
    shape: Any

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)

    def reshape(self, *shape: Any) -> Any:
        """The values in another shape; one size may be -1."""
        sizes = tuple(shape[0]) if len(shape) == 1 and isinstance(shape[0], tuple | list) else shape
        known = math.prod(n for n in sizes if n != -1)
        return reshape(self, shape=tuple(self.size // known if n == -1 else n for n in sizes))

    def __getitem__(self, index: Any) -> Any:
        return slice_(self, index=index) if is_basic(index) else getitem(self, index=index)

    __hash__ = object.__hash__  # a class that compares element by element loses its own


for _name, _operation in (BINARY | COMPARISONS).items():
    _method = (lambda do: lambda self, other: do(self, other))(_operation)
    setattr(ArrayPayload, f"__{_name}__", _method)
for _name, _operation in BINARY.items():
    _method = (lambda do: lambda self, other: do(other, self))(_operation)
    setattr(ArrayPayload, f"__r{_name}__", _method)
for _name, _operation in (("neg", ew.neg), ("abs", ew.abs_), ("invert", ew.bitwise_not)):
    setattr(ArrayPayload, f"__{_name}__", (lambda do: lambda self: do(self))(_operation))
