"""mg.checkpoint: the same results and gradients to the last bit, fewer values kept, and an error
wherever the second run would differ.
"""

import gc
import itertools
import tracemalloc

import numpy as np
import pytest

import minigrad as mg
from minigrad import nn
from minigrad.autograd.checkpoint import (
    CheckpointedNode,
    CheckpointError,
    checkpoint,
    checkpoint_sequential,
)
from minigrad.core.graph import OpNode, youngest_first
from minigrad.errors import GraphFreedError, InPlaceError
from minigrad.observers import observing

F64 = mg.float64


def plainly(function, *args, **kwargs):
    return function(*args, **kwargs)


def nested(function, *args, **kwargs):
    return checkpoint(lambda *a, **k: checkpoint(function, *a, **k), *args, **kwargs)


def twice_nested(function, *args, **kwargs):
    return checkpoint(nested, function, *args, **kwargs)


WAYS = {"checkpoint": checkpoint, "nested": nested, "twice nested": twice_nested}


@pytest.fixture
def leaves():
    mg.manual_seed(0)
    return [
        mg.randn(3, 4, dtype=F64, requires_grad=True),
        mg.randn(4, dtype=F64, requires_grad=True),
        mg.randn(4, 2, dtype=F64, requires_grad=True),
    ]


def block(x, b, w):
    h = mg.tanh(x * b + x.exp())
    h = h.clone().mul_(2.0) if h.numel() else h
    a, c = mg.linalg.qr(h.t() @ h + mg.eye(4, dtype=F64))
    return (h @ w).sin(), {"several": (a * c).sum(0), "view": h[:, 1:].reshape(-1), "number": 3}


def loss_of(way, x, b, w):
    y, others = way(block, x, b=b, w=w)
    return (
        (y * y).sum()
        + (others["several"].exp()).sum()
        + others["view"].sin().sum() * others["number"]
    )


@pytest.mark.parametrize("way", WAYS)
def test_same_gradients_to_the_last_bit(way, leaves):
    expected = mg.autograd.grad(loss_of(plainly, *leaves), leaves)
    got = mg.autograd.grad(loss_of(WAYS[way], *leaves), leaves)
    assert all(np.array_equal(a.numpy(), b.numpy()) for a, b in zip(expected, got, strict=True))
    loss_of(WAYS[way], *leaves).backward()
    assert all(
        np.array_equal(a.numpy(), x.grad.numpy()) for a, x in zip(expected, leaves, strict=True)
    )


@pytest.mark.parametrize("way", WAYS)
def test_same_second_derivatives(way, leaves):
    def second(way):
        first = mg.autograd.grad(loss_of(way, *leaves), leaves, create_graph=True)
        return mg.autograd.grad(sum((g * g).sum() for g in first), leaves)

    for a, b in zip(second(plainly), second(WAYS[way]), strict=True):
        assert np.array_equal(a.numpy(), b.numpy())
    f = lambda x: WAYS[way](lambda x: (x.sin() * x.exp()).sum(), x)
    assert np.array_equal(
        mg.func.hessian(f)(leaves[1].detach()).numpy(),
        mg.func.hessian(lambda x: (x.sin() * x.exp()).sum())(leaves[1].detach()).numpy(),
    )


@pytest.mark.parametrize("way", WAYS)
def test_forward_mode_and_vmap(way, leaves):
    x = leaves[0].detach()
    f = lambda x: (x.sin() * x).exp().sum(-1)
    g = lambda x: WAYS[way](f, x)
    assert np.array_equal(
        mg.func.jvp(g, (x,), (x,))[1].numpy(), mg.func.jvp(f, (x,), (x,))[1].numpy()
    )
    # forward over reverse
    over = lambda f: mg.func.jvp(mg.func.grad(lambda x: f(x).sum()), (x,), (x,))[1].numpy()
    assert np.array_equal(over(g), over(f))
    assert np.array_equal(
        mg.func.vmap(mg.func.grad(g))(x).numpy(), mg.func.vmap(mg.func.grad(f))(x).numpy()
    )
    assert np.array_equal(mg.Jvp(g)(x, x)[1].numpy(), mg.Jvp(f)(x, x)[1].numpy())


def test_values_are_gone_and_come_back_once():
    runs = []

    def f(x):
        runs.append(1)
        return x.sin().exp().tanh()

    x = mg.ones(3, dtype=F64, requires_grad=True)
    y = checkpoint(f, x)
    inside = [n for n in youngest_first([y.node])[1] if isinstance(n, OpNode)]
    assert len(inside) == 3 and all(type(n) is CheckpointedNode and n.saved is None for n in inside)
    y.sum().backward(retain_graph=True)
    y.sum().backward(retain_graph=True)
    # once forward, once for each pass
    assert len(runs) == 3 and all(n.saved is None for n in inside)
    with pytest.raises(GraphFreedError, match="already gone through"):
        y.sum().backward()
        y.sum().backward()
    assert len(runs) == 4


def test_nested_regions_keep_the_outermost_input_alone():
    made = []

    def inner(x):
        made.append("inner")
        return x.sin().exp()

    def outer(x):
        made.append("outer")
        return checkpoint(inner, checkpoint(inner, x))

    x = mg.ones(3, dtype=F64, requires_grad=True)
    y = checkpoint(outer, x)
    y.sum().backward()
    # forward; the outer once again, which runs both inner ones; each of these once more for its own
    # values
    assert made == ["outer", "inner", "inner"] * 2 + ["inner", "inner"]


def test_random_numbers_are_the_same_the_second_time():
    x = mg.ones(1000, dtype=F64, requires_grad=True)
    mg.manual_seed(3)
    y = checkpoint(lambda x: nn.functional.dropout(x.exp(), 0.5).square(), x)
    kept = (y != 0).to(F64)
    mg.rand(7)
    before = mg.functions.random_state()
    expected = mg.rand(1).item()
    mg.functions.set_random_state(before)
    y.sum().backward()
    assert np.array_equal((x.grad != 0).numpy(), kept.bool().numpy())
    # the backward pass left the random numbers where they were
    assert mg.rand(1).item() == expected


def test_without_the_state_other_random_numbers_are_drawn():
    x = mg.ones(1000, dtype=F64, requires_grad=True)
    y = checkpoint(
        lambda x: nn.functional.dropout(x.exp(), 0.5).square(), x, preserve_rng_state=False
    )
    y.sum().backward()
    assert not np.array_equal((x.grad != 0).numpy(), (y != 0).numpy())


def test_modules_train_alike():
    def trained(way):
        mg.manual_seed(1)
        body = nn.Sequential(
            nn.Linear(4, 16), nn.BatchNorm1d(16), nn.Tanh(), nn.Dropout(0.3), nn.Linear(16, 4)
        )
        head = nn.Linear(4, 1)
        optimiser = mg.optim.Adam([*body.parameters(), *head.parameters()], lr=0.01)
        x = mg.randn(32, 4)
        for _ in range(3):
            optimiser.zero_grad()
            (head(way(body, x) + x) ** 2).mean().backward()
            optimiser.step()
        return [p.detach().numpy() for p in [*body.parameters(), *head.parameters()]]

    assert all(
        np.array_equal(a, b) for a, b in zip(trained(plainly), trained(checkpoint), strict=True)
    )


def test_two_calls_of_one_module_before_backward():
    norm = nn.BatchNorm1d(3)  # each call moves its running statistics, which no gradient depends on
    x = mg.randn(8, 3, requires_grad=True)
    (checkpoint(norm, x).sin().sum() + checkpoint(norm, x * 2).sin().sum()).backward()
    assert mg.isfinite(x.grad).all()


def test_passes_through_one_result_of_a_checkpoint_are_right():
    x, w = (mg.ones(3, dtype=F64, requires_grad=True) for _ in range(2))
    a, b = checkpoint(lambda x: (x.sin() * w, (x * w).exp()), x)
    (ga,) = mg.autograd.grad(a.sum(), w, retain_graph=True)
    (gb,) = mg.autograd.grad(b.sum(), x)
    assert np.allclose(ga.numpy(), np.sin(1.0)) and np.allclose(gb.numpy(), np.e)


def test_inputs_outputs_and_hooks_of_all_kinds():
    x = mg.ones(3, dtype=F64, requires_grad=True)
    seen = []

    def f(x, pair, n, scale=None):
        h = x.exp()
        h.register_hook(lambda g: seen.append(g.tolist()))
        return x, h.square() * n * scale["s"] + pair[0], None, mg.tensor([1, 2])

    same, y, nothing, integers = checkpoint(f, x, (x * 2, "text"), 3, scale={"s": 0.5})
    assert same is x and nothing is None and integers.tolist() == [1, 2]
    y.sum().backward()
    assert np.allclose(x.grad.numpy(), 3 * np.exp(2.0) + 2) and len(seen) == 1


def test_no_grad_and_constant_inputs():
    x = mg.ones(3)
    assert checkpoint(mg.sin, x).grad_fn is None
    with mg.no_grad():
        y = checkpoint(mg.sin, mg.ones(3, requires_grad=True))
    assert not y.requires_grad and checkpoint(lambda: 3) == 3


@pytest.mark.parametrize("which", ["argument", "parameter", "constant", "number", "base", "far"])
def test_what_was_read_must_not_change(which):
    x = mg.ones(3, dtype=F64, requires_grad=True)
    w = mg.ones(3, dtype=F64, requires_grad=True)
    c = mg.ones(3, dtype=F64)
    s = mg.tensor(2.0, dtype=F64, requires_grad=True)
    base = mg.ones(6, dtype=F64)
    far = mg.ones(3, dtype=F64)
    # c is read, but no rule of an ordinary graph would have kept it; base and far have their
    # influence through unrecorded operations
    y = checkpoint(lambda x: ((x + c) * w * s + base[:3] * (far * 2).exp()).sin(), x)
    with mg.no_grad():
        {"argument": x, "parameter": w, "constant": c, "number": s, "base": base, "far": far}[
            which
        ].mul_(2)
    with pytest.raises(
        InPlaceError, match="was modified in place after the checkpointed function ran"
    ):
        y.sum().backward()


def test_what_the_function_made_may_change():
    x = mg.ones(3, dtype=F64, requires_grad=True)
    y = checkpoint(lambda x: x.exp(), x)
    y.mul_(2)
    y.sum().backward()
    assert np.allclose(x.grad.numpy(), 2 * np.e)


def test_what_the_function_made_and_used_itself_may_change():
    x = mg.ones(3, dtype=F64, requires_grad=True)

    def f(x):
        h = x.exp()
        return h, h + 1  # a sum keeps nothing

    for way in (plainly, checkpoint):
        h, y = way(f, x)
        if way is checkpoint:
            h.mul_(2)
        assert np.allclose(mg.autograd.grad(y.sum(), x)[0].numpy(), np.e)


def test_an_alias_of_what_was_read_must_not_change_either():
    x, base = mg.ones(3, dtype=F64, requires_grad=True), mg.ones(6, dtype=F64)
    held = {"c": base[:3]}
    y = checkpoint(lambda x: (x * held["c"]).sin(), x)
    held["c"] = base[:3]  # the tensor that was read is gone, its memory is not
    base.mul_(2)
    with pytest.raises(InPlaceError, match="which mul read"):
        y.sum().backward()


@pytest.mark.parametrize("window", [False, True])
@pytest.mark.parametrize(
    "made_by", [lambda: mg.zeros(3, dtype=F64), lambda: mg.zeros(3, dtype=F64) * 1]
)
def test_what_was_copied_into_a_buffer_counts_as_read(window, made_by):
    x, c = mg.ones(3, dtype=F64, requires_grad=True), mg.ones(3, dtype=F64)

    def f(x):
        buffer = made_by()
        if window:
            buffer[:2].copy_(c[1:])
        else:
            buffer.add_(c)
        return (x * buffer).sin()

    assert np.array_equal(
        *(mg.autograd.grad(way(f, x).sum(), x)[0].numpy() for way in (plainly, checkpoint))
    )
    y = checkpoint(f, x)
    c.mul_(2)
    with pytest.raises(InPlaceError, match="was modified in place after"):
        y.sum().backward()


@pytest.mark.parametrize(
    "f",
    [
        lambda x, c: (x * c.add_(1)).sin(),
        lambda x, c: (c.mul_(2), (x * c).sin())[1],
        lambda x, c: (c[:2].add_(1), (x * c).sin())[1],
        lambda x, c: ((x * 1).sin() * c, c.zero_())[0],
        lambda x, c: c.detach().add_(x.detach()).mul(x).sin(),
    ],
    ids=["read after", "statement", "window", "read before", "detached"],
)
def test_the_function_must_not_modify_what_it_reads(f):
    y = checkpoint(f, mg.ones(3, dtype=F64, requires_grad=True), mg.ones(3, dtype=F64))
    with pytest.raises(InPlaceError, match="the function modifies in place a tensor of shape"):
        y.sum().backward()


def test_an_input_with_history_must_not_be_modified_inside():
    h = mg.ones(3, dtype=F64, requires_grad=True) * 2
    y = checkpoint(lambda h: h.mul_(3).sin(), h)
    with pytest.raises(InPlaceError, match="the function modifies in place"):
        y.sum().backward()


def test_a_buffer_made_inside_may_be_filled_and_returned():
    def f(x):
        out = mg.zeros(2, 3, dtype=F64)
        out[0] = x.sin()
        out[1] = (out[0].clone() * x).exp()
        return out

    x = mg.ones(3, dtype=F64, requires_grad=True)
    assert np.array_equal(
        *(mg.autograd.grad(way(f, x).sum(), x)[0].numpy() for way in (plainly, checkpoint))
    )


def test_a_batch_may_have_ended_before_the_second_run():
    def gradient(way):
        mg.manual_seed(5)
        x = mg.ones(4, 3, dtype=F64, requires_grad=True)
        noisy = lambda x: (x * mg.rand(3, dtype=F64)).exp()
        mg.vmap(lambda x: way(noisy, x), randomness="different")(x).sum().backward()
        return x.grad.numpy()

    assert np.array_equal(gradient(checkpoint), gradient(plainly))
    assert len(np.unique(gradient(checkpoint))) == 12


def test_the_second_run_pushes_no_tangents():
    pushed = []

    class Watch:
        def begin(self, event):
            inside = event.parent
            while inside is not None and (
                inside.phase != "region" or inside.params["name"] != "checkpoint: computed again"
            ):
                inside = inside.parent
            if inside is not None:
                pushed.append(event.phase)

        def end(self, event):
            pass

    x = mg.ones(3, dtype=F64)
    with observing(Watch()):
        mg.func.jvp(
            mg.func.grad(lambda x: checkpoint(lambda x: x.sin().exp().sum(), x)), (x,), (x,)
        )
    assert "forward" in pushed and "tangent" not in pushed


def test_an_in_place_change_inside_is_as_good_or_bad_as_without():
    x = mg.ones(3, dtype=F64, requires_grad=True)

    def good(x):
        h = x * 2
        h[0] = 5.0
        h.mul_(x)
        return h.sin()

    expected = mg.autograd.grad(good(x).sum(), x)[0]
    assert np.array_equal(
        mg.autograd.grad(checkpoint(good, x).sum(), x)[0].numpy(), expected.numpy()
    )

    def bad(x):
        h = x * 2
        y = h.sin()
        h.mul_(3)
        return y

    for way in (plainly, checkpoint):
        with pytest.raises(InPlaceError):
            way(bad, x).sum().backward()


@pytest.mark.parametrize(
    ("second", "words"),
    [
        (lambda x: x.exp(), "was sin .* and exp .* when it was computed again"),
        (lambda x: x.exp().sin(), "was sin .* and exp"),
        (lambda x: x.sin().exp(), "ran 1 operations .* and 2"),
        (lambda x: x[1:].sin(), r"shape \(3,\) .* and sin with shape \(2,\)"),
        (lambda x: x.float().sin(), "dtype float64 .* dtype float32"),
        (lambda x: x + 2, "ran 1 operations .* and 0"),
    ],
)
def test_a_second_run_with_other_operations_is_an_error(second, words):
    ways = iter([lambda x: x.sin(), second])
    y = checkpoint(lambda x: next(ways)(x), mg.ones(3, dtype=F64, requires_grad=True))
    with pytest.raises(CheckpointError, match=words):
        y.sum().backward()


def test_an_error_the_second_time_passes_through_and_leaves_no_mode_behind():
    ways = iter([lambda x: x.sin()])
    y = checkpoint(lambda x: next(ways)(x), mg.ones(3, requires_grad=True))
    with mg.no_grad():
        with pytest.raises(StopIteration):
            mg.autograd.backward(y, mg.ones(3))
        assert not mg.is_grad_enabled()


def test_memory_returns_by_reference_counting_alone():
    gc.collect()
    gc.disable()
    try:
        x = mg.ones(10, requires_grad=True)
        y = checkpoint(lambda x: checkpoint(lambda x: x.sin().exp(), x).tanh(), x)
        y.sum().backward(retain_graph=True)
        del y
        z = checkpoint(lambda x: x.sin().exp(), x)
        del z
        assert gc.collect() == 0
    finally:
        gc.enable()


def peak_of(build):
    build().backward()  # caches and lazily made things are not what is measured
    gc.collect()
    tracemalloc.start()
    build().backward()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def test_memory_of_a_chain_falls_with_the_square_root():
    n, layers = 20_000, 36
    x = mg.ones(n, dtype=F64, requires_grad=True)
    stages = [mg.sin] * layers
    array = 8 * n
    plain = peak_of(lambda: checkpoint_sequential(stages, 1, x).sum())
    cut = peak_of(lambda: checkpoint_sequential(stages, 6, x).sum())
    assert plain > layers * array
    assert cut < 20 * array  # six inputs and one piece of six, and a few of the pass itself


def test_pieces_of_a_chain_are_of_equal_length_but_for_one_stage():
    """61 stages in 8 pieces keep 7 inputs and a last piece of 7, and 2 arrays of the pass
    itself."""
    x = mg.ones(20_000, dtype=F64, requires_grad=True)
    peak = peak_of(lambda: checkpoint_sequential([mg.sin] * 61, 8, x).sum())
    assert peak < 17 * x.array.nbytes
    lengths = [[checkpointed(n, segments) for segments in range(1, n + 1)] for n in (1, 2, 7, 12)]
    assert all(max(found) - min(found) <= 1 for rows in lengths for found in rows)


def checkpointed(n, segments):
    """How many stages each piece has, as the backward pass computes them again; the last piece has
    the rest."""
    runs = []
    stages = [lambda x, i=i: (runs.append(i), x.sin())[1] for i in range(n)]
    y = checkpoint_sequential(stages, segments, mg.ones(1, requires_grad=True))
    assert runs == [*range(n)]
    runs.clear()
    y.backward()
    starts = [k for k, i in enumerate(runs) if k == 0 or i < runs[k - 1]]
    found = [b - a for a, b in itertools.pairwise([*starts, len(runs)])]
    assert len(found) == segments - 1
    return [*found, n - len(runs)]


def test_the_benchmark_measures_both(capsys, monkeypatch):
    from benchmarks import checkpointing

    for variable in (
        "OMP_NUM_THREADS",
        "OPENBLAS_NUM_THREADS",
        "MKL_NUM_THREADS",
        "VECLIB_MAXIMUM_THREADS",
    ):
        monkeypatch.setenv(variable, "1")  # the script sets them; afterwards they are as before
    monkeypatch.setattr(checkpointing, "BATCH", 512)
    assert checkpointing.main(["--layers", "16", "--repeat", "1"]) == 0
    rows = [
        line.split("|") for line in capsys.readouterr().out.splitlines() if line.startswith("| ")
    ][1:]
    assert [int(row[1]) for row in rows] == [1, 4, 8, 16]
    assert float(rows[1][3]) < 0.7 < float(rows[3][3])


def test_checkpoint_sequential_is_the_sequence():
    net = nn.Sequential(*(nn.Linear(4, 4) for _ in range(7)))
    x = mg.randn(3, 4)
    expected = mg.autograd.grad(net(x).sum(), list(net.parameters()))
    for segments in (1, 2, 3, 7):
        got = mg.autograd.grad(
            checkpoint_sequential(net, segments, x).sum(), list(net.parameters())
        )
        assert all(np.array_equal(a.numpy(), b.numpy()) for a, b in zip(expected, got, strict=True))
    with pytest.raises(ValueError, match="between 1 and the number of functions, 7; got 8"):
        checkpoint_sequential(net, 8, x)


def test_mistakes_and_pytorchs_switch():
    assert checkpoint(mg.sin, mg.ones(2), use_reentrant=None).shape == (2,)
    with pytest.raises(ValueError, match="use_reentrant"):
        checkpoint(mg.sin, mg.ones(2), use_reentrant=True)
    with pytest.raises(TypeError, match="must be a function"):
        checkpoint(3, mg.ones(2))
    assert mg.checkpoint is checkpoint and mg.checkpoint_sequential is checkpoint_sequential


def test_a_users_function_inside():
    class Own(mg.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return g * 2 * x

    x = mg.tensor([2.0, 3.0], dtype=F64, requires_grad=True)
    f = lambda x: Own.apply(x.exp()).sin()
    for order in (1, 2):
        got, expected = x, x
        for _ in range(order):
            got = mg.autograd.grad(
                checkpoint(f, x).sum() if got is x else got.sum(), x, create_graph=True
            )[0]
            expected = mg.autograd.grad(
                f(x).sum() if expected is x else expected.sum(), x, create_graph=True
            )[0]
        assert np.array_equal(got.detach().numpy(), expected.detach().numpy())


def test_a_deep_chain_of_checkpoints_does_not_recurse():
    x = mg.tensor(0.5, dtype=F64, requires_grad=True)
    y = x
    for _ in range(5000):
        y = checkpoint(mg.sin, y)
    y.backward()
    z = x.detach().requires_grad_()
    w = z
    for _ in range(5000):
        w = w.sin()
    w.backward()
    assert x.grad.item() == z.grad.item()


def test_a_trace_shows_a_checkpointed_function():
    from minigrad.trace import check_laws, validate
    from minigrad.watch import trace_function

    trace = validate(trace_function(lambda x: checkpoint(lambda x: x.sin().exp(), x) * x, 0.5))
    plain = trace_function(lambda x: plainly(lambda x: x.sin().exp(), x) * x, 0.5)
    assert not check_laws(trace)
    assert [n["id"] for n in trace["nodes"]] == [n["id"] for n in plain["nodes"]]
    assert trace["steps"][-1]["writes"] == plain["steps"][-1]["writes"]


@pytest.mark.oracle
def test_checkpoints_agree_with_pytorch():
    import torch
    from torch.utils.checkpoint import checkpoint as torch_checkpoint

    def run(library, way, grad):
        tensor = lambda v: library.tensor(v, dtype=library.float64, requires_grad=True)
        x, w = tensor([[0.3, -0.2], [1.0, 0.5]]), tensor([[0.1, 0.7], [-0.4, 0.2]])
        f = lambda x: library.softmax(library.tanh(x @ w), -1)
        y = way(f, x)
        first = grad((y * y).sum(), [x, w], create_graph=True)
        second = grad(sum((g * g).sum() for g in first), [x, w])
        return [v.detach().numpy() for v in (y, *first, *second)]

    ours = run(mg, checkpoint, mg.autograd.grad)
    theirs = run(
        torch, lambda f, x: torch_checkpoint(f, x, use_reentrant=False), torch.autograd.grad
    )
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-14)
