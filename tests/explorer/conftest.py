"""The page, and its engine in Node and in Chromium."""

import shutil
from pathlib import Path

import pytest
from minigrad.viz.explorer import bundle, page

from tests.browser.conftest import Tabs
from tests.conftest import CHROMIUM
from tests.helpers import page_engine


@pytest.fixture(scope="session")
def tabs(chromium) -> Tabs:
    """Tabs of the one browser."""
    return Tabs(chromium)


@pytest.fixture
def visit(tabs):
    """A tab whose requests and errors are remembered."""
    return tabs.tab("explorer")


@pytest.fixture(scope="session")
def explorer_page(tmp_path_factory) -> Path:
    """The page as a file."""
    path = tmp_path_factory.mktemp("explorer") / "explore.html"
    path.write_text(page.to_html(), encoding="utf-8")
    return path


ENGINES = [
    pytest.param("chromium", marks=pytest.mark.browser),
    pytest.param("node", marks=[] if CHROMIUM is None else pytest.mark.whole),
]
"""Two versions of the functions of JavaScript. The default run asks one of them."""
FIRST = [ENGINES[0] if CHROMIUM else ENGINES[1]]
"""For what does not depend on those functions."""


@pytest.fixture(params=FIRST)
def answers_of(request, tmp_path):
    """A function from an engine's text and cases to its answers, in one of the two programs, or in
    each, where a test says so (`in_each`).
    """
    if request.param == "node":
        if shutil.which("node") is None:
            pytest.skip("Node is not installed: put node on the PATH")
        return lambda engine, cases: page_engine.in_node(engine, cases, tmp_path)
    tab = request.getfixturevalue("visit").page
    return lambda engine, cases: page_engine.in_browser(engine, cases, tab)


in_each = pytest.mark.parametrize("answers_of", ENGINES, indirect=True)


@pytest.fixture
def answers(answers_of):
    """A function from cases to the answers of the page's engine."""
    return lambda cases: answers_of(bundle.engine(), cases)
