"""What Jupyter makes of a cell before Python sees it: magics, lines of the shell, questions.

A cell of a submission is compiled here as Jupyter would compile it. A magic that only shows or
measures something is left out; one that runs Python (`%time x = f()`), writes a file
(`%%writefile`), runs one (`%run`) or changes a setting (`%cd`, `%env`) keeps its effect. What asks
for another program (`!ls`) gives nothing. Lines keep their numbers.
"""

from __future__ import annotations
import __future__

import ast
import json
import linecache
import os
import re
import shlex
import symtable
import types
from dataclasses import dataclass
from typing import Any

SHELL = "__minigrad_shell__"
"""The name, among Python's own names, of the `Shell` that magics call."""
FUTURES = 0
for _name in __future__.all_feature_names:
    FUTURES |= getattr(__future__, _name).compiler_flag

WHOLE_CELL = re.compile(r"\s*%%(\w+)[ \t]*([^\n]*)\n?")
RUNS_ITS_CELL = ("time", "timeit", "capture", "prun", "python", "python3")
LINE_MAGIC = re.compile(r"^(\s*)(?:%(\w[\w.]*)[ \t]*(.*?)|!.*|\?{1,2}\s*[\w.]+|[\w.]+\?{1,2})\s*$")
ASSIGNED_MAGIC = re.compile(r"^(\s*[\w, .\[\]'\"]+=\s*)(?:%(\w+)[ \t]*(.*?)|!.*)\s*$")
OPTIONS = re.compile(r"^(?:--?[\w-]+(?:[ =]\d+)?\s+)*")
MOST_MAGICS = 500
"""So many lines of a cell are looked at one by one; beyond that all of them at once."""


@dataclass(frozen=True)
class CompiledCell:
    """A cell's code. last: the expression at its end, whose value Jupyter shows, or None; imports:
    the packages that it imports at its top level; tree: its syntax tree.
    """

    code: types.CodeType
    last: types.CodeType | None
    imports: frozenset[str]
    tree: ast.Module


def compile_cell(source: str, name: str, futures: int = 0) -> CompiledCell:
    """Compiles a cell; futures: flags of `from __future__` that earlier cells have set.

    Raises SyntaxError and ValueError.
    """
    source = whole_cell(source)
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT | futures
    tree = _tree(source, name, flags)
    waits = "await" in source and _waits(tree)
    return CompiledCell(*_halves(tree, name, flags, waits), _imports(tree), tree)


def rest_of(compiled: CompiledCell, line: int, name: str, futures: int) -> CompiledCell | None:
    """The statements of a cell below the one that holds a line; None where there are none."""
    body = [node for node in compiled.tree.body if node.lineno > line]
    if not body:
        return None
    tree = ast.Module(body, [])
    flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT | futures
    return CompiledCell(*_halves(tree, name, flags, _waits(tree)), compiled.imports, tree)


def _tree(source: str, name: str, flags: int) -> ast.Module:
    """The syntax tree. Only lines that are no Python are taken for magics: a line of a long text
    may begin with % as well.
    """
    lines = source.split("\n")
    for _ in range(MOST_MAGICS):
        try:
            return _parse("\n".join(lines), name, flags)
        except SyntaxError as error:
            at = (error.lineno or 0) - 1
            if not 0 <= at < len(lines) or (changed := without_magic(lines[at])) == lines[at]:
                break
            lines[at] = changed
    if re.search(r"[%!?]", source):
        return _parse(without_magics(source), name, flags)
    return _parse(source, name, flags)


def _parse(source: str, name: str, flags: int) -> ast.Module:
    tree = compile(source, name, "exec", flags | ast.PyCF_ONLY_AST, dont_inherit=True)
    assert isinstance(tree, ast.Module)
    return tree


def _waits(tree: ast.Module) -> bool:
    return any(isinstance(node, ast.Await) for node in ast.walk(tree))


def _halves(
    tree: ast.Module, name: str, flags: int, waits: bool
) -> tuple[types.CodeType, types.CodeType | None]:
    """The code of all statements but the last one, where that is an expression, and its code.
    waits: whether there is an `await`; such a cell stays whole.
    """
    end = tree.body[-1] if tree.body else None
    if waits or not isinstance(end, ast.Expr):
        return compile(tree, name, "exec", flags, dont_inherit=True), None
    first = ast.Module(tree.body[:-1], [])
    code = compile(first, name, "exec", flags, dont_inherit=True)
    if code.co_flags & FUTURES:
        flags |= code.co_flags & FUTURES
    return code, compile(ast.Expression(end.value), name, "eval", flags, dont_inherit=True)


def _imports(tree: ast.Module) -> frozenset[str]:
    found = set()
    for node in tree.body:
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module.partition(".")[0])
    return frozenset(found)


# ------------------------------------------------------------------------------------------- magics


def whole_cell(source: str) -> str:
    """A cell without a magic of the whole cell: the code that it runs, or what it does instead."""
    magic = WHOLE_CELL.match(source)
    if not magic:
        return source
    name, line, body = magic[1], magic[2].strip(), source[magic.end() :]
    if name in ("writefile", "file"):
        return f"{SHELL}.write({line!r}, {body!r})"
    if name not in RUNS_ITS_CELL:
        return ""
    kept = name == "capture" and next((w for w in line.split() if w.isidentifier()), "")
    return f"{kept} = {SHELL}.nothing\n{body}" if kept else "\n" + body


def without_magics(source: str) -> str:
    """A text in which every line that looks like a magic is replaced."""
    return "\n".join(map(without_magic, source.split("\n")))


def without_magic(line: str) -> str:
    """What Python runs in the place of a line; the line itself where it is no magic."""
    if assigned := ASSIGNED_MAGIC.match(line):
        return assigned[1] + (_value_of(assigned[2], assigned[3]) if assigned[2] else "[]")
    if magic := LINE_MAGIC.match(line):
        return magic[1] + (_statement_of(magic[2], magic[3]) if magic[2] else "pass")
    return line


def _value_of(name: str, line: str) -> str:
    if name in ("time", "prun"):
        return OPTIONS.sub("", line) or "None"
    return {"pwd": f"{SHELL}.place()", "env": f"{SHELL}.env({line!r})"}.get(
        name, f"{SHELL}.nothing"
    )


def _statement_of(name: str, line: str) -> str:
    if name in ("time", "prun", "lprun", "memit", "mprun"):
        return OPTIONS.sub("", line) or "pass"
    if name in ("run", "cd", "env", "set_env"):
        return f"{SHELL}.{name.removeprefix('set_')}({line!r})"
    return "pass"


class Shell:
    """What magics with an effect call. names: of the submission; nothing: what is given for
    everything that only shows.
    """

    def __init__(self, names: dict[str, Any], nothing: Any) -> None:
        self.names, self.nothing = names, nothing

    def write(self, line: str, body: str) -> None:
        """%%writefile: writes the cell into a file, with -a at its end."""
        words = shlex.split(line)
        mode = "a" if {"-a", "--append"} & set(words) else "w"
        with open(os.path.expanduser(words[-1]), mode, encoding="utf-8") as file:
            file.write(body if body.endswith("\n") else body + "\n")

    def run(self, line: str) -> None:
        """%run: runs a file of Python, or the code of a notebook, with the submission's names."""
        words = [word for word in shlex.split(line) if not word.startswith("-")]
        path = words[0] if os.path.splitext(words[0])[1] else words[0] + ".py"
        with open(path, encoding="utf-8") as file:
            text = file.read()
        if path.endswith(".ipynb"):
            cells = [c for c in json.loads(text)["cells"] if c.get("cell_type") == "code"]
        else:
            cells = [{"source": text}]
        for cell in cells:
            compiled = compile_cell("".join(cell["source"]), path)
            for code in filter(None, (compiled.code, compiled.last)):
                eval(code, self.names)

    def cd(self, line: str) -> None:
        """%cd: other cells find their files from there."""
        os.chdir(os.path.expanduser(line.strip("'\" ") or "~"))

    def env(self, line: str) -> str:
        """%env: sets a variable of the environment, or gives it."""
        name, found, value = line.replace("=", " ", 1).strip().partition(" ")
        if found:
            os.environ[name] = value.strip()
        return os.environ.get(name, "")

    def place(self) -> str:
        """%pwd."""
        return os.getcwd()


# ------------------------------------------------------------------------------------- cells' names


def names_in(sources: list[str]) -> list[dict[str, list[str]]]:
    """What each of some cells has to do with other cells by: {"names": all names that it uses or
    binds outside functions, "bound": those that it binds, "loose": those that it binds otherwise
    than by `import`, `def` and `class`, "inner": those that its functions and classes use}. A cell
    that is no Python does nothing, and has none.

    Only the text is looked at. For a student's cells it is done on this side of the border, because
    no parser is safe from every text.
    """
    return [{key: sorted(found) for key, found in _names(source).items()} for source in sources]


def _names(source: str) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {"names": set(), "bound": set(), "loose": set(), "inner": set()}
    try:
        text, table = _table(source)
    except (SyntaxError, ValueError):
        return found
    made = {scope.get_name() for scope in table.get_children()} & set(table.get_identifiers())
    if made:
        made -= _stored(ast.parse(text))
    scopes = [table]
    while scopes:
        scope = scopes.pop()
        scopes += scope.get_children()
        for symbol in scope.get_symbols():
            if scope is not table and not symbol.is_global():
                continue
            name = symbol.get_name()
            found["names" if scope is table else "inner"].add(name)
            if symbol.is_assigned() or symbol.is_imported():
                found["bound"].add(name)
            if symbol.is_assigned() and (scope is not table or name not in made):
                found["loose"].add(name)
    found["names"] |= found["inner"]
    return found


def _stored(tree: ast.Module) -> set[str]:
    """The names that a cell binds otherwise than by the `def` and `class` at its top."""
    makes = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
    others = [node for top in tree.body if not isinstance(top, makes) for node in ast.walk(top)]
    names = [node for node in others if isinstance(node, ast.Name)]
    return {name.id for name in names if not isinstance(name.ctx, ast.Load)}


def _table(source: str) -> tuple[str, symtable.SymbolTable]:
    text = whole_cell(source)
    try:
        return text, symtable.symtable(text, "<cell>", "exec")
    except SyntaxError:
        text = without_magics(text)
        return text, symtable.symtable(text, "<cell>", "exec")
