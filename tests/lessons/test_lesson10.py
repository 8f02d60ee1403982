"""Lesson 10: what it says is so, and its exercises judge as they should."""

from pathlib import Path

import numpy as np
import pytest
from minigrad.lessons.exercises import lesson10
from minigrad.lessons.exercises.lesson10 import EXERCISES
from minigrad.lessons.grading import check, predict
from minigrad.lessons.grading.checking import check_exercise
from minigrad.lessons.grading.judge import judge
from minigrad.lessons.grading.local import run_cases

from minigrad.watch import trace_function

LESSON = Path(__file__).resolve().parents[2] / "lessons" / "10_layers_and_cnn.ipynb"


@pytest.mark.whole
def test_the_sheet_is_fit_to_grade_with(examined):
    assert examined.ok, str(examined)
    assert not any(examined.missed.values()), examined.missed


def test_the_shapes_are_those_of_the_lessons_network(scope):
    net, seen = scope["CNN"](), {}
    for name in ("conv1", "pooling1", "conv21", "linear"):
        getattr(net, name).register_forward_hook(
            lambda module, args, out, name=name: seen.update({name: tuple(out.shape)})
        )
    net(scope["x"])
    assert {name: shape for name, shape in lesson10.shapes().items() if name in seen} == seen


def test_the_network_forks_once_and_the_fork_gets_two_contributions(scope):
    trace = trace_function(
        lambda x: scope["loss_of"](scope["net"](x), scope["t"]), scope["x"], mode="reverse"
    )
    (cat,) = (n for n in trace["nodes"] if n.get("op") == "cat")
    fork = [n["id"] for n in trace["nodes"] if n.get("group", "").endswith("pooling1")][-1]
    arrived = [
        s for s in trace["steps"] if s["node"] == fork and s["phase"] in ("adjoint", "accumulate")
    ]
    assert cat["shape"] == [2, 32, 8, 8] and len(arrived) == 2
    shapes = {n["id"]: n["shape"] for n in trace["nodes"]}
    for step in trace["steps"]:
        for node, column, value in step["writes"]:
            if column == "g" and isinstance(value, dict):
                assert value["shape"] == shapes[node], "an adjoint has the shape of its value"


def test_the_other_way_to_write_each_rule_is_right_too():
    def adjoint_cat(g, channels):
        return tuple(np.split(g, np.cumsum(channels)[:-1], axis=1))

    def adjoint_max_pool(x, g):
        windows = x.reshape(g.shape[0], 2, g.shape[1], 2).swapaxes(1, 2).reshape(*g.shape, 4)
        out = np.zeros_like(windows)
        np.put_along_axis(out, windows.argmax(-1)[..., None], g[..., None], -1)
        return out.reshape(*g.shape, 2, 2).swapaxes(1, 2).reshape(x.shape)

    assert (
        check("adjoint_cat", adjoint_cat).passed
        and check("adjoint_max_pool", adjoint_max_pool).passed
    )


def test_ties_are_worth_a_point_of_their_own():
    def everybody(x, g):
        large = g.repeat(2, 0).repeat(2, 1)
        return large * (
            x == x.reshape(g.shape[0], 2, g.shape[1], 2).max((1, 3)).repeat(2, 0).repeat(2, 1)
        )

    feedback = check("adjoint_max_pool", everybody)
    assert (feedback.points, feedback.possible) == (
        2,
        3,
    ) and "more comes back than was sent" in str(feedback)


@pytest.mark.parametrize("changed, word", [
    ({"conv1": (2, 32, 6, 6)}, "eat the border"), ({"pooling1": (2, 32, 4, 4)}, "stride 2"),
    ({"cat": (2, 16, 8, 8)}, "both"),
    ({"flatten": (4096,)}, "row of its own"), ({"linear": (10,)}, "should have 2 numbers"),
    ({"linear": "ten"}, "tuple of whole numbers"),
])  # fmt: skip
def test_wrong_shapes_get_the_reason(changed, word):
    feedback = check("shapes", {**lesson10.shapes(), **changed})
    assert feedback.status == "wrong" and word in str(feedback) and feedback.points == 2


def test_a_table_that_is_not_finished_says_what_is_next():
    assert (
        "`cat`" in str(check("shapes", {**lesson10.shapes(), "cat": ...}))
        and check("shapes", ...).status == "unfinished"
    )


@pytest.mark.parametrize("name, wrong, word", [
    ("conv1-parameters", 320, "no bias"), ("winners", 16, "Only the winner"),
    ("windows", 8, "own window"),
])  # fmt: skip
def test_slips_of_predictions_are_recognised(name, wrong, word):
    assert word in str(predict(name, wrong))


@pytest.mark.parametrize("seed", range(3))
def test_the_solutions_are_right_for_random_cases(scope, seed):
    for name in ("adjoint_cat", "adjoint_max_pool"):
        assert check_exercise(EXERCISES[name], [scope[name]], seed).passed


def test_an_untouched_table_of_shapes_counts_as_not_begun():
    """It comes from a submission with nothing in each row; one row makes it begun."""
    exercise = lesson10.predicted_shapes
    cases, empty = exercise.cases(0), dict.fromkeys(lesson10.shapes(), ...)
    begun = [
        judge(exercise, cases, run_cases(exercise, cases, {"predicted_shapes": table}, 5.0)).started
        for table in (empty, {**empty, "conv1": (2, 32, 8, 8)}, {**empty, "conv1": (1, 2)})
    ]
    assert begun == [False, True, True]
