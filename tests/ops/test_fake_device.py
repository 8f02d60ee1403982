"""No hidden trip to the host: every operation, in every mode, and a training loop run on a
device that refuses what CuPy refuses.
"""

import ast
import functools
import pathlib

import numpy as np
import pytest

import minigrad as mg
from minigrad import backend
from minigrad.core.primitive import registry
from tests.helpers import case_checks as checking
from tests.helpers.fake_device import LINALG, METHODS, NAMES, FakeArray, fake, synchronised
from tests.helpers.op_cases import CASES, Case
from tests.helpers.tables import in_one_test

PACKAGE = pathlib.Path(mg.__file__).parent


@pytest.fixture(autouse=True)
def device(monkeypatch):
    """The fake device is known while these tests run, and forgotten afterwards."""
    monkeypatch.setattr(backend, "MODULES", backend.MODULES)
    before = dict(backend.MODULES)
    backend.register_array_type(FakeArray, fake)
    synchronised.clear()
    yield
    backend.MODULES.clear()
    backend.MODULES.update(before)


def moved(value, put):
    """Arrays in nested parameters (an index, say) moved to the device."""
    if isinstance(value, np.ndarray):
        return put(value)
    if isinstance(value, tuple):
        return tuple(moved(v, put) for v in value)
    return {k: moved(v, put) for k, v in value.items()} if isinstance(value, dict) else value


def same(device_tensor, host_tensor, what: str, tolerance: float = 0.0) -> None:
    """The numbers are equal, on the fake device to the last bit, and the array is the device's."""
    assert hasattr(device_tensor.array, "get"), (
        f"{what} left the device: it is {type(device_tensor.array)}"
    )
    assert device_tensor.dtype == host_tensor.dtype
    np.testing.assert_allclose(
        device_tensor.array.get(),
        host_tensor.numpy(force=True),
        rtol=tolerance,
        atol=tolerance,
        err_msg=what,
    )


def compare_with_host(case: Case, dtype: str, put, device: str, tolerance: float = 0.0) -> None:
    """Value, gradients with and without a graph, `.grad` and tangent of an operation, on the
    host and where `put` moves arrays.
    """
    arrays, places = case.inputs(dtype), case.differentiable()
    here = [mg.tensor(a, requires_grad=i in places) for i, a in enumerate(arrays)]
    there = [mg.tensor(put(a), requires_grad=i in places) for i, a in enumerate(arrays)]
    params = (
        {"device": device, "back": device} if case.primitive == "move" else moved(case.params, put)
    )
    run_there = lambda inputs: case.run(inputs, params)
    y, z = case.run(here), run_there(there)
    same(z, y, "the value", tolerance)
    assert not isinstance(run_there([x.array for x in there]), np.ndarray | np.generic | mg.Tensor)
    if registry[case.primitive].kind == "constant":
        return
    u = checking.direction(y.numpy(force=True), 1)
    seeds = mg.tensor(u), mg.tensor(put(u))
    leaves = [here[i] for i in places], [there[i] for i in places]
    plain = [
        mg.autograd.grad(out, ls, s, retain_graph=True)
        for out, ls, s in zip((y, z), leaves, seeds, strict=True)
    ]
    live = [
        mg.autograd.grad(out, ls, s, create_graph=True)
        for out, ls, s in zip((y, z), leaves, seeds, strict=True)
    ]
    for g, h in [*zip(*plain, strict=True), *zip(*live, strict=True)]:
        same(h, g, "a gradient", tolerance)
    run_there(there).backward(seeds[1])
    for leaf, g in zip(leaves[1], plain[0], strict=True):
        same(leaf.grad, g, ".grad", tolerance)
    tangents = {i: checking.direction(arrays[i], 2) for i in places}
    with checking.fwad.dual_level():
        pushed = []
        for inputs, run, carry in ((here, case.run, lambda a: a), (there, run_there, put)):
            duals = [
                checking.fwad.make_dual(x, mg.tensor(carry(tangents[i]))) if i in places else x
                for i, x in enumerate(inputs)
            ]
            pushed.append(checking.fwad.unpack_dual(run(duals)).tangent)
    assert (pushed[0] is None) == (pushed[1] is None)
    if pushed[0] is not None:
        same(pushed[1], pushed[0], "the tangent", tolerance)


DTYPES = [
    (c, d)
    for c in CASES
    for d in ("float64", "complex128")
    if (c.real if d == "float64" else c.complex or not c.real)
]
each_case = pytest.mark.parametrize(
    ("case", "dtype"), DTYPES, ids=[f"{c.id}-{d}" for c, d in DTYPES]
)


@in_one_test
@each_case
def test_operation_stays_on_the_device(case: Case, dtype: str) -> None:
    """Equal to the host's bit for bit (but for sums, of which the host takes those of a few numbers
    as products with ones), and nothing was copied to the host for it.
    """
    synchronised.clear()  # of the row before
    compare_with_host(
        case,
        dtype,
        fake.asarray,
        "fake:0",
        tolerance=1e-15 if case.primitive in ("sum", "mean", "sum_to") else 0.0,
    )
    assert synchronised == []


@in_one_test
@pytest.mark.gpu
@each_case
def test_operation_on_a_gpu(case: Case, dtype: str) -> None:
    """Each case on a real GPU, where there is one; its functions may differ from NumPy's in the
    last digits.
    """
    import cupy

    compare_with_host(case, dtype, cupy.asarray, "cuda:0", tolerance=1e-12)


def test_a_small_network_trains_on_the_device() -> None:
    """The losses are those of NumPy, and the parameters never leave the device."""
    rng = np.random.default_rng(3)
    data, target = rng.standard_normal((20, 3)).astype("float32"), rng.integers(0, 2, 20)
    weights = [rng.standard_normal(s).astype("float32") * 0.5 for s in ((3, 8), (8,), (8, 2), (2,))]

    def train(put):
        x, rows = mg.tensor(put(data)), put(np.arange(20))
        classes = put(target)
        w1, b1, w2, b2 = parameters = [mg.tensor(put(w), requires_grad=True) for w in weights]
        losses = []
        for _ in range(12):
            hidden = mg.relu(x @ w1 + b1)
            scores = mg.tanh(hidden @ w2) * 2 + b2
            shifted = scores - scores.amax(1, keepdim=True)
            chances = shifted - shifted.exp().sum(1, keepdim=True).log()
            loss = -chances[rows, classes].mean() + 0.01 * sum((w * w).sum() for w in parameters)
            for p in parameters:
                p.grad = None
            loss.backward()
            with mg.no_grad():
                for p in parameters:
                    p -= 0.3 * p.grad
                    assert type(p.array) is type(x.array) and type(p.grad.array) is type(x.array)
            losses.append(loss)
        assert synchronised == []
        return [v.item() for v in losses], parameters

    (there, parameters), (here, _) = train(fake.asarray), train(lambda a: a)
    np.testing.assert_allclose(
        there, here, rtol=1e-6
    )  # the host adds up a few numbers as a product with ones
    assert here[-1] < 0.8 * here[0]
    assert all(p.device == "fake:0" and p.dtype == backend.float32 for p in parameters)


def test_moving_is_differentiable() -> None:
    x = mg.tensor([1.0, 2.0], requires_grad=True)
    y = x.to(device="fake:0")
    assert (y.device, type(y.array)) == ("fake:0", FakeArray)
    assert y.to(device="fake:0") is y
    (y * y).sum().backward()
    assert (x.grad.device, x.grad.tolist()) == ("cpu", [2.0, 4.0])
    z = (y.detach() * 3).to(device="cpu")
    assert (z.device, z.tolist()) == ("cpu", [3.0, 6.0])


def test_devices_do_not_mix() -> None:
    here, there = mg.tensor([1.0, 2.0]), mg.tensor(fake.asarray(np.ones(2, "float32")))
    for operation in (
        lambda: here + there,
        lambda: there * here,
        lambda: mg.maximum(there, here),
        lambda: there @ here,
        lambda: mg.where(here > 0, there, there),
    ):
        with pytest.raises(mg.errors.DeviceError, match=r"cpu.*fake|fake.*cpu"):
            operation()


def test_an_unknown_device_is_refused_by_name() -> None:
    with pytest.raises(mg.errors.DeviceError, match='unknown device "abacus"'):
        mg.tensor(1.0).to(device="abacus")


@pytest.mark.parametrize("number", [True, 2, 2.5, 1 + 2j])
@pytest.mark.parametrize("dtype", ["float32", "float16", "int64", "bool", "complex64"])
def test_python_numbers_do_not_need_the_host(number, dtype: str) -> None:
    array = np.array([1, 0, 1]).astype(dtype)
    here, there = mg.tensor(array), mg.tensor(fake.asarray(array))
    for operation in (
        lambda x: x + number,
        lambda x: number * x,
        lambda x: x / number,
        lambda x: x == number,
        lambda x: mg.where(x != 0, x, number),
    ):
        same(operation(there), operation(here), f"{number} with {dtype}")
    assert synchronised == []


def test_indices_travel_with_the_tensor() -> None:
    """A list or a host array as an index goes to the device once, for the forward and the
    backward pass.
    """
    x = mg.tensor(fake.asarray(np.arange(12.0).reshape(3, 4)), requires_grad=True)
    for index in (
        [0, 2, 2],
        np.array([0, 2, 2]),
        mg.tensor([0, 2, 2]),
        ([0, 2, 2], [1, 1, 3]),
        (slice(None), [0, 0]),
        np.array([True, False, True]),
    ):
        y = x[index]
        plain = mg.tensor(x.array.get(), requires_grad=True)
        z = plain[index]
        same(y, z, str(index))
        same(mg.autograd.grad(y.sum(), x)[0], mg.autograd.grad(z.sum(), plain)[0], str(index))
    y = x * 1
    y[[0, 1]] = 5.0
    y[0, 0] = mg.tensor(fake.asarray(np.asarray(7.0)))
    same(
        y, mg.tensor([[7.0, 5, 5, 5], [5, 5, 5, 5], [8, 9, 10, 11]], dtype="float64"), "assignment"
    )
    y[:, 2:] = [[1.0], [2.0], [3.0]]
    y.index_put_(([0],), 1.5, accumulate=True)
    same(
        y,
        mg.tensor([[8.5, 6.5, 2.5, 2.5], [5, 5, 2, 2], [8, 9, 3, 3]], dtype="float64"),
        "assignment",
    )
    for fill in (
        lambda t: t.zero_(),
        lambda t: t.fill_(2.0),
        lambda t: t.copy_([1.0, 2, 3, 4]),
        lambda t: t.detach_().uniform(0.0, 1.0),
    ):
        assert type(fill(y).array) is FakeArray


def test_large_arrays_stay_too() -> None:
    """Some kernels treat large arrays in another way."""
    x = np.linspace(-1, 1, 5000, dtype="float32")
    there, here = mg.tensor(fake.asarray(x), requires_grad=True), mg.tensor(x, requires_grad=True)
    for leaf in (there, here):
        (mg.relu(leaf) * leaf.clamp(-0.5, 0.5)).sum().backward()
    same(there.grad, here.grad, "gradient")


def test_a_gradient_of_another_layout_is_copied() -> None:
    """`.grad` takes the layout of its leaf and shares memory with no cotangent, also where the
    layouts agree already.
    """
    leaf = mg.tensor(fake.asarray(np.arange(6.0).reshape(2, 3)), requires_grad=True)
    seed = mg.tensor(fake.asarray(np.ones((2, 3))))
    (leaf + 0).backward(seed)
    assert not np.shares_memory(leaf.grad.array._memory, seed.array._memory)
    leaf.grad += 1
    assert seed.array.get().tolist() == [[1, 1, 1], [1, 1, 1]]


# ----------------------------------------------------------------- the fake is as strict as it says


def test_the_fake_refuses_what_cupy_refuses() -> None:
    a = fake.asarray(np.arange(3.0))
    with pytest.raises(TypeError, match="Implicit conversion"):
        np.asarray(a)
    for leak in (
        lambda: a + np.ones(3),
        lambda: np.ones(3) * a,
        lambda: a * np.float64(2),
        lambda: a.__add__([1, 2, 3]),
        lambda: fake.maximum(a, np.ones(3)),
        lambda: fake.exp([1.0]),
        lambda: np.exp(a),
        lambda: a.__setitem__(0, np.ones(())),
        lambda: a[np.array([0])],
    ):
        with pytest.raises(TypeError):
            leak()
    with pytest.raises(AttributeError, match="has no attribute 'errstate'"):
        _ = fake.errstate
    assert type(fake.add.reduce(a, axis=0)) is FakeArray and fake.add.reduce(a, axis=0).shape == ()
    assert type(a[1]) is FakeArray and a[1].base is a


@functools.cache
def attributes() -> list[tuple[str, str, str]]:
    """Each attribute in minigrad that is read from a dotted name: that name, the attribute, and
    the file.
    """
    found = []
    for file in PACKAGE.rglob("*.py"):
        text = file.read_text(encoding="utf-8")
        if "xp." not in text:
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name | ast.Attribute):
                found.append((ast.unparse(node.value), node.attr, file.name))
    return found


def kernels(*path: str) -> dict[str, set[str]]:
    """The functions `xp.name` (or `xp.linalg.name`, for the path "linalg") that minigrad uses,
    and in which files.
    """
    found: dict[str, set[str]] = {}
    for owner, name, file in attributes():
        if owner == ".".join(("xp", *path)):
            found.setdefault(name, set()).add(file)
    return found


def test_only_functions_that_cupy_has() -> None:
    """The kernels' vocabulary is the frozen list: a new name must be looked up in CuPy before it
    is added there.
    """
    own = {
        "special",
        "linalg",
        "fft",
    }  # the library's special functions (see backend.erf_function), and namespaces
    assert {name: where for name, where in kernels().items() if name not in NAMES | own} == {}
    assert {name: where for name, where in kernels("linalg").items() if name not in LINALG} == {}
    assert set(kernels("fft")) == {"fftn", "ifftn"}


@pytest.mark.gpu
def test_the_frozen_names_against_cupy() -> None:
    import cupy

    assert [n for n in NAMES if not hasattr(cupy, n)] == []
    assert [n for n in LINALG if not hasattr(cupy.linalg, n)] == []
    assert hasattr(cupy.fft, "fftn") and hasattr(cupy.fft, "ifftn")
    assert [n for n in METHODS if not hasattr(cupy.ndarray, n)] == []


def test_rules_use_operations_only() -> None:
    """Rules run on arrays, on tensors and on graphs alike, so they take no `xp`: only forward
    functions do.
    """
    for operation in registry.values():
        for rule in (*operation.pull_rules, *operation.push_rules):
            assert (
                rule is None
                or "xp"
                not in rule.function.__code__.co_varnames[: rule.function.__code__.co_argcount]
            )
