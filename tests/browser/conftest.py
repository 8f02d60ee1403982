"""A real JupyterLab and a real browser for the tests: what must be right for them to tell the truth.

- The server is the one that `minigrad lab` starts, in a home folder of its own, so that nothing of the user's leaks in or out.
- The browser may speak to this machine only. Each request to another one is refused and remembered, and so is each error in the console.
- Waiting is done by the browser (`page.wait_for_...`), never by `time.sleep`: that would stop the handlers that answer the page's requests.
"""

import json
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

TOKEN = "course"
LOCAL = re.compile(r"^(https?|wss?)://(127\.0\.0\.1|localhost)[:/]|^(data|blob|file|about):")


@dataclass
class Visit:
    """A page, the requests that it made to other machines, and the errors in its console."""

    page: Any
    outside: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    def assert_clean(self) -> None:
        assert self.outside == [], "the page asked other machines for something"
        assert self.errors == [], "the console shows errors"


@dataclass
class Lab:
    """A running JupyterLab: where it is, and the student's folder."""

    port: int
    folder: Path

    def open(self, page: Any, notebook: str, app: str = "lab") -> None:
        """Shows a notebook in a clean workspace and waits until its kernel can take orders; earlier ones would be lost without a word.

        app: "lab" (JupyterLab) or "notebook" (Notebook 7, which the same server offers).
        """
        path = f"lab/tree/{notebook}?token={TOKEN}&reset" if app == "lab" else f"notebooks/{notebook}?token={TOKEN}"
        page.goto(f"http://127.0.0.1:{self.port}/{path}")
        page.wait_for_selector(".jp-Notebook .jp-Cell", timeout=60_000)
        page.wait_for_function(
            """() => {
                const panel = window.jupyterapp?.shell.currentWidget;
                return panel?.context?.isReady && panel.sessionContext?.session?.kernel?.status === "idle";
            }""",
            timeout=60_000,
        )

    def run_all(self, page: Any) -> None:
        """Runs all cells and waits for the last; fails with the error of the first cell that has one."""
        page.evaluate("() => window.jupyterapp.commands.execute('notebook:run-all-cells')")
        failed = page.evaluate(
            """() => window.jupyterapp.shell.currentWidget.content.widgets
                .flatMap(cell => cell.model.type === "code" ? cell.model.outputs.toJSON() : [])
                .filter(output => output.output_type === "error")
                .map(output => `${output.ename}: ${output.evalue}`)"""
        )
        assert failed == []

    def cells_with_widgets(self, page: Any) -> list[int]:
        """The numbers of the cells that show a widget."""
        return page.evaluate(
            """() => window.jupyterapp.shell.currentWidget.content.widgets.flatMap((cell, number) =>
                cell.model.type === "code"
                && cell.model.outputs.toJSON().some(output => "application/vnd.jupyter.widget-view+json" in (output.data ?? {}))
                    ? [number] : [])"""
        )

    def scroll_to(self, page: Any, number: int) -> None:
        """Brings a cell into view: JupyterLab draws only what is near."""
        page.evaluate("number => window.jupyterapp.shell.currentWidget.content.scrollToItem(number, 'start')", number)

    def compute(self, page: Any, code: str) -> str:
        """Runs code in the notebook's kernel, beside its cells; returns what it prints, or its error."""
        return page.evaluate(
            """async code => {
                const kernel = window.jupyterapp.shell.currentWidget.sessionContext.session.kernel;
                const future = kernel.requestExecute({ code });
                let text = "";
                future.onIOPub = message => { text += message.content.text ?? message.content.evalue ?? ""; };
                await future.done;
                return text;
            }""",
            code,
        )


@pytest.fixture(scope="session")
def start_lab(quiet_environment, tmp_path_factory) -> Iterator[Any]:
    """A function that runs `minigrad lab` on a folder of lessons (default: the course) and returns the `Lab`; the end stops all."""
    running = []

    def start(lessons: Path | None = None) -> Lab:
        folder = tmp_path_factory.mktemp("lab") / "course"
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        here = f"lab.LESSONS = lab.Path({str(lessons)!r})" if lessons else ""
        arguments = [
            str(folder),
            "--",
            "--no-browser",
            "--ServerApp.ip=127.0.0.1",
            f"--ServerApp.port={port}",
            "--ServerApp.port_retries=0",
            f"--IdentityProvider.token={TOKEN}",
            "--LabApp.expose_app_in_browser=True",
            "--JupyterNotebookApp.expose_app_in_browser=True",
        ]
        program = f"from minigrad.cli import lab\n{here}\nraise SystemExit(lab.main({arguments!r}))"
        log = folder.parent / "server.log"
        with log.open("wb") as output:
            server = subprocess.Popen(
                [sys.executable, "-c", program], env=quiet_environment, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT
            )
        running.append(server)
        _wait_until_up(server, port, log)
        return Lab(port, folder)

    yield start
    for server in running:
        server.send_signal(signal.SIGTERM)  # Jupyter ends its kernels first
    for server in running:
        try:
            server.wait(30)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()


def _wait_until_up(server: subprocess.Popen, port: int, log: Path) -> None:
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and server.poll() is None:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/status?token={TOKEN}", timeout=5) as answer:
                json.load(answer)
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.2)  # no browser is open yet that this could stop
    server.kill()
    server.wait()
    pytest.fail(f"JupyterLab did not start:\n{log.read_text(errors='replace')[-4000:]}")


@pytest.fixture
def visit(chromium) -> Iterator[Visit]:
    """A new, empty page that cannot leave this machine."""
    context = chromium.new_context(viewport={"width": 1400, "height": 1000})
    visit = Visit(context.new_page())

    def guard(route: Any) -> None:
        if LOCAL.match(route.request.url):
            route.continue_()
        else:
            visit.outside.append(route.request.url)
            route.abort()

    context.route("**/*", guard)
    visit.page.on("websocket", lambda socket: LOCAL.match(socket.url) or visit.outside.append(socket.url))
    visit.page.on("console", lambda message: visit.errors.append(message.text) if message.type == "error" else None)
    visit.page.on("pageerror", lambda error: visit.errors.append(str(error)))
    yield visit
    context.close()


@pytest.fixture
def axe() -> Any:
    """A function that checks the element of a selector with axe-core and fails with what it found."""
    from axe_playwright_python.sync_playwright import Axe

    def check(page: Any, selector: str) -> None:
        found = Axe().run(page, context={"include": [[selector]]}, options={"resultTypes": ["violations", "passes"]}).response
        assert found["passes"], f"axe-core found nothing to check at {selector}"
        problems = [
            f"{problem['id']}: {node['html'][:200]}: {node['failureSummary']}"
            for problem in found["violations"]
            for node in problem["nodes"]
        ]
        assert problems == [], "\n".join(problems)

    return check
