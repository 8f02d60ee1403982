"""A compiled call that is interrupted at a line of the library: it leaves what the plain call
leaves that is interrupted at that line, or has not begun, or is complete; and the calls after it
are right.

Each place in the first five calls: python -m tests.program.test_interrupted_calls
"""

import collections
import contextlib
import functools
import gc
import linecache
import os
import random
import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minigrad as mg
from minigrad import nn, optim
from minigrad.core import observe
from minigrad.core.graph import state
from minigrad.nn import functional as F
from minigrad.program import effects_code, run

LIBRARY = f"minigrad{os.sep}"
GENERATED = ("<what ", "<step, part ")
"""Where lines come from that a replay runs and that are in no file."""
CALLS = 5
AFTER = 3
"""Calls that are made after the interrupted one."""


class Training:
    """A step that changes all that a step can change."""

    def __init__(self) -> None:
        mg.manual_seed(1)
        model = self.model = nn.Sequential(
            nn.Linear(2, 4), nn.BatchNorm1d(4), nn.Dropout(0.25), nn.Linear(4, 1)
        )
        rule = self.rule = optim.Adam(model.parameters(), lr=0.1)
        x = mg.randn(6, 2)
        self.tensors = [*model.parameters(), *model.buffers(), x]

        def step(_: Any) -> Any:
            rule.zero_grad()
            loss = (model(x) ** 2).mean()
            loss.backward()
            rule.step()
            x.mul_(0.5)
            return loss

        self.step: Callable[[Any], Any] = step

    def call(self, step: Any, _: int) -> Any:
        return step(None)

    def seen(self) -> str:
        """Everything that can be seen of it."""
        rule = getattr(self, "rule", None)
        states = (
            [] if rule is None else [{k: str(v) for k, v in s.items()} for s in rule.state.values()]
        )
        facts = [
            (t.tolist(), t._version, type(t.array).__name__, str(t.grad), t.requires_grad)
            for t in self.tensors
        ]
        modes = mg.is_grad_enabled(), len(mg.core.observe.observers)
        return repr((facts, states, modes, mg.functions.random_state()))


class Outside(Training):
    """A result that is differentiated outside, and views that are written to."""

    def __init__(self) -> None:
        mg.manual_seed(2)
        w, b = mg.tensor([0.5, -1.0], requires_grad=True), mg.ones(4)
        part = b[1:3]
        self.tensors = [w, b, part]

        def step(x: Any) -> Any:
            part.mul_(0.5)
            return F.dropout(w * x, 0.5).sin() + part

        self.step = step

    def call(self, step: Any, number: int) -> Any:
        self.tensors[0].grad = None
        y = step(mg.tensor([1.0, number]))
        y.sum().backward()
        return y


class NewLeaf(Training):
    """Each call brings another leaf, and leaves it a gradient."""

    def __init__(self) -> None:
        mg.manual_seed(3)
        w = mg.tensor([0.5, -1.0], requires_grad=True)
        self.tensors = [w, mg.ones(2)]
        rule = self.rule = optim.SGD([w], lr=0.1, momentum=0.9)

        def step(x: Any) -> Any:
            rule.zero_grad()
            (w * x).sin().sum().backward()
            rule.step()
            return x.grad

        self.step = step

    def call(self, step: Any, number: int) -> Any:
        self.tensors[1] = mg.tensor([1.0, number], requires_grad=True)
        return step(self.tensors[1])


STEPS: dict[str, type[Training]] = {
    "training": Training, "outside": Outside, "new leaf": NewLeaf,
}  # fmt: skip


class Lines:
    """Counts the lines of the library that run, and raises KeyboardInterrupt at number `at`. The
    head of a `with` block is left out: Python passes it again before it calls `__exit__`, where no
    signal is handled.

    plain: the number among those of the plain run of the step, None outside it; place: file and
    line; ended: whether the call came to its end (an interrupt in a finaliser is lost).
    """

    def __init__(self, code: Any, at: int | None, compiled: bool) -> None:
        self.code, self.at, self.compiled = code, at, compiled
        self.lines = self.inside = self.entered = 0
        self.running, self.ended, self.plain, self.place = False, False, None, ("", 0)
        self.all: list[tuple[bool, str, int]] = []

    def __enter__(self) -> "Lines":
        self.before = sys.gettrace()
        gc.disable()  # finalisers run lines too, at no fixed place
        sys.settrace(self._trace)
        return self

    def __exit__(self, *_: object) -> None:
        sys.settrace(self.before)
        gc.enable()

    def _trace(self, frame: Any, event: str, _: Any) -> Any:
        if frame.f_code is self.code:
            if event == "call":
                self.entered += 1
                self.running = self.entered == 1
            elif event == "return":
                self.running = False
            return self._trace
        place = frame.f_code.co_filename, frame.f_lineno
        if LIBRARY not in place[0] and not place[0].startswith(GENERATED):
            return None
        if event == "line" and not _is_with(*place):
            self.lines += 1
            self.inside += self.running
            self.all.append((self.running, *place))
            if self.at == (self.lines if self.compiled else self.inside):
                self.place = place
                self.plain = self.inside if self.running else None
                raise KeyboardInterrupt
        return self._trace


def _reset_modes() -> None:
    """Give this thread's engine its modes again. A plain run loses them where it is interrupted in
    the block that restores them; no signal is handled there."""
    state.recording, state.levels, state.batches, state.running_pass = True, (), (), None
    observe.observation.listening = observe.observation.added = ()
    observe.observation.event = None
    observe.observers.clear()


@functools.cache
def _is_with(file: str, line: int) -> bool:
    return linecache.getline(file, line).lstrip().startswith("with ")


def seen_after(
    kind: type[Training], call: int, compiled: bool, during: Callable[[Any, Any], Any]
) -> list[str]:
    """What is seen after call number `call`, which is `during(world, step)`, and after each call
    that follows. An interrupt may end it."""
    world = kind()
    step = mg.compile(world.step) if compiled else world.step
    for number in range(call):
        world.call(step, number)
    with contextlib.suppress(KeyboardInterrupt):
        during(world, step)
    seen = [world.seen()]
    for number in range(call + 1, call + 1 + AFTER):
        try:
            result = world.call(step, number).tolist()
        except mg.AutogradError as error:  # the plain run was interrupted while gradients were off
            result = type(error).__name__
        seen.append(f"{result} {world.seen()}")
    _reset_modes()
    return seen


def interrupted(kind: type[Training], call: int, at: int | None, compiled: bool) -> Any:
    """What is seen after a call that is interrupted at line `at`; the lines that ran."""
    made: list[Lines] = []

    def during(world: Training, step: Any) -> None:
        lines = Lines(world.step.__code__, at, compiled)
        made.append(lines)

        def traced(*args: Any) -> Any:
            with lines:
                result = step(*args)
                lines.ended = True
                return result

        world.call(traced, call)

    return seen_after(kind, call, compiled, during), made[0]


class Expected:
    """What plain calls leave that are interrupted, have not begun, or whose result is lost."""

    def __init__(self, kind: type[Training]) -> None:
        self.kind = kind
        self.at: Any = functools.cache(lambda call, at: interrupted(kind, call, at, False))
        self.without: Any = functools.cache(self._without)

    def _without(self, call: int, runs: bool) -> list[str]:
        def during(world: Training, step: Any) -> None:
            def lost(*args: Any) -> Any:
                if runs:
                    step(*args)
                raise KeyboardInterrupt

            world.call(lost, call)

        return seen_after(self.kind, call, False, during)


def problem(expected: Expected, call: int, at: int) -> str | None:
    """What is wrong after an interrupt at line `at` of a compiled call."""
    seen, lines = interrupted(expected.kind, call, at, True)
    where = f"{expected.kind.__name__}, call {call}, line {at}: {lines.place}"
    if lines.ended:
        wanted = [expected.at(call, None)[0]]
    elif lines.plain is None:
        wanted = [expected.without(call, runs) for runs in (False, True)]
    else:
        plain, same = expected.at(call, lines.plain)
        if same.place != lines.place:
            return f"{where}: line {lines.plain} of the plain call is {same.place}"
        wanted = [plain]
    return None if seen in wanted else f"{where}, line {lines.plain} of the plain call"


def lines_of(kind: type[Training], call: int) -> list[tuple[bool, str, int]]:
    """The lines of a compiled call: whether each is one of the plain run of the step; its place."""
    interrupted(kind, call, None, True)  # what is kept from call to call in the process is made
    return list(interrupted(kind, call, None, True)[1].all)


@pytest.fixture(autouse=True)
def _quiet() -> Any:
    """Without warnings. An interrupt where a `with` block ends leaves NumPy's error mode on."""
    with warnings.catch_warnings(), np.errstate():
        warnings.simplefilter("ignore")
        yield


def check(name: str, samples: int) -> None:
    """Some lines of each of the first five calls: of the plain run, and others."""
    rng, expected, tried = random.Random(name), Expected(STEPS[name]), {True: 0, False: 0}
    for call in range(CALLS):
        lines = lines_of(expected.kind, call)
        for plain in (True, False):
            where = [at for at, line in enumerate(lines, 1) if line[0] is plain]
            for at in rng.sample(where, min(samples, len(where))):
                assert (found := problem(expected, call, at)) is None, found
                tried[plain] += 1
    assert tried[True] >= 3 * samples and tried[False] >= 5 * samples


@pytest.mark.parametrize("name", STEPS)
def test_interrupts_at_lines_of_the_library(name: str) -> None:
    check(name, 2)


@pytest.mark.whole
@pytest.mark.parametrize("name", STEPS)
def test_interrupts_at_many_lines_of_the_library(name: str) -> None:
    check(name, 10)


@pytest.mark.parametrize(
    ("name", "call", "each"),
    [
        ("outside", 3, 1),
        pytest.param("outside", 4, 1, marks=pytest.mark.whole),
        pytest.param("training", 4, 4, marks=pytest.mark.whole),
    ],
)
def test_interrupts_at_lines_of_a_replay(name: str, call: int, each: int) -> None:
    """From where it begins to compute: at the first and the last time that a line runs. Of a long
    replay every fourth place is tried."""
    expected, lines = Expected(STEPS[name]), lines_of(STEPS[name], call)
    places: dict[Any, list[int]] = {}
    for at, (_, *place) in enumerate(lines, 1):
        if place[0] == run.__file__ or place[0].startswith(GENERATED):
            places.setdefault(tuple(place), []).append(at)
    where = sorted({at for found in places.values() for at in (found[0], found[-1])})[::each]
    assert len(where) > 40
    for at in where:
        assert (found := problem(expected, call, at)) is None, found


def test_an_interrupt_between_two_writes_of_the_first_replay(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each piece of memory is written, and counted once."""
    a, b = mg.ones(2), mg.ones(2)
    f = mg.compile(lambda: (a.mul_(2), b.mul_(3))[0])
    for _ in range(3):
        f()
    write, left = effects_code.write_payload, [1]

    def interrupted_once(*args: Any) -> None:
        write(*args)
        if left:
            left.pop()
            raise KeyboardInterrupt

    monkeypatch.setattr(effects_code, "write_payload", interrupted_once)
    with pytest.raises(KeyboardInterrupt):
        f()
    assert not left and f.programs
    assert (a.tolist(), b.tolist()) == ([16, 16], [81, 81])
    assert (a._version, b._version) == (4, 4)


def main() -> None:
    """The lines of the first five calls, of the steps that the command names: each place at which
    a line runs, once, and with "all" each line as often as it runs."""
    warnings.simplefilter("ignore")
    words = sys.argv[1:]
    for name in [word for word in words if word != "all"] or STEPS:
        expected, tally = Expected(STEPS[name]), collections.Counter()
        for call in range(CALLS):
            lines = lines_of(expected.kind, call)
            once = {line: at for at, line in enumerate(lines, 1)}
            for at in range(1, len(lines) + 1) if "all" in words else sorted(once.values()):
                found = problem(expected, call, at)
                tally["plain" if lines[at - 1][0] else "library"] += 1
                if found is not None:
                    tally["different"] += 1
                    print(found, flush=True)
            print(name, "call", call, len(lines), dict(tally), flush=True)


if __name__ == "__main__":
    main()
