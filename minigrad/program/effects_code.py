"""What a replay leaves behind, written as straight lines: results as tensors, updates, gradients.

All of it is known before a run: which results are copied, what is written where. So two functions
are written, which ask nothing:

    def outcome(v, tensors):
        t0 = k3
        c0 = t0.version or ensure_version(t0)
        return [wrap(v[9])], (v[12], wrap(v[11]), t0, c0, c0.count)

    def commit(tensors, made):
        w0, g0, t0, c0, n0 = made
        c0.count = n0
        t0.array[...] = w0
        c0.count += 1
        k4.stored_grad = g0

`commit` gives the same when it is called again: if it is interrupted, it is called again, and then
the interrupt passes: nothing is left half done, or counted twice.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, Any

from ..core.tensor import Tensor, ensure_version, make_leaf, wrap, write_payload
from .bindings import GradientBinding, StateBinding
from .memory import fresh
from .ready_code import ObjectNames

if TYPE_CHECKING:
    from .run import Replayer

Effects = tuple[
    Callable[[Any, Sequence[Any]], tuple[list[Tensor], tuple[Any, ...]]],
    Callable[[Sequence[Any], Any], None],
]
"""`outcome` and `commit`."""


def effects_code(runner: Replayer, owned: Collection[int] | None = None) -> Effects:
    """The functions. owned: of a program whose values are plain arrays, those of gradients whose
    memory is new in each run; None where values may be other payloads."""
    program, named = runner.program, ObjectNames()
    copied = zip(program.outputs, runner.copied, strict=True)
    results = [f"wrap({_copied(n) if copy else f'v[{n}]'})" for n, copy in copied]
    made: dict[str, str] = {}
    before: list[str] = []
    writes = [f"if tensors[{i}].node is None: make_leaf(tensors[{i}])" for i in runner.made_leaves]
    writes += [f"if {k}.counted: {k}.commit()" for k in map(named, runner.updates)]

    def at(number: int) -> str:
        """A leaf or a tensor, by its number."""
        place = program.captured.get(number)
        return f"tensors[{program.inputs.index(number)}]" if place is None else named(place.tensor)

    def counter(k: Any, tensor: str) -> None:
        """Keep a tensor, its version counter, and the count."""
        before.extend([f"t{k} = {tensor}", f"c{k} = t{k}.version or ensure_version(t{k})"])
        made.update({f"t{k}": f"t{k}", f"c{k}": f"c{k}", f"n{k}": f"c{k}.count"})

    for k, (number, value) in reversed([*enumerate(program.updates.items())]):
        made[f"w{k}"] = _copied(value) if value in runner.copied_updates else f"v[{value}]"
        place = program.captured.get(number)
        if isinstance(place, GradientBinding):
            counter(k, f"{named(place.owner)}.stored_grad")
        elif not isinstance(place, StateBinding):
            counter(k, at(number))
        if place is not None and runner.writes_places:
            writes.append(f"{named(place)}.written()")
        elif isinstance(place, StateBinding):
            writes.append(f"{named(place)}.write(w{k})")
        elif owned is None:
            writes.append(f"write_payload(t{k}, w{k})")
        else:
            writes += [f"t{k}.array[...] = w{k}", f"c{k}.count += 1"]
    for k, (number, source) in enumerate(program.gradients.items()):
        writes.append(f"{at(number)}.stored_grad = {None if source is None else f'g{k}'}")
        if source is not None:
            text = f"v[{source}]"
            given = f"{text} if {text}.base is None else {_copied(source)}"
            made[f"g{k}"] = f"wrap({given if source in (owned or ()) else _copied(source)})"
    for k, (kind, what, count) in enumerate(runner.extra):
        tensor = f"tensors[{what}]" if kind == "input" else named(what)
        counter(f"x{k}", tensor if kind != "gradient" else f"{tensor}.stored_grad")
        writes.append(f"cx{k}.count += {count}")
    for leaf, count in runner.gradient_versions:
        tensor = f"tensors[{leaf}]" if type(leaf) is int else named(leaf)
        writes.append(f"ensure_version({tensor}.stored_grad).count = {count}")
    lines = [
        "def outcome(v, tensors):",
        *(f"    {line}" for line in before),
        f"    return [{', '.join(results)}], ({''.join(f'{text}, ' for text in made.values())})",
        "def commit(tensors, made):",
        f"    {''.join(f'{name}, ' for name in made)}= made" if made else "    pass",
        *(f"    {name}.count = n{name[1:]}" for name in made if name[0] == "c"),
        *(f"    {line}" for line in writes),
    ]
    return _functions("\n".join(lines), program.name, named.space)


def _functions(text: str, name: str, space: dict[str, Any]) -> Effects:
    space.update(wrap=wrap, fresh=fresh, ensure_version=ensure_version, make_leaf=make_leaf)
    space["write_payload"] = write_payload
    exec(compile(text, f"<what {name} leaves behind>", "exec"), space)
    return space.pop("outcome"), space.pop("commit")


def _copied(number: int) -> str:
    return f"fresh(v[{number}])"
