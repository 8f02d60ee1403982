"""The cheat sheet: each of its lines runs, and what it says comes out does come out."""

import ast
import re
import shlex
import shutil
from pathlib import Path

import pytest

from minigrad import cli

for needed in ("anywidget", "matplotlib", "graphviz"):
    pytest.importorskip(needed, reason='pip install -e ".[viz]"')

ROOT = Path(__file__).resolve().parents[2]
SHEET = (ROOT / "lessons" / "cheat_sheet.md").read_text(encoding="utf-8")
PARTS = {part.partition("\n")[0].lstrip("# "): part for part in re.split(r"^(?=## )", SHEET, flags=re.MULTILINE)}
FIRST = next(iter(PARTS))
PYTHON = {name: "\n".join(re.findall(r"```python\n(.*?)```", part, re.DOTALL)) for name, part in PARTS.items()}
SECTIONS = [name for name, source in PYTHON.items() if source and name != FIRST]
COMMANDS = re.findall(r"^\$ (minigrad .*)$", SHEET, re.MULTILINE)
SAYS = "# → "


def run(source: str, scope: dict) -> list[tuple[str, str, str]]:
    """Runs a block statement by statement; returns (line, what came out, what it says comes out) of each line that says so."""
    lines, found = source.splitlines(), []
    for statement in ast.parse(source).body:
        last = lines[statement.end_lineno - 1]
        if isinstance(statement, ast.Expr):
            value = eval(compile(ast.Expression(statement.value), last, "eval"), scope)
            if SAYS in last:
                found.append((last, str(value), last.partition(SAYS)[2].strip()))
        else:
            assert SAYS not in last, f"only an expression has a result: {last}"
            exec(compile(ast.Module([statement], []), last, "exec"), scope)
    return found


@pytest.mark.parametrize("section", SECTIONS)
def test_each_line_of_a_section_runs_and_gives_what_it_says(section, tmp_path, monkeypatch, capsys):
    from minigrad.networks import bprop_getters

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    rules = dict(bprop_getters)
    scope = {"__name__": "cheat_sheet"}
    run(PYTHON[FIRST], scope)
    try:
        for line, came, says in run(PYTHON[section], scope):
            assert came == says, line
    finally:
        bprop_getters.clear()
        bprop_getters.update(rules)


def test_nothing_of_the_sheet_is_left_out():
    assert len(SECTIONS) >= 11
    assert SHEET.count(SAYS) >= 25
    assert SHEET.count("```python") == len(SECTIONS) + 1
    fences = re.findall(r"^```(\w+)$", SHEET, re.MULTILINE)
    assert set(fences) == {"python", "console"}
    assert len(COMMANDS) == SHEET.count("\n$ ")


def test_a_line_that_says_something_else_is_noticed():
    assert run("1 + 1  # → 2\n2 * 3  # → 5\n", {}) == [("1 + 1  # → 2", "2", "2"), ("2 * 3  # → 5", "6", "5")]


def test_no_line_is_too_long_to_print():
    assert [line for line in SHEET.splitlines() if len(line) > 140] == []


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_is_done(command, tmp_path, monkeypatch, capsys):
    """Those that open a server or build the whole site are taken at the door: their arguments must be understood."""
    asked = []
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("minigrad.cli.lab.open_lab", lambda folder, rest: asked.append(folder) or 0)
    monkeypatch.setattr("lessons.site.build", lambda folder, *rest: asked.append(folder) or folder / "index.html")
    (tmp_path / "submitted").mkdir()
    for place in ("lesson.ipynb", "submitted/ada.ipynb"):
        shutil.copy(ROOT / "lessons" / "13_own_operation.ipynb", tmp_path / place)
    assert cli.main(shlex.split(command)[1:]) == 0, capsys.readouterr().err
    words = shlex.split(command)
    if words[1] in ("lab", "site"):
        assert [str(folder) for folder in asked] == [words[2]]
    elif "-o" in words:
        assert (tmp_path / words[words.index("-o") + 1]).stat().st_size > 500
    elif words[1] == "trace":
        assert "evaluation trace" in capsys.readouterr().out
    elif words[1] == "release":
        assert list((tmp_path / words[2]).rglob("*.ipynb"))
    elif words[1:3] == ["grade", "sheet"]:
        assert "ready to grade with" in capsys.readouterr().out
    else:
        assert words[1:3] == ["grade", "run"]
        assert (tmp_path / "results" / "grades.csv").read_text().splitlines()[1].endswith("12.0,0.0,12.0,12.0")  # all points
