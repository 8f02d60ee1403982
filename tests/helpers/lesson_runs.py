"""Each edition of each lesson is executed at most once in a run of the tests, by whichever test
asks first.

A run of the tests may have several workers. They share a folder (`share`, called by conftest.py),
and a lock for each edition makes the others wait for the one that executes it. Without such a
folder each process executes what it needs.

The students' edition is executed as for the site: where a widget would need a kernel, a page stands
in the output.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

from tests.helpers import forked_kernels

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted((ROOT / "lessons").glob("*.ipynb"))
EDITIONS = ("instructors", "students")
FAILED, EXECUTED = "failed.txt", "executed.ipynb"
TRACES = "MINIGRAD_TEST_TRACES"
"""The environment variable by which lesson_traces.py knows its folder."""

_shared: Path | None = None


def share(folder: Path) -> None:
    """Executed notebooks are kept in this folder, which other processes may share."""
    global _shared
    _shared = folder / "lesson-runs"
    _shared.mkdir(exist_ok=True)
    run.cache_clear()


def executed(notebook: Path, edition: str) -> Any:
    """A lesson with its outputs. Fails with the error of the cell that fails."""
    import nbformat

    return nbformat.read(run(notebook, edition) / EXECUTED, as_version=4)


@functools.cache
def run(notebook: Path, edition: str) -> Path:
    """The folder with the executed notebook and the Traces that its cells made or showed
    (lesson_traces.py).
    """
    assert edition in EDITIONS
    top = _shared or _own_folder()
    folder = top / f"{notebook.stem}-{edition}"
    with _locked(top / f"{folder.name}.lock"):
        if not folder.is_dir():
            unfinished = Path(tempfile.mkdtemp(prefix=f"{folder.name}-", dir=top))
            _execute(notebook, edition, unfinished)
            with contextlib.suppress(
                OSError
            ):  # another process was faster, where there are no locks
                unfinished.rename(folder)
    failed = folder / FAILED
    assert not failed.exists(), f"{notebook.name}, {edition}: {failed.read_text(encoding='utf-8')}"
    return folder


@functools.cache
def _own_folder() -> Path:
    folder = tempfile.TemporaryDirectory(prefix="minigrad-lesson-runs-")
    _own_folder.keep = folder  # type: ignore[attr-defined]  # it is removed when the process ends
    return Path(folder.name)


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    """One process at a time. The system opens the lock of a process that has ended."""
    with path.open("w") as file:
        try:
            import fcntl
        except ImportError:  # Windows: then an edition may be executed more than once
            pass
        else:
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _execute(notebook: Path, edition: str, folder: Path) -> None:
    """Executes an edition in a kernel that neither reads nor writes anything of the user's, in
    an empty folder.
    """
    import nbclient
    import nbformat
    from minigrad.lessons.edition import student_file

    students = edition == "students"
    source = student_file(notebook).decode() if students else notebook.read_text(encoding="utf-8")
    book = nbformat.reads(source, as_version=4)
    options = ["--log-level=ERROR"]
    if students:
        options.append("--IPKernelApp.extra_extensions=['tests.helpers.lesson_traces']")
    with (
        tempfile.TemporaryDirectory(prefix="home-", dir=folder) as home,
        _environment(home, folder, static=students),
    ):
        place = Path(home, "work")
        place.mkdir()
        client = nbclient.NotebookClient(
            book,
            timeout=300,
            kernel_name="python3",
            resources={"metadata": {"path": str(place)}},
            extra_arguments=options,
        )
        try:
            with _handlers_of_signals_kept(), forked_kernels.kernels_are_forked():
                client.execute()
        except nbclient.exceptions.CellControlSignal as error:  # a cell raised, or took too long
            (folder / FAILED).write_text(str(error), encoding="utf-8")
    (folder / EXECUTED).write_text(nbformat.writes(book), encoding="utf-8")


@contextlib.contextmanager
def _handlers_of_signals_kept() -> Iterator[None]:
    """nbclient would put its own in the place of the run's, and the system's after them: then
    SIGTERM ends nothing, or ends the run without its end.
    """

    def refuse(*_: Any) -> None:
        raise RuntimeError("the run of the tests handles signals")

    methods = {"add_signal_handler": refuse, "remove_signal_handler": refuse}
    with mock.patch.multiple(asyncio.SelectorEventLoop, **methods):
        yield


@contextlib.contextmanager
def _environment(home: str, traces: Path, static: bool) -> Iterator[None]:
    """The environment variables of the kernel; jupyter_client in this process reads some as
    well.
    """
    before = dict(os.environ)
    jupyter = ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR")
    os.environ.update({name: str(Path(home, name.lower())) for name in jupyter})
    fonts = str((_shared or _own_folder()) / "matplotlib")  # its list of fonts takes a second
    os.environ.update(HOME=home, MPLCONFIGDIR=fonts, PYTHONPATH=str(ROOT))
    os.environ.update(JUPYTER_PREFER_ENV_PATH="1", PYTHONWARNINGS="", OPENBLAS_NUM_THREADS="1")
    os.environ[TRACES] = str(traces)
    for name in ("NBGRADER_EXECUTION", "MPLBACKEND", "MINIGRAD_STATIC", "MINIGRAD_EXPLORER"):
        os.environ.pop(name, None)
    if static:
        os.environ.update(MINIGRAD_STATIC="1", MINIGRAD_EXPLORER="explore.html")
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)
