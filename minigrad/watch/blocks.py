"""To which call, loop and round of the user's program an operation belongs.

While the traced function runs, its lines are followed with `sys.settrace` (a debugger or a
coverage tool that was there before still hears everything), and so are those of the functions
that it calls and that stand outside of minigrad, the standard library and installed packages. A
loop's round is counted where its header is reached from its body, so rounds without an operation
count too. Functions without a source, generators and comprehensions make no block. A public
function of the library that the user's code calls and that may consist of several operations
(`F.cross_entropy`) is a call like the user's own; what it calls itself is part of it.

A block is `{"id", "kind", "label"}` with the id of its "parent" and the "line" of the shown source
that it begins on. kind: "module" (label: its name in the module around it, a number with its class:
"0: Linear"), "function" (its call as it is written), "library" (the same, of a function on arrays
whose operations are a picture's detail), "loop" (its header; "rounds": how many were begun) or
"round" ("round": its number).
"""

from __future__ import annotations

import ast
import inspect
import os
import sys
import sysconfig
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from types import CodeType, FrameType
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from ..core.observe import observation, run_observed
from ..observers import calls
from .source_map import OWN as _OWN
from .source_map import Function, SourceMap, definition_of, held_in, innermost

Block = dict[str, Any]

_STANDARD = sysconfig.get_paths()["stdlib"] + os.sep
_ARRAYS = tuple(
    f"{_OWN}{folder}{os.sep}" for folder in "arrays extras fft linalg signal special".split()
)
"""Folders whose public functions on arrays are compositions of operations."""
_COMPOSED = (f"{_OWN}nn{os.sep}functional{os.sep}", *_ARRAYS)
"""Those, and the compositions whose operations are taught."""
_PACKAGES = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}")
_OPERATION = run_observed.__code__
_RESUMED = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR
_WITHOUT_LOOPS = ast.expr, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef
"""What holds no loop or assignment of the function that it stands in."""
_DEEP = 8
"""Calls inside one another through which a result is followed to its variable."""
_SHORT = 32
"""Characters that a label holds."""


@dataclass(frozen=True, eq=False)  # by its identity: a hash of its parts takes longer
class Loop:
    """A `for` or `while` of a function, by its lines in the file: header, body and end."""

    first: int
    body: int
    last: int
    label: str

    @property
    def on_one_line(self) -> bool:
        return self.body == self.first


class FunctionText(NamedTuple):
    """What is known of a function from its source: its loops, outermost first, and by line the
    variables that are bound there in a way that the place of an operation does not tell: one of
    several targets, a list's name, a loop's variable. parameters: those of its calls; variables:
    all of its own."""

    loops: tuple[Loop, ...] = ()
    targets: Mapping[int, tuple[str, ...]] = {}
    parameters: tuple[str, ...] = ()
    variables: tuple[str, ...] = ()


@dataclass
class LoopEntry:
    """A loop that was entered and is not left yet. tests: how often its header was reached."""

    number: int
    tests: int = 1
    block: Block | None = None


@dataclass
class FunctionCall:
    """A call under way: what its function says, and where it is. composed: whether the function is
    the library's."""

    number: int
    function: FunctionText
    composed: bool
    entries: dict[Loop, LoopEntry] = field(default_factory=dict)
    line: int = 0


Place = tuple[tuple[str, Any], Callable[..., Block], tuple[Any, ...], LoopEntry | None]
"""A block around what runs now: what tells it from others, what describes it, of what, and the
entry of its loop."""
Stack = list[tuple[FrameType, FunctionCall | None]]
"""Calls that run now, the outermost first: the user's, and (None) modules' and those of the traced
function that are not followed (comprehensions)."""


class Follower:
    """The trace function of one call: an object, since a function that returns itself would be
    garbage that only the cycle collector frees."""

    __slots__ = ("blocks", "call", "outer")

    def __init__(self, blocks: Blocks, call: FunctionCall, outer: Any) -> None:
        self.blocks, self.call, self.outer = blocks, call, outer

    def __call__(self, frame: FrameType, event: str, arg: Any) -> Follower:
        if self.outer is not None:
            self.outer = self.outer(frame, event, arg)
        if event == "line":
            if bound := self.call.function.targets.get(self.call.line):
                self.blocks.bound(frame, bound)
            self.blocks.reached(self.call, frame.f_lineno)
        elif event == "exception":
            self.blocks.raised(arg[1])
        elif event == "return":
            self.blocks.ended(frame)
        return self


class Blocks:
    """The blocks of one traced run, in the order of their first operation."""

    def __init__(
        self,
        owners: Callable[[], list[str]],
        shown: SourceMap,
        bound: Callable[[FrameType, Sequence[str]], None],
    ):
        """owners: the labels of the modules that are called now, the outermost first; shown: the
        source; bound: hears which variables of a call under way have been given a value."""
        self.found: list[Block] = []
        self._owners, self._shown, self.bound = owners, shown, bound
        self._calls: dict[FrameType, FunctionCall] = {}
        # by id(), with the code: its hash is computed from all of it each time
        self._texts: dict[int, tuple[CodeType, FunctionText | None]] = {}
        self._made = 0
        self._tracer: Any = None  # what this run gave `sys.settrace`, where it may take it back
        self._here: list[tuple[tuple[str, Any], Block]] = []

    def run(self, f: Callable[..., Any], args: list[Any]) -> Any:
        """f(*args), whose lines are followed."""
        before = sys.gettrace()
        started = self._started(before)
        # since Python 3.12 each change prepares the code of all functions once more
        self._tracer = started if before is None and sys.version_info < (3, 12) else None
        sys.settrace(started)
        try:
            return f(*args)
        finally:
            if sys.gettrace() is started:
                sys.settrace(before)
            self._tracer = None
            self._calls.clear()

    def follow(self, wanted: bool) -> None:
        """Whether lines are followed from here on. Python calls the trace function for each call of
        minigrad's own functions too, which takes as long as the operations themselves."""
        if self._tracer is not None and sys.gettrace() is (None if wanted else self._tracer):
            sys.settrace(self._tracer if wanted else None)

    def _started(self, before: Any) -> Any:
        """The trace function that hears of each call; before: the one that was there."""

        texts = self._texts

        def started(frame: FrameType, event: str, arg: Any) -> Any:
            outer = None if before is None else before(frame, event, arg)
            code = frame.f_code
            known = texts.get(id(code))
            text = self._text_of(code) if known is None else known[1]
            if text is None:
                if code is _OPERATION and observation.listening:
                    self.follow(False)  # until the recorder says otherwise
                return outer
            self._made += 1
            composed = code.co_filename.startswith(_OWN)
            if composed and outer is None:
                frame.f_trace_lines = False  # only its end matters
            # those of the first call are the inputs
            if text.parameters and self._calls and (own := self._own_parameters(text)):
                self.bound(frame, own)
            self._calls[frame] = call = FunctionCall(self._made, text, composed)
            return Follower(self, call, outer)

        return started

    def _own_parameters(self, text: FunctionText) -> list[str]:
        """The parameters of a call whose names mean nothing else in the calls around it."""
        taken = {name for call in self._calls.values() for name in call.function.variables}
        return [name for name in text.parameters if name not in taken]

    def raised(self, error: Any) -> None:
        """An error leaves the innermost call that is followed, or one around it."""
        if self not in self._marks(error) and not isinstance(error, StopIteration):
            self._marks(error)[self] = self.now(self.stack())

    def where_raised(self, error: BaseException) -> str | None:
        """The innermost block of what raised; None outside of all."""
        return self._marks(error).get(self)

    @staticmethod
    def _marks(error: BaseException) -> WeakKeyDictionary[Blocks, str | None]:
        """The block of an error by the run: in the error itself, as an `id()` is used again when an
        error that was caught is freed."""
        marks: WeakKeyDictionary[Blocks, str | None]
        marks = vars(error).setdefault("_minigrad_blocks", WeakKeyDictionary())
        return marks

    def ended(self, frame: FrameType) -> None:
        """A call has returned or raised."""
        self._calls.pop(frame, None)

    # ---------------------------------------------------------------------------------- where it is

    def _text_of(self, code: CodeType) -> FunctionText | None:
        """What a function of the user's says; nothing of a composed one; None for other code."""
        text = _text(code) if _is_users(code) else FunctionText() if _is_composed(code) else None
        self._texts[id(code)] = code, text
        return text

    def reached(self, call: FunctionCall, line: int) -> None:
        """The next line of a call begins."""
        for loop in call.function.loops:
            entry = call.entries.get(loop)
            if not loop.first <= line <= loop.last:
                call.entries.pop(loop, None)
            elif entry is None:
                self._made += 1
                call.entries[loop] = LoopEntry(self._made)
            elif line == loop.first and (loop.on_one_line or call.line >= loop.body):
                entry.tests += 1
            if entry is not None and entry.block is not None and loop.body <= line <= loop.last:
                entry.block["rounds"] = entry.tests
        call.line = line

    def now(self, stack: Stack) -> str | None:
        """The innermost block of what runs now; None outside of all."""
        path, here, same = self._path(stack), self._here, 0
        most = min(len(path), len(here))
        while same < most and path[same][0] == here[same][0]:
            same += 1
        del here[same:]
        for key, describe, of, entry in path[same:]:
            block = {"id": f"b{len(self.found) + 1}", **describe(*of)}
            if here:
                block["parent"] = here[-1][1]["id"]
            if entry is not None:
                entry.block = block
            self.found.append(block)
            here.append((key, block))
        return here[-1][1]["id"] if here else None

    def _path(self, stack: Stack) -> list[Place]:
        """The blocks around what runs now, the outermost first."""
        owners: list[str] = []
        if calls.modules:
            owners = self._owners()
            called = sum(call is None and _calls_a_module(frame) for frame, call in stack)
            owners = owners[len(owners) - called :]
        path: list[Place] = []
        alone, composed = True, False  # alone: what is called now is all of the block around it
        for frame, call in stack:
            if call is None:
                if _calls_a_module(frame):
                    name = owners.pop(0)
                    path.append((("module", name), _module, (name,), None))
                    alone, composed = True, False
            elif not call.composed or not (alone or composed):
                if not alone:
                    path.append((("function", call.number), self._function, (frame,), None))
                path += self._rounds(frame, call)
                alone, composed = False, call.composed
        return path

    def stack(self) -> Stack:
        """What runs now."""
        found: Stack = []
        # a list that held its own frame would be garbage
        frame: FrameType | None = sys._getframe(1)
        under_way, modules, first = self._calls, calls.modules, Blocks.run.__code__
        shown = self._shown.codes
        while frame is not None and (code := frame.f_code) is not first:
            if frame in under_way or id(code) in shown or (modules and _calls_a_module(frame)):
                found.append((frame, under_way.get(frame)))
            frame = frame.f_back
        return found[::-1]

    @staticmethod
    def running(stack: Stack) -> list[FrameType]:
        """Of the calls that run now the user's, the innermost last, and no more than a few."""
        return [frame for frame, call in stack if call is not None and not call.composed][-_DEEP:]

    def _function(self, frame: FrameType) -> Block:
        caller = frame.f_back
        if self._calls[frame].composed:  # the library's decorators stand between
            while caller is not None and caller.f_code.co_filename.startswith(_OWN):
                caller = caller.f_back
        caller = caller if caller in self._calls else None
        text = None if caller is None else _text_at(caller.f_code, caller.f_lasti)
        label = text if text and len(text) <= _SHORT else f"{frame.f_code.co_name}(…)"
        library = frame.f_code.co_filename.startswith(_ARRAYS)
        kind = "library" if library else "function"
        return {"kind": kind, "label": label, **self._line(caller)}

    def _rounds(self, frame: FrameType, call: FunctionCall) -> list[Place]:
        path: list[Place] = []
        for loop in call.function.loops:
            entry = call.entries.get(loop)
            if entry is None:
                continue
            outside = None if loop.on_one_line else entry  # there, the last test looks like a round
            of = frame.f_code, loop, outside
            path.append((("loop", entry.number), self._loop, of, outside))
            if call.line >= loop.body:
                path.append((("round", entry.tests), _round, (entry.tests,), None))
        return path

    def _loop(self, code: CodeType, loop: Loop, entry: LoopEntry | None) -> Block:
        line = self._shown.line_of(code, loop.first)
        return {
            "kind": "loop",
            "label": loop.label,
            **({} if line is None else {"line": line}),
            **({} if entry is None else {"rounds": entry.tests}),
        }

    def _line(self, frame: FrameType | None) -> Block:
        line = None if frame is None else self._shown.line_of(frame.f_code, frame.f_lineno)
        return {} if line is None else {"line": line}


def _module(name: str) -> Block:
    return {"kind": "module", "label": name}


def _round(number: int) -> Block:
    return {"kind": "round", "label": str(number), "round": number}


def _calls_a_module(frame: FrameType) -> bool:
    code = frame.f_code
    return code.co_qualname == "Module.__call__" and code.co_filename.startswith(_OWN)


def _is_users(code: CodeType) -> bool:
    """Whether code is the user's: of a function with a source outside of minigrad, the standard
    library and installed packages."""
    file = os.path.abspath(code.co_filename)
    generated = code.co_filename == "<string>"  # such as the __init__ of a dataclass
    if generated or code.co_flags & _RESUMED or file.startswith((_OWN, _STANDARD)):
        return False
    return not any(folder in file for folder in _PACKAGES)


def _is_composed(code: CodeType) -> bool:
    """Whether code is that of a public function of the library's that may be several operations."""
    inner = "." in code.co_qualname or code.co_name.startswith(("_", "<"))
    return code.co_filename.startswith(_COMPOSED) and not (inner or code.co_flags & _RESUMED)


def _text(code: CodeType) -> FunctionText | None:
    """What a function's source says; None where it cannot be found."""
    found = definition_of(code)
    if found is None:
        return None
    names, count = code.co_varnames, code.co_argcount + code.co_kwonlyargcount
    return FunctionText(*_loops_and_targets(found[1]), names[:count], names)


@lru_cache(maxsize=32)
def _loops_and_targets(
    definition: Function,
) -> tuple[tuple[Loop, ...], Mapping[int, tuple[str, ...]]]:
    """The first two fields of a function's text."""
    loops: list[Loop] = []
    targets: dict[int, tuple[str, ...]] = {}
    queue = _body(definition)
    while queue:
        node = queue.pop()
        if isinstance(node, ast.For | ast.While):
            last = node.body[-1].end_lineno or node.lineno
            loops.append(Loop(node.lineno, node.body[0].lineno, last, _header(node)))
        if isinstance(node, ast.For):
            targets |= dict.fromkeys(_lines(node.target, node.iter), _variables(node.target))
        elif isinstance(node, ast.Assign) and _is_of_several(node):
            bound = tuple(name for target in node.targets for name in _variables(target))
            targets |= dict.fromkeys(_lines(node, node), bound)
        if not isinstance(node, _WITHOUT_LOOPS):
            queue.extend(ast.iter_child_nodes(node))
    loops.sort(key=lambda loop: (loop.first, -loop.last))
    return tuple(loops), targets


def _lines(first: ast.expr | ast.stmt, last: ast.expr | ast.stmt) -> range:
    return range(first.lineno, (last.end_lineno or first.lineno) + 1)


def _variables(target: ast.expr) -> tuple[str, ...]:
    """The variables that a target binds."""
    names = (node for node in ast.walk(target) if isinstance(node, ast.Name))
    return tuple(node.id for node in names if isinstance(node.ctx, ast.Store))


def _is_of_several(node: ast.Assign) -> bool:
    """Whether an assignment has several targets, or its value is a list that it writes."""
    several = len(node.targets) > 1 or isinstance(node.targets[0], ast.Tuple | ast.List)
    return several or isinstance(node.value, ast.ListComp | ast.List | ast.Tuple)


def _body(definition: Function) -> list[ast.AST]:
    return [definition.body] if isinstance(definition, ast.Lambda) else [*definition.body]


def _header(node: ast.For | ast.While) -> str:
    """A loop's header, shortened where it is long."""
    if isinstance(node, ast.While):
        text = f"while {ast.unparse(node.test)}"
    else:
        text = f"for {ast.unparse(node.target)} in {ast.unparse(node.iter)}"
    return text if len(text) <= _SHORT else text[: _SHORT - 1] + "…"


def where_raised(error: BaseException) -> tuple[str | None, dict[str, Any]]:
    """Where the user's code raised, in the innermost call: the expression as it is written, and the
    variables that it names with what they held. Nothing where that cannot be found."""
    at = innermost(error, _is_users)
    text = None if at is None else _text_at(at.tb_frame.f_code, at.tb_lasti)
    if at is None or text is None:
        return None, {}
    return text, held_in(at, text)


def called_by_users(error: BaseException) -> list[FrameType]:
    """The innermost call of the user's code when an error was raised, and the calls inside it."""
    at, calls = innermost(error, _is_users), []
    while at is not None:
        calls.append(at.tb_frame)
        at = at.tb_next
    return calls


def _text_at(code: CodeType, instruction: int) -> str | None:
    """The expression of the user's that an instruction belongs to, as it is written."""
    found = definition_of(code)
    place = list(code.co_positions())[instruction // 2]
    if found is None or None in place or place[0] != place[1]:
        return None
    line, _, start, end = place
    return found[0][(line or 1) - 1].encode()[start:end].decode(errors="ignore")
