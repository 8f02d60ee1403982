"""What happens when an operation is called: compute, and remember how.

`apply` is the engine's forward half. Arrays in, array out. With a Tensor among the arguments, a Tensor out; if an input carries history and
recording is on, the result gets a node that keeps exactly the values that its derivative rules name; if an input carries tangents, the
result gets tangents.
"""

from __future__ import annotations

from itertools import zip_longest
from typing import Any

from .. import observe, primitive
from ..backend import (
    FAST_DTYPES,
    IMMUTABLE,
    MODULES,
    NUMPY_PAYLOADS,
    PYTHON_SCALARS,
    SCALAR_DTYPES,
    NumpyArray,
    Shape,
    array_module,
    canonical,
    default_dtype,
    device_context,
    is_differentiable,
    is_immutable,
    numpy,
    result_type,
    shares_memory,
)
from ..errors import DTypeError, InPlaceError, ShapeError
from ..nodes import Leaf, Node, OpNode, Pick, next_birth
from ..observe import observers
from ..primitive import OUTPUT, SHAPES, Primitive
from ..tensor import Tensor, View, as_tensor, memory_version, wrap
from . import forward
from .modes import state


def apply(prim: Primitive, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
    """Run an operation, past the one point from which it can be watched."""
    try:
        return _watched(prim, args, params) if observers else _apply(prim, args, params)
    except ValueError as error:
        if not isinstance(error, ShapeError):
            _check_shapes(prim, args)
        raise error
    except OverflowError:  # NumPy refuses Python integers that the dtype cannot hold
        wrapped = _wrapped(args)
        if wrapped is None:
            raise
        return apply(prim, wrapped, params)


def _wrapped(args: tuple[Any, ...]) -> tuple[Any, ...] | None:
    """The arguments with Python integers reduced modulo 2ⁿ to the range of the tensors' integer
    dtype, as in PyTorch; None if none is out of range."""
    arrays = [a.array if isinstance(a, Tensor) else a for a in args if hasattr(a, "dtype")]
    dtype = result_type(arrays) if arrays else None
    if dtype is None or dtype.kind not in "iu":
        return None
    bits = 8 * dtype.itemsize
    least = -(1 << bits - 1) if dtype.kind == "i" else 0
    wrapped = tuple((a - least) % (1 << bits) + least if type(a) is int else a for a in args)
    changed = any(type(a) is int and a != b for a, b in zip(args, wrapped, strict=True))
    return wrapped if changed else None


def _check_shapes(prim: Primitive, args: tuple[Any, ...]) -> None:
    """After a kernel complained: raise ShapeError if that was because operands taken element by element do not broadcast."""
    shapes = [tuple(a.shape) for a in args if hasattr(a, "shape")]
    if prim.kind not in ("elementwise", "constant") or prim.name == "overwrite":
        return
    for sizes in zip_longest(*(reversed(s) for s in shapes), fillvalue=1):
        if len({n for n in sizes if n != 1}) > 1:
            given = " and ".join(map(str, shapes))
            raise ShapeError(
                f"{prim.name}: shapes {given} do not fit: counted from the last dimension, sizes must be equal or 1, but "
                f"{' and '.join(map(str, sizes))} meet."
            ) from None


def _watched(prim: Primitive, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
    """The same for observers, to whom the cast of an operand to the common dtype is an operation of its own, as it is in the graph."""
    if any(isinstance(a, Tensor) and type(a) is not Tensor for a in args):  # a static graph is built: nothing is computed yet
        return _apply(prim, args, params)
    dtypes = {a.array.dtype for a in args if type(a) is Tensor}
    if dtypes and (len(dtypes) > 1 or not dtypes <= FAST_DTYPES or any(type(a) is not Tensor and type(a) not in _PLAIN for a in args)):
        args = tuple(s if type(a) is Tensor else a for a, s in zip(args, _settle(prim, args), strict=True))
    return observe.run("forward", prim, args, params, _apply)


def _apply(prim: Primitive, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
    if (not args or type(args[0]) is not Tensor) and _RAW.issuperset(map(type, args)):  # a derivative rule computes
        return _on_arrays(prim, args, params, True)
    # One pass over the arguments finds all there is to know; the common case (host arrays of one floating dtype, Python numbers) then
    # costs nothing more.
    arrays: list[Any] = []
    nodes: list[Node | None] = []
    mask = 1  # one bit an argument: does it have history?
    dtype = None
    plain = True
    tensors = raw = dual = False
    for a in args:
        mask <<= 1
        kind = type(a)
        if kind is Tensor:
            tensors = True
            if a.window is not None:
                refresh_view(a)
            array, node = a.array, a.node
            if node is not None:
                mask |= 1
            if a.tangents is not None:
                dual = True
            if type(array) is NumpyArray:
                own = array.dtype
            else:
                own = SCALAR_DTYPES.get(type(array))
                if own is None:
                    own, plain = array.dtype, False
            if own is not dtype:
                if dtype is not None or own not in FAST_DTYPES:
                    plain = False
                dtype = own
            arrays.append(array)
            nodes.append(node)
        else:
            if kind in NUMPY_PAYLOADS:
                raw = True
            elif kind not in _PLAIN:
                if issubclass(kind, Tensor):  # a node of a static graph: the operation becomes a node in turn
                    return kind.__minigrad_apply__(prim, args, params)  # type: ignore[attr-defined]
                plain = False
            arrays.append(a)
            nodes.append(None)
    if not tensors:
        return _on_arrays(prim, args, params, plain)
    if plain and not raw:
        result = prim.direct(numpy, *arrays, **params)
        if prim.outputs != 1:
            result = tuple(canonical(r) for r in result)
        elif type(result) not in IMMUTABLE and (type(result) is not NumpyArray or not result.ndim):
            result = canonical(result)
    else:
        settled = _settle(prim, args)
        if any(a is not b for a, b in zip(settled, args, strict=True)):
            return _apply(prim, settled, params)
        if mask & (mask - 1) and state.recording:
            for array in arrays:  # a batched value may know a better way to compute something that is recorded
                if hasattr(type(array), "__minigrad_rewrite__"):
                    rewritten = type(array).__minigrad_rewrite__(prim, args, params)
                    if rewritten is not None:
                        return rewritten
        result = _compute(prim, arrays, params)
    recording = mask & (mask - 1) and state.recording  # some bit besides the leading one
    if prim.outputs != 1:
        return _several(prim, args, arrays, nodes, mask, params, result, bool(recording), dual)
    out = wrap(result)
    if recording and prim.kind != "constant" and ((plain and "dtype" not in params) or is_differentiable(result.dtype)):
        out.node = _node(prim, args, arrays, nodes, mask, params, out)
    if prim.view:
        remember_view(prim, args[0], params, out)
    if dual and prim.kind != "constant":
        out.tangents = forward.push_all(prim, args, params, out)
        if out.node is not None:
            _keep_tangents(out.node, args, out)
    return out


_PLAIN = frozenset((float, int))
"""Python numbers that follow a floating tensor's dtype without further ado."""


_RAW = NUMPY_PAYLOADS | _PLAIN


def _on_arrays(prim: Primitive, args: tuple[Any, ...], params: dict[str, Any], plain: bool) -> Any:
    """No tensor among the arguments: a rule runs on raw arrays. Their dtypes agree already, but a floating function may meet integers."""
    if prim.promote == "float":
        for a in args:
            if type(a) is NumpyArray and a.dtype not in FAST_DTYPES:
                plain = False
    if plain and prim.outputs == 1:
        result = prim.forward(numpy, *args, **params)
        return result if type(result) in IMMUTABLE else canonical(result)
    if prim.promote == "float" and args and all(getattr(a, "dtype", None) is None or a.dtype.kind in "iub" for a in args):
        args = tuple(a.astype(default_dtype()) if hasattr(a, "astype") else float(a) if type(a) in (bool, int) else a for a in args)
    return _compute(prim, args, params)


def _compute(prim: Primitive, arrays: Any, params: dict[str, Any]) -> Any:
    """The kernel on raw arrays; anything else that knows how to run operations (a symbolic or a batched value) is asked instead."""
    for a in arrays:
        if type(a) not in MODULES and hasattr(type(a), "__minigrad_apply__"):
            return type(a).__minigrad_apply__(prim, arrays, params)
    library = array_module(arrays, prim.name)
    with device_context(library, arrays, prim.name):
        result = prim.forward(library, *arrays, **params)
    return canonical(result) if prim.outputs == 1 else tuple(canonical(r) for r in result)


def _settle(prim: Primitive, args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Arguments ready for the kernel: raw arrays as constant tensors, mixed dtypes cast to the one that PyTorch's rules give."""
    settled = tuple(a if type(a) is Tensor or type(a) in PYTHON_SCALARS else _operand(a) for a in args)
    if prim.real_only:
        _refuse_complex(prim, settled)
    if prim.promote is None:
        return settled
    positions = range(len(settled)) if prim.promote != "branches" else range(1, len(settled))
    dtype = result_type([settled[i].array if type(settled[i]) is Tensor else settled[i] for i in positions])
    if prim.promote == "float" and not is_differentiable(dtype):
        dtype = default_dtype()
    cast = primitive.registry["cast"]
    out = list(settled)
    for i in positions:
        a = settled[i]
        if type(a) is Tensor:
            if a.array.dtype != dtype:  # a raw array becomes a constant: nothing to remember about its conversion
                out[i] = cast(a, dtype=dtype) if a is args[i] else wrap(_compute(cast, [a.array], {"dtype": dtype}))
        elif (
            type(a) in PYTHON_SCALARS and dtype.kind == "V"
        ):  # a Python number takes the dtype of the array it meets, but NumPy would widen bfloat16
            out[i] = wrap(canonical(_scalar(a, dtype)))
    return tuple(out)


def _operand(value: Any) -> Any:
    """What the user put beside a tensor: a scalar of NumPy counts as a Python number, as in PyTorch, an array or a list as a tensor."""
    if isinstance(value, numpy.generic):
        return value.item()
    return as_tensor(value) if _is_array(value) else value


def _refuse_complex(prim: Primitive, args: tuple[Any, ...]) -> None:
    for a in args:
        dtype = str(a.array.dtype) if type(a) is Tensor else type(a).__name__
        if dtype.startswith("complex"):
            raise DTypeError(
                f"{prim.name}: takes real numbers only, got {dtype}. Complex numbers have no order and no "
                "sign: apply it to the real and imaginary parts (.real, .imag) or to the absolute value (.abs())."
            )


def _scalar(value: Any, dtype: Any) -> Any:
    from ..backend import as_payload

    return as_payload(value, dtype)


def _is_array(value: Any) -> bool:
    return MODULES.get(type(value)) is not None or hasattr(value, "__array__") or isinstance(value, list | tuple)


# ----------------------------------------------------------------------------------------------------------------------- nodes


def _node(prim: Primitive, args: Any, arrays: list[Any], nodes: list[Node | None], mask: int, params: dict[str, Any], out: Any) -> OpNode:
    """The node of a result: edges to the inputs that have history, and the saved values. `mask` has a bit for each input with history."""
    plan = prim.plans.get(mask)
    if plan is None:
        plan = prim.plan(mask)
    single = type(out) is Tensor
    result: Any = out.array if single else tuple(o.array for o in out)
    unbroadcast = None
    if single:
        shape, dtype = result.shape, result.dtype
        if prim.elementwise and shape and len(nodes) > 1:
            for index, parent in enumerate(nodes):
                if parent is not None and arrays[index].shape != shape:
                    unbroadcast = _shapes_to_sum_to(nodes, arrays, shape)
                    break
    else:
        shape, dtype = tuple(r.shape for r in result), tuple(r.dtype for r in result)
    versions: tuple[Any, ...] = ()
    saved: list[Any] = []
    for source in plan.sources:
        if source >= 0:
            value = arrays[source]
            if type(value) not in IMMUTABLE and type(args[source]) is Tensor:
                version = args[source].version or memory_version(args[source])
                versions += ((len(saved), version, version.count),)
        elif source == OUTPUT:
            value = result
            for o in (out,) if single else out:
                if type(o.array) not in IMMUTABLE:
                    version = memory_version(o)
                    versions += ((len(saved), version, version.count),)
        else:
            value = arrays[SHAPES - source].shape
        saved.append(value)
    node = OpNode()
    node.born, node.parents, node.primitive, node.params, node.plan = next_birth(), tuple(nodes), prim, params, plan
    node.shape, node.dtype, node.saved, node.versions, node.unbroadcast = shape, dtype, tuple(saved), versions, unbroadcast
    node.hooks = node.retained = node.tangents = None
    return node


def _shapes_to_sum_to(nodes: list[Node | None], arrays: list[Any], shape: Shape) -> tuple[Shape | None, ...]:
    """For each input that has history and was broadcast to `shape`, its own shape: its contribution will be summed to it."""
    return tuple([None if n is None or a.shape == shape else a.shape for n, a in zip(nodes, arrays, strict=True)])


def _several(
    prim: Primitive, args: Any, arrays: Any, nodes: Any, mask: int, params: Any, results: Any, recording: bool, dual: bool
) -> tuple[Tensor, ...]:
    """An operation with several results: one node, and a Pick for each differentiable result."""
    outs = tuple(wrap(r) for r in results)
    differentiable = [d and is_differentiable(o.array.dtype) for d, o in zip(prim.differentiable, outs, strict=True)]
    if recording and any(differentiable):
        node = _node(prim, args, arrays, nodes, mask, params, outs)
        for index, out in enumerate(outs):
            if differentiable[index]:
                out.node = pick(node, index, out)
    if dual:
        for out, tangents in zip(outs, forward.push_several(prim, args, params, outs), strict=True):
            out.tangents = tangents
        if recording and any(differentiable):  # as for one result: a later backward pass pushes through the saved values
            node.tangents = (*(a.tangents if type(a) is Tensor else None for a in args), tuple(o.tangents for o in outs))
    return outs


def pick(node: Node, index: int, out: Tensor) -> Pick:
    """The graph place of result number `index` of a node with several results."""
    made = Pick()
    made.born, made.parents, made.index = next_birth(), (node,), index
    made.hooks = made.retained = None
    made.shape, made.dtype = out.array.shape, out.array.dtype
    return made


def _keep_tangents(node: Node, args: tuple[Any, ...], out: Tensor) -> None:
    """Forward mode through a later backward pass needs the tangents of the saved values: the inputs' and, last, the output's."""
    assert isinstance(node, OpNode)
    node.tangents = (*(a.tangents if type(a) is Tensor else None for a in args), out.tangents)


# ----------------------------------------------------------------------------------------------------------------------- views


def remember_view(prim: Primitive, source: Tensor, params: dict[str, Any], out: Tensor) -> None:
    """If the result shares memory with its source, share the version counter and remember the way from the base."""
    if is_immutable(source.array):  # a bare number has no memory to look into: give it some
        version = memory_version(source)
        out.array = prim.forward(array_module([source.array]), source.array, **params)
    if not shares_memory(out.array, source.array):
        return
    version = out.version = memory_version(source)
    before = None if isinstance(source.node, Leaf) else source.window
    problem = None if state.recording else "no_grad"
    if before is None:
        out.window = View(source, None, (prim, params), version.count, problem)
    else:
        out.window = View(before.base, before, (prim, params), version.count, problem or before.problem)


def refresh_view(tensor: Tensor) -> None:
    """Derive a view's history anew if its memory was modified in place since: the same steps, from the base as it is now."""
    view = tensor.window
    if view is None or tensor.version is None or view.seen == tensor.version.count:
        return
    if isinstance(tensor.node, Leaf):  # the user asked for gradients of this very window
        if history(view.base) is not None:
            raise InPlaceError(
                f"a view of shape {tensor.shape} was made a leaf (requires_grad_()), and the tensor that it looks into was then "
                "modified in "
                "place by something that requires grad: the view cannot be both. Make the leaf from a .clone() or .detach().clone()."
            )
        view.seen = tensor.version.count
        return
    if view.problem == "no_grad" and history(view.base) is not None:
        if not state.recording:
            return
        raise InPlaceError(
            f"a view of shape {tensor.shape} was made under no_grad, and the tensor that it looks into was modified in place since: "
            "whether the view has a gradient is ambiguous. Make the view outside no_grad, or use a .detach() or .clone() of it."
        )
    view.seen = tensor.version.count
    with observe.unwatched():
        current = view.base
        before, state.recording = state.recording, True
        try:
            for step, params in view.steps:
                current = step(current, **params)
        finally:
            state.recording = before
    old, tensor.node, tensor.tangents = tensor.node, current.node, current.tangents
    if old is not None and old.retained is not None and current.node not in (None, old):  # retain_grad is about the tensor as it is now
        current.node.retained, old.retained = old.retained, None


def history(tensor: Tensor) -> Node | None:
    """The node that stands for the tensor's present values."""
    if tensor.window is not None:
        refresh_view(tensor)
    return tensor.node


primitive.apply = apply
