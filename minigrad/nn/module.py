"""`Module`: a function with parameters, built from tensors and other modules. `Layer` (SINGA) is the same class.

There is no registration: whatever tensor that requires grad, module, or list, tuple or dict of these is an attribute belongs to the
module. The order is that in which the attributes were set. Non-trainable state (running statistics) is declared with `register_buffer`, or
by `Buffer`. What is only noted by name: which attributes are buffers, and which hold a parameter even while it is frozen.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

from .. import backend
from ..errors import did_you_mean
from ..nodes import HookHandle, Leaf
from ..observe import belonging, observers
from ..tensor import Tensor
from . import hooks as hooks_around
from . import state as states
from .buffer import mark_of
from .hooks import CallHooks, ForwardHook
from .state import IncompatibleKeys, StateError, StateHooks

__all__ = ["Layer", "Module", "StateError"]

M = TypeVar("M", bound="Module")


class Module:
    """Base class of layers and models: define `__init__` (parameters as attributes) and `forward`."""

    training: bool = True
    _buffers: tuple[str, ...] = ()
    _transient: frozenset[str] = frozenset()
    _learned: frozenset[str] = frozenset()  # what stays a parameter when it is frozen
    _call_hooks: CallHooks | None = None
    _state_hooks: StateHooks | None = None

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What the module computes; to be defined by each subclass."""
        raise NotImplementedError(f"{type(self).__name__} does not define forward().")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not observers:
            return self._called(args, kwargs)
        with belonging(self):  # who watches may ask whose operations these are
            return self._called(args, kwargs)

    def _called(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        hooks = self._call_hooks
        return self.forward(*args, **kwargs) if hooks is None else hooks_around.call(self, hooks, args, kwargs)

    # ------------------------------------------------------------------------------------------------- what belongs to it

    def _members(self) -> Iterator[tuple[str, Any]]:
        """Tensors and modules among the attributes, with the path that leads to them."""
        for name, value in vars(self).items():
            yield from _unfolded(name, value)

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """The modules directly inside this one, each once, with their names."""
        seen: set[int] = set()
        for name, value in self._members():
            if isinstance(value, Module) and id(value) not in seen:
                seen.add(id(value))
                yield name, value

    def children(self) -> Iterator[Module]:
        """The modules directly inside this one."""
        return (module for _, module in self.named_children())

    def named_modules(self, memo: Any = None, prefix: str = "", remove_duplicate: bool = True) -> Iterator[tuple[str, Module]]:
        """This module and all inside it, with dotted names; shared ones once, or (remove_duplicate=False) under each of their names.

        memo: a set of modules that count as seen.
        """
        seen: set[Module] = set() if memo is None else memo
        stack: list[tuple[str, Module, tuple[Module, ...]]] = [(prefix, self, ())]
        while stack:
            name, module, above = stack.pop()
            if module in (seen if remove_duplicate else above):
                continue
            seen.add(module)
            yield name, module
            inside = [(f"{name}.{n}" if name else n, m) for n, m in module._members() if isinstance(m, Module)]
            stack.extend((n, m, () if remove_duplicate else (*above, module)) for n, m in reversed(inside))

    def modules(self, remove_duplicate: bool = True) -> Iterator[Module]:
        """This module and all inside it, each once."""
        return (module for _, module in self.named_modules(remove_duplicate=remove_duplicate))

    def _named(
        self, wanted: Callable[[Module, str, Tensor], bool], prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        seen: set[int] = set()
        for path, module in self.named_modules(None, prefix, remove_duplicate) if recurse else [(prefix, self)]:
            for name, value in module._members():
                if isinstance(value, Tensor) and id(value) not in seen and wanted(module, name, value):
                    if remove_duplicate:
                        seen.add(id(value))
                    yield (f"{path}.{name}" if path else name), value

    def named_parameters(self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True) -> Iterator[tuple[str, Tensor]]:
        """Every parameter with its dotted name: leaf tensors that require grad (or did until they were frozen).

        recurse=False: those of this very module. remove_duplicate=False: shared ones under each of their names.
        """
        return self._named(lambda module, name, value: module._is_parameter(name, value), prefix, recurse, remove_duplicate)

    def parameters(self, recurse: bool = True) -> Iterator[Tensor]:
        """Every parameter once."""
        return (p for _, p in self.named_parameters(recurse=recurse))

    def params(self) -> list[Tensor]:
        """The parameters as a list (Autogradlib's name)."""
        return list(self.parameters())

    def named_buffers(self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True) -> Iterator[tuple[str, Tensor]]:
        """Every buffer, with its dotted name."""
        return self._named(lambda module, name, value: name in module._buffers, prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """Every buffer."""
        return (b for _, b in self.named_buffers(recurse=recurse))

    # -------------------------------------------------------------------------------------------------- what is put into it

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Keep a tensor that is part of the state but not trained; persistent=False: nor part of the state.

        Raises TypeError for a name that is no string and a value that is no tensor, KeyError for a name that is taken, empty or dotted.
        """
        self._check_name("register_buffer", name, name in self._buffers)
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(f"register_buffer: {name!r} is a tensor or None, got {type(tensor).__name__}.")
        self._note_buffer(name, persistent)
        object.__setattr__(self, name, tensor)

    def register_parameter(self, name: str, param: Tensor | None) -> None:
        """Keep a parameter, a leaf tensor that requires grad, under a name. The same as setting the attribute, but checked.

        Raises TypeError and KeyError as `register_buffer`, ValueError for the result of an operation.
        """
        taken = vars(self).get(name) if isinstance(name, str) else None
        self._check_name("register_parameter", name, isinstance(taken, Tensor) and self._is_parameter(name, taken))
        if param is not None:
            if not isinstance(param, Tensor) or param.node is None:
                got = "a tensor that does not require grad" if isinstance(param, Tensor) else type(param).__name__
                raise TypeError(f"register_parameter: {name!r} is a Parameter or None, got {got}.")
            if not isinstance(param.node, Leaf):
                raise ValueError(
                    f"register_parameter: {name!r} is the result of an operation; a parameter is a leaf. Compute it in forward, from one."
                )
        setattr(self, name, param)

    def add_module(self, name: str, module: Module | None) -> None:
        """Put a module into this one under a name. The same as setting the attribute, but checked; raises as `register_buffer`."""
        if module is not None and not isinstance(module, Module):
            raise TypeError(f"add_module: {name!r} is a Module or None, got {type(module).__name__}.")
        self._check_name("add_module", name, isinstance(name, str) and any(n == name for n, _ in self.named_children()))
        self._exchange(name, module)

    def register_module(self, name: str, module: Module | None) -> None:
        """Another name of `add_module`."""
        self.add_module(name, module)

    def _check_name(self, method: str, name: Any, known: bool) -> None:
        if not isinstance(name, str):
            raise TypeError(f"{method}: the name is a string, got {type(name).__name__}.")
        if not name or "." in name:
            raise KeyError(f"{method}: a name is not empty and has no dot, got {name!r}.")
        taken = vars(self)[name] is not None if name in vars(self) else hasattr(type(self), name)
        if taken and not known:
            raise KeyError(f"{method}: {type(self).__name__} has an attribute {name!r} already. Choose another name, or delete it first.")

    def _note_buffer(self, name: str, persistent: bool) -> None:
        self._buffers = self._buffers if name in self._buffers else (*self._buffers, name)
        self._transient = self._transient - {name} if persistent else self._transient | {name}

    def _exchange(self, path: str, value: Any) -> None:
        """Put another value where `_members` found one: as an attribute, or inside lists, tuples and dicts."""
        first, _, rest = path.partition(".")
        setattr(self, first, _with_item(vars(self).get(first), rest, value))

    if not TYPE_CHECKING:

        def __setattr__(self, name: str, value: Any) -> None:
            """A leaf that requires grad is a parameter from now on, a tensor that `Buffer` made a buffer; a buffer stays a tensor."""
            if type(value) is Tensor:
                persistent = mark_of(value)
                if persistent is not None:
                    self._note_buffer(name, persistent)
                elif (type(value.node) is Leaf) is not (name in self._learned):
                    self._learned = self._learned ^ {name}
            elif value is not None and name in self._buffers:
                raise TypeError(f"{type(self).__name__}.{name} is a buffer: it is a Tensor or None, got {type(value).__name__}.")
            object.__setattr__(self, name, value)

    def __delattr__(self, name: str) -> None:
        object.__delattr__(self, name)
        if name in self._buffers:
            self._buffers = tuple(n for n in self._buffers if n != name)
            self._transient = self._transient - {name}

    # ------------------------------------------------------------------------------------------------ what has a certain name

    def get_submodule(self, target: str) -> Module:
        """The module of a dotted name, as `named_modules` gives it; this one for "". Raises AttributeError where there is none."""
        if not target:
            return self
        for name, value in self._members():
            if isinstance(value, Module) and (target == name or target.startswith(f"{name}.")):
                return value.get_submodule(target[len(name) + 1 :])
        first = target.partition(".")[0]
        if hasattr(self, first):
            raise AttributeError(f"{type(self).__name__}: `{target}` is not an nn.Module, nor does one of its parts lead to one.")
        raise AttributeError(f"{type(self).__name__} has no attribute `{first}`.{self._hint(first)}")

    def set_submodule(self, target: str, module: Module, strict: bool = False) -> None:
        """Put a module in the place of a dotted name, where another may be (strict: must be). Raises ValueError, AttributeError."""
        if not target:
            raise ValueError("set_submodule: name the place; the module itself cannot be replaced from inside.")
        if not isinstance(module, Module):
            raise ValueError(f"set_submodule: {target!r} is a Module, got {type(module).__name__}.")
        for place, owner in self.named_modules():
            for name, _ in list(owner.named_children()):
                if (f"{place}.{name}" if place else name) == target:
                    owner._exchange(name, module)
                    return
        path, _, name = target.rpartition(".")
        owner = self.get_submodule(path)
        if hasattr(owner, name):
            raise AttributeError(f"{type(owner).__name__}: `{name}` is not an nn.Module.")
        if strict:
            raise AttributeError(f"{type(owner).__name__} has no attribute `{name}`; with strict=True there must be a module to replace.")
        owner._exchange(name, module)

    def get_parameter(self, target: str) -> Tensor:
        """The parameter of a dotted name. Raises AttributeError where there is none."""
        return self._tensor_of(target, "an nn.Parameter", lambda owner, name, value: owner._is_parameter(name, value))

    def get_buffer(self, target: str) -> Tensor:
        """The buffer of a dotted name. Raises AttributeError where there is none."""
        return self._tensor_of(target, "a buffer", lambda owner, name, value: name in owner._buffers)

    def _tensor_of(self, target: str, what: str, wanted: Callable[[Module, str, Tensor], bool]) -> Tensor:
        for name, value in self._members():
            if isinstance(value, Tensor) and name == target:
                if wanted(self, name, value):
                    return value
                raise AttributeError(f"{type(self).__name__}: `{target}` is not {what}.")
            if isinstance(value, Module) and target.startswith(f"{name}."):
                return value._tensor_of(target[len(name) + 1 :], what, wanted)
        first = target.partition(".")[0]
        if first and hasattr(self, first):
            raise AttributeError(f"{type(self).__name__}: `{target}` is not {what}.")
        raise AttributeError(f"{type(self).__name__} has no attribute `{first}`.{self._hint(first)}")

    def _hint(self, name: str) -> str:
        return did_you_mean(name, [*vars(self), *dir(type(self))], {})

    # ----------------------------------------------------------------------------------------------------------- switches

    def train(self: M, mode: bool = True) -> M:
        """Training behaviour (dropout drops, batch norm uses the batch) for this module and all inside; returns the module."""
        if not isinstance(mode, bool | int):
            raise TypeError(f"train: the mode must be True or False, got {mode!r}.")
        for module in self.modules():
            module.training = bool(mode)
        return self

    def eval(self: M) -> M:
        """Inference behaviour; returns the module."""
        return self.train(False)

    def requires_grad_(self: M, requires_grad: bool = True) -> M:
        """Freeze or thaw all parameters; frozen ones stay parameters. Returns the module."""
        found = [
            (module, value)
            for module in self.modules()
            for name, value in module._members()
            if isinstance(value, Tensor) and module._is_parameter(name, value)
        ]
        for module, value in found:  # of which one may be shared by several modules
            module.freeze(value, not requires_grad)
        return self

    def freeze(self, parameter: Tensor, frozen: bool = True) -> None:
        """Freeze (or thaw) one parameter that is an attribute of this very module; it stays a parameter."""
        parameter.requires_grad_(not frozen)
        names = {name for name, value in self._members() if value is parameter}
        self._learned = self._learned | names

    def _is_parameter(self, name: str, value: Tensor) -> bool:
        return name not in self._buffers and (isinstance(value.node, Leaf) or (value.node is None and name in self._learned))

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget all gradients (or fill them with zeros)."""
        for p in self.parameters():
            if set_to_none or p._grad is None:
                p._grad = None
            else:
                p.grad.detach_()
                p.grad.zero_()

    def to(self: M, *args: Any, dtype: Any = None, device: Any = None) -> M:
        """Convert or move all parameters and buffers, in place (floating ones only change dtype); returns the module."""
        for a in args:
            if isinstance(a, backend.Device) or (isinstance(a, str) and (a == "cpu" or a.startswith("cuda"))):
                device = a
            else:
                dtype = a
        wanted = backend.as_dtype(dtype)
        if wanted is not None and not backend.is_differentiable(wanted):
            raise TypeError(f"{type(self).__name__}.to: parameters are floating or complex numbers, which {wanted} is not.")
        for tensor in [*self.parameters(), *self.buffers()]:
            array = tensor.array
            if wanted is not None and backend.is_differentiable(tensor.dtype):
                array = backend.owned_array(array.astype(wanted))  # also of one number: it may be shared already
            if device is not None:
                array = backend.to_device(array, str(device))
            tensor.array = array
            if isinstance(tensor.node, Leaf):
                tensor.node.array, tensor.node.dtype = array, array.dtype
            tensor._grad = None
        return self

    def float(self: M) -> M:
        """All parameters in float32."""
        return self.to(backend.float32)

    def double(self: M) -> M:
        """All parameters in float64."""
        return self.to(backend.float64)

    def half(self: M) -> M:
        """All parameters in float16."""
        return self.to(backend.float16)

    def bfloat16(self: M) -> M:
        """All parameters in bfloat16. Raises DTypeError where the package ml_dtypes is not installed."""
        return self.to(backend.bfloat16_dtype())

    def type(self: M, dst_type: Any) -> M:
        """All parameters in a dtype."""
        return self.to(dtype=dst_type)

    def cpu(self: M) -> M:
        """All parameters in host memory."""
        return self.to("cpu")

    def cuda(self: M, index: int = 0) -> M:
        """All parameters on a CUDA device."""
        return self.to(f"cuda:{index}")

    def apply(self: M, function: Callable[[Module], Any]) -> M:
        """Call `function` on every module inside, innermost first, then on this one; returns the module."""
        for child in self.children():
            child.apply(function)
        function(self)
        return self

    # -------------------------------------------------------------------------------------------------------------- hooks

    def register_forward_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False, always_call: bool = False
    ) -> HookHandle:
        """Call `hook(module, args, result)` after each forward; a returned value (not None) replaces the result.

        prepend: before the hooks that are there already. with_kwargs: `hook(module, args, kwargs, result)`. always_call: even if the call
        fails (then the result is None, or what it was when a hook failed); should the hook fail too, it is passed over with a warning.
        """
        what = "register_forward_hook"
        return hooks_around.added(self._hooks().after, what, hook, ForwardHook(hook, with_kwargs, always_call), prepend)

    def register_forward_pre_hook(self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False) -> HookHandle:
        """Call `hook(module, args)` before each forward; a returned value replaces the arguments (a tuple: all; else the only one).

        prepend: before the hooks that are there already. with_kwargs: `hook(module, args, kwargs)`, which returns None or (args, kwargs).
        """
        return hooks_around.added(self._hooks().before, "register_forward_pre_hook", hook, ForwardHook(hook, with_kwargs), prepend)

    def register_full_backward_hook(self, hook: Callable[..., Any], prepend: bool = False) -> HookHandle:
        """Call `hook(module, grad_input, grad_output)` when a reverse pass has come through the module.

        grad_input: a tuple with the gradient with respect to each positional argument, as far as this call is concerned; grad_output: with
        respect to each result (there is one, unless the module returns a tuple). None stands for what is no tensor, needs no gradient or
        got none; tensors inside lists and dicts are not seen. A returned tuple replaces grad_input. The arguments and results pass through
        views, which cannot be modified in place. Where no argument needs a gradient, the hook sees grad_output alone, with a warning. A
        pass that does not want the inputs' gradients does not call it. Nothing is called for calls without recording (`no_grad`).
        """
        return hooks_around.added(self._hooks().after_backward, "register_full_backward_hook", hook, hook, prepend)

    def register_full_backward_pre_hook(self, hook: Callable[..., Any], prepend: bool = False) -> HookHandle:
        """Call `hook(module, grad_output)` when a reverse pass comes to the module; a returned tuple replaces grad_output."""
        return hooks_around.added(self._hooks().before_backward, "register_full_backward_pre_hook", hook, hook, prepend)

    def _hooks(self) -> CallHooks:
        if self._call_hooks is None:
            self._call_hooks = CallHooks()
        return self._call_hooks

    # -------------------------------------------------------------------------------------------------------------- state

    def state_dict(self, *, destination: Any = None, prefix: str = "", keep_vars: bool = False) -> Any:
        """All parameters and buffers by name, detached, sharing memory with the module; shared ones under each of their names.

        destination: a dict to put them into; prefix: what all names begin with; keep_vars: the tensors themselves. Buffers with
        persistent=False are left out.
        """
        return states.save(self, OrderedDict() if destination is None else destination, prefix, keep_vars)

    def load_state_dict(self, state_dict: Any, strict: bool = True, assign: bool = False) -> IncompatibleKeys:
        """Copy values into the parameters and buffers of the same names.

        strict=False passes over missing and unknown names (not over wrong shapes). assign: put the state's own tensors in their places,
        with their dtype and device, instead of copying (an optimiser made before keeps the old ones). Returns the lists missing_keys and
        unexpected_keys. Raises TypeError for what is no dict, StateError listing what is missing, unknown, or of another shape. Nothing is
        changed if anything does not fit.
        """
        return states.load(self, state_dict, strict, assign)

    def register_state_dict_pre_hook(self, hook: Callable[..., Any]) -> HookHandle:
        """Call `hook(module, prefix, keep_vars)` before `state_dict` reads this module."""
        return states.added(self, "before_saving", hook)

    def register_state_dict_post_hook(self, hook: Callable[..., Any]) -> HookHandle:
        """Call `hook(module, state_dict, prefix, local_metadata)` when this module and all inside are in the state, which it may change.

        Other modules are in it too: those before this one. It must return None.
        """
        return states.added(self, "after_saving", hook)

    def _register_state_dict_hook(self, hook: Callable[..., Any]) -> HookHandle:
        """As `register_state_dict_post_hook`, but what the hook of the outermost module returns replaces the state."""
        return states.added(self, "after_saving", hook, True)

    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any]) -> HookHandle:
        """Call `hook(module, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)` before loading.

        state_dict: a dict of its own with all that is there for this module and those inside, which it may change.
        """
        return states.added(self, "before_loading", hook, True)

    def _register_load_state_dict_pre_hook(self, hook: Callable[..., Any], with_module: bool = False) -> HookHandle:
        """As `register_load_state_dict_pre_hook`, but without the module as its first argument."""
        return states.added(self, "before_loading", hook, with_module)

    def register_load_state_dict_post_hook(self, hook: Callable[..., Any]) -> HookHandle:
        """Call `hook(module, incompatible_keys)` after loading; it may change both lists of names in place, and must return None."""
        return states.added(self, "after_loading", hook)

    def save(self, path: Any) -> None:
        """Write the state to a file: NumPy's .npz, plain arrays by name, no pickle."""
        backend.save_arrays(path, {name: value.array for name, value in self.state_dict().items()})

    def load(self, path: Any, strict: bool = True) -> None:
        """Read a state that `save` wrote. Files with pickled objects are refused."""
        self.load_state_dict(backend.load_arrays(path), strict)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Names that are nowhere else."""
            hint = "" if name.startswith("_") else self._hint(name)
            raise AttributeError(f"a {type(self).__name__} has no attribute {name!r}.{hint}", name=name)

    # --------------------------------------------------------------------------------------------------------------- text

    def extra_repr(self) -> str:
        """What stands between the parentheses of a layer's repr."""
        return ""

    def __repr__(self) -> str:
        children = list(self.named_children())
        inside = self.extra_repr()
        name = type(self).__name__
        if not children:
            return f"{name}({inside})"
        lines = [f"  ({child}): " + repr(module).replace("\n", "\n  ") for child, module in children]
        return f"{name}({inside}\n" + "\n".join(lines) + "\n)"


Layer = Module


def _unfolded(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Tensor | Module):
        yield name, value
    elif isinstance(value, list | tuple):
        for i, item in enumerate(value):
            yield from _unfolded(f"{name}.{i}", item)
    elif isinstance(value, dict) and not name.startswith("_"):
        for key, item in value.items():
            yield from _unfolded(f"{name}.{key}", item)


def _with_item(container: Any, path: str, value: Any) -> Any:
    """The container with another value at a path of `_unfolded`; lists and dicts are changed in place."""
    if not path:
        return value
    if isinstance(container, dict):
        key = next(k for k in container if path == f"{k}" or path.startswith(f"{k}."))
        container[key] = _with_item(container[key], path[len(f"{key}") + 1 :], value)
        return container
    first, _, rest = path.partition(".")
    if isinstance(container, tuple):
        items = list(container)
        items[int(first)] = _with_item(items[int(first)], rest, value)
        return type(container)(items) if type(container) is tuple else type(container)(*items)
    container[int(first)] = _with_item(container[int(first)], rest, value)
    return container
