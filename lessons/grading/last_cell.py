"""Whether the cell that should define an answer ran: after a SyntaxError the name stands for what
an earlier run of the cell defined, and a check would judge that.
"""

from __future__ import annotations

import ast
import re
import sys
import warnings
from collections.abc import Iterable


def not_run(names: Iterable[str]) -> str:
    """What is said where the last cell that defines one of the names has a SyntaxError. Empty where
    none has, and outside of IPython.
    """
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    cells = getattr(getattr(shell, "history_manager", None), "input_hist_parsed", [])
    for name in names:
        defines = re.compile(
            rf"^\s*(?:(?:async )?def|class) +{name}\b|^{name}\s*(?::[^=\n]*)?=(?!=)", re.M
        )
        last = next((cell for cell in reversed(cells) if defines.search(cell)), "")
        try:
            with warnings.catch_warnings(action="ignore"):
                compile(last, "cell", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
        except (SyntaxError, ValueError) as error:
            where = f" in line {error.lineno}" if getattr(error, "lineno", None) else ""
            return (
                f"The last cell that defines `{name}` did not run: {type(error).__name__}{where},"
                f" {getattr(error, 'msg', error)}. `{name}` is still what an earlier run defined,"
                " so it is not checked. Mend the cell, run it, and check again."
            )
    return ""
