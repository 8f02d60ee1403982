"""Which phase an instruction belongs to: who asked for it, the function itself, one of the reverse
passes, forward mode, or what a caller names.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..core import observe
from ..core.graph import state
from ..core.observe import Event
from .instructions import PHASES


class Phases:
    """The phases of one recording."""

    def __init__(self) -> None:
        self._named: str | None = None
        # nodes (by sequence number) that were made in a reverse pass: 1 for a first one, 2 for one
        # through that
        self._levels: dict[int, int] = {}
        self._pass: Any = None
        self._level = 0

    @contextmanager
    def named(self, name: str) -> Iterator[None]:
        """Let all instructions recorded inside the `with` block have this phase ("update", say)."""
        before, self._named = self._named, name
        try:
            yield
        finally:
            self._named = before

    def note(self, event: Event) -> None:
        """An operation has ended, perhaps within a reverse pass."""
        if state.running_pass is not None and event.phase == "forward" and event.node is not None:
            self._pass_name(state.running_pass)
            self._levels[event.node.sequence_number] = self._level

    def current(self) -> str:
        """The phase of an instruction that is recorded now."""
        if self._named is not None:
            return self._named
        event = observe.observation.event
        while event is not None:
            if event.phase == "tangent":
                return "tangent"
            event = event.parent
        return "forward" if state.running_pass is None else self._pass_name(state.running_pass)

    def _pass_name(self, running: Any) -> str:
        """The phase of a reverse pass: one more than that of the passes in
        which some of them were made.
        """
        if self._pass is not running:
            self._pass = running
            self._level = (
                1 + max((self._levels.get(n.sequence_number, 0) for n in running.order), default=0)
                if self._levels
                else 1
            )
        return PHASES[self._level] if self._level < 3 else f"backward number {self._level}"
