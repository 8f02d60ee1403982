"""What the grader's tests share: the copies of the library that submissions run with, and the
servers that run submissions.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest
from minigrad.lessons.grading import calls, checking

from tests.helpers.grader_libraries import made_once, servers_kept


@pytest.fixture(autouse=True)
def _patient_checks(monkeypatch) -> None:
    """A check's time limit is for loops that nothing ends; on a busy machine other tests must
    not meet it.
    """
    for module in (calls, checking):
        monkeypatch.setattr(module, "SECONDS", 60.0)


@pytest.fixture(scope="session")
def libraries_folder(running, tmp_path_factory) -> Path:
    """Where a worker keeps the copies of the library that it has made."""
    return tmp_path_factory.mktemp("libraries")


@pytest.fixture
def shared_servers(libraries_folder) -> Iterator[None]:
    """The test's graders use copies of the library and servers that other tests of this worker have
    made and started.
    """
    with made_once(libraries_folder), servers_kept(libraries_folder):
        yield


@pytest.fixture
def shared_libraries(libraries_folder) -> Iterator[None]:
    """The test's graders use copies of the library that other tests of this worker have made."""
    with made_once(libraries_folder):
        yield
