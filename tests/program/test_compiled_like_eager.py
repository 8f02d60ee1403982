"""Each call of a compiled function, recorded and replayed ones too, leaves what the plain call
leaves: a test for each way to differ that random programs seldom try, or whose replays are
counted."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minigrad as mg
from minigrad import nn, optim
from minigrad.program import EagerWarning
from tests.helpers.exact_values import plain

W = mg.ones(2, requires_grad=True)


@pytest.fixture(autouse=True)
def _no_eager_warnings() -> Any:
    """Reasons are asserted where they matter."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EagerWarning)
        yield


def both(make: Callable[[Callable[[Any], Any]], Callable[[int], Any]], calls: int = 7) -> None:
    """`make(compile)` gives a function of the number of the call; what it returns eagerly and
    compiled is equal in every call."""
    runs = []
    for compile_ in (lambda f: f, mg.compile):
        mg.manual_seed(3)
        call = make(compile_)
        seen = []
        for i in range(calls):
            try:
                seen.append(plain(call(i)))
            except mg.AutogradError as error:
                seen.append(type(error).__name__)
        runs.append(seen)
    assert runs[0] == runs[1]


def test_a_compiled_model_is_differentiated_from_outside() -> None:
    """net = compile(model): the loss and backward() outside; gradients in every call, with a
    regulariser too, and by a program."""
    models = []

    def make(compile_: Any) -> Any:
        mg.manual_seed(1)
        model = nn.Sequential(
            nn.Linear(2, 8), nn.ReLU(), nn.Dropout(0.25), nn.BatchNorm1d(8), nn.Linear(8, 1)
        )
        net, optimizer = compile_(model), optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
        x = mg.randn(16, 2)
        models.append(net)

        def call(i: int) -> Any:
            optimizer.zero_grad()
            loss = (net(x) ** 2).mean() + 0.1 * sum((p**2).sum() for p in model.parameters())
            loss.backward()
            optimizer.step()
            return [
                loss,
                [p.grad for p in model.parameters()],
                dict(model.state_dict())["3.running_mean"],
            ]

        return call

    both(make, 9)
    assert models[1].statistics["replayed"] == 6 and models[1].reason is None


LEAF_STEPS: dict[str, Callable[[Any, Any], Any]] = {
    "saliency": lambda net, x: (net(x).sum().backward(), x.grad)[1],
    "an adversarial example": lambda net, x: (
        (net(x) ** 2).sum().backward(),
        (x + 0.1 * x.grad.sign()).detach(),
    ),
    "a loss that holds a derivative by the input": lambda net, x: (
        (mg.autograd.grad(net(x).sum(), [x], create_graph=True)[0] - net(x)) ** 2
    ).mean(),
    "differentiated outside": lambda net, x: (net(x), net(x * 2), x),
    "a gradient that is written to": lambda net, x: (
        net(x).sum().backward(),
        x.grad.mul_(0.5),
        x.grad,
    ),
    "a step on the leaf": lambda net, x: (net(x).sum().backward(), x.data.sub_(x.grad))[1],
}


@pytest.mark.parametrize("name", LEAF_STEPS)
@pytest.mark.parametrize("named", [False, True])
def test_each_call_brings_another_leaf(name: str, named: bool) -> None:
    """From the fifth call on it is replayed; leaves and parameters get their gradients."""
    compiled = []

    def make(compile_: Any) -> Any:
        net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
        function = LEAF_STEPS[name]
        step = compile_(lambda given: function(net, given["x"] if named else given))
        compiled.append(step)

        def call(i: int) -> Any:
            x = mg.tensor([[0.5, i, -1.0], [i, 0.0, 1.0]], requires_grad=True)
            if i == 5:
                x.register_hook(lambda g: g * 2)
            if i == 6:
                x.grad = mg.ones(2, 3)
            found = step({"x": x} if named else x)
            results = [
                r for r in (found if isinstance(found, tuple) else (found,)) if r is not None
            ]
            for r in results:
                if r.requires_grad and r is not x:
                    (r * r).sum().backward(retain_graph=True)
            second = []
            if results and results[0].requires_grad:
                (g,) = mg.autograd.grad(results[0].sum(), [x], create_graph=True)
                second = mg.autograd.grad((g * g).sum(), [x, net[0].weight])
            same = [[r is x, r is x.grad, r.is_leaf, r._version] for r in results]
            gradients = [p.grad for p in net.parameters()]
            return results, x, x.grad, x._version, x.grad._version, same, gradients, second

        return call

    both(make, 10)
    assert compiled[1].statistics == {"eager": 4, "recorded": 2, "replayed": 4}


def test_a_leaf_that_the_function_finds_itself_is_no_input() -> None:
    """The optimiser's parameters, given in turns."""

    def make(compile_: Any) -> Any:
        w, v = (mg.full((2,), number, requires_grad=True) for number in (1.0, 2.0))
        rule = optim.SGD([w, v], lr=0.1)

        @compile_
        def step(p: Any) -> Any:
            rule.zero_grad()
            (p * p).sum().backward()
            rule.step()
            return p.grad

        return lambda i: (step((w, v)[i % 2]), w, v, w.grad, v.grad)

    both(make, 12)


@pytest.mark.parametrize(
    "overlap", ["one tensor", "views", "a view of a captured one", "a captured one"]
)
@pytest.mark.parametrize("from_the_start", [False, True])
def test_arguments_that_share_memory(overlap: str, from_the_start: bool) -> None:
    """A function that writes: overlap is looked for in every call."""

    def make(compile_: Any) -> Any:
        kept = mg.arange(6.0)
        f = compile_(lambda x, y: (x.mul_(2), x + y + kept[:4])[1])

        def call(i: int) -> Any:
            kept.copy_(mg.arange(6.0))
            a = mg.ones(8)
            if i < 4 and not from_the_start:
                return f(a[:4].clone(), a[4:].clone())
            pairs = {
                "one tensor": lambda: (b := a[:4].clone(), b), "views": lambda: (a[:4], a[2:6]),
                "a view of a captured one": lambda: (kept[1:5], a[:4]),
                "a captured one": lambda: (a[:4], kept[:4]),
            }  # fmt: skip
            return f(*pairs[overlap]()), a, kept

        return call

    both(make)


@pytest.mark.parametrize("written", ["the other", "itself", "a parameter"])
@pytest.mark.parametrize("from_the_start", [False, True])
def test_arguments_that_are_parts_of_one_tensor(written: str, from_the_start: bool) -> None:
    """A write into one part counts as a write into the tensor, so a graph that holds the other part
    cannot be walked. A write elsewhere does not matter: such calls are replayed.
    """

    def make(compile_: Any) -> Any:
        w, other = mg.ones(4, requires_grad=True), mg.ones(4)

        def step(x: Any, y: Any) -> Any:
            result = w * y
            {"the other": x, "itself": y, "a parameter": other}[written].mul_(2)
            return result

        f = compile_(step)

        def call(i: int) -> Any:
            base = mg.arange(8.0)
            parts = base[:4], base[4:]
            if not from_the_start and i < 4:
                parts = parts[0].clone(), parts[1].clone()
            result, w.grad = f(*parts), None
            try:
                result.sum().backward()
            except mg.AutogradError as error:
                return type(error).__name__, result, parts
            return w.grad, result, parts

        call.function = f  # type: ignore[attr-defined]
        return call

    both(make)
    if written == "a parameter":
        call = make(mg.compile)
        for i in range(8):
            call(i)
        assert call.function.statistics["replayed"] > 3


def test_calls_whose_arguments_share_memory_are_not_what_is_recorded() -> None:
    """They run as themselves, and later calls whose arguments lie apart are recorded."""
    f = mg.compile(lambda x, y: (x.mul_(2), x + y)[1])
    memory = mg.ones(8)
    for _ in range(4):
        f(memory[:4], memory[2:6])
    assert "one piece of memory" in f.reason
    for _ in range(5):
        assert f(mg.ones(4), mg.ones(4)).tolist() == [3, 3, 3, 3]
    assert f.statistics == {"eager": 4, "recorded": 2, "replayed": 3}


def test_captured_tensors_that_come_to_share_memory() -> None:
    """`q.data = p.data` between two calls."""

    def make(compile_: Any) -> Any:
        p, q = mg.ones(3), mg.ones(3)
        f = compile_(lambda x: (p.add_(x), p + q)[1])

        def call(i: int) -> Any:
            if i == 5:
                q.data = p.data
            return f(mg.ones(3)), p, q

        return call

    both(make, 9)


def test_results_alias_what_they_alias() -> None:
    """An argument itself, a view of a result, of an argument, of a captured tensor, of what is no
    result; a gradient; one tensor twice."""
    w, buffer = mg.ones(2, requires_grad=True), mg.arange(4.0)

    def everything(x: Any) -> Any:
        y = x * 2
        hidden = x + buffer
        w.grad = None
        (w * 3).sum().backward()
        return y, y[0], x, x[1:], buffer[:2], hidden[1:3], hidden[2:], y.detach(), y, w.grad, w

    f = mg.compile(everything)
    for i in range(7):
        x = mg.ones(4)
        y, first, same, rest, part, h1, h2, detached, again, gradient, weight = f(x)
        assert same is x and again is y and gradient is w.grad and weight is w, i
        y.mul_(5)
        assert first.item() == y[0].item() == detached[0].item() == 10
        rest.fill_(7)
        assert x.tolist() == [1, 7, 7, 7]
        part.add_(1)
        assert buffer[0].item() == i + 1
        h1.zero_()
        assert h2[0].item() == 0 and h1._version == h2._version
        assert first._base is y and rest._base is x and part._base is buffer
    assert f.statistics["replayed"] == 4, f.reason


def test_results_from_which_others_were_computed() -> None:
    """A hook on one sees the gradient of the other, and so do retain_grad and autograd.grad."""

    def make(compile_: Any) -> Any:
        w = mg.ones(2, requires_grad=True)

        @compile_
        def f(x: Any) -> Any:
            hidden = (x * w).sin()
            logits = hidden.exp()
            return logits, hidden, (logits * hidden).sum()

        def call(i: int) -> Any:
            w.grad = None
            logits, hidden, loss = f(mg.ones(2) * i)
            if i % 2:
                return mg.autograd.grad(loss, [hidden, logits, w])
            logits.retain_grad()
            hidden.register_hook(lambda g: g * 10)
            loss.backward()
            with pytest.raises(mg.errors.GraphFreedError):
                logits.sum().backward()
            return logits.grad, w.grad

        return call

    both(make, 9)
    f = mg.compile(lambda x: (lambda y: (y, (y * y).sum()))(x * W))
    for _ in range(5):
        f(mg.ones(2))
    assert f.statistics["replayed"] == 2


def test_results_that_share_saved_values_and_stand_in_different_layers_run_as_themselves() -> None:
    """`c` was computed from `b`, and shares the saved values of exp with `a`."""
    f = mg.compile(lambda x: (lambda h, b: (h.sin(), b, (b * h).sum()))((x * W).exp(), x + W))
    for _ in range(4):
        a, _, c = f(mg.ones(2))
        a.sum().backward()
        with pytest.raises(mg.errors.GraphFreedError):
            c.backward()
    assert "share saved values" in f.reason


def test_shapes_that_depend_on_values() -> None:
    """x[x > 0] and nonzero: eager, with the reason."""
    for function in (lambda x: x[x > 0] * 2, lambda x: x.nonzero()):
        f = mg.compile(function)
        for count in (2, 2, 2, 2, 1, 3):
            x = mg.tensor([1.0] * count + [-1.0] * (4 - count))
            assert plain(f(x)) == plain(function(x))
        assert f.statistics["replayed"] == 0 and "depends on values" in f.reason


def test_one_tensor_given_twice_and_two_tensors() -> None:
    """f(x, x) and f(x, y) are told apart, by results that are arguments too."""
    f = mg.compile(lambda x, y: (x + y, y))
    for _ in range(5):
        x, y = mg.ones(2), mg.zeros(2)
        assert f(x, x)[1] is x
        total, second = f(x, y)
        assert second is y and total.tolist() == [1, 1]
    assert f.statistics["replayed"] == 4


def test_layouts_are_distinguished() -> None:
    """A decision by is_contiguous() is not frozen."""
    f = mg.compile(lambda x: x * 2 if x.is_contiguous() else x * 3)
    for _ in range(5):
        assert f(mg.ones(2, 3))[0, 0].item() == 2 and f(mg.ones(3, 2).T)[0, 0].item() == 3
    assert f.statistics["replayed"] == 4


def test_the_shape_of_a_tensor_outside() -> None:
    """Read for its shape alone, which changes."""
    at = mg.ones(3)
    f = mg.compile(lambda x: x * at.shape[0])
    for count in (3, 5):
        at.data = mg.ones(count)
        for _ in range(5):
            assert f(mg.ones(1)).item() == count


def input_gradient(x: Any, w: Any) -> Any:
    x.requires_grad_()
    (w * x).sin().sum().backward()
    return x.grad


def result_with_a_graph(x: Any, w: Any) -> Any:
    x.requires_grad = True
    return (w * x).sin()


def second_derivative(x: Any, w: Any) -> Any:
    (g,) = mg.autograd.grad((w * x.requires_grad_()).sin().sum(), [x], create_graph=True)
    g.sum().backward()
    return g.detach()


def written_before(x: Any, w: Any) -> Any:
    x.mul_(2.0).requires_grad_()
    return w * x


@pytest.mark.parametrize(
    "function", [input_gradient, result_with_a_graph, second_derivative, written_before]
)
def test_an_argument_of_which_the_function_makes_a_leaf(function: Any) -> None:
    """Its gradient, its graph and its memory are those of the plain call, and calls are
    replayed."""
    made = []

    def make(compile_: Any) -> Any:
        w = mg.tensor([0.5, -1.0], requires_grad=True)
        made.append(compile_(function))

        def call(i: int) -> Any:
            x = mg.tensor([1.0, i])
            y = made[-1](x, w)
            if y.requires_grad:
                (y * x).sum().backward()
            return y, x.requires_grad, x.is_leaf, x.grad, x, x._version, w.grad

        return call

    both(make)
    assert made[1].statistics["replayed"] == 4


def test_arguments_that_become_leaves_and_are_not_replayed() -> None:
    """A view, one with a hook, and one that is given again; and a leaf that is made in some calls
    only."""

    def make(compile_: Any) -> Any:
        w, seen = mg.ones(2, requires_grad=True), []

        @compile_
        def step(x: Any, hook: Any) -> Any:
            x.requires_grad_()
            if hook:
                x.register_hook(lambda g: seen.append(1) or g * 2)
            (w * x * x).sum().backward()
            return x.grad

        base, again = mg.ones(4), mg.ones(2)

        def call(i: int) -> Any:
            w.grad = None
            given = [base[:2], mg.ones(2), again][i % 3]
            return step(given, i % 3 == 1), given.grad, given.requires_grad, w.grad, len(seen)

        return call

    both(make, 15)


@pytest.mark.parametrize(
    "change", [lambda b, w: b.requires_grad_(), lambda b, w: b.mul_(w)], ids=["leaf", "graph"]
)
@pytest.mark.parametrize("writes", [False, True])
@pytest.mark.parametrize("given", [False, True])
def test_the_base_of_a_view_takes_a_graph(change: Any, writes: bool, given: bool) -> None:
    """After some replays; of a view that the function finds outside, or that it is given."""

    def make(compile_: Any) -> Any:
        w, base = mg.ones(4, requires_grad=True), mg.ones(4)
        part = base[1:3]
        step = compile_(lambda x, y: (x if given else part).add_(y if writes else 0) * y)

        def call(i: int) -> Any:
            if i == 6:
                change(base, w)
            try:
                y = step(part if given else mg.ones(2), mg.ones(2) * i)
            except mg.AutogradError as error:
                return type(error).__name__
            leaf = w if base.node is None or base.grad_fn else base
            w.grad = base.grad = None
            if y.requires_grad:
                y.sum().backward()
            return y, y.requires_grad, leaf.grad

        return call

    both(make, 10)


@pytest.mark.parametrize("turned", [False, True])
def test_the_gradient_of_a_view_for_the_view_that_it_is_of(turned: bool) -> None:
    """Two results, one a view of the other, which is a view itself, in either order."""

    def make(compile_: Any) -> Any:
        w = mg.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)

        @compile_
        def step(x: Any) -> Any:
            y = (w * x).view(2, 2)
            z = y[0][1:]
            return (z, y) if turned else (y, z)

        def call(i: int) -> Any:
            y, z = step(mg.ones(4) * i)[:: -1 if turned else 1]
            return mg.autograd.grad(z.sum(), [y, w], retain_graph=True), y, z

        return call

    both(make)


def test_a_numpy_view_of_a_captured_tensor() -> None:
    """Two tensors outside on one piece of NumPy's memory."""

    def make(compile_: Any) -> Any:
        memory = np.zeros(4, "float32")
        a, b = mg.from_numpy(memory), mg.from_numpy(memory[1:])
        f = compile_(lambda x: (a.add_(x), b * 1)[1])
        return lambda i: (f(mg.ones(4)), a, b)

    both(make)


def test_a_detached_alias_that_took_a_graph() -> None:
    """An in-place change gives the alias of a tensor outside a graph that the tensor has not."""

    def make(compile_: Any) -> Any:
        w, b = mg.ones(2, requires_grad=True), mg.ones(2)
        f = compile_(lambda x: b.detach().add_(w * x))

        def call(i: int) -> Any:
            w.grad = None
            f(mg.ones(2) * i).sum().backward()
            return w.grad, b, b.requires_grad

        return call

    both(make)


def _sets_grad(v: Any, x: mg.Tensor) -> Any:
    v.grad = x * 1
    v.grad.add_(x)
    return v.grad


def _deletes_grad(v: Any, x: mg.Tensor) -> Any:
    v.grad = None
    return x + 1


def _adds_to_grad(v: Any, x: mg.Tensor) -> Any:
    v.grad.add_(x)
    v.grad = v.grad
    return x + 1


@pytest.mark.parametrize("change", [_sets_grad, _deletes_grad, _adds_to_grad])
def test_the_grad_of_a_tensor_that_does_not_require_grad_is_set_in_replays(change: Any) -> None:
    """Of a tensor in a closure, of a buffer, and of a scalar."""
    batch_norm = nn.BatchNorm1d(2)

    def make(compile_: Any) -> Any:
        tensors = [mg.ones(2), batch_norm.running_mean, mg.tensor(1.0)]
        compiled = [compile_(lambda x, v=v: change(v, x)) for v in tensors]
        made.extend(compiled)

        def call(i: int) -> Any:
            for v in tensors:
                v.grad = mg.full(v.shape, 7.0)
            results = [
                f(mg.full(v.shape, float(i))) for f, v in zip(compiled, tensors, strict=True)
            ]
            return [results, [v.grad for v in tensors]]

        return call

    made: list[Any] = []
    both(make, 5)
    assert [f.statistics["replayed"] for f in made[3:]] == [2, 2, 2]


@pytest.mark.parametrize("which", ["view", "alias", "grad", "argument", "result"])
def test_a_grad_that_no_program_can_set_is_set_by_the_function_itself(which: str) -> None:
    """Of a view, of two tensors on one array, of a .grad, of an argument, of a result."""
    functions = []

    def make(compile_: Any) -> Any:
        owner, view, alias = mg.ones(2), mg.ones(3)[:2], W.detach()
        owner.grad = mg.ones(2)

        def function(x: mg.Tensor) -> mg.Tensor:
            result = alias * x
            W.grad = x * 2
            found = {"view": view, "alias": alias, "grad": owner.grad, "argument": x}
            target: Any = found.get(which, result)
            target.grad = x * 3
            return result

        functions.append(compile_(function))

        def call(i: int) -> Any:
            W.grad = None
            x = mg.full(2, float(i))
            result = functions[-1](x)
            tensors: Any = (result, x, W, owner, owner.grad, view, alias)
            return [t.grad for t in tensors]

        return call

    both(make, 5)
    assert functions[1].statistics["replayed"] == 0 and "the .grad" in functions[1].reason
