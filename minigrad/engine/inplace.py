"""In-place operations: new values in old memory, with the right history or a clear error.

The values are computed out of place first (so that the operation is recorded like any other) and then written into the target's memory;
the target takes over the history. If the target is a window into another tensor (a view), the base's history becomes "the base, with this
region replaced", and every other view of that base derives its own history anew when it is next used. This is PyTorch's rule, in its
functional form.
"""

from __future__ import annotations

from typing import Any

from .. import observe, primitive
from ..backend import axis_order, is_differentiable, is_expanded, is_writable, overlaps_itself, zeros
from ..errors import InPlaceError, ShapeError
from ..nodes import Leaf, OpNode, Version
from ..observe import observers
from ..tensor import Tensor, memory_version, overwrite_payload, wrap
from .forward import GivenTangents
from .modes import state
from .record import _node, history


def assign(target: Tensor, value: Tensor, operation: str, uniform: bool = False, checked: bool = False) -> Tensor:
    """Write `value` into `target`'s memory, let `target` take over its history, and return `target`.

    uniform: whether all elements of `value` are one constant number; checked: whether
    `check_target` has been called.
    Raises InPlaceError where no right gradient could follow, ShapeError if the target would have to grow, RuntimeError if the dtype does
    not fit.
    """
    if not checked:
        check_target(target, operation, value.node is not None, uniform)
    if hasattr(value.array, "check_fits"):
        value.array.check_fits(target.array, operation)
    if type(value.node) is OpNode:
        _keep_old_values(value.node, memory_version(target))
    if value.shape != target.shape:
        if _broadcasts(value.shape, target.shape):
            value = primitive.registry["broadcast_to"](value, shape=target.shape)
        else:
            raise ShapeError(
                f"{operation}: the result has shape {value.shape}, which does not fit the target of shape {target.shape}. "
                "An in-place operation cannot make its target grow; use the out-of-place form."
            )
    if value.dtype != target.dtype:
        if not fits(value.dtype, target.dtype):
            raise InPlaceError(
                f"{operation}: the result has dtype {value.dtype}, which cannot be written into a tensor of dtype {target.dtype}. "
                f"Use the out-of-place form, or convert the target first."
            )
        value = primitive.registry["cast"](value, dtype=target.dtype)
    write = _assign_to_tensor if target.window is None or isinstance(history(target), Leaf) else _assign_to_view
    if observers:
        observe.run("assign", None, (target, value), {"operation": operation}, lambda *_: write(target, value))
    else:
        write(target, value)
    return target


def _assign_to_tensor(target: Tensor, value: Tensor) -> None:
    old = history(target)
    overwrite_payload(target, value.array)
    if state.recording and (value.node is not None or old is not None) and not isinstance(old, Leaf):
        _move_retained(target, value.node)
        target.node = value.node
    if value.tangents is not None or target.tangents is not None:
        target.tangents = _tangents_after(target.tangents, value.tangents)


def _tangents_after(old: Any, new: dict[int, Tensor] | None) -> dict[int, Tensor] | None:
    """The tangents of a tensor that was overwritten by a value with the tangents `new`. The one
    that the user gave is overwritten in its own memory, where it may be."""
    if type(old) is not GivenTangents or old.given not in state.levels:
        return new
    level, given = old.given, old[old.given]
    value = (new or {}).get(level)
    if value is None:
        value = wrap(zeros(given.shape, given.dtype, given.array))
    try:
        if value is not given:
            assign(given, value, "an in-place operation on the dual tensor of this tangent")
    except InPlaceError:  # expanded, or a leaf that requires grad
        return new
    made = GivenTangents(new or {})
    made.given, made[level] = level, given
    return made


def check_target(target: Tensor, operation: str, differentiable: bool = False, uniform: bool = False) -> None:
    """Raise InPlaceError if `target` may not be modified in place now.

    differentiable: whether the new values require grad; uniform: whether they are one constant number.
    """
    if overlaps_itself(target.array):
        if not is_expanded(target.array):
            if not uniform:
                raise InPlaceError(
                    f"{operation}: several elements of the target share one memory location (windows of unfold overlap), "
                    "and the new values would overwrite one another. Call .clone() before writing to it."
                )
        else:
            raise InPlaceError(
                f"{operation}: several elements of the target share one memory location (it was expanded). Call .clone() before writing "
                "to it."
            )
    if not is_writable(target.array):
        raise InPlaceError(
            f"{operation}: the target's memory may only be read (it is part of an expanded tensor, or of a read-only array). Call "
            ".clone() before writing to it."
        )
    if not state.recording:
        return
    node = history(target)
    if isinstance(node, Leaf):
        what = "a view of itself as a leaf" if target.window is not None else "a leaf tensor that requires grad"
        raise InPlaceError(
            f"{operation}: {what} is modified in place. Its gradient would have no place to go. To update a parameter, "
            "do it inside `with no_grad():` (as optimisers do); else make a new tensor under a new name, as in y = x + …."
        )
    if target.window is None:
        return
    base = target.window.base
    if isinstance(base.node, Leaf):
        raise InPlaceError(
            f"{operation}: a view of a leaf tensor that requires grad is modified in place. Modify a .clone() of the leaf, or do it "
            "inside `with no_grad():`."
        )
    if target.window.problem is not None and (differentiable or node is not None or base.node is not None):
        reason = {
            "no_grad": "this view was made under no_grad and is now modified with recording on",
            "several": "this view is one of several outputs of one operation (split, chunk, unbind)",
            "function": "this view is the output of a Function, whose own backward the change would go around",
        }[target.window.problem]
        raise InPlaceError(f"{operation}: {reason}; the gradient of the other parts could not be kept right. Modify a .clone() instead.")


def _keep_old_values(node: OpNode, version: Version) -> None:
    """The rule of the operation itself may need the values that are about to be overwritten: it gets a copy of them."""
    if node.saved is None or not any(v is version for _, v, _ in node.versions):
        return
    saved = list(node.saved)
    for position, v, number in node.versions:
        if v is version and number == version.count and not isinstance(saved[position], tuple):
            saved[position] = saved[position].copy()
    node.saved = tuple(saved)
    node.versions = tuple(entry for entry in node.versions if entry[1] is not version or isinstance(saved[entry[0]], tuple))


def _broadcasts(shape: tuple[int, ...], target: tuple[int, ...]) -> bool:
    padded = (1,) * (len(target) - len(shape)) + tuple(shape)
    return len(padded) == len(target) and all(a in (1, b) for a, b in zip(padded, target, strict=True))


def fits(dtype: Any, target: Any) -> bool:
    order = ("b", "iu", "fV", "c")  # NumPy gives bfloat16 the kind "V"
    rank, room = (next(i for i, kinds in enumerate(order) if d.kind in kinds) for d in (dtype, target))
    return rank <= room


def _move_retained(target: Tensor, node: Any) -> None:
    """`retain_grad` asks for the gradient of the tensor as it is now, so the request moves on to the new node; hooks stay with the old
    one."""
    old = target.node
    if old is not None and node is not None and old is not node and old.retained is not None:
        node.retained, old.retained = old.retained, None


def _assign_to_view(target: Tensor, value: Tensor) -> None:
    view = target.window
    assert view is not None
    base = view.base
    recorded = state.recording and (value.node is not None or base.node is not None)
    tangents = None
    if value.tangents is not None or base.tangents is not None:
        tangents = primitive.registry["scatter_view"](
            wrap(base.array, None, base.tangents), wrap(value.array, None, value.tangents), steps=view.steps, order=axis_order(base.array)
        ).tangents
    if recorded and is_differentiable(base.array.dtype):
        old = base.node
        args = (wrap(base.array, old), wrap(value.array, value.node))
        mask = 0b100 | (old is not None) << 1 | (value.node is not None)
        base.node = _node(
            primitive.registry["scatter_view"],
            args,
            [base.array, value.array],
            [old, value.node],
            mask,
            {"steps": view.steps, "order": axis_order(base.array)},
            wrap(base.array),
        )
        if old is not None and old.retained is not None:
            base.node.retained, old.retained = old.retained, None
    overwrite_payload(target, value.array)
    base.tangents = _tangents_after(base.tangents, tangents)
    memory_version(base)
    history(target)
