"""SINGA's 75 operators as a table to browse: family by family, what each does in a line, and a
picture of an example that was run.

    python -m minigrad.lessons.operators          writes lessons/operators.md and its pictures

The line is the operator's own docstring, the arguments are its signature, and the picture shows
what the engine gave: a curve with its derivative for operators of one number, cells with numbers
for the others. SAMPLES says which example is run and what NumPy says of it.
"""

from __future__ import annotations

import base64
import html
import inspect
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import minigrad as mg
from minigrad import autograd, singa

from .svg import Picture

LESSONS = Path(__file__).parent
PAGE, PICTURES = LESSONS / "operators.md", LESSONS / "figures" / "operators"

A = np.array([[1.0, -2.0, 3.0], [0.5, 2.0, -1.0]])
B = np.array([[2.0, 2.0, -1.0], [1.0, -3.0, 0.5]])
ROW, COLUMN = np.array([10.0, 20.0, 30.0]), np.array([[1.0], [2.0]])
YES, NO = A > 0, B > 0
SCORES, CLASSES = np.array([[2.0, 0.5, -1.0], [0.0, 1.0, 3.0]]), np.array([0, 2])
IMAGE = np.arange(1.0, 17.0).reshape(1, 1, 4, 4)


@dataclass(frozen=True)
class Sample:
    """An example of an operator. args, kwargs: its arguments; numpy: what NumPy says comes out;
    curve: the interval of a curve, if the operator is drawn as one."""

    family: str
    args: tuple[Any, ...]
    numpy: Callable[..., Any]
    kwargs: dict[str, Any] | None = None
    curve: tuple[float, float] | None = None

    def run(self, name: str, *, leaves: bool = False) -> tuple[list[Any], Any]:
        """The arguments as tensors, and what the operator gives; leaves: tensors of floating-point
        numbers require grad.
        """
        made = [_tensor(a, leaves) for a in self.args]
        return made, getattr(autograd, name)(*made, **(self.kwargs or {}))

    def differentiable(self, name: str) -> bool:
        """Whether the result has a derivative here; if so, it is compared with central differences.
        Raises GradcheckError.
        """
        leaves, result = self.run(name, leaves=True)
        first = result[0] if isinstance(result, list | tuple) else result
        if not first.requires_grad:
            return False
        flat = [
            t
            for a in leaves
            for t in (a if isinstance(a, list) else [a])
            if getattr(t, "requires_grad", False)
        ]

        def again(*new: Any) -> Any:
            rest = iter(new)
            fresh = lambda t: next(rest) if getattr(t, "requires_grad", False) else t
            filled = [[fresh(t) for t in a] if isinstance(a, list) else fresh(a) for a in leaves]
            return getattr(autograd, name)(*filled, **(self.kwargs or {}))

        return bool(autograd.gradcheck(again, flat))


def _tensor(value: Any, leaf: bool) -> Any:
    if isinstance(value, np.ndarray):
        return mg.tensor(value, requires_grad=leaf and value.dtype.kind == "f")
    if isinstance(value, list) and value and isinstance(value[0], np.ndarray):
        return [_tensor(v, leaf) for v in value]
    return value


def _softmax(x: np.ndarray) -> np.ndarray:
    e = np.exp(x - x.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


def _elu(x: np.ndarray, alpha: float = 1.0) -> np.ndarray:
    return np.where(x > 0, x, alpha * (np.exp(x) - 1))


def _curve(function: Callable[..., Any], low: float, high: float, **kwargs: Any) -> Sample:
    return Sample(
        "One number at a time", (np.linspace(low, high, 60),), function, kwargs, (low, high)
    )


FILTER = np.array([[[[0.0, 1.0, 0.0], [1.0, -4.0, 1.0], [0.0, 1.0, 0.0]]]])
ARITHMETIC, LISTS, LOGIC = (
    "Two operands",
    "A list of tensors",
    "Comparisons and logic (no derivative)",
)
MATRICES, SHAPES, SUMS = "Products of matrices", "Shapes and places", "Along axes"
MAKING, NETWORKS = "Making and converting", "Networks"


def _conv(*_: Any) -> np.ndarray:
    windows = np.lib.stride_tricks.sliding_window_view(IMAGE, (3, 3), (2, 3))
    return (windows * FILTER).sum((-1, -2))


def _normed(*_: Any) -> np.ndarray:
    return (IMAGE - IMAGE.mean()) / np.sqrt(IMAGE.var() + 1e-5)


def _handles() -> dict[str, Any]:
    x = mg.tensor(IMAGE)
    return {
        "conv": singa.ConvHandle(x, (3, 3), (1, 1), (0, 0), 1, 1, False),
        "norm": singa.BatchNormHandle(0.9, x),
        "pool": singa.PoolingHandle(x, (2, 2), (2, 2), (0, 0), True),
    }


HANDLE = _handles()
SAMPLES: dict[str, Sample] = {
    "relu": _curve(lambda x: np.maximum(x, 0), -3, 3),
    "elu": _curve(_elu, -3, 3),
    "selu": _curve(lambda x: 1.0507 * _elu(x, 1.67326), -3, 3),
    "leakyrelu": _curve(lambda x: np.where(x > 0, x, 0.01 * x), -3, 3),
    "softplus": _curve(lambda x: np.log1p(np.exp(x)), -3, 3),
    "softsign": _curve(lambda x: x / (1 + abs(x)), -3, 3),
    "sigmoid": _curve(lambda x: 1 / (1 + np.exp(-x)), -5, 5),
    "hardsigmoid": _curve(lambda x: np.clip(0.2 * x + 0.5, 0, 1), -4, 4),
    "tanh": _curve(np.tanh, -3, 3),
    "exp": _curve(np.exp, -2, 2),
    "log": _curve(np.log, 0.1, 4),
    "sqrt": _curve(np.sqrt, 0.05, 4),
    "reciprocal": _curve(np.reciprocal, 0.25, 4),
    "negative": _curve(np.negative, -3, 3),
    "identity": _curve(lambda x: x, -3, 3),
    "abs": _curve(np.abs, -3, 3),
    "sign": _curve(np.sign, -3, 3),
    "ceil": _curve(np.ceil, -2.95, 2.95),
    "clip": _curve(lambda x, min, max: np.clip(x, min, max), -3, 3, min=-1.0, max=2.0),
    "sin": _curve(np.sin, -4, 4),
    "cos": _curve(np.cos, -4, 4),
    "tan": _curve(np.tan, -1.2, 1.2),
    "asin": _curve(np.arcsin, -0.95, 0.95),
    "acos": _curve(np.arccos, -0.95, 0.95),
    "atan": _curve(np.arctan, -4, 4),
    "sinh": _curve(np.sinh, -2, 2),
    "cosh": _curve(np.cosh, -2, 2),
    "asinh": _curve(np.arcsinh, -4, 4),
    "acosh": _curve(np.arccosh, 1.05, 5),
    "atanh": _curve(np.arctanh, -0.95, 0.95),
    "add": Sample(ARITHMETIC, (A, ROW), np.add),
    "sub": Sample(ARITHMETIC, (A, ROW), np.subtract),
    "mul": Sample(ARITHMETIC, (A, COLUMN), np.multiply),
    "div": Sample(ARITHMETIC, (A, COLUMN), np.divide),
    "pow": Sample(ARITHMETIC, (abs(A), COLUMN), np.power),
    "prelu": Sample(ARITHMETIC, (A, 0.1 * COLUMN), lambda x, slope: np.where(x < 0, slope * x, x)),
    "add_bias": Sample(ARITHMETIC, (A, ROW), lambda x, b: x + b),
    "sum": Sample(LISTS, ([A, B],), lambda pair: pair[0] + pair[1]),
    "mean": Sample(LISTS, ([A, B],), lambda pair: (pair[0] + pair[1]) / 2),
    "max": Sample(LISTS, ([A, B],), lambda pair: np.maximum(*pair)),
    "min": Sample(LISTS, ([A, B],), lambda pair: np.minimum(*pair)),
    "less": Sample(LOGIC, (A, B), np.less),
    "greater": Sample(LOGIC, (A, B), np.greater),
    "equal": Sample(LOGIC, (A, np.array([[1.0, 2.0, 3.0]])), np.equal),
    "_and": Sample(LOGIC, (YES, NO), np.logical_and),
    "_or": Sample(LOGIC, (YES, NO), np.logical_or),
    "_xor": Sample(LOGIC, (YES, NO), np.logical_xor),
    "_not": Sample(LOGIC, (YES,), np.logical_not),
    "matmul": Sample(MATRICES, (A, B.T), np.matmul),
    "gemm": Sample(
        MATRICES,
        (A, B, COLUMN),
        lambda a, b, c, alpha, transB: alpha * a @ b.T + c,
        {"alpha": 2.0, "transB": 1},
    ),
    "reshape": Sample(SHAPES, (A, (3, 2)), np.reshape),
    "flatten": Sample(SHAPES, (IMAGE[:, :, :2, :2],), lambda x: x.reshape(len(x), -1)),
    "transpose": Sample(SHAPES, (A, (1, 0)), np.transpose),
    "unsqueeze": Sample(SHAPES, (ROW, 0), np.expand_dims),
    "squeeze": Sample(SHAPES, (COLUMN,), np.squeeze),
    "shape": Sample(SHAPES, (A,), np.shape),
    "cat": Sample(SHAPES, ([A, COLUMN], 1), np.concatenate),
    "split": Sample(SHAPES, (A, 1, [1, 2]), lambda x, axis, parts: [x[:, :1], x[:, 1:]]),
    "slice": Sample(SHAPES, (A, [0], [3], [1], [2]), lambda x, *_: x[:, 0:3:2]),
    "gather": Sample(SHAPES, (A, 1, [2, 0, 2]), lambda x, axis, i: x[:, i]),
    "tile": Sample(SHAPES, (COLUMN, [1, 3]), np.tile),
    "reduce_sum": Sample(SUMS, (A, [1]), lambda x, axes: x.sum(tuple(axes), keepdims=True)),
    "reduce_mean": Sample(SUMS, (A, [0]), lambda x, axes: x.mean(tuple(axes), keepdims=True)),
    "softmax": Sample(SUMS, (SCORES,), _softmax),
    "constant_of_shape": Sample(MAKING, (np.array([2, 3]),), lambda n: np.zeros(n, "float32")),
    "onehot": Sample(MAKING, (-1, [2, 0], 3, [0.0, 1.0]), lambda *_: np.eye(3)[[2, 0]]),
    "nonzero": Sample(MAKING, (np.array([[0, 7], [5, 0]]),), lambda x: np.array(np.nonzero(x))),
    "cast": Sample(MAKING, (A, "int64"), lambda x, to: x.astype(to)),
    "cross_entropy": Sample(
        NETWORKS, (_softmax(SCORES), CLASSES), lambda p, t: -np.log(p[[0, 1], t]).mean()
    ),
    "softmax_cross_entropy": Sample(
        NETWORKS, (SCORES, CLASSES), lambda s, t: -np.log(_softmax(s)[[0, 1], t]).mean()
    ),
    "mse_loss": Sample(NETWORKS, (A, B), lambda y, t: ((y - t) ** 2).mean()),
    "conv2d": Sample(NETWORKS, (HANDLE["conv"], IMAGE, FILTER), _conv),
    "batchnorm_2d": Sample(
        NETWORKS,
        (
            HANDLE["norm"],
            IMAGE,
            np.ones(1),
            np.zeros(1),
            IMAGE.mean((0, 2, 3)),
            IMAGE.var((0, 2, 3)),
        ),
        _normed,
    ),
    "pooling_2d": Sample(
        NETWORKS, (HANDLE["pool"], IMAGE), lambda *_: IMAGE.reshape(1, 1, 2, 2, 2, 2).max((3, 5))
    ),
    "dropout": Sample(NETWORKS, (A, 0.5), lambda x, ratio: x),
}
"""In the order of the table. `dropout` and `batchnorm_2d` are those of inference; the lesson lets
them train, too.
"""


def families() -> Iterator[tuple[str, list[str]]]:
    """Each family with its operators, in the order of SAMPLES."""
    names: dict[str, list[str]] = {}
    for name, sample in SAMPLES.items():
        names.setdefault(sample.family, []).append(name)
    yield from names.items()


def line(name: str) -> str:
    """What an operator does: the first sentence of its docstring."""
    text = " ".join((inspect.getdoc(getattr(autograd, name)) or "").split())
    return text.partition(". ")[0].rstrip(".;:") + "."


def signature(name: str) -> str:
    """An operator with its arguments, such as `clip(x, min=None, max=None)`."""
    shown = []
    for p in inspect.signature(getattr(autograd, name)).parameters.values():
        star = {p.VAR_POSITIONAL: "*", p.VAR_KEYWORD: "**"}.get(p.kind, "")
        shown.append(f"{star}{p.name}" + ("" if p.default is p.empty else f"={p.default!r}"))
    return f"{name}({', '.join(shown)})"


def picture(name: str) -> str:
    """The picture of an operator, as an SVG document."""
    sample = SAMPLES[name]
    return _plot(name, sample) if sample.curve else _cells(name, sample)


def _plot(name: str, sample: Sample) -> str:
    (x,), y = sample.run(name, leaves=True)
    if y.requires_grad:
        (slope,) = autograd.grad(y.sum(), x)
    else:
        slope = mg.zeros_like(x)
    xs, ys, slopes = (v.detach().numpy() for v in (x, y, slope))
    drawn = Picture(170, 110, f"{name}: its curve, and its derivative dashed")
    low, high = (
        np.clip(min(ys.min(), slopes.min(), 0.0), -4, 4),
        np.clip(max(ys.max(), slopes.max(), 0.0), -4, 4),
    )
    to_x = lambda v: 8 + 154 * (v - xs[0]) / (xs[-1] - xs[0])
    to_y = lambda v: 102 - 94 * (v - low) / (high - low)
    drawn.line([(8, to_y(0)), (162, to_y(0))], "axis")
    if xs[0] < 0 < xs[-1]:
        drawn.line([(to_x(0), 8), (to_x(0), 102)], "axis")
    for values, style in ((slopes, "tangent"), (ys, "value")):
        for piece in _pieces(xs, values, low, high, 0.45 if style == "value" else 0.9):
            drawn.line([(to_x(a), to_y(b)) for a, b in piece], style)
    return drawn.text()


def _pieces(
    xs: np.ndarray, ys: np.ndarray, low: float, high: float, jump: float
) -> Iterator[list[tuple[float, float]]]:
    """A curve without its jumps, and without what lies outside."""
    piece: list[tuple[float, float]] = []
    for a, b in zip(xs, ys, strict=True):
        inside = low - 1e-9 <= b <= high + 1e-9
        if piece and (not inside or abs(b - piece[-1][1]) > jump):
            yield piece
            piece = []
        if inside:
            piece.append((a, b))
    if piece:
        yield piece


def _cells(name: str, sample: Sample) -> str:
    inputs, result = sample.run(name)
    arrays = [
        v
        for a in inputs
        for v in (a if isinstance(a, list) and a and hasattr(a[0], "detach") else [a])
        if hasattr(v, "detach")
    ]
    results = list(result) if isinstance(result, list | tuple) else [result]
    left, right = [_matrix(v) for v in arrays], [_matrix(v) for v in results]
    width = 16 + sum(_width(m) + 12 for m in (*left, *right)) + 22
    height = 16 + max(15 * len(m) for m in (*left, *right))
    drawn, x = (
        Picture(width, height, f"{name}: an example; {len(left)} operands, then the result"),
        8.0,
    )
    for m in left:
        x = _grid(drawn, x, height, m, "plain")
    drawn.arrow((x, height / 2), (x + 18, height / 2))
    x += 26
    for m in right:
        x = _grid(drawn, x, height, m, "value")
    return drawn.text()


def _matrix(value: Any) -> list[list[str]]:
    """The numbers of an array as texts in rows, its leading axes one below the other; at most six
    by six.
    """
    array = np.asarray(value.detach().numpy())
    rows = array.reshape(1, -1) if array.ndim < 2 else array.reshape(-1, array.shape[-1])
    return [[_said(v) for v in row[:6]] for row in rows[:6]]


def _said(value: Any) -> str:
    if isinstance(value, np.bool_):
        return "✓" if value else "·"
    text = f"{float(value):.2f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text.replace("-", "−")


def _width(m: list[list[str]]) -> float:
    return len(m[0]) * (10 + 6 * max(len(s) for row in m for s in row))


def _grid(drawn: Picture, x: float, height: float, m: list[list[str]], style: str) -> float:
    wide = _width(m) / len(m[0])
    top = (height - 15 * len(m)) / 2
    for i, row in enumerate(m):
        for j, said in enumerate(row):
            drawn.box(x + j * wide, top + 15 * i, wide, 15, style)
            drawn.say(x + (j + 0.5) * wide, top + 15 * i + 11, said, size=10)
    return x + _width(m) + 12


# ----------------------------------------------------------------------------------------- the page


def browse() -> Any:
    """The table for a notebook: families that open at a click, with the pictures in it.

    Pictures are embedded as images, so that their style stays in them.
    """
    from IPython.display import HTML

    parts = [STYLE]
    for family, names in families():
        parts.append(
            f'<details class="ops"><summary><b>{html.escape(family)}</b>:'
            f" {len(names)}</summary><table>"
        )
        for name in names:
            coded = base64.b64encode(picture(name).encode()).decode()
            said = f"<code>{html.escape(signature(name))}</code><br>{html.escape(line(name))}"
            shown = f'<img alt="an example of {name}" src="data:image/svg+xml;base64,{coded}">'
            parts.append(f"<tr><td>{said}</td><td>{shown}</td></tr>")
        parts.append("</table></details>")
    return HTML("".join(parts))


STYLE = """\
<style>
.ops td { text-align: left; vertical-align: middle; padding: 2px 8px; }
.ops img { max-width: 100%; }
@media (max-width: 46em) { .ops td { display: block; } }
</style>
"""


def page() -> str:
    """The page `operators.md`."""
    lines = [PAGE_HEAD.format(count=len(SAMPLES)), ""]
    for family, names in families():
        lines += [f"## {family}", "", "| operator | what it does | an example |", "|---|---|---|"]
        for name in names:
            said = line(name).replace("|", "\\|")
            lines.append(
                f"| `{signature(name)}` | {said} | ![{name}](figures/operators/{_file(name)}) |"
            )
        lines.append("")
    return "\n".join(lines).rstrip() + "\n"


PAGE_HEAD = """\
# SINGA's operators

The {count} operators that [Autograd in SINGA]\
(https://github.com/apache/singa-doc/blob/master/docs-site/docs/autograd.md) lists, under
their names there (`autograd.relu`, `autograd.conv2d`, …). \
Where an operator has a curve, its derivative is drawn with it, dashed. The grids of
numbers show an example that was run: the operands, an arrow, the result. \
Names of operators, their arguments and the first sentences come from the declarations in
`minigrad/singa/`.

*This page and its pictures are made by* `python -m minigrad.lessons.operators`.
"""


def _file(name: str) -> str:
    return f"{name.strip('_')}.svg"


def files() -> dict[Path, str]:
    """What the command writes: the page and the pictures."""
    return {PAGE: page()} | {PICTURES / _file(name): picture(name) for name in SAMPLES}


def main() -> None:
    """Writes the page and its pictures."""
    PICTURES.mkdir(parents=True, exist_ok=True)
    for path, text in files().items():
        path.write_text(text, encoding="utf-8")
    print(f"wrote {len(files())} files")


if __name__ == "__main__":
    sys.exit(main())
