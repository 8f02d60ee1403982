"""The profiler counts what ran, its times add up, and its time line is what Perfetto reads."""

import itertools
import json
import sqlite3
import sys
import threading
import time
import types

import numpy as np
import pytest

import minigrad as mg
from minigrad import backend, observers
from minigrad.autograd import profiler
from minigrad.autograd.profiler import load_nvprof, profile, record_function
from minigrad.autograd.profiler.events import SORT_KEYS, FunctionEvent
from minigrad.autograd.profiler.table import format_memory, format_time
from minigrad.core import observe
from minigrad.errors import AutogradError, DeviceError
from tests.helpers.fake_device import FakeArray


def network():
    x, w = mg.ones(4, 3, requires_grad=True), mg.ones(3, 2, requires_grad=True)
    mg.tanh(x @ w).sum().backward()


def counts(prof):
    return {e.key: e.count for e in prof.key_averages()}


def test_the_example_of_the_document():
    x = mg.randn((1, 1), requires_grad=True)
    with profile() as prof:
        for _ in range(100):
            y = x**2
            y.backward()
    averages = {e.key: e for e in prof.key_averages()}
    assert averages["PowBackward0"].count == averages["AccumulateGrad"].count == 100
    assert averages["pow"].count == 200, "once forward, once in its pullback"
    assert (
        averages["PowBackward0"].cpu_time_total > averages["PowBackward0"].self_cpu_time_total > 0
    )
    table = prof.key_averages().table(sort_by="self_cpu_time_total")
    names = [line.split()[0] for line in table.splitlines()[3:-2]]
    assert sorted(names) == sorted(averages)
    values = [averages[n].self_cpu_time_total for n in names]
    assert values == sorted(values, reverse=True)


def test_what_runs_is_counted_and_nested():
    with profile() as prof:
        network()
    top = [e.name for e in prof if e.cpu_parent is None]
    assert sorted(top) == sorted(
        [
            "matmul",
            "tanh",
            "sum",
            "SumBackward0",
            "TanhBackward0",
            "MmBackward0",
            "AccumulateGrad",
            "AccumulateGrad",
        ]
    )
    assert counts(prof)["matmul"] == 3, "one forward, two in its backward rule"
    backward = next(e for e in prof if e.name == "MmBackward0")
    assert {c.name for c in backward.cpu_children} >= {"matmul"}
    assert all(
        c.cpu_parent is backward and c.time_range.start >= backward.time_range.start
        for c in backward.cpu_children
    )
    assert all(c.time_range.end <= backward.time_range.end for c in backward.cpu_children)


def test_times_add_up():
    with profile() as prof:
        for _ in range(5):
            network()
    top = sum(e.cpu_time_total for e in prof if e.cpu_parent is None)
    assert 0 < prof.self_cpu_time_total <= top
    assert prof.self_cpu_time_total == pytest.approx(
        sum(e.self_cpu_time_total for e in prof.key_averages())
    )
    total = prof.total_average()
    assert total.count == len(prof)
    assert total.self_cpu_time_total == pytest.approx(prof.self_cpu_time_total)
    for event in prof:
        inside = sum(c.cpu_time_total for c in event.cpu_children)
        assert event.self_cpu_time_total + inside <= event.cpu_time_total + 1e-6
    starts = [e.time_range.start for e in prof]
    assert starts == sorted(starts)


def test_times_are_those_of_the_clock(monkeypatch):
    """With a clock that advances by one second at each reading every figure is known beforehand."""
    ticks = itertools.count(0, 1_000_000_000)
    monkeypatch.setattr(time, "perf_counter_ns", lambda: next(ticks))
    with profile() as prof, record_function("outer"):
        mg.ones(1) + 1
        mg.ones(1) + 1
    outer, first, second = prof.events()
    assert [e.cpu_time_total for e in (first, second)] == [1e6, 1e6]
    assert outer.cpu_time_total == 9e6, "two clock readings before, one after each operation's own"
    assert outer.self_cpu_time_total == 9e6 - 2e6 - outer.overhead
    assert outer.overhead == 4e6, "one second before each start, one after each stop"


def test_a_slow_operation_is_seen_to_be_slow():
    class Slow(mg.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            time.sleep(0.05)
            return x.clone()

        @staticmethod
        def backward(ctx, g):
            time.sleep(0.02)
            return g

    with profile() as prof:
        Slow.apply(mg.tensor(1.0, requires_grad=True)).backward()
    found = {e.key: e for e in prof.key_averages()}
    assert 50000.0 <= found["Slow"].self_cpu_time_total < 500000.0
    assert 20000.0 <= found["SlowBackward"].cpu_time_total < 500000.0


def test_forward_and_backward_share_a_sequence_number():
    with profile() as prof:
        network()
    forward = {e.sequence_nr: e.name for e in prof if e.phase == "forward" and e.sequence_nr >= 0}
    backward = {e.sequence_nr: e.name for e in prof if e.phase == "backward"}
    assert {(forward[n], name) for n, name in backward.items()} == {
        ("sum", "SumBackward0"),
        ("tanh", "TanhBackward0"),
        ("matmul", "MmBackward0"),
    }


def test_double_backward_is_correlated_as_well():
    x = mg.tensor(0.5, requires_grad=True)
    with profile() as prof:
        (slope,) = mg.autograd.grad(mg.sin(x), x, create_graph=True)
        slope.backward()
    made = {e.sequence_nr: e for e in prof if e.phase == "forward" and e.sequence_nr >= 0}
    second = next(e for e in prof if e.name == "CosBackward0")
    assert made[second.sequence_nr].name == "cos"
    assert made[second.sequence_nr].cpu_parent.name == "SinBackward0"


def test_forward_mode_writes_in_place_and_regions_have_names():
    with profile() as prof:
        with record_function("my part"):
            mg.func.jvp(mg.sin, (mg.tensor(1.0),), (mg.tensor(1.0),))
        mg.ones(3).add_(1)

        @record_function("decorated")
        def f():
            return mg.ones(2) * 2

        f()
    names = {e.name for e in prof}
    assert {"my part", "decorated", "sin (tangent)", "add (write in place)"} <= names
    part = next(e for e in prof if e.name == "my part")
    assert {"clone", "sin"} <= {c.name for c in part.cpu_children}
    with pytest.raises(ZeroDivisionError), profile() as prof, record_function("fails"):
        raise ZeroDivisionError
    assert [e.name for e in prof] == ["fails"]


def test_shapes_of_operands_are_recorded():
    with profile(record_shapes=True) as prof:
        network()
        mg.ones(5) * 2.0
    product = next(e for e in prof if e.name == "matmul")
    assert product.input_shapes == [[4, 3], [3, 2]]
    assert next(e for e in prof if e.name == "mul" and e.cpu_parent is None).input_shapes == [
        [5],
        [],
    ]
    grouped = prof.key_averages(group_by_input_shape=True)
    assert (
        len({str(e.input_shapes) for e in grouped if e.key == "matmul"})
        == sum(e.key == "matmul" for e in grouped)
        == 3
    )
    assert "[[4, 3], [3, 2]]" in grouped.table()
    assert "Input Shapes" not in prof.key_averages().table()
    with profile() as plain:
        network()
    with pytest.raises(AutogradError, match="record_shapes=True"):
        plain.key_averages(group_by_input_shape=True)


def test_stacks_of_the_caller_are_recorded():
    def first(x):
        return x * 2  # here

    with profile(with_stack=True) as prof:
        first(mg.ones(2))
        mg.ones(2) * 3
    innermost = [e.stack[0] for e in prof]
    assert "test_profiler.py(" in innermost[0] and innermost[0].endswith(": first")
    assert not any("minigrad/minigrad" in line for e in prof for line in e.stack)
    assert len(prof.key_averages(group_by_stack_n=1)) == 2 and len(prof.key_averages()) == 1
    assert "Source" in prof.key_averages(group_by_stack_n=1).table()
    with profile() as plain:
        network()
    with pytest.raises(AutogradError, match="with_stack=True"):
        plain.key_averages(group_by_stack_n=2)


def test_memory_is_what_was_allocated_less_what_was_freed():
    size = 1_000_000 * 8
    with profile(profile_memory=True) as prof:
        x = mg.zeros(1_000_000, dtype=mg.float64)
        y = x * 2
        with record_function("freed"):
            del y
            z = mg.sin(x)
            del z
    by_name = {e.name: e for e in prof}
    assert size <= by_name["mul"].cpu_memory_usage < size + 20_000
    assert by_name["sin"].self_cpu_memory_usage == pytest.approx(size, abs=20_000)
    assert by_name["freed"].cpu_memory_usage == pytest.approx(-size, abs=20_000)
    assert by_name["freed"].self_cpu_memory_usage == pytest.approx(-2 * size, abs=20_000)
    assert "CPU Mem" in prof.table() and "7.63 Mb" in prof.table()
    import tracemalloc

    assert not tracemalloc.is_tracing()


def test_the_profilers_own_memory_is_not_counted():
    x = mg.zeros(10, dtype=mg.float64)
    kept = [None] * 300
    with profile(profile_memory=True) as prof, record_function("many"):
        for i in range(300):
            kept[i] = x + 1
    many = next(e for e in prof if e.name == "many")
    assert len(many.cpu_children) == 300 and many.cpu_memory_usage > 300 * 80
    assert many.overhead_memory > 300 * 200, "the records of 300 events"
    assert abs(many.self_cpu_memory_usage) < 300 * 100, "the results belong to the operations"


def test_the_table_sorts_limits_and_fits():
    with profile() as prof:
        network()
    for key in SORT_KEYS:
        prof.key_averages().table(sort_by=key)
    with pytest.raises(ValueError, match=r"sort_by must be one of .*got 'time'"):
        prof.table(sort_by="time")
    by_count = prof.key_averages().table(sort_by="count", row_limit=1, header="most frequent")
    assert by_count.splitlines()[0] == "most frequent"
    assert f"… and {len(prof.key_averages()) - 1} more" in by_count
    assert len(by_count.splitlines()) == 8
    assert "… and" not in prof.table(row_limit=-1)
    rows = lambda text: [line.split()[0] for line in text.splitlines()[3:-2]]
    assert rows(prof.table()) == [e.name for e in prof]
    assert (
        rows(prof.table(top_level_events_only=True))
        == [e.name for e in prof if e.cpu_parent is None]
        != [e.name for e in prof]
    )
    assert all(len(line) <= 100 for line in prof.key_averages().table().splitlines())
    assert str(prof.events()) == prof.table() == str(prof)


def test_a_long_name_is_cut():
    with profile() as prof, record_function("a name " * 20):
        pass
    assert all(len(line) <= 100 for line in prof.table().splitlines()) and "…" in prof.table()


def test_times_are_shown_in_fitting_units():
    assert [format_time(t) for t in (0.5, 999.9994, 1000, 2.5e6)] == [
        "0.500us",
        "999.999us",
        "1.000ms",
        "2.500s",
    ]
    assert [format_memory(n) for n in (0, -8, 1023, 2048, 3 * 2**20, -(2**31))] == [
        "0 b",
        "-8 b",
        "1023 b",
        "2.00 Kb",
        "3.00 Mb",
        "-2.00 Gb",
    ]


def test_an_empty_profile_has_an_empty_table():
    with profile() as prof:
        pass
    assert len(prof) == 0 and prof.self_cpu_time_total == 0 and prof.total_average().count == 0
    assert "Self CPU time total: 0.000us" in prof.table()


def test_a_disabled_profile_is_an_ordinary_block():
    with profile(enabled=False) as prof:
        network()
        assert observe.observers == []
    assert len(prof) == 0 and list(prof) == []


def test_it_is_read_after_the_block_and_used_once():
    with profile() as prof:
        with pytest.raises(RuntimeError, match="not finished"):
            prof.table()
        assert "unfinished" in repr(prof) and "unfinished" in str(prof)
    with pytest.raises(RuntimeError, match="used before"), prof:
        pass


def test_after_an_exception_the_profile_holds_what_ran():
    with pytest.raises(ValueError, match=r"fit|broadcast|shape"), profile() as prof:
        mg.ones(2) + 1
        mg.ones(2) + mg.ones(3)
    assert counts(prof) == {"add": 2} and observe.observers == []


def test_profiles_nest_and_a_region_may_outlive_one():
    with profile() as outer:
        network()
        with profile() as inner:
            network()
    assert len(outer) == 2 * len(inner) > 0
    region = record_function("longer")
    with profile() as prof:
        region.__enter__()
        mg.ones(2) + 1
    region.__exit__(None, None, None)
    longer, add = prof.events()
    assert longer.cpu_time_total >= add.cpu_time_total > 0
    assert longer.time_range.end >= add.time_range.end


def test_it_sees_its_own_thread_only():
    with profile() as prof:
        thread = threading.Thread(target=network)
        thread.start()
        thread.join()
        mg.ones(2) * 3
    assert counts(prof) == {"mul": 1}


def test_results_are_the_same_bits_and_tensors_are_not_kept():
    import weakref

    x = mg.tensor([0.3, 0.4], requires_grad=True)
    plain = mg.autograd.grad((mg.sin(x) * x).sum(), x)[0].tolist()
    with profile(record_shapes=True, with_stack=True) as prof:
        y = mg.sin(x) * x
        (slope,) = mg.autograd.grad(y.sum(), x)
        gone = weakref.ref(y)
        del y
        assert gone() is None
    assert slope.tolist() == plain and len(prof) > 0


# ------------------------------------------------------------------------------------ the time line


def test_the_time_line_is_trace_event_json(tmp_path):
    with profile(record_shapes=True) as prof:
        network()
    prof.export_chrome_trace(tmp_path / "trace.json")
    document = json.loads((tmp_path / "trace.json").read_text())
    events = document["traceEvents"]
    complete = [e for e in events if e["ph"] == "X"]
    assert len(complete) == len(prof) and all(
        {"name", "cat", "ts", "dur", "pid", "tid"} <= e.keys() and e["dur"] >= 0 for e in complete
    )
    for a, b in itertools.combinations(
        complete, 2
    ):  # slices of one track nest or follow one another
        assert b["ts"] >= a["ts"] + a["dur"] or b["ts"] + b["dur"] <= a["ts"] + a["dur"] + 1e-9
    starts, ends = ({e["id"]: e for e in events if e["ph"] == p} for p in "sf")
    assert starts.keys() == ends.keys() and len(starts) == 3
    for number, start in starts.items():
        at = lambda flow: next(
            e["name"]
            for e in complete
            if e["ts"] == flow["ts"] and e["cat"] in ("forward", "backward")
        )
        assert at(ends[number]).lower() == {"matmul": "mm"}.get(at(start), at(start)) + "backward0"
        assert ends[number]["bp"] == "e" and start["ts"] < ends[number]["ts"]
    with pytest.raises(ValueError, match="averages"):
        prof.key_averages().export_chrome_trace(tmp_path / "no.json")


# ------------------------------------------------------------------------------------------ devices


@pytest.fixture
def fake_cuda(monkeypatch):
    """CuPy's profiling functions with a clock of their own: each recorded event is a millisecond
    later.
    """
    log, clock = [], itertools.count()

    class Recorded:
        def record(self):
            self.time = next(clock)

    nvtx = types.SimpleNamespace(
        RangePush=lambda name: log.append(name), RangePop=lambda: log.append("pop")
    )
    cuda = types.SimpleNamespace(
        Event=Recorded,
        nvtx=nvtx,
        runtime=types.SimpleNamespace(
            deviceSynchronize=lambda: log.append("synchronise"), getDeviceCount=lambda: 1
        ),
        get_elapsed_time=lambda a, b: float(b.time - a.time),
    )
    pool = types.SimpleNamespace(used_bytes=lambda: 100 * next(clock))
    library = types.SimpleNamespace(
        ndarray=FakeArray, cuda=cuda, get_default_memory_pool=lambda: pool
    )
    monkeypatch.setitem(backend.MODULES, FakeArray, library)
    monkeypatch.setitem(sys.modules, "cupy", library)
    return log


def test_without_a_device_there_is_a_clear_error(monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", None)
    for block in (profile(use_cuda=True), profiler.emit_nvtx()):
        with pytest.raises(DeviceError, match="no CUDA device with CuPy"), block:
            pass
    assert observe.observers == []
    with profiler.emit_nvtx(enabled=False):
        network()


def test_device_times_are_read_when_the_profile_has_ended(fake_cuda):
    with profile(use_cuda=True, profile_memory=True) as prof:
        mg.ones(2) * 2
        mg.ones(2) * 2
        assert fake_cuda == []
    assert fake_cuda == ["synchronise"]
    assert [e.self_cuda_time_total for e in prof] == [1000.0, 1000.0]
    assert prof.total_average().cuda_time == 1000.0
    assert "Self CUDA" in prof.table(sort_by="cuda_time_total") and "CUDA Mem" in prof.table()
    assert all(e.cuda_memory_usage > 0 for e in prof)


def test_nvtx_ranges_carry_sequence_numbers(fake_cuda):
    x = mg.tensor([1.0, 2.0], requires_grad=True)
    with profiler.emit_nvtx(record_shapes=True):
        y = mg.sin(x) * 3.0
        y.sum().backward()
    pushed = [name for name in fake_cuda if name != "pop"]
    assert pushed[:4] == [
        "sin, seq = 0, sizes = [[2]]",
        "mul, seq = 1, sizes = [[2], []]",
        "sum, seq = 2, sizes = [[2]]",
        "SumBackward0, stashed seq = 2, sizes = [[]]",
    ]
    assert any(name.startswith("SinBackward0, stashed seq = 0") for name in pushed)
    assert any(name.startswith("AccumulateGrad") for name in pushed)
    assert fake_cuda.count("pop") == len(pushed)
    with pytest.raises(ZeroDivisionError), profiler.emit_nvtx(), record_function("part"):
        raise ZeroDivisionError
    assert fake_cuda[-2:] == ["part", "pop"] and observe.observers == []


# ------------------------------------------------------------------------------------------- nvprof


def nvprof_file(path, kernel_table="CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL"):
    """A file as nvprof writes it, reduced to what matters: two nested ranges, one after them,
    and two kernels.
    """
    begin = 1_496_933_427_584_362_152
    names = [
        "",
        "mul, seq = 4",
        "MulBackward0, stashed seq = 4, sizes = [[2], []]",
        "scale_kernel",
        "AccumulateGrad",
    ]
    ranges = [
        (1, 1, 0, 900_000),
        (2, 2, 1_000_000, 5_000_000),
        (3, 4, 2_000_000, 3_000_000),
        (4, 4, 3_500_000, 3_600_000),
    ]
    launches = [
        (7, 100_000, 110_000, 200_000, 450_000),
        (8, 2_100_000, 2_150_000, 2_300_000, 9_300_000),
        (9, 6_000_000, 6_000_001, 6_000_002, 6_000_003),
    ]
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE StringTable (_id_ INTEGER PRIMARY KEY, value TEXT NOT NULL)")
        database.executemany("INSERT INTO StringTable VALUES (?, ?)", list(enumerate(names)))
        database.execute(
            "CREATE TABLE CUPTI_ACTIVITY_KIND_MARKER (_id_ INTEGER PRIMARY KEY AUTOINCREMENT, flags INT, timestamp INT, id INT, objectKind INT, objectId BLOB, name INT, domain INT)"  # noqa: E501
        )
        database.execute(
            "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (_id_ INTEGER PRIMARY KEY AUTOINCREMENT, cbid INT, start INT, end INT, processId INT, threadId INT, correlationId INT, returnValue INT)"  # noqa: E501
        )
        database.execute(
            f"CREATE TABLE {kernel_table} (_id_ INTEGER PRIMARY KEY AUTOINCREMENT, start INT, end INT, deviceId INT, correlationId INT, name INT)"  # noqa: E501
        )
        for number, name, start, stop in ranges:
            for at, label in ((start, name), (stop, 0)):
                database.execute(
                    "INSERT INTO CUPTI_ACTIVITY_KIND_MARKER (flags, timestamp, id, name) VALUES (2, ?, ?, ?)",  # noqa: E501
                    (begin + at, number, label),
                )
        for number, start, stop, kernel_start, kernel_stop in launches:
            database.execute(
                "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME (cbid, start, end, correlationId) VALUES (211, ?, ?, ?)",  # noqa: E501
                (begin + start, begin + stop, number),
            )
            database.execute(
                f"INSERT INTO {kernel_table} (start, end, deviceId, correlationId, name) VALUES (?, ?, 0, ?, 3)",  # noqa: E501
                (begin + kernel_start, begin + kernel_stop, number),
            )
    database.close()


@pytest.mark.parametrize(
    "table", ["CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL", "CUPTI_ACTIVITY_KIND_KERNEL"]
)
def test_nvprof_files_are_read(tmp_path, table):
    nvprof_file(tmp_path / "trace.prof", table)
    events = load_nvprof(tmp_path / "trace.prof")
    assert [(e.name, e.sequence_nr, e.phase) for e in events[:2]] == [
        ("mul", 4, "forward"),
        ("MulBackward0", 4, "backward"),
    ]
    mul, backward, inner, second = events
    assert mul.time_range == (0.0, 900.0)
    assert backward.cpu_time_total == 4000.0
    assert backward.self_cpu_time_total == 2900.0
    assert inner.cpu_parent is second.cpu_parent is backward and mul.cpu_parent is None
    assert mul.kernels == [("scale_kernel", 0, 250.0)]
    assert inner.kernels == [("scale_kernel", 0, 7000.0)]
    assert backward.kernels == []
    assert backward.cuda_time_total == 7000.0 and backward.self_cuda_time_total == 0.0
    assert "Self CUDA" in events.key_averages().table(sort_by="cuda_time_total")
    events.export_chrome_trace(tmp_path / "out.json")
    assert (
        sum(e["ph"] == "s" for e in json.loads((tmp_path / "out.json").read_text())["traceEvents"])
        == 1
    )


def test_other_files_are_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match="nvprof -o"):
        load_nvprof(tmp_path / "none.prof")
    assert not (tmp_path / "none.prof").exists(), "looking for a file does not make one"
    (tmp_path / "text.prof").write_text("not a database, but long enough to be read as one" * 20)
    with pytest.raises(ValueError, match="not a file that nvprof wrote"):
        load_nvprof(tmp_path / "text.prof")
    sqlite3.connect(tmp_path / "empty.prof").close()
    with pytest.raises(ValueError, match="not a file that nvprof wrote"):
        load_nvprof(tmp_path / "empty.prof")


# ------------------------------------------------------------------------------ the instrumentation


def test_all_observers_hear_the_end_even_if_one_raises():
    class Deaf:
        def __init__(self, fails=False):
            self.heard, self.fails = [], fails

        def begin(self, event):
            self.heard.append("begin")

        def end(self, event):
            self.heard.append("end")
            if self.fails:
                raise KeyError("observer")

    order = []

    class Ordered:
        def __init__(self, name):
            self.name = name

        def begin(self, event):
            order.append(f"{self.name} begins")

        def end(self, event):
            order.append(f"{self.name} ends")

    with observers.observing(Ordered("outer")), observers.observing(Ordered("inner")):
        mg.ones(2) + 1
    assert order == ["outer begins", "inner begins", "inner ends", "outer ends"]
    first, second = Deaf(), Deaf(fails=True)
    with (
        observers.observing(first),
        observers.observing(second),
        pytest.raises(KeyError, match="observer"),
    ):
        mg.ones(2) + 1
    assert first.heard == second.heard == ["begin", "end"]
    assert observe.observers == []
    assert observe.observation.event is None


def test_observers_come_and_go_inside_an_unobserved_stretch():
    heard = []

    class Named:
        def __init__(self, name):
            self.name = name

        def begin(self, event):
            heard.append(self.name)

        def end(self, event):
            pass

    hidden, gone, new = map(Named, ("hidden", "gone", "new"))
    observers.add_observer(hidden), observers.add_observer(gone)
    with observe.unobserved():
        observers.add_observer(new), observers.remove_observer(gone)
        mg.ones(2) + 1
        with observe.unobserved():
            mg.ones(2) + 1
        mg.ones(2) + 1
    assert heard == ["new", "new"], "those from before are hidden, the new one sees"
    mg.ones(2) + 1
    assert heard[2:] == ["hidden", "new"], "what was added stays, what was removed is gone"
    observers.remove_observer(hidden), observers.remove_observer(new)
    mg.ones(2) + 1
    assert len(heard) == 4 and observe.observers == [] and observe.observation.listening == ()


@pytest.mark.parametrize("moment", ["begin", "end"])
@pytest.mark.parametrize(
    ("error", "call"),
    [
        (ValueError, lambda: mg.ones(2) + mg.ones(2)),
        (ValueError, lambda: mg.ones(2) + mg.ones(3)),
        (OverflowError, lambda: mg.tensor([1], dtype="uint8") + 1000),
        (OverflowError, lambda: mg.ones(2, dtype="float64") + mg.ones(2)),  # a cast inside
        (TypeError, lambda: mg.core.primitive.registry["exp"](mg.ones(2), axis=1)),
    ],
)
def test_an_error_of_an_observer_is_not_taken_for_one_of_the_operation(error, call, moment):
    class Raises:
        raised = 0

        def begin(self, event):
            if moment == "begin":
                self.fail()

        def end(self, event):
            if moment == "end":
                self.fail()

        def fail(self):
            self.raised += 1
            raise error("of the observer")

    observer = Raises()
    with observers.observing(observer), pytest.raises(error, match="of the observer"):
        call()
    assert observer.raised == 1 and observe.observers == [], "the operation is not tried again"


def test_observers_of_threads_do_not_disturb_one_another():
    class Counter:
        def __init__(self):
            self.begun = self.ended = 0

        def begin(self, event):
            self.begun += 1

        def end(self, event):
            self.ended += 1

    found = []

    def work():
        for _ in range(200):
            counter = Counter()
            with observers.observing(counter):
                mg.ones(2) + 1
                with observe.unobserved():
                    mg.ones(2) + 1
                mg.ones(2) + 1
            found.append((counter.begun, counter.ended))

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [(2, 2)] * 1200 and observe.observers == []


def test_events_of_the_surface_have_pytorchs_names():
    event = FunctionEvent("mul", 1.0, 4.0, input_shapes=[[2]])
    for name in ("key", "name", "cpu_time", "cpu_time_total", "self_cpu_time_total", "cuda_time",
        "cuda_time_total", "count", "cpu_memory_usage",
                 "self_cpu_memory_usage", "cuda_memory_usage", "self_cuda_memory_usage",
                 "input_shapes", "stack", "sequence_nr", "thread"):  # fmt: skip
        assert hasattr(event, name)
    assert event.cpu_time == 3.0 and event.time_range.elapsed_us() == 3.0
    assert np.isclose(sum(e.cpu_time_total for e in [event]), 3.0)
