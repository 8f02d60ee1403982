"""The exercise of documents_torch_functions.ipynb: the zeros of a Hessian."""

from __future__ import annotations

import minigrad as mg

from .made import Exact


def zeros() -> float:
    """Counted in the Hessian of the sum of cubes of a 2 × 2 matrix."""
    point = mg.tensor([[1.0, 2.0], [3.0, 4.0]], dtype=mg.float64)
    return float(
        (mg.autograd.functional.hessian(lambda x: x.pow(3).sum(), point) == 0).sum().item()
    )


cubes_zeros = Exact(
    "cubes-zeros",
    "Prediction: the zeros in the Hessian of the sum of cubes of a 2 × 2 matrix",
    variable="zeros_in_hessian",
    answer=zeros,
    because=(
        "16 pairs of entries, and only the 4 pairs of an entry with itself have a second"
        " derivative: 6x."
    ),
    slips=(
        ("Those are the numbers that are not zero: one for each entry with itself.", lambda: 4.0),
        ("Then the second derivatives of x³ would be zero too; they are 6x.", lambda: 16.0),
        ("That counts each pair of different entries once; the Hessian has it twice.", lambda: 6.0),
    ),
    hints=("Flatten x to four numbers: the Hessian becomes a 4 × 4 matrix. Where are its zeros?",),
)
