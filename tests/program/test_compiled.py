"""`mg.compile`: replays leave the bits that eager runs leave; what makes a program wrong is
seen; what cannot be recorded runs eagerly.
"""

import itertools
import random
import types
import warnings
from collections import namedtuple
from typing import Any

import numpy as np
import pytest

import minigrad as mg
from minigrad import nn, observers, optim
from minigrad.nn import functional as F
from minigrad.program import Compiled, EagerWarning, Recorder
from minigrad.program.payload import Recorded
from tests.helpers.exact_values import bits

RNG = np.random.default_rng(0)
X, LABELS = (
    mg.tensor(RNG.standard_normal((16, 2)).astype("float32")),
    mg.tensor(RNG.integers(0, 2, 16)),
)


def left_behind(model: Any, optimizer: Any) -> Any:
    """All that a step changes: parameters and buffers, gradients, the optimiser's states, and
    how the random numbers go on.
    """
    gradients = [p.grad for p in model.parameters()]
    return bits([dict(model.state_dict()), gradients, list(optimizer.state.values())]), repr(
        mg.functions.random_state()
    )


def network(make: Any, seed: int = 1) -> Any:
    """A network with batch statistics and dropout, an optimiser, and a step."""
    mg.manual_seed(seed)
    model = nn.Sequential(
        nn.Linear(2, 8), nn.ReLU(), nn.BatchNorm1d(8), nn.Dropout(0.25), nn.Linear(8, 2)
    )
    optimizer = make(model.parameters())

    def step(x: Any, labels: Any) -> Any:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), labels)
        loss.backward()
        optimizer.step()
        return loss

    return model, optimizer, step


def sgd(params: Any) -> Any:
    return optim.SGD(params, lr=0.1, momentum=0.9)


OPTIMISERS = {
    "sgd": lambda p: optim.SGD(p, lr=0.1),
    "momentum": sgd,
    "nesterov": lambda p: optim.SGD(p, lr=0.1, momentum=0.9, nesterov=True, weight_decay=0.01),
    "dampened": lambda p: optim.SGD(p, lr=0.1, momentum=0.9, dampening=0.1, maximize=True),
    "adam": lambda p: optim.Adam(p, lr=0.05),
    "amsgrad": lambda p: optim.Adam(p, lr=0.05, weight_decay=0.1, amsgrad=True),
    "adamw": lambda p: optim.AdamW(p, lr=0.05),
    "rmsprop": lambda p: optim.RMSprop(p, lr=0.01, centered=True, momentum=0.5),
    "adagrad": lambda p: optim.Adagrad(p, lr=0.1, lr_decay=0.1, initial_accumulator_value=0.1),
    "adadelta": lambda p: optim.Adadelta(p, lr=0.5),
    "adamax": lambda p: optim.Adamax(p, lr=0.05),
    "nadam": lambda p: optim.NAdam(p, lr=0.05, weight_decay=0.1, decoupled_weight_decay=True),
    "radam": lambda p: optim.RAdam(p, lr=0.05),
    "rprop": lambda p: optim.Rprop(p, lr=0.01),
    "asgd": lambda p: optim.ASGD(p, lr=0.05, t0=4),
}
SCHEDULES = {
    "none": None,
    "exponential": lambda o: optim.lr_scheduler.ExponentialLR(o, 0.9),
    "step": lambda o: optim.lr_scheduler.StepLR(o, 2, 0.5),
    "cosine": lambda o: optim.lr_scheduler.CosineAnnealingLR(o, 20),
    "lambda": lambda o: optim.lr_scheduler.LambdaLR(o, lambda epoch: 1 / (1 + epoch)),
    "linear": lambda o: optim.lr_scheduler.LinearLR(o, total_iters=10),
    "several": lambda o: optim.lr_scheduler.MultiStepLR(o, [3, 7], 0.1),
}


def trained(compiled: bool, make: Any, schedule: Any = None, steps: int = 24) -> Any:
    """Losses of some steps, what they leave behind, and the function."""
    model, optimizer, step = network(make)
    scheduler = schedule and schedule(optimizer)
    function = mg.compile(step) if compiled else step
    mg.manual_seed(5)
    losses = []
    for _ in range(steps):
        losses.append(bits(function(X, LABELS)))
        if scheduler:
            scheduler.step()
    return losses, left_behind(model, optimizer), function


@pytest.mark.parametrize("name", OPTIMISERS)
def test_replays_with_every_optimiser_leave_the_bits_of_eager_runs(name: str) -> None:
    """Twenty-four steps with dropout, batch statistics and a schedule: the same bits everywhere,
    and all but three were replays.
    """
    eager, compiled = (
        trained(c, OPTIMISERS[name], SCHEDULES["exponential"]) for c in (False, True)
    )
    assert eager[:2] == compiled[:2]
    assert (
        compiled[2].statistics == {"eager": 1, "recorded": 2, "replayed": 21}
        and compiled[2].reason is None
    )
    assert len(compiled[2].programs) == 1 and compiled[2].programs[0].check().phases()["update"] > 5


@pytest.mark.parametrize("name", SCHEDULES)
def test_the_rate_of_every_schedule_is_read_in_each_run(name: str) -> None:
    """The learning rate is read in each run, with Adam's counts of steps."""
    eager, compiled = (trained(c, OPTIMISERS["adam"], SCHEDULES[name]) for c in (False, True))
    assert eager[:2] == compiled[:2] and compiled[2].statistics["replayed"] == 21


def agree(make: Any, calls: Any = 24, replayed: int | None = None) -> Any:
    """`make()` gives (function, observe): the function is called eagerly and compiled. Results and
    what is observed are equal bit by bit.

    calls: a number, or the arguments of each call; an entry that is a function changes something
    between calls.
    """
    outcomes = []
    for compiled in (False, True):
        mg.manual_seed(3)
        function, look = make()
        made = mg.compile(function) if compiled else function
        seen = []
        for call in [()] * calls if isinstance(calls, int) else calls:
            if callable(call):
                call(look.__self__ if hasattr(look, "__self__") else look)
                continue
            seen.append((bits(made(*call)), bits(look())))
        outcomes.append(seen)
    for number, (a, b) in enumerate(zip(*outcomes, strict=True)):
        assert a == b, f"call {number} differs"
    if replayed is not None:
        assert made.statistics["replayed"] == replayed, made
    return made


# ----------------------------------------------------------------- whole steps, as users write them


def plain_network() -> Any:
    """2-25-25-25-2 in plain operations, updated by hand (document 003)."""
    from benchmarks.workloads.network_2_25 import RATE, _loss, data

    inputs, targets, initial = data(1000, np.float32)
    x, target = mg.tensor(inputs), mg.tensor(targets)
    parameters = [mg.tensor(p, requires_grad=True) for p in initial]

    def epoch() -> Any:
        loss = _loss(
            mg.relu, mg.exp, lambda scores: scores.sum(1, keepdim=True), x, target, parameters
        )
        loss.backward()
        with mg.no_grad():
            for parameter in parameters:
                parameter -= RATE * parameter.grad
                parameter.grad = None
        return loss

    return epoch, lambda: [parameters, [p.grad for p in parameters]]


def test_the_plain_network() -> None:
    """Document 003's network for 40 epochs."""
    agree(plain_network, 40, replayed=37)


def test_the_convolutional_network() -> None:
    """Document 000's network on batches of 8 digits."""

    def prepare() -> Any:
        from benchmarks.workloads.cnn_step import build

        model, images, labels = build(mg, 8)
        optimizer = sgd(model.parameters())

        def step() -> Any:
            optimizer.zero_grad()
            loss = F.cross_entropy(model(images), labels)
            loss.backward()
            optimizer.step()
            return loss

        return step, lambda: left_behind(model, optimizer)

    agree(prepare, 8, replayed=5)


def test_singas_loop_of_updates_is_replayed() -> None:
    """for p, g in autograd.backward(loss): sgd.update(p, g)."""

    def prepare() -> Any:
        w, rate = (
            mg.tensor([[1.0, -2.0], [0.5, 0.25]], requires_grad=True),
            optim.SGD(0.05, momentum=0.9),
        )

        def step(x: Any) -> Any:
            loss = ((x @ w) ** 2).mean()
            for p, g in mg.autograd.backward(loss):
                rate.update(p, g)
                p.grad = None
            return loss

        return step, lambda: [w, w.grad, list(rate.state.values())]

    agree(
        prepare,
        [(mg.tensor(RNG.standard_normal((5, 2)).astype("float32")),) for _ in range(8)],
        replayed=5,
    )


def test_gradients_accumulate_over_calls() -> None:
    """Without zero_grad a call adds to .grad, in the memory that is there; a first call after
    zero_grad makes it. Two programs.
    """
    kept = []

    def prepare() -> Any:
        w = mg.ones(3, requires_grad=True)
        optimizer = optim.SGD([w], lr=0.1, momentum=0.5)

        def add(x: Any) -> Any:
            loss = (w * w * x).sum()
            loss.backward()
            return loss

        def look() -> Any:
            kept.append(w.grad)
            return [w, w.grad]

        look.clear = lambda: (optimizer.step(), optimizer.zero_grad())
        return add, look

    calls = []
    for i in range(36):
        calls.append((mg.tensor(RNG.standard_normal(3).astype("float32")),))
        if i % 4 == 3:
            calls.append(lambda look: look.clear())
    made = agree(prepare, calls, replayed=30)
    assert len(made.programs) == 2
    assert all(a is b for a, b in itertools.pairwise(kept[-4:]))  # the same tensor is added to


@pytest.mark.parametrize("norm", [1.0, 2.0, float("inf")])
def test_each_replay_decides_about_clipping(norm: float) -> None:
    """Gradients above the bound are scaled, others not: the program was recorded above it, and
    goes below.
    """

    def prepare() -> Any:
        w = mg.tensor([5.0, -4.0], requires_grad=True)
        optimizer = optim.SGD([w], lr=0.4)

        def step() -> Any:
            optimizer.zero_grad()
            loss = (w * w).sum()
            loss.backward()
            total = optim.clip_grad_norm_([w], 2.0, norm)
            optim.clip_grad_value_([w], 1.5)
            optimizer.step()
            return loss, total

        return step, lambda: [w, w.grad]

    agree(prepare, 30, replayed=27)


@pytest.mark.parametrize("to_none", [True, False])
def test_gradients_cleared_or_zeroed_are_as_in_eager_runs(to_none: bool) -> None:
    """Gradients cleared, or filled with zeros in place; also at the end of the step, and of
    parameters that the loss does not use.
    """

    def prepare() -> Any:
        w, unused = mg.ones(3, requires_grad=True), mg.ones(2, requires_grad=True)
        unused.grad = mg.ones(2)
        optimizer = optim.SGD([w, unused], lr=0.1)

        def step(x: Any) -> Any:
            (w.exp() * x).sum().backward()
            optimizer.step()
            optimizer.zero_grad(set_to_none=to_none)

        return step, lambda: [w, w.grad, unused, unused.grad]

    agree(prepare, [(mg.tensor(RNG.standard_normal(3).astype("float32")),) for _ in range(8)])


def test_decorators_methods_and_objects_among_the_arguments() -> None:
    """@mg.compile, with arguments, on a method; model and optimiser as arguments; keywords;
    nested data.
    """

    @mg.compile(limit=3)
    def double(x: Any, *, factor: float = 2.0) -> Any:
        return {"y": [x["a"] * factor, None]}

    for k in range(6):
        assert float(double({"a": mg.tensor(float(k))}, factor=2.0)["y"][0]) == 2 * k
        assert float(double({"a": mg.tensor(float(k))}, factor=3.0)["y"][0]) == 3 * k
    assert (
        double.statistics["replayed"] == 6
        and len(double.programs) == 2
        and double.__name__ == "double"
    )

    class Trainer:
        def __init__(self, rate: float) -> None:
            self.w, self.rate = mg.ones(2, requires_grad=True), rate

        @mg.compile
        def step(self, x: Any) -> Any:
            loss = (self.w * x).sum()
            loss.backward()
            with mg.no_grad():
                self.w -= self.rate * self.w.grad
            self.w.grad = None
            return loss

    one, two = Trainer(0.1), Trainer(0.2)
    for _ in range(6):
        one.step(mg.ones(2)), two.step(mg.ones(2))
    np.testing.assert_allclose(
        [one.w.detach().numpy(), two.w.detach().numpy()], [[0.4, 0.4], [-0.2, -0.2]], rtol=1e-5
    )
    assert Trainer.step.statistics["replayed"] == 6

    @mg.compile
    def train(model: Any, optimizer: Any, x: Any, labels: Any) -> Any:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), labels)
        loss.backward()
        optimizer.step()
        return loss

    wanted, optimizer, step = network(OPTIMISERS["adam"])
    mg.manual_seed(2)
    losses = [bits(step(X, LABELS)) for _ in range(8)]
    model, other, _ = network(OPTIMISERS["adam"])
    mg.manual_seed(2)
    assert [bits(train(model, other, X, LABELS)) for _ in range(8)] == losses and train.statistics[
        "replayed"
    ] == 5
    assert left_behind(model, other) == left_behind(wanted, optimizer)


def test_results_lie_where_those_of_a_plain_call_lie() -> None:
    """A new tensor keeps its values and the graph that was walked; a detached parameter goes on
    showing the parameter."""
    w = mg.ones(2, requires_grad=True)

    @mg.compile
    def step(x: Any) -> Any:
        loss = (w * x).sum()
        loss.backward()
        with mg.no_grad():
            w.sub_(w.grad)
        w.grad = None
        return loss, w.detach()

    results = [step(mg.ones(2)) for _ in range(6)]
    assert [float(loss) for loss, _ in results] == [2.0 - 2 * k for k in range(6)]
    assert all(now.tolist() == w.tolist() and now.array is w.array for _, now in results)
    for loss, now in results:
        assert loss.requires_grad and not now.requires_grad
        with pytest.raises(mg.errors.GraphFreedError):
            loss.backward()
    assert type(w.array) is np.ndarray and step.statistics["replayed"] == 3


# ------------------------------------------------------ what makes a recorded program wrong is seen


def step_with(
    change: Any, *, before: int = 6, after: int = 8, make: Any = sgd, replayed: int | None = None
) -> Any:
    """A network's step before and after something was changed from outside."""

    def prepare() -> Any:
        model, optimizer, step = network(make)
        mg.manual_seed(7)

        def look() -> Any:
            return left_behind(model, optimizer)

        look.model, look.optimizer = model, optimizer
        return step, look

    calls = [(X, LABELS)] * before + [change] + [(X, LABELS)] * after
    return agree(prepare, calls, replayed)


CHANGES = {
    "eval": (lambda at: at.model.eval(), 3 + 5),
    "one module": (lambda at: setattr(at.model[3], "training", False), 3 + 5),
    "a number of a module": (lambda at: setattr(at.model[3], "p", 0.5), 3 + 5),
    "momentum": (lambda at: at.optimizer.param_groups[0].update(momentum=0.5), 3 + 5),
    "frozen": (lambda at: at.model[0].requires_grad_(False), 3 + 5),
    "another layer": (
        lambda at: at.model[0].__dict__.update(weight=mg.ones(8, 2, requires_grad=True)),
        3 + 5,
    ),
    "learning rate": (lambda at: at.optimizer.param_groups[0].update(lr=0.01), 3 + 8),
    "values": (
        lambda at: at.model.load_state_dict({k: v * 0.5 for k, v in at.model.state_dict().items()}),
        3 + 8,
    ),
    "a state": (lambda at: at.optimizer.load_state_dict(at.optimizer.state_dict()), 3 + 8),
    "memory": (
        lambda at: setattr(at.model[0].weight, "array", at.model[0].weight.array * 2),
        3 + 8,
    ),
    "no gradients": (lambda at: at.model.zero_grad(), 3 + 7),
    "the whole state": (lambda at: at.optimizer.state.clear(), 3 + 5),
    "a group": (
        lambda at: at.optimizer.add_param_group({"params": [mg.ones(1, requires_grad=True)]}),
        3 + 5,
    ),
}


@pytest.mark.parametrize("name", CHANGES)
def test_changes_from_outside(name: str) -> None:
    """After each change the next steps are right; numbers and values that are read again need no
    new program.
    """
    change, replayed = CHANGES[name]
    step_with(change, replayed=replayed)


def test_other_dtypes_and_shapes() -> None:
    """double() gives parameters of another dtype; a smaller last batch is another program; both
    kinds go on being replayed.
    """
    model, optimizer, step = network(sgd)
    compiled = mg.compile(step)
    small = X[:5].clone(), LABELS[:5].clone()
    for _ in range(6):
        compiled(X, LABELS), compiled(*small)
    assert compiled.statistics["replayed"] == 6 and len(compiled.programs) == 2
    model.double()
    optimizer.state.clear()
    for _ in range(5):
        assert compiled(X.double(), LABELS).dtype == mg.float64
    assert compiled.statistics["replayed"] == 8


def test_grad_mode_and_tensors_that_are_rebound() -> None:
    """Under no_grad it is another program; a global bound to another tensor is read as that one."""
    holder = types.SimpleNamespace(w=mg.ones(3, requires_grad=True))

    @mg.compile
    def value(x: Any) -> Any:
        y = (holder.w * x).sum()
        if mg.is_grad_enabled():
            y.backward()
        return y

    for k in range(5):
        with mg.no_grad():
            assert float(value(mg.ones(3) * k)) == 3 * k and holder.w.grad is None
    for k in range(5):
        value(mg.ones(3))
        assert holder.w.grad.tolist() == [k + 1.0] * 3
    holder.w = mg.zeros(3, requires_grad=True)
    for k in range(5):
        assert float(value(mg.ones(3))) == 0 and holder.w.grad.tolist() == [k + 1.0] * 3
    holder.w = mg.ones(3)
    with pytest.raises(mg.AutogradError):
        value(mg.ones(3))


RATE = 0.5


def test_numbers_in_python() -> None:
    """A learning rate in a global, in the closure, in an attribute, in a function that is
    called: each change is seen.
    """
    rate = 0.5
    at = types.SimpleNamespace(rate=0.5, unused=0)
    w = mg.zeros(1, requires_grad=True)

    def inner() -> float:
        return at.rate

    @mg.compile
    def step() -> None:
        w.grad = mg.ones(1)
        with mg.no_grad():
            w.sub_(w.grad * (rate + RATE + inner()))

    total = 0.0
    global_names = globals()
    try:
        for k in range(24):
            if k == 6:
                rate = 1.5
            if k == 12:
                global_names["RATE"] = 2.5
            if k == 18:
                at.rate = 4.0
            at.unused = k  # not read: no reason to record again
            step()
            total -= rate + RATE + at.rate
            assert float(w) == total
    finally:
        global_names["RATE"] = 0.5
    assert step.statistics == {"eager": 4, "recorded": 8, "replayed": 12}


def test_what_changes_all_the_time_runs_as_itself() -> None:
    """A number that is another one in each call: after some programs the function is left as it
    is, with advice.
    """
    at = types.SimpleNamespace(k=0.0)

    @mg.compile
    def scaled(x: Any) -> Any:
        return x * at.k

    with pytest.warns(
        EagerWarning,
        match=r"keep changing; the latest change: at.k was .*Give what changes as a tensor",
    ):
        for k in range(20):
            at.k = float(k)
            assert float(scaled(mg.ones(()))) == k
    assert scaled.statistics["replayed"] == 0 and not scaled.programs
    other = mg.compile(lambda x: x + at.k)
    for k in range(12):  # programs that pay are replaced by others
        at.k = float(k)
        for _ in range(30):
            assert float(other(mg.ones(()))) == 1 + k
    assert other.given_up is None and len(other.programs) <= 8


# ----------------------------------------------------------------- what cannot be recorded, and why


def calls_of(function: Any, *args: Any, times: int = 6, match: str) -> Any:
    """A function that is expected to run as itself, for the reason given once as a warning;
    returns its results.
    """
    compiled = mg.compile(function)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        results = [compiled(*args) for _ in range(times)]
    assert compiled.statistics["replayed"] == 0 and compiled.reason is not None
    assert [
        str(w.message) for w in caught if w.category is EagerWarning and match in str(w.message)
    ], [str(w.message) for w in caught]
    assert match in compiled.reason, compiled.reason
    assert sum(w.category is EagerWarning for w in caught) == 1
    return results


COUNTER = 0


def test_side_effects_in_python() -> None:
    """What a replay would not do: counting, appending, printing, taking the next item, drawing
    numbers that are not ours.
    """
    seen: list[int] = []
    at = types.SimpleNamespace(n=0, cache=None)
    numbers = iter(range(100))
    generator, python = np.random.default_rng(0), random.Random(0)

    def count(x: Any) -> Any:
        at.n += 1
        return x * at.n

    def count_globally(x: Any) -> Any:
        global COUNTER
        COUNTER += 1
        return x * 2

    def remember(x: Any) -> Any:
        seen.append(1)
        return x

    def keep(x: Any) -> Any:
        at.cache = x * 2
        return x

    def take(x: Any) -> Any:
        return x * next(numbers)

    def draw(x: Any) -> Any:
        return x + mg.tensor(generator.standard_normal(2))

    def draw_in_python(x: Any) -> Any:
        return x + python.random()

    x = mg.ones(2)
    assert [float(r[0]) for r in calls_of(count, x, match="at.n was 1, is 2")] == [1, 2, 3, 4, 5, 6]
    calls_of(count_globally, x, match="COUNTER")
    calls_of(remember, x, match="seen has 2 items, had 1")
    assert COUNTER == 6 and len(seen) == 6
    calls_of(keep, x, match="at.cache")
    assert type(at.cache.array) is np.ndarray
    assert [float(r[0]) for r in calls_of(take, x, match="takes the next item of an iterator")] == [
        0,
        1,
        2,
        3,
        4,
        5,
    ]
    calls_of(lambda x: print(end="") or x, x, match="prints")
    wanted = np.random.default_rng(0)
    for r in calls_of(draw, x, match="can draw from random numbers that are not this library's"):
        np.testing.assert_array_equal(r.numpy(), 1 + wanted.standard_normal(2))
    calls_of(draw_in_python, x, match="can draw from random numbers that are not this library's")
    calls_of(lambda x: (mg.manual_seed(1), x + mg.rand(2))[1], x, match="seeds")


def test_decisions_by_values() -> None:
    """item(), bool(), float(), an array: Python knows, and might decide. Named with its line."""
    calls_of(lambda x: x if x.sum() > 0 else -x, mg.ones(2), match="test_compiled.py")
    assert calls_of(lambda x: x.sum().item(), mg.ones(2), match="value") == [2.0] * 6
    calls_of(lambda x: mg.tensor(np.sort(x.numpy())), mg.ones(2), match="array")


def test_arguments_and_results_that_no_program_has() -> None:
    """Arrays, graphs from outside, objects as results."""
    w = mg.ones(2, requires_grad=True)
    calls_of(lambda x: mg.tensor(x) * 2, np.ones(2), match="argument 0 is an array")
    calls_of(lambda x: x * 2, w * 1, match="carries a graph")
    calls_of(lambda x: object(), mg.ones(2), match="object")
    Pair = namedtuple("Pair", "a b")
    assert type(calls_of(lambda x: Pair(x, x), mg.ones(2), match="Pair")[-1]) is Pair
    calls_of(lambda x: mg.vmap(lambda v: v * 2)(x), mg.ones(2), match="vmap")
    big = np.zeros(5000)
    calls_of(lambda x: x + mg.tensor(big[:2]), mg.ones(2), match="the array big")
    calls_of(lambda x: x.add_(w.detach()), w.detach(), match="one piece of memory")


def test_hooks_and_observers() -> None:
    """A hook on a leaf is seen when it comes and when it goes; while the engine is observed, it
    runs eagerly."""
    w = mg.ones(2, requires_grad=True)
    calls = []

    def step() -> None:
        w.grad = None
        (w * w).sum().backward()

    compiled = mg.compile(step)
    for _ in range(5):
        compiled()
    handle = w.register_hook(lambda g: calls.append(1))
    with pytest.warns(EagerWarning, match="a hook waits for the gradient of w"):
        for _ in range(4):
            compiled()
    assert len(calls) == 4
    handle.remove()
    for _ in range(4):
        compiled()
    assert compiled.reason is None and len(calls) == 4

    node = w.view_as(w).grad_fn.next_functions[0][0]
    for register in (node.register_prehook, node.register_hook):
        with register(lambda *_: calls.append(1)):
            compiled()
            compiled()
            assert "a hook waits" in str(compiled.reason)  # of which it was warned above
        for _ in range(4):
            compiled()
    assert compiled.reason is None and len(calls) == 8

    class Watcher:
        events = 0

        def begin(self, event: Any) -> None:
            self.events += 1

        def end(self, event: Any) -> None: ...

    watcher = Watcher()
    with observers.observing(watcher), pytest.warns(EagerWarning, match="an observer is active"):
        compiled()
    assert watcher.events > 2
    compiled()
    assert compiled.reason is None


def test_a_failing_recording_leaves_nothing_behind() -> None:
    """An optimiser that cannot be recorded: parameters, gradients, states and random numbers are
    put back, and the step is done eagerly.
    """

    class Odd(optim.SGD):
        def rule(self, array: Any, grad: Any, state: Any, group: Any) -> None:
            array -= float(group["lr"]) * grad  # Python computes with a number that may change

    for make, match in ((lambda p: Odd(p, lr=0.1), "differs from step to step"),):
        wanted = trained(False, make, SCHEDULES["exponential"], 6)
        with pytest.warns(EagerWarning, match=match):
            found = trained(True, make, SCHEDULES["exponential"], 6)
        assert wanted[:2] == found[:2] and found[2].statistics == {
            "eager": 6,
            "recorded": 0,
            "replayed": 0,
        }


def test_errors_of_the_function_are_its_own() -> None:
    """An exception while recording comes out, as does one in an ordinary call; afterwards the
    function works on.
    """
    w = mg.ones(2, requires_grad=True)
    at = types.SimpleNamespace(fail=False)

    @mg.compile
    def step(x: Any) -> Any:
        loss = (w * x).sum()
        loss.backward()
        if at.fail:
            raise KeyError("mine")
        return loss

    step(mg.ones(2))
    at.fail = True
    with pytest.raises(KeyError, match="mine"), warnings.catch_warnings():
        warnings.simplefilter("ignore", EagerWarning)
        step(mg.ones(2))
    assert (
        w.grad.tolist() == [2.0, 2.0]
        and type(w.array) is np.ndarray
        and type(w.grad.array) is np.ndarray
    )
    at.fail = False
    assert float(step(mg.ones(2))) == 2
    for _ in range(4):
        step(mg.ones(2))
    assert step.reason is None and w.grad.tolist() == [7.0, 7.0]


def test_optimisers_of_users() -> None:
    """A rule of one's own: numbers() may count; a rate read without it is a number like any
    other, whose change is seen.
    """

    class Decaying(optim.Optimizer):
        factor = 2.0

        def __init__(self, params: Any, lr: float) -> None:
            super().__init__(params, {"lr": lr})

        def numbers(self, state: Any, group: Any) -> Any:
            state["t"] = state.get("t", 0) + 1
            return {"share": 1 / state["t"]}

        def rule(self, array: Any, grad: Any, state: Any, group: Any) -> None:
            array -= self.factor * group["lr"] * (group["share"] * grad)

    for change in (
        lambda at: at.optimizer.param_groups[0].update(lr=0.3),
        lambda at: setattr(at.optimizer, "factor", 3.0),
    ):
        step_with(change, make=lambda p: Decaying(p, 0.1), replayed=3 + 5)

    class Counting(Decaying):
        def rule(self, array: Any, grad: Any, state: Any, group: Any) -> None:
            state["t"] += 1
            array -= group["lr"] * grad

    with pytest.warns(EagerWarning, match="changes the number 't'"):
        trained(True, lambda p: Counting(p, 0.1), None, 4)


def test_compiled_within_others() -> None:
    """A compiled function inside a recorded one, or inside another compiled one, is recorded as
    part of it.
    """
    inner = mg.compile(lambda x: x.sin() * 2)
    outer = mg.compile(lambda x: inner(x) + 1)
    for _ in range(5):
        assert bits(outer(mg.ones(2))) == bits(mg.ones(2).sin() * 2 + 1)
    assert outer.reason is None and len(outer.programs) == 1 and "sin" in str(outer.programs[0])
    assert "sin" in str(mg.graph.trace(inner, mg.ones(2)))
    with pytest.raises(TypeError, match="takes a function"):
        mg.compile(3)
    assert isinstance(outer, Compiled) and "5" in repr(mg.compile(len)) + repr(outer).replace(
        "2 replayed", "5"
    )
    assert Recorded is not None and Recorder is not None


def test_modules_under_no_grad() -> None:
    """compile(model) for inference."""
    model, _, _ = network(sgd)
    model.eval()
    fast = mg.compile(model)
    with mg.no_grad():
        for _ in range(5):
            assert bits(fast(X)) == bits(model(X))
    assert fast.statistics["replayed"] == 2


def test_a_compiled_function_is_freed_by_reference_counts() -> None:
    """A compiled function and its programs are freed by reference counts alone, tensors too."""
    import gc
    import weakref

    w = mg.ones(1000, requires_grad=True)
    compiled = mg.compile(lambda x, w=w: (w * x).sum().backward())
    gc.collect()
    gc.disable()
    try:
        for _ in range(5):
            compiled(mg.ones(1000))
        program, leaf = weakref.ref(compiled.programs[0]), weakref.ref(w)
        del compiled, w
        assert program() is None and leaf() is None
    finally:
        gc.enable()


@pytest.mark.parametrize("columns", [2, 3, 4, 25])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_tables_with_short_rows(columns: int, dtype: str) -> None:
    """1,000 short rows meet a column, a row, and each other: the lines that go round NumPy's loops
    give its bits, for NaN, infinities and negative zero too.
    """
    odd = np.array([np.nan, np.inf, -np.inf, -0.0, 0.0, 1e-45, -1.5, 3.0])
    table, column, row = (
        (RNG.choice(odd, s) + RNG.choice([0.0, -0.0, 1.0], s)).astype(dtype)
        for s in ((1000, columns), (1000, 1), columns)
    )
    operations = {
        "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b,
        "div": lambda a, b: a / b,
        "maximum": lambda a, b: a.maximum(b), "atan2": lambda a, b: a.atan2(b),
    }  # fmt: skip
    pairs = list(itertools.permutations([0, 1, 2], 2))

    def every(a: Any, b: Any, c: Any) -> Any:
        values = [a.exp(), b * 2, c * 2]  # results of the program itself, in buffers
        made = [
            operation(values[i], values[j]) for operation in operations.values() for i, j in pairs
        ]
        return (
            [(m * 1).relu() for m in made],
            [m.sum(-1) for m in made],
            [m.sum(-1, keepdim=True) for m in made],
        )

    arguments = [mg.tensor(v) for v in (table, column, row)]
    with np.errstate(all="ignore"):
        wanted, compiled = bits(every(*arguments)), mg.compile(every)
        for _ in range(6):
            assert bits(compiled(*arguments)) == wanted
    assert compiled.statistics["replayed"] == 3
    source = compiled.programs[0].source()
    assert ("copyto(s" in source) == (columns == 25) and ("____0" in source) == (columns < 25)


def test_leaves_that_are_frozen_and_steps_without_a_pass() -> None:
    """requires_grad_(False) on a tensor that no module holds; a step that only updates, with
    gradients from outside; data written over.
    """
    a, b, x = mg.ones(2, requires_grad=True), mg.ones(2, requires_grad=True), mg.ones(2)

    @mg.compile
    def gradients() -> None:
        a.grad = b.grad = None
        (a * b * x).sum().backward()

    for _ in range(5):
        gradients()
    x.mul_(3)
    gradients()
    assert gradients.reason is None and a.grad.tolist() == b.grad.tolist() == [3.0, 3.0]
    b.requires_grad_(False)
    for _ in range(5):
        gradients()
        assert a.grad.tolist() == [3.0, 3.0] and b.grad is None
    assert gradients.reason is None and len(gradients.programs) == 2

    w, v = mg.zeros(2, requires_grad=True), mg.zeros(2, requires_grad=True)
    ours, theirs = optim.Adam([w], lr=0.1), optim.Adam([v], lr=0.1)
    update = mg.compile(lambda: ours.step())
    for k in range(12):
        w.grad, v.grad = mg.ones(2) * k, mg.ones(2) * k
        update(), theirs.step()
        assert bits(w) == bits(v)
    assert update.statistics["replayed"] == 9
