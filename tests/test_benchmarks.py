"""The benchmarks' own honesty: engines that disagree are not timed, and what is reported is what was measured."""

import json
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

from benchmarks import harness, observing, peak_memory, report, workloads
from benchmarks.workloads import network_2_25, on_cuda, scalar_chain

ROOT = Path(__file__).resolve().parents[1]


def workload(first, second, tolerance=1e-9) -> harness.Workload:
    # The names of modules that are always there stand for engines.
    return harness.Workload("sum", "a sum", "one sum", {"json": lambda: first, "math": lambda: second}, tolerance)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: [np.array([1.0, 2.001])],
        lambda: [np.array([1.0, np.nan])],
        lambda: [np.array([1.0])],
        lambda: [np.array([1.0, 2.0]), np.array(1.0)],
        lambda: [],
    ],
    ids=["value", "nan", "shape", "one too many", "nothing"],
)
def test_engines_that_disagree_are_not_timed(wrong):
    with pytest.raises(harness.DisagreementError, match="sum"):
        harness.measure(workload(lambda: [np.array([1.0, 2.0])], wrong), repeat=1)


def test_engines_take_turns_and_each_goes_first_in_turn():
    calls = []

    def engine(name):
        def run():
            calls.append(name)
            return [np.array(1.0)]

        return run

    result = harness.measure(workload(engine("a"), engine("b")), repeat=4, warm_up=0)
    assert calls == ["a", "b"] + ["a", "b", "b", "a"] * 2
    assert {len(timing.seconds) for timing in result.timings.values()} == {4}


def test_an_engine_that_is_not_installed_is_named_and_left_out(tmp_path):
    peers = {"json": lambda: lambda: [np.array(1.0)], "no_such_engine": lambda: pytest.fail("was built")}
    result = harness.measure(harness.Workload("one", "one", "one", peers, 0.0), repeat=2)
    assert result.missing == ["no_such_engine"]
    assert "no_such_engine | not installed" in report.table([result])


def test_the_report_holds_the_figures(tmp_path):
    timings = {
        "minigrad": harness.Timing([0.001, 0.002, 0.003], [0.5, 0.25, 0.75], 3 << 20),
        "torch": harness.Timing([0.002, 0.008, 0.004], [1.0] * 3),
    }
    result = harness.Result(scalar_chain.WORKLOADS[0], timings, [], 1e-15)
    facts = {
        "date": "today",
        "cpu": "a cpu",
        "cores": 2,
        "threads": 1,
        "load": 0.1,
        "python": "3",
        "versions": {"numpy": "2"},
        "command": "c",
    }
    json_path, table_path = report.write(tmp_path / "new", facts, [result])
    assert "| minigrad | 2.000 ms | 1.500 to 2.500 ms | 0.50 | 0.38 to 0.62 | 3.0 MiB |" in table_path.read_text()
    kept = json.loads(json_path.read_text())
    assert kept["peers"]["minigrad"]["ratio_to_torch"] == {"lower_quartile": 0.375, "median": 0.5, "upper_quartile": 0.625}
    assert kept["peers"]["torch"]["every_run_seconds"] == [0.002, 0.008, 0.004]
    assert kept["cpu"] == "a cpu"
    assert [kept["peers"][name]["peak_bytes"] for name in ("minigrad", "torch")] == [3 << 20, None]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux tells a process's high-water mark")
def test_the_peak_is_what_a_run_has_at_once_and_not_what_it_has_in_all():
    code = """
        import numpy as np
        from benchmarks import peak_memory

        def in_turn():
            for _ in range(8):
                np.ones(1 << 21).sum()  # 16 MiB, freed each time

        print(*(peak_memory.rise(run) for run in (in_turn, lambda: [np.ones(1 << 21) for _ in range(8)])))
    """  # in a process of its own: what earlier tests left in this one may be given back meanwhile
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], cwd=ROOT, capture_output=True, text=True, check=True)
    if "None" in done.stdout:
        pytest.skip("this kernel does not let a process reset its high-water mark")
    in_turn, at_once = (int(peak) / 2**20 for peak in done.stdout.split())
    assert 15 < in_turn < 40
    assert 120 < at_once < 150


def test_the_peak_of_a_peer_is_taken_in_a_process_of_its_own():
    found = peak_memory.measure(workloads.load()["small_add"], "minigrad")
    assert found is None or 0 <= found < 64 << 20
    with pytest.raises(RuntimeError, match="no_such_peer"):
        peak_memory.measure(workloads.load()["small_add"], "no_such_peer")


@pytest.mark.parametrize("operations", [1, 2, 3, 10, 100])
def test_the_chain_has_the_operations_that_it_claims(operations):
    """Counted by an engine that only counts; and the derivative of a chain is the product of its links' derivatives."""

    class Counter:
        count = 0

        def __mul__(self, other):
            Counter.count += 1
            return self

        __add__ = __mul__

    scalar_chain._chain(lambda x: x * 1, Counter(), operations)
    assert Counter.count == operations
    value, slope = scalar_chain.minigrad(operations)()
    x, expected = scalar_chain.START, 1.0
    for _ in range(operations // 3):
        x, expected = 0.9 * np.sin(x) + 0.1, expected * 0.9 * np.cos(x)
    for _ in range(operations % 3):
        x, expected = np.sin(x), expected * np.cos(x)
    assert value == pytest.approx(x, rel=1e-13)
    assert slope == pytest.approx(expected, rel=1e-12)


def test_the_network_learns():
    epoch = network_2_25.minigrad(points=200)
    losses = [float(epoch()[0]) for _ in range(300)]
    assert losses[-1] < 0.9 * losses[0]


@pytest.mark.oracle
def test_the_network_is_the_same_in_both_engines(torch):
    """Three epochs in float64, where rounding cannot hide a difference."""
    ours, theirs = network_2_25.minigrad(100, np.float64), network_2_25.torch(100, np.float64)
    for _ in range(3):
        for a, b in zip(ours(), theirs(), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-14)


def test_every_workload_has_its_name_and_minigrad():
    for name, found in workloads.load().items():
        assert name == found.name
        assert "minigrad" in found.peers


@pytest.mark.oracle
@pytest.mark.filterwarnings("ignore::DeprecationWarning:torch.*")
@pytest.mark.parametrize(
    "name", [name for name, w in workloads.load().items() if w.device == "cpu" and not name.startswith(("scalar_chain", "cnn", "large"))]
)
def test_the_engines_agree_on_each_workload(torch, name):
    """What `measure` insists on before it times anything; the largest workloads are left to it."""
    workload = workloads.load()[name]
    harness.check_agreement(workload, {peer: build()() for peer, build in workload.peers.items()})


def run(*arguments: str) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, "-m", "benchmarks", *arguments], cwd=ROOT, capture_output=True, text=True)


def test_the_command_measures_and_keeps_the_figures(tmp_path):
    done = run("network_2_25", "--repeat", "2", "--threads", "2", "--out", str(tmp_path))
    assert done.returncode == 0, done.stderr
    kept = json.loads((tmp_path / "network_2_25-threads2.json").read_text())
    assert kept["threads"] == 2
    assert kept["command"].startswith("python -m benchmarks network_2_25 --repeat 2")
    assert len(kept["peers"]["minigrad"]["every_run_seconds"]) == 2
    assert "network_2_25" in done.stdout


def test_the_command_names_what_it_does_not_know():
    done = run("no_such_workload")
    assert done.returncode == 2
    assert "scalar_chain" in done.stderr
    assert {line.split()[0] for line in run("--list").stdout.splitlines()} == set(workloads.load())


def test_the_engine_without_questions_computes_the_same():
    functions = observing.asking()
    assert {"apply", "differentiate", "run"} <= {f.__name__ for f in functions}
    before = [f.__code__ for f in functions]
    assert all("observers" not in observing.without_questions(f).co_names for f in functions)
    assert len(observing.measure(1)) == 1
    assert [f.__code__ for f in functions] == before, "the engine is as it was"


@pytest.mark.oracle
@pytest.mark.parametrize("name", ["network_2_25_cuda", "cnn_step_cuda"])
def test_what_runs_on_a_gpu_agrees_with_pytorch_on_the_cpu_too(name, torch):
    found = next(w for w in on_cuda.make("cpu") if w.name == name)
    runs = {peer: found.peers[peer]() for peer in ("minigrad", "minigrad compiled", "torch")}
    for _ in range(2):
        assert harness.check_agreement(found, {peer: once() for peer, once in runs.items()}) <= found.tolerance


@pytest.mark.skipif(harness.is_installed("minigrad", "cuda"), reason="there is a CUDA device")
def test_without_a_gpu_its_workloads_are_left_out_and_asked_for_they_say_why():
    assert all(w.device == "cuda" for w in on_cuda.WORKLOADS) and not harness.is_installed("minigrad", "cuda")
    done = run("network_2_25_cuda")
    assert done.returncode == 2 and "network_2_25_cuda needs a CUDA device" in done.stderr


@pytest.mark.gpu
@pytest.mark.parametrize("found", on_cuda.WORKLOADS, ids=lambda w: w.name)
def test_the_workloads_agree_on_a_gpu(found):
    there = {peer: build() for peer, build in found.peers.items() if harness.is_installed(peer.partition(" ")[0], found.device)}
    assert harness.check_agreement(found, {peer: once() for peer, once in there.items()}) <= found.tolerance
