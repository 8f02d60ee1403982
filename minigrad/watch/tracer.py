"""The observer that writes the Trace: it watches the real engine and notes, as plain data, what it did.

`trace_function(f, 2.0, 5.0)` runs f once under observation (forward mode alongside if asked), then the reverse pass, and returns a `minigrad.trace/1` document.
Nothing is differentiated here: values, tangents and cotangents are those that the engine computed. Only the local derivative ∂y/∂x of a step, which the engine never
needs by itself, is obtained by asking the operation's own rule once more with g = 1.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .. import backend, observe
from ..engine import forward
from ..engine.modes import enable_grad, forward_level, no_grad
from ..engine.record import history
from ..engine.reverse import differentiate, pull_operation
from ..errors import AutogradError, NonScalarError
from ..graph import Leaf, Node, OpNode
from ..observe import Event, unwatched, watching
from ..tensor import Tensor, as_tensor, make_leaf, wrap
from ..trace.schema import SCHEMA
from . import words
from .spans import SourceMap

MODES = ("primal", "forward", "reverse", "both")
COLUMNS = {
    "v": {"key": "v", "label": "value", "phase": "primal"},
    "d": {"key": "d", "label": "tangent", "phase": "tangent"},
    "g": {"key": "g", "label": "adjoint", "phase": "adjoint"},
}
SAMPLE = 16
"""Arrays of up to this many elements are written in full."""

Trace = dict[str, Any]


def trace_function(
    f: Callable[..., Any],
    *args: Any,
    mode: str = "both",
    tangents: Any = None,
    names: Sequence[str] | None = None,
    source: str | None = None,
    title: str | None = None,
) -> Trace:
    """Run `f(*args)` and its derivative, and return what happened as a `minigrad.trace/1` document.

    args: numbers (traced in float64), arrays or tensors (keep their dtype); mode: "primal" (values only), "forward" (values and tangents), "reverse" (values and adjoints) or "both";
    tangents: the forward seed, one value per argument or a mapping from argument names (default: 1 for the first argument, 0 for the others);
    names: of the arguments (default: f's parameter names); source: the text to show (default: f's own source, where Python can find it).
    f must return one tensor, which must be a single number if adjoints are asked for. Raises ValueError for an unknown mode or a seed that does not fit, NonScalarError, TypeError.
    """
    if mode not in MODES:
        raise ValueError(f"trace: mode must be one of {', '.join(MODES)}, got {mode!r}.")
    labels = _argument_names(f, len(args), names)
    inputs = [_input(a) for a in args]
    directions = _directions(inputs, labels, tangents) if mode in ("forward", "both") else None
    recorder = Recorder(f, labels, source)
    with enable_grad(), forward_level() as level:
        for i, x in enumerate(inputs):
            if backend.is_differentiable(x.dtype):
                make_leaf(x)
                if directions is not None:
                    x.tangents = {level: directions[i]}
            recorder.input(x, labels[i], directions[i] if directions is not None and x.tangents else None)
        with watching(recorder):
            out = f(*inputs)
        if not isinstance(out, Tensor):
            if not isinstance(out, int | float | complex):
                raise TypeError(f"trace: the function must return one tensor, got {type(out).__name__}.")
            out = as_tensor(backend.as_payload(float(out) if isinstance(out, int) else out, backend.float64))
        recorder.output(out)
        if mode in ("reverse", "both"):
            _reverse(recorder, out)
    return recorder.document(title, mode)


def _reverse(recorder: Recorder, out: Tensor) -> None:
    if out.numel() != 1:
        raise NonScalarError(
            f"trace: reverse mode starts from one number, but the function returned shape {out.shape}. Reduce the result, for instance with .sum(), or trace with mode='forward'."
        )
    node = history(out)
    seed = wrap(backend.ones(out.shape, out.dtype, out.array))
    recorder.seed_adjoint(out, seed.array)
    if node is None:
        return
    stripped = [(n, n.tangents) for n in _op_nodes(node)]
    for n, _ in stripped:
        n.tangents = None  # the reverse pass shown is the ordinary one, not forward over reverse
    with no_grad(), watching(recorder):
        differentiate([node], [seed], accumulate=False)


def _op_nodes(node: Node) -> list[OpNode]:
    from ..graph import reached_from

    return [n for n in reached_from([node]) if isinstance(n, OpNode)]


def _argument_names(f: Callable[..., Any], count: int, names: Sequence[str] | None) -> list[str]:
    if names is None:
        try:
            parameters = list(inspect.signature(f).parameters.values())
        except (TypeError, ValueError):
            parameters = []
        names = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)][:count]
    found = list(names)
    if len(set(found)) != len(found):
        raise ValueError(f"trace: argument names must differ, got {found}.")
    return found + [f"x{i + 1}" for i in range(len(found), count)]


def _input(value: Any) -> Tensor:
    """A fresh tensor for an argument: numbers in double precision, so that the shown digits are right."""
    if isinstance(value, Tensor):
        return wrap(backend.as_payload(value.array))
    if isinstance(value, bool | int | float):
        return wrap(backend.as_payload(float(value), backend.float64))
    if isinstance(value, list | tuple):
        array = backend.as_payload(value)
        return wrap(backend.as_payload(value, backend.float64) if array.dtype.kind in "fiub" else array)
    return wrap(backend.as_payload(value))


def _directions(inputs: list[Tensor], labels: list[str], tangents: Any) -> list[Tensor]:
    if tangents is None:
        values: list[Any] = [1.0 if i == 0 else 0.0 for i in range(len(inputs))]
    elif isinstance(tangents, Mapping):
        unknown = [k for k in tangents if k not in labels]
        if unknown:
            raise ValueError(f"trace: a tangent is given for {unknown[0]!r}, but the arguments are {', '.join(labels)}.")
        values = [tangents.get(name, 0.0) for name in labels]
    else:
        values = list(tangents) if isinstance(tangents, list | tuple) else [tangents]
        if len(values) != len(inputs):
            raise ValueError(f"trace: got {len(values)} tangents for {len(inputs)} arguments; give one for each.")
    out = []
    for x, v in zip(inputs, values, strict=True):
        array = backend.owned_array(backend.zeros(x.shape, x.dtype, x.array)).copy()
        given = as_tensor(v).array
        if given.shape not in ((), x.shape):
            raise ValueError(f"trace: a tangent of shape {given.shape} does not fit an argument of shape {x.shape}.")
        array[...] = given
        out.append(wrap(backend.normal(array)))
    return out


class Recorder:
    """Turns engine events into nodes, edges and steps. One Recorder writes one Trace."""

    def __init__(self, f: Callable[..., Any], labels: list[str], source: str | None) -> None:
        self.nodes: list[dict[str, Any]] = []
        self.edges: list[dict[str, Any]] = []
        self.steps: list[dict[str, Any]] = []
        self.inputs: list[str] = []
        self.outputs: list[str] = []
        self.seeds: dict[str, dict[str, Any]] = {}
        self.map = SourceMap(f, source)
        self._taken = set(labels)
        self._by_node: dict[Node, str] = {}
        self._by_tensor: dict[int, str] = {}
        self._alive: list[Any] = []  # tensors whose id() we remember must not be replaced by others
        self._by_id: dict[str, dict[str, Any]] = {}
        self._adjoint: dict[str, Any] = {}
        self._counts = {"v": 0, "c": 0, "p": 0}
        self._spans: dict[Event, list[int] | None] = {}
        self._depth = 0

    # -------------------------------------------------------------------------------------------------------- nodes

    def _add(self, name: str, tensor: Tensor, kind: str, expr: list[Any], op: str | None = None) -> dict[str, Any]:
        node = {
            "id": name,
            "label": words.label_of(name),
            "kind": kind,
            "expr": expr,
            "shape": list(tensor.shape),
            "dtype": str(tensor.dtype),
            "stage": "primal",
        }
        if op is not None:
            node["op"] = op
        self.nodes.append(node)
        self._by_id[name] = node
        self._remember(tensor, name)
        return node

    def _remember(self, tensor: Tensor, name: str) -> None:
        self._alive.append(tensor)
        self._by_tensor[id(tensor)] = name
        place = history(tensor)
        if place is not None:
            self._by_node[place] = name
            self._alive.append(place)

    def _fresh_id(self, prefix: str) -> str:
        while True:
            self._counts[prefix] += 1
            name = f"{prefix}{self._counts[prefix]}"
            if name not in self._taken:
                return name

    def _known(self, tensor: Tensor) -> str:
        """The trace id of an operand; a tensor from outside becomes a constant or, if it requires grad, a parameter."""
        place = history(tensor)
        if place is not None and place in self._by_node:
            return self._by_node[place]
        if place is None and id(tensor) in self._by_tensor:
            return self._by_tensor[id(tensor)]
        name = self._fresh_id("p" if isinstance(place, Leaf) else "c")
        self._add(name, tensor, "param" if isinstance(place, Leaf) else "const", [])
        role = "parameter" if isinstance(place, Leaf) else "constant"
        self._step("primal", name, [], [], [[name, "v", words.value(tensor.array)]], *words.given(name, role, tensor.array))
        return name

    def input(self, tensor: Tensor, name: str, tangent: Tensor | None) -> None:
        """An argument gets its value, and in forward mode its seed."""
        self._add(name, tensor, "input", [])
        self.inputs.append(name)
        self._step("primal", name, [], [], [[name, "v", words.value(tensor.array)]], *words.given(name, "input", tensor.array))
        if tangent is not None:
            self.seeds.setdefault("tangents", {})[name] = words.value(tangent.array)
            self._step("seed", name, [], [], [[name, "d", words.value(tangent.array)]], *words.seeded(name, "dot", tangent.array))

    def output(self, tensor: Tensor) -> None:
        """What the function returned."""
        name = self._known(tensor)
        self.outputs.append(name)
        if self._by_id[name]["kind"] == "op":
            self._by_id[name]["kind"] = "output"

    def seed_adjoint(self, tensor: Tensor, seed: Any) -> None:
        """The output's own adjoint, where reverse mode begins."""
        name = self.outputs[0]
        self.seeds["adjoints"] = {name: words.value(seed)}
        self._adjoint[name] = seed
        self._step("seed", name, [], [], [[name, "g", words.value(seed)]], *words.seeded(name, "bar", seed))

    def _step(
        self, phase: str, node: str, edges: list[str], reads: list[Any], writes: list[Any], formula: list[Any], say: str, **more: Any
    ) -> None:
        self.steps.append(
            {"phase": phase, "node": node, "edges": edges, "reads": reads, "writes": writes, "formula": formula, "say": say, **more}
        )

    # ------------------------------------------------------------------------------------------------------- events

    def begin(self, event: Event) -> None:
        """Remember where in the user's source an operation was called; operations inside operations are part of them."""
        if event.phase == "forward" and self._depth == 0:
            self._spans[event] = self.map.here()
        self._depth += 1

    def end(self, event: Event) -> None:
        """Note what came out."""
        self._depth -= 1
        if event.error is not None:
            return
        if event.phase == "forward" and self._depth == 0:
            self._forward(event)
        elif event.phase == "tangent":
            self._tangent(event)
        elif event.phase == "backward" and self._depth == 0 and isinstance(event.node, OpNode):
            self._backward(event)

    def _operation(self, event: Event) -> None:
        if event.result is None or id(event.result) in self._by_tensor:
            return
        results = event.result if isinstance(event.result, tuple) else (event.result,)
        for result in results:
            if isinstance(result, Tensor):
                self._note(event, result)

    def _note(self, event: Event, out: Tensor) -> None:
        prim = event.primitive
        operands = [self._known(a) if isinstance(a, Tensor) else None for a in event.args]
        name = self._fresh_id("v")
        symbols = [words.symbol(o) if o is not None else words.num(a) for o, a in zip(operands, event.args, strict=True)]
        expr = words.expression(prim, symbols, event.params)
        node = self._add(name, out, "op", expr, prim.name)
        span = self._spans.pop(event, None)
        if span is not None:
            node["span"] = span
        edges = []
        for slot, source in enumerate(operands):
            if source is not None:
                edges.append(f"e{len(self.edges) + 1}")
                self.edges.append({"id": edges[-1], "src": source, "dst": name, "slot": slot, "stage": "primal"})
        node["saved"] = self._saved(out, name, operands)
        values = [words.num(a.array, "v") if isinstance(a, Tensor) else words.num(a) for a in event.args]
        formula, say = words.computed(
            name,
            expr,
            words.expression(prim, values, event.params),
            out.array,
            [a.array if isinstance(a, Tensor) else a for a in event.args],
        )
        reads = [[o, "v"] for o in dict.fromkeys(o for o in operands if o is not None)]
        more = {"line": span[0]} if span is not None else {}
        self._step("primal", name, edges, reads, [[name, "v", words.value(out.array)]], formula, say, **more)

    def _saved(self, out: Tensor, name: str, operands: list[str | None]) -> list[str]:
        place = history(out)
        if not isinstance(place, OpNode):
            return []
        found = [operands[s] if s >= 0 else name for s in place.plan.sources if s >= -1]
        return [f for f in dict.fromkeys(found) if f is not None]

    def _forward(self, event: Event) -> None:
        self._operation(event)
        pending, self._pending = getattr(self, "_pending", []), []
        for tangent in pending:
            self._tangent_step(*tangent)

    def _tangent(self, event: Event) -> None:
        if self._depth != 1 or event.result is None:
            return  # only the tangent of an operation that the user's function called
        *args, out, level = event.args
        with unwatched():
            parts = forward.contributions(event.primitive, tuple(args), event.params, out, level)
            locals_ = self._local_tangents(event, tuple(args), out, level)
        self._pending = [*getattr(self, "_pending", []), (tuple(args), out, level, parts, locals_, event.result)]

    def _local_tangents(self, event: Event, args: tuple[Any, ...], out: Tensor, level: int) -> list[Any]:
        unit = []
        for a in args:
            tangent = a.tangents.get(level) if isinstance(a, Tensor) and a.tangents else None
            copy = wrap(a.array, None, None) if isinstance(a, Tensor) else a
            if tangent is not None:
                copy.tangents = {level: wrap(backend.ones(a.shape, a.dtype, a.array))}
            unit.append(copy)
        if not (event.primitive.elementwise or out.shape == () == max((a.shape for a in args if isinstance(a, Tensor)), key=len)):
            return [None] * len(args)
        parts = forward.contributions(event.primitive, tuple(unit), event.params, wrap(out.array), level)
        return [None if p is None else p.array if isinstance(p, Tensor) else p for p in parts]

    def _tangent_step(self, args: tuple[Any, ...], out: Tensor, level: int, parts: list[Any], locals_: list[Any], result: Tensor) -> None:
        name = self._known(out)
        by_slot = {e["slot"]: e for e in self.edges if e["dst"] == name}
        contribs, terms, reads, edges = [], [], [[name, "v"]], []
        for slot, (a, part, local) in enumerate(zip(args, parts, locals_, strict=True)):
            if part is None:
                continue
            source = by_slot[slot]["src"]
            upstream = a.tangents[level]
            product = part.array if isinstance(part, Tensor) else part
            entry = {"edge": by_slot[slot]["id"], "upstream": words.value(upstream.array), "product": words.value(product)}
            if local is not None:
                entry["local"] = words.value(local)
            contribs.append(entry)
            edges.append(entry["edge"])
            reads.append([source, "d"])
            terms.append((source, local, upstream.array))
        formula, say = words.pushed(name, terms, result.array)
        reads = [r for i, r in enumerate(reads) if r not in reads[:i]]
        self._step("tangent", name, edges, reads, [[name, "d", words.value(result.array)]], formula, say, contribs=contribs)

    def _backward(self, event: Event) -> None:
        node, g = event.node, event.args[0]
        name = self._by_node.get(node)
        if name is None:
            raise AutogradError(
                f"trace: the reverse pass met {node!r}, which was not seen on the way forward; in-place changes of views cannot be traced."
            )
        g = g.array if isinstance(g, Tensor) else g
        slots = [i for i, p in enumerate(node.parents) if p is not None and node.primitive.pull_rule(i) is not None]
        by_slot = {e["slot"]: e for e in self.edges if e["dst"] == name}
        with unwatched():
            locals_ = self._local_adjoints(node, g)
        for slot, (_, c), local in zip(slots, event.result, locals_, strict=True):
            c = c.array if isinstance(c, Tensor) else c
            target, edge = by_slot[slot]["src"], by_slot[slot]["id"]
            before = self._adjoint.get(target)
            after = c if before is None else before + c
            self._adjoint[target] = after
            entry = {"edge": edge, "upstream": words.value(g), "product": words.value(c), "after": words.value(after)}
            if local is not None:
                entry["local"] = words.value(local)
            if before is not None:
                entry["before"] = words.value(before)
            formula, say = words.pulled(name, target, local, g, c, before, after)
            reads = [[name, "g"]] + ([[target, "g"]] if before is not None else [])
            phase = "adjoint" if before is None else "accumulate"
            self._step(phase, target, [edge], reads, [[target, "g", words.value(after)]], formula, say, contribs=[entry])

    def _local_adjoints(self, node: OpNode, g: Any) -> list[Any]:
        if not (node.shape == () and all(p is None or p.shape == () for p in node.parents)) and not (
            node.primitive.elementwise and node.unbroadcast is None
        ):
            return [None] * len(node.parents)
        ones = backend.ones(g.shape, g.dtype, g)
        needed = {p for p in node.parents if p is not None}
        return [c for _, c in pull_operation(node, ones, needed, False)]

    # ----------------------------------------------------------------------------------------------------- document

    def document(self, title: str | None, mode: str) -> Trace:
        """The finished Trace."""
        used = {column for s in self.steps for _, column, _ in s["writes"]}
        document: Trace = {"schema": SCHEMA, "title": self._title() if title is None else title}
        source = self.map.source()
        if source is not None:
            document["source"] = source
        document |= {
            "inputs": self.inputs,
            "outputs": self.outputs,
            "seed": self.seeds,
            "nodes": self.nodes,
            "edges": self.edges,
            "columns": [COLUMNS[k] for k in "vdg" if k in used],
            "steps": self.steps,
        }
        return document

    def _title(self) -> str:
        first = {s["writes"][0][0]: s["writes"][0][2] for s in reversed(self.steps) if s["writes"] and s["writes"][0][1] == "v"}
        from ..trace.text import number

        at = ", ".join(f"{i} = {number(first[i])}" for i in self.inputs)
        return f"{self.map.name}({', '.join(self.inputs)}) at {at}" if self.inputs else self.map.name
