"""The viewer's parts, joined into the one module and the one stylesheet that every host needs.

The viewer is written in many small files and shipped as one. Its parts in ``static/viewer`` are
ordinary ES modules that import one another by name, which is how they are read; a notebook, a cell
output and a page opened from a file can load one module only, and none of its imports. Joining is
simple because every top-level name of the viewer is unique: the parts are put one after another,
each behind those that it imports, and the words ``import`` and ``export`` are taken away.
"""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path

STATIC = Path(__file__).parent / "static"
_IMPORT = re.compile(r'^import \{[^}]*\} from "(\.{1,2}/[^"]+)";\n', re.M)
_JSON = re.compile(
    r'^import (\w+) from "(\.{1,2}/(?:[\w.]+/)*\1\.json)" with \{ type: "json" \};\n', re.M
)
_EXPORT = re.compile(r"^export (?=(?:async )?function |const |let |class )", re.M)
_COMMENT = re.compile(r"(?ms)^ *//[^\n]*$|^ */\*.*?\*/ *$")


def parts(first: Path = STATIC / "viewer" / "main.js") -> list[Path]:
    """The module's files in the order in which they can run: each after those that it imports.

    Raises:
        ValueError: parts that import one another in a circle; the message names them.
    """
    done: list[Path] = []
    open_: list[Path] = []

    def visit(path: Path) -> None:
        if path in done:
            return
        if path in open_:
            raise ValueError(
                "the viewer's parts import one another in a circle: "
                + " → ".join(p.name for p in [*open_, path])
            )
        open_.append(path)
        text = path.read_text(encoding="utf-8") if path.suffix == ".js" else ""
        for name in [*(found for _, found in _JSON.findall(text)), *_IMPORT.findall(text)]:
            visit((path.parent / name).resolve())
        open_.pop()
        done.append(path)

    visit(first.resolve())
    return done


@cache
def script() -> str:
    """The whole viewer as one ES module that imports nothing. Its default export is the hook of
    anywidget; ``mount`` shows a Trace.
    """
    return joined(STATIC / "viewer" / "main.js")


def joined(first: Path) -> str:
    """A module and all that it imports as one module that imports nothing."""
    return "\n".join(_plain(path) for path in parts(first))


def _plain(path: Path) -> str:
    """A file of the module without its imports and exports; a JSON file as a constant of its
    name.
    """
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".json":
        packed = json.dumps(json.loads(text), ensure_ascii=False, separators=(",", ":"))
        return f"const {path.stem} = {packed};\n"
    return _EXPORT.sub("", _IMPORT.sub("", _JSON.sub("", text))).strip() + "\n"


@cache
def stylesheet() -> str:
    """All styles: the viewer's own first, which hold the colours, then those of its views."""
    first = STATIC / "stepper.css"
    files = [first, *sorted((STATIC / "viewer").rglob("*.css"))]
    return "\n".join(path.read_text(encoding="utf-8") for path in files)


@cache
def compact(text: str) -> str:
    """Code without its indentation and its lines of comment: a tenth less in every page and
    every cell output.
    """
    return re.sub(r"(?m)^\s+", "", _COMMENT.sub("", text))
