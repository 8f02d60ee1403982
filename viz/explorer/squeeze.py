"""JavaScript and CSS without comments and without the spaces that they do not need, so that the
page stays small. Names stay as they are: an error in the console still says where."""

from __future__ import annotations

import re
from functools import cache

_TOKEN = re.compile(
    r"""
    (?P<comment>//[^\n]*|/\*.*?\*/)
  | (?P<text>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')
  | (?P<template>`)
  | (?P<regex>/(?![/*])(?:[^\\/\[\n]|\\.|\[(?:[^\\\]\n]|\\.)*\])+/[a-z]*)
  | (?P<word>[\w$\#@]+)
  | (?P<space>\s+)
  | (?P<sign>.)
    """,
    re.X | re.S,
)
_BEFORE_REGEX = re.compile(
    r"(?:^|[(,=:\[!&|?{};+\n*~<>%^-]|=>|\b(?:return|typeof|of|in|case))\s*\Z"
)
_TIGHT = frozenset("{}()[];,<>=!?:&|*%^~.")
"""Signs beside which no space is needed."""
_APART = frozenset("+-/")
"""Signs of which two in a row mean something else: beside these, a space is needed between two."""
_CONTINUES = frozenset("}]).?:&|=,;")
"""Signs with which no statement begins: a line break before them is not needed."""


@cache
def squeezed_style(text: str) -> str:
    """A stylesheet without comments and without the spaces that it does not need."""
    bare = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    tight = re.sub(r"\s*([{};,])\s*", r"\1", re.sub(r":\s+", ":", re.sub(r"\s+", " ", bare)))
    return tight.replace(";}", "}").strip() + "\n"


@cache
def squeezed(text: str) -> str:
    """A program in fewer characters."""
    out: list[str] = []
    at = 0
    while at < len(text):
        at = _take(text, at, out)
    return "".join(out).strip() + "\n"


def _take(text: str, at: int, out: list[str]) -> int:
    """Copies one token; returns where the next one begins."""
    found = _TOKEN.match(text, at)
    assert found is not None  # the last alternative takes any character
    kind, token = str(found.lastgroup), found[0]
    if kind == "regex" and not _BEFORE_REGEX.search("".join(out[-3:])):
        kind, token = "sign", token[0]
    if kind == "template":
        end = _end_of_template(text, at)
        out.append(text[at:end])
        return end
    if kind == "comment":
        token = ""
    elif kind == "space":
        token = _space(token, out, text, at + len(token))
    if token in ("}", "]", ")") and out[-1:] == [","]:
        out.pop()
    if token:
        out.append(token)
    return at + (len(found[0]) if kind != "sign" else 1)


def _space(token: str, out: list[str], text: str, after: int) -> str:
    """What is left of white space: one line break, one space, or nothing."""
    before = out[-1][-1] if out else "\n"
    following = text[after : after + 1]
    if before == "\n" or not following:
        return ""
    if "\n" in token:
        return "" if before in "{([,;" or following in _CONTINUES else "\n"
    tight = before in _TIGHT or following in _TIGHT
    return "" if tight or (before in _APART) != (following in _APART) else " "


def _end_of_template(text: str, at: int) -> int:
    """Where a template literal ends, those inside its braces included."""
    at += 1
    while text[at] != "`":
        if text[at] == "\\":
            at += 2
        elif text.startswith("${", at):
            at = _end_of_braces(text, at + 2)
        else:
            at += 1
    return at + 1


def _end_of_braces(text: str, at: int) -> int:
    depth = 1
    while depth:
        found = _TOKEN.match(text, at)
        assert found is not None
        kind, token = found.lastgroup, found[0]
        if kind == "template":
            at = _end_of_template(text, at)
            continue
        if kind == "regex":
            token = token[0]
        depth += {"{": 1, "}": -1}.get(token, 0)
        at += len(token)
    return at
