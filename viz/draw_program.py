"""Drawings of what has not run yet: a recorded Program, and a static graph of symbols.

Both are lists in an order in which they can be computed. A Program's instructions name their
operands by number; a symbol points at its parents. The boxes say what is known before anything is
computed (operation, settings, shape and dtype); the pass that an instruction belongs to has the
page's colour and line, so that a backward pass stands apart from the forward one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import count
from typing import Any

from minigrad.viz.adapters.static_graph import written
from minigrad.viz.drawing import digraph, require_graphviz, setting
from minigrad.viz.drawn_graph import DrawnBox, DrawnGraph
from minigrad.viz.picture.marks import palette
from minigrad.viz.texts import Words, words
from minigrad.viz.traversal import operands_first

from minigrad.graph import ConstantOp
from minigrad.program.as_trace import names_of, operands_of
from minigrad.watch import notation

LINE = {"forward": ("wire", "solid"), "tangent": ("d", "dashed"), "update": ("ink", "bold")}
"""Colour and line of a phase's boxes; every backward pass has the adjoints' dots."""
ROLE = {"given": ("wire", "solid"), "gradient": ("g", "dotted"), "tangent": ("d", "dashed")}
"""Colour and line of a static graph's nodes, by the pass that made them."""
STAGE = {"gradient": "backward", "tangent": "jvp", "backward number 3": "third backward"}
"""The stage of a Trace's node that a pass is, where it is called otherwise."""
PASS = {
    "backward": "stage1",
    "second backward": "stage2",
    "backward number 3": "stage3",
    "tangent": "tangent",
    "update": "update",
}
"""The texts for the passes of a program; the reverse ones are called as the generations of a
Trace are.
"""


def draw_program(program: Any, limit: int = 2_000, lang: str = "en") -> Any:
    """The graph of a :class:`minigrad.program.Program`: inputs above, one box for each instruction,
    results with a bold rim.

    lang: language of the words around the names, "en" or "zh".

    Raises ValueError for more than ``limit`` instructions or an unknown language,
    ModuleNotFoundError without the package graphviz.
    """
    t = words(lang)
    require_graphviz()
    drawn, size = DrawnGraph(t), len(program.instructions)
    if size > limit:
        raise ValueError(
            f"draw_graph: the program has {size:,} instructions, too many for a picture (the limit"
            f" is {limit:,}); print(program) shows them"
        )
    names, made = (
        program.names,
        {n for instruction in program.instructions for n in instruction.outputs},
    )
    used = {n for instruction in program.instructions for n in instruction.reads()} | set(
        program.outputs
    )
    call, symbols = lambda n: names.get(n) or f"%{n}", names_of(program)
    _given(drawn, program, sorted(used - made), call, symbols, t)
    home: dict[int, str] = {n: f"v{n}" for n in used - made}
    results = set(program.outputs)
    for i, instruction in enumerate(program.instructions):
        key, types = f"i{i}", [program.types[n] for n in instruction.outputs]
        box = drawn.boxes[key] = _instruction(instruction, types, call, t)
        box.result = bool(results & set(instruction.outputs))
        box.look = {**box.look, "penwidth": "2.4" if box.result else "1.2"}
        box.name = ", ".join(symbols[n] for n in instruction.outputs)
        operands = operands_of(instruction, symbols)
        box.formula = notation.expression(instruction.primitive, operands, instruction.params)
        drawn.edges += [(home[n], key) for n in instruction.reads() if n in home]
        home.update(dict.fromkeys(instruction.outputs, key))
    return digraph(drawn)


def _given(
    drawn: DrawnGraph,
    program: Any,
    values: list[int],
    call: Any,
    symbols: Mapping[int, str],
    t: Words,
) -> None:
    """A box for each value that no instruction makes: constants, inputs, captured ones."""
    for n in values:
        what = t(
            "const"
            if n in program.constants
            else "drawCaptured"
            if n in getattr(program, "captured", {})
            else "input"
        )
        lines = [call(n), f"{what}  {program.types[n]!r}"]
        kind = "const" if n in program.constants else "input"
        small = [_fact(program.types[n])] if what == t("input") else [what, _fact(program.types[n])]
        shape = program.types[n].shape
        drawn.boxes[f"v{n}"] = DrawnBox(lines, kind, symbols[n], small=small, shape=shape)


def _fact(known: Any) -> str:
    """The shape and the dtype of a value, as a card of the viewer has them."""
    return f"{tuple(known.shape) if known.shape else ''} {known.dtype}".strip()


def _instruction(instruction: Any, types: list[Any], call: Any, t: Words) -> DrawnBox:
    """An instruction's box: what it computes with which settings, the results' types, its pass."""
    settings = ", ".join(
        f"{name}={setting(name, value)}"
        for name, value in instruction.params.items()
        if value is not False and value is not None
    )
    head = (
        f"{', '.join(map(call, instruction.outputs))} ="
        f" {instruction.primitive.name}{f'({settings})' if settings else ''}"
    )
    colour, style = LINE.get(instruction.phase, ("g", "dotted"))
    phase = [] if instruction.phase == "forward" else [_phase(instruction.phase, t)]
    light = palette()[colour][0]
    look = {"style": f"rounded,filled,{style}", "color": light}
    stage = STAGE.get(instruction.phase, instruction.phase)
    small = [*map(_fact, types), *phase]
    shape = types[0].shape if len(types) == 1 else ()
    lines = [head, *map(repr, types), *phase]
    return DrawnBox(lines, small=small, shape=shape, stage=stage, look=look)


def draw_symbols(outputs: Iterable[Any], limit: int = 2_000, lang: str = "en") -> Any:
    """The static graph (``minigrad.graph``) behind some nodes: Variables above, results with a bold
    rim.

    What ``gradients`` added has the adjoints' colour and dots, what ``jvp`` added the tangents'
    colour and dashes; "of" names the node
    whose derivative it is a part of. lang: language of the words around the names, "en" or "zh".

    Raises ValueError for more than ``limit`` nodes or an unknown language, ModuleNotFoundError
    without the package graphviz.
    """
    t = words(lang)
    require_graphviz()
    drawn, roots = DrawnGraph(t), list(outputs)
    complaint = (
        f"draw_graph: the graph has more than {limit:,} nodes, too many for a picture; draw a part"
        " of it"
    )
    order = operands_first(roots, lambda node: node.inputs, limit, complaint)
    number = {id(node): f"n{i}" for i, node in enumerate(order)}
    symbols = _symbols(order)
    for node in order:
        colour, style = ROLE.get(node.role, ROLE["given"])
        result = any(node is root for root in roots)
        look = {"style": f"rounded,filled,{style}", "color": palette()[colour][0]}
        look["penwidth"] = "1.2"
        if not node.inputs:
            look = {"style": f"filled,{style}"}
            look["color"] = palette()["v" if node.role == "given" else colour][0]
        look |= {"penwidth": "2.4"} if result else {}
        kind, stage = "op" if node.inputs else "input", STAGE.get(node.role, "primal")
        box = DrawnBox(_words(node, t), kind, stage=stage, result=result, look=look)
        _as_in_the_viewer(box, node, symbols, t)
        drawn.boxes[number[id(node)]] = box
        drawn.edges += [(number[id(parent)], number[id(node)]) for parent in node.inputs]
    return digraph(drawn)


def _symbols(nodes: Sequence[Any]) -> dict[int, str]:
    """What nodes are called in formulas, by id: Variables by their names, others by numbers."""
    kind = lambda node: "v" if node.inputs else "c" if type(node.op) is ConstantOp else "x"
    own = {id(n): str(n.given_name) for n in nodes if kind(n) == "x" and n.given_name}
    counts = {letter: count(1) for letter in "vcx"}
    taken = set(own.values())
    for node in nodes:
        fresh = (f"{kind(node)}{i}" for i in counts[kind(node)])
        own.setdefault(id(node), next(name for name in fresh if name not in taken))
    return own


def _as_in_the_viewer(box: DrawnBox, node: Any, symbols: Mapping[int, str], t: Words) -> None:
    """The heading and the small lines of a symbol's card."""
    box.name = symbols[id(node)]
    if node.inputs:
        tokens = [
            notation.symbol(symbols[id(a)]) if id(a) in symbols else notation.plain(a)
            for a in node.args
        ]
        box.formula = written(node, tokens)
    elif type(node.op) is ConstantOp:
        box.kind = "const"
    known = [
        str(node.known_shape) if node.known_shape else "",
        str(node.known_dtype) if node.known_dtype is not None else "",
    ]
    own = str(node.given_name) if node.given_name and node.given_name != box.name else ""
    box.small = [*filter(None, [" · ".join(filter(None, (own, " ".join(filter(None, known)))))])]
    if node.of is not None:
        box.small.append(t("drawOf", name=symbols.get(id(node.of), _cut(node.of.name))))


def _words(node: Any, t: Words) -> list[str]:
    """Name and operation, the numbers among its operands, shape and dtype as far as they are
    known, and what it is a derivative of.
    """
    operation = (
        getattr(node.primitive, "name", None) or type(node.op).__name__.removesuffix("Op").lower()
    )
    numbers = [setting("", a) for a in node.args if not hasattr(a, "inputs")]
    settings = [
        f"{name}={setting(name, value)}"
        for name, value in node.params.items()
        if value is not False and value is not None
    ]
    inside = ", ".join([*numbers, *settings])
    name = _cut(node.name)
    known = [str(fact) for fact in (node.known_shape, node.known_dtype) if fact is not None]
    lines = (
        [name, operation + (f"({inside})" if inside else "")]
        if node.inputs or operation != "placeholder"
        else [name]
    )
    lines += [" ".join(known)] if known else []
    if node.of is not None:
        lines.append(t("drawOf", name=_cut(node.of.name)))
    return lines


def _phase(phase: str, t: Words) -> str:
    """An instruction's pass as a picture's legend calls it; a program's own words stay as they
    are.
    """
    return t(PASS[phase]) if phase in PASS else phase


def _cut(name: str) -> str:
    return name if len(name) <= 44 else name[:43] + "…"
