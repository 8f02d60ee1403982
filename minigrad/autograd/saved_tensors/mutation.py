"""In-place operations on values that a reverse pass needs: `allow_mutation_on_saved_tensors` copies
them first.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any

from ... import observers
from ...core.graph import Node, OpNode, Pick, Version
from ...core.observe import Event
from ..function.node import FunctionNode

_copies = count()


class _Mutation:
    """The observer behind `allow_mutation_on_saved_tensors`: it knows which nodes keep which
    memory, and saves the old values of memory that is about to be overwritten.

    cloned: the copies that are still in use, by running number.
    """

    def __init__(self) -> None:
        self.cloned: weakref.WeakValueDictionary[int, Any] = weakref.WeakValueDictionary()
        self._users: dict[
            int, set[weakref.ref[Node]]
        ] = {}  # by the identity of a version counter, which the user holds
        self._keys: dict[weakref.ref[Node], tuple[int, ...]] = {}

    def clear(self) -> None:
        """Forget all nodes: from now on their values are checked as usual."""
        self._users.clear()
        self._keys.clear()
        self.cloned.clear()

    def end(self, event: Event) -> None:
        """A node that keeps memory was made."""
        node = event.node.parents[0] if type(event.node) is Pick else event.node
        if event.phase != "forward" or event.error is not None or node is None:
            return
        keys = tuple({id(version) for version in _memories(node)})
        if keys:
            ref = weakref.ref(node, self._gone)
            if ref in self._keys:
                return
            self._keys[ref] = keys
            for key in keys:
                self._users.setdefault(key, set()).add(ref)

    def _gone(self, ref: weakref.ref[Node]) -> None:
        for key in self._keys.pop(ref, ()):
            users = self._users.get(key, set())
            users.discard(ref)
            if not users:
                self._users.pop(key, None)

    def begin(self, event: Event) -> None:
        """Memory is about to be overwritten."""
        if event.phase != "assign" or event.args[0].version is None:
            return
        version: Any = event.args[0].version
        count, copies = version.count, dict[int, Any]()
        for ref in list(self._users.get(id(version), ())):
            node = ref()
            if isinstance(node, FunctionNode):
                for saved in node.ctx._saved or ():
                    if (
                        saved is not None
                        and saved.version is version
                        and saved.number == count
                        and saved.array is not None
                    ):
                        saved.array, saved.version = self._copy(saved.array, copies), None
            elif isinstance(node, OpNode) and node.saved is not None:
                kept, rest = list(node.saved), []
                for entry in node.versions:
                    position, v, number = entry
                    if v is version and number == count:
                        value = kept[position]
                        kept[position] = (
                            tuple(self._copy(x, copies) for x in value)
                            if isinstance(value, tuple)
                            else self._copy(value, copies)
                        )
                    else:
                        rest.append(entry)
                node.saved, node.versions = tuple(kept), tuple(rest)

    def _copy(self, array: Any, copies: dict[int, Any]) -> Any:
        found = copies.get(id(array))
        if found is None:
            found = copies[id(array)] = array.copy()
            self.cloned[next(_copies)] = found
        return found


def _memories(node: Node) -> list[Version]:
    if isinstance(node, FunctionNode):
        return [
            saved.version
            for saved in node.ctx._saved or ()
            if saved is not None and saved.version is not None
        ]
    if isinstance(node, OpNode) and node.saved is not None:
        return [version for _, version, _ in node.versions]
    return []


class _Allowing(threading.local):
    now = False


_allowing = _Allowing()


@contextmanager
def allow_mutation_on_saved_tensors() -> Iterator[_Mutation]:
    """Inside the block, in-place operations may overwrite what is kept for a reverse pass: the old
    values are copied first.

    Outside, the reverse pass would refuse. The copies stay as long as their nodes do, so the pass
    may run later. Writes through `.data` and those of optimisers are not seen, and still refused.
    Yields an object with `cloned` (the copies in use) and `clear()`. Raises RuntimeError inside
    another such block.
    """
    if _allowing.now:
        raise RuntimeError(
            "allow_mutation_on_saved_tensors: there is such a block around this one already; one is"
            " enough."
        )
    state = _Mutation()
    _allowing.now = True
    try:
        with observers.observing(state):
            yield state
    finally:
        _allowing.now = False
        state.clear()
