"""`compile`: a function (a training step, say) that runs as itself first, is recorded, and is
replayed from then on.

    @mg.compile
    def step(x, labels):
        optimizer.zero_grad()
        loss = cross_entropy(model(x), labels)
        loss.backward()
        optimizer.step()
        return loss

Compiled means: the same, faster. Every call leaves what the plain call leaves: values, gradients,
graphs and aliases of results, version
counts, errors, random numbers, the states of optimisers and modules.

The first call with arguments of some shapes, dtypes and strides is an ordinary one (optimisers make
their state in it). So are the second and
the third; after each, the function runs once more, on copies of what it found (snapshot.py), and
that run is recorded. If both recordings are
one program, the second run gave what the call itself gave, and nothing that the function did was
out of the program's reach, later calls
replay it.

A replay is right only while Python would do the same again. That is checked in each call
(guards.py: settings, module modes, numbers and
other variables that the function can find; which tensors share memory), and when something differs,
another program is recorded for it. What
cannot be recorded runs as itself, with a reason: decisions and shapes by values, side effects in
Python, hooks, arguments that are no tensors,
objects into which Python cannot look. The reason is in `.reason` and is given once as an
`EagerWarning`. A replay that fails has written
nothing; the function then runs as itself, and its error is that of the plain call.

Results that require grad have a graph, so a compiled model is differentiated from outside: their
backward pass is a program too (graphs.py).
Results that are arguments, tensors from outside, or views of such or of each other are that in
replays as well (outcome.py).

*Bits.* A replay gives the bits of the plain call where the same kernel runs on operands of the same
memory layout, and all kernels of NumPy
give the same bits in every layout. BLAS does not: what depends on a product of matrices whose
operands lie otherwise agrees within 16 units of
roundoff of its largest element for each product, as does the sum of a gradient from inside the
function and one from outside, which is taken
in another order. From its second run on, a program gives the same bits for the same values in the
same layout.
"""

from __future__ import annotations

import functools
import types
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .. import autograd, backend
from ..core import modes
from ..core.modes import state
from ..core.tensor import Leaf, Tensor, memory_version
from ..core.views import grad_node
from ..errors import DeviceError, ProgramError
from .capture import CapturedProgram, CaptureError
from .environment import UNWRAPPED, Environment
from .guards import PLAIN
from .lower import shaped_by_values
from .outcome import Outcome
from .passes import hashable
from .places import GradientPlace, TensorPlace
from .record import Recorder
from .run import OverlapError, Replayer
from .snapshot import MADE_STATE, Snapshot

if TYPE_CHECKING:
    from .program import Program

LIMIT = 8
"""Programs that one function keeps."""
WORTH = 20
"""Replays by which a recorded program has paid for itself."""


ONE_MEMORY = (
    "it writes, and two of its arguments, or an argument and a tensor that it finds outside, are"
    " one piece of memory"
)


ONE_TENSOR = "an argument is a tensor that it also finds outside"


class EagerWarning(UserWarning):
    """A compiled function runs as itself, and why."""


def compile(
    function: Any = None, *, limit: int = LIMIT, capture: bool = False, fuse: bool = False
) -> Any:
    """`function` as a `Compiled` one. Also usable as a decorator, with or without arguments, and on
    methods.

    limit: the number of programs kept, one for each kind of arguments (shapes, dtypes, plain
    values) and each state of what the function finds outside. On a CUDA device `capture` makes each
    program one CUDA graph (capture.py) and `fuse` its element-wise chains one kernel each
    (fused.py); neither has been measured. What cannot be a graph, or is not on such a device, is
    replayed as it is, and `.reason` says why. Raises TypeError for what cannot be called.
    """
    if function is None:
        return functools.partial(compile, limit=limit, capture=capture, fuse=fuse)
    if not callable(function):
        raise TypeError(f"compile takes a function (or a module), got {type(function).__name__}.")
    return Compiled(function, limit, capture, fuse)


class Compiled:
    """Calls like the function that it was made of.

    reason: why the latest call was not a replay, or not the replay that was asked for (None: it
    was); programs: those recorded and kept;
    statistics: how many calls were "eager", "recorded" and "replayed".
    """

    def __init__(
        self,
        function: Callable[..., Any],
        limit: int = LIMIT,
        capture: bool = False,
        fuse: bool = False,
    ) -> None:
        functools.update_wrapper(self, function, updated=())
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
        return [
            v.program
            for variants in self._variants.values()
            for v in variants
            if v.program is not None and v.ready
        ]

    def __repr__(self) -> str:
        counts = ", ".join(f"{n} {how}" for how, n in self.statistics.items())
        return f"<compiled {_name_of(self.function)}: {counts}" + (
            f"; eager because {self.reason}>" if self.reason else ">"
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if modes.observation.listening and any(
            isinstance(o, Recorder) for o in modes.observation.listening
        ):
            return self.function(*args, **kwargs)  # as a part of what is being recorded
        arguments = Arguments(args, kwargs)
        reason = self.given_up or arguments.problem or _mode_problem()
        if reason is not None:
            return self._eager(reason, args, kwargs)
        variants = self._variants.setdefault(arguments.key, [])
        for variant in variants:
            difference = variant.difference(arguments)
            if difference is None:
                break
        else:
            return self._another(arguments, variants, difference if variants else None)
        if variant.problem is not None:
            return self._eager(variant.problem, args, kwargs)
        if not variant.ready:
            return self._record(variant, arguments)
        try:
            ready = variant.prepare(arguments.tensors)
        except OverlapError as error:
            return self._eager(str(error), args, kwargs)
        except ProgramError as error:  # a captured tensor has another dtype, a state was replaced
            variants.remove(variant)
            return self._another(arguments, variants, str(error))
        try:
            result = variant.replay(arguments.tensors, *ready)
        # an eager run makes what there is to make before it raises, or does not raise
        except Exception as error:
            if isinstance(error, ProgramError):
                variant.problem = str(error).rstrip(".")
            return self._eager(
                f"a replay failed: {type(error).__name__}: {error}".rstrip("."),
                args,
                kwargs,
                warn=False,
            )
        self.reason = variant.plain
        if self.reason is not None:
            self._warn(self.reason, stacklevel=3)
        self.statistics["replayed"] += 1
        variant.replays += 1
        return result

    # ----------------------------------------------------------------------------------- other ways

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
            warnings.warn(
                f"compiled {_name_of(self.function)} {what}.", EagerWarning, stacklevel=stacklevel
            )

    def _another(
        self, arguments: Arguments, variants: list[Variant], difference: str | None
    ) -> Any:
        """No program fits: begin another one with an ordinary run."""
        everything = [(key, v) for key, list_ in self._variants.items() for v in list_]
        if len(everything) >= self.limit:
            key, oldest = everything[0]
            if sum(v.replays for _, v in everything) < WORTH * len(everything):
                latest = f"; the latest change: {difference}" if difference else ""
                self.given_up = (
                    f"{len(everything)} programs were recorded and hardly replayed, because shapes"
                    f" or what the function finds keep changing{latest}. Give what changes as a"
                    " tensor"
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
        """Run the function as itself, and then once more on copies of what it found, where it is
        recorded."""
        variant.look()
        variant.problem = variant.environment.obstacle()
        if variant.problem is not None:
            return self._eager(variant.problem, arguments.args, arguments.kwargs)
        before = Snapshot(
            (t for _, t in variant.environment.tensors),
            arguments.tensors,
            variant.environment.optimizers,
        )
        variant.problem = before.problem
        if before.identical or (before.shared and variant.writes):
            reason = ONE_TENSOR if before.identical else ONE_MEMORY
            return self._eager(reason, arguments.args, arguments.kwargs)
        result = self._eager("it is being recorded", arguments.args, arguments.kwargs, warn=False)
        problem = variant.record(arguments, before, result)
        self.given_up = variant.changes
        if problem is not None:
            self.reason = problem
            self._warn(f"runs as itself: {problem}", stacklevel=3)
        else:
            self.statistics["eager"] -= 1
            self.statistics["recorded"] += 1
        return result


class Arguments:
    """The arguments of a call: tensors (the program's inputs), and what is part of the program.
    key: equal for calls that may share one.
    """

    __slots__ = ("_numbers", "args", "containers", "key", "kwargs", "problem", "roots", "tensors")

    def __init__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.args, self.kwargs = args, kwargs
        self.tensors: list[Tensor] = []
        self.roots: list[
            tuple[str, Any]
        ] = []  # objects by identity, which the function may look into
        self.containers: list[Any] = []  # the lists, tuples and dicts among them
        self.problem: str | None = None
        self._numbers: dict[int, int] = {}
        settings = (state.recording, backend.default_dtype(), autograd.training)
        self.key = (*settings, *[self._key(f"argument {i}", a) for i, a in enumerate(args)])
        if kwargs:
            self.key += tuple(
                (name, self._key(f"argument {name}", a)) for name, a in kwargs.items()
            )

    def changed(self) -> bool:
        """Whether a list or dict among them holds other things than it did."""
        now = Arguments(self.args, self.kwargs)
        return self.key != now.key or not (
            _identical(self.tensors, now.tensors) and _identical(self.containers, now.containers)
        )

    def _key(self, name: str, value: Any) -> Any:
        if type(value) is Tensor:
            array, node = value.array, value.node if value.view_of is None else grad_node(value)
            if node is None and value.tangents is None and value.stored_grad is None:
                number = self._numbers.setdefault(id(value), len(self.tensors))
                if number < len(self.tensors):
                    return number  # the same tensor once more
                self.tensors.append(value)
                return array.shape, array.dtype, type(array), array.strides
            if not isinstance(node, Leaf):
                self.problem = f"{name} carries a graph, tangents or a .grad: detach() it"
            self.roots.append((name, value))
            return id(value)
        if isinstance(value, PLAIN):
            return type(value), repr(value)
        if type(value) in (list, tuple, dict):
            return self._container_key(name, value)
        if isinstance(value, backend.NumpyArray):
            self.problem = f"{name} is an array: give it as a tensor, mg.tensor(array)"
        self.roots.append((name, value))
        return id(value)

    def _container_key(self, name: str, value: Any) -> Any:
        kind: Any = type(value)
        known = len(self.containers)
        if kind is not tuple:
            number = self._numbers.setdefault(id(value), -1 - known)
            if number != -1 - known:
                return number  # the same list or dict once more
        self.containers.append(value)
        if kind is dict:
            pairs = value.items()
            return (dict, *[(type(k), k, self._key(f"{name}[{k!r}]", v)) for k, v in pairs])
        return (kind, *[self._key(f"{name}[{i}]", item) for i, item in enumerate(value)])


class Variant:
    """A program in the making, for one kind of arguments and one state of the world."""

    def __init__(
        self,
        function: Callable[..., Any],
        arguments: Arguments,
        capture: bool = False,
        fuse: bool = False,
    ) -> None:
        self.function, self.capture, self.fuse = function, capture, fuse
        self.roots = [("it", function), *arguments.roots]
        self.look()
        self.program: Program | None = None
        self.problem: str | None = None
        self.changes: str | None = None  # what each call changes in Python
        self.writes = False
        self.outcome: Any = None
        self._first: Any = None  # the first recording, with which the second is compared
        self.plain: str | None = (
            None  # why it is replayed without the graph or the kernels that were asked for
        )
        self.runner: Replayer | None = None
        self.ready = False
        self.replays = 0

    def look(self) -> None:
        """Look at the environment as it is now: what the next recording must find."""
        self.environment = Environment(self.roots)
        self.outside = {id(t) for _, t in self.environment.tensors}

    def difference(self, arguments: Arguments) -> str | None:
        """What is not as it was when this was recorded (before that, nothing is)."""
        if self.program is None and self.problem is None:
            return None
        if not self.outside.isdisjoint(map(id, arguments.tensors)):
            return ONE_TENSOR
        return self.environment.difference()

    def record(self, arguments: Arguments, before: Snapshot, result: Any) -> str | None:
        """After a call that gave `result`: run it again on copies and record that, a first time, or
        a second time to see whether it does the
        same. Why there is no recording, None if there is one."""
        problem = self.environment.difference(gradients=False)
        if problem is not None:
            self.changes = self.problem = (
                f"each call changes what a replay would leave as it is: {problem}"
            )
            return self.problem
        problem = before.change()
        if problem is MADE_STATE:
            return problem
        if problem is None and arguments.changed():
            problem = "it changes a list or dict that it is given"
        if problem is None:
            known = {id(c) for c in arguments.containers if type(c) is not tuple}
            problem = (
                self.problem or before.problem or _unusual(result, known, self.environment.holds)
            )
        if problem is None:
            try:
                problem = self._run(arguments, before, result)
            except Exception as error:
                problem = f"it cannot be recorded: {type(error).__name__}: {error}".rstrip(".")
        if problem is ONE_MEMORY:
            return problem
        self.problem = problem
        return problem

    def _run(self, arguments: Arguments, before: Snapshot, result: Any) -> str | None:
        """The second run. Sets the program, or says why there is none."""
        recorder = Recorder()
        recorder.known = before.tensors
        recorder.keeps_checks = True
        recorder.known_optimizers = {id(o) for o in self.environment.optimizers}
        names = [
            f"x{i}" if len(arguments.tensors) > 1 else "x" for i in range(len(arguments.tensors))
        ]

        def again(after: Any) -> Any:
            recorder.capture_world(self.environment.tensors)
            with recorder.recording():
                for name, tensor in zip(names, arguments.tensors, strict=True):
                    recorder.take(tensor, name)
                recorder.lift_world()
                second = self.function(*arguments.args, **arguments.kwargs)
                recorder.keeps_checks = False
                outcome = Outcome(
                    recorder, second, arguments.tensors, [t for _, t in self.environment.tensors]
                )
                equal = outcome.agrees(result, before)
                signature = ["tuple", [["leaf", i] for i in range(len(names))]]
                program, whole = outcome.programs(signature, _name_of(self.function))
            return program, whole, outcome, equal and before.same(after)

        program, whole, outcome, equal = before.run(recorder, again)
        self.writes = bool(program.updates or program.gradients)
        if program.decisions:
            return f"Python asked for a value, {program.decisions[0]}, and may decide by it"
        shaped = shaped_by_values(recorder.instructions, recorder.types)
        if shaped is not None:
            return shaped
        if before.shared and self.writes:
            return ONE_MEMORY
        if not equal and not recorder.drew_elsewhere:
            return (
                "it does not do the same in each call: run a second time from the same state, it"
                " gave other values"
            )
        for place in program.captured.values():
            if place.owner is not None and id(place.owner) not in before.tensors:
                return (
                    f"it uses the tensor {place.name} {tuple(place.array.shape)}, which it finds in"
                    " a way that compile cannot follow"
                )
        outcome.extra = _extra_counts(before.counts(), program, arguments.tensors)
        key = outcome.key()
        if self._first is not None:
            differs = _what_differs(self._first[0], whole)
            if differs is None and key != self._first[1]:
                differs = (
                    "its results, or how often it counts memory as overwritten, are not of the same"
                    " kind in two calls"
                )
            if differs is not None:
                return differs
        looked_at = {
            id(place.tensor)
            for place in program.captured.values()
            if isinstance(place, TensorPlace)
        }
        for leaf in self.environment.leaves:
            leaf.checked_elsewhere = id(leaf.tensor) in looked_at
        self.program, self.outcome = program, outcome
        self.ready, self._first = self._first is not None, (whole, key)
        return None

    def prepare(self, tensors: list[Tensor]) -> Any:
        """Check the inputs and what is captured; raises ProgramError where it does not fit.
        Nothing has happened yet.
        """
        program = self.program
        assert program is not None
        if self.runner is None:
            try:
                self.runner = self._special(program) if self.capture or self.fuse else None
            except (CaptureError, DeviceError) as error:
                self._without(error)
        if self.runner is None:
            self.runner = program.replayer = Replayer(program)
        self.runner.alone, self.runner.finish = self.writes, self.outcome.finish
        try:
            return self.runner.checked(tensors)
        except CaptureError as error:
            self._without(error)
            self.runner = program.replayer = Replayer(program)
            return self.prepare(tensors)

    def _special(self, program: Program) -> Replayer:
        """What replays it as a graph, or with chains as one kernel each."""
        if self.fuse:
            program = self.kept = program.fused()
        return CapturedProgram(program) if self.capture else Replayer(program)

    def _without(self, error: Exception) -> None:
        self.plain = (
            f"is replayed as it is, without a {'graph' if self.capture else 'fused kernel'}:"
            f" {error}".rstrip(".")
        )

    def replay(self, tensors: list[Tensor], payloads: Any, layout: Any) -> Any:
        """Run the program on what `prepare` found in order."""
        assert self.runner is not None
        return self.runner.run(tensors, payloads, layout)


UNWRAPPED[Compiled] = "function"

# ------------------------------------------------------------------------------------------ helpers


def _name_of(function: Any) -> str:
    return str(getattr(function, "__name__", type(function).__name__))


def _identical(some: list[Any], others: list[Any]) -> bool:
    return len(some) == len(others) and all(a is b for a, b in zip(some, others, strict=True))


def _unusual(result: Any, seen: set[int], holds: Callable[[Any], bool]) -> str | None:
    """What in a result a replay could not make again: named tuples, a list that was there before
    the call (in `seen`, or the function `holds` it) or that is returned twice. None if there is
    nothing."""
    if not isinstance(result, list | tuple | dict):
        return None
    if type(result) not in (list, tuple, dict):
        return f"it returns a {type(result).__name__}: use a tuple, a list or a dict"
    if type(result) is not tuple:
        if id(result) in seen or holds(result):
            return f"it returns a {type(result).__name__} that is not new: return a copy"
        seen.add(id(result))
    return next(
        (
            p
            for item in (result.values() if isinstance(result, dict) else result)
            if (p := _unusual(item, seen, holds)) is not None
        ),
        None,
    )


def _extra_counts(
    counts: list[tuple[Tensor, int]], program: Program, inputs: list[Tensor]
) -> list[tuple[str, Any, int]]:
    """How often a call counts memory as overwritten beyond what the updates of its program count:
    ("input" | "tensor" | "gradient", which
    one, how often)."""
    written: dict[int, int] = {}
    where: dict[int, tuple[str, Any]] = {id(t): ("input", i) for i, t in enumerate(inputs)}
    for number in program.updates:
        if number in program.captured:
            place = program.captured[number]
            tensor = (
                place.leaf.stored_grad
                if isinstance(place, GradientPlace)
                else place.owner
                if isinstance(place, TensorPlace)
                else None
            )
        else:
            tensor = inputs[program.inputs.index(number)]
        if tensor is not None:
            written[id(memory_version(tensor))] = 1
    for place in program.captured.values():
        if (
            isinstance(place.owner, Tensor)
            and isinstance(place.owner.node, Leaf)
            and place.owner.stored_grad is not None
        ):
            where[id(place.owner.stored_grad)] = "gradient", place.owner
    pairs = [
        (*where.get(id(t), ("tensor", t)), count - written.get(id(t.version), 0))
        for t, count in counts
    ]
    return [(kind, what, count) for kind, what, count in pairs if count]


def _mode_problem() -> str | None:
    """Why nothing can be replayed or recorded just now."""
    if modes.observation.listening:
        return (
            "an observer is active (a recorder, a profiler, anomaly detection), which would see"
            " nothing of a replay"
        )
    if state.levels or state.batches or state.walk is not None:
        return "forward mode, vmap or a reverse pass is running around it"
    return None


def _what_differs(first: Program, second: Program) -> str | None:
    """How the recordings of two calls differ; None if they are one program."""
    if len(first.instructions) != len(second.instructions):
        return (
            f"it does not do the same in each call: {len(first.instructions)} operations, then"
            f" {len(second.instructions)}"
        )
    for a, b in zip(first.instructions, second.instructions, strict=True):
        same = (a.primitive, a.operands, a.outputs) == (
            b.primitive,
            b.operands,
            b.outputs,
        ) and hashable(a.params) == hashable(b.params)
        if not same:
            return f"it does not do the same in each call: {a!r}, then {b!r}"
    for n, array in first.constants.items():
        if n not in second.constants or hashable(array) != hashable(second.constants[n]):
            return f"a value {first.types[n]!r} that Python made was not the same in two calls"
    places = (
        [_identity(p) for p in first.captured.values()],
        [_identity(p) for p in second.captured.values()],
    )
    facts = [
        (p.inputs, p.outputs, list(p.constants), p.updates, p.gradients, p.types, p.signature)
        for p in (first, second)
    ]
    return (
        "it did not read or write the same tensors in two calls"
        if places[0] != places[1] or facts[0] != facts[1]
        else None
    )


def _identity(place: Any) -> Any:
    """What makes two places the same."""
    return type(place), id(place.owner), place.name
