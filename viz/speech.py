"""What a Trace says in words: the sentence of a step, the pass that it belongs to, the seeds of the
passes.

A Trace brings its sentences in English. For other languages they are rebuilt from what the step
says as data, as ``static/viewer/speech.js`` does (a browser test holds the two together).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from minigrad.viz.numbers import short
from minigrad.viz.reading import caption, plain, rule_of, runs, symbol_runs
from minigrad.viz.texts import Words, words

from minigrad.trace import Divergence
from minigrad.trace.text import EXPLAINED, REASONS, pass_place, seeds

LONGEST = 30
"""Characters of a question in a card."""
_OVER = "\u0305"
"""The bar over each letter of a longer name."""
TOLD = ("primal", "tangent", "free", "update")
"""Phases whose sentence needs nothing but the node and its value."""


def names_of(trace: Mapping[str, Any]) -> dict[str, str]:
    """How each node is called in a sentence, by its id; behind an arrow, by an edge's, its end with
    how it is made."""
    names = {node["id"]: plain(symbol_runs(node["label"])) for node in trace["nodes"]}
    made = {node["id"]: plain(runs(node.get("expr") or ())) for node in trace["nodes"]}
    ends = ((edge["id"], edge["dst"]) for edge in trace["edges"])
    return names | {f"→{e}": " = ".join(filter(None, (names[to], made[to]))) for e, to in ends}


def sentence(step: Mapping[str, Any], t: Words, names: Mapping[str, str]) -> str:
    """The sentence of a step, in the language of ``t``."""
    if not t.foreign:
        return str(step.get("say") or "")
    if "fails" in step:
        return t("failsWith", **step["fails"])
    decided = [_decision(d, t) for d in step.get("decides", ())]
    return " ".join([_phrase(step, t, names), *decided, *_not_finite(step, t)])


def _not_finite(step: Mapping[str, Any], t: Words) -> list[str]:
    """Why a result is NaN or infinite, or from where it comes."""
    told = step.get("nonfinite")
    if told is None:
        return []
    blanks = {key: plain(runs(told.get(key, []))) for key in ("what", "where")}
    return [t(f"say_{told['why']}", kind=short(told["kind"]), **blanks)]


def phase_name(step: Mapping[str, Any], t: Words) -> str:
    """What a step does; in a comparison, of a step that only the second Trace has, whose it is,
    too."""
    by = step.get("by")
    return t(str(step.get("phase", ""))) + (f" · {by}" if by else "")


def caption_lines(node: Mapping[str, Any], t: Words) -> list[str]:
    """The small lines of a card: the caption, and of a condition the question with its answer and
    what follows; of a drawn box its own lines.
    """
    if "lines" in node:
        return list(node["lines"])
    lines = [caption(node)]
    for one in node.get("decides", ())[:1]:
        asks = one.get("asks", "…")
        asks = _cut(asks, LONGEST)
        if one.get("part"):
            lines.append(t("decides", answer=asks, outcome=_answer(one, t)))
            continue
        lines.append(t(_question(one), asks=asks, answer=_answer(one, t)))
        computes = [_cut(text, LONGEST // 2) for text in one.get("computes", ())]
        lines.append(_outcome({**one, "computes": computes}, t))
    return [line for line in lines if line]


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


def _answer(found: Mapping[str, Any], t: Words) -> str:
    return t("yes" if found["answer"] else "no")


def _question(found: Mapping[str, Any]) -> str:
    return "asksWhile" if found["loop"] else "asksIf"


def _outcome(found: Mapping[str, Any], t: Words) -> str:
    """What follows from a condition: the lines that run and those that do not. Where both stand in
    one line, nothing.
    """
    if found.get("computes"):
        one, other = found["computes"]
        return t("computesOne", one=one, other=other)
    if found["loop"]:
        return t("decidesAgain" if found["answer"] else "decidesEnds")
    spans = {key: (found[key][0], found[key][2]) for key in ("runs", "skips") if key in found}
    if len(spans) == 2 and spans["runs"] == spans["skips"]:
        return ""
    kinds = {"runs": ("lineRuns", "linesRun"), "skips": ("lineSkipped", "linesSkipped")}
    said = {key: t(kinds[key][a != b], a=a, b=b) for key, (a, b) in spans.items()}
    return t("andSkipped", **said) if len(said) == 2 else "".join(said.values())


def _decision(found: Mapping[str, Any], t: Words) -> str:
    """What a condition decided, in words; of one that reads a number, the question too."""
    answer, outcome = _answer(found, t), _outcome(found, t)
    if found.get("read"):
        answer = t(_question(found), asks=found["asks"], answer=answer)
    return t("decides", answer=answer, outcome=outcome) if outcome else answer


def _reckoned(step: Mapping[str, Any], result: str, t: Words) -> str:
    """A step's rule and its result, v̄4 · cos x2 = −0.2837; the result alone where it has no
    rule. The adjoint of a longer name stands in words: a text has bars for single letters only.
    """
    bars = [
        run
        if _OVER not in run.text
        else run._replace(text=f"{run.text.replace(_OVER, '')}({t('g')})")
        for run in runs(rule_of(step))
    ]
    rule = plain(bars)
    return f"{rule} = {result}" if rule and rule != result else result


def _phrase(step: Mapping[str, Any], t: Words, names: Mapping[str, str]) -> str:
    phase, said = step.get("phase"), str(step.get("say") or "")
    written, part = (
        (step.get("writes") or [[None, None, None]])[0],
        (step.get("contribs") or [None])[0],
    )
    value, node = short(written[2]), names.get(step["node"], step["node"])
    if phase == "seed":
        kind = "d" if written[1] == "d" else "one" if value == "1" else "g"
        return t(f"say_seed_{kind}", node=node, value=value)
    if phase in ("adjoint", "accumulate"):
        sent = short(part["product"]) if part else value
        so_far = t("soFar") if said.endswith(" so far.") else ""
        sender = "、".join(names.get(f"→{edge}", edge) for edge in step["edges"])
        blanks = {"node": node, "value": value, "soFar": so_far, "from": sender}
        blanks["part"] = _reckoned(step, sent, t)
        summed = t("say_broadcast", **blanks) if "was broadcast" in said else ""
        return summed + t(f"say_{phase}", **blanks)
    return t(f"say_{phase}", node=node, value=_reckoned(step, value, t)) if phase in TOLD else said


def pass_text(trace: Mapping[str, Any], t: Words, index: int | None) -> str:
    """Which pass a step belongs to, where a Trace holds several: "Reverse mode, pass 2 of 3,
    seeded with 1 at v2"; else nothing.
    """
    found = pass_place(trace, index)
    if found is None:
        return ""
    return t("passSeeded" if found["at"] else "passPlain", **{**found, "mode": t(found["mode"])})


def titled(trace: Mapping[str, Any], t: Words) -> str:
    """The Trace's title. The one word that a title of our own may have, a Jacobian's, is said in
    the language; the user's are kept.
    """
    title, own = str(trace.get("title") or ""), words()("view_jacobian") + ": "
    return (
        t("view_jacobian") + ": " + title.removeprefix(own)
        if trace.get("jacobian") and title.startswith(own)
        else title
    )


def spoken(trace: Mapping[str, Any], t: Words) -> dict[str, Any]:
    """The document that a still in this language is drawn from, before its nodes are grouped: a
    sentence names nodes that a group hides.

    Its sentences and columns are those of the language, and ``"seeded"`` holds for each mode of a
    Trace of single passes the words ("Forward mode, seed") and the seeds as tokens (ẋ1 = 1, ẋ2 =
    0).
    """
    names = names_of(trace)
    steps = (
        [{**step, "say": sentence(step, t, names)} for step in trace["steps"]]
        if t.foreign
        else trace["steps"]
    )
    columns = [
        {**column, "label": t(column["key"]) if column["key"] in "vdg" else column.get("label", "")}
        for column in trace["columns"]
    ]
    return {
        **trace,
        "title": titled(trace, t),
        "steps": steps,
        "columns": columns,
        "seeded": [(t("seeded", mode=t(mode)), tokens) for mode, tokens in seeds(trace)],
    }


def beside(found: Divergence, names: Sequence[str], t: Words) -> str:
    """A difference without a verdict: what either Trace has. names: how the two are called."""
    first, second = (
        t("pairMissingValue")
        if one is None
        else ", ".join(one)
        if isinstance(one, list)
        else short(one)
        for one in (found.expected, found.got)
    )
    name = "pairPlain" if found.column else "pairMade" if found.kind == "structure" else "pairSizes"
    blanks = {"node": found.node, "column": t(str(found.column)), "a": names[0], "b": names[1]}
    return t(name, **blanks, first=first, second=second)


def difference(
    trace: Mapping[str, Any], found: Divergence | None, t: Words, names: Sequence[str]
) -> str:
    """Where two Traces part, or that they do not, in the language of ``t``. trace: the first of
    the two, which are called ``names``.
    """
    if found is None:
        return t("pairSame")
    said = _difference(trace, found, t, names) if t.foreign else found.say
    return where_they_part(found, said, t)


def where_they_part(found: Divergence, say: str, t: Words) -> str:
    """The first difference, of values or of graphs, with its step if it has one."""
    plain, at = ("pairIs", "pairAt") if found.column else ("pairGraphs", "pairGraphsAt")
    return t(plain, say=say) if found.step is None else t(at, step=found.step + 1, say=say)


def _difference(trace: Mapping[str, Any], found: Divergence, t: Words, names: Sequence[str]) -> str:
    """The difference as a sentence, rebuilt from what it says as data, as
    ``static/viewer/hosts.js`` does."""
    if found.column is None:
        return beside(found, names, t)
    along = next((edge for edge in trace["edges"] if edge["id"] == found.edge), None)
    sender = along and along["dst" if along["src"] == found.node else "src"]
    blanks = {"node": found.node, "column": t(found.column), "sender": sender}
    blanks |= {"expected": short(found.expected), "got": short(found.got)}
    number = (
        isinstance(found.expected, int | float)
        and not isinstance(found.expected, bool)
        and found.expected != 0
    )
    hint = (
        f" {t('pairSwapped', swapped=found.swapped)}"
        if found.swapped
        else f" {t('pairSign')}"
        if number and found.got == -found.expected
        else ""
    )
    return (
        t(
            "pairMissing" if found.kind == "missing" else "pairEdge" if along else "pairValue",
            **blanks,
        )
        + hint
    )


def beginning(trace: Mapping[str, Any], t: Words) -> str:
    """What a picture of the beginning says. (The viewer says there which keys take the first
    step; a picture has no keys.)
    """
    steps = len(trace["steps"])
    return t("stillStartOne" if steps == 1 else "stillStart", n=steps) if steps else t("empty")


def table_words(t: Words) -> dict[str, str] | None:
    """The words of the text tables (:func:`minigrad.trace.table`) in another language; None for
    English, which they have themselves.
    """
    if not t.foreign:
        return None
    kinds = {kind: t(kind) for kind in ("input", "const", "param")}
    heads = {
        "node": t("node"),
        "is": t("made"),
        "v": t("v"),
        "d": t("d"),
        "g": t("g"),
        "step": t("slider"),
        "tangent is": f"{t('d')}的{t('made')}",
        "jacobian": t("view_jacobian"),
    }
    parts = {
        "values": t("table"),
        "both": f"{t('table')}，{t('forward')}",
        "forward": t("forward"),
        "reverse": t("reverse"),
    }
    return {
        **kinds,
        **heads,
        **parts,
        "seeded": _blanks(t, "seeded"),
        "pass": _blanks(t, "passPlain"),
        "pass at": _blanks(t, "passSeeded"),
        **{f"fn_{name}": t(f"fn_{name}") for name in EXPLAINED},
        **{f"say_{why}": _blanks(t, f"say_{why}") for why in REASONS},
    }


def _blanks(t: Words, name: str) -> str:
    """A text with its blanks left open."""
    return t(
        name,
        **{blank: f"{{{blank}}}" for blank in ("mode", "k", "n", "at", "what", "where", "kind")},
    )
