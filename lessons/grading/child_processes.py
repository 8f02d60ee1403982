"""What happens where a submission starts another process: pools work with threads, and a program
ends at once without output.

The sandbox allows one process. Code that computes with a pool gets its results all the same; code
that only asks another program (`git rev-parse HEAD`) goes on with an empty answer and the exit
status 126, by which a shell says that a program may not be run.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable
from importlib.machinery import ModuleSpec
from typing import Any

REFUSED = 126


def install() -> None:
    """Programs are refused quietly from now on, and pools that are imported use threads."""
    import subprocess

    run: Callable[..., None] = subprocess.Popen._execute_child  # type: ignore[attr-defined]

    def refused(popen: Any, *args: Any) -> None:
        try:
            run(popen, *args)
        except PermissionError:
            with contextlib.suppress(AttributeError):
                popen._close_pipe_fds(*args[10:16])
            popen.pid, popen.returncode = 0, REFUSED

    subprocess.Popen._execute_child = refused  # type: ignore[attr-defined]
    sys.meta_path.insert(0, _MultiprocessingFinder())  # type: ignore[arg-type]


class _MultiprocessingFinder:
    """Changes two modules of the standard library when they are imported."""

    def __init__(self) -> None:
        self.busy = False

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        change = CHANGES.get(name)
        if change is None or self.busy:
            return None
        from importlib.util import find_spec

        self.busy = True
        try:
            spec = find_spec(name)
        finally:
            self.busy = False
        if spec is None or spec.loader is None:
            return None
        run = spec.loader.exec_module

        def exec_module(module: Any) -> None:
            run(module)
            change(module)

        spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


def _pool_of_threads(module: Any) -> None:
    module.BaseContext.Pool = lambda self, *args, **named: _ThreadPool(*args, **named)


class _Result:
    """What `apply_async` and its like give."""

    def __init__(self, future: Any) -> None:
        self.get, self.ready = future.result, future.done
        self.wait = future.exception
        self.successful = lambda: future.exception() is None


class _ThreadPool:
    """multiprocessing.Pool with threads in the place of processes."""

    def __init__(
        self, processes: Any = None, initializer: Any = None, initargs: Any = (), *others: Any
    ) -> None:
        from concurrent.futures import ThreadPoolExecutor

        self._threads = ThreadPoolExecutor(processes or 2, "", initializer, initargs)
        self.close = self.terminate = self.join = self._threads.shutdown

    def __enter__(self) -> _ThreadPool:
        return self

    def __exit__(self, *error: object) -> None:
        self._threads.shutdown()

    def map(self, function: Any, items: Any, chunksize: Any = None) -> list[Any]:
        return list(self._threads.map(function, items))

    def imap(self, function: Any, items: Any, chunksize: Any = None) -> Any:
        return self._threads.map(function, items)

    imap_unordered = imap

    def starmap(self, function: Any, items: Any, chunksize: Any = None) -> list[Any]:
        return self.map(lambda item: function(*item), items)

    def apply(self, function: Any, args: Any = (), named: Any = None) -> Any:
        return self._threads.submit(function, *args, **(named or {})).result()

    def apply_async(self, function: Any, args: Any = (), named: Any = None) -> _Result:
        return _Result(self._threads.submit(function, *args, **(named or {})))

    def map_async(self, function: Any, items: Any, chunksize: Any = None) -> _Result:
        return _Result(self._threads.submit(lambda: [function(item) for item in items]))


def _executor_of_threads(module: Any) -> None:
    from concurrent.futures import ThreadPoolExecutor

    class ProcessPoolExecutor(ThreadPoolExecutor):
        def __init__(
            self,
            max_workers: Any = None,
            mp_context: Any = None,
            initializer: Any = None,
            initargs: Any = (),
            **others: Any,
        ) -> None:
            super().__init__(max_workers, "", initializer, initargs)

    module.ProcessPoolExecutor = ProcessPoolExecutor


CHANGES: dict[str, Callable[[Any], None]] = {
    "multiprocessing.context": _pool_of_threads,
    "concurrent.futures.process": _executor_of_threads,
}
