"""The command line: what one can do with minigrad without writing Python. One file a command.

This is the outermost layer: it may import every other package, and none of them imports it.
"""

import argparse
import contextlib
import difflib
import os
import re
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import NoReturn

import minigrad
from minigrad.cli import processes

COMMANDS = {
    "site": "write the course as a static site",
    "check": "run a notebook as the grader would, before it is handed in",
    "grade": "grade a folder of students' notebooks",
    "lab": "open the course in JupyterLab, or check that it runs",
    "release": "write the students' edition of the course, to hand out",
    "trace": "differentiate a formula and show every step",
    "page": "a page that differentiates what is typed into it",
    "animate": "the steps as a film, a page or a strip for paper",
    "draw": "the graph that a formula or a function leaves behind",
}

EXAMPLES = """\
examples:
  minigrad lab
  minigrad lab my-course -- --no-browser
  minigrad trace "log(x1) + x1*x2 - sin(x2)" x1=2 x2=5
  minigrad trace "log(x1) + x1*x2 - sin(x2)" x1=2 x2=5 --mode forward --seed x2=1
  minigrad trace "sin(x)**2" x=pi/6 -o steps.html
  minigrad page -o explore.html
  minigrad release handout/
  minigrad grade run lesson.ipynb submitted/ --out results/
  minigrad animate "sin(x)**2" x=pi/6 -o film.webp
  minigrad draw "sin(x)**2" x=pi/6 -o graph.svg

`minigrad COMMAND --help` tells more about a command.
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command and returns its exit status: 0 done, 1 it could not be done, 2 it was asked
    for in a wrong way, 128 + N stopped by signal N. However it ends, none of its processes and
    temporary files stays behind.

    argv: the arguments; by default those of this process, which then belongs to the command alone.
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    return processes.command(
        lambda: _run(arguments),
        own=argv is None,
        browses=arguments[:1] == ["lab"] and "--check" not in arguments,
    )


def _run(arguments: list[str]) -> int:
    try:
        if arguments and arguments[0] in COMMANDS:
            return int(import_module(f"minigrad.cli.{arguments[0]}").main(arguments[1:]))
        return _no_command(arguments)
    except SystemExit as stop:  # argparse exits like this, after --help too
        return stop.code if isinstance(stop.code, int) else 1 if stop.code else 0
    except BrokenPipeError:  # the reader, such as `head`, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt as stop:
        with contextlib.suppress(OSError):  # the terminal may be closed
            complain(str(stop) or "stopped by SIGINT")
        raise


SLIDES = ("deck", "film", "movie", "pptx", "presentation", "slide", "slides", "video")
"""Words that ask for pictures for slides."""


def _no_command(arguments: list[str]) -> int:
    if arguments and not arguments[0].startswith("-"):
        complain(f"there is no command {arguments[0]!r}; {_instead(arguments[0])}")
        return 2
    parser = argparse.ArgumentParser(
        prog="minigrad",
        description="Automatic differentiation that shows its steps.",
        epilog="commands:\n"
        + "".join(f"  {name:8}{what}\n" for name, what in COMMANDS.items())
        + "\n"
        + EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"minigrad {minigrad.__version__}")
    parser.add_argument("command", nargs="?", metavar="COMMAND", help="one of the commands below")
    options, unknown = parser.parse_known_args(arguments)
    if options.command is not None:
        parser.error("the command comes first, and its options behind it")
    if unknown:
        complain(f"there is no option {unknown[0]} without a command; {_instead('')}")
        return 2
    parser.print_help(sys.stderr)
    return 2


def _instead(command: str) -> str:
    """What to call in place of a command that does not exist."""
    if difflib.get_close_matches(command.lower(), SLIDES, cutoff=0.8):
        return (
            "for slides, `minigrad animate FORMULA -o film.webp` makes a film (or .gif, .pdf), and"
            " `minigrad trace FORMULA -o frame.svg` a picture of one step (or .png, .pdf, .html)"
        )
    near = difflib.get_close_matches(command.lower(), COMMANDS, cutoff=0.5)
    every = f"the commands are {', '.join(COMMANDS)}"
    return f"did you mean {' or '.join(near)}? ({every})" if near else every


class _Parser(argparse.ArgumentParser):
    """Says what is wrong with the arguments, what may have been meant, and an example, in the
    place of the usage, which hides that under its lines."""

    def error(self, message: str) -> NoReturn:
        wrong, _, listed = message.partition("(choose from ")
        words = re.findall(r"'([^']+)'", wrong) or re.findall(r"--[\w-]+", message)
        known = re.findall(r"[\w-]+", listed) or re.findall(r"--[\w-]+", self.format_usage())
        lacks = message.startswith("the following arguments are required")
        unknown = [] if lacks else [one for one in words if one not in known]
        near = difflib.get_close_matches(unknown[0], known, 1) if unknown else []
        complain(message + (f"; did you mean {near[0]}?" if near else ""))
        example = re.search(rf"^ *({re.escape(self.prog)} .*)$", self.epilog or "", re.M)
        told = f"for example: {example[1]}\n" if example else ""
        sys.stderr.write(f"{told}`{self.prog} --help` says more\n")
        raise SystemExit(2)


def parser_of(command: str, description: str, examples: str) -> argparse.ArgumentParser:
    """The parser of a command's arguments."""
    return _Parser(
        prog=f"minigrad {command}",
        description=description,
        epilog=examples,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )


def complain(message: str) -> None:
    """Prints an error to standard error, in one form for all commands."""
    print(f"minigrad: {message}", file=sys.stderr)
