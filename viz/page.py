"""The viewer as one file that needs nothing: no server, no kernel, no network.

After reading this file you know how a Trace becomes a page. The stepper's module and stylesheet and the Trace itself are written into one
HTML document, under a content security policy that forbids every request and every script but that one (named by its hash). The same
document serves as a notebook's cell output, in an iframe that tells its height to the cell; a plain table stands before it for notebooks
that are not trusted, for readers without scripts, and for terminals.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from minigrad.trace.replay import state_at
from minigrad.trace.text import table
from viz.layout import with_layout
from viz.numbers import short
from viz.reading import check, plain, runs, symbol_runs

STATIC = Path(__file__).parent / "static"

# Runs after the stepper's own code, in the same module. As a frame in a notebook the page reports its height and asks for the theme.
_START = """
const viewer = mount(document.getElementById("minigrad"), JSON.parse(document.getElementById("trace").textContent), %(options)s);
document.addEventListener("keydown", (event) => { // a page just opened has no focus anywhere: its first key still counts
  if (event.target !== document.body || ![" ", "ArrowLeft", "ArrowRight"].includes(event.key)) return;
  if (!viewer.root.dispatchEvent(new KeyboardEvent("keydown", event))) event.preventDefault();
});
if (window.parent !== window) {
  const height = () => Math.ceil(document.documentElement.getBoundingClientRect().height);
  const tell = () => window.parent.postMessage({ minigrad: "height", height: height() }, "*");
  new ResizeObserver(tell).observe(document.documentElement);
  window.addEventListener("message", (event) => {
    if (event.source !== window.parent || event.data?.minigrad !== "theme") return;
    viewer.root.dataset.theme = event.data.theme;
    document.documentElement.style.colorScheme = event.data.theme;
  });
  tell();
}
"""

# Runs in the notebook, once for all frames: sets each frame's height, hands it the notebook's theme, folds the plain table away.
_HOST = """
if (!window.minigradFrames) {
  window.minigradFrames = true;
  const theme = () => ({ true: "light", false: "dark" })[document.body.dataset.jpThemeLight];
  const frames = () => [...document.querySelectorAll("iframe.minigrad-frame")];
  const dress = (frame) => {
    if (!theme()) return;
    frame.style.colorScheme = theme(); // the same as inside the frame, or the browser paints its margin white
    frame.contentWindow.postMessage({ minigrad: "theme", theme: theme() }, "*");
  };
  window.addEventListener("message", (event) => {
    if (event.data?.minigrad !== "height" || !Number.isFinite(event.data.height)) return;
    const frame = frames().find((one) => one.contentWindow === event.source);
    if (!frame) return;
    frame.style.height = Math.min(event.data.height, 20000) + "px";
    if (!frame.dataset.alive) {
      frame.dataset.alive = "true";
      const table = frame.parentElement.querySelector("details");
      if (table) table.open = false;
      dress(frame);
    }
  });
  const watched = { attributes: true, attributeFilter: ["data-jp-theme-light"] };
  new MutationObserver(() => frames().forEach(dress)).observe(document.body, watched);
}
"""

_PAGE_CSS = """
html { color-scheme: light dark; }
body { margin: 0; padding: %(padding)s; background: %(background)s; }
main { max-width: 1280px; margin: 0 auto; }
"""


@cache
def asset(name: str) -> str:
    """The text of a file in ``viz/static``."""
    return (STATIC / name).read_text(encoding="utf-8")


@cache
def compact(name: str) -> str:
    """The same file without its indentation and its lines of comment: a tenth less in every page and every cell output."""
    return re.sub(r"(?m)^\s+", "", re.sub(r"(?ms)^ *//[^\n]*$|^ */\*.*?\*/ *$", "", asset(name)))


def _hash(text: str) -> str:
    return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"


def embed(document: Any) -> str:
    """JSON that may stand inside a script element: no "<" is left in it, so no text of the Trace can end the element."""
    text = json.dumps(document, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def to_html(trace: Mapping[str, Any], *, title: str | None = None, step: int = 0) -> str:
    """A complete HTML document that shows the Trace in the stepper, and makes no network request.

    Args:
        trace: a ``minigrad.trace/1`` document; a layout is computed if it has none. It is not changed.
        title: the page's title; by default the Trace's own.
        step: where the stepper stands when the page opens (0: nothing computed yet).

    Raises:
        viz.reading.TraceError: the document is not a Trace.
    """
    return _document(trace, title, step, framed=False)


def _document(trace: Mapping[str, Any], title: str | None, step: int, framed: bool) -> str:
    shown = with_layout(trace)
    if title is not None:
        shown["title"] = title
    name = str(shown.get("title") or "evaluation trace")
    page = {"padding": "5px" if framed else "16px", "background": "transparent" if framed else "light-dark(#eef1f5, #0e1116)"}
    style = compact("stepper.css") + _PAGE_CSS % page
    script = compact("stepper.js") + _START % {"options": embed({"step": step, "heading": not framed})}
    policy = f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)}; img-src data:; base-uri 'none'; form-action 'none'"
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{html.escape(name)}</title>
<link rel="icon" href="data:,">
<style>{style}</style>
</head>
<body>
<main id="minigrad"><noscript>{plain_table(shown)}</noscript></main>
<script type="application/json" id="trace">{embed(shown)}</script>
<script type="module">{script}</script>
</body>
</html>
"""


def plain_table(trace: Mapping[str, Any]) -> str:
    """The evaluation trace as a bare HTML table: final values, no script, no style. What an untrusted notebook shows."""
    state = state_at(dict(trace), len(trace["steps"])).cells
    head = "".join(f"<th>{html.escape(str(c.get('label', c['key'])))}</th>" for c in trace["columns"])
    rows = []
    for node in trace["nodes"]:
        label = plain(symbol_runs(node["label"]))
        made = plain(runs(node.get("expr") or [])) or str(node.get("kind", ""))
        cells = "".join(f"<td>{html.escape(short(state.get((node['id'], c['key']))))}</td>" for c in trace["columns"])
        rows.append(f"<tr><th>{html.escape(label)}</th><td>{html.escape(made)}</td>{cells}</tr>")
    caption = html.escape(str(trace.get("title") or "evaluation trace"))
    head = f"<thead><tr><th>node</th><th>how it is made</th>{head}</tr></thead>"
    return f"<table><caption>{caption}</caption>{head}<tbody>{''.join(rows)}</tbody></table>"


def text_table(trace: Mapping[str, Any]) -> str:
    """The evaluation trace as plain text: what a terminal prints and a screen reader reads."""
    return table({"title": "", **trace}).rstrip()


class Frame:
    """A Trace as a notebook's cell output that needs neither a widget nor a kernel. Show it by leaving it as a cell's last expression."""

    def __init__(self, trace: Mapping[str, Any], step: int = 0):
        self.trace = with_layout(check(trace))
        self.step = step

    def _repr_html_(self) -> str:
        page = html.escape(_document(self.trace, None, self.step, framed=True), quote=True)
        name = html.escape("Stepper: " + str(self.trace.get("title") or "evaluation trace"), quote=True)
        height = 330 + round(min(560.0, max(self.trace["layout"]["height"], 34.0 * (1 + len(self.trace["nodes"])))))
        return (
            f'<div class="minigrad-output"><details open><summary>The trace as a plain table</summary>{plain_table(self.trace)}</details>'
            f'<iframe class="minigrad-frame" sandbox="allow-scripts" title="{name}" width="100%" height="{height}" frameborder="0" '
            f'srcdoc="{page}"></iframe>'
            f"<script>{_HOST}</script></div>"
        )

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return {"text/plain": repr(self), "text/html": self._repr_html_()}

    def __repr__(self) -> str:
        return text_table(self.trace)


def iframe(trace: Mapping[str, Any], step: int = 0) -> Frame:
    """The stepper for a notebook cell without widgets: an object whose rich form is a plain table followed by the page in an iframe.

    In a trusted notebook the table folds away as soon as the viewer is alive; in an untrusted one, where scripts and frames are removed,
    the table is what remains. The plain-text form is the text table.
    """
    return Frame(trace, step)
