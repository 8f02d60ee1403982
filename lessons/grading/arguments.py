"""Whether a function changed its arguments in place.

A rule that writes into its arguments may return the right numbers and still spoil a gradient: the
adjoint that it is given may be another operand's as well, and the operands' values are needed
later. So a function is right only if its arguments are as they were when it returns. Arrays, lists,
tuples, dictionaries, tensors, and of other objects what is called `value`, `data` and `tangent`
are compared. A dictionary that the function is to fill is of another type than `dict`: it is not
compared.

Both sides use this file, and drives get what they need of it with the answers (`Answers`): it needs
NumPy and the standard library only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, MutableMapping, Sequence
from contextlib import suppress
from sys import getprofile, setprofile  # before a student's code can put others in their place
from typing import Any, NamedTuple

from numpy import generic, ndarray  # likewise

from .orders import differentiated

PLAIN = (bool, int, float, complex, str, type(None))


class Changed(Exception):
    """A function changed one of its arguments. The text is a sentence for the student."""


# ---------------------------------------------------------------------------- functions and classes


def unchanged(
    function: Callable[..., Any], args: Sequence[Any], said: Callable[[int, Any], str]
) -> Any:
    """function(*args). Raises Changed where it changed an argument; said(place, value) is the
    sentence about it, the place counted from 0.
    """
    before = _unobserved(_all_kept, args)
    found = function(*args)
    for place, (value, then) in enumerate(zip(args, before, strict=True)):
        if not _unobserved(_as_it_was, value, then):
            raise Changed(said(place, value))
    return found


def _unobserved(function: Callable[..., Any], *args: Any) -> Any:
    """function(*args) of the grader's own: the search for forbidden calls (forbidden.py), which
    Python would tell of each call in it, pauses.
    """
    observer = getprofile()
    if observer is None:
        return function(*args)
    setprofile(None)
    try:
        return function(*args)
    finally:
        setprofile(observer)


class Unchanging:
    """A function that raises Changed where it changes an argument; everything else about it is as
    it was.
    """

    def __init__(self, function: Callable[..., Any], name: str) -> None:
        self.__wrapped__, self._name = function, name

    def __call__(self, *args: Any, **options: Any) -> Any:
        run, n = self.__wrapped__, len(args)
        code = getattr(run, "__code__", None)
        own = code.co_varnames[: code.co_argcount] if code is not None else ()
        labels = [f"`{own[i]}`" if i < len(own) else f"number {i + 1}" for i in range(n)]
        labels += [f"`{name}`" for name in options]

        def said(place: int, value: Any) -> str:
            what = {list: "list", dict: "dictionary"}.get(type(value), "array")
            return (
                f"`{self._name}` changed its argument {labels[place]} in place. Other code may"
                f" still need it: make a new {what}, or change a copy of it."
            )

        call = lambda *given: run(*given[:n], **dict(zip(options, given[n:], strict=True)))
        return unchanged(call, [*args, *options.values()], said)

    def __getattr__(self, attribute: str) -> Any:
        return getattr(self.__wrapped__, attribute)


def watched_function(operation: type) -> type:
    """A subclass of a Function whose `forward`, `backward` and `jvp` must keep their arguments."""
    name = operation.__name__
    rules = {
        rule: staticmethod(Unchanging(getattr(operation, rule), f"{name}.{rule}"))
        for rule in ("forward", "backward", "jvp")
        if hasattr(operation, rule)
    }
    return type(name, (operation,), rules)


# ------------------------------------------------------------------------------- a student's engine


class _Rule:
    """The rule of a node. values: what the values of the nodes were; passed_on: the adjoint that it
    was given last, and what that was.
    """

    def __init__(self, rule: Callable[..., Any], node: Any, values: Mapping[int, Any]) -> None:
        self.rule = rule.rule if isinstance(rule, _Rule) else rule
        self._node, self._values, self.passed_on = node, values, (None, None)
        op = getattr(node, "op", "")
        self.name = f"the rule of `{op}`" if isinstance(op, str) and op else "a rule"

    def __call__(self, *given: Any) -> Any:
        before = _unobserved(_all_kept, given)
        found = self.rule(*given)
        _unobserved(self._compare, given, before)
        if given:
            self.passed_on = given[0], before[0]
        return found

    def _compare(self, given: Sequence[Any], before: Sequence[Any]) -> None:
        if not all(map(_as_it_was, given, before)):
            raise Changed(
                f"{self.name} changed the adjoint `g` that it was given, in place. It may be"
                " another operand's adjoint as well: make a new array, or change a copy of it."
            )
        for parent in getattr(self._node, "parents", ()):
            if id(parent) in self._values and not _as_it_was(
                parent.value, self._values[id(parent)]
            ):
                raise Changed(
                    f"{self.name} changed the value of an operand in place. Other rules may still"
                    " need it: make a new array, or change a copy of it."
                )


def watching(gradients: Callable[..., Any]) -> Callable[..., Any]:
    """gradients(order, …) in which the rule `pull` of a node raises Changed where it changes the
    adjoint that it is given, or the value of an operand. So does the whole, where an adjoint is
    changed after it was passed on.
    """

    def run(order: Any, *more: Any) -> Any:
        if not isinstance(order, list | tuple):
            return gradients(order, *more)
        rules = _unobserved(_watched_rules, order)
        found = gradients(order, *more)
        _unobserved(_compare_adjoints, rules)
        return found

    return run


def _watched_rules(order: Sequence[Any]) -> list[_Rule]:
    values = {id(node): _kept(node.value) for node in order if hasattr(node, "value")}
    rules = []
    for node in order:
        pull = getattr(node, "pull", None)
        if callable(pull):
            rule = _Rule(pull, node, values)
            with suppress(AttributeError):  # a node that cannot be changed is not watched
                node.pull = rule
                rules.append(rule)
    return rules


def _compare_adjoints(rules: Sequence[_Rule]) -> None:
    for rule in rules:
        if not _as_it_was(*rule.passed_on):
            raise Changed(
                f"an adjoint was changed in place after {rule.name} had passed it on, as `+=`"
                " does with an array that two nodes share. `a = a + part` makes a new array."
            )


def computed(operation: Callable[..., Any], operands: Sequence[Any], op: str) -> Any:
    """operation(*operands). Raises Changed where it changed an operand."""
    said = lambda place, value: (
        f"`{op}` changed one of its operands in place. It may be the operand of another operation"
        " as well: put the result into a new object."
    )
    return unchanged(operation, operands, said)


class Answers(dict[str, Any]):
    """What a drive is given of a student's answers: functions that must keep their arguments, and
    classes and values as they are. The methods watch what the student's code does with its own
    objects, and say what is wrong with the order of its nodes.
    """

    watched_function = staticmethod(watched_function)
    watching = staticmethod(watching)
    computed = staticmethod(computed)
    differentiated = staticmethod(differentiated)

    def __init__(self, answers: Mapping[str, Any]) -> None:
        is_function = lambda value: callable(value) and not isinstance(value, type)
        super().__init__({n: Unchanging(v, n) if is_function(v) else v for n, v in answers.items()})


# -------------------------------------------------------------------------------------- comparison


class _Array(NamedTuple):
    """What an array was: bytes tell NaN from NaN, and are copied and compared fast."""

    dtype: Any
    shape: tuple[int, ...]
    data: bytes


def _all_kept(values: Sequence[Any]) -> list[Any]:
    return [_kept(value) for value in values]


def _kept(value: Any) -> Any:
    """What is compared with an argument afterwards."""
    if isinstance(value, ndarray):
        return _Array(value.dtype, value.shape, value.tobytes())
    kind = type(value)
    if kind in PLAIN:
        return value
    if kind in (list, tuple):
        return [item if type(item) in PLAIN else _kept(item) for item in value]
    if kind is dict:
        return {key: _kept(item) for key, item in value.items()}
    parts = _parts(value)
    return {name: _kept(part) for name, part in parts.items()} if parts else value


def _as_it_was(value: Any, then: Any) -> bool:
    if isinstance(value, ndarray):
        return type(then) is _Array and then == (value.dtype, value.shape, value.tobytes())
    kind = type(value)
    if kind in PLAIN:
        return value is then or (type(then) is kind and (value == then or value != value))
    if kind in (list, tuple):
        same_length = type(then) is list and len(value) == len(then)
        return same_length and all(map(_as_it_was, value, then))
    parts = value if kind is dict else _parts(value)
    if kind is dict or parts:
        same_keys = type(then) is dict and list(parts) == list(then)
        return same_keys and all(_as_it_was(part, then[key]) for key, part in parts.items())
    return value is then


def _parts(value: Any) -> dict[str, Any]:
    """The numbers of a tensor, of a node or of a dual number, by name; empty for other objects."""
    if isinstance(value, type | generic | MutableMapping):
        return {}
    try:
        if hasattr(type(value), "detach"):
            return {"numbers": value.detach().numpy()}
        found = {name: getattr(value, name, _parts) for name in ("value", "data", "tangent")}
    except Exception:  # on another device, under vmap, or an attribute that a class does not give
        return {}
    return {name: part for name, part in found.items() if part is not _parts}
