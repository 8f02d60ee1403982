"""Cells of a lesson that only show something: a submission need not run them again.

A cell can be left out if no answer changes without it. It is a cell of the sheet that the student
has left as it was, and no code that runs depends on it: what it binds, and what it could change
through the names that it uses, is used by no other cell that is run. Names are all that cells have
in common, apart from files, settings of a module and the like; a cell that mentions such things is
run, and where a student's code looks at names as data (`globals()`, `exec`), every cell is.
Training a network to draw its loss, for example, takes seconds in the lesson and nothing when a
thousand submissions are graded.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Protocol

from .jupyter_cells import names_in

Cells = Sequence[tuple[str, str]]

_WORDS = (
    "open|save|savez|savefig|savetxt|write|write_text|write_bytes|dump|mkdir|makedirs|touch|rename|unlink|remove|rmtree|copy|copyfile|seed|"
    r"manual_seed|set_\w+|seterr|setattr|delattr|register\w*|patch\w*|environ|chdir|globals|exec|eval|reload|enable\w*|disable\w*"
)
ACTS = re.compile(
    rf"\.\s*({_WORDS})\b|\b({_WORDS})\s*\(|\b(global|sys|warnings)\b|import\s*\*"
    r"|%%?(?:writefile|file|run|cd|env|set_env)\b"
)
"""Words of a cell of the sheet's that may do something which is not to be seen by its names."""
LOOKS_AT_NAMES = re.compile(
    r"\b(globals|locals|vars|dir|exec|eval|__main__|__dict__|get_ipython|inspect|gc|sys|importlib|runpy)\b"
    r"|(?:=|\(|[-+*/@]|\breturn\b)\s*_{1,3}\s*(?:$|[-+*/@).\[])",
    re.MULTILINE,
)
"""Words by which code may get at names that are not written in it, and at the last value shown."""


class NotebookSource(Protocol):
    """What must be known of a sheet."""

    @property
    def notebook(self) -> dict[str, Any] | None: ...
    @property
    def check_ids(self) -> frozenset[str]: ...
    @property
    def solution_ids(self) -> frozenset[str]: ...


@dataclass(frozen=True)
class CellNames:
    """A cell's names, as `jupyter_cells.names_in` finds them: all; those that it binds; those that
    it binds otherwise than by `import`, `def` and `class`; those that its functions and classes
    use.
    """

    all: frozenset[str]
    bound: frozenset[str]
    loose: frozenset[str]
    inner: frozenset[str]


def demonstrations(sheet: NotebookSource) -> frozenset[str]:
    """The sources of a sheet's cells that are neither solutions nor checks and do nothing that
    names do not tell.
    """
    found = set()
    for cell in (sheet.notebook or {}).get("cells", []):
        nbgrader = cell.get("metadata", {}).get("nbgrader") or {}
        if cell["cell_type"] != "code" or {cell.get("id"), nbgrader.get("grade_id")} & (
            sheet.check_ids | sheet.solution_ids
        ):
            continue
        source = cell["source"] if isinstance(cell["source"], str) else "".join(cell["source"])
        if source.strip() and not ACTS.search(source) and not _reaches_into_modules(source):
            found.add(source.strip())
    return frozenset(found)


def to_leave_out(
    cells: Cells, shown: frozenset[str], names: Callable[[list[str]], Any]
) -> list[str]:
    """The names of the cells that need not be run.

    cells: (name, source) of all of a submission's; shown: `demonstrations` of its sheet; names:
    what `jupyter_cells.names_in` gives for sources, asked for where no text can do harm. Of what it
    answers nothing is believed but that they are texts.
    """
    candidates = {name: _own(source.strip()) for name, source in cells if source.strip() in shown}
    others = [source for name, source in cells if name not in candidates]
    if not candidates or any(LOOKS_AT_NAMES.search(source) for source in others):
        return []
    theirs = _read(names(others), len(others))
    if theirs is None:
        return []
    every = [*candidates.values(), *theirs]
    loose = frozenset().union(*(cell.loose for cell in every))
    by_function: dict[str, frozenset[str]] = {}
    for cell in every:
        for function in cell.bound - loose:
            by_function[function] = by_function.get(function, frozenset()) | cell.inner
    effects = {
        name: cell.bound | (_reached(cell.all, by_function) & loose)
        for name, cell in candidates.items()
    }
    left = dict(candidates)
    used = frozenset().union(*(cell.all for cell in theirs))
    while needed := [name for name in left if effects[name] & used]:
        used = used.union(*(left.pop(name).all for name in needed))
    return [name for name, _ in cells if name in left]


def _reached(names: frozenset[str], by_function: dict[str, frozenset[str]]) -> frozenset[str]:
    """Names, and those that the functions among them use in their turn."""
    found, waiting = set(names), list(names)
    while waiting:
        new = by_function.get(waiting.pop(), frozenset()) - found
        found |= new
        waiting += new
    return frozenset(found)


@lru_cache(maxsize=1024)
def _own(source: str) -> CellNames:
    found = _read(names_in([source]), 1)
    assert found is not None
    return found[0]


def _read(answer: Any, count: int) -> list[CellNames] | None:
    keys = ("names", "bound", "loose", "inner")
    if (
        not isinstance(answer, list)
        or len(answer) != count
        or not all(isinstance(cell, dict) for cell in answer)
    ):
        return None
    if not all(
        isinstance(cell.get(key), list) and all(isinstance(name, str) for name in cell[key])
        for cell in answer
        for key in keys
    ):
        return None
    return [CellNames(*(frozenset(cell[key]) for key in keys)) for cell in answer]


def _reaches_into_modules(source: str) -> bool:
    """Whether something is set in a thing that the cell has not made by itself, such as a
    module's attribute.
    """
    try:
        tree = ast.parse(source)
    except SyntaxError:  # magics
        return True
    own = {
        node.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute | ast.Subscript) and not isinstance(node.ctx, ast.Load):
            root: ast.expr = node
            while isinstance(root, ast.Attribute | ast.Subscript):
                root = root.value
            if not isinstance(root, ast.Name) or root.id not in own | {"self"}:
                return True
    return False
