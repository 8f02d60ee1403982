"""`Picture`: a small drawing as an SVG document, for the course's static figures. It looks the same
on a light and on a dark page.
"""

from __future__ import annotations

import html
import math
from collections.abc import Sequence

Point = tuple[float, float]

STYLE = (
    "text{font:12px system-ui,-apple-system,Segoe UI,Helvetica,Arial,sans-serif;fill:#1b1f24;"
    "text-anchor:middle}"
    ".left{text-anchor:start}.right{text-anchor:end}.bold{font-weight:600}"
    ".page{fill:#fff}.line{fill:none;stroke:#1b1f24;stroke-width:1.3}"
    ".axis{fill:none;stroke:#b6bcc4;stroke-width:1}"
    ".value{fill:none;stroke:#0072b2;stroke-width:1.8}"
    ".tangent{fill:none;stroke:#b34700;stroke-width:1.8;stroke-dasharray:6 3}"
    ".adjoint{fill:none;stroke:#7a3e9d;stroke-width:1.8;stroke-dasharray:3 2}"
    ".yellow{fill:none;stroke:#9a6b00;stroke-width:1.8}"
    "rect,circle{stroke-width:1}"
    ".plain{fill:#f4f6f8;stroke:#57606a}"
    "rect.value,circle.value{fill:#dceefa}"
    "rect.tangent,circle.tangent{fill:#fbe5d6;stroke-dasharray:none}"
    "rect.adjoint,circle.adjoint{fill:#efe4f5;stroke-dasharray:none}"
    "rect.yellow,circle.yellow{fill:#fff3c4}"
    ".empty{fill:#fff;stroke:#8c959f;stroke-dasharray:3 3}"
    "text.value{fill:#00517f;stroke:none}text.adjoint{fill:#5d2c7a;stroke:none}"
    "text.tangent{fill:#8a3700;stroke:none}text.yellow{fill:#7a5500;stroke:none}"
    "text.dim{fill:#57606a}"
)
"""Blue is a value, orange a tangent, purple an adjoint, as in the viewer."""


class Picture:
    """A drawing of a width and a height (in pixels), on a white page with round corners.

    What is drawn has a style: plain, value, tangent, adjoint, yellow, empty; for lines also line
    and axis. title: what a screen reader says.
    """

    def __init__(self, width: float, height: float, title: str) -> None:
        self.width, self.height, self.title = width, height, title
        self._parts: list[str] = []

    def line(self, points: Sequence[Point], style: str = "line") -> None:
        """A line through the points."""
        self._parts.append(
            f'<polyline class="{style}"'
            f' points="{" ".join(f"{_n(x)},{_n(y)}" for x, y in points)}"/>'
        )

    def arrow(self, start: Point, end: Point, style: str = "line", bend: float = 0.0) -> None:
        """An arrow; bend: how far its middle lies beside the straight line, to the left of its
        direction.
        """
        (x0, y0), (x1, y1) = start, end
        length = math.hypot(x1 - x0, y1 - y0)
        ux, uy = (x1 - x0) / length, (y1 - y0) / length
        cx, cy = (x0 + x1) / 2 + 2 * bend * uy, (y0 + y1) / 2 - 2 * bend * ux
        self._parts.append(
            f'<path class="{style}" d="M{_n(x0)},{_n(y0)}Q{_n(cx)},{_n(cy)} {_n(x1)},{_n(y1)}"/>'
        )
        length = math.hypot(x1 - cx, y1 - cy)
        ux, uy = (x1 - cx) / length, (y1 - cy) / length
        wings = [(x1 - 8 * ux + s * 4 * uy, y1 - 8 * uy - s * 4 * ux) for s in (1, -1)]
        head = " ".join(f"{_n(x)},{_n(y)}" for x, y in (wings[0], (x1, y1), wings[1]))
        self._parts.append(
            f'<polyline class="{style}" style="stroke-dasharray:none" points="{head}"/>'
        )

    def box(
        self,
        x: float,
        y: float,
        width: float,
        height: float,
        style: str = "plain",
        round_: float = 0.0,
    ) -> None:
        """A rectangle; x, y: its upper left corner."""
        corner = f' rx="{_n(round_)}"' if round_ else ""
        self._parts.append(
            f'<rect class="{style}" x="{_n(x)}" y="{_n(y)}" width="{_n(width)}"'
            f' height="{_n(height)}"{corner}/>'
        )

    def dot(self, x: float, y: float, radius: float, style: str = "plain") -> None:
        """A circle."""
        self._parts.append(f'<circle class="{style}" cx="{_n(x)}" cy="{_n(y)}" r="{_n(radius)}"/>')

    def pixel(self, x: float, y: float, size: float, colour: tuple[float, ...]) -> None:
        """A square of a colour (red, green, blue between 0 and 1); x, y: its upper left corner."""
        shown = "".join(f"{round(255 * part):02x}" for part in colour)
        place = f"M{_n(x)},{_n(y)}h{_n(size)}v{_n(size)}h-{_n(size)}z"
        self._parts.append(f'<path shape-rendering="crispEdges" fill="#{shown}" d="{place}"/>')

    def say(self, x: float, y: float, text: str, style: str = "", size: float = 12) -> None:
        """A line of text, its middle (or, with the style left or right, its end) at x, its baseline
        at y.
        """
        own = "" if size == 12 else f' style="font-size:{_n(size)}px"'
        named = f' class="{style}"' if style else ""
        self._parts.append(
            f'<text{named} x="{_n(x)}" y="{_n(y)}"{own}>{html.escape(text, quote=False)}</text>'
        )

    def inset(self, picture: Picture, x: float, y: float, scale: float) -> None:
        """Another picture inside this one, without its page; x, y: its upper left corner."""
        inner = "\n".join(picture._parts)
        move = f"translate({_n(x)} {_n(y)}) scale({scale:.3f})"
        self._parts.append(f'<g transform="{move}">\n{inner}\n</g>')

    def window(self, picture: Picture, x: float, y: float) -> None:
        """Another picture inside this one, without its page and cut off at its edges; x, y: its
        upper left corner.
        """
        inner = "\n".join(picture._parts)
        place = f'x="{_n(x)}" y="{_n(y)}" width="{_n(picture.width)}" height="{_n(picture.height)}"'
        self._parts.append(f"<svg {place}>\n{inner}\n</svg>")

    def text(self) -> str:
        """The SVG document."""
        size = (
            f'width="{_n(self.width)}" height="{_n(self.height)}" viewBox="0 0 {_n(self.width)}'
            f' {_n(self.height)}"'
        )
        page = f'<rect class="page" width="{_n(self.width)}" height="{_n(self.height)}" rx="6"/>'
        head = f'<svg xmlns="http://www.w3.org/2000/svg" role="img" {size}>'
        title = f"<title>{html.escape(self.title, quote=False)}</title>"
        return (
            "\n".join([head, title, f"<style>{STYLE}</style>", page, *self._parts, "</svg>"]) + "\n"
        )


def _n(value: float) -> str:
    """A number with one digit after the point, if it needs one."""
    return (
        f"{value:.1f}".removesuffix(".0").replace("-0", "0")
        if abs(value) < 0.05
        else f"{value:.1f}".removesuffix(".0")
    )
