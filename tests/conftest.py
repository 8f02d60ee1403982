"""Options, workers and optional tools of the test suite, and the list of what did not run."""

import functools
import importlib.util
import os
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import hypothesis
import pytest

# The same examples on every machine, and no failure because a busy machine was slow once.
hypothesis.settings.register_profile("minigrad", derandomize=True, deadline=None)
hypothesis.settings.load_profile("minigrad")

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
"""With these Chromium asks no other machine for anything by itself."""
BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
"""The first of these that is there is driven; the first one draws no window and is faster."""
CHROMIUM = next(filter(None, map(shutil.which, BROWSERS)), None)


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
    "browser": (lambda: CHROMIUM is None, "there is no Chromium", "apt-get install chromium, or put it on the PATH"),
    "gpu": (lambda: not _gpu(), "there is no CUDA device with CuPy", 'pip install -e ".[cuda12]" on a machine with a GPU'),
}
"""For each marker of an optional tool: whether it is missing, how that is said, and the command that enables its tests."""


@functools.cache
def _reason(marker: str) -> str | None:
    """Why tests with this marker cannot run here and how to make them run, or None if they can."""
    missing, what, cure = MISSING[marker]
    return f"{what}: {cure}" if missing() else None


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--whole",
        action="store_true",
        help="run the whole suite: also every notebook, the browser matrix, corpora and scale tests",
    )


def pytest_configure(config: pytest.Config) -> None:
    # pytest-xdist registers it too; without the plug-in the suite runs in one process.
    config.addinivalue_line("markers", "xdist_group(name): tests of one group run in one worker")


@pytest.hookimpl(tryfirst=True)  # before pytest-xdist reads its options
def pytest_cmdline_main(config: pytest.Config) -> None:
    """Without options, a run of the suite uses every core: one worker and one BLAS thread for each."""
    option = config.option
    if not config.pluginmanager.hasplugin("xdist") or option.usepdb or option.collectonly:
        return
    if option.numprocesses is None and config.args_source is config.ArgsSource.TESTPATHS:
        option.numprocesses = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    if option.numprocesses:
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
        os.environ.setdefault("OMP_NUM_THREADS", "1")
        if option.dist == "no":
            option.dist = "loadgroup"


def _keep_together(item: pytest.Item) -> None:
    """A fixture of a whole module is made once: all its tests run in one worker."""
    fixtures = getattr(item, "_fixtureinfo", None)
    shared = any(found[-1].scope == "module" for found in fixtures.name2fixturedefs.values()) if fixtures else False
    if shared and not item.get_closest_marker("xdist_group"):
        item.add_marker(pytest.mark.xdist_group(item.nodeid.partition("::")[0]))


LEFT_OUT = pytest.StashKey[int]()
"""How many collected tests run only with --whole."""


@pytest.hookimpl(tryfirst=True)  # before pytest-xdist reads the groups
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not config.getoption("whole"):
        left_out = [item for item in items if item.get_closest_marker("whole")]
        config.stash[LEFT_OUT] = len(left_out)
        if left_out:
            config.hook.pytest_deselected(items=left_out)
            items[:] = [item for item in items if not item.get_closest_marker("whole")]
    for item in items:
        _keep_together(item)
        for marker in MISSING:
            if item.get_closest_marker(marker) and (reason := _reason(marker)):
                item.add_marker(pytest.mark.skip(reason=reason))


def pytest_sessionfinish(session: pytest.Session) -> None:
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["left_out"] = session.config.stash.get(LEFT_OUT, 0)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    node.config.stash[LEFT_OUT] = getattr(node, "workeroutput", {}).get("left_out", 0)


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """A short list of what did not run, and the command that enables each."""
    reasons = Counter(str(report.longrepr[-1]).removeprefix("Skipped: ") for report in terminalreporter.stats.get("skipped", ()))
    left_out = config.stash.get(LEFT_OUT, 0)
    if not reasons and not left_out:
        return
    terminalreporter.section("not run here", sep="-")
    if left_out:
        terminalreporter.line(f"{left_out:>6}  only in the whole suite: pytest --whole")
    for reason, count in reasons.most_common():
        terminalreporter.line(f"{count:>6}  {reason}")


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
    """Headless Chromium. Tests that use it belong to an xdist group: there can be one Playwright in a process."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium_path, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def quiet_environment(tmp_path_factory) -> dict[str, str]:
    """Environment variables for a child process that neither reads nor writes anything of the user's."""
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
    return {**os.environ, **own, "HOME": str(home), "MPLCONFIGDIR": str(home / "matplotlib"), "PYTHONWARNINGS": ""}
