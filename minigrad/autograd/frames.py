"""Which lines of the user's program led here: the running frames without the library's own and
without what a notebook runs cells with.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from types import FrameType

_NOT_THE_USERS = (__file__.rpartition("autograd")[0], contextlib.__file__)  # minigrad's folder


def user_frames() -> Iterator[FrameType]:
    """The frames of the user's code, innermost first. In IPython and Jupyter the last one is the
    cell itself.
    """
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if (
            frame.f_code.co_name == "run_code"
            and frame.f_globals.get("__name__") == "IPython.core.interactiveshell"
        ):
            return
        if not frame.f_code.co_filename.startswith(_NOT_THE_USERS):
            yield frame
        frame = frame.f_back
