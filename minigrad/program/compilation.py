"""Kernels are compiled beside the plain program, in a thread of their own.

LLVM takes some tenths of a second for a kernel, and a program has up to thirty. So after its first
run a program with kernels waits while they are compiled, and the plain program is replayed.
`Compiled.wait()` waits for them. With MINIGRAD_KERNELS_WAIT=1 in the environment no thread is
started: the call that needs kernels compiles them, and which call that is does not depend on time.

Numba holds Python's lock for much of the time, so steps are slower until it has ended. At the end
of a process a compilation stops behind the kernel that it is at.
"""

from __future__ import annotations

import contextlib
import os
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .lower import Lowered


def in_background() -> bool:
    """Whether kernels are compiled beside the plain program."""
    return os.environ.get("MINIGRAD_KERNELS_WAIT", "") in ("", "0")


class Compilation:
    """The kernels of one lowered program, while they are compiled. error: what ended it early."""

    def __init__(self, lowered: Lowered) -> None:
        self.error: Exception | None = None
        self._lowered = lowered
        self._thread = threading.Thread(target=self._run, name="minigrad kernels")
        # without a thread the call that needs the kernels compiles them
        with contextlib.suppress(RuntimeError):
            self._thread.start()

    def _run(self) -> None:
        try:
            self._lowered.compile_kernels(threading.main_thread().is_alive)
        except Exception as error:
            self.error = error

    def is_done(self) -> bool:
        """Whether it has ended."""
        return not self._thread.is_alive()

    def wait(self) -> None:
        """Until it has ended."""
        if not self.is_done():
            self._thread.join()
