"""The imports between the packages of minigrad as a picture: `python -m
tests.helpers.import_picture [FILE]`.

Writes an SVG (default: minigrad/design/0001-imports.svg). Each box is a package or a module at the
top of minigrad; it stands above all that it imports (a package whose parts stand on different
layers has a box for each). An arrow that follows from two others is left out (A needs B, B needs C:
no arrow from A to C).
"""

from __future__ import annotations

import sys
from html import escape
from pathlib import Path

from tests.helpers.layers import unit
from tests.helpers.source_tree import imports, modules, package_of, text_of

OUT = Path(__file__).resolve().parents[2] / "minigrad" / "design" / "0001-imports.svg"
LEFT_OUT = {
    "minigrad",
    "minigrad.__main__",
    "minigrad.cli",
    "minigrad.lessons",
    "minigrad.errors",
    "minigrad.hints",
}
"""The package itself, the command line and the course above it, and what nearly everything
imports.
"""
WIDTH, ROW, HEIGHT = 1000, 62, 28
LETTER, LEAST_BOX, LEAST_GAP = 8, 104, 12
"""Width of a letter of the labels (in wide fonts too), of the smallest box, and of a gap."""


def label(unit: str) -> str:
    return unit.partition(".")[2]


def box_width(unit: str) -> int:
    """Wide enough for the label, with a margin."""
    return max(LEAST_BOX, LETTER * len(label(unit)) + 16)


def needs() -> dict[str, set[str]]:
    """For each row entry of the layers (tests/helpers/layers.py) the entries that it imports."""
    found: dict[str, set[str]] = {}
    for name in modules():
        wanted = found.setdefault(unit(name), set())
        wanted.update(
            unit(other.module)
            for other in imports(text_of(name), package_of(name))
            if other.module.startswith("minigrad")
        )
    return {
        own: wanted & set(found) - LEFT_OUT - {own}
        for own, wanted in found.items()
        if own not in LEFT_OUT
    }


def rows(graph: dict[str, set[str]]) -> list[list[str]]:
    """The units by the length of the longest path down, the ones that need nothing first. Raises
    ValueError for a circle.
    """
    height: dict[str, int] = {}
    while len(height) < len(graph):
        ready = [u for u in graph if u not in height and graph[u] <= set(height)]
        if not ready:
            raise ValueError(
                f"these import one another: {', '.join(sorted(set(graph) - set(height)))}"
            )
        height |= {u: 1 + max((height[v] for v in graph[u]), default=-1) for u in ready}
    return [sorted(u for u in graph if height[u] == h) for h in range(1 + max(height.values()))]


def reduced(graph: dict[str, set[str]]) -> dict[str, set[str]]:
    """The graph without the arrows that follow from others."""
    below: dict[str, set[str]] = {}
    for row in rows(graph):
        for u in row:
            below[u] = graph[u].union(*(below[v] for v in graph[u]))
    return {
        u: {v for v in found if not any(v in below[w] for w in found)} for u, found in graph.items()
    }


def svg(graph: dict[str, set[str]]) -> str:
    """The picture."""
    tower = rows(graph)
    width = max(WIDTH, *(sum(box_width(u) + LEAST_GAP for u in row) + LEAST_GAP for row in tower))
    place: dict[str, tuple[float, float]] = {}
    for i, row in enumerate(reversed(tower)):
        gap = x = (width - sum(map(box_width, row))) / (len(row) + 1)
        for u in row:
            place[u] = (x + box_width(u) / 2, 30 + ROW * i)
            x += box_width(u) + gap
    parts = [
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {ROW * len(tower)}"'
            ' font-family="sans-serif" font-size="13">'
        ),
        (
            '<defs><marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="6"'
            ' markerHeight="6" orient="auto"><path d="M0 0 L8 4 L0 8 z"'
            ' fill="#888"/></marker></defs>'
        ),
    ]
    for u, found in sorted(reduced(graph).items()):
        for v in sorted(found):
            (x1, y1), (x2, y2) = place[u], place[v]
            parts.append(
                f'<path d="M{x1:.0f} {y1 + HEIGHT / 2:.0f} C{x1:.0f} {y1 + 45:.0f} {x2:.0f}'
                f' {y2 - 45:.0f} {x2:.0f} {y2 - HEIGHT / 2:.0f}" fill="none" stroke="#888"'
                ' marker-end="url(#tip)"/>'
            )
    for u, (x, y) in sorted(place.items()):
        corner = f'x="{x - box_width(u) / 2:.0f}" y="{y - HEIGHT / 2:.0f}"'
        parts.append(
            f'<rect {corner} width="{box_width(u)}" height="{HEIGHT}" rx="5" fill="#fff"'
            ' stroke="#333"/>'
        )
        parts.append(
            f'<text x="{x:.0f}" y="{y + 4:.0f}" text-anchor="middle">{escape(label(u))}</text>'
        )
    return "\n".join([*parts, "</svg>\n"])


if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else OUT
    target.write_text(svg(needs()), encoding="utf-8")
    print(target)
