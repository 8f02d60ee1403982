"""The exercises of lesson 24c, as data: one of four projects, by the student's engine.

Nothing here knows good numbers. The referee of `minigrad.lessons.projects` computes the physics
again, with steps of its own, from the numbers that were handed in; the student's program is
compared with the referee at other numbers, and its slopes with differences of the referee.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from typing import Any

import numpy as np

from ..grading.exercise import DERIVATIVES, Case, Exercise, Misconception
from ..grading.kinds import Number
from ..projects import PROJECTS, missed, problem_with
from .lesson11b import ENGINE
from .made import Exact, by_name, told_by

RUBRIC = {"story": {"what failed first": 1, "why it works now": 1, "the picture": 1}}
"""How a person divides the points of the story."""

# ------------------------------------------------------------------------------------- the program

NEAR = {"golf": 0.2, "lens": np.array([0.01, 1e-3, 1e-4]), "orbit": 0.05, "renderer": 0.2}
"""How far from its start each project is tried, at most."""
BEGIN = {name: np.array(project.start) for name, project in PROJECTS.items()}
BEGIN["orbit"] = np.array([0.3, 0.5, 1.5])  # later, small differences of the steps have grown large
BEGIN["renderer"] = BEGIN["renderer"][:18]


ADVICE = dict.fromkeys(("golf", "orbit"), "Smaller steps may help; if not, compare the law.") | {
    "lens": "Compare the law, the units, and the division by √101.",
    "renderer": "Is the edge 0.5 wide again? Are the differences divided by √1728?",
}
"""What to look at first where the value of a program is wrong."""


def _program_cases(rng: np.random.Generator) -> Iterator[Case]:
    """Points of each project; the student's choice says at which of them the program is tried."""
    for group in ("its value", "its slopes"):
        points = {
            name: [begin + NEAR[name] * rng.uniform(-1, 1, begin.shape) for _ in range(2)]
            for name, begin in BEGIN.items()
        }
        yield Case(group, points=points)


def _right(case: Case, name: str) -> tuple[list[float], list[np.ndarray]]:
    """The referee's values of a project at the points of a case, and their slopes."""
    return _referee(name, tuple(tuple(map(float, point)) for point in case.args["points"][name]))


@lru_cache(maxsize=64)
def _referee(
    name: str, given: tuple[tuple[float, ...], ...]
) -> tuple[list[float], list[np.ndarray]]:
    loss, points, h = PROJECTS[name].loss, [np.array(point) for point in given], 1e-6
    slopes = [
        np.array([(loss(p + h * e) - loss(p - h * e)) / (2 * h) for e in np.eye(len(p))])
        for p in points
    ]
    return [loss(p) for p in points], slopes


def _is_program(case: Case, got: Any) -> str:
    if type(got) is not dict or got.get("name") not in PROJECTS:
        return f"`choice` should be one of {', '.join(PROJECTS)}."
    name = got["name"]
    values, slopes = _right(case, name)
    for right, found in zip(values, got["values"], strict=True):
        if not abs(found - right) <= 0.03 * abs(right) + 1e-9:
            return (
                f"the sum of the squared residuals of {name} is {found:.5g}; the referee finds"
                f" {right:.5g}. {ADVICE[name]}"
            )
    if case.group == "its value":
        return ""
    for wanted, found in zip(slopes, got["slopes"], strict=True):
        gap = float(np.linalg.norm(np.subtract(found, wanted)))
        if not gap <= 0.05 * float(np.linalg.norm(wanted)):
            say = f"the slopes of {name} are {np.round(found[:6], 4).tolist()}, and differences of"
            say += f" the referee give {np.round(wanted[:6], 4).tolist()}."
            if not np.any(found):
                say += " Is a Tensor turned into a number on the way?"
            return say
    return ""


def _scaled(values: float, slopes: float) -> Callable[[Case, str], Any]:
    def made(case: Case, name: str) -> Any:
        found, steep = _right(case, name)
        return {
            "name": name,
            "values": [values * v for v in found],
            "slopes": [(slopes * s).tolist() for s in steep],
        }

    return made


def _mistakes() -> Iterator[Misconception]:
    for what, say, made in (
        ("no slopes", "no adjoint gets to the numbers: somewhere a Tensor becomes an array.",
         _scaled(1.0, 0.0)),
        ("the sum", "you return the sum of all residuals squared as one residual.",
         _scaled(1.3, 1.3)),
        ("the sign of the slopes", "the slopes have the wrong sign.", _scaled(1.0, -1.0)),
        ("half of it", "the law is half as strong as it should be.", _scaled(0.5, 0.5)),
    ):  # fmt: skip
        for name in PROJECTS:
            yield Misconception(
                f"{what} ({name})", say, partial(lambda case, made, name: made(case, name),
                                                 made=made, name=name)
            )  # fmt: skip


PROGRAM = told_by(
    _is_program,
    "program",
    {"its value": 2, "its slopes": 2},
    _program_cases,
    answers=("residuals", "choice"),
    drive=f"{ENGINE}:missed",
    forbid=(DERIVATIVES,),
    limit_s=30.0,
    present=lambda case: "your program at two places near the start of its project",
    checked=(
        "The sum of your squared residuals is the referee's to 3 percent, and its slopes are those"
        " of the referee to 5 percent, at numbers drawn for this check."
    ),
    hints=(
        "Set choice = 'golf', say: the check tries your program on that project alone.",
        "`numbers` is a list of Tensors without dimensions. A row of them is made with"
        " constants: numbers[0] * Tensor([1.0, 0.0]) + numbers[1] * Tensor([0.0, 1.0]).",
        "For plain numbers: print(residuals([Tensor(n) for n in numbers]).pow(2).sum().value,"
        " projects.PROJECTS[choice].loss(numbers)). What changes with half of the steps' length is"
        " the steps' fault, what stays is the law's.",
    ),
    misconceptions=tuple(_mistakes()),
)

# ------------------------------------------------------------------------------------- the numbers


def _number_cases(rng: np.random.Generator) -> Iterator[Case]:
    starts = {name: list(project.start) for name, project in PROJECTS.items()}
    sizes = {name: [len(start)] for name, start in starts.items()}
    sizes["renderer"] = list(range(6, len(starts["renderer"]) + 1, 6))
    for group in ("good", "fine"):
        yield Case(group, starts=starts, sizes=sizes)


def _is_reached(case: Case, got: Any) -> str:
    if problem := problem_with(got["name"], got["numbers"]):
        return problem
    if got["choice"] != got["name"]:
        return (
            f"these are numbers for {got['name']}, but your program is for another project:"
            f" `choice` is {got['choice']!r}."
        )
    if not got["found"] < got["start"]:
        return (
            "by your own `residuals` these numbers are no better than those to start with: the"
            f" sums of the squares are {got['found']:.4g} and {got['start']:.4g}."
        )
    project, miss = PROJECTS[got["name"]], missed(got["name"], got["numbers"])
    if not np.isfinite(miss):
        return f"{project.never(got['numbers'])}."
    bar = getattr(project, case.group)
    return "" if miss <= bar else f"the referee finds {miss:.4g} {project.unit}; {bar:g} passes."


REACHED = told_by(
    _is_reached,
    "project",
    {"good": 2, "fine": 2},
    _number_cases,
    answers=("project", "residuals", "choice"),
    drive=f"{ENGINE}:ranked",
    forbid=(DERIVATIVES,),
    limit_s=30.0,
    present=lambda case: "your numbers",
    checked=(
        "Your own program prefers these numbers to those to start with, and the referee computed"
        " the physics from them, with small steps of its own."
    ),
    hints=(
        "The numbers must be plain: [float(n) for n in …], and belong to the project of `choice`.",
        "Stuck? Print the loss of each step. If it rises, the step is too long; if it stays, the"
        " search sits in a valley of its own: begin elsewhere.",
        "python -m minigrad.lessons.projects NAME NUMBERS says what the referee finds.",
    ),
)

# ------------------------------------------------------------------------------------- predictions

PREDICTIONS = (
    Number(
        "mirror-shape",
        "Prediction: the shape of a mirror",
        variable="a",
        answer=lambda: 0.25,
        because="The parabola y = x²/(4f) brings all parallel rays together at the height f.",
        slips=(
            ("That is a parabola with the focus at the height 1/2.", lambda: 0.5),
            ("That is a parabola with the focus at the height 1/4.", lambda: 1.0),
        ),
        hints=(
            "A ray at x comes down, and leaves with twice the angle of the mirror. For small x the"
            " mirror rises with the slope 2ax, so the ray is turned by 4ax.",
            "It must go a distance x to the side on a height of 1: 4ax = x.",
        ),
        tolerance=1e-6,
    ),
    Exact(
        "runs-for-discs",
        "Prediction: differences for nine discs",
        variable="runs",
        answer=lambda: 2.0 * len(PROJECTS["renderer"].start),
        because="54 numbers, and a run on each side of each of them.",
        slips=(
            ("On each side of each number: that is twice as many.",
             lambda: float(len(PROJECTS["renderer"].start))),
            ("A disc has six numbers: x, y, r and three colours.", lambda: 18.0),
            ("Reverse mode needs one pass; differences need more.", lambda: 1.0),
        ),
        hints=("How many numbers has the scene?", "54. And a central difference?"),
    ),
)  # fmt: skip

TITLES = {
    "program": "Exercise 1 · Your program",
    "project": "Exercise 2 · Your numbers",
}

EXERCISES: dict[str, Exercise] = by_name(vars(), TITLES)
