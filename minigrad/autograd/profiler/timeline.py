"""Events as trace-event JSON, which ui.perfetto.dev and chrome://tracing show on a time line."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .events import FunctionEvent


def trace_events(events: Iterable[FunctionEvent]) -> list[dict[str, Any]]:
    """Complete events ("X"), and for each backward pull a flow from the forward operation with
    the same sequence number ("s" to "f").
    """
    process = os.getpid()
    found: list[dict[str, Any]] = [
        {"ph": "M", "name": "process_name", "pid": process, "tid": 0, "args": {"name": "minigrad"}}
    ]
    made: dict[int, FunctionEvent] = {}
    arrows = 0
    for event in events:
        details: dict[str, Any] = {"phase": event.phase}
        if event.sequence_nr >= 0:
            details["Sequence number"] = event.sequence_nr
        if event.input_shapes:
            details["Input shapes"] = str(event.input_shapes)
        if event.stack:
            details["Stack"] = list(event.stack)
        if event.cpu_memory_usage:
            details["Bytes"] = event.cpu_memory_usage
        place = {"pid": process, "tid": event.thread}
        found.append(
            {
                "ph": "X",
                "name": event.name,
                "cat": event.phase,
                "ts": event.time_range.start,
                "dur": event.cpu_time_total,
                **place,
                "args": details,
            }
        )
        if event.phase == "forward" and event.sequence_nr >= 0:
            made.setdefault(event.sequence_nr, event)
        elif event.phase == "backward" and event.sequence_nr in made:
            source = made[event.sequence_nr]
            arrows += 1
            arrow = {"name": "forward to backward", "cat": "forward_backward", "id": arrows}
            found.append(
                {
                    "ph": "s",
                    **arrow,
                    "pid": process,
                    "tid": source.thread,
                    "ts": source.time_range.start,
                }
            )
            found.append({"ph": "f", "bp": "e", **arrow, **place, "ts": event.time_range.start})
    return found
