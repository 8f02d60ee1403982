"""The instructor's notebook for sheet.py, and what a submission is: cells, and the points that each
exercise deserves.

A submission is written down as its difference from the right one: most in text files (`read`),
those that change the notebook itself, or are none, in Python beside them (`hand_in`, `raw`). Words
such as @PORT@ are filled in by the test: the port of a listener, a folder that must stay untouched,
and so on.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

POINTS: dict[str, float] = {
    "vjp_sin": 4, "gradients": 5, "Value": 3, "sweep": 2, "unbroadcast": 4, "order": 3,
    "momentum": 4, "slope": 1,
}  # fmt: skip

SETUP = "import numpy as np\nimport minigrad as mg\nfrom minigrad.lessons.grading import check"

RIGHT: dict[str, str] = {
    "vjp_sin": "def vjp_sin(x, g):\n    return g * np.cos(x)",
    "gradients": (
        """\
def gradients(inputs, rows):
    value = dict(inputs)
    for name, op, operands in rows:
        a = [value[o] for o in operands]
        value[name] = a[0] + a[1] if op == "add" else a[0] * a[1] if op == "mul" else np.sin(a[0])
    adjoint = {name: 0.0 for name in value}
    adjoint[rows[-1][0]] = 1.0
    for name, op, operands in reversed(rows):
        a, g = [value[o] for o in operands], adjoint[name]
        local = [1.0, 1.0] if op == "add" else [a[1], a[0]] if op == "mul" else [np.cos(a[0])]
        for operand, l in zip(operands, local):
            adjoint[operand] += g * l
    return adjoint"""
    ),
    "Value": (
        """\
class Value:
    def __init__(self, data, parents=()):
        self.data, self.parents, self.grad = data, parents, 0.0

    def __add__(self, other):
        return Value(self.data + other.data, ((self, 1.0), (other, 1.0)))

    def __mul__(self, other):
        return Value(self.data * other.data, ((self, other.data), (other, self.data)))

    def backward(self):
        order, seen = [], set()
        def visit(v):
            if id(v) not in seen:
                seen.add(id(v))
                for parent, _ in v.parents:
                    visit(parent)
                order.append(v)
        visit(self)
        self.grad = 1.0
        for v in reversed(order):
            for parent, local in v.parents:
                parent.grad += v.grad * local"""
    ),
    "sweep": (
        """\
def sweep(tape, adjoint):
    for name, operands in reversed(tape):
        for operand, local in operands:
            adjoint[operand] += adjoint[name] * local"""
    ),
    "unbroadcast": (
        """\
def unbroadcast(g, shape):
    g = g.sum(axis=tuple(range(g.ndim - len(shape))))
    return g.sum(axis=tuple(i for i, n in enumerate(shape) if n == 1), keepdims=True)"""
    ),
    "order": (
        """\
def order(parents, output):
    found, seen, stack = [], set(), [(output, False)]
    while stack:
        name, done = stack.pop()
        if done:
            found.append(name)
        elif name not in seen:
            seen.add(name)
            stack.append((name, True))
            stack.extend((p, False) for p in parents[name])
    return found"""
    ),
    "momentum": (
        """\
def momentum(parameter, gradient, state):
    state["v"] = 0.9 * state.get("v", 0.0) + gradient
    return parameter - 0.1 * state["v"]"""
    ),
    "slope": "slope = np.cos(2.0)",
}

Cell = dict[str, Any]
SURROGATES = "surrogatepass"
"""Some submissions hold half a pair of UTF-16."""


def cell(source: str, name: str, **nbgrader: Any) -> Cell:
    """A code cell, with nbgrader's metadata if there are any."""
    metadata = (
        {"nbgrader": {"schema_version": 3, "task": False, "grade_id": name, **nbgrader}}
        if nbgrader
        else {}
    )
    made = {"cell_type": "code", "id": name.replace("_", "-"), "metadata": metadata}
    return {**made, "source": source, "outputs": [], "execution_count": None}


def notebook(
    answers: dict[str, str] | None = None,
    first: str = "",
    last: str = "",
    more: Sequence[str] = (),
) -> dict[str, Any]:
    """The lab with these answers in the place of the right ones; first, last: the source of a
    cell before and after all others; more: of further cells before the answers.
    """
    cells = [cell(first, "first")] if first else []
    cells.append(cell(SETUP, "setup"))
    cells += [cell(source, f"more{i}") for i, source in enumerate(more)]
    for name, points in POINTS.items():
        cells.append(
            cell({**RIGHT, **(answers or {})}[name], name, solution=True, grade=False, locked=False)
        )
        check = f'check("{name}", {name})'
        cells.append(
            cell(check, f"{name}-check", solution=False, grade=True, locked=True, points=points)
        )
    cells += [cell(last, "last")] if last else []
    return {
        "cells": cells,
        "metadata": {"kernelspec": {"name": "python3"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }


@dataclass(frozen=True)
class Submission:
    """content: what is handed in, a notebook, bytes or a function that makes them; deserves: points
    by exercise; beside: other files, by name; file: the name.
    """

    content: dict[str, Any] | bytes | Callable[[], bytes]
    deserves: dict[str, float]
    beside: dict[str, str] = field(default_factory=dict)
    file: str = "lab.ipynb"

    def data(self, words: dict[str, str]) -> bytes:
        """The file's bytes, with the words filled in."""
        content = self.content() if callable(self.content) else self.content
        raw = (
            content
            if isinstance(content, bytes)
            else json.dumps(content, ensure_ascii=False).encode("utf-8", SURROGATES)
        )
        for word, meaning in words.items():
            raw = raw.replace(f"@{word}@".encode(), meaning.encode())
        return raw


def hand_in(
    *,
    first: str = "",
    last: str = "",
    more: Sequence[str] = (),
    deserves: dict[str, float] | None = None,
    beside: dict[str, str] | None = None,
    change: Callable[[dict[str, Any]], Any] | None = None,
    file: str = "lab.ipynb",
    **answers: str,
) -> Submission:
    """A submission that differs from the right one in some answers, in more cells, or by a change
    of the whole notebook.

    deserves: the points that differ from full ones.
    """
    made = notebook(answers, first, last, more)
    if change is not None:
        changed = change(made)
        made = changed if isinstance(changed, dict) else made
    return Submission(made, {**POINTS, **(deserves or {})}, beside or {}, file)


def raw(
    content: str | bytes | Callable[[], bytes],
    *,
    file: str = "lab.ipynb",
    deserves: dict[str, float] | None = None,
) -> Submission:
    """A file that is handed in as it is; it deserves nothing unless said otherwise."""
    data = content.encode("utf-8", SURROGATES) if isinstance(content, str) else content
    return Submission(data, {**dict.fromkeys(POINTS, 0), **(deserves or {})}, file=file)


def read(module: str) -> dict[str, Submission]:
    """The submissions of the text file beside a module. Each begins with its name; then come the
    points that it deserves, where those are not full ones, and the cells in which it differs from
    the right one:

        === forgets g
        deserves vjp_sin 0, slope 1
        file lab (3).ipynb
        --- vjp_sin
        def vjp_sin(x, g): ...
        --- beside helpers.py
        two = 2

    The cells "first" and "last" stand before and after all others, those of "cell NAME" before the
    answers; "deserves nothing" is what it says.
    """
    found: dict[str, Submission] = {}
    for part in re.split(
        r"^=== ", Path(module).with_suffix(".txt").read_text(encoding="utf-8"), flags=re.MULTILINE
    )[1:]:
        head, *cells = re.split(r"^--- ", part.rstrip("\n"), flags=re.MULTILINE)
        name, *lines = head.strip().split("\n")
        told = dict(line.split(" ", 1) for line in lines)
        deserves = (
            {}
            if told.get("deserves", "nothing") == "nothing"
            else dict(pair.split() for pair in told["deserves"].split(", "))
        )
        sources = {
            place: source.rstrip("\n") for place, _, source in (c.partition("\n") for c in cells)
        }
        beside, more = (
            {
                place.removeprefix(word): sources.pop(place)
                for place in list(sources)
                if place.startswith(word)
            }
            for word in ("beside ", "cell ")
        )
        if (
            name in found
            or set(sources) - set(POINTS) - {"first", "last"}
            or set(told) - {"deserves", "file"}
        ):
            raise ValueError(f"{module}: {name!r} is written down in a wrong way")
        points = (
            {exercise: float(worth) for exercise, worth in deserves.items()}
            if deserves
            else NOTHING
            if "deserves" in told
            else {}
        )
        found[name] = hand_in(
            deserves=points,
            beside=beside,
            more=[*more.values()],
            file=told.get("file", "lab.ipynb"),
            **sources,
        )
    return found


NOTHING = dict.fromkeys(POINTS, 0)
