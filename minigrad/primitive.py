"""How an operation is declared: its forward function and its derivative rules, side by side.

There are four kinds, and the kind teaches the mathematics of y = f(x₁, …, xₙ):

- `elementwise`: the Jacobian is diagonal, hence its own transpose, so one rule per input is both the pullback (VJP) and the pushforward
(JVP).
- `linear`: the JVP of a linear map is the map itself; only the transpose is written down.
- `bilinear`: linear in each of two inputs; two transposes are written, the JVP is f(ȧ, b) + f(a, ḃ).
- `primitive`: the general case, with a pull and a push rule for each input.

A rule is a plain function `rule(g, …)` of the incoming cotangent (or tangent) `g`. **Its other parameters say, by name, what it needs**: an
input by the name it has in the forward function, `y` for the output, `<input>_shape` for a shape, or a keyword parameter of the operation.
Those values, and nothing else, are kept for the backward pass. Rules are written in the library's own operations, so that the same line
runs on raw arrays (an ordinary backward pass) and on tensors (when the derivative is itself to be differentiated).

Complex numbers: a rule is written for the holomorphic derivative; the engine conjugates around it (PyTorch's convention: the gradient of a
real loss is the conjugate Wirtinger derivative). Operations that are not holomorphic set `conjugates=True` and write the rule for complex
input themselves.

Sources: the uniform rule table of HIPS autograd; linear and bilinear declarations of JAX; rules that name what they save as in PyTorch's
derivatives.yaml.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from .backend import float32, ignore_float_errors, is_differentiable, is_narrow
from .facets import Facets

if TYPE_CHECKING:
    from .tensor import Tensor

RuleFunction = Callable[..., Any]
Function = TypeVar("Function", bound=Callable[..., Any])

OUTPUT = -1
"""In a plan: the output itself is kept. Positions 0, 1, … are inputs; SHAPES - i is the shape of input i."""
SHAPES = -2

registry: dict[str, Primitive] = {}
"""Every declared operation by name. The tests' table of cases must name exactly these."""

declared: list[Callable[[Primitive], None]] = []
"""Who wants to hear of each operation that is declared from now on."""


class Rule:
    """One derivative rule and where its arguments come from."""

    __slots__ = ("function", "keywords", "sources")

    def __init__(self, function: RuleFunction, inputs: Sequence[str], owner: str) -> None:
        """`inputs`: the forward function's input names. Raises TypeError if the rule asks for something that does not exist."""
        self.function = function
        sources: list[int] = []
        keywords: list[str] = []
        for name, parameter in list(inspect.signature(function).parameters.items())[1:]:
            if parameter.kind is inspect.Parameter.KEYWORD_ONLY:
                keywords.append(name)
            elif name == "y":
                sources.append(OUTPUT)
            elif name in inputs:
                sources.append(list(inputs).index(name))
            elif name.endswith("_shape") and name[:-6] in inputs:
                sources.append(SHAPES - list(inputs).index(name[:-6]))
            else:
                raise TypeError(
                    f"rule of {owner}: `{name}` is neither an input ({', '.join(inputs)}), nor y, nor <input>_shape; make parameters "
                    "keyword-only."
                )
        self.sources = tuple(sources)
        self.keywords = tuple(keywords)


class Plan:
    """What a node of this operation keeps, given which inputs need a gradient: `sources`, and for each rule its `positions` among them.

    pulls: (number of the input, number of its rule, positions) for each input that needs a gradient and has a rule.
    """

    __slots__ = ("keeps_values", "positions", "pulls", "sources")

    def __init__(self, rules: Sequence[Rule | None], needed: tuple[bool, ...], variadic: bool) -> None:
        sources: list[int] = []
        positions: list[tuple[int, ...]] = []
        for rule, wanted in zip(rules, needed, strict=True):
            if rule is None or not wanted:
                positions.append(())
                continue
            sources.extend(s for s in dict.fromkeys(rule.sources) if s not in sources)
            positions.append(tuple(sources.index(s) for s in rule.sources))
        self.sources = tuple(sources)
        self.positions = tuple(positions)
        self.keeps_values = any(s >= OUTPUT for s in sources)
        self.pulls = tuple([(i, 0 if variadic else i, positions[i]) for i, rule in enumerate(rules) if rule is not None and needed[i]])


class Primitive(Facets):
    """A differentiable (or not) operation. Calling it runs it: on raw arrays it returns an array, with a Tensor among the arguments a
    Tensor.

    name: unique; kind: "elementwise", "linear", "bilinear", "primitive" or "constant" (no derivative);
    forward(xp, *arrays, **params): the computation, in terms of the array library `xp`; if it `fills`, it has a further keyword `out`,
    which is no parameter of the operation: a row-major array of the result's shape and dtype to write into (None: make one);
    inputs: names of the inputs; variadic: it takes any number of inputs (its one rule then gets `index`, the input's position, as a
    keyword); pulls, pushes: one Rule per input, None where there is no derivative;
    promote: "same" casts the inputs to a common dtype first, "float" to a floating one too, None leaves them;
    view: the result shares the first input's memory; conjugates: the rules treat complex numbers themselves;
    outputs: number of results (a tuple if not 1); differentiable: which of them have a derivative;
    real_only: complex inputs are refused (what orders or rounds numbers means nothing for them);
    accumulates: it adds or multiplies many numbers, so float16 and bfloat16 inputs are computed in float32, and the result is rounded
    once (ops/sums.py). `forward` then does so, and `direct` is the function as it was declared, for float32 and float64;
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
        self.inputs = tuple(p.name for p in parameters if p.kind is not inspect.Parameter.KEYWORD_ONLY)
        self.variadic = any(p.kind is inspect.Parameter.VAR_POSITIONAL for p in parameters)
        self.keywords = tuple(p.name for p in parameters if p.kind is inspect.Parameter.KEYWORD_ONLY and p.name != "out")
        self.fills = any(p.name == "out" for p in parameters)
        self.name, self.kind = name, kind
        self.forward = accumulating(forward) if accumulates else forward
        self.direct = forward
        self.__doc__ = inspect.getdoc(forward) or f"The operation {name}({', '.join(self.inputs)})."
        self.promote, self.view, self.conjugates = promote, view, conjugates
        self.outputs, self.differentiable = outputs, tuple(differentiable or (kind != "constant",) * outputs)
        self.symbol = symbol or name
        self.real_only, self.accumulates = real_only, accumulates
        if kind != "constant" and len(pulls) != len(self.inputs):
            found = ", ".join(self.inputs) or "none"
            raise TypeError(
                f"{name}: one rule for each input is needed, but got {len(pulls)} for {len(self.inputs)} (inputs: {found}). The first "
                "parameter of the forward function is the array library, as in lambda xp, x: xp.sin(x); the inputs come after it."
            )
        self.pulls = tuple(self._rule(p) for p in pulls)
        self.pushes = self.pulls if pushes is None else tuple(self._rule(p) for p in pushes)
        self.elementwise = kind == "elementwise"
        self.declare(kind, self.inputs, facets)
        self.plans: dict[int, Plan] = {}
        self.run_one: Callable[..., Any] | None = None
        self.run_two: Callable[..., Any] | None = None
        if name in registry:
            raise ValueError(f"an operation named {name} exists already; choose another name (a notebook's cell can declare it once).")
        registry[name] = self
        for tell in declared:
            tell(self)

    def __setattr__(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)
        if name == "forward":  # whoever replaces the computation replaces it for every dtype
            self.direct = value

    def _rule(self, function: RuleFunction | None) -> Rule | None:
        return None if function is None else Rule(function, self.inputs, self.name)

    def plan(self, mask: int) -> Plan:
        """What to keep for inputs with history as in `mask`: the bits after the leading 1, one an input, in order. Found once, then kept
        in `plans`."""
        needed = tuple(bit == "1" for bit in f"{mask:b}"[1:])
        made = self.plans[mask] = Plan(self.pulls * len(needed) if self.variadic else self.pulls, needed, self.variadic)
        return made

    def pull_rule(self, index: int) -> Rule | None:
        """The rule that carries a cotangent of the output to input `index`."""
        return (self.pulls[0] if self.pulls else None) if self.variadic else self.pulls[index]

    def push_rule(self, index: int) -> Rule | None:
        """The rule that carries a tangent of input `index` to the output."""
        return (self.pushes[0] if self.pushes else None) if self.variadic else self.pushes[index]

    def __call__(self, *args: Any, **params: Any) -> Tensor:
        try:
            count = len(args)
            if count == 1:
                run: Callable[..., Tensor] = self.run_one or self._connect(1)
                return run(args[0], params)
            if count == 2:
                both: Callable[..., Tensor] = self.run_two or self._connect(2)
                return both(args[0], args[1], params)
            made: Tensor = apply(self, args, params)
            return made
        except TypeError:
            self._check_call(len(args), params)
            raise

    def _check_call(self, count: int, params: dict[str, Any]) -> None:
        """Raise TypeError, naming the operation and its arguments, if a call has too many or too few."""
        named = {p.name: p for p in inspect.signature(self.forward).parameters.values()}
        missing = [k for k in self.keywords if k not in params and named[k].default is inspect.Parameter.empty]
        unknown = [k for k in params if k not in self.keywords]
        wrong = [] if self.variadic or count == len(self.inputs) else [f"got {count} operand{'s' if count != 1 else ''}"]
        wrong += [f"{k} is missing" for k in missing] + [f"{k} is unknown" for k in unknown]
        if wrong:
            call = ", ".join([*(f"*{n}" if self.variadic else n for n in self.inputs), *(f"{k}=" for k in self.keywords)])
            raise TypeError(f"the operation is {self.name}({call}): {', '.join(wrong)}.") from None

    def _connect(self, count: int) -> Callable[..., Any]:
        """The engine's short way for calls with one operand, or with two; it is made at the first such call."""
        if count == 1:
            self.run_one = on_one(self)
            return self.run_one
        self.run_two = on_two(self)
        return self.run_two

    def __repr__(self) -> str:
        return f"<{self.kind} operation {self.name}({', '.join(self.inputs)})>"

    def __reduce__(self) -> tuple[Any, ...]:
        return (registry.__getitem__, (self.name,))


def accumulating(forward: Callable[..., Any]) -> Callable[..., Any]:
    """A forward function that computes float16 and bfloat16 in float32, and rounds its results to the inputs' dtype."""

    @functools.wraps(forward)
    def run(xp: Any, *arrays: Any, out: Any = None, **params: Any) -> Any:
        dtype = next((a.dtype for a in arrays if hasattr(a, "dtype") and is_narrow(a.dtype)), None)
        if dtype is None:
            return forward(xp, *arrays, **params) if out is None else forward(xp, *arrays, out=out, **params)
        wide = [a.astype(float32) if hasattr(a, "dtype") and is_narrow(a.dtype) else a for a in arrays]
        with ignore_float_errors():  # a number too large for the dtype becomes infinity
            result = forward(xp, *wide, **params)
            if isinstance(result, tuple):
                return tuple(r.astype(dtype) for r in result)
            if out is None:
                return result.astype(dtype)
            out[...] = result
            return out

    return run


def in_float32(function: Function) -> Function:
    """A derivative rule or a public function that computes float16 and bfloat16 in float32, and rounds its results to the dtype that the
    operands promote to. For what squares or multiplies before it adds, so that only the result can overflow.
    """

    @functools.wraps(function)
    def run(*args: Any, **params: Any) -> Any:
        for a in args:
            if is_narrow(getattr(a, "dtype", None)):
                break
        else:
            return function(*args, **params)
        dtypes = {a.dtype for a in args if hasattr(a, "dtype") and is_differentiable(a.dtype) and a.ndim}
        dtypes = dtypes or {a.dtype for a in args if is_narrow(getattr(a, "dtype", None))}
        cast = registry["cast"]
        result = function(*(cast(a, dtype=float32) if is_narrow(getattr(a, "dtype", None)) else a for a in args), **params)
        dtype = dtypes.pop()
        if dtypes or not is_narrow(dtype):
            return result
        if isinstance(result, tuple):
            return tuple(cast(r, dtype=dtype) for r in result)
        return cast(result, dtype=dtype)

    return run  # type: ignore[return-value]


def _not_connected(primitive: Primitive, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
    raise RuntimeError("minigrad.engine must be imported before an operation is called.")


apply: Callable[[Primitive, tuple[Any, ...], dict[str, Any]], Any] = _not_connected
"""Runs an operation; engine/record.py puts itself here, so that declarations need not know the engine."""


def _no_short_way(prim: Primitive) -> Callable[..., Any]:
    raise RuntimeError("minigrad.engine must be imported before an operation is called.")


on_one: Callable[[Primitive], Callable[..., Any]] = _no_short_way
on_two: Callable[[Primitive], Callable[..., Any]] = _no_short_way
"""An operation as a function of one operand and parameters, and as one of two; engine/direct.py puts its own here."""


def elementwise(
    name: str, forward: Callable[..., Any], *rules: RuleFunction | None, promote: str | None = "same", **options: Any
) -> Primitive:
    """Declare y[i] = f(a[i], b[i], …): one rule per input, serving both modes. Operands broadcast; the engine sums gradients back."""
    return Primitive(name, "elementwise", forward, rules, promote=promote, **options)


def linear(name: str, forward: Callable[..., Any], transpose: RuleFunction, **options: Any) -> Primitive:
    """Declare a map linear in its one input (keyword parameters fixed): the push is the map itself, the pull its transpose."""
    declared = Primitive(name, "linear", forward, (transpose,), **options)
    keywords = declared.keywords

    def push(t: Any, **params: Any) -> Any:
        return declared(t, **params)

    rule = Rule.__new__(Rule)
    rule.function, rule.sources, rule.keywords = push, (), keywords
    declared.pushes = (rule,)
    return declared


def bilinear(name: str, forward: Callable[..., Any], left: RuleFunction, right: RuleFunction, **options: Any) -> Primitive:
    """Declare a map linear in each of its two inputs: two transposes give the pulls, the map itself the pushes."""
    declared = Primitive(name, "bilinear", forward, (left, right), promote=options.pop("promote", "same"), **options)
    for index, push in enumerate(
        (lambda t, other, **params: declared(t, other, **params), lambda t, other, **params: declared(other, t, **params))
    ):
        rule = Rule.__new__(Rule)
        rule.function, rule.sources, rule.keywords = push, (1 - index,), declared.keywords
        declared.pushes = (*declared.pushes[:index], rule, *declared.pushes[index + 1 :])
    return declared


def primitive(
    name: str, forward: Callable[..., Any], pulls: Sequence[RuleFunction | None], pushes: Sequence[RuleFunction | None], **options: Any
) -> Primitive:
    """Declare the general case: a pull and a push rule for each input."""
    return Primitive(name, "primitive", forward, pulls, pushes, **options)


def constant(name: str, forward: Callable[..., Any], **options: Any) -> Primitive:
    """Declare an operation without a derivative (comparisons, rounding to indices): its result never requires grad."""
    return Primitive(name, "constant", forward, **options)


def predicate(name: str, forward: Callable[..., Any], **options: Any) -> Primitive:
    """Declare an element-wise question, answered by booleans."""
    return constant(name, forward, pointwise=True, dtype="bool", **options)
