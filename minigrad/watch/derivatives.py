"""A derivative rule as a formula: `v̄4 · cos x2` for the sine, `v̄1 @ b^T` for a product of
matrices.

The rule itself runs, on symbols that stand for the operands: each operation in it returns a symbol
that knows how it was made, and the operations' notation writes it. Only where a rule computes in
many operations what mathematics writes in few, a declaration says so (`pull_notation`).

Of complex numbers a backward pass takes conjugates, as PyTorch does: `v̄4 · conj(cos z)` and
`v̄1 @ b^H`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

from .. import backend
from ..core.observe import unobserved
from ..core.primitive import Primitive, read_source
from ..core.tensor import Tensor
from ..grad_mode import no_grad
from ..ops.elementwise import (
    add,
    cast,
    conj,
    div,
    imag,
    mul,
    neg,
    ones_like,
    power,
    real,
    rsqrt,
    sub,
    zeros_like,
)
from ..ops.shape import broadcast_to, permute, reshape, sum_to
from ..trace.schema import NESTED, inner_formulas
from . import notation
from .notation import ATOM, Ranked, Token, Tokens

LARGEST = 1_000_000
"""Of operations that are not pointwise, rules run on at most so many elements, which takes as long
as a backward pass: larger ones have no formula."""
LONGEST = 40
"""Tokens up to which a rule is a formula that people read."""


class Array(NamedTuple):
    """What a formula needs to know of an array: the stand-in has this shape and dtype."""

    shape: tuple[int, ...]
    dtype: Any

    @property
    def size(self) -> int:
        return math.prod(self.shape)


class Made(NamedTuple):
    """How a value was made: the operation, its operands (an Array or a Python number each) with
    their tokens, and its parameters. It keeps no operand alive."""

    primitive: Primitive
    operands: tuple[Any, ...]
    names: tuple[Token, ...]
    params: dict[str, Any]

    @classmethod
    def by(
        cls, primitive: Primitive, args: Sequence[Any], names: Sequence[Token], params: Any
    ) -> Made:
        """An application of an operation to tensors, arrays and numbers."""
        operands = [Array(tuple(a.shape), a.dtype) if hasattr(a, "dtype") else a for a in args]
        return cls(primitive, tuple(operands), tuple(names), dict(params))


Formulas = dict[tuple[int, bool], Tokens | None]
"""Of one application: by the operand's position and whether its tangent is pushed."""
_known: dict[Any, Formulas] = {}
"""The formulas of equal applications in all Traces: a slider has one function traced over and
over."""
MOST_KNOWN = 4096


class Rules:
    """The rules of one Trace as formulas. Equal applications of an operation have one formula, in
    which only the names differ."""

    def __init__(self) -> None:
        # by name: how it was made, the formulas, and which symbols stand in them
        self._made: dict[str, tuple[Made, Formulas, dict[str, Token]]] = {}

    def note(self, name: str, made: Made) -> None:
        """Remember how a value was made."""
        if len(_known) >= MOST_KNOWN:
            _known.clear()
        try:
            known = _known.setdefault(_key(made), {})
        except TypeError:  # parameters that cannot be compared
            known = {}
        symbols = dict(zip(_places(len(made.names)), made.names, strict=True))
        symbols["result"] = notation.symbol(name)
        self._made[name] = made, known, symbols

    def pulled(self, name: str, index: int) -> Tokens | None:
        """What a result sends to an operand in a backward pass. None where there is no rule that
        people can read."""
        if name not in self._made:
            return None
        return self._written(name, index, notation.symbol(name, "bar", "g"))

    def pushed(self, name: str, index: int, source: str) -> Tokens | None:
        """What an operand's tangent gives to that of the result; as `pulled`. Of a product only
        the operand is replaced."""
        if name not in self._made:
            return None
        made, dot = self._made[name][0], notation.symbol(source, "dot", "d")
        if made.primitive.kind in ("linear", "bilinear") and made.primitive is not cast:
            names = [*made.names]
            names[index] = dot
            found = notation.expression(made.primitive, names, made.params)
            return found if _length(found) <= LONGEST else None
        return self._written(name, index, dot, push=True)

    def _written(self, name: str, index: int, g: Token, push: bool = False) -> Tokens | None:
        made, rules, symbols = self._made[name]
        if (index, push) not in rules:
            places = map(notation.symbol, _places(len(made.operands)))
            names = [
                place if isinstance(operand, Array) else own
                for operand, place, own in zip(made.operands, places, made.names, strict=True)
            ]
            result, adjoint = notation.symbol("result"), notation.symbol("adjoint")
            prim = made.primitive
            arrays = all(isinstance(o, Array) and not is_complex(o) for o in made.operands)
            if prim.elementwise and prim.scalar and arrays and (index, not push) in rules:
                rules[index, push] = rules[index, not push]  # one rule serves both modes
            else:
                rules[index, push] = _formula(made, index, names, result, adjoint, push)
        known = rules[index, push]
        if not known:
            return known
        symbols["adjoint"] = g
        return _renamed(known, symbols)


@cache
def _places(count: int) -> list[str]:
    """What stands for so many operands in a formula that many applications have."""
    return [f"operand {i}" for i in range(count)]


def _key(made: Made) -> Any:
    """Under which formulas are known."""
    pointwise = made.primitive.pointwise
    like = [
        o.dtype if pointwise and isinstance(o, Array) else _told_apart(o) for o in made.operands
    ]
    params = [(k, _told_apart(v)) for k, v in made.params.items()]
    return (made.primitive, *like, *params)


def _told_apart(value: Any) -> Any:
    """What a value is compared by: 1, 1.0 and True differ, and 0.0 and −0.0."""
    sign = math.copysign(1, value) if isinstance(value, float) else 0
    return type(value), value, sign


def _formula(
    made: Made, index: int, names: list[Token], result: Token, adjoint: Token, push: bool
) -> Tokens | None:
    """The rule on stand-ins for the operands. None for other operands (a list of numbers), and for
    a rule that refuses the stand-ins, or is too long and has no text of its own."""
    if not all(isinstance(o, Array | int | float | complex) for o in made.operands):
        return None
    if not made.primitive.pointwise and _elements(made.operands) > LARGEST:
        return None
    operands = [_stand_in(o) if isinstance(o, Array) else o for o in made.operands]
    try:
        found = rule_of(made.primitive, index, operands, made.params, names, result, adjoint, push)
    except (ArithmeticError, IndexError, ValueError):
        return None
    own = text_of_rule(made.primitive, index, operands, push, made.params) is not None
    return found if found is None or own or _length(found) <= LONGEST else None


def _stand_in(like: Array) -> Any:
    """An array that rules can run on: matrices have full rank, and integers index anything."""
    if like.dtype.kind not in "fc":
        return backend.zeros(like.shape, like.dtype, None)
    made = backend.ones(like.shape, like.dtype, None)
    if len(like.shape) > 1 and like.size:
        diagonal = list(range(min(like.shape[-2:])))
        made[..., diagonal, diagonal] += 1
    return made


def _elements(operands: Sequence[Any]) -> int:
    return sum(getattr(o, "size", 1) for o in operands)


def values_in(tokens: Tokens) -> list[str]:
    """The nodes whose values a formula names, in order."""
    found = [t["node"] for t in tokens if t["t"] == "sym" and t.get("col") == "v"]
    return list(dict.fromkeys(found + [n for part in _nested(tokens) for n in values_in(part)]))


def _length(tokens: Tokens) -> int:
    return len(tokens) + sum(map(_length, _nested(tokens)))


def _nested(tokens: Tokens) -> list[Tokens]:
    """The formulas inside the tokens of a formula, which most formulas have none of."""
    return [part for t in tokens if t["t"] in NESTED for part in inner_formulas(t)]


def _renamed(tokens: Tokens, names: dict[str, Token]) -> Tokens:
    """A formula with other symbols."""
    return [
        names.get(token["node"], token)
        if token["t"] == "sym"
        else {k: _renamed(v, names) if k != "t" else v for k, v in token.items()}
        if token["t"] in NESTED
        else notation.op(token["text"])  # another Trace has the token itself
        if token["t"] == "op"
        else token.copy()
        for token in tokens
    ]


class Symbol(Tensor):
    """A value of which is known how it is written.

    array: what it stands for; made: its tokens, or the operation, its operands and its parameters.
    """

    __slots__ = ("made",)

    made: Any
    __hash__ = object.__hash__

    def __init__(self, array: Any, made: Any) -> None:
        self.array, self.made = array, made
        self.node = self.version = self.view_of = self.tangents = self.stored_grad = None

    @staticmethod
    def __minigrad_apply__(
        primitive: Primitive, args: Sequence[Any], params: dict[str, Any]
    ) -> Any:
        """The engine's question to a tensor of another kind: apply this operation."""
        payloads = [a.array if isinstance(a, Tensor) else a for a in args]
        result = primitive(*payloads, **params)
        if isinstance(result, tuple):
            return tuple(Symbol(r, (primitive, (*args, i), params)) for i, r in enumerate(result))
        return Symbol(result, (primitive, tuple(args), params))


def rule_of(
    primitive: Primitive,
    index: int,
    operands: Sequence[Any],
    params: dict[str, Any],
    names: Sequence[Token],
    result: Token,
    g: Token,
    push: bool = False,
) -> Tokens | None:
    """What an operand receives in a backward pass, or, with `push`, what its tangent gives to that
    of the result, as tokens. None where there is no rule, where there are several results, or
    where the operands have many elements.

    index: of the operand; operands: payloads and Python numbers; names: their tokens, in order;
    result, g: the tokens of the result and of its adjoint, or of the operand's tangent.
    """
    backward = not push
    conjugates = backward and not primitive.conjugates
    push = push and not primitive.elementwise  # whose rule is one for both modes
    ask = primitive.push_rule if push else primitive.pull_rule
    rule = ask(index) if primitive.kind != "constant" else None
    many = _elements(operands) > LARGEST
    if rule is None or primitive.outputs != 1 or (many and not primitive.pointwise):
        return None
    text = text_of_rule(primitive, index, operands, push, params)
    if text is not None:
        given = {**dict(zip(primitive.inputs, names, strict=True)), "y": result}
        given["t" if push else "g"] = g
        ranked: dict[str, Ranked] = {name: ([token], ATOM) for name, token in given.items()}
        if not (conjugates and any(map(is_complex, operands))):
            return notation.declared(text, ranked, params)[0]
        both = zip(primitive.inputs, operands, strict=True)
        return notation.declared(
            text,
            ranked,
            params,
            conjugated={"y", *(name for name, operand in both if is_complex(operand))},
            part=not is_complex(operands[index]),
        )[0]
    with unobserved(), no_grad(), backend.ignore_float_errors():
        values = [_one(o) if primitive.pointwise else o for o in operands]
        inputs = [
            Symbol(v, [n]) if hasattr(v, "dtype") else v for v, n in zip(values, names, strict=True)
        ]
        made = primitive(*values, **params)
        named = [read_source(s, inputs, Symbol(made, [result])) for s in rule.sources]
        like = values[index] if push else made
        incoming = Symbol(backend.ones(like.shape, like.dtype, made), [g])
        out = rule.function(incoming, *named, **rule.keyword_arguments(params, index))
        if backward and is_complex(made):
            out = _conjugated(out, incoming) if conjugates else out
            out = out if is_complex(values[index]) or not is_complex(out) else real(out)
    return _tokens(out)[0]


def text_of_rule(
    primitive: Primitive, index: int, operands: Sequence[Any], push: bool, params: dict[str, Any]
) -> str | None:
    """How a declaration writes the rule for one operand. Where the rule is another one for complex
    numbers, the text is for real ones."""
    push = push and not primitive.elementwise
    texts = primitive.push_notation if push else primitive.pull_notation
    if callable(texts):
        texts = texts(operands, **params)
    elif primitive.conjugates and any(map(is_complex, operands)):
        return None
    return None if texts is None else texts[index]


def is_complex(operand: Any) -> bool:
    """Whether an operand is a complex number, or a tensor or an array of them."""
    dtype = getattr(operand, "dtype", None)
    return isinstance(operand, complex) if dtype is None else backend.is_complex(dtype)


def is_factor(primitive: Primitive, incoming: Any, outgoing: Any) -> bool:
    """Whether a derivative is a number by which the rule multiplies. It is not where real parts or
    conjugates are taken."""
    found = is_complex(incoming)
    return found == is_complex(outgoing) and not (found and primitive.conjugates)


def _conjugated(value: Any, g: Symbol) -> Any:
    """conj(R(conj(g))) of a rule R(g), with the conjugates at what R multiplies g by: as the
    backward pass computes it."""
    if not isinstance(value, Symbol):
        return value.conjugate() if isinstance(value, complex) else value
    if value is g or not is_complex(value):
        return value
    if not isinstance(value.made, tuple):
        return conj(value)
    primitive, args, params = value.made
    keeps_conjugates = primitive in (add, sub, mul, div, neg) or primitive.kind == "linear"
    through = keeps_conjugates and sum(map(is_complex, args)) == 1  # 1 - conj(y ** 2), conj(x).T
    if not through and not _depends(value, g):
        return conj(value)
    if "inverse" in params:  # the conjugate of a Fourier transform goes in the other direction
        params = {**params, "inverse": not params["inverse"]}
    return Symbol(value.array, (primitive, tuple(_conjugated(a, g) for a in args), params))


def _depends(value: Any, g: Symbol) -> bool:
    """Whether a value was computed from g."""
    if value is g or not isinstance(value, Symbol) or not isinstance(value.made, tuple):
        return value is g
    return any(_depends(a, g) for a in value.made[1])


def _one(operand: Any) -> Any:
    """An array of no axes in the place of one of any shape."""
    return backend.ones((), operand.dtype, operand) if hasattr(operand, "dtype") else operand


def _tokens(value: Any) -> Ranked:
    """A symbol or a number as tokens."""
    if not isinstance(value, Symbol):
        token = notation.plain(value)
        return [token], notation.NEGATIVE if notation.is_signed(token) else ATOM
    if isinstance(value.made, list):
        return value.made, ATOM
    primitive, args, params = value.made
    if primitive in (conj, real, imag) and not is_complex(args[0]):
        return ([notation.num(0)], ATOM) if primitive is imag else _tokens(args[0])
    if primitive is cast and is_complex(args[0]) and not is_complex(value):
        primitive, params = real, {}
    if primitive in (zeros_like, ones_like):
        return [notation.num(int(primitive is ones_like))], ATOM
    if primitive is mul and args[0] is args[1]:
        return _raised(args[0], notation.num(2)), ATOM
    if primitive is mul and (root := _root_below(args[1])) is not None:
        left = notation.within(_tokens(args[0]), notation.RANK["/"])
        return [*left, notation.op("/"), *root], notation.RANK["/"]
    if primitive is mul and any(_is_one(a) for a in args[1:]):
        return _tokens(args[0])
    if (primitive is power and params["n"] == 1) or _is_identity(primitive, args[0], params):
        return _tokens(args[0])
    if primitive is sum_to:
        return notation.summed(_tokens(args[0])[0], args[0].shape, params["shape"]), ATOM
    if primitive.kind == "linear" and _made_by(args[0], zeros_like):
        return [notation.num(0)], ATOM
    if primitive is mul:
        factors = [_before_reshape(a) for a in args]
        if _is_outer(args, factors):
            inner = [*_tokens(factors[0])[0], notation.op(","), *_tokens(factors[1])[0]]
            return [{"t": "fn", "text": "outer"}, notation.op("("), *inner, notation.op(")")], ATOM
        args = tuple(
            f if getattr(f, "shape", None) == () else a for a, f in zip(args, factors, strict=True)
        )  # a number is broadcast in any case
    if primitive is permute and _swaps_last(params["axes"]):
        turned, letter = args[0], "T"
        if _made_by(turned, conj):
            turned, letter = turned.made[1][0], "H"
        return _raised(turned, {"t": "fn", "text": letter}), ATOM
    operands = [_tokens(a) for a in args]
    if primitive is broadcast_to and _made_by(args[0], reshape):
        operands = [_unsqueezed(args[0], params["shape"])]
    return notation.applied(primitive, operands, params)


def _unsqueezed(value: Any, whole: Sequence[int]) -> Ranked:
    """A value that was given axes of size 1 to be broadcast to the shape of a whole. Leading axes
    need not be named: broadcasting adds them."""
    inner, shape = value.made[1][0], tuple(value.shape)
    more = len(shape) - len(inner.shape)
    ones = sorted((i for i, n in enumerate(shape) if n == 1), key=lambda i: whole[i] == 1)
    axes = tuple(sorted(ones[:more]))
    if tuple(n for i, n in enumerate(shape) if i not in axes) != tuple(inner.shape):
        return _tokens(value)
    tokens, rank = _tokens(inner)
    if shape == (1,) * more + tuple(inner.shape):
        return tokens, rank
    return notation.unsqueezed(tokens, axes), ATOM


def _before_reshape(value: Any) -> Any:
    return value.made[1][0] if _made_by(value, reshape) else value


def _is_outer(args: Sequence[Any], factors: Sequence[Any]) -> bool:
    """Whether a product is that of a column, made of one vector, and a row, made of another."""
    if not all(isinstance(f, Symbol) and len(f.shape) == 1 for f in factors):
        return False
    (n,), (m,) = (f.shape for f in factors)
    return tuple(args[0].shape) == (n, 1) and tuple(args[1].shape) in ((m,), (1, m))


def _root_below(value: Any) -> Tokens | None:
    """Of 1/√x, or of its conjugate, what stands below the line."""
    if _made_by(value, rsqrt):
        return [{"t": "sqrt", "of": _tokens(value.made[1][0])[0]}]
    if _made_by(value, conj) and (root := _root_below(value.made[1][0])) is not None:
        return notation.applied(conj, [(root, ATOM)], {})[0]
    return None


def _made_by(value: Any, primitive: Primitive) -> bool:
    return (
        isinstance(value, Symbol) and isinstance(value.made, tuple) and value.made[0] is primitive
    )


def _is_one(value: Any) -> bool:
    """Whether a factor changes nothing: the number 1, x^0, or 1 · x^0."""
    if not isinstance(value, Symbol):
        return isinstance(value, int | float) and value == 1
    if _made_by(value, mul):
        return all(map(_is_one, value.made[1]))
    return _made_by(value, power) and value.made[2]["n"] == 0


def _raised(base: Any, exponent: Token) -> Tokens:
    return [{"t": "sup", "base": notation.base(_tokens(base)), "exp": [exponent]}]


def _is_identity(primitive: Primitive, operand: Any, params: dict[str, Any]) -> bool:
    """Whether an operation leaves its operand as it is: axes in their order, or its own shape."""
    if primitive is permute:
        return tuple(params["axes"]) == tuple(range(len(params["axes"])))
    shapes = reshape, broadcast_to, sum_to
    return primitive in shapes and tuple(params["shape"]) == tuple(operand.shape)


def _swaps_last(axes: tuple[int, ...]) -> bool:
    """Whether a permutation of axes is the transpose of matrices."""
    n = len(axes)
    return n >= 2 and axes == (*range(n - 2), n - 1, n - 2)
