"""The still pictures of the lessons, each drawn by a function below.

    python -m minigrad.lessons.static_figures     writes lessons/figures/*.svg

What a picture shows is computed where it can be: curves, points and matrices come from the engine.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import minigrad as mg
from minigrad.data import village_names

from . import engine_suite
from .exercises import lesson23, lesson24b, own_engine
from .exercises.lesson21 import conflicts, fewest
from .projects import PROJECTS
from .svg import Picture, Point

FOLDER = Path(__file__).parent / "figures"
FIGURES: dict[str, Callable[[], Picture]] = {}
"""The pictures by the names of their files. A notebook opens with the picture of its own name; the
names of its others begin with it.
"""
Node = tuple[float, float, str, str]
"""A node of a drawn graph: x, y, the text in it, the style."""


def figure(
    name: str, height: float, title: str | None = None
) -> Callable[[Callable[[Picture], None]], Callable[[Picture], None]]:
    """Put what a function draws into FIGURES under the name of its file, 640 pixels wide.

    title: what a screen reader says; by default the function's docstring.
    """

    def add(draw: Callable[[Picture], None]) -> Callable[[Picture], None]:
        def drawn() -> Picture:
            picture = Picture(640, height, title or " ".join(str(draw.__doc__).split()))
            draw(picture)
            return picture

        FIGURES[name] = drawn
        return draw

    return add


def _graph(picture: Picture, nodes: Mapping[str, Node], edges: str, radius: float = 17) -> None:
    """Nodes as circles, edges as arrows between them. edges: the names of two nodes and, if it is
    no plain line, a style; commas between the edges.
    """
    for edge in edges.split(","):
        start, end, *style = edge.split()
        (x0, y0, *_), (x1, y1, *_) = nodes[start], nodes[end]
        length = math.hypot(x1 - x0, y1 - y0)
        dx, dy = ((radius + 2) * (x1 - x0) / length, (radius + 2) * (y1 - y0) / length)
        picture.arrow((x0 + dx, y0 + dy), (x1 - dx, y1 - dy), *style)
    for x, y, said, style in nodes.values():
        picture.dot(x, y, radius, style)
        picture.say(x, y + 4, said, size=11)


class Chart:
    """A part of a picture with numbers of its own: x and y, the least and the greatest across and
    upwards; left, top, right, bottom: the part, in pixels. axes: draw them.
    """

    def __init__(
        self, picture: Picture, x: Point, y: Point, left: float, top: float, right: float,
        bottom: float, axes: bool = True,
    ) -> None:  # fmt: skip
        self._picture, self._numbers, self._pixels = picture, (x, y), ((left, right), (bottom, top))
        if axes:
            picture.line([(left, top), (left, bottom), (right, bottom)], "axis")

    def at(self, x: float, y: float) -> Point:
        """The pixels of a point."""
        (x0, x1), (y0, y1) = self._numbers
        (left, right), (bottom, top) = self._pixels
        return (
            left + (x - x0) / (x1 - x0) * (right - left),
            bottom + (y - y0) / (y1 - y0) * (top - bottom),
        )

    def curve(self, points: Iterable[Sequence[float]], style: str) -> None:
        """A line through points."""
        self._picture.line([self.at(*point) for point in points], style)

    def dot(self, x: float, y: float, radius: float, style: str) -> None:
        """A circle around a point."""
        self._picture.dot(*self.at(x, y), radius, style)


def _matrix(
    picture: Picture,
    x: float,
    y: float,
    rows: int,
    columns: int,
    cell: float,
    style: Callable[[int, int], str],
) -> None:
    for i in range(rows):
        for j in range(columns):
            picture.box(x + j * cell, y + i * cell, cell, cell, style(i, j))


# ------------------------------------------------------------------------------------------ lessons


@figure("01_three_ways", 230)
def secant(p: Picture) -> None:
    """Left: secants of a curve turn into its tangent. Right: the error of the quotient falls, then
    rises"""
    f = lambda x: 0.25 + 0.12 * x * x
    chart = Chart(p, (0, 4), (0, 2.4), 30, 20, 290, 200)
    chart.curve([(x, f(x)) for x in np.linspace(0, 4, 60)], "value")
    for h, said in ((2.4, "h = 2.4"), (1.2, "h = 1.2")):
        slope = (f(1.2 + h) - f(1.2)) / h
        chart.curve([(0.5, f(1.2) - 0.7 * slope), (4.0, f(1.2) + 2.8 * slope)], "adjoint")
        x, y = chart.at(1.2 + h, f(1.2 + h))
        p.dot(x, y, 4, "adjoint")
        p.say(x - 8, y - 10, said, "adjoint right", 11)
    tangent = 0.24 * 1.2
    chart.curve([(0.2, f(1.2) - tangent), (3.9, f(1.2) + 2.7 * tangent)], "tangent")
    chart.dot(1.2, f(1.2), 4, "tangent")
    p.say(250, 165, "the tangent", "tangent", 11)
    steps = 2.0 ** -np.arange(1, 45)
    sine = lambda x: mg.sin(mg.tensor(x, dtype=mg.float64)).numpy()
    errors = np.abs((sine(1 + steps) - sine(np.ones_like(steps))) / steps / math.cos(1) - 1)
    points = [(math.log10(h), math.log10(e)) for h, e in zip(steps, errors, strict=True) if e > 0]
    Chart(p, (-14, 0), (-9, 0.5), 370, 20, 620, 200).curve(points, "value")
    p.say(495, 218, "the step h, smaller to the left", "dim", 11)
    p.say(378, 34, "error of the quotient", "left", 11)
    p.say(440, 120, "rounding", "adjoint left", 11)
    p.say(580, 150, "the curve bends", "tangent", 11)


@figure("01_three_ways_sharing", 290)
def sharing(p: Picture) -> None:
    """Left: the derivative as a tree, with the same part in four places. Right: each part once"""
    tree = {
        "d": (160.0, 40.0, "×", "plain"),
        "A1": (40.0, 100.0, "A", "adjoint"),
        "a2": (120.0, 100.0, "1+A", "value"),
        "B3": (200.0, 100.0, "B", "value"),
        "b4": (280.0, 100.0, "1+B", "value"),
        "A2": (120.0, 155.0, "A", "adjoint"),
        "a3": (200.0, 155.0, "1+A", "value"),
        "B4": (280.0, 155.0, "B", "value"),
        "A3": (200.0, 210.0, "A", "adjoint"),
        "a4": (280.0, 210.0, "1+A", "value"),
        "A4": (280.0, 265.0, "A", "adjoint"),
    }
    below = "a2 A2, B3 a3, a3 A3, b4 B4, B4 a4, a4 A4"
    _graph(p, tree, f"d A1, d a2, d B3, d b4, {below}", 18)
    shared = {
        "d": (500.0, 40.0, "×", "plain"),
        "b": (400.0, 110.0, "1+B", "value"),
        "B": (455.0, 170.0, "B", "value"),
        "a": (545.0, 170.0, "1+A", "value"),
        "A": (600.0, 110.0, "A", "adjoint"),
    }
    _graph(p, shared, "d b, d B, d a, d A, b B, B a, a A", 18)
    p.say(30, 265, "a tree: A in four places", "left adjoint", 11)
    p.say(500, 220, "a list of steps: A once", "adjoint", 11)
    p.say(500, 252, "A = exp(b₁ + w₁ x)", size=11)
    p.say(500, 270, "B = exp(b₂ + w₂ ln(1 + A))", size=11)


@figure("01_three_ways_kink", 200)
def kink(p: Picture) -> None:
    """relu(x) and −relu(−x) get the slope 0 at their kinks; their sum is a line"""
    relu = lambda x: mg.relu(mg.tensor(x, dtype=mg.float64))
    for i, (f, said) in enumerate(
        (
            (relu, "relu(x)"),
            (lambda x: -relu(-x), "−relu(−x)"),
            (lambda x: relu(x) - relu(-x), "their sum, x"),
        )
    ):
        left = 25.0 + 205 * i
        xs = np.linspace(-1.0, 1.0, 41)
        slope = mg.func.grad(lambda x, f=f: f(x).sum())(mg.tensor(0.0, dtype=mg.float64)).item()
        chart = Chart(p, (-1, 1), (-1, 1), left, 20, left + 180, 150, axes=False)
        chart.curve([(-1, 0), (1, 0)], "axis")
        chart.curve(zip(xs, f(xs).numpy(), strict=True), "value")
        chart.curve([(-0.35, -0.35 * slope), (0.35, 0.35 * slope)], "tangent")
        chart.dot(0, 0, 4, "tangent")
        p.say(left + 90, 172, said, size=12)
        told = f"the engine's slope at 0: {slope:g}" + (", the line's: 1" if i == 2 else "")
        p.say(left + 90, 190, told, "tangent", 11)
        if i < 2:
            p.say(left + 192, 90, "+="[i], "bold", 16)


@figure("02_forward_and_reverse_mode", 250)
def trace(p: Picture) -> None:
    """A graph of five operations: values and tangents go from the inputs to y, adjoints from y to
    the inputs"""
    nodes = {
        "x1": (60.0, 80.0, "2", "plain"),
        "x2": (60.0, 180.0, "5", "plain"),
        "log": (200.0, 50.0, "0.69", "value"),
        "mul": (200.0, 125.0, "10", "value"),
        "sin": (200.0, 200.0, "−0.96", "value"),
        "add": (330.0, 90.0, "10.69", "value"),
        "y": (460.0, 125.0, "11.65", "value"),
    }
    edges = "x1 log, x1 mul, x2 mul, x2 sin, log add, mul add, add y, sin y"
    _graph(p, nodes, edges, 20)
    for x, y, said in (
        (60, 48, "x₁"),
        (60, 216, "x₂"),
        (200, 22, "ln"),
        (200, 160, "·"),
        (200, 236, "sin"),
        (330, 60, "+"),
        (460, 95, "−"),
    ):
        p.say(x, y, said, "bold")
    p.arrow((500, 60), (620, 60), "tangent")
    p.say(560, 50, "forward: tangents", "tangent", 11)
    p.say(560, 78, "one seed at an input", "tangent dim", 10)
    p.arrow((620, 190), (500, 190), "adjoint")
    p.say(560, 180, "reverse: adjoints", "adjoint", 11)
    p.say(560, 208, "one seed at y", "adjoint dim", 10)


@figure("02_forward_and_reverse_mode_step", 200)
def one_step(p: Picture) -> None:
    """Forward, an operation adds its operands' tangents times the local derivatives; in reverse it
    sends its adjoint, times the same local derivatives, to each operand"""
    for x, style, title in ((70.0, "tangent", "forward"), (410.0, "adjoint", "reverse")):
        nodes = {
            "a": (x, 70.0, "a", "plain"),
            "c": (x, 140.0, "c", "plain"),
            "v": (x + 190, 105.0, "v", "value"),
        }
        forward = style == "tangent"
        edges = "a v {0}, c v {0}" if forward else "v a {0}, v c {0}"
        _graph(p, nodes, edges.format(style), 18)
        p.say(x - 18, 26, title, "left bold", 13)
        for operand, tangent, y, above in (("a", "ȧ", 74, 76), ("c", "ċ", 144, 147)):
            if forward:
                p.say(x - 34, y, tangent, style, 13)
                p.say(x + 100, above, f"∂v/∂{operand}", size=11)
            else:
                p.say(x + 100, above, f"v̄ · ∂v/∂{operand}", style, 12)
    p.say(165, 188, "v̇ = ∂v/∂a · ȧ + ∂v/∂c · ċ", "tangent", 13)
    p.say(600, 82, "v̄", "adjoint", 13)
    p.say(505, 188, "a and c each get a contribution", "adjoint", 12)


@figure("03_the_algorithm", 230)
def fork(p: Picture) -> None:
    """A value that is used twice gets two contributions; overwriting loses one"""
    nodes = {
        "x1": (50.0, 115.0, "x₁", "plain"),
        "x2": (150.0, 115.0, "x₂", "value"),
        "x3": (250.0, 60.0, "x₃", "value"),
        "x4": (350.0, 115.0, "x₄", "value"),
    }
    _graph(p, nodes, "x1 x2, x2 x3, x3 x4, x2 x4")
    p.arrow((338, 96), (272, 60), "adjoint", -10)
    p.arrow((229, 60), (164, 96), "adjoint", -10)
    p.arrow((336, 130), (164, 130), "adjoint", 14)
    p.say(176, 62, "x₂ · 1", "adjoint", 11)
    p.say(250, 164, "x₃", "adjoint", 11)
    p.box(430, 40, 190, 60, "value", 6)
    p.say(525, 62, "grad[x₂] = [x₃, x₂ · 1]", size=12)
    p.say(525, 84, "a list: the sum is right", "value", 11)
    p.box(430, 130, 190, 60, "adjoint", 6)
    p.say(525, 152, "grad[x₂] = x₂ · 1", size=12)
    p.say(525, 174, "overwritten: x₃ is lost", "adjoint", 11)


@figure("04_cost_of_the_two_modes", 250)
def jacobians(p: Picture) -> None:
    """A chain of functions with their Jacobians; a column enters from the right, a row from the
    left"""
    x = 40.0
    sizes = [(5, 6), (3, 5), (1, 3)]
    names = ["6 inputs", "5 numbers", "3 numbers", "1 result"]
    for i, name in enumerate(names):
        p.dot(x + 190 * i, 40, 17, "plain" if i in (0, 3) else "value")
        p.say(x + 190 * i, 74, name, size=11)
        if i < 3:
            p.arrow((x + 190 * i + 20, 40), (x + 190 * (i + 1) - 20, 40))
            rows, columns = sizes[i]
            _matrix(p, x + 95 + 190 * i - 6.5 * columns, 90, rows, columns, 13, lambda *_: "plain")
            p.say(x + 95 + 190 * i, 30, f"{rows} × {columns}", "dim", 10)
    p.arrow((60, 195), (580, 195), "tangent")
    p.say(320, 188, "forward mode: a column at a time, six passes for six inputs", "tangent", 11)
    p.arrow((580, 230), (60, 230), "adjoint")
    p.say(320, 223, "reverse mode: a row at a time, one pass for one result", "adjoint", 11)


@figure("05_tensors", 200)
def shapes(p: Picture) -> None:
    """Forward, a bias is copied into every row; backward, the rows of the adjoint are added"""
    _matrix(p, 30, 40, 4, 3, 24, lambda *_: "plain")
    p.say(66, 30, "m: 4 × 3", size=11)
    p.say(120, 92, "+", "bold", 16)
    _matrix(p, 140, 76, 1, 3, 24, lambda *_: "value")
    p.say(176, 66, "b: 3", size=11)
    p.arrow((222, 88), (262, 88), "value")
    _matrix(p, 272, 40, 4, 3, 24, lambda *_: "value")
    p.say(308, 30, "b, used four times", "value", 11)
    p.say(308, 160, "forward: copy", "value", 11)
    p.line([(380, 20), (380, 180)], "axis")
    _matrix(p, 410, 40, 4, 3, 24, lambda *_: "adjoint")
    p.say(446, 30, "adjoint: 4 × 3", "adjoint", 11)
    p.arrow((492, 88), (532, 88), "adjoint")
    _matrix(p, 542, 76, 1, 3, 24, lambda *_: "adjoint")
    p.say(578, 66, "of b: 3", "adjoint", 11)
    p.say(510, 160, "backward: sum", "adjoint", 11)


@figure("05_tensors_matmul", 250)
def product(p: Picture) -> None:
    """The element a of row i and column k takes part in row i of y, with row k of b; the adjoints
    of row i come back to it, times row k of b"""
    cell, i, k = 22.0, 1, 2
    row = lambda which, style: lambda r, c: style if r == which else "plain"
    _matrix(p, 60, 60, 3, 4, cell, lambda r, c: "tangent" if (r, c) == (i, k) else "plain")
    p.say(104, 46, "a", "bold", 13)
    p.say(178, 98, "@", "bold", 14)
    _matrix(p, 210, 49, 4, 5, cell, row(k, "value"))
    p.say(265, 38, "b", "bold", 13)
    p.say(344, 98, "=", "bold", 14)
    _matrix(p, 370, 60, 3, 5, cell, row(i, "tangent"))
    p.say(425, 46, "y", "bold", 13)
    p.say(275, 158, "forward: aᵢₖ, times row k of b, goes into row i of y", "tangent", 11)
    p.line([(30, 170), (610, 170)], "axis")
    _matrix(p, 60, 192, 1, 5, cell, lambda *_: "adjoint")
    p.say(115, 232, "row i of g, the adjoint of y", "adjoint", 11)
    p.say(190, 208, "·", "bold", 20)
    _matrix(p, 210, 192, 1, 5, cell, lambda *_: "value")
    p.say(265, 232, "row k of b", "value", 11)
    p.say(344, 208, "=", "bold", 14)
    _matrix(p, 370, 192, 1, 1, cell, lambda *_: "adjoint")
    p.say(404, 208, "the sum over j of gᵢⱼ bₖⱼ comes back", "left adjoint", 11)


@figure("06_autograd_tour", 200)
def products(p: Picture) -> None:
    """A pass computes a product with the Jacobian: from the right or from the left"""
    cell = 20.0
    for x, title, style, said in (
        (40.0, "jvp: J ẋ", "tangent", "forward mode"),
        (360.0, "vjp: ȳᵀ J", "adjoint", "reverse mode"),
    ):
        p.say(x + 110, 26, title, "bold", 13)
        p.say(x + 110, 186, said, style, 11)
        if style == "tangent":
            _matrix(p, x, 60, 3, 5, cell, lambda *_: "plain")
            _matrix(p, x + 112, 40, 5, 1, cell, lambda *_: "tangent")
            p.say(x + 150, 95, "=", "bold", 16)
            _matrix(p, x + 172, 60, 3, 1, cell, lambda *_: "tangent")
        else:
            _matrix(p, x - 14, 80, 1, 3, cell, lambda *_: "adjoint")
            _matrix(p, x + 56, 60, 3, 5, cell, lambda *_: "plain")
            p.say(x + 174, 95, "=", "bold", 16)
            _matrix(p, x + 190, 80, 1, 5, cell * 0.8, lambda *_: "adjoint")


@figure("07_grad_operation", 180)
def pullback(p: Picture) -> None:
    """K of a function returns its result and a second function, the pullback, which remembers the
    run"""
    for x, name in ((150.0, "sin"), (330.0, "cos")):
        p.box(x, 40, 90, 44, "value", 8)
        p.say(x + 45, 67, name, "bold", 13)
        p.box(x, 110, 90, 36, "adjoint", 8)
        p.say(x + 45, 132, f"bprop of {name}", "adjoint", 11)
        p.line([(x + 45, 84), (x + 45, 110)], "axis")
    for a, b, said in ((60, 148, "x"), (242, 328, "a"), (422, 520, "out")):
        p.arrow((a, 62), (b, 62), "value")
        p.say((a + b) / 2, 54, said, "value")
    for a, b, said in ((520, 422, "dout"), (328, 242, "da"), (148, 60, "dx")):
        p.arrow((a, 128), (b, 128), "adjoint")
        p.say((a + b) / 2, 120, said, "adjoint")
    p.say(190, 101, "cos x", "dim right", 10)
    p.say(370, 101, "−sin a", "dim right", 10)


@figure("08_jvp_from_vjp", 260)
def three_colours(p: Picture) -> None:
    """The original network, the first backward network and the second; the nodes that depend on v
    dangle"""
    nodes = {
        "x": (60.0, 50.0, "x", "plain"),
        "a": (190.0, 50.0, "sin", "plain"),
        "o": (320.0, 50.0, "cos", "plain"),
        "c": (190.0, 135.0, "cos x", "value"),
        "n": (320.0, 135.0, "−sin a", "value"),
        "v": (580.0, 135.0, "v", "empty"),
        "p": (450.0, 135.0, "·", "empty"),
        "q": (60.0, 135.0, "·", "empty"),
        "d": (60.0, 220.0, "dx", "yellow"),
        "r": (190.0, 220.0, "·", "yellow"),
        "s": (320.0, 220.0, "J ẋ", "yellow"),
    }
    _graph(p, nodes, "x a, a o, x c, a n, v p, n p, c q, d r, c r, r s, n s", 21)
    p.arrow((436, 152), (76, 152), "axis", 12)
    p.say(420, 54, "black: the original", "left")
    p.say(420, 186, "blue: first backward", "left value")
    p.say(420, 204, "dashed: dangling, because of v", "left dim", 11)
    p.say(420, 228, "yellow: second backward", "left yellow")


@figure("09_operations_only", 200)
def downhill(p: Picture) -> None:
    """Ten steps of gradient descent on a parabola with three rates: too small, good, too large"""
    for i, (rate, said) in enumerate(((0.03, "too small"), (0.25, "good"), (0.97, "too large"))):
        left = 20 + 205 * i
        chart = Chart(p, (-1.4, 1.4), (0, 2), left, 20, left + 190, 160, axes=False)
        chart.curve([(x, x * x) for x in np.linspace(-1.4, 1.4, 50)], "axis")
        x, path = 1.25, []
        for _ in range(10):
            path.append((x, x * x))
            x -= rate * 2 * x
        chart.curve(path, "adjoint")
        for point in path:
            chart.dot(*point, 3, "value")
        p.say(left + 95, 185, f"rate {rate}: {said}", size=11)


@figure("10_layers_and_cnn", 230)
def convolution(p: Picture) -> None:
    """A filter of nine weights slides over the image; each place gives one number of the result"""
    image = mg.data.digits().tensors[0][0, 0].numpy()
    window = lambda i, j: "adjoint" if 2 <= i <= 4 and 3 <= j <= 5 else "plain"
    _matrix(p, 30, 30, 8, 8, 22, window)
    for i in range(8):
        for j in range(8):
            if image[i, j] > 0:
                p.say(41 + 22 * j, 45 + 22 * i, f"{16 * image[i, j]:.0f}", "dim", 10)
    p.say(118, 222, "an image of the digits, 8 × 8", size=11)
    p.say(236, 115, "·", "bold", 22)
    _matrix(p, 262, 75, 3, 3, 22, lambda *_: "adjoint")
    p.say(295, 160, "9 weights", "adjoint", 11)
    p.arrow((350, 108), (410, 108))
    p.say(380, 98, "sum", size=11)
    _matrix(p, 430, 30, 8, 8, 22, lambda i, j: "value" if (i, j) == (3, 4) else "plain")
    p.say(518, 222, "one channel of the result", size=11)


@figure("10b_batch_norm_and_training", 220)
def growth(p: Picture) -> None:
    """Through ten layers, values vanish, stay or explode, by the size of the initial weights"""
    chart = Chart(p, (0, 10), (-12, 10), 60, 20, 420, 190)
    rng = np.random.default_rng(0)
    start = rng.standard_normal((64, 100))
    rates = (
        (0.01, "adjoint", "0.01: values vanish"),
        (0.1, "tangent", "1/√100"),
        (0.02**0.5, "value", "√(2/100): they stay"),
    )
    for i, (scale, style, said) in enumerate((*rates, (1.0, "adjoint", "1: they explode"))):
        h, points = start, [(0.0, 0.0)]
        for layer in range(1, 11):
            h = np.maximum(h @ (scale * rng.standard_normal((100, 100))), 0)
            points.append((float(layer), 0.5 * math.log10((h**2).mean())))
        chart.curve(points, style)
        p.say(428, (182, 120, 100, 26)[i], f"weights of size {said}", f"left {style}", 10)
    p.say(66, 34, "size of the values, powers of ten", "left dim", 11)
    p.say(240, 208, "layer 0 to 10", "dim", 11)


def _valley(x: mg.Tensor) -> mg.Tensor:
    return (1 - x[0]) ** 2 + 100 * (x[1] - x[0] ** 2) ** 2


def _valley_from_above(
    picture: Picture, x: Point, y: Point, pixels: tuple[float, float, float, float], wide: float
) -> Chart:
    """The valley's floor between two lines on either side, of which the outer is so far away."""
    chart = Chart(picture, x, y, *pixels, axes=False)
    floor = [(float(a), float(a * a)) for a in np.linspace(*x, round(20 * (x[1] - x[0])) + 1)]
    for far in (-wide, -wide / 2, wide / 2, wide):
        chart.curve([(a, b + far) for a, b in floor if y[0] < b + far < y[1]], "axis")
    return chart


def _walk(steps: int, optimizer: Callable[..., mg.optim.Optimizer], **options: Any) -> np.ndarray:
    """Where an optimizer comes in the valley, before each step and after the last."""
    x = mg.tensor([-1.2, 1.0], dtype=mg.float64, requires_grad=True)
    method, path = optimizer([x], **options), [x.detach().numpy().copy()]
    for _ in range(steps):
        method.zero_grad()
        _valley(x).backward()
        method.step()
        path.append(x.detach().numpy().copy())
    return np.array(path)


@figure("11b_engine_grows", 230)
def valley(p: Picture) -> None:
    """A curved valley seen from above: gradient descent is still near its start after 200 steps,
    Newton's method arrives in 7"""
    chart = _valley_from_above(p, (-1.8, 1.8), (-1.2, 3.4), (60, 15, 580, 210), 0.7)
    fast = [mg.tensor([-1.2, 1.0], dtype=mg.float64)]
    for _ in range(7):
        slope, bend = mg.func.grad(_valley)(fast[-1]), mg.func.hessian(_valley)(fast[-1])
        step = np.linalg.solve(bend.numpy(), slope.numpy())
        fast.append(fast[-1] - mg.tensor(step, dtype=mg.float64))
    slow = _walk(200, mg.optim.SGD, lr=0.001)
    for path, style in ((slow, "adjoint"), ([x.numpy() for x in fast], "tangent")):
        chart.curve([(a, max(b, -1.2)) for a, b in path], style)
    p.say(66, 205, "200 steps of gradient descent", "left adjoint", 11)
    p.say(442, 205, "7 steps of Newton's method", "left tangent", 11)
    chart.dot(1, 1, 5, "value")
    p.say(474, 122, "the lowest point", "left bold", 11)


def _newton(most: int) -> tuple[list[np.ndarray], list[float]]:
    """Newton's method with halved steps, and what it has cost so far: in two dimensions conjugate
    gradients solve its system in two products of three gradients each.
    """
    x, cost = np.array([-1.2, 1.0]), 0.0
    f = lambda x: float(_valley(x))
    path, costs = [x], [cost]
    while True:
        at = mg.tensor(x, dtype=mg.float64)
        g, h = mg.func.grad(_valley)(at).numpy(), mg.func.hessian(_valley)(at).numpy()
        p, t, tries = -np.linalg.solve(h, g), 1.0, 2
        while not f(x + t * p) <= f(x) + 1e-4 * t * float(g @ p):
            t, tries = t / 2, tries + 1
        cost += 1 + 2 * 3 + tries
        if cost > most or np.linalg.norm(g) < 1e-6:
            return path, costs
        x = x + t * p
        path.append(x)
        costs.append(cost)


@figure("18_down_the_valley", 250)
def race(p: Picture) -> None:
    """Left, the valley from above: gradient descent, momentum and Adam are still walking, Newton-CG
    has arrived. Right, the same race as curves: how small the function is for a given cost"""
    newton, costs = _newton(240)
    above = _valley_from_above(p, (-1.5, 1.5), (-0.5, 2.2), (20, 15, 300, 225), 0.5)
    chart = Chart(p, (0, 1000), (-16, 2), 360, 20, 620, 215)
    budget = round(costs[-1])
    inside = lambda x: (min(max(x[0], -1.5), 1.5), min(max(x[1], -0.5), 2.2))
    height = lambda x: math.log10(max(float(_valley(x)), 1e-16))
    for style, path in (
        ("adjoint", _walk(1000, mg.optim.SGD, lr=0.002)),
        ("yellow", _walk(1000, mg.optim.Adam, lr=0.3)),
        ("tangent", _walk(1000, mg.optim.SGD, lr=0.0015, momentum=0.95)),
    ):
        above.curve([inside(x) for x in path[: budget + 1]], style)
        above.dot(*inside(path[budget]), 4, style)
        chart.curve([(i, height(x)) for i, x in enumerate(path) if i % 4 == 0], style)
    above.curve([inside(x) for x in newton], "value")
    chart.curve([(c, height(x)) for c, x in zip(costs, newton, strict=True)], "value")
    above.dot(*newton[-1], 6, "value")
    p.say(490, 235, "cost: 0 to 1000 gradients", "dim", 11)
    p.say(366, 16, "f: 100 at the top, 10⁻¹⁶ at the bottom", "dim left", 11)
    p.say(160, 242, f"everyone after {budget} gradients", "dim", 11)
    p.say(422, 150, "Newton-CG", "value left bold", 11)
    p.say(562, 197, "momentum", "tangent right bold", 11)
    p.say(612, 130, "Adam", "yellow right bold", 11)
    p.say(612, 38, "gradient descent", "adjoint right bold", 11)


@figure("11_training", 230)
def disc(p: Picture) -> None:
    """Points inside and outside of a disc; a network must learn the border from the points alone"""
    x, t = (part.numpy() for part in mg.data.disc(160, seed=0).tensors)
    ends = float(x.min()), float(x.max())
    chart = Chart(p, ends, ends[::-1], 30, 20, 220, 210, axes=False)
    for point, inside in zip(x, t, strict=True):
        chart.dot(*point, 3.5, "value" if inside else "adjoint")
    for i, n in enumerate((2, 5, 5, 5, 2)):
        for j in range(n):
            p.dot(
                320 + 70 * i, 115 + 34 * (j - (n - 1) / 2), 9, "plain" if i in (0, 4) else "value"
            )
    for i, said in enumerate(("2", "25", "25", "25", "2")):
        p.say(320 + 70 * i, 222, said, size=11)
    p.arrow((240, 115), (300, 115))


@figure("12_memory", 230)
def checkpoints(p: Picture) -> None:
    """Values alive while a pass goes forward and back: all of 16, or four checkpoints and one piece
    at a time"""
    n, k = 16, 4
    every = [*range(1, n + 1), *range(n, 0, -1)]
    kept = [i // k + 1 for i in range(n - k)]  # the last piece keeps all of its values at once
    for piece in range(n // k - 1, -1, -1):
        kept += [piece + j for j in (*range(1, k + 1), *range(k, 0, -1))]
    for left, values, style, said in (
        (40.0, every, "adjoint", "all kept: at most 16"),
        (340.0, kept, "value", f"in 4 pieces: at most {max(kept)}"),
    ):
        p.line([(left, 30), (left, 190), (left + 260, 190)], "axis")
        wide = 260 / len(values)
        for i, v in enumerate(values):
            p.box(left + i * wide, 190 - 9 * v, wide, 9 * v, style)
        p.say(left + 130, 212, said, style, 12)
    p.say(46, 28, "values alive", "left dim", 11)
    p.say(346, 28, f"and {n - k} of the {n} layers are computed twice", "left dim", 11)


@figure("12_memory_schedule", 240)
def schedule(p: Picture) -> None:
    """Eight sines in four pieces: computed forward, then piece by piece from the last computed
    again and differentiated; lines show how long each input is kept"""
    n, size = 8, 2
    steps = [(sine, "value") for sine in range(n)]
    for first in range(n - size, -1, -size):
        piece = range(first, first + size)
        steps += [(sine, "tangent") for sine in piece if first < n - size]
        steps += [(sine, "adjoint") for sine in reversed(piece)]
    place = lambda step, sine: (80 + 25 * step, 180 - 21 * sine)
    for sine in range(n):
        first, *again, last = (i for i, (which, _) in enumerate(steps) if which == sine)
        start = again[0] if again and sine % size else first
        p.line([place(start, sine), place(last, sine)], "line")
        p.say(62, place(0, sine)[1] + 4, f"sine {sine + 1}", "right dim", 11)
    for i, (sine, style) in enumerate(steps):
        p.dot(*place(i, sine), 7, style)
    p.say(90, 222, "computed", "left value", 11)
    p.say(230, 222, "computed again", "left tangent", 11)
    p.say(390, 222, "differentiated", "left adjoint", 11)
    p.say(610, 222, "a line: its input is kept", "right", 11)


@figure("13_own_operation", 210)
def overflow(p: Picture) -> None:
    """Written as it stands, ln(1 + exp x) is infinite from 89 on in float32; rewritten it is right
    everywhere"""
    xs = np.linspace(-20, 120, 141).astype(np.float32)
    with np.errstate(over="ignore"):
        naive = np.log(1 + np.exp(xs))
    stable = mg.nn.functional.softplus(mg.tensor(xs)).numpy()
    chart = Chart(p, (-20, 120), (-5, 125), 50, 20, 590, 180, axes=False)
    p.line([(50, 180), (590, 180)], "axis")
    chart.curve(zip(xs.tolist(), stable.tolist(), strict=True), "value")
    finite = [(float(x), float(y)) for x, y in zip(xs, naive, strict=True) if np.isfinite(y)]
    chart.curve([(x, y + 6) for x, y in finite], "adjoint")
    last = finite[-1][0]
    at, _ = chart.at(last, 0)
    p.line([(at, 20), (at, 180)], "axis")
    p.say(at - 8, 40, f"infinite beyond x = {last:.0f}", "adjoint right", 11)
    p.say(330, 160, "as it stands: log(1 + exp(x))", "adjoint left", 11)
    p.say(330, 176, "rewritten: max(x, 0) + log1p(exp(−|x|))", "value left", 11)


@figure("14_debugging_and_profiling", 210)
def nan(p: Picture) -> None:
    """where(x > 0, sqrt x, 0) at 0: the branch that is not taken sends 0 times infinity, which is
    NaN"""
    nodes = {
        "x": (60.0, 105.0, "x = 0", "plain"),
        "s": (220.0, 60.0, "√x = 0", "value"),
        "z": (220.0, 155.0, "0", "plain"),
        "w": (390.0, 105.0, "where", "value"),
        "y": (540.0, 105.0, "y = 0", "value"),
    }
    _graph(p, nodes, "x s, s w, z w, w y", 27)
    p.arrow((512, 122), (419, 122), "adjoint", -10)
    p.say(466, 150, "1", "adjoint")
    p.arrow((366, 84), (248, 52), "adjoint", 12)
    p.say(318, 42, "0: not taken", "adjoint")
    p.arrow((196, 48), (78, 78), "adjoint", 12)
    p.say(110, 36, "0 · ½/√0 = 0 · ∞ = NaN", "adjoint bold", 12)


@figure("15_gpu", 210)
def memories(p: Picture) -> None:
    """Two computers, two memories: a GPU is fast inside, and the link to it is narrow"""
    for x, title, style, said in (
        (30.0, "CPU", "plain", "your program"),
        (410.0, "GPU", "value", "many small sums at once"),
    ):
        p.box(x, 30, 200, 140, style, 10)
        p.say(x + 100, 52, title, "bold", 14)
        p.say(x + 100, 72, said, "dim", 11)
        p.box(x + 25, 90, 150, 60, "empty", 6)
        p.say(x + 100, 124, "its own memory", size=12)
    p.arrow((236, 105), (404, 105), "adjoint")
    p.arrow((404, 130), (236, 130), "adjoint")
    p.say(320, 96, "a batch goes over", "adjoint", 11)
    p.say(320, 150, "one number comes back", "adjoint", 11)
    p.say(320, 190, "a narrow link: count the bytes", "bold", 12)


@figure("15_gpu_queue", 190)
def queue(p: Picture) -> None:
    """The host hands over five jobs and stops its watch, while the device is still working"""
    launch, run, jobs, scale = 5.0, 20.0, 5, 5.0
    left, free = 80.0, 0.0
    p.say(left - 10, 58, "host", "right", 12)
    p.say(left - 10, 118, "device", "right", 12)
    for job in range(jobs):
        given = launch * (job + 1)
        p.box(left + scale * (given - launch), 40, scale * launch, 28, "value", 3)
        p.say(left + scale * (given - launch / 2), 58, f"{job + 1}", size=11)
        start = max(given, free)
        p.box(left + scale * start, 100, scale * run, 28, "adjoint", 3)
        p.say(left + scale * (start + run / 2), 118, f"job {job + 1}", size=11)
        free = start + run
    for at, style, said in (
        (launch * jobs, "tangent", "a stopwatch that does not wait"),
        (free, "adjoint right", "synchronize() returns"),
    ):
        p.line([(left + scale * at, 28), (left + scale * at, 150)], style)
        p.say(left + scale * at, 168, said, style, 11)


COLOURS = ("value", "adjoint", "yellow", "tangent", "plain")
"""The styles that stand for colours of columns."""


@figure("21_fewest_colours", 250)
def compressed_plate(p: Picture) -> None:
    """Left: a matrix with five diagonals, each column in one of five colours. Middle: the same
    entries in five columns. Right: a plate whose points have these colours, a knight's move apart
    """
    n, cell = 5, 7.6
    colour = lambda i, j: (i + 2 * j) % 5
    rows = [
        [a * n + b for a, b in ((i, j), (i, j + 1), (i, j - 1), (i + 1, j), (i - 1, j))
         if 0 <= a < n and 0 <= b < n]
        for i in range(n) for j in range(n)
    ]  # fmt: skip
    p.box(20, 24, n * n * cell, n * n * cell, "empty")
    p.box(262, 24, 5 * 2 * cell, n * n * cell, "empty")
    for i, row in enumerate(rows):
        for j in row:
            c = colour(*divmod(j, n))
            p.box(20 + j * cell, 24 + i * cell, cell, cell, COLOURS[c])
            p.box(262 + 2 * c * cell, 24 + i * cell, 2 * cell, cell, COLOURS[c])
    p.arrow((218, 119), (254, 119))
    for i in range(12):
        for j in range(12):
            p.dot(412 + 17 * j, 31 + 16 * i, 6.6, COLOURS[colour(i, j)])
    p.say(115, 234, "25 columns", "dim", 11)
    p.say(300, 234, "5 passes", "dim", 11)
    p.say(505, 234, "a plate of any size: 5 colours", "dim", 11)


@figure("21_fewest_colours_graph", 230)
def conflict_graph(p: Picture) -> None:
    """Left: a pattern with five rows and six columns in three colours. Right: six dots in these
    colours; a line joins two columns that meet in a row"""
    rows = [[0, 1], [1, 2, 3], [3, 4], [0, 5], [2, 5]]
    colours = fewest(rows, 6)
    _matrix(
        p, 60, 42, len(rows), 6, 30, lambda i, j: COLOURS[colours[j]] if j in rows[i] else "empty"
    )
    for j in range(6):
        p.say(75 + 30 * j, 32, "abcdef"[j], "bold")
    angle = lambda j: math.pi * (j / 3 - 0.5)
    nodes: dict[str, Node] = {
        "abcdef"[j]: (
            450 + 110 * math.cos(angle(j)),
            112 + 80 * math.sin(angle(j)),
            "abcdef"[j],
            COLOURS[colours[j]],
        )
        for j in range(6)
    }
    for j, others in enumerate(conflicts(rows, 6)):
        for k in others:
            if k > j:
                p.line([nodes["abcdef"[m]][:2] for m in (j, k)])
    for x, y, said, style in nodes.values():
        p.dot(x, y, 17, style)
        p.say(x, y + 4, said, "bold")
    p.say(150, 214, "columns that meet in a row …", "dim", 11)
    p.say(450, 226, "… are joined by a line", "dim", 11)


@figure("bug_zoo", 170)
def zoo(p: Picture) -> None:
    """Six engines of six parts, and one part of each is broken; which?"""
    for i, letter in enumerate("ABCDEF"):
        x = 30 + 100 * i
        p.box(x, 30, 80, 90, "plain", 8)
        p.say(x + 40, 50, f"engine {letter}", "bold", 12)
        for j in range(6):
            p.box(x + 12 + 19 * (j % 3), 62 + 24 * (j // 3), 17, 20, "value", 3)
        p.say(x + 40, 142, "which part?", "adjoint", 11)


@figure("16_matrix_calculus", 250)
def ellipse(p: Picture) -> None:
    """Two hundred points, and ellipses that turn onto them: a circle at first, then longer, then
    the best fit"""
    n = 200
    points = np.array([[1.9, 0.3], [0.4, 0.6]]) @ np.random.default_rng(3).normal(size=(2, n))
    place = lambda x, y: (300 + 46 * x, 125 - 46 * y)
    for x, y in points.T:
        if abs(x) < 5.5 and abs(y) < 2.5:
            p.dot(*place(x, y), 1.6, "plain")
    data = mg.tensor(points / math.sqrt(2 * n), dtype=mg.float64)
    matrix, circle = 0.6 * np.eye(2), np.linspace(0, 2 * math.pi, 90)
    shown = {0: ("yellow", "start"), 2: ("tangent", "2 steps"), 150: ("adjoint", "150 steps")}
    for step in range(151):
        if step in shown:
            style, said = shown[step]
            x, y = 2 * matrix @ np.array([np.cos(circle), np.sin(circle)])
            p.line([place(*pair) for pair in zip(x, y, strict=True)], style)
            row = 24 + 18 * list(shown).index(step)
            p.line([(30, row - 4), (58, row - 4)], style)
            p.say(66, row, said, f"{style} left", 11)
        a = mg.tensor(matrix, dtype=mg.float64, requires_grad=True)
        (mg.linalg.slogdet(a)[1] + (mg.linalg.solve(a, data) ** 2).sum()).backward()
        assert a.grad is not None
        matrix = matrix - 0.1 * a.grad.numpy()
    p.say(610, 236, "the loss: log |det A| + ½ |A⁻¹x|², averaged over the points",
          "dim right", 11)  # fmt: skip


@figure("16_matrix_calculus_layers", 210)
def layers(p: Picture) -> None:
    """Values go from left to right through W and σ; deltas come back through Wᵀ and σ′; each weight
    gets delta times the values before it"""
    columns = (60.0, 240.0, 420.0, 590.0)
    names = ("a₀", "a₁", "a₂", "a₃")
    for i, (x, said) in enumerate(zip(columns, names, strict=True)):
        p.box(x - 22, 30, 44, 34, "value", 8)
        p.say(x, 52, said, "bold")
        if i:
            p.box(x - 22, 136, 44, 34, "adjoint", 8)
            p.say(x, 158, f"δ{'₀₁₂₃'[i]}", "bold")
            left = columns[i - 1]
            p.arrow((left + 26, 47), (x - 26, 47), "value")
            p.say((left + x) / 2, 38, f"W{'₀₁₂₃'[i]}, then σ", "value", 11)
            p.say((left + x) / 2, 104, f"W̄{'₀₁₂₃'[i]} = δ{'₀₁₂₃'[i]} a{'₀₁₂₃'[i - 1]}ᵀ", "bold", 12)
            p.arrow((left + 20, 68), ((left + x) / 2 - 8, 90), "axis")
            p.arrow((x - 20, 134), ((left + x) / 2 + 8, 111), "axis")
        if i > 1:
            left = columns[i - 1]
            p.arrow((x - 26, 153), (left + 26, 153), "adjoint")
            p.say((left + x) / 2, 172, f"W{'₀₁₂₃'[i]}ᵀ, then ⊙ σ′", "adjoint", 11)
    p.say(60, 158, "data: no δ", "dim", 11)
    p.say(320, 200, "one product forward, two backward", "dim", 11)


@figure("17_where_it_is_wrong", 220)
def pitfalls(p: Picture) -> None:
    """Left: the line y = x with slope 0 at one point. Middle: the slope of a loop for the square
    root jumps, and is 0 around 1. Right: a chaotic program leaves the true orbit"""
    slope = lambda f, x: mg.func.grad(f)(mg.tensor(x, dtype=mg.float64)).item()
    special = lambda x: 0 * x + 3 if x == 3 else x
    p.say(105, 24, "a branch", "bold")
    chart = Chart(p, (2, 4), (2, 4), 25, 45, 185, 170, axes=False)
    chart.curve([(2, 2), (4, 4)], "value")
    tilt = slope(special, 3.0)
    chart.curve([(2.5, 3 - 0.5 * tilt), (3.5, 3 + 0.5 * tilt)], "tangent")
    chart.dot(3, 3, 4, "tangent")
    p.say(105, 192, "3 if x == 3 else x", size=12)
    p.say(105, 210, f"slope at 3: {tilt:g}, not 1", "tangent", 11)

    def root(x: mg.Tensor) -> mg.Tensor:
        y = 0 * x + 1
        while abs((y * y - x).item()) > 0.1:
            y = (y + x / y) / 2
        return y

    p.say(320, 24, "a loop", "bold")
    chart = Chart(p, (0.25, 3), (0, 1.2), 240, 45, 400, 170)
    xs = np.linspace(0.25, 3.0, 221)
    chart.curve([(x, 0.5 / math.sqrt(x)) for x in xs], "value")
    chart.curve([(x, slope(root, x)) for x in xs], "tangent")
    p.say(395, 108, "slope of √x", "value right", 11)
    p.say(320, 192, "y = (y + x/y)/2, until y² ≈ x", size=12)
    p.say(320, 210, f"slope at 1: {slope(root, 1.0):g}, not 0.5", "tangent", 11)

    p.say(535, 24, "chaos", "bold")
    chart = Chart(p, (36, 66), (0, 1), 455, 45, 615, 170)
    x, orbit = math.sin(math.pi / 7) ** 2, []
    for _ in range(67):
        orbit.append(x)
        x = 4 * x * (1 - x)
    for n in range(36, 67):
        chart.dot(n, math.sin(math.pi * (2**n % 7) / 7) ** 2, 2.6, "value")
    chart.curve([(n, orbit[n]) for n in range(36, 67)], "tangent")
    p.say(535, 192, "x → 4x(1 − x)", size=12)
    p.say(535, 210, "it leaves the true orbit (dots)", "tangent", 11)


@figure("17_where_it_is_wrong_float16", 190)
def scaled(p: Picture) -> None:
    """An axis of powers of two with the range of float16. Without a scale the adjoints lie below
    it, with the scale 65,536 inside"""
    place = lambda power: 30 + 580 * (power + 46) / 64
    for low, high, style, said in (
        (-46, -25, "empty", "becomes 0"),
        (-25, -14, "yellow", "few digits"),
        (-14, 16, "value", "all 11 bits"),
        (16, 18, "empty", "∞"),
    ):
        p.box(place(low), 140, place(high) - place(low), 22, style)
        p.say(place((low + high) / 2), 155, said, size=11)
    for power in (-40, -25, -14, 0, 16):
        p.say(place(power), 180, f"2{_raised(power)}", "dim", 11)
    t = np.arange(512) / 512
    waves = ((0.2, 0.04, 0.15), (0.36, 0.02, -0.15), (0.4, 0.018, 1.0), (0.45, 0.02, -0.25),
             (0.68, 0.06, 0.3))  # fmt: skip
    volts = 1e-4 * sum(high * np.exp(-(((t - at) / wide) ** 2)) for at, wide, high in waves)
    powers = np.log2(np.abs(2 * volts / 8192))
    for shift, style, said, at in ((0, "adjoint", "adjoints as they are", -39),
                                   (16, "tangent", "times 65,536", -3)):  # fmt: skip
        heights, edges = np.histogram(powers + shift, bins=np.arange(-46, 18))
        for height, edge in zip(heights, edges, strict=False):
            if height:
                tall = 1.6 * float(height)
                p.box(place(edge), 136 - tall, 580 / 64 - 1, tall, style)
        p.say(place(at), 70, said, style, 12)


def _raised(power: int) -> str:
    return "".join("⁻⁰¹²³⁴⁵⁶⁷⁸⁹"["-0123456789".index(c)] for c in str(power))


UNITS = 8
"""Of the equilibrium layer of lesson 19."""


def _equilibrium(points: np.ndarray, labels: np.ndarray, steps: int) -> list[np.ndarray]:
    """The parameters W, U, b, v of the equilibrium layer of lesson 19, trained as there."""
    rng, n, rate = np.random.default_rng(3), labels.size, 0.1 / labels.size
    w, u, b = (rng.normal(size=(UNITS, n)) for n in (UNITS, 2, 1))
    w, v = w / UNITS, np.zeros((1, UNITS))
    for _ in range(steps):
        z = _settled(lambda z, w=w, c=u @ points + b: np.tanh(w @ z + c), np.zeros((UNITS, n)))
        slope = 1 - z**2
        sent = 2 * (v @ z - labels)
        back = lambda t, w=w, slope=slope, g=v.T @ sent: w.T @ (slope * t) + g
        delta = slope * _settled(back, np.zeros((UNITS, n)))
        w, u = w - rate * delta @ z.T, u - rate * delta @ points.T
        b, v = b - rate * delta.sum(1, keepdims=True), v - rate * sent @ z.T
        w *= min(1.0, 0.9 / np.linalg.norm(w, 2))
    return [w, u, b, v]


def _kept_by_rounds(w: np.ndarray, c: np.ndarray, rounds: int) -> list[float]:
    """How many numbers the results of operations hold in the student's engine, after each round of
    the layer that is unrolled.
    """
    weight, constant = own_engine.Tensor(w), own_engine.Tensor(c)
    z, counts = own_engine.Tensor(np.zeros(c.shape)), [0.0]
    for _ in range(rounds):
        z = own_engine.made_of("tanh", np.tanh)(weight @ z + constant)
        every = own_engine.topological_order(z)
        counts.append(float(sum(node.value.size for node in every if node.parents)))
    return counts


def _settled(step: Callable[[np.ndarray], np.ndarray], z: np.ndarray) -> np.ndarray:
    """The fixed point of a step, by repeating it."""
    change = 1.0
    while change > 1e-10:
        new = step(z)
        change, z = float(np.max(np.abs(new - z))), new
    return z


@figure("19_fixed_points", 240)
def equilibrium(p: Picture) -> None:
    """Left: points of two moons and a curved border between them. Right: what is kept grows with
    each round of an unrolled loop; for a fixed point it is a flat line"""
    rng, n = np.random.default_rng(0), 75
    t = math.pi * rng.random((2, n))
    moons = [[np.cos(t[0]), np.sin(t[0])], [1 - np.cos(t[1]), 0.5 - np.sin(t[1])]]
    points = np.hstack(moons) + 0.1 * rng.normal(size=(2, 2 * n))
    labels = np.repeat([[1.0, -1.0]], n, axis=1)
    w, u, b, v = _equilibrium(points, labels, 150)
    place = lambda x, y: (30 + 62 * (x + 1.5), 205 - 62 * (y + 1.0))
    xs, ys = np.linspace(-1.5, 2.5, 61), np.linspace(-1.0, 1.6, 40)
    grid = np.array(np.meshgrid(xs, ys)).reshape(2, -1)
    z = _settled(lambda z: np.tanh(w @ z + u @ grid + b), np.zeros((UNITS, grid.shape[1])))
    for a, c in _contour((v @ z).reshape(ys.size, xs.size), xs, ys):
        p.line([place(*a), place(*c)])
    for (x, y), label in zip(points.T, labels[0], strict=True):
        p.dot(*place(x, y), 2.6, "value" if label > 0 else "adjoint")
    p.say(155, 226, "a network of infinite depth, trained", "dim", 11)
    flat, most = UNITS * 2 * n, _kept_by_rounds(w, u @ points + b, 60)
    chart = Chart(p, (0, 60), (0, most[-1]), 360, 30, 600, 195)
    chart.curve(enumerate(most), "adjoint")
    chart.curve([(0, flat), (60, flat)], "value")
    p.say(545, 50, f"unrolled: {most[-1]:,.0f} numbers", "adjoint right", 11)
    p.say(596, 182, f"fixed point: {flat} numbers", "value right", 11)
    p.say(366, 24, "kept for the backward pass", "left dim", 11)
    p.say(480, 226, "rounds of the search, up to 60", "dim", 11)


def _contour(values: np.ndarray, xs: np.ndarray, ys: np.ndarray) -> list[tuple[Point, Point]]:
    """Where values on a grid change their sign: a short line in each cell in which they do."""
    found = []
    for i in range(ys.size - 1):
        for j in range(xs.size - 1):
            corners = [(i, j), (i, j + 1), (i + 1, j + 1), (i + 1, j)]
            ends: list[Point] = []
            for one, other in zip(corners, corners[1:] + corners[:1], strict=True):
                first, second = values[one], values[other]
                if (first > 0) != (second > 0):
                    share = first / (first - second)
                    ends.append((
                        float(xs[one[1]] + share * (xs[other[1]] - xs[one[1]])),
                        float(ys[one[0]] + share * (ys[other[0]] - ys[one[0]])),
                    ))  # fmt: skip
            found += list(zip(ends[::2], ends[1::2], strict=True))
    return found


@figure("19_fixed_points_graphs", 240)
def rounds(p: Picture) -> None:
    """Above: five steps in a row, each keeping its values. Below: one step; forward, z goes round
    in it, and backward the adjoint"""
    p.say(20, 24, "unrolled", "left bold")
    for i in range(5):
        x = 70 + 105 * i
        p.box(x, 40, 62, 34, "value", 8)
        p.say(x + 31, 62, "f", "bold")
        p.arrow((x - 38, 50), (x - 4, 50), "value")
        p.arrow((x - 4, 66), (x - 38, 66), "adjoint")
        p.box(x + 14, 84, 34, 14, "yellow")
        p.say(x + 31, 95, "kept", "yellow", 10)
    p.arrow((557, 50), (591, 50), "value")
    p.arrow((591, 66), (557, 66), "adjoint")
    p.say(606, 62, "z", "bold")
    p.say(22, 62, "z₀", "bold")
    p.say(20, 140, "a fixed point", "left bold")
    for x, style, name, said in (
        (150.0, "value", "z", "forward: z goes round until it settles"),
        (430.0, "adjoint", "λ", "backward: λ goes round in the last f"),
    ):
        p.box(x, 160, 62, 34, "value", 8)
        p.say(x + 31, 182, "f", "bold")
        p.arrow((x + 62, 170), (x + 2, 158), style, -42)
        p.say(x + 31, 138, name, f"{style} bold")
        p.say(x + 31, 226, said, "dim", 11)
    p.box(444, 202, 34, 14, "yellow")
    p.say(461, 213, "kept", "yellow", 10)


def _midpoint(rates: Callable[..., mg.Tensor], s: mg.Tensor, h: float, *inputs: Any) -> mg.Tensor:
    return s + h * rates(s + h / 2 * rates(s, *inputs), *inputs)


def _thrown(s: mg.Tensor) -> mg.Tensor:
    """Rates of the ball of lesson 20; a state is a position and a velocity, as rows."""
    wind = mg.stack([-s[0, 1], mg.zeros((), dtype=mg.float64)])
    air = s[1] - wind
    drag = 0.05 * mg.sqrt((air * air).sum()) * air
    return mg.stack([s[1], mg.tensor([0.0, -9.81], dtype=mg.float64) - drag])


def _pulled_by_a_planet(s: mg.Tensor, push: mg.Tensor) -> mg.Tensor:
    """Rates of the satellite of lesson 20."""
    return mg.stack([s[1], push - s[0] * (s[0] * s[0]).sum() ** -1.5])


def throws(count: int, steps: int = 30, seconds: float = 1.2) -> list[np.ndarray]:
    """The paths of so many throws, each better than the one before by a step against the
    gradient.
    """
    velocity, paths = np.array([2.0, 7.0]), []
    for _ in range(count):
        first = mg.tensor(np.array([[0.0, 2.0], velocity]), dtype=mg.float64, requires_grad=True)
        states = [first]
        for _ in range(steps):
            states.append(_midpoint(_thrown, states[-1], seconds / steps))
        miss = states[-1][0] - mg.tensor([4.2, 3.05], dtype=mg.float64)
        (0.5 * (miss * miss).sum()).backward()
        assert first.grad is not None
        paths.append(np.array([state.detach().numpy()[0] for state in states]))
        velocity = velocity - first.grad.numpy()[1]
    return paths


def _circling(radius: float, angle: float) -> np.ndarray:
    """A state on a circular orbit around a planet that pulls with 1/r²."""
    x, y = math.cos(angle), math.sin(angle)
    return np.array([[radius * x, radius * y], [-y / radius**0.5, x / radius**0.5]])


def _flights(count: int, legs: int = 8, steps: int = 8, time: float = 6.0) -> list[np.ndarray]:
    """The paths of so many flights from one orbit to another, each after a correction of the
    thrust that is the smallest one to cancel (a part of) the miss.
    """
    thrust, goal, paths = np.zeros((legs, 2)), _circling(1.5, 4.3), []
    for _ in range(count):
        push = mg.tensor(thrust, dtype=mg.float64, requires_grad=True)
        states = [mg.tensor(_circling(1.0, 0.0), dtype=mg.float64)]
        for i in range(legs * steps):
            h = time / (legs * steps)
            states.append(_midpoint(_pulled_by_a_planet, states[-1], h, push[i // steps]))
        paths.append(np.array([state.detach().numpy()[0] for state in states]))
        rows = [
            mg.autograd.grad(states[-1][i, j], [push], retain_graph=True)[0]
            for i in (0, 1)
            for j in (0, 1)
        ]
        jacobian = np.array([row.numpy().ravel() for row in rows if row is not None])
        miss = (states[-1].detach().numpy() - goal).ravel()
        part = min(1.0, 0.5 / float(np.linalg.norm(miss)))
        wanted = jacobian @ thrust.ravel() - part * miss
        thrust = jacobian.T @ np.linalg.solve(jacobian @ jacobian.T, wanted)
        thrust = thrust.reshape(legs, 2)
    return paths


@figure("20_through_a_simulator", 250)
def simulated(p: Picture) -> None:
    """Left: eight throws against the wind come nearer and nearer to the basket. Right: a
    satellite's path is bent in five corrections onto a larger orbit"""
    place = lambda x, y: (24 + 70 * x, 232 - 42 * y)
    p.line([place(0, 0), place(4.9, 0)], "axis")
    paths = throws(8)
    for number, path in enumerate(paths):
        style = "adjoint" if number == len(paths) - 1 else "value"
        p.line([place(*point) for point in path], style)
        p.dot(*place(*path[-1]), 3, style)
    p.line([place(3.97, 3.05), place(4.43, 3.05)], "yellow")
    p.line([place(4.43, 3.6), place(4.43, 2.6)], "yellow")
    p.dot(*place(*paths[0][0]), 4, "plain")
    p.say(*place(1.1, 1.3), "first throw", "value left", 11)
    p.say(*place(4.4, 2.2), "throw 8", "adjoint right", 11)
    for x in (4.4, 3.4):
        p.arrow(place(x, 4.9), place(x - 0.6, 4.9), "axis")
    p.say(*place(2.6, 4.8), "wind", "dim right", 11)
    centre = lambda x, y: (510 + 66 * x, 125 - 66 * y)
    for radius in (1.0, 1.5):
        around = np.linspace(0, 2 * math.pi, 80)
        p.line([centre(radius * math.cos(a), radius * math.sin(a)) for a in around], "axis")
    flights = _flights(6)
    for number, path in enumerate(flights):
        style = "adjoint" if number == len(flights) - 1 else "value"
        p.line([centre(*point) for point in path], style)
        p.dot(*centre(*path[-1]), 3, style)
    p.dot(*centre(0, 0), 9, "yellow")
    p.dot(*centre(1, 0), 4, "plain")
    p.say(*centre(0, 0.2), "planet", "yellow", 11)
    p.say(*centre(0.92, -0.05), "start", "dim right", 11)
    p.say(*centre(-0.75, -1.7), "goal", "adjoint", 11)


def schedule_of(n: int, slots: int, first: int = 0) -> list[tuple[str, int]]:
    """The binomial schedule: ("run", step), ("keep", state), ("pull", step) and ("free", state),
    in order, for n steps that begin at the state `first`, which is kept.
    """
    if n == 1:
        return [("pull", first)]
    runs = 1
    while math.comb(slots + runs, slots) < n:
        runs += 1
    m = math.comb(slots + runs - 1, slots)
    ahead = [("run", first + i) for i in range(m)]
    kept = n - m > 1
    return [
        *ahead,
        *([("keep", first + m)] if kept else []),
        *schedule_of(n - m, slots - 1, first + m),
        *([("free", first + m)] if kept else []),
        *schedule_of(m, slots, first),
    ]


@figure("20_through_a_simulator_schedule", 250)
def revolve(p: Picture) -> None:
    """Ten steps with three kept states: runs forward in blue, steps pulled back in purple, lines
    for kept states; no step is run forward more than twice"""
    n, slots, time = 10, 3, 0
    place = lambda time, step: (84 + 21.5 * time, 190 - 18 * step)
    actions = [("keep", 0), *schedule_of(n, slots), ("free", 0)]
    since, marks = dict[int, float](), list[tuple[int, int, str]]()
    for what, number in actions:
        if what == "keep":
            since[number] = time - 0.5 if number else 0.0
        elif what == "free":
            p.line([place(since[number], number), place(time - 1, number)], "line")
        else:
            marks.append((time, number, "value" if what == "run" else "adjoint"))
            time += 1
    for step in range(n):
        p.say(66, place(0, step)[1] + 4, f"step {step + 1}", "right dim", 11)
    for at, step, style in marks:
        p.dot(*place(at, step), 7, style)
    p.say(84, 232, "run forward", "left value", 11)
    p.say(230, 232, "pulled back", "left adjoint", 11)
    p.say(620, 232, "a line: the state before the step is kept", "right", 11)


FACE = (
    (16.0, 19.0, 12.0, (0.96, 0.76, 0.25)),
    (11.0, 15.0, 2.6, (0.2, 0.2, 0.25)),
    (21.0, 15.0, 2.6, (0.2, 0.2, 0.25)),
    (16.0, 24.0, 3.5, (0.85, 0.25, 0.25)),
    (27.0, 5.0, 4.0, (0.3, 0.5, 0.8)),
)
"""The scene of lesson 22: x, y, radius and colour of each disc, from the bottom to the top."""


def _soft_scene(discs: mg.Tensor, width: float) -> mg.Tensor:
    """The picture of discs (x, y, r, red, green, blue) with edges of that width: 1024 × 3."""
    middles = np.arange(32) + 0.5
    across, down = (
        mg.tensor(grid.reshape(-1, 1), dtype=mg.float64) for grid in np.meshgrid(middles, middles)
    )
    picture = mg.full((1024, 3), 0.95, dtype=mg.float64)
    for i in range(discs.shape[0]):
        away = mg.sqrt((across - discs[i, 0]) ** 2 + (down - discs[i, 1]) ** 2 + 0.001)
        cover = mg.sigmoid((discs[i, 2] - away) / width)
        picture = picture * (1 - cover) + cover * discs[i, 3:]
    return picture


def recovered(steps: int = 250, wide: float = 4.0, sharp: float = 0.5) -> list[np.ndarray]:
    """The discs (x, y, r and colour) before each step and after the last one, on their way to the
    scene of lesson 22; by Adam, with an edge that gets sharper.
    """
    rng = np.random.default_rng(4)
    scene = np.array([[*rng.uniform(6, 26, 2), 4.0, 0.5, 0.5, 0.5] for _ in FACE])
    goal = np.array([[x, y, r, *colour] for x, y, r, colour in FACE])
    target = _soft_scene(mg.tensor(goal, dtype=mg.float64), sharp)
    rates = np.array([0.4, 0.4, 0.4, 0.03, 0.03, 0.03])
    mean, square, found = np.zeros_like(scene), np.zeros_like(scene), [scene]
    for t in range(1, steps + 1):
        width = wide * (sharp / wide) ** min(1, t / steps / 0.8)
        discs = mg.tensor(scene, dtype=mg.float64, requires_grad=True)
        ((_soft_scene(discs, width) - target) ** 2).sum().backward()
        assert discs.grad is not None
        g = discs.grad.numpy()
        mean, square = 0.9 * mean + 0.1 * g, 0.99 * square + 0.01 * g * g
        step = mean / (1 - 0.9**t) / (np.sqrt(square / (1 - 0.99**t)) + 1e-8)
        scene = scene - rates * step
        found.append(scene)
    return found


@figure("22_noise_and_edges", 300)
def edges(p: Picture) -> None:
    """Above: the outlines of five discs after 0, 25, 75 and 250 steps, and the target. Below: the
    number of covered pixels is a staircase; with a soft edge it is a smooth curve"""
    styles, found = ("yellow", "value", "value", "tangent", "adjoint"), recovered()
    goal = np.array([[x, y, r, *colour] for x, y, r, colour in FACE])
    shown = [(f"step {t}", found[t]) for t in (0, 25, 75, 250)] + [("target", goal)]
    for column, (name, discs) in enumerate(shown):
        left = 18 + 123 * column
        p.box(left, 26, 112, 112, "empty")
        p.say(left + 56, 18, name, "bold" if name == "target" else "", 11)
        for x, y, r, *colour in discs:
            nearest = min(range(5), key=lambda i, c=colour: math.dist(c, FACE[i][3]))
            grey = max(colour) - min(colour) < 0.02
            p.dot(left + 3.5 * x, 26 + 3.5 * y, 3.5 * r, "plain" if grey else styles[nearest])
    middles = np.arange(32) + 0.5
    distance = np.hypot(middles - 16, middles[:, None] - 16)
    chart = Chart(p, (4, 7), (40, 165), 60, 160, 600, 272, axes=False)
    radii = np.linspace(4, 7, 241)
    p.line([(60, 156), (60, 272), (610, 272)], "axis")
    chart.curve([(r, float((distance < r).sum())) for r in radii], "value")
    far = mg.tensor(distance, dtype=mg.float64)
    soft = [(r, mg.sigmoid((float(r) - far) / 0.5).sum().item()) for r in radii]
    chart.curve(soft, "adjoint")
    p.say(330, 290, "radius", "dim", 11)
    p.say(72, 170, "covered pixels", "left value", 11)
    p.say(72, 186, "with a soft edge", "left adjoint", 11)


@figure("23_how_the_others_do_it", 300)
def three_systems(p: Picture) -> None:
    """A program becomes a tape in each run, a trace in one run, or another text. Below: the
    temperature of an oven by its power, a curve with jumps, and its trace, a straight line"""
    p.box(18, 58, 92, 40, "plain", 6)
    p.say(64, 83, "program", "bold")
    rows = (
        (20.0, "value", "tape", "a list of what happened, in each run", "decides each time"),
        (61.0, "tangent", "trace", "one list of rows, to be replayed", "freezes the if"),
        (102.0, "adjoint", "source", "another text, before any run", "keeps both sides"),
    )
    for y, style, name, made, branch in rows:
        p.arrow((112, 78), (168, y + 17), "line")
        p.box(172, y, 74, 34, style, 6)
        p.say(209, y + 22, name, "bold")
        p.say(258, y + 22, made, "left")
        p.say(622, y + 22, branch, f"right {style}")
    _, loss, limit = lesson23.AT
    decisions = lesson23.oven(*lesson23.AT)[1]
    powers = np.linspace(1, 4.5, 141)
    chart = Chart(p, (1, 4.5), (0, 11), 70, 152, 610, 272, axes=False)
    p.line([(70, 152), (70, 272), (620, 272)], "axis")
    pieces: list[tuple[list[bool], list[Point]]] = []
    for power in powers:
        t, decided = lesson23.oven(float(power), loss, limit)
        if not pieces or pieces[-1][0] != decided:
            pieces.append((decided, []))
        pieces[-1][1].append((float(power), float(t)))
    for _, points in pieces:
        chart.curve(points, "value")
    line = [(float(x), lesson23.frozen(decisions, float(x), loss)) for x in powers[::20]]
    chart.curve(line, "tangent")
    p.say(82, 166, "temperature of an oven at the end", "left value", 11)
    p.say(82, 182, "its trace, recorded at power 3", "left tangent", 11)
    p.say(340, 291, "power", "dim", 11)


SINCE = (
    (1964, "Wengert: forward"),
    (1970, "Linnainmaa: backward"),
    (1980, "Speelpenning: a compiler"),
    (1986, "backpropagation"),
    (2013, "Tapenade"),
    (2018, "JAX"),
    (2019, "PyTorch"),
    (2020, "Enzyme"),
    (2024, "PyTorch 2"),
)
"""The time line of lesson 23: the years of the papers that it names."""


@figure(
    "23_how_the_others_do_it_history",
    210,
    "Time line: " + ", ".join((f"{year} {what}" for year, what in SINCE)),
)
def history(p: Picture) -> None:
    """Lesson 23: a time line of derivatives of programs."""
    place = lambda year: 40 + (year - 1960) * 560 / 66
    p.arrow((30, 190), (620, 190), "axis")
    for i, (year, what) in enumerate(SINCE):
        x, y = place(year), 148 - 17 * (3 - i if year < 2000 else i - 4)
        p.line([(x, 190), (x, y + 4)], "axis")
        p.dot(x, 190, 4, "value")
        side = "left" if year < 2000 else "right"
        p.say(x + (4 if side == "left" else -4), y, f"{year} {what}", side, 11)


# ---------------------------------------------------------------------------------------- documents


@figure("documents_singa", 150)
def creators(p: Picture) -> None:
    """Tensors in a row: each result points back to the operation that made it"""
    for x, said, style in (
        (20.0, "inputs", "plain"),
        (180.0, "matmul", "value"),
        (340.0, "relu", "value"),
        (500.0, "result", "plain"),
    ):
        p.box(x, 50, 110, 40, style, 8)
        p.say(x + 55, 75, said, "bold")
        if x > 20:
            p.arrow((x - 2, 80), (x - 48, 80), "adjoint")
            p.arrow((x - 48, 60), (x - 2, 60), "value")
    p.say(390, 115, "creator", "adjoint", 11)
    p.say(230, 115, "creator", "adjoint", 11)
    p.say(320, 36, "computed from left to right, remembered from right to left", "dim", 11)


@figure("06b_backward_and_hooks", 170)
def leaves(p: Picture) -> None:
    """Leaves keep the gradient that arrives; results pass it on and forget it"""
    nodes = {
        "a": (80.0, 50.0, "a", "value"),
        "b": (80.0, 120.0, "b", "value"),
        "c": (250.0, 85.0, "c", "plain"),
        "y": (420.0, 85.0, "y", "plain"),
    }
    _graph(p, nodes, "a c, b c, c y", 20)
    p.arrow((400, 100), (272, 100), "adjoint", -8)
    p.arrow((232, 70), (102, 44), "adjoint", 8)
    p.arrow((232, 102), (102, 128), "adjoint", -8)
    p.say(80, 24, "leaf: keeps .grad", "value", 11)
    p.say(80, 158, "leaf: keeps .grad", "value", 11)
    p.say(250, 128, "result: passes it on", "dim", 11)
    p.say(560, 89, "backward() starts here", "adjoint", 11)
    p.arrow((490, 85), (444, 85), "adjoint")


@figure("documents_autogradlib", 150)
def ladder(p: Picture) -> None:
    """A ladder of sums: one, two, four, eight paths lead down to x"""
    for i in range(5):
        x = 60 + 125 * i
        p.dot(x, 65, 18, "plain" if i == 0 else "value")
        p.say(x, 69, "x" if i == 0 else "+", "bold")
        p.say(x, 118, f"{2 ** (4 - i)} path{'s' if i < 4 else ''}", "adjoint", 11)
        if i:
            p.arrow((x - 108, 58), (x - 20, 58), "line", 10)
            p.arrow((x - 108, 72), (x - 20, 72), "line", -10)


@figure("documents_article", 240)
def backward_graph(p: Picture) -> None:
    """Left: x1 to x4. Right: the graph of the adjoints, in which two parts of the adjoint of x2 are
    added"""
    nodes = {
        "1": (60.0, 210.0, "x₁", "plain"),
        "2": (60.0, 150.0, "x₂", "value"),
        "3": (150.0, 95.0, "x₃", "value"),
        "4": (60.0, 35.0, "x₄", "value"),
        "d4": (560.0, 35.0, "x̄₄", "adjoint"),
        "d3": (460.0, 95.0, "x̄₃", "adjoint"),
        "p1": (560.0, 115.0, "x̄₂¹", "adjoint"),
        "p2": (460.0, 150.0, "x̄₂²", "adjoint"),
        "d2": (560.0, 180.0, "x̄₂", "adjoint"),
        "d1": (460.0, 212.0, "x̄₁", "adjoint"),
    }
    values, reads = "1 2, 2 3, 3 4, 2 4", "2 d3 axis, 3 p1 axis, 2 d1 axis"
    adjoints = " adjoint, ".join(("d4 d3", "d4 p1", "d3 p2", "p1 d2", "p2 d2", "d2 d1 "))
    _graph(p, nodes, f"{values}, {adjoints} adjoint, {reads}", 18)
    p.say(300, 30, "the values that the rules need", "dim", 11)


@figure(
    "24_engine_suite",
    280,
    "Left: the error of a derivative by the size of the step: differences get worse again, the"
    " imaginary step does not. Right: the six groups of the suite, each resting on the one"
    " before",
)
def witnesses(p: Picture) -> None:
    """Lesson 24: the error of a derivative by differences and by an imaginary step, by the size of
    the step; and the groups of the suite.
    """
    x, right = 1.1, 3 * 1.1**2
    steps = [10 ** (-1 - k / 6) for k in range(91)]
    height = lambda slope: math.log10(max(abs(slope / right - 1), 1e-17))
    differences = [height(((x + h) ** 3 - (x - h) ** 3) / (2 * h)) for h in steps]
    imaginary = [height((3 * x * x * h - h * h * h) / h) for h in steps]  # Im (x + ih)³ / h
    chart = Chart(p, (1, 16), (-17.5, 0.5), 60, 24, 400, 240, axes=False)
    p.line([(60, 24), (60, 240), (405, 240)], "axis")
    for errors, style in ((differences, "tangent"), (imaginary, "adjoint")):
        chart.curve(zip([-math.log10(h) for h in steps], errors, strict=True), style)
    p.say(232, 262, "size of the step, 0.1 to 10⁻¹⁶", "dim", 11)
    p.say(68, 36, "error", "left dim", 11)
    p.say(330, 100, "difference", "tangent")
    p.say(300, 212, "imaginary step", "adjoint")
    styles = ("value", "value", "value", "adjoint", "tangent", "yellow")
    for number, (group, style) in enumerate(zip(engine_suite.GROUPS, styles, strict=True)):
        y = 222 - 38 * number
        p.box(440, y, 180, 30, style, 5)
        count = sum(trial.group == group for trial in engine_suite.TRIALS)
        p.say(452, y + 20, group, f"left {style}")
        p.say(608, y + 20, str(count), "right dim")


@figure(
    "24b_names",
    270,
    "Left: a recurrent network reads a full stop, b and a; each step hands its state to the"
    " next. Right: the mean surprise of a letter for a model that knows nothing, the frequencies"
    " of letters, one letter before, two letters before, and for the rules themselves",
)
def levels(p: Picture) -> None:
    """Lesson 24b: a recurrent network that reads a name; and the mean surprise of a letter for a
    model that knows nothing, the frequencies, one letter, two letters, and for the rules.
    """
    for step, (letter, following) in enumerate(zip(".ba", "ba…", strict=True)):
        x = 55 + 95 * step
        p.dot(x, 215, 17, "plain")
        p.say(x, 220, letter, "bold", 14)
        p.arrow((x, 196), (x, 160), "line")
        p.box(x - 26, 120, 52, 38, "value", 6)
        p.say(x, 144, f"h{'₁₂₃'[step]}", "value", 14)
        p.arrow((x, 118), (x, 82), "line")
        p.dot(x, 62, 17, "tangent")
        p.say(x, 67, following, "tangent", 14)
        p.arrow((x + 28, 139), (x + 67, 139), "adjoint")
        p.say(x + 47, 130, "W", "adjoint", 11)
        p.say(x + 12, 184, "E", "dim", 11)
        p.say(x + 12, 104, "U", "dim", 11)
    rows = [
        ("knows nothing", math.log(len(village_names.LETTERS))),
        ("how often letters come", lesson24b.counted_loss(0)),
        ("one letter before", lesson24b.counted_loss(1)),
        ("two letters before", lesson24b.counted_loss(2)),
        ("the rules: the floor", lesson24b.floor_of(village_names.villages(5_000, seed=102))),
    ]
    for number, (name, level) in enumerate(rows):
        y = 34 + 42 * number
        p.say(350, y, name, "left", 12)
        p.box(350, y + 6, 62 * level, 14, "adjoint" if number == 4 else "value", 3)
        p.say(622, y + 18, f"{level:.2f}", "right bold")
    p.say(350, 256, "surprise of a letter, −ln p", "left dim", 11)


LANDSCAPE = (
    (21.735, 14.907, 1.495, 1.3, 1.304, 1.617),
    (3.651, 3.58, 12.684, 0.652, 0.796, 0.927),
    (11.466, 25.254, 15.06, 0.287, 0.489, 0.3),
    (12.148, 26.979, 7.989, 0.311, 0.582, -1.109),
    (12.048, 45.004, 26.216, 0.197, 0.395, 0.667),
    (15.436, 0.987, 9.483, 0.565, 0.76, 0.959),
    (22.931, 9.635, 4.405, 0.684, 0.814, 0.935),
    (13.825, 9.963, 5.564, 0.716, 0.83, 0.939),
    (17.018, 5.986, 3.032, 1.027, 0.797, 0.139),
)
"""Discs: x, y, r, red, green, blue."""
FOUND = {
    "golf": (1.9956165, 2.2642836),
    "lens": (0.19876666, -0.00862394, 0.00040595),
    "orbit": (0.34711426, 0.53272713, 6.3258949),
    "renderer": tuple(np.ravel(LANDSCAPE)),
}
"""Numbers for the projects of lesson 24c, found from their starts as the lesson does."""


def one_project(name: str) -> Callable[[], Picture]:
    """The picture of a project, as its command writes it."""
    return lambda: PROJECTS[name].picture(FOUND[name])


FIGURES |= {f"24c_project_{name}": one_project(name) for name in FOUND}


@figure(
    "24c_project",
    360,
    "Four pictures: a putt over hills, the rays of a lens, three bodies on a figure of eight,"
    " and a landscape beside the discs that paint it",
)
def four_projects(p: Picture) -> None:
    """Lesson 24c: the pictures of the four projects."""
    for number, name in enumerate(PROJECTS):
        picture = one_project(name)()
        scale = min(310 / picture.width, 170 / picture.height)
        x = 5 + 320 * (number % 2) + (310 - scale * picture.width) / 2
        p.inset(picture, x, 5 + 178 * (number // 2), scale)


def files() -> dict[Path, str]:
    """What the command writes."""
    return {FOLDER / f"{name}.svg": draw().text() for name, draw in FIGURES.items()}


def main() -> None:
    """Writes the figures."""
    FOLDER.mkdir(exist_ok=True)
    for path, text in files().items():
        path.write_text(text, encoding="utf-8")
    print(f"wrote {len(FIGURES)} figures")


if __name__ == "__main__":
    main()
