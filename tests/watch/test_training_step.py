"""One step of a training as a Trace: the numbers are those of a loop that is written out."""

import copy
import re
from typing import Any

import numpy as np
import pytest
from minigrad.viz.reading import heading_runs, plain
from minigrad.viz.speech import names_of, sentence
from minigrad.viz.texts import words

import minigrad as mg
from minigrad import nn, optim, viz
from minigrad.errors import NonScalarError
from minigrad.trace.replay import check_laws, state_at
from minigrad.trace.schema import validate
from minigrad.trace.text import table, text_of
from minigrad.watch import trace_training_step

X, Y = np.array([[1.0, -2.0], [0.5, 3.0], [0.0, 1.0]]), np.array([[1.0], [0.0], [2.0]])


def network() -> nn.Module:
    mg.manual_seed(4)
    return nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 1)).double()


OPTIMISERS = {
    "SGD": lambda p: optim.SGD(p, lr=0.1),
    "momentum": lambda p: optim.SGD(p, lr=0.1, momentum=0.9, weight_decay=0.01),
    "maximize": lambda p: optim.SGD(p, lr=0.1, maximize=True),
    "Adam": lambda p: optim.Adam(p, lr=0.1),
    "RMSprop": lambda p: optim.RMSprop(p, lr=0.01),
}


@pytest.mark.parametrize("name", OPTIMISERS)
def test_values_gradients_and_updates_are_those_of_a_loop(name: str) -> None:
    """Twice in a row, so that an optimiser's state counts."""
    watched, plain = network(), network()
    ours, theirs = OPTIMISERS[name](watched.parameters()), OPTIMISERS[name](plain.parameters())
    for _ in range(2):
        before = [p.detach().numpy().copy() for p in plain.parameters()]
        trace = validate(
            trace_training_step(lambda x, y: nn.functional.mse_loss(watched(x), y), ours, X, Y)
        )
        theirs.zero_grad()
        nn.functional.mse_loss(plain(mg.tensor(X)), mg.tensor(Y)).backward()
        theirs.step()
        cells = state_at(trace, len(trace["steps"])).cells
        assert check_laws(trace) == []
        updated = [s for s in trace["steps"] if s["phase"] == "update"]
        assert len(updated) == 4
        for step, old, p, q in zip(
            updated, before, watched.parameters(), plain.parameters(), strict=True
        ):
            np.testing.assert_array_equal(p.detach().numpy(), q.detach().numpy())
            np.testing.assert_array_equal(p.grad.numpy(), q.grad.numpy())
            (parameter, _), _ = step["reads"]
            assert cells[parameter, "v"]["sample"] == old.ravel().tolist()
            assert cells[parameter, "g"]["sample"] == q.grad.numpy().ravel().tolist()
            assert step["writes"][0][2]["sample"] == q.detach().numpy().ravel().tolist()


def one_number(optimiser: Any) -> list[str]:
    w = mg.tensor(2.0, dtype=mg.float64, requires_grad=True)
    trace = trace_training_step(lambda x, y: (w * x - y) ** 2, optimiser([w]), 3.0, 1.0)
    last = trace["steps"][-1]
    return [text_of(last["formula"]).replace("w\u0304", "W"), last["say"].replace("w\u0304", "W")]


def test_the_update_is_written_as_the_rate_times_the_gradient_where_it_is_that() -> None:
    formula, say = one_number(lambda p: optim.SGD(p, lr=0.1))
    assert formula == "w′ = w − 0.1 · W = 2 − 0.1 · 30 = −1"
    assert say == "SGD changes w from 2 to w′ = w − 0.1 · W = −1."
    formula, _ = one_number(lambda p: optim.SGD(p, lr=0.1, maximize=True))
    assert formula == "w′ = w + 0.1 · W = 2 + 0.1 · 30 = 5"
    # one number's change is always a multiple of its gradient, which says nothing of AdamW
    formula, _ = one_number(lambda p: optim.AdamW(p, lr=0.1))
    assert formula == "w′ = w + (−0.102) = 2 + (−0.102) = 1.898"


def second_step(optimiser: Any) -> tuple[str, list[str], str]:
    """The formula of the second step of one number, those of what the optimiser keeps, and the
    sentence."""
    w = mg.tensor(2.0, dtype=mg.float64, requires_grad=True)
    made = optimiser([w])
    for _ in range(2):
        trace = validate(trace_training_step(lambda x, y: (w * x - y) ** 2, made, 3.0, 1.0))
    last, plain = trace["steps"][-1], lambda text: text.replace("w\u0304", "W")
    states = [plain(text_of(one)) for one in last.get("state", [])]
    return plain(text_of(last["formula"])), states, plain(last["say"])


def test_the_momentum_of_an_update_is_written_with_the_one_before() -> None:
    formula, states, say = second_step(lambda p: optim.SGD(p, lr=0.1, momentum=0.9))
    assert formula == "w′ = w − 0.1 · m = −1 − 0.1 · 3 = −1.3"
    assert states == ["m = 0.9 · 30 + W = 3"]  # the gradient of (3w − 1)² at −1 is −24
    assert say.endswith(" to w′ = w − 0.1 · m = −1.3, with m = 0.9 · 30 + W = 3.")
    _, states, _ = second_step(lambda p: optim.SGD(p, lr=0.1, momentum=0.9, dampening=0.5))
    assert states == ["m = 0.9 · 30 + 0.5 · W = 15"]


def test_an_update_of_adam_is_written_with_its_moments() -> None:
    formula, states, _ = second_step(lambda p: optim.Adam(p, lr=0.1))
    assert formula == (
        "w′ = w − 0.1 · m\u0302/(√(v\u0302) + 1e−8) = 1.9 − 0.1 · 29.05/(√(847.6) + 1e−8) = 1.8"
    )
    assert states == [
        "m = 0.9 · 3 + 0.1 · W = 5.52",
        "m\u0302 = m/(1 − 0.9²) = 29.05",
        "v = 0.999 · 0.9 + 0.001 · W² = 1.694",
        "v\u0302 = v/(1 − 0.999²) = 847.6",
    ]


@pytest.mark.parametrize(
    "optimiser",
    [
        lambda p: optim.SGD(p, lr=0.1, momentum=0.9, nesterov=True),
        lambda p: optim.SGD(p, lr=0.1, momentum=0.9, weight_decay=0.1),
        lambda p: optim.Adam(p, lr=0.1, weight_decay=0.1),
        lambda p: optim.Adam(p, lr=0.1, maximize=True),
        lambda p: optim.RMSprop(p, lr=0.1, momentum=0.9),
    ],
)
def test_an_update_by_another_rule_is_written_as_the_change_alone(optimiser: Any) -> None:
    formula, states, _ = second_step(optimiser)
    assert re.match(r"w′ = w \+ \(?−?[\d.]+\)? = ", formula) and not states


def test_inputs_are_not_differentiated_by() -> None:
    w = mg.tensor(2.0, dtype=mg.float64, requires_grad=True)
    trace = trace_training_step(lambda x: w * x, optim.SGD([w], lr=1.0), 3.0)
    adjoints = {name for s in trace["steps"] for name, column, _ in s["writes"] if column == "g"}
    assert adjoints == {"w", "v1"}


def test_a_parameter_that_the_loss_does_not_use_stays_as_it_is() -> None:
    used, unused = (mg.tensor(1.0, requires_grad=True) for _ in range(2))
    unused.grad = mg.tensor(5.0)
    trace = trace_training_step(lambda: used * 2, optim.SGD([used, unused], lr=0.5))
    assert (used.item(), unused.item(), unused.grad) == (0.0, 1.0, None)
    assert [n["id"] for n in trace["nodes"]] == ["used", "v1", "used′"]
    assert trace["outputs"] == ["v1", "used′"] and not any("dangling" in n for n in trace["nodes"])


@pytest.mark.parametrize(
    ("optimiser", "error", "message"),
    [
        (lambda p: None, TypeError, "expected an optimiser after the loss, got NoneType"),
        (lambda p: optim.LBFGS(p), TypeError, r"LBFGS\.step\(\) needs more than the gradients"),
        (
            lambda p: optim.SGD([mg.tensor(1.0, requires_grad=True)], lr=1.0),
            ValueError,
            "the loss uses none of the 1 parameters of the SGD",
        ),
    ],
)
def test_what_cannot_be_shown_changes_nothing(optimiser: Any, error: Any, message: str) -> None:
    w = mg.tensor(2.0, requires_grad=True)
    with pytest.raises(error, match=message):
        trace_training_step(lambda x: w * x, optimiser([w]), 3.0)
    assert w.item() == 2.0 and w.grad is None


@pytest.mark.parametrize("given", [mg.ones(()), 0.5])
def test_the_loss_is_a_function_and_not_its_value(given: Any) -> None:
    message = (
        rf"function that computes the loss, .* got a {type(given).__name__}\. Write a function"
    )
    w = mg.tensor(2.0, requires_grad=True)
    with pytest.raises(TypeError, match=message):
        viz.training_step(given, optim.SGD([w], lr=1.0), 3.0)


def test_what_the_loss_raises_changes_nothing() -> None:
    w = mg.tensor([1.0, 2.0], requires_grad=True)
    with pytest.raises(NonScalarError):
        trace_training_step(lambda x: w * x, optim.SGD([w], lr=1.0), 3.0)
    assert w.tolist() == [1.0, 2.0] and w.grad is None


def test_the_picture_of_a_step() -> None:
    w = mg.tensor(2.0, requires_grad=True)
    optimiser = optim.SGD([w], lr=0.5)
    kept = copy.copy(optimiser.param_groups[0])
    page = viz.training_step(lambda x: w * x, optimiser, 3.0, lang="zh", title="one step")
    assert page.trace["title"] == "one step" and w.item() == 0.5
    assert optimiser.param_groups[0] == kept
    with pytest.raises(TypeError, match="no option mode="):
        viz.training_step(lambda x: w * x, optimiser, 3.0, mode="both")
    assert w.item() == 0.5


def test_a_networks_parameters_have_the_names_of_its_state_dict() -> None:
    """In formulas, in sentences, in tables and at the head of cards; two biases are told apart
    everywhere."""
    net = mg.nn.Sequential(mg.nn.Linear(2, 3), mg.nn.Tanh(), mg.nn.Linear(3, 1))
    optimizer = mg.optim.SGD(net.parameters(), lr=0.1)
    trace = trace_training_step(lambda x: net(x).square().mean(), optimizer, mg.ones(4, 2))
    last = trace["steps"][-1]
    over = "".join(letter + "\u0305" for letter in "2.bias")
    assert text_of(last["formula"]).startswith(f"2.bias′ = 2.bias − 0.1 · {over} = ")
    assert last["say"].startswith("SGD changes 2.bias from ")
    assert "to 2.bias′ = 2.bias − 0.1 · its gradient = [" in last["say"]
    assert "2.bias − 0.1 · 2.bias(伴随) = [" in sentence(last, words("zh"), names_of(trace))
    assert "\n  2.bias′ " in table(trace)
    heads = [plain(heading_runs(node)) for node in trace["nodes"]]
    assert len(set(heads)) == len(heads) and "v1 = x @ 0.weightᵀ + 0.bias" in heads
    assert "2.weight′ = 2.weight + Δ(SGD)" in heads, "one name in card, table and formula"
    change = trace_training_step(
        lambda x: net(x).square().mean(), optim.Adam(net.parameters()), mg.ones(4, 2)
    )
    assert "2.weight′ = 2.weight + Δ(Adam)" in [plain(heading_runs(n)) for n in change["nodes"]]


class Features(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.features = nn.Sequential(nn.Linear(2, 1))

    def forward(self, x):
        return self.features(x)


def test_the_rule_at_the_head_of_a_card_is_whole_and_of_one_form() -> None:
    """weight′ = weight − 0.1 · weig… did not say what the rate is multiplied by."""

    def heads(loss, parameters, *inputs):
        trace = trace_training_step(loss, optim.SGD(parameters, lr=0.1), *inputs)
        found = [plain(heading_runs(n)) for n in trace["nodes"] if n["kind"] == "output"]
        return [head.replace("\u0304", "") for head in found if "′" in head]

    w, b = (mg.ones(2, requires_grad=True) for _ in "wb")
    assert heads(lambda x: (w * x + b).sum(), [w, b], 3.0) == [
        "w′ = w − 0.1 · w",
        "b′ = b − 0.1 · b",
    ]
    for net, expected in (
        (nn.Linear(2, 1), ["weight′ = weight + Δ(SGD)", "bias′ = bias + Δ(SGD)"]),
        (Features(), ["features.0.weight′ = SGD(…)", "features.0.bias′ = SGD(…)"]),
    ):
        assert heads(lambda x, f=net: f(x).sum(), net.parameters(), mg.ones(4, 2)) == expected
    offset_of_all = mg.tensor(1.0, requires_grad=True)
    assert heads(lambda x: offset_of_all * x, [offset_of_all], 3.0) == ["offset_of_all′ = SGD(…)"]


def test_plain_numbers_have_the_dtype_of_the_optimisers_parameters():
    w = mg.tensor(2.0, requires_grad=True)
    trace = trace_training_step(lambda x: w * x, mg.optim.SGD([w], lr=0.1), 3.0)
    assert {node["dtype"] for node in trace["nodes"]} == {"float32"}, "no cast"
    both = [w, mg.tensor(1.0, dtype=mg.float64, requires_grad=True)]
    trace = trace_training_step(lambda x: w * x * both[1], mg.optim.SGD(both, lr=0.1), 3.0)
    assert trace["nodes"][0]["dtype"] == "float64", "the parameters have two dtypes"
