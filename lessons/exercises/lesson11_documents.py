"""The exercise of documents_autogradlib.ipynb: how often a recursion that follows every path
arrives at the input of a ladder.
"""

from __future__ import annotations

import minigrad as mg

from .made import Exact


def paths(rungs: int = 10) -> float:
    """Each path carries the derivative 1, so the derivative of the ladder's top counts the
    paths.
    """

    def ladder(x: mg.Tensor) -> mg.Tensor:
        for _ in range(rungs):
            x = x + x
        return x

    return float(mg.func.grad(ladder)(mg.tensor(1.0, dtype=mg.float64)).item())


ladder_arrivals = Exact(
    "ladder-arrivals",
    "Prediction: how many times x gets a gradient on a ladder with 10 rungs",
    variable="arrivals_at_x",
    answer=paths,
    because=(
        "Each rung doubles the number of paths: 2 · 2 · … · 2 = 2¹⁰ = 1024. With 60 rungs the"
        " program would not end."
    ),
    slips=(
        (
            (
                "That is once for each rung. But each rung passes on *every* gradient that it gets,"
                " twice."
            ),
            lambda: 10.0,
        ),
        (
            "A sweep visits 11 nodes. A recursion visits a node once for each path to it.",
            lambda: 11.0,
        ),
        (
            (
                "Two for each rung, added. They multiply: each visit of a rung makes two visits of"
                " the next."
            ),
            lambda: 20.0,
        ),
        (
            "That counts all visits, those of the rungs as well; asked for are those of x.",
            lambda: 2047.0,
        ),
        ("One doubling too few: the lowest rung is x + x.", lambda: 512.0),
        (
            (
                "In a sweep in topological order it would be once with the sum; a recursion passes"
                " on each gradient by itself."
            ),
            lambda: 1.0,
        ),
    ),
    hints=("How often does x get one with 1 rung? With 2?",),
)
