"""The command lines of the benchmarks: what their options have in common."""

import argparse
from collections.abc import Callable
from pathlib import Path

RESULTS = Path(__file__).parent / "results"
"""Where figures are kept unless the command names another folder."""


class Parser(argparse.ArgumentParser):
    """A parser that knows these options."""

    def count(self, option: str, default: int, what: str, least: int = 1) -> None:
        """An option that is a whole number from `least` on."""
        said = f"{what} (default: %(default)s)"
        self.add_argument(option, type=_whole(least), default=default, metavar="N", help=said)

    def threads(self, default: int = 1, least: int = 1) -> None:
        self.count("--threads", default, "threads of the numerical libraries", least)

    def folder(self) -> None:
        """Where the figures go."""
        said = "where the figures go (default: %(default)s)"
        self.add_argument("--out", type=Path, default=RESULTS, metavar="DIR", help=said)

    def copy(self, name: str) -> None:
        """A folder in which a file of this name keeps the figures, if the user wants one."""
        said = f"also keep the figures there, as {name}"
        self.add_argument("--out", type=Path, metavar="DIR", help=said)


def parser(name: str, doc: str | None) -> Parser:
    """For `python -m benchmarks.NAME`, a module whose docstring begins with what it does."""
    prog = f"python -m benchmarks{name and '.'}{name}"
    return Parser(prog=prog, description=" ".join((doc or "").partition("\n\n")[0].split()))


def _whole(least: int) -> Callable[[str], int]:
    def whole(text: str) -> int:
        if not text.isdecimal() or int(text) < least:
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from {least} on")
        return int(text)

    return whole
