"""Modules as functions of their parameters: what `grad`, `jvp` and `vmap` need, for which
parameters are arguments like any other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping, Sequence
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
    own, or an error if `strict`. args: the arguments, or one that is no tuple. If the module
    replaces a buffer (`self.count = self.count + 1`), a dict that is given alone holds the new one
    afterwards. Raises KeyError for names that the module does not have, ValueError for a name in
    several dicts and for two tensors that are to stand for one shared tensor.

        loss_of = lambda parameters, x, t: loss(mg.func.functional_call(model, parameters, (x,)), t)
        gradients = mg.func.grad(loss_of)(dict(model.named_parameters()), x, t)
    """
    parts = [parameters] if isinstance(parameters, Mapping) else list(parameters)
    given = {name: as_tensor(value) for part in parts for name, value in part.items()}
    own = dict(_own_tensors(module))
    _check_one_value_each(parts, given, own)
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
    left: dict[int, Tensor] = {}
    with _exchanged(module, {id(own[name]): value for name, value in given.items()}, left):
        result = module(*(args if isinstance(args, tuple) else (args,)), **(kwargs or {}))
    if isinstance(parameters, MutableMapping):
        parameters.update({n: left[id(own[n])] for n in given if id(own[n]) in left})
    return result


def stack_module_state(modules: Sequence[Module]) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """The parameters and the buffers of modules of one class, each stacked along a new first axis:
    an ensemble, whose members `vmap` computes at once.

    The stacked parameters are new leaves, which require grad if those of the modules do. Raises
    ValueError for no module, modules of several classes, a mixture of training and evaluation, and
    a parameter that requires grad in some modules only.

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
        needed = [part.requires_grad for part in parts]
        if any(needed) and not all(needed):
            raise ValueError(
                f"stack_module_state: {name} requires grad in some of the modules only. Set"
                " requires_grad of all of them alike."
            )
        stacked[name].requires_grad_(needed[0])
    return stacked


def _own_tensors(module: Module, recurse: bool = True) -> Iterator[tuple[str, Tensor]]:
    """The parameters and buffers of a module, shared ones under each of their names."""
    yield from module.named_parameters(recurse=recurse, remove_duplicate=False)
    yield from module.named_buffers(recurse=recurse, remove_duplicate=False)


def _check_one_value_each(
    parts: list[Mapping[str, Any]], given: dict[str, Tensor], own: dict[str, Tensor]
) -> None:
    """Raise ValueError where a name is given twice, or a shared tensor gets two values."""
    if sum(map(len, parts)) > len(given):
        twice = next(n for n in given if sum(n in part for part in parts) > 1)
        raise ValueError(f"functional_call: {twice} is in several of the dicts.")
    first: dict[int, str] = {}
    for name in given.keys() & own.keys():
        other = first.setdefault(id(own[name]), name)
        if given[other].array is not given[name].array:
            raise ValueError(
                f"functional_call: {' and '.join(sorted((other, name)))} are one tensor of the"
                " module, but are given two. Give one of them, or one tensor for both."
            )


@contextmanager
def _exchanged(
    module: Module, others: dict[int, Tensor], left: dict[int, Tensor]
) -> Iterator[None]:
    """For a while, other tensors in place of a module's own, wherever they are attributes (a
    shared one: everywhere). left: gets what is there at the end, by the identity of the module's
    own tensor, where that is another one.
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
            if attributes.get(name) is not others[id(tensor)] and name in attributes:
                left[id(tensor)] = attributes[name]
            attributes[name] = tensor
