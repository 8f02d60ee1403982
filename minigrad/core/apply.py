"""What happens when an operation is called: promote, compute, mark a view, record, push tangents.

With a Tensor among the operands the result is a Tensor. If it can have a derivative, it gets a node
where an operand has one and recording is on (the node saves the values that the rules of inputs
with a node name), and tangents where an operand has tangents of open levels. With arrays alone the
result is an array, and nothing is recorded: so do rules compute in an ordinary backward pass.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from .. import backend, explain
from ..backend import MODULES, NUMPY_PAYLOADS, PYTHON_SCALARS, canonical, ignore_float_errors
from . import forward, observe, primitive
from .graph import state
from .primitive import Args, Params, Primitive
from .tensor import Payload, Tensor, as_tensor, current_node, record, wrap
from .views import mark_view

_PLAIN = frozenset((Tensor, float, int))
"""Operands of these types need no promotion if the tensors' arrays are `_ALIKE`."""
_ALIKE = [{(host, dtype)} for host in (True, False) for dtype in backend.SINGLE_OR_DOUBLE]
"""The sets of (whether a tensor is in host memory, its dtype) that make promotion unnecessary."""


def apply(prim: Primitive, args: Args, params: Params) -> Any:
    """Run an operation on tensors, arrays and numbers; observers see the event "forward".

    Raises ShapeError, DTypeError, DeviceError, or what the array library raises.
    """
    try:
        for a in args:
            if type(a) is not Tensor and issubclass(type(a), Tensor):  # a symbolic tensor
                return type(a).__minigrad_apply__(prim, args, params)
        operands = promote_operands(prim, args)
        call: Any = apply_to_tensors if Tensor in map(type, args) else compute
        if not observe.observers:
            return call(prim, operands, params)
        # Observers see tensors after promotion (a cast is its own event), other operands as given.
        both = zip(args, operands, strict=True)
        shown = args if args is operands else tuple(o if type(a) is Tensor else a for a, o in both)
        action = partial(call, prim, operands, params)
        return observe.run_observed("forward", prim, shown, params, action)
    except (ValueError, TypeError) as error:
        reason = explain.wrong_operands(prim, args, params, error)
        if reason is not None:
            raise reason from None
        raise


def apply_to_tensors(prim: Primitive, args: Args, params: Params) -> Any:
    """Run an operation on promoted operands: tensors and Python numbers."""
    parents = [current_node(a) if type(a) is Tensor else None for a in args]
    arrays = [a.array if type(a) is Tensor else a for a in args]
    recorded = state.recording and prim.kind != "constant" and any(parents)
    for payload in [a for a in arrays if recorded and isinstance(a, Payload)]:
        rewritten = payload.__minigrad_rewrite__(prim, args, params)
        if rewritten is not None:
            return rewritten
    result = compute(prim, arrays, params)
    outs = tuple(map(wrap, (result,) if prim.outputs == 1 else result))
    if prim.view:  # before `record`, which may save the result with its version counter
        mark_view(prim, args[0], params, outs[0])
    if recorded:
        record(prim, args, parents, params, outs)
    if prim.kind != "constant" and any([type(a) is Tensor and a.tangents for a in args]):
        forward.push_tangents(prim, args, params, outs)
    return outs[0] if prim.outputs == 1 else outs


def compute(prim: Primitive, arrays: Sequence[Any], params: Params) -> Any:
    """The result of the forward function on arrays, or what the first `Payload` computes."""
    if payloads := [a for a in arrays if isinstance(a, Payload)]:
        return payloads[0].__minigrad_apply__(prim, arrays, params)
    declared = backend.NOT_UPCAST.issuperset([getattr(a, "dtype", None) for a in arrays])
    with backend.library_of(arrays, prim.name) as library, ignore_float_errors(not declared):
        result = (prim.declared_forward if declared else prim.forward)(library, *arrays, **params)
    return canonical(result) if prim.outputs == 1 else tuple(map(canonical, result))


def promote_operands(prim: Primitive, args: Args) -> Args:
    """Operands of one dtype, by PyTorch's rules; arrays beside tensors become constant tensors."""
    if Tensor not in map(type, args):  # as a rule calls it, whose arrays have one dtype
        return _floating(args) if prim.promote == "float" else args
    kinds = {(type(a.array) in NUMPY_PAYLOADS, a.array.dtype) for a in args if type(a) is Tensor}
    if kinds in _ALIKE and _PLAIN.issuperset(map(type, args)):
        return args
    device = backend.device_for_numbers([a.array for a in args if type(a) is Tensor])
    if device is not None:  # CPU numbers move there; their gradients move back
        move: Any = partial(primitive.registry["move"], device=device, back="cpu")
        host = [backend.is_host_number(getattr(a, "array", a)) for a in args]
        args = tuple([move(a) if there else a for a, there in zip(args, host, strict=True)])
    operands = [_operand(a) for a in args]
    if prim.real_only:
        explain.refuse_complex(prim, operands)
    if prim.promote is None:
        return tuple(operands)
    first = 1 if prim.promote == "branches" else 0
    dtype = backend.result_type([o.array if type(o) is Tensor else o for o in operands[first:]])
    if int in map(type, operands) and dtype.kind in "iu":
        operands = [prim.integer_operand(o, dtype) for o in operands]
    if prim.promote == "float" and not backend.is_differentiable(dtype):
        dtype = backend.default_dtype()
    targets = prim.dtypes_for(operands[first:], dtype)
    return (*operands[:first], *map(_cast, operands[first:], args[first:], targets))


def _floating(arrays: Args) -> Args:
    """A rule's operands: integers and booleans as floating numbers, if there is nothing else."""
    if any(backend.is_differentiable(a.dtype) for a in arrays if hasattr(a, "dtype")):
        return arrays
    as_float: Any = lambda a: float(a) if isinstance(a, bool | int) else a
    kind = backend.default_dtype()
    return tuple([a.astype(kind) if hasattr(a, "astype") else as_float(a) for a in arrays])


def _operand(value: Any) -> Any:
    """An array or a list as a tensor, a NumPy scalar as a Python number (as in PyTorch)."""
    if type(value) is Tensor or type(value) in PYTHON_SCALARS:
        return value
    if isinstance(value, backend.numpy.generic):
        return value.item()
    known = MODULES.get(type(value)) is not None
    is_array = known or hasattr(value, "__array__") or isinstance(value, list | tuple)
    return as_tensor(value) if is_array else value


def _cast(operand: Any, given: Any, dtype: Any) -> Any:
    """An operand in the common dtype. given: the argument from which `_operand` made it."""
    cast = primitive.registry["cast"]
    if type(operand) is Tensor and operand.array.dtype != dtype:
        if operand is given:
            return cast(operand, dtype=dtype)
        return wrap(compute(cast, [operand.array], {"dtype": dtype}))  # not recorded
    if type(operand) in PYTHON_SCALARS and dtype.name == "bfloat16":
        return wrap(backend.as_payload(operand, dtype))  # NumPy would widen it
    return operand


primitive.apply = apply
