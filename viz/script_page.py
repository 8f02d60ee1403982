"""A script that calls ``viz.show`` or ``viz.compare`` has no place to show anything: the page goes
to a file, and its place is printed.

That happens in a program that is run by itself, not in a notebook, an interactive session, a test
or a module that another program imports; and anywhere outside of notebooks when the caller asks for
a browser.
"""

from __future__ import annotations

import os
import sys
import tempfile
import webbrowser
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from minigrad.viz.hosts import kernel_runs


def tell(shown: Any, caller: Mapping[str, Any], browser: bool) -> Any:
    """Write what was shown to a temporary page and say where, if ``caller`` (a frame's globals) is
    a script or a browser is asked for.

    Returns ``shown``.
    """
    script = (
        caller.get("__name__") == "__main__" and "__file__" in caller and not sys.flags.interactive
    )
    if hasattr(shown, "save") and (script or browser) and not kernel_runs():
        handle, name = tempfile.mkstemp(prefix="minigrad-", suffix=".html")
        os.close(handle)
        shown.save(name)
        print(
            f"viz: the stepper is in {name}; open it in a web browser, as browser=True does",
            file=sys.stderr,
        )
        if browser:
            webbrowser.open(Path(name).as_uri())
    return shown
