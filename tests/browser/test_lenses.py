"""Programs, checkpoints and predictions of arrays in a real browser."""

import json
import re

import numpy as np
import pytest
from minigrad.lessons.grading.kinds.predict import Predict

import minigrad as mg
from minigrad.program import trace as record
from minigrad.trace.replay import state_at
from minigrad.watch import trace_function
from tests.browser.conftest import at_each, step_of, to
from tests.browser.test_views import view

pytestmark = [pytest.mark.browser, pytest.mark.whole]


@pytest.fixture(scope="session")
def program():
    rng = np.random.default_rng(0)
    x, w = (
        mg.tensor(rng.normal(size=(8, 5))),
        mg.tensor(rng.normal(size=(5, 3)), requires_grad=True),
    )
    return record(
        lambda x, w: mg.autograd.grad(((x @ w).tanh() ** 2).sum(), [w])[0], x, w
    ).as_trace(x, w)


def test_the_memory_lens_shows_a_programs_buffers(show, program, axe, visit):
    viewer = show(program, views=["memory"])
    lens = view(viewer, "memory")
    placed = {n["id"]: n["memory"] for n in program["nodes"] if "at" in n.get("memory", {})}
    boxes = lens.locator(".mg-buffer")
    assert boxes.evaluate_all("all => all.map(e => e.dataset.node)") == list(placed)
    letters = lens.locator(".mg-buffers").evaluate("e => 13 * e.getScreenCTM().a")
    assert 9.5 < letters < 21, "names in boxes are read"
    drawn = boxes.locator("rect").evaluate_all(
        "all => all.map(e => ['x', 'y', 'width', 'height'].map(a => Number(e.getAttribute(a))))"
    )
    for i, (x, y, wide, high) in enumerate(drawn):
        for u, v, across, down in drawn[i + 1 :]:
            assert (
                x + wide <= u + 1e-6
                or u + across <= x + 1e-6
                or y + high <= v + 1e-6
                or v + down <= y + 1e-6
            ), "one value at a time"
    pieces = [
        line.split(": ")[1].split(" → ") for line in lens.locator(".mg-pieces li").all_inner_texts()
    ]
    assert [len(set(p)) for p in pieces] and max(map(len, pieces)) > 1
    reused = 0
    look = (
        "root => [root.querySelector(\"[data-view='memory'] [role='status']\").textContent,"
        " root.dataset.now]"
    )
    for step, (said, now) in zip(
        program["steps"], at_each(viewer, range(1, len(program["steps"]) + 1), look), strict=True
    ):
        if "It is written where" in step["say"]:
            reused += 1
            before = re.search(r"where (\w+) was", step["say"])[1]
            assert f"{step['node']} is written where {before} was." in said
        if step["phase"] == "free":
            assert f"No longer read: {step['node']}." in said
            assert now == "v", "a Program has no adjoints, so nothing there is purple"
    assert reused >= 3
    axe(visit.page, "html")


def test_the_memory_lens_shows_what_a_checkpoint_computes_again(show):
    trace = trace_function(
        lambda x: mg.checkpoint(lambda a: mg.sin(a * a).exp(), x).square(), 0.5, mode="reverse"
    )
    viewer = show(trace, views=["memory"])
    lens = view(viewer, "memory")
    assert lens.locator(".mg-again").count() >= 3
    again = 0
    look = """root => [root.querySelector("[data-view='memory'] [role='status']").textContent,
        [...root.querySelectorAll(".mg-node.mg-freed")].map(e => e.dataset.node)]"""
    seen = at_each(viewer, range(1, len(trace["steps"]) + 1), look)
    for k, (step, (said, hollow)) in enumerate(zip(trace["steps"], seen, strict=True), 1):
        freed = state_at(trace, k).freed
        if "keep" in step:
            again += 1
            assert f"Computed again, and kept again: {step['keep'][0]}." in said
        if step["phase"] == "free":
            assert "at the checkpoint's end" in said and "in 1 value (" in said, (
                "the checkpoint holds its argument alone"
            )
        if "drops" in step:
            assert (
                step["drops"] == ["x"]
                and "no longer holds x." in said
                and said.startswith("Kept for the adjoints: 0 B in 0 values")
            )
        assert set(hollow) == freed
    assert again == 3 and [k for k, s in enumerate(trace["steps"], 1) if "drops" in s] == [
        len(trace["steps"])
    ]
    to(viewer, len(trace["steps"]) - 1)
    assert (
        lens.get_by_role("status")
        .inner_text()
        .startswith("Kept for the adjoints: 8 B in 1 value (")
    ), "v1 keeps what the checkpoint holds"


# ---- predictions


def layer(x, w):
    return (x @ w).tanh().sum()


POINT = ([[0.5, -1.0], [2.0, 0.25]], [[1.0, 0.0, -0.5], [0.5, 1.0, 2.0]])


def answers_of(visit):
    """The log that the page offers for download."""
    return visit.page.evaluate(
        "() =>"
        " JSON.parse(decodeURIComponent(document.querySelector('a[download=\"answers.json\"]')"
        ".href.split(',').slice(1).join(',')))"
    )


def test_predictions_of_arrays_go_from_the_page_to_the_grade(show, visit):
    trace = trace_function(layer, *POINT, mode="reverse")
    viewer = show(trace, views=["predict"])
    lens = view(viewer, "predict")
    steps, asked = trace["steps"], 0
    to(viewer, len(trace["steps"]))
    while "No more values" not in lens.locator(".mg-question").inner_text():
        k = step_of(viewer)
        value, question = steps[k]["writes"][0][2], lens.locator(".mg-question").inner_text()
        assert f"{steps[k]['node']}" in question.replace("\n", "")
        if question.startswith("What shape"):
            answer = "x".join(map(str, value["shape"]))
        elif "element [" in question:
            place = [int(v) for v in re.search(r"element \[([\d, ]+)\]", question)[1].split(",")]
            flat = 0
            for i, size in zip(place, value["shape"], strict=True):
                flat = flat * size + i
            answer = str(value["sample"][flat])
        else:
            answer = str(value)
        lens.locator("input").fill(answer)
        lens.locator("input").press("Enter")
        asked += 1
        assert lens.get_by_role("status").inner_text().endswith(" is right.")
        to(viewer, len(trace["steps"]))
    log = answers_of(visit)
    assert len(log) == asked and all(a["correct"] for a in log)
    assert {"shape"} < {json.dumps(a.get("asked")).strip('"') for a in log}
    for entry in log:
        write = steps[entry["step"]]["writes"][0]
        assert write[:2] == [
            entry["node"],
            entry["column"],
        ], "step is the index into the Trace's steps"
    questions = [("v1", "v"), ("v3", "v"), ("x", "g"), ("w", "g"), ("v1", "g")]
    exercise = Predict("log", layer, POINT, questions, mode="reverse")
    case_by_case = [exercise.verify(case, log) for case in exercise.cases(np.random.default_rng(0))]
    assert case_by_case == [""] * len(questions)
    wrong = [{**a, "answer": "(9, 9)" if a.get("asked") == "shape" else 77.0} for a in log]
    assert all(exercise.verify(case, wrong) for case in exercise.cases(np.random.default_rng(0)))
    cheap = [
        (
            {**a, "asked": "shape", "answer": str(tuple(trace["nodes"][0]["shape"]))}
            if a["column"] == "g"
            else a
        )
        for a in log
    ]
    missed = [exercise.verify(case, cheap) for case in exercise.cases(np.random.default_rng(0))]
    assert [bool(m) for m in missed] == [
        False,
        False,
        True,
        True,
        True,
    ], "an element was asked, its shape is no answer"


def test_a_sum_that_is_not_complete_is_not_graded_as_the_whole(show, visit):
    square = lambda x: x * x
    trace = trace_function(square, 3.0, mode="reverse")
    viewer = show(trace, views=["predict"])
    for answer in ("9", "3", "6"):  # the value, the first contribution, the sum
        to(viewer, len(trace["steps"]))
        view(viewer, "predict").locator("input").fill(answer)
        view(viewer, "predict").locator("input").press("Enter")
    log = answers_of(visit)
    assert [(a["node"], a["column"], a["answer"], a["correct"]) for a in log] == [
        ("v1", "v", 9, True), ("x", "g", 3, True), ("x", "g", 6, True)
    ]  # fmt: skip
    exercise = Predict("log", square, (3.0,), [("x", "g")], mode="reverse")
    assert [exercise.verify(case, log) for case in exercise.cases(np.random.default_rng(0))] == [""]


def test_the_pseudo_code_of_the_algorithm_is_commented_in_chinese(show, visit):
    trace = trace_function(lambda x1, x2: mg.log(x1) + x1 * x2, 2.0, 5.0)
    show(trace, lang="zh", views=["algorithm"])
    lines = visit.page.locator(".mg-pseudo code").all_inner_texts()
    assert len(lines) == 7 and sum(bool(re.search("[\u4e00-\u9fff]", line)) for line in lines) >= 5
