"""Which part of the user's source called an operation: line and columns of the exact sub-expression.

Python 3.11 keeps, for every instruction, the source range it came from (`code.co_positions`). The tracer asks for the instruction that is running in the traced function.
It works in notebook cells too, because IPython registers each cell's text.
"""

from __future__ import annotations

import inspect
import sys
import textwrap
from collections.abc import Callable
from types import CodeType
from typing import Any


class SourceMap:
    """The source text of a function, and positions in it."""

    def __init__(self, f: Callable[..., Any], text: str | None = None) -> None:
        """f: the function; text: what to show instead of its own source (then positions refer to the code's own lines and columns)."""
        self.name = getattr(f, "__name__", type(f).__name__).replace("<lambda>", "f")
        code = getattr(f, "__code__", None)
        self._codes = set(_nested(code)) if isinstance(code, CodeType) else set()
        self._filename = code.co_filename if isinstance(code, CodeType) else None
        self._text: str | None = text if text is not None else getattr(f, "source", None)
        self._first, self._indent = 1, 0
        if self._text is None and isinstance(code, CodeType):
            try:
                lines, first = inspect.getsourcelines(code)
            except (OSError, TypeError, IndexError):
                return
            raw = "".join(lines)
            self._text = textwrap.dedent(raw).rstrip("\n")
            self._indent = len(lines[0]) - len(lines[0].lstrip()) if self._text != raw.rstrip("\n") else 0
            self._first = max(first, 1)

    def here(self) -> list[int] | None:
        """[line, column, end line, end column] of the expression being evaluated in the traced function; lines count from 1 in its source."""
        if self._text is None or not self._codes:
            return None
        frame = sys._getframe(1)
        while frame is not None:
            if frame.f_code in self._codes:
                break
            frame = frame.f_back  # type: ignore[assignment]
        else:
            return None
        positions = _position(frame.f_code, frame.f_lasti)
        if positions is None:
            return None
        lines = self._text.split("\n")
        line, end_line = positions[0] - self._first + 1, positions[1] - self._first + 1
        if not (1 <= line <= end_line <= len(lines)):
            return None
        return [line, self._column(lines[line - 1], positions[2]), end_line, self._column(lines[end_line - 1], positions[3])]

    def _column(self, line: str, offset: int) -> int:
        """A byte offset in the file's line as a character column of the shown line."""
        raw = (" " * self._indent + line).encode()
        return max(0, len(raw[:offset].decode(errors="ignore")) - self._indent)

    def source(self) -> dict[str, Any] | None:
        """The Trace's `source` entry. The file's name is left out: it would make equal programs differ."""
        return None if self._text is None else {"code": self._text}


def _nested(code: CodeType) -> list[CodeType]:
    """A code object and those defined inside it (helper functions, comprehensions)."""
    found, queue = [], [code]
    while queue:
        current = queue.pop()
        found.append(current)
        queue.extend(c for c in current.co_consts if isinstance(c, CodeType))
    return found


def _position(code: CodeType, instruction: int) -> tuple[int, int, int, int] | None:
    for i, (line, end_line, column, end_column) in enumerate(code.co_positions()):
        if i == instruction // 2:
            if line is None or end_line is None or column is None or end_column is None:
                return None
            return line, end_line, column, end_column
    return None
