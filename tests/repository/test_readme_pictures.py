"""The pictures of README are there, are small, and show what the engine does now."""

import re
from pathlib import Path

import pytest
from minigrad.viz import readme_pictures
from minigrad.viz.picture.marks import colours

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "viz" / "pictures"


def test_readme_shows_the_pictures_and_they_are_small():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    drawn = re.findall(r"!\[[^\]]{20,}\]\(viz/pictures/([^)]+)\)", text)
    pair = r'<picture><source media="\(prefers-color-scheme: dark\)" srcset="viz/pictures/([^"]+)">'
    both = re.findall(pair + r'<img alt="[^"]{20,}" src="viz/pictures/([^"]+)"></picture>', text)
    assert sorted(drawn) == sorted(readme_pictures.DRAWINGS)
    assert sorted(both) == sorted(
        (readme_pictures.dark_name(n), n) for n in readme_pictures.IN_BOTH
    )
    there = [path.name for path in FOLDER.iterdir()]
    assert sorted(there) == sorted([*drawn, *(name for names in both for name in names)])
    for path in FOLDER.iterdir():
        assert path.stat().st_size < readme_pictures.MOST_BYTES, path.name


@pytest.mark.parametrize("name", ["network", "comparison"])
def test_the_drawings_are_those_of_the_present_engine(name, tmp_path):
    drawn = getattr(readme_pictures, name)(tmp_path / f"{name}.svg")
    kept = (FOLDER / f"{name}.svg").read_text(encoding="utf-8")
    assert drawn.read_text(encoding="utf-8") == kept, (
        "draw them again: python -m minigrad.viz.readme_pictures viz/pictures"
    )


@pytest.mark.parametrize("dark", [False, True])
def test_the_film_has_a_frame_for_each_step_on_the_ground_of_its_page(dark):
    image = pytest.importorskip("PIL.Image", reason="reads the film")
    steps = len(readme_pictures.reverse_pass()["steps"])
    for name in readme_pictures.IN_BOTH:
        name = readme_pictures.dark_name(name) if dark else name
        with image.open(FOLDER / name) as picture:
            assert getattr(picture, "n_frames", 1) == (steps + 1 if name.endswith("webp") else 1)
            ground = "#{:02x}{:02x}{:02x}".format(*picture.convert("RGB").getpixel((1, 1)))
            assert ground == colours(dark)["surface"], name
