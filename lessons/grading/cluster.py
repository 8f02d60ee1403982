"""A class on the machines of a Dask cluster: `minigrad grade run … --cluster ADDRESS`.

Dask spreads the work, starts again what a worker that died had not finished, and takes workers that
come and go. The journal stays with the command that was given, so nothing that was done is lost,
whatever happens to the cluster. All machines must see the sheet and the submissions under the same
paths (a shared folder), have this minigrad installed, and be trusted: what travels holds the
secret from which cases are drawn.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import socket
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from .exercise import SheetError
from .journal import Record
from .one_submission import close_servers, grade_one, sheet_at
from .run import bubblewrap_works

PATIENCE_S = 30
"""For the scheduler to answer."""


class ClusterError(RuntimeError):
    """No cluster can be used; the message says why."""


@contextlib.contextmanager
def connected(address: str) -> Iterator[Executor]:
    """A pool that runs submissions on a cluster, for `run.grade`. address: of Dask's scheduler,
    such as tcp://10.0.0.1:8786.

    Raises ClusterError where Dask is not installed or no scheduler answers at the address.
    """
    try:
        distributed = importlib.import_module("distributed")
    except ImportError:
        raise ClusterError("this needs Dask: pip install 'minigrad[cluster]'") from None
    try:
        client = distributed.Client(address, timeout=PATIENCE_S, set_as_default=False)
    except (OSError, ValueError) as error:
        raise ClusterError(f"no Dask scheduler answers at {address}: {error}") from error
    with client:
        try:
            yield _GradingExecutor(client.get_executor(pure=False))
        finally:
            with contextlib.suppress(Exception):  # a worker may be leaving just now
                client.run(close_servers)


class _GradingExecutor(Executor):
    """Dask's executor, which runs `grade_elsewhere` where `grade_one` is asked for."""

    def __init__(self, pool: Executor) -> None:
        self._pool = pool

    def submit(self, function: Callable[..., Any], /, *args: Any, **options: Any) -> Future[Any]:
        (job,) = args
        assert function is grade_one
        return self._pool.submit(grade_elsewhere, job | {"hash": sheet_at(job["sheet"]).hash})


def grade_elsewhere(job: dict[str, Any]) -> Record:
    """`grade_one` on a worker: with its own temporary folders, and locked in as well as this
    machine can. Raises SheetError where the worker does not see the files, or others.
    """
    here = socket.gethostname()
    for path in (job["sheet"], job["path"]):
        if path is not None and not os.path.lexists(path):
            raise SheetError(f"the worker {here} does not see {path}: put it into a shared folder")
    if sheet_at(job["sheet"]).hash != job["hash"]:
        raise SheetError(f"the worker {here} has another edition of {job['sheet']}")
    return grade_one(job | {"work": "", "wrap": job["wrap"] and _wraps()})


@cache
def _wraps() -> bool:
    with TemporaryDirectory() as folder:
        return bubblewrap_works(Path(folder))
