"""The reference on the site: every operation with its rule, and the public surface with its
documentation.

`write` puts Markdown beside the lessons. The operations come from the registry: how each is
written, what an operand receives in a backward pass (the declared rule, run on symbols; where that
is no formula that people read, the declaration's own words), and who calls it. Everything else
comes from docstrings, by Sphinx's autodoc. As an extension of Sphinx this module
hands docstrings over in a form that reStructuredText reads as it is meant.
"""

from __future__ import annotations

import ast
import html
import importlib
import inspect
import re
import textwrap
import types
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from minigrad.viz.explorer import links
from minigrad.viz.picture import mathtext

import minigrad as mg
from minigrad import expression
from minigrad.core.primitive import Primitive, registry
from minigrad.watch import derivatives, notation, trace_function

from . import operation_steps
from .front_page import LIVE
from .onnx_names import ONNX

FOLDER, STEPS = "reference", "steps"
MODULES = {
    "autograd": "Derivatives as PyTorch has them",
    "func": "Derivatives as functions of functions",
    "nn": "Layers, losses and modules",
    "nn.functional": "Layers as functions",
    "optim": "Optimisers and schedules",
    "linalg": "Linear algebra",
    "fft": "Fourier transforms",
    "special": "Special functions",
    "signal.windows": "Windows",
    "data": "Data sets and loaders",
    "training": "Training loops",
    "watch": "Runs as documents that show each step",
    "trace": "The documents themselves",
    "viz": "Pictures",
    "graph": "Static graphs",
    "program": "Compiled programs",
    "networks": "Gradients as networks",
    "singa": "SINGA's operators and layers",
    "expression": "Formulas as text",
    "testing": "Comparison of tensors in tests",
    "errors": "Errors",
}
"""The modules that have a page, and what each is about."""
FAMILIES = {
    "minigrad.ops.elementwise": "One element at a time",
    "minigrad.ops.error_function": "One element at a time",
    "minigrad.extras": "One element at a time",
    "minigrad.special": "Special functions",
    "minigrad.linalg": "Linear algebra",
    "minigrad.ops.linalg": "Linear algebra",
    "minigrad.fft": "Linear algebra",
    "minigrad.ops.reduce": "Along axes",
    "minigrad.ops.scans": "Along axes",
    "minigrad.ops.sorting": "Along axes",
    "minigrad.ops.sliding": "Along axes",
    "minigrad.ops.shape": "Shapes and places",
    "minigrad.ops.index": "Shapes and places",
    "minigrad.ops.diagonals": "Shapes and places",
    "minigrad.ops.device": "Shapes and places",
    "minigrad.ops.random": "Random numbers",
    "minigrad.batching": "Batches of vmap",
    "": "Networks",
}
"""By the module that declares an operation (the beginning of its name), where it stands."""
LONGEST = 240
"""Characters of the longest rule that is shown as a formula, in TeX."""
INDEX = """\
# Reference

Everything here is made from minigrad itself when the site is built: the rules from the
declarations of the operations, the rest from the docstrings. Names and meanings are PyTorch's
wherever PyTorch has the thing.

```{{toctree}}
:maxdepth: 1

operations
functions
tensor
{modules}
```
"""
OPERATIONS = """\
# Operations and their rules

The engine has {count} operations. Each is declared in one place together with its derivative rules,
and the public functions are made of them. $\\bar y$ is what arrives at the result $y$ in a backward
pass; a rule says what each operand receives. A rule that is element by element serves forward mode
as well, with a tangent in the place of $\\bar y$. Numbers in formulas are rounded to four digits.

Where formulas have a word for an operation, a link leads to its steps on the page that
differentiates. The node of an operation in a graph has PyTorch's name wherever PyTorch has the
thing. **PyTorch** names the functions there, **SINGA** the operators of `singa.autograd` that are
this operation alone ([the table](../operators.md) has all 75), **ONNX** the operator of
[its standard](https://onnx.ai/onnx/operators/) that computes the same.

Each picture shows one step: what the rule sends back to the first operand of a sample. The frame of
what is read is dashed, that of what is written is bold. {unshown} operations have none, and say
why.

"""


def write(source: Path, beside: Path) -> None:
    """Puts the pages into a folder of Sphinx's sources, and their pictures into the folder whose
    files are put beside the pages.
    """
    load()
    folder = source / FOLDER
    folder.mkdir()
    (beside / FOLDER / STEPS).mkdir(parents=True)
    for primitive in known():
        if drawn := operation_steps.picture(primitive):
            file = beside / FOLDER / STEPS / f"{primitive.name}.svg"
            file.write_text(drawn.svg, encoding="utf-8")
    pages = {"index": INDEX.format(modules="\n".join(map(_file, MODULES)))}
    pages["operations"] = operations()
    seen = {id(mg.Tensor)}  # it has a page of its own
    pages["functions"] = functions(seen)
    pages["tensor"] = tensor()
    for name, about in MODULES.items():
        pages[_file(name)] = module_page(name, about, seen)
    for name, text in pages.items():
        (folder / f"{name}.md").write_text(text, encoding="utf-8")


def load() -> None:
    """All operations are declared, also those that are loaded on first use."""
    mg.on_demand.load()
    for name in ("extras", "special", "linalg", "fft", "signal"):
        importlib.import_module(f"minigrad.{name}")


def _file(module: str) -> str:
    return module.replace(".", "_")


# ------------------------------------------------------------------------------------- operations


def operations() -> str:
    """The page of the operations."""
    groups: dict[str, list[Primitive]] = {title: [] for title in FAMILIES.values()}
    for primitive in known():
        groups[_family(primitive)].append(primitive)
    unshown = sum(operation_steps.sample(one) is None for one in known())
    text = OPERATIONS.format(count=len(known()), unshown=unshown)
    for title, members in groups.items():
        text += f"## {title}\n\n" + "".join(map(entry, sorted(members, key=lambda p: p.name)))
    return text


def known() -> list[Primitive]:
    """The operations that minigrad declares; a program may have declared more."""
    return [one for one in registry.values() if _module(one).startswith("minigrad.")]


def _module(primitive: Primitive) -> str:
    return inspect.unwrap(primitive.forward).__module__


def _family(primitive: Primitive) -> str:
    declared = _module(primitive)
    return next(title for start, title in FAMILIES.items() if declared.startswith(start))


def entry(primitive: Primitive) -> str:
    """What the page says of one operation, as Markdown."""
    lines = [f"### {primitive.name}", ""]
    operands = ", ".join([*primitive.inputs, *(f"{name}=…" for name in primitive.keywords)])
    lines += [f"`{primitive.name}({operands})`: {KINDS[primitive.kind]}.", ""]
    if isinstance(primitive.notation, str):
        tokens = notation.expression(primitive, _symbols(primitive), _parameters(primitive))
        lines += [f"$y = {_tex(tokens)}$", ""]
    for index, name in enumerate(primitive.inputs):
        if said := rule(primitive, index):
            lines.append(f"- {said}")
        elif primitive.kind != "constant":
            lines.append(f"- `{name}` receives nothing.")
    lines += ["", *names(primitive), "", *image(primitive), ""]
    return "\n".join(lines) + "\n"


KINDS = {
    "elementwise": "each element of the result depends on one element of each operand",
    "linear": "a linear map; in forward mode it is applied to the tangent itself",
    "bilinear": "linear in each of its two operands",
    "general": "with a rule of its own for each mode",
    "constant": "without a derivative",
}


def rule(primitive: Primitive, index: int) -> str | None:
    """What an operand receives, as Markdown; None where that is nothing."""
    found = primitive.pull_rule(index) if primitive.kind != "constant" else None
    if found is None:
        return None
    name = primitive.inputs[index]
    text = formula(primitive, index)
    if text is not None:
        return f"$\\bar{{{_name(name)}}} \\mathrel{{+}}= {text}$"
    said = declared(found.function)
    if "\n" not in said:
        return f"`{name}` receives `{said}`"
    code = textwrap.indent(f"```python\n{said}\n```", "  ")
    return f"`{name}` receives what this returns:\n\n{code}\n"


def formula(primitive: Primitive, index: int) -> str | None:
    """The rule as TeX, run on symbols for numbers, or for matrices of two rows. None where it is
    long, and where the formula would say nothing of the operation's parameters, or of the sizes
    alone.
    """
    unsaid = primitive.keywords and primitive.notation is None
    if unsaid or set(primitive.keywords) - set(SAMPLES):
        return None
    number, matrix = np.asarray(0.7), np.array([[1.5, 0.5], [0.5, 1.5]])
    operands = [number if primitive.pointwise else matrix for _ in primitive.inputs]
    try:
        tokens = derivatives.rule_of(
            primitive,
            index,
            operands,
            _parameters(primitive),
            _symbols(primitive),
            notation.symbol("y"),
            notation.symbol("y", "bar", "g"),
        )
    except (ArithmeticError, IndexError, TypeError, ValueError):
        return None
    found = _tex(tokens) if tokens and "2×2" not in str(tokens) else ""
    return found if 0 < len(found) <= LONGEST else None


SAMPLES: dict[str, Any] = {"n": 3}
"""Parameters with which rules run, where the notation shows them."""


def _parameters(primitive: Primitive) -> dict[str, Any]:
    return {name: SAMPLES[name] for name in primitive.keywords if name in SAMPLES}


def _symbols(primitive: Primitive) -> list[dict[str, Any]]:
    return [notation.symbol(name) for name in primitive.inputs]


def _tex(tokens: list[dict[str, Any]]) -> str:
    """Tokens as TeX for MathJax, which sets the signs itself that matplotlib must be told of."""
    text = re.sub(r"\\mathrm\{([-+/=()<>]|\{,\})\}", r"\1", mathtext.tex(tokens))
    text = text.replace("{,}", ",").replace(r"\mathrm{&}", r"\mathbin{\&}")
    return re.sub(r"\\mathrm\{(xor|mod|\||//|@)\}", r"\\mathbin{\\mathrm{\1}}", text)


def _name(name: str) -> str:
    return name if len(name) == 1 else rf"\mathit{{{name}}}"


def declared(function: Callable[..., Any]) -> str:
    """The words of a rule in its declaration: the expression of a lambda, or a whole function."""
    function = inspect.unwrap(function)
    if function.__name__ != "<lambda>":
        return textwrap.dedent(inspect.getsource(function)).strip()
    code = function.__code__
    _, _, column, _ = next(place for place in code.co_positions() if place[2])
    source, tree = _parsed(inspect.getsourcefile(function) or "")
    for node in ast.walk(tree):
        if isinstance(node, ast.Lambda) and node.lineno == code.co_firstlineno:
            names = tuple(arg.arg for arg in [*node.args.args, *node.args.kwonlyargs])
            holds = node.lineno != node.end_lineno or (
                node.body.col_offset <= (column or 0) <= (node.body.end_col_offset or 0)
            )
            if names == code.co_varnames[: len(names)] and holds:
                found = ast.get_source_segment(source, node.body) or ""
                return " ".join(found.split())
    return textwrap.dedent(inspect.getsource(function)).strip()


@cache
def _parsed(path: str) -> tuple[str, ast.Module]:
    source = Path(path).read_text(encoding="utf-8")
    return source, ast.parse(source)


def names(primitive: Primitive) -> Iterator[str]:
    """Who calls an operation, and what others call it."""
    calls = callers().get(primitive.name, [])
    parts = [f"called by {_words(calls)}"] if calls else []
    if theirs := [f"torch{name.removeprefix('mg')}" for name in calls if name not in OWN]:
        parts.append(f"PyTorch: {_words(theirs)}")
    if primitive.kind != "constant" and not callable(primitive.graph_name):
        parts.append(f"node `{primitive.node_name(None)}`")
    if found := of_singa().get(primitive.name):
        parts.append(f"SINGA: {_words(found)}")
    if primitive.name in ONNX:
        parts.append(f"ONNX: `{ONNX[primitive.name]}`")
    if shown := example(primitive):
        parts.append(f'<a href="../{LIVE}{html.escape(shown)}">step through it</a>')
    if parts:
        said = "; ".join(parts)
        yield f"{said[0].upper()}{said[1:]}."


OWN = frozenset(("mg.getitem", "mg.softplus", "mg.sum_to"))
"""Functions that call an operation and that PyTorch does not have under these names."""


def example(primitive: Primitive) -> str | None:
    """Where the page that differentiates shows a step of an operation of numbers; None where its
    formulas have no word for it.
    """
    word, count = links.words().get(primitive.name, ("", 0))
    if word == "neg":
        text = "-x"
    elif word.isidentifier():
        text = expression.FUNCTIONS[word].call(word, "xyz")
    elif word in links.COMPARING:
        text = f"where(x {word} y, x, -y)"
    else:  # the other operand may be a parameter: the exponent of a power
        text = f"x {word} {'y' if len(primitive.inputs) == 2 else '3'}"
    for at in (0.5, 1.5):  # the inverse of cosh begins at 1
        if count:
            formula = expression.compile(text)
            values = [at, at / 2, at / 4][: len(formula.names)]
            with np.errstate(all="ignore"):
                trace = trace_function(formula, *values, names=formula.names)
            found = links.address(trace)
            if found and not any("nonfinite" in step for step in trace["steps"]):
                return found
    return None


def image(primitive: Primitive) -> Iterator[str]:
    """The picture of a step, whose sentence stands for it where it is not seen; or why there is
    none.
    """
    if reason := operation_steps.UNSHOWN.get(primitive.name):
        yield f"There is no picture of a step: {reason}."
    if shown := operation_steps.picture(primitive):
        said = html.escape(f"One step of {primitive.name}: {shown.said}")
        yield (
            f'<p><img class="course-step" loading="lazy" src="{STEPS}/{primitive.name}.svg"'
            f' width="{shown.width}" height="{shown.height}" alt="{said}"></p>'
        )


def _words(words: list[str]) -> str:
    return ", ".join(f"`{word}`" for word in words)


SPACES = {"mg": mg, "mg.linalg": mg.linalg, "mg.fft": mg.fft, "mg.special": mg.special}


@cache
def callers() -> dict[str, list[str]]:
    """By operation the public functions whose own code names it."""
    found: dict[str, list[str]] = {}
    spaces = SPACES | {"mg.nn.functional": importlib.import_module("minigrad.nn.functional")}
    for path, space in spaces.items():
        for name in sorted(getattr(space, "__all__", ())):
            function = inspect.unwrap(getattr(space, name, None) or id)
            if not isinstance(function, types.FunctionType):
                continue
            for primitive in dict.fromkeys(_named(function)):
                found.setdefault(primitive.name, []).append(f"{path}.{name}")
    return found


def _named(function: types.FunctionType, deep: bool = True) -> Iterator[Primitive]:
    """The operations that the code of a function names, or holds; deep: or a private function that
    it names.
    """
    held = [cell.cell_contents for cell in function.__closure__ or () if _filled(cell)]
    known = [function.__globals__.get(name) for name in function.__code__.co_names]
    modules = [one for one in known if isinstance(one, types.ModuleType)]
    inside = [vars(m).get(name) for m in modules for name in function.__code__.co_names]
    yield from (one for one in [*held, *known, *inside] if isinstance(one, Primitive))
    private = [name for name in function.__code__.co_names if name.startswith("_")]
    for other in (function.__globals__.get(name) for name in private if deep):
        if isinstance(other, types.FunctionType):
            yield from _named(other, deep=False)


def _filled(cell: Any) -> bool:
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:
        return False
    return True


@cache
def of_singa() -> dict[str, list[str]]:
    """By operation the SINGA operators that are nothing but it."""
    from .operators import SAMPLES as examples

    found: dict[str, list[str]] = {}
    for name, sample in examples.items():
        _, result = sample.run(name, leaves=True)
        first = result[0] if isinstance(result, list | tuple) else result
        node = getattr(first, "node", None)
        primitive = getattr(node, "primitive", None)
        if primitive is None or any(
            hasattr(parent, "primitive") for parent in node.parents if parent is not None
        ):
            continue
        found.setdefault(primitive.name, []).append(name)
    return found


# -------------------------------------------------------------------------------- public surface


def functions(seen: set[int]) -> str:
    """The page of the functions and classes of `mg`, by the file that declares them."""
    by_file: dict[str, list[str]] = {}
    for name in sorted({*mg.__all__, *mg.on_demand.FUNCTIONS}):
        value = getattr(mg, name, None)
        own = isinstance(value, types.FunctionType | type)
        if own and value.__module__.startswith("minigrad") and not name.startswith("_"):
            file = value.__module__.removeprefix("minigrad.").rpartition(".")[2]
            by_file.setdefault(file.replace("_", " ").capitalize(), []).append(name)
    text = (
        "# Functions of minigrad\n\nWith `import minigrad as mg`, these are `mg.exp`, `mg.sum`, …\n"
    )
    for title, members in sorted(by_file.items()):
        text += f"\n## {title}\n\n" + listed("minigrad", members, seen)
    return text


def tensor() -> str:
    """The page of what tensors offer."""
    public = [name for name in dir(mg.Tensor) if not name.startswith("_")]
    known = [n for n in public if callable(inspect.getattr_static(mg.Tensor, n, None))]
    attributes = [name for name in public if name not in known]
    listed_as = lambda kind, names: _block(
        f".. {kind}:: minigrad.Tensor.{name}\n" for name in names
    )
    return (
        f"# Tensor\n\n{_block(['.. autoclass:: minigrad.Tensor', ''])}"
        f"\n## Attributes\n\n{listed_as('autoattribute', attributes)}"
        f"\n## Methods\n\n{listed_as('automethod', known)}"
    )


def module_page(name: str, about: str, seen: set[int]) -> str:
    """The page of a module: what its docstring says, and what it offers."""
    module = importlib.import_module(f"minigrad.{name}")
    offered = [n for n in getattr(module, "__all__", None) or _public(module)]
    said = _plain((inspect.getdoc(module) or f"{about}.").split("\n\n")[0])
    return f"# mg.{name}\n\n{said}\n\n" + listed(f"minigrad.{name}", offered, seen)


def _public(module: types.ModuleType) -> list[str]:
    """What a module without `__all__` offers: what it and the modules below it define."""
    return [
        name
        for name, value in vars(module).items()
        if not name.startswith("_")
        and not isinstance(value, types.ModuleType)
        and str(getattr(value, "__module__", "")).startswith(module.__name__)
    ]


def _plain(text: str) -> str:
    """A docstring's sentence as Markdown: names in backticks are code, and no other sign has a
    meaning.
    """
    parts = " ".join(text.replace("``", "`").split()).split("`")
    if len(parts) % 2 == 0:  # a backtick without a partner
        parts = ["".join(parts)]
    signs = re.compile(r"([\\*_$<>\[\]|])")
    return "`".join(p if n % 2 else signs.sub(r"\\\1", p) for n, p in enumerate(parts))


def listed(path: str, members: list[str], seen: set[int]) -> str:
    """A table of names with a line on each, then each with its documentation. What stands on
    another page already is not repeated.
    """
    space = importlib.import_module(path)
    fresh = []
    for name in sorted(set(members), key=str.lower):
        value = getattr(space, name, None)
        if not isinstance(value, types.FunctionType | type) or id(value) in seen:
            continue
        seen.add(id(value))
        fresh.append((name, value))
    if not fresh:
        return "What it offers stands on the other pages.\n"
    rows = "".join(f"| {{py:obj}}`~{path}.{name}` | {_summary(value)} |\n" for name, value in fresh)
    kinds = ["autoclass" if isinstance(value, type) else "autofunction" for _, value in fresh]
    entries = [f".. {kind}:: {path}.{name}" for kind, (name, _) in zip(kinds, fresh, strict=True)]
    return f"| Name | In a sentence |\n|---|---|\n{rows}\n{_block(entries)}"


def _summary(value: Any) -> str:
    """The first sentence of a docstring, as Markdown."""
    first = " ".join((inspect.getdoc(value) or "").partition("\n\n")[0].split())
    return _plain(re.split(r"(?<=[\w)`]{2}\.) ", first)[0])


def _block(lines: Iterable[str]) -> str:
    """reStructuredText in Markdown: many directives in one block, since each block starts a parser
    of its own.
    """
    return "```{eval-rst}\n" + "\n".join(lines) + "\n```\n"


# ------------------------------------------------------------------------------------ for Sphinx


def readable(lines: list[str]) -> list[str]:
    """A docstring as reStructuredText that says it literally: indented blocks are code, names in
    backticks are code, and no other sign has a meaning.
    """
    out: list[str] = []
    literal = False
    for line in lines:
        indented = line.startswith("    ")
        if indented and not literal:
            if out and out[-1].strip():
                out.append("")
            out += ["::", ""]
        if literal and line.strip() and not indented:
            out.append("")
        literal = indented or (literal and not line.strip())
        out.append(line if literal else _literal(line))
    return out


def _literal(line: str) -> str:
    parts = line.strip().replace("``", "`").split("`")
    if len(parts) % 2 == 0:  # a backtick without a partner
        parts = ["".join(parts)]
    text = ""
    for number, part in enumerate(parts):
        if number % 2:
            text += f"\\ ``{part.strip()}``\\ " if part.strip() else ""
        else:
            text += "".join(f"\\{sign}" if sign in "*_|\\`" else sign for sign in part)
    if LISTED.match(text):
        text = f"\\{text}"
    return text


LISTED = re.compile(r"[-+•]|\.\.|\(?(?:\w|\d+|[ivxlcdm]+|#)[.)](?: |$)", re.IGNORECASE)
"""How a list, numbered or not, or a directive begins."""


def setup(app: Any) -> dict[str, bool]:
    """Sphinx calls it."""
    load()

    def process(_app: Any, _what: str, _name: str, _object: Any, _options: Any, lines: Any) -> None:
        lines[:] = readable(lines)

    app.connect("autodoc-process-docstring", process)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


SETTINGS = {
    "autodoc_typehints": "signature",
    "autodoc_typehints_format": "short",
    "python_use_unqualified_type_names": True,
    "autodoc_use_type_comments": False,
    "add_module_names": False,
    "toc_object_entries": False,
}
EXTENSIONS = ["sphinx.ext.autodoc", "minigrad.lessons.reference"]
