"""The exercise of documents_mindspore.ipynb: a total derivative."""

from __future__ import annotations

import minigrad as mg

from ..grading.kinds import Number


def total() -> float:
    """By the engine, which knows nothing of the three terms."""
    slope = mg.func.grad(lambda x: x * x**2 + 3 * x)(mg.tensor(2.0, dtype=mg.float64))
    return float(slope.item())


total_of_g = Number(
    "total-of-g",
    "Prediction: the total derivative of xy + z with respect to x at 2, with y = x² and z = 3x",
    variable="total_of_g",
    answer=total,
    because="∂g/∂x = y = 4, ∂g/∂y · dy/dx = 2 · 4, ∂g/∂z · dz/dx = 1 · 3: together 15.",
    slips=(
        ("That is the partial derivative alone: x acts through y and z as well.", lambda: 4.0),
        ("The way through z is missing: z grows by 3 where x grows by 1.", lambda: 12.0),
        (
            "The way through y is missing: ∂g/∂y = x, and y grows by 2x where x grows by 1.",
            lambda: 7.0,
        ),
        ("The direct way is missing: x itself stands in xy.", lambda: 11.0),
    ),
    hints=("Three ways lead from x to g: directly, through y, and through z. Add them.",),
)
