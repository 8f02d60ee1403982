"""What all tests share: which parts of the machine a test needs, and what to do to get them."""

import importlib.util
import os
import shutil
from collections.abc import Iterator
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


def _missing(marker: str) -> str | None:
    """Why tests with this marker cannot run here and how to make them run, or None if they can."""
    if marker == "oracle" and importlib.util.find_spec("torch") is None:
        return 'PyTorch, the oracle, is not installed: pip install -e ".[oracle]" (its CPU build is enough)'
    if marker == "browser" and CHROMIUM is None:
        return "there is no Chromium: install Debian's package (apt-get install chromium), or put chromium on the PATH"
    if marker == "gpu" and not _gpu():
        return 'there is no CUDA device with CuPy: pip install -e ".[cuda12]" or ".[cuda13]" on a machine that has one'
    return None


def _keep_together(item: pytest.Item) -> None:
    """What a module makes once for all its tests is made once: they run in the same worker."""
    fixtures = getattr(item, "_fixtureinfo", None)
    shared = any(found[-1].scope == "module" for found in fixtures.name2fixturedefs.values()) if fixtures else False
    if shared and not item.get_closest_marker("xdist_group"):
        item.add_marker(pytest.mark.xdist_group(item.nodeid.partition("::")[0]))


@pytest.hookimpl(tryfirst=True)  # before pytest-xdist looks at the groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        _keep_together(item)
    reasons = {marker: _missing(marker) for marker in ("oracle", "browser", "gpu")}
    for item in items:
        for marker, reason in reasons.items():
            if reason and item.get_closest_marker(marker):
                item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture(scope="session")
def torch():
    """The module torch, on one thread; tests that use it are marked `oracle`."""
    module = pytest.importorskip("torch", reason=_missing("oracle") or "")
    module.set_num_threads(1)
    return module


@pytest.fixture(scope="session")
def chromium_path() -> str:
    """The program that tests marked `browser` drive."""
    return CHROMIUM or pytest.skip(_missing("browser") or "")


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
