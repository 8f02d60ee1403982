"""Which Chromium drives pages, for measurements and tests."""

import shutil

NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "chrome")
"""The first of these that is there is driven; the first one draws no window and is faster."""


def path() -> str | None:
    """The program on the PATH; None where there is none."""
    return next(filter(None, map(shutil.which, NAMES)), None)
