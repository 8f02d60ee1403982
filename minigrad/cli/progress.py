"""How far a long command is, as one line of a terminal."""

import sys
from collections.abc import Callable


def progress_line(word: str) -> Callable[[int, int], None]:
    """A function of (done, total) that rewrites one line, such as "lessons: 3 of 28", on standard
    error, and removes it when all are done. Where that is no terminal it writes nothing.
    """
    if not sys.stderr.isatty():
        return lambda done, total: None

    def tell(done: int, total: int) -> None:
        text = f"{word}: {done} of {total}"
        end = "\r" if done < total else "\r" + " " * len(text) + "\r"
        sys.stderr.write(text + end)
        sys.stderr.flush()

    return tell
