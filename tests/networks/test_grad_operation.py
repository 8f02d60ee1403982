"""GradOperation, fprop, Jvp and Vjp: MindSpore's document 002 on this engine, and every option
against PyTorch-style gradients.
"""

import math

import numpy as np
import pytest

import minigrad as mg
from minigrad import nn
from minigrad.errors import (
    AutogradError,
    DTypeError,
    NotDifferentiableError,
    ShapeError,
)
from minigrad.networks import GradOperation, Jvp, P, ParameterTuple, Vjp, bprop_getters, fprop, ops
from tests.helpers.refusals import refusals


class Net(nn.Cell):
    """The document's own program, character by character."""

    def __init__(self):
        super(Net, self).__init__()  # noqa: UP008
        self.sin = ops.Sin()
        self.cos = ops.Cos()

    def construct(self, x):
        a = self.sin(x)
        out = self.cos(a)
        return out


def tensor(*values, **options):
    return mg.tensor(values[0] if len(values) == 1 else list(values), dtype=mg.float64, **options)


@pytest.fixture(autouse=True)
def rules_are_as_before():
    before = dict(bprop_getters)
    yield
    bprop_getters.clear()
    bprop_getters.update(before)


def product(x, y, w):
    return (x * y * w + mg.sin(x)).sum()


POINT = (np.array([0.3, -1.2, 2.0]), np.array([1.5, 0.2, -0.7]), np.array([0.9, 1.1, -2.0]))


def expected(index):
    """The derivative of `product` by hand."""
    x, y, w = POINT
    return (y * w + np.cos(x), x * w, x * y)[index]


# --------------------------------------------------------------------------- the document's example


def test_sin_then_cos_by_three_ways_agrees_to_the_last_digit():
    x, one = tensor(0.5), tensor(1.0)
    by_hand = -math.sin(math.sin(0.5)) * math.cos(0.5)
    reverse = GradOperation()(Net())(x).item()
    forward = mg.func.jvp(Net(), (x,), (one,))[1].item()
    value, double = Jvp(Net())(x, one)
    assert by_hand == pytest.approx(-0.404802117828, abs=1e-12)
    assert max(abs(reverse - by_hand), abs(forward - by_hand), abs(double.item() - by_hand)) < 1e-15
    assert value.item() == math.cos(math.sin(0.5))


def test_the_documents_rule_for_sin_replaces_the_engines_own():
    calls = []

    @bprop_getters.register(P.Sin)
    def get_bprop_sin(self):
        """Grad definition for `Sin` operation."""
        cos = P.Cos()

        def bprop(x, out, dout):
            calls.append((x.item(), out.item(), dout.item()))
            dx = dout * cos(x)
            return (dx,)

        return bprop

    assert GradOperation()(Net())(tensor(0.5)).item() == pytest.approx(
        -math.sin(math.sin(0.5)) * math.cos(0.5), abs=1e-15
    )
    assert calls == [(0.5, math.sin(0.5), pytest.approx(-math.sin(math.sin(0.5))))]
    del bprop_getters[P.Sin]
    GradOperation()(Net())(tensor(0.5))
    assert len(calls) == 1


# -------------------------------------------------------------------------------------- the options


def test_the_first_input_alone_or_all_of_them():
    inputs = [tensor(v.tolist()) for v in POINT]
    assert np.allclose(GradOperation()(product)(*inputs).numpy(), expected(0), atol=1e-15)
    got = GradOperation(get_all=True)(product)(*inputs)
    assert isinstance(got, tuple) and len(got) == 3
    for i, g in enumerate(got):
        assert np.allclose(g.numpy(), expected(i), atol=1e-15)
    one = GradOperation(get_all=True)(mg.exp)(tensor(0.0))
    assert isinstance(one, tuple) and one[0].item() == 1.0


def test_parameters_by_list_and_both_together():
    x, y = (tensor(v.tolist()) for v in POINT[:2])
    w = tensor(POINT[2].tolist(), requires_grad=True)
    f = lambda x, y: product(x, y, w)
    (dw,) = GradOperation(get_by_list=True)(f, [w])(x, y)
    assert np.allclose(dw.detach().numpy(), expected(2), atol=1e-15)
    assert GradOperation(get_by_list=True)(f, w)(x, y).shape == (3,)  # one parameter, one gradient
    inputs, parameters = GradOperation(get_all=True, get_by_list=True)(f, ParameterTuple([w]))(x, y)
    assert [
        np.allclose(g.detach().numpy(), expected(i), atol=1e-15)
        for i, g in enumerate((*inputs, *parameters))
    ] == [True] * 3
    assert w.grad is None and w.requires_grad and not x.requires_grad and not y.requires_grad


def test_a_module_brings_its_parameters():
    net = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2)).double()
    x = mg.randn(5, 3, dtype=mg.float64)
    got = GradOperation(get_by_list=True)(net)(x)
    wanted = mg.autograd.grad(net(x).sum(), list(net.parameters()))
    assert len(got) == 4
    for a, b in zip(got, wanted, strict=True):
        assert a.shape == b.shape and np.array_equal(a.detach().numpy(), b.numpy())


def test_a_frozen_parameter_is_not_among_them():
    net = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 2))
    net[0].requires_grad_(False)
    assert [g.shape for g in GradOperation(get_by_list=True)(net)(mg.ones(1, 3))] == [(2, 4), (2,)]


def test_the_cotangent_is_the_last_argument():
    x = tensor(0.5, 1.0, 2.0)
    got = GradOperation(sens_param=True)(mg.square)(x, tensor(1.0, 10.0, 100.0))
    assert got.tolist() == [1.0, 20.0, 400.0]
    assert GradOperation(sens_param=True)(mg.square)(x, sens=tensor(1.0, 10.0, 100.0)).tolist() == [
        1.0,
        20.0,
        400.0,
    ]
    assert GradOperation()(mg.square)(x).tolist() == [1.0, 2.0, 4.0]  # ones without it


def test_several_outputs_have_several_cotangents():
    f = lambda x, y: (x * y, x + y)
    x, y = tensor(2.0), tensor(5.0)
    got = GradOperation(get_all=True, sens_param=True)(f)(x, y, (tensor(1.0), tensor(100.0)))
    assert [g.item() for g in got] == [105.0, 102.0]
    assert [g.item() for g in GradOperation(get_all=True)(f)(x, y)] == [6.0, 3.0]


def test_a_parameter_that_is_also_an_input_is_one_variable():
    w = tensor(3.0, requires_grad=True)
    f = lambda x: x * x * w  # d/dx = 2xw = 18, d/dw = x² = 9
    (by_input,), (in_total,) = GradOperation(get_all=True, get_by_list=True)(f, [w])(w)
    assert (by_input.item(), in_total.item()) == (18.0, 27.0)
    assert GradOperation(get_by_list=True)(f, w)(w).item() == 27.0
    assert mg.autograd.grad(f(w), w)[0].item() == 27.0


def test_what_happened_to_an_input_before_is_not_the_functions_business():
    w = tensor(3.0, requires_grad=True)
    x = w * 2
    df, (dx,) = fprop(lambda x: x * w)(x)[1]()
    assert (df[w].item(), dx.item()) == (6.0, 3.0)
    assert GradOperation(get_by_list=True)(lambda x: x * w, w)(x).item() == 6.0
    # the whole program's derivative is another question
    assert mg.autograd.grad(x * w, w)[0].item() == 12.0


def test_a_parameter_without_influence_has_a_zero_gradient():
    w, unused = tensor(3.0, requires_grad=True), tensor(1.0, 2.0, requires_grad=True)
    got = GradOperation(get_by_list=True)(lambda x: x * w, [w, unused])(tensor(5.0))
    assert got[0].item() == 5.0 and got[1].tolist() == [0.0, 0.0]


def test_other_inputs_than_tensors_pass_through():
    f = lambda x, n, y, scale=1.0, flag=None: (x**n * y).sum() * scale
    got = GradOperation(get_all=True)(f)(tensor(2.0), 3, tensor(5.0), scale=2.0, flag="a")
    assert [g.item() for g in got] == [120.0, 16.0]


@pytest.mark.parametrize(
    "f",
    [lambda x: x**4, lambda x: mg.sin(x) * mg.exp(x), lambda x: 1 / x],
    ids=["power", "product", "quotient"],
)
def test_grad_operations_nest_to_third_derivatives(f):
    grad = GradOperation()
    x = tensor(0.7)
    third = grad(grad(grad(f)))(x).item()
    assert third == pytest.approx(mg.func.grad(mg.func.grad(mg.func.grad(f)))(x).item(), rel=1e-14)


def test_a_nested_gradient_by_a_parameter():
    w = tensor(3.0, requires_grad=True)
    slope = GradOperation()(lambda x: x**2 * w**2)  # 2 x w²
    assert GradOperation(get_by_list=True)(slope, w)(tensor(5.0)).item() == 60.0  # 4 x w
    assert (
        mg.func.grad(lambda v: GradOperation()(lambda x: x * v * v)(tensor(5.0)))(w).item() == 6.0
    )
    slope(tensor(5.0)).backward()
    assert w.grad.item() == 60.0


def test_a_leaf_inside_is_not_touched_by_a_gradient_of_its_own():
    x = tensor(2.0, requires_grad=True)
    outer = GradOperation()(mg.square)(x)  # connected with x: it can be differentiated again
    assert mg.autograd.grad(outer, x)[0].item() == 2.0 and x.grad is None
    with mg.no_grad():
        assert not GradOperation()(mg.square)(x).requires_grad


def test_inside_vmap_each_example_has_its_own():
    x = tensor(0.1, 0.2, 0.3)
    assert np.allclose(
        mg.func.vmap(GradOperation()(mg.sin))(x).numpy(), np.cos(x.numpy()), atol=1e-15
    )


def test_empty_and_0_d_and_float32():
    assert GradOperation()(mg.exp)(mg.zeros(0, 3)).shape == (0, 3)
    got = GradOperation()(mg.exp)(mg.tensor(0.0))
    assert got.shape == () and got.dtype == mg.float32


def test_a_transposed_input_is_as_good_as_any():
    x = tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]).t()
    assert GradOperation()(lambda x: (x * x).sum())(x).tolist() == (2 * x).tolist()


# ----------------------------------------------------------------------------------------- mistakes


MISTAKES = r"""
GradOperation(get_all=1)  # TypeError: get_all must be True or False
GradOperation()(3)  # TypeError: needs a function
GradOperation()(mg.sin, [tensor(1.0)])  # TypeError: get_by_list is False
GradOperation(get_by_list=True)(mg.sin)  # TypeError: needs the parameters
GradOperation(get_by_list=True)(mg.sin, [3.0])  # TypeError: parameter 0 is float
GradOperation(get_by_list=True)(mg.sin, tensor(3.0))  # NoGradientError: does not require grad
GradOperation()(mg.sin)(mg.tensor([1, 2]))  # DTypeError: input 0 has dtype int64
GradOperation(get_all=True)(mg.mul)(tensor(1.0), mg.tensor(2))
    # DTypeError: input 1 has dtype int64
GradOperation()(mg.sin)(0.5)  # TypeError: first input must be a tensor
GradOperation()(lambda: tensor(1.0))()  # TypeError: got nothing
GradOperation()(lambda x: 3.0)(tensor(1.0))  # TypeError: must return tensors
GradOperation(sens_param=True)(mg.sin)()  # TypeError: cotangent as last argument
GradOperation(sens_param=True)(mg.sin)(tensor(1.0, 2.0), tensor(1.0))
    # ShapeError: cotangent of output 0
GradOperation(sens_param=True)(mg.sin)(tensor(1.0), (tensor(1.0), tensor(1.0)))
    # ValueError: not nested alike
GradOperation()(lambda x: x * 1j)(tensor(1.0))  # NonScalarError: complex
fprop(3)  # TypeError: needs a function
Jvp(mg.sin)(tensor(1.0))  # TypeError: the vector
Jvp(mg.sin)(tensor(1.0), tensor(1.0, 2.0))  # ShapeError: vector 0
Jvp(mg.mul)(tensor(1.0), tensor(1.0), tensor(1.0))  # ValueError: not nested alike
Vjp(mg.sin)(tensor(1.0), tensor(1.0, 2.0))  # ShapeError: cotangent of output 0
Jvp(mg.exp)(mg.tensor([1]), mg.tensor([1]))  # DTypeError: input 0
Vjp(3)  # TypeError: Vjp: needs a function
"""
test_mistakes_are_named = refusals(
    MISTAKES, GradOperation=GradOperation, Jvp=Jvp, Vjp=Vjp, fprop=fprop, tensor=tensor
)


# -------------------------------------------------------------------------------------------- fprop


def test_fprop_gives_the_result_and_a_closure():
    w, b = tensor(3.0, requires_grad=True), tensor(1.0, requires_grad=True)
    value, bprop = fprop(lambda x, y: x * w + y * b)(tensor(2.0), tensor(5.0))
    assert value.item() == 11.0
    df, dinputs = bprop(tensor(10.0))
    assert [g.item() for g in dinputs] == [30.0, 10.0]
    assert [t is v for (t, _), v in zip(df, (w, b), strict=True)] == [True, True] and len(df) == 2
    assert (df[w].item(), df[b].item()) == (20.0, 50.0) and w in df and tensor(3.0) not in df
    assert bprop()[1][0].item() == 3.0  # again, and from ones
    with pytest.raises(KeyError, match="no free variable"):
        df[tensor(3.0)]


def test_fprop_follows_a_computed_free_variable_to_its_leaf():
    w = tensor(3.0, requires_grad=True)
    twice = w * 2
    df, _ = fprop(lambda x: x * twice)(tensor(5.0))[1]()
    assert [(t is w, g.item()) for t, g in df] == [(True, 10.0)]
    df, _ = fprop(lambda x: x * twice, [twice])(tensor(5.0))[1]()
    assert [(t is twice, g.item()) for t, g in df] == [(True, 5.0)]


def test_the_total_derivative_is_the_sum_of_both_ways():
    v = tensor(0.7, requires_grad=True)
    f = lambda x: mg.sin(x * v) * v
    df, (dx,) = fprop(f)(v)[1]()
    assert (df[v] + dx).item() == pytest.approx(mg.autograd.grad(f(v), v)[0].item(), rel=1e-15)


# ---------------------------------------------------------------------------------- Jvp against jvp

FUNCTIONS = {
    "sin": mg.sin,
    "exp": lambda x: mg.exp(x) * x,
    "quotient": lambda x: (x + 1) / (x * x + 2),
    "tanh": lambda x: mg.tanh(x).sum(),
    "softmax": lambda x: mg.nn.functional.softmax(x, -1),
    "logsumexp": lambda x: mg.logsumexp(x, -1),
    "matmul": lambda x: x @ x.t(),
    "norm": lambda x: (x * x).sum().sqrt(),
    "max": lambda x: x.max(),
    "power": lambda x: (x * x + 1) ** 1.7,
    "cumsum": lambda x: mg.cumsum(x.exp(), 0),
    "prod": lambda x: mg.prod(x + 3),
    "index": lambda x: x[0] * x[:, 1:].sum(),
    "where": lambda x: mg.where(x > 0, x.sin(), x.exp()),
    "broadcast": lambda x: x.sum(0) * x,
    "relu": mg.relu,
    "constant": lambda x: mg.ones(2, dtype=mg.float64),
    "identity": lambda x: x,
    "var": lambda x: x.var(0),
    "norm layer": lambda x: mg.nn.functional.layer_norm(x, (3,)),
    "inverse": lambda x: mg.linalg.inv(x @ x.t() + 3 * mg.eye(3, dtype=mg.float64)),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_two_reverse_passes_are_forward_mode(name):
    rng = np.random.default_rng(1)
    f = FUNCTIONS[name]
    x = tensor(rng.standard_normal((3, 3)).tolist())
    v = tensor(rng.standard_normal((3, 3)).tolist())
    value, pushed = Jvp(f)(x, v)
    expected_value, expected_push = mg.func.jvp(f, (x,), (v,))
    assert np.array_equal(value.numpy(), expected_value.numpy())
    assert pushed.shape == expected_push.shape and not pushed.requires_grad
    assert np.allclose(pushed.numpy(), expected_push.numpy(), rtol=1e-13, atol=1e-14)


def test_jvp_and_vjp_of_several_inputs_and_outputs():
    f = lambda x, n, y: (x * y, {"power": x**n})
    x, y = tensor(2.0, 3.0), tensor(5.0, 7.0)
    (xy, others), (push, push_others) = Jvp(f)(x, 2, y, (tensor(1.0, 0.0), tensor(0.0, 1.0)))
    assert (xy.tolist(), others["power"].tolist()) == ([10.0, 21.0], [4.0, 9.0])
    assert (push.tolist(), push_others["power"].tolist()) == ([5.0, 3.0], [4.0, 0.0])
    _, (dx, dy) = Vjp(f)(x, 2, y, (tensor(1.0, 1.0), {"power": tensor(10.0, 10.0)}))
    assert (dx.tolist(), dy.tolist()) == ([45.0, 67.0], [2.0, 3.0])


def test_jvp_nests_and_is_differentiable_by_parameters():
    x, one = tensor(0.7), tensor(1.0)
    second = Jvp(lambda x: Jvp(mg.sin)(x, one)[1])(x, one)[1]
    assert second.item() == pytest.approx(-math.sin(0.7), rel=1e-15)
    w = tensor(3.0, requires_grad=True)
    Jvp(lambda x: mg.sin(x * w))(x, one)[1].backward()  # d/dw (w cos xw) = cos xw − xw sin xw
    assert w.grad.item() == pytest.approx(math.cos(2.1) - 2.1 * math.sin(2.1), rel=1e-14)


# ----------------------------------------------------------------------------- operations and rules


class Cube(ops.Primitive):
    """An operation of one's own."""

    def compute(self, x):
        return x * x * x


def register_cube():
    @bprop_getters.register(Cube)
    def get_bprop_cube(self):
        return lambda x, out, dout: (dout * 3 * x * x,)


def test_a_primitive_of_ones_own_in_both_modes_and_to_any_order():
    register_cube()
    x, one, grad = tensor(2.0), tensor(1.0), GradOperation()
    assert [
        f(x).item() for f in (Cube(), grad(Cube()), grad(grad(Cube())), grad(grad(grad(Cube()))))
    ] == [8.0, 12.0, 12.0, 6.0]
    assert mg.func.jvp(Cube(), (x,), (one,))[1].item() == 12.0
    assert (
        mg.func.jvp(lambda x: mg.func.jvp(Cube(), (x,), (one,))[1], (x,), (one,))[1].item() == 12.0
    )
    assert mg.func.jvp(grad(Cube()), (x,), (one,))[1].item() == 12.0
    assert grad(lambda x: mg.func.jvp(Cube(), (x,), (one,))[1])(x).item() == 12.0
    assert mg.func.vmap(grad(Cube()))(tensor(1.0, 2.0)).tolist() == [3.0, 12.0]
    assert Jvp(Cube())(x, one)[1].item() == 12.0
    assert mg.autograd.gradcheck(Cube(), (tensor(0.3, -2.0, requires_grad=True),))


def test_a_rule_may_use_the_output():
    class Own(ops.Primitive):
        def compute(self, x):
            return x.exp()

    bprop_getters.register(Own)(lambda self: lambda x, out, dout: (dout * out,))
    x, one, grad = tensor(0.5), tensor(1.0), GradOperation()
    for f in (
        grad(Own()),
        grad(grad(Own())),
        lambda x: mg.func.jvp(grad(Own()), (x,), (one,))[1],
        lambda x: Jvp(grad(Own()))(x, one)[1],
    ):
        assert f(x).item() == pytest.approx(math.exp(0.5), rel=1e-15)


def test_a_derived_class_inherits_the_rule():
    register_cube()

    class Colder(Cube):
        pass

    assert GradOperation()(Colder())(tensor(2.0)).item() == 12.0
    assert "Colder" in repr(Colder()(tensor(2.0, requires_grad=True)).grad_fn)


def test_without_a_rule_there_is_an_error_when_it_is_called():
    class Sixth(ops.Primitive):
        def compute(self, x):
            return x / 6

    assert Sixth()(tensor(12.0)).item() == 2.0
    with pytest.raises(NotDifferentiableError, match=r"register\(Sixth\)"):
        Sixth()(tensor(12.0, requires_grad=True))
    with pytest.raises(NotImplementedError, match="compute"):
        ops.Primitive()(tensor(1.0))


class Divide(ops.Primitive):
    """Several results, a setting, and an input that is no tensor."""

    def __init__(self, shift):
        self.shift = shift

    def compute(self, x, y, n):
        return x / y + self.shift, x * n


def test_several_results_settings_and_numbers():
    @bprop_getters.register(Divide)
    def getter(self):
        def bprop(x, y, n, out, dout):
            quotient = out[0] - self.shift
            return dout[0] / y + dout[1] * n, -dout[0] * quotient / y, None

        return bprop

    op, x, y = Divide(shift=10.0), tensor(6.0), tensor(3.0)
    f = lambda x, y: op(x, y, 5)
    got = GradOperation(get_all=True, sens_param=True)(f)(x, y, (tensor(1.0), tensor(2.0)))
    assert [g.item() for g in got] == [pytest.approx(1 / 3 + 10), pytest.approx(-2 / 3)]
    assert [t.item() for t in mg.func.jvp(f, (x, y), (tensor(1.0), tensor(1.0)))[1]] == [
        pytest.approx(1 / 3 - 2 / 3),
        5.0,
    ]


@pytest.mark.parametrize(
    ("rule", "error", "words"),
    [
        (lambda x, out, dout: dout, AutogradError, "Tensor; it must return a tuple"),
        (lambda x, out, dout: (dout, dout), AutogradError, "2 gradients for 1 inputs"),
        (lambda x, out, dout: (None,), NotDifferentiableError, "NoneType for input 0"),
        (lambda x, out, dout: (1.0,), NotDifferentiableError, "float for input 0"),
        (lambda x, out, dout: (dout.sum(),), ShapeError, r"shape \(\) for input 0 of shape \(2,\)"),
        (lambda x, out, dout: (dout.float(),), DTypeError, "float32 for input 0 of dtype float64"),
    ],
)
@pytest.mark.parametrize("mode", ["reverse", "forward"])
def test_a_wrong_rule_is_named(rule, error, words, mode):
    bprop_getters.register(Cube)(lambda self: rule)
    x = tensor(1.0, 2.0)
    with pytest.raises(error, match=f"bprop of Cube returned.*{words}"):
        GradOperation()(Cube())(x) if mode == "reverse" else mg.func.jvp(Cube(), (x,), (x,))


def test_only_operations_have_rules():
    with pytest.raises(TypeError, match="class of operations"):
        bprop_getters.register(mg.sin)


@pytest.mark.parametrize("name", ops.__all__)
def test_every_operation_of_the_table_differentiates(name):
    operation = getattr(ops, name)
    if (
        not isinstance(operation, type)
        or not issubclass(operation, ops.Primitive)
        or operation is ops.Primitive
    ):
        return
    x = tensor([[0.3, 0.6], [0.2, 0.9]])
    binary = {"Add", "Sub", "Mul", "Div", "Pow", "MatMul", "Maximum", "Minimum"}
    others = {"Reshape": [(4,)], "Transpose": [(1, 0)], "ReduceSum": [1], "ReduceMean": [1]}
    inputs = [x, x + 0.5] if name in binary else [x, *others.get(name, [])]
    f = (lambda x: operation(axis=1)([x, x])) if name == "Concat" else lambda *a: operation()(*a)
    result = f(*inputs)
    assert isinstance(result, mg.Tensor)
    if name in ("OnesLike", "Sign", "ZerosLike"):
        assert GradOperation()(f)(*inputs).abs().sum().item() == 0.0
    else:
        assert mg.autograd.gradcheck(
            lambda x: f(x, *inputs[1:]), (x.detach().clone().requires_grad_(),)
        )


def test_operations_have_their_settings():
    assert ops.ReduceSum(keep_dims=True)(tensor([[1.0, 2.0]]), 1).tolist() == [[3.0]]
    assert ops.ReduceSum()(tensor([[1.0, 2.0]])).item() == 3.0
    assert ops.Softmax(axis=0)(tensor([[1.0, 2.0]])).tolist() == [[1.0, 1.0]]
    with pytest.raises(TypeError, match="Softmax: has no setting 'dim'"):
        ops.Softmax(dim=0)


# -------------------------------------------------------------------------------------------- cells


class Doubled(nn.Cell):
    """A cell whose own rule is deliberately not the derivative, so that one can see which is
    used.
    """

    def construct(self, x, y):
        return x * y

    def bprop(self, x, y, out, dout):
        return dout * 100, dout * out


def test_a_cell_may_bring_its_own_rule():
    got = GradOperation(get_all=True)(Doubled())(tensor(2.0), tensor(3.0))
    assert [g.item() for g in got] == [100.0, 6.0]
    x = tensor(2.0, requires_grad=True)
    Doubled()(x, tensor(3.0)).backward()
    assert x.grad.item() == 100.0


def test_a_cell_with_a_rule_and_parameters_is_refused():
    class Lost(Doubled):
        def __init__(self):
            self.w = nn.Parameter(tensor(1.0))

    with pytest.raises(AutogradError, match="holds 1 parameters"):
        Lost()(tensor(1.0), tensor(1.0))
    with mg.no_grad():
        assert Lost()(tensor(2.0), tensor(3.0)).item() == 6.0
    with pytest.raises(TypeError, match="by position"):
        Doubled()(tensor(1.0), y=tensor(1.0))
    with pytest.raises(NotImplementedError, match="construct"):
        nn.Cell()(tensor(1.0))


def test_a_cell_is_a_module():
    class Layered(nn.Cell):
        def __init__(self):
            super().__init__()
            self.dense, self.frozen = nn.Linear(2, 3), nn.Linear(3, 1)
            self.frozen.requires_grad_(False)

        def construct(self, x):
            return self.frozen(self.dense(x))

    net = Layered()
    assert len(list(net.parameters())) == 4
    assert [p.shape for p in net.trainable_params()] == [(3, 2), (3,)]
    assert [
        g.shape for g in GradOperation(get_by_list=True)(net, net.trainable_params())(mg.ones(1, 2))
    ] == [(3, 2), (3,)]


def test_networks_are_also_found_at_the_top():
    assert (mg.GradOperation, mg.Jvp, mg.Vjp) == (GradOperation, Jvp, Vjp)
    assert mg.networks.fprop is fprop
