"""The files of the repository and what stands in their source: each is parsed once in a process.

Only what runs is told: what stands under `if TYPE_CHECKING:` is left out.
"""

from __future__ import annotations

import ast
import functools
import subprocess
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[2]
NO_FILES_OF_OURS = {
    ".git",
    "__pycache__",
    "build",
    "dist",
    ".venv",
    ".pytest_cache",
    ".mypy_cache",
    ".ruff_cache",
    ".hypothesis",
}


class Import(NamedTuple):
    """One name of one import statement: `from module import member as local`.

    member: None for `import module` and where the member is itself a module, which is then named
    by `module`. local: empty for a call of `import_module`.
    """

    local: str
    module: str
    member: str | None
    line: int


@functools.cache
def tracked() -> tuple[Path, ...]:
    """The files that git keeps or would keep; all files but the usual refuse where there is no
    git.
    """
    listing = subprocess.run(
        ["git", "-c", f"safe.directory={ROOT}", "ls-files", "-co", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    if listing.returncode == 0 and listing.stdout:
        paths = (ROOT / line for line in listing.stdout.splitlines())
        return tuple(path for path in paths if path.is_file())
    return tuple(
        path
        for path in ROOT.rglob("*")
        if path.is_file()
        and not NO_FILES_OF_OURS & set(path.parts)
        and ".egg-info" not in str(path)
    )


@functools.cache
def modules() -> dict[str, Path]:
    """The modules of the three packages by name; viz and lessons are parts of minigrad."""
    found = {}
    for top in ("minigrad", "viz", "lessons"):
        for path in sorted((ROOT / top).rglob("*.py")):
            parts = path.relative_to(ROOT).with_suffix("").parts
            parts = parts if top == "minigrad" else ("minigrad", *parts)
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


@functools.cache
def text_of(name: str) -> str:
    """The source of a module of the three packages."""
    return modules()[name].read_text(encoding="utf-8")


def package_of(name: str) -> str:
    """The package that a module of the three packages is in; a package is in itself."""
    return name if modules()[name].name == "__init__.py" else name.rpartition(".")[0]


@functools.cache
def parts(source: str) -> Mapping[type, list[Any]]:
    """The nodes of a source's syntax tree, by type."""
    found: dict[type, list[Any]] = defaultdict(list)
    queue: list[ast.AST] = [ast.parse(source)]
    while queue:
        node = queue.pop()
        found[type(node)].append(node)
        for field in node._fields:
            value = getattr(node, field, None)
            if isinstance(value, list):
                if not (field == "body" and _for_type_checkers(node)):
                    queue += [item for item in value if isinstance(item, ast.AST)]
            elif isinstance(value, ast.AST) and not isinstance(value, ast.expr_context):
                queue.append(value)
    return found


def _for_type_checkers(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and any(
        last_name(part) == "TYPE_CHECKING" for part in ast.walk(node.test)
    )


def last_name(node: ast.AST) -> str:
    """The last part of a dotted name; empty for anything else."""
    return getattr(node, "attr", getattr(node, "id", ""))


@functools.cache
def imports(source: str, package: str) -> tuple[Import, ...]:
    """Each import of the source of a module in this package, at the top or in a function, also
    by `import_module("…")`, in the order of the lines.
    """
    return tuple(sorted(_imports(source, package), key=lambda found: found.line))


def _imports(source: str, package: str) -> Iterator[Import]:
    found = parts(source)
    for node in found[ast.Import]:
        for alias in node.names:
            local = alias.asname or alias.name.partition(".")[0]
            yield Import(local, alias.name, None, node.lineno)
    for node in found[ast.ImportFrom]:
        base = package.rsplit(".", node.level - 1)[0] + "." if node.level else ""
        module = f"{base}{node.module or ''}".rstrip(".")
        for alias in node.names:
            whole, local = f"{module}.{alias.name}", alias.asname or alias.name
            if whole in modules():
                yield Import(local, whole, None, node.lineno)
            else:
                yield Import(local, module, alias.name, node.lineno)
    for node in found[ast.Call]:
        by_name = last_name(node.func) == "import_module" and node.args
        if by_name and isinstance(node.args[0], ast.Constant):
            yield Import("", str(node.args[0].value), None, node.lineno)
