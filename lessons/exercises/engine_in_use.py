"""Exercises of lessons 12, 13 and 14 in which the student's own engine is put to use: it keeps less
by checkpoints, takes rules from others, and meets a test that broken engines fail.

Right answers are not written here. A checkpoint must change no value and no gradient, and what it
keeps and recomputes is counted; gradients are those of minigrad; what a test says is compared with
engines that are broken on purpose.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

import minigrad as mg

from ..grading.comparison import same
from ..grading.exercise import DERIVATIVES, Case, Misconception, Where, once_for_each_case
from ..grading.graphs import Graph, apply, by_engine, evaluate, first_wrong, formula
from ..grading.misconceptions import MISTAKES, Mistake
from . import own_engine
from .engine_graphs import OWN_MISTAKES, draw
from .lesson11b import ENGINE
from .made import always, told_by

# ------------------------------------------------------------------------------------- checkpoints

Stages = Sequence[Any]


def _stages(rng: np.random.Generator) -> Iterator[tuple[str, dict[str, np.ndarray], Stages]]:
    """Stages [[operands, rows], …], each of which becomes one checkpoint."""
    x, w = draw(rng, 2, 2) / 2, draw(rng, 2, 2) / 2
    yield "one stage", {"x1": x}, [[["x1"], [["a1", "exp", ["x1"]], ["v1", "square", ["a1"]]]]]
    yield "one stage", {"x1": x}, [[["x1"], [["v1", "matmul", ["x1", "x1"]]]]]
    yield (
        "one stage",
        {"x1": draw(rng, 3)},
        [[["x1"], [["a1", "exp", ["x1"]], ["v1", "sum", ["a1"]]]]],
    )
    for n in (2, 4):
        yield (
            "a chain",
            {"x1": x},
            [
                [
                    [f"v{i}" if i else "x1"],
                    [
                        [f"a{i}", "matmul", [f"v{i}" if i else "x1"] * 2],
                        [f"b{i}", "square", [f"a{i}"]],
                        [f"v{i + 1}", "sub", [f"v{i}" if i else "x1", f"b{i}"]],
                    ],
                ]
                for i in range(n)
            ],
        )
    layer = lambda i, before: [
        [before, "x2"],
        [[f"a{i}", "matmul", [before, "x2"]], [f"v{i}", "exp", [f"a{i}"]]],
    ]
    yield "two inputs", {"x1": x, "x2": w}, [layer(1, "x1")]
    yield "two inputs", {"x1": x, "x2": w / 2}, [layer(1, "x1"), layer(2, "v1")]
    yield (
        "two inputs",
        {"x1": x, "x2": w},
        [
            layer(1, "x1"),
            [["v1", "x1"], [["a2", "exp", ["x1"]], ["v2", "sub", ["v1", "a2"]]]],
        ],
    )


def _checkpoint_cases(rng: np.random.Generator) -> Iterator[Case]:
    for group, inputs, stages in _stages(rng):
        last = stages[-1][1][-1][0]
        rows = [["w1", "square", [last]], ["w2", "sum", ["w1"]]]
        for passes in (1, 2):
            given = {"inputs": inputs, "stages": stages, "rows": rows, "passes": passes}
            yield Case.of(
                "twice" if passes == 2 else group, given, size=10.0 * len(stages) + passes
            )


def _without(case: Case) -> Graph:
    """The graph of a case without checkpoints."""
    rows = [row for _, made in case.args["stages"] for row in made]
    return {"inputs": case.args["inputs"], "rows": [*rows, *case.args["rows"]]}


@once_for_each_case
def _counted(case: Case) -> dict[str, Any]:
    """Value and gradients without checkpoints, and what checkpoints keep and recompute."""
    graph, stages = _without(case), case.args["stages"]
    found = by_engine(graph)
    return {
        "value": float(evaluate(graph)["w2"]),
        "gradients": {name: found[name] for name in case.args["inputs"]},
        "nodes": len(case.args["inputs"]) + len(stages) + len(case.args["rows"]),
        "before": [1] * len(stages),
        "after": [1 + case.args["passes"]] * len(stages),
    }


def _is_checkpointed(case: Case, got: Any) -> str:
    """Why a run with checkpoints is not right."""
    if type(got) is not dict:
        return "there is no value."
    right = _counted(case)
    if said := same(right["value"], got["value"], 1e-9, 1e-9, "the value"):
        return said
    if got["before"] != right["before"]:
        return f"on the way forward the stages ran {_runs(got['before'])}; each should run once."
    if got["nodes"] != right["nodes"]:
        return (
            f"{got['nodes']} nodes lie behind the result, {right['nodes']} are enough: the inputs,"
            " one for each checkpoint, and the two at the end. What is inside of a piece should"
            " not be kept."
        )
    if got["after"] != right["after"]:
        return (
            f"after {case.args['passes']} pass(es) back the stages had run {_runs(got['after'])};"
            f" {right['after'][0]} runs of each are needed, one forward and one in each pass back."
        )
    return same(right["gradients"], got["gradients"], 1e-9, 1e-9, "the dictionary of the gradients")


def _runs(counts: Sequence[int]) -> str:
    return "once" if set(counts) == {1} else f"{', '.join(map(str, counts))} times"


def _exchanged(right: Callable[[Case], dict[str, Any]]) -> Callable[..., Callable[[Case], Any]]:
    """A function of entries: what `right` gives, with those entries exchanged; each is made of the
    case and of what is right.
    """

    def with_parts(**parts: Callable[[Case, dict[str, Any]], Any]) -> Callable[[Case], Any]:
        return lambda case: (
            right(case) | {name: change(case, right(case)) for name, change in parts.items()}
        )

    return with_parts


_changed = _exchanged(_counted)


def _all_nodes(case: Case, found: Any) -> int:
    return len(case.args["inputs"]) + sum(len(made) for _, made in case.args["stages"]) + 2


def _no_second(case: Case, found: Any) -> dict[str, Any]:
    zero = np.zeros(np.shape(case.args["inputs"].get("x2", 0.0)))
    return {name: zero if name == "x2" else g for name, g in found["gradients"].items()}


def _nothing_in(got: Any, names: Sequence[str]) -> bool:
    return all(not np.any(got["gradients"].get(name, 0.0)) for name in names)


def _where_checkpointed(case: Case, got: Any) -> Where | None:
    """Where the gradients first go wrong."""
    graph = _without(case)
    return first_wrong(graph, got["gradients"], by_engine(graph))


CHECKPOINT = told_by(
    _is_checkpointed,
    "checkpoint",
    {"one stage": 1, "a chain": 1, "two inputs": 1, "twice": 1},
    _checkpoint_cases,
    drive=f"{ENGINE}:checkpointed",
    forbid=(DERIVATIVES, "minigrad.checkpoint", "minigrad.checkpoint_sequential"),
    where=_where_checkpointed,
    present=lambda case: (
        f"{len(case.args['stages'])} checkpoint(s), {case.args['passes']} pass(es) back:"
        f" {formula({'inputs': {}, 'rows': _without(case)['rows']})}"
    ),
    checked=(
        "Value and gradients are those without checkpoints; the runs of each piece and the nodes"
        " behind the result are counted."
    ),
    hints=(
        (
            "One Tensor comes out: its value is that of the piece, its parents are the inputs."
            " What the piece makes on the way is not kept."
        ),
        (
            "In the `pull`: new Tensors of the inputs' values, the piece once more on them, and"
            " your order and your loop, from its result to the new Tensors."
        ),
        (
            "The loop begins with the adjoint 1. Make a node for it to begin with:"
            ' Tensor(0.0, (y,), lambda _: (g,), "seed") sends g to y.'
        ),
    ),
    misconceptions=(
        Misconception(
            "no checkpoint",
            "you return what the piece gave: all of its nodes are kept, and nothing is computed"
            " again.",
            _changed(nodes=_all_nodes, after=lambda case, found: found["before"]),
        ),
        Misconception(
            "kept after all",
            "the piece runs once: its result, and the graph behind it, are still kept for the"
            " pass back.",
            _changed(after=lambda case, found: found["before"]),
            fitted=always(
                lambda case, got: got["after"] == got["before"] == [1] * len(got["after"])
            ),
        ),
        Misconception(
            "run twice at once",
            "the piece already runs twice on the way forward. The second run belongs into the"
            " `pull`.",
            _changed(
                before=lambda case, found: [2] * len(found["before"]),
                after=lambda case, found: [2] * len(found["before"]),
            ),
            fitted=always(lambda case, got: min(got["before"]) > 1),
        ),
        Misconception(
            "no adjoint",
            "the adjoint g is left out: the loop begins with 1 at the end of the piece, and not"
            " with g.",
            _changed(gradients=lambda case, found: _seeded_with_ones(case)),
        ),
        Misconception(
            "nothing is sent",
            "Nothing arrives at the inputs: ask for the gradients with respect to the Tensors that"
            " the piece was run on in the pull.",
            _changed(
                gradients=lambda case, found: {
                    name: np.zeros(np.shape(x)) for name, x in case.args["inputs"].items()
                }
            ),
            fitted=always(lambda case, got: _nothing_in(got, list(case.args["inputs"]))),
        ),
        Misconception(
            "the first input only",
            "only the first input gets its part: the pull gives one for each input.",
            _changed(gradients=_no_second),
            fitted=lambda pairs: always(lambda case, got: _nothing_in(got, ["x2"]))(
                [
                    (case, got)
                    for case, got in pairs
                    if [operands for operands, _ in case.args["stages"]] == [["x1", "x2"]]
                ]
            ),
        ),
    ),
)


def _seeded_with_ones(case: Case) -> dict[str, np.ndarray]:
    """The gradients where each checkpoint begins its inner sweep with ones."""
    values, bar = evaluate(_without(case)), dict[str, Any]()
    stages = case.args["stages"]
    bar[stages[-1][1][-1][0]] = 0.0
    for operands, made in reversed(stages):
        if made[-1][0] not in bar:
            continue
        end = f"{made[-1][0]}s"
        inner = {
            "inputs": {o: values[o] for o in operands},
            "rows": [*made, [end, "sum", [made[-1][0]]]],
        }
        found = by_engine(inner)
        for o in operands:
            bar[o] = bar[o] + found[o] if o in bar else found[o]
    return {name: np.asarray(bar.get(name, 0.0)) for name in case.args["inputs"]}


# ------------------------------------------------------------------------------------- own rules

IN_MINIGRAD: Mapping[str, Callable[..., Any]] = {
    "softplus": lambda x: mg.softplus(x),
    "sigmoid": lambda x: mg.sigmoid(x),
    "hypotenuse": lambda a, b: mg.sqrt(a * a + b * b),
    "blend": lambda a, b, w: w * a + (1 - w) * b,
}


def _rule_cases(rng: np.random.Generator) -> Iterator[Case]:
    for group, kind, count in (
        ("one input", "softplus", 1),
        ("one input", "sigmoid", 1),
        ("several inputs", "hypotenuse", 2),
        ("several inputs", "blend", 3),
    ):
        for shape in ((3,), (2, 2)):
            inputs = [draw(rng, *shape) for _ in range(count)]
            yield Case.of(group, {"kind": kind, "inputs": inputs, "passes": 1}, size=float(count))
        yield Case.of("twice", {"kind": kind, "inputs": inputs, "passes": 2}, size=10.0 + count)


@once_for_each_case
def _with_rule(case: Case) -> dict[str, Any]:
    """What an operation with such a rule gives, by minigrad."""
    points = [
        mg.tensor(np.array(x), dtype=mg.float64).requires_grad_() for x in case.args["inputs"]
    ]
    y = IN_MINIGRAD[case.args["kind"]](*points)
    found = mg.autograd.grad((y * y).sum(), points)
    return {
        "value": np.asarray(y.detach().numpy()),
        "gradients": [np.asarray(g.numpy()) for g in found],
        "name": case.args["kind"],
        "before": {"forward": 1, "pull": 0},
        "after": {"forward": 1, "pull": case.args["passes"]},
    }


def _has_rule(case: Case, got: Any) -> str:
    """Why an operation that was made of two functions is not right."""
    if type(got) is not dict:
        return "there is no Tensor."
    right = _with_rule(case)
    if said := same(right["value"], got["value"], 1e-9, 1e-9, "the value"):
        return said
    if got["before"] != right["before"]:
        ran = got["before"]
        return (
            f"before the pass back `forward` ran {ran['forward']} and `pull` {ran['pull']} times;"
            " it should be 1 and 0."
        )
    if said := same(right["gradients"], got["gradients"], 1e-8, 1e-9, "the list of the gradients"):
        return said
    if got["after"] != right["after"]:
        ran = got["after"]
        return (
            f"after {case.args['passes']} pass(es) back `forward` had run {ran['forward']} and"
            f" `pull` {ran['pull']} times; it should be 1 and {case.args['passes']}."
        )
    if got["name"] != right["name"]:
        return f"the node is called {got['name']!r}; its name should be {right['name']!r}."
    return ""


_ruled = _exchanged(_with_rule)


OPERATION = told_by(
    _has_rule,
    "operation",
    {"one input": 1, "several inputs": 1, "twice": 1},
    _rule_cases,
    drive=f"{ENGINE}:own_rule",
    forbid=(DERIVATIVES,),
    present=lambda case: (
        f"operation(forward, pull, {case.args['kind']!r}), {case.args['passes']} pass(es) back"
    ),
    checked=(
        "Values and gradients are compared with minigrad's, and the runs of `forward` and `pull`"
        " are counted."
    ),
    hints=(
        "`operation` returns a function. That function gets Tensors and returns a Tensor.",
        (
            "`forward` and `pull` know arrays alone: take the values out of the Tensors first, and"
            " keep them, and the result, for the pull."
        ),
        (
            "def apply(*inputs): values = [t.value for t in inputs]; y = forward(*values); return"
            " Tensor(y, inputs, lambda g: pull(g, y, *values), name)"
        ),
    ),
    misconceptions=(
        Misconception(
            "forward again",
            "`forward` runs a second time in the pull: keep its result instead.",
            _ruled(
                after=lambda case, found: {
                    "forward": 1 + case.args["passes"],
                    "pull": case.args["passes"],
                }
            ),
        ),
        Misconception(
            "pulled at once",
            "`pull` runs before any adjoint has arrived. It is called in the pass back, with the"
            " adjoint that arrives there.",
            _ruled(before=lambda case, found: {"forward": 1, "pull": 1}),
            fitted=always(lambda case, got: got["before"]["pull"] > 0),
        ),
        Misconception(
            "no adjoint",
            "`pull` is called with 1 in the place of the adjoint g.",
            _ruled(
                gradients=lambda case, found: _pulled(
                    case, np.ones_like(found["value"]), found["value"]
                )
            ),
        ),
        Misconception(
            "the value for the adjoint",
            "`pull` is given y in the place of g: the adjoint comes first, then y, then the"
            " inputs.",
            _ruled(gradients=lambda case, found: _pulled(case, found["value"], found["value"])),
        ),
        Misconception(
            "y before g",
            "`pull` is given y and g in the wrong order: the adjoint comes first.",
            _ruled(gradients=lambda case, found: _pulled(case, found["value"], 2 * found["value"])),
        ),
        Misconception(
            "no name",
            "the node has no name: give Tensor the name as its last argument.",
            _ruled(name=lambda case, found: ""),
        ),
        Misconception(
            "no parents",
            "the Tensor has no parents, so nothing is sent back: they are the inputs.",
            _ruled(
                gradients=lambda case, found: [np.asarray(0.0) for _ in case.args["inputs"]],
                after=lambda case, found: {"forward": 1, "pull": 0},
            ),
        ),
        Misconception(
            "the first input only",
            "only the first input is a parent: all of them are.",
            _ruled(
                gradients=lambda case, found: [
                    found["gradients"][0],
                    *(np.zeros(np.shape(x)) for x in case.args["inputs"][1:]),
                ]
            ),
        ),
    ),
)


def _pulled(case: Case, g: Any, y: Any) -> list[np.ndarray]:
    """What the rule of a case sends back if it is called with (g, y, …)."""
    x = case.args["inputs"]
    return [np.asarray(part) for part in own_engine.RULES[case.args["kind"]][1](g, y, *x)]


# ------------------------------------------------------------------------- a test for engines


def _candidates(rng: np.random.Generator) -> Iterator[tuple[np.ndarray, list[Any]]]:
    """Functions of one input, in which the mistakes of engines show."""
    end = lambda name, k: [[f"v{k}", "square", [name]], [f"v{k + 1}", "sum", [f"v{k}"]]]
    yield draw(rng, 3), [["v1", "exp", ["x1"]], ["v2", "mul", ["v1", "x1"]], *end("v2", 3)]
    yield (
        draw(rng, 2, 2),
        [["v1", "matmul", ["x1", "x1"]], ["v2", "sub", ["v1", "x1"]], *end("v2", 3)],
    )
    yield (
        draw(rng, 2, 3),
        [
            ["v1", "sum over rows", ["x1"]],
            ["v2", "div", ["x1", "v1"]],
            ["v3", "add", ["v2", "v1"]],
            *end("v3", 4),
        ],
    )
    yield (
        draw(rng, 2, 2),
        [
            ["v1", "t", ["x1"]],
            ["v2", "exp", ["v1"]],
            ["v3", "mul", ["v2", "x1"]],
            ["v4", "sub", ["v3", "v2"]],
            *end("v4", 5),
        ],
    )


def _said(got: Any, right: Any) -> bool:
    """Whether a gradient is clearly wrong: by more than a hundredth of its largest element."""
    if np.shape(got) != np.shape(right) or not np.all(np.isfinite(got)):
        return True
    return bool(
        np.max(np.abs(got - right), initial=0.0) > 0.01 * np.max(np.abs(right), initial=0.1)
    )


def _by_broken(mistake: Mistake, graph: Graph) -> Any:
    """The gradient by an engine with a mistake, in the second of two passes; None where such an
    engine stops.
    """
    try:
        return mistake.run(graph, graph)["x1"]
    except ValueError:
        return None


def _judging_cases(rng: np.random.Generator) -> Iterator[Case]:
    """Gradients by right engines and by broken ones. A case tells its group, not its answer."""
    for x, rows in _candidates(rng):
        graph: Graph = {"inputs": {"x1": x}, "rows": rows}
        right = np.asarray(by_engine(graph)["x1"])
        noise = 1 + 1e-9 * rng.uniform(-1, 1, size=x.shape)
        for found in (right, right * noise):
            yield Case.of(
                "right and negative", {"x": x, "rows": rows, "found": found}, size=len(rows)
            )
        # Beside them what a test that always agrees would let through.
        yield Case.of("right and negative", {"x": x, "rows": rows, "found": -right}, size=len(rows))
        given = {"x": x, "rows": rows, "found": right * (1 - 1e-9)}
        yield Case.of("broken engines", given, size=len(rows) + 100)
        for mistake in (*MISTAKES, *OWN_MISTAKES):
            found = _by_broken(mistake, graph)
            if found is not None and _said(found, right) and np.all(np.isfinite(found)):
                given = {"x": x, "rows": rows, "found": np.asarray(found)}
                yield Case.of("broken engines", given, size=len(rows) + 100)
        one = np.array(right)
        one.flat[-1] += 0.05 * np.max(np.abs(right))
        turned = right.ravel()[::-1].reshape(x.shape)
        for found in (one, -right, turned, np.full(x.shape, np.nan), right.sum(), right[:1]):
            given = {"x": x, "rows": rows, "found": np.asarray(found)}
            yield Case.of("one element, shapes, NaN", given, size=len(rows) + 200)
    x, rows = np.full(3, draw(rng)), [["v1", "square", ["x1"]], ["v2", "sum", ["v1"]]]
    for found in (2 * x, 2 * x[:1], 2 * x[0]):  # equal elements, so broadcasting hides a shape
        given = {"x": x, "rows": rows, "found": np.asarray(found)}
        yield Case.of("one element, shapes, NaN", given, size=300.0)
    for scale in (1e-3, 1e3):
        x = scale * _away(rng)
        rows = [["v1", "mul", ["x1", "x1"]], ["v2", "mul", ["v1", "x1"]], ["v3", "sum", ["v2"]]]
        right = np.asarray(by_engine({"inputs": {"x1": x}, "rows": rows})["x1"])
        for found in (right, right * 1.05, right * 0.95):
            yield Case.of("large and small", {"x": x, "rows": rows, "found": found}, size=1000.0)


def _away(rng: np.random.Generator) -> np.ndarray:
    return np.asarray(rng.uniform(1.0, 2.0, size=3))


@once_for_each_case
def _truth(case: Case) -> bool:
    """Whether the gradient of a case is right, up to a millionth of its largest element."""
    graph: Graph = {"inputs": {"x1": case.args["x"]}, "rows": case.args["rows"]}
    right, found = np.asarray(by_engine(graph)["x1"]), case.args["found"]
    return found.shape == right.shape and bool(
        np.max(np.abs(found - right)) <= 1e-6 * np.max(np.abs(right))
    )


def _is_judged(case: Case, got: Any) -> str:
    """Why a verdict on a gradient is wrong."""
    if type(got) is not bool:
        return "`agrees` should return True or False."
    if got == _truth(case):
        return ""
    if not got:
        return f"a right gradient is said to be wrong, for {_told_judged(case)}."
    return f"a wrong gradient is said to be right, for {_told_judged(case)}: {_flaw(case)}."


def _flaw(case: Case) -> str:
    """What is wrong with the gradient of a case."""
    x, found = case.args["x"], case.args["found"]
    if found.shape != x.shape:
        return f"its shape is {found.shape}, that of x is {x.shape}"
    if not np.isfinite(found).all():
        return "it holds NaN or infinity"
    right = np.asarray(by_engine({"inputs": {"x1": x}, "rows": case.args["rows"]})["x1"])
    worst = np.unravel_index(np.argmax(np.abs(found - right)), right.shape)
    place = ", ".join(map(str, worst))
    return f"element [{place}] is {found[worst]:.4g}, where {right[worst]:.4g} is right"


def _told_judged(case: Case) -> str:
    graph = {"inputs": {}, "rows": case.args["rows"]}
    return f"f(x1) given by {formula(graph)}"


def _differences(case: Case, h: float = 1e-6) -> np.ndarray:
    x, rows = case.args["x"], case.args["rows"]

    def f(point: Any) -> float:
        nodes = {"x1": point}
        for row in rows:
            nodes[row[0]] = apply(np, row, [nodes[o] for o in row[2]])
        return float(nodes[rows[-1][0]])

    found = np.zeros(x.shape)
    for place in np.ndindex(x.shape):
        step = np.zeros(x.shape)
        step[place] = h
        found[place] = (f(x + step) - f(x - step)) / (2 * h)
    return found


def _shaped(test: Callable[[np.ndarray, np.ndarray], Any]) -> Callable[[Case], Any]:
    """A test that compares shapes, then a gradient with differences in some way of its own."""

    def wrong(case: Case) -> Any:
        found, slope = case.args["found"], _differences(case)
        return bool(found.shape == slope.shape and test(found, slope))

    return wrong


def _near(a: Any, b: np.ndarray) -> bool:
    return bool(np.allclose(a, b, rtol=1e-4, atol=1e-4 * np.max(np.abs(b))))


AGREES = told_by(
    _is_judged,
    "agrees",
    {
        "right and negative": 1,
        "broken engines": 1,
        "one element, shapes, NaN": 1,
        "large and small": 1,
    },
    _judging_cases,
    drive=f"{ENGINE}:judged",
    forbid=(DERIVATIVES, "minigrad.autograd.gradcheck"),
    present=lambda case: f"agrees(f, x, found), {_told_judged(case)}",
    checked=(
        "Your test looks at gradients by right engines, and by one engine for each mistake in the"
        " grader's library."
    ),
    hints=(
        "Move one element of x at a time, to both sides, and see how f moves.",
        (
            "Compare every element, and the shape first. A tolerance must grow with the numbers"
            " that are compared."
        ),
        (
            "np.shape(found) == x.shape and np.allclose(found, slopes, rtol=1e-4,"
            " atol=1e-4 * np.max(np.abs(slopes)))"
        ),
    ),
    misconceptions=(
        Misconception("always right", "your test lets everything pass.", lambda case: True),
        Misconception(
            "always wrong",
            "your test rejects everything. Differences are right to eight or nine digits at best,"
            " so equality to the last digit is too much to ask.",
            lambda case: False,
        ),
        Misconception(
            "the sum alone",
            "you compare sums of all elements; two mistakes can cancel. Compare each element.",
            _shaped(lambda a, b: np.isclose(a.sum(), b.sum(), rtol=1e-4)),
        ),
        Misconception(
            "the length alone",
            "you compare the lengths of the two gradients; they may point elsewhere. Compare each"
            " element.",
            _shaped(
                lambda a, b: np.isclose(np.linalg.norm(a), np.linalg.norm(b), rtol=1e-4, atol=0)
            ),
        ),
        Misconception(
            "any element",
            "one element that agrees is enough for you; all of them must.",
            _shaped(lambda a, b: np.any(np.isclose(a, b, rtol=1e-4))),
        ),
        Misconception(
            "the size alone",
            "you compare absolute values: a sign that is reversed passes.",
            _shaped(lambda a, b: np.allclose(np.abs(a), np.abs(b), rtol=1e-4, atol=1e-8)),
        ),
        Misconception(
            "the first element",
            "you look at one element only; move each of them.",
            _shaped(lambda a, b: np.isclose(a.flat[0], b.flat[0], rtol=1e-4)),
        ),
        Misconception(
            "no shape",
            "you do not compare the shapes; NumPy stretches one number to all elements.",
            lambda case: bool(
                np.broadcast_shapes(case.args["found"].shape, case.args["x"].shape)
                == case.args["x"].shape
                and _near(case.args["found"], _differences(case))
            ),
        ),
        Misconception(
            "an absolute tolerance",
            "your tolerance is one number for all: too much for small gradients, too little for"
            " large ones.",
            _shaped(lambda a, b: np.max(np.abs(a - b)) < 1e-4),
        ),
    ),
)
