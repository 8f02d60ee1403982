"""`compile`: a function (a training step, say) that runs as itself first, is recorded, and is replayed from then on.

    @mg.compile
    def step(x, labels):
        optimizer.zero_grad()
        loss = cross_entropy(model(x), labels)
        loss.backward()
        optimizer.step()
        return loss

The first call with arguments of some shapes and dtypes is an ordinary one (optimisers make their state in it). The second and the third are
recorded. If both recordings are the same program, and nothing that the function did was out of the program's reach, later calls replay it.

A replay is right only while Python would do the same again. That is checked in each call (world.py: settings, module modes, numbers and
other variables that the function can find), and when something differs, another program is recorded for it. What cannot be recorded runs as
itself, with a reason: decisions by values, side effects in Python, hooks, arguments that are no tensors. The reason is in `.reason` and is
given once as an `EagerWarning`.

Results of recorded and replayed calls are fresh tensors without a graph. `.grad`, parameters, buffers and optimisers' states are afterwards
what they would be, bit for bit.
"""

from __future__ import annotations

import functools
import types
import warnings
from collections.abc import Callable
from typing import Any

from .. import autograd, backend, functions, observe
from ..backend import is_immutable
from ..engine.modes import state
from ..errors import DeviceError, ProgramError
from ..nodes import Leaf
from ..tensor import Tensor, wrap
from .capture import CapturedProgram, CaptureError
from .instructions import Program
from .passes import _hashable, simplified
from .payload import Recorded
from .record import Recorder
from .run import Replayer, fresh
from .structure import describe, rebuild
from .world import PLAIN, World

LIMIT = 8
"""Programs that one function keeps."""
WORTH = 20
"""Replays by which a recorded program has paid for itself."""


class EagerWarning(UserWarning):
    """A compiled function runs as itself, and why."""


def compile(function: Any = None, *, limit: int = LIMIT, capture: bool = False, fuse: bool = False) -> Any:
    """`function` as a `Compiled` one. Also usable as a decorator, with or without arguments, and on methods.

    limit: the number of programs kept, one for each kind of arguments (shapes, dtypes, plain values) and each state of what the function
    finds outside. On a CUDA device `capture` makes each program one CUDA graph (capture.py) and `fuse` its element-wise chains one kernel
    each (fused.py); neither has been measured. What cannot be a graph, or is not on such a device, is replayed as it is, and `.reason`
    says why. Raises TypeError for what cannot be called.
    """
    if function is None:
        return functools.partial(compile, limit=limit, capture=capture, fuse=fuse)
    if not callable(function):
        raise TypeError(f"compile takes a function (or a module), got {type(function).__name__}.")
    return Compiled(function, limit, capture, fuse)


class Compiled:
    """Calls like the function that it was made of.

    reason: why the latest call was not a replay, or not the replay that was asked for (None: it was); programs: those recorded and kept;
    statistics: how many calls were "eager", "recorded" and "replayed".
    """

    def __init__(self, function: Callable[..., Any], limit: int = LIMIT, capture: bool = False, fuse: bool = False) -> None:
        functools.update_wrapper(self, function)
        self.function, self.limit, self.capture, self.fuse = function, limit, capture, fuse
        self.reason: str | None = None
        self.statistics = {"eager": 0, "recorded": 0, "replayed": 0}
        self.given_up: str | None = None
        self._variants: dict[Any, list[Variant]] = {}
        self._warned: set[str] = set()

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else types.MethodType(self, instance)

    @property
    def programs(self) -> list[Program]:
        """The programs that are replayed, in the order in which they were recorded."""
        return [v.program for variants in self._variants.values() for v in variants if v.program is not None and v.ready]

    def __repr__(self) -> str:
        counts = ", ".join(f"{n} {how}" for how, n in self.statistics.items())
        return f"<compiled {_name_of(self.function)}: {counts}" + (f"; eager because {self.reason}>" if self.reason else ">")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if observe._here.listening and any(isinstance(o, Recorder) for o in observe._here.listening):
            return self.function(*args, **kwargs)  # as a part of what is being recorded
        arguments = Arguments(args, kwargs)
        reason = self.given_up or arguments.problem or _mode_problem()
        if reason is not None:
            return self._eager(reason, args, kwargs)
        variants = self._variants.setdefault(arguments.key, [])
        for variant in variants:
            difference = variant.difference()
            if difference is None:
                break
        else:
            return self._another(arguments, variants, difference if variants else None)
        if variant.problem is not None:
            return self._eager(variant.problem, args, kwargs)
        if variant.ready:
            try:
                ready = variant.prepare(arguments.tensors)
            except ProgramError as error:  # a captured tensor has another dtype, a state was replaced
                variants.remove(variant)
                return self._another(arguments, variants, str(error))
            self.reason = variant.plain
            if self.reason is not None:
                self._warn(self.reason, stacklevel=3)
            self.statistics["replayed"] += 1
            variant.replays += 1
            return variant.replay(arguments.tensors, *ready)
        return self._record(variant, arguments)

    # ---------------------------------------------------------------------------------------------------------------- other ways

    def _eager(self, reason: str, args: Any, kwargs: Any, warn: bool = True) -> Any:
        """The function itself."""
        self.reason = reason
        self.statistics["eager"] += 1
        if warn:
            self._warn(f"runs as itself: {reason}", stacklevel=4)
        return self.function(*args, **kwargs)

    def _warn(self, what: str, stacklevel: int) -> None:
        """Say once what the function does."""
        if what not in self._warned:
            self._warned.add(what)
            warnings.warn(f"compiled {_name_of(self.function)} {what}.", EagerWarning, stacklevel=stacklevel)

    def _another(self, arguments: Arguments, variants: list[Variant], difference: str | None) -> Any:
        """No program fits: begin another one with an ordinary run."""
        everything = [(key, v) for key, list_ in self._variants.items() for v in list_]
        if len(everything) >= self.limit:
            key, oldest = everything[0]
            if sum(v.replays for _, v in everything) < WORTH * len(everything):
                latest = f"; the latest change: {difference}" if difference else ""
                self.given_up = (
                    f"{len(everything)} programs were recorded and hardly replayed, because shapes or what the function finds keep changing"
                    f"{latest}. Give what changes as a tensor"
                )
                self._variants.clear()
                return self._eager(self.given_up, arguments.args, arguments.kwargs)
            self._variants[key].remove(oldest)
        variants.append(Variant(self.function, arguments, self.capture, self.fuse))
        reason = "this is the first call of its kind" + (f" ({difference})" if difference else "")
        result = self._eager(reason, arguments.args, arguments.kwargs, warn=False)
        variants[-1].look()
        return result

    def _record(self, variant: Variant, arguments: Arguments) -> Any:
        """Run the function while it is recorded. If that fails, everything is put back and it runs as itself."""
        variant.look()
        variant.problem = variant.world.obstacle()
        if variant.problem is not None:
            return self._eager(variant.problem, arguments.args, arguments.kwargs)
        before = _Memory(variant.world)
        try:
            result = variant.record(arguments)
        except Exception as error:
            changed = variant.world.difference(gradients=False)
            before.put_back()
            if changed is not None:
                variant.problem = f"it failed while being recorded, and had changed Python values ({changed})"
                raise
            variant.problem = f"it cannot be recorded: {type(error).__name__}: {error}".rstrip(".")
            return self._eager(variant.problem, arguments.args, arguments.kwargs)
        self.statistics["recorded"] += 1
        self.reason = variant.problem or "it is being recorded"
        self.given_up = variant.changes
        return result


class Arguments:
    """The arguments of a call: tensors (the program's inputs), and what is part of the program. key: equal for calls that may share one."""

    __slots__ = ("args", "key", "kwargs", "problem", "roots", "template", "tensors")

    def __init__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.args, self.kwargs = args, kwargs
        self.tensors: list[Tensor] = []
        self.roots: list[tuple[str, Any]] = []  # objects by identity, which the function may look into
        self.problem: str | None = None
        modes = (state.recording, backend.default_dtype(), autograd.training)
        self.key = (*modes, *[self._key(f"argument {i}", a) for i, a in enumerate(args)])
        if kwargs:
            self.key += tuple((name, self._key(f"argument {name}", a)) for name, a in kwargs.items())

    def _key(self, name: str, value: Any) -> Any:
        if type(value) is Tensor:
            array, node = value.array, value.node
            if node is None and value.tangents is None:
                self.tensors.append(value)
                return array.shape, array.dtype, type(array)
            if not isinstance(node, Leaf):
                self.problem = f"{name} carries a graph or tangents: detach() it"
            self.roots.append((name, value))
            return id(value)
        if isinstance(value, PLAIN):
            return type(value), repr(value)
        if type(value) in (list, tuple):
            return (type(value), *[self._key(f"{name}[{i}]", item) for i, item in enumerate(value)])
        if type(value) is dict:
            return (dict, *[(key, self._key(f"{name}[{key!r}]", item)) for key, item in value.items()])
        if isinstance(value, backend.HostArray):
            self.problem = f"{name} is an array: give it as a tensor, mg.tensor(array)"
        self.roots.append((name, value))
        return id(value)

    def with_inputs(self, inputs: list[Tensor]) -> tuple[Any, Any]:
        """args and kwargs with other tensors in the places of the inputs."""
        rest = iter(inputs)
        return tuple(_with(a, rest) for a in self.args), {k: _with(a, rest) for k, a in self.kwargs.items()}


class Variant:
    """A program in the making, for one kind of arguments and one state of the world."""

    def __init__(self, function: Callable[..., Any], arguments: Arguments, capture: bool = False, fuse: bool = False) -> None:
        self.function, self.capture, self.fuse = function, capture, fuse
        self.roots = [("it", function), *arguments.roots]
        self.world = World(self.roots)
        self.program: Program | None = None
        self.problem: str | None = None
        self.changes: str | None = None  # what each call changes in Python
        self.plain: str | None = None  # why it is replayed without the graph or the kernels that were asked for
        self.runner: Replayer | None = None
        self.ready = False
        self.replays = 0

    def look(self) -> None:
        """Look at the world as it is now: what the next recording must find."""
        self.world = World(self.roots)

    def difference(self) -> str | None:
        """What is not as it was when this was recorded (before that, nothing is)."""
        return self.world.difference() if self.program is not None or self.problem is not None else None

    def record(self, arguments: Arguments) -> Any:
        """Run the function and record it: a first time, or a second time to see whether it does the same."""
        optimizers, program, result, found = self._run(arguments)
        self.problem = self._judge(program, found, arguments)
        if self.problem is None and self.program is not None:
            self.problem = _what_differs(self.program, program)
            self.ready = self.problem is None
        for optimizer in optimizers:
            self.world.add(type(optimizer).__name__, optimizer)
        self.program = program
        return result

    def _run(self, arguments: Arguments) -> tuple[list[Any], Program, Any, list[Tensor]]:
        """One recorded call: the optimisers that made updates, the program, the call's result, and the tensors in it."""
        recorder = Recorder()
        recorder.capture_world(self.world.tensors)
        found: list[tuple[str, Tensor]] = []
        with recorder.recording():
            inputs = [recorder.input(t, f"x{i}" if len(arguments.tensors) > 1 else "x") for i, t in enumerate(arguments.tensors)]
            recorder.lift_world()
            args, kwargs = arguments.with_inputs(inputs)
            result = self.function(*args, **kwargs)
            _check_result(result)
            signature = (["tuple", [["leaf", i] for i in range(len(inputs))]], describe(result, found, "the result"))
            program = recorder.finish([t for _, t in found], signature, _name_of(self.function))
        tensors = [t for _, t in found]
        values = [t.array.array if type(t.array) is Recorded else t.array for t in tensors]
        optimizers, recorder.optimizers = recorder.optimizers, []
        return optimizers, simplified(program), rebuild(signature[1], [wrap(fresh(v)) for v in values]), tensors

    def _judge(self, program: Program, found: list[Tensor], arguments: Arguments) -> str | None:
        """Why this program must not be replayed, None if it may."""
        if program.decisions:
            return f"Python asked for a value, {program.decisions[0]}, and may decide by it"
        changed = self.world.difference(gradients=False)
        if changed is not None:
            self.changes = f"each call changes what a replay would leave as it is: {changed}"
            return self.changes
        differentiates = any("backward" in phase for phase in program.phases())
        if not differentiates and any(t.node is not None for t in found):
            return (
                "its result requires grad, and a replay has no graph: let the function call backward() itself, or call it under no_grad()"
            )
        given = [id(t.array) for t in arguments.tensors]
        if program.updates and (len(set(given)) != len(given) or any(id(t.array) in given for _, t in self.world.tensors)):
            return "it writes, and two of its arguments, or an argument and a tensor that it finds outside, are one piece of memory"
        return None

    def prepare(self, tensors: list[Tensor]) -> Any:
        """Check the inputs and what is captured; raises ProgramError where it does not fit. Nothing has happened yet."""
        program = self.program
        assert program is not None
        if self.runner is None:
            try:
                self.runner = self._special(program) if self.capture or self.fuse else None
            except (CaptureError, DeviceError) as error:
                self._without(error)
        if self.runner is None:
            self.runner = program.replayer = Replayer(program)
        try:
            return self.runner.checked(tensors)
        except CaptureError as error:
            self._without(error)
            self.runner = program.replayer = Replayer(program)
            return self.runner.checked(tensors)

    def _special(self, program: Program) -> Replayer:
        """What replays it as a graph, or with chains as one kernel each."""
        if self.fuse:
            program = self.kept = program.fused()
        return CapturedProgram(program) if self.capture else Replayer(program)

    def _without(self, error: Exception) -> None:
        self.plain = f"is replayed as it is, without a {'graph' if self.capture else 'fused kernel'}: {error}".rstrip(".")

    def replay(self, tensors: list[Tensor], payloads: Any, layout: Any) -> Any:
        """Run the program on what `prepare` found in order."""
        assert self.runner is not None
        return self.runner.run(tensors, payloads, layout)


class _Memory:
    """What the tensors of a world hold, and how the random numbers go on: to be put back if a recording fails."""

    def __init__(self, world: World) -> None:
        self.random = functions.random_state()
        self.values = [(t, t.array, fresh(t.array), t._grad, None if t._grad is None else fresh(t._grad.array)) for _, t in world.tensors]
        self.states = [
            (optimizer, id_, dict(entries), {k: fresh(v) for k, v in entries.items() if hasattr(v, "dtype")})
            for optimizer in world.optimizers
            for id_, entries in optimizer.state.items()
        ]

    def put_back(self) -> None:
        """Everything as it was."""
        functions.set_random_state(self.random)
        for tensor, array, values, gradient, old in self.values:
            tensor.array = array
            if isinstance(tensor.node, Leaf):
                tensor.node.array = array
            if not is_immutable(array):
                array[...] = values
            tensor._grad = gradient
            if gradient is not None and not is_immutable(gradient.array):
                gradient.array[...] = old
        for optimizer, id_, entries, arrays in self.states:
            for name, values in arrays.items():
                entries[name][...] = values
            optimizer.state[id_].clear()
            optimizer.state[id_].update(entries)


# ------------------------------------------------------------------------------------------------------------------------ helpers


def _name_of(function: Any) -> str:
    return str(getattr(function, "__name__", type(function).__name__))


def _check_result(result: Any) -> None:
    """Raise ProgramError for a result that a replay could not make again: named tuples and the like."""
    if isinstance(result, list | tuple | dict):
        if type(result) not in (list, tuple, dict):
            raise ProgramError(f"it returns a {type(result).__name__}: use a tuple, a list or a dict")
        for item in result.values() if isinstance(result, dict) else result:
            _check_result(item)


def _mode_problem() -> str | None:
    """Why nothing can be replayed or recorded just now."""
    if observe._here.listening:
        return "somebody watches the engine (a recorder, a profiler, anomaly detection), who would see nothing of a replay"
    if state.levels or state.batches:
        return "forward mode or vmap is running around it"
    return None


def _with(value: Any, rest: Any) -> Any:
    if type(value) is Tensor:
        return next(rest) if value.node is None and value.tangents is None else value
    if type(value) in (list, tuple):
        return type(value)(_with(item, rest) for item in value)
    if type(value) is dict:
        return {key: _with(item, rest) for key, item in value.items()}
    return value


def _what_differs(first: Program, second: Program) -> str | None:
    """How the recordings of two calls differ; None if they are one program."""
    if len(first.instructions) != len(second.instructions):
        return f"it does not do the same in each call: {len(first.instructions)} operations, then {len(second.instructions)}"
    for a, b in zip(first.instructions, second.instructions, strict=True):
        same = (a.primitive, a.operands, a.outputs) == (b.primitive, b.operands, b.outputs) and _hashable(a.params) == _hashable(b.params)
        if not same:
            return f"it does not do the same in each call: {a!r}, then {b!r}"
    for n, array in first.constants.items():
        if n not in second.constants or _hashable(array) != _hashable(second.constants[n]):
            return f"a value {first.types[n]!r} that Python made was not the same in two calls"
    places = [_identity(p) for p in first.captured.values()], [_identity(p) for p in second.captured.values()]
    facts = [(p.inputs, p.outputs, list(p.constants), p.updates, p.gradients, p.types, p.signature) for p in (first, second)]
    return "it did not read or write the same tensors in two calls" if places[0] != places[1] or facts[0] != facts[1] else None


def _identity(place: Any) -> Any:
    """What makes two places the same."""
    return type(place), id(place.owner), place.name
