"""No function of the viewer is longer than 60 lines without a stated reason: a docstring or a
comment above it that says "Long: …".
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

VIZ = Path(__file__).resolve().parents[2] / "viz"
LONGEST = 60


def long_in_python(source: str) -> Iterator[str]:
    """Names of functions whose code, docstring aside, is too long and has no reason."""
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        said = ast.get_docstring(node)
        first = node.body[1 if said and len(node.body) > 1 else 0]
        if node.end_lineno - first.lineno + 1 > LONGEST and "Long:" not in (said or ""):
            yield node.name


def long_in_javascript(source: str) -> Iterator[str]:
    """First lines of functions that are too long and have no comment with a reason above them. A
    function ends at the brace that stands as far in as its first line.
    """
    lines = source.splitlines()
    for start, line in enumerate(lines):
        head = re.match(r"( *)(?:export )?(?:async )?function (\w+)", line) or re.match(
            r"( *)(?!if|for|while|switch|catch)(\w+)\([^;]*\) \{$", line
        )
        if head is None:
            continue
        closing = head[1] + "}"
        end = next(i for i in range(start + 1, len(lines)) if lines[i].rstrip(",;") == closing)
        comment = []
        for above in reversed(lines[:start]):
            if not above.strip().startswith(("//", "*", "/*")):
                break
            comment.append(above)
        if end - start + 1 > LONGEST and "Long:" not in " ".join(comment):
            yield f"{head[2]} ({end - start + 1})"


@pytest.mark.parametrize(
    ("ending", "found_in"), [("py", long_in_python), ("js", long_in_javascript)]
)
def test_long_functions_have_a_reason(ending, found_in):
    found = {
        str(path.relative_to(VIZ)): names
        for path in sorted(VIZ.rglob(f"*.{ending}"))
        if (names := list(found_in(path.read_text(encoding="utf-8"))))
    }
    assert found == {}


def test_a_long_function_is_seen():
    body = "\n".join(f"    x = {i}" for i in range(LONGEST + 1))
    assert list(long_in_python(f"def f():\n{body}")) == ["f"]
    assert list(long_in_python(f'def f():\n    """Long: a table."""\n{body}')) == []
    script = "\n".join(f"  let x{i} = 1;" for i in range(LONGEST))
    assert list(long_in_javascript(f"function f() {{\n{script}\n}}")) == ["f (62)"]
    assert list(long_in_javascript(f"  make() {{\n  {script}\n  }},")) == ["make (62)"]
    assert list(long_in_javascript(f"// Long: a table.\nfunction f() {{\n{script}\n}}")) == []
