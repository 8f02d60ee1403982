"""Run a program again.

`interpret` runs one instruction after another through the engine's own kernels: the definition of
what a program means, and how payloads that are no plain arrays are computed (inside vmap, inside
another trace, on a device without planned buffers). `Replayer` is the fast path: its first
call interprets and watches how arrays lie in memory; from the second call with inputs of that
layout on, it runs the lowered program (lower.py) on buffers that are kept from call to call. Both
give the same bits as the function that was recorded.

Results are always fresh: no later run overwrites them. Two threads may run one program at once;
each run takes buffers of its own.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from .. import backend, functions
from ..backend import (
    FLOAT_ERRORS,
    IGNORED,
    IMMUTABLE,
    NumpyArray,
    canonical,
    device_of,
)
from ..core.apply import compute
from ..core.tensor import Tensor
from ..errors import ProgramError
from .bindings import TensorBinding
from .effects_code import Effects, effects_code
from .instructions import Literal, Ref, Type, map_params
from .lower import Lowered, check_shape
from .memory import Facts, fresh, overlap_key, overlapping, plain_peak, total_bytes
from .structure import collect, rebuild

if TYPE_CHECKING:
    from .program import Program

SHARED = "two tensors that it is given, or finds outside, share memory, and it writes"


class OverlapError(ProgramError):
    """Two tensors share memory, and a program that writes knows nothing of it. Nothing has been
    computed or written."""


def interpret(
    program: Program,
    payloads: Sequence[Any],
    facts: Facts | None = None,
    seen: list[Any] | None = None,
    library: Any = None,
) -> dict[int, Any]:
    """Run on payloads (of the inputs, in order); the values that live on, by number. `facts` notes
    how each value lay in memory, `seen` keeps a copy of each, `library` computes (default: that of
    the operands).
    """
    values: list[Any] = [None] * len(program.types)
    for number, payload in zip(program.inputs, payloads, strict=True):
        values[number] = payload
    for number, place in program.captured.items():
        values[number] = place.array
    for number, array in program.constants.items():
        values[number] = array
    if facts is not None:
        for number in (*program.inputs, *program.captured, *program.constants):
            facts.note(number, values[number])
    if seen is not None:
        seen[:] = values
    last = program.last_reads()
    with backend.ignore_float_errors():
        for at, instruction in enumerate(program.instructions):
            primitive = instruction.primitive
            operands = [o.value if type(o) is Literal else values[o] for o in instruction.operands]
            params = (
                map_params(instruction.params, Ref, lambda ref: values[ref.number])
                if instruction.params
                else instruction.params
            )
            if facts is None and library is None:
                result = compute(primitive, operands, params)
                results = result if primitive.outputs != 1 else (result,)
            else:
                raw = primitive.forward(
                    library or backend.array_module(operands, primitive.name), *operands, **params
                )
                results = (
                    tuple(canonical(r) for r in raw)
                    if primitive.outputs != 1
                    else (canonical(raw),)
                )
            if facts is not None:
                facts.plain[instruction.outputs[0]] = primitive.outputs == 1 and results[0] is raw
            for number, result in zip(instruction.outputs, results, strict=True):
                check_shape(program.types[number], program.name_of(number), primitive.name, result)
                values[number] = result
                if facts is not None:
                    facts.note(number, result, instruction.reads())
                if seen is not None:
                    seen[number] = fresh(result)
            for number in (*instruction.reads(), *instruction.outputs):
                if last[number] == at:
                    values[number] = None
                    if facts is not None:
                        facts.forget(number)
    if facts is not None:
        facts.done()
    return {number: values[number] for number in program.kept()}


class Replayer:
    """Runs one program: checks inputs, keeps a lowered program for each memory layout, wraps
    results. writes_places: whether its runs write themselves what is to be written to places.
    """

    writes_places = False

    def __init__(self, program: Program) -> None:
        self._program = weakref.ref(program)  # which owns this
        self.types = [(program.types[n].shape, program.types[n].dtype) for n in program.inputs]
        self.numbers = [
            (n, place) for n, place in program.captured.items() if program.types[n].number
        ]
        self.updates = list(
            dict.fromkeys(place.update for _, place in self.numbers if place.update is not None)
        )
        self.places = [
            (n, place) for n, place in program.captured.items() if not program.types[n].number
        ]
        self.state_types = [
            (program.types[n].shape, program.types[n].dtype) for n, _ in self.places
        ]
        self.lowered: dict[Any, Lowered] = {}
        self.positional = program.signature is None
        template = None if self.positional else program.signature[0]
        self.flat = (
            template is not None
            and template[0] == "tuple"
            and all(item[0] == "leaf" for item in template[1])
        )
        given = {*program.inputs, *program.captured, *program.constants}
        makers = program.makers()
        self.copied = [
            _root_of(program, makers, n) in given or n in program.outputs[:i]
            for i, n in enumerate(program.outputs)
        ]
        self.copied_updates = {
            v
            for v in program.updates.values()
            if makers[v] < 0 or program.instructions[makers[v]].primitive.view
        }
        self.draws = any(i.primitive.random for i in program.instructions)
        # captured arrays that share no memory
        self.apart: tuple[list[int], set[int], list[Any]] = ([], set(), [])
        # whether inputs and captured arrays must not share memory, which `checked` then makes sure
        # of
        self.alone = False
        self.finish: Callable[[list[Tensor], Sequence[Any]], Any] = self._nested
        # counts of overwritten memory beyond those of the updates: whose, how many more
        self.extra: Sequence[tuple[str, Any, int]] = ()
        # of gradients that a run makes: whose, how many
        self.gradient_versions: Sequence[tuple[Any, int]] = ()
        self.made_leaves: Sequence[int] = ()  # inputs that are constants before a run only

    @property
    def program(self) -> Program:
        """The program that this runs."""
        program = self._program()
        assert program is not None
        return program

    def __call__(self, *inputs: Any) -> Any:
        tensors = self.leaves(inputs)
        return self.run(tensors, *self.checked(tensors))

    def checked(self, tensors: Sequence[Any]) -> tuple[list[Any], tuple[Any, ...] | None]:
        """The inputs' payloads, and how they and the captured arrays lie in memory (None: not all
        are plain arrays). Nothing has happened yet; raises ProgramError if one is not of the type
        that was recorded.
        """
        payloads: list[Any] = []
        layout: list[Any] = []
        arrays: list[Any] = []
        plain = True
        for update in self.updates:
            if update.fixed is not None and (changed := update.fixed.difference()) is not None:
                raise ProgramError(f"{self.program.name}: {changed}. Record another one.")
        for i, tensor in enumerate(tensors):
            array = tensor.array if type(tensor) is Tensor else self._payload(i, tensor)
            shape, dtype = self.types[i]
            if array.shape != shape or array.dtype != dtype:
                self._refuse(i, array)
            plain = _note_layout(array, layout) and plain
            payloads.append(array)
        for k, (number, place) in enumerate(self.places):
            array = place.array
            shape, dtype = self.state_types[k]
            if array.shape != shape or array.dtype != dtype:
                raise ProgramError(
                    f"{self.program.name}: the captured {self.program.name_of(number)} is now"
                    f" {array.dtype} {tuple(array.shape)}; the program was recorded with"
                    f" {self.program.types[number]!r}. Record another one."
                )
            plain = _note_layout(array, layout) and plain
            arrays.append(array)
        if self.alone:
            self._check_apart(payloads, arrays, tensors)
        return payloads, tuple(layout) if plain else None

    def _check_apart(self, payloads: list[Any], arrays: list[Any], tensors: Sequence[Any]) -> None:
        """Raise OverlapError if inputs and captured arrays share memory, or what is overwritten
        shares a version counter. Captured arrays are mostly the same from call to call."""
        known, owners, _ = self.apart
        ids = [*map(id, arrays)]
        if ids != known:
            owners = {*map(overlap_key, arrays)}
            if (len(owners) < len(arrays) or 0 in owners) and overlapping(arrays):
                raise OverlapError(SHARED)
            self.apart = ids, owners, arrays
        keys = [id(p) if p.base is None else overlap_key(p) for p in payloads]
        apart = len(set(keys)) == len(keys) and 0 not in keys and 0 not in owners
        if not (apart and owners.isdisjoint(keys)) and (
            overlapping(payloads, arrays) or counted_together(self.program, tensors)
        ):
            raise OverlapError(SHARED)

    def run(
        self,
        tensors: Sequence[Any],
        payloads: list[Any],
        where: tuple[Any, ...] | None,
        filled: list[Any] | None = None,
    ) -> Any:
        """One run, on what `checked` found in order, or on the values that are `filled` in already.
        What ends it before all values are there leaves everything, random numbers too, as it was.
        What ends it later, an interrupt, passes when all is written."""
        random = functions.random_state() if self.draws else None
        parts: Any = None
        made = None
        commit: Any = None
        try:
            counted: dict[Any, dict[str, Any]] = {}
            for update in self.updates:
                update.count(counted)
            lowered = None if where is None else self.lowered.get(where)
            if lowered is None:
                if filled is not None:
                    payloads = [filled[n] for n in self.program.inputs]
                values: Any = (
                    interpret(self.program, payloads)
                    if where is None
                    else self._first(payloads, where)
                )
                outcome, commit = self.effects
            else:
                try:
                    parts = lowered.free.pop()
                except IndexError:  # the first run on buffers, or another thread has them
                    parts = lowered.workspace()
                values = self._run(parts, self._filled(payloads) if filled is None else filled)
                outcome, commit = lowered.effects or self._effects(lowered)
            results, made = outcome(values, tensors)
            commit(tensors, made)
        except BaseException:
            if made is not None:
                commit(tensors, made)
            elif random is not None:
                functions.set_random_state(random)
            raise
        if lowered is not None:
            lowered.free.append(parts)
        return self.finish(results, tensors)

    # -------------------------------------------------------------------------------------- running

    def _first(self, payloads: list[Any], layout: tuple[Any, ...]) -> Any:
        """The first run with inputs of this layout is plain, and watched; then the program is
        lowered for it, which the next run uses.
        """
        facts = Facts(len(self.program.types))
        values = interpret(self.program, payloads, facts)
        self.lowered[layout] = Lowered(self.program, facts, backend.numpy)
        return values

    def _filled(self, payloads: list[Any]) -> list[Any]:
        """The values by number, so far only those of inputs and captured arrays."""
        program = self.program
        v: list[Any] = [None] * len(program.types)
        for number, payload in zip(program.inputs, payloads, strict=True):
            v[number] = payload
        for number, place in self.places:
            v[number] = place.array
        return v

    def _run(self, parts: list[Callable[[list[Any]], None]], v: list[Any]) -> list[Any]:
        for number, place in self.numbers:
            v[number] = place.array
        before = FLOAT_ERRORS.set(IGNORED)  # `ignore_float_errors()` takes 0.5 µs longer
        try:
            for part in parts:
                part(v)
        finally:
            FLOAT_ERRORS.reset(before)
        return v

    def _effects(self, lowered: Lowered) -> Effects:
        """What turns the values of a run on buffers into results, and writes what is to be
        written."""
        lowered.effects = effects_code(self, lowered.owned)
        return lowered.effects

    @functools.cached_property
    def effects(self) -> Effects:
        """That of other runs."""
        return effects_code(self)

    def _nested(self, results: list[Tensor], _: Sequence[Any]) -> Any:
        """Results nested as recorded."""
        program = self.program
        if self.positional:
            return results[0] if len(results) == 1 else tuple(results)
        template = program.signature[1]
        return results[0] if template == ["leaf", 0] else rebuild(template, results)

    # --------------------------------------------------------------------------------------- inputs

    def leaves(self, inputs: tuple[Any, ...]) -> Sequence[Any]:
        """The inputs one by one. Raises ProgramError where they are not nested, or not as many,
        as recorded.
        """
        if not (self.flat or self.positional):
            leaves: list[Any] = [None] * len(self.types)
            collect(self.program.signature[0], inputs, leaves.__setitem__, "")
            return leaves
        if len(inputs) != len(self.types):
            raise ProgramError(
                f"{self.program.name}: takes {len(self.types)} inputs, got {len(inputs)}."
            )
        return inputs

    def _payload(self, i: int, value: Any) -> Any:
        if isinstance(value, Tensor):
            return value.array
        if type(value) in backend.PYTHON_SCALARS or not hasattr(value, "dtype"):
            kind = self.program.types[self.program.inputs[i]]
            raise ProgramError(
                f"{self.program.name}: input {self.program.name_of(self.program.inputs[i])} must be"
                f" a tensor of {kind!r}, got {type(value).__name__}."
            )
        return canonical(value)

    def _refuse(self, i: int, array: Any) -> None:
        number = self.program.inputs[i]
        given = Type(array.shape, array.dtype, device_of(array))
        raise ProgramError(
            f"{self.program.name}: input {self.program.name_of(number)} is {given!r}, but the"
            f" program was recorded for {self.program.types[number]!r}. Shapes and dtypes are part"
            " of a program: record another one for these."
        )

    # -------------------------------------------------------------------------------------- reports

    def latest(self) -> Lowered:
        """The lowered program of the latest layout. Raises ProgramError if none was run."""
        if not self.lowered:
            raise ProgramError(
                "run the program once first: where its values lie in memory is seen in a run."
            )
        return next(reversed(self.lowered.values()))

    def memory(self) -> dict[str, int]:
        """Bytes: of all values together, the most alive at once without and with the plan, and
        how often a buffer was used again.
        """
        lowered = self.latest()
        return {
            "all": total_bytes(self.program, lowered.facts),
            "without plan": plain_peak(self.program, lowered.facts),
            "with plan": lowered.planned,
            "buffers": len(lowered.buffers),
            "reused": lowered.arena.reused + lowered.taken_over,
        }


def _root_of(program: Program, makers: list[int], number: int) -> int:
    """The value of which this one is a view, through however many view operations; itself if it is
    none."""
    while makers[number] >= 0 and program.instructions[makers[number]].primitive.view:
        source = program.instructions[makers[number]].operands[0]
        if type(source) is not int:
            break
        number = source
    return number


def counted_together(program: Program, tensors: Sequence[Any]) -> bool:
    """Whether an input and a tensor that the program overwrites have one version counter, as views
    of one tensor have. A write into one then counts for what graphs hold of the other.

    tensors: the inputs."""
    inputs = dict(zip(program.inputs, tensors, strict=True))
    places = program.captured.items()
    captured = {n: place.tensor for n, place in places if isinstance(place, TensorBinding)}
    every = {**captured, **inputs}
    for number in program.updates:
        written = every.get(number)
        others = (every if number in inputs else inputs).values()
        counters = [getattr(t, "version", None) for t in others if t is not written]
        version = getattr(written, "version", None)
        if version is not None and any(other is version for other in counters):
            return True
    return False


def _note_layout(array: Any, layout: list[Any]) -> bool:
    """Append how a payload lies in memory; whether it is a plain one."""
    kind = type(array)
    if kind is NumpyArray:
        layout.append(array.strides)
        return True
    layout.append(None)
    return kind in IMMUTABLE
