"""Scalar expressions mean what the operations compute: each is evaluated with NumPy on the
samples of the table of cases.
"""

import math
from typing import Any

import numpy as np
import pytest

from minigrad import scalar
from minigrad.core.primitive import constant, elementwise, registry
from tests.helpers.op_cases import CASES, Case
from tests.helpers.tables import in_one_test

MEANING: dict[str, Any] = {
    "+": np.add, "-": np.subtract, "*": np.multiply, "/": np.true_divide, "**": np.power,
    "neg": np.negative, "==": np.equal,
    "!=": np.not_equal, "<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal,
    "&": np.bitwise_and,
    "|": np.bitwise_or, "^": np.bitwise_xor, "~": np.invert, "and": np.logical_and,
    "or": np.logical_or, "not": np.logical_not,
    "xor": np.logical_xor, "erf": np.vectorize(math.erf, otypes=[float]),
    "erfc": np.vectorize(math.erfc, otypes=[float]),
    "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "atan2": np.arctan2,
    "asinh": np.arcsinh, "acosh": np.arccosh,
    "atanh": np.arctanh,
}  # fmt: skip
"""Each word of the language that NumPy calls by another name."""


def value(term: Any, operands: dict[str, Any]) -> Any:
    """A term evaluated with NumPy."""
    if not isinstance(term, tuple):
        return operands[term] if isinstance(term, str) else term
    word, *parts = term
    return (MEANING.get(word) or getattr(np, word))(*(value(p, operands) for p in parts))


EXPRESSED = [case for case in CASES if registry[case.primitive].scalar is not None and case.real]


@in_one_test
@pytest.mark.parametrize("case", EXPRESSED, ids=lambda case: case.id)
def test_the_expression_is_the_operation(case: Case) -> None:
    prim, inputs = registry[case.primitive], case.inputs("float64")
    term = scalar.term_of(prim.scalar, case.params)
    if term is None:
        assert case.params.get("decimals"), "only rounding to decimals has no expression"
        return
    with np.errstate(all="ignore"):
        found = np.broadcast_to(
            value(term, dict(zip(prim.inputs, inputs, strict=True))), case.expected(*inputs).shape
        )
    np.testing.assert_allclose(
        found, prim.forward(np, *inputs, **case.params), rtol=case.precision, atol=case.precision
    )


def test_all_words_are_used() -> None:
    """The language has no word that no operation needs."""
    texts = [prim.scalar for prim in registry.values() if isinstance(prim.scalar, str)]
    texts += [registry["round"].scalar(decimals=0), registry["clamp"].scalar(low=0, high=1)]  # type: ignore[operator]
    texts += [registry["select"].scalar(test=test, level=0) for test in ("lt", "le", "gt", "ge")]  # type: ignore[operator]
    used = {word for text in texts for word in scalar.words(scalar.parsed(text))}
    assert used >= scalar.FUNCTIONS
    assert used - scalar.FUNCTIONS == {*"+ - * / ** == != < <= > >= & | ^ ~ and or not neg".split()}


def test_words_are_filled_in_for_operations_of_the_same_name() -> None:
    """An element-wise operation whose name is a word of the language needs no expression of its
    own.
    """
    assert registry["sin"].scalar == "sin(x)" and registry["atan2"].scalar == "atan2(a, b)"
    made = elementwise("scalar_test_cube", lambda xp, x: x * x * x, lambda g, x: g * (3 * x * x))
    try:
        assert (made.scalar, made.kernel, made.batch, made.shape) == (
            None,
            None,
            "pointwise",
            "broadcast",
        )
    finally:
        del registry["scalar_test_cube"]


@pytest.mark.parametrize(
    "text",
    ["x @ y", "x[0]", "norm(x)", "x if x > 0 else y", "0 < x < 1", "sin(x, y=1)", "'a'", "x.y"],
)
def test_what_is_no_expression_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"is no (part of a formula|word of scalar expressions)"):
        scalar.parsed(text)


def test_parentheses_are_written_where_they_are_needed() -> None:
    write = lambda text, spelt: scalar.written(scalar.parsed(text), spelt, str)
    assert write("a - (b - c) * -d", {}) == "a - ((b - c) * (-d))"
    assert write("abs(a - b) < 1", {"abs": "fabs({})"}) == "fabs(a - b) < 1"
    assert write("not (a and b)", {"not": "!{}", "and": "{} && {}"}) == "!(a && b)"
    assert (
        write("1 / maximum(a, b + 1)", {"maximum": "Math.max({}, {})"}) == "1 / Math.max(a, b + 1)"
    )


def test_powers_with_a_constant_exponent() -> None:
    """As NumPy computes them: products, a root, a quotient."""
    term = lambda n: scalar.term_of("x ** n", {"n": n})
    assert [term(n) for n in (0, 1, 2, 0.5, -1)] == [
        1,
        "x",
        ("*", "x", "x"),
        ("sqrt", "x"),
        ("/", 1, "x"),
    ]
    assert term(3) == ("*", ("*", "x", "x"), "x")
    assert term(2.5) == ("**", "x", 2.5)
    assert term(np.ones(2)) is None


def test_a_notation_that_is_no_formula_is_refused() -> None:
    with pytest.raises(ValueError, match="'ln cosh x' is no formula"):
        constant("scalar_test_word", lambda xp, x: x, notation="ln cosh x")
    assert "scalar_test_word" not in registry


def test_unknown_keywords_of_a_declaration_are_refused() -> None:
    with pytest.raises(TypeError, match="scalar_test_word: a declaration has no keyword 'scaler'"):
        constant("scalar_test_word", lambda xp, x: x, scaler="x")
    assert "scalar_test_word" not in registry
