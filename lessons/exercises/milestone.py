"""The milestone of the course, as data: the student's own engine differentiates graphs of every
kind, and trains a network.

Right answers are not written here: they are computed by minigrad when a check runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np

import minigrad as mg
from minigrad import nn
from minigrad.trace import first_divergence
from minigrad.watch import trace_function

from ..grading.calls import Caller, StudentProblem
from ..grading.checking import check_by_cases
from ..grading.comparison import same
from ..grading.exercise import DERIVATIVES, Case, Misconception
from ..grading.feedback import Feedback, Line
from ..workshop import recorded
from . import wrong_adam
from .engine_graphs import (
    alone,
    deep_cases,
    drawn,
    engine_mistakes,
    first_wrong_node,
    forked,
    graph_case,
    is_differentiated,
    right_of,
    told,
)
from .made import told_by

SIZES = (2, 25, 25, 25, 2)
RATE = wrong_adam.RATE


def _one_operation(target: Any) -> Callable[[Any], Any]:
    """The mean cross-entropy as one operation, as the student's engine has it; so the two Traces
    have the same nodes.
    """

    class cross_entropy(
        mg.autograd.Function
    ):  # a Trace calls an operation by the name of its class
        @staticmethod
        def forward(ctx: Any, scores: Any) -> Any:
            ctx.save_for_backward(scores)
            return nn.functional.cross_entropy(scores, target)

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (scores,) = ctx.saved_tensors
            return g * (mg.softmax(scores, 1) - target) / len(scores)

    return cross_entropy.apply


def scores_of(
    x: Any, parameters: Sequence[Any], last: Callable[[Any], Any] = lambda scores: scores
) -> Any:
    """The lesson's network of weights and biases in turn; last: what is done to the scores."""
    for i in range(0, len(parameters), 2):
        x = x @ parameters[i].t() + parameters[i + 1]
        x = mg.relu(x) if i + 2 < len(parameters) else last(x)
    return x


def _names(count: int) -> list[str]:
    """W1, b1, W2, b2, …"""
    return [f"{'Wb'[i % 2]}{i // 2 + 1}" for i in range(count)]


def reference(values: Sequence[Any], x: Any, target: Any) -> dict[str, Any]:
    """minigrad's Trace of the network's loss and its gradients, node for node as the student's
    engine computes them.
    """
    points, cross_entropy = (
        mg.tensor(np.array(x, dtype=float)),
        _one_operation(mg.tensor(np.array(target, dtype=float))),
    )
    return trace_function(
        lambda *parameters: cross_entropy(scores_of(points, parameters)),
        *(mg.tensor(np.array(v, dtype=float)) for v in values),
        mode="reverse",
        names=_names(len(values)),
        title="the network by minigrad",
    )


def _loss_of(
    parameters: Sequence[Any], x: Any, target: Any, last: Any = None, reduction: str = "mean"
) -> Any:
    scores = scores_of(mg.tensor(np.array(x)), parameters, *([last] if last else []))
    return nn.functional.cross_entropy(scores, mg.tensor(np.array(target)), reduction=reduction)


def _differentiated(values: Any, x: Any, target: Any, **options: Any) -> Any:
    """The loss and its gradients by minigrad."""
    parameters = [mg.tensor(np.array(v)).requires_grad_() for v in values]
    loss = _loss_of(parameters, x, target, **options)
    return {
        "loss": loss.item(),
        "gradients": [np.array(g.numpy()) for g in mg.autograd.grad(loss, parameters)],
    }


def _trained(values: Any, x: Any, target: Any, count: int, **options: Any) -> Any:
    """The losses of so many epochs by minigrad, each before its step, and the last values."""
    parameters = [mg.tensor(np.array(v)).requires_grad_() for v in values]
    optimizer = mg.optim.Adam(parameters, lr=RATE)
    losses = []
    for _ in range(count):
        optimizer.zero_grad()
        loss = _loss_of(parameters, x, target, **options)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return {"losses": losses, "values": [np.array(p.detach().numpy()) for p in parameters]}


def _networks(rng: np.random.Generator) -> Iterator[Case]:
    for group, sizes, points, count in (
        ("the gradients", (2, 2), 1, 0),
        ("the gradients", (2, 3, 2), 5, 0),
        ("the gradients", (3, 4, 4, 3), 6, 0),
        ("the gradients", SIZES, 20, 0),
        ("some epochs", (2, 4, 2), 6, 5),
        ("some epochs", (2, 3, 3, 3), 8, 8),
        ("the network 2-25-25-25-2", SIZES, 30, 20),
    ):
        values = []
        for before, after in pairwise(sizes):
            bound = (6 / before) ** 0.5
            values += [
                np.asarray(rng.uniform(-bound, bound, size=(after, before))),
                np.asarray(rng.uniform(-0.5, 0.5, size=after)),
            ]
        x = np.asarray(rng.uniform(-1, 1, size=(points, sizes[0])))
        given = {
            "what": "network",
            "values": values,
            "x": x,
            "target": np.eye(sizes[-1])[rng.integers(0, sizes[-1], size=points)],
        }
        call = "own_step" if count else "loss_and_gradients"
        size = 1000.0 + sum(map(np.size, values)) + points + count
        yield Case.of(group, given | ({"count": count} if count else {}), call=call, size=size)


def _cases(rng: np.random.Generator) -> Iterator[Case]:
    call, again = "loss_and_gradients", "again, and deep"
    for graph in (*alone(rng), *forked(rng), *(drawn(rng) for _ in range(12))):
        yield graph_case("the engine on other graphs", graph, call)
    fork = list(forked(rng))[2]
    yield graph_case(again, fork, call, passes=2)
    yield graph_case(again, fork, call, before=[["w1", "exp", ["x1"]], ["w2", "sum", ["w1"]]])
    yield from deep_cases(rng, again, call)
    yield from _networks(rng)


def _told(case: Case) -> str:
    """A case as text."""
    args = case.args
    if args["what"] != "network":
        return told(case)
    trained = f", {args['count']} epochs" if case.call == "own_step" else ""
    return (
        f"{case.call}, with {len(args['values']) // 2} layer(s), {len(args['x'])} point(s){trained}"
    )


def _of_network(case: Case) -> dict[str, Any]:
    """What `_differentiated` and `_trained` are given of a case."""
    return {name: value for name, value in case.args.items() if name != "what"}


@lru_cache(maxsize=256)
def _right(case: Case) -> Any:
    """What is right for a case, by minigrad; it is never changed."""
    if case.args["what"] != "network":
        return right_of(case)
    return (_trained if case.call == "own_step" else _differentiated)(**_of_network(case))


def _is_trained(case: Case, got: Any) -> str:
    if case.args["what"] != "network":
        return is_differentiated(case, got)
    parts = ("losses", "values") if case.call == "own_step" else ("loss", "gradients")
    if type(got) is not dict or set(got) != set(parts):
        pair = (
            "the list of the new values, and the loss"
            if case.call == "own_step"
            else "the loss, and the list of the gradients"
        )
        return f"`{case.call}` should return a pair: {pair}."
    if case.call != "own_step":
        right = _right(case)
        said = same(right["loss"], got["loss"], 1e-6, 1e-9, "the loss")
        return said or same(
            right["gradients"], got["gradients"], 1e-6, 1e-9, "the list of the gradients"
        )
    right = _right(case)
    if said := same(right["losses"], got["losses"], 1e-8, 1e-10, "the list of the losses"):
        first = same(right["losses"][0], got["losses"][0], 1e-6, 1e-9, "the first loss")
        return (
            f"{first[:-1]}; it is that before any step."
            if first
            else f"the first loss is right, but {said}"
        )
    # Adam hardly feels a factor in the gradients: it is seen in the seventh digit and later.
    return same(right["values"], got["values"], 1e-8, 1e-10, "the list of the new values")


def _stepped(
    step: wrong_adam.Step,
    values: Any,
    x: Any,
    target: Any,
    count: int,
    late: bool = False,
    one: bool = False,
) -> Any:
    """Epochs with another step than Adam's. late: the losses after the steps; one: one `state`
    for all parameters.
    """
    values, losses = [np.array(v) for v in values], []
    states: list[Any] = [{} for _ in values]
    states = [states[0]] * len(states) if one else states
    for _ in range(count):
        found = _differentiated(values, x, target)
        values = [step(v, g, s) for v, g, s in zip(values, found["gradients"], states, strict=True)]
        losses.append(_differentiated(values, x, target)["loss"] if late else found["loss"])
    return {"losses": losses, "values": values}


def _in_steps(name: str, say: str, step: wrong_adam.Step, **how: bool) -> Misconception:
    return Misconception(
        name,
        say,
        lambda case: (
            _stepped(step, **_of_network(case), **how) if case.call == "own_step" else None
        ),
    )


def _pushed_back(values: Any, x: Any, target: Any, adjoint: Callable[[Any, Any], Any]) -> Any:
    """The right loss, and the gradients that come of another adjoint of the scores;
    adjoint(softmax, target).
    """
    parameters = [mg.tensor(np.array(v)).requires_grad_() for v in values]
    scores = scores_of(mg.tensor(np.array(x)), parameters)
    back = adjoint(mg.softmax(scores.detach(), 1).numpy(), np.array(target))
    found = mg.autograd.grad(scores, parameters, mg.tensor(np.array(back)))
    return {
        "loss": _differentiated(values, x, target)["loss"],
        "gradients": [np.array(g.numpy()) for g in found],
    }


def _in_networks(name: str, say: str, wrong: Callable[..., Any]) -> Misconception:
    """A mistake around the engine: the graphs are right, and the networks tell it."""

    def made(case: Case) -> Any:
        if case.call != "loss_and_gradients":
            return None
        return wrong(**_of_network(case)) if case.args["what"] == "network" else _right(case)

    return Misconception(name, say, made)


def _outside(pairs: list[tuple[Case, Any]]) -> tuple[str, None] | None:
    """Whether the graphs and the losses are right, so that what the network's gradients lack is
    in the cross-entropy or the function.
    """
    graphs = [(case, got) for case, got in pairs if case.args["what"] != "network"]
    networks = [(case, got) for case, got in pairs if case.args["what"] == "network"]
    sound = all(not is_differentiated(case, got) for case, got in graphs)
    losses = all(
        type(got) is dict and not same(_right(case)["loss"], got.get("loss"), 1e-6, 1e-9)
        for case, got in networks
    )
    return ("", None) if sound and losses and networks else None


def _after_the_first(pairs: list[tuple[Case, Any]]) -> tuple[str, None] | None:
    """Whether all losses before a step are right, and all of those after it are not."""
    told = [(_right(case)["losses"], got["losses"]) for case, got in pairs if type(got) is dict]
    before = all(not same(right[0], losses[0], 1e-6, 1e-9) for right, losses in told)
    after = all(same(right[1], losses[1], 1e-8, 1e-10) for right, losses in told)
    return ("", None) if told and before and after else None


def _reversed_gradients(found: dict[str, Any]) -> dict[str, Any]:
    return found | {"gradients": found["gradients"][::-1]}


AFTER = (
    "The loss before the first step is right, and the one after it is not: look at what becomes of"
    " the gradients, which of the values are changed, and by what."
)


def _mistakes() -> Iterator[Misconception]:
    """Around the engine, in it, and in the steps. (Long: a list.)"""
    yield _in_networks(
        "sum over the points",
        "the loss is the sum over the points; it should be their mean.",
        lambda **given: _differentiated(**given, reduction="sum"),
    )
    yield _in_networks(
        "relu on the scores",
        "there is a relu after the last layer too; scores may be negative.",
        lambda **given: _differentiated(**given, last=mg.relu),
    )
    rule = "`pull_cross_entropy`"
    for name, say, adjoint in (
        (
            "mean over the points forgotten",
            f"{rule} does not divide by the number of points.",
            lambda p, t: p - t,
        ),
        (
            "mean over all elements",
            f"{rule} divides by the number of elements, not of points.",
            lambda p, t: (p - t) / p.size,
        ),
        (
            "no target",
            f"{rule} leaves out the target: subtract it from the softmax.",
            lambda p, t: p / len(p),
        ),
        (
            "no softmax",
            f"{rule} leaves out the softmax: it is softmax − target.",
            lambda p, t: -t / len(p),
        ),
        (
            "sign of the scores",
            f"the sign in {rule} is reversed: it is softmax − target.",
            lambda p, t: (t - p) / len(p),
        ),
    ):
        yield _in_networks(
            name, say, lambda adjoint=adjoint, **given: _pushed_back(**given, adjoint=adjoint)
        )
    yield _in_networks(
        "the order of the gradients",
        "the gradients come in another order than the values.",
        lambda **given: _reversed_gradients(_differentiated(**given)),
    )
    yield from engine_mistakes(otherwise=_right)
    yield Misconception(
        "around the engine",
        "Your engine is right on all other graphs, and the loss is right: what is left is "
        f"{rule}, and what `loss_and_gradients` asks `gradients` for.",
        lambda case: (
            _pushed_back(**_of_network(case), adjoint=lambda p, t: 2 * (p - t) / len(p))
            if (case.call, case.args["what"]) == ("loss_and_gradients", "network")
            else _right(case)
        ),
        fitted=_outside,
    )
    descent = "you take the step of plain gradient descent; here it is `adam`'s."
    yield _in_steps("gradient descent", descent, lambda p, g, state: p - 0.05 * g)
    yield _in_steps(
        "new dictionaries",
        "`adam` forgets between the epochs: give it the dictionaries from `states`, not new ones.",
        wrong_adam.WRONG["no memory"][1],
    )
    together = "all parameters share one dictionary: each has its own in `states`."
    yield _in_steps("one dictionary for all", together, wrong_adam.RIGHT, one=True)
    yield _in_steps(
        "no step",
        "the values come back as they were: return what `adam` returns.",
        lambda p, g, state: p,
    )
    yield _in_steps(
        "loss after the step",
        "you return the loss after the step; the loss of this epoch is the one before it.",
        wrong_adam.RIGHT,
        late=True,
    )
    for name, (say, step) in wrong_adam.WRONG.items():
        if name not in ("no memory", "no step"):
            yield _in_steps(f"adam: {name}", f"it is `adam`: {say}", step)
    yield replace(
        _in_steps("the step", AFTER, lambda p, g, state: p - 0.01 * np.sign(g) - 0.001),
        fitted=_after_the_first,
    )


GROUPS = {
    "the engine on other graphs": 1.0,
    "again, and deep": 1.0,
    "the gradients": 1.0,
    "some epochs": 1.0,
    "the network 2-25-25-25-2": 1.0,
}

OWN_STEP = told_by(
    _is_trained,
    "own_step",
    GROUPS,
    _cases,
    answers=("loss_and_gradients", "own_step"),
    drive="minigrad.lessons.exercises.drive11:by_own_engine",
    forbid=(DERIVATIVES, "minigrad.optim"),
    where=first_wrong_node,
    checked=(
        "Your engine differentiates graphs with forks, shared weights, shortcuts and 20,000"
        " operations; then losses, gradients and trained parameters are compared with those of"
        " minigrad, from the same first numbers."
    ),
    present=_told,
    limit_s=15.0,
    hints=(
        (
            "A NameError? Run the cell with unpack() twice: it brings your engine. Then: nodes,"
            " loss, order, gradients; and the step."
        ),
        (
            "parameters = [Tensor(v) for v in values], and x becomes a Tensor too. `gradients`"
            " wants an order, and the list of parameters."
        ),
        (
            "loss = cross_entropy(scores_of(Tensor(x), parameters), target), and"
            " gradients(topological_order(loss), parameters). The step: [adam(v, g, s) for v, g, s"
            " in zip(values, found, states)]."
        ),
    ),
    misconceptions=tuple(_mistakes()),
)


def _check_own_step(*answers: Any) -> Feedback:
    """As the common check; where the student's rules or loop are to blame, with the first wrong
    step of them in the viewer.
    """
    feedback = check_by_cases(OWN_STEP, answers)
    if feedback.status == "wrong":
        with suppress(
            StudentProblem, KeyError, TypeError, AttributeError, ValueError
        ):  # nothing to be shown: the verdict stands alone
            _show_on_trace(getattr(answers[0], "__globals__", {}), feedback)
    return feedback


def _show_on_trace(written: dict[str, Any], feedback: Feedback) -> None:
    case = list(_networks(np.random.default_rng(0)))[1].args
    parameters = [written["Tensor"](v) for v in case["values"]]
    names = dict(zip(_names(len(parameters)), parameters, strict=True))

    def loss_of() -> Any:
        return written["cross_entropy"](
            written["scores_of"](written["Tensor"](case["x"]), parameters), case["target"]
        )

    loss = Caller().call(loss_of, (), "your engine")
    run = lambda: written["gradients"](written["topological_order"](loss), parameters)
    trace = recorded(loss, parameters, run, names=names, title="a network 2-3-2 by your engine")
    parting = first_divergence(reference(case["values"], case["x"], case["target"]), trace)
    if parting is not None and parting.node is not None:
        own = [
            i
            for i, step in enumerate(trace["steps"])
            if [parting.node, parting.column] in [[n, c] for n, c, _ in step["writes"]]
        ]
        feedback.trace, feedback.step = trace, own[-1] + 1 if own else len(trace["steps"])
        feedback.lines.append(
            Line(
                "note",
                f"In a network 2-3-2 by your engine the first wrong node is {parting.node}."
                f" {parting.say}",
            )
        )


OWN_STEP.notebook = _check_own_step
