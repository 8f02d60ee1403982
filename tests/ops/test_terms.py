"""Which elements meet in an operation (ops/terms.py): the loop that a declaration states computes
what the operation and its derivative rules compute."""

from itertools import product
from typing import Any

import numpy as np
import pytest

import minigrad as mg
from minigrad.core.primitive import registry
from minigrad.ops.terms import Index, Terms, as_data
from minigrad.trace import TraceError, validate
from minigrad.watch.trace import trace_function
from minigrad.watch.trace_writer import ALL_PARTS, ALL_WHOLE, WHOLE
from tests.helpers.op_cases import CASES, Case
from tests.helpers.tables import in_one_test

WITH_TERMS = [case for case in CASES if registry[case.primitive].terms]


def place(index: Index, point: tuple[int, ...], shape: tuple[int, ...]) -> tuple[int, ...] | None:
    """Where an array is read at a point of the loop; None outside of it."""
    found = tuple(
        offset + sum(factor * point[v] for v, factor in variables) for offset, variables in index
    )
    inside = all(0 <= i < n for i, n in zip(found, shape, strict=True))
    return found if inside else None


def meetings(terms: Terms, arrays: list[Any], out: tuple[int, ...]) -> list[Any]:
    """At each point of the loop: the element of the result, and those of the factors."""
    factors = [i for i in range(len(arrays)) if i not in terms.added]
    found = []
    for point in product(*map(range, terms.sizes)):
        read = {i: place(terms.operands[i], point, arrays[i].shape) for i in factors}
        made = place(terms.result, point, out)
        if made is not None and None not in read.values():
            found.append((made, read))
    return found


def looped(terms: Terms, arrays: list[Any], out: tuple[int, ...]) -> Any:
    """The result, by the loop."""
    made = np.full(out, -np.inf if terms.combine == "largest" else 0.0)
    for at, read in meetings(terms, arrays, out):
        value = np.prod([arrays[i][where] for i, where in read.items()])
        made[at] = max(made[at], value) if terms.combine == "largest" else made[at] + value
    return made + sum(arrays[i] for i in terms.added)


def shares(terms: Terms, arrays: list[Any], g: Any, index: int, result: Any) -> Any:
    """What the loop sends back to an operand."""
    sent, taken = np.zeros(arrays[index].shape), set()
    for at, read in meetings(terms, arrays, g.shape):
        if terms.combine == "largest":
            if at in taken or arrays[index][read[index]] != result[at]:
                continue
            taken.add(at)  # the first of the largest
        others = [arrays[i][where] for i, where in read.items() if i != index]
        sent[read[index]] += g[at] * np.prod(others)
    return sent


@in_one_test
@pytest.mark.parametrize("case", WITH_TERMS, ids=lambda case: case.id)
def test_the_loop_computes_what_the_operation_computes(case: Case) -> None:
    """Forward, and back to each factor; integers, so that many elements are equal."""
    prim = registry[case.primitive]
    rng = np.random.default_rng(5)
    arrays = [rng.integers(-2, 3, a.shape).astype(float) for a in case.inputs()]
    made = np.asarray(prim.forward(np, *arrays, **case.params))
    terms = prim.terms([a.shape for a in arrays], made.shape, case.params)
    np.testing.assert_allclose(looped(terms, arrays, made.shape), made, atol=1e-12)
    tensors = [mg.tensor(a, requires_grad=True) for a in arrays]
    g = rng.integers(-2, 3, made.shape).astype(float)
    found = mg.autograd.grad(prim(*tensors, **case.params), tensors, mg.tensor(g))
    for index, wanted in enumerate(found):
        if index not in terms.added:
            sent = shares(terms, arrays, g, index, made)
            np.testing.assert_allclose(sent, wanted.numpy(), atol=1e-12)


def test_every_operation_of_windows_and_products_says_its_terms() -> None:
    names = {case.primitive for case in WITH_TERMS}
    wanted = {"matmul", "affine", "convolve", "convolve_input", "convolve_weight", "sum"}
    assert names == wanted | {"max_pool", "sum_pool"}


def test_a_trace_holds_the_terms_and_every_element_that_meets() -> None:
    x, w = np.arange(36.0).reshape(1, 1, 6, 6), np.ones((2, 1, 3, 3))
    f = lambda x, w: mg.nn.functional.conv2d(x, w).square().sum()
    trace = validate(trace_function(f, x, w, mode="both"))
    conv = next(node for node in trace["nodes"] if node.get("op") == "convolve")
    assert conv["terms"]["sizes"] == [1, 1, 2, 1, 4, 4, 3, 3]
    whole = {
        (node, column): value["elements"]
        for step in trace["steps"]
        for node, column, value in step["writes"]
        if isinstance(value, dict) and "elements" in value
    }
    made = conv["id"]
    assert whole["x", "v"] == x.ravel().tolist()
    assert {(made, "v"), (made, "d"), (made, "g"), ("x", "g"), ("x", "d"), ("w", "d")} <= set(whole)


def test_of_large_arrays_parts_are_held() -> None:
    side = int(WHOLE**0.5) + 6
    a, b = np.arange(side * side).reshape(side, side) / 7, np.ones((side, side))
    trace = validate(trace_function(lambda a, b: (a @ b).square().sum(), a, b, mode="reverse"))
    held = {
        (node, column): value["parts"]
        for step in trace["steps"]
        for node, column, value in step["writes"]
        if isinstance(value, dict) and "parts" in value
    }
    made = next(node["id"] for node in trace["nodes"] if node.get("op") == "matmul")
    assert {(made, "v"), (made, "g"), ("a", "v"), ("b", "v"), ("a", "g"), ("b", "g")} <= set(held)
    rows, columns = held["a", "v"]  # what meets in the product, and in the gradient of b
    assert rows["shape"] == [8, side] and columns["shape"] == [side, 8]
    top = rows["from"][0]
    np.testing.assert_allclose(rows["elements"], a[top : top + 8].ravel(), rtol=1e-7)
    assert sum(len(p["elements"]) for parts in held.values() for p in parts) <= ALL_PARTS


def test_empty_loops_have_no_terms() -> None:
    assert as_data(Terms((0,), (), (((0, ((0, 1),)),),))) is None


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda node, value: node["terms"].update(combine="least"), "combine"),
        (lambda node, value: node["terms"].update(divisors=[[2]]), "divisors"),
        (lambda node, value: node["terms"].update(result=[]), "result"),
        (lambda node, value: node["terms"].update(operands=[[[0, [99, 1]]]]), "variable, factor"),
        (lambda node, value: node["terms"].update(added=[7]), "positions of operands"),
        (lambda node, value: value["elements"].pop(), "must hold 18 numbers, got 17"),
        (lambda node, value: value["elements"].reverse(), "must begin as sample"),
    ],
)
def test_wrong_terms_and_elements_are_refused(change: Any, message: str) -> None:
    trace = trace_function(
        lambda a, b: (a @ b).sum(), np.arange(18.0).reshape(3, 6), np.ones((6, 2)), mode="reverse"
    )
    node = next(n for n in trace["nodes"] if n.get("op") == "matmul")
    change(node, trace["steps"][0]["writes"][0][2])
    with pytest.raises(TraceError, match=message):
        validate(trace)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda part: part["elements"].pop(), "must hold 560 numbers, got 559"),
        (lambda part: part.update({"from": [66, 0]}), "must lie within the array"),
        (lambda part: part.update({"from": [0]}), "an index for each axis"),
        (lambda part: part["elements"].__setitem__(0, "x"), "must be a number"),
    ],
)
def test_wrong_parts_are_refused(change: Any, message: str) -> None:
    trace = trace_function(lambda a: (a @ a).sum(), np.ones((70, 70)), mode="primal")
    change(trace["steps"][0]["writes"][0][2]["parts"][0])
    with pytest.raises(TraceError, match=message):
        validate(trace)


def test_a_trace_holds_so_many_elements_and_no_more() -> None:
    """A long chain of products stays a document of a bounded size; what comes first is whole."""

    def chain(x: Any, w: Any) -> Any:
        for _ in range(20):
            x = (x @ w).tanh()
        return x.sum()

    trace = trace_function(chain, np.ones((64, 20)), np.ones((20, 20)), mode="reverse")
    held = [
        len(value["elements"])
        for step in validate(trace)["steps"]
        for _, _, value in step["writes"]
        if isinstance(value, dict) and "elements" in value
    ]
    assert 0.8 * ALL_WHOLE < sum(held) <= ALL_WHOLE
