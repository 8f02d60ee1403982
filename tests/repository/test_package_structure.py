"""In all packages: few late bindings, no circles, no private name of another file."""

import ast
import functools
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
KEPT = ("core", "fast")

LATE_BINDINGS = {
    "minigrad.core.primitive.run": "minigrad.core.apply",
    "minigrad.core.backward.run_pass": "minigrad.fast",
}
"""Globals that another module sets, and which; each is explained where it is declared."""
SWITCHES = {"minigrad.autograd.training"}
"""Globals that programs set: SINGA's documentation writes `autograd.training = True`."""


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def files() -> dict[str, Path]:
    """The modules by name; viz and lessons are imported as parts of minigrad."""
    found = {module_name(path): path for path in sorted((ROOT / "minigrad").rglob("*.py"))}
    for top in ("viz", "lessons"):
        for path in sorted((ROOT / top).rglob("*.py")):
            found[f"minigrad.{module_name(path)}"] = path
    return found


FILES = files()


def package_of(name: str) -> str:
    return name if FILES[name].name == "__init__.py" else name.rpartition(".")[0]


@functools.cache
def parsed(source: str) -> ast.Module:
    return ast.parse(source)


def read_at_run_time(tree: ast.AST) -> Iterator[ast.AST]:
    """All parts of a tree but what only type checkers read."""
    yield tree
    for child in ast.iter_child_nodes(tree):
        if isinstance(child, ast.If) and getattr(child.test, "id", "") == "TYPE_CHECKING":
            for other in child.orelse:
                yield from read_at_run_time(other)
        else:
            yield from read_at_run_time(child)


def imported(name: str, tree: ast.AST) -> Iterator[tuple[str, str, str | None]]:
    """(local name, module, its name there or None for the module itself) of each import from
    minigrad.
    """
    package = package_of(name)
    for node in read_at_run_time(tree):
        if isinstance(node, ast.ImportFrom):
            base = (
                package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            )
            module = ".".join([*base, *(node.module.split(".") if node.module else [])])
            for alias in node.names:
                whole = f"{module}.{alias.name}"
                local = alias.asname or alias.name
                yield (local, whole, None) if whole in FILES else (local, module, alias.name)
        elif isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.asname or alias.name.partition(".")[0], alias.name, None


def late_bindings(name: str, source: str) -> list[str]:
    """The globals of other modules that a module's source sets: `module.attribute = …` of an
    imported module.
    """
    tree = parsed(source)
    modules = {
        local: module
        for local, module, member in imported(name, tree)
        if member is None and module in FILES
    }
    found = []
    for node in ast.walk(tree):
        targets = (
            node.targets
            if isinstance(node, ast.Assign)
            else [node.target]
            if isinstance(node, ast.AnnAssign | ast.AugAssign)
            else []
        )
        for target in targets:
            for part in ast.walk(target):
                stored = isinstance(part, ast.Attribute) and isinstance(part.ctx, ast.Store)
                if stored and isinstance(part.value, ast.Name) and part.value.id in modules:
                    found.append(f"{modules[part.value.id]}.{part.attr}")
    return found


def circles(package: str, sources: dict[str, str]) -> list[str]:
    """The modules of a package that import themselves by way of others, imports inside functions
    included.
    """
    inside = [name for name in sources if name.startswith(f"{package}.")]
    needs = {
        name: {module for _, module, _ in imported(name, parsed(sources[name])) if module in inside}
        - {name}
        for name in inside
    }
    for _ in inside:  # the transitive closure
        needs = {
            name: found.union(*(needs[other] for other in found)) for name, found in needs.items()
        }
    return [name for name in inside if name in needs[name]]


def private_uses(name: str, source: str) -> list[str]:
    """Private names of other modules of minigrad that a module's source imports or reads."""
    tree = parsed(source)
    found: list[str] = []
    modules: dict[str, str] = {}
    for local, module, member in imported(name, tree):
        if member is None:
            modules[local] = module
        elif (
            member.startswith("_") and not member.startswith("__") and module.startswith("minigrad")
        ):
            found.append(f"{module}.{member}")
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            module = modules.get(node.value.id, "")
            if (
                module.startswith("minigrad")
                and node.attr.startswith("_")
                and not node.attr.startswith("__")
            ):
                found.append(f"{module}.{node.attr}")
    return found


def private_attributes(source: str) -> set[str]:
    """Private attributes that a source reads or sets and does not define: in a class body, as a
    method, a slot or `self._x = …`.
    """
    tree = parsed(source)
    used, defined = set(), set()
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Attribute)
            and node.attr.startswith("_")
            and not node.attr.startswith("__")
        ):
            mine = isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")
            (defined if mine and isinstance(node.ctx, ast.Store) else used).add(node.attr)
        elif isinstance(node, ast.FunctionDef):
            defined.add(node.name)
        elif isinstance(node, ast.Name):
            defined.add(node.id)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            defined.add(node.value)
    return used - defined


def kept() -> list[str]:
    return [name for name in FILES if name.split(".")[1:2] and name.split(".")[1] in KEPT]


def test_late_bindings_are_few_and_known():
    found = {
        bound: name
        for name in FILES
        for bound in late_bindings(name, FILES[name].read_text())
        if bound not in SWITCHES
    }
    assert found == LATE_BINDINGS
    assert len(found) <= 3


def test_no_package_has_circles():
    sources = {name: path.read_text() for name, path in FILES.items()}
    packages = [name for name in FILES if FILES[name].name == "__init__.py" and name != "minigrad"]
    found = {package for package in packages if circles(package, sources)}
    assert found == set()


def test_core_is_read_in_its_order():
    """Each file of the core imports only those before it."""
    text = FILES["minigrad.core"].read_text()
    order = [line.split("`")[1] for line in text.splitlines() if line[:1].isdigit()]
    assert {f"minigrad.core.{name}" for name in order} == {
        name for name in FILES if name.startswith("minigrad.core.")
    }
    for position, name in enumerate(order):
        tree = ast.parse(FILES[f"minigrad.core.{name}"].read_text())
        nodes = [
            n for n in read_at_run_time(tree) if isinstance(n, ast.ImportFrom) and n.level == 1
        ]
        for node in nodes:
            for other in [node.module] if node.module else [alias.name for alias in node.names]:
                assert other in order[:position], f"{name} imports {other}"


def test_the_core_names_at_most_25_concepts():
    text = FILES["minigrad.core"].read_text()
    assert 0 < len([line for line in text.splitlines() if line.startswith("- ")]) <= 25


def test_no_private_name_of_another_file_is_used():
    found = {name for name in FILES if private_uses(name, FILES[name].read_text())}
    assert found == set()


def test_core_and_fast_use_no_private_attributes():
    assert {
        name: bad for name in kept() if (bad := private_attributes(FILES[name].read_text()))
    } == {}


@pytest.mark.parametrize(
    ("check", "source", "count"),
    [
        (late_bindings, "from . import primitive\nprimitive.run = 3", 1),
        (late_bindings, "from . import primitive\ndef f():\n    primitive.run, x = 3, 4", 1),
        (late_bindings, "from . import primitive\nrun = primitive.run", 0),
        (private_uses, "from .graph import _by_age", 1),
        (private_uses, "from . import graph\ngraph._by_age(3)", 1),
        (private_uses, "from .graph import Node\nimport os\nos._exit", 0),
    ],
)
def test_the_checks_see_what_they_look_for(check, source, count):
    assert len(check("minigrad.core.apply", source)) == count


def test_an_import_cycle_is_found():
    sources = {
        "minigrad.core": "",
        "minigrad.core.graph": "from . import tensor",
        "minigrad.core.tensor": "def f():\n    from .graph import Node",
    }
    assert circles("minigrad.core", sources) == ["minigrad.core.graph", "minigrad.core.tensor"]
    assert private_attributes("x._grad = 3\nself._mine = 2\nself._mine") == {"_grad"}
