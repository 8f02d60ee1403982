"""Long runs of operations on single numbers: which are interpreted, and that the interpreter
computes what the operations do.

As with other kernels its text is Python, which most tests run as that.
"""

import functools
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minigrad as mg
from minigrad import scalar
from minigrad.core.primitive import registry
from minigrad.program import scalar_code, trace
from minigrad.program.generated_kernel import kernels_of
from minigrad.program.numba_kernels import with_kernels
from minigrad.program.row_groups import Sources
from minigrad.program.scalar_code import LANGUAGE, SHORTEST, WORDS, ScalarRun
from tests.helpers.exact_values import assert_same_numbers
from tests.helpers.tables import in_one_test
from tests.program.test_fused import ROUNDED, instruction_for
from tests.program.test_numba_kernels import (
    agree,
    as_python,
    in_python,
    needs_numba,
    own_folder,
    table_of,
)

__all__ = ["in_python", "own_folder"]


def chain(x: Any, links: int = SHORTEST) -> Any:
    for _ in range(links):
        x = x.sin() * 0.9 + 0.1
    return x


def runs(function: Any, *inputs: Any) -> list[int]:
    """How many operations each interpreted run of a program has."""
    fused = with_kernels(trace(function, *inputs))
    return [k.operations for k in kernels_of(fused) if isinstance(k, ScalarRun)]


def test_what_is_interpreted(in_python: None) -> None:
    """Neighbours on one number each, of any shape, from some length on; what has more elements,
    another dtype or a random draw ends a run."""
    x = mg.tensor(0.5, dtype=mg.float64)
    assert runs(chain, x) == [3 * SHORTEST]
    assert runs(functools.partial(chain, links=(SHORTEST - 1) // 3), x) == []
    assert runs(lambda x: chain(chain(x).reshape(1, 1)).sum() * 2, x) == [6 * SHORTEST + 2]
    assert runs(lambda x: chain(chain(x) + mg.rand(())), mg.tensor(0.5)) == [48, 49]
    assert runs(lambda x: chain(chain(x) + x.expand(3).exp().sum()), x) == [48, 49]
    for other in (mg.ones(2), mg.ones((), dtype="float16"), mg.ones((), dtype="complex64")):
        assert runs(chain, other) == []
    assert runs(lambda n: sum([n * k for k in range(2, 30)]), mg.tensor(3)) == []


STEPS = [
    lambda a, b: a + b, lambda a, b: a - b * 0.5, lambda a, b: (a * 0.1).exp(),
    lambda a, b: mg.where(a > b, a, -b), lambda a, b: a.clamp(-1.0, 0.5) * 3,
    lambda a, b: a / (1 + b.abs()), lambda a, b: a.reshape(1).sum() * b, lambda a, b: a.tanh(),
    lambda a, b: mg.maximum(a, b), lambda a, b: a.sigmoid() - b.sin(), lambda a, b: a.relu() + 1,
    lambda a, b: (a.reshape(1, 1) * b).reshape(()), lambda a, b: mg.atan2(a, b),
    lambda a, b: a * mg.ones(3).sum(), lambda a, b: (a.expand(2, 2) * 0.5).sum() * 0.1 + b,
    lambda a, b: (a > b).double() + a.double(), lambda a, b: b.float() * a.float(),
]  # fmt: skip


def random_program(seed: int) -> Any:
    """A function of two numbers: operations of both dtypes, some on arrays, results in between."""
    plan = np.random.default_rng(seed).integers(1 << 20, size=(60, 3)).tolist()

    def function(x: Any, y: Any) -> Any:
        values = [x, y]
        for kind, i, j in plan:
            a, b = (values[-1 - k % min(len(values), 6)] for k in (i, j))
            values.append(STEPS[kind % len(STEPS)](a, b).clamp(-9, 9))
        return [v for k, v in enumerate(values) if k % 17 == 9] + [values[-1]]

    return function


def check_random(seed: int) -> int:
    function = random_program(seed)

    def step(x: Any, y: Any) -> Any:
        results = function(x, y)
        gradients = mg.autograd.grad(sum(r.double() for r in results) + x + y, [x, y])
        return [*results, *gradients]

    x = mg.tensor(0.4, dtype=mg.float64, requires_grad=True)
    y = mg.tensor(-0.7, requires_grad=True)
    program = trace(step, x, y)
    return sum(isinstance(k, ScalarRun) for k in kernels_of(agree(program, x, y)))


@in_one_test
@pytest.mark.parametrize("seed", range(12))
def test_random_programs_compute_the_same(in_python: None, seed: int) -> None:
    assert check_random(seed) > 0


# ------------------------------------------------------------------------------------------- values


def check_table(dtype: str) -> int:
    """Compare rows with operations on awkward numbers; how many operations there are."""
    seen = set()
    for name, operands, params in table_of(dtype):
        given = [getattr(o, "dtype", o) for o in operands]
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = np.asarray(registry[name].forward(np, *operands, **params))
        program, instruction = instruction_for(name, given, expected.dtype, params)
        if scalar_code.scalar_of(program, instruction, LANGUAGE) is None:
            continue
        run = ScalarRun(program, Sources(program), [instruction], {*program.outputs})
        function = run.function(frozenset())
        arrays = [o for o in operands if hasattr(o, "dtype")]
        found = np.empty(expected.shape, expected.dtype)
        for at in np.ndindex(expected.shape):
            function(*(a[at] for a in arrays), found[(*at, None)])
        seen.add(name)
        what = f"{name} {params} of {given}"
        if name in ROUNDED:
            close = {"float32": 6e-7, "float64": 2e-15}[dtype]
            np.testing.assert_allclose(found, expected, close, 1e-44, err_msg=what)
        else:
            assert_same_numbers(found, expected, what, name in ("maximum", "minimum"))
    return len(seen)


@in_one_test
@pytest.mark.parametrize("dtype", ["float32", "float64", "bool"])
def test_each_operation_on_awkward_numbers(in_python: None, dtype: str) -> None:
    """NaN, infinities, both zeros, ties, denormals, the largest numbers."""
    assert check_table(dtype) > (10 if dtype == "bool" else 50)


@needs_numba
def test_the_compiled_interpreter(own_folder: Path) -> None:
    """All words, compiled: the table of operations, and random programs; one compilation."""
    for dtype in ("float32", "float64", "bool"):
        check_table(dtype)
    for seed in range(12, 15):
        check_random(seed)
    assert len([p for p in own_folder.glob("k*.py") if "if word ==" in p.read_text()]) == 1


def test_every_word_is_spelt(in_python: None) -> None:
    """The loop has a line for each word, and knows none besides."""
    loop = as_python(scalar_code.HEAD, scalar_code.interpreter(), "loop")
    assert callable(loop) and scalar_code.interpreter().count("word ==") == len(WORDS)
    used = set()
    for operation in registry.values():
        if isinstance(operation.scalar, str):
            term = scalar.parsed(operation.scalar)
            used |= {*scalar.words(term)}
    assert used <= {*WORDS}


def test_a_chain_with_its_gradient(in_python: None) -> None:
    """One instruction for both passes, and another one for the update with its rate, which each run
    reads again; numbers that are not needed at once share a place; the text shows the rows."""
    results = []
    for options in ({}, {"fuse": True}):
        x = mg.tensor(0.5, dtype=mg.float64, requires_grad=True)
        optimizer = mg.optim.SGD([x], 0.1)

        @mg.compile(**options)
        def step(x: Any = x, optimizer: Any = optimizer) -> Any:
            optimizer.zero_grad()
            y = chain(x, 100)
            y.backward()
            optimizer.step()
            return y

        seen = []
        for k in range(8):
            optimizer.param_groups[0]["lr"] = 0.1 / (k + 1)
            seen += [step().item(), x.item(), x.grad.item()]
        results.append(seen)
    np.testing.assert_allclose(*results, rtol=1e-13)
    (fused,) = step.fused_programs
    (run,) = kernels_of(fused)
    assert len(fused.instructions) == 1 and run.operations > 600
    assert len(run.start) < 0.5 * len(run.code)
    assert "= sin(v[" in fused.source() and "more …" in fused.source()
    assert "if word ==" in fused.source()
