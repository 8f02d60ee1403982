"""`mg.cuda`, devices and DLPack, as far as they can be told without a GPU.

A stand-in for CuPy notes what it is asked for; that the real one has every name that is used is
checked against its package, which can be imported without a driver. What a GPU itself does is not
tested here: those tests are marked `gpu`.
"""

import ast
import functools
import importlib.util
import pathlib
import sys
from types import SimpleNamespace
from typing import ClassVar

import numpy as np
import pytest

import minigrad as mg
from minigrad import backend
from minigrad.errors import AutogradError, DeviceError
from tests.helpers.fake_device import FakeArray, fake

PACKAGE = pathlib.Path(mg.__file__).parent


# ------------------------------------------------------------------------------ a stand-in for CuPy


class Context:
    """What Device and Stream have in common in CuPy: `with` makes one current, and then the one
    before it again.
    """

    current: list

    def __enter__(self):
        type(self).current.append(self)
        return self

    def __exit__(self, *error):
        assert type(self).current.pop() is self


class FakeDevice(Context):
    current: ClassVar[list] = []

    def __init__(self, number=None):
        self.id = self.current[-1].id if number is None else number
        self.synchronized = 0

    def use(self):
        self.current[-1] = self

    def synchronize(self):
        log.append(("synchronize device", self.id))


class FakeStream(Context):
    current: ClassVar[list] = []

    def __init__(self, non_blocking=False):
        assert non_blocking
        self.ptr, self.done = id(self), True

    def synchronize(self):
        log.append(("synchronize stream", self))

    def wait_event(self, event):
        log.append(("wait", self, event.recorded))


class FakeEvent:
    def __init__(self, disable_timing):
        self.disable_timing, self.recorded, self.done = disable_timing, None, False

    def record(self, stream):
        self.recorded = stream

    def synchronize(self):
        log.append(("synchronize event", self.recorded))


log: list = []


@pytest.fixture
def cupy(monkeypatch):
    """A CuPy with two devices."""
    pool = SimpleNamespace(
        used_bytes=lambda: 3, total_bytes=lambda: 8, free_all_blocks=lambda: log.append("freed")
    )
    runtime = SimpleNamespace(
        getDeviceCount=lambda: 2,
        getDeviceProperties=lambda number: {"name": f"Abacus {number}".encode()},
        memGetInfo=lambda: (5, 9),
        profilerStart=lambda: log.append("start"),
        profilerStop=lambda: log.append("stop"),
    )
    library = SimpleNamespace(
        __name__="cupy",
        ndarray=FakeArray,
        get_default_memory_pool=lambda: pool,
        cuda=SimpleNamespace(
            runtime=runtime,
            Device=FakeDevice,
            Stream=FakeStream,
            Event=FakeEvent,
            get_device_id=lambda: FakeDevice.current[-1].id,
            get_current_stream=lambda: FakeStream.current[-1],
            get_elapsed_time=lambda first, last: 1.5,
        ),
    )
    monkeypatch.setitem(sys.modules, "cupy", library)
    monkeypatch.setitem(backend.MODULES, FakeArray, library)
    FakeDevice.current[:], FakeStream.current[:] = [FakeDevice(0)], [FakeStream(non_blocking=True)]
    log.clear()
    return library


# ------------------------------------------------------------------------------ streams and devices


def test_a_stream_is_current_inside_its_block(cupy):
    before, side = mg.cuda.current_stream(), mg.cuda.Stream()
    with mg.cuda.stream(side) as given:
        assert given is side
        assert mg.cuda.current_stream() == side != before
    assert mg.cuda.current_stream() == before
    assert len({before, mg.cuda.current_stream(), side}) == 2
    with mg.cuda.stream(None) as given:
        assert given is None
        assert mg.cuda.current_stream() == before
    with pytest.raises(ZeroDivisionError), mg.cuda.stream(side):
        raise ZeroDivisionError
    assert mg.cuda.current_stream() == before


def test_a_stream_waits_for_another_on_the_device(cupy):
    first, second = mg.cuda.Stream(), mg.cuda.Stream()
    second.wait_stream(first)
    assert log == [("wait", second.cupy, first.cupy)], "and Python does not wait"
    assert first.query() is True
    first.synchronize()
    assert log[1:] == [("synchronize stream", first.cupy)]


def test_events_mark_a_place_in_a_stream(cupy):
    stream, event = mg.cuda.Stream(), mg.cuda.Event(enable_timing=True)
    assert mg.cuda.Event().cupy.disable_timing and not event.cupy.disable_timing
    event.record()
    assert event.cupy.recorded is mg.cuda.current_stream().cupy
    with mg.cuda.stream(stream):
        event.wait()
        assert event.query() is False
    assert log == [("wait", stream.cupy, event.cupy.recorded)]
    assert event.elapsed_time(stream.record_event()) == 1.5
    event.synchronize()
    assert log[1:] == [("synchronize event", event.cupy.recorded)]


def test_the_current_device(cupy):
    assert (mg.cuda.is_available(), mg.cuda.device_count(), mg.cuda.current_device()) == (
        True,
        2,
        0,
    )
    with mg.cuda.device("cuda:1") as inside:
        assert (inside.index, mg.cuda.current_device(), mg.cuda.get_device_name()) == (
            1,
            1,
            "Abacus 1",
        )
    assert mg.cuda.current_device() == 0
    assert mg.cuda.get_device_name(mg.device("cuda", 1)) == "Abacus 1"
    mg.cuda.set_device(1)
    assert mg.cuda.current_device() == 1
    mg.cuda.synchronize()
    mg.cuda.synchronize(0)
    assert log == [("synchronize device", 1), ("synchronize device", 0)]


@pytest.mark.parametrize("wrong", ["cpu", "cuda:x", "cuda:-1", -1, 1.5, None, True])
def test_what_is_no_cuda_device(wrong):
    with pytest.raises(ValueError, match="a CUDA device is a number"):
        mg.cuda.device(wrong)


def test_memory_is_counted_and_freed(cupy):
    assert (mg.cuda.memory_allocated(), mg.cuda.memory_reserved(), mg.cuda.mem_get_info()) == (
        3,
        8,
        (5, 9),
    )
    mg.cuda.empty_cache()
    assert log == ["freed"]


def test_what_the_profilers_record(cupy):
    with mg.cuda.profiler.profile():
        mg.cuda.synchronize()
    assert log == ["start", ("synchronize device", 0), "stop"]


@pytest.mark.parametrize(
    ("installed", "say"), [(False, "CuPy is not installed"), (True, "it sees no CUDA device")]
)
def test_without_a_device_everything_says_what_is_missing(monkeypatch, installed, say):
    if installed:
        blind = SimpleNamespace(
            ndarray=FakeArray,
            cuda=SimpleNamespace(runtime=SimpleNamespace(getDeviceCount=lambda: 0)),
        )
        monkeypatch.setitem(backend.MODULES, FakeArray, blind)
        monkeypatch.setitem(sys.modules, "cupy", blind)
    else:
        monkeypatch.setitem(sys.modules, "cupy", None)
    assert (mg.cuda.is_available(), mg.cuda.device_count()) == (False, 0)
    assert mg.cuda.empty_cache() is None
    ask = mg.cuda
    for function in (
        ask.Stream, ask.Event, ask.current_stream, ask.current_device, ask.synchronize,
        ask.memory_allocated, ask.memory_reserved,
        ask.mem_get_info, ask.get_device_name, lambda: ask.set_device(0),
        lambda: ask.device(0).__enter__(),
        lambda: mg.ones(2, device="cuda"), lambda: mg.rand(2, device="cuda:1"),
        lambda: mg.tensor(1.0, device="cuda"),
        lambda: mg.ones(2).cuda(), lambda: mg.ones(2).cuda("cuda:1"), ask.profiler.start,
        ask.profiler.stop,
    ):  # fmt: skip
        with pytest.raises(DeviceError, match=say):
            function()


# ------------------------------------------------------------------------ the home of a computation


class Placed:
    """An array of the stand-in, on one of its devices."""

    def __init__(self, number):
        self.device = SimpleNamespace(id=number)


def test_a_kernel_runs_where_its_operands_are(cupy, monkeypatch):
    """CuPy starts kernels on the current device, wherever their operands lie."""
    monkeypatch.setitem(backend.MODULES, Placed, cupy)
    with backend.library_of([2.0, Placed(1), Placed(1)], "add") as library:
        assert library is cupy
        assert mg.cuda.current_device() == 1
    assert mg.cuda.current_device() == 0
    with pytest.raises(DeviceError, match=r"^add: got arrays of two devices, cuda:0 and cuda:1\."):
        backend.library_of([Placed(1), Placed(0)], "add")
    for operands in ([2.0], [np.ones(2)]):
        with backend.library_of(operands, "add") as library:
            assert library is np
        assert mg.cuda.current_device() == 0


def test_cuda_without_a_number_is_the_current_device(cupy):
    assert backend.device_with_index("cuda") == "cuda:0"
    with mg.cuda.device(1):
        assert [backend.device_with_index(name) for name in ("cuda", "cuda:0", "cpu")] == [
            "cuda:1",
            "cuda:0",
            "cpu",
        ]


# --------------------------------------------------------------------------- random numbers, making


@pytest.fixture
def device(monkeypatch):
    monkeypatch.setitem(backend.MODULES, FakeArray, fake)
    yield "fake:0"
    mg.manual_seed(0)


def test_a_device_draws_its_own_numbers_and_nothing_travels(device):
    def draws(where):
        return [
            mg.rand(3, device=where),
            mg.randn(2, 2, device=where, dtype="float64"),
            mg.randint(9, (5,), device=where),
            mg.randn(3, dtype="complex64", device=where),
            mg.nn.functional.dropout(mg.ones(20, device=where)),
        ]

    mg.manual_seed(3)
    first = draws(device)
    host = draws("cpu")
    mg.manual_seed(3)
    again = draws("cpu"), draws(device)
    assert all(type(x.array) is FakeArray for x in first)
    for a, b, c, d in zip(first, again[1], host, again[0], strict=True):
        np.testing.assert_array_equal(a.array.get(), b.array.get())
        np.testing.assert_array_equal(c.numpy(), d.numpy())
        assert a.dtype == c.dtype
    assert mg.rand_like(first[0]).device == device
    assert float(
        mg.nn.functional.dropout(mg.ones(1000, device=device), 0.25).mean().cpu()
    ) == pytest.approx(1, abs=0.1)


@pytest.mark.parametrize("dtype", ["float16", "float32", "int64", "bool", "complex128"])
def test_tensors_are_made_on_the_device(device, dtype):
    for x, value in (
        (mg.zeros(2, 3, dtype=dtype, device=device), 0),
        (mg.ones(2, 3, dtype=dtype, device=device), 1),
        (mg.full((2, 3), 1, dtype=dtype, device=device), 1),
        (mg.full_like(mg.zeros(2, 3, dtype=dtype, device=device), 1), 1),
    ):
        assert (type(x.array), str(x.device), x.shape, x.dtype) == (
            FakeArray,
            device,
            (2, 3),
            np.dtype(dtype),
        )
        np.testing.assert_array_equal(x.array.get(), np.full((2, 3), value, dtype))


def test_seeds_repeat_random_numbers():
    mg.manual_seed(-1)
    x = mg.rand(3)
    mg.manual_seed(2**64 - 1)
    assert (mg.rand(3) == x).all()
    with pytest.raises(TypeError, match="manual_seed: needs a whole number, got 'a'"):
        mg.manual_seed("a")


# ------------------------------------------------------------------------------------------- DLPack


ARRAYS = [
    np.arange(6.0).reshape(2, 3),
    np.arange(12, dtype="float32").reshape(3, 4).T[::2],
    np.array(3),
    np.ones((0, 2)),
    np.array([1 + 2j]),
]


@pytest.mark.parametrize("array", ARRAYS, ids=lambda a: f"{a.dtype}{a.shape}")
def test_memory_is_shared_both_ways(array):
    x = mg.from_dlpack(array)
    assert (x.shape, x.dtype) == (array.shape, array.dtype)
    out = np.from_dlpack(x)
    np.testing.assert_array_equal(out, array)
    assert array.size == 0 or np.shares_memory(out, array)
    assert x.__dlpack_device__() == (1, 0)
    x.add_(1)
    np.testing.assert_array_equal(out, array)


def test_a_number_gets_memory_that_can_be_shared():
    x = mg.tensor(2.0)
    shared = np.from_dlpack(x)
    x.mul_(3)
    assert shared == 6


@pytest.mark.oracle
def test_arrays_are_shared_with_pytorch_by_dlpack(torch):
    theirs = torch.zeros(2, 3)
    ours = mg.from_dlpack(theirs)
    ours += 1
    assert theirs.sum() == 6
    back = torch.from_dlpack(ours.T)
    back[2, 1] = 5
    assert ours[1, 2] == 5
    with pytest.raises(TypeError, match=r"requires? grad"):
        mg.from_dlpack(torch.ones(2, requires_grad=True))
    with pytest.raises(TypeError, match="cannot be taken over"):
        mg.from_dlpack(torch.ones(2, dtype=torch.bfloat16))


def test_what_cannot_be_shared():
    with pytest.raises(AutogradError, match=r"x\.detach\(\)"):
        np.from_dlpack(mg.ones(2, requires_grad=True))
    with pytest.raises(TypeError, match=r"DLPack protocol .*, got list"):
        mg.from_dlpack([1, 2])
    elsewhere = SimpleNamespace(__dlpack__=lambda **options: None, __dlpack_device__=lambda: (4, 0))
    with pytest.raises(DeviceError, match="kind 4"):
        mg.from_dlpack(elsewhere)


# ---------------------------------------------------------------------------- the real CuPy's names


@functools.cache
def names_of_cupy() -> dict[str, str]:
    """Every dotted name below CuPy that minigrad's code uses, and a file that does:
    `cupy.cuda.Stream`, `load_cupy().cuda.Event`.
    """
    found = {}
    for file in PACKAGE.rglob("*.py"):
        text = file.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(text)) if "cupy" in text else ():
            parts: list[str] = []
            while isinstance(node, ast.Attribute):
                parts.insert(0, node.attr)
                node = node.value
            if not parts:
                continue
            root = ast.unparse(node)
            if root == "self" and parts[:1] == ["_cupy"]:
                root, parts = "cupy", parts[1:]
            if parts and (root == "cupy" or root.endswith("load_cupy()")):
                found[".".join(parts)] = file.name
    return found


def test_the_names_are_found():
    assert {
        "cuda.Stream",
        "cuda.runtime.memGetInfo",
        "cuda.get_elapsed_time",
        "get_default_memory_pool",
    } <= set(names_of_cupy())


@pytest.mark.skipif(
    importlib.util.find_spec("cupy") is None,
    reason="CuPy is not installed: its package is enough, without a GPU",
)
@pytest.mark.filterwarnings("ignore")
def test_every_name_is_in_cupy():
    import cupy

    missing = []
    for name, file in names_of_cupy().items():
        owner = cupy
        for part in name.split("."):
            owner = getattr(owner, part, None)
            if owner is None:
                missing.append(f"{file}: cupy.{name}")
                break
    assert missing == []
    for owner, names in (
        (cupy.random.Generator, "random standard_normal integers"),
        (cupy.cuda.MemoryPool, "used_bytes total_bytes free_all_blocks malloc"),
        (
            cupy.cuda.Stream,
            (
                "synchronize done wait_event record begin_capture end_capture is_capturing"
                " __enter__ __exit__"
            ),
        ),
        (cupy.cuda.Graph, "launch"),
        (cupy.cuda.Event, "record synchronize done"),
        (cupy.cuda.Device, "use synchronize __enter__ __exit__"),
        (cupy.ndarray, "__dlpack__ __dlpack_device__ device get set"),
        (cupy, "from_dlpack full"),
    ):
        assert [name for name in names.split() if not hasattr(owner, name)] == []


@pytest.mark.gpu
def test_streams_memory_and_random_numbers_on_a_gpu():
    import cupy

    side, x = mg.cuda.Stream(), mg.rand(1000, 1000, device="cuda")
    side.wait_stream(mg.cuda.current_stream())
    before = mg.cuda.memory_allocated()
    with mg.cuda.stream(side):
        y = x @ x
    assert mg.cuda.memory_allocated() >= before + y.array.nbytes
    mg.cuda.current_stream().wait_stream(side)
    mg.cuda.synchronize()
    assert side.query()
    np.testing.assert_allclose(y.cpu().numpy(), x.cpu().numpy() @ x.cpu().numpy(), rtol=1e-4)
    mg.manual_seed(5)
    first = mg.randn(4, device="cuda")
    mg.manual_seed(5)
    assert bool((mg.randn(4, device="cuda") == first).all())
    shared = mg.from_dlpack(cupy.arange(3.0))
    shared += 1
    assert cupy.from_dlpack(shared).get().tolist() == [1.0, 2.0, 3.0]


@pytest.mark.gpu
def test_errors_of_a_gpu_name_what_is_wrong():
    """A singular matrix, a device that is not there, arrays of two devices."""
    with pytest.raises(mg.errors.LinAlgError, match=r"linalg\.inv of shape \(2, 2\)"):
        mg.linalg.inv(mg.zeros(2, 2, device="cuda"))
    with pytest.raises(mg.errors.LinAlgError, match="not positive definite"):
        mg.linalg.cholesky(-mg.eye(2, device="cuda"))
    count = mg.cuda.device_count()
    with pytest.raises(DeviceError, match=f'device "cuda:{count}": there are {count} CUDA devices'):
        mg.ones(2, device=f"cuda:{count}")
    with pytest.raises(DeviceError, match="got arrays of two devices, cuda and cpu"):
        mg.ones(2, device="cuda") + mg.ones(2)


def test_a_device_that_is_not_there(cupy):
    with pytest.raises(DeviceError, match='device "cuda:2": there are 2 CUDA devices'):
        mg.ones(2, device="cuda:2")


@pytest.mark.gpu
def test_an_array_of_a_gpu_guards_a_compiled_step():
    """CuPy's flags do not say whether memory may be written."""
    import cupy

    table = cupy.asarray([1.0, 2.0, 3.0])

    @mg.compile
    def step(x):
        return (x * mg.tensor(table)).sum()

    x = mg.ones(3, device="cuda", dtype="float64")
    assert [float(step(x).cpu()) for _ in range(4)] == [6.0] * 4
    table[...] = 0.0
    assert float(step(x).cpu()) == 0.0
