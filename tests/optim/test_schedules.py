"""Learning-rate schedules: the rates and momenta are PyTorch's, alone and together, step by step
and by jumps, and a saved one goes on.
"""

import copy
import itertools
import json
import pickle
from collections.abc import Callable
from typing import Any

import pytest

import minigrad as mg
from tests.helpers.refusals import refusals
from tests.helpers.tables import in_one_test

pytestmark = pytest.mark.filterwarnings("ignore:.*called before the optimiser")

STEPS = 26
SCHEDULES: dict[str, Callable[[Any, Any], Any]] = {
    "step": lambda s, o: s.StepLR(o, 3, 0.5),
    "several steps": lambda s, o: s.MultiStepLR(o, [2, 5, 5, 9], 0.3),
    "a step at once": lambda s, o: s.MultiStepLR(o, [0, 4], 0.3),
    "constant": lambda s, o: s.ConstantLR(o, 0.4, 4),
    "linear": lambda s, o: s.LinearLR(o, 0.2, 0.7, 6),
    "linear to zero": lambda s, o: s.LinearLR(o, 1.0, 0.0, 6),
    "exponential": lambda s, o: s.ExponentialLR(o, 0.9),
    "polynomial": lambda s, o: s.PolynomialLR(o, 7, 2.0),
    "cosine": lambda s, o: s.CosineAnnealingLR(o, 5, 0.01),
    "cosine to zero": lambda s, o: s.CosineAnnealingLR(o, 4),
    "function": lambda s, o: s.LambdaLR(o, lambda e: 1 / (1 + e)),
    "functions": lambda s, o: s.LambdaLR(o, [lambda e: 1 / (1 + e), lambda e: 0.9**e]),
    "factors": lambda s, o: s.MultiplicativeLR(o, [lambda e: 0.9 + e / 100, lambda e: 0.9]),
    "restarts": lambda s, o: s.CosineAnnealingWarmRestarts(o, 4),
    "longer restarts": lambda s, o: s.CosineAnnealingWarmRestarts(o, 3, 2, 0.02),
    "triangles": lambda s, o: s.CyclicLR(o, 0.1, 0.9, 4),
    "halved triangles": lambda s, o: s.CyclicLR(o, [0.1, 0.2], [0.9, 0.7], 4, 3, "triangular2"),
    "shrinking triangles": lambda s, o: s.CyclicLR(
        o, 0.1, 0.9, 4, 5, "exp_range", gamma=0.97, base_momentum=0.6, max_momentum=[0.95, 0.9]
    ),
    "own triangles": lambda s, o: s.CyclicLR(
        o, 0.1, 0.9, 4, 5, scale_fn=lambda x: 0.9**x, scale_mode="iterations", cycle_momentum=False
    ),
    "own cycles": lambda s, o: s.CyclicLR(o, 0.1, 0.9, 4, 5, scale_fn=lambda x: 0.9**x),
    "one cycle": lambda s, o: s.OneCycleLR(o, 1.0, total_steps=30),
    "three phases": lambda s, o: s.OneCycleLR(
        o, [1.0, 0.3], epochs=3, steps_per_epoch=10, three_phase=True, anneal_strategy="linear",
        pct_start=0.35, final_div_factor=50
    ),
    "sequence": lambda s,
    o: s.SequentialLR(o,
        [s.ConstantLR(o, 0.1, 3), s.ExponentialLR(o, 0.9), s.CosineAnnealingLR(o, 6)], [4, 11]),
    "warm-up": lambda s,
    o: s.SequentialLR(o, [s.LinearLR(o, 0.1, 1.0, 3), s.StepLR(o, 2, 0.5)], [5]),
    "chain": lambda s, o: s.ChainedScheduler([s.CosineAnnealingLR(o, 5, 0.01), s.StepLR(o, 3, 0.5),
        s.LinearLR(o, 0.5, 1.0, 4)]),
}  # fmt: skip
TOGETHER = ["step", "several steps", "constant", "linear", "linear to zero", "exponential",
    "polynomial", "cosine", "cosine to zero",
            "factors", "function"]  # fmt: skip
JUMPS = [
    "step",
    "several steps",
    "constant",
    "linear",
    "exponential",
    "polynomial",
    "cosine",
    "function",
    "restarts",
    "longer restarts",
]


def optimiser(library: Any, kind: str = "SGD") -> Any:
    """Two groups with rates of their own."""
    first, second = (library.nn.Parameter(library.ones(2)) for _ in range(2))
    more = {"momentum": 0.9} if kind == "SGD" else {}
    return getattr(library.optim, kind)(
        [{"params": [first]}, {"params": [second], "lr": 0.05}], lr=0.5, **more
    )


def rates(o: Any) -> list[float]:
    return [float(group["lr"]) for group in o.param_groups]


def seen(o: Any, *schedules: Any) -> list[float]:
    """Rates, what the schedules say that they are, and momenta."""
    momenta = [
        float(group["momentum"] if "momentum" in group else group["betas"][0])
        for group in o.param_groups
    ]
    return [*rates(o), *(float(r) for s in schedules for r in s.get_last_lr()), *momenta]


def run(
    library: Any, make: Callable[[Any, Any], Any], kind: str = "SGD", jumps: list[Any] | None = None
) -> list[list[float]]:
    o = optimiser(library, kind)
    s = make(library.optim.lr_scheduler, o)
    out = []
    for k in range(STEPS):
        out.append(seen(o, s))
        o.step()
        s.step(*([] if jumps is None else [jumps[k]]))
    return out


def agree(ours: list[list[float]], theirs: list[list[float]]) -> None:
    assert len(ours) == len(theirs)
    for k, (a, b) in enumerate(zip(ours, theirs, strict=True)):
        assert a == pytest.approx(b, rel=1e-9, abs=1e-12), f"step {k}"


@in_one_test
@pytest.mark.oracle
@pytest.mark.parametrize("kind", ["SGD", "Adam"])
@pytest.mark.parametrize("name", SCHEDULES)
def test_step_by_step(torch, name: str, kind: str) -> None:
    agree(run(mg, SCHEDULES[name], kind), run(torch, SCHEDULES[name], kind))


@pytest.mark.oracle
@pytest.mark.parametrize("name", JUMPS)
@pytest.mark.filterwarnings("ignore:The epoch parameter:UserWarning")
def test_rates_agree_with_pytorchs_when_epochs_are_jumped_to(torch, name: str) -> None:
    there_and_back = [3, 1, 1, 7, 0, 12] * 5
    agree(
        run(mg, SCHEDULES[name], jumps=there_and_back),
        run(torch, SCHEDULES[name], jumps=there_and_back),
    )
    if "restarts" in name:
        parts = [k * 0.37 for k in range(STEPS)]
        agree(run(mg, SCHEDULES[name], jumps=parts), run(torch, SCHEDULES[name], jumps=parts))


@in_one_test
@pytest.mark.oracle
@pytest.mark.parametrize("pair", list(itertools.permutations(TOGETHER, 2)), ids="-".join)
def test_two_on_one_optimiser_multiply(torch, pair: tuple[str, str]) -> None:
    def both(library):
        o = optimiser(library)
        first, second = (SCHEDULES[name](library.optim.lr_scheduler, o) for name in pair)
        out = []
        for _ in range(STEPS):
            out.append(seen(o, first, second))
            o.step()
            first.step()
            second.step()
        return out

    agree(both(mg), both(torch))


@pytest.mark.oracle
@pytest.mark.parametrize("name", TOGETHER)
def test_a_rate_that_the_user_changes(torch, name: str) -> None:
    def by_hand(library):
        o = optimiser(library)
        s = SCHEDULES[name](library.optim.lr_scheduler, o)
        out = []
        for k in range(12):
            out.append(rates(o))
            o.step()
            s.step()
            if k == 3:
                for group in o.param_groups:
                    group["lr"] *= 0.25
        return out

    agree(by_hand(mg), by_hand(torch))


@in_one_test
@pytest.mark.parametrize("name", SCHEDULES)
@pytest.mark.parametrize("order", ["optimiser first", "optimiser last", "schedule alone"])
def test_a_saved_schedule_continues(name: str, order: str) -> None:
    """States are plain data; what is restored, and in which order, changes no rate."""
    o = optimiser(mg)
    s = SCHEDULES[name](mg.optim.lr_scheduler, o)
    for _ in range(9):
        s.step()
    state = pickle.loads(pickle.dumps(s.state_dict()))
    assert json.loads(json.dumps(state)) == json.loads(json.dumps(s.state_dict()))
    settings = copy.deepcopy(o.state_dict())

    again = optimiser(mg)
    resumed = SCHEDULES[name](mg.optim.lr_scheduler, again)
    if order == "optimiser first":
        again.load_state_dict(settings)
    resumed.load_state_dict(state)
    if order == "optimiser last":
        again.load_state_dict(settings)
    assert rates(again) == rates(o)
    assert resumed.get_last_lr() == s.get_last_lr()
    for _ in range(5):
        s.step()
        resumed.step()
    assert rates(again) == pytest.approx(rates(o), rel=1e-12)


def test_what_the_file_says_holds_and_old_files_still_load() -> None:
    o = optimiser(mg)
    s = mg.optim.lr_scheduler.StepLR(o, 1, 0.9)
    s.load_state_dict(mg.optim.lr_scheduler.StepLR(optimiser(mg), 3, 0.5).state_dict())
    assert (s.step_size, s.gamma) == (3, 0.5)
    s.load_state_dict({"last_epoch": 6, "base_lrs": [0.5, 0.05]})
    assert rates(o) == pytest.approx([0.125, 0.0125])


def test_loading_leaves_rates_that_something_else_set() -> None:
    o = optimiser(mg)
    s = mg.optim.lr_scheduler.ExponentialLR(o, 0.9)
    state = s.state_dict()
    for group in o.param_groups:
        group["lr"] = 7.0
    s.load_state_dict(state)
    assert rates(o) == [7.0, 7.0]


@pytest.mark.oracle
@pytest.mark.parametrize(
    "settings",
    [
        {"patience": 1},
        {"patience": 2, "mode": "max", "factor": 0.5},
        {"patience": 0, "cooldown": 2, "min_lr": 0.02},
        {"patience": 1, "threshold": 0.1, "threshold_mode": "abs", "min_lr": [0.1, 0.01]},
        {"patience": 1, "threshold": 0.05, "mode": "max"},
        {"patience": 0, "threshold": 0.05, "threshold_mode": "abs", "mode": "max"},
        {"patience": 0, "eps": 0.2},
    ],
)
def test_rates_fall_on_a_plateau_as_pytorchs_do(torch, settings: dict[str, Any]) -> None:
    losses = [
        3,
        2.9,
        2.9,
        2.95,
        2.9,
        2.8999,
        2.7,
        2.8,
        2.8,
        2.8,
        2.8,
        2.6,
        2.7,
        float("nan"),
        *[2.7] * 6,
    ]

    def watched(library):
        o = optimiser(library)
        s = library.optim.lr_scheduler.ReduceLROnPlateau(o, **settings)
        out = []
        for loss in losses:
            o.step()
            s.step(library.tensor(loss))
            out.append(
                [*seen(o, s), float(s.best), float(s.num_bad_epochs), float(s.cooldown_counter)]
            )
        return out

    agree(watched(mg), watched(torch))


def test_a_saved_plateau_schedule_continues() -> None:
    s, again = (
        mg.optim.lr_scheduler.ReduceLROnPlateau(optimiser(mg), patience=2) for _ in range(2)
    )
    for loss in (1.0, 1.1, 1.2):
        s.step(loss)
    again.load_state_dict(json.loads(json.dumps(s.state_dict())))
    assert (again.best, again.num_bad_epochs) == (1.0, 2)
    again.step(1.3)
    assert rates(again.optimizer) == pytest.approx([0.05, 0.005])


def test_a_sequence_may_hold_a_sequence_and_a_chain() -> None:
    o = optimiser(mg)
    s = mg.optim.lr_scheduler
    inner = s.SequentialLR(o, [s.ConstantLR(o, 0.5, 2), s.ExponentialLR(o, 0.8)], [3])
    chain = s.ChainedScheduler([s.ExponentialLR(o, 0.9), s.StepLR(o, 2, 0.5)])
    outer = s.SequentialLR(o, [s.LinearLR(o, 0.1, 1.0, 3), inner, chain], [5, 10])
    found = []
    for _ in range(14):
        found.append(rates(o)[0])
        outer.step()
    linear = [0.1, 0.4, 0.7, 1, 1]
    expected = [*linear, 0.5, 0.5, 1, 1, 0.8, 1, 0.9, 0.405, 0.3645]
    assert found == pytest.approx([0.5 * f for f in expected])


def test_get_lr_of_your_own() -> None:
    """As one writes it for PyTorch: the rates at last_epoch, made of the present ones."""

    class Halved(mg.optim.lr_scheduler.LRScheduler):
        def get_lr(self):
            return [
                group["lr"] * (0.5 if self.last_epoch else 1.0)
                for group in self.optimizer.param_groups
            ]

    o = optimiser(mg)
    s = Halved(o)
    s.step()
    s.step()
    assert rates(o) == s.get_last_lr() == [0.125, 0.0125]
    with pytest.raises(NotImplementedError, match="LRScheduler does not define factor"):
        mg.optim.lr_scheduler.LRScheduler(o)


def test_begun_in_the_middle() -> None:
    s = mg.optim.lr_scheduler
    o = optimiser(mg)
    for group in o.param_groups:
        group["initial_lr"] = 1.0
    assert s.ExponentialLR(o, 0.5, last_epoch=2).last_epoch == 3
    assert rates(o) == [0.125, 0.125]
    with pytest.raises(KeyError, match="initial_lr"):
        s.ExponentialLR(optimiser(mg), 0.5, last_epoch=2)


def test_a_group_that_joins() -> None:
    s = mg.optim.lr_scheduler
    o = optimiser(mg)
    step, plateau = s.StepLR(o, 2, 0.5), s.ReduceLROnPlateau(o, patience=0)
    own = s.LambdaLR(optimiser(mg), lambda e: 1.0)
    lowest = s.ReduceLROnPlateau(optimiser(mg), patience=0, min_lr=[0.1, 0.1])
    for schedule in (step, own, lowest):
        schedule.optimizer.add_param_group({"params": [mg.nn.Parameter(mg.ones(2))], "lr": 8.0})
    step.step()
    step.step()
    assert rates(o) == [0.25, 0.025, 4.0]
    plateau.step(1.0)
    plateau.step(1.0)
    assert rates(o) == pytest.approx([0.025, 0.0025, 0.4])
    with pytest.raises(ValueError, match="3 groups now, and had 2"):
        own.step()
    with pytest.raises(ValueError, match="3 groups now, and had 2"):
        lowest.step(1.0)


def over(schedule: Any, steps: int) -> None:
    for _ in range(steps):
        schedule.step()


BAD_SETTINGS = r"""
s.StepLR([1], 2)  # TypeError: expected an Optimizer, got list
s.ReduceLROnPlateau(3)  # TypeError: expected an Optimizer, got int
s.CyclicLR(3, 0.1, 1.0)  # TypeError: expected an Optimizer, got int
s.OneCycleLR(3, 0.1, 10)  # TypeError: expected an Optimizer, got int
s.LambdaLR(o, [len])  # ValueError: lr_lambda has 1 values, and the optimiser 2 groups
s.LambdaLR(o, 0.5)  # TypeError: must be a function of the epoch, or one for each group, got float
s.MultiplicativeLR(o, [len, 3])  # TypeError: MultiplicativeLR: lr_lambda must be a function
s.ConstantLR(o, 1.5)  # ValueError: factor must be between 0 and 1, got 1.5
s.LinearLR(o, start_factor=0)  # ValueError: start_factor must not be 0
s.LinearLR(o, start_factor=-1)  # ValueError: start_factor must be between
s.LinearLR(o, end_factor=1.1)  # ValueError: end_factor must be between
s.CosineAnnealingWarmRestarts(o, 0)  # ValueError: T_0 must be an integer of at least 1, got 0
s.CosineAnnealingWarmRestarts(o, 2, 1.5)  # ValueError: T_mult must be an integer
s.CosineAnnealingWarmRestarts(o, 2).step(-1)  # ValueError: must not be negative, got -1
s.CyclicLR(o, 0.1, 1.0, mode="square")  # ValueError: mode must be .* got 'square'
s.CyclicLR(o, 0.1, 1.0, scale_mode="square")  # ValueError: scale_mode must be .* got 'square'
s.CyclicLR(o, [0.1], 1.0)  # ValueError: base_lr has 1 values, and the optimiser 2 groups
s.CyclicLR(mg.optim.Adagrad([mg.ones(1, requires_grad=True)]), 0.1, 1.0)
    # ValueError: neither momentum nor betas
s.OneCycleLR(o, 1.0)  # ValueError: give total_steps, or both epochs and steps_per_epoch
s.OneCycleLR(o, 1.0, 0)  # ValueError: total_steps must be an integer of at least 1, got 0
s.OneCycleLR(o, 1.0, epochs=2, steps_per_epoch=0.5)
    # ValueError: steps_per_epoch must be an integer
s.OneCycleLR(o, 1.0, 9, pct_start=2)  # ValueError: pct_start must be between 0 and 1, got 2
s.OneCycleLR(o, 1.0, 9, anneal_strategy="x")  # ValueError: anneal_strategy must be
over(s.OneCycleLR(o, 1.0, 2), 3)  # ValueError: step 3 of a cycle of 2 steps
s.ChainedScheduler([])  # ValueError: no schedules to chain
s.ChainedScheduler([3], o)  # TypeError: schedule 0 is int
s.ChainedScheduler([s.StepLR(o, 2), s.StepLR(optimiser(mg), 2)])
    # ValueError: schedule 1 .* belongs to another
s.ChainedScheduler([s.StepLR(o, 2)]).step(3)  # TypeError: takes no epoch
s.SequentialLR(o, [], [])  # ValueError: no schedules
s.SequentialLR(o, [s.StepLR(o, 2)], [3])
    # ValueError: 1 schedules need 0 milestones between them, got 1
s.SequentialLR(o, [s.ReduceLROnPlateau(o)], [])  # ValueError: needs the loss in each step
s.SequentialLR(o, [s.StepLR(o, 2)], []).step(3)  # TypeError: takes no epoch
s.ChainedScheduler([s.StepLR(o, 2)]).load_state_dict({"_schedulers": []})
    # ValueError: has 0 schedules, this one 1
s.ReduceLROnPlateau(o, factor=1.0)  # ValueError: factor must be below 1, got 1.0
s.ReduceLROnPlateau(o, mode="mean")  # ValueError: mode must be .* got 'mean'
s.ReduceLROnPlateau(o, threshold_mode="x")  # ValueError: threshold_mode must be .* got 'x'
s.ReduceLROnPlateau(o, min_lr=[1.0])  # ValueError: min_lr has 1 values, and the optimiser 2 groups
"""
test_bad_settings_of_schedules_are_named = refusals(
    BAD_SETTINGS,
    lambda: {"s": mg.optim.lr_scheduler, "o": optimiser(mg)},
    optimiser=optimiser,
    over=over,
)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", ["StepLR", "CosineAnnealingWarmRestarts"])
def test_a_schedule_before_the_first_step_warns_once(name: str) -> None:
    """The initial rate would be skipped."""
    made = optimiser(mg)
    schedule = getattr(mg.optim.lr_scheduler, name)(made, 2)
    with pytest.warns(UserWarning, match=f"{name}.step.. was called before the optimiser's step"):
        schedule.step()
    schedule.step()
    for step in (lambda o: o.step(), lambda o: o.update(mg.ones(2), mg.ones(2))):
        fresh = optimiser(mg)
        schedule = getattr(mg.optim.lr_scheduler, name)(fresh, 2)
        step(fresh)
        schedule.step()  # no warning


@pytest.mark.filterwarnings("error")
def test_sequences_and_chains_begin_without_a_warning() -> None:
    made = optimiser(mg)
    parts = [mg.optim.lr_scheduler.StepLR(made, 2) for _ in range(2)]
    sequence = mg.optim.lr_scheduler.SequentialLR(made, parts, [2])
    chain = mg.optim.lr_scheduler.ChainedScheduler(parts)
    made.step()
    for schedule in (sequence, chain):
        over(schedule, 3)
        schedule.restart()
