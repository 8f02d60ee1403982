"""Wrong answers to the exercises of lesson 20, each with a phrase that the check must say."""

from math import comb, isqrt

import numpy as np

from .answers import one
from .own_engine_answers import table

eye, solve = np.eye, np.linalg.solve

# ------------------------------------------------------------------------- backward through steps


def pulled(onward=lambda J, h, g: g + h * J.T @ g, chosen=lambda Js: Js[:-1][::-1]):
    def pull_steps(jacobians, h, g):
        for J in chosen(jacobians):
            g = onward(J, h, g)
        return g

    return one(pull_steps)


STEPS = {
    "not transposed": (pulled(lambda J, h, g: g + h * J @ g), "is transposed"),
    "the state left out": (pulled(lambda J, h, g: h * J.T @ g), "goes through the step too"),
    "no step size": (pulled(lambda J, h, g: g + J.T @ g), "step size"),
    "a minus": (pulled(lambda J, h, g: g - h * J.T @ g), "is a plus"),
    "from the start": (pulled(chosen=lambda Js: Js[:-1]), "the last step comes first"),
    "from the start, not transposed": (
        pulled(lambda J, h, g: g + h * J @ g, lambda Js: Js[:-1]),
        "how a tangent goes forward",
    ),
    "at the end of each step": (pulled(chosen=lambda Js: Js[:0:-1]), "the end of each step"),
    "one step too many": (pulled(chosen=lambda Js: Js[::-1]), "one step too many"),
    "one step too few": (pulled(chosen=lambda Js: Js[-2:0:-1]), "leave out the first step"),
    "one J for all": (pulled(chosen=lambda Js: [Js[0]] * (len(Js) - 1)), "its own Jacobian"),
    "undone": (
        pulled(lambda J, h, g: solve(eye(len(J)) + h * J.T, g)),
        "divide where you should multiply",
    ),
    "g as it is": (
        one(lambda Js, h, g: g + h * sum(J.T for J in Js[:-1]) @ g),
        "adjoint that has arrived",
    ),
    "no g": (
        one(lambda Js, h, g: pulled()[0](Js, h, np.ones(g.shape))),
        "left out `g`",
    ),
}

# ----------------------------------------------------------------------------- the adjoint equation

RATES = {
    "no minus": (one(lambda J, F, a: (J.T @ a, F.T @ a)), "both signs"),
    "a plus for the state": (one(lambda J, F, a: (J.T @ a, -F.T @ a)), "rate of the adjoint of s"),
    "a plus for the parameters": (
        one(lambda J, F, a: (-J.T @ a, F.T @ a)),
        "rate of the adjoint of p",
    ),
    "not transposed": (one(lambda J, F, a: (-J @ a, -F.T @ a)), "J is not transposed"),
    "parameters constant": (
        one(lambda J, F, a: (-J.T @ a, np.zeros(F.shape[1]))),
        "collects a contribution at every moment",
    ),
    "swapped": (one(lambda J, F, a: (-F.T @ a, -J.T @ a)), "the rate for the state comes first"),
    "the state's rate alone": (one(lambda J, F, a: -J.T @ a), "2 rates"),
    "a step": (one(lambda J, F, a: (a - J.T @ a, -F.T @ a)), "not a new adjoint"),
    "a kept": (one(lambda J, F, a: (-(J.T), -(F.T))), "left out the adjoint"),
}

# ------------------------------------------------------------------------------------- the schedule


def reach(slots, runs):
    return comb(slots + runs, slots)


def runs_for(n, slots):
    runs = 1
    while reach(slots, runs) < n:
        runs += 1
    return runs


def split(n, slots):
    return reach(slots, runs_for(n, slots) - 1)


def both(reach=reach, split=split):
    return (reach, split)


SCHEDULES = {
    "a product": (both(reach=lambda s, r: s * r + 1), "as if pieces of one length"),
    "a power": (both(reach=lambda s, r: (s + 1) ** r), "every piece could be cut again"),
    "the other power": (both(reach=lambda s, r: (r + 1) ** s), "every slot could be used"),
    "a slot too few": (both(reach=lambda s, r: comb(s + r - 1, s)), "one run too few"),
    "a run too many": (both(reach=lambda s, r: comb(s + r + 1, s)), "one run too many"),
    "the sum": (both(reach=lambda s, r: s + r), "add slots and runs"),
    "one step short": (both(reach=lambda s, r: comb(s + r, s) - 1), "last step"),
    "half": (both(split=lambda n, s: max(n // 2, 1)), "in the middle"),
    "one step": (both(split=lambda n, s: 1), "after the first step"),
    "to the end": (both(split=lambda n, s: n - 1), "advance to the last step"),
    "evenly": (both(split=lambda n, s: max(n // (s + 1), 1)), "equal distances"),
    "the root": (both(split=lambda n, s: min(isqrt(n) or 1, n - 1)), "square root"),
    "the other part": (
        both(split=lambda n, s: max(n - split(n, s), 1)),
        "length of the part behind",
    ),
    "everything": (both(split=lambda n, s: n), "between 1 and"),
    "a fraction": (both(split=lambda n, s: n / 2), "whole number"),
}

# ---------------------------------------------------------------------------------- the sweep

TOOLS = """
from math import comb


def reach(slots, runs):
    return comb(slots + runs, slots)


def split(n, slots):
    runs = 1
    while reach(slots, runs) < n:
        runs += 1
    return reach(slots, runs - 1)


def advance(step, n, state, inputs):
    for _ in range(n):
        state = step(Tensor(state), *(Tensor(x) for x in inputs)).value
    return state


def pull_step(step, state, inputs, g):
    again = [Tensor(state), *(Tensor(x) for x in inputs)]
    start = Tensor(0.0, (step(*again),), lambda _: (g,), "seed")
    return gradients(topological_order(start), again)
"""
SWEEP = """
def sweep(step, n, slots, state, inputs, g):
    if n == 1:
        return pull_step(step, state, inputs, g)
    m = split(n, slots)
    middle = advance(step, m, state, inputs)
    later = sweep(step, n - m, slots - 1, middle, inputs, g)
    first = sweep(step, m, slots, state, inputs, later[0])
    return [first[0], *(a + b for a, b in zip(first[1:], later[1:]))]
"""
LAST = "return [first[0], *(a + b for a, b in zip(first[1:], later[1:]))]"
BODY = SWEEP.partition("):\n")[2].rstrip("\n")
WRONG_SWEEPS = {
    "the middle's adjoint": (LAST, LAST.replace("first[0]", "later[0]"), "not that of the start"),
    "both states": (LAST, LAST.replace("first[0]", "first[0] + later[0]"), "are not added"),
    "the first part's inputs": (LAST, "return first", "first step alone"),
    "the later part's inputs": (LAST, "return [first[0], *later[1:]]", "last step alone"),
    "g again": ("inputs, later[0])", "inputs, g)", "arrives at the middle"),
    "not advanced": ("middle = advance(step, m, state, inputs)", "middle = state",
        "begins at the start again"),
    "the first part first": (BODY.partition("middle")[2], """ = advance(step, m, state, inputs)
    first = sweep(step, m, slots, state, inputs, g)
    later = sweep(step, n - m, slots - 1, middle, inputs, first[0])
    return [later[0], *(a + b for a, b in zip(first[1:], later[1:]))]""", "from the start to"),
    "always from the start": ("m = split(n, slots)", "m = n - 1", "are enough"),
    "all states kept": (BODY, """    states = [state]
    for _ in range(n - 1):
        states.append(advance(step, 1, states[-1], inputs))
    parts = [0.0 for _ in inputs]
    for s in reversed(states):
        g, *more = pull_step(step, s, inputs, g)
        parts = [a + b for a, b in zip(parts, more)]
    return [g, *parts]""", "states are kept"),
    "one graph": (BODY, """    again = [Tensor(state), *(Tensor(x) for x in inputs)]
    y = again[0]
    for _ in range(n):
        y = step(y, *again[1:])
    return gradients(topological_order(Tensor(0.0, (y,), lambda _: (g,))), again)""",
        "in one graph"),
    "one step too many": ("middle = advance(step, m, state", "middle = advance(step, m + 1, state",
        "beyond the last"),
    "the state alone": (LAST, "return [first[0]]", "3 adjoints"),
    "no sum": (LAST, "return [first[0], *first[1:], *later[1:]]", "adjoints"),
}  # fmt: skip

# ----------------------------------------------------------------------------------------- steering


def steered(f):
    return one(lambda J, u, miss: f(J, u, miss))


STEERS = {
    "the gradient": (steered(lambda J, u, miss: u - J.T @ miss), "along the gradient"),
    "the smallest change": (
        steered(lambda J, u, miss: u - J.T @ solve(J @ J.T, miss)),
        "smallest change",
    ),
    "a plus": (steered(lambda J, u, miss: J.T @ solve(J @ J.T, J @ u + miss)), "doubles the miss"),
    "without u": (steered(lambda J, u, miss: -J.T @ solve(J @ J.T, miss)), "leave out J u"),
    "the change": (
        steered(lambda J, u, miss: J.T @ solve(J @ J.T, J @ u - miss) - u),
        "the change of the thrust",
    ),
    "nothing solved": (steered(lambda J, u, miss: J.T @ (J @ u - miss)), "without solving"),
    "as before": (steered(lambda J, u, miss: u + 0.0), "as it was"),
    "the first columns": (
        steered(
            lambda J, u, miss: np.concatenate(
                [solve(J[:, : len(J)], J @ u - miss), np.zeros(len(u) - len(J))]
            )
        ),
        "smaller thrust",
    ),
}

WRONG = {
    "pull_steps": STEPS,
    "adjoint_rates": RATES,
    "schedule": SCHEDULES,
    "sweep": table(SWEEP, ("sweep",), WRONG_SWEEPS, TOOLS),
    "steer": STEERS,
}
