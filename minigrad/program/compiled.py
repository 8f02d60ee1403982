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
graphs and aliases of results, version counts, errors, random numbers, the states of optimisers and
modules.

The first call with arguments of some shapes, dtypes and strides is an ordinary one (optimisers make
their state in it). So are the second and the third; after each, the function runs once more, on
copies of what it found (snapshot.py), and that run is recorded. If both recordings are one program,
the second run gave what the call itself gave, and nothing that the function did was out of the
program's reach, later calls replay it.

A replay is right only while Python would do the same again. That is checked in each call
(guards.py: settings, module modes, numbers and other variables that the function can find; which
tensors share memory), and when something differs, another program is recorded for it. What cannot
be recorded runs as itself, with a reason: decisions and shapes by values, side effects in Python,
hooks, arguments that are no tensors, objects into which Python cannot look. The reason is in
`.reason` and is given once as an `EagerWarning`. A replay that fails has written nothing; the
function then runs as itself, and its error is that of the plain call.

A leaf among the arguments is taken for a parameter, which a program reads and gives its gradient.
Where calls bring another leaf each time, leaves are inputs, which get their gradients too; so are
constants of which the function makes leaves (`x.requires_grad_()`).

Results that require grad have a graph, so a compiled model is differentiated from outside: their
backward pass is a program too (result_graphs.py). Results that are arguments, tensors from outside,
or views of such or of each other are that in replays as well (outcome.py).

*Bits.* A replay gives the bits of the plain call where the same kernel runs on operands of the same
memory layout, and all kernels of NumPy give the same bits in every layout. BLAS does not: what
depends on a product of matrices whose operands lie otherwise agrees within 16 units of roundoff of
its largest element for each product, as does the sum of a gradient from inside the function and one
from outside, which is taken in another order. From its second run on, a program gives the same bits
for the same values in the same layout; one with kernels, from when they are compiled.
"""

from __future__ import annotations

import functools
import types
import warnings
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .. import cuda
from ..core import observe
from ..core.graph import state
from ..errors import ProgramError
from .arguments import Arguments
from .environment import UNWRAPPED, Environment
from .kernel_files import need_numba
from .naming import name_of
from .recorder import Recorder
from .run import OverlapError
from .snapshot import Snapshot
from .variant import ONE_MEMORY, ONE_TENSOR, Variant

if TYPE_CHECKING:
    from ..core.tensor import Tensor
    from .program import Program

LIMIT = 8
"""Programs that one function keeps."""
WORTH = 20
"""Replays by which a recorded program has paid for itself."""


class EagerWarning(UserWarning):
    """A compiled function runs as itself, and why."""


def compile(
    function: Any = None, *, limit: int = LIMIT, capture: bool = False, fuse: bool = False
) -> Any:
    """`function` as a `Compiled` one. Also usable as a decorator, with or without arguments, and on
    methods.

    limit: the number of programs kept, one for each kind of arguments (shapes, dtypes, plain
    values) and each state of what the function finds outside.

    fuse: run chains of element-wise operations, and the sums among them, as one kernel each. On the
    CPU (numba_kernels.py) that needs Numba, `pip install "minigrad[jit]"`: kernels are compiled
    beside the first replays, which takes seconds (compilation.py; `.wait()` waits for it), and read
    from a folder by later processes. Sums and exp then differ from the plain replay in the last
    places. On a CUDA device CuPy compiles them (fused.py).

    capture: make each program one CUDA graph (capture.py), for steps whose time goes into starting
    kernels: a small network's then takes a tenth of its time. A graph keeps memory of its own as
    long as it lives. What cannot be a graph, or is not on such a device, is replayed as it is, and
    `.reason` says why.

    While a call is recorded, no other thread may write to tensors that the function finds: it would
    write to their copies.

    Raises TypeError for what cannot be called, ProgramError where `fuse` finds no Numba and no CUDA
    device.
    """
    if function is None:
        return functools.partial(compile, limit=limit, capture=capture, fuse=fuse)
    if fuse and not cuda.is_available():
        need_numba()
    if not callable(function):
        raise TypeError(f"compile takes a function (or a module), got {type(function).__name__}.")
    return Compiled(function, limit, capture, fuse)


class Compiled:
    """Calls like the function that it was made of.

    reason: why the latest call was not a replay, or not the replay that was asked for; of a replay
    with kernels, what they hold (None: it was a replay as asked for); programs: those recorded and
    kept;
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
        self.ran_eagerly = False  # the latest call
        self.given_up: str | None = None
        self._variants: dict[Any, list[Variant]] = {}
        # the latest leaf at each argument; the arguments where it was not always the same
        self._leaves: dict[str, weakref.ref[Tensor]] = {}
        self._changing: frozenset[str] = frozenset()
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

    @property
    def fused_programs(self) -> list[Program]:
        """The programs with kernels that are run in the place of those."""
        every = [v for variants in self._variants.values() for v in variants]
        return [v.kept for v in every if v.kept is not None and v.ready]

    def wait(self) -> None:
        """Wait until no kernels are being compiled: the next call is run by them. With
        MINIGRAD_KERNELS_WAIT=1 in the environment there is nothing to wait for."""
        for variants in self._variants.values():
            for variant in variants:
                if variant.compilation is not None:
                    variant.compilation.wait()
                    variant.attend()

    def __repr__(self) -> str:
        counts = ", ".join(f"{n} {how}" for how, n in self.statistics.items())
        how = "eager because " if self.ran_eagerly else ""
        said = f"; {how}{self.reason}" if self.reason else ""
        return f"<compiled {name_of(self.function)}: {counts}{said}>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if observe.observation.listening and any(
            isinstance(o, Recorder) for o in observe.observation.listening
        ):
            return self.function(*args, **kwargs)  # as a part of what is being recorded
        arguments = Arguments(args, kwargs, self._changing)
        reason = self.given_up or arguments.problem or _mode_problem()
        if reason is not None:
            return self._eager(reason, args, kwargs)
        variants = self._variants.setdefault(arguments.key, [])
        for variant in variants:
            values = variant.values(arguments.tensors)
            if values is not None:
                return self._replay(variant, arguments, ([], variant.layout, values))
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
        return self._replay(variant, arguments, ready)

    def _replay(self, variant: Variant, arguments: Arguments, ready: Any) -> Any:
        """The program, on what was found in order."""
        try:
            result = variant.replay(arguments.tensors, *ready)
        # an eager run makes what there is to make before it raises, or does not raise
        except Exception as error:
            if isinstance(error, ProgramError):
                variant.problem = str(error).rstrip(".")
                variant.forget()
            return self._eager(
                f"a replay failed: {type(error).__name__}: {error}".rstrip("."),
                arguments.args,
                arguments.kwargs,
                warn=False,
            )
        self.reason, self.ran_eagerly = variant.plain or variant.fused, False
        if variant.plain is not None:
            self._warn(variant.plain, stacklevel=4)
        self.statistics["replayed"] += 1
        variant.replays += 1
        return result

    # ---------------------------------------------------------------------- when it is not replayed

    def _eager(self, reason: str, args: Any, kwargs: Any, warn: bool = True) -> Any:
        """The function itself."""
        self.reason, self.ran_eagerly = reason, True
        self.statistics["eager"] += 1
        if warn:
            self._warn(f"runs as itself: {reason}", stacklevel=4)
        return self.function(*args, **kwargs)

    def _warn(self, what: str, stacklevel: int) -> None:
        """Say once what the function does."""
        if what not in self._warned:
            self._warned.add(what)
            warnings.warn(
                f"compiled {name_of(self.function)} {what}.", EagerWarning, stacklevel=stacklevel
            )

    def _another(
        self, arguments: Arguments, variants: list[Variant], difference: str | None
    ) -> Any:
        """No program fits: begin another one with an ordinary run."""
        if arguments.leaves and self._leaves_change(arguments.leaves):
            return self(*arguments.args, **arguments.kwargs)
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
        others = [
            n for n, leaf in arguments.with_gradient.items() if self._seen(n, leaf) is not leaf
        ]
        if others:
            difference = f"{others[0]} is another leaf, with a .grad: set it to None first"
        reason = "this is the first call of its kind" + (f" ({difference})" if difference else "")
        result = self._eager(reason, arguments.args, arguments.kwargs, warn=False)
        variants[-1].look()
        return result

    def _leaves_change(self, leaves: dict[str, Tensor]) -> bool:
        """Whether calls are found to bring other leaves at some argument, which become inputs: not
        those that the function finds by itself."""
        changed = {name for name, leaf in leaves.items() if self._seen(name, leaf) is not leaf}
        if changed:
            found = Environment([("it", self.function)])
            changed = {name for name in changed if not found.holds(leaves[name])}
            self._changing |= changed
            for variants in self._variants.values():
                variants[:] = [v for v in variants if changed.isdisjoint(dict(v.roots))]
        return bool(changed)

    def _seen(self, name: str, leaf: Tensor) -> Tensor | None:
        """The leaf that the first call with one at this argument brought, while it lives."""
        return self._leaves.setdefault(name, weakref.ref(leaf))()

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


UNWRAPPED[Compiled] = "function"


def _mode_problem() -> str | None:
    """Why nothing can be replayed or recorded just now."""
    if observe.observation.listening:
        return (
            "an observer is active (a recorder, a profiler, anomaly detection), which would see"
            " nothing of a replay"
        )
    if state.levels or state.batches or state.running_pass is not None:
        return "forward mode, vmap or a reverse pass is running around it"
    return None
