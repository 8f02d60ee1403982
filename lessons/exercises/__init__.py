"""The exercises of the course, as data: `lessonNN.py` beside each `NN_….ipynb`, and `bug_zoo.py`.
No two exercises of the course share a name.
"""

from pathlib import Path


def modules() -> list[str]:
    """The names of the modules that have exercises: the lessons by number, then the bug zoo."""
    return [*sorted(path.stem for path in Path(__file__).parent.glob("lesson[0-9]*.py")), "bug_zoo"]
