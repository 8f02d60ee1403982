"""Hostile: out to harm the grader, the machine or the others. Whatever is right beside it still
counts.

@MARKER@ is a file that must not come to be, @PORT@ a listener that must not be reached, @GRADER@
the grader's process, @OUT@ its results. Most are in hostile.txt; here are the files.
"""

import json
import stat
import zipfile
from io import BytesIO

from tests.helpers.adversarial.lab import POINTS, cell, hand_in, notebook, raw, read


def _slip(entries):
    file = BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, data, mode in entries:
            info = zipfile.ZipInfo(name)
            info.external_attr = mode << 16
            archive.writestr(info, data)
    return file.getvalue()


FILE, LINK, DEVICE = stat.S_IFREG | 0o644, stat.S_IFLNK | 0o777, stat.S_IFCHR | 0o666
MARK = "minigrad-was-here"


def _bomb():
    """A gigabyte of zeros, deflated; this takes seconds, so it is made where it is handed in."""
    file = BytesIO()
    with (
        zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
        archive.open("lab.ipynb", "w") as entry,
    ):
        for _ in range(1100):
            entry.write(bytes(1 << 20))
    return file.getvalue()


def _whole():
    return json.dumps(notebook())


SUBMISSIONS = read(__file__) | {
    "killers in every cell": hand_in(
        change=lambda b: b["cells"].extend(
            [cell("import os\nos._exit(1)", f"k{i}") for i in range(3)]
        )
    ),
    "a zip that climbs": raw(
        _slip(
            [
                ("../../../" + MARK, "x", FILE),
                ("/tmp/" + MARK, "x", FILE),
                ("..\\..\\" + MARK, "x", FILE),
                ("lab.ipynb", _whole(), FILE),
            ]
        ),
        file="lab.zip",
        deserves=POINTS,
    ),
    "a zip with links": raw(
        _slip([("lab.ipynb", "@SHEET@", LINK), ("up", "/", LINK), ("up/tmp/" + MARK, "x", FILE)]),
        file="lab.zip",
    ),
    "a zip with a device": raw(_slip([("lab.ipynb", "", DEVICE)]), file="lab.zip"),
    "a zip bomb": raw(_bomb, file="lab.zip"),
    "a zip with long names": raw(
        _slip(
            [("x" * 5000 + "/" + "y" * 300 + ".ipynb", "{}", FILE), ("lab.ipynb", _whole(), FILE)]
        ),
        file="lab.zip",
        deserves=POINTS,
    ),
    "a huge file": raw(lambda: b'{"cells": [' + b"0," * 30_000_000 + b"0]}"),
    "a name with escapes": hand_in(file="lab\x1b[2J\u202e.ipynb"),
}
