"""A CSV file of which single cells are replaced, and every other byte stays as it is.

This gives a gradebook back unchanged to the system that exported it. Python's csv module would read
it and write another file: other quotes, other line ends, numbers without their zeros. Here a row is
its cells as they stand in the file, quotes included, and a cell that is not written to is written
out as it was read.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

DELIMITERS = (",", ";", "\t")


class TableError(ValueError):
    """A file that cannot be filled; the message says why, and what to do."""


class Row:
    """A row: its cells as they stand in the file, and its line end."""

    def __init__(self, cells: list[str], end: str, delimiter: str) -> None:
        self.raw, self.end, self.delimiter = cells, end, delimiter

    def __getitem__(self, column: int) -> str:
        """A cell's text, without its quotes; "" where the row is too short."""
        text = self.raw[column] if column < len(self.raw) else ""
        inner = text.strip(" ")
        return (
            inner[1:-1].replace('""', '"')
            if len(inner) > 1 and inner[0] == inner[-1] == '"'
            else text
        )

    def __setitem__(self, column: int, text: str) -> None:
        """Puts a text into a cell, quoted where it must be or where the cell was."""
        self.raw += [""] * (column + 1 - len(self.raw))
        special = any(c in text for c in (self.delimiter, '"', "\n", "\r"))
        quoted = special or self.raw[column].startswith('"')
        self.raw[column] = '"' + text.replace('"', '""') + '"' if quoted else text

    def __str__(self) -> str:
        return self.delimiter.join(self.raw) + self.end


class Table:
    """A CSV file. head: the names of its columns; rows: all rows after the first."""

    def __init__(self, data: bytes) -> None:
        """Raises TableError for an empty file, and for one in UTF-16, which spreadsheets call
        "Unicode text".
        """
        if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
            raise TableError("the file is in UTF-16; save it as CSV in UTF-8.")
        self.mark = data.startswith(b"\xef\xbb\xbf")
        text = data.decode(
            "utf-8-sig", "surrogateescape"
        )  # bytes of another encoding stay what they are
        if not text.strip():
            raise TableError("the file is empty.")
        first = text.split("\n", 1)[0]
        self.delimiter = max(DELIMITERS, key=first.count)
        head, *self.rows = _rows(text, self.delimiter)
        self.first = head
        self.head = [head[i].strip() for i in range(len(head.raw))]

    def bytes(self) -> bytes:
        """The file as it is now."""
        text = "".join(map(str, (self.first, *self.rows)))
        return (b"\xef\xbb\xbf" if self.mark else b"") + text.encode("utf-8", "surrogateescape")

    def column(self, *names: str) -> int | None:
        """The number of the first column with one of these names, or None. Capital letters do
        not matter.
        """
        lower = [name.casefold() for name in self.head]
        return next(
            (lower.index(name.casefold()) for name in names if name.casefold() in lower), None
        )


def read_table(path: Path) -> Table:
    """The table in a file. Raises TableError, OSError."""
    try:
        return Table(path.read_bytes())
    except TableError as error:
        raise TableError(f"{path}: {error}") from None


def _rows(text: str, delimiter: str) -> Iterator[Row]:
    cells, start, at, quoted = [], 0, 0, False
    while at < len(text):
        char = text[at]
        if char == '"':
            quoted = not quoted  # a doubled quote opens and closes, and changes nothing
        elif not quoted and char == delimiter:
            cells.append(text[start:at])
            start = at + 1
        elif not quoted and char in "\r\n":
            end = "\r\n" if text.startswith("\r\n", at) else char
            yield Row([*cells, text[start:at]], end, delimiter)
            cells, at = [], at + len(end) - 1
            start = at + 1
        at += 1
    if start < len(text) or cells:
        yield Row([*cells, text[start:]], "", delimiter)
