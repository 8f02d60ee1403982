"""What there is to save of the parts of a run, and how it is put back.

    part                                  what is saved

    Module                                parameters and buffers, their gradients, which are frozen,
                                          and each module's training switch
    Tensor                                value and gradient
    Optimizer                             settings (learning rates among them) and the state of each
                                          parameter
    what has `state_dict` and             what `state_dict` gives
    `load_state_dict` (schedules,
    DataLoader, your own classes)
    dict, list, NumPy array               all that is inside, put back into the same object
    numpy.random.Generator,               their state
    random.Random

Beside the parts there is what the whole program shares (`surroundings`): minigrad's random numbers,
which serve all devices, those of NumPy and of Python, and SINGA's switch `autograd.training`.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from .. import autograd, backend, functions
from ..core.tensor import Leaf, Tensor, wrap, write_payload
from ..nn.module import Module
from ..optim.optimizer import Optimizer, parameter_of
from ..serialization import CheckpointError

Parts = dict[str, Any]
State = dict[str, Any]

# ------------------------------------------------------------------------------- all parts together


def take(parts: Parts) -> State:
    """The state of all parts and of what surrounds them. Arrays are the parts' own memory: write
    them before anything goes on.

    Raises CheckpointError for a part that is none of the kinds above.
    """
    names = _names(parts)
    return {
        "surroundings": surroundings(),
        "kinds": {name: kind(name, part) for name, part in parts.items()},
        "parts": {name: _take(name, part, names) for name, part in parts.items()},
    }


def put(parts: Parts, state: State) -> None:
    """Put back what `take` gave. Raises CheckpointError if the parts are not the same ones; then
    nothing is changed.
    """
    saved = state["parts"]
    for missing, place in ((set(saved) - set(parts), "here"), (set(parts) - set(saved), "there")):
        if missing:
            raise CheckpointError(
                f"its parts are {', '.join(saved)}, here they are {', '.join(parts)}:"
                f" {', '.join(sorted(missing))} is missing {place}."
            )
    for name, part in parts.items():
        there, here = state["kinds"][name], kind(name, part)
        if there != here:
            raise CheckpointError(f"{name} is a part of kind {there} there, and {here} here.")
        _check(name, part, saved[name], parts)
    # optimisers last: schedules set their rates
    for name, part in sorted(parts.items(), key=lambda item: isinstance(item[1], Optimizer)):
        _put(part, saved[name], parts)
    restore_surroundings(state["surroundings"])


def kind(name: str, part: Any) -> str:
    """What kind of part this is, in a word; only parts of one kind can take each other's state."""
    if isinstance(part, Module):
        return "Module"
    if isinstance(part, Tensor):
        return "Tensor"
    if callable(getattr(part, "state_dict", None)) and callable(
        getattr(part, "load_state_dict", None)
    ):
        return type(part).__name__
    for known, word in KINDS.items():
        if isinstance(part, known):
            return word
    raise CheckpointError(
        f"{name} is of type {type(part).__name__}, whose state is not known. Give modules, tensors,"
        " optimisers, dicts, lists, arrays, random generators, or objects with state_dict() and"
        " load_state_dict(); put single numbers into a dict."
    )


KINDS: dict[type, str] = {
    dict: "dict",
    list: "list",
    backend.NumpyArray: "array",
    backend.numpy.random.Generator: "Generator",
    random.Random: "Random",
}

# ------------------------------------------------------------------------------- one part at a time


def _take(name: str, part: Any, names: dict[int, str]) -> Any:
    if isinstance(part, Module):
        return _module_state(part)
    if isinstance(part, Tensor):
        return _tensor_state(part)
    if isinstance(part, Optimizer):
        return _optimizer_state(name, part, names)
    if hasattr(part, "state_dict"):
        return part.state_dict()
    if isinstance(part, backend.numpy.random.Generator):
        return part.bit_generator.state
    return part.getstate() if isinstance(part, random.Random) else part


def _check(name: str, part: Any, state: Any, parts: Parts) -> None:
    """Raise CheckpointError unless `_put` will succeed. What an object's own load_state_dict
    refuses is found out by that alone.
    """
    if isinstance(part, Module):
        own = {path: tensor for path, tensor in _tensors(part)}
        _compare(
            name,
            {k: (v["value"].shape, v["value"].dtype) for k, v in state["tensors"].items()},
            own,
        )
        if len(state["training"]) != len(list(part.modules())):
            raise CheckpointError(
                f"{name} has {len(state['training'])} modules inside there,"
                f" {len(list(part.modules()))} here."
            )
    elif isinstance(part, Tensor):
        _compare(name, {"value": (state["value"].shape, state["value"].dtype)}, {"value": part})
    elif isinstance(part, Optimizer):
        here = [[p.shape for p in group["params"]] for group in part.param_groups]
        if here != state["shapes"]:
            raise CheckpointError(
                f"{name} has groups of parameters of shapes {state['shapes']} there, {here} here."
            )
        known = _named_tensors(parts)
        unknown = [path for path in state["loose"] if path not in known]
        if unknown:
            raise CheckpointError(
                f"{name} has a state for {', '.join(unknown)} there, which no part has here."
            )
    elif isinstance(part, backend.numpy.random.Generator):
        there, here_is = state["bit_generator"], part.bit_generator.state["bit_generator"]
        if there != here_is:
            raise CheckpointError(f"{name} draws from {there} there, from {here_is} here.")
    elif isinstance(part, backend.NumpyArray) and (part.shape, part.dtype) != (
        state.shape,
        state.dtype,
    ):
        raise CheckpointError(
            f"{name} has shape {state.shape} and dtype {state.dtype} there, {part.shape} and"
            f" {part.dtype} here."
        )


def _compare(name: str, there: dict[str, Any], here: dict[str, Tensor]) -> None:
    problems = [f"  {k}: not here" for k in there if k not in here] + [
        f"  {k}: not there" for k in here if k not in there
    ]
    problems += [
        f"  {k}: shape {shape}, {dtype} there; shape {here[k].shape}, {here[k].dtype} here"
        for k, (shape, dtype) in there.items()
        if k in here and (tuple(shape), dtype) != (here[k].shape, here[k].dtype)
    ]
    if problems:
        raise CheckpointError(f"{name} is another one:\n" + "\n".join(problems))


def _put(part: Any, state: Any, parts: Parts) -> None:
    if isinstance(part, Module):
        for path, tensor in list(_tensors(part)):
            _put_tensor(tensor, state["tensors"][path])
            if tensor.requires_grad != state["tensors"][path]["requires_grad"]:
                tensor.requires_grad_(not tensor.requires_grad)
        for module, switch in zip(part.modules(), state["training"], strict=True):
            module.training = switch
    elif isinstance(part, Tensor):
        _put_tensor(part, state)
    elif isinstance(part, Optimizer):
        _put_optimizer(part, state, _named_tensors(parts))
    elif hasattr(part, "load_state_dict"):
        part.load_state_dict(state)
    elif isinstance(part, backend.numpy.random.Generator):
        part.bit_generator.state = state
    elif isinstance(part, random.Random):
        part.setstate(state)
    else:
        refill(part, state)


def refill(old: Any, new: Any) -> Any:
    """Make `old` equal to `new` without replacing the lists, dicts and arrays inside, which
    others may hold on to; returns the result.
    """
    if isinstance(old, dict) and isinstance(new, dict):
        merged = {k: refill(old[k], v) if k in old else v for k, v in new.items()}
        old.clear()
        old.update(merged)
        return old
    if isinstance(old, list) and isinstance(new, list):
        old[:] = [refill(a, b) for a, b in zip(old, new, strict=False)] + new[len(old) :]
        return old
    if (
        isinstance(old, backend.NumpyArray)
        and isinstance(new, backend.NumpyArray)
        and (old.shape, old.dtype) == (new.shape, new.dtype)
    ):
        old[...] = new
        return old
    return new


# ------------------------------------------------------------------------------ modules and tensors


def _tensors(module: Module) -> Iterator[tuple[str, Tensor]]:
    """Every parameter and buffer of a module once, with its dotted name."""
    yield from module.named_parameters()
    yield from module.named_buffers()


def _module_state(module: Module) -> State:
    return {
        "tensors": {path: _tensor_state(tensor) for path, tensor in _tensors(module)},
        "training": [inner.training for inner in module.modules()],
    }


def _tensor_state(tensor: Tensor) -> State:
    grad = tensor.stored_grad
    return {
        "value": _array(tensor),
        "grad": None if grad is None else _array(grad),
        "requires_grad": tensor.requires_grad,
    }


def _array(tensor: Tensor) -> Any:
    return backend.materialise(backend.to_numpy(tensor.array))


def _put_tensor(tensor: Tensor, state: State) -> None:
    write_payload(tensor, backend.to_device_of(state["value"], tensor.array))
    if isinstance(tensor.node, Leaf):
        tensor.node.array = tensor.array
    tensor.stored_grad = (
        None if state["grad"] is None else wrap(backend.to_device_of(state["grad"], tensor.array))
    )


def _named_tensors(parts: Parts) -> dict[str, Tensor]:
    """The tensors of all modules and tensors among the parts, by part and name."""
    found = {name: part for name, part in parts.items() if isinstance(part, Tensor)}
    modules = {name: part for name, part in parts.items() if isinstance(part, Module)}
    return found | {
        f"{name}.{path}": tensor
        for name, module in modules.items()
        for path, tensor in _tensors(module)
    }


def _names(parts: Parts) -> dict[int, str]:
    return {id(tensor): name for name, tensor in _named_tensors(parts).items()}


# --------------------------------------------------------------------------------------- optimisers


def _optimizer_state(name: str, optimizer: Optimizer, names: dict[int, str]) -> State:
    """`loose`: states of parameters that came to the optimiser through `update` alone, by the
    name they have in another part.
    """
    grouped = {id(p) for group in optimizer.param_groups for p in group["params"]}
    loose: State = {}
    for key, state in optimizer.state.items():
        if key in grouped:
            continue
        if key not in names:
            shape = parameter_of(optimizer, key).shape
            raise CheckpointError(
                f"{name} has a state for a parameter of shape {shape} that belongs to no part."
                " Give the module (or the tensor) as a part too."
            )
        loose[names[key]] = state
    return {
        **optimizer.state_dict(),
        "defaults": optimizer.defaults,
        "loose": loose,
        "shapes": [[p.shape for p in group["params"]] for group in optimizer.param_groups],
    }


def _put_optimizer(optimizer: Optimizer, state: State, known: dict[str, Tensor]) -> None:
    optimizer.load_state_dict(state)
    optimizer.defaults.update(state["defaults"])
    for path, own in state["loose"].items():
        optimizer.adopt(known[path], own)


# ------------------------------------------------------------------------------------- surroundings


def surroundings() -> State:
    """What belongs to no part but decides how a run goes on."""
    return {
        "minigrad": functions.random_state(),
        "numpy": backend.numpy.random.get_state(legacy=False),
        "python": random.getstate(),
        "autograd.training": autograd.training,
    }


def restore_surroundings(state: State) -> None:
    """Put back what `surroundings` gave."""
    functions.set_random_state(state["minigrad"])
    backend.numpy.random.set_state(state["numpy"])
    random.setstate(state["python"])
    autograd.training = state["autograd.training"]
