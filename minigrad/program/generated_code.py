"""Generated Python: straight-line functions, their buffers, and the names that they read."""

from __future__ import annotations

from types import CodeType
from typing import Any

from ..backend import canonical
from .instructions import Type
from .kernels import FUNCTIONS, name_of_number
from .memory import Allocation, Arena


class GeneratedCode:
    """parts: the source of each function; code: the same, compiled; arena: sizes of the buffers;
    planned: bytes of buffers, constants of the kernels and the most bytes of fresh memory alive at
    once.
    """

    def __init__(self, name: str, constants: dict[int, Any], xp: Any) -> None:
        self.name, self.constants, self.xp = name, constants, xp
        self.arena = Arena()
        self.parts: list[str] = []
        self.code: list[CodeType] = []
        self.names: dict[str, Any] = {
            "canonical": canonical,
            **{name: getattr(xp, name) for name in FUNCTIONS},
        }
        self.statics: dict[str, Any] = {}
        # views that are made once, with the buffers: a name, and the expression
        self.views: list[tuple[str, str]] = []
        # name, place in the arena, Type, strides (None: row after row)
        self.buffers: list[tuple[str, Allocation, Type, tuple[int, ...] | None]] = []
        self.fresh_peak = 0
        self.fixed: set[int] = set()  # values that lie in the same memory in every run
        self._by_kind: dict[Any, str] = {}

    @property
    def planned(self) -> int:
        """The most bytes that a run needs for values: buffers, kernel constants, fresh memory."""
        # of the kernels' constants neither single numbers nor the zeros that the engine keeps
        # anyway
        own = sum(
            int(a.nbytes)
            for a in self.statics.values()
            if a.ndim and getattr(a, "base", None) is None
        )
        return self.arena.total + own + self.fresh_peak

    def workspace(self) -> list[Any]:
        """Functions with buffers of their own, one for each part."""
        if not self.code:
            self.code = [
                compile(source, f"<{self.name}, part {i}>", "exec")
                for i, source in enumerate(self.parts)
            ]
        space = dict(self.names)
        space.update(self.statics)
        for number, array in self.constants.items():
            space[f"v{number}"] = array
        memory = self.xp.empty(self.arena.total, "uint8")
        for name, piece, kind, strides in self.buffers:
            space[name] = laid_out(memory[piece.offset :], kind, strides)
        for name, expression in self.views:
            space[name] = eval(expression, space)
        self.complete(space)
        functions = []
        for code in self.code:
            exec(code, space)
            functions.append(space.pop("part"))
        return functions

    def complete(self, space: dict[str, Any]) -> None:
        """Add what the functions read besides buffers and views."""

    def literal(self, value: Any) -> str:
        """A Python number as Python text; what has no text that is an expression (nan, inf) gets
        a name.
        """
        if isinstance(value, float | complex) and value - value != 0:
            self.names[name_of_number(value)] = value
            return name_of_number(value)
        return repr(value)

    def static(self, what: str, array: Any) -> str:
        """An array that a kernel needs in every run, shared by all kernels that need it."""
        key = (what, array.shape, array.dtype)
        if key not in self._by_kind:
            self._by_kind[key] = name = f"{what}_{'x'.join(map(str, array.shape))}_{array.dtype}"
            self.statics[name] = array
        return self._by_kind[key]

    def view_of(self, text: str, how: str) -> str:
        """A view of the memory (`.view('int32')`, `[:, 0]`): made once where the memory is
        fixed."""
        if text[0] == "v" and int(text[1:]) not in self.fixed:
            return text + how
        name = text + "".join(c if c.isalnum() else "_" for c in how).rstrip("_")
        if all(name != known for known, *_ in self.views[-40:]):
            self.views.append((name, text + how))
        return name


def laid_out(memory: Any, kind: Any, strides: tuple[int, ...] | None) -> Any:
    """A view of this type of a buffer of bytes, whose axes lie in memory as `strides` say
    (which fill it without holes), or row after row (None).
    """
    flat = memory[: kind.nbytes].view(kind.dtype)
    if strides is None:
        return flat.reshape(kind.shape)
    order = sorted(range(len(strides)), key=lambda axis: (-strides[axis], axis))
    shape = tuple(kind.shape[axis] for axis in order)
    inverse = sorted(range(len(order)), key=order.__getitem__)
    return flat.reshape(shape).transpose(inverse)
