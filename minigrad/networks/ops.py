"""Operations as objects, as MindSpore has them: `sin = ops.Sin(); sin(x)`. And your own, with a
rule in the form (x, out, dout).

    class Cube(ops.Primitive):                     an operation is a class that says how to compute
        def compute(self, x):
            return x * x * x

    @bprop_getters.register(Cube)                 its derivative is registered beside it
    def get_bprop_cube(self):                     called with the operation, to look at its settings
        def bprop(x, out, dout):                  the inputs, the output, the output's cotangent
            return (dout * 3 * x * x,)            one gradient for each input
        return bprop

    y = Cube()(x)

The operations in the table below have the engine's own rules. A rule that is registered for one of
them takes their place.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import functions
from ..autograd.function.bprop import run_with_rule
from ..core.tensor import Tensor, current_node
from ..errors import NotDifferentiableError
from ..grad_mode import is_grad_enabled
from .gradient import GradOperation

BpropGetter = Callable[[Any], Callable[..., Any]]


class Primitive:
    """An operation: `compute(*inputs)` says what it does with tensors; nothing inside it is
    recorded. (The name is MindSpore's; `minigrad.core.primitive.Primitive` is the declaration of an
    operation of the engine.)

    Its derivative is what is registered for its class in `bprop_getters` (a subclass without one
    uses its parent's). Settings are arguments of `__init__`. Raises NotDifferentiableError if it is
    called on something that requires grad and has no rule.
    """

    _function: Callable[..., Any] | None = None
    """Of the operations of the table: the library's function, differentiated by the engine's own
    rules.
    """

    def compute(self, *inputs: Any) -> Any:
        """What the operation computes: a tensor or a tuple of tensors. To be defined by each
        operation of your own.
        """
        if self._function is None:
            raise NotImplementedError(f"{type(self).__name__} does not define compute().")
        return type(self)._function(*inputs, **vars(self))  # type: ignore[misc]

    def __call__(self, *inputs: Any) -> Any:
        getter = bprop_getters.rule_of(type(self))
        if getter is not None:
            return run_with_rule(type(self).__name__, self.compute, getter(self), inputs)
        if self._function is None and is_grad_enabled():
            for i, x in enumerate(inputs):
                if isinstance(x, Tensor) and current_node(x) is not None:
                    raise NotDifferentiableError(
                        f"{type(self).__name__} has no derivative rule, but input {i} requires"
                        f" grad. Register one: @bprop_getters.register({type(self).__name__})."
                    )
        return self.compute(*inputs)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{k}={v!r}' for k, v in vars(self).items())})"


class BpropRegistry(dict[type, BpropGetter]):
    """Derivative rules by operation class. `del bprop_getters[P.Sin]` takes a rule back."""

    def register(self, operation: type) -> Callable[[BpropGetter], BpropGetter]:
        """Decorate a function `getter(self)` that is given the operation and returns
        `bprop(*inputs, out, dout)`.

        bprop returns a tuple with one gradient for each input, in its shape and dtype; `out` and
        `dout` are tuples if the operation has several results. Raises TypeError for what is no
        class of operations.
        """
        if not (isinstance(operation, type) and issubclass(operation, Primitive)):
            raise TypeError(
                "bprop_getters.register: needs a class of operations (a subclass of"
                f" ops.Primitive), got {operation!r}."
            )

        def note(getter: BpropGetter) -> BpropGetter:
            self[operation] = getter
            return getter

        return note

    def rule_of(self, operation: type) -> BpropGetter | None:
        """The rule of an operation, or of the nearest class that it is derived from."""
        return next((self[cls] for cls in operation.__mro__ if cls in self), None)


bprop_getters = BpropRegistry()
"""All registered rules."""


# -------------------------------------------------------------------------- the table of operations


def _operation(name: str, function: Callable[..., Any], **settings: Any) -> type[Primitive]:
    """An operation class for a function of the library. settings: the keyword arguments that
    `__init__` takes, with their defaults.
    """

    def __init__(self: Any, **given: Any) -> None:
        unknown = given.keys() - settings.keys()
        if unknown:
            raise TypeError(
                f"{name}: has no setting {min(unknown)!r}; it has {', '.join(settings) or 'none'}."
            )
        vars(self).update(settings | given)

    doc = (function.__doc__ or "").strip()
    return type(
        name,
        (Primitive,),
        {
            "__init__": __init__,
            "_function": staticmethod(function),
            "__doc__": doc,
            "__module__": __name__,
        },
    )


def _reduce(function: Callable[..., Any]) -> Callable[..., Any]:
    def reduced(x: Any, axis: Any = (), *, keep_dims: bool = False) -> Any:
        return function(x, None if axis == () else axis, keepdim=keep_dims)

    reduced.__doc__ = function.__doc__
    return reduced


Abs = _operation("Abs", functions.abs)
ACos = _operation("ACos", functions.acos)
Add = _operation("Add", functions.add)
Asin = _operation("Asin", functions.asin)
Atan = _operation("Atan", functions.atan)
Concat = _operation("Concat", lambda xs, *, axis: functions.cat(xs, axis), axis=0)
Cos = _operation("Cos", functions.cos)
Cosh = _operation("Cosh", functions.cosh)
Div = _operation("Div", functions.div)
Erf = _operation("Erf", functions.erf)
Exp = _operation("Exp", functions.exp)
Expm1 = _operation("Expm1", functions.expm1)
Log = _operation("Log", functions.log)
Log1p = _operation("Log1p", functions.log1p)
MatMul = _operation("MatMul", functions.matmul)
Maximum = _operation("Maximum", functions.maximum)
Minimum = _operation("Minimum", functions.minimum)
Mul = _operation("Mul", functions.mul)
Neg = _operation("Neg", functions.neg)
OnesLike = _operation("OnesLike", functions.ones_like)
Pow = _operation("Pow", functions.pow)
ReduceMean = _operation("ReduceMean", _reduce(functions.mean), keep_dims=False)
ReduceSum = _operation("ReduceSum", _reduce(functions.sum), keep_dims=False)
Reciprocal = _operation("Reciprocal", functions.reciprocal)
ReLU = _operation("ReLU", functions.relu)
Reshape = _operation("Reshape", lambda x, shape: functions.reshape(x, shape))
Rsqrt = _operation("Rsqrt", functions.rsqrt)
Sigmoid = _operation("Sigmoid", functions.sigmoid)
Sign = _operation("Sign", functions.sign)
Sin = _operation("Sin", functions.sin)
Sinh = _operation("Sinh", functions.sinh)
Softmax = _operation("Softmax", lambda x, *, axis: functions.softmax(x, axis), axis=-1)
Sqrt = _operation("Sqrt", functions.sqrt)
Square = _operation("Square", functions.square)
Sub = _operation("Sub", functions.sub)
Tan = _operation("Tan", functions.tan)
Tanh = _operation("Tanh", functions.tanh)
Transpose = _operation("Transpose", lambda x, perm: functions.permute(x, perm))
ZerosLike = _operation("ZerosLike", functions.zeros_like)

__all__ = ["BpropRegistry", "GradOperation", "Primitive", "bprop_getters"]
__all__ += [
    name
    for name, value in list(globals().items())
    if isinstance(value, type) and Primitive in value.__mro__[1:]
]
