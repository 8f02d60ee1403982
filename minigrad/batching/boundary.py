"""Into the batch and out of it: four linear operations, two pairs of transposes.

    enter   (B, …) → a batch of B examples          its transpose is  leave
    leave   a batch of B examples → (B, …)          its transpose is  enter
    share   one value → the same for all examples   its transpose is  total
    total   a batch → the sum over its examples     its transpose is  share

Since they are operations like all others, gradients and tangents pass them in both modes: `grad`
outside of `vmap` needs no rule of its own. `share` is where a value from outside meets the batch:
each example contributes to its gradient, and `total` adds the contributions up, just as the
gradient of any broadcast operand is summed.
"""

from __future__ import annotations

from typing import Any

from ..backend import canonical, is_immutable, materialise
from ..core.apply import apply_to_tensors
from ..core.graph import Node, state, youngest_first
from ..core.primitive import Primitive, general
from ..core.tensor import Leaf, Tensor
from ..errors import BatchingError
from ..ops.costs import MOVES, additions
from ..ops.linalg import matmul, swapped
from ..ops.network import affine
from ..ops.reduce import sum_forward
from .value import Axes, BatchAxis, Batched, axes_of, packed, union


def _enter(xp: Any, x: Any, *, place: BatchAxis, axis: int) -> Any:
    axes, array = axes_of(x), x.array if type(x) is Batched else x
    if place in axes:
        raise BatchingError("this value belongs to the batch already.")
    joined = tuple(sorted((*axes, place), key=lambda a: a.number))
    source, target = len(axes) + axis, joined.index(place)
    order = [i for i in range(array.ndim) if i != source]
    order.insert(target, source)
    return Batched(array.transpose(order), joined)


def _leave(xp: Any, x: Any, *, place: BatchAxis, axis: int) -> Any:
    axes, array = axes_of(x), materialise(x.array if type(x) is Batched else x)
    rest = tuple(a for a in axes if a is not place)
    target = len(rest) + axis
    if place in axes:
        source = axes.index(place)
        order = [i for i in range(array.ndim) if i != source]
        order.insert(target, source)
        array = array.transpose(order)
    else:
        array = array.reshape((*array.shape[:target], 1, *array.shape[target:]))
    if array.shape[target] != place.size:
        array = xp.broadcast_to(
            array, (*array.shape[:target], place.size, *array.shape[target + 1 :])
        )
    return packed(array, rest)


def _share(xp: Any, x: Any, *, place: BatchAxis) -> Any:
    axes, array = axes_of(x), materialise(x.array if type(x) is Batched else x)
    joined = tuple(sorted((*axes, place), key=lambda a: a.number))
    target = joined.index(place)
    return Batched(array.reshape((*array.shape[:target], 1, *array.shape[target:])), joined)


def _total(xp: Any, x: Any, *, place: BatchAxis) -> Any:
    axes, array = axes_of(x), x.array if type(x) is Batched else x
    if place not in axes:  # the same for all examples
        return packed(array * place.size, axes)
    where = axes.index(place)
    times = 1 if array.shape[where] == place.size else place.size
    total = sum_forward(xp, array, axes=(where,), keepdims=False)
    return packed(
        canonical(total if times == 1 else total * times), tuple(a for a in axes if a is not place)
    )


enter: Primitive = general(
    "batch_enter",
    _enter,
    [lambda g, *, place, axis: taken_out(g, place, axis)],
    [lambda t, *, place, axis: enter(t, place=place, axis=axis)],
    view=True,
    batch="itself",
)
leave: Primitive = general(
    "batch_leave",
    _leave,
    [lambda g, *, place, axis: enter(g, place=place, axis=axis)],
    [lambda t, *, place, axis: taken_out(t, place, axis)],
    view=True,
    batch="itself",
)
share = general(
    "batch_share",
    _share,
    [lambda g, *, place: summed(g, place)],
    [lambda t, *, place: shared(t, (place,))],
    batch="itself",
    cost=MOVES,
)
total = general(
    "batch_total",
    _total,
    [lambda g, *, place: share(g, place=place)],
    [lambda t, *, place: summed(t, place)],
    batch="itself",
    cost=additions,
)
BOUNDARY = frozenset((enter, leave, share, total))


def shared(x: Any, axes: Axes) -> Any:
    """x (a tensor, or a payload within a rule) as a member of all `axes`: the same in every
    example of those that it was not part of.
    """
    for place in axes:
        if place not in axes_of(x.array if type(x) is Tensor else x):
            x = share(x, place=place)
    return x


def taken_out(x: Any, place: BatchAxis, axis: int) -> Any:
    """x (a tensor, or a payload within a rule) for all examples, the batch at `axis`. What has
    history joins the batch first, so that its gradient is summed.
    """
    if type(x) is Tensor and x.node is not None:
        x = shared(x, (place,))
    return leave(x, place=place, axis=axis)


def summed(x: Any, place: BatchAxis) -> Any:
    """The sum of x over the examples, which may all have the same value."""
    if type(x) is Tensor and x.node is not None:
        x = shared(x, (place,))
    return total(x, place=place)


def per_example(x: Tensor) -> Tensor:
    """x as a member of every open batch, so that a derivative by it is one for each example."""
    return shared(x, state.batches) if state.batches else x


# ----------------------------------------------------------------- values from outside of the batch


def rewrite(prim: Primitive, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
    """Let tensors with history that are not part of the batch join it (their gradient is then
    summed), or None where all are.

    A product with such a matrix leaves the batch instead: as one large product, whose gradient
    never exists example by example.
    """
    if prim in BOUNDARY or prim.kind == "constant":
        return None
    axes = union([a.array for a in args if type(a) is Tensor])
    outside = [type(a) is Tensor and a.node is not None and axes_of(a.array) != axes for a in args]
    if not any(outside):
        return None
    product = (
        _product_outside(args[0], args[1], outside)
        if prim is matmul
        else _layer_outside(args, outside)
        if prim is affine
        else None
    )
    if product is not None:
        return product
    joined = (shared(a, axes) if out else a for a, out in zip(args, outside, strict=True))
    return apply_to_tensors(prim, tuple(joined), params)


def _product_outside(a: Tensor, b: Tensor, outside: list[bool]) -> Tensor | None:
    """a @ b where one operand is a batch and the other a matrix from outside: (B·m, n) @ (n, p);
    None where that is not the case.
    """
    if outside == [True, False] and a.ndim == 2 and b.ndim == 1:
        return _product_outside(b, swapped(a), [False, True])
    if outside == [True, False] and a.ndim == 2 and b.ndim == 2:
        flipped = _product_outside(swapped(b), swapped(a), [False, True])
        return None if flipped is None else swapped(flipped)
    if outside != [False, True] or b.ndim != 2 or a.ndim not in (1, 2):
        return None
    missing = tuple(axis for axis in axes_of(a.array) if axis not in axes_of(b.array))
    if not missing or set(axes_of(b.array)) - set(axes_of(a.array)):
        return None
    place = missing[0]  # of several batches the others follow in the same way
    return enter(matmul(leave(a, place=place, axis=0), b), place=place, axis=0)


def _layer_outside(args: tuple[Any, ...], outside: list[bool]) -> Tensor | None:
    """x Wᵀ + b where only x is a batch: one layer on all examples; None where W or b are batches
    too.
    """
    x, *weights = args
    missing = tuple(
        axis for axis in axes_of(x.array) if all(axis not in axes_of(w.array) for w in weights)
    )
    if outside[0] or not missing:
        return None
    place = missing[0]
    return enter(affine(leave(x, place=place, axis=0), *weights), place=place, axis=0)


# ------------------------------------------------------------------------ guards and random numbers


def check_per_example(output: Any, given: Any, caller: str, name: str) -> None:
    """Raise BatchingError if `output` differs between the examples of an open batch while `given`
    is one tensor for all of them (payloads).
    """
    if not state.batches:
        return
    for axis in axes_of(output):
        if axis.open and axis not in axes_of(given):
            raise BatchingError(
                f"{caller}: inside vmap, the gradient by {name} would be different for each of the"
                f" {axis.size} examples, but the tensor comes from outside and is one for all. Use"
                " func.grad (or vjp) inside the mapped function, with this tensor as an argument:"
                " it gives a gradient for each example. Or differentiate the sum outside of vmap."
            )


def check_leaves(outputs: list[Any], roots: list[Node], targets: list[Node] | None) -> None:
    """Apply `check_per_example` to all leaves that a backward pass would add to."""
    if state.batches:
        for leaf in youngest_first(roots)[1] if targets is None else targets:
            if isinstance(leaf, Leaf) and leaf.stores_grad:
                for out in outputs:
                    check_per_example(out, leaf.array, "backward", f"a leaf of shape {leaf.shape}")


def drawn(draw: Any, shape: tuple[int, ...]) -> Any:
    """Random numbers of `shape` from `draw(shape)`: inside vmap as its `randomness` says, the same
    or different for the examples. Raises BatchingError for "error".
    """
    if not state.batches:
        return draw(shape)
    if any(axis.randomness == "error" for axis in state.batches):
        raise BatchingError(
            "vmap: a random function was called inside. Say what you mean: vmap(f,"
            ' randomness="different") draws for each example, randomness="same" once for all of'
            " them."
        )
    axes = tuple(axis for axis in state.batches if axis.randomness == "different")
    array = draw((*(axis.size for axis in axes), *shape))
    return packed(array if not is_immutable(array) or not axes else materialise(array), axes)
