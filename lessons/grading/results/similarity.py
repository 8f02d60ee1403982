"""Submissions whose code has the same structure, when the starter code is taken away.

Copies are found although names, comments and the order of functions were changed. A program becomes
the sequence of its syntax tree's nodes, without names and constants; every K nodes in a row are
hashed; of every W hashes in a row the smallest is kept ("winnowing": Schleimer, Wilkerson and
Aiken, SIGMOD 2003). Two programs are compared by the hashes that they share. What the starter code
holds, and what most of the class wrote, says nothing and is left out. A pair is a reason to look,
and nothing more: `evidence` shows a person which parts of the two programs are meant.
"""

from __future__ import annotations

import ast
import difflib
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from zlib import crc32

K, W = 14, 6
"""Nodes that are hashed together; hashes out of which one is kept. A copy of K + W − 1 nodes is
always seen.
"""
LEAST = 10
"""Hashes of its own that a program must have: below that all programs are alike."""
COMMON = 0.34
"""Code that so large a part of the class shares does not count as copied."""
ALIKE = 0.6


EVIDENCE = 8
"""So many parts are shown of a pair."""


@dataclass(frozen=True)
class Passage:
    """Two parts that are alike: a definition, or what stands outside of all. share: of the nodes
    of both; lines: where they begin.
    """

    first: str
    second: str
    share: float
    lines: tuple[int, int]


@dataclass(frozen=True)
class SimilarPair:
    """Two students whose code is alike. share: of the smaller one's hashes; hashes: how many
    they are.
    """

    first: str
    second: str
    share: float
    hashes: int


def similar(
    programs: Mapping[str, str],
    starter: str,
    least: float = ALIKE,
    earlier: Collection[str] = (),
) -> list[SimilarPair]:
    """The pairs of students of whose own code at least so large a share is the same, the most alike
    first.

    programs: each student's source; starter: what all students were given; earlier: the names of
    programs of other years, which are compared with this year's only.
    """
    given = fingerprints(starter)
    prints = {student: fingerprints(source) - given for student, source in programs.items()}
    # In a small class two who are alike would be a third of it.
    often = max(3, COMMON * len(prints))
    # What all of three or more wrote is the common answer.
    these = [found for student, found in prints.items() if student not in earlier]
    common = set.intersection(*these) if len(these) > 2 else set()
    count = Counter(print_ for found in prints.values() for print_ in found)
    own = {
        student: {p for p in found - common if count[p] <= often}
        for student, found in prints.items()
    }
    students = sorted(student for student, found in own.items() if len(found) >= LEAST)
    pairs = []
    for i, first in enumerate(students):
        for second in students[i + 1 :]:
            if first in earlier and second in earlier:
                continue
            smaller = min(len(own[first]), len(own[second]))
            share = len(own[first] & own[second]) / smaller
            if share >= least:
                pairs.append(SimilarPair(first, second, share, smaller))
    return sorted(pairs, key=lambda pair: (-pair.share, -pair.hashes, pair.first, pair.second))


def evidence(first: str, second: str, starter: str = "", least: float = ALIKE) -> list[Passage]:
    """The parts of two programs that are alike, the largest first. What the starter code holds is
    left out.
    """
    given = {tuple(_kinds(tree)) for tree in _parts(starter)}
    mine, theirs = (
        [(tree, kinds) for tree in _parts(source) if (kinds := tuple(_kinds(tree))) not in given]
        for source in (first, second)
    )
    found: list[tuple[int, Passage]] = []
    for tree, kinds in mine:
        shares = [_share(kinds, others, least) for _, others in theirs]
        if len(kinds) < K or max(shares, default=0.0) < least:
            continue
        other, _ = theirs[shares.index(max(shares))]
        texts = (_text(first, tree), _text(second, other))
        lines = (_line(tree), _line(other))
        found.append((len(kinds), Passage(*texts, max(shares), lines)))
    return [passage for _, passage in sorted(found, key=lambda pair: -pair[0])[:EVIDENCE]]


def _share(first: tuple[str, ...], second: tuple[str, ...], least: float) -> float:
    matcher = difflib.SequenceMatcher(None, first, second, autojunk=False)
    likely = matcher.real_quick_ratio() >= least and matcher.quick_ratio() >= least
    return matcher.ratio() if likely else 0.0


def _parts(source: str) -> list[ast.AST]:
    """Each definition, methods on their own, and each other statement of a program."""
    found: list[ast.AST] = []
    for tree in _trees(source):
        inner = tree.body if isinstance(tree, ast.ClassDef) else []
        methods = [n for n in inner if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]
        found += methods or [tree]
    return found


def _line(tree: ast.AST) -> int:
    return int(getattr(tree, "lineno", 1))


def _text(source: str, tree: ast.AST) -> str:
    return ast.get_source_segment(source, tree, padded=True) or ast.unparse(tree)


def fingerprints(source: str) -> set[int]:
    """The winnowed hashes of a program; of one that does not parse, those of the parts that do."""
    return set(_winnowed(list(shape(source))))


def shape(source: str) -> Iterable[str]:
    """The nodes of a program's syntax tree, in the order of the text: kinds of statements and
    operators, no names, no constants.
    """
    for tree in _trees(source):
        yield from _kinds(tree)


def _trees(source: str) -> Iterable[ast.AST]:
    """Functions in the order of their size, so that moving them about changes nothing; then
    everything else.
    """
    try:
        body = ast.parse(source).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        body = []
        for part in source.split("\n\n"):
            try:
                body += ast.parse(part).body
            except (SyntaxError, ValueError, RecursionError, MemoryError):
                continue
    definitions = [
        n for n in body if isinstance(n, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef)
    ]
    yield from sorted(definitions, key=lambda node: sum(1 for _ in ast.walk(node)))
    yield from (
        n for n in body if n not in definitions and not isinstance(n, ast.Import | ast.ImportFrom)
    )


def _kinds(tree: ast.AST) -> Iterable[str]:
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        if (
            isinstance(node, ast.Expr)
            and isinstance(node.value, ast.Constant)
            and isinstance(node.value.value, str)
        ):
            continue  # a docstring
        if not isinstance(node, ast.expr_context | ast.arg):
            yield type(node).__name__
        waiting += reversed(list(ast.iter_child_nodes(node)))


def _winnowed(kinds: list[str]) -> Iterable[int]:
    hashes = [crc32(" ".join(kinds[i : i + K]).encode()) for i in range(len(kinds) - K + 1)]
    for i in range(max(len(hashes) - W + 1, min(len(hashes), 1))):
        yield min(hashes[i : i + W])
