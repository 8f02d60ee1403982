"""`minigrad site`: the course as a static site, which needs neither a kernel nor a server."""

import importlib

from minigrad.cli import complain, parser_of
from minigrad.cli.course import LESSONS, folder_named
from minigrad.cli.progress import progress_line

EXAMPLES = """\
Every lesson is run once, in the students' edition, and its outputs become the pages. The first \
page differentiates what is typed into it.
All open from the disk as they are; a web server may serve them, and they ask no other.

examples:
  minigrad site public/
  python -m http.server --directory public/
"""


def main(argv: list[str]) -> int:
    """Runs `minigrad site` with the arguments after its name; returns the exit status."""
    parser = parser_of("site", "Writes the course as a static site into a folder.", EXAMPLES)
    parser.add_argument(
        "folder",
        metavar="DIR",
        type=folder_named,
        help="where it goes; what is there is written over",
    )
    parser.add_argument(
        "--title", default="minigrad: the course", metavar="TEXT", help="default: %(default)s"
    )
    parser.add_argument("--verbose", action="store_true", help="print what Sphinx does")
    options = parser.parse_args(argv)
    # by name: the engine's package does not depend on the course
    site = importlib.import_module("minigrad.lessons.site")
    try:
        told = None if options.verbose else progress_line("pages")
        first = site.build(options.folder, LESSONS, options.title, options.verbose, told)
    except site.SiteError as error:
        complain(str(error))
        return 1
    except (FileExistsError, NotADirectoryError):
        complain(
            f"cannot write the site to {options.folder}: there is a file where a folder is needed"
        )
        return 1
    except OSError as error:
        complain(f"cannot write the site to {options.folder}: {error.strerror} ({error.filename})")
        return 1
    print(f"wrote the site; its first page is {first}")
    return 0
