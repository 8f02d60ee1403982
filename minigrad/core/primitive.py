"""How an operation is declared: its forward function and its derivative rules, side by side.

There are four kinds with a derivative, and the kind states the mathematics of y = f(x₁, …, xₙ):

- `elementwise`: the Jacobian is diagonal, so one rule per input is both the pull (vector-Jacobian
  product, VJP) and the push (Jacobian-vector product, JVP).
- `linear`: the JVP of a linear map is the map itself; only the transpose is written down.
- `bilinear`: linear in each of two inputs; two transposes are written, the JVP is
  f(ȧ, b) + f(a, ḃ).
- `general`: any other, with a pull and a push rule for each input.

A `constant` operation has no derivative. Two declarations, written in full (`function` in
ops/elementwise/arithmetic.py shortens such):

    exp = elementwise("exp", lambda xp, x: xp.exp(x), lambda g, y: g * y)
    sin = elementwise("sin", lambda xp, x: xp.sin(x), lambda g, x: g * cos(x))

A rule is a plain function `rule(g, …)` of the incoming cotangent (or tangent) `g`. **Its other
parameters say, by name, what it needs**: an input by the name it has in the forward function, `y`
for the output, `<input>_shape` for a shape, or after a `*` a keyword parameter of the operation (or
`index`, the input's position). Of its inputs and output, a node saves only what the rules of inputs
that need a gradient name (exp saves its result, sin its input); it also holds all parameters.
Rules are written in the library's own operations, so that the same line runs on raw arrays (an
ordinary backward pass) and on tensors (when the derivative is itself to be differentiated).

Complex numbers: a rule is written for the holomorphic derivative; for operations with one result
the backward pass conjugates before and after it (PyTorch's convention: the gradient of a real loss
is the conjugate Wirtinger derivative). Operations that are not holomorphic set `conjugates=True`
and write the rule for complex input themselves.

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
from ..half_precision import multiplying

if TYPE_CHECKING:
    from .tensor import Tensor

RuleFunction = Callable[..., Any]
Args = tuple[Any, ...]
"""The operands of a call: tensors, arrays and Python numbers."""
Params = dict[str, Any]
"""The keyword parameters of a call: constants without gradients, which nothing changes later."""

OUTPUT = -1
SHAPES = -2
"""A source says what a rule reads: i is input i, OUTPUT the output, SHAPES - i input i's shape."""

registry: dict[str, Primitive] = {}
"""Every declared operation by name. The tests' table of cases names all of the library's."""

on_declaration: list[Callable[[Primitive], None]] = []
"""Called with each operation when it is declared; minigrad.fast and others add functions here."""

NO_PARAMS: Params = {}
"""The parameters of a call without any; never changed."""


class Rule:
    """One derivative rule and where its arguments come from.

    function: as it was declared; upcasting: the function for half precision, which is computed in
    float32 (half_precision.py); sources: what its positional arguments after g are; keywords: the
    operation's parameters that it asks for; wants_index: whether it asks for `index`.
    """

    __slots__ = ("function", "keywords", "sources", "upcasting", "wants_index")

    def __init__(
        self, function: RuleFunction, owner: str, inputs: Sequence[str], defaults: Params
    ) -> None:
        """`inputs`, `defaults`: the names of the forward function's inputs, and its keyword
        parameters with their default values; a rule's `**params` asks for all keywords. Raises
        TypeError if the rule asks for what does not exist, or has another default."""
        self.function = function
        sources: list[int] = []
        keywords: list[str] = []
        known = {f"{name}_shape": SHAPES - i for i, name in enumerate(inputs)}
        known |= {name: i for i, name in enumerate(inputs)} | {"y": OUTPUT}
        for name, parameter in list(inspect.signature(function).parameters.items())[1:]:
            by_name = parameter.kind is inspect.Parameter.KEYWORD_ONLY
            if parameter.kind is inspect.Parameter.VAR_KEYWORD:
                keywords += [key for key in defaults if key not in keywords]
            elif by_name and (name in defaults or name == "index"):
                explain.check_default(owner, parameter, defaults)
                keywords.append(name)
            elif name in known and not by_name:
                sources.append(known[name])
            else:
                raise explain.unknown_to_rule(owner, name, inputs, tuple(defaults))
        self.sources, self.keywords = tuple(sources), tuple(keywords)
        self.wants_index = "index" in keywords and "index" not in defaults
        reads_values = any(map(is_value, sources))
        self.upcasting = multiplying(function, registry) if reads_values else function

    def keyword_arguments(self, params: Params, index: int) -> Params:
        """Those of the call's parameters that the rule names (one that the call leaves out has the
        same default in the rule), and `index`, the input's position."""
        if not self.keywords:
            return NO_PARAMS
        found = {k: params[k] for k in self.keywords if k in params}
        return {**found, "index": index} if self.wants_index else found


class Plan:
    """What a node saves and which rules a pass calls, given which inputs need a gradient.

    sources: the values and shapes to save, each once; keeps_values: whether anything but shapes is
    saved; rule_calls: for each input that needs a gradient and has a pull rule (position of the
    input, position of its rule, where the rule's arguments stand among the sources). An input
    without a rule (None: its derivative is zero) gets no contribution.
    """

    __slots__ = ("keeps_values", "rule_calls", "sources")

    def __init__(self, prim: Primitive, needs_grad: Sequence[bool]) -> None:
        sources: list[int] = []
        rule_calls: list[tuple[int, int, tuple[int, ...]]] = []
        for index, needed in enumerate(needs_grad):
            rule = prim.pull_rule(index) if needed else None
            if rule is not None:
                sources += [source for source in rule.sources if source not in sources]
                where = tuple([sources.index(source) for source in rule.sources])
                rule_calls.append((index, 0 if prim.variadic else index, where))
        self.sources, self.rule_calls = tuple(sources), tuple(rule_calls)
        self.keeps_values = any([is_value(source) for source in sources])


class Primitive(Facets):
    """An operation, with or without a derivative. A call runs it: on raw arrays it returns an
    array, with a Tensor among the arguments a Tensor.

    name: unique.
    kind: "elementwise", "linear", "bilinear", "general" or "constant".
    forward(xp, *arrays, **params): the computation, in terms of the array library `xp`;
    declared_forward: the same without float32 for half precision (`declare` sets it, facets.py).
    takes_out: whether `forward` takes `out`, an array of the result's shape and dtype to fill.
    inputs, keywords: names of the inputs and of the parameters.
    variadic: it takes any number of inputs. Its one rule can name `y` and `index`, but no input.
    pull_rules, push_rules: one Rule per input, None where the derivative is zero.
    plan: a function; for a tuple that says which inputs need a gradient it returns the Plan.

    A declaration may also set, by keyword, the attributes of the base class `Facets` (facets.py),
    whose `declare` fills in what follows from the kind. Who asks for them, and what None means:

    batch             vmap: run the examples one by one
    shape, dtype      static graphs: try the operation; the operands' common dtype
    kernel            compiled programs: call `forward`, which allocates its result
    scalar, parts     generated loops: end before the operation, and begin again after it
    cost              counts of operations: one for each element of the result
    notation, terms   formulas: its symbol before the operands; pictures of one element: none

    The engine itself reads these (and calls node_name, dtypes_for, integer_operand, facets.py):

    promote: "same" casts the inputs to a common dtype first, "float" to a common floating one,
    "branches" all but the first (as in where(condition, a, b)), None leaves them as they are.
    view: the result may share the first input's memory; otherwise it must be new.
    conjugates: the rules conjugate complex numbers themselves; the backward pass does not.
    real_only: complex inputs are refused, since it orders or rounds numbers.
    outputs: the number of results, which are a tuple if it is not 1.
    """

    promote: str | None = None
    view: bool = False
    conjugates: bool = False
    real_only: bool = False
    outputs: int = 1

    def __init__(
        self,
        name: str,
        kind: str,
        forward: Callable[..., Any],
        pull_rules: Sequence[RuleFunction | None] = (),
        push_rules: Sequence[RuleFunction | Rule | None] | None = None,
        **options: Any,
    ) -> None:
        parameters = list(inspect.signature(forward).parameters.values())[1:]
        keyword_only = [p.name for p in parameters if p.kind is inspect.Parameter.KEYWORD_ONLY]
        defaults = keyword_defaults(forward)
        self.inputs = tuple([p.name for p in parameters if p.name not in keyword_only])
        self.keywords, self.takes_out = tuple(defaults), "out" in keyword_only
        self.variadic = any(p.kind is inspect.Parameter.VAR_POSITIONAL for p in parameters)
        self.name, self.kind, self.forward = name, kind, forward
        self.__doc__ = inspect.getdoc(forward) or f"The operation {name}({', '.join(self.inputs)})."
        self.elementwise = kind == "elementwise"
        self.declare(kind, self.inputs, options)
        if "y" in self.inputs:
            raise explain.input_named_y(name)
        self.pull_rules = pulls = self._rules(pull_rules, defaults)
        both = push_rules is None and self.elementwise
        self.push_rules = pulls if both else self._rules(push_rules or (), defaults)
        self.plan: Callable[[tuple[bool, ...]], Plan] = lru_cache(1000)(partial(Plan, self))
        if name in registry:
            raise explain.declared_twice(name)
        registry[name] = self
        for callback in on_declaration:
            callback(self)

    def _rules(
        self, given: Sequence[RuleFunction | Rule | None], defaults: Params
    ) -> tuple[Rule | None, ...]:
        if self.kind != "constant" and len(given) != len(self.inputs):
            raise explain.rules_missing(self, len(given))
        inputs = () if self.variadic else self.inputs
        return tuple([Rule(f, self.name, inputs, defaults) if callable(f) else f for f in given])

    def __call__(self, *args: Any, **params: Any) -> Tensor:  # or an array, or a tuple of results
        return apply(self, args, params)

    def call_unary(self, x: Any, params: Params = NO_PARAMS) -> Tensor:
        """`self(x, **params)` for the public functions of one tensor (entry_points.py). With the
        fast paths on, each operation has a faster one in its place (fast/operations.py)."""
        return apply(self, (x,), params)

    def pull_rule(self, index: int) -> Rule | None:
        """The rule that carries a cotangent of the output to input `index`."""
        return self.pull_rules[0 if self.variadic else index] if self.pull_rules else None

    def push_rule(self, index: int) -> Rule | None:
        """The rule that carries a tangent of input `index` to the output."""
        return self.push_rules[0 if self.variadic else index] if self.push_rules else None

    def __repr__(self) -> str:
        return f"<{self.kind} operation {self.name}({', '.join(self.inputs)})>"

    def __reduce__(self) -> tuple[Any, ...]:
        return (registry.__getitem__, (self.name,))


def keyword_defaults(forward: Callable[..., Any]) -> Params:
    """The parameters and their default values: the forward function's keywords except `out`."""
    parameters = inspect.signature(forward).parameters.values()
    keywords = [p for p in parameters if p.kind is inspect.Parameter.KEYWORD_ONLY]
    return {p.name: p.default for p in keywords if p.name != "out"}


def is_value(source: int) -> bool:
    """Whether a source is an input or the output, not a shape."""
    return source >= OUTPUT


def read_source(source: int, inputs: Sequence[Any], output: Any) -> Any:
    """The value that a source stands for: an input, the output, or a shape (a number's is ())."""
    if source <= SHAPES:
        return tuple(getattr(inputs[SHAPES - source], "shape", ()))
    return output if source == OUTPUT else inputs[source]


apply: Callable[[Primitive, Args, Params], Tensor] = None  # type: ignore[assignment]
"""Runs an operation. core/apply.py, which imports this file, assigns its function `apply` here."""


def elementwise(
    name: str, forward: Callable[..., Any], *rules: RuleFunction | None, **options: Any
) -> Primitive:
    """Declare y[i] = f(a[i], b[i], …): one rule per input, serving both modes. Operands broadcast;
    the backward pass sums gradients back."""
    return Primitive(name, "elementwise", forward, rules, **{"promote": "same", **options})


def linear(
    name: str, forward: Callable[..., Any], transpose: RuleFunction, **options: Any
) -> Primitive:
    """Declare a map linear in its one input: the push is the map itself, the pull its transpose."""
    push = lambda t, **params: registry[name](t, **params)
    return Primitive(name, "linear", forward, (transpose,), (push,), **options)


def bilinear(
    name: str, forward: Callable[..., Any], left: RuleFunction, right: RuleFunction, **options: Any
) -> Primitive:
    """Declare a map linear in each input: its transposes are the pull rules; the push rules are the
    map itself, with the tangent in the place of one input."""
    options = {"promote": "same", **options}
    of_left = lambda t, b, **params: registry[name](t, b, **params)
    of_right = lambda t, a, **params: registry[name](a, t, **params)
    defaults = keyword_defaults(forward)
    push_rules = [Rule(f, name, ("a", "b"), defaults) for f in (of_left, of_right)]
    return Primitive(name, "bilinear", forward, (left, right), push_rules, **options)


def general(
    name: str,
    forward: Callable[..., Any],
    pull_rules: Sequence[RuleFunction | None],
    push_rules: Sequence[RuleFunction | None],
    **options: Any,
) -> Primitive:
    """Declare any other operation: for each input a pull rule (to its shape) and a push rule."""
    return Primitive(name, "general", forward, pull_rules, push_rules, **options)


def constant(name: str, forward: Callable[..., Any], **options: Any) -> Primitive:
    """Declare an operation without a derivative, such as a comparison."""
    return Primitive(name, "constant", forward, **options)
