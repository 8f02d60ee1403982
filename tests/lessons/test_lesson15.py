"""Lesson 15: the pretend device, what the lesson says of it, and whether its exercises judge as
they should.
"""

import math
from pathlib import Path

import numpy as np
import pytest
from minigrad.lessons.exercises import lesson15
from minigrad.lessons.exercises.drive15 import moved
from minigrad.lessons.exercises.lesson15 import EXERCISES
from minigrad.lessons.grading import check, predict
from minigrad.lessons.grading.checking import check_exercise

import minigrad as mg

LESSON = Path(__file__).resolve().parents[2] / "lessons" / "15_gpu.ipynb"
PRETEND = mg.device("pretend")


def test_the_sheet_is_fit_to_grade_with(examined):
    assert examined.ok, str(examined)
    assert not any(examined.missed.values()), examined.missed


# ------------------------------------------------------------------------------- the pretend device


def test_nothing_passes_unasked_and_what_passes_is_counted():
    before = dict(moved)
    x = mg.tensor([1.0, 2.0, 3.0]).to(PRETEND)
    assert x.device == "pretend:0" and moved["there"] - before["there"] == 12
    y = mg.exp(x * 2).sum()
    assert y.device == "pretend:0" and moved["back"] == before["back"]
    y.item()
    assert moved["back"] - before["back"] == 4
    with pytest.raises(mg.errors.DeviceError, match="pretend and cpu"):
        x + mg.ones(3)
    with pytest.raises(TypeError, match="does not hand out"):
        np.asarray(x.array)


def test_a_network_trains_on_it_and_learns_what_it_learns_on_the_cpu():
    weights = []
    for device in ("cpu", PRETEND):
        mg.manual_seed(3)
        net = mg.nn.Sequential(mg.nn.Linear(3, 4), mg.nn.ReLU(), mg.nn.Linear(4, 2)).to(
            mg.device(device)
        )
        x, t = (
            mg.randn(5, 3).to(mg.device(device)),
            mg.tensor([0, 1, 1, 0, 1]).to(mg.device(device)),
        )
        optimizer = mg.optim.Adam(net.parameters(), lr=0.1)
        for _ in range(3):
            optimizer.zero_grad()
            loss = mg.nn.functional.cross_entropy(net(x), t)
            loss.backward()
            optimizer.step()
        assert all(
            p.device.type == p.grad.device.type == mg.device(device).type for p in net.parameters()
        )
        weights.append([p.detach().cpu().numpy() for p in net.parameters()])
    for here, there in zip(*weights, strict=True):
        np.testing.assert_allclose(there, here, rtol=1e-5)  # sums are taken in other orders


# --------------------------------------------------------------------------------------- the lesson


@pytest.mark.parametrize("stays", [True, False])
def test_the_formula_counts_what_the_pretend_device_counts(scope, stays):
    if scope["DEVICE"].type != "pretend":
        pytest.skip("a GPU does not count")
    before = dict(moved)
    scope["train"](10, stays)
    there, back = (moved[way] - before[way] for way in ("there", "back"))
    parameters = 20 * 50 + 50 + 50 + 1
    assert there + back == scope["bytes_moved"]((16, 20), 4, parameters, 10, stays)
    assert parameters == 1101, "the number in the text"


def test_the_formulas_agree_with_the_search(scope):
    cpu, gpu, link = 1e10, 1e12, 5e9
    n = scope["smallest_size"](cpu, gpu, link)
    here, there = lesson15.product_times(n, cpu, gpu, link)
    assert here == pytest.approx(there)
    assert (
        lesson15.product_times(2 * n, cpu, gpu, link)[0]
        > lesson15.product_times(2 * n, cpu, gpu, link)[1]
    )
    assert (
        scope["finished"](100, 5.0, 20.0, False) == 2005
        and scope["finished"](100, 5.0, 2.0, False) == 502
    )


def test_a_function_that_makes_its_tensor_on_the_cpu_works_there_only():
    def weighted(x):
        return x / mg.arange(1, x.shape[0] + 1, dtype=x.dtype).reshape(-1, 1)

    feedback = check("weighted", weighted)
    assert feedback.points == 0 and "pretend and cpu" in str(feedback)
    assert "moved x to the CPU" in str(check("weighted", lambda x: weighted(x.cpu())))
    there_and_back = check("weighted", lambda x: weighted(x.cpu()).to(x.device))
    assert there_and_back.points == 1 and "two transfers" in str(there_and_back)
    assert check("weighted", lambda x: x / (mg.ones_like(x[:, :1]).cumsum(0))).passed


def test_whole_numbers_and_floats_are_both_right():
    def bytes_moved(shape, itemsize, parameters, steps, stays):
        return float(itemsize * (steps * (np.prod(shape) + 1) + 2 * parameters * (steps, 1)[stays]))

    assert check("bytes_moved", bytes_moved).passed
    assert check(
        "pays",
        lambda cpu, gpu, link: 6 * cpu * gpu / (link * (gpu - cpu)),
        lambda c, g, li: li * (g - c) > 12 * c * g,
    ).passed


@pytest.mark.parametrize("size", [0, -1.0, math.nan, math.inf, "large"])
def test_what_is_no_size_is_wrong_and_does_not_stop_the_check(size):
    assert "positive number" in str(
        check("pays", lambda cpu, gpu, link: size, lambda cpu, gpu, link: 1)
    )


@pytest.mark.parametrize("name, wrong, word", [
    ("batch-bytes", 50176, "four bytes"), ("batch-bytes", 3136, "one image"),
    ("stopwatch", 2005, "stopped earlier"), ("stopwatch", 5, "one call"),
])  # fmt: skip
def test_slips_of_predictions_are_recognised(name, wrong, word):
    assert word in str(predict(name, wrong))


@pytest.mark.parametrize("seed", range(3))
def test_the_solutions_are_right_for_random_cases(scope, seed):
    for name in ("weighted", "bytes_moved", "pays", "finished"):
        assert check_exercise(
            EXERCISES[name], [scope[answer] for answer in EXERCISES[name].answers], seed
        ).passed
