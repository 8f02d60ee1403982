"""The README tells the truth: its examples print what it says, its paths exist, its commands are
known.
"""

import contextlib
import io
import re
import shlex
import tomllib
from itertools import pairwise
from pathlib import Path

from minigrad import cli, viz

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", README, flags=re.MULTILINE | re.DOTALL)


def test_the_two_commands_stand_near_the_top():
    top = README.splitlines()[:25]
    assert 'pip install -e ".[lab]" && minigrad lab' in top
    assert 'pip install -e ".[test]" && pytest' in top


def test_every_extra_that_is_named_is_declared():
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"][
        "optional-dependencies"
    ]
    named = {
        extra for names in re.findall(r'-e "\.\[([\w,]+)\]"', README) for extra in names.split(",")
    }
    assert named
    assert named <= set(declared)


def test_the_python_examples_print_what_the_text_below_them_says():
    examples = [
        (code, text)
        for (kind, code), (below, text) in pairwise(BLOCKS)
        if (kind, below) == ("python", "text")
    ]
    assert examples
    assert len(examples) == sum(kind == "python" for kind, _ in BLOCKS)
    for code, text in examples:
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            exec(compile(code, "README.md", "exec"), {})
        assert printed.getvalue() == text


def test_the_commands_print_what_the_readme_shows(capsys):
    shown = [code for kind, code in BLOCKS if kind == "console"]
    assert shown
    for block in shown:
        first, _, output = block.partition("\n")
        program, *arguments = shlex.split(first.removeprefix("$ "))
        assert program == "minigrad"
        assert cli.main(arguments) == 0
        assert capsys.readouterr().out == output


def test_a_function_of_ones_own_becomes_a_page_as_the_readme_says(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = "import minigrad as mg\n\ndef f(x, w, b):\n    return mg.sigmoid(x @ w + b).mean()\n"
    Path("mine.py").write_text(text, encoding="utf-8")
    (line,) = re.findall(r"^minigrad trace mine.py:f .*$", README, flags=re.MULTILINE)
    assert cli.main(shlex.split(line)[1:]) == 0
    page = Path("lecture.html")
    assert "x @ w" in page.read_text(encoding="utf-8")
    page.unlink()
    (saved,) = re.findall(r"`(viz\.save\(.*?\))`", README)
    given = {"f": lambda x, w, b: (x @ w + b).sum(), "x": [[1.0, 2.0]], "w": [[3.0], [4.0]]}
    assert eval(saved, {"viz": viz, "b": 0.5, **given}) == page
    assert "x @ w" in page.read_text(encoding="utf-8")


def test_no_link_of_the_readme_leads_to_a_program():
    assert not re.findall(r"\]\([^)]+\.py\)", README)


def test_the_view_that_the_readme_names_is_in_the_menu():
    (title,) = re.findall(r'"([^"]+)" in the View menu', README)
    views = (ROOT / "viz/static/viewer/views").glob("*.js")
    assert any(f'en: "{title}"' in file.read_text(encoding="utf-8") for file in views)


def test_every_path_and_link_leads_somewhere():
    links = [link for link in re.findall(r"\]\(([^)]+)\)", README) if "://" not in link]
    files = re.findall(r"`((?:\w+/)?[\w/]+\.py|\.ci/run)`", README)
    assert links
    missing = [link for link in links if not (ROOT / link).exists()]
    missing += [
        name
        for name in files
        if not (ROOT / name).exists() and not (ROOT / "minigrad" / name).exists()
    ]
    assert not missing


def test_what_readme_names_of_the_viewer_and_of_lesson_2_is_there():
    named = set(re.findall(r"\bviz\.(\w+)\(", README))
    assert {"show", "training_step"} <= named and all(hasattr(viz, name) for name in named)
    lesson, section = re.search(r"\[lesson 2\]\(([^)]+)\), section (\d)", README).groups()
    assert f"## {section} · Reverse mode" in (ROOT / lesson).read_text(encoding="utf-8")


def test_every_command_that_is_named_exists():
    named = set(re.findall(r"(?:`|&& |\$ )minigrad (\w+)", README))
    assert {"lab", "trace"} <= named <= set(cli.COMMANDS)
