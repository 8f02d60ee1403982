"""A history as one page that needs nothing, and as a cell output that needs no widget."""

from __future__ import annotations

import html
from typing import Any

from minigrad.viz.html_document import html_document
from minigrad.viz.numbers import short
from minigrad.viz.page import embed, in_frame, kept, options_of
from minigrad.viz.prepared import prepared
from minigrad.viz.squeeze import squeezed_style
from minigrad.viz.texts import words
from minigrad.viz.training.assets import script, stylesheet
from minigrad.viz.training.history import History

_START = """
const held = document.getElementById("history"), place = document.getElementById("minigrad");
const readable = held.type === "application/json"; // a large document is held compressed
const shown = readable
  ? Promise.resolve(held.textContent).then(JSON.parse)
  : unpacked(fromBase64(held.textContent));
const root = await shown.then(
  (history) => mount(place, history, { level: 1, lang: %s }), (error) => failed(place, error));
if (root) listenFirstKey(() => ({ root }));
if (window.parent !== window) {
  const height = () => Math.ceil(document.documentElement.getBoundingClientRect().height);
  const tell = () => window.parent.postMessage({ minigrad: "height", height: height() }, "*");
  new ResizeObserver(tell).observe(document.documentElement);
  window.addEventListener("message", (event) => {
    if (event.source !== window.parent || event.data?.minigrad !== "theme") return;
    if (root) root.dataset.theme = event.data.theme;
    document.documentElement.style.colorScheme = event.data.theme;
  });
  tell();
}
"""
_CSS = (
    "html{color-scheme:light"
    " dark}body{margin:0;padding:%s;background:%s}main{max-width:1180px;margin:0 auto}"
)


def to_html(history: History, *, title: str | None = None, lang: str = "en") -> str:
    """A complete HTML document that shows the history and makes no network request. Open it from a
    file, or serve it.

    lang: language of the interface, "en" or "zh". Raises ValueError for another one.
    """
    return _document(history, title, framed=False, lang=lang)


def _document(history: History, title: str | None, framed: bool, lang: str) -> str:
    options_of(lang=lang)
    shown = history.to_dict()
    if title is not None:
        shown["title"] = title
    kind, document = kept(shown)
    name = str(shown["title"] or words(lang)("training"))
    style = squeezed_style(stylesheet()) + _CSS % (
        ("5px", "transparent") if framed else ("16px", "light-dark(#eef1f5,#0e1116)")
    )
    program = _program(lang)
    data = f'<script type="{kind}" id="history">{document}</script>\n'
    return html_document(name, style, program, plain_table(history, lang), data, lang)


@prepared
def _program(lang: str) -> str:
    from minigrad.viz.renaming import short_program

    return short_program(script() + _START % embed(lang))


def plain_table(history: History, lang: str = "en") -> str:
    """First, best and last value of every measure, as a bare table."""
    t, rows = words(lang), []
    for name, (epochs, values) in history.measures.items():
        if values:
            told = (epochs[-1], values[0], min(values), max(values), values[-1])
            cells = "".join(f"<td>{short(v)}</td>" for v in told)
            rows.append(f"<tr><th>{html.escape(name)}</th>{cells}</tr>")
    heads = "".join(
        f"<th>{t(name)}</th>"
        for name in ("measure", "epochWord", "firstValue", "lowest", "highest", "lastValue")
    )
    caption = html.escape(history.title or t("training"))
    return (
        f"<table><caption>{caption}</caption><thead><tr>{heads}</tr></thead>"
        f"<tbody>{''.join(rows)}</tbody></table>"
    )


class HistoryFrame:
    """A history as a notebook's cell output. Show it by leaving it as a cell's last expression."""

    def __init__(self, history: History, lang: str = "en"):
        options_of(lang=lang)
        self.history, self.lang = history, lang

    def _repr_html_(self) -> str:
        page = _document(self.history, None, framed=True, lang=self.lang)
        height = 420 + (330 if self.history.snapshots else 0)
        t = words(self.lang)
        return in_frame(
            page,
            self.history.title or t("training"),
            t("asTable"),
            plain_table(self.history, self.lang),
            height,
        )

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return {"text/plain": repr(self.history), "text/html": self._repr_html_()}

    def __repr__(self) -> str:
        return repr(self.history)


def iframe(history: History, lang: str = "en") -> HistoryFrame:
    """The training view for a notebook cell without widgets: a plain table, and the page in a frame
    that has the notebook's theme and its
    own height. lang: "en" or "zh". Raises ValueError for another one.
    """
    return HistoryFrame(history, lang)
