"""How an operation is declared: its forward function and its derivative rules, side by side.

There are four kinds, and the kind teaches the mathematics of y = f(x₁, …, xₙ):

- `elementwise`: the Jacobian is diagonal, hence its own transpose, so one rule per input is both
  the pullback (VJP) and the pushforward (JVP).
- `linear`: the JVP of a linear map is the map itself; only the transpose is written down.
- `bilinear`: linear in each of two inputs; two transposes are written, the JVP is
  f(ȧ, b) + f(a, ḃ).
- `primitive`: the general case, with a pull and a push rule for each input.

A rule is a plain function `rule(g, …)` of the incoming cotangent (or tangent) `g`. **Its other
parameters say, by name, what it needs**: an input by the name it has in the forward function, `y`
for the output, `<input>_shape` for a shape, or a keyword parameter of the operation. Those values,
and nothing else, are kept for the backward pass. Rules are written in the library's own
operations, so that the same line runs on raw arrays (an ordinary backward pass) and on tensors
(when the derivative is itself to be differentiated).

Complex numbers: a rule is written for the holomorphic derivative; the backward pass conjugates
before and after it (PyTorch's convention: the gradient of a real loss is the conjugate Wirtinger
derivative). Operations that are not holomorphic set `conjugates=True` and write the rule for
complex input themselves.

Sources: the uniform rule table of HIPS autograd; linear and bilinear declarations of JAX; rules
that name what they save as in PyTorch's derivatives.yaml.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

from .. import explain
from ..facets import Facets

if TYPE_CHECKING:
    from .tensor import Tensor

RuleFunction = Callable[..., Any]
Args = tuple[Any, ...]
"""The operands of a call: tensors, arrays and Python numbers."""
Params = dict[str, Any]
"""The keyword parameters of a call."""

OUTPUT = -1
"""In a plan: the output itself is kept. Positions 0, 1, … are inputs."""
SHAPES = -2
"""In a plan: SHAPES - i is the shape of input i."""

registry: dict[str, Primitive] = {}
"""Every declared operation by name. The tests' table of cases must name exactly these."""

declared: list[Callable[[Primitive], None]] = []
"""Called with each operation that is declared from now on."""

NO_PARAMS: Params = {}


class Rule:
    """One derivative rule and where its arguments come from: `sources` by position (see OUTPUT and
    SHAPES), `keywords` by the name of a parameter of the operation; position: whether it asks for
    the input's position as `index`."""

    __slots__ = ("function", "keywords", "position", "sources")

    def __init__(
        self, function: RuleFunction, inputs: Sequence[str], named: Sequence[str], owner: str
    ) -> None:
        """`inputs`, `named`: the forward function's input and keyword names, of which `**params`
        asks for all. Raises TypeError if the rule asks for something that does not exist."""
        self.function = function
        sources: list[int] = []
        keywords: list[str] = []
        known = {f"{name}_shape": SHAPES - i for i, name in enumerate(inputs)}
        known |= {name: i for i, name in enumerate(inputs)} | {"y": OUTPUT}
        for name, parameter in list(inspect.signature(function).parameters.items())[1:]:
            by_name = parameter.kind is inspect.Parameter.KEYWORD_ONLY
            if parameter.kind is inspect.Parameter.VAR_KEYWORD:
                keywords += [key for key in named if key not in keywords]
            elif by_name and (name in named or name == "index"):
                keywords.append(name)
            elif name in known and not by_name:
                sources.append(known[name])
            else:
                raise explain.unknown_to_rule(owner, name, inputs, named)
        self.sources, self.keywords = tuple(sources), tuple(keywords)
        self.position = "index" in keywords and "index" not in named

    def named(self, params: Params, index: int) -> Params:
        """The parameters that the rule asks for; `index` is the input's position, for a rule that
        asks for it although the operation has no such parameter."""
        if not self.keywords:
            return NO_PARAMS
        found = {k: params[k] for k in self.keywords if k in params}
        if self.position:
            found["index"] = index
        return found


class Plan:
    """What a node keeps, given which inputs need a gradient.

    sources: the values and shapes to keep, each once; pulls: (position of the input, position of
    its rule, positions of the rule's arguments among the sources) for each input that needs a
    gradient and has a rule; keeps_values: whether anything but shapes is kept.
    """

    __slots__ = ("keeps_values", "pulls", "sources")

    def __init__(self, prim: Primitive, needed: Sequence[bool]) -> None:
        rules = [(i, prim.pull_rule(i)) for i, need in enumerate(needed) if need]
        chosen = [(i, rule) for i, rule in rules if rule is not None]
        sources = list(dict.fromkeys(s for _, rule in chosen for s in rule.sources))
        self.sources = tuple(sources)
        self.keeps_values = any(s >= OUTPUT for s in sources)
        where = [tuple([sources.index(s) for s in rule.sources]) for _, rule in chosen]
        numbers = [(i, 0 if prim.variadic else i) for i, _ in chosen]
        self.pulls = tuple([(*n, places) for n, places in zip(numbers, where, strict=True)])


class Primitive(Facets):
    """A differentiable (or not) operation. Calling it runs it: on raw arrays it returns an array,
    with a Tensor among the arguments a Tensor.

    name: unique; kind: "elementwise", "linear", "bilinear", "primitive" or "constant" (no
    derivative);
    forward(xp, *arrays, **params): the computation, in terms of the array library `xp`; if it
    `fills`, it has one more keyword `out`, which is not a parameter of the operation: a row-major
    array of the result's shape and dtype to write into (None: make one);
    inputs: names of the inputs; keywords: of the parameters; variadic: it takes any number of
    inputs (its one rule then gets `index`, the input's position, as a keyword); pulls, pushes: one
    Rule per input, None where there is no derivative; plan: for a tuple that says which inputs need
    a gradient, the Plan of what to keep.
    A declaration may set these by keyword, and the attributes of `Facets`, which say what vmap,
    static graphs, programs and so on ask about an operation:

    promote: "same" casts the inputs to a common dtype first, "float" to a floating one too,
    "branches" all but the first, None leaves them; view: the result shares the first input's
    memory; conjugates: the rules treat complex numbers themselves; real_only: complex inputs are
    refused (what orders or rounds numbers means nothing for them); outputs: number of results,
    which are a tuple if not 1; differentiable: which of them have a derivative (by default all, or
    none of a constant operation).
    """

    promote: str | None = None
    view: bool = False
    conjugates: bool = False
    real_only: bool = False
    outputs: int = 1
    differentiable: tuple[bool, ...] = ()

    def __init__(
        self,
        name: str,
        kind: str,
        forward: Callable[..., Any],
        pulls: Sequence[RuleFunction | None] = (),
        pushes: Sequence[RuleFunction | None] | None = None,
        **options: Any,
    ) -> None:
        parameters = list(inspect.signature(forward).parameters.values())[1:]
        named = [p.name for p in parameters if p.kind is inspect.Parameter.KEYWORD_ONLY]
        self.inputs = tuple(p.name for p in parameters if p.name not in named)
        self.variadic = any(p.kind is inspect.Parameter.VAR_POSITIONAL for p in parameters)
        self.keywords = tuple(n for n in named if n != "out")
        self.fills = "out" in named
        self.name, self.kind, self.forward = name, kind, forward
        self.__doc__ = inspect.getdoc(forward) or f"The operation {name}({', '.join(self.inputs)})."
        self.elementwise = kind == "elementwise"
        self.declare(kind, self.inputs, options)
        self.differentiable = tuple(self.differentiable) or (kind != "constant",) * self.outputs
        if "y" in self.inputs:
            raise explain.input_named_y(name)
        if kind != "constant" and len(pulls) != len(self.inputs):
            raise explain.rules_missing(self, len(pulls))
        self.pulls = self._rules(pulls)
        self.pushes = self.pulls if pushes is None else self._rules(pushes)
        self.plan: Callable[[tuple[bool, ...]], Plan] = lru_cache(1000)(partial(Plan, self))
        if name in registry:
            raise explain.declared_twice(name)
        registry[name] = self
        for tell in declared:
            tell(self)

    def _rules(self, given: Sequence[RuleFunction | None]) -> tuple[Rule | None, ...]:
        named = self.inputs, self.keywords, self.name
        return tuple([None if rule is None else Rule(rule, *named) for rule in given])

    def __call__(self, *args: Any, **params: Any) -> Tensor:
        return run(self, args, params)

    def on_one(self, x: Any, params: Params = NO_PARAMS) -> Tensor:
        """`self(x, **params)` for callers that have one operand and need no check of the call."""
        return run(self, (x,), params)

    def pull_rule(self, index: int) -> Rule | None:
        """The rule that carries a cotangent of the output to input `index`."""
        return (self.pulls[0] if self.pulls else None) if self.variadic else self.pulls[index]

    def push_rule(self, index: int) -> Rule | None:
        """The rule that carries a tangent of input `index` to the output."""
        return (self.pushes[0] if self.pushes else None) if self.variadic else self.pushes[index]

    def __repr__(self) -> str:
        return f"<{self.kind} operation {self.name}({', '.join(self.inputs)})>"

    def __reduce__(self) -> tuple[Any, ...]:
        return (registry.__getitem__, (self.name,))


def named_value(source: int, inputs: Sequence[Any], output: Any) -> Any:
    """What a source of a rule or of a plan stands for: an input, the output, or a shape."""
    if source >= OUTPUT:
        return output if source == OUTPUT else inputs[source]
    return tuple(inputs[SHAPES - source].shape)


def _not_imported(prim: Primitive, args: Args, params: Params) -> Tensor:
    raise RuntimeError("minigrad.core.apply must be imported before an operation is called.")


run: Callable[[Primitive, Args, Params], Tensor] = _not_imported
"""Runs an operation. core/apply.py puts `apply` here: a declaration is callable, but its rules are
made of declarations, so what runs an operation cannot be imported by the file that declares it."""


def elementwise(
    name: str, forward: Callable[..., Any], *rules: RuleFunction | None, **options: Any
) -> Primitive:
    """Declare y[i] = f(a[i], b[i], …): one rule per input, serving both modes. Operands broadcast;
    the backward pass sums gradients back."""
    return Primitive(name, "elementwise", forward, rules, **{"promote": "same", **options})


def linear(
    name: str, forward: Callable[..., Any], transpose: RuleFunction, **options: Any
) -> Primitive:
    """Declare a map linear in its one input (keyword parameters fixed): the push is the map itself,
    the pull its transpose."""
    made = Primitive(name, "linear", forward, (transpose,), **options)
    made.pushes = (Rule(lambda t, **params: made(t, **params), (), made.keywords, name),)
    return made


def bilinear(
    name: str, forward: Callable[..., Any], left: RuleFunction, right: RuleFunction, **options: Any
) -> Primitive:
    """Declare a map linear in each of its two inputs: two transposes give the pulls, the map itself
    the pushes."""
    options = {"promote": "same", **options}
    made = Primitive(name, "bilinear", forward, (left, right), **options)
    of_left = lambda t, b, **params: made(t, b, **params)
    of_right = lambda t, a, **params: made(a, t, **params)
    made.pushes = tuple([Rule(f, "ab", made.keywords, name) for f in (of_left, of_right)])
    return made


def primitive(
    name: str,
    forward: Callable[..., Any],
    pulls: Sequence[RuleFunction | None],
    pushes: Sequence[RuleFunction | None],
    **options: Any,
) -> Primitive:
    """Declare the general case: a pull and a push rule for each input."""
    return Primitive(name, "primitive", forward, pulls, pushes, **options)


def constant(name: str, forward: Callable[..., Any], **options: Any) -> Primitive:
    """Declare an operation without a derivative (comparisons, rounding to indices): its result
    never requires grad."""
    return Primitive(name, "constant", forward, **options)
