"""Graphs as text: a node as the expression that it stands for, and a whole graph with one line a
node.

An expression that is used twice is written twice, so expressions can be exponentially longer than
their graphs (and graphs a million nodes deep). `expression` therefore stops at a depth and at a
length; `text` names each node once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..backend import PYTHON_SCALARS
from ..core.primitive import registry
from ..core.tensor import Tensor
from ..scalar import formula
from .inference import SomeFloat
from .topological_order import find_topo_sort

if TYPE_CHECKING:
    from .node import Node

DEEPEST, LONGEST = 12, 120
"""How many operations deep, and about how many characters long, an expression is written out
before "…" takes its place.
"""


def expression(node: Node) -> str:
    """A node as in "(x1+x2)", with "…" for what is too deep or too long."""
    return _written(node, DEEPEST, [LONGEST])


def _written(operand: Any, depth: int, space: list[int]) -> str:
    """At most DEEPEST calls deep; `space[0]` characters are left, so at most that many calls."""
    node: Any = operand
    if not isinstance(operand, Tensor):
        text = repr(operand)
    elif node.given_name:
        text = str(node.given_name)
    elif depth == 0 or space[0] <= 0:
        text = "…"
    else:
        return _combined(node, depth, space)
    space[0] -= len(text)
    return text


def _combined(node: Node, depth: int, space: list[int]) -> str:
    space[0] -= 2
    label, params = label_of(node), node.params
    if label == "constant":
        return _constant(node)
    if node.op is not None and type(node.op).__name__ == "MatMulOp":
        parts = [_written(a, depth - 1, space) for a in node.args]
        return f"MatMul({','.join(parts)},{params['trans_A']},{params['trans_B']})"
    args: list[str] = []
    for a in node.args:
        if space[0] <= 0 and args:
            args.append("…")
            break
        args.append(_written(a, depth - 1, space))
    operator = _operator(label)
    if operator == "[]" and "index" in params:
        return f"{args[0]}[{index_text(params['index'])}]"
    if operator not in (None, "[]") and len(args) + len(params) <= 2:
        parts = [*args, *map(str, params.values())]
        return (
            f"({operator.join(parts)})"
            if len(parts) == 2
            else f"({'-' if operator == 'neg' else operator}{parts[0]})"
        )
    return f"{label}({','.join([*args, *_parameters(node)])})"


def _operator(label: str) -> str | None:
    """The operator between the operands of an operation of this name; None if its notation is
    another.
    """
    notation = getattr(registry.get(label), "notation", None)
    term = formula(notation) if isinstance(notation, str) else None
    plain = (
        isinstance(term, tuple)
        and not term[0].isalpha()
        and all(isinstance(part, str) for part in term[1:])
    )
    return (
        term[0]
        if isinstance(term, tuple) and (plain or term[0] == "neg") and term[1] != "e"
        else None
    )


def _parameters(node: Node) -> list[str]:
    """What the node's operation is given besides nodes and numbers."""
    waiting: dict[str, Any] = getattr(getattr(node.op, "function", None), "others", dict)()
    return [
        short(v) if k.isdigit() else f"{k}={short(v)}"
        for k, v in {**waiting, **node.params}.items()
    ]


def label_of(node: Node) -> str:
    """What the node's operation is called."""
    return node.op.label or type(node.op).__name__ if node.op is not None else "node"


def _constant(node: Any) -> str:
    value = node.op.value
    return (
        repr(value.item())
        if value.numel() == 1 and value.ndim == 0
        else f"const{list(value.shape)}"
    )


def index_text(index: Any) -> str:
    """An index as between brackets."""
    parts = index if isinstance(index, tuple) else (index,)
    written = []
    for p in parts:
        if isinstance(p, slice):
            step = "" if p.step is None else f":{p.step}"
            written.append(
                f"{'' if p.start is None else p.start}:{'' if p.stop is None else p.stop}{step}"
            )
        else:
            written.append("…" if p is Ellipsis else short(p))
    return ",".join(written)


def short(value: Any) -> str:
    """A parameter in a few characters."""
    if hasattr(value, "dtype") and hasattr(value, "shape"):
        return f"{value.dtype}{list(value.shape)}"
    if hasattr(value, "itemsize") and hasattr(value, "kind"):
        return str(value)
    if isinstance(value, slice | tuple) and any(
        isinstance(p, slice) for p in (value if isinstance(value, tuple) else (value,))
    ):
        return f"[{index_text(value)}]"
    text = repr(value)
    return text if len(text) <= 40 else text[:37] + "…"


# ------------------------------------------------------------------------------------- whole graphs


def type_text(node: Node) -> str:
    """dtype and shape as far as they are known: "float64 (3,)", "float (?)" where they are
    decided by what is fed.
    """
    dtype = "float" if type(node.dtype_fact) is SomeFloat else str(node.dtype_fact)
    return f"{dtype} {node.shape_fact if type(node.shape_fact) is tuple else '(?)'}"


def labelled(nodes: Sequence[Node]) -> dict[Node, str]:
    """A short name for each node, no two alike: Variables by their names, c1 … constants, v1 …
    given operations, g1 … and t1 … what `gradients` and `jvp` added. What would be a name twice
    gets a suffix.
    """
    names: dict[Node, str] = {}
    used: set[str] = set()
    counts: dict[str, int] = {}
    for node in nodes:
        if node.given_name:
            name, n = node.given_name, counts.get(node.given_name, 1)
            while name in used:
                n += 1
                name = f"{node.given_name}_{n}"
            counts[node.given_name] = n
            names[node] = name
            used.add(name)
    letters = {"given": "v", "gradient": "g", "tangent": "t"}
    for node in nodes:
        if node not in names:
            letter = "c" if label_of(node) == "constant" else letters.get(node.role, "v")
            name = ""
            while not name or name in used:
                counts[letter] = counts.get(letter, 0) + 1
                name = f"{letter}{counts[letter]}"
            names[node] = name
            used.add(name)
    return names


def text(nodes: Node | Sequence[Node], limit: int | None = 60) -> str:
    """A graph with one line a node, inputs first: name, operation, what is known of dtype and
    shape, and whose derivative it is part of.

    limit: about how many lines at most; of a longer graph the middle is left out and counted. None:
    all.
    """
    outputs = [nodes] if isinstance(nodes, Tensor) else list(nodes)
    order = find_topo_sort(outputs)
    names = labelled(order)
    lines: list[str | tuple[str, str, str]] = []
    half = len(order) if limit is None else max(limit // 2, 1)
    skipped = len(order) - 2 * half
    for position, node in enumerate(order):
        if skipped > 0 and half <= position < half + skipped:
            if position == half:
                lines.append(f"… {skipped:,} more nodes …")
            continue
        lines.append((names[node], _line(node, names), _notes(node, names)))
    wide = max(
        (len(a) + len(b) for a, b, _ in (line for line in lines if type(line) is tuple)), default=0
    )
    shown = [
        line
        if type(line) is str
        else f"{line[0]}{line[1]}{' ' * (wide - len(line[0]) - len(line[1]))}  {line[2]}".rstrip()
        for line in lines
    ]
    return "\n".join([*shown, f"→ {', '.join(names[n] for n in outputs)}"])


def _line(node: Node, names: dict[Node, str]) -> str:
    label = label_of(node)
    if label == "PlaceholderOp":
        return ""
    if label == "constant":
        return f" = {_constant(node)}"
    args = [repr(a) if type(a) in PYTHON_SCALARS else names[a] for a in node.args]
    operator = _operator(label)
    if operator == "[]" and "index" in node.params:
        return f" = {args[0]}[{index_text(node.params['index'])}]"
    if operator not in (None, "[]") and len(args) == 2 and not node.params:
        return f" = {args[0]} {operator} {args[1]}"
    return f" = {label}({', '.join([*args, *_parameters(node)])})"


def _notes(node: Node, names: dict[Node, str]) -> str:
    of = f" through {names[node.of]}" if node.of is not None and node.of in names else ""
    order = f" (order {node.order})" if node.order > 1 else ""
    return type_text(node) + ("" if node.role == "given" else f"   {node.role}{of}{order}")
