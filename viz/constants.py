"""The lengths and names that Python and the viewer share, read from `static/viewer/constants.json`.

Lengths are pixels of the layout. What each one means is said where it is used; `bundle.py` writes
the file into the viewer's module, so a change holds for both.
"""

from __future__ import annotations

import json
from pathlib import Path

_FILE = Path(__file__).parent / "static" / "viewer" / "constants.json"
_FOUND = json.loads(_FILE.read_text(encoding="utf-8"))

CARD, EDGE, NUMBER, SHAPE = (_FOUND[name] for name in ("card", "edge", "number", "shape"))
LAYOUT, LINES = _FOUND["layout"], _FOUND["lines"]
FEW: int = _FOUND["few"]
"""Nodes up to which the program's blocks make no groups."""
OUTLINE: int = _FOUND["outline"]
"""Boxes up to which groups are opened level by level at first."""
MOST: int = _FOUND["most"]
"""Items of one group beyond which a large graph puts them in stretches."""
MANY: int = _FOUND["many"]
"""Nodes beyond which a graph is never shown whole at first."""
WHOLE: int = _FOUND["whole"]
"""Arrays of up to so many elements are written out everywhere, of up to `listed` in a line."""
SPACED = frozenset(_FOUND["spaced"])
"""Operators with spaces on both sides; brackets, ∂ and powers are set tight."""
STAGES: dict[str, int] = _FOUND["stages"]
"""The generation of a node's or edge's stage; the function itself, which is not listed, is
generation 0."""
PHASES: dict[str, str] = _FOUND["phases"]
"""The column that a step of a phase belongs to when it writes nothing itself."""
