"""A recorded value: a payload that carries the concrete array along and writes down every operation
that is done with it.

A tensor whose payload is a `Recorded` value looks to the engine like any other. When an operation
meets one, the engine asks it to compute (`__minigrad_apply__`); it runs the ordinary kernel on the
concrete arrays, and the recorder notes one instruction. Derivative rules run on raw payloads; so
the backward pass is recorded by the same question, product by product and sum by sum, as it
happens.

Memory. A program has values only, nothing is overwritten in it. So that in-place operations can be
recorded, each piece of memory knows which value it holds now: writing into it means that it holds
another one. A view remembers the steps that lead to it; writing through a view makes the memory
hold "the old value with that region replaced" (`scatter_view`), and a view that is read after its
memory changed is read again. This is the engine's own rule for views (design note 0004), applied to
payloads.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..backend import Array, DType, Shape, axis_order, is_immutable, materialise, shares_memory
from ..core.primitive import Primitive
from ..errors import ProgramError
from ..ops import elementwise as ew
from ..ops.index import scatter_view
from ..ops.operators import BINARY, ArrayPayload
from ..ops.reduce import mean, sum_
from ..ops.shape import permute

if TYPE_CHECKING:
    from .recorder import Recorder


UNREAD = -1
"""The number of a view that has not been read yet."""


class Memory:
    """A piece of memory: the number of the value that it holds, how often it was overwritten,
    and the payload that owns it.
    """

    __slots__ = ("number", "owner", "writes")

    def __init__(self, number: int, owner: Recorded) -> None:
        self.number, self.owner, self.writes = number, owner, 0


class Recorded(ArrayPayload):
    """A payload that records. array: the concrete payload; steps: the view operations that lead
    to it from its memory's whole.
    """

    __slots__ = ("_number", "_seen", "array", "memory", "recorder", "steps")

    def __init__(
        self,
        recorder: Recorder,
        array: Array,
        number: int,
        memory: Memory | None = None,
        steps: tuple[Any, ...] = (),
    ) -> None:
        self.recorder, self.array, self._number, self.steps = recorder, array, number, steps
        self.memory = Memory(number, self) if memory is None else memory
        self._seen = -1 if number == UNREAD else self.memory.writes

    @property
    def number(self) -> int:
        """The number of the value that it has now (a view is read again if its memory was
        overwritten)."""
        memory = self.memory
        if self._seen != memory.writes:
            number = memory.number
            array = memory.owner.array
            for step, params in self.steps:
                array = step.forward(self.recorder.module_of(array), array, **params)
                number = self.recorder.add(step, (number,), params, array)
            self._number, self._seen = number, memory.writes
        return self._number

    # ----------------------------------------------------------- facts, as the engine asks for them

    @property
    def shape(self) -> Shape:
        """Sizes of the axes."""
        return tuple(self.array.shape)

    @property
    def dtype(self) -> DType:
        """The elements' type."""
        out: DType = self.array.dtype
        return out

    @property
    def strides(self) -> tuple[int, ...]:
        """Byte steps along the axes."""
        return tuple(self.array.strides)

    @property
    def flags(self) -> Any:
        """The array's memory flags (a bare number is given memory when it is written to)."""
        return materialise(self.array).flags

    @property
    def nbytes(self) -> int:
        """Bytes of the elements."""
        return int(self.array.nbytes)

    @property
    def base(self) -> Recorded | None:
        """The payload that owns the memory, None for the owner itself: how the engine recognises
        views.
        """
        return None if self.memory.owner is self else self.memory.owner

    # -------------------------------------------------------------------- what rules do with arrays

    def copy(self) -> Recorded:
        """A copy of the values in memory of their own, row-major as NumPy's `copy`."""
        array = self.array.copy()
        if is_immutable(array) or array.ndim < 2 or array.strides == self.array.strides:
            return Recorded(self.recorder, array, self.number)
        laid = self.reshape((-1,)).reshape(
            self.shape
        )  # a change of layout is an instruction: sums depend on it in their last bits
        return Recorded(
            self.recorder, array, laid.number
        )  # of its own: where axes have length 1, these reshapes are views

    def astype(self, dtype: Any, copy: bool = True) -> Any:
        """The values cast to another dtype."""
        if dtype == self.dtype:
            return self.copy() if copy else self
        return ew.cast(self, dtype=dtype)

    def transpose(self, *axes: Any) -> Any:
        """The axes in another order, reversed if none is given."""
        order = tuple(axes[0]) if len(axes) == 1 and isinstance(axes[0], tuple | list) else axes
        return permute(self, axes=order or tuple(reversed(range(self.ndim))))

    def sum(self, axis: Any = None, keepdims: bool = False) -> Any:
        """The sum over axes."""
        return sum_(self, axes=_axes(self, axis), keepdims=keepdims)

    def mean(self, axis: Any = None, keepdims: bool = False) -> Any:
        """The mean over axes."""
        return mean(self, axes=_axes(self, axis), keepdims=keepdims)

    def __setitem__(self, index: Any, values: Any) -> None:
        if index is not Ellipsis:
            raise ProgramError(
                "a recorded payload is overwritten as a whole; index the Tensor instead (x[index] ="
                " value)."
            )
        self.write(values)

    def write(self, values: Any) -> None:
        """Overwrite the whole of this value's memory (or of this view of it)."""
        recorder, memory = self.recorder, self.memory
        concrete = values.array if type(values) is Recorded else values
        number = recorder.operand(values)
        plain = (
            type(number) is int
            and not self.steps
            and concrete.dtype == self.dtype
            and concrete.shape == self.shape
        )
        if not plain or (self.ndim > 1 and concrete.strides != self.strides):
            owner = memory.owner
            params = {"steps": self.steps, "order": axis_order(owner.array)}
            number = recorder.add(scatter_view, (memory.number, number), params, owner.array)
        if is_immutable(self.array):
            self.array = concrete if is_immutable(concrete) else materialise(self.array)
        if not is_immutable(self.array):
            self.array[...] = concrete
        assert type(number) is int
        memory.number = number
        memory.writes += 1

    def _frozen(self, what: str) -> Any:
        """The concrete value, for Python; the program says that it was asked for."""
        value = self.array
        if what != "array":
            value = value.item()
        self.recorder.freeze(what, self, value)
        return value

    def item(self) -> Any:
        """The one element as a Python number, which is frozen into the program."""
        return self._frozen("item()")

    def get(self) -> Array:
        """The concrete array, which is frozen into the program."""
        return materialise(self._frozen("array"))

    def tolist(self) -> Any:
        """The elements as Python numbers, which are frozen into the program."""
        return self._frozen("array").tolist()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        array = materialise(self._frozen("array"))
        return array if dtype is None or dtype == array.dtype else array.astype(dtype)

    def __iter__(self) -> Any:
        return (self[i] for i in range(len(self)))

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        return f"recorded %{self._number}, values {self._frozen('array')!r}"

    # ---------------------------------------------------------------------- questions of the engine

    @staticmethod
    def __minigrad_apply__(
        primitive: Primitive, operands: Sequence[Any], params: dict[str, Any]
    ) -> Any:
        """Run this operation, and note it."""
        found = next(o for o in (*operands, *params.values()) if type(o) is Recorded)
        return found.recorder.apply(primitive, operands, params)

    def __minigrad_constant__(self, array: Array) -> Any:
        """A constant of the engine's beside this value (zeros, the seed of a backward pass):
        recorded, so that what is made of it is.
        """
        return self.recorder.constant(array)

    def __minigrad_update__(self, optimizer: Any, param: Any, group: dict[str, Any]) -> Any:
        """An optimiser is about to update `param`, whose values these are: a context in which
        that is recorded. Gives the settings.
        """
        return self.recorder.update(optimizer, param, group)

    def __minigrad_read__(self, what: str) -> None:
        """Python is told something that belongs to this value."""
        if self.recorder.open:
            self.recorder.note(what)

    def __minigrad_write__(self, tensor: Any) -> None:
        """This value is about to be written into a tensor's memory: from now on that memory is
        recorded too.
        """
        if self.recorder.open:
            self.recorder.lift(tensor)


class RunTimeNumber:
    """A Python number that each run of the program reads again. It can be an operand of an
    operation with arrays and nothing else: what Python computed from it would be the same in each
    run, so that is an error."""

    __slots__ = ("number", "value")

    __array_ufunc__ = None

    def __init__(self, value: float, number: int) -> None:
        self.value, self.number = value, number

    def __getattr__(self, name: str) -> Any:
        raise ProgramError(
            f"a rule asked a number that differs between steps for {name}: compute with it in"
            " Optimizer.numbers(), which runs each time."
        )

    def _refuse(self, *_: Any) -> Any:
        raise ProgramError(
            "a rule computed in Python with a number that differs from step to step, or decided by"
            " it; a program would freeze that. Do it in Optimizer.numbers(), which runs each time."
        )

    __bool__ = __float__ = __int__ = __index__ = __eq__ = __lt__ = __le__ = __gt__ = __ge__ = (
        _refuse
    )
    __hash__ = object.__hash__


def _axes(x: Recorded, axis: Any) -> tuple[int, ...]:
    axes = range(x.ndim) if axis is None else (axis,) if isinstance(axis, int) else axis
    return tuple(sorted(a % x.ndim for a in axes))


def viewed(source: Recorded, primitive: Primitive, params: dict[str, Any], array: Array) -> bool:
    """Whether `array`, the result of a view operation on `source`, looks into its memory."""
    return primitive.view and not is_immutable(source.array) and shares_memory(array, source.array)


def _in_place(operation: Any) -> Any:
    def method(self: Recorded, other: Any) -> Recorded:
        self.write(operation(self, other))
        return self

    return method


for _name, _operation in BINARY.items():
    setattr(Recorded, f"__i{_name}__", _in_place(_operation))
_METHODS: dict[str, Any] = {
    "__bool__": lambda self: bool(self._frozen("bool()")),
    "__int__": lambda self: int(self._frozen("int()")),
    "__index__": lambda self: self._frozen("index").__index__(),
    "__float__": lambda self: float(self._frozen("float()")),
    "__complex__": lambda self: complex(self._frozen("complex()")),
    "conj": lambda self: ew.conj(self),
    "real": property(lambda self: ew.real(self) if self.dtype.kind == "c" else self),
    "imag": property(lambda self: ew.imag(self)),
}
for _name, _method in _METHODS.items():
    setattr(Recorded, _name, _method)
