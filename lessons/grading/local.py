"""Running cases in this very process: for the check in the notebook, and for an instructor's own
solution.

Both share cases, calls and the plain form of values with the batch grader. They do not share the
sandbox: code that runs here could do anything, so nothing that this file returns is a grade.
"""

from __future__ import annotations

import contextlib
import io
import os
import time
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from types import CodeType
from typing import Any

from .arguments import Answers, Changed, Unchanging
from .calls import (
    StudentProblem,
    TimeUp,
    describe,
    describe_use,
    not_a_function,
    run_limited,
    spending,
)
from .exercise import Case, Exercise, Returned, copied
from .judge import returned_by
from .protocol import ProtocolError, decode, encode
from .stubs import SAYS_SO, Unwritten, attempt, is_blank, is_no_code, unwritten, without_gaps
from .withheld import Withheld


def run_cases(
    exercise: Exercise, cases: Sequence[Case], answers: Mapping[str, Any], seconds: float
) -> list[Returned]:
    """What the student's functions (or values) give for each case, within so many seconds (as
    of `spending`) for all of them together. Never raises, but for KeyboardInterrupt: that is the
    student's own wish.

    After a call that ran out of time the other cases of the same answer are not tried any more.
    """
    drive, hung, found, left = _drive(exercise), set[str](), list[Returned](), seconds
    for case in cases:
        name = exercise.called(case)
        if name in hung:
            found.append(
                Returned(error="not tried, because a call before it ran out of time.", kind="time")
            )
            continue
        used = spending()
        back = _run(exercise, case, answers, drive, max(left, 0.05))
        left -= used()
        if back.kind == "time":
            hung.add(name)
        found.append(back)
    return found


def _drive(exercise: Exercise) -> Callable[..., Any] | None:
    code = exercise.drive_code()
    if code is None:
        return None
    scope: dict[str, Any] = {"__name__": exercise.drive.split(":")[0]}
    exec(_compiled(code[0], f"<{exercise.drive}>"), scope)
    function: Callable[..., Any] = scope[code[1]]
    return function


@lru_cache(maxsize=64)
def _compiled(source: str, name: str) -> CodeType:
    return compile(source, name, "exec", dont_inherit=True)


def _run(
    exercise: Exercise,
    case: Case,
    answers: Mapping[str, Any],
    drive: Callable[..., Any] | None,
    seconds: float,
) -> Returned:
    name = exercise.called(case)
    given = answers.get(name)
    if is_blank(given):
        return Returned(error=unwritten(name, given, is_value=exercise.is_value), kind="unfinished")
    arguments = copied(  # a function that changes its arguments must not change the case
        list(case.args.values())
    )
    if exercise.is_value:
        function, arguments = (lambda: without_gaps(given)), []
    elif drive is not None and is_no_code(given):
        return Returned(error=not_a_function(name, given, "a function or a class"), kind="type")
    elif drive is not None:
        function, arguments = drive, [Answers(answers), name, *arguments]
    elif callable(given):
        function = Unchanging(given, name)
    else:
        return Returned(error=not_a_function(name, given), kind="type")
    cpu, wall = time.thread_time(), time.monotonic()
    others = (
        {other: answers[other] for other in exercise.answers if other in answers}
        if drive is not None
        else {}
    )
    used = [given, *others.values()]
    told = (
        (lambda error: describe_use(error, name, used))
        if drive
        else (lambda error: f"`{name}` raised {describe(error, given)}")
    )
    limit = min(seconds, 3 * exercise.limit_s)
    about, empty = returned_by(exercise, case), lambda: unwritten(name, given, others)
    back = _guarded(
        lambda: attempt(lambda: function(*arguments), given, others.values()),
        name,
        about,
        empty,
        told,
        limit,
    )
    return Returned(
        back.value, back.error, back.kind, time.thread_time() - cpu, time.monotonic() - wall
    )


def _guarded(
    call: Callable[[], Any],
    name: str,
    about: str,
    empty: Callable[[], str],
    told: Callable[[BaseException], str],
    seconds: float,
) -> Returned:
    """What a call gives. about: the subject of a sentence about it; empty, told: say what is to
    be said of a stub and of an exception.
    """
    try:
        return Returned(decode(encode(run_limited(call, (), seconds))))
    except ProtocolError as problem:
        return Returned(error=f"{about} {problem}.", kind="type")
    except TimeUp:
        say = (
            f"`{name}` took too long, so it was stopped. Is there a loop that nothing ends, or one"
            " that does far too much?"
        )
        return Returned(error=say, kind="time")
    except Unwritten:
        return Returned(error=empty(), kind="unfinished")
    except Withheld as error:
        return Returned(error=str(error), kind="forbidden")
    except Changed as error:
        return Returned(error=str(error), kind="changed")
    except NotImplementedError:
        return Returned(error=f"`{name}` {SAYS_SO}", kind="unfinished")
    except StudentProblem as problem:
        return Returned(error=problem.say, kind="type")
    except KeyboardInterrupt:
        raise
    except MemoryError:
        return Returned(error=f"`{name}` ran out of memory.", kind="memory")
    except BaseException as error:
        return Returned(error=told(error), kind="raised")


def run_notebook(notebook: Mapping[str, Any], skip: frozenset[str] = frozenset()) -> dict[str, Any]:
    """The names that a trusted notebook's code cells define, run one after the other but for the
    cells in `skip` (by id).

    Lines that begin with % or ! are left out, and nothing is printed. Raises RuntimeError, with the
    cell's id, where a cell fails.
    """
    scope: dict[str, Any] = {"__name__": "__main__"}
    before = os.environ.get("MPLBACKEND")
    os.environ["MPLBACKEND"] = "agg"
    try:
        for cell in notebook["cells"]:
            if cell["cell_type"] != "code" or cell.get("id") in skip:
                continue
            source = cell["source"] if isinstance(cell["source"], str) else "".join(cell["source"])
            source = "\n".join(
                "" if line.lstrip()[:1] in ("%", "!") else line for line in source.split("\n")
            )
            try:
                with contextlib.redirect_stdout(io.StringIO()):
                    exec(
                        compile(source, f"<cell {cell.get('id')}>", "exec", dont_inherit=True),
                        scope,
                    )
            except Exception as error:
                raise RuntimeError(
                    f"cell {cell.get('id')!r} raised {type(error).__name__}: {error}"
                ) from error
    finally:
        if before is None:
            os.environ.pop("MPLBACKEND", None)
        else:
            os.environ["MPLBACKEND"] = before
    return scope
