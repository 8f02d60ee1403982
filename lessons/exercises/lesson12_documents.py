"""The exercise of documents_torch_tensors.ipynb: which of six tensors are leaves."""

from __future__ import annotations

import minigrad as mg

from .made import Exact


def leaves() -> float:
    """Counted on tensors that are made alike, where the copy to another device is a copy to another
    dtype: an operation as well.
    """

    def made() -> list[mg.Tensor]:
        a = mg.rand(10, requires_grad=True)
        copied, constant = mg.rand(10, requires_grad=True).double(), mg.rand(10).double()
        return [
            a,
            copied,
            mg.rand(10, requires_grad=True) + 2,
            constant,
            mg.rand(10).double().requires_grad_(),
            a,
        ]

    return float(sum(t.is_leaf for t in made()))


number_of_leaves = Exact(
    "leaves",
    "Prediction: how many of the six tensors are leaves",
    variable="number_of_leaves",
    answer=leaves,
    because=(
        "b and c were made by an operation from a tensor that requires grad. d has no history, and"
        " e and f begin one."
    ),
    slips=(
        (
            (
                "Two of them were made by an operation from a tensor that requires grad: those have"
                " a history."
            ),
            lambda: 6.0,
        ),
        (
            "d requires no gradient, so nothing is recorded behind it: by convention it is a leaf.",
            lambda: 3.0,
        ),
        (
            (
                "`.cuda()` copies, and copying a tensor that requires grad is an operation,"
                " recorded like the sum."
            ),
            lambda: 5.0,
        ),
        (
            (
                "For d and e nothing was recorded when they were copied: they required no gradient"
                " then."
            ),
            lambda: 2.0,
        ),
    ),
    hints=("For each tensor: did an operation make it from something that requires grad?",),
)
