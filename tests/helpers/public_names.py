"""The public names of minigrad with their signatures, as tests/names/public_names.txt keeps them.

A line has a name and its parameters. `also` precedes the other names of the same function: methods,
which take the first parameter by no name, in-place forms, which take no `out`, and the same name in
a module.

python -m tests.helpers.public_names          rewrites the file, after a change that is wanted
"""

import importlib
import inspect
import re
import types
from pathlib import Path

import minigrad as mg

FILE = Path(__file__).parents[1] / "names" / "public_names.txt"
SPACES = {
    "mg.nn.functional": mg.nn.functional,
    "mg.linalg": mg.linalg,
    "mg.fft": mg.fft,
    "mg.special": mg.special,
}


MODULES = """
    arrays autograd backend cuda data errors fft func functions graph lessons linalg masked networks
    nn opt optim signal special testing trace training utils viz
""".split()
TOOLS = {"Path", "TYPE_CHECKING", "import_module"}
"""What minigrad/__init__.py imports for itself."""


def names_of_mg() -> set[str]:
    """What `mg.` offers: what is imported, what is loaded on first use, and the modules for
    users.
    """
    loaded = {n for n, value in vars(mg).items() if not isinstance(value, types.ModuleType)}
    every = loaded | set(mg.__all__) | set(mg.on_demand.FUNCTIONS) | set(MODULES)
    return {name for name in every - TOOLS if not name.startswith("_")}


def shown(name: str, value: object) -> str:
    """`name(parameters)` of a function; of other values what they are."""
    if isinstance(value, types.ModuleType):
        return f"{name}: module"
    if isinstance(value, property):
        return f"{name}: property{'' if value.fset is None else ', can be set'}"
    if isinstance(value, type):
        return f"{name}: class"
    if not callable(value):
        return f"{name}: {type(value).__name__}"
    parameters = list(inspect.signature(value).parameters.values())
    if name.startswith("Tensor.") and parameters[0].kind is not inspect.Parameter.VAR_POSITIONAL:
        parameters[0] = parameters[0].replace(name="self")
    return name + str(
        inspect.Signature([p.replace(annotation=inspect.Parameter.empty) for p in parameters])
    )


def methods() -> list[str]:
    """What tensors offer: methods and properties, and of Python's own methods the names."""
    lines = []
    for name in dir(mg.Tensor):
        value = inspect.getattr_static(mg.Tensor, name)
        if not callable(value) and not isinstance(value, property):
            continue
        if name.startswith("__"):
            lines += (
                []
                if hasattr(object, name) and not isinstance(value, types.FunctionType)
                else [f"Tensor.{name}"]
            )
        elif not name.startswith("_"):
            lines.append(shown(f"Tensor.{name}", value))
    return lines


def other_names(line: str) -> list[str]:
    """The lines that a function's or a method's line speaks for, where there are such names."""
    found = re.fullmatch(r"(mg|Tensor)\.([a-z]\w*)(\(\w+)([,)].*)", line)
    if found is None:
        return []
    space, name, first, others = found.groups()
    in_place = others.replace(", out=None", "").replace(", *)", ")")
    forms = []
    if space == "mg":
        forms = [f"Tensor.{name}(self{others}", f"mg.{name}_(input{in_place}"]
        forms += [f"{path}.{name}{first}{others}" for path in SPACES]
    return [*forms, f"Tensor.{name}_(self{in_place}"]


def name_in(line: str) -> str:
    """The name that a line begins with."""
    return re.split(r"[(:]", line)[0]


def merged(lines: set[str]) -> list[str]:
    """The lines, sorted, with the other names of a function in its line."""
    others = {line: [o for o in other_names(line) if o in lines] for line in sorted(lines)}
    spoken_for = {o for line in others if line.startswith("mg.") for o in others[line]}
    spoken_for |= {o for line in others.keys() - spoken_for for o in others[line]}
    return [
        " also ".join([line, ", ".join(map(name_in, others[line]))]) if others[line] else line
        for line in others
        if line not in spoken_for
    ]


def names(text: str) -> list[str]:
    """All names of a listing."""
    return [
        name
        for line in text.splitlines()
        for first, _, others in [line.partition(" also ")]
        for name in [name_in(first), *filter(None, others.split(", "))]
    ]


def listing() -> str:
    """All lines, sorted; with `draw_graph`, which tensors get from minigrad.viz."""
    mg.on_demand.load()
    mg.Tensor.draw_graph = importlib.import_module("minigrad.viz.draw").draw_graph
    lines = [shown(f"mg.{name}", getattr(mg, name)) for name in names_of_mg()]
    for path, space in SPACES.items():
        offered = getattr(space, "__all__", None) or [
            n for n, v in vars(space).items() if callable(v)
        ]
        lines += [
            shown(f"{path}.{name}", getattr(space, name))
            for name in offered
            if not name.startswith("_")
        ]
    lines += methods()
    return "\n".join(merged(set(lines))) + "\n"


if __name__ == "__main__":
    FILE.write_text(listing(), encoding="utf-8")
