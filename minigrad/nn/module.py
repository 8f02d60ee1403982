"""`Module`: a function with parameters, built from tensors and other modules. `Layer` (SINGA) is
the same class.

As in PyTorch, an attribute belongs to the module if it is a `Parameter`, a `Buffer` or another
Module, or was put in by one of the `register_…` methods. Plain tensors, lists and dicts are
ordinary attributes. Two things are kinder than in PyTorch: a subclass need not call
`super().__init__()`, and a plain function may be a member of a `Sequential`. The values are
ordinary attributes; `_kinds` holds what each name is registered as, in order of registration, and
keeps a name whose value is None.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, MutableMapping
from typing import TYPE_CHECKING, Any, TypeVar

from .. import backend
from ..core.graph import OpNode
from ..core.observe import observers
from ..core.tensor import Tensor
from ..errors import did_you_mean
from ..observers import calls
from ..roles import role_of
from . import hooks as hooks_around
from . import state as states
from .conversion import Converting, convert
from .hook_registration import HookRegistration
from .state import IncompatibleKeys, StateError

__all__ = ["Layer", "Module", "StateError"]

M = TypeVar("M", bound="Module")


class Module(HookRegistration, Converting):
    """Base class of layers and models: define `__init__` (parameters as attributes) and
    `forward`. Unlike PyTorch's, it takes parameters and modules as attributes before, or without,
    `super().__init__()`, and registers them.
    """

    training: bool = True
    _kinds: dict[str, str]  # "parameter", "buffer" or "module", by name
    _transient: frozenset[str] = frozenset()  # buffers that are not part of the state

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        """A module that can take attributes, whether or not its `__init__` calls
        `super().__init__()`.
        """
        made = object.__new__(cls)
        made.__dict__["_kinds"] = {}
        return made

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What the module computes; to be defined by each subclass."""
        raise NotImplementedError(f"{type(self).__name__} does not define forward().")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not observers:
            return self._called(args, kwargs)
        before = calls.modules  # who observes may ask whose operations these are
        calls.modules = (*before, self)
        try:
            return self._called(args, kwargs)
        finally:
            calls.modules = before

    def _called(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        hooks = self._call_hooks
        if hooks is None:
            return self.forward(*args, **kwargs)
        return hooks_around.call(self, hooks, args, kwargs)

    # --------------------------------------------------------------------------- what belongs to it

    def _registered(self, *kinds: str) -> Iterator[tuple[str, Any]]:
        """Names and values of what is registered as one of these kinds and is not None."""
        values = vars(self)
        for name, kind in list(self._kinds.items()):
            if kind in kinds and values[name] is not None:
                yield name, values[name]

    def _modules_inside(self) -> list[tuple[str, Module]]:
        """The modules directly inside, a shared one under each of its names."""
        return [(n, m) for n, m in self._registered("module") if isinstance(m, Module)]

    def _overrides(self, method: str) -> bool:
        """Whether a subclass defines a method that Module only names."""
        return getattr(type(self), method) is not getattr(Module, method)

    _parameters = property(
        lambda self: _Registered(self, "parameter"), doc="The parameters by name, as a dict."
    )
    _buffers = property(
        lambda self: _Registered(self, "buffer"), doc="The buffers by name, as a dict."
    )
    _modules = property(
        lambda self: _Registered(self, "module"), doc="The modules inside by name, as a dict."
    )

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """The modules directly inside this one, each once, with their names."""
        seen: set[int] = set()
        for name, module in self._modules_inside():
            if id(module) not in seen:
                seen.add(id(module))
                yield name, module

    def children(self) -> Iterator[Module]:
        """The modules directly inside this one."""
        return (module for _, module in self.named_children())

    def named_modules(
        self, memo: Any = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Module]]:
        """This module and all inside it, with dotted names; shared ones once, or
        (remove_duplicate=False) under each of their names.

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
            inside = [(f"{name}.{n}" if name else n, m) for n, m in module._modules_inside()]
            stack.extend(
                (n, m, () if remove_duplicate else (*above, module)) for n, m in reversed(inside)
            )

    def modules(self, remove_duplicate: bool = True) -> Iterator[Module]:
        """This module and all inside it, each once."""
        return (module for _, module in self.named_modules(remove_duplicate=remove_duplicate))

    def _named(
        self,
        kinds: tuple[str, ...],
        prefix: str = "",
        recurse: bool = True,
        remove_duplicate: bool = True,
    ) -> Iterator[tuple[str, Tensor]]:
        seen: set[int] = set()
        for path, module in (
            self.named_modules(None, prefix, remove_duplicate) if recurse else [(prefix, self)]
        ):
            for name, value in module._registered(*kinds):
                if id(value) not in seen:
                    if remove_duplicate:
                        seen.add(id(value))
                    yield (f"{path}.{name}" if path else name), value

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        """Every parameter with its dotted name, frozen ones included.

        recurse=False: those of this very module. remove_duplicate=False: shared ones under each of
        their names.
        """
        return self._named(("parameter",), prefix, recurse, remove_duplicate)

    def parameters(self, recurse: bool = True) -> Iterator[Tensor]:
        """Every parameter once."""
        return (p for _, p in self.named_parameters(recurse=recurse))

    def params(self) -> list[Tensor]:
        """The parameters as a list (Autogradlib's name)."""
        return list(self.parameters())

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        """Every buffer, with its dotted name."""
        return self._named(("buffer",), prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """Every buffer."""
        return (b for _, b in self.named_buffers(recurse=recurse))

    # -------------------------------------------------------------------------- what is put into it

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Keep a tensor that is part of the state but not trained; persistent=False: nor part of
        the state.

        Raises TypeError for a name that is no string and a value that is no tensor, KeyError for a
        name that is taken, empty or dotted.
        """
        self._check_name("register_buffer", name, "buffer")
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(
                f"register_buffer: {name!r} is a tensor or None, got {type(tensor).__name__}."
            )
        self._register(name, "buffer", tensor, persistent)

    def register_parameter(self, name: str, param: Tensor | None) -> None:
        """Keep a parameter under a name, as setting the attribute does.

        Raises TypeError and KeyError as `register_buffer`, ValueError for the result of an
        operation.
        """
        self._check_name("register_parameter", name, "parameter")
        if param is not None and role_of(param) != "parameter":
            got = (
                "a plain tensor: write nn.Parameter(tensor)"
                if isinstance(param, Tensor)
                else type(param).__name__
            )
            raise TypeError(f"register_parameter: {name!r} is a Parameter or None, got {got}.")
        if param is not None and isinstance(param.node, OpNode):
            raise ValueError(
                f"register_parameter: {name!r} is the result of an operation; a parameter is a"
                " leaf. Compute it in forward, from one."
            )
        self._register(name, "parameter", param)

    def add_module(self, name: str, module: Module | None) -> None:
        """Put a module into this one under a name. The same as setting the attribute, but
        checked; raises as `register_buffer`.
        """
        if module is not None and not isinstance(module, Module):
            raise TypeError(
                f"add_module: {name!r} is a Module or None, got {type(module).__name__}."
            )
        self._check_name("add_module", name, "module")
        self._register(name, "module", module)

    def register_module(self, name: str, module: Module | None) -> None:
        """Another name of `add_module`."""
        self.add_module(name, module)

    def _check_name(self, method: str, name: Any, kind: str) -> None:
        if not isinstance(name, str):
            raise TypeError(f"{method}: the name is a string, got {type(name).__name__}.")
        if not name or "." in name:
            raise KeyError(f"{method}: a name is not empty and has no dot, got {name!r}.")
        if self._kinds.get(name) != kind and (name in vars(self) or hasattr(type(self), name)):
            raise KeyError(
                f"{method}: {type(self).__name__} has an attribute {name!r} already. Choose another"
                " name, or delete it first."
            )

    def _register(self, name: str, kind: str, value: Any, persistent: bool = True) -> None:
        """Note what a name is, last of all if it was something else before, and set the
        attribute.
        """
        if self._kinds.get(name) != kind:
            self._kinds.pop(name, None)
            self._kinds[name] = kind
        transient = kind == "buffer" and not persistent
        if transient is not (name in self._transient):
            self._transient = self._transient ^ {name}
        object.__setattr__(self, name, value)

    if not TYPE_CHECKING:

        def __setattr__(self, name: str, value: Any) -> None:
            """Register a Parameter, a Buffer or a Module; refuse what cannot stand where one of
            these is registered.

            Raises TypeError there, and KeyError for a Parameter or Buffer under the name of a
            method.
            """
            kind = self._kinds.get(name)
            role = (
                role_of(value)
                if type(value) is Tensor
                else "module"
                if isinstance(value, Module)
                else None
            )
            if role is None:
                if (
                    kind is not None
                    and value is not None
                    and not (kind == "buffer" and isinstance(value, Tensor))
                ):
                    raise self._refusal(name, kind, value)
                object.__setattr__(self, name, value)
            elif role == "parameter":
                if kind != "parameter" and name not in vars(self):
                    self._check_name("Parameter", name, "parameter")
                self._register(name, "parameter", value)
            elif role == "module":
                if kind == "parameter":
                    raise self._refusal(name, kind, value)
                self._register(name, "module", value)
            else:
                if kind in ("parameter", "module"):
                    raise self._refusal(name, kind, value)
                self._check_name("Buffer", name, "buffer")
                self._register(name, "buffer", value, role == "buffer")

    def _refusal(self, name: str, kind: str, value: Any) -> TypeError:
        wanted, cure = _WANTED[kind]
        got = (
            "a plain tensor"
            if isinstance(value, Tensor) and role_of(value) is None
            else f"a {type(value).__name__}"
        )
        return TypeError(
            f"{type(self).__name__}.{name} is a {kind}: it must be {wanted} or None, got {got}. "
            + cure.format(name=name)
            + f" To make it something else, `del module.{name}` first."
        )

    def __delattr__(self, name: str) -> None:
        object.__delattr__(self, name)
        self._kinds.pop(name, None)
        self._transient = self._transient - {name}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """What `copy` and `pickle` call; a copy has registrations of its own."""
        vars(self).update(state)
        vars(self)["_kinds"] = dict(state["_kinds"])

    # ---------------------------------------------------------------------- what has a certain name

    def get_submodule(self, target: str) -> Module:
        """The module of a dotted name, as `named_modules` gives it; this one for "". Raises
        AttributeError where there is none.
        """
        module = self
        for name in target.split(".") if target else []:
            if not hasattr(module, name):
                raise AttributeError(
                    f"{type(module).__name__} has no attribute `{name}`.{module._hint(name)}"
                )
            found = getattr(module, name)
            if not isinstance(found, Module):
                raise AttributeError(f"{type(module).__name__}: `{name}` is not an nn.Module.")
            module = found
        return module

    def set_submodule(self, target: str, module: Module, strict: bool = False) -> None:
        """Put a module in the place of a dotted name, where another may be (strict: must be).
        Raises ValueError, AttributeError.
        """
        if not target:
            raise ValueError(
                "set_submodule: name the place; the module itself cannot be replaced from inside."
            )
        if not isinstance(module, Module):
            raise ValueError(f"set_submodule: {target!r} is a Module, got {type(module).__name__}.")
        path, _, name = target.rpartition(".")
        owner = self.get_submodule(path)
        if hasattr(owner, name):
            if not isinstance(getattr(owner, name), Module):
                raise AttributeError(f"{type(owner).__name__}: `{name}` is not an nn.Module.")
        elif strict:
            raise AttributeError(
                f"{type(owner).__name__} has no attribute `{name}`; with strict=True there must be"
                " a module to replace."
            )
        setattr(owner, name, module)

    def get_parameter(self, target: str) -> Tensor:
        """The parameter of a dotted name. Raises AttributeError where there is none."""
        return self._tensor_of(target, "parameter", "an nn.Parameter")

    def get_buffer(self, target: str) -> Tensor:
        """The buffer of a dotted name, or None where it is registered without one. Raises
        AttributeError where there is none.
        """
        return self._tensor_of(target, "buffer", "a buffer")

    def _tensor_of(self, target: str, kind: str, what: str) -> Tensor:
        path, _, name = target.rpartition(".")
        owner = self.get_submodule(path)
        if not name or not hasattr(owner, name):
            raise AttributeError(
                f"{type(owner).__name__} has no attribute `{name}`.{owner._hint(name)}"
            )
        if owner._kinds.get(name) != kind or (kind == "parameter" and getattr(owner, name) is None):
            raise AttributeError(f"{type(owner).__name__}: `{name}` is not {what}.")
        out: Tensor = getattr(owner, name)
        return out

    def _hint(self, name: str) -> str:
        return did_you_mean(name, [*vars(self), *dir(type(self))])

    # ------------------------------------------------------------------------------------- switches

    def train(self: M, mode: bool = True) -> M:
        """Training behaviour (dropout drops, batch norm uses the batch) for this module and all
        inside; returns the module.
        """
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
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def freeze(self, parameter: Tensor, frozen: bool = True) -> None:
        """Freeze (or thaw) one parameter; it stays a parameter."""
        parameter.requires_grad_(not frozen)

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget all gradients (or fill them with zeros)."""
        for p in self.parameters():
            if set_to_none or p.stored_grad is None:
                p.stored_grad = None
            else:
                p.stored_grad.detach_()
                p.stored_grad.zero_()

    def to(
        self: M, *args: Any, dtype: Any = None, device: Any = None, non_blocking: bool = False
    ) -> M:
        """Convert or move all parameters and buffers, in place (floating ones only change
        dtype); returns the module. non_blocking changes nothing: copies are in order. By position:
        a device, a dtype, non_blocking; a dtype or a tensor, non_blocking. Raises TypeError for
        anything else.
        """
        convert(self, args, dtype, device)
        return self

    def type(self: M, dst_type: Any) -> M:
        """All parameters in a dtype."""
        return self.to(dtype=dst_type)

    def apply(self: M, function: Callable[[Module], Any]) -> M:
        """Call `function` on every module inside, innermost first, then on this one; returns the
        module.
        """
        for child in self.children():
            child.apply(function)
        function(self)
        return self

    # ---------------------------------------------------------------------------------------- state

    def state_dict(
        self, *, destination: Any = None, prefix: str = "", keep_vars: bool = False
    ) -> Any:
        """All parameters and buffers by name, detached, sharing memory with the module; shared ones
        under each of their names.

        destination: a dict to put them into; prefix: what all names begin with; keep_vars: the
        tensors themselves. Buffers with persistent=False are left out.
        """
        return states.save(
            self, OrderedDict() if destination is None else destination, prefix, keep_vars
        )

    def load_state_dict(
        self, state_dict: Any, strict: bool = True, assign: bool = False
    ) -> IncompatibleKeys:
        """Copy values into the parameters and buffers of the same names.

        strict=False passes over missing and unknown names (not over wrong shapes). assign: put the
        state's own tensors in their places, with their dtype and device, instead of copying (an
        optimiser made before keeps the old ones). Returns the lists missing_keys and
        unexpected_keys. Raises TypeError for what is no dict, StateError listing what is missing,
        unknown, or of another shape. Nothing is changed if anything does not fit.
        """
        return states.load(self, state_dict, strict, assign)

    def get_extra_state(self) -> Any:
        """What else belongs to the state, under the key "_extra_state"; a subclass that has some
        defines this and `set_extra_state`.
        """
        raise RuntimeError(f"{type(self).__name__} does not define get_extra_state().")

    def set_extra_state(self, state: Any) -> None:
        """Take back what `get_extra_state` returned."""
        raise RuntimeError(f"{type(self).__name__} does not define set_extra_state().")

    def save(self, path: Any) -> None:
        """Write the state to a file: NumPy's .npz, plain arrays by name, no pickle."""
        backend.save_arrays(path, {name: value.array for name, value in self.state_dict().items()})

    def load(self, path: Any, strict: bool = True) -> None:
        """Read a state that `save` wrote. Files with pickled objects are refused."""
        self.load_state_dict(backend.load_arrays(path), strict)

    if TYPE_CHECKING:  # what a `register_…` method put in

        def __getattr__(self, name: str) -> Any: ...

    else:

        def __getattr__(self, name: str) -> Any:
            """Names that are nowhere else."""
            hint = "" if name.startswith("_") else self._hint(name)
            raise AttributeError(
                f"a {type(self).__name__} has no attribute {name!r}.{hint}", name=name
            )

    # ----------------------------------------------------------------------------------------- text

    def extra_repr(self) -> str:
        """What stands between the parentheses of a layer's repr."""
        return ""

    def __repr__(self) -> str:
        children = [
            (name, vars(self)[name]) for name, kind in self._kinds.items() if kind == "module"
        ]
        inside = self.extra_repr()
        name = type(self).__name__
        if not children:
            return f"{name}({inside})"
        lines = [
            f"  ({child}): " + repr(module).replace("\n", "\n  ") for child, module in children
        ]
        return f"{name}({inside}\n" + "\n".join(lines) + "\n)"


Layer = Module


_WANTED = {
    "parameter": (
        "an nn.Parameter",
        (
            "Write nn.Parameter(tensor), or change the values in place: with no_grad():"
            " module.{name}.copy_(tensor)."
        ),
    ),
    "buffer": ("a Tensor", "Write mg.tensor(…)."),
    "module": ("an nn.Module", "Write an nn.Module that computes it."),
}
"""What may stand where something is registered, and what to do about anything else."""


class _Registered(MutableMapping[str, Any]):
    """What a module has registered as one kind, by name, None included. Changes reach the
    module.
    """

    def __init__(self, module: Module, kind: str) -> None:
        self.module, self.kind = module, kind

    def __getitem__(self, name: str) -> Any:
        if self.module._kinds.get(name) != self.kind:
            raise KeyError(name)
        return vars(self.module)[name]

    def __setitem__(self, name: str, value: Any) -> None:
        self.module._register(name, self.kind, value, name not in self.module._transient)

    def __delitem__(self, name: str) -> None:
        self[name]
        delattr(self.module, name)

    def __iter__(self) -> Iterator[str]:
        return iter([name for name, kind in self.module._kinds.items() if kind == self.kind])

    def __len__(self) -> int:
        return sum(kind == self.kind for kind in self.module._kinds.values())

    def __repr__(self) -> str:
        return repr(dict(self))
