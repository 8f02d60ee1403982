"""A recording of a compiled function, for one kind of arguments and one state of what it finds
outside; and why there is none.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ..core.tensor import Tensor, ensure_version
from ..errors import DeviceError, ProgramError
from .arguments import Arguments
from .bindings import TensorBinding
from .capture import CapturedProgram, CaptureError
from .compilation import Compilation, in_background
from .environment import Environment
from .generated_kernel import kernels_of
from .lower import shaped_by_values
from .naming import name_of
from .outcome import RecordedResult
from .passes import hashable
from .ready_code import Ready, ready_code
from .recorder import Recorder
from .run import Replayer, counted_together
from .snapshot import MADE_STATE, Snapshot

if TYPE_CHECKING:
    from .program import Program

ONE_MEMORY = (
    "it writes, and two of its arguments, or an argument and a tensor that it finds outside, are"
    " one piece of memory"
)
COMPILING = "is replayed as it is while its kernels are compiled"
ONE_TENSOR = "an argument is a tensor that it also finds outside"


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
        self._held = ""  # what its kernels hold, also while they are compiled
        self.plain: str | None = (
            None  # why it is replayed without the graph or the kernels that were asked for
        )
        self.fused: str | None = None  # what its kernels hold, in words
        self.runner: Replayer | None = None
        self.special: Replayer | None = None  # runs the graph or the kernels that were asked for
        self.kept: Program | None = None  # the program with kernels, if there is one
        self.compilation: Compilation | None = None  # of its kernels, beside the plain program
        self._layouts = 0  # memory layouts for which kernels are compiled, or being compiled
        self._ready: Ready | None = None  # asks in one function whether nothing has changed
        self.layout: Any = None  # the memory layout for which it was written
        self._slow = 0  # replays that it did not allow, or that there were without it
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
        if problem is None and arguments.changed(before.made_leaves):
            problem = "it changes a list or dict that it is given, or sets the .grad of an argument"
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
        count = len(arguments.tensors)
        names = [f"x{i}" if count > 1 else "x" for i in range(count)]
        outside = [t for _, t in self.environment.tensors]

        def again(after: Any) -> Any:
            recorder.capture_environment(self.environment.tensors)
            with recorder.recording():
                for name, tensor in zip(names, arguments.tensors, strict=True):
                    recorder.take(tensor, name)
                recorder.lift_environment()
                second = self.function(*arguments.args, **arguments.kwargs)
                recorder.keeps_checks = False
                outcome = RecordedResult(recorder, second, arguments.tensors, outside)
                equal = outcome.agrees(result, before)
                signature = ["tuple", [["leaf", i] for i in range(count)]]
                program, whole = outcome.programs(signature, name_of(self.function))
            outcome.extra = _extra_counts(before.counts(), program, arguments.tensors)
            made = {id(arguments.tensors[i]) for i in outcome.made_leaves}
            equal = equal and made == before.made_leaves
            return program, whole, outcome, equal and before.same(after)

        program, whole, outcome, equal = before.run(recorder, again)
        self.writes = bool(program.updates or program.gradients)
        recorded = whole, outcome.key(), recorder.frozen
        problem = self._problem_of(program, recorder, before, arguments) or (
            "it does not do the same in each call: run a second time from the same state, it gave"
            " other values"
            if not equal and not recorder.draws.elsewhere
            else self._other_than_first(*recorded)
        )
        if problem is not None:
            return problem
        places = [p for p in program.captured.values() if isinstance(p, TensorBinding)]
        checked = {id(place.tensor) for place in places}
        for leaf in self.environment.leaves:
            leaf.checked_elsewhere = id(leaf.tensor) in checked
        self.environment.guards += [n.fixed for n in recorder.update_numbers if n.fixed is not None]
        self.program, self.outcome = program, outcome
        self.ready, self._first = self._first is not None, recorded
        return None

    def _problem_of(
        self, program: Program, recorder: Recorder, before: Snapshot, arguments: Arguments
    ) -> str | None:
        """Why a recording is no program of later calls, judged by itself."""
        if program.decisions:
            return f"Python asked for a value, {program.decisions[0]}, and may decide by it"
        shaped = shaped_by_values(recorder.instructions, recorder.types)
        if shaped is not None:
            return shaped
        if self.writes and (before.shared or counted_together(program, arguments.tensors)):
            return ONE_MEMORY
        for place in program.captured.values():
            if place.owner is not None and id(place.owner) not in before.tensors:
                return _hidden(place.owner)
        return None

    def _other_than_first(self, whole: Program, key: Any, frozen: list[Tensor]) -> str | None:
        """How this recording differs from the first one; None if there is none yet."""
        if self._first is None:
            return None
        first, first_key, first_frozen = self._first
        for tensor in frozen:  # one that was there in both calls is no constant of the function's
            if any(tensor is other for other in first_frozen):
                return _hidden(tensor)
        different = (
            "its results, or how often it counts memory as overwritten, are not of the same kind in"
            " two calls"
        )
        return _what_differs(first, whole) or (different if key != first_key else None)

    def prepare(self, tensors: list[Tensor]) -> Any:
        """Check the inputs and what is captured; raises ProgramError where it does not fit.
        Nothing has happened yet.
        """
        program = self.program
        assert program is not None
        if self.runner is None:
            try:
                self.runner = self.special = (
                    self._special(program) if self.capture or self.fuse else None
                )
            except Exception as error:  # one of the planning: the program itself can be replayed
                self._without(error)
        if self.runner is None:
            self.runner = program.replayer = Replayer(program)
        self.runner.alone, self.runner.finish = self.writes, self.outcome.finish
        self.runner.extra = self.outcome.extra
        self.runner.gradient_versions = self.outcome.gradient_versions
        self.runner.made_leaves = self.outcome.made_leaves
        try:
            payloads, layout = self.runner.checked(tensors)
            self._learn(payloads, layout)
            return payloads, layout
        except CaptureError as error:
            self._without(error)
            self.runner = program.replayer = Replayer(program)
            return self.prepare(tensors)

    def _special(self, program: Program) -> Replayer:
        """What replays it as a graph, or with chains as one kernel each."""
        if self.fuse:
            program = program.fused()
            made = kernels_of(program)
            if made:
                self.fused = self._held = _in_words(made)
            else:
                self.plain = "is replayed as it is: it has no chain of operations for a kernel"
        if self.capture:
            special: Replayer = CapturedProgram(program)
        else:
            special = program.replayer = Replayer(program)
        self.kept = program if self.fuse else None
        return special

    def _without(self, error: Exception) -> None:
        """Remember why the program is replayed as it is."""
        self.fused = None
        kind = "" if isinstance(error, ProgramError | DeviceError) else f"{type(error).__name__}: "
        self.plain = (
            f"is replayed as it is, without a {'graph' if self.capture else 'fused kernel'}:"
            f" {kind}{error}".rstrip(".")
        )

    def replay(self, tensors: list[Tensor], *ready: Any) -> Any:
        """Run the program on what `prepare` or `values` found in order."""
        assert self.runner is not None
        try:
            result = self.runner.run(tensors, *ready)
        except Exception as error:
            if self.kept is None or self.runner is not self.special:
                raise
            failed = error
        else:
            if self.kept is not None and not self.capture:
                self.attend()
            return result
        return self._replay_without_kernels(tensors, failed)

    def attend(self) -> None:
        """Let kernels be compiled for a memory layout that is new, and meanwhile the plain program
        be replayed; and go over to them when that is done."""
        assert self.program is not None and self.special is not None
        if self.compilation is None:
            lowered = self.special.lowered
            if len(lowered) > self._layouts:
                self._layouts = len(lowered)
                latest = self.special.latest()
                if latest.kernels and in_background():
                    self.compilation, self.fused = Compilation(latest), COMPILING
                    self._go_over(self.program.replayer or Replayer(self.program))
        elif self.compilation.is_done():
            error, self.compilation = self.compilation.error, None
            if error is None:
                self.fused = self._held
                self._go_over(self.special)
            else:
                self.special = self.kept = None
                self._without(error)

    def _go_over(self, runner: Replayer) -> None:
        """Replay by another runner from the next call on."""
        if runner is not self.special:
            assert self.program is not None
            self.program.replayer = runner
        self.runner = runner
        self._ready, self._slow = None, 0

    def _replay_without_kernels(self, tensors: list[Tensor], error: Exception) -> Any:
        """Run the plain program after a run with kernels has failed. If it fails too, the values
        are the cause and the kernels stay; else they are given up: a kernel that cannot be
        compiled or stored now cannot be later."""
        assert self.program is not None
        special = self.special
        self._go_over(self.program.replayer or Replayer(self.program))
        try:
            assert self.runner is not None
            result = self.runner.run(tensors, *self.prepare(tensors))
        except Exception:
            assert special is not None
            self._go_over(special)
            raise
        self.special = self.kept = None
        self._without(error)
        return result

    def forget(self) -> None:
        """There is a problem: let the long way find it."""
        self._ready = None

    def _learn(self, payloads: list[Any], layout: Any) -> None:
        """Write what was found in order as one function. Where the objects are others in each call
        that would be in vain: it is written in fewer and fewer of them."""
        assert self.runner is not None
        if type(self.runner) is not Replayer or layout is None:
            return
        self._slow += 1
        if self._slow & (self._slow - 1) == 0:
            self._ready = ready_code(self.environment, self.outside, self.runner, payloads)
            self.layout = layout

    def values(self, tensors: list[Tensor]) -> list[Any] | None:
        """The values that a replay starts from, if one function can tell that nothing has changed;
        else None."""
        return None if self._ready is None else self._ready(tensors)


# ------------------------------------------------------------------------------------------ helpers


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


def _in_words(made: Sequence[Any]) -> str:
    """What kernels hold, by the names that they have in the text of their program."""
    counts = Counter(kernel.name for kernel in made)
    names = ", ".join(name + (f" ({n} times)" if n > 1 else "") for name, n in counts.items())
    operations = sum(kernel.operations for kernel in made)
    return f"is replayed with kernels for {operations} operations: {names}"


def _hidden(tensor: Tensor) -> str:
    return (
        f"it uses a tensor {tuple(tensor.shape)} that it finds in a way that compile cannot follow"
    )


def _extra_counts(
    counts: list[tuple[Tensor, int]], program: Program, inputs: list[Tensor]
) -> list[tuple[str, Any, int]]:
    """How often a call counts memory as overwritten beyond what the updates of its program count:
    ("input" | "tensor" | "gradient", which one, how often). Writing through `.data` does not count:
    -1 for the update."""
    written: dict[int, Tensor] = {}
    where: dict[int, tuple[str, Any]] = {id(t): ("input", i) for i, t in enumerate(inputs)}
    for number in program.updates:
        if number in program.captured:
            place = program.captured[number]
            tensor = place.tensor
        else:
            tensor = inputs[program.inputs.index(number)]
        if tensor is not None:
            written[id(ensure_version(tensor))] = tensor
    for place in program.captured.values():
        if isinstance(place.owner, Tensor) and place.owner.stored_grad is not None:
            where[id(place.owner.stored_grad)] = "gradient", place.owner
    uncounted = written.keys() - {id(t.version) for t, _ in counts}
    pairs = [
        (*where.get(id(t), ("tensor", t)), count - (id(t.version) in written))
        for t, count in [*counts, *((written[key], 0) for key in uncounted)]
    ]
    return [(kind, what, count) for kind, what, count in pairs if count]


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
