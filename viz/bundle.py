"""The viewer's parts, joined into the one module and the one stylesheet that every host needs.

The viewer is written in many small files and shipped as one. Its parts in ``static/viewer`` are
ordinary ES modules that import one another by name, which is how they are read; a notebook, a cell
output and a page opened from a file can load one module only, and none of its imports. Joining is
simple because every top-level name of the viewer is unique: the parts are put one after another,
each behind those that it imports, and the words ``import`` and ``export`` are taken away.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from minigrad.trace.schema import COLUMNS, KINDS, PHASES

STATIC = Path(__file__).parent / "static"
# Of lines: each begins with the end of the one before, which `re` finds faster than ^ with re.M.
_IMPORT = re.compile(r'\nimport \{[^}]*\} from "(\.{1,2}/[^"]+)";(?=\n)')
_JSON = re.compile(
    r'\nimport (\w+) from "(\.{1,2}/(?:[\w.]+/)*\1\.json)" with \{ type: "json" \};(?=\n)'
)
_EXPORT = re.compile(r"\nexport (?=(?:async )?function |const |let |class )")
_OTHER_LANGUAGES = re.compile(r"^  (?!en:)[a-z]{2}: \{\n.*?^  \},\n", re.M | re.S)
_AS_NAMED = re.compile(r'^    (\w+): "\1",\n', re.M)
_OTHER_TITLES = re.compile(r', zh: "[^"]*"')


OF_NUMBERS = {
    "viewer/arrays.js": """
import constants from "./constants.json" with { type: "json" };
import { short } from "./numbers.js";
export const { row: ROW, line: LINE } = constants.card, HEAT = 0;
export const kindOf = () => "line", rowHeight = () => ROW, linesOf = (value) => [short(value)];
export const heatOf = () => null, heatMap = heatOf, rangeIn = heatOf, pickEntry = heatOf;
export const wordsOfArrays = () => [];
""",
    "viewer/array_rows.js": "\nexport const inRows = (tokens) => [tokens];\n",
    "viewer/array_text.js": '\nexport const shapeText = () => "", inline = shapeText;\n',
    "viewer/explained.js": r"""
export const explained = (step, t) => [
  ...new Set(JSON.stringify(step?.formula)?.match(/(?<="fn","text":")(?:where|cast)/g)),
].map((name) => t(`fn_${name}`)).join("\n");
""",
    "viewer/summaries.js": """
import { short } from "./numbers.js";
export const brief = (value) => short(value), factorText = brief;
export const full = (value) =>
  typeof value === "number" ? String(value).replaceAll("-", "−") : short(value);
""",
    "views/array_questions.js": """
export const askedOfArray = ({ writes: [[, , value]] }) =>
  typeof value === "object" ? null : { kind: "number", value };
export const readShape = () => undefined, ofArray = (question) => question;
""",
    "viewer/workings.js": """
import { arithmetic, equation } from "./formulas.js";
export const workings = (step, state) =>
  arithmetic(step, state).map((tokens) => equation(tokens, 0));
export const formulaBeside = (worked, { formula = [] }) => formula;
""",
    "viewer/shape_labels.js": """
export const edgeShape = () => "", placeShapes = () => new Map();
export const shapeBox = () => null, drawShape = shapeBox, markUntold = shapeBox;
""",
}
"""Parts of the viewer as they are where all values are single numbers."""
OF_ONE_PASS = {
    "viewer/speech.js": """
export const sentence = ({ say }) => say, passText = () => "";
export const phaseOf = ({ phase }, t) => t(phase);
export const decidedLines = () => [];
"""
}
"""Its sentences in one pass over numbers that is told in English and decides nothing."""
IN_ENGLISH = {"viewer/phrases.js": '\nexport const rebuilt = () => "";\n'}
"""Its sentences where all are told as the Trace has them."""
OF_ONE_TRACE = {
    "viewer/beside.js": """
export const cellsBeside = () => ({ shown: () => undefined });
export const markBeside = () => null, legendBeside = markBeside, widenBeside = markBeside;
export const markDifference = markBeside;
export const unlikeText = () => "";
""",
    "viewer/two_sources.js": "\nexport const withOther = (trace, own) => own;\n",
}
"""Its comparisons of one Trace."""
INSTEAD = {
    "beside": OF_ONE_TRACE,
    "speech": OF_ONE_PASS,
    "groups": {
        "viewer/groups.js": """
export const groupTree = () => null, operationsIn = groupTree, openAtFirst = groupTree;
export const groupsAround = groupTree, visible = groupTree, setIn = groupTree;
export const rowsOf = groupTree, groupRow = groupTree;
""",
        "viewer/group_cards.js": """
export const drawGroup = () => null, groupSize = drawGroup, groupBar = () => ({});
""",
    },
    "dangling": {"viewer/hatch.js": "\nexport const hatched = () => null;\n"},
    "generations": {"viewer/generations.js": "\nexport const generationsIn = () => null;\n"},
    "inflated": {"viewer/inflated.js": "\nexport const inflated = () => null;\n"},
    "problem": {"viewer/problem.js": "\nexport const problem = () => null;\n"},
    "rounds": {"viewer/round_keys.js": "\nexport const ROUND_KEYS = [], toRound = () => null;\n"},
    "unseen": {"viewer/unseen.js": "\nexport const sayUnseen = () => null;\n"},
    "source": {"viewer/source.js": "\nexport const drawSource = () => null, LINE_KEYS = [];\n"},
}
"""Parts as they are where a Trace has nothing for them, by what is left out."""


def parts(
    first: Path = STATIC / "viewer" / "main.js",
    without: Sequence[str] = (),
    instead: Mapping[str, str] | None = None,
) -> dict[Path, str]:
    """The module's files and their texts, in the order in which they can run: each after those that
    it imports. without: the names of further views that are left out. instead: texts of parts, by
    folder and name, in place of their files'.

    Raises:
        ValueError: parts that import one another in a circle; the message names them.
    """
    done: dict[Path, str] = {}
    open_: list[Path] = []

    def visit(path: Path) -> None:
        if path in done:
            return
        if path in open_:
            raise ValueError(
                "the viewer's parts import one another in a circle: "
                + " → ".join(p.name for p in [*open_, path])
            )
        open_.append(path)
        text = (instead or {}).get("/".join(path.parts[-2:])) or path.read_text(encoding="utf-8")
        if path.name == "views.js":
            text = _without_views(text, without)
        for one in _imported(path, text):
            visit(one)
        open_.pop()
        done[path] = text

    visit(first.resolve())
    return done


@cache
def script(
    without: tuple[str, ...] = (),
    lang: str | None = None,
    first: tuple[str, ...] = ("main",),
) -> str:
    """The viewer as one ES module that imports nothing. Its default export is the hook of
    anywidget; ``mount`` shows a Trace.

    without: what is left out: names of views, and of :data:`INSTEAD`; without the views of arrays,
    all values are single numbers. lang: the one language of the texts, if it is English (which
    stands for missing words of others). first: the modules whose exports are used; of "viewer"
    alone, ``mountTrace``.
    """
    instead = (of_numbers() if only_numbers(without) else {}) | (IN_ENGLISH if lang == "en" else {})
    for name in without:
        instead |= INSTEAD.get(name, {})
    modules: dict[Path, str] = {}
    for name in first:
        path = STATIC / "viewer" / f"{name}.js"
        modules |= parts(path, without, instead)
    text = as_one(_deepest_first(modules))
    return in_english(text) if lang == "en" else text


def only_numbers(without: Sequence[str]) -> bool:
    """Whether all values are single numbers, by what is left out."""
    return {"arrays", "element", "buffers"} <= set(without)


def of_numbers() -> dict[str, str]:
    """Parts of the viewer as they are where all values are single numbers; its constants are those
    without the shapes on edges and the sizes of arrays that are shown in full."""
    constants = json.loads((STATIC / "viewer" / "constants.json").read_text("utf-8"))
    for name in ("shape", "whole", "listed"):
        del constants[name]
    return {**OF_NUMBERS, "viewer/constants.json": json.dumps(constants)}


def _imported(path: Path, text: str) -> list[Path]:
    lines = f"\n{text}"
    names = [*(found for _, found in _JSON.findall(lines)), *_IMPORT.findall(lines)]
    return [Path(os.path.normpath(path.parent / name)) for name in names]


def _deepest_first(modules: Mapping[Path, str]) -> dict[Path, str]:
    """Each module behind those that it imports, and of those that may come next the one with the
    longest chain of imports: the program compresses better than in the order of reading."""
    needs = {path: _imported(path, text) for path, text in modules.items()}
    depth: dict[Path, int] = {}
    for path in modules:  # behind those that it imports
        depth[path] = 1 + max((depth[one] for one in needs[path]), default=0)
    found: dict[Path, str] = {}
    while len(found) < len(modules):
        ready = [p for p in modules if p not in found and found.keys() >= {*needs[p]}]
        path = max(ready, key=lambda one: (depth[one], str(one)))
        found[path] = modules[path]
    return found


def as_one(modules: Mapping[Path, str]) -> str:
    """Modules that import one another as one that imports nothing."""
    return "\n".join(_plain(*part) for part in modules.items())


def around_texts(text: str) -> tuple[str, str, str]:
    """The viewer's module before the table of its texts, this table, and what follows it."""
    start = text.index("const TEXTS = {")
    end = text.index("\n};", start) + 1
    return text[:start], text[start:end], text[end:]


def in_english(text: str) -> str:
    """The viewer's module without the texts of other languages, and without the words that are
    their own names: a name that has no text stands for itself."""
    before, words, after = around_texts(text)
    before, after = (_OTHER_TITLES.sub("", part) for part in (before, after))
    return before + _AS_NAMED.sub("", _OTHER_LANGUAGES.sub("", words)) + after


_WORD = re.compile(r'^    (\w+):\s*"(?:[^"\\]|\\.)*"(?:\s*\+\s*"(?:[^"\\]|\\.)*")*,\n', re.M)
_RULE = re.compile(r"([^{}]+)\{[^{}]*\}")
_EMPTY = re.compile(r"[^{};]+\{\}")
_VARIABLE = re.compile(r"(?<=[{;])(--[\w-]+):[^;{}]*(?:;|(?=\}))")
_CLASS = re.compile(r"\.(mgx?-[\w-]+)")
_WORDS_OF_ARRAYS = (  # of single numbers two functions are explained
    r"fn_(?!where$|cast$)|(?:ask|not)Shape|shapeOf|ask\w*Element|hintTransposed|cutSummary"
)
_WORDS_OF = {
    "jacobian": "word_jacobian|askEntry", "rounds": "word_round", "stages": r"stage[\dJ]",
    "groups": "groups|openAll|closeAll|close$|following|press_open", "fails": "fails",
    "checkpoints": "memory(?:Twice|Again|Gone|Drop)$", "source": "source$", "dangling": "dangling",
    "cast": "fn_cast$", "where": "fn_where$", "log": "hintBase$", "angles": "hintDegrees$",
    "trainings": "(?:sizes|path)$", "unplaced": "noLayout$", "stepless": "empty$",
    "growing": "unborn$", "nonfinite": "atStep$", "all kept": "memoryKept$",
}  # fmt: skip
"""Words that a page without the part does not say."""
_INSIDE = r"\((?:[^()]|\([^()]*\))*\)"
_BETWEEN = re.compile(rf",(?!(?:[^()]|{_INSIDE})*\))")
"""The commas between the selectors of a rule, and not those inside of parentheses."""


class _Mentioned:
    """Whether a program has a word, or begins it: as `stage${n}` begins `stage1`. quoted: as a text
    of its own."""

    def __init__(self, program: str, *, quoted: bool = False) -> None:
        self.words = set(re.findall(r"""["'`](\w+)["'`]""" if quoted else r"[\w-]+", program))
        self.beginnings = tuple(re.findall(r"([\w-]{3,})\$\{", program))

    def __call__(self, word: str) -> bool:
        return word in self.words or word.startswith(self.beginnings)


def with_its_words(text: str, without: Sequence[str] = ()) -> str:
    """The module with those words of the interface that it or a Trace names. without: what is left
    out.
    """
    before, words, after = around_texts(text)
    mentioned = _Mentioned(before + after, quoted=True)
    of_traces = {*PHASES, *KINDS, *COLUMNS}
    unused = [_WORDS_OF_ARRAYS] if only_numbers(without) else []
    unused += [of for view, of in _WORDS_OF.items() if view in without]
    elsewhere = re.compile("|".join(unused) or r"(?!)")
    named = lambda word: word in of_traces or (mentioned(word) and not elsewhere.match(word))
    kept = lambda w: w[0] if named(w[1]) else ""
    return before + _WORD.sub(kept, words) + after


def with_its_rules(style: str, text: str, unused: re.Pattern[str] | None = None) -> str:
    """A squeezed stylesheet: the rules whose classes a module has, and the variables that they
    read. unused: selectors of others that it never shows.
    """
    mentioned = _Mentioned(text)

    def kept(rule: re.Match[str]) -> str:
        if unused and unused.search(rule[1]):
            return ""
        selectors = _BETWEEN.split(rule[1])
        classes = lambda one: _CLASS.findall(re.sub(_INSIDE, "", one))
        shown = ",".join(one for one in selectors if all(map(mentioned, classes(one))))
        return rule[0].replace(rule[1], shown, 1) if shown else ""

    rules = _RULE.sub(kept, style)
    read = set(re.findall(r"var\((--[\w-]+)", rules))
    variable = lambda one: one[0] if one[1] in read or mentioned(one[1]) else ""
    return _EMPTY.sub("", _VARIABLE.sub(variable, rules))


def _without_views(text: str, names: Sequence[str]) -> str:
    """The text of views.js, without some of the further views."""
    lines = text.splitlines(keepends=True)
    return "".join(line for line in lines if not any(f"{name}View" in line for name in names))


def _plain(path: Path, text: str) -> str:
    """A part of the module without its imports and exports; a JSON file as a constant of its
    name.
    """
    if path.suffix == ".json":
        packed = json.dumps(json.loads(text), ensure_ascii=False, separators=(",", ":"))
        return f"const {path.stem} = {packed};\n"
    return _EXPORT.sub("\n", _IMPORT.sub("", _JSON.sub("", f"\n{text}"))).strip() + "\n"


@cache
def stylesheet() -> str:
    """All styles: the viewer's own first, which hold the colours, then those of its views."""
    first = STATIC / "stepper.css"
    files = [first, *sorted((STATIC / "viewer").rglob("*.css"))]
    return "\n".join(path.read_text(encoding="utf-8") for path in files)
