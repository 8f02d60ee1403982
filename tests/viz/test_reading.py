"""Reading a Trace: numbers as text, formulas as text, and what is said about a document that
cannot be drawn.
"""

import copy
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from minigrad.viz.numbers import brief, factor_text, short
from minigrad.viz.reading import (
    TraceError,
    caption,
    check,
    column_of,
    heading_runs,
    plain,
    runs,
    symbol_runs,
)
from minigrad.viz.texts import words

import minigrad.trace
from minigrad.trace.text import text_of
from tests.helpers.trace_samples import all_samples
from tests.helpers.trace_sentences import POWERS


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"), (-0.0, "0"), (1, "1"), (-3.0, "−3"), (2.5, "2.5"), (11.652071455223084, "11.65"),
        (1.7163378145367738, "1.716"),
        (0.1, "0.1"), (1 / 3, "0.3333"), (0.000123456, "0.0001235"), (1.23456e-5, "1.235e−5"),
        (999999, "999999"), (-123456, "−123456"),
        (1e6, "1e6"), (1234567, "1.235e6"), (1234.5678, "1234.57"), (999.96, "1000"),
        (9.9996, "10"), (0.99996, "1"), (999999.7, "1e6"),
        (5e-324, "4.941e−324"), (1.7976931348623157e308, "1.798e308"), (True, "True"),
        (False, "False"), ("nan", "NaN"), ("inf", "∞"),
        ("-inf", "−∞"), (math.nan, "NaN"), (-math.inf, "−∞"), (None, ""),
        ({"re": 1.5, "im": -2}, "1.5−2i"),
        ({"shape": [2, 2], "sample": [1, 2, 3, 4]}, "[[1, 2], [3, 4]]"),
        ({"shape": [3], "sample": [1, "nan", -0.5]}, "[1, NaN, −0.5]"),
        ({"shape": [2, 3], "sample": [1, 2, 3, 4, 5, 6]}, "[[1, 2, 3], [4, 5, 6]]"),
        ({"shape": [3, 3], "sample": [1, 2, 3, 4, 5, 6, 7, 8, 9]}, "[1, 2, 3, …] (3, 3)"),
        (
            {"shape": [9], "sample": [0] * 9, "chosen": {"at": [0, 4, 8], "sample": [0, 1, 2]}},
            "[0, …, 1, …, 2] (9,)",
        ),
        ({"shape": [0, 3], "sample": []}, "[] (0, 3)"),
        ({"shape": [], "sample": [7]}, "7"),
        ({"shape": [100], "sample": [0.5] * 16}, "[0.5, 0.5, 0.5, …] (100,)"),
    ],
)  # fmt: skip
def test_numbers_as_text(value, text):
    assert short(value) == text


@given(st.floats(-1e307, 1e307))
def test_a_shown_number_is_near_the_number(value):
    shown = float(short(value).replace("−", "-"))
    assert shown == pytest.approx(value, rel=5.1e-4, abs=0)
    assert len(short(value)) <= 11


def test_a_card_shows_the_range_of_an_array_that_is_too_long_for_it():
    long = {"shape": [2, 3], "sample": [0.123, -4.567, 8.9, 1, 2, 3], "min": -4.567, "max": 8.9}
    assert short(long) == "[[0.123, −4.567, 8.9], [1, 2, 3]]" and brief(long) == "−4.567 to 8.9"
    assert brief({"shape": [2, 3], "sample": [0.1234, -4.567, 8.901, 1, 2, 3]}) == "(2, 3)"
    small = {
        "shape": [2, 2],
        "sample": [-1, -3.7182, 0.63212, -1.1487],
        "min": -3.7182,
        "max": 0.63212,
    }
    assert brief(small, 4) == "[[−1, −3.718], [0.6321, −1.149]]", (
        "the number of elements decides, not their text"
    )
    assert brief({"shape": [5], "sample": [1, 1, 1, 1, 2], "min": 1, "max": 2}) == "1 to 2"
    assert brief({"shape": [5], "sample": [1, 1, 1, 1, 1], "min": 1, "max": 1}) == "all 1"
    assert brief({"re": 0.12345, "im": -1.23456e-7}) == "0.1235−1.235e−7i"
    assert brief(long, t=words("zh")) == factor_text(long, words("zh")) == "−4.567 至 8.9"


def test_formulas_as_text():
    sym = {"t": "sym", "base": "v", "sub": "1"}
    op = lambda text: {"t": "op", "text": text}
    num = lambda value: {"t": "num", "value": value}
    fraction = {"t": "frac", "num": [op("∂"), sym], "den": [op("∂"), {"t": "sym", "base": "x"}]}
    assert plain(runs([sym, op("="), fraction, op("·"), num(-2)])) == "v1 = ∂v1/∂x · −2"
    assert (
        plain(runs([{"t": "frac", "num": [sym, op("+"), num(1)], "den": [num(2)]}])) == "(v1 + 1)/2"
    )
    assert (
        plain(
            runs(
                [{"t": "sup", "base": [sym], "exp": [num(2)]}, op(","), {"t": "sqrt", "of": [sym]}]
            )
        )
        == "v1², √v1"
    )
    assert plain(runs([{"t": "fn", "text": "ln"}, sym])) == "ln v1"
    assert (
        plain(runs([{"t": "fn", "text": "max"}, op("("), sym, op(","), num(3), op(")")]))
        == "max(v1, 3)"
    )
    assert (
        plain(runs([{"t": "sup", "base": [{"t": "fn", "text": "e"}], "exp": [sym]}])) == "exp(v1)"
    )
    assert plain(symbol_runs({"base": "v", "sub": "3", "accent": "dot"})) == "v\u03073"
    for base, exponent, text in POWERS:
        power = [{"t": "sup", "base": base, "exp": exponent}]
        assert plain(runs(power)) == text_of(power) == text
    assert plain(symbol_runs({"base": "x", "sup": "k", "accent": "bar"})) == "x\u0304^k"


def test_the_head_and_the_small_line_of_a_card():
    sym = {"t": "sym", "base": "v", "sub": "1"}
    node = {
        "id": "v2",
        "label": {"base": "v", "sub": "2"},
        "op": "sin",
        "expr": [{"t": "fn", "text": "sin"}, sym],
        "shape": [],
    }
    assert plain(heading_runs(node)) == "v2 = sin v1" and caption(node) == ""
    assert (
        plain(heading_runs({**node, "expr": [sym, {"t": "op", "text": "+"}] * 9}))
        == "v2 = v1 + v1 + v1 + v1 + v1 +…"
    ), "too long to be spelled out"
    assert plain(heading_runs({**node, "expr": []})) == "v2"
    named = [{"t": "sym", "base": f"0.{name}"} for name in ("weight", "bias")]
    comma = {"t": "op", "text": ","}
    left, right = ({"t": "op", "text": text} for text in "()")
    call = [{"t": "fn", "text": "affine"}, left, sym, comma, named[0], comma, named[1], right]
    assert plain(heading_runs({**node, "expr": call})) == "v2 = affine(v1, 0.weight, 0.b…"
    size, pad = ({"t": "text", "text": text} for text in ("size 2×2", "padding 1"))
    pool = [{"t": "fn", "text": "max_pool2d"}, left, sym, comma, size, comma, pad, right]
    assert plain(heading_runs({**node, "expr": pool})) == "v2 = max_pool2d(v1, …)", "a whole title"
    assert plain(heading_runs({**node, "expr": named[:1]})) == "v2 = 0.weight"
    inner = [{"t": "sym", "base": f"network.2.{name}"} for name in ("weight", "bias")]
    layer = [sym, {"t": "op", "text": "@"}, inner[0], {"t": "op", "text": "+"}, inner[1]]
    assert plain(heading_runs({**node, "expr": layer})) == "v2 = v1 @ 2.weight + 2.bias"
    long = [{"t": "sym", "base": f"{one}_argument_of_the_function"} for one in ("first", "second")]
    product = [long[0], {"t": "op", "text": "·"}, long[1]]
    assert plain(heading_runs({**node, "expr": product})) == "v2 = first_arg… · second_ar…"
    barred = {**inner[1], "accent": "bar"}
    new = {**node, "label": {"base": "2.b′"}, "expr": [inner[0], barred]}
    assert plain(heading_runs(new)) == "2.b′ = 2.weight2\u0305.\u0305b\u0305i\u0305a\u0305s\u0305"
    assert (
        caption({**node, "name": "hidden", "shape": [2, 3], "dtype": "float32"})
        == "hidden · (2, 3) float32"
    )
    assert caption({**node, "name": "v2"}) == "", (
        "a name that the label shows already is not repeated"
    )
    assert caption({**node, "name": "n" * 30}) == "n" * 21 + "…"


def test_the_column_of_a_step():
    assert column_of({"phase": "seed", "writes": [["x", "d", 1]]}) == "d"
    assert column_of({"phase": "accumulate", "writes": []}) == "g"
    assert column_of({"phase": "something new"}) == "v"


@pytest.mark.parametrize("name", all_samples())
def test_every_sample_can_be_drawn(name):
    assert check(all_samples()[name]) is all_samples()[name]


@pytest.mark.parametrize("name", sorted(set(all_samples()) - {"hostile"}))
def test_the_hand_tracers_documents_are_well_formed_and_obey_the_laws(name):
    sample = all_samples()[name]
    assert minigrad.trace.validate(sample) is sample
    assert minigrad.trace.check_laws(sample) == []


def test_the_seed_examples_numbers():
    sample = all_samples()["seed"]
    cells = minigrad.trace.state_at(sample, len(sample["steps"])).cells
    x1, x2 = 2.0, 5.0
    assert (
        cells["v5", "v"] == pytest.approx(math.log(x1) + x1 * x2 - math.sin(x2))
        and short(cells["v5", "v"]) == "11.65"
    )
    assert cells["v5", "d"] == cells["x1", "g"] == pytest.approx(1 / x1 + x2) == 5.5
    assert (
        cells["x2", "g"] == pytest.approx(x1 - math.cos(x2)) and short(cells["x2", "g"]) == "1.716"
    )


def _broken(change):
    document = copy.deepcopy(all_samples()["seed"])
    change(document)
    return document


@pytest.mark.parametrize(
    ("document", "says"),
    [
        (None, "a Trace is a dict .* got NoneType"),
        ([], "got list"),
        ({"schema": "other/9"}, "reads minigrad.trace/1, but the document says schema = 'other/9'"),
        ({"schema": "minigrad.trace/1"}, "no list 'nodes'"),
        (
            _broken(lambda t: t["edges"][0].update(src="unknown")),
            "edge 'e1': src 'unknown' does not exist",
        ),
        (_broken(lambda t: t["steps"][4].update(node="unknown")), "step 5: node 'unknown'"),
        (_broken(lambda t: t["steps"][4].update(edges=["e99"])), "step 5: edge 'e99'"),
        (_broken(lambda t: t["steps"][4]["writes"].append(["x1", "z", 1])), "step 5: column 'z'"),
        (_broken(lambda t: t["steps"][4].pop("writes")), "malformed: KeyError 'writes'"),
        (_broken(lambda t: t["nodes"][0].pop("label")), "malformed: KeyError 'label'"),
        (_broken(lambda t: t["steps"].append(5)), "malformed: TypeError"),
    ],
)
def test_what_is_said_about_a_document_that_cannot_be_drawn(document, says):
    with pytest.raises(TraceError, match=says):
        check(document)


def test_a_wrong_engines_trace_can_be_seen_too():
    """A student's engine that reads before it writes: minigrad.trace.validate refuses it, the
    viewer shows it.
    """
    document = _broken(lambda t: t["steps"].pop(0))
    with pytest.raises(TraceError):
        minigrad.trace.validate(document)
    assert check(document) is document
