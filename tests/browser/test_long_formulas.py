"""A formula wider than its place breaks as mathematics does: before "=", then "+" and "−", then
before "·"; an array after its rows.
"""

import re
from itertools import pairwise

import pytest
from minigrad.viz.reading import plain, runs

import minigrad as mg
from minigrad.trace.text import honest
from minigrad.watch import trace_function
from tests.browser.conftest import at_each, to
from tests.trace.test_text import SUMS, tokens_of

pytestmark = pytest.mark.browser


def long_sum(a, b, c, d):
    return a * b * c + mg.exp(a) * mg.sin(b) * d - (a * b + c * d) / (a - b * c)


TRACES = {
    "numbers": lambda: trace_function(long_sum, 1.23456, -2.34567, 3.45678, 0.98765, source=""),
    "rows": lambda: trace_function(
        lambda x: (x[0] * x[1] * x[2] + x[0] * x[3]).square(),
        [1.23456, -2.34567, 3.45678, 0.98765],
        source="",
    ),
    # rules of arithmetic in numbers, with powers, where some are not exactly what is shown
    "powers": lambda: trace_function(
        lambda x: mg.tanh(x) ** 3 / mg.exp(x) + (x - 2) ** 2 + 1 / x**2, 0.51234, source=""
    ),
    "matrices": lambda: trace_function(
        lambda x, w: (x @ w).tanh().sum(),
        [[0.5, -1.25, 2.5], [1.5, 0.25, -0.75]],
        [[0.123, -0.456], [0.789, 1.234], [-2.345, 3.456]],
        source="",
    ),
}


def bare(text):
    # exponents that text has letters for
    level = text.translate(str.maketrans("ᵀᴴ⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "TH−0123456789")).replace("exp(", "e(")
    return re.sub(r"[\s\u2062^()˙¯\u0307\u0304/]", "", level)


@pytest.mark.parametrize(
    "name",
    [
        "rows",
        "powers",
        *(pytest.param(name, marks=pytest.mark.whole) for name in ("numbers", "matrices")),
    ],
)
def test_no_formula_scrolls_on_a_phone_none_loses_a_sign_and_no_sum_leaves_its_mark(show, name):
    trace = TRACES[name]()
    look = """root => [
        [...root.querySelectorAll(".mg-formula, .mg-sums")]
            .filter(e => e.scrollWidth > e.clientWidth
                || e.matches(".mg-sums") && e.scrollHeight > e.clientHeight + 2)
            .map(e => e.textContent),
        root.querySelector(".mg-now .mg-formula").textContent]"""
    found = at_each(show(trace, 320, 800, views=["story"]), range(1, len(trace["steps"]) + 1), look)
    for k, (step, (wide, shown)) in enumerate(zip(trace["steps"], found, strict=True), 1):
        assert wide == [], f"step {k}"
        whole = step["formula"][
            : next((i for i, t in enumerate(step["formula"]) if t.get("text") == "→"), None)
        ]
        assert bare(shown) == bare(plain(runs(honest(whole)))), f"step {k}"


def lines(page):
    """The formula's lines as they stand: the text of each, from the top."""
    pieces = page.locator(".mg-now .mg-formula math").evaluate_all(
        "all => all.map(e => [Math.round(e.getBoundingClientRect().bottom),"
        " e.getBoundingClientRect().left, e.textContent])"
    )
    found = [[pieces[0]]]
    for before, piece in pairwise(pieces):
        found.append([piece]) if piece[1] < before[1] else found[-1].append(piece)
    return ["".join(text for *_, text in line) for line in found]


def test_a_line_begins_with_the_sign_it_was_broken_at_and_a_wide_window_has_one_line(show, visit):
    trace = TRACES["numbers"]()
    k = max(range(len(trace["steps"])), key=lambda i: len(trace["steps"][i]["formula"])) + 1
    to(show(trace, 320, 800, views=["story"]), k)
    first, *further = lines(visit.page)
    assert len(further) >= 2 and all(line[0] in "=+−·" for line in further), (first, further)
    assert sum(line.startswith("=") for line in further) == 3
    to(show(trace, 1280, 800, views=["story"]), k)
    assert len(lines(visit.page)) == 1
    gaps = visit.page.locator(".mg-now .mg-formula math").evaluate_all(
        "all => all.slice(1).map((e, i) => e.getBoundingClientRect().left -"
        " all[i].getBoundingClientRect().right)"
    )
    assert max(abs(gap) for gap in gaps) < 12, "pieces stand as close as in one formula"


def test_the_sign_of_a_negative_number_stays_with_it(show, visit):
    trace = trace_function(lambda x: x.sum(), [[-1234.5, -0.0001234, -3.25, -77.125]], source="")
    to(show(trace, 320, 800, views=["story"]), 1)
    assert not any(line in ("−", "=", "= ") for line in lines(visit.page))
    assert len(lines(visit.page)) > 1


def test_sums_of_rounded_numbers_are_shown_as_the_text_form_has_them(show, visit):
    """2 · 2.718 is 5.436 and not the 5.437 that stands there."""
    step = {"contribs": [], "reads": [], "edges": [], "phase": "accumulate", "say": ""}
    found = trace_function(lambda x: mg.exp(x) * (x + 1), 1.0, mode="reverse")
    head = [{"t": "sym", "base": "x", "node": "x"}, {"t": "op", "text": "="}]
    writes, steps = [["x", "g", 1.0]], []
    for side, _ in SUMS:
        formula = head + tokens_of(side)
        steps.append({**step, "node": "x", "writes": writes, "formula": formula})
    viewer = show({**found, "steps": steps})
    for k, (_, text) in enumerate(SUMS, 1):
        to(viewer, k)
        parts = ".mg-equation :is(.mg-formula, .mg-sums)"
        shown = "".join(viewer.locator(parts).all_text_contents()).replace("\u2061", "")
        plain = lambda line: line.replace("→", "").replace(" ", "")
        assert plain(text) in plain(shown), text
