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
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any
from weakref import WeakKeyDictionary

from .. import backend
from ..core import observe, primitive
from ..core.graph import Node, OpNode, Pick, next_sequence_number, state
from ..core.observe import Event, unobserved
from ..core.tensor import Leaf, Tensor, current_node, wrap
from ..errors import AutogradError
from ..observers import Pooling, observing
from ..ops.terms import as_data
from . import not_finite, sentences
from .adjoints import Adjoints
from .blocks import Blocks, Stack, called_by_users, where_raised
from .derivatives import Made
from .notation import expression, num, plain, result_number, symbol
from .outside_names import place_of, tensors_in
from .plain_numbers import warn_of_plain_number
from .pooling_steps import in_one, position, written_parameters
from .source_map import SourceMap, is_operation
from .tangents import tangent_step
from .trace_writer import TraceWriter
from .values import array_of, payload_value, pictured

GENERATIONS = ("primal", "backward", "second backward", "third backward")
"""Stages of what reverse passes inside the traced function compute: derivatives, derivatives of
these, and so on.
"""


_HOLDERS = Tensor, list, tuple


class OperationCall:
    """An operation under way: what it was called with, as it was then (memory may be
    overwritten), and where in the source.
    """

    __slots__ = (
        "args",
        "block",
        "names",
        "of",
        "operands",
        "params",
        "pooling",
        "primitive",
        "pushed",
        "span",
        "stage",
        "variables",
    )

    def __init__(
        self, prim: Any, args: tuple[Any, ...], params: dict[str, Any], operands: list[str | None]
    ) -> None:
        self.primitive, self.params, self.operands = prim, params, operands
        self.args = tuple(
            [wrap(a.array, a.node, a.tangents) if isinstance(a, Tensor) else a for a in args]
        )
        self.names: list[str] = []  # of the results, once noted
        self.pushed: list[Any] = []  # what each operand contributed to the result's tangent
        self.span: list[int] | None = None
        self.block: str | None = None
        # that the result may be for, of the traced function and of the calls inside it
        self.variables: list[tuple[FrameType, str]] = []
        self.stage = "primal"
        self.of: str | None = None
        # of a pooling of several stages: the pooling, and which of its stages this operation is
        self.pooling: tuple[Pooling, int] | None = None


class _Innermost(threading.local):
    recorder: TraceRecorder | None = None


_innermost = _Innermost()
"""A traced function may trace another one: only the inner recorder notes what the inner function
does.
"""


class TraceRecorder(TraceWriter):
    """Turns engine events into nodes, edges and steps. One TraceRecorder writes one Trace."""

    def __init__(
        self,
        f: Callable[..., Any],
        labels: list[str],
        source: str | None,
        level: int,
        most: int | None = None,
    ) -> None:
        super().__init__(SourceMap(f, source), labels, most)
        self._level = level
        self._root = observe.observation.event  # the trace may itself be observed
        self._birth = next_sequence_number()  # older nodes were made before the traced function ran
        self.adjoints = Adjoints(self, self._birth)
        self._by_array: dict[Any, tuple[str, bytes]] = {}
        self._calls: dict[Event, OperationCall] = {}
        # where the latest result may have been assigned, and its node
        self._assigned: tuple[list[tuple[FrameType, str]], str] | None = None
        self._reversing = False
        # of a pass during which the trace itself runs, in a hook
        self._outer_pass = state.running_pass
        self._problem: AutogradError | None = None
        self._failed: tuple[OperationCall, int] | None = None  # the latest that raised, and what
        self._raised_in: list[FrameType] = []  # the call whose refused operands are being named
        self._failed_back: str | None = None  # the result whose rule raised in the reverse pass
        # of a pooling of several stages: the operations before the last, each with its result
        self._pooled: list[tuple[OperationCall, Tensor]] = []
        self._axes: WeakKeyDictionary[Node, str] = WeakKeyDictionary()  # results that were read

    # ----------------------------------------------------------------------- values and their names

    def name_of(self, value: Any) -> str | None:
        """The trace id of an operand; a tensor or array from outside becomes a constant or a
        parameter; None for a plain number.
        """
        if not isinstance(value, Tensor):
            return None if isinstance(value, numbers.Number) else self._constant_array(value)
        name = self.found(value)
        if name is not None:
            return name
        if value.view_of is not None and (
            self.found(value.view_of.base) or current_node(value) is not None
        ):
            return self._reread(value)
        place = current_node(value)
        if place is not None and place in self.within:
            return self._axis_of(value, place)
        if not isinstance(place, Leaf) and (
            (place is not None and place.sequence_number > self._birth)
            or self._level in (value.tangents or {})
        ):
            raise AutogradError(
                f"trace: an operand of shape {value.shape} was computed by the traced function in a"
                " way that is hidden from the Trace. Nothing was drawn, rather than something"
                " wrong."
            )
        path = self.parameter_path(value)
        known, held = (path, value) if path is not None else self._outside(value)
        if place is None and not isinstance(held, Tensor):  # a copy of an array or a list
            name = self._constant_array(held, known, value.dtype)
            self.remember(value, name)
            return name
        return self._from_outside(value, known, "constant" if place is None else "parameter")

    def _outside(self, value: Any) -> tuple[str | None, Any]:
        """What the program calls a value from outside, and the value or what it is a copy of."""
        calls = [*Blocks.running(self.blocks.stack()), *self._raised_in]
        return self.map.outside(value, calls) or (None, value)

    def _from_outside(self, tensor: Tensor, known: str | None, role: str) -> str:
        kind = "const" if role == "constant" else "param"
        name = self.own_name(known, kind[0])
        node = self.add(name, tensor, kind, [])
        if known is not None and known != name:
            node["name"] = known
        self._given(name, tensor.array, role)
        return name

    def _axis_of(self, value: Tensor, place: Node) -> str:
        """What a pooling has after some of its stages: a derivative that the function itself takes
        reads it. Which elements were chosen does not change with it, so that it is a constant."""
        if place not in self._axes:
            name = self._axes[place] = self.fresh_name("c")
            node = self.add(name, wrap(value.array), "const", [])
            node["name"] = f"{self.within[place]} along one axis"
            self._given(name, value.array, "constant")
        return self._axes[place]

    def _constant_array(self, value: Any, known: str | None = None, dtype: Any = None) -> str:
        """An array (or list) that was used as an operand as it is, or whose copy was; an array with
        equal elements is the same constant.
        """
        array = backend.as_payload(value, dtype)
        key, held = (place_of(value), array.dtype), backend.to_numpy(array).tobytes()
        name, before = self._by_array.get(key, (None, b""))
        if name is None or before != held:
            known = self._outside(value)[0] if known is None else known
            name = self._from_outside(wrap(array), known, "constant")
            self._by_array[key] = (name, held)
            self.alive.append(value)
        return name

    def _given(self, name: str, array: Any, role: str) -> None:
        shown = payload_value(array)
        writes = [[name, "v", pictured(shown, array)]]
        self.step("primal", name, [], [], writes, *sentences.given(name, role, shown))

    def _reread(self, view: Tensor) -> str:
        """A view of memory that was overwritten since: its values are those of the base as it is
        now, by the same steps.
        """
        assert view.view_of is not None
        steps = view.view_of.steps
        places: list[Any] = [current_node(view)]
        for _ in steps[1:]:
            places.insert(0, places[0].parents[0] if places[0] is not None else None)
        current = view.view_of.base
        for (prim, params), place in zip(steps, places, strict=True):
            call = OperationCall(prim, (current,), params, [self.name_of(current)])
            call.block = self.blocks.now(self.blocks.stack())
            with unobserved():
                current = prim(wrap(current.array, None, current.tangents), **params)
            current.node = place
            self._finish(call, current)
        if view.node is None:
            self.remember(view, call.names[0])
        return call.names[0]

    def input(self, tensor: Tensor, name: str, tangent: Tensor | None) -> None:
        """An argument gets its value, and in forward mode its seed."""
        self.add(name, tensor, "input", [])
        self.inputs.append(name)
        self._given(name, tensor.array, "input")
        if tangent is not None:
            shown = payload_value(tangent.array)
            self.seeds.setdefault("tangents", {})[name] = shown
            words = sentences.seeded(name, "dot", shown)
            self.step("seed", name, [], [], [[name, "d", shown]], *words)

    def output(self, tensor: Tensor) -> None:
        """What the function returned. Raises what made the Trace impossible, if something did."""
        self._note_pooled()
        self._name_assigned()
        self._raise_problem()
        name = self.name_of(tensor)
        assert name is not None
        self.outputs.append(name)
        if self.by_id[name]["kind"] == "op":
            self.by_id[name]["kind"] = "output"

    def reverse(self, seed: Any, differentiate: Callable[[], dict[Node, Tensor]] | None) -> None:
        """Note the output's own adjoint, where reverse mode begins, and the pass that
        `differentiate` runs, whose final adjoints of the leaves it returns (None: the output has no
        history). Raises what made the Trace impossible, if something did."""
        self._reversing = True
        self.adjoints.seed(seed)
        if differentiate is None:
            return
        with self.at_work():
            final = differentiate()
        self._raise_problem()
        self.adjoints.compare(final)

    def _raise_problem(self) -> None:
        if self._problem is not None:
            raise self._problem

    def run(self, f: Callable[..., Any], inputs: list[Tensor]) -> Any:
        """What f returns; it runs under observation."""
        with self.at_work():
            return self.blocks.run(f, inputs)

    def fail(self, error: BaseException) -> None:
        """f raised: the failing operation becomes a node without a value, and ends the Trace."""
        self._name_assigned()
        self._raise_problem()
        span, held = self.map.failed(error)
        text, inside = where_raised(error)
        if text is None and span is not None:
            text, inside = self.map.piece(span), held
        found = (
            [self.found(v) for v in h.values() if isinstance(v, Tensor)] for h in (inside, held)
        )
        call = self._failed[0] if self._failed and self._failed[1] == id(error) else None
        operands = [] if call else self._refused(error)
        operands = operands or next(([n for n in names if n] for names in found if any(names)), [])
        if call is not None:
            operands = [name for name in call.operands if name is not None]
            symbols = [
                symbol(o) if o is not None else plain(a)
                for o, a in zip(call.operands, call.args, strict=True)
            ]
            expr, span = expression(call.primitive, symbols, call.params), call.span or span
        else:
            expr = [] if text is None else [{"t": "text", "text": text}]
        self.failure(error, operands, expr, getattr(call and call.primitive, "name", ""), span)
        if (block := self.blocks.where_raised(error)) is not None:
            self.nodes[-1]["block"] = block
        if call is None and not (text and is_operation(text)) and span is not None:
            # no value was being made: the line stands in place of a formula
            node, told = self.nodes[-1], f"{type(error).__name__}: {error}"
            node |= {"label": {"base": self.map.line(span)}, "name": told, "expr": []}
            self.steps[-1]["formula"] = []

    def _refused(self, error: BaseException) -> list[str]:
        """The operands that a function of the library has refused before its operation began:
        constants, too, but no plain numbers. Of the functions that were at work, that with most
        tensors tells them.
        """
        calls = called_by_users(error)
        most: list[Tensor] = max(map(tensors_in, calls[1:]), key=len, default=[])
        self._raised_in = calls[:1]
        names = []
        for tensor in most:
            if not tensor.shape and not self.found(tensor) and self._outside(tensor)[0] is None:
                continue  # the library made it of a number
            with suppress(AutogradError):  # made on the way, inside the function
                names.append(self.name_of(tensor))
        self._raised_in = []
        return list(dict.fromkeys(name for name in names if name))

    def fail_back(self, error: BaseException) -> bool:
        """A rule of the reverse pass raised: the Trace ends at its operation. False if it was none
        of a Trace's."""
        if self._failed_back is None or self._problem is not None:
            return False
        text, _ = where_raised(error)
        self.failure_back(error, self._failed_back, text)
        return True

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
        """Warn where the traced function makes a plain number of a value; of a condition that
        reads it, note what it decides.
        """
        if kind == "item":
            self._note_decision(tensor, self.map.read)
        elif not self._reversing:
            warn_of_plain_number(tensor, kind)

    def indexed(self, tensor: Tensor) -> None:
        """Say of an input that range() cannot take it, and how it is left out of what is traced."""
        name = self.found(tensor)
        if name in self.inputs and tensor.array.size == 1:
            raise TypeError(
                f"range() and indices take integers, but {name} is a tensor of {tensor.dtype}, as"
                f" is each number that a traced function is called with. Give {name} a default"
                f" value, def f(x, {name}=3), and leave it out of the call; or trace"
                f" functools.partial(f, {name}=3)."
            )

    def decided(self, tensor: Tensor) -> None:
        """Note in the condition's own step what an `if` or a `while` does with it."""
        name = self._note_decision(tensor, self.map.decided)
        if name is not None:
            self.asked.add(name)

    def _note_decision(
        self, tensor: Tensor, find: Callable[[Any], tuple[dict[str, Any], str] | None]
    ) -> str | None:
        """Note at a value what a condition does with it, once where it is the same. find: what it
        does, by the value as a number. Returns the value's name."""
        if self._reversing or tensor.array.size != 1 or _innermost.recorder is not self:
            return None
        name = self.found(tensor)
        found = None if name is None else find(backend.to_numpy(tensor.array).item())
        if name is None or found is None or found[0] in self.by_id[name].get("decides", ()):
            return name
        step = next((s for s in reversed(self.steps) if s["node"] == name), None)
        if step is not None:
            self.asked.add(name)
            step.setdefault("decides", []).append(found[0])
            self.by_id[name]["decides"] = step["decides"]
            step["say"] = f"{step['say']} {found[1]}".rstrip()
        return name

    def begin(self, event: Event) -> None:
        """Note what an operation is called with, before it may be overwritten."""
        self.blocks.follow(False)  # first: whatever runs while lines are followed takes longer
        if self._is_own_rule(event):  # what it computes is no step
            others = tuple([one for one in event.listening if one is not self])
            observe.observation.listening = others
        elif (not self._reversing or event.phase == "region") and self._may_be_noted(event):
            self._carefully(self._begin, event, event)

    def end(self, event: Event) -> None:
        """Note what came out."""
        self.blocks.follow(False)
        if self._is_own_rule(event):
            observe.observation.listening = event.listening
        if self._may_be_noted(event):
            self._carefully(self._end, event, event.parent)

    def _carefully(
        self, function: Callable[[Event], None], event: Event, container: Event | None
    ) -> None:
        """What cannot be traced is reported when the function has ended: raised here, the
        function itself could catch it.

        container: the event that is under way afterwards.
        """
        if self._problem is None and _innermost.recorder is self:
            try:
                function(event)
            except AutogradError as problem:
                self._problem = problem
            finally:
                if self._may_contain_steps(container):
                    self.blocks.follow(True)

    def _is_own_rule(self, event: Event) -> bool:
        """Whether an event is a rule of the engine's that pushes a tangent of this Trace, or pulls
        an adjoint by values that are there."""
        if event.phase == "backward":
            node = event.node
            return self._reversing and isinstance(node, OpNode) and node.saved is not None
        own = event.phase == "tangent" and event.args[-1] <= self._level
        return own and isinstance(event.primitive, primitive.Primitive)

    def _may_be_noted(self, event: Event) -> bool:
        """Whether an event matters: the operations inside of the engine's own do not."""
        return event.phase != "forward" or self._may_contain_steps(event.parent)

    def _may_contain_steps(self, event: Event | None) -> bool:
        """Whether steps of the traced function may lie inside of an event: not inside of the
        engine's own operations, unless a derivative of the function's own passes through them."""
        if event is None or event is self._root or event.phase not in ("forward", "tangent"):
            return True
        if event.phase == "tangent":
            return bool(event.args[-1] > self._level)
        return not isinstance(event.primitive, primitive.Primitive)

    def _begin(self, event: Event) -> None:
        if event.phase == "region":
            self.saved.begin(event, self._reversing)
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
            and any([isinstance(a, Tensor) for a in event.args])
            and self._visible(event)
        ):
            self._calls[event] = self._call(event)
        elif event.phase == "assign" and self._visible(event):
            target, value = event.args
            if self._assigned is None or self.found(value) != self._assigned[1]:
                self._note_variable(self.map.frame())  # in `a += 1` the sum arrives in `a` after
            if target.view_of is None or isinstance(current_node(target), Leaf):
                self.name_of(value)
            else:  # what it means for the base: the same with a region replaced
                base, params = target.view_of.base, {"steps": target.view_of.steps}
                call = OperationCall(
                    primitive.registry["scatter_view"],
                    (base, value),
                    params,
                    [self.name_of(base), self.name_of(value)],
                )
                stack = self.blocks.stack()
                self._locate(call, stack, self.map.frame(stack))
                self._calls[event] = call

    def _end(self, event: Event) -> None:
        if event.phase == "region":
            self.saved.end(event, self._reversing)
        if self._reversing:
            if event.phase == "forward":
                self.saved.forward(event)
            if event.phase == "backward" and event.parent is self._root:
                if event.error is None:
                    self.adjoints.backward(event)
                else:
                    results = self.results_of.get(event.node, {}).values()
                    self._failed_back = next(iter(results), self.by_node.get(event.node))
            return
        call = self._calls.pop(event, None)
        if event.error is not None:
            if call is not None:
                self._failed = call, id(event.error)
            return
        if event.phase == "tangent" and event.parent is not None:
            pushing = self._calls.get(event.parent)
            own = isinstance(event.primitive, primitive.Primitive)  # not a user's Function
            if own and pushing is not None and event.args[-1] == self._level:
                pushing.pushed = event.result[1]
            return
        # whether the pass lets the values go is seen when it has gone on
        if event.phase == "backward":
            names = [self.by_node.get(event.node), *self.results_of.get(event.node, {}).values()]
            self.saved.walked(names)
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

    def _call(self, event: Event) -> OperationCall:
        stack = self.blocks.stack()
        frame = self.map.frame(stack)
        self._note_variable(frame)
        pooling = position(event.args, event.params)
        if self._pooled and pooling is not None and event.args[0] is self._pooled[-1][1]:
            first = self._pooled[0][0]
            call = OperationCall(event.primitive, first.args, event.params, first.operands)
            call.pooling, call.span, call.block = pooling, first.span, first.block
            call.variables, call.stage, call.of = first.variables, first.stage, first.of
            return call
        self._note_pooled()
        operands = [self.name_of(a) if _is_operand(a) else None for a in event.args]
        call = OperationCall(event.primitive, event.args, event.params, operands)
        self._locate(call, stack, frame)
        container = event.parent
        while container is not None and container.phase == "region" and container is not self._root:
            container = container.parent
        if container is not self._root and container is not None:
            if container.phase == "tangent":
                assert container.parent is not None
                call.stage, call.of = "jvp", self._calls[container.parent].names[0]
            else:
                call.of = self.by_node.get(container.node)
                call.stage = GENERATIONS[self._generation(operands, call.of)]
        elif state.running_pass is not self._outer_pass:
            # a reverse pass is under way, between two operations: contributions are added up
            call.stage = GENERATIONS[self._generation(operands, None)]
        if pooling is not None and pooling[1] == 0 and event.parent is self._root:
            deeper = max((event.args[0].tangents or {self._level: None}), default=0)
            call.pooling = pooling if deeper <= self._level else None
        return call

    def _note_pooled(self) -> None:
        """Stages of a pooling that was not completed are operations of their own."""
        held, self._pooled = self._pooled, []
        for call, result in held:
            call.pooling = None
            self._finish(call, result)

    def _generation(self, operands: list[str | None], of: str | None) -> int:
        """How many reverse passes lie between the function and what is computed now: one more than
        for the operation that is differentiated, and no fewer than for what it is computed from.
        """
        known = [
            GENERATIONS.index(stage)
            for o in operands
            if o is not None and (stage := self.by_id[o]["stage"]) in GENERATIONS
        ]
        before = (
            0
            if of is None or self.by_id[of]["stage"] not in GENERATIONS
            else GENERATIONS.index(self.by_id[of]["stage"])
        )
        return min(max(before + 1, *known, 1), len(GENERATIONS) - 1)

    def _locate(self, call: OperationCall, stack: Stack, frame: FrameType | None) -> None:
        """Where in the source the traced function stands. stack: the calls that run; frame: that of
        the traced function."""
        if frame is not None:
            call.span = self.map.span(frame)
        call.block = self.blocks.now(stack)
        for one in dict.fromkeys([*([] if frame is None else [frame]), *Blocks.running(stack)]):
            variable = self.map.variable(one)
            if variable is not None:
                call.variables.append((one, variable))

    def bound(self, frame: FrameType, variables: Sequence[str]) -> None:
        self._name_assigned()  # `a = …` goes before what a function that is given a calls it
        super().bound(frame, variables)

    def _note_variable(self, frame: FrameType | None) -> None:
        """Name the latest result, and see what the traced function's variables hold now."""
        self._name_assigned()
        self.map.look_again(frame)

    def _name_assigned(self) -> None:
        """If the latest result was meant for a variable and has arrived there, the node gets the
        variable's name.
        """
        if self._assigned is not None:
            variables, name = self._assigned
            for frame, variable in variables:
                held = self.map.held(frame).get(variable)
                if isinstance(held, Tensor) and self.found(held) == name:
                    self.call_it(variable, name, frame)
            self._assigned = None

    # -------------------------------------------------------------------------- values and tangents

    def _finish(self, call: OperationCall, result: Any) -> None:
        """An operation has its result or results: a node, its edges and a step for each, and a
        step for each tangent.
        """
        if call.pooling is not None:
            pooling, number = call.pooling
            if number < len(pooling.stages) - 1:
                self._pooled.append((call, result))
                return
            call.primitive = in_one(pooling)
            call.params = written_parameters(pooling, result.shape)
        several = isinstance(result, tuple)
        for index, out in enumerate(result if several else (result,)):
            if isinstance(out, Tensor):
                call.names.append(self.note(call, out, index if several else None))
        for index, out in enumerate(result if several else (result,)):
            if isinstance(out, Tensor) and out.tangents and self._level in out.tangents:
                tangent_step(self, call, result, out, index if several else None, self._level)
        for _, inner in self._pooled if call.pooling is not None else ():
            if inner.node is not None:
                self.within[inner.node] = call.names[0]
        self._pooled = []
        if call.variables and isinstance(result, Tensor):
            self._assigned = call.variables, call.names[0]

    def note(self, call: OperationCall, out: Tensor, index: int | None) -> str:
        """The node, the edges and the step of a result; its name."""
        prim, operands = call.primitive, call.operands
        name = self.fresh_name("v")
        result = payload_value(out.array)  # refuses what is no array before anything is written
        shown = [
            (o, a)
            for o, a in zip(operands, call.args, strict=True)
            if o is not None or not callable(a)
        ]  # a rule is no operand
        symbols = [symbol(o) if o is not None else plain(a) for o, a in shown]
        if isinstance(prim, primitive.Primitive) and index is None:
            self.rules.note(name, Made.by(prim, call.args, symbols, call.params))
        expr = expression(prim, symbols, call.params)
        expr = expr if index is None else result_number(expr, index)
        node = self.add(name, out, "op", expr, call.stage)
        node["op"] = prim.name
        if call.block is not None:
            node["block"] = call.block
        if call.of is not None:
            node["of"] = call.of
        if call.span is not None:
            node["span"] = call.span
        edges = self.connect(node, operands, getattr(prim, "pointwise", False))
        place = out.node
        if isinstance(place, Pick) and place.parents[0] is not None:
            self.results_of.setdefault(place.parents[0], {})[place.index] = name
            place = place.parents[0]
        self.saved.note(name, place, operands)
        arithmetic = None
        if index is None and not any([getattr(array_of(a), "ndim", 0) for a in call.args]):
            values = [
                num(payload_value(a.array), "v") if isinstance(a, Tensor) else plain(a)
                for _, a in shown
            ]
            arithmetic = expression(prim, values, call.params)
        formula, say = sentences.computed(name, expr, arithmetic, result, self.text_of(name))
        reads = [[o, "v"] for o in dict.fromkeys(operands) if o is not None]
        more: dict[str, Any] = {"line": call.span[0]} if call.span is not None else {}
        if not_finite.kind(result) is not None:
            self.made[name] = not_finite.made_here(prim, call.args, call.params, out.array, symbols)
        if call.stage != "primal":
            more["add"] = [name]  # a derivative that the function itself takes makes the graph grow
        self.step(
            "primal",
            name,
            edges,
            reads,
            [[name, "v", pictured(result, out.array)]],
            formula,
            say,
            **more,
        )
        self._note_terms(call, node, out)
        return name

    def _note_terms(self, call: OperationCall, node: dict[str, Any], out: Tensor) -> None:
        """Which elements meet in those of a result, and these elements."""
        formula = getattr(call.primitive, "terms", None)
        if formula is None or not all([isinstance(a, Tensor) for a in call.args]):
            return
        shapes = [tuple(a.shape) for a in call.args]
        if not any([*shapes, out.shape]):  # single numbers have no elements
            return
        terms = as_data(formula(shapes, tuple(out.shape), call.params))
        if terms is None:
            return
        node["terms"] = terms
        read = zip(call.operands, call.args, strict=True)
        arrays = {name: a.array for name, a in read if name is not None}
        targets = [-1, *(i for i, a in enumerate(call.args) if a.requires_grad)]
        self.hold(node["id"], "v", {**arrays, node["id"]: out.array}, targets)

    def _assign(self, call: OperationCall | None, target: Tensor, value: Tensor) -> None:
        """An in-place operation has written: from now on the target (or the tensor that it looks
        into) stands for the new value.
        """
        written = target if call is None else target.view_of.base
        place = written.node
        if (
            place is not None
            and place in self.by_node
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
            name = self.name_of(value)
            assert name is not None
            self.remember(target, name)


def _is_operand(a: Any) -> bool:
    return isinstance(a, _HOLDERS) or (hasattr(a, "dtype") and hasattr(a, "shape"))
