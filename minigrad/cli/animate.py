"""`minigrad animate`: a formula's differentiation as a film for a slide, a page to step through,
or a strip for paper.
"""

import argparse
from collections.abc import Iterable, Sequence

from minigrad.cli.options import (
    dashes,
    ending,
    formula_parser,
    group_options,
    page_options,
    require_folder,
    save,
    with_status,
)
from minigrad.cli.progress import counted
from minigrad.cli.target import UsageError
from minigrad.cli.trace import SIZES, compute

FORMATS = ("webp", "gif", "html", "pdf")

EXAMPLES = """\
FILE ends in .webp or .gif (a film), .html (a page to step through) or .pdf (a strip for paper, \
several steps to a page).

examples:
  minigrad animate "log(x1) + x1*x2 - sin(x2)" x1=2 x2=5 -o film.webp
  minigrad animate "sin(x)**2" x=1 -o film.gif --size 16:9 --fps 1 --steps 4-9
  minigrad animate "sin(x)**2" x=1 -o strip.pdf
  minigrad animate mine.py:f x=1 -o film.webp
"""


def main(argv: list[str]) -> int:
    """Runs `minigrad animate` with the arguments after its name; returns the exit status."""
    parser = formula_parser(
        "animate",
        "Differentiates a formula at given values and makes a film of the steps.",
        EXAMPLES,
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        required=True,
        help="where to write; the ending is the format",
    )
    parser.add_argument("--fps", type=float, help="steps a second (default: 1.5)")
    parser.add_argument("--size", help=f"{SIZES} (default: the graph's own size)")
    parser.add_argument("--steps", help="all (the default), or a range such as 4-9")
    parser.add_argument("--dark", action="store_true", help="light on dark")
    parser.add_argument(
        "--quiet", action="store_true", help="do not tell how far it is, nor when it is written"
    )
    return _film(parser.parse_intermixed_args(dashes(argv)))


def _told(numbers: Sequence[int]) -> Iterable[int]:
    return counted(numbers, len(numbers), "frames")


@with_status
def _film(options: argparse.Namespace) -> int:
    require_folder(options.output)
    form = ending(options.output)
    if form not in FORMATS:
        known = ", ".join(f".{name}" for name in FORMATS)
        raise UsageError(
            f"{options.output!r} has no ending that names a film; the endings are {known}"
            " (minigrad trace writes one frame)"
        )
    if form == "html":
        group_options(options, form)
        given = [
            name
            for name in ("steps", "size", "fps", "dark")
            if getattr(options, name) not in (None, False)
        ]
        if given:
            reason = (
                "an .html page holds all steps, fits its window and takes its reader's light or"
                " dark and speed"
            )
            raise UsageError(
                f"{reason}, so {' and '.join(f'--{name}' for name in given)} would have no meaning"
            )
        return save(
            compute(options), options.output, quiet=options.quiet, **page_options(options, form)
        )
    more = {
        "steps": "all" if options.steps is None else options.steps.strip(),
        "size": options.size,
        "dark": options.dark,
    }
    more |= {"fps": options.fps} if options.fps is not None else {}
    more |= page_options(options, form) | group_options(options, form)
    more |= {"progress": not options.quiet and _told}
    return save(compute(options, drawn=True), options.output, quiet=options.quiet, **more)
