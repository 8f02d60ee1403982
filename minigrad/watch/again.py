"""What a checkpoint frees after the forward pass and recomputes in the reverse pass, as steps of a
Trace.

At the end of the checkpointed function's first run the values saved by its operations are freed: a
step "free" that names them all. When the reverse pass first needs one of them the function runs
again: each operation is a step "primal" about the node that it was the first time, which keeps its
values from then on ("keep"), until the rule that needs them has read them ("free" on that
contribution). What a checkpoint holds to begin from again ("holds") lives as long as the engine's
region does; the step after which that is gone says so ("drops"), be it that the reverse pass is
done with it, or that the result was thrown away.

The second run is the engine's own; the operations of both runs are told apart by their order, which
a checkpoint demands to be the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Set
from contextlib import contextmanager
from typing import Any
from weakref import WeakKeyDictionary, ref

from ..autograd.checkpoint import AGAIN, FIRST
from ..core.graph import OpNode
from ..core.modes import Event


class Checkpoints:
    """The regions of one Trace that are computed again.

    Args:
        nodes: the Trace's list of nodes, which grows; by_id: the same by id. keeping: the names of
        the operations that hold values now.
            place_of: the engine's node for an operation's name.
        computed: writes a step for a node that is computed again; takes its name, the result and
        whether it keeps values again.
        let_go: writes a step for nodes that let their values go as a region ends; takes their
            names, all the region's names, the arguments that the region holds instead, and names of
            tensors that only the second run knows; returns the names that are held.

    A region is only referred to weakly: it is to die, and be seen to die, when the engine lets it
    go.
    """

    def __init__(
        self,
        nodes: list[dict[str, Any]],
        by_id: dict[str, dict[str, Any]],
        keeping: Set[str],
        place_of: Callable[[str], Any],
        computed: Any,
        let_go: Any,
    ) -> None:
        self._nodes, self._by_id, self._keeping, self._place_of = nodes, by_id, keeping, place_of
        self._computed, self._let_go = computed, let_go
        self._regions: WeakKeyDictionary[Any, list[str]] = (
            WeakKeyDictionary()
        )  # each region's operations' nodes, in order
        self._running: list[
            list[str]
        ] = []  # of each region under way in the reverse pass, the nodes that are still to come
        self._inner: list[tuple[Event, int, list[str]]] = []
        self._values: WeakKeyDictionary[Any, dict[int, Any]] = (
            WeakKeyDictionary()
        )  # what a further run has brought back, until it is used
        self._again: list[
            tuple[Any, str]
        ] = []  # results of the further runs under way: the array, and its node
        self._holding: dict[
            Any, list[str]
        ] = {}  # by weak reference to a region that lives: what it holds
        self._dropped: list[str] = []
        self.away: set[str] = set()
        self.back: set[str] = set()

    def begin(self, event: Event, reversing: bool) -> None:
        """A region begins."""
        about = event.params.get("about")
        if event.params["name"] == AGAIN and reversing:
            self._running.append(list(self._regions.get(about, ())))
        elif event.params["name"] == FIRST:
            self._inner.append((event, len(self._nodes), []))

    def end(self, event: Event, reversing: bool) -> None:
        """A region has ended: of a first run the kept values are gone, of a further one they are
        back.
        """
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
            names = seen if reversing else [n["id"] for n in self._nodes[start:] if "op" in n]
            self._regions[about] = names
            gone = [
                n
                for n in names
                if n in self._keeping and (reversing or self._place_of(n).saved is None)
            ]
            if names and about.nodes:
                self.away.update(gone)
                self.back.difference_update(gone)
                self._holding[ref(about, self._died)] = self._let_go(
                    gone, names, about.leaves, self._again
                )

    def _died(self, region: Any) -> None:
        """The engine has let a region go, and with it what it held."""
        self._dropped += self._holding.pop(region)

    def dropped(self) -> list[str]:
        """What regions held that have died since the last call; once for each region that held
        it.
        """
        found, self._dropped = self._dropped, []
        return found

    def forward(self, event: Event) -> None:
        """An operation has run during the reverse pass: a step, if it belongs to a region that
        is computed again.
        """
        container = event.parent
        while (
            container is not None
            and container.phase == "region"
            and container.params["name"] != AGAIN
        ):
            container = container.parent
        if (
            not self._running
            or container is None
            or container.phase != "region"
            or event.error is not None
        ):
            return
        waiting = self._running[-1]
        for result in event.result if isinstance(event.result, tuple) else (event.result,):
            at = next(
                (
                    i
                    for i, name in enumerate(waiting)
                    if self._by_id[name]["op"] == event.primitive.name
                ),
                None,
            )
            if at is None:
                return
            name = waiting[at]
            del waiting[: at + 1]
            self._again.append((result.array, name))
            for _, _, seen in self._inner:
                seen.append(name)
            keeps = name in self.away
            if keeps:
                self.back.add(name)
            self._computed(name, result, keeps)

    @contextmanager
    def values(self, node: Any) -> Iterator[None]:
        """The values of a node that a second run has brought back are in their place inside,
        without a third run.
        """
        found: Any = (
            node.versions[0]
            if isinstance(node, OpNode) and node.saved is None and node.versions
            else None
        )
        found = (
            found if _is_place(found) else None
        )  # it may also be hooks of the user's that hold the values
        while _is_place(
            found
        ):  # a checkpoint inside another one: the inner region's second run holds the values
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

    def used(self, names: list[str]) -> list[str]:
        """Those of the names whose values had come back: after their one use they are gone
        again.
        """
        gone = [name for name in names if name in self.back]
        self.back.difference_update(gone)
        return gone


def _is_place(value: Any) -> bool:
    return hasattr(value, "region")
