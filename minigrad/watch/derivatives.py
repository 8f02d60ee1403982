"""A derivative rule as a formula: `v̄4 · cos x2` for the sine, `v̄1 @ b^T` for a product of
matrices.

Nothing is declared for this. The rule itself runs, on symbols that stand for the operands: each
operation in it returns a symbol that knows how it was made, and the operations' notation writes it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import backend
from ..core.modes import unobserved
from ..core.primitive import OUTPUT, SHAPES, Primitive
from ..core.tensor import Tensor
from ..grad_mode import no_grad
from ..ops.elementwise import mul, ones_like, power, rsqrt, zeros_like
from ..ops.shape import permute
from . import notation
from .notation import ATOM, Ranked, Token, Tokens

LARGEST = 10_000
"""Of operations that are not pointwise, rules run on at most so many elements: larger ones have no
formula."""


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
) -> Tokens | None:
    """What an operand receives in a backward pass, as tokens. None where there is no rule, where
    there are several results, or where the operands are many.

    index: of the operand; operands: payloads and Python numbers; names: their tokens, in order;
    result, g: the tokens of the result and of its adjoint.
    """
    rule = primitive.pull_rule(index) if primitive.kind != "constant" else None
    many = sum(getattr(o, "size", 1) for o in operands) > LARGEST
    if (
        rule is None
        or primitive.outputs != 1
        or primitive.variadic
        or (many and not primitive.pointwise)
    ):
        return None
    with unobserved(), no_grad(), backend.ignore_float_errors():
        values = [_one(o) if primitive.pointwise else o for o in operands]
        inputs = [
            Symbol(v, [n]) if hasattr(v, "dtype") else v for v, n in zip(values, names, strict=True)
        ]
        made = primitive(*values, **params)
        named = [_source(s, inputs, Symbol(made, [result])) for s in rule.sources]
        keywords = {k: params.get(k, index) for k in rule.keywords if k in params or k == "index"}
        out = rule.function(
            Symbol(backend.ones(made.shape, made.dtype, made), [g]), *named, **keywords
        )
    return _tokens(out)[0]


def _one(operand: Any) -> Any:
    """An array of no axes in the place of one of any shape."""
    return backend.ones((), operand.dtype, operand) if hasattr(operand, "dtype") else operand


def _source(source: int, inputs: Sequence[Any], made: Symbol) -> Any:
    """What a rule reads: an operand, the result, or the shape of an operand."""
    if source == OUTPUT:
        return made
    return inputs[source] if source >= 0 else tuple(getattr(inputs[SHAPES - source], "shape", ()))


def _tokens(value: Any) -> Ranked:
    """A symbol or a number as tokens."""
    if not isinstance(value, Symbol):
        token = notation.plain(value)
        return [token], notation.NEGATIVE if notation.is_negative(token) else ATOM
    if isinstance(value.made, list):
        return value.made, ATOM
    primitive, args, params = value.made
    if primitive in (zeros_like, ones_like):
        return [notation.num(int(primitive is ones_like))], ATOM
    if primitive is mul and args[0] is args[1]:
        return _raised(args[0], notation.num(2)), ATOM
    if (
        primitive is mul
        and isinstance(args[1], Symbol)
        and not isinstance(args[1].made, list)
        and args[1].made[0] is rsqrt
    ):
        root: Token = {"t": "sqrt", "of": _tokens(args[1].made[1][0])[0]}
        return [
            *notation.within(_tokens(args[0]), notation.RANK["/"]),
            notation.op("/"),
            root,
        ], notation.RANK["/"]
    if primitive is power and params["n"] == 1:
        return _tokens(args[0])
    if primitive is permute and _swaps_last(params["axes"]):
        return _raised(args[0], {"t": "fn", "text": "T"}), ATOM
    return notation.applied(primitive, [_tokens(a) for a in args], params)


def _raised(base: Any, exponent: Token) -> Tokens:
    return [{"t": "sup", "base": notation.within(_tokens(base), ATOM), "exp": [exponent]}]


def _swaps_last(axes: tuple[int, ...]) -> bool:
    """Whether a permutation of axes is the transpose of matrices."""
    n = len(axes)
    return n >= 2 and axes == (*range(n - 2), n - 1, n - 2)
