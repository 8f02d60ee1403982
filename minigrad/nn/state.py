"""The state of a module, its parameters and buffers by name: read, written, and watched by hooks.

The file fixes the order in which hooks see the state. A state that does not fit changes nothing.
Source of the interface: PyTorch's torch.nn.Module.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from .. import backend
from ..core.tensor import Leaf, Tensor, alias, as_tensor, make_leaf, write_payload
from ..hook_handle import HookHandle
from ..roles import role_of, set_role

if TYPE_CHECKING:
    from .hook_registration import HookRegistration
    from .module import Module


class StateError(RuntimeError):
    """A state dict does not fit the module: keys are missing or unknown, or shapes differ. The
    message lists them all.
    """


class IncompatibleKeys(NamedTuple):
    """What `load_state_dict` found: names that the state lacks, and names that the module lacks."""

    missing_keys: list[str]
    unexpected_keys: list[str]

    def __repr__(self) -> str:
        shown = (
            f"IncompatibleKeys(missing_keys={self.missing_keys},"
            f" unexpected_keys={self.unexpected_keys})"
        )
        return shown if any(self) else "<All keys matched successfully>"


class StateHook(NamedTuple):
    """A hook, and whether it is given the module (before loading) or may give another state
    (after saving).
    """

    function: Callable[..., Any]
    special: bool


class StateHooks:
    """The hooks of one module, by the number of their handle."""

    def __init__(self) -> None:
        self.before_saving: dict[int, Any] = {}
        self.after_saving: dict[int, Any] = {}
        self.before_loading: dict[int, Any] = {}
        self.after_loading: dict[int, Any] = {}


def added(module: HookRegistration, kind: str, hook: Any, special: bool = False) -> HookHandle:
    """The handle of a new hook. Raises TypeError where it cannot be called."""
    if not callable(hook):
        raise TypeError(
            f"a hook on the state of {type(module).__name__} is a function, got"
            f" {type(hook).__name__}."
        )
    if module._state_hooks is None:
        module._state_hooks = StateHooks()
    return HookHandle(getattr(module._state_hooks, kind), StateHook(hook, special))  # type: ignore[arg-type]


def _hooks(module: Module, kind: str) -> list[StateHook]:
    return [] if module._state_hooks is None else list(getattr(module._state_hooks, kind).values())


EXTRA = "_extra_state"
"""The key of what `get_extra_state` returns."""


def own_tensors(module: Module) -> dict[str, Tensor]:
    """The tensors of the module itself that are part of its state: parameters first, then
    buffers.
    """
    found = dict(module._registered("parameter"))
    found |= {n: v for n, v in module._registered("buffer") if n not in module._transient}
    return found


def _inside(module: Module, above: tuple[Module, ...]) -> Iterator[tuple[str, Module]]:
    """The modules directly inside, shared ones under each of their names; those that it is
    itself inside of are left out.
    """
    return ((n, m) for n, m in module._modules_inside() if not any(m is a for a in above))


# ------------------------------------------------------------------------------------------- saving


def save(
    module: Module, state: Any, prefix: str, keep_vars: bool, above: tuple[Module, ...] = ()
) -> Any:
    """The state of a module and of all inside, put into `state`; returned, or what a hook gave
    in its place.
    """
    for hook in _hooks(module, "before_saving"):
        hook.function(module, prefix, keep_vars)
    for name, tensor in own_tensors(module).items():
        state[prefix + name] = tensor if keep_vars else tensor.detach()
    if module._overrides("get_extra_state"):
        state[prefix + EXTRA] = module.get_extra_state()
    above = (*above, module)
    for name, child in _inside(module, above):
        save(child, state, f"{prefix}{name}.", keep_vars, above)
    for hook in _hooks(module, "after_saving"):
        given = hook.function(module, state, prefix, {})
        if given is not None:
            if not hook.special:
                raise RuntimeError(
                    f"a state_dict post-hook of {type(module).__name__} must return None, got"
                    f" {type(given).__name__}: change the state in place."
                )
            state = given
    return state


# ------------------------------------------------------------------------------------------ loading


class _Loading:
    """What is found out on a walk through a module and a state, before anything is changed."""

    def __init__(self, assign: bool) -> None:
        self.metadata = {"assign_to_params_buffers": True} if assign else {}
        self.assign = assign
        self.keys = IncompatibleKeys([], [])
        self.problems: list[str] = []
        self.extra: list[tuple[Module, Any]] = []
        self.plan: list[
            tuple[Module, str, Tensor, Tensor]
        ] = []  # owner, name, its tensor, the state's
        self.after: list[tuple[Module, StateHook]] = []

    def visit(
        self, module: Module, state: dict[str, Any], prefix: str, above: tuple[Module, ...]
    ) -> None:
        """state: what there is for this module and all inside; hooks may change it."""
        missing, unexpected = self.keys
        for hook in _hooks(module, "before_loading"):
            given = (module,) if hook.special else ()
            hook.function(
                *given, state, prefix, dict(self.metadata), True, missing, unexpected, self.problems
            )
        own = own_tensors(module)
        for name, tensor in own.items():
            key = prefix + name
            if key in state:
                self._fitted(module, name, key, tensor, state[key])
            else:
                missing.append(key)
        if module._overrides("set_extra_state"):
            if prefix + EXTRA in state:
                self.extra.append((module, state[prefix + EXTRA]))
            else:
                missing.append(prefix + EXTRA)
        known = {prefix + name for name in own} | {
            prefix + EXTRA for _ in range(module._overrides("set_extra_state"))
        }
        left = {key: None for key in state if key.startswith(prefix) and key not in known}
        above = (*above, module)
        inside = [(f"{prefix}{name}.", child) for name, child in _inside(module, above)]
        for start, _ in inside:
            left = {key: None for key in left if not key.startswith(start)}
        unexpected.extend(left)
        for start, child in inside:
            own_part = {key: value for key, value in state.items() if key.startswith(start)}
            self.visit(child, own_part, start, above)
        self.after += [(module, hook) for hook in _hooks(module, "after_loading")]

    def _fitted(self, module: Module, name: str, key: str, tensor: Tensor, given: Any) -> None:
        try:
            value = as_tensor(given)
        except (TypeError, ValueError):
            self.problems.append(
                f"{key}: {type(given).__name__} is neither a tensor nor an array of numbers"
            )
            return
        if tensor.shape == () and value.shape == (1,):
            value = value[0]  # as PyTorch takes it
        if value.shape != tensor.shape:
            self.problems.append(f"{key}: shape {value.shape} does not fit {tensor.shape}")
        elif self.assign and tensor.requires_grad and not backend.is_differentiable(value.dtype):
            self.problems.append(
                f"{key}: {value.dtype} cannot take the place of a parameter, which requires grad"
            )
        else:
            self.plan.append((module, name, tensor, value))

    def carry_out(self) -> None:
        """Put the values into their places."""
        for owner, name, tensor, value in self.plan:
            if self.assign:
                kind = owner._kinds[name]
                owner._register(name, kind, _in_its_place(tensor, value, kind))
            else:
                write_payload(tensor, value.array)
        for owner, state in self.extra:
            owner.set_extra_state(state)


def _in_its_place(tensor: Tensor, value: Tensor, kind: str) -> Tensor:
    """The state's own tensor where it can stand for `tensor`, else one on the same memory that
    can.
    """
    wanted = tensor.requires_grad
    fits = value.requires_grad is wanted and (not wanted or isinstance(value.node, Leaf))
    if fits and (kind == "buffer" or role_of(value) == "parameter"):
        return value
    made = alias(value)
    if wanted:
        make_leaf(made)
    if kind == "parameter":
        set_role(made, "parameter")
    return made


def load(module: Module, state: Any, strict: bool, assign: bool) -> IncompatibleKeys:
    """Copy (or put) a state's values into a module; see Module.load_state_dict."""
    if not isinstance(state, Mapping):
        raise TypeError(
            f"{type(module).__name__}.load_state_dict: expected a dict-like state, names with"
            f" tensors as state_dict() returns them, got {type(state).__name__}."
        )
    walk = _Loading(assign)
    walk.visit(module, OrderedDict(state), "", ())
    _check(module, walk, strict and not walk.after)
    before = [
        (owner, name, tensor, tensor.detach().clone().array)
        for owner, name, tensor, _ in (walk.plan if walk.after else ())
    ]
    walk.carry_out()
    try:
        for owner, hook in walk.after:
            if hook.function(owner, walk.keys) is not None:
                raise RuntimeError(
                    f"a load_state_dict post-hook of {type(owner).__name__} must return None;"
                    " change missing_keys and unexpected_keys in place."
                )
        _check(module, walk, strict)
    except BaseException:
        for owner, name, tensor, array in before:
            if assign:
                owner._register(name, owner._kinds[name], tensor)
            write_payload(tensor, array)
        raise
    return walk.keys


def _check(module: Module, walk: _Loading, strict: bool) -> None:
    missing, unexpected = walk.keys
    lines = [f"  missing: {', '.join(missing)}"] if missing and strict else []
    lines += [f"  unknown: {', '.join(unexpected)}"] if unexpected and strict else []
    lines += [f"  {problem}" for problem in walk.problems]
    if lines:
        raise StateError(f"the state does not fit {type(module).__name__}:\n" + "\n".join(lines))
