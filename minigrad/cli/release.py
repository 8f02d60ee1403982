"""`minigrad release`: the students' edition of the course, or of an instructor's own sheets, in
a folder to hand out.
"""

import importlib
from pathlib import Path
from typing import Any

from minigrad.cli import complain, parser_of
from minigrad.cli.course import (
    LESSONS,
    copy_course,
    course_files,
    folder_named,
    lesson_files,
    lesson_named,
    lesson_numbers,
)
from minigrad.cli.progress import progress_line

EXAMPLES = """\
Students get no solutions, no hidden tests, no outputs, and no cells tagged "instructor". Of a \
sheet.py they get the cases of the
exercises, without what says which answers are right; the modules beside it that these need, and \
its FILES, go with it. Files in DIR that differ are kept, unless --replace is given.

examples:
  minigrad release handout/
  minigrad release handout/ 03 04 bug_zoo
  minigrad release handout/ my-course/gradients.ipynb
"""


def main(argv: list[str]) -> int:
    """Runs `minigrad release` with the arguments after its name; returns the exit status."""
    parser = parser_of(
        "release", "Writes the students' edition of the course into a folder.", EXAMPLES
    )
    parser.add_argument("folder", metavar="DIR", type=folder_named, help="where it goes")
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
    folder = options.folder
    try:
        chosen, along = _chosen(options.sheets)
    except (FileNotFoundError, LookupError) as error:
        complain(str(error))
        return 2
    except _edition().EditionError as error:
        complain(f"nothing was released: {error}")
        return 1
    try:
        copied, kept = [], []
        for home, files in chosen.items():
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
    except _edition().EditionError as error:
        complain(f"nothing more was released: {error}")
        return 1
    there = sum(map(len, chosen.values())) - len(copied) - len(kept)
    known = f"; {there} are there already" if there else ""
    count = f"{len(copied)} file{'s' * (len(copied) != 1)}"
    print(f"wrote {count} of the students' edition to {folder}{known}")
    if along:
        print(f"  with what sheet.py needs: {', '.join(map(str, along))}")
    if kept:
        complain(
            f"kept what differs in {folder}: {', '.join(map(str, kept))} (--replace writes over it)"
        )
    return 1 if kept else 0


def _edition() -> Any:
    return importlib.import_module("minigrad.lessons.edition")


def _chosen(sheets: list[str]) -> tuple[dict[Path, list[Path]], list[Path]]:
    """The files to release, as paths below each folder, and those of them that go with a sheet.py.
    Raises LookupError, FileNotFoundError or EditionError before any is written.
    """
    if not sheets:
        return {LESSONS: course_files(LESSONS)}, []
    chosen: dict[Path, dict[Path, None]] = {}
    along: list[Path] = []
    for sheet in sheets:
        path = Path(sheet)
        lesson = None if path.is_file() else lesson_named(sheet, LESSONS)
        if lesson is not None:
            home, files = LESSONS, lesson_files(lesson)
        elif path.is_file():
            home, files = path.parent, [Path(path.name)]
            module = _module_of(path)
            if module is not None:
                needed = _edition().needed_beside(module)
                files += [Path(module.name), *needed]
                along += [file for file in needed if file not in along]
        elif sheet.isdecimal():
            raise LookupError(f"there is no lesson {sheet}; there are {lesson_numbers(LESSONS)}.")
        else:
            raise FileNotFoundError(
                f"there is no file {sheet}. Give a lesson's number or name, or the path of a"
                " notebook or a sheet.py."
            )
        chosen.setdefault(home, {}).update(dict.fromkeys(files))
    return {home: list(files) for home, files in chosen.items()}, along


def _module_of(path: Path) -> Path | None:
    """The module of the exercises of a file of an instructor's own, or None. Raises EditionError
    for a notebook that is none.
    """
    if path.suffix == ".py":
        return path
    if path.suffix != ".ipynb":
        return None
    named = _edition().notebook(path).get("metadata", {}).get("minigrad")
    beside = path.with_name("sheet.py")
    return None if (named or {}).get("exercises") or not beside.is_file() else beside
