"""Which operations hold values for the reverse pass, and the steps at which these are freed and
computed again.

An operation keeps values from its own step on, until its node is gone, or a reverse pass has used
them: the step after which they are gone says so ("free").

At the end of the first run of a checkpointed function the values that its operations saved are
freed: a step "free" that names them all. When the reverse pass first needs one of them the function
runs again: each operation is a step "primal" about the node that it was the first time, which keeps
its values from then on ("keep"), until the rule that needs them has read them ("free" on that
contribution). What a checkpoint holds to compute from ("holds") lives as long as the engine's
region does; the step after which that is gone says so ("drops"), whether the reverse pass is done
with it or the result was dropped.

The second run is the engine's own; the operations of both runs are told apart by their order, which
a checkpoint demands to be the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary, ref

from ..autograd.checkpoint import AGAIN, FIRST
from ..core.graph import Node, OpNode
from ..core.observe import Event
from ..core.primitive import OUTPUT
from ..core.tensor import Tensor
from . import sentences
from .values import payload_value, pictured

if TYPE_CHECKING:
    from .trace_writer import TraceWriter


class SavedValues:
    """The saved values of one Trace. Nodes and regions are referred to weakly, so that the moment
    at which the engine frees them is seen."""

    def __init__(self, trace: TraceWriter) -> None:
        self._trace = trace
        self._keeping: set[str] = set()  # results whose operations hold values now
        self._made_by: dict[str, ref[Node]] = {}  # a result's name -> its operation's node
        self._dead: list[str] = []  # results whose operations' nodes are gone since the last step
        # those through which a reverse pass of the function's own has just gone
        self._walked: list[str] = []
        # each region's operations' nodes, in order
        self._regions: WeakKeyDictionary[Any, list[str]] = WeakKeyDictionary()
        # of each region under way in the reverse pass, the nodes that are still to come
        self._running: list[list[str]] = []
        self._inner: list[tuple[Event, int, list[str]]] = []
        # what a later run has brought back, until it is used
        self._values: WeakKeyDictionary[Any, dict[int, Any]] = WeakKeyDictionary()
        # results of the later runs under way: the array, and its node
        self._again: list[tuple[Any, str]] = []
        # by weak reference to a region that lives: what it holds
        self._holding: dict[Any, list[str]] = {}
        self._dropped: list[str] = []
        self._away: set[str] = set()
        self._back: set[str] = set()

    def note(self, name: str, place: Node | None, operands: list[str | None]) -> None:
        """A result has been computed: what its operation saves."""
        if place is not None:
            self._made_by[name] = ref(place, partial(_died, self._dead, name))
        saved = _saved(place, name, operands)
        self._trace.by_id[name]["saved"] = saved
        if saved:
            self._keeping.add(name)

    def walked(self, names: list[Any]) -> None:
        """A reverse pass of the function's own has used these: whether it frees their values is
        seen when it has gone on."""
        self._walked += [name for name in names if name in self._keeping]

    @property
    def waiting(self) -> bool:
        """Whether anything was freed since the latest step."""
        return bool(self._dead or self._walked or self._dropped)

    def before_step(self, phase: str = "") -> None:
        """A step is about to be written, or the last one was: the latest step says what was freed
        since. What the end of a checkpoint frees belongs to the step "free"."""
        self._note_freed()
        if phase != "free":
            self._note_dropped()

    def release(self, node: Node, names: list[str]) -> None:
        """Release what the operation kept for this pass at once, as a pass that is the last one
        would; the latest step says so."""
        held = [name for name in names if name in self._keeping]
        gone = [name for name in held if name in self._back]  # computed again, for this one use
        self._back.difference_update(gone)
        self._free(gone)
        if isinstance(node, OpNode) and (node.versions or (held and node.saved is not None)):
            node.release()  # inside a checkpoint, with its last node goes what that holds
            if node.saved is None:
                self._free(held)
        self.before_step()

    def _free(self, names: list[str]) -> None:
        """The latest step says whose values are freed; those that were freed before are not named
        again. An error that ends the Trace frees all that is left, which no step says."""
        if self._trace.error is not None:
            return
        gone = [name for name in names if name in self._keeping]
        self._keeping.difference_update(gone)
        if gone:
            self._trace.steps[-1].setdefault("free", []).extend(gone)

    def _note_freed(self) -> None:
        """What the engine has freed since the last step: what operations kept whose results the
        function has dropped, and what a reverse pass inside the function kept for itself alone."""
        if not self._dead and not self._walked:
            return
        places = [(name, self._node_of(name)) for name in self._walked]
        through = [
            name
            for name, node in places
            if isinstance(node, OpNode) and node.saved is None and not node.versions
        ]
        self._free(self._dead + through)
        self._dead.clear()
        self._walked.clear()

    def _note_dropped(self) -> None:
        """The latest step says what regions held that are gone since; once for each region. One
        whose result is dropped is gone before the next step begins."""
        if self._dropped and self._trace.steps:
            self._trace.steps[-1].setdefault("drops", []).extend(self._dropped)
        self._dropped = []

    def _node_of(self, name: str) -> Node | None:
        """The node of the operation that made a value; None where there is none (any more)."""
        place = self._made_by.get(name)
        return None if place is None else place()

    # ---------------------------------------------------------------------------------- checkpoints

    def begin(self, event: Event, reversing: bool) -> None:
        """A region begins."""
        about = event.params.get("about")
        if event.params["name"] == AGAIN and reversing:
            self._running.append(list(self._regions.get(about, ())))
        elif event.params["name"] == FIRST:
            self._inner.append((event, len(self._trace.nodes), []))

    def end(self, event: Event, reversing: bool) -> None:
        """A region has ended: the values kept in a first run are gone, those of a later one are
        back."""
        self._note_freed()
        about: Any = event.params.get("about")
        if event.params["name"] == AGAIN and reversing:
            if self._running:
                self._running.pop()
            if not self._running:
                self._again.clear()
            if event.error is None:
                self._values[about] = {
                    i: n.versions[0] if n.saved is None else n.saved
                    for i, n in enumerate(about.nodes)
                }
        elif event.params["name"] == FIRST and self._inner and self._inner[-1][0] is event:
            _, start, seen = self._inner.pop()
            nodes = self._trace.nodes[start:]
            names = seen if reversing else [n["id"] for n in nodes if "op" in n]
            self._regions[about] = names
            if names and about.nodes:
                self._end_first(about, names, reversing)

    def _end_first(self, about: Any, names: list[str], reversing: bool) -> None:
        """The step at which a checkpoint's operations lose what they kept. The arguments are held,
        to compute it again from."""
        gone = []
        for name in names:
            node: Any = self._node_of(name)
            if name in self._keeping and (reversing or node.saved is None):
                gone.append(name)
        self._away.update(gone)
        self._back.difference_update(gone)
        self._keeping.difference_update(gone)
        known = [
            self._trace.found(a)
            or next((name for array, name in self._again if array is a.array), None)
            for a in about.leaves
            if isinstance(a, Tensor)
        ]
        holds = [name for name in dict.fromkeys(known) if name is not None]
        said = (
            f"what {', '.join(gone)} kept for the reverse pass is freed, to be"
            if gone
            else f"{', '.join(names)} can be"
        )
        said = f"The checkpoint ends: {said} computed again" + (
            f" from {', '.join(holds)}." if holds else "."
        )
        more = ({"free": gone} if gone else {}) | ({"holds": holds} if holds else {})
        self._trace.step("free", names[-1], [], [], [], [], said, **more)
        self._note_dropped()
        self._holding[ref(about, self._region_died)] = holds

    def _region_died(self, region: Any) -> None:
        """The engine has freed a region, and with it what that held."""
        self._dropped += self._holding.pop(region)

    def forward(self, event: Event) -> None:
        """An operation has run during the reverse pass: a step, if it belongs to a region that is
        computed again."""
        if not self._running:
            return
        container = event.parent
        while (
            container is not None
            and container.phase == "region"
            and container.params["name"] != AGAIN
        ):
            container = container.parent
        if container is None or container.phase != "region" or event.error is not None:
            return
        waiting, by_id = self._running[-1], self._trace.by_id
        for result in event.result if isinstance(event.result, tuple) else (event.result,):
            same = (
                i for i, name in enumerate(waiting) if by_id[name]["op"] == event.primitive.name
            )
            at = next(same, None)
            if at is None:
                return
            name = waiting[at]
            del waiting[: at + 1]
            self._again.append((result.array, name))
            for _, _, seen in self._inner:
                seen.append(name)
            self._computed_again(name, result)

    def _computed_again(self, name: str, result: Tensor) -> None:
        """An operation inside a checkpoint runs once more, in the reverse pass."""
        trace, keeps = self._trace, name in self._away
        into = trace.into[name].values()
        shown = payload_value(result.array)
        formula, say = sentences.computed(name, trace.by_id[name]["expr"], None, shown)
        reads = [[source, "v"] for source in dict.fromkeys(e["src"] for e in into)]
        if keeps:
            self._back.add(name)
            self._keeping.add(name)
        more: dict[str, Any] = {"keep": [name]} if keeps else {}
        edges = [e["id"] for e in into]
        writes = [[name, "v", pictured(shown, result.array)]]
        trace.step("primal", name, edges, reads, writes, formula, f"Computed again: {say}", **more)

    @contextmanager
    def restored(self, node: Any) -> Iterator[None]:
        """The values of a node that a second run has brought back are in their place inside,
        without a third run."""
        found: Any = (
            node.versions[0]
            if isinstance(node, OpNode) and node.saved is None and node.versions
            else None
        )
        found = found if _is_place(found) else None  # the user's own hooks may hold the values
        while _is_place(found):  # a checkpoint inside another one: the inner one's second run
            found = self._values.get(found.region, {}).pop(found.number, None)
        if found is None:
            yield
            return
        before = node.saved, node.versions
        node.saved, node.versions = found, ()
        try:
            yield
        finally:
            node.saved, node.versions = before


def _died(dead: list[str], name: str, node: Any) -> None:
    """The node of an operation is gone."""
    dead.append(name)


def _saved(place: Any, name: str, operands: list[str | None]) -> list[str]:
    """The names of the values that the backward rule keeps."""
    if not isinstance(place, OpNode) or not place.plan.sources:
        return []
    # of a pooling the last stage's node, whose other operands are no nodes of the Trace
    known = {OUTPUT: name, **dict(enumerate(operands))}
    found = [known.get(source) for source in place.plan.sources]
    return [f for f in dict.fromkeys(found) if f is not None]


def _is_place(value: Any) -> bool:
    return hasattr(value, "region")
