"""Feedback for one student, as one HTML file that needs nothing and as one Markdown file: pure
functions of judgements.

A page shows a student's mistakes without running any of the student's code. Every text is escaped;
there is no script; the Content-Security-Policy forbids every request and every style but the page's
own, which are named by their hashes. The picture is the smallest graph that failed, with the right
numbers and, where they differ, the student's: the one graph of a comparison. The marks appear in
the order of the steps, by CSS alone, up to the first wrong node. Who prefers reduced motion sees
them all at once.
"""

from __future__ import annotations

import hashlib
import html
import re
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

from minigrad.viz.compare import Comparison
from minigrad.viz.html_document import source_hash
from minigrad.viz.scale import TooLarge
from minigrad.viz.svg import laid_out, to_svg

from . import chinese
from .feedback import rich
from .judge import GroupPoints, Judgement, smallest_case

LANGUAGES = ("en", "zh")
"""English and Chinese."""

STYLE = """
:root { color-scheme: light dark; --ink: light-dark(#1c2430, #e8ecf1);
  --soft: light-dark(#4d5866, #a7b1bd);
  --paper: light-dark(#ffffff, #14181d); --line: light-dark(#c9d0d8, #3a434e);
  --tint: light-dark(#f2f5f8, #1d232a);
  --right: light-dark(#0a5f96, #6db6e8); --wrong: light-dark(#a63f00, #f2a071); }
body { margin: 0; overflow-wrap: anywhere; }
body { background: var(--paper); color: var(--ink);
  font: 16px/1.5 system-ui, "DejaVu Sans", sans-serif; }
main { max-width: 56rem; margin: 0 auto; padding: 1.5rem 1rem 3rem; }
h1 { font-size: 1.5rem; margin: 0 0 .2rem; } h2 { font-size: 1.15rem; margin: 0; }
.total { font-size: 1.15rem; margin: 0 0 1rem; } .soft { color: var(--soft); }
section { border: 1px solid var(--line); border-left: .3rem solid var(--wrong);
  border-radius: .4rem; padding: .8rem 1rem; margin: 1rem 0; }
section.full { border-left-color: var(--right); } section.none { border-left-color: var(--soft); }
.head { display: flex; flex-wrap: wrap; gap: .3rem 1rem;
  justify-content: space-between; align-items: baseline; }
.full .mark, .yes { color: var(--right); } .some .mark, .no { color: var(--wrong); }
table { border-collapse: collapse; margin: .7rem 0; width: 100%; }
caption { text-align: left; color: var(--soft); }
th, td { text-align: left; vertical-align: top; padding: .25rem .6rem .25rem 0;
  border-top: 1px solid var(--line); }
th { font-weight: 600; overflow-wrap: break-word; }
thead th { border-top: 0; color: var(--soft); font-weight: 400; }
thead th, .points { white-space: nowrap; overflow-wrap: normal; }
tbody th { min-width: 6rem; max-width: 20rem; }
@media (min-width: 40rem) {
  section thead th:first-child { width: 12rem; }
  section thead th:nth-child(2) { width: 5rem; } }
code { font-family: ui-monospace, "DejaVu Sans Mono", Menlo, monospace; font-size: .92em;
  background: var(--tint); padding: .05em .25em;
  border-radius: .2em; overflow-wrap: anywhere; }
mark { color: inherit; background: none; font-weight: 700; }
mark, mark code { outline: 2px solid var(--wrong); } mark code { outline: 0; }
.likely { background: var(--tint); border-radius: .3rem; padding: .5rem .8rem; margin: .6rem 0; }
details { margin: .4rem 0; } summary { cursor: pointer; } .picture { margin: .5rem 0 0; }
.picture svg { max-width: 100%; height: auto; }
.wide, .picture { overflow-x: auto; }
.ring { fill: none; stroke-width: 3; } .ring.r { stroke: var(--right); }
.ring.w { stroke: var(--wrong); stroke-width: 4.5; }
.badge { stroke: var(--paper); stroke-width: 2; } .badge.r { fill: var(--right); }
.badge.w { fill: var(--wrong); }
.sign { fill: var(--paper); font: 700 13px system-ui, "DejaVu Sans", sans-serif;
  text-anchor: middle; }
.verdict { opacity: 0; animation: appear .35s ease-out forwards; }
@keyframes appear { from { opacity: 0; } to { opacity: 1; } }
@media (prefers-reduced-motion: reduce) { .verdict { animation: none; opacity: 1; } }
@media print { .verdict { animation: none; opacity: 1; } section { break-inside: avoid; } }
"""

LONGEST = 60
"""Marks that appear one after the other; the stylesheet has a delay for each."""


class Tongue:
    """The words of a page in a language, and the grader's sentences in it."""

    def __init__(self, language: str) -> None:
        if language not in LANGUAGES:
            raise ValueError(f"there are no pages in {language!r}, only in {', '.join(LANGUAGES)}")
        self.language, self._chinese = language, language == "zh"

    def word(self, template: str, **values: object) -> str:
        """A text of the page; template: in English, with names in braces."""
        return chinese.page(template, **values) if self._chinese else template.format(**values)

    def said(self, text: str) -> str:
        """A sentence of the grader's."""
        return chinese.said(text) if self._chinese else text


def _style() -> str:
    return STYLE + "".join(
        f".a{i} {{ animation-delay: {0.6 + 0.5 * i:.1f}s; }}\n" for i in range(LONGEST)
    )


def student_html(
    student: str,
    sheet: str,
    judgements: Sequence[Judgement],
    *,
    notes: Sequence[str] = (),
    hints: bool = True,
    language: str = "en",
) -> str:
    """The page of one student. notes: sentences that stand above everything, such as which of two
    files was taken; hints: whether the exercises' hints stand on it, folded away; language: "en" or
    "zh", of all but what the sheet itself says.
    """
    tongue = Tongue(language)
    points, most = sum(j.points for j in judgements), sum(j.max for j in judgements)
    body = "".join(_section(j, hints, tongue) for j in judgements)
    told = "".join(f"<p>{rich(tongue.said(note))}</p>" for note in notes)
    heading = f"<h1>{html.escape(sheet)}</h1><p class='soft'>{html.escape(student)}</p>".replace(
        "'", '"'
    )
    total = f'<p class="total">{_of(points, most, tongue, "<strong>{}</strong>")}</p>'
    return document(
        f"{sheet} · {student}",
        f"<main><header>{heading}{total}{told}</header>{body}</main>",
        language=language,
    )


def document(title: str, body: str, form_action: str = "'none'", language: str = "en") -> str:
    """A page that runs nothing and fetches nothing. body: HTML; it may hold `<style>`, which is
    allowed by its hash. form_action: where its forms may send, as in a Content-Security-Policy.
    """
    style = _style()
    hashes = " ".join(
        sorted(
            {
                source_hash(style),
                *(source_hash(s) for s in re.findall(r"<style>(.*?)</style>", body, re.DOTALL)),
            }
        )
    )
    policy = (
        f"default-src 'none'; style-src {hashes}; img-src data:; base-uri 'none'; form-action"
        f" {form_action}"
    )
    return (
        f'<!DOCTYPE html>\n<html lang="{language}">\n<head>\n<meta charset="utf-8">\n<meta'
        f' http-equiv="Content-Security-Policy" content="{policy}">\n<meta name="viewport"'
        ' content="width=device-width, initial-scale=1">\n<meta name="color-scheme" content="light'
        f' dark">\n<title>{html.escape(title)}</title>\n<link rel="icon"'
        f' href="data:,">\n<style>{style}</style>\n</head>\n<body>\n{body}\n</body>\n</html>\n'
    )


def _points(most: float) -> str:
    return f"{most:g} point{'s' * (most != 1)}"


def _of(points: float, most: float, tongue: Tongue, form: str = "{}") -> str:
    """Points of so many; form: how the points are written."""
    worth = f"{most:g}" if tongue.language == "zh" else _points(most)
    return tongue.word("{points} of {most}", points=form.format(f"{points:g}"), most=worth)


def _state(j: Judgement, tongue: Tongue) -> tuple[str, str]:
    if j.full:
        return "full", tongue.word("✓ right")
    if not j.started:
        return "none", tongue.word("○ not started")
    return "some", tongue.word("✗ not yet") if j.points < j.max else "✓"


def _section(j: Judgement, hints: bool, tongue: Tongue) -> str:
    kind, verdict = _state(j, tongue)
    points = _of(j.points, j.max, tongue, "<strong>{}</strong>")
    parts = [
        f'<div class="head"><h2>{html.escape(j.title)}</h2><p><span class="mark">{verdict}</span> ·'
        f" {points}</p></div>"
    ]
    parts.append(_of_groups(j.groups, tongue))
    if kind == "some":
        if j.misconception:
            parts.append(f'<p class="likely">{rich(tongue.said(j.misconception["say"]))}</p>')
        if j.where:
            first = tongue.word(
                "The first wrong node is {node}.", node=html.escape(j.where["node"])
            )
            say = rich(tongue.said(j.where["say"]))
            parts.append(f"<p><strong>{first}</strong> {say}</p>")
        picture = _picture(j, tongue.language)
        if picture:
            parts.append(
                f"<details open><summary>{tongue.word(GRAPH)}</summary><div"
                f' class="picture" tabindex="0">{picture}</div></details>'
            )
        # a graph's title is its call
        called = picture and j.reference and j.reference["title"] == (j.smallest or {}).get("call")
        if (
            not called
            and j.smallest
            and (
                told := _smallest(
                    j.smallest, rich, lambda call: f"<code>{html.escape(call)}</code>", tongue
                )
            )
        ):
            parts.append(f"<p>{told}</p>")
        if not picture and j.smallest:
            parts.append(_side_by_side(j.smallest.get("entries", []), tongue))
    if kind != "full" and hints:
        for i, text in enumerate(j.hints, 1):
            which = tongue.word("Hint {number} of {count}", number=i, count=len(j.hints))
            parts.append(f"<details><summary>{which}</summary><p>{rich(text)}</p></details>")
    return f'<section class="{kind}">{"".join(parts)}</section>'


GRAPH = (
    "The smallest graph that failed, step by step, with the right numbers. Where yours differ, both"
    " are red: right ≠ yours, of an array the first such entry. (Close and reopen to replay it.)"
)


def _picture(j: Judgement, language: str) -> str:
    """The smallest graph that failed, marked; "" where there is none, or one that is too large
    to be drawn in full.
    """
    try:
        return (
            compared(j.reference, j.trace, j.step, (j.where or {}).get("wrong", []), language)
            if j.trace is not None and j.reference is not None
            else ""
        )
    except TooLarge:
        return ""


def _side_by_side(entries: Sequence[Sequence[Any]], tongue: Tongue) -> str:
    """What is right and what came back, entry by entry; the first that is wrong is marked."""
    first = next((name for name, *_, agrees in entries if not agrees), None)
    rows = []
    for name, *texts, agrees in entries:
        cells = [f"<code>{html.escape(text)}</code>" if text else "–" for text in texts]
        cells = [f"<mark>{cell}</mark>" for cell in cells] if name == first else cells
        rows.append([f"<code>{html.escape(name)}</code>", *cells, "=" if agrees else "≠"])
    heads = [tongue.word(word) for word in ENTRIES]
    return wide(heads[0], table(heads, rows, ())) if rows else ""


ENTRIES = ("entry", "right", "yours", "is it right?")


def _smallest(
    smallest: dict[str, Any], text: Callable[[str], str], code: Callable[[str], str], tongue: Tongue
) -> str:
    """The smallest case that failed, or the value that was written, where there is no call."""
    call, got = smallest["call"], str(smallest["got"])
    if call.isidentifier():
        told = tongue.word("You have {call} = {got}.", call=code(call), got=code(got))
        return told if got else ""
    return smallest_case(smallest, code, text, tongue.word, tongue.said)


def table(
    heads: Sequence[str],
    rows: Iterable[Sequence[str]],
    points: Collection[int] = (1,),
    names: int = 1,
) -> str:
    """A table. heads: the columns' names; rows: of cells, as HTML; points: which columns hold
    numbers; names: how many columns say what a row is about.
    """
    kinds = [' class="points"' if i in points else "" for i in range(len(heads))]
    head = "".join(f"<th{k}>{html.escape(name)}</th>" for k, name in zip(kinds, heads, strict=True))
    parts = [f"<table><thead><tr>{head}</tr></thead><tbody>"]
    for row in rows:
        tags = ["th" if i < names else "td" for i in range(len(row))]
        cells = zip(tags, kinds, row, strict=True)
        parts.append("<tr>" + "".join(f"<{t}{k}>{cell}</{t}>" for t, k, cell in cells) + "</tr>")
    return "".join([*parts, "</tbody></table>"])


def wide(name: str, content: str) -> str:
    """What may be wider than a phone: it scrolls in its place. name: for screen readers."""
    return (
        f'<div class="wide" tabindex="0" role="region" aria-label="{html.escape(name)}">'
        f"{content}</div>"
    )


def _of_groups(groups: Sequence[GroupPoints], tongue: Tongue) -> str:
    rows = []
    for g in groups:
        right = g.total > 0 and g.right == g.total
        sign = '<span class="yes">✓</span>' if right else '<span class="no">✗</span>'
        said = rich(tongue.said(g.say))
        rows.append((f"{sign} {html.escape(g.name)}", _share(g, tongue), said))
    return table([tongue.word(word) for word in COLUMNS], rows)


COLUMNS = ("what", "points", "what was seen")


def _share(g: GroupPoints, tongue: Tongue) -> str:
    return tongue.word("{points} of {most}", points=f"{g.points:g}", most=f"{g.max:g}")


def compared(
    reference: dict[str, Any],
    trace: dict[str, Any],
    step: int,
    wrong: Sequence[str],
    language: str = "en",
) -> str:
    """The right Trace and a student's as one graph after `step` steps, with a mark on each node
    that is complete by then: right, or wrong, one after the other.

    trace: the reference with the student's numbers, step for step. The classes of the marks are
    those of this module's stylesheet; without it they are all there at once.
    """
    both = Comparison(reference, trace, lang=language).still
    still = to_svg(both, step, groups="open", lang=language, letters=LETTERS)
    svg = _of_its_own_style(still)
    place = laid_out(both, "open", language)["layout"]["nodes"]
    writes = [(w[0], w[1], i) for i, s in enumerate(reference["steps"]) for w in s["writes"]]
    sweep = [w for w in writes if w[1] == "g"]  # in forward mode there is none
    last = {node: i for node, _, i in sweep or writes}
    order = [
        node
        for node, at in sorted(last.items(), key=lambda pair: pair[1])
        if at < step and node in place
    ]
    marks = []
    for i, node in enumerate(order):
        kind, sign = ("w", "✗") if node in wrong else ("r", "✓")
        box = place[node]
        x, y = box["x"] - box["w"] / 2 - 4, box["y"] - box["h"] / 2 - 4
        ring = (
            f'<rect class="ring {kind}" x="{x:g}" y="{y:g}" width="{box["w"] + 8:g}"'
            f' height="{box["h"] + 8:g}" rx="10"/>'
        )
        centre = f'cx="{x + 2:g}" cy="{y + 2:g}"'
        badge = (
            f'<circle class="badge {kind}" {centre} r="10"/><text class="sign" x="{x + 2:g}"'
            f' y="{y + 6.5:g}">{sign}</text>'
        )
        marks.append(f'<g class="verdict a{min(i, LONGEST - 1)}">{ring}{badge}</g>')
    end = _end_of_the_graph(svg)
    return svg[:end] + "".join(marks) + svg[end:].strip()


LETTERS, LEAST_SCALE = 40, 0.63
"""The longest line of the sentence above a narrow graph, and the least scale of a picture: a phone
shows both whole, and scrolls what is wider."""


def _of_its_own_style(svg: str) -> str:
    """A picture whose style is not that of another one on the page, which may have other roles; on
    a phone it stays readable."""
    width = float(svg.partition(' width="')[2].partition('"')[0])
    svg = svg.replace("</style>", f".mg-frame{{min-width:{LEAST_SCALE * width:.0f}px}}</style>")
    style = svg[svg.index("<style>") : svg.index("</style>")]
    return svg.replace("mg-frame", f"mg-frame-{hashlib.sha256(style.encode()).hexdigest()[:8]}")


def _end_of_the_graph(svg: str) -> int:
    """Where the group that holds the graph is closed: the first one with a place of its own. The
    marks have the same place.
    """
    start = svg.index("<g transform=")
    depth = 0
    for tag in re.compile(r"<g\b[^>]*?(/?)>|</g>").finditer(svg, start):
        if tag[0] == "</g>":
            depth -= 1
            if depth == 0:
                return tag.start()
        elif not tag[1]:
            depth += 1
    raise ValueError("an SVG document whose groups are not closed")


# ----------------------------------------------------------------------------------------- markdown


def student_markdown(
    student: str,
    sheet: str,
    judgements: Sequence[Judgement],
    *,
    notes: Sequence[str] = (),
    hints: bool = True,
    language: str = "en",
) -> str:
    """The feedback as text: for a mail, an issue, a terminal."""
    tongue = Tongue(language)
    points, most = sum(j.points for j in judgements), sum(j.max for j in judgements)
    out = [
        f"# {plain_markdown(sheet)}",
        "",
        plain_markdown(student),
        "",
        f"**{_of(points, most, tongue)}**",
        *(f"\n{plain_markdown(tongue.said(note))}" for note in notes),
    ]
    for j in judgements:
        kind, verdict = _state(j, tongue)
        points_here = _of(j.points, j.max, tongue)
        out += ["", f"## {plain_markdown(j.title)}: {verdict}, {points_here}", ""]
        out += [f"| {' | '.join(map(tongue.word, COLUMNS))} |", "|---|---|---|"]
        for g in j.groups:
            sign = "✓" if g.total and g.right == g.total else "✗"
            out.append(
                f"| {sign} {plain_markdown(g.name)} | {_share(g, tongue)} |"
                f" {plain_markdown(tongue.said(g.say))} |"
            )
        if kind == "some":
            if j.misconception:
                out += ["", plain_markdown(tongue.said(j.misconception["say"]))]
            if j.where:
                node = plain_markdown(j.where["node"])
                first = tongue.word("The first wrong node is {node}.", node=node)
                out += ["", f"{first} {plain_markdown(j.where['say'])}"]
            if j.smallest and (
                told := _smallest(j.smallest, plain_markdown, plain_markdown, tongue)
            ):
                out += ["", told]
        if kind != "full" and hints and j.hints:
            out += ["", tongue.word("A first hint: {text}", text=plain_markdown(j.hints[0]))]
    return "\n".join(out) + "\n"


def plain_markdown(text: str) -> str:
    """Text that means nothing in Markdown: no HTML, no link, no picture, no emphasis, no new
    line.
    """
    text = re.sub(r"\s+", " ", text)
    text = html.escape(text.replace("`", "'"), quote=False)
    return re.sub(r"([\\*_\[\]{}#|~!]|(?<=\w):(?=//))", r"\\\1", text)
