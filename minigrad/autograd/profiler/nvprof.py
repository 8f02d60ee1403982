"""Reading what nvprof wrote: the ranges of `emit_nvtx` with their place in time, and the GPU
kernels that they started.

nvprof's file is an SQLite database. Names stand in StringTable; each NVTX range has two rows in
CUPTI_ACTIVITY_KIND_MARKER with one id (the one with a name begins it); calls of the CUDA runtime
are in CUPTI_ACTIVITY_KIND_RUNTIME, kernels in CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL (or _KERNEL),
and a call and the kernel that it launched share a correlationId. All times are in nanoseconds.
"""

from __future__ import annotations

import os
import re
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .events import EventList, FunctionEvent

if TYPE_CHECKING:
    import sqlite3

_RANGES = """
    SELECT first.id AS id, first.name AS name, first.timestamp AS start, last.timestamp AS stop
    FROM CUPTI_ACTIVITY_KIND_MARKER AS first
    JOIN CUPTI_ACTIVITY_KIND_MARKER AS last ON first.id = last.id
    WHERE first.name != 0 AND last.name = 0
    ORDER BY first.timestamp, last.timestamp DESC
"""
_LAUNCHES = """
    SELECT call.start AS start, call.end AS stop, kernel.name AS name,
        kernel.end - kernel.start AS duration, kernel.deviceId AS device
    FROM CUPTI_ACTIVITY_KIND_RUNTIME AS call
    JOIN {table} AS kernel ON kernel.correlationId = call.correlationId
    ORDER BY call.start
"""


def load_nvprof(path: str | os.PathLike[str]) -> EventList:
    """The events of a program that ran under `nvprof -o FILE` with `emit_nvtx`, as `profile` gives
    them.

    Kernels belong to the innermost range around the call that launched them.
    Raises FileNotFoundError, and ValueError if the file is not nvprof's.
    """
    import sqlite3  # a large library that nothing else here needs

    if not Path(path).is_file():
        raise FileNotFoundError(
            f"load_nvprof: there is no file {os.fspath(path)!r}. Write one with: nvprof -o FILE"
            " python your_program.py"
        )
    try:
        with closing(
            sqlite3.connect(f"{Path(path).absolute().as_uri()}?mode=ro", uri=True)
        ) as database:
            database.row_factory = sqlite3.Row
            return _read(database)
    except sqlite3.Error as error:
        raise ValueError(
            f"load_nvprof: {os.fspath(path)!r} is not a file that nvprof wrote ({error})."
        ) from error


def _read(database: sqlite3.Connection) -> EventList:
    strings = {
        row["id"]: row["value"]
        for row in database.execute("SELECT _id_ AS id, value FROM StringTable")
    }
    ranges = list(database.execute(_RANGES))
    begin = min((row["start"] for row in ranges), default=0)
    events: list[FunctionEvent] = []
    open_ranges: list[FunctionEvent] = []
    for row in ranges:
        event = _event(row, strings[row["name"]], begin)
        while open_ranges and open_ranges[-1].time_range.end < event.time_range.end:
            open_ranges.pop()
        if open_ranges and event.time_range.start < open_ranges[-1].time_range.end:
            open_ranges[-1].append_cpu_child(event)
        open_ranges.append(event)
        events.append(event)
    tables = {
        row["name"]
        for row in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
    }
    for table in ("CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL", "CUPTI_ACTIVITY_KIND_KERNEL"):
        if table in tables and "CUPTI_ACTIVITY_KIND_RUNTIME" in tables:
            for launch in database.execute(_LAUNCHES.format(table=table)):
                owner = _innermost(
                    events, (launch["start"] - begin) / 1e3, (launch["stop"] - begin) / 1e3
                )
                if owner is not None:
                    owner.append_kernel(
                        strings.get(launch["name"], "?"), launch["device"], launch["duration"] / 1e3
                    )
    return EventList(events, use_cuda=any(e.kernels for e in events))


def _event(row: Any, label: str, begin: int) -> FunctionEvent:
    """A range; its label is the name with the sequence number of `emit_nvtx` behind it."""
    found = re.fullmatch(r"(.*?)(?:, (stashed )?seq = (\d+))?(?:, sizes = (.*))?", label, re.DOTALL)
    assert found is not None  # every part but the first may be missing
    name, stashed, number, _ = found.groups()
    return FunctionEvent(
        name,
        (row["start"] - begin) / 1e3,
        (row["stop"] - begin) / 1e3,
        id=row["id"],
        phase="backward" if stashed else "forward",
        sequence_nr=-1 if number is None else int(number),
    )


def _innermost(events: list[FunctionEvent], start: float, stop: float) -> FunctionEvent | None:
    holding = [e for e in events if e.time_range.start <= start and stop <= e.time_range.end]
    return min(holding, key=lambda e: e.cpu_time_total) if holding else None
