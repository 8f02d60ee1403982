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
    """The numbers are equal to `tolerance`, and the array is the device's."""
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
    """Equal to the host's but for the rounding of sums, which the host takes in other orders, and
    nothing was copied to the host for it.
    """
    synchronised.clear()  # of the row before
    compare_with_host(case, dtype, fake.asarray, "fake:0", tolerance=1e-13)
    assert synchronised == []


@in_one_test
@pytest.mark.gpu
@each_case
def test_operation_on_a_gpu(case: Case, dtype: str) -> None:
    """Each case on a real GPU, where there is one; its functions may differ from NumPy's in the
    last digits.
    """
    import cupy

    if case.id in ("svd-U", "svd-Vh"):
        pytest.skip("singular vectors are determined up to a sign, which each library chooses")
    compare_with_host(case, dtype, cupy.asarray, "cuda:0", tolerance=1e-10)


@pytest.mark.gpu
def test_the_first_singular_vectors_on_a_gpu() -> None:
    """Their product, and its gradient, do not depend on their signs."""
    matrix, found = np.random.default_rng(0).standard_normal((4, 3)), []
    for where in ("cpu", "cuda"):
        x = mg.tensor(matrix, device=where, requires_grad=True)
        u, _, vh = mg.linalg.svd(x, full_matrices=False)
        first = u[:, :1] @ vh[:1]
        (first * first.cumsum(0)).sum().backward()
        found.append((first.detach().cpu().numpy(), x.grad.cpu().numpy()))
    np.testing.assert_allclose(found[1], found[0], rtol=1e-10)


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
    # the host adds up a few numbers as a product with ones
    np.testing.assert_allclose(there, here, rtol=1e-6)
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
    # the library's special functions (see backend.erf_function), and namespaces
    own = {"special", "linalg", "fft"}
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


# ------------------------------------------------------------ numbers of the host beside a device's


def on_device(array: np.ndarray, **options: object) -> mg.Tensor:
    return mg.tensor(fake.asarray(array), **options)


def test_a_number_of_the_host_meets_arrays_of_a_device() -> None:
    """As in PyTorch: it moves there, its gradient moves back, and its dtype counts as a 0-d
    tensor's does.
    """
    x = on_device(np.arange(3.0, dtype="float32"), requires_grad=True)
    w = mg.tensor(2.0, dtype="float64", requires_grad=True)
    y = (x * w + mg.tensor(1)).sum()
    assert (y.device, y.dtype) == ("fake:0", np.dtype("float32"))
    y.backward()
    assert (w.grad.device, w.grad.dtype, float(w.grad)) == ("cpu", np.dtype("float64"), 3.0)
    np.testing.assert_array_equal(x.grad.array.get(), [2, 2, 2])
    (second,) = mg.autograd.grad((w * w * x).sum(), w, create_graph=True)
    (third,) = mg.autograd.grad(second, w)
    assert (float(third), third.device) == (6.0, "cpu")
    with pytest.raises(mg.errors.DeviceError, match="got arrays of two devices, fake and cpu"):
        x + mg.ones(1)
    with mg.autograd.forward_ad.dual_level():
        dual = mg.autograd.forward_ad.make_dual(w.detach(), mg.tensor(1.0, dtype="float64"))
        tangent = mg.autograd.forward_ad.unpack_dual(x.detach() * dual).tangent
    np.testing.assert_array_equal(tangent.array.get(), [0, 1, 2])


def test_numbers_alone_stay_where_they_are() -> None:
    """A 0-d array of the host beside 0-d arrays of the device moves too; without a device nothing
    moves.
    """
    both = on_device(np.array(2.0)) * mg.tensor(3.0)
    assert (float(both.cpu()), both.device) == (6.0, "fake:0")
    assert (mg.tensor(2.0) * mg.ones(2)).device == "cpu"


# --------------------------------------------------------------- what CuPy computes in another way


@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize(
    "values",
    [
        [1.0, 1 + 1e-12, -2.0, -2 - 1e-12, 0.0, -0.0],
        [np.nan, 1.0, -np.inf, np.inf, -1.0, -np.nan],
        np.array([1.5, -1.5, np.nan, 65504, -65504, 0], "float16"),
        np.array([3e38, -3e38, 1e-45, -1e-45, np.nan, 1], "float32"),
        np.array([2**62 + 1, 2**62, -(2**63), 2**63 - 1, 0, -1]),
        np.array([-128, 127, 3, -3, 0, 1], "int8"),
        np.array([True, False, True, False, False, True]),
    ],
)
def test_the_largest_of_what_is_written_is_exact_on_a_device(values, largest: bool) -> None:
    """CuPy's `maximum.at` compares float64 in single precision and passes over NaN."""
    values = np.asarray(values)
    for index in ([0, 0, 1, 1, 2, 2], [0, 0, 0, 1, 1, 1], [2, 2, 2, 2, 2, 2]):
        here, there = values[:3].copy(), fake.asarray(values[:3])
        backend.scatter_extreme_at(np, here, np.array(index), values, largest)
        backend.scatter_extreme_at(fake, there, fake.asarray(index), fake.asarray(values), largest)
        assert there.dtype == here.dtype
        np.testing.assert_array_equal(there.get(), here)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "bool", "int16", "float16", "complex64"])
def test_repeated_indices_add_up_in_every_dtype_on_a_device(dtype: str) -> None:
    """CuPy's `add.at` takes seven dtypes."""
    values, index = np.array([3, 2, 1, 0]).astype(dtype), np.array([1, 1, 0, 2])
    here, there = np.ones(3, dtype), fake.asarray(np.ones(3, dtype))
    backend.scatter_add(np, here, index, values)
    backend.scatter_add(fake, there, fake.asarray(index), fake.asarray(values))
    assert there.dtype == here.dtype
    np.testing.assert_array_equal(there.get(), here)


def test_clamp_keeps_nan_on_a_device_where_its_bounds_are_turned() -> None:
    """CuPy's clip does not."""
    x = on_device(np.array([np.nan, 0.0, 5.0]))
    np.testing.assert_array_equal(mg.clamp(x, 1, -1).array.get(), [np.nan, -1, -1])
    np.testing.assert_array_equal(mg.clamp(x, min=1).array.get(), [np.nan, 1, 5])
    np.testing.assert_array_equal(mg.clamp(x, max=1).array.get(), [np.nan, 0, 1])


def test_a_right_side_without_columns_on_a_device() -> None:
    y = mg.linalg.solve(on_device(np.eye(3)), on_device(np.ones((3, 0))))
    assert (y.shape, y.device) == ((3, 0), "fake:0")


# --------------------------------------------------------------------- made and drawn on the device


@pytest.mark.parametrize(
    "name",
    "uniform_ normal_ trunc_normal_ constant_ zeros_ ones_ eye_ xavier_uniform_ xavier_normal_"
    " kaiming_uniform_ kaiming_normal_ orthogonal_ sparse_".split(),
)
def test_parameters_are_initialised_on_the_device(name: str) -> None:
    synchronised.clear()
    weight = on_device(np.full((4, 3), np.nan))
    extra = {"constant_": (2.0,), "sparse_": (0.5,)}.get(name, ())
    assert getattr(mg.nn.init, name)(weight, *extra) is weight
    assert np.isfinite(weight.array.get()).all() and str(weight.device) == "fake:0"


def test_draws_and_order_statistics_stay_with_their_arguments() -> None:
    x = on_device(np.array([0.1, 0.2, 0.7]))
    for made in (
        mg.normal(x, 1.0),
        mg.normal(0.0, x),
        mg.multinomial(x, 2),
        mg.multinomial(x, 5, True),
        mg.quantile(x, 0.5),
        mg.quantile(x, [0.25, 1.0]),
        mg.nanquantile(x, 0.5),
        mg.isin(x, 0.2),
        mg.isin(0.2, x),
    ):
        assert type(made.array) is FakeArray
    assert mg.isin(x * 5, [1, 4]).array.get().tolist() == [False, True, False]
    assert float(mg.quantile(x, 0.5).cpu()) == 0.2
