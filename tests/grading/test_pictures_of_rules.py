"""The picture of a rule that is wrong: the function's graph with the right numbers and, beside
them, those of the student."""

import json
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from minigrad.lessons.exercises.lesson02 import EXERCISES as LESSON_2
from minigrad.lessons.exercises.lesson05 import EXERCISES as LESSON_5
from minigrad.lessons.grading.exercise import Returned
from minigrad.lessons.grading.graphs import AskedRule, wrong_rule
from minigrad.lessons.grading.judge import judge
from minigrad.lessons.grading.pages import compared, student_html
from minigrad.lessons.grading.sheet_modules import module_for

import minigrad as mg

LESSONS = Path(__file__).resolve().parents[2] / "lessons"
RULES = """
    sin mul div pull_exp pull_t pull_sum unbroadcast pull_matmul exp_reducer_vjp exp_reducer_jvp
    bprop_exp bprop_tan jvp_from_vjp pull_relu pull_cross_entropy adjoint_cat adjoint_max_pool
    adjoint_centred adjoint_swish matrix_products pull_solve pull_logdet
""".split()


def _exercises():
    found = {}
    for path in sorted(LESSONS.glob("*.ipynb")):
        if path.stem.startswith(("02", "05", "06", "07", "08", "09", "10", "14", "16")):
            exercises, _ = module_for(path, json.loads(path.read_text(encoding="utf-8")))
            found |= exercises
    return found


def judged(exercise, answer):
    cases = exercise.cases(0)
    returned = []
    for case in cases:
        try:
            returned.append(Returned(answer(case)))
        except (
            ValueError,
            TypeError,
            IndexError,
        ) as error:  # a mistake that other shapes do not have
            returned.append(Returned(error=str(error), kind="raised"))
    return judge(exercise, cases, returned)


def test_each_exercise_on_the_rule_of_one_function_draws_its_classic_mistakes():
    exercises = _exercises()
    for name in RULES:
        exercise, drawn = exercises[name], 0
        for mistake in exercise.misconceptions:
            found = judged(exercise, mistake.wrong)
            if found.trace is not None:
                root = ElementTree.fromstring(
                    compared(found.reference, found.trace, found.step, found.where["wrong"])
                )
                assert any(one.get("class") == "badge w" for one in root.iter()), mistake.name
                assert found.where["node"] in found.where["say"]
                drawn += 1
        assert drawn, name


def test_the_page_has_the_call_and_the_graph_with_both_numbers():
    found = judged(LESSON_5["pull_exp"], lambda case: case.args["g"])
    page = student_html("Ada", "Lesson 5", [found])
    assert found.reference["title"] == "v1 = exp(x)"
    assert found.where["say"].startswith("The adjoint of x should be ")
    assert "The smallest case that failed: <code>pull_exp(x=" in page and "≠" in page
    assert page.count("<svg") == 1
    assert "x 的伴随应为 " in student_html("Ada", "Lesson 5", [found], language="zh")


def test_of_two_operands_only_the_wrong_one_is_marked():
    a, b, g = np.ones((2, 2)), np.array([[1.0, 2.0], [3.0, 4.0]]), np.ones((2, 2))
    asked = AskedRule(mg.matmul, {"a": a, "b": b}, [g])
    where = wrong_rule(asked, [g @ b.T, a @ g + 1])
    assert where.wrong == ("b",) and "adjoint of b should be [[2, 2], [2, 2]]" in where.say
    assert where.trace["steps"][where.step - 1]["node"] == "b"
    assert wrong_rule(asked, [g @ b.T, a.T @ g]) is None


def test_a_tangent_that_is_wrong_is_marked_at_the_result():
    found = judged(LESSON_2["sin"], lambda case: case.args.get("da", case.args.get("g")))
    assert found.where["node"] == "v1" and "tangent of v1 should be" in found.where["say"]


@pytest.mark.parametrize(
    "got",
    [
        None, "1", "<script>", [], [1.0, 2.0], {"x": 1.0}, np.ones((3, 3, 3)), np.array(["a"]),
        np.array([1j, 2.0]), np.ones(0), object(), [np.ones(2), "x"],
    ],
    ids=lambda got: type(got).__name__,
)  # fmt: skip
def test_what_is_no_small_array_of_numbers_has_no_picture(got):
    asked = AskedRule(mg.exp, {"x": np.ones(2)}, [np.ones(2)])
    assert wrong_rule(asked, got) is None


@pytest.mark.parametrize("got", [np.nan, np.inf, 10**300, np.full(2, np.nan), np.ones((2, 2))])
def test_odd_numbers_and_other_shapes_are_drawn(got):
    where = wrong_rule(AskedRule(mg.exp, {"x": np.ones(2)}, [np.ones(2)]), got)
    ElementTree.fromstring(compared(where.reference, where.trace, where.step, where.wrong))
    assert where.wrong == ("x",)


def test_large_and_empty_arrays_are_not_drawn():
    for size in (0, 17, 100_000):
        asked = AskedRule(mg.exp, {"x": np.ones(size)}, [np.ones(size)])
        assert wrong_rule(asked, np.zeros(size)) is None
    wide = AskedRule(lambda x: x.expand(30, 2), {"x": np.ones(2)}, [np.ones(2)], pushed=True)
    assert wrong_rule(wide, np.zeros(2)) is None
