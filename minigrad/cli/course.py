"""Where the course lies, and how the students' edition of it gets into a folder: for `minigrad
lab` and `minigrad release`.
"""

import argparse
import importlib
import os
import re
import secrets
from collections.abc import Callable
from pathlib import Path

FILES = (".htm", ".html", ".ipynb", ".md", ".py", ".txt", ".zip")
"""Endings of files that are no folder's."""

LESSONS = Path(str(importlib.import_module("minigrad.lessons").__file__)).resolve().parent


def lesson_named(text: str, lessons: Path = LESSONS) -> Path | None:
    """The course's notebook of a number ("3", "03", "6b") or a name ("bug_zoo",
    "03_the_algorithm"), or None.
    """
    number = re.fullmatch(r"(\d+)([bc]?)", text)
    found = sorted(lessons.glob(f"{int(number[1]):02d}{number[2]}_*.ipynb")) if number else []
    return (
        found[0]
        if found
        else next((path for path in lessons.glob("*.ipynb") if path.stem == text), None)
    )


def lesson_numbers(lessons: Path = LESSONS) -> str:
    """The numbers of the course's lessons: 01, 02, …, 06, 06b, …"""
    return ", ".join(path.name.split("_")[0] for path in sorted(lessons.glob("[0-9]*.ipynb")))


def folder_named(text: str) -> Path:
    """The folder that an argument of a command names, there or not. Raises ArgumentTypeError for
    the name of a file or a lesson: a folder of that name is not what is meant.
    """
    path = Path(text).expanduser()
    if not text.strip():
        raise argparse.ArgumentTypeError("the name is empty; this folder is .")
    if path.is_dir():
        return path
    if path.suffix.lower() in FILES:
        raise argparse.ArgumentTypeError(f"{text} is the name of a file; give a folder")
    if lesson_named(text) or re.fullmatch(r"\d+[a-z]?", text):
        lesson = lesson_named(text)
        what = (
            f"{text} is the lesson {lesson.name}"
            if lesson
            else f"there is no lesson {text} (there are {lesson_numbers()})"
        )
        raise argparse.ArgumentTypeError(f"{what}; give a folder (one of that name is ./{text})")
    return path


def lesson_files(lesson: Path) -> list[Path]:
    """A notebook and the pictures that its text shows, as paths relative to its folder."""
    shown = re.findall(r"!\[[^\]]*\]\(([^)\s]+\.svg)\)", lesson.read_text(encoding="utf-8"))
    pictures = [Path(name) for name in dict.fromkeys(shown) if (lesson.parent / name).is_file()]
    return [Path(lesson.name), *pictures]


def course_files(lessons: Path) -> list[Path]:
    """What a student needs of the folder `lessons`, as relative paths: the notebooks and what lies
    beside them, but no Python modules and nothing that is for instructors.
    """
    found = (
        path.relative_to(lessons)
        for path in sorted(lessons.rglob("*"))
        if path.is_file() and path.suffix not in (".py", ".pyc")
    )
    return [
        path
        for path in found
        if not any(part.startswith((".", "_", "instructors_")) for part in path.parts)
    ]


def copy_course(
    lessons: Path,
    folder: Path,
    files: list[Path] | None = None,
    replace: bool = False,
    told: Callable[[int, int], None] = lambda done, total: None,
) -> tuple[list[Path], list[Path]]:
    """Copies the student's edition of the course into `folder`, and never over a file that differs
    (unless `replace`).

    files: relative to `lessons`; by default those of the whole course. told: called with the number
    of files done and of all. Returns the relative paths that were copied, and those that were kept
    because they differ.
    """
    student_file = importlib.import_module(
        "minigrad.lessons.edition"
    ).student_file  # by name: the engine's package does not depend on the course
    copied, kept = [], []
    files = course_files(lessons) if files is None else files
    for number, path in enumerate(files, 1):
        told(number, len(files))
        ours, theirs = lessons / path, folder / path
        theirs.parent.mkdir(parents=True, exist_ok=True)
        content = student_file(ours)
        there = os.path.lexists(theirs)
        if there and not (replace and theirs.is_file() and theirs.read_bytes() != content):
            if not theirs.is_file() or theirs.read_bytes() != content:
                kept.append(path)
            continue
        beside = theirs.with_name(f".{theirs.name}-{secrets.token_hex(4)}")
        try:  # an interruption leaves no half a file
            beside.write_bytes(content)
            os.replace(beside, theirs)
        finally:
            beside.unlink(missing_ok=True)
        copied.append(path)
    return copied, kept
