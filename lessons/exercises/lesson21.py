"""The exercises of lesson 21, as data: columns of a sparse Jacobian that share a pass, and the
student's engine that computes such a Jacobian in one batched pass.

Right answers are not written here. A colouring is examined row by row, and the fewest colours are
searched for; recovered entries are added up again to what the passes gave; entries of a Jacobian
are compared with central differences.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np

from ..grading.comparison import same
from ..grading.exercise import DERIVATIVES, Case, Exercise, Misconception
from ..grading.words import counted
from .lesson11b import ENGINE
from .made import Exact, by_name, mistakes, told_by

Rows = Sequence[Sequence[int]]
"""A pattern: for each row the columns in which it may have an entry that is not 0."""
Neighbours = Sequence[set[int]]
"""For each column those that share a row with it."""

PUZZLE: Rows = [
    [9, 10], [1, 5, 11], [2, 5, 8], [1, 7, 10, 11], [1, 4, 11],
    [1, 6, 10, 11], [0, 1, 9], [0, 2, 5, 8], [2, 3, 5], [6, 9],
]  # fmt: skip
"""The pattern of the game: 12 columns, for which the greedy rule takes one colour too many."""
COLUMNS = 12

# ---------------------------------------------------------------------------------------- colouring


def conflicts(rows: Rows, n: int) -> list[set[int]]:
    """For each of n columns the others that share a row with it."""
    found: list[set[int]] = [set() for _ in range(n)]
    for row in rows:
        for j in row:
            found[j].update(row)
    return [others - {j} for j, others in enumerate(found)]


def transposed(rows: Rows, n: int) -> list[list[int]]:
    """The pattern of the transposed matrix; n: the number of columns."""
    return [[i for i, row in enumerate(rows) if j in row] for j in range(n)]


def greedy(neighbours: Neighbours, order: Sequence[int]) -> list[int]:
    """The smallest free colour for each column, in some order."""
    colours = [-1] * len(neighbours)
    for j in order:
        used = {colours[k] for k in neighbours[j]}
        colours[j] = next(c for c in range(len(neighbours)) if c not in used)
    return colours


def largest_first(neighbours: Neighbours, sign: int = -1) -> list[int]:
    """Greedy, the columns with most conflicts first (with sign 1: last)."""
    return greedy(
        neighbours, sorted(range(len(neighbours)), key=lambda j: sign * len(neighbours[j]))
    )


def fewest(rows: Rows, n: int) -> list[int]:
    """A colouring of n columns with the fewest colours, by trying all; for small n."""
    neighbours = conflicts(rows, n)
    order = sorted(range(n), key=lambda j: -len(neighbours[j]))

    def complete(colours: dict[int, int], most: int) -> dict[int, int] | None:
        if len(colours) == n:
            return colours
        j = order[len(colours)]
        used = {colours.get(k) for k in neighbours[j]}
        for c in range(min(most, max(colours.values(), default=-1) + 2)):
            if c not in used and (found := complete({**colours, j: c}, most)):
                return found
        return None

    for most in range(1, n + 1):
        if found := complete({}, most):
            return [found[j] for j in range(n)]
    return []


def clash(rows: Rows, colours: Sequence[int]) -> tuple[int, int, int] | None:
    """A row and two columns of it that have one colour, or None."""
    for i, row in enumerate(rows):
        seen: dict[int, int] = {}
        for j in row:
            if colours[j] in seen:
                return i, seen[colours[j]], j
            seen[colours[j]] = j
    return None


def _whole(got: Any, n: int, name: str) -> tuple[list[int], str]:
    """The colours as whole numbers, and why they are none."""
    if isinstance(got, np.ndarray) and got.ndim == 1:
        got = got.tolist()
    if type(got) not in (list, tuple):
        return [], f"{name} should be a list with a colour for each column."
    if len(got) != n:
        return [], f"{name} has {len(got)} colours; there are {n} columns, so it should have {n}."
    for j, colour in enumerate(got):
        if type(colour) not in (int, float) or colour != colour // 1 or colour < 0:
            return [], f"the colour of column {j} is {colour!r:.40}; colours are 0, 1, 2 and so on."
    return [int(colour) for colour in got], ""


def _told_clash(rows: Rows, colours: Sequence[int]) -> str:
    if found := clash(rows, colours):
        i, j, k = found
        return (
            f"the columns {j} and {k} both have the colour {colours[k]}, and both have an entry in"
            f" row {i}: there, their derivatives would be added."
        )
    return ""


# ----------------------------------------------------------------------------------------- the game


def _game_cases(rng: np.random.Generator) -> Iterator[Case]:
    yield Case("as the machine")
    yield Case("fewest")


@cache
def _allowed(group: str) -> int:
    """So many colours are allowed in the game: those of the greedy rule, or the fewest."""
    if group == "fewest":
        return max(fewest(PUZZLE, COLUMNS)) + 1
    return max(largest_first(conflicts(PUZZLE, COLUMNS))) + 1


def _is_played(case: Case, got: Any) -> str:
    colours, said = _whole(got, COLUMNS, "`my_colours`")
    if said := said or _told_clash(PUZZLE, colours):
        return said
    used = len(set(colours))
    if used > _allowed(case.group):
        return (
            f"the colouring is right, with {used} colours. The machine of section 3 takes"
            f" {_allowed('as the machine')}, and it can be beaten."
        )
    return ""


GAME = told_by(
    _is_played,
    "game",
    {"as the machine": 1, "fewest": 1},
    _game_cases,
    answers=("my_colours",),
    is_value=True,
    checked="Each row was looked at for two columns of one colour, and the colours were counted.",
    hints=(
        "How many entries has the longest row? All its columns need different colours.",
        "Begin with the columns of row 3. Row 5 shares three of them. What is left for column 6?",
        "Columns 7 and 6 may have one colour. Give 5 the colour of 10, then see what 2 and 8 may"
        " have.",
    ),
    misconceptions=(
        Misconception(
            "one colour each",
            "each column has a colour of its own. That is a pass for each column, as before.",
            lambda case: list(range(COLUMNS)),
        ),
        Misconception(
            "three in turn",
            "you give the colours 0, 1, 2 in turn. That is right for a rod, where each row reads"
            " three neighbours; here, rows reach further.",
            lambda case: [j % 3 for j in range(COLUMNS)],
        ),
    ),
)

# ---------------------------------------------------------------------------------- the greedy rule


def _rod(n: int) -> list[list[int]]:
    return [[j for j in (i - 1, i, i + 1) if 0 <= j < n] for i in range(n)]


def _scattered(rng: np.random.Generator, m: int, n: int, most: int) -> list[list[int]]:
    """Rows with 1 to `most` entries, in no order."""
    sizes = rng.integers(1, most + 1, size=m)
    return [rng.choice(n, size=int(k), replace=False).tolist() for k in sizes]


ARROW = [[0, j] for j in range(1, 6)]
"""A column that meets all others, which do not meet each other."""


def _colouring_cases(rng: np.random.Generator) -> Iterator[Case]:
    make = lambda group, rows, n: Case.of(
        group, {"rows": rows, "n": n}, call="colouring", size=n + sum(map(len, rows))
    )
    yield make("small", _rod(3), 3)
    yield make("small", _rod(7), 7)
    yield make("small", ARROW, 6)
    yield make("small", [[2, 0], [3, 1], [2, 3]], 4)  # a path: 0, 2, 3, 1
    yield make("small", [[1], [3, 1]], 5)  # columns without an entry
    yield make("any pattern", PUZZLE, COLUMNS)
    for m, n, most in ((8, 10, 4), (30, 20, 3), (25, 40, 5)):
        yield make("any pattern", _scattered(rng, m, n, most), n)
    yield make("many columns", _rod(2_000), 2_000)


def _is_coloured(case: Case, got: Any) -> str:
    rows, n = case.args.values()
    colours, said = _whole(got, n, "what `colouring` returned")
    if said := said or _told_clash(rows, colours):
        return said
    neighbours = conflicts(rows, n)
    for j, others in enumerate(neighbours):
        for c in range(colours[j]):
            holders = [k for k in others if colours[k] == c]
            if not holders:
                return (
                    f"column {j} has the colour {colours[j]}, and {c} is free for it: none of the"
                    " columns with which it shares a row has it. Take the first that is free."
                )
            if all(len(neighbours[k]) < len(others) for k in holders):
                return (
                    f"column {j} has {len(others)} conflicts and got the colour {colours[j]}. It"
                    f" could have had {c}, were it not for columns with fewer conflicts that came"
                    " before it. Those with most conflicts come first."
                )
    return ""


def _by_entries(rows: Rows, n: int) -> list[int]:
    entries = [sum(j in row for row in rows) for j in range(n)]
    return greedy(conflicts(rows, n), sorted(range(n), key=lambda j: -entries[j]))


def _of_rows(rows: Rows, n: int) -> list[int]:
    return largest_first(conflicts(transposed(rows, n), len(rows)))


def _next_to_each_other(rows: Rows, n: int) -> list[int]:
    pairs = [pair for row in rows for pair in pairwise(row)]
    return largest_first(conflicts(pairs, n))


COLOURING = told_by(
    _is_coloured,
    "colouring",
    {"small": 1, "any pattern": 1, "many columns": 1},
    _colouring_cases,
    checked=(
        "No row may hold a colour twice; and each smaller colour must be taken by a column that"
        " shares a row, with as many conflicts or more."
    ),
    hints=(
        "First collect for each column the set of those with which it shares a row. Go through the"
        " rows for that: `conflicts[j].update(row)`.",
        "sorted(range(n), key=lambda j: -len(conflicts[j])) is the order. Take the columns in it.",
        "used = {colours[k] for k in conflicts[j] if k in colours}, and then the smallest c that"
        " is not in `used`.",
    ),
    misconceptions=mistakes(
        (
            "from left to right",
            "you take the columns from left to right. Those with most conflicts come first.",
            lambda rows, n: greedy(conflicts(rows, n), range(n)),
        ),
        (
            "fewest first",
            "you take those with fewest conflicts first; it is the other end of the list.",
            lambda rows, n: largest_first(conflicts(rows, n), 1),
        ),
        (
            "by entries",
            "you sort by the entries of a column. What makes a column hard to colour is the number"
            " of other columns with which it shares a row.",
            _by_entries,
        ),
        (
            "the rows",
            "you colour the rows; here, colours are for the columns.",
            _of_rows,
        ),
        (
            "next to each other",
            "you compare only columns that stand next to each other in a row. Each column of a row"
            " meets all others of it.",
            _next_to_each_other,
        ),
        (
            "from 1",
            "your colours begin with 1. They are going to number the passes, from 0.",
            lambda rows, n: [c + 1 for c in largest_first(conflicts(rows, n))],
        ),
        (
            "never again",
            "each column gets a new colour. Take the smallest one that is free.",
            lambda rows, n: list(range(n)),
        ),
        (
            "one",
            "all columns get one colour.",
            lambda rows, n: [0] * n,
        ),
        call="colouring",
    ),
)

# ------------------------------------------------------------------------------- seeds and recovery


def _pass_cases(rng: np.random.Generator) -> Iterator[Case]:
    for colours in ([0], [0, 1, 0], [2, 0, 1, 0, 2, 2], fewest(PUZZLE, COLUMNS)):
        yield Case.of("seeds", {"colours": colours}, call="seeds", size=len(colours))
    for rows, n in (
        (_rod(4), 4),
        ([[2, 0], [1]], 3),
        (PUZZLE, COLUMNS),
        (_scattered(rng, 5, 8, 3), 8),
    ):
        colours = largest_first(conflicts(rows, n))
        matrix = np.zeros((len(rows), n))
        for i, row in enumerate(rows):
            matrix[i, row] = rng.uniform(0.5, 1.5, size=len(row)) * rng.choice((-1.0, 1.0))
        passes = np.array(
            [matrix @ (np.array(colours) == c) for c in range(max(colours) + 1)], dtype=float
        )
        given = {"rows": rows, "colours": colours, "passes": passes}
        yield Case.of("recovery", given, call="recover", size=n + len(rows))


def _is_passed(case: Case, got: Any) -> str:
    if case.call == "seeds":
        return _is_seed(case.args["colours"], got)
    rows, colours, passes = case.args.values()
    if said := _as_entries(rows, got, "`recover`"):
        return said
    for c, one_pass in enumerate(passes):
        sums = [
            sum(v for j, v in zip(row, entries, strict=True) if colours[j] == c)
            for row, entries in zip(rows, got, strict=True)
        ]
        if said := same(one_pass, np.array(sums), 1e-9, 1e-10, f"J @ seeds[{c}]"):
            return said
    return ""


def _is_seed(colours: Sequence[int], got: Any) -> str:
    count, n = max(colours) + 1, len(colours)
    try:
        found = np.asarray(got, dtype=float)
    except (TypeError, ValueError):
        return "`seeds` should return an array."
    if found.shape != (count, n):
        return (
            f"`seeds` returned the shape {found.shape}; it should be {(count, n)}, a row for each"
            " colour and a column for each column of J."
        )
    if not np.all((found == 0) | (found == 1)):
        return "a seed should hold 0 and 1 alone."
    for j, ones in enumerate(found.sum(0)):
        if ones != 1:
            return (
                f"column {j} moves in {ones:.0f} seeds; it should move in one, that of its colour."
            )
    moved = np.arange(count) @ found
    if wrong := [j for j in range(n) if moved[j] != colours[j]]:
        return (
            f"column {wrong[0]} moves in the seed {moved[wrong[0]]:.0f}, and its colour is"
            f" {colours[wrong[0]]}."
        )
    return ""


def _as_entries(rows: Rows, got: Any, name: str) -> str:
    """Why something is not a list of numbers for each row of the pattern; "" if it is."""
    if type(got) not in (list, tuple) or len(got) != len(rows):
        if isinstance(got, np.ndarray) and got.ndim == 2 and len(got) == len(rows):
            return _as_entries(rows, list(got), name)
        return f"{name} should return a list of {len(rows)} lists, one for each row of the pattern."
    for i, (row, entries) in enumerate(zip(rows, got, strict=True)):
        try:
            found = np.asarray(entries, dtype=float)
        except (TypeError, ValueError):
            return f"in {name} the entries of row {i} should be numbers."
        if found.shape != (len(row),):
            return (
                f"{name} gave {counted(found.size, 'number')} for row {i}, and the pattern has"
                f" {counted(len(row), 'place')} there: one entry for each of them, in their order."
            )
        if not np.all(np.isfinite(found)):
            return f"an entry of row {i} is not finite (NaN or infinity)."
    return ""


def _seeds(colours: Sequence[int]) -> np.ndarray:
    return np.array([[float(c == k) for c in colours] for k in range(max(colours) + 1)])


def _recovered(at: Callable[..., Any]) -> Callable[..., Any]:
    """Entries, each where at(passes, colours, i, j) takes it from; None where there is no place."""

    def wrong(rows: Rows, colours: Any, passes: Any) -> Any:
        try:
            return [[at(passes, colours, i, j) for j in row] for i, row in enumerate(rows)]
        except IndexError:  # the student's function raised as well
            return None

    return wrong


PASSES = told_by(
    _is_passed,
    "compressed",
    {"seeds": 1, "recovery": 2},
    _pass_cases,
    answers=("seeds", "recover"),
    checked=(
        "Each column must move in one seed; and your entries were put back into J, whose products"
        " with the seeds must be the passes that you were given."
    ),
    hints=(
        "The seed of a colour has a 1 for each column that has it.",
        "seeds: np.eye(k)[colours] has a row for each column, with its 1 at the colour. Which"
        " shape is asked for?",
        "J[i, j] arrived in the pass of column j's colour, at the result i: passes[colours[j]][i].",
    ),
    misconceptions=(
        *mistakes(
            (
                "transposed",
                "your seeds stand in columns; a seed is a row, with a number for each column of J.",
                lambda colours: _seeds(colours).T,
            ),
            (
                "one column each",
                "each column has a pass of its own; columns of one colour share one.",
                lambda colours: np.eye(len(colours)),
            ),
            (
                "the first alone",
                "only the first column of each colour moves.",
                lambda colours: np.array(
                    [np.eye(len(colours))[list(colours).index(c)] for c in range(max(colours) + 1)]
                ),
            ),
            (
                "shares",
                "you divide by the number of columns of a colour. Each moves with the full speed 1;"
                " they do not meet.",
                lambda colours: _seeds(colours) / _seeds(colours).sum(1, keepdims=True),
            ),
            call="seeds",
        ),
        *mistakes(
            (
                "the row's colour",
                "you look up the colour of i. Colours belong to columns here.",
                _recovered(lambda p, c, i, j: p[c[i]][j]),
            ),
            (
                "the colour of the row's number",
                "you look up the colour of i. Colours belong to columns here.",
                _recovered(lambda p, c, i, j: p[c[i]][i]),
            ),
            (
                "the column's number",
                "you take the pass number j. Column j was in the pass of its colour.",
                _recovered(lambda p, c, i, j: p[j % len(p)][i]),
            ),
            (
                "the column's result",
                "you take the result j of a pass. Row i of J belongs to the result i.",
                _recovered(lambda p, c, i, j: p[c[j]][j]),
            ),
            (
                "shares",
                "you divide by the number of columns of a colour. Only one of them has an entry in"
                " the row, and all of the number is its.",
                _recovered(lambda p, c, i, j: p[c[j]][i] / list(c).count(c[j])),
            ),
            (
                "sorted",
                "you sort the columns of a row. The entries should come in the order of the"
                " pattern.",
                lambda rows, colours, passes: [
                    [passes[colours[j]][i] for j in sorted(row)] for i, row in enumerate(rows)
                ],
            ),
            (
                "all passes",
                "you add all passes up. Each entry arrived in a single one.",
                _recovered(lambda p, c, i, j: sum(one[i] for one in p)),
            ),
            call="recover",
        ),
    ),
)

# ------------------------------------------------------------------------- a Jacobian in the engine


def _jacobian_cases(rng: np.random.Generator) -> Iterator[Case]:
    corner = [[j] for j in range(5)] + [list(range(5))]  # a full row below a diagonal
    for group, rows, n in (
        ("a band", _rod(3), 3),
        ("a band", _rod(6), 6),
        ("any pattern", corner, 5),
        ("any pattern", PUZZLE, COLUMNS),
        ("any pattern", _scattered(rng, 7, 4, 2), 4),
        ("any pattern", [[1, 0, 2], [3]], 4),
    ):
        inner, outer = np.zeros((n, len(rows))), np.zeros((n, len(rows)))
        for i, row in enumerate(rows):
            for matrix in (inner, outer):
                signs = rng.choice((-1.0, 1.0), size=len(row))
                matrix[row, i] = rng.uniform(0.5, 1.5, size=len(row)) * signs
        given = {
            "x": rng.uniform(0.5, 1.5, size=n),
            "rows": rows,
            "colours": largest_first(conflicts(transposed(rows, n), len(rows))),
            "squared": inner,
            "plain": outer,
        }
        yield Case.of(group, given, call="jacobian", size=n + len(rows))


def _by_differences(case: Case, h: float = 0.25) -> np.ndarray:
    """The Jacobian; of a function with no powers beyond the second, differences are exact."""
    args = case.args
    f = lambda x: (x @ args["squared"]) ** 2 + x @ args["plain"]
    steps = h * np.eye(len(args["x"]))
    columns = [(f(args["x"] + step) - f(args["x"] - step)) / (2 * h) for step in steps]
    return np.stack(columns, axis=1)


def _in_pattern(case: Case, at: Callable[[int, int], Any]) -> list[list[float]]:
    return [[float(at(i, j)) for j in row] for i, row in enumerate(case.args["rows"])]


def _is_jacobian(case: Case, got: Any) -> str:
    if type(got) is not dict:
        return "there are no entries."
    rows, count = case.args["rows"], max(case.args["colours"]) + 1
    if said := _as_entries(rows, got["entries"], "`jacobian`"):
        return said
    right = _by_differences(case)
    for i, (row, entries) in enumerate(zip(rows, got["entries"], strict=True)):
        found = np.asarray(entries, dtype=float)
        if said := same(right[i, row], found, 1e-7, 1e-8, f"row {i} of the pattern"):
            return said
    if got["runs"] != 1:
        return (
            f"`f` ran {got['runs']} times. Once is enough: give it all copies of x at once, as the"
            " rows of one array."
        )
    if got["copies"] != count:
        return (
            f"`f` was given {got['copies']} copies of x; with {count} colours, {count} are enough."
        )
    if got["passes"] != 1:
        return (
            f"{got['passes']} backward passes were made. One is enough: send all seeds back at"
            " once, as the rows of one array."
        )
    return ""


def _but(entries: Callable[[Case], list[list[float]]]) -> Callable[[Case], Any]:
    counted = lambda case: {"runs": 1, "copies": max(case.args["colours"]) + 1, "passes": 1}
    return lambda case: {"entries": entries(case), **counted(case)}


def _sent(case: Case) -> np.ndarray:
    """What arrives in the passes: a row for each colour."""
    return _seeds(case.args["colours"]) @ _by_differences(case)


def _by_column_colours(case: Case) -> Any:
    """What recovery as in exercise 3 gives; None where there is no such place."""
    colours, sent = case.args["colours"], _sent(case)
    try:
        return _but(lambda case: _in_pattern(case, lambda i, j: sent[colours[j], i]))(case)
    except IndexError:  # the student's function raised as well
        return None


JACOBIAN = told_by(
    _is_jacobian,
    "jacobian",
    {"a band": 2, "any pattern": 2},
    _jacobian_cases,
    drive=f"{ENGINE}:compressed",
    forbid=(DERIVATIVES,),
    present=lambda case: (
        f"jacobian(f, x, rows, colours), x of the length {len(case.args['x'])},"
        f" rows = {case.args['rows']}, colours = {case.args['colours']}"
    ),
    checked=(
        "Each entry was compared with central differences; the runs of `f`, the copies of x and"
        " the backward passes were counted."
    ),
    hints=(
        "k = number of colours: S = seeds(colours), with a row for each pass. X = Tensor of k"
        " copies of x: np.tile(x, (k, 1)).",
        "passes = sent_back(f(X), S, [X])[0]. Its row c is S[c] @ J: the sum of the rows of J that"
        " have the colour c.",
        "Now colours belong to rows: J[i, j] is passes[colours[i], j].",
    ),
    misconceptions=(
        Misconception(
            "all rows at once",
            "all rows are added up: the seeds are ones, or you add all passes. An entry of row i"
            " arrives in the pass of that row's colour.",
            _but(lambda case: _in_pattern(case, lambda i, j: _by_differences(case)[:, j].sum())),
        ),
        Misconception(
            "the first pass",
            "you take all entries from the first pass. An entry of row i arrives in the pass of"
            " that row's colour.",
            _but(lambda case: _in_pattern(case, lambda i, j: _sent(case)[0, j])),
        ),
        Misconception(
            "the columns",
            "you look up the colour of j, and the place i. Here colours belong to rows, and a pass"
            " holds a number for each column.",
            _by_column_colours,
        ),
        Misconception(
            "the row's number",
            "you take the pass number i. Row i was in the pass of its colour.",
            _but(lambda case: _in_pattern(
                case, lambda i, j: _sent(case)[i % (max(case.args["colours"]) + 1), j])),
        ),
        Misconception(
            "shares",
            "you divide by the number of rows of a colour. Only one of them has an entry in the"
            " column, and all of the number is its.",
            _but(lambda case: _in_pattern(
                case,
                lambda i, j: _by_differences(case)[i, j]
                / case.args["colours"].count(case.args["colours"][i]),
            )),
        ),
    ),
)  # fmt: skip

# -------------------------------------------------------------------------------------- predictions

UNLUCKY = (0, 3, 1, 2)
"""The two ends of a path of four columns first."""

FULL_ROW = [*([j] for j in range(6)), list(range(6))]
"""A diagonal with a full row below."""

PREDICTIONS = (
    Exact(
        "rod-passes",
        "Prediction: passes for a rod",
        variable="passes_of_rod",
        answer=lambda: float(max(fewest(_rod(9), 9)) + 1),
        because="Columns that are three apart share no row: 0, 3, 6, … move together, then 1, 4, 7,"
        " … and 2, 5, 8, … Two passes are not enough, for a row in the middle has three entries.",
        slips=(
            ("That is a pass for each column. Columns that share no row can move together.",
                lambda: 10_000.0),
            ("Columns 0 and 2 both have an entry in row 1: there, they would be added.",
                lambda: 2.0),
            ("Reverse mode needs one pass for one result. Here there are 10,000 results.",
                lambda: 1.0),
            ("Columns 0 and 3 share no row: a distance of three is enough.", lambda: 4.0),
            ("Five would be right if each point read two neighbours on either side.",
                lambda: 5.0),
            ("That groups columns 3 by 3. The groups are larger: every third column is in one.",
                lambda: 10_000 / 3),
        ),
        hints=(
            "Column 0 has entries in rows 0 and 1. Which is the first column with none there?",
            "Column 3. And 6 may join these two, and 9…",
        ),
    ),
    Exact(
        "unlucky-order",
        "Prediction: an unlucky order",
        variable="colours_of_path",
        answer=lambda: float(max(greedy(conflicts([[0, 1], [1, 2], [2, 3]], 4), UNLUCKY)) + 1),
        because="a and d get 0, b gets 1, and c meets both of these: it needs a third colour. The"
        " colours 0, 1, 0, 1 would have done.",
        slips=(
            ("Two would do, with different colours for a and d. But both get 0, the smallest one.",
                lambda: 2.0),
            ("a and d share no row, so they get the same colour.", lambda: 4.0),
            ("b shares a row with a, so one colour is not enough.", lambda: 1.0),
        ),
        hints=(
            "a gets the colour 0. d shares no row with a, so 0 is free for it.",
            "c shares a row with b and with d. Which colours have these two?",
        ),
    ),
    Exact(
        "arrow-rows",
        "Prediction: the rows of a matrix with one full row",
        variable="row_colours",
        answer=lambda: float(max(fewest(transposed(FULL_ROW, 6), 7)) + 1),
        because="The full row needs a colour for itself, and the rows of the diagonal do not meet:"
        " they share the other one.",
        slips=(
            ("That is the answer for the columns: they all meet in the full row.",
                lambda: 1_000.0),
            ("The rows of the diagonal share no column, so one colour does for all of them.",
                lambda: 1_001.0),
            ("The full row meets each row of the diagonal, so it needs a colour of its own.",
                lambda: 1.0),
            ("Which two rows of the diagonal have an entry in one column? None.", lambda: 3.0),
        ),
        hints=(
            "Two rows may share a pass if no column has an entry in both.",
            "Two rows of the diagonal: no column in common. The full row: one with each of them.",
        ),
    ),
)  # fmt: skip

TITLES = {
    "game": "Exercise 1 · The game",
    "colouring": "Exercise 2 · Let the machine play",
    "compressed": "Exercise 3 · Compress and recover",
    "jacobian": "Exercise 4 · A sparse Jacobian in one pass",
}

EXERCISES: dict[str, Exercise] = by_name(vars(), TITLES)
