"""The trainings of the documents: they learn, they report what they measured, and they notice
when two engines part.
"""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import minigrad as mg
from benchmarks.harness import DisagreementError
from benchmarks.machine import THREADS
from benchmarks.trainings import disc
from benchmarks.trainings.__main__ import keep, main

ROOT = Path(__file__).resolve().parents[2]
needs_digits = pytest.mark.skipif(
    importlib.util.find_spec("sklearn") is None,
    reason='scikit-learn is not installed: pip install "minigrad[lab]"',
)


def test_the_disc_is_learnt():
    measures = disc.train(mg, seed=0, epochs=120).measures
    assert measures.shape == (120, 4)
    assert measures[-1, 0] < 0.1 * measures[0, 0] and measures[-1, 1] < 0.2 * measures[0, 1]
    assert measures[-1, 2] > 0.97 and measures[-1, 3] > 0.96


def test_repeats_differ_and_can_be_repeated():
    first, second = (disc.train(mg, seed, 3).measures for seed in (0, 1))
    assert np.array_equal(first, disc.train(mg, 0, 3).measures) and not np.array_equal(
        first, second
    )


@pytest.mark.oracle
def test_both_engines_walk_the_same_way(torch):
    results = disc.run({"minigrad": mg, "torch": torch}, repeats=2, epochs=12)
    ours, theirs = ([repeat.measures for repeat in results[name]] for name in ("minigrad", "torch"))
    np.testing.assert_allclose(
        ours, theirs, rtol=1e-3, atol=2e-3
    )  # one of 1,000 points may fall on the other side
    assert "times torch's time" in disc.report(results, 12)


def test_engines_that_part_are_noticed(monkeypatch):
    class Slower:
        """minigrad with another learning rate."""

        class optim:
            @staticmethod
            def Adam(parameters, lr):
                return mg.optim.Adam(parameters, lr=lr / 2)

        nn, tensor, no_grad = mg.nn, staticmethod(mg.tensor), staticmethod(mg.no_grad)

    with pytest.raises(DisagreementError, match="repeat 0"):
        disc.run({"minigrad": mg, "other": Slower}, repeats=1, epochs=3)


def test_the_table_holds_medians_and_deviations_of_the_last_epoch():
    repeats = [
        disc.Repeat(np.array([[9.0, 9, 9, 9], [v, 2 * v, v / 10, v / 20]]), seconds=v)
        for v in (1.0, 2.0, 6.0)
    ]
    text = disc.report({"minigrad": repeats, "torch": repeats[::-1]}, epochs=2)
    spread = np.std([1, 2, 6])
    assert f"| Train dataset | 2.0000 ± {spread:.4f} | 0.200 ± {spread / 10:.4f} |" in text
    assert f"| Test dataset | 4.0000 ± {2 * spread:.4f} | 0.100 ± {spread / 20:.4f} |" in text
    assert "| minigrad | 3.000 s | 2.000 s |" in text and "takes 1.00 times torch's time" in text
    assert "not installed" in disc.report({"minigrad": repeats}, epochs=2)


def test_the_command_draws_curves_and_keeps_its_figures(tmp_path, capsys, monkeypatch):
    pytest.importorskip(
        "matplotlib", reason='matplotlib is not installed: pip install "minigrad[viz]"'
    )
    for variable in THREADS:
        monkeypatch.setenv(variable, "1")  # main sets them too; this takes them back afterwards
    assert (
        main(
            [
                "disc",
                "--repeats",
                "1",
                "--epochs",
                "2",
                "--curves",
                str(tmp_path / "new"),
                "--out",
                str(tmp_path),
            ]
        )
        == 0
    )
    assert (tmp_path / "new" / "trainings_disc.png").read_bytes().startswith(b"\x89PNG")
    kept = (tmp_path / "trainings.md").read_text(encoding="utf-8")
    assert (
        kept.startswith("## disc\n\n20")
        and "`python -m benchmarks.trainings disc --repeats 1" in kept
    )
    assert "| Train dataset |" in kept and "| Train dataset |" in capsys.readouterr().out


def test_keeping_one_section_leaves_the_others(tmp_path):
    keep(tmp_path, "one", "first\n\n### inner\ntext")
    keep(tmp_path, "two", "second")
    keep(tmp_path, "two", "third")
    assert (tmp_path / "trainings.md").read_text(
        encoding="utf-8"
    ) == "## one\n\nfirst\n\n### inner\ntext\n\n## two\n\nthird\n"


@pytest.mark.parametrize(
    "arguments", [["disc", "--epochs", "0"], ["disc", "--repeats", "-1"], ["nothing"], []]
)
def test_arguments_that_make_no_sense_are_refused(arguments):
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    assert stopped.value.code == 2


@pytest.mark.whole
@needs_digits
def test_the_documents_network_reads_97_of_100_digits():
    # In a process of its own, so that the number of threads can be set before the libraries are
    # loaded.
    command = [sys.executable, "-m", "benchmarks.trainings", "digits"]
    printed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    figure = re.search(r"Test accuracy ([\d.]+)%", printed)
    assert figure is not None and float(figure[1]) >= 97, printed


@needs_digits
def test_the_training_switch_is_left_as_it_was(monkeypatch):
    from benchmarks.trainings import digits

    data = digits.digits()
    monkeypatch.setattr(digits, "digits", lambda: mg.data.Subset(data, range(digits.TEST + 5)))
    for switch in (False, True):
        monkeypatch.setattr(mg.autograd, "training", switch)
        told = []
        assert 0 <= digits.train(1, tell=told.append) <= 1 and len(told) == 1
        assert mg.autograd.training is switch


@needs_digits
def test_an_interrupted_training_goes_on(monkeypatch, tmp_path, capsys):
    from benchmarks.trainings import digits

    data = digits.digits()
    monkeypatch.setattr(digits, "digits", lambda: mg.data.Subset(data, range(digits.TEST + 70)))
    whole = digits.train(3, seed=1, save=tmp_path / "whole.npz")
    digits.train(1, seed=1, save=tmp_path / "run.npz")
    assert (
        digits.train(3, seed=1, save=tmp_path / "run.npz")
        == digits.train(3, seed=1, save=tmp_path / "run.npz")
        == whole
    )
    assert (tmp_path / "run.npz").read_bytes() == (tmp_path / "whole.npz").read_bytes()
    assert [line[:8] for line in capsys.readouterr().out.splitlines()] == [
        f"epoch  {i}" for i in (1, 2, 3, 1, 2, 3)
    ]
