"""What a replay leaves behind, written as straight lines: results as tensors, updates, gradients.

`Replayer.outcome` and `Replayer.results` say it for any payloads. With plain arrays all of it is
known when a program has been lowered: which results are copied, what is written where. So two
functions are written, which ask nothing:

    def outcome(v, tensors):
        return [wrap(v[9])], (v[12], wrap(v[11]))

    def commit(tensors, made):
        w0, g0 = made
        t0 = k3
        c0 = t0.version
        ...
        t0.array[...] = w0
        c0.count += 1
        k4.stored_grad = g0

If `commit` is interrupted it counts back what it has counted, does all once more, and then lets the
interrupt pass: nothing is left half done.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, Any

from ..backend import copy_with_strides_of, is_immutable
from ..core.tensor import Tensor, ensure_version, wrap
from .bindings import TensorBinding
from .ready_code import ObjectNames

if TYPE_CHECKING:
    from .run import Replayer

Effects = tuple[
    Callable[[Any, Sequence[Any]], tuple[list[Tensor], tuple[Any, ...]]],
    Callable[[Sequence[Any], tuple[Any, ...]], None],
]
"""`outcome` and `commit`."""


def fresh(array: Any) -> Any:
    """A copy in the same layout: memory that no program reads or writes."""
    return array if is_immutable(array) else copy_with_strides_of(array, array)


def effects_code(runner: Replayer, owned: Collection[int]) -> Effects:
    """The functions for a program whose values are plain arrays. owned: values of gradients whose
    memory is new in each run."""
    program, named = runner.program, ObjectNames()
    named.space.update(wrap=wrap, fresh=fresh, ensure_version=ensure_version)
    copied = zip(program.outputs, runner.copied, strict=True)
    results = [f"wrap({_copied(n) if copy else f'v[{n}]'})" for n, copy in copied]
    made: dict[str, str] = {}
    before, writes = [], [f"if {k}.counted: {k}.commit()" for k in map(named, runner.updates)]
    for k, (number, value) in reversed([*enumerate(program.updates.items())]):
        made[f"w{k}"] = _copied(value) if value in runner.copied_updates else f"v[{value}]"
        place = program.captured.get(number)
        if place is not None and not isinstance(place, TensorBinding):
            writes.append(f"{named(place)}.write(w{k})")
            continue
        given = f"tensors[{program.inputs.index(number)}]" if place is None else named(place.tensor)
        before += [f"t{k} = {given}", f"c{k} = t{k}.version or ensure_version(t{k})"]
        writes += [f"t{k}.array[...] = w{k}", f"c{k}.count += 1"]
    for k, (number, source) in enumerate(program.gradients.items()):
        gradient = "None"
        if source is not None:
            text = f"v[{source}]"
            given = f"{text} if {text}.base is None else {_copied(source)}"
            made[f"g{k}"] = f"wrap({given if source in owned else _copied(source)})"
            gradient = f"g{k}"
        place = program.captured.get(number)
        given = f"tensors[{program.inputs.index(number)}]" if place is None else named(place.tensor)
        writes.append(f"{given}.stored_grad = {gradient}")
    counters = [line.partition(" = ")[0] for line in before if line[0] == "c"]
    lines = [
        "def outcome(v, tensors):",
        f"    return [{', '.join(results)}], ({''.join(f'{text}, ' for text in made.values())})",
        "def commit(tensors, made):",
        f"    {''.join(f'{name}, ' for name in made)}= made" if made else "    pass",
        *(f"    {line}" for line in before),
        f"    counts = [{', '.join(f'{c}.count' for c in counters)}]",
        "    try:",
        *(f"        {line}" for line in writes or ["pass"]),
        "    except BaseException:",
        *(f"        {c}.count = counts[{i}]" for i, c in enumerate(counters)),
        *(f"        {line}" for line in writes),
        "        raise",
    ]
    text = "\n".join(lines)
    exec(compile(text, f"<what {program.name} leaves behind>", "exec"), named.space)
    return named.space.pop("outcome"), named.space.pop("commit")


def _copied(number: int) -> str:
    return f"fresh(v[{number}])"
