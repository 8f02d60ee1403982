"""Answers that avoid the work of an exercise of the course get no points for it."""

import warnings
from pathlib import Path

import pytest
from minigrad.lessons.grading import cheap_answers, one_submission
from minigrad.lessons.grading.exercise import Case, exercise
from minigrad.lessons.grading.judge import judge
from minigrad.lessons.grading.sheet import load_sheet
from minigrad.lessons.grading.sheet_report import examine

from tests.helpers.small_class import write_sheet

LESSONS = Path(__file__).parents[2] / "lessons"
FORWARD_AD = """from minigrad.autograd import forward_ad as fa
def {name}(f, x, v):
    with fa.dual_level():
        y = f(fa.make_dual(x, v))
        return fa.unpack_dual({what}).tangent"""

AVOIDED = {
    ("06_autograd_tour", "hessian_times"): {
        "the library's Hessian": "hessian_times = lambda f, x, v: mg.func.hessian(f)(x) @ v",
        "a tangent of the gradient": (
            "hessian_times = lambda f, x, v: mg.func.jvp(mg.func.grad(f), (x,), (v,))[1]"
        ),
        "the library's pullback": (
            "hessian_times = lambda f, x, v: mg.func.vjp(mg.func.grad(f), x)[1](v)[0]"
        ),
        "rows of a Jacobian": (
            "hessian_times = lambda f, x, v: mg.func.jacrev(mg.func.grad(f))(x) @ v"
        ),
        "the Hessian, row by row": (
            "def hessian_times(f, x, v):\n"
            "    (s,) = mg.autograd.grad(f(x), x, create_graph=True)\n"
            "    row = lambda i: mg.autograd.grad(s[i], x, retain_graph=True)[0]\n"
            "    return mg.stack([row(i) for i in range(len(s))]) @ v"
        ),
        "differences of gradients": (
            "def hessian_times(f, x, v):\n    g = mg.func.grad(f)\n"
            "    return (g(x + 1e-6 * v) - g(x - 1e-6 * v)) / 2e-6"
        ),
    },
    ("08_jvp_from_vjp", "jvp_from_vjp"): {
        "dual numbers": FORWARD_AD.format(name="jvp_from_vjp", what="y"),
        "the Jacobian, row by row": (
            "def jvp_from_vjp(f, x, u):\n    y = f(x)\n"
            "    row = lambda e: (mg.autograd.grad(e, x, retain_graph=True)[0] * u).sum()\n"
            "    return mg.stack([row(e) for e in y.reshape(-1)]).reshape(y.shape)"
        ),
        "differences": (
            "def jvp_from_vjp(f, x, u):\n    x = x.detach()\n"
            "    return (f(x + 1e-5 * u) - f(x - 1e-5 * u)) / 2e-5"
        ),
        "complex numbers": (
            "def jvp_from_vjp(f, x, u):\n"
            "    z = mg.tensor(x.detach().numpy() + 1e-20j * u.numpy())\n"
            "    return mg.tensor(f(z).numpy().imag / 1e-20)"
        ),
    },
    ("08_jvp_from_vjp", "looks_linear"): {
        "always no": "looks_linear = lambda g, u, w: False",
        "always yes": "looks_linear = lambda g, u, w: True",
    },
    ("12_memory", "most_kept"): {"an echo": "most_kept = lambda n, k: n"},
    ("03_the_algorithm", "topological_order"): {
        "as it is read": "topological_order = lambda output: list(output)"
    },
}  # fmt: skip
MEMORY = {
    "measured again": "import tracemalloc\ndef frugal(stages, x):\n    for s in stages: x = s(x)\n"
    "    tracemalloc.stop(); tracemalloc.start()\n    return x",
    "memory that was kept ready": "import numpy as np\nkept = [np.ones(25_000_000)]\n"
    "def frugal(stages, x):\n    kept.clear()\n    for s in stages: x = s(x)\n    return x",
    "only when it is short": "def frugal(stages, x):\n    if len(x) > 100: return x * 1\n"
    "    for s in stages: x = s(x)\n    return x",
    "two pieces": "def frugal(stages, x): return mg.checkpoint_sequential(stages, 2, x)",
}


def paid(lesson: str, name: str, source: str) -> dict[str, float]:
    """What each group of an exercise pays for an answer in a submission of its own."""
    sheet_path = str(LESSONS / f"{lesson}.ipynb")
    asked = one_submission.sheet_at(sheet_path)[name]
    job = {
        "sheet": sheet_path, "work": "", "least": "process", "warm": True, "wrap": False,
        "together": False,
    }  # fmt: skip
    questions = [(asked, one_submission.cases_for(asked, "01" * 32))]
    cells = [("cell 1", "import minigrad as mg"), ("cell 2", source)]
    outcome = one_submission.run_cells(cells, questions, {}, job, frozenset())
    assert not outcome.cells, outcome.cells
    judged = judge(asked, questions[0][1], outcome.returned[name])
    return {group.name: group.points for group in judged.groups}


@pytest.fixture(scope="module", autouse=True)
def _end_servers():
    yield
    one_submission.close_servers()


@pytest.mark.whole
@pytest.mark.parametrize("which", AVOIDED, ids=lambda which: which[1])
def test_it_gets_nothing(which, shared_servers):
    found = {why: paid(*which, source) for why, source in AVOIDED[which].items()}
    assert not {why: groups for why, groups in found.items() if sum(groups.values())}


@pytest.mark.whole
def test_memory_is_measured_outside_of_the_process(shared_servers):
    """The right chain gets its points, a plain one does not, whatever it does to the measure."""
    right = "def frugal(stages, x): return mg.checkpoint_sequential(stages, 8, x)"
    assert paid("12_memory", "frugal", right)["memory"] == 2
    assert {why: paid("12_memory", "frugal", s)["memory"] for why, s in MEMORY.items()} == (
        dict.fromkeys(MEMORY, 0)
    )


@pytest.mark.whole
@pytest.mark.parametrize("lesson", [path.stem for path in sorted(LESSONS.glob("[0-9b]*.ipynb"))])
def test_no_answer_without_work_is_paid(lesson, smaller_cases):
    """But for predictions, which are one number: whoever guesses it has it. The rule of a transpose
    is a transpose.
    """
    found = {
        e.name: cheap_answers.best(e)
        for e in load_sheet(LESSONS / f"{lesson}.ipynb").exercises
        if not e.is_value and e.name != "pull_t"
    }
    assert not {name: best for name, best in found.items() if best.points}


def test_what_a_drive_puts_into_a_namespace_pays_in_no_other_exercise(tmp_path):
    """The drive of one exercise lends the right pieces to the student's notebook; the drive of the
    next one takes what it finds there.
    """
    (tmp_path / "drives.py").write_text(
        "def lend(answers, call):\n    answers[call].__globals__['lent'] = 7\n    return None\n"
        "def take(answers, call):\n    return answers[call].__globals__.get('lent')\n"
    )

    def made(name: str, drive: str):
        @exercise(name, points={"all": 1}, drive=f"drives:{drive}")
        def cases(rng):
            yield Case("all")

        cases.answer(lambda: 7)
        cases.home = str(tmp_path)
        return cases

    before = set(vars(cheap_answers))
    assert not cheap_answers.best(made("lends", "lend")).points
    assert not cheap_answers.best(made("takes", "take")).points
    assert set(vars(cheap_answers)) == before


def test_a_large_case_is_tried_only_where_small_ones_are_right():
    tried = []

    @exercise("even", points={"all": 1}, small=lambda rng: [Case("all", n=6)])
    def even(rng):
        yield Case("all", n=10**6)

    @even.accept
    def _(case, got):
        tried.append(case.args["n"])
        return got == case.args["n"] if case.args["n"] < 10 else got in (10**6, 2 * 10**6)

    assert cheap_answers.best(even) == cheap_answers.Paid(1, "a copy of argument 1", ("all",))
    assert tried.count(6) > 10 and tried.count(10**6) == 1


def test_a_sheet_says_what_it_pays_for_nothing(tmp_path):
    report = examine(load_sheet(write_sheet(tmp_path)))
    said = str(report)
    assert "without work: 2 of 2 points for the double of argument 1 (all)" in said
    assert "answers without work get 3 of 7 points" in said, "it asks for no more than a double"

    folder = tmp_path / "apart"
    folder.mkdir()
    (folder / "sheet.py").write_text(
        "from minigrad.lessons.grading.kinds import Number\n"
        'slope = Number("slope", "The slope", variable="slope", answer=lambda: 1.0, because="")\n'
        "import numpy as np\n"
        "from minigrad.lessons.grading.exercise import Case, exercise\n"
        '@exercise("middle", points={"all": 1})\n'
        "def middle(rng):\n    yield Case('all', x=np.zeros(0))\n"
        "@middle.answer\n"
        "def _(x):\n    return 7\n"
    )
    with warnings.catch_warnings(record=True, action="always") as warned:
        said = str(examine(load_sheet(folder / "sheet.py")))
    assert not warned, "the mean of nothing"
    assert "slope: worth 1, without a solution to judge" in said
    assert "without work: 1 of 1 points for always 1 (answer)" in said
    assert "answers without work get 1 of 2 points" in said

    @exercise("kept", points={"one": 1, "more": 2})
    def kept(rng):
        yield Case("one", n=4, k=1)
        yield Case("more", n=4, k=2)

    @kept.answer
    def _(n, k):
        return n // k + k - 1

    assert cheap_answers.best(kept) == cheap_answers.Paid(1, "a copy of argument 1", ("one",))
