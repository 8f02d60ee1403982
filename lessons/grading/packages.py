"""Packages beyond NumPy and minigrad that submissions may import.

An instructor names them in a sheet.py (`PACKAGES = ["scipy"]`). A folder of links to each package,
and to those that it needs, is put on the path of the process that runs submissions; the sandbox
lets that process read them, and nothing else that is installed beside them.
"""

from __future__ import annotations

import hashlib
import importlib.util
import re
import tempfile
from collections.abc import Iterable, Iterator
from functools import cache
from importlib import metadata
from pathlib import Path

from . import folders
from .exercise import SheetError

PICTURES = ("matplotlib",)
"""What runs, and not its stub, where a submission computes with what a picture gives."""
OURS = frozenset({"numpy", "minigrad"})


def are_here(names: Iterable[str]) -> bool:
    """Whether packages are installed; they are found by their names in `import`."""
    return all(importlib.util.find_spec(name) is not None for name in names)


def folder_of(names: tuple[str, ...], base: Path | None) -> Path:
    """A folder with links to some packages and to all that they need; made once.

    base: where it is made. Raises SheetError for a package that is not installed.
    """
    return folders.made_once(_link, names, base)


def _link(names: tuple[str, ...], base: Path | None) -> Path:
    tag = hashlib.sha256("\n".join(names).encode()).hexdigest()[:8]
    folder = Path(tempfile.mkdtemp(prefix=f"minigrad-packages-{tag}-", dir=base))
    for name, path in files_of(names).items():
        folders.link(folder / name, path)
    return folder


def files_of(names: Iterable[str]) -> dict[str, Path]:
    """What lies in the folder of installed packages and belongs to some packages or to what they
    need, by its name there. Raises SheetError.
    """
    found: dict[str, Path] = {}
    for name in names:
        try:
            spec = importlib.util.find_spec(name)
        except (ImportError, ValueError):
            spec = None
        if spec is None or spec.origin is None:
            raise SheetError(
                f"PACKAGES names {name!r}, which is not installed beside minigrad: install it, or"
                " take it out of the list. Packages are named as in `import`."
            )
        origin = Path(spec.origin)
        place = origin.parent if spec.submodule_search_locations else origin
        found[place.name] = place.resolve()
    for distribution in _needed(names):
        for file in distribution.files or ():
            top = file.parts[0]
            if top not in ("..", "__pycache__") and not top.endswith((".pth", ".egg-link")):
                path = Path(str(distribution.locate_file(top)))
                if path.exists() and top not in OURS and not top.startswith("numpy"):
                    found.setdefault(top, path.resolve())
    return found


@cache
def _distributions() -> dict[str, list[str]]:
    return dict(metadata.packages_distributions())


def _needed(names: Iterable[str]) -> Iterator[metadata.Distribution]:
    """The distributions of some packages and all that these require."""
    waiting = [project for name in names for project in _distributions().get(name, ())]
    seen = set(OURS)
    while waiting:
        project = re.sub(r"[-_.]+", "-", waiting.pop()).lower()
        if project in seen:
            continue
        seen.add(project)
        try:
            distribution = metadata.distribution(project)
        except metadata.PackageNotFoundError:
            continue
        yield distribution
        for line in distribution.requires or ():
            if "extra" not in line.partition(";")[2] and (name := re.match(r"[\w.-]+", line)):
                waiting.append(name[0])
