"""The exercises of lesson 20, as data: backward through the steps of a simulator, by the discrete
and the continuous adjoint, with few states kept; and a thrust that steers.

Right answers are not written here. An adjoint is right if ⟨s̄, ds⟩ is what the tangent gives that
was pushed forward through the same steps; a schedule is played through, and compared with the best
of all schedules.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any

import numpy as np

import minigrad as mg

from ..grading.comparison import same
from ..grading.exercise import DERIVATIVES, Case, Exercise, Misconception
from ..grading.kinds import Number
from . import own_engine
from .lesson11b import ENGINE
from .made import Exact, by_name, mistakes, signed, told_by

# ------------------------------------------------------------------------- backward through steps


def _step_cases(rng: np.random.Generator) -> Iterator[Case]:
    for group, n, steps in (
        ("one step", 2, 1),
        ("one step", 3, 1),
        ("several steps", 2, 2),
        ("several steps", 3, 3),
        ("several steps", 1, 4),
        ("several steps", 4, 7),
    ):
        jacobians = [signed(rng, n, n) for _ in range(steps + 1)]
        given = {"jacobians": jacobians, "h": float(rng.uniform(0.1, 0.4)), "g": signed(rng, n)}
        yield Case.of(group, given, call="pull_steps")


def _is_pulled(case: Case, got: Any) -> str:
    jacobians, h, g = case.args.values()
    moved = np.eye(len(g))  # a column for each direction in which the first state may move
    for jacobian in jacobians[:-1]:
        moved = moved + h * jacobian @ moved
    return same(g @ moved, got, 1e-8, 1e-9, "the adjoint of the first state")


def _onward(j: np.ndarray, h: float, g: np.ndarray) -> np.ndarray:
    return np.asarray(g + h * j.T @ g)


def _steps(
    onward: Callable[..., Any] = _onward,
    chosen: Callable[[Sequence[Any]], Sequence[Any]] = lambda js: js[:-1][::-1],
) -> Callable[..., Any]:
    """pull_steps with another step, or other Jacobians in another order."""

    def wrong(jacobians: Sequence[Any], h: float, g: Any) -> Any:
        for jacobian in chosen(jacobians):
            g = onward(jacobian, h, g)
        return g

    return wrong


STEPS = told_by(
    _is_pulled,
    "pull_steps",
    {"one step": 1, "several steps": 1},
    _step_cases,
    forbid=(DERIVATIVES,),
    checked=(
        "Each direction of the first state was pushed forward through the same steps, and"
        " ⟨s̄, ds⟩ compared at both ends."
    ),
    hints=(
        "Which step sends its adjoint back first: the first one, or the last?",
        "From s̄ behind the step k to s̄ before it: add h · J_kᵀ s̄. The state itself goes through"
        " the step as well, so s̄ stays.",
        "for J in reversed(jacobians[:-1]): g = g + h * J.T @ g",
    ),
    misconceptions=mistakes(
        (
            "forward",
            "you multiply by J, first step first: that is how a tangent goes forward. An adjoint"
            " goes backward, with Jᵀ.",
            _steps(lambda j, h, g: g + h * j @ g, lambda js: js[:-1]),
        ),
        (
            "not transposed",
            "you multiply by J. A matrix that moves to the other side of ⟨ , ⟩ is transposed.",
            _steps(lambda j, h, g: g + h * j @ g),
        ),
        (
            "from the start",
            "you go from the first step to the last; backward, the last step comes first.",
            _steps(chosen=lambda js: js[:-1]),
        ),
        (
            "at the end of each step",
            "you take J at the end of each step. Euler's step k used the rate at its beginning, so"
            " jacobians[k] belongs to it. (With small steps you come close, for this is one form of"
            " the continuous adjoint of section 4.)",
            _steps(chosen=lambda js: js[:0:-1]),
        ),
        (
            "the state left out",
            "you keep h Jᵀ s̄ alone. The state itself goes through the step too, as sₖ in sₖ₊₁.",
            _steps(lambda j, h, g: h * j.T @ g),
        ),
        (
            "no step size",
            "the step size h is missing.",
            _steps(lambda j, h, g: g + j.T @ g),
        ),
        (
            "a minus",
            "you subtract. In steps backward, it is a plus: sₖ₊₁ = sₖ + h f(sₖ).",
            _steps(lambda j, h, g: g - h * j.T @ g),
        ),
        (
            "one step too many",
            "you go one step too many: the last Jacobian belongs to the final state, from which no"
            " step was made.",
            _steps(chosen=lambda js: js[::-1]),
        ),
        (
            "one step too few",
            "you leave out the first step; jacobians[0] belongs to it.",
            _steps(chosen=lambda js: js[-2:0:-1]),
        ),
        (
            "one J",
            "you use one Jacobian for all; each step has its own Jacobian.",
            _steps(chosen=lambda js: [js[0]] * (len(js) - 1)),
        ),
        (
            "undone",
            "you undo the steps: you divide where you should multiply by 1 + h Jᵀ.",
            _steps(lambda j, h, g: np.linalg.solve(np.eye(len(j)) + h * j.T, g)),
        ),
        (
            "g as it is",
            "each step multiplies `g`, as it was at the end; it should multiply the adjoint that"
            " has arrived at this step.",
            lambda jacobians, h, g: g + h * sum(j.T for j in jacobians[:-1]) @ g,
        ),
        (
            "no g",
            "you left out `g`, the adjoint of the final state.",
            lambda jacobians, h, g: _steps()(jacobians, h, np.ones_like(g)),
        ),
        call="pull_steps",
    ),
)

# ----------------------------------------------------------------------------- the adjoint equation


def _rate_cases(rng: np.random.Generator) -> Iterator[Case]:
    for group, n, p in (
        ("as many parameters as states", 2, 2),
        ("as many parameters as states", 3, 3),
        ("fewer or more", 3, 1),
        ("fewer or more", 2, 4),
        ("fewer or more", 1, 2),
    ):
        given = {"J": signed(rng, n, n), "F": signed(rng, n, p), "s_bar": signed(rng, n)}
        yield Case.of(group, given, call="adjoint_rates")


def _is_rate(case: Case, got: Any) -> str:
    jacobian, by_p, s_bar = case.args.values()
    if type(got) not in (list, tuple) or len(got) != 2:
        return "there should be 2 rates: of the adjoint of s, and of the adjoint of p."
    # d/dt (⟨s̄, ds⟩ + ⟨p̄, dp⟩) = 0, for each direction ds and each direction dp
    named = zip(("s", "p"), (jacobian, by_p), got, strict=True)
    for name, moves, found in named:
        right = [-float(s_bar @ direction) for direction in moves.T]
        if said := same(np.array(right), found, 1e-9, 1e-10, f"the rate of the adjoint of {name}"):
            return said
    return ""


def _rates(
    for_s: Callable[..., Any] = lambda J, F, a: -J.T @ a,
    for_p: Callable[..., Any] = lambda J, F, a: -F.T @ a,
) -> Callable[..., Any]:
    def wrong(J: Any, F: Any, s_bar: Any) -> list[Any] | None:
        try:
            return [for_s(J, F, s_bar), for_p(J, F, s_bar)]
        except ValueError:  # shapes that do not fit: the student's function raised as well
            return None

    return wrong


RATES = told_by(
    _is_rate,
    "adjoint_rates",
    {"as many parameters as states": 1, "fewer or more": 1},
    _rate_cases,
    forbid=(DERIVATIVES,),
    checked=(
        "⟨s̄, ds⟩ + ⟨p̄, dp⟩ must not change, whatever the directions ds and dp are. Each was tried"
        " in turn."
    ),
    hints=(
        "Collect the terms with ds in the last formula; they must cancel for every ds. Then those"
        " with dp.",
        "⟨ds̄/dt, ds⟩ + ⟨s̄, J ds⟩ = 0 for every ds. Move J to the other side, where it is"
        " transposed.",
        "return -J.T @ s_bar, -F.T @ s_bar",
    ),
    misconceptions=mistakes(
        (
            "no minus",
            "both signs are reversed. What ds̄/dt adds must cancel what J ds adds.",
            _rates(lambda J, F, a: J.T @ a, lambda J, F, a: F.T @ a),
        ),
        (
            "a plus for s",
            "the sign of the rate of the adjoint of s is reversed. Solved backward in time, the"
            " minus becomes the plus of exercise 1.",
            _rates(for_s=lambda J, F, a: J.T @ a),
        ),
        (
            "a plus for p",
            "the sign of the rate of the adjoint of p is reversed. Solved backward from p̄ = 0, the"
            " minus adds up.",
            _rates(for_p=lambda J, F, a: F.T @ a),
        ),
        (
            "not transposed",
            "J is not transposed; it moves to the other side of ⟨ , ⟩.",
            _rates(for_s=lambda J, F, a: -J @ a),
        ),
        (
            "F not transposed",
            "F is not transposed; it moves to the other side of ⟨ , ⟩.",
            _rates(for_p=lambda J, F, a: -F @ a),
        ),
        (
            "p constant",
            "the adjoint of p does not move. p does not, but its adjoint collects a contribution at"
            " every moment: −Fᵀ s̄.",
            _rates(for_p=lambda J, F, a: np.zeros(F.shape[1])),
        ),
        (
            "swapped",
            "the two are in the wrong order: the rate for the state comes first.",
            lambda **given: _rates()(**given)[::-1],
        ),
        (
            "a step",
            "you return s̄ after a step. What is asked for is a rate, not a new adjoint.",
            _rates(for_s=lambda J, F, a: a - J.T @ a),
        ),
        (
            "no s̄",
            "you left out the adjoint: both matrices multiply s̄.",
            _rates(lambda J, F, a: -J.T, lambda J, F, a: -F.T),
        ),
        call="adjoint_rates",
    ),
)

# ------------------------------------------------------------------------------------- the schedule


@cache
def least_runs(n: int, slots: int) -> float:
    """How often the step that is run most must be run forward, by the best of all schedules, so
    that each of n steps can be pulled back in turn and at most `slots` states are kept; infinite
    where it cannot be done. The run that belongs to a step's own pull is not counted.
    """
    if n == 1:
        return 0
    if slots < 1:
        return math.inf
    return min(worst_of(m, n, slots) for m in range(1, n))


def worst_of(m: int, n: int, slots: int) -> float:
    """As `least_runs`, if the second state to be kept is the one behind m steps."""
    return max(1 + least_runs(m, slots), least_runs(n - m, slots - 1))


@cache
def farthest(slots: int, runs: int) -> int:
    """How many steps can be gone back through by some schedule. A search; no formula is used."""
    n = 1
    while least_runs(n + 1, slots) <= runs:
        n += 1
    return n


def _schedule_cases(rng: np.random.Generator) -> Iterator[Case]:
    for slots, runs in ((1, 1), (1, 4), (2, 1), (2, 2), (3, 2), (2, 4), (4, 3), (5, 0)):
        yield Case.of("reach", {"slots": slots, "runs": runs}, call="reach")
    for n, slots in ((2, 1), (2, 3), (5, 1), (3, 2), (6, 2), (10, 3), (4, 3)):
        yield Case.of("short", {"n": n, "slots": slots}, call="split")
    for n, slots in ((20, 3), (21, 3), (30, 2), (36, 4), (50, 6), (12, 12)):
        yield Case.of("long", {"n": n, "slots": slots}, call="split")
    n, slots = (int(i) for i in rng.integers((20, 2), (60, 7)))
    yield Case.of("long", {"n": n, "slots": slots}, call="split")


def _is_schedule(case: Case, got: Any) -> str:
    if case.call == "reach":
        return same(farthest(**case.args), got, 1e-9, 1e-9, "what `reach` returned")
    n, slots = case.args.values()
    if type(got) is not int:
        return f"`split` should return a whole number of steps, not {got!r:.60}."
    if not 1 <= got < n:
        return f"for {n} steps, `split` should be between 1 and {n - 1}, not {got}."
    worst, least = worst_of(got, n, slots), least_runs(n, slots)
    if worst == math.inf:
        return (
            f"with {slots} slot(s) and {n} steps, {n - got} steps are left behind the step {got},"
            " and no slot is left for them."
        )
    if worst > least:
        return (
            f"with {slots} slot(s) and {n} steps, a cut behind step {got} makes some step run"
            f" {worst} times; {least} are enough."
        )
    return ""


def _runs_for(n: int, slots: int) -> int:
    """The fewest runs that are enough for n steps."""
    return int(least_runs(n, slots))


def _cut(n: int, slots: int) -> int:
    """The latest good place for a cut."""
    return farthest(slots, _runs_for(n, slots) - 1)


SCHEDULE = told_by(
    _is_schedule,
    "schedule",
    {"reach": 1, "short": 1, "long": 1},
    _schedule_cases,
    answers=("reach", "split"),
    checked=(
        "`reach` is compared with a search through all schedules; of `split` it is computed how"
        " often a step must run behind your cut, and whether less would do."
    ),
    hints=(
        "β(c, r) = β(c, r − 1) + β(c − 1, r), and both are 1 at the border. Which numbers are built"
        " like that?",
        "For `split`: find the smallest r for which reach(slots, r) is at least n. The first part"
        " may have at most reach(slots, r − 1) steps, the other at most reach(slots − 1, r).",
        "math.comb(slots + runs, slots); and with that r: return reach(slots, r - 1).",
    ),
    misconceptions=(
        *mistakes(
            (
                "a product",
                "you multiply slots and runs, as if pieces of one length were laid side by side."
                " But a piece can be cut again when its turn comes.",
                lambda slots, runs: slots * runs + 1,
            ),
            (
                "a power",
                "you raise slots + 1 to a power, as if every piece could be cut again with all the"
                " slots. Behind a kept state there is one slot fewer.",
                lambda slots, runs: (slots + 1) ** runs,
            ),
            (
                "the other power",
                "you raise runs + 1 to a power, as if every slot could be used with all the runs."
                " Before a kept state there is one run fewer.",
                lambda slots, runs: (runs + 1) ** slots,
            ),
            (
                "one run too few",
                "you count one run too few: with runs = 0 a single step is possible.",
                lambda slots, runs: math.comb(slots + runs - 1, slots),
            ),
            (
                "one run too many",
                "you count one run too many: with runs = 0 only a single step is possible.",
                lambda slots, runs: math.comb(slots + runs + 1, slots),
            ),
            (
                "the sum",
                "you add slots and runs. It is the two numbers β that are added.",
                lambda slots, runs: slots + runs,
            ),
            (
                "the last step",
                "you leave out the last step, which is pulled back from the state that has just"
                " been reached.",
                lambda slots, runs: math.comb(slots + runs, slots) - 1,
            ),
            call="reach",
        ),
        *mistakes(
            (
                "to the end",
                "you advance to the last step and keep nothing on the way. That is right for one"
                " slot alone.",
                lambda n, slots: n - 1,
            ),
            (
                "in the middle",
                "you cut in the middle. The part behind the cut has one slot fewer, and the part"
                " before it one run fewer, so the two are rarely equal.",
                lambda n, slots: max(n // 2, 1),
            ),
            (
                "the first step",
                "you cut after the first step, which leaves everything else to one slot fewer.",
                lambda n, slots: 1,
            ),
            (
                "evenly",
                "you keep states at equal distances. When the last piece is done, its slots are"
                " free again, so earlier pieces may be longer.",
                lambda n, slots: max(n // (slots + 1), 1),
            ),
            (
                "the root",
                "you take the square root, as in lesson 12, where each step may run only twice.",
                lambda n, slots: min(math.isqrt(n), n - 1),
            ),
            (
                "the other part",
                "you return the length of the part behind the cut; `split` is the length of the"
                " part before it.",
                lambda n, slots: max(n - _cut(n, slots), 1),
            ),
            call="split",
        ),
    ),
)

# ------------------------------------------------------------------------------------------- sweep


def _sweep_cases(rng: np.random.Generator) -> Iterator[Case]:
    some = lambda *shape: np.asarray(rng.uniform(0.4, 1.2, size=shape))
    for group, kind, shape, n, slots in (
        ("one or two steps", "damped", (2,), 1, 1),
        ("one or two steps", "grown", (2, 2), 1, 2),
        ("one or two steps", "damped", (3,), 2, 1),
        ("one or two steps", "driven", (2,), 2, 2),
        ("many steps", "damped", (2, 2), 6, 2),
        ("many steps", "grown", (3,), 10, 3),
        ("many steps", "driven", (2, 2), 20, 3),
        ("many steps", "driven", (2,), 5, 1),
        ("many steps", "grown", (2,), 9, 12),
    ):
        count = {"damped": 0, "grown": 1, "driven": 2}[kind]
        given = {
            "kind": kind, "n": n, "slots": slots, "state": some(*shape),
            "inputs": [some(*shape) for _ in range(count)], "g": signed(rng, *shape),
        }  # fmt: skip
        yield Case.of(group, given, call="sweep", size=n)


def _step_of(case: Case) -> Callable[..., Any]:
    rule = own_engine.STEPS[case.args["kind"]]
    return lambda *given: rule(lambda number: number, *given)


def _tensors(*values: Any) -> list[mg.Tensor]:
    return [mg.tensor(value, dtype=mg.float64) for value in values]


def _adjoints(case: Case) -> list[np.ndarray]:
    """What all steps together send back, by minigrad."""
    step, args = _step_of(case), case.args

    def loop(state: Any, *inputs: Any) -> Any:
        for _ in range(args["n"]):
            state = step(state, *inputs)
        return state

    _, pull = mg.func.vjp(loop, *_tensors(args["state"], *args["inputs"]))
    return [np.asarray(part.numpy()) for part in pull(*_tensors(args["g"]))]


def states_kept(calls: Sequence[int]) -> int:
    """The largest number of states that are kept at once, if steps are run from these states in
    this order. A state that the run before has just given needs not be kept; any other was kept
    since it was last computed (the state 0, which is given, since the beginning).
    """
    waiting: dict[int, set[int]] = {}
    for at, state in enumerate(calls):
        if at and state == calls[at - 1] + 1:
            continue
        since = max((t for t in range(at) if calls[t] == state - 1), default=-1)
        for moment in range(since + 1, at + 1):
            waiting.setdefault(moment, set()).add(state)
    return max(map(len, waiting.values()), default=0)


def _is_swept(case: Case, got: Any) -> str:
    n, slots = case.args["n"], case.args["slots"]
    names = ["the state", *(f"inputs[{i}]" for i in range(len(case.args["inputs"])))]
    if type(got) is not dict or type(got.get("sent")) not in (list, tuple):
        return "`sweep` should return a list of adjoints: of the state, and of each input."
    if len(got["sent"]) != len(names):
        return f"there should be {len(names)} adjoints: of {', '.join(names)}."
    if got["linked"]:
        return (
            f"{got['linked']} steps were put behind others in one graph, which keeps all of them."
            " Pull back one step at a time, with `pull_step`."
        )
    calls = got["calls"]
    if n in calls or -1 in calls:
        where = "beyond the last state" if n in calls else "from a state that is not on the path"
        return f"a step was run {where}; there are {n} steps."
    for name, right, found in zip(names, _adjoints(case), got["sent"], strict=True):
        if said := same(right, found, 1e-8, 1e-9, f"the adjoint of {name}"):
            return said
    if (kept := states_kept(calls)) > slots:
        return f"{kept} states are kept at once, and there are {slots} slot(s)."
    step, count = Counter(calls).most_common(1)[0]
    enough = least_runs(n, slots) + 1
    if count > enough:
        return (
            f"with {slots} slot(s) and {n} steps, the step from state {step} ran {count} times;"
            f" {enough} are enough. Does `split` say where to cut?"
        )
    return ""


Sent = list[np.ndarray]


def _simulated(
    case: Case,
    join: Callable[[Sent, Sent], Sent] | None = None,
    arrives: Callable[[Any, Sent], Any] = lambda g, later: later[0],
    advanced: bool = True,
    first_before: bool = False,
) -> dict[str, Any]:
    """What a sweep gives that cuts in the right places and has some of its formulas written
    otherwise. Without any change it is right.
    """
    step, args, calls = _step_of(case), case.args, list[int]()
    inputs = _tensors(*args["inputs"])
    join = join or (lambda a, b: [a[0], *(x + y for x, y in pairs(a[1:], b[1:]))])

    def sweep(n: int, slots: int, state: mg.Tensor, at: int, g: Any) -> Sent:
        if n == 1:
            calls.append(at)
            _, pull = mg.func.vjp(step, state, *inputs)
            return [np.asarray(part.numpy()) for part in pull(*_tensors(g))]
        m, middle = _cut(n, slots), state
        for i in range(m):
            calls.append(at + i)
            middle = step(middle, *inputs)
        middle, between = (middle, at + m) if advanced else (state, at)
        if first_before:
            first = sweep(m, slots, state, at, g)
            later = sweep(n - m, slots - 1, middle, between, first[0])
            return [later[0], *join(first, later)[1:]]
        later = sweep(n - m, slots - 1, middle, between, g)
        return join(sweep(m, slots, state, at, arrives(g, later)), later)

    sent = sweep(args["n"], args["slots"], *_tensors(args["state"]), 0, args["g"])
    return {"sent": sent, "calls": calls, "linked": 0}


def pairs(a: Sent, b: Sent) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    return zip(a, b, strict=True)


def _added(a: Sent, b: Sent) -> Sent:
    return [x + y for x, y in pairs(a, b)]


def _sent_wrongly(name: str, say: str, **parts: Any) -> Misconception:
    """A mistake that shows in the adjoints, however the student cut."""

    def explains(case: Case, got: Any) -> bool:
        return not same(_simulated(case, **parts)["sent"], got["sent"], 1e-8, 1e-9)

    return Misconception(name, say, lambda case: _simulated(case, **parts), explains=explains)


SWEEP = told_by(
    _is_swept,
    "sweep",
    {"one or two steps": 1, "many steps": 3},
    _sweep_cases,
    drive=f"{ENGINE}:swept",
    forbid=(DERIVATIVES, "minigrad.checkpoint", "minigrad.checkpoint_sequential"),
    present=lambda case: (
        f"{case.args['n']} step(s) with {case.args['slots']} slot(s) and"
        f" {len(case.args['inputs'])} input(s)"
    ),
    checked=(
        "The adjoints are those of the whole loop. From the order in which your sweep ran the"
        " steps, the check counts the states that had to be kept, and the runs of each step."
    ),
    hints=(
        "One step: pull_step does it all. More steps: cut, and call `sweep` for both parts. Which"
        " part comes first?",
        "Advance to the middle, sweep through the part behind it with one slot fewer, and sweep"
        " through the part before it with the adjoint that has arrived at the middle.",
        "later = sweep(step, n - m, slots - 1, middle, inputs, g); first = sweep(step, m, slots,"
        " state, inputs, later[0]); the adjoints of the inputs of both are added.",
    ),
    misconceptions=(
        _sent_wrongly(
            "the middle",
            "you return the adjoint of the state in the middle, not that of the start: it is the"
            " first part's.",
            join=lambda a, b: [b[0], *_added(a, b)[1:]],
        ),
        _sent_wrongly(
            "both states",
            "you add the adjoints of two states. They are adjoints of different things and are not"
            " added; those of the inputs are.",
            join=_added,
        ),
        _sent_wrongly(
            "the first part",
            "your inputs get what is sent to them by the first step alone. They are used in every"
            " step: add what both parts send.",
            join=lambda a, b: a,
        ),
        _sent_wrongly(
            "the later part",
            "your inputs get what is sent to them by the last step alone. They are used in every"
            " step: add what both parts send.",
            join=lambda a, b: [a[0], *b[1:]],
        ),
        _sent_wrongly(
            "g again",
            "both parts begin with g. The part before the middle begins with the adjoint that"
            " arrives at the middle, `later[0]`.",
            arrives=lambda g, later: g,
        ),
        _sent_wrongly(
            "not advanced",
            "the part behind the middle begins at the start again; it begins at the state to which"
            " you have advanced.",
            advanced=False,
        ),
        _sent_wrongly(
            "the first part first",
            "the adjoint goes from the start to the end. It arrives at the end, so the part behind"
            " the middle is the first to be swept through.",
            first_before=True,
        ),
    ),
)

# ----------------------------------------------------------------------------------------- steering


def _steer_cases(rng: np.random.Generator) -> Iterator[Case]:
    for group, results, numbers in (
        ("one result", 1, 2),
        ("one result", 1, 5),
        ("several", 2, 4),
        ("several", 4, 16),
        ("several", 3, 3),
    ):
        given = {
            "J": signed(rng, results, numbers),
            "u": signed(rng, numbers),
            "miss": signed(rng, results),
        }
        yield Case.of(group, given, call="steer")


def _is_steered(case: Case, got: Any) -> str:
    jacobian, u, miss = case.args.values()
    if said := same(u, got, np.inf, np.inf, "the new thrust"):  # its shape alone
        return said
    if not np.all(np.isfinite(got)):
        return "the new thrust is not finite."
    if said := same(-miss, jacobian @ (got - u), 1e-6, 1e-7, "the product J (u′ − u)"):
        return said
    _, sizes, directions = np.linalg.svd(jacobian, full_matrices=False)
    useful = directions[sizes > 1e-9 * sizes[0]]
    least = useful.T @ (useful @ got)
    if np.max(np.abs(least - got)) > 1e-6 * np.max(np.abs(got)):
        return (
            "it hits, but a smaller thrust hits as well: the length of yours is"
            f" {np.linalg.norm(got):.4g}, and {np.linalg.norm(least):.4g} is enough."
        )
    return ""


STEER = told_by(
    _is_steered,
    "steer",
    {"one result": 1, "several": 1},
    _steer_cases,
    checked=(
        "J (u′ − u) must cancel the miss; and no part of u′ may lie in a direction in which J"
        " does nothing, for such a part is thrust without effect."
    ),
    hints=(
        "Write down what J u′ must be. Among all u′ with that product, which one is the smallest?",
        "A part of u′ on which J gives 0 costs thrust and moves nothing. What is left without such"
        " parts are sums of J's rows: u′ = Jᵀ w.",
        "w = np.linalg.solve(J @ J.T, J @ u - miss); return J.T @ w",
    ),
    misconceptions=mistakes(
        (
            "as before",
            "your thrust is as it was.",
            lambda J, u, miss: u,
        ),
        (
            "the gradient",
            "you go one step along the gradient, u − Jᵀ miss. That makes the miss smaller; it does"
            " not cancel it.",
            lambda J, u, miss: u - J.T @ miss,
        ),
        (
            "the smallest change",
            "you make the smallest change of the thrust. What should be smallest is the new thrust"
            " itself.",
            lambda J, u, miss: u - J.T @ np.linalg.solve(J @ J.T, miss),
        ),
        (
            "a plus",
            "the sign of the miss is reversed, which doubles the miss.",
            lambda J, u, miss: J.T @ np.linalg.solve(J @ J.T, J @ u + miss),
        ),
        (
            "without u",
            "you leave out J u: what the old thrust does must be done by the new one, too.",
            lambda J, u, miss: -J.T @ np.linalg.solve(J @ J.T, miss),
        ),
        (
            "the change",
            "you return the change of the thrust instead of the new thrust.",
            lambda J, u, miss: J.T @ np.linalg.solve(J @ J.T, J @ u - miss) - u,
        ),
        (
            "nothing solved",
            "you multiply by Jᵀ without solving: w must satisfy J Jᵀ w = J u − miss.",
            lambda J, u, miss: J.T @ (J @ u - miss),
        ),
        call="steer",
    ),
)

# -------------------------------------------------------------------------------------- predictions


def difference_of_adjoints(n: int, order: int = 2, seconds: float = 1.2) -> float:
    """By how much the two adjoints of a falling ball differ, with n steps of Euler (order 1) or of
    the midpoint rule (order 2). Its speed has the rate 9.81 − v²/20.
    """
    h, v, discrete = seconds / n, 2.0, 1.0
    rate, slope = lambda v: 9.81 - v * v / 20, lambda v: -v / 10
    for _ in range(n):
        half = v + h / 2 * rate(v) * (order - 1)
        discrete *= 1 + h * slope(half) * (1 + h / 2 * slope(v) * (order - 1))
        v = v + h * rate(half)
    continuous = 1.0
    for _ in range(n):
        half = v - h / 2 * rate(v) * (order - 1)
        a = continuous * (1 + h / 2 * slope(v) * (order - 1))
        v, continuous = v - h * rate(half), continuous + h * slope(half) * a
    return abs(continuous - discrete)


PREDICTIONS = (
    Number(
        "adjoint-order",
        "Prediction: ten times as many steps",
        variable="factor",
        answer=lambda: difference_of_adjoints(24) / difference_of_adjoints(240),
        because="The midpoint rule has order 2: the difference shrinks with h².",
        slips=(
            ("That is what Euler's rule does. The midpoint rule has order 2.", lambda: 10.0),
            ("That would be order 3.", lambda: 1000.0),
            ("The two adjoints differ, and they come closer as the steps get smaller.",
             lambda: 1.0),
        ),
        hints=(
            "Both adjoints tend to the one of the exact path. How fast does the midpoint rule?",
            "The error of the midpoint rule shrinks with h².",
        ),
        tolerance=0.15,
    ),
    Exact(
        "three-slots",
        "Prediction: three slots, three runs",
        variable="steps",
        answer=lambda: float(farthest(3, 3)),
        because=(
            "β(3, 3) = β(3, 2) + β(2, 3), the 10 of the picture and 10 more:"
            " β(2, 3) = β(2, 2) + β(1, 3) = 6 + 4."
        ),
        slips=(
            ("That is slots times runs. Pieces can be cut again.", lambda: 9.0),
            ("That is slots times runs, and one. Pieces can be cut again.", lambda: 10.0),
            ("That is the power. Behind a kept state there is one slot fewer, and before it one run"
             " fewer.", lambda: 27.0),
            ("That is 4 · 4, as if both parts had all the slots and all the runs.", lambda: 16.0),
            ("That is β(4, 3), one slot too many.", lambda: 35.0),
        ),
        hints=(
            "β(3, 3) = β(3, 2) + β(2, 3). The first is in the picture.",
            "β(2, 3) = β(2, 2) + β(1, 3); with one slot β(1, r) = r + 1.",
        ),
    ),
    Exact(
        "orbit-passes",
        "Prediction: backward passes for a Jacobian",
        variable="passes",
        answer=lambda: float(len(jacobian_by_rows())),
        because="One backward pass for each row, and the rows belong to the 4 results.",
        slips=(
            ("That is the number of columns: forward mode, or differences, would need so many.",
             lambda: 16.0),
            ("One backward pass gives the gradient of one number. There are 4.", lambda: 1.0),
            ("That is the number of elements. A pass gives a whole row.", lambda: 64.0),
        ),
        hints=(
            "Lesson 4: does a backward pass give a row of the Jacobian, or a column?",
            "A row belongs to a result.",
        ),
    ),
)  # fmt: skip


def jacobian_by_rows(results: int = 4, numbers: int = 16) -> list[Any]:
    """The rows of a Jacobian of that size, one for each backward pass."""
    matrix = mg.ones(results, numbers, dtype=mg.float64)
    _, pull = mg.func.vjp(lambda u: matrix @ u, mg.ones(numbers, dtype=mg.float64))
    return [pull(row)[0] for row in mg.eye(results, dtype=mg.float64)]


TITLES = {
    "pull_steps": "Exercise 1 · Backward through the steps",
    "adjoint_rates": "Exercise 2 · The adjoint equation",
    "schedule": "Exercise 3 · Where to cut",
    "sweep": "Exercise 4 · Sweep back with few states",
    "steer": "Exercise 5 · Steer",
}

EXERCISES: dict[str, Exercise] = by_name(vars(), TITLES)
