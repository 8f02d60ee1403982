"""One browser for all tests of a worker, one JupyterLab for all tests of a run, and what must be
right for them to tell the truth.

- The server is the one that `minigrad lab` starts, in a home folder of its own, so that nothing of
the user's leaks in or out.
- The browser reaches this machine only: it resolves no other name or address. Each attempt is
remembered, and so is each console error.
- All pages of tests are opened in one tab, all notebooks in one JupyterLab tab. Traces are shown
one after another on one page, since a page of its own (`viz.to_html`) loads the viewer's module
again; tests of what such a page does hand its text to `show`. A test that fails leaves a new tab to
the next one.
- Waiting is done by the browser (`page.wait_for_...`), never by `time.sleep`: that would stop the
handlers that see the page's requests.
"""

import contextlib
import functools
import http.server
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from minigrad.viz import page
from minigrad.viz.bundle import script
from minigrad.viz.html_document import html_document
from minigrad.viz.layout import with_layout
from minigrad.viz.renaming import short_program

import minigrad as mg
from minigrad import nn, viz
from tests.helpers import without_unix

TOKEN = "course"
LOCAL = re.compile(r"^(https?|wss?)://(127\.0\.0\.1|localhost)[:/]|^(data|blob|file|about):")
KERNEL = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
"""Without a kernel's name in a notebook, JupyterLab asks for one and waits."""


@dataclass
class Visit:
    """A tab, the requests that its pages made to other machines, and the errors in its console."""

    page: Any
    outside: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    def assert_clean(self) -> None:
        assert self.outside == [], "the page asked other machines for something"
        assert self.errors == [], "the console shows errors"

    def reset(self) -> None:
        """The window and the settings of the system that every test begins with."""
        self.page.set_viewport_size({"width": 1400, "height": 1000})
        self.page.emulate_media(
            media="null", color_scheme="null", reduced_motion="null", forced_colors="null"
        )
        self.outside.clear()
        self.errors.clear()


class Tabs:
    """Tabs of one browser that stay open from test to test, by name."""

    def __init__(self, browser: Any):
        self.browser = browser
        self.open: dict[str, Visit] = {}

    def tab(self, name: str) -> Visit:
        if name not in self.open:
            context = self.browser.new_context()
            visit = self.open[name] = Visit(context.new_page())
            keep = lambda url: LOCAL.match(url) or visit.outside.append(url)
            context.on("request", lambda request: keep(request.url))
            visit.page.on("websocket", lambda socket: keep(socket.url))
            visit.page.on(
                "console",
                lambda message: (
                    visit.errors.append(message.text) if message.type == "error" else None
                ),
            )
            visit.page.on("pageerror", lambda error: visit.errors.append(str(error)))
        self.open[name].reset()
        return self.open[name]

    def close(self, name: str) -> None:
        if name in self.open:
            self.open.pop(name).page.context.close()


READY = """notebook => {
    const panel = window.jupyterapp?.shell.currentWidget;
    return panel?.context?.path === notebook && panel.context.isReady
        && panel.sessionContext?.session?.kernel?.status === "idle";
}"""
WITHIN = """(work, seconds) => Promise.race([work, new Promise((_, fail) =>
    setTimeout(() => fail(new Error(`no answer from the kernel in ${seconds} s`)),
        seconds * 1000))])"""
"""A kernel that hangs fails the test; without a limit, `page.evaluate` would wait for ever."""


@dataclass
class Lab:
    """A running JupyterLab: where it is, and the student's folder."""

    port: int
    folder: Path
    sources: dict[str, str] = field(default_factory=dict)

    def write(self, notebook: str, cells: list[str] | dict[str, str]) -> None:
        """Writes a notebook of code cells into the folder; the keys of a dict are the cells'
        ids.
        """
        import nbformat

        named = (
            cells
            if isinstance(cells, dict)
            else {f"cell-{number}": code for number, code in enumerate(cells)}
        )
        made = [nbformat.v4.new_code_cell(code.strip(), id=name) for name, code in named.items()]
        nbformat.write(
            nbformat.v4.new_notebook(cells=made, metadata=KERNEL), self.folder / notebook
        )
        self.sources[notebook] = (self.folder / notebook).read_text(encoding="utf-8")

    def open(self, page: Any, notebook: str, app: str = "lab") -> None:
        """Shows a notebook as it was first written, with a new kernel, and waits until the kernel
        can take orders.

        Earlier orders would be lost without a word. The tab opens the application's address once;
        then JupyterLab opens the notebooks.

        app: "lab" (JupyterLab) or "notebook" (Notebook 7, which the same server offers).
        """
        file = self.folder / notebook
        file.write_text(
            self.sources.setdefault(notebook, file.read_text(encoding="utf-8")), encoding="utf-8"
        )
        if app == "lab" and page.url.startswith(f"http://127.0.0.1:{self.port}/lab"):
            theme = "() => document.body.dataset.jpThemeLight === 'true'"
            if not page.evaluate(theme):
                page.evaluate(
                    "() => window.jupyterapp.commands.execute('apputils:change-theme', { theme:"
                    " 'JupyterLab Light' })"
                )
                page.wait_for_function(theme)
            page.evaluate(
                "path => window.jupyterapp.commands.execute('docmanager:open', { path }).then(() =>"
                " null)",
                notebook,
            )
        else:
            path = (
                f"lab/tree/{notebook}?token={TOKEN}&reset"
                if app == "lab"
                else f"notebooks/{notebook}?token={TOKEN}"
            )
            page.goto(f"http://127.0.0.1:{self.port}/{path}")
            page.wait_for_selector(".jp-Notebook .jp-Cell", timeout=60_000)
        page.wait_for_function(READY, arg=notebook, timeout=60_000)

    def run_all(self, page: Any) -> None:
        """Runs all cells and waits for the last; fails with the error of the first cell that has
        one.
        """
        run = "window.jupyterapp.commands.execute('notebook:run-all-cells').then(() => null)"
        page.evaluate(f"() => ({WITHIN})({run}, 300)")
        failed = page.evaluate("""() => window.jupyterapp.shell.currentWidget.content.widgets
                .flatMap(cell => cell.model.type === "code" ? cell.model.outputs.toJSON() : [])
                .filter(output => output.output_type === "error")
                .map(output => `${output.ename}: ${output.evalue}`)""")
        assert failed == []

    def cells_with_widgets(self, page: Any) -> list[int]:
        """The numbers of the cells that show a widget."""
        return page.evaluate(
            """() => window.jupyterapp.shell.currentWidget.content.widgets.flatMap((cell, number) =>
                cell.model.type === "code"
                && cell.model.outputs.toJSON().some(output =>
                    "application/vnd.jupyter.widget-view+json" in (output.data ?? {}))
                    ? [number] : [])"""
        )

    def scroll_to(self, page: Any, number: int) -> None:
        """Brings a cell into view: JupyterLab draws only what is near."""
        page.evaluate(
            "number => window.jupyterapp.shell.currentWidget.content.scrollToItem(number, 'start')",
            number,
        )

    def compute(self, page: Any, code: str) -> str:
        """Runs code in the notebook's kernel, beside its cells; returns what it prints, or its
        error.
        """
        return page.evaluate(
            f"""async code => {{
                const kernel = window.jupyterapp.shell.currentWidget.sessionContext.session.kernel;
                const future = kernel.requestExecute({{ code }});
                let text = "";
                future.onIOPub = message => {{
                    text += message.content.text ?? message.content.evalue ?? ""; }};
                await ({WITHIN})(future.done, 60);
                return text;
            }}""",
            code,
        )

    def wait_for(self, page: Any, code: str, printed: str) -> None:
        """Waits until code prints this: a message from the page to the kernel takes a moment."""
        deadline = time.monotonic() + 10
        while (said := self.compute(page, code).strip()) != printed:
            assert time.monotonic() < deadline, f"{code} printed {said!r}, not {printed!r}"
            page.wait_for_timeout(20)

    def ask(self, path: str, method: str = "GET") -> Any:
        """An answer of the server's interface for programs."""
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}/api/{path}?token={TOKEN}", method=method
        )
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.loads(answer.read() or "null")

    def close_all(self, page: Any | None) -> None:
        """Closes every notebook in the tab without saving, and ends every kernel."""
        from playwright.sync_api import Error

        if page is not None:
            with contextlib.suppress(Error):  # the browser ends with an interrupted run
                page.evaluate(
                    """() => { const app = window.jupyterapp;
                        if (app) for (const panel of [...app.shell.widgets("main")])
                            if (panel.context) panel.dispose(); }"""
                )
        for session in self.ask("sessions"):
            with contextlib.suppress(urllib.error.HTTPError):  # a kernel that has ended by itself
                self.ask(f"sessions/{session['id']}", "DELETE")


SERVER = """
import os, signal, sys, threading

# the pipe closes with the process that holds its other end, however that ends
def end_with_the_tests():
    sys.stdin.buffer.read()
    os.kill(os.getpid(), signal.SIGTERM)
    threading.Event().wait(20)
    os.kill(os.getpid(), signal.SIGKILL)

threading.Thread(target=end_with_the_tests, daemon=True).start()
from minigrad.cli import lab
raise SystemExit(lab.main(sys.argv[1:]))
"""


@pytest.fixture(scope="session")
def lab(quiet_environment, tmp_path_factory) -> Iterator[Lab]:
    """`minigrad lab` on the course, for all tests of a worker; a test adds its own notebooks
    with `write`. In a run of the suite one worker takes all files with such tests.
    """
    folder = tmp_path_factory.mktemp("lab") / "course"
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
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
        *(["--allow-root"] if without_unix.hidden else []),  # Jupyter sees who runs it all the same
    ]
    log = folder.parent / "server.log"
    with log.open("wb") as output:
        server = subprocess.Popen(
            [sys.executable, "-c", SERVER, *arguments],
            env=quiet_environment,
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        _wait_until_up(server, port, log)
        assert "failed loading" not in log.read_text(errors="replace")
        yield Lab(port, folder)
    finally:
        server.send_signal(signal.SIGTERM)  # Jupyter ends its kernels first
        try:
            server.wait(30)
        except subprocess.TimeoutExpired:
            os.killpg(server.pid, signal.SIGKILL)
            server.wait()
        server.stdin.close()


def _wait_until_up(server: subprocess.Popen, port: int, log: Path) -> None:
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and server.poll() is None:
        try:
            with urllib.request.urlopen(
                f"http://127.0.0.1:{port}/api/status?token={TOKEN}", timeout=5
            ) as answer:
                json.load(answer)
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.1)  # no browser is open yet that this could stop
    pytest.fail(f"JupyterLab did not start:\n{log.read_text(errors='replace')[-4000:]}")


@pytest.fixture(scope="session")
def tabs(chromium) -> Tabs:
    """The worker's tabs: "page", "lab" and "notebook"."""
    return Tabs(chromium)


FAILED = pytest.StashKey[bool]()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[Any]:
    report = yield
    item.stash[FAILED] = item.stash.get(FAILED, False) or report.failed
    return report


@pytest.fixture
def visit(request, tabs) -> Iterator[Visit]:
    """A tab that cannot leave this machine: the one of the application (parameter `app`) in
    tests with a `lab`, else the one of pages.
    """
    lab: Lab | None = request.getfixturevalue("lab") if "lab" in request.fixturenames else None
    app = getattr(request.node, "callspec", None) and request.node.callspec.params.get("app")
    name = app or ("lab" if lab else "page")
    visit = tabs.tab(name)
    yield visit
    failed = request.node.stash.get(FAILED, False)
    if failed:
        tabs.close(name)
    if lab:
        lab.close_all(None if failed else visit.page)


@pytest.fixture(scope="session")
def bench(tmp_path_factory) -> Path:
    """A page with the viewer's module, on which tests put one viewer after another. It has the
    content security policy of a Trace's own page.
    """
    path = tmp_path_factory.mktemp("bench") / "bench.html"
    program = short_program(script() + ON_THE_BENCH)
    text = html_document("bench", page.page_style(framed=False), program, "")
    path.write_text(text, encoding="utf-8")
    return path


PARTS = "arraysOf brief curve elementAt folder inLines meetAt meetingOf mount namesOf passText"
ON_THE_BENCH = f"""
let viewer;
listenFirstKey(() => viewer);
globalThis.parts = {{ {", ".join(PARTS.split())}, readNumber, sentence, short, TEXTS, translator }};
Object.assign(parts, {{ fromBase64, plain, runs, unpacked }});
globalThis.place = () => {{
    viewer?.destroy();
    const main = document.createElement("main");
    main.id = "minigrad";
    document.body.replaceChildren(main);
    for (const element of [document.documentElement, document.body])
        for (const name of ["style", "data-theme"]) element.removeAttribute(name);
    scrollTo(0, 0);
    return main;
}};
globalThis.show = (text, options) => {{
    const found = JSON.parse(text), main = place();
    document.title = found.title || "Trace";
    document.documentElement.lang = options.lang ?? "en";
    viewer = mount(main, found, options);
}};
"""


@pytest.fixture
def parts(visit, bench) -> Iterator[Any]:
    """A page on which `parts` holds the viewer's functions, and `place` gives an element."""
    on_bench(visit.page, bench)
    visit.page.evaluate("() => { place(); }")
    yield visit.page
    visit.assert_clean()


def on_bench(tab: Any, bench: Path) -> None:
    """Opens the page, unless the tab shows it already."""
    if tab.url != bench.as_uri():
        tab.goto(bench.as_uri())


@pytest.fixture
def show(visit, bench, tmp_path) -> Iterator[Callable[..., Any]]:
    """A function that shows a Trace as its page does, or opens the text of a page, and returns the
    viewer (the first, where there are several).
    """

    def go(what: Any, width: int | None = None, height: int = 900, **options: Any) -> Any:
        tab = visit.page
        if width:
            tab.set_viewport_size({"width": width, "height": height})
        if isinstance(what, str):
            return open_text(visit, tmp_path, what, "section.mg-root")
        on_bench(tab, bench)
        tab.mouse.move(0, 0)  # away from where the test before has pointed
        told = {**page.options_of(**options), "heading": True}
        tab.evaluate(
            "([text, options]) => show(text, options)", [page.embed(with_layout(what)), told]
        )
        return tab.locator("section.mg-root").first

    yield go
    visit.assert_clean()


@pytest.fixture(scope="session")
def history() -> viz.History:
    """A training of three layers, with all that its view can show."""
    mg.manual_seed(0)
    x, label = mg.data.disc(120, seed=0).tensors
    model = nn.Sequential(nn.Linear(2, 4), nn.Tanh(), nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 2))
    optimiser = mg.optim.Adam(model.parameters(), lr=0.05)
    with viz.Live(
        title="disc", model=model, points=x, labels=label, example=x[:2], every=10, share=None
    ) as live:
        for _ in range(50):
            optimiser.zero_grad()
            loss = nn.functional.cross_entropy(model(x), label)
            loss.backward()
            optimiser.step()
            live.log(loss=loss, accuracy=(model(x).argmax(dim=1) == label).numpy().mean())
    return live.history


@contextlib.contextmanager
def web_server(folder: Path) -> Iterator[str]:
    """The address of a plain web server with the files of a folder."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_: Any) -> None:
            pass

    handler = functools.partial(Quiet, directory=folder)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def open_text(visit: Visit, folder: Path, text: str, part: str) -> Any:
    """Opens a document from a file and waits for its first part that a selector names."""
    path = folder / "page.html"
    path.write_text(text, encoding="utf-8")
    visit.page.goto(path.as_uri())
    found = visit.page.locator(part).first
    found.wait_for()
    return found


def to(viewer: Any, k: int) -> None:
    """Moves the viewer's clock, as a click on its slider does."""
    at_each(viewer, [k], "() => null")


def at_each(viewer: Any, steps: Iterable[int], look: str) -> list[Any]:
    """What a JavaScript function of the viewer's element gives at each of the steps; one round
    trip for all of them.
    """
    return viewer.evaluate(
        f"""async (root, steps) => {{ const slider = root.querySelector(".mg-bar .mg-slider"),
            look = {look}, seen = [];
            for (const k of steps) {{
                slider.value = k;
                for (const kind of ["input", "change"])
                    slider.dispatchEvent(new Event(kind, {{ bubbles: true }}));
                await null; // the viewer scrolls to the step
                seen.push(look(root));
            }}
            return seen; }}""",
        list(steps),
    )


def layouts_of(tab: Any) -> Callable[[], int]:
    """A function that says how often the browser has laid the tab's page out since the last call,
    when nothing is left to lay out.
    """
    session = tab.context.new_cdp_session(tab)
    session.send("Performance.enable")  # begins to count
    seen = 0

    def since() -> int:
        nonlocal seen
        tab.evaluate("() => new Promise((f) => requestAnimationFrame(() => setTimeout(f)))")
        before, metrics = seen, session.send("Performance.getMetrics")["metrics"]
        seen = next(int(m["value"]) for m in metrics if m["name"] == "LayoutCount")
        return seen - before

    since()
    return since


def step_of(viewer: Any) -> int:
    """The step at which the viewer stands."""
    return int(viewer.locator(".mg-counter").first.inner_text().split("/")[0])


def step_at(trace: Any, phase: str, node: str) -> int:
    """The number of the first step of a phase at a node."""
    steps = enumerate(trace["steps"], 1)
    return next(k for k, step in steps if (step["phase"], step["node"]) == (phase, node))


CHECK = """async (selector) => {
    const found = await axe.run({ include: [[selector]] }, { resultTypes: ["violations"] });
    return [found.passes.length, found.violations.flatMap((problem) => problem.nodes.map((node) =>
        `${problem.id}: ${node.html.slice(0, 200)}: ${node.failureSummary}`))];
}"""
"""Only of what is wrong axe-core gathers the elements; of what is right their selectors alone
would take as long as the check."""


def assert_accessible(page: Any, selector: str) -> None:
    """Checks the element of a selector with axe-core and fails with what it found."""
    from axe_playwright_python.sync_playwright import Axe

    if not page.evaluate("() => Boolean(window.axe)"):  # once in a page
        page.evaluate(Axe().axe_script)
    passes, problems = page.evaluate(CHECK, selector)
    assert passes, f"axe-core found nothing to check at {selector}"
    assert problems == [], "\n".join(problems)


@pytest.fixture
def axe() -> Callable[[Any, str], None]:
    return assert_accessible
