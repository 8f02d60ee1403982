"""The student's side: runs a notebook's cells in order and then calls what they define, in a process that has locked itself in.

After reading this file you know what happens to a student's code when it is graded, and that there is nothing to steal: this process
knows the inputs of the call that it is making and nothing else. What it answers is treated as if the student had written it, because the
student may have. One request a line comes in, one answer a line goes out (wire.py); the grader keeps the time, from outside:

    {"id": "a1", "do": "cell", "name": "cell 3", "source": "..."}       -> {"id": "a1"} or {"id": "a1", "error": "...", "kind": "raised"}
    {"id": "b2", "do": "drive", "key": "ab12", "source": "..."}         -> {"id": "b2"}
    {"id": "c3", "do": "call", "call": "vjp_sin", "args": [...], ...}   -> {"id": "c3", "value": ...} or with "error" and "kind"

Each answer also tells what was printed, and what a person might like to look at ("flags").
"""

from __future__ import annotations

import ast
import asyncio
import builtins
import io
import linecache
import os
import re
import socket
import sys
import traceback
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from . import wire
from .absent import Absent
from .standins import install, nothing

PRINTED = 20_000
"""Characters that are kept of what a hand-in prints."""
RECURSION_LIMIT = 3_000
"""As in Jupyter's kernel, so that what works there works here."""
FLAGS = 20
SHORT = 300

UNFINISHED = (None, ..., NotImplemented)
UNWRITTEN = "is not written yet."


class Student:
    """One hand-in: the names that its cells define, and the ways to run more of it."""

    def __init__(self, folder: str, readable: list[str]) -> None:
        self.module = types.ModuleType("__main__")
        self.names: dict[str, Any] = self.module.__dict__
        self.names["display"], self.names["get_ipython"] = nothing, nothing
        sys.modules["__main__"] = self.module
        self.drives: dict[str, Callable[..., Any]] = {}
        self.printed = _Kept(PRINTED)
        self.folder = folder
        self.watch = Watch([folder, *readable])
        self.builtins = vars(builtins)
        self.builtins_before = dict(self.builtins)

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """Does what a request asks for. Raises nothing that a student's code can raise."""
        work = {"cell": self.cell, "drive": self.drive, "call": self.call}[request["do"]]
        start = self.printed.tell()
        sys.stdout = sys.stderr = self.printed
        self.watch.on = True
        try:
            found = work(request)
        except BaseException as error:  # SystemExit and KeyboardInterrupt too
            self._repair()
            found = self._failure(error)
        finally:
            self._repair()
        printed = self.printed.getvalue()[start:]
        return {"id": request["id"], **found, "printed": printed, "flags": self.watch.take()}

    def _repair(self) -> None:
        """What a step has bent, such as a name of Python's own, must not cost the next one."""
        self.watch.on = False
        sys.settrace(None)
        sys.setprofile(None)
        self.builtins.update(self.builtins_before)
        sys.stdout = sys.stderr = self.printed
        sys.modules["__main__"] = self.module
        os.chdir(self.folder)

    # --------------------------------------------------------------------------------------------------------------- cells

    def cell(self, request: dict[str, Any]) -> dict[str, Any]:
        """Runs a cell as Jupyter would: magics are left out, and `await` is allowed at the top."""
        name = f"<{request['name']}>"
        code = compile_cell(request["source"], name)
        result = eval(code, self.names)
        if asyncio.iscoroutine(result):
            asyncio.run(result)
        return {}

    # --------------------------------------------------------------------------------------------------------------- calls

    def drive(self, request: dict[str, Any]) -> dict[str, Any]:
        """Takes in the instructor's code that uses what the student built; it holds no secrets."""
        module = types.ModuleType(f"drive_{request['key']}")
        sys.modules[module.__name__] = module  # dataclasses look for it there
        exec(compile(request["source"], f"<drive {request['key']}>", "exec"), module.__dict__)
        self.drives[request["key"]] = getattr(module, request["function"])
        return {}

    def call(self, request: dict[str, Any]) -> dict[str, Any]:
        """Calls the student's function, or the drive that uses it, or takes the value that the student wrote."""
        name, args = request["call"], [wire.decode(arg) for arg in request["args"]]
        if name not in self.names:
            return {"kind": "missing", "error": f"`{name}` is not defined."}
        value = self.names[name]
        if any(value is stub for stub in UNFINISHED):
            return {"kind": "unfinished", "error": f"`{name}` {UNWRITTEN}"}
        if request.get("drive"):
            answers = {answer: self.names[answer] for answer in request["answers"] if answer in self.names}
            value = self.drives[request["drive"]](answers, name, *args)
        elif not request["is_value"]:
            if not callable(value):
                return {"kind": "type", "error": f"`{name}` should be a function, but it is of the type {type(value).__name__}."}
            value = value(*args)
        if value is ... or value is NotImplemented:
            return {"kind": "unfinished", "error": f"`{name}` {UNWRITTEN}"}
        try:
            return {"value": wire.encode(value)}
        except wire.WireError as problem:
            what = "The value" if request["is_value"] else "What was returned"
            return {"kind": "type", "error": f"{what} {problem}."}

    def _failure(self, error: BaseException) -> dict[str, Any]:
        kinds = ((Absent, "forbidden"), (NotImplementedError, "unfinished"), (MemoryError, "memory"))
        kind = next((kind for base, kind in kinds if isinstance(error, base)), "raised")
        try:
            said = str(error)[:SHORT]
        except BaseException:
            said = ""
        lines = [
            f" (line {frame.lineno} of {frame.filename[1:-1]}: `{(frame.line or '').strip()[:SHORT]}`)"
            for frame in traceback.extract_tb(error.__traceback__, limit=200)
            if frame.filename.startswith("<cell ")
        ]
        text = said if kind == "forbidden" else f"{type(error).__name__}: {said}" if said else type(error).__name__
        if isinstance(error, SyntaxError) and error.lineno:
            text = f"SyntaxError: {error.msg} (line {error.lineno}: `{(error.text or '').strip()[:SHORT]}`)"
        return {"kind": kind, "error": text + (lines[-1] if lines else "")}


# ---------------------------------------------------------------------------------------------------------- a cell's source

WHOLE_CELL = re.compile(r"\s*%%(\w+)[^\n]*\n?")
CODE_MAGICS = ("time", "timeit", "capture", "prun", "python", "python3")
LINE_MAGIC = re.compile(r"^(\s*)([%!?].*|[\w.]+\?{1,2})\s*$")
ASSIGNED_MAGIC = re.compile(r"^(\s*[\w, ]+=\s*)[%!].*$")


def compile_cell(source: str, name: str) -> types.CodeType:
    """A cell's code. What only Jupyter understands is left out; the numbers of the lines stay. Raises SyntaxError, ValueError."""
    magic = WHOLE_CELL.match(source)
    if magic:
        source = "\n" + source[magic.end() :] if magic[1] in CODE_MAGICS else ""
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    try:
        return compile(source, name, "exec", flags)
    except SyntaxError:
        if not re.search(r"[%!?]", source):
            raise
        return compile("\n".join(map(_without_magic, source.split("\n"))), name, "exec", flags)


def _without_magic(line: str) -> str:
    if assigned := ASSIGNED_MAGIC.match(line):
        return assigned[1] + "None"
    return f"{magic[1]}pass" if (magic := LINE_MAGIC.match(line)) else line


class _Kept(io.StringIO):
    """Keeps the first characters that are written to it and forgets the rest."""

    def __init__(self, limit: int) -> None:
        super().__init__()
        self.limit = limit

    def close(self) -> None:
        """Somebody else's output too."""

    def write(self, text: str) -> int:
        if isinstance(text, str):  # not a line longer than what is kept, however long the text
            super().write(text[: max(self.limit - self.tell(), 0)])
        return len(text)


# ------------------------------------------------------------------------------------------------------------------- flags


class Watch:
    """Notes what a person might like to look at. It changes no grade, and it stops nothing: that is confine.py's work."""

    EVENTS: dict[str, str] = {  # noqa: RUF012  # a table
        "subprocess.Popen": "tried to start a program", "os.system": "tried to start a program", "os.exec": "tried to start a program",
        "os.posix_spawn": "tried to start a program", "os.fork": "tried to start a process", "os.kill": "tried to send a signal",
        "os.killpg": "tried to send a signal", "socket.connect": "tried to use the network", "socket.bind": "tried to use the network",
        "socket.__new__": "tried to use the network", "gc.get_objects": "looked through Python's memory",
        "gc.get_referrers": "looked through Python's memory", "gc.get_referents": "looked through Python's memory",
        "sys._getframe": "looked at its callers' frames", "sys._current_frames": "looked at its callers' frames",
        "sys.settrace": "traced Python's execution", "sys.setprofile": "traced Python's execution",
        "ctypes.dlopen": "loaded a C library", "ctypes.dlsym": "called C functions", "code.__new__": "made code by hand",
    }  # fmt: skip

    def __init__(self, usual: list[str]) -> None:
        self.on = self.busy = False
        self.usual = tuple(usual)  # paths without links, as the grader gives them
        self.seen: set[str] = set()
        self.new: list[str] = []
        sys.addaudithook(self.hook)

    def hook(self, event: str, args: tuple[Any, ...]) -> None:
        """Called by Python at whatever it deems sensitive (sys.addaudithook)."""
        if not self.on or self.busy or (event != "open" and event not in self.EVENTS):
            return
        self.busy = True
        try:
            if event == "open":
                self._note_open(args[0])
            elif event == "socket.__new__" and args[1] == socket.AF_UNIX:
                pass  # asyncio talks to itself
            # Python's own modules look at frames and make code: dataclasses, named tuples, warnings.
            elif event not in ("sys._getframe", "code.__new__") or _from_a_cell():
                self.note(self.EVENTS[event])
        finally:
            self.busy = False

    def _note_open(self, path: Any) -> None:
        if isinstance(path, str | bytes | os.PathLike):
            full = os.path.realpath(os.fsdecode(path))
            if not full.startswith(self.usual) and full not in ("/dev/null", "/dev/urandom"):
                self.note(f"opened a file outside its folder: {full[:SHORT]}")

    def note(self, flag: str) -> None:
        """Keeps a flag, once."""
        if flag not in self.seen and len(self.seen) < FLAGS:
            self.seen.add(flag)
            self.new.append(flag)

    def take(self) -> list[str]:
        """The flags since the last time."""
        new, self.new = self.new, []
        return new


def _from_a_cell() -> bool:
    frame = sys._getframe(2)  # past this function and the hook; what raises the event is C and has no frame
    return frame.f_code.co_filename.startswith("<cell ")


# -------------------------------------------------------------------------------------------------------------------- loop


def requests(pipe: io.BufferedReader) -> Iterator[dict[str, Any]]:
    """The grader's requests, until it has no more."""
    for line in pipe:
        yield wire.loads(line, limit=None)


def run(request_pipe: int, answer_pipe: int, folder: str, readable: list[str]) -> None:
    """Answers requests until there are none, or until somebody ends this process. Call it when the process has locked itself in."""
    os.chdir(folder)
    sys.setrecursionlimit(RECURSION_LIMIT)
    sys.path.append(folder)  # last: what lies beside the notebook shadows nothing
    install(nothing)
    np.seterr(all="ignore")
    student = Student(folder, readable)
    with os.fdopen(request_pipe, "rb") as incoming:
        for request in requests(incoming):
            line = _message(student.answer(request))
            while line:
                line = line[os.write(answer_pipe, line) :]


def _message(answer: dict[str, Any]) -> bytes:
    try:
        return wire.dumps(answer)
    except (ValueError, TypeError, RecursionError, MemoryError) as error:
        return wire.dumps({"id": answer["id"], "kind": "type", "error": f"What was returned cannot be sent ({type(error).__name__})."})
