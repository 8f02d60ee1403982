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
from typing import TYPE_CHECKING, Any

from .. import explain
from ..facets import Facets
from ..half_precision import accumulating

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
        for name, parameter in list(inspect.signature(function).parameters.items())[1:]:
            if parameter.kind is inspect.Parameter.VAR_KEYWORD:
                keywords += [key for key in named if key not in keywords]
            elif parameter.kind is inspect.Parameter.KEYWORD_ONLY:
                if name not in named and name != "index":
                    raise explain.unknown_to_rule(owner, name, inputs, named)
                keywords.append(name)
            elif name == "y":
                sources.append(OUTPUT)
            elif name in inputs:
                sources.append(list(inputs).index(name))
            elif name.endswith("_shape") and name[:-6] in inputs:
                sources.append(SHAPES - list(inputs).index(name[:-6]))
            else:
                raise explain.unknown_to_rule(owner, name, inputs, named)
        self.sources, self.keywords = tuple(sources), tuple(keywords)
        self.position = "index" in keywords and "index" not in named

    @classmethod
    def of(cls, function: RuleFunction, sources: tuple[int, ...], keywords: Args) -> Rule:
        """A rule whose arguments are known already."""
        rule = cls.__new__(cls)
        rule.function, rule.sources, rule.keywords = function, sources, keywords
        rule.position = False
        return rule

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

    sources: the values and shapes to keep, each once; pulls: (number of the input, number of its
    rule, positions of the rule's arguments among the sources) for each input that needs a gradient
    and has a rule; keeps_values: whether anything but shapes is kept.
    """

    __slots__ = ("keeps_values", "pulls", "sources")

    def __init__(
        self, rules: Sequence[Rule | None], needed: tuple[bool, ...], variadic: bool
    ) -> None:
        chosen = [(i, r) for i, r in enumerate(rules) if r is not None and needed[i]]
        sources = list(dict.fromkeys(s for _, rule in chosen for s in rule.sources))
        self.sources = tuple(sources)
        self.keeps_values = any(s >= OUTPUT for s in sources)
        self.pulls = tuple(
            [
                (i, 0 if variadic else i, tuple([sources.index(s) for s in rule.sources]))
                for i, rule in chosen
            ]
        )


class Primitive(Facets):
    """A differentiable (or not) operation. Calling it runs it: on raw arrays it returns an array,
    with a Tensor among the arguments a Tensor.

    name: unique; kind: "elementwise", "linear", "bilinear", "primitive" or "constant" (no
    derivative);
    forward(xp, *arrays, **params): the computation, in terms of the array library `xp`; if it
    `fills`, it has one more keyword `out`, which is not a parameter of the operation: a row-major
    array of the result's shape and dtype to write into (None: make one);
    inputs: names of the inputs; variadic: it takes any number of inputs (its one rule then gets
    `index`, the input's position, as a keyword); pulls, pushes: one Rule per input, None where
    there is no derivative;
    promote: "same" casts the inputs to a common dtype first, "float" to a floating one too,
    "branches" all but the first, None leaves them;
    view: the result shares the first input's memory; conjugates: the rules treat complex numbers
    themselves;
    outputs: number of results (a tuple if not 1); differentiable: which of them have a derivative;
    symbol: how formulas show it;
    real_only: complex inputs are refused (what orders or rounds numbers means nothing for them);
    accumulates: it adds or multiplies many numbers, so float16 and bfloat16 inputs are computed in
    float32, and the result is rounded once (half_precision.py). `forward` then does so, and
    `direct` is the function as it was declared, for float32 and float64;
    facets: what vmap, static graphs, programs and so on ask about it (facets.py).
    """

    def __init__(
        self,
        name: str,
        kind: str,
        forward: Callable[..., Any],
        pulls: Sequence[RuleFunction | None] = (),
        pushes: Sequence[RuleFunction | None] | None = None,
        *,
        promote: str | None = None,
        view: bool = False,
        conjugates: bool = False,
        outputs: int = 1,
        differentiable: Sequence[bool] | None = None,
        symbol: str | None = None,
        real_only: bool = False,
        accumulates: bool = False,
        **facets: Any,
    ) -> None:
        parameters = list(inspect.signature(forward).parameters.values())[1:]
        named = [p.name for p in parameters if p.kind is inspect.Parameter.KEYWORD_ONLY]
        self.inputs = tuple(p.name for p in parameters if p.name not in named)
        self.variadic = any(p.kind is inspect.Parameter.VAR_POSITIONAL for p in parameters)
        self.keywords = tuple(n for n in named if n != "out")
        self.fills = any(p.name == "out" for p in parameters)
        self.name, self.kind = name, kind
        self.forward = accumulating(forward) if accumulates else forward
        self.direct = forward
        call = f"{name}({', '.join(self.inputs)})"
        self.__doc__ = inspect.getdoc(forward) or f"The operation {call}."
        self.promote, self.view, self.conjugates = promote, view, conjugates
        self.outputs = outputs
        self.differentiable = tuple(differentiable or (kind != "constant",) * outputs)
        self.symbol = symbol or name
        self.real_only, self.accumulates = real_only, accumulates
        if "y" in self.inputs:
            raise explain.input_named_y(name)
        if kind != "constant" and len(pulls) != len(self.inputs):
            raise explain.rules_missing(self, len(pulls))
        self.pulls = tuple(self._rule(p) for p in pulls)
        self.pushes = self.pulls if pushes is None else tuple(self._rule(p) for p in pushes)
        self.elementwise = kind == "elementwise"
        self.declare(kind, self.inputs, facets)
        self.plans: dict[int, Plan] = {}
        if name in registry:
            raise explain.declared_twice(name)
        registry[name] = self
        for tell in declared:
            tell(self)

    def __setattr__(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)
        if name == "forward":  # whoever replaces the computation replaces it for every dtype
            self.direct = value

    def _rule(self, function: RuleFunction | None) -> Rule | None:
        return None if function is None else Rule(function, self.inputs, self.keywords, self.name)

    def __call__(self, *args: Any, **params: Any) -> Tensor:
        return run(self, args, params)

    def on_one(self, x: Any, params: Params = NO_PARAMS) -> Tensor:
        """`self(x, **params)` for callers that have one operand and need no check of the call."""
        return run(self, (x,), params)

    def plan(self, mask: int) -> Plan:
        """What to keep for inputs of which those need a gradient whose bit in `mask` is set: the
        bits after the leading 1, one per input, in order. Made once, then kept in `plans`."""
        plan = self.plans.get(mask)
        if plan is None:
            needed = tuple(bit == "1" for bit in f"{mask:b}"[1:])
            rules = self.pulls * len(needed) if self.variadic else self.pulls
            if len(self.plans) >= 1000:  # of a variadic operation
                self.plans.clear()
            plan = self.plans[mask] = Plan(rules, needed, self.variadic)
        return plan

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


def _not_imported(prim: Primitive, args: Args, params: Params) -> Tensor:
    raise RuntimeError("minigrad.core.apply must be imported before an operation is called.")


run: Callable[[Primitive, Args, Params], Tensor] = _not_imported
"""Runs an operation. core/apply.py puts `apply` here: a declaration is callable, but its rules are
made of declarations, so what runs an operation cannot be imported by the file that declares it."""


def elementwise(
    name: str,
    forward: Callable[..., Any],
    *rules: RuleFunction | None,
    promote: str | None = "same",
    **options: Any,
) -> Primitive:
    """Declare y[i] = f(a[i], b[i], …): one rule per input, serving both modes. Operands broadcast;
    the backward pass sums gradients back."""
    return Primitive(name, "elementwise", forward, rules, promote=promote, **options)


def linear(
    name: str, forward: Callable[..., Any], transpose: RuleFunction, **options: Any
) -> Primitive:
    """Declare a map linear in its one input (keyword parameters fixed): the push is the map itself,
    the pull its transpose."""
    declared = Primitive(name, "linear", forward, (transpose,), **options)
    push = lambda t, **params: declared(t, **params)
    declared.pushes = (Rule.of(push, (), declared.keywords),)
    return declared


def bilinear(
    name: str,
    forward: Callable[..., Any],
    left: RuleFunction,
    right: RuleFunction,
    promote: str | None = "same",
    **options: Any,
) -> Primitive:
    """Declare a map linear in each of its two inputs: two transposes give the pulls, the map itself
    the pushes."""
    declared = Primitive(name, "bilinear", forward, (left, right), promote=promote, **options)
    declared.pushes = (
        Rule.of(lambda t, b, **params: declared(t, b, **params), (1,), declared.keywords),
        Rule.of(lambda t, a, **params: declared(a, t, **params), (0,), declared.keywords),
    )
    return declared


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


def predicate(name: str, forward: Callable[..., Any], **options: Any) -> Primitive:
    """Declare an element-wise question, answered by booleans."""
    return constant(name, forward, pointwise=True, dtype="bool", **options)
