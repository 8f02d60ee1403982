"""The rules of the repository that no single file can keep by itself."""

import ast
import functools
import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from minigrad import ops
from minigrad.core.primitive import registry

ROOT = Path(__file__).resolve().parents[2]

LAYERS: list[set[str]] = [
    # From the ground up; a module imports only from rows above its own (minigrad/design/0001 tells
    # why).
    {"minigrad.hints", "minigrad.hook_handle"},
    {"minigrad.errors"},
    {"minigrad.backend"},
    {"minigrad.cuda", "minigrad.scalar", "minigrad.half_precision"},
    {"minigrad.facets", "minigrad.explain", "minigrad.recursion"},
    {"minigrad.core"},
    {"minigrad.fast", "minigrad.entry_points"},
    {"minigrad.grad_mode", "minigrad.observers", "minigrad.roles", "minigrad.storage"},
    {"minigrad.names"},
    {"minigrad.ops"},
    {"minigrad.batching"},
    {"minigrad.functions"},
    {"minigrad.func"},
    {"minigrad.autograd"},
    {"minigrad.nn"},
    {"minigrad.methods"},
    {"minigrad.arrays", "minigrad.testing"},
    {"minigrad.singa"},
    {"minigrad.extras"},
    {"minigrad.linalg", "minigrad.fft", "minigrad.special", "minigrad.masked"},
    {"minigrad.signal"},
    {"minigrad.on_demand"},
    {"minigrad.optim", "minigrad.data", "minigrad.serialization"},
    {"minigrad.nn.utils"},
    {"minigrad.training", "minigrad.utils"},
    {"minigrad.trace"},
    {"minigrad.watch"},
    {"minigrad.program"},
    {"minigrad.graph"},
    {"minigrad.networks"},
    {"minigrad"},
    {"minigrad.expression"},
    {"minigrad.cli"},
    {"minigrad.__main__"},
    {"minigrad.viz"},
    {"minigrad.lessons"},
]
RANK = {module: rank for rank, modules in enumerate(LAYERS) for module in modules}


def tracked() -> list[Path]:
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
        return [path for line in listing.stdout.splitlines() if (path := ROOT / line).is_file()]
    refuse = {
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
    return [
        path
        for path in ROOT.rglob("*")
        if path.is_file() and not refuse & set(path.parts) and ".egg-info" not in str(path)
    ]


def unit(module: str) -> str:
    """The row entry that a module belongs to: `minigrad.ops.math` belongs to `minigrad.ops`, and
    all of viz to `minigrad.viz`.
    """
    found = [row for row in RANK if module == row or module.startswith(f"{row}.")]
    deepest = max(found, key=len, default="")
    return (
        ".".join(module.split(".")[:2])
        if deepest in ("", "minigrad") and "." in module
        else deepest or module
    )


@functools.cache
def imports(source: str, package: str) -> tuple[tuple[str, int], ...]:
    """Each module that the source imports, at the top or in a function, with its line; not what
    only type checkers read.
    """
    return tuple(_imports(source, package))


def _imports(source: str, package: str) -> Iterator[tuple[str, int]]:
    tree = ast.parse(source)
    skipped = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If)
        and any(_name(part) == "TYPE_CHECKING" for part in ast.walk(node.test))
        for statement in node.body
        for inner in ast.walk(statement)
    }
    for node in ast.walk(tree):
        if id(node) in skipped:
            continue
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, node.lineno
        elif isinstance(node, ast.ImportFrom):
            base = package.rsplit(".", node.level - 1)[0] + "." if node.level else ""
            module = f"{base}{node.module or ''}".rstrip(".")
            yield module, node.lineno
            # `from minigrad import engine` imports the package's module, not just the package.
            yield from (
                (f"{module}.{alias.name}", node.lineno)
                for alias in node.names
                if f"{module}.{alias.name}" in RANK
            )
        elif (
            isinstance(node, ast.Call)
            and _name(node.func) == "import_module"
            and isinstance(node.args[0], ast.Constant)
        ):
            yield str(node.args[0].value), node.lineno


def _name(node: ast.AST) -> str:
    """The last part of a dotted name."""
    return getattr(node, "attr", getattr(node, "id", ""))


def climbs(source: str, module: str, package: str) -> list[str]:
    """The imports of a module's source that reach for a layer beside or above its own."""
    own, imported, lines = unit(module), imports(source, package), source.splitlines()
    found = []
    for name, line in imported:
        if name.split(".")[0] != "minigrad":
            continue
        other = unit(name)
        bare_package = name == "minigrad" and any(
            inner.startswith("minigrad.") and n == line for inner, n in imported
        )
        by_name = "import_module" in lines[line - 1]
        # the outermost layer, minigrad.cli, imports others by name
        if other == own or bare_package or (own == "minigrad.cli" and by_name):
            continue
        if RANK.get(other, -1) >= RANK.get(own, len(LAYERS)):
            found.append(f"{module}:{line} imports {name}")
    return found


def modules() -> Iterator[tuple[Path, str, str]]:
    """Path, dotted name and package of every module of the three packages."""
    for top in ("minigrad", "viz", "lessons"):
        for path in sorted((ROOT / top).rglob("*.py")):
            parts = path.relative_to(ROOT).with_suffix("").parts
            parts = parts if top == "minigrad" else ("minigrad", *parts)
            if parts[-1] == "__init__":
                yield path, ".".join(parts[:-1]), ".".join(parts[:-1])
            else:
                yield path, ".".join(parts), ".".join(parts[:-1])


def test_every_module_has_its_place_in_the_layers():
    unplaced = sorted({unit(name) for _, name, _ in modules()} - set(RANK))
    assert not unplaced, f"give {unplaced} a row in LAYERS"


def test_no_module_imports_from_a_higher_layer():
    found = [
        climb
        for path, name, package in modules()
        for climb in climbs(path.read_text(encoding="utf-8"), name, package)
    ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("minigrad.backend", "from minigrad import ops"),
        ("minigrad.ops.math", "from ..autograd import functional"),
        ("minigrad.core.tensor", "def f():\n    import minigrad.ops.linalg"),
        ("minigrad.core.graph", "from minigrad import viz"),
        ("minigrad.core.graph", "from ..grad_mode import no_grad"),
        ("minigrad.cli.trace", "import minigrad.viz.page"),
        (
            "minigrad.trace.text",
            "from importlib import import_module\nimport_module('minigrad.viz.page')",
        ),
        ("minigrad.viz.page", "from minigrad.lessons import grading"),
    ],
)
def test_an_import_from_a_higher_layer_is_found(module, source):
    assert len(climbs(source, module, module.rpartition(".")[0])) == 1


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("minigrad.ops.math", "from ..core import primitive\nfrom ..errors import ShapeError"),
        (
            "minigrad.cli.trace",
            "from importlib import import_module\nimport_module('minigrad.viz.page')",
        ),
        (
            "minigrad.cli.lab",
            "import importlib\nimportlib.import_module('minigrad.lessons.edition')",
        ),
        (
            "minigrad.core.graph",
            (
                "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from minigrad.ops import"
                " linalg"
            ),
        ),
        ("minigrad.lessons.check", "from minigrad import viz\nimport minigrad as mg"),
    ],
)
def test_an_import_from_a_lower_layer_is_allowed(module, source):
    assert climbs(source, module, module.rpartition(".")[0]) == []


def test_only_the_backend_imports_an_array_library():
    found = [
        f"{path.relative_to(ROOT)}:{line} imports {name}"
        for path, module, package in modules()
        if not module.startswith(("minigrad.backend", "minigrad.viz", "minigrad.lessons"))
        for name, line in imports(path.read_text(encoding="utf-8"), package)
        if name.split(".")[0] in ("numpy", "cupy", "scipy", "torch")
    ]
    assert not found, "\n".join(found)


def test_notebooks_are_kept_without_outputs():
    recorded = []
    for path in tracked():
        if path.suffix == ".ipynb":
            cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
            recorded += [
                f"{path.relative_to(ROOT)}, cell {number}"
                for number, cell in enumerate(cells)
                if cell.get("outputs") or cell.get("execution_count") is not None
            ]
    assert not recorded, "clear the outputs of:\n" + "\n".join(recorded)


def test_no_file_knows_the_machine_it_was_written_on():
    """A home folder, a virtual environment or a checkout of one machine is of no use on another."""
    paths = re.compile(r"(?<![\w.])/(?:work|farm|tmp|home|root|Users)/\w")
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()[:100]}"
        for path in tracked()
        if path.suffix not in (".png", ".gif", ".webp", ".npz")
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if paths.search(line)
    ]
    assert not found, "\n".join(found)


OPTIONAL = {"torch", "jax", "cupy", "autograd", "mygrad", "playwright", "nbgrader", "numba"}


def _imported_at_the_top(tree: ast.Module) -> Iterator[str]:
    for node in tree.body:
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield (node.module or "").partition(".")[0]


def test_no_test_module_imports_an_optional_package_at_its_top():
    """Such an import ends a run of all tests at collection where the package is missing."""
    found = {
        str(path.relative_to(ROOT)): optional
        for path in (ROOT / "tests").rglob("*.py")
        if (
            optional := OPTIONAL.intersection(
                _imported_at_the_top(ast.parse(path.read_text(encoding="utf-8")))
            )
        )
    }
    assert found == {}


def test_the_folder_of_tests_mirrors_the_packages():
    tests = ROOT / "tests"
    assert {path.name for path in tests.glob("*.py")} == {"conftest.py", "__init__.py"}
    assert [p for p in tests.rglob("*.py") if not (p.parent / "__init__.py").exists()] == []
    modules = {
        path.stem
        for top in ("minigrad", "viz", "lessons", "benchmarks")
        for path in (ROOT / top, *(ROOT / top).iterdir())
    }
    folders = {path.name for path in tests.iterdir() if (path / "__init__.py").exists()}
    assert folders - modules == {"browser", "helpers", "repository"}


def test_no_line_of_javascript_is_longer_than_100_columns():
    found = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in sorted((ROOT / "viz").rglob("*.js"))
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if len(line) > 100
    ]
    assert not found, "\n".join(found)


TABLES_OF_NAMES = {
    "minigrad/expression/grammar.py": "what a typed formula may call: names that users write",
    "minigrad/scalar.py": "the words of a language",
    "minigrad/singa/elementwise.py": "the names of SINGA's document",
    "minigrad/arrays/gather_scatter.py": "the kinds of scatter_reduce",
    "minigrad/backend/kernels.py": "advice by routine of LAPACK",
}


def texts_of(node: ast.AST) -> list[str]:
    """The words of a literal collection, or of one text."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value.split()
    parts = node.keys if isinstance(node, ast.Dict) else getattr(node, "elts", [])
    return [
        part.value
        for part in parts
        if isinstance(part, ast.Constant) and isinstance(part.value, str)
    ]


def test_no_table_outside_the_declarations_names_operations():
    """What a mechanism wants to know of an operation is a facet of its declaration (facets.py)."""
    ops.load()
    found = set()
    for path in tracked():
        name = path.relative_to(ROOT).as_posix()
        if (
            path.suffix == ".py"
            and name.startswith("minigrad/")
            and not name.startswith("minigrad/ops/")
        ):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                words = texts_of(node)
                if len(words) >= 4 and sum(word in registry for word in words) >= 0.75 * len(words):
                    found.add(name)
    assert found - set(TABLES_OF_NAMES) == set()
