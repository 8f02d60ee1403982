"""`forbid=["derivatives"]`: in the library that submissions see nothing differentiates any more,
and everything else works as before.
"""

import importlib.util
import json
import shutil
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from minigrad.lessons.grading import stripped_library
from minigrad.lessons.grading.exercise import DERIVATIVES
from minigrad.lessons.grading.kinds import Backward, Cost, Gradients, Jvp, Unbroadcast, Vjp

import minigrad as mg
from minigrad.core.primitive import registry

SCRIPT = """
import sys, json
sys.path.insert(0, {folder!r})
import minigrad as mg, numpy as np
from minigrad.core.primitive import registry
from untrusted.withheld import Withheld

mg.ops.load()
left = []
for name, operation in registry.items():
    for rule in (*operation.pull_rules, *operation.push_rules):
        # in primitive.py: the JVP of a linear map is the map itself, which tells nothing
        code = rule and rule.function.__code__
        if code and "withheld" not in code.co_names and not code.co_filename.endswith(
                ("primitive.py", "boundary.py", "half_precision.py")):
            left.append(name)
x = np.linspace(0.1, 0.9, 6).reshape(2, 3)
values = {{}}
for name in {names!r}:
    values[name] = float(np.sum(getattr(mg, name)(mg.tensor(x)).numpy()))
t = mg.tensor(x, requires_grad=True)
loss = (mg.nn.Linear(3, 2, dtype=mg.float64)(t) @ t).exp().sum()
raised = []
for attempt in (
    lambda: loss.backward(), lambda: mg.autograd.grad(loss, t),
    lambda: mg.func.vjp(mg.sin, t)[1](t), lambda: mg.func.grad(lambda v: v.sum())(t),
    lambda: mg.func.jvp(mg.sin, (t,), (t,)), lambda: registry["sin"].pull_rules[0].function(x, x),
    lambda: mg.graph.gradients(mg.graph.sin(mg.graph.Variable(name="v")), []),
):
    try:
        attempt()
        raised.append("nothing")
    except Withheld:
        raised.append("Withheld")
print(json.dumps([left, values, raised]))
"""
ELEMENTWISE = [
    "sin",
    "cos",
    "exp",
    "log",
    "tanh",
    "sqrt",
    "abs",
    "square",
    "sigmoid",
    "relu",
    "sum",
    "mean",
]


def compiled(folder):
    """The compiled modules of a copy: the time and size of the source that each was made of, as it
    says itself, and those of the source that is there.
    """
    found = {}
    for path in folder.rglob("*.pyc"):
        source = Path(importlib.util.source_from_cache(str(path)))
        there = source.stat()
        found[source.relative_to(folder).as_posix()] = (
            struct.unpack("<II", path.read_bytes()[8:16]),
            (int(there.st_mtime), there.st_size),
        )
    return found


@pytest.fixture(scope="module")
def seen():
    folder = stripped_library.make((DERIVATIVES,))
    try:
        code = SCRIPT.format(folder=str(folder), names=ELEMENTWISE)
        done = subprocess.run(
            [sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, timeout=120
        )
        assert done.returncode == 0, done.stderr
        texts = [path.read_text() for path in sorted((folder / "minigrad" / "ops").glob("*.py"))]
        yield (*json.loads(done.stdout), texts, compiled(folder))
    finally:
        shutil.rmtree(folder)


def test_no_rule_of_any_operation_is_left(seen):
    assert sorted(set(seen[0])) == []
    assert len(registry) > 100


def test_no_road_to_a_derivative_is_left(seen):
    assert set(seen[2]) == {"Withheld"}, seen[2]


def test_values_are_what_they_were(seen):
    x = np.linspace(0.1, 0.9, 6).reshape(2, 3)
    assert seen[1] == {
        name: pytest.approx(float(np.sum(getattr(mg, name)(mg.tensor(x)).numpy())))
        for name in seen[1]
    }


def test_no_module_is_compiled_from_another_text(seen):
    """The compiled modules of files that are as they were are copied, and no others."""
    assert len(seen[4]) > 200 and "minigrad/ops/reduce.py" in seen[4]
    assert {name for name, (made_of, there) in seen[4].items() if made_of != there} == set()


def test_the_text_of_the_rules_is_gone_too(seen):
    text = "\n".join(seen[3])
    assert "def " in text and "g * cos(" not in text and "-g * sin(" not in text


@pytest.mark.whole
@pytest.mark.parametrize(
    "names",
    [(DERIVATIVES, "minigrad.optim"), (DERIVATIVES, "minigrad.nn"), ("minigrad.func", DERIVATIVES)],
)
def test_whole_packages_may_go_as_well(names):
    shutil.rmtree(stripped_library.make(names))


def test_kinds_that_ask_for_a_derivative_forbid_the_librarys_own():
    made = [
        Vjp("a", mg.sin),
        Jvp("b", mg.sin),
        Backward("c"),
        Cost("d"),
        Gradients("e"),
        Unbroadcast("f"),
    ]
    assert all(DERIVATIVES in exercise.forbid for exercise in made)
    assert Vjp("a", mg.sin, forbid=()).forbid == ()
