"""A test over a table checks every row, names each row that fails, and hides no skipped row."""

from types import SimpleNamespace

import pytest

from tests.helpers.tables import ROWS, SKIPPED, in_one_test


def run(test, text=""):
    """Run what `in_one_test` made; the user properties of its report, one list for each test."""
    (mark,) = [m for m in test.pytestmark if m.name == "parametrize"]
    found = []
    for entry in mark.args[1]:
        node = SimpleNamespace(user_properties=[])
        request = SimpleNamespace(node=node, config=SimpleNamespace(getoption={"row": text}.get))
        test(_rows=entry.values[0], request=request)
        found.append(dict(node.user_properties))
    return found


def test_every_row_is_checked_and_the_failing_ones_are_named():
    seen = []

    @in_one_test
    @pytest.mark.parametrize("b", [1, pytest.param(2, id="two")])
    @pytest.mark.parametrize(("a", "c"), [(1, "x"), (3, "y")])
    def check(a, b, c):
        seen.append((a, b, c))
        assert a > b, "too small"

    with pytest.raises(ExceptionGroup, match="2 of 4 rows fail: 1-x-1, 1-x-two") as caught:
        run(check)
    assert set(seen) == {(1, 1, "x"), (1, 2, "x"), (3, 1, "y"), (3, 2, "y")}
    assert all("in row" in error.__notes__[0] for error in caught.value.exceptions)


def test_one_failing_row_raises_its_own_error():
    @in_one_test
    @pytest.mark.parametrize("a", [1, 0], ids=["one", "nothing"])
    def check(a):
        1 / a

    with pytest.raises(ZeroDivisionError) as caught:
        run(check)
    assert caught.value.__notes__ == ["in row nothing"]


def test_skipped_rows_are_counted_and_a_table_of_them_is_skipped():
    @in_one_test
    @pytest.mark.parametrize("a", [1, 2, 3])
    def check(a):
        if a > 1:
            pytest.skip("large")

    assert run(check) == [{ROWS: 1, SKIPPED: {"large": 2}}]
    with pytest.raises(pytest.skip.Exception, match="large"):
        run(check, text="2")
    with pytest.raises(pytest.skip.Exception, match="no row"):
        run(check, text="4")


def test_rows_with_marks_are_a_test_with_these_marks():
    @in_one_test
    @pytest.mark.oracle
    @pytest.mark.parametrize("a", [1, pytest.param(2, marks=pytest.mark.whole), 3])
    def check(a):
        pass

    assert [found[ROWS] for found in run(check)] == [2, 1]
    (mark,) = [m for m in check.pytestmark if m.name == "parametrize"]
    assert [[m.name for m in entry.marks] for entry in mark.args[1]] == [[], ["whole"]]
    assert "oracle" in [m.name for m in check.pytestmark]


def test_each_row_has_a_monkeypatch_of_its_own():
    place = {"key": 0}

    @in_one_test
    @pytest.mark.parametrize("a", [1, 2])
    def check(a, monkeypatch):
        assert place["key"] == 0
        monkeypatch.setitem(place, "key", a)

    (mark,) = [m for m in check.pytestmark if m.name == "parametrize"]
    request = SimpleNamespace(
        node=SimpleNamespace(user_properties=[]), config=SimpleNamespace(getoption={"row": ""}.get)
    )
    check(_rows=mark.args[1][0].values[0], request=request, monkeypatch=None)
    assert place == {"key": 0}
