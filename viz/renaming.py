"""A program with shorter names: those of variables, parameters and functions that it declares
itself. Names of properties stay, since documents, pages and browsers have them, too.

It reads what squeeze.py leaves of a program: without comments, and with a semicolon or a brace
after each statement. Each function gives names of its own, which differ from all that are used in
it and come from around it. They are given in the order of their first use, so that functions of one
form look alike, which helps compression.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from itertools import product

from minigrad.viz.squeeze import squeezed

_TOKEN = re.compile(
    r"""(\s+)|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|(?:[^\W\d]|\$)[\w$]*|\.?\d[\w.]*"""
    r"""|\?\.(?!\d)|\.\.\.|=>|."""
)
_TEMPLATE = re.compile(r"(?:[^`\\$]|\\.|\$(?!\{))*(?:`|\$\{)", re.S)
_PATTERN = re.compile(r"/(?:\\.|\[(?:[^\\\]\n]|\\.)*\]|[^\\/\[\n])+/[a-z]*")
_GIVEN = re.compile(r"=[^=>]|\+\+|--|([-+*/%&|^]|\*\*|&&|\|\||\?\?)=")
_NEEDS_SPACE = re.compile(r"[\w$]{2}|[+/-]{2}")
_AFTER_VALUE = re.compile(r"""[\w$)\]}"'`]$""")

_BEFORE_VALUE = frozenset(
    "await case delete extends in instanceof new of return throw typeof void yield".split()
)
_WORDS = _BEFORE_VALUE - {"of"} | frozenset(
    "arguments async break catch class const continue debugger default do else enum eval export"
    " false finally for function if import Infinity let NaN null static super switch this true try"
    " undefined var while with".split()
)
_LETTERS = "etnrioasclfudhpmgvybwxkETNRIOASCLFUDHPMGVYBWXKjqzJQZ_$"
_PLAIN, _KEY, _SHORT, _EXPORT = "a variable", "{ key: }", "{ both }", "export { one }"


def _names() -> Iterator[str]:
    """Short names, the shortest first."""
    yield from _LETTERS
    for more in (1, 2):
        yield from map("".join, product(_LETTERS, *[_LETTERS + "0123456789"] * more))


class _Scope:
    """A function, from its parameters on; or the whole program."""

    def __init__(self, start: int, end: int, body: int, given: tuple[int, int]) -> None:
        self.start, self.end = start, end
        self.body = body  # the place of the brace around its statements
        self.given = given  # the places of its parameters
        self.own: set[str] = set()  # its parameters, and what stands for all of its body
        self.within: set[str] = set()  # what stands for some block
        self.outer: _Scope | None = None
        self.used: dict[tuple[_Scope | None, str], None] = {}
        self.to: dict[str, str] = {}

    def chain(self) -> Iterator[_Scope]:
        """It, and those around it."""
        scope: _Scope | None = self
        while scope:
            yield scope
            scope = scope.outer


class _Tokens:
    """A program's tokens, their brackets and functions."""

    def __init__(self, text: str) -> None:
        self.texts: list[str] = []  # all of it
        self.at: list[int] = []  # the places there of what is not space
        self._read(text)
        self.tokens = [self.texts[i] for i in self.at]
        self.tokens += [""] * 3
        self.match: dict[int, int] = {}  # an opening bracket, and the one that ends it
        self.around: list[int] = []  # the opening bracket around each token
        self.roles: dict[int, str] = {}  # of names but those behind a dot
        self._nest()
        self.opening = {end: start for start, end in self.match.items()}
        self.scopes = self._functions()
        self.of = self._scope_of_each()
        self._declare()

    def _read(self, text: str) -> None:
        place, last = 0, ""
        braces: list[str] = []
        while place < len(text):
            found = _TOKEN.match(text, place)
            assert found
            token = found[0]
            more = None
            if token == "`" or (token == "}" and braces and braces.pop() == "`"):
                more = _TEMPLATE.match(text, place + 1)
                assert more, f"no end of a template: {text[place : place + 40]}"
                token += more[0]
                if token.endswith("${"):
                    braces.append("`")
            elif token == "{":
                braces.append("{")
            elif token == "/" and (last in _BEFORE_VALUE or not _AFTER_VALUE.search(last)):
                more = _PATTERN.match(text, place)
                assert more, f"no end of a pattern: {text[place : place + 40]}"
                token = more[0]
            if not found[1]:
                self.at.append(len(self.texts))
                last = token
            self.texts.append(token)
            place += len(token)

    def constants(self, refs: dict[str, list[int]]) -> set[int]:
        """Put numbers in the places of those names of the program that stand for one and are never
        given another, where that is shorter. refs: the places of each name. Returns the places
        that are done."""
        done: set[int] = set()
        for let in range(len(self.at)):
            if self.tokens[let] != "let" or self.around[let] >= 0 or not self._is_word(let):
                continue
            parts, end = [], let
            while end == let or self.tokens[end] == ",":
                parts.append((end + 1, self._expression_end(self._behind(end + 1))))
                end = parts[-1][1]
            stay = [not self._is_constant(*part, refs) for part in parts]
            for i, (start, behind) in enumerate(parts):
                if not stay[i]:
                    number = self.tokens[start + 2]
                    for j in refs[self.tokens[start]]:
                        self.texts[self.at[j]] = number
                        done.add(j)
                    self._clear(start, behind - 1)
                if i + 1 < len(parts) and not (stay[i + 1] and any(stay[: i + 1])):
                    self._clear(behind, behind)
            if not any(stay):
                self._clear(let, end)
        return done

    def _is_constant(self, start: int, end: int, refs: dict[str, list[int]]) -> bool:
        name, number = self.tokens[start], self.tokens[start + 2]
        places = refs.get(name, [])
        if end != start + 3 or not re.fullmatch(r"\d*\.?\d+", number) or start not in places:
            return False
        for j in places:
            after, before = "".join(self.tokens[j + 1 : j + 4]), "".join(self.tokens[j - 2 : j])
            given = _GIVEN.match(after) or before in ("++", "--") or after[:1] in (".", "?")
            if self.roles[j] != _PLAIN or (given and j != start):
                return False
        return (len(places) - 1) * (len(number) - 2) <= len(number) + 4

    def _clear(self, first: int, last: int) -> None:
        for i in range(self.at[first], self.at[last] + 1):
            self.texts[i] = ""

    def tight(self) -> Iterator[str]:
        """All of it, without spaces that nothing needs: squeezing leaves those in templates."""
        texts = [*filter(None, self.texts), ""]
        for i, text in enumerate(texts):
            if text != " " or _NEEDS_SPACE.search(texts[i - 1][-1:] + texts[i + 1][:1]):
                yield text

    def _is_name(self, j: int) -> bool:
        first = self.tokens[j][:1]
        return first.isalpha() or first in ("_", "$")

    def _nest(self) -> None:
        kinds, opened, coming = [""], [-1], ""
        for j in range(len(self.at)):
            token, before = self.tokens[j], self.tokens[j - 1] if j else ""
            if token in (")", "]") or token[0] == "}":
                kinds.pop()
                self.match[opened.pop()] = j
            self.around.append(opened[-1])
            if token in ("(", "[") or token.endswith("${"):
                kinds.append(token)
                opened.append(j)
            elif token == "{":
                labelled = before == ":" and coming == "case"
                block = "block" if labelled else self._kind_of_brace(j)
                kinds.append("class" if coming == "class" else block)
                opened.append(j)
                coming = ""
            elif self._is_name(j) and before not in (".", "?."):
                if role := self._role(j, kinds[-1]):
                    self.roles[j] = role
                if before == ":" and coming == "case":
                    coming = ""
                if not role and token in ("class", "case", "default"):
                    coming = "class" if token == "class" else "case"

    def _kind_of_brace(self, j: int) -> str:
        before = self.tokens[j - 1] if j else ""
        if before == "export":
            return "export"
        if before in ("", "=>", ")", "{", "}", ";"):
            return "block"
        value = before in _BEFORE_VALUE or before in ("const", "let", "default")
        return "block" if self._is_name(j - 1) and not value else "object"

    def _role(self, j: int, kind: str) -> str:
        """What a name is; nothing: a word of the language."""
        before, token, after = self.tokens[j - 1] if j else "", self.tokens[j], self.tokens[j + 1]
        marked = before in ("async", "get", "set", "static")
        if kind == "object" and (before in ("{", ",") or marked):
            if after in (":", "("):
                return _KEY
            if after in (",", "}", "="):
                return _SHORT
        if kind == "class" and (before in ("{", "}", ";") or marked) and after in ("(", "=", ";"):
            return _KEY
        if token in ("get", "set") and kind in ("object", "class") and self._is_name(j + 1):
            return ""
        if token == "of":  # for (one of all)
            one = before in ("]", "}") or (self._is_name(j - 1) and before not in _WORDS)
            return "" if one else _PLAIN
        if token in _WORDS:
            return ""
        return _EXPORT if kind == "export" else _PLAIN

    # ---- functions, and what they declare

    def _behind(self, j: int) -> int:
        """The place behind what begins here: a token, or all between brackets."""
        while j in self.match:
            j = self.match[j]
        return j + 1

    def _bound(self, j: int, end: int) -> Iterator[str]:
        """The names that a pattern gives."""
        while j < end:
            if self.tokens[j] == "=":  # what stands for nothing given
                while j < end and self.tokens[j] != ",":
                    j = self._behind(j)
            elif self.tokens[j] == "[" and self.tokens[self.match[j] + 1] == ":":
                j = self.match[j] + 1  # a key that is computed: its names are read
            elif self.tokens[j] in ("{", "["):
                yield from self._bound(j + 1, self.match[j])
                j = self.match[j] + 1
            else:
                if self.roles.get(j) in (_PLAIN, _SHORT):
                    yield self.tokens[j]
                j += 1

    def _expression_end(self, j: int) -> int:
        choices = 0
        while j < len(self.at):
            token = self.tokens[j]
            if token in (",", ";", ")", "]") or token[0] == "}" or (token == ":" and not choices):
                break
            if token == ":":
                choices -= 1
            elif token == "?" and "?" not in (self.tokens[j - 1], self.tokens[j + 1]):
                choices += 1
            j = self._behind(j)
        return j

    def _functions(self) -> list[_Scope]:
        """The program and its functions, each behind those around it."""
        found = [_Scope(-1, len(self.at), -1, (0, 0))]
        for j, token in enumerate(self.tokens):
            if token == "=>":
                several = self.tokens[j - 1] == ")"
                start = self.opening[j - 1] if several else j - 1
                body = j + 1 if self.tokens[j + 1] == "{" else -2
                end = self._expression_end(j + 1) if body < 0 else self.match[body] + 1
                given = (start + 1, j - 1) if several else (start, j)
            elif (token == "function" and self._is_word(j)) or (
                self.roles.get(j) == _KEY and self.tokens[j + 1] == "("
            ):
                start = self.tokens.index("(", j)
                body = self.match[start] + 1
                end, given = self.match[body] + 1, (start + 1, body - 1)
            else:
                continue
            found.append(_Scope(start, end, body, given))
        return sorted(found, key=lambda scope: (scope.start, -scope.end))

    def _is_word(self, j: int) -> bool:
        return j not in self.roles and self.tokens[j - 1] not in (".", "?.")

    def _scope_of_each(self) -> list[_Scope]:
        of, open_, waiting = [], self.scopes[:1], self.scopes[:0:-1]
        for j in range(len(self.at)):
            while j >= open_[-1].end:
                open_.pop()
            while waiting and waiting[-1].start == j:
                waiting[-1].outer = open_[-1]
                open_.append(waiting.pop())
            of.append(open_[-1])
        return of

    def _declare(self) -> None:
        for j, token in enumerate(self.tokens):
            if token in ("const", "let") and self._is_word(j):
                while True:
                    end = self._behind(j + 1)
                    self._note(j, *self._bound(j + 1, end))
                    j = self._expression_end(end)
                    if self.tokens[j] != ",":
                        break
            elif token in ("function", "class") and self._is_word(j):
                name = j + 1 + (self.tokens[j + 1] == "*")
                if self.roles.get(name) == _PLAIN:
                    self._note(j, self.tokens[name])
            elif token == "catch" and self._is_word(j) and self.tokens[j + 1] == "(":
                self.of[j].within |= {*self._bound(j + 2, self.match[j + 1])}
        for scope in self.scopes:
            given = {*self._bound(*scope.given)}
            # what stands for nothing given is read outside of the body
            outside = {self.tokens[j] for j in range(*scope.given)} - given
            scope.within |= scope.own & outside
            scope.own = scope.own - outside | given

    def _note(self, j: int, *names: str) -> None:
        scope = self.of[j]
        (scope.own if self.around[j] == scope.body else scope.within).update(names)


@cache
def short_program(text: str) -> str:
    """A program squeezed and with shorter names: it takes a third of a second."""
    return renamed(squeezed(text))


def renamed(text: str) -> str:
    """A squeezed program with shorter names."""
    return with_free_names(text)[0]


def with_free_names(text: str) -> tuple[str, set[str]]:
    """A squeezed program with shorter names, and the names that it does not declare itself."""
    program = _Tokens(text)
    places = [(j, role) for j, role in program.roles.items() if role != _KEY]
    free = set()
    for j, _ in places:
        name = program.tokens[j]
        if not any(name in scope.own or name in scope.within for scope in program.of[j].chain()):
            free.add(name)
    # A name of a block may be something else beside the block: what is around the function, or
    # what the browser has. Then it stays the same name as that.
    for scope in program.scopes:
        around = {name for outer in scope.chain() if outer is not scope for name in outer.own}
        scope.own |= scope.within - around - free
    bound = []
    for j, role in places:
        name, chain = program.tokens[j], list(program.of[j].chain())
        depth = next((i for i, scope in enumerate(chain) if name in scope.own), len(chain))
        holder = chain[depth] if depth < len(chain) else None
        bound.append((j, role, holder))
        for scope in chain[: depth + 1]:
            scope.used[holder, name] = None
    refs: dict[str, list[int]] = {}
    for j, _, holder in bound:
        if holder is program.scopes[0]:
            refs.setdefault(program.tokens[j], []).append(j)
    done = program.constants(refs)
    for scope in program.scopes:
        taken = {
            holder.to[name] if holder else name
            for holder, name in scope.used
            if holder is not scope
        }
        rest = (name for name in _names() if name not in taken and name not in _WORDS)
        scope.to = {name: next(rest) for holder, name in scope.used if holder is scope}
    for j, role, holder in bound:
        if holder and j not in done:
            old = program.tokens[j]
            new = holder.to[old]
            whole = {_SHORT: f"{old}:{new}", _EXPORT: f"{new} as {old}"}
            program.texts[program.at[j]] = whole.get(role, new)
    return "".join(program.tight()), free
