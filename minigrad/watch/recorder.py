"""The observer that writes the Trace: it watches the real engine and notes, as plain data, what it
did.

Each operation that the traced function runs becomes a node, its operands edges, its value a step;
where the result carries a tangent a second step follows. In the reverse pass each contribution
becomes a step. Only the local derivative ∂y/∂x of a step, which the engine never needs by itself,
is obtained by asking the operation's own rule once more with g = 1.

Which events count? Operations *inside* an operation (the arithmetic of a rule, the body of a
Function) are part of it. If the traced function itself differentiates, what runs inside its
backward pass or its forward mode is computed like anything else and shown, with the stage
"backward" (a second pass over it: "second backward") or "jvp". The recorder never guesses: a value
that it did not see being made is refused, not drawn as a constant.
"""

from __future__ import annotations

import numbers
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from types import FrameType
from typing import Any
from weakref import WeakKeyDictionary, ref

from .. import backend
from ..core import forward, modes, primitive
from ..core.backward import pull_operation
from ..core.graph import Node, OpNode, Pick, next_sequence_number
from ..core.modes import Event, observing, state, unobserved
from ..core.primitive import Primitive
from ..core.tensor import Leaf, Tensor, wrap
from ..core.views import grad_node
from ..errors import AutogradError, TraceTooLargeError
from ..grad_mode import no_grad
from ..trace.schema import SCHEMA
from ..trace.text import number
from . import words
from .again import Checkpoints
from .spans import SourceMap

GENERATIONS = ("primal", "backward", "second backward", "third backward")
"""Stages of what reverse passes inside the traced function compute: derivatives, derivatives of
these, and so on.
"""
COLUMNS = {
    "v": {"key": "v", "label": "value", "phase": "primal"},
    "d": {"key": "d", "label": "tangent", "phase": "tangent"},
    "g": {"key": "g", "label": "adjoint", "phase": "adjoint"},
}

Trace = dict[str, Any]


class _Call:
    """An operation under way: what it was called with, as it was then (memory may be
    overwritten), and where in the source.
    """

    __slots__ = (
        "args",
        "names",
        "of",
        "operands",
        "params",
        "primitive",
        "span",
        "stage",
        "variable",
    )

    def __init__(
        self, prim: Any, args: tuple[Any, ...], params: dict[str, Any], operands: list[str | None]
    ) -> None:
        self.primitive, self.params, self.operands = prim, params, operands
        self.args = tuple(
            wrap(a.array, a.node, a.tangents) if isinstance(a, Tensor) else a for a in args
        )
        self.names: list[str] = []  # of the results, once noted
        self.span: list[int] | None = None
        self.variable: tuple[FrameType, str] | None = None
        self.stage = "primal"
        self.of: str | None = None


class _Innermost(threading.local):
    recorder: Recorder | None = None


_innermost = _Innermost()
"""A traced function may trace another one: only the inner recorder notes what the inner function
does.
"""


class Recorder:
    """Turns engine events into nodes, edges and steps. One Recorder writes one Trace."""

    def __init__(
        self,
        f: Callable[..., Any],
        labels: list[str],
        source: str | None,
        level: int,
        most: int | None = None,
    ) -> None:
        self.nodes: list[dict[str, Any]] = []
        self.edges: list[dict[str, Any]] = []
        self.steps: list[dict[str, Any]] = []
        self.inputs: list[str] = []
        self.outputs: list[str] = []
        self.seeds: dict[str, dict[str, Any]] = {}
        self.map = SourceMap(f, source)
        self._level = level
        self._most = most
        self._root = modes.observation.event  # the trace may itself be observed
        self._birth = next_sequence_number()  # older nodes were made before the traced function ran
        self._taken = set(labels)
        self._by_id: dict[str, dict[str, Any]] = {}
        self._into: dict[str, dict[int, dict[str, Any]]] = {}  # node -> operand position -> edge
        # Nodes, and the tensors that have one, are referred to weakly: what the function throws
        # away is to die, and be seen to die.
        self._by_node: WeakKeyDictionary[Node, str] = WeakKeyDictionary()
        self._by_tensor: dict[
            int, tuple[str, int]
        ] = {}  # values without history: id -> name and the memory's version then
        self._by_array: dict[int, tuple[str, bytes]] = {}
        self._results_of: WeakKeyDictionary[Node, dict[int, str]] = (
            WeakKeyDictionary()
        )  # of an operation with several: position -> name
        self._alive: list[
            Any
        ] = []  # what we remember by id() must not be replaced by something else
        self._counts = {"v": 0, "c": 0, "p": 0}
        self._calls: dict[Event, _Call] = {}
        self._assigned: tuple[FrameType, str, str, ref[Tensor]] | None = None
        self._adjoint: dict[str, Any] = {}
        self._reversing = False
        self._walk = state.walk  # of a pass during which the trace itself runs, in a hook
        self._paths: dict[tuple[int, int], str] = {}  # of a module within the one that called it
        self._problem: AutogradError | None = None
        self._made_by: dict[
            str, ref[Node]
        ] = {}  # name of an operation's result -> the operation's node
        self._keeping: set[str] = (
            set()
        )  # results whose operations hold values for the way back, now
        self._dead: list[str] = []  # results whose operations' nodes have died since the last step
        self._walked: list[
            str
        ] = []  # those through which a reverse pass of the function's own has just gone
        self._checkpoints = Checkpoints(
            self.nodes,
            self._by_id,
            self._keeping,
            self._place_of,
            self._computed_again,
            self._ended,
        )

    # ----------------------------------------------------------------------- values and their names

    def _add(
        self, name: str, tensor: Tensor, kind: str, expr: list[Any], stage: str = "primal"
    ) -> dict[str, Any]:
        node = {
            "id": name,
            "label": words.label_of(name),
            "kind": kind,
            "expr": expr,
            "shape": list(tensor.shape),
            "dtype": str(tensor.dtype),
            "stage": stage,
        }
        group = self._group()
        if group and kind != "input":
            node["group"] = group
        if self._most is not None and len(self.nodes) >= self._most:
            raise TraceTooLargeError(
                f"trace: the function makes more than {self._most:,} nodes, the most that were"
                " allowed. Trace a smaller part of the computation (one layer, one example, fewer"
                " elements), or allow more: most=…"
            )
        self.nodes.append(node)
        self._by_id[name] = node
        self._remember(tensor, name)
        return node

    def _group(self) -> str:
        """The modules whose call is under way, as a path: each by its name in the one that
        called it, the outermost by its class.
        """
        path: list[str] = []
        outer: Any = None
        for module in modes.observation.owners:
            if outer is None:
                path.append(type(module).__name__)
            else:
                key = (id(outer), id(module))
                if key not in self._paths:
                    named = ((name, m) for name, m in outer.named_modules() if m is module)
                    self._paths[key] = next(
                        (name for name, _ in named if name), type(module).__name__
                    )
                    self._alive += (outer, module)
                path.append(self._paths[key])
            outer = module
        return "/".join(path)

    def _remember(self, tensor: Tensor, name: str) -> None:
        """From now on `tensor` (as it is now) is called `name`."""
        place = tensor.node
        if place is not None:
            self._by_node[place] = name
        else:
            self._alive += (tensor, tensor.array)
            self._by_tensor[id(tensor)] = self._by_tensor[id(tensor.array)] = (
                name,
                tensor._version,
            )

    def _place_of(self, name: str) -> Node | None:
        """The node of the operation that made a value; None where there is none, or none any
        more.
        """
        place = self._made_by.get(name)
        return None if place is None else place()

    def _fresh_id(self, prefix: str) -> str:
        while True:
            self._counts[prefix] += 1
            name = f"{prefix}{self._counts[prefix]}"
            if name not in self._taken:
                return name

    def knows(self, node: Node) -> bool:
        """Whether a graph node was made by the traced function."""
        return node in self._by_node or node in self._results_of

    def _found(self, tensor: Tensor) -> str | None:
        place = grad_node(tensor)
        if place is not None:
            return self._by_node.get(place)
        for key in (id(tensor), id(tensor.array)):
            name, version = self._by_tensor.get(key, (None, 0))
            if name is not None and version == tensor._version:
                return name
        return None

    def _name_of(self, value: Any) -> str | None:
        """The trace id of an operand; a tensor or array from outside becomes a constant or a
        parameter; None for a plain number.
        """
        if not isinstance(value, Tensor):
            return None if isinstance(value, numbers.Number) else self._constant_array(value)
        name = self._found(value)
        if name is not None:
            return name
        if value.view_of is not None and (
            self._found(value.view_of.base) or grad_node(value) is not None
        ):
            return self._reread(value)
        place = grad_node(value)
        if not isinstance(place, Leaf) and (
            (place is not None and place.sequence_number > self._birth)
            or self._level in (value.tangents or {})
        ):
            raise AutogradError(
                f"trace: an operand of shape {value.shape} was computed by the traced function in a"
                " way that is hidden from the Trace. Nothing was drawn, rather than something"
                " wrong."
            )
        kind = "const" if place is None else "param"
        name = self._fresh_id(kind[0])
        node = self._add(name, value, kind, [])
        held = modes.observation.owners
        attribute = (
            next((path for path, p in held[-1].named_parameters() if p is value), None)
            if held
            else None
        )
        known = self.map.outside(value) if attribute is None else attribute
        if known is not None:
            node["name"] = known
        self._given(name, value.array, "constant" if place is None else "parameter")
        return name

    def _constant_array(self, value: Any) -> str:
        """An array (or list) that was used as an operand as it is; the same one with the same
        elements is the same constant.
        """
        array = backend.as_payload(value)
        held = backend.to_numpy(array).tobytes()
        name, before = self._by_array.get(id(value), (None, b""))
        if name is None or before != held:
            name = self._fresh_id("c")
            self._add(name, wrap(array), "const", [])
            self._given(name, array, "constant")
            self._by_array[id(value)] = (name, held)
            self._alive.append(value)
        return name

    def _given(self, name: str, array: Any, role: str) -> None:
        self._step(
            "primal",
            name,
            [],
            [],
            [[name, "v", _value(array, True)]],
            *words.given(name, role, array),
        )

    def _reread(self, view: Tensor) -> str:
        """A view of memory that was overwritten since: its values are those of the base as it is
        now, by the same steps.
        """
        assert view.view_of is not None
        steps = view.view_of.steps
        places: list[Any] = [grad_node(view)]
        for _ in steps[1:]:
            places.insert(0, places[0].parents[0] if places[0] is not None else None)
        current = view.view_of.base
        for (prim, params), place in zip(steps, places, strict=True):
            call = _Call(prim, (current,), params, [self._name_of(current)])
            with unobserved():
                current = prim(wrap(current.array, None, current.tangents), **params)
            current.node = place
            self._finish(call, current)
        if view.node is None:
            self._remember(view, call.names[0])
        return call.names[0]

    def input(self, tensor: Tensor, name: str, tangent: Tensor | None) -> None:
        """An argument gets its value, and in forward mode its seed."""
        self._add(name, tensor, "input", [])
        self.inputs.append(name)
        self._given(name, tensor.array, "input")
        if tangent is not None:
            self.seeds.setdefault("tangents", {})[name] = _value(tangent.array)
            self._step(
                "seed",
                name,
                [],
                [],
                [[name, "d", _value(tangent.array)]],
                *words.seeded(name, "dot", tangent.array),
            )

    def output(self, tensor: Tensor) -> None:
        """What the function returned. Raises what made the Trace impossible, if something did."""
        self._note_variable()
        self._assigned = None
        if self._problem is not None:
            raise self._problem
        name = self._name_of(tensor)
        assert name is not None
        self.outputs.append(name)
        if self._by_id[name]["kind"] == "op":
            self._by_id[name]["kind"] = "output"

    def seed_adjoint(self, seed: Any) -> None:
        """The output's own adjoint, where reverse mode begins."""
        self._reversing = True
        name = self.outputs[0]
        self.seeds["adjoints"] = {name: _value(seed)}
        self._adjoint[name] = seed
        self._step(
            "seed", name, [], [], [[name, "g", _value(seed)]], *words.seeded(name, "bar", seed)
        )

    def _step(
        self,
        phase: str,
        node: str,
        edges: list[str],
        reads: list[Any],
        writes: list[Any],
        formula: list[Any],
        say: str,
        **more: Any,
    ) -> None:
        self._bury()
        if phase != "free":  # what the end of a checkpoint does away with belongs to that step
            self._drop()
        self.steps.append(
            {
                "phase": phase,
                "node": node,
                "edges": edges,
                "reads": reads,
                "writes": writes,
                "formula": formula,
                "say": say,
                **more,
            }
        )

    # --------------------------------------------------------------------------------------- events

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """Note what the engine does inside the `with` block."""
        outer, _innermost.recorder = _innermost.recorder, self
        try:
            with observing(self):
                yield
        finally:
            _innermost.recorder = outer

    def read(self, tensor: Tensor, kind: str) -> None:
        """Warn where the traced function makes a plain number of a value that is to be
        differentiated: `math.sin(x)`, most often.
        """
        if tensor.node is not None and not self._reversing:
            warnings.warn(
                f"{kind}() makes a plain number of a tensor here, which is a constant to the"
                " derivative: what is computed from it does not depend on the tensor. Python's"
                " math functions do so too: write mg.sin(x) for math.sin(x). Where a number is"
                " meant, write x.item().",
                stacklevel=4,
            )

    def begin(self, event: Event) -> None:
        """Note what an operation is called with, before it may be overwritten."""
        self._carefully(self._begin, event)

    def end(self, event: Event) -> None:
        """Note what came out."""
        self._carefully(self._end, event)

    def _carefully(self, function: Callable[[Event], None], event: Event) -> None:
        """What cannot be traced is reported when the function has ended: raised here, the
        function itself could catch it.
        """
        if self._problem is None and _innermost.recorder is self:
            try:
                function(event)
            except AutogradError as problem:
                self._problem = problem

    def _begin(self, event: Event) -> None:
        if event.phase == "region":
            self._checkpoints.begin(event, self._reversing)
        if self._reversing:
            return
        if event.phase == "tangent":
            call = self._calls.get(event.parent) if event.parent is not None else None
            if call is not None and event.args[-1] > self._level and not call.names:
                # what inner forward mode computes may use the operation's result, so that comes
                # first
                self._finish(call, event.args[-2])
        elif (
            event.phase == "forward"
            and any(isinstance(a, Tensor) for a in event.args)
            and self._visible(event)
        ):
            self._calls[event] = self._call(event)
        elif event.phase == "assign" and self._visible(event):
            target, value = event.args
            self._note_variable()
            if target.view_of is None or isinstance(grad_node(target), Leaf):
                self._name_of(value)
            else:  # what it means for the base: the same with a region replaced
                base, params = target.view_of.base, {"steps": target.view_of.steps}
                call = _Call(
                    primitive.registry["scatter_view"],
                    (base, value),
                    params,
                    [self._name_of(base), self._name_of(value)],
                )
                self._locate(call)
                self._calls[event] = call

    def _end(self, event: Event) -> None:
        if event.phase == "region":
            self._bury()
            self._checkpoints.end(event, self._reversing)
        if self._reversing:
            if event.phase == "forward":
                self._checkpoints.forward(event)
            if event.phase == "backward" and event.parent is self._root and event.error is None:
                self._backward(event)
            return
        call = self._calls.pop(event, None)
        if event.error is not None:
            return
        if (
            event.phase == "backward"
        ):  # whether the pass lets the values go is seen when it has gone on
            names = [self._by_node.get(event.node), *self._results_of.get(event.node, {}).values()]
            self._walked += [name for name in names if name in self._keeping]
        if event.phase == "forward" and call is not None and not call.names:
            self._finish(call, event.result)
        elif event.phase == "assign" and self._visible(event):
            self._assign(call, *event.args)

    def _visible(self, event: Event) -> bool:
        """Whether an event is a step of the traced function itself, and not part of another
        operation.
        """
        container = event.parent
        if container is self._root:
            return True
        assert container is not None
        if container.phase == "tangent":
            return bool(container.args[-1] > self._level) and container.parent in self._calls
        return container.phase in ("backward", "leaf", "region") and self._visible(container)

    def _call(self, event: Event) -> _Call:
        self._note_variable()
        operands = [self._name_of(a) if _is_operand(a) else None for a in event.args]
        call = _Call(event.primitive, event.args, event.params, operands)
        self._locate(call)
        container = event.parent
        while container is not None and container.phase == "region" and container is not self._root:
            container = container.parent
        if container is not self._root and container is not None:
            if container.phase == "tangent":
                assert container.parent is not None
                call.stage, call.of = "jvp", self._calls[container.parent].names[0]
            else:
                call.of = self._by_node.get(container.node)
                call.stage = GENERATIONS[self._generation(operands, call.of)]
        elif (
            state.walk is not self._walk
        ):  # a reverse pass is under way, between two operations: contributions are added up
            call.stage = GENERATIONS[self._generation(operands, None)]
        return call

    def _generation(self, operands: list[str | None], of: str | None) -> int:
        """How many reverse passes lie between the function and what is computed now: one more than
        for the operation that is differentiated, and no fewer than for what it is computed from.
        """
        known = [
            GENERATIONS.index(stage)
            for o in operands
            if o is not None and (stage := self._by_id[o]["stage"]) in GENERATIONS
        ]
        before = (
            0
            if of is None or self._by_id[of]["stage"] not in GENERATIONS
            else GENERATIONS.index(self._by_id[of]["stage"])
        )
        return min(max(before + 1, *known, 1), len(GENERATIONS) - 1)

    def _locate(self, call: _Call) -> None:
        """Where in the source the traced function stands."""
        frame = self.map.frame()
        if frame is not None:
            call.span, variable = self.map.span(frame), self.map.variable(frame)
            call.variable = None if variable is None else (frame, variable)

    def _note_variable(self) -> None:
        """If the latest result was meant for a variable and has arrived there, the node gets the
        variable's name.
        """
        if self._assigned is not None:
            frame, variable, name, tensor = self._assigned
            if (held := self.map.held(frame).get(variable)) is not None and held is tensor():
                self._by_id[name].setdefault("name", variable)
            self._assigned = None
        self.map.look_again()

    # -------------------------------------------------------------------------- values and tangents

    def _finish(self, call: _Call, result: Any) -> None:
        """An operation has its result or results: a node, its edges and a step for each, and a
        step for each tangent.
        """
        several = isinstance(result, tuple)
        for index, out in enumerate(result if several else (result,)):
            if isinstance(out, Tensor):
                call.names.append(self._note(call, out, index if several else None))
        for index, out in enumerate(result if several else (result,)):
            if isinstance(out, Tensor) and out.tangents and self._level in out.tangents:
                self._tangent(call, result, out, index if several else None)
        if call.variable is not None and isinstance(result, Tensor):
            self._assigned = (*call.variable, call.names[0], ref(result))

    def _note(self, call: _Call, out: Tensor, index: int | None) -> str:
        prim, operands = call.primitive, call.operands
        name = self._fresh_id("v")
        _value(out.array)  # refuses what is no array before anything is written
        shown = [
            (o, a)
            for o, a in zip(operands, call.args, strict=True)
            if o is not None or not callable(a)
        ]  # a rule is no operand
        symbols = [words.symbol(o) if o is not None else words.plain(a) for o, a in shown]
        expr = words.expression(prim, symbols, call.params) + (
            [] if index is None else words.result_number(index)
        )
        node = self._add(name, out, "op", expr, call.stage)
        node["op"] = prim.name
        if call.of is not None:
            node["of"] = call.of
        if call.span is not None:
            node["span"] = call.span
        edges = self._into[name] = {}
        for slot, source in enumerate(operands):
            if source is not None:
                edge: dict[str, Any] = {
                    "id": f"e{len(self.edges) + 1}",
                    "src": source,
                    "dst": name,
                    "slot": slot,
                    "stage": call.stage,
                }
                if (
                    getattr(prim, "elementwise", False)
                    and self._by_id[source]["shape"] != node["shape"]
                ):
                    edge["broadcast"] = True
                edges[slot] = edge
                self.edges.append(edge)
        place = out.node
        if isinstance(place, Pick) and place.parents[0] is not None:
            self._results_of.setdefault(place.parents[0], {})[place.index] = name
            place = place.parents[0]
        if place is not None:
            self._made_by[name] = ref(place, partial(_died, self._dead, name))
        node["saved"] = _saved(place, name, operands)
        if node["saved"]:
            self._keeping.add(name)
        arrays = [a.array if isinstance(a, Tensor) else a for a in call.args]
        values = [
            words.num(a.array, "v") if isinstance(a, Tensor) else words.plain(a) for _, a in shown
        ]
        arithmetic = words.expression(prim, values, call.params) if index is None else None
        formula, say = words.computed(name, expr, arithmetic, out.array, arrays)
        reads = [[o, "v"] for o in dict.fromkeys(o for o in operands if o is not None)]
        more: dict[str, Any] = {"line": call.span[0]} if call.span is not None else {}
        if call.stage != "primal":
            more["add"] = [name]  # a derivative that the function itself takes makes the graph grow
        self._step(
            "primal",
            name,
            [e["id"] for e in edges.values()],
            reads,
            [[name, "v", _value(out.array, True)]],
            formula,
            say,
            **more,
        )
        return name

    def _tangent(self, call: _Call, result: Any, out: Tensor, index: int | None) -> None:
        assert out.tangents is not None
        name = self._name_of(out)
        assert name is not None
        tangent = out.tangents[self._level]
        # The recorder's tangents are never differentiated. Their history would tie an operation
        # that keeps its result (exp) to itself, in a cycle that only the cycle collector frees, at
        # an arbitrary time: what is thrown away must be freed at once, in every run.
        out.tangents[self._level] = wrap(tangent.array, None, tangent.tangents)
        sources = [
            (slot, a, a.tangents[self._level], call.operands[slot])
            for slot, a in enumerate(call.args)
            if isinstance(a, Tensor) and a.tangents and self._level in a.tangents
        ]
        reads = [[name, "v"]] + [
            [s, "d"] for s in dict.fromkeys(source for _, _, _, source in sources)
        ]
        if not isinstance(
            call.primitive, Primitive
        ):  # a user's Function brings one rule for all its inputs together
            edges = [self._into[name][slot]["id"] for slot, *_ in sources]
            formula, say = words.pushed_together(
                name, [str(source) for *_, source in sources], tangent.array
            )
            self._step(
                "tangent", name, edges, reads, [[name, "d", _value(tangent.array)]], formula, say
            )
            return
        with unobserved(), no_grad():
            parts = forward.contributions(
                call.primitive, call.args, call.params, result, self._level
            )
            locals_ = (
                _local_tangents(call, out, self._level) if index is None else [None] * len(parts)
            )
        contribs, terms = [], []
        for slot, _, upstream, source in sources:
            part = parts[slot] if index is None or parts[slot] is None else parts[slot][index]
            if part is None:
                continue
            if tuple(part.shape) != out.shape:  # one tangent for many elements
                with unobserved():
                    part = primitive.registry["broadcast_to"](part, shape=out.shape)
            local = locals_[slot]
            entry = {
                "edge": self._into[name][slot]["id"],
                "upstream": _value(upstream.array),
                "product": _value(_raw(part)),
            }
            if local is not None:
                entry["local"] = _value(local)
            contribs.append(entry)
            terms.append((str(source), local, upstream.array))
        formula, say = words.pushed(name, terms, tangent.array)
        self._step(
            "tangent",
            name,
            [c["edge"] for c in contribs],
            reads,
            [[name, "d", _value(tangent.array, True)]],
            formula,
            say,
            contribs=contribs,
        )

    def _assign(self, call: _Call | None, target: Tensor, value: Tensor) -> None:
        """An in-place operation has written: from now on the target (or the tensor that it looks
        into) stands for the new value.
        """
        written = target if call is None else target.view_of.base
        place = written.node
        if (
            place is not None
            and place in self._by_node
            and (call is not None or place is not value.node)
        ):
            raise AutogradError(
                f"trace: a tensor of shape {written.shape} was modified in place while its history"
                " stayed what it was (under no_grad). Its values and its derivative no longer"
                " belong together, so no picture of them would be true. Modify a .clone() instead."
            )
        if call is not None:
            self._finish(call, written)
        elif place is None:
            name = self._name_of(value)
            assert name is not None
            self._remember(target, name)

    # ------------------------------------------------------------------------------------- adjoints

    def _backward(self, event: Event) -> None:
        node, g = event.node, event.args[0]
        several = self._results_of.get(node)
        if several is None:
            name = self._by_node.get(node)
            if name is None and node.sequence_number > self._birth:
                raise AutogradError(
                    f"trace: the reverse pass met {node!r}, which was made by the traced function"
                    " in a way that is hidden from the Trace."
                )
            if name is None or self._by_id[name]["kind"] == "param":
                self._outside(event.result)
                return
            upstream = [(name, _raw(g))]
        else:
            upstream = [
                (several[i], _raw(part))
                for i, part in enumerate(g)
                if part is not None and i in several
            ]
        for name, part in upstream:
            self._check(name, part)
        slots = _slots(node, event.result)
        single = several is None and isinstance(node, OpNode)
        with unobserved(), self._checkpoints.values(node):
            locals_ = (
                _local_adjoints(node, upstream[0][1], event.result)
                if single
                else [None] * len(slots)
            )
            shares = (
                _separated(node, g, event.result)
                if len(upstream) > 1
                else [[_raw(c)] for _, c in event.result]
            )
        for slot, (parent, c), local, share in zip(
            slots, event.result, locals_, shares, strict=True
        ):
            target = self._by_node.get(parent)
            if target is None:
                raise AutogradError(
                    f"trace: {node!r} sends a contribution to {parent!r}, which is hidden from the"
                    " Trace."
                )
            self._contribution(target, slot, upstream, share, _raw(c), local)
            used = _used(node, slot, upstream[0][0], self._into[upstream[0][0]])
            if used is not None:
                self.steps[-1]["uses"] = used
        self._let_go(node, [name for name, _ in upstream])

    def _let_go(self, node: Node, names: list[str]) -> None:
        """What the operation kept for this pass is released, here and now, as a pass that is the
        last one would do; the step says so.
        """
        held = [name for name in names if name in self._keeping]
        self._free(self._checkpoints.used(held))
        if isinstance(node, OpNode) and (node.versions or (held and node.saved is not None)):
            node.release()  # inside a checkpoint, with its last node goes what that holds
            if node.saved is None:
                self._free(held)
        self._bury()
        self._drop()

    def _free(self, names: list[str]) -> None:
        """The last step says whose values are freed; those that were freed before are not named
        again."""
        gone = [name for name in names if name in self._keeping]
        self._keeping.difference_update(gone)
        if gone:
            self.steps[-1].setdefault("free", []).extend(gone)

    def _bury(self) -> None:
        """What the engine has freed since the last step: operations whose results the function has
        thrown away, with what they kept; and what a reverse pass inside the function kept for
        itself alone."""
        places = [(name, self._place_of(name)) for name in self._walked]
        through = [
            name
            for name, node in places
            if isinstance(node, OpNode) and node.saved is None and not node.versions
        ]
        self._free(self._dead + through)
        self._dead.clear()
        self._walked.clear()

    def _drop(self) -> None:
        """The last step says what checkpoints held until here. One whose result is thrown away
        is gone before the next step begins.
        """
        if (dropped := self._checkpoints.dropped()) and self.steps:
            self.steps[-1].setdefault("drops", []).extend(dropped)

    def _ended(
        self,
        names: list[str],
        region: list[str],
        arguments: list[Any],
        again: list[tuple[Any, str]],
    ) -> list[str]:
        """A checkpoint's end: what its operations kept is freed; the arguments are held, to compute
        it again from. Returns their names."""
        self._keeping.difference_update(names)
        held = [a for a in arguments if isinstance(a, Tensor)]
        known = [
            self._found(a) or next((name for array, name in again if array is a.array), None)
            for a in held
        ]
        holds = [name for name in dict.fromkeys(known) if name is not None]
        said = (
            f"what {', '.join(names)} kept for the reverse pass is freed, to be"
            if names
            else f"{', '.join(region)} can be"
        )
        said = f"The checkpoint ends: {said} computed again" + (
            f" from {', '.join(holds)}." if holds else "."
        )
        more = ({"free": names} if names else {}) | ({"holds": holds} if holds else {})
        self._step("free", region[-1], [], [], [], [], said, **more)
        self._drop()
        return holds

    def _computed_again(self, name: str, result: Tensor, keeps: bool) -> None:
        """An operation inside a checkpoint runs once more, on the way back."""
        node, into = self._by_id[name], self._into[name].values()
        formula, say = words.computed(name, node["expr"], None, result.array, [])
        reads = [[source, "v"] for source in dict.fromkeys(e["src"] for e in into)]
        more: dict[str, Any] = {"keep": [name]} if keeps else {}
        self._keeping.update(more.get("keep", ()))
        writes = [[name, "v", _value(result.array, True)]]
        self._step(
            "primal",
            name,
            [e["id"] for e in into],
            reads,
            writes,
            formula,
            f"Computed again: {say}",
            **more,
        )

    def _contribution(
        self,
        target: str,
        slot: int,
        upstream: list[tuple[str, Any]],
        share: list[Any],
        c: Any,
        local: Any,
    ) -> None:
        """One step: what an operation sends back to one of its operands (through each of its
        results that has an adjoint).
        """
        before = self._adjoint.get(target)
        after = c if before is None else before + c
        self._adjoint[target] = after
        edges = [self._into[name][slot]["id"] for name, _ in upstream]
        contribs = []
        for edge, (_, g), product in zip(edges, upstream, share, strict=False):
            entry = {
                "edge": edge,
                "upstream": _value(g),
                "product": _value(product),
                "after": _value(after),
            }
            if local is not None:
                entry["local"] = _value(local)
            if before is not None:
                entry["before"] = _value(before)
            contribs.append(entry)
        summed = (
            len(upstream) == 1
            and getattr(c, "size", 1) < getattr(upstream[0][1], "size", 1)
            and self._broadcast(edges[0])
        )
        formula, say = words.pulled(
            [(name, g) for name, g in upstream], target, local, c, before, after, summed
        )
        reads = [[name, "g"] for name, _ in upstream] + (
            [[target, "g"]] if before is not None else []
        )
        more = {"contribs": contribs} if contribs else {}
        self._step(
            "adjoint" if before is None else "accumulate",
            target,
            edges,
            reads,
            [[target, "g", _value(after, True)]],
            formula,
            say,
            **more,
        )

    def _broadcast(self, edge: str) -> bool:
        """Whether an edge carries one value to many places, by an element-by-element operation."""
        found = self.edges[int(edge[1:]) - 1]
        declared = primitive.registry.get(self._by_id[found["dst"]]["op"])
        return declared is not None and declared.elementwise

    def _check(self, name: str, g: Any) -> None:
        """The adjoint that the engine uses is the one that stands in the Trace, unless a hook
        replaced it.
        """
        if not _same(self._adjoint.get(name), g):
            reads = [[name, "g"]] if name in self._adjoint else []
            self._adjoint[name] = g
            self._step(
                "update", name, [], reads, [[name, "g", _value(g)]], *words.replaced(name, g)
            )

    def _outside(self, parts: list[tuple[Node, Any]]) -> None:
        """Contributions along what was computed before the traced function ran: only what
        reaches a node of the Trace is noted.
        """
        for parent, c in parts:
            target = self._by_node.get(parent)
            if target is not None:
                before = self._adjoint.get(target)
                after = self._adjoint[target] = _raw(c) if before is None else before + _raw(c)
                reads = [[target, "g"]] if before is not None else []
                self._step(
                    "update",
                    target,
                    [],
                    reads,
                    [[target, "g", _value(after)]],
                    *words.from_outside(target, _raw(c), after),
                )

    def compare(self, final: dict[Node, Tensor]) -> None:
        """The engine's final adjoints of the leaves against those in the Trace. Raises what made
        the Trace impossible, if something did.
        """
        if self._problem is not None:
            raise self._problem
        for leaf, g in final.items():
            name = self._by_node.get(leaf)
            if name is not None:
                self._check(name, g.array)

    # ------------------------------------------------------------------------------------- document

    def document(self, title: str | None) -> Trace:
        """The finished Trace."""
        self._bury()
        self._drop()
        used = {column for s in self.steps for _, column, _ in s["writes"]}
        self._mark_dangling()
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

    def _mark_dangling(self) -> None:
        """Nodes that lead to no output were computed in vain: of a derivative's own graph, often
        a large part.
        """
        leading = set(self.outputs)
        for node in reversed(self.nodes):
            if node["id"] in leading:
                leading.update(edge["src"] for edge in self._into.get(node["id"], {}).values())
            elif node["kind"] == "op":
                node["dangling"] = True

    def _title(self) -> str:
        """The function and the point, in signs alone: a title is shown in every language."""
        given = {
            s["node"]: s["writes"][0][2]
            for s in self.steps[: 2 * len(self.inputs)]
            if s["phase"] == "primal"
        }
        at = ", ".join(f"{i} = {number(given[i])}" for i in self.inputs)
        return f"{self.map.name}({', '.join(self.inputs)}), {at}" if self.inputs else self.map.name


# ------------------------------------------------------------------------------------------ helpers


def _died(dead: list[str], name: str, node: Any) -> None:
    """The node of an operation is gone."""
    dead.append(name)


def _raw(value: Any) -> Any:
    return value.array if isinstance(value, Tensor) else value


def _value(array: Any, picture: bool = False) -> Any:
    """A payload as a Trace value. Raises AutogradError for what stands for many values at once,
    as inside vmap.
    """
    if hasattr(type(array), "__minigrad_apply__"):
        raise AutogradError(
            "trace: the function computes with batched or symbolic values (vmap, for instance),"
            " which a Trace cannot show. Trace the inner function on one example."
        )
    return words.value(array, picture)


def _is_operand(a: Any) -> bool:
    return isinstance(a, Tensor | list | tuple) or (hasattr(a, "dtype") and hasattr(a, "shape"))


def _same(a: Any, b: Any) -> bool:
    """Whether two payloads hold the same numbers, NaN being the same as NaN."""
    if a is b:
        return True
    if a is None or a.shape != b.shape:
        return False
    x, y = backend.to_numpy(a), backend.to_numpy(b)
    return bool(((x == y) | ((x != x) & (y != y))).all())


def _saved(place: Any, name: str, operands: list[str | None]) -> list[str]:
    """The names of the values that the backward rule keeps."""
    if not isinstance(place, OpNode):
        return []
    found = [operands[s] if s >= 0 else name for s in place.plan.sources if s >= primitive.OUTPUT]
    return [f for f in dict.fromkeys(found) if f is not None]


def _used(node: Node, slot: int, name: str, into: dict[int, dict[str, Any]]) -> list[str] | None:
    """The kept values that the rule for one operand reads; None where the operation is a user's
    Function, whose rule is one for all.
    """
    if not isinstance(node, OpNode) or node.primitive.outputs != 1:
        return None
    positions = {index: where for index, _, where in node.plan.pulls}
    sources = [node.plan.sources[k] for k in positions.get(slot, ())]
    found = [
        into[s]["src"] if s in into else name if s == primitive.OUTPUT else None for s in sources
    ]
    return [f for f in dict.fromkeys(found) if f is not None]


def _slots(node: Node, parts: list[tuple[Node, Any]]) -> list[int]:
    """The operand position of each contribution; they come in the order of the operands, some of
    which have none.
    """
    rules = [
        node.primitive.pull_rule(i) if isinstance(node, OpNode) else True
        for i in range(len(node.parents))
    ]
    slots, position = [], 0
    for parent, _ in parts:
        while node.parents[position] is not parent or rules[position] is None:
            position += 1
        slots.append(position)
        position += 1
    return slots


def _local_adjoints(node: OpNode, g: Any, parts: list[tuple[Node, Any]]) -> list[Any]:
    """∂y/∂x for each contribution where it is one number or one number an element: the
    operation's own rule with g = 1.
    """
    single = node.shape == () and all(p is None or p.shape == () for p in node.parents)
    if not single and not (node.primitive.elementwise and node.unbroadcast is None):
        return [None] * len(parts)
    ones = backend.ones(g.shape, g.dtype, g)
    return [_raw(c) for _, c in pull_operation(node, ones, {parent for parent, _ in parts}, False)]


def _separated(node: Node, g: Any, parts: list[tuple[Node, Any]]) -> list[list[Any]]:
    """For an operation with several results, what each of them sends to each operand: the rule
    is linear in the cotangents.
    """
    if not isinstance(node, OpNode):  # a user's Function is not called twice
        return [[] for _ in parts]
    needed = {parent for parent, _ in parts}
    alone = [
        [_raw(part) if i == k else None for i in range(len(g))]
        for k, part in enumerate(g)
        if part is not None
    ]
    columns = [
        [_raw(c) for _, c in pull_operation(node, cotangents, needed, False)]
        for cotangents in alone
    ]
    return [list(row) for row in zip(*columns, strict=True)]


def _local_tangents(call: _Call, out: Tensor, level: int) -> list[Any]:
    """∂y/∂x for each operand with a tangent, where it is one number or one number an element:
    the operation's own rule with ẋ = 1.
    """
    shapes = [a.shape for a in call.args if isinstance(a, Tensor)]
    if not (call.primitive.elementwise or (out.shape == () and not any(shapes))):
        return [None] * len(call.args)
    unit = []
    for a in call.args:
        if isinstance(a, Tensor):
            carried = a.tangents is not None and level in a.tangents
            a = wrap(
                a.array,
                None,
                {level: wrap(backend.ones(a.shape, a.dtype, a.array))} if carried else None,
            )
        unit.append(a)
    parts = forward.contributions(call.primitive, tuple(unit), call.params, wrap(out.array), level)
    return [None if p is None else _raw(p) for p in parts]
