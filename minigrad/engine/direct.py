"""The short way through an operation: one or two plain operands, and nobody watching.

`record.apply` is the whole truth about an operation: any number of operands of any kind. Almost all calls are of one kind, though, and on
small tensors what they pay for is not arithmetic but looking at the operands. So for each operation there is a function of exactly one
operand, or of two, which asks no more than it must: are these float32 or float64 in host memory (or Python numbers beside such), without
tangents? Then it computes, and makes the node that `apply` would make; all else it leaves to `apply`. Errors too: where a kernel refuses
its operands, the long way finds the words. tests/engine/test_fast_path.py compares the two ways.

Written out step by step, where calls of small functions would read better: a call costs 0.05 µs, an addition of four numbers 0.25.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import primitive
from ..backend import IMMUTABLE, NumpyArray, broadcast_rows, canonical, float32, float64, numpy, overlaps_itself
from ..nodes import OpNode, next_birth
from ..observe import observers
from ..primitive import OUTPUT, SHAPES, Primitive
from ..tensor import Tensor, memory_version
from . import record
from .modes import state
from .record import apply

_NUMBERS = frozenset((float, int))
_NO_PARAMS: dict[str, Any] = {}
_new_tensor = Tensor.__new__


def is_direct(prim: Primitive, operands: int) -> bool:
    """Whether the short way knows the operation: so many operands, and one result, whose dtype they decide."""
    return prim.outputs == 1 and not prim.variadic and len(prim.inputs) == operands and "dtype" not in prim.keywords


def on_one(prim: Primitive) -> Callable[..., Any]:
    """`prim` as a function of one operand and a dictionary of parameters: of a tensor, or of an array where a derivative rule calls."""

    def otherwise(a: Any, params: dict[str, Any]) -> Any:
        return apply(prim, (a,), params)

    if not is_direct(prim, 1):
        return otherwise
    plans, view, recorded = prim.plans, prim.view, prim.kind != "constant"

    def run(a: Any, params: dict[str, Any] = _NO_PARAMS) -> Any:
        if observers:
            return otherwise(a, params)
        x = a
        kind = type(a)
        if kind is Tensor:
            if a.window is not None:
                record.refresh_view(a)
            if a.tangents is not None:
                return otherwise(a, params)
            x = a.array
            kind = type(x)
        if kind is NumpyArray:
            dtype = x.dtype
            if dtype is not float32 and dtype is not float64:
                return otherwise(a, params)
        elif kind not in IMMUTABLE:
            return otherwise(a, params)
        try:
            y = prim.direct(numpy, x, **params) if params else prim.direct(numpy, x)
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
        out.tangents = out.version = out.window = out._grad = None
        parent = a.node
        if parent is None or not recorded or not state.recording:
            out.node = None
        else:
            plan = plans.get(0b11) or prim.plan(0b11)
            node = out.node = OpNode()
            node.born, node.parents, node.primitive, node.params, node.plan = next_birth(), (parent,), prim, params, plan
            node.shape, node.dtype = y.shape, y.dtype
            node.unbroadcast = node.hooks = node.retained = node.tangents = None
            if plan.sources:
                _keep(node, plan.sources, (a, out), (x, y))
            else:
                node.saved = node.versions = ()
        if view:
            record.remember_view(prim, a, params, out)
        return out

    return run


def on_two(prim: Primitive, otherwise: Callable[..., Any] | None = None) -> Callable[..., Any]:
    """`prim` as a function of two operands and a dictionary of parameters: of tensors and numbers, or of arrays in a derivative rule.

    otherwise: what is called for all else with the same arguments, in the place of `apply`.
    """
    long = otherwise or (lambda a, b, params: apply(prim, (a, b), params))
    if not is_direct(prim, 2):
        return long
    plans, view, recorded, elementwise = prim.plans, prim.view, prim.kind != "constant", prim.elementwise

    def run(a: Any, b: Any, params: dict[str, Any] = _NO_PARAMS) -> Any:
        if observers:
            return long(a, b, params)
        x, y = a, b
        left = right = None
        first = type(a)
        if first is Tensor:
            if a.window is not None:
                record.refresh_view(a)
            if a.tangents is not None:
                return long(a, b, params)
            x, left = a.array, a.node
            first = type(x)
        second = type(b)
        if second is Tensor:
            if b.window is not None:
                record.refresh_view(b)
            if b.tangents is not None:
                return long(a, b, params)
            y, right = b.array, b.node
            second = type(y)
        if first is NumpyArray or first in IMMUTABLE:
            dtype = x.dtype
            if second is NumpyArray or second in IMMUTABLE:
                if y.dtype is not dtype or (x is a) is not (y is b):  # an array beside a tensor has to be copied
                    return long(a, b, params)
            elif second not in _NUMBERS or not elementwise:
                return long(a, b, params)
        elif elementwise and first in _NUMBERS and (second is NumpyArray or second in IMMUTABLE):
            dtype = y.dtype
        else:
            return long(a, b, params)
        if dtype is not float32 and dtype is not float64:
            return long(a, b, params)
        alike = first is not NumpyArray or second is not NumpyArray or x.shape == y.shape
        try:
            if not alike and elementwise:
                z = broadcast_rows(prim.direct, x, y, params)
            else:
                z = prim.direct(numpy, x, y, **params) if params else prim.direct(numpy, x, y)
        except ValueError:
            return long(a, b, params)
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
        out.tangents = out.version = out.window = out._grad = None
        if (left is None and right is None) or not recorded or not state.recording:
            out.node = None
        else:
            mask = 0b101 if left is None else 0b110 if right is None else 0b111
            plan = plans.get(mask) or prim.plan(mask)
            node = out.node = OpNode()
            node.born, node.parents, node.primitive, node.params, node.plan = next_birth(), (left, right), prim, params, plan
            shape = node.shape = z.shape
            node.dtype = z.dtype
            node.unbroadcast = node.hooks = node.retained = node.tangents = None
            if shape and elementwise and not (alike and first is second):
                before = None if left is None or x.shape == shape else x.shape
                after = None if right is None or y.shape == shape else y.shape
                if before is not None or after is not None:
                    node.unbroadcast = (before, after)
            if plan.sources:
                _keep(node, plan.sources, (a, b, out), (x, y, z))
            else:
                node.saved = node.versions = ()
        if view:
            record.remember_view(prim, a, params, out)
        return out

    return run


def on_itself(kernel: Callable[[Any, Any], Any], otherwise: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """`a op= b` in the memory of `a`, by a kernel such as `operator.isub`, where nothing is recorded. All else goes to `otherwise`."""

    def run(a: Any, b: Any) -> Any:
        if observers or type(a) is not Tensor or a.window is not None or a.tangents is not None:
            return otherwise(a, b)
        x = a.array
        if type(x) is not NumpyArray or (not x.flags.c_contiguous and overlaps_itself(x)):
            return otherwise(a, b)
        y, history, dtype = b, a.node, x.dtype
        if type(b) is Tensor:
            if b.window is not None or b.tangents is not None:
                return otherwise(a, b)
            y, history = b.array, history or b.node
            if (type(y) is not NumpyArray and type(y) not in IMMUTABLE) or y.dtype is not dtype:
                return otherwise(a, b)
        elif type(b) not in _NUMBERS:
            return otherwise(a, b)
        if (dtype is not float32 and dtype is not float64) or (history is not None and state.recording):
            return otherwise(a, b)
        version = a.version or memory_version(a)
        try:
            kernel(x, y)
        except ValueError:  # the shapes do not fit, or the memory may only be read: nothing was written
            return otherwise(a, b)
        version.count += 1
        return a

    return run


def _keep(node: OpNode, sources: tuple[int, ...], tensors: tuple[Any, ...], values: tuple[Any, ...]) -> None:
    """What the rules will need: of operands and result (the last, which is position OUTPUT) the values or shapes that `sources` names."""
    if len(sources) == 1 and sources[0] >= OUTPUT:  # by far most often
        value, owner = values[sources[0]], tensors[sources[0]]
        node.saved, node.versions = (value,), ()
        if type(value) is NumpyArray and type(owner) is Tensor:
            version = owner.version or memory_version(owner)
            node.versions = ((0, version, version.count),)
        return
    saved: list[Any] = []
    versions: tuple[Any, ...] = ()
    for source in sources:
        if source >= OUTPUT:
            value, owner = values[source], tensors[source]
            if type(value) is NumpyArray and type(owner) is Tensor:
                version = owner.version or memory_version(owner)
                versions += ((len(saved), version, version.count),)
            saved.append(value)
        else:
            saved.append(values[SHAPES - source].shape)
    node.saved, node.versions = tuple(saved), versions


primitive.on_one, primitive.on_two = on_one, on_two
