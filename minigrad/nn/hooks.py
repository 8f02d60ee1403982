"""Hooks around a module's call: before and after `forward`, and before and after the gradient
passes through the module.

The gradient with respect to a module's inputs, as far as this module is concerned, is not the
inputs' whole gradient: they may be used elsewhere too. So where backward hooks wait, one node is
put before the module and one behind it. Each is the identity on several tensors at once: all
cotangents of the results come together in the one (`grad_output`), all those of the inputs in the
other (`grad_input`). Source of the interface: PyTorch's torch.nn.Module.
"""

from __future__ import annotations

import warnings
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ..autograd.function import Function
from ..core.graph import Node, Pick
from ..core.tensor import Tensor
from ..grad_mode import is_grad_enabled
from ..hook_handle import HookHandle

if TYPE_CHECKING:
    from .module import Module


class BackwardHookFunction(Function):
    """The identity on several tensors as one operation: a place in the graph where all their
    cotangents meet (PyTorch's name).
    """

    @staticmethod
    def forward(ctx: Any, *tensors: Any) -> Any:
        """The tensors themselves."""
        ctx.set_materialize_grads(False)
        return tensors

    @staticmethod
    def backward(ctx: Any, *cotangents: Any) -> Any:
        """The cotangents themselves; None where there is none."""
        return cotangents

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> Any:
        """The tangents themselves."""
        return tangents


class ForwardHook(NamedTuple):
    """A hook of the way forward. with_kwargs: it also wants the keyword arguments; always: it is
    called even if the call fails.
    """

    function: Callable[..., Any]
    with_kwargs: bool
    always: bool = False


class CallHooks:
    """The hooks of one module, in the order in which they are called, by the number of their
    handle.
    """

    def __init__(self) -> None:
        self.before: OrderedDict[int, Any] = OrderedDict()
        self.after: OrderedDict[int, Any] = OrderedDict()
        self.before_backward: OrderedDict[int, Any] = OrderedDict()
        self.after_backward: OrderedDict[int, Any] = OrderedDict()


def added(
    hooks: OrderedDict[int, Any], what: str, function: Any, hook: Any, prepend: bool
) -> HookHandle:
    """The handle of a new hook, the last of its kind or the first. Raises TypeError where
    `function` cannot be called.
    """
    if not callable(function):
        raise TypeError(f"{what}: a hook is a function, got {type(function).__name__}.")
    handle = HookHandle(hooks, hook)
    if prepend:
        hooks.move_to_end(handle.id, last=False)
    return handle


def call(module: Module, hooks: CallHooks, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """`module.forward(*args, **kwargs)` between the module's hooks."""
    result: Any = None
    ran: set[int] = set()
    try:
        boundary = None
        backward = list(hooks.after_backward.values())
        before_backward = list(hooks.before_backward.values())
        for hook in list(hooks.before.values()):
            args, kwargs = _prepared(module, hook, args, kwargs)
        if backward or before_backward:
            boundary = _Boundary(module, backward, before_backward)
            args = boundary.entered(args)
        result = module.forward(*args, **kwargs)
        for number, hook in list(hooks.after.items()):
            ran.add(number)
            result = _followed(module, hook, args, kwargs, result)
        return result if boundary is None else boundary.left(result)
    except Exception:
        for number, hook in list(hooks.after.items()):
            if hook.always and number not in ran:
                try:
                    result = _followed(module, hook, args, kwargs, result)
                except Exception as error:
                    warnings.warn(
                        f"{type(module).__name__}: a forward hook with always_call=True failed"
                        " after the call itself had failed, and is passed over:"
                        f" {type(error).__name__}: {error}",
                        stacklevel=4,
                    )
        raise


def _prepared(
    module: Module, hook: ForwardHook, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments after one hook."""
    if not hook.with_kwargs:
        given = hook.function(module, args)
        return args if given is None else given if isinstance(given, tuple) else (given,), kwargs
    given = hook.function(module, args, kwargs)
    if given is None:
        return args, kwargs
    if not (isinstance(given, tuple) and len(given) == 2):
        raise RuntimeError(
            f"{type(module).__name__}: a forward pre-hook registered with with_kwargs=True must"
            f" return None or a tuple of (new_args, new_kwargs), got {given!r}."
        )
    return given


def _followed(
    module: Module, hook: ForwardHook, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any
) -> Any:
    """The result after one hook."""
    given = (
        hook.function(module, args, kwargs, result)
        if hook.with_kwargs
        else hook.function(module, args, result)
    )
    return result if given is None else given


# ----------------------------------------------------------------------------------- backward hooks


class _Boundary:
    """The two nodes around one call, and the gradients that one of them keeps for the other.

    It refers to no tensor but those cotangents, and to no node: the nodes own it.
    """

    def __init__(
        self,
        module: Module,
        hooks: Sequence[Callable[..., Any]],
        before: Sequence[Callable[..., Any]],
    ) -> None:
        self.module, self.hooks, self.before = module, hooks, before
        self.inputs: list[int] | None = (
            None  # the places of the inputs that need a gradient; None: there are none
        )
        self.outputs: list[int] = []
        self.count = self.count_out = 0
        self.grad_outputs: tuple[Any, ...] | None = None

    def entered(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """The arguments, with the first node behind them."""
        self.count = len(args)
        args, places, node = _joined(args)
        if node is not None:
            self.inputs = places
            node.register_hook(self._inputs_reached)
        return args

    def left(self, result: Any) -> Any:
        """The result, with the second node behind it."""
        if not isinstance(result, Tensor | tuple):
            warnings.warn(
                f"{type(self.module).__name__}: backward hooks are called for a module that returns"
                f" a Tensor or a tuple of Tensors; this one returned {type(result).__name__}, and"
                " its backward hooks are not called.",
                stacklevel=5,
            )
            return result
        results, self.outputs, node = _joined(result if isinstance(result, tuple) else (result,))
        self.count_out = len(results)
        if node is not None:
            node.register_hook(self._outputs_reached)
        return results if isinstance(result, tuple) else results[0]

    def _outputs_reached(self, passed: tuple[Any, ...], given: tuple[Any, ...]) -> tuple[Any, ...]:
        grads = _spread(given, self.outputs, self.count_out)
        for hook in self.before:
            grads = self._replaced(
                "backward pre-hook", "grad_output", grads, hook(self.module, grads)
            )
        if self.inputs is None:
            self._called_without_inputs(grads)
        else:
            self.grad_outputs = grads
        back = tuple(grads[i] for i in self.outputs)
        return tuple(
            None if p is None and g is not None else b
            for p, g, b in zip(passed, given, back, strict=True)
        )

    def _called_without_inputs(self, grad_outputs: tuple[Any, ...]) -> None:
        """No input needs a gradient: the hooks see what there is, and there is nothing to
        replace.
        """
        if not self.hooks:
            return
        warnings.warn(
            f"{type(self.module).__name__}: no input of this call requires grad, so its full"
            " backward hooks are called as soon as the gradients of its results are known, before"
            " those of its parameters are.",
            stacklevel=2,
        )
        for hook in self.hooks:
            replaced = hook(self.module, (None,) * self.count, grad_outputs)
            if replaced is not None and not (
                isinstance(replaced, tuple) and all(r is None for r in replaced)
            ):
                raise RuntimeError(
                    f"a backward hook of {type(self.module).__name__} returned gradients, but no"
                    " input of this call requires grad: it must return None, or None for each"
                    " input."
                )

    def _inputs_reached(self, grads: tuple[Any, ...], _: tuple[Any, ...]) -> tuple[Any, ...] | None:
        # the gradient came another way, as it does in a second derivative
        if self.grad_outputs is None:
            return None
        assert self.inputs is not None
        shown = _spread(grads, self.inputs, self.count)
        grad_outputs, self.grad_outputs = self.grad_outputs, None
        for hook in self.hooks:
            shown = self._replaced(
                "backward hook", "grad_input", shown, hook(self.module, shown, grad_outputs)
            )
        return tuple(shown[i] for i in self.inputs)

    def _replaced(
        self, kind: str, what: str, shown: tuple[Any, ...], given: Any
    ) -> tuple[Any, ...]:
        if given is None:
            return shown
        name = type(self.module).__name__
        if isinstance(given, Tensor) and len(shown) == 1:
            given = (given,)
        if not isinstance(given, tuple | list):
            raise TypeError(
                f"a {kind} of {name} returned {type(given).__name__}; return None, or a tuple in"
                f" the place of {what}."
            )
        if len(given) != len(shown):
            raise RuntimeError(
                f"a {kind} of {name} returned an invalid number of {what}: got {len(given)}, but"
                f" expected {len(shown)}."
            )
        return tuple(given)


def _joined(values: tuple[Any, ...]) -> tuple[tuple[Any, ...], list[int], Node | None]:
    """The values; the places of the tensors among them that need a gradient; and the one node
    that is now behind these, or None.
    """
    places = [i for i, v in enumerate(values) if isinstance(v, Tensor) and v.requires_grad]
    if not places or not is_grad_enabled():
        return values, places, None
    new = list(values)
    together = BackwardHookFunction.apply(*(values[i] for i in places))
    for i, tensor in zip(places, together, strict=True):
        new[i] = tensor
    place = new[places[0]].node
    node = place.parents[0] if isinstance(place, Pick) else place
    made = tuple(new) if type(values) is tuple else type(values)(*new)  # a named tuple
    return made, places, node


def _spread(values: Sequence[Any], places: Sequence[int], count: int) -> tuple[Any, ...]:
    """The values in their places, with None in all others."""
    found = dict(zip(places, values, strict=True))
    return tuple(found.get(i) for i in range(count))
