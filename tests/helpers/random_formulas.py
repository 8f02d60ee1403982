"""Random formulas and programs of the grammar of `minigrad trace`, with points at which they are
differentiated: kinks, ties, poles, huge and tiny numbers, values that are used often.
"""

from __future__ import annotations

import random
from typing import Any

from minigrad.expression import FUNCTIONS

NAMES = ["x", "y", "x1", "x2", "v1", "c1", "α", "toString"]
NUMBERS = ["2", "0.5", "3", "-1", "-2", "1e-3", "pi", "e", "0", "1/3", "-0.0", "2.0625", "1e6"]
POINTS = [0.0, -0.0, 1.0, -1.0, 2.0, 0.5, 0.7, -0.3, 3.25, 1e-8, -1e5, 19.0, 1.5, 0.1]
OPERATORS = ["+", "+", "-", "*", "*", "/", "**"]

Case = dict[str, Any]
"""A text, the values of its variables, a mode, and seeds or None."""


def formula(r: random.Random, names: list[str], depth: int) -> str:
    """A formula of at most that depth."""
    kind = r.random()
    if depth == 0 or kind < 0.12:
        return r.choice(names) if r.random() < 0.75 else r.choice(NUMBERS)
    inner = lambda: formula(r, names, depth - 1)
    if kind < 0.45:
        name = r.choice(list(FUNCTIONS))
        operands = [inner() for _ in range(FUNCTIONS[name].arity)]
        if FUNCTIONS[name].chooses:
            operands[0] += f" {r.choice(['<', '<=', '>', '>=', '==', '!='])} {inner()}"
        return f"{name}({', '.join(operands)})"
    if kind < 0.53:
        return f"-{inner()}" if r.random() < 0.5 else f"-({inner()})"
    if kind < 0.6:
        return f"({inner()})**{r.choice(['2', '3', '-1', '0.5', '0', '1', '2.5'])}"
    left, right = inner(), inner()
    text = f"{left} {r.choice(OPERATORS)} {right}"
    return text if r.random() < 0.4 else f"({text})"


def program(r: random.Random, names: list[str]) -> str:
    """A few statements: assignments, a loop, a branch, and a result."""
    made, lines = [*names], []
    simple = lambda: formula(r, made, r.randint(1, 2))
    for k in range(r.randint(1, 3)):
        name = r.choice(["a", "b", "s", *names])
        sign = r.choice(["=", "=", "+=", "*="]) if name in made else "="
        lines.append(f"{name} {sign} {simple()}")
        made.append(name)
        if r.random() < 0.6:
            body = r.choice(made)
            count = r.choice(["2", "3", "1, 4", "4, 0, -2"])
            inside = formula(r, [*made, "i"], 1)
            lines.append(f"for i in range({count}):\n    {body} = sin({body}) + {inside}")
        if r.random() < 0.6:
            test = f"{simple()} {r.choice(['<', '<=', '>', '>=', '==', '!='])} {simple()}"
            if r.random() < 0.3:
                test = (
                    f"{r.choice(['not ', ''])}({test}) {r.choice(['and', 'or'])} {names[0]} > 0.1"
                )
            lines.append(f"if {test}:\n    t{k} = {simple()}\nelse:\n    t{k} = {simple()}")
            made.append(f"t{k}")
    lines.append(f"{r.choice(made)} + {simple()}" if r.random() < 0.7 else f"r = {simple()}")
    return "\n".join(lines)


def cases(seed: int, count: int, programs: float = 0.3) -> list[Case]:
    """So many cases; the same seed gives the same ones."""
    r = random.Random(seed)
    found: list[Case] = []
    while len(found) < count:
        names = r.sample(NAMES, r.randint(1, 3))
        text = program(r, names) if r.random() < programs else formula(r, names, r.randint(1, 5))
        mode = r.choice(["both", "both", "both", "forward", "reverse", "primal"])
        forward = mode in ("both", "forward")
        point = {name: r.choice(POINTS) if r.random() < 0.7 else r.uniform(-3, 3) for name in NAMES}
        seeds = {name: r.choice([1.0, 0.0, -2.5]) for name in names}
        found.append(
            {
                "text": text,
                "values": point,
                "mode": mode,
                "seeds": seeds if forward and r.random() < 0.3 else None,
            }
        )
    return found
