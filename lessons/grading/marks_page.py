"""What a person grades, in the browser: `minigrad grade marks SHEET --out RESULTS --page`.

A server on this machine alone (127.0.0.1, with a random word in the address) shows a student's
texts, drawings and code, and takes points and comments into the journal. A page holds no script and
may load nothing; everything that came from a student is text in it. So neither a submission nor
another page in the same browser can enter points.
"""

from __future__ import annotations

import base64
import binascii
import hmac
import html
import math
import re
import secrets
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote, unquote, urlsplit

from . import pages
from .grade_tables import worth_of
from .grades import Graded, graded
from .journal import JOURNAL, JournalError
from .marks import Mark, enter, last_marks, number_of
from .one_submission import sheet_at
from .protocol import clean
from .sheet import Sheet
from .submitted_notebooks import SubmissionError, cells_of, ids_of, load, source_of

BODY_BYTES = 1 << 20
COMMENT = 20_000
IMAGES, IMAGE_BYTES = 20, 4 << 20
"""Of one student so many drawings are shown, and none that is larger."""
PICTURES = {"image/png": b"\x89PNG\r\n\x1a\n", "image/jpeg": b"\xff\xd8\xff"}
"""The kinds of drawing that are shown, and how their bytes begin."""

STYLE = """
form { margin: 0; } .item { border-top: 1px solid var(--line); padding: .7rem 0; }
label { display: block; color: var(--soft); } .fields { display: flex; gap: 1rem; flex-wrap: wrap; }
.fields > div:last-child { flex: 1 1 20rem; }
input, textarea, button { font: inherit; color: inherit; background: var(--paper);
  border: 1px solid var(--soft); border-radius: .3rem; padding: .35rem .5rem; }
input { width: 5rem; } textarea { width: 100%; box-sizing: border-box; min-height: 4rem; }
button { cursor: pointer; padding: .4rem 1rem; background: var(--tint); }
:focus-visible { outline: 3px solid var(--right); outline-offset: 2px; }
.wrong { color: var(--wrong); font-weight: 600; } .saved { color: var(--right); }
pre { white-space: pre-wrap; overflow-wrap: anywhere; background: var(--tint); padding: .6rem .8rem;
  border-radius: .3rem; margin: .4rem 0; font-size: .92em; }
tbody th { overflow-wrap: anywhere; width: 9rem; } td p { margin: 0; }
img { max-width: 100%; background: white; border: 1px solid var(--line); }
nav { display: flex; gap: 1rem; flex-wrap: wrap; margin: .6rem 0; }
.save { position: sticky; bottom: 0; background: var(--paper); padding: .6rem 0; display: flex;
  gap: 1rem; border-top: 1px solid var(--line); }
"""


@dataclass(frozen=True)
class Reply:
    """What is answered. location: where the browser goes next."""

    status: int
    text: str
    location: str = ""


@dataclass
class Entered:
    """What was written into a form: by item the points and the comment as texts, and what is wrong
    with them.
    """

    points: dict[str, str] = field(default_factory=dict)
    comments: dict[str, str] = field(default_factory=dict)
    wrong: dict[str, str] = field(default_factory=dict)
    problem: str = ""


class MarksPage:
    """The pages of one results folder, and what they enter. Submissions are read when it is made;
    marks whenever the journal has changed.

    Raises as `grades.graded`.
    """

    def __init__(self, sheet_path: Path, out: Path) -> None:
        self.sheet: Sheet = sheet_at(str(sheet_path))
        self.journal = out / JOURNAL
        self.worth = worth_of(self.sheet)
        self.by_hand = [name for name in self.worth if name not in _exercises(self.sheet)]
        self.results: dict[str, Graded] = {r.student: r for r in graded(out, sheet_path)}
        self.students = list(self.results)
        self._lock, self._entering = threading.Lock(), threading.Lock()
        self._seen = (0, 0)
        self._marks: dict[str, dict[str, Mark]] = {}

    def marks(self, student: str) -> dict[str, Mark]:
        """What the journal holds of a student now."""
        about = self.journal.stat()
        with self._lock:
            if self._seen != (about.st_size, about.st_mtime_ns):
                self._marks = last_marks(self.journal)
                self._seen = (about.st_size, about.st_mtime_ns)
            return self._marks.get(student, {})

    def left(self, student: str) -> int:
        """How many items that only a person can grade have no points yet."""
        given = self.marks(student)
        return sum(item not in given for item in self.by_hand)

    def points(self, student: str) -> float:
        """The student's points with the marks of this moment."""
        result = self.results[student]
        return Graded(result.record, result.judgements, self.marks(student)).points

    # ------------------------------------------------------------------------------------- requests

    def get(self, parts: list[str], saved: bool = False) -> Reply:
        """The page at an address below the random word: [] the class, ["student", NAME] one."""
        if not parts:
            return Reply(200, self._class())
        if len(parts) == 2 and parts[0] == "student" and parts[1] in self.results:
            return Reply(200, self._student(parts[1], saved=saved))
        return Reply(404, _plain("There is no such page.", "../"))

    def post(self, parts: list[str], form: Mapping[str, str]) -> Reply:
        """Enters what a student's form holds, all of it or, where something is wrong, nothing."""
        if len(parts) != 2 or parts[0] != "student" or parts[1] not in self.results:
            return Reply(404, _plain("There is no such page.", "../"))
        with self._entering:
            return self._enter(parts[1], form)

    def _enter(self, student: str, form: Mapping[str, str]) -> Reply:
        entered, before = Entered(), self.marks(student)
        changed: list[tuple[str, Mark | None, str]] = []
        for number, item in enumerate(self.worth):
            points = entered.points[item] = form.get(f"points-{number}", "").strip()
            comment = entered.comments[item] = _comment(form.get(f"comment-{number}", ""))
            value = number_of(points)
            if value is not None and not 0 <= value <= self.worth[item]:
                entered.wrong[item] = f"Write a number from 0 to {self.worth[item]:g}."
            elif value is None and comment:
                entered.wrong[item] = "A comment needs points: write them, 0 for none."
            mark = None if value is None or math.isnan(value) else Mark(item, value, comment)
            if mark != before.get(item):
                changed.append((student, mark, item))
        if form.get("known") != _digest(before):
            entered.problem = (
                "Other points were entered for this student meanwhile, so nothing was saved."
                " Compare, and save again."
            )
        if entered.wrong or entered.problem:
            return Reply(422, self._student(student, entered))
        try:
            if changed:
                enter(self.journal, changed)
        except (JournalError, OSError) as error:
            entered.problem = f"Nothing was saved: {error}."
            return Reply(503, self._student(student, entered))
        to = self._next(student) if "next" in form else student
        return Reply(303, "", f"{quote(to, safe='')}?saved")

    def _next(self, student: str) -> str:
        """The next student of whom something is left to grade; the next one if there is none."""
        after = self.students.index(student) + 1
        turn = [*self.students[after:], *self.students[:after]]
        return next((name for name in turn if self.left(name)), turn[0])

    # ---------------------------------------------------------------------------------------- pages

    def _class(self) -> str:
        rows = []
        for student in self.students:
            left = self.left(student)
            state = (
                '<span class="no">✗</span> ' + f"{left} left"
                if left
                else '<span class="yes">✓</span> done'
            )
            link = f'<a href="student/{quote(student, safe="")}">{html.escape(student)}</a>'
            points = f"{self.points(student):g} of {self.sheet.max_points:g}"
            rows.append((link, state + _noticed(self.results[student]), points))
        done = sum(not self.left(student) for student in self.students)
        body = (
            f"<h1>{html.escape(self.sheet.title)}</h1>"
            f"<p>{done} of {len(self.students)} submissions are graded.</p>"
            + pages.table(("student", "by hand", "points"), rows, points=(2,))
        )
        return _document(self.sheet.title, body)

    def _student(self, student: str, entered: Entered | None = None, saved: bool = False) -> str:
        result, given = self.results[student], self.marks(student)
        if entered is None:
            entered = Entered(
                {item: f"{mark.points:g}" for item, mark in given.items()},
                {item: mark.comment for item, mark in given.items()},
            )
        told = ""
        if entered.problem:
            told = f'<p class="wrong" role="alert">{html.escape(entered.problem)}</p>'
        elif entered.wrong:
            told = '<p class="wrong" role="alert">Nothing was saved: see below.</p>'
        elif saved:
            told = '<p class="saved" role="status">✓ Saved.</p>'
        told += _noticed(result)
        if note := result.record["note"]:
            told += f'<p class="soft">{html.escape(note)}</p>'
        body = (
            f"{self._links(student)}<h1>{html.escape(student)}</h1>"
            f'<p class="total"><strong>{self.points(student):g}</strong> of'
            f" {self.sheet.max_points:g} points · {html.escape(self.sheet.title)}</p>{told}"
            f'<form method="post"><input type="hidden" name="known" value="{_digest(given)}">'
            f"{''.join(self._items(result, given, entered))}"
            '<p class="save"><button>Save</button>'
            '<button name="next" value="1">Save and go to the next</button></p></form>'
            f"{_code(result)}"
        )
        return _document(f"{student} · {self.sheet.title}", body)

    def _links(self, student: str) -> str:
        at = self.students.index(student)
        links = ['<a href="../">all students</a>']
        for name, place in (("previous", at - 1), ("next", at + 1)):
            if 0 <= place < len(self.students):
                href = quote(self.students[place], safe="")
                links.append(f'<a href="{href}">{name}</a>')
        return f"<nav>{' '.join(links)}</nav>"

    def _items(self, result: Graded, given: Mapping[str, Mark], entered: Entered) -> Iterator[str]:
        answers = result.record.get("answers", {})
        judged = {j.exercise: j for j in result.judgements}
        shown: set[str] = set()
        for number, (item, most) in enumerate(self.worth.items()):
            cell = item.partition(": ")[0]
            about = ""
            if item in self.by_hand and cell not in shown:
                shown.add(cell)
                text = html.escape(str(answers.get(cell, ""))) or "(nothing was written)"
                about = f"<pre>{text}</pre>{''.join(_drawings(result, cell))}"
            fields = _fields(number, most, entered, item)
            if item in self.by_hand:
                yield f'<div class="item">{about}<h2>{html.escape(item)}</h2>{fields}</div>'
                continue
            j = judged.get(item)
            auto = f"{j.points:g} of {most:g} by the grader" if j else "not graded"
            groups = "".join(
                f"<li>{html.escape(g.name)}: {g.points:g} of {g.max:g}. {pages.rich(g.say)}</li>"
                for g in (j.groups if j else ())
            )
            opened = " open" if item in given or item in entered.wrong else ""
            yield (
                f'<div class="item"><h2>{html.escape(j.title if j else item)}</h2><p class="soft">'
                f"{auto}</p><ul>{groups}</ul><details{opened}><summary>Points of your own for"
                f" {html.escape(item)}</summary>{fields}</details></div>"
            )


def _noticed(result: Graded) -> str:
    return "".join(f'<p class="soft">{html.escape(why)}</p>' for why in result.noticed)


def _fields(number: int, most: float, entered: Entered, item: str) -> str:
    points = html.escape(entered.points.get(item, ""))
    comment = html.escape(entered.comments.get(item, ""))
    wrong = entered.wrong.get(item, "")
    said = f'<p class="wrong" id="wrong-{number}">{html.escape(wrong)}</p>' if wrong else ""
    state = f' aria-invalid="true" aria-describedby="wrong-{number}"' if wrong else ""
    return (
        f'{said}<div class="fields"><div><label for="points-{number}">points of {most:g}</label>'
        f'<input id="points-{number}" name="points-{number}" value="{points}" inputmode="decimal"'
        f' autocomplete="off"{state}></div><div><label for="comment-{number}">comment</label>'
        f'<textarea id="comment-{number}" name="comment-{number}" maxlength="{COMMENT}">'
        f"\n{comment}</textarea></div></div>"
    )


def _comment(text: str) -> str:
    """A comment as it is kept: browsers send CR LF for a new line."""
    return clean(text.replace("\r\n", "\n"))[:COMMENT].strip()


def _exercises(sheet: Sheet) -> set[str]:
    return {exercise.name for exercise in sheet.exercises}


def _digest(given: Mapping[str, Mark]) -> str:
    return sha256(repr(sorted(given.items())).encode()).hexdigest()[:16]


def _cells(result: Graded) -> list[dict[str, Any]]:
    """The cells of a submission, if its file is still there and a notebook."""
    if not result.record["file"]:
        return []
    try:
        return cells_of(load(Path(result.record["file"])))
    except SubmissionError:
        return []


def _drawings(result: Graded, name: str) -> Iterator[str]:
    """The pictures that a student put into a cell, as far as they are what they say."""
    cells = [cell for cell in _cells(result) if name in ids_of(cell)]
    found = 0
    for cell in cells:
        attached = cell.get("attachments")
        for files in attached.values() if isinstance(attached, dict) else ():
            for kind, data in files.items() if isinstance(files, dict) else ():
                if kind not in PICTURES or not isinstance(data, str) or found >= IMAGES:
                    continue
                try:
                    content = base64.b64decode(re.sub(r"\s+", "", data), validate=True)
                except (binascii.Error, ValueError):
                    continue
                if content.startswith(PICTURES[kind]) and len(content) <= IMAGE_BYTES:
                    found += 1
                    packed = base64.b64encode(content).decode()
                    yield f'<p><img src="data:{kind};base64,{packed}" alt="drawing {found}"></p>'


def _code(result: Graded) -> str:
    cells = [source_of(c) for c in _cells(result) if c.get("cell_type") == "code"]
    shown = "".join(f"<pre>{html.escape(text[:COMMENT])}</pre>" for text in cells if text.strip())
    return f"<details><summary>The submission's code</summary>{shown}</details>" if shown else ""


def _document(title: str, body: str) -> str:
    return pages.document(title, f"<style>{STYLE}</style><main>{body}</main>", form_action="'self'")


def _plain(text: str, back: str = "") -> str:
    link = f'<p><a href="{back}">all students</a></p>' if back else ""
    return _document(text, f"<h1>{html.escape(text)}</h1>{link}")


# -------------------------------------------------------------------------------------------- serve


class MarksServer(ThreadingHTTPServer):
    """Serves the pages on this machine alone, at `address`."""

    daemon_threads = True

    def __init__(self, page: MarksPage) -> None:
        self.page, self.token = page, secrets.token_urlsafe(24)
        super().__init__(("127.0.0.1", 0), _Handler)

    @property
    def address(self) -> str:
        """Where the page is; whoever knows it may enter points."""
        return f"http://127.0.0.1:{self.server_port}/{self.token}/"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A browser that hangs up is no error."""


class _Handler(BaseHTTPRequestHandler):
    server: MarksServer
    timeout = 30
    server_version, sys_version = "minigrad", ""

    def do_GET(self) -> None:
        self._answer(lambda parts, query: self.server.page.get(parts, query == "saved"))

    def do_POST(self) -> None:
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal() or int(length) > BODY_BYTES:
            self.close_connection = True
            self._send(Reply(413, _plain("That is too long.")))
            # A client sends all of a form before it reads the answer, and a connection that is
            # closed with bytes unread is reset: it would see an error instead of the answer.
            rest = min(int(length), 64 * BODY_BYTES) if length.isdecimal() else 0
            while rest > 0 and (chunk := self.rfile.read(min(rest, 1 << 16))):
                rest -= len(chunk)
            return
        text = self.rfile.read(int(length)).decode("utf-8", "replace")
        form = {name: values[-1] for name, values in parse_qs(text, keep_blank_values=True).items()}
        self._answer(lambda parts, query: self.server.page.post(parts, form))

    def _answer(self, reply: Any) -> None:
        url = urlsplit(self.path)
        word, *parts = url.path.lstrip("/").split("/")
        if not self._is_ours(word):
            self._send(Reply(403, _plain("Open the address that the command printed.")))
            return
        self._send(reply([unquote(part) for part in parts if part], url.query))

    def _is_ours(self, word: str) -> bool:
        """Whether a request comes from our own pages: the random word is in the address, and no
        other name of this machine, which a page of a stranger could have, nor another page's form.
        """
        host = f"127.0.0.1:{self.server.server_port}"
        origin = self.headers.get("Origin", f"http://{host}")
        return (
            hmac.compare_digest(word.encode(), self.server.token.encode())
            and self.headers.get("Host") == host
            and origin == f"http://{host}"
        )

    def _send(self, reply: Reply) -> None:
        data = reply.text.encode("utf-8", "replace")
        self.send_response(reply.status)
        if reply.location:
            self.send_header("Location", reply.location)
        for name, value in HEADERS.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing is logged: the address is a secret."""


HEADERS = {
    "Content-Type": "text/html; charset=utf-8",
    "Cache-Control": "no-store",
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Content-Security-Policy": "frame-ancestors 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
"""What every answer carries; the page itself says in its head what it may load (pages.document)."""
