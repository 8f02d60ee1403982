"""What commands about a formula share: the parser, options of pictures and pages, output files."""

import argparse
import functools
import re
import sys
import textwrap
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from minigrad import expression
from minigrad.cli import complain, parser_of
from minigrad.cli.target import ComputationError, UsageError

FORMATS = ("text", "json", "html", "svg")


PICTURES = ("png", "pdf", "webp", "gif")
"""Endings of files that are not text: written by viz.save, never to a terminal."""


MODES = ("primal", "forward", "reverse", "both")


GROUPS = ("auto", "open", "closed")


_ARGUMENT = re.compile(
    r"(?:draw_graph\((?:x, )?(limit|depth)=…\))"
    r"""|\b(size|dpi|fps|steps?|groups|lang)=(?:(["'])(.*?)\3)?"""
)
"""Arguments as viz's messages spell them."""


def with_status(run: Callable[[argparse.Namespace], int]) -> Callable[[argparse.Namespace], int]:
    """Decorate what a command does: where it cannot, the reason is said, and the exit status is 2
    for what it was given and 1 for what could not be computed.
    """

    @functools.wraps(run)
    def status(options: argparse.Namespace) -> int:
        try:
            return run(options)
        except (UsageError, expression.ExpressionError) as error:
            complain(str(error) + _own_file(error, run.__module__.rpartition(".")[2]))
            return 2
        except ComputationError as error:
            complain(str(error))
            return 1

    return status


def _own_file(error: Exception, command: str) -> str:
    """The advice where a formula cannot be what a function in Python can."""
    if not getattr(error, "in_python", False):
        return ""
    return f"\nor put the function in a file and run: minigrad {command} mine.py:f x=2"


def formula_parser(command: str, description: str, examples: str) -> argparse.ArgumentParser:
    """A parser for what all commands about a formula share: the formula, its values, the passes
    and their seed.
    """
    functions_list = f"functions: {', '.join(sorted(expression.FUNCTIONS))}"
    parser = parser_of(
        command,
        description,
        (
            f"{textwrap.fill(functions_list, 79)}\nconstants:"
            f" {', '.join(expression.CONSTANTS)}\n\n{examples}"
        ),
    )
    parser.add_argument(
        "formula",
        metavar="FORMULA",
        help='for example "log(x1) + x1*x2 - sin(x2)"; or FILE.py:NAME, a function of your own',
    )
    parser.add_argument(
        "values", metavar="NAME=VALUE", nargs="*", help="one for each variable of the formula"
    )
    parser.add_argument(
        "--mode",
        choices=MODES,
        help=(
            "which derivatives: none, forward, reverse, or both (default: both; reverse for arrays"
            " without --seed)"
        ),
    )
    parser.add_argument(
        "--seed",
        metavar="NAME=VALUE",
        nargs="+",
        default=[],
        help=(
            "tangents of the inputs in forward mode; what is not named is 0 (default: 1 for the"
            " first input)"
        ),
    )
    language_option(parser, "formula")
    parser.add_argument(
        "--views",
        metavar="NAMES",
        help=(
            "further views that are open in an .html page, with commas between: "
            + ", ".join(_view_names())
        ),
    )
    parser.add_argument(
        "--groups",
        choices=GROUPS,
        help=(
            "in a picture: modules, and stretches of a large graph, as single boxes where a page"
            " shows them so at first (auto, the default), open: every operation, closed: the fewest"
            " boxes"
        ),
    )
    return parser


def _view_names() -> Iterable[str]:
    """The names of the viewer's further views; none where viz is not installed."""
    try:
        found: Iterable[str] = import_module("minigrad.viz.texts").views()
    except ModuleNotFoundError:
        return ()
    return found


def language_option(parser: argparse.ArgumentParser, what: str) -> None:
    """Add `--lang`, the language of the words around the names or the formula."""
    parser.add_argument(
        "--lang",
        choices=("en", "zh"),
        default="en",
        help=f"language of the words around the {what} (default: %(default)s)",
    )


def group_options(options: argparse.Namespace, form: str) -> dict[str, Any]:
    """--groups, which is for pictures and films alone. Raises UsageError for another format."""
    if options.groups is None:
        return {}
    if form in ("text", "txt", "json"):
        raise UsageError(
            "--groups is for pictures: give an output that ends in .svg, .png, .pdf, .webp or .gif"
        )
    if form == "html":
        raise UsageError(
            "--groups is for pictures; in a page the reader opens and closes the boxes"
        )
    return {"groups": options.groups}


def page_options(options: argparse.Namespace, form: str) -> dict[str, Any]:
    """--lang, which is for all but the Trace itself, and --views, which are a page's. Raises
    UsageError elsewhere.
    """
    views = [name.strip() for name in options.views.split(",")] if options.views else []
    chosen = ({"lang": options.lang} if options.lang != "en" else {}) | (
        {"views": views} if views else {}
    )
    if views and form != "html":
        raise UsageError("--views are for pages: give an output that ends in .html")
    if chosen and form == "json":
        raise UsageError(
            "--lang is for what is shown of a Trace; as JSON it is the Trace itself, whose"
            " sentences are English"
        )
    try:
        import_module("minigrad.viz.page").options_of(**chosen)
    except ModuleNotFoundError:
        pass  # the page itself will say so
    except ValueError as error:
        raise UsageError(str(error)) from None
    return chosen


def dashes(argv: list[str]) -> list[str]:
    """The arguments, with a blank before each formula or value that begins with a minus:
    argparse takes `-x*y` for an option.
    """
    return [
        f" {word}" if word[:1] == "-" and word[1:2] not in ("-", "", "h", "o") else word
        for word in argv
    ]


def ending(output: str | None) -> str:
    """The ending of a file's name, without its dot."""
    return Path(output or "").suffix.lower().removeprefix(".")


def require_folder(output: str | None) -> None:
    """Raises ComputationError where the file's folder does not exist or the file is a folder, and
    UsageError for a file without a name: before the work is done rather than after.
    """
    if output in (None, "-"):
        return
    if not output.strip():
        raise UsageError("-o needs the name of a file")
    if not Path(output).parent.is_dir():
        raise ComputationError(f"cannot write {output}: there is no such folder; make it first")
    if Path(output).is_dir():
        raise ComputationError(f"cannot write {output}: it is a folder; name a file in it")


def wrote(output: str) -> None:
    """Says on standard error which file was written, and how large it is."""
    kilobytes = max(1, round(Path(output).stat().st_size / 1000))
    print(f"wrote {output} ({kilobytes:,} kB)", file=sys.stderr)


def not_written(output: str, error: OSError) -> int:
    """Says why a file could not be written; returns the exit status."""
    complain(f"cannot write {output}: {error.strerror}")
    return 1


def save(trace: dict[str, Any], output: str, *, quiet: bool = False, **options: Any) -> int:
    """Writes a Trace by `viz.save`, and says so unless `quiet`; returns the exit status."""
    try:
        with warnings_told(placed=False):
            import_module("minigrad.viz.export").save(trace, output, **options)
    except (ModuleNotFoundError, ValueError) as error:
        raise UsageError(as_options(str(error))) from None
    except OSError as error:
        return not_written(output, error)
    if not quiet:
        wrote(output)
    return 0


@contextmanager
def warnings_told(*, placed: bool = True) -> Iterator[None]:
    """Prints each UserWarning raised inside once, as an error is; others, such as NumPy's, are left
    out, since the Trace explains what they are about. placed: with the file and the line.
    """
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", UserWarning)
        try:
            yield
        finally:
            told: dict[str, None] = {}
            for one in warned:
                place = f"{one.filename}:{one.lineno}: " if placed else ""
                told[place + as_options(str(one.message))] = None
            for message in told:
                complain(message)


def as_options(message: str) -> str:
    """A message of viz's in the words of the command line: arguments such as steps="3-9" are
    options there.
    """

    def option(found: re.Match[str]) -> str:
        name, value = found[1] or found[2], found[4]
        return f"--{name}" if value is None else f"--{name} {value or repr(value)}"

    return _ARGUMENT.sub(option, message).removeprefix("save: ").removeprefix("to_svg: ")
