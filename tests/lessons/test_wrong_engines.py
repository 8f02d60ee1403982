"""The milestone's check rejects every wrong engine of a table, and says what is wrong with it."""

import json
from pathlib import Path

import numpy as np
import pytest
from minigrad.lessons.exercises.milestone import OWN_STEP
from minigrad.lessons.grading import check, checking, known
from minigrad.lessons.grading.judge import judge
from minigrad.lessons.grading.local import run_cases

from .test_milestone import OTHER, engine_of
from .wrong.engines import PAIRS, SINGLES
from .wrong.own_engine_answers import RULES

LESSON = next((Path(__file__).resolve().parents[2] / "lessons").glob("11_*.ipynb"))
CELLS = {
    c["id"]: "".join(c["source"]) for c in json.loads(LESSON.read_text(encoding="utf-8"))["cells"]
}
pytestmark = pytest.mark.usefixtures("smaller_cases", "cases_drawn_once", "unwatched")
ALWAYS = (
    "topological_order: recursive",
    "gradients: overwrites",
    "unbroadcast: nothing summed",
    "pull_cross_entropy: no mean",
    "adam: not corrected",
    "own_step: new dictionaries",
)
"""What every run of the tests tries; the others belong to the whole suite."""


@pytest.fixture(autouse=True)
def _impatient_checks(request, monkeypatch):
    """An engine that does not end in time is stopped soon."""
    if "down every path" in request.node.name:
        monkeypatch.setattr(checking, "SECONDS", 1.0)
        for exercise in (OWN_STEP, known()["products"]):
            monkeypatch.setattr(exercise, "limit_s", 1.0)


def rows(table):
    return [n if n in ALWAYS else pytest.param(n, marks=pytest.mark.whole) for n in table]


def engine(change):
    """The answers to lesson 11's last exercise where some pieces are written otherwise."""
    scope = notebook_with(change)
    return [scope["loss_and_gradients"], scope["own_step"]]


def notebook_with(change):
    """What a notebook holds in which some pieces are written otherwise."""
    scope = {"np": np}

    def run(source):
        exec(compile(source, "<cell>", "exec"), scope)

    run(engine_of({}))
    for name, piece in (
        ("order", "topological_order"),
        ("unbroadcast",) * 2,
        ("cross_entropy", "pull_cross_entropy"),
    ):
        scope[f"sound_{name}"] = scope[piece]
    run(CELLS["own-network"])
    run(CELLS["own_step"])
    for source in change.values():
        run(source)
    return scope


def test_there_are_a_hundred_wrong_engines_and_more():
    assert len(SINGLES) > 100
    assert set(ALWAYS) <= set(SINGLES)
    assert [name for name, (_, says) in SINGLES.items() if not says] == []


@pytest.mark.parametrize("name", rows(SINGLES))
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_wrong_engine_is_rejected_with_the_reason(name):
    change, says = SINGLES[name]
    feedback = check("own_step", *engine(change))
    if name.startswith("adam"):  # the other groups ask for gradients alone
        assert feedback.points == OWN_STEP.max_points - 2
    assert feedback.points < OWN_STEP.max_points
    assert says in str(feedback)
    assert any(line.kind != "right" and len(line.text) > 40 for line in feedback.lines), str(
        feedback
    )


@pytest.mark.whole
@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_two_mistakes_together_are_rejected_too(name):
    assert check("own_step", *engine(PAIRS[name])).points < OWN_STEP.max_points


FIRST_OF_EACH_PIECE = {name.partition(":")[0]: name for name in reversed(SINGLES)}


@pytest.mark.parametrize("name", ["gradients: overwrites", *rows(FIRST_OF_EACH_PIECE.values())])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_the_grader_rejects_what_the_notebook_rejects(name):
    """It judges other cases by the same functions, so one engine of each piece is enough."""
    given = dict(zip(OWN_STEP.answers, engine(SINGLES[name][0]), strict=True))
    cases = OWN_STEP.cases(11)
    assert not judge(OWN_STEP, cases, run_cases(OWN_STEP, cases, given, 60.0)).full


OF_NETWORKS = ("pull_cross_entropy", "adam", "own_step")
"""Pieces that lesson 11b does not use."""
LATER = [
    n
    for n in SINGLES
    if n in FIRST_OF_EACH_PIECE.values() or n.startswith("unbroadcast")
    if not n.startswith(OF_NETWORKS)
]
"""Lesson 11b judges by the functions of the milestone, on graphs with other operations and forms of
broadcasting: one engine of each piece is enough, and all that broadcast wrongly.
"""


def grown(change):
    """The answers to the first exercise of lesson 11b, in a notebook with such an engine."""
    scope = notebook_with(change)
    exec(compile(RULES, "<cell>", "exec"), scope)
    return [scope[name] for name in ("pull_mul", "pull_div", "pull_log")]


def test_a_right_engine_of_any_kind_grows():
    for change in ({}, OTHER):
        assert check("products", *grown(change)).passed


@pytest.mark.parametrize(
    "name",
    [
        n if n == "gradients: overwrites" else pytest.param(n, marks=pytest.mark.whole)
        for n in LATER
    ],
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_wrong_engine_does_not_grow(name):
    feedback = check("products", *grown(SINGLES[name][0]))
    assert not feedback.passed
    assert any(line.kind != "right" and len(line.text) > 40 for line in feedback.lines)


ORDERS = [name for name, (_, says) in SINGLES.items() if says.startswith("`topological_order`")]


@pytest.mark.parametrize("name", ORDERS)
def test_lesson_11b_says_what_is_wrong_with_the_order(name):
    change, says = SINGLES[name]
    assert says in str(check("products", *grown(change)))
