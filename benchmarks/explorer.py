"""`python -m benchmarks.explorer`: how much work an edit is on the page that differentiates.

A text or a value is typed into the page in headless Chromium. The figures are processor time of the
page's thread in milliseconds, from the edit to the painted picture, the least of several, so that
other programs count little: all of it, and its parts for scripts, styles and layouts. "until shown"
is the time that a reader waits; it is longer where the processor is shared. `--page FILE` measures
another page, as one that an earlier version wrote.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks import command
from benchmarks.viewer import FLAGS, browser_and_driver, table

FORMULA = "log(x1)+x1*x2-sin(x2)+exp(x1/4)*cos(x2)-tanh(x1*x2)+sqrt(x1)+x1**3"


def rounds(count: int) -> str:
    """A program of three nodes a round."""
    return f"for i in range({count}):\n    x = sin(x)*a + 0.1\nx"


EDITS = (
    (FORMULA, "value of x1", ("2.1", "2.2", "2.3")),
    (FORMULA, "function", (FORMULA, f"{FORMULA}+1", f"{FORMULA}*x2")),
    (rounds(661), "value of a", ("1.1", "1.2", "1.3")),
    (rounds(661), "function", (rounds(661), rounds(662), rounds(660))),
)
"""A text, the field that is edited, and what is typed there in turn."""

_EDIT = """([label, text]) => new Promise((done) => {
  const field = document.querySelector(`[aria-label="${label}"]`), start = performance.now();
  field.value = text;
  field.dispatchEvent(new Event("input", { bubbles: true }));
  requestAnimationFrame(() => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => done(performance.now() - start);
    port2.postMessage(0);
  });
})"""
_PARTS = {"processor": "Task", "scripts": "Script", "styles": "RecalcStyle", "layouts": "Layout"}
_PAUSE = 700  # milliseconds between two edits: what follows the picture is over


def measure(tab: Any, text: str, label: str, typed: tuple[str, ...], repeat: int) -> dict[str, Any]:
    """The figures for one kind of edit."""
    session = tab.context.new_cdp_session(tab)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})

    def work() -> dict[str, float]:
        found = session.send("Performance.getMetrics")["metrics"]
        known = {one["name"]: one["value"] for one in found}
        return {name: 1000 * known[f"{part}Duration"] for name, part in _PARTS.items()}

    tab.fill('[aria-label="function"]', text, timeout=120_000)
    tab.wait_for_timeout(2 * _PAUSE)
    found = []
    for k in range(repeat):
        before = work()
        shown = tab.evaluate(_EDIT, [label, typed[(k + 1) % len(typed)]])
        after = work()
        found.append({name: after[name] - before[name] for name in before} | {"until shown": shown})
        tab.wait_for_timeout(_PAUSE)
    best = min(found, key=lambda one: one["processor"])
    steps = tab.locator(".mg-counter").inner_text().split(" / ")[-1]
    return {
        "steps": int(steps),
        "edit": "text" if label == "function" else "value",
        **{name: best[name] for name in _PARTS},
        "until shown": min(one["until shown"] for one in found),
    }


def main(argv: list[str]) -> int:
    parser = command.parser("explorer", __doc__)
    parser.count("--repeat", 6, "edits of each kind")
    parser.add_argument("--page", type=Path, metavar="FILE", help="a page that was written before")
    options = parser.parse_args(argv)
    program, sync_playwright = browser_and_driver(parser)
    if options.page is not None and not options.page.is_file():
        parser.error(f"there is no file {options.page}")

    from minigrad.viz.explorer import page

    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        path = options.page or Path(folder) / "explore.html"
        if options.page is None:
            path.write_text(page.to_html(), encoding="utf-8")
        browser = playwright.chromium.launch(executable_path=program, args=FLAGS)
        tab = browser.new_page(viewport={"width": 1280, "height": 800})
        tab.goto(path.resolve().as_uri())
        rows = [measure(tab, *edit, options.repeat) for edit in EDITS]
        print(f"Chromium {browser.version}; milliseconds\n\n{table_of(rows)}")
        browser.close()
    return 0


def table_of(rows: list[dict[str, Any]]) -> str:
    """The figures as a Markdown table."""
    kinds = [str(row.pop("edit")) for row in rows]
    head, line, *body = table(rows).splitlines()
    return "\n".join(
        [
            f"| edit {head}",
            f"|---{line}",
            *(f"| {kind} {row}" for kind, row in zip(kinds, body, strict=True)),
        ]
    )


if __name__ == "__main__":
    from minigrad.cli import processes

    sys.exit(processes.command(lambda: main(sys.argv[1:]), own=True))
