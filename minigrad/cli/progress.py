"""How far a long command is: one line of a terminal, or a line now and then of a log."""

import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from time import monotonic
from typing import Any, TextIO

PAUSE = 15.0
"""Seconds between two lines of a log. A command that is done earlier writes none."""


def progress_line(word: str, log: TextIO | None = None) -> Callable[[int, int], None]:
    """A function of (done, total) that rewrites one line, such as "lessons: 3 of 28", and removes
    it when all are done. Where `log` (by default standard error) is no terminal, it writes a line
    every PAUSE seconds, however often it is called.
    """
    out = log or sys.stderr
    start = last = monotonic()

    def tell_a_log(done: int, total: int) -> None:
        nonlocal last
        now = monotonic()
        if now - last >= PAUSE:
            last = now
            out.write(f"{word}: {done} of {total} after {now - start:.0f} s\n")
            out.flush()

    def tell_a_terminal(done: int, total: int) -> None:
        text = f"{word}: {done} of {total}"
        end = "\r" if done < total else "\r" + " " * len(text) + "\r"
        out.write(text + end)
        out.flush()

    return tell_a_terminal if out.isatty() else tell_a_log


@contextmanager
def followed(
    done: Callable[[], int], total: int, tell: Callable[[int, int], None]
) -> Iterator[None]:
    """Within the block a thread tells again and again how many of `total` are done."""
    over = threading.Event()

    def follow() -> None:
        while not over.wait(0.2):
            tell(min(total - 1, done()), total)

    thread = threading.Thread(target=follow, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
        tell(total, total)


def counted(
    items: Iterable[Any], total: int, word: str, log: TextIO | None = None
) -> Iterator[Any]:
    """The items; how many have been dealt with is told while they are."""
    count = 0
    with followed(lambda: count, total, progress_line(word, log)):
        for item in items:
            yield item
            count += 1
