"""Kernels are compiled beside the plain program: what runs meanwhile, what is said, how to wait."""

import os
import subprocess
import sys
import threading
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minigrad as mg
from minigrad.program import EagerWarning
from minigrad.program.generated_kernel import Generated
from tests.program.test_numba_kernels import in_python, needs_numba, tensor

__all__ = ["in_python"]


@pytest.fixture
def beside(in_python: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MINIGRAD_KERNELS_WAIT")


def function(x: Any) -> Any:
    return ((x * 2 + 1) @ x).exp() * 3


def replays(step: Any, x: Any, times: int) -> None:
    for _ in range(times):
        np.testing.assert_allclose(step(x).numpy(), function(x).numpy(), rtol=1e-6)


def test_the_plain_program_runs_meanwhile(beside: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """For each memory layout; then the kernels run, from the next call on."""
    gate, asked = threading.Event(), []
    compile = lambda self, *_: asked.append(self.name) or gate.wait(60)
    monkeypatch.setattr(Generated, "compile", compile)
    step, x = mg.compile(function, fuse=True), tensor(3, 3)
    with warnings.catch_warnings():
        warnings.simplefilter("error", EagerWarning)
        replays(step, x, 7)
        assert step.reason == "is replayed as it is while its kernels are compiled"
        assert step.statistics == {"eager": 1, "recorded": 2, "replayed": 4}
        gate.set()
        step.wait()
        replays(step, x, 1)
        assert step.reason.startswith("is replayed with kernels for 4 operations")
        assert sorted(asked) == ["fused_exp_mul", "fused_mul_add"]
        step.wait()
        replays(step, x, 3)
    assert step.statistics == {"eager": 1, "recorded": 2, "replayed": 8} and len(asked) == 2


def test_without_waiting_the_kernels_come_by_themselves(
    beside: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Generated, "compile", lambda *_: None)
    step, x = mg.compile(function, fuse=True), tensor(3, 3)
    replays(step, x, 4)
    for thread in threading.enumerate():
        if thread.name == "minigrad kernels":
            thread.join()
    replays(step, x, 2)
    assert "with kernels" in step.reason


def test_where_no_thread_can_be_started(beside: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernels are compiled by the call that needs them; no call is run twice."""

    def refuses(self: Any) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuses)
    step, x = mg.compile(lambda x: (x.add_(1.0) * 2 + 1).exp() @ x, fuse=True), tensor(3, 3)
    before = x.clone()
    for k in range(8):
        step(x)
        np.testing.assert_allclose(x.numpy(), before.numpy() + k + 1, rtol=1e-5, atol=1e-5)
    step.wait()
    assert step.statistics["replayed"] == 5 and "with kernels" in step.reason


def test_a_compiler_that_fails(beside: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """The plain program goes on, and the reason is given once."""

    def fails(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Generated, "compile", fails)
    step, x = mg.compile(function, fuse=True), tensor(3, 3)
    replays(step, x, 4)
    step.wait()
    with pytest.warns(EagerWarning, match="without a fused kernel: OSError.*No space") as seen:
        replays(step, x, 4)
    assert len(seen) == 1 and step.statistics["replayed"] == 5 and step.fused_programs == []


def test_training_goes_on_over_the_change(beside: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Parameters, version counts and gradients are those of the plain step, whatever runs."""
    gate = threading.Event()
    monkeypatch.setattr(Generated, "compile", lambda *_: gate.wait(60))
    results = []
    for options in ({}, {"fuse": True}):
        w = mg.ones(3, 3, requires_grad=True)
        optimizer = mg.optim.Adam([w], 0.1)

        @mg.compile(**options)
        def step(x: Any, w: Any = w, optimizer: Any = optimizer) -> Any:
            optimizer.zero_grad()
            loss = ((x @ w) * 2 + 1).square().mean()
            loss.backward()
            optimizer.step()
            return loss

        seen = []
        for k in range(10):
            loss = step(mg.full((2, 3), 0.1 * k))
            seen += [loss.item(), *w.detach().numpy().ravel(), *w.grad.numpy().ravel(), w._version]
            if k == 6:
                gate.set()
                step.wait()
        results.append(seen)
    np.testing.assert_allclose(*results, rtol=1e-5, atol=1e-6)
    assert "with kernels" in step.reason


SCRIPT = """
import minigrad as mg
from minigrad import nn, optim
from minigrad.nn import functional as F
mg.manual_seed(0)
model = nn.Sequential(nn.Linear(3, 9), nn.ReLU(), nn.Linear(9, 2), nn.Softmax(1))
optimizer = optim.SGD(model.parameters(), 0.1, momentum=0.5)
scale = mg.tensor(2.0, dtype=mg.float64)

@mg.compile(fuse=True)
def step(x):
    optimizer.zero_grad()
    loss = F.mse_loss(model(x), x[:, :2]) * (scale * 2 - 1).float()
    loss.backward()
    optimizer.step()
    return loss

x = mg.ones(20, 3)
for _ in range(5):
    before = step(x)
if WAIT:
    step.wait()
    after = step(x)
    assert "with kernels" in step.reason and abs(after - before).item() < 0.01
    ((variant,),) = step._variants.values()
    lowered = variant.special.latest()
    made = [lowered.names[name].signatures for name, *_ in lowered.kernels]
    assert made and all(len(signatures) == 1 for signatures in made), made
"""


@needs_numba
@pytest.mark.parametrize("wait", [False, True])
def test_compiled_by_numba_in_a_process_of_its_own(tmp_path: Path, wait: bool) -> None:
    """Also one that ends before the kernels are compiled; they are compiled for what they get."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT.replace("WAIT", str(wait))],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "MINIGRAD_KERNELS": str(tmp_path), "MINIGRAD_KERNELS_WAIT": "0"},
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
