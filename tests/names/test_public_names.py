"""The documented surface changes only on purpose: every public name and signature stands in
public_names.txt.
"""

import difflib

from tests.helpers import tensor_stub
from tests.helpers.public_names import FILE, listing


def test_public_names_and_signatures_are_those_of_the_list():
    kept, found = FILE.read_text(encoding="utf-8"), listing()
    changes = [
        line
        for line in difflib.unified_diff(
            kept.splitlines(), found.splitlines(), "public_names.txt", "minigrad", n=0
        )
    ]
    assert kept == found, "\n".join(
        [*changes, "If the change is wanted: python -m tests.helpers.public_names"]
    )


def test_type_checkers_see_the_methods_that_tensors_have():
    assert tensor_stub.FILE.read_text(encoding="utf-8") == tensor_stub.text(), (
        "write it again: python -m tests.helpers.tensor_stub"
    )
