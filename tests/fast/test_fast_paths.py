"""The fast paths leave what the core leaves, and are not taken where they must not be."""

import itertools
import os
import subprocess
import sys
import warnings

import numpy as np
import pytest

import minigrad as mg
from minigrad import backend, fast, observers
from minigrad.autograd import forward_ad
from minigrad.core import apply, primitive
from minigrad.core.graph import youngest_first
from minigrad.core.primitive import registry
from minigrad.errors import ShapeError
from minigrad.ops import elementwise as ew
from minigrad.ops import linalg as la
from tests.helpers.op_cases import CASES
from tests.helpers.tables import in_one_test


@pytest.fixture(autouse=True)
def enabled():
    """The fast paths are on, also where MINIGRAD_FAST=0 has switched them off."""
    before = fast.is_enabled()
    fast.enable()
    yield
    if not before:
        fast.disable()


class Watcher:
    def __init__(self):
        self.seen = []

    def begin(self, event):
        self.seen.append((event.phase, getattr(event.primitive, "name", None)))

    def end(self, event):
        pass


def no_fast_path(prim, args, params):
    """In the place of the core, which must not be needed."""
    pytest.fail(f"{prim.name} has no fast path")


def both_ways(call):
    """What `call` gives by the fast paths and by the core; the first must not need the core."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(primitive, "apply", no_fast_path)
        short = call()
    with fast.disabled():
        long = call()
    return short, long


def same(a, b):
    """Whether two payloads are alike to the last bit, scalar or array."""
    return (
        type(a) is type(b)
        and a.dtype is b.dtype
        and a.shape == b.shape
        and a.tobytes() == b.tobytes()
    )


def assert_same_graph(short, long):
    """Both results are equal, and both nodes have equal parents: all that a reverse pass, a
    picture or an in-place check reads.
    """
    assert same(short.array, long.array)
    assert (short.view_of is None) == (long.view_of is None)
    assert short.tangents is long.tangents is None
    a, b = short.node, long.node
    assert type(a) is type(b)
    if a is None:
        return
    assert (a.primitive, a.params, a.plan, a.shape, a.dtype, a.unbroadcast) == (
        b.primitive,
        b.params,
        b.plan,
        b.shape,
        b.dtype,
        b.unbroadcast,
    )
    assert (
        (a.hooks, a.retained, a.saved_tangents)
        == (b.hooks, b.retained, b.saved_tangents)
        == (None, None, None)
    )
    assert [type(p) for p in a.parents] == [type(p) for p in b.parents]
    assert [(where, version.count, number) for where, version, number in a.versions] == [
        (w, v.count, n) for w, v, n in b.versions
    ]
    assert len(a.saved) == len(b.saved)
    for kept, other in zip(a.saved, b.saved, strict=True):
        assert (
            same(kept, other)
            if hasattr(kept, "tobytes")
            else (type(kept), kept) == (type(other), other)
        )


def operands_of(arrays, wanted):
    return [mg.tensor(a, requires_grad=w) for a, w in zip(arrays, wanted, strict=True)]


def real_numbers(case):
    return case.real and not any(domain in ("bool", "int") for domain in case.domains)


def has_fast_path(case):
    return registry[case.primitive].promote != "branches"


PLAIN = [
    case for case in CASES if case.route is None and real_numbers(case) and has_fast_path(case)
]


def test_most_operations_have_a_fast_path():
    assert len({case.primitive for case in PLAIN}) > 120


def results(case, dtype):
    """The results of a case for each choice of operands that require grad."""
    arrays = case.inputs(dtype)
    choices = itertools.product((False, True), repeat=len(arrays))
    return [case.run(operands_of(arrays, wanted)) for wanted in choices]


@pytest.fixture(scope="module")
def by_the_core():
    """A function that gives what a function of a case and a dtype returns without the fast paths.
    It computes all cases at once: to switch the fast paths takes longer than a case.
    """
    known = {}

    def look_up(compute, cases, case, dtype):
        if compute not in known:
            with fast.disabled():
                known[compute] = {
                    (one.id, name): compute(one, name)
                    for one in cases
                    for name in ("float32", "float64", "complex128")
                    if offers(one, name)
                }
        return known[compute][case.id, dtype]

    return look_up


def offers(case, dtype):
    return case.complex if dtype == "complex128" else case.real


@in_one_test
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("case", PLAIN, ids=lambda case: case.id)
def test_the_fast_path_leaves_the_same_graph(case, dtype, by_the_core, monkeypatch):
    if case.fixed_dtype:
        pytest.skip("its result's dtype is a parameter")
    expected = by_the_core(results, PLAIN, case, dtype)
    monkeypatch.setattr(primitive, "apply", no_fast_path)
    for short, long in zip(results(case, dtype), expected, strict=True):
        assert_same_graph(short, long)


def value_and_gradients(case, dtype):
    """The result of a case, its gradients with a fixed cotangent, and the gradients of those."""
    arrays = case.inputs(dtype)
    mg.manual_seed(5)
    inputs = [mg.tensor(a, requires_grad=i in case.differentiable()) for i, a in enumerate(arrays)]
    result = case.run(inputs)
    if not result.requires_grad:
        return [result.array]
    cotangent = mg.tensor(
        np.linspace(-1, 1, result.numel()).reshape(result.shape), dtype=result.dtype
    )
    result.backward(cotangent, retain_graph=True)
    wanted = [x for x in inputs if x.requires_grad]
    first = mg.autograd.grad(result, wanted, cotangent, create_graph=True, allow_unused=True)
    return [
        result.array,
        *(x.grad.array for x in wanted if x.grad is not None),
        *(g.array for g in first if g is not None),
    ]


@in_one_test
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_fast_and_plain_give_the_same_bits(case, dtype, by_the_core):
    if not offers(case, dtype):
        pytest.skip("not offered for this dtype")
    long = by_the_core(value_and_gradients, CASES, case, dtype)
    assert fast.is_enabled()
    short = value_and_gradients(case, dtype)
    assert len(short) == len(long)
    for found, expected in zip(short, long, strict=True):
        assert same(found, expected)


def test_the_environment_switches_them_off():
    code = "import minigrad; print(minigrad.fast.is_enabled())"
    for given, expected in (({}, "True"), ({"MINIGRAD_FAST": "0"}, "False")):
        environment = {k: v for k, v in os.environ.items() if k != "MINIGRAD_FAST"} | given
        run = subprocess.run(
            [sys.executable, "-c", code], env=environment, capture_output=True, text=True
        )
        assert run.stdout.strip() == expected, run.stderr


def test_the_switch_puts_everything_back():
    x = mg.tensor([1.0, 2.0], requires_grad=True)
    calls = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            primitive,
            "apply",
            lambda prim, args, params: calls.append(prim.name) or apply.apply(prim, args, params),
        )
        (-(x * 2.0 + 1.0)).sum().backward()
        assert calls == []
        with fast.disabled():
            assert not fast.is_enabled()
            with fast.disabled():
                pass
            assert not fast.is_enabled()
            (-(x * 2.0 + 1.0)).sum().backward()
        assert calls[:4] == ["mul", "add", "neg", "sum"]
        count = len(calls)
        assert fast.is_enabled()
        (-(x * 2.0 + 1.0)).sum().backward()
        assert len(calls) == count
    assert x.grad.tolist() == [-6.0, -6.0]


SHAPES = [
    ((), ()),
    ((4,), (4,)),
    ((2, 3), (3,)),
    ((2, 1), (1, 3)),
    ((0, 3), (3,)),
    ((), (2, 2)),
    ((1,), ()),
    ((3, 1, 2), (2, 1)),
]


@in_one_test
@pytest.mark.parametrize(
    "operation", [ew.add, ew.mul, ew.div, ew.maximum], ids=lambda prim: prim.name
)
@pytest.mark.parametrize("shapes", SHAPES, ids=str)
@pytest.mark.parametrize("wanted", [(True, False), (False, True), (True, True), (False, False)])
def test_broadcasting_is_remembered_alike(operation, shapes, wanted):
    rng = np.random.default_rng(1)
    arrays = [rng.normal(size=shape).astype("float32") for shape in shapes]
    graphs = both_ways(lambda: operation(*operands_of(arrays, wanted)))
    assert_same_graph(*graphs)


@in_one_test
@pytest.mark.parametrize("number", [2, -0.5, float("nan"), float("inf")])
@pytest.mark.parametrize(
    "way",
    [
        lambda x, n: x * n,
        lambda x, n: n * x,
        lambda x, n: n - x,
        lambda x, n: x / n,
        lambda x, n: n / x,
    ],
)
@pytest.mark.parametrize(
    "value",
    [np.float32(1.5), np.float64(-3.0), np.array([1.0, 2.0], "float32")],
    ids=["float32", "float64", "array"],
)
def test_numbers_beside_a_tensor(way, value, number):
    assert_same_graph(*both_ways(lambda: way(mg.tensor(value, requires_grad=True), number)))


def test_a_number_with_memory_of_its_own():
    def call():
        x = mg.tensor(2.0, requires_grad=True)
        x.detach()  # from now on both look into one array without axes
        return ew.clone(x) * 3.0

    assert_same_graph(*both_ways(call))
    assert type(ew.clone(mg.from_numpy(np.array(2.0))).array) is np.float64


def test_windows_and_other_layouts():
    whole = np.arange(12.0).reshape(3, 4)
    for look in (lambda x: x.T, lambda x: x[1:, ::2], lambda x: x[2], lambda x: x[1, 1]):
        short, long = both_ways(
            lambda look=look: ew.mul(ew.exp(look(mg.tensor(whole, requires_grad=True) * 1.0)), 2.0)
        )
        assert_same_graph(short, long)


# -------------------------------------------------------------------------- what the core runs


def run_by_core(monkeypatch, call):
    """Which operations of `call` the core runs."""
    found = []

    def counted(prim, args, params):
        found.append(prim.name)
        return apply.apply(prim, args, params)

    monkeypatch.setattr(primitive, "apply", counted)
    call()
    return found


@pytest.mark.parametrize(
    ("call", "names"),
    [
        (lambda x: ew.add(x, np.ones(2, "float32")), ["add"]),
        (lambda x: ew.add(x, np.float32(1)), ["add"]),
        (lambda x: ew.add(x, mg.ones(2, dtype=mg.float64)), ["add"]),
        (lambda x: ew.add(x, mg.tensor([1, 2])), ["add"]),
        (lambda x: ew.add(x, True), ["add"]),
        (lambda x: ew.add(x, 1j), ["add"]),
        (lambda x: ew.mul(mg.tensor([1, 2]), 2), ["mul"]),
        (lambda x: ew.mul(2.0, mg.ones(2, dtype=mg.float16)), ["mul"]),
        (lambda x: ew.mul(mg.tensor([1, 2]), mg.tensor([1, 2])), ["mul"]),
        (lambda x: ew.exp(mg.tensor([1, 2])), ["exp"]),
        (lambda x: ew.exp(mg.ones(2, dtype=mg.float16)), ["exp"]),
        (lambda x: ew.exp(np.array([1, 2])), ["exp"]),
        (lambda x: ew.exp(x), []),
        (lambda x: ew.add(x, 1), []),
    ],
)
def test_what_is_not_plain_is_run_by_the_core(monkeypatch, call, names):
    assert (
        run_by_core(monkeypatch, lambda: call(mg.tensor([1.0, 2.0], requires_grad=True)))[:1]
        == names
    )


def test_an_array_beside_a_tensor_is_copied():
    x, c = mg.tensor([1.0, 2.0], requires_grad=True), np.array([3.0, 4.0], "float32")
    y = ew.mul(x, c)
    c[:] = 0
    y.sum().backward()
    assert x.grad.tolist() == [3.0, 4.0]


def test_a_window_that_became_dual_is_seen_as_dual():
    """The tangent comes with the new history, which is looked up first."""
    for operation in (
        ew.exp,
        lambda window: ew.mul(window, 1.0),
        lambda window: ew.mul(1.0, window),
    ):
        with forward_ad.dual_level():
            base = mg.tensor([1.0, 2.0], dtype=mg.float64)
            window = base[0:1]
            base *= forward_ad.make_dual(
                mg.tensor([2.0, 3.0], dtype=mg.float64), mg.tensor([1.0, 1.0], dtype=mg.float64)
            )
            assert forward_ad.unpack_dual(operation(window)).tangent is not None


@pytest.mark.parametrize("count", [0, 1, 2, 3])
def test_the_wrong_number_of_operands_is_named(count):
    for prim in (ew.sin, ew.add, ew.where):
        if count != len(prim.inputs):
            with pytest.raises(
                TypeError, match=f"the operation is {prim.name}.*got {count} operand"
            ):
                prim(*[mg.ones(2)] * count)
    with pytest.raises(TypeError, match=r"the operation is sin.*speed is unknown"):
        ew.sin(mg.ones(2), speed=2)


def test_errors_have_the_words_of_the_core():
    x = mg.ones(2, 3)
    with pytest.raises(ShapeError, match="sizes must be equal or 1, but 3 and 4 meet"):
        x + mg.ones(4)
    with pytest.raises(ShapeError, match="inner sizes 3 and 4 differ"):
        x @ mg.ones(4, 2)
    with pytest.raises(ShapeError, match="at least one dimension"):
        x @ mg.tensor(2.0)
    with pytest.raises(ShapeError, match=r"Use \* for numbers"):
        x @ 2.0
    with pytest.raises(ShapeError, match=r"Use \* for numbers"):
        2.0 @ x
    with pytest.raises(TypeError, match="unsupported operand"):
        x + "1"


def test_nothing_is_recorded_under_no_grad():
    x = mg.tensor([1.0, 2.0], requires_grad=True)
    with mg.no_grad():
        assert (ew.exp(x).node, (x * 2).node, (2 * x).node, (x @ x).node) == (None,) * 4


# ----------------------------------------------------------------------------------------- in place

UPDATES = {
    "+=": lambda x, y: x.__iadd__(y),
    "-=": lambda x, y: x.__isub__(y),
    "*=": lambda x, y: x.__imul__(y),
    "/=": lambda x, y: x.__itruediv__(y),
}


@in_one_test
@pytest.mark.parametrize("update", UPDATES.values(), ids=UPDATES)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    "other",
    [np.array([[1.0, 0.0, -2.0]]), np.array(3.0), 2, 0.1, float("inf"), np.zeros((2, 3))],
    ids=["row", "0-d", "2", "0.1", "inf", "zeros"],
)
def test_a_parameter_is_updated_alike(update, dtype, other):
    start = np.array([[1.0, -1.0, 0.0], [3.0, 0.3, np.nan]], dtype)

    def call():
        x = mg.tensor(start, requires_grad=True)
        y = mg.tensor(other.astype(dtype)) if isinstance(other, np.ndarray) else other
        memory = x.array
        with mg.no_grad():
            assert update(x, y) is x
        assert x.array is memory and x.is_leaf and x.requires_grad
        return x

    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore" if np.ndim(other) == 0 else "error"
        )  # inf · 0 makes NumPy's bare product warn, as in `x * y`
        short = call()
        with fast.disabled():
            long = call()
    assert same(short.array, long.array)
    assert short._version == long._version == 1


def test_a_watched_update_is_seen():
    x = mg.ones(3)
    with observers.observing(Watcher()) as watcher:
        x -= 0.5
    assert watcher.seen == [("forward", "sub"), ("assign", None)]
    assert x.tolist() == [0.5, 0.5, 0.5]


def test_overlapping_memory_is_read_before_it_is_written():
    def call():
        x = mg.arange(0.0, 6.0)
        part = x[1:]  # the target is a whole tensor, the other operand a window into it
        x -= mg.cat([part, part[-1:]])
        x *= x
        return x

    short = call()
    with fast.disabled():
        assert same(short.array, call().array)


# ----------------------------------------------------------------------- what the reverse pass uses


def test_youngest_first_is_a_topological_order_of_all_that_is_reached():
    rng = np.random.default_rng(3)
    values = [mg.tensor(float(i), requires_grad=True) for i in range(3)]
    for _ in range(60):
        a, b = (values[i] for i in rng.integers(0, len(values), 2))
        values.append(a * b + 1.0)
    roots = [values[-1].node, values[-5].node, values[-1].node]
    order, reached = youngest_first(roots)
    expected = set(roots)
    while more := {p for n in expected for p in n.parents if p is not None} - expected:
        expected |= more
    assert set(order) == reached == expected
    assert len(order) == len(reached)
    place = {node: i for i, node in enumerate(order)}
    assert all(
        place[parent] > place[node]
        for node in order
        for parent in node.parents
        if parent is not None
    )


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
@pytest.mark.parametrize(
    ("shape", "wider"),
    [
        ((), ()),
        ((), (3,)),
        ((), (0,)),
        ((1,), (4,)),
        ((3,), (2, 3)),
        ((2, 1, 3), (5, 2, 4, 3)),
        ((1, 1), (0, 2)),
        ((0,), (2, 0)),
        ((2, 3), (2, 3)),
    ],
)
def test_a_stretched_array_is_numpys(shape, wider, dtype):
    array = np.asarray(np.random.default_rng(4).normal(size=shape) * 5).astype(dtype)
    window, expected = backend.broadcast_view(np, array, wider), np.broadcast_to(array, wider)
    assert same(window, expected)
    assert window.strides == expected.strides or 1 in wider or 0 in wider
    assert window.flags.writeable == (wider in (shape, (1, *shape)))  # no axis grows
    assert window.size == 0 or np.shares_memory(window, array)
    assert array.flags.writeable


@pytest.mark.parametrize(
    ("shape", "wider"), [((2,), (3,)), ((2, 3), (3,)), ((2,), ()), ((3,), (3, 2))]
)
def test_what_does_not_broadcast_is_not_stretched(shape, wider):
    with pytest.raises(ValueError, match=r"broadcast|more dimensions"):
        backend.broadcast_view(np, np.ones(shape), wider)


def test_a_stretched_window_of_another_layout():
    array = np.arange(6.0).reshape(2, 3).T
    assert same(backend.broadcast_view(np, array, (4, 3, 2)), np.broadcast_to(array, (4, 3, 2)))


def test_the_products_primitive_refuses_numbers_without_axes():
    for a, b in (
        (mg.ones(2), mg.tensor(2.0)),
        (mg.tensor(2.0), mg.ones(2)),
        (mg.ones(2, 2), mg.tensor(2.0)),
    ):
        with pytest.raises(ValueError, match="matmul"):
            la.matmul(a, b)
