"""A step whose result is NaN or infinite says why, and later ones from which value it comes."""

from typing import Any

import numpy as np
import pytest
from minigrad.viz.speech import names_of, sentence
from minigrad.viz.texts import words
from numpy.testing import assert_array_equal

import minigrad as mg
from minigrad import ops
from minigrad.core.primitive import registry
from minigrad.scalar import parsed
from minigrad.trace.schema import TraceError, validate
from minigrad.trace.text import text_of
from minigrad.watch import trace_function
from minigrad.watch.not_finite import asked, folded, kind

GRID = np.array([-2, -1.5, -1, -0.5, 0, 0.5, 1, 1.5, 2])
PARAMETERS: dict[str, list[dict[str, Any]]] = {
    "pow": [{"n": n} for n in (-2, -1.5, -1, -0.5, 0, 0.5, 1, 1.5, 2)],
    "polygamma": [{"n": 1}],
    "bessel_y": [{"n": 0}, {"n": 1}],
    "bessel_k": [{"n": 0, "scaled": False}],
    "clamp": [{"low": -1, "high": 1}],
}


@pytest.mark.filterwarnings("ignore")
def test_every_operation_declares_where_it_has_no_finite_value() -> None:
    ops.load()
    declared = 0
    for name, one in sorted(registry.items()):
        given = PARAMETERS.get(name, [{}])
        if not one.elementwise or "bitwise" in name or (one.keywords and given == [{}]):
            continue
        operands = np.meshgrid(*[GRID] * len(one.inputs))
        for params in given:
            result = np.asarray(one.forward(np, *operands, **params))
            bad = ~np.isfinite(result) if result.dtype.kind == "f" else np.array([False])
            if one.domain is None:
                assert not bad.any(), f"{name} declares no domain"
                continue
            declared += 1
            condition = folded(parsed(one.domain), params)
            inside = asked(condition, dict(zip(one.inputs, operands, strict=True)))
            assert not (bad & inside).any(), f"{name}: {one.domain}"
            if name not in ("zeta", "binary_cross_entropy", "igamma", "igammac"):
                assert_array_equal(bad, ~np.broadcast_to(inside, bad.shape), name)
    assert declared > 25


def said(f: Any, x: Any, mode: str = "reverse") -> list[str]:
    """The reasons of a Trace, each with the node and the column it is about."""
    trace = validate(trace_function(f, x, mode=mode))
    found = []
    for step in trace["steps"]:
        shown = [kind(value) for _, _, value in step["writes"]]
        assert ("nonfinite" in step) <= any(shown)
        if "nonfinite" in step:
            told = step["nonfinite"]
            words = text_of(told["what"]) + " where " * ("where" in told)
            words += text_of(told.get("where", []))
            found.append(f"{step['writes'][0][1]} {step['node']}: {told['why']} {words}")
            assert text_of(told["what"]) in step["say"].split(". ", 1)[1]
    return found


@pytest.mark.filterwarnings("ignore:invalid value")
@pytest.mark.parametrize(
    ("f", "x", "expected"),
    [
        (
            lambda x: mg.exp(mg.log(x) * 2), -1.0,
            ["v v1: domain ln x where x > 0", "v v2: from v1", "v v3: from v1", "g v2: from v1"],
        ),
        (lambda x: mg.log(x), 0.0, ["v v1: domain ln x where x > 0", "g x: slope ln x"]),
        (lambda x: mg.sqrt(x), -1.0, ["v v1: domain √(x) where x ≥ 0"]),
        (lambda x: mg.asin(x), 2.0, ["v v1: domain arcsin x where −1 ≤ x ∧ x ≤ 1"]),
        (lambda x: x / (x - x), 0.0, ["v v2: domain x / v1 where v1 ≠ 0"]),
        (lambda x: 1 / (x * 0.0), 3.0, ["v v2: domain 1 / v1 where v1 ≠ 0"]),
        (lambda x: x / 0, 1.0, ["v v1: undefined x / 0"]),
        (lambda x: x / x, 0.0, ["v v1: domain x / x where x ≠ 0", "g x: slope x / x"]),
        (lambda x: x**-1, 0.0, ["v v1: domain x⁻¹ where x ≠ 0"]),
        (lambda x: x**0.5, -1.0, ["v v1: domain x^0.5 where x ≥ 0"]),
        (lambda x: mg.exp(x), 1000.0, ["v v1: large float64"]),
        (lambda x: mg.sqrt(x) + 1, 0.0, ["g x: slope √(x)"]),
        (lambda x: mg.log(x) - mg.log(x), 0.0, ["v v1", "v v2", "v v3: from v1 = −∞"]),
        (lambda x: x * 2, float("nan"), ["v v1: from x"]),
        (
            lambda x: mg.log(x - 1).sum(), np.array([3.0, 1, np.nan]),
            ["v v1: from x", "v v2: domain ln v1 where v1 > 0", "v v3: from v2"],
        ),
        (lambda x: mg.log(x).sum(), np.arange(20.0) - 3, ["v v1: domain ln x where x > 0"]),
        (lambda x: mg.exp(x), np.float32(100), ["v v1: large float32"]),
    ],
)  # fmt: skip
def test_steps_say_why_and_from_where(f: Any, x: Any, expected: list[str]) -> None:
    found = said(f, x)
    assert len(found) >= len(expected)
    for one, wanted in zip(found, expected, strict=False):
        assert one.startswith(wanted)


@pytest.mark.filterwarnings("ignore:divide by zero", "ignore:invalid value")
@pytest.mark.parametrize(
    ("f", "x", "sent"),
    [
        (lambda x: mg.log(x) * mg.sqrt(x - 1), 0.0, "v̄1 / x = NaN / 0 = NaN → NaN + NaN = NaN"),
        (lambda x: (x - 1) / x, 0.0, "−v̄2 · v1 / x² = −1 · (−1) / 0² = ∞"),
        (lambda x: mg.log(x) * x, 0.0, "v̄2 · v1 = 1 · (−∞) = −∞"),
    ],
)
def test_a_rule_is_computed_as_it_is_written_where_its_numbers_are_not_finite(f, x, sent) -> None:
    """v̄1 / x stood there as a product, NaN · ∞."""
    trace = validate(trace_function(f, x, mode="reverse"))
    assert any(text_of(step["formula"]).endswith(sent) for step in trace["steps"])


def test_finite_results_say_nothing() -> None:
    assert said(lambda x: mg.log(x) / x, 2.0, "both") == []
    chosen = lambda x: mg.where(x > 0, mg.log(x), 0.0).sum()
    assert said(chosen, np.array([1.0, -1.0]), "primal") == ["v v2: domain ln x where x > 0"]


@pytest.mark.filterwarnings("ignore:invalid value")
def test_a_finite_derivative_of_a_value_that_is_nan_says_so() -> None:
    trace = validate(trace_function(lambda x: mg.log(x) + x * 2, -1.0, mode="both"))
    of = {
        (s["writes"][0][1], i): s["despite"] for i, s in enumerate(trace["steps"]) if "despite" in s
    }
    assert [column for column, _ in of] == ["d", "d", "g", "g", "g", "g"]
    assert [*of.values()] == ["v1", "v3", "v3", "v1", "v3", "v1"]
    for _, i in of:
        step = trace["steps"][i]
        assert step["say"].endswith(f" But the value of {step['despite']} is NaN.")
    last = trace["steps"][-1]
    chinese = sentence(last, words("zh"), names_of(trace))
    assert last["node"] == "x" and chinese.endswith("但 v1 的值是 NaN。")
    assert not any("despite" in s for s in trace_function(mg.log, 0.0, mode="both")["steps"])


def test_a_reason_without_its_condition_is_no_trace() -> None:
    trace = trace_function(lambda x: mg.log(x), -1.0)
    step = next(one for one in trace["steps"] if "nonfinite" in one)
    del step["nonfinite"]["where"]
    with pytest.raises(TraceError, match=r"nonfinite\.where"):
        validate(trace)
