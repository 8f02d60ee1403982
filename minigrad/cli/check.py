"""`minigrad check`: what the grader would see of a notebook, before it is handed in."""

import importlib
from pathlib import Path

from minigrad.cli import complain, parser_of

EXAMPLES = """\
The notebook runs from its first cell on, in an empty folder and with the packages that are there \
when it is graded. It says which
cell fails there, and what each exercise gets on practice cases. Save the notebook first.

exit status: 0 nothing would be lost; 1 something would be; 2 it is no notebook of a sheet.

examples:
  minigrad check 02_forward_and_reverse_mode.ipynb
"""


def main(argv: list[str]) -> int:
    """Runs `minigrad check` with the arguments after its name; returns the exit status."""
    parser = parser_of("check", "Runs a notebook as the grader would.", EXAMPLES)
    parser.add_argument("notebook", metavar="NOTEBOOK", type=Path, help="a saved notebook")
    path = parser.parse_args(argv).notebook
    if not path.is_file():
        complain(f"there is no notebook {path}")
        return 2
    # By name: the engine's package does not depend on the course.
    try:
        dry_run = importlib.import_module("minigrad.lessons.grading.dry_run")
    except ImportError as error:
        complain(f"the course is not installed beside minigrad ({error})")
        return 2
    problems = (
        importlib.import_module("minigrad.lessons.grading.submitted_notebooks").SubmissionError,
        importlib.import_module("minigrad.lessons.grading.exercise").SheetError,
    )
    try:
        found = dry_run.dry_run(path)
    except problems as error:
        complain(f"{path}: {error}")
        return 2
    print(found)
    return int(found.lost)
