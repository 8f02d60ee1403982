"""`minigrad page`: the page that differentiates what is typed into it, as one file."""

import argparse
import sys
from importlib import import_module
from pathlib import Path

from minigrad.cli import parser_of
from minigrad.cli.options import dashes, ending, not_written, require_folder, with_status, wrote
from minigrad.cli.target import UsageError

EXAMPLES = """\
The page needs no server, no installation and no network: open it from the disk, put it on any \
website, send it by mail. Its address
holds the function, the point and the step, so a link to it is an example.

examples:
  minigrad page -o explore.html
  minigrad page --rules          the derivative rules in JavaScript, as the page has them
"""


@with_status
def _write(options: argparse.Namespace) -> int:
    require_folder(options.output)
    found, known = ending(options.output), ("js", "mjs") if options.rules else ("html", "htm")
    if found not in ("", *known):
        what = "the rules are JavaScript" if options.rules else "the page is HTML"
        raise UsageError(f"there is no format .{found} here: {what}; end the name in .{known[0]}")
    # Pages belong to viz, which minigrad does not need and knows by name only.
    try:
        module = import_module(
            "minigrad.viz.explorer." + ("javascript" if options.rules else "page")
        )
    except ModuleNotFoundError as error:
        raise UsageError(f'this needs the package {error.name}: pip install -e ".[viz]"') from None
    text = module.rules() if options.rules else module.to_html()
    if options.output in (None, "-"):
        sys.stdout.write(text)
        return 0
    try:
        Path(options.output).write_text(text, encoding="utf-8")
    except OSError as error:
        return not_written(options.output, error)
    wrote(options.output)
    return 0


def main(argv: list[str]) -> int:
    """Runs `minigrad page` with the arguments after its name; returns the exit status."""
    parser = parser_of(
        "page", "Writes a page that differentiates the function typed into it.", EXAMPLES
    )
    parser.add_argument("-o", "--output", metavar="FILE", help="write there (default: print it)")
    parser.add_argument(
        "--rules",
        action="store_true",
        help="the derivative rules alone, written from the declarations of the operations",
    )
    return _write(parser.parse_args(dashes(argv)))
