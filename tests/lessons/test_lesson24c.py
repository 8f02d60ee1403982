"""Lesson 24c: the referee's physics keeps what physics keeps, and numbers are judged by it."""

import json
import math
import re
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from minigrad.lessons import projects, static_figures
from minigrad.lessons.exercises.lesson24c import EXERCISES
from minigrad.lessons.grading import check
from minigrad.lessons.projects import PROJECTS

from .sheet_tests import SheetTests
from .wrong import capstone_answers
from .wrong.own_engine_answers import names_of

LESSONS = Path(__file__).resolve().parents[2] / "lessons"
LESSON = LESSONS / "24c_project.ipynb"


class TestSheet(SheetTests):
    lesson, exercises = LESSON, EXERCISES


@pytest.mark.parametrize("name", PROJECTS)
def test_the_start_fails_and_the_gallerys_numbers_are_fine(name):
    project = PROJECTS[name]
    numbers = list(static_figures.FOUND[name])
    assert project.fine < project.good < projects.missed(name, project.start)
    assert projects.verdict(name, numbers).partition(": fine")[1]


def test_energy_on_the_green_is_lost_by_rolling_alone():
    path = projects.roll([2.0, 2.2], steps=2000)
    away = path[:, 0, None] - projects.MIDDLES
    heights = projects.HEIGHTS * np.exp(-np.sum(away**2, axis=2) / projects.WIDTHS**2)
    energy = 9.81 * heights.sum(axis=1) + np.sum(path[:, 1] ** 2, axis=1) / 2
    power = -projects.ROLLING * np.sum(path[:, 1] ** 2, axis=1)
    h = projects.SECONDS / 2000
    lost = h * (power.sum() - (power[0] + power[-1]) / 2)
    assert energy[-1] - energy[0] == pytest.approx(lost, rel=1e-5)


def test_three_bodies_keep_energy_and_momentum():
    path = projects.dance([0.3, 0.5, 4.0])
    places, velocities = path[:, :3], path[:, 3:]
    assert np.abs(velocities.sum(axis=1)).max() < 1e-10
    gaps = np.linalg.norm(places - np.roll(places, 1, axis=1), axis=2)
    energy = np.sum(velocities**2, axis=(1, 2)) / 2 - np.sum(1 / gaps, axis=1)
    assert energy == pytest.approx(energy[0], rel=1e-5)


def test_the_face_that_descartes_found_has_no_blur():
    """The face is a hyperbola with the conic constant −n²; here by its series."""
    n, f = projects.GLASS, projects.FOCUS
    curve, k = 1 / ((n - 1) * f), -(n**2)
    small = np.linspace(-0.3, 0.3, 7)
    series = [curve / 2, (1 + k) * curve**3 / 8, (1 + k) ** 2 * curve**5 / 16]
    assert np.abs(projects.heights(series, small)).max() < 1e-6
    parabola = [curve / 2, 0.0, 0.0]
    assert np.abs(projects.heights(parabola, small)).max() > 1e-4


def test_rays_obey_the_law_of_refraction():
    numbers, r = [0.19, -0.007, 0.0003], np.array([1.3])
    a, b, c = numbers
    u = float((2 * a * r + 4 * b * r**3 + 6 * c * r**5)[0])
    sag = float((a * r**2 + b * r**4 + c * r**6)[0])
    inside = math.atan(u)
    outside = math.asin(projects.GLASS * math.sin(inside))
    end = r[0] - (projects.FOCUS + sag) * math.tan(outside - inside)
    assert projects.heights(numbers, r)[0] == pytest.approx(end, rel=1e-12)


@pytest.mark.whole
def test_the_law_in_the_lesson_is_the_referees(scope):
    assert np.array_equal(scope["scene"](), projects.scene())
    assert np.array_equal(scope["MIDDLES"], projects.MIDDLES)
    assert np.array_equal(scope["HEIGHTS"].ravel(), projects.HEIGHTS)
    assert np.array_equal(scope["WIDTHS"].ravel(), projects.WIDTHS)
    assert check("program", scope["residuals"], scope["choice"]).points == 4
    assert check("project", *answers_of(scope)).points == 4


def answers_of(scope):
    """What the exercise on the numbers asks for, from a namespace."""
    return scope["project"], scope["residuals"], scope["choice"]


LENS = capstone_answers.LENS
ORBIT = """
PAIRS = [(i, j) for i in range(3) for j in range(3) if i != j]
AWAY = Tensor(np.array([np.eye(3)[j] - np.eye(3)[i] for i, j in PAIRS]))
PULLED = Tensor(np.array([np.eye(3)[i] for i, j in PAIRS]).T)


def rate(s):
    away = AWAY @ s[0]
    return s[1], PULLED @ (away.t() * away.pow(2).sum(1).pow(-1.5)).t()


def residuals(numbers):
    p, q, T = numbers
    h = T / Tensor(150.0)
    along = p * Tensor([1.0, 0.0]) + q * Tensor([0.0, 1.0])
    first = [Tensor([[-1.0, 0.0], [1.0, 0.0], [0.0, 0.0]]), Tensor([[1.0], [1.0], [-2.0]]) * along]

    def moved(s, ds, h):
        return [x + h * dx for x, dx in zip(s, ds)]

    s, half = first, h * Tensor(0.5)
    for _ in range(150):
        a = rate(s)
        b = rate(moved(s, a, half))
        c = rate(moved(s, b, half))
        d = rate(moved(s, c, h))
        mean = [(w + Tensor(2.0) * x + Tensor(2.0) * y + z) * Tensor(1 / 6)
                for w, x, y, z in zip(a, b, c, d)]
        s = moved(s, mean, h)
    rows = np.eye(6)
    return (Tensor(rows[:, :3]) @ (s[0] - first[0])) + (Tensor(rows[:, 3:]) @ (s[1] - first[1]))


choice = "orbit"
"""
RENDERER = """
def residuals(numbers):
    X, Y = (Tensor(g.reshape(-1, 1)) for g in np.meshgrid(np.arange(24) + 0.5, np.arange(24) + 0.5))
    picture, one = Tensor(np.full((576, 3), 0.7)), Tensor(1.0)
    for i in range(0, len(numbers), 6):
        x, y, r, *rgb = numbers[i : i + 6]
        colour = Tensor([0.0, 0.0, 0.0])
        for part, unit in zip(rgb, np.eye(3)):
            colour = colour + part * Tensor(unit)
        away = ((X - x).pow(2) + (Y - y).pow(2) + Tensor(0.001)).pow(0.5)
        cover = one / (one + ((away - r) / Tensor(0.5)).exp())
        picture = picture * (one - cover) + cover * colour
    return (picture - Tensor(SCENE)) / Tensor(1728**0.5)


choice = "renderer"
"""


@pytest.mark.parametrize(
    "source", [LENS, pytest.param(ORBIT, marks=pytest.mark.whole), RENDERER], ids=[
        "lens", "orbit", "renderer"
    ]
)  # fmt: skip
def test_a_right_program_of_each_project_passes(source):
    scope = names_of(f"from minigrad.lessons.projects import scene\nSCENE = scene()\n{source}")
    choice = scope["choice"]
    assert check("program", scope["residuals"], choice).points == 4
    scope["project"] = {"name": choice, "numbers": list(static_figures.FOUND[choice])}
    assert check("project", *answers_of(scope)).points == 4


def test_a_wrong_program_is_judged_by_the_chosen_project_alone():
    wrong = RENDERER.replace("Tensor(0.5)", "Tensor(4.0)")
    scope = names_of(f"from minigrad.lessons.projects import scene\nSCENE = scene()\n{wrong}")
    feedback = check("program", scope["residuals"], scope["choice"])
    assert not feedback.points
    assert "its value (0 of 2): The sum of the squared residuals of renderer" in str(feedback)
    assert "edge 0.5 wide" in str(feedback)
    assert "steps" not in str(feedback).partition("its value (0 of 2)")[2].partition("\n")[0]


def test_the_search_says_where_no_step_helps(capsys):
    scope = names_of(cell_of("search"))
    scope["sharpen"](lambda numbers: numbers[0] * numbers[0] + scope["Tensor"](1.0), [0.0])
    assert "no step makes them shorter" in capsys.readouterr().out


def cell_of(name):
    cells = json.loads(LESSON.read_text(encoding="utf-8"))["cells"]
    return next("".join(cell["source"]) for cell in cells if cell["id"] == name)


def test_a_picture_of_fewer_discs_is_ranked_as_well():
    scope = names_of(f"from minigrad.lessons.projects import scene\nSCENE = scene()\n{RENDERER}")
    feedback = check("project", {"name": "renderer", "numbers": list(
        static_figures.FOUND["renderer"][:30])}, scope["residuals"], "renderer")  # fmt: skip
    assert "root mean squared difference; 0.1 passes" in str(feedback)


@pytest.mark.parametrize("program", [lambda numbers: ..., lambda numbers: None])
def test_numbers_without_a_program_get_no_points(program):
    numbers = {"name": "lens", "numbers": list(static_figures.FOUND["lens"])}
    feedback = check("project", numbers, program, "lens")
    assert not feedback.points
    assert "check itself failed" not in str(feedback)


def test_the_gallerys_command_draws_numbers_that_are_not_found_yet():
    page = (LESSONS / "gallery.md").read_text(encoding="utf-8")
    ((name, numbers),) = re.findall(r"lessons\.projects (\w+) ([-\d. ]+) -o", page)
    assert projects.missed(name, [float(n) for n in numbers.split()]) > PROJECTS[name].good


def test_the_command_measures_and_draws(tmp_path, capsys):
    file = tmp_path / "lens.svg"
    projects.main(["lens", "0.2", "0", "0", "-o", str(file)])
    assert re.search(r"0\.486 cm.*not yet", capsys.readouterr().out)
    assert file.read_text(encoding="utf-8").startswith("<svg")
    for wrong, says in (
        ((), "usage"),
        (("lense", "1"), "there is no project"),
        (("golf", "1"), "golf has 2"),
        (("golf", "a", "b"), "golf: "),
        (("renderer", "1", "2"), "six belong to each disc"),
        (("lens", "0.2", "0", "0", "-o", str(tmp_path / "no" / "where.svg")), "lens: "),
    ):
        with pytest.raises(SystemExit, match=says):
            projects.main(wrong)


def test_outlines_of_discs_end_at_the_edge_of_their_square():
    """A disc may lie outside of the picture, and is cut off there; it hides no other disc."""
    numbers = [40.0, -3.0, 30.0, 0.5, 0.5, 0.5, *static_figures.FOUND["renderer"][:48]]
    root = ElementTree.fromstring(projects.renderer_picture(numbers).text())
    svg = "{http://www.w3.org/2000/svg}"
    squares = [e for e in root.findall(f"{svg}svg") if e.get("width") == e.get("height") == "192"]
    inside = [circle for square in squares for circle in square.iter(f"{svg}circle")]
    assert len(inside) == len(list(root.iter(f"{svg}circle"))) == 9
    assert {circle.get("class") for circle in inside} == {"line"}


def test_the_gallery_shows_every_project():
    page = (LESSONS / "gallery.md").read_text(encoding="utf-8")
    for name in PROJECTS:
        assert f"(figures/24c_project_{name}.svg)" in page
