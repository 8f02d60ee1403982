"""One frame of a Trace in matplotlib: the picture behind every PNG, PDF and film.

A frame has three places: the head (`head.py`), the graph, and a small Jacobian below it. A graph
larger than the picture is not shrunk until it cannot be read: the picture shows the part around the
active node and follows it.

Lengths are those of the layout. One unit is a point on paper, and as many pixels as the resolution
makes of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from minigrad.viz.edges import Rectangle
from minigrad.viz.export.head import MARGIN, STYLES, Head
from minigrad.viz.layout import with_lines
from minigrad.viz.picture.graph import GraphPicture
from minigrad.viz.picture.marks import Box, Mark, MarkGroup, PathMark, Style, colours
from minigrad.viz.picture.matrix import matrix, matrix_height
from minigrad.viz.picture.write_matplotlib import PLOTTED, Canvas, axes_of
from minigrad.viz.speech import spoken
from minigrad.viz.texts import words

from minigrad.trace.replay import state_at

NARROWEST = 620.0
SLIDE = 720.0
"""The height of a slide on which words have their plain size; in a higher picture they take the
same share."""
READABLE = 0.6
"""A picture that would show the graph smaller than this shows a part of it at full size instead."""
FRAME: dict[str, Style] = {
    **PLOTTED,
    **STYLES,
    "border": {"stroke": "line", "width": 1},
    "rail": {"stroke": "line", "width": 3, "round": True},
    "rail-part": {"stroke": "soft"},
}


class Scene:
    """A Trace made ready to be drawn at any step, every frame of the same size.

    Args:
        trace: a ``minigrad.trace/1`` document; a layout is added if it has none.
        aspect: width by height of the picture, or None for the graph's own.
        space: width and height that the whole graph must fit into; of a larger one a part is shown,
            at full size, that follows the active node. None: the whole graph, however large.
        steps: the steps that will be drawn, which decide how much space their words get; all by
        default.
        dark: the page's dark colours.
        title: in the place of the Trace's own.
        lang: the language of the words, "en" or "zh".
    """

    def __init__(
        self,
        trace: Mapping[str, Any],
        *,
        aspect: float | None = None,
        space: tuple[float, float] | None = None,
        steps: Sequence[int] | None = None,
        dark: bool = False,
        title: str | None = None,
        lang: str = "en",
    ):
        t = words(lang)
        self.trace = with_lines(trace if "seeded" in trace else spoken(trace, t))
        self.place, self.colour = self.trace["layout"], colours(dark)
        self.written: set[str] = set()  # plain texts of all frames so far
        named = str(self.trace.get("title") or "") if title is None else title
        numbers = list(range(len(self.trace["steps"]) + 1)) if steps is None else list(steps)
        self.words_above = Head(self.trace, t, named, numbers)
        self.legend, self.graph = self.words_above.legend, GraphPicture(self.trace, t)
        self.foot, self.enlarged = matrix_height(self.trace), 1.0
        self._arrange(aspect, space)

    def _arrange(self, aspect: float | None, space: tuple[float, float] | None) -> None:
        """The sizes of the picture, of its head, and of the part of the graph that is shown."""
        wide, high = self.place["width"], self.place["height"]
        self.view = (wide, high)
        if space and (wide > space[0] or high > space[1]):
            self.view = (min(wide, space[0] * READABLE), min(high, space[1] * READABLE))
        self.width = max(self.view[0] + 2 * MARGIN, NARROWEST)
        self.head = self.words_above.height(self.across)
        self.height = self.head + self.view[1] + self.foot + MARGIN
        if aspect:
            self.width = max(self.width, self.height * aspect)
            self.head = self.words_above.height(self.across)  # wider lines may need less height
            below = self.view[1] + self.foot + MARGIN
            self.height = max(self.head + below, self.width / aspect)
            self.width = max(self.width, self.height * aspect)
            self._enlarge()
            # what the picture's form leaves free shows more of a graph that did not fit
            free = self.height - self.head - self.foot - MARGIN
            self.view = (min(wide, self.width - 2 * MARGIN), min(high, free))
        self.follows = self.view[0] < wide - 1 or self.view[1] < high - 1

    def fill(self, width: float, height: float, head: float, enlarged: float) -> None:
        """Take the size of other pictures: at least that of this one, with words of this size."""
        self.width, self.height, self.head, self.enlarged = width, height, head, enlarged
        if self.follows:
            free = height - head - self.foot - MARGIN
            whole = self.place["width"], self.place["height"]
            self.view = (min(whole[0], width - 2 * MARGIN), min(whole[1], free))

    def _enlarge(self) -> None:
        """On a slide a wide graph leaves space above and below: the words are as large there as on
        any slide."""
        free = self.height - self.head - self.view[1] - self.foot - MARGIN
        wanted = min(self.height / SLIDE, 1 + free / self.head)
        while wanted > 1.02:
            self.enlarged = wanted
            high = wanted * self.words_above.height(self.across)  # larger words may need more lines
            if high + self.view[1] + self.foot + MARGIN <= self.height:
                self.head = high
                return
            wanted *= 0.95
        self.enlarged = 1.0

    @property
    def across(self) -> float:
        """The picture's width in the unit of the words above the graph."""
        return self.width / self.enlarged

    def figure(self, dpi: float) -> Any:
        """An empty figure of the scene's size, unknown to pyplot."""
        from matplotlib.figure import Figure

        size = (self.width / 72, self.height / 72)
        return Figure(figsize=size, dpi=dpi, facecolor=self.colour["surface"])

    def draw(
        self, figure: Any, at: int, within: tuple[float, float, float, float] | None = None
    ) -> None:
        """Draw the state after ``at`` steps.

        figure: one of :meth:`figure`, which is emptied first; or any other figure, and
        within: the place in it, as left, bottom, width and height in parts of the figure.
        """
        used = iter([] if within else figure.axes)
        frame = within or (0.0, 0.0, 1.0, 1.0)
        scale = figure.get_size_inches()[0] * 72 * frame[2] / self.width
        step = self.trace["steps"][at - 1] if at else None
        corner = self.corner(at)
        page = axes_of(figure, frame, (0, self.width), (self.height, 0), next(used, None))
        self._write(page, self._page(at, step, corner), scale)
        down = self.height / self.enlarged
        head = axes_of(figure, frame, (0, self.across), (down, 0), next(used, None))
        marks = self.words_above.marks(at, self.across, self.head / self.enlarged)
        self._write(head, marks, scale * self.enlarged)
        (left, top), (wide, high), (x, y) = corner, self.view, self._origin()
        across, up = frame[2] / self.width, frame[3] / self.height
        place = (
            frame[0] + x * across,
            frame[1] + frame[3] - (y + high) * up,
            wide * across,
            high * up,
        )
        limits = (left, left + wide), (top + high, top)
        axes = axes_of(figure, place, *limits, next(used, None))
        view = Rectangle(left, top, left + wide, top + high)
        self._write(axes, self.graph.at(at, view), scale)

    def _write(self, axes: Any, marks: Sequence[Mark], scale: float) -> None:
        Canvas(axes, self.colour, scale, FRAME, self.written).draw(marks)

    def _origin(self) -> tuple[float, float]:
        """The upper left corner of the graph in the picture."""
        free = self.height - self.head - self.foot - MARGIN - self.view[1]
        return (self.width - self.view[0]) / 2, self.head + free / 2

    def corner(self, at: int) -> tuple[float, float]:
        """The upper left corner of the part that is shown: the active node and its operands in the
        middle, if they fit."""
        if not self.follows or not self.trace["nodes"]:
            return 0.0, 0.0
        step = self.trace["steps"][at - 1] if at else None
        names = [self.trace["nodes"][0]["id"]]
        if step:
            names = [step["node"], *(cell[0] for cell in step.get("reads", []))]
        boxes = [self.place["nodes"][name] for name in names]
        whole = (self.place["width"], self.place["height"])
        corner = []
        for axis, length, end in zip("xy", self.view, whole, strict=True):
            middles = [box[axis] for box in boxes]
            near = max(middles) - min(middles) < length * 0.7
            middle = (max(middles) + min(middles)) / 2 if near else middles[0]
            corner.append(min(max(0.0, middle - length / 2), max(0.0, end - length)))
        return corner[0], corner[1]

    def _page(
        self, at: int, step: Mapping[str, Any] | None, corner: tuple[float, float]
    ) -> list[Mark]:
        """What stands beside the graph: the matrix, and around a part of a graph its border and its
        place in the whole."""
        entries = state_at(self.trace, at).entries if self.foot else {}
        top = self.height - MARGIN - self.foot
        marks: list[Mark] = [MarkGroup(matrix(self.trace, entries, step), shift=(MARGIN, top))]
        if not self.follows:
            return marks
        (x, y), (wide, high) = self._origin(), self.view
        marks.append(Box(x - 6, y - 6, wide + 12, high + 12, 8, "border"))
        if wide < self.place["width"] - 1:
            share = wide / self.place["width"]
            start, length, below = x + corner[0] * share, wide * share, y + high + 11
            marks.append(PathMark(f"M{x} {below}L{x + wide} {below}", "rail"))
            marks.append(PathMark(f"M{start} {below}L{start + length} {below}", "rail rail-part"))
        if high < self.place["height"] - 1:
            share = high / self.place["height"]
            start, length, beside = y + corner[1] * share, high * share, x + wide + 11
            marks.append(PathMark(f"M{beside} {y}L{beside} {y + high}", "rail"))
            marks.append(PathMark(f"M{beside} {start}L{beside} {start + length}", "rail rail-part"))
        return marks


class Film:
    """The frames of a Trace of which each step opens the groups around it: a scene for each choice
    of open groups, all of one size.

    Args:
        documents: what is drawn at each of the steps, often the very same.
        steps: the steps that are drawn.
        options: of each :class:`Scene`.
    """

    def __init__(
        self, documents: Sequence[Mapping[str, Any]], steps: Sequence[int], **options: Any
    ):
        drawn: dict[int, list[int]] = {}
        for at, document in zip(steps, documents, strict=True):
            drawn.setdefault(id(document), []).append(at)
        by_id = {id(document): document for document in documents}
        scenes = [Scene(by_id[key], steps=some, **options) for key, some in drawn.items()]
        self._at = {
            at: scene for scene, some in zip(scenes, drawn.values(), strict=True) for at in some
        }
        self._scenes, self.colour = scenes, scenes[0].colour
        self.legend = [entry for scene in scenes for entry in scene.legend]
        self.width, self.height = (
            max(getattr(s, side) for s in scenes) for side in ("width", "height")
        )
        if len(scenes) > 1:
            self._equal(options.get("aspect"))
        self.follows = any(scene.follows for scene in scenes)

    def _equal(self, aspect: float | None) -> None:
        """Give all scenes the size of the largest."""
        enlarged = min(scene.enlarged for scene in self._scenes)
        across = self.width / enlarged
        head = max(enlarged * scene.words_above.height(across) for scene in self._scenes)
        below = max(0.0 if s.follows else s.view[1] + s.foot for s in self._scenes)
        self.height = max(self.height, head + below + MARGIN)
        if aspect:
            self.width = max(self.width, self.height * aspect)
            self.height = self.width / aspect
        for scene in self._scenes:
            scene.fill(self.width, self.height, head, enlarged)

    @property
    def written(self) -> set[str]:
        """Plain texts of all frames so far."""
        return set().union(*(scene.written for scene in self._scenes))

    def figure(self, dpi: float) -> Any:
        """An empty figure of the frames' size."""
        return self._scenes[0].figure(dpi)

    def draw(self, figure: Any, at: int, **options: Any) -> None:
        """Draw the state after ``at`` steps, as :meth:`Scene.draw`."""
        self._at[at].draw(figure, at, **options)
