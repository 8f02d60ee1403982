"""A parameter or buffer of a module as a function of other parameters.

`register_parametrization(layer, "weight", p)` makes `layer.weight` the result of `p(original)`,
computed at each access, where `original` is now the parameter:
`layer.parametrizations.weight.original`. A parametrization may define `right_inverse`, which finds
an `original` (a tensor, or several) for a given weight; assigning to `layer.weight` uses it. Source
of the interface: PyTorch's torch.nn.utils.parametrize. Unlike there, a parametrized module can be
pickled.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from typing import Any

from ...core.tensor import Tensor
from ...errors import with_hints
from ...grad_mode import no_grad
from ...roles import role_of
from ..containers import ModuleDict, ModuleList
from ..module import Module
from ..parameter import Parameter

_cached: dict[tuple[int, str], Any] = {}
_caching = 0


@contextmanager
def cached() -> Iterator[None]:
    """Within this context each parametrized tensor is computed once, at its first use."""
    global _caching
    _caching += 1
    try:
        yield
    finally:
        _caching -= 1
        if not _caching:
            _cached.clear()


class ParametrizationList(ModuleList):
    """The parametrizations of one tensor, applied in order, and what the first is applied to:
    `original`, or `original0`, `original1`…
    """

    def __init__(self, modules: Sequence[Any], original: Tensor, unsafe: bool = False) -> None:
        if not len(modules):
            raise ValueError("ParametrizationList: needs one parametrization or more.")
        super().__init__(modules)
        self.unsafe = unsafe
        shape, dtype, new = original.shape, original.dtype, original
        with no_grad():
            for module in reversed(list(self)):
                if hasattr(module, "right_inverse"):
                    with suppress(NotImplementedError):
                        new = module.right_inverse(new)
        if not isinstance(new, Tensor | Sequence):
            raise ValueError(
                "right_inverse must return a tensor or a sequence of tensors, got"
                f" {type(new).__name__}."
            )
        self.is_tensor = isinstance(new, Tensor)
        self.ntensors = 1 if isinstance(new, Tensor) else len(new)
        if isinstance(new, Tensor):
            if (new.dtype, new.device) != (dtype, original.device):
                raise ValueError(
                    f"right_inverse must keep dtype and device: the tensor has {dtype} on"
                    f" {original.device}, its inverse {new.dtype} on {new.device}."
                )
            if new is not original:
                _overwrite(original, new)
            _register(self, "original", original)
        else:
            for i, tensor in enumerate(new):
                if not isinstance(tensor, Tensor):
                    raise ValueError(
                        f"right_inverse must return tensors; number {i} is {type(tensor).__name__}."
                    )
                made = (
                    Parameter(tensor, original.requires_grad)
                    if role_of(original) == "parameter"
                    else tensor
                )
                _register(self, f"original{i}", made)
        if not unsafe:
            _checked(self(), shape, dtype, "the tensor")

    def _originals(self) -> list[Any]:
        names = ["original"] if self.is_tensor else [f"original{i}" for i in range(self.ntensors)]
        return [getattr(self, name) for name in names]

    def right_inverse(self, value: Tensor) -> None:
        """Find the `original` of which this value is the parametrization. Raises RuntimeError
        where a parametrization has no inverse.
        """
        with no_grad():
            for module in reversed(list(self)):
                if not hasattr(module, "right_inverse"):
                    raise RuntimeError(
                        f"a tensor that is parametrized by {type(module).__name__} cannot be"
                        " assigned to: it has no right_inverse. Define one, or change"
                        " `parametrizations.….original`."
                    )
                value = module.right_inverse(value)
            given = [value] if isinstance(value, Tensor) else list(value)
            originals = self._originals()
            if len(given) != len(originals) or not all(isinstance(g, Tensor) for g in given):
                raise ValueError(
                    f"right_inverse must return {len(originals)} tensor(s), got"
                    f" {[type(g).__name__ for g in given]}."
                )
            for original, new in zip(originals, given, strict=True):
                if original.dtype != new.dtype:
                    raise ValueError(
                        f"right_inverse returned {new.dtype}, but `original` has dtype"
                        f" {original.dtype}."
                    )
                _overwrite(original, new)

    def forward(self) -> Any:
        """The parametrized tensor."""
        first, *rest = self
        x = first(*self._originals())
        for module in rest:
            x = module(x)
        return x


def _overwrite(original: Any, new: Tensor) -> None:
    original.data = new.detach()


def _checked(x: Any, shape: Any, dtype: Any, what: str) -> None:
    if not isinstance(x, Tensor):
        raise ValueError(f"a parametrization must return a tensor, got {type(x).__name__}.")
    if (x.shape, x.dtype) != (shape, dtype):
        raise ValueError(
            f"a parametrization must keep shape and dtype unless unsafe=True: {what} has shape"
            f" {shape} and dtype {dtype}, the result {x.shape} and {x.dtype}."
        )


def _register(module: Module, name: str, tensor: Tensor) -> None:
    if role_of(tensor) == "parameter":
        module.register_parameter(name, tensor)
    else:
        module.register_buffer(name, tensor)


def _property(name: str) -> property:
    def get(self: Module) -> Any:
        if not _caching:
            return self.parametrizations[name]()
        key = (id(self), name)
        if key not in _cached:
            _cached[key] = self.parametrizations[name]()
        return _cached[key]

    return property(get, lambda self, value: self.parametrizations[name].right_inverse(value))


@cache
def _class_with(base: Any, names: tuple[str, ...]) -> type[Module]:
    """The class of a module of class `base` whose tensors of these names are parametrized; one
    class for all copies.
    """
    own: dict[str, Any] = {name: _property(name) for name in names}
    own |= {"_parametrized": (base, names), "__module__": base.__module__, "__doc__": base.__doc__}
    own["__reduce_ex__"] = lambda self, protocol: (_blank, (base, names), dict(vars(self)))
    made: type[Module] = type(f"Parametrized{base.__name__}", (base,), own)
    return made


def _blank(base: Any, names: tuple[str, ...]) -> Module:
    made: Module = _class_with(base, names).__new__(_class_with(base, names))
    return made


def _take_class(module: Module) -> None:
    base: Any = type_before_parametrizations(module)
    names = tuple(module.parametrizations)
    module.__class__ = _class_with(base, names) if names else base


def is_parametrized(module: Module, tensor_name: str | None = None) -> bool:
    """Whether a module has a parametrized tensor, or this one."""
    names = type(module).__dict__.get("_parametrized", (None, ()))[1]
    return bool(names) if tensor_name is None else tensor_name in names


def type_before_parametrizations(module: Module) -> type[Module]:
    """The class that a module had before its first parametrization."""
    base: type[Module] = type(module).__dict__.get("_parametrized", (type(module), ()))[0]
    return base


def register_parametrization(
    module: Module, tensor_name: str, parametrization: Any, *, unsafe: bool = False
) -> Module:
    """Make a parameter or buffer the result of `parametrization` (after those that it has already);
    returns the module.

    unsafe: the parametrization may change shape and dtype, and is not called to see. Raises
    ValueError for a name without a tensor.
    """
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        if not unsafe:
            before = getattr(module, tensor_name)
            after = parametrization(before)
            _checked(after, before.shape, before.dtype, f"module.{tensor_name}")
            if hasattr(parametrization, "right_inverse"):
                with suppress(NotImplementedError):
                    back = parametrization.right_inverse(after)
                    _checked(back, before.shape, before.dtype, f"module.{tensor_name}")
        module.parametrizations[tensor_name].append(parametrization)
        module.parametrizations[tensor_name].unsafe |= unsafe
    elif (
        module._kinds.get(tensor_name) in ("parameter", "buffer")
        and getattr(module, tensor_name) is not None
    ):
        made = ParametrizationList([parametrization], getattr(module, tensor_name), unsafe)
        delattr(module, tensor_name)
        if not is_parametrized(module):
            module.add_module("parametrizations", ModuleDict())
        module.parametrizations[tensor_name] = made
        _take_class(module)
    else:
        raise ValueError(
            f"{type(module).__name__} has no parameter, buffer or parametrized tensor"
            f" {tensor_name!r}."
        )
    return module


def remove_parametrizations(
    module: Module, tensor_name: str, leave_parametrized: bool = True
) -> Module:
    """Make a parametrized tensor an ordinary one again; returns the module.

    leave_parametrized: with the value that it has now, else with that of `original`. Raises
    ValueError for a tensor that is not parametrized, and for leave_parametrized=False where there
    are several originals.
    """
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"{type(module).__name__} has no parametrization of {tensor_name!r}.")
    parametrizations = module.parametrizations[tensor_name]
    if not parametrizations.is_tensor and not leave_parametrized:
        raise ValueError(
            f"remove_parametrizations: {tensor_name!r} is computed from several tensors, so"
            " leave_parametrized must be True."
        )
    original: Any = parametrizations.original if parametrizations.is_tensor else None
    if leave_parametrized:
        wanted = any(o.requires_grad for o in parametrizations._originals())
        with no_grad():
            value = getattr(module, tensor_name)
        if original is None:
            original = Parameter(value) if wanted else value
        else:
            _overwrite(original, value)
    del module.parametrizations[tensor_name]
    _take_class(module)
    _register(module, tensor_name, original)
    if not len(module.parametrizations):
        delattr(module, "parametrizations")
    return module


with_hints(sys.modules[__name__])
