"""Tests over a table: one test checks all rows and names each row that fails.

pytest and pytest-xdist take about three milliseconds for a test, many times what a row of most
tables takes.
"""

from __future__ import annotations

import functools
import inspect
import itertools
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest

SKIPPED = "skipped rows"
"""The user property of a report that holds how many rows were skipped, by reason."""
ROWS = "rows"
"""The user property of a report that holds how many rows were checked."""


def _names(mark: pytest.Mark) -> list[str]:
    names = mark.args[0]
    return [n.strip() for n in names.split(",")] if isinstance(names, str) else list(names)


def _entries(mark: pytest.Mark) -> Iterator[tuple[str, dict[str, Any], tuple[pytest.Mark, ...]]]:
    """The id, the arguments and the marks of each entry of a `parametrize` mark."""
    names, ids = _names(mark), mark.kwargs.get("ids")
    ids = ids if ids is None or callable(ids) else list(ids)
    for k, entry in enumerate(mark.args[1]):
        marked = isinstance(entry, type(pytest.param()))
        values = entry.values if marked else (entry,) if len(names) == 1 else tuple(entry)
        if marked and entry.id is not None:
            label = str(entry.id)
        elif isinstance(ids, list):
            label = str(ids[k])
        else:
            label = "-".join(map(ids or _label, values))
        marks = tuple(getattr(m, "mark", m) for m in entry.marks) if marked else ()
        yield label, dict(zip(names, values, strict=True)), marks


def _label(value: Any) -> str:
    return getattr(value, "__name__", None) or str(value)


def _check_rows(
    function: Callable[..., None],
    rows: list[tuple[str, dict[str, Any]]],
    request: Any,
    fixtures: Any,
) -> None:
    """Check the rows (with `--row TEXT` those whose id contains it). Raise what failed, with the
    ids.
    """
    text, failures, skipped = request.config.getoption("row"), [], Counter[str]()
    rows = [(label, row) for label, row in rows if text in label]
    for label, row in rows:
        own = dict(fixtures)
        with pytest.MonkeyPatch.context() as patch:  # of each row its own
            if "monkeypatch" in own:
                own["monkeypatch"] = patch
            try:
                function(**own, **row)
            except pytest.skip.Exception as reason:
                skipped[str(reason.msg)] += 1
            except (Exception, pytest.fail.Exception) as error:
                error.add_note(f"in row {label}")
                failures.append((label, error))
    if not failures and skipped.total() == len(rows):
        pytest.skip(next(iter(skipped), f"no row of this table has {text!r} in its name"))
    request.node.user_properties += [(ROWS, len(rows) - skipped.total()), (SKIPPED, dict(skipped))]
    if len(failures) == 1:
        raise failures[0][1]
    if failures:
        names = ", ".join(label for label, _ in failures)
        raise BaseExceptionGroup(
            f"{len(failures)} of {len(rows)} rows fail: {names}", [e for _, e in failures[:10]]
        )


def in_one_test(function: Callable[..., None]) -> Callable[..., None]:
    """Make one test of all rows that the `parametrize` marks below this decorator span.

    Every row is checked, whatever became of those before it. Rows with marks of their own (`whole`)
    are a test of their own with these marks. A fixture is made once for all rows, except
    `monkeypatch`. `pytest --row TEXT` checks only the rows whose id contains the text.
    """
    marks = getattr(function, "pytestmark", [])
    axes = [mark for mark in marks if mark.name == "parametrize"]
    groups: dict[str, tuple[tuple[pytest.Mark, ...], list[tuple[str, dict[str, Any]]]]] = {}
    for entries in itertools.product(*map(_entries, axes)):
        row = {name: value for _, values, _ in entries for name, value in values.items()}
        label = "-".join(label for label, _, _ in entries)
        own = sum((own for _, _, own in entries), ())
        groups.setdefault(repr(own), (own, []))[1].append((label, row))
    given = {name for axis in axes for name in _names(axis)}
    signature = inspect.signature(function)
    kept = [p for name, p in signature.parameters.items() if name not in given]
    own_request = any(p.name == "request" for p in kept)

    @functools.wraps(function)
    def checked(*instance: Any, _rows: Any, request: Any, **fixtures: Any) -> None:
        if own_request:
            fixtures["request"] = request
        _check_rows(functools.partial(function, *instance), _rows, request, fixtures)

    names = ["_rows"] if own_request else ["_rows", "request"]
    parameters = [
        *kept,
        *(inspect.Parameter(n, inspect.Parameter.POSITIONAL_OR_KEYWORD) for n in names),
    ]
    checked.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    checked.pytestmark = [mark for mark in marks if mark.name != "parametrize"]  # type: ignore[attr-defined]
    tests = [pytest.param(rows, marks=own, id=f"{len(rows)} rows") for own, rows in groups.values()]
    return pytest.mark.parametrize("_rows", tests)(checked)
