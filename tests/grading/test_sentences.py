"""What students read is made of sentences: of every exercise of the lessons, for many wrong
answers, on the page and in the notebook.
"""

import math
import re
from collections import deque
from fractions import Fraction

import numpy as np
import pytest
from minigrad.lessons.grading import known, pages
from minigrad.lessons.grading.calls import describe, describe_use
from minigrad.lessons.grading.comparison import as_plain, same
from minigrad.lessons.grading.exercise import Case, Misconception, Returned, exercise
from minigrad.lessons.grading.judge import judge, smallest_case
from minigrad.lessons.grading.kinds import Table
from minigrad.lessons.grading.kinds.cost import Cost
from minigrad.lessons.grading.protocol import ProtocolError, encode
from minigrad.lessons.grading.words import (
    a_kind,
    as_rows,
    counted,
    cure,
    nth,
    sentence,
    shown,
    without_stop,
)

import minigrad as mg
from tests.helpers.remembered_mistakes import remembering
from tests.helpers.tables import in_one_test

EXERCISES = known()
BROKEN = {
    "two stops": r"[^.]\.\.(?!\.)|\. \.|[.,;:],|,\.|[;:]\.",
    "a small letter after a stop": r"are right\. [a-z]{2,} ",
    "a name with a capital": r"are right\. [A-Z][a-z]*\d",
    "two beginnings": r"It looks as if [A-Z]",
    "the way to an entry": r"[Ee]ntry \d+ of entry|[Ee]ntry 0 of",
    "a tuple of one": r"gave \([^,()]+\)",
    "a raw dictionary": r"gave \\?\{",
    "a sentence in a sentence": r"gave (what|`|The) ",
    "one of many": r"\b1 (entries|cases|points|values|numbers)\b",
    "a word twice": r"\b(a|an|the|is|of|to|are) \1\b",
    "an article": r"\ba (int|array|object|entry|empty|order)\b",
    "jargon": r"plain value|NoneType|ndarray",
}
ODD = {
    "text": "the answer",
    "nothing": None,
    "truth": True,
    "one in a tuple": (1.5,),
    "dictionary": {"a": 1.0, "v1": 2.0},
    "list": [1, 2],
    "array": np.array([[1.0, 8.5e-9]]),
    "not finite": math.nan,
    "huge": 10**400,
}


def three_of_each_group(cases):
    """The smallest, the largest and one between: of others the same is said with other numbers."""
    groups = {case.group: [c for c in cases if c.group == case.group] for case in cases}
    ranked = [sorted(group, key=lambda case: case.size) for group in groups.values()]
    return [group[i] for group in ranked for i in sorted({0, len(group) // 2, len(group) - 1})]


SMALLER = {"fast_adjoints": Cost("fast_adjoints", n=200).make_cases}
"""Of 200,000 operations the same is said."""


def every_fourth(names) -> list:
    """What the default run reads; the other exercises belong to the whole suite."""
    return [
        pytest.param(name, marks=[pytest.mark.whole] if place % 4 else [])
        for place, name in enumerate(names)
    ]


@in_one_test
@pytest.mark.parametrize("name", every_fourth(EXERCISES))
def test_of_every_exercise(name):
    found = remembering(EXERCISES[name])
    found.make_cases = SMALLER.get(name, found.make_cases)
    cases = three_of_each_group(found.cases(3))
    place = list(EXERCISES).index(name) // 2  # every second value: others get the others
    odd = [value for k, value in enumerate(ODD.values(), place) if k % 2]
    tried = [[Returned(value)] * len(cases) for value in odd]
    tried += [
        [
            Returned(
                error=f"`{found.answers[0]}` raised ZeroDivisionError: division by zero.",
                kind="raised",
            )
        ]
        * len(cases)
    ]
    for mistake in found.misconceptions[:8]:
        try:
            tried.append([Returned(as_plain(mistake.wrong(case))) for case in cases])
        except (ArithmeticError, ValueError, KeyError, TypeError, IndexError):
            continue
    read = set()  # most lines stand on several pages
    for returned in tried:
        page = pages.student_markdown("ada", "sheet", [judge(found, cases, returned)], hints=False)
        for line in {*page.splitlines()} - read:
            read.add(line)
            assert [what for what, pattern in BROKEN.items() if re.search(pattern, line)] == [], (
                line
            )


@in_one_test
@pytest.mark.parametrize("name", EXERCISES)
def test_what_is_said_of_a_mistake_is_one_sentence_or_more(name):
    for mistake in EXERCISES[name].misconceptions:
        assert mistake.sentence.endswith((".", "?", ".)")), mistake.sentence
        assert mistake.sentence.startswith("It looks as if ") is not (
            mistake.alone or mistake.say[0].isupper()
        )
        assert not re.search(r"It looks as if [A-Z]", mistake.sentence)


def test_a_sentence_begins_with_a_capital_unless_with_a_name():
    for text, written in {
        "the row is wrong.": "The row is wrong.", "a node is missing.": "A node is missing.",
        "v1 is missing.": "v1 is missing.",
        "x has no part.": "x has no part.", "sin1 is not dangling.": "sin1 is not dangling.",
        "`f` raised.": "`f` raised.",
        "minigrad.vjp is gone.": "minigrad.vjp is gone.", "": "", "0 is wrong.": "0 is wrong.",
        "row_1 is wrong.": "row_1 is wrong.",
        "Row 1 is wrong.": "Row 1 is wrong.",
    }.items():  # fmt: skip
        assert sentence(text) == written


def test_a_value_is_named_and_shown():
    for value, words in [
        (None, "nothing (None)"), (True, "the truth value True"),
        (np.bool_(False), "the truth value False"), (3, "the number 3"),
        (2.5, "the number 2.5"), (np.float64(2.5), "the number 2.5"),
        (np.array(2.5), "the number 2.5"), (math.nan, "the number NaN"),
        (-math.inf, "the number -∞"), ("1", "the text '1'"), ([1.0], "the list [1]"),
        ((18,), "the tuple (18,)"), ((), "the tuple ()"),
        ({"a": 1}, "the dictionary {'a': 1}"), (1j, "the complex number 1j"),
        (np.zeros((2, 0)), "an array of shape (2, 0)"),
        (np.array([None]), "an array of shape (1,) that holds objects"),
        (mg.tensor([1.0]), "a tensor of shape (1,)"),
        (math.sin, "the function sin"), (Case, "the class Case"), (math, "the module math"),
        (object(), "an object of the type object"),
        (10**400, "the number a whole number of 1329 bits"),
    ]:  # fmt: skip
        assert a_kind(value) == words
    assert shown(np.array([8.5e-9, 1.0, math.nan])) == "[8.5e-09, 1, NaN]"
    assert shown(np.zeros((0, 3))) == "an empty array of shape (0, 3)"
    assert (
        as_rows({"x1": 3.0, "v1": [1.0, 2.0]}) == "x1 = 3, v1 = [1, 2]"
        and as_rows({}) == "an empty dictionary"
    )
    assert len(as_rows({str(i) * 30: "x" * 100 for i in range(20)})) <= 200


def test_a_value_that_cannot_be_shown_is_named_all_the_same():
    class Odd:
        def __repr__(self):
            raise ValueError

    assert a_kind([Odd()]) == "a list" and a_kind(Odd()) == "an object of the type Odd"


def test_how_a_number_is_made_of_it():
    told = {
        "(1,)": cure((1.0,)),
        "'8'": cure("8"),
        "'one'": cure("one"),
        "[1, 2]": cure([1, 2]),
        "array": cure(np.array([8.0])),
    }
    assert told == {
        "(1,)": " (leave out the brackets)",
        "'8'": " (leave out the quotes)",
        "'one'": "",
        "[1, 2]": "",
        "array": told["array"],
    }
    assert ".item()" in told["array"] and cure(np.zeros(3)) == ""


def test_numbers_of_things():
    assert [counted(n, thing) for n,
        thing in ((1, "entry"), (2, "entry"), (0, "case"), (1, "case"))] == [
        "1 entry", "2 entries", "0 cases", "1 case",
    ]  # fmt: skip
    assert (nth(0), nth(9), nth(10)) == ("the first entry", "the tenth entry", "entry 11")


def test_the_way_to_an_entry_is_told_once():
    assert same([1.0, 2.0], [1.0, 3.0]) == "the second entry of it is 3; it should be 2."
    assert same([[1.0, [2.0]]], [[1.0, [3.0]]]) == "entry [0][1][0] of it is 3; it should be 2."
    assert (
        same({"a": [1.0, 2.0]}, {"a": [1.0]}) == "entry 'a' of it has 1 entry, but should have 2."
    )
    assert same([1.0], 1.0) == "it is the number 1, but should be a tuple of 1 value."


def test_the_same_reason_is_read_once():
    @exercise("f", points={"a": 1, "b": 1, "c": 1})
    def f(rng):
        for group in "aabbcc":
            yield Case(group, x=1.0)

    f.accept(lambda case, got: "")
    why = "`f` raised ValueError: operands could not be broadcast together with shapes (3,) (4,)."
    back = [
        Returned(1.0),
        Returned(error=why, kind="raised"),
        *[Returned(error=why, kind="raised")] * 2,
        *[Returned(error="short.", kind="raised")] * 2,
    ]
    says = [group.say for group in judge(f, f.cases(0), back).groups]
    assert says == [
        f"1 of 2 cases are right. {why}", "0 of 2 cases are right, for the same reason as in “a”.",
        "0 of 2 cases are right. Short.",
    ]  # fmt: skip


def test_the_smallest_case_tells_what_it_gave_or_why_it_gave_nothing():
    case = {"call": "f(x=1)", "got": "2", "say": ""}
    assert smallest_case(case, "`{}`".format) == "The smallest case that failed: `f(x=1)` gave 2."
    beside = smallest_case(case | {"expected": "3"}, "`{}`".format)
    assert beside == "The smallest case that failed: `f(x=1)` gave 2; it should give 3."
    assert (
        smallest_case(case | {"got": ""}, "`{}`".format)
        == "The smallest case that failed: `f(x=1)`."
    )
    assert (
        smallest_case(case | {"got": "", "say": "It stopped."}, str)
        == "The smallest case that failed: f(x=1). It stopped."
    )


@pytest.mark.parametrize(
    ("value", "say"),
    [
        ((i for i in "ab"), "is a generator; make a list of it, with `list(…)`"),
        (map(str, "ab"), "is a map; make a list of it, with `list(…)`"),
        (range(3), "is a range; make a list of it, with `list(…)`"),
        ({}.keys(), "is a dict_keys; make a list of it, with `list(…)`"),
        (deque([1]), "is a deque; make a list of it, with `list(…)`"),
        ({1}, "is a set, which has no order; make a list of it (`sorted(…)` does)"),
        (frozenset({1}), "is a frozenset, which has no order"),
        (Fraction(10**400), "holds a number that is too large for a float"),
        (1j, "is a complex number; it should be a real one"),
        (math.sin, "is a function; was it to be called"),
        (lambda: 1, "is a function; was it to be called"),
        (Case, "is the class Case itself"),
        (object(), "is an object of the type object; it should be made of numbers, texts"),
        (np.ma.array([1.0]), "is a masked array; fill it"),
    ],
)
def test_what_cannot_be_sent_says_what_to_do(value, say):
    with pytest.raises(ProtocolError) as caught:
        encode(value)
    assert str(caught.value).startswith(say)


def test_an_exception_s_own_stop_is_not_doubled():
    def f():
        raise ValueError("first line.\n  second line. ")

    def g():
        return len(3)

    for function, end in (
        (f, "ValueError: first line. second line, in line"),
        (g, "TypeError: object of type 'int' has no len(), in line"),
    ):
        try:
            function()
        except Exception as error:
            assert describe(error, function).startswith(end)
    assert without_stop("a.\n b. , ") == "a. b"


def test_a_drive_that_cannot_use_an_answer_says_so():
    scope = {}
    source = (
        "def use(f):\n    try:\n        list(f(1))\n    except Exception as error:\n        return"
        " error"
    )
    exec(compile(source, "<drive>", "exec"), scope)
    for answer, say in {
        (lambda x: 3): "what `f` gave could not be used: TypeError: 'int' object is not iterable.",
        (lambda: 3): "`f` raised TypeError: ",
        (lambda x: [][3]): "`f` raised IndexError: list index out of range, in line",
    }.items():
        assert describe_use(scope["use"](answer), "f", [answer]).startswith(say)


def _f(a, b):
    return mg.log(a) + a * b - mg.sin(b)


@pytest.mark.parametrize(
    ("row", "say"),
    [
        ({"v1": math.log10(2)}, "logarithm to the base 10"),
        ({"v1": 0.5}, "the derivative of ln x"),
        ({"v2": 7.0}, "multiplied, not added"),
        ({"v3": 10.0}, "the value of v2 again"),
        ({"v4": math.sin(math.radians(5))}, "used degrees"),
        ({"v4": -math.sin(5)}, "not the sign"),
        ({"v4": math.cos(5)}, "That is the cosine"),
        ({"v5": 10 + math.log(2) + math.sin(5)}, "subtracted, not added"),
        ({"v5": math.sin(5) - 10 - math.log(2)}, "the wrong way round"),
        ({"v4": math.cos(5), "v5": 1.0}, "That is the cosine"),
        ({"v2": 123.0}, ""),
    ],
)
def test_the_usual_slips_in_a_row_of_a_table_are_named(row, say):
    table = Table("t", _f, (2.0, 5.0), ())
    right = {
        "a": 2.0,
        "b": 5.0,
        "v1": math.log(2),
        "v2": 10.0,
        "v3": 10 + math.log(2),
        "v4": math.sin(5),
    }
    given = right | {"v5": right["v3"] - right["v4"]} | row
    found = judge(table, table.cases(0), [Returned(given)]).misconception
    assert (say in found["say"]) if say else found is None
    assert say in str(table.notebook(given))


def test_a_number_that_was_rounded_too_early_is_reported():
    table = Table("t", _f, (2.0, 5.0), ())
    given = {"a": 2.0, "b": 5.0, "v1": 0.7}
    assert "is close: keep four digits" in str(table.notebook(given))
    assert "is close" not in str(table.notebook(given | {"v1": 0.8}))


def test_a_mistake_may_be_told_in_a_sentence_of_its_own():
    say = [
        Misconception("m", text, lambda case: None, alone=alone).sentence
        for text, alone in (("you x.", False), ("You x.", False), ("y is x.", True))
    ]
    assert say == ["It looks as if you x.", "You x.", "y is x."]


def test_a_negative_number_in_a_sentence_has_a_minus_as_in_the_pictures():
    assert same(0.5, -1.0, 1e-9, 1e-9, "the slope") == "the slope is −1; it should be 0.5."
    assert same(-1e-7, 2.0, 1e-9, 1e-9, "it") == "it is 2; it should be −1e−7."
