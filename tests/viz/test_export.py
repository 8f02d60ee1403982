"""`viz.save`: every format holds what the Trace says, is written whole or not at all, and what
is refused is refused with a cure.
"""

import json
import os
import re
import signal
import subprocess
import sys
import time
import warnings
import xml.etree.ElementTree as ET
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from minigrad.viz import export
from minigrad.viz.export import states, suffix
from minigrad.viz.picture import mathtext
from minigrad.viz.picture.fonts import MissingFontWarning
from minigrad.viz.picture.marks import palette

from minigrad import viz
from minigrad.trace.text import table
from tests.helpers import signals
from tests.helpers.hand_tracer import sin, trace
from tests.helpers.trace_samples import all_samples, chain

ROOT = Path(__file__).resolve().parents[2]
pytest.importorskip("matplotlib", reason='matplotlib is not installed: pip install "minigrad[viz]"')
image = pytest.importorskip(
    "PIL.Image", reason='Pillow is not installed: pip install "minigrad[viz]"'
)


@pytest.fixture(scope="module")
def seed():
    return all_samples()["seed"]


@pytest.fixture(scope="module")
def square():
    """A Trace of few steps."""
    return all_samples()["square"]


def frames(path):
    """All frames of a film as RGB pictures, and their times in ms."""
    out, times = [], []
    with image.open(path) as film:
        for i in range(film.n_frames):
            film.seek(i)
            out.append(film.convert("RGB"))
            times.append(film.info["duration"])
    return out, times


def opened(path):
    with image.open(path) as picture:
        return picture.convert("RGB")


def has_colour(picture, colour, tolerance=6):
    wanted = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)])
    return bool((abs(np.asarray(picture, dtype=np.int16) - wanted) <= tolerance).all(axis=-1).any())


# ------------------------------------------------------------------------------------------ formats


@pytest.mark.parametrize(
    ("name", "begins"),
    [("a.html", b"<!DOCTYPE"), ("a.svg", b"<svg"), ("a.png", b"\x89PNG"), ("a.pdf", b"%PDF"),
        ("a.webp", b"RIFF"), ("a.GIF", b"GIF89a"),
     ("a.txt", b"f(x1, x2)"), ("a.json", b'{"schema"'), ("a.htm", b"<!DOCTYPE")],
)  # fmt: skip
def test_the_ending_is_the_format_and_the_bytes_are_the_same_each_time(
    seed, tmp_path, name, begins
):
    path = viz.save(
        seed,
        tmp_path / name,
        **({"steps": (4, 5)} if name.lower().endswith(("gif", "webp")) else {}),
    )
    first = path.read_bytes()
    assert first.startswith(begins) and os.listdir(tmp_path) == [name]
    viz.save(
        seed,
        tmp_path / name,
        **({"steps": (4, 5)} if name.lower().endswith(("gif", "webp")) else {}),
    )
    assert path.read_bytes() == first
    assert path.stat().st_mode & 0o600 == 0o600


def test_text_and_json_are_those_of_the_trace(seed, tmp_path):
    assert viz.save(seed, tmp_path / "t.txt").read_text(encoding="utf-8") == table(seed)
    assert viz.save(seed, tmp_path / "t.txt", step=3).read_text(encoding="utf-8") == table(seed, 3)
    assert json.loads(
        viz.save(seed, tmp_path / "t.json").read_text(encoding="utf-8")
    ) == json.loads(json.dumps(seed))
    assert (
        "other" in viz.save(seed, tmp_path / "t.txt", title="other").read_text(encoding="utf-8")
        and seed["title"] != "other"
    )


def test_a_film_has_a_frame_for_each_state_and_ends_on_a_pause(square, tmp_path):
    pictures, times = frames(viz.save(square, tmp_path / "f.webp", size="small", fps=2))
    assert len(pictures) == len(square["steps"]) + 1 and {p.size for p in pictures} == {(640, 360)}
    assert set(times[:-1]) == {500} and times[-1] == 1500
    some, _ = frames(viz.save(square, tmp_path / "g.webp", size="small", fps=2, steps=(4, 6)))
    assert len(some) == 3 and all(a.tobytes() != b.tobytes() for a, b in pairwise(some))
    reduced, times = frames(viz.save(square, tmp_path / "g.gif", size="small", steps="4-6", fps=4))
    assert len(reduced) == 3 and reduced[0].size == (640, 360) and times == [250, 250, 750]


@pytest.mark.parametrize("dark", [False, pytest.param(True, marks=pytest.mark.whole)])
def test_a_step_is_painted_in_the_colour_of_its_pass(seed, tmp_path, dark):
    colours = {name: pair[dark] for name, pair in palette().items()}
    for at, step in ((5, "primal"), (6, "tangent"), (20, "adjoint")):
        assert seed["steps"][at - 1]["phase"].replace("accumulate", "adjoint") == step
    for at, key in ((5, "v"), (6, "d"), (20, "g")):
        picture = opened(viz.save(seed, tmp_path / "s.png", step=at, dark=dark, dpi=60))
        assert (
            has_colour(picture, colours[key])
            and has_colour(picture, colours[key + "-tint"], 2)
            and has_colour(picture, colours["surface"], 1)
        )
        others = {"v", "d", "g"} - {key}
        assert not any(has_colour(picture, colours[other + "-tint"], 1) for other in others)


def test_dpi_and_size_are_pixels(seed, square, tmp_path):
    small = opened(viz.save(square, tmp_path / "s.png", dpi=36)).size
    assert opened(viz.save(square, tmp_path / "s.png", dpi=72)).size == pytest.approx(
        (2 * small[0], 2 * small[1]), abs=2
    )
    for size in ("1280x720", (1280, 720), "16:9"):
        assert opened(viz.save(square, tmp_path / "s.png", size=size)).size == (1280, 720)
    with pytest.warns(UserWarning, match="part around step"):
        assert opened(viz.save(seed, tmp_path / "s.png", size=(400, 300))).size == (400, 300)


def test_a_pdf_is_one_frame_or_a_strip_on_paper(square, tmp_path):
    assert len(square["steps"]) == 7
    pages = lambda path: len(re.findall(rb"/Type /Page\b", path.read_bytes()))
    assert pages(viz.save(square, tmp_path / "one.pdf", step=4)) == 1
    assert pages(viz.save(square, tmp_path / "all.pdf", steps="all", per_page=3)) == 3
    assert pages(viz.save(square, tmp_path / "all.pdf", steps=(0, 2), per_page=3)) == 1
    found = viz.save(square, tmp_path / "letter.pdf", steps=(0, 1), paper="letter").read_bytes()
    assert b"612 792" in found


@pytest.mark.whole
def test_every_sample_can_be_drawn(tmp_path):
    """Arrays, NaN, markup, identity, no steps: frames are drawn without a warning. Frames of one
    sample differ by the marks of a step and by what is known, so one amid and the last are drawn.
    """
    from minigrad.viz.export.film import images
    from minigrad.viz.export.frame import Scene

    for name, sample in (all_samples() | {"chain": chain(12)}).items():
        last = len(sample["steps"])
        numbers = (last // 2, last)
        scene = Scene(sample, space=(900, 500))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            sizes = {
                picture.size
                for picture in images(
                    scene, numbers, (600, round(600 * scene.height / scene.width))
                )
            }
        assert len(sizes) == 1, name
    empty = trace(lambda x: x, 1.0, adjoint=False)
    viz.save({**empty, "steps": [], "columns": []}, tmp_path / "empty.png")


def test_the_frames_of_a_film_share_their_axes_and_are_those_that_are_drawn_alone(monkeypatch):
    from matplotlib.figure import Figure
    from minigrad.viz.export.film import images
    from minigrad.viz.export.frame import Scene

    made, add = [], Figure.add_axes
    monkeypatch.setattr(Figure, "add_axes", lambda *args: made.append(1) or add(*args))
    scene = Scene(all_samples()["square"], space=(900, 500))
    pixels, numbers = (600, round(600 * scene.height / scene.width)), [0, 3, 1, 2]
    film = [picture.tobytes() for picture in images(scene, numbers, pixels)]
    assert len(made) == 3 and len(set(film)) == 4
    alone = [next(images(scene, [at], pixels)).tobytes() for at in numbers]
    assert film == alone


def test_names_in_other_scripts_and_with_signs_of_tex_are_drawn(tmp_path):
    document = json.loads(json.dumps(all_samples()["square"]))
    for base in ("变量", "a_b", "$x$", "\\frac", "x^2{", "é", "naïve_ñ", "'\"&#%~`"):
        for node in document["nodes"]:
            node["label"] = {"base": base}
        for step in document["steps"]:
            step["formula"] = [
                {"t": "sym", "base": base, "accent": "dot"},
                {"t": "op", "text": "="},
                {"t": "text", "text": base},
            ]
            step["say"] = f"{base} gets $1$."
        document["title"] = f"f({base}) = $y$"
        with warnings.catch_warnings():
            warnings.simplefilter(
                "ignore", MissingFontWarning
            )  # a bare machine has no Chinese letters
            warnings.filterwarnings("ignore", "Glyph .* missing from font")
            viz.save(document, tmp_path / "x.png", step=1)


def test_a_large_graph_is_followed_not_shrunk(tmp_path):
    from minigrad.viz.export.frame import Scene

    trace = chain(200)
    scene = Scene(
        trace, aspect=16 / 9, space=(1280 / 0.6, 720 / 0.6), steps=range(0, len(trace["steps"]), 50)
    )
    assert scene.follows and scene.view[1] < scene.place["height"] / 2
    for at in range(1, len(scene.trace["steps"]) + 1):
        left, top = scene.corner(at)
        box = scene.place["nodes"][scene.trace["steps"][at - 1]["node"]]
        assert (
            left <= box["x"] <= left + scene.view[0] and top <= box["y"] <= top + scene.view[1]
        ), "the active node is in the picture"


# ------------------------------------------------------------------------------------------ refused


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("a.docx", {}, r"no format '\.docx'; the endings are \.html"),
        ("a", {}, "'a' has no ending|has no ending"),
        ("a.png", {"step": 99}, "states 0 to 23"),
        ("a.png", {"step": -1}, "states 0 to 23"),
        ("a.png", {"steps": (1, 2)}, r"holds one state.*\.webp"),
        ("a.gif", {"step": 3}, "is a film"),
        ("a.pdf", {"step": 1, "steps": "all"}, "give one of them"),
        ("a.gif", {"steps": "3-x"}, "is not a range"),
        ("a.gif", {"steps": (5, 3)}, "is not a range"),
        ("a.gif", {"steps": (5, 30)}, "step 30 does not exist"),
        ("a.gif", {"steps": []}, "no step is chosen"),
        ("a.gif", {"steps": 3.5}, "names no steps"),
        ("a.gif", {"fps": 0}, "fps must be"),
        ("a.png", {"dpi": float("nan")}, "dpi must be"),
        ("a.png", {"dpi": 1e9}, "dpi must be"),
        ("a.png", {"size": "huge"}, "unknown size"),
        ("a.png", {"size": (0, 4)}, "not a width and a height"),
        ("a.png", {"size": (100, 50)}, "no space for a graph"),
        ("a.pdf", {"steps": "all", "per_page": 0}, "1 to 24"),
        ("a.pdf", {"steps": "all", "paper": "a7"}, "unknown paper"),
        ("a.png", {"size": (20_000, 20_000)}, "pixels"),
    ],
)
def test_wrong_use_is_named_and_leaves_nothing(seed, tmp_path, name, options, message):
    with pytest.raises(ValueError, match=message):
        viz.save(seed, tmp_path / name, **options)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("size", ["16:9", "1:1", (600, 900)])
def test_an_svg_has_the_size_that_is_asked_for_and_its_ground_fills_it(seed, tmp_path, size):
    path = viz.save(seed, tmp_path / "a.svg", size=size)
    root = ET.fromstring(path.read_text(encoding="utf-8"))
    pixels = tuple(float(root.get(name)) for name in ("width", "height"))
    assert pixels == {"16:9": (1280, 720), "1:1": (800, 800)}.get(size, size)
    *_, wide, high = map(float, root.get("viewBox").split())
    assert wide / high == pytest.approx(pixels[0] / pixels[1], rel=1e-3)
    ground = next(e for e in root.iter() if e.get("class") == "surface")
    assert [float(ground.get(name)) for name in ("width", "height")] == [wide, high]


def test_what_shows_a_trace_or_a_training_is_saved_like_it(seed, tmp_path):
    page, still = tmp_path / "a.html", tmp_path / "a.svg"
    frame, pair = viz.iframe(seed, step=3, lang="zh"), viz.compare(seed, seed)
    expected = viz.to_html(seed, step=3, lang="zh")
    assert frame.save(page) == page and page.read_text(encoding="utf-8") == expected
    viz.save(frame, page, title="mine")
    assert "<title>mine</title>" in page.read_text(encoding="utf-8")
    viz.save(frame, still, step=5)
    assert still.read_text(encoding="utf-8") == viz.to_svg(seed, 5, lang="zh", dark=False)
    viz.save(pair, page)
    assert page.read_text(encoding="utf-8") == pair.to_html()
    history = viz.History("run")
    history.log(1, loss=0.5)
    expected = viz.training.to_html(history, lang="zh")
    for shown in (history, viz.training.iframe(history), viz.Live(history)):
        assert viz.save(shown, page, lang="zh") == page
        assert page.read_text(encoding="utf-8") == expected
    viz.save(history, tmp_path / "a.json")
    assert viz.History.load(tmp_path / "a.json").to_dict() == history.to_dict()
    viz.save(history, still, dark=True)
    assert "<svg" in still.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("shown", "name", "options", "message"),
    [
        (viz.History(), "a.webp", {}, "names no format of a training; the endings are .html, .png"),
        (viz.History(), "a.html", {"fps": 3}, "fps= has no meaning .* it takes title=, lang="),
        (viz.History(), "a.json", {"dark": True}, "dark= has no meaning for a training as .json"),
        (viz.compare(chain(2), chain(2)), "a.gif", {}, r"as .html, .svg or .png, not as '\.gif'"),
        (np.zeros(3), "a.html", {"size": (9, 9)}, "a Trace is a dict .* ndarray; .*trace_function"),
    ],
)
def test_what_cannot_be_saved_so_is_refused(tmp_path, shown, name, options, message):
    with pytest.raises(ValueError, match=message):
        viz.save(shown, tmp_path / name, **options)
    assert list(tmp_path.iterdir()) == []


def test_what_is_no_trace_and_what_cannot_be_written(seed, tmp_path):
    with pytest.raises(viz.TraceError):
        viz.save({}, tmp_path / "a.png")
    with pytest.raises(FileNotFoundError, match="no such folder"):
        viz.save(seed, tmp_path / "nowhere" / "a.png")
    (tmp_path / "folder.png").mkdir()
    with pytest.raises(IsADirectoryError):
        viz.save(seed, tmp_path / "folder.png")
    assert os.listdir(tmp_path) == ["folder.png"]


def test_too_much_is_refused_with_a_cure(tmp_path, monkeypatch):
    def many(x):
        for _ in range(2_100):
            x = sin(x)
        return x

    large = trace(many, 0.5, adjoint=False)
    with pytest.raises(ValueError, match=r"2,101 nodes .* smaller part"):
        viz.save(large, tmp_path / "a.gif", groups="open")
    monkeypatch.setattr(export, "MOST_FRAMES", 20)
    with pytest.raises(ValueError, match=r'24 frames .*steps="\d+-\d+"'):
        viz.save(all_samples()["seed"], tmp_path / "a.gif")
    monkeypatch.setattr(export, "MOST_PIXELS", 1000)
    with pytest.raises(ValueError, match="Give size="):
        viz.save(all_samples()["seed"], tmp_path / "a.png")
    assert os.listdir(tmp_path) == []


def test_without_matplotlib_the_other_formats_still_work(seed, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(
        ModuleNotFoundError, match=r"minigrad\[viz\].*\.svg, \.html and \.txt need nothing"
    ):
        viz.save(seed, tmp_path / "a.png")
    viz.save(seed, tmp_path / "a.svg")


def test_an_export_that_fails_leaves_the_old_file(seed, tmp_path, monkeypatch):
    path = viz.save(seed, tmp_path / "a.gif", steps=(1, 2))
    old = path.read_bytes()
    drawn = []

    def stop(self, figure, at, within=None):
        drawn.append(at)
        if len(drawn) > 3:
            raise KeyboardInterrupt

    monkeypatch.setattr("minigrad.viz.export.frame.Scene.draw", stop)
    with pytest.raises(KeyboardInterrupt):
        viz.save(seed, path)
    assert path.read_bytes() == old and os.listdir(tmp_path) == ["a.gif"]


@pytest.mark.whole
def test_control_c_in_a_process_leaves_nothing(tmp_path):
    program = (
        "import sys, viz; from tests.helpers.trace_samples import chain\n"
        "print('go', flush=True); viz.save(chain(25), sys.argv[1], size='hd', progress=True)"
    )
    run = subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path / "a.webp")],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        preexec_fn=signals.heed,
    )
    assert run.stdout.readline() == b"go\n"
    deadline = time.monotonic() + 60
    while not os.listdir(tmp_path) and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(0.5)
    assert os.listdir(tmp_path) != [] and "a.webp" not in os.listdir(tmp_path), "it was at work"
    run.send_signal(signal.SIGINT)
    run.wait(60)
    run.stdout.close()
    assert os.listdir(tmp_path) == []


@pytest.mark.whole
def test_no_window_system_is_touched(tmp_path):
    """A user's backend and figures are left alone: no pyplot, whatever the backend."""
    program = (
        "import os, sys; os.environ['MPLBACKEND'] = 'TkAgg'\n"
        "from minigrad import viz; from tests.helpers.trace_samples import all_samples\n"
        "viz.save(all_samples()['square'], sys.argv[1], steps=(1, 2))\n"
        "assert 'matplotlib.pyplot' not in sys.modules and 'tkinter' not in sys.modules"
    )
    run = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "a.gif")],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr


def test_progress_is_told_for_long_exports_only(square, tmp_path, capsys, monkeypatch):
    viz.save(square, tmp_path / "a.gif", steps=(1, 3))
    assert capsys.readouterr().err == ""
    pytest.importorskip("tqdm", reason='tqdm is not installed: pip install "minigrad[viz]"')
    monkeypatch.setattr(export, "MANY", 2)
    viz.save(square, tmp_path / "a.gif", steps=(1, 3), size="small")
    assert "a.gif" in capsys.readouterr().err
    viz.save(square, tmp_path / "a.gif", steps=(1, 3), size="small", progress=False)
    assert capsys.readouterr().err == ""


# -------------------------------------------------------------------------------------- small parts


def test_states_and_endings():
    assert states(None, 3) == states("all", 3) == [0, 1, 2, 3]
    assert (
        states("1-2", 3)
        == states((1, 2), 3)
        == states([1, 2], 3)
        == states(range(1, 3), 3)
        == [1, 2]
    )
    assert states("2", 3) == [2]
    assert suffix("A.HTM") == "html" and suffix("x.text") == "txt"


def test_formulas_keep_their_structure():
    sample = all_samples()["seed"]
    formula = sample["steps"][-1]["formula"]
    parts = mathtext.pieces(formula)
    assert any(r"\dfrac" in piece.tex for piece in parts) and all(
        mathtext.drawable(piece.tex) for piece in parts
    )
    assert {piece.column for piece in parts} >= {"", "g"}
    width = mathtext.width(parts, 19)
    lines = mathtext.lines(parts, 19, width * 0.6)
    assert len(lines) >= 2 and [p for line in lines for p in line] == parts, "broken, not lost"
    assert all(mathtext.width(line, 19) <= width * 0.6 for line in lines)
    nested = [
        {
            "t": "sqrt",
            "of": [
                {
                    "t": "sup",
                    "base": [{"t": "sym", "base": "x"}, {"t": "op", "text": "+"}],
                    "exp": [{"t": "num", "value": 2}],
                }
            ],
        }
    ]
    assert all(mathtext.drawable(piece.tex) for piece in mathtext.pieces(nested))
    assert mathtext.drawable(mathtext.symbol({"base": "weights", "sub": "1", "accent": "bar"}))


def run_script(folder, *lines):
    """The errors that a script of `viz` and `F` prints, and the temporary pages that it leaves."""
    script = folder / "script.py"
    script.write_text("\n".join(["from minigrad import viz, functions as F", *lines]))
    root = os.path.dirname(os.path.dirname(viz.__file__))
    env = {**os.environ, "TMPDIR": str(folder), "PYTHONPATH": root}
    run = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, env=env, cwd=folder
    )
    assert run.returncode == 0, run.stderr
    return run.stderr, list(folder.glob("minigrad-*.html"))


def test_show_in_a_script_says_where_the_page_is(tmp_path):
    told, (page,) = run_script(tmp_path, "viz.show(lambda x: F.sin(x) * x, 2.0)")
    assert str(page) in told and page.read_text(encoding="utf-8").startswith("<!DOCTYPE")


def test_a_script_that_saves_what_it_shows_gets_no_second_page(tmp_path):
    told, pages = run_script(
        tmp_path,
        "viz.save(viz.show(F.sin, 2.0), 'a.html')",
        "viz.compare(F.sin, F.cos, 2.0).save('b.html')",
        "viz.compare(F.sin, F.cos, 2.0).save('c.svg')",
        "shown = viz.show(F.cos, 2.0)",
        "viz.save(shown, 'd.txt')",
    )
    assert (told, pages) == ("", [])
    assert all((tmp_path / name).is_file() for name in ("a.html", "b.html", "c.svg", "d.txt"))


def test_a_script_that_keeps_what_it_shows_gets_its_page_at_the_end(tmp_path):
    told, (page,) = run_script(
        tmp_path, "import sys", "kept = viz.show(F.sin, 2.0)", "print('last line', file=sys.stderr)"
    )
    assert told.startswith("last line\n") and str(page) in told


def test_show_opens_a_browser_only_when_asked(tmp_path, monkeypatch, seed, capsys):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    opened = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    viz.show(seed)
    assert os.listdir(tmp_path) == [] and opened == []
    viz.show(seed, browser=True)
    assert (
        len(opened) == 1
        and opened[0].startswith("file:")
        and len(os.listdir(tmp_path)) == 1
        and capsys.readouterr().err
    )
    viz.compare(seed, seed, browser=True)
    assert len(opened) == len(os.listdir(tmp_path)) == 2
