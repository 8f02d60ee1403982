"""`python -m benchmarks.viewer`: how soon the stepper shows its first picture, and how fast it
steps, for 20, 200 and 2,000 nodes.

Also how large the page and the widget are, and what becomes of a graph of 100,000 nodes: an
overview in place of the picture.

The Traces are the engine's own. Each page is opened from a file in headless Chromium, with software
rendering, as a reader without a graphics card has it. A picture counts as shown two animation
frames after the code that draws it, so no figure can be below 33 ms: the last two columns give the
script's part alone. The widget's figures are what a kernel sends to a notebook's page: its state
with the compressed Trace ("widget"), of which the viewer itself is always the same, and the cell's
output, which holds the page for readers without a kernel ("output").
"""

from __future__ import annotations

import gzip
import json
import statistics
import sys
import tempfile
from pathlib import Path
from time import perf_counter
from typing import Any

from benchmarks import chromium, command

SIZES = (20, 200, 2_000)
REFUSED = 100_000
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-sync",
]

# The time until a change is on the screen, and its script's part.
_TIMED = """async ([count, kind]) => {
  const next = document.querySelector(".mg-btn-next");
  const slider = document.querySelector(".mg-slider"), last = Number(slider.max);
  const frame = () => new Promise(done => requestAnimationFrame(done));
  const out = [];
  for (let i = 0; i < count; i++) {
    const start = performance.now();
    if (kind === "step") next.click();
    else {
      slider.value = Math.floor(((i * 0.618) % 1) * last);
      slider.dispatchEvent(new Event("input"));
    }
    const script = performance.now() - start;
    await frame();
    await frame();
    out.push([script, performance.now() - start]);
  }
  return out;
}"""


def trace_of(nodes: int) -> dict[str, Any]:
    """The engine's Trace of a chain with that many nodes; every other operation uses its input
    twice.
    """
    import minigrad as mg
    from minigrad.watch import trace_function

    def chain(x: Any) -> Any:
        for i in range(nodes - 1):
            x = mg.sin(x) if i % 2 else x + x
        return x

    return trace_function(chain, 0.7, source="")


def measure(nodes: int, browser: Any, folder: Path, repeat: int) -> dict[str, Any]:
    """The figures for one size; times in milliseconds, medians."""
    from minigrad import viz

    start = perf_counter()
    trace = trace_of(nodes)
    traced = perf_counter()
    page = viz.to_html(trace)
    made = perf_counter()
    path = folder / f"viewer{nodes}.html"
    path.write_text(page, encoding="utf-8")
    firsts = []
    for _ in range(5):
        context = browser.new_context(viewport={"width": 1280, "height": 900})
        tab = context.new_page()
        tab.goto(path.as_uri(), wait_until="commit")
        tab.wait_for_selector(".mg-node")
        firsts.append(
            tab.evaluate(
                "async () => { for (let i = 0; i < 2; i++) await new"
                " Promise(requestAnimationFrame); return performance.now(); }"
            )
        )
        if len(firsts) < 5:
            context.close()
    steps, scrubs = (tab.evaluate(_TIMED, [repeat, kind]) for kind in ("step", "scrub"))
    shown = tab.locator(".mg-node").count()
    context.close()
    median = lambda rows, i: statistics.median(row[i] for row in rows)
    return {
        "nodes": len(trace["nodes"]),
        "steps": len(trace["steps"]),
        "boxes on view": shown,
        "trace": 1000 * (traced - start),
        "layout and page": 1000 * (made - traced),
        "page kB": len(page.encode()) / 1000,
        "compressed kB": len(gzip.compress(page.encode(), 6)) / 1000,
        **widget_sizes(trace),
        "first picture": statistics.median(firsts),
        "step": median(steps, 1),
        "scrub": median(scrubs, 1),
        "script of a step": median(steps, 0),
        "script of a scrub": median(scrubs, 0),
    }


def widget_sizes(trace: dict[str, Any]) -> dict[str, Any]:
    """Kilobytes that a notebook's page is sent; empty where anywidget is not installed."""
    from minigrad import viz

    try:
        stepper = viz.Stepper(trace)
    except ModuleNotFoundError:
        return {}
    state = stepper.get_state()
    text = json.dumps({key: value for key, value in state.items() if not isinstance(value, bytes)})
    sent = len(text.encode()) + sum(
        len(value) for value in state.values() if isinstance(value, bytes)
    )
    output, _ = stepper._repr_mimebundle_()
    stepper.close()
    plain = len(json.dumps(stepper.trace).encode())
    return {
        "Trace kB": plain / 1000,
        "Trace sent kB": len(state["packed"]) / 1000,
        "widget kB": sent / 1000,
        "output kB": len(json.dumps(output).encode()) / 1000,
    }


def refusal(nodes: int, browser: Any, folder: Path) -> dict[str, Any]:
    """What a reader gets of a graph beyond full detail, and how soon; times in milliseconds."""
    from minigrad import viz

    start = perf_counter()
    trace = trace_of(nodes)
    traced = perf_counter()
    page = viz.to_html(trace)
    made = perf_counter()
    path = folder / "refused.html"
    path.write_text(page, encoding="utf-8")
    tab = browser.new_page()
    tab.goto(path.as_uri())
    said = tab.locator("main p").first.inner_text()
    tables = tab.locator("table").count()
    tab.close()
    return {"nodes": len(trace["nodes"]), "trace": 1000 * (traced - start),
        "overview": 1000 * (made - traced),
            "page kB": len(page.encode()) / 1000, "tables": tables, "said": said}  # fmt: skip


def told(found: dict[str, Any]) -> str:
    """The refusal in a sentence."""
    return (
        f"{found['nodes']:,} nodes (traced in {found['trace']:,.0f} ms): an overview of"
        f" {found['page kB']:.1f} kB in place of the picture, made in {found['overview']:,.0f} ms,"
        f" with {found['tables']} tables. It begins: “{found['said']}”"
    )


def table(rows: list[dict[str, Any]]) -> str:
    """The figures as a Markdown table; times in milliseconds."""
    names = list(rows[0])
    lines = ["| " + " | ".join(names) + " |", "|" + "---:|" * len(names)]
    lines += [
        "| "
        + " | ".join(
            f"{row[n]:,.0f}" if row[n] >= 10 or isinstance(row[n], int) else f"{row[n]:.1f}"
            for n in names
        )
        + " |"
        for row in rows
    ]
    return "\n".join(lines)


def browser_and_driver(parser: command.Parser) -> tuple[str, Any]:
    """The path of the Chromium that is installed, and Playwright's context; ends the
    command where there is none."""
    program = chromium.path()
    if program is None:
        parser.error("no Chromium was found: install chromium")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        parser.error('playwright is not installed: pip install "minigrad[test]"')
    return program, sync_playwright


def main(argv: list[str]) -> int:
    parser = command.parser("viewer", __doc__)
    parser.count("--repeat", 30, "timed steps and scrubs")
    parser.copy("viewer.md")
    options = parser.parse_args(argv)
    program, sync_playwright = browser_and_driver(parser)

    from benchmarks import machine, report

    facts = machine.describe(1, parser.prog, *argv)
    rows = []
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        browser = playwright.chromium.launch(executable_path=program, args=FLAGS)
        facts["browser"] = f"Chromium {browser.version}, software rendering"
        for nodes in SIZES:
            rows.append(measure(nodes, browser, Path(folder), options.repeat))
            print(
                f"{nodes:,} nodes: first picture after {rows[-1]['first picture']:.0f} ms",
                file=sys.stderr,
                flush=True,
            )
        large = told(refusal(REFUSED, browser, Path(folder)))
        browser.close()
    heading = "\n".join(report.heading(facts).splitlines()[:2]).rstrip()
    text = (
        f"{heading}  \n{facts['browser']}; times in milliseconds,"
        f" medians\n\n{table(rows)}\n\n{large}\n"
    )
    print(text)
    report.keep_copy(options.out, "viewer.md", text)
    return 0


if __name__ == "__main__":
    from minigrad.cli import processes

    sys.exit(processes.command(lambda: main(sys.argv[1:]), own=True))
