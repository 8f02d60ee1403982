"""The student's own engine between the lessons: `keep` saves what was written, `mine` brings it
back, `watch` shows it in the viewer.

    keep(Node, topological_order, gradients)
        at the end of lesson 3: their source goes into my_engine.py beside the notebook
    engine = mine()
        in a later lesson: engine.gradients, and a kind word about what is not there yet
    engine = mine("Tensor", "gradients", lend=True)
        after lesson 11: yours if it is whole, else one of the course's, which stands in for it
    watch(y, [x], lambda: gradients(order(y), [x]))
        what that engine just did, step by step, beside minigrad
    unpack()
        this cell becomes the text of my_engine.py, so that it is handed in with the notebook

The text of functions and classes is kept, nothing else, in one readable file that is yours. A piece
that is written again replaces the old one, and the file as it was before lies in the folder
my_engine_older under its date. No check and no grade depends on that file.
"""

from __future__ import annotations

import ast
import datetime
import importlib.util
import inspect
import linecache
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from minigrad.training.progress import runs_for_a_page

from .edition import MARKER
from .exercises import own_engine
from .grading.calls import Caller, StudentProblem, describe
from .grading.feedback import Feedback, Line

FILE = "my_engine.py"
OLDER = "my_engine_older"
HEAD = '''\
"""My own engine: what I wrote in the lessons. \
`keep(…)` changes the pieces below; the rest is left as it is."""

import math

import numpy as np
'''

MADE_IN = {
    "topological_order": "lesson 3, exercise 1", "gradients": "lesson 3, exercise 2",
    "pull_exp": "lesson 5, exercise 1", "pull_t": "lesson 5, exercise 2",
    "pull_sum": "lesson 5, exercise 3",
    "unbroadcast": "lesson 5, exercise 4", "pull_matmul": "lesson 5, exercise 5",
    "Tensor": "lesson 5, section 5",
    "sgd": "lesson 9, exercise 1", "pull_relu": "lesson 9, exercise 3",
    "pull_cross_entropy": "lesson 9, exercise 4",
    "relu": "lesson 9, section 5", "cross_entropy": "lesson 9, section 5",
    "adam": "lesson 11, exercise 3",
    "pull_mul": "lesson 11b, exercise 1", "pull_div": "lesson 11b, exercise 1",
    "pull_log": "lesson 11b, exercise 1",
    "mul": "lesson 11b, section 1", "div": "lesson 11b, section 1", "log": "lesson 11b, section 1",
    "Dual": "lesson 11b, exercise 2", "hvp": "lesson 11b, exercise 3",
    "checkpoint": "lesson 12, exercise 6", "operation": "lesson 13, exercise 5",
    "pull_solve": "lesson 16, exercise 2", "pull_logdet": "lesson 16, exercise 3",
    "solve": "lesson 16, section 6", "logdet": "lesson 16, section 6",
    "half": "lesson 17, section 7", "scaled_step": "lesson 17, exercise 5",
    "jvp": "lesson 18, exercise 1", "vjp": "lesson 18, exercise 1",
    "cg_step": "lesson 18, exercise 2", "newton_direction": "lesson 18, exercise 3",
    "step_length": "lesson 18, section 3", "gauss_newton": "lesson 18, exercise 4",
    "search": "lesson 19, section 1", "settle": "lesson 19, exercise 3",
    "sent_back": "lesson 19, section 5", "fixed_point": "lesson 19, exercise 4",
    "reach": "lesson 20, exercise 3", "split": "lesson 20, exercise 3",
    "advance": "lesson 20, section 6", "pull_step": "lesson 20, section 6",
    "sweep": "lesson 20, exercise 4", "through_time": "lesson 20, section 6",
    "colouring": "lesson 21, exercise 2", "seeds": "lesson 21, exercise 3",
    "recover": "lesson 21, exercise 3", "jacobian": "lesson 21, exercise 4",
    "score_terms": "lesson 22, exercise 1", "with_baseline": "lesson 22, exercise 2",
    "cover": "lesson 22, exercise 3", "paint": "lesson 22, exercise 4",
    "Traced": "lesson 23, section 3", "traced": "lesson 23, exercise 1",
    "pull_rows": "lesson 23, exercise 2",
    "slope": "lesson 24, exercise 1", "tanh": "lesson 24b, section 2",
    "unroll": "lesson 24b, exercise 1", "name_loss": "lesson 24b, exercise 2",
    "pick": "lesson 24b, exercise 4",
}  # fmt: skip
"""The pieces of the engine, and where each of them is made."""

MILESTONE = tuple(list(MADE_IN)[: list(MADE_IN).index("adam") + 1])
"""Those that train a network in lesson 11."""

WITHOUT = "Everything else in this lesson works without it."

ALIASES = {"t": "permute", "transpose": "permute"}
"""Operations that minigrad calls by another name."""


class Note:
    """A sentence or two that a notebook shows without quotation marks."""

    def __init__(self, *lines: str) -> None:
        self.text = "\n".join(lines)

    def __repr__(self) -> str:
        return self.text


# --------------------------------------------------------------------------------------------- keep


def keep(*pieces: Any, folder: str | os.PathLike[str] = ".") -> Note:
    """Save the source of functions and classes into my_engine.py; says what was kept and what was
    not, and why. Never raises.

    A piece that is still the stub is not kept: it would take the place of a better one. A text such
    as "Tensor.__mul__ = mul" is kept as it is: it gives a class a method.
    """
    said, found = list[str](), dict[str, str]()
    for piece in pieces:
        name = getattr(piece, "__name__", None)
        if isinstance(piece, str) and (owner := _attached_to(piece)):
            if owner in found or mine(owner, folder=folder).complete:
                found[piece.partition("=")[0].strip()] = piece
            else:
                said.append(f"not kept: {piece}, for {owner} is not in {FILE}.")
            continue
        if not isinstance(name, str) or not (inspect.isfunction(piece) or inspect.isclass(piece)):
            said.append(
                f"not kept: {piece!r} is neither a function nor a class. Give the names themselves:"
                " keep(gradients)."
            )
            continue
        source = source_of(piece)
        if source is None:
            said.append(
                f"not kept: the text of {name} is not at hand here. Run its cell in the notebook,"
                " then this one again."
            )
        elif is_stub(source):
            said.append(f"not kept: {name} is not written yet.")
        else:
            found[name] = source
    if found:
        try:
            said.insert(0, _write(Path(folder) / FILE, found))
        except (OSError, SyntaxError) as problem:
            said.insert(0, f"not kept: {problem}.")
    return Note(*said)


def _attached_to(text: str) -> str:
    """The class to whose attributes a text assigns; "" for another text."""
    try:
        (statement,) = ast.parse(text).body
    except (SyntaxError, ValueError):
        return ""
    return text.partition(".")[0] if isinstance(statement, ast.Assign) else ""


def _write(path: Path, found: Mapping[str, str]) -> str:
    before = path.read_text(encoding="utf-8") if path.exists() else HEAD
    after = before
    for name, source in found.items():
        after = replaced(after, name, source)
    if after == before:
        return f"{path.name} has {_listed(found)} already."
    kept = f"kept in {path.name}: {_listed(found)}."
    if path.exists():
        kept += f" The file as it was before: {_put_aside(path)}."
    draft = path.with_name(path.name + ".new")
    draft.write_text(after, encoding="utf-8")
    draft.replace(path)  # whole at every moment
    return kept


def _put_aside(path: Path) -> Path:
    """A copy of the file under the present date; nothing that lies there is overwritten."""
    older = path.parent / OLDER
    older.mkdir(exist_ok=True)
    stamp = datetime.datetime.now().strftime("%Y-%m-%d-%H%M%S")
    copy = older / f"{stamp}.py"
    number = 2
    while copy.exists():
        copy, number = older / f"{stamp}-{number}.py", number + 1
    copy.write_bytes(path.read_bytes())
    return copy.relative_to(path.parent)


def replaced(text: str, name: str, source: str) -> str:
    """A module's text in which `name` is defined by `source`: in the place of its old definition,
    or else at the end.

    Raises SyntaxError if the text is not Python any more (after an edit by hand): then nothing is
    changed.
    """
    lines = text.split("\n")
    for statement in ast.parse(text, FILE).body:
        if name == _defined_by(statement):
            decorators = getattr(statement, "decorator_list", [])
            start = min([statement.lineno, *(d.lineno for d in decorators)]) - 1
            assert statement.end_lineno is not None
            return "\n".join([*lines[:start], *source.split("\n"), *lines[statement.end_lineno :]])
    return text.rstrip("\n") + "\n\n\n" + source + "\n"


def _defined_by(statement: ast.stmt) -> str:
    """The name that a function, a class or an assignment gives; "" for another statement."""
    if isinstance(statement, ast.Assign):
        return ast.unparse(statement.targets[0]).strip("()")
    return statement.name if isinstance(statement, ast.FunctionDef | ast.ClassDef) else ""


def source_of(piece: Any) -> str | None:
    """The text of a function or class from the notebook cell (or file) that defined it; None where
    there is no text.

    Python itself finds functions of a cell, but classes only from 3.13 on, so both are looked up in
    the cell by their name.
    """
    if inspect.isclass(piece):
        codes = [f.__code__ for f in vars(piece).values() if inspect.isfunction(f)]
        codes = (
            [code for code in codes if code.co_qualname.startswith(f"{piece.__qualname__}.")]
            if sys.version_info >= (3, 11)
            else codes
        )
    else:
        codes = [inspect.unwrap(piece).__code__]
    for code in codes:
        text = "".join(linecache.getlines(code.co_filename))
        try:
            statements = ast.parse(text).body
        except SyntaxError:  # a cell with a line of IPython's own
            continue
        for statement in reversed(statements):
            if (
                isinstance(statement, ast.FunctionDef | ast.ClassDef)
                and statement.name == piece.__name__
            ):
                start = min([statement.lineno, *(d.lineno for d in statement.decorator_list)]) - 1
                lines = text.split("\n")[start : statement.end_lineno]
                return "\n".join(line for line in lines if not MARKER.match(line))
    return None


def is_stub(source: str) -> bool:
    """Whether the body of a function or class is nothing but its docstring and `...`; so is a
    class with such a method.
    """
    (definition,) = ast.parse(source).body
    body = [
        s
        for s in getattr(definition, "body", [])
        if not (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant))
    ]
    methods = [s for s in body if isinstance(s, ast.FunctionDef)]
    if isinstance(definition, ast.ClassDef) and methods:
        return any(is_stub(ast.unparse(method)) for method in methods)
    return not body


# --------------------------------------------------------------------------------------------- mine


class Missing(AttributeError):
    """A piece that was not kept yet."""


class StudentEngine:
    """What `mine` found: its pieces as attributes. missing: names of those that were wanted and
    are not there.
    """

    def __init__(self, module: ModuleType | None, missing: Sequence[str], say: str) -> None:
        self._module, self.missing, self._say = module, tuple(missing), say

    @property
    def complete(self) -> bool:
        """Whether everything that was wanted is there."""
        return not self.missing

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or not hasattr(self._module, name):
            where = f"; it is made in {MADE_IN[name]}" if name in MADE_IN else ""
            raise Missing(f"{name} is not in {FILE}{where}.")
        return getattr(self._module, name)

    def __repr__(self) -> str:
        return self._say


def mine(*wanted: str, folder: str | os.PathLike[str] = ".", lend: bool = False) -> StudentEngine:
    """The engine that was kept in my_engine.py; wanted: names that this lesson needs (by default
    those of the milestone). Never raises.

    Printed, it says what is there, what is missing, and in which lesson that is made. lend: where
    a piece is missing, an engine of the course's stands in for the whole of it.
    """
    found = _kept(wanted or MILESTONE, Path(folder) / FILE)
    if found.complete or not lend:
        return found
    say = (
        f"{repr(found).removesuffix(WITHOUT).rstrip()}\nUntil then an engine of the course's own"
        " stands in for yours; everything in this lesson works with it."
    )
    return StudentEngine(own_engine, found.missing, say)


def _kept(wanted: Sequence[str], path: Path) -> StudentEngine:
    """What the file at `path` has of the wanted pieces."""
    module, trouble = None, ""
    if path.exists():
        spec = importlib.util.spec_from_file_location("my_engine", path)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        try:
            Caller().call(spec.loader.exec_module, (module,), f"import {FILE}")
        except StudentProblem as problem:
            module, trouble = (
                None,
                f"{problem.say} Mend it, or take one of the older files in {OLDER}.",
            )
    missing = [name for name in wanted if not hasattr(module, name)]
    if trouble:
        return StudentEngine(None, missing, trouble)
    if not missing:
        return StudentEngine(module, (), f"your engine from {FILE}: {_listed(wanted)}.")
    if module is None:
        start = (
            f"There is no {FILE} in this folder yet. It is made by keep(…) at the end of"
            f" {_lessons(missing)}."
        )
    else:
        start = f"your engine from {FILE}. Still missing:"
    lines = [
        f"  {name} is made in {MADE_IN[name]}" if name in MADE_IN else f"  {name}"
        for name in missing
    ]
    return StudentEngine(module, missing, "\n".join([start, *lines, WITHOUT]))


def unpack(*wanted: str, folder: str | os.PathLike[str] = ".") -> Note:
    """Put the text of my_engine.py into the notebook's cell that calls this, in the place of the
    call. Never raises.

    wanted: the names that must be in the file (by default those of the milestone); while one is
    missing, the cell stays as it is. It also stays where it holds anything besides the call, so
    nothing that was written there is lost.
    """
    engine = mine(*wanted, folder=folder)
    if not engine.complete:
        return Note(
            repr(engine).removesuffix(WITHOUT).rstrip("\n"),
            "Do that, and come back; this cell stays as it is until then.",
        )
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if shell is None:
        return Note("There is no cell to fill here: this is meant for a notebook.")
    if not _is_one_call(str(shell.user_ns.get("In", [""])[-1])):
        return Note(
            "This cell holds more than the call, and stays as it is. In a cell of its own,"
            f" unpack() brings the text of {FILE}."
        )
    shell.set_next_input(
        (Path(folder) / FILE).read_text(encoding="utf-8").rstrip("\n"), replace=True
    )
    return Note(
        f"This cell is now the text of {FILE}. Read it through, and run the cell once more."
    )


def _is_one_call(source: str) -> bool:
    """Whether there is nothing but one expression, comments aside."""
    try:
        body = ast.parse(source).body
    except SyntaxError:
        return False
    return len(body) == 1 and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Call)


def _lessons(names: Sequence[str]) -> str:
    """The lessons that make these pieces, in the order of the course."""
    found = dict.fromkeys(at.partition(",")[0] for name, at in MADE_IN.items() if name in names)
    return _listed(found) or "the lessons"


def _listed(names: Iterable[str]) -> str:
    every = list(names)
    return " and ".join([", ".join(every[:-1]), every[-1]] if len(every) > 1 else every)


# -------------------------------------------------------------------------------------------- watch


def watch(
    output: Any,
    wanted: Sequence[Any],
    run: Callable[[], Any],
    *,
    against: Mapping[str, Any] | None = None,
    names: Mapping[str, Any] | None = None,
    title: str = "by your engine",
    **options: Any,
) -> Any:
    """Show in the viewer what the student's engine does when `run()` computes the gradients of
    `output` by the nodes `wanted`.

    against: a Trace of minigrad; then both play on one clock, the first difference marked. names:
    of nodes; by default the caller's
    variables. options: of `viz.show`, such as views. Where the engine is not finished, or stops, a
    sentence says so instead.
    """
    from minigrad import viz

    try:
        trace = recorded(
            output, wanted, run, names=_named(names, inspect.currentframe()), title=title
        )
    except StudentProblem as problem:
        kind = "unfinished" if problem.kind == "unfinished" else "trouble"
        return Feedback("Your engine in the viewer", kind, lines=[Line(kind, problem.say)])
    if against is None:
        return viz.show(trace, **options)
    return viz.compare(against, trace, names=("minigrad", "yours"), **options)


UNWRITTEN = "Not yet: this needs functions that you write in the notebook."


def attempt(run: Callable[[], Any], instead: Any = ()) -> Any:
    """What `run()` gives; where the student's functions are not finished or stop, a sentence is
    printed and `instead` comes back. Figures that `run` had begun are closed: they would be shown
    empty. On a page without a kernel the functions cannot be mended: there the sentence is short.
    """
    before = _open_figures()
    try:
        return run()
    except Missing as missing:
        print(UNWRITTEN if runs_for_a_page() else f"{missing} Do that, and come back.")
    except Exception as error:
        said = describe(error, run)
        nothing = "one of your functions returned nothing (None). " * ("'NoneType'" in said)
        print(
            UNWRITTEN
            if runs_for_a_page()
            else f"Not yet: {nothing}{said}{'' if said.endswith('.') else '.'} Are your functions"
            " written, and their checks passed?"
        )
    for number in _open_figures():
        if number not in before:
            sys.modules["matplotlib.pyplot"].close(number)
    return instead


def _open_figures() -> list[int]:
    """The numbers of the figures that matplotlib has open; none where it is not imported, and none
    while a submission is graded.
    """
    pyplot = sys.modules.get("matplotlib.pyplot")
    numbers = pyplot.get_fignums() if pyplot else []
    return numbers if isinstance(numbers, list) else []


def recorded(
    output: Any,
    wanted: Sequence[Any],
    run: Callable[[], Any],
    *,
    names: Mapping[str, Any] | None = None,
    title: str = "",
) -> dict[str, Any]:
    """The Trace of what `run()` does: each call of a node's `pull` as it happens, with the adjoint
    that it was given.

    A node has value, parents, pull(adjoint) -> a contribution for each parent, and op. Where the
    adjoint that a node gets is not the sum of
    what was sent to it, the Trace says so: it shows what the engine did, right or wrong. Raises
    StudentProblem where `run` fails.
    """
    from minigrad.viz.adapters import Writer

    called = {id(node): name for name, node in (_named(names, inspect.currentframe())).items()}
    writer, ids, order = Writer(title), dict[int, str](), behind(output)
    for node in order:
        name = called.get(id(node), "")
        if node.parents:
            op = ALIASES.get(node.op, node.op) or "op"
            ids[id(node)] = writer.op(
                op, [ids[id(p)] for p in node.parents], node.value, name=name or None
            )
        else:
            ids[id(node)] = writer.input(name, node.value, kind="input" if name else "const")
    pulls = {id(node): node.pull for node in order if node.parents}

    def watched(node: Any) -> Callable[[Any], Any]:
        def pull(adjoint: Any) -> Any:
            _arrived(writer, ids[id(node)], adjoint, node is output)
            parts = pulls[id(node)](adjoint)
            _check_parts(node, parts)
            for slot, part in enumerate(parts):
                writer.send(ids[id(node)], slot, _plain(part))
            return parts

        return pull

    try:
        for node in order:
            if node.parents:
                node.pull = watched(node)
        found = Caller().call(run, (), "your engine")
    except StudentProblem as problem:
        first = problem.__context__  # what was raised inside the student's code
        if isinstance(first, Missing):
            raise StudentProblem("unfinished", f"{first} Do that, and come back.") from None
        raise (first if isinstance(first, StudentProblem) else problem) from None
    finally:
        for node in order:
            if node.parents:
                node.pull = pulls[id(node)]
    if _unfinished(found):
        raise StudentProblem(
            "unfinished",
            "Your engine gives no gradients yet. Write the functions above, run their cells, then"
            " this one.",
        )
    for node, gradient in zip(wanted, found, strict=False):
        if id(node) in ids and (ids[id(node)] in writer.adjoints or np.any(_plain(gradient))):
            _arrived(writer, ids[id(node)], gradient, node is output)
    return writer.document([ids[id(output)]])


def _unfinished(found: Any) -> bool:
    """Whether a function gives nothing yet, in whole or in part."""
    return not isinstance(found, list | tuple) or any(x is None or x is ... for x in found)


def _check_parts(node: Any, parts: Any) -> None:
    """Raise StudentProblem if a node's rule does not give one part for each parent."""
    if _unfinished(parts):
        raise StudentProblem(
            "unfinished",
            f"The rule of `{node.op}` gives nothing yet: write it above, run its cell, then this"
            " one.",
        )
    if len(parts) != len(node.parents):
        raise StudentProblem(
            "type",
            f"The rule of `{node.op}` gives {len(parts)} parts for {len(node.parents)} parents.",
        )


def behind(output: Any) -> list[Any]:
    """All nodes that a node was made from, and itself, each after its parents; by a loop, for
    graphs may be deep.
    """
    found, done, waiting = [], set[int](), [(output, False)]
    while waiting:
        node, ready = waiting.pop()
        if ready:
            found.append(node)
        elif id(node) not in done:
            done.add(id(node))
            waiting += [(node, True), *((p, False) for p in reversed(tuple(node.parents)))]
    return found


def _arrived(writer: Any, name: str, adjoint: Any, is_output: bool) -> None:
    """The engine takes this for a node's adjoint: note it where it is the seed, or not what was
    sent.
    """
    value = _plain(adjoint)
    if is_output and name not in writer.adjoints:
        writer.seed(name, value)
    elif name not in writer.adjoints or not _near(writer.adjoints[name], value):
        writer.correct(name, value)


def _near(a: Any, b: Any) -> bool:
    return np.shape(a) == np.shape(b) and bool(
        np.allclose(a, b, rtol=1e-9, atol=1e-12, equal_nan=True)
    )


def _plain(value: Any) -> Any:
    """A number or an array, also where the engine computes with its own nodes."""
    return getattr(value, "value", value)


def _named(names: Mapping[str, Any] | None, frame: Any) -> dict[str, Any]:
    """Names of nodes: those given, or the variables of whoever called the function to which the
    frame belongs.
    """
    if names is not None:
        return dict(names)
    caller = frame.f_back if frame is not None else None
    spaces = (caller.f_globals, caller.f_locals) if caller is not None else ()
    found = {
        name: value
        for space in spaces
        for name, value in list(space.items())
        if not name.startswith("_")
    }
    return {
        name: value
        for name, value in found.items()
        if hasattr(value, "parents") and hasattr(value, "pull")
    }
