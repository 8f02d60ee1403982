"""`minigrad lab`: the course in JupyterLab, in a folder that belongs to the student."""

import asyncio
import importlib
import importlib.util
import os
import re
import signal
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from minigrad.cli import complain, parser_of, processes
from minigrad.cli.course import LESSONS, copy_course, folder_named

QUIET = [
    # A server that asks the network for nothing: no news, no look for a newer version, no list of
    # extensions.
    "--LabApp.news_url=None",
    "--LabApp.check_for_updates_class=jupyterlab.handlers.announcements.NeverCheckForUpdate",
    "--LabApp.extension_manager=readonly",
]

SETTINGS = Path(__file__).parent / "jupyter"
"""A folder of Jupyter settings that hold for this process only, below what users have set for
themselves: do not ask about news.
"""

INSTALL = 'JupyterLab is not installed here. In the folder of minigrad run: pip install -e ".[lab]"'

EXAMPLES = """\
Files that you have changed are never overwritten. What stands after -- goes to JupyterLab as it is.

examples:
  minigrad lab
  minigrad lab ~/differentiation
  minigrad lab -- --no-browser --ip=0.0.0.0 --port=8890
  minigrad lab --check
"""


def main(argv: list[str]) -> int:
    """Runs `minigrad lab` with the arguments after its name; returns the exit status."""
    own, passed_on = argv, []
    if "--" in argv:
        own, passed_on = argv[: argv.index("--")], argv[argv.index("--") + 1 :]
    parser = parser_of(
        "lab", "Copies the course's notebooks into a folder and opens JupyterLab there.", EXAMPLES
    )
    parser.add_argument(
        "folder",
        metavar="DIR",
        nargs="?",
        type=folder_named,
        default="minigrad-course",
        help="default: %(default)s",
    )
    parser.add_argument(
        "--check",
        action="store_true",
        help="run the first two lessons without a browser and print what they compute",
    )
    options, unknown = parser.parse_known_args(own)
    if unknown:
        meant = " ".join(unknown)
        parser.error(
            f"unrecognized arguments: {meant} (for JupyterLab? Then they stand after --: minigrad"
            f" lab -- {meant})"
        )
    # The kernel of this Python environment, even if the user has made another one of the same name
    # their default.
    os.environ.setdefault("JUPYTER_PREFER_ENV_PATH", "1")
    return check() if options.check else open_lab(options.folder, passed_on)


def open_lab(folder: Path, passed_on: list[str]) -> int:
    """Copies the course into `folder`, says what it did, and runs JupyterLab there until it is
    stopped.
    """
    if importlib.util.find_spec("jupyterlab") is None:
        complain(INSTALL)
        return 1
    if not _notebooks():
        return 1
    try:
        folder.mkdir(parents=True, exist_ok=True)
        copied, kept = copy_course(LESSONS, folder)
    except (FileExistsError, NotADirectoryError):
        complain(f"cannot write the course to {folder}: there is a file where a folder is needed")
        return 1
    except OSError as error:
        complain(f"cannot write the course to {folder}: {error.strerror} ({error.filename})")
        return 1
    if copied:
        print(f"copied {len(copied)} file{'s' * (len(copied) != 1)} of the course to {folder}")
    if kept:
        print(
            f"kept what differs from the course in {folder}: {', '.join(map(str, kept))} (rename a"
            " file to get a fresh copy)"
        )
    first = f"/lab/tree/{_notebooks()[0].name}" if copied else "/lab"
    arguments = [
        f"--ServerApp.root_dir={folder.resolve()}",
        f"--LabApp.default_url={first}",
        *QUIET,
    ]
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        arguments.append("--allow-root")  # in a container one is root, and Jupyter would refuse
    os.environ["JUPYTER_CONFIG_PATH"] = os.pathsep.join(
        filter(None, [os.environ.get("JUPYTER_CONFIG_PATH"), str(SETTINGS)])
    )
    print(f"starting JupyterLab in {folder.resolve()} (Ctrl-C stops it)", flush=True)
    _application().launch_instance([*arguments, *passed_on])
    return 0


def _application() -> Any:
    """JupyterLab, whose server ends its kernels and stops at each signal that asks for it; at
    Ctrl-C in a terminal it asks first.
    """

    class LabServer(importlib.import_module("jupyter_server.serverapp").ServerApp):  # type: ignore[misc]
        def init_signal(self) -> None:
            super().init_signal()
            asks = sys.stdin is not None and sys.stdin.isatty()
            for number in processes.SIGNALS:
                ignored = signal.getsignal(number) == signal.SIG_IGN
                if not ignored and not (asks and number == signal.SIGINT):
                    signal.signal(number, self._signal_stop)

        def _signal_stop(self, number: int, frame: Any) -> None:
            if processes.CURRENT is not None:
                processes.CURRENT.note(number)
            super()._signal_stop(number, frame)

    class Lab(importlib.import_module("jupyterlab.labapp").LabApp):  # type: ignore[misc]
        serverapp_class = LabServer

        @classmethod
        def get_extension_package(cls) -> str:
            return "jupyterlab"  # not minigrad, where this class is

    return Lab


def check() -> int:
    """Runs the first two lessons in a temporary folder and prints what their cells printed or
    showed; 1 if a cell or a check fails.
    """
    missing = [
        name
        for name in ("nbclient", "nbformat", "ipykernel")
        if importlib.util.find_spec(name) is None
    ]
    if missing:
        complain(INSTALL)
        return 1
    notebooks = _notebooks()
    if not notebooks:
        return 1
    with tempfile.TemporaryDirectory(prefix="minigrad-check-") as folder:
        copy_course(LESSONS, Path(folder))
        # The kernel keeps its notes here too: nothing of the user's is read or written.
        for variable in ("IPYTHONDIR", "JUPYTER_RUNTIME_DIR"):
            os.environ[variable] = str(Path(folder, f".{variable.lower()}"))
        if not all(_runs(Path(folder, notebook.name)) for notebook in notebooks[:2]):
            return 1
    _print_documented()
    return 0


def _runs(lesson: Path) -> bool:
    """Runs a notebook and prints what its cells gave; whether all of them ran."""
    nbformat, nbclient = importlib.import_module("nbformat"), importlib.import_module("nbclient")
    exceptions = importlib.import_module("nbclient.exceptions")
    notebook = nbformat.read(lesson, as_version=4)
    resources = {"metadata": {"path": str(lesson.parent)}}
    client = nbclient.NotebookClient(
        notebook,
        timeout=600,
        kernel_name="python3",
        resources=resources,
        extra_arguments=["--log-level=ERROR"],
    )
    print(f"{lesson.name}: running its cells", flush=True)
    try:
        with asyncio.Runner(loop_factory=_Loop) as runner:
            runner.run(client.async_execute())
    except (exceptions.CellControlSignal, exceptions.DeadKernelError, RuntimeError) as error:
        _print_outputs(notebook)
        complain(_failure(notebook, error))
        return False
    _print_outputs(notebook)
    our_fault = importlib.import_module("minigrad.lessons.grading").OUR_FAULT
    if broken := [cell.id for cell in notebook.cells if our_fault in str(cell.get("outputs"))]:
        complain(
            f"{lesson.name}: the checks in these cells do not work: {', '.join(broken)}. The course"
            " and minigrad do not fit together."
        )
        return False
    cells = sum(cell.cell_type == "code" for cell in notebook.cells)
    print(f"{lesson.name}: all {cells} code cells ran")
    return True


class _Loop(asyncio.SelectorEventLoop):
    """An event loop that refuses handlers of signals: nbclient would put its own in the place of
    the command's.
    """

    def add_signal_handler(self, sig: int, callback: Any, *args: Any) -> None:  # type: ignore[override]
        raise RuntimeError("the command handles signals")

    def remove_signal_handler(self, sig: int) -> bool:
        raise RuntimeError("the command handles signals")


def _notebooks() -> list[Path]:
    notebooks = sorted(LESSONS.glob("[0-9]*.ipynb"))
    if not notebooks:
        complain(f"there are no lessons in {LESSONS}; is the checkout complete?")
    return notebooks


_UNFINISHED = re.compile(r"○ not started|^Not yet: |\bNone$", re.MULTILINE)
"""What exercises say that have not been worked on yet."""
_TRACE = re.compile(r"^(evaluation trace|reverse mode)", re.MULTILINE)


def _print_outputs(notebook: Any) -> None:
    """What the cells gave, but for what unfinished exercises say; of Traces as text the first."""
    traced = False
    for number, cell in enumerate((cell for cell in notebook.cells if cell.cell_type == "code"), 1):
        text = "".join(_texts(cell.get("outputs", []))).rstrip()
        is_trace = bool(_TRACE.search(text))
        if text and not _UNFINISHED.search(text) and not (is_trace and traced):
            print(f"\n[{number}]\n{text}")
        traced = traced or is_trace
    print()


def _print_documented() -> None:
    """The numbers that README and lesson 2 name, computed now."""
    import minigrad as mg

    def f(x1: Any, x2: Any) -> Any:
        return x1.log() + x1 * x2 - x2.sin()

    value, slopes = mg.func.jvp(f, (2.0, 5.0), (1.0, 0.0))[0], mg.func.grad(f, (0, 1))(2.0, 5.0)
    print("f(x1, x2) = ln x1 + x1 · x2 − sin x2 at x1 = 2, x2 = 5:")
    print(f"  f = {float(value):.4f}, ∂f/∂x1 = {float(slopes[0]):.4f}", end="")
    print(f", ∂f/∂x2 = {float(slopes[1]):.4f}")


def _texts(outputs: list[Any]) -> Iterator[str]:
    for output in outputs:
        if output.output_type == "stream":
            yield output.text
        elif (
            output.output_type in ("execute_result", "display_data")
            and "text/plain" in output.data
            and not any(kind.startswith("image/") for kind in output.data)  # "<Figure size …>"
        ):
            yield output.data["text/plain"].rstrip("\n") + "\n"


def _failure(notebook: Any, error: Exception) -> str:
    codes = [cell for cell in notebook.cells if cell.cell_type == "code"]
    for number, cell in enumerate(codes, 1):
        for output in cell.get("outputs", []):
            if output.output_type == "error":
                trace = re.sub(r"\x1b\[[0-9;]*m", "", "\n".join(output.traceback))
                return f"code cell {number} failed with {output.ename}: {output.evalue}\n{trace}"
    return f"the lesson could not be run: {error}"
