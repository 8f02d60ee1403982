"""The methods of Tensor for type checkers and editors, as minigrad/tensor_methods.pyi keeps them.

python -m tests.helpers.tensor_stub           rewrites the file
"""

import builtins
import inspect
import re
from collections import defaultdict
from pathlib import Path
from typing import Any

import minigrad as mg
from minigrad import names

FILE = Path(mg.__file__).parent / "tensor_methods.pyi"
TYPING = {
    "Any": "typing",
    "Callable": "collections.abc",
    "Iterator": "collections.abc",
    "Sequence": "collections.abc",
}
OPERATORS = "add sub mul truediv floordiv mod pow matmul and or xor lshift rshift".split()
COMPARISONS = {f"__{name}__" for name in "eq ne lt le gt ge".split()}
BINARY = {f"__{letter}{name}__" for name in OPERATORS for letter in ("", "r", "i")} | COMPARISONS
UNARY = {
    "__neg__": "Tensor",
    "__pos__": "Tensor",
    "__abs__": "Tensor",
    "__invert__": "Tensor",
    "__hash__": "builtins.int",
}
UNARY |= {f"__{name}__": f"builtins.{name}" for name in ("bool", "float", "int", "complex")}
PROPERTIES = {
    **dict.fromkeys("T mT mH real imag data".split(), "Tensor"),
    **dict.fromkeys("is_cpu is_cuda retains_grad".split(), "builtins.bool"),
    **dict.fromkeys("nbytes output_nr".split(), "builtins.int"),
    "creator": "Node | None",
}
"""What is not written above a function."""


class Stub:
    """Collects the lines, and the imports that their annotations need."""

    def __init__(self) -> None:
        self.imports: dict[str, set[str]] = defaultdict(set)

    def annotation(self, text: Any, function: Any) -> str:
        """An annotation as written above the function; Any where a name in it is none of typing
        or minigrad.
        """
        if not isinstance(text, str):
            return "Any"
        space = getattr(inspect.unwrap(function), "__globals__", {})
        needed = []
        for name in re.findall(r"[\w.]+", text):
            found = space.get(name)
            if hasattr(builtins, name) or name[0].isdigit():
                continue
            if name in TYPING:
                needed.append((TYPING[name], name))
            elif isinstance(found, type) and found.__module__.startswith("minigrad"):
                needed.append((found.__module__.removeprefix("minigrad"), name))
            else:
                return "Any"
        for module, name in needed:
            self.imports[module].add(name)
        return re.sub(
            r"\b(int|bool|float|complex|str|tuple|list|dict|set|type|object)\b",
            r"builtins.\1",
            text,
        )

    def function(self, name: str, value: Any) -> str:
        """A method's line."""
        if name in BINARY:
            ignore = "  # type: ignore[override]" if name in ("__eq__", "__ne__") else ""
            return f"    def {name}(self, other: Any) -> Tensor: ...{ignore}"
        if name in UNARY:
            return f"    def {name}(self) -> {UNARY[name]}: ..."
        parts, star = [], False
        for i, p in enumerate(inspect.signature(value).parameters.values()):
            if i == 0 and p.kind is not p.VAR_POSITIONAL:
                parts.append("self")
                continue
            if p.kind is p.VAR_POSITIONAL:
                star = True
            if p.kind is p.KEYWORD_ONLY and not star:
                parts.append("*")
                star = True
            text = {p.VAR_POSITIONAL: "*", p.VAR_KEYWORD: "**"}.get(p.kind, "") + p.name
            text += f": {self.annotation(p.annotation, value)}"
            parts.append(text + ("" if p.default is p.empty else " = ..."))
        made = self.annotation(inspect.signature(value).return_annotation, value)
        return f"    def {name}({', '.join(parts)}) -> {made}: ..."

    def attribute(self, name: str, value: property) -> list[str]:
        """A property's lines."""
        kind = PROPERTIES.get(name) or self.annotation(
            inspect.signature(value.fget).return_annotation, value.fget
        )
        lines = ["    @property", f"    def {name}(self) -> {kind}: ..."]
        if value.fset is not None:
            lines += [f"    @{name}.setter", f"    def {name}(self, value: Any) -> None: ..."]
        return lines


def text() -> str:
    """The stub."""
    mg.on_demand.load()
    stub, lines = Stub(), []
    for name, value in sorted(names.attached.items()):
        if isinstance(value, property):
            lines += stub.attribute(name, value)
        elif callable(value) and name not in ("__getattr__", "__hash__", "__array_ufunc__"):
            lines.append(stub.function(name, value))
    stub.imports["typing"].add("Any")
    stub.imports[mg.Tensor.__module__.removeprefix("minigrad")].add("Tensor")
    imports = [f"from {m} import {', '.join(sorted(n))}" for m, n in sorted(stub.imports.items())]
    head = (
        "# The methods that minigrad/names.py attaches to Tensor: python -m"
        " tests.helpers.tensor_stub writes this file.\n"
    )
    return head + "\n".join(["import builtins", *imports, "", "class Methods:", *lines, ""])


if __name__ == "__main__":
    FILE.write_text(text(), encoding="utf-8")
