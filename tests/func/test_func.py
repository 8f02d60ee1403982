"""mg.func: gradients, products and whole Jacobians as functions of functions. Nestings with vmap
are tested in test_vmap.py.
"""

import gc
import itertools
import weakref
from collections import OrderedDict, defaultdict

import numpy as np
import pytest

import minigrad as mg
from minigrad.errors import NonScalarError
from minigrad.func import (
    grad,
    grad_and_value,
    hessian,
    jacfwd,
    jacrev,
    jvp,
    linearize,
    value_and_grad,
    vjp,
    vmap,
)
from tests.helpers.refusals import refusals

RNG = np.random.default_rng(11)


def normal(*shape, dtype="float64"):
    draw = RNG.normal(size=shape)
    return mg.tensor(
        (draw + 1j * RNG.normal(size=shape) if dtype.startswith("complex") else draw).astype(dtype)
    )


def close(a, b, tolerance=1e-9):
    assert a.shape == b.shape
    np.testing.assert_allclose(
        a.detach().numpy(), b.detach().numpy(), rtol=tolerance, atol=tolerance
    )


def numeric(f, x, step=1e-3):
    """The Jacobian by central differences of sixth order, in shape output.shape + x.shape."""
    columns = []
    for e in np.eye(x.numel()).reshape(-1, *x.shape):
        d = lambda k, e=e: f(x + k * step * mg.tensor(e)) - f(x - k * step * mg.tensor(e))
        columns.append((45 * d(1) - 9 * d(2) + d(3)) / (60 * step))
    return mg.stack(columns, -1).reshape(*columns[0].shape, *x.shape)


W = normal(4, 6)
FUNCTIONS = {
    "more outputs": lambda x: (W @ x.reshape(-1)).tanh()[:, None] * x.reshape(-1),
    "fewer outputs": lambda x: (x.sin() * x.exp()).sum(0),
    "one number": lambda x: (x**3).sum() * x[0, 0],
    "linear": lambda x: 2 * x.T,
    "constant": lambda x: mg.ones(2, dtype=mg.float64),
    "empty": lambda x: x[:0] * 2,
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_jacobians_of_both_modes_are_the_numeric_one(name):
    f, x = FUNCTIONS[name], normal(2, 3)
    expected = numeric(f, x)
    close(jacrev(f)(x), expected)
    close(jacfwd(f)(x), expected)
    rows = [
        vjp(f, x)[1](mg.tensor(e))[0]
        for e in np.eye(f(x).numel()).reshape(f(x).numel(), *f(x).shape)
    ]
    if rows:
        close(jacrev(f)(x), mg.stack(rows).reshape(*f(x).shape, *x.shape), 1e-13)
    assert jacrev(f)(x).requires_grad is False


@pytest.mark.parametrize("outer", ["jacrev", "jacfwd"])
@pytest.mark.parametrize("inner", ["jacrev", "jacfwd"])
def test_second_derivatives_in_all_orders(outer, inner):
    pick = {"jacrev": jacrev, "jacfwd": jacfwd}
    f, x = FUNCTIONS["one number"], normal(2, 3)
    close(pick[outer](pick[inner](f))(x), numeric(jacrev(f), x), 1e-8)
    close(hessian(f)(x), numeric(jacrev(f), x), 1e-8)


def test_nested_arguments_and_results():
    """Jacobian[out][in], nested as the function's results and arguments are."""
    p = {"w": normal(2, 3), "b": [normal(2)]}
    x = normal(3)
    f = lambda p, x: {"y": p["w"] @ x + p["b"][0], "z": (x.sum(), p["b"][0] ** 2)}
    for make in (jacrev, jacfwd):
        one = make(f)(p, x)
        assert one["y"]["w"].shape == (2, 2, 3)
        assert isinstance(one["y"]["b"], list)
        assert one["z"][0]["w"].shape == (2, 3)
        close(one["z"][1]["b"][0], mg.tensor(np.diag(2 * p["b"][0].numpy())))
        both = make(f, argnums=(1, 0))(p, x)
        close(both["y"][0], p["w"])
        close(both["y"][1]["b"][0], mg.eye(2, dtype=mg.float64))
        last = make(f, argnums=-1)(p, x)
        close(last["z"][0], mg.ones(3, dtype=mg.float64))
    h = hessian(lambda a, b: (a * b.sum() ** 2).sum(), argnums=(0, 1))(normal(2), normal(3))
    assert [[block.shape for block in row] for row in h] == [[(2, 2), (2, 3)], [(3, 2), (3, 3)]]


def test_has_aux_passes_results_through():
    """has_aux: results that are passed through, without history or tangents of the derivative."""
    x = normal(3)
    f = lambda x: ((x**2).sum(), {"twice": 2 * x, "name": "f"})
    g, extras = grad(f, has_aux=True)(x)
    close(g, 2 * x)
    for made in (
        extras,
        value_and_grad(f, has_aux=True)(x)[0][1],
        grad_and_value(f, has_aux=True)(x)[1][1],
        vjp(f, x, has_aux=True)[2],
        jvp(f, (x,), (x,), has_aux=True)[2],
        jacrev(f, has_aux=True)(x)[1],
        jacfwd(f, has_aux=True)(x)[1],
        jacfwd(jacrev(f, has_aux=True), has_aux=True)(x)[1],
    ):
        close(made["twice"], 2 * x)
        assert made["name"] == "f"
        assert not made["twice"].requires_grad
        assert not made["twice"].tangents
        made["twice"].numpy()


def test_values_come_along():
    x = normal(3)
    f = lambda x: (x**3).sum()
    value, g = value_and_grad(f)(x)
    again, same = grad_and_value(f)(x)[::-1]
    close(value, f(x))
    close(again, value)
    close(g, 3 * x**2)
    close(same, g)
    y, pull = vjp(lambda a, b: (a * b, a.sum()), x, 2 * x)
    close(y[0], 2 * x**2)
    close(pull((mg.ones_like(x), mg.tensor(1.0)))[0], 2 * x + 1)
    close(pull(mg.ones_like(x), mg.tensor(0.0))[1], x)


def test_arguments_may_be_numbers_and_arrays():
    assert grad(lambda x: x**3)(2.0).item() == 12
    assert jvp(lambda x, y: x * y, (2.0, 5.0), (1.0, 0.0))[1].item() == 5
    close(jacrev(lambda x: x**2)(np.array([1.0, 3.0])), mg.tensor(np.diag([2.0, 6.0])))


def test_complex_products_have_values_and_jacobians_are_refused():
    """Products and gradients of real losses, but no Jacobian of complex tensors (as in PyTorch)."""
    z = normal(3, dtype="complex128")
    f = lambda z: z**2 + z.exp()
    close(jvp(f, (z,), (z,))[1], (2 * z + z.exp()) * z)
    close(vjp(f, z)[1](z)[0], (2 * z + z.exp()).conj() * z)
    for make in (jacrev, jacfwd):
        with pytest.raises(NonScalarError, match="complex inputs or outputs"):
            make(f)(z)
        with pytest.raises(NonScalarError, match="complex inputs or outputs"):
            make(lambda x: mg.complex(x, x))(z.real)
    close(grad(lambda z: (z.abs() ** 2).sum())(z), 2 * z)
    with pytest.raises(NonScalarError, match="complex"):
        grad(lambda z: z.sum())(z)


def test_captured_tensors_are_constants_of_the_derivative_but_keep_their_own():
    """A captured tensor that requires grad: the derivative is differentiable by it, and is no
    leaf's business otherwise.
    """
    x, w = normal(3), normal(3).requires_grad_()
    g = grad(lambda x: ((w * x) ** 2).sum())(x)
    assert g.requires_grad
    g.sum().backward()
    close(w.grad, 4 * w.detach() * x)
    jacobian = jacrev(lambda x: w * x)(x)
    close(mg.autograd.grad(jacobian.sum(), w)[0], mg.ones_like(x))
    forward = jacfwd(lambda x: w * x.sin())(x)
    close(mg.autograd.grad(forward.sum(), w)[0], x.cos())
    assert x.grad is None


def test_arguments_with_history_stay_connected():
    x = normal(3).requires_grad_()
    y = jacrev(lambda z: z**3)(x * 2)
    y.sum().backward()
    close(x.grad, 2 * 6 * (2 * x.detach()))


def test_perturbations_are_not_confused():
    """d/dx (x · d/dy (x + y)) = 1, in all four mixtures of modes."""
    forward = lambda f: lambda x: jvp(f, (x,), (mg.ones_like(x),))[1]
    x = mg.tensor(3.0)
    for outer, inner in itertools.product((grad, forward), repeat=2):
        assert (
            outer(lambda x, inner=inner: x * inner(lambda y: x + y)(mg.tensor(1.0)))(x).item() == 1
        )
        assert outer(lambda x, inner=inner: inner(lambda y: x * y)(x))(x).item() == 1


def test_results_own_their_memory():
    """No derivative hands out a cotangent, another derivative, or a read-only window."""
    x, v = normal(3), normal(3)
    _, pull = vjp(lambda a, b: a + b, x, x)
    first, second = pull(v)
    before = v.clone()
    first.mul_(5)
    close(v, before)
    close(second, before)
    grad(lambda x: x.sum())(x).add_(1)
    ja, jb = jacrev(lambda a, b: a + b, argnums=(0, 1))(x, x)
    ja.add_(1)
    close(jb, mg.eye(3, dtype=mg.float64))
    value, g = value_and_grad(lambda x: x[0])(x)
    g.add_(1)
    close(value, x[0])


def test_inputs_are_untouched():
    x = normal(3)
    copy = x.clone()

    def f(x):
        y = x * 1
        y[0] = 7.0
        return (y * x).sum()

    for call in (grad(f), hessian(f), lambda x: jvp(f, (x,), (x,))):
        call(x)
        close(x, copy)
        assert x._version == 0
        assert not x.requires_grad
        assert x.grad is None


def test_grad_works_under_no_grad():
    x = normal(3)
    with mg.no_grad():
        close(grad(lambda x: (x**2).sum())(x), 2 * x)
        close(hessian(lambda x: (x**3).sum())(x), mg.tensor(np.diag(6 * x.numpy())))
    assert mg.is_grad_enabled()


def test_a_derivative_taken_under_no_grad_is_a_constant_to_what_is_around_it():
    x = mg.tensor(1.5, dtype=mg.float64, requires_grad=True)

    def minus_a_slope(x):
        with mg.no_grad():
            slope, value = grad_and_value(lambda x: x**3)(x)
            output, pull = vjp(lambda x: x**3, x)
            shift = [
                slope,
                value,
                output,
                *pull(mg.tensor(1.0, dtype=mg.float64)),
                jacrev(lambda x: x**3)(x),
                hessian(lambda x: x**3)(x),
            ]
            shift.append(linearize(lambda x: x**3, x)[1](mg.tensor(1.0, dtype=mg.float64)))
        return x**3 - sum(shift[1:], start=shift[0])

    y = grad(minus_a_slope)(x)
    close(y, 3 * x**2)
    close(mg.autograd.grad(y, x)[0], 6 * x)
    with mg.no_grad():
        results = [
            grad(mg.sin)(x),
            *value_and_grad(mg.sin)(x),
            vjp(mg.sin, x)[0],
            jvp(lambda z: z * x, (x,), (x,))[1],
        ]
        value, pull = vjp(mg.sin, x)
        extra = grad(lambda z: (z.sin(), z * x), has_aux=True)(x)[1]
    assert not any(r.requires_grad for r in (*results, value, extra))
    # pulled where recording is on, so with a history
    (late,) = pull(mg.tensor(1.0, dtype=mg.float64))
    close(mg.autograd.grad(late, x)[0], -x.sin())


def test_linearize_runs_the_function_once():
    runs = []

    def f(x):
        runs.append(1)
        return x.sin() * x

    x = normal(4)
    value, push = linearize(f, x)
    for seed in range(3):
        v = normal(4) * (seed + 1)
        close(push(v), jvp(lambda x: x.sin() * x, (x,), (v,))[1])
    assert runs == [1]
    close(value, f(x))


MISUSE = r"""
grad(lambda x: x)(x)  # NonScalarError: one number, got shape \(3,\)
grad(lambda x: None)(x)  # NonScalarError: NoneType
grad(lambda x: 3.0)(x)  # NonScalarError: not math\.sin
grad(lambda x: x, 3.0)  # TypeError: argnums must be an int.*grad\(f\)\(x\)
grad(3.0)  # TypeError: must be a function, got float
grad(lambda x: x.sum(), argnums=1)(x)  # ValueError: asks for argument 1
grad(lambda x: x.sum(), argnums=(0, -1))(x)  # ValueError: twice
grad(mg.sin, ())  # ValueError: grad: argnums is empty
grad(lambda x: x.sum(), has_aux=True)(x)  # TypeError: pair
grad(lambda x: x.sum() * 1.0)(mg.tensor([1, 2]))  # DTypeError: int64
jacrev(lambda x: x.sum() * 1.0)(mg.tensor([1, 2]))  # DTypeError: int64
jacfwd(lambda x: x.sum() * 1.0)(mg.tensor([1, 2]))  # DTypeError: int64
jvp(lambda x: x, x, x)  # TypeError: must be tuples
jvp(lambda x: x, (x,), (x[:2],))  # ShapeError: tangent 0 has shape
jvp(lambda x: x, (x,), (x, x))  # ValueError: not nested alike
jvp(lambda x: x, (x,), (x + 1j,))  # DTypeError: complex
jvp(lambda x: "no", (x,), (x,))  # TypeError: result 0 is str
vjp(lambda x: x * 2, x)[1](x[:2])  # ShapeError: cotangent 0 has shape
vjp(lambda x: x * 2, x)[1](x, x)  # ValueError: not nested alike
linearize(mg.sin, x)[1](x[:2])  # ShapeError: tangent 0
jacrev(lambda x: 3)(x)  # TypeError: must return tensors
jacrev(mg.sin, 0.0)(x)  # TypeError: argnums must be an int or a tuple of ints, got 0\.0
jacfwd(mg.sin, 0.0)(x)  # TypeError: argnums must be an int or a tuple of ints, got 0\.0
hessian(mg.sin, 0.0)(x)  # TypeError: argnums must be an int or a tuple of ints, got 0\.0
jacrev(mg.sin, ())(x)  # ValueError: argnums is empty
jacfwd(mg.sin, ())(x)  # ValueError: argnums is empty
hessian(mg.sin, ())(x)  # ValueError: argnums is empty
jacrev(lambda x: ())(x)  # ValueError: jacrev: the function returned no tensors
jacfwd(lambda x: ())(x)  # ValueError: jacfwd: the function returned no tensors
hessian(lambda x: ())(x)  # ValueError: jacrev: the function returned no tensors
"""
test_misuse_of_transforms_is_named = refusals(MISUSE, **vars(mg.func), x=normal(3))


@pytest.mark.oracle
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128"])
def test_the_same_as_torch_func(torch, dtype):
    x, y = normal(3, dtype=dtype), normal(2, 3, dtype=dtype)
    tx, ty = torch.tensor(x.numpy()), torch.tensor(y.numpy())
    f = lambda x, y: ((y @ x.exp()) * 2, (x * y).sum(0))
    F, tolerance = torch.func, 1e-5 if dtype == "float32" else 1e-11

    def same(a, b):
        if isinstance(b, tuple | list):
            assert len(a) == len(b)
            for p, q in zip(a, b, strict=True):
                same(p, q)
        else:
            assert tuple(a.shape) == tuple(b.shape)
            assert str(b.dtype).endswith(str(a.dtype))
            np.testing.assert_allclose(
                a.numpy(), b.detach().resolve_conj().numpy(), rtol=tolerance, atol=tolerance
            )

    for argnums in (0, 1, (0, 1), (1,)) if not dtype.startswith("complex") else ():
        same(jacrev(f, argnums)(x, y), F.jacrev(f, argnums)(tx, ty))
        same(jacfwd(f, argnums)(x, y), F.jacfwd(f, argnums)(tx, ty))
    same(vjp(f, x, y)[1]((y[:, 0], x)), F.vjp(f, tx, ty)[1]((ty[:, 0], tx)))
    same(jvp(f, (x, y), (2 * x, y)), F.jvp(f, (tx, ty), (2 * tx, ty)))
    s = lambda x, y: f(x, y)[0].abs().sum() ** 2 + (x * x.conj()).real.sum()
    same(grad(s, (0, 1))(x, y), F.grad(s, (0, 1))(tx, ty))
    same(
        vmap(grad(s), in_dims=(None, 0))(x, y[:, None]),
        F.vmap(F.grad(s), in_dims=(None, 0))(tx, ty[:, None]),
    )
    if not dtype.startswith("complex"):
        same(hessian(s, (0, 1))(x, y), F.hessian(s, (0, 1))(tx, ty))


def test_results_keep_the_kind_of_their_dictionary():
    x = mg.tensor([1.0, 2.0])
    f = lambda t: OrderedDict(b=t * 2, a=defaultdict(list, c=t))
    for result in (
        vmap(f)(x),
        vjp(f, x)[0],
        jvp(f, (x,), (x,))[1],
        jacrev(f)(x),
    ):
        assert type(result) is OrderedDict and list(result) == ["b", "a"]
        assert type(result["a"]) is defaultdict and result["a"]["missing"] == []


@pytest.mark.parametrize("write", [lambda x: x.mul_(2), lambda x: x[:1].fill_(0.0)])
def test_what_a_function_writes_into_its_argument_stays_inside_forward_mode(write) -> None:
    def f(x: mg.Tensor) -> mg.Tensor:
        write(x)
        return x

    x, v = mg.tensor([1.0, 2.0]), mg.tensor([3.0, 4.0])
    values, tangents = jvp(f, (x,), (v,))
    assert values.tolist() == f(x.clone()).tolist() and tangents.tolist() == f(v.clone()).tolist()
    jacobian = mg.func.jacfwd(f)(x)
    assert (jacobian @ v).tolist() == tangents.tolist()
    values.zero_()
    assert x.tolist() == [1, 2] and v.tolist() == [3, 4]


@pytest.mark.oracle
def test_products_with_the_hessian_have_derivatives_by_the_direction(torch):
    """The gradient depends on the direction through its tangent alone."""

    def derivatives(m):
        func, x, v = m.func, m.tensor([0.3, 0.5]), m.tensor([1.0, 2.0])
        value = lambda x: (x.exp() * x).sum()
        product = lambda v: func.jvp(func.grad(value), (x,), (v,))[1].sin().sum()
        w = v.clone().requires_grad_()
        by_grad = func.jvp(func.grad(value), (x,), (w,))[1]
        by_grad.sin().sum().backward()
        second = func.grad(lambda v: func.grad(product)(v).sum())(v)
        results = [func.grad(product)(v), w.grad, second, func.jacrev(func.grad(product))(v)]
        assert not any(r.requires_grad for r in results)
        return [r.tolist() for r in results]

    for ours, theirs in zip(derivatives(mg), derivatives(torch), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4)


def test_a_graph_that_a_result_needs_stays():
    """Extras keep their graph where a tensor outside requires grad, and a pull may run again."""
    x, v = mg.tensor([0.3, 0.5]), mg.tensor([1.0, 2.0])
    w = mg.tensor(2.0, requires_grad=True)

    def both(x):
        h = x.exp()
        return h.sum(), (h * w).sum()

    (_, extra), _ = mg.func.jvp(mg.func.grad(both, has_aux=True), (x,), (v,))
    extra.backward()
    assert w.grad.item() == pytest.approx(x.exp().sum().item())

    def twice(x):
        _, pull = mg.func.vjp(lambda x: x.exp() * w, x)
        return pull(v)[0] + pull(v)[0]

    _, pushed = mg.func.jvp(twice, (x,), (v,))
    (by_w,) = mg.autograd.grad(pushed.sum(), w)
    assert by_w.item() == pytest.approx((2 * x.exp() * v * v).sum().item())


def test_nodes_whose_saved_values_have_tangents_are_freed_without_the_garbage_collector():
    from minigrad import networks
    from minigrad.autograd import forward_ad, functional

    nodes = []
    x, v = mg.tensor([0.3, 0.5]), mg.tensor([1.0, 2.0])
    w = x.clone().requires_grad_()

    def f(x):
        y = x.exp()  # its node saves y, whose tangent's node has it as a parent
        if y.node is not None:
            nodes.append(weakref.ref(y.node))
        return y.sum()

    def by_hand():
        with forward_ad.dual_level():
            f(forward_ad.make_dual(w, v))

    def step(x):
        moved = x - grad(f)(x)
        assert nodes[-1]() is None  # though the level is open
        return moved

    calls = [
        lambda: jvp(step, (x,), (v,)),
        lambda: grad(lambda x: jvp(f, (x,), (v,))[1])(x),
        lambda: jvp(f, (w,), (v,)),
        lambda: functional.hvp(f, x, v),
        lambda: functional.jvp(f, w, v, create_graph=True),
        lambda: functional.hessian(f, x, outer_jacobian_strategy="forward-mode"),
        lambda: networks.GradOperation()(lambda x: jvp(f, (x,), (v,))[1])(x),
        lambda: jvp(networks.GradOperation()(f), (x,), (v,)),
        by_hand,
    ]
    gc.disable()
    try:
        for call in calls:
            call()
        assert len(nodes) >= len(calls) and not any(node() for node in nodes)
    finally:
        gc.enable()


def test_an_input_that_the_function_overwrites_keeps_its_place_in_the_graph():
    from minigrad import networks
    from minigrad.autograd import functional

    def cube(x):
        x.mul_(2)
        return (x**3).sum()

    x = mg.tensor([1.0, 2.0], dtype=mg.float64, requires_grad=True) * 1  # not a leaf: writable
    v = mg.tensor([1.0, 0.0], dtype=mg.float64)
    slope, curve = [24.0, 96.0], [48.0, 0.0]  # of 8 x³
    assert grad(cube)(x).tolist() == slope
    assert vjp(cube, x)[1](mg.tensor(1.0, dtype=mg.float64))[0].tolist() == slope
    assert linearize(cube, x)[1](v).item() == slope[0]
    assert grad(lambda t: (grad(cube)(t) * v).sum())(x).tolist() == curve
    assert functional.jacobian(cube, x, create_graph=True).tolist() == slope
    assert functional.hvp(cube, x.detach(), v)[1].tolist() == curve
    assert networks.GradOperation()(cube)(x).tolist() == slope
    assert x.tolist() == [1.0, 2.0]
