"""What stands in the place of the source of a module whose forward is a library's own."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any


def printed_layers(
    module: Any, library: str, label: Callable[[str, Any], str] = lambda name, module: name
) -> tuple[str, dict[str, list[int]]]:
    """The layers of a module, of minigrad or PyTorch, as it prints them; and the line of each as a
    span, by its path.

    label: what a module is called in such a path, by its name in the one around it.
    """
    name = type(module).__name__
    lines = [f"# forward of {name} is {library}'s own; its layers:", *repr(module).split("\n")]
    begun = [n for n, line in enumerate(lines) if re.match(r" *\(\w+\): ", line)]

    def paths(one: Any, path: str) -> Iterator[str]:
        for key, inner in one.named_children():
            yield (below := f"{path}/{label(key, inner)}")
            yield from paths(inner, below)

    known = [*paths(module, name)]
    # repeated layers of a list are printed as one
    numbers = zip(known, begun, strict=True) if len(known) == len(begun) else ()
    margin = lambda n: len(lines[n]) - len(lines[n].lstrip())
    spans = {path: [n + 1, margin(n), n + 1, len(lines[n])] for path, n in numbers}
    return "\n".join(lines), {name: [2, 0, 2, len(lines[1])], **spans}
