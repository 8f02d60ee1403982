"""What a graph of backward functions is written by, as PyTorch and minigrad have it: each function
knows its operands' (`next_functions`), and a hook on it tells what it sends back to them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from minigrad.viz.adapters.writer import Writer

Constants = dict[tuple[Any, int], Any]
"""Values of operands that have no function, by the function that uses them and their number."""


def check_results(functions: Iterable[Any], used: dict[Any, int], who: str, advice: str) -> None:
    """Raise ValueError where more than one result of a function is used.

    used: by function, the number of the result that is; who, advice: the message's two ends.
    """
    for function in functions:
        for parent, number in function.next_functions:
            if parent is not None and used.setdefault(parent, number) != number:
                raise ValueError(
                    f"{who}: more than one result of {parent.name()} is used, and what each of them"
                    f" sends back cannot be told apart{advice}"
                )


def write_graph(
    writer: Writer,
    order: Iterable[Any],
    constants: Constants,
    leaf: Callable[[Any], str | None],
    operation: Callable[[Any, list[str | float], list[int]], str],
    root: Any,
    seed: Any,
    run: Callable[[], Any],
    plain: Callable[[Any], Any],
    local: Mapping[tuple[Any, int], Any],
    operands_of: Callable[[Any], Any] = lambda function: function.next_functions,
    parts_of: Callable[[Any, Any], Any] = lambda function, sent: sent,
    called: Mapping[tuple[Any, int], tuple[str, Any]] | None = None,
) -> dict[str, Any]:
    """The Trace of functions, operands first, and of a reverse pass through them.

    leaf: writes a function that is no operation (None: it is one); operation: writes one with its
    operands' names (of a number that has none, the number), and the places of those of which
    nothing is known; root: the last function; seed: its cotangent (None: values only); run: runs
    the pass; plain: what is sent as a number or an array of NumPy; local: derivatives, by operation
    and operand's number. Names are those in the Trace. operands_of, parts_of: the operands of a
    function and what it sends to each, where the Trace has others than the function. called: of
    constants the names, and what is equal for those that are one.
    """
    ids: dict[Any, str] = {}
    written: dict[Any, str] = {}  # constants

    def constant(place: tuple[Any, int]) -> str | float:
        name, same = (called or {}).get(place, ("", place))
        if not name and isinstance(constants[place], int | float):
            return constants[place]  # it stands inside of the formula
        if same not in written:
            written[same] = writer.input(name, constants[place], kind="const")
        return written[same]

    edges: dict[Any, dict[int, int]] = {}  # of the operands' numbers: unknown ones have no edge
    for function in order:
        if (name := leaf(function)) is not None:
            ids[function] = name
            continue
        operands: list[str | float] = []
        edges[function], absent = {}, []
        for slot, (parent, _) in enumerate(operands_of(function)):
            if parent is None and (function, slot) not in constants:
                absent.append(slot)
                continue
            edges[function][slot] = len(operands)
            operands.append(constant((function, slot)) if parent is None else ids[parent])
        ids[function] = operation(function, operands, absent)
    if seed is None:
        return writer.document([ids[root]])
    events = _sent(edges, run)
    writer.seed(ids[root], plain(seed))
    for function, whole in events:
        sent = parts_of(function, whole)
        for slot, (parent, _) in enumerate(operands_of(function)):
            if parent is not None and slot < len(sent) and sent[slot] is not None:
                number, part = edges[function][slot], plain(sent[slot])
                writer.send(ids[function], number, part, local=local.get((function, slot)))
    return writer.document([ids[root]])


def _sent(functions: Iterable[Any], run: Callable[[], Any]) -> list[tuple[Any, Any]]:
    """What each function sends back in a pass, in order."""
    events: list[tuple[Any, Any]] = []
    handles = []
    try:
        for function in functions:
            note = lambda sent, got, function=function: events.append((function, sent))
            handles.append(function.register_hook(note))
        run()
    finally:
        for handle in handles:
            handle.remove()
    return events
