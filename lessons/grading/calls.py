"""Running a function that a student wrote, so that nothing it does stops the notebook.

A check survives a function that loops for ever, raises, prints a thousand lines, or returns
something that is not a number. Each of these ends in a `StudentProblem`, whose text is written for
the student.

Time. All calls of one check share a few seconds of computing, so that other programs on a busy
machine do not count; time spent waiting counts a fifth. An alarm (`SIGALRM`) interrupts a loop
between two of Python's instructions; where that signal does not exist, or the check does not run in
the main thread, a watchdog thread asks the interpreter for the same. The interruption is an
exception that `except Exception` does not catch, and if a bare `except:` swallows the alarm's, the
next one is raised inside that very handler. Nothing here can interrupt a single long computation in
C, such as `10 ** 10 ** 9`.
"""

from __future__ import annotations

import contextlib
import ctypes
import io
import linecache
import numbers
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import redirect_stdout
from types import FrameType
from typing import Any

from .arguments import Changed, Unchanging
from .forbidden import watched
from .stubs import is_blank, is_stub, methods, unwritten
from .withheld import Withheld
from .words import LOOK_AT_PARAMETERS, WRONG_CALL, a_kind, counted, cure, without_stop

SECONDS = 3.0
"""What all calls of one check may take together."""
WAITING = 1 / 5
"""What a second counts in which a call does not compute: it waits, or another program runs."""
KEPT_OUTPUT = 600
"""Characters: enough to recognise one's own output."""


class StudentProblem(Exception):
    """The student's function gave nothing that can be judged.

    kind: "unfinished", "time", "error", "forbidden", "changed" or "type"; say: the text
    for the student.
    """

    def __init__(self, kind: str, say: str) -> None:
        super().__init__(say)
        self.kind, self.say = kind, say


class TimeUp(BaseException):
    """Raised inside a student's function when its time is over. Not an `Exception`, so that
    `except Exception` lets it pass.
    """


class Caller:
    """Calls functions of one submission, within one allowance of time, and keeps what they
    print."""

    def __init__(self) -> None:
        self._left, self._printed = SECONDS, _Clipped()

    @property
    def printed(self) -> str:
        """What the functions printed, up to a limit."""
        return self._printed.getvalue()

    def call(self, function: Callable[..., Any], args: tuple[Any, ...], shown: str) -> Any:
        """function(*args); shown: the call as text, such as "adjoint_sin(a=1, g=2)". Raises
        StudentProblem.
        """
        used, run = spending(), Unchanging(function, shown.partition("(")[0])
        try:
            with redirect_stdout(self._printed):
                return run_limited(run, args, max(self._left, 0.05))
        except TimeUp:
            limit = f"all calls of one check get {SECONDS:g} seconds together"
            raise StudentProblem(
                "time",
                f"`{shown}` took too long, so it was stopped ({limit}). Is there a loop that"
                " nothing ends?",
            ) from None
        except Withheld as error:
            raise StudentProblem(
                "forbidden", f"`{shown}` called what it may not. {error}"
            ) from None
        except Changed as error:
            raise StudentProblem("changed", str(error)) from None
        except NotImplementedError:
            raise unfinished(shown) from None
        except KeyboardInterrupt:
            raise  # the student pressed "interrupt": that is for the notebook to handle
        except BaseException as error:  # SystemExit too: `exit()` in a rule must not end the kernel
            raise StudentProblem("error", f"`{shown}` raised {describe(error, function)}") from None
        finally:
            self._left -= used()

    def number(self, function: Callable[..., Any], args: tuple[Any, ...], shown: str) -> float:
        """The number that function(*args) returns. Raises StudentProblem."""
        result = self.call(function, args, shown)
        _need_something(result, shown, function)
        return as_number(result, f"`{shown}` returned")

    def numbers(
        self, function: Callable[..., Any], args: tuple[Any, ...], shown: str, count: int
    ) -> tuple[float, ...]:
        """The numbers that function(*args) returns: a tuple or list of `count`, or one number
        where count is 1. Raises StudentProblem.
        """
        result = self.call(function, args, shown)
        _need_something(result, shown, function)
        if count == 1 and not isinstance(result, tuple | list):
            return (as_number(result, f"`{shown}` returned"),)
        if not isinstance(result, tuple | list):
            raise StudentProblem(
                "type",
                f"`{shown}` should return {count} numbers, one for each input, but returned"
                f" {a_kind(result)}. Write `return …, …`.",
            )
        if len(result) != count:
            raise StudentProblem(
                "type",
                f"`{shown}` should return {counted(count, 'number')}, one for each input, but"
                f" returned {len(result)}.",
            )
        if any(is_blank(r) and r is not None for r in result):
            raise unfinished(shown)
        return tuple(
            as_number(r, f"`{shown}` returned, as number {i},") for i, r in enumerate(result, 1)
        )


def as_number(value: Any, place: str) -> float:
    """A student's value as a float. place: where it comes from, as the start of a sentence, such as
    "Your prediction is".

    True, complex numbers, arrays and tensors are refused with the cure. Raises StudentProblem.
    """
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise StudentProblem(
            "type", f"{place} {a_kind(value)}; it should be a plain number{cure(value)}."
        )
    try:
        return float(value)
    except Exception as error:
        raise StudentProblem(
            "type",
            f"{place} {a_kind(value)}, which does not become a float ({type(error).__name__}).",
        ) from None


def need_function(function: Any, name: str) -> None:
    """Raises StudentProblem unless it can be called; name: what the exercise calls it."""
    if function is None or function is ...:
        raise StudentProblem("unfinished", unwritten(name, function))
    if not callable(function):
        raise StudentProblem("type", not_a_function(name, function))


def not_a_function(name: str, value: Any, what: str = "a function") -> str:
    """What is said of something that should be a function (what: or something else)."""
    return (
        f"`{name}` should be {what}, but it is {a_kind(value)}. Give its name to the check without"
        " calling it."
    )


def _need_something(value: Any, shown: str, function: Any) -> None:
    if value is None and not is_stub(function):
        raise StudentProblem("type", f"`{shown}` returned nothing (None). Is a `return` missing?")
    if is_blank(value):
        raise unfinished(shown)


def unfinished(shown: str) -> StudentProblem:
    """The function is still a stub, or says itself that it is not written yet."""
    say = (
        f"Not finished: `{shown}` returns nothing. Put your formula in place of `...` and run"
        " its cell, then this one again."
    )
    return StudentProblem("unfinished", say)


def describe(error: BaseException, function: Any) -> str:
    """An exception and the student's own line that raised it; no line of ours, no library's."""
    said = _said(error)
    place = _place(error, [function])
    if place is None:
        return f"{said}. {LOOK_AT_PARAMETERS}" if WRONG_CALL.search(said) else f"{said}."
    line = linecache.getline(*place).strip()
    return f"{said}, in line {place[1]} of its cell" + (f": `{line}`" if line else ".")


def describe_use(error: BaseException, name: str, answers: Iterable[Any]) -> str:
    """An exception that came while a drive used an answer: the student's own, or the drive's,
    which could not use what it got.
    """
    answers = list(answers)
    for answer in answers:
        if _place(error, [answer]) is not None:
            return f"`{name}` raised {describe(error, answer)}"
    said = _said(error)
    if WRONG_CALL.search(said) or not isinstance(error, Exception):
        return f"`{name}` raised {describe(error, None)}"
    return f"what `{name}` gave could not be used: {said.removeprefix('ValueError: ')}."


def _said(error: BaseException) -> str:
    try:
        text = without_stop(str(error)[:300])
    except Exception:
        # the student's own __str__ may raise; then the name of the exception is all that can be
        # said of it
        text = ""
    return type(error).__name__ + (f": {text}" if text else "")


def _place(error: BaseException, answers: Iterable[Any]) -> tuple[str, int] | None:
    """(file, line) of the innermost frame of an exception in the cells of these answers:
    functions, or classes with methods.
    """
    codes = [
        getattr(f, "__code__", None)
        for answer in answers
        for f in (methods(answer) if isinstance(answer, type) else [answer])
    ]
    files = {code.co_filename for code in codes if code is not None}
    place, trace = None, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename in files:
            place = trace.tb_frame.f_code.co_filename, trace.tb_lineno
        trace = trace.tb_next
    return place


class _Clipped(io.StringIO):
    """Keeps the first characters written to it and forgets the rest: a rule is called a hundred
    times.
    """

    def write(self, text: str) -> int:
        space = KEPT_OUTPUT - self.tell()
        super().write(text if len(text) <= space else text[: max(space, 0)])
        return len(text)


# --------------------------------------------------------------------------------------- time limit


def run_limited(function: Callable[..., Any], args: tuple[Any, ...], seconds: float) -> Any:
    """function(*args), or TimeUp after so many seconds (as of `spending`). Raises Withheld where
    something is called that is forbidden just now.
    """
    function = watched(function)
    with _destructors_end_too():
        if threading.current_thread() is threading.main_thread():
            return _with_signal(function, args, seconds)
        return _with_watchdog(function, args, seconds)


@contextlib.contextmanager
def _destructors_end_too() -> Iterator[None]:
    """A TimeUp that a destructor is hit by does not get any further: Python reports it, and the
    loop goes on.

    Here it is not reported, which a student would see in red. It is raised again at the next line
    outside the destructor.
    """
    before, tracing, active = sys.unraisablehook, sys.gettrace(), True

    def explode(frame: FrameType, event: str, value: Any) -> Any:
        if event == "line" and active:
            raise TimeUp
        return explode

    def unraisable(about: sys.UnraisableHookArgs) -> None:
        if not issubclass(about.exc_type, TimeUp):
            before(about)
        elif active:
            sys._getframe(1).f_trace = explode
            sys.settrace(explode)

    sys.unraisablehook = unraisable
    try:
        yield
    finally:
        active = False
        if sys.gettrace() is not tracing:
            sys.settrace(tracing)
        if sys.unraisablehook is unraisable:
            sys.unraisablehook = before


def spending(clock: Callable[[], float] = time.thread_time) -> Callable[[], float]:
    """A function that tells how much of an allowance was used since this call: the seconds of
    computing that the clock measures, or a share of those that passed, whichever is more.
    """
    start, began = clock(), time.monotonic()
    return lambda: max(clock() - start, WAITING * (time.monotonic() - began))


def _with_signal(function: Callable[..., Any], args: tuple[Any, ...], seconds: float) -> Any:
    rings, active, tracing = 0, True, sys.gettrace()
    used = spending()

    def explode(frame: FrameType, event: str, value: Any) -> Any:
        if event == "line" and active:
            raise TimeUp
        return explode

    def ring(frame: FrameType | None) -> None:
        nonlocal rings
        if not active or (not rings and used() < seconds):
            return
        rings += 1
        if rings > 1 and frame is not None:
            # A bare `except:` swallowed the last one. Raise again at the next line, which is the
            # one inside that handler.
            frame.f_trace = explode
            sys.settrace(explode)
        raise TimeUp

    with (_alarms if hasattr(signal, "setitimer") else _interrupts)(ring, seconds):
        try:
            return function(*args)
        finally:
            active = False
            if sys.gettrace() is not tracing:
                sys.settrace(tracing)


REPEAT_S = 0.1
"""After the first signal another comes so often, until the call has ended."""
Ring = Callable[[FrameType | None], None]


@contextlib.contextmanager
def _alarms(ring: Ring, seconds: float) -> Iterator[None]:
    before = signal.signal(signal.SIGALRM, lambda number, frame: ring(frame))
    timer = signal.setitimer(signal.ITIMER_REAL, seconds, REPEAT_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, *timer)
        signal.signal(signal.SIGALRM, before)


@contextlib.contextmanager
def _interrupts(ring: Ring, seconds: float) -> Iterator[None]:
    """SIGINT from a thread: Windows has no alarm, and only this signal wakes a sleep there. An
    interrupt of the user's goes to the handler that was there.
    """
    done, sending, ours = threading.Event(), threading.Lock(), False

    def send() -> None:
        nonlocal ours
        wait = seconds
        while not done.wait(wait):
            wait = REPEAT_S
            with sending:
                if not ours and not done.is_set():
                    ours = True
                    signal.raise_signal(signal.SIGINT)

    def handler(number: int, frame: FrameType | None) -> None:
        nonlocal ours
        if ours:
            ours = False
            ring(frame)
        elif callable(before):
            before(number, frame)

    before = signal.signal(signal.SIGINT, handler)
    threading.Thread(target=send, daemon=True).start()
    try:
        yield
    finally:
        done.set()
        with sending:  # what was sent is handled before the handler changes
            signal.signal(signal.SIGINT, before)


def _with_watchdog(function: Callable[..., Any], args: tuple[Any, ...], seconds: float) -> Any:
    done, thread = threading.Event(), ctypes.c_ulong(threading.get_ident())
    raise_in_thread = ctypes.pythonapi.PyThreadState_SetAsyncExc

    raised = False

    def watch() -> None:
        nonlocal raised
        wait, used = seconds, spending(time.process_time)
        while not done.wait(wait):
            wait = 0.1
            if raised or used() >= seconds:
                raised = True
                raise_in_thread(thread, ctypes.py_object(TimeUp))

    dog = threading.Thread(target=watch, daemon=True)
    dog.start()
    try:
        return function(*args)
    finally:
        while dog.is_alive():
            with contextlib.suppress(TimeUp):
                done.set()
                dog.join()
        if raised:
            # One that came too late must not hit someone else. To clear it with NULL would leave
            # CPython's signal up for good, by which every traced function hangs (3.11): so the last
            # one is raised again, and caught.
            with contextlib.suppress(TimeUp):
                raise_in_thread(thread, ctypes.py_object(TimeUp))
                while True:
                    pass
