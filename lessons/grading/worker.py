"""The student's side: runs a notebook's cells in order and then calls what they define, in a
process that has locked itself in.

A student's code is graded here, where there is nothing to steal: this process knows the inputs of
the call that it is making and nothing else. What it answers is treated as if the student had
written it, because the student may have. One request a line comes in, one answer a line goes out
(protocol.py); the grader keeps the time, from outside:

    {"id": "a1", "do": "names", "sources": ["...", "..."]}
        -> {"id": "a1", "cells": [...]}   see names_in
    {"id": "b2", "do": "cell", "name": "cell 3", "source": "..."}
        -> {"id": "b2"} or {"id": "b2", "error": "...", "kind": "raised"}
    {"id": "c3", "do": "drive", "key": "ab12", "source": "..."}
        -> {"id": "c3"}
    {"do": "calls", "calls": [["d4", "vjp_sin", [...]], ...], ...}
        -> for each call {"id": "d4", "value": ...}, or "error" and "kind"

An answer also tells what was printed, where something was. Between answers, at the moment when it
happens, come {"withheld": true}, once, when something is called that has been taken out of the
library; {"picture": true}, once, when code computes with what a stub of a display package gave it;
and {"flag": "..."}, what a person might like to look at. So a step that does not come back has told
of it, too.
"""

from __future__ import annotations

import _sitebuiltins
import builtins
import importlib
import inspect
import io
import linecache
import os
import signal
import socket
import sys
import traceback
import types
from _thread import allocate_lock
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import islice
from typing import Any

import numpy as np

from . import child_processes, library_stubs, protocol, words
from .arguments import Answers, Changed, Unchanging
from .jupyter_cells import FUTURES, SHELL, Shell, compile_cell, names_in, rest_of
from .library_stubs import nothing
from .stubs import SAYS_SO, Unwritten, attempt, is_blank, is_no_code, unwritten, without_gaps
from .withheld import Withheld, tell_of_the_first
from .words import LOOK_AT_PARAMETERS, WRONG_CALL

PRINTED = 20_000
"""Characters that are kept of what a submission prints."""
RECURSION_LIMIT = 3_000
"""As in Jupyter's kernel, so that what works there works here."""
FLAGS = 20
SHORT = 300
WITHHELD = b'{"withheld":true}\n'
PICTURE = b'{"picture":true}\n'
DEVICES = {"/dev/null", "/dev/urandom"}
OWN_SOCKETS = getattr(socket, "AF_UNIX", None)
TIMERS = tuple(
    getattr(signal, name)
    for name in ("ITIMER_REAL", "ITIMER_VIRTUAL", "ITIMER_PROF")
    if hasattr(signal, name)
)


class StudentCode:
    """One submission: the names that its cells define, and the ways to run more of it."""

    def __init__(self, folder: str, readable: list[str], tell: Callable[[bytes], object]) -> None:
        """tell: writes a line between answers."""
        self.module = types.ModuleType("__main__")
        self.names: dict[str, Any] = self.module.__dict__
        self.names |= {"display": nothing, "get_ipython": nothing}
        self.names |= dict.fromkeys(("_", "__", "___"), "")
        self.shown: Any = ""
        self.futures = 0
        self.runner: Any = None  # asyncio's, from the first `await` at the top of a cell on
        sys.modules["__main__"] = self.module
        self.drives: dict[str, Callable[..., Any]] = {}
        self.printed = _Kept(PRINTED)
        self.folder = self.place = folder
        self.watch = AuditLog([folder, *readable], tell)
        self.builtins = vars(builtins)
        self.builtins["help"] = _sitebuiltins._Helper()
        for name in ("exit", "quit"):
            self.builtins[name] = _sitebuiltins.Quitter(name, "")
        self.builtins[SHELL] = Shell(self.names, nothing)
        self.builtins_before = dict(self.builtins)
        self._repair()

    def answers(self, request: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """Does what a request asks for, one answer for each thing. Raises nothing that a
        student's code can raise.
        """
        if request["do"] == "calls":
            for number, name, args in request["calls"]:
                yield {
                    "id": number,
                    **self._step(lambda name=name, args=args: self.call(request, name, args)),
                }
        elif request["do"] == "names":
            yield {"id": request["id"], "cells": names_in(request["sources"])}
        else:
            work = self.cell if request["do"] == "cell" else self.drive
            yield {"id": request["id"], **self._step(lambda: work(request))}

    def _step(self, work: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        start = self.printed.tell()
        self.watch.on = True
        try:
            found = work()
        except BaseException as error:  # SystemExit and KeyboardInterrupt too
            self._repair()
            found = self._failure(error)
        finally:
            self._repair()
        if self.printed.tell() > start:
            found["printed"] = self.printed.getvalue()[start:]
        return found

    def _repair(self) -> None:
        """What a step has bent, such as a name of Python's own, must not cost the next one."""
        self.watch.on = False
        for timer in TIMERS:
            signal.setitimer(timer, 0)
        if sys.gettrace() or sys.getprofile():
            sys.settrace(None)
            sys.setprofile(None)
        self.builtins.update(self.builtins_before)
        sys.stdout = sys.stderr = self.printed
        sys.modules["__main__"] = self.module
        try:
            os.chdir(self.place)
        except OSError:
            os.chdir(self.folder)

    # ---------------------------------------------------------------------------------------- cells

    def cell(self, request: dict[str, Any]) -> dict[str, Any]:
        """Runs a cell as Jupyter would.

        A statement that fails because a package is not there is left out, and the others are run:
        elsewhere the package may be, and the rest of the cell worked.
        """
        name, failed = f"<{request['name']}>", {}
        cell = compile_cell(request["source"], name, self.futures)
        library_stubs.may_be_missing(cell.imports)
        while cell is not None:
            try:
                self._execute(cell.code)
                if cell.last is not None:
                    self._show(eval(cell.last, self.names))
                break
            except ModuleNotFoundError as error:
                if not library_stubs.is_gone(error):
                    raise
                failed = failed or self._failure(error)
                at = [line for file, line in places_of(error) if file == name]
                cell = rest_of(cell, at[0], name, self.futures) if at else None
        self.place = os.getcwd()
        return failed

    def _execute(self, code: types.CodeType) -> None:
        self.futures |= code.co_flags & FUTURES
        result = eval(code, self.names)
        # The first call after a cell, in which a tracer that it left behind fails.
        if inspect.iscoroutine(result):
            import asyncio  # most submissions do not need it

            self.runner = self.runner or asyncio.Runner()
            self.runner.run(result)

    def _show(self, value: Any) -> None:
        """Keeps the value of a cell's last line under the names that Jupyter gives it."""
        if value is None:
            return
        names = self.names
        if names.get("_") is self.shown:  # else the name is the student's own
            names["___"], names["__"], names["_"] = names.get("__"), names.get("_"), value
            self.shown = value

    # ---------------------------------------------------------------------------------------- calls

    def drive(self, request: dict[str, Any]) -> dict[str, Any]:
        """Takes in the instructor's code that uses what the student built; it holds no secrets."""
        module = types.ModuleType(f"drive_{request['key']}")
        sys.modules[module.__name__] = module  # dataclasses look for it there
        exec(drive_code(request["key"], request["source"]), module.__dict__)
        self.drives[request["key"]] = getattr(module, request["function"])
        return {}

    def call(self, request: dict[str, Any], name: str, args: list[Any]) -> dict[str, Any]:
        """Calls the student's function, or the drive that uses it, or takes the value that the
        student wrote.
        """
        args = [protocol.decode(arg) for arg in args]
        if name not in self.names:
            return {"kind": "missing", "error": f"`{name}` is not defined."}
        value = self.names[name]
        if is_blank(value):
            return {
                "kind": "unfinished",
                "error": unwritten(name, value, is_value=request["is_value"]),
            }
        if request["is_value"] and not request.get("drive"):
            value = without_gaps(value)
        else:
            if is_no_code(value) or not (request.get("drive") or callable(value)):
                what = "a function or a class" if request.get("drive") else "a function"
                return {
                    "kind": "type",
                    "error": f"`{name}` should be {what}, but it is {words.a_kind(value)}.",
                }
            try:
                value = self._called(request, name, value, args)
            except Unwritten:
                return {
                    "kind": "unfinished",
                    "error": unwritten(name, value, self._answers(request)),
                }
            except BaseException as error:  # SystemExit and KeyboardInterrupt too
                self._repair()
                return self._failure_of(request, name, error)
        try:
            return {"value": protocol.encode(value)}
        except protocol.ProtocolError as problem:
            library_stubs.tell_if_nothing(value)
            return {
                "kind": "type",
                "error": (
                    f"{f'`{name}`' if request['is_value'] else f'what `{name}` returned'}"
                    f" {problem}."
                ),
            }

    def _called(self, request: dict[str, Any], name: str, function: Any, args: list[Any]) -> Any:
        """What the function returns, or the drive that uses it. Raises Unwritten, and whatever
        the student's code raises.
        """
        if not request.get("drive"):
            return attempt(lambda: Unchanging(function, name)(*args), function)
        answers = self._answers(request)
        use, given = self.drives[request["drive"]], Answers(answers)
        return attempt(lambda: use(given, name, *args), function, answers.values())

    def _answers(self, request: dict[str, Any]) -> dict[str, Any]:
        """What an exercise's drive may use: all of its answers that there are. None for a plain
        call, which uses one.
        """
        return (
            {answer: self.names[answer] for answer in request["answers"] if answer in self.names}
            if request.get("drive")
            else {}
        )

    def _failure(self, error: BaseException) -> dict[str, Any]:
        """What went wrong in a cell."""
        kind = kind_of(error)
        place = _place_of(error)
        said = _said(error, kind)
        library_stubs.tell_if_named(said)
        if isinstance(error, SyntaxError) and error.lineno:
            kind, said, place = (
                "syntax",
                f"SyntaxError: {error.msg}",
                f" (line {error.lineno}: `{(error.text or '').strip()[:SHORT]}`)",
            )
        return {"kind": kind, "error": f"{said}{place}."}

    def _failure_of(
        self, request: dict[str, Any], name: str, error: BaseException
    ) -> dict[str, Any]:
        """What went wrong in a call, and in whose code."""
        kind, place = kind_of(error), _place_of(error)
        said = _said(error, kind)
        library_stubs.tell_if_named(said)
        if kind == "changed":
            say = f"{said}."
        elif kind == "forbidden":
            say = f"{said}{place}."
        elif kind == "unfinished":
            say = f"`{name}` {SAYS_SO}"
        elif kind == "memory":
            say = f"`{name}` ran out of memory{place}."
        elif (
            place
            or not request.get("drive")
            or WRONG_CALL.search(said)
            or not isinstance(error, Exception)
        ):
            say = f"`{name}` raised {said}{place}." + (
                f" {LOOK_AT_PARAMETERS}" if not place and WRONG_CALL.search(said) else ""
            )
        else:
            say = f"what `{name}` gave could not be used: {said.removeprefix('ValueError: ')}."
        return {"kind": kind, "error": say}


def kind_of(error: BaseException) -> str:
    """Which of the failures an exception is."""
    kinds = (
        (Withheld, "forbidden"),
        (Changed, "changed"),
        (NotImplementedError, "unfinished"),
        (MemoryError, "memory"),
    )
    return next((kind for base, kind in kinds if isinstance(error, base)), "raised")


def _said(error: BaseException, kind: str) -> str:
    """An exception's own words, as the start of a sentence."""
    try:
        text = words.without_stop(str(error)[:SHORT])
    except BaseException:
        text = ""
    name = type(error).__name__
    own = kind in ("forbidden", "changed")
    return text if own else f"{name}: {text}" if text else name


def _place_of(error: BaseException) -> str:
    """Where in the student's cells an exception was raised, in brackets; "" where it was not
    there.
    """
    lines = [
        f" (line {line} of {name[1:-1]}: `{linecache.getline(name, line).strip()[:SHORT]}`)"
        for name, line in places_of(error)
        if name.startswith("<cell ")
    ]
    return lines[-1] if lines else ""


_drives: dict[str, types.CodeType] = {}


def drive_code(key: str, source: str) -> types.CodeType:
    """A drive's code. What the server has compiled, all its children have."""
    if key not in _drives:
        _drives[key] = compile(source, f"<drive {key}>", "exec", dont_inherit=True)
    return _drives[key]


def places_of(error: BaseException) -> list[tuple[str, int]]:
    """(file, line) of each frame that an exception came through, at most 200; no file is read
    for it.
    """
    walk = traceback.walk_tb(error.__traceback__)
    return [(frame.f_code.co_filename, line) for frame, line in islice(walk, 200)]


class _Kept(io.StringIO):
    """Keeps the first characters that are written to it and forgets the rest."""

    def __init__(self, limit: int) -> None:
        super().__init__()
        self.limit = limit

    def close(self) -> None:
        """The output of other processes too."""

    def write(self, text: str) -> int:
        if isinstance(text, str):  # not a line longer than what is kept, however long the text
            super().write(text[: max(self.limit - self.tell(), 0)])
        return len(text)


# -------------------------------------------------------------------------------------------- flags


class AuditLog:
    """Notes what a person might like to look at. It changes no grade, and it stops nothing: that
    is sandbox.py's work.
    """

    EVENTS: dict[str, str] = {  # noqa: RUF012  # a table
        "subprocess.Popen": "tried to start a program", "os.system": "tried to start a program",
        "os.exec": "tried to start a program",
        "os.posix_spawn": "tried to start a program", "os.fork": "tried to start a process",
        "os.kill": "tried to send a signal",
        "os.killpg": "tried to send a signal", "socket.connect": "tried to use the network",
        "socket.bind": "tried to use the network",
        "socket.__new__": "tried to use the network",
        "gc.get_objects": "looked through Python's memory",
        "gc.get_referrers": "looked through Python's memory",
        "gc.get_referents": "looked through Python's memory",
        "sys._getframe": "looked at its callers' frames",
        "sys._current_frames": "looked at its callers' frames",
        "sys.settrace": "traced Python's execution", "sys.setprofile": "traced Python's execution",
        "ctypes.dlopen": "loaded a C library", "ctypes.dlsym": "called C functions",
        "code.__new__": "made code by hand",
    }  # fmt: skip

    def __init__(self, usual: list[str], tell: Callable[[bytes], object]) -> None:
        """tell: writes a line to the grader."""
        self.tell = tell
        self.on = self.busy = False
        self.usual = tuple(usual)  # paths without links, as the grader gives them
        self.own = self.usual[1:]  # Python's own modules, NumPy and the library
        self.searched = {os.path.realpath(path) for path in sys.path}
        self.seen: set[str] = set()
        sys.addaudithook(self.hook)

    def hook(self, event: str, args: tuple[Any, ...]) -> None:
        """Called by Python at whatever it deems sensitive (sys.addaudithook)."""
        if not self.on or self.busy or (event != "open" and event not in self.EVENTS):
            return
        self.busy = True
        try:
            if event == "open":
                self._note_open(args[0])
            elif event == "socket.__new__" and args[1] == OWN_SOCKETS:
                pass  # asyncio talks to itself
            elif event in ("sys.settrace", "sys.setprofile") and _caller().startswith(self.own):
                pass  # doctest, a profiler, or the viewer that follows the lines of a function
            # Python's own modules look at frames and make code: dataclasses, named tuples,
            # warnings.
            elif event not in ("sys._getframe", "code.__new__") or _caller().startswith("<cell "):
                self.note(self.EVENTS[event])
        finally:
            self.busy = False

    def _note_open(self, path: Any) -> None:
        if isinstance(path, str | bytes | os.PathLike):
            full = os.path.realpath(os.fsdecode(path))
            if not full.startswith(self.usual) and full not in self.searched | DEVICES:
                self.note(f"tried to open a file outside its folder: {full[:SHORT]}")

    def note(self, flag: str) -> None:
        """Tells of a flag, once."""
        if flag not in self.seen and len(self.seen) < FLAGS:
            self.seen.add(flag)
            with suppress(Exception):  # a student may have changed what this uses
                self.tell(protocol.dumps({"flag": flag}))


def _caller() -> str:
    """The file of the code that raised an event."""
    frame = sys._getframe(
        2
    )  # past this function and the hook; what raises the event is C and has no frame
    return frame.f_code.co_filename


# --------------------------------------------------------------------------------------------- loop


class AnswerPipe:
    """The pipe to the grader. Whole lines are written to it, also by several threads and while a
    signal is handled.
    """

    def __init__(self, pipe: int) -> None:
        self.pipe, self.free, self.waiting = pipe, allocate_lock(), deque[bytes]()
        self.write = os.write

    def tell(self, line: bytes) -> None:
        """Writes a line at once, or after the one that is being written."""
        self.waiting.append(line)
        self._tell_waiting()

    def send(self, line: bytes) -> None:
        """Writes a line, and those that have waited for it."""
        with self.free:
            self._write(line)
        self._tell_waiting()

    def _tell_waiting(self) -> None:
        while self.waiting and self.free.acquire(blocking=False):
            try:
                self._write(self.waiting.popleft() if self.waiting else b"")
            finally:
                self.free.release()

    def _write(self, line: bytes) -> None:
        while line:
            line = line[self.write(self.pipe, line) :]


PICTURES = {"matplotlib": "matplotlib.pyplot"}
"""What is imported of a package, where its name alone imports too little."""


def import_packages(there: list[str]) -> None:
    """Imports packages beyond NumPy, as far as they can be imported. This comes before `run`: what
    they need themselves is then the real one, and no stub.
    """
    for name in there:
        with suppress(Exception):
            importlib.import_module(PICTURES.get(name, name))


def requests(pipe: io.BufferedReader) -> Iterator[dict[str, Any]]:
    """The grader's requests, until it has no more."""
    for line in pipe:
        yield protocol.loads(line, limit=None)


def run(
    request_pipe: int, answer_pipe: int, folder: str, readable: list[str], there: list[str]
) -> None:
    """Answers requests until there are none, or until this process is ended. Call it when the
    process is in the sandbox.

    there: packages beyond NumPy and minigrad that may be imported.
    """
    os.chdir(folder)
    sys.setrecursionlimit(RECURSION_LIMIT)
    sys.path.append(folder)  # last: what lies beside the notebook shadows nothing
    library_stubs.install(nothing, there)
    child_processes.install()
    np.seterr(all="ignore")
    pipe = AnswerPipe(answer_pipe)
    student = StudentCode(folder, readable, pipe.tell)
    tell_of_the_first(lambda: pipe.tell(WITHHELD))
    library_stubs.tell_of_the_first(lambda: pipe.tell(PICTURE))
    with os.fdopen(request_pipe, "rb") as incoming:
        for request in requests(incoming):
            for answer in student.answers(request):
                pipe.send(_message(answer))


def _message(answer: dict[str, Any]) -> bytes:
    try:
        return protocol.dumps(answer)
    except (ValueError, TypeError, RecursionError, MemoryError) as error:
        return protocol.dumps(
            {
                "id": answer["id"],
                "kind": "type",
                "error": f"What was returned cannot be sent ({type(error).__name__}).",
            }
        )
