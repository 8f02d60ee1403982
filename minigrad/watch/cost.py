"""How many multiplications, additions and bytes a function and its derivatives take, counted while
the engine runs them.

    counts = count_operations(f, x, mode="vjp")
    counts.forward, counts.derivative          what f took, and what the pull took on top of it
    print(counts)                              a line for each operation

With it a lesson can see for itself why a Jacobian with few rows is built by rows (a pull each) and
one with few columns by columns, and why no derivative costs more than a few times the function.

A cost has four numbers: multiplications (divisions count as such), additions (and subtractions),
`other` operations on single elements (comparisons, sign changes, evaluations of sin, exp, …), and
bytes moved (all operands read once and all results written once; a view moves none). Declarations
say what operations cost (ops/costs.py).

A pass is counted in its recorded form (the rules run on tensors, as with `create_graph`), in which
every operation of a rule passes the engine's one instrumentation point. A plain pass does the same
arithmetic.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

from .. import backend, scalar
from ..core import observe
from ..core.backward import differentiate
from ..core.forward import forward_level
from ..core.graph import Node
from ..core.observe import Event
from ..core.primitive import Primitive
from ..core.tensor import Leaf, Tensor, current_node, make_leaf, wrap
from ..func.gradients import fitting, outputs_of
from ..func.tree import matching
from ..grad_mode import enable_grad
from ..observers import observing
from .trace import as_input

MODES = ("forward", "vjp", "jvp", "double backward")


@dataclass(frozen=True)
class Cost:
    """mul, add, other: numbers of operations on single elements; bytes: read and written;
    estimated: whether any of it is an estimate.
    """

    mul: int = 0
    add: int = 0
    other: int = 0
    bytes: int = 0
    estimated: bool = False

    def __add__(self, more: Cost) -> Cost:
        return Cost(
            self.mul + more.mul,
            self.add + more.add,
            self.other + more.other,
            self.bytes + more.bytes,
            self.estimated or more.estimated,
        )

    def __mul__(self, times: int) -> Cost:
        return Cost(
            self.mul * times,
            self.add * times,
            self.other * times,
            self.bytes * times,
            self.estimated,
        )

    __rmul__ = __mul__

    @property
    def operations(self) -> int:
        """All operations on single elements."""
        return self.mul + self.add + self.other


@dataclass(frozen=True)
class CountedOperation:
    """One operation that ran. phase: "forward", "vjp", "jvp", or "second vjp"; operation: its
    name; shape: of its (first) result.
    """

    phase: str
    operation: str
    shape: tuple[int, ...]
    cost: Cost


@dataclass(frozen=True)
class Counts:
    """Every operation that ran, in order, and the sums."""

    lines: tuple[CountedOperation, ...]

    def of(self, *phases: str) -> Cost:
        """The cost of some phases together."""
        return reduce(
            operator.add, (line.cost for line in self.lines if line.phase in phases), Cost()
        )

    @property
    def forward(self) -> Cost:
        """The function itself."""
        return self.of("forward")

    @property
    def derivative(self) -> Cost:
        """All that came on top of the function."""
        return self.of("vjp", "jvp", "second vjp")

    @property
    def total(self) -> Cost:
        """Both."""
        return self.forward + self.derivative

    def __str__(self) -> str:
        rows: list[tuple[str, ...]] = [
            ("phase", "operation", "shape", "mul", "add", "other", "bytes")
        ]
        for line in self.lines:
            rows.append(
                (
                    line.phase,
                    line.operation,
                    str(line.shape).replace(" ", ""),
                    *_figures(line.cost),
                )
            )
        rows += [
            (name, "total", "", *_figures(cost))
            for name, cost in (("forward", self.forward), ("derivative", self.derivative))
        ]
        widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
        return "\n".join(
            "  ".join(
                f"{cell:{'<' if i < 3 else '>'}{w}}"
                for i, (cell, w) in enumerate(zip(row, widths, strict=True))
            )
            for row in rows
        )


def _figures(cost: Cost) -> tuple[str, ...]:
    mark = "≈" if cost.estimated else ""
    return f"{mark}{cost.mul}", f"{mark}{cost.add}", f"{mark}{cost.other}", str(cost.bytes)


class _Counter:
    """The observer. A user's Function is not counted itself, but what runs inside it."""

    def __init__(self) -> None:
        self.phase = "forward"
        self.lines: list[CountedOperation] = []
        self.root = observe.observation.event

    def begin(self, event: Event) -> None:
        """Nothing is known yet."""

    def end(self, event: Event) -> None:
        """An operation has run."""
        if (
            event.phase != "forward"
            or event.error is not None
            or not isinstance(event.primitive, Primitive)
        ):
            return
        phase, container = self.phase, event.parent
        while container is not None and container is not self.root:
            if container.phase == "tangent":
                phase = "jvp"
                break
            container = container.parent
        results = event.result if isinstance(event.result, tuple) else (event.result,)
        cost = cost_of(event.primitive, event.args, results, event.params)
        self.lines.append(
            CountedOperation(phase, event.primitive.name, tuple(results[0].shape), cost)
        )


def count_operations(
    function: Callable[..., Any], *args: Any, mode: str = "forward", vector: Any = None
) -> Counts:
    """Run `function(*args)`, and a derivative of it, and count what they took.

    args: the inputs, numbers (in double precision), arrays or tensors; the function gets fresh
    tensors. mode: "forward" (the function alone), "vjp" (one reverse pass), "jvp" (one forward-mode
    pass) or "double backward" (the same product by two reverse passes, as in networks/jvp.py; its
    second pass has the phase "second vjp"). vector: the cotangent or tangent, nested like the
    outputs or the tuple of inputs (default: ones). Raises ValueError for another mode, TypeError
    where the function does not return tensors.
    """
    if mode not in MODES:
        raise ValueError(f"count_operations: mode must be one of {', '.join(MODES)}, got {mode!r}.")
    inputs = [as_input(a) for a in args]
    points = [x for x in inputs if backend.is_differentiable(x.dtype)]
    counter = _Counter()
    with enable_grad(), forward_level() as level:
        if mode == "jvp":
            for x, t in zip(
                points, _vectors(points, tuple(points), vector, "tangent"), strict=True
            ):
                x.tangents = {level: t}
        elif mode != "forward":
            for x in points:
                make_place(x)
        with observing(counter):
            flat, rebuild = outputs_of(function(*inputs), "count_operations")
            if mode == "vjp":
                counter.phase = "vjp"
                _pull(flat, _vectors(flat, rebuild(flat), vector, "cotangent"), points)
            elif mode == "double backward":
                counter.phase = "vjp"
                seeds = [_leaf(out) for out in flat]
                pulled = _pull(flat, seeds, points)
                counter.phase = "second vjp"
                directions = _vectors(points, tuple(points), vector, "tangent")
                _pull(
                    list(pulled.values()),
                    [t for x, t in zip(points, directions, strict=True) if x.node in pulled],
                    seeds,
                )
    return Counts(tuple(counter.lines))


def make_place(x: Tensor) -> None:
    """Make a tensor a leaf whose gradient is wanted, and stored nowhere."""
    make_leaf(x)
    assert isinstance(x.node, Leaf)
    x.node.stores_grad = False


def _ones(x: Tensor) -> Tensor:
    return wrap(backend.ones(x.shape, x.dtype, x.array))


def _leaf(out: Tensor) -> Tensor:
    """A cotangent that can be differentiated by."""
    seed = _ones(out)
    make_leaf(seed)
    return seed


def _vectors(values: list[Tensor], structure: Any, vector: Any, what: str) -> list[Tensor]:
    if vector is None:
        return [_ones(x) for x in values]
    single = (
        isinstance(structure, tuple)
        and len(structure) == 1
        and not isinstance(vector, tuple | list)
    )
    given = [vector] if single else matching(structure, vector, f"count_operations: {what}s")
    return [
        fitting(v, x, f"count_operations: {what} {i}", f"value {i}")
        for i, (v, x) in enumerate(zip(given, values, strict=True))
    ]


def _pull(outputs: list[Tensor], seeds: list[Tensor], points: list[Tensor]) -> dict[Node, Tensor]:
    """One reverse pass in its recorded form."""
    pairs = [
        (node, seed)
        for out, seed in zip(outputs, seeds, strict=True)
        if (node := current_node(out)) is not None
    ]
    targets = [x.node for x in points if x.node is not None]
    return differentiate(
        [n for n, _ in pairs],
        [s for _, s in pairs],
        targets=targets,
        accumulate=False,
        create_graph=True,
        retain_graph=True,
    )


# ------------------------------------------------------------------------------------ one operation


def cost_of(
    prim: Any, operands: Sequence[Any], results: Sequence[Any], params: dict[str, Any]
) -> Cost:
    """What one call of an operation costs.

    prim: its declaration (anything else, a user's Function say, is estimated as one operation for
    each element of its results);
    operands, results: whatever has `shape` and `dtype`; Python numbers count as scalars that move
    no bytes.
    """
    ins = [tuple(getattr(o, "shape", ())) for o in operands]
    outs = [tuple(r.shape) for r in results if hasattr(r, "shape")]
    moved = (
        0
        if isinstance(prim, Primitive) and prim.view
        else sum(
            math.prod(x.shape) * x.dtype.itemsize
            for x in (*operands, *results)
            if hasattr(x, "dtype")
        )
    )
    counts = _counts(prim, params) if isinstance(prim, Primitive) else None
    if counts is None or not outs:
        return Cost(other=sum(map(math.prod, outs)), bytes=moved, estimated=True)
    each = math.prod(outs[0])
    mul, add, other = counts(ins, outs, params) if callable(counts) else (each * n for n in counts)
    return Cost(mul, add, other, bytes=moved, estimated=hasattr(counts, "estimated"))


def _counts(prim: Primitive, params: dict[str, Any]) -> Any:
    """The cost that an operation declares, or what its scalar expression takes."""
    if prim.cost is not None or not prim.pointwise:
        return prim.cost
    term = scalar.term_of(prim.scalar, params)
    return (0, 0, 1) if term is None else _counted(term)


def _counted(term: scalar.Term) -> tuple[int, int, int]:
    """Multiplications (and divisions), additions (and differences), and all else. A choice with its
    condition is one operation."""
    if not isinstance(term, tuple):
        return 0, 0, 0
    word, *parts = term
    own = (word in ("*", "/"), word in ("+", "-"), word not in ("*", "/", "+", "-"))
    mul, add, other = (
        sum(column) for column in zip(own, *map(_counted, parts[word == "where" :]), strict=True)
    )
    return mul, add, other
