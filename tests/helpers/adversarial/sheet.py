"""The sheet that the adversarial submissions answer: one exercise of most kinds, small, so that a
hundred submissions are graded in seconds.
"""

import math

from minigrad.lessons.grading.exercise import DERIVATIVES, Case, exercise
from minigrad.lessons.grading.kinds import Backward, Cost, Optimiser, Order, Unbroadcast, Vjp
from minigrad.lessons.grading.kinds.arrays import SUMS_BACK

import minigrad as mg

NOTEBOOK = "lab.ipynb"
LIMIT_S = 0.25
FORBID = (DERIVATIVES, *SUMS_BACK, "minigrad.optim")
"""For all but the first exercise: each set of forbidden names costs a submission another
process."""

vjp_sin = Vjp("vjp_sin", mg.sin, limit_s=LIMIT_S)

gradients = Backward(
    "gradients", ops=("add", "mul", "sin"), random_graphs=8, limit_s=LIMIT_S, forbid=FORBID
)

value = Backward(
    "Value",
    form="class",
    ops=("add", "mul"),
    random_graphs=15,
    points={"single operations": 1, "shared nodes": 1, "random graphs": 1},
    limit_s=LIMIT_S,
    forbid=FORBID,
)

sweep = Cost("sweep", n=2000, shapes={"chain": 1, "ladder": 1}, limit_s=LIMIT_S, forbid=FORBID)

unbroadcast = Unbroadcast("unbroadcast", limit_s=LIMIT_S, forbid=FORBID)

order = Order("order", limit_s=LIMIT_S, forbid=FORBID)

momentum = Optimiser(
    "momentum",
    lambda p: mg.optim.SGD(p, lr=0.1, momentum=0.9),
    steps=3,
    limit_s=LIMIT_S,
    forbid=FORBID,
)


@exercise("slope", points={"the number": 1}, is_value=True, limit_s=LIMIT_S, forbid=FORBID)
def slope(rng):
    yield Case("the number")


@slope.answer
def _():
    return math.cos(2.0)
