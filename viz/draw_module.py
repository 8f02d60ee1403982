"""A module's drawing: one box for each layer, opened to any depth; with an example input, joined
as the values flow through it.

    model.draw_graph(x)                 the children as boxes, joined as the forward pass joins them
    model.draw_graph(x, depth=2)        their children too; depth=None: down to the single
                                        operations, in a frame for each module
    model.draw_graph()                  without an input: what is inside what, with the parameters'
                                        shapes

An operation finds its module without any tracing: the engine numbers nodes as they are created, so
those created between a module's call and its return are its own. A module that is called twice is
drawn as two boxes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from textwrap import wrap
from typing import Any

from minigrad.viz.drawing import box, empty, text
from minigrad.viz.picture.marks import palette
from minigrad.viz.texts import Words, words
from minigrad.viz.traversal import oldest_first

from minigrad.backend import is_differentiable
from minigrad.core.graph import OpNode, Pick, next_sequence_number
from minigrad.core.tensor import Leaf, Tensor
from minigrad.errors import NoGradientError
from minigrad.grad_mode import enable_grad
from minigrad.nn import Module

Look = dict[str, str]
WIDE = 44
"""Letters of the longest line in a box, where it can be broken."""


@dataclass
class ModuleCall:
    """One call of a module: where it is in the model, when its first and last node were born, the
    calls inside it, and the result's shape.
    """

    path: str
    module: Module
    begins: int
    ends: int = 0
    depth: int = 0
    parent: ModuleCall | None = None
    inside: list[ModuleCall] = field(default_factory=list)
    shape: str = ""


def draw_module(
    model: Module,
    example: tuple[Any, ...] = (),
    *,
    depth: int | None = 1,
    limit: int = 2_000,
    lang: str = "en",
) -> Any:
    """The drawing of a module; see the examples above.

    Args:
        model: the module.
        example: what it is called with; nothing for the tree of modules.
        depth: how many levels are opened: 0 draws one box, None every operation.
        limit: the largest number of boxes.
        lang: language of the words around the names, "en" or "zh".

    Raises:
        ValueError: more boxes than ``limit``, a negative depth, or an unknown language.
        NoGradientError: the result has no history (it does not depend on a parameter or floating
        input).
        ModuleNotFoundError: the package graphviz is not installed.
    """
    if depth is not None and depth < 0:
        raise ValueError(
            f"draw_graph: depth must be 0 or more, or None for everything, got {depth}"
        )
    t = words(lang)
    if not example:
        return _tree(model, depth, limit, t)
    drawing = empty()
    top, result = _run(model, example)
    tensors = [t for t in _flat(result) if isinstance(t, Tensor) and t.requires_grad]
    if not tensors:
        raise NoGradientError(
            "draw_graph: the module's result has no history, so there is nothing to draw: it"
            " depends on no parameter that requires grad and on no floating input, or the module"
            " detaches it."
        )
    return _flow(drawing, model, top, tensors, depth, limit, t)


def _run(model: Module, example: tuple[Any, ...]) -> tuple[ModuleCall, Any]:
    """Call the model once, with inputs that require grad, and note who was called when. The
    model's state is that of a forward pass.
    """
    paths = {id(module): name for name, module in model.named_modules()}
    top = ModuleCall("", model, next_sequence_number())
    stack = [top]

    def enter(module: Module, args: Any) -> None:
        call = ModuleCall(
            paths[id(module)],
            module,
            next_sequence_number(),
            depth=len(stack) - 1,
            parent=stack[-1],
        )
        stack[-1].inside.append(call)
        stack.append(call)

    def leave(module: Module, args: Any, out: Any) -> None:
        call = stack.pop()
        call.ends = next_sequence_number()
        call.shape = ", ".join(str(tuple(t.shape)) for t in _flat(out) if isinstance(t, Tensor))

    handles = []
    try:
        for module in model.modules():
            handles += [
                module.register_forward_pre_hook(enter),
                module.register_forward_hook(leave),
            ]
        with enable_grad():
            result = model(*[_input(x) for x in example])
    finally:
        for handle in handles:
            handle.remove()
    return top.inside[0], result


def _input(value: Any) -> Any:
    """A tensor of its own that requires grad, so that the way from it is recorded too."""
    if isinstance(value, Tensor) and is_differentiable(value.dtype):
        return value.detach().requires_grad_()
    return value


def _flat(value: Any) -> list[Any]:
    if isinstance(value, Mapping):
        return [leaf for item in value.values() for leaf in _flat(item)]
    return (
        [leaf for item in value for leaf in _flat(item)]
        if isinstance(value, list | tuple)
        else [value]
    )


def _flow(
    drawing: Any,
    model: Module,
    top: ModuleCall,
    results: list[Tensor],
    depth: int | None,
    limit: int,
    t: Words,
) -> Any:
    """Boxes for calls, closed at ``depth``, and for the operations outside of closed ones; edges
    where a value crosses from one to another.
    """
    light = {name: pair[0] for name, pair in palette().items()}
    made_by = [r.node if r.grad_fn is None else r.grad_fn for r in results]
    complaint = (
        f"draw_graph: the forward pass has more than {limit * 20:,} operations, too many to draw."
        " Give a smaller example (a shorter sequence), draw a part of the model, or raise the"
        " limit: draw_graph(x, limit=…)."
    )
    nodes = oldest_first(
        [node.parents[0] if isinstance(node, Pick) else node for node in made_by],
        limit * 20,
        complaint,
    )
    parameters = {id(p.node): name for name, p in model.named_parameters()}
    calls = _in_order(top)
    box_of: dict[int, str] = {}  # node -> box
    frame_of: dict[str, ModuleCall | None] = {}
    lines: dict[str, list[str]] = {}
    looks: dict[str, Look] = {}
    for node in nodes:
        if isinstance(node, Leaf):
            if id(node) in parameters and depth is not None:
                continue  # it is inside a closed box, which tells how many it has
            name = parameters.get(id(node), t("input"))
            key = f"n{len(lines)}"
            owner = name.rpartition(".")[0] if id(node) in parameters else None
            frame = next((call for call in calls if call.path == owner and call is not top), None)
            lines[key], frame_of[key] = [name, f"{tuple(node.shape)} {node.dtype}"], frame
            looks[key] = {"style": "filled", "fillcolor": light["v-tint"], "color": light["v"]}
        else:
            innermost = _innermost(top, node.sequence_number)
            closed = _closed(innermost, depth)
            if closed is not None:
                key = f"m{calls.index(closed)}"
                lines[key], frame_of[key] = about(closed, t), closed.parent
                looks[key] = {"style": "filled,bold", "fillcolor": light["raised"]}
            else:
                key = f"n{len(lines)}"
                lines[key], frame_of[key] = [_head(node), f"{tuple(node.shape)}"], innermost
                looks[key] = {"style": "rounded,filled", "fillcolor": light["raised"]}
        box_of[id(node)] = key
        if len(lines) > limit:
            raise ValueError(
                f"draw_graph: the drawing has more than {limit:,} boxes. Open fewer levels"
                " (depth=1), or raise the limit: draw_graph(x, limit=…)."
            )
    _frames(drawing, [call for call in calls if call is not top], frame_of, lines, looks, light)
    for pair in _between(nodes, box_of):
        drawing.edge(*pair)
    return drawing


def _head(node: Any) -> str:
    """What the operation of a node is called."""
    if isinstance(node, OpNode):
        return node.primitive.name
    return str(node.name()).removesuffix("0").removesuffix("Backward")


def _between(nodes: list[Any], box_of: Mapping[int, str]) -> dict[tuple[str, str], None]:
    """The pairs of boxes between which values pass, each once, in order."""
    edges: dict[tuple[str, str], None] = {}
    for node in nodes:
        for parent in node.parents:
            source = parent.parents[0] if isinstance(parent, Pick) else parent
            if source is None or id(source) not in box_of:
                continue
            pair = box_of[id(source)], box_of[id(node)]
            if pair[0] != pair[1]:
                edges[pair] = None
    return edges


def _frames(
    drawing: Any,
    calls: list[ModuleCall],
    frame_of: dict[str, ModuleCall | None],
    lines: dict[str, list[str]],
    looks: dict[str, Look],
    light: Look,
) -> None:
    """A frame for each opened call, inside that of the call around it, with its boxes in it.

    Around a single box there is none: the call's title is the box's first line. The wire to the box
    would run through the title of a frame.
    """
    boxes: dict[int, list[str]] = {}
    for key, call in frame_of.items():
        boxes.setdefault(id(call) if call is not None and call in calls else 0, []).append(key)
    held: dict[int, list[str]] = {}  # of each call, all boxes in its frame and in those inside it
    for key, call in frame_of.items():
        for c in _line_up(call):
            held.setdefault(id(c), []).append(key)
    titles: dict[str, list[str]] = {}  # of single boxes, the outermost first

    def fill(where: Any, inside: list[ModuleCall], own: list[str]) -> None:
        for key in own:
            box(where, key, [*titles.get(key, []), *lines[key]], **looks[key])
        for call in inside:
            if id(call) not in held:
                continue
            title = f"{call.path}: {type(call.module).__name__}"
            if len(held[id(call)]) == 1:
                titles.setdefault(held[id(call)][0], []).append(title)
                fill(where, call.inside, boxes.get(id(call), []))
            else:
                with where.subgraph(name=f"cluster_{call.begins}") as frame:
                    frame.attr(
                        label=text([title]),
                        color=light["line"],
                        fontcolor=light["soft"],
                        fontsize="11",
                        style="rounded",
                        labeljust="l",
                    )
                    frame.attr(fontname="Helvetica,sans-serif")
                    fill(frame, call.inside, boxes.get(id(call), []))

    fill(drawing, [call for call in calls if call.depth == 1], boxes.get(0, []))


def _line_up(call: ModuleCall | None) -> list[ModuleCall]:
    out = []
    while call is not None:
        out.append(call)
        call = call.parent
    return out


def _in_order(top: ModuleCall) -> list[ModuleCall]:
    out, stack = [], [top]
    while stack:
        call = stack.pop()
        out.append(call)
        stack.extend(reversed(call.inside))
    return out


def _innermost(top: ModuleCall, born: int) -> ModuleCall:
    """The call during which a node was born: ``top`` for those of no call inside it."""
    call = top
    while True:
        deeper = next((c for c in call.inside if c.begins < born < c.ends), None)
        if deeper is None:
            return call
        call = deeper


def _closed(call: ModuleCall, depth: int | None) -> ModuleCall | None:
    """The call around this one that is drawn as one box, if there is one. A module without modules
    inside is closed unless depth is None.
    """
    if depth is None:
        return None
    while call.parent is not None and call.depth > depth:
        call = call.parent
    opened = call.depth < depth and any(True for _ in call.module.children())
    return None if opened else call


def about(call: ModuleCall, t: Words) -> list[str]:
    """The words in a module's box: path and class, settings, parameters, shape of the result."""
    module = call.module
    head = f"{call.path}: {type(module).__name__}" if call.path else type(module).__name__
    count = sum(p.numel() for p in module.parameters())
    settings = module.extra_repr() if hasattr(module, "extra_repr") else ""
    counted = (
        t("drawParameter" if count == 1 else "drawParameters", n=f"{count:,}") if count else ""
    )
    return [
        line
        for line in (head, *wrap(settings, WIDE), counted, f"→ {call.shape}" if call.shape else "")
        if line
    ]


def _tree(model: Module, depth: int | None, limit: int, t: Words) -> Any:
    """What is inside what: no values, no order of use."""
    drawing = empty(rankdir="LR")
    light = {name: pair[0] for name, pair in palette().items()}
    deepest = 1_000_000 if depth is None else depth
    stack: list[tuple[str, Module, int, str | None]] = [("", model, 0, None)]
    count = 0
    while stack:
        path, module, level, above = stack.pop()
        key, count = f"m{count}", count + 1
        if count > limit:
            raise ValueError(
                f"draw_graph: the model has more than {limit:,} modules; open fewer levels:"
                " draw_graph(depth=1)"
            )
        children = list(module.named_children())
        lines = about(ModuleCall(path, module, 0), t)
        if not children or level >= deepest:
            shapes = [
                f"{name}: {tuple(p.shape)}" for name, p in list(module.named_parameters())[:6]
            ]
            lines += shapes
        if children and level >= deepest:
            lines.append(
                t("drawInsideOne" if len(children) == 1 else "drawInside", n=len(children))
            )
        box(
            drawing,
            key,
            lines,
            style="filled",
            fillcolor=light["v-tint" if module is model else "raised"],
        )
        if above is not None:
            drawing.edge(above, key)
        if level < deepest:
            stack.extend(
                reversed(
                    [
                        (f"{path}.{name}" if path else name, child, level + 1, key)
                        for name, child in children
                    ]
                )
            )
    return drawing
