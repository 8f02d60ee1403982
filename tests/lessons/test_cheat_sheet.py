"""The cheat sheet: each of its lines runs, and what it says comes out does come out."""

import ast
import re
import shlex
import shutil
from pathlib import Path

import pytest
from minigrad.lessons.workshop import MADE_IN

from minigrad import cli

for needed in ("anywidget", "matplotlib", "graphviz"):
    pytest.importorskip(needed, reason='pip install -e ".[viz]"')

ROOT = Path(__file__).resolve().parents[2]
SHEET = (ROOT / "lessons" / "cheat_sheet.md").read_text(encoding="utf-8")
PARTS = {
    part.partition("\n")[0].lstrip("# "): part
    for part in re.split(r"^(?=## )", SHEET, flags=re.MULTILINE)
}
FIRST = next(iter(PARTS))
PYTHON = {
    name: "\n".join(re.findall(r"```python\n(.*?)```", part, re.DOTALL))
    for name, part in PARTS.items()
}
SECTIONS = [name for name, source in PYTHON.items() if source and name != FIRST]
COMMANDS = re.findall(r"^\$ (minigrad .*)$", SHEET, re.MULTILINE)
SAYS = "# → "


def run(source: str, scope: dict) -> list[tuple[str, str, str]]:
    """Runs a block statement by statement; returns (line, what came out, what it says comes out)
    of each line that says so.
    """
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


DEAR = ("Pictures: viz",)
"""Its lines write every kind of picture, page and film."""


@pytest.mark.parametrize(
    "section", [pytest.param(s, marks=pytest.mark.whole) if s in DEAR else s for s in SECTIONS]
)
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
    assert len(SECTIONS) >= 11 and set(DEAR) < set(SECTIONS)
    assert SHEET.count(SAYS) >= 25
    assert SHEET.count("```python") == len(SECTIONS) + 1
    fences = re.findall(r"^```(\w+)$", SHEET, re.MULTILINE)
    assert set(fences) == {"python", "console"}
    assert len(COMMANDS) == SHEET.count("\n$ ")


def test_a_line_that_says_something_else_is_noticed():
    assert run("1 + 1  # → 2\n2 * 3  # → 5\n", {}) == [
        ("1 + 1  # → 2", "2", "2"),
        ("2 * 3  # → 5", "6", "5"),
    ]


def test_no_line_is_too_long_to_print():
    assert [line for line in SHEET.splitlines() if len(line) > 140] == []


@pytest.mark.whole
@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_is_done(command, tmp_path, monkeypatch, capsys):
    """Of those that open a server or build the whole site only the arguments are parsed, which
    must be understood.
    """
    asked = []
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("minigrad.cli.lab.open_lab", lambda folder, rest: asked.append(folder) or 0)
    monkeypatch.setattr(
        "minigrad.lessons.site.build",
        lambda folder, *rest: asked.append(folder) or folder / "index.html",
    )
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
        score, penalty, again, most = (
            (tmp_path / "results" / "grades.csv").read_text().splitlines()[1].split(",")[-4:]
        )
        assert score == again == most != "0.0" and penalty == "0.0"  # all points


# ---------------------------------------------------------------------------------------- all names


def public_names() -> dict[str, set[str]]:
    """The public names of each part of the library, as a program can ask for them."""
    import minigrad as mg
    from minigrad import nn, optim, viz
    from minigrad.autograd import profiler

    fills = {name for name in vars(nn.init) if name.endswith("_") and not name.startswith("_")}
    parts = {
        "nn.functional": nn.functional, "optim": optim, "func": mg.func, "autograd": mg.autograd,
        "autograd.profiler": profiler,
        "linalg": mg.linalg, "fft": mg.fft, "special": mg.special, "masked": mg.masked,
        "signal.windows": mg.signal.windows,
        "graph": mg.graph, "networks": mg.networks, "data": mg.data,
        "training": mg.training, "viz": viz,
    }  # fmt: skip
    return {
        "mg": set(mg.__all__),
        "nn": set(nn.__all__),
        **{name: set(part.__all__) for name, part in parts.items()},
        "optim.lr_scheduler": set(optim.lr_scheduler.__all__),
        "nn.init": fills | {"calculate_gain"},
        "autograd.functional": {"jacobian", "hessian", "vjp", "jvp", "vhp", "hvp"},
        "loaded on first use": {
            *"nn optim opt data training networks graph masked signal bfloat16".split(),
            *mg.on_demand.FUNCTIONS.keys() - mg.on_demand.LISTED,
        },
        "other names of dtypes": {
            "half",
            "float",
            "double",
            "short",
            "int",
            "long",
            "bool",
            "cfloat",
            "cdouble",
        },
    }


def test_all_names_are_listed_and_no_others():
    listed = names_of_the_sheet()
    for part, names in public_names().items():
        assert sorted(names - listed[part]) == [], (
            f"{part}: write them into the cheat sheet, section All names"
        )
        assert sorted(listed[part] - names) == [], f"{part}: the sheet has names that are not there"


def names_of_the_sheet() -> dict[str, set[str]]:
    """The names of the last section, by part: those of mg and of nn stand under several headings
    each.
    """
    section = SHEET.partition("## All names\n")[2]
    found: dict[str, set[str]] = {"mg": set(), "nn": set()}
    for heading, text in re.findall(
        r"^### (.+?)\n(.*?)(?=^### |\Z)", section, re.MULTILINE | re.DOTALL
    ):
        for title, names in re.findall(
            r"^\*\*(.+?)\*\*: (.+?)(?:\n\n|\Z)", text, re.MULTILINE | re.DOTALL
        ):
            words = [name for both in re.findall(r"`(.+?)`", names) for name in both.split("=")[:1]]
            assert len(set(words)) == len(words), f"{title}: a name stands twice"
            part = (
                title
                if title in ("nn.functional", "nn.init")
                else {"mg": "mg", "nn": "nn"}.get(heading, title)
            )
            assert not found.get(part, set()) & set(words), (
                f"{title}: names stand under two headings"
            )
            found.setdefault(part, set()).update(words)
    return found


def test_what_is_called_another_name_for_the_same_is_the_same():
    import minigrad as mg

    pairs = re.findall(r"`(\w+)=(\w+)`", SHEET)
    assert len(pairs) > 20
    assert [
        (one, other) for one, other in pairs if getattr(mg, one) is not getattr(mg, other)
    ] == []


def test_the_pieces_of_the_students_engine_stand_beside_their_lessons():
    rows = re.findall(r"^\| (\d+[bc]?) \| (`.*`) \|$", PARTS["Your own engine"], re.MULTILINE)
    shown = {piece: lesson for lesson, pieces in rows for piece in re.findall(r"`(\w+)`", pieces)}
    assert shown == {
        piece: where.partition(",")[0].removeprefix("lesson ") for piece, where in MADE_IN.items()
    }
