"""The values of a formula's variables, as words NAME=VALUE of the command line."""

import argparse
import json
import re
import unicodedata
import warnings
from collections.abc import Collection, Iterable
from typing import Any

from minigrad import backend, expression, functions
from minigrad.cli.target import Formula, PythonFunction, UsageError
from minigrad.watch.held_arrays import dtype_of_numbers

MAX_VALUE_CHARACTERS = 100_000


def arguments(formula: Formula, words: list[str]) -> list[Any]:
    """A tensor for each variable of the formula, from the words NAME=VALUE. Raises UsageError
    where one is missing or wrong.
    """
    values = bindings(words, formula, "value")
    missing = [name for name in formula.names if name not in values]
    if missing:
        example = " ".join(f"{name}=2" for name in missing)
        meant = _meant(formula, values)
        raise UsageError(
            f"no value for {', '.join(missing)}{meant and f' ({meant})'}; give one after the"
            f" formula, for example: {example}"
        )
    if not formula.names and re.fullmatch(r"\s*\w+\s*=\s*\S+\s*", formula.source):
        raise UsageError(
            f"{formula.source} is a value, and the formula is missing; it comes first, as in"
            f' "x**2" x=2'
        )
    if not formula.names:
        raise UsageError(
            f"{formula.source!r} has no variable to differentiate with respect to; write one"
            " in, for example x"
        )
    dtype = (
        dtype_of_numbers(formula.function)
        if isinstance(formula, PythonFunction)
        else backend.float64
    )
    return [functions.tensor(values[name], dtype=dtype) for name in formula.names]


def bindings(words: list[str], formula: Formula, what: str) -> dict[str, Any]:
    """The numbers and lists of the words NAME=VALUE, by name. Raises UsageError for other words."""
    bound: dict[str, Any] = {}
    for word in words:
        name, equals, text = word.partition("=")
        # as Python does with the names in the formula
        name = unicodedata.normalize("NFKC", name.strip())
        if not equals:
            raise UsageError(
                f"{word.strip()!r} is not of the form NAME=VALUE; put the formula in quotes, and"
                " write values as x=2"
            )
        if name in bound:
            raise UsageError(f"{name} has two {what}s; give one")
        if name not in formula.names:
            has = (
                "it is a constant"
                if name in expression.CONSTANTS
                else f"its variables are {', '.join(formula.names) or 'none'}"
            )
            given = [word.partition("=")[0].strip() for word in words]
            meant = _meant(formula, given)
            raise UsageError(
                f"{name or 'the empty name'} is not a variable of {formula.source}; {has}"
                f"{meant and f'; {meant}'}"
            )
        bound[name] = _value(name, text)
    return bound


def _meant(formula: Formula, given: Iterable[str]) -> str:
    """The question whether a variable without a value is a product or a call without its sign, xy
    where x and y have values; "" if none is."""
    known = {*given}
    names = () if isinstance(formula, PythonFunction) else formula.names
    found = [_parted(name, known) for name in names if name not in known]
    told = [text for text in found if text]
    return f"did you mean {' and '.join(told)}?" if told else ""


def _parted(name: str, known: Collection[str]) -> str:
    """A name that is several known ones in a row as their product, or, behind a function's name, as
    a call; "" for another."""
    for first in sorted(filter(name.startswith, known), key=len, reverse=True):
        rest = name.removeprefix(first)
        if first and (not rest or (rest := _parted(rest, known))):
            return f"{first}*{rest}" if rest else first
    for function in sorted(filter(name.startswith, expression.FUNCTIONS), key=len, reverse=True):
        if inner := _parted(name.removeprefix(function), known):
            return f"{function}({inner})"
    return ""


def _value(name: str, text: str) -> Any:
    """The number, the nested list of numbers, or the value of the formula without variables that
    `text` spells.
    """
    text = text.strip()
    hint = f"write {name}=2, {name}=pi/2 or {name}=[1,2,3]"
    if len(text) > MAX_VALUE_CHARACTERS:
        raise UsageError(
            f"the value of {name} has {len(text):,} characters; at most {MAX_VALUE_CHARACTERS:,}"
            " are read"
        )
    if text.startswith("["):
        try:
            value = json.loads(text)
        except (json.JSONDecodeError, RecursionError) as error:
            raise UsageError(
                f"{name}={text[:60]} is not a list of numbers ({error}); {hint}"
            ) from None
        _shape(name, value)
        return value
    try:
        return float(text)
    except ValueError:
        return _constant(name, text, hint)


def _constant(name: str, text: str, hint: str) -> float:
    try:
        formula = expression.compile(text)
    except expression.ExpressionError as error:
        raise UsageError(f"the value of {name} is not a number: {error.problem}; {hint}") from None
    if formula.names:
        raise UsageError(
            f"{name}={text} is not a number: there is no constant {formula.names[0]}; {hint}"
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return float(formula().item())


def _shape(name: str, value: Any, depth: int = 0) -> tuple[int, ...]:
    if isinstance(value, list) and depth < 32:
        shapes = {_shape(name, item, depth + 1) for item in value}
        if len(shapes) > 1:
            raise UsageError(
                f"the lists in the value of {name} differ in length; all rows of an array are"
                " equally long"
            )
        return (len(value), *next(iter(shapes), ()))
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise UsageError(
            f"the value of {name} holds {json.dumps(value)[:40]}, which is not a number"
        )
    return ()


def tangents_of(
    options: argparse.Namespace, formula: Formula, values: dict[str, Any]
) -> list[Any] | None:
    """The tangents of the inputs that `--seed` gives, None without it. Raises UsageError."""
    if not options.seed:
        return None
    if options.mode not in (None, "forward", "both"):
        raise UsageError(
            f"--seed gives tangents, and --mode {options.mode} computes none; use --mode forward or"
            " --mode both"
        )
    seeds = bindings(options.seed, formula, "seed")
    tangents = []
    for name in formula.names:
        wanted = _shape(name, values[name])
        found = _shape(name, seeds.get(name, 0.0))
        if found not in (wanted, ()):
            raise UsageError(f"the seed of {name} has shape {found}, but {name} has shape {wanted}")
        tangent = functions.tensor(seeds.get(name, 0.0), dtype=backend.float64)
        tangents.append(functions.broadcast_to(tangent, wanted))
    return tangents
