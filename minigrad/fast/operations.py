"""Operations on operands that need nothing special: arrays in host memory, numbers, no observers.

`core.apply` handles any number of operands of any kind. Almost all calls are of one kind, though,
and on small tensors what they pay for is not arithmetic but looking at the operands. So for each
operation there is a function of exactly one operand, of two, or of more, which asks no more than it
must: are these float32 or float64 in host memory (or Python numbers beside such)? Then it computes,
and makes the node that `apply` would make; all else it leaves to `apply`. Errors
too: where a kernel refuses its operands, `apply` raises the error that says why.

Written out step by step, where calls of small functions would read better: a call costs 0.05 µs, an
addition of four numbers 0.25.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import explain
from ..backend import (
    IMMUTABLE,
    SINGLE_OR_DOUBLE,
    NumpyArray,
    broadcast_rows,
    canonical,
    float32,
    float64,
    numpy,
    overlaps_itself,
)
from ..core import primitive
from ..core.forward import push_tangents
from ..core.graph import OpNode, next_sequence_number, state
from ..core.observe import observation, observers
from ..core.primitive import NO_PARAMS, OUTPUT, SHAPES, Plan, Primitive
from ..core.tensor import Tensor, ensure_version, record, wrap
from ..core.views import mark_view

_NUMBERS = frozenset((float, int))
_new_tensor = Tensor.__new__
_new_node = OpNode.__new__


def is_simple(prim: Primitive, operands: int) -> bool:
    """Whether the operation takes so many operands and gives one result, whose dtype they
    decide."""
    fixed = prim.outputs == 1 and not prim.variadic and "dtype" not in prim.keywords
    return fixed and len(prim.inputs) == operands


def _plan(prim: Primitive, plans: dict[int, Plan], mask: int) -> Plan:
    """What a node keeps for inputs of which those need a gradient whose bit in `mask` is set: the
    bits after the leading 1, one for each input."""
    if len(plans) >= 1000:  # of a variadic operation
        plans.clear()
    plan = plans[mask] = prim.plan(tuple([bit == "1" for bit in f"{mask:b}"[1:]]))
    return plan


def call(self: Any, *args: Any, **params: Any) -> Any:
    """What takes the place of `Primitive.__call__`."""
    try:
        count = len(args)
        if count == 1:
            return self.call_unary(args[0], params)
        if count == 2:
            return self.call_binary(args[0], args[1], params)
        return self.call_nary(args, params)
    except TypeError as error:
        wrong = explain.wrong_operands(self, args, params, error)
        if wrong is not None:
            raise wrong from None
        raise


# Long: a closure that calls as little as it can.
def call_unary(prim: Primitive) -> Callable[..., Any]:
    """`prim` as a function of one operand and a dictionary of parameters: of a tensor, or of an
    array where a derivative rule calls."""

    if not is_simple(prim, 1):
        many = call_nary(prim)
        return lambda a, params=NO_PARAMS: many((a,), params)

    def otherwise(a: Any, params: dict[str, Any] = NO_PARAMS) -> Any:
        return primitive.apply(prim, (a,), params)

    plans: dict[int, Plan] = {}
    view, recorded = prim.view, prim.kind != "constant"

    def run(a: Any, params: dict[str, Any] = NO_PARAMS) -> Any:
        if observers and observation.listening:
            return otherwise(a, params)
        x = a
        kind = type(a)
        if kind is Tensor:
            if a.view_of is not None:
                a.view_of.refresh(a)
            x = a.array
            kind = type(x)
        if kind is NumpyArray:
            dtype = x.dtype
            if dtype is not float32 and dtype is not float64:
                return otherwise(a, params)
        elif kind not in IMMUTABLE:
            return otherwise(a, params)
        try:
            y = (
                prim.declared_forward(numpy, x, **params)
                if params
                else prim.declared_forward(numpy, x)
            )
        except ValueError:
            return otherwise(a, params)
        kind = type(y)
        if kind is NumpyArray:
            if not y.ndim:
                y = canonical(y)
        elif kind not in IMMUTABLE:
            y = canonical(y)
        if x is a:
            return y
        out = _new_tensor(Tensor)
        out.array = y
        out.tangents = out.version = out.view_of = out.stored_grad = None
        if view:
            mark_view(prim, a, params, out)
            y = out.array
        parent = a.node
        if parent is None or not recorded or not state.recording:
            out.node = None
        else:
            try:
                plan = plans[0b11]
            except KeyError:
                plan = _plan(prim, plans, 0b11)
            node = out.node = _new_node(OpNode)
            node.sequence_number, node.parents = next_sequence_number(), (parent,)
            node.primitive, node.params, node.plan = prim, params, plan
            node.shape, node.dtype = y.shape, y.dtype
            node.unbroadcast = node.hooks = node.retained = node.saved_tangents = None
            if plan.sources:
                _keep(node, plan.sources, (a, out), (x, y))
            else:
                node.saved = node.versions = ()
        if recorded and a.tangents is not None:
            push_tangents(prim, (a,), params, (out,))
        return out

    return run


# Long: a closure that calls as little as it can.
def call_binary(prim: Primitive, otherwise: Callable[..., Any] | None = None) -> Callable[..., Any]:
    """`prim` as a function of two operands and a dictionary of parameters: of tensors and numbers,
    or of arrays in a derivative rule.

    otherwise: what is called for all else with the same arguments, in the place of `apply`.
    """
    general = otherwise or (lambda a, b, params=NO_PARAMS: primitive.apply(prim, (a, b), params))
    if not is_simple(prim, 2):
        many = call_nary(prim)
        return otherwise or (lambda a, b, params=NO_PARAMS: many((a, b), params))
    plans: dict[int, Plan] = {}
    view, recorded, elementwise = prim.view, prim.kind != "constant", prim.elementwise

    # Long: straight-line code.
    def run(a: Any, b: Any, params: dict[str, Any] = NO_PARAMS) -> Any:
        if observers and observation.listening:
            return general(a, b, params)
        x, y = a, b
        left = right = tangents = None
        first = type(a)
        if first is Tensor:
            if a.view_of is not None:
                a.view_of.refresh(a)
            x, left, tangents = a.array, a.node, a.tangents
            first = type(x)
        second = type(b)
        if second is Tensor:
            if b.view_of is not None:
                b.view_of.refresh(b)
            if b.tangents is not None:
                tangents = b.tangents
            y, right = b.array, b.node
            second = type(y)
        if first is NumpyArray or first in IMMUTABLE:
            dtype = x.dtype
            if second is NumpyArray or second in IMMUTABLE:
                if y.dtype is not dtype or (x is a) is not (y is b):  # an array has to be copied
                    return general(a, b, params)
            elif second not in _NUMBERS or not elementwise:
                return general(a, b, params)
        elif elementwise and first in _NUMBERS and (second is NumpyArray or second in IMMUTABLE):
            dtype = y.dtype
        else:
            return general(a, b, params)
        if dtype is not float32 and dtype is not float64:
            return general(a, b, params)
        alike = first is not NumpyArray or second is not NumpyArray or x.shape == y.shape
        try:
            if not alike and elementwise:
                z = broadcast_rows(prim.declared_forward, x, y, params)
            else:
                z = (
                    prim.declared_forward(numpy, x, y, **params)
                    if params
                    else prim.declared_forward(numpy, x, y)
                )
        except ValueError:
            return general(a, b, params)
        kind = type(z)
        if kind is NumpyArray:
            if not z.ndim:
                z = canonical(z)
        elif kind not in IMMUTABLE:
            z = canonical(z)
        if x is a and y is b:
            return z
        out = _new_tensor(Tensor)
        out.array = z
        out.tangents = out.version = out.view_of = out.stored_grad = None
        if view:
            mark_view(prim, a, params, out)
            z = out.array
        if (left is None and right is None) or not recorded or not state.recording:
            out.node = None
        else:
            mask = 0b101 if left is None else 0b110 if right is None else 0b111
            try:
                plan = plans[mask]
            except KeyError:
                plan = _plan(prim, plans, mask)
            node = out.node = _new_node(OpNode)
            node.sequence_number, node.parents = next_sequence_number(), (left, right)
            node.primitive, node.params, node.plan = prim, params, plan
            shape = node.shape = z.shape
            node.dtype = z.dtype
            node.unbroadcast = node.hooks = node.retained = node.saved_tangents = None
            if shape and elementwise and not (alike and first is second):
                before = None if left is None or x.shape == shape else x.shape
                after = None if right is None or y.shape == shape else y.shape
                if before is not None or after is not None:
                    node.unbroadcast = (before, after)
            if plan.sources:
                _keep(node, plan.sources, (a, b, out), (x, y, z))
            else:
                node.saved = node.versions = ()
        if tangents is not None and recorded:
            push_tangents(prim, (a, b), params, (out,))
        return out

    return run


# Long: a closure that calls as little as it can.
def call_nary(prim: Primitive) -> Callable[..., Any]:
    """`prim` as a function of a tuple of operands and a dictionary of parameters."""

    def otherwise(args: tuple[Any, ...], params: dict[str, Any]) -> Any:
        return primitive.apply(prim, args, params)

    first = 1 if prim.promote == "branches" else 0  # whose dtype does not count
    simple = prim.outputs == 1 and "dtype" not in prim.keywords
    plans: dict[int, Plan] = {}
    elementwise = prim.elementwise
    count = None if prim.variadic else len(prim.inputs)
    single, view, recorded = prim.outputs == 1, prim.view, prim.kind != "constant"

    # Long: straight-line code.
    def run(args: tuple[Any, ...], params: dict[str, Any]) -> Any:
        listening = observers and observation.listening
        if listening or (count is not None and len(args) != count):
            return otherwise(args, params)
        arrays: list[Any] = []
        parents: list[Any] = []
        dtype = None
        mask = 1
        tensors = raw = dual = False
        for a in args:
            x = a
            parent = None
            if type(a) is Tensor:
                if a.view_of is not None:
                    a.view_of.refresh(a)
                if a.tangents is not None:
                    dual = True
                x, parent, tensors = a.array, a.node, True
            if type(x) is NumpyArray or type(x) in IMMUTABLE:
                if x.dtype is not dtype and len(arrays) >= first:
                    if dtype is not None or x.dtype not in SINGLE_OR_DOUBLE:
                        return otherwise(args, params)
                    dtype = x.dtype
                if x is a:
                    raw = True
            elif type(x) not in _NUMBERS:
                return otherwise(args, params)
            arrays.append(x)
            parents.append(parent)
            mask = mask << 1 if parent is None else mask << 1 | 1
        if dtype is None or (tensors and raw):
            return otherwise(args, params)
        try:
            result = prim.declared_forward(numpy, *arrays, **params)
        except ValueError:
            return otherwise(args, params)
        results = [canonical(result)] if single else [canonical(y) for y in result]
        if not tensors:
            return results[0] if single else tuple(results)
        outs = tuple([wrap(y) for y in results])
        if view:
            mark_view(prim, args[0], params, outs[0])
            results[0] = outs[0].array
        if mask & (mask - 1) and recorded and state.recording:
            if not simple:
                record(prim, args, parents, params, outs)
            else:
                plan = plans.get(mask) or _plan(prim, plans, mask)
                node = outs[0].node = _new_node(OpNode)
                node.sequence_number, node.parents = next_sequence_number(), tuple(parents)
                node.primitive, node.params, node.plan = prim, params, plan
                shape = node.shape = results[0].shape
                node.dtype = results[0].dtype
                node.unbroadcast = node.hooks = node.retained = node.saved_tangents = None
                if elementwise and shape:
                    shapes = [None if p is None else x.shape for x, p in zip(arrays, parents)]  # noqa: B905
                    if any([s is not None and s != shape for s in shapes]):
                        node.unbroadcast = tuple([None if s == shape else s for s in shapes])
                _keep(node, plan.sources, (*args, outs[0]), (*arrays, results[0]))
        if dual and recorded:
            push_tangents(prim, args, params, outs)
        return outs[0] if single else outs

    return run


def on_itself(
    kernel: Callable[[Any, Any], Any], otherwise: Callable[[Any, Any], Any]
) -> Callable[[Any, Any], Any]:
    """`a op= b` in the memory of `a`, by a kernel such as `operator.isub`, where nothing is
    recorded. All else goes to `otherwise`."""

    def run(a: Any, b: Any) -> Any:
        if observers or type(a) is not Tensor or a.view_of is not None or a.tangents is not None:
            return otherwise(a, b)
        x = a.array
        if type(x) is not NumpyArray or (not x.flags.c_contiguous and overlaps_itself(x)):
            return otherwise(a, b)
        y, node, dtype = b, a.node, x.dtype
        if type(b) is Tensor:
            if b.view_of is not None or b.tangents is not None:
                return otherwise(a, b)
            y, node = b.array, node or b.node
            if (type(y) is not NumpyArray and type(y) not in IMMUTABLE) or y.dtype is not dtype:
                return otherwise(a, b)
        elif type(b) not in _NUMBERS:
            return otherwise(a, b)
        if (dtype is not float32 and dtype is not float64) or (
            node is not None and state.recording
        ):
            return otherwise(a, b)
        version = a.version or ensure_version(a)
        try:
            kernel(x, y)
        except ValueError:  # shapes do not fit, or the memory may only be read: nothing was written
            return otherwise(a, b)
        version.count += 1
        return a

    return run


def _keep(
    node: OpNode, sources: tuple[int, ...], tensors: tuple[Any, ...], values: tuple[Any, ...]
) -> None:
    """What the rules will need: of operands and result (the last, which is position OUTPUT) the
    values or shapes that `sources` names."""
    if len(sources) == 1 and sources[0] >= OUTPUT:  # by far most often
        value, owner = values[sources[0]], tensors[sources[0]]
        node.saved, node.versions = (value,), ()
        if type(value) is NumpyArray and type(owner) is Tensor:
            version = owner.version or ensure_version(owner)
            node.versions = ((0, version, version.count),)
        return
    saved: list[Any] = []
    versions: tuple[Any, ...] = ()
    for source in sources:
        if source >= OUTPUT:
            value, owner = values[source], tensors[source]
            if type(value) is NumpyArray and type(owner) is Tensor:
                version = owner.version or ensure_version(owner)
                versions += ((len(saved), version, version.count),)
            saved.append(value)
        else:
            saved.append(values[SHAPES - source].shape)
    node.saved, node.versions = tuple(saved), versions
