"""What a recorded call gives back, so that a replay gives back the like: which results are tensors
that were there, which are views or detached aliases of others, which have a graph.

*Own* results are those whose values a program makes. All others are found from a tensor that was
there before (an argument, a tensor from outside, a gradient) or from an own result: as that tensor
itself, or by the engine's view operations and `detach`. A view into memory that is itself no result
makes its base an own result, which only the plan knows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ..core.graph import Version, state
from ..core.tensor import Leaf, Tensor, alias, ensure_version
from ..errors import ProgramError
from .bindings import leaf_at
from .graph_pattern import Memory
from .graph_programs import cut
from .passes import simplified
from .payload import Recorded
from .replayed_node import attach
from .result_graphs import recorded_graphs
from .snapshot import Snapshot, alike
from .structure import describe, rebuild

if TYPE_CHECKING:
    from .program import Program

Origin = tuple[str, Any]
"""("argument", i), ("outside", tensor), ("gradient", leaf), ("own", i), or ("again", i): as tensor
number i of the result. A leaf among the arguments is written as its number."""


class RecordedResult:
    """The results of a recorded call. Made while it is recorded, after the function has returned;
    then `programs` makes the program.

    own: the tensors whose values are results of the program; plan: for each tensor in the result
    its origin, and how it comes from there
    (None: it is that tensor).
    """

    def __init__(
        self, recorder: Any, result: Any, arguments: Sequence[Tensor], outside: Sequence[Tensor]
    ) -> None:
        found: list[tuple[str, Tensor]] = []
        self.template = describe(result, found, "the result")
        # counts of overwritten memory that updates do not make: see `_extra_counts`
        self.extra: list[tuple[str, Any, int]] = []
        self._recorder = recorder
        self._origins: dict[int, Origin] = {}  # id(tensor) -> where it comes from
        self._memories: dict[int, Tensor] = {}  # id(memory) -> the tensor by which it is found
        self.own: list[Tensor] = []
        for i, tensor in enumerate(arguments):
            self._know(tensor, ("argument", i))
        for tensor in outside:
            self._know(tensor, ("outside", tensor))
        places: list[tuple[Any, Tensor]] = [*enumerate(arguments), *((t, t) for t in outside)]
        gradients = [(at, t.stored_grad) for at, t in places if t.stored_grad is not None]
        for at, gradient in gradients:
            self._know(gradient, ("gradient", at))
        self._check_gradients(gradients)
        if any(t.stored_grad is not None and id(t) not in recorder.known for _, t in found):
            raise ProgramError("it sets the .grad of a new tensor that it returns: return both")
        # gradients that the call makes, and then writes to
        self.gradient_versions = [
            (at, gradient._version)
            for at, gradient in gradients
            if id(gradient) not in recorder.known and gradient._version
        ]
        # own results whose memory was overwritten before they were returned
        self.versions: list[tuple[int, int]] = []
        self._extra, self._simple = 0, False
        # a tensor with a graph comes before its detached aliases, which can be made from it
        for _, tensor in found:
            root = tensor if tensor.view_of is None else tensor.view_of.base
            if root.node is not None and id(root) not in self._origins:
                recorder.lift(root)
                if id(root.array.memory) not in self._memories:
                    self._own(root)
        self.found = [tensor for _, tensor in found]
        plan: dict[int, tuple[Origin, Any]] = {}
        for i in range(len(found)):
            self._plan(i, plan)
        # in which the result is made: views come after what they are views of
        self.order = [*plan]
        self.plan = [plan[i] for i in range(len(found))]
        leaves = {id(t): at for at, t in places if isinstance(t.node, Leaf)}
        # arguments of which the call makes leaves
        constants = {id(t) for t, before in recorder.known.values() if before.node is None}
        self.made_leaves = [
            i for i, t in enumerate(arguments) if id(t) in constants and isinstance(t.node, Leaf)
        ]
        where = self._counters(arguments, outside, gradients)
        self.graphs, self.gradients = recorded_graphs(recorder, self.own, leaves, where)

    def _counters(
        self, arguments: Sequence[Tensor], outside: Sequence[Tensor], gradients: Sequence[Any]
    ) -> dict[Version, Memory]:
        """The version counters of the tensors that live on, with where a replay finds them."""
        found: dict[Version, Memory] = {}
        inputs = [("input", i, t) for i, t in enumerate(arguments)]
        captured = [("captured", t, t) for t in outside]
        stored = [("gradient", at, t) for at, t in gradients]
        own = [("own", i, t) for i, t in enumerate(self.own)]
        for kind, what, tensor in (*inputs, *captured, *stored, *own):
            if tensor.version is not None:
                found.setdefault(tensor.version, (kind, what))
        return found

    def _know(self, tensor: Tensor, origin: Origin) -> None:
        self._recorder.lift(tensor)
        self._origins.setdefault(id(tensor), origin)
        self._memories.setdefault(id(tensor.array.memory), tensor)

    def _check_gradients(self, gradients: Sequence[tuple[Any, Tensor]]) -> None:
        """Each `.grad` has memory of its own in a replay. Raises ProgramError where it has not
        here."""
        seen: set[int] = set()
        for leaf, gradient in gradients:
            origin = self._origins[id(gradient)]
            owner = self._memories[id(gradient.array.memory)]
            if id(gradient) in seen or origin != ("gradient", leaf) or owner is not gradient:
                raise ProgramError(
                    "it makes a tensor the .grad of another one, and both are one piece of memory:"
                    " give it a .clone()"
                )
            seen.add(id(gradient))

    def _plan(self, i: int, plan: dict[int, tuple[Origin, Any]]) -> None:
        """Add where tensor i in the result comes from, and how; before it the view in the result
        through which its graph leads."""
        if i in plan:
            return
        tensor = self.found[i]
        sources = [k for k, t in enumerate(self.found) if _leads_to(t, tensor)]
        if sources and id(tensor) not in self._origins:
            nearest = max(sources, key=lambda k: len(self.found[k].view_of.steps))
            self._plan(nearest, plan)
            self._recorder.lift(tensor)
            plan[i] = ("again", nearest), _derivation(self.found[nearest], tensor)
        else:
            plan[i] = self._origin_of(tensor)
        self._origins.setdefault(id(tensor), ("again", i))

    def _origin_of(self, tensor: Tensor) -> tuple[Origin, Any]:
        known = self._origins.get(id(tensor))
        if known is not None:
            return known, None
        self._recorder.lift(tensor)
        base = self._memories.get(id(tensor.array.memory))
        if base is None and tensor.view_of is not None:
            base = tensor.view_of.base
            self._own(base)
        if base is None:
            self._own(tensor)
            return self._origins[id(tensor)], None
        return self._origins[id(base)], _derivation(base, tensor)

    def _own(self, tensor: Tensor) -> None:
        self._know(tensor, ("own", len(self.own)))
        self.own.append(tensor)

    def agrees(self, result: Any, before: Snapshot) -> bool:
        """Whether the result of the call itself is like that of the recorded run: the same tensors,
        or new ones of equal values."""
        real: list[tuple[str, Tensor]] = []
        if describe(result, real, "the result") != self.template:
            return False
        for (_, tensor), again, (origin, how) in zip(real, self.found, self.plan, strict=True):
            if id(tensor) in before.tensors and how is None and origin[0] == "own":
                return False
            if not alike(tensor.array, again.array):
                return False
            if (id(tensor) in before.tensors) is not (id(again) in before.tensors):
                return False
        return True

    # -------------------------------------------------------------------------------------- the end

    def programs(self, signature: Any, name: str) -> tuple[Program, Program]:
        """The program of the call, and the whole recording, of which it is a part: two recordings
        of one function are compared by it."""
        recorder = self._recorder
        values = [n for graph in self.graphs for n in graph.values]
        raw = recorder.finish([*self.own, *self.gradients], None, name, values)
        whole = simplified(raw)
        program = cut(whole, len(self.own), self.graphs)
        self._extra = len(program.outputs) - len(self.own)
        self._simple = self.template == ["leaf", 0] and self.plan == [(("own", 0), None)]
        if len(program.outputs) == len(self.own) == len(self.plan) and [
            o for o, _ in self.plan
        ] == [("own", i) for i in range(len(self.own))]:
            program.signature = (signature, self.template)
        self.versions = [(i, t._version) for i, t in enumerate(self.own) if t._version]
        self.own, self.gradients, self.found = [], [], []
        self._recorder, self._origins, self._memories = None, {}, {}
        return program, whole

    def key(self) -> Any:
        """What must be the same in two recordings."""
        plan = [
            (kind, id(what) if isinstance(what, Tensor) else what, how and how.key())
            for (kind, what), how in self.plan
        ]
        graphs = [graph.key() for graph in self.graphs]
        extra = [
            (kind, what if kind == "input" else id(what), count) for kind, what, count in self.extra
        ]
        return (
            plan,
            repr(self.template),
            repr(graphs),
            extra,
            self.versions,
            self.made_leaves,
            [(at if type(at) is int else id(at), n) for at, n in self.gradient_versions],
        )

    # ------------------------------------------------------------------------------- in each replay

    def finish(self, results: list[Tensor], inputs: Sequence[Tensor]) -> Any:
        """The result of a call whose program gave `results`; own results count their memory as
        overwritten as often as those of an eager call."""
        for i, count in self.versions:
            ensure_version(results[i]).count = count
        if self.graphs:
            own = len(results) - self._extra
            extra = [t.array for t in results[own:]]
            for graph in self.graphs:
                attach(graph, results, extra, inputs)
        if self._simple:
            return results[0]
        made: Any = [None] * len(self.plan)
        for i in self.order:
            (kind, what), how = self.plan[i]
            if kind == "own":
                tensor = results[what]
            elif kind == "argument":
                tensor = inputs[what]
            elif kind == "again":
                tensor = made[what]
            else:
                tensor = what if kind == "outside" else leaf_at(what, inputs).stored_grad
            made[i] = tensor if how is None else how.apply(tensor)
        return rebuild(self.template, made)


class Derivation(NamedTuple):
    """How a tensor comes from another one that shares its memory: `before`: detached first; steps:
    view operations; `after`: detached then; recording: whether the views were made with gradients
    on; problem: as in `View`; version: the count of its own counter (`.data` has one), None where
    it has the other tensor's."""

    before: bool
    steps: tuple[Any, ...]
    after: bool
    recording: bool
    problem: str | None
    version: int | None = None

    def key(self) -> Any:
        """Equal for derivations of equal results."""
        return self._replace(steps=tuple((p.name, repr(params)) for p, params in self.steps))

    def apply(self, tensor: Tensor) -> Tensor:
        """The tensor that comes from this one."""
        mode, state.recording = state.recording, self.recording
        try:
            if self.before:
                tensor = alias(tensor)
            for step, params in self.steps:
                tensor = step(tensor, **params)
        finally:
            state.recording = mode
        if self.after:
            made = alias(tensor)
            if self.version is not None:
                made.version = Version(self.version)
            return made
        if tensor.view_of is not None:
            tensor.view_of.restriction = self.problem
        return tensor


def _leads_to(source: Tensor, view: Tensor) -> bool:
    """Whether the graph of `view` leads through that of `source`, of which it is a view."""
    if source.node is None or source.view_of is None or view.node is None or view.view_of is None:
        return False
    node, parent = view.node.parents[0], view.view_of.parent_view
    while parent is not None and parent is not source.view_of and node is not None:
        node, parent = node.parents[0], parent.parent_view
    return parent is not None and node is source.node


def _derivation(base: Tensor, tensor: Tensor) -> Derivation:
    """How `tensor` comes from `base`, whose memory it shares. Raises ProgramError where a replay
    could not do it again."""
    first, last = base.array.steps, tensor.array.steps
    if len(first) > len(last) or any(
        a is not b and a != b for a, b in zip(first, last, strict=False)
    ):
        raise ProgramError(
            "its result shares memory with another tensor by steps that a replay cannot repeat:"
            " return a .clone()"
        )
    steps = last[len(first) :]
    for _, params in steps:
        if any(type(v) is Recorded for v in params.values()):
            raise ProgramError(
                "its result is a view whose place depends on values: return a .clone()"
            )
    view = tensor.view_of
    if tensor.node is not None and (view is None or base.node is None):
        raise ProgramError(
            "its result took a graph in place, in memory of a tensor that has none: return a"
            " .clone()"
        )
    if view is None:
        shared = tensor.version is not None and tensor.version is base.version
        return Derivation(False, steps, True, False, None, None if shared else tensor._version)
    source = base if base.view_of is None else base.view_of.base
    direct = view.base is source
    if not direct and (view.base.view_of is not None or base.view_of is not None):
        raise ProgramError("its result is a view of a detached view: return a .clone()")
    return Derivation(not direct, steps, False, view.restriction != "no_grad", view.restriction)
