"""What is known of a value before it is computed: its shape and its dtype, as far as the graph
determines them.

A Variable may be declared without a shape or a dtype; both are then decided by what it is fed. Two
rules are enough to say how much is still known:

- *Broadcasting is a union.* An unknown shape is the set of what it is broadcast from: the
  Variables' own unknown shapes, each a number of its own, and known shapes. Broadcasting is
  associative, commutative and idempotent, as the union of sets is. So exp(x) and x + 1 have the
  shape of x for certain, and x · y has a third one. Equal sets mean equal shapes, and then a
  gradient needs no summing back.
- *Promotion is a union too*, of the dtypes that meet. A dtype that is not declared is a floating
one.

Where all operands are known, the engine itself says what comes out, on operands without content:
its errors come at build time then.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import count
from typing import Any

from .. import backend
from ..backend import DType, Shape
from ..core import apply
from ..core.observe import unobserved
from ..core.primitive import Primitive
from ..core.tensor import wrap
from ..errors import DTypeError, GraphError, ShapeError
from ..grad_mode import no_grad

_numbers = count(1)
LARGEST_UNION = 8
"""Unions of more parts than that become a new unknown: nothing wrong is concluded from less
knowledge, and graphs with very many Variables stay small.
"""


class UnknownFact(GraphError):
    """A shape or dtype was asked for that is known only when the graph runs."""


class SomeFloat:
    """A floating dtype that is decided by what is fed: the set of what it is promoted from.

    It answers the one question that derivative rules ask, `kind`; where a real dtype is needed it
    raises UnknownFact.
    """

    __slots__ = ("parts",)
    name = "floating"

    def __init__(self, parts: frozenset[Any]) -> None:
        self.parts = parts

    @property
    def kind(self) -> str:
        """NumPy's letter: "c" where a complex operand takes part, else "f"."""
        return "c" if any(getattr(part, "kind", "") == "c" for part in self.parts) else "f"

    def __eq__(self, other: object) -> bool:
        return type(other) is SomeFloat and self.parts == other.parts

    def __hash__(self) -> int:
        return hash(self.parts)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "dtype":  # NumPy looks whether this can be made a dtype
            raise AttributeError(name)
        raise UnknownFact(
            f"the {name} of a dtype was asked for that is decided by what is fed. Declare it:"
            " Variable(name, dtype=…)."
        )

    def __repr__(self) -> str:
        return "<a dtype that is decided by what is fed>"


ShapeFact = Shape | frozenset[Any]
"""A known shape, or the set of what an unknown one is broadcast from."""
DTypeFact = DType | SomeFloat
Facts = tuple[ShapeFact, DTypeFact]


def unknown_shape() -> frozenset[Any]:
    """A shape of which nothing is known but that it is one shape."""
    return frozenset((next(_numbers),))


def unknown_dtype() -> SomeFloat:
    """A floating dtype of which nothing else is known."""
    return SomeFloat(frozenset((next(_numbers),)))


def is_differentiable(dtype: DTypeFact) -> bool:
    """Whether values of this dtype have derivatives: floating and complex ones."""
    return type(dtype) is SomeFloat or backend.is_differentiable(dtype)  # type: ignore[arg-type]


def is_about_dtype(error: TypeError) -> bool:
    """Whether NumPy complained that it was given an undeclared dtype."""
    return "dtype that is decided by what is fed" in str(error)


# --------------------------------------------------------------------------------------- two unions


def broadcast(
    shapes: Sequence[ShapeFact], operation: str, names: Callable[[], str] | None = None
) -> ShapeFact:
    """The shape of operands taken element by element. Raises ShapeError where known ones do not
    fit; `names()` tells whose they are.
    """
    known: Shape = ()
    parts: frozenset[Any] = frozenset()
    for shape in shapes:
        if type(shape) is tuple:
            known = (
                shape if shape == known or not known else _broadcast(known, shape, operation, names)
            )
        else:
            for part in shape:
                if type(part) is tuple:
                    known = _broadcast(known, part, operation, names)
                else:
                    parts |= {part}
    if not parts:
        return known
    if known != ():
        parts |= {known}
    return parts if len(parts) <= LARGEST_UNION else unknown_shape()


def _broadcast(a: Shape, b: Shape, operation: str, names: Callable[[], str] | None) -> Shape:
    long, short = (a, b) if len(a) >= len(b) else (b, a)
    lead = len(long) - len(short)
    out = list(long)
    for i, n in enumerate(short, lead):
        if out[i] == 1:
            out[i] = n
        elif n not in (1, out[i]):
            raise ShapeError(
                f"{operation}: shapes {a} and {b} do not fit: counted from the last dimension,"
                f" sizes must be equal or 1, but {out[i]} and {n} meet."
                + (f" The operands: {names()}." if names else "")
            )
    return tuple(out)


def promoted(dtypes: Sequence[DTypeFact]) -> SomeFloat:
    """The dtype in which values meet, at least one of them undeclared. Integers never widen a
    floating dtype.
    """
    parts: frozenset[Any] = frozenset()
    for d in dtypes:
        if type(d) is SomeFloat:
            parts |= d.parts
        elif is_differentiable(d):
            parts |= {d}
    return SomeFloat(parts) if len(parts) <= LARGEST_UNION else unknown_dtype()


# ------------------------------------------------------------------ what an operation makes of them


def is_symbolic(value: Any) -> bool:
    """Whether a value is a node, of which only facts are known."""
    return hasattr(value, "shape_fact")


def inferred(primitive: Primitive, args: Sequence[Any], params: dict[str, Any]) -> list[Facts]:
    """(shape, dtype) of each result of an operation on nodes and Python numbers. Raises ShapeError,
    DTypeError and so on as the engine would.
    """
    nodes = [a for a in args if is_symbolic(a)]
    shapes = [n.shape_fact for n in nodes]
    name, facet = primitive.name, primitive.shape
    if primitive.real_only and any(n.dtype_fact.kind == "c" for n in nodes):
        raise DTypeError(
            f"{name}: takes real numbers only;"
            f" {next(n.name for n in nodes if n.dtype_fact.kind == 'c')} is complex."
        )
    known = all(type(s) is tuple for s in shapes)
    shape: ShapeFact | None = None
    if facet == "broadcast":
        shape = (
            shapes[0]
            if len(shapes) == 1
            else broadcast(shapes, name, lambda: ", ".join(n.name for n in nodes))
        )
    elif facet == "given":
        shape = tuple(params["shape"])
    elif facet == "data":
        shape = unknown_shape()
    elif args[0] is nodes[0] and (facet == "first" or (facet == "valid first" and not known)):
        shape = shapes[0]
    elif callable(facet) and len(shapes) == len(args):
        shape = facet(*(s if type(s) is tuple else None for s in shapes), **params)
    if shape is None and not known:
        shape = unknown_shape()
    if shape is not None:
        dtype = _dtype(primitive, args, params)
        return [(shape, dtype)] + [(unknown_shape(), dtype)] * (primitive.outputs - 1)
    typed = not any(type(n.dtype_fact) is SomeFloat for n in nodes)
    return [
        (tuple(r.shape), r.dtype if typed else _dtype(primitive, args, params))
        for r in _tried(primitive, args, params)
    ]


def _dtype(primitive: Primitive, args: Sequence[Any], params: dict[str, Any]) -> DTypeFact:
    """The result's dtype, by what the operation is."""
    rule = primitive.dtype
    if rule == "given":
        out: DTypeFact = params["dtype"]
        return out
    if rule not in (None, "first", "real", "complex"):
        return backend.as_dtype(rule)  # type: ignore[return-value]
    deciding = (
        args[1:] if primitive.promote == "branches" else args[:1] if rule == "first" else args
    )
    facts = [a.dtype_fact for a in deciding if is_symbolic(a)]
    is_complex = rule == "complex" or any(type(a) is complex for a in deciding)
    found: DTypeFact
    if len(facts) == 1 and is_differentiable(facts[0]) and not is_complex:
        found = facts[0]
    elif any(type(f) is SomeFloat for f in facts):
        found = promoted(facts)
        if is_complex:
            found = SomeFloat(found.parts | {backend.complex64})
    else:
        found = backend.result_type(
            [_of_rank(a.shape_fact, a.dtype_fact) if is_symbolic(a) else a for a in deciding]
        )
        if primitive.promote == "float" and not backend.is_differentiable(found):
            found = backend.default_dtype()
        if rule == "complex":
            found = backend.promote_types(found, backend.complex64)
    if rule == "real" and found.kind == "c":
        return (
            unknown_dtype()
            if type(found) is SomeFloat
            else backend.float64
            if found == backend.complex128
            else backend.float32
        )
    return found


class _Rank:
    """What promotion asks of an operand: its dtype, and whether it has dimensions."""

    __slots__ = ("dtype", "ndim")

    def __init__(self, ndim: int, dtype: Any) -> None:
        self.ndim, self.dtype = ndim, dtype


def _of_rank(shape: ShapeFact, dtype: DTypeFact) -> Any:
    # an unknown shape is a set with a member: taken to have dimensions
    return _Rank(len(shape), dtype)


def _tried(primitive: Primitive, args: Sequence[Any], params: dict[str, Any]) -> list[Any]:
    """Run the operation on operands of these shapes and dtypes, to learn the shapes and dtypes
    of its results.
    """
    operands = tuple(_sample(a.shape_fact, a.dtype_fact) if is_symbolic(a) else a for a in args)
    with unobserved(), no_grad(), backend.ignore_float_errors():
        result = apply.apply(primitive, operands, params)
    return list(result) if isinstance(result, tuple) else [result]


def facts_of_call(function: Callable[..., Any], nodes: Sequence[Any]) -> Facts | None:
    """Shape and dtype of what a function of tensors returns, found by calling it; None where the
    nodes' own are not all known.
    """
    if not all(type(n.shape_fact) is tuple and type(n.dtype_fact) is not SomeFloat for n in nodes):
        return None
    with unobserved(), no_grad(), backend.ignore_float_errors():
        result = function(*[_sample(n.shape_fact, n.dtype_fact) for n in nodes])
    return tuple(result.shape), result.dtype


def _sample(shape: Shape, dtype: DTypeFact) -> Any:
    """A tensor of harmless numbers: integers are 0, an index that exists; others are positive, and
    matrices have an inverse and a Cholesky factor.
    """
    wanted: Any = backend.float64 if type(dtype) is SomeFloat else dtype
    if not backend.is_differentiable(wanted):
        return wrap(backend.zeros(shape, wanted, 0.0))
    array = backend.ones(shape, wanted, 0.0)
    if len(shape) >= 2:
        array *= 0.1 / max(shape[-1], 1)
        diagonal = range(min(shape[-2:]))
        array[..., diagonal, diagonal] += 1
    return wrap(array)
