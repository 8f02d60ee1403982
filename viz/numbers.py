"""How a number becomes text in every picture.

11.6520711… is shown as "11.65" in the graph, the table, the static SVG and the widget alike: one
rule, that of the text form, written once in ``minigrad/trace/text.py`` and once in
``static/viewer/numbers.js``; a browser test holds the two together.

Values arrive in the Trace's form: a JSON number, ``true``/``false``, the words ``"nan"``, ``"inf"``
and ``"-inf"``, a complex pair ``{"re", "im"}``, or an array's summary ``{"shape", "dtype",
"sample", "min", "max", "norm"}``.
"""

from __future__ import annotations

import math
from typing import Any

from minigrad.viz.constants import WHOLE
from minigrad.viz.texts import Words, words

from minigrad.trace.diff import entry_apart
from minigrad.trace.text import number
from minigrad.trace.value_schema import LEVELS

short = number
_WORDS = {"nan": "NaN", "inf": "∞", "-inf": "−∞"}


def is_not_finite(value: Any) -> bool:
    """Whether a value is NaN or infinite, or an array whose known elements hold such a number."""
    if isinstance(value, dict):
        parts = (value.get(key) for key in ("re", "im", "min", "max"))
        return any(map(is_not_finite, (*parts, *value.get("sample", ()))))
    return isinstance(value, str) and value in _WORDS


def unlike_text(value: Any, other: Any, t: Words | None = None) -> str:
    """Two values that differ, of arrays the first entry that does: "[1, 2]: 3 ≠ 4". other: that of
    another Trace, None where it has none."""
    at, *shown = entry_apart(value, other)
    first, second = ("∅" if one is None else brief(one, t=t) for one in shown)
    return f"{at and f'{at}: '}{first} ≠ {second}"


def grid(value: Any) -> list[str]:
    """A small matrix as one line of text for each row, its columns aligned: what a value card
    holds.
    """
    shape = value["shape"]
    cells = [short(v) for v in value["sample"]]
    wide = [max(len(cells[i]) for i in range(j, len(cells), shape[1])) for j in range(shape[1])]
    rows = (cells[i : i + shape[1]] for i in range(0, len(cells), shape[1]))
    return ["  ".join(cell.rjust(w) for cell, w in zip(row, wide, strict=True)) for row in rows]


def heat_of(value: Any) -> dict[str, Any] | None:
    """The heat map of an array too large for a value card: as the Trace has it, or made of the
    elements if it holds all; None for others.

    Form: ``{"shape": [rows, columns], "scale", "levels"}``, a level for each cell, 8 of them on
    either side of zero.
    """
    if not isinstance(value, dict) or "sample" not in value:
        return None
    if "heat" in value:
        return dict(value["heat"])
    sample, shape = value["sample"], value["shape"]
    if not sample or len(sample) != math.prod(shape) or any(isinstance(v, dict) for v in sample):
        return None
    numbers = [float(v) for v in sample]
    scale = max((abs(v) for v in numbers if math.isfinite(v)), default=0.0)
    return {
        "shape": [len(sample) // shape[-1], shape[-1]] if len(shape) > 1 else [1, len(sample)],
        "scale": scale,
        "levels": "".join(_level(v, scale) for v in numbers),
    }


def _level(v: float, scale: float) -> str:
    if math.isnan(v):
        return "n"
    share = max(-1.0, min(1.0, v / scale)) if scale else 0.0
    return LEVELS[8 + math.floor(8 * share + 0.5)]


def spread(value: Any, t: Words | None = None) -> str:
    """The range of an array's elements, "−1.2 to 3.4"; where all are written alike, "all 1"."""
    low, high = short(value["min"]), short(value["max"])
    t = t or words()
    return t("allOf", value=low) if low == high else t("range", low=low, high=high)


def factor_text(value: Any, t: Words | None = None) -> str:
    """A local derivative on an edge; of an array of one number this alone."""
    one = value["min"] if isinstance(value, dict) and "min" in value else None
    return (
        short(one)
        if one is not None and short(one) == short(value["max"])
        else brief(value, 12, 1, t)
    )


def brief(value: Any, most: int = 18, whole: int = WHOLE, t: Words | None = None) -> str:
    """As :func:`short`, but where there is little space: an array of more than ``whole`` elements
    is shown by its range, "−1.2 to 3.4".

    The number of elements alone decides, never how long their text is, so that all arrays of a
    shape look alike. Where the range is not known, the text of ``short`` is taken up to ``most``
    characters, and the shape beyond.
    """
    text = short(value)
    if not isinstance(value, dict) or "re" in value:
        return text
    shape = value.get("shape", [])
    if math.prod(shape) <= whole and math.prod(shape) == len(value.get("sample", [])):
        return text
    if "min" in value and "max" in value:
        return spread(value, t)
    return text if len(text) <= most else str(tuple(shape))
