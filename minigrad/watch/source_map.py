"""Which part of the user's source called an operation (line and columns of the exact
sub-expression), and to which variable its result was given.

Python 3.11 keeps, for every instruction, the source range it came from (`code.co_positions`). The
tracer asks for the instruction that is running in the traced function. It works in notebook cells
too, because IPython registers each cell's text. Where the text cannot be had (functions made by
`exec`, built-in ones), or is not that of the function, there are no spans; nothing else changes.
"""

from __future__ import annotations

import ast
import builtins
import functools
import inspect
import linecache
import os
import sys
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import takewhile
from tokenize import TokenError
from types import CodeType, FrameType, TracebackType
from typing import Any

from .decisions import Branching, decision, number_decision, reading
from .outside_names import Variables, is_copy, is_same, place_of

Range = tuple[int, int, int, int]
"""First line, last line (from 1, in the file), first and last column (from 0, in bytes), as
`co_positions` and `ast` count.
"""
Stack = Sequence[tuple[FrameType, Any]]
"""Calls that run, the outermost first, each with what is known of it."""
Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
OWN = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
MOST_LOCALS = 256
"""In functions with more variables than this, values are not looked up among them: it would take
quadratic time.
"""
_EXAMPLES = tuple(f"{OWN}{folder}{os.sep}" for folder in ("lessons", "viz"))


class SourceMap:
    """The source text of a function, and positions in it."""

    def __init__(self, f: Callable[..., Any], text: str | None = None) -> None:
        """f: the function; text: what to show instead of its own source (then positions refer to
        the code's own lines and columns).
        """
        self.name = str(getattr(f, "__name__", type(f).__name__)).replace("<lambda>", "f")
        code = _code_of(f)
        # by id(): the hash of code is computed from all of it each time
        self.codes = {} if code is None else {id(c): c for c in _nested(code)}
        self._positions: dict[int, list[Any]] = {}
        # by id() of the code and the instruction that runs
        self._spans: dict[tuple[int, int], list[int] | None] = {}
        self._meant: dict[tuple[int, int], str | None] = {}
        self._variables: dict[Range, str] = {}
        self._others: dict[int, tuple[CodeType, Mapping[Range, str]]] = {}  # of other functions
        # of all functions, by id() of their code
        self._expressions: dict[int, tuple[CodeType, dict[Range, ast.AST]]] = {}
        self.definition: Function | None = None
        self._conditions: dict[Range, Branching | None] = {}  # that read a number, by its range
        self._read: dict[int, dict[Range, Any]] = {}  # numbers by id() of the condition
        self._looked: set[int] = set()  # frames whose variables were looked at, by id
        self._first, self._lines = 1, []
        self._margins = 0, 0  # what is left out before the first line, and before the others
        self._text: str | None = text if text is not None else getattr(f, "source", None)
        if self._text is not None:
            self._lines = str(self._text).split("\n")
            self._variables.update(getattr(f, "assignments", {}))
        elif code is not None:
            self._find(code)

    def _find(self, code: CodeType) -> None:
        found = definition_of(code)
        if found is None:
            return
        lines, definition = found
        last = definition.end_lineno or definition.lineno
        self._first = _first_line(definition)
        self._lines = [line.rstrip("\n") for line in lines[self._first - 1 : last]]
        self.definition = definition
        known = bool(_ranges(code))
        if known and isinstance(definition, ast.Lambda) and _holds(definition, code):
            self._show_alone(definition)
        else:
            self._text = textwrap.dedent("\n".join(self._lines))
            self._margins = (len(self._lines[0]) - len(self._text.split("\n")[0]),) * 2
        self._variables.update(_assignments(definition))

    def _show_alone(self, found: ast.Lambda) -> None:
        """Without what its lines hold before and after it."""
        ends = found.col_offset, found.end_col_offset
        start, stop = (_characters(self._lines[i], n) for i, n in zip((0, -1), ends, strict=True))
        lines = [*self._lines[:-1], self._lines[-1][:stop]]
        below = [line for line in lines[1:] if line.strip()]
        indented = min((len(line) - len(line.lstrip()) for line in below), default=0)
        self._margins = start, min(start, indented)
        self._text = "\n".join(line[self._margins[i > 0] :] for i, line in enumerate(lines))

    def source(self) -> dict[str, Any] | None:
        """The Trace's `source` entry. The file's name is left out: it would make equal programs
        differ.
        """
        return None if self._text is None else {"code": self._text}

    def frame(self, calls: Stack | None = None) -> FrameType | None:
        """The innermost running call of the traced function or of one defined inside it; None
        outside or without source. calls: where to look for it (default: all that run).
        """
        if self._text is None:
            return None
        if calls is None:
            return self._running(sys._getframe(1))
        for frame, _ in reversed(calls):
            if id(frame.f_code) in self.codes:
                return frame
        return None

    def _running(self, frame: FrameType | None) -> FrameType | None:
        while frame is not None and id(frame.f_code) not in self.codes:
            frame = frame.f_back
        return frame

    def shows(self, frame: FrameType) -> bool:
        """Whether a call is one of the traced function or of one defined inside it."""
        return id(frame.f_code) in self.codes

    def held(self, frame: FrameType) -> Mapping[str, Any]:
        """The variables of a running call and what they hold."""
        self._looked.add(id(frame))
        return frame.f_locals

    def look_again(self, frame: FrameType | None) -> None:
        """Before Python 3.13, what was seen among a call's variables lives on until they are
        looked at again, though dropped since.
        """
        if frame is not None and id(frame) in self._looked:
            self.held(frame)

    def line_of(self, code: CodeType, line: int) -> int | None:
        """The line of the shown source that a line of a function's file is; None for another
        function's."""
        inside = id(code) in self.codes and 0 < line - self._first + 1 <= len(self._lines)
        return line - self._first + 1 if inside else None

    def span(self, frame: FrameType) -> list[int] | None:
        """[line, column, end line, end column] of the expression that `frame` is evaluating;
        lines count from 1 in the source.
        """
        at = id(frame.f_code), frame.f_lasti
        if at not in self._spans:
            found = self._range(frame)
            self._spans[at] = None if found is None else self.place(found)
        span = self._spans[at]
        return None if span is None else [*span]

    def place(self, found: Range) -> list[int] | None:
        """The span of the shown source that a range of the file is; None outside of it."""
        line, end_line = found[0] - self._first, found[1] - self._first
        if not 0 <= line <= end_line < len(self._lines):
            return None
        return [
            line + 1,
            self._column(line, found[2]),
            end_line + 1,
            self._column(end_line, found[3]),
        ]

    def decided(self, value: Any) -> tuple[dict[str, Any], str] | None:
        """What the condition that the traced function evaluates now decides, by its value."""
        frame = self.frame()
        found = None if frame is None else self._range(frame)
        if found is None or self.definition is None:
            return None
        return decision(self.definition, found, bool(value), self.place)

    def read(self, number: Any) -> tuple[dict[str, Any], str] | None:
        """What a condition decides in which the traced function itself makes a number of a tensor
        now, as far as the numbers that it has read tell."""
        frame: FrameType | None = sys._getframe(1)
        while frame is not None and _is_library(frame.f_code.co_filename):
            frame = frame.f_back
        if frame is None or self.definition is None or not self.shows(frame):
            return None
        found = self._range(frame)
        if found is None:
            return None
        if found not in self._conditions:
            self._conditions[found] = reading(self.definition, found)
        node = self._conditions[found]
        if node is None:
            return None
        known = self._read.setdefault(id(node), {})
        for later in [one for one in known if (one[0], one[2]) > (found[0], found[2])]:
            del known[later]  # of an earlier time
        known[found] = number
        held, code = self.held(frame), frame.f_code

        def name(word: str) -> Any:
            if word in held or word in code.co_varnames:
                return held[word]
            return frame.f_globals.get(word, getattr(builtins, word, None))

        return number_decision(node, known, name, self.place)

    def failed(self, error: BaseException) -> tuple[list[int] | None, dict[str, Any]]:
        """Where the traced function raised: the span, and the variables that the expression there
        names with what they held."""
        at = innermost(error, lambda code: id(code) in self.codes)
        if at is None or self._text is None:
            return None, {}
        found: Any = list(at.tb_frame.f_code.co_positions())[at.tb_lasti // 2]
        span = None if None in found else self.place(found)
        return span, {} if span is None else held_in(at, self.piece(span))

    def piece(self, span: list[int]) -> str:
        """The text of a span of the shown source."""
        lines = str(self._text).split("\n")[span[0] - 1 : span[2]]
        lines[-1] = lines[-1][: span[3]]
        lines[0] = lines[0][span[1] :]
        return "\n".join(lines)

    def line(self, span: list[int]) -> str:
        """The line of the shown source in which a span begins."""
        return str(self._text).split("\n")[span[0] - 1].strip()

    def variable(self, frame: FrameType) -> str | None:
        """The name in `name = <the expression that frame is evaluating>`, if it stands in such
        an assignment, of the traced function or of another one.
        """
        at = id(frame.f_code), frame.f_lasti
        if at not in self._meant:
            self._meant[at] = self._variable(frame)
        return self._meant[at]

    def _variable(self, frame: FrameType) -> str | None:
        code = frame.f_code
        if code.co_nlocals > MOST_LOCALS:
            return None
        if id(code) in self.codes:
            variables: Mapping[Range, str] = self._variables
        else:
            if id(code) not in self._others:
                known = definition_of(code)
                self._others[id(code)] = code, {} if known is None else _assignments(known[1])
            variables = self._others[id(code)][1]
        found = self._range(frame)
        return None if found is None else variables.get(found)

    def outside(self, value: Any, calls: Sequence[FrameType]) -> tuple[str, Any] | None:
        """What the program calls a value that was made before, or the array that it is a copy of;
        and what is called so.

        calls: the user's calls that run now, the innermost last. The traced function's words count
        before those of the calls inside it.
        """
        first = self._running(sys._getframe(1))
        spaces = {}
        for frame in dict.fromkeys([*([] if first is None else [first]), *reversed(calls)]):
            few = frame.f_code.co_nlocals <= MOST_LOCALS
            spaces[frame] = Variables(self.held(frame) if few else {}, frame.f_globals)
        for frame, space in spaces.items():
            for name, held in space.of(frame.f_code):
                if is_same(held, value):
                    return name, held
        parts = [part for frame, space in spaces.items() for part in self._parts(frame, space)]
        for name, held in parts:
            if is_same(held, value):
                return name, held
        # a copy is called as what the expression names, where only one thing there is equal to it
        equal = [(name, held) for name, held in reversed(parts) if is_copy(value, held)]
        copied = {place_of(held): (name, held) for name, held in equal}
        return copied.popitem()[1] if len(copied) == 1 else None

    def _parts(self, frame: FrameType, space: Variables) -> Iterator[tuple[str, Any]]:
        """What the expression that `frame` is evaluating names, by its words."""
        code = frame.f_code
        if id(code) not in self._expressions:
            known = None if self.shows(frame) else definition_of(code)
            shown = self.definition if known is None else known[1]
            nodes = () if shown is None else ast.walk(shown)
            found: dict[Range, ast.AST] = {
                _range_of(n): n for n in nodes if isinstance(n, ast.expr | ast.AugAssign)
            }
            self._expressions[id(code)] = code, found
        at = self._range(frame)
        node = None if at is None else self._expressions[id(code)][1].get(at)
        return space.named_in(node)

    def _range(self, frame: FrameType) -> Range | None:
        code = frame.f_code
        positions = self._positions.get(id(code))
        if positions is None:
            positions = self._positions[id(code)] = list(code.co_positions())
        found = positions[frame.f_lasti // 2]
        return None if None in found else found

    def _column(self, line: int, offset: int) -> int:
        """A byte offset in the file's line as a character column of the shown line."""
        return max(0, _characters(self._lines[line], offset) - self._margins[line > 0])


def _characters(line: str, offset: int | None) -> int:
    """A column in bytes as one in characters."""
    return len(line.encode()[:offset].decode(errors="ignore"))


def written_by_user(f: Any) -> Any:
    """The function that a user wrote and that runs when f is called: behind decorators, of a bound
    method, of an object with `__call__`, of a module (its `forward`), of a partial. None where that
    is the library's.
    """
    while isinstance(f, functools.partial):
        f = f.func
    f = inspect.unwrap(f)
    if not hasattr(f, "__code__"):
        kind = type(f)
        f = kind.__call__
        if _is_library(_file_of(f)):
            f = getattr(kind, "forward", None)
    return None if _is_library(_file_of(f)) else f


def _file_of(f: Any) -> str:
    return getattr(getattr(f, "__code__", None), "co_filename", "")


def _is_library(file: str) -> bool:
    """Whether a file is the library's, and not a lesson's."""
    return file.startswith(OWN) and not file.startswith(_EXAMPLES)


def _code_of(f: Any) -> CodeType | None:
    code = getattr(written_by_user(f), "__code__", None)
    return code if isinstance(code, CodeType) else None


def _nested(code: CodeType) -> list[CodeType]:
    """A code object and those defined inside it (helper functions, comprehensions)."""
    found, queue = [], [code]
    while queue:
        current = queue.pop()
        found.append(current)
        queue.extend(c for c in current.co_consts if isinstance(c, CodeType))
    return found


def definition_of(code: CodeType) -> tuple[list[str], Function] | None:
    """The lines of the file that `code` came from and its definition there; None if there is no
    such file, or the file says something else.
    """
    try:
        lines = _lines_around(code)
        definitions = _definitions("".join(lines), code.co_firstlineno)
    except (OSError, TypeError, IndexError, SyntaxError, ValueError, RecursionError, TokenError):
        return None
    candidates = [n for n in definitions if _fits(n, code)]
    # several lambdas on one line: the one whose body holds the code's instructions
    if len(candidates) > 1:
        candidates = [n for n in candidates if isinstance(n, ast.Lambda) and _holds(n, code)]
        # of lambdas inside one another the innermost
        candidates.sort(key=lambda n: (n.lineno, n.col_offset))
    return (lines, candidates[-1]) if candidates else None


def innermost(error: BaseException, wanted: Callable[[CodeType], bool]) -> TracebackType | None:
    """Where the innermost call of wanted code was when an error was raised."""
    step, at = error.__traceback__, None
    while step is not None:
        at = step if wanted(step.tb_frame.f_code) else at
        step = step.tb_next
    return at


def held_in(at: TracebackType, text: str) -> dict[str, Any]:
    """The variables that an expression names, with what they held there."""
    held = at.tb_frame.f_locals
    return {name: held[name] for name in names_in(text) if name in held}


def is_operation(text: str) -> bool:
    """Whether a text is an expression that computes something, and not a name alone."""
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except SyntaxError:
        return False
    return not isinstance(tree.body, ast.Name | ast.Attribute)


def names_in(text: str) -> list[str]:
    """The variables that an expression names, in order."""
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except SyntaxError:
        return []
    return list(dict.fromkeys(n.id for n in ast.walk(tree) if isinstance(n, ast.Name)))


def _holds(found: ast.Lambda, code: CodeType) -> bool:
    """Whether the instructions of a code come from the body of a lambda."""
    return all(_contains(found.body, p) for p in _ranges(code))


def _ranges(code: CodeType) -> list[Any]:
    """Where the instructions of a code come from, as far as it says so."""
    return [p for p in code.co_positions() if None not in p and p[3] != 0]


def _contains(node: ast.expr, found: Any) -> bool:
    start, end = (node.lineno, node.col_offset), (node.end_lineno or 0, node.end_col_offset or 0)
    return start <= (found[0], found[2]) and (found[1], found[3]) <= end


def _lines_around(code: CodeType) -> list[str]:
    """The lines of the file or cell that `code` came from; none for other text. Raises OSError."""
    file = code.co_filename
    linecache.checkcache(file)
    lines = linecache.getlines(file)
    if not lines and not file.startswith("<"):  # inspect looks at every module that is loaded
        lines, _ = inspect.findsource(code)
    return lines


@functools.lru_cache(maxsize=32)
def _definitions(text: str, line: int) -> list[Function]:
    """The functions of a source text that begin on a line. A `def` is parsed alone, which takes
    less time than a long file."""
    lines = text.split("\n")[line - 1 :]
    if lines[0].lstrip().startswith(("def ", "async ", "@")):
        try:
            tree: ast.AST = _parsed(_indented(lines), line)
        except SyntaxError:  # below a decorator; in brackets or a text, indentation means nothing
            block = inspect.getblock([f"{one}\n" for one in lines])
            tree = _parsed([one.rstrip("\n") for one in block], line)
    else:
        tree = ast.parse(text)
    functions = (node for node in ast.walk(tree) if isinstance(node, Function))
    return [node for node in functions if _first_line(node) == line]


def _indented(lines: list[str]) -> list[str]:
    """The first line, and those that follow and are indented more, or empty, or comments."""

    def margin(line: str) -> int:
        return len(line) - len(line.lstrip())

    def inside(line: str) -> bool:
        return not line.strip() or line.lstrip()[0] == "#" or margin(line) > first

    first = margin(lines[0])
    return [lines[0], *takewhile(inside, lines[1:])]


def _parsed(block: list[str], line: int) -> ast.AST:
    """The syntax tree of a definition that may be indented, and that begins on this line."""
    before = ["if 1:"] if block[0][0].isspace() else []
    return ast.parse("\n".join([*[""] * (line - 1 - len(before)), *before, *block]))


def _first_line(definition: Function) -> int:
    decorators = getattr(definition, "decorator_list", [])
    return int(decorators[0].lineno if decorators else definition.lineno)


def _fits(definition: Function, code: CodeType) -> bool:
    """Whether a definition has the code's name and parameters: a file that changed since it was
    run shows another function there.
    """
    name = definition.name if not isinstance(definition, ast.Lambda) else "<lambda>"
    given = definition.args
    parameters = [a.arg for a in (*given.posonlyargs, *given.args, *given.kwonlyargs)]
    return name == code.co_name and parameters == list(
        code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    )


@functools.lru_cache(maxsize=32)
def _assignments(definition: Function) -> Mapping[Range, str]:
    """The variables of a function, by the places of what is assigned to them."""
    found = filter(None, map(_simple_assignment, ast.walk(definition)))
    return {_range_of(at): target for target, at in found}


def _range_of(node: ast.expr | ast.AugAssign) -> Range:
    return node.lineno, node.end_lineno or 0, node.col_offset, node.end_col_offset or 0


def _simple_assignment(node: ast.AST) -> tuple[str, ast.expr | ast.AugAssign] | None:
    """`a` and what makes its value in `a = …`, `a: T = …`, `(a := …)` and `a += …`."""
    if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
        return node.target.id, node
    if (
        isinstance(node, ast.Assign)
        and len(node.targets) == 1
        and isinstance(node.targets[0], ast.Name)
    ):
        return node.targets[0].id, node.value
    if (
        isinstance(node, ast.AnnAssign | ast.NamedExpr)
        and node.value is not None
        and isinstance(node.target, ast.Name)
    ):
        return node.target.id, node.value
    return None
