"""How long a lesson takes: the estimate behind the minutes that each lesson names.

    python -m minigrad.lessons.minutes                 every lesson of the course
    python -m minigrad.lessons.minutes my.ipynb        a notebook of your own, heading by heading

After reading this file you know what is counted: words to read, code to read, cells to run, pictures, predictions and exercises, each at
the rate that stands below. It is an estimate for a student who works alone and does not get stuck; no student was timed with it.

What stands under a heading that ends in "(further)" is counted apart, down to the next heading of its own or a higher level: it is for
those who have the time, and nothing later needs it. "Further reading" is not counted at all.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

WORDS = 1 / 180
"""Minutes for a word of technical prose; a formula within a line counts as one."""
FORMULA = 1 / 4
"""Minutes for a formula that stands by itself."""
LINE = 1 / 20
"""Minutes to read a line of given code; imports are not counted."""
CELL = 1 / 4
"""Minutes to run a cell and to read what it prints."""
PICTURE = 1 / 2
"""Minutes for a figure."""
VIEWER = 3 / 2
"""Minutes for a viewer that is stepped through, or a training that is watched."""
PREDICTION = 1.0
"""Minutes to think, to write a number and to read what the check says."""
EXERCISE, POINT, WRITTEN = 1.0, 1 / 2, 1 / 2
"""Minutes for an exercise: to begin, for each of its points (they tell how hard it is), for each line of its solution."""

OPTIONAL = re.compile(r"\(further\)$")
SOLUTION = re.compile(r"^[ \t]*### BEGIN SOLUTION\n(.*?)^[ \t]*### END SOLUTION\n?", re.MULTILINE | re.DOTALL)
VIEWERS = re.compile(r"\bviz\.(show|compare|jacobian|Live)\(|\bwatch\(")
PICTURES = re.compile(r"\bplt\.show\(|\.draw_graph\(")


@dataclass(frozen=True)
class Share:
    """What a cell, or a part of it, takes: under which heading it stands, whether that is optional, minutes and points."""

    heading: str
    optional: bool
    minutes: float
    points: float = 0.0


@dataclass(frozen=True)
class Estimate:
    """Minutes and points of a notebook: of what everybody does, and of what is marked as further."""

    minutes: float
    further: float
    points: float
    further_points: float


def estimate(notebook: Mapping[str, Any]) -> Estimate:
    """The estimate for a notebook (a dict as in its JSON), in either edition; cells with the tag "instructor" are not counted.

    In the students' edition there are no solutions, so the lines to be written are missing from the sum.
    """
    every = list(shares(notebook))
    minutes, points = ([sum(getattr(s, what) for s in every if s.optional is o) for o in (False, True)] for what in ("minutes", "points"))
    return Estimate(minutes[0], minutes[1], points[0], points[1])


def shares(notebook: Mapping[str, Any]) -> Iterator[Share]:
    """What each piece of a notebook takes, from top to bottom."""
    heading, optional_level = "", 0
    written: dict[str, int] = {}
    for cell in notebook["cells"]:
        if "instructor" in cell["metadata"].get("tags", []):
            continue
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            for piece in filter(None, re.split(r"^(?=#{1,3} )", source, flags=re.MULTILINE)):
                if marks := re.match(r"(#{1,3}) (.*)", piece):
                    level, heading = len(marks[1]), marks[2].strip()
                    if not optional_level or level <= optional_level:
                        optional_level = level if OPTIONAL.search(heading) else 0
                if heading != "Further reading":
                    yield Share(heading, optional_level > 0, reading(piece))
            continue
        grading = cell["metadata"].get("nbgrader", {})
        minutes, points = 0.0, float(grading.get("points", 0))
        if grading.get("solution"):
            written[grading["grade_id"]] = sum(len(_lines(found)) for found in SOLUTION.findall(source))
            minutes = LINE * len(_lines(SOLUTION.sub("", source)))
        elif source.startswith("predict("):
            minutes = PREDICTION
        elif grading.get("grade"):
            minutes = EXERCISE + POINT * points + WRITTEN * written.get(grading["grade_id"].removesuffix("-check"), 0)
        else:
            shown = VIEWER if VIEWERS.search(source) else PICTURE if PICTURES.search(source) else 0.0
            minutes = CELL + shown + LINE * len(_lines(source))
        yield Share(heading, optional_level > 0, minutes, points)


def reading(markdown: str) -> float:
    """The minutes to read a piece of Markdown."""
    text, formulas = re.subn(r"\$\$.*?\$\$", " ", markdown, flags=re.DOTALL)
    text = re.sub(r"\$[^$]*\$", " formula ", text)
    text = re.sub(r"\]\([^)]*\)|<[^>]*>", " ", text)  # the addresses of links, tags
    return WORDS * len(re.findall(r"[\w`][^\s|]*", text)) + FORMULA * formulas


def _lines(code: str) -> list[str]:
    return [line for line in code.splitlines() if line.strip() and not re.match(r"\s*(import|from) ", line)]


def main(arguments: list[str]) -> None:
    """Prints the estimates: of the course, or of a notebook by its headings. Raises SystemExit for what is no notebook."""
    if not arguments:
        print("minutes  further  points  lesson")
        for path in sorted(Path(__file__).parent.glob("*.ipynb")):
            e = estimate(json.loads(path.read_text(encoding="utf-8")))
            print(f"{e.minutes:7.1f}  {e.further:7.1f}  {e.points:4g}+{e.further_points:g}  {path.stem}")
        return
    for name in arguments:
        by_heading: dict[tuple[str, bool], float] = {}
        try:
            found = list(shares(json.loads(Path(name).read_text(encoding="utf-8"))))
        except (OSError, ValueError, LookupError, TypeError) as problem:
            raise SystemExit(f"{name} cannot be read as a notebook ({type(problem).__name__}: {problem}).") from None
        for share in found:
            by_heading[share.heading, share.optional] = by_heading.get((share.heading, share.optional), 0.0) + share.minutes
        for (heading, optional), minutes in by_heading.items():
            print(f"{minutes:6.1f}  {'further  ' if optional else '         '}{heading}")


if __name__ == "__main__":
    main(sys.argv[1:])
