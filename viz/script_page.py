"""A script that calls ``viz.show`` or ``viz.compare`` has no place to show anything: the page goes
to a file, and its place is printed, unless the script saves what it got.

That happens in a program that is run by itself, not in a notebook, an interactive session, a test
or a module that another program imports; and anywhere outside of notebooks when the caller asks for
a browser.
"""

from __future__ import annotations

import copy
import os
import sys
import tempfile
import weakref
import webbrowser
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from minigrad.viz.hosts import UNSAVED, kernel_runs


def tell(shown: Any, caller: Mapping[str, Any], browser: bool) -> Any:
    """Write what was shown to a temporary page and say where, if ``caller`` (a frame's globals) is
    a script or a browser is asked for. A script that keeps what was shown may save it: its page is
    written when it is dropped, at the latest at the script's end.

    Returns ``shown``.
    """
    script = (
        caller.get("__name__") == "__main__" and "__file__" in caller and not sys.flags.interactive
    )
    if not hasattr(shown, "save") or kernel_runs():
        return shown
    if browser:
        webbrowser.open(_written(shown).as_uri())
    elif script:
        UNSAVED[shown] = weakref.finalize(shown, _written, copy.copy(shown))
    return shown


def _written(shown: Any) -> Path:
    handle, name = tempfile.mkstemp(prefix="minigrad-", suffix=".html")
    os.close(handle)
    shown.save(name)
    print(
        f"viz: the stepper is in {name}; open it in a web browser, as browser=True does",
        file=sys.stderr,
    )
    return Path(name)
