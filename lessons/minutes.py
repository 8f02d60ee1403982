"""How long a lesson takes: the estimate behind the minutes that each lesson names.

    python -m minigrad.lessons.minutes              every lesson of the course
    python -m minigrad.lessons.minutes my.ipynb     a notebook of your own, heading by heading
    python -m minigrad.lessons.minutes --write      puts the sums into the lessons' titles and the
                                                    guide

The estimate counts words to read, code to read, cells to run, pictures, predictions and exercises,
each at the rate that stands below. No class was timed with it. The rates are
those of one lecturer's second-year students, who read formulas at 120 words a minute, try a thing
twice before it works, and take 25 minutes for an iterative topological sort.

What stands under a heading that ends in "(further)" is counted apart, down to the next heading of
its own or a higher level: it is for those who have the time, and nothing later needs it. "Further
reading" is not counted at all.
"""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

WORDS = 1 / 120
"""Minutes for a word of technical prose; a formula within a line counts as one."""
FORMULA = 1 / 2
"""Minutes for a formula that stands by itself."""
LINE = 1 / 10
"""Minutes to read a line of given code; imports are not counted."""
CELL = 1 / 3
"""Minutes to run a cell and to read what it prints."""
PICTURE = 1 / 2
"""Minutes for a figure."""
VIEWER = 2.0
"""Minutes for a viewer that is stepped through, or a training that is watched."""
PREDICTION = 2.0
"""Minutes to think, to write a number and to read what the check says."""
EXERCISE, POINT, WRITTEN = 2.0, 1.0, 5 / 4
"""Minutes for an exercise: to begin, for each of its points (they tell how hard it is), for each
line of its solution. A text has as many lines as points.
"""

OPTIONAL = re.compile(r"\(further\)$")
SOLUTION = re.compile(
    r"^[ \t]*### BEGIN SOLUTION\n(.*?)^[ \t]*### END SOLUTION\n?", re.MULTILINE | re.DOTALL
)
VIEWERS = re.compile(r"\bviz\.(show|compare|jacobian|sliders|Live)\(|\bwatch\(")
PICTURES = re.compile(r"\bplt\.show\(|\.draw_graph\(")


@dataclass(frozen=True)
class Share:
    """What a cell, or a part of it, takes: under which heading it stands, whether that is
    optional, minutes and points.
    """

    heading: str
    optional: bool
    minutes: float
    points: float = 0.0


@dataclass(frozen=True)
class Estimate:
    """Minutes and points of a notebook: of what everybody does, and of what is marked as
    further.
    """

    minutes: float
    further: float
    points: float
    further_points: float


def estimate(notebook: Mapping[str, Any]) -> Estimate:
    """The estimate for a notebook (a dict as in its JSON), in either edition; cells with the tag
    "instructor" are not counted.

    In the students' edition there are no solutions, so the lines to be written are missing from the
    sum.
    """
    every = list(shares(notebook))
    minutes, points = (
        [sum(getattr(s, what) for s in every if s.optional is o) for o in (False, True)]
        for what in ("minutes", "points")
    )
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
            if graded := float(cell["metadata"].get("nbgrader", {}).get("points", 0)):
                # a text that a person grades
                minutes = EXERCISE + (POINT + WRITTEN) * graded
                yield Share(heading, optional_level > 0, minutes, graded)
            continue
        grading = cell["metadata"].get("nbgrader", {})
        minutes, points = 0.0, float(grading.get("points", 0))
        if grading.get("solution"):
            written[grading["grade_id"]] = sum(
                len(_lines(found)) for found in SOLUTION.findall(source)
            )
            minutes = LINE * len(_lines(SOLUTION.sub("", source)))
        elif source.startswith("predict("):
            minutes = PREDICTION
        elif grading.get("grade"):
            minutes = (
                EXERCISE
                + POINT * points
                + WRITTEN * written.get(grading["grade_id"].removesuffix("-check"), 0)
            )
        else:
            shown = (
                VIEWER if VIEWERS.search(source) else PICTURE if PICTURES.search(source) else 0.0
            )
            minutes = CELL + shown + LINE * len(_lines(source))
        yield Share(heading, optional_level > 0, minutes, points)


def reading(markdown: str) -> float:
    """The minutes to read a piece of Markdown."""
    text, formulas = re.subn(r"\$\$.*?\$\$", " ", markdown, flags=re.DOTALL)
    text = re.sub(r"\$[^$]*\$", " formula ", text)
    text = re.sub(r"\]\([^)]*\)|<[^>]*>", " ", text)  # the addresses of links, tags
    return WORDS * len(re.findall(r"[\w`][^\s|]*", text)) + FORMULA * formulas


def _lines(code: str) -> list[str]:
    return [
        line
        for line in code.splitlines()
        if line.strip() and not re.match(r"\s*(import|from) ", line)
    ]


def rounded(minutes: float) -> int:
    """Minutes as they are said to students: up to the next five."""
    return 5 * math.ceil(minutes / 5)


def points_of(found: Estimate) -> str:
    """The points as the guide writes them: 12, or 12 + 4 where some are optional."""
    return (
        f"{found.points:g} + {found.further_points:g}"
        if found.further_points
        else f"{found.points:g}"
    )


def write(folder: Path) -> None:
    """Puts the minutes into the titles of the notebooks in a folder, and minutes and points into
    the guide's table.
    """
    rows = []
    for path in sorted(folder.glob("*.ipynb")):
        notebook = json.loads(path.read_text(encoding="utf-8"))
        for _ in range(2):  # the title is counted as well
            found = estimate(notebook)
            title = "".join(notebook["cells"][0]["source"])
            title = re.sub(
                r"takes about \d+ minutes(?! more)",
                f"takes about {rounded(found.minutes)} minutes",
                title,
            )
            title = re.sub(
                r"take about \d+ minutes more",
                f"take about {rounded(found.further)} minutes more",
                title,
            )
            notebook["cells"][0]["source"] = title.splitlines(keepends=True)
        text = json.dumps(notebook, ensure_ascii=False, indent=1, sort_keys=True) + "\n"
        path.write_text(text, encoding="utf-8")
        rows.append(
            [str(rounded(found.minutes)), str(rounded(found.further) or "–"), points_of(found)]
        )
    guide = folder / "instructors_guide.md"
    before, heading, after = guide.read_text(encoding="utf-8").partition(
        "## The lessons at a glance"
    )
    table = re.search(r"(?:^\|.*\n)+", after, re.MULTILINE)
    assert table is not None
    head, rule, *lines = table[0].splitlines()
    for i, (line, row) in enumerate(zip(lines, rows, strict=True)):
        cells = line.split("|")
        lines[i] = "|".join([*cells[:2], *(f" {cell} " for cell in row), *cells[5:]])
    after = after.replace(table[0], "\n".join([head, rule, *lines]) + "\n")
    guide.write_text(before + heading + after, encoding="utf-8")


def main(arguments: list[str]) -> None:
    """Prints the estimates: of the course, or of a notebook by its headings. Raises SystemExit
    for what is no notebook.
    """
    if arguments == ["--write"]:
        return write(Path(__file__).parent)
    if not arguments:
        print("minutes  further  points  lesson")
        for path in sorted(Path(__file__).parent.glob("*.ipynb")):
            e = estimate(json.loads(path.read_text(encoding="utf-8")))
            print(
                f"{e.minutes:7.1f}  {e.further:7.1f}  {e.points:4g}+{e.further_points:g} "
                f" {path.stem}"
            )
        return
    for name in arguments:
        by_heading: dict[tuple[str, bool], float] = {}
        try:
            found = list(shares(json.loads(Path(name).read_text(encoding="utf-8"))))
        except (OSError, ValueError, LookupError, TypeError) as problem:
            raise SystemExit(
                f"{name} cannot be read as a notebook ({type(problem).__name__}: {problem})."
            ) from None
        for share in found:
            by_heading[share.heading, share.optional] = (
                by_heading.get((share.heading, share.optional), 0.0) + share.minutes
            )
        for (heading, optional), minutes in by_heading.items():
            print(f"{minutes:6.1f}  {'further  ' if optional else '         '}{heading}")


if __name__ == "__main__":
    main(sys.argv[1:])
