"""What registering a hook returns."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any


class HookHandle:
    """Removes a hook again; removing twice is harmless. Usable as a context manager."""

    _numbers = count()

    def __init__(self, hooks: dict[int, Callable[..., Any]], hook: Callable[..., Any]) -> None:
        self.id = next(HookHandle._numbers)
        self._hooks = hooks
        hooks[self.id] = hook

    def remove(self) -> None:
        """Remove this hook and no other."""
        self._hooks.pop(self.id, None)

    def __enter__(self) -> HookHandle:
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()
