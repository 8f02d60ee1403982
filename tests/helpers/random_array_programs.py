"""Random programs over the array vocabulary, as plain data: indices, in-place changes of windows,
broadcasting, scans, where, order, gathering and scattering, complex numbers.

A program is a list of steps (name, setting, operands). Operands 0, 1, 2 are the inputs (two real
ones, a complex one), k + 3 is the result of step k; the last result is the program's. The same
steps run in minigrad and in PyTorch, since `TABLE` uses names that both have.
"""

# tables: one entry a line

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

Step = tuple[str, Any, list[int]]


class Entry(NamedTuple):
    """How many operands, how its setting is drawn from a generator and their shapes, what it
    does, and on which kinds of numbers.
    """

    operands: int
    draw: Callable[..., Any]
    run: Callable[..., Any]
    kinds: str = "fc"
    weight: int = 1


# --------------------------------------------------------------------------------- drawing settings


def nothing(r: Any, *shapes: Any) -> None:
    """No setting."""


def axis(r: Any, shape: Any) -> int:
    return int(r.integers(-len(shape), len(shape)))


def window(r: Any, shape: Any, lists: bool = False) -> tuple:
    """An index of numbers, slices and new axes; if `lists`, with one list of numbers perhaps."""
    parts: list[Any] = []
    for n in shape:
        kind = r.integers(0, 6)
        if kind == 3 and lists and not any(isinstance(p, list) for p in parts):
            parts.append([int(i) for i in r.integers(-n, n, size=r.integers(1, 4))])
            continue
        whole = slice(None)
        drawn = [
            [int(r.integers(-n, n))],
            [slice(int(r.integers(0, n)), None)],
            [slice(None, None, 2)],
            [whole],
            [None, whole],
            [whole],
        ]
        parts += drawn[kind]
    return tuple(parts)


def places(r: Any, shape: Any, length: int | None = None) -> tuple[int, list]:
    """An axis, and an index along it."""
    along = axis(r, shape)
    sizes = list(shape)
    sizes[along] = length or int(r.integers(1, 4))
    return along, r.integers(0, shape[along], size=sizes).tolist()


def every_place(r: Any, shape: Any) -> tuple[int, list]:
    """An axis, and an index along it in which each place occurs once."""
    along = axis(r, shape)
    counted = np.moveaxis(
        np.broadcast_to(np.arange(shape[along]), np.moveaxis(np.empty(shape), along, -1).shape),
        -1,
        along,
    )
    return along, r.permuted(counted, axis=along).tolist()


def part(r: Any, shape: Any) -> tuple[int, int]:
    """An axis, and a number up to its length."""
    along = axis(r, shape)
    return along, int(r.integers(1, shape[along] + 1))


def reduction(r: Any, shape: Any) -> tuple[int, bool]:
    return axis(r, shape), bool(r.integers(2))


def scattering(r: Any, shape: Any) -> tuple:
    along = axis(r, shape)
    kind = ["sum", "prod", "mean", "amax", "amin"][r.integers(5)]
    return along, r.integers(0, shape[along], size=shape).tolist(), kind, bool(r.integers(2))


CHANGES: dict[str, Callable[..., Any]] = {
    "add_": lambda v, b, y: v.add_(y.sum()),
    "mul_": lambda v, b, y: v.mul_(y.mean()),
    "div_": lambda v, b, y: v.div_(y.sum() * y.sum().conj() + 2),
    "sin_": lambda v, b, y: v.sin_(),
    "pow_": lambda v, b, y: v.pow_(2),
    "zero_": lambda v, b, y: v.zero_(),
    "copy_": lambda v, b, y: v.copy_((v * y.sum()).detach() * 0.5 + y.mean()),
    "sub_ of the base": lambda v, b, y: v.sub_(b.sum()),
    "cumsum_": lambda v, b, y: v.cumsum_(-1),
    "masked_fill_": lambda v, b, y: v.masked_fill_(v.real > 0 if v.is_complex() else v > 0, 0.25),
    "all set": lambda v, b, y: v.__setitem__(Ellipsis, y.sum() * v),
    "first set": lambda v, b, y: v.__setitem__(0, y.sum()),
    "+= of itself": lambda v, b, y: v.__iadd__(v.flip(0)),
}


def change(r: Any, shape: Any, other: Any) -> tuple:
    """Which window of a copy is changed how, through how many windows, and whether the copy was
    used before.
    """
    windows = [
        ("index", window(r, shape)),
        ("transpose", (axis(r, shape), axis(r, shape))),
        ("flat", None),
        ("diagonal", None),
        ("all", None),
    ]
    found = windows[r.integers(5)]
    names = list(CHANGES)
    return (
        (found if found[0] != "diagonal" or len(shape) > 1 else windows[0]),
        bool(r.integers(2)),
        names[r.integers(len(names))],
        r.random() < 0.3,
    )


def changed(lib: Any, setting: tuple, x: Any, y: Any) -> Any:
    (kind, where), twice, name, used = setting
    base = x.reshape(-1).clone().reshape(x.shape)
    looks = {
        "index": lambda: base[where],
        "transpose": lambda: base.transpose(*where),
        "flat": lambda: base.view(-1),
    }
    seen = looks.get(kind, base.diagonal if kind == "diagonal" else lambda: base)()
    seen = seen[...] if twice else seen
    before = (base * y.sum()).sum() if used else 0
    CHANGES[name](seen, base, y)
    return base + seen.sum() + before


def written(lib: Any, setting: tuple, x: Any, y: Any) -> Any:
    index, by_number = setting
    base = x.reshape(-1).clone().reshape(x.shape)
    base[index] = y.sum() if by_number else base[index] * y.mean()
    return base


def scattered(lib: Any, setting: tuple, x: Any) -> Any:
    along, index, kind, include = setting
    return lib.scatter_reduce(
        x * 1.5, along, lib.tensor(index), x.sin(), kind, include_self=include
    )


TABLE: dict[str, Entry] = {
    # indices and windows
    "getitem": Entry(1, lambda r, s: window(r, s, lists=True), lambda lib, p, x: x[p], weight=4),
    "changed": Entry(2, change, changed, weight=14),
    "written": Entry(2, lambda r, s, t: (window(r, s), bool(r.integers(2))), written, weight=4),
    "gather": Entry(1, places, lambda lib, p, x: lib.gather(x, p[0], lib.tensor(p[1])), weight=2),
    "take_along_dim": Entry(1, places, lambda lib, p,
        x: lib.take_along_dim(x, lib.tensor(p[1]), p[0])),
    "index_select": Entry(1, lambda r,
        s: (lambda d: (d, r.integers(0, s[d], size=3).tolist()))(axis(r, s)), lambda lib, p,
        x: lib.index_select(x, p[0], lib.tensor(p[1]))),
    "index_add": Entry(1, lambda r,
        s: (lambda d: (d, r.integers(0, s[d], size=s[d]).tolist()))(axis(r, s)), lambda lib, p,
        x: lib.index_add(x, p[0], lib.tensor(p[1]), x.cos())),
    "scatter": Entry(1, every_place, lambda lib, p,
        x: lib.scatter(x * 2, p[0], lib.tensor(p[1]), x.sin()), weight=2),
    "scatter_add": Entry(1, lambda r,
        s: (lambda d: (d, r.integers(0, s[d], size=s).tolist()))(axis(r, s)), lambda lib, p,
        x: lib.scatter_add(x, p[0], lib.tensor(p[1]), x * x), weight=2),
    "scatter_reduce": Entry(1, scattering, scattered, "f", 2),
    "masked_select": Entry(1, lambda r, s: (r.random(s) < 0.6).tolist(), lambda lib, p,
        x: lib.masked_select(x, lib.tensor(p))),
    "transpose": Entry(1, lambda r, s: (axis(r, s), axis(r, s)), lambda lib, p, x: x.transpose(*p)),
    "unsqueeze": Entry(1, lambda r, s: int(r.integers(-len(s) - 1, len(s) + 1)), lambda lib, p,
        x: x.unsqueeze(p)),
    "expand": Entry(1, nothing, lambda lib, p, x: x.unsqueeze(0).expand(2, *x.shape)),
    "flat": Entry(1, nothing, lambda lib, p, x: x.reshape(-1)),
    "diagonal": Entry(1, lambda r, s: int(r.integers(-1, 2)), lambda lib, p, x: x.diagonal(p)),
    "unfold": Entry(1, lambda r, s: (*part(r, s), int(r.integers(1, 3))), lambda lib, p,
        x: x.unfold(*p)),
    "flip": Entry(1, axis, lambda lib, p, x: x.flip(p)),
    "roll": Entry(1, lambda r, s: (int(r.integers(-3, 4)), axis(r, s)), lambda lib, p,
        x: x.roll(*p)),
    "repeat_interleave": Entry(1, axis, lambda lib, p, x: x.repeat_interleave(2, p)),
    "cat": Entry(2, nothing, lambda lib, p, x, y: lib.cat([x.reshape(-1), y.reshape(-1)])),
    "stack": Entry(1, axis, lambda lib, p, x: lib.stack([x, x * x, x.conj()], p)),
    "tril": Entry(1, lambda r, s: int(r.integers(-1, 2)), lambda lib, p, x: x.tril(p)),
    # element by element
    "add": Entry(2, nothing, lambda lib, p, x, y: x + y, weight=2),
    "sub": Entry(2, nothing, lambda lib, p, x, y: x - y),
    "mul": Entry(2, nothing, lambda lib, p, x, y: x * y, weight=2),
    "div": Entry(2, nothing, lambda lib, p, x, y: x / (y * y.conj() + 1.5)),
    "pow": Entry(1, lambda r, s: int(r.integers(2, 4)), lambda lib, p, x: x**p),
    "exp": Entry(1, nothing, lambda lib, p, x: (x * 0.3).exp()),
    "sin": Entry(1, nothing, lambda lib, p, x: x.sin()),
    "tanh": Entry(1, nothing, lambda lib, p, x: x.tanh()),
    "abs": Entry(1, nothing, lambda lib, p, x: x.abs()),
    "sqrt": Entry(1, nothing, lambda lib, p, x: (x * x + 2).sqrt()),
    "clamp": Entry(1, nothing, lambda lib, p, x: x.clamp(-0.7, 0.9), "f"),
    "where": Entry(3, nothing, lambda lib, p, c, x,
        y: lib.where((c.real if c.is_complex() else c) > 0, x, y), weight=2),
    "maximum": Entry(2, nothing, lambda lib, p, x, y: lib.maximum(x, y), "f"),
    "logaddexp": Entry(2, nothing, lambda lib, p, x, y: lib.logaddexp(x, y), "f"),
    # along an axis
    "cumsum": Entry(1, axis, lambda lib, p, x: x.cumsum(p), weight=2),
    "cumprod": Entry(1, axis, lambda lib, p, x: x.cumprod(p), weight=2),
    "cummax": Entry(1, axis, lambda lib, p, x: x.cummax(p)[0], "f"),
    "logcumsumexp": Entry(1, axis, lambda lib, p, x: x.logcumsumexp(p), "f"),
    "diff": Entry(1, axis, lambda lib, p, x: x.diff(dim=p)),
    "sort": Entry(1, reduction, lambda lib, p, x: x.sort(p[0], descending=p[1])[0], "f", 2),
    "topk": Entry(1, part, lambda lib, p, x: x.topk(p[1], p[0])[0], "f", 2),
    "kthvalue": Entry(1, part, lambda lib, p, x: x.kthvalue(p[1], p[0])[0], "f"),
    # of an expanded tensor PyTorch gives unwritten memory
    "median": Entry(1, axis, lambda lib, p, x: (x * 1).median(p)[0], "f"),
    "sum": Entry(1, reduction, lambda lib, p, x: x.sum(p[0], keepdim=p[1])),
    "mean": Entry(1, reduction, lambda lib, p, x: x.mean(p[0], keepdim=p[1])),
    "prod": Entry(1, reduction, lambda lib, p, x: x.prod(p[0], keepdim=p[1])),
    "amax": Entry(1, axis, lambda lib, p, x: x.amax(p), "f"),
    "var": Entry(1, axis, lambda lib, p, x: x.var(p, unbiased=False)),
    "logsumexp": Entry(1, axis, lambda lib, p, x: x.logsumexp(p), "f"),
    "softmax": Entry(1, axis, lambda lib, p, x: x.softmax(p), "f"),
    "norm": Entry(1, lambda r, s: (int(r.integers(1, 4)), axis(r, s)), lambda lib, p,
        x: lib.linalg.vector_norm(x, *p)),
    "renorm": Entry(1, axis, lambda lib, p, x: lib.renorm(x, 2, p, 1.0), "f"),
    # products
    "matmul": Entry(1, nothing, lambda lib, p, x: x @ x.mT),
    "outer": Entry(2, nothing, lambda lib, p, x,
        y: lib.outer(x.reshape(-1)[:3], y.reshape(-1)[:3])),
    "einsum": Entry(2, nothing, lambda lib, p, x, y: lib.einsum("...i,...j->...ij", x, y)),
    # complex numbers
    "complex": Entry(2, nothing, lambda lib, p, x, y: lib.complex(x + 0 * y, y + 0 * x), "f", 2),
    "polar": Entry(2, nothing, lambda lib, p, x, y: lib.polar((x + 0 * y).abs() + 1, y + 0 * x),
        "f"),
    "real": Entry(1, nothing, lambda lib, p, x: x.real, "c", 2),
    "imag": Entry(1, nothing, lambda lib, p, x: x.imag, "c", 2),
    "conj": Entry(1, nothing, lambda lib, p, x: x.conj(), "c"),
    "angle": Entry(1, nothing, lambda lib, p, x: (x + 3).angle(), "c"),
    "view_as_real": Entry(1, nothing, lambda lib, p, x: lib.view_as_real(x.resolve_conj()), "c"),
}  # fmt: skip
DRAWN = [name for name, entry in TABLE.items() for _ in range(entry.weight)]


# ------------------------------------------------------------------------------ programs from seeds


def inputs(seed: int) -> list[Any]:
    """Two real arrays and a complex one."""
    r = np.random.default_rng([seed, 1])
    real = [r.standard_normal(tuple(r.integers(2, 4, size=r.integers(1, 4)))) for _ in range(2)]
    return [*real, r.standard_normal((2, 3)) + 1j * r.standard_normal((2, 3))]


def generate(seed: int, lib: Any, longest: int = 24) -> list[Step]:
    """Steps that `lib` runs on the inputs of that seed with finite numbers of moderate size, of
    which the last one depends on all.
    """
    r = np.random.default_rng(seed)
    values = [lib.tensor(a) for a in inputs(seed)]
    steps: list[Step] = []
    wanted = int(r.integers(3, longest))
    for _ in range(200):
        if len(steps) == wanted:
            break
        name = DRAWN[r.integers(len(DRAWN))]
        entry = TABLE[name]
        operands = [int(max(r.integers(0, len(values), size=3))) for _ in range(entry.operands)]
        found = [values[i] for i in operands]
        if any("fc"[v.is_complex()] not in entry.kinds or v.ndim == 0 for v in found):
            continue
        if name in ("changed", "written") and found[1].is_complex() and not found[0].is_complex():
            continue  # minigrad refuses to drop imaginary parts
        try:
            setting = entry.draw(r, *(tuple(v.shape) for v in found))
            made = entry.run(lib, setting, *found)
        except (RuntimeError, IndexError, ValueError):  # the shapes do not fit
            continue
        if 0 < made.numel() <= 400 and bool((made.abs() < 50).all()):
            values.append(made)
            steps.append((name, setting, operands))
    return needed(steps)


def needed(steps: list[Step]) -> list[Step]:
    """The steps on which the last one depends."""
    wanted, kept = {len(steps) + 2}, []
    for k in reversed(range(len(steps))):
        if k + 3 in wanted:
            wanted |= set(steps[k][2])
            kept.append(k)
    numbers = {0: 0, 1: 1, 2: 2} | {k + 3: i + 3 for i, k in enumerate(reversed(kept))}
    return [(steps[k][0], steps[k][1], [numbers[i] for i in steps[k][2]]) for k in reversed(kept)]


def run(lib: Any, steps: list[Step], xs: Any) -> Any:
    """The result of the last step."""
    values = list(xs)
    for name, setting, operands in steps:
        values.append(TABLE[name].run(lib, setting, *(values[i] for i in operands)))
    return values[-1]
