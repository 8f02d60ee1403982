"""What an exercise is: cases that are plain, the same for the same seed, and hold nothing that
would tell what is right.
"""

import gc
import json
import weakref

import numpy as np
import pytest
from minigrad.lessons.grading import protocol
from minigrad.lessons.grading.exercise import (
    Case,
    Exercise,
    SheetError,
    copied,
    elements,
    exercise,
    once_for_each_case,
    plain_problem,
)


@exercise("vjp_sin", points={"values": 2, "shapes": 1}, forbid=["minigrad.vjp"], limit_s=3.0)
def vjp_sin(rng):
    for shape in [(), (4,), (0,)]:
        yield Case("values", x=rng.normal(size=shape), g=rng.normal(size=shape))
    yield Case("shapes", x=rng.normal(size=(2, 3)), g=rng.normal(size=(2, 3)))


@vjp_sin.answer
def _(x, g):
    return g * np.cos(x)


def test_the_decorator_keeps_what_it_is_given():
    assert isinstance(vjp_sin, Exercise)
    assert (vjp_sin.name, vjp_sin.max_points, vjp_sin.answers, vjp_sin.forbid) == (
        "vjp_sin",
        3.0,
        ("vjp_sin",),
        ("minigrad.vjp",),
    )
    assert vjp_sin.has_answer


def test_a_seed_gives_the_same_cases_and_another_seed_others():
    one, again, other = vjp_sin.cases(7), vjp_sin.cases(np.random.default_rng(7)), vjp_sin.cases(8)
    assert all((a.args["x"] == b.args["x"]).all() for a, b in zip(one, again, strict=True))
    assert not np.array_equal(one[1].args["x"], other[1].args["x"])


def test_what_goes_to_the_students_side_holds_no_answer_and_no_group():
    case = vjp_sin.cases(1)[1]
    number, call, args = json.loads(vjp_sin.request(case, "n1"))
    assert (number, call) == ("n1", "vjp_sin")
    sent = [protocol.decode(arg) for arg in args]
    assert [a.tolist() for a in sent] == [case.args["x"].tolist(), case.args["g"].tolist()]


def test_a_plain_value_is_copied_with_all_that_is_in_it():
    value = {"a": [1, (2.0, [None])], "b": np.zeros((2, 0)), "c": np.array(3.0), "d": {}}
    twin = copied(value)
    assert repr(twin) == repr(value)
    twin["a"][1][1].append("x")
    twin["c"][...] = 4.0
    twin["d"]["new"] = True
    assert repr(value) == repr({**value, "a": [1, (2.0, [None])], "c": np.array(3.0), "d": {}})


def test_what_is_kept_for_a_case_is_computed_once_and_goes_with_the_case():
    computed = []

    @once_for_each_case
    def double(case):
        computed.append(case.args["x"])
        return np.array(2 * case.args["x"])

    case, equal = Case("a", x=1), Case("a", x=1)
    assert double(case) is double(case) is not double(equal)
    assert computed == [1, 1]
    kept = weakref.ref(double(case))
    del case
    gc.collect()
    assert kept() is None


def test_a_value_is_asked_for_without_arguments():
    e = Exercise("log", {"a": 1}, lambda rng: iter([Case.of("a", {"node": "v1"})]), is_value=True)
    assert json.loads(e.request(e.cases(0)[0], "n1")) == ["n1", "log", []]


def test_what_is_right_is_computed_from_the_arguments_by_name():
    case = vjp_sin.cases(1)[1]
    assert vjp_sin.expected(case) == pytest.approx(case.args["g"] * np.cos(case.args["x"]))


class Odd:
    pass


@pytest.mark.parametrize(
    ("value", "say"),
    [
        (Odd(), "is of the type Odd"),
        (1j, "is of the type complex"),
        (np.float64(1), "is of the type float64"),
        (np.array([1j]), "complex128"),
        (np.array([None]), "object"),
        (np.array(["a"]), "<U1"),
        (np.ma.array([1.0]), "MaskedArray"),
        ({1: 2}, "keys"),
        ([1, [Odd()]], "Odd"),
        (b"x", "bytes"),
        ({1, 2}, "set"),
    ],
)
def test_what_is_not_plain(value, say):
    assert say in plain_problem(value)


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        1,
        1.5,
        "a",
        [1, (2.0, "b")],
        {"a": [1]},
        np.zeros((2, 0)),
        np.array(True),
        np.float16([1]),
    ],
)
def test_what_is_plain(value):
    assert plain_problem(value) == ""


def test_nesting_has_an_end():
    nested = []
    for _ in range(40):
        nested = [nested]
    assert "nested" in plain_problem(nested)
    loop = []
    loop.append(loop)
    assert "nested" in plain_problem(loop)


def test_a_subclass_of_a_plain_type_is_not_plain():
    class Liar(float):
        def __eq__(self, other):
            return True

        __hash__ = float.__hash__

    assert plain_problem(Liar(1)) == "is of the type Liar"


def test_numpys_scalars_in_a_case_become_numbers():
    case = Case("a", n=np.int64(3), table={"x": [np.float64(0.5)]})
    assert type(case.args["n"]) is int
    assert type(case.args["table"]["x"][0]) is float


def test_size_counts_elements():
    assert elements({"a": np.zeros((2, 3)), "b": [1, (2, "c")]}) == 9
    assert Case("g", x=np.zeros(4), n=1).size == 5
    assert Case.of("g", {"x": 1}, size=17).size == 17


@pytest.mark.parametrize(
    ("make", "say"),
    [
        (lambda: Case("a", x=Odd()), "the argument x is of the type Odd"),
        (lambda: Exercise("e", {}, None), "at least one group"),
        (lambda: Exercise("e", {"a": -1}, None), "negative"),
        (lambda: Exercise("e", {"a": float("nan")}, None), "negative"),
        (lambda: Exercise("e", {"a": 1}, None, drive="nowhere"), "package.module:function"),
        (
            lambda: Exercise("e", {"a": 1}, lambda rng: iter([Case("b")])).cases(0),
            "the group 'b' has no points",
        ),
        (lambda: Exercise("e", {"a": 1}, lambda rng: iter([1])).cases(0), "must yield Case"),
        (
            lambda: Exercise("e", {"a": 1, "b": 2}, lambda rng: iter([Case("a")])).cases(0),
            "no case belongs to the group 'b'",
        ),
        (
            lambda: Exercise("e", {"a": 1}, lambda rng: iter([Case.of("a", {}, call="f")])).cases(
                0
            ),
            "a case calls 'f'",
        ),
        (
            lambda: Exercise("e", {"a": 1}, lambda rng: iter([Case("a")])).expected(Case("a")),
            "nothing says what is right",
        ),
        (lambda: Exercise("e", {"a": 1}, None).answer(call="f")(len), "there is no answer 'f'"),
        (
            lambda: Exercise("e", {"a": 1}, None, drive="lessons.nowhere:f").drive_code(),
            "is not found",
        ),
    ],
)
def test_a_mistake_of_the_instructor_is_reported(make, say):
    with pytest.raises(SheetError, match=say):
        make()


def test_a_drive_is_handed_over_as_source_that_needs_no_part_of_the_grader():
    e = Exercise("sweep", {"a": 1}, None, drive="minigrad.lessons.grading.harness:sweep")
    source, function = e.drive_code()
    assert function == "sweep"
    assert "lessons" not in "".join(
        line for line in source.splitlines() if line.startswith(("import", "from"))
    )
    scope = {}
    exec(source, scope)
    assert scope["sweep"](
        {"f": lambda tape, adjoint: adjoint.update(x1=2.0)}, "f", [["v1", [["x1", 3.0]]]], "v1"
    ) == {"x1": 2.0, "v1": 1.0}
