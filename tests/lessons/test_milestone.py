"""The milestone of the course: the engine that a student built from lesson 3 on trains lesson 11's
network, is seen in the viewer, graded.

The solutions of lessons 3, 5, 9 and 11 stand for one student, `OTHER` for one who writes everything
in another way.
"""

import importlib
import json
import re
from pathlib import Path

import numpy as np
import pytest
from minigrad.lessons import workshop
from minigrad.lessons.edition import student_edition
from minigrad.lessons.exercises.lesson11 import OWN_STEP, network, reference
from minigrad.lessons.grading import check, one_submission, run, sandbox
from minigrad.lessons.grading.exercise import Exercise
from minigrad.lessons.workshop import FILE, MADE_IN, MILESTONE, mine, recorded, unpack

from minigrad.trace import first_divergence

pytestmark = pytest.mark.usefixtures("smaller_cases", "cases_drawn_once")
LESSONS = Path(__file__).resolve().parents[2] / "lessons"
LEAST = "confined" if {"landlock", "seccomp"} <= set(sandbox.probe()["obtained"]) else "process"
SMALL = "EPOCHS, SEEDS, POINTS = 12, 2, 60"

OTHER = {
    "topological_order": '''
def topological_order(output):
    seen, order, stack = {id(output)}, [], [(output, iter(output.parents))]
    while stack:
        node, todo = stack[-1]
        parent = next(todo, None)
        if parent is None:
            order.append(node)
            stack.pop()
        elif id(parent) not in seen:
            seen.add(id(parent))
            stack.append((parent, iter(parent.parents)))
    return order
''',
    "gradients": '''
def gradients(order, wanted):
    grad = {id(order[-1]): 1.0}
    for node in order[::-1]:
        if id(node) in grad and node.pull is not None:
            for parent, part in zip(node.parents, node.pull(grad[id(node)])):
                grad[id(parent)] = grad[id(parent)] + part if id(parent) in grad else part
    return [grad.get(id(node), 0.0) for node in wanted]
''',
    "pull_exp": "def pull_exp(x, g):\n    e = np.exp(x)\n    return e * g",
    "pull_t": "def pull_t(x, g):\n    return np.transpose(g)",
    "pull_sum": '''
def pull_sum(x, axis, g):
    if axis is None:
        return np.full(x.shape, g)
    return np.repeat(np.expand_dims(g, axis), x.shape[axis], axis)
''',
    "unbroadcast": '''
def unbroadcast(g, shape):
    while g.ndim > len(shape):
        g = g.sum(axis=0)
    for i in range(len(shape)):
        if shape[i] == 1 and g.shape[i] > 1:
            g = g.sum(axis=i, keepdims=True)
    return g
''',
    "pull_matmul": (
        "def pull_matmul(a, b, g):\n    da = g @ b.T\n    db = a.T @ g\n"
        "    return da, db"
    ),
    "sgd": (
        "def sgd(parameter, gradient, state):\n    step = 0.05 * gradient\n"
        "    return parameter - step"
    ),
    "pull_relu": "def pull_relu(x, g):\n    return np.where(x > 0, g, 0.0)",
    "pull_cross_entropy": '''
def pull_cross_entropy(scores, target, g):
    e = np.exp(scores - np.max(scores, axis=1, keepdims=True))
    return (e / np.sum(e, axis=1, keepdims=True) - target) * g / scores.shape[0]
''',
    "adam": '''
def adam(parameter, gradient, state):
    if not state:
        state.update(t=0, m=0 * parameter, v=0 * parameter)
    state["t"] += 1
    state["m"] = 0.9 * state["m"] + 0.1 * gradient
    state["v"] = 0.999 * state["v"] + 0.001 * gradient**2
    m, v = state["m"] / (1 - 0.9 ** state["t"]), state["v"] / (1 - 0.999 ** state["t"])
    return parameter - 0.01 * m / (np.sqrt(v) + 1e-8)
''',
    "own_step": '''
def loss_and_gradients(values, x, target):
    nodes = []
    for v in values:
        nodes.append(Tensor(v))
    loss = cross_entropy(scores_of(Tensor(x), nodes), target)
    return loss.value, gradients(topological_order(loss), nodes)


def own_step(values, states, x, target):
    loss, found = loss_and_gradients(values, x, target)
    new = []
    for i in range(len(values)):
        new.append(adam(values[i], found[i], states[i]))
    return new, loss
''',
}  # fmt: skip


def notebook(name: str) -> dict:
    return json.loads(next(LESSONS.glob(f"{name}_*.ipynb")).read_text(encoding="utf-8"))


def engine_of(lessons: dict[str, str]) -> str:
    """All pieces of an engine as one text: the solutions, but for those that are given."""
    cells = [c for name in ("03", "05", "09", "11") for c in notebook(name)["cells"]]
    wanted = [*MILESTONE, "tensor", "operations"]
    sources = {
        c["id"]: lessons.get(c["id"], "".join(c["source"])) for c in cells if c["id"] in wanted
    }
    return "import numpy as np\n" + "\n\n".join(sources[name] for name in wanted if name in sources)


@pytest.fixture(
    params=[
        pytest.param({}, id="the solutions"),
        pytest.param(OTHER, id="another student", marks=pytest.mark.whole),
    ]
)
def engine(request) -> dict:
    """The names that a student's lesson 11 defines: the engine, the network, and the answers to
    the last exercise.
    """
    cells = {c["id"]: "".join(c["source"]) for c in notebook("11")["cells"]}
    scope: dict = {"np": np}
    for source in (
        engine_of(request.param),
        cells["own-network"],
        request.param.get("own_step", cells["own_step"]),
    ):
        exec(compile(source, "<cell>", "exec"), scope)
    return scope


# ---------------------------------------------------------------------------- from lesson to lesson


@pytest.mark.parametrize(
    "answers",
    [
        pytest.param({}, id="the solutions"),
        pytest.param(OTHER, id="another student", marks=pytest.mark.whole),
    ],
)
def test_what_a_student_keeps_from_lesson_3_on_trains_the_network_of_lesson_11(
    answers, tmp_path, monkeypatch, capsys
):
    from tests.lessons.test_workshop import run_lesson

    plt = pytest.importorskip("matplotlib.pyplot", reason='pip install -e ".[viz]"')
    plt.switch_backend("agg")
    monkeypatch.chdir(tmp_path)
    for number in ("03", "05", "09"):
        run_lesson(number, **answers)
    scope = run_lesson("11", **answers, **{"budget": SMALL, "my-engine": Path(FILE).read_text})
    plt.close("all")
    assert mine().complete
    for piece in ("topological_order", "gradients", "pull_cross_entropy", "adam"):
        assert answers.get(piece, "").strip() in Path(FILE).read_text()
    assert check("own_step", scope["loss_and_gradients"], scope["own_step"]).points == 5
    assert scope["own_losses"] == pytest.approx(scope["losses"], rel=1e-5)
    assert len(scope["own_losses"]) == 12
    assert scope["after"] == scope["losses"]  # the interrupted run, to the last bit
    assert "agree in every value" in repr(scope["look"]())
    printed = capsys.readouterr().out
    assert "On points that it has never seen" in printed
    assert not re.search("Not yet|come back|not written", printed)


def test_every_piece_is_made_where_it_is_said_to_be():
    for piece, where in MADE_IN.items():
        lesson, kind, number = re.fullmatch(
            r"lesson (\d+[bc]?), (exercise|section) (\d+)", where
        ).groups()
        heading = ""
        for cell in notebook(lesson.zfill(2 + lesson.endswith("b")))["cells"]:
            source = "".join(cell["source"])
            if cell["cell_type"] == "markdown":
                found = re.findall(
                    r"^### Exercise (\d+)" if kind == "exercise" else r"^## (\d+)",
                    source,
                    re.MULTILINE,
                )
                heading = found[-1] if found else heading
            elif re.search(rf"^(def|class) {piece}\b", source, re.MULTILINE):
                assert heading == number, f"{piece} is made in {kind} {heading} of lesson {lesson}"
                break
        else:
            pytest.fail(f"{piece} is not made in lesson {lesson}")


# ------------------------------------------------------------------------------ the graded exercise


def test_a_right_engine_gets_all_points_and_its_trace_is_minigrads(engine):
    assert (
        check("own_step", engine["loss_and_gradients"], engine["own_step"]).points
        == OWN_STEP.max_points
        == 5
    )
    x, target = np.random.default_rng(0).uniform(-1, 1, (4, 2)), np.eye(2)[[0, 1, 1, 0]]
    values = [p.detach().numpy().astype(float) for p in network().parameters()]
    nodes = [engine["Tensor"](v) for v in values]
    loss = engine["cross_entropy"](engine["scores_of"](engine["Tensor"](x), nodes), target)
    run_engine = lambda: engine["gradients"](engine["topological_order"](loss), nodes)
    names = dict(zip(("W1", "b1", "W2", "b2", "W3", "b3", "W4", "b4"), nodes, strict=True))
    trace = recorded(loss, nodes, run_engine, names=names)
    assert first_divergence(reference(values, x, target), trace) is None


BROKEN = {
    "a product with a factor": ("pull_matmul", lambda a, b, g: (2 * g @ b.T, a.T @ g), "v4"),
    "a transpose that is not turned back": ("pull_t", lambda x, g: g, "W2"),
    "a relu that passes the wrong half": ("pull_relu", lambda x, g: g * (x < 0), "v3"),
    "a bias that is averaged": (
        "unbroadcast",
        lambda g, shape: g.mean(0) if g.ndim > len(shape) else g,
        "b2",
    ),
    "a loss without the mean": ("pull_cross_entropy", None, "v7"),
}


def test_a_check_draws_no_cases_but_those_that_it_tries(engine, monkeypatch):
    """Whether others would be drawn the next time is found out once."""
    answers = engine["loss_and_gradients"], engine["own_step"]
    check("own_step", *answers)
    drawn, cases = [], Exercise.cases

    def noted(exercise, *more, **options):
        drawn.append(exercise.name)
        return cases(exercise, *more, **options)

    monkeypatch.setattr(Exercise, "cases", noted)
    assert check("own_step", *answers).passed
    assert drawn == ["own_step"]


def two_of(table):
    """What every run tries; the rest belongs to the whole suite."""
    return [
        pytest.param(name, marks=[pytest.mark.whole] if number > 1 else [])
        for number, name in enumerate(table)
    ]


@pytest.mark.parametrize("name", two_of(BROKEN))
def test_a_broken_rule_loses_points_and_is_placed_in_the_students_own_trace(engine, name):
    piece, wrong, node = BROKEN[name]
    sound = engine[piece]
    engine[piece] = wrong or (lambda scores, target, g: len(scores) * sound(scores, target, g))
    feedback = check("own_step", engine["loss_and_gradients"], engine["own_step"])
    assert feedback.points <= 2
    assert feedback.trace is not None
    assert f"In a network 2-3-2 by your engine the first wrong node is {node}" in str(feedback)


def test_without_an_engine_the_check_says_what_is_missing(engine):
    del engine["Tensor"]
    feedback = check("own_step", engine["loss_and_gradients"], engine["own_step"])
    assert feedback.points == 0
    assert "'Tensor' is not defined" in str(feedback)
    assert "unpack()" in feedback.hints[0]


@pytest.mark.parametrize("answers", [(), (None, None), (..., ...), (3, 3)])
def test_what_is_no_function_gets_no_points(answers):
    feedback = check("own_step", *answers)
    assert not feedback.points
    assert "check itself failed" not in str(feedback)


@pytest.mark.whole
def test_a_hand_in_is_graded_with_the_engine_in_it_and_not_without(tmp_path):
    sheet = notebook("11")
    next(c for c in sheet["cells"] if c["id"] == "budget")["source"] = [SMALL]
    folder = tmp_path / "sheet"
    folder.mkdir()
    (folder / "11_training.ipynb").write_text(json.dumps(sheet))
    for student, has_engine in (("ada", True), ("bob", False)):
        hand_in = student_edition(sheet)
        for cell in hand_in["cells"]:
            if cell["id"] in OTHER and cell["cell_type"] == "code":
                cell["source"] = [OTHER[cell["id"]]]
            if cell["id"] == "my-engine" and has_engine:
                cell["source"] = [engine_of(OTHER)]
        (tmp_path / "submitted" / student).mkdir(parents=True)
        (tmp_path / "submitted" / student / "11_training.ipynb").write_text(json.dumps(hand_in))
    try:
        report = run.grade(
            folder / "11_training.ipynb",
            tmp_path / "submitted",
            tmp_path / "out",
            run.Options(least=LEAST, jobs=1),
        )
    finally:
        one_submission.close_servers()
    points = {r.student: {j.exercise: j.points for j in r.judgements} for r in report.results}
    assert points["ada"]["own_step"] == 5
    assert points["bob"]["own_step"] == 0
    assert points["ada"]["adam"] == points["bob"]["adam"] == 4


# ------------------------------------------------------------------------------------------- unpack


class Shell:
    """A notebook's kernel, as far as `unpack` knows it."""

    def __init__(self, cell: str) -> None:
        self.user_ns, self.filled = {"In": ["", cell]}, None

    def set_next_input(self, text: str, replace: bool = False) -> None:
        assert replace
        self.filled = text


@pytest.fixture
def kernel(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    ipython = importlib.import_module("types").ModuleType("IPython")

    def set_up(cell: str) -> Shell:
        shell = Shell(cell)
        ipython.get_ipython = lambda: shell
        monkeypatch.setitem(workshop.sys.modules, "IPython", ipython)
        return shell

    return set_up


def test_unpack_fills_its_cell_with_the_file(kernel):
    Path(FILE).write_text("def a():\n    return 1\n")
    shell = kernel("unpack()  # a comment\n")
    assert "run the cell once more" in repr(unpack("a"))
    assert shell.filled == "def a():\n    return 1"


@pytest.mark.parametrize("cell", ["unpack()\nx = 1", "x = unpack()", "unpack(", ""])
def test_unpack_overwrites_nothing_that_was_written(kernel, cell):
    Path(FILE).write_text("def a():\n    return 1\n")
    shell = kernel(cell)
    assert "stays as it is" in repr(unpack("a"))
    assert shell.filled is None


def test_unpack_says_what_is_missing_and_leaves_the_cell(kernel):
    shell = kernel("unpack()")
    assert "There is no my_engine.py" in repr(unpack())
    Path(FILE).write_text("def adam(p, g, state):\n    return p\n")
    said = repr(unpack())
    assert "gradients is made in lesson 3, exercise 2" in said
    assert "adam" not in said
    assert said.endswith("stays as it is until then.")
    assert shell.filled is None
    Path(FILE).write_text("def (\n")
    assert "SyntaxError" in repr(unpack())


def test_unpack_outside_of_a_notebook_says_so(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(workshop.sys.modules, "IPython", raising=False)
    Path(FILE).write_text("def a():\n    return 1\n")
    assert "meant for a notebook" in repr(unpack("a"))
