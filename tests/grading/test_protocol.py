"""What crosses the border: plain values survive, everything else is refused with a sentence and
has no effect.
"""

import base64
import json
import math
from collections import OrderedDict, namedtuple
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from minigrad.lessons.grading import protocol
from minigrad.lessons.grading.exercise import plain_problem

import minigrad as mg


def there_and_back(value):
    return protocol.decode(protocol.loads(protocol.dumps(protocol.encode(value))))


def alike(a, b) -> bool:
    if isinstance(a, np.ndarray):
        return (
            type(b) is np.ndarray
            and a.dtype == b.dtype
            and a.shape == b.shape
            and np.array_equal(a, b, equal_nan=a.dtype.kind == "f")
        )
    if isinstance(a, float) and math.isnan(a):
        return type(b) is float and math.isnan(b)
    if isinstance(a, list | tuple):
        return type(a) is type(b) and len(a) == len(b) and all(map(alike, a, b))
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(alike(a[k], b[k]) for k in a)
    return type(a) is type(b) and a == b


texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=10)
arrays = hnp.arrays(
    st.sampled_from(["<f8", "<f4", "<f2", "<i8", "|u1", "|b1"]),
    hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3),
)
plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | texts | arrays,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.tuples(inner, inner)
        | st.dictionaries(texts, inner, max_size=3)
    ),
    max_leaves=8,
)


@given(plain)
def test_plain_values_survive(value):
    back = there_and_back(value)
    assert alike(value, back)
    assert plain_problem(back) == ""


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (np.float64(2.5), np.array(2.5)),
        (np.int32(3), np.array(3, dtype=np.int32)),
        (np.arange(6).reshape(2, 3).T, np.arange(6).reshape(2, 3).T),
        (np.arange(4, dtype=">f4"), np.arange(4, dtype="<f4")),
        (np.broadcast_to(1.0, (2, 2)), np.ones((2, 2))),
        (np.longdouble(1.5), np.array(1.5)),
    ],
)
def test_what_numpy_gives_becomes_an_array(value, expected):
    assert alike(there_and_back(value), expected)


@pytest.mark.parametrize("number", [Fraction(1, 4), Decimal("0.25")])
def test_exact_numbers_become_floats(number):
    """No mathematician sees a difference."""
    assert there_and_back(number) == 0.25
    assert there_and_back([number, (number, 1)]) == [0.25, (0.25, 1)]
    back = there_and_back(np.array([[number, 1], [2.5, number]], dtype=object))
    assert back.dtype == np.float64
    assert back.tolist() == [[0.25, 1.0], [2.5, 0.25]]
    with pytest.raises(protocol.ProtocolError, match="an array of objects"):
        protocol.encode(np.array([number, "1"], dtype=object))


def test_a_tensor_becomes_an_array():
    x = mg.tensor([1.0, 2.0], dtype=mg.float64, requires_grad=True)
    assert alike(there_and_back({"x": x})["x"], np.array([1.0, 2.0]))


def test_subclasses_become_what_they_are_made_of():
    assert there_and_back(OrderedDict(a=1)) == {"a": 1}
    assert there_and_back(namedtuple("P", "a b")(1, 2)) == (1, 2)


loop: list = []
loop.append(loop)


@pytest.mark.parametrize(
    ("value", "say"),
    [
        (object(), "object"),
        (lambda: 1, "function"),
        (1 + 2j, "complex"),
        (np.array([1j]), "complex numbers"),
        (np.array([object()]), "objects"),
        (np.array(["a"]), "dtype"),
        (np.array(["2020-01-01"], dtype="M8[D]"), "dtype"),
        (np.ma.masked_array([1.0], mask=[True]), "masked"),
        ({1: 2}, "keys"),
        (loop, "deep"),
        (10**2000, "digits"),
        (np.broadcast_to(1.0, (10**6, 10**6)), "bytes"),
        ("x" * 5_000_000, "bytes"),
        ([0] * 600_000, "values"),
        ({1, 2}, "set"),
        (iter([]), "iterator"),
        (b"bytes", "bytes"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_is_not_plain_is_refused(value, say):
    with pytest.raises(protocol.ProtocolError, match=say):
        protocol.encode(value)


def array(**changes):
    data = base64.b64encode(np.ones(2).tobytes()).decode()
    return {"a": "<f8", "s": [2], "b": data} | changes


def test_the_array_of_the_tests_below_is_good_without_their_changes():
    assert alike(protocol.decode(array()), np.ones(2))


@pytest.mark.parametrize(
    "message",
    [
        array(a="O"), array(a="|O8"), array(a="<c16"), array(a=["<f8"]), array(a="<U9"),
        array(a={"x": 1}), array(a="<f8,<f8"),
        array(s=[-2]), array(s=[3]), array(s=[2.0]), array(s=[True, 2]), array(s="2"),
        array(s=[2] + [1] * 40), array(s=[10**30, 0]),
        array(s=[0] + [4_000_000] * 9), array(s=None), array(s=[[2]]), array(b="***"), array(b="é"),
        array(b=None), array(b=""),
        array(b="AA"),
        {"a": "<f8"}, {"t": 1}, {"t": {}}, {"d": []}, {"f": "1"}, {"f": []}, {}, {"x": 1},
        {"t": [], "d": {}}, {"pickle": "gASV"},
    ],
)  # fmt: skip
def test_forged_messages_are_refused(message):
    with pytest.raises(protocol.ProtocolError):
        protocol.decode(message)


@pytest.mark.parametrize(
    "line",
    [
        b"[" * 200_000,
        b"[" * 200_000 + b"]" * 200_000,
        b'{"a":' * 100_000,
        b"1" * 5_000,
        b"",
        b"nonsense",
        b"\xff\xfe\x00",
        b'"' + b"x" * 9_000_000 + b'"',
    ],
    ids=["open", "deep", "deep keys", "digits", "empty", "words", "bytes", "long"],
)
def test_hostile_json_ends_in_one_kind_of_error(line):
    with pytest.raises(protocol.ProtocolError):
        protocol.decode(protocol.loads(line))


def test_deep_and_many_are_refused_after_json_has_been_read(monkeypatch):
    deep = json.dumps(["x"])
    for _ in range(30):
        deep = f"[{deep}]"
    with pytest.raises(protocol.ProtocolError, match="deep"):
        protocol.decode(protocol.loads(deep.encode()))
    monkeypatch.setattr(protocol, "ITEMS", 1000)
    with pytest.raises(protocol.ProtocolError, match="values"):
        protocol.decode(protocol.loads(b"[" + b"[]," * 1001 + b"1]"))


def test_floats_that_json_does_not_know_are_floats():
    assert protocol.decode(protocol.loads(b"1e999")) == math.inf
    assert math.isnan(protocol.decode(protocol.loads(b"NaN")))


def test_truth_values_have_two_bytes_only():
    forged = {"a": "|b1", "s": [3], "b": base64.b64encode(b"\x00\x01\x02").decode()}
    assert protocol.decode(forged).view(np.uint8).tolist() == [0, 1, 1]


def test_texts_can_be_written_anywhere():
    back = protocol.decode(protocol.loads(b'"a\\ud800b\\u0000"'))
    assert back.encode("utf-8").decode() == "a?b"
    assert protocol.one_line("a\nb\x1b[31m" + "x" * 1000, 10) == "a b [31mx…"
    assert protocol.one_line(["a"]) == ""
