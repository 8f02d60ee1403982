"""The examples of the five documents: each is run by a cell, gives its numbers, and stands in the
table.
"""

import functools
import json
import re

import numpy as np
import pytest
from minigrad.lessons import documents, operators, static_figures
from minigrad.lessons.documents import EXAMPLES, shows
from minigrad.lessons.grading.local import run_notebook

import minigrad as mg
from minigrad.networks import bprop_getters
from minigrad.singa import NAMES

NOTEBOOKS = [path for path in documents.notebooks() if path.stem.startswith("documents_")]


def test_every_example_is_run_by_a_cell_and_stands_in_the_table():
    assert len(EXAMPLES) == len(set(EXAMPLES)) == 83
    assert documents.missing() == []
    documents.main(["--check"])
    page = documents.PAGE.read_text(encoding="utf-8")
    assert "83 of 83" in page and "nowhere" not in page
    for document in documents.DOCUMENTS.values():
        assert document.title in page and document.author in page and document.address in page


TRAINED = frozenset({"results", "curves"})
"""The cells of Autogradlib that train five networks: only the whole suite runs them."""


@pytest.mark.parametrize(
    "path, left_out",
    [
        *(pytest.param(path, TRAINED, id=path.stem) for path in NOTEBOOKS),
        *(
            pytest.param(path, frozenset(), id=f"{path.stem}, all of it", marks=pytest.mark.whole)
            for path in NOTEBOOKS
            if any(call.cell in TRAINED for call in documents.shown_in(path))
        ),
    ],
)
def test_each_cell_of_an_example_gives_its_numbers(path, left_out, tmp_path, monkeypatch):
    """`shows` raises where they differ; here we see that each call of it was reached."""
    monkeypatch.chdir(tmp_path)
    reached = []

    def noted(example, *compared, **options):
        shows(example, *compared, **options)
        reached.append(example)

    monkeypatch.setattr(documents, "shows", noted)
    rules, notebook = dict(bprop_getters), json.loads(path.read_text(encoding="utf-8"))
    checks = {c["id"] for c in notebook["cells"] if c["id"].endswith("-check")}
    run_notebook(notebook, frozenset(checks | left_out))
    assert dict(bprop_getters) == rules
    asked = [call.example for call in documents.shown_in(path) if call.cell not in left_out]
    assert reached == asked != []


def test_at_most_two_examples_are_left_to_the_whole_suite():
    every = [call for path in NOTEBOOKS for call in documents.shown_in(path)]
    always = {call.example for call in every if call.cell not in TRAINED}
    assert set(EXAMPLES) - always == {"autogradlib/results", "autogradlib/curves"}


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_names_its_document_with_title_author_and_address(path):
    text = "".join(
        "".join(c["source"]) for c in json.loads(path.read_text(encoding="utf-8"))["cells"]
    )
    (key,) = {call.example.partition("/")[0] for call in documents.shown_in(path)}
    document = documents.DOCUMENTS[key]
    assert (
        document.title.partition(" (")[0].partition(": torch")[0] in text
        and document.address in text
    )
    assert document.author.partition(" (")[0] in text


def test_marks_of_other_lessons_name_examples_and_stand_in_the_table():
    taught = documents.taught()
    assert sum(map(bool, taught.values())) >= 35
    page = documents.PAGE.read_text(encoding="utf-8")
    for example, cells in taught.items():
        title = documents.DOCUMENTS[example.partition("/")[0]].examples[example.partition("/")[2]]
        (row,) = [line for line in page.splitlines() if line.startswith(f"| {title} |")]
        assert all(notebook in row for notebook, _ in cells), example


# ---------------------------------------------------------------------------------------- comparing


@pytest.mark.parametrize(("found", "expected", "within"), [
    (2.0, 2.0, 0), (1.0, 1.0 + 1e-7, 1e-6), (1e9 + 1, 1e9, 1e-8),
    ([1, (2.0, "a")], [1, (2.0, "a")], 0), (None, None, 0),
    (np.True_, True, 0), ({"a": [1.0]}, {"a": [1.0]}, 0), (mg.ones(2), np.ones(2), 0),
    (mg.ones(2), [1.0, 1.0], 0),
    (np.zeros((0, 3)), np.zeros((0, 3)), 0),
])  # fmt: skip
def test_what_is_near_passes(found, expected, within, capsys):
    shows("torch/vjp-pair", found, expected, within=within)
    assert capsys.readouterr().out.startswith("✓ vjp(adder): (2, 2), (3, 3): ")


@pytest.mark.parametrize(("found", "expected", "within"), [
    (2.0, 2.1, 0.01), (float("nan"), 1.0, 1.0), (1.0, float("nan"), 1.0),
    (np.ones(2), np.ones(3), 0), (np.ones((1, 2)), np.ones(2), 0),
    ([1.0], [1.0, 2.0], 0), ({"a": 1}, {"b": 1}, 0), (1, True, 0), ("a", "b", 0), (None, 0.0, 0),
    (0.0, None, 0), (True, "True", 0),
    ([1.0, [2.0, 3.0]], [1.0, [2.0, 4.0]], 0), (float("inf"), 1.0, 1e3),
])  # fmt: skip
def test_what_is_not_near_raises(found, expected, within):
    with pytest.raises((AssertionError, TypeError), match=r"torch/vjp-pair|NoneType"):
        shows("torch/vjp-pair", found, expected, within=within)


def test_an_example_that_no_document_has_is_refused(tmp_path):
    with pytest.raises(KeyError):
        shows("torch/no-such-example", 1, 1)
    cell = {"cell_type": "code", "id": "a", "metadata": {}, "source": ['shows("torch/none", 1, 1)']}
    (tmp_path / "a.ipynb").write_text(json.dumps({"cells": [cell]}))
    with pytest.raises(ValueError, match="torch/none"):
        documents.shown_in(tmp_path / "a.ipynb")


def test_an_example_without_a_cell_is_missed(tmp_path):
    for path in documents.notebooks():
        text = path.read_text(encoding="utf-8")
        (tmp_path / path.name).write_text(
            text.replace('shows(\\"torch/vjp-pair\\"', 'print(\\"torch/vjp-pair\\"')
        )
    assert documents.missing(tmp_path) == ["torch/vjp-pair"]
    assert "nowhere" in documents.table(tmp_path) and "82 of 83" in documents.table(tmp_path)


# ---------------------------------------------------------------------------------------- operators


def test_each_operator_is_in_the_table_once_and_gives_what_numpy_gives():
    assert sorted(operators.SAMPLES) == sorted(NAMES) and len(NAMES) == 75
    assert sorted(name for _, names in operators.families() for name in names) == sorted(NAMES)
    for name, sample in operators.SAMPLES.items():
        wanted, (_, found) = sample.numpy(*sample.args, **(sample.kwargs or {})), sample.run(name)
        pairs = zip(found, wanted, strict=True) if isinstance(wanted, list) else [(found, wanted)]
        for a, b in pairs:
            np.testing.assert_allclose(
                a.numpy(), np.asarray(b), rtol=1e-12, atol=1e-12, err_msg=name
            )


def test_operators_without_a_derivative_are_those_that_the_lesson_names():
    smooth = {name for name, sample in operators.SAMPLES.items() if sample.differentiable(name)}
    assert set(NAMES) - smooth == set(
        "less greater equal _and _or _xor _not shape constant_of_shape onehot nonzero cast".split()
    )


def test_a_line_of_the_table_is_the_operators_own_docstring():
    page = operators.page()
    for name in NAMES:
        assert (
            f"`{operators.signature(name)}`" in page
            and operators.line(name).replace("|", "\\|") in page
        )
        assert len(operators.line(name)) > 1


def test_the_table_of_a_notebook_has_a_picture_for_each_operator_and_its_style_stays_in_them():
    table = operators.browse().data
    assert table.count("<img ") == table.count("<tr>") == 75 and table.count("<details") == len(
        [*operators.families()]
    )
    rules = re.findall(r"^([^{@\n]+)\{", table.partition("</style>")[0], re.MULTILINE)
    assert rules and all(rule.startswith(".ops ") for rule in rules)
    assert "<svg" not in table


# ------------------------------------------------------------------------------------------ figures


operator_files, figure_files = map(functools.cache, (operators.files, static_figures.files))


@pytest.mark.parametrize("made", [operator_files, figure_files], ids=["operators", "figures"])
def test_pages_and_figures_are_those_that_the_command_writes(made):
    for path, text in made().items():
        assert path.read_text(encoding="utf-8") == text, (
            f"{path.name} is old: run the command that its module names"
        )


def test_no_figure_is_left_over_and_each_is_shown_by_the_notebook_of_its_name():
    folder = static_figures.FOLDER
    made = {*figure_files(), *operator_files()} - {operators.PAGE}
    assert {path for path in folder.rglob("*") if path.is_file()} == made
    for name in static_figures.FIGURES:
        owners = [path for path in documents.notebooks() if name.startswith(path.stem)]
        assert owners, name
        text = max(owners, key=lambda path: len(path.stem)).read_text(encoding="utf-8")
        assert f"(figures/{name}.svg)" in text, name


def test_every_picture_that_a_notebook_names_is_there_and_says_what_it_shows():
    for path in documents.notebooks():
        for words, target in re.findall(r"!\[(.*?)\]\((.*?)\)", path.read_text(encoding="utf-8")):
            assert (documents.LESSONS / target).is_file(), f"{path.name}: {target}"
            assert len(words) > 20
