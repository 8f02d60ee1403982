"""Declared functions run on symbols: what a derivative rule does, as a list of operations.

A rule such as ``lambda g, x: g * cos(x)`` is called with symbols for g and x. Each operation in it
returns a symbol that knows how it was made, so the result is the formula of the rule. A parameter
of an operation is a symbol, too: where the rule branches on it, as the rule of ``pow`` does for
n = 0, the rule runs once for each answer.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from minigrad import backend, functions
from minigrad.core.observe import unobserved
from minigrad.core.primitive import OUTPUT, SHAPES, Primitive, Rule
from minigrad.core.tensor import Tensor
from minigrad.expression import FormulaFunction
from minigrad.grad_mode import no_grad


class Value(Tensor):
    """A number of which is known how it was made: `made` is its name, or the operation, its
    operands and its parameters."""

    __slots__ = ("made",)

    made: Any
    __hash__ = object.__hash__

    def __init__(self, made: Any, dtype: Any = backend.float64) -> None:
        self.array = backend.ones((), dtype, None)
        self.made = made
        self.node = self.version = self.view_of = self.tangents = self.stored_grad = None

    def _no_number(self, *_: Any) -> Any:
        raise TypeError("a symbol has no number: a rule is written in operations alone")

    item = tolist = numpy = __bool__ = __float__ = __int__ = __index__ = _no_number

    @staticmethod
    def __minigrad_apply__(
        primitive: Primitive, args: Sequence[Any], params: dict[str, Any]
    ) -> Value:
        return Value((primitive, tuple(args), params))


class SymbolicParameter(float):
    """A parameter of an operation: arithmetic on it is text, and a comparison asks which branch is
    followed."""

    text: str
    choices: Choices
    __minigrad_apply__ = None  # tells the operators of symbols that it is an operand

    @classmethod
    def of(cls, text: str, choices: Choices) -> SymbolicParameter:
        """A parameter that is written so."""
        made = cls(math.nan)  # which is no literal: a number that a rule computes shows itself
        made.text, made.choices = text, choices
        return made


def _arithmetic(sign: str, reflected: bool) -> Callable[[SymbolicParameter, Any], Any]:
    def method(self: SymbolicParameter, other: Any) -> Any:
        if not isinstance(other, int | float):
            return NotImplemented
        pair = (other, self) if reflected else (self, other)
        left, right = (literal(one) for one in pair)
        return SymbolicParameter.of(f"({left} {sign} {right})", self.choices)

    return method


def _comparison(sign: str) -> Callable[[SymbolicParameter, Any], Any]:
    def method(self: SymbolicParameter, other: Any) -> Any:
        return self.choices.answer(f"{self.text} {sign} {literal(other)}")

    return method


for _name, _sign in (("add", "+"), ("sub", "-"), ("mul", "*"), ("truediv", "/"), ("mod", "%")):
    setattr(SymbolicParameter, f"__{_name}__", _arithmetic(_sign, False))
    setattr(SymbolicParameter, f"__r{_name}__", _arithmetic(_sign, True))
for _name, _sign in (
    ("lt", "<"), ("le", "<="), ("gt", ">"), ("ge", ">="), ("eq", "==="), ("ne", "!=="),
):  # fmt: skip
    setattr(SymbolicParameter, f"__{_name}__", _comparison(_sign))
SymbolicParameter.__hash__ = float.__hash__  # type: ignore[method-assign]


def literal(value: Any) -> str:
    """A number, a boolean or a parameter in JavaScript."""
    if isinstance(value, SymbolicParameter):
        return value.text
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return repr(int(value)) if value == int(value) and abs(value) < 1e15 else repr(value)
    if isinstance(value, tuple | list):
        return f"[{', '.join(map(literal, value))}]"
    raise TypeError(f"{value!r} is no number, and is not written in JavaScript")


class Choices:
    """The answers to a function's questions about parameters, in the order in which it asks."""

    def __init__(self) -> None:
        self._script: list[bool] = []
        self._asked: list[tuple[str, bool]] = []

    def answer(self, question: str) -> bool:
        """The answer of the present run: as scripted, and yes beyond the script's end."""
        place = len(self._asked)
        answer = self._script[place] if place < len(self._script) else True
        self._asked.append((question, answer))
        return answer

    def runs(self, function: Callable[[], Any]) -> Iterator[tuple[list[tuple[str, bool]], Any]]:
        """The function's result for each path through its questions, with the path."""
        self._script = []
        while True:
            self._asked = []
            result = function()
            yield self._asked, result
            path = [answer for _, answer in self._asked]
            while path and not path[-1]:
                path.pop()
            if not path:
                return
            self._script = [*path[:-1], False]


class Fork(NamedTuple):
    """A result that depends on a question about parameters."""

    question: str
    yes: Any
    no: Any


def results(function: Callable[[Choices], Any]) -> Any:
    """What a function of symbols returns, as a tree of Forks where it asks for parameters."""
    choices = Choices()
    with unobserved(), no_grad(), backend.ignore_float_errors():
        found = list(choices.runs(lambda: function(choices)))
    return _tree(found, 0)


def _tree(found: list[tuple[list[tuple[str, bool]], Any]], depth: int) -> Any:
    path, result = found[0]
    if depth == len(path):
        return result
    yes = [one for one in found if one[0][depth][1]]
    no = [one for one in found if not one[0][depth][1]]
    return Fork(path[depth][0], _tree(yes, depth + 1), _tree(no, depth + 1))


def of_rule(primitive: Primitive, rule: Rule) -> Any:
    """The result of a derivative rule on symbols: g, the operation's inputs by name, and y."""

    def run(choices: Choices) -> Any:
        named = [_source(primitive, source) for source in rule.sources]
        keywords = {k: _parameter(k, choices) for k in rule.keywords}
        return rule.function(Value("g"), *named, **keywords)

    return results(run)


def arguments_of(primitive: Primitive, rule: Rule) -> list[str]:
    """The names of what a rule reads, in its order; shapes, which single numbers do not have, are
    left out."""
    return [
        "y" if source == OUTPUT else primitive.inputs[source]
        for source in rule.sources
        if source >= OUTPUT
    ]


def _source(primitive: Primitive, source: int) -> Any:
    if source <= SHAPES:
        return ()
    return Value("y" if source == OUTPUT else primitive.inputs[source])


def _parameter(name: str, choices: Choices) -> Any:
    return {"axes": (), "keepdims": False, "shape": ()}.get(
        name, SymbolicParameter.of(name, choices)
    )


class Library:
    """In the place of the array library: what a forward function calls becomes text. `reduce` of a
    function of two is that function with its neutral element, as for an array of one number."""

    def __init__(self, path: str = "") -> None:
        self._path = path

    def __getattr__(self, name: str) -> Library:
        return Library(f"{self._path}.{name}" if self._path else name)

    def __call__(self, *args: Any, **_: Any) -> SymbolicNumber:
        inside = [part.text if isinstance(part, SymbolicNumber) else literal(part) for part in args]
        if self._path in ("broadcast_to", "reshape", "conj", "asarray"):
            return SymbolicNumber(inside[0])
        if self._path in ("add.reduce", "sum"):  # from 0 on: the sum of -0 alone is 0
            return SymbolicNumber(f"({inside[0]} + 0)")
        return SymbolicNumber(f"F.{self._path}({', '.join(inside)})")


class SymbolicNumber:
    """A single number, float64, of which a forward function computes something."""

    ndim, size, shape, strides = 0, 1, (), ()
    dtype = backend.float64

    def __init__(self, text: str) -> None:
        self.text = text

    @property
    def real(self) -> SymbolicNumber:
        return self

    def reshape(self, *_: Any) -> SymbolicNumber:
        return self


def _written(sign: str) -> tuple[Callable[..., Any], Callable[..., Any]]:
    def after(self: SymbolicNumber, other: Any) -> SymbolicNumber:
        right = other.text if isinstance(other, SymbolicNumber) else literal(other)
        return SymbolicNumber(f"({self.text} {sign} {right})")

    def before(self: SymbolicNumber, other: Any) -> SymbolicNumber:
        return SymbolicNumber(f"({literal(other)} {sign} {self.text})")

    return after, before


for _name, _sign in (("add", "+"), ("sub", "-"), ("mul", "*"), ("truediv", "/")):
    _after, _before = _written(_sign)
    setattr(SymbolicNumber, f"__{_name}__", _after)
    setattr(SymbolicNumber, f"__r{_name}__", _before)


def forward_text(primitive: Primitive) -> str:
    """A forward function that is declared for arrays alone, such as that of `sum`, on one number
    for each input."""
    params = {name: _parameter(name, Choices()) for name in primitive.keywords}
    made = primitive.declared_forward(Library(), *map(SymbolicNumber, primitive.inputs), **params)
    return str(made.text)


def observed(function: Callable[..., Any], *operands: Any) -> Any:
    """What a public function or an operator makes of operands: a symbol."""
    with unobserved(), no_grad(), backend.ignore_float_errors():
        return function(*operands)


def called(function: FormulaFunction, letters: str = "xyz") -> Any:
    """What a function of the grammar makes of symbols with these names."""
    operands = list(map(Value, letters[: function.arity]))
    if function.chooses:
        operands[0] = Value(letters[0], backend.bool_)
    return observed(getattr(functions, function.target), *operands)


OPERATORS: Mapping[str, Callable[..., Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv,
    "**": operator.pow, "<": operator.lt, "<=": operator.le, ">": operator.gt,
    ">=": operator.ge, "==": operator.eq, "!=": operator.ne,
}  # fmt: skip
"""The operators of formulas and of their conditions, by their sign."""
