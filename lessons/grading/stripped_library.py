"""A copy of the library in which what an exercise asks for is not there.

A student cannot get at `minigrad.vjp` by reloading a module, by reading its file or by looking
through memory: in the files that the student's process can see, the function's body is one line
that says what to do instead. The copy also holds what that process runs of the grader (protocol,
sandbox, worker and so on, as the package `untrusted`), and a link to NumPy; nothing else that is
installed here is in it.
"""

from __future__ import annotations

import ast
import compileall
import hashlib
import importlib
import importlib.util
import inspect
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

import minigrad
from minigrad import on_demand, ops

from . import folders
from .exercise import DERIVATIVES, SheetError

ENGINES = (
    "minigrad.core.backward",
    "minigrad.core.forward",
    "minigrad.fast.backward",
    "minigrad.graph.derivatives",
)
"""The modules by which everything in the library that differentiates does so."""
RULE_PARAMETERS = ("g", "t", "c")
"""How the first parameter of a derivative rule is called in minigrad/ops: a cotangent or a
tangent (c where g is taken).
"""
UNTRUSTED = (
    "protocol",
    "sandbox",
    "worker",
    "fork_server",
    "withheld",
    "arguments",
    "orders",
    "child_processes",
    "jupyter_cells",
    "library_stubs",
    "stubs",
    "words",
)
"""Our own modules that run on the student's side."""
CALL = "from untrusted.withheld import withheld; withheld({name!r})"
EMPTY = '''"""{name} is not here while submissions are graded."""


def __getattr__(attribute):
    if attribute.startswith("__"):
        raise AttributeError(attribute)

    def gone(*args, **kwargs):
        {call}

    return type(attribute, (), {{"__new__": gone}})
'''


def library(forbid: Iterable[str], base: Path | None = None) -> Path:
    """The folder of a copy without the named functions, classes or modules; made once for each set
    of names.

    forbid: dotted names such as "minigrad.func.vjp" or "minigrad.Tensor.backward", or
    "derivatives": all by which the library differentiates, its operations' rules included. base:
    where the copies are kept (a temporary folder by default, removed by `folders.forget`). Raises
    SheetError for a name that is not there, or that cannot be taken away.
    """
    return folders.made_once(make, tuple(sorted(set(forbid))), base)


def make(names: tuple[str, ...], base: Path | None = None) -> Path:
    """A new copy without these names; see `library`."""
    for name in names:
        if name != DERIVATIVES:
            find(name)  # before anything is copied
    tag = hashlib.sha256("\n".join(names).encode()).hexdigest()[:8]
    folder = Path(tempfile.mkdtemp(prefix=f"minigrad-library-{tag}-", dir=base))
    try:
        source = Path(str(minigrad.__file__)).parent
        shutil.copytree(
            source,
            folder / "minigrad",
            ignore=shutil.ignore_patterns(
                "__pycache__", "*.so", "cli", "design", "__main__.py", "viz", "lessons"
            ),
        )
        ours = folder / "untrusted"
        ours.mkdir()
        (ours / "__init__.py").write_text(
            '"""What runs of the grader beside a student\'s code. There are no answers here."""\n'
        )
        for module in UNTRUSTED:
            shutil.copy2(Path(__file__).with_name(f"{module}.py"), ours / f"{module}.py")
        numpy = Path(np.__file__).resolve().parent
        folders.link(folder / "numpy", numpy)
        if numpy.with_name("numpy.libs").is_dir():
            folders.link(folder / "numpy.libs", numpy.with_name("numpy.libs"))
        for name in names:
            for part in ENGINES if name == DERIVATIVES else (name,):
                _take_away(part, folder)
        if DERIVATIVES in names:  # last: the files that it rewrites have other lines
            tables = [*(folder / "minigrad" / "ops").rglob("*.py")]
            for module in ops.LOADED_ON_FIRST_USE:
                *packages, last = module.strip(".").split(".")
                tables.append((folder / "minigrad").joinpath(*packages, f"{last}.py"))
            for file in sorted(tables):
                _empty_rules(file)
        for package, original in ((folder / "minigrad", source), (ours, Path(__file__).parent)):
            _keep_compiled(package, original)
            compileall.compile_dir(package, quiet=2, workers=1)
        if names:
            _try_out(names, folder)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return folder


def _keep_compiled(package: Path, original: Path) -> None:
    """Copies the compiled modules of those files that are as they were: to compile all of them
    takes seconds. Python compares the time and the size in each with its source, so one that is
    older is compiled again.
    """
    for path in package.rglob("*.py"):
        source = original / path.relative_to(package)
        compiled = Path(importlib.util.cache_from_source(str(source)))
        if compiled.is_file() and source.is_file() and path.read_bytes() == source.read_bytes():
            cache = path.parent / "__pycache__"
            cache.mkdir(exist_ok=True)
            shutil.copyfile(compiled, cache / compiled.name)


def _take_away(name: str, folder: Path) -> None:
    """Edits the files of the copy so that calling `name` raises Withheld."""
    owner, found = find(name)
    if inspect.ismodule(found):
        _empty_module(name, Path(str(found.__file__)), folder)
        return
    code = getattr(inspect.unwrap(found), "__code__", None) if callable(found) else None
    if isinstance(found, property):
        code = found.fget.__code__ if found.fget else None
    file = _in_copy(code.co_filename, folder) if code is not None else None
    # What a table or a factory makes shares its code with others, which stay.
    shared = (
        code is None or "<locals>" in code.co_qualname or code.co_name != name.rpartition(".")[2]
    )
    if shared or file is None or not _empty_function(file, code.co_firstlineno, code.co_name, name):
        for holder, attribute in _bindings(owner, found, name):
            _rebind(holder, attribute, name, folder)


def find(name: str) -> tuple[Any, Any]:
    """(what holds it, the object) of a dotted name. Raises SheetError where there is none."""
    first, *rest = name.split(".")
    if first != "minigrad" or not rest:
        raise SheetError(f'forbid: {name!r} is no name of minigrad, such as "minigrad.vjp".')
    owner: Any = None
    found: Any = minigrad
    for i, part in enumerate(rest):
        owner = found
        try:
            found = getattr(owner, part)  # loads what is loaded on first use
            if inspect.isclass(owner):
                found = inspect.getattr_static(owner, part)
        except AttributeError:
            try:
                found = importlib.import_module(".".join([first, *rest[: i + 1]]))
            except ImportError:
                raise SheetError(f"forbid: there is no {name!r} in minigrad.") from None
    return owner, getattr(found, "__func__", found)


def _in_copy(filename: str, folder: Path) -> Path | None:
    source = Path(str(minigrad.__file__)).parent
    try:
        return folder / "minigrad" / Path(filename).resolve().relative_to(source.resolve())
    except ValueError:
        return None


def _empty_function(file: Path, line: int, function: str, name: str) -> bool:
    """Puts one statement in the place of the body of the function that begins at a line; False
    if no such function is there.
    """
    text = file.read_text(encoding="utf-8")
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef) and node.name == function:
            first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            if first == line:
                break
    else:
        return False
    lines = text.splitlines(keepends=True)
    start, end = node.body[0], node.body[-1]
    assert end.end_lineno is not None
    one_line = start.lineno == node.lineno  # def f(x): return ...
    head = (
        lines[start.lineno - 1].encode()[: start.col_offset].decode()
        if one_line
        else " " * start.col_offset
    )
    # As many lines as before: what follows keeps its numbers, and is found by them.
    blank = ["\n"] * (end.end_lineno - start.lineno)
    lines[start.lineno - 1 : end.end_lineno] = [f"{head}{CALL.format(name=name)}\n", *blank]
    file.write_text("".join(lines), encoding="utf-8")
    return True


def _empty_module(name: str, original: Path, folder: Path) -> None:
    """A module whose every name is withheld, and all modules below it. The names are classes:
    others may inherit from them.
    """
    file = _in_copy(str(original), folder)
    assert file is not None
    for path in sorted(file.parent.rglob("*.py")) if file.name == "__init__.py" else [file]:
        path.write_text(EMPTY.format(name=name, call=CALL.format(name=name)), encoding="utf-8")


def _empty_rules(file: Path) -> None:
    """Takes the derivative rules out of a table of operations. Their parameters stay: the
    declarations read them.
    """
    tree = ast.parse(file.read_text(encoding="utf-8"))
    gone = ast.parse(
        f"__import__('untrusted.withheld').withheld.withheld({'the derivative rule'!r})",
        mode="eval",
    ).body
    for node in ast.walk(tree):
        if not isinstance(node, ast.Lambda | ast.FunctionDef):
            continue
        parameters = [a.arg for a in (*node.args.posonlyargs, *node.args.args)]
        if parameters[:1] and parameters[0] in RULE_PARAMETERS:
            if isinstance(node, ast.Lambda):
                node.body = gone
            else:
                node.body = [ast.Return(gone)]
    file.write_text(ast.unparse(ast.fix_missing_locations(tree)), encoding="utf-8")


def _bindings(owner: Any, found: Any, name: str) -> list[tuple[Any, str]]:
    """Where an object is bound: (module or class, attribute), in the place that is named and in
    every other module of the library.
    """
    places = [(owner, name.rpartition(".")[2])]
    for module in [
        module for key, module in sorted(sys.modules.items()) if key.partition(".")[0] == "minigrad"
    ]:
        places += [
            (module, attribute) for attribute, value in vars(module).items() if value is found
        ]
    return list(
        {(id(holder), attribute): (holder, attribute) for holder, attribute in places}.values()
    )


def _rebind(owner: Any, attribute: str, name: str, folder: Path) -> None:
    """For what no `def` of its own makes, such as an operation out of a table: the name is rebound,
    at the end of its module."""
    is_class = inspect.isclass(owner)
    module = inspect.getmodule(owner) if is_class else owner
    if owner is minigrad.Tensor:  # other modules attach its methods: the package does so last
        module = next(
            (
                importlib.import_module(late.module, "minigrad")
                for late in on_demand.FILES
                if attribute in on_demand.method_names(late)
            ),
            minigrad,
        )
    file = _in_copy(str(getattr(module, "__file__", "")), folder)
    if file is None or not file.is_file():
        raise SheetError(
            f"forbid: {name!r} cannot be taken away; name the function that it calls instead."
        )
    target = f"{owner.__qualname__}.{attribute}" if is_class else attribute
    with file.open("a", encoding="utf-8") as text:
        text.write(
            f"\n\ndef _absent_{attribute}(*args, **kwargs):\n   "
            f" {CALL.format(name=name)}\n\n\n{target} = _absent_{attribute}\n"
        )


TRY_OUT = """
import sys, inspect
sys.path.insert(0, {folder!r})
import importlib, minigrad
from untrusted.withheld import Withheld
for name in {names!r}:
    parts, found = name.split(".")[1:], minigrad
    for i, part in enumerate(parts):
        if not hasattr(found, part):
            importlib.import_module("minigrad." + ".".join(parts[: i + 1]))
        owner, found = found, getattr(found, part)
        if inspect.isclass(owner):
            found = inspect.getattr_static(owner, part)
    found = getattr(found, "__func__", found)
    if isinstance(found, property):
        found = found.fget
    if inspect.ismodule(found):
        found = found.anything
    try:
        parameters = inspect.signature(found).parameters.values()
        count = sum(p.default is p.empty and p.kind in (0, 1) for p in parameters)
        wanted = {{p.name: None for p in parameters if p.default is p.empty and p.kind == 3}}
        found(*[None] * count, **wanted)
    except Withheld:
        continue
    except BaseException as error:
        print(name, "raises", repr(error))
    else:
        print(name, "is still there")
"""


def _try_out(names: tuple[str, ...], folder: Path) -> None:
    """The copy must still be imported, and each name must raise: else the sheet promises what it
    cannot keep.
    """
    code = TRY_OUT.format(
        folder=str(folder),
        names=[n for name in names for n in (ENGINES if name == DERIVATIVES else (name,))],
    )
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, timeout=120
    )
    if done.returncode or done.stdout.strip():
        what = done.stdout.strip() or done.stderr.strip()[-1500:]
        raise SheetError(
            f"forbid: without {', '.join(names)} the library does not work as it should: {what}"
        )
