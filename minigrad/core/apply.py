"""What happens when an operation is called: promote, compute, record, push tangents.

Arrays in, array out: a derivative rule computes. With a Tensor among the arguments, a Tensor out.
If an input has a node and recording is on, the result gets a node, which saves exactly the values
that the derivative rules name. If an input has tangents, the result gets tangents.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import backend, explain
from ..backend import FAST_DTYPES, MODULES, PYTHON_SCALARS, is_differentiable
from . import forward, observe, primitive
from .graph import Parents, state
from .primitive import Args, Params, Primitive
from .tensor import Payload, Tensor, as_tensor, make_node, make_pick, wrap
from .views import mark_view


def apply(prim: Primitive, args: Args, params: Params) -> Any:
    """Run an operation on tensors, arrays and numbers; observers see it.

    Raises ShapeError, DTypeError, DeviceError, or what the array library raises.
    """
    try:
        tensors = [a for a in args if isinstance(a, Tensor)]
        for a in tensors:
            kind: Any = type(a)
            if kind is not Tensor:  # a node of a static graph
                return kind.__minigrad_apply__(prim, args, params)
        operands = promote_operands(prim, args) if tensors else args
        run = apply_to_tensors if tensors else _apply_to_arrays
        if not observe.observers:
            return run(prim, operands, params)
        # Observers see what was given, and the casts of tensors as operations of their own.
        pairs = zip(args, operands, strict=True)
        shown = tuple([o if type(a) is Tensor else a for a, o in pairs])
        observed = lambda *_: run(prim, operands, params)
        return observe.run_observed("forward", prim, shown, params, observed)
    except (ValueError, TypeError) as error:
        reason = explain.wrong_operands(prim, args, params, error)
        if reason is not None:
            raise reason from None
        raise
    except OverflowError as error:  # NumPy refuses Python integers that the dtype cannot hold
        wrapped = explain.integers_in_range(args, error)
        if wrapped is None:
            raise
        return apply(prim, wrapped, params)


def apply_to_tensors(prim: Primitive, args: Args, params: Params) -> Any:
    """Run an operation on promoted operands: tensors and Python numbers."""
    for a in args:
        if type(a) is Tensor and a.view_of is not None:
            a.view_of.refresh(a)
    arrays = [a.array if type(a) is Tensor else a for a in args]
    parents = [a.node if type(a) is Tensor else None for a in args]
    recorded = state.recording and prim.kind != "constant" and any(parents)
    if recorded:
        for array in arrays:
            if isinstance(array, Payload):
                rewritten = array.__minigrad_rewrite__(prim, args, params)
                if rewritten is not None:
                    return rewritten
    result = compute(prim, arrays, params)
    outs = (wrap(result),) if prim.outputs == 1 else tuple(map(wrap, result))
    if prim.view:  # before the node: it may save the result, whose version counter this sets
        mark_view(prim, args[0], params, outs[0])
    if recorded:
        record(prim, args, parents, params, outs)
    if prim.kind != "constant" and any([type(a) is Tensor and a.tangents for a in args]):
        forward.push(prim, args, params, outs)
    return outs[0] if prim.outputs == 1 else outs


def record(
    prim: Primitive, args: Args, parents: Parents, params: Params, outs: tuple[Tensor, ...]
) -> None:
    """Give the results of a recorded operation their nodes: for several results, Picks of one."""
    able = zip(prim.differentiable, outs, strict=True)
    places = [i for i, (d, out) in enumerate(able) if d and is_differentiable(out.array.dtype)]
    if not places:
        return
    node = make_node(prim, args, parents, params, outs)
    for i in places:
        outs[i].node = node if prim.outputs == 1 else make_pick(node, i)


def _apply_to_arrays(prim: Primitive, args: Args, params: Params) -> Any:
    """A rule's values have one dtype already, but a floating function may meet integers."""
    if prim.promote == "float" and args and all(_is_integer(a) for a in args):
        args = tuple(_floating(a) for a in args)
    return compute(prim, args, params)


def _is_integer(value: Any) -> bool:
    dtype = getattr(value, "dtype", None)
    return dtype is None or dtype.kind in "iub"


def _floating(value: Any) -> Any:
    if hasattr(value, "astype"):
        return value.astype(backend.default_dtype())
    return float(value) if type(value) in (bool, int) else value


def compute(prim: Primitive, arrays: Any, params: Params) -> Any:
    """The forward function on arrays. A payload that runs operations itself is asked instead."""
    for a in arrays:
        if isinstance(a, Payload):
            return a.__minigrad_apply__(prim, arrays, params)
    library = backend.array_module(arrays, prim.name)
    with backend.device_context(library, arrays, prim.name):
        result = prim.forward(library, *arrays, **params)
    if prim.outputs == 1:
        return backend.canonical(result)
    return tuple([backend.canonical(r) for r in result])


def promote_operands(prim: Primitive, args: Args) -> tuple[Any, ...]:
    """Operands of one dtype, by PyTorch's rules; raw arrays become constant tensors."""
    if _is_plain(args):
        return args
    operands = [_operand(a) for a in args]
    if prim.real_only:
        explain.refuse_complex(prim, operands)
    if prim.promote is None:
        return tuple(operands)
    first = 1 if prim.promote == "branches" else 0
    dtype = backend.result_type([o.array if type(o) is Tensor else o for o in operands[first:]])
    if prim.promote == "float" and not is_differentiable(dtype):
        dtype = backend.default_dtype()
    cast = primitive.registry["cast"]
    for i, given in enumerate(args):
        operand = operands[i]
        if i < first:
            continue
        if type(operand) is Tensor:
            if operand.array.dtype != dtype:
                if operand is given:
                    operands[i] = cast(operand, dtype=dtype)
                else:  # the conversion of a raw array is not recorded
                    operands[i] = wrap(compute(cast, [operand.array], {"dtype": dtype}))
        elif type(operand) in PYTHON_SCALARS and dtype.kind == "V":
            operands[i] = wrap(backend.as_payload(operand, dtype))  # NumPy would widen bfloat16
    return tuple(operands)


def _is_plain(args: Args) -> bool:
    """Whether these are floating tensors of one dtype and Python numbers: nothing to promote."""
    dtype = None
    for a in args:
        if type(a) is Tensor:
            own = a.array.dtype
            if own not in FAST_DTYPES or (dtype is not None and own != dtype):
                return False
            dtype = own
        elif type(a) is not float and type(a) is not int:
            return False
    return True


def _operand(value: Any) -> Any:
    """A NumPy scalar counts as a Python number, as in PyTorch; an array or a list as a tensor."""
    if type(value) is Tensor or type(value) in PYTHON_SCALARS:
        return value
    if isinstance(value, backend.numpy.generic):
        return value.item()
    known = MODULES.get(type(value)) is not None
    is_array = known or hasattr(value, "__array__") or isinstance(value, list | tuple)
    return as_tensor(value) if is_array else value


def function_of_one(prim: Primitive, params: Params, into: Callable[..., Any]) -> Any:
    """The function that users call for an operation of one operand, such as `mg.log(x)`.

    into: what writes a result into `out=` (names.py).
    """

    def function(input: Any, *, out: Any = None) -> Tensor:
        if out is not None:
            return into(out, function(input), prim.name, (input,))  # type: ignore[no-any-return]
        return prim.on_one(input if type(input) is Tensor else as_tensor(input), params)

    return function


def function_of_two(prim: Primitive, into: Callable[..., Any]) -> Any:
    """The function that users call for an operation of two operands, such as `mg.mul(a, b)`."""

    def function(input: Any, other: Any, *, out: Any = None) -> Tensor:
        if out is not None:
            made = function(input, other)
            return into(out, made, prim.name, (input, other))  # type: ignore[no-any-return]
        if not isinstance(input, Tensor) and not isinstance(other, Tensor):
            input = as_tensor(input)
        return prim(input, other)

    return function


def operator_of(operation: Callable[[Any, Any], Any]) -> Any:
    """The method `self op other` of tensors, which leaves foreign types to their own methods."""

    def method(self: Any, other: Any) -> Any:
        suits = type(other) is Tensor or is_operand(other)
        return operation(self, other) if suits else NotImplemented

    return method


def reflected_operator_of(operation: Callable[[Any, Any], Any]) -> Any:
    """The method `other op self`, where `other` is not a tensor."""

    def method(self: Any, other: Any) -> Any:
        suits = type(other) in MODULES or is_operand(other)
        return operation(other, self) if suits else NotImplemented

    return method


def is_operand(value: Any) -> bool:
    """Whether operations take `value`; Python asks other types for their own operators."""
    kind = type(value)
    return (
        kind in MODULES
        or isinstance(value, Tensor | list | tuple)
        or hasattr(value, "__array__")
        or hasattr(kind, "__minigrad_apply__")
    )


primitive.run = apply
