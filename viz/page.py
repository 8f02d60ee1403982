"""The viewer as one file that needs nothing: no server, no kernel, no network.

This is how a Trace becomes a page. The stepper's module and stylesheet and the Trace itself are
written into one HTML document, under a content security policy that forbids every request and every
script but that one (named by its hash). The same document serves as a notebook's cell output, in an
iframe that tells its height to the cell; a plain table stands before it for notebooks that are not
trusted, for readers without scripts, and for terminals.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import html
import json
import os
import re
from collections.abc import Mapping, Sequence
from functools import cache, partial
from typing import Any

from minigrad.viz import scale, texts
from minigrad.viz.bundle import script, stylesheet, with_its_rules, with_its_words
from minigrad.viz.grouping import may_group
from minigrad.viz.html_document import html_document, source_hash
from minigrad.viz.layout import placed
from minigrad.viz.numbers import short
from minigrad.viz.packing import pack
from minigrad.viz.prepared import prepared
from minigrad.viz.reading import check, plain, runs, symbol_runs
from minigrad.viz.speech import spoken, table_words
from minigrad.viz.texts import words

from minigrad.trace.replay import state_at
from minigrad.trace.schema import SCHEMA
from minigrad.trace.text import table

# Runs after the stepper's own code, in the same module. As a frame in a notebook the page reports
# its height and asks for the theme.
_START = """
const held = document.getElementById("trace"), place = document.getElementById("minigrad");
const options = PAGE_OPTIONS;
const readable = held.type === "application/json"; // a large document is held compressed
const shown = readable
  ? Promise.resolve(held.textContent).then(JSON.parse).then(wholeTrace)
  : unpacked(fromBase64(held.textContent));
// A frame is thrown away when the notebook redraws its cell: what the reader did is kept by the
// notebook's page.
const framed = window.parent !== window;
// The step stands in the address of a page of its own, so that a link leads to it.
const linked = () => framed ? null : /^#(?:step=(\\d+))?&?(stage)?$/.exec(location.hash);
const done = { step: Number(linked()?.[1] ?? options.step) };
const here = () => `#step=${done.step}${done.stage ? "&stage" : ""}`;
const address = framed ? null : keepHash(here);
const remember = (name) => (value) => {
  done[name] = value;
  if (name === "step" || name === "stage") address?.changed();
  if (framed) window.parent.postMessage({ minigrad: "keep", key: options.key, state: done }, "*");
};
const told = {
  ...options, ...done, stage: linked()?.[2],
  onStep: remember("step"), onAnswers: remember("answers"), onKeep: remember("kept"),
  onStage: framed ? null : remember("stage"),
  link: framed ? null : () => {
    done.step = viewer.step(); // the address may have asked for one behind the last
    return new URL(here(), location.href).href;
  },
};
let viewer = await shown.then(
  (found) => MOUNT(place, found, told), (error) => failed(place, error, options));
const again = (state) => shown.then((found) => {
  Object.assign(done, state);
  viewer.destroy();
  const theme = document.documentElement.style.colorScheme || undefined;
  viewer = MOUNT(place, found, { ...told, theme, ...state });
}, () => {});
window.addEventListener("hashchange", () => {
  const [, k, stage] = linked() ?? [];
  if (!k && !stage) return;
  viewer.stage?.(Boolean(stage));
  if (k) done.step = viewer.go(Number(k));
});
listenFirstKey(() => viewer);
if (framed) {
  const height = () => Math.ceil(document.documentElement.getBoundingClientRect().height);
  const tell = () => window.parent.postMessage(
    { minigrad: "height", height: height(), key: options.key }, "*");
  new ResizeObserver(tell).observe(document.documentElement);
  window.addEventListener("message", (event) => {
    if (event.source === window.parent && event.data?.minigrad === "kept") again(event.data.state);
    if (event.source !== window.parent || event.data?.minigrad !== "theme") return;
    (viewer.theme ?? ((name) => { viewer.root.dataset.theme = name; }))(event.data.theme);
    document.documentElement.style.colorScheme = event.data.theme;
  });
  tell();
}
"""

# Runs in the notebook, once for all frames: sets each frame's height, hands it the notebook's
# theme, folds the plain table away.
_HOST = """
if (!window.minigradFrames) {
  window.minigradFrames = true;
  const kept = new Map(); // what the reader did in each viewer, for when the cell is redrawn
  const theme = () => ({ true: "light", false: "dark" })[document.body.dataset.jpThemeLight];
  const frames = () => [...document.querySelectorAll("iframe.minigrad-frame")];
  const dress = (frame) => {
    if (!theme()) return;
    // the same as inside the frame, or the browser paints its margin white
    frame.style.colorScheme = theme();
    frame.contentWindow.postMessage({ minigrad: "theme", theme: theme() }, "*");
  };
  window.addEventListener("message", (event) => {
    const { minigrad: kind, height, key, state } = event.data ?? {};
    const frame = frames().find((one) => one.contentWindow === event.source);
    if (kind === "keep" && frame && key) kept.set(key, state);
    if (kind !== "height" || !frame || !Number.isFinite(height)) return;
    frame.style.height = Math.min(height, 20000) + "px";
    if (!frame.dataset.alive) {
      frame.dataset.alive = "true";
      const table = frame.parentElement.querySelector("details");
      if (table) table.open = false;
      dress(frame);
      if (kept.has(key)) {
        frame.contentWindow.postMessage({ minigrad: "kept", state: kept.get(key) }, "*");
      }
    }
  });
  const watched = { attributes: true, attributeFilter: ["data-jp-theme-light"] };
  new MutationObserver(() => frames().forEach(dress)).observe(document.body, watched);
}
"""

_PAGE_CSS = """
html { color-scheme: light dark; }
body { margin: 0; padding: %(padding)s; background: %(background)s; }
main { max-width: clamp(1280px, 100vw - 160px, 1760px); margin: 0 auto; }
@media (max-width: 560px) { body { padding: 5px; } }
"""


def embed(document: Any) -> str:
    """JSON that may stand inside a script element: no "<" is left in it, so no text of the Trace
    can end the element.
    """
    text = json.dumps(document, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


LARGE = 45_000
"""Characters of JSON beyond which a page holds its document compressed, as a widget always gets
it.
"""


def packed(document: Any) -> bytes:
    """A document on its way to the viewer, as static/viewer/packed.js unpacks it. The same document
    gives the same bytes.
    """
    return _compressed(embed(_shorter(document)))


def _shorter(document: Any) -> Any:
    return pack(document) if document.get("schema") == SCHEMA else document


def _compressed(text: str) -> bytes:
    # level 9 takes four times as long, for 3 % less
    return gzip.compress(text.encode(), 6, mtime=0)


def _key(text: str) -> str:
    """The name under which a notebook's page keeps what the reader did in a frame: the same
    Trace has the same one.
    """
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def kept(document: Any, framed: bool = False) -> tuple[str, str]:
    """A document as the type and the text of the script element that holds it."""
    text = embed(shorter := _shorter(document))
    if len(text) <= LARGE:
        whole = text if shorter is document else embed(document)
        if len(whole) <= LARGE:
            return "application/json", whole
        if not framed:  # in a frame's attribute a quotation mark takes six characters
            return "application/json", text
    return "application/gzip", base64.b64encode(_compressed(text)).decode()


VIEWS = tuple(texts.views())
"""The views beside graph and table, as ``views=`` names them."""


def options_of(step: int = 0, lang: str = "en", views: Sequence[str] = ()) -> dict[str, Any]:
    """The stepper's options, checked.

    Raises:
        ValueError: an unknown view or language.
    """
    unknown = [name for name in views if name not in VIEWS]
    if unknown:
        raise ValueError(f"there is no view {unknown[0]!r}; the views are {', '.join(VIEWS)}")
    words(lang)
    return (
        {"step": step}
        | ({"lang": lang} if lang != "en" else {})
        | ({"views": list(views)} if views else {})
    )


def to_html(
    trace: Mapping[str, Any],
    *,
    title: str | None = None,
    step: int = 0,
    lang: str = "en",
    views: Sequence[str] = (),
) -> str:
    """A complete HTML document that shows the Trace in the stepper, and makes no network request.

    Args:
        trace: a ``minigrad.trace/1`` document; a layout is computed if it has none. It is not
        changed.
        title: the page's title; by default the Trace's own.
        step: where the stepper stands when the page opens (0: nothing computed yet).
        lang: language of the interface, "en" or "zh".
        views: further views that are open at first, of :data:`VIEWS`.

    A Trace of more than :data:`minigrad.viz.scale.FULL_DETAIL` nodes gives a page with an overview
    instead.

    Raises:
        minigrad.viz.reading.TraceError: the document is not a Trace.
        ValueError: an unknown view or language.
    """
    options = options_of(step, lang, views)
    check(trace)
    if scale.too_large(trace):
        return overview_page(trace, title, lang)
    shown = placed(trace)
    if title is not None:
        shown["title"] = title
    return page(
        shown,
        str(shown.get("title") or words(lang)("table")),
        plain_table(shown, lang),
        options,
        framed=False,
    )


def page(shown: Any, title: str, plain: str, options: Mapping[str, Any], framed: bool) -> str:
    """The HTML document around whatever the stepper's ``mount`` takes: a Trace, a pair or a grid
    of them.
    """
    kind, document = kept(shown, framed)
    lang = str(options.get("lang", "en"))
    told = embed({**options, "heading": not framed, **({"key": _key(document)} if framed else {})})
    single = shown.get("schema") == SCHEMA
    parts = (lang, *_left_out(shown, lang, kind)) if single else None
    if parts:
        program = _viewer_of_trace(*parts)
    else:
        program = _viewer_with_engine() if shown.get("schema") == FUNCTION else _viewer(lang)
    program = program.replace("PAGE_OPTIONS", told, 1)
    data = f'<script type="{kind}" id="trace">{document}</script>\n'
    return html_document(title, page_style(framed, parts), program, plain, data, lang)


def page_style(framed: bool, parts: tuple[str, ...] | None = None) -> str:
    """The styles of a page, or of a frame in a notebook. parts: those of a program, as
    :func:`_viewer_of_trace` takes them."""
    return (_style() if parts is None else _style_of_trace(*parts)) + _style_around(framed)


@prepared
def _style_around(framed: bool) -> str:
    from minigrad.viz.squeeze import squeezed_style

    around = {
        "padding": "5px" if framed else "16px",
        "background": "transparent" if framed else "light-dark(#eef1f5, #0e1116)",
    }
    return squeezed_style(_PAGE_CSS % around)


@prepared
def _viewer_of_trace(lang: str, *without: str) -> str:
    """The viewer without what a Trace has nothing for."""
    return _started(_script_of_trace(lang, *without), "mountTrace")


@prepared
def _viewer(lang: str) -> str:
    return _started(script(lang=lang), "mount")


@prepared
def _viewer_with_engine() -> str:
    """With the engine in JavaScript for a function, whose values it computes."""
    from minigrad.viz.explorer.bundle import viewer_with_engine

    return _started(viewer_with_engine(), "mount")


@cache
def _script_of_trace(lang: str, *without: str) -> str:
    return with_its_words(script(without, lang, ("viewer", "hash", "packed")), without)


def _started(viewer: str, mount: str) -> str:
    """The viewer, and what shows the document, in fewer characters. PAGE_OPTIONS stands for its
    options."""
    from minigrad.viz.renaming import short_program

    return short_program(viewer + _START.replace("MOUNT", mount))


@prepared
def _style() -> str:
    from minigrad.viz.squeeze import squeezed_style

    return squeezed_style(stylesheet())


@prepared
def _style_of_trace(lang: str, *without: str) -> str:
    unused = "|".join(of for name, of in _RULES_OF.items() if name in without)
    rules = re.compile(unused) if unused else None
    return with_its_rules(_style(), _script_of_trace(lang, *without), rules)


_RULES_OF = {
    "arrays": r"\.mg-(?:view-(?:arrays|element)|tighter)|^\.mg-(?:formula:not|equation \.)"
    r"|^\.mg-(?:heat|preview \.mg-heat|node:not\(\.mg-group\)|stage .mg-shape)",
    "long": r"\.mg-cramped",
    "beside": r"\.mg-(?:differs|unlike-value|pair,)|\.mg-made mark",
    "groups": r"^\.mg-(?:group|opened|root \.mg-fold\[)",
    "stages": r"\.mg-(?:stage-\d|swatch-stage|stripe)",
    "source": r"^[^,]*\.mg-(?:source|under|stack)[^,]*$",
    "dangling": r"^\.mg-(?:dangling|hatch|root \.mg-tag)",
    "checkpoints": r"^\.mg-lane\.mg-again",
    "growing": r"^\.mg-(?:table tr\.mg-unborn|node\.mg-unborn)"
    r"|^\.mg-preview (?:\.mg-(?:edge|unborn)|:is)",
    "passes": r"^\.mg-pass",
    "fails": r"^\.mg-(?:root \.mg-failing|error)",
}
"""Selectors of what a Trace may have nothing for: arrays, another Trace, groups, operations of a
backward pass, a text."""


@prepared
def _host() -> str:
    from minigrad.viz.squeeze import squeezed

    return squeezed(_HOST)


def _left_out(trace: Mapping[str, Any], lang: str, kind: str) -> tuple[str, ...]:
    """What a Trace has nothing for: the largest views, as their own `ready` says, and parts of the
    viewer (:data:`minigrad.viz.bundle.INSTEAD`). kind: the type of the element that holds it.
    """
    nodes, steps = trace["nodes"], trace["steps"]
    told = {key for step in steps for key in step}
    has = {
        name: any(node.get(part) for node in nodes)
        for name, part in (("arrays", "shape"), ("element", "terms"), ("buffers", "memory"))
    }
    has["jacobian"] = bool(trace.get("jacobian"))
    has["beside"] = "beside" in trace
    decides = "decides" in told or any("decides" in node for node in nodes)
    has["speech"] = lang != "en" or has["arrays"] or decides or bool(trace.get("passes"))
    has["groups"] = may_group(trace)
    names = (str(node.get("name") or "") for node in nodes)
    has["long"] = has["arrays"] or has["groups"] or any(len(name) > _LONG_NAME for name in names)
    has["source"] = bool(str((trace.get("source") or {}).get("code") or "").strip())
    rounds = any(block["kind"] == "round" for block in trace.get("blocks", ()))
    has["rounds"] = rounds and (has["groups"] or has["source"])  # elsewhere they are not shown
    has["unseen"] = has["groups"] or any(map(partial(_far_apart, trace), steps))
    has["stages"] = any(one.get("stage", "primal") != "primal" for one in (*nodes, *trace["edges"]))
    has["fails"] = "error" in trace or "fails" in told
    again = not told.isdisjoint(("keep", "drops"))
    has["checkpoints"] = again or any(step["phase"] == "free" for step in steps)
    has["dangling"] = any(node.get("dangling") for node in nodes)
    has["generations"] = has["stages"] or has["dangling"]
    operations = {node.get("op") for node in nodes}
    has |= {name: name in operations for name in ("cast", "where", "log")}
    has["angles"] = not operations.isdisjoint(("sin", "cos", "tan"))
    has |= {"unplaced": not trace.get("layout"), "stepless": not steps}
    has |= {"growing": "add" in told, "nonfinite": "nonfinite" in told, "passes": "passes" in trace}
    has["all kept"] = not any(step.get("free") for step in steps)
    has |= {"trainings": False, "inflated": kind == "application/gzip"}
    has["problem"] = False  # the document was checked before it was put in the page
    return tuple(name for name, there in has.items() if not there)


_LONG_NAME = 10
"""Letters from which a name may leave its row too little space on a phone."""

_TOGETHER = 500, 230
"""Units of a picture that also a phone shows at once, across and down."""


def _far_apart(trace: Mapping[str, Any], step: Mapping[str, Any]) -> bool:
    """Whether the nodes that a step writes and reads may not be seen together."""
    boxes = (trace.get("layout") or {}).get("nodes", {})
    told = (*step.get("writes", ()), *step.get("reads", ()))
    found = [boxes[cell[0]] for cell in told if cell[0] in boxes]
    return bool(found) and any(
        max(box[at] + box[size] / 2 for box in found)
        - min(box[at] - box[size] / 2 for box in found)
        > most
        for at, size, most in zip("xy", "wh", _TOGETHER, strict=True)
    )


FUNCTION = "minigrad.function/1"
"""The schema of a function behind sliders that the page differentiates itself."""


def overview_page(trace: Mapping[str, Any], title: str | None = None, lang: str = "en") -> str:
    """What stands in the stepper's place where the graph is too large for it: counts in plain
    tables, without any script.
    """
    found = scale.overview(trace)
    found = found if title is None else found._replace(title=title)
    name = html.escape(found.title or words(lang)("table"))
    css = "html{color-scheme:light dark}"
    css += (
        "body{font:16px/1.5 system-ui,sans-serif;max-width:44rem;margin:2rem auto;padding:0 1rem}"
    )
    css += "table{margin:1rem 0}caption{font-weight:600;text-align:left;white-space:nowrap}"
    css += "th{text-align:left;font-weight:400}td{text-align:right;padding-left:2rem}"
    policy = (
        f"default-src 'none'; style-src {source_hash(css)}; base-uri 'none'; form-action 'none';"
        " img-src data:"
    )
    return (
        f'<!DOCTYPE html>\n<html lang="{lang}">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width,'
        f' initial-scale=1">\n<title>{name}</title>\n'
        '<link rel="icon"'
        f' href="data:,">\n<style>{css}</style>\n</head>\n'
        f"<body><main>{scale.as_html(found, lang)}</main></body>\n</html>\n"
    )


def plain_table(trace: Mapping[str, Any], lang: str = "en") -> str:
    """The evaluation trace as a bare HTML table: final values, no script, no style. What an
    untrusted notebook shows.
    """
    t = words(lang)
    state = state_at(dict(trace), len(trace["steps"])).cells
    head = "".join(
        "<th>"
        + html.escape(t(c["key"]) if c["key"] in "vdg" else str(c.get("label", c["key"])))
        + "</th>"
        for c in trace["columns"]
    )
    rows = []
    for node in trace["nodes"]:
        label = plain(symbol_runs(node["label"]))
        made = plain(runs(node.get("expr") or [])) or t(str(node.get("kind", "")))
        cells = "".join(
            f"<td>{html.escape(short(state.get((node['id'], c['key']))))}</td>"
            for c in trace["columns"]
        )
        rows.append(f"<tr><th>{html.escape(label)}</th><td>{html.escape(made)}</td>{cells}</tr>")
    caption = html.escape(str(trace.get("title") or t("table")))
    seeded = "".join(
        f"<br>{html.escape(named)} {html.escape(plain(runs(tokens)))}"
        for named, tokens in spoken(trace, t)["seeded"]
    )
    head = f"<thead><tr><th>{t('node')}</th><th>{t('made')}</th>{head}</tr></thead>"
    return (
        f"<table><caption>{caption}{seeded}</caption>{head}<tbody>{''.join(rows)}</tbody></table>"
    )


def text_table(trace: Mapping[str, Any], lang: str = "en") -> str:
    """The evaluation trace as plain text: what a terminal prints and a screen reader reads (of a
    very large one, an overview).
    """
    if scale.too_large(trace):
        return scale.as_text(scale.overview(trace), lang)
    return table({"title": "", **trace}, words=table_words(words(lang))).rstrip()


EXPLORER = "MINIGRAD_EXPLORER"
"""The environment variable that says where, seen from the pages that a notebook becomes, the page
that differentiates will lie (minigrad.viz.explorer).
"""


def link(trace: Mapping[str, Any], options: Mapping[str, Any]) -> str:
    """What opens the page that differentiates below a picture, so that the inputs of a Trace can
    be changed there, and a link to that page by itself. Empty where there will be no such page, or
    where it cannot show the Trace.
    """
    place = os.environ.get(EXPLORER)
    if not place:
        return ""
    from minigrad.viz.explorer.links import address

    found = address(trace, options.get("step", 0), options.get("views", ()))
    if found is None:
        return ""
    to = html.escape(place + found)
    said, alone = CHANGE[options.get("lang", "en")]
    return (
        f'<details class="minigrad-change"><summary>{said}</summary>'
        f'<iframe class="minigrad-live" data-src="{to}" title="{said}" height="900">'
        f'</iframe><p><a href="{to}">{alone}</a></p></details>'
    )


def recorded(trace: Mapping[str, Any], options: Mapping[str, Any]) -> str:
    """What stands below a picture of numbers where there will be a page that differentiates, and it
    cannot show the Trace.
    """
    if not os.environ.get(EXPLORER) or any(node["shape"] for node in trace["nodes"]):
        return ""
    return f'<p class="minigrad-recorded">{RECORDED[options.get("lang", "en")]}</p>'


RECORDED = {
    "en": "A recorded run, whose inputs cannot be changed here: no formula gives these steps on the"
    " page that differentiates.",
    "zh": "这是一次记录的运行，此处不能更改其输入：没有公式能在求导页面上给出这些步骤。",
}
"""Why nothing can be changed, by language."""
CHANGE = {
    "en": ("Change the inputs or the function", "On a page of its own"),
    "zh": ("更改输入或函数", "在单独的页面中打开"),
}
"""What opens the page in its place, and what leads to it, by language."""


def framed(
    shown: Any,
    title: str,
    plain: str,
    options: Mapping[str, Any],
    height: int,
    below: str = "",
) -> str:
    """A page in an iframe, behind a plain table: the HTML of a cell output. below: HTML that stands
    under the frame.
    """
    inside = page(shown, title, "", options, framed=True)  # the table stands before the frame
    t = words(options.get("lang", "en"))
    return in_frame(inside, t("viewer", title=title), t("asTable"), plain, height, below)


def in_frame(
    document: str, title: str, summary: str, plain: str, height: int, below: str = ""
) -> str:
    """A whole page in an iframe behind a plain table. The frame gets its page's height and the
    notebook's theme as soon as it is alive.
    """
    inside, name = html.escape(document, quote=True), html.escape(title, quote=True)
    return (
        '<div class="minigrad-output"><details'
        f' open><summary>{summary}</summary>{plain}</details><iframe class="minigrad-frame"'
        f' sandbox="allow-scripts allow-downloads" allow="clipboard-write *; fullscreen *"'
        f' title="{name}" width="100%" height="{height}" frameborder="0"'
        f' srcdoc="{inside}"></iframe>{below}<script>{_host()}</script></div>'
    )
