"""An extension of Sphinx for the site: executing a notebook survives the end of its kernel.

The ports of a kernel are chosen before it starts, and another program may take one meanwhile: then
it ends at once. On a busy machine kernels also start late. myst-nb lets either stop the site, with
no word about the notebook.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable
from typing import Any

ATTEMPTS = 3
START_S = 300
"""How long a kernel may take to start: five times what it has by default."""


def setup(app: Any) -> dict[str, bool]:
    """Called by Sphinx."""
    from myst_nb.core.execute import direct

    direct.single_nb_execution = executed_again(direct.single_nb_execution)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def executed_again(execute: Callable[..., Any]) -> Callable[..., Any]:
    """Like `execute` of a notebook, which starts once more with a new kernel where one ended or
    did not start; after so many attempts that is the notebook's error.
    """

    def executed(notebook: Any, **options: Any) -> Any:
        from jupyter_cache.executors.utils import ExecutionResult

        for left in reversed(range(ATTEMPTS)):
            try:
                return execute(notebook, startup_timeout=START_S, **options)
            except RuntimeError as error:  # DeadKernelError, too
                if left:
                    continue
                said = (
                    f"{traceback.format_exception_only(error)[-1].strip()}. The kernel of this"
                    f" notebook ended, or did not start, {ATTEMPTS} times. A cell may end it, or"
                    " memory may be short: run the notebook in JupyterLab."
                )
                return ExecutionResult(notebook, options["cwd"], 0.0, error, said)

    return executed
