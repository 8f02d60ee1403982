"""The source of all packages: layers, few late bindings, no circles, no private name of another
file or attribute of another package, no two classes of one name, no long function without a reason,
no table that names operations, and the picture of the imports.
"""

import ast
import gc
import json
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections import Counter, defaultdict
from collections.abc import Iterator
from inspect import isclass, isfunction

import pytest

from minigrad import ops
from minigrad.core.primitive import Primitive, registry
from tests.helpers import import_picture
from tests.helpers.layers import RANK, climbs, unit
from tests.helpers.source_tree import (
    ROOT,
    imports,
    last_name,
    modules,
    package_of,
    parts,
    text_of,
)

KEPT = ("core", "fast")

LATE_BINDINGS = {
    "minigrad.core.primitive.apply": "minigrad.core.apply",
    "minigrad.core.primitive.Primitive": "minigrad.fast",
    "minigrad.core.backward.run_pass": "minigrad.fast",
}
"""What another module sets of a module or class, and which module; each is explained where it is
declared. Of Primitive these are `__call__`, and `call_unary`, `call_binary` and `call_nary` of each
operation.
"""
ATTACHED = {
    "minigrad.core.tensor.Tensor": "the methods that users call",
    "minigrad.core.graph.Node": "PyTorch's attributes of `grad_fn`",
    "minigrad.core.graph.OpNode": "PyTorch's `_saved_self` and so on",
}
"""Classes of the core whose public members `names.attach` gives them: declarations, no bindings."""
PROTOCOLS = {
    "_getframe",  # sys
    "_exit",  # os
    "_replace",  # named tuples
    "_Helper",  # what site makes `help` of
    "_close_pipe_fds",  # subprocess.Popen
    "_execute_child",
    "_version",  # PyTorch's name of a tensor's version count
}
"""Names with an underscore that the standard library and PyTorch document or expect."""
SAME_NAMES = {
    "AvgPool2d": "public: a layer of PyTorch and one of SINGA, whose arguments differ",
    "BatchNorm2d": "public: a layer of PyTorch and one of SINGA",
    "CheckpointError": "public: of recomputation and of files; each docstring names the other",
    "Conv2d": "public: a layer of PyTorch and one of SINGA",
    "Dropout": "public: a layer of PyTorch and one of SINGA",
    "Event": "public: a CUDA event of PyTorch, and what observers see; its docstring says so",
    "Linear": "public: a layer of PyTorch and one of SINGA",
    "Node": "public: of a static graph; of the core; of the engines that students write",
    "Operation": "public: SINGA's; a local class of lesson 14, which students read",
    "Primitive": "public: MindSpore's, whose docstring names that of the core",
    "Tensor": "that of an engine that students write",
    "profile": "public: of torch.autograd.profiler and of torch.cuda.profiler",
}
"""Names that several classes have, and why."""
SWITCHES = {"minigrad.autograd.training"}
"""Globals that programs set: SINGA's documentation writes `autograd.training = True`."""


@pytest.fixture(scope="module", autouse=True)
def _trees_are_kept_for_these_tests_only():
    """They are hundreds of thousands of objects, none of them in a cycle."""
    gc.disable()
    yield
    parts.cache_clear()
    gc.enable()


def late_bindings(name: str, source: str) -> list[str]:
    """The globals of other modules and the classes of other packages that a module's source
    changes: `X.attribute = …` and `setattr(X, …)` of an imported X.
    """
    ours = [f for f in imports(source, package_of(name)) if f.module in modules()]
    bound = {f.local: f.module for f in ours if f.member is None}
    foreign = [f for f in ours if f.member and unit(f.module) != unit(name)]
    classes = {f.local: f"{f.module}.{f.member}" for f in foreign if f.member[:1].isupper()}
    found = []
    for node in parts(source)[ast.Attribute]:
        if isinstance(node.ctx, ast.Store) and isinstance(node.value, ast.Name):
            if node.value.id in bound:
                found.append(f"{bound[node.value.id]}.{node.attr}")
            elif node.value.id in classes:
                found.append(classes[node.value.id])
    for node in parts(source)[ast.Call]:
        if last_name(node.func) == "setattr" and isinstance(node.args[0], ast.Name):
            owner = node.args[0].id
            found += [(bound | classes)[owner]] if owner in bound | classes else []
    return found


def from_above() -> set[tuple[str, str]]:
    """What modules and classes have at run time that a higher layer made: (module or class, the
    higher layer). Members that are no functions, and what a module imports, do not count."""
    found = set()
    for name, module in [m for m in sys.modules.items() if m[0] == getattr(m[1], "__name__", "")]:
        owners = {f"{name}.{k}": {k: v} for k, v in vars(module).items() if isfunction(v)}
        classes = [c for c in vars(module).values() if isclass(c) and c.__module__ == name]
        owners |= {f"{name}.{c.__name__}": vars(c) for c in classes}
        for owner, members in owners.items() if name.partition(".")[0] == "minigrad" else ():
            for member in members.values():
                layer = unit(made_in(member))
                if RANK.get(layer, -1) > RANK[unit(name)]:
                    found.add((owner, layer))
    for operation in registry.values():
        members = {k: v for k, v in vars(operation).items() if isfunction(vars(Primitive).get(k))}
        found |= {("minigrad.core.primitive.Primitive", unit(made_in(v))) for v in members.values()}
    return found


def made_in(member: object) -> str:
    """The module of the function behind a member of a class; empty if there is none."""
    for inside in ("fget", "func", "__func__"):  # of a property, a partial, a class method
        member = getattr(member, inside, member)
    if not isfunction(member):
        return ""
    if member.__module__ == "minigrad":  # a public name, which says so from its first use on
        return str(member.__globals__["__name__"])
    return member.__module__


def circles(package: str, sources: dict[str, str]) -> list[str]:
    """The modules of a package that import themselves by way of others, imports inside functions
    included.
    """
    inside = {name for name in sources if name.startswith(f"{package}.")}
    needs = {
        name: inside & {found.module for found in imports(sources[name], package_of(name))} - {name}
        for name in inside
    }
    grown = True
    while grown:  # until this is the transitive closure
        before = sum(map(len, needs.values()))
        needs = {
            name: found.union(*(needs[other] for other in found)) for name, found in needs.items()
        }
        grown = sum(map(len, needs.values())) > before
    return sorted(name for name in inside if name in needs[name])


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


def private_uses(name: str, source: str) -> list[str]:
    """Private names of other modules of minigrad that a module's source imports or reads."""
    found: list[str] = []
    bound: dict[str, str] = {}
    for local, module, member, _ in imports(source, package_of(name)):
        if member is None:
            bound[local] = module
        elif is_private(member) and module.startswith("minigrad"):
            found.append(f"{module}.{member}")
    for node in parts(source)[ast.Attribute]:
        if is_private(node.attr) and isinstance(node.value, ast.Name):
            module = bound.get(node.value.id, "")
            if module.startswith("minigrad"):
                found.append(f"{module}.{node.attr}")
    return found


def private_attributes(source: str) -> set[str]:
    """Private attributes that a source reads or sets and does not define: in a class body, as a
    method, a slot or `self._x = …`.
    """
    used = {node.attr for node in parts(source)[ast.Attribute] if is_private(node.attr)}
    return used - defined_attributes(source)


def defined_attributes(source: str) -> set[str]:
    """What a source defines in a class body, as a method, a slot or `self._x = …`."""
    found = parts(source)
    defined = {node.name for node in found[ast.FunctionDef]}
    defined |= {node.id for node in found[ast.Name]}
    defined |= {node.value for node in found[ast.Constant] if isinstance(node.value, str)}
    stored = [node for node in found[ast.Attribute] if isinstance(node.ctx, ast.Store)]
    return defined | {node.attr for node in stored if last_name(node.value) in ("self", "cls")}


def top_package(name: str) -> str:
    """`minigrad.nn` of `minigrad.nn.utils.vectors`."""
    return ".".join(name.split(".")[:2])


def kept() -> list[str]:
    return [name for name in modules() if name.split(".")[1:2] and name.split(".")[1] in KEPT]


# ------------------------------------------------------------------------------------------- layers


def test_every_module_has_its_place_in_the_layers():
    unplaced = sorted({unit(name) for name in modules()} - set(RANK))
    assert not unplaced, f"give {unplaced} a row in LAYERS (tests/helpers/layers.py)"


def test_no_module_imports_from_a_higher_layer():
    found = [climb for name in modules() for climb in climbs(text_of(name), name, package_of(name))]
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
        f"{name}:{found.line} imports {found.module}"
        for name in modules()
        if not name.startswith(("minigrad.backend", "minigrad.viz", "minigrad.lessons"))
        for found in imports(text_of(name), package_of(name))
        if found.module.partition(".")[0] in ("numpy", "cupy", "scipy", "torch")
    ]
    assert not found, "\n".join(found)


# ----------------------------------------------------------------- bindings, circles, private names


def test_late_bindings_are_few_and_known():
    found = {
        bound: name
        for name in modules()
        for bound in late_bindings(name, text_of(name))
        if bound not in SWITCHES
    }
    assert found == LATE_BINDINGS
    assert len(found) <= 3


def test_nothing_but_the_late_bindings_comes_from_above_at_run_time():
    """By whatever means it is set: an assignment, `setattr`, a decorator, a loop. In a process of
    its own, without what other tests have loaded or replaced."""
    ask = (
        "import json; from minigrad import on_demand, ops; ops.load(); on_demand.load();"
        " from tests.repository.test_source_structure import from_above;"
        " print(json.dumps([owner for owner, _ in from_above()]))"
    )
    told = subprocess.run([sys.executable, "-c", ask], cwd=ROOT, capture_output=True, check=True)
    owners = set(json.loads(told.stdout))
    assert owners - set(LATE_BINDINGS) - set(ATTACHED) == set()
    assert owners >= set(ATTACHED), "the check sees what is attached"


def test_no_package_has_circles():
    sources = {name: text_of(name) for name in modules()}
    packages = [n for n in modules() if modules()[n].name == "__init__.py" and n != "minigrad"]
    found = {package for package in packages if circles(package, sources)}
    assert found == set()


def test_each_file_of_the_core_imports_only_those_before_it():
    lines = text_of("minigrad.core").splitlines()
    order = [line.split("`")[1] for line in lines if line[:1].isdigit()]
    names = [f"minigrad.core.{name}" for name in order]
    assert set(names) == {name for name in modules() if name.startswith("minigrad.core.")}
    for position, name in enumerate(names):
        for found in imports(text_of(name), "minigrad.core"):
            if found.module.startswith("minigrad.core"):
                assert found.module in names[:position], f"{name} imports {found.module}"


def test_the_core_is_at_most_9_files_of_1800_lines():
    files = [path for name, path in modules().items() if name.startswith("minigrad.core")]
    lines = [len(path.read_text(encoding="utf-8").splitlines()) for path in files]
    assert len(files) <= 9 and sum(lines) <= 1800


def test_fewer_than_60_comments_silence_the_type_checker():
    found = [name for name in modules() for _ in re.finditer("# type: ignore", text_of(name))]
    assert 0 < len(found) < 60


def test_the_core_names_at_most_25_concepts():
    lines = text_of("minigrad.core").splitlines()
    assert 0 < len([line for line in lines if line.startswith("- ")]) <= 25


def test_no_private_name_of_another_file_is_used():
    assert {name for name in modules() if private_uses(name, text_of(name))} == set()


def test_core_and_fast_use_no_private_attributes():
    assert {name: bad for name in kept() if (bad := private_attributes(text_of(name)))} == {}


def test_no_private_attribute_of_another_package_is_used():
    """The files of one package share the private attributes of its classes, such as Module."""
    defined: dict[str, set[str]] = defaultdict(set)
    for name in modules():
        defined[top_package(name)] |= defined_attributes(text_of(name))
    found = {
        name: bad
        for name in modules()
        if (bad := private_attributes(text_of(name)) - defined[top_package(name)] - PROTOCOLS)
    }
    assert found == {}


def classes_of_one_name(sources: dict[str, str]) -> set[str]:
    """Names under which more than one class is defined, classes within functions included."""
    named = [
        node.name
        for source in sources.values()
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.ClassDef)
    ]
    return {name for name, count in Counter(named).items() if count > 1}


def test_no_two_classes_have_one_name():
    found = classes_of_one_name({name: text_of(name) for name in modules()})
    assert found == set(SAME_NAMES), "rename a class, or add the reason here"
    assert classes_of_one_name({"a": "class A: 0", "b": "def f():\n    class A: 0"}) == {"A"}


@pytest.mark.parametrize(
    ("check", "source", "count"),
    [
        (late_bindings, "from . import primitive\nprimitive.apply = 3", 1),
        (late_bindings, "from . import primitive\ndef f():\n    primitive.apply, x = 3, 4", 1),
        (late_bindings, "from . import primitive\nrun = primitive.apply", 0),
        (late_bindings, "from . import primitive\nsetattr(primitive, 'run', 3)", 1),
        (late_bindings, "from ..scalar import Word\nWord.size = 3\nsetattr(Word, 'size', 3)", 2),
        (late_bindings, "from ..scalar import Word\nword = Word()\nword.size = 3", 0),
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


# ------------------------------------------------------------------------------ length of functions

LONGEST = 60


def comment_above(lines: list[str], first: int, marks: tuple[str, ...]) -> str:
    """The comment that ends just above a line (numbered from 0)."""
    last = first
    while first and lines[first - 1].strip().startswith(marks):
        first -= 1
    return " ".join(lines[first:last])


def long_in_python(source: str) -> Iterator[str]:
    """Names of functions that are too long and have no reason."""
    lines = source.splitlines()
    for node in (*parts(source)[ast.FunctionDef], *parts(source)[ast.AsyncFunctionDef]):
        said, length = ast.get_docstring(node) or "", node.end_lineno - node.lineno + 1
        if said:
            length -= node.body[0].end_lineno - node.body[0].lineno + 1
        first = min([node.lineno, *(d.lineno for d in node.decorator_list)]) - 1
        reason = said + comment_above(lines, first, ("#",))
        if length > LONGEST and "Long:" not in reason:
            yield f"{node.name} ({length})"


def long_in_javascript(source: str) -> Iterator[str]:
    """Names of functions that are too long and have no reason. A function ends at the brace that
    stands as far in as its first line.
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
        comment = comment_above(lines, start, ("//", "*", "/*"))
        if end - start + 1 > LONGEST and "Long:" not in comment:
            yield f"{head[2]} ({end - start + 1})"


def long_functions(sources: dict[str, str]) -> dict[str, list[str]]:
    search = {".js": long_in_javascript, ".py": long_in_python}
    found = {name: [*search[name[-3:]](source)] for name, source in sources.items()}
    return {name: names for name, names in found.items() if names}


def test_long_functions_have_a_reason():
    sources = {f"{name}.py": text_of(name) for name in modules()}
    sources |= {str(p): p.read_text(encoding="utf-8") for p in (ROOT / "viz").rglob("*.js")}
    assert long_functions(sources) == {}


@pytest.mark.whole
def test_long_functions_of_tests_and_benchmarks_have_a_reason():
    paths = [path for folder in ("tests", "benchmarks") for path in (ROOT / folder).rglob("*.py")]
    assert long_functions({str(p): p.read_text(encoding="utf-8") for p in paths}) == {}


def test_a_long_function_is_seen():
    body = "\n".join(f"    x = {i}" for i in range(LONGEST))
    assert list(long_in_python(f"def f():\n{body}")) == ["f (61)"]
    assert list(long_in_python(f'def f():\n    """Text."""\n{body}')) == ["f (61)"]
    assert list(long_in_python(f'def f():\n    """Long: a table."""\n{body}')) == []
    assert list(long_in_python(f"# Long: a table.\n@cache\ndef f():\n{body}")) == []
    script = "\n".join(f"  let x{i} = 1;" for i in range(LONGEST))
    assert list(long_in_javascript(f"function f() {{\n{script}\n}}")) == ["f (62)"]
    assert list(long_in_javascript(f"  make() {{\n  {script}\n  }},")) == ["make (62)"]
    assert list(long_in_javascript(f"// Long: a table.\nfunction f() {{\n{script}\n}}")) == []


# ----------------------------------------------------------------------------- tables of operations

TABLES_OF_NAMES = {
    "minigrad/expression/grammar.py": "what a typed formula may call: names that users write",
    "minigrad/scalar.py": "the words of a language",
    "minigrad/singa/elementwise.py": "the names of SINGA's document",
    "minigrad/arrays/gather_scatter.py": "the kinds of scatter_reduce",
    "minigrad/backend/kernels.py": "advice by routine of LAPACK",
}


LITERALS = (ast.Constant, ast.Dict, ast.List, ast.Set, ast.Tuple)


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
    for name, path in modules().items():
        place = path.relative_to(ROOT).as_posix()
        if place.startswith("minigrad/") and not place.startswith("minigrad/ops/"):
            nodes = parts(text_of(name))
            for node in (node for kind in LITERALS for node in nodes[kind]):
                words = texts_of(node)
                if len(words) >= 4 and sum(word in registry for word in words) >= 0.75 * len(words):
                    found.add(place)
    assert found - set(TABLES_OF_NAMES) == set()


def asked_for_by_name(source: str) -> list[str]:
    """The names of operations to which a source compares the `name` of one."""
    found = parts(source)
    kept_names = {
        target.id
        for node in found[ast.Assign]
        if isinstance(node.value, ast.Attribute) and node.value.attr == "name"
        for target in node.targets
        if isinstance(target, ast.Name) and last_name(node.value.value) in ("primitive", "prim")
    }
    asked = []
    for node in found[ast.Compare]:
        sides = [node.left, *node.comparators]
        if any(
            (isinstance(side, ast.Attribute) and side.attr == "name")
            or (isinstance(side, ast.Name) and side.id in kept_names)
            for side in sides
        ):
            asked += [w for side in sides for w in texts_of(side) if w in registry]
    return asked


def test_no_mechanism_asks_for_the_name_of_an_operation():
    """An operation that is meant is imported: `primitive is reshape`. (Lessons have
    operations of their own.)"""
    ops.load()
    names = [name for name in modules() if not name.startswith("minigrad.lessons")]
    assert {name: bad for name in names if (bad := asked_for_by_name(text_of(name)))} == {}


@pytest.mark.parametrize(
    ("source", "count"),
    [
        ("if primitive.name == 'exp': pass", 1),
        ("name = instruction.primitive.name\nif name in ('exp', 'reshape', 'x'): pass", 2),
        ("if primitive is exp: pass", 0),
        ("name = function.__name__\nif name == 'exp': pass", 0),
        ("if parameter.name == 'out': pass", 0),
    ],
)
def test_a_question_for_a_name_is_seen(source, count):
    ops.load()
    assert len(asked_for_by_name(source)) == count


# ----------------------------------------------------------------------------------------- picture


def boxes(graph):
    """Of each label its box (left, top, right, bottom), in the order of the picture."""
    root = ET.fromstring(import_picture.svg(graph))
    name = "{http://www.w3.org/2000/svg}"
    found = []
    for box in root.iter(f"{name}rect"):
        left, top, wide, high = (float(box.get(k)) for k in ("x", "y", "width", "height"))
        found.append((left, top, left + wide, top + high))
    texts = [text.text for text in root.iter(f"{name}text")]
    return dict(zip(texts, found, strict=True)), float(root.get("viewBox").split()[2])


def test_labels_fit_and_boxes_stand_apart():
    long = {f"minigrad.{'long_name' * n}_{k}": set() for n in (1, 3, 6) for k in range(3)}
    for graph in (import_picture.needs(), long):
        found, width = boxes(graph)
        assert {f"minigrad.{name}" for name in found} == set(graph)
        for name, (left, _, right, _) in found.items():
            assert right - left >= 7.5 * len(name) + 8
            assert left >= 0 and right <= width
        for one, (left, top, right, bottom) in found.items():
            for other, (x0, y0, x1, y1) in found.items():
                assert one == other or x1 < left or x0 > right or y1 < top or y0 > bottom


def test_arrows_that_follow_from_others_are_left_out():
    graph = {"minigrad.a": {"minigrad.b", "minigrad.c"}, "minigrad.b": {"minigrad.c"}}
    picture = import_picture.svg({**graph, "minigrad.c": set()})
    assert len(re.findall("marker-end", picture)) == 2
