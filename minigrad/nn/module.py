"""`Module`: a function with parameters, built from tensors and other modules. `Layer` (SINGA) is the same class.

There is no registration: whatever tensor that requires grad, module, or list, tuple or dict of these is an attribute belongs to the
module. The order is that in which the attributes were set. Non-trainable state (running statistics) is declared with `register_buffer`.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

from .. import backend
from ..errors import did_you_mean
from ..nodes import HookHandle, Leaf
from ..observe import belonging, observers
from ..tensor import Tensor, as_tensor, overwrite_payload

M = TypeVar("M", bound="Module")


class StateError(RuntimeError):
    """A state dict does not fit the module: keys are missing or unknown, or shapes differ. The message lists them all."""


class Module:
    """Base class of layers and models: define `__init__` (parameters as attributes) and `forward`."""

    training: bool = True
    _buffers: tuple[str, ...] = ()
    _frozen: frozenset[int] = frozenset()
    _hooks: dict[int, Callable[..., Any]] | None = None
    _pre_hooks: dict[int, Callable[..., Any]] | None = None

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What the module computes; to be defined by each subclass."""
        raise NotImplementedError(f"{type(self).__name__} does not define forward().")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not observers:
            return self._called(args, kwargs)
        with belonging(self):  # who watches may ask whose operations these are
            return self._called(args, kwargs)

    def _called(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        for hook in list((self._pre_hooks or {}).values()):
            replaced = hook(self, args)
            if replaced is not None:
                args = replaced if isinstance(replaced, tuple) else (replaced,)
        result = self.forward(*args, **kwargs)
        for hook in list((self._hooks or {}).values()):
            replaced = hook(self, args, result)
            if replaced is not None:
                result = replaced
        return result

    # ------------------------------------------------------------------------------------------------- what belongs to it

    def _members(self) -> Iterator[tuple[str, Any]]:
        """Tensors and modules among the attributes, with the path that leads to them."""
        for name, value in vars(self).items():
            yield from _unfolded(name, value)

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """The modules directly inside this one, with their names."""
        return ((name, value) for name, value in self._members() if isinstance(value, Module))

    def children(self) -> Iterator[Module]:
        """The modules directly inside this one."""
        return (module for _, module in self.named_children())

    def named_modules(self, prefix: str = "") -> Iterator[tuple[str, Module]]:
        """This module and all inside it, each once, with dotted names."""
        seen: set[int] = set()
        stack = [(prefix, self)]
        while stack:
            name, module = stack.pop()
            if id(module) in seen:
                continue
            seen.add(id(module))
            yield name, module
            stack.extend(reversed([(f"{name}.{child}" if name else child, m) for child, m in module.named_children()]))

    def modules(self) -> Iterator[Module]:
        """This module and all inside it, each once."""
        return (module for _, module in self.named_modules())

    def _named(self, wanted: Callable[[Module, str, Tensor], bool], prefix: str = "") -> Iterator[tuple[str, Tensor]]:
        seen: set[int] = set()
        for path, module in self.named_modules(prefix):
            for name, value in module._members():
                if isinstance(value, Tensor) and id(value) not in seen and wanted(module, name, value):
                    seen.add(id(value))
                    yield (f"{path}.{name}" if path else name), value

    def named_parameters(self, prefix: str = "") -> Iterator[tuple[str, Tensor]]:
        """Every parameter once, with its dotted name: leaf tensors that require grad (or did until they were frozen)."""
        return self._named(lambda module, name, value: module._is_parameter(name, value), prefix)

    def parameters(self) -> Iterator[Tensor]:
        """Every parameter once."""
        return (p for _, p in self.named_parameters())

    def params(self) -> list[Tensor]:
        """The parameters as a list (Autogradlib's name)."""
        return list(self.parameters())

    def register_buffer(self, name: str, value: Tensor | None) -> None:
        """Keep a tensor that is part of the state but not trained."""
        setattr(self, name, value)
        self._buffers = (*self._buffers, name)

    def named_buffers(self, prefix: str = "") -> Iterator[tuple[str, Tensor]]:
        """Every buffer, with its dotted name."""
        return self._named(lambda module, name, value: name in module._buffers, prefix)

    def buffers(self) -> Iterator[Tensor]:
        """Every buffer."""
        return (b for _, b in self.named_buffers())

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
        for module in self.modules():
            for name, value in list(module._members()):
                if isinstance(value, Tensor) and module._is_parameter(name, value):
                    module.freeze(value, not requires_grad)
        return self

    def freeze(self, parameter: Tensor, frozen: bool = True) -> None:
        """Freeze (or thaw) one parameter that is an attribute of this very module; it stays a parameter."""
        parameter.requires_grad_(not frozen)
        self._frozen = self._frozen | {id(parameter)} if frozen else self._frozen - {id(parameter)}

    def _is_parameter(self, name: str, value: Tensor) -> bool:
        return name not in self._buffers and (isinstance(value.node, Leaf) or id(value) in self._frozen)

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

    def register_forward_hook(self, hook: Callable[..., Any]) -> HookHandle:
        """Call `hook(module, args, result)` after each forward; a returned value replaces the result."""
        if self._hooks is None:
            self._hooks = {}
        return HookHandle(self._hooks, hook)

    def register_forward_pre_hook(self, hook: Callable[..., Any]) -> HookHandle:
        """Call `hook(module, args)` before each forward; a returned value replaces the arguments."""
        if self._pre_hooks is None:
            self._pre_hooks = {}
        return HookHandle(self._pre_hooks, hook)

    # -------------------------------------------------------------------------------------------------------------- state

    def state_dict(self) -> OrderedDict[str, Tensor]:
        """All parameters and buffers by name, detached, sharing memory with the module."""
        state = self._named(lambda module, name, value: True)
        return OrderedDict((name, value.detach()) for name, value in state)

    def load_state_dict(self, state: dict[str, Any], strict: bool = True) -> None:
        """Copy values into the parameters and buffers of the same names. Raises StateError listing what is missing, unknown, or of another
        shape.

        Nothing is changed if anything does not fit. strict=False passes over missing and unknown names (not over wrong shapes).
        """
        own = dict(self._named(lambda module, name, value: True))
        missing = [k for k in own if k not in state]
        unknown = [k for k in state if k not in own]
        shapes = [
            (k, own[k].shape, tuple(as_tensor(state[k]).shape))
            for k in own
            if k in state and own[k].shape != tuple(as_tensor(state[k]).shape)
        ]
        problems = [f"  missing: {', '.join(missing)}"] if missing and strict else []
        problems += [f"  unknown: {', '.join(unknown)}"] if unknown and strict else []
        problems += [f"  {k}: shape {theirs} does not fit {ours}" for k, ours, theirs in shapes]
        if problems:
            raise StateError(f"the state does not fit {type(self).__name__}:\n" + "\n".join(problems))
        for name, tensor in own.items():
            if name in state:
                overwrite_payload(tensor, as_tensor(state[name]).array)

    def save(self, path: Any) -> None:
        """Write the state to a file: NumPy's .npz, plain arrays by name, no pickle."""
        backend.save_arrays(path, {name: value.array for name, value in self.state_dict().items()})

    def load(self, path: Any, strict: bool = True) -> None:
        """Read a state that `save` wrote. Files with pickled objects are refused."""
        self.load_state_dict(backend.load_arrays(path), strict)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Names that are nowhere else."""
            hint = "" if name.startswith("_") else did_you_mean(name, [*vars(self), *dir(type(self))], {})
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
            return f"{name}({inside})" if inside else name
        lines = [f"  {child}: " + repr(module).replace("\n", "\n  ") for child, module in children]
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
