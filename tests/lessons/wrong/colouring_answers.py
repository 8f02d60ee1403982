"""Wrong answers to the exercises of lesson 21, each with a phrase that the check must say."""

import numpy as np

from .answers import one
from .own_engine_answers import table

# ----------------------------------------------------------------------------------------- the game

FOUR = [3, 0, 0, 2, 1, 1, 3, 3, 2, 2, 1, 2]
GAMES = {
    "one each": (one(list(range(12))), "a pass for each column"),
    "three in turn": (one([j % 3 for j in range(12)]), "reach further"),
    "all alike": (one([0] * 12), "would be added"),
    "five colours": (one([*FOUR[:4], 4, *FOUR[5:]]), "it can be beaten"),
    "a column forgotten": (one(FOUR[:-1]), "11 colours"),
    "a colour for each row": (one([0, 1, 2, 3, 0, 1, 2, 3, 0, 1]), "10 colours"),
    "names": (one(["blue", "red"] * 6), "colours are 0, 1, 2"),
    "how many": (one(4), "a list with a colour for each column"),
}

# ---------------------------------------------------------------------------------- the greedy rule

COLOURING = """
def colouring(rows, n):
    conflicts = [set() for _ in range(n)]
    for row in rows:
        for j in row:
            conflicts[j].update(row)
    colours = {}
    for j in sorted(range(n), key=lambda j: -len(conflicts[j])):
        used = {colours[k] for k in conflicts[j] if k in colours}
        colours[j] = next(c for c in range(n) if c not in used)
    return [colours[j] for j in range(n)]
"""
ORDER = "sorted(range(n), key=lambda j: -len(conflicts[j]))"
RETURNED = "return [colours[j] for j in range(n)]"
WRONG_COLOURINGS = {
    "from left to right": (ORDER, "range(n)", "from left to right"),
    "fewest first": (ORDER, ORDER.replace("-len", "len"), "the other end of the list"),
    "by entries": (ORDER, "sorted(range(n), key=lambda j: -sum(j in row for row in rows))",
        "by the entries of a column"),
    "next to each other": ("conflicts[j].update(row)",
        "conflicts[j].update(k for a, k in enumerate(row) if j in row[max(a - 1, 0) : a + 2])",
        "stand next to each other"),
    "the last row alone": ("conflicts[j].update(row)", "conflicts[j] = set(row)", "would be added"),
    "from 1": ("next(c for c in range(n)", "next(c for c in range(1, n + 2)", "begin with 1"),
    "the next colour": ("next(c for c in range(n) if c not in used)", "max(used, default=-1) + 1",
        "is free for it"),
    "one colour": ("next(c for c in range(n) if c not in used)", "0", "all columns get one colour"),
    "empty columns left out": (RETURNED, "return [colours[j] for j in range(n) if conflicts[j]]",
        "so it should have"),
    "how many": (RETURNED, "return max(colours.values()) + 1",
        "a list with a colour for each column"),
}  # fmt: skip

# ------------------------------------------------------------------------------- seeds and recovery


def seeds(colours):
    return np.eye(max(colours) + 1)[:, colours]


def recover(rows, colours, passes):
    return [[passes[colours[j]][i] for j in row] for i, row in enumerate(rows)]


def at(place):
    def wrong(rows, colours, passes):
        return [[place(passes, colours, i, j) for j in row] for i, row in enumerate(rows)]

    return (seeds, wrong)


def dense(rows, colours, passes):
    matrix = np.zeros((len(rows), len(colours)))
    for row, entries, values in zip(rows, matrix, recover(rows, colours, passes), strict=True):
        entries[row] = values
    return matrix


PASSES = {
    "seeds in columns": ((lambda c: seeds(c).T, recover), "a seed is a row"),
    "a seed for each column": ((lambda c: np.eye(len(c)), recover), "a pass of its own"),
    "the first column alone": (
        (lambda c: np.eye(len(c))[[list(c).index(k) for k in range(max(c) + 1)]], recover),
        "only the first column",
    ),
    "shares": (
        (lambda c: seeds(c) / seeds(c).sum(1, keepdims=True), recover),
        "with the full speed",
    ),
    "colours in the seeds": (
        (lambda c: seeds(c) * (1 + np.arange(max(c) + 1))[:, None], recover),
        "0 and 1 alone",
    ),
    "in reverse": ((lambda c: seeds(c)[::-1], recover), "and its colour is"),
    "one seed": ((lambda c: np.ones((1, len(c))), recover), "a row for each colour"),
    "the column's number": (at(lambda p, c, i, j: p[j % len(p)][i]), "the pass number j"),
    "the row's colour": (at(lambda p, c, i, j: p[c[i]][i]), "Colours belong to columns"),
    "divided": (at(lambda p, c, i, j: p[c[j]][i] / list(c).count(c[j])), "all of the number is"),
    "added up": (at(lambda p, c, i, j: sum(one_pass[i] for one_pass in p)), "all passes up"),
    "the whole matrix": ((seeds, dense), "one entry for each of them"),
    "sorted": (
        (seeds, lambda rows, c, p: recover([sorted(row) for row in rows], c, p)),
        "in the order of the pattern",
    ),
}

# ------------------------------------------------------------------------- a Jacobian in the engine

TOOLS = """
def seeds(colours):
    return np.eye(max(colours) + 1)[:, colours]


def sent_back(y, u, to):
    start = Tensor(0.0, (y,), lambda _: (u,), "seed")
    return gradients(topological_order(start), to)
"""
JACOBIAN = """
def jacobian(f, x, rows, colours):
    S = seeds(colours)
    X = Tensor(np.tile(x, (len(S), 1)))
    passes = sent_back(f(X), S, [X])[0]
    return [[passes[colours[i], j] for j in row] for i, row in enumerate(rows)]
"""
SEEDS, COPIES = "S = seeds(colours)", "np.tile(x, (len(S), 1))"
ONCE, ENTRY = "passes = sent_back(f(X), S, [X])[0]", "passes[colours[i], j]"
WRONG_JACOBIANS = {
    "the row's number": (ENTRY, "passes[i % len(S), j]", "the pass number i"),
    "the first pass": (ENTRY, "passes[0, j]", "from the first pass"),
    "all passes": (ENTRY, "passes[:, j].sum()", "you add all passes"),
    "shares": (ENTRY, "passes[colours[i], j] / list(colours).count(colours[i])",
        "all of the number is"),
    "all rows at once": (SEEDS, "S = np.ones((max(colours) + 1, len(rows)))", "all rows are added"),
    "no copies": (COPIES, "x", "copies of x as rows"),
    "a row each": (SEEDS, "S, colours = np.eye(len(rows)), range(len(rows))", "are enough"),
    "runs in a loop": ("    X = Tensor(np.tile(x, (len(S), 1)))\n    " + ONCE,
        "    passes = []\n    for s in S:\n        X = Tensor(x[None])\n"
        "        passes.append(sent_back(f(X), s[None], [X])[0][0])\n"
        "    passes = np.array(passes)", "Once is enough"),
    "passes in a loop": (ONCE, "y = f(X)\n    passes = np.array([sent_back(y, s * np.eye(len(S))[k]"
        "[:, None], [X])[0][k] for k, s in enumerate(S)])", "One is enough"),
    "the array": ("f(X)", "f(X.value)", "it takes a Tensor"),
}  # fmt: skip

WRONG = {
    "game": GAMES,
    "colouring": table(COLOURING, ("colouring",), WRONG_COLOURINGS),
    "compressed": PASSES,
    "jacobian": table(JACOBIAN, ("jacobian",), WRONG_JACOBIANS, TOOLS),
}
