"""What is recorded: the same operations in the same order, whatever a function does; and what is
frozen, refused, captured, written.
"""

import threading
from typing import Any

import numpy as np
import pytest

import minigrad as mg
from minigrad import nn
from minigrad.errors import NoGradientError, ProgramError
from minigrad.program import Literal, recorded, trace
from minigrad.program.payload import Recorded
from tests.helpers.exact_values import bits

RNG = np.random.default_rng(0)


def tensor(*shape: int, requires_grad: bool = False, dtype: str = "float32") -> mg.Tensor:
    return mg.tensor(RNG.standard_normal(shape).astype(dtype), requires_grad=requires_grad)


def agree(function: Any, *examples: Any, others: Any = (), times: int = 3) -> Any:
    """Trace, and compare replays with eager runs on the same and on other inputs. Returns the
    program.
    """
    program = trace(function, *examples).check()
    for inputs in (examples, *others):
        want = bits(function(*inputs))
        for _ in range(times):
            assert bits(program(*inputs)) == want, str(program)
    return program


# ---------------------------------------------------------------------------- what programs contain


def test_forward_backward_and_second_backward_are_distinguished() -> None:
    """A gradient of a gradient: three phases, in their order."""

    def f(x: Any) -> Any:
        x = x.detach().requires_grad_()
        (g,) = mg.autograd.grad((x.sin() * x).sum(), x, create_graph=True)
        (h,) = mg.autograd.grad((g * g).sum(), x, create_graph=True)
        return mg.autograd.grad(h.sum(), x)[0]

    program = agree(f, tensor(4), others=[(tensor(4),)])
    assert list(program.phases()) == ["forward", "backward", "second backward", "backward number 3"]


def test_tangents_are_recorded() -> None:
    """Forward mode, and forward over reverse."""
    from minigrad.func import grad, jvp

    f = lambda x, t: jvp(lambda x: (x.exp() * x).sum(), (x,), (t,))[1]
    program = agree(f, tensor(3), tensor(3), others=[(tensor(3), tensor(3))])
    assert "tangent" in program.phases()
    g = lambda x, t: jvp(grad(lambda x: (x.exp() * x).sum()), (x,), (t,))[1]
    agree(g, tensor(3), tensor(3), others=[(tensor(3), tensor(3))])


def test_an_explicit_backward_is_recorded() -> None:
    """`backward=True` gives the value and the gradients by name: of inputs that require grad,
    and of captured leaves.
    """
    w, b = tensor(3, 2, requires_grad=True), tensor(2, requires_grad=True)

    def loss(x: Any) -> Any:
        return ((x @ w + b).sigmoid() ** 2).mean()

    x = tensor(5, 3, requires_grad=True)
    program = trace(loss, x, backward=True)
    assert sorted(program.names.values()) == ["b", "w", "x"]
    for _ in range(3):
        new = tensor(5, 3, requires_grad=True)
        y = loss(new)
        y.backward()
        value, gradients = program(new)
        assert bits(value) == bits(y) and bits(gradients) == bits(
            {"x": new.grad, "w": w.grad, "b": b.grad}
        )
        w.grad = b.grad = None
    with mg.no_grad():
        w.mul_(3)  # captured: read again in each run
    assert bits(program(x)[0]) == bits(loss(x))
    with pytest.raises(NoGradientError, match="requires_grad=True"):
        trace(lambda x: x.sum(), tensor(3), backward=True)
    with pytest.raises(ProgramError, match="one tensor"):
        trace(lambda x: (x, x), tensor(3, requires_grad=True), backward=True)


def test_a_sum_of_contributions_is_recorded() -> None:
    """x is used four times: three additions of cotangents, two of them into a buffer of the
    engine's own in an eager pass.
    """

    def f(x: Any) -> Any:
        x = x.detach().requires_grad_()
        (x * x + x.exp() + x.sin()).sum().backward()
        return x.grad

    agree(f, tensor(6), others=[(tensor(6),)])


def test_several_results_and_none() -> None:
    """Operations with several results, of which not all are used."""
    a = tensor(3, 3, dtype="float64")

    def f(a: Any) -> Any:
        a = (a @ a.T + 3 * mg.eye(3, dtype=mg.float64)).detach().requires_grad_()
        w, v = mg.linalg.eigh(a)
        (w.sum() + (v[0] ** 2).sum()).backward()
        return w.detach(), a.grad

    agree(f, a, others=[(tensor(3, 3, dtype="float64"),)])


def test_custom_functions_are_recorded_through_their_bodies() -> None:
    """forward, backward and jvp of a Function are minigrad code like any other."""

    class Cube(mg.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * x * x

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (x,) = ctx.saved_tensors
            return 3 * x * x * g

    def f(x: Any) -> Any:
        x = x.detach().requires_grad_()
        y = Cube.apply(x).sum()
        y.backward()
        return y.detach(), x.grad

    program = agree(f, tensor(4), others=[(tensor(4),)])
    assert program.phases()["backward"] >= 3


def test_hooks_retained_gradients_and_anomaly() -> None:
    """Hooks run once, while recording; what they compute is part of the program."""

    def f(x: Any) -> Any:
        x = x.detach().requires_grad_()
        y = x.exp()
        y.register_hook(lambda g: g * 2)
        y.retain_grad()
        y.sum().backward()
        return x.grad, y.grad

    agree(f, tensor(4), others=[(tensor(4),)])


# ------------------------------------------------------------------------- nesting, names, literals


def test_nested_inputs_and_results() -> None:
    """Lists, tuples and dicts of tensors; plain values are part of the program."""

    def f(batch: Any, params: Any, scale: float, flag: Any = None) -> Any:
        return {
            "y": batch[0] @ params["w"] * scale,
            "parts": [params["b"], (batch[1], "text", None)],
        }

    batch, params = (tensor(2, 3), tensor(2)), {"w": tensor(3, 2), "b": tensor(2)}
    program = trace(f, batch, params, 0.5)
    assert sorted(program.names.values()) == ["batch.0", "batch.1", "params.b", "params.w"]
    for _ in range(3):
        assert bits(program(batch, params, 0.5)) == bits(f(batch, params, 0.5))
    with pytest.raises(ProgramError, match=r"recorded with 0\.5"):
        program(batch, params, 0.25)
    with pytest.raises(ProgramError, match="tuple of 2"):
        program(batch[:1], params, 0.5)
    with pytest.raises(ProgramError, match=r"keys \['w', 'b'\]"):
        program(batch, {"w": params["w"]}, 0.5)
    with pytest.raises(ProgramError, match=r"program was recorded for float32 \(3, 2\)"):
        program(batch, {**params, "w": tensor(4, 2)}, 0.5)


def test_inputs_of_another_kind_are_refused_by_name() -> None:
    """Another shape, dtype, number or kind of input is an error that names the input, what was
    expected and what was given.
    """
    program = trace(lambda first, second: first + second, tensor(3), tensor(3))
    with pytest.raises(ProgramError, match=r"input second is float32 \(4,\).*float32 \(3,\)"):
        program(tensor(3), tensor(4))
    with pytest.raises(ProgramError, match=r"input first is float64 \(3,\)"):
        program(tensor(3, dtype="float64"), tensor(3))
    with pytest.raises(ProgramError, match="takes 2 inputs, got 1"):
        program(tensor(3))
    with pytest.raises(ProgramError, match="input second must be a tensor"):
        program(tensor(3), 1.0)
    with pytest.raises(ProgramError, match=r"mg\.tensor\(array\)"):
        trace(lambda x: x, np.zeros(3))


def test_literals_are_compared_by_type_and_bits() -> None:
    """1, 1.0 and True are three things, zeros have signs, NaN is one thing."""
    assert Literal(1) == Literal(1) and Literal(float("nan")) == Literal(float("nan"))
    different = [Literal(v) for v in (1, 1.0, True, 0, 0.0, -0.0, False, 1j)]
    assert len(set(different)) == len(different)


# --------------------------------------------------------------------------------- frozen decisions


def test_branches_are_frozen_and_said_so() -> None:
    """A branch by a value goes to the same side in each replay; the program names the line and
    the value.
    """

    def f(x: Any) -> Any:
        if x.sum() > 0:
            return x * 2
        return x * float(x[0])

    ones = mg.ones(3)
    program = trace(f, ones)
    assert len(program.decisions) == 1
    assert program.decisions[0].startswith("test_record.py:") and program.decisions[0].endswith(
        "was True"
    )
    assert "frozen" in str(program)
    assert bits(program(-ones)) == bits(-ones * 2)  # the frozen branch, not that of -ones
    other = trace(f, -ones)
    assert len(other.decisions) == 2 and "was -1.0" in other.decisions[1]


@pytest.mark.parametrize(
    "ask",
    [
        bool,
        int,
        float,
        complex,
        lambda x: x.item(),
        lambda x: x.tolist(),
        lambda x: x.numpy(),
        np.asarray,
        lambda x: range(int(x)),
    ],
)
def test_everything_that_python_sees_is_noted(ask: Any) -> None:
    """Each value that leaves the library is a frozen decision."""

    def f(x: Any) -> Any:
        ask(x.sum())
        return x

    assert len(trace(f, mg.ones(1)).decisions) == 1
    assert trace(lambda x: x + 1, mg.ones(1)).decisions == []


def test_loops_are_unrolled_and_repeated_decisions_counted() -> None:
    """One line that decides four times is noted once, with the count."""

    def f(x: Any) -> Any:
        while x.sum() < 10:
            x = x * 2
        return x

    program = trace(f, mg.ones(1))
    assert len(program.instructions) == 4
    assert sum(
        "times)" in d or "was False" in d or "was True" in d for d in program.decisions
    ) == len(program.decisions)


def test_labels_and_indices_are_data() -> None:
    """Integer inputs used as indices are read again, with and without gradients."""
    table = tensor(5, 3, requires_grad=True)

    def f(index: Any, labels: Any) -> Any:
        rows = table[index]
        loss = nn.functional.cross_entropy(rows, labels)
        (g,) = mg.autograd.grad(loss, table)
        return loss.detach(), g

    draw = lambda n: mg.tensor(RNG.integers(0, n, 4))
    agree(f, draw(5), draw(3), others=[(draw(5), draw(3)), (draw(5), draw(3))])
    agree(lambda x, i: x[i], tensor(4, 3), mg.tensor(2), others=[(tensor(4, 3), mg.tensor(1))])
    agree(
        lambda x, i: x[:, i],
        tensor(4, 3),
        mg.tensor([2, 0]),
        others=[(tensor(4, 3), mg.tensor([1, 1]))],
    )

    def written(x: Any, i: Any) -> Any:
        x = x.clone()
        x[i] = 0.0
        i = i.clone()
        return x

    agree(written, tensor(4, 3), mg.tensor([2, 0]), others=[(tensor(4, 3), mg.tensor([1, 1]))])


def test_shapes_that_depend_on_values_are_an_error_in_the_replay() -> None:
    """A mask selects as many elements as it has ones; the program was recorded for one number of
    them.
    """
    program = trace(
        lambda x, mask: x[mask] * 2, mg.arange(4.0), mg.tensor([True, False, True, True])
    )
    assert bits(program(mg.arange(4.0), mg.tensor([False, True, True, True]))) == bits(
        mg.tensor([2.0, 4.0, 6.0])
    )
    for _ in range(3):
        with pytest.raises(ProgramError, match=r"shape|was recorded"):
            program(mg.arange(4.0), mg.tensor([True, False, False, False]))


# -------------------------------------------------------------------- in-place operations and views


def aliases(x: Any) -> Any:
    y = x.clone()
    z = y.detach()
    z.add_(5)
    w = y.reshape(-1)
    y.fill_(2)
    return y, z, w, w + z.reshape(-1)


def put(x: Any) -> Any:
    y = x.clone()
    y[mg.tensor([0, 1]), mg.tensor([1, 1])] = mg.tensor([8.0, 9.0])
    y.index_put_((mg.tensor([0, 0]),), mg.ones(2, 4), accumulate=True)
    return y


@pytest.mark.parametrize(
    "function",
    [aliases, put],
)
def test_in_place_operations_become_values(function: Any) -> None:
    """Nothing is overwritten in a program; what in-place operations mean is recorded."""
    program = agree(function, tensor(3, 4), others=[(tensor(3, 4),)])
    assert program.updates == {}


def test_an_input_written_in_place_is_written_by_the_replay() -> None:
    """As an eager call would: the caller's tensor changes, and its version counts."""

    def f(x: Any) -> Any:
        x.mul_(2)
        return x.sum()

    program = trace(f, mg.ones(3))
    for _ in range(3):
        x, y = tensor(3), None
        expected = x * 2
        before = x._version
        y = program(x)
        assert bits(x) == bits(expected) and bits(y) == bits(expected.sum()) and x._version > before


def test_a_gradient_through_an_overwritten_value_is_still_an_error() -> None:
    """The engine's own checks hold while recording."""

    def f(x: Any) -> Any:
        x = x.detach().requires_grad_()
        y = x.sin() * 1
        z = y.exp()
        z.mul_(2)
        return mg.autograd.grad(z.sum(), x)

    with pytest.raises(mg.errors.InPlaceError):
        f(tensor(3))
    with pytest.raises(mg.errors.InPlaceError):
        trace(f, tensor(3))


# ----------------------------------------------------------------------------------- random numbers


def test_random_numbers_are_drawn_in_each_replay() -> None:
    """The generator advances in a replay exactly as in an eager run."""

    def f(x: Any) -> Any:
        noise = mg.randn(3) * 0.1 + mg.rand(3) + mg.randint(0, 9, (3,))
        return nn.functional.dropout(x + noise, 0.5), mg.rand(()), mg.randperm(4)

    program = trace(f, mg.ones(3)).check()
    for seed in (1, 2, 3):
        mg.manual_seed(seed)
        want = [bits(f(mg.ones(3))), bits(f(mg.ones(3)))]
        mg.manual_seed(seed)
        assert [bits(program(mg.ones(3))), bits(program(mg.ones(3)))] == want
        assert want[0] != want[1]


def test_unused_and_equal_draws_stay() -> None:
    """Leaving a draw out, or drawing once for two, would change every number after it."""

    def f(x: Any) -> Any:
        mg.rand(2)
        return x + mg.rand(2), x + mg.rand(2)

    program = trace(f, mg.ones(2))
    assert sum(i.primitive.name == "random_uniform" for i in program.instructions) == 3
    mg.manual_seed(0)
    want = bits(f(mg.ones(2)))
    mg.manual_seed(0)
    assert bits(program(mg.ones(2))) == want


# ------------------------------------------------------------------------- captured state and steps


def test_tensors_from_outside() -> None:
    """Constants are copied into the program; leaves and what the function writes to are read and
    written where they are.
    """
    constant, weight, count = (
        mg.tensor([1.0, 2.0]),
        mg.tensor([3.0, 4.0], requires_grad=True),
        mg.tensor(0.0),
    )

    def f(x: Any) -> Any:
        with mg.no_grad():
            count.add_(1)
        return x * constant + weight * weight + count

    program, first = recorded(f, mg.ones(2))
    assert float(count) == 1 and bits(first.detach()) == bits(mg.tensor([11.0, 19.0]))
    assert sorted(program.name_of(n) for n in program.captured) == ["count", "weight"]
    assert [program.name_of(n) for n in program.constants] == ["constant"]
    constant.fill_(100)
    weight.data.fill_(0)
    for k in range(2, 5):
        assert bits(program(mg.ones(2))) == bits(mg.tensor([1.0, 2.0]) + k) and float(count) == k
    assert type(weight.array) is not Recorded and type(count.array) is not Recorded


def training(optimiser: Any) -> Any:
    """A layer, and one step of its training."""
    model = nn.Linear(2, 2)
    rule = optimiser(model.parameters())

    def step(x: Any, labels: Any) -> Any:
        rule.zero_grad()
        loss = nn.functional.cross_entropy(model(x), labels)
        loss.backward()
        rule.step()
        return loss.detach()

    return model, step


def test_optimisers_that_cannot_be_recorded() -> None:
    """A first step that makes state, and a count that a rule keeps for itself, would be frozen:
    errors with advice, nothing left behind.
    """
    from minigrad.optim import SGD

    class Counting(SGD):
        def rule(self, array: Any, grad: Any, state: Any, group: Any) -> None:
            state["step"] = state.get("step", 0) + 1
            array -= 0.1 / state["step"] * grad

    x, labels = tensor(16, 2), mg.tensor(RNG.integers(0, 2, 16))
    model, step = training(lambda p: SGD(p, lr=0.1, momentum=0.9))
    with pytest.raises(ProgramError, match="Take one step first"):
        recorded(step, x, labels)
    model, step = training(lambda p: Counting(p, lr=0.1))
    step(x, labels)
    with pytest.raises(ProgramError, match="'step'"):
        recorded(step, x, labels)
    assert all(type(p.array) is np.ndarray for p in model.parameters())
    step(x, labels)


def test_gradients_left_in_leaves() -> None:
    """backward() inside: after a replay the captured leaf has its .grad; one that was there is
    added to; one that was cleared is None.
    """
    w = tensor(3, requires_grad=True)

    def add(x: Any) -> Any:
        (w * x).sum().backward()

    program = trace(add, tensor(3))
    w.grad = None
    x = tensor(3)
    program(x)
    assert bits(w.grad) == bits(x)
    more = trace(add, tensor(3))
    w.grad = mg.ones(3)
    for k in (1, 2, 3):
        more(mg.ones(3))
        assert bits(w.grad) == bits(mg.ones(3) + k)

    def clear(x: Any) -> Any:
        w.grad = None
        return w + x

    program = trace(clear, tensor(3))  # there is a gradient now, which the function clears
    for _ in range(3):
        w.grad = mg.ones(3)
        program(x)
        assert w.grad is None


# ------------------------------------------------------------------- what cannot be recorded; leaks


def test_refused_while_recording() -> None:
    """Batches and traces inside a trace are errors with advice; everything is as before
    afterwards.
    """
    w = tensor(3, requires_grad=True)
    with pytest.raises(ProgramError, match="vmap"):
        trace(lambda x: mg.vmap(lambda row: row * w)(x), tensor(2, 3))
    with pytest.raises(ProgramError, match="outer one"):
        trace(lambda x: trace(lambda y: y, x), tensor(2))
    with pytest.raises(ProgramError, match=r"vmap\(trace"):
        mg.vmap(lambda x: trace(lambda y: y, x)(x))(tensor(2, 3))
    assert type(w.array) is np.ndarray
    with pytest.raises(ZeroDivisionError):
        trace(lambda x: (x * w, 1 // 0), tensor(3))
    assert type(w.array) is np.ndarray


def test_a_program_inside_a_trace_and_inside_vmap() -> None:
    """Programs run on recorded and on batched values too: plainly, instruction by instruction."""
    inner = trace(lambda x: (x * x).exp(), tensor(3))
    agree(lambda x: inner(x) + 1, tensor(3), others=[(tensor(3),)])
    rows = tensor(4, 3)
    assert bits(mg.vmap(inner)(rows)) == bits(mg.stack([inner(row) for row in rows]))


def test_values_that_leak_become_plain() -> None:
    """A tensor that the function kept outside goes on working after the recording."""
    kept = []

    def f(x: Any) -> Any:
        kept.append(x * 2)
        return x

    x = tensor(3)
    trace(f, x)
    assert (
        bits(kept[0] + 1 - 1) is not None
        and np.asarray((kept[0] + x).numpy()).tobytes() == (x * 2 + x).numpy().tobytes()
    )
    agree(lambda y: y * kept[0], x)


def test_threads_share_a_program() -> None:
    """Each run has buffers of its own, so threads do not disturb one another."""
    program = trace(lambda x: ((x * 2 + 1).exp() * x).sin() * 3 - x, tensor(50_000))
    inputs = [tensor(50_000) for _ in range(4)]
    want = [bits(program(x)) for x in inputs]
    wrong: list[int] = []

    def run(k: int) -> None:
        for _ in range(30):
            if bits(program(inputs[k])) != want[k]:
                wrong.append(k)

    threads = [threading.Thread(target=run, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


def test_results_are_fresh() -> None:
    """A second run does not overwrite the first one's results, not even where a result is an
    input, a constant or a window.
    """
    constant = tensor(3)

    def f(x: Any) -> Any:
        y = x * 2
        z = y.exp()
        return y, y[1:], z, x, constant + 0 * constant, constant, z

    program = trace(f, tensor(3))
    for _ in range(3):
        x = tensor(3)
        first = program(x)
        before = bits(first)
        assert before == bits(f(x))
        second = program(tensor(3))
        for t in second:
            t.fill_(0)
        assert bits(first) == before
    assert bits(program(x)) == before
