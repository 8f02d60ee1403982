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

from minigrad.viz.drawing import digraph, require_graphviz
from minigrad.viz.drawn_graph import DrawnBox, DrawnGraph, Frame
from minigrad.viz.recorded_nodes import Symbols, called, formula, result_of, stages_of, views_of
from minigrad.viz.texts import Words, words
from minigrad.viz.traversal import oldest_first

from minigrad.backend import is_differentiable
from minigrad.core.graph import Pick, next_sequence_number
from minigrad.core.tensor import Leaf, Tensor
from minigrad.errors import NoGradientError
from minigrad.grad_mode import enable_grad
from minigrad.nn import Module
from minigrad.observers import observing
from minigrad.watch.plain_numbers import PlainNumbers
from minigrad.watch.trace import argument_names

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
    require_graphviz()
    inputs = [_input(x) for x in example]
    top, result = _run(model, inputs)
    tensors = [t for t in _flat(result) if isinstance(t, Tensor) and t.requires_grad]
    if not tensors:
        raise NoGradientError(
            "draw_graph: the module's result has no history, so there is nothing to draw: it"
            " depends on no parameter that requires grad and on no floating input, or the module"
            " detaches it."
        )
    given = zip(argument_names(model.forward, len(inputs), None), inputs, strict=True)
    names = {id(x.node): name for name, x in given if isinstance(x, Tensor)}
    return digraph(_flow(model, top, tensors, names, depth, limit, t))


def _run(model: Module, inputs: list[Any]) -> tuple[ModuleCall, Any]:
    """Call the model once, and note who was called when. The
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
        with enable_grad(), observing(PlainNumbers()):
            result = model(*inputs)
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
    model: Module,
    top: ModuleCall,
    results: list[Tensor],
    inputs: Mapping[int, str],
    depth: int | None,
    limit: int,
    t: Words,
) -> DrawnGraph:
    """Boxes for calls, closed at ``depth``, and for the operations outside of closed ones; edges
    where a value crosses from one to another. inputs: the names of the inputs' nodes.

    Long: one loop over the nodes, each of which is one of five things.
    """
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
    names = {id(p.node): name for name, p in model.named_parameters()}
    calls = _in_order(top)
    stages, views = stages_of(nodes), views_of(nodes)
    earlier = {id(node): last for last, run in stages.items() for node in run[:-1]}
    symbols = Symbols(nodes, views, t, lambda leaf: names.get(id(leaf)) or inputs.get(id(leaf)))
    drawn = DrawnGraph(t)
    box_of: dict[int, str] = {}  # node -> box
    frame_of: dict[str, ModuleCall | None] = {}
    for node in nodes:
        leaf = isinstance(node, Leaf)
        innermost = None if leaf else _innermost(top, node.sequence_number)
        closed = None if innermost is None else _closed(innermost, depth)
        if closed is None and (id(node) in earlier or id(node) in views):
            continue
        if leaf and id(node) in names and depth is not None:
            continue  # it is inside a closed box, which tells how many it has
        key = f"n{len(drawn.boxes)}" if closed is None else f"m{calls.index(closed)}"
        if leaf:
            path = names.get(id(node), "")
            inside = [c for c in calls if path and c.path == path.rpartition(".")[0]]
            frame_of[key] = next((call for call in inside if call is not top), None)
            lines = [path or t("input"), f"{tuple(node.shape)} {node.dtype}"]
            box = DrawnBox(lines, "param" if path else "input", symbols.name(node))
        elif closed is not None:
            frame_of[key] = closed.parent
            box = drawn.boxes.get(key) or DrawnBox(about(closed, t), kind="group")
        else:
            frame_of[key] = innermost
            box = DrawnBox([called(node), f"{tuple(node.shape)}"])
            box.formula = formula(node, stages.get(id(node), [node]), symbols.token)
            box.name = symbols.name(node)
        drawn.boxes[key], box_of[id(node)] = box, key
        box.shape, box.result = node.shape, box.result or node in made_by
        if len(drawn.boxes) > limit:
            raise ValueError(
                f"draw_graph: the drawing has more than {limit:,} boxes. Open fewer levels"
                " (depth=1), or raise the limit: draw_graph(x, limit=…)."
            )
    for node in nodes:  # a reshaped parameter is the parameter, a stage is its operation's
        if id(node) not in box_of and id(views.get(id(node))) in box_of:
            key = box_of[id(node)] = box_of[id(views[id(node)])]
            drawn.boxes[key].lines = [*drawn.boxes[key].lines, f"→ {tuple(node.shape)}"]
    box_of |= {node: box_of[last] for node, last in earlier.items() if node not in box_of}
    _frame(drawn, [call for call in calls if call is not top], frame_of)
    for node in nodes:
        box = drawn.boxes[box_of[id(node)]] if id(node) in box_of else None
        if box is not None and box.kind == "group" and id(node) in symbols.names:
            box.small = result_of(box.small or (), symbols.names[id(node)])
    drawn.edges = list(_between(nodes, box_of))
    return drawn


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


def _frame(
    drawn: DrawnGraph, calls: list[ModuleCall], frame_of: dict[str, ModuleCall | None]
) -> None:
    """A frame for each opened call, inside that of the call around it, with its boxes in it; in the
    picture the cards of its operations name it.

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
        box = drawn.boxes[key]
        small = list(box.lines[1:])
        if box.kind == "op" and call is not None and call in calls:
            small = [f"{_title(call)} · {small[0]}", *small[1:]]
        box.small = small
    titles: dict[str, list[str]] = {}  # of single boxes, the outermost first

    def filled(inside: list[ModuleCall], own: list[str]) -> list[str | Frame]:
        items: list[str | Frame] = list(own)
        for key in own:
            drawn.boxes[key].lines = [*titles.get(key, []), *drawn.boxes[key].lines]
        for call in inside:
            if id(call) not in held:
                continue
            if len(held[id(call)]) == 1:
                titles.setdefault(held[id(call)][0], []).append(_title(call))
                items += filled(call.inside, boxes.get(id(call), []))
            else:
                within = filled(call.inside, boxes.get(id(call), []))
                items.append(Frame(str(call.begins), _title(call), within))
        return items

    drawn.frames = filled([call for call in calls if call.depth == 1], boxes.get(0, []))


def _title(call: ModuleCall) -> str:
    return f"{call.path}: {type(call.module).__name__}"


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
    drawn = DrawnGraph(t, rankdir="LR")
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
        drawn.boxes[key] = DrawnBox(lines, kind="group" if children else "op")
        if above is not None:
            drawn.edges.append((above, key))
        if level < deepest:
            stack.extend(
                reversed(
                    [
                        (f"{path}.{name}" if path else name, child, level + 1, key)
                        for name, child in children
                    ]
                )
            )
    return digraph(drawn)
