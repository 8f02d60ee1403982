"""`minigrad grade`: grades a folder of notebooks, regrades from the journal, settles appeals,
and says how safe it is here.
"""

import argparse
import contextlib
import difflib
import importlib
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from minigrad.cli import complain, parser_of
from minigrad.cli.course import lesson_named

EXAMPLES = """\
Students' code runs in processes that can reach neither the network nor your files; \
`minigrad grade doctor` says what this machine
makes possible. RESULTS holds the journal, from which everything else is made; a run that was \
interrupted goes on where it stopped.

exit status of run and regrade: 0 all graded; 1 some need a person (RESULTS/items.csv says why); 2
no submission was graded: the sheet itself, or what the command was given, is wrong. appeal: 1 if
the points are others now. export: 1 if a student is missing on one side. term: 1 if a student
handed in who is not in the roster, or is missing in a system's file. sheet: 2 if its own solution
does not get all points. doctor: 1 if nothing keeps submissions from your files.

examples:
  minigrad grade doctor
  minigrad grade sheet vjp.ipynb
  minigrad grade run vjp.ipynb submitted/ --out results/
  minigrad grade run sheet.py submissions.zip --out results/ --jobs 8
  minigrad grade run vjp.ipynb monday.zip tuesday.zip --out results/
  minigrad grade regrade vjp.ipynb --out results/
  minigrad grade appeal vjp.ipynb ada --out results/
  minigrad grade export vjp.ipynb --out results/ --pages pages/ --report class.html
  minigrad grade export vjp.ipynb --out results/ --canvas 2026-01-31-grades.csv
  minigrad grade export vjp.ipynb --out results/ --moodle worksheet.csv --term course.toml
  minigrad grade marks vjp.ipynb --out results/ --page
  minigrad grade marks vjp.ipynb --out results/ --read results/marks.csv
  minigrad grade term course.toml --out totals.csv
  minigrad grade term course.toml --canvas 2026-01-31-grades.csv --column "Total"
"""


def main(argv: list[str]) -> int:
    """Runs `minigrad grade` with the arguments after its name; returns the exit status."""
    parser = parser_of("grade", "Grades notebooks.", EXAMPLES)
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    for name, do, about, arguments in COMMANDS:
        command = commands.add_parser(name, help=about)
        for flag, settings in arguments.items():
            command.add_argument(flag, **settings)
        command.set_defaults(do=do)
    options = parser.parse_args(argv)
    names = ("run", "exercise", "sandbox", "journal", "submitted_notebooks")
    try:
        grading = {name: _grading(name) for name in names}
    except ImportError as error:
        complain(f"the course is not installed beside minigrad ({error})")
        return 2
    known = (
        grading["exercise"].SheetError,
        grading["sandbox"].SandboxError,
        grading["journal"].JournalError,
        grading["submitted_notebooks"].SubmissionError,
        OSError,
    )
    try:
        return int(options.do(options, grading["run"]))
    except known as error:
        complain(_said(error))
        if isinstance(error, grading["sandbox"].SandboxError):
            complain(
                "`minigrad grade doctor` says why; --trust-students runs submissions all the same"
            )
        return 2


def _sheet_path(text: str) -> Path:
    """A path, or the lesson of a number or a name, unless a file is called so."""
    return Path(text) if Path(text).exists() else lesson_named(text) or Path(text)


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1 on")
    return int(text)


def _said(error: Exception) -> str:
    """An error as a sentence; of the system's the file and the reason, without a number."""
    if isinstance(error, OSError) and error.strerror and error.filename:
        return f"{error.filename}: {error.strerror}"
    return str(error)


def _grading(module: str) -> Any:
    """A module of the grader, by name: the engine's package does not depend on the course."""
    return importlib.import_module(f"minigrad.lessons.grading.{module}")


def _wrong_input(options: argparse.Namespace, grader: Any) -> str:
    """What is wrong with the paths that were given, before anything is done; "" if nothing is
    seen.
    """
    sheet, out = options.sheet, options.out
    if not sheet.exists():
        return (
            f"there is no sheet {sheet}. Give an instructor's notebook, a sheet.py, the folder of"
            " one of them, or a lesson's number."
        )
    if out.exists() and not out.is_dir():
        return f"{out} is a file. Give --out a folder for the results: it may be a new one."
    journal = out / _grading("journal").JOURNAL
    if not journal.is_file():
        return (
            ""
            if options.do is _run
            else (
                f"there is no journal in {out}: `minigrad grade run SHEET SUBMITTED --out {out}`"
                " writes it."
            )
        )
    name = _grading("one_submission").sheet_at(str(grader.sheet_file(sheet))).name
    lines = _grading("journal").read(journal)
    known = next((line["sheet"]["name"] for line in lines if line["kind"] == "hand-in"), name)
    return (
        ""
        if known == name
        else (
            f"{out} holds the results of {known}, not of {name}. Give each sheet a folder of its"
            " own."
        )
    )


def _wrong_submitted(paths: list[Path]) -> str:
    """Why one of some paths is nothing in which submissions could be; "" if each is."""
    return next(filter(None, map(_no_submissions, paths)), "")


def _no_submissions(path: Path) -> str:
    if path.is_file() and path.suffix.lower() != ".zip":
        return (
            f"{path} is one file. Give the folder (or the zip) of all submissions; in it a notebook"
            " may be called STUDENT.ipynb."
        )
    if path.is_file() and not zipfile.is_zipfile(path):
        return f"{path} cannot be read as a zip. Was it downloaded to its end?"
    return ""


def _options(options: argparse.Namespace, grader: Any) -> Any:
    least = "process" if options.trust_students else grader.SAFE_LEVEL
    return grader.Options(
        least=least, warm=not getattr(options, "cold", False), jobs=getattr(options, "jobs", 0)
    )


def _run(options: argparse.Namespace, grader: Any) -> int:
    if problem := _wrong_input(options, grader) or _wrong_submitted(options.submitted):
        complain(problem)
        return 2
    cluster = _grading("cluster")
    pool = cluster.connected(options.cluster) if options.cluster else contextlib.nullcontext()
    try:
        with pool as executor:
            report = grader.grade(
                options.sheet, options.submitted, options.out, _options(options, grader),
                executor, sys.stderr,
            )  # fmt: skip
    except cluster.ClusterError as error:
        complain(str(error))
        return 2
    except KeyboardInterrupt:
        with contextlib.suppress(OSError):  # the terminal may be closed
            complain(f"what has been run is in {options.out}; the same command goes on from there")
        raise
    _tell(report, options.out)
    found = len(report.results)
    levels = sorted(
        {result.record["level"] for result in report.results if result.record.get("level")}
    )
    print(
        f"{report.ran} run now, {found - report.ran} known from the journal; isolation:"
        f" {', '.join(levels) or 'nothing was run'}"
    )
    _tell_unfinished(report)
    return int(report.status)


def _regrade(options: argparse.Namespace, grader: Any) -> int:
    if problem := _wrong_input(options, grader):
        complain(problem)
        return 2
    report = grader.regrade(options.sheet, options.out)
    _tell(report, options.out)
    gain = sum(after > before for _, before, after in report.changed)
    print(f"no code was run again: {gain} gain, {len(report.changed) - gain} lose")
    _tell_unfinished(report)
    return int(report.status)


def _tell(report: Any, out: Path) -> None:
    for result in report.results:
        if why := [*filter(None, [result.record["problem"]]), *result.record.get("flags", [])]:
            print(f"  {result.student}: {'; '.join(why)}")
        if result.record["note"]:
            print(f"  {result.student}: {result.record['note']}")
    for student, reason in report.failed.items():
        print(f"  {student}: the grader itself failed: {reason}")
    for student, before, after in report.changed:
        print(f"  {student}: {before:g} -> {after:g} points")
    if report.withdrawn:
        print(f"  not handed in any more, so not counted: {', '.join(report.withdrawn)}")
    if report.left_out:
        print(f"  neither notebooks nor zips, so not looked at: {', '.join(report.left_out)}")
    if flagged := sum(bool(result.record.get("flags")) for result in report.results):
        print(
            f"{flagged} should be looked at by a person, because of what it is or tried to do; no"
            " points were taken for it"
        )
    count = len(report.results)
    print(
        f"{count} submission{'s' * (count != 1)} graded: {out / 'grades.csv'}, {out / 'items.csv'}"
    )


def _tell_unfinished(report: Any) -> None:
    """The last line: whose notebook did not run to its end."""
    told = [
        f"{r.student} ({'; '.join(r.unfinished) or 'nothing could be run'})"
        for r in report.results
        if r.unfinished or r.record["problem"]
    ]
    if told:
        more = f" and {len(told) - NAMED} more" if len(told) > NAMED else ""
        print(
            f"{len(told)} of {len(report.results)} submissions need a look, because they did not"
            f" run to their end: {', '.join(told[:NAMED])}{more}"
        )


NAMED = 20
"""So many submissions that did not run to their end are named; `export --report` names all."""


def _appeal(options: argparse.Namespace, grader: Any) -> int:
    if problem := _wrong_input(options, grader):
        complain(problem)
        return 2
    try:
        before, now = grader.appeal(
            options.sheet, options.out, options.student, _options(options, grader)
        )
    except KeyError:
        journal = _grading("journal")
        near = difflib.get_close_matches(
            options.student, journal.last_submissions(options.out / journal.JOURNAL), n=1
        )
        complain(
            f"there is no {options.student!r} in the journal of {options.out}"
            + (f"; did you mean {near[0]!r}?" if near else "")
        )
        return 2
    print(
        f"{now.student}: {before.points:g} points in the journal, {now.points:g} now, with the same"
        " cases"
    )
    for judgement in now.judgements:
        for group in judgement.groups:
            print(
                f"  {judgement.exercise}, {group.name}: {group.points:g} of {group.max:g}."
                f" {group.say}"
            )
    return int(before.points != now.points)


def _export(options: argparse.Namespace, grader: Any) -> int:
    if problem := _wrong_input(options, grader):
        complain(problem)
        return 2
    form = _grading("results.export")
    flags = [
        flag for flag in EXPORT if flag not in ("--column", "--earlier", "--language", "--term")
    ]
    names = [flag[2:].replace("-", "_") for flag in flags]
    chosen = {name: getattr(options, name) for name in names}
    if not any(chosen.values()):
        complain(f"say what to write: {', '.join(flags)}")
        return 2
    more = {name: getattr(options, name) for name in ("column", "earlier", "language")}
    try:
        if options.term is not None:
            more["term"] = _totals(options.term)
        done = form.export(options.sheet, options.out, form.Wanted(**chosen, **more))
    except form.WRONG_INPUT as error:
        complain(_said(error))
        return 2
    return _tell_exported(done)


def _tell_exported(done: Any) -> int:
    for line in done.lines:
        print(line)
    for line in done.attention:
        print(f"  look: {line}")
    return int(bool(done.attention))


def _totals(course: Path) -> Any:
    """Raises the term module's TermError."""
    term = _grading("term")
    return term.totals(term.load_term(course, _sheet_path))


def _marks(options: argparse.Namespace, grader: Any) -> int:
    if problem := _wrong_input(options, grader):
        complain(problem)
        return 2
    marks = _grading("marks")
    sheet_path = grader.sheet_file(options.sheet)
    journal, table = options.out / _grading("journal").JOURNAL, options.out / "marks.csv"
    sheet = _grading("one_submission").sheet_at(str(sheet_path))
    worth = _grading("grade_tables").worth_of(sheet)
    if options.page:
        return _marks_page(sheet_path, options.out)
    if options.read is not None:
        try:
            changed = marks.read_table(options.read, journal, worth)
        except marks.MarksError as error:
            complain(str(error))
            return 2
        marks.enter(journal, changed)
        for student, mark, item in changed:
            given = "the grader's points again" if mark is None else f"{mark.points:g} points"
            print(f"  {student}, {item}: {given}")
        print(f"{len(changed)} entered; `minigrad grade regrade` writes the tables again")
        return 0
    rows: list[list[Any]] = []
    for result in _grading("grades").graded(options.out, sheet_path):
        automatic = {j.exercise: j.points for j in result.judgements}
        for item, most in worth.items():
            mark = result.marks.get(item)
            answer = result.record.get("answers", {}).get(item.partition(": ")[0], "")
            entered = (mark.points, mark.comment) if mark else ("", "")
            rows.append([result.student, item, most, *entered, automatic.get(item, ""), answer])
    _grading("grade_tables").write_csv(table, marks.COLUMNS, rows, spreadsheet=True)
    print(f"{len(rows)} rows: {table}. Fill in points and comment, then read it: --read {table}")
    return 0


def _marks_page(sheet: Path, out: Path) -> int:
    module = _grading("marks_page")
    with module.MarksServer(module.MarksPage(sheet, out)) as server:
        print(f"open {server.address}\nCtrl+C ends it; keep the address to yourself", flush=True)
        with contextlib.suppress(KeyboardInterrupt):
            server.serve_forever()
    print("what was saved is in the journal; `minigrad grade regrade` writes the tables again")
    return 0


def _term(options: argparse.Namespace, grader: Any) -> int:
    term = _grading("term")
    try:
        found = _totals(options.course)
    except term.TermError as error:
        complain(str(error))
        return 2
    for piece in found.term.pieces:
        if piece.name not in found.graded:
            print(f"{piece.name}: not graded yet, so it does not count ({piece.results})")
            continue
        credits = {
            student.id: found.credits[student.id][piece.name] for student in found.term.students
        }
        missing = [student for student, credit in credits.items() if not credit.attempts]
        late = [f"{student} ({credit.note})" for student, credit in credits.items() if credit.late]
        print(f"{piece.name}: {len(credits) - len(missing)} of {len(credits)} handed in")
        for what, names in (
            ("missing", missing), ("late", late),
            ("not in the roster", found.strangers[piece.name]),
        ):  # fmt: skip
            if names:
                print(f"  {what}: {', '.join(names)}")
    head, rows = term.rows(found)
    _grading("grade_tables").write_csv(options.out, head, rows)
    print(f"{len(rows)} student{'s' * (len(rows) != 1)}: {options.out}")
    form = _grading("results.export")
    try:
        done = form.export_totals(
            found, options.canvas, options.moodle, options.column, options.out.parent
        )
    except form.WRONG_INPUT as error:
        complain(_said(error))
        return 2
    return int(any(found.strangers.values())) | _tell_exported(done)


def _sheet(options: argparse.Namespace, grader: Any) -> int:
    report = _grading("sheet_report").examine(_grading("sheet").load_sheet(options.sheet))
    print(report)
    return int(report.exit_code)


def _doctor(options: argparse.Namespace, grader: Any) -> int:
    finding = _grading("doctor").examine()
    print(finding)
    return int(finding.level in ("", "process"))


# ----------------------------------------------------------------------------------------- commands


def _file(metavar: str, about: str) -> dict[str, Any]:
    return {"metavar": metavar, "type": Path, "help": about}


SHEET = {
    "sheet": {
        "metavar": "SHEET",
        "type": _sheet_path,
        "help": "the instructor's notebook, a sheet.py, or a lesson's number",
    }
}
OUT = {"--out": {**_file("RESULTS", "the folder of the results"), "required": True}}
TRUST = {
    "--trust-students": {
        "action": "store_true",
        "help": "run submissions even where nothing keeps them from your files and the network",
    }
}
RUN = {
    "submitted": {
        **_file("SUBMITTED", "a folder, or a system's zip of a class; several are one class"),
        "nargs": "+",
    },
    "--jobs": {
        "type": _positive,
        "default": 0,
        "metavar": "N",
        "help": "submissions at a time (default: one a processor)",
    },
    "--cluster": {
        "metavar": "ADDRESS",
        "default": "",
        "help": (
            "run submissions on the workers of a Dask cluster (pip install 'minigrad[cluster]')"
        ),
    },
    "--cold": {
        "action": "store_true",
        "help": "start a new Python for each submission instead of forking a running one",
    },
}
MARKS = {
    "--read": _file("FILE", "the table with points and comments filled in"),
    "--page": {
        "action": "store_true",
        "help": "show a page in the browser instead, at an address of this machine alone",
    },
}
FILLED = {
    "--canvas": _file("FILE", "a gradebook exported from Canvas; a filled copy is written"),
    "--moodle": _file("FILE", "a grading worksheet exported from Moodle; a filled copy is written"),
    "--column": {
        "metavar": "NAME",
        "default": "",
        "help": "their column for the points (default: the sheet's name, or Grade)",
    },
}
EXPORT = FILLED | {
    "--term": _file(
        "COURSE",
        "a course file: --canvas and --moodle get what counts by it, pages say what lateness costs",
    ),
    "--gradescope": _file("DIR", "results.json for each student, and autograder.zip"),
    "--nbgrader": _file(
        "COURSE", "points and comments into the gradebook.db of an nbgrader course"
    ),
    "--pages": _file("DIR", "a page for each student, HTML and Markdown, and an index"),
    "--moodle-feedback": _file("ZIP", "the pages as Moodle takes feedback files"),
    "--canvas-feedback": _file("ZIP", "the pages as Canvas takes files back"),
    "--nbgrader-feedback": _file("DIR", "the pages as nbgrader's feedback folder"),
    "--report": _file(
        "FILE", "a page on the class: mistakes, what to look at, submissions that are alike"
    ),
    "--language": {
        "choices": ("en", "zh"),
        "default": "en",
        "help": "of students' pages: English or Chinese, but for what the sheet itself says",
    },
    "--earlier": {
        **_file("RESULTS", "results folders of other years, with which --report compares"),
        "nargs": "+",
        "default": [],
    },
}
COMMANDS: list[
    tuple[str, Callable[[argparse.Namespace, Any], int], str, dict[str, dict[str, Any]]]
] = [
    (
        "run",
        _run,
        "grade submissions: nbgrader's folders, a folder of files, or a learning system's zip",
        SHEET | RUN | OUT | TRUST,
    ),
    (
        "regrade",
        _regrade,
        "judge again what the journal holds, without running any code, and say who gains or loses",
        SHEET | OUT,
    ),
    (
        "appeal",
        _appeal,
        "run one student's submission again with the same cases",
        SHEET | {"student": {"metavar": "STUDENT"}} | OUT | TRUST,
    ),
    (
        "export",
        _export,
        "write the results for others: pages, a learning system's own file, a class report",
        SHEET | EXPORT | OUT,
    ),
    (
        "marks",
        _marks,
        "enter what a person grades, in a page in the browser or through a table",
        SHEET | MARKS | OUT,
    ),
    (
        "term",
        _term,
        "totals and marks over all sheets of a course file, who is missing and who is late",
        {
            "course": _file("COURSE", "a course file, such as course.toml"),
            "--out": {
                **_file("FILE", "the table of totals (default: totals.csv)"),
                "default": Path("totals.csv"),
            },
        }
        | FILLED,
    ),
    (
        "sheet",
        _sheet,
        "check a sheet: its own solution, and which classic mistakes its tests miss",
        SHEET,
    ),
    (
        "doctor",
        _doctor,
        "say what isolation works on this machine, and why the rest does not",
        {},
    ),
]
"""Each command: its name, what runs it, what it does, its arguments."""
