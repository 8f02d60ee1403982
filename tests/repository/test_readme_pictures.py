"""The pictures of README are there, are small, and show what the engine does now."""

import re
from pathlib import Path

import pytest
from minigrad.viz import readme_pictures

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "viz" / "pictures"


def test_readme_shows_the_pictures_and_they_are_small():
    named = re.findall(r"!\[[^\]]{20,}\]\((viz/pictures/[^)]+)\)", (ROOT / "README.md").read_text())
    there = [f"viz/pictures/{path.name}" for path in FOLDER.iterdir()]
    assert sorted(named) == sorted(there) and len(there) == 4
    for path in FOLDER.iterdir():
        assert path.stat().st_size < readme_pictures.MOST_BYTES, path.name


@pytest.mark.parametrize("name", ["network", "comparison"])
def test_the_drawings_are_those_of_the_present_engine(name, tmp_path):
    drawn = getattr(readme_pictures, name)(tmp_path / f"{name}.svg")
    kept = (FOLDER / f"{name}.svg").read_text(encoding="utf-8")
    assert drawn.read_text(encoding="utf-8") == kept, (
        "draw them again: python -m minigrad.viz.readme_pictures viz/pictures"
    )


def test_the_film_has_a_frame_for_each_step():
    image = pytest.importorskip("PIL.Image", reason="reads the film")
    steps = len(readme_pictures.reverse_pass()["steps"])
    with image.open(FOLDER / "stepper.webp") as film:
        assert film.n_frames == steps + 1
