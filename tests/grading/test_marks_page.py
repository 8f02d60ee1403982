"""The page in which a person grades: what it enters, what it refuses, and that nothing a student
wrote does anything in it.
"""

import base64
import http.client
import json
import signal
import subprocess
import sys
import threading
from html.parser import HTMLParser
from urllib.parse import quote, urlencode, urlsplit

import pytest
from minigrad.lessons.grading import grades, run, sandbox
from minigrad.lessons.grading.journal import Journal
from minigrad.lessons.grading.marks import Mark, last_marks
from minigrad.lessons.grading.marks_page import MarksPage, MarksServer

from tests.helpers.grader_libraries import made_once, servers_kept
from tests.helpers.small_class import MAX, notebook, write_sheet

LEAST = "confined" if {"landlock", "seccomp"} <= set(sandbox.probe()["obtained"]) else "process"
ATTACK = (
    "</pre></textarea><script>window.PWNED=1</script><img src=x onerror='window.PWNED=2'>"
    "<form action=http://127.0.0.1:9/><input name=points-0 value=2><style>*{display:none}</style>"
)
EVE = 'Eve "><script>window.PWNED=3<'
PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
ATTACHED = {
    "a.png": {"image/png": base64.b64encode(PIXEL).decode()},
    "b.svg": {"image/svg+xml": base64.b64encode(b"<svg onload='window.PWNED=4'/>").decode()},
    "c.png": {"image/png": base64.b64encode(b"<script>window.PWNED=5</script>").decode()},
    "d.png": {"image/png": '"><script>window.PWNED=6</script>'},
}


def with_proof(sources: dict[str, str], text: str, attachments: object = None) -> dict:
    """A notebook with a cell that a person grades."""
    book = notebook(sources)
    role = {"grade": True, "solution": True, "locked": False, "task": False, "points": 5}
    cell = {
        "cell_type": "markdown", "id": "proof", "source": text,
        "metadata": {"nbgrader": {"schema_version": 3, "grade_id": "proof", **role}},
    }  # fmt: skip
    book["cells"].append(cell | ({"attachments": attachments} if attachments else {}))
    return book


@pytest.fixture(scope="module")
def graded(tmp_path_factory, libraries_folder):
    """A sheet with a proof, and the results of three students: (sheet, results)."""
    top = tmp_path_factory.mktemp("marks")
    sheet = write_sheet(top / "sheet")
    with sheet.open("a") as file:
        file.write('\nRUBRIC = {"proof": {"idea": 2, "details": 3}}\n')
    (top / "sheet" / "small.ipynb").write_text(json.dumps(with_proof({}, "…")))
    wrong = {"f": f"def f(x, y):\n    f.__closure__\n    raise ValueError({ATTACK!r})"}
    for student, book in {
        "ada": with_proof({}, "Let ε > 0.", ATTACHED),
        "Zoë": with_proof({}, ""),
        EVE: with_proof(wrong, ATTACK, [1]),
    }.items():
        path = top / "submitted" / student / "small.ipynb"
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps(book))
    with made_once(libraries_folder), servers_kept(libraries_folder):
        report = run.grade(
            sheet, top / "submitted", top / "out", run.Options(LEAST, jobs=1, wrap=False)
        )
    assert [r.points for r in report.results] == [MAX - 3, MAX, MAX]
    return sheet, top / "out"


@pytest.fixture
def out(graded, tmp_path):
    """A copy of the results."""
    for name in ("journal.jsonl", "secret.key"):
        (tmp_path / name).write_bytes((graded[1] / name).read_bytes())
    return tmp_path


@pytest.fixture
def server(graded, out):
    with MarksServer(MarksPage(graded[0], out)) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def ask(server, method, path="", form=None, **headers) -> tuple[int, str, dict[str, str]]:
    """A request below the random word, unless it begins with a slash."""
    connection = http.client.HTTPConnection(*server.server_address, timeout=20)
    try:
        path = path if path.startswith("/") else f"/{server.token}/{path}"
        connection.request(method, path, None if form is None else urlencode(form), headers)
        answer = connection.getresponse()
        return answer.status, answer.read().decode(), dict(answer.getheaders())
    finally:
        connection.close()


class Elements(HTMLParser):
    """The tags of a page with their attributes, and the texts of its fields."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))

    def form(self) -> dict[str, str]:
        return {a["name"]: a.get("value") or "" for tag, a in self.found if tag == "input"}


def filled(server, student, **fields) -> dict[str, str]:
    form = Elements(ask(server, "GET", f"student/{quote(student, safe='')}")[1]).form()
    return form | {name.replace("_", "-"): text for name, text in fields.items()}


def test_points_and_comments_go_into_the_journal_and_count(server, out, graded):
    comment = f"well done\r\n{ATTACK}"
    form = filled(server, "ada", points_0="2", comment_0=comment, points_1="1,5", points_2="0")
    status, _, headers = ask(server, "POST", "student/ada", form)
    assert (status, headers["Location"]) == (303, "ada?saved")
    given = last_marks(out / "journal.jsonl")["ada"]
    assert given["proof: idea"] == Mark("proof: idea", 2.0, comment.replace("\r\n", "\n"))
    assert {item: mark.points for item, mark in given.items()} == {
        "proof: idea": 2.0, "proof: details": 1.5, "f": 0.0,
    }  # fmt: skip
    ada = next(r for r in grades.graded(out, graded[0]) if r.student == "ada")
    assert ada.points == MAX - 3 + 3.5
    page = ask(server, "GET", "student/ada?saved")[1]
    assert "✓ Saved." in page and "7.5</strong> of 12 points" in page and "Let ε &gt; 0." in page
    before = (out / "journal.jsonl").read_bytes()
    assert ask(server, "POST", "student/ada", filled(server, "ada", comment_0=comment))[0] == 303
    assert (out / "journal.jsonl").read_bytes() == before, "what did not change is not written"
    taken_back = filled(server, "ada", points_2="", comment_0=comment)
    assert ask(server, "POST", "student/ada", taken_back)[0] == 303
    assert "f" not in last_marks(out / "journal.jsonl")["ada"]


def test_the_class_and_the_student_s_page_say_what_was_noticed(server):
    said = "wrote `__closure__` in cell 2, which looks into other functions"
    assert ask(server, "GET")[1].count(said) == 1
    assert said in ask(server, "GET", f"student/{quote(EVE, safe='')}")[1]
    assert said not in ask(server, "GET", "student/ada")[1]


def test_the_next_student_is_one_with_something_left(server):
    form = filled(server, "ada", points_0="1", points_1="1", next="1")
    _, _, headers = ask(server, "POST", "student/ada", form)
    assert headers["Location"] == f"{quote(EVE, safe='')}?saved" or "Zo" in headers["Location"]
    page = ask(server, "GET")[1]
    assert "1 of 3 submissions are graded." in page and page.count("2 left") == 2


@pytest.mark.parametrize(
    ("fields", "say"),
    [
        ({"points_0": "3"}, "Write a number from 0 to 2."),
        ({"points_0": "-1"}, "Write a number from 0 to 2."),
        ({"points_1": "two <b>"}, "Write a number from 0 to 3."),
        ({"points_1": "nan"}, "Write a number from 0 to 3."),
        ({"points_0": "1e999"}, "Write a number from 0 to 2."),
        ({"comment_0": "no points"}, "A comment needs points"),
        ({"known": "0", "points_0": "1"}, "Other points were entered"),
    ],
)
def test_what_is_wrong_enters_nothing_and_stays_in_the_form(server, out, fields, say):
    before = (out / "journal.jsonl").read_bytes()
    form = filled(server, "ada", **{"points_4": "1", "comment_4": "typed <i>", **fields})
    status, page, _ = ask(server, "POST", "student/ada", form)
    assert status == 422 and say in page
    assert "typed &lt;i&gt;" in page and "<i>" not in page
    assert (out / "journal.jsonl").read_bytes() == before


def test_while_a_grader_writes_nothing_is_lost(server, out):
    form = filled(server, "ada", points_0="1", comment_0="my comment")
    with Journal(out / "journal.jsonl"):
        status, page, _ = ask(server, "POST", "student/ada", form)
    assert status == 503 and "another grader is writing" in page and "my comment" in page
    assert ask(server, "POST", "student/ada", form)[0] == 303


def test_only_our_own_pages_may_ask(server, out):
    assert server.server_address[0] == "127.0.0.1" and len(server.token) >= 32
    form, before = filled(server, "ada", points_0="1"), (out / "journal.jsonl").read_bytes()
    for method, body in (("GET", None), ("POST", form)):
        assert ask(server, method, "/", body)[0] == 403
        assert ask(server, method, f"/{server.token[::-1]}/student/ada", body)[0] == 403
        for other in ("evil.example", f"localhost:{server.server_port}"):
            assert ask(server, method, "student/ada", body, Host=other)[0] == 403
        for other in ("http://evil.example", "null"):
            assert ask(server, method, "student/ada", body, Origin=other)[0] == 403
    assert ask(server, "POST", "student/unknown", form)[0] == 404
    assert ask(server, "GET", "../../etc/passwd")[0] == 404
    for length in (1 << 20, 1 << 24):  # the answer is read although the form is sent first
        assert ask(server, "POST", "student/ada", {"comment-0": "x" * length})[0] == 413
    assert (out / "journal.jsonl").read_bytes() == before


def test_what_students_wrote_is_text_and_nothing_may_be_loaded(server):
    for student in ("ada", EVE, "Zoë"):
        status, page, headers = ask(server, "GET", f"student/{quote(student, safe='')}")
        assert status == 200
        elements = Elements(page).found
        assert not [tag for tag, _ in elements if tag in ("script", "iframe", "object", "base")]
        assert not [name for _, attrs in elements for name in attrs if name.startswith("on")]
        assert [a.get("action") for tag, a in elements if tag == "form"] == [None]
        policy = next(a["content"] for _, a in elements if "http-equiv" in a)
        assert "default-src 'none'" in policy and "form-action 'self'" in policy
        assert "script-src" not in policy and "unsafe" not in policy
        assert headers["X-Frame-Options"] == "DENY" and headers["Cache-Control"] == "no-store"
    page = ask(server, "GET", "student/ada")[1]
    images = [a["src"] for tag, a in Elements(page).found if tag == "img"]
    assert images == [f"data:image/png;base64,{base64.b64encode(PIXEL).decode()}"]


def test_the_command_serves_until_it_is_stopped(graded, out):
    command = [sys.executable, "-m", "minigrad", "grade", "marks", str(graded[0])]
    with subprocess.Popen(
        [*command, "--out", str(out), "--page"], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        address = urlsplit(process.stdout.readline().removeprefix("open ").strip())
        connection = http.client.HTTPConnection(address.netloc, timeout=20)
        connection.request("GET", address.path)
        assert "0 of 3 submissions are graded" in connection.getresponse().read().decode()
        connection.close()
        process.terminate()  # SIGINT may be ignored where tests run in the background
        said = process.communicate(timeout=30)[0]
    assert "what was saved is in the journal" in said
    assert process.returncode == 128 + signal.SIGTERM


@pytest.mark.browser
def test_a_person_grades_in_a_browser(server, out, chromium):
    from axe_playwright_python.sync_playwright import Axe

    tab, asked, said = chromium.new_page(viewport={"width": 390, "height": 800}), [], []
    tab.on("request", lambda r: asked.append(urlsplit(r.url)))
    tab.on("console", lambda m: said.append(m.text))
    tab.goto(server.address)
    assert tab.evaluate("document.documentElement.scrollWidth") <= 390
    for name in ("ada", EVE, "Zoë"):
        with tab.expect_navigation():
            tab.get_by_role("link", name=name, exact=True).click()
        assert tab.evaluate("document.documentElement.scrollWidth") <= 390
        assert tab.evaluate("window.PWNED") is None
        found = Axe().run(tab).response["violations"]
        assert not found, [(v["id"], v["nodes"][0]["html"]) for v in found]
        tab.get_by_role("link", name="all students").click()
    tab.get_by_role("link", name="ada", exact=True).click()
    tab.get_by_label("points of 2", exact=True).first.fill("1.5")
    tab.get_by_label("comment").first.fill("clear\n</textarea><script>window.PWNED=7</script>")
    tab.get_by_role("button", name="Save", exact=True).click()
    tab.get_by_text("✓ Saved.").wait_for()
    assert "clear\n</textarea>" in tab.get_by_label("comment").first.input_value()
    tab.get_by_label("points of 3", exact=True).first.fill("9")
    tab.get_by_role("button", name="Save and go to the next").click()
    tab.get_by_text("Write a number from 0 to 3.").wait_for()
    tab.get_by_label("points of 3", exact=True).first.fill("3")
    tab.get_by_role("button", name="Save and go to the next").click()
    tab.get_by_role("heading", name="ada").wait_for(state="detached")
    assert tab.evaluate("window.PWNED") is None
    tab.close()
    assert {url.netloc for url in asked if url.scheme == "http"} == {
        f"127.0.0.1:{server.server_port}"
    }
    assert {url.scheme for url in asked} <= {"http", "data"}
    assert [line for line in said if "422" not in line] == []
    given = last_marks(out / "journal.jsonl")["ada"]
    assert (given["proof: idea"].points, given["proof: details"].points) == (1.5, 3.0)
