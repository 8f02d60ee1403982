"""Random expression graphs as plain data, run by minigrad and by PyTorch, differentiated once and
twice, backward and forward.

A graph is a list of statements over numbered values; the first few are inputs. Each value is made
of earlier ones by an operation drawn from the table below, so paths meet, fan out and die. All
operations are smooth where they are used, or take the same value at their kinks in both libraries.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import minigrad as mg

Graph = list[tuple]

UNARY = {
    "sin": lambda m, x: x.sin(),
    "cos": lambda m, x: x.cos(),
    "tanh": lambda m, x: x.tanh(),
    "sigmoid": lambda m, x: x.sigmoid(),
    "exp": lambda m, x: (x.sin() * 0.7).exp(),
    "log": lambda m, x: (x * x + 0.5).log(),
    "sqrt": lambda m, x: (x * x + 0.3).sqrt(),
    "rsqrt": lambda m, x: (x * x + 0.3).rsqrt(),
    "reciprocal": lambda m, x: (x * x + 1).reciprocal(),
    "square": lambda m, x: x.sin().square(),
    "cube": lambda m, x: x.tanh() ** 3,
    "power": lambda m, x: (x * x + 0.2) ** 1.7,
    "expm1": lambda m, x: x.tanh().expm1(),
    "log1p": lambda m, x: (x * x).log1p(),
    "atan": lambda m, x: x.atan(),
    "asinh": lambda m, x: x.asinh(),
    "abs": lambda m, x: x.abs(),
    "relu": lambda m, x: x.relu(),
    "neg": lambda m, x: -x,
    "scaled": lambda m, x: 0.5 * x - 1,
    "divided": lambda m, x: 1.5 / (x * x + 2),
    "clamp": lambda m, x: x.clamp(-0.8, 0.9),
    "clone": lambda m, x: x.clone(),
    "floor": lambda m, x: x + x.floor() * 0.1,
}
BINARY = {
    "add": lambda m, a, b: a + b,
    "sub": lambda m, a, b: a - b,
    "mul": lambda m, a, b: a * b,
    "div": lambda m, a, b: a / (b * b + 1),
    "pow": lambda m, a, b: (a * a + 0.4) ** b.tanh(),
    "maximum": lambda m, a, b: m.maximum(a, b),
    "minimum": lambda m, a, b: m.minimum(a, b),
    "atan2": lambda m, a, b: m.atan2(a, b * b + 0.5),
    "logaddexp": lambda m, a, b: m.logaddexp(a, b),
    "where": lambda m, a, b: m.where(a.detach() > 0.1, a, b),
    "weighted": lambda m, a, b: a * b.detach() + b,
}
SIZE_LIMIT = 60


def generate(seed: int) -> Graph:
    """A graph of 20 to 60 statements; the same seed gives the same graph."""
    r = np.random.default_rng(seed)
    graph: Graph = [("input", _shape(r)) for _ in range(int(r.integers(1, 5)))]
    shapes = [s[1] for s in graph]
    length = int(r.integers(20, 61))
    while len(graph) < length:
        statement, shape = _statement(r, shapes)
        if (
            statement is not None
            and shape is not None
            and int(np.prod(shape)) <= SIZE_LIMIT
            and len(shape) <= 4
        ):
            graph.append(statement)
            shapes.append(shape)
    return graph


def _shape(r: Any) -> tuple[int, ...]:
    return tuple(int(n) for n in r.choice([1, 2, 3], size=r.choice([0, 1, 2, 2, 3])))


def _statement(
    r: Any, shapes: list[tuple[int, ...]]
) -> tuple[tuple | None, tuple[int, ...] | None]:
    a = (
        int(len(shapes) - 1 - min(r.geometric(0.3) - 1, len(shapes) - 1))
        if r.random() < 0.6
        else int(r.integers(len(shapes)))
    )
    shape, n = shapes[a], len(shapes[a])
    kind = r.choice(
        ["unary", "binary", "reduce", "shape", "index", "matmul", "join"],
        p=[0.24, 0.3, 0.1, 0.12, 0.12, 0.06, 0.06],
    )
    if kind == "unary":
        return ("unary", str(r.choice(list(UNARY))), a), shape
    if kind == "binary":
        fitting = [
            (b, np.broadcast_shapes(shape, s)) for b, s in enumerate(shapes) if _fits(shape, s)
        ]
        b, result = fitting[int(r.integers(len(fitting)))]
        return ("binary", str(r.choice(list(BINARY))), a, b), result
    if kind == "reduce":
        name = str(r.choice(["sum", "mean", "amax", "amin"]))
        axes = tuple(int(i) for i in range(n) if r.random() < 0.5) or tuple(range(n))
        name = name if all(shape) else "sum"  # extremes and means of nothing are errors and NaN
        keep = bool(r.random() < 0.4)
        return ("reduce", name, a, axes, keep), tuple(
            1 if i in axes else m for i, m in enumerate(shape) if keep or i not in axes
        )
    if kind == "shape":
        return _shaped(r, a, shape)
    if kind == "index" and n:
        index = _index(r, shape)
        return ("index", a, index), np.empty(shape)[_as_numpy(index)].shape
    if kind == "matmul" and n >= 1:
        fitting = [
            b
            for b, s in enumerate(shapes)
            if len(s) >= 1 and s[-2 if len(s) > 1 else 0] == shape[-1] and _fits(shape[:-2], s[:-2])
        ]
        if fitting:
            b = int(r.choice(fitting))
            return ("matmul", a, b), np.matmul(np.empty(shape), np.empty(shapes[b])).shape
    if kind == "join":
        same = [b for b, s in enumerate(shapes) if s == shape]
        parts = tuple(int(b) for b in r.choice(same, size=int(r.integers(2, 4))))
        if r.random() < 0.5 or not n:
            axis = int(r.integers(n + 1))
            return ("stack", parts, axis), (*shape[:axis], len(parts), *shape[axis:])
        axis = int(r.integers(n))
        return ("cat", parts, axis), (*shape[:axis], shape[axis] * len(parts), *shape[axis + 1 :])
    return None, None


def _shaped(r: Any, a: int, shape: tuple[int, ...]) -> tuple[tuple, tuple[int, ...]]:
    n = len(shape)
    name = str(r.choice(["reshape", "permute", "unsqueeze", "expand", "flip", "squeeze"]))
    if name == "reshape":
        sizes = (
            tuple(int(m) for m in r.permutation(shape))
            if r.random() < 0.6
            else (int(np.prod(shape)),)
        )
        return ("method", "reshape", a, sizes), sizes
    if name == "permute":
        axes = tuple(int(i) for i in r.permutation(n))
        return ("method", "permute", a, axes), tuple(shape[i] for i in axes)
    if name == "unsqueeze":
        axis = int(r.integers(n + 1))
        return ("method", "unsqueeze", a, axis), (*shape[:axis], 1, *shape[axis:])
    if name == "expand":
        sizes = (
            *((2,) if r.random() < 0.5 else ()),
            *(3 if m == 1 and r.random() < 0.7 else m for m in shape),
        )
        return ("method", "expand", a, sizes), sizes
    if name == "flip":
        return ("method", "flip", a, tuple(i for i in range(n) if r.random() < 0.5)), shape
    return ("method", "squeeze", a, None), tuple(m for m in shape if m != 1)


def _index(r: Any, shape: tuple[int, ...]) -> tuple:
    """Integers, slices, None, Ellipsis; at most one list of integers (repeats welcome) or one
    mask, which PyTorch and NumPy place alike.
    """
    if r.random() < 0.15:
        mask = r.random(shape) < 0.6
        return (("mask", tuple(bool(v) for v in mask.ravel()), shape),)
    parts: list[Any] = []
    listed = False
    for m in shape[: int(r.integers(1, len(shape) + 1))]:
        choice = r.random() if m else 1.0
        if choice < 0.25 and not listed:
            parts.append(int(r.integers(-m, m)))
        elif choice < 0.6:
            start = int(r.integers(0, m))
            parts.append(slice(start, int(r.integers(start + 1, m + 1)), int(r.choice([1, 1, 2]))))
        elif choice < 0.85 and not listed and not any(isinstance(p, int) for p in parts):
            parts.append([int(i) for i in r.integers(-m, m, size=int(r.integers(1, 4)))])
            listed = True
        else:
            parts.append(slice(None))
    if r.random() < 0.2:
        parts.append(Ellipsis)
    if r.random() < 0.15 and not listed:
        parts.insert(int(r.integers(len(parts) + 1)), None)
    return tuple(parts)


def _as_numpy(index: tuple, m: Any = None) -> tuple:
    """The index for NumPy (m None) or for a library m: lists and masks become arrays of its own."""
    out: list[Any] = []
    for part in index:
        if isinstance(part, tuple):
            part = np.array(part[1], dtype=bool).reshape(part[2])
        elif isinstance(part, list):
            part = np.array(part, dtype=np.int64)
        out.append(m.tensor(part) if m is not None and isinstance(part, np.ndarray) else part)
    return tuple(out)


def _fits(a: tuple[int, ...], b: tuple[int, ...]) -> bool:
    try:
        np.broadcast_shapes(a, b)
    except ValueError:
        return False
    return True


# ------------------------------------------------------------------------------------------ running


def input_values(graph: Graph) -> list[np.ndarray]:
    """Fixed pseudo-random numbers for the inputs of a graph."""
    r = np.random.default_rng((len(graph), 5))
    return [r.uniform(-1.5, 1.5, s[1]) for s in graph if s[0] == "input"]


def run(m: Any, graph: Graph, inputs: list[Any]) -> Any:
    """The graph's loss on the given inputs: the weighted sum of its last values (so that several
    outputs are pulled on).
    """
    values = list(inputs)
    for statement in graph[len(inputs) :]:
        kind, *rest = statement
        if kind == "unary":
            out = UNARY[rest[0]](m, values[rest[1]])
        elif kind == "binary":
            out = BINARY[rest[0]](m, values[rest[1]], values[rest[2]])
        elif kind == "reduce":
            name, a, axes, keep = rest
            out = getattr(values[a], name)(dim=axes, keepdim=keep)
        elif kind == "method":
            name, a, arguments = rest
            x = values[a]
            out = (
                x.squeeze()
                if name == "squeeze"
                else x.flip(arguments)
                if name == "flip"
                else getattr(x, name)(arguments)
            )
        elif kind == "index":
            out = values[rest[0]][_as_numpy(rest[1], m)]
        elif kind == "matmul":
            out = values[rest[0]] @ values[rest[1]]
        else:
            out = getattr(m, kind)([values[b] for b in rest[0]], rest[1])
        # Bounded values keep the comparison sharp after sixty operations.
        values.append(out.sin() if kind in ("matmul", "binary") else out)
    loss = values[-1].sum()
    for k, v in enumerate(values[len(inputs) : -1 : 5]):
        loss = loss + (0.3 + 0.1 * k) * v.mean() if v.numel() else loss
    return loss


def derivatives(m: Any, graph: Graph) -> dict[str, Any]:
    """The loss, its gradients, the slope in a fixed direction v, and the Hessian times v, in
    reverse mode (twice).
    """
    inputs = [m.tensor(x, requires_grad=True) for x in input_values(graph)]
    directions = [m.tensor(np.cos(1.0 + x)) for x in input_values(graph)]
    loss = run(m, graph, inputs)
    if not loss.requires_grad:
        return {"loss": loss.detach().numpy()}
    first = m.autograd.grad(loss, inputs, create_graph=True, materialize_grads=True)
    slope = sum((g * v).sum() for g, v in zip(first, directions, strict=True))
    second = (
        m.autograd.grad(slope, inputs, materialize_grads=True)
        if slope.requires_grad
        else [m.zeros_like(x) for x in inputs]
    )
    return {
        "loss": loss.detach().numpy(),
        "gradient": [g.detach().numpy(force=True) for g in first],
        "slope": slope.detach().numpy(force=True),
        "hessian·v": [g.numpy(force=True) for g in second],
    }


def forward_derivatives(graph: Graph) -> dict[str, Any]:
    """These derivatives by minigrad's forward mode: the slope by one push; v·Hessian·v by two;
    Hessian·v with each mode inside the other.
    """
    inputs = [mg.tensor(x) for x in input_values(graph)]
    directions = tuple(mg.tensor(np.cos(1.0 + x)) for x in input_values(graph))
    function = lambda *xs: run(mg, graph, list(xs))
    everything = tuple(range(len(inputs)))
    slope_at = lambda *xs: mg.func.jvp(function, xs, directions)[1]
    loss, slope = mg.func.jvp(function, tuple(inputs), directions)
    _, curvature = mg.func.jvp(slope_at, tuple(inputs), directions)
    _, over_reverse = mg.func.jvp(mg.func.grad(function, everything), tuple(inputs), directions)
    over_forward = mg.func.grad(slope_at, everything)(*inputs)
    return {
        "loss": loss.numpy(),
        "slope": slope.numpy(),
        "v·hessian·v": curvature.numpy(),
        "forward over reverse": [g.numpy() for g in over_reverse],
        "reverse over forward": [g.numpy() for g in over_forward],
    }


def disagreements(graph: Graph, torch: Any = None) -> list[str]:
    """What differs between the libraries and between the modes, if anything. Without PyTorch the
    modes are compared with each other.
    """
    mine = derivatives(mg, graph)
    pushed = forward_derivatives(graph)
    found = []
    if "gradient" in mine:
        v = [np.cos(1.0 + x) for x in input_values(graph)]
        pairs = [
            ("slope", [mine["slope"]], [pushed["slope"]]),
            (
                "v·hessian·v",
                [sum((h * w).sum() for h, w in zip(mine["hessian·v"], v, strict=True))],
                [pushed["v·hessian·v"]],
            ),
            ("forward over reverse", mine["hessian·v"], pushed["forward over reverse"]),
            ("reverse over forward", mine["hessian·v"], pushed["reverse over forward"]),
        ]
        found += [f"{name}: reverse {a}, forward {b}" for name, a, b in pairs if not _close(a, b)]
    if torch is not None:
        theirs = derivatives(torch, graph)
        found += [f"no {key} on one side" for key in set(mine) ^ set(theirs)]
        for key in mine.keys() & theirs.keys():
            a, b = (x if isinstance(x, list) else [x] for x in (mine[key], theirs[key]))
            if not _close(a, b):
                found.append(f"{key}: minigrad {a}, PyTorch {b}")
    return found


def _close(a: list[Any], b: list[Any]) -> bool:
    scale = max([1.0, *(float(np.max(np.abs(x), initial=0)) for x in b)])
    return all(
        np.shape(x) == np.shape(y)
        and np.allclose(x, y, rtol=1e-8, atol=1e-9 * scale, equal_nan=True)
        for x, y in zip(a, b, strict=True)
    )


def shrink(graph: Graph, fails: Any) -> Graph:
    """A smaller graph that still fails: statements taken off the end, and unused ones taken out."""
    changed = True
    while changed:
        changed = False
        for k in reversed(range(sum(s[0] == "input" for s in graph), len(graph))):
            smaller = _without(graph, k)
            if smaller is not None and fails(smaller):
                graph, changed = smaller, True
                break
    return graph


def _without(graph: Graph, k: int) -> Graph | None:
    lower = lambda v: v - 1 if v > k else v
    out: Graph = []
    for number, (kind, *rest) in enumerate(graph):
        if number == k:
            continue
        if kind == "input":
            out.append((kind, *rest))
            continue
        places = {
            "unary": [1],
            "binary": [1, 2],
            "reduce": [1],
            "method": [1],
            "index": [0],
            "matmul": [0, 1],
        }.get(kind)
        if places is None:
            if k in rest[0]:
                return None
            out.append((kind, tuple(lower(v) for v in rest[0]), rest[1]))
            continue
        if any(rest[p] == k for p in places):
            return None
        out.append((kind, *(lower(v) if p in places else v for p, v in enumerate(rest))))
    return out if len(out) > sum(s[0] == "input" for s in out) else None
