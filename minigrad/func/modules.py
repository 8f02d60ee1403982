"""Modules as functions of their parameters: what `grad`, `jvp` and `vmap` need, for which
parameters are arguments like any other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ..core.tensor import Tensor, as_tensor
from ..functions import stack

if TYPE_CHECKING:  # layers are loaded by who uses them
    from ..nn.module import Module


def functional_call(
    module: Module,
    parameters: Any,
    args: Any = (),
    kwargs: dict[str, Any] | None = None,
    *,
    strict: bool = False,
) -> Any:
    """`module(*args, **kwargs)`, computed with other parameters and buffers than its own, which
    stay as they are.

    parameters: tensors by the names of `named_parameters` and `named_buffers` (or several such
    dicts); what is not named is the module's
    own, or an error if `strict`. args: the arguments, or one that is no tuple. Raises KeyError for
    names that the module does not have.

        loss_of = lambda parameters, x, t: loss(mg.func.functional_call(model, parameters, (x,)), t)
        gradients = mg.func.grad(loss_of)(dict(model.named_parameters()), x, t)
    """
    given: dict[str, Any] = {}
    for part in [parameters] if isinstance(parameters, Mapping) else parameters:
        given.update(part)
    own = dict(_own_tensors(module))
    known = {id(own[n]) for n in given if n in own}  # one name of a shared tensor is enough
    unknown, missing = (
        [n for n in given if n not in own],
        [n for n in own if id(own[n]) not in known],
    )
    if unknown or (strict and missing):
        problem = (
            f"has no parameter or buffer {', '.join(unknown)}"
            if unknown
            else f"needs {', '.join(missing)} too"
        )
        raise KeyError(
            f"functional_call: {type(module).__name__} {problem}; its names are {', '.join(own)}."
        )
    with _exchanged(module, {id(own[name]): as_tensor(value) for name, value in given.items()}):
        return module(*(args if isinstance(args, tuple) else (args,)), **(kwargs or {}))


def stack_module_state(modules: Sequence[Module]) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """The parameters and the buffers of modules of one class, each stacked along a new first axis:
    an ensemble, whose members `vmap` computes at once.

    The stacked parameters are new leaves (they require grad if those of all modules do). Raises
    ValueError for no module, modules of several classes, and a mixture of training and evaluation.

        parameters, buffers = mg.func.stack_module_state(models)
        one = lambda p, b, x: mg.func.functional_call(models[0], (p, b), (x,))
        mg.func.vmap(one, in_dims=(0, 0, None))(parameters, buffers, x)     # (models, batch, …)
    """
    modules = list(modules)
    if not modules:
        raise ValueError("stack_module_state: needs at least one module.")
    if len({type(m) for m in modules}) > 1 or len({m.training for m in modules}) > 1:
        raise ValueError(
            "stack_module_state: the modules must be of one class, and all in training or all in"
            " evaluation."
        )
    parameters = _stacked([dict(m.named_parameters()) for m in modules])
    buffers = _stacked([dict(m.named_buffers()) for m in modules])
    return parameters, buffers


def _stacked(states: list[dict[str, Tensor]]) -> dict[str, Tensor]:
    stacked = {}
    for name in states[0]:
        parts = [state[name] for state in states]
        stacked[name] = stack([part.detach() for part in parts])
        if all(part.requires_grad for part in parts):
            stacked[name].requires_grad_()
    return stacked


def _own_tensors(module: Module, recurse: bool = True) -> Iterator[tuple[str, Tensor]]:
    """The parameters and buffers of a module, shared ones under each of their names."""
    yield from module.named_parameters(recurse=recurse, remove_duplicate=False)
    yield from module.named_buffers(recurse=recurse, remove_duplicate=False)


@contextmanager
def _exchanged(module: Module, others: dict[int, Tensor]) -> Iterator[None]:
    """For a while, other tensors in place of a module's own, wherever they are attributes (a
    shared one: everywhere).
    """
    before = [
        (vars(inner), name, t)
        for inner in module.modules()
        for name, t in _own_tensors(inner, recurse=False)
        if id(t) in others
    ]
    try:
        for attributes, name, tensor in before:
            attributes[name] = others[id(tensor)]
        yield
    finally:
        for attributes, name, tensor in before:
            attributes[name] = tensor
