"""What stands in the place of a function that an exercise asks for: it is not there to be
called.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn


class Withheld(NotImplementedError):
    """Raised by whatever is taken away from the library while submissions are graded."""


_tell: Callable[[], object] | None = None


def tell_of_the_first(tell: Callable[[], object]) -> None:
    """`tell` is called as soon as something that is not there is called for the first time,
    whatever becomes of the exception.
    """
    global _tell
    _tell = tell


DIFFERENTIATES = (
    "minigrad.core.",
    "minigrad.fast.",
    "minigrad.graph.derivatives",
    "the derivative rule",
)
"""Names that no student has written down: what they called has called these."""


def said_of(name: str) -> str:
    """What the student is told of something that is not there."""
    what = "The library's own differentiation" if name.startswith(DIFFERENTIATES) else name
    return (
        f"{what} is what you are asked to write, so it is not there when your submission is graded."
    )


def withheld(name: str) -> NoReturn:
    """Raises Withheld, with a sentence for the student."""
    global _tell
    tell, _tell = _tell, None
    if tell is not None:
        tell()
    raise Withheld(said_of(name))
