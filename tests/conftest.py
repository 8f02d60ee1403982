"""Options, workers and optional tools of the test suite, and the list of what did not run."""

import contextlib
import functools
import gc
import importlib.util
import os
import random
import re
import shutil
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import hypothesis
import pytest

from benchmarks import chromium as chromium_program
from tests.helpers import forked_kernels, lesson_runs, tables, without_unix

# Equal examples on every machine, and no failure because a busy machine was slow once.
for name, examples in (("sample", 40), ("whole", 200)):
    hypothesis.settings.register_profile(
        name, derandomize=True, deadline=None, max_examples=examples
    )

GRAMMARS = "rfc3987_syntax"
"""jsonschema imports this where it is installed, and it compiles 38 grammars: 1.5 seconds in each
worker, Jupyter server and build of a site, for formats that no test uses. They go without it.
"""
sys.modules.setdefault(GRAMMARS, None)  # type: ignore[arg-type]

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-proxy-server",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
]
"""With these Chromium asks no other machine for anything by itself, and a page cannot reach one
either.
"""
CHROMIUM = chromium_program.path()


def _gpu() -> bool:
    if importlib.util.find_spec("cupy") is None:
        return False
    import cupy

    try:
        return cupy.cuda.runtime.getDeviceCount() > 0
    except cupy.cuda.runtime.CUDARuntimeError:
        return False


MISSING: dict[str, tuple[Callable[[], bool], str, str]] = {
    "oracle": (
        lambda: importlib.util.find_spec("torch") is None,
        "PyTorch, the oracle, is not installed",
        'pip install -e ".[oracle]" (its CPU build is enough)',
    ),
    "browser": (
        lambda: CHROMIUM is None,
        "there is no Chromium",
        "apt-get install chromium, or put it on the PATH",
    ),
    "gpu": (
        lambda: not _gpu(),
        "there is no CUDA device with CuPy",
        'pip install -e ".[cuda12]" on a machine with a GPU',
    ),
    "unix": (
        without_unix.is_missing,
        "what only Unix has is missing or hidden",
        "on a machine with Linux or macOS: pytest without --without-unix",
    ),
}
"""For each marker of an optional tool: whether it is missing, how that is said, and the command
that enables its tests.
"""


WITHOUT_UNIX = "--without-unix"
PATIENCE_S = 5.0
"""For processes that notice by themselves that their parent is gone, before they count as left."""


@functools.cache
def _reason(marker: str) -> str | None:
    """Why tests with this marker cannot run here and how to make them run, or None if they can."""
    missing, what, cure = MISSING[marker]
    return f"{what}: {cure}" if missing() else None


def pytest_addoption(parser: pytest.Parser) -> None:
    if WITHOUT_UNIX in sys.argv:
        without_unix.hide()  # before the folders' own conftest.py import anything of minigrad
    parser.addoption(
        "--whole",
        action="store_true",
        help=(
            "run the whole suite: also every notebook, the browser matrix, corpora and scale tests"
        ),
    )
    parser.addoption(
        "--row",
        default="",
        metavar="TEXT",
        help="of tests over a table, check only rows whose name contains TEXT",
    )
    parser.addoption(
        WITHOUT_UNIX,
        action="store_true",
        help=(
            "hide from minigrad and the tests what only Unix has (fcntl, resource, os.fork,"
            " SIGALRM, ...), as on Windows; what needs it is left out"
        ),
    )
    parser.addoption(
        "--shuffle",
        type=int,
        metavar="SEED",
        help="run the files, and the tests in each, in a random order that the seed fixes",
    )


def pytest_configure(config: pytest.Config) -> None:
    hypothesis.settings.load_profile("whole" if config.getoption("whole") else "sample")
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Interruption(config))


def _set_workers(config: pytest.Config) -> None:
    """Without options, a run of the suite uses every core: one worker and one BLAS thread for
    each. The whole suite waits for browsers, kernels and limits in a quarter of its time, so it has
    half as many workers again.
    """
    option = config.option
    alone = not config.pluginmanager.hasplugin("xdist") or option.usepdb or option.collectonly
    if alone or hasattr(config, "workerinput"):  # a worker starts no workers
        return
    if option.numprocesses is None and config.args_source is config.ArgsSource.TESTPATHS:
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
        option.numprocesses = (cores or 1) * 3 // 2 if option.whole else cores
    if option.numprocesses:
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
        os.environ.setdefault("OMP_NUM_THREADS", "1")
        if option.dist == "no":
            # The tests of a file share its fixtures: a worker takes whole files, in the order of
            # collection. The scheduler's own order begins with the files of most tests, which
            # leaves the slowest tests to the end.
            option.dist, option.loadscopereorder = "loadfile", False


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """One worker takes all files with tests in JupyterLab: a server and the first page of
    JupyterLab take ten seconds of processor time.
    """
    if config.option.dist != "loadfile":
        return None
    from xdist.scheduler import LoadFileScheduling

    asks = re.compile(r"^def \w+\([^)]*\blab\b", re.MULTILINE)  # for the fixture of that name
    files = TESTS.joinpath("browser").glob("test_*.py")
    together = {path.name for path in files if asks.search(path.read_text(encoding="utf-8"))}

    class Scheduling(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file = super()._split_scope(nodeid)
            folder, _, name = file.rpartition("/")
            return "JupyterLab" if folder.endswith("browser") and name in together else file

    return Scheduling(config, log)


@pytest.hookimpl(wrapper=True, tryfirst=True)  # before pytest-xdist reads its options
def pytest_cmdline_main(config: pytest.Config) -> Iterator[Any]:
    """A run of the suite leaves nothing behind. SIGTERM and SIGHUP interrupt it as Ctrl-C does, so
    that fixtures are torn down. Processes that are left at the end are ended, and fail the run. All
    temporary files lie in one folder, which is removed at the end.
    """
    from minigrad.cli import folders, processes

    _set_workers(config)
    # The hundreds of processes of a run would each compile the tests, minigrad and their imports.
    sys.dont_write_bytecode = False
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    if config.option.usepdb or config.option.collectonly:
        return (yield)
    if hasattr(config, "workerinput"):
        with processes.Signals():
            return (yield)

    def force(number: int) -> None:
        processes.end_descendants(patience=1.0)
        folders.remove(folder)
        os._exit(pytest.ExitCode.INTERRUPTED)

    processes.adopt_orphans()
    with processes.Signals(force) as signals, processes.temporary_folder(signals) as folder:
        if without_unix.hidden:
            without_unix.hide_in_children()
        if folder:
            _without_grammars_in_children(folder)
            # parts of pages do not go into the user's folder for caches
            os.environ.setdefault("MINIGRAD_PAGES", str(Path(folder, "pages")))
        try:
            status = yield
        except BaseException:  # the end of a stopped run lasts too long, or fails itself
            if not signals.received:
                raise
            sys.stdout.flush()
            force(signals.received)
        if "minigrad.lessons.grading.one_submission" in sys.modules:
            sys.modules[
                "minigrad.lessons.grading.one_submission"
            ].close_servers()  # which wait for more submissions until the process ends
        signals.ignored()
        left = _left_behind(processes, wait_s=0 if signals.received else PATIENCE_S)
        if left and status in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
            status = pytest.ExitCode.TESTS_FAILED
        if status == pytest.ExitCode.TESTS_FAILED:
            _keep_folders(config, folder)
    for name in left:
        print(f"FAILED: left behind by the tests, and ended now: {name}", file=sys.stderr)
    return status


def _without_grammars_in_children(folder: str) -> None:
    """Python processes that the run starts find a module in the place of GRAMMARS that cannot be
    imported, as where it is not installed.
    """
    place = Path(folder, "without-grammars")
    place.mkdir()
    (place / f"{GRAMMARS}.py").write_text('raise ImportError("left out in tests")\n')
    path = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join([str(place), *([path] if path else [])])


def _left_behind(processes: Any, wait_s: float) -> list[str]:
    """Ends the processes that the tests have left; returns what they ran. Some end by
    themselves: they notice that their parent is gone.
    """
    until = time.monotonic() + wait_s
    while processes.descendants() and time.monotonic() < until:
        time.sleep(0.05)
    return processes.end_descendants()


def _keep_folders(config: pytest.Config, folder: str) -> None:
    """Moves the temporary folders of failed tests (those of others are removed) into pytest's
    cache.
    """
    if getattr(config, "cache", None) is None:
        return
    kept = config.cache.mkdir("failed")
    shutil.rmtree(kept, ignore_errors=True)
    for path in Path(folder).glob("pytest-of-*"):
        with contextlib.suppress(OSError):  # what may not be read is left out
            shutil.copytree(
                path, kept / path.name, symlinks=True, ignore=shutil.ignore_patterns("*current")
            )
        print(
            f"the temporary folders of the failed tests are kept in {kept / path.name}",
            file=sys.stderr,
        )


class Interruption:
    """What is done at once when a run is interrupted, in the process that reports it. The usual
    end of a run may last longer than its grace: then it is cut off.
    """

    def __init__(self, config: pytest.Config) -> None:
        self._config = config

    @pytest.hookimpl(tryfirst=True)
    def pytest_keyboard_interrupt(self) -> None:
        """Names what failed so far, and interrupts the workers of pytest-xdist."""
        from minigrad.cli import processes

        reporter = self._config.pluginmanager.get_plugin("terminalreporter")
        if reporter is not None:
            reports = reporter.stats.get("failed", []) + reporter.stats.get("error", [])
            failed = list(dict.fromkeys(report.nodeid for report in reports))
            reporter.line(f"\nstopped; failed so far: {len(failed)}")
            for name in failed:
                reporter.line(f"  {name}")
            reporter.flush()
        if not getattr(self._config.option, "numprocesses", None):
            return
        for pid, parent in processes.parents().items():
            if parent == os.getpid():
                with contextlib.suppress(OSError):
                    os.kill(pid, signal.SIGTERM)


LEFT_OUT = pytest.StashKey[Counter[str]]()
"""How many collected tests do not run, by reason."""
ONLY_WHOLE = "only in the whole suite: pytest --whole"


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[Any]:
    """Collection makes hundreds of thousands of objects that stay: the cycle collector neither
    runs meanwhile nor looks at them later.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.collect()
        gc.freeze()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what belongs to the whole run and, in a run of the suite, what needs a tool that
    is missing.
    """
    whole, suite = config.getoption("whole"), config.args_source is config.ArgsSource.TESTPATHS
    left_out: list[pytest.Item] = []
    counts = config.stash[LEFT_OUT] = Counter()
    for item in items:
        missing = next(
            (r for m in MISSING if item.get_closest_marker(m) and (r := _reason(m))), None
        )
        reason = ONLY_WHOLE if item.get_closest_marker("whole") and not whole else missing
        if reason and (suite or reason == ONLY_WHOLE):
            left_out.append(item)
            counts[reason] += 1
            continue
        if missing:  # a test that was asked for by name says why it does not run
            item.add_marker(pytest.mark.skip(reason=missing))
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        gone = set(left_out)
        items[:] = [item for item in items if item not in gone]
    place = {TESTS / name: k for k, name in enumerate(DEAREST)}
    items.sort(key=lambda item: place.get(item.path, len(place)))
    if (seed := config.getoption("shuffle")) is not None:
        _shuffle(items, random.Random(seed))


TESTS = Path(__file__).parent
DEAREST = (
    "browser/test_keys_stay_inside.py",  # and with it all files with tests in JupyterLab
    "program/test_numba_kernels.py",
    "fast/test_suite_without_fast_paths.py",
    "lessons/test_wrong_engines.py",
    "program/test_compiled_random_programs.py",
    "program/test_interrupted_calls.py",
    "grading/test_adversarial.py",
    "lessons/test_wrong_answers.py",
    "core/test_random_programs.py",
    "cli/test_commands.py",
    "grading/test_every_lesson_graded.py",
    "browser/test_views.py",
    "benchmarks/test_benchmarks.py",
    "cli/test_nothing_left_behind.py",
    "lessons/test_lesson24.py",
    "grading/test_work_that_was_not_done.py",
    "grading/test_run.py",
    "program/test_compiled_mutations.py",
    "explorer/test_page_engine_against_python.py",
)
"""Files that take 50 seconds or more of the whole run (28 November 2026), with which it begins: a
worker that began one of them late would be alone at the end.
"""


def _shuffle(items: list[pytest.Item], chance: random.Random) -> None:
    """A random order of the files, and of the tests in each."""
    place = {item: chance.random() for item in items}
    files = {path: chance.random() for path in dict.fromkeys(item.path for item in items)}
    items.sort(key=lambda item: (files[item.path], place[item]))


def pytest_sessionfinish(session: pytest.Session) -> None:
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["left_out"] = dict(session.config.stash.get(LEFT_OUT, {}))


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    node.config.stash[LEFT_OUT] = Counter(getattr(node, "workeroutput", {}).get("left_out", {}))


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """The rows of tables, and a short list of what did not run with the command that enables
    each.
    """
    stats = terminalreporter.stats
    reasons = Counter(
        str(report.longrepr[-1]).removeprefix("Skipped: ") for report in stats.get("skipped", ())
    )
    rows = tests = 0
    for report in stats.get("passed", []) + stats.get("failed", []):
        for name, value in report.user_properties if report.when == "call" else ():
            if name == tables.ROWS:
                rows, tests = rows + value, tests + 1
            elif name == tables.SKIPPED:
                reasons.update(value)
    if rows:
        terminalreporter.line(f"{tests} of these tests check {rows:,} rows of tables")
    counts = config.stash.get(LEFT_OUT, Counter()) + reasons
    if not counts:
        return
    terminalreporter.section("not run here", sep="-")
    other = 0
    for reason, count in counts.most_common():
        if re.search(r"pip install|apt-get|pytest --whole|on a machine", reason):
            terminalreporter.line(f"{count:>6}  {reason}")
        else:
            other += count
    if other:
        terminalreporter.line(f"{other:>6}  for other reasons, which pytest -rs lists")


@pytest.fixture(scope="session", autouse=True)
def _lessons_are_executed_once(tmp_path_factory) -> Iterator[None]:
    """All workers keep the notebooks that they execute in one folder."""
    base = tmp_path_factory.getbasetemp()
    lesson_runs.share(base.parent if "PYTEST_XDIST_WORKER" in os.environ else base)
    yield
    forked_kernels.end()


@pytest.fixture(scope="session", autouse=True)
def _kernels_of_the_run(tmp_path_factory) -> None:
    """Generated kernels do not go into the user's folder for caches."""
    os.environ.setdefault("MINIGRAD_KERNELS", str(tmp_path_factory.getbasetemp() / "kernels"))


@pytest.fixture(scope="session")
def running() -> None:
    """Submissions can be run here."""
    if without_unix.is_missing():
        pytest.skip(_reason("unix"))


@pytest.fixture(scope="session")
def torch():
    """The module torch, on one thread; tests that use it are marked `oracle`."""
    module = pytest.importorskip("torch", reason=_reason("oracle") or "")
    module.set_num_threads(1)
    return module


@pytest.fixture(scope="session")
def chromium_path() -> str:
    """The program that tests marked `browser` drive."""
    return CHROMIUM or pytest.skip(_reason("browser") or "")


@pytest.fixture(scope="session")
def chromium(chromium_path) -> Iterator[Any]:
    """Headless Chromium, one for all tests of a worker: there can be one Playwright in a
    process.
    """
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium_path, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def quiet_environment(tmp_path_factory) -> dict[str, str]:
    """Environment variables for a child process that neither reads nor writes anything of the
    user's.
    """
    home = tmp_path_factory.mktemp("home")
    names = (
        "JUPYTER_CONFIG_DIR",
        "JUPYTER_DATA_DIR",
        "JUPYTER_RUNTIME_DIR",
        "IPYTHONDIR",
        "JUPYTERLAB_SETTINGS_DIR",
        "JUPYTERLAB_WORKSPACES_DIR",
    )
    own = {name: str(home / name.lower()) for name in names}
    return {
        **os.environ,
        **own,
        "HOME": str(home),
        "MPLCONFIGDIR": str(home / "matplotlib"),
        "PYTHONWARNINGS": "",
    }


@pytest.fixture(scope="module")
def smaller_cases() -> Iterator[None]:
    """In lessons the largest cases are smaller. The executed and graded lessons have the full
    size.
    """
    from tests.helpers.smaller_cases import smaller

    with smaller():
        yield
