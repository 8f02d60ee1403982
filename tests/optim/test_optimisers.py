"""Every optimiser and schedule, step by step against PyTorch's; SINGA's way of updating; states;
mistakes.
"""

# tables: one case a line

import copy
import math
import pickle

import numpy as np
import pytest

import minigrad as mg
from minigrad import backend, optim
from tests.helpers.fake_device import FakeArray, fake, synchronised, uploaded
from tests.helpers.refusals import refusals
from tests.helpers.tables import in_one_test

pytestmark = pytest.mark.filterwarnings("ignore:.*called before the optimiser")

OPTIMISERS = [
    ("SGD", {"lr": 0.1}),
    ("SGD", {"lr": 0.1, "momentum": 0.9}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "dampening": 0.3, "weight_decay": 0.1}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "nesterov": True, "weight_decay": 0.1}),
    ("SGD", {"lr": 0.1, "maximize": True, "foreach": True}),
    ("Adam", {}),
    ("Adam", {"lr": 0.05, "betas": (0.8, 0.95), "eps": 1e-3, "weight_decay": 0.1}),
    ("Adam", {"lr": 0.05, "amsgrad": True}),
    ("AdamW", {"lr": 0.05, "fused": True}),
    ("AdamW", {"lr": 0.05, "weight_decay": 0.3, "amsgrad": True, "maximize": True}),
    ("RMSprop", {}),
    ("RMSprop", {"lr": 0.05, "alpha": 0.9, "momentum": 0.5, "centered": True, "weight_decay": 0.1}),
    ("Adagrad", {}),
    (
        "Adagrad",
        {"lr": 0.1, "lr_decay": 0.1, "weight_decay": 0.1, "initial_accumulator_value": 0.2},
    ),
    ("Adadelta", {}),
    ("Adadelta", {"lr": 0.5, "rho": 0.7, "eps": 1e-3, "weight_decay": 0.1, "maximize": True}),
    ("Adamax", {}),
    ("Adamax", {"lr": 0.05, "betas": (0.7, 0.9), "eps": 1e-3, "weight_decay": 0.1}),
    ("NAdam", {}),
    ("NAdam", {"lr": 0.05, "betas": (0.7, 0.9), "momentum_decay": 0.1, "weight_decay": 0.1}),
    ("NAdam", {"lr": 0.05, "weight_decay": 0.3, "decoupled_weight_decay": True}),
    ("RAdam", {}),  # 15 steps are on both sides of its change of formula
    ("RAdam", {"lr": 0.05, "betas": (0.8, 0.95), "weight_decay": 0.1, "eps": 1e-3}),
    ("RAdam", {"lr": 0.05, "weight_decay": 0.3, "decoupled_weight_decay": True}),
    ("Rprop", {}),
    ("Rprop", {"lr": 0.1, "etas": (0.3, 1.7), "step_sizes": (0.01, 0.2)}),
    ("ASGD", {}),
    ("ASGD", {"lr": 0.1, "lambd": 0.1, "alpha": 0.5, "t0": 4, "weight_decay": 0.1}),
]
SINGLE = ("ASGD", "NAdam")  # PyTorch keeps their rates in single precision
BEGIN = [
    np.random.default_rng(i).standard_normal(shape) for i, shape in enumerate([(3, 4), (4,), ()])
]


def loss(library, params, k: int):
    """A bumpy function whose gradient changes with every step."""
    return sum(((p - 0.3 * k) ** 2).sum() + library.sin(3 * p).sum() for p in params)


def run(library, optimiser, params, steps: int, first: int = 0) -> None:
    for k in range(first, first + steps):
        optimiser.zero_grad()
        loss(library, params, k).backward()
        optimiser.step()


@in_one_test
@pytest.mark.oracle
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize(("name", "settings"), OPTIMISERS)
def test_fifteen_steps_agree_with_pytorch(torch, name: str, settings: dict, dtype: str) -> None:
    ours = [mg.tensor(a.astype(dtype), requires_grad=True) for a in BEGIN]
    theirs = [torch.tensor(a.astype(dtype), requires_grad=True) for a in BEGIN]
    mine = getattr(optim, name)(ours, **settings)
    other = getattr(torch.optim, name)(theirs, **settings)
    for k in range(15):
        run(mg, mine, ours, 1, k)
        run(torch, other, theirs, 1, k)
        for a, b in zip(ours, theirs, strict=True):
            assert a.dtype == dtype
            np.testing.assert_allclose(
                a.detach().numpy(),
                b.detach().numpy(),
                rtol=2e-4 if dtype == "float32" else 1e-6 if name in SINGLE else 1e-10,
                atol=1e-5 if dtype == "float32" else 1e-7 if name in SINGLE else 1e-10,
            )


@in_one_test
@pytest.mark.parametrize(("name", "settings"), OPTIMISERS)
def test_nothing_travels_to_the_host_or_from_it(monkeypatch, name: str, settings: dict) -> None:
    """On a device that refuses what CuPy refuses."""
    monkeypatch.setitem(backend.MODULES, FakeArray, fake)
    here = [mg.tensor(a.astype("float32"), requires_grad=True) for a in BEGIN]
    there = [mg.tensor(a.astype("float32"), device="fake:0", requires_grad=True) for a in BEGIN]
    first, second = getattr(optim, name)(here, **settings), getattr(optim, name)(there, **settings)
    synchronised.clear()
    uploaded.clear()
    run(mg, first, here, 5)
    run(mg, second, there, 5)
    assert (synchronised, uploaded) == ([], [])
    for a, b in zip(here, there, strict=True):
        assert type(b.array) is FakeArray
        np.testing.assert_allclose(a.detach().numpy(), b.array.get(), rtol=1e-6, atol=1e-7)


@in_one_test
@pytest.mark.parametrize(("name", "settings"), OPTIMISERS)
def test_training_continues_from_a_state_dict(name: str, settings: dict) -> None:
    def fresh():
        params = [mg.tensor(a, requires_grad=True) for a in BEGIN]
        return params, getattr(optim, name)(params, **settings)

    straight, first = fresh()
    run(mg, first, straight, 8)
    broken, second = fresh()
    run(mg, second, broken, 5)
    state, values = second.state_dict(), [p.detach().clone() for p in broken]
    run(mg, second, broken, 2)  # what happens to the old one later does not reach the saved state
    resumed = [mg.tensor(v, requires_grad=True) for v in values]
    third = getattr(optim, name)(resumed, lr=123.0)
    third.load_state_dict(state)
    run(mg, third, resumed, 3, first=5)
    for a, b in zip(straight, resumed, strict=True):
        np.testing.assert_array_equal(a.detach().numpy(), b.detach().numpy())


def test_a_loaded_state_has_the_precision_of_its_parameter() -> None:
    for rule, name, found in (
        (optim.Adam, "exp_avg", {mg.float64: mg.float64, mg.complex128: mg.float64}),
        (optim.SGD, "momentum_buffer", {mg.float32: mg.float32, mg.complex64: mg.complex64}),
    ):
        for dtype, expected in found.items():
            states = []
            other = mg.complex64 if dtype.kind == "c" else mg.float16
            for w in (mg.ones(2, dtype=other), mg.ones(2, dtype=dtype)):
                settings = {"momentum": 0.9} if rule is optim.SGD else {}
                optimiser = rule([w.requires_grad_()], lr=0.1, **settings)
                for state in states:
                    optimiser.load_state_dict(state)
                w.grad = mg.ones_like(w)
                optimiser.step()
                states.append(optimiser.state_dict())
            assert states[1]["state"][0][name].dtype == expected


@in_one_test
@pytest.mark.parametrize(("name", "settings"), OPTIMISERS)
def test_update_is_step(name: str, settings: dict) -> None:
    """SINGA's loop over (parameter, gradient) pairs, with a learning rate instead of parameters,
    does what step() does.
    """
    one, two = ([mg.tensor(a, requires_grad=True) for a in BEGIN] for _ in range(2))
    stepping = getattr(optim, name)(one, **settings)
    rate = {**settings}.pop("lr", stepping.defaults["lr"])
    updating = getattr(optim, name)(rate, **{k: v for k, v in settings.items() if k != "lr"})
    for k in range(4):
        run(mg, stepping, one, 1, k)
        for p in two:
            p.grad = None
        for p, g in mg.autograd.backward(loss(mg, two, k)):
            updating.update(p, g)
    for a, b in zip(one, two, strict=True):
        np.testing.assert_array_equal(a.detach().numpy(), b.detach().numpy())


def test_groups_have_settings_of_their_own() -> None:
    a, b, c = (mg.ones(2, requires_grad=True) for _ in range(3))
    optimiser = optim.SGD([{"params": [a]}, {"params": b, "lr": 1.0}], lr=0.1)
    for p in (a, b, c):
        p.grad = mg.ones(2)
    c.grad = None
    optimiser.add_param_group({"params": [c]})
    optimiser.step()
    np.testing.assert_allclose(
        [a.detach().numpy()[0], b.detach().numpy()[0], c.detach().numpy()[0]],
        [0.9, 0.0, 1.0],
        rtol=1e-6,
    )


def test_a_step_is_counted_as_a_change_in_place() -> None:
    w = mg.ones(2, requires_grad=True)
    y = (w * w).sum()
    w.grad = mg.ones(2)
    optim.SGD([w], 0.1).step()
    with pytest.raises(mg.errors.InPlaceError):
        y.backward()


def test_the_closure_recomputes_the_loss() -> None:
    w = mg.ones(2, requires_grad=True)
    optimiser = optim.SGD([w], 0.1)

    def closure():
        optimiser.zero_grad()
        value = (w * w).sum()
        value.backward()
        return value

    with mg.no_grad():
        assert float(optimiser.step(closure)) == 2.0
    np.testing.assert_allclose(w.detach().numpy(), 0.8, rtol=1e-6)


BAD_SETTINGS = r"""
optim.SGD(w, 0.1)  # TypeError: list
optim.SGD([], 0.1)  # ValueError: empty
optim.SGD([w, w], 0.1)  # ValueError: twice
optim.SGD([w * 2], 0.1)  # ValueError: leaf
optim.SGD([3], 0.1)  # TypeError: int
optim.SGD([w], -1.0)  # ValueError: lr
optim.SGD([w], 0.1, nesterov=True)  # ValueError: nesterov
optim.Adam([w], betas=(0.9, 1.0))  # ValueError: betas
optim.SGD(0.1).update(w, mg.ones(3))  # ValueError: shape
optim.SGD(0.1, 0.9)  # TypeError: two learning rates
optim.RMSProp(0.1, rho=1.5)  # ValueError: rho
optim.AdaGrad(0.1, epsilon=-1e-08)  # ValueError: epsilon
optim.SGD([w], 0.1).load_state_dict(optim.SGD([w, mg.ones(1)], 0.1).state_dict())
    # ValueError: groups
optim.lr_scheduler.StepLR(w, 3)  # TypeError: Optimizer
"""
test_bad_settings_of_optimisers_are_named = refusals(
    BAD_SETTINGS, optim=optim, w=mg.ones(2, requires_grad=True)
)


def singa_rmsprop(p, g, v, lr, rho, epsilon):
    v = rho * v + (1 - rho) * g**2
    return p - lr * g / np.sqrt(v + epsilon), v


def singa_adagrad(p, g, v, lr, epsilon):
    v = v + g**2
    return p - lr * g / np.sqrt(v + epsilon), v


@in_one_test
@pytest.mark.parametrize(
    ("name", "formula", "settings", "usual"),
    [
        ("RMSProp", singa_rmsprop, {}, {"lr": 0.1, "rho": 0.9, "epsilon": 1e-8}),
        ("RMSProp", singa_rmsprop, {"lr": 0.02, "rho": 0.5, "epsilon": 0.3}, {}),
        ("AdaGrad", singa_adagrad, {}, {"lr": 0.1, "epsilon": 1e-8}),
        ("AdaGrad", singa_adagrad, {"lr": 0.3, "epsilon": 0.2}, {}),
    ],
)
@pytest.mark.parametrize("decay", [0.0, 0.2])
@pytest.mark.parametrize("by_update", [True, False])
def test_rules_under_singas_names(
    name: str, formula, settings: dict, usual: dict, decay: float, by_update: bool
) -> None:
    """With SINGA's defaults, and ε inside of the root; through `update`, and through `step` as
    PyTorch's.
    """
    p = np.array([0.5, -2.0, 0.0])
    ours = mg.tensor(p, requires_grad=True)
    optimiser = (
        getattr(optim, name)(**settings, weight_decay=decay)
        if by_update
        else getattr(optim, name)([ours], **settings, weight_decay=decay)
    )
    v = np.zeros(3)
    for k in range(4):
        g = np.array([0.3, -1.5, 0.01]) * (k - 1.5)
        if by_update:
            optimiser.update(ours, mg.tensor(g))
        else:
            ours.grad = mg.tensor(g)
            optimiser.step()
        p, v = formula(p, g + decay * p, v, **{**usual, **settings})
        np.testing.assert_allclose(ours.detach().numpy(), p, rtol=1e-12, atol=1e-15)


# ----------------------------------------------------------------------------------------- clipping


@pytest.mark.oracle
@pytest.mark.parametrize("kind", [1.0, 2.0, 3.0, math.inf])
@pytest.mark.parametrize("limit", [0.5, 100.0])
def test_clipped_gradients_and_their_norm_agree_with_pytorch(
    torch, kind: float, limit: float
) -> None:
    ours = [mg.tensor(a, requires_grad=True) for a in BEGIN]
    theirs = [torch.tensor(a, requires_grad=True) for a in BEGIN]
    for p, q, a in zip(ours, theirs, BEGIN, strict=True):
        p.grad, q.grad = mg.tensor(3 * a), torch.tensor(3 * a)
    total = optim.clip_grad_norm_(ours, limit, kind)
    wanted = torch.nn.utils.clip_grad_norm_(theirs, limit, kind)
    np.testing.assert_allclose(float(total), wanted.item())
    for p, q in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(p.grad.numpy(), q.grad.numpy(), rtol=1e-12)
    optim.clip_grad_value_(ours, 0.1)
    torch.nn.utils.clip_grad_value_(theirs, 0.1)
    for p, q in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(p.grad.numpy(), q.grad.numpy(), rtol=1e-12)


def test_a_generator_that_was_used_up_is_told() -> None:
    layer = mg.nn.Linear(2, 1)
    parameters = (p for p in layer.parameters())
    list(parameters)
    with pytest.warns(UserWarning, match="empty generator"):
        assert float(optim.clip_grad_norm_(parameters, 1.0)) == 0.0


def test_clipping_refuses_a_nan_norm_where_asked_to() -> None:
    w = mg.ones(2, requires_grad=True)
    w.grad = mg.tensor([1.0, float("nan")])
    with pytest.raises(RuntimeError, match="norm"):
        optim.clip_grad_norm_([w], 1.0, error_if_nonfinite=True)


GRADIENTS = {
    "ordinary": [[3.0, -4.0], [[1.0], [2.0]]],
    "zeros": [[0.0, 2.0], [0.0, 0.0], [5.0]],
    "nothing but zeros": [[0.0], [0.0, 0.0]],
    "numbers": [3.0, [0.5, 0.25]],
    "nan": [[1.0, math.nan], [2.0]],
    "infinity": [[1.0, math.inf], [2.0]],
    "no tensors": [],
}


@in_one_test
@pytest.mark.oracle
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("kind", [0, 0.0, 0.5, -1.0, 2, math.inf, -math.inf, "inf"])
@pytest.mark.parametrize("given", GRADIENTS)
def test_norms_of_every_order(torch, given: str, kind: float | str, dtype: str) -> None:
    """Of the gradients of tensors, one of which has none."""
    ours, theirs = [[m.zeros(3, dtype=getattr(m, dtype), requires_grad=True)] for m in (mg, torch)]
    for gradient in GRADIENTS[given]:
        for m, tensors in ((mg, ours), (torch, theirs)):
            g = m.tensor(gradient, dtype=getattr(m, dtype))
            tensors.append(m.zeros_like(g).requires_grad_())
            tensors[-1].grad = g
    total = optim.clip_grad_norm_((p for p in ours), 1.5, kind, foreach=False)
    wanted = torch.nn.utils.clip_grad_norm_((p for p in theirs), 1.5, kind, foreach=False)
    assert str(total.dtype) == str(wanted.dtype).removeprefix("torch.")
    np.testing.assert_allclose(total.numpy(), wanted.numpy(), rtol=1e-6)
    assert ours[0].grad is None
    for p, q in zip(ours[1:], theirs[1:], strict=True):
        np.testing.assert_allclose(p.grad.numpy(), q.grad.numpy(), rtol=1e-5)
    if not math.isfinite(total):
        with pytest.raises(RuntimeError, match="norm"):
            optim.clip_grad_norm_(ours, 1.5, kind, error_if_nonfinite=True)


@pytest.mark.parametrize("names", [("float16", "float32"), ("float32", "float64", "float16")])
def test_the_norm_of_gradients_has_the_dtype_to_which_theirs_promote(torch, names):
    """Float16 cannot hold this norm."""
    norms = []
    for m, clip in ((torch, torch.nn.utils.clip_grad_norm_), (mg, optim.clip_grad_norm_)):
        parameters = []
        for name in names:
            p = m.ones(2, dtype=getattr(m, name)).requires_grad_()
            p.grad = p.detach() * (30_000 if name == "float16" else 3e5)
            parameters.append(p)
        norm = m.nn.utils.get_total_norm([p.grad for p in parameters])
        norms += [norm, clip(parameters, 1.0)]
    for norm in norms:
        assert str(norm.dtype).removeprefix("torch.") == sorted(names)[-1]
        assert float(norm) == pytest.approx(float(norms[0]), rel=1e-3)


@pytest.mark.parametrize("name", ["SGD", "Adagrad", "Adam", "RMSprop", "LBFGS", "ASGD"])
def test_a_tensor_as_a_setting_is_its_number(name: str) -> None:
    """PyTorch takes a rate that is a tensor. Here it counts as the number that it is now, in the
    defaults and in a group.
    """

    def after_two_steps(number) -> mg.Tensor:
        w = mg.tensor(BEGIN[0], requires_grad=True)
        rate = number(0.25)
        more = {"betas": (number(0.5), number(0.75))} if name == "Adam" else {}
        o = getattr(optim, name)([{"params": [w], "lr": rate}], lr=number(0.5), **more)
        if isinstance(rate, mg.Tensor):
            rate.mul_(0)

        def closure():
            o.zero_grad()
            loss = (w**2).sum()
            loss.backward()
            return loss

        for _ in range(2):
            o.step(closure)
        assert o.defaults["lr"] == 0.5 and type(o.param_groups[0]["lr"]) is float
        return w.detach()

    np.testing.assert_array_equal(
        after_two_steps(mg.tensor).numpy(), after_two_steps(float).numpy()
    )
    w = mg.ones(2, requires_grad=True)
    with pytest.raises(
        ValueError, match=rf"{name}: lr must be one number, got a Tensor of shape \(2,\)"
    ):
        getattr(optim, name)([w], lr=mg.ones(2))
    with pytest.raises(ValueError, match="lr must be one number"):
        getattr(optim, name)([{"params": [w], "lr": mg.ones(2)}])


@pytest.mark.oracle
def test_the_mean_of_the_parameters(torch) -> None:
    """ASGD's state holds the parameters until t0, and their mean from then on."""
    ours = mg.tensor(BEGIN[0], requires_grad=True)
    theirs = torch.tensor(BEGIN[0], requires_grad=True)
    mine, other = (
        library.optim.ASGD([p], lr=0.1, t0=4) for library, p in ((mg, ours), (torch, theirs))
    )
    for k in range(12):
        run(mg, mine, [ours], 1, k)
        run(torch, other, [theirs], 1, k)
        mean = mine.state_dict()["state"][0]["ax"]
        np.testing.assert_allclose(mean, other.state[theirs]["ax"].numpy(), rtol=1e-5, atol=1e-7)
        assert np.array_equal(mean, ours.detach().numpy()) == (k < 6)


# ---------------------------------------------------------------------------------- half precision

LARGE = (300.0, -600.0, 1e-4, 0.0)
"""Gradients. In float16 the squares of the first two are infinite and that of the third is 0."""


def steps_in(library, name, settings, dtype, count=2, wrap=lambda step: step):
    """The parameters, from 0, after some steps with falling gradients of LARGE; the optimiser."""
    dtype = getattr(library, dtype)
    param = library.nn.Parameter(library.zeros(len(LARGE), dtype=dtype))
    optimiser = getattr(library.optim, name)([param], **settings)

    def step(grad):
        param.grad = grad.clone()
        optimiser.step()

    step = wrap(step)
    for k in range(1, count + 1):
        step(library.tensor([g / k for g in LARGE], dtype=dtype))
    return param.detach().double().numpy(), optimiser


@in_one_test
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("name, settings", OPTIMISERS)
def test_steps_in_half_precision_are_rounded_once(torch, name, settings, dtype):
    """Beside the same steps in double precision; where PyTorch moves a parameter, so do we. A sum
    of squares that float16 does not hold is infinite in the state, as in PyTorch: later steps of
    Adagrad and Adadelta are 0 then.
    """
    count = 1 if name in ("Adagrad", "Adadelta") else 2
    got, optimiser = steps_in(mg, name, settings, dtype, count)
    want, _ = steps_in(mg, name, settings, "float64", count)
    theirs, _ = steps_in(torch, name, settings, dtype, count)
    state = optimiser.state_dict()["state"].get(0, {})
    assert {str(v.dtype) for v in state.values() if hasattr(v, "dtype")} <= {dtype}
    assert np.isfinite(got).all(), got
    assert np.all((got != 0) | (theirs == 0) | ~np.isfinite(theirs)), (got, theirs)
    unit = 2.0**-10 if dtype == "float16" else 2.0**-7
    np.testing.assert_allclose(got[:2], want[:2], rtol=8 * unit)


@in_one_test
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("name, settings", OPTIMISERS)
def test_compiled_steps_in_half_precision_are_those_of_plain_calls(name, settings, dtype):
    plain, optimiser = steps_in(mg, name, settings, dtype, 6)
    got, compiled = steps_in(mg, name, settings, dtype, 6, mg.compile)
    np.testing.assert_array_equal(got, plain)
    state = compiled.state_dict()["state"].get(0, {})
    for key, value in optimiser.state_dict()["state"].get(0, {}).items():
        np.testing.assert_array_equal(
            np.asarray(value, "float64"), np.asarray(state[key], "float64")
        )


SETTINGS = {
    "SGD": {"momentum": 0.9},
    "Adam": {"amsgrad": True},
    "RMSprop": {"momentum": 0.5, "centered": True},
    "LBFGS": {"max_iter": 3},
}


@in_one_test
@pytest.mark.parametrize("kind", ["deepcopy", "pickle"])
@pytest.mark.parametrize(
    "name",
    "SGD Adam AdamW RMSprop Adagrad Adadelta Adamax NAdam RAdam Rprop ASGD LBFGS".split(),
)
def test_a_copy_of_model_and_optimiser_goes_on_as_the_original(name: str, kind: str) -> None:
    """It has the states too, in memory of its own."""
    mg.manual_seed(0)
    model = mg.nn.Sequential(mg.nn.Linear(2, 3), mg.nn.Tanh(), mg.nn.Linear(3, 1))
    rule = getattr(optim, name)(model.parameters(), lr=0.1, **SETTINGS.get(name, {}))
    x = mg.randn(8, 2)

    def train(model: mg.nn.Module, rule: optim.Optimizer) -> list[float]:
        def loss() -> mg.Tensor:
            rule.zero_grad()
            value = (model(x) - 1).square().mean()
            value.backward()
            return value

        return [rule.step(loss).item() for _ in range(4)]

    train(model, rule)
    others = [
        copy.deepcopy((model, rule)) if kind == "deepcopy"
        else pickle.loads(pickle.dumps((model, rule)))
        for _ in range(2)
    ]  # fmt: skip
    losses = train(model, rule)
    for other in others:
        assert other[1].param_groups[0]["params"][0] is other[0][0].weight
        assert train(*other) == losses
    first = [p.tolist() for p in model.parameters()]
    assert all([p.tolist() for p in m.parameters()] == first for m, _ in others)
