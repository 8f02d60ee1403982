"""The exercise of documents_article.ipynb: how many gradients of a transposed product a table gets
wrong.
"""

from __future__ import annotations

import numpy as np

import minigrad as mg

from .made import Exact


def wrong() -> float:
    """Counted against the engine, for the four settings of the two switches."""
    rng = np.random.default_rng(3)
    a, b, y = (rng.normal(size=(3, 3)) for _ in range(3))
    count = 0
    for trans_a in (False, True):
        for trans_b in (False, True):
            table = (b @ y.T if trans_a else y @ b.T, y.T @ a if trans_b else a.T @ y)
            x, z = (mg.tensor(m, requires_grad=True) for m in (a, b))
            product = (x.T if trans_a else x) @ (z.T if trans_b else z)
            right = mg.autograd.grad(product, (x, z), mg.tensor(y))
            count += sum(not np.allclose(t, r.numpy()) for t, r in zip(table, right, strict=True))
    return float(count)


wrong_products = Exact(
    "wrong-products",
    "Prediction: how many of the eight gradients the table gets wrong",
    variable="wrong_gradients",
    answer=wrong,
    because=(
        "One of two where one operand is transposed (that of the operand whose neighbour is), and"
        " both where both are: 1 + 1 + 2."
    ),
    slips=(
        ("With neither transposed it is right: that is the ordinary rule.", lambda: 8.0),
        ("Where both are transposed, both gradients are wrong, not one.", lambda: 3.0),
        (
            "Where only one operand is transposed, the gradient of that operand is right.",
            lambda: 6.0,
        ),
        (
            (
                "Where both are transposed it is wrong; but so is one gradient where only one"
                " operand is."
            ),
            lambda: 2.0,
        ),
        (
            (
                "Try trans_B alone: beside A stands Bᵀ, so the gradient of A is Ȳ B, and the table"
                " says Ȳ Bᵀ."
            ),
            lambda: 0.0,
        ),
    ),
    hints=(
        "Take trans_B alone, Y = A Bᵀ. What are the two gradients?",
        "Then the same for trans_A alone, and for both.",
    ),
)
