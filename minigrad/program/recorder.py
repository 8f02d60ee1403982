"""Record a function while it runs: its forward, its backward pass, its tangents and its updates
become one straight-line Program.

The recorder sits at two of the engine's seams. As an observer it sees every operation begin, and
gives each tensor that comes from outside (a parameter, a constant) a payload that records. As the
owner of these payloads (payload.py) it runs every kernel and notes it. The function itself runs
once, in Python, with its real values: so branches and loops work, and what they decided by values
is noted as frozen. What becomes of it is in recorded_program.py; an optimiser's update, in
recorded_updates.py.

Source of the method: tracing with concrete values, as torch.jit.trace does; programs in single
assignment, as in JAX's jaxprs.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from .. import backend, observers
from ..backend import Array, device_of, is_immutable, materialise
from ..core import observe
from ..core.apply import compute
from ..core.graph import state
from ..core.observe import Event
from ..core.primitive import Primitive
from ..core.tensor import Leaf, Tensor, make_leaf, wrap
from ..errors import ProgramError
from . import recorded_program
from .bindings import (
    Binding,
    GradientBinding,
    TensorBinding,
    UpdateNumbers,
)
from .draws import Draws
from .instructions import (
    Instruction,
    Literal,
    Operand,
    Ref,
    Type,
    map_params,
    refs_in,
)
from .memory import fresh
from .naming import tensors_of, users_line
from .payload import UNREAD, Memory, Recorded, RunTimeNumber, viewed
from .phases import Phases
from .program import Program
from .recorded_updates import record_update


class Recorder:
    """Collects a program. Use: `with recorder.recording(): …`, with `input` and `capture`
    inside and `finish` at the end.
    """

    def __init__(self) -> None:
        self.types: list[Type] = []
        self.instructions: list[Instruction] = []
        self.names: dict[int, str] = {}
        self.decisions: dict[str, int] = {}
        self.phases = Phases()
        self.open = False
        self.draws = Draws()
        self.keeps_checks = False  # also of operations that may raise and whose results are unread
        self.frozen: list[Tensor] = []  # tensors from outside whose values are constants
        self.known_optimizers: set[int] | None = None  # which may make updates (None: all)
        self.update_numbers: list[UpdateNumbers] = []  # of the updates that were made
        # by identity: all other tensors are recorded on copies (None: no tensor is)
        self.known: dict[int, Any] | None = None
        self._originals: list[tuple[Tensor, Any, Any]] = []
        self._types: dict[tuple[Any, ...], Type] = {}
        self.inputs: list[int] = []
        # The draw that a random operation without operands is about to make.
        self._draw: Any = None
        # Values from outside, by number: the array, and where it lives.
        self.outside: dict[int, Any] = {}
        self.bindings: dict[int, Binding] = {}
        # By id(array): the array, kept alive, with its number; the payload of all tensors on it.
        self._known: dict[int, tuple[Any, int]] = {}
        self._payloads: dict[int, Recorded] = {}
        self._lifted: list[tuple[Tensor, Recorded]] = []
        # Memory from outside, with the number of the value that it held first.
        self.memories: list[tuple[int, Memory]] = []
        # Optimisers' states, with what they hold while recording.
        self.states: list[tuple[dict[str, Any], str, Recorded]] = []
        # By id(tensor): tensors known to have been there before; the leaf whose `.grad` it was when
        # recording began; tensors that the function made; what the function's author calls it; its
        # `.grad` when recording began; of a leaf or a tensor of the environment that tensor, its
        # number and that `.grad`.
        self._environment: dict[int, Tensor] = {}
        self._leaf_of: dict[int, Tensor] = {}
        self._inside: dict[int, weakref.ref[Tensor]] = {}
        self._labels: dict[int, str] = {}
        self.grads_before: dict[int, Tensor | None] = {}
        self.grads: dict[int, tuple[Tensor, int, Tensor | None]] = {}

    @contextmanager
    def recording(self) -> Iterator[Recorder]:
        """Record what this thread's engine does inside the `with` block. Afterwards all tensors
        have their plain arrays again.
        """
        if any(isinstance(o, Recorder) for o in observe.observation.listening):
            raise ProgramError(
                "a function that records (trace, compile) was called while another one records."
                " Trace the outer one only."
            )
        if state.batches:
            raise ProgramError(
                "trace was called inside vmap. Trace first, and map the program: vmap(trace(f,"
                " example))."
            )
        self.open = True
        try:
            with observers.observing(self):
                yield self
        finally:
            self.open = False
            self._restore()
            self._forget()

    def name_tensors(self, function: Any) -> None:
        """Learn what the function's author calls the tensors that it finds."""
        for name, tensor in tensors_of(function):
            self._note_outside(name, tensor)

    def _note_outside(self, name: str, tensor: Tensor) -> None:
        if id(tensor) not in self.grads_before:
            self._labels[id(tensor)] = name
            self.grads_before[id(tensor)] = tensor.stored_grad
            if tensor.stored_grad is not None:
                self._leaf_of[id(tensor.stored_grad)] = tensor

    def capture_environment(self, tensors: Sequence[tuple[str, Tensor]]) -> None:
        """These tensors (with names) are all that the function can find outside: each is read again
        in every run, whatever it is used for. Call it before recording, and `lift_environment` when
        recording has begun."""
        for name, tensor in tensors:
            self._environment[id(tensor)] = tensor
            self._note_outside(name, tensor)

    def lift_constants(self, tensors: Sequence[tuple[str, Tensor]]) -> None:
        """Record what becomes of these tensors (with names) from the start. One that is first read
        where no operation has it as an operand, as a cotangent or as an index, and then changed in
        place, would else be frozen. Leaves are met by operations only.
        """
        for name, tensor in tensors:
            if tensor.node is None and tensor.tangents is None:
                self._labels.setdefault(id(tensor), name)
                self.lift(tensor)

    def lift_environment(self) -> None:
        """Give all tensors of the environment, and their gradients, payloads that record."""
        for tensor in self._environment.values():
            self.lift(tensor)
            if tensor.stored_grad is not None:
                self.lift(tensor.stored_grad)

    def update(self, optimizer: Any, param: Tensor, group: dict[str, Any]) -> Any:
        """A context in which an optimiser's rule is recorded; gives its settings."""
        return record_update(self, optimizer, param, group)

    # -------------------------------------------------------------------------- values from outside

    def input(self, tensor: Tensor, name: str) -> Tensor:
        """A tensor that stands for an input of the program: the example's values, a leaf if the
        example is one.
        """
        array = tensor.array.array if type(tensor.array) is Recorded else tensor.array
        number = self._value(array)
        payload = Recorded(self, array, number)
        self.inputs.append(number)
        self.memories.append((number, payload.memory))
        self.names[number] = name
        out = wrap(payload)
        if isinstance(tensor.node, Leaf):
            make_leaf(out)
        return out

    def take(self, tensor: Tensor, name: str) -> None:
        """Make a tensor itself an input of the program."""
        payload = Recorded(self, tensor.array, self._value(tensor.array))
        self.inputs.append(payload.memory.number)
        self.memories.append((payload.memory.number, payload.memory))
        self.names[payload.memory.number] = name
        tensor.array = payload
        self.grads[id(tensor)] = (tensor, payload.memory.number, None)

    def capture(self, place: Binding) -> Recorded:
        """An array that lives elsewhere (an optimiser's state) as an input that the caller does
        not give: `place` reads and writes it.
        """
        array = place.array
        number = self._value(array)
        self.names[number] = place.name
        self.outside[number] = array
        self.bindings[number] = place
        payload = Recorded(self, array, number)
        self.memories.append((number, payload.memory))
        return payload

    def lift(self, tensor: Tensor) -> None:
        """Give a tensor from outside a payload that records."""
        array = tensor.array
        if type(array) is Recorded:
            if array.recorder is self:
                return
            array = array.array  # left over from an earlier recording
        if hasattr(type(array), "__minigrad_apply__"):
            raise ProgramError(
                "a traced function used vmap (or jacrev, jacfwd, hessian): batches cannot be"
                " recorded. Trace without it."
            )
        if self.known is not None and id(tensor) not in self.known and tensor.view_of is None:
            self._originals.append((tensor, tensor.array, tensor.version))
            if tensor.version is not None:
                tensor.version = None
            array = self._copied(array)
        if tensor.view_of is not None:
            self.lift(tensor.view_of.base)
            base = tensor.view_of.base.array
            steps = base.steps + tensor.view_of.steps
            payload = Recorded(self, array, UNREAD, base.memory, steps)
        else:
            known = self._payloads.get(id(array))
            payload = self._from_outside(array) if known is None else known
        tensor.array = payload
        self._lifted.append((tensor, payload))
        number = payload.memory.number if payload.memory.writes == 0 else -1
        inside = self._inside.get(id(tensor))
        if inside is not None and inside() is tensor:
            return
        if id(tensor) in self._leaf_of and number in self.outside:
            self.bindings[number] = GradientBinding(self._leaf_of[id(tensor)])
            return
        if number in self.outside and (number not in self.bindings or id(tensor) in self._labels):
            owner = tensor if tensor.view_of is None else tensor.view_of.base
            always = number in self.bindings and self.bindings[number].always
            self.bindings[number] = TensorBinding(owner, self._labels.get(id(tensor)))
            self.bindings[number].always |= always or id(tensor) in self._environment
        is_leaf = isinstance(tensor.node, Leaf)
        if (is_leaf or id(tensor) in self._environment) and number in self.bindings:
            self.bindings[number].always = True
            if tensor.view_of is None and id(tensor) not in self.grads:
                before, now = (
                    self.grads_before.get(id(tensor), tensor.stored_grad),
                    tensor.stored_grad,
                )
                if now is not None and now is before:
                    self._leaf_of[id(now)] = tensor
                    self.lift(now)
                self.grads[id(tensor)] = (tensor, number, before)

    def _copied(self, array: Array) -> Array:
        """A copy of an array from outside, one for all tensors on it."""
        if is_immutable(array) or id(array) in self._payloads:
            return array
        self._payloads[id(array)] = self._from_outside(fresh(array))
        return array

    def tensor_made(self, tensor: Tensor) -> None:
        """A tensor that the function itself made of data: a constant, whatever becomes of it."""
        self._inside[id(tensor)] = weakref.ref(tensor)

    def _from_outside(self, array: Array) -> Recorded:
        """A payload for an array that the recorder did not make. Tensors on one array share it;
        a bare number belongs to one tensor.
        """
        number = self._number_of(array)
        payload = Recorded(self, array, number)
        if not is_immutable(array):
            self._payloads[id(array)] = payload
        if number in self.outside:
            self.memories.append((number, payload.memory))
        return payload

    def _number_of(self, array: Array) -> int:
        """The number of an array of which the recorder may know how it was made (a random draw);
        else it comes from outside.
        """
        known = self._known.get(id(array))
        if known is not None:
            return known[1]
        number = self._value(array)
        self.outside[number] = array
        if not is_immutable(array):
            self._known[id(array)] = (array, number)
        return number

    def constant(self, array: Array) -> Any:
        """An array of the engine's own, recorded as a constant."""
        return Recorded(self, array, self._number_of(array)) if self.open else array

    # --------------------------------------------------------------------------------- instructions

    def apply(self, primitive: Primitive, operands: Sequence[Any], params: dict[str, Any]) -> Any:
        """Run an operation on the concrete arrays, and note it. The engine comes here through
        `Recorded.__minigrad_apply__`.
        """
        concrete = [
            o.array if type(o) is Recorded else o.value if type(o) is RunTimeNumber else o
            for o in operands
        ]
        plain = map_params(params, Recorded, lambda r: r.array) if params else params
        draw = self.draws.key(primitive, operands, params) if primitive.random else None
        others = (o.recorder for o in operands if type(o) is Recorded and o.recorder.open)
        active = self if self.open else next(others, None)
        if active is None:  # payloads that leaked out of a recording are plain arrays from then on
            return compute(primitive, concrete, plain)
        if active is not self:
            return active.apply(primitive, operands, params)
        if (
            primitive.view
            and type(operands[0]) is Recorded
            and is_immutable(concrete[0])
            and _called_on_tensors(primitive)
        ):
            # As the engine does before it looks into a number's memory.
            concrete[0] = operands[0].array = materialise(concrete[0])
        result = compute(primitive, concrete, plain)
        if primitive.view and result is concrete[0] and type(operands[0]) is Recorded:
            return operands[0]
        results = result if primitive.outputs != 1 else (result,)
        if any(hasattr(type(r), "__minigrad_apply__") for r in results):
            raise ProgramError(
                "a traced function used vmap (or jacrev, jacfwd, hessian): batches cannot be"
                " recorded. Trace without it."
            )
        # the generator was put back (a checkpoint computes again): these are the numbers that were
        # drawn then
        if draw in self.draws.numbers:
            return Recorded(self, result, self.draws.numbers[draw])
        first = self.add(primitive, tuple(self.operand(o) for o in operands), params, *results)
        if draw is not None:
            self.draws.numbers[draw] = first
        made = [Recorded(self, r, first + i) for i, r in enumerate(results)]
        source = operands[0] if operands else None
        if type(source) is Recorded and viewed(source, primitive, plain, results[0]):
            made[0] = Recorded(
                self, results[0], first, source.memory, (*source.steps, (primitive, params))
            )
        return made[0] if primitive.outputs == 1 else tuple(made)

    def add(
        self,
        primitive: Primitive,
        operands: tuple[Operand, ...],
        params: dict[str, Any],
        *results: Array,
    ) -> int:
        """Note an instruction with the given results; the number of the first."""
        first = len(self.types)
        for result in results:
            self._value(result)
        noted = map_params(params, Recorded, lambda r: Ref(r.number)) if params else params
        outputs = tuple(range(first, len(self.types)))
        checks = self.keeps_checks and _may_raise(primitive, noted)
        self.instructions.append(
            Instruction(primitive, operands, noted, outputs, self.phases.current(), checks)
        )
        return first

    def operand(self, value: Any) -> Operand:
        """What an instruction reads: the number of a value, or a literal."""
        if type(value) is Recorded:
            return value.number if value.recorder is self else self._number_of(value.array)
        if type(value) in backend.PYTHON_SCALARS:
            return Literal(value)
        if type(value) is RunTimeNumber:
            return value.number
        return self._number_of(value)

    def _value(self, array: Array) -> int:
        facts = (array.shape, array.dtype, type(array))
        known = self._types.get(facts)
        if known is None or known.device != "cpu":
            known = self._types[facts] = Type(array.shape, array.dtype, device_of(array))
        return self.value_of_type(known)

    def value_of_type(self, kind: Type) -> int:
        self.types.append(kind)
        return len(self.types) - 1

    def module_of(self, array: Array) -> Any:
        """The array library that computes on `array`."""
        return backend.array_module([array])

    # --------------------------------------------------------------------------------- the observer

    def begin(self, event: Event) -> None:
        """An operation begins: tensors from outside get their recording payloads before the
        engine looks at them.
        """
        if getattr(event.primitive, "random", False) and not event.args:
            self._draw = self.draws.key(event.primitive, (), event.params)
        for a in event.args:
            if type(a) is Tensor and (
                type(a.array) is not Recorded or a.array.recorder is not self
            ):
                self.lift(a)

    def end(self, event: Event) -> None:
        """An operation ended: what a random one drew from no operand is known from now on."""
        drawn = getattr(event.primitive, "random", False)
        if drawn and event.error is None and not event.args and type(event.result) is not Recorded:
            number = self.draws.numbers.get(self._draw)
            if number is None:
                number = self.draws.numbers[self._draw] = self.add(
                    event.primitive, (), event.params, event.result
                )
            self._known[id(event.result)] = (event.result, number)
        self.phases.note(event)

    # -------------------------------------------------------------------------------------- the end

    def freeze(self, what: str, value: Recorded, found: Any) -> None:
        """Note that Python asked for a concrete value."""
        if what == "array" and value.size == 1:
            what, found = "the value", found.item()
        shown = (
            f"an array of shape {tuple(found.shape)}"
            if getattr(found, "shape", ())
            else f"{found!r}"
        )
        number = value.number
        self.note(
            f"{what} of {self.names.get(number, f'%{number}')} ({self.types[number]!r}) was {shown}"
        )

    def note(self, what: str) -> None:
        """Note that Python was told something that another run need not tell it."""
        text = f"{users_line()}: {what}"
        self.decisions[text] = self.decisions.get(text, 0) + 1

    def finish(
        self, outputs: Sequence[Tensor], signature: Any, name: str, also: Sequence[int] = ()
    ) -> Program:
        """The program whose results are `outputs`, and after them the values `also`, by number."""
        return recorded_program.program_of(self, outputs, signature, name, also)

    def _forget(self) -> None:
        """Drop all references to what is outside: payloads refer to their recorder and their memory
        to them, and so they would keep it until the cycle collector runs."""
        self._lifted, self.states, self.memories, self.known = [], [], [], {}
        for table in (
            self.outside,
            self._known,
            self._payloads,
            self.bindings,
            self.grads,
            self._environment,
            self._leaf_of,
            self.grads_before,
        ):
            table.clear()

    def _restore(self) -> None:
        """Plain arrays again in all tensors from outside, in their gradients and in optimisers'
        states.
        """
        for kept, name, payload in self.states:
            kept[name] = materialise(payload.array)
        for tensor, payload in self._lifted:
            if tensor.version is not None:
                payload.array = materialise(payload.array)
            tensor.array = payload.array
            if isinstance(tensor.node, Leaf):
                tensor.node.array = payload.array
            gradient = tensor.stored_grad
            if gradient is not None and type(gradient.array) is Recorded:
                gradient.array = gradient.array.array
        for tensor, array, version in self._originals:
            tensor.array, tensor.version = array, version
        self._originals = []


# ------------------------------------------------------------------------------------------ helpers


def _called_on_tensors(primitive: Primitive) -> bool:
    event = observe.observation.event
    return (
        event is not None
        and event.primitive is primitive
        and bool(event.args)
        and isinstance(event.args[0], Tensor)
    )


def _may_raise(primitive: Primitive, params: dict[str, Any]) -> bool:
    """Whether an operation may raise for some values of its operands: a matrix is singular, an
    index is out of range."""
    if primitive.pointwise or primitive.view or primitive.random:
        return False
    safe = primitive.accumulates or primitive.kind in ("linear", "bilinear")
    return bool(refs_in(params.values())) or not safe
