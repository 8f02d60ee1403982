"""The exercise of documents_singa.ipynb: what dropout makes of a number that it keeps."""

from __future__ import annotations

import minigrad as mg
from minigrad import autograd

from ..grading.kinds import Number


def kept() -> float:
    """The largest of many threes after dropout with the ratio 0.25: one that was kept."""
    before, autograd.training = autograd.training, True
    try:
        return float(autograd.dropout(mg.full((200,), 3.0, dtype=mg.float64), 0.25).max().item())
    finally:
        autograd.training = before


dropout_kept = Number(
    "dropout-kept",
    "Prediction: an entry of 3 that survives dropout with the ratio 0.25",
    variable="kept_entry",
    answer=kept,
    because=(
        "It is multiplied by 1/(1 − 0.25) = 4/3, so that the mean over kept and dropped entries"
        " stays 3."
    ),
    slips=(
        (
            "It survives, and it is scaled as well: else the mean of all entries would fall.",
            lambda: 3.0,
        ),
        (
            (
                "You multiplied by 1 − ratio. The factor is one over that: what is left must make"
                " up for what is dropped."
            ),
            lambda: 2.25,
        ),
        ("You divided by the ratio. Divide by the share that is kept, 1 − ratio.", lambda: 12.0),
        ("You multiplied by the ratio. What is left must grow, not shrink.", lambda: 0.75),
    ),
    hints=(
        (
            "A quarter of the entries becomes 0. By how much must the rest grow, so that the mean"
            " stays the same?"
        ),
    ),
)
