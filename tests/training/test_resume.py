"""A run that is interrupted, at any moment and in any way, ends bit for bit as one without
an interruption.
"""

import random
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import minigrad as mg
from minigrad.serialization import RUN, encode, read
from minigrad.training import CheckpointError, epochs
from tests.helpers import resumable_training

nn = mg.nn
PROGRAM = Path(resumable_training.__file__)


class Interruption(Exception):
    """Raised by a test in the middle of a training."""


def test_the_run_has_as_many_steps_as_it_says(tmp_path):
    steps = []
    resumable_training.train(
        tmp_path / "run.npz", resumable_training.parts(), step=lambda: steps.append(1)
    )
    assert len(steps) == resumable_training.STEPS


def undisturbed(path, batches=None):
    resumable_training.seed(1)
    run = resumable_training.parts()
    resumable_training.train(path, run, batches)
    return path.read_bytes(), run


def interrupted(path, batches, moments):
    """Train in several attempts; attempt k ends after `moments[k]` steps, and the next begins
    with everything new and other seeds.
    """
    for attempt, moment in enumerate((*moments, None)):
        left = [moment]

        def step(left=left):
            if left[0] is not None:
                left[0] -= 1
                if left[0] < 0:
                    raise Interruption

        resumable_training.seed(1 if attempt == 0 else 100 + attempt)
        run = resumable_training.parts()
        try:
            resumable_training.train(path, run, batches, step)
        except Interruption:
            continue
        return path.read_bytes(), run
    raise AssertionError("the last attempt has no end")


def same(run, other):
    ours, theirs = run["model"].state_dict(), other["model"].state_dict()
    assert run["history"] == other["history"] and ours.keys() == theirs.keys()
    assert all(np.array_equal(ours[k].numpy(), theirs[k].numpy()) for k in ours)
    assert str(run["optimizer"]) == str(other["optimizer"])


@pytest.mark.parametrize(
    ("batches", "every"),
    [(2, 3), *(pytest.param(*k, marks=[pytest.mark.whole]) for k in ((None, 1), (1, 3), (2, 1)))],
)
def test_a_run_that_is_interrupted_once_ends_with_the_same_bytes(tmp_path, batches, every):
    """every: the steps between the moments of the interruptions that are tried."""
    whole, run = undisturbed(tmp_path / "whole.npz", batches)
    for moment in range(0, resumable_training.STEPS, every):
        again, other = interrupted(tmp_path / f"{moment}.npz", batches, [moment])
        assert again == whole, f"interrupted after {moment} steps"
        same(run, other)


def test_interrupted_many_times(tmp_path):
    whole, _ = undisturbed(tmp_path / "whole.npz", 2)
    draw = random.Random(3)
    for number in range(5):
        moments = [draw.randrange(3, 9) for _ in range(12)]
        again, _ = interrupted(tmp_path / f"{number}.npz", 2, moments)
        assert again == whole, moments


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="this system has no SIGKILL")
@pytest.mark.parametrize(
    ("batches", "most"), [(1, 3), pytest.param(0, 7, marks=[pytest.mark.whole])]
)
def test_killed_at_random_moments(tmp_path, batches, most):
    """A program that is killed and started again ends with the bytes of a program that runs
    undisturbed.
    """

    def command(path, seed):
        return [sys.executable, str(PROGRAM), str(path), str(batches), str(seed)]

    subprocess.run(
        command(tmp_path / "whole.npz", 1),
        stdout=subprocess.DEVNULL,
        cwd=PROGRAM.parents[2],
        check=True,
    )
    path, draw, kills = tmp_path / "run.npz", random.Random(batches), 0
    for attempt in range(100):
        seed = 1 if attempt == 0 else 100 + attempt
        program = subprocess.Popen(
            command(path, seed), stdout=subprocess.PIPE, cwd=PROGRAM.parents[2]
        )
        if kills < most:
            for _ in range(
                draw.randrange(1, 10)
            ):  # so many steps are let through, then some time between none and a few steps
                program.stdout.readline()
            try:
                program.wait(draw.random() * 0.02)
            except subprocess.TimeoutExpired:
                program.send_signal(signal.SIGKILL)
                kills += 1
        program.stdout.read()
        program.stdout.close()
        if program.wait() == 0:
            break
        assert program.returncode == -signal.SIGKILL
        if path.exists():
            read(path, RUN)  # whole at every moment
    assert path.read_bytes() == (tmp_path / "whole.npz").read_bytes() and kills >= 2


def test_a_new_process_takes_up_all_numbers_of_all_kinds(tmp_path):
    """Parts of each kind; the seed of a loader that drew its own; a list that others hold."""

    def run():
        generator, chance, weights = (
            np.random.default_rng(5),
            random.Random(5),
            mg.ones(2, dtype=mg.float64, requires_grad=True),
        )
        curve, table = [1.5], np.zeros((2, 3))
        return {
            "generator": generator,
            "chance": chance,
            "weights": weights,
            "log": {"curve": curve, "odd": float("nan"), 3: (1, None, "ä"), "table": table},
            "array": np.zeros(2, np.int16),
        }

    first = run()
    for epoch in epochs(2, save=tmp_path / "run", show=False, **first):
        first["log"]["curve"].append(first["generator"].random() + first["chance"].random())
        first["log"]["complex"] = np.complex64(1 + 2j * epoch)
        first["array"] += 3
        (first["weights"] ** 2).sum().backward()
        with mg.no_grad():
            first["weights"] *= 0.5
    second = run()
    curve, table = second["log"]["curve"], second["log"]["table"]
    assert list(epochs(2, save=tmp_path / "run.npz", show=False, **second)) == []
    assert (
        second["log"]["curve"] is curve
        and second["log"]["table"] is table
        and curve == first["log"]["curve"]
    )
    assert second["log"]["odd"] != second["log"]["odd"] and second["log"][3] == (1, None, "ä")
    assert second["log"]["complex"] == 1 + 2j and type(second["log"]["complex"]) is np.complex64
    assert second["array"].tolist() == [6, 6] and second["weights"].grad.tolist() == first[
        "weights"
    ].grad.tolist() == [3, 3]
    assert (
        second["generator"].random() == first["generator"].random()
        and second["chance"].random() == first["chance"].random()
    )


def test_longer_and_shorter_counts(tmp_path):
    log = {"epochs": []}
    for count, wanted in ((2, [0, 1]), (4, [0, 1, 2, 3]), (3, [0, 1, 2, 3])):
        run = epochs(count, save=tmp_path / "run.npz", show=False, log=log)
        assert len(run) == max(0, count - run.done)
        for epoch in run:
            log["epochs"].append(epoch)
        assert log["epochs"] == wanted and len(run) == 0


def test_stopping_early_is_final(tmp_path):
    log = []
    for _ in range(2):
        run = epochs(9, save=tmp_path / "run.npz", every=4, show=False, log=log)
        for epoch in run:
            log.append(epoch)
            if epoch == 2:
                run.stop()
        assert log == [0, 1, 2] and run.stopped and run.done == 3


def test_saved_only_every_few_epochs(tmp_path, monkeypatch):
    written = []
    monkeypatch.setattr(
        mg.training.loop, "write", lambda path, state, kind: written.append(state["run"]["done"])
    )
    for _ in epochs(7, save=tmp_path / "run.npz", every=3, show=False):
        pass
    assert written == [0, 3, 6, 7]


def test_singas_update_is_resumed(tmp_path):
    """An optimiser without a list of parameters keeps its state by the names that the parameters
    have in a module.
    """

    def train(path, count):
        layer, sgd = nn.Linear(2, 1), mg.optim.SGD(0.1, momentum=0.9)
        for _ in epochs(count, save=path, show=False, layer=layer, sgd=sgd):
            for p, g in mg.autograd.backward(layer(mg.ones(3, 2)).sum()):
                sgd.update(p, g)
            sgd.defaults["lr"] *= 0.5
        return layer, sgd

    mg.manual_seed(0)
    whole, sgd = train(tmp_path / "whole.npz", 4)
    mg.manual_seed(0)
    train(tmp_path / "run.npz", 2)
    again, _ = train(tmp_path / "run.npz", 4)
    assert (
        again.weight.tolist() == whole.weight.tolist()
        and again.bias.tolist() == whole.bias.tolist()
    )
    assert (tmp_path / "run.npz").read_bytes() == (tmp_path / "whole.npz").read_bytes()
    with pytest.raises(
        CheckpointError,
        match=r"sgd has a state for a parameter of shape .* that belongs to no part",
    ):
        epochs(4, save=tmp_path / "other.npz", show=False, sgd=sgd)


# --------------------------------------------------------------------------------------- the loader


def test_the_loader_goes_on_in_the_middle_of_an_epoch():
    def made():
        return mg.data.DataLoader(mg.data.TensorDataset(np.arange(10)), 3, shuffle=True, seed=4)

    whole = made()
    orders = [[b[0].tolist() for b in whole] for _ in range(3)]
    for stop in range(1, 5):
        first, seen = made(), []
        list(first)
        for (batch,) in first:
            seen.append(batch.tolist())
            if len(seen) == stop:
                break
        second = made()
        second.load_state_dict(first.state_dict())
        # The batch at which the loop was left is not known to be done, so it comes again.
        assert [b[0].tolist() for b in second] == orders[1][stop - 1 :]
        assert [b[0].tolist() for b in second] == orders[2] and second.state_dict()["batch"] == 0
        first.rewind()
        assert [b[0].tolist() for b in first] == orders[2]


def test_a_second_iteration_counts_for_itself():
    loader = mg.data.DataLoader(list(range(6)), 2)
    first = iter(loader)
    next(first), next(first)
    second = iter(loader)
    next(second), next(second), next(first)
    assert loader.state_dict()["epoch"] == 1 and loader.state_dict()["batch"] == 1
    assert next(first, None) is None and loader.state_dict()["batch"] == 1


@pytest.mark.parametrize(
    "change", [{"batch_size": 4}, {"drop_last": True}, {"shuffle": True}, {"dataset": [1, 2]}]
)
def test_a_loader_of_other_batches_is_refused(change):
    state = mg.data.DataLoader([1, 2, 3], 2).state_dict()
    other = mg.data.DataLoader(**{"dataset": [1, 2, 3], "batch_size": 2, **change})
    with pytest.raises(
        ValueError,
        match=(
            r"the batches would be others: (examples|batch_size|shuffle|drop_last) .* there and .*"
            r" here"
        ),
    ):
        other.load_state_dict(state)


def test_only_the_first_loop_over_the_loader_is_saved_within(tmp_path, monkeypatch):
    places = []
    monkeypatch.setattr(
        mg.training.loop, "write", lambda path, state, kind: places.append(state["parts"]["loader"])
    )
    loader = mg.data.DataLoader([1, 2, 3], 1)
    for _ in epochs(2, save=tmp_path / "run.npz", batches=1, show=False, loader=loader):
        for _ in range(2):
            list(loader)
    assert [(p["epoch"], p["batch"]) for p in places] == [
        (0, 0),
        (0, 1),
        (0, 2),
        (0, 3),
        (2, 0),
        (2, 1),
        (2, 2),
        (2, 3),
        (4, 0),
    ]
    list(loader)
    assert len(places) == 9


# ----------------------------------------------------------------------------------------- mistakes


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"count": 0}, "count must be a whole number from 1 on, got 0"),
        ({"count": 2, "every": 0, "save": "x"}, "every must be"),
        ({"count": 2, "batches": True, "save": "x"}, "batches must be"),
        ({"count": 2, "model": nn.Linear(1, 1)}, 'save="run.npz"'),
        (
            {"count": 2, "batches": 3, "save": "x.npz"},
            "DataLoader among the parts; there must be one, not 0",
        ),
    ],
)
def test_arguments_that_make_no_sense(arguments, words):
    with pytest.raises(ValueError, match=words):
        epochs(**arguments)


def test_what_cannot_be_saved_is_known_before_the_first_epoch(tmp_path):
    graph = {"loss": [mg.ones(1, requires_grad=True) * 2]}
    for part, words in (
        (graph, r"log/loss/0.* is a tensor with a history.*x\.item\(\)"),
        ([{1, 2}], "log/0 is of type set"),
        ({b"k": 1}, "key of type bytes"),
        ([np.array(["a"])], "dtype <U1"),
        (3, "log is of type int.*put single numbers into a dict"),
    ):
        with pytest.raises(CheckpointError, match=words):
            epochs(2, save=tmp_path / "run.npz", log=part)
    assert not (tmp_path / "run.npz").exists()
    with pytest.raises(FileNotFoundError, match=r"the folder of .*nowhere"):
        epochs(2, save=tmp_path / "nowhere" / "run.npz")


def fresh(**changes):
    run = {**resumable_training.parts(), **changes}
    return {name: part for name, part in run.items() if part is not None}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"scheduler": None}, "scheduler is missing here"),
        ({"more": {}}, "more is missing there"),
        ({"model": nn.Linear(3, 2)}, r"model is another one:\n(.*\n)*  weight: not there"),
        (
            {"model": nn.Sequential(nn.Linear(4, 8))},
            r"0\.weight: shape \(8, 3\), float32 there; shape \(8, 4\), float32 here",
        ),
        (
            {"model": resumable_training.parts()["model"].double()},
            r"0\.weight: shape \(8, 3\), float32 there; .* float64 here",
        ),
        (
            {"optimizer": resumable_training.parts("SGD")["optimizer"]},
            "optimizer is a part of kind Adam there, and SGD here",
        ),
        (
            {"optimizer": mg.optim.Adam(nn.Linear(3, 8).parameters())},
            r"optimizer has groups .* \(2, 8\)",
        ),
        (
            {"loader": mg.data.DataLoader(resumable_training.data(), 5)},
            "batch_size 4 there and 5 here",
        ),
        ({"history": []}, "history is a part of kind dict there, and list here"),
    ],
)
def test_another_run_is_refused_and_nothing_is_changed(tmp_path, changes, words):
    resumable_training.seed(1)
    resumable_training.train(tmp_path / "run.npz", resumable_training.parts())
    resumable_training.seed(2)
    run = fresh(**changes)
    before = encode(mg.training.state.take(run), "", arrays := {})
    arrays = {name: array.copy() for name, array in arrays.items()}
    with pytest.raises(CheckpointError, match=words):
        epochs(9, save=tmp_path / "run.npz", show=False, **run)
    after = encode(mg.training.state.take(run), "", later := {})
    assert after == before and all(
        np.array_equal(arrays[name], later[name]) for name in arrays | later
    )


def test_a_part_that_refuses_late_takes_everything_back(tmp_path):
    class Counter:
        """Counts, and takes up no other count than its own."""

        count = 0

        def state_dict(self):
            return {"count": self.count}

        def load_state_dict(self, state):
            if state["count"] != self.count:
                raise KeyError("count")

    saved, log = Counter(), [1]
    saved.count = 5
    epochs(2, save=tmp_path / "run.npz", show=False, log=log, counter=saved)
    log, before = [7, 8], mg.random_state()
    with pytest.raises(CheckpointError, match=r"run\.npz does not fit this run: 'count'"):
        epochs(2, save=tmp_path / "run.npz", show=False, log=log, counter=Counter())
    assert log == [7, 8] and mg.random_state() == before


def test_an_interrupted_notebook_cell_is_run_again(tmp_path):
    """Live objects are restored, not replaced: changes after the last saved point are undone."""
    whole, _ = undisturbed(tmp_path / "whole.npz", 3)
    resumable_training.seed(1)
    run, left = resumable_training.parts(), [9]

    def step():
        left[0] -= 1
        if left[0] == 0:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        resumable_training.train(tmp_path / "run.npz", run, 3, step)
    resumable_training.train(tmp_path / "run.npz", run, 3)
    assert (tmp_path / "run.npz").read_bytes() == whole
