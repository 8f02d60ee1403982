"""`minigrad release`: the students' edition of the course, or of an instructor's own sheets, in
a folder to hand out.
"""

import importlib
from pathlib import Path

from minigrad.cli import complain, parser_of
from minigrad.cli.course import LESSONS, copy_course, course_files, lesson_files, lesson_named
from minigrad.cli.progress import progress_line

EXAMPLES = """\
Students get no solutions, no hidden tests, no outputs, and no cells tagged "instructor". Of a \
sheet.py they get the cases of the
exercises, without what says which answers are right. Files in DIR that differ are kept, unless \
--replace is given.

examples:
  minigrad release handout/
  minigrad release handout/ 03 04 bug_zoo
  minigrad release handout/ my-course/gradients.ipynb my-course/sheet.py
"""


def main(argv: list[str]) -> int:
    """Runs `minigrad release` with the arguments after its name; returns the exit status."""
    parser = parser_of(
        "release", "Writes the students' edition of the course into a folder.", EXAMPLES
    )
    parser.add_argument("folder", metavar="DIR", type=Path, help="where it goes")
    parser.add_argument(
        "sheets",
        metavar="SHEET",
        nargs="*",
        default=[],
        help="a lesson by its number or name, or a file of yours (default: the whole course)",
    )
    parser.add_argument(
        "--replace", action="store_true", help="write over files in DIR that differ"
    )
    options = parser.parse_args(argv)
    folder = options.folder.expanduser()
    try:
        chosen = _chosen(options.sheets)
    except (FileNotFoundError, LookupError) as error:
        complain(str(error))
        return 2
    try:
        copied, kept = [], []
        for home, files in chosen:
            if folder.resolve() == home.resolve():
                complain(
                    f"{folder} holds the instructor's edition, which would be lost. Name another"
                    " folder."
                )
                return 2
            new, old = copy_course(home, folder, files, options.replace, progress_line("files"))
            copied += new
            kept += old
    except (FileExistsError, NotADirectoryError):
        complain(f"cannot write to {folder}: there is a file where a folder is needed")
        return 1
    except OSError as error:
        complain(f"cannot write to {folder}: {error.strerror} ({error.filename})")
        return 1
    except importlib.import_module("minigrad.lessons.edition").EditionError as error:
        complain(f"nothing more was released: {error}")
        return 1
    there = sum(len(files) for _, files in chosen) - len(copied) - len(kept)
    known = f"; {there} are there already" if there else ""
    print(f"wrote {len(copied)} file(s) of the students' edition to {folder}{known}")
    if kept:
        complain(
            f"kept what differs in {folder}: {', '.join(map(str, kept))} (--replace writes over it)"
        )
    return 1 if kept else 0


def _chosen(sheets: list[str]) -> list[tuple[Path, list[Path]]]:
    """The files to release, as (folder, paths below it). Raises LookupError or FileNotFoundError
    for what is none, before any is written.
    """
    if not sheets:
        return [(LESSONS, course_files(LESSONS))]
    chosen = []
    for sheet in sheets:
        lesson = None if Path(sheet).is_file() else lesson_named(sheet, LESSONS)
        if lesson is not None:
            chosen.append((LESSONS, lesson_files(lesson)))
        elif Path(sheet).is_file():
            chosen.append((Path(sheet).parent, [Path(Path(sheet).name)]))
        elif sheet.isdecimal():
            numbers = ", ".join(path.name[:2] for path in sorted(LESSONS.glob("[0-9]*.ipynb")))
            raise LookupError(f"there is no lesson {sheet}; there are {numbers}.")
        else:
            raise FileNotFoundError(
                f"there is no file {sheet}. Give a lesson's number or name, or the path of a"
                " notebook or a sheet.py."
            )
    return chosen
