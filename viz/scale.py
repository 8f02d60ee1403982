"""Graphs too large to be shown in full detail: what a reader can be told instead of being kept
waiting.

Beyond a limit the reader gets neither a hang nor a bare refusal, but the counts by operation and by
module, the length of the longest chain, the memory of the values, and what to do to see a part.
"""

from __future__ import annotations

import html
import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from minigrad.viz.texts import Words, words

FULL_DETAIL = 5_000
"""Nodes up to which a Trace is laid out and sent to a browser. Up to here, groups keep the
picture small (static/viewer/groups.js).
"""

KINDS = ("input", "const", "param")
"""Kinds of nodes that no operation made."""

_SHOWN = 12  # rows of each list


class TooLarge(ValueError):
    """A picture of so many nodes cannot be read by anybody; the message is the overview."""


class Overview(NamedTuple):
    """What can be said of a graph without drawing it. title: empty if the Trace has none. Bytes
    are those of all values together.
    """

    title: str
    nodes: int
    edges: int
    steps: int
    longest: int
    bytes: int
    operations: list[tuple[str, int]]
    groups: list[tuple[str, int]]
    phases: list[tuple[str, int]]


def too_large(trace: Mapping[str, Any]) -> bool:
    """Whether the Trace has more nodes than are shown in full detail."""
    return len(trace["nodes"]) > FULL_DETAIL


def overview(trace: Mapping[str, Any]) -> Overview:
    """Counts and sizes of a Trace, in time proportional to its length."""
    depth: dict[str, int] = {}
    into: dict[str, list[str]] = {}
    for edge in trace["edges"]:
        into.setdefault(edge["dst"], []).append(edge["src"])
    for node in trace["nodes"]:
        depth[node["id"]] = 1 + max(
            (depth.get(src, 0) for src in into.get(node["id"], ())), default=0
        )
    operations = Counter(str(n.get("op") or n.get("kind")) for n in trace["nodes"])
    groups = Counter(str(n["group"]).split("/")[-1] for n in trace["nodes"] if n.get("group"))
    return Overview(
        title=str(trace.get("title") or ""),
        nodes=len(trace["nodes"]),
        edges=len(trace["edges"]),
        steps=len(trace["steps"]),
        longest=max(depth.values(), default=0),
        bytes=sum(
            math.prod(n.get("shape") or []) * _itemsize(str(n.get("dtype", "float64")))
            for n in trace["nodes"]
        ),
        operations=operations.most_common(),
        groups=groups.most_common(),
        phases=Counter(str(s["phase"]) for s in trace["steps"]).most_common(),
    )


def _itemsize(dtype: str) -> int:
    digits = re.search(r"\d+$", dtype)
    return 1 if digits is None else int(digits[0]) // 8


def as_text(found: Overview, lang: str = "en") -> str:
    """The overview in plain text. Raises ValueError for an unknown language."""
    t = words(lang)
    lines = [found.title or t("table"), "", _size(found, t), "", _sizes(found, t)]
    for name, rows in _lists(found, t):
        lines += ["", name, *(f"  {count:>10,}  {what}" for what, count in rows[:_SHOWN])]
        lines += [f"  … {t('further', n=len(rows) - _SHOWN)}"] if len(rows) > _SHOWN else []
    return "\n".join(lines)


def refusal(title: str, lang: str = "en") -> str:
    """What is said where the recording was stopped at FULL_DETAIL nodes, so that nothing but that
    is known of the graph.

    Raises ValueError for an unknown language.
    """
    t = words(lang)
    return f"{title or t('table')}\n\n{_advice(t('largeMore', most=f'{FULL_DETAIL:,}'), t)}"


def as_html(found: Overview, lang: str = "en") -> str:
    """The overview as HTML tables, for the page that stands in the stepper's place. Raises
    ValueError for an unknown language.
    """
    t = words(lang)
    parts = [
        f"<h1>{html.escape(found.title or t('table'))}</h1>",
        f"<p>{_size(found, t)}</p><p>{_sizes(found, t)}</p>",
    ]
    for name, rows in _lists(found, t):
        body = "".join(
            f"<tr><th scope='row'>{html.escape(what)}</th><td>{count:,}</td></tr>"
            for what, count in rows[:_SHOWN]
        )
        more = f"<p>{t('further', n=len(rows) - _SHOWN)}</p>" if len(rows) > _SHOWN else ""
        parts.append(f"<table><caption>{name}</caption><tbody>{body}</tbody></table>{more}")
    return "".join(parts)


def _size(found: Overview, t: Words) -> str:
    return _advice(t("largeWhat", n=f"{found.nodes:,}", most=f"{FULL_DETAIL:,}"), t)


def _advice(size: str, t: Words) -> str:
    return f"{size}{'' if t.foreign else ' '}{t('largeAdvice')}"


def _sizes(found: Overview, t: Words) -> str:
    return t(
        "largeSizes",
        **{name: f"{getattr(found, name):,}" for name in ("edges", "steps", "longest", "bytes")},
    )


def _lists(found: Overview, t: Words) -> list[tuple[str, Sequence[tuple[str, int]]]]:
    """The lists that are not empty. Operations and modules have their own names; kinds of nodes
    and phases are said in the language.
    """
    operations = [(t(what) if what in KINDS else what, count) for what, count in found.operations]
    phases = [(t(what), count) for what, count in found.phases]
    named = [
        (t("largeOperations"), operations),
        (t("largeModules"), found.groups),
        (t("largePhases"), phases),
    ]
    return [(name, rows) for name, rows in named if rows]
