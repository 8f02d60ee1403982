"""What an `if` or a `while` does with a number that it reads of a tensor, where that is known."""

import linecache

import pytest
from minigrad.viz.speech import names_of, sentence
from minigrad.viz.texts import words

import minigrad as mg
from minigrad.trace import validate
from minigrad.watch import trace_function

LIMIT = 3.0


def decided(f, *args):
    """Of each value with decisions its name, and for each of these question and answer."""
    trace = validate(trace_function(f, *args, mode="primal"))
    return [
        (step["node"], [(one["asks"], one["answer"]) for one in step["decides"]])
        for step in trace["steps"]
        if "decides" in step
    ]


def branching(s):
    square = s * s
    if square.item() > 1:
        y = mg.sin(s)
        y = y * 2
    else:
        y = s * 3
    return y


def test_a_branch_by_a_number_is_told_as_one_by_a_tensor():
    trace = validate(trace_function(branching, 2.0, mode="primal"))
    step, node = (next(n for n in trace[key] if "decides" in n) for key in ("steps", "nodes"))
    assert step["say"].endswith(
        " = 4. square.item() > 1 is true: lines 4 to 5 run, line 7 does not run."
    )
    (told,) = step["decides"]
    assert told["runs"][0] == 4 and told["skips"][0] == 7 and told["read"] is True
    assert node["decides"] == step["decides"] and "dangling" not in node
    assert decided(branching, 0.5) == [("v1", [("square.item() > 1", False)])]
    chinese = sentence(step, words("zh"), names_of(trace))
    assert chinese.endswith("if square.item() > 1：是：执行第 4–5 行，跳过第 7 行")


def test_each_round_of_a_loop_has_its_own_answer():
    def doubled(s):
        while s.item() < LIMIT * 2 and not s.item() > 100:
            s = s * 2
        return s

    def counted(s):
        n = 0
        while s.item() < 9 and n < 5:
            n += 1
        return s * n

    found = decided(doubled, 2.0)
    assert [answer for _, ((_, answer),) in found] == [True, True, False]
    asked = "s.item() < 9 and n < 5"
    assert decided(counted, 2.0) == [("s", [(asked, True), (asked, False)])], "each answer once"


@pytest.mark.parametrize(
    ("condition", "answer"),
    [
        ("abs(s.item() - t.item()) < 1 or s.item() == 2.0", True),
        ("0 < s.item() <= LIMIT < t.item()", True),
        ("not -s.item() // 2 + 1 >= t.item() % 3", True),
        ("s.item() > 5 and unknown(s)", False),
        ("t.item() > 9 if s.item() > 1 else False", None),
        ("s.item() > 1 and unknown(s)", None),
        ("helper(s) > 1", None),
        ("Other().item() > 1", None),
        ("[5, 1][int(s.item()) - 1] > 1", None),
        ("s.item() > LIMITS[0]", None),
        ("s.item() / 0 > 1", None),
    ],
)
def test_only_what_is_known_is_told(condition, answer):
    """Numbers that were read, and variables, decide; no call is made once more."""

    class Other:
        def item(self):
            return mg.tensor(3.0).item() * 5

    text = f"""
def f(s):
    t = s * 2
    try:
        if {condition}:
            return s * 2
    except ZeroDivisionError:
        pass
    return s * 3
"""
    name = f"<decision {condition}>"
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    space = {"LIMIT": LIMIT, "LIMITS": [1], "Other": Other}
    space |= {"unknown": lambda s: s.item() > 3, "helper": lambda s: s.item() * 100}
    exec(compile(text, name, "exec"), space)
    told = [one for _, some in decided(space["f"], 2.0) for one in some]
    assert [was for _, was in told] == ([] if answer is None else [answer])


def test_a_number_that_was_read_before_is_not_taken_for_the_present_one():
    def f(s):
        flag, total = True, s
        for _ in range(2):
            if (flag and s.item() > 1) or total.item() > 100:
                total = total * 7
            flag, s = False, s - 5
        return total

    assert [[answer for _, answer in some] for _, some in decided(f, 2.0)] == [[True], [False]]
