"""Lesson 22: its exercises judge as they should, and its scene is recovered as it says."""

from pathlib import Path

import numpy as np
import pytest
from minigrad.lessons import static_figures
from minigrad.lessons.exercises.lesson22 import EXERCISES, slope_of_covered, spread_of_score
from minigrad.lessons.grading import check

from .sheet_tests import SheetTests
from .wrong import edge_answers
from .wrong.own_engine_answers import names_of

LESSON = Path(__file__).resolve().parents[2] / "lessons" / "22_noise_and_edges.ipynb"
SHORTER = {"starts": ("range(2, 6)", "range(2, 3)")}


class TestSheet(SheetTests):
    lesson, exercises = LESSON, EXERCISES


def test_terms_with_another_constant_subtracted_pass():
    terms = lambda f, z, s: [(f - 3) * z / s, (f - 3) * (z * z - 1) / s]
    assert check("score_terms", terms).passed


@pytest.mark.parametrize(
    "others",
    [
        lambda f, s: len(f) / (len(f) - 1) * (f - f.mean()) * s,
        lambda f, s: [(f[i] - np.delete(f, i).mean()) * s[i] for i in range(len(f))],
    ],
)
def test_a_baseline_in_other_forms_passes(others):
    assert check("with_baseline", others).passed


COVERS = {
    "a quotient": """def cover(d, width):
    e = (d * Tensor(-1 / width)).exp()
    return e / (e + Tensor(1.0))""",
    "a power": """def cover(d, width):
    return ((d / Tensor(width)).exp() + Tensor(1.0)).pow(-1)""",
}
PAINTS = {
    "a blend": """def paint(canvas, covers, colours):
    for i in range(len(covers)):
        canvas = canvas + covers[i] * (colours[i] - canvas)
    return canvas""",
    "from the top": """def paint(canvas, covers, colours):
    seen, free = Tensor(0.0), Tensor(1.0)
    for c, colour in list(zip(covers, colours))[::-1]:
        seen, free = seen + free * c * colour, free * (Tensor(1.0) - c)
    return seen + free * canvas""",
}


@pytest.mark.parametrize("form", COVERS)
def test_soft_edges_in_other_forms_pass(form):
    assert check("cover", names_of(COVERS[form])["cover"]).passed


@pytest.mark.parametrize("form", PAINTS)
def test_painters_in_other_forms_pass(form):
    assert check("paint", names_of(PAINTS[form])["paint"]).passed


def test_the_lessons_own_edge_and_painter_pass():
    scope = names_of(edge_answers.COVER, edge_answers.PAINT)
    assert check("cover", scope["cover"]).passed
    assert check("paint", scope["paint"]).passed


def test_hard_pixels_have_no_slope_and_soft_ones_that_of_the_area():
    assert slope_of_covered() == 0
    assert slope_of_covered(soft=True) == pytest.approx(16 * np.pi, rel=1e-3)


def test_the_spread_of_the_score_is_that_of_draws():
    z = np.random.default_rng(0).normal(size=200_000)
    drawn = np.std((1 + 0.1 * z) ** 2 * z / 0.1)
    assert spread_of_score(0.1) == pytest.approx(drawn, rel=0.02)


@pytest.mark.whole
def test_the_scene_is_recovered_with_a_wide_edge_and_not_with_a_sharp_one(scope):
    found = [np.concatenate([np.ravel(v) for v in step[0]]) for step in scope["history"]]
    assert scope["history"][-2][1] < 0.01 < 10 < scope["recover"](4, wide=0.5)[-2][1]
    assert np.allclose(static_figures.recovered()[-1].ravel(), found[-1], atol=1e-6)
    assert np.allclose(found[-1].reshape(5, 6)[[0, 2, 3, 4, 1]], [
        np.concatenate([np.ravel(part) for part in disc]) for disc in scope["FACE"]
    ], atol=0.05)  # fmt: skip
