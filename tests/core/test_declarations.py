"""The errors of wrong declarations of operations; a refused declaration adds nothing to the
registry.
"""

from contextlib import nullcontext

import pytest

import minigrad as mg
from minigrad.core import primitive as core_primitive
from minigrad.core import tensor as core_tensor
from minigrad.core.primitive import bilinear, elementwise, general, linear, registry
from minigrad.errors import InPlaceError, ShapeError


@pytest.fixture
def declared(monkeypatch):
    """Operations that are declared in a test are gone after it."""
    before = dict(registry)
    yield
    for name in set(registry) - set(before):
        del registry[name]


@pytest.mark.parametrize(
    ("declare", "error", "said"),
    [
        (
            lambda: elementwise("new", lambda x: x, lambda g: g),
            TypeError,
            r"one rule for each input .* got 1 for 0 \(inputs: none\).*lambda xp, x",
        ),
        (
            lambda: elementwise("new", lambda xp, a, b: a * b, lambda g, b: g * b),
            TypeError,
            r"got 1 for 2 \(inputs: a, b\)",
        ),
        (
            lambda: general("new", lambda xp, a, b: a * b, [None, None], [None]),
            TypeError,
            r"got 1 for 2 \(inputs: a, b\)",
        ),
        (  # only an elementwise operation's pull rule is its push rule
            lambda: general("new", lambda xp, a: a[::-1], [lambda g: g[::-1]], None),
            TypeError,
            "got 0 for 1",
        ),
        (
            lambda: elementwise("new", lambda xp, x: x, lambda g, z: g),
            TypeError,
            "`z` is neither an input",
        ),
        (
            lambda: elementwise("new", lambda xp, x, *, axis=0: x, lambda g, *, axs=0: g),
            TypeError,
            r"`axs` is neither .* nor a keyword parameter \(axis\)",
        ),
        (
            lambda: elementwise("new", lambda xp, x, *, axis=1: x, lambda g, *, axis=0: g),
            TypeError,
            "the default of `axis` is 0, but in the forward function it is 1",
        ),
        (
            lambda: elementwise("new", lambda xp, x, *, axis=1: x, lambda g, *, axis: g),
            TypeError,
            "the default of `axis` is none, but in the forward function it is 1",
        ),
        (
            lambda: general("new", lambda xp, *xs: sum(xs), [lambda g, xs: g], [lambda g: g]),
            TypeError,
            "`xs` is neither an input .of any number of inputs a rule can name none",
        ),
        (
            lambda: general("new", lambda xp, *xs: xs[0], [lambda g, xs_shape: g], [None]),
            TypeError,
            "`xs_shape` is neither an input",
        ),
        (
            lambda: elementwise("new", lambda xp, y, x: x, lambda g, y: g, lambda g, y: g),
            TypeError,
            "an input cannot be named y, which is the output",
        ),
        (
            lambda: bilinear("new", lambda xp, a: a, lambda g, b: g, lambda g, a: g),
            TypeError,
            r"got 2 for 1 \(inputs: a\)",
        ),
        (
            lambda: elementwise("sin", lambda xp, x: x, lambda g: g),
            ValueError,
            "named sin exists already; choose another name",
        ),
    ],
)
def test_a_declaration_that_does_not_fit_is_refused_and_leaves_nothing(declare, error, said):
    before = dict(registry)
    with pytest.raises(error, match=said):
        declare()
    assert registry == before


@pytest.mark.parametrize("fast", [True, False])
def test_a_rule_that_returns_a_number_is_told_the_shape_it_must_have(declared, fast):
    zero = elementwise("new", lambda xp, x: x * 0, lambda g, x: 0.0)
    x = mg.tensor([1.0, 2.0], requires_grad=True)
    told = pytest.raises(ShapeError, match=r"returned 0.0 for input 0.*shape \(2,\)")
    with nullcontext() if fast else mg.fast.disabled(), told:
        zero(x).sum().backward()


def test_a_parameter_named_index_keeps_its_default_in_rules(declared):
    pick = linear(
        "new",
        lambda xp, x, *, index=2: x[index],
        lambda g, x_shape, *, index=2: mg.nn.functional.one_hot(mg.tensor(index), x_shape[0]) * g,
    )
    x, t = mg.tensor([1.0, 2.0, 3.0]), mg.tensor([10.0, 20.0, 30.0])
    assert [v.item() for v in mg.func.jvp(pick, (x,), (t,))] == [3.0, 30.0]


@pytest.mark.parametrize("fast", [True, False])
def test_a_view_whose_rule_reads_its_result_guards_it_against_overwriting(declared, fast):
    rule = lambda g, y: g * y
    view = general("new", lambda xp, x: x[...], [rule], [rule], view=True)
    with nullcontext() if fast else mg.fast.disabled():
        for shape in ((2,), ()):
            x = mg.ones(*shape, requires_grad=True)
            base = x * 2
            y = view(base)
            total = y.sum()
            total.backward(retain_graph=True)
            assert x.grad.sum().item() == 4 * y.numel()
            with mg.no_grad():
                base.mul_(3)
            assert y.tolist() == base.tolist()
            with pytest.raises(InPlaceError, match="its output"):
                total.backward()


def test_who_hears_of_declarations_is_shown_the_pushes_too(declared, monkeypatch):
    heard = []
    monkeypatch.setattr(core_primitive, "on_declaration", [*core_primitive.on_declaration])
    core_primitive.on_declaration.append(lambda p: heard.append(p.push_rules))
    double = linear("new", lambda xp, x: 2 * x, lambda g: 2 * g)
    times = bilinear("new too", lambda xp, v, w: v * w, lambda g, w: g * w, lambda g, v: v * g)
    assert heard == [double.push_rules, times.push_rules]
    x, t = (mg.tensor(3.0), mg.tensor(4.0)), (mg.tensor(1.0), mg.tensor(10.0))
    assert [v.item() for v in mg.func.jvp(times, x, t)] == [12.0, 34.0]


def test_an_operation_of_many_inputs_keeps_a_bounded_number_of_plans():
    cat = registry["cat"]
    leaf, constant = mg.ones(1, requires_grad=True), mg.ones(1)
    for number in range(1, 1200):
        inputs = [leaf if number >> bit & 1 else constant for bit in range(11)]
        assert mg.cat(inputs).requires_grad
        assert cat.plan.cache_info().currsize <= 1000
    mg.cat(inputs).sum().backward()
    assert leaf.grad.item() == (1199).bit_count()


@pytest.mark.parametrize("requires_grad", [True, False])
@pytest.mark.parametrize("payload", [[1.0], 1.0])
def test_a_version_counter_that_two_threads_make_at_once_is_one(
    monkeypatch, requires_grad, payload
):
    x, seen = mg.tensor(payload), []
    if requires_grad:
        x.requires_grad_()
        x.version = x.node.version = None

    class Version(core_tensor.Version):
        def __init__(self):  # the other thread runs here
            if not seen:
                seen.append(None)
                seen[0] = core_tensor.ensure_version(x), x.array

    monkeypatch.setattr(core_tensor, "Version", Version)
    assert (core_tensor.ensure_version(x), x.array) == seen[0]
    assert x.array is seen[0][1] and (not requires_grad or x.node.version is x.version)


@pytest.mark.parametrize("forward", [lambda xp, x: x, lambda xp, x: x[::-1][::-1]])
def test_a_result_in_the_memory_of_an_operand_is_copied(declared, forward):
    """The identity with another gradient, for one: a write to its result had changed x."""
    reverse_gradient = linear("reverse_gradient", forward, lambda g: -g)
    x = mg.tensor([1.0, 2.0], requires_grad=True)
    h = x * 1
    s = h.sin()
    y = reverse_gradient(h)
    y.mul_(5)
    (s + y).sum().backward()
    assert h.tolist() == [1, 2] and y.tolist() == [5, 10]
    assert x.grad.tolist() == (mg.cos(x) - 5).tolist()
    pair = general(
        "pair", lambda xp, x: (x, x.T), [lambda gs: gs[0]], [lambda t: (t, t)], outputs=2
    )
    m = mg.ones(2, 2)
    for part in pair(m):
        part.zero_()
    assert m.tolist() == [[1, 1], [1, 1]]


def test_the_shape_of_a_number_is_that_of_a_scalar(declared):
    seen = []
    scaled = general(
        "scaled",
        lambda xp, a, b: a * b,
        [lambda g, b, b_shape: seen.append(b_shape) or g * b, None],
        [None, None],
    )
    x = mg.ones(3, requires_grad=True)
    scaled(x, 2.0).sum().backward()
    assert x.grad.tolist() == [2, 2, 2] and seen == [()]
