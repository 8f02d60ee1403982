"""Networks as graphs: the original network, the one that reverse mode adds to it, and the one that
a second reverse pass adds to that.

    backward_network(f, x)     f and its gradient: what GradOperation computes
    jvp_network(f, x)          f and J v by two reverse passes: what Jvp computes
    jvp_trace(f, x)            the same as a Trace, which a viewer lets grow node by node

Nothing is differentiated here. The function runs, and the engine's reverse passes run in their
recorded form (`create_graph`), under observation; each operation that they execute is a node. So a
picture of the network is a picture of what happened.

What the Jvp network teaches: the first reverse pass computes g(v) = Jᵀ v from a made-up v; the
second one differentiates g by v. g is linear in v, so the second pass needs no value that depends
on v. Those nodes are **dangling**: computed, and never needed. What the first pass computed from
the input alone (the derivatives of the single operations, such as cos x for sin x) is needed and
stays.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any

from .. import backend
from ..core.backward import differentiate
from ..core.tensor import Tensor, current_node, wrap
from ..errors import NonScalarError
from ..func.gradients import fitting, outputs_of
from ..func.tree import matching
from ..grad_mode import enable_grad
from ..trace.schema import Trace
from ..trace.text import number, text_of
from ..watch.cost import Cost, cost_of, make_place
from ..watch.sentences import given as given_words
from ..watch.trace import argument_names, as_input
from ..watch.trace_recorder import TraceRecorder
from ..watch.values import value as document_value

ROLES = ("original", "first backward", "second backward", "third backward")
"""The role of a node by its order: how many reverse passes deep the computation is that made it."""


@dataclass(frozen=True)
class NetworkNode:
    """One value of a network.

    id: as in the Trace; op: the operation's name (None for inputs, constants, parameters and seeds,
    which `kind` tells apart); inputs: the ids of its operands, in their order; value: the array;
    order: 0 for the original network, 1 for what the first reverse pass computed, and so on; role:
    that in words; dangling: whether no output needs it; name: the variable that held it in the
    program, if any;
    expression: how it is made; cost: what it took (zero for what is given).
    """

    id: str
    kind: str
    op: str | None
    inputs: tuple[str, ...]
    value: Any
    order: int
    dangling: bool
    name: str | None
    expression: str
    cost: Cost

    @property
    def role(self) -> str:
        """The order in words."""
        return ROLES[self.order]

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the value."""
        return tuple(self.value.shape)


@dataclass(frozen=True)
class Network:
    """A function and its derivative as one graph. nodes: in the order in which they were made;
    inputs, seeds, outputs: ids.

    The outputs are those of the function, and then the derivatives. trace: the same as a Trace
    document.
    """

    nodes: tuple[NetworkNode, ...]
    inputs: tuple[str, ...]
    seeds: tuple[str, ...]
    outputs: tuple[str, ...]
    trace: Trace

    def __getitem__(self, name: str) -> NetworkNode:
        for node in self.nodes:
            if node.id == name:
                return node
        raise KeyError(
            f"the network has no node {name!r}; it has {', '.join(n.id for n in self.nodes)}."
        )

    def __iter__(self) -> Iterator[NetworkNode]:
        return iter(self.nodes)

    def __len__(self) -> int:
        return len(self.nodes)

    def of_order(self, order: int) -> tuple[NetworkNode, ...]:
        """The nodes of one order."""
        return tuple(n for n in self.nodes if n.order == order)

    @property
    def dangling(self) -> tuple[NetworkNode, ...]:
        """The nodes that no output needs."""
        return tuple(n for n in self.nodes if n.dangling)

    def depending_on(self, *names: str) -> set[str]:
        """The ids of all nodes computed from the named ones, these included."""
        found = set(names)
        for node in self.nodes:
            if found.intersection(node.inputs):
                found.add(node.id)
        return found

    def cost(self, *, dangling: bool = True) -> Cost:
        """What all nodes took together; with dangling=False, what they would take if only needed
        nodes were computed."""
        return reduce(add, (n.cost for n in self.nodes if dangling or not n.dangling), Cost())

    def __str__(self) -> str:
        rows = [("node", "role", "made as", "value", "")]
        for n in self.nodes:
            made = n.expression or n.kind
            rows.append(
                (
                    n.id + (f" = {n.name}" if n.name else ""),
                    n.role,
                    made,
                    number(document_value(n.value)),
                    "dangling" if n.dangling else "",
                )
            )
        widths = [max(len(row[i]) for row in rows) for i in range(4)]
        return "\n".join(
            "  ".join(f"{cell:{w}}" for cell, w in zip(row, (*widths, 0), strict=True)).rstrip()
            for row in rows
        )


def backward_network(function: Callable[..., Any], *inputs: Any, order: int = 1) -> Network:
    """The network of a function and its gradients by all inputs, of one output or the sum of
    several.

    inputs: numbers (in double precision), arrays or tensors; the function gets fresh tensors.
    order: 1 for the gradient, 2 for the gradient of the (summed) gradient, at most 3. The seeds are
    ones, named v, v_2, v_3. Raises ValueError for another order, TypeError where the function does
    not return tensors.
    """
    if order not in (1, 2, 3):
        raise ValueError(f"backward_network: order must be 1, 2 or 3, got {order!r}.")
    watched = _Watched(function, inputs, "backward_network")
    results = watched.results
    for n in range(1, order + 1):
        seeds = watched.seeds("v" if n == 1 else f"v_{n}", results, n)
        results = watched.pull(results, seeds, watched.points)
    return watched.network(
        results, f"{watched.title} and its gradient" + f" of order {order}" * (order > 1)
    )


def jvp_network(function: Callable[..., Any], *inputs: Any, v: Any = None) -> Network:
    """The network of a function and its Jacobian-vector product by two reverse passes.

    v: the direction, nested like the tuple of inputs, or like the one input there is (default:
    ones). The first pass starts from the seed named v (ones), which has no influence; the second
    from the direction, named dx for the input x. Raises ShapeError or ValueError where the
    direction does not fit.
    """
    watched = _Watched(function, inputs, "jvp_network")
    directions = _directions(watched.points, v)
    seeds = watched.seeds("v", watched.results, 1)
    pulled = watched.pull(watched.results, seeds, watched.points)
    given = [
        watched.seed(f"d{name}", t, 2)
        for name, t in zip(watched.point_names, directions, strict=True)
    ]
    pushed = watched.pull(pulled, given, seeds)
    return watched.network(
        pushed, f"{watched.title} and its Jacobian-vector product by two reverse passes"
    )


def jvp_trace(function: Callable[..., Any], *inputs: Any, v: Any = None) -> Trace:
    """`jvp_network` as a Trace: each step adds one node, says how it is made, and what it costs."""
    return jvp_network(function, *inputs, v=v).trace


def backward_trace(function: Callable[..., Any], *inputs: Any, order: int = 1) -> Trace:
    """`backward_network` as a Trace, growing node by node."""
    return backward_network(function, *inputs, order=order).trace


def _directions(points: Sequence[Tensor], v: Any) -> list[Tensor]:
    if v is None:
        return [wrap(backend.ones(x.shape, x.dtype, x.array)) for x in points]
    given = (
        [v]
        if len(points) == 1 and not isinstance(v, tuple)
        else matching(tuple(points), v, "jvp_network: inputs and v")
    )
    return [
        fitting(t, x, f"jvp_network: v[{i}]", f"input {i}")
        for i, (t, x) in enumerate(zip(given, points, strict=True))
    ]


class _Watched:
    """A function that has run under observation, and the reverse passes that follow."""

    def __init__(self, function: Callable[..., Any], inputs: Sequence[Any], caller: str) -> None:
        self.caller = caller
        body = next(
            (
                b
                for name in ("construct", "forward")
                if (b := getattr(function, name, None)) is not None
            ),
            function,
        )
        names = argument_names(body, len(inputs), None)
        given = [as_input(a) for a in inputs]
        self.recorder = _NetworkRecorder(body, names, is_module=body is not function)
        self.points: list[Tensor] = []
        self.point_names: list[str] = []
        self.seed_names: list[str] = []
        with enable_grad():
            for name, x in zip(names, given, strict=True):
                if backend.is_differentiable(x.dtype):
                    make_place(x)
                    self.points.append(x)
                    self.point_names.append(name)
                self.recorder.input(x, name, None)
            if not self.points:
                raise TypeError(
                    f"{caller}: none of the inputs has a derivative; give at least one floating"
                    " number or tensor."
                )
            with self.recorder.at_work():
                result = function(*given)
            self.results, _ = outputs_of(result, caller)
        for out in self.results:
            if out.dtype.kind == "c":
                raise NonScalarError(
                    f"{caller}: an output is complex; take .real or .abs() in the function."
                )
            self.recorder.output(out)
        called = self.recorder.map.name if body is function else type(function).__name__
        self.title = f"{called}({', '.join(names)})"

    def seeds(self, name: str, results: Sequence[Tensor], order: int) -> list[Tensor]:
        """Ones to start a pass from, one for each result, as places of their own."""
        made = []
        for i, out in enumerate(results):
            place = wrap(backend.ones(out.shape, out.dtype, out.array))
            make_place(place)
            made.append(self.seed(name if len(results) == 1 else f"{name}_{i + 1}", place, order))
        return made

    def seed(self, name: str, tensor: Tensor, order: int) -> Tensor:
        """A value that a pass starts from, as a node with a name."""
        self.seed_names.append(self.recorder.seed(name, tensor, order))
        return tensor

    def pull(
        self, outputs: Sequence[Tensor], seeds: Sequence[Tensor], targets: Sequence[Tensor]
    ) -> list[Tensor]:
        """One reverse pass, recorded; zeros where nothing arrives."""
        pairs = [
            (node, seed)
            for out, seed in zip(outputs, seeds, strict=True)
            if (node := current_node(out)) is not None
        ]
        wanted = [x.node for x in targets if x.node is not None]
        with enable_grad(), self.recorder.at_work():
            found = differentiate(
                [n for n, _ in pairs],
                [s for _, s in pairs],
                targets=wanted,
                accumulate=False,
                create_graph=True,
                retain_graph=True,
            )
        return [
            (
                found[x.node]
                if x.node is not None and x.node in found
                else wrap(backend.zeros(x.shape, x.dtype, x.array))
            )
            for x in targets
        ]

    def network(self, derivatives: Sequence[Tensor], title: str) -> Network:
        """What was seen, as data."""
        for d in derivatives:
            self.recorder.output(d)
        return self.recorder.network(title, tuple(self.seed_names))


class _NetworkRecorder(TraceRecorder):
    """The observer that writes Traces, in the role of one that draws networks: it also notes
    values, orders and costs.
    """

    def __init__(self, function: Callable[..., Any], names: list[str], is_module: bool) -> None:
        super().__init__(function, names, None, level=0)
        self._is_module = is_module
        self.order = 0
        self.values: dict[str, Any] = {}
        self.orders: dict[str, int] = {}
        self.costs: dict[str, Cost] = {}

    def seed(self, name: str, tensor: Tensor, order: int) -> str:
        """A named value from which a reverse pass starts; another name if that one is taken."""
        while name in self.taken or name in self.by_id:
            name += "_"
        self.taken.add(name)
        self.order = order
        self.add(name, tensor, "seed", [])
        shown = document_value(tensor.array)
        words = given_words(name, "seed", shown)
        self.step("seed", name, [], [], [[name, "v", shown]], *words)
        return name

    def add(
        self, name: str, tensor: Tensor, kind: str, expr: list[Any], stage: str = "primal"
    ) -> dict[str, Any]:
        self.values[name], self.orders[name] = tensor.array, self.order
        return super().add(name, tensor, kind, expr, ROLES[self.order])

    def group(self) -> str:
        """The modules inside the one that is shown: that one is the whole picture, and no group
        in it.
        """
        path = super().group()
        return path.partition("/")[2] if self._is_module else path

    def note(self, call: Any, out: Tensor, index: int | None) -> str:
        name = super().note(call, out, index)
        if not index:  # the first of several results stands for all of them
            self.costs[name] = cost_of(call.primitive, call.args, [out], call.params)
        return name

    def network(self, title: str, seeds: tuple[str, ...]) -> Network:
        """All nodes, and the Trace, in which they appear one by one."""
        sources = {
            name: tuple(e["src"] for _, e in sorted(edges.items()))
            for name, edges in self.into.items()
        }
        needed = set(self.outputs)
        for node in reversed(self.nodes):
            if node["id"] in needed:
                needed.update(sources.get(node["id"], ()))
        for edge in self.edges:
            edge["stage"] = ROLES[self.orders[edge["dst"]]]
        born: set[str] = set()
        for step in self.steps:
            if step["node"] not in born:
                born.add(step["node"])
                step["add"] = [step["node"]]
                cost = self.costs.get(step["node"])
                if cost is not None:
                    step["cost"] = {"mul": cost.mul, "add": cost.add, "bytes": cost.bytes}
        trace = self.document(title)
        for node in trace["nodes"]:
            node.pop("dangling", None)
            if node["id"] not in needed and node["kind"] != "input":
                node["dangling"] = True
        nodes = tuple(self._network_node(node, sources) for node in self.nodes)
        return Network(nodes, tuple(self.inputs), seeds, tuple(self.outputs), trace)

    def _network_node(
        self, node: dict[str, Any], sources: dict[str, tuple[str, ...]]
    ) -> NetworkNode:
        name = node["id"]
        return NetworkNode(
            id=name,
            kind=node["kind"],
            op=node.get("op"),
            inputs=sources.get(name, ()),
            value=self.values[name],
            order=self.orders[name],
            dangling=node.get("dangling", False),
            name=node.get("name"),
            expression=text_of(node["expr"]),
            cost=self.costs.get(name, Cost()),
        )
