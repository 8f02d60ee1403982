"""Programs as CUDA graphs, on a stand-in that records and replays: nothing is frozen, nothing is
overwritten, refusals say why.
"""

from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest

import minigrad as mg
from minigrad import nn, optim
from minigrad.core.primitive import registry
from minigrad.errors import InPlaceError, ProgramError
from minigrad.nn import functional as F
from minigrad.program import EagerWarning, trace
from minigrad.program.capture import AT_MOST, CapturedProgram, CaptureError
from tests.helpers.exact_values import bits, within_ulps
from tests.helpers.fake_cuda import Graph, Stream, cuda, log
from tests.helpers.fake_device import Tape, synchronised, uploaded
from tests.helpers.op_cases import CASES, Case
from tests.helpers.tables import in_one_test

__all__ = ["cuda"]
RNG = np.random.default_rng(0)
X, LABELS = RNG.standard_normal((16, 3)).astype("float32"), RNG.integers(0, 2, 16)


def there(array: Any) -> Any:
    return mg.tensor(array).to("cuda")


OPTIMISERS = {
    "SGD": lambda p: optim.SGD(p, lr=0.1, momentum=0.9),
    "Adam": lambda p: optim.Adam(p, lr=0.01),
    "AdamW": lambda p: optim.AdamW(p, lr=0.01),
    "RMSprop": lambda p: optim.RMSprop(p, lr=0.01, centered=True, momentum=0.5),
    "Adagrad": lambda p: optim.Adagrad(p, lr=0.1, lr_decay=0.1),
}


def network(make: Any, dtype: str = "float32") -> Any:
    mg.manual_seed(1)
    model = (
        nn.Sequential(nn.Linear(3, 5), nn.Tanh(), nn.BatchNorm1d(5), nn.Linear(5, 2))
        .to("cuda")
        .to(dtype)
    )
    optimizer = make(model.parameters())

    def step(x: Any, labels: Any) -> Any:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), labels)
        loss.backward()
        optimizer.step()
        return loss

    return model, optimizer, step


def left_behind(model: Any, optimizer: Any) -> Any:
    return bits(
        [
            dict(model.state_dict()),
            [p.grad for p in model.parameters()],
            list(optimizer.state.values()),
        ]
    )


def runner(step: Any) -> Any:
    """What replays the one program of a compiled step."""
    ((variant,),) = step._variants.values()
    return variant.runner


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", OPTIMISERS)
def test_a_training_step_is_one_graph(cuda: Any, name: str, dtype: str) -> None:
    """The numbers of eager steps, with a rate on a schedule and one set by hand; each launch needs
    one copy from the host: its numbers.
    """
    runs = []
    for compiled in (False, True):
        model, optimizer, step = network(OPTIMISERS[name], dtype)
        step = mg.compile(step, capture=True) if compiled else step
        schedule = optim.lr_scheduler.StepLR(optimizer, 2, 0.5)
        x, labels, seen = there(X.astype(dtype)), there(LABELS), []
        for i in range(8):
            if i == 6:
                optimizer.param_groups[0]["lr"] = 0.3
            uploaded.clear()
            log.clear()
            loss = step(x if i % 2 else x * 2, labels)
            if compiled and i > 3:
                assert (
                    [kind for kind, *_ in log] == ["wait", "launch"]
                    and len(uploaded) == 1
                    and step.reason is None
                )
            seen.append([bits(loss), left_behind(model, optimizer)])
            schedule.step()
        runs.append(seen)
    assert within_ulps(*runs, most=4096)  # a rate over a small root enlarges the last place
    assert synchronised == []
    assert step.statistics == {"eager": 1, "recorded": 2, "replayed": 5}
    assert isinstance(runner(step), CapturedProgram) and runner(step).recordings == 1
    numbers = sum(kind.number for kind in step.programs[0].types)
    assert uploaded == [(numbers,)] and numbers >= len(list(model.parameters()))


def test_results_are_fresh(cuda: Any) -> None:
    """No launch overwrites what a caller holds, nor the caller's inputs; views and inputs among
    the results are copies too.
    """
    w = there(np.ones(3, "float32")).requires_grad_()
    program = trace(lambda x: (x * w, x[1:], x, w.detach()), there(X))
    captured = program.capture()
    held = []
    for k in range(3):
        x = there(X + k)
        results = captured(x)
        held.append((results, bits(list(results))))
        assert bits(list(results)) == bits(list(program(x))) and bits(x) == bits(X + k)
        assert not any(
            np.shares_memory(r.array._memory, m._memory)
            for r in results
            for m in (x.array, w.array, *captured.inputs)
        )
    assert all(bits(list(results)) == before for results, before in held)
    assert captured.recordings == 1


def test_what_is_read_before_it_is_overwritten(cuda: Any) -> None:
    """The graph writes parameters in place; results that look into them show what they held when
    they were read.
    """
    w = there(np.arange(4, dtype="float32")).requires_grad_()

    def step(x: Any) -> Any:
        old = w.detach()[1:] * 1
        with mg.no_grad():
            w.sub_(x)
            w[:2].mul_(2)
        return old, (w * w).sum()

    values = []
    for run in (step, trace(step, there(np.ones(4, "float32"))).capture()):
        w.data = there(np.arange(4, dtype="float32"))
        values.append(
            [[*bits(list(run(there(np.full(4, k, "float32"))))), bits(w)] for k in (1.0, 2.0, 3.0)]
        )
    assert values[0] == values[1]


@pytest.mark.parametrize(
    ("shape", "seen"),
    [((2, 2), lambda c: c), ((4,), lambda c: c.reshape(4))],
    ids=["itself", "a window"],
)
def test_gradients_that_are_a_captured_array(cuda: Any, shape: Any, seen: Any) -> None:
    """A seed becomes the gradient as it is and is overwritten in the same step: `.grad` keeps
    what it was.
    """
    w, c = (
        there(np.ones(shape, "float32")).requires_grad_(),
        there(np.arange(4, dtype="float32").reshape(2, 2)),
    )

    def step() -> None:
        w.grad = None
        (w + 1.0).backward(seen(c))
        with mg.no_grad():
            c.mul_(2.0)

    compiled = mg.compile(step, capture=True)
    for _ in range(6):
        before = c.array._memory.copy()
        compiled()
        assert np.array_equal(w.grad.array._memory, seen(before)) and np.array_equal(
            c.array._memory, 2 * before
        )
    assert compiled.reason is None and compiled.statistics["replayed"] == 3


def test_writing_is_counted(cuda: Any) -> None:
    """A backward pass that needs what a launch has overwritten says so."""
    w = there(np.ones(3, "float32")).requires_grad_()

    def step() -> None:
        with mg.no_grad():
            w.mul_(2)

    captured = trace(step).capture()
    y = (w * w).sum()
    captured()
    with pytest.raises(InPlaceError):
        y.backward()


def test_gradients_are_accumulated_in_their_memory(cuda: Any) -> None:
    """A step that adds to gradients does so in their memory."""
    runs = []
    for compiled in (False, True):
        w = there(np.ones(3, "float32")).requires_grad_()
        step = lambda x, w=w: (w * x * w).sum().backward()
        step = mg.compile(step, capture=True) if compiled else step
        seen = []
        for k in range(6):
            step(there(X[k]))
            seen.append(bits(w.grad))
        runs.append(seen)
    assert runs[0] == runs[1] and step.statistics["replayed"] >= 2 and step.reason is None


def test_moved_memory_is_captured_again(cuda: Any) -> None:
    """`p.data = …` and a loaded state are other memory. Who moves in each call is told, and gets
    replays without a graph.
    """
    runs = []
    for compiled in (False, True):
        model, optimizer, step = network(OPTIMISERS["Adam"])
        step = mg.compile(step, capture=True) if compiled else step
        seen = []
        for i in range(7):
            if i == 5:
                model[0].weight.data = model[0].weight.data * 0.5
            if i == 6:
                optimizer.load_state_dict(optimizer.state_dict())
            seen.append((bits(step(there(X), there(LABELS))), left_behind(model, optimizer)))
        runs.append(seen)
    assert runs[0] == runs[1]
    assert runner(step).recordings == 3 and step.reason is None
    with pytest.warns(
        EagerWarning,
        match=(
            r"is replayed as it is, without a graph: capture: parameters, .* in other memory in"
            r" each call"
        ),
    ):
        for _ in range(AT_MOST):
            model[0].weight.data = model[0].weight.data * 0.5
            step(there(X), there(LABELS))
    assert "Overwrite them in place" in step.reason and not isinstance(
        runner(step), CapturedProgram
    )


def test_another_shape_is_another_graph(cuda: Any) -> None:
    step = mg.compile(network(OPTIMISERS["SGD"])[2], capture=True)
    for rows in (16, 16, 16, 16, 8, 8, 8, 8, 16, 8):
        step(there(X[:rows]), there(LABELS[:rows]))
    launched = {id(graph) for kind, graph, *_ in log if kind == "launch"}
    assert step.statistics == {"eager": 2, "recorded": 4, "replayed": 4} and len(launched) == 2
    captured = trace(lambda x: x * 2, there(X)).capture()
    with pytest.raises(ProgramError, match=r"float32 \(8, 3\).*recorded for float32 \(16, 3\)"):
        captured(there(X[:8]))
    with pytest.raises(ProgramError, match="is on cpu, and the graph on cuda:0"):
        captured(mg.tensor(X))


def test_streams_wait_for_each_other(cuda: Any) -> None:
    """A launch on another stream waits until the launch before it, and the copies out of the
    graph's memory, have ended.
    """
    captured = trace(lambda x: x * 2, there(X)).capture()
    captured(there(X))
    first, other = Stream.current[-1], Stream(non_blocking=True)
    log.clear()
    with other:
        captured(there(X))
    captured(there(X))
    assert [(kind, log_of) for kind, log_of, *_ in log if kind == "wait"] == [
        ("wait", other),
        ("wait", first),
    ]
    assert [rest[-1] for kind, *rest in log if kind == "wait"] == [first, other]
    assert [rest[-1] for kind, *rest in log if kind == "launch"] == [other, first]


REFUSED = {
    "a draw": (lambda x: F.dropout(x, 0.5), "dropout_mask draws random numbers"),
    "a mask": (lambda x: x[x > 0], "the shape of what getitem gives depends on values"),
    "a move": (
        lambda x: x.to("cpu").to("cuda"),
        "one CUDA device; this program's are on cpu, cuda:0",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_no_graph_can_do_again(cuda: Any, name: str) -> None:
    """A program is refused; a compiled function is replayed without a graph (or, where shapes
    depend on values, not at all), and says so.
    """
    function, say = REFUSED[name]
    with pytest.raises((CaptureError, mg.errors.DeviceError), match=say):
        trace(function, there(X)).capture()
    step = mg.compile(function, capture=True)
    shaped = name == "a mask"
    how = "runs as itself: " if shaped else "is replayed as it is, without a graph: capture: .*"
    with pytest.warns(EagerWarning, match=how + say):
        results = [step(there(X)) for _ in range(5)]
    assert step.statistics["replayed"] == (0 if shaped else 2)
    assert say in step.reason and len(results) == 5


def test_what_the_driver_refuses(cuda: Any, monkeypatch: Any) -> None:
    """Nothing has happened when a recording fails: the function is replayed without a graph,
    from where it was.
    """
    end = Stream.end_capture

    def fail(stream: Any) -> Graph:
        end(stream)
        raise RuntimeError("cudaErrorStreamCaptureInvalidated")

    runs = []
    for compiled in (False, True):
        model, optimizer, step = network(OPTIMISERS["Adam"])
        if compiled:
            step = mg.compile(step, capture=True)
            monkeypatch.setattr(Stream, "end_capture", fail)
        with (
            pytest.warns(EagerWarning, match="without a graph: capture: RuntimeError")
            if compiled
            else nullcontext()
        ):
            runs.append(
                [
                    (bits(step(there(X), there(LABELS))), left_behind(model, optimizer))
                    for _ in range(5)
                ]
            )
    assert runs[0] == runs[1]
    assert (
        "RuntimeError: cudaErrorStreamCaptureInvalidated. A graph cannot hold" in step.reason
        and step.statistics["replayed"] == 2
    )


def test_an_operation_that_waits_for_the_device(cuda: Any, monkeypatch: Any) -> None:
    """What asks for a value while the graph is recorded ends the recording, and leaves no stream
    behind that still records.
    """
    primitive = registry["tanh"]
    program = trace(lambda x: (x * 2).tanh(), there(X))
    monkeypatch.setattr(primitive, "forward", lambda xp, x: x * float(x.sum()))
    with pytest.raises(
        CaptureError,
        match=(
            r"operation not permitted when stream is capturing \(float\)\. A graph cannot hold what"
            r" waits"
        ),
    ):
        program.capture()(there(X))
    assert Tape.current is None


@in_one_test
@pytest.mark.parametrize("case", [c for c in CASES if c.real], ids=lambda c: c.id)
def test_every_operation_in_a_graph(cuda: Any, case: Case) -> None:
    """The numbers of the operation, on other inputs than those of the recording; or a refusal that
    names what it waits for.
    """
    if case.primitive == "move" or case.route is not None:
        pytest.skip("made by other ways than a call on the device")
    arrays = case.inputs("float64")
    params = moved(case.params)
    operation = registry[case.primitive]  # not the whole registry, which the recording would watch
    program = trace(lambda *xs: operation(*xs, **params), *map(there, arrays))
    try:
        captured = program.capture()
        first = captured(*map(there, arrays))
    except CaptureError as error:
        assert any(
            reason in str(error)
            for reason in ("random numbers", "depends on values", "stream is capturing")
        )
        pytest.skip(str(error))
    for inputs in (
        arrays,
        [a[::-1].copy() if a.ndim and a.dtype.kind == "f" else a for a in arrays],
    ):
        same(captured(*map(there, inputs)), program(*map(there, inputs)))
    same(first, program(*map(there, arrays)))
    assert Tape.current is None


def same(found: Any, expected: Any) -> None:
    """Equal but for the rounding of products, which the graph gives to cuBLAS itself."""
    pairs = zip(found, expected, strict=True) if isinstance(found, tuple) else [(found, expected)]
    for a, b in pairs:
        assert a.dtype == b.dtype
        np.testing.assert_allclose(a.array._memory, b.array._memory, rtol=1e-13, atol=1e-13)


def moved(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return there(value).array
    if isinstance(value, tuple):
        return tuple(moved(v) for v in value)
    return {k: moved(v) for k, v in value.items()} if isinstance(value, dict) else value
