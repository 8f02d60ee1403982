"""Broken: what does not parse, what is no notebook, and what was lost on the way. Whatever is
still there counts.
"""

import json
import zipfile
from io import BytesIO

from tests.helpers.adversarial.lab import NOTHING, POINTS, RIGHT, cell, hand_in, notebook, raw, read

WHOLE = json.dumps(notebook())


def _zip(name, content, more=()):
    file = BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr(name, content)
        for other, data in more:
            archive.writestr(other, data)
    return file.getvalue()


def _delete(*ids):
    return lambda book: book.update(cells=[c for c in book["cells"] if c["id"] not in ids])


def _ids(book):
    for c in book["cells"]:
        c["id"], c["metadata"] = "same", {"nbgrader": {"grade_id": ["a", {"list": 1}]}}


def _strange_cells(book):
    book["cells"] += [None, 7, "text", [], {}, {"cell_type": "code"}, {"cell_type": 3, "source": 4}]
    book["cells"] += [{"cell_type": "code", "source": [1, None, {}], "metadata": []}]


def _raw_cell(book):
    for c in book["cells"]:
        if c["id"] == "order":
            c["cell_type"] = "raw"


SUBMISSIONS = read(__file__) | {
    "a byte order mark in a cell": hand_in(
        vjp_sin="\ufeff" + RIGHT["vjp_sin"], deserves={"vjp_sin": 0}
    ),
    "a zero byte in the source": hand_in(
        vjp_sin="def vjp_sin(x, g):\n    return g * np.cos(x)\0garbage(", deserves={"vjp_sin": 0}
    ),
    "markers of a merge in a cell": hand_in(
        order="<<<<<<< HEAD\n" + RIGHT["order"] + "\n=======\npass\n>>>>>>> mine",
        deserves={"order": 0},
    ),
    "brackets in brackets in a cell": hand_in(
        slope="slope = " + "(" * 5000 + "1" + ")" * 5000, deserves={"slope": 0}
    ),
    "a long chain of operators": hand_in(
        slope="slope = " + "-" * 200_000 + "1", deserves={"slope": 0}
    ),
    "an answer deleted": hand_in(change=_delete("order"), deserves={"order": 0}),
    "an answer and its check deleted": hand_in(
        change=_delete("order", "order-check"), deserves={"order": 0}
    ),
    "imports deleted": hand_in(
        change=_delete("setup"), deserves={"vjp_sin": 0, "gradients": 0, "slope": 0}
    ),
    "ids replaced by nonsense": hand_in(change=_ids),
    "cells that are no cells": hand_in(change=_strange_cells),
    "an answer as a raw cell": hand_in(change=_raw_cell),
    "no cells": hand_in(change=lambda b: b.update(cells=[]), deserves=NOTHING),
    "an answer in twenty copies": hand_in(
        change=lambda b: b["cells"].extend([cell(RIGHT["order"], "order")] * 20)
    ),
    "an empty file": raw(""),
    "spaces": raw(" \n\t\n"),
    "zero bytes": raw(bytes(4096)),
    "truncated": raw(WHOLE[: len(WHOLE) // 2]),
    "cut in the last line": raw(WHOLE[:-1]),
    "two notebooks in one": raw(WHOLE + WHOLE),
    "conflict markers of git": raw(
        WHOLE.replace(
            '"nbformat": 4', '\n<<<<<<< HEAD\n"nbformat": 4\n=======\n"nbformat": 3\n>>>>>>> mine\n'
        )
    ),
    "a list": raw("[]"),
    "a number": raw("17"),
    "null": raw("null"),
    "a text": raw('"notebook"'),
    "cells as a dictionary": raw(
        '{"cells": {"0": {"cell_type": "code", "source": "x"}}, "nbformat": 4}'
    ),
    "cells as null": raw('{"cells": null}'),
    "brackets without end": raw("[" * 1_000_000),
    "dictionaries without end": raw('{"cells":' * 200_000),
    "a number of a million digits": raw('{"cells": ' + "9" * 1_000_000 + "}"),
    "an infinite number": raw('{"cells": [], "nbformat": 1e999999, "x": NaN}'),
    "not in UTF-8": raw(WHOLE.encode("utf-16-le")[:-3]),
    "Latin letters of 1990": raw(
        WHOLE.replace("import numpy", "# caf\u00e9\\nimport numpy").encode("latin-1"),
        deserves=POINTS,
    ),
    "UTF-16": raw(WHOLE.encode("utf-16"), deserves=POINTS),
    "a byte order mark before it": raw(b"\xef\xbb\xbf" + WHOLE.encode(), deserves=POINTS),
    "a picture": raw(b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 40),
    "a program": raw("import os\nprint('hello')\n"),
    "a page": raw("<!DOCTYPE html><script>alert(1)</script>"),
    "another file's ending": raw(WHOLE, file="lab.txt"),
    "a PDF": raw("%PDF-1.4", file="lab.pdf"),
    "a wrong version": raw(WHOLE.replace('"nbformat": 4', '"nbformat": 99'), deserves=POINTS),
    "no version": raw(WHOLE.replace(', "nbformat": 4, "nbformat_minor": 5', ""), deserves=POINTS),
    "the same key twice": raw(WHOLE[:-1] + ', "cells": []}'),
    "six thousand cells": hand_in(
        change=lambda b: b["cells"].extend([cell("", f"c{i}") for i in range(6000)]),
        deserves=NOTHING,
    ),
    "three million characters of code": hand_in(last="#" * 3_000_000, deserves=NOTHING),
    "a zip": raw(_zip("lab.ipynb", WHOLE), file="lab.zip", deserves=POINTS),
    "a zip with a folder": raw(
        _zip("my work/lab.ipynb", WHOLE, [("__MACOSX/._lab.ipynb", "x")]),
        file="work.zip",
        deserves=POINTS,
    ),
    "no zip": raw("PK\x03\x04 not really", file="lab.zip"),
    "a zip that was cut off": raw(_zip("lab.ipynb", WHOLE)[:-40], file="lab.zip"),
    "a zip without a notebook": raw(_zip("lab.pdf", "x"), file="lab.zip"),
}
