"""What a Trace says in words: the sentence of a step, the pass that it belongs to, the seeds of the
passes.

A Trace brings its sentences in English. For other languages they are rebuilt from what the step
says as data, as ``static/viewer/speech.js`` does (a browser test holds the two together).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from minigrad.viz.numbers import short
from minigrad.viz.reading import caption, plain, rule_of, runs, symbol_runs
from minigrad.viz.texts import Words, words

from minigrad.trace import Divergence
from minigrad.trace.diff import entries_apart, entry_apart
from minigrad.trace.text import EXPLAINED, REASONS, is_sign, pass_place, seeds
from minigrad.watch.notation import Tokens, broadcast_axes, slope
from minigrad.watch.sentences import LONGEST_MADE, LONGEST_SLOPE

LONGEST = 30
"""Characters of a question in a card."""
_OVER = "\u0305"
"""The bar over each letter of a longer name."""


class Names(NamedTuple):
    """What sentences say of a Trace's nodes: how each is called, by its id, and how it is made; the
    nodes and edges themselves; how many operands each has; and of an operand that occurs more than
    once which of them an edge comes from, counted from 1."""

    called: dict[str, str]
    made: dict[str, str]
    nodes: dict[str, Mapping[str, Any]]
    edges: dict[str, Mapping[str, Any]]
    operands: Mapping[str, int]
    which: dict[str, int]

    def equal(self, node: str) -> str:
        """v2 = a · b, where the expression is short enough for a sentence."""
        name, made = self.called[node], self.made[node]
        return f"{name} = {made}" if 0 < len(made) <= LONGEST_MADE else name


def names_of(trace: Mapping[str, Any]) -> Names:
    """The names that sentences use."""
    nodes = {node["id"]: node for node in trace["nodes"]}
    alike: dict[tuple[str, str], list[str]] = {}
    for edge in sorted(trace["edges"], key=lambda edge: edge["slot"]):
        alike.setdefault((edge["src"], edge["dst"]), []).append(edge["id"])
    return Names(
        {name: plain(symbol_runs(node["label"])) for name, node in nodes.items()},
        {name: plain(runs(node.get("expr") or ())) for name, node in nodes.items()},
        nodes,
        {edge["id"]: edge for edge in trace["edges"]},
        Counter(edge["dst"] for edge in trace["edges"]),
        {e: i for same in alike.values() if len(same) > 1 for i, e in enumerate(same, 1)},
    )


def sentence(step: Mapping[str, Any], t: Words, names: Names) -> str:
    """The sentence of a step, in the language of ``t``."""
    if not t.foreign:
        return str(step.get("say") or "")
    if "fails" in step:
        return t("failsWith", **step["fails"])
    decided = [_decision(d, t) for d in step.get("decides", ())]
    of = step.get("despite")
    despite = [t("say_despite", what=names.called[of], kind="NaN")] if of else []
    return " ".join([_phrase(step, t, names), *decided, *_not_finite(step, t), *despite])


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


def _phrase(step: Mapping[str, Any], t: Words, names: Names) -> str:
    """What the step does, from its fields alone."""
    phase, node = step.get("phase"), names.nodes[step["node"]]
    column, written = (step.get("writes") or [[None, None, None]])[0][1:]
    blanks = {"node": names.called[node["id"]], "value": short(written)}
    if phase == "seed":
        kind = "d" if column == "d" else "one" if blanks["value"] == "1" else "g"
        return t(f"say_seed_{kind}", **blanks)
    if phase in ("adjoint", "accumulate"):
        return _sent(step, t, names) + _received(step, blanks, t)
    rule = _reckoned(step, blanks["value"], t)
    if phase == "tangent":
        if told := _derivatives(step, t, names):
            return told + t("colon") + t("say_tangent", **blanks)
        return t("say_tangent", node=names.equal(node["id"]), value=rule)
    if phase == "primal" and not step["writes"]:
        return t("say_unkept", **blanks)
    if phase == "primal":
        again = t("say_again") if "keep" in step else ""
        if node["kind"] in ("input", "param", "const"):
            blanks["node"] = f"{t(node['kind'])} {blanks['node']}"
        return again + t("say_primal", node=blanks["node"], value=rule) + _memory(node, t, names)
    if phase == "free" and "memory" in node:
        return t("say_unread", bytes=f"{node['memory'].get('bytes', 0):,}", **blanks)
    if phase == "free":
        told = "、".join(names.called[n] for n in step.get("free") or [node["id"]])
        holds = "、".join(names.called[n] for n in step.get("holds", ()))
        return t("say_free", **{"names": told, "from": holds and t("say_out_of", holds=holds)})
    if phase == "update":
        return _updated(step, blanks, rule, t, names)
    return str(step.get("say") or "")


def _memory(node: Mapping[str, Any], t: Words, names: Names) -> str:
    """In which memory of a program a result lies."""
    memory = node.get("memory", {})
    if "of" in memory:
        return t("say_view", node=names.called[memory["of"]])
    return t("say_at", at=f"{memory['at']:,}") if "at" in memory else ""


def _operand(edge: str, t: Words, names: Names) -> str:
    """The operand that an edge comes from; of several that are alike, which of them."""
    name = names.called[names.edges[edge]["src"]]
    return t("say_which", n=names.which[edge], node=name) if edge in names.which else name


def _derivatives(step: Mapping[str, Any], t: Words, names: Names) -> str:
    """The derivatives of the operation that sends or receives, by which operand, where it has
    several: sin b 的导数是 cos b = 0.2837. "" where the step has none."""
    parts = step.get("contribs") or []
    to = {names.edges[part["edge"]]["dst"] for part in parts}
    rules = _rules(rule_of(step), len(parts))
    slopes = [_slope(*one) for one in zip(rules, parts, strict=False)]
    if len(to) != 1 or not slopes or None in slopes:
        return ""
    (made,) = to
    blanks = {"made": names.made[made], "slope": slopes[0]}
    if names.operands[made] == 1:
        return t("say_derivative", **blanks)
    by = [_operand(part["edge"], t, names) for part in parts]
    told = [t("say_by", to=one, slope=slope) for one, slope in zip(by, slopes, strict=True)]
    return t("say_derivatives", made=blanks["made"], slopes=t("comma").join(told))


def _rules(rule: Tokens, count: int) -> list[Tokens]:
    """The terms of a rule, one for each of so many operands; none where they cannot be told
    apart."""
    if count == 1:
        return [rule]
    terms: list[Tokens] = [[]]
    depth = 0
    for i, token in enumerate(rule):
        text = token["text"] if token["t"] == "op" else ""
        if not depth and text in ("+", "−") and not is_sign(rule, i):
            terms.append([] if text == "+" else [token])
            continue
        depth += {"(": 1, ")": -1}.get(text, 0)
        terms[-1].append(token)
    return terms if len(terms) == count else []


def _slope(rule: Tokens, part: Mapping[str, Any]) -> str | None:
    """The derivative by which a rule multiplies an adjoint or a tangent, in symbols and, of one
    number, as a number: cos x2 = 0.2837. None where it is no product of real numbers."""
    local, told = part.get("local"), [part[key] for key in ("upstream", "product")]
    if any(map(_is_complex, [*told, local])) or (local is None and "pointwise" not in part):
        return None
    fractions = [token["num"][0] for token in rule if token["t"] == "frac"]
    if not rule or any(str(first.get("text")).startswith("∂") for first in fractions):
        return "0" if _is_zero(local) else None  # no rule is known, or one that is 0
    made = plain(runs(slope(rule)))
    if isinstance(local, dict) or local is None:
        return made
    found = short(local)
    return found if made == found or len(made) > LONGEST_SLOPE else f"{made} = {found}"


def _is_complex(value: Any) -> bool:
    """Whether a value is complex, or an array of complex numbers."""
    told = value if isinstance(value, dict) else {}
    return "re" in told or str(told.get("dtype", "")).startswith("complex")


def _is_zero(value: Any) -> bool:
    """Whether a value is 0, or an array of zeros."""
    return value == 0 or (isinstance(value, dict) and value.get("min") == value.get("max") == 0)


def _sent(step: Mapping[str, Any], t: Words, names: Names) -> str:
    """What is sent along which edge, and why so much."""
    edges, part = step["edges"], (step.get("contribs") or [{}])[0]
    product = short(part["product"]) if part else short(step["writes"][0][2])
    senders = [names.edges[edge]["dst"] for edge in edges]
    to = _operand(edges[0], t, names) if edges else names.called[step["node"]]
    blanks = {"from": "、".join(map(names.called.__getitem__, senders)), "to": to}
    made = "、".join(map(names.equal, senders))
    blanks |= {"part": _reckoned(step, product, t), "made": made}
    axes, whole = _summed(step, part)
    if len(edges) != 1 or not axes:
        if told := _derivatives(step, t, names):
            return told + t("colon") + t("say_sends", **{**blanks, "part": product})
        return t("say_sends", **{**blanks, "from": made})
    blanks["axes"] = ", ".join(map(str, axes))
    if len(axes) > 1 or len(whole) != 2:
        return t("say_spread", **blanks)
    lines = t("say_columns" if axes[0] else "say_rows")
    return t("say_spread_lines", n=whole[axes[0]], lines=lines, **blanks)


def _summed(
    step: Mapping[str, Any], part: Mapping[str, Any]
) -> tuple[tuple[int, ...], Sequence[int]]:
    """Where what is sent is a sum that undoes a broadcast, the axes of the sum, and the shape of
    what they are axes of."""
    whole, own = (
        value["shape"] if isinstance(value, dict) and "shape" in value else []
        for value in (part.get("upstream"), part.get("product"))
    )
    pairs = zip(reversed(own), reversed(whole), strict=False)
    fits = len(own) <= len(whole) and all(n in (1, m) for n, m in pairs)
    if not fits or rule_of(step)[:1] != [{"t": "fn", "text": "sum"}]:
        return (), whole
    return broadcast_axes(whole, own), whole


def _received(step: Mapping[str, Any], blanks: dict[str, str], t: Words) -> str:
    """What the adjoint is afterwards."""
    part = (step.get("contribs") or [{}])[0]
    before = "before" in part and short(part["before"])
    signs = [token["text"] for token in step["formula"] if token["t"] == "op"]
    if "→" in signs and "+=" not in signs:  # the engine has another adjoint than the sum
        was = t("say_was", before=before) if before else ""
        return t("say_other", was=was, **blanks)
    if before:
        return t("say_accumulate", before=before, **blanks)
    if step["phase"] == "accumulate":
        return t("say_now", **blanks)
    return t("say_adjoint", soFar=t("say_so_far") if step.get("partial") else "", **blanks)


def _updated(
    step: Mapping[str, Any], blanks: dict[str, str], rule: str, t: Words, names: Names
) -> str:
    """A parameter after an optimiser's step, or another adjoint than the sum of what was sent."""
    formula = step["formula"]
    (written, column, value), *_ = step["writes"]
    if column == "v":
        states = [plain(runs(tokens)) for tokens in step.get("state", ())]
        told = states and not isinstance(value, dict)  # of arrays the numbers would be too many
        blanks["more"] = t("say_with", states=t("comma").join(states)) if told else ""
        blanks |= {"owner": names.nodes[written]["op"], "old": names.called[step["reads"][0][0]]}
        return t("say_update", **{**blanks, "value": rule})
    if [token.get("text") for token in formula[1:2]] == ["+="]:
        return t("say_outside", part=short(formula[-1]["value"]), **blanks)
    return t("say_replaced", **blanks)


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
    graphs = {"structure": "pairMade", "extra": "pairExtra", "missing": "pairLacks"}
    of_sizes = isinstance(found.expected, int)
    name = "pairPlain" if found.column else "pairSizes" if of_sizes else graphs[found.kind]
    told = {"node": found.node, "column": t(str(found.column)), "a": names[0], "b": names[1]}
    shown = blanks(found.expected, found.got, t)
    return t(name, **told, **shown) + shown["counted"]


def blanks(a: Any, b: Any, t: Words) -> dict[str, str]:
    """What the sentences about two values that differ are filled with: both values, of arrays those
    of the first entry that differs, with its index, and how many do."""
    at, *shown = entry_apart(a, b)
    first, second = (
        t("pairMissingValue")
        if one is None
        else ", ".join(one)
        if isinstance(one, list)
        else short(one)
        for one in shown
    )
    count = entries_apart(b)
    counted = f" {t('pairCounted', n=count[0], all=count[1])}" if count else ""
    told = {"at": at and t("pairEntry", at=at), "counted": counted}
    return {**told, "expected": first, "got": second, "first": first, "second": second}


def difference(
    trace: Mapping[str, Any], found: Divergence | None, t: Words, names: Sequence[str]
) -> str:
    """Where two Traces part, or that they do not, in the language of ``t``. trace: the first of
    the two, which are called ``names``.
    """
    if found is None:
        first, second = names
        named = {first, second}.isdisjoint((t("pairFirst"), t("pairSecond")))
        return t("pairSameNamed", first=first, second=second) if named else t("pairSame")
    # the one of the two that has an operation alone is named
    alone = not found.column and found.kind != "structure" and not isinstance(found.expected, int)
    said = _difference(trace, found, t, names) if t.foreign or alone else found.say
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
    shown = blanks(found.expected, found.got, t)
    told = {**shown, "node": found.node, "column": t(found.column), "sender": sender}
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
        else f" {t('pairSignOf', node=found.flipped[0], value=short(found.flipped[1]))}"
        if found.flipped
        else ""
    )
    return (
        t(
            "pairMissing" if found.kind == "missing" else "pairEdge" if along else "pairValue",
            **told,
        )
        + hint
        + shown["counted"]
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
