"""Why something was refused, in words: the errors of the core.

Each function looks at what was given and returns the error, or the problem as text, or None; those
named `check_…` and `refuse_…` raise the error. None of them computes anything that a result depends
on.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Sequence
from itertools import zip_longest
from typing import Any

from .backend import (
    IMMUTABLE,
    device_of,
    is_expanded,
    is_writable,
    overlaps_itself,
)
from .errors import (
    AutogradError,
    DeviceError,
    DTypeError,
    GraphFreedError,
    InPlaceError,
    NoGradientError,
    NonScalarError,
    NotDifferentiableError,
    ShapeError,
)


def unknown_to_rule(
    owner: str, name: str, inputs: Sequence[str], keywords: Sequence[str]
) -> TypeError:
    """A derivative rule has a parameter that its operation does not have."""
    return TypeError(
        f"rule of {owner}: `{name}` is neither an input "
        f"({', '.join(inputs) or 'of any number of inputs a rule can name none'}), nor y, nor "
        f"<input>_shape, nor a keyword parameter ({', '.join(keywords) or 'none'}), which a rule "
        "takes after a *."
    )


def check_default(owner: str, parameter: inspect.Parameter, defaults: dict[str, Any]) -> None:
    """Raise TypeError if a parameter of a rule has another default than the operation's."""
    expected = defaults.get(parameter.name, parameter.empty)
    if expected is not parameter.empty and repr(expected) != repr(parameter.default):
        found = "none" if parameter.default is parameter.empty else repr(parameter.default)
        raise TypeError(
            f"rule of {owner}: the default of `{parameter.name}` is {found}, but in the forward "
            f"function it is {expected!r}. A rule is given the parameters that the call names, so "
            "its default must be that of the forward function."
        )


def input_named_y(owner: str) -> TypeError:
    """An operation is declared with an input whose name means the output in rules."""
    return TypeError(
        f"{owner}: an input cannot be named y, which is the output in derivative rules. Give it "
        "another name, such as b."
    )


def rules_missing(prim: Any, count: int) -> TypeError:
    """An operation is declared with `count` rules, which is not one for each input."""
    return TypeError(
        f"{prim.name}: one rule for each input is needed, but got {count} for "
        f"{len(prim.inputs)} (inputs: {', '.join(prim.inputs) or 'none'}). The first "
        "parameter of the forward function is the array library, as in "
        "lambda xp, x: xp.sin(x); the inputs come after it."
    )


def declared_twice(name: str) -> ValueError:
    """An operation of this name is declared already."""
    return ValueError(
        f"an operation named {name} exists already; choose another name (a notebook's cell "
        "can declare it once)."
    )


def wrong_call(prim: Any, count: int, params: dict[str, Any]) -> TypeError | None:
    """For a call of an operation with `count` operands and `params`: what is missing or too
    much."""
    named = inspect.signature(prim.forward).parameters
    wrong = []
    if not prim.variadic and count != len(prim.inputs):
        wrong.append(f"got {count} operand{'s' if count != 1 else ''}")
    for k in prim.keywords:
        if k not in params and named[k].default is inspect.Parameter.empty:
            wrong.append(f"{k} is missing")
    wrong += [f"{k} is unknown" for k in params if k not in prim.keywords]
    if not wrong:
        return None
    operands = [f"*{n}" if prim.variadic else n for n in prim.inputs]
    call = ", ".join([*operands, *(f"{k}=" for k in prim.keywords)])
    return TypeError(f"the operation is {prim.name}({call}): {', '.join(wrong)}.")


def check_data(data: Any, more: tuple[Any, ...], shape: Any) -> None:
    """Raise for arguments of the class Tensor that do not go together."""
    if more:
        given = ", ".join(map(repr, (data, *more)))
        raise TypeError(
            f"Tensor({given}): the data is one argument, as in Tensor([{given}]). For a tensor "
            f"of these sizes write zeros({given})."
        )
    if (
        data is not None
        and shape is not None
        and tuple(shape) != tuple(getattr(data, "shape", shape))
    ):
        raise ValueError(
            f"Tensor(data, shape={tuple(shape)}): data has shape {tuple(data.shape)}. Give one "
            "of the two, or reshape."
        )


def unknown_to_operations(kind: type) -> TypeError:
    """A subclass of Tensor that does not say how operations treat it."""
    return TypeError(
        f"class {kind.__name__}(Tensor): operations take tensors as they are and would not "
        "know this one. Keep a tensor as an attribute of a class of your own; parameters "
        "are attributes of a Module."
    )


def not_one_element(tensor: Any) -> RuntimeError:
    """A tensor of several elements, or of none, where one number is needed."""
    return RuntimeError(
        f"a tensor with {math.prod(tensor.shape)} elements (shape {tensor.shape}) cannot be"
        " converted to a number. Index or reduce it first; for a function of each element take"
        " minigrad's own, as in mg.sin(x)."
    )


def wrong_operands(
    prim: Any, args: Sequence[Any], params: dict[str, Any], error: Exception
) -> Exception | None:
    """After a call of an operation raised `error`: what was wrong with the call, or None."""
    if isinstance(error, ShapeError) or hasattr(error, "observer"):
        return None
    if isinstance(error, TypeError):
        return wrong_call(prim, len(args), params)
    return not_broadcast(prim, args)


def not_broadcast(prim: Any, args: Sequence[Any]) -> ShapeError | None:
    """After a kernel failed: whether that was because operands do not broadcast."""
    if prim.shape != "broadcast":
        return None
    shapes = [tuple(a.shape) for a in args if hasattr(a, "shape")]
    for sizes in zip_longest(*(reversed(s) for s in shapes), fillvalue=1):
        if len({n for n in sizes if n != 1}) > 1:
            return ShapeError(
                f"{prim.name}: shapes {' and '.join(map(str, shapes))} do not fit: counted from "
                "the last dimension, sizes must be equal or 1, but "
                f"{' and '.join(map(str, sizes))} meet."
            )
    return None


def refuse_complex(prim: Any, operands: Sequence[Any]) -> None:
    """Raise DTypeError for complex operands of an operation that orders or rounds numbers."""
    for a in operands:
        dtype = str(a.dtype) if hasattr(a, "dtype") else type(a).__name__
        if dtype.startswith("complex"):
            raise DTypeError(
                f"{prim.name}: takes real numbers only, got {dtype}. Complex numbers have no order "
                "and no sign: apply it to the real and imaginary parts (.real, .imag) or to the "
                "absolute value (.abs())."
            )


def check_integer(operation: str, operand: Any) -> None:
    """Raise OverflowError for a Python integer that has more than 64 bits, as PyTorch does where it
    stands beside tensors of integers."""
    if type(operand) is int and not -(1 << 63) <= operand < 1 << 64:
        raise OverflowError(
            f"{operation}: a Python integer beside tensors of integers must fit in 64 bits, got one"
            f" of {operand.bit_length()} bits. To compute in floating point, convert the tensor"
            " first: x.double()."
        )


def freed(node: Any) -> GraphFreedError:
    """A pass needs saved values that an earlier one has freed."""
    return GraphFreedError(
        f"a backward pass has already gone through the graph of {node.primitive.name} and "
        "freed its saved values. To go through the same graph twice, call "
        "backward(retain_graph=True) (or autograd.grad(..., retain_graph=True)) the first "
        "time; if you accumulate over a loop, make sure that each round builds its own "
        "graph."
    )


def no_gradient_of(dtype: Any) -> DTypeError:
    """A gradient is asked of integers or booleans."""
    return DTypeError(
        f"only tensors of floating or complex dtype can require gradients, got {dtype}."
        " Convert first: x.float(), or write 1.0 instead of 1."
    )


def overwritten(node: Any, position: int, version: Any, number: int) -> InPlaceError:
    """A value that a node saved was modified in place since."""
    prim, source = node.primitive, node.plan.sources[position]
    if source < 0:
        what = "its output"
    elif prim.variadic:
        what = f"its input number {source + 1}"
    else:
        place = ("first ", "second ", "third ")[source : source + 1] if prim.inputs[1:] else ()
        what = f'its {"".join(place)}input "{prim.inputs[source]}"'
    array = None if node.saved is None else node.saved[position]
    if isinstance(array, tuple):  # of several results, those that have memory have a counter each
        counters = [v for at, v, _ in node.versions if at == position]
        array = [a for a in array if type(a) not in IMMUTABLE][counters.index(version)]
    return InPlaceError(
        f"the backward rule of {prim.name} needs {what} (shape "
        f"{tuple(getattr(array, 'shape', ()))}, dtype {getattr(array, 'dtype', '?')}) as it was at "
        f"version {number}, but it was modified in place since and is at version {version.count}. "
        "Use the out-of-place form of the operation that modified it (x = x * 2 instead of "
        "x.mul_(2) or x *= 2), or modify a .clone()."
    )


def no_history(tensor: Any, caller: str, number: int) -> NoGradientError:
    """A pass is to begin at a tensor that was not computed from a leaf."""
    return NoGradientError(
        f"{caller}: tensor {number} (shape {tensor.shape}) does not require grad and has no"
        " history. Create an input with requires_grad=True, and compute outside no_grad;"
        " if it is itself a gradient, compute that one with create_graph=True."
    )


def needs_cotangent(tensor: Any, caller: str, number: int) -> NonScalarError:
    """A pass is to begin at a tensor that is no real number, without a cotangent."""
    if math.prod(tensor.shape) != 1:
        return NonScalarError(
            f"{caller}: tensor {number} has shape {tensor.shape}; a gradient can be created"
            " implicitly only for one-element outputs. Give a cotangent of that shape (for"
            " instance ones_like(y)), or reduce with .sum() or .mean() first."
        )
    return NonScalarError(
        f"{caller}: tensor {number} is complex; a gradient is defined for real losses only."
        " Take .real or .abs() first, or give a cotangent."
    )


def check_cotangent(tensor: Any, seed: Any, caller: str, number: int) -> None:
    """Raise unless `seed` can be the cotangent of a tensor."""
    if not isinstance(seed, type(tensor)):
        raise TypeError(
            f"{caller}: cotangent {number} must be a Tensor or None, got {type(seed).__name__}."
        )
    if seed.shape != tensor.shape:
        raise ShapeError(
            f"{caller}: cotangent {number} has shape {seed.shape}, the tensor it belongs to has"
            f" {tensor.shape}; they must be equal."
        )
    if seed.dtype.kind == "c" and tensor.dtype.kind != "c":
        raise NonScalarError(
            f"{caller}: cotangent {number} is complex, the tensor it belongs to is {tensor.dtype}."
        )


def wrong_contribution(node: Any, index: int, parent: Any, c: Any) -> AutogradError:
    """A rule of the operation of `node` returned nothing for an input, or another shape."""
    name = node.primitive.name
    if c is None:
        return NotDifferentiableError(
            f"the pull rule of {name} for input {index} returned None; it must return the "
            "contribution."
        )
    if not hasattr(c, "shape"):
        return ShapeError(
            f"the pull rule of {name} returned {c!r} for input {index}; it must return an array of "
            f"the input's shape {tuple(parent.shape)}, such as g * 0."
        )
    is_leaf = not parent.parents
    since = " (Was its .data given another shape since?)" if is_leaf else ""
    return ShapeError(
        f"the pull rule of {name} returned a contribution of shape {tuple(c.shape)} for input "
        f"{index}, whose shape is {tuple(parent.shape)}; they must be equal.{since}"
    )


def old_gradient(g: Any, old: Any) -> ShapeError:
    """A complete cotangent is to be added to a `.grad` of another shape."""
    return ShapeError(
        f"a gradient of shape {tuple(g.shape)} cannot be added to the .grad of shape "
        f"{old.shape}, which is from before the tensor's .data got another shape. "
        "Clear it first: x.grad = None."
    )


def check_gradient(tensor: Any, grad: Any) -> None:
    """Raise unless `grad` may become the `.grad` of `tensor`: None, or a tensor of the same shape,
    dtype and device."""
    if grad is None:
        return
    if not isinstance(grad, type(tensor)):
        is_zero = isinstance(grad, int | float) and not grad
        cure = " To forget a gradient write x.grad = None." if is_zero else ""
        raise TypeError(f".grad must be a Tensor or None, got {type(grad).__name__}.{cure}")
    if grad is tensor:
        raise NoGradientError("a tensor cannot be its own .grad.")
    for what, error, own, given in (
        ("have the shape", ShapeError, tensor.shape, grad.shape),
        ("have the dtype", DTypeError, tensor.dtype, grad.dtype),
        ("be on the device", DeviceError, device_of(tensor.array), device_of(grad.array)),
    ):
        if own != given:
            raise error(f".grad must {what} of its tensor: {own}, got {given}.")


def unwritable(array: Any, uniform: bool) -> str | None:
    """Why an array's memory cannot be written to. uniform: all new values are one number."""
    if overlaps_itself(array):
        expanded = is_expanded(array)
        if expanded or not uniform:
            why = (
                "(it was expanded)"
                if expanded
                else "(windows of unfold overlap), and the new values would overwrite one another"
            )
            return (
                f"several elements of the target share one memory location {why}. Call .clone()"
                " before writing to it."
            )
    if not is_writable(array):
        return (
            "the target's memory may only be read (it is part of an expanded tensor, or of a "
            "read-only array). Call .clone() before writing to it."
        )
    return None


def cannot_grow(operation: str, value: Any, target: Any) -> ShapeError:
    """The result of an in-place operation has a larger shape than its target."""
    return ShapeError(
        f"{operation}: the result has shape {value.shape}, which does not fit the target "
        f"of shape {target.shape}. An in-place operation cannot make its target grow; use "
        "the out-of-place form."
    )


def cannot_hold(operation: str, value: Any, target: Any) -> InPlaceError:
    """The result of an in-place operation has a dtype of a higher kind than its target."""
    return InPlaceError(
        f"{operation}: the result has dtype {value.dtype}, which cannot be written into a "
        f"tensor of dtype {target.dtype}. Use the out-of-place form, or convert the target "
        "first."
    )


IN_PLACE = {
    "leaf": (
        "a leaf tensor that requires grad is modified in place. It would no longer be a leaf, and"
        " would get no gradient. To update a parameter, do it inside `with no_grad():` (as"
        " optimisers do); else make a new tensor under a new name, as in y = x + …."
    ),
    "own leaf": (
        "a view of itself as a leaf is modified in place. It would no longer be a leaf, and would"
        " get no gradient. To update a parameter, do it inside `with no_grad():` (as optimisers"
        " do); else make a new tensor under a new name, as in y = x + …."
    ),
    "leaf's view": (
        "a view of a leaf tensor that requires grad is modified in place. Modify a "
        ".clone() of the leaf, or do it inside `with no_grad():`."
    ),
    "no_grad": (
        "this view was made under no_grad and is now modified with recording on; the "
        "gradient of the other parts could not be kept right. Modify a .clone() instead."
    ),
    "several": (
        "this view is one of several outputs of one operation (split, chunk, unbind); the "
        "gradient of the other parts could not be kept right. Modify a .clone() instead."
    ),
    "function": (
        "this view is the output of a Function, and the change would bypass its own backward; the"
        " gradient of the other parts could not be kept right. Modify a .clone() instead."
    ),
}
"""Why no right gradient could follow from an in-place change."""


def ambiguous_view(tensor: Any) -> InPlaceError:
    """A view made under no_grad whose base was modified since by something that requires grad."""
    return InPlaceError(
        f"a view of shape {tensor.shape} was made under no_grad, and the tensor that it looks into "
        "was modified in place since: whether the view has a gradient is ambiguous. Make the view "
        "outside no_grad, or use a .detach() or .clone() of it."
    )


def view_and_leaf(tensor: Any) -> InPlaceError:
    """A view that the user made a leaf, whose base was modified since."""
    return InPlaceError(
        f"a view of shape {tensor.shape} was made a leaf (requires_grad_()), and the tensor that it"
        " looks into was then modified in place by something that requires grad: the view cannot"
        " be both. Make the leaf from a .clone() or .detach().clone()."
    )


def check_replaced(node: Any, shown: Any, replaced: Any) -> None:
    """Raise unless what a hook returned can stand in the place of a cotangent."""
    hook = f"a gradient hook of {node.name()}"
    if not isinstance(replaced, type(shown)):
        raise TypeError(
            f"{hook} returned {type(replaced).__name__}; it must return a Tensor or None."
        )
    if replaced.shape != shown.shape:
        raise RuntimeError(
            f"{hook} changed the gradient's shape from {shown.shape} to {replaced.shape}; it must"
            " keep the shape."
        )
    if replaced.dtype != shown.dtype:
        raise RuntimeError(
            f"{hook} changed the gradient's dtype from {shown.dtype} to {replaced.dtype}."
        )
