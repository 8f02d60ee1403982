"""The benchmarks' own honesty: engines that disagree are not timed, and what is reported is what
was measured.
"""

import gc
import importlib.util
import json
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

from benchmarks import (
    first_calls,
    growth,
    harness,
    machine,
    observing,
    peak_memory,
    report,
    threads,
    where,
    workloads,
)
from benchmarks.workloads import network_2_25, on_cuda, scalar_chain
from minigrad.program import kernel_files

ROOT = Path(__file__).resolve().parents[2]
SMALL = [f"small_{name}" for name in ("add", "multiply", "exp", "sum", "matmul")]


def workload(first, second, tolerance=1e-9) -> harness.Workload:
    # The names of modules that are always there stand for engines.
    return harness.Workload(
        "sum", "a sum", "one sum", {"json": lambda: first, "math": lambda: second}, tolerance
    )


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


def test_a_measurement_leaves_the_heap_frozen_where_it_was():
    """A later collection of the caller would search through all that it had frozen."""
    nothing_was_frozen = gc.get_freeze_count() == 0
    gc.freeze()
    before = gc.get_freeze_count()
    try:
        with harness.frozen_heap():
            pass
        assert gc.get_freeze_count() >= before
    finally:
        if nothing_was_frozen:
            gc.unfreeze()


class Clock:
    """A clock that goes on only during `sleep` and work, and what the process used of it
    until `busy_until`.
    """

    def __init__(self, monkeypatch, busy_until=0.0):
        self.now, self.busy_until = 0.0, busy_until
        monkeypatch.setattr(harness, "perf_counter", lambda: self.now)
        monkeypatch.setattr(harness, "process_time", lambda: min(self.now, self.busy_until))
        monkeypatch.setattr(harness, "sleep", self.go_on)

    def go_on(self, seconds):
        self.now += seconds


@pytest.mark.parametrize(
    ("busy_until", "slept", "waited"),
    [(0.0, True, 1), (0.09, True, 6), (1e9, False, round(harness.PATIENCE / harness.WINDOW))],
    ids=["at once", "after a while", "never"],
)
def test_the_pause_ends_when_no_thread_uses_a_processor(monkeypatch, busy_until, slept, waited):
    clock = Clock(monkeypatch, busy_until)
    assert harness.let_threads_sleep() is slept
    assert clock.now == pytest.approx(
        waited * harness.WINDOW, abs=harness.WINDOW * (0.1 if slept else 1.5)
    )


@pytest.mark.parametrize("count", [1, 2])
def test_with_more_than_one_thread_a_turn_begins_with_a_pause_and_a_run_that_is_not_timed(
    monkeypatch, count
):
    calls = []
    clock = Clock(monkeypatch)
    monkeypatch.setattr(harness, "let_threads_sleep", lambda: calls.append("pause"))

    def engine(name):
        def run():
            clock.now += 100.0 if calls and calls[-1] == "pause" else 1.0
            calls.append(name)
            return [np.array(1.0)]

        return run

    result = harness.measure(workload(engine("a"), engine("b")), repeat=2, warm_up=0, threads=count)
    turns = [call for name in "abba" for call in (["pause", name, name] if count > 1 else [name])]
    assert calls == ["a", "b", *["pause", "pause"] * (count - 1), *turns]
    assert [timing.seconds for timing in result.timings.values()] == [[1.0, 1.0]] * 2
    assert ("stopped spinning" in report.how(count)) is (count > 1)


def test_a_compiled_step_is_not_timed_before_it_is_ready(monkeypatch):
    """However few rounds there are: the first run is that of the comparison."""
    clock, calls = Clock(monkeypatch), []

    def compiled():
        calls.append(1)
        clock.now += 100.0 if len(calls) <= harness.COMPILING else 1.0
        return [np.array(1.0)]

    result = harness.measure(
        harness.Workload("one", "one", "one", {"minigrad compiled": lambda: compiled}, 0.0),
        repeat=1,
    )
    assert result.timings["minigrad compiled"].seconds == [1.0]


def test_minigrad_replays_within_the_runs_that_are_not_timed(monkeypatch):
    import minigrad as mg

    made = []
    compiled = mg.compile
    monkeypatch.setattr(mg, "compile", lambda step: made.append(compiled(step)) or made[-1])
    run = scalar_chain.minigrad_compiled(30)
    for _ in range(1 + harness.COMPILING):
        run()
    counted = dict(made[0].statistics)
    run()
    assert made[0].statistics == {**counted, "replayed": counted["replayed"] + 1}
    assert counted["replayed"] > 1, "the first replay still prepares itself"


def test_one_thread_and_more_take_turns(monkeypatch):
    calls = []
    clock = Clock(monkeypatch)

    def run():
        calls.append("run")
        clock.now += 1.0 / calls_threads()
        return [np.array(1.0)]

    def calls_threads():
        return next(call for call in reversed(calls) if call != "run")

    seconds = threads.measure(run, 4, 2, calls.append)
    assert seconds == {1: [1.0, 1.0], 4: [0.25, 0.25]}
    assert [call for call in calls if call != "run"] == [1, 4, *[1, 4, 4, 1], 4]
    assert threads._line("sum", "minigrad", seconds).endswith(
        "| 250.000 to 250.000 ms | 0.25 | 0.25 to 0.25 |"
    )


def test_one_thread_and_more_that_disagree_are_not_timed():
    count = [0]

    def build():
        return lambda: [np.array(float(count[0]))]

    wrong = harness.Workload("sum", "a sum", "one sum", {"minigrad": build}, 1e-9)
    with pytest.raises(harness.DisagreementError, match=r"minigrad with 2 thread\(s\)"):
        threads.agree(wrong, "minigrad", 2, lambda number: count.__setitem__(0, number))


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (2.5, "2.5 s"),
        (0.0123, "12.3 ms"),
        (1e-6, "1 µs"),
        (4.56e-7, "456 ns"),
        (1e-10, "0.1 ns"),
        (0.0, "0 ns"),
    ],
)
def test_a_duration_has_the_unit_that_suits_it(seconds, shown):
    assert growth.duration(seconds) == shown


def test_the_cost_of_a_unit_is_the_time_over_the_units():
    series = growth.Series(
        "Sums",
        "rows",
        (10,),
        "entry",
        lambda rows: float(rows**2),
        lambda rows: pytest.fail("is not run"),
    )
    timings = {
        "minigrad": harness.Timing([1e-3] * 3, [0.5] * 3, 800),
        "torch": harness.Timing([2e-3] * 3, [1.0] * 3),
    }
    result = harness.Result(scalar_chain.WORKLOADS[0], timings, ["jax"], 0.0)
    lines = growth.table("sums", series, [growth.Point(10, series.units(10), result)]).splitlines()
    assert lines[-5].endswith("| peak memory per entry |")
    assert (
        lines[-3]
        == "| 10 | minigrad | 1 ms | 10 µs | 10 µs to 10 µs | 0.50 | 0.50 to 0.50 | 8 bytes |"
    )
    assert lines[-2] == "| 10 | torch | 2 ms | 20 µs | 20 µs to 20 µs | 1.00 | 1.00 to 1.00 | - |"
    assert lines[-1].startswith("| 10 | jax | not installed |")
    assert {line.count("|") for line in lines[-5:]} == {9}
    assert growth._figures(growth.Point(10, 100.0, result))["engines"]["torch"]["seconds_per_unit"][
        "median"
    ] == pytest.approx(2e-5)


def test_every_series_grows_and_has_units_in_proportion_to_its_work():
    expected = {
        "network": (100, 100_000, 1e3),
        "chain": (1_000, 1_000_000, 1e3),
        "products": (64, 2048, 32.0**3),
        "jacobian": (25, 400, 256.0),
        "cnn": (4, 64, 16.0),
    }
    found = growth.load()
    assert {
        name: (
            series.sizes[0],
            series.sizes[-1],
            series.units(series.sizes[-1]) / series.units(series.sizes[0]),
        )
        for name, series in found.items()
    } == {
        name: (first, last, pytest.approx(ratio)) for name, (first, last, ratio) in expected.items()
    }
    assert all(list(series.sizes) == sorted(set(series.sizes)) for series in found.values())
    compiled = {
        name: ["minigrad compiled" in s.workload(size).peers for size in s.sizes]
        for name, s in found.items()
    }
    assert compiled == {
        "network": [True] * 4,
        "chain": [True, True, False, False],
        "products": [False] * 6,
        "jacobian": [False] * 5,
        "cnn": [True] * 5,
    }


def test_the_workload_of_a_series_has_the_size_that_it_claims():
    found = growth.load()
    assert found["jacobian"].workload(25).peers["minigrad"]()()[0].shape == (25, 25)
    assert found["products"].workload(64).peers["minigrad"]()()[1].shape == (64, 64)
    for points in (100, 1_000):
        for a, b in zip(
            found["network"].workload(points).peers["minigrad"]()(),
            network_2_25.ENGINES["minigrad"](points)(),
            strict=True,
        ):
            np.testing.assert_array_equal(a, b)


def test_memory_is_measured_at_the_sizes_that_are_workloads_of_their_own(monkeypatch):
    monkeypatch.setattr(peak_memory, "measure", lambda workload, peer: 7)
    monkeypatch.setattr(harness, "measure", lambda work, repeat, peak, **_: peak(work, "torch"))
    chain = growth.load()["chain"]
    peaks = [growth.measure(chain, size, repeat=2, threads=1).result for size in chain.sizes]
    assert peaks == [None, 7, 7, 7]


@pytest.mark.whole
def test_growth_is_measured_by_a_command(tmp_path):
    chosen = ["network", "--up-to", "1000", "--repeat", "2"]
    done = run_module("benchmarks.growth", *chosen, "--out", str(tmp_path))
    assert done.returncode == 0, done.stderr
    kept = json.loads((tmp_path / "growth-threads1.json").read_text())
    points = kept["series"]["network"]["points"]
    assert [point["size"] for point in points] == [100, 1_000]
    for point in points:
        assert len(point["engines"]["minigrad compiled"]["every_run_seconds"]) == 2
    assert (tmp_path / "growth-threads1.md").read_text().splitlines()[-1] in done.stdout


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (
            ["no_such_series"],
            "there is no series no_such_series; there are network, chain, products, jacobian, cnn",
        ),
        (
            ["products", "--up-to", "10"],
            "--up-to 10 leaves no size of products, which begins with 64 rows",
        ),
        (["--threads", "0"], "argument --threads: '0' is not a whole number from 1 on"),
    ],
)
def test_the_command_on_growth_says_what_is_wrong(monkeypatch, capsys, arguments, says):
    monkeypatch.setattr(machine, "limit_threads", lambda _: None)
    with pytest.raises(SystemExit) as end:
        growth.main(arguments)
    assert end.value.code == 2
    assert says in capsys.readouterr().err


@pytest.mark.whole
def test_two_threads_are_compared_with_one_by_a_command(tmp_path):
    pytest.importorskip("threadpoolctl")
    done = run_module("benchmarks.threads", "small_add", "--repeat", "2", "--out", str(tmp_path))
    assert done.returncode == 0, done.stderr
    kept = json.loads((tmp_path / "threads.json").read_text())
    engines = ["minigrad", "minigrad compiled"]
    engines += ["minigrad fused"] if importlib.util.find_spec("numba") else []
    assert [(found["workload"], found["engine"]) for found in kept["measured"]] == [
        ("small_add", engine) for engine in engines
    ]
    for found in kept["measured"]:
        assert {
            count: len(own["every_run"]) for count, own in found["seconds_by_threads"].items()
        } == {"1": 2, "2": 2}
        assert found["ratio_to_one_thread"]["median"] > 0
    assert (tmp_path / "threads.md").read_text().splitlines()[-1] in done.stdout


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["no_such_workload"], "there is no workload no_such_workload; there are cnn_step"),
        (["network_2_25_cuda"], "there is no workload network_2_25_cuda"),
        (["--threads", "1"], "argument --threads: '1' is not a whole number from 2 on"),
        (["--repeat", "0"], "argument --repeat: '0' is not a whole number from 1 on"),
        ([], "threadpoolctl is not installed"),
    ],
)
def test_the_command_on_threads_says_what_is_wrong(monkeypatch, capsys, arguments, says):
    monkeypatch.setitem(sys.modules, "threadpoolctl", None)
    monkeypatch.setattr(
        machine, "limit_threads", lambda _: None
    )  # the environment of this process stays
    with pytest.raises(SystemExit) as end:
        threads.main(arguments)
    assert end.value.code == 2
    assert says in capsys.readouterr().err


def test_an_engine_that_is_not_installed_is_named_and_left_out(tmp_path):
    peers = {
        "json": lambda: lambda: [np.array(1.0)],
        "no_such_engine": lambda: pytest.fail("was built"),
    }
    result = harness.measure(harness.Workload("one", "one", "one", peers, 0.0), repeat=2)
    assert result.missing == ["no_such_engine"]
    assert "no_such_engine | not installed" in report.table([result])


def test_a_folder_with_the_name_of_an_engine_is_not_that_engine(tmp_path, monkeypatch):
    (tmp_path / "engine_of_this_name").mkdir()
    monkeypatch.syspath_prepend(tmp_path)
    assert not harness.is_installed("engine_of_this_name")
    (tmp_path / "another_engine").mkdir()
    (tmp_path / "another_engine" / "__init__.py").write_text("")
    assert harness.is_installed("another_engine") and harness.is_installed("minigrad")


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
    assert (
        "| minigrad | 2.000 ms | 1.500 to 2.500 ms | 0.50 | 0.38 to 0.62 | 3.0 MiB |"
        in table_path.read_text()
    )
    kept = json.loads(json_path.read_text())
    assert kept["peers"]["minigrad"]["ratio_to_torch"] == {
        "lower_quartile": 0.375,
        "median": 0.5,
        "upper_quartile": 0.625,
    }
    assert kept["peers"]["torch"]["every_run_seconds"] == [0.002, 0.008, 0.004]
    assert kept["cpu"] == "a cpu"
    assert [kept["peers"][name]["peak_bytes"] for name in ("minigrad", "torch")] == [3 << 20, None]


@pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="only Linux tells a process's high-water mark"
)
def test_the_peak_is_what_a_run_has_at_once_of_a_compiled_step_what_a_replay_has():
    code = """
        import numpy as np
        from benchmarks import peak_memory

        def in_turn():
            for _ in range(8):
                np.ones(1 << 21).sum()  # 16 MiB, freed each time

        def at_once():
            return [np.ones(1 << 21) for _ in range(8)]

        def compiled():
            runs = iter([at_once] * 5)
            return lambda: next(runs, in_turn)()

        print(*(peak_memory.rise(*how) for how in
            [(lambda: in_turn,), (lambda: at_once,), (compiled,), (compiled, 5)]))
    """  # in a process of its own: what earlier tests left in this one may be given back meanwhile
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    if "None" in done.stdout:
        pytest.skip("this kernel does not let a process reset its high-water mark")
    in_turn, at_once, first, replayed = (int(peak) / 2**20 for peak in done.stdout.split())
    assert 15 < in_turn < 40 and 15 < replayed < 40
    assert 120 < at_once < 150 and 120 < first < 150


def test_the_peak_of_a_peer_is_taken_in_a_process_of_its_own():
    found = peak_memory.measure(workloads.load()["small_add"], "minigrad")
    assert found is None or 0 <= found < 64 << 20
    with pytest.raises(RuntimeError, match="no_such_peer"):
        peak_memory.measure(workloads.load()["small_add"], "no_such_peer")


@pytest.mark.parametrize("operations", [1, 2, 3, 10, 100])
def test_the_chain_has_the_operations_that_it_claims(operations):
    """Counted by an engine that only counts; and the derivative of a chain is the product of its
    links' derivatives.
    """

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
    epoch = network_2_25.ENGINES["minigrad"](points=200)
    losses = [float(epoch()[0]) for _ in range(300)]
    assert losses[-1] < 0.9 * losses[0]


@pytest.mark.oracle
def test_the_network_is_the_same_in_both_engines(torch):
    """Three epochs in float64, where rounding cannot hide a difference."""
    ours, theirs = (
        network_2_25.ENGINES["minigrad"](100, np.float64),
        network_2_25.ENGINES["torch"](100, np.float64),
    )
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
    "name",
    [
        name
        for name, w in workloads.load().items()
        if w.device == "cpu" and not name.startswith(("scalar_chain", "cnn", "large"))
    ],
)
def test_the_engines_agree_on_each_workload(torch, name):
    """What `measure` insists on before it times anything; the largest workloads are left to it."""
    workload = workloads.load()[name]
    here = {
        peer: build
        for peer, build in workload.peers.items()
        if peer.partition(" ")[0] in ("minigrad", "torch") and harness.is_available(peer)
    }
    assert len(here) >= 2
    harness.check_agreement(workload, {peer: build()() for peer, build in here.items()})


FURTHER = {
    "autograd": {
        "network_2_25",
        "two_moons",
        "scalar_chain",
        "jacobian_200",
        "hessian_100",
        *SMALL,
    },
    "mygrad": {"network_2_25", "two_moons", "scalar_chain", *SMALL},
    "jax": {
        "network_2_25",
        "two_moons",
        "scalar_chain",
        "lstm_step",
        "transformer_step",
        "cnn_step",
        "jacobian_200",
        "hessian_100",
        *SMALL,
    },
}
"""Where the further engines are peers, beside large_products."""


def test_each_further_engine_is_where_it_can_be_and_its_version_is_reported():
    for package, names in FURTHER.items():
        found = {
            name
            for name, w in workloads.load().items()
            if package in {peer.partition(" ")[0] for peer in w.peers}
        }
        assert found == names | {"large_products"}
    packages = {peer.partition(" ")[0] for w in workloads.load().values() for peer in w.peers}
    assert packages <= set(machine.PACKAGES)
    assert "jax not installed" in report.heading({**machine.describe(1), "versions": {"jax": None}})


@pytest.mark.parametrize("package", FURTHER)
def test_each_further_engine_agrees_with_minigrad(package):
    """In a process of its own: JAX has threads, and a process with threads must not be forked by
    another test.
    """
    if not harness.is_installed(package):
        pytest.skip(f"{package} is not installed: pip install {package}")
    code = f"""
        from benchmarks import machine
        machine.limit_threads(1)
        from functools import partial
        import numpy as np
        from benchmarks import harness, peers, workloads
        from benchmarks.workloads import large_products, network_2_25, scalar_chain

        def runs(ours, theirs):
            theirs = {{name: build()
                for name, build in theirs.items() if name.partition(" ")[0] == "{package}"}}
            return {{"minigrad": ours(), **theirs}} if theirs else {{}}

        def agree(workload, runs):
            harness.check_agreement(workload, {{name: run() for name, run in runs.items()}})

        network = partial(network_2_25.functional, 100, np.float64)
        both = runs(partial(network_2_25.ENGINES["minigrad"], 100, np.float64),
            peers.descending(network))
        for _ in range(3):
            first, *others = [run() for run in both.values()]
            assert len(others) == 1
            for a, b in zip(first, others[0], strict=True):
                assert a.dtype == b.dtype == np.float64, (a.dtype, b.dtype)
                np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-13)

        known = workloads.load()
        chains = {{**peers.differentiating(partial(scalar_chain.functional, 10)),
            "jax jit": partial(scalar_chain.jax_loop, 10)}}
        agree(known["scalar_chain"], runs(partial(scalar_chain.minigrad, 10), chains))
        for name, workload in known.items():
            both = (runs(workload.peers["minigrad"], workload.peers)
                if name != "large_products" else {{}})
            if both:
                agree(workload, both)
                agree(workload, both)  # of a training step: with the parameters of the first
                print(name)
        small = runs(partial(large_products.ENGINES["minigrad"], 7),
            peers.differentiating(partial(large_products.functional, 7)))
        agree(known["large_products"], small)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert set(done.stdout.split()) == FURTHER[package]


def run_module(*arguments: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-m", *arguments], cwd=ROOT, capture_output=True, text=True
    )


def run(*arguments: str) -> subprocess.CompletedProcess:
    return run_module("benchmarks", *arguments)


@pytest.mark.whole
def test_the_command_measures_and_keeps_the_figures(tmp_path):
    done = run("small_matmul", "--repeat", "2", "--threads", "2", "--out", str(tmp_path))
    assert done.returncode == 0, done.stderr
    kept = json.loads((tmp_path / "small_matmul-threads2.json").read_text())
    assert kept["threads"] == 2
    assert kept["command"].startswith("python -m benchmarks small_matmul --repeat 2")
    assert len(kept["peers"]["minigrad"]["every_run_seconds"]) == 2
    assert "small_matmul" in done.stdout


def test_the_command_names_what_it_does_not_know():
    done = run("no_such_workload")
    assert done.returncode == 2
    assert "scalar_chain" in done.stderr
    assert {line.split()[0] for line in run("--list").stdout.splitlines()} == set(workloads.load())


@pytest.mark.parametrize("module", ["benchmarks", "benchmarks.growth"])
def test_a_folder_that_cannot_be_is_named_before_anything_is_measured(module, tmp_path):
    (tmp_path / "file").write_text("")
    done = run_module(module, "--out", str(tmp_path / "file"))
    assert done.returncode == 2 and "cannot be a folder" in done.stderr and not done.stdout


def test_the_engine_without_questions_computes_the_same():
    functions = observing.asking()
    assert {"run", "run_pass"} <= {f.__name__ for f in functions}
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
        assert (
            harness.check_agreement(found, {peer: once() for peer, once in runs.items()})
            <= found.tolerance
        )


@pytest.mark.skipif(harness.is_installed("minigrad", "cuda"), reason="there is a CUDA device")
def test_without_a_gpu_its_workloads_are_left_out_and_asked_for_they_say_why():
    assert all(w.device == "cuda" for w in on_cuda.WORKLOADS) and not harness.is_installed(
        "minigrad", "cuda"
    )
    done = run("network_2_25_cuda")
    assert done.returncode == 2 and "network_2_25_cuda needs a CUDA device" in done.stderr


@pytest.mark.gpu
@pytest.mark.parametrize("found", on_cuda.WORKLOADS, ids=lambda w: w.name)
def test_the_workloads_agree_on_a_gpu(found):
    there = {
        peer: build()
        for peer, build in found.peers.items()
        if harness.is_installed(peer.partition(" ")[0], found.device)
    }
    assert (
        harness.check_agreement(found, {peer: once() for peer, once in there.items()})
        <= found.tolerance
    )


def test_where_the_time_of_a_step_goes() -> None:
    """Each line counts as what it calls; the parts of a step and the rest of it are the whole."""
    calls = {
        "v13.dot(v6, out=v14)": "products",
        "matmul(v1, v2, out=v3)": "products",
        "v5 = convolve_5(v1, v2)": "products",
        "v6 = v5.dot(ones_100_float32)": "NumPy",
        "fused_add_relu_3(v13, v6, v14)": "kernels",
        "add(v13, v6, out=v14)": "NumPy",
    }
    assert {line: where.kind_of(line) for line in calls} == calls
    found = where.profile(where.compiled_step("two_moons", "minigrad compiled"))
    whole = found.pop("whole")
    assert [*found] == ["products", "kernels", "NumPy", "Python"] and found["kernels"] == 0
    assert min(found["products"], found["NumPy"]) > 0 and sum(found.values()) >= 0.99 * whole


def test_plain_steps_while_kernels_are_compiled_are_first_calls(monkeypatch, tmp_path):
    if not harness.is_available("minigrad fused"):
        pytest.skip("Numba is not installed")
    monkeypatch.setenv("MINIGRAD_KERNELS", str(tmp_path))
    monkeypatch.setenv("MINIGRAD_KERNELS_WAIT", "0")
    kernel_files.compiled.cache_clear()  # other tests may have compiled the same kernels
    found = first_calls.first_calls("small_add", "minigrad fused")
    assert len(found["before"]) > 5 and list(tmp_path.glob("k*.py"))


@pytest.mark.parametrize("peer", ["minigrad compiled", "minigrad fused"])
def test_first_calls_are_all_calls_up_to_the_first_replay_as_asked_for(peer, monkeypatch, tmp_path):
    if not harness.is_available(peer):
        pytest.skip("Numba is not installed")
    monkeypatch.setenv("MINIGRAD_KERNELS", str(tmp_path))
    monkeypatch.setenv("MINIGRAD_KERNELS_WAIT", "1")
    kernel_files.compiled.cache_clear()  # other tests may have compiled the same kernels
    found = first_calls.first_calls("two_moons", peer)
    assert len(found["before"]) == 5, (
        "one plain call, two recorded, the first replay, the one asked for"
    )
    assert len(found["later"]) == first_calls.LATER
    assert bool(list(tmp_path.glob("k*.py"))) == (peer == "minigrad fused")
    line = first_calls._line("two_moons", "a process", found, tmp_path)
    assert line.count("|") == first_calls.HEAD.count("|") and line.endswith("MiB |") == (
        peer == "minigrad fused"
    )


def test_the_command_on_first_calls_says_what_it_does_not_know():
    done = run_module("benchmarks.first_calls", "large_products")
    assert done.returncode == 2 and "two_moons" in done.stderr


def test_a_step_that_will_never_be_replayed_as_asked_for_is_an_error(monkeypatch):
    if not harness.is_available("minigrad fused"):
        pytest.skip("Numba is not installed")
    import minigrad as mg

    for function, says in (
        (lambda: mg.ones(3, 3) @ mg.ones(3, 3), "no chain"),
        (lambda: float(mg.ones(3).sum()), "Python asked for a value"),
    ):
        with pytest.warns(mg.program.EagerWarning):
            step = mg.compile(function, fuse=True)
            monkeypatch.setattr(where, "built", lambda *_, step=step: (step, step))
            with pytest.raises(RuntimeError, match=says):
                first_calls.first_calls("a step", "minigrad fused")
