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


def _zip(*entries):
    file = BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, data, mode in entries:
            info = zipfile.ZipInfo(name)
            info.external_attr = mode << 16
            archive.writestr(info, data)
    return file.getvalue()


FILE, LINK = stat.S_IFREG | 0o644, stat.S_IFLNK | 0o777
MARK = "minigrad-was-here"

SUBMISSIONS = read(__file__) | {
    "killers in every cell": hand_in(
        change=lambda b: b["cells"].extend(
            [cell("import os\nos._exit(1)", f"k{i}") for i in range(3)]
        )
    ),
    "a zip that climbs": raw(
        _zip(
            *((f"{up}{MARK}", "x", FILE) for up in ("../../../", "/tmp/", "..\\..\\")),
            ("lab.ipynb", json.dumps(notebook()), FILE),
        ),
        file="lab.zip",
        deserves=POINTS,
    ),
    "a zip with links": raw(
        _zip(("lab.ipynb", "@SHEET@", LINK), ("up", "/", LINK), ("up/tmp/" + MARK, "x", FILE)),
        file="lab.zip",
    ),
    "a name with escapes": hand_in(file="lab\x1b[2J\u202e.ipynb"),
}
